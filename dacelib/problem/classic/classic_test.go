package classic

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"dace.local/dacelib/brkga"
	"dace.local/dacelib/problem"
	"dace.local/dacelib/problem/problemtest"
	"dace.local/dacelib/run"
)

// random draws an instance of every problem of the package that has dimension d.
func random(t *testing.T, seed uint64, d int) []*Instance {
	t.Helper()
	var all []*Instance
	add := func(p *Instance, err error) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
	for _, k := range []int{0, 2, 5} {
		if k < d {
			add(RandomNK(seed, d, k))
			add(RandomNKOf(seed, d, k))
		}
	}
	for _, c := range draws {
		if p, err := c.draw(seed, d); err == nil {
			add(p, nil)
		} else if d >= 5 && c.name != "queens" {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	add(MaxCut("negative", [][]int{{0, 1, -3}, {1, 0, 2}, {0, 0, 0}}))
	add(Ising("triangular", Triangular(1, d)))
	add(MaxSat("mixed", 3, [][]int{{1, -1}, {2}, {-3, -3, 1}, {}, {1, 2, 3}, {-1, -2}}))
	for f := range pboNames {
		for _, instance := range []int{1, 7, 64} {
			if p, err := PBO(f+1, instance, d); err == nil {
				add(p, nil)
			} else if d > 1 && side(d) > 0 {
				t.Errorf("F%d: %v", f+1, err)
			}
		}
	}
	return all
}

func TestConformance(t *testing.T) {
	for _, d := range []int{1, 2, 20, 64, 100} {
		for _, p := range random(t, 1, d) {
			err := problemtest.Check(t.Context(), p, problemtest.Settings{Solutions: 17, Decode: Decode})
			if err != nil {
				t.Errorf("%s: %v", p.Name(), err)
			}
		}
	}
}

// TestFlips compares walks with Evaluate, before and after many flips.
func TestFlips(t *testing.T) {
	for _, d := range []int{1, 2, 9, 36, 64, 100} {
		for _, p := range random(t, 2, d) {
			rng := run.Rand(3, "flips", d)
			w := p.Walk()
			same := func(what string, v float64, row []uint64) {
				t.Helper()
				want := p.value(row, make([]uint64, len(row)))
				if math.IsInf(want, 1) && math.IsInf(v, 1) {
					return // LABS in one bit
				}
				if math.Abs(v-want) > 1e-9*(1+math.Abs(want)) || want == math.Trunc(want) && p.move == nil && math.Abs(v-want) > 1e-12 {
					t.Errorf("%s: %s is %v, want %v", p.Name(), what, v, want)
				}
			}
			same("the value at the start", w.Value(), w.Row())
			row := problem.Random(rng, 1, p.d).Row(0)
			same("Start", w.Start(row), row)
			peeks := make([]float64, p.d)
			for step := range 150 {
				if !slices.Equal(w.Row(), row) {
					t.Fatalf("%s: a wrong row", p.Name())
				}
				same("Value", w.Value(), row)
				if step%50 == 0 {
					w.PeekAll(peeks)
				}
				for k := range min(p.d, 3) {
					j := (step + k*k) % p.d
					neighbour := slices.Clone(row)
					neighbour[j>>6] ^= 1 << (j & 63)
					same("Peek", w.Peek(j), neighbour)
					if step%50 == 0 {
						same("PeekAll", peeks[j], neighbour)
					}
				}
				j := rng.IntN(p.d)
				row[j>>6] ^= 1 << (j & 63)
				same("Flip", w.Flip(j), row)
			}
		}
	}
}

// TestFlipsStay checks that rounding errors of a long walk stay small.
func TestFlipsStay(t *testing.T) {
	p, err := RandomNKOf(1, 20, 3)
	if err != nil {
		t.Fatal(err)
	}
	q := quadraticOf(t)
	for _, p := range []*Instance{p, q} {
		w, rng := p.Walk(), run.Rand(1, "long")
		for range 3 * fresh / 2 {
			w.Flip(rng.IntN(p.d))
		}
		if want := p.value(w.Row(), nil); math.Abs(w.Value()-want) > 1e-11*(1+math.Abs(want)) {
			t.Errorf("%s: %v, want %v", p.Name(), w.Value(), want)
		}
	}
}

// quadraticOf returns a QUBO whose values are not whole numbers.
func quadraticOf(t *testing.T) *Instance {
	rng := run.Rand(1, "thirds")
	var terms []Edge
	for range 300 {
		terms = append(terms, Edge{rng.IntN(20), rng.IntN(20), float64(rng.IntN(100)) / 3})
	}
	p, err := QUBO("thirds", 20, terms)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestOptimum compares the optima with the best of all solutions.
func TestOptimum(t *testing.T) {
	for _, d := range []int{1, 2, 3, 9, 14} {
		for seed := range uint64(2) {
			for _, p := range random(t, seed, d) {
				x := problem.Enumerate(p.d)
				values := make([]float64, x.Len())
				if err := p.Evaluate(context.Background(), values, x); err != nil {
					t.Fatal(err)
				}
				best, ok := p.Optimum()
				if top := slices.Max(values); !ok || top != best && math.Abs(top-best) > 1e-12*(1+math.Abs(top)) {
					t.Errorf("%s: optimum %v, %v; the best of all is %v", p.Name(), best, ok, top)
				}
			}
		}
	}
}

// TestPBO compares values with those of IOHexperimenter.
func TestPBO(t *testing.T) {
	b, err := os.ReadFile("testdata/pbo.txt")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for line := range strings.Lines(string(b)) {
		if line[0] == '#' {
			continue
		}
		var f, instance int
		var bits string
		var want float64
		if _, err := fmt.Sscan(line, &f, &instance, &bits, &want); err != nil {
			t.Fatal(err)
		}
		p, err := PBO(f, instance, len(bits))
		if err != nil {
			t.Fatal(err)
		}
		if v, err := problem.Value(t.Context(), p, bools(bits)); err != nil || math.Abs(v-want) > 1e-12*(1+math.Abs(want)) {
			t.Errorf("F%d, instance %d, %s: %v, %v; want %v", f, instance, bits, v, err, want)
		}
		n++
	}
	if n != 900 {
		t.Errorf("%d values", n)
	}
}

func bools(bits string) []bool {
	x := make([]bool, len(bits))
	for i, c := range bits {
		x[i] = c == '1'
	}
	return x
}

// TestWModelLayers compares the layers with published code.
func TestWModelLayers(t *testing.T) {
	b, err := os.ReadFile("testdata/wmodel.txt")
	if err != nil {
		t.Fatal(err)
	}
	n := map[string]int{}
	for line := range strings.Lines(string(b)) {
		fields := strings.Fields(line)
		n[fields[0]]++
		var k int
		switch fmt.Sscan(fields[1], &k); fields[0] {
		case "r":
			var gamma int
			fmt.Sscan(fields[2], &gamma)
			if got := strings.Trim(fmt.Sprint(ruggedness(gamma, k)), "[]"); got != strings.Join(fields[3:], " ") {
				t.Errorf("q = %d, gamma = %d: %s, want %s", k, gamma, got, fields[3:])
			}
		case "e":
			bits := []byte(fields[2])
			for i := range bits {
				bits[i] -= '0'
			}
			epistasis(k)(bits)
			if got := strings.Trim(strings.ReplaceAll(fmt.Sprint(bits), " ", ""), "[]"); got != fields[3] {
				t.Errorf("nu = %d: %s becomes %s, want %s", k, fields[2], got, fields[3])
			}
		case "n":
			p, err := WModel("n", len(fields[2]), WModelSettings{Neutrality: k})
			if err != nil {
				t.Fatal(err)
			}
			if v, err := problem.Value(t.Context(), p, bools(fields[2])); err != nil || int(v) != strings.Count(fields[3], "1") {
				t.Errorf("mu = %d: %s has %v, %v; want the ones of %s", k, fields[2], v, err, fields[3])
			}
		}
	}
	if n["r"] != 103 || n["e"] != 40 || n["n"] != 16 {
		t.Errorf("%v lines", n)
	}
}

// TestLABS compares the smallest energies with published ones (Packebusch and
// Mertens, Low autocorrelation binary sequences, 2016, table 1).
func TestLABS(t *testing.T) {
	for d, energy := range map[int]int{3: 1, 4: 2, 5: 2, 7: 3, 10: 13, 11: 5, 13: 6, 15: 15, 18: 25} {
		p, err := PBO(18, 1, d)
		if err != nil {
			t.Fatal(err)
		}
		if best, ok := p.Optimum(); !ok || best != float64(d*d)/2/float64(energy) {
			t.Errorf("d = %d: optimum %v, %v, want an energy of %d", d, best, ok, energy)
		}
	}
}

func TestErrors(t *testing.T) {
	for what, f := range map[string]func() (*Instance, error){
		"lengths":      func() (*Instance, error) { return Knapsack("", []int{1}, []int{1, 2}, 3) },
		"capacity":     func() (*Instance, error) { return Knapsack("", []int{1}, []int{1}, -3) },
		"weight":       func() (*Instance, error) { return Knapsack("", []int{1}, []int{-1}, 3) },
		"items":        func() (*Instance, error) { return RandomKnapsack(1, 0) },
		"nodes":        func() (*Instance, error) { return RandomMaxCut(1, 5001) },
		"weights":      func() (*Instance, error) { return MaxCut("", [][]int{{0, 1}, {1}}) },
		"an edge":      func() (*Instance, error) { return MaxCutOf("", Graph{2, []Edge{{0, 2, 1}}}) },
		"a loop":       func() (*Instance, error) { return MaxCutOf("", Graph{2, []Edge{{1, 1, 1}}}) },
		"a NaN":        func() (*Instance, error) { return QUBO("", 2, []Edge{{1, 1, math.NaN()}}) },
		"k":            func() (*Instance, error) { return RandomNK(1, 5, 5) },
		"table":        func() (*Instance, error) { return NK("", 0, [][]float64{{1}}) },
		"table NaN":    func() (*Instance, error) { return NK("", 0, [][]float64{{1, math.NaN()}}) },
		"neighbour":    func() (*Instance, error) { return NKOf("", [][]int{{0}}, [][]float64{{1, 2, 3, 4}}) },
		"literal":      func() (*Instance, error) { return MaxSat("", 2, [][]int{{3}}) },
		"trap":         func() (*Instance, error) { return Traps("", 4, 5, nil) },
		"order":        func() (*Instance, error) { return Traps("", 2, 2, []int{0, 0}) },
		"ruggedness":   func() (*Instance, error) { return WModel("", 4, WModelSettings{Ruggedness: 7}) },
		"function":     func() (*Instance, error) { return PBO(26, 1, 9) },
		"no square":    func() (*Instance, error) { return PBO(20, 1, 10) },
		"pbo instance": func() (*Instance, error) { return PBO(1, 0, 10) },
	} {
		if _, err := f(); err == nil {
			t.Errorf("%s: no error", what)
		}
	}
	if _, err := Class("sat", 40); err == nil || !strings.Contains(err.Error(), "maxsat") {
		t.Errorf("a class of no name: %v", err)
	}
}

func TestClass(t *testing.T) {
	for _, name := range Names() {
		c, err := Class(name, 25)
		if err != nil {
			t.Fatal(err)
		}
		set, err := c.NewSet(1, 2, 2)
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if err := set.Write(&b); err != nil {
			t.Fatal(err)
		}
		back, err := c.Read(&b)
		if err != nil {
			t.Fatal(err)
		}
		seen := map[string]bool{}
		for _, p := range append(set.Training, set.Test...) {
			data, _ := json.Marshal(p)
			if seen[p.Name()] || seen[string(data)] {
				t.Errorf("%s is there twice", p.Name())
			}
			seen[p.Name()], seen[string(data)] = true, true
		}
		if len(back.Test) != 2 || back.Test[0].Name() != set.Test[0].Name() {
			t.Errorf("%s: other instances were read", name)
		}
	}
}

const example = "c a formula\np cnf 3 2\n1 -2 0 3\n2 0\n"

func TestReadCNF(t *testing.T) {
	p, err := ReadCNF("a", strings.NewReader(example+"%\n0\n"))
	if err != nil {
		t.Fatal(err)
	}
	for bits, want := range map[string]float64{"000": 1, "100": 1, "010": 1, "011": 1, "111": 2} {
		if v, err := problem.Value(t.Context(), p, bools(bits)); err != nil || v != want {
			t.Errorf("%s: %v, %v, want %v", bits, v, err, want)
		}
	}
	for bad, want := range map[string]string{
		"":                         "no line",
		"1 0\n":                    "line 1: a clause before",
		"p cnf 2 1\n3 0\n":         `line 2: "3" is no literal of 2 variables`,
		"p cnf 2 1\n1\n":           "does not end with 0",
		"p cnf 2 2\n1 0\n":         "has 1 clauses, and its head says 2",
		"p cnf 2 1\n1 0\n2 0\n":    "line 3: more than the 1 clauses",
		"p wcnf 2 1\n":             "line 1: want one line",
		"p cnf 99999999999999 1\n": `line 1: "99999999999999" is no number from 0 to`,
	} {
		if _, err := ReadCNF("bad.cnf", strings.NewReader(bad)); err == nil || !strings.Contains(err.Error(), "bad.cnf") || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", bad, err, want)
		}
	}
}

func TestReadRudy(t *testing.T) {
	g, err := ReadRudy("g", strings.NewReader("3 3\n1 2 1\n2 3 -1\n\n1 3\n"))
	if err != nil || fmt.Sprint(g) != "{3 [{0 1 1} {1 2 -1} {0 2 1}]}" {
		t.Errorf("%v, %v", g, err)
	}
	for bad, want := range map[string]string{
		"":                 "is empty",
		"3\n":              "line 1: want the numbers",
		"3 1\n1 4 1\n":     `line 2: "4" is no number from 0 to 3`,
		"3 1\n0 1 1\n":     "line 2: nodes are counted from 1",
		"3 1\n1 2 x\n":     `line 2: the weight "x" is no number`,
		"3 2\n1 2 1\n":     "has 1 edges, and its head says 2",
		"3 0\n1 2 1\n":     "line 2: more than the 0 edges",
		"3 1\n2 2 1\n":     "an edge of node 1 with itself",
		"3 1\n1 2 1e300\n": "of weight 1e+300",
	} {
		if _, err := ReadRudy("bad", strings.NewReader(bad)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", bad, err, want)
		}
	}
}

func FuzzReadCNF(f *testing.F) {
	f.Add(example)
	f.Add("p cnf 1 0\n")
	f.Fuzz(func(t *testing.T, text string) {
		p, err := ReadCNF("f", strings.NewReader(text))
		if err != nil || p.d > 1000 {
			return
		}
		again(t, p)
	})
}

func FuzzReadRudy(f *testing.F) {
	f.Add("3 2\n1 2 1\n2 3 -1\n")
	f.Add("2 1\n1 2\n")
	f.Fuzz(func(t *testing.T, text string) {
		g, err := ReadRudy("f", strings.NewReader(text))
		if err != nil || g.Nodes > 1000 {
			return
		}
		p, err := MaxCutOf("f", g)
		if err != nil {
			t.Fatal(err)
		}
		again(t, p)
	})
}

func FuzzDecode(f *testing.F) {
	for _, name := range Names() {
		c, err := Class(name, 9)
		if err != nil {
			f.Fatal(err)
		}
		p, err := c.Train(1, 0)
		if err != nil {
			f.Fatal(err)
		}
		b, _ := json.Marshal(p)
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := Decode(data)
		if err != nil || p.Dim() > 1000 {
			return
		}
		again(t, p.(*Instance))
	})
}

// again checks that an instance that was read can be written and read.
func again(t *testing.T, p *Instance) {
	b, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	q, err := Decode(b)
	if err != nil {
		t.Fatalf("%s: %v", b, err)
	}
	x := problem.Random(run.Rand(1, "again"), 3, p.d)
	v, u := make([]float64, 3), make([]float64, 3)
	if err := p.Evaluate(t.Context(), v, x); err != nil {
		t.Fatal(err)
	}
	if err := q.Evaluate(t.Context(), u, x); err != nil || !slices.Equal(u, v) && !math.IsNaN(v[0]) {
		t.Errorf("%v, %v; it was %v", u, err, v)
	}
	w := p.Walk()
	w.Flip(p.d - 1)
}

// ExampleRandomKnapsack runs BRKGA on a knapsack of 30 items.
func ExampleRandomKnapsack() {
	p, _ := RandomKnapsack(1, 30)
	r, err := brkga.Run(context.Background(), p, brkga.Settings{
		Config: brkga.Config{Elites: 15, Offspring: 37, Mutants: 2, Bias: 0.23}, Evaluations: 5000,
	})
	best, _ := p.Optimum()
	fmt.Println(r.Value, best, err)
	// Output: 1334 1334 <nil>
}

// ExamplePBO is the function F18 of IOHprofiler.
func ExamplePBO() {
	p, _ := PBO(18, 1, 13)
	best, _ := p.Optimum()
	fmt.Printf("%s %.2f\n", p.Name(), best)
	// Output: F18-LABS-13/1 14.08
}

// BenchmarkFlip measures a flip with a look at all neighbours, beside one value by
// Evaluate.
func BenchmarkFlip(b *testing.B) {
	for _, name := range Names() {
		c, err := Class(name, 100)
		if err != nil {
			b.Fatal(err)
		}
		q, err := c.Train(1, 0)
		if err != nil {
			b.Fatal(err)
		}
		p := q.(*Instance)
		b.Run(name+"/flip", func(b *testing.B) {
			w, dst, j := p.Walk(), make([]float64, p.d), 0
			for b.Loop() {
				w.PeekAll(dst)
				w.Flip(j)
				j = (j + 37) % p.d
			}
		})
		b.Run(name+"/value", func(b *testing.B) {
			x := problem.Random(run.Rand(1, "values"), 1, p.d)
			dst := make([]float64, 1)
			for b.Loop() {
				_ = p.Evaluate(b.Context(), dst, x)
			}
		})
	}
}
