// Package ccp implements the contamination control problem: food passes through
// d stages, each of which may contaminate it; x_i = 1 takes countermeasures at
// stage i, at a cost. The value of a solution is the paper's Eq. (13) with cost
// c_i = 1,
//
//	f(x) = -( sum_i [ c_i x_i + (1/T) sum_k 1{z_i^k > u} ] + lambda |x|_1 ),
//
// where z_i^k is the share of contaminated food after stage i in simulation k,
//
//	z_i = alpha_i (1-x_i)(1-z_{i-1}) + (1-gamma_i x_i) z_{i-1}.
//
// The T simulations of an instance are drawn once and kept, so f is
// deterministic. The draws and the order of the arithmetic follow the COMBO
// implementation: on COMBO's draws, the number of violations at every stage
// equals COMBO's exactly.
//
// Start with [Generate], or with [Class] for the instances of an experiment.
//
// Deviation from the paper: gamma ~ Be(1, 3/7), as in COMBO and the authors'
// code; the paper prints Be(1, 7/3), which [Settings.PaperRestoration] draws.
package ccp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"dace.local/dacelib/problem"
	"dace.local/dacelib/run"
)

// Data defines an instance completely.
type Data struct {
	// Name identifies the instance.
	Name string `json:"name"`
	// Lambda is the weight of the penalty lambda |x|_1.
	Lambda float64 `json:"lambda"`
	// Limit is the contamination limit u, in [0,1].
	Limit float64 `json:"limit"`
	// Cost holds the cost c_i of measures at each stage i; its length is d.
	Cost []float64 `json:"cost"`
	// Initial holds the contamination z_0 before the first stage in each of the
	// T simulations.
	Initial []float64 `json:"initial"`
	// Contamination and Restoration are the rates alpha_i and gamma_i, d x T:
	// stage by simulation.
	Contamination [][]float64 `json:"contamination"`
	Restoration   [][]float64 `json:"restoration"`
}

// Settings are the settings for drawing an instance. The zero value follows the
// paper, except for Lambda and Dim, which the paper varies.
type Settings struct {
	// Dim is the number of stages d; 0 means 30.
	Dim int
	// Lambda is the weight of the penalty: 1e-4 for the paper's training
	// instances, 0 or 1e-2 for its test instances.
	Lambda float64
	// Simulations is T; 0 means 100.
	Simulations int
	// Limit is u; 0 means 0.1.
	Limit float64
	// PaperRestoration draws gamma ~ Be(1, 7/3), as the paper prints it,
	// instead of Be(1, 3/7).
	PaperRestoration bool
	// Name is the instance's name; empty means ccp-d/seed.
	Name string
}

// The second parameters of the beta distributions; the first are 1.
const (
	initialBeta       = 30.0
	contaminationBeta = 17.0 / 3
)

func (s Settings) restorationBeta() float64 {
	if s.PaperRestoration {
		return 7.0 / 3
	}
	return 3.0 / 7
}

func (s Settings) withDefaults() Settings {
	if s.Dim == 0 {
		s.Dim = 30
	}
	if s.Simulations == 0 {
		s.Simulations = 100
	}
	if s.Limit == 0 {
		s.Limit = 0.1
	}
	return s
}

func (s Settings) check() error {
	if s.Dim < 0 || s.Simulations < 0 {
		return fmt.Errorf("ccp: cannot draw an instance of %d stages and %d simulations", s.Dim, s.Simulations)
	}
	if s.Dim > 1<<16 || s.Simulations > 1<<24 || s.Dim > 0 && s.Simulations > 1<<28/s.Dim {
		return fmt.Errorf("ccp: Settings.Dim is %d and Simulations %d; they must be at most 2^16 and 2^24, their product at most 2^28", s.Dim, s.Simulations)
	}
	return nil
}

// data returns the part of an instance that is not random.
func (s Settings) data() Data {
	d := Data{Name: s.Name, Lambda: s.Lambda, Limit: s.Limit, Cost: make([]float64, s.Dim)}
	for i := range d.Cost {
		d.Cost[i] = 1
	}
	return d
}

// An Instance is a contamination control problem. It is safe for use by
// several goroutines.
type Instance struct {
	data Data
	kernel
}

// New returns the instance with the given data; it copies the slices.
func New(data Data) (*Instance, error) {
	d, t := len(data.Contamination), len(data.Initial)
	fail := func(format string, args ...any) (*Instance, error) {
		return nil, fmt.Errorf("ccp: instance %q: "+format, append([]any{data.Name}, args...)...)
	}
	switch {
	case d == 0:
		return fail("no stages")
	case t == 0:
		return fail("no simulations")
	case len(data.Restoration) != d:
		return fail("contamination has %d stages but restoration %d", d, len(data.Restoration))
	case len(data.Cost) != d:
		return fail("%d stages but %d costs", d, len(data.Cost))
	case !finite(data.Lambda):
		return fail("lambda is %v", data.Lambda)
	case !(0 <= data.Limit && data.Limit <= 1):
		return fail("the limit %v is not in [0,1]", data.Limit)
	}
	for i, c := range data.Cost {
		if !finite(c) {
			return fail("the cost of stage %d is %v", i, c)
		}
	}
	rates := func(what string, r []float64) error {
		if len(r) != t {
			return fmt.Errorf("ccp: instance %q: %s has %d simulations, want %d", data.Name, what, len(r), t)
		}
		for k, v := range r {
			if !(0 <= v && v <= 1) {
				return fmt.Errorf("ccp: instance %q: %s, simulation %d: %v is not in [0,1]", data.Name, what, k, v)
			}
		}
		return nil
	}
	err := rates("initial contamination", data.Initial)
	for i := range d {
		err = errors.Join(err,
			rates(fmt.Sprintf("contamination at stage %d", i), data.Contamination[i]),
			rates(fmt.Sprintf("restoration at stage %d", i), data.Restoration[i]))
	}
	if err != nil {
		return nil, err
	}
	p := &Instance{data: clone(data)}
	p.kernel = newKernel(&p.data)
	return p, nil
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// clone returns d with copies of its slices.
func clone(d Data) Data {
	rows := func(r [][]float64) [][]float64 {
		out := make([][]float64, len(r))
		for i := range r {
			out[i] = append([]float64(nil), r[i]...)
		}
		return out
	}
	d.Cost = append([]float64(nil), d.Cost...)
	d.Initial = append([]float64(nil), d.Initial...)
	d.Contamination = rows(d.Contamination)
	d.Restoration = rows(d.Restoration)
	return d
}

// Generate draws an instance from a seed.
func Generate(seed uint64, s Settings) (*Instance, error) {
	s = s.withDefaults()
	if err := s.check(); err != nil {
		return nil, err
	}
	if s.Name == "" {
		s.Name = fmt.Sprintf("ccp-%d/%d", s.Dim, seed)
	}
	data := s.data()
	data.Initial = beta1(run.Rand(seed, "ccp initial"), initialBeta, s.Simulations)
	for i := range s.Dim {
		data.Contamination = append(data.Contamination, beta1(run.Rand(seed, "ccp contamination", i), contaminationBeta, s.Simulations))
		data.Restoration = append(data.Restoration, beta1(run.Rand(seed, "ccp restoration", i), s.restorationBeta(), s.Simulations))
	}
	return New(data)
}

// beta1 draws n values of Be(1, b) by inversion: F(z) = 1 - (1-z)^b.
func beta1(rng *rand.Rand, b float64, n int) []float64 {
	z := make([]float64, n)
	for k := range z {
		z[k] = -math.Expm1(math.Log1p(-rng.Float64()) / b)
	}
	return z
}

// Class returns the paper's class of instances: training instances have d = 30
// and lambda = 1e-4, test instances d = 30 or 40 and lambda 0 or 1e-2 with
// equal probability.
func Class() problem.Class {
	return problem.Class{
		Name: "ccp", TrainDim: 30, TestDims: []int{30, 40},
		Train: func(seed uint64, i int) (problem.Problem, error) {
			return generate(run.Seed(seed, "ccp train", i), Settings{Dim: 30, Lambda: 1e-4, Name: fmt.Sprintf("ccp-train-30/%d", i)})
		},
		Test: func(seed uint64, d, i int) (problem.Problem, error) {
			s := Settings{Dim: d, Name: fmt.Sprintf("ccp-test-%d/%d", d, i)}
			if run.Rand(seed, "ccp test lambda", d, i).IntN(2) == 1 {
				s.Lambda = 1e-2
			}
			return generate(run.Seed(seed, "ccp test", d, i), s)
		},
		Decode: Decode,
	}
}

func generate(seed uint64, s Settings) (problem.Problem, error) {
	p, err := Generate(seed, s)
	if err != nil {
		return nil, err
	}
	return p, nil
}

// Name returns the instance's name.
func (p *Instance) Name() string { return p.data.Name }

// Dim returns the number of stages d.
func (p *Instance) Dim() int { return len(p.data.Cost) }

// Data returns a copy of the data that define the instance.
func (p *Instance) Data() Data { return clone(p.data) }

// Evaluate sets dst[i] = f(x_i). Solutions of a batch that begin with the same
// bits share the simulation of these stages.
func (p *Instance) Evaluate(ctx context.Context, dst []float64, x problem.Solutions) error {
	if err := problem.CheckBatch(p, dst, x); err != nil {
		return err
	}
	return p.evaluate(ctx, dst, x)
}

// Violations returns, for each stage of one solution, the number of simulations
// in which the contamination exceeds the limit: a slice of length d.
func (p *Instance) Violations(x []bool) ([]int, error) {
	if len(x) != p.Dim() {
		return nil, fmt.Errorf("ccp: instance %q: got a solution of dimension %d, want %d", p.Name(), len(x), p.Dim())
	}
	n := make([]int, len(x))
	for k, z := range p.data.Initial {
		for i, xi := range x {
			if z = p.data.step(z, i, k, xi); z > p.data.Limit {
				n[i]++
			}
		}
	}
	return n, nil
}

// Contamination returns the share of contaminated food after every stage in
// every simulation for one solution, d x T.
func (p *Instance) Contamination(x []bool) ([][]float64, error) {
	if len(x) != p.Dim() {
		return nil, fmt.Errorf("ccp: instance %q: got a solution of dimension %d, want %d", p.Name(), len(x), p.Dim())
	}
	out := make([][]float64, len(x))
	for i := range out {
		out[i] = make([]float64, len(p.data.Initial))
	}
	for k, z := range p.data.Initial {
		for i, xi := range x {
			z = p.data.step(z, i, k, xi)
			out[i][k] = z
		}
	}
	return out, nil
}

// step returns the contamination after stage i of simulation k, computed in the
// order of COMBO's arithmetic. The conversions keep the compiler from fusing a
// multiply with an add, which would round differently.
func (d *Data) step(z float64, i, k int, x bool) float64 {
	var xi float64
	if x {
		xi = 1
	}
	a := float64(d.Contamination[i][k] * (1 - xi))
	a = float64(a * (1 - z))
	g := 1 - float64(d.Restoration[i][k]*xi)
	return a + float64(g*z)
}

// MarshalJSON encodes the instance in full, so decoding it repeats no draw.
func (p *Instance) MarshalJSON() ([]byte, error) { return json.Marshal(p.data) }

// UnmarshalJSON decodes an instance encoded by MarshalJSON.
func (p *Instance) UnmarshalJSON(b []byte) error {
	var d Data
	if err := json.Unmarshal(b, &d); err != nil {
		return fmt.Errorf("ccp: %w", err)
	}
	q, err := New(d)
	if err != nil {
		return err
	}
	*p = *q
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
