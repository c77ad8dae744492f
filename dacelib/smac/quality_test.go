package smac

import (
	"flag"
	"fmt"
	"math"
	"slices"
	"testing"

	"dace.local/dacelib/problem"
	"dace.local/dacelib/run"
	"dace.local/dacelib/stats"
)

var quality = flag.String("quality", "", "compare the schedules of fits: \"functions\", \"long\" or \"ccp\", some minutes each")

// CCP holds what a test outside the package sets, because the solver imports
// package smac: training instances, and the value of a run of BRKGA.
var CCP struct {
	Instances func(t testing.TB) []problem.Problem
	Run       func(p problem.Problem, config []float64) (float64, error)
}

// ccpCost returns the cost of k configurations of BRKGA on five training
// instances of CCP: minus the mean over the instances of the best normalised
// value.
func ccpCost(t testing.TB, k int) function {
	t.Helper()
	instances := CCP.Instances(t)
	f := theta(k)
	f.name = fmt.Sprintf("ccp, theta^%d", k)
	f.minimum = math.Inf(-1)
	f.f = func(c []float64) float64 {
		sum := 0.0
		for _, p := range instances {
			best := math.Inf(-1)
			for m := 0; m < len(c); m += 5 {
				v, err := CCP.Run(p, c[m:m+5])
				if err != nil {
					t.Error(err)
				}
				best = max(best, v)
			}
			sum += best
		}
		return -sum / float64(len(instances))
	}
	return f
}

// TestScheduleQuality compares the results of three schedules: runs that fit
// the model anew at every batch, as SMAC does, runs that do so up to 1,600
// configurations, and runs that do so up to 200. It prints the median cost and
// the two-sided p of the rank-sum test over seeds. Up to 1,600 configurations
// the first two are the same; over Theta^4 with the function of the benchmarks,
// 3,200 trials ended at 11.7 and 15.7 (medians of eight seeds). With a fit
// after 10 % growth throughout, 1,600 ended at 38.7 and 51.9. The test takes
// long and only runs with its flag:
//
//	go test ./dacelib/smac -run ScheduleQuality -quality functions -timeout 1h
func TestScheduleQuality(t *testing.T) {
	type row struct {
		f             function
		trials, seeds int
	}
	var rows []row
	switch *quality {
	case "":
		t.Skip("a comparison for -quality")
	case "functions":
		for _, f := range append(functions(), theta(1), theta(4)) {
			rows = append(rows, row{f, 200, 40}, row{f, 800, 24}, row{f, 1600, 12})
		}
	case "long":
		rows = []row{{theta(4), 3200, 8}}
	case "ccp":
		rows = []row{{ccpCost(t, 1), 400, 12}, {ccpCost(t, 1), 1600, 8}, {ccpCost(t, 4), 1600, 4}}
	default:
		t.Fatalf("-quality %s: there are \"functions\", \"long\" and \"ccp\"", *quality)
	}
	schedules := []int{-1, 0, 200}
	fmt.Printf("%-14s %7s %6s %14s %14s %6s %14s %6s\n", "function", "trials", "seeds", "every batch", "default", "p", "from 200", "p")
	for _, r := range rows {
		costs := make([][]float64, len(schedules))
		for i, from := range schedules {
			costs[i] = make([]float64, r.seeds)
			err := run.Each(0, r.seeds, func(seed int) error {
				costs[i][seed] = r.f.run(t, Settings{Trials: r.trials, Seed: uint64(seed), RefitFrom: from}).Cost
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		line := fmt.Sprintf("%-14s %7d %6d", r.f.name, r.trials, r.seeds)
		for i, c := range costs {
			s := slices.Sorted(slices.Values(c))
			line += fmt.Sprintf(" %14.5g", (s[len(s)/2]+s[(len(s)-1)/2])/2)
			if i > 0 {
				p, err := stats.MannWhitney(costs[0], c, stats.MannWhitneySettings{})
				if err != nil {
					t.Fatal(err)
				}
				line += fmt.Sprintf(" %6.2f", p.PValue)
			}
		}
		fmt.Println(line)
	}
}
