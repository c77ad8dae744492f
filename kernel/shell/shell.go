// Package shell runs commands from cells: a line `!ls *.csv` is [Run], and
// `files := !ls *.csv` is [Lines]. Call the functions to build a command line in Go:
//
//	shell.Run("tar -xf " + archive)
//
// The command line is run by bash, or by sh where there is no bash. Its standard
// input is empty. An interrupt of the cell ends the command and what it started.
package shell

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"dace.local/dacelib/files"
	"dace.local/kernel/engine"
	"dace.local/kernel/engine/goroutine"
	"dace.local/kernel/internal/system/limits"
	"dace.local/kernel/internal/system/process"
)

// An Error says that a command failed.
type Error struct {
	// Command is the command line.
	Command string
	// Err is the reason: "exit status 1".
	Err error
}

// Error returns the command line and the reason.
func (e *Error) Error() string { return "!" + e.Command + ": " + e.Err.Error() }

// Unwrap returns the reason.
func (e *Error) Unwrap() error { return e.Err }

// Run runs a command line and shows its output as it comes. It panics with an
// *Error if the command fails, so that the cell fails; "cmd || true" never
// fails.
func Run(line string) {
	ctx, out := current()
	if err := run(ctx, line, out.Stdout, out.Stderr); err != nil {
		panic(err)
	}
}

// Lines runs a command line and returns the lines of its standard output. It
// panics with an *Error if the command fails.
func Lines(line string) []string {
	lines, err := Output(line)
	if err != nil {
		panic(err)
	}
	return lines
}

// Output runs a command line and returns the lines of its standard output,
// without line ends, and an *Error if the command fails. What the command
// writes to its standard error is shown. In cells `lines, err := !cmd` calls it.
func Output(line string) ([]string, error) {
	var b strings.Builder
	ctx, out := current()
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	const header = 16 // bytes of a line besides its text
	lines, next := 0, 1<<20
	err := run(ctx, line, func(s string) {
		if context.Cause(ctx) != nil {
			return
		}
		b.WriteString(s)
		lines += strings.Count(s, "\n")
		if need := 2*b.Len() + header*lines; need > next {
			if err := files.Need(int64(need)); err != nil {
				stop(fmt.Errorf("after %s of output: %w", limits.Bytes(float64(b.Len())), err))
				b.Reset()
			}
			next = need + need/4
		}
	}, out.Stderr)
	if full := context.Cause(ctx); full != nil && !errors.Is(full, context.Canceled) {
		return nil, &Error{Command: line, Err: full}
	}
	text := strings.TrimSuffix(b.String(), "\n")
	if text == "" {
		return nil, err
	}
	list := strings.Split(text, "\n")
	for i, l := range list {
		list[i] = strings.TrimSuffix(l, "\r")
	}
	return list, err
}

func run(ctx context.Context, line string, stdout, stderr func(string)) error {
	c := process.Shell(line)
	c.Stdout, c.Stderr = stdout, stderr
	err := c.Run(ctx)
	if err == nil || errors.Is(err, context.Canceled) {
		return nil // a cell that is interrupted ends by itself
	}
	return &Error{Command: line, Err: err}
}

// A cell is the value that the kernel attaches to a cell's goroutines (see
// package goroutine).
type cell interface {
	Context() context.Context
	Outputs() engine.Outputs
}

// streams are the two streams of a cell, or of the process.
type streams struct{ Stdout, Stderr func(text string) }

// current returns the context and the streams of the running cell; without a
// kernel, the process's.
func current() (context.Context, streams) {
	c, ok := goroutine.Value().(cell)
	if !ok {
		return context.Background(), streams{func(s string) { fmt.Print(s) }, func(s string) { fmt.Fprint(os.Stderr, s) }}
	}
	out := c.Outputs()
	return c.Context(), streams{out.Stdout, out.Stderr}
}
