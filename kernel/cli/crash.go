package cli

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"runtime/debug"
	"strings"

	"dace.local/kernel/engine"
)

// Some errors end a Go process whatever it does: two goroutines of compiled
// code that write one map, memory that the system refuses, a fault in C. Then
// Jupyter starts the kernel again on the same connection file, and all that a
// person would see is that the variables are gone. So the run time's last
// words go to a file beside the connection file, and the kernel that follows
// says in its first cell what happened.

// noteSize is the length of the head of the file: the number of the cell.
const noteSize = 16

// keepCrash returns an engine like eng that says how the kernel before it
// ended, and sees to it that its own end leaves a note. The returned function
// is for an orderly end.
func keepCrash(connectionFile string, eng engine.Engine) (engine.Engine, func()) {
	name := connectionFile + ".crash"
	last, _ := os.ReadFile(name)
	head, err := os.OpenFile(name, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return eng, func() {} // no note then
	}
	fmt.Fprintf(head, "%-*s", noteSize, "")
	if words, err := os.OpenFile(name, os.O_APPEND|os.O_WRONLY, 0o600); err == nil {
		_ = debug.SetCrashOutput(words, debug.CrashOptions{})
		_ = words.Close() // the run time has a copy
	}
	n := &noted{Engine: eng, note: crashNote(last), head: head}
	over := func() {
		_ = debug.SetCrashOutput(nil, debug.CrashOptions{})
		_ = head.Close()
		_ = os.Remove(name)
	}
	if h, ok := eng.(engine.CommHandler); ok {
		return struct {
			*noted
			engine.CommHandler
		}{n, h}, over
	}
	return n, over
}

// crashNote makes a message of what a kernel left; "" where it ended in order.
func crashNote(file []byte) string {
	if len(file) <= noteSize {
		return ""
	}
	where := ""
	if cell := strings.TrimSpace(string(file[:noteSize])); cell != "" {
		where = " while " + cell + " ran"
	}
	words, _, _ := bytes.Cut(file[noteSize:], []byte("\n\n"))
	if bytes.Contains(words, []byte("internal/runtime/maps.fatal")) {
		// The run time says so before it begins to write here.
		words = append([]byte("fatal error: two goroutines used one map at a time, one of them to write: guard it by a sync.Mutex\n"), words...)
	}
	return fmt.Sprintf("The kernel has ended%s and was started again: what the session declared is gone, run the cells again.\nIts last words:\n    %s\n",
		where, strings.ReplaceAll(strings.TrimSpace(string(words)), "\n", "\n    "))
}

// noted is an engine that leaves a note of the cell that runs.
type noted struct {
	engine.Engine
	note string
	head *os.File
}

// Execute runs a cell.
func (n *noted) Execute(ctx context.Context, cell engine.Cell, out engine.Outputs) (engine.Result, error) {
	if n.note != "" {
		out.Stderr(n.note)
		n.note = ""
	}
	at := func(s string) { _, _ = n.head.WriteAt([]byte(fmt.Sprintf("%-*.*s", noteSize, noteSize, s)), 0) }
	at(fmt.Sprintf("In[%d]", cell.Number))
	defer at("")
	return n.Engine.Execute(ctx, cell, out)
}
