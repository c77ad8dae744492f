package construct

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"dace.local/dacelib/nir"
	"dace.local/dacelib/pgpe"
	"dace.local/dacelib/problem"
	"dace.local/dacelib/run"
)

// methods are the methods of [Build], the paper's first.
var methods = []struct {
	name  string
	build func(ctx context.Context, training []problem.Problem, class problem.Class, s Settings) (Result, error)
}{
	{"DACE", onTraining(DACE)},
	{"CEPS", CEPS},
	{"NoReg", onTraining(NoReg)},
	{"GLOBAL", onTraining(GLOBAL)},
	{"PARHYDRA", onTraining(PARHYDRA)},
	{"ONE", onTraining(One)},
	{"ONEx3", func(ctx context.Context, training []problem.Problem, _ problem.Class, s Settings) (Result, error) {
		s.Seeds = 3
		return One(ctx, training, s)
	}},
	{"FRESH", Fresh},
	{"GREEDY", onTraining(Greedy)},
	{"BEST", onTraining(Best)},
}

// onTraining returns a method that needs no class.
func onTraining(build func(context.Context, []problem.Problem, Settings) (Result, error)) func(context.Context, []problem.Problem, problem.Class, Settings) (Result, error) {
	return func(ctx context.Context, training []problem.Problem, _ problem.Class, s Settings) (Result, error) {
		return build(ctx, training, s)
	}
}

// Methods returns the names that [Build] accepts, the paper's methods first.
func Methods() []string {
	names := make([]string, len(methods))
	for i, m := range methods {
		names[i] = m.name
	}
	return names
}

// Build constructs a portfolio by one of [Methods]: method is "DACE", "CEPS", "NoReg",
// "GLOBAL", "PARHYDRA", "ONE", "ONEx3", "FRESH", "GREEDY" or "BEST", in upper or
// lower case. CEPS and FRESH need class, from which they draw instances. ONEx3 is
// [One] with three Seeds.
func Build(ctx context.Context, method string, class problem.Class, training []problem.Problem, s Settings) (Result, error) {
	for _, m := range methods {
		if strings.EqualFold(m.name, method) {
			return m.build(ctx, training, class, s)
		}
	}
	_, err := Method(method)
	return Result{}, err
}

// Method returns the spelling that [Methods] has for a name in any case.
func Method(name string) (string, error) {
	for _, m := range Methods() {
		if strings.EqualFold(m, name) {
			return m, nil
		}
	}
	return "", fmt.Errorf("construct: there is no method %q; the methods are %s", name, strings.Join(Methods(), ", "))
}

// Quick returns settings for a first look: two rounds on five instances of
// dimension 30 take some tens of seconds on two cores. Every number is far
// below the paper's.
func Quick() Settings {
	return Settings{
		Rounds: 2, Configurations: 30, Minings: 8, Trials: 60,
		NIR:  nir.Settings{Samples: 10_000, Batch: 64, Steps: 1500, NormaliseSample: 20_000},
		PGPE: pgpe.Settings{Pairs: 10, MaxIterations: 5},
	}
}

// Small returns settings for a run of minutes. With seed 1 on ccp, DACE took
// 267 s of processor time, and its portfolio was better than BRKGA-PAP on all
// of 40 unseen instances (means 1.046 and 1.002).
func Small() Settings {
	return Settings{
		Rounds: 3, Minings: 12, Trials: 200,
		NIR:  nir.Settings{Samples: 40_000, Batch: 128, Steps: 4000, NormaliseSample: 100_000},
		PGPE: pgpe.Settings{Pairs: 20, MaxIterations: 10},
	}
}

// Tenth returns settings with a tenth of the paper's numbers of trials,
// iterations and solutions, and with the paper's numbers of rounds and runs.
// For GLOBAL and PARHYDRA use [Scale].
func Tenth() Settings {
	return Settings{
		Trials: 160,
		NIR:    nir.Settings{Samples: 50_000, Steps: 6000, NormaliseSample: 1_000_000},
		PGPE:   pgpe.Settings{MaxIterations: 20},
	}
}

// Scales returns the names that [Scale] accepts, smallest first.
func Scales() []string { return []string{"quick", "small", "tenth", "paper"} }

// searches holds the paper's numbers of runs of SMAC and of trials per run, by
// class, for GLOBAL and PARHYDRA (section V-C).
var searches = map[string]map[string][2]int{
	"GLOBAL":   {"cimp": {75, 6_400}, "caop": {100, 6_400}, "ccp": {200, 51_200}},
	"PARHYDRA": {"cimp": {20, 12_800}, "caop": {100, 4_800}, "ccp": {200, 25_600}},
}

// Scale returns the settings of a scale: name is "quick", "small", "tenth" or
// "paper". method is one of [Methods], class the name of a problem class. For
// GLOBAL and PARHYDRA the paper's scale depends on the class; a class that the
// paper does not have gets the numbers of ccp. BEST has its own numbers of runs of
// SMAC and of trials at every scale. In the reading Published,
// PARHYDRA has the defaults of the authors' code.
func Scale(name, method, class string, reading run.Reading) (Settings, error) {
	method, err := Method(method)
	if err != nil {
		return Settings{}, err
	}
	of := map[string]func() Settings{"quick": Quick, "small": Small, "tenth": Tenth, "paper": func() Settings { return Settings{} }}
	make, ok := of[strings.ToLower(name)]
	if !ok {
		return Settings{}, fmt.Errorf("construct: there is no scale %q; the scales are %s", name, strings.Join(Scales(), ", "))
	}
	s := make()
	s.Reading = reading
	if byClass, ok := searches[method]; ok && !slices.Contains([]string{"quick", "small"}, name) {
		n, ok := byClass[class]
		if !ok {
			n = byClass["ccp"]
		}
		if method == "PARHYDRA" && reading == run.Published {
			n = [2]int{20, 6_400}
		}
		s.Minings, s.Trials = n[0], n[1]
		if name == "tenth" { // a tenth of the trials in all, in fewer runs
			s.Minings = (n[0] + 9) / 10
		}
	}
	if method == "BEST" { // with fewer trials than its own it is worse than DACE
		s.Minings, s.Trials = 0, 0
	}
	if method == "GREEDY" {
		s.Configurations = map[string]int{"quick": 200, "small": 1000}[name] // the default is 4000
	}
	return s, nil
}
