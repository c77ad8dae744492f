package std

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"
	"time"

	"dace.local/kernel/gocell/internal/vm"
)

// Package testing ends the process: Main calls os.Exit, a test that panics panics
// anew in a goroutine of its own, and flags are parsed from the kernel's command
// line. Here Main ends the cell, and a panic fails the test.

// overrideTesting replaces the functions of package testing.
func (l *Library) overrideTesting(set func(name string, f any)) {
	set("Main", func(match func(pat, str string) (bool, error), tests []testing.InternalTest, benchmarks []testing.InternalBenchmark, examples []testing.InternalExample) {
		panic(vm.Ending(vm.Exit{Code: l.runTests(testing.MainStart(testDeps(match), l.survivingAll(tests), benchmarks, nil, examples))}))
	})
	set("RunTests", func(match func(pat, str string) (bool, error), tests []testing.InternalTest) bool {
		return testing.RunTests(match, l.survivingAll(tests))
	})
	set("Benchmark", func(f func(*testing.B)) testing.BenchmarkResult {
		present(f != nil)
		return testing.Benchmark(f)
	})
}

// testingMethods returns stand-ins for methods of package testing.
func (l *Library) testingMethods() map[string]any {
	return map[string]any{
		"(*testing.M).Run": l.runTests,
		"(*testing.T).Run": l.runTest,
		"(*testing.B).Run": func(b *testing.B, name string, f func(*testing.B)) bool {
			present(f != nil)
			running(b)
			return b.Run(name, f)
		},
		"(*testing.B).RunParallel": func(b *testing.B, f func(*testing.PB)) {
			present(f != nil)
			running(b)
			b.RunParallel(f)
		},
	}
}

// running panics if a test or benchmark has ended: package testing would do so in a
// goroutine of its own.
func running(tb testing.TB) {
	if tb.Context().Err() != nil {
		panic("testing: Run after " + tb.Name() + " has ended")
	}
}

// runTests is (*testing.M).Run with the flags of the cells' os.Args.
func (l *Library) runTests(m *testing.M) int {
	testing.Init()
	if !flag.Parsed() {
		_ = parseFlags(flag.CommandLine, l.args[1:])
	}
	// Of a test binary the flag is its own, not the cell's.
	if f := flag.Lookup("test.run"); f != nil && f.Value.String() != "" {
		old := f.Value.String()
		_ = f.Value.Set("")
		defer func() { _ = f.Value.Set(old) }()
	}
	return m.Run()
}

// SurvivingTest returns a test that fails where f panics, or ends by
// runtime.Goexit: package testing would panic in a goroutine of its own.
func (l *Library) SurvivingTest(f func(*testing.T)) func(*testing.T) {
	return func(t *testing.T) { l.surviveTest(t, f) }
}

// surviveTest runs f. Package vm knows it by its name.
func (l *Library) surviveTest(t *testing.T, f func(*testing.T)) {
	returned := false
	defer func() {
		switch v := recover(); {
		case v != nil:
			testFails(t, "the test has panicked\n"+l.machine.Traceback(v))
		case !returned && !t.Skipped():
			if !t.Failed() {
				testFails(t, "the test has ended by runtime.Goexit")
			}
			t.FailNow()
		}
	}()
	f(t)
	returned = true
}

// testFails is t.Error without a place, which would be here.
func testFails(t *testing.T, text string) {
	fmt.Fprintln(t.Output(), strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n    "))
	t.Fail()
}

func (l *Library) survivingAll(tests []testing.InternalTest) []testing.InternalTest {
	list := make([]testing.InternalTest, len(tests))
	for i, t := range tests {
		list[i] = testing.InternalTest{Name: t.Name, F: l.SurvivingTest(t.F)}
	}
	return list
}

// testDeps is what testing.Main gives to MainStart: it matches names, and has no
// profiles and no fuzzing.
type testDeps func(pat, str string) (bool, error)

var errMain = errors.New("testing: unexpected use of func Main")

// A corpusEntry is that of package testing.
type corpusEntry = struct {
	Parent     string
	Path       string
	Data       []byte
	Values     []any
	Generation int
	IsSeed     bool
}

func (f testDeps) MatchString(pat, str string) (bool, error)   { return f(pat, str) }
func (f testDeps) StartCPUProfile(io.Writer) error             { return errMain }
func (f testDeps) StopCPUProfile()                             {}
func (f testDeps) WriteProfileTo(string, io.Writer, int) error { return errMain }
func (f testDeps) ModulePath() string                          { return "" }
func (f testDeps) ImportPath() string                          { return "" }
func (f testDeps) StartTestLog(io.Writer)                      {}
func (f testDeps) StopTestLog() error                          { return errMain }
func (f testDeps) SetPanicOnExit0(bool)                        {}
func (f testDeps) CoordinateFuzzing(time.Duration, int64, time.Duration, int64, int, []corpusEntry, []reflect.Type, string, string) error {
	return errMain
}
func (f testDeps) RunFuzzWorker(func(corpusEntry) error) error { return errMain }
func (f testDeps) ReadCorpus(string, []reflect.Type) ([]corpusEntry, error) {
	return nil, errMain
}
func (f testDeps) CheckCorpus([]any, []reflect.Type) error { return nil }
func (f testDeps) ResetCoverage()                          {}
func (f testDeps) SnapshotCoverage()                       {}
func (f testDeps) InitRuntimeCoverage() (mode string, tearDown func(string, string) (string, error), snapcov func() float64) {
	return
}
