package pgpe

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"dace.local/dacelib/run"
)

// each makes an Objective from a function of one point.
func each(f func(x []float64) float64) Objective {
	return func(ctx context.Context, dst []float64, candidates [][]float64) error {
		for i, x := range candidates {
			dst[i] = f(x)
		}
		return ctx.Err()
	}
}

func sphere(x []float64) float64 {
	var s float64
	for _, v := range x {
		s += v * v
	}
	return s
}

// ellipsoid has condition number 100.
func ellipsoid(x []float64) float64 {
	var s float64
	for j, v := range x {
		s += math.Pow(100, float64(j)/float64(len(x)-1)) * v * v
	}
	return s
}

func rosenbrock(x []float64) float64 {
	var s float64
	for j := range len(x) - 1 {
		a, b := x[j+1]-x[j]*x[j], 1-x[j]
		s += 100*a*a + b*b
	}
	return s
}

func constant(n int, v float64) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = v
	}
	return x
}

func ExampleRun() {
	distance := func(ctx context.Context, dst []float64, points [][]float64) error {
		for i, p := range points {
			dst[i] = math.Hypot(p[0]-3, p[1]+1) / 10
		}
		return nil
	}
	r, err := Run(context.Background(), []float64{0, 0}, distance, Settings{Seed: 1})
	fmt.Printf("%.1f after %d evaluations, %v, %v\n", r.Best, r.Evaluations, r.Status, err)
	// Output: [3.0 -1.0] after 16200 evaluations, budget spent, <nil>
}

// TestDescends checks that the mean approaches the optimum of a quadratic
// function in 64 dimensions, scaled to about [0, 1] like an instance's values:
// with the printed sums in a few iterations, with the averages in 40 times as
// many.
func TestDescends(t *testing.T) {
	target := constant(64, 1)
	f := each(func(x []float64) float64 { return sphere(sub(x, target)) / 400 })
	for _, tc := range []struct {
		shaping    Shaping
		iterations int
		below      float64 // bound on the distance, as a share of the initial 8
	}{{Sums, 200, 0.5}, {Averages, 200, 0.95}, {Ranks, 200, 0.3}} {
		r, err := Run(context.Background(), make([]float64, 64), f, Settings{Shaping: tc.shaping, MaxIterations: tc.iterations, Seed: 3})
		if err != nil {
			t.Fatal(err)
		}
		d := math.Sqrt(sphere(sub(r.Mean, target)))
		t.Logf("%v: |mu - c| = %.3f of 8, best %.4f, mean sigma %.3f", tc.shaping, d, r.Value, r.History[len(r.History)-1].MeanSigma)
		if !(d < tc.below*8) {
			t.Errorf("%v: |mu - c| = %v after %d iterations; want below %v", tc.shaping, d, tc.iterations, tc.below*8)
		}
	}
}

func sub(a, b []float64) []float64 {
	out := make([]float64, len(a))
	for i := range a {
		out[i] = a[i] - b[i]
	}
	return out
}

// TestStep checks one step computed by hand: two pairs in one dimension.
func TestStep(t *testing.T) {
	g := newGeneration(2, 1)
	g.eps = [][]float64{{0.5}, {-2}}
	g.values = []float64{3, 1, 2, 5, 1.5} // f1 f2 f3 f4 fb
	for i := range g.candidates {
		g.candidates[i][0] = float64(i)
	}
	for _, tc := range []struct {
		shaping     Shaping
		mean, sigma float64
	}{
		// mu: .5(3-2) + -2(1-5) = 8.5; sigma: (.25-1)(2.5-1.5) + (4-1)(3-1.5) = 3.75
		{Sums, 1 - 0.05*8.5, 1 - 0.1*3.75},
		{Averages, 1 - 0.05*8.5/2, 1 - 0.1*3.75/2},
	} {
		r := begin([]float64{1}, Settings{Sigma: 1, Shaping: tc.shaping}, nil)
		it := g.update(&r, Settings{Shaping: tc.shaping}.withDefaults())
		if math.Abs(r.Mean[0]-tc.mean) > 1e-12 || math.Abs(r.Sigma[0]-tc.sigma) > 1e-12 {
			t.Errorf("%v: mean %v, sigma %v; want %v, %v", tc.shaping, r.Mean[0], r.Sigma[0], tc.mean, tc.sigma)
		}
		if r.Value != 1 || r.Best[0] != 1 || it.AtMean != 1.5 || it.Lowest != 1 {
			t.Errorf("%v: best %v at %v, record %+v", tc.shaping, r.Value, r.Best, it)
		}
	}
}

// TestExpectedStep uses f = s|x-c|^2, for which the expected step is known: the
// pairs' differences are 4s eps.(mu-c), so mu moves by -4 s N alpha sigma^2
// (mu-c); by the fourth moment of the normal distribution, sigma moves by -2 s
// N alpha sigma^3.
func TestExpectedStep(t *testing.T) {
	const s, n, runs = 0.002, 40, 2000
	c := []float64{1, -2, 0.5}
	f := each(func(x []float64) float64 { return s * sphere(sub(x, c)) })
	var mean, sigma [3]float64
	for seed := range uint64(runs) {
		r, err := Run(context.Background(), make([]float64, 3), f, Settings{Seed: seed, MaxIterations: 1})
		if err != nil {
			t.Fatal(err)
		}
		for j := range 3 {
			mean[j] += r.Mean[j] / runs
			sigma[j] += (r.Sigma[j] - 1) / runs
		}
	}
	for j := range 3 {
		// Standard errors over 2000 runs are about 1e-4 and 1e-4.
		if want := 4 * s * n * 0.05 * c[j]; math.Abs(mean[j]-want) > 5e-4 {
			t.Errorf("coordinate %d: mu moves by %v, want %v", j, mean[j], want)
		}
		if want := -2 * s * n * 0.1; math.Abs(sigma[j]-want) > 1e-3 {
			t.Errorf("coordinate %d: sigma moves by %v, want %v", j, sigma[j], want)
		}
	}
}

func TestCentredRanks(t *testing.T) {
	got := centredRanks([]float64{7, 1, 3, 3, 9})
	want := []float64{0.25, -0.5, -0.125, -0.125, 0.5}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestSigmaLimit(t *testing.T) {
	for _, s := range []Shaping{Sums, Averages, Ranks} { // the reading Published has no lower limit
		r, err := Run(context.Background(), constant(5, 0), each(sphere), Settings{Shaping: s, MaxIterations: 100, LearningRateMean: 1e-4, LearningRateSigma: 10, Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		if least := slices.Min(r.Sigma); least < 0.01 {
			t.Errorf("%v: sigma fell to %v", s, least)
		}
	}
}

// updates holds settings for each update of the distribution.
var updates = []Settings{{Shaping: Sums}, {Shaping: Averages}, {Shaping: Ranks}, {Reading: run.Published}}

func TestSameSeedAndResume(t *testing.T) {
	for _, s := range updates {
		name := fmt.Sprint(s.Reading, " ", s.Shaping)
		s.MaxIterations, s.Pairs, s.Seed = 30, 5, 9
		f := each(func(x []float64) float64 { return rosenbrock(x) / 1e4 })
		start := constant(6, -0.5)
		whole, err := Run(context.Background(), start, f, s)
		if err != nil {
			t.Fatal(err)
		}
		again, _ := Run(context.Background(), start, f, s)
		if fmt.Sprint(whole) != fmt.Sprint(again) {
			t.Errorf("%s: two runs with one seed differ", name)
		}
		ctx, cancel := context.WithCancel(context.Background())
		half := s
		half.OnEvent = func(e run.Event) {
			if e.Step == 11 {
				cancel()
			}
		}
		part, err := Run(ctx, start, f, half)
		if !errors.Is(err, context.Canceled) || part.Iterations != 11 || part.Status != run.Cancelled {
			t.Fatalf("%s: cancelled after 11: %v, %d iterations, %v", name, err, part.Iterations, part.Status)
		}
		b, err := json.Marshal(part)
		if err != nil {
			t.Fatal(err)
		}
		s.Resume = new(Result)
		if err := json.Unmarshal(b, s.Resume); err != nil {
			t.Fatal(err)
		}
		rest, err := Run(context.Background(), start, f, s)
		if err != nil || fmt.Sprint(whole) != fmt.Sprint(rest) {
			t.Errorf("%s: resumed differs from uninterrupted (%v)", name, err)
		}
	}
}

// TestRules uses a constant objective, so that a run ends by its rule or not at
// all.
func TestRules(t *testing.T) {
	known := []float64{0.5, 0.7, 0.9}
	for _, tc := range []struct {
		rule         Rule
		margin, best float64
		want         int
	}{
		{Authors, 0, 0.5, 50}, {Authors, 0, 0.6, 100}, {Authors, 0, 0.7, 100}, {Authors, 0, 0.8, 200},
		{Enough, 0, 0.5, 200}, {Enough, 0, 0.49, 1}, {Enough, 0.1, 0.41, 200}, {Enough, 0.1, 0.39, 1},
		{Never, 0, 0.1, 200},
	} {
		s := Settings{Pairs: 1, Rule: tc.rule, Known: known, Margin: tc.margin}
		text, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		var read Settings
		if err := json.Unmarshal(text, &read); err != nil {
			t.Fatal(err)
		}
		r, err := Run(context.Background(), []float64{0}, each(func([]float64) float64 { return tc.best }), read)
		if err != nil || r.Iterations != tc.want {
			t.Errorf("%v, margin %v, best %v: ended after %d iterations (%v), want %d", tc.rule, tc.margin, tc.best, r.Iterations, err, tc.want)
		}
		if status := map[bool]run.Status{true: run.BudgetSpent, false: run.Converged}[tc.want == 200]; r.Status != status {
			t.Errorf("%v, margin %v, best %v: status %v, want %v", tc.rule, tc.margin, tc.best, r.Status, status)
		}
		if !slices.Equal(r.Settings.Known, known) || r.Settings.Rule != tc.rule {
			t.Errorf("%v: the result records the rule %v and the values %v", tc.rule, r.Settings.Rule, r.Settings.Known)
		}
	}
	if err := new(Rule).UnmarshalText([]byte("sometimes")); err == nil {
		t.Error("read a rule that does not exist")
	}
}

func TestBadInput(t *testing.T) {
	ok := each(sphere)
	for _, tc := range []struct {
		name  string
		start []float64
		f     Objective
		s     Settings
		want  string
	}{
		{"no coordinates", nil, ok, Settings{}, "no coordinates"},
		{"NaN start", []float64{0, math.NaN()}, ok, Settings{}, "coordinate 1"},
		{"NaN value", []float64{0}, each(func([]float64) float64 { return math.NaN() }), Settings{}, "candidate 0 is NaN"},
		{"pairs", []float64{0}, ok, Settings{Pairs: -1}, "Pairs is -1"},
		{"sigma", []float64{0}, ok, Settings{Sigma: -1}, "Sigma is -1"},
		{"shaping", []float64{0}, ok, Settings{Shaping: 7}, "Shaping is 7"},
		{"published with a shaping", []float64{0}, ok, Settings{Reading: run.Published, Shaping: Ranks}, "leave it 0"},
		{"reading", []float64{0}, ok, Settings{Reading: 7}, "Reading is 7"},
		{"rule", []float64{0}, ok, Settings{Rule: -1}, "Rule is -1"},
		{"margin", []float64{0}, ok, Settings{Margin: -1}, "Margin is -1"},
		{"known", []float64{0}, ok, Settings{Known: []float64{1, math.NaN()}}, "Known[1] is NaN"},
		{"two places to go on from", []float64{0}, ok, Settings{Checkpoint: "x", Resume: &Result{}}, "give one of them"},
		{"resume", []float64{0}, ok, Settings{Resume: &Result{Mean: []float64{1, 2}}}, "2 coordinates"},
		{"resume of another run", []float64{0}, ok, Settings{Seed: 2, Resume: &Result{Mean: []float64{1}, Iterations: 3, Settings: Settings{Seed: 1}.withDefaults()}}, "Seed:1"},
	} {
		_, err := Run(context.Background(), tc.start, tc.f, tc.s)
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: error %v, want one with %q", tc.name, err, tc.want)
		}
	}
	failure := errors.New("no power")
	_, err := Run(context.Background(), []float64{0}, func(context.Context, []float64, [][]float64) error { return failure }, Settings{})
	if !errors.Is(err, failure) {
		t.Errorf("the objective's error is lost: %v", err)
	}
}

// TestExpectedEvaluations uses a quadratic function sum_j a_j x_j^2, for which
// the expected steps of the sums are known for every coordinate, as in
// TestExpectedStep: mu_j falls by the fraction 4 a_j N alpha_mu sigma_j^2,
// sigma_j by 2 a_j N alpha_sigma sigma_j^3. This gives the number of
// evaluations after which the value of mu has fallen to a hundredth; ten runs
// must need it on average, within a fifth.
func TestExpectedEvaluations(t *testing.T) {
	const d, n, start, sigma, least = 10, 40, 2, 0.5, 0.1
	for _, tc := range []struct {
		name      string
		f         func([]float64) float64
		condition float64
	}{{"sphere", sphere, 1}, {"ellipsoid", ellipsoid, 100}} {
		scale := 1 / tc.f(constant(d, start))
		value := func(mu []float64) float64 { return scale * tc.f(mu) }

		mu, sd := constant(d, start), constant(d, sigma)
		expected := 0
		for ; value(mu) > 0.01; expected += 2*n + 1 {
			for j := range d {
				a := scale * math.Pow(tc.condition, float64(j)/(d-1))
				mu[j] -= 4 * a * n * 0.05 * sd[j] * sd[j] * mu[j]
				sd[j] = max(least, sd[j]-2*a*n*0.1*sd[j]*sd[j]*sd[j])
			}
		}
		const seeds = 10
		got := 0.0
		for seed := range uint64(seeds) {
			s := Settings{Sigma: sigma, MinSigma: least, MaxIterations: 20_000, Seed: seed}
			s.Stop = func(it Iteration) bool { return it.AtMean <= 0.01 }
			r, err := Run(context.Background(), constant(d, start), each(value), s)
			if err != nil {
				t.Fatal(err)
			}
			if r.Status != run.Converged {
				t.Errorf("%s, seed %d: %v after %d evaluations", tc.name, seed, r.Status, r.Evaluations)
			}
			got += float64(r.Evaluations) / seeds
		}
		t.Logf("%s: %.0f evaluations, expected %d", tc.name, got, expected)
		if math.Abs(got/float64(expected)-1) > 0.2 {
			t.Errorf("%s: %.0f evaluations; want about %d", tc.name, got, expected)
		}
	}
}
