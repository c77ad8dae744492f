package dacelib_test

import (
	"context"
	"slices"
	"sync"
	"testing"

	"dace.local/dacelib/brkga"
	"dace.local/dacelib/construct"
	"dace.local/dacelib/experiment"
	"dace.local/dacelib/landscape"
	"dace.local/dacelib/nir"
	"dace.local/dacelib/pgpe"
	"dace.local/dacelib/portfolio"
	"dace.local/dacelib/problem"
	"dace.local/dacelib/problem/onemax"
	"dace.local/dacelib/problem/problemtest"
	"dace.local/dacelib/run"
	"dace.local/dacelib/similarity"
	"dace.local/dacelib/smac"
	"dace.local/dacelib/smartest"
)

// TestProgress calls what may take long with a context that wants reports of
// progress. Each call reports once, also if it makes other runs, and not after
// its end.
func TestProgress(t *testing.T) {
	p, q := onemax.Random(1, 12), onemax.Random(2, 12)
	both := []problem.Problem{p, q}
	config := brkga.Config{Elites: 2, Offspring: 3, Mutants: 1, Bias: 0.7}
	small := nir.Settings{Samples: 100, Steps: 4, Batch: 10, NormaliseSample: 100}
	model, err := nir.Train(t.Context(), both, small)
	if err != nil {
		t.Fatal(err)
	}
	space := smac.Space{Params: []smac.Param{{Name: "x", Kind: smac.Float, Lo: 0, Hi: 1}}}
	pap := portfolio.BRKGA("PAP", []brkga.Config{config})
	for name, f := range map[string]func(ctx context.Context) error{
		"brkga": func(ctx context.Context) error {
			_, err := brkga.Run(ctx, p, brkga.Settings{Config: config, Evaluations: 30})
			return err
		},
		"brkga, many": func(ctx context.Context) error {
			_, err := brkga.RunAll(ctx, []brkga.Job{{Problem: p, Settings: brkga.Settings{Config: config, Evaluations: 30}}, {Problem: q}}, 2)
			return err
		},
		"SMARTEST": func(ctx context.Context) error {
			_, err := smartest.Run(ctx, p, smartest.Settings{Evaluations: 60})
			return err
		},
		"SMAC": func(ctx context.Context) error {
			_, err := smac.Run(ctx, func(_ context.Context, x []float64) (float64, error) { return x[0], nil }, smac.Settings{Space: space, Trials: 10})
			return err
		},
		"training":  func(ctx context.Context) error { _, err := nir.Train(ctx, both, small); return err },
		"ranges":    func(ctx context.Context) error { _, err := model.Normalise(ctx, model.Embeddings()); return err },
		"embedding": func(ctx context.Context) error { _, err := model.Embed(ctx, p); return err },
		"similarity": func(ctx context.Context) error {
			_, err := similarity.Of(ctx, both, similarity.Settings{Samples: 100})
			return err
		},
		"landscapes": func(ctx context.Context) error {
			_, err := similarity.Features(ctx, both, similarity.Settings{Samples: 100})
			return err
		},
		"sampling": func(ctx context.Context) error { _, err := nir.SampleData(ctx, p, 100, 1); return err },
		"fit":      func(ctx context.Context) error { _, err := nir.CheckFit(ctx, model, both, 100, 1); return err },
		"comparing": func(ctx context.Context) error {
			_, err := nir.CompareAll(ctx, p, both, 100, 1)
			return err
		},
		"pgpe": func(ctx context.Context) error {
			_, err := construct.Harder(ctx, model, model.Embeddings()[0], pap, pgpe.Settings{Pairs: 1, MaxIterations: 1})
			return err
		},
		"normalise": func(ctx context.Context) error { _, err := portfolio.Normalise(ctx, both, 100, 1); return err },
		"portfolio": func(ctx context.Context) error {
			_, err := pap.Run(ctx, both, portfolio.Settings{Evaluations: 30, Repeats: 2})
			return err
		},
		"matrix": func(ctx context.Context) error {
			_, err := portfolio.Measure(ctx, pap.Members, both, portfolio.Settings{Evaluations: 30})
			return err
		},
		"landscape": func(ctx context.Context) error {
			_, err := landscape.Extract(ctx, both, landscape.Settings{Solutions: 100, Pairs: 1000})
			return err
		},
		"check": func(ctx context.Context) error { return problemtest.Check(ctx, p, problemtest.Settings{}) },
		"test": func(ctx context.Context) error {
			set, err := onemax.Class(12).NewSet(1, 1, 1)
			if err != nil {
				return err
			}
			_, err = experiment.Test(ctx, set, []experiment.Entry{{Portfolio: pap}}, experiment.Settings{Sample: 100, Evaluations: 30, Repeats: 2})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			var mu sync.Mutex // guards log
			var log []string
			note := func(what string) {
				mu.Lock()
				defer mu.Unlock()
				log = append(log, what)
			}
			ctx := run.WithProgress(t.Context(), func(string) (func(run.Event), func()) {
				note("begin")
				return func(run.Event) { note("event") }, func() { note("end") }
			})
			if err := f(ctx); err != nil {
				t.Fatal(err)
			}
			want := []string{"begin", "event", "end"}
			if name == "ranges" { // has events after half a second
				log = slices.DeleteFunc(log, func(s string) bool { return s == "event" })
				want = []string{"begin", "end"}
			}
			if got := slices.Compact(log); !slices.Equal(got, want) {
				t.Errorf("%q", got)
			}
		})
	}
}
