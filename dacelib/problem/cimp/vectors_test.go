package cimp

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"

	"dace.local/dacelib/internal/vectors"
	"dace.local/dacelib/problem"
	"dace.local/dacelib/problem/cimp/snap"
	"dace.local/dacelib/run"
)

// An explicit is an outcome listed edge by edge and node by node.
type explicit struct {
	to      [][]int32
	classes []uint8
}

func (e explicit) live(u int32, to []int32) []int32 { return append(to, e.to[u]...) }
func (e explicit) class(v int32) uint8              { return e.classes[v] }

func classOf(item, other float64, q [4]float64) (c uint8) {
	for i, ok := range []bool{item <= q[0], item <= q[1], other <= q[2], other <= q[3]} {
		if ok {
			c |= 1 << i
		}
	}
	return c
}

// collapsed returns the world of one outcome and its polynomial, which is nil
// if the world exceeds the bounds.
func collapsed(n, d int, o outcome, candidates, others []int32) (*form, *world) {
	w := newBuilder(n).build(o, candidates, others)
	c := newCollapser(d)
	if !c.add(w) {
		return nil, w
	}
	return newForm(c.sum, d), w
}

type worldsFile struct {
	Cases []struct {
		N          int
		Edges      [][2]int32
		Live       []int
		AlphaX     []float64 `json:"alpha_x"`
		AlphaOther []float64 `json:"alpha_other"`
		Q          [4]float64
		SeedsX     []int32 `json:"seeds_x"`
		SeedsOther []int32 `json:"seeds_other"`
		AdoptX     []int   `json:"adopt_x"`
		AdoptOther []int   `json:"adopt_other"`
	}
	Exact []struct {
		N          int
		Edges      [][2]int32
		P          []float64
		Q          [4]float64
		SeedsX     []int32 `json:"seeds_x"`
		SeedsOther []int32 `json:"seeds_other"`
		Expected   float64 `json:"expected_x"`
	}
}

// TestVectorsWorlds compares the adopters of both items in small worlds with
// the reference. It also checks, with every node a candidate, that lanes and
// polynomial give the same numbers, for random seeds too.
func TestVectorsWorlds(t *testing.T) {
	var v worldsFile
	vectors.Read(t, "cimp_worlds.json", &v)
	rng := run.Rand(1, "worlds")
	for i, c := range v.Cases {
		o := explicit{make([][]int32, c.N), make([]uint8, c.N)}
		for j, e := range c.Edges {
			if c.Live[j] == 1 {
				o.to[e[0]] = append(o.to[e[0]], e[1])
			}
		}
		for v := range c.N {
			o.classes[v] = classOf(c.AlphaX[v], c.AlphaOther[v], c.Q)
		}
		s := simulate(c.N, o, c.SeedsX, c.SeedsOther)
		if got := adopters(s.Item); !slices.Equal(got, c.AdoptX) {
			t.Errorf("case %d: the item is adopted by %v, want %v", i, got, c.AdoptX)
		}
		if got := adopters(s.Other); !slices.Equal(got, c.AdoptOther) {
			t.Errorf("case %d: the other item is adopted by %v, want %v", i, got, c.AdoptOther)
		}
		var all []int32
		for v := range c.N {
			all = append(all, int32(v))
		}
		f, w := collapsed(c.N, c.N, o, all, c.SeedsOther)
		var (
			l       lanes
			count   counter
			columns = make([]uint64, c.N)
		)
		for j := range columns {
			columns[j] = rng.Uint64() & rng.Uint64()
		}
		for j := range columns { // lane 0 is the reference's case
			columns[j] &^= 1
		}
		for _, v := range c.SeedsX {
			columns[v] |= 1
		}
		l.run(w, columns, &count)
		var got [64]int64
		count.addTo(got[:], 1)
		for lane := range 64 {
			var x set
			var seeds []int32
			for j, col := range columns {
				if col>>lane&1 != 0 {
					x = x.or(single(int32(j)))
					seeds = append(seeds, int32(j))
				}
			}
			want := simulate(c.N, o, seeds, c.SeedsOther).Adopters() - len(seeds)
			if int(got[lane]) != want {
				t.Errorf("case %d, seeds %v: %d adopters from the lanes, want %d", i, seeds, got[lane], want)
			}
			if f != nil && int(f.at(x)) != want {
				t.Errorf("case %d, seeds %v: %d adopters from the polynomial, want %d", i, seeds, f.at(x), want)
			}
		}
	}
}

func adopters(levels []int) []int {
	nodes := []int{}
	for v, level := range levels {
		if level >= 0 {
			nodes = append(nodes, v)
		}
	}
	return nodes
}

// TestVectorsExact compares expectations over all worlds, by enumeration, and
// values over the worlds of an instance, within 4 standard errors.
func TestVectorsExact(t *testing.T) {
	var v worldsFile
	vectors.Read(t, "cimp_worlds.json", &v)
	for i, c := range v.Exact {
		mean := 0.0
		enumerate(c.N, c.Edges, c.P, c.Q, func(o explicit, p float64) {
			f, _ := collapsed(c.N, len(c.SeedsX), o, c.SeedsX, c.SeedsOther)
			mean += p * float64(int64(len(c.SeedsX))+f.at(set{lo: 1<<len(c.SeedsX) - 1}))
		})
		if math.Abs(mean-c.Expected) > 1e-12 {
			t.Errorf("case %d: %v by enumeration, want %v", i, mean, c.Expected)
		}
		g, err := NewGraphProbabilities(c.N, c.Edges, c.P)
		if err != nil {
			t.Fatal(err)
		}
		compare(t, g, c.Q, c.SeedsX, c.SeedsOther, 100_000, c.Expected, 0)
	}
}

// enumerate calls f with every outcome and its probability. A threshold only
// matters through which of the item's two probabilities it is below.
func enumerate(n int, edges [][2]int32, p []float64, q [4]float64, f func(explicit, float64)) {
	type kind struct {
		class uint8
		p     float64
	}
	var kinds []kind
	cuts := func(a, b float64) []float64 { return []float64{0, min(a, b), max(a, b), 1} }
	x, y := cuts(q[0], q[1]), cuts(q[2], q[3])
	for i := range 3 {
		for j := range 3 {
			area := (x[i+1] - x[i]) * (y[j+1] - y[j])
			kinds = append(kinds, kind{classOf((x[i]+x[i+1])/2, (y[j]+y[j+1])/2, q), area})
		}
	}
	total := 1
	for range n {
		total *= len(kinds)
	}
	for live := range 1 << len(edges) {
		o := explicit{make([][]int32, n), make([]uint8, n)}
		pe := 1.0
		for j, e := range edges {
			if live>>j&1 == 1 {
				o.to[e[0]] = append(o.to[e[0]], e[1])
				pe *= p[j]
			} else {
				pe *= 1 - p[j]
			}
		}
		for code := range total {
			pc := pe
			for v := range n {
				k := kinds[code%len(kinds)]
				code /= len(kinds)
				o.classes[v] = k.class
				pc *= k.p
			}
			f(o, pc)
		}
	}
}

// compare compares the value of selecting all seeds with a reference that has a
// standard error.
func compare(t *testing.T, g *Graph, q [4]float64, seeds, others []int32, worlds int, want, se float64) {
	t.Helper()
	p, err := New(Data{
		Name: "vector", Graph: g, K: len(seeds), GAPs: GAPs{q[0], q[1], q[2], q[3]},
		Candidates: seeds, Others: others, Worlds: worlds, Seed: 1,
	})
	if err != nil {
		t.Fatal(err)
	}
	x := problem.NewSolutions(1, len(seeds))
	for j := range seeds {
		x.Set(0, j, true)
	}
	v := make([]float64, 1)
	if err := p.Evaluate(context.Background(), v, x); err != nil {
		t.Fatal(err)
	}
	e, err := p.Estimate(context.Background(), x)
	if err != nil {
		t.Fatal(err)
	}
	if e[0].Mean != v[0] {
		t.Errorf("Estimate gives %v but Evaluate %v", e[0].Mean, v[0])
	}
	z := (v[0] - want) / math.Hypot(se, e[0].StandardError)
	if math.Abs(z) > 4 {
		t.Errorf("%s, %v, %d seeds: %v, want %v: %.1f standard errors", g.Network(), q, len(seeds), v[0], want, z)
	}
	t.Logf("%s, %v, %d seeds: %.4f (%.4f), want %.4f (%.4f): z = %.2f", g.Network(), q, len(seeds), v[0], e[0].StandardError, want, se, z)
}

// TestVectorsSpread compares with means of the authors' sampler on wiki-Vote
// and ego-Facebook, if these are on this computer.
func TestVectorsSpread(t *testing.T) {
	var v struct {
		Cases []struct {
			Graph      string
			GAP        [4]float64
			SeedsX     []int32 `json:"seeds_x"`
			SeedsOther []int32 `json:"seeds_other"`
			Mean, SE   float64
		}
	}
	vectors.Read(t, "cimp_spread.json", &v)
	for _, c := range v.Cases {
		name := map[string]string{"Wiki": "wiki", "Facebook": "facebook"}[c.Graph]
		g, err := Network(name)
		var missing *snap.MissingError
		if errors.As(err, &missing) {
			t.Skip(err)
		}
		if err != nil {
			t.Fatal(err)
		}
		compare(t, g, c.GAP, c.SeedsX, c.SeedsOther, 20_000, c.Mean, c.SE)
	}
}
