package construct_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strings"
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
	paps := []portfolio.Portfolio{portfolio.BRKGAPAP(), {Name: "random", Configs: portfolio.Random(1, 2)}}
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
