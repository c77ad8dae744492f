// Command worth measures what a portfolio is worth: what is gained by the choice of a
// solver, by its configuration, by members that complement each other, and by
// generated instances. PLAN.md says what is compared and how it is judged. It keeps a
// line for each portfolio in notebooks/results/worth/CLASS.jsonl and goes on with what
// the file holds, so it may be ended at any time.
//
//	go run ./notebooks/results/worth -classes nk,ccp -budgets 800
//	go run ./notebooks/results/worth -generating -classes nk,ccp
//	go run ./notebooks/results/worth -print >notebooks/results/worth/README.md
package main

import (
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"maps"
	"math"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"dace.local/dacelib/brkga"
	"dace.local/dacelib/construct"
	"dace.local/dacelib/experiment"
	"dace.local/dacelib/nir"
	"dace.local/dacelib/portfolio"
	"dace.local/dacelib/problem"
	"dace.local/dacelib/run"
	"dace.local/dacelib/solver"
	"dace.local/dacelib/stats"
	"dace.local/notebooks/results/internal/outcomes"
)

// The numbers of the plan.
const (
	members       = 4
	training      = 5
	unseen        = 25
	repeats       = 5
	constructions = 5
	sample        = 100_000 // solutions that normalise an unseen instance
	runs          = 600     // of members with the whole budget, for a construction
)

var dims = map[string]int{"nk": 40, "qubo": 40, "maxsat": 40, "maxcut": 40, "knapsack": 40, "traps": 40, "ccp": 30, "cimp": 80}

var classes = []string{"nk", "qubo", "maxsat", "maxcut", "knapsack", "traps", "ccp", "cimp"}

//go:embed contrasts.json
var differences []byte

// A cell is a portfolio of the plan.
type cell struct {
	Class string `json:"class"`
	// Axis is "evaluations" or "runs": what constructions have equally many of.
	Axis string `json:"axis"`
	// Budget is the number of evaluations of a member.
	Budget int    `json:"budget"`
	Method string `json:"method"`
	// Seed is that of the training instances and of the construction; 0 for what
	// needs no training.
	Seed uint64 `json:"seed,omitempty"`
}

// A row is the outcome of a cell.
type row struct {
	cell
	Members []solver.Config `json:"members"`
	construct.Cost
	// Values are the means of the normalised quality over the repeats, by unseen
	// instance.
	Values []float64 `json:"values"`
}

// A method makes a portfolio from training instances.
type method struct {
	name string
	// untrained says that it needs no training instances.
	untrained bool
	make      func(ctx context.Context, m maker) (construct.Result, error)
}

// A maker is what a method makes a portfolio from.
type maker struct {
	cell
	class    problem.Class
	training []problem.Problem
	library  []solver.Solver
}

var methods = []method{
	{"BRKGA", true, func(context.Context, maker) (construct.Result, error) {
		c, err := solver.New("brkga", nil)
		return same(c), err
	}},
	{"BRKGA-PAP", true, func(context.Context, maker) (construct.Result, error) {
		return construct.Result{Portfolio: portfolio.BRKGAPAP()}, nil
	}},
	{"BRKGA-SINGLE", false, func(ctx context.Context, m maker) (construct.Result, error) { return m.single(ctx, paper) }},
	{"BRKGA-ONE", false, func(ctx context.Context, m maker) (construct.Result, error) {
		return construct.One(ctx, m.training, m.settings(paper))
	}},
	{"SOLVER", false, func(ctx context.Context, m maker) (construct.Result, error) { return m.untuned(ctx) }},
	{"SINGLE", false, func(ctx context.Context, m maker) (construct.Result, error) { return m.single(ctx, m.library) }},
	{"ONE", false, func(ctx context.Context, m maker) (construct.Result, error) {
		return construct.One(ctx, m.training, m.settings(m.library))
	}},
	{"BEST", false, func(ctx context.Context, m maker) (construct.Result, error) { return m.best(ctx) }},
	{"BEST-SINGLE", false, func(ctx context.Context, m maker) (construct.Result, error) {
		r, err := m.best(ctx)
		if err == nil && r.Portfolio.Single == nil {
			err = errors.New("BEST names no best single configuration")
		}
		if err == nil {
			r.Portfolio.Members = same(*r.Portfolio.Single).Portfolio.Members
		}
		return r, err
	}},
}

// generating are the methods of the second question.
var generating = []method{
	{"ONE", false, func(ctx context.Context, m maker) (construct.Result, error) {
		return construct.One(ctx, m.training, m.settings(m.library))
	}},
	{"FRESH", false, func(ctx context.Context, m maker) (construct.Result, error) {
		return construct.Fresh(ctx, m.training, m.class, m.settings(m.library))
	}},
	{"CEPS", false, func(ctx context.Context, m maker) (construct.Result, error) {
		return construct.CEPS(ctx, m.training, m.class, m.settings(m.library))
	}},
	{"DACE", false, func(ctx context.Context, m maker) (construct.Result, error) {
		return construct.DACE(ctx, m.training, m.settings(m.library))
	}},
	{"BEST", false, func(ctx context.Context, m maker) (construct.Result, error) { return m.best(ctx) }},
}

var paper = []solver.Solver{brkga.Solver()}

// same is one configuration as all members.
func same(c solver.Config) construct.Result {
	return construct.Result{Portfolio: portfolio.Portfolio{Members: slices.Repeat([]solver.Config{c}, members)}}
}

// settings are those of a construction with the cell's budget: few searches where each
// would otherwise have too few trials to be one. Where evaluations are bounded, DACE's
// runs on networks are not, and it has the numbers of the scale small.
func (m maker) settings(of []solver.Solver) construct.Settings {
	s := construct.Small()
	s.NIR.Activation = nir.Identity
	s.Solvers, s.Seed, s.Evaluations, s.Members = of, m.Seed, m.Budget, members
	if m.Axis == "runs" {
		s.Budget.Runs = 10 * runs
		s.Rounds, s.Configurations, s.Minings = 2, 30, 8
		return s
	}
	s.Budget.Evaluations = runs * m.Budget
	if m.Method != "DACE" {
		s.Rounds, s.Configurations, s.Minings = 2, 15, 3
		s.PGPE.Pairs = 3
	}
	return s
}

func (m maker) best(ctx context.Context) (construct.Result, error) {
	s := construct.Settings{Solvers: m.library, Seed: m.Seed, Evaluations: m.Budget, Members: members}
	s.Budget = m.settings(nil).Budget
	return construct.Best(ctx, m.training, s)
}

// single is the best configuration that a search for one finds.
func (m maker) single(ctx context.Context, of []solver.Solver) (construct.Result, error) {
	s := m.settings(of)
	s.Members = 1
	r, err := construct.One(ctx, m.training, s)
	if err == nil {
		r.Portfolio.Members = same(r.Portfolio.Members[0]).Portfolio.Members
	}
	return r, err
}

// untuned is the solver whose defaults are best on the training instances, by as many
// runs as a construction has.
func (m maker) untuned(ctx context.Context) (construct.Result, error) {
	seeds := runs / (training * len(m.library))
	var jobs []solver.Job
	for _, s := range m.library {
		c, err := solver.New(s.Name(), nil)
		if err != nil {
			return construct.Result{}, err
		}
		for _, p := range m.training {
			for k := range seeds {
				jobs = append(jobs, solver.Job{Problem: p, Config: c, Evaluations: m.Budget, Seed: run.Seed(m.Seed, "worth", k)})
			}
		}
	}
	found, err := solver.RunAll(ctx, jobs, 0)
	if err != nil {
		return construct.Result{}, err
	}
	low, high := slices.Repeat([]float64{math.Inf(1)}, training), slices.Repeat([]float64{math.Inf(-1)}, training)
	for i, f := range found {
		at := i / seeds % training
		low[at], high[at] = min(low[at], f.Value), max(high[at], f.Value)
	}
	scores := make([]float64, len(m.library))
	for i, f := range found {
		if at := i / seeds % training; high[at] > low[at] {
			scores[i/(seeds*training)] += (f.Value - low[at]) / (high[at] - low[at])
		}
	}
	top := slices.Index(scores, slices.Max(scores))
	r := same(jobs[top*seeds*training].Config)
	r.Cost.Runs, r.Cost.Evaluations = len(jobs), len(jobs)*m.Budget
	return r, nil
}

func main() {
	log.SetFlags(0)
	log.SetPrefix("worth: ")
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := command(ctx, os.Args[1:], os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func command(ctx context.Context, args []string, out io.Writer) error {
	fs := flag.NewFlagSet("worth", flag.ContinueOnError)
	dir := fs.String("dir", filepath.Join("notebooks", "results", "worth"), "`folder` of the outcomes")
	names := fs.String("classes", strings.Join(classes, ","), "classes")
	budgets := fs.String("budgets", "800,200,5000,50000", "evaluations of a member")
	axes := fs.String("axes", "evaluations,runs", "what constructions have equally many of")
	seeds := fs.String("seeds", "1,2,3,4,5", "constructions, by seed, beside what needs no training")
	second := fs.Bool("generating", false, "the second question: does generating instances help?")
	print := fs.Bool("print", false, "print the tables of what the files hold, and construct nothing")
	if err := fs.Parse(args); err != nil {
		return err
	}
	var all []row
	for name := range strings.SplitSeq(*names, ",") {
		if dims[name] == 0 {
			return fmt.Errorf("there is no class %q; the classes are %s", name, strings.Join(classes, ", "))
		}
		file := filepath.Join(*dir, name+".jsonl")
		rows, err := outcomes.Read[row](file)
		if err != nil {
			return err
		}
		if *print {
			all = append(all, rows...)
			continue
		}
		var cells []cell
		for text := range strings.SplitSeq(*budgets, ",") {
			budget, err := strconv.Atoi(text)
			if err != nil || budget < 50 {
				return fmt.Errorf("%q is not a budget; at least 50 evaluations a member are wanted", text)
			}
			cells = append(cells, plan(name, budget, *second)...)
		}
		cells = slices.DeleteFunc(cells, func(c cell) bool {
			return !named(*axes, c.Axis) || c.Seed > 0 && !named(*seeds, strconv.FormatUint(c.Seed, 10))
		})
		if err := measure(ctx, out, file, cells, rows); err != nil {
			return err
		}
	}
	if *print {
		return tables(out, all)
	}
	return nil
}

// named reports whether a list of words, with commas between them, has the word.
func named(list, word string) bool { return slices.Contains(strings.Split(list, ","), word) }

// plan lists the cells of a class and budget, all methods of a seed after one another.
func plan(class string, budget int, second bool) []cell {
	var cells []cell
	if second {
		for _, axis := range []string{"evaluations", "runs"} {
			for seed := range uint64(constructions) {
				for _, m := range generating {
					cells = append(cells, cell{class, axis, budget, m.name, seed + 1})
				}
			}
		}
		return cells
	}
	for seed := range uint64(constructions) {
		for _, m := range methods {
			switch {
			case !m.untrained:
				cells = append(cells, cell{class, "evaluations", budget, m.name, seed + 1})
			case seed == 0:
				cells = append(cells, cell{class, "evaluations", budget, m.name, 0})
			}
		}
	}
	for _, s := range library() { // what is best on each instance is found among these, too
		if s.Name() != "brkga" {
			cells = append(cells, cell{class, "evaluations", budget, "untuned " + s.Name(), 0})
		}
	}
	return cells
}

// library returns the solvers, without SMARTEST, whose own computing takes a second a
// run.
func library() []solver.Solver {
	return slices.DeleteFunc(solver.Families(), func(s solver.Solver) bool {
		_, timed := s.(solver.Timed)
		return timed
	})
}

// measure makes the portfolios that rows do not hold, tests them and appends the
// outcomes to the file.
func measure(ctx context.Context, out io.Writer, file string, cells []cell, rows []row) error {
	return outcomes.Extend(file, cells, rows, func(r row) cell { return r.cell }, func(c cell) (row, error) { return c.measure(ctx) }, func(i int, r row) {
		fmt.Fprintf(out, "%s %d of %d: %s, %d evaluations a member, seed %d: %.5f (%.0f s)\n", r.Class, i+1, len(cells), r.Method, r.Budget, r.Seed, mean(r.Values), r.CPU)
	})
}

func (c cell) measure(ctx context.Context) (row, error) {
	class, err := experiment.Class(c.Class, dims[c.Class])
	if err != nil {
		return row{}, err
	}
	r, err := c.construct(ctx, class)
	if err != nil {
		return row{}, err
	}
	class.TestDims = []int{class.TrainDim}
	set, err := class.NewSet(5000, 0, unseen)
	if err != nil {
		return row{}, err
	}
	r.Portfolio.Name = c.Method
	records, err := experiment.Test(ctx, set, []experiment.Entry{{Portfolio: r.Portfolio, Construction: c.Seed}}, experiment.Settings{
		Sample: sample, Evaluations: c.Budget, Repeats: repeats, Seed: 77, Baselines: experiment.NoBaselines,
		Ranges: filepath.Join(os.TempDir(), "dace-worth-ranges.jsonl"),
	})
	if err != nil {
		return row{}, err
	}
	out := row{cell: c, Members: r.Portfolio.Members, Cost: r.Cost}
	for _, record := range records {
		out.Values = append(out.Values, math.Round(record.Mean*1e7)/1e7)
	}
	return out, nil
}

// construct makes the cell's portfolio.
func (c cell) construct(ctx context.Context, class problem.Class) (construct.Result, error) {
	if name, ok := strings.CutPrefix(c.Method, "untuned "); ok {
		config, err := solver.New(name, nil)
		return same(config), err
	}
	m := maker{cell: c, class: class, library: library()}
	if c.Seed > 0 {
		set, err := class.NewSet(1000+c.Seed, training, 0)
		if err != nil {
			return construct.Result{}, err
		}
		m.training = set.Training
	}
	all := slices.Concat(methods, generating)
	return all[slices.IndexFunc(all, func(m method) bool { return m.name == c.Method })].make(ctx, m)
}

func mean(v []float64) float64 {
	m := 0.0
	for _, x := range v {
		m += x / float64(len(v))
	}
	return m
}

// contrasts are the differences that the plan asks for.
func contrasts() (c []experiment.Contrast, err error) {
	return c, json.Unmarshal(differences, &c)
}

// records are the outcomes of constructions that have equally many of axis, one for each
// unseen instance.
func records(rows []row, axis string) []experiment.Record {
	var all []experiment.Record
	for _, r := range rows {
		for i, v := range r.Values {
			if r.Axis == axis {
				all = append(all, experiment.Record{
					Class: r.Class, Instance: strconv.Itoa(i), Dim: dims[r.Class],
					Method: r.Method, Construction: r.Seed, Evaluations: r.Budget, Mean: v,
				})
			}
		}
	}
	return all
}

const intro = `# What a portfolio is worth: the outcomes

Printed by ` + "`go run ./notebooks/results/worth -print`" + ` from the files beside this one;
[PLAN.md](PLAN.md) says what is compared, [paper-worth](../../paper-worth.ipynb) what
follows. A value is the quality on 25 unseen instances, normalised as in Eq. 11; behind
± is half the 95 % interval over the constructions, five unless n says otherwise. What
needs no training has no interval, and where all constructions chose the same solver its
width is 0.

A difference is bold where its interval does not contain 0 and the signed-rank test over
the instances has p < 0.05, with Holm's correction for the differences of a class and
budget. A mean is bold where it is the highest of those measured. What is empty, and an
axis of the plan that has no table, was not measured.
`

// tables prints what is gained, the means of the methods and what they cost, by axis.
func tables(out io.Writer, rows []row) error {
	wanted, err := contrasts()
	if err != nil {
		return err
	}
	fmt.Fprint(out, intro)
	for _, axis := range []string{"evaluations", "runs"} {
		all := records(rows, axis)
		if len(all) == 0 {
			continue
		}
		gains, err := experiment.Gains(all, wanted)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "\n## Gains, at equal %s of a construction\n\n%s", axis, experiment.GainsMarkdown(gains))
		budgets := map[int]bool{}
		for _, r := range all {
			budgets[r.Evaluations] = true
		}
		for _, budget := range slices.Sorted(maps.Keys(budgets)) {
			means(out, rows, axis, budget)
		}
	}
	return nil
}

// means prints the means of the methods, and what they cost on average.
func means(out io.Writer, rows []row, axis string, budget int) {
	rows = slices.DeleteFunc(slices.Clone(rows), func(r row) bool { return r.Axis != axis || r.Budget != budget })
	values, costs := map[[2]string][]float64{}, map[string]construct.Cost{}
	built, highest := map[string]int{}, map[string]float64{}
	var methods []string
	for _, r := range rows {
		at := [2]string{r.Method, r.Class}
		values[at] = append(values[at], mean(r.Values))
		if !slices.Contains(methods, r.Method) {
			methods = append(methods, r.Method)
		}
		c := costs[r.Method]
		c.Runs, c.Evaluations, c.CPU = c.Runs+r.Runs, c.Evaluations+r.Evaluations, c.CPU+r.CPU
		costs[r.Method] = c
		built[r.Method]++
	}
	for at, v := range values {
		highest[at[1]] = max(highest[at[1]], mean(v))
	}
	slices.SortStableFunc(methods, func(a, b string) int { // the untuned behind the methods
		return cmp.Compare(strings.Count(a, "untuned "), strings.Count(b, "untuned "))
	})
	var titles []string
	for _, class := range classes {
		titles = append(titles, experiment.ClassTitle(class))
	}
	fmt.Fprintf(out, "\n## Means, %d evaluations a member, at equal %s\n\n| method | %s | runs | evaluations | processor s |\n%s\n", budget, axis, strings.Join(titles, " | "), strings.Repeat("|---", len(classes)+4)+"|")
	for _, method := range methods {
		fmt.Fprintf(out, "| %s |", method)
		for _, class := range classes {
			v := values[[2]string{method, class}]
			if len(v) == 0 {
				fmt.Fprint(out, " |")
				continue
			}
			_, half := stats.Interval(v, 0.95)
			text := fmt.Sprintf("%.3f", mean(v))
			if mean(v) == highest[class] {
				text = "**" + text + "**"
			}
			if len(v) > 1 {
				text += fmt.Sprintf(" ± %.3f", half)
			}
			if len(v) > 1 && len(v) < constructions {
				text += fmt.Sprintf(" (n = %d)", len(v))
			}
			fmt.Fprintf(out, " %s |", text)
		}
		c, n := costs[method], built[method]
		fmt.Fprintf(out, " %d | %d | %.1f |\n", c.Runs/n, c.Evaluations/n, c.CPU/float64(n))
	}
}
