package nir

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"

	"dace.local/dacelib/nir/internal/kernel"
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
		{3, around(0, 10, 2), 4},
		{1, around(0, 10, 3), 4},
		{2, around(0, fewScorers-1, 4), 2},
		{2, around(1, 10, 5), 4},
		{2, around(4, 10, 6), 4},
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
		embeddings := near(m, 9, uint64(i))
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
	alike := make([][]float64, fewScorers)
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

// Of a model that has learned nothing, the scorers along two directions are combinations
// of a few references, which tell their ranges to the last bit; one does for scorers that
// are nearly equal. References of earlier calls stay while they are of use.
func TestFewReferences(t *testing.T) {
	m := randomModel(t, 20, 2, Settings{NormaliseSample: byteSample})
	call := func(n int, spread float64, seed uint64) []*Scorer {
		r := run.Rand(seed, "test: few references")
		var es [][]float64
		for range n {
			e := slices.Clone(m.Embeddings()[0])
			e[0], e[1] = e[0]+spread*r.NormFloat64(), e[1]+spread*r.NormFloat64()
			es = append(es, e)
		}
		return scorersOf(t, m, es)
	}
	var first []float32 // scores of the first reference
	for i, c := range []struct {
		n      int
		spread float64
		most   int // references
	}{{8, 1e-4, 1}, {9, 0.2, 6}, {2, 0.2, 6}} {
		// One more is made from weights, and not looked for.
		n, scorers := c.n, append(call(c.n, c.spread, uint64(i)), scorerOf(t, m))
		want, err := m.wholeRanges(bg, scorers)
		if err != nil {
			t.Fatal(err)
		}
		found := make([]Range, n+1)
		open, err := m.byReferences(bg, scorers, found)
		if err != nil {
			t.Fatal(err)
		}
		r := m.sample.references
		if r.n == 0 || r.n > c.most || !slices.Equal(open, []int{n}) {
			t.Errorf("call %d: %d references leave the ranges %v of %d open", i, r.n, open, n+1)
		}
		var scores []float32
		for k := range 100 {
			scores = append(scores, r.rows[k*maxReferences])
		}
		if first == nil {
			first = scores
		} else if !slices.Equal(scores, first) {
			t.Errorf("call %d: the first reference is another", i)
		}
		for k := range want {
			if !slices.Contains(open, k) && found[k] != want[k] {
				t.Errorf("call %d, scorer %d: %v, want %v", i, k, found[k], want[k])
			}
		}
	}
}

// References are dropped after maxIdle calls in turn of which they fit few scorers. Calls
// of few scorers do not count, and one that they fit begins the count again.
func TestDropUnfit(t *testing.T) {
	m := randomModel(t, 8, 2, Settings{})
	r := &references{n: 3, rows: []float32{1}}
	drop := func(scorers, predicted int) {
		set := make([]*prediction, scorers)
		for i := range set {
			set[i] = &prediction{screened: screened{lo: -1, hi: 1, bottom: -0.75, top: 0.75}}
			if i >= predicted {
				set[i].errors = 1
			}
		}
		m.dropUnfit(r, scorers, set)
	}
	for i, c := range []struct {
		scorers, predicted int
		kept               bool
	}{{20, 9, true}, {20, 0, true}, {20, 10, true}, {20, 9, true}, {fewScorers - 1, 0, true}, {20, 9, true}, {20, 9, false}} {
		if drop(c.scorers, c.predicted); (r.rows != nil) != c.kept || (r.n == 3) != c.kept {
			t.Fatalf("call %d, %d of %d scorers: references are kept: %v", i, c.predicted, c.scorers, !c.kept)
		}
	}
	if r.rest != restCalls {
		t.Errorf("%d calls do without references, want %d", r.rest, restCalls)
	}
	// Then they are tried again, once.
	r.rows = []float32{1}
	for i := range restCalls + 1 {
		if ok, err := m.prepare(bg, r, fewScorers); err != nil || ok != (i == restCalls) {
			t.Errorf("call %d of %d without references: %v, %v", i, restCalls, ok, err)
		}
	}
	if drop(20, 9); r.rows != nil {
		t.Error("references that are of no use again are kept")
	}
}

// The scores of a reference are kept in its column, 0 for a solution whose score is not
// known yet.
func TestReferenceRecord(t *testing.T) {
	rows, want := make([]float32, 4*maxReferences), make([]float32, 4*maxReferences)
	r := &recorder{rows, 5}
	r.put(1, []float32{2, float32(math.NaN()), float32(math.NaN())})
	r.set(2, 7)
	(*recorder)(nil).put(0, []float32{1})
	(*recorder)(nil).set(0, 1)
	want[maxReferences+5], want[2*maxReferences+5] = 2, 7
	if !slices.Equal(rows, want) {
		t.Errorf("the scores are %v", rows)
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

// No solution is passed over, not the first or last of a chunk of the sample, and no
// scorer where they fill the kernel's columns.
func TestReferenceCandidates(t *testing.T) {
	const n = 3*sampleChunk - 5
	m := randomModel(t, 8, 2, Settings{NormaliseSample: n})
	r := &references{n: 1, rows: make([]float32, maxReferences*kernel.RoundRows(m.chunks()*sampleChunk))}
	extremes := []int{0, sampleChunk - 1, sampleChunk, n - 1}
	for k, i := range extremes {
		r.rows[i*maxReferences] = float32(1 - k%2*2) // 1 or -1; the other solutions have 0
	}
	scorer := scorersOf(t, m, m.Embeddings()[:1])[0]
	set := make([]*prediction, 16)
	for i := range set {
		set[i] = &prediction{y: make([]float32, maxReferences+1), left: []float64{0}}
		set[i].y[0] = 1
		set[i].screened = screened{Scorer: scorer, lo: math.MaxFloat32, hi: -math.MaxFloat32}
	}
	fresh := *set[0]
	if err := m.predict(bg, r, set); err != nil {
		t.Fatal(err)
	}
	for i, p := range set {
		if p.full || p.candidates != len(extremes) {
			t.Errorf("scorer %d has %d candidates, want %d; it passes over the whole sample: %v", i, p.candidates, len(extremes), p.full)
		}
	}
	// One with more candidates than are scored passes over the whole sample.
	m.settings.Workers = 1 // each goroutine stops at the bound
	for more := range 2 {
		clear(r.rows)
		r.about = nil
		for i := range m.mostCandidates() + more {
			r.rows[i*maxReferences] = float32(1 - i%2*2)
		}
		p := fresh
		if err := m.predict(bg, r, []*prediction{&p}); err != nil || p.full != (more > 0) {
			t.Errorf("%d candidates more than are scored: the whole sample %v, %v", more, p.full, err)
		}
	}
	ctx, cancel := context.WithCancel(bg)
	cancel()
	r.about = nil
	if err := m.predict(ctx, r, set); !errors.Is(err, context.Canceled) {
		t.Errorf("an interrupted pass: %v", err)
	}
	m.settings.NormaliseSample = byteSample
	m.sample.references = &references{gate: make(chan struct{}, 1)}
	m.sample.references.gate <- struct{}{} // another call uses them
	if _, err := m.byReferences(ctx, scorersOf(t, m, m.Embeddings()), make([]Range, 2)); !errors.Is(err, context.Canceled) {
		t.Errorf("an interrupted wait for the references: %v", err)
	}
}

// References are kept as long as they fit into the memory for what is kept.
func TestReferencesMemory(t *testing.T) {
	const n = 2 * probeChunks * sampleChunk // the probe is of it
	m := randomModel(t, 8, 2, Settings{NormaliseSample: n})
	r := &references{}
	if ok, err := m.prepare(bg, r, fewScorers); err != nil || !ok {
		t.Fatal(ok, err)
	}
	memory, _ := m.LatentBytes()
	size := m.sample.referenceBytes
	if least := int64(4*len(r.rows) + n*outlineBytes); size < least {
		t.Errorf("%d bytes are counted, %d are taken", size, least)
	}
	for less, want := range map[int64]bool{0: true, 1: false} {
		m.sample.referenceBytes = 0
		m.Normalisation.CacheBytes = memory - less
		r := &references{}
		if ok, err := m.prepare(bg, r, fewScorers); err != nil || ok != want {
			t.Errorf("%d bytes less than they need: kept %v, %v", less, ok, err)
		}
	}
	ctx, cancel := context.WithCancel(bg)
	cancel()
	chosen := []*prediction{{screened: screened{Scorer: scorersOf(t, m, m.Embeddings()[:1])[0]}}}
	if err := m.addReferences(ctx, r, chosen, make([]Range, 1)); !errors.Is(err, context.Canceled) || r.n != 0 {
		t.Errorf("an interrupted pass makes %d references: %v", r.n, err)
	}
}

// References of earlier calls go if they leave no room and fit fewScorers scorers too
// little, and stay if they do not fit fewer.
func TestReferencesGo(t *testing.T) {
	rnd := run.Rand(1, "test: references go")
	for _, unfit := range []int{fewScorers - 1, fewScorers} {
		r := &references{n: maxReferences}
		set := make([]*prediction, 12)
		for i := range set {
			p := &prediction{exact: make([]float32, 20), left: make([]float64, 20)}
			for k := range p.exact {
				p.exact[k] = float32(rnd.NormFloat64())
				if i < unfit {
					p.left[k] = float64(p.exact[k])
				}
			}
			set[i] = p
		}
		chosen, rest := r.chooseFrom(set)
		if gone := unfit == fewScorers; (r.n == 0) != gone || (len(chosen) > 0) != gone || len(chosen)+len(rest) != len(set) {
			t.Errorf("%d do not fit: of %d references %d are left, %d of %d scorers shall be new ones", unfit, maxReferences, r.n, len(chosen), len(set))
		}
	}
}

// What an outline passes over is at no extreme of any prediction, and it is most of the
// sample where one direction tells the predictions apart.
func TestOutline(t *testing.T) {
	const n = 5
	m := randomModel(t, 8, 2, Settings{NormaliseSample: 40*sampleChunk - 7})
	rnd := run.Rand(1, "test: outline")
	r := &references{n: n, rows: make([]float32, maxReferences*kernel.RoundRows(m.chunks()*sampleChunk))}
	for i := range m.settings.NormaliseSample {
		common := rnd.NormFloat64()
		for k := range n {
			r.rows[i*maxReferences+k] = float32(3 + common*float64(k+1) + 0.1*rnd.NormFloat64())
		}
	}
	r.rows[20_000*maxReferences] = float32(math.NaN())
	o, err := m.outline(bg, r)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(bg)
	cancel()
	if half, err := m.outline(ctx, r); half != nil || err == nil {
		t.Errorf("an interrupted pass leaves an outline, %v", err)
	}
	for _, spread := range []float64{0, 0.1, 10} {
		set := make([]*prediction, 9)
		for i := range set {
			p := &prediction{y: make([]float32, maxReferences+1), half: 1}
			var least, most float32 = math.MaxFloat32, -math.MaxFloat32
			for k := range n {
				p.y[k] = float32(1 + spread*rnd.NormFloat64())
			}
			for i := range m.settings.NormaliseSample {
				if y := kernel.Dot(p.y[:n], r.rows[i*maxReferences:][:n]); y == y {
					least, most = min(least, y), max(most, y)
				}
			}
			p.half, p.middle = 0.45*(most-least), (most+least)/2
			set[i] = p
		}
		limit := o.limits(set)
		seen := 0
		for i := range m.settings.NormaliseSample {
			if !(o.rest[i] <= limit[o.cells[i]]) {
				seen++
				continue
			}
			for _, p := range set {
				if y := (kernel.Dot(p.y[:n], r.rows[i*maxReferences:][:n]) - p.middle) / p.half; !(y >= -1 && y <= 1) {
					t.Fatalf("spread %v: solution %d is passed over, at %v of a prediction's bounds", spread, i, y)
				}
			}
		}
		if share := float64(seen) / float64(m.settings.NormaliseSample); spread < 1 && share > 0.02 {
			t.Errorf("spread %v: %.3f of the sample are looked at", spread, share)
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

// A misfit is the largest error as a share of the range; what misfits by no more than the
// bounds needs no reference, and is predicted.
func TestReferenceMisfit(t *testing.T) {
	of := func(errors ...float64) *prediction { return &prediction{exact: []float32{3, 2, 2.5}, left: errors} }
	for want, p := range map[float64]*prediction{0.25: of(0.25, -0.125), 0.5: of(0.25, -0.5), 0: of(0, 0), 2: {exact: []float32{-1, 1}, left: []float64{4}}} {
		if p.misfit() != want {
			t.Errorf("%+v: %v, want %v", p, p.misfit(), want)
		}
	}
	// The worst comes first, the first of equals, and none at the bound.
	r := &references{}
	a, b, c, d := of(0.2, 0, 0), of(0, 0.5, 0), of(0, 0, 0.5), of(goodMisfit, 0, 0)
	if chosen, rest := r.choose([]*prediction{d}); len(chosen) != 0 || len(rest) != 1 {
		t.Errorf("at the bound %d are chosen", len(chosen))
	}
	chosen, rest := r.choose([]*prediction{d, a, b, c})
	if !slices.Equal(chosen, []*prediction{b, c, a}) || !slices.Equal(rest, []*prediction{d}) || math.Abs(d.left[0]) > 1e-12 {
		t.Errorf("chosen %v of %v, left %v", chosen, []*prediction{b, c, a}, d.left)
	}
	r.n = maxReferences - 2
	if chosen, rest := r.choose([]*prediction{of(0.2, 0, 0), of(0, 0.3, 0), of(0, 0, 0.4)}); len(chosen) != 2 || len(rest) != 1 {
		t.Errorf("%d are chosen where there is room for 2", len(chosen))
	}
}

// Scores that are a combination of references and a constant are fitted by it, also where
// references are alike; without references the error is the score.
func TestReferenceFit(t *testing.T) {
	probes := probeChunks * sampleChunk
	rnd := run.Rand(1, "test: fit")
	r := &references{n: 3, rows: make([]float32, maxReferences*probes), about: &outline{}}
	p := &prediction{exact: make([]float32, probes)}
	for i := range probes {
		row := r.rows[i*maxReferences:]
		row[0], row[1] = float32(rnd.NormFloat64()), float32(rnd.NormFloat64())
		row[2] = row[0]
		p.exact[i] = 2*row[0] - 3*row[1] + 5
	}
	r.fit([]*prediction{p})
	if p.largest() < 5 || p.left[7] != float64(p.exact[7]) || len(p.y) != maxReferences+1 {
		t.Errorf("without a fit the errors are up to %v", p.largest())
	}
	r.refit()
	if r.solve == nil || r.about != nil {
		t.Fatalf("solve %v, outline %v", r.solve, r.about)
	}
	r.fit([]*prediction{p})
	if p.largest() > 1e-3 || math.Abs(float64(p.y[0]+p.y[2])-2) > 1e-3 || math.Abs(float64(p.y[1])+3) > 1e-3 || math.Abs(float64(p.y[maxReferences])-5) > 1e-3 || p.y[3] != 0 {
		t.Errorf("coefficients %v, errors up to %v", p.y, p.largest())
	}
}

// Which calls have references, and that those without hold none.
func TestReferenceCalls(t *testing.T) {
	m := randomModel(t, 8, 2, Settings{NormaliseSample: byteSample})
	for i, c := range []struct {
		scorers int
		set     func()
		want    bool
		made    bool // the model has some, perhaps empty
	}{
		{1, func() {}, false, false}, {fewScorers, func() { m.Normalisation.Exact = true }, false, false}, {fewScorers, func() { m.Normalisation.Exact, m.Normalisation.Whole = false, true }, false, false},
		{fewScorers, func() { m.Normalisation.Whole, m.settings.NormaliseSample = false, byteSample-1 }, false, false}, {fewScorers - 1, func() { m.settings.NormaliseSample = byteSample }, false, true},
		{fewScorers, func() { m.sample.references.rest = 1 }, false, true}, {fewScorers, func() {}, true, true}, {2, func() { m.sample.references.n = 1 }, true, true}, {1, func() {}, false, true},
	} {
		c.set()
		r, err := m.references(bg, c.scorers)
		if err != nil || (r != nil) != c.want || (m.sample.references != nil) != c.made {
			t.Fatalf("call %d: %v, %v", i, r, err)
		}
		if made := m.sample.references; made != nil {
			if held := len(made.gate) == 1; held != c.want {
				t.Fatalf("call %d: the references are held: %v", i, held)
			}
			if c.want {
				<-made.gate
			}
		}
	}
	// Where there is no room they are never tried again.
	m.sample.references = nil
	m.Normalisation.CacheBytes = 1
	if r, err := m.references(bg, fewScorers); r != nil || err != nil || m.sample.references.rest != math.MaxInt || len(m.sample.references.gate) != 0 {
		t.Errorf("%v, %v, %d calls without", r, err, m.sample.references.rest)
	}
	// What is dropped is not counted.
	r := &references{n: 3, rows: []float32{1}, idle: maxIdle - 1, solve: nil, about: &outline{}, probe: []float32{1}}
	m.sample.referenceBytes = 99
	set := make([]*prediction, fewScorers)
	for i := range set {
		set[i] = &prediction{screened: screened{lo: -1, hi: 1, bottom: -0.75, top: 0.75, errors: 1}}
	}
	if m.dropUnfit(r, fewScorers, set); r.rows != nil || r.probe != nil || r.about != nil || r.n != 0 || m.sample.referenceBytes != 0 || r.idle != maxIdle-1 {
		t.Errorf("%+v, %d bytes", r, m.sample.referenceBytes)
	}
}
