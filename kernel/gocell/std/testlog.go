package std

import (
	"fmt"
	"go/token"
	"strings"
	"sync"
	"testing"

	"dace.local/kernel/gocell/vm"
)

// What a test logs begins with the place of the call. Package testing asks the run
// time for it, which would name a function of the interpreter.

// testLoggers returns stand-ins for the methods of testing.T, B and F that log,
// and for Helper; also for those of testing.TB, which may be methods of a cell's
// type that embeds one.
func (l *Library) testLoggers() map[string]any {
	all := map[string]any{}
	for name, m := range map[string]struct {
		plain  func(testing.TB, ...any)
		format func(testing.TB, string, ...any)
		then   func(testing.TB)
	}{
		"Log":   {testing.TB.Log, testing.TB.Logf, func(testing.TB) {}},
		"Error": {testing.TB.Error, testing.TB.Errorf, testing.TB.Fail},
		"Fatal": {testing.TB.Fatal, testing.TB.Fatalf, testing.TB.FailNow},
		"Skip":  {testing.TB.Skip, testing.TB.Skipf, testing.TB.SkipNow},
	} {
		plain := func(tb testing.TB, a ...any) {
			if !ofTesting(tb) {
				m.plain(tb, a...)
				return
			}
			l.testLog(tb, formatted(func(a []any) string { return fmt.Sprintln(a...) })(a))
			m.then(tb)
		}
		format := func(tb testing.TB, f string, a ...any) {
			if !ofTesting(tb) {
				m.format(tb, f, a...)
				return
			}
			l.testLog(tb, formattedf(fmt.Sprintf)(f, a...))
			m.then(tb)
		}
		for _, receiver := range []string{"(*testing.common).", "(testing.TB)."} {
			all[receiver+name], all[receiver+name+"f"], all[receiver+"Helper"] = plain, format, l.testHelper
		}
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
	tb    testing.TB
	start token.Pos
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
	list := l.machine.Callers()
	if !ofTesting(tb) || len(list) == 0 {
		tb.Helper()
		return
	}
	h := helping{tb, list[0].Start}
	if _, known := helpings.LoadOrStore(h, true); !known {
		tb.Cleanup(func() { helpings.Delete(h) })
	}
}

// testPlace returns the innermost call in cells that leads to a message of a test
// and is in no helper: in a subtest's helper, one that leads to its Run.
func (l *Library) testPlace(tb testing.TB) (at vm.Caller, ok bool) {
	list := l.machine.Callers()
	for {
		for _, at = range list {
			if _, helps := helpings.Load(helping{tb, at.Start}); !helps {
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
	by := subtest{t, l.machine.Callers()}
	return t.Run(name, func(t *testing.T) {
		subtests.Store(t, by)
		t.Cleanup(func() { subtests.Delete(t) })
		l.surviveTest(t, f)
	})
}
