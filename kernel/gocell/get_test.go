package gocell

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"dace.local/kernel/engine"
	"dace.local/kernel/engine/enginetest"
	"dace.local/kernel/internal/toolchain/module/moduletest"
)

// TestGet runs the cells of testdata/get.txt, which use the modules of package
// moduletest.
func TestGet(t *testing.T) {
	moduletest.Proxy(t)
	defer func(real func() map[string]string) { versions = real }(versions)
	versions = func() map[string]string { return map[string]string{"gonum.org/v1/gonum": "v0.17.0"} } // a test of Go 1.26 knows none
	runFile(t, "testdata/get.txt")
}

func TestGetInterrupted(t *testing.T) {
	moduletest.Proxy(t)
	s := newSession(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := s.Execute(ctx, engine.Cell{Number: 1, Code: "%get example.test/geo@v1.0.0"}, &enginetest.Recorder{})
	var e *engine.Error
	if !errors.As(err, &e) || e.Name != engine.Interrupted {
		t.Errorf("says %v", err)
	}
	if got := runCell(s, 2, "1 + 1", time.Minute); got != "= 2" {
		t.Errorf("after it: %s", got)
	}

	// Interrupt the initialization of a package; it must start again in the
	// next cell.
	if got := runCell(s, 3, "%get example.test/mix", time.Minute); strings.Contains(got, "Error") {
		t.Fatal(got)
	}
	for n := range 2 {
		if got := runCell(s, 4+n, "import \"example.test/mix/slow\"\nslow.X", 300*time.Millisecond); !strings.Contains(got, engine.Interrupted) {
			t.Errorf("slow: %s", got)
		}
	}
	if got := runCell(s, 6, "import \"example.test/mix/plain\"\nplain.Name", time.Minute); got != `= "plain"` {
		t.Errorf("after it: %s", got)
	}
}

// TestInitializationFails checks that a package whose initialization fails is
// initialized again when it is used again.
func TestInitializationFails(t *testing.T) {
	moduletest.Proxy(t)
	s := newSession(t)
	runCell(s, 1, "%get example.test/mix", time.Minute)
	const cell = "import \"example.test/mix/failing\"\nfailing.Value"
	got := runCell(s, 2, cell, time.Minute)
	for _, want := range []string{"while the packages that this cell imports are initialized", "example.test/mix@v1.0.0/failing/failing.go:", "panic: failing: DACE_TEST_FAILING is not set"} {
		if !strings.Contains(got, want) {
			t.Errorf("says\n%s\nwant in it %q", got, want)
		}
	}
	t.Setenv("DACE_TEST_FAILING", "set")
	if got := runCell(s, 3, cell, time.Minute); got != `= "set"` {
		t.Errorf("after it: %s", got)
	}
}

func TestGetWithoutGo(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	s := newSession(t)
	if got := runCell(s, 1, "%get example.test/geo", time.Minute); !strings.Contains(got, "%get needs the go command, and there is none on PATH") {
		t.Errorf("says %s", got)
	}
}

func newSession(t *testing.T) *Session {
	t.Helper()
	s, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// TestGetLooks checks completion and documentation of fetched packages.
func TestGetLooks(t *testing.T) {
	moduletest.Proxy(t)
	s := newSession(t)
	runCell(s, 1, "%get example.test/geo@v1.0.0", time.Minute)
	complete := func(code string) string {
		var l []string
		for _, m := range s.Complete(code, len(code)).Matches {
			l = append(l, m.Text)
		}
		return strings.Join(l, " ")
	}
	for _, c := range []struct{ code, want string }{
		{`import "example.test/g`, "example.test/geo example.test/geo/poly"},
		{"import \"example.test/geo\"\ngeo.New", "NewCircle"},
		{"geo.NewCi", "NewCircle"},
		{"import \"example.test/geo\"\ngeo.Point{}.Di", "Distance"},
		{"import \"example.test/geo\"\ngeo.zer", ""},
	} {
		if got := complete(c.code); got != c.want {
			t.Errorf("%s completes to %q, want %q", c.code, got, c.want)
		}
	}
	for _, c := range []struct{ code, want string }{
		{"import \"example.test/geo\"\ngeo.NewCircle", "func geo.NewCircle(p geo.Point, r float64) *geo.Circle\n\nNewCircle makes a circle."},
		{"import \"example.test/geo\"\ngeo.Point", "A Point is a place in the plane."},
		{"import \"example.test/geo\"\nvar p geo.Point; p.Distance", "Distance returns how far p is from q."},
		{"import \"example.test/geo\"\ngeo", "Package geo measures shapes."},
	} {
		b, ok := s.Inspect(c.code, len(c.code), 0)
		if text, _ := b.Data["text/plain"].(string); !ok || !strings.Contains(text, c.want) {
			t.Errorf("%s is documented as %q, want %q", c.code, text, c.want)
		}
	}
}
