// Command generating answers the question that the paper leaves: does it help
// to generate instances, once all methods search for large qualities? It
// constructs portfolios by every method under equal budgets, each several times
// with training instances and a seed of its own, tests them on the same unseen
// instances, and keeps a line for each construction in the file named by -o. It
// goes on with what the file holds, so it may be ended at any time.
//
//	go run ./notebooks/results/generating -evaluations 50000 -methods one,ceps,dace
//	go run ./notebooks/results/generating -paper -methods dace -records DIR
//	go run ./notebooks/results/generating -tested notebooks/results/ccp-dace-paper
//	go run ./notebooks/results/generating -print
//
// The budget is in runs of BRKGA or in evaluations of authentic instances: the two
// ways to count what a construction costs. Under a budget of evaluations DACE and
// BEST pay for the solutions that their networks learn, BEST for its check, too, and
// their runs on networks are free; the other methods pay for their runs, 800
// evaluations each.
package main

import (
	"cmp"
	"context"
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
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// A cell is a construction: what determines it.
type cell struct {
	Class string `json:"class"`
	// Axis is "runs" or "evaluations", Budget their number; or Axis is "scale",
	// the paper's settings, and Budget zero.
	Axis   string `json:"axis"`
	Budget int    `json:"budget"`
	// Training is the number of training instances, Seed that of the set and
	// of the construction; 0 for a construction that is only tested here, whose
	// folder is Source.
	Training int    `json:"training"`
	Seed     uint64 `json:"seed"`
	Method   string `json:"method"`
	Source   string `json:"source,omitempty"`
	// Unseen and Repeats are the numbers of instances of each dimension and of
	// runs on each, in the test.
	Unseen  int `json:"unseen"`
	Repeats int `json:"repeats"`
	// RunEvaluations is the budget of a run, in construction and test, and Sample
	// the number of solutions that normalise an unseen instance; 0 means the
	// paper's.
	RunEvaluations int `json:"run_evaluations,omitempty"`
	Sample         int `json:"sample,omitempty"`
}

// A row is the outcome of a cell.
type row struct {
	cell
	construct.Cost
	Members string `json:"members"`
	// Means are those of the normalised quality over the unseen instances, by
	// dimension.
	Means map[int]float64 `json:"means"`
	// Processor is the name of the processor.
	Processor string `json:"processor"`
}

// methods are what is compared, in the order of the tables.
var methods = []string{"ONE", "ONEx3", "FRESH", "CEPS", "GREEDY", "GLOBAL", "PARHYDRA", "DACE", "DACEx3", "NIR-ONE", "NIR-ONEx12", "NIR-EARLYx12", "BEST"}

func main() {
	log.SetFlags(0)
	log.SetPrefix("generating: ")
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := command(ctx, os.Args[1:], os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func command(ctx context.Context, args []string, out io.Writer) error {
	fs := flag.NewFlagSet("generating", flag.ExitOnError)
	file := fs.String("o", "", "`file` of the outcomes (default notebooks/results/generating/CLASS.jsonl)")
	class := fs.String("class", "ccp", "`name` of the class")
	runs := fs.String("runs", "", "budgets in runs of BRKGA, as 20000,200000")
	evaluations := fs.String("evaluations", "", "budgets in evaluations of authentic instances, as 50000,500000")
	training := fs.String("training", "5", "numbers of training instances, as 2,5,20")
	seeds := fs.Uint64("seeds", 5, "`number` of constructions for each row")
	names := fs.String("methods", strings.ToLower(strings.Join(methods, ",")), "methods")
	unseen := fs.Int("unseen", 50, "`number` of unseen instances of each dimension")
	repeats := fs.Int("repeats", 10, "`number` of runs on each unseen instance")
	perRun := fs.Int("run-evaluations", 0, "`number` of evaluations of a run; 0 means 800")
	sample := fs.Int("sample", 0, "`number` of solutions that normalise an unseen instance; 0 means a million")
	paper := fs.Bool("paper", false, "constructions of DACE with the paper's settings, LeakyReLU scorers among them, without a budget")
	tested := fs.String("tested", "", "`folder` of a construction by DACE with the paper's settings: test it as one more of -paper")
	records := fs.String("records", "", "`folder` for the records of constructions, so that they too go on where they ended")
	print := fs.Bool("print", false, "print the tables of what the file holds, and construct nothing")
	if err := fs.Parse(args); err != nil {
		return err
	}
	if *file == "" {
		*file = filepath.Join("notebooks", "results", "generating", *class+".jsonl")
	}
	rows, err := outcomes.Read[row](*file)
	if err != nil {
		return err
	}
	if *print {
		return tables(out, rows)
	}
	cells, err := plan(cell{Class: *class, Unseen: *unseen, Repeats: *repeats, RunEvaluations: *perRun, Sample: *sample}, *runs, *evaluations, *training, *names, *seeds, *paper)
	if err != nil {
		return err
	}
	if *tested != "" {
		cells = append(cells, cell{Class: *class, Axis: "scale", Training: 5, Method: "DACE", Source: filepath.ToSlash(*tested), Unseen: *unseen, Repeats: *repeats, RunEvaluations: *perRun, Sample: *sample})
	}
	if len(cells) == 0 {
		return errors.New("no budget: give -runs, -evaluations, -paper or -tested")
	}
	measure := func(c cell) (row, error) { return c.measure(ctx, *file+".ranges", *records) }
	return outcomes.Extend(*file, cells, rows, func(r row) cell { return r.cell }, measure, func(i int, r row) {
		fmt.Fprintf(out, "%d of %d: %s, %d %s, %d training, seed %d: %v (%.0f s)\n", i+1, len(cells), r.Method, r.Budget, r.Axis, r.Training, r.Seed, r.Means, r.Seconds)
	})
}

// plan lists the cells, all methods of a seed after one another.
func plan(c cell, runs, evaluations, training, names string, seeds uint64, paper bool) ([]cell, error) {
	var cells []cell
	for _, axis := range []struct{ name, budgets string }{{"evaluations", evaluations}, {"runs", runs}, {"scale", ""}} {
		budgets, err := numbers(axis.budgets)
		if err != nil {
			return nil, err
		}
		if axis.name == "scale" && paper {
			budgets = []int{0}
		}
		sizes, err := numbers(training)
		if err != nil {
			return nil, err
		}
		for _, b := range budgets {
			for _, n := range sizes {
				for s := uint64(1); s <= seeds; s++ {
					for _, name := range strings.Split(names, ",") {
						i := slices.IndexFunc(methods, func(m string) bool { return strings.EqualFold(m, name) })
						if i < 0 {
							return nil, fmt.Errorf("there is no method %q; the methods are %s", name, strings.Join(methods, ", "))
						}
						if axis.name == "scale" && methods[i] != "DACE" {
							return nil, fmt.Errorf("-paper is for -methods dace alone, not for %s", methods[i])
						}
						c.Axis, c.Budget, c.Training, c.Seed, c.Method = axis.name, b, n, s, methods[i]
						cells = append(cells, c)
					}
				}
			}
		}
	}
	return cells, nil
}

func numbers(list string) ([]int, error) {
	var all []int
	for text := range strings.SplitSeq(list, ",") {
		if text == "" {
			continue
		}
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			return nil, fmt.Errorf("%q is not a list of numbers", list)
		}
		all = append(all, n)
	}
	return all, nil
}

// measure constructs the portfolio of a cell and tests it.
func (c cell) measure(ctx context.Context, ranges, folder string) (row, error) {
	class, err := experiment.Class(c.Class, 0)
	if err != nil {
		return row{}, err
	}
	var r construct.Result
	if c.Source != "" {
		r, err = c.load()
	} else {
		r, err = c.construct(ctx, class, folder)
	}
	if err != nil {
		return row{}, err
	}
	r.Portfolio.Name = c.Method
	tested, err := class.NewSet(7, 0, c.Unseen) // the same for all
	if err != nil {
		return row{}, err
	}
	entries := []experiment.Entry{{Portfolio: r.Portfolio, Construction: c.Seed}}
	records, err := experiment.Test(ctx, tested, entries, experiment.Settings{Repeats: c.Repeats, Evaluations: c.RunEvaluations, Sample: c.Sample, Ranges: ranges, Seeds: portfolio.SharedSeed})
	if err != nil {
		return row{}, err
	}
	sums, counts := map[int]float64{}, map[int]float64{}
	for _, record := range records {
		sums[record.Dim] += record.Mean
		counts[record.Dim]++
	}
	for dim := range sums {
		sums[dim] /= counts[dim]
	}
	return row{cell: c, Cost: r.Cost, Members: records[0].Portfolio, Means: sums, Processor: r.CPU}, nil
}

// load returns the portfolio of the cell's folder and what it cost.
func (c cell) load() (construct.Result, error) {
	s, err := construct.LoadSummary(c.Source)
	if err != nil {
		return construct.Result{}, err
	}
	if s.Method != c.Method || s.Class != c.Class || s.Scale != "paper" || s.Status != run.BudgetSpent.String() {
		return construct.Result{}, fmt.Errorf("%s holds a construction by %s on %s at the scale %q, status %q; a finished one by DACE on %s at the paper's is wanted", c.Source, s.Method, s.Class, s.Scale, s.Status, c.Class)
	}
	cost := construct.Cost{Runs: s.Runs, Evaluations: s.Evaluations, Seconds: s.Seconds, CPU: s.CPUSeconds}
	return construct.Result{Portfolio: portfolio.Portfolio{Members: s.Members}, Cost: cost, CPU: s.CPU}, nil
}

// construct builds the cell's portfolio.
func (c cell) construct(ctx context.Context, class problem.Class, folder string) (construct.Result, error) {
	set, err := class.NewSet(1000*c.Seed, c.Training, 0)
	if err != nil {
		return construct.Result{}, err
	}
	s := c.size()
	if folder != "" {
		s.Dir = filepath.Join(folder, fmt.Sprintf("%s-%s-%d-%s-%d-%d", c.Class, strings.ToLower(c.Method), c.Training, c.Axis, c.Budget, c.Seed))
	}
	s.Seed, s.Reading, s.Evaluations = c.Seed, run.Written, c.RunEvaluations
	method := c.Method
	switch c.Axis {
	case "runs":
		s.Budget.Runs = c.Budget
	case "evaluations":
		s.Budget.Evaluations = c.Budget
	}
	switch method {
	case "GREEDY":
		s.Configurations = max(4, c.runs()/c.Training-2)
	case "DACEx3":
		method, s.Seeds = "DACE", 3
	case "NIR-ONE":
		method, s.Rounds = "DACE", 1
	case "NIR-ONEx12":
		method, s.Share, s.Checks = "BEST", 1, -1
	case "NIR-EARLYx12":
		method, s.Checks = "BEST", -1
	}
	if method == "BEST" { // the stored outcomes are of BRKGA alone
		s.Solvers = []solver.Solver{brkga.Solver()}
	}
	return construct.Build(ctx, method, class, set.Training, s)
}

// runs returns the budget in runs on authentic instances.
func (c cell) runs() int {
	if c.Axis == "evaluations" {
		return c.Budget / cmp.Or(c.RunEvaluations, 800)
	}
	return c.Budget
}

// size returns settings that suit the budget: few searches where each would
// otherwise have too few trials to be one. Methods on networks, whose runs an
// evaluation budget does not bound, have those of the scale small.
func (c cell) size() construct.Settings {
	if c.Axis == "scale" {
		return construct.Settings{}
	}
	s := construct.Small()
	s.NIR.Activation = nir.Identity
	n := c.runs()
	if nets := strings.HasPrefix(c.Method, "DACE") || c.Method == "NIR-ONE"; nets && c.Axis == "evaluations" {
		return s
	}
	if slices.Contains([]string{"NIR-ONEx12", "NIR-EARLYx12", "BEST"}, c.Method) { // their own numbers of minings and trials
		s.Minings, s.Trials = 0, 0
		return s
	}
	for _, size := range []struct{ below, rounds, configurations, minings int }{
		{200, 1, 4, 1}, {2_000, 2, 15, 3}, {10_000, 2, 30, 8}, {100_000, 3, 50, 12}, {1 << 62, 4, 50, 20},
	} {
		if n < size.below {
			s.Rounds, s.Configurations, s.Minings = size.rounds, size.configurations, size.minings
			break
		}
	}
	return s
}

// tables prints a table in Markdown for every class, number of training
// instances and budget.
func tables(out io.Writer, rows []row) error {
	if err := tenth(out, rows); err != nil {
		return err
	}
	slices.SortStableFunc(rows, func(a, b row) int {
		return cmp.Or(cmp.Compare(a.Class, b.Class), cmp.Compare(a.Training, b.Training), cmp.Compare(a.Axis, b.Axis), cmp.Compare(a.Budget, b.Budget), cmp.Compare(a.RunEvaluations, b.RunEvaluations))
	})
	for len(rows) > 0 {
		head := rows[0].cell
		n := slices.IndexFunc(rows, func(r row) bool {
			return r.Class != head.Class || r.Training != head.Training || r.Axis != head.Axis || r.Budget != head.Budget || r.RunEvaluations != head.RunEvaluations
		})
		if n < 0 {
			n = len(rows)
		}
		if err := table(out, rows[:n]); err != nil {
			return err
		}
		rows = rows[n:]
	}
	return nil
}

// tenth compares DACE at the paper's scale with BEST, which has a tenth of its
// runs: all constructions as independent samples, and those on the same training
// instances as pairs.
func tenth(out io.Writer, rows []row) error {
	values := func(method, axis string, budget, dim int) map[uint64]float64 {
		v := map[uint64]float64{}
		for _, r := range rows {
			if mean, ok := r.Means[dim]; ok && r.Method == method && r.Axis == axis && r.Budget == budget && r.Training == 5 && r.RunEvaluations == 0 {
				v[r.Seed] = mean
			}
		}
		return v
	}
	begun := false
	for _, dim := range []int{30, 40, 80, 100} {
		dace := values("DACE", "scale", 0, dim)
		for _, budget := range []int{50_000, 500_000} {
			best := values("BEST", "evaluations", budget, dim)
			if len(dace) < 1 || len(best) < 2 {
				continue
			}
			var a, b, pairs []float64
			ahead := 0
			for _, seed := range slices.Sorted(maps.Keys(best)) {
				a = append(a, best[seed])
				if v, ok := dace[seed]; ok {
					pairs = append(pairs, best[seed]-v)
					if best[seed] > v {
						ahead++
					}
				}
			}
			for _, seed := range slices.Sorted(maps.Keys(dace)) {
				b = append(b, dace[seed])
			}
			test, err := stats.MannWhitney(a, b, stats.MannWhitneySettings{Method: stats.Exact})
			if err != nil {
				return err
			}
			if !begun {
				fmt.Fprintf(out, "\nBEST, and DACE at the paper's scale, which has ten times its runs and 500,000 evaluations:\n\n| d | DACE | n | BEST | n | BEST's evaluations | difference, 95 %% interval | rank-sum test | pairs, 95 %% interval | BEST ahead |\n|---|---|---|---|---|---|---|---|---|---|\n")
				begun = true
			}
			difference, half := welch(a, b)
			paired := "-"
			if len(pairs) > 1 {
				mean, width := stats.Interval(pairs, 0.95)
				paired = fmt.Sprintf("%.4f to %.4f", mean-width, mean+width)
			}
			fmt.Fprintf(out, "| %d | %.4f | %d | %.4f | %d | %d | %.4f to %.4f | p = %.4f | %s | %d of %d |\n", dim, stat.Mean(b, nil), len(b), stat.Mean(a, nil), len(a), budget,
				difference-half, difference+half, test.PValue, paired, ahead, len(pairs))
		}
	}
	return nil
}

// welch returns the difference of the means of two samples and half the width of
// its 95 % interval (Welch, Biometrika 34, 1947). If b has one value, its variance
// is taken to be that of a.
func welch(a, b []float64) (difference, half float64) {
	ma, va := stat.MeanVariance(a, nil)
	mb, vb := stat.MeanVariance(b, nil)
	na, nb := float64(len(a)), float64(len(b))
	if len(b) == 1 {
		t := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: na - 1}.Quantile(0.975)
		return ma - mb, t * math.Sqrt(va*(1+1/na))
	}
	va, vb = va/na, vb/nb
	nu := (va + vb) * (va + vb) / (va*va/(na-1) + vb*vb/(nb-1))
	t := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: nu}.Quantile(0.975)
	return ma - mb, t * math.Sqrt(va+vb)
}

// table prints one table. A method's interval is over its constructions; a test
// over instances would compare portfolios.
func table(out io.Writer, rows []row) error {
	var records []experiment.Record
	costs := map[string][]row{}
	for _, r := range rows {
		for dim, mean := range r.Means {
			records = append(records, experiment.Record{Class: r.Class, Dim: dim, Method: r.Method, Construction: r.Seed, Mean: mean, Values: []float64{mean}})
		}
		costs[r.Method] = append(costs[r.Method], r)
	}
	first := rows[0].Method
	if len(costs["CEPS"]) > 0 {
		first = "CEPS"
	}
	lines, err := experiment.Constructions(records, first)
	if err != nil {
		return err
	}
	slices.SortStableFunc(lines, func(a, b experiment.MethodRow) int {
		return cmp.Or(cmp.Compare(a.Dim, b.Dim), cmp.Compare(slices.Index(methods, a.Method), slices.Index(methods, b.Method)))
	})
	budget := fmt.Sprintf("%d %s a construction", rows[0].Budget, rows[0].Axis)
	if rows[0].Axis == "scale" {
		budget = "the paper's scale"
	}
	if n := rows[0].RunEvaluations; n != 0 {
		budget += fmt.Sprintf(", %d a run", n)
	}
	fmt.Fprintf(out, "\n%s, %d training instances, %s:\n\n", strings.ToUpper(rows[0].Class), rows[0].Training, budget)
	fmt.Fprintf(out, "| d | method | n | mean | 95 %% interval | %s ahead | runs | evaluations | processor s |\n|---|---|---|---|---|---|---|---|---|\n", first)
	for _, l := range lines {
		var total construct.Cost
		for _, r := range costs[l.Method] {
			total.Runs += r.Runs
			total.Evaluations += r.Evaluations
			total.CPU += r.CPU
		}
		n := len(costs[l.Method])
		fmt.Fprintf(out, "| %d | %s | %d | %.4f | %.4f to %.4f | %d of %d | %d | %d | %.0f |\n", l.Dim, l.Method, l.Constructions, l.Mean, l.Low, l.High, l.Ahead, l.Pairs, total.Runs/n, total.Evaluations/n, total.CPU/float64(n))
	}
	return nil
}
