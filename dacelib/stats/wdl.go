package stats

import (
	"cmp"
	"fmt"
	"math"
)

// An Outcome is the result of comparing one method with another on one
// instance.
type Outcome int

const (
	// Loss: significantly worse.
	Loss Outcome = iota - 1
	// Draw: no significant difference.
	Draw
	// Win: significantly better.
	Win
)

// String returns the outcome in a word.
func (o Outcome) String() string {
	switch o {
	case Loss:
		return "loss"
	case Draw:
		return "draw"
	case Win:
		return "win"
	}
	return fmt.Sprintf("outcome %d", int(o))
}

// Compare returns the outcome of x against y, the qualities (larger is better)
// of two methods' repeats on one instance. It is a draw unless the two-sided
// rank-sum test has p below level; then the sign of the difference of the means
// decides between win and loss. The paper's level is 0.05.
func Compare(x, y []float64, level float64) (Outcome, error) {
	r, err := RankSum(x, y, TwoSided)
	if err != nil {
		return Draw, err
	}
	if r.PValue >= level {
		return Draw, nil
	}
	mx, my := sum(x)/float64(len(x)), sum(y)/float64(len(y))
	if mx == my && math.IsInf(mx, 0) { // both have values of -Inf: the ranks decide
		return Outcome(cmp.Compare(r.Statistic, float64(len(x)*len(y))/2)), nil
	}
	return Outcome(cmp.Compare(mx, my)), nil
}

// A WDL counts outcomes over instances.
type WDL struct {
	// Win, Draw and Loss are numbers of instances.
	Win  int `json:"win"`
	Draw int `json:"draw"`
	Loss int `json:"loss"`
}

// String returns the counts in the format of the paper's table: 36-14-0.
func (w WDL) String() string { return fmt.Sprintf("%d-%d-%d", w.Win, w.Draw, w.Loss) }

// WinDrawLoss counts the outcomes of method x against method y over instances:
// x[i] and y[i] are the repeats on instance i. See [Compare].
func WinDrawLoss(x, y [][]float64, level float64) (WDL, error) {
	var w WDL
	if len(x) != len(y) {
		return w, fmt.Errorf("stats: one method has %d instances and the other %d", len(x), len(y))
	}
	for i := range x {
		o, err := Compare(x[i], y[i], level)
		if err != nil {
			return w, fmt.Errorf("instance %d: %w", i, err)
		}
		switch o {
		case Win:
			w.Win++
		case Draw:
			w.Draw++
		case Loss:
			w.Loss++
		}
	}
	return w, nil
}
