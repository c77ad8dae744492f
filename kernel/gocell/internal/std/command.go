package std

import (
	"bufio"
	"bytes"
	"os/exec"
	"strings"

	"dace.local/kernel/gocell/internal/vm"
)

// Package os/exec copies what a command reads and writes in goroutines of its own, in
// which a nil pointer would end the process.

// commandMethods returns stand-ins for the methods of exec.Cmd that start a command.
func commandMethods() map[string]any {
	return map[string]any{
		"(*os/exec.Cmd).Start":          func(c *exec.Cmd) error { return withStreams(c).Start() },
		"(*os/exec.Cmd).Run":            func(c *exec.Cmd) error { return withStreams(c).Run() },
		"(*os/exec.Cmd).Output":         func(c *exec.Cmd) ([]byte, error) { return withStreams(c).Output() },
		"(*os/exec.Cmd).CombinedOutput": func(c *exec.Cmd) ([]byte, error) { return withStreams(c).CombinedOutput() },
	}
}

// withStreams returns the command. It panics if one of its streams is a nil pointer of
// the standard library.
func withStreams(c *exec.Cmd) *exec.Cmd {
	for _, x := range []any{c.Stdin, c.Stdout, c.Stderr} {
		missing := false
		switch x := x.(type) {
		case *bytes.Buffer:
			missing = x == nil
		case *bytes.Reader:
			missing = x == nil
		case *strings.Builder:
			missing = x == nil
		case *strings.Reader:
			missing = x == nil
		case *bufio.Reader:
			missing = x == nil
		case *bufio.Writer:
			missing = x == nil
		}
		if missing {
			panic(vm.NilDereference)
		}
	}
	return c
}
