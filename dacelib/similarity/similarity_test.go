package similarity_test

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/plot"

	"dace.local/dacelib/figure"
	"dace.local/dacelib/nir"
	"dace.local/dacelib/problem"
	"dace.local/dacelib/problem/ccp"
	"dace.local/dacelib/problem/classic"
	"dace.local/dacelib/problem/onemax"
	"dace.local/dacelib/run"
	"dace.local/dacelib/similarity"
)

// near returns n problems of OneMax, whose targets differ in up to four bits from
// that of their group.
func near(t testing.TB, seed uint64, groups, each int) (ps []problem.Problem, names []string) {
	t.Helper()
	rng := run.Rand(seed, "similarity: test")
	for g := range groups {
		centre := problem.Random(rng, 1, 30)
		for i := range each {
			target := centre.Bools(0)
			for range 4 {
				target[rng.IntN(30)] = rng.IntN(2) == 0
			}
			p, err := onemax.New(fmt.Sprintf("%d/%d", g, i), target)
			if err != nil {
				t.Fatal(err)
			}
			ps, names = append(ps, p), append(names, fmt.Sprint("group ", g+1))
		}
	}
	return ps, names
}

// TestGroups: over several seeds each kind of groups is found by the measure that
// asks for it, from small differences of targets to classes of several dimensions.
func TestGroups(t *testing.T) {
	t.Parallel()
	class := func(name string, seed uint64, d, i int) problem.Problem {
		t.Helper()
		var p problem.Problem
		var err error
		switch name {
		case "onemax":
			p = onemax.Random(100*seed+uint64(i), d)
		case "ccp":
			p, err = ccp.Class().Test(seed, d, i)
		default:
			var c problem.Class
			if c, err = classic.Class(name, d); err == nil {
				p, err = c.Test(seed, d, i)
			}
		}
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	all := func(ps []problem.Problem, groups []string, measures ...similarity.Measure) {
		t.Helper()
		for _, measure := range measures {
			m, err := similarity.Of(t.Context(), ps, similarity.Settings{Measure: measure})
			if err != nil {
				t.Fatal(err)
			}
			hits, chance, err := m.SameGroup(groups)
			if err != nil || hits != len(ps) || chance > float64(len(ps))/2 {
				t.Errorf("%v: %d of %d nearest are of the same group (by chance %.1f): %v\n%v", measure, hits, len(ps), chance, err, m)
			}
		}
	}
	for seed := range uint64(2) {
		ps, groups := near(t, seed, 3, 4)
		all(ps, groups, similarity.Correlation, similarity.RankCorrelation)

		ps, groups = nil, nil
		for i, name := range []string{"onemax", "onemax", "ccp", "maxsat", "onemax", "onemax", "ccp", "maxsat", "onemax", "onemax", "ccp", "maxsat", "onemax", "onemax", "ccp", "maxsat"} {
			ps, groups = append(ps, class(name, seed, 40, i)), append(groups, name)
		}
		all(ps, groups, similarity.Landscape)

		ps, groups = nil, nil
		for i := range 14 { // of two classes and seven dimensions
			name := []string{"nk", "maxsat"}[i%2]
			ps, groups = append(ps, class(name, seed, 30+4*(i/2), i)), append(groups, name)
		}
		all(ps, groups, similarity.Landscape)
	}
}

// TestCorrelations compares with gonum's correlation of all values of 10 bits, and
// checks what the measures must not depend on.
func TestCorrelations(t *testing.T) {
	t.Parallel()
	a, b := onemax.Random(1, 10), onemax.Random(2, 10)
	value := func(p problem.Problem, f func(v float64) float64) problem.Problem {
		return problem.FromBatch("f of "+p.Name(), 10, func(dst []float64, x problem.Solutions) {
			if err := p.Evaluate(context.Background(), dst, x); err != nil {
				panic(err)
			}
			for i := range x.Len() {
				dst[i] = f(dst[i])
			}
		})
	}
	ps := []problem.Problem{a, b, value(a, func(v float64) float64 { return 1e200 * (v - 3) }), value(a, func(v float64) float64 { return -v }),
		value(a, math.Exp), value(b, func(v float64) float64 {
			if v < 3 {
				return math.Inf(-1)
			}
			return v
		})}
	m, err := similarity.Of(t.Context(), ps, similarity.Settings{Samples: 100_000})
	if err != nil {
		t.Fatal(err)
	}
	r, err := similarity.Of(t.Context(), ps, similarity.Settings{Samples: 100_000, Measure: similarity.RankCorrelation})
	if err != nil {
		t.Fatal(err)
	}
	every := problem.Enumerate(10)
	values := make([][]float64, len(ps))
	for i, p := range ps {
		values[i] = make([]float64, every.Len())
		if err := p.Evaluate(t.Context(), values[i], every); err != nil {
			t.Fatal(err)
		}
		for k, v := range values[i] {
			if math.IsInf(v, -1) {
				values[i][k] = 3 // the smallest of the others
			}
		}
	}
	for i := range ps {
		for j := range ps {
			want := stat.Correlation(values[i], values[j], nil)
			if math.Abs(m.Values[i][j]-want) > 4*(1-want*want)/math.Sqrt(100_000)+1e-9 && i != 4 && j != 4 {
				t.Errorf("r(%d, %d) is %v, over all solutions %v", i, j, m.Values[i][j], want)
			}
			if m.Values[i][j] != m.Values[j][i] || r.Values[i][j] != r.Values[j][i] {
				t.Errorf("(%d, %d): not symmetric", i, j)
			}
		}
	}
	if m.Values[0][2] != 1 || math.Abs(m.Values[0][3]+1) > 1e-12 || m.Values[0][4] > 0.9 {
		t.Errorf("scaled %v, negated %v, exp %v", m.Values[0][2], m.Values[0][3], m.Values[0][4])
	}
	if r.Values[0][4] != 1 {
		t.Errorf("the rank correlation with the exponential is %v", r.Values[0][4])
	}
	if d := m.Distances(); d[0][2] != 0 || math.Abs(d[0][3]-2) > 1e-12 {
		t.Errorf("distances %v", d[0])
	}
}

// TestRepeats: workers change nothing, the seed does, and the end of the context
// ends the comparison.
func TestRepeats(t *testing.T) {
	t.Parallel()
	ps, _ := near(t, 1, 2, 3)
	for _, measure := range []similarity.Measure{similarity.Correlation, similarity.RankCorrelation, similarity.Landscape} {
		s := similarity.Settings{Measure: measure, Samples: 500, Workers: 1}
		one, err := similarity.Of(t.Context(), ps, s)
		if err != nil {
			t.Fatal(err)
		}
		s.Workers = 3
		three, err := similarity.Of(t.Context(), ps, s)
		if err != nil || !reflect.DeepEqual(one, three) {
			t.Errorf("%v: other values with 3 workers (%v)", measure, err)
		}
		s.Seed = 1
		if other, err := similarity.Of(t.Context(), ps, s); err != nil || reflect.DeepEqual(one.Values, other.Values) {
			t.Errorf("%v: the same values with another seed (%v)", measure, err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := similarity.Of(ctx, ps, s); !errors.Is(err, context.Canceled) {
			t.Errorf("%v: cancelled: %v", measure, err)
		}
	}
}

// TestProgress: a slow objective reports long before an instance is done, so that
// the time left can be told.
func TestProgress(t *testing.T) {
	t.Parallel()
	var evaluated atomic.Int64
	ps, _ := near(t, 1, 1, 2)
	ps = append(ps, problem.FromFunc("counting", 30, func(x []bool) float64 { evaluated.Add(1); return float64(evaluated.Load() % 2) }))
	last, first := run.Event{}, 0
	s := similarity.Settings{Samples: 3000, OnEvent: func(e run.Event) {
		if e.Step <= last.Step || e.Total != 9000 || e.Detail == "" {
			t.Errorf("event %+v after %+v", e, last)
		}
		if first == 0 {
			first = e.Step
		}
		last = e
	}}
	if _, err := similarity.Of(t.Context(), ps, s); err != nil {
		t.Fatal(err)
	}
	if first > 100 || last.Step != 9000 {
		t.Errorf("the first event is after %d solutions, the last after %d", first, last.Step)
	}
}

// TestErrors: what cannot be compared is named.
func TestErrors(t *testing.T) {
	t.Parallel()
	a, b := onemax.Random(1, 10), onemax.Random(2, 11)
	of := func(v float64) problem.Problem {
		return problem.FromFunc("odd", 10, func(x []bool) float64 {
			if x[0] {
				return v
			}
			return 1
		})
	}
	broken := problem.FromContext("broken", 10, func(context.Context, []bool) (float64, error) { return 0, errors.New("no licence") })
	for _, c := range []struct {
		ps   []problem.Problem
		s    similarity.Settings
		want string
	}{
		{[]problem.Problem{a}, similarity.Settings{}, "at least 2 instances; got 1"},
		{[]problem.Problem{a, b}, similarity.Settings{}, "one dimension only"},
		{[]problem.Problem{a, of(1)}, similarity.Settings{}, "odd has one value"},
		{[]problem.Problem{a, of(1)}, similarity.Settings{Measure: similarity.Landscape}, "odd has one value"},
		{[]problem.Problem{a, of(math.Inf(1))}, similarity.Settings{}, "no finite numbers"},
		{[]problem.Problem{a, broken}, similarity.Settings{}, "no licence"},
		{[]problem.Problem{a, a}, similarity.Settings{Samples: 10}, "Settings.Samples is 10"},
		{[]problem.Problem{a, a}, similarity.Settings{Measure: similarity.Embedding}, "Settings.Measure is distance of embeddings"},
	} {
		if _, err := similarity.Of(t.Context(), c.ps, c.s); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("the error is %v; it should say %q", err, c.want)
		}
	}
	m := similarity.Matrix{Names: []string{"a", "b", "c"}, Values: [][]float64{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}}
	for name, f := range map[string]func() error{
		"groups":     func() error { _, _, err := m.SameGroup([]string{"a"}); return err },
		"silhouette": func() error { _, _, err := m.Silhouette([]string{"a", "a", "a"}); return err },
		"scale":      func() error { _, _, err := m.Scale(3); return err },
		"cut":        func() error { _, err := m.Link(similarity.Average).Cut(4); return err },
		"agreement":  func() error { _, err := m.Agreement(similarity.Matrix{}); return err },
		"map":        func() error { _, err := m.Map([]string{"a"}); return err },
	} {
		if f() == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// TestReference compares with SciPy, scikit-learn and NumPy: testdata/reference.py.
func TestReference(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile("testdata/reference.json")
	if err != nil {
		t.Fatal(err)
	}
	var ref struct {
		Distances, Other, Plane [][]float64
		Groups                  []int
		Linkage                 map[string][][4]float64
		Cut                     map[string][]int
		Silhouette              []float64
		Share, Spearman         float64
	}
	if err := json.Unmarshal(b, &ref); err != nil {
		t.Fatal(err)
	}
	names := make([]string, len(ref.Groups))
	groups := make([]string, len(ref.Groups))
	for i, g := range ref.Groups {
		names[i], groups[i] = fmt.Sprint("p", i), fmt.Sprint(g)
	}
	m := similarity.Matrix{Measure: similarity.Landscape, Names: names, Values: ref.Distances}
	for l, name := range []string{"average", "complete", "single", "ward"} {
		tree := m.Link(similarity.Linkage(l))
		for k, want := range ref.Linkage[name] {
			g := tree.Merges[k]
			if float64(g.A) != want[0] || float64(g.B) != want[1] || math.Abs(g.Height-want[2]) > 1e-9 || float64(g.Size) != want[3] {
				t.Errorf("%s: merge %d is %+v, SciPy's %v", name, k, g, want)
			}
		}
		cut, err := tree.Cut(4)
		if err != nil {
			t.Fatal(err)
		}
		for i := range cut {
			for j := range cut {
				if (cut[i] == cut[j]) != (ref.Cut[name][i] == ref.Cut[name][j]) {
					t.Errorf("%s: instances %d and %d are grouped otherwise than by SciPy", name, i, j)
				}
			}
		}
	}
	mean, widths, err := m.Silhouette(groups)
	if err != nil {
		t.Fatal(err)
	}
	want := 0.0
	for i, w := range ref.Silhouette {
		want += w / float64(len(widths))
		if math.Abs(widths[i]-w) > 1e-9 {
			t.Errorf("silhouette of %d is %v, scikit-learn's %v", i, widths[i], w)
		}
	}
	if math.Abs(mean-want) > 1e-9 {
		t.Errorf("the mean silhouette is %v, not %v", mean, want)
	}
	points, share, err := m.Scale(2)
	if err != nil {
		t.Fatal(err)
	}
	if math.Abs(share-ref.Share) > 1e-9 {
		t.Errorf("the share is %v, NumPy's %v", share, ref.Share)
	}
	for c := range 2 { // up to the sign
		for i := range points {
			if math.Abs(math.Abs(points[i][c])-math.Abs(ref.Plane[i][c])) > 1e-8 {
				t.Errorf("coordinate %d of %d is %v, NumPy's %v", c, i, points[i][c], ref.Plane[i][c])
			}
		}
	}
	if r, err := m.Agreement(similarity.Matrix{Measure: similarity.Landscape, Names: names, Values: ref.Other}); err != nil || math.Abs(r-ref.Spearman) > 1e-12 {
		t.Errorf("the agreement is %v (%v), SciPy's %v", r, err, ref.Spearman)
	}
}

// TestFeatures compares with what is known of OneMax of 32 bits: sigma is sqrt(8),
// one flip changes the value by 1, the values are symmetric, and their L-kurtosis is
// near the normal distribution's 0.1226.
func TestFeatures(t *testing.T) {
	t.Parallel()
	f, err := similarity.Features(t.Context(), []problem.Problem{onemax.Random(3, 32)}, similarity.Settings{Samples: 500_000})
	if err != nil {
		t.Fatal(err)
	}
	sigma := math.Sqrt(8)
	// At distance 2 the difference is 0 or 2 with equal odds; at 4 it is 0, 2 or 4
	// with 6, 8 and 2 of 16; at 8 the mean is 8 C(8,4)/2^8.
	for i, want := range map[int]float64{0: 1 / sigma, 1: 0, 2: 1 / sigma, 3: 1 / sigma, 4: 1.5 / sigma, 6: 8 * 70 / 256. / sigma, 8: 0, 9: 0, 10: 0.1226} {
		if math.Abs(f[0][i]-want) > 0.005 {
			t.Errorf("feature %d is %v; want %v", i, f[0][i], want)
		}
	}
}

// TestTexts: the matrix as CSV reads back with every bit, as LaTeX it has escaped
// names, and small and large ones as text.
func TestTexts(t *testing.T) {
	t.Parallel()
	m := similarity.Matrix{Names: []string{"a_1", "b, c", "d%"}, Values: [][]float64{{1, 1. / 3, -0.001}, {1. / 3, 1, 0.5}, {-0.001, 0.5, 1}}}
	rows, err := csv.NewReader(strings.NewReader(m.CSV())).ReadAll()
	if err != nil || len(rows) != 4 || rows[0][2] != "b, c" || rows[1][2] != fmt.Sprint(1./3) || rows[3][0] != "d%" {
		t.Errorf("%q %v", rows, err)
	}
	const want = `\begin{tabular}{lrrr}
\hline
 & a\_1 & b, c & d\% \\
\hline
a\_1 & $1.00$ & $0.33$ & $0.00$ \\
b, c & $0.33$ & $1.00$ & $0.50$ \\
d\% & $0.00$ & $0.50$ & $1.00$ \\
\hline
\end{tabular}
`
	if got := m.LaTeX(); got != want {
		t.Errorf("LaTeX:\n%s", got)
	}
	if got := m.String(); !strings.Contains(got, "b, c   0.33  1.00  0.50") {
		t.Errorf("text:\n%s", got)
	}
	ps, _ := near(t, 1, 4, 4)
	large, err := similarity.Of(t.Context(), ps, similarity.Settings{Samples: 200})
	if err != nil {
		t.Fatal(err)
	}
	if got := large.String(); strings.Count(got, "\n") != 17 || !strings.Contains(got, "0/0   0/") {
		t.Errorf("text of 16:\n%s", got)
	}
}

// TestFigures: rows go downwards, as in the table; leaves of a dendrogram are in an
// order without crossings; all figures can be drawn.
func TestFigures(t *testing.T) {
	t.Parallel()
	ps, groups := near(t, 1, 2, 3)
	m, err := similarity.Of(t.Context(), ps, similarity.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	m.Caution = "not measured"
	heat, tree := m.HeatMap(), m.Link(similarity.Average).Dendrogram()
	label := func(p *plot.Plot, at float64) string {
		for _, tick := range p.Y.Tick.Marker.Ticks(p.Y.Min, p.Y.Max) {
			if tick.Value == at {
				return tick.Label
			}
		}
		return ""
	}
	if top, bottom := label(heat, 5), label(heat, 0); top != m.Names[0] || bottom != m.Names[5] {
		t.Errorf("the heat map has %q at the top and %q at the bottom", top, bottom)
	}
	for _, half := range [][]float64{{0, 1, 2}, {3, 4, 5}} {
		for _, at := range half[1:] {
			if label(tree, at)[0] != label(tree, half[0])[0] {
				t.Errorf("the dendrogram mixes the groups: %q beside %q", label(tree, at), label(tree, half[0]))
			}
		}
	}
	scatter, err := m.Map(groups)
	if err != nil {
		t.Fatal(err)
	}
	plain, err := m.Map(nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []*plot.Plot{heat, tree, scatter, plain} {
		if !strings.Contains(p.Title.Text, m.Caution) {
			t.Errorf("the title is %q; it lacks the caution", p.Title.Text)
		}
		w, err := p.WriterTo(200, 150, "png")
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		if _, err := w.WriteTo(&b); err != nil || b.Len() < 1000 {
			t.Errorf("%d bytes of picture: %v", b.Len(), err)
		}
	}
}

// TestEmbeddings: a model trained with DistanceWeight has embeddings whose distances
// are those of the values, and places a new instance in its group; an ordinary one
// says that they mean nothing.
func TestEmbeddings(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	t.Parallel()
	ps, groups := near(t, 5, 2, 4)
	held, group := ps[7], groups[7]
	ps, groups = ps[:7], groups[:7]
	s := nir.Settings{Samples: 2000, Steps: 120, Batch: 24, LearningRate: 0.004, HyperRate: 0.03, NormaliseSample: 1000}
	quick := s
	quick.Steps = 2
	plain, err := nir.Train(t.Context(), ps, quick)
	if err != nil {
		t.Fatal(err)
	}
	if c := similarity.Embeddings(plain).Caution; !strings.Contains(c, "not similarities") {
		t.Errorf("the caution is %q", c)
	}
	s.DistanceWeight = 1
	m, err := nir.Train(t.Context(), ps, s)
	if err != nil {
		t.Fatal(err)
	}
	e := similarity.Embeddings(m)
	if e.Caution != "" {
		t.Errorf("a caution: %q", e.Caution)
	}
	values, err := similarity.Of(t.Context(), ps, similarity.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	r, err := e.Agreement(values)
	if err != nil || r < 0.9 {
		t.Errorf("the agreement with the values is %v (%v)", r, err)
	}
	for i, row := range values.Distances() {
		for j, d := range row {
			if math.Abs(d-e.Values[i][j]) > 0.1 {
				t.Errorf("the distance of %s and %s is %v, by values %v", e.Names[i], e.Names[j], e.Values[i][j], d)
			}
		}
	}
	at, err := m.Embed(t.Context(), held)
	if err != nil {
		t.Fatal(err)
	}
	nearest, least := 0, math.Inf(1)
	for i, v := range m.Embeddings() {
		d := 0.0
		for k := range v {
			d += (v[k] - at[k]) * (v[k] - at[k])
		}
		if d < least {
			nearest, least = i, d
		}
	}
	if groups[nearest] != group {
		t.Errorf("%s was placed nearest to %s", held.Name(), m.Names()[nearest])
	}
	nirs, err := m.NIRs()
	if err != nil {
		t.Fatal(err)
	}
	both, err := similarity.Of(t.Context(), append(nirs, ps...), similarity.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range ps {
		if both.Values[i][len(ps)+i] < 0.5 {
			t.Errorf("the NIR of %s correlates with it at %v", ps[i].Name(), both.Values[i][len(ps)+i])
		}
	}
}

// BenchmarkHundred compares 100 instances of 40 bits.
func BenchmarkHundred(b *testing.B) {
	class, err := classic.Class("qubo", 40)
	if err != nil {
		b.Fatal(err)
	}
	var ps []problem.Problem
	for i := range 100 {
		p, err := class.Test(1, 40, i)
		if err != nil {
			b.Fatal(err)
		}
		ps = append(ps, p)
	}
	for _, measure := range []similarity.Measure{similarity.Correlation, similarity.RankCorrelation, similarity.Landscape} {
		b.Run(strings.ReplaceAll(measure.String(), " ", "-"), func(b *testing.B) {
			for b.Loop() {
				m, err := similarity.Of(b.Context(), ps, similarity.Settings{Measure: measure})
				if err != nil {
					b.Fatal(err)
				}
				m.Link(similarity.Average)
				if _, _, err := m.Scale(2); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkRedraw is what a notebook does as a control is moved: groups, the map, and
// its picture.
func BenchmarkRedraw(b *testing.B) {
	ps, _ := near(b, 1, 2, 5)
	m, err := similarity.Of(b.Context(), ps, similarity.Settings{})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		groups, err := m.Link(similarity.Average).Cut(3)
		if err != nil {
			b.Fatal(err)
		}
		p, err := m.Map(groups)
		if err != nil {
			b.Fatal(err)
		}
		w, err := p.WriterTo(figure.Width, figure.Height, "png")
		if err != nil {
			b.Fatal(err)
		}
		if _, err := w.WriteTo(io.Discard); err != nil {
			b.Fatal(err)
		}
	}
}
