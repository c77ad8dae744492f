package magic

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"dace.local/kernel/engine"
)

func test(c *Call) error {
	args, err := c.Words()
	if err != nil {
		return err
	}
	if slices.ContainsFunc(withoutFlags(args), isPackage) {
		return c.TestPackages(c, args)
	}
	return runTests(c, func(Declared) bool { return true })
}

// testCell runs the cell, then the tests that it declares.
func testCell(c *Call) (engine.Result, error) {
	before := map[string]bool{}
	for _, d := range c.Declared() {
		before[d.Name] = true
	}
	body := c.Body()
	if res, err := c.Run(c.Ctx, body, c.Out); err != nil {
		return res, err
	}
	return engine.Result{}, runTests(c, func(d Declared) bool {
		return !before[d.Name] || strings.Contains(body.Code, "func "+d.Name+"(")
	})
}

// bench runs the benchmarks of packages, or of the session.
func bench(c *Call) error {
	args, err := c.Words()
	if err != nil {
		return err
	}
	pattern := "."
	var packages []string
	rest := withoutFlags(args)
	flags := slices.DeleteFunc(slices.Clone(args), func(a string) bool { return slices.Contains(rest, a) })
	for _, a := range rest {
		if isPackage(a) {
			packages = append(packages, a)
		} else {
			pattern = a
		}
	}
	if len(packages) == 0 {
		session := func(d Declared) bool { return d.Kind == "function" && strings.HasPrefix(d.Name, "Benchmark") }
		if slices.ContainsFunc(c.Declared(), session) {
			c.Args = "-run ^$ -bench '" + pattern + "' " + strings.Join(flags, " ")
			return runTests(c, session)
		}
		packages = []string{"./..."}
	}
	return c.TestPackages(c, slices.Concat([]string{"-run", "^$", "-bench", pattern, "-benchmem"}, flags, packages))
}

// isPackage reports whether an argument names packages as the go command has them.
func isPackage(arg string) bool {
	return arg == "." || arg == ".." || strings.Contains(arg, "/") || strings.Contains(arg, "...")
}

// withoutFlags returns the arguments that are neither flags nor their values.
func withoutFlags(args []string) (rest []string) {
	alone := []string{"v", "short", "race", "benchmem", "failfast", "cover", "json", "x", "a", "fullpath"}
	for i := 0; i < len(args); i++ {
		name, ok := strings.CutPrefix(args[i], "-")
		switch {
		case !ok:
			rest = append(rest, args[i])
		case !strings.Contains(name, "=") && !slices.Contains(alone, strings.TrimPrefix(strings.TrimPrefix(name, "-"), "test.")):
			i++ // its value
		}
	}
	return rest
}

// runTests runs the session's tests and benchmarks among those that are wanted.
func runTests(c *Call, wanted func(Declared) bool) error {
	args, err := c.Words()
	if err != nil {
		return err
	}
	return withFlags(args, c.usage(), func(bench bool) error {
		var tests, benchmarks, others []string
		declared := c.Declared()
		slices.SortStableFunc(declared, func(a, b Declared) int { return cmp.Compare(a.Pos, b.Pos) }) // as go test runs them
		for _, d := range declared {
			kind, takes := testKind(d.Name), testSignature.ReplaceAllString(d.Type, "$1")
			switch {
			case d.Kind != "function" || kind == "" || !wanted(d):
			case kind == "Test" && takes == "T":
				tests = append(tests, d.Name)
			case kind == "Benchmark" && takes == "B":
				if bench {
					benchmarks = append(benchmarks, d.Name)
				}
			default:
				others = append(others, d.Name)
			}
		}
		if len(others) > 0 {
			c.Out.Stderr("not run: " + strings.Join(others, ", ") + ". Of cells run func TestName(t *testing.T) and func BenchmarkName(b *testing.B); what else go test runs wants a file: %%writefile name_test.go, then %test ./...\n")
		}
		if len(tests)+len(benchmarks) == 0 {
			return errors.New("the session declares no tests: func TestName(t *testing.T) { ... }")
		}
		values, err := c.Values(c.Ctx, c.at(testTable(tests, benchmarks)), c.Out)
		if err != nil {
			return err
		}
		all, ok := values[0].([]any)
		if !ok || len(all) != 2 {
			return fmt.Errorf("internal: the tests are a %T", values[0])
		}
		runnable, ok := all[0].([]testing.InternalTest)
		if !ok {
			return fmt.Errorf("internal: the tests are a %T", all[0])
		}
		for i, t := range runnable {
			runnable[i].F = c.Surviving(t.F)
		}
		failed := false
		err = c.Call(c.Ctx, c.Out, func() {
			failed = testing.MainStart(deps{}, runnable, all[1].([]testing.InternalBenchmark), nil, nil).Run() != 0
		})
		if err == nil && failed {
			err = errors.New("a test has failed")
		}
		return err
	})
}

// testKind returns the word with which go test knows the name of a function, if any.
func testKind(name string) string {
	for _, kind := range []string{"Test", "Benchmark", "Example", "Fuzz"} {
		if rest, ok := strings.CutPrefix(name, kind); ok {
			if first, _ := utf8.DecodeRuneInString(rest); !unicode.IsLower(first) {
				return kind
			}
		}
	}
	return ""
}

// testSignature matches the type of a test, whatever its parameter's name.
var testSignature = regexp.MustCompile(`^func\((?:\w+ )?\*testing\.([TB])\)$`)

// testTable returns the expression for tests and benchmarks.
func testTable(tests, benchmarks []string) string {
	var b strings.Builder
	list := func(kind string, names []string) {
		b.WriteString("[]testing.Internal" + kind + "{")
		for _, n := range names {
			fmt.Fprintf(&b, "{Name: %q, F: %s}, ", n, n)
		}
		b.WriteString("}, ")
	}
	b.WriteString("[]any{")
	list("Test", tests)
	list("Benchmark", benchmarks)
	b.WriteString("}")
	return b.String()
}

// testFlags are the flags of go test that tests of cells take.
var testFlags = []string{"v", "run", "skip", "bench", "benchtime", "benchmem", "count", "short", "failfast"}

// withFlags calls f with whether benchmarks run, while the flags of package testing have
// the values of args, and those that would change what runs have none: this process may
// be a test itself, which go test runs in another order, twice, or in part.
func withFlags(args []string, usage string, f func(bench bool) error) error {
	testing.Init()
	if !flag.Parsed() { // testing.M would parse the kernel's own arguments
		if err := flag.CommandLine.Parse(nil); err != nil {
			return err
		}
	}
	fs := flag.NewFlagSet("", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	for _, name := range append([]string{"shuffle", "list", "testlogfile"}, testFlags...) {
		old := flag.Lookup("test." + name)
		if old == nil {
			return errors.New("internal: package testing has no flag " + name)
		}
		before := old.Value.String()
		if err := old.Value.Set(old.DefValue); err != nil {
			return err
		}
		defer func() { _ = old.Value.Set(before) }()
		if slices.Contains(testFlags, name) {
			fs.Var(old.Value, name, "")
		}
	}
	for i, a := range args { // also as go test has them: -test.v
		args[i] = strings.Replace(a, "-test.", "-", 1)
	}
	if err := fs.Parse(args); err != nil {
		return fmt.Errorf("%w: %s", err, usage)
	}
	return f(fs.Lookup("bench").Value.String() != "")
}

// deps is what a program that go test builds passes to package testing. It
// selects tests; it has no profiles, no coverage and no fuzzing.
type deps struct{}

// A corpusEntry is the type that package testing declares under this name.
type corpusEntry = struct {
	Parent     string
	Path       string
	Data       []byte
	Values     []any
	Generation int
	IsSeed     bool
}

func (deps) ImportPath() string                          { return "main" }
func (deps) ModulePath() string                          { return "" }
func (deps) MatchString(pat, str string) (bool, error)   { return regexp.MatchString(pat, str) }
func (deps) SetPanicOnExit0(bool)                        {}
func (deps) StartCPUProfile(io.Writer) error             { return nil }
func (deps) StopCPUProfile()                             {}
func (deps) StartTestLog(io.Writer)                      {}
func (deps) StopTestLog() error                          { return nil }
func (deps) WriteProfileTo(string, io.Writer, int) error { return nil }
func (deps) RunFuzzWorker(func(corpusEntry) error) error { return nil }
func (deps) CheckCorpus([]any, []reflect.Type) error     { return nil }
func (deps) ResetCoverage()                              {}
func (deps) SnapshotCoverage()                           {}

func (deps) CoordinateFuzzing(time.Duration, int64, time.Duration, int64, int, []corpusEntry, []reflect.Type, string, string) error {
	return nil
}

func (deps) ReadCorpus(string, []reflect.Type) ([]corpusEntry, error) { return nil, nil }

func (deps) InitRuntimeCoverage() (mode string, tearDown func(string, string) (string, error), snapcov func() float64) {
	return "", nil, nil
}
