package brkga

import (
	"context"
	"fmt"
	"reflect"
	"testing"

	"dace.local/dacelib/internal/openings"
	"dace.local/dacelib/problem"
	"dace.local/dacelib/problem/onemax"
)

// expensive is a problem that says so and counts how often a solution is
// evaluated.
type expensive struct {
	problem.Problem
	times map[string]int
	most  int
}

func (e *expensive) Costly() bool { return true }

func (e *expensive) Evaluate(ctx context.Context, dst []float64, x problem.Solutions) error {
	for i := range x.Len() {
		k := fmt.Sprint(x.Row(i))
		e.times[k]++
		e.most = max(e.most, e.times[k])
	}
	return e.Problem.Evaluate(ctx, dst, x)
}

// TestCostly checks that runs that look values up have the results of runs that
// do not, and evaluate each solution once.
func TestCostly(t *testing.T) {
	ctx := context.Background()
	for _, d := range []int{2, 12, 30, 64, 65, 130} {
		inner := onemax.Random(1, d)
		var jobs, plain []Job
		all := &expensive{inner, map[string]int{}, 0}
		for _, s := range corners() {
			one := &expensive{inner, map[string]int{}, 0}
			got, err := Run(ctx, one, s)
			if err != nil {
				t.Fatal(err)
			}
			want, err := Run(ctx, inner, s)
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got, want) {
				t.Fatalf("d = %d, %+v: got %+v, want %+v", d, s, got, want)
			}
			if one.most != 1 {
				t.Errorf("d = %d, %+v: a solution was evaluated %d times", d, s, one.most)
			}
			jobs, plain = append(jobs, Job{all, s}), append(plain, Job{inner, s})
		}
		for _, ctx := range []context.Context{ctx, openings.With(ctx)} {
			got, err := RunAll(ctx, jobs, 1)
			if err != nil {
				t.Fatal(err)
			}
			want, err := RunAll(ctx, plain, 1)
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got, want) {
				t.Fatalf("d = %d: RunAll differs", d)
			}
		}
	}
}

// TestKnown checks the table of known solutions against a map, while it grows
// and when it begins anew.
func TestKnown(t *testing.T) {
	for _, w := range []int{1, 3} {
		k := new(known)
		k.reset(w, 10)
		want := map[uint64]int32{}
		row := make([]uint64, w)
		for i := range 5000 {
			row[w-1] = uint64(i*i%1777) << 20
			place, ok := want[row[w-1]]
			if !ok {
				place = int32(len(want))
				want[row[w-1]] = place
			}
			if got := k.find(row); got != place {
				t.Fatalf("w = %d, solution %d: place %d, want %d", w, i, got, place)
			}
		}
		k.values = append(k.values, make([]float64, mostKnown)...)
		if k.shrink(); len(k.values) != 0 || k.find(row) != 0 {
			t.Errorf("w = %d: the table did not begin anew", w)
		}
	}
}
