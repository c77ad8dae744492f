package external_test

import (
	"context"
	"errors"
	"math"
	"os/exec"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	"dace.local/dacelib/construct"
	"dace.local/dacelib/files"
	"dace.local/dacelib/problem"
	"dace.local/dacelib/problem/onemax"
	"dace.local/dacelib/solver"
	"dace.local/dacelib/solver/external"
)

func load(t *testing.T, path string) *external.Scenario {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("a shell's program")
	}
	s, err := external.LoadScenario(path)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestIraceScenario(t *testing.T) {
	t.Parallel()
	s := load(t, "testdata/irace/scenario.txt")
	dir, _ := filepath.Abs("testdata/irace")
	if want := []string{dir + "/instances/a.txt", dir + "/instances/b.txt"}; !reflect.DeepEqual(s.Training, want) || !reflect.DeepEqual(s.Test, want[:1]) {
		t.Errorf("instances %q and %q", s.Training, s.Test)
	}
	if s.Runs != 120 || s.Runner.Timeout != 20*time.Second || !reflect.DeepEqual(s.Unused, []string{"debugLevel", "elitist"}) {
		t.Errorf("%d runs, %v, %q", s.Runs, s.Runner.Timeout, s.Unused)
	}
	own, err := s.Runner.Solver("irace-climber")
	if err != nil {
		t.Fatal(err)
	}
	solver.Register(own)
	ps := s.Instances()
	c := parse(t, "irace-climber")
	first, err := solver.Run(t.Context(), solver.Job{Problem: ps[0], Config: c, Seed: 3})
	if err != nil {
		t.Fatal(err)
	}
	if first.Value > 0 || first.Value < -15 || first.Evaluations != 800 {
		t.Errorf("%+v", first)
	}
	again, err := solver.RunAll(t.Context(), []solver.Job{{Problem: ps[0], Config: c, Seed: 3}, {Problem: ps[0], Config: c, Seed: 4}}, 2)
	if err != nil || again[0].Value != first.Value {
		t.Errorf("%v, %v: not that of the first run, %v", again, err, first.Value)
	}
	r, err := construct.Best(t.Context(), ps, construct.Settings{Solvers: []solver.Solver{own}, Evaluations: 1, Budget: construct.Budget{Runs: s.Runs}, Members: 2, Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Portfolio.Members) != 2 || r.Cost.Runs > 120 || r.Cost.Runs < 60 {
		t.Errorf("%v after %d runs", r.Portfolio, r.Cost.Runs)
	}
	for _, m := range r.Portfolio.Members {
		if m.Values()["walk"] == "down" {
			t.Errorf("%v goes down", m)
		}
	}
}

func TestSMACScenario(t *testing.T) {
	t.Parallel()
	s := load(t, "testdata/smac/scenario.txt")
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("no python3")
	}
	if s.Runs != 80 || s.Seconds != 600 || s.Runner.Runtime || s.Runner.Cutoff != 5 || !reflect.DeepEqual(s.Training, []string{"011010110100110 0", "110010110101101 7 x"}) {
		t.Errorf("%+v", s)
	}
	own, err := s.Runner.Solver("smac-climber")
	if err != nil {
		t.Fatal(err)
	}
	solver.Register(own)
	c := parse(t, "smac-climber{walk: random, sp-steps: 64, chance: 0.01, flips: one}")
	best := math.Inf(-1)
	results, err := solver.RunAll(t.Context(), []solver.Job{{Problem: s.Instances()[1], Config: c}, {Problem: s.Instances()[1], Config: c, Seed: 9}}, 2)
	for _, r := range results {
		best = max(best, r.Value)
	}
	if err != nil || best < -2 {
		t.Errorf("%v, %v", results, err)
	}
}

// runner writes a shell's script and returns a runner of it, without parameters
// but "a".
func runner(t *testing.T, script string) external.Runner {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("a shell's program")
	}
	path := filepath.Join(t.TempDir(), "run.sh")
	if err := files.WriteProgram(path, []byte("#!/bin/sh\n"+script)); err != nil {
		t.Fatal(err)
	}
	p, err := external.ParseIrace(`a "-a " i (1, 9)`)
	if err != nil {
		t.Fatal(err)
	}
	return external.Runner{Args: []string{path}, Params: p}
}

func parse(t *testing.T, text string) solver.Config {
	t.Helper()
	c, err := solver.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// once runs a runner's solver on an instance, with the default configuration.
// named is the configuration of a solver that need not be registered.
func named(t *testing.T, name string) solver.Config {
	t.Helper()
	c, err := solver.New(name, nil)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func once(ctx context.Context, t *testing.T, r external.Runner) (solver.Result, error) {
	t.Helper()
	s, err := r.Solver("one")
	if err != nil {
		t.Fatal(err)
	}
	results, err := s.Run(ctx, []solver.Job{{Problem: external.Instance("'the instance' 2"), Config: named(t, "one")}}, 1)
	return results[0], err
}

func TestOutputs(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		convention external.Convention
		script     string
		value      float64
		err        string
	}{
		{0, `echo 1.5`, -1.5, ""},
		{0, `echo "2 0.25"`, -2, ""},
		{0, `printf 'Inf\n'`, math.Inf(-1), ""},
		{0, `echo "$4|$5|$6|$7|$#" >&2; exit 7`, 0, "the instance|2|-a|5|7"},
		{0, `echo "$DACE_EVALUATIONS"`, -800, ""},
		{0, `:`, 0, "printed nothing"},
		{0, `echo hello`, 0, `printed the cost "hello"`},
		{0, `echo 1 2 3`, 0, "printed 3 words"},
		{0, `echo NaN`, 0, "no number"},
		{0, `echo 4; exit 3`, 0, "ended with exit status 3"},
		{0, `echo why it failed >&2; kill -9 $$`, 0, "why it failed"},
		{1, `echo noise; echo "Result for SMAC: SUCCESS, 0.5, 0, 7.25, $5"`, -7.25, ""},
		{1, `echo "Result for ParamILS: SAT, 0.5, 0, 3, $5"; exit 0`, -3, ""},
		{1, `echo "Result for SMAC: CRASHED, 0.5, 0, 3, $5, it broke"; exit 1`, math.Inf(-1), ""},
		{1, `echo "Result for SMAC: ABORT, 0, 0, 0, 0"`, 0, "ABORT"},
		{1, `echo "Result for SMAC: FINE, 0, 0, 0, 0"`, 0, `status "FINE"`},
		{1, `echo nothing; exit 4`, 0, "ended with exit status 4"},
		{1, `echo "Result for SMAC: SUCCESS, $3, $4, $(echo $2 | wc -w), $5"`, -1, ""},
		{2, `echo 'Result of this algorithm run: {"status": "SUCCESS", "cost": "0.5", "runtime": 1}'`, -0.5, ""},
		{2, `test "$1 $3 $5 $6" = "--instance --seed --config -a" && echo 'Result of this algorithm run: {"status": "SUCCESS", "quality": 2, "runtime": 1}'`, -2, ""},
		{2, `echo 'Result of this algorithm run: {"status": "SUCCESS", "runtime": 1}'`, 0, "without a cost"},
	} {
		r := runner(t, c.script)
		r.Convention = c.convention
		if c.convention != 0 {
			r.Params.Switches = nil
		}
		got, err := once(t.Context(), t, r)
		switch {
		case c.err == "" && (err != nil || got.Value != c.value):
			t.Errorf("%s: %v, %v; want %v", c.script, got.Value, err, c.value)
		case c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)):
			t.Errorf("%s: %v; want %q", c.script, err, c.err)
		}
	}
}

func TestRuntime(t *testing.T) {
	t.Parallel()
	for script, want := range map[string]float64{
		`echo "Result for SMAC: SAT, 0.5, 0, 9, $5"`:     -0.5,
		`echo "Result for SMAC: SAT, 3.5, 0, 9, $5"`:     -30,
		`echo "Result for SMAC: TIMEOUT, 3, 0, 9, $5"`:   -30,
		`echo "Result for SMAC: CRASHED, 0.1, 0, 0, $5"`: -30,
	} {
		r := runner(t, script)
		r.Convention, r.Runtime, r.Cutoff = external.SMAC, true, 3
		if got, err := once(t.Context(), t, r); err != nil || got.Value != want {
			t.Errorf("%s: %v, %v; want %v", script, got.Value, err, want)
		}
	}
}

// TestTimeout ends a program that does not end by itself, with all it has started.
func TestTimeout(t *testing.T) {
	t.Parallel()
	r := runner(t, "echo begun >&2; sleep 100 & sleep 100")
	r.Timeout = 100 * time.Millisecond
	if _, err := once(t.Context(), t, r); err == nil || !strings.Contains(err.Error(), "took longer than 100ms") || !strings.Contains(err.Error(), "begun") {
		t.Error(err)
	}
	r.Worst = true
	if got, err := once(t.Context(), t, r); err != nil || !math.IsInf(got.Value, -1) {
		t.Error(got, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	r.Timeout = 0
	if _, err := once(ctx, t, r); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
}

func TestRetries(t *testing.T) {
	t.Parallel()
	r := runner(t, `cd "$(dirname "$0")"; test -f there && echo 3; touch there`)
	if _, err := once(t.Context(), t, r); err == nil {
		t.Error("the first run has not failed")
	}
	r = runner(t, `cd "$(dirname "$0")"; test -f there && echo 3; touch there`)
	r.Retries = 1
	if got, err := once(t.Context(), t, r); err != nil || got.Value != -3 {
		t.Error(got, err)
	}
	// A deterministic program runs once.
	r = runner(t, `cd "$(dirname "$0")"; test -f there || echo 3; touch there`)
	r.Deterministic = true
	s, err := r.Solver("one")
	if err != nil {
		t.Fatal(err)
	}
	jobs := []solver.Job{{Problem: external.Instance("x"), Config: named(t, "one")}, {Problem: external.Instance("x"), Config: named(t, "one"), Seed: 5}}
	if got, err := s.Run(t.Context(), jobs, 1); err != nil || got[1].Value != -3 {
		t.Error(got, err)
	}
}

// TestBeside runs a program beside solvers of the library, on one problem.
func TestBeside(t *testing.T) {
	t.Parallel()
	r := runner(t, `echo "-7.5"`)
	s, err := r.Solver("seven")
	if err != nil {
		t.Fatal(err)
	}
	solver.Register(s)
	p := external.InstanceOf(onemax.Random(1, 12), "ones")
	results, err := solver.RunAll(t.Context(), []solver.Job{{Problem: p, Config: parse(t, "seven")}, {Problem: p, Config: parse(t, "ea")}}, 1)
	if err != nil || results[0].Value != 7.5 || results[1].Value != 12 {
		t.Error(results, err)
	}
	if _, err := solver.Run(t.Context(), solver.Job{Problem: onemax.Random(1, 12), Config: parse(t, "seven")}); err == nil || !strings.Contains(err.Error(), "InstanceOf") {
		t.Error(err)
	}
	if _, err := solver.Run(t.Context(), solver.Job{Problem: external.Instance("x"), Config: parse(t, "ea")}); err == nil || !strings.Contains(err.Error(), "only programs can read it") {
		t.Error(err)
	}
	// All solvers that can: of a problem that programs know too, of one that only
	// they know, and of another.
	for _, c := range []struct {
		p        problem.Problem
		own, all bool
	}{{p, true, true}, {external.Instance("x"), true, false}, {onemax.Random(1, 12), false, true}} {
		names := map[string]bool{}
		for _, s := range solver.For([]problem.Problem{c.p}) {
			names[s.Name()] = true
		}
		if names["seven"] != c.own || names["ea"] != c.all {
			t.Errorf("%s: %v", c.p.Name(), names)
		}
	}
}
