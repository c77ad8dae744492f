package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"dace.local/kernel/buildinfo"
)

// A check is one command of a test run. SEED in it is the run's seed, RACED, RACELESS and
// UNRACED the packages of [sorted]. All run with cgo, like the kernel if there is a C
// compiler.
type check struct{ name, command string }

// test is the command of tests: in an order of the run's seed, never from a cache, and
// without go vet, which .ci/run and -all have. As many packages as there are processors
// are tested at a time.
const test = "go test -vet=off -count=1 -shuffle=SEED "

// checks are the commands of -test: each test runs once, with the race detector or without
// it. The lanes run beside one another, the checks of a lane one after the other: many tests
// wait for browsers, kernels and clocks, and one lane leaves processors idle.
var checks = [][]check{
	{
		{"installed", test + "-timeout=30m -skip=^TestJupyterLab$ ./install"},
		{"raceless", test + "-timeout=30m -run=" + strings.Join(raceless, "|") + " RACELESS"},
	},
	{{"jupyterlab", test + "-timeout=30m -run=^TestJupyterLab$ ./install"}}, // as long as all others of its package
	{{"race", test + "-timeout=30m -race -skip=" + strings.Join(raceless, "|") + " RACED"}},
	{{"unraced", test + "-timeout=30m -skip=" + inPlugins + " UNRACED"}},
	{{"plugins", test + "-timeout=30m -run=" + inPlugins + " ./" + plugins}},
}

// raceless are the tests that run without the detector in packages that run with it:
// it makes them ten times as long, or they leave something out with it, and what they try
// is what cells compute, or how much memory they may take. Goroutines of the same code are
// tried by the tests that stay. The check "race-twice" of -all runs them with the detector,
// too, and "everything" all others without it.
var raceless = []string{
	"^TestLibraryExamples$", "^TestPrograms$/./^(declared|stepped)$", "^TestRandomPrograms$", "^TestEnds$",
	"^TestRunaway$", "^TestRunawayAllocation$", "^TestFortyEdits$", "^TestElsewhere$", "^TestProgramModules$", "^TestMagicsPage$",
	"^TestLibraryTypes$", "^TestAuto$", // of figures
	"^TestCellsByClient$", "^TestMagicsByClient$", "^TestConsole$", // 60 kernels that Jupyter's programs start
	"^TestScripts$", "^TestErrorStops$", "^TestHelpPaged$", "^TestExecutableScript$", "^TestShebang$", "^TestSolveProblem$", // 40 commands, which take a second each to begin
	"^TestCellsForgotten$",                                                                                                                               // of memory
	"^TestConstruct$", "^TestConstructCommand$", "^TestConstructInterrupted$", "^TestLines$", "^TestTestCommand$", "^TestReproduce$", "^TestHelpSearch$", // constructions, tests of portfolios, a search of texts
	// These look whether there is the detector.
	"^TestExamples$", "^TestGrid$", "^TestHostile$", "^TestInspectFields$", "^TestOversized$", "^TestPages$", "^TestConstructs$", "^TestCrash$",
}

// nightly are what -all adds, one after the other when the lanes have ended: what .ci/run
// does apart from tests, and the same tests for longer, with random inputs that nobody has
// seen. Fuzz targets follow, each for a minute.
var nightly = []check{
	{"vet", "go vet ./..."},
	{"staticcheck", "go tool -modfile=.ci/tools/go.mod staticcheck ./..."},
	{"everything", test + "-timeout=1h ./..."},
	{"race-twice", "go test -count=2 -shuffle=SEED -timeout=3h -race ./kernel/..."},
	{"soak", test + "-timeout=2h -run=^TestSoak$ ./kernel/gocell -soak"},
	{"hostile", test + "-timeout=2h -run=^TestHostile$ ./kernel/gocell -hostile"},
	{"random-programs", test + "-timeout=2h -run=^TestRandomPrograms$ ./kernel/gocell -random.programs=300 -random.seed=SEED"},
	{"random-functions", test + "-timeout=2h -run=^TestRandomFunctions$ ./kernel/internal/toolchain/native -random.programs=300 -random.seed=SEED"},
	{"cells-by-client", test + "-timeout=2h -run=^TestCellsByClient$ ./kernel -client.every=1"},
	{"magics-by-client", test + "-timeout=2h -run=^TestMagicsByClient$ ./kernel -client.every=1"},
	{"grid", test + "-timeout=2h -run=^TestGrid$ ./kernel/gocell -grid.functions=5000 -grid.seed=SEED"},
	// By day JupyterLab runs a notebook that computes less.
	{"jupyterlab-quickstart", test + "-timeout=1h -run=^TestJupyterLab$ ./install -lab.notebook=quickstart"},
	// A program of each notebook, beside what its cells show.
	{"notebooks-as-programs", test + "-timeout=3h -run=^TestConverted$ ./notebooks -programs=."},
	{"chaos", test + "-timeout=1h -run=^TestChaos$ ./dacelib/farm/natsfarm -kills=100"},
	{"night", test + "-timeout=1h -run=^TestNight$ ./dacelib/farm -night=8h -night-seed=SEED"},
}

// testAll sets up what the tests need and runs the checks, with all also the
// nightly ones; names, if any, are those to run. Tests fail, instead of being
// skipped, if a client is missing. A check that fails fails the run: nothing is
// run again.
func (in *installer) testAll(ctx context.Context, root string, names []string) error {
	var later []check
	if in.all {
		fuzz, err := fuzzTargets(root)
		if err != nil {
			return err
		}
		later = slices.Concat(nightly, fuzz)
	}
	lanes, later, err := choose(checks, later, names)
	if err != nil {
		return err
	}
	if err := in.installDebian(ctx, testPackages...); err != nil {
		return err
	}
	if _, err := exec.LookPath("gcc"); err != nil && os.Getenv("CC") == "" {
		return errors.New("there is no gcc, which compiled cells and go test -race need: install it (on Debian: apt-get install gcc libc6-dev)")
	}
	dir, err := os.MkdirTemp("", "dace-tests-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	// JupyterLab and the command are built beside one another: neither keeps two processors busy.
	build, cancel := context.WithCancel(ctx)
	var building sync.WaitGroup
	defer building.Wait()
	defer cancel()
	var failed error
	if slices.ContainsFunc(flat(lanes, later), func(c check) bool {
		return ofPackages.MatchString(c.command) || strings.HasPrefix(c.command, test) && strings.HasSuffix(c.command, "/...")
	}) {
		in.command = filepath.Join(dir, "dace")
		building.Go(func() { failed = buildAway(build, root, in.command) })
	}
	if err := in.setUpFrontEnd(ctx, root); err != nil {
		return err
	}
	if in.command != "" {
		err := in.Step("Building the command for the tests", func() (string, error) {
			building.Wait()
			return "", failed
		})
		if err != nil {
			return err
		}
	}
	return in.runChecks(ctx, root, lanes, later, filepath.Join(root, "dist", "tests"))
}

// testCommand is the environment variable that names the installed kernel's command for
// the tests: those that need it would each build one, 20 s of processor time.
const testCommand = "DACE_TEST_COMMAND"

// buildAway builds the kernel in a copy of the module that it removes, so that the
// source is gone when the kernel runs.
func buildAway(ctx context.Context, root, to string) error {
	clone, err := os.MkdirTemp("", "dace-install-clone-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(clone)
	for _, name := range []string{"go.mod", "go.sum", "LICENSE"} {
		text, err := os.ReadFile(filepath.Join(root, name))
		if err == nil {
			err = os.WriteFile(filepath.Join(clone, name), text, 0o644)
		}
		if err != nil {
			return err
		}
	}
	for _, dir := range []string{"kernel", "dacelib"} {
		if err := os.CopyFS(filepath.Join(clone, dir), os.DirFS(filepath.Join(root, dir))); err != nil {
			return err
		}
	}
	return buildKernel(ctx, clone, to)
}

// flat returns the checks of all lanes, and those of later.
func flat(lanes [][]check, later []check) []check {
	return append(slices.Concat(lanes...), later...)
}

// choose returns the checks that names name, and all if there is none.
func choose(lanes [][]check, later []check, names []string) ([][]check, []check, error) {
	all := flat(lanes, later)
	for _, name := range names {
		if !slices.ContainsFunc(all, func(c check) bool { return c.name == name }) {
			return nil, nil, fmt.Errorf("there is no check %s among those of -test: %s (-all has more)", name, strings.Join(namesOf(all), ", "))
		}
	}
	if len(names) == 0 {
		return lanes, later, nil
	}
	named := func(run []check) (found []check) {
		for _, c := range run {
			if slices.Contains(names, c.name) {
				found = append(found, c)
			}
		}
		return found
	}
	var chosen [][]check
	for _, lane := range lanes {
		chosen = append(chosen, named(lane))
	}
	return chosen, named(later), nil
}

func namesOf(checks []check) (names []string) {
	for _, c := range checks {
		names = append(names, c.name)
	}
	return names
}

// runChecks runs checks in the folder root: the lanes beside one another, then those of
// later. It keeps what each prints, and a report of all, in the folder logs.
func (in *installer) runChecks(ctx context.Context, root string, lanes [][]check, later []check, logs string) error {
	if err := os.MkdirAll(logs, 0o755); err != nil {
		return err
	}
	var of sorted
	if slices.ContainsFunc(flat(lanes, later), func(c check) bool { return ofPackages.MatchString(c.command) }) {
		var err error
		if of, err = sortPackages(ctx, root); err != nil {
			return err
		}
	}
	seed := in.seed
	if seed == 0 {
		seed = uint64(time.Now().Unix())
	}
	words := strings.NewReplacer("SEED", fmt.Sprint(seed), "UNRACED", strings.Join(of.unraced, " "),
		"RACELESS", strings.Join(of.raceless, " "), "RACED", strings.Join(of.raced, " "))
	var mu sync.Mutex // of what is printed and outcomes
	var outcomes []outcome
	start := time.Now()
	inTurn := func(run []check) {
		for _, c := range run {
			if ctx.Err() != nil {
				return
			}
			argv := strings.Fields(words.Replace(c.command))
			before, log := load(ctx), filepath.Join(logs, c.name+".log")
			mu.Lock()
			in.say("\n== %s (%s since the start; load %s): %s", c.name, time.Since(start).Round(time.Second), before, strings.Join(argv, " "))
			mu.Unlock()
			o := in.runCheck(ctx, root, argv, log, &mu)
			o.name, o.log, o.before, o.after = c.name, log, before, load(ctx)
			mu.Lock()
			if o.err != nil {
				in.say("%s fails (%v) with seed %d, load %s before and %s after; what it printed: %s", o.name, o.err, seed, o.before, o.after, o.log)
			}
			outcomes = append(outcomes, o)
			mu.Unlock()
		}
	}
	var ended sync.WaitGroup
	for _, lane := range lanes {
		ended.Go(func() { inTurn(lane) })
	}
	ended.Wait()
	inTurn(later)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if len(outcomes) == 0 {
		return errors.New("no check was run")
	}
	return in.report(ctx, root, logs, seed, outcomes)
}

// report prints what came of checks and keeps it in the folder logs. It returns an error
// that names those that failed.
func (in *installer) report(ctx context.Context, root, logs string, seed uint64, outcomes []outcome) error {
	id, _ := revision(ctx, root)
	var text bytes.Buffer
	fmt.Fprintf(&text, "revision %s, %s %s/%s, %d processors, seed %d (-seed %[6]d runs the same again)\n\n", id, runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), seed)
	rows := tabwriter.NewWriter(&text, 0, 8, 2, ' ', 0)
	fmt.Fprintln(rows, "check\tresult\tseconds\tprocessor seconds\tload before\tload after")
	var failed []string
	for _, o := range outcomes {
		result := "passes"
		if o.err != nil {
			result, failed = "FAILS", append(failed, o.name)
		}
		fmt.Fprintf(rows, "%s\t%s\t%.0f\t%.0f\t%s\t%s\n", o.name, result, o.took.Seconds(), o.cpu.Seconds(), o.before, o.after)
	}
	rows.Flush()
	in.say("\n%s", &text)
	if err := os.WriteFile(filepath.Join(logs, "report.txt"), text.Bytes(), 0o644); err != nil {
		return err
	}
	if failed != nil {
		return fmt.Errorf("failed: %s", strings.Join(failed, ", "))
	}
	in.say("All tests pass.")
	return nil
}

// An outcome is what came of a check.
type outcome struct {
	name, log     string
	err           error
	took, cpu     time.Duration // cpu with its processes
	before, after string        // the machine's load
}

// runCheck runs a check's command, which also prints to the file log. It returns its error
// and how long it took.
func (in *installer) runCheck(ctx context.Context, root string, argv []string, log string, printing *sync.Mutex) (o outcome) {
	f, err := os.Create(log)
	if err != nil {
		return outcome{err: err}
	}
	defer f.Close()
	out := &lineWriter{mu: printing, w: in.out}
	defer out.flush()
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir, cmd.Stdout = root, io.MultiWriter(out, f)
	cmd.Stderr = cmd.Stdout
	cmd.Env = append(os.Environ(), "DACE_REQUIRE_CLIENTS=1", "CGO_ENABLED=1", testCommand+"="+in.command,
		// As the command is built, so that packages are compiled once for both, and for
		// all clones that have the same ones. Without version stamping, the tests do not
		// fail if git refuses to read a clone that belongs to another user.
		"GOFLAGS="+strings.TrimSpace(os.Getenv("GOFLAGS")+" -buildvcs=false -trimpath"), "DACE_SOURCE="+root)
	gentle(cmd)
	begun := time.Now()
	o.err = cmd.Run()
	o.took = time.Since(begun)
	if cmd.ProcessState != nil {
		o.cpu = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	}
	return o
}

// A lineWriter passes on whole lines, so that those of several checks are not mixed.
type lineWriter struct {
	mu   *sync.Mutex
	w    io.Writer
	rest []byte
}

func (l *lineWriter) Write(p []byte) (int, error) {
	l.rest = append(l.rest, p...)
	l.pass(bytes.LastIndexByte(l.rest, '\n') + 1)
	return len(p), nil
}

// flush passes on a line that has no end.
func (l *lineWriter) flush() { l.pass(len(l.rest)) }

func (l *lineWriter) pass(n int) {
	if n > 0 {
		l.mu.Lock()
		defer l.mu.Unlock()
		_, _ = l.w.Write(l.rest[:n]) // a reader who has gone does not end the tests
		l.rest = l.rest[n:]
	}
}

// concurrent matches what the race detector, which also checks pointers, can find faults
// in. Tests that are parallel share no more than their package does.
var concurrent = regexp.MustCompile(`(?m)\bgo func\(|^\s*go \w|\.Go\(|\bAfterFunc\(|"(unsafe|net|net/http\S*|testing/synctest)"`)

// inPlugins are half of the tests of package [plugins], which builds one plugin after the other.
const inPlugins = "^TestCompiledCells$"

// plugins is a package without goroutines of its own whose tests build plugins, hundreds in all:
// with the detector each is built and linked with it, too. Check "race-twice" of -all does.
const plugins = "kernel/internal/toolchain/native"

// ofPackages matches the commands that want [sorted].
var ofPackages = regexp.MustCompile(` (RACED|RACELESS|UNRACED)$`)

// longest are the packages whose tests take more than a minute on two cores, beside others:
// they begin first, so that none is left alone at the end.
var longest = []string{
	"kernel", "kernel/gocell", plugins, "kernel/internal/cli", "dacelib/nir", "dacelib/farm/natsfarm",
	"kernel/internal/jupyter/server", "dacelib/construct",
}

// sorted are the module's packages, without install's, of which there is a check. Those of
// [longest] come first.
//   - raced: those of the kernel but [plugins] and those whose own files and tests start no
//     goroutine and use no unsafe, as the detector would take minutes to watch one goroutine
//   - raceless: those of raced that have tests of the variable of that name
//   - unraced: all others
type sorted struct{ raced, raceless, unraced []string }

func sortPackages(ctx context.Context, root string) (s sorted, err error) {
	out, err := goList(ctx, root, nil, "-f", `{{.ImportPath}} {{.Dir}}{{range .GoFiles}} {{.}}{{end}}{{range .CgoFiles}} {{.}}{{end}}{{range .TestGoFiles}} {{.}}{{end}}{{range .XTestGoFiles}} {{.}}{{end}}`, "./...")
	if err != nil {
		return s, err
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	slices.SortStableFunc(lines, func(a, b string) int { return cmp.Compare(place(a), place(b)) })
	kernel := buildinfo.Path("kernel")
	for _, line := range lines {
		words := strings.Fields(line)
		if words[0] == buildinfo.Path("install") {
			continue
		}
		var texts []byte
		for _, name := range words[2:] {
			text, err := os.ReadFile(filepath.Join(words[1], name))
			if err != nil {
				return s, err
			}
			texts = append(texts, text...)
		}
		if words[0] != kernel && !strings.HasPrefix(words[0], kernel+"/") || words[0] == buildinfo.Path(plugins) || !concurrent.Match(texts) {
			s.unraced = append(s.unraced, words[0])
			continue
		}
		s.raced = append(s.raced, words[0])
		if slices.ContainsFunc(raceless, func(pattern string) bool { return bytes.Contains(texts, []byte("\nfunc "+testName(pattern)+"(")) }) {
			s.raceless = append(s.raceless, words[0])
		}
	}
	return s, nil
}

// place is where in [longest] the package is that a line begins with.
func place(line string) int {
	path, _, _ := strings.Cut(line, " ")
	if i := slices.IndexFunc(longest, func(name string) bool { return buildinfo.Path(name) == path }); i >= 0 {
		return i
	}
	return len(longest)
}

// testName is the name of the test that a pattern of [raceless] matches.
func testName(pattern string) string {
	name, _, _ := strings.Cut(strings.Trim(pattern, "^"), "$")
	return name
}

// load returns the machine's load averages, as uptime tells them.
func load(ctx context.Context) string {
	out, err := exec.CommandContext(ctx, "uptime").Output()
	_, averages, ok := strings.Cut(string(out), "load average")
	if err != nil || !ok {
		return "unknown"
	}
	return strings.Join(strings.Fields(strings.NewReplacer(",", " ", ":", " ").Replace(strings.TrimPrefix(averages, "s"))), "/")
}

var fuzzTarget = regexp.MustCompile(`(?m)^func (Fuzz\w+)\(`)

// fuzzTargets returns a check for each fuzz target of the module, a minute each.
func fuzzTargets(root string) (found []check, err error) {
	for _, dir := range []string{"kernel", "dacelib", "install"} {
		err = errors.Join(err, filepath.WalkDir(filepath.Join(root, dir), func(path string, d os.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, "_test.go") {
				return err
			}
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			pkg, err := filepath.Rel(root, filepath.Dir(path))
			if err != nil {
				return err
			}
			for _, m := range fuzzTarget.FindAllSubmatch(text, -1) {
				name := string(m[1])
				found = append(found, check{"fuzz-" + strings.ReplaceAll(pkg, "/", "-") + "-" + name,
					fmt.Sprintf("go test -run=^$ -fuzz=^%s$ -fuzztime=1m ./%s", name, filepath.ToSlash(pkg))})
			}
			return nil
		}))
	}
	return found, err
}
