package construct

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"dace.local/dacelib/brkga"
	"dace.local/dacelib/run"
	"dace.local/dacelib/solver"
)

// A Measure says what a run is judged by.
type Measure int

const (
	// BestValue judges a run by the best value that it finds.
	BestValue Measure = iota
	// Anytime judges it by the mean over its evaluations of the best value so far,
	// the area under the curve: a run that is good early is better. Evaluations
	// before the first solution that may be chosen have that one's value. A
	// portfolio has the largest area of its members.
	Anytime
)

// String returns "value" or "anytime".
func (m Measure) String() string {
	if m == Anytime {
		return "anytime"
	}
	return "value"
}

// ParseMeasure returns the measure of a name, "value" or "anytime".
func ParseMeasure(name string) (Measure, error) {
	for _, m := range []Measure{BestValue, Anytime} {
		if strings.EqualFold(name, m.String()) {
			return m, nil
		}
	}
	return 0, fmt.Errorf("construct: there is no measure %q; the measures are value and anytime", name)
}

// of returns the quality of a run with a budget of evaluations.
func (m Measure) of(r solver.Result, evaluations int) float64 {
	if m == BestValue || math.IsInf(r.Value, -1) {
		return r.Value
	}
	h := r.History
	for len(h) > 0 && math.IsInf(h[0].Best, -1) {
		h = h[1:]
	}
	if len(h) == 0 { // the value is that of a final choice
		return r.Value
	}
	first := float64(h[0].Evaluations-1) * h[0].Best
	r.History = h
	n := float64(max(evaluations, h[0].Evaluations))
	return (first + r.Anytime(int(n))*(n-float64(h[0].Evaluations-1))) / n
}

// errTime is the cause of a context that Budget.Seconds has ended.
var errTime = errors.New("the time of Budget.Seconds is over")

// limited returns ctx with the end that Budget.Seconds sets.
func (s Settings) limited(ctx context.Context) (context.Context, func()) {
	if !(s.Budget.Seconds > 0) {
		return ctx, func() {}
	}
	d := time.Duration(min(s.Budget.Seconds, 1e9) * float64(time.Second))
	return context.WithTimeoutCause(ctx, d, errTime)
}

// timeUp reports whether Budget.Seconds has ended a context.
func timeUp(ctx context.Context) bool { return errors.Is(context.Cause(ctx), errTime) }

// early returns the result of a construction that could not begin: after an error, or
// with the solvers' defaults if its time was over before.
func early(ctx context.Context, method string, s Settings, err error) (Result, error) {
	if ctx.Err() == nil {
		return Result{}, err
	}
	r := Result{Method: method, Version: run.Build(), CPU: run.CPU(), Status: run.Cancelled}
	r.Portfolio.Name = method
	r.Portfolio.Members = s.untuned()
	r.Notes = []string{noneTried}
	if timeUp(ctx) {
		r.Status = run.BudgetSpent
		r.Notes = append(r.Notes, timeNote)
		return r, nil
	}
	return r, ctx.Err()
}

const (
	noneTried = "No configuration was tried: these are the defaults of the solvers."
	timeNote  = "The time ran out (Budget.Seconds): this is the best so far."
)

// untuned returns the defaults of the solvers in turn, as a portfolio of the last
// resort.
func (s Settings) untuned() []solver.Config {
	families := []solver.Config{brkga.Default().Named()}
	if len(s.Solvers) > 0 {
		families = nil
		var slow []solver.Config
		for _, one := range s.Solvers {
			c, err := solver.New(one.Name(), nil)
			if err != nil {
				continue
			}
			if _, timed := one.(solver.Timed); timed {
				slow = append(slow, c)
				continue
			}
			families = append(families, c)
		}
		if len(families) == 0 {
			families = slow
		}
	}
	members := s.Members
	if members <= 0 {
		members = 4
	}
	var out []solver.Config
	for i := range members {
		out = append(out, families[i%len(families)])
	}
	return out
}
