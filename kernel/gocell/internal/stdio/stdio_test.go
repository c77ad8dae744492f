package stdio

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"dace.local/kernel/engine/enginetest"
	"dace.local/kernel/gocell/internal/vm"
)

// What compiled code and child processes write goes to the outputs in use, also after a
// cell has closed its standard output; the streams are the process's again afterwards.
func TestOutput(t *testing.T) {
	stdout, stderr := os.Stdout, os.Stderr
	if err := Output.Start(); err != nil {
		t.Fatal(err)
	}
	first, second := new(enginetest.Recorder), new(enginetest.Recorder)
	Output.Use(first)
	fmt.Println("printed")
	fmt.Fprintln(os.Stderr, "to stderr")
	child := exec.Command("sh", "-c", "echo child")
	child.Stdout = os.Stdout
	if err := child.Run(); err != nil {
		t.Error(err)
	}
	long := strings.Repeat("x", 3<<20) // more than a pipe holds
	fmt.Print(long)
	os.Stdout.Close()
	Output.Use(second)
	fmt.Print("second")
	Output.Flush()
	if got := first.Text(enginetest.Stdout); got != "printed\nchild\n"+long || first.Text(enginetest.Stderr) != "to stderr\n" {
		t.Errorf("%.80q (%d bytes), %q", got, len(got), first.Text(enginetest.Stderr))
	}
	if got := second.Text(enginetest.Stdout); got != "second" {
		t.Errorf("after a close: %q", got)
	}
	// A cell's own file stays.
	file, err := os.Create(t.TempDir() + "/out")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	os.Stdout = file
	Output.Use(first)
	if Output.Redirected() != file {
		t.Error("the file of a cell is not its standard output")
	}
	os.Stdout = stdout
	if err := Output.Stop(); err != nil || os.Stdout != stdout || os.Stderr != stderr {
		t.Errorf("%v, %v %v", err, os.Stdout == stdout, os.Stderr == stderr)
	}
}

// answers answers questions by lines, and has no more after them.
type answers struct {
	enginetest.Recorder
	lines []string
}

func (a *answers) Input(context.Context, string, bool) (string, error) {
	if len(a.lines) == 0 {
		return "", io.EOF
	}
	line := a.lines[0]
	a.lines = a.lines[1:]
	return line, nil
}

// A read of os.Stdin asks for a line; the end of the answers is the end of the input, for
// the one cell.
func TestInput(t *testing.T) {
	stdin := os.Stdin
	if err := Input.Start(); err != nil {
		t.Fatal(err)
	}
	m := vm.New(vm.Hooks{})
	long := strings.Repeat("y", 1<<20)
	for i, c := range []struct{ lines, want []string }{{[]string{"one", long}, []string{"one", long}}, {[]string{"again"}, []string{"again"}}} {
		if err := Input.Renew(); err != nil {
			t.Fatal(err)
		}
		cell := m.NewCell(t.Context(), &answers{lines: c.lines}, nil)
		done := make(chan struct{})
		served := make(chan struct{})
		go func() {
			defer close(served)
			Input.Serve(cell, done)
		}()
		var got []string
		s := bufio.NewScanner(os.Stdin)
		s.Buffer(nil, 2<<20)
		for s.Scan() {
			got = append(got, s.Text())
		}
		if s.Err() != nil || strings.Join(got, " ") != strings.Join(c.want, " ") {
			t.Errorf("cell %d: %v, %d lines", i, s.Err(), len(got))
		}
		close(done)
		<-served
		cell.Cancel(nil)
	}
	if err := Input.Stop(); err != nil || os.Stdin != stdin {
		t.Error(err, os.Stdin == stdin)
	}
}
