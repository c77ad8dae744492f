package nir

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"dace.local/dacelib/nir/internal/kernel"
	"dace.local/dacelib/problem"
	"dace.local/dacelib/problem/onemax"
	"dace.local/dacelib/problem/problemtest"
	"dace.local/dacelib/run"
)

var bg = context.Background()

// oneMaxes returns n instances of OneMax.
func oneMaxes(n, d int) []problem.Problem {
	var out []problem.Problem
	for i := range n {
		out = append(out, onemax.Random(run.Seed(7, "onemax", i), d))
	}
	return out
}

// randomModel returns an untrained model whose biases and running statistics
// are not zero.
func randomModel(t *testing.T, d, instances int, s Settings) *Model {
	t.Helper()
	m, err := Random(d, instances, s)
	if err != nil {
		t.Fatal(err)
	}
	r := run.Rand(11, "test")
	jitter(m, r)
	for i := range m.stats {
		m.stats[i] += float32(0.5 * r.Float64())
	}
	return m
}

// plainScorer returns the score of solution i in double precision.
func plainScorer(m *Model, embedding []float64) func(x problem.Solutions, i int) float64 {
	sh := m.shape
	view := func(name string) []float32 { return sh.view(m.params, name) }
	linear := func(x []float64, w, b []float32) []float64 {
		y := make([]float64, len(b))
		for j := range y {
			y[j] = float64(b[j])
			for i, v := range x {
				y[j] += v * float64(w[i*len(b)+j])
			}
		}
		return y
	}
	leaky := func(x []float64) []float64 {
		for i, v := range x {
			x[i] = max(v, leak*v)
		}
		return x
	}
	w := linear(leaky(linear(embedding, view("h1.W"), view("h1.b"))), view("h2.W"), view("h2.b"))
	w32 := make([]float32, len(w)) // rounded to float32, an error of 1e-7
	for i, v := range w {
		w32[i] = float32(v)
	}
	act := leaky
	if m.settings.Activation == Identity {
		act = func(x []float64) []float64 { return x }
	}
	return func(x problem.Solutions, i int) float64 {
		h := make([]float64, sh.dim)
		for j := range h {
			h[j] = -1
			if x.At(i, j) {
				h[j] = 1
			}
		}
		for k, name := range []string{"e1", "e2"} {
			h = linear(h, view(name+".W"), view(name+".b"))
			if sh.norm {
				for j := range h {
					st := m.stats[2*k*Hidden:]
					h[j] = float64(view(name + ".gamma")[j])*(h[j]-float64(st[j]))/math.Sqrt(float64(st[Hidden+j])+normEpsilon) + float64(view(name + ".beta")[j])
				}
			}
			h = leaky(h)
		}
		h = linear(h, view("e3.W"), view("e3.b"))
		in := h[:sh.in]
		if sh.in > sh.latent {
			for j := sh.latent; j < sh.in; j++ {
				in[j] = math.Exp(in[j] / 2)
			}
		}
		a := act(linear(in, sh.scorerView(w32, "s1.W"), sh.scorerView(w32, "s1.b")))
		a = act(linear(a, sh.scorerView(w32, "s2.W"), sh.scorerView(w32, "s2.b")))
		return linear(a, sh.scorerView(w32, "s3.W"), sh.scorerView(w32, "s3.b"))[0]
	}
}

func TestScorer(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	for name, s := range variants() {
		t.Run(name, func(t *testing.T) {
			for _, d := range []int{9, 30, 80} {
				m := randomModel(t, d, 2, s)
				e := m.Embeddings()[1]
				sc, err := m.Scorer(e)
				if err != nil {
					t.Fatal(err)
				}
				const n = 100 // two blocks and an incomplete one
				x := problem.Random(run.Rand(3, "test"), n, d)
				y := make([]float64, n)
				if err := sc.Evaluate(bg, y, x); err != nil {
					t.Fatal(err)
				}
				lo, hi := slices.Min(y), slices.Max(y)
				plain := plainScorer(m, e)
				for i := range n {
					want := plain(x, i)
					if math.Abs(y[i]-want) > 1e-5*max(hi-lo, math.Abs(want)) {
						t.Fatalf("d = %d, solution %d: %v, want %v", d, i, y[i], want)
					}
				}
				// The range is applied, and values outside of it are kept.
				half := sc.Within(Range{lo, (lo + hi) / 2})
				z := make([]float64, n)
				if err := half.Evaluate(bg, z, x); err != nil {
					t.Fatal(err)
				}
				for i := range n {
					if want := (y[i] - lo) / ((hi - lo) / 2); math.Abs(z[i]-want) > 1e-9 {
						t.Fatalf("normalised: %v, want %v", z[i], want)
					}
				}
			}
		})
	}
}

func TestScorerIsAProblem(t *testing.T) {
	for _, s := range []Settings{{}, Authors()} {
		sc, err := randomModel(t, 33, 1, s).Scorer(make([]float64, EmbeddingSize))
		if err != nil {
			t.Fatal(err)
		}
		problemtest.Run(t, sc.Named("nir/0"), problemtest.Settings{})
	}
}

// A large batch is divided among all workers, with the same values.
func TestLargeBatch(t *testing.T) {
	sc, err := randomModel(t, 30, 1, Settings{Workers: 3}).Scorer(make([]float64, EmbeddingSize))
	if err != nil {
		t.Fatal(err)
	}
	const n = 20_001
	x := problem.Random(run.Rand(3, "test"), n, 30)
	y, z := make([]float64, n), make([]float64, n)
	if err := sc.Evaluate(bg, y, x); err != nil {
		t.Fatal(err)
	}
	if err := sc.evaluate(bg, z, x); err != nil || !slices.Equal(y, z) {
		t.Errorf("the values depend on the number of workers (%v)", err)
	}
	ctx, cancel := context.WithCancel(bg)
	cancel()
	if err := sc.Evaluate(ctx, y, x); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

func TestEvaluateDoesNotAllocate(t *testing.T) {
	sc, err := randomModel(t, 30, 1, Settings{}).Scorer(make([]float64, EmbeddingSize))
	if err != nil {
		t.Fatal(err)
	}
	x := problem.Random(run.Rand(3, "test"), 700, 30)
	y := make([]float64, 700)
	if n := testing.AllocsPerRun(20, func() {
		if err := sc.Evaluate(bg, y, x); err != nil {
			t.Fatal(err)
		}
	}); n > 0.5 {
		t.Errorf("%v allocations per call", n)
	}
}

// Ranges are the extremes of the scores over the sample, whatever the number of
// workers, the cache, and the other scorers in the call.
func TestNormalise(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	for name, s := range variants() {
		t.Run(name, func(t *testing.T) {
			s.NormaliseSample = 2*sampleChunk + 77
			s.Workers = 1
			m := randomModel(t, 12, 3, s)
			embeddings := m.Embeddings()
			ranges, err := m.Normalise(bg, embeddings)
			if err != nil {
				t.Fatal(err)
			}
			for k, e := range embeddings {
				sc, err := m.Scorer(e)
				if err != nil {
					t.Fatal(err)
				}
				lo, hi := math.Inf(1), math.Inf(-1)
				for c := range 3 {
					x := m.sampleOf(c)
					y := make([]float64, x.Len())
					if err := sc.Evaluate(bg, y, x); err != nil {
						t.Fatal(err)
					}
					lo, hi = min(lo, slices.Min(y)), max(hi, slices.Max(y))
				}
				// An affine scorer is computed by a different product: allow
				// for rounding.
				tol := 1e-6 * (hi - lo)
				if math.Abs(ranges[k].Min-lo) > tol || math.Abs(ranges[k].Max-hi) > tol {
					t.Errorf("embedding %d: %v, want [%v, %v]", k, ranges[k], lo, hi)
				}
			}
			check := func(what string, got []Range, err error) {
				t.Helper()
				if err != nil || !slices.Equal(got, ranges) {
					t.Errorf("%s: %v (%v), want %v", what, got, err, ranges)
				}
			}
			again, err := m.Normalise(bg, embeddings)
			check("from the cache", again, err)
			s.Workers, s.Normalisation.CacheBytes = 8, -1
			other := randomModel(t, 12, 3, s)
			again, err = other.Normalise(bg, embeddings)
			check("8 workers, no cache", again, err)
			kept, _ := m.LatentBytes()
			none, _ := other.LatentBytes()
			if kept == 0 || none != 0 {
				t.Errorf("the latents take %d and %d bytes", kept, none)
			}
			s.Normalisation.CacheDir = t.TempDir()
			onDisk := randomModel(t, 12, 3, s)
			for range 2 {
				again, err = onDisk.Normalise(bg, embeddings)
				check("in a file", again, err)
			}
			if memory, file := onDisk.LatentBytes(); memory != 0 || file != kept {
				t.Errorf("in a file: the latents take %d and %d bytes", memory, file)
			}
			var singly []Range
			for _, e := range embeddings {
				r, err := m.Normalise(bg, [][]float64{e})
				if err != nil {
					t.Fatal(err)
				}
				singly = append(singly, r...)
			}
			check("one by one", singly, nil)
			p, err := m.Instance(bg, "x", embeddings[1])
			if err != nil {
				t.Fatal(err)
			}
			if r, ok := p.(*Scorer).Range(); !ok || r != ranges[1] {
				t.Errorf("Instance has the range %v, %v; want %v", r, ok, ranges[1])
			}
		})
	}
}

// A scorer can be made from weights instead of an embedding (the NoReg
// variant).
func TestScorerOfWeights(t *testing.T) {
	for name, s := range variants() {
		t.Run(name, func(t *testing.T) {
			s.NormaliseSample = 1000
			m := randomModel(t, 12, 1, s)
			e := m.Embeddings()[0]
			want, _ := m.Scorer(e)
			wantRange, err := m.Normalise(bg, [][]float64{e})
			if err != nil {
				t.Fatal(err)
			}
			x := problem.Random(run.Rand(3, "test"), 50, 12)
			y, z := make([]float64, 50), make([]float64, 50)
			if err := want.Evaluate(bg, y, x); err != nil {
				t.Fatal(err)
			}
			for _, encoder := range []bool{false, true} {
				w, err := m.Weights(e, encoder)
				if err != nil {
					t.Fatal(err)
				}
				got, err := m.ScorerOf(w)
				if err != nil {
					t.Fatal(err)
				}
				if err := got.Evaluate(bg, z, x); err != nil || !slices.Equal(y, z) {
					t.Errorf("encoder %v: the scores differ (%v)", encoder, err)
				}
				r, err := m.NormaliseScorers(bg, []*Scorer{got})
				if err != nil || math.Abs(r[0].Min-wantRange[0].Min) > 1e-6 || math.Abs(r[0].Max-wantRange[0].Max) > 1e-6 {
					t.Errorf("encoder %v: range %v (%v), want %v", encoder, r, err, wantRange)
				}
				w[0] += 0.5
				if got, err = m.ScorerOf(w); err != nil {
					t.Fatal(err)
				}
				if err := got.Evaluate(bg, z, x); err != nil || slices.Equal(y, z) {
					t.Errorf("encoder %v: a changed weight changes nothing (%v)", encoder, err)
				}
			}
		})
	}
	m := randomModel(t, 12, 1, Settings{})
	if _, err := m.ScorerOf(make([]float64, 5)); err == nil || !strings.Contains(err.Error(), "got 5") {
		t.Errorf("5 weights: %v", err)
	}
}

func TestNormaliseCancel(t *testing.T) {
	m := randomModel(t, 30, 1, Settings{})
	ctx, cancel := context.WithCancel(bg)
	cancel()
	if _, err := m.Normalise(ctx, m.Embeddings()); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	other := randomModel(t, 30, 1, Settings{})
	s, _ := other.Scorer(other.Embeddings()[0])
	if _, err := m.NormaliseScorers(bg, []*Scorer{s}); err == nil {
		t.Error("a scorer of another model is accepted")
	}
	if _, err := m.Scorer([]float64{1}); err == nil || !strings.Contains(err.Error(), "64 numbers") {
		t.Errorf("short embedding: %v", err)
	}
	if _, err := m.Scorer(append(make([]float64, 63), math.NaN())); err == nil || !strings.Contains(err.Error(), "number 63") {
		t.Errorf("NaN embedding: %v", err)
	}
}

// Sizes agree with the paper's table and the authors' code.
func TestScorerSize(t *testing.T) {
	for _, tc := range []struct {
		s    Settings
		want int
	}{{Settings{}, 16769 + 256*30}, {Settings{Input: Mean}, 16769 + 128*30}, {Authors(), 16769 + 128*30}} {
		m, err := Random(30, 1, tc.s)
		if err != nil {
			t.Fatal(err)
		}
		w, err := m.Weights(make([]float64, EmbeddingSize), false)
		if err != nil || len(w) != tc.want {
			t.Errorf("%v: %d weights (%v), want %d", tc.s.Input, len(w), err, tc.want)
		}
	}
}

// Generated weights have He variance for random embeddings.
func TestInitialVariance(t *testing.T) {
	m, err := Random(30, 200, Settings{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	squares := map[string]float64{}
	for _, e := range m.Embeddings() {
		w, err := m.generate(e)
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range []string{"s1.W", "s2.W"} {
			v := m.shape.scorerView(w, part)
			squares[part] += float64(kernel.Dot(v, v)) / float64(len(v)) / 200
		}
	}
	for part, in := range map[string]float64{"s1.W": 60, "s2.W": 128} {
		if got, want := squares[part], 2/in; math.Abs(got-want) > 0.15*want {
			t.Errorf("%s: variance %v, want %v", part, got, want)
		}
	}
}

// Matrices of encoder and decoder start with He's variance; if d is large, they
// are orthogonal.
func TestInitialOrthogonal(t *testing.T) {
	for _, d := range []int{30, 80, 200} {
		m, err := Random(d, 1, Settings{})
		if err != nil {
			t.Fatal(err)
		}
		if m.shape.wide() != (d > 30) {
			t.Errorf("d = %d: wide is %v", d, m.shape.wide())
		}
		for _, tc := range []struct {
			name string
			cols int
			gain float64
		}{{"e1", Hidden, 2}, {"e2", Hidden, 2}, {"e3", d, 1}, {"d1", Hidden, 2}, {"d2", Hidden, 2}, {"d3", d, 1}} {
			tn := m.shape.find(tc.name + ".W")
			w := m.shape.view(m.params, tc.name+".W")
			rows, cols := tn.rows, tc.cols
			at := func(k, i int) float64 { return float64(w[k*tn.cols+i]) } // number i of vector k
			n, length := rows, cols
			if rows > cols {
				at = func(k, i int) float64 { return float64(w[i*tn.cols+k]) }
				n, length = cols, rows
			}
			want := tc.gain * float64(length) / float64(rows) // squared length of a vector
			var squares float64
			for k := range n {
				for i := range length {
					squares += at(k, i) * at(k, i) / float64(n)
				}
			}
			if math.Abs(squares-want) > 0.1*want {
				t.Errorf("d = %d, %s: squared lengths are %v, want %v", d, tc.name, squares, want)
			}
			for k := 0; k < n && m.shape.wide(); k++ {
				for l := range k + 1 {
					var dot float64
					for i := range length {
						dot += at(k, i) * at(l, i)
					}
					if k == l {
						dot -= want
					}
					if math.Abs(dot) > 1e-5*want {
						t.Fatalf("d = %d, %s: vectors %d and %d: %v", d, tc.name, k, l, dot)
					}
				}
			}
		}
	}
}

func TestBadSettings(t *testing.T) {
	for _, tc := range []struct {
		s    Settings
		want string
	}{
		{Settings{Input: 9}, "Settings.Input is 9"},
		{Settings{Activation: -1}, "Settings.Activation is -1"},
		{Settings{Latent: -3}, "Settings.Latent is -3"},
		{Settings{Samples: 50}, "Settings.Samples is 50"},
		{Settings{Batch: -1}, "Settings.Batch is -1"},
		{Settings{NormaliseSample: -1}, "NormaliseSample is -1"},
		{Settings{Dim: 10_000}, "dimension is 10000"},
		{Settings{NormaliseSample: math.MaxInt}, "it must be 2 to 1073741824"},
		{Settings{LearningRate: -1}, "LearningRate is 0"},
		{Settings{KLWeight: math.NaN()}, "KLWeight NaN"},
		{Settings{LearningRate: math.Inf(1)}, "they must be finite"},
	} {
		if _, err := Random(30, 1, tc.s); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%+v: %v, want an error with %q", tc.s, err, tc.want)
		}
	}
}

func TestBadData(t *testing.T) {
	good := func() Data {
		d, err := SampleData(bg, onemax.Random(1, 12), 200, 1)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	for _, tc := range []struct {
		name   string
		change func(d *Data)
		want   string
	}{
		{"one value", func(d *Data) {
			for i := range d.Y {
				d.Y[i] = 3
			}
		}, "all 200 solutions have the value 3"},
		{"NaN", func(d *Data) { d.Y[17] = math.NaN() }, "solution 17 is NaN"},
		{"infinite", func(d *Data) { d.Y[3] = math.Inf(1) }, "solution 3 is +Inf"},
		{"too far apart", func(d *Data) { d.Y[0], d.Y[1] = math.MaxFloat64, -math.MaxFloat64 }, "further apart"},
		{"few", func(d *Data) { d.X, d.Y = d.X.Slice(0, 99), d.Y[:99] }, "99 solutions; training needs at least 100"},
		{"lengths", func(d *Data) { d.Y = d.Y[:150] }, "200 solutions of dimension 12 but 150 values"},
		{"no solutions", func(d *Data) { d.X = problem.Solutions{} }, "0 solutions of dimension 0 but 200 values"},
	} {
		d := good()
		tc.change(&d)
		if _, err := TrainOn(bg, []Data{good(), d}, Settings{Steps: 1}); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want an error with %q", tc.name, err, tc.want)
		}
	}
	if _, err := TrainOn(bg, nil, Settings{}); err == nil || !strings.Contains(err.Error(), "at least one instance") {
		t.Errorf("no instance: %v", err)
	}
	tiny := problem.FromFunc("tiny", 3, func(x []bool) float64 { return 1 })
	if _, err := Train(bg, []problem.Problem{tiny}, Settings{}); err == nil || !strings.Contains(err.Error(), "8 solutions") {
		t.Errorf("three bits: %v", err)
	}
}

func TestSampleData(t *testing.T) {
	d, err := SampleData(bg, onemax.Random(1, 30), 5000, 1)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[uint64]bool{}
	for _, w := range d.X.Words {
		seen[w] = true
	}
	if len(seen) != 5000 || d.split() != 3750 {
		t.Errorf("%d distinct solutions, %d to train with", len(seen), d.split())
	}
	y := d.normalised()
	if slices.Min(y) != 0 || slices.Max(y) != 1 {
		t.Errorf("normalised values are in [%v, %v]", slices.Min(y), slices.Max(y))
	}
	failing := problem.FromBatch("failing", 30, func([]float64, problem.Solutions) { panic("not reached") })
	ctx, cancel := context.WithCancel(bg)
	cancel()
	if _, err := SampleData(ctx, failing, 100, 1); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

func TestUnpack(t *testing.T) {
	x := problem.Pack([]bool{true, false, true})
	for _, tc := range []struct {
		n    int
		want string
	}{{3, "[1 -1 1]"}, {5, "[1 -1 1 0 0]"}, {2, "[1 -1]"}} {
		got := []float32{9, 9, 9, 9, 9}[:tc.n]
		unpack(got, x.Row(0), 3)
		if fmt.Sprint(got) != tc.want {
			t.Errorf("to %d: %v, want %v", tc.n, got, tc.want)
		}
	}
}
