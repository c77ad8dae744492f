package pgpe

import (
	"fmt"
	"slices"
)

// A Rule ends a run early: it compares the lowest value so far with
// [Settings].Known, the portfolio's performance on the existing instances. It
// is encoded as its name.
type Rule int

const (
	// Authors is the rule of the authors' code: the run ends after 50
	// iterations if the lowest value is at most the lowest known value, and
	// after 100 if it is at most the mean of the known values.
	Authors Rule = iota
	// Enough ends the run after any iteration, including the first, if the
	// lowest value is below the lowest known value by more than
	// [Settings].Margin. Further search would take time for harder instances
	// that change the portfolio little; the margin determines what the rule
	// saves and costs.
	Enough
	// Never never ends the run: all its iterations are made.
	Never
)

// ruleNames holds the rules' names, indexed by Rule.
var ruleNames = [...]string{"authors", "enough", "never"}

// String returns the rule's name: "authors", "enough" or "never".
func (r Rule) String() string {
	if r < Authors || r > Never {
		return fmt.Sprintf("Rule(%d)", int(r))
	}
	return ruleNames[r]
}

// MarshalText encodes the rule as its name.
func (r Rule) MarshalText() ([]byte, error) {
	if r < Authors || r > Never {
		return nil, fmt.Errorf("pgpe: no rule has the number %d", int(r))
	}
	return []byte(r.String()), nil
}

// UnmarshalText decodes a name that [Rule.MarshalText] wrote.
func (r *Rule) UnmarshalText(text []byte) error {
	i := slices.Index(ruleNames[:], string(text))
	if i < 0 {
		return fmt.Errorf("pgpe: no rule is called %q: there are \"authors\", \"enough\" and \"never\"", text)
	}
	*r = Rule(i)
	return nil
}

// Ends reports whether Rule or Stop ends the run after an iteration. The rules
// only use the fields Number and Best of the iteration.
func (s Settings) Ends(it Iteration) bool {
	if s.Stop != nil && s.Stop(it) {
		return true
	}
	if len(s.Known) == 0 {
		return false
	}
	lowest := slices.Min(s.Known)
	switch s.Rule {
	case Authors:
		mean := 0.0
		for _, v := range s.Known {
			mean += v / float64(len(s.Known))
		}
		return it.Number >= 50 && it.Best <= lowest || it.Number >= 100 && it.Best <= mean
	case Enough:
		return it.Best < lowest-s.Margin
	}
	return false
}
