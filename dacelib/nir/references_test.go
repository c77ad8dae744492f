package nir

import (
	"math"
	"slices"
	"testing"

	"dace.local/dacelib/problem"
	"dace.local/dacelib/problem/ccp"
	"dace.local/dacelib/run"
)

// foods returns n instances of CCP of 30 bits.
func foods(t testing.TB, n int) []problem.Problem {
	t.Helper()
	var ps []problem.Problem
	for i := range n {
		p, err := ccp.Generate(run.Seed(1, "ccp", i), ccp.Settings{Lambda: 1e-4})
		if err != nil {
			t.Fatal(err)
		}
		ps = append(ps, p)
	}
	return ps
}

// learned returns a model that has learned five instances of CCP in part.
func learned(t *testing.T) *Model {
	t.Helper()
	s := Quick()
	s.Steps = 300
	s.NormaliseSample = byteSample + 77
	m, err := Train(bg, foods(t, 5), s)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// Ranges by references are those of the whole sample, to the last bit, and most
// of a search's scorers have one: those of the first generation, of a later one
// around another embedding, and few at a time.
func TestReferences(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	m := learned(t)
	around := func(k, n int, seed uint64) []*Scorer {
		r := run.Rand(seed, "test: around")
		var es [][]float64
		for range n {
			e := slices.Clone(m.Embeddings()[k])
			for j := range e {
				e[j] += r.NormFloat64()
			}
			es = append(es, e)
		}
		return scorersOf(t, m, es)
	}
	for i, tc := range []struct {
		workers int
		scorers []*Scorer
		most    int // open ranges
	}{
		{3, around(0, fewScorers-1, 1), fewScorers - 1}, // no references yet
		{3, around(0, 60, 2), 10},
		{1, around(0, 60, 3), 10},
		{2, around(0, fewScorers-1, 4), 2},
		{2, around(1, 60, 5), 10},
		{2, around(4, 60, 6), 10},
		{2, append(around(4, 2, 7), scorerOf(t, m)), 1}, // one made from weights
		{2, around(4, 1, 8), 1},                         // one alone
	} {
		m.settings.Workers = tc.workers
		want, err := m.wholeRanges(bg, tc.scorers)
		if err != nil {
			t.Fatal(err)
		}
		found := make([]Range, len(want))
		open, err := m.byReferences(bg, tc.scorers, found)
		if err != nil {
			t.Fatal(err)
		}
		if len(open) > tc.most {
			t.Errorf("call %d: %d of %d ranges are open, want at most %d", i, len(open), len(want), tc.most)
		}
		for k := range want {
			if !slices.Contains(open, k) && found[k] != want[k] {
				t.Errorf("call %d, scorer %d: %v, want %v", i, k, found[k], want[k])
			}
		}
		got, err := m.NormaliseScorers(bg, tc.scorers)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got, want) {
			t.Errorf("call %d: NormaliseScorers returns %v, want %v", i, got, want)
		}
	}
}

// scorerOf returns a scorer made from weights.
func scorerOf(t *testing.T, m *Model) *Scorer {
	t.Helper()
	w, err := m.Weights(m.Embeddings()[0], false)
	if err != nil {
		t.Fatal(err)
	}
	s, err := m.ScorerOf(w)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// A model whose scorers are unlike one another soon stops to keep references,
// and tries it again later; one that may not keep them has none.
func TestNoReferences(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	m := randomModel(t, 30, 2, Settings{NormaliseSample: byteSample, Start: He, HyperBias: true})
	without := randomModel(t, 30, 2, Settings{NormaliseSample: byteSample, Start: He, HyperBias: true})
	without.Normalisation.CacheBytes = 20 << 20
	for i := range maxIdle + 1 {
		embeddings := near(m, 40, uint64(i))
		got, err := m.Normalise(bg, embeddings)
		if err != nil {
			t.Fatal(err)
		}
		want, err := without.Normalise(bg, embeddings)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got, want) {
			t.Errorf("generation %d: the ranges differ", i)
		}
		if memory, _ := without.LatentBytes(); memory > 20<<20 {
			t.Errorf("%d bytes are kept, want at most 20 MB", memory)
		}
		if kept := m.sample.references.rows != nil; kept != (i < maxIdle-1) {
			t.Errorf("generation %d: references are kept: %v", i, kept)
		}
	}
	// After restCalls calls there are references again, and they are kept if
	// they fit, as for scorers that are nearly equal.
	alike := make([][]float64, 40)
	for i := range alike {
		alike[i] = slices.Clone(m.Embeddings()[0])
		alike[i][0] += float64(i) / 1e4
	}
	for i := 1; i <= restCalls; i++ {
		if _, err := m.Normalise(bg, alike); err != nil {
			t.Fatal(err)
		}
		if kept := m.sample.references.rows != nil; kept != (i == restCalls) {
			t.Errorf("call %d after: references are kept: %v", i, kept)
		}
	}
}

// A range by references is sure if a solution that is missed would need an error
// of referenceSafety times the largest one seen, and not below that.
func TestReferenceSafety(t *testing.T) {
	for gap, want := range map[float32]bool{0.25: true, 0.2499: false} {
		p := prediction{screened: screened{lo: -1, hi: 1, bottom: -1 + gap, top: 1 - gap, errors: 0.125}}
		if p.sure() != want {
			t.Errorf("candidates within %v of the extremes, errors up to 0.125: sure is %v", gap, !want)
		}
	}
}

// A prediction whose margins reach from one of its extremes to the other tells
// nothing of a scorer, which then passes over the whole sample.
func TestFlatPrediction(t *testing.T) {
	m := randomModel(t, 30, 2, Settings{NormaliseSample: byteSample, Start: He, HyperBias: true})
	alike := make([][]float64, fewScorers)
	for i := range alike {
		alike[i] = slices.Clone(m.Embeddings()[0])
		alike[i][0] += float64(i) / 1e4
	}
	if _, err := m.Normalise(bg, alike); err != nil {
		t.Fatal(err)
	}
	r := m.sample.references
	s := scorersOf(t, m, alike[:1])[0]
	p := &prediction{exact: r.scores(s), y: make([]float32, maxReferences+1)}
	p.screened = screened{Scorer: s, lo: math.MaxFloat32, hi: -math.MaxFloat32}
	for _, v := range p.exact {
		p.left = append(p.left, float64(v)) // as the references predict nothing
	}
	if err := m.predict(bg, r, []*prediction{p}); err != nil {
		t.Fatal(err)
	}
	if !p.full || p.sure() {
		t.Errorf("full is %v, sure is %v; want the whole sample", p.full, p.sure())
	}
}
