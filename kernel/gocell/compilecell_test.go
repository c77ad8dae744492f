package gocell_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"dace.local/kernel/engine"
	"dace.local/kernel/engine/enginetest"
	"dace.local/kernel/gocell"
)

// A pathCompiler notes what it is to build, and builds nothing.
type pathCompiler struct{ paths []string }

func (*pathCompiler) Ready() error { return nil }

func (c *pathCompiler) Load(_ context.Context, path string, _ map[string]string, _ string) (map[string]any, error) {
	c.paths = append(c.paths, path)
	return nil, errors.New("it builds nothing")
}

// TestSamePackage checks that a compiled cell that uses several functions of
// earlier cells becomes the same package each time: else it is built again in
// every session, and a function that a session compiles by itself never takes
// its place, since its package is another one when it has been built.
func TestSamePackage(t *testing.T) {
	const helpers = `func a(n int) int { return n + 1 }
func b(n int) int { return a(n) * 2 }
func c(n int) int { return n - 3 }
func d(n int) int { return n / 4 }
func e(n int) int { return n % 5 }`
	var first string
	for i := range 20 {
		compiler := &pathCompiler{}
		s, err := gocell.New(gocell.Options{Compiler: compiler})
		if err != nil {
			t.Fatal(err)
		}
		for n, code := range []string{helpers, "%%compile\nfunc f(n int) int { return e(n) + d(n) + c(n) + b(n) + strings.Count(strconv.Itoa(n), \"1\") }"} {
			got := enginetest.Show(t.Context(), s, engine.Cell{Number: n + 1, Code: code}, &enginetest.Recorder{})
			if n == 0 && got != "" {
				t.Fatal(got)
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		path := strings.Join(compiler.paths, " ")
		if i == 0 {
			first = path
		}
		if path == "" || path != first {
			t.Fatalf("session %d builds %q, the first one %q", i+1, path, first)
		}
	}
}
