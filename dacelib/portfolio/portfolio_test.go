package portfolio_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"dace.local/dacelib/brkga"
	"dace.local/dacelib/portfolio"
	"dace.local/dacelib/problem"
	"dace.local/dacelib/problem/ccp"
	"dace.local/dacelib/problem/onemax"
	"dace.local/dacelib/run"
	"dace.local/dacelib/smac"
	"dace.local/dacelib/solver"
)

var small = portfolio.Settings{Evaluations: 120, Repeats: 3, Seed: 5, Seeds: portfolio.SharedSeed}

func instances() []problem.Problem {
	return []problem.Problem{onemax.Random(1, 30), onemax.Random(2, 40)}
}

// The paper's portfolios for CCP (Appendix C) run on the twelve instances of
// the reference, whose draws are generated again, with 8 repeats, normalised by
// the extremes of 1M uniform solutions. In either dimension they rank as in the
// reference (pymoo 0.6.0.1) and as in the paper, with means near the
// reference's. Run it with -v for the table.
func TestVectorsPaperPAPs(t *testing.T) {
	if testing.Short() {
		t.Skip("1M evaluations for each of 12 instances")
	}
	dir := "testdata"
	if e := os.Getenv("DACE_VECTORS"); e != "" {
		dir = e
	}
	b, err := os.ReadFile(filepath.Join(dir, "ccp_paper_paps.json"))
	if os.IsNotExist(err) {
		t.Skip(err)
	}
	var ref struct {
		MeanD30   map[string]float64 `json:"mean_d30"`
		MeanD40   map[string]float64 `json:"mean_d40"`
		PaperD30  map[string]float64 `json:"paper_d30"`
		PaperD40  map[string]float64 `json:"paper_d40"`
		Instances []struct {
			D          int
			Seed       uint32
			Lambda     float64 `json:"lambda_reg"`
			Normalised map[string]float64
		}
	}
	if err := errors.Join(err, json.Unmarshal(b, &ref)); err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	var ps []problem.Problem
	for _, c := range ref.Instances {
		p, err := ccp.COMBO(c.Seed, ccp.Settings{Dim: c.D, Lambda: c.Lambda})
		if err != nil {
			t.Fatal(err)
		}
		ps = append(ps, p)
	}
	normalised, err := portfolio.Normalise(ctx, ps, 0, 1)
	if err != nil {
		t.Fatal(err)
	}
	order := []string{"DACE", "CEPS", "BRKGA-PAP", "PARHYDRA", "GLOBAL"} // as in the paper, the best first
	mean := map[int]map[string]float64{30: {}, 40: {}}
	variance := map[int]map[string]float64{30: {}, 40: {}} // variance of the mean
	count := map[int]float64{}
	for _, c := range ref.Instances {
		count[c.D]++
	}
	for _, name := range order {
		pap := portfolio.BRKGAPAP()
		if name != pap.Name {
			if pap, err = portfolio.Paper("ccp", name); err != nil {
				t.Fatal(err)
			}
		}
		results, err := pap.Run(ctx, normalised, portfolio.Settings{Repeats: 8, Seed: 2, Seeds: portfolio.SharedSeed})
		if err != nil {
			t.Fatal(err)
		}
		for i, m := range portfolio.Means(results) {
			c := ref.Instances[i]
			mean[c.D][name] += m / count[c.D]
			for _, v := range results[i].Values {
				variance[c.D][name] += (v - m) * (v - m) / 7 / 8 / (count[c.D] * count[c.D])
			}
			// The difference of two means of 8 repeats, with ranges from two
			// samples.
			if want := c.Normalised[name]; math.Abs(m-want) > 0.05 {
				t.Errorf("%s on instance %d: %.4f, reference %.4f", name, i, m, want)
			}
		}
	}
	t.Logf("%-10s %3s %16s %10s %8s", "portfolio", "d", "ours", "reference", "paper")
	for d, in := range map[int]struct{ reference, paper map[string]float64 }{30: {ref.MeanD30, ref.PaperD30}, 40: {ref.MeanD40, ref.PaperD40}} {
		for k, name := range order {
			m, se := mean[d][name], math.Sqrt(variance[d][name])
			t.Logf("%-10s %3d %7.4f +- %.4f %10.4f %8.4f", name, d, m, se, in.reference[name], in.paper[name])
			// The reference's mean is as uncertain as ours, and the extremes of
			// another sample shift all means by about 0.01.
			if math.Abs(m-in.reference[name]) > 4*math.Sqrt2*se+0.01 {
				t.Errorf("d = %d: %s has mean %.4f, the reference %.4f; the standard error is %.4f", d, name, m, in.reference[name], se)
			}
			if k > 0 && m >= mean[d][order[k-1]] {
				t.Errorf("d = %d: %s (%.4f) ranks above %s (%.4f), which is better in the paper", d, name, m, order[k-1], mean[d][order[k-1]])
			}
		}
	}
}

func TestRun(t *testing.T) {
	ctx := context.Background()
	pap := portfolio.BRKGAPAP()
	// A function is a member like others.
	own := func(f func(s *solver.Search) error) {
		solver.Register(solver.FromFunc("half", smac.Space{}, f))
	}
	own(func(s *solver.Search) error {
		if s.Left() != 120 {
			t.Errorf("a budget of %d", s.Left())
		}
		x := problem.NewSolutions(1, s.Dim())
		for range s.Dim() / 2 { // as many evaluations as half of the bits
			s.Value(x.Words)
		}
		return nil
	})
	half, err := solver.New("half", nil)
	if err != nil {
		t.Fatal(err)
	}
	pap.Members = append(pap.Members, half)
	s := small
	s.Workers = 1
	one, err := pap.Run(ctx, instances(), s)
	if err != nil {
		t.Fatal(err)
	}
	s.Workers = 6
	six, err := pap.Run(ctx, instances(), s)
	if err != nil || !reflect.DeepEqual(one, six) {
		t.Errorf("the number of workers changes the result (%v)", err)
	}
	for _, r := range one {
		sum := 0.0
		for k, members := range r.Members {
			best := math.Inf(-1)
			for _, v := range members {
				best = max(best, v)
			}
			if len(members) != 5 || r.Evaluations != 3*(4*120+r.Dim/2) || best != r.Values[k] {
				t.Errorf("repeat %d: members %v, value %v", k, members, r.Values[k])
			}
			sum += r.Values[k]
		}
		if math.Abs(sum/3-r.Mean) > 1e-12 {
			t.Errorf("mean %v of %v", r.Mean, r.Values)
		}
	}
	// Members share a seed here, so two equal members reach the same value.
	twins := portfolio.BRKGA("twins", []brkga.Config{brkga.Default(), brkga.Default()})
	r, err := twins.Run(ctx, instances()[:1], small)
	if err != nil || r[0].Members[1][0] != r[0].Members[1][1] {
		t.Errorf("equal members differ: %v %v", r, err)
	}

	c, cancel := context.WithCancel(ctx)
	s.OnEvent = nil
	own(func(s *solver.Search) error {
		if s.Dim() == 40 {
			cancel()
		}
		s.Value(problem.NewSolutions(1, s.Dim()).Words)
		return nil
	})
	s.Workers = 1
	done, err := pap.Run(c, instances(), s)
	if !errors.Is(err, context.Canceled) || len(done) != 1 {
		t.Errorf("cancelled in the second instance: %d results, %v", len(done), err)
	}
	own(func(*solver.Search) error { panic("boom") })
	if _, err := pap.Run(ctx, instances(), small); err == nil {
		t.Error("a panic in a solver is no error")
	}
}

// A result holds the best solution of all repeats and the member that found it,
// and counts the runs and evaluations.
func TestBest(t *testing.T) {
	solver.Register(solver.FromFunc("three", smac.Space{}, func(s *solver.Search) error {
		s.Values(make([]float64, 3), problem.Random(s.Rand, 3, s.Dim()))
		return nil
	}))
	three, err := solver.New("three", nil)
	if err != nil {
		t.Fatal(err)
	}
	pap := portfolio.Portfolio{Name: "three", Members: append(portfolio.BRKGAPAP().Members[:2], three)}
	check := func(p problem.Problem) portfolio.Result {
		t.Helper()
		rs, err := pap.Run(t.Context(), []problem.Problem{p}, small)
		if err != nil {
			t.Fatal(err)
		}
		r := rs[0]
		if want := small.Repeats * (2*small.Evaluations + 3); r.Runs != 3*small.Repeats || r.Evaluations != want {
			t.Errorf("%d runs, %d evaluations; want %d, %d", r.Runs, r.Evaluations, 3*small.Repeats, want)
		}
		found := false // whether BestMember is first with that value, in its first repeat
		for k, v := range r.Values {
			if v == r.BestValue {
				found = slices.Index(r.Members[k], v) == r.BestMember
				break
			}
		}
		if !found || slices.Max(r.Values) != r.BestValue {
			t.Errorf("the best is %v by member %d; the members have %v", r.BestValue, r.BestMember, r.Members)
		}
		if v, err := problem.Value(t.Context(), p, r.Best); err != nil || v != r.BestValue {
			t.Errorf("the best solution has value %v (%v), not %v", v, err, r.BestValue)
		}
		return r
	}
	p := onemax.Random(1, 30)
	if r := check(p); r.BestMember > 1 || r.BestName != pap.Members[r.BestMember].String() {
		t.Errorf("found by member %d, %s, solution %v", r.BestMember, r.BestName, r.Best)
	}
	pap.Members = append(portfolio.BRKGA("", []brkga.Config{{Elites: 1, Offspring: 1, Mutants: 1}, {Elites: 1, Offspring: 1, Mutants: 1}}).Members, three)
	odd := problem.FromFunc("the third solution only", 30, func(x []bool) float64 {
		for k := range small.Repeats {
			y := problem.Random(run.Rand(run.Seed(small.Seed, "portfolio: repeat", k), "solver: three"), 3, 30)
			if slices.Equal(x, y.Bools(2)) {
				return 1 + float64(k)
			}
		}
		return 0
	})
	if r := check(odd); r.BestName != "three" || r.BestValue != float64(small.Repeats) {
		t.Errorf("found %v by %s; want the solver's of the last repeat", r.BestValue, r.BestName)
	}
}

// The matrix holds the values of a portfolio's first repeat.
func TestMeasure(t *testing.T) {
	ctx := context.Background()
	pap := portfolio.BRKGAPAP()
	m, err := portfolio.Measure(ctx, pap.Members, instances(), small)
	if err != nil {
		t.Fatal(err)
	}
	r, err := pap.Run(ctx, instances(), small)
	if err != nil {
		t.Fatal(err)
	}
	for j := range r {
		if f := m.Performance([]int{0, 1, 2, 3})[j]; f != r[j].Values[0] {
			t.Errorf("instance %d: f(P, s) = %v by the matrix, %v by the run", j, f, r[j].Values[0])
		}
	}
	if _, err := portfolio.Measure(ctx, pap.Members, instances(), portfolio.Settings{Evaluations: -1}); err == nil || !strings.Contains(err.Error(), "Settings.Evaluations is -1") {
		t.Errorf("a negative budget: %v", err)
	}
}

// Random draws from the paper's ranges, and duplicates are eliminated in half of the
// configurations.
func TestRandom(t *testing.T) {
	const n = 4000
	unique := 0
	for _, m := range portfolio.Random(1, n) {
		c, err := brkga.From(m, 0)
		if err != nil || c.Elites > brkga.MaxElites || c.Offspring > brkga.MaxOffspring || c.Mutants > brkga.MaxMutants {
			t.Fatalf("%v: %v", c, err)
		}
		if c.Duplicates {
			unique++
		}
	}
	if d := math.Abs(float64(unique) - n/2); d > 4*math.Sqrt(n)/2 { // four standard deviations
		t.Errorf("%d of %d with Duplicates", unique, n)
	}
}

// Members of BRKGA that say all five values have the paper's form in JSON, others their
// names.
func TestMembersJSON(t *testing.T) {
	const want = `[[20,70,10,0.7,true],{"solver":"brkga","elites":5},{"solver":"anneal","start":0.8}]`
	var m portfolio.Members
	if err := json.Unmarshal([]byte(want), &m); err != nil {
		t.Fatal(err)
	}
	if got, err := json.Marshal(m); err != nil || string(got) != want {
		t.Errorf("%s, %v; want %s", got, err, want)
	}
}

// Best agrees with a search over all index vectors, and keeps the current
// portfolio if others are equal.
func TestChoosing(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for range 20 {
		m := portfolio.Matrix{Configs: make([]solver.Config, 8), Instances: make([]string, 5)}
		for range m.Configs {
			row := make([]float64, 5)
			for j := range row {
				row[j] = float64(rng.IntN(10))
			}
			m.Values = append(m.Values, row)
		}
		want := math.Inf(-1)
		for a := range 8 {
			for b := range 8 {
				for c := range 8 {
					want = max(want, m.Sum([]int{a, b, c}))
				}
			}
		}
		rows := m.Best([]int{0, 1, 2})
		if got := m.Sum(rows); got != want || len(rows) != 3 {
			t.Errorf("best %v with sum %v, want %v", rows, got, want)
		}
		if again := m.Best(rows); !reflect.DeepEqual(again, rows) {
			t.Errorf("%v was best, then %v", rows, again)
		}
		g := m.Greedy(3)
		for i := range m.Configs {
			if m.Sum([]int{i}) > m.Sum(g[:1]) {
				t.Errorf("greedy began with %d; %d is better", g[0], i)
			}
		}
		if m.Sum(g) > want || m.Sum(g) < m.Sum(g[:2]) {
			t.Errorf("greedy %v has the sum %v", g, m.Sum(g))
		}
	}
}

// The portfolios are those of the paper's source, in the order of its table.
func TestPaperTables(t *testing.T) {
	source, err := os.ReadFile("../experiment/testdata/paper.txt") // which that package's tests compare with dace.tex
	if err != nil {
		t.Fatal(err)
	}
	for _, class := range []string{"cimp", "caop", "ccp"} {
		var rows []string
		for _, method := range []string{"DACE", "CEPS", "GLOBAL", "PARHYDRA"} {
			p, err := portfolio.Paper(class, method)
			if err != nil || p.Size() != 4 || p.Check() != nil {
				t.Errorf("%s %s: %v %v", class, method, p, err)
			}
			for _, m := range p.Members {
				rows = append(rows, m.String())
				c, err := brkga.From(m, 0)
				if err != nil || c.Elites > brkga.MaxElites || c.Offspring > brkga.MaxOffspring || c.Mutants > brkga.MaxMutants {
					t.Errorf("%s %s: %v is outside the paper's ranges", class, method, c)
				}
			}
		}
		_, line, _ := strings.Cut(string(source), strings.ToUpper(class)+` & \(\begin{aligned} [`)
		line, _, _ = strings.Cut(line, "\n")
		if want := regexp.MustCompile(`\[[^]]*\]`).FindAllString("["+line, -1); !slices.Equal(rows, want) {
			t.Errorf("%s: %v, in the paper %v", class, rows, want)
		}
	}
	pap := portfolio.SMARTESTPAP()
	r, err := pap.Run(context.Background(), instances()[:1], small)
	if err != nil || pap.Size() != 4 || r[0].Mean < 20 {
		t.Errorf("%v: %v, %v", pap, r, err)
	}
	file := filepath.Join(t.TempDir(), "pap.json")
	if err := pap.Save(file); err != nil {
		t.Error(err)
	}
	if got, err := portfolio.Load(file); err != nil || !reflect.DeepEqual(got, pap) {
		t.Errorf("%v, %v", got, err)
	}
	// Files from before there were members of other solvers.
	if err := os.WriteFile(file, []byte(`{"name":"old","configs":[{"elites":20,"offspring":70,"mutants":10,"bias":0.7,"duplicates":false}]}`), 0o644); err != nil {
		t.Fatal(err)
	}
	if got, err := portfolio.Load(file); err != nil || got.Name != "old" || got.Size() != 1 || got.Members[0] != portfolio.BRKGAPAP().Members[0] {
		t.Errorf("%v, %v", got, err)
	}
	if _, err := portfolio.Paper("tsp", "DACE"); err == nil {
		t.Error("an unknown class is no error")
	}
}

func TestNormalise(t *testing.T) {
	ctx := context.Background()
	p := onemax.Random(1, 10)
	n, err := portfolio.Normalise(ctx, []problem.Problem{p}, 50_000, 1)
	if err != nil {
		t.Fatal(err)
	}
	x := problem.Enumerate(10)
	y := make([]float64, x.Len())
	if err := n[0].Evaluate(ctx, y, x); err != nil {
		t.Fatal(err)
	}
	lo, hi := math.Inf(1), math.Inf(-1)
	for _, v := range y {
		lo, hi = min(lo, v), max(hi, v)
	}
	if lo != 0 || hi != 1 { // 50,000 draws from 1,024 solutions see all of them
		t.Errorf("values from %v to %v", lo, hi)
	}
	if v, ok := problem.Optimum(n[0]); !ok || v != 1 {
		t.Errorf("optimum %v %v", v, ok)
	}
	s, err := portfolio.NormaliseBySearch(ctx, p, 0, 1)
	if err != nil || s.Range() != (portfolio.Range{Min: 0, Max: 10}) {
		t.Errorf("by search: %v %v", s.Range(), err)
	}
	// A problem of one value has no range to divide by.
	flat, err := portfolio.Normalise(ctx, []problem.Problem{problem.FromFunc("flat", 5, func([]bool) float64 { return 3 })}, 100, 1)
	if err != nil {
		t.Fatal(err)
	}
	if err := flat[0].Evaluate(ctx, y, problem.Enumerate(5)); err != nil || y[0] != 0 {
		t.Errorf("the one value is %v, %v; want 0", y[0], err)
	}
	bad := problem.FromFunc("bad", 5, func([]bool) float64 { return math.Inf(-1) })
	if _, err := portfolio.Normalise(ctx, []problem.Problem{bad}, 100, 1); err == nil {
		t.Error("no finite value: no error")
	}
}

func TestSaveLoad(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pap.json")
	want := portfolio.BRKGAPAP()
	if err := want.Save(path); err != nil {
		t.Fatal(err)
	}
	got, err := portfolio.Load(path)
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v %v", got, err)
	}
	for _, bad := range []string{"{}", "[1]", `{"name":"x","configs":[{"elites":0}]}`} {
		if err := os.WriteFile(path, []byte(bad), 0o666); err != nil {
			t.Fatal(err)
		}
		if _, err := portfolio.Load(path); err == nil {
			t.Errorf("%s: no error", bad)
		}
	}
	var half portfolio.Portfolio
	if err := json.Unmarshal([]byte(`{"name":1,"configs":[[20,70,10,0.7,false]]}`), &half); err == nil {
		t.Errorf("a name that is a number is read as %v", half)
	}
}

// Run a portfolio on an instance: each member has 800 evaluations, and the best
// value counts.
func ExamplePortfolio_Run() {
	pap := portfolio.BRKGAPAP()
	results, err := pap.Run(context.Background(), []problem.Problem{onemax.Random(1, 30)}, portfolio.Settings{Repeats: 5})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(pap)
	fmt.Println("values:", results[0].Values)
	// Output:
	// BRKGA-PAP
	//   [20, 70, 10, 0.70, F]
	//   [20, 70, 10, 0.70, T]
	//   [15, 75, 10, 0.70, F]
	//   [15, 75, 10, 0.70, T]
	// values: [30 29 30 30 30]
}

// Of ten random configurations, the four that complement one another best.
func ExampleMatrix_Greedy() {
	ctx := context.Background()
	training, err := ccp.Class().NewSet(1, 3, 0)
	if err != nil {
		fmt.Println(err)
		return
	}
	m, err := portfolio.Measure(ctx, portfolio.Random(7, 10), training.Training, portfolio.Settings{})
	if err != nil {
		fmt.Println(err)
		return
	}
	rows := m.Greedy(4)
	fmt.Println(m.Portfolio("greedy", rows).Size(), m.Sum(m.Best(rows)) >= m.Sum(rows))
	// Output: 4 true
}

// TestAllSolvers checks that a program which loads a portfolio can run it, whichever
// solvers of the library it has: it needs no import but this package's.
func TestAllSolvers(t *testing.T) {
	file := filepath.Join(t.TempDir(), "mine.json")
	text := `{"name": "BEST", "members": [{"solver": "anneal"}, {"solver": "ils"}, {"solver": "linkage"}]}`
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	p, err := portfolio.Load(file)
	if err != nil {
		t.Fatal(err)
	}
	if r, err := p.Run(t.Context(), []problem.Problem{onemax.Random(1, 8)}, portfolio.Settings{Evaluations: 50, Repeats: 1}); err != nil || len(r) != 1 {
		t.Errorf("%v, %v", r, err)
	}
}

// A matrix is printed with the mean of each row, of at most ten.
func TestMatrixString(t *testing.T) {
	m := portfolio.Matrix{Instances: []string{"a", "b"}}
	for i := range 12 {
		m.Configs, m.Values = append(m.Configs, brkga.Default().Named()), append(m.Values, []float64{float64(i), float64(i + 1)})
	}
	got := m.String()
	if !strings.HasPrefix(got, "12 configurations x 2 instances\n") || !strings.HasSuffix(got, " 9.5000\n  ... 2 more") || !strings.Contains(got, " 0.5000\n") {
		t.Error(got)
	}
}
