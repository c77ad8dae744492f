// Package stats holds the tests by which the paper compares methods: Wilcoxon's
// signed-rank test over instances, Wilcoxon's rank-sum test over the repeats on
// one instance, and win-draw-loss counts based on the latter. P values agree
// with SciPy 1.10.1; the settings use its names.
//
// Start with [SignedRank] for two methods' qualities on the same instances, and
// with [WinDrawLoss] for their repeats.
package stats

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// An Alternative is the alternative hypothesis of a test of x against y.
type Alternative int

const (
	// TwoSided: x and y differ.
	TwoSided Alternative = iota
	// Greater: x tends to be greater than y.
	Greater
	// Less: x tends to be less than y.
	Less
)

// A Method selects how the p value is computed.
type Method int

const (
	// Auto chooses between the other two as SciPy does.
	Auto Method = iota
	// Exact uses the exact distribution of the statistic without ties.
	Exact
	// Approximate uses the normal approximation.
	Approximate
)

// A ZeroMethod selects how the signed-rank test treats differences of zero.
type ZeroMethod int

const (
	// Wilcox drops zeros.
	Wilcox ZeroMethod = iota
	// Pratt ranks zeros together with the rest and then drops their ranks.
	Pratt
	// ZSplit ranks zeros and adds half of their ranks to either side.
	ZSplit
)

// A Result is the outcome of a test.
type Result struct {
	// Statistic is the test's statistic, as each test defines it.
	Statistic float64
	// PValue is the probability of a statistic at least as extreme.
	PValue float64
	// Z is the standardised statistic; NaN where the p value is exact.
	Z float64
	// Exact reports whether the exact distribution was used.
	Exact bool
}

// SignedRankSettings are the options of [SignedRank]. The zero value is SciPy's
// default and the paper's choice.
type SignedRankSettings struct {
	// Alternative is the alternative hypothesis; default TwoSided. Zeros says
	// how pairs of equal values count; default Wilcox.
	Alternative Alternative
	Zeros       ZeroMethod
	// Method selects the distribution. Auto is exact for at most 50
	// differences. If some differences are zero, the exact distribution does
	// not hold and the normal approximation is used whatever Method says.
	Method Method
	// Continuity moves the statistic by 0.5 towards its mean before the
	// normal approximation.
	Continuity bool
}

// SignedRank performs Wilcoxon's signed-rank test of paired samples x and y of
// equal length; if y is nil, x holds the differences. The statistic is the
// smaller of the two sums of ranks, or for a one-sided test the sum of the
// ranks of positive differences x-y. The approximation corrects the variance
// for ties.
//
// It returns an error for unequal lengths, no values, a NaN, or, except with
// ZSplit, if all differences are zero.
func SignedRank(x, y []float64, s SignedRankSettings) (Result, error) {
	d := slices.Clone(x)
	if y != nil {
		if len(x) != len(y) {
			return Result{}, fmt.Errorf("stats: the signed-rank test is of pairs, but x has %d values and y %d", len(x), len(y))
		}
		for i := range d {
			if d[i] == y[i] {
				d[i] = 0 // also of two infinities
			} else {
				d[i] -= y[i]
			}
		}
	}
	if len(d) == 0 {
		return Result{}, errors.New("stats: the signed-rank test has no values")
	}
	zeros := 0
	for i, v := range d {
		if math.IsNaN(v) {
			return Result{}, fmt.Errorf("stats: difference %d of the signed-rank test is NaN", i)
		}
		if v == 0 {
			zeros++
		}
	}
	if zeros == len(d) && s.Zeros != ZSplit {
		return Result{}, fmt.Errorf("stats: all %d differences are zero, so there is nothing to rank; ZSplit would call it p = 1", zeros)
	}
	exact := s.Method == Exact || s.Method == Auto && len(d) <= 50
	if zeros > 0 {
		exact = false
		if s.Zeros == Wilcox {
			d = slices.DeleteFunc(d, func(v float64) bool { return v == 0 })
		}
	}
	magnitude := make([]float64, len(d))
	for i, v := range d {
		magnitude[i] = math.Abs(v)
	}
	ranks := rank(magnitude)
	var plus, minus, none float64
	var tied []float64 // the ranks among which ties are counted
	for i, v := range d {
		switch {
		case v > 0:
			plus += ranks[i]
		case v < 0:
			minus += ranks[i]
		default:
			none += ranks[i]
		}
		if v != 0 || s.Zeros != Pratt {
			tied = append(tied, ranks[i])
		}
	}
	if s.Zeros == ZSplit {
		plus += none / 2
		minus += none / 2
	}
	r := Result{Statistic: plus, Z: math.NaN(), Exact: exact}
	if s.Alternative == TwoSided {
		r.Statistic = min(plus, minus)
	}
	if exact {
		r.PValue = tails(signedRankPMF(len(d)), int(plus), s.Alternative)
		return r, nil
	}
	n, z := float64(len(d)), float64(zeros)
	mean := n * (n + 1) * 0.25
	variance := n * (n + 1) * (2*n + 1)
	if s.Zeros == Pratt { // variance by Cureton (1967)
		mean -= z * (z + 1) * 0.25
		variance -= z * (z + 1) * (2*z + 1)
	}
	variance -= 0.5 * tieTerm(tied)
	off := r.Statistic - mean
	if s.Continuity {
		switch {
		case s.Alternative == Greater, s.Alternative == TwoSided && off > 0:
			off -= 0.5
		case s.Alternative == Less, s.Alternative == TwoSided && off < 0:
			off += 0.5
		}
	}
	r.Z = off / math.Sqrt(variance/24)
	r.PValue = normalP(r.Z, s.Alternative)
	return r, nil
}

// RankSum performs Wilcoxon's rank-sum test of two independent samples, by the
// normal approximation without correction for ties, like SciPy's ranksums. The
// statistic is z, positive if x tends to be greater.
//
// It returns an error for an empty sample or a NaN.
func RankSum(x, y []float64, alternative Alternative) (Result, error) {
	if err := checkSamples("rank-sum", x, y); err != nil {
		return Result{}, err
	}
	ranks := rank(slices.Concat(x, y))
	n, m := float64(len(x)), float64(len(y))
	z := (sum(ranks[:len(x)]) - n*(n+m+1)/2) / math.Sqrt(n*m*(n+m+1)/12)
	return Result{Statistic: z, Z: z, PValue: normalP(z, alternative)}, nil
}

// MannWhitneySettings are the options of [MannWhitney]; the zero value is
// SciPy's default.
type MannWhitneySettings struct {
	// Alternative is the alternative hypothesis; default TwoSided.
	Alternative Alternative
	// Method selects the distribution. Auto is exact if a sample has at most 8
	// values and no two values are equal.
	Method Method
	// NoContinuity omits the continuity correction of the normal approximation.
	NoContinuity bool
}

// MannWhitney performs the Mann-Whitney U test of two independent samples, with
// correction for ties, like SciPy's mannwhitneyu. The statistic is U of x, the
// number of pairs in which x is greater; ties count half.
//
// It returns an error for an empty sample or a NaN.
func MannWhitney(x, y []float64, s MannWhitneySettings) (Result, error) {
	if err := checkSamples("Mann-Whitney", x, y); err != nil {
		return Result{}, err
	}
	ranks := rank(slices.Concat(x, y))
	ties := tieTerm(ranks)
	n, m := float64(len(x)), float64(len(y))
	u1 := sum(ranks[:len(x)]) - n*(n+1)/2
	u, factor := u1, 1.0 // the p value is the probability of a statistic of at least u
	switch s.Alternative {
	case TwoSided:
		u, factor = max(u1, n*m-u1), 2
	case Less:
		u = n*m - u1
	}
	r := Result{
		Statistic: u1, Z: math.NaN(),
		Exact: s.Method == Exact || s.Method == Auto && min(len(x), len(y)) <= 8 && ties == 0,
	}
	if r.Exact {
		r.PValue = min(1, factor*sum(rankSumPMF(len(x), len(y))[int(u):]))
		return r, nil
	}
	off := u - n*m/2
	if !s.NoContinuity {
		off -= 0.5
	}
	r.Z = off / math.Sqrt(n*m/12*((n+m+1)-ties/((n+m)*(n+m-1))))
	if math.IsNaN(r.Z) { // all values are equal
		r.Z = 0
	}
	r.PValue = min(1, factor*normalP(r.Z, Greater))
	return r, nil
}

// Interval returns the mean of x and half the length of its confidence interval
// by the t distribution, for a level such as 0.95. The half is NaN for fewer than
// two values.
func Interval(x []float64, level float64) (mean, half float64) {
	n := float64(len(x))
	if n == 0 {
		return math.NaN(), math.NaN()
	}
	mean = sum(x) / n
	if n < 2 {
		return mean, math.NaN()
	}
	squares := 0.0
	for _, v := range x {
		squares += (v - mean) * (v - mean)
	}
	t := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: n - 1}.Quantile((1 + level) / 2)
	return mean, t * math.Sqrt(squares/(n-1)/n)
}

// Holm returns p values corrected for their number by Holm's step-down method (S. Holm,
// "A simple sequentially rejective multiple test procedure", 1979): the k-th smallest
// of n is multiplied by n-k+1, and is at least the one before and at most 1. They are in
// the order of p, which is not changed.
func Holm(p []float64) []float64 {
	order := make([]int, len(p))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(p[a], p[b]) })
	out, least := make([]float64, len(p)), 0.0
	for k, i := range order {
		least = max(least, min(1, p[i]*float64(len(p)-k)))
		out[i] = least
	}
	return out
}

// Ranks returns the ranks of x, from 1. Equal values share the mean of their
// ranks. It returns an error for a NaN.
func Ranks(x []float64) ([]float64, error) {
	for i, v := range x {
		if math.IsNaN(v) {
			return nil, fmt.Errorf("stats: value %d is NaN and has no rank", i)
		}
	}
	return rank(x), nil
}

func rank(x []float64) []float64 {
	order := make([]int, len(x))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int {
		switch {
		case x[a] < x[b]:
			return -1
		case x[a] > x[b]:
			return 1
		}
		return 0
	})
	r := make([]float64, len(x))
	for lo := 0; lo < len(order); {
		hi := lo + 1
		for hi < len(order) && x[order[hi]] == x[order[lo]] {
			hi++
		}
		for _, i := range order[lo:hi] {
			r[i] = float64(lo+1+hi) / 2
		}
		lo = hi
	}
	return r
}

// tieTerm returns the sum of t^3 - t over the groups of t equal ranks.
func tieTerm(ranks []float64) float64 {
	s := slices.Sorted(slices.Values(ranks))
	total := 0.0
	for lo := 0; lo < len(s); {
		hi := lo + 1
		for hi < len(s) && s[hi] == s[lo] {
			hi++
		}
		t := float64(hi - lo)
		total += t * (t*t - 1)
		lo = hi
	}
	return total
}

// signedRankPMF returns the distribution of the sum of the positive ranks of n
// differences.
func signedRankPMF(n int) []float64 {
	p := make([]float64, n*(n+1)/2+1)
	p[0] = 1
	for k, top := 1, 0; k <= n; k++ {
		top += k
		for s := top; s >= 0; s-- {
			p[s] /= 2
			if s >= k {
				p[s] += p[s-k] / 2
			}
		}
	}
	return p
}

// rankSumPMF returns the distribution of U for samples of n and m values.
func rankSumPMF(n, m int) []float64 {
	if n > m {
		n, m = m, n // U is symmetric
	}
	// ways[j] is the distribution of U over the choices of j of the ranks so
	// far for the first sample, as shares of all choices. Each rank is taken or
	// not.
	ways := make([][]float64, n+1)
	for j := range ways {
		ways[j] = make([]float64, n*m+1)
	}
	ways[0][0] = 1
	// A value with i values of the second sample below it adds i to U.
	for i := 0; i <= m; i++ {
		for j := 1; j <= n; j++ {
			for u := i; u <= j*i; u++ {
				ways[j][u] += ways[j-1][u-i]
			}
		}
	}
	total := sum(ways[n])
	for u := range ways[n] {
		ways[n][u] /= total
	}
	return ways[n]
}

// tails returns the p value of k under the distribution p.
func tails(p []float64, k int, alternative Alternative) float64 {
	less, greater := sum(p[:k+1]), sum(p[k:])
	switch alternative {
	case Greater:
		return min(1, greater)
	case Less:
		return min(1, less)
	}
	return min(1, 2*min(less, greater))
}

// normalP returns the p value of z under the normal distribution.
func normalP(z float64, alternative Alternative) float64 {
	switch alternative {
	case Greater:
		return math.Erfc(z/math.Sqrt2) / 2
	case Less:
		return math.Erfc(-z/math.Sqrt2) / 2
	}
	return math.Erfc(math.Abs(z) / math.Sqrt2)
}

func sum(x []float64) float64 {
	s := 0.0
	for _, v := range x {
		s += v
	}
	return s
}

func checkSamples(test string, x, y []float64) error {
	for k, v := range [][]float64{x, y} {
		name := "xy"[k : k+1]
		if len(v) == 0 {
			return fmt.Errorf("stats: the %s test has no values of %s", test, name)
		}
		if i := slices.IndexFunc(v, math.IsNaN); i >= 0 {
			return fmt.Errorf("stats: value %d of %s in the %s test is NaN", i, name, test)
		}
	}
	return nil
}
