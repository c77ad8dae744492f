// Command solvers compares portfolios that construct.Best builds of all solvers with
// what needs no construction, on classes of problems that construct.Best was not made
// for. See PLAN.md for what is compared and how it is judged; RESULTS.md holds what it
// printed.
//
//	go run ./dacelib/experiment/solvers -classes nk,qubo -constructions 5
package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"time"

	"dace.local/dacelib/construct"
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
	budget                                            int
	verbose                                           bool
}

func main() {
	var s settings
	classes := flag.String("classes", "nk,qubo,max3sat,maxcut,knapsack,traps,ccp,cimp", "the classes")
	flag.IntVar(&s.d, "d", 0, "dimension; 0 means 40, for ccp 30 and for cimp 80")
	flag.IntVar(&s.evaluations, "evaluations", 800, "evaluations of a member")
	flag.IntVar(&s.constructions, "constructions", 5, "number of constructions")
	flag.IntVar(&s.instances, "instances", 25, "number of unseen instances")
	flag.IntVar(&s.repeats, "repeats", 10, "runs on an instance")
	flag.IntVar(&s.budget, "budget", 0, "true evaluations of a construction; 0 means BEST's default")
	flag.BoolVar(&s.verbose, "v", false, "print the portfolios and the notes")
	flag.Parse()
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

// instance returns an instance, normalised where the paper does so.
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

func times(name string, c solver.Config) portfolio.Portfolio {
	return portfolio.Portfolio{Name: name, Members: slices.Repeat([]solver.Config{c}, members)}
}

func compare(ctx context.Context, s settings) error {
	unseen, err := s.set(ctx, 5000, s.instances)
	if err != nil {
		return err
	}
	// means holds the mean of each method on each instance, over the constructions.
	means := map[string][]float64{}
	var order []string
	test := func(p portfolio.Portfolio, weight float64) error {
		rs, err := p.Run(ctx, unseen, portfolio.Settings{Evaluations: s.evaluations, Repeats: s.repeats, Seed: 77, Seeds: portfolio.OwnSeeds})
		if err != nil {
			return err
		}
		if means[p.Name] == nil {
			means[p.Name] = make([]float64, len(unseen))
			order = append(order, p.Name)
		}
		for i, r := range rs {
			means[p.Name][i] += weight * r.Mean
		}
		return nil
	}
	var seconds, spent float64
	for k := range s.constructions {
		training, err := s.set(ctx, 1000+uint64(k), 5)
		if err != nil {
			return err
		}
		begun := time.Now()
		r, err := construct.Best(ctx, training, construct.Settings{
			Evaluations: s.evaluations, Seed: uint64(k + 1), Budget: construct.Budget{Evaluations: s.budget}, Solvers: library(),
		})
		if err != nil {
			return err
		}
		seconds += time.Since(begun).Seconds() / float64(s.constructions)
		spent += float64(r.Cost.Evaluations) / float64(s.constructions)
		if s.verbose {
			fmt.Println(r)
		}
		weight := 1 / float64(s.constructions)
		if err := test(portfolio.Portfolio{Name: "BEST", Members: r.Portfolio.Members}, weight); err != nil {
			return err
		}
		g, err := greedy(ctx, training, s, uint64(k+1))
		if err != nil {
			return err
		}
		if err := test(g, weight); err != nil {
			return err
		}
	}
	slices.Sort(simple)
	for _, name := range simple {
		if err := test(times(name, config(name)), 1); err != nil {
			return err
		}
	}
	four := portfolio.Portfolio{Name: "the four", Members: []solver.Config{config("simple-ea"), config("simple-sa"), config("simple-ils"), config("simple-climber")}}
	if err := test(four, 1); err != nil {
		return err
	}
	for _, f := range library() {
		if err := test(times(f.Name(), config(f.Name())), 1); err != nil {
			return err
		}
	}
	if err := test(portfolio.BRKGAPAP(), 1); err != nil {
		return err
	}
	print(s, order, means, seconds, spent)
	return nil
}

// library returns the library's solvers, without those of this program and
// SMARTEST, whose own computing takes a second a run.
func library() []solver.Solver {
	return slices.DeleteFunc(solver.Families(), func(s solver.Solver) bool {
		_, timed := s.(solver.Timed)
		return timed || strings.HasPrefix(s.Name(), "simple-")
	})
}

// greedy chooses the best four, with repetition, of 20 simple configurations on six
// seeds of each training instance: 480,000 evaluations for members of 800.
func greedy(ctx context.Context, training []problem.Problem, s settings, seed uint64) (portfolio.Portfolio, error) {
	const seeds = 6
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
	var jobs []solver.Job
	for _, c := range field {
		for _, p := range training {
			for k := range seeds {
				jobs = append(jobs, solver.Job{Problem: p, Config: c, Evaluations: s.evaluations, Seed: run.Seed(seed, "greedy", k)})
			}
		}
	}
	found, err := solver.RunAll(ctx, jobs, 0)
	if err != nil {
		return portfolio.Portfolio{}, err
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
	out := portfolio.Portfolio{Name: "greedy"}
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
		out.Members = append(out.Members, field[at])
	}
	return out, nil
}

// print prints the table of a class: every method's mean, and the signed-rank test
// of BEST against it over the instances, with Holm's correction.
func print(s settings, order []string, means map[string][]float64, seconds, spent float64) {
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
	fmt.Printf("\n%s, d = %d, %d evaluations a member, %d constructions of %.0f evaluations in %.1f s, %d instances, %d repeats\n\n",
		s.class, s.dim(), s.evaluations, s.constructions, spent, seconds, s.instances, s.repeats)
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
