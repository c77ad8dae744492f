package ccp

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"dace.local/dacelib/problem"
	"dace.local/dacelib/problem/problemtest"
	"dace.local/dacelib/run"
)

func TestConformance(t *testing.T) {
	for _, s := range []Settings{
		{}, {Dim: 40, Lambda: 1e-2}, {Dim: 1}, {Dim: 64, Simulations: 7}, {Dim: 65, Simulations: 36}, {Dim: 130, Simulations: 101},
	} {
		p, err := Generate(3, s)
		if err != nil {
			t.Fatal(err)
		}
		problemtest.Run(t, p, problemtest.Settings{Decode: Decode})
	}
}

// reference computes the paper's formula term by term.
func reference(p *Instance, x []bool) float64 {
	d := p.Data()
	total := 0.0
	v, _ := p.Violations(x)
	for i, xi := range x {
		if xi {
			total += d.Cost[i] + d.Lambda
		}
		total += float64(v[i]) / float64(len(d.Initial))
	}
	return -total
}

// TestBatches compares the kernel with the formula, over dimensions on both
// sides of a word, numbers of simulations on both sides of a block, and batches
// with long shared prefixes.
func TestBatches(t *testing.T) {
	rng := run.Rand(5, "batches")
	for _, d := range []int{1, 2, 30, 63, 64, 65, 128, 150} {
		for _, sims := range []int{1, 35, 36, 37, 100} {
			p, err := Generate(uint64(d), Settings{Dim: d, Simulations: sims, Lambda: 1e-2})
			if err != nil {
				t.Fatal(err)
			}
			x := problem.Random(rng, 40, d)
			for i := 20; i < 40; i++ { // variants of the solution before
				copy(x.Row(i), x.Row(i-1))
				j := rng.IntN(d)
				x.Set(i, j, !x.At(i, j))
			}
			copy(x.Row(39), x.Row(20))
			dst := make([]float64, 40)
			if err := p.Evaluate(context.Background(), dst, x); err != nil {
				t.Fatal(err)
			}
			for i, v := range dst {
				if want := reference(p, x.Bools(i)); math.Abs(v-want) > 1e-9 {
					t.Fatalf("d = %d, %d simulations, solution %d: %v, want %v", d, sims, i, v, want)
				}
			}
		}
	}
}

// TestWalk compares the assembly with walkGo, to the last bit.
func TestWalk(t *testing.T) {
	rng := run.Rand(6, "walk")
	for range 300 {
		n, m := rng.IntN(20), rng.IntN(20)
		if n+m == 0 {
			n = 1
		}
		table := make([]float64, (n+m)*2*lanes)
		for i := range table {
			table[i] = rng.Float64()
		}
		x, limit := rng.Uint64(), rng.Float64()/2
		z := make([]float64, (n+1)*lanes)
		for i := range lanes {
			z[i] = rng.Float64()
		}
		count := make([]counts, n+1)
		count[0] = counts{1, 2, 3, rng.Int64N(100)}
		z2, count2 := slices.Clone(z), slices.Clone(count)
		a := walk(z, count, table, x, n, m, limit)
		b := walkGo(z2, count2, table, lanes, x, n, m, limit)
		if a != b || !slices.Equal(z, z2) || !slices.Equal(count, count2) {
			t.Fatalf("n = %d, m = %d: %d violations, want %d", n, m, a, b)
		}
	}
}

// TestMonotone checks that more measures mean less contamination at every
// stage.
func TestMonotone(t *testing.T) {
	p, err := Generate(7, Settings{})
	if err != nil {
		t.Fatal(err)
	}
	rng := run.Rand(7, "monotone")
	for range 20 {
		x := problem.Random(rng, 1, 30).Bools(0)
		before, _ := p.Contamination(x)
		j := rng.IntN(30)
		if x[j] {
			continue
		}
		x[j] = true
		after, _ := p.Contamination(x)
		for i := range after {
			for k := range after[i] {
				if after[i][k] > before[i][k]+1e-15 {
					t.Fatalf("measures at stage %d raise the contamination at stage %d of simulation %d", j, i, k)
				}
			}
		}
	}
}

// TestDistributions compares the draws with the distribution functions; the
// median of Be(1, b) is 1 - 2^(-1/b).
func TestDistributions(t *testing.T) {
	for _, paper := range []bool{false, true} {
		p, err := Generate(8, Settings{Dim: 50, Simulations: 1000, PaperRestoration: paper})
		if err != nil {
			t.Fatal(err)
		}
		d := p.Data()
		b := 3.0 / 7
		if paper {
			b = 7.0 / 3
		}
		for _, c := range []struct {
			what string
			x    []float64
			b    float64
		}{
			{"initial", d.Initial, 30},
			{"contamination", slices.Concat(d.Contamination...), 17.0 / 3},
			{"restoration", slices.Concat(d.Restoration...), b},
		} {
			n := float64(len(c.x))
			for _, q := range []float64{0.1, 0.5, 0.9} {
				at, below := 1-math.Pow(1-q, 1/c.b), 0.0
				for _, v := range c.x {
					if v < at {
						below++
					}
				}
				if off := math.Abs(below/n - q); off > 4*math.Sqrt(q*(1-q)/n) {
					t.Errorf("%s: the share of draws below the quantile %v is %v", c.what, q, below/n)
				}
			}
		}
	}
}

func TestClass(t *testing.T) {
	s, err := Class().NewSet(1, 5, 50)
	if err != nil {
		t.Fatal(err)
	}
	lambdas := map[float64]int{}
	for _, p := range s.Training {
		if d := p.(*Instance).Data(); p.Dim() != 30 || d.Lambda != 1e-4 {
			t.Errorf("%s: d = %d, lambda = %v", p.Name(), p.Dim(), d.Lambda)
		}
	}
	for _, p := range s.Test {
		lambdas[p.(*Instance).Data().Lambda]++
	}
	if len(s.TestOf(30)) != 50 || len(s.TestOf(40)) != 50 || len(lambdas) != 2 || min(lambdas[0], lambdas[1e-2]) < 30 {
		t.Errorf("%d and %d test instances, lambdas %v", len(s.TestOf(30)), len(s.TestOf(40)), lambdas)
	}
	again, err := Class().Train(1, 3)
	if err != nil {
		t.Fatal(err)
	}
	a, _ := json.Marshal(again)
	b, _ := json.Marshal(s.Training[3])
	if string(a) != string(b) {
		t.Error("one seed and index gave two instances")
	}
}

func TestErrors(t *testing.T) {
	good := func() Data {
		p, err := Generate(1, Settings{Dim: 3, Simulations: 4})
		if err != nil {
			t.Fatal(err)
		}
		return p.Data()
	}
	for want, spoil := range map[string]func(*Data){
		"no stages":              func(d *Data) { d.Contamination = nil },
		"no simulations":         func(d *Data) { d.Initial = nil },
		"restoration 2":          func(d *Data) { d.Restoration = d.Restoration[:2] },
		"2 costs":                func(d *Data) { d.Cost = d.Cost[:2] },
		"lambda is NaN":          func(d *Data) { d.Lambda = math.NaN() },
		"limit 2":                func(d *Data) { d.Limit = 2 },
		"cost of stage 1":        func(d *Data) { d.Cost[1] = math.Inf(1) },
		"contamination at stage": func(d *Data) { d.Contamination[1] = d.Contamination[1][:3] },
		"simulation 2: -1":       func(d *Data) { d.Restoration[2][2] = -1 },
		"initial contamination":  func(d *Data) { d.Initial[0] = math.NaN() },
	} {
		d := good()
		spoil(&d)
		if _, err := New(d); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want an error with %q, got %v", want, err)
		}
	}
	if _, err := Generate(1, Settings{Dim: -1}); err == nil {
		t.Error("d = -1: no error")
	}
	p, _ := New(good())
	if _, err := p.Violations(make([]bool, 4)); err == nil {
		t.Error("Violations of a wrong dimension: no error")
	}
	if _, err := p.Contamination(make([]bool, 4)); err == nil {
		t.Error("Contamination of a wrong dimension: no error")
	}
}

func FuzzDecode(f *testing.F) {
	p, err := Generate(1, Settings{Dim: 2, Simulations: 2})
	if err != nil {
		f.Fatal(err)
	}
	b, _ := json.Marshal(p)
	f.Add(b)
	f.Add([]byte(`{"cost":[1]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := Decode(data)
		if err != nil {
			return
		}
		dst := make([]float64, 1)
		if err := p.Evaluate(context.Background(), dst, problem.NewSolutions(1, p.Dim())); err != nil || math.IsNaN(dst[0]) {
			t.Errorf("%q: %v, %v", data, dst[0], err)
		}
	})
}

// Example evaluates taking no measures, and measures at every other stage.
func Example() {
	p, err := Generate(1, Settings{Dim: 30, Lambda: 1e-4})
	if err != nil {
		fmt.Println(err)
		return
	}
	nothing, other := make([]bool, 30), make([]bool, 30)
	for i := 0; i < 30; i += 2 {
		other[i] = true
	}
	values := make([]float64, 2)
	err = p.Evaluate(context.Background(), values, problem.Pack(nothing, other))
	fmt.Printf("%.4f %.4f %v\n", values[0], values[1], err)
	// Output: -29.5600 -28.5215 <nil>
}

// ExampleClass draws the paper's instance set: 5 training instances, and 50
// test instances of each of two dimensions.
func ExampleClass() {
	s, err := Class().NewSet(1, 5, 50)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(len(s.Training), len(s.TestOf(30)), len(s.TestOf(40)), s.Training[0].Name(), s.TestOf(40)[49].Name())
	// Output: 5 50 50 ccp-train-30/0 ccp-test-40/49
}
