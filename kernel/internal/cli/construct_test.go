package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"dace.local/dacelib/construct"
	"dace.local/dacelib/experiment"
	"dace.local/dacelib/files"
	"dace.local/dacelib/portfolio"
)

// runDace runs the command and returns its exit code and its output.
func runDace(args ...string) (code int, stdout, stderr string) {
	var out, errs bytes.Buffer
	code = Main(&Env{Args: args, Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs})
	return code, out.String(), errs.String()
}

// tinyFlags returns the arguments of a construction that takes about a second.
func tinyFlags(dir string, more ...string) []string {
	return append([]string{"construct", "-class", "ccp", "-instances", "2", "-runs", "600", "-o", dir}, more...)
}

func TestConstruct(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "folder")
	code, out, errs := runDace(tinyFlags(dir, "-method", "one3", "-reading", "written", "-seed", "4")...)
	if code != 0 || !strings.Contains(out, "portfolio.json") {
		t.Fatalf("exit %d: %s%s", code, out, errs)
	}
	b, err := os.ReadFile(filepath.Join(dir, "portfolio.json"))
	if err != nil {
		t.Fatal(err)
	}
	// Check the fields whose names and types are promised to stay, even if
	// others are added.
	var form struct {
		Method, Class, Scale, Reading, Status string
		Dim                                   int
		Seed                                  uint64
		Members                               [][]any
		Runs, Evaluations                     int
		Seconds                               float64
	}
	if err := json.Unmarshal(b, &form); err != nil {
		t.Fatalf("%v: %s", err, b)
	}
	if form.Method != "ONEx3" || form.Class != "ccp" || form.Scale != "quick" || form.Reading != "written" || form.Dim != 30 || form.Seed != 4 ||
		len(form.Members) != 4 || len(form.Members[0]) != 5 || form.Runs < 300 || form.Evaluations < 300*800 || form.Seconds <= 0 || form.Status != "budget spent" {
		t.Errorf("%s", b)
	}
	if p, err := portfolio.Load(filepath.Join(dir, "portfolio.json")); err != nil || p.Size() != 4 || p.Name != "ONEx3" {
		t.Errorf("loaded: %v, %v", p, err)
	}
	// A second construction in the folder is refused without -resume, and
	// with -resume if other flags differ; with the same flags it gives the
	// same result.
	if code, _, errs := runDace(tinyFlags(dir, "-method", "one3", "-seed", "4")...); code != 1 || !strings.Contains(errs, "-resume") {
		t.Errorf("again: exit %d: %s", code, errs)
	}
	if code, _, errs := runDace(tinyFlags(dir, "-method", "one3", "-seed", "5", "-resume")...); code != 1 || !strings.Contains(errs, "settings.Seed: 4 there, 5 now") {
		t.Errorf("another seed: exit %d: %s", code, errs)
	}
	if code, _, errs := runDace(tinyFlags(dir, "-method", "one3", "-seed", "4", "-resume", "-workers", "1")...); code != 0 {
		t.Errorf("resumed: exit %d: %s", code, errs)
	}
	again, err := os.ReadFile(filepath.Join(dir, "portfolio.json"))
	if err != nil {
		t.Fatal(err)
	}
	first, second := construct.Summary{}, construct.Summary{}
	if json.Unmarshal(b, &first) != nil || json.Unmarshal(again, &second) != nil {
		t.Fatal("no summaries")
	}
	if a, b := first.Members, second.Members; len(a) != len(b) || a[0] != b[0] || first.Runs != second.Runs {
		t.Errorf("resumed: %+v, was %+v", second, first)
	}
	// The verb test accepts the folder and compares it with a portfolio of
	// the paper.
	code, out, errs = runDace("test", dir, "brkga-pap", "-class", "ccp", "-dim", "40", "-instances", "2", "-repeats", "3", "-sample", "1000", "-ranges", "none", "-reading", "both")
	if code != 0 || !strings.Contains(out, "d = 40") || !strings.Contains(out, "wins-draws-losses") || !strings.Contains(out, "ONEx3") || !strings.Contains(out, "ccp, written") || strings.Contains(out, "d = 30") {
		t.Errorf("test: exit %d: %s%s", code, out, errs)
	}
	code, out, errs = runDace("test", dir, dir, "-class", "ccp", "-instances", "1", "-repeats", "2", "-sample", "1000", "-ranges", "none", "-no-baselines", "-json")
	records, err := experiment.ReadFrom(strings.NewReader(out))
	if code != 0 || err != nil || len(records) != 4 || records[0].Construction == records[1].Construction {
		t.Errorf("test -json: exit %d, %v: %s%s", code, err, out, errs)
	}
}

// Without -method the construction is BEST's.
func TestConstructDefault(t *testing.T) {
	dir := t.TempDir()
	code, _, errs := runDace(tinyFlags(dir, "-evaluations", "1000")...)
	if s, err := construct.LoadSummary(dir); code != 0 || err != nil || s.Method != "BEST" || s.Evaluations > 1000 {
		t.Errorf("exit %d: %s; %+v, %v", code, errs, s, err)
	}
}

// An interrupted construction keeps the best portfolio so far and says how to
// resume. The same command with -resume gives the same result as a
// construction that was not interrupted.
func TestConstructInterrupted(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	run := func(dir string, more ...string) (int, string) {
		code, _, errs := runDace(tinyFlags(dir, append(more, "-method", "ceps", "-runs", "3000")...)...)
		return code, errs
	}
	undisturbed, dir := filepath.Join(t.TempDir(), "a"), filepath.Join(t.TempDir(), "b")
	if code, errs := run(undisturbed); code != 0 {
		t.Fatal(errs)
	}
	interrupted := 0
	for attempt := 0; ; attempt++ {
		done := make(chan struct{})
		go func() {
			t := time.NewTicker(time.Millisecond)
			defer t.Stop()
			for {
				select {
				case <-done:
					return
				case <-t.C:
				}
				// Interrupt as soon as there is a portfolio.
				if _, err := os.Stat(filepath.Join(dir, "portfolio.json")); err == nil {
					time.Sleep(50 * time.Millisecond << attempt) // twice as long each time, so that it ends
					select {
					case <-done:
					default:
						_ = syscall.Kill(os.Getpid(), syscall.SIGINT)
					}
					return
				}
			}
		}()
		// A signal that arrives just after the construction has ended
		// must not end the test.
		stop := ignoreInterrupts()
		code, errs := run(dir, "-resume")
		close(done)
		stop()
		if code == 0 {
			break
		}
		if code != 130 || !strings.Contains(errs, "the best portfolio so far is in") || !strings.Contains(errs, "-resume goes on") {
			t.Fatalf("exit %d: %s", code, errs)
		}
		if s, err := construct.LoadSummary(dir); err != nil || s.Status != "cancelled" {
			t.Fatalf("%+v, %v", s, err)
		}
		interrupted++
	}
	a, errA := construct.LoadSummary(undisturbed)
	b, errB := construct.LoadSummary(dir)
	if errA != nil || errB != nil || len(a.Members) != len(b.Members) || a.Runs != b.Runs || a.Evaluations != b.Evaluations {
		t.Fatalf("%+v (%v)\n%+v (%v)", a, errA, b, errB)
	}
	for i := range a.Members {
		if a.Members[i] != b.Members[i] {
			t.Errorf("member %d: %v, undisturbed %v", i, b.Members[i], a.Members[i])
		}
	}
	if interrupted == 0 {
		t.Error("nothing was interrupted")
	}
}

// ignoreInterrupts keeps SIGINT from ending the process until stop is called.
func ignoreInterrupts() (stop func()) {
	c := make(chan os.Signal, 8)
	signal.Notify(c, syscall.SIGINT)
	return func() {
		time.Sleep(20 * time.Millisecond)
		signal.Stop(c)
	}
}

// Every kind of bad input is refused with a message that says what to do.
func TestConstructRefuses(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, c := range []struct {
		args string
		code int
		want string
	}{
		{"construct", 2, "which class?"},
		{"construct -class tsp -o x", 2, "the classes are ccp, cimp, caop, onemax"},
		{"construct -class ccp -method sgd -o x", 2, "the methods are DACE, CEPS"},
		{"construct -class ccp -scale huge -o x", 2, "the scales are quick, small, tenth, paper"},
		{"construct -class ccp -reading mine -o x", 2, `"written" and "published"`},
		{"construct -class ccp -scorer cubic -o x", 2, "leakyrelu and affine"},
		{"construct -class ccp -stop soon -o x", 2, `"authors", "enough" and "never"`},
		{"construct -class ccp", 2, "-o FOLDER"},
		{"construct -class ccp -dim -3 -o x", 2, "at least 1"},
		{"construct -class ccp -instances 0 -o x", 2, "at least 1"},
		{"construct -class nk -solvers astrology -o x", 1, `none is called "astrology"`},
		{"construct -class nk -dim 20 -solvers ea,tabu -runs 3 -o " + filepath.Join(dir, "few"), 1, "-runs is 3, and the least that BEST can keep is 10, a run of each of 2 solvers on each of 5 instances: raise it, or name fewer -solvers"},
		{"construct -class nk -dim 20 -evaluations 9 -o " + filepath.Join(dir, "few"), 1, "-evaluations is 9"},
		{"construct -class nk -share 2 -method one -o " + filepath.Join(dir, "few"), 1, "-share is 2"},
		{"construct -class onemax -dim 1 -method dace -o " + dir, 1, "enumerate them"},
		{"construct -class ccp -o " + file, 1, "is a file"},
		{"test", 2, "which portfolios?"},
		{"test dace", 2, "which class?"},
		{"test dace -class tsp", 2, "the classes are"},
		{"test dace -class ccp -reading mine", 2, "or both"},
		{"test nothing -class ccp", 1, "neither a portfolio of the paper"},
		{"test " + dir + " -class ccp", 1, "portfolio.json"},
		{"test dace -class ccp -instances 0", 2, "at least 1"},
		{"test dace -class onemax", 1, "neither a portfolio of the paper for onemax"},
	} {
		if code, _, errs := runDace(strings.Fields(c.args)...); code != c.code || !strings.Contains(errs, c.want) {
			t.Errorf("dace %s: exit %d, want %d and %q: %s", c.args, code, c.code, c.want, errs)
		}
	}
	if code, out, _ := runDace("test", "-list"); code != 0 || !strings.Contains(out, "ccp   parhydra") || !strings.Contains(out, "smartest-pap") {
		t.Errorf("-list: exit %d: %s", code, out)
	}
	for _, v := range []string{"construct", "test"} {
		if code, out, _ := runDace(v, "-h"); code != 0 || !strings.Contains(out, "Examples:") || !strings.Contains(out, "-reading") {
			t.Errorf("%s -h: exit %d: %s", v, code, out)
		}
	}
}

// A construction chooses from the solvers named, and what it did is told in flags.
func TestConstructSolvers(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "out")
	code, out, errs := runDace("construct", "-class", "nk", "-dim", "20", "-instances", "2", "-solvers", "ea, tabu", "-member-evaluations", "40", "-runs", "60", "-o", dir)
	if code != 0 || !strings.Contains(out, "of ea, tabu raced") {
		t.Fatalf("exit %d: %s%s", code, out, errs)
	}
	p, err := portfolio.Load(filepath.Join(dir, "portfolio.json"))
	if err != nil || len(p.Members) != 4 {
		t.Fatalf("%v: %v", p, err)
	}
	for _, c := range p.Members {
		if n := c.Solver(); n != "ea" && n != "tabu" {
			t.Errorf("a member is %v", c)
		}
	}
}

// A second command on a folder in use is refused.
func TestConstructInUse(t *testing.T) {
	set, err := experiment.Class("ccp", 0)
	if err != nil {
		t.Fatal(err)
	}
	training, err := set.NewSet(1, 1, 0)
	if err != nil {
		t.Fatal(err)
	}
	s := construct.Quick()
	s.Dir = t.TempDir()
	asked := false
	s.OnRound = func(construct.Result) {
		if asked {
			return
		}
		asked = true
		if code, _, errs := runDace(tinyFlags(s.Dir, "-resume")...); code != 1 || !strings.Contains(errs, "is in use") {
			t.Errorf("exit %d: %s", code, errs)
		}
	}
	s.Budget.Runs = 300
	if _, err := construct.One(context.Background(), training.Training, s); err != nil || !asked {
		t.Errorf("%v, asked %t", err, asked)
	}
}

// TestScenario builds a portfolio of a program behind irace's target-runner, goes on
// with it, and is told what fails.
func TestScenario(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a shell's program")
	}
	dir, out := t.TempDir(), filepath.Join(t.TempDir(), "out")
	write := func(name, text string) string {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := files.WriteProgram(path, []byte(text)); err != nil {
			t.Fatal(err)
		}
		return path
	}
	scenario := write("scenario.txt", "trainInstancesFile = \"list.txt\"\nmaxExperiments = 40\nparallel = 2\n")
	write("list.txt", "3 9\n8 1\n")
	write("parameters.txt", `guess "-g " i (0, 9)`)
	write("target-runner", "#!/bin/sh\n# program configuration number seed goal other -g guess\necho $((($4 - $7) * ($4 - $7) + $5))\n")
	code, stdout, errs := runDace("construct", "-scenario", scenario, "-o", out)
	if code != 0 || !strings.Contains(errs, "not used: parallel") || !strings.Contains(stdout, "/target-runner -g ") {
		t.Fatalf("exit %d: %s%s", code, stdout, errs)
	}
	sum, err := construct.LoadSummary(out)
	if err != nil || sum.Runs > 40 || len(sum.Members) != 4 {
		t.Errorf("%+v, %v", sum, err)
	}
	guesses := map[any]bool{}
	for _, m := range sum.Members {
		guesses[m.Values()["guess"]] = true
	}
	if !guesses[3.0] && !guesses[2.0] && !guesses[4.0] || !guesses[8.0] && !guesses[7.0] && !guesses[9.0] {
		t.Errorf("%v: no member is near 3, or none near 8", sum.Members)
	}
	if code, _, errs := runDace("construct", "-scenario", scenario, "-o", out, "-resume"); code != 0 {
		t.Errorf("resumed: exit %d: %s", code, errs)
	}
	write("parameters.txt", `guess "-g " i (0, 8)`)
	if code, _, errs := runDace("construct", "-scenario", scenario, "-o", out, "-resume"); code != 1 || !strings.Contains(errs, "own[0]") {
		t.Errorf("other parameters: exit %d: %s", code, errs)
	}
	write("target-runner", "#!/bin/sh\necho it is broken >&2\nexit 3\n")
	if code, _, errs := runDace("construct", "-scenario", scenario, "-o", out+"2"); code != 1 || !strings.Contains(errs, "ended with exit status 3") || !strings.Contains(errs, "it is broken") || !strings.Contains(errs, " -g ") {
		t.Errorf("exit %d: %s", code, errs)
	}
	if code, _, errs := runDace("construct", "-scenario", scenario, "-class", "ccp", "-o", out); code != 2 || !strings.Contains(errs, "leave -class") {
		t.Errorf("exit %d: %s", code, errs)
	}
}

// The limits of construct and solve are kept, and what ran out is said.
func TestLimits(t *testing.T) {
	t.Parallel()
	of := func(out string, more ...string) []string {
		return append([]string{"construct", "-class", "onemax", "-dim", "20", "-instances", "1", "-member-evaluations", "50", "-workers", "1", "-o", out}, more...)
	}
	// The instance's value is a share of the 20 bits: a run ends at three quarters, so
	// that fewer evaluations are made than the runs were allowed.
	made := map[string]int{}
	for _, target := range []string{"", "0.75"} {
		dir := t.TempDir()
		args := of(filepath.Join(dir, "a"), "-runs", "60", "-measure", "anytime")
		if target != "" {
			args = append(args, "-target", target)
		}
		if got := dace(t, "", args...); got.code != exitOK {
			t.Fatalf("-target %q: exit code %d: %s", target, got.code, got.err)
		}
		s, err := construct.LoadSummary(filepath.Join(dir, "a"))
		if err != nil || s.Runs > 60 || s.Runs < 40 || s.Method != "BEST" {
			t.Errorf("-target %q: %+v, %v", target, s, err)
		}
		made[target] = s.Evaluations
	}
	if made["0.75"] >= made[""]*9/10 {
		t.Errorf("with a target %d evaluations, without %d", made["0.75"], made[""])
	}
	dir := t.TempDir()
	got := dace(t, "", of(filepath.Join(dir, "a"), "-seconds", "0.000001", "-runs", "100000")...)
	s, err := construct.LoadSummary(filepath.Join(dir, "a"))
	if got.code != exitOK || err != nil || len(s.Members) != 4 || s.Runs > 1000 {
		t.Errorf("-seconds: exit code %d, %+v, %v: %s", got.code, s, err, got.err)
	}
	if all := got.out + got.err; !strings.Contains(all, "Seconds") && !strings.Contains(all, "time") {
		t.Errorf("-seconds: nothing says that the time ran out:\n%s", all)
	}
	var solved solution
	answer := dace(t, "", "solve", "-class", "onemax", "-dim", "20", "-solvers", "ea", "-evaluations", "2000", "-target", "0.75")
	if err := json.Unmarshal([]byte(answer.out), &solved); err != nil || float64(solved.Value) < 0.75 || solved.Evaluations >= 2000 {
		t.Errorf("solve -target: %v, %+v", err, solved)
	}
	for args, want := range map[string]string{
		"-seconds -1":      "must not be negative",
		"-measure quick":   "quick",
		"-target high":     "high",
		"-evaluations 3":   "the least that BEST can keep is",
		"-runs 2":          "the least that BEST can keep is",
		"-seconds forever": "wants a number",
	} {
		got := dace(t, "", of(filepath.Join(t.TempDir(), "a"), strings.Fields(args)...)...)
		if got.code == exitOK || !strings.Contains(got.err, want) {
			t.Errorf("%s: exit code %d: %s", args, got.code, got.err)
		}
	}
}
