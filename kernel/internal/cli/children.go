package cli

import (
	"context"
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"dace.local/kernel/engine"
	"dace.local/kernel/procgroup"
)

// mindChildren returns an engine that behaves like eng, but ends the child
// processes of a cell when the cell is interrupted.
func mindChildren(eng engine.Engine) engine.Engine {
	m := minded{eng}
	if h, ok := eng.(engine.CommHandler); ok {
		return struct {
			minded
			engine.CommHandler
		}{m, h}
	}
	return m
}

type minded struct{ engine.Engine }

// Unwrap returns the engine that m behaves like.
func (m minded) Unwrap() engine.Engine { return m.Engine }

// Execute runs a cell and, when ctx ends, ends the child processes that it
// started.
func (m minded) Execute(ctx context.Context, cell engine.Cell, out engine.Outputs) (engine.Result, error) {
	// A child may take some time to end, even longer than its cell.
	defer context.AfterFunc(ctx, procgroup.Now().End)()
	return m.Engine.Execute(ctx, cell, out)
}

// groupChildren makes the child processes of cells end with this process,
// however it ends, by package procgroup. Jupyter starts a kernel in
// a process group of its own. A kernel started otherwise creates a group,
// unless its stdin is a terminal, which it would lose by that.
func groupChildren() {
	if unix.Getpgrp() != os.Getpid() {
		if _, err := unix.IoctlGetWinsize(int(os.Stdin.Fd()), unix.TIOCGWINSZ); err == nil {
			return
		}
		if syscall.Setpgid(0, 0) != nil {
			return
		}
	}
	_, _ = procgroup.Group(os.Getpid()) // never released, so that children do not outlive the kernel
}
