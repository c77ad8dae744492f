// Package onemax implements the OneMax problem with a target string: the value
// of a solution is the number of bits in which it agrees with the target, f(x)
// = d - sum_i |t_i - x_i| (the paper's Appendix F). The optimum is d, at the
// target.
//
// Start with [New] or [Random]; [Class] draws the instances of an experiment.
package onemax

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/bits"
	"strings"

	"dace.local/dacelib/problem"
	"dace.local/dacelib/run"
)

// An Instance is a OneMax problem. It is safe for use by several goroutines.
type Instance struct {
	name   string
	target problem.Solutions // a batch of one solution
}

// New returns the problem of finding target. It returns an error if target is
// empty.
func New(name string, target []bool) (*Instance, error) {
	if len(target) == 0 {
		return nil, errors.New("onemax: the target has no bits")
	}
	return &Instance{name, problem.Pack(target)}, nil
}

// Random returns the problem with a target string of dimension d that is drawn
// uniformly from the seed. It panics if d is not positive.
func Random(seed uint64, d int) *Instance {
	return &Instance{fmt.Sprintf("onemax-%d/%d", d, seed), problem.Random(run.Rand(seed, "onemax", d), 1, d)}
}

// Class returns the class of OneMax problems of dimension d. The target strings
// of training and test instances are uniform.
func Class(d int) problem.Class {
	draw := func(kind string) func(uint64, int, int) (problem.Problem, error) {
		return func(seed uint64, d, i int) (problem.Problem, error) {
			p := Random(run.Seed(seed, "onemax "+kind, d, i), d)
			p.name = fmt.Sprintf("onemax-%s-%d/%d", kind, d, i)
			return p, nil
		}
	}
	train, test := draw("train"), draw("test")
	return problem.Class{
		Name: "onemax", TrainDim: d, TestDims: []int{d},
		Train:  func(seed uint64, i int) (problem.Problem, error) { return train(seed, d, i) },
		Test:   test,
		Decode: Decode,
	}
}

// Name returns the instance's name.
func (p *Instance) Name() string { return p.name }

// Dim returns d.
func (p *Instance) Dim() int { return p.target.D }

// Target returns a copy of the target string, of length d.
func (p *Instance) Target() []bool { return p.target.Bools(0) }

// Optimum returns d, the value of the target.
func (p *Instance) Optimum() (value float64, ok bool) { return float64(p.Dim()), true }

// Evaluate sets dst[i] to the number of bits in which x_i agrees with the
// target.
func (p *Instance) Evaluate(ctx context.Context, dst []float64, x problem.Solutions) error {
	if err := problem.CheckBatch(p, dst, x); err != nil {
		return err
	}
	t, d := p.target.Words, p.Dim()
	if len(t) == 1 {
		for i, w := range x.Words {
			dst[i] = float64(d - bits.OnesCount64(w^t[0]))
		}
		return ctx.Err()
	}
	for i := range x.Len() {
		n := 0
		for j, w := range x.Row(i) {
			n += bits.OnesCount64(w ^ t[j])
		}
		dst[i] = float64(d - n)
	}
	return ctx.Err()
}

type instanceJSON struct {
	Name   string `json:"name"`
	Target string `json:"target"` // d characters, each 0 or 1
}

// MarshalJSON encodes the name and the target as a string of 0 and 1.
func (p *Instance) MarshalJSON() ([]byte, error) {
	return json.Marshal(instanceJSON{p.name, p.target.String()})
}

// UnmarshalJSON decodes an instance encoded by MarshalJSON.
func (p *Instance) UnmarshalJSON(data []byte) error {
	var j instanceJSON
	if err := json.Unmarshal(data, &j); err != nil {
		return fmt.Errorf("onemax: %w", err)
	}
	if j.Target == "" || strings.Trim(j.Target, "01") != "" {
		return fmt.Errorf("onemax: instance %q: the target %q is not a string of 0 and 1", j.Name, j.Target)
	}
	t := problem.NewSolutions(1, len(j.Target))
	for i, c := range j.Target {
		t.Set(0, i, c == '1')
	}
	*p = Instance{j.Name, t}
	return nil
}

// Decode reads an instance from its JSON.
func Decode(data []byte) (problem.Problem, error) {
	p := new(Instance)
	if err := p.UnmarshalJSON(data); err != nil {
		return nil, err
	}
	return p, nil
}
