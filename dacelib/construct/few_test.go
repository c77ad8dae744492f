package construct_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"

	"dace.local/dacelib/construct"
	"dace.local/dacelib/nir"
	"dace.local/dacelib/problem"
	"dace.local/dacelib/problem/classic"
	"dace.local/dacelib/run"
)

// With few evaluations Best races on NIRs: it keeps the budget, says so, gives the same
// with any number of workers and from its record, and does not do so with more.
func TestBestFewEvaluations(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	t.Parallel()
	class, err := classic.Class("nk", 24)
	if err != nil {
		t.Fatal(err)
	}
	var ps []problem.Problem
	var counted []*problem.Counted
	for i := range 2 {
		p, err := class.Train(1, i)
		if err != nil {
			t.Fatal(err)
		}
		counted = append(counted, problem.Count(p, 0))
		ps = append(ps, counted[i])
	}
	made := func() (n int) {
		for _, c := range counted {
			n += c.Evaluations()
		}
		return n
	}
	s := construct.Settings{
		Evaluations: 120, Members: 3, Seed: 1, Solvers: some(t), Workers: 1, Budget: construct.Budget{Evaluations: 900}, Dir: t.TempDir(),
		NIR: nir.Settings{Steps: 20, Batch: 16, NormaliseSample: 1000},
	}
	r, err := construct.Best(t.Context(), ps, s)
	if err != nil || r.Portfolio.Size() != 3 || r.Portfolio.Check() != nil || r.Status != run.BudgetSpent {
		t.Fatalf("%v, %v", r, err)
	}
	first := made()
	if first > 900 || r.Cost.Evaluations < 800 || r.Cost.Evaluations > first {
		t.Errorf("%d evaluations of 900, and the cost says %d", first, r.Cost.Evaluations)
	}
	if !strings.Contains(r.String(), "NIRs, models of the instances, on which configurations raced") {
		t.Error(r)
	}
	again, err := construct.Best(t.Context(), ps, s)                                         // from the record
	if err != nil || !reflect.DeepEqual(again.Portfolio, r.Portfolio) || made()-first > 50 { // it looks whether the instances are the same
		t.Errorf("from the record: %v, %v, %d evaluations", again.Portfolio, err, made()-first)
	}
	s.Workers, s.Dir = 3, ""
	if again, err := construct.Best(t.Context(), ps, s); err != nil || !reflect.DeepEqual(again.Portfolio, r.Portfolio) {
		t.Errorf("with three workers: %v, %v", again.Portfolio, err)
	}
	s.Budget.Evaluations = 3000
	if r, err := construct.Best(t.Context(), ps, s); err != nil || strings.Contains(r.String(), "NIRs") {
		t.Errorf("with 25 runs: %v, %v", r, err)
	}
}

// Of instances whose solutions are all the same nothing is learnt: the portfolio is the
// defaults.
func TestBestFewConstant(t *testing.T) {
	t.Parallel()
	flat := problem.FromFunc("flat", 24, func([]bool) float64 { return 1 })
	s := construct.Settings{Evaluations: 200, Solvers: some(t), Budget: construct.Budget{Evaluations: 600}, NIR: nir.Settings{Steps: 20, Batch: 16, NormaliseSample: 1000}}
	r, err := construct.Best(t.Context(), []problem.Problem{flat}, s)
	if err != nil || r.Portfolio.Size() != 4 || r.Cost.Evaluations > 600 {
		t.Errorf("%v, %v, %+v", r, err, r.Cost)
	}
	if !strings.Contains(r.String(), "nothing to learn): the portfolio is the solvers' defaults") {
		t.Error(r)
	}
}

// A failure of the objective or of the disk is one of the construction, which goes on from
// there: it does not end with the defaults, as if the values taught nothing.
func TestBestFewFails(t *testing.T) {
	t.Parallel()
	count := func(x []bool) (n float64) {
		for _, bit := range x {
			if bit {
				n++
			}
		}
		return n
	}
	ones := problem.FromFunc("ones", 24, count)
	var calls atomic.Int64
	gone := problem.FromContext("gone", 24, func(_ context.Context, x []bool) (float64, error) {
		if calls.Add(1) > 100 {
			return 0, errors.New("the licence is gone")
		}
		return count(x), nil
	})
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "model.npz"), 0o755); err != nil {
		t.Fatal(err)
	}
	for want, s := range map[string]construct.Settings{"the licence is gone": {}, "model.npz": {Dir: dir}} {
		s.Evaluations, s.Solvers, s.Budget.Evaluations, s.Workers = 200, some(t), 600, 1
		s.NIR = nir.Settings{Steps: 20, Batch: 16, NormaliseSample: 1000}
		p := ones
		if s.Dir == "" {
			p = gone
		}
		if r, err := construct.Best(t.Context(), []problem.Problem{p}, s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, %v", want, r, err)
		}
	}
}
