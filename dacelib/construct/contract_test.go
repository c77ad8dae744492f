package construct_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strings"
	"sync"
	"testing"

	"dace.local/dacelib/construct"
	"dace.local/dacelib/experiment"
	"dace.local/dacelib/landscape"
	"dace.local/dacelib/portfolio"
	"dace.local/dacelib/problem"
	"dace.local/dacelib/run"
)

// limited returns an instance of 16 bits in which no more than most ones may be
// chosen; the others are of value -Inf.
func limited(name string, most, offset int) problem.Problem {
	return problem.FromFunc(name, 16, func(x []bool) float64 {
		ones, sum := 0, 0.0
		for i, b := range x {
			if b {
				ones++
				sum += float64((i*7+offset)%11) + 1
			}
		}
		if ones > most {
			return math.Inf(-1)
		}
		return sum
	})
}

// sparse is a class of instances with solutions that must not be chosen. On
// those of index 2 a tenth of all may be, and short runs meet none.
func sparse() problem.Class {
	make := func(seed uint64, i int) (problem.Problem, error) {
		return limited(fmt.Sprintf("sparse/%d/%d", seed%1000, i), []int{9, 7, 5}[i%3], i+int(seed%5)), nil
	}
	return problem.Class{Name: "sparse", Train: make, Test: func(seed uint64, d, i int) (problem.Problem, error) { return make(seed, i) }, TrainDim: 16, TestDims: []int{16}}
}

// short are settings of well under a second.
func short(t *testing.T) construct.Settings {
	s := construct.Settings{Members: 2, Rounds: 2, Configurations: 4, Minings: 2, Trials: 6, Evaluations: 60, Seeds: 1, Dir: t.TempDir(), Seed: 3}
	s.NIR.Samples, s.NIR.Steps, s.NIR.Batch, s.NIR.NormaliseSample, s.NIR.Latent = 200, 20, 16, 400, 4
	s.PGPE.Pairs, s.PGPE.MaxIterations = 2, 2
	return s
}

// Solutions of value -Inf, which must not be chosen, are no obstacle to any
// method, to its record, and to tests and tables of its portfolio.
func TestMustNotBeChosen(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	class, ctx := sparse(), context.Background()
	set, err := class.NewSet(1, 3, 3)
	if err != nil {
		t.Fatal(err)
	}
	for _, method := range construct.Methods() {
		for _, reading := range []run.Reading{run.Written, run.Published} {
			s := short(t)
			s.Reading = reading
			r, err := construct.Build(ctx, method, class, set.Training, s)
			if err != nil {
				t.Errorf("%s, %v: %v", method, reading, err)
				continue
			}
			if _, err := json.Marshal(r); err != nil {
				t.Errorf("%s: its result as JSON: %v", method, err)
			}
			if _, err := construct.Read(s.Dir); err != nil {
				t.Errorf("%s: its record: %v", method, err)
			}
			if again, err := construct.Build(ctx, method, class, set.Training, s); err != nil || !reflect.DeepEqual(again.Portfolio, r.Portfolio) {
				t.Errorf("%s, %v: gone on with: %v, %v", method, reading, again.Portfolio, err)
			}
		}
	}
	paps := []portfolio.Portfolio{portfolio.BRKGAPAP(), {Name: "random", Members: portfolio.Random(1, 2)}}
	ts := experiment.Settings{Sample: 500, Evaluations: 4, Repeats: 9, File: t.TempDir() + "/tests.jsonl"}
	records, err := experiment.Test(ctx, set, experiment.Entries(paps), ts)
	if err != nil {
		t.Fatal(err)
	}
	infinite := false
	for _, r := range records {
		infinite = infinite || math.IsInf(r.Mean, -1)
	}
	if again, err := experiment.Read(ts.File); err != nil || !reflect.DeepEqual(again, records) || !infinite {
		t.Errorf("records read: %v, with -Inf: %v\n%v\nwant\n%v", err, infinite, again, records)
	}
	table, err := experiment.Tabulate(records, "")
	if err != nil || strings.Contains(table.String(), "+Inf") {
		t.Errorf("table: %v\n%v", err, table)
	}
	found, err := paps[0].Run(ctx, set.Test, portfolio.Settings{Evaluations: 4, Repeats: 3})
	if err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(found)
	var again []portfolio.Result
	if err != nil || json.Unmarshal(b, &again) != nil || !reflect.DeepEqual(again, found) {
		t.Errorf("a portfolio's results as JSON: %v, %s", err, b)
	}
	if _, err := landscape.Extract(ctx, set.Test, landscape.Settings{Solutions: 2000, Pairs: 20_000}); err != nil {
		t.Errorf("features: %v", err)
	}
}

// Fresh instances without solutions that may be chosen are passed over, where there
// are others; a training instance of that kind ends a construction with a word.
func TestNothingToChoose(t *testing.T) {
	class, ctx := sparse(), context.Background()
	train := class.Train
	class.Train = func(seed uint64, i int) (problem.Problem, error) {
		if i >= 3 && i%2 == 0 {
			return limited(fmt.Sprintf("none/%d", i), -1, i), nil
		}
		return train(seed, i)
	}
	set, err := class.NewSet(1, 3, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, method := range []string{"CEPS", "FRESH"} {
		r, err := construct.Build(ctx, method, class, set.Training, short(t))
		if err != nil || len(r.Instances) < 4 {
			t.Errorf("%s: %d instances, %v", method, len(r.Instances), err)
		}
		for _, i := range r.Instances {
			if strings.HasPrefix(i.Name, "none") {
				t.Errorf("%s: %s was kept", method, i.Name)
			}
		}
	}
	for _, method := range construct.Methods() {
		none := []problem.Problem{set.Training[0], limited("none", -1, 0)}
		_, err := construct.Build(ctx, method, class, none, short(t))
		if err == nil || !strings.Contains(err.Error(), "none") || !strings.Contains(err.Error(), "-Inf") {
			t.Errorf("%s: %v", method, err)
		}
	}
}

// A budget is kept, counted at the instances themselves, or refused with the least
// that can be kept, which then is; nothing is evaluated or recorded before.
func TestBudgetKept(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	ctx := context.Background()
	for _, method := range construct.Methods() {
		for _, reading := range []run.Reading{run.Written, run.Published} {
			for _, share := range []float64{0, 0.55} {
				if share > 0 && reading == run.Published {
					continue
				}
				build := func(b construct.Budget, dir string) (made int, err error) {
					var training []problem.Problem
					var counted []*problem.Counted
					count := func(p problem.Problem) problem.Problem {
						c := problem.Count(p, 0)
						counted = append(counted, c)
						return c
					}
					for i := range 3 {
						training = append(training, count(limited(fmt.Sprint("t", i), 12, i)))
					}
					class := sparse()
					var mu sync.Mutex
					class.Train = func(seed uint64, i int) (problem.Problem, error) {
						mu.Lock()
						defer mu.Unlock()
						return count(limited(fmt.Sprint("c", i), 12, i)), nil
					}
					s := short(t)
					s.Dir, s.Reading, s.Share, s.Budget = dir, reading, share, b
					s.Configurations, s.Evaluations, s.NIR.Samples = 5, 10, 0
					if method == "BEST" {
						s.Seeds = 2
					}
					_, err = construct.Build(ctx, method, class, training, s)
					for _, c := range counted {
						made += c.Evaluations()
					}
					return made, err
				}
				dir := t.TempDir()
				least := 0
				for _, e := range []int{1, 50, 500, 3000} {
					made, err := build(construct.Budget{Evaluations: e}, dir)
					switch {
					case err == nil:
						if made > e || least > e {
							t.Errorf("%s, %v, share %v: %d evaluations of a budget of %d; the least was %d", method, reading, share, made, e, least)
						}
						dir = t.TempDir()
					case made > 0:
						t.Errorf("%s: %d evaluations before %v", method, made, err)
					default:
						if _, said, ok := strings.Cut(err.Error(), "can keep is "); !ok {
							t.Fatalf("%s, %d: %v", method, e, err)
						} else if _, e := fmt.Sscan(said, &least); e != nil {
							t.Fatalf("%s: %v", method, err)
						}
					}
				}
				if least == 0 {
					t.Errorf("%s keeps any budget", method)
				}
				for e, fits := range map[int]bool{least: true, least - 1: false} {
					if made, err := build(construct.Budget{Evaluations: e}, t.TempDir()); (err == nil) != fits || made > e {
						t.Errorf("%s, %v, share %v: %d evaluations of a budget of %d, where the least is %d: %v", method, reading, share, made, e, least, err)
					}
				}
				if _, err := build(construct.Budget{Runs: 1}, ""); err == nil || !strings.Contains(err.Error(), "Budget.Runs is 1") {
					t.Errorf("%s, one run: %v", method, err)
				}
			}
		}
	}
}
