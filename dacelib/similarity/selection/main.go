// Selection asks whether an instance's neighbours tell which solver is best for it.
// PLAN.md says what is compared, notebooks/results/selection.md what came out. It
// prints that file's table; the runs take some minutes of two cores.
//
//	go run ./dacelib/similarity/selection
package main

import (
	"context"
	"fmt"
	"log"
	"math"
	"os"
	"os/signal"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

	"dace.local/dacelib/problem"
	"dace.local/dacelib/problem/ccp"
	"dace.local/dacelib/problem/classic"
	"dace.local/dacelib/run"
	"dace.local/dacelib/similarity"
	"dace.local/dacelib/solver"
	_ "dace.local/dacelib/solver/all"
	"dace.local/dacelib/stats"
)

const (
	dim, perClass, repeats = 40, 15, 10
	whole                  = 3200
	byValues, byLandscape  = 200, 500 // solutions that a comparison evaluates
	probe                  = 150      // evaluations of each solver
	neighbours, members    = 3, 4
)

// A lab holds what is known: values[budget][solver][instance][repeat], scaled.
type lab struct {
	instances []problem.Problem
	classes   []string
	solvers   []string
	values    map[int][][][]float64
}

func main() {
	log.SetFlags(0)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	l := &lab{values: map[int][][][]float64{}}
	if err := l.draw(); err != nil {
		log.Fatal(err)
	}
	if err := l.measure(ctx); err != nil {
		log.Fatal(err)
	}
	if err := l.report(ctx); err != nil {
		log.Fatal(err)
	}
}

// draw makes the instances.
func (l *lab) draw() error {
	for i := range perClass {
		for _, c := range []struct {
			name string
			draw func() (problem.Problem, error)
		}{
			{"NK", func() (problem.Problem, error) { return classic.RandomNK(uint64(i), dim, 4) }},
			{"MAX-3SAT", func() (problem.Problem, error) { return classic.RandomMaxSat(uint64(i), dim) }},
			{"CCP", func() (problem.Problem, error) { return ccp.Class().Test(1, dim, i) }},
			{"traps", func() (problem.Problem, error) { return classic.RandomTraps(uint64(i), dim) }},
		} {
			p, err := c.draw()
			if err != nil {
				return err
			}
			l.instances, l.classes = append(l.instances, p), append(l.classes, c.name)
		}
	}
	return nil
}

// measure runs every solver on every instance at every budget, and scales the values.
func (l *lab) measure(ctx context.Context) error {
	for _, s := range solver.Families() {
		if s.Name() != "smartest" { // 13 to 23 s a run: PLAN.md
			l.solvers = append(l.solvers, s.Name())
		}
	}
	left := []int{whole, whole - byValues, whole - byLandscape, probe, whole - probe*len(l.solvers), whole / members, whole / len(l.solvers)}
	for _, budget := range left {
		var jobs []solver.Job
		for _, name := range l.solvers {
			c, err := solver.New(name, nil)
			if err != nil {
				return err
			}
			for i, p := range l.instances {
				for r := range repeats {
					jobs = append(jobs, solver.Job{Problem: p, Config: c, Evaluations: budget, Seed: run.Seed(1, "selection", i, r, budget)})
				}
			}
		}
		results, err := solver.RunAll(ctx, jobs, 0)
		if err != nil {
			return err
		}
		of := make([][][]float64, len(l.solvers))
		for s := range of {
			for range l.instances {
				row := make([]float64, repeats)
				for r := range row {
					row[r], results = results[0].Value, results[1:]
				}
				of[s] = append(of[s], row)
			}
		}
		l.values[budget] = of
		fmt.Fprintf(os.Stderr, "%d evaluations: done\n", budget)
	}
	for i, p := range l.instances {
		x, y := problem.Random(run.Rand(1, "selection: random", i), 1000, dim), make([]float64, 1000)
		if err := p.Evaluate(ctx, y, x); err != nil {
			return err
		}
		low, high := stat.Mean(y, nil), math.Inf(-1)
		for _, of := range l.values {
			for s := range of {
				high = max(high, slices.Max(of[s][i]))
			}
		}
		for _, of := range l.values {
			for s := range of {
				for r := range of[s][i] {
					of[s][i][r] = (of[s][i][r] - low) / (high - low)
				}
			}
		}
	}
	return nil
}

// best returns the solver with the best mean over the given instances.
func (l *lab) best(of []int) int {
	means := make([]float64, len(l.solvers))
	for s := range means {
		for _, i := range of {
			means[s] += stat.Mean(l.values[whole][s][i], nil)
		}
	}
	return floats.MaxIdx(means)
}

// greedy returns the members of the portfolio that is best over the given instances.
func (l *lab) greedy(of []int) []int {
	var chosen []int
	runs := l.values[whole/members]
	for range members {
		means := make([]float64, len(l.solvers))
		for s := range means {
			for _, i := range of {
				means[s] += stat.Mean(together(runs, append(slices.Clone(chosen), s), i), nil)
			}
		}
		chosen = append(chosen, floats.MaxIdx(means))
	}
	return chosen
}

// together returns the best value of solvers side by side on an instance, by repeat. A
// solver that is there twice has the next repeat's seed.
func together(runs [][][]float64, solvers []int, i int) []float64 {
	out := make([]float64, repeats)
	for r := range out {
		out[r] = math.Inf(-1)
		used := map[int]int{}
		for _, s := range solvers {
			out[r] = max(out[r], runs[s][i][(r+used[s])%repeats])
			used[s]++
		}
	}
	return out
}

func (l *lab) report(ctx context.Context) error {
	near := map[string]similarity.Matrix{}
	for name, s := range map[string]similarity.Settings{
		"values":    {Samples: byValues, Seed: 1},
		"landscape": {Measure: similarity.Landscape, Samples: byLandscape, Seed: 1},
	} {
		var err error
		if near[name], err = similarity.Of(ctx, l.instances, s); err != nil {
			return err
		}
	}
	methods := []string{"single", "values", "landscape", "probing", "portfolio", "families", "oracle"}
	outcome := map[string][]float64{}
	right, sameClass := map[string]int{}, map[string]int{}
	wins := map[string][]int{}
	for i := range l.instances {
		var others, all []int
		for j := range l.instances {
			if j != i {
				others = append(others, j)
			}
		}
		for s := range l.solvers {
			all = append(all, s)
		}
		truth := make([]float64, len(l.solvers))
		for s := range truth {
			truth[s] = stat.Mean(l.values[whole][s][i][:repeats/2], nil)
		}
		oracle := floats.MaxIdx(truth)
		if wins[l.classes[i]] == nil {
			wins[l.classes[i]] = make([]int, len(l.solvers))
		}
		wins[l.classes[i]][oracle]++
		add := func(method string, budget, s int) {
			tested := l.values[budget][s][i]
			if method == "oracle" { // it has seen the first half
				tested = tested[repeats/2:]
			}
			outcome[method] = append(outcome[method], stat.Mean(tested, nil))
			if truth[s] == truth[oracle] {
				right[method]++
			}
		}
		add("oracle", whole, oracle)
		add("single", whole, l.best(others))
		for name, budget := range map[string]int{"values": whole - byValues, "landscape": whole - byLandscape} {
			var of []int
			for _, n := range near[name].Nearest(i, neighbours) {
				of = append(of, n.Index)
			}
			if l.classes[of[0]] == l.classes[i] {
				sameClass[name]++
			}
			add(name, budget, l.best(of))
		}
		sum, hits := 0.0, 0
		rest := l.values[whole-probe*len(l.solvers)]
		for r := range repeats {
			first := make([]float64, len(l.solvers))
			for s := range first {
				first[s] = l.values[probe][s][i][r]
			}
			s := floats.MaxIdx(first)
			sum += max(first[s], rest[s][i][r]) / repeats
			if truth[s] == truth[oracle] {
				hits++
			}
		}
		outcome["probing"] = append(outcome["probing"], sum)
		right["probing"] += hits
		outcome["portfolio"] = append(outcome["portfolio"], stat.Mean(together(l.values[whole/members], l.greedy(others), i), nil))
		outcome["families"] = append(outcome["families"], stat.Mean(together(l.values[whole/len(l.solvers)], all, i), nil))
	}
	right["probing"] /= repeats

	fmt.Printf("| method | mean |")
	classes := []string{"NK", "MAX-3SAT", "CCP", "traps"}
	for _, c := range classes {
		fmt.Printf(" %s |", c)
	}
	fmt.Printf(" oracle's solver | p, portfolio | p, single |\n|---|---|---|---|---|---|---|---|---|\n")
	p := map[string][]float64{}
	for k, other := range []string{"portfolio", "single"} {
		var tested []string
		for _, m := range methods {
			if m != other && m != "oracle" {
				tested = append(tested, m)
			}
		}
		raw := make([]float64, len(tested))
		for j, m := range tested {
			r, err := stats.SignedRank(outcome[m], outcome[other], stats.SignedRankSettings{})
			if err != nil {
				return err
			}
			raw[j] = r.PValue
		}
		for j, v := range stats.Holm(raw) {
			if p[tested[j]] == nil {
				p[tested[j]] = []float64{math.NaN(), math.NaN()}
			}
			p[tested[j]][k] = v
		}
	}
	for _, m := range methods {
		fmt.Printf("| %s | %.4f |", m, stat.Mean(outcome[m], nil))
		for _, c := range classes {
			sum := 0.0
			for i, v := range outcome[m] {
				if l.classes[i] == c {
					sum += v / perClass
				}
			}
			fmt.Printf(" %.4f |", sum)
		}
		fmt.Printf(" %d |", right[m])
		for k := range 2 {
			if p[m] == nil || math.IsNaN(p[m][k]) {
				fmt.Printf(" |")
			} else {
				fmt.Printf(" %.2g |", p[m][k])
			}
		}
		fmt.Println()
	}
	fmt.Printf("\nnearest of the same class: values %d, landscape %d of %d\n", sameClass["values"], sameClass["landscape"], len(l.instances))
	fmt.Printf("the oracle's solver, by class, of %v:\n", l.solvers)
	for _, c := range classes {
		fmt.Println(c, wins[c])
	}
	return nil
}
