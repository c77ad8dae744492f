package solver_test

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"dace.local/dacelib/problem"
	"dace.local/dacelib/run"
	"dace.local/dacelib/smac"
	"dace.local/dacelib/solver"
)

var errBroken = errors.New("the objective is broken")

// A model is what a search does by its documentation, with a list and maps: solutions are
// numbers, and their values are values.
type model struct {
	values    []float64 // of the solutions; NaN ends the run
	failsAt   int       // this call of the objective fails
	remembers bool
	target    float64

	asked       []int // solutions evaluated
	calls, left int
	memory      map[int]bool
	best        int // solution
	history     []solver.Point
	status      run.Status
	err         error
}

func (m *model) fail(err error) int { m.left, m.err, m.status = 0, err, run.NotRun; return 0 }

// evaluate evaluates solutions in one call and reports whether it has their values.
func (m *model) evaluate(xs []int) bool {
	if m.calls++; m.calls == m.failsAt {
		m.fail(errBroken)
		return false
	}
	m.left -= len(xs)
	for _, x := range xs {
		m.asked = append(m.asked, x)
		switch v := m.values[x]; {
		case math.IsNaN(v):
			m.fail(errors.New("NaN"))
		case m.history == nil || v > m.values[m.best]:
			m.best, m.history = x, append(m.history, solver.Point{Evaluations: len(m.asked), Best: v})
			if v >= m.target && m.err == nil {
				if !math.IsInf(m.target, 1) {
					m.status = run.TargetReached
				} else if m.left > 0 {
					m.status = run.Converged // nothing is better
				}
				m.left = 0
			}
		}
		if m.remembers {
			if m.memory[x] = true; len(m.memory) == len(m.values) && m.left > 0 {
				m.left, m.status = 0, run.Converged
			}
		}
	}
	return m.err == nil
}

// take is Search.Values; the result is how many of xs have a value.
func (m *model) take(xs []int) int {
	var fresh []int
	n := 0
	for ; n < len(xs) && m.left > 0 && (m.remembers && m.memory[xs[n]] || len(fresh) < m.left); n++ {
		if !m.memory[xs[n]] {
			fresh = append(fresh, xs[n])
		}
	}
	if len(fresh) > 0 && !m.evaluate(fresh) {
		return 0
	}
	return n
}

// batches is a problem of a function that may fail.
type batches struct {
	d int
	f func(dst []float64, x problem.Solutions) error
}

func (b batches) Name() string { return "modelled" }
func (b batches) Dim() int     { return b.d }
func (b batches) Evaluate(_ context.Context, dst []float64, x problem.Solutions) error {
	return b.f(dst, x)
}

// TestModel makes random searches and compares each answer, each evaluation and the result
// with the model's.
func TestModel(t *testing.T) {
	for seed := range uint64(3000) {
		rng := rand.New(rand.NewPCG(seed, 0))
		d := []int{2, 3, 64, 70}[seed%4]
		m := &model{values: make([]float64, min(1<<min(d, 8), 9)), remembers: rng.IntN(2) == 0, memory: map[int]bool{}, target: math.Inf(1)}
		if d > 8 {
			m.values = append(m.values, -1) // one that the search never asks for: not all are known
		}
		for i := range m.values {
			m.values[i] = float64(rng.IntN(6))
			if rng.IntN(40) == 0 {
				m.values[i] = []float64{math.NaN(), math.Inf(1), math.Inf(-1)}[rng.IntN(3)]
			}
		}
		budget := 1 + rng.IntN(25)
		m.left = budget
		job := solver.Job{Evaluations: budget}
		if rng.IntN(3) == 0 {
			m.target = float64(3 + rng.IntN(3))
			job.Target = &m.target
		}
		if rng.IntN(8) == 0 {
			m.failsAt = 1 + rng.IntN(5)
		}
		last := (d - 1) / 64
		number := func(row []uint64) int { // of a solution: its lowest bits in the last word
			return int(row[last])
		}
		var asked []int
		calls := 0
		job.Problem = batches{d, func(dst []float64, x problem.Solutions) error {
			if calls++; calls == m.failsAt {
				return errBroken
			}
			for i := range dst {
				asked = append(asked, number(x.Row(i)))
				dst[i] = m.values[number(x.Row(i))]
			}
			return nil
		}}
		of := solver.FromFunc("modelled", smac.Space{}, func(s *solver.Search) error {
			if m.remembers {
				s.Remember()
			}
			for range 40 {
				xs := make([]int, 1+rng.IntN(6))
				rows := problem.NewSolutions(len(xs), d)
				for i := range xs {
					xs[i] = rng.IntN(min(len(m.values), 9))
					rows.Row(i)[last] = uint64(xs[i])
				}
				spent := m.left == 0
				if rng.IntN(2) == 0 {
					got, want := s.Value(rows.Row(0)), math.Inf(-1)
					if m.take(xs[:1]) == 1 {
						want = m.values[xs[0]]
					} else if !spent && m.err != nil && math.IsNaN(m.values[xs[0]]) && m.calls != m.failsAt {
						want = math.NaN() // what the objective said; the run is over
					}
					if got != want && !(math.IsNaN(got) && math.IsNaN(want)) {
						t.Errorf("seed %d: Value is %v, want %v", seed, got, want)
					}
				} else {
					dst := make([]float64, len(xs)+1)
					n, want := s.Values(dst, rows), m.take(xs)
					if n != want {
						t.Errorf("seed %d: Values of %d returns %d, want %d", seed, len(xs), n, want)
					}
					for i := range min(n, want) {
						if dst[i] != m.values[xs[i]] {
							t.Errorf("seed %d: value %d is %v, want %v", seed, i, dst[i], m.values[xs[i]])
						}
					}
				}
				if rng.IntN(50) == 0 {
					if s.Stop(); m.left > 0 {
						m.left, m.status = 0, run.Converged
					}
				}
				want := math.Inf(-1)
				if m.history != nil {
					want = m.values[m.best]
				}
				if s.Left() != m.left || s.Over() != (m.left == 0) || s.Best() != want || m.left > 0 && s.Budget() != budget {
					t.Errorf("seed %d: left %d, over %v, best %v, budget %d; want %d, %v of %d", seed, s.Left(), s.Over(), s.Best(), s.Budget(), m.left, want, budget)
				}
			}
			return nil
		})
		solver.Register(of)
		job.Config, _ = solver.New("modelled", nil)
		rs, err := of.Run(t.Context(), []solver.Job{job}, 1)
		r := rs[0]
		if (err != nil) != (m.err != nil) || m.err == errBroken && !errors.Is(err, errBroken) {
			t.Errorf("seed %d: %v, want %v", seed, err, m.err)
		}
		status := m.status
		switch {
		case m.err != nil:
			status = run.NotRun
		case m.left > 0:
			status = run.Converged
		case status == run.NotRun:
			status = run.BudgetSpent
		}
		value := math.Inf(-1)
		var x []bool
		if m.history != nil {
			row := problem.NewSolutions(1, d)
			row.Words[last] = uint64(m.best)
			x, value = row.Bools(0), m.values[m.best]
		}
		if !slices.Equal(asked, m.asked) || r.Evaluations != len(asked) || r.Status != status || !slices.Equal(r.History, m.history) || r.Value != value || !slices.Equal(r.X, x) || r.Problem != "modelled" {
			t.Errorf("seed %d: %+v\nof %v; want\n%+v of %v", seed, r, asked, m, value)
		}
		if t.Failed() {
			return
		}
	}
}
