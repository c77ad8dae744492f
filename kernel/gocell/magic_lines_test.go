package gocell

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"dace.local/kernel/engine"
	"dace.local/kernel/engine/enginetest"
)

// TestMagicsCompleted checks that Tab completes the name of every magic, and
// what follows some.
func TestMagicsCompleted(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, name := range []string{"data/", "data/deep/", ".hidden/"} {
		if err := os.MkdirAll(name, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile("data/points.csv", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	t.Setenv("DACE_TEST_COMPLETION", "1")
	s := benchSession(t)
	for _, m := range s.magics().All() {
		checkCompletion(t, s, m.Name[:len(m.Name)-1]+"|", m.Name)
	}
	for _, c := range []struct{ code, want string }{
		{"x := 1\n  %whos|", "%whos"},
		{"%cd d|", "data/"},
		{"%cd data/|", "data/deep/"},
		{"%run data/po|", "data/points.csv"},
		{"!head -3 data/po|", "data/points.csv"},
		{"lines := !head -3 data/po|", "data/points.csv"},
		{"for {\n\t!cat dat|", "data/"},
		{"!unam|", "uname"},
		{"%%bash\nx=1\ncat data/p|", "data/points.csv"},
		{"%env DACE_TEST_COM|", "DACE_TEST_COMPLETION"},
		{"%help %%writ|", "%%writefile"},
		{"%time strings.ToUpp|", "ToUpper"},
		{"%%time\nstrings.ToUpp|", "ToUpper"},
		{"%timeit -n 3 strings.ToUpp|", "ToUpper"},
		{"%ls\nstrings.ToUpp|", "ToUpper"},
		{"!ls\nstrings.ToUpp|", "ToUpper"},
		{"strings.ToUpp|\n%ls", "ToUpper"},
	} {
		checkCompletion(t, s, c.code, c.want)
	}
	for _, code := range []string{"`\n%ti|`", "/*\n%ti|*/", "%%html\n<b>strings.|", "%cd data/po|"} {
		before, _, _ := strings.Cut(code, "|")
		if c := s.Complete(strings.Replace(code, "|", "", 1), len(before)); len(c.Matches) > 0 {
			t.Errorf("%q: %v", code, c.Matches)
		}
	}
}

// checkCompletion completes at the bar in a code.
func checkCompletion(t *testing.T, s *Session, code, want string) {
	t.Helper()
	before, after, _ := strings.Cut(code, "|")
	c := s.Complete(before+after, len(before))
	if !slices.ContainsFunc(c.Matches, func(m engine.Completion) bool { return m.Text == want }) || c.End != len(before) ||
		!strings.HasPrefix(want, before[c.Start:]) {
		t.Errorf("%q: %v, want %q", code, c, want)
	}
}

// TestBlanked checks that questions about a cell see its Go only.
func TestBlanked(t *testing.T) {
	s := benchSession(t)
	for _, c := range []struct{ code, want string }{
		{"%get x\n  %%y\nz % 2\n%w", "      \n     \nz % 2\n  "},
		{"x := 1\n!ls {x}\ny := !x\nz", "x := 1\n       \ny := !x\nz"},
		{"%time f(x)\ny", "      f(x)\ny"},
		{"%%bash\necho", "      \n    "},
		{"%%time -x\necho", "         \necho"},
		{"%nosuch a\nb", "         \nb"},
	} {
		if got := s.magics().Blank(c.code, s.isName); got != c.want {
			t.Errorf("%q becomes %q, want %q", c.code, got, c.want)
		}
	}
}

// FuzzSplit checks that any text is split and blanked without a panic, that
// offsets stay, and that Go without magics stays as it is.
func FuzzSplit(f *testing.F) {
	for _, code := range []string{"%time x", "!ls\nx := !ls {x}\\\n a", "%%bash\nx", "`\n%x", "x = !y", "{!", "%\n%%\n!\n", "var x, y = !a"} {
		f.Add(code)
	}
	s := benchSession(f)
	f.Fuzz(func(t *testing.T, code string) {
		set := s.magics()
		if b := set.Blank(code, s.isName); len(b) != len(code) || strings.Count(b, "\n") != strings.Count(code, "\n") {
			t.Errorf("%q is blanked to %q", code, b)
		}
		steps, err := set.Split(code, s.isName)
		if err == nil && !strings.ContainsAny(code, "%!") && (len(steps) != 1 || steps[0].Go != code) {
			t.Errorf("%q becomes %v", code, steps)
		}
		for i := range len(code) {
			set.Complete(code, i, s.isName)
			set.At(code, i, s.isName)
		}
	})
}

// TestLoad checks that %load gives the client the text of a file.
func TestLoad(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a.go")
	if err := os.WriteFile(file, []byte("one\ntwo\nthree\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	s := benchSession(t)
	for args, want := range map[string]string{
		file:             "one\ntwo\nthree",
		"-r 2-3 " + file: "two\nthree",
		"-r 3 " + file:   "three",
	} {
		res, err := s.Execute(t.Context(), engine.Cell{Number: 1, Code: "%load " + args}, answering())
		if err != nil || res.Next == nil || !res.Next.Replace || res.Next.Text != "// %load "+args+"\n"+want {
			t.Errorf("%s: %+v, %v", args, res.Next, err)
		}
	}
}

// TestCommandInterrupted checks that commands show their output as it comes, and
// that an interrupt ends them with what they have started.
func TestCommandInterrupted(t *testing.T) {
	for _, code := range []string{
		"!echo started; sleep 1000 & sleep 1000",
		"%%bash\necho started\nsleep 1000 & sleep 1000",
		"%bash echo started; sleep 1000",
		"x := !echo started >&2; sleep 1000",
		"%time shell.Run(\"echo started; sleep 1000\")",
	} {
		s := benchSession(t)
		out := answering()
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() {
			_, err := s.Execute(ctx, engine.Cell{Number: 1, Code: code}, out)
			done <- err
		}()
		for !strings.Contains(out.Text(enginetest.Stdout)+out.Text(enginetest.Stderr), "started") {
			select {
			case err := <-done:
				t.Fatalf("%s: ended with %v", code, err)
			case <-time.After(5 * time.Millisecond):
			}
		}
		cancel()
		var e *engine.Error
		if err := <-done; !errors.As(err, &e) || e.Name != engine.Interrupted {
			t.Errorf("%s: %v", code, err)
		}
	}
}
