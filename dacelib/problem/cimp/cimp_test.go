package cimp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"dace.local/dacelib/problem"
	"dace.local/dacelib/problem/cimp/snap"
	"dace.local/dacelib/problem/problemtest"
	"dace.local/dacelib/run"
)

// random returns a graph in which each node has degree successors on average.
func random(t testing.TB, rng *rand.Rand, n int, degree float64) *Graph {
	t.Helper()
	var edges [][2]int32
	for u := range n {
		for v := range n {
			if u != v && rng.Float64() < degree/float64(n) {
				edges = append(edges, [2]int32{int32(u), int32(v)})
			}
		}
	}
	g, err := NewGraph(n, edges)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func generateT(t testing.TB, seed uint64, s Settings) *Instance {
	t.Helper()
	p, err := Generate(seed, s)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func evaluateT(t testing.TB, p problem.Problem, x problem.Solutions) []float64 {
	t.Helper()
	v := make([]float64, x.Len())
	if err := p.Evaluate(context.Background(), v, x); err != nil {
		t.Fatal(err)
	}
	return v
}

func TestConformance(t *testing.T) {
	dense := random(t, run.Rand(1, "conformance"), 150, 4)
	for _, s := range []Settings{
		{Worlds: 200}, {Dim: 100, Worlds: 100}, {Dim: 64, Worlds: 50}, {Dim: 1, K: 1, Worlds: 10},
		{Graph: dense, Dim: 60, GAPs: GAPs{1, 1, 1, 1}, Worlds: 30}, {Graph: dense, Dim: 140, Worlds: 20},
	} {
		problemtest.Run(t, generateT(t, 2, s), problemtest.Settings{Decode: Decode})
	}
}

// simulated computes the value by the plain simulation of all worlds.
func simulated(t testing.TB, p *Instance, x []bool) float64 {
	t.Helper()
	n := 0
	for r := range p.data.Worlds {
		s, err := p.Simulate(x, r)
		if err != nil {
			t.Fatal(err)
		}
		n += s.Adopters()
	}
	return float64(n) / float64(p.data.Worlds)
}

// gapSets holds the paper's GAPs, and others with certain adoption, and with
// stronger and mixed interaction.
var gapSets = []GAPs{Complementary(), Competitive(), {1, 1, 1, 1}, {.7, 1, .7, 1}, {.9, .1, .9, .1}, {.3, .9, .8, .2}, {0, 1, 1, 0}}

// TestSimulation compares the values, in batches and alone, and the means of
// Estimate with the plain simulation: on the generated network, on the networks
// on this computer, with hubs as candidates, on dense random graphs where many
// worlds do not collapse, and on graphs whose edges are certain.
func TestSimulation(t *testing.T) {
	rng := run.Rand(3, "simulation")
	check := func(t *testing.T, p *Instance, solutions int) Info {
		t.Helper()
		x := problem.Random(rng, 70, p.Dim())
		for j := range p.Dim() {
			x.Set(0, j, false)
			x.Set(1, j, true)
		}
		values := evaluateT(t, p, x)
		estimates, err := p.Estimate(context.Background(), x)
		if err != nil {
			t.Fatal(err)
		}
		if values[0] != 0 {
			t.Errorf("no seeds have %v adopters", values[0])
		}
		for i, v := range values {
			if alone := evaluateT(t, p, x.Slice(i, i+1))[0]; alone != v || estimates[i].Mean != v {
				t.Errorf("solution %d: %v in a batch, %v alone, %v by Estimate", i, v, alone, estimates[i].Mean)
			}
			if i >= solutions {
				continue
			}
			if want := simulated(t, p, x.Bools(i)); v != want {
				t.Errorf("%s: solution %d: %v, want %v by simulation", p.Name(), i, v, want)
			}
		}
		info, err := p.Info(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		return info
	}
	for _, network := range []string{GeneratedNetwork, "wiki", "facebook", "epinions"} {
		t.Run(network, func(t *testing.T) {
			g, err := Network(network)
			var missing *snap.MissingError
			if errors.As(err, &missing) {
				t.Skip(err)
			}
			if err != nil {
				t.Fatal(err)
			}
			solutions := 10
			if g.Nodes() > 10_000 {
				solutions = 3
			}
			for i, q := range gapSets {
				info := check(t, generateT(t, uint64(i), Settings{Graph: g, Dim: 80 + 20*(i%2), GAPs: q, Worlds: 40}), solutions)
				t.Logf("%v: %+v", q, info)
			}
			// The candidates are the nodes with the most successors.
			hubs := make([]int32, g.Nodes())
			for v := range hubs {
				hubs[v] = int32(v)
			}
			slices.SortStableFunc(hubs, func(a, b int32) int {
				return int(g.start[b+1] - g.start[b] - g.start[a+1] + g.start[a])
			})
			d := generateT(t, 9, Settings{Graph: g, Worlds: 40}).Data()
			d.Candidates = hubs[:80]
			p, err := New(d)
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("hubs: %+v", check(t, p, solutions))
		})
	}
	t.Run("dense", func(t *testing.T) {
		left := 0
		for i, q := range gapSets {
			for range 3 {
				g := random(t, rng, 60+rng.IntN(100), 4)
				left += check(t, generateT(t, uint64(i), Settings{Graph: g, Dim: 40, GAPs: q, Worlds: 60}), 20).Simulated
			}
			// Every node is a candidate, and there are more of them than a set
			// can hold.
			left += check(t, generateT(t, uint64(i), Settings{Graph: random(t, rng, 50, 3), Dim: 50, GAPs: q, Worlds: 30}), 20).Simulated
			check(t, generateT(t, uint64(i), Settings{Graph: random(t, rng, 200, 3), Dim: 150, GAPs: q, Worlds: 20}), 20)
		}
		if left == 0 {
			t.Error("no world was left to be simulated: the engine was not tried")
		}
	})
	t.Run("certain", func(t *testing.T) {
		edges := [][2]int32{{0, 1}, {1, 2}, {2, 3}, {3, 4}, {4, 0}}
		g, err := NewGraphProbabilities(5, edges, []float64{1, 1, 1, 1, 1})
		if err != nil {
			t.Fatal(err)
		}
		p := generateT(t, 1, Settings{Graph: g, Dim: 5, K: 5, GAPs: GAPs{1, 1, 1, 1}, Worlds: 9})
		check(t, p, 70)
		x := problem.Enumerate(5)
		for i, v := range evaluateT(t, p, x) {
			if i > 0 && v != 5 {
				t.Errorf("on a ring of certain edges %v adopt from %s", v, x.Slice(i, i+1))
			}
		}
	})
}

// TestMonotone checks that more seeds have no fewer adopters if the items help
// each other (Lu et al. 2015, Theorem 3).
func TestMonotone(t *testing.T) {
	p := generateT(t, 4, Settings{K: 80, GAPs: Complementary(), Worlds: 300})
	rng := run.Rand(4, "monotone")
	x := problem.Random(rng, 200, 80)
	for i := 1; i < 200; i += 2 {
		copy(x.Row(i), x.Row(i-1))
		x.Set(i, rng.IntN(80), true)
	}
	v := evaluateT(t, p, x)
	for i := 1; i < 200; i += 2 {
		if v[i] < v[i-1] {
			t.Errorf("one more seed lowers the value from %v to %v", v[i-1], v[i])
		}
	}
}

// TestRelabelled checks that the order of candidates does not change values.
func TestRelabelled(t *testing.T) {
	p := generateT(t, 5, Settings{K: 80, Worlds: 200})
	rng := run.Rand(5, "relabelled")
	perm := rng.Perm(80)
	d := p.Data()
	for i, k := range perm {
		d.Candidates[k] = p.data.Candidates[i]
	}
	q, err := New(d)
	if err != nil {
		t.Fatal(err)
	}
	x := problem.Random(rng, 50, 80)
	y := problem.NewSolutions(50, 80)
	for i := range 50 {
		for j := range 80 {
			y.Set(i, perm[j], x.At(i, j))
		}
	}
	if a, b := evaluateT(t, p, x), evaluateT(t, q, y); !slices.Equal(a, b) {
		t.Error("the order of the candidates changes values")
	}
}

// TestRepair checks that a solution keeps its first K ones.
func TestRepair(t *testing.T) {
	rng := run.Rand(6, "repair")
	for _, d := range []int{5, 64, 100, 200} {
		s := newScratch(d)
		for range 50 {
			x, k := problem.Random(rng, 1, d), rng.IntN(d+1)
			var want []bool
			n := 0
			for _, b := range x.Bools(0) {
				if b {
					n++
				}
				want = append(want, b && n <= k)
			}
			got := -1
			s.repair(x, k, func(_, seeds int) { got = seeds })
			if y := (problem.Solutions{D: d, Words: s.rows[:problem.Stride(d)]}); !slices.Equal(y.Bools(0), want) || got != min(n, k) {
				t.Errorf("d = %d, k = %d: %s became %s (%d seeds)", d, k, x, y, got)
			}
		}
	}
}

// TestWorkers checks that the number of cores does not change values.
func TestWorkers(t *testing.T) {
	x := problem.Random(run.Rand(7, "workers"), 100, 80)
	var want []float64
	for _, n := range []int{1, 2, 5} {
		old := runtime.GOMAXPROCS(n)
		got := evaluateT(t, generateT(t, 7, Settings{Worlds: 200}), x)
		runtime.GOMAXPROCS(old)
		if want == nil {
			want = got
		}
		if !slices.Equal(got, want) {
			t.Errorf("%d cores give other values", n)
		}
	}
}

// TestStandardError compares the standard error with the deviation of means
// over other worlds.
func TestStandardError(t *testing.T) {
	p := generateT(t, 8, Settings{Worlds: 100})
	d := p.Data()
	x := problem.Random(run.Rand(8, "standard error"), 1, 80)
	e, err := p.Estimate(context.Background(), x)
	if err != nil {
		t.Fatal(err)
	}
	const n = 200
	sum, squares := 0.0, 0.0
	for i := range n {
		d.Seed = uint64(i)
		q, err := New(d)
		if err != nil {
			t.Fatal(err)
		}
		v := evaluateT(t, q, x)[0]
		sum += v
		squares += v * v
	}
	sd := math.Sqrt((squares - sum*sum/n) / (n - 1))
	// Both are estimates, with relative errors of about 1/sqrt(2n) each.
	if ratio := e[0].StandardError / sd; math.Abs(ratio-1) > 4*(1/math.Sqrt(2*100)+1/math.Sqrt(2*n)) {
		t.Errorf("standard error %v, but means of other worlds deviate by %v", e[0].StandardError, sd)
	}
	if z := (e[0].Mean - sum/n) / sd; math.Abs(z) > 4 {
		t.Errorf("the mean %v is far from %v", e[0].Mean, sum/n)
	}
	d.Worlds = 1
	q, _ := New(d)
	if e, _ := q.Estimate(context.Background(), x); !math.IsNaN(e[0].StandardError) {
		t.Errorf("one world has the standard error %v", e[0].StandardError)
	}
}

func TestCancel(t *testing.T) {
	p := generateT(t, 1, Settings{Worlds: 1 << 20})
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := p.Prepare(ctx); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if _, err := p.Estimate(ctx, problem.NewSolutions(1, 80)); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// TestGeneratedNetwork checks that the network has the size and degrees of
// wiki-Vote, neither loops nor repeated edges, and that another seed gives
// another network.
func TestGeneratedNetwork(t *testing.T) {
	g, err := Network(GeneratedNetwork)
	if err != nil {
		t.Fatal(err)
	}
	if g.Nodes() != 7115 || g.Edges() != 103689 {
		t.Fatalf("%d nodes and %d edges", g.Nodes(), g.Edges())
	}
	in, out, err := readDegrees(degrees)
	if err != nil {
		t.Fatal(err)
	}
	want := map[[2]int]int{}
	for i := range in {
		want[[2]int{in[i], out[i]}]++
	}
	indegree := make([]int, g.Nodes())
	for u := range g.Nodes() {
		to, p := g.Successors(u)
		for i, v := range to {
			if v == u || i > 0 && to[i-1] >= v {
				t.Fatalf("node %d: successors %v", u, to)
			}
			indegree[v]++
			if p[i] <= 0 || p[i] > 1 {
				t.Fatal(p[i])
			}
		}
	}
	for v := range g.Nodes() {
		to, _ := g.Successors(v)
		want[[2]int{indegree[v], len(to)}]--
	}
	for d, n := range want {
		if n != 0 {
			t.Errorf("degrees %v: %d nodes too few", d, n)
		}
	}
	other, err := GenerateNetwork(2)
	if err != nil || slices.Equal(other.head, g.head) {
		t.Error("another seed, the same network", err)
	}
}

func TestClass(t *testing.T) {
	s, err := Class().NewSet(1, 5, 50)
	if err != nil {
		t.Fatal(err)
	}
	gaps := map[GAPs]int{}
	for _, p := range slices.Concat(s.Training, s.Test) {
		d := p.(*Instance).Data()
		gaps[d.GAPs]++
		if k := 10 * d.K / p.Dim(); k < 2 || k > 6 || len(d.Others) != d.K || d.Worlds != 1000 {
			t.Errorf("%s: k = %d, %d others, %d worlds", p.Name(), d.K, len(d.Others), d.Worlds)
		}
	}
	if len(s.TestOf(80)) != 50 || len(s.TestOf(100)) != 50 || len(gaps) != 2 || min(gaps[Complementary()], gaps[Competitive()]) < 30 {
		t.Errorf("%d and %d test instances, gaps %v", len(s.TestOf(80)), len(s.TestOf(100)), gaps)
	}
	c := ClassOn(GeneratedNetwork, nil, Settings{K: 3})
	if _, err := c.Test(1, 80, 0); err == nil {
		t.Error("no networks: no error")
	}
	t.Setenv("DACE_DATA", t.TempDir())
	networks.Lock()
	graphs := networks.graphs
	networks.graphs = nil
	networks.Unlock()
	defer func() { networks.graphs = graphs }()
	var missing *snap.MissingError
	if _, err := SNAPClass().Train(1, 0); !errors.As(err, &missing) {
		t.Error(err)
	}
}

func TestErrors(t *testing.T) {
	good := generateT(t, 1, Settings{Dim: 10, Worlds: 10})
	for want, spoil := range map[string]func(*Data){
		"no network":            func(d *Data) { d.Graph = nil },
		"it has no network":     func(d *Data) { d.Graph = new(Graph) },
		"probability NaN":       func(d *Data) { d.GAPs.Item = math.NaN() },
		"probability 2":         func(d *Data) { d.GAPs.OtherWith = 2 },
		"node 7115 among":       func(d *Data) { d.Candidates[3] = 7115 },
		"node -1 among":         func(d *Data) { d.Others[0] = -1 },
		"twice among the cand":  func(d *Data) { d.Candidates[3] = d.Candidates[2] },
		"twice among the other": func(d *Data) { d.Others = []int32{1, 1} },
		"no candidates":         func(d *Data) { d.Candidates = nil },
		"at most -1":            func(d *Data) { d.K = -1 },
		"0 worlds":              func(d *Data) { d.Worlds = 0 },
	} {
		d := good.Data()
		spoil(&d)
		if _, err := New(d); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want an error with %q, got %v", want, err)
		}
	}
	for _, s := range []Settings{{Network: "nowhere"}, {Dim: -1}, {Dim: 8000}, {K: -1}, {K: 8000}, {Worlds: -1}} {
		if _, err := Generate(1, s); err == nil {
			t.Errorf("%+v: no error", s)
		}
	}
	if _, err := good.Simulate(make([]bool, 11), 0); err == nil {
		t.Error("Simulate of a wrong dimension: no error")
	}
	if _, err := good.Simulate(make([]bool, 10), 10); err == nil {
		t.Error("Simulate of a world that is none: no error")
	}
	if _, err := good.Estimate(context.Background(), problem.NewSolutions(1, 11)); err == nil {
		t.Error("Estimate of a wrong dimension: no error")
	}
	e := [][2]int32{{0, 1}}
	for _, err := range []error{
		second(NewGraph(0, nil)), second(NewGraph(1, e)), second(NewGraph(2, [][2]int32{{0, -1}})),
		second(NewGraphProbabilities(2, e, nil)), second(NewGraphProbabilities(2, e, []float64{0})),
		second(NewGraphProbabilities(2, e, []float64{math.NaN()})),
		second(NewGraphProbabilities(2, append(e, e[0]), []float64{.5, .5})),
	} {
		if err == nil {
			t.Error("a graph that is none: no error")
		}
	}
	if g, err := NewUndirectedGraph(3, [][2]int32{{0, 1}, {1, 0}, {1, 1}, {2, 1}}); err != nil || g.Edges() != 4 {
		t.Error("loops and repeated edges were kept", err)
	}
}

// TestGraphJSON checks that a user's network is encoded in full.
func TestGraphJSON(t *testing.T) {
	l, err := snap.Read(strings.NewReader("70 50\n50 60\n60 70\n70 60\n"))
	if err != nil {
		t.Fatal(err)
	}
	g, err := FromEdgeList(l, false)
	if err != nil {
		t.Fatal(err)
	}
	h, err := NewGraphProbabilities(3, [][2]int32{{0, 1}, {1, 2}}, []float64{.25, 1})
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range []*Graph{g, h} {
		b, err := json.Marshal(g)
		if err != nil {
			t.Fatal(err)
		}
		back := new(Graph)
		if err := json.Unmarshal(b, back); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(back.head, g.head) || !slices.Equal(back.start, g.start) || !slices.Equal(back.coin, g.coin) || back.ID(2) != g.ID(2) {
			t.Errorf("%s became another", b)
		}
	}
	if g.ID(2) != 70 || h.ID(2) != 2 {
		t.Errorf("ids %d and %d", g.ID(2), h.ID(2))
	}
	if err := json.Unmarshal([]byte(`{"nodes":2,"ids":[1]}`), new(Graph)); err == nil {
		t.Error("too few ids: no error")
	}
}

func second[T any](_ T, err error) error { return err }

func TestCounter(t *testing.T) {
	rng := run.Rand(9, "counter")
	var c counter
	for _, n := range []int{0, 1, 7, 8, 9, 64, 1001} {
		var want, got [64]int64
		for range n {
			w := rng.Uint64() & rng.Uint64()
			c.add(w)
			for i := range want {
				want[i] -= 4 * int64(w>>i&1)
			}
		}
		c.addTo(got[:], -4)
		if got != want {
			t.Errorf("%d words: %v, want %v", n, got, want)
		}
	}
	var a [64]uint64
	for i := range a {
		a[i] = rng.Uint64()
	}
	b := a
	transpose(&b)
	for i := range a {
		for j := range a {
			if a[i]>>j&1 != b[j]>>i&1 {
				t.Fatalf("bit %d of row %d is not bit %d of row %d", j, i, i, j)
			}
		}
	}
}

func FuzzDecode(f *testing.F) {
	g, err := NewGraphProbabilities(3, [][2]int32{{0, 1}, {1, 2}}, []float64{.5, 1})
	if err != nil {
		f.Fatal(err)
	}
	for _, s := range []Settings{{Graph: g, Dim: 2, Worlds: 3}, {Dim: 2, Worlds: 3}} {
		p, err := Generate(1, s)
		if err != nil {
			f.Fatal(err)
		}
		b, _ := json.Marshal(p)
		f.Add(b)
	}
	f.Add([]byte(`{"graph":{"nodes":1},"candidates":[0],"worlds":1}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := Decode(data)
		if err != nil || p.(*Instance).data.Worlds > 100 {
			return
		}
		v := make([]float64, 1)
		if err := p.Evaluate(context.Background(), v, problem.NewSolutions(1, p.Dim())); err != nil || v[0] != 0 {
			t.Errorf("%q: %v, %v", data, v[0], err)
		}
	})
}

// Example computes the spread of ten seeds, in one world and in all, on a
// network that needs no download.
func Example() {
	p, err := Generate(1, Settings{Dim: 80, GAPs: Complementary()})
	if err != nil {
		fmt.Println(err)
		return
	}
	x := make([]bool, 80)
	for i := range 10 {
		x[i] = true
	}
	one, _ := p.Simulate(x, 0)
	all, err := p.Estimate(context.Background(), problem.Pack(x))
	fmt.Printf("%d adopters in one world, %.3f (%.3f) in the mean, %v\n", one.Adopters(), all[0].Mean, all[0].StandardError, err)
	// Output: 11 adopters in one world, 13.423 (0.096) in the mean, <nil>
}

// ExampleNewGraph builds a user's network: a star of certain edges.
func ExampleNewGraph() {
	g, err := NewGraph(5, [][2]int32{{0, 1}, {0, 2}, {0, 3}, {0, 4}})
	if err != nil {
		fmt.Println(err)
		return
	}
	p, err := New(Data{
		Name: "star", Graph: g, K: 1, GAPs: GAPs{Item: 1, ItemWith: 1}, Candidates: []int32{1, 0}, Worlds: 10,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	values := make([]float64, 2)
	err = p.Evaluate(context.Background(), values, problem.Pack([]bool{true, false}, []bool{false, true}))
	fmt.Println("from a leaf", values[0], "- from the centre", values[1], err)
	// Output: from a leaf 1 - from the centre 5 <nil>
}
