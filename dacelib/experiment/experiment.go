// Package experiment is the paper's protocol (section V): instance sets, the
// construction of portfolios, their test on unseen instances, and the tables
// of the outcome, at the paper's scale or a smaller one.
//
// Start with a [Scale] and [Build] for a portfolio, or with portfolios that
// there are; [Test] runs them on the test instances of a problem.Set and keeps
// [Record]s in a file, so that an interrupted test goes on where it stopped;
// [Tabulate] makes the paper's two tables of them.
package experiment

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strings"

	"dace.local/dacelib/construct"
	"dace.local/dacelib/nir"
	"dace.local/dacelib/pgpe"
	"dace.local/dacelib/portfolio"
	"dace.local/dacelib/problem"
	"dace.local/dacelib/run"
)

// A Scale is the size of an experiment.
type Scale struct {
	// Name of the scale.
	Name string
	// Training is the number of training instances, Test that of test
	// instances of each dimension.
	Training, Test int
	// Sample is the number of uniform solutions by which a test instance is
	// normalised.
	Sample int
	// Run is how portfolios are tested.
	Run portfolio.Settings
	// Construct is how they are built.
	Construct construct.Settings
}

// Paper is the scale of the paper. A construction by DACE takes hours.
func Paper() Scale {
	return Scale{Name: "paper", Training: 5, Test: 50, Sample: 1_000_000}
}

// Small is a scale between. With seed 1 on ccp, a construction by DACE took 267 s
// of processor time, and its portfolio was above BRKGA-PAP on all of 40 unseen
// instances (means 1.046 and 1.002).
func Small() Scale {
	return Scale{
		Name: "small", Training: 5, Test: 20, Sample: 1_000_000,
		Construct: construct.Settings{
			Rounds: 3, Minings: 12, Trials: 200,
			NIR:  nir.Settings{Samples: 40_000, Batch: 128, Steps: 4000, NormaliseSample: 100_000},
			PGPE: pgpe.Settings{Pairs: 20, MaxIterations: 10},
		},
	}
}

// Quick is for a first look. With seed 1 on ccp, a construction by DACE took 32 s
// of processor time, and its portfolio was above BRKGA-PAP on all of 20 unseen
// instances (means 1.074 and 1.036).
func Quick() Scale {
	return Scale{Name: "quick", Training: 5, Test: 10, Sample: 100_000, Construct: construct.Quick()}
}

// Methods returns the names that [Build] knows.
func Methods() []string {
	return []string{"DACE", "CEPS", "GLOBAL", "PARHYDRA", "NoReg", "BRKGA-PAP", "SMARTEST-PAP"}
}

// Build constructs a portfolio by the method of a name, from the training
// instances of a set of the class. BRKGA-PAP and SMARTEST-PAP need no
// construction.
func Build(ctx context.Context, method string, class problem.Class, set problem.Set, s construct.Settings) (construct.Result, error) {
	switch method {
	case "DACE":
		return construct.DACE(ctx, set.Training, s)
	case "CEPS":
		return construct.CEPS(ctx, set.Training, class, s)
	case "GLOBAL":
		return construct.GLOBAL(ctx, set.Training, s)
	case "PARHYDRA":
		return construct.PARHYDRA(ctx, set.Training, s)
	case "NoReg":
		return construct.NoReg(ctx, set.Training, s)
	case "BRKGA-PAP":
		return construct.Result{Method: method, Portfolio: portfolio.BRKGAPAP(), Status: run.BudgetSpent}, nil
	case "SMARTEST-PAP":
		return construct.Result{Method: method, Portfolio: portfolio.SMARTESTPAP(), Status: run.BudgetSpent}, nil
	}
	return construct.Result{}, fmt.Errorf("experiment: there is no method %q; the methods are %s", method, strings.Join(Methods(), ", "))
}

// A Record is a portfolio's test on one instance, with all that is needed to
// repeat it but the instance itself.
type Record struct {
	// Class and Seed of the instance set, and the instance's name.
	Class    string `json:"class"`
	Seed     uint64 `json:"seed"`
	Instance string `json:"instance"`
	Dim      int    `json:"dim"`
	// Method is the portfolio's name, Portfolio its members.
	Method    string `json:"method"`
	Portfolio string `json:"portfolio"`
	// Sample and Range: the normalisation of Eq. 11. Evaluations and RunSeed:
	// the runs.
	Sample      int             `json:"sample"`
	Range       portfolio.Range `json:"range"`
	Evaluations int             `json:"evaluations"`
	RunSeed     uint64          `json:"run_seed"`
	// Values are the normalised qualities of the repeats, Mean their mean.
	Values []float64 `json:"values"`
	Mean   float64   `json:"mean"`
}

// key tells records apart.
func (r Record) key(repeats int) string {
	return fmt.Sprint(r.Class, "|", r.Seed, "|", r.Instance, "|", r.Method, "|", r.Portfolio, "|", r.Sample, "|", r.Evaluations, "|", r.RunSeed, "|", repeats)
}

// Test runs every portfolio on every test instance of the set, at a scale. If
// file is not empty, records are appended to it, a JSON line each, and what it
// holds already is not run again. On an error, and on the end of ctx, the
// records so far are returned with it. onEvent may be nil.
func Test(ctx context.Context, set problem.Set, portfolios []portfolio.Portfolio, scale Scale, file string, onEvent func(run.Event)) ([]Record, error) {
	s := scale.Run
	if s.Evaluations == 0 {
		s.Evaluations = 800
	}
	if s.Repeats == 0 {
		s.Repeats = 20
	}
	s.OnEvent = nil
	names := map[string]bool{}
	for _, p := range portfolios {
		if err := p.Check(); err != nil {
			return nil, err
		}
		if names[p.Name] {
			return nil, fmt.Errorf("experiment: two portfolios are called %q; give each a name of its own", p.Name)
		}
		names[p.Name] = true
	}
	known := map[string]Record{}
	var out *os.File
	if file != "" {
		old, err := Read(file)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, err
		}
		for _, r := range old {
			known[r.key(len(r.Values))] = r
		}
		if out, err = openLines(file); err != nil {
			return nil, err
		}
		defer out.Close()
	}
	var records []Record
	for i, instance := range set.Test {
		var normalised []problem.Problem
		for k, p := range portfolios {
			r := Record{
				Class: set.Class, Seed: set.Seed, Instance: instance.Name(), Dim: instance.Dim(),
				Method: p.Name, Portfolio: strings.TrimSpace(strings.TrimPrefix(p.String(), p.Name)),
				Sample: scale.Sample, Evaluations: s.Evaluations, RunSeed: s.Seed,
			}
			if old, ok := known[r.key(s.Repeats)]; ok {
				records = append(records, old)
				continue
			}
			if normalised == nil {
				var err error
				if normalised, err = portfolio.Normalise(ctx, []problem.Problem{instance}, scale.Sample, set.Seed); err != nil {
					return records, err
				}
			}
			found, err := p.Run(ctx, normalised, s)
			if err != nil {
				return records, err
			}
			r.Range, r.Values, r.Mean = normalised[0].(*portfolio.Instance).Range(), found[0].Values, found[0].Mean
			records = append(records, r)
			if out != nil {
				b, err := json.Marshal(r)
				if err == nil {
					_, err = out.Write(append(b, '\n'))
				}
				if err != nil {
					return records, fmt.Errorf("experiment: writing %s: %w", file, err)
				}
			}
			if onEvent != nil {
				onEvent(run.Event{Stage: "test", Step: i*len(portfolios) + k + 1, Total: len(set.Test) * len(portfolios), Value: r.Mean, Best: math.NaN(), Detail: p.Name + " on " + r.Instance})
			}
		}
	}
	return records, nil
}

// Read reads the records of a file. A last line that was not finished is left
// out.
func Read(file string) ([]Record, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return ReadFrom(f)
}

// ReadFrom reads records, a JSON line each.
func ReadFrom(r io.Reader) ([]Record, error) {
	var records []Record
	b := bufio.NewReader(r)
	for n := 1; ; n++ {
		line, err := b.ReadBytes('\n')
		if err == io.EOF {
			return records, nil
		}
		if err != nil {
			return records, err
		}
		var rec Record
		if err := json.Unmarshal(line, &rec); err != nil {
			return records, fmt.Errorf("experiment: line %d is no record: %w", n, err)
		}
		if len(rec.Values) == 0 {
			return records, fmt.Errorf("experiment: line %d: a record without values", n)
		}
		records = append(records, rec)
	}
}

// openLines opens a file of lines for appending, and cuts off a last line that
// was not finished.
func openLines(file string) (*os.File, error) {
	f, err := os.OpenFile(file, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	b, err := io.ReadAll(f)
	if err == nil {
		end := int64(strings.LastIndexByte(string(b), '\n') + 1)
		if err = f.Truncate(end); err == nil {
			_, err = f.Seek(end, io.SeekStart)
		}
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}
