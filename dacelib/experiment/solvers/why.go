package main

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"dace.local/dacelib/construct"
	"dace.local/dacelib/problem"
	"dace.local/dacelib/run"
	"dace.local/dacelib/solver"
)

// manyRuns is the number of runs of a configuration on a training instance that why
// makes.
const manyRuns = 60

// why tells what costs BEST its choice: it prints what the best configuration by some
// measures is worth on unseen instances, four times, where the measures see few or many
// runs on the training instances, beside what BEST chooses with more evaluations.
func (s settings) why(ctx context.Context) error {
	unseen, err := s.set(ctx, 5000, s.instances)
	if err != nil {
		return err
	}
	field := s.recommended()
	truth := make([]float64, len(field))
	for i, c := range field {
		means, err := s.means(ctx, "p", slices.Repeat([]solver.Config{c}, members), unseen)
		if err != nil {
			return err
		}
		truth[i] = average(means)
	}
	order := make([]int, len(field)) // best first
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(truth[b], truth[a]) })
	best := order[0]
	fmt.Printf("\n%s, d = %d: %v is best, %.5g; the ten best:", s.class, s.dim(), field[best], truth[best])
	for _, i := range order[:10] {
		fmt.Printf(" %v %.5g", field[i], truth[i])
	}
	fmt.Printf("\n\n| measure | runs an instance | mean on unseen instances | behind the best |\n|---|---|---|---|\n")
	counts := []int{5, 15, manyRuns}
	sums := make([][]float64, len(measures)) // by measure and number of runs, over constructions
	for i := range sums {
		sums[i] = make([]float64, len(counts))
	}
	budgets := []int{s.budget, 10 * s.budget}
	chosen, left := make([]float64, len(budgets)), make([]int, len(budgets))
	for k := range s.constructions {
		training, err := s.set(ctx, 1000+uint64(k), s.training)
		if err != nil {
			return err
		}
		values, err := s.runs(ctx, field, training, uint64(k+1))
		if err != nil {
			return err
		}
		for i, m := range measures {
			for j, n := range counts {
				sums[i][j] += m.worth(values, n, truth) / float64(s.constructions)
			}
		}
		for i, budget := range budgets {
			r, err := construct.Best(ctx, training, construct.Settings{
				Evaluations: s.evaluations, Seed: uint64(k + 1), Budget: construct.Budget{Evaluations: budget}, Solvers: library(),
			})
			if err != nil {
				return err
			}
			means, err := s.means(ctx, "p", r.Portfolio.Members, unseen)
			if err != nil {
				return err
			}
			chosen[i] += average(means) / float64(s.constructions)
			if !slices.Contains(r.Rounds[0].Matrix.Configs, field[best]) {
				left[i]++
			}
		}
	}
	for i, m := range measures {
		for j, n := range counts {
			fmt.Printf("| %s | %d | %.5g | %.3g |\n", m.name, n, sums[i][j], truth[best]-sums[i][j])
		}
	}
	for i, budget := range budgets {
		fmt.Printf("| BEST, %d evaluations; the best left its race in %d of %d | | %.5g | %.3g |\n", budget, left[i], s.constructions, chosen[i], truth[best]-chosen[i])
	}
	return nil
}

// recommended returns the defaults of the library's solvers and the configurations that
// their authors recommend.
func (s settings) recommended() (field []solver.Config) {
	for _, f := range library() {
		texts := []string{f.Name()}
		if t, ok := f.(construct.Starter); ok {
			texts = append(texts, t.Starts(s.dim(), s.evaluations)...)
		}
		for _, text := range texts {
			if c := config(text); !slices.Contains(field, c) {
				field = append(field, c)
			}
		}
	}
	return field
}

// runs returns the values of many runs: by configuration, instance and run.
func (s settings) runs(ctx context.Context, field []solver.Config, training []problem.Problem, seed uint64) ([][][]float64, error) {
	var jobs []solver.Job
	for _, c := range field {
		for _, p := range training {
			for k := range manyRuns {
				jobs = append(jobs, solver.Job{Problem: p, Config: c, Evaluations: s.evaluations, Seed: run.Seed(seed, "why", k)})
			}
		}
	}
	found, err := solver.RunAll(ctx, jobs, 0)
	if err != nil {
		return nil, err
	}
	values := make([][][]float64, len(field))
	for c := range values {
		values[c] = make([][]float64, len(training))
		for m := range training {
			for k := range manyRuns {
				values[c][m] = append(values[c][m], found[(c*len(training)+m)*manyRuns+k].Value)
			}
		}
	}
	return values, nil
}

// A measure scores configurations by the runs from one to another on the instances.
type measure struct {
	name   string
	scores func(values [][][]float64, from, to int) []float64
}

// worth returns the mean truth of the configurations that the measure chooses by n runs
// each time.
func (m measure) worth(values [][][]float64, n int, truth []float64) float64 {
	sum := 0.0
	for to := n; to <= manyRuns; to += n {
		scores := m.scores(values, to-n, to)
		sum += truth[slices.Index(scores, slices.Max(scores))]
	}
	return sum / float64(manyRuns/n)
}

var measures = []measure{
	{"mean of a run", over(func(own, _ []float64) float64 { return average(own) }, false)},
	{"best of four as if values were normal, in units of an instance's spread", over(normal, true)},
	{"exact best of four", over(bestOfFour, false)},
	{"exact best of four, in units of an instance's spread", over(bestOfFour, true)},
	{"best of one run and three runs of the leading quarter", over(withLeaders, false)},
	{"best of one run and three runs of the leading quarter, in units of its spread", over(withLeaders, true)},
}

// over returns a measure that is the mean over instances of one of a configuration's
// values and of the leaders' there; scaled says whether in units of the spread.
func over(one func(own, leaders []float64) float64, scaled bool) func(values [][][]float64, from, to int) []float64 {
	return func(values [][][]float64, from, to int) []float64 {
		scores, totals := make([]float64, len(values)), make([]float64, len(values))
		for m := range values[0] {
			for c := range values {
				totals[c] += average(values[c][m][from:to])
			}
		}
		order := make([]int, len(values))
		for i := range order {
			order[i] = i
		}
		slices.SortFunc(order, func(a, b int) int { return cmp.Compare(totals[b], totals[a]) })
		for m := range values[0] {
			var leaders []float64
			for _, c := range order[:max(3, len(order)/4)] {
				leaders = append(leaders, values[c][m][from:to]...)
			}
			slices.Sort(leaders)
			unit := 1.0
			if scaled {
				if unit = leaders[len(leaders)*9/10] - leaders[len(leaders)/10]; unit <= 0 {
					if unit = leaders[len(leaders)-1] - leaders[0]; unit <= 0 {
						unit = 1
					}
				}
			}
			for c := range values {
				scores[c] += one(values[c][m][from:to], leaders) / unit
			}
		}
		return scores
	}
}

// normal is what the best of four runs has in expectation if values were normal.
func normal(own, _ []float64) float64 {
	mean, squares := average(own), 0.0
	for _, v := range own {
		squares += (v - mean) * (v - mean)
	}
	return mean + 1.03*math.Sqrt(squares/float64(len(own)-1))
}

// bestOfFour is the mean of the best of four runs, over all choices of four.
func bestOfFour(own, _ []float64) float64 {
	v := slices.Sorted(slices.Values(own))
	sum, all := 0.0, 0.0
	for i := 3; i < len(v); i++ { // v[i] is the best of this many
		w := float64(i) * float64(i-1) * float64(i-2)
		sum, all = sum+w*v[i], all+w
	}
	return sum / all
}

// withLeaders is the mean of the best of one own run and three of the leaders'.
func withLeaders(own, leaders []float64) float64 {
	sum := 0.0
	n := float64(len(leaders))
	for _, v := range own {
		below := 0.0
		for i, w := range leaders {
			p := math.Pow(float64(i+1)/n, 3)
			sum += (p - below) * max(v, w) / float64(len(own))
			below = p
		}
	}
	return sum
}

func average(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}
