package gocell

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"dace.local/kernel/engine"
	"dace.local/kernel/engine/enginetest"
)

// answers returns a function that answers with lines one after the other, and
// then with the end of the input.
func answers(lines ...string) func(context.Context, string, bool) (string, error) {
	return func(context.Context, string, bool) (string, error) {
		if len(lines) == 0 {
			return "", io.EOF
		}
		line := lines[0]
		lines = lines[1:]
		return line, nil
	}
}

// TestStdin reads os.Stdin in the ways that programs read it.
func TestStdin(t *testing.T) {
	long := strings.Repeat("x", 3<<20) + "end"
	for _, c := range []struct {
		name  string
		lines []string
		code  string
		want  string
		asked int
	}{
		{"scanner", []string{"one", "zwei 🎉", ""}, "sc := bufio.NewScanner(os.Stdin)\nfor sc.Scan() {\n\tfmt.Printf(\"%q \", sc.Text())\n}\nfmt.Print(sc.Err())", `"one" "zwei 🎉" "" <nil>`, 4},
		{"reader", []string{"one", "two"}, "r := bufio.NewReader(os.Stdin)\nline, err := r.ReadString('\\n')\nfmt.Printf(\"%q %v\", line, err)", `"one\n" <nil>`, 1},
		{"all", []string{"one", "two"}, "b, err := io.ReadAll(os.Stdin)\nfmt.Printf(\"%q %v\", b, err)", `"one\ntwo\n" <nil>`, 3},
		{"nothing", nil, "b, err := io.ReadAll(os.Stdin)\nfmt.Printf(\"%q %v\", b, err)", `"" <nil>`, 1},
		{"read", []string{"abc"}, "b := make([]byte, 2)\nn, err := os.Stdin.Read(b)\nfmt.Printf(\"%q %v\", b[:n], err)\nn, err = os.Stdin.Read(b)\nfmt.Printf(\"%q %v\", b[:n], err)", `"ab" <nil>"c\n" <nil>`, 1},
		{"fscan", []string{"3", "4 5"}, "var a, b, c int\nfmt.Fscan(os.Stdin, &a, &b, &c)\nfmt.Print(a+b+c)", "12", 2},
		{"scan then scanner", []string{"1 rest", "next"}, "var a int\nfmt.Scan(&a)\nsc := bufio.NewScanner(os.Stdin)\nsc.Scan()\nfmt.Printf(\"%d %q\", a, sc.Text())", `1 "rest"`, 1},
		{"scanln, scanf", []string{"1 a", "2-3"}, "var n, x, y int\nvar s string\nfmt.Scanln(&n, &s)\nfmt.Scanf(\"%d-%d\", &x, &y)\nfmt.Println(n, s, x, y)", "1 a 2 3\n", 2},
		{"as a file", []string{"a", "b"}, "count := func(f *os.File) (n int) {\n\tfor sc := bufio.NewScanner(f); sc.Scan(); {\n\t\tn++\n\t}\n\treturn n\n}\nin := os.Stdin\nfmt.Print(count(in))", "2", 3},
		{"copy", []string{"a", "b"}, "io.Copy(os.Stdout, os.Stdin)", "a\nb\n", 3},
		{"after the end", nil, "b, err := io.ReadAll(os.Stdin)\nn, err2 := os.Stdin.Read(make([]byte, 1))\nfmt.Print(len(b), err, n, err2)", "0 <nil> 0 EOF", 1},
		{"longer than a pipe", []string{long}, "r := bufio.NewReader(os.Stdin)\nline, err := r.ReadString('\\n')\nfmt.Printf(\"%d %v %q\", len(line), err, line[len(line)-4:])", `3145732 <nil> "end\n"`, 1},
		{"a goroutine", []string{"x"}, "done := make(chan string)\ngo func() {\n\tvar s string\n\tfmt.Scan(&s)\n\tdone <- s\n}()\nfmt.Print(<-done)", "x", 1},
		{"nobody reads", nil, "r := bufio.NewReader(os.Stdin)\ntime.Sleep(100 * time.Millisecond)\nfmt.Print(r.Buffered())", "0", 0},
		{"who it is", nil, "info, err := os.Stdin.Stat()\nfmt.Print(os.Stdin.Name() != \"\", info.Mode()&os.ModeCharDevice == 0, err)", "true true <nil>", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, err := New(Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			var asked atomic.Int32
			answer := answers(c.lines...)
			out := enginetest.Recorder{Answer: func(ctx context.Context, prompt string, password bool) (string, error) {
				asked.Add(1)
				return answer(ctx, prompt, password)
			}}
			if _, err := s.Execute(context.Background(), engine.Cell{Number: 1, Code: c.code}, &out); err != nil {
				t.Fatal(err)
			}
			if got := out.Text(enginetest.Stdout); got != c.want {
				t.Errorf("printed %.200q, want %q", got, c.want)
			}
			if n := int(asked.Load()); n != c.asked {
				t.Errorf("asked %d times, want %d", n, c.asked)
			}
		})
	}
}

// TestStdinSession reads one answer in several cells, and reads again after an
// interrupt and after the end of the input.
func TestStdinSession(t *testing.T) {
	before := os.Stdin
	s, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	number := 0
	cell := func(ctx context.Context, code string, answer func(context.Context, string, bool) (string, error)) (string, error) {
		t.Helper()
		number++
		out := enginetest.Recorder{Answer: answer}
		_, err := s.Execute(ctx, engine.Cell{Number: number, Code: code}, &out)
		return out.Text(enginetest.Stdout), err
	}
	ok := func(code, want string, lines ...string) {
		t.Helper()
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if got, err := cell(ctx, code, answers(lines...)); err != nil || got != want {
			t.Errorf("%s: printed %q, %v; want %q", code, got, err, want)
		}
	}
	const line = "line, err := in.ReadString('\\n')\nfmt.Printf(\"%q %v\", line, err)"
	ok("in := bufio.NewReader(os.Stdin)", "")
	ok("var n int\nfmt.Fscan(in, &n)\nfmt.Print(n)", "1", "1 2")
	ok(line, `" 2\n" <nil>`)

	for range 2 { // the same reader asks again
		ctx, cancel := context.WithCancel(context.Background())
		asked := func(ctx context.Context, _ string, _ bool) (string, error) {
			cancel()
			<-ctx.Done()
			return "", ctx.Err()
		}
		if got, err := cell(ctx, line, asked); err == nil || !strings.Contains(err.Error(), engine.Interrupted) || got != "" {
			t.Errorf("interrupted: %q, %v", got, err)
		}
	}
	ok(line, `"again\n" <nil>`, "again")

	// If the client cannot be asked, the cell fails with that error and does
	// not continue.
	refuse := func(context.Context, string, bool) (string, error) { return "", engine.ErrNoInput }
	if got, err := cell(context.Background(), line, refuse); err == nil || !strings.Contains(err.Error(), engine.ErrNoInput.Error()) || got != "" {
		t.Errorf("refused: %q, %v", got, err)
	}
	ok(line, `"and again\n" <nil>`, "and again")

	ok(line, `"" EOF`)
	ok("fmt.Scan(&n)\nfmt.Print(n)", "7", "7") // os.Stdin itself can be read after the end of the input

	// A child process that reads os.Stdin gets no input, but its read ends on
	// an interrupt.
	started := filepath.Join(t.TempDir(), "started")
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	go func() {
		for ; ctx.Err() == nil; time.Sleep(time.Millisecond) {
			if _, err := os.Stat(started); err == nil {
				cancel()
			}
		}
	}()
	got, err := cell(ctx, fmt.Sprintf("import \"os/exec\"\ncmd := exec.Command(\"sh\", \"-c\", `>'%s'; cat`)\ncmd.Stdin = os.Stdin\ncmd.Run()", started), nil)
	if err == nil || !strings.Contains(err.Error(), engine.Interrupted) {
		t.Errorf("a child process: %q, %v", got, err)
	}
	ok("for cmd.ProcessState == nil {\n\ttime.Sleep(time.Millisecond)\n}\nfmt.Print(cmd.ProcessState)", "exit status 0")
	ok("fmt.Scan(&n)\nfmt.Print(n)", "8", "8")

	s.Close()
	if os.Stdin != before {
		t.Error("os.Stdin is not what it was")
	}
}
