package experiment_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"dace.local/dacelib/brkga"
	"dace.local/dacelib/construct"
	"dace.local/dacelib/experiment"
	"dace.local/dacelib/forest"
	"dace.local/dacelib/landscape"
	"dace.local/dacelib/nir"
	"dace.local/dacelib/pgpe"
	"dace.local/dacelib/portfolio"
	"dace.local/dacelib/problem"
	"dace.local/dacelib/problem/ccp"
	"dace.local/dacelib/problem/onemax"
	"dace.local/dacelib/smac"
	"dace.local/dacelib/smartest"
)

// TestBounds checks that settings far beyond any memory are refused by every
// package before anything is allocated, with the name of the field and its bound.
func TestBounds(t *testing.T) {
	const huge = 1 << 36
	ctx := t.Context()
	ones := onemax.Random(1, 20)
	wide := problem.FromFunc("wide", problem.MaxDim, func([]bool) float64 { return 0 })
	two := []problem.Problem{ones, onemax.Random(2, 20)}
	member := portfolio.BRKGA("p", []brkga.Config{brkga.Default()})
	space := smac.Space{Params: []smac.Param{{Name: "x", Kind: smac.Float, Hi: 1}}}
	build := func(s construct.Settings) error {
		_, err := construct.GLOBAL(context.Background(), two, s)
		return err
	}
	for _, c := range []struct {
		want string // is part of the error
		call func() error
	}{
		{"FromFunc with dimension", func() error { problem.FromFunc("f", 1e12, func([]bool) float64 { return 0 }); return nil }},
		{"FromBatch with dimension", func() error { problem.FromBatch("f", 1e12, func([]float64, problem.Solutions) {}); return nil }},
		{"NewSolutions", func() error { problem.NewSolutions(huge, 100); return nil }},
		{"NewSolutions with dimension", func() error { problem.NewSolutions(1, huge); return nil }},
		{"NewSolutions", func() error { problem.Random(rand.New(rand.NewPCG(1, 1)), huge, 100); return nil }},
		{"a batch", func() error { _, err := problem.Distinct(rand.New(rand.NewPCG(1, 1)), huge, 100); return err }},
		{"dimension", func() error { onemax.Random(1, huge); return nil }},
		{"Settings.Dim", func() error { _, err := ccp.Generate(1, ccp.Settings{Dim: huge}); return err }},
		{"Simulations", func() error { _, err := ccp.Generate(1, ccp.Settings{Simulations: huge}); return err }},
		{"Config.Elites", func() error { return runBRKGA(ones, brkga.Config{Elites: huge, Offspring: 1, Mutants: 1}) }},
		{"Config.Offspring", func() error { return runBRKGA(ones, brkga.Config{Elites: 1, Offspring: huge, Mutants: 1}) }},
		{"Config.Mutants", func() error { return runBRKGA(ones, brkga.Config{Elites: 1, Offspring: 1, Mutants: huge}) }},
		{"at most 64 individuals", func() error { return runBRKGA(wide, brkga.Default()) }},
		{"Settings.Pairs", func() error { return minimise(make([]float64, 10), pgpe.Settings{Pairs: huge}) }},
		{"Settings.Pairs", func() error { return minimise(make([]float64, 1<<16), pgpe.Settings{Pairs: 1 << 19}) }},
		{"Settings.MaxIterations", func() error { return minimise(make([]float64, 10), pgpe.Settings{MaxIterations: huge}) }},
		{"Settings.Trials", func() error { return minimiseSMAC(smac.Settings{Space: space, Trials: huge}) }},
		{"2^24", func() error { return minimiseSMAC(smac.Settings{Space: space, Candidates: huge}) }},
		{"2^20", func() error { _, err := smac.New(smac.Settings{Space: space, Instances: huge}); return err }},
		{"Settings.LocalStarts", func() error { return minimiseSMAC(smac.Settings{Space: space, LocalStarts: huge}) }},
		{"Settings.RefitEvery", func() error { return minimiseSMAC(smac.Settings{Space: space, RefitEvery: huge}) }},
		{"Settings.Forest.Trees", func() error { return minimiseSMAC(smac.Settings{Space: space, Forest: forest.Settings{Trees: huge}}) }},
		{"Settings.Trees", func() error {
			_, err := forest.Fit([]float64{1}, []float64{1}, 1, forest.Settings{Trees: huge})
			return err
		}},
		{"Config.Population", func() error {
			_, err := smartest.Run(ctx, ones, smartest.Settings{Config: smartest.Config{Population: huge}})
			return err
		}},
		{"Settings.Evaluations", func() error { _, err := smartest.Run(ctx, ones, smartest.Settings{Evaluations: huge}); return err }},
		{"Settings.Trees", func() error { _, err := smartest.Run(ctx, ones, smartest.Settings{Trees: huge}); return err }},
		{"Settings.Solutions", func() error { _, err := landscape.Measure(ctx, ones, landscape.Settings{Solutions: huge}); return err }},
		{"Settings.Pairs", func() error { _, err := landscape.Measure(ctx, ones, landscape.Settings{Pairs: huge}); return err }},
		{"Settings.Repeats", func() error { _, err := member.Run(ctx, two, portfolio.Settings{Repeats: huge}); return err }},
		{"2^24", func() error { portfolio.Random(1, huge); return nil }},
		{"Settings.Repeats", func() error {
			set := problem.Set{Test: two}
			_, err := experiment.Test(ctx, set, []experiment.Entry{{Portfolio: member}}, experiment.Settings{Sample: 10, Repeats: huge})
			return err
		}},
		{"Settings.Samples", func() error { _, err := nir.Train(ctx, two, nir.Settings{Samples: huge}); return err }},
		{"Batch", func() error { _, err := nir.Train(ctx, two, nir.Settings{Batch: huge}); return err }},
		{"Settings.Latent", func() error { _, err := nir.Train(ctx, two, nir.Settings{Latent: huge}); return err }},
		{"Settings.EmbeddingSize", func() error { _, err := nir.Train(ctx, two, nir.Settings{EmbeddingSize: huge}); return err }},
		{"Settings.NormaliseSample", func() error { _, err := nir.Train(ctx, two, nir.Settings{NormaliseSample: huge}); return err }},
		{"instances", func() error { _, err := nir.Random(10, huge, nir.Settings{}); return err }},
		{"Settings.Members", func() error { return build(construct.Settings{Members: huge}) }},
		{"Settings.Rounds", func() error { return build(construct.Settings{Rounds: huge}) }},
		{"Settings.Configurations", func() error { return build(construct.Settings{Configurations: huge}) }},
		{"Settings.Minings", func() error { return build(construct.Settings{Minings: huge}) }},
		{"Settings.Trials", func() error { return build(construct.Settings{Trials: huge}) }},
		{"Settings.Seeds", func() error { return build(construct.Settings{Seeds: huge}) }},
		{"Settings.Fresh", func() error { return build(construct.Settings{Fresh: huge}) }},
	} {
		err := func() (err error) {
			defer func() {
				if v := recover(); v != nil {
					err = fmt.Errorf("panic: %v", v)
				}
			}()
			return c.call()
		}()
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want an error that names %s", err, c.want)
		}
	}
}

func runBRKGA(p problem.Problem, c brkga.Config) error {
	_, err := brkga.Run(context.Background(), p, brkga.Settings{Config: c})
	return err
}

func minimise(start []float64, s pgpe.Settings) error {
	_, err := pgpe.Run(context.Background(), start, func(context.Context, []float64, [][]float64) error { return nil }, s)
	return err
}

func minimiseSMAC(s smac.Settings) error {
	_, err := smac.Run(context.Background(), func(context.Context, []float64) (float64, error) { return 0, nil }, s)
	return err
}
