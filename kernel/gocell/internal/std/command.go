package std

import "os/exec"

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
// the standard library, or reads from or writes to nothing.
func withStreams(c *exec.Cmd) *exec.Cmd {
	used(c.Stdin, c.Stdout, c.Stderr)
	return c
}
