// Command solvers compares portfolios that construct.Best builds of all solvers with
// what needs no construction, on classes of problems that construct.Best was not made
// for. See PLAN.md for what is compared and how it is judged; RESULTS.md holds what it
// printed.
//
//	go run ./dacelib/experiment/solvers -classes nk,qubo -constructions 5 -o records.jsonl
//
// A file of records is gone on with: what it holds is not run again.
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"math"
	"os"
	"slices"
	"strings"
	"time"

	"dace.local/dacelib/construct"
	"dace.local/dacelib/nir"
	"dace.local/dacelib/portfolio"
	"dace.local/dacelib/problem"
	"dace.local/dacelib/run"
	"dace.local/dacelib/solver"
	"dace.local/dacelib/stats"
)

const members = 4

type settings struct {
	class                                             string
	d, evaluations, constructions, instances, repeats int
	budget, training                                  int
	unseen                                            uint64 // seed of the unseen instances
	verbose, nirs                                     bool
	file, only                                        string
}

// A record is the test of one portfolio: its mean on each unseen instance.
type record struct {
	Class        string            `json:"class"`
	D            int               `json:"d"`
	Evaluations  int               `json:"evaluations"`
	Budget       int               `json:"budget"`
	Training     int               `json:"training,omitempty"` // instances; 0 means 5
	Unseen       uint64            `json:"unseen,omitempty"`   // their seed; 0 means 5000
	Repeats      int               `json:"repeats"`
	Method       string            `json:"method"`
	Construction int               `json:"construction,omitempty"`
	Members      portfolio.Members `json:"members"`
	Notes        []string          `json:"notes,omitempty"`
	Spent        int               `json:"spent,omitempty"`   // true evaluations of the construction
	Seconds      float64           `json:"seconds,omitempty"` // and its time
	Means        []float64         `json:"means"`
}

func main() {
	var s settings
	classes := flag.String("classes", "nk,qubo,max3sat,maxcut,knapsack,traps,ccp,cimp", "the classes")
	flag.IntVar(&s.d, "d", 0, "dimension; 0 means 40, for ccp 30 and for cimp 80")
	flag.StringVar(&s.file, "o", "", "file of records, which is gone on with")
	flag.IntVar(&s.evaluations, "evaluations", 800, "evaluations of a member")
	flag.IntVar(&s.constructions, "constructions", 5, "number of constructions")
	flag.IntVar(&s.instances, "instances", 25, "number of unseen instances")
	flag.Uint64Var(&s.unseen, "unseen", 5000, "seed of the unseen instances")
	flag.IntVar(&s.repeats, "repeats", 10, "runs on an instance")
	flag.IntVar(&s.budget, "budget", 500_000, "true evaluations of a construction at most")
	flag.IntVar(&s.training, "training", 5, "number of training instances")
	flag.StringVar(&s.only, "only", "", "the only method to be run, BEST for example")
	flag.BoolVar(&s.nirs, "nirs", false, "also build portfolios by BEST's race on NIRs that the budget trains")
	flag.BoolVar(&s.verbose, "v", false, "print the portfolios and the notes")
	verdicts := flag.String("verdicts", "", "does what BEST says of its portfolio hold on unseen instances? With these numbers of runs; the file is one of verdicts")
	why := flag.Bool("why", false, "what costs BEST its choice: the measure, the number of runs, or the training instances?")
	flag.Parse()
	if *why {
		for _, s.class = range strings.Split(*classes, ",") {
			if err := s.why(context.Background()); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
		}
		return
	}
	if *verdicts != "" {
		if err := judge(context.Background(), s, *classes, *verdicts); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	for _, s.class = range strings.Split(*classes, ",") {
		if err := compare(context.Background(), s); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
}

// dim returns the dimension of a class.
func (s settings) dim() int {
	switch {
	case s.d > 0:
		return s.d
	case s.class == "ccp":
		return 30
	case s.class == "cimp":
		return 80
	}
	return 40
}

// set returns n instances, normalised where the paper does so.
func (s settings) set(ctx context.Context, seed uint64, n int) ([]problem.Problem, error) {
	out := make([]problem.Problem, n)
	for i := range out {
		p, err := draw(s.class, s.dim(), seed, i)
		if err != nil {
			return nil, err
		}
		out[i] = p
	}
	if s.class == "ccp" || s.class == "cimp" {
		return portfolio.Normalise(ctx, out, 100_000, 1)
	}
	return out, nil
}

func config(text string) solver.Config {
	c, err := solver.Parse(text)
	if err != nil {
		panic(err)
	}
	return c
}

func compare(ctx context.Context, s settings) error {
	t, err := s.tests(ctx)
	if err != nil {
		return err
	}
	for k := range s.constructions {
		training, err := s.set(ctx, 1000+uint64(k), s.training)
		if err != nil {
			return err
		}
		err = t.run(ctx, "BEST", k+1, func(r *record) error {
			begun := time.Now()
			found, err := construct.Best(ctx, training, construct.Settings{
				Evaluations: s.evaluations, Seed: uint64(k + 1), Budget: construct.Budget{Evaluations: s.budget}, Solvers: library(),
			})
			if s.verbose {
				fmt.Println(found)
			}
			r.Members, r.Notes, r.Spent, r.Seconds = found.Portfolio.Members, found.Notes, found.Cost.Evaluations, time.Since(begun).Seconds()
			return err
		})
		if err != nil {
			return err
		}
		if s.nirs {
			err = t.run(ctx, "BEST on NIRs", k+1, func(r *record) (err error) {
				begun := time.Now()
				r.Members, r.Spent, err = onNIRs(ctx, training, s, uint64(k+1))
				r.Seconds = time.Since(begun).Seconds()
				return err
			})
			if err != nil {
				return err
			}
		}
		err = t.run(ctx, "greedy", k+1, func(r *record) (err error) {
			r.Members, r.Spent, err = greedy(ctx, training, s, uint64(k+1))
			return err
		})
		if err != nil {
			return err
		}
	}
	plain := func(name string, members []solver.Config) {
		if err == nil {
			err = t.run(ctx, name, 0, func(r *record) error { r.Members = members; return nil })
		}
	}
	slices.Sort(simple)
	for _, name := range simple {
		plain(name, slices.Repeat([]solver.Config{config(name)}, members))
	}
	plain("the four", []solver.Config{config("simple-ea"), config("simple-sa"), config("simple-ils"), config("simple-climber")})
	for _, f := range library() {
		plain(f.Name(), slices.Repeat([]solver.Config{config(f.Name())}, members))
	}
	plain("BRKGA-PAP", portfolio.BRKGAPAP().Members)
	if err != nil {
		return err
	}
	t.print()
	return nil
}

// tests are the tests on the unseen instances of a class, with those that were made
// before.
type tests struct {
	settings
	test    []problem.Problem
	records []record
	old     map[string]record
}

func (s settings) tests(ctx context.Context) (*tests, error) {
	t := &tests{settings: s, old: map[string]record{}}
	var err error
	if t.test, err = s.set(ctx, s.unseen, s.instances); err != nil || s.file == "" {
		return t, err
	}
	old, err := readLines[record](s.file)
	for _, r := range old {
		t.old[r.key()] = r
	}
	return t, err
}

// readLines returns the records of a file of one a line, none without a file.
func readLines[T any](file string) (all []T, err error) {
	b, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for line := range strings.Lines(string(b)) {
		var r T
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			if !strings.HasSuffix(line, "\n") {
				continue // it was being written when the program was ended
			}
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		all = append(all, r)
	}
	return all, nil
}

// appendLine writes a record behind those of a file, if one is named.
func appendLine(file string, record any) error {
	if file == "" {
		return nil
	}
	f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o666)
	if err != nil {
		return err
	}
	return errors.Join(json.NewEncoder(f).Encode(record), f.Close())
}

// means returns a portfolio's means on instances.
func (s settings) means(ctx context.Context, name string, members []solver.Config, instances []problem.Problem) (means []float64, err error) {
	p := portfolio.Portfolio{Name: name, Members: members}
	found, err := p.Run(ctx, instances, portfolio.Settings{Evaluations: s.evaluations, Repeats: s.repeats, Seed: 77, Seeds: portfolio.OwnSeeds})
	for _, f := range found {
		means = append(means, f.Mean)
	}
	return means, err
}

func (r record) key() string {
	return fmt.Sprint(r.Class, r.D, r.Evaluations, r.Budget, r.Repeats, r.Method, r.Construction, len(r.Means), r.Training, r.Unseen)
}

// run tests a portfolio, whose members build sets, unless there is a record.
func (t *tests) run(ctx context.Context, method string, construction int, build func(r *record) error) error {
	r := record{
		Class: t.class, D: t.dim(), Evaluations: t.evaluations, Budget: t.budget, Repeats: t.repeats, Method: method, Construction: construction,
		Means: make([]float64, len(t.test)),
	}
	if t.training != 5 && construction > 0 {
		r.Training = t.training
	}
	if t.unseen != 5000 {
		r.Unseen = t.unseen
	}
	if t.only != "" && method != t.only {
		return nil
	}
	if old, ok := t.old[r.key()]; ok {
		t.records = append(t.records, old)
		return nil
	}
	if err := build(&r); err != nil {
		return err
	}
	var err error
	if r.Means, err = t.means(ctx, method, r.Members, t.test); err != nil {
		return err
	}
	t.records = append(t.records, r)
	return appendLine(t.file, r)
}

// library returns the library's solvers, without those of this program and
// SMARTEST, whose own computing takes a second a run.
func library() []solver.Solver {
	return slices.DeleteFunc(solver.Families(), func(s solver.Solver) bool {
		_, timed := s.(solver.Timed)
		return timed || strings.HasPrefix(s.Name(), "simple-")
	})
}

// onNIRs spends the budget on solutions of the training instances, trains NIRs on
// their values and has BEST race on the NIRs, with its default number of runs.
func onNIRs(ctx context.Context, training []problem.Problem, s settings, seed uint64) ([]solver.Config, int, error) {
	net := nir.Quick()
	net.Samples, net.Seed = s.budget/len(training), seed
	net.Batch = min(net.Batch, net.Samples/2)
	model, err := nir.Train(ctx, training, net)
	if err != nil {
		return nil, 0, err
	}
	nirs, err := model.NIRs()
	if err != nil {
		return nil, 0, err
	}
	r, err := construct.Best(ctx, nirs, construct.Settings{Evaluations: s.evaluations, Seed: seed, Solvers: library()})
	return r.Portfolio.Members, net.Samples * len(training), err
}

// greedy chooses the best four, with repetition, of 20 simple configurations by runs
// on the training instances: six seeds of 800 evaluations, or what the budget pays
// for of others, at least one seed of shorter runs. It returns the evaluations, too.
func greedy(ctx context.Context, training []problem.Problem, s settings, seed uint64) ([]solver.Config, int, error) {
	var field []solver.Config
	slices.Sort(simple)
	slices.Sort(more)
	for _, name := range slices.Concat(simple, more) {
		if name != "simple-climber" { // the choice has EA, SA, ILS, tabu and BRKGA
			field = append(field, config(name))
		}
	}
	field = append(field, config("brkga"),
		config("brkga{elites: 11, offspring: 35, mutants: 1, bias: 0.58, duplicates: true}"), config("brkga{elites: 7, offspring: 48, mutants: 1, bias: 0.48, duplicates: true}"))
	seeds := max(1, s.budget/(len(field)*len(training)*s.evaluations))
	evaluations := min(s.evaluations, s.budget/(len(field)*len(training)*seeds))
	var jobs []solver.Job
	for _, c := range field {
		for _, p := range training {
			for k := range seeds {
				jobs = append(jobs, solver.Job{Problem: p, Config: c, Evaluations: evaluations, Seed: run.Seed(seed, "greedy", k)})
			}
		}
	}
	found, err := solver.RunAll(ctx, jobs, 0)
	if err != nil {
		return nil, 0, err
	}
	columns := len(training) * seeds
	value := func(c, column int) float64 { return found[c*columns+column].Value }
	low, high := make([]float64, len(training)), make([]float64, len(training))
	for m := range training {
		low[m], high[m] = math.Inf(1), math.Inf(-1)
		for c := range field {
			for k := range seeds {
				low[m], high[m] = min(low[m], value(c, m*seeds+k)), max(high[m], value(c, m*seeds+k))
			}
		}
	}
	var out []solver.Config
	var rows []int
	now := make([]float64, columns)
	for range members {
		at, top := -1, -1.0
		var taken []float64
		for c := range field {
			repeated := 0
			for _, r := range rows {
				if r == c {
					repeated++
				}
			}
			next, sum := make([]float64, columns), 0.0
			for j := range columns {
				m, k := j/seeds, j%seeds
				v := (value(c, m*seeds+(k+repeated)%seeds) - low[m]) / (high[m] - low[m] + 1e-12)
				next[j] = max(now[j], v)
				sum += next[j]
			}
			if sum > top {
				at, top, taken = c, sum, next
			}
		}
		rows, now = append(rows, at), taken
		out = append(out, field[at])
	}
	return out, len(jobs) * evaluations, nil
}

// print prints the table of a class: every method's mean, and the signed-rank test
// of BEST against it over the instances, with Holm's correction.
func (t *tests) print() {
	s := t.settings
	var order []string
	means, counts := map[string][]float64{}, map[string]float64{} // of each method on each instance, over the constructions
	var seconds, spent float64
	for _, r := range t.records {
		if means[r.Method] == nil {
			means[r.Method] = make([]float64, s.instances)
			order = append(order, r.Method)
		}
		counts[r.Method]++
		if r.Method == "BEST" {
			seconds += r.Seconds / float64(s.constructions)
			spent += float64(r.Spent) / float64(s.constructions)
		}
		for i, v := range r.Means {
			means[r.Method][i] += v
		}
	}
	for name, m := range means {
		for i := range m {
			m[i] /= counts[name]
		}
	}
	mean := func(name string) float64 {
		sum := 0.0
		for _, v := range means[name] {
			sum += v / float64(len(means[name]))
		}
		return sum
	}
	others := slices.DeleteFunc(slices.Clone(order), func(name string) bool { return name == "BEST" })
	raw := make([]float64, len(others))
	for i, name := range others {
		r, err := stats.SignedRank(means["BEST"], means[name], stats.SignedRankSettings{})
		if raw[i] = r.PValue; err != nil {
			raw[i] = 1 // equal everywhere
		}
	}
	p := map[string]float64{}
	for i, v := range stats.Holm(raw) {
		p[others[i]] = v
	}
	fmt.Printf("\n%s, d = %d, %d evaluations a member, %d constructions of %.0f evaluations on %d instances in %.1f s, %d unseen instances, %d repeats\n\n",
		s.class, s.dim(), s.evaluations, s.constructions, spent, s.training, seconds, s.instances, s.repeats)
	fmt.Printf("| method | mean | BEST ahead on | p (Holm) |\n|---|---|---|---|\n")
	slices.SortStableFunc(order, func(a, b string) int { return cmp.Compare(mean(b), mean(a)) })
	for _, name := range order {
		if name == "BEST" {
			fmt.Printf("| **BEST** | %.5g | | |\n", mean(name))
			continue
		}
		ahead := 0
		for i, v := range means["BEST"] {
			if v > means[name][i] {
				ahead++
			}
		}
		fmt.Printf("| %s | %.5g | %d of %d | %.1g |\n", name, mean(name), ahead, s.instances, p[name])
	}
}
