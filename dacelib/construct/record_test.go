package construct_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"dace.local/dacelib/construct"
	"dace.local/dacelib/portfolio"
	"dace.local/dacelib/problem/ccp"
	"dace.local/dacelib/problem/onemax"
	"dace.local/dacelib/run"
	"dace.local/dacelib/solver"
)

// TestMain runs a construction instead of the tests if TestKill has started
// this process.
func TestMain(m *testing.M) {
	if method := os.Getenv("DACE_TEST_CONSTRUCT"); method != "" {
		os.Exit(child(method))
	}
	os.Exit(m.Run())
}

var (
	killScale  = flag.String("scale", "", "scale of TestKill instead of its own: quick, small, tenth or paper")
	killMethod = flag.String("method", "", "method of TestKill instead of several")
	killEvery  = flag.Duration("every", 0, "time between two kills in TestKill instead of ever more")
)

// registered are the solvers that a program begins with. Tests register more.
var registered = solver.Families()

// killSettings returns the settings of TestKill, for the parent and its
// children.
func killSettings(scale, method string) (construct.Settings, int, error) {
	if scale == "" {
		s := tiny()
		if method == "BEST" {
			s.Solvers = registered
		}
		return s, 2, nil
	}
	s, err := construct.Scale(scale, method, "ccp", run.Written)
	s.Seed = 1
	return s, 5, err
}

// child runs the construction that TestKill kills.
func child(method string) int {
	workers, err := strconv.Atoi(os.Getenv("DACE_TEST_WORKERS"))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	s, instances, err := killSettings(os.Getenv("DACE_TEST_SCALE"), method)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	set, err := ccp.Class().NewSet(1, instances, 0)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if limit, err := strconv.Atoi(os.Getenv("DACE_TEST_LIMIT")); err == nil {
		if err := limitFiles(uint64(limit)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	s.Workers, s.Dir = workers, os.Getenv("DACE_TEST_DIR")
	if _, err := construct.Build(context.Background(), method, ccp.Class(), set.Training, s); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// A construction that is killed again and again, and continues each time with
// another number of workers, ends like an uninterrupted one. At the paper's
// scale, killed every three minutes:
//
//	go test ./dacelib/construct -run TestKill -v -timeout 0 -args -scale paper -method CEPS -every 3m
func TestKill(t *testing.T) {
	methods := []string{"DACE", "CEPS", "PARHYDRA", "BEST"}
	if *killMethod != "" {
		methods = []string{*killMethod}
	}
	for _, method := range methods {
		t.Run(method, func(t *testing.T) {
			t.Parallel()
			ctx := context.Background()
			s, instances, err := killSettings(*killScale, method)
			if err != nil {
				t.Fatal(err)
			}
			want, err := construct.Build(ctx, method, ccp.Class(), training(t, instances), s)
			if err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			kills := 0
			for attempt := 0; ; attempt++ {
				cmd := exec.Command(os.Args[0])
				cmd.Env = append(os.Environ(), "DACE_TEST_CONSTRUCT="+method, "DACE_TEST_DIR="+dir, fmt.Sprint("DACE_TEST_WORKERS=", 1+attempt%2), "DACE_TEST_SCALE="+*killScale)
				var said strings.Builder
				cmd.Stderr = &said
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				after := time.Duration(2*math.Pow(1.5, float64(attempt))*1e6) * time.Nanosecond
				if *killEvery > 0 {
					after = *killEvery
				}
				timer := time.AfterFunc(after, func() { _ = cmd.Process.Kill() })
				err := cmd.Wait()
				timer.Stop()
				if err == nil {
					break
				}
				if cmd.ProcessState.ExitCode() != -1 {
					t.Fatalf("attempt %d: %v: %s", attempt, err, said.String())
				}
				kills++
			}
			s.Dir = dir
			got, err := construct.Build(ctx, method, ccp.Class(), training(t, instances), s)
			if err != nil || !same(got, want) {
				t.Errorf("after %d kills (%v):\n%v\nwithout:\n%v", kills, err, got, want)
			}
			if kills == 0 {
				t.Error("nothing was killed")
			}
			t.Logf("%d kills", kills)
		})
	}
}

// A table of runs that is interrupted keeps the runs that it has made, and does
// not make them again.
func TestInterruptedRuns(t *testing.T) {
	ps, s := training(t, 2), tiny()
	s.Checks = 3
	for stage, build := range map[string]func(context.Context, construct.Settings) (construct.Result, error){
		"initial portfolio": func(ctx context.Context, s construct.Settings) (construct.Result, error) {
			return construct.CEPS(ctx, ps, ccp.Class(), s)
		},
		"round 3: check": func(ctx context.Context, s construct.Settings) (construct.Result, error) {
			return construct.DACE(ctx, ps, s)
		},
	} {
		t.Run(stage, func(t *testing.T) {
			s := s
			want, err := build(context.Background(), s)
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			s.Dir = t.TempDir()
			s.OnEvent = func(e run.Event) {
				if e.Stage == stage && e.Step == 1 {
					cancel()
				}
			}
			if _, err := build(ctx, s); !errors.Is(err, context.Canceled) {
				t.Fatalf("interrupted: %v", err)
			}
			var steps []int
			s.OnEvent = func(e run.Event) {
				if e.Stage == stage {
					steps = append(steps, e.Step)
				}
			}
			got, err := build(context.Background(), s)
			if err != nil || !same(got, want) {
				t.Errorf("continued (%v):\n%v\nwithout an interrupt:\n%v", err, got, want)
			}
			if len(steps) < 2 || slices.Contains(steps, 1) {
				t.Errorf("steps %v after an interrupt in step 2", steps)
			}
		})
	}
}

// If the disk is full, the construction returns an error that says what to do,
// and continues once there is space.
func TestFullDisk(t *testing.T) {
	ctx := context.Background()
	want, err := construct.CEPS(ctx, training(t, 2), ccp.Class(), tiny())
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, limit := range []int{300, 3000, 5000, 9000} {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), "DACE_TEST_CONSTRUCT=CEPS", "DACE_TEST_WORKERS=2", "DACE_TEST_DIR="+dir, fmt.Sprint("DACE_TEST_LIMIT=", limit))
		said, err := cmd.CombinedOutput()
		if err == nil || !strings.Contains(string(said), "make room and go on in the same folder") {
			t.Fatalf("a limit of %d bytes: %v: %s", limit, err, said)
		}
	}
	s := tiny()
	s.Dir = dir
	if got, err := construct.CEPS(ctx, training(t, 2), ccp.Class(), s); err != nil || !same(got, want) {
		t.Errorf("with room again: %v", err)
	}
}

// A construction works on one training instance, and on one bit.
func TestSmallest(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	one := onemax.Class(1)
	set, err := one.NewSet(1, 2, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, method := range construct.Methods() {
		if r, err := construct.Build(context.Background(), method, ccp.Class(), training(t, 1), tiny()); err != nil || r.Portfolio.Check() != nil {
			t.Errorf("%s on one instance: %v", method, err)
		}
		r, err := construct.Build(context.Background(), method, one, set.Training, tiny())
		if neural := slices.Contains([]string{"DACE", "NoReg"}, method); neural && (err == nil || !strings.Contains(err.Error(), "enumerate them")) ||
			!neural && (err != nil || r.Portfolio.Check() != nil) {
			t.Errorf("%s on one bit: %v", method, err)
		}
	}
}

// In the reading Published, GLOBAL returns the portfolio that the paper prints
// for CCP and CAOP. SMAC minimises there what it should maximise, and the worst
// of all portfolios is four times the default configuration, which only makes
// random solutions. In Written, GLOBAL does not return it.
func TestGlobalPublished(t *testing.T) {
	s := construct.Settings{Reading: run.Published, Minings: 3, Trials: 40, Seed: 1}
	r, err := construct.GLOBAL(context.Background(), training(t, 5), s)
	if err != nil {
		t.Fatal(err)
	}
	paper, err := portfolio.Paper("ccp", "GLOBAL")
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(r.Portfolio.Members, paper.Members) || r.Setup.Settings.Reading != run.Published {
		t.Errorf("%v, the paper's is %v", r.Portfolio, paper)
	}
	// A trial is a portfolio on all five instances.
	if want := 2*5 + 3*40*5*4 + 3*5*4 + 5*4; r.Cost.Runs != want {
		t.Errorf("%d runs, want %d", r.Cost.Runs, want)
	}
	s.Reading, s.Minings = run.Written, 1
	if r, err = construct.GLOBAL(context.Background(), training(t, 5), s); err != nil || reflect.DeepEqual(r.Portfolio.Members, paper.Members) {
		t.Errorf("written: %v, %v", r.Portfolio, err)
	}
}

// Only one construction at a time can use a folder.
func TestFolderInUse(t *testing.T) {
	s := tiny()
	s.Dir = t.TempDir()
	var second error
	s.OnRound = func(construct.Result) {
		if second == nil {
			other := tiny()
			other.Dir = s.Dir
			_, second = construct.One(context.Background(), training(t, 2), other)
		}
	}
	if _, err := construct.One(context.Background(), training(t, 2), s); err != nil {
		t.Fatal(err)
	}
	if second == nil || !strings.Contains(second.Error(), "in use") || !strings.Contains(second.Error(), fmt.Sprint(os.Getpid())) {
		t.Errorf("a second construction in the folder: %v", second)
	}
}

// A folder cannot be continued with a different value of any setting that
// changes a result; the error names the setting.
func TestOtherSettings(t *testing.T) {
	ctx := context.Background()
	base := tiny()
	base.Dir = t.TempDir()
	if _, err := construct.One(ctx, training(t, 2), base); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*construct.Settings){
		"Seed":               func(s *construct.Settings) { s.Seed = 1<<60 + 1 },
		"Trials":             func(s *construct.Settings) { s.Trials++ },
		"Budget.Runs":        func(s *construct.Settings) { s.Budget.Runs = 7 },
		"NIR.Batch":          func(s *construct.Settings) { s.NIR.Batch++ },
		"PGPE.Margin":        func(s *construct.Settings) { s.PGPE.Margin = 0.1 },
		"PGPE.Rule":          func(s *construct.Settings) { s.PGPE.Rule = 1 },
		"Reading":            func(s *construct.Settings) { s.Reading = 1 },
		"PerturbEncoder":     func(s *construct.Settings) { s.PerturbEncoder = true },
		"NIR.ValidateEvery":  func(s *construct.Settings) { s.NIR.ValidateEvery = 3 },
		"training[1].digest": nil, // another instance of the same name
	} {
		s := base
		ps := training(t, 2)
		if change != nil {
			change(&s)
		} else {
			other, err := ccp.Class().NewSet(2, 2, 0)
			if err != nil {
				t.Fatal(err)
			}
			ps = other.Training
		}
		if _, err := construct.One(ctx, ps, s); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s changed: %v", name, err)
		}
	}
	s := base
	s.Workers = 3
	if _, err := construct.One(ctx, training(t, 2), s); err != nil {
		t.Errorf("other workers: %v", err)
	}
}

// An incomplete last line, from a process that died while writing, is cut off,
// and the next entry starts a new line.
func TestTornJournal(t *testing.T) {
	ctx := context.Background()
	ps := training(t, 2)
	s := tiny()
	s.Dir = t.TempDir()
	want, err := construct.One(ctx, ps, s)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(s.Dir, construct.JournalName)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(whole), "\n")
	for n := 1; n < len(lines)-1; n++ {
		for _, part := range []int{1, len(lines[n]) / 2, len(lines[n]) - 1} {
			torn := strings.Join(lines[:n], "") + lines[n][:part]
			if err := os.WriteFile(path, []byte(torn), 0o644); err != nil {
				t.Fatal(err)
			}
			got, err := construct.One(ctx, ps, s)
			if err != nil || !same(got, want) {
				t.Fatalf("%d whole lines and %d bytes of the next: %v", n, part, err)
			}
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			for i, l := range strings.Split(strings.TrimSpace(string(b)), "\n") {
				if !json.Valid([]byte(l)) {
					t.Fatalf("%d whole lines and %d bytes of the next: afterwards line %d is %.60s", n, part, i+1, l)
				}
			}
		}
	}
}

func TestRead(t *testing.T) {
	ctx := context.Background()
	for _, method := range []string{"CEPS", "DACE", "GLOBAL", "PARHYDRA", "GREEDY"} {
		s := tiny()
		s.Dir = t.TempDir()
		result, err := construct.Build(ctx, method, ccp.Class(), training(t, 2), s)
		if err != nil {
			t.Fatal(err)
		}
		r, err := construct.Read(s.Dir)
		if err != nil || r.Status != "budget spent" || len(r.Sessions) != 1 || r.Missing != nil {
			t.Fatalf("%s: status %q, sessions %v, missing %v, %v", method, r.Status, r.Sessions, r.Missing, err)
		}
		if !reflect.DeepEqual(r.Rounds, result.Rounds) || !reflect.DeepEqual(r.Setup, result.Setup) {
			t.Errorf("%s: rounds or setup differ from the result's", method)
		}
		time := r.Time()
		total := time[len(time)-1]
		if total.Runs != result.Cost.Runs || total.Evaluations != result.Cost.Evaluations || total.Seconds <= 0 || total.CPU <= 0 {
			t.Errorf("%s: total %+v, result %+v", method, total, result.Cost)
		}
		trials, err := r.Trials()
		want := map[string]int{"CEPS": 2 * 3 * 6, "DACE": 2 * 3 * 6, "GLOBAL": 3 * 6, "PARHYDRA": 2 * 3 * 6}[method]
		if err != nil || len(trials) != want {
			t.Errorf("%s: %d trials, want %d (%v)", method, len(trials), want, err)
		}
		for _, row := range trials {
			members := 1
			if method == "GLOBAL" {
				members = 2
			}
			if len(row.Configs) != members || row.Configs[0].Check() != nil {
				t.Fatalf("%s: trial %+v", method, row)
			}
		}
		if n := len(r.Populations()); n < 2*len(result.Rounds) {
			t.Errorf("%s: %d rows of populations", method, n)
		}
		if rows := r.RoundTable(); len(rows) != len(result.Rounds) || rows[0].Portfolio == "" {
			t.Errorf("%s: rounds %+v", method, rows)
		}
		if left, err := r.LeftOut(); err != nil || len(left) != 0 {
			t.Errorf("%s: left out %+v, %v", method, left, err)
		}
		// Trials that were cut off are reported missing, and nothing else.
		if want > 0 {
			if err := os.Truncate(filepath.Join(s.Dir, "trials.gz"), 10); err != nil {
				t.Fatal(err)
			}
			again, err := construct.Build(ctx, method, ccp.Class(), training(t, 2), s)
			if err != nil || !same(again, result) {
				t.Errorf("%s without trials: %v", method, err)
			}
			if r, err := construct.Read(s.Dir); err != nil || len(r.Missing) != 1 {
				t.Errorf("%s: missing %v, %v", method, r.Missing, err)
			} else if _, err := r.Trials(); err == nil || !strings.Contains(err.Error(), "lost") {
				t.Errorf("%s: lost trials: %v", method, err)
			}
		}
	}
	if _, err := construct.Read(t.TempDir()); err == nil || !strings.Contains(err.Error(), "no construction") {
		t.Errorf("an empty folder: %v", err)
	}
}

// The numbers of runs and true evaluations follow from the settings.
func TestCost(t *testing.T) {
	ctx := context.Background()
	ps := training(t, 2)
	s := tiny()
	r, err := construct.One(ctx, ps, s)
	if err != nil {
		t.Fatal(err)
	}
	// Ranges, the set C, the members, the trials; 60 evaluations each.
	if want := 2*2 + 6*2 + 2*2 + 3*6*2; r.Cost.Runs != want || r.Cost.Evaluations != want*60 {
		t.Errorf("ONE: %+v, want %d runs", r.Cost, want)
	}
	s.Seeds = 3
	if r, err = construct.One(ctx, ps, s); err != nil {
		t.Fatal(err)
	}
	if want := 2*2 + 3*(6*2+2*2+3*6*2); r.Cost.Runs != want || r.Cost.Evaluations != want*60 || r.Method != "ONEx3" {
		t.Errorf("%s: %+v, want %d runs", r.Method, r.Cost, want)
	}
	s = tiny()
	if r, err = construct.DACE(ctx, ps, s); err != nil {
		t.Fatal(err)
	}
	if r.Cost.Evaluations != 2*400 {
		t.Errorf("DACE: %d true evaluations, want those of the samples", r.Cost.Evaluations)
	}
}

// A construction uses its budget and exceeds it by no more than rounding.
func TestBudget(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	ctx := context.Background()
	for _, method := range construct.Methods() {
		s := tiny()
		s.Trials, s.PGPE.MaxIterations, s.Configurations = 0, 0, 0
		s.Evaluations, s.Members, s.Minings = 20, 2, 2
		s.PGPE.Pairs = 1
		s.Budget.Runs = 1000
		r, err := construct.Build(ctx, method, ccp.Class(), training(t, 2), s)
		if err != nil {
			t.Fatal(err)
		}
		if r.Cost.Runs > 1100 || r.Cost.Runs < 500 {
			t.Errorf("%s: %d runs of a budget of 1000", method, r.Cost.Runs)
		}
		s.Budget = construct.Budget{Evaluations: 10_000}
		s.Trials = 20
		if r, err = construct.Build(ctx, method, ccp.Class(), training(t, 2), s); err != nil {
			t.Fatal(err)
		}
		if r.Cost.Evaluations > 11_000 || r.Cost.Evaluations < 4_300 {
			t.Errorf("%s: %d true evaluations of a budget of 10,000", method, r.Cost.Evaluations)
		}
	}
}
