package nir

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"dace.local/dacelib/nir/internal/kernel"
	"dace.local/dacelib/run"
)

// near returns embeddings as PGPE draws them: the model's plus N(0, I).
func near(m *Model, n int, seed uint64) [][]float64 {
	r := run.Rand(seed, "test: near")
	own := m.Embeddings()
	out := make([][]float64, n)
	for i := range out {
		out[i] = slices.Clone(own[i%len(own)])
		for j := range out[i] {
			out[i][j] += r.NormFloat64()
		}
	}
	return out
}

// scorersOf returns the scorers of embeddings.
func scorersOf(t testing.TB, m *Model, embeddings [][]float64) []*Scorer {
	t.Helper()
	out := make([]*Scorer, len(embeddings))
	for i, e := range embeddings {
		s, err := m.Scorer(e)
		if err != nil {
			t.Fatal(err)
		}
		out[i] = s
	}
	return out
}

// The pass in bytes finds the same ranges as the exact pass, to the last bit.
func TestScreen(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	// Where the pass in bytes is slow, it is not used: less of it does.
	chunks, n, counts := probeChunks+2, 2, []int{3}
	if kernel.FastBytes() {
		chunks, n, counts = 60, 4, []int{1, 3}
	}
	for name, s := range variants() {
		if s.withDefaults(30).Activation == Identity {
			continue // affine scorers do not use the pass in bytes
		}
		t.Run(name, func(t *testing.T) {
			s.NormaliseSample = chunks*sampleChunk + 77
			m := randomModel(t, 30, 2, s)
			scorers := scorersOf(t, m, near(m, n, 1))
			want, err := m.exactRanges(bg, scorers, nil, true)
			if err != nil {
				t.Fatal(err)
			}
			for _, workers := range counts {
				m.settings.Workers = workers
				set, err := m.screen(bg, scorers, nil)
				if err != nil {
					t.Fatal(err)
				}
				for i, s := range set {
					got := Range{float64(s.lo), float64(s.hi)}
					if !s.sure() {
						t.Errorf("scorer %d: not sure: error %v, margin %v, %d candidates", i, s.errors, s.tails.margin, s.candidates)
					}
					if got != want[i] {
						t.Errorf("scorer %d: %v, want %v", i, got, want[i])
					}
				}
			}
		})
	}
}

// rare returns the weights of a scorer with a hidden unit that is inactive on
// the probe and dominates the score outside of it.
func rare(t *testing.T, m *Model) *Scorer {
	t.Helper()
	w, err := m.Weights(m.Embeddings()[0], false)
	if err != nil {
		t.Fatal(err)
	}
	in := m.shape.in
	lat, err := m.byteLatents(bg)
	if err != nil {
		t.Fatal(err)
	}
	top := math.Inf(-1)
	for i := range lat.probes {
		v := 0.0
		for k := range in {
			v += w[k*Hidden] * float64(lat.probe[i*in+k])
		}
		top = max(top, v)
	}
	w[in*Hidden] = -top * 1.001 // the unit's bias
	s2 := (in + 1) * Hidden
	for j := range Hidden {
		w[s2+j] = 1000
	}
	s, err := m.ScorerOf(w)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Solutions unlike those of the probe must not be missed: if the pass in bytes
// cannot be sure, the exact pass decides.
func TestScreenRareUnit(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	seen := false
	for seed := uint64(0); seed < 20 && !seen; seed++ { // until some solution is rare enough
		m := randomModel(t, 30, 1, Settings{NormaliseSample: 60 * sampleChunk, Seed: seed})
		s := rare(t, m)
		want, err := m.exactRanges(bg, []*Scorer{s}, nil, true)
		if err != nil {
			t.Fatal(err)
		}
		set, err := m.screen(bg, []*Scorer{s}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := (Range{float64(set[0].lo), float64(set[0].hi)}); set[0].sure() && got != want[0] {
			t.Errorf("seed %d: %v, want %v", seed, got, want[0])
		}
		seen = set[0].over > 0
	}
	if !seen {
		t.Error("the unit is never seen to leave its range")
	}
}

// With a scorer of one bit, half of the sample is an extreme. That is too much
// to score again, and the exact pass decides.
func TestScreenTies(t *testing.T) {
	m := randomModel(t, 30, 1, Settings{NormaliseSample: byteSample})
	w := make([]float64, m.shape.scorerSize)
	s, err := m.ScorerOf(w)
	if err != nil {
		t.Fatal(err)
	}
	if r, err := m.NormaliseScorers(bg, []*Scorer{s}); err != nil || r[0] != (Range{}) {
		t.Errorf("a constant scorer: %v (%v)", r, err)
	}
	// 2 units: a large multiple of a latent, limited to [0, 1].
	in := m.shape.in
	w[0], w[1] = 1e6, 1e6
	w[in*Hidden+1] = -1e6
	s2, s3 := (in+1)*Hidden, (in+1)*Hidden+(Hidden+1)*Hidden
	w[s2], w[s2+Hidden] = 1e-6, -1e-6
	w[s3] = 1
	if s, err = m.ScorerOf(w); err != nil {
		t.Fatal(err)
	}
	got, err := m.NormaliseScorers(bg, []*Scorer{s})
	if err != nil {
		t.Fatal(err)
	}
	m.Normalisation.Exact = true
	want, err := m.NormaliseScorers(bg, []*Scorer{s})
	if err != nil || got[0] != want[0] {
		t.Errorf("%v, want %v (%v)", got, want, err)
	}
}

// sure requires room for an error twice the largest one seen.
func TestScreenSure(t *testing.T) {
	for _, tc := range []struct {
		errors, lo, hi float32
		full, sure     bool
	}{
		{errors: 0.02, lo: 0, hi: 1, sure: true},
		{errors: 0.03, lo: 0, hi: 1},    // 0.05 of room on either side
		{errors: 0.02, lo: 0, hi: 0.98}, // 0.03 of room above
		{errors: 0.02, lo: 0.02, hi: 1}, // 0.03 of room below
		{errors: 0.02, lo: -0.1, hi: 1.1, sure: true},
		{errors: 0, lo: 0, hi: 1, full: true},
		{errors: float32(math.NaN()), lo: 0, hi: 1},
	} {
		s := &screened{errors: tc.errors, lo: tc.lo, hi: tc.hi, full: tc.full, bottom: 0.05, top: 0.95}
		if s.sure() != tc.sure {
			t.Errorf("%+v: sure is %v", tc, s.sure())
		}
	}
}

func TestNormaliseInterrupted(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	for _, exact := range []bool{false, true} {
		m := randomModel(t, 30, 1, Settings{}) // the default sample: 10 million solutions
		m.Normalisation = Normalisation{Exact: exact, CacheBytes: -1}
		ctx, cancel := context.WithCancel(bg)
		var last run.Event
		m.Normalisation.OnEvent = func(e run.Event) { // the first event comes after half a second
			last = e
			cancel()
		}
		if _, err := m.Normalise(ctx, near(m, 9, 1)); !errors.Is(err, context.Canceled) {
			t.Errorf("exact %v: got %v", exact, err)
		}
		want := "latents"
		if exact || !kernel.FastBytes() {
			want = "normalise"
		}
		if last.Stage != want || last.Total != 10_000_000 || last.Step <= 0 || last.Step >= last.Total {
			t.Errorf("exact %v: the event before the end is %+v", exact, last)
		}
	}
}

// The file of the latents: its folder, its removal, and a full disk.
func TestLatentFile(t *testing.T) {
	s := Settings{NormaliseSample: 3000, Normalisation: Normalisation{CacheBytes: -1, CacheDir: t.TempDir()}}
	m := randomModel(t, 12, 1, s)
	if _, err := m.Normalise(bg, m.Embeddings()); err != nil {
		t.Fatal(err)
	}
	if _, file := m.LatentBytes(); file == 0 {
		t.Error("there is no file")
	}
	if left, err := os.ReadDir(s.Normalisation.CacheDir); err != nil || len(left) > 0 && runtime.GOOS != "windows" {
		t.Errorf("the folder holds %v (%v); the file should have no name", left, err)
	}

	s.Normalisation.CacheDir = filepath.Join(t.TempDir(), "none")
	m = randomModel(t, 12, 1, s)
	if _, err := m.Normalise(bg, m.Embeddings()); err == nil || !strings.Contains(err.Error(), "CacheDir") || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no such folder: %v", err)
	}

	// A file that cannot be written, as on a full disk.
	s.Normalisation.CacheDir = t.TempDir()
	m = randomModel(t, 12, 1, s)
	store, err := m.floatStore()
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "full")
	if err := os.WriteFile(name, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if store.file, err = os.Open(name); err != nil {
		t.Fatal(err)
	}
	defer store.file.Close()
	if _, err := m.Normalise(bg, m.Embeddings()); err == nil || !strings.Contains(err.Error(), "MB of disk") {
		t.Errorf("a full disk: %v", err)
	}
	m.Normalisation.CacheDir = ""
	if _, err := m.Normalise(bg, m.Embeddings()); err != nil {
		t.Errorf("after a full disk, without a file: %v", err)
	}
}
