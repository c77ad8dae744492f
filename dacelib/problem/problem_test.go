package problem_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"dace.local/dacelib/problem"
	"dace.local/dacelib/problem/onemax"
	"dace.local/dacelib/run"
)

func ones(x []bool) float64 {
	n := 0.0
	for _, b := range x {
		if b {
			n++
		}
	}
	return n
}

// TestFromFuncBits checks that the function sees the bits of its solution, for
// any dimension and whatever it wrote to the slice before.
func TestFromFuncBits(t *testing.T) {
	for _, d := range []int{1, 7, 8, 9, 30, 63, 64, 65, 100, 128, 129, 200} {
		x := problem.Random(run.Rand(1, "test", d), 20, d)
		i := 0
		p := problem.FromFunc("bits", d, func(b []bool) float64 {
			if len(b) != d || cap(b) != d {
				t.Fatalf("d = %d: a slice of length %d and capacity %d", d, len(b), cap(b))
			}
			for j := range b {
				if b[j] != x.At(i, j) {
					t.Fatalf("d = %d: bit %d of solution %d is %v", d, j, i, b[j])
				}
				b[j] = !b[j]
			}
			i++
			return 0
		})
		if err := p.Evaluate(t.Context(), make([]float64, 20), x); err != nil || i != 20 {
			t.Errorf("d = %d: %d solutions, %v", d, i, err)
		}
		for i := range x.Len() {
			if b := x.Bools(i); len(b) != d || problem.Pack(b).String() != x.Slice(i, i+1).String() {
				t.Errorf("d = %d: Bools gives %v of %v", d, b, x.Slice(i, i+1))
			}
		}
	}
}

func TestFromFuncErrors(t *testing.T) {
	ctx := context.Background()
	p := problem.FromFunc("fragile", 3, func(x []bool) float64 {
		if x[0] && !x[1] && x[2] {
			panic("no such shop")
		}
		return 0
	})
	err := p.Evaluate(ctx, make([]float64, 2), problem.Pack([]bool{true, true, true}, []bool{true, false, true}))
	if err == nil || !strings.Contains(err.Error(), "101") || !strings.Contains(err.Error(), "no such shop") {
		t.Errorf("a panic gave %v, want an error that names the solution 101", err)
	}
	p = problem.FromFunc("nan", 2, func([]bool) float64 { return math.NaN() })
	if err := p.Evaluate(ctx, make([]float64, 1), problem.NewSolutions(1, 2)); err == nil || !strings.Contains(err.Error(), "NaN") {
		t.Errorf("a NaN gave %v", err)
	}
	p = problem.FromBatch("batch", 2, func([]float64, problem.Solutions) { panic("batch") })
	if err := p.Evaluate(ctx, make([]float64, 1), problem.NewSolutions(1, 2)); err == nil {
		t.Error("a panic of a batch gave no error")
	}
	p = problem.FromFunc("d", 3, ones)
	for name, call := range map[string]func() error{
		"dimension": func() error { return p.Evaluate(ctx, make([]float64, 1), problem.NewSolutions(1, 4)) },
		"room":      func() error { return p.Evaluate(ctx, make([]float64, 1), problem.NewSolutions(2, 3)) },
		"rows": func() error {
			return problem.FromFunc("d", 70, ones).Evaluate(ctx, make([]float64, 9), problem.Solutions{D: 70, Words: make([]uint64, 3)})
		},
	} {
		if call() == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestCount(t *testing.T) {
	ctx := context.Background()
	c := problem.Count(problem.FromFunc("ones", 4, ones), 5)
	x := problem.Pack([]bool{true, false, false, false}, []bool{true, true, false, true}, []bool{false, false, false, false})
	dst := make([]float64, 3)
	if err := c.Evaluate(ctx, dst, x); err != nil {
		t.Fatal(err)
	}
	if c.Evaluations() != 3 || c.Left() != 2 {
		t.Errorf("%d evaluations, %d left, want 3 and 2", c.Evaluations(), c.Left())
	}
	err := c.Evaluate(ctx, dst, x)
	var spent *problem.BudgetError
	if !errors.As(err, &spent) || spent.Evaluated != 2 || spent.Wanted != 3 || spent.Budget != 5 {
		t.Errorf("past the budget: %v", err)
	}
	if dst[0] != 1 || dst[1] != 3 || !math.IsInf(dst[2], -1) {
		t.Errorf("values %v, want [1 3 -Inf]", dst)
	}
	best, value := c.Best()
	if value != 3 || ones(best) != 3 {
		t.Errorf("best %v of value %v, want 1101", best, value)
	}
	// A failed batch is not counted.
	bad := problem.Count(problem.FromFunc("bad", 4, func([]bool) float64 { panic(1) }), 5)
	if bad.Evaluate(ctx, dst, x) == nil || bad.Evaluations() != 0 {
		t.Errorf("a failed batch counted %d evaluations", bad.Evaluations())
	}
	// Concurrent callers do not exceed the budget.
	var made atomic.Int64
	c = problem.Count(problem.FromFunc("made", 4, func([]bool) float64 { made.Add(1); return 0 }), 1000)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for c.Evaluate(ctx, make([]float64, 3), x) == nil {
			}
		})
	}
	wg.Wait()
	if made.Load() != 1000 || c.Evaluations() != 1000 {
		t.Errorf("%d made and %d counted, want 1000", made.Load(), c.Evaluations())
	}
}

func TestMemo(t *testing.T) {
	ctx := context.Background()
	made := 0
	c := problem.Count(problem.Memo(problem.FromFunc("made", 70, func(x []bool) float64 { made++; return ones(x) })), 0)
	x := problem.Random(run.Rand(1, "memo"), 10, 70)
	copy(x.Row(7), x.Row(2))
	dst, again := make([]float64, 10), make([]float64, 10)
	for _, v := range [][]float64{dst, again} {
		if err := c.Evaluate(ctx, v, x); err != nil {
			t.Fatal(err)
		}
	}
	if made != 9 || c.Evaluations() != 20 {
		t.Errorf("%d made and %d counted, want 9 and 20", made, c.Evaluations())
	}
	for i := range dst {
		if want := float64(x.Ones(i)); dst[i] != want || again[i] != want {
			t.Errorf("solution %d: %v and %v, want %v", i, dst[i], again[i], want)
		}
	}
}

func TestParallel(t *testing.T) {
	ctx := context.Background()
	x := problem.Random(run.Rand(1, "parallel"), 1000, 30)
	for _, workers := range []int{0, 1, 2, 7, 2000} {
		dst := make([]float64, x.Len())
		if err := problem.Parallel(problem.FromFunc("ones", 30, ones), workers).Evaluate(ctx, dst, x); err != nil {
			t.Fatal(err)
		}
		for i, v := range dst {
			if v != float64(x.Ones(i)) {
				t.Fatalf("%d workers: value %d is %v", workers, i, v)
			}
		}
	}
	// A worker's panic does not end the process.
	p := problem.Parallel(raw{}, 4)
	if err := p.Evaluate(ctx, make([]float64, x.Len()), x); err == nil || !strings.Contains(err.Error(), "raw panics") {
		t.Errorf("a panic in a worker gave %v", err)
	}
	// The caller's deadline ends the evaluation.
	slow := problem.FromFunc("slow", 30, func([]bool) float64 { time.Sleep(time.Millisecond); return 0 })
	ctx, cancel := context.WithTimeout(ctx, 5*time.Millisecond)
	defer cancel()
	if err := problem.Parallel(slow, 4).Evaluate(ctx, make([]float64, x.Len()), x); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("past the deadline: %v", err)
	}
}

type raw struct{}

func (raw) Name() string { return "raw" }
func (raw) Dim() int     { return 30 }
func (raw) Evaluate(context.Context, []float64, problem.Solutions) error {
	panic("raw panics")
}

func TestDistinct(t *testing.T) {
	for _, c := range []struct{ n, d int }{{0, 3}, {8, 3}, {3, 3}, {1000, 10}, {1024, 10}, {5000, 30}, {2000, 200}, {1, 1}, {2, 1}} {
		x, err := problem.Distinct(run.Rand(1, "distinct"), c.n, c.d)
		if err != nil {
			t.Fatal(err)
		}
		seen := map[string]bool{}
		for i := range c.n {
			seen[x.Slice(i, i+1).String()] = true
		}
		if len(seen) != c.n {
			t.Errorf("%d of d = %d: %d distinct", c.n, c.d, len(seen))
		}
	}
	for _, c := range []struct{ n, d int }{{9, 3}, {-1, 3}, {1, 0}} {
		if _, err := problem.Distinct(run.Rand(1, "distinct"), c.n, c.d); err == nil {
			t.Errorf("%d of d = %d: no error", c.n, c.d)
		}
	}
	// Each bit is 1 in half of the solutions, and each solution is drawn
	// equally often.
	const n, d, times = 4, 4, 4000
	count := make([]int, 1<<d)
	for i := range times {
		x, err := problem.Distinct(run.Rand(2, "distinct", i), n, d)
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range x.Words {
			count[w]++
		}
	}
	for v, k := range count {
		want := float64(n) / (1 << d) * times
		if sd := math.Sqrt(want); math.Abs(float64(k)-want) > 4*sd {
			t.Errorf("%04b was drawn %d times, want about %v", v, k, want)
		}
	}
}

func TestRandomPads(t *testing.T) {
	for _, d := range []int{1, 63, 64, 65, 128, 130} {
		x := problem.Random(run.Rand(1, "pads"), 50, d)
		total := 0
		for i := range 50 {
			total += x.Ones(i)
			for j := d; j < 64*problem.Stride(d); j++ {
				if x.Row(i)[j/64]>>(j%64)&1 == 1 {
					t.Fatalf("d = %d: bit %d of solution %d is 1", d, j, i)
				}
			}
		}
		if want, sd := 25*float64(d), math.Sqrt(50*float64(d))/2; math.Abs(float64(total)-want) > 4.5*sd {
			t.Errorf("d = %d: %d ones in 50 solutions", d, total)
		}
	}
}

func TestEnumerate(t *testing.T) {
	x := problem.Enumerate(3)
	if got := x.String(); got != "000\n100\n010\n110\n001\n101\n011\n111" {
		t.Errorf("got\n%s", got)
	}
}

func TestNewClass(t *testing.T) {
	class := problem.NewClass("ones", 8, func(seed uint64, i int) (problem.Problem, error) {
		return problem.FromFunc(fmt.Sprint(seed, "/", i), 8, func([]bool) float64 { return 0 }), nil
	})
	set, err := class.NewSet(3, 2, 2)
	if err != nil {
		t.Fatal(err)
	}
	if len(set.Training) != 2 || len(set.Test) != 2 || set.Training[1].Name() != "3/1" || set.Test[1].Name() == set.Training[1].Name() {
		t.Errorf("%v", set)
	}
	if _, err := class.Test(3, 9, 0); err == nil {
		t.Error("an instance of dimension 9")
	}
}

func TestSet(t *testing.T) {
	c := onemax.Class(20)
	s, err := c.NewSet(7, 5, 3)
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Training) != 5 || len(s.Test) != 3 || len(s.TestOf(20)) != 3 || len(s.TestOf(21)) != 0 {
		t.Fatalf("%d training and %d test instances", len(s.Training), len(s.Test))
	}
	path := filepath.Join(t.TempDir(), "set.json")
	if err := s.Save(path); err != nil {
		t.Fatal(err)
	}
	back, err := c.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	var a, b bytes.Buffer
	if err := errors.Join(s.Write(&a), back.Write(&b)); err != nil {
		t.Fatal(err)
	}
	if a.String() != b.String() || back.Seed != 7 || back.Class != "onemax" {
		t.Error("the set read back is another")
	}
	// Instances differ from each other and between seeds.
	other, err := c.NewSet(8, 5, 3)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, p := range append(append(s.Training, s.Test...), append(other.Training, other.Test...)...) {
		seen[fmt.Sprint(p.(*onemax.Instance).Target())] = true
	}
	if len(seen) != 16 {
		t.Errorf("%d distinct instances of 16", len(seen))
	}
	// Error messages name the fault.
	for what, call := range map[string]func() error{
		"not an instance set": func() error { _, err := c.Read(strings.NewReader("{")); return err },
		`class "onemax"`: func() error {
			d := c
			d.Name = "ccp"
			_, err := d.Load(path)
			return err
		},
		"training instance 0": func() error {
			_, err := c.Read(strings.NewReader(`{"class":"onemax","training":[{"target":"012"}]}`))
			return err
		},
		"no MarshalJSON": func() error {
			return problem.Set{Training: []problem.Problem{problem.FromFunc("f", 1, ones)}}.Write(&a)
		},
		"no Decode": func() error { _, err := problem.Class{Name: "x"}.Load(path); return err },
	} {
		if err := call(); err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("want an error with %q, got %v", what, err)
		}
	}
}

func TestValue(t *testing.T) {
	p := problem.WithOptimum(problem.FromFunc("ones", 3, ones), 3)
	if v, err := problem.Value(context.Background(), p, []bool{true, false, true}); v != 2 || err != nil {
		t.Errorf("%v, %v", v, err)
	}
	if _, err := problem.Value(context.Background(), p, []bool{true}); err == nil {
		t.Error("a solution of the wrong dimension: no error")
	}
	if v, ok := problem.Optimum(problem.Memo(p)); v != 3 || !ok {
		t.Errorf("optimum %v, %v", v, ok)
	}
	if _, ok := problem.Optimum(problem.FromFunc("ones", 3, ones)); ok {
		t.Error("an unknown optimum is known")
	}
}

// ExampleFromFunc defines a problem: the number of neighbours that differ.
func ExampleFromFunc() {
	p := problem.FromFunc("edges", 6, func(x []bool) float64 {
		n := 0.0
		for i := 1; i < len(x); i++ {
			if x[i] != x[i-1] {
				n++
			}
		}
		return n
	})
	v, err := problem.Value(context.Background(), p, []bool{false, true, false, false, true, true})
	fmt.Println(v, err)
	// Output: 3 <nil>
}

// ExampleCount spends a budget of 100 evaluations on random solutions.
func ExampleCount() {
	p := problem.Count(onemax.Random(1, 10), 100)
	values := make([]float64, 150)
	err := p.Evaluate(context.Background(), values, problem.Random(run.Rand(1, "example"), 150, 10))
	_, best := p.Best()
	fmt.Println(best, err)
	// Output: 9 problem onemax-10/1: the budget of 100 evaluations is spent: 100 of the last 150 solutions were evaluated
}

// ExamplePack packs a batch of three solutions.
func ExamplePack() {
	x := problem.Pack([]bool{true, false, true}, []bool{false, false, true}, []bool{true, true, true})
	fmt.Println(x)
	fmt.Println(x.Len(), x.Ones(0), x.At(1, 2))
	// Output:
	// 101
	// 001
	// 111
	// 3 2 true
}

func BenchmarkMemo(b *testing.B) {
	p := problem.Memo(onemax.Random(1, 30))
	x := problem.Random(run.Rand(1, "benchmark"), 1000, 30)
	dst := make([]float64, 1000)
	for b.Loop() {
		if err := p.Evaluate(context.Background(), dst, x); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(1000*float64(b.N)/b.Elapsed().Seconds(), "evals/s")
}
