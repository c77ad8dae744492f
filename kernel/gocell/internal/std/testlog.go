package std

import (
	"fmt"
	"go/token"
	"strings"
	"sync"
	"testing"

	"dace.local/kernel/gocell/internal/vm"
)

// What a test logs begins with the place of the call. Package testing asks the run
// time for it, which would name a function of the kernel.

// A testLogger holds the methods of testing.TB that log under a name, with and
// without an f, and what they do then.
type testLogger struct {
	plain  func(testing.TB, ...any)
	format func(testing.TB, string, ...any)
	then   func(testing.TB)
}

var testLoggers = map[string]testLogger{
	"Log":   {testing.TB.Log, testing.TB.Logf, func(testing.TB) {}},
	"Error": {testing.TB.Error, testing.TB.Errorf, testing.TB.Fail},
	"Fatal": {testing.TB.Fatal, testing.TB.Fatalf, testing.TB.FailNow},
	"Skip":  {testing.TB.Skip, testing.TB.Skipf, testing.TB.SkipNow},
}

// testLogged is the method of a name, as Error, of a test or benchmark; of a cell's
// type that embeds one, its own.
func (l *Library) testLogged(name string, tb testing.TB, a []any) {
	m := testLoggers[name]
	if !ofTesting(tb) {
		m.plain(tb, a...)
		return
	}
	l.testLog(tb, formatted(func(a []any) string { return fmt.Sprintln(a...) })(a))
	m.then(tb)
}

// testLoggedf is testLogged of a method with a format, as Errorf.
func (l *Library) testLoggedf(name string, tb testing.TB, format string, a []any) {
	m := testLoggers[name]
	if !ofTesting(tb) {
		m.format(tb, format, a...)
		return
	}
	l.testLog(tb, formattedf(fmt.Sprintf)(format, a...))
	m.then(tb)
}

// testLogMethods returns stand-ins for the methods of testing.T, B, F and TB that
// log, and for Helper.
func (l *Library) testLogMethods() map[string]any {
	all := map[string]any{}
	for _, receiver := range []string{"(*testing.common).", "(testing.TB)."} {
		for name := range testLoggers {
			all[receiver+name] = func(tb testing.TB, a ...any) { l.testLogged(name, tb, a) }
			all[receiver+name+"f"] = func(tb testing.TB, format string, a ...any) { l.testLoggedf(name, tb, format, a) }
		}
		all[receiver+"Helper"] = l.testHelper
	}
	return all
}

// ofTesting reports whether the methods of tb are those of package testing.
func ofTesting(tb testing.TB) bool {
	switch tb.(type) {
	case *testing.T, *testing.B, *testing.F:
		return true
	}
	return false
}

// testLog writes a test's message as package testing does, with the place in the
// cell.
func (l *Library) testLog(tb testing.TB, text string) {
	defer func() {
		if recover() != nil {
			tb.Log(text) // panics for the same reason, in its own words
		}
	}()
	text = strings.TrimSuffix(text, "\n")
	place := "???:1: "
	if c, ok := l.testPlace(tb); ok {
		place = fmt.Sprintf("%s:%d: ", c.File, c.Line)
	}
	fmt.Fprintln(tb.Output(), place+strings.ReplaceAll(text, "\n", "\n    "))
}

// A helping is a function that has called Helper in a test.
type helping struct {
	tb       testing.TB
	function string
	start    token.Pos
}

// A subtest is how a test was started by Run.
type subtest struct {
	parent  testing.TB
	callers []vm.Caller // of Run
}

// helpings holds the functions that have called Helper, subtests the tests that
// Run has started. An entry lives as long as its test.
var (
	helpings sync.Map // helping -> true
	subtests sync.Map // testing.TB -> subtest
)

// testHelper replaces Helper: messages of the test pass over the calling function.
func (l *Library) testHelper(tb testing.TB) {
	list := l.machine.AllCallers()
	if !ofTesting(tb) || len(list) == 0 {
		tb.Helper()
		return
	}
	h := helping{tb, list[0].Function, list[0].Start}
	if _, known := helpings.LoadOrStore(h, true); !known {
		tb.Cleanup(func() { helpings.Delete(h) })
	}
}

// testPlace returns the innermost call in cells that leads to a message of a test
// and is in no helper: in a subtest's helper, one that leads to its Run.
func (l *Library) testPlace(tb testing.TB) (at vm.Caller, ok bool) {
	list := l.machine.AllCallers()
	for {
		for _, at = range list {
			if _, helps := helpings.Load(helping{tb, at.Function, at.Start}); !helps {
				return at, true
			}
		}
		sub, ok := subtests.Load(tb)
		if !ok {
			return at, len(list) > 0
		}
		tb, list = sub.(subtest).parent, sub.(subtest).callers
	}
}

// runTest is (*testing.T).Run.
func (l *Library) runTest(t *testing.T, name string, f func(*testing.T)) bool {
	running(t)
	by := subtest{t, l.machine.AllCallers()}
	return t.Run(name, func(t *testing.T) {
		subtests.Store(t, by)
		t.Cleanup(func() { subtests.Delete(t) })
		l.surviveTest(t, f)
	})
}
