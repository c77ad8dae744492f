package cli

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"regexp"
	"slices"
	"strings"
	"sync"

	"dace.local/kernel/engine"
	"dace.local/kernel/internal/system/crash"
	"dace.local/kernel/internal/system/limits"
)

// keepCrash returns an engine that behaves like eng and reports crashes. If
// the previous kernel on this connection file crashed or was killed, the first
// cell says how; and this kernel keeps a note for the next one. Jupyter
// restarts a kernel silently, and the user would only see that the variables
// are gone. The caller must call the returned function on an orderly end.
func keepCrash(connectionFile string, eng engine.Engine) (engine.Engine, func()) {
	kills, ok := limits.Kills()
	if !ok {
		kills = -1
	}
	note, last, err := crash.Keep(connectionFile + ".crash")
	if err != nil {
		slog.Info("an end of this kernel will leave no note", "error", err)
		note = nil
	}
	n := &noted{Engine: eng, note: note, kills: kills}
	if last != nil {
		n.last = lastEnd(*last, kills)
	}
	over := func() {
		if note != nil {
			note.Close()
		}
	}
	if h, ok := eng.(engine.CommHandler); ok {
		return struct {
			*noted
			engine.CommHandler
		}{n, h}, over
	}
	return n, over
}

// noThreads is what ends a kernel that is not allowed to start a thread.
const noThreads = "The kernel was aborted, most often because it could start no more threads: processes, threads or addresses are limited (ulimit -u, ulimit -v, the pids of a control group)"

// inCRE matches the words of a kernel that a signal in a function of C has ended: the
// signal, the function, the function of a cell that called it, and its line.
var inCRE = regexp.MustCompile(`(?s)^(SIG\w+: [^\n]*)\n.*signal arrived during cgo execution\n.*?\._Cfunc_(\w+)\(.*?/c[0-9a-f]+\.([^\n(]+)\([^\n]*\n\t\S*c\d+\.go:(\d+)`)

// lastEnd describes to the user how a kernel ended; "" if there is nothing to
// report. Kills is the system's current count of processes killed for lack of
// memory.
func lastEnd(end crash.End, kills int64) string {
	doing, inC, _ := strings.Cut(end.Doing, " C=")
	cell, before := doing, int64(-1)
	if c, n, ok := strings.Cut(doing, " kills="); ok {
		cell = c
		fmt.Sscan(n, &before)
	}
	const gone = "What the session declared is gone, run the cells again.\n"
	while := ""
	if cell != "" {
		while = " while " + cell + " ran"
	}
	memory := func() string {
		m := limits.Memory()
		if m.Name == "" {
			return ""
		}
		return fmt.Sprintf(" (%s has %d MB)", m.Name, m.Total>>20)
	}
	switch {
	case end.Words == "" && cell == "":
		return "" // no cell was running: the user who killed the kernel knows
	case end.Words == "" && before >= 0 && kills > before:
		return fmt.Sprintf("The kernel was killed%s: the memory was used up%s. %s", while, memory(), gone)
	case end.Words == "" && before >= 0:
		return fmt.Sprintf("The kernel was ended%s by a signal from outside (SIGKILL, SIGTERM or SIGHUP), or its connections were closed; the system has not killed it for lack of memory. %s", while, gone)
	case end.Words == "":
		return fmt.Sprintf("The kernel was ended%s by a signal (SIGKILL, SIGTERM or SIGHUP), or its connections were closed. Where memory is short%s, the system kills the process that takes the most. %s", while, memory(), gone)
	}
	what := "The kernel has ended"
	for _, k := range []struct{ sign, what string }{
		{"out of memory", "The kernel ran out of memory"},
		{"cannot allocate memory", "The kernel ran out of memory"},
		{"stack overflow", "The kernel's stack was full: a function calls itself without end"},
		{"concurrent map", "Two goroutines used one map at a time, one of them to write (guard it by a sync.Mutex), which ends a Go program"},
		{"thread exhaustion", "More than 10,000 goroutines were in system calls that block, each with a thread of its own"},
		{"failed to create new OS thread", noThreads},
		{"SIGABRT", noThreads}, // by the C library
		{"all goroutines are asleep", "All goroutines waited for each other"},
		{"panic:", "A goroutine of compiled code panicked"},
		{"SIGSEGV", "The kernel used memory that is not its own (C, assembly or package unsafe)"},
		{"SIG", "The kernel was ended by a signal"},
	} {
		// Only the first lines name the reason; a stack trace may
		// contain any of the texts.
		if first, _, _ := strings.Cut(end.Words, "\n\n"); strings.Contains(first, k.sign) {
			what = k.what
			break
		}
	}
	if m := inCRE.FindStringSubmatch(end.Words); m != nil {
		what = fmt.Sprintf("The C function %s, which %s calls in line %s of its cell (C was in %s), failed (%s) and ended the kernel", m[2], m[3], m[4], cmp.Or(inC, "a compiled cell"), m[1])
	}
	return fmt.Sprintf("%s%s. %sIts last words:\n    %s\n", what, while, gone, strings.ReplaceAll(end.Words, "\n", "\n    "))
}

// noted is an engine that records in note which cell is running.
type noted struct {
	engine.Engine
	note  *crash.Note // nil: nothing is recorded
	kills int64

	mu    sync.Mutex // guards last, cells and note
	last  string     // message for the first cell about the previous kernel
	cells []string   // that run, oldest first
	inC   []string   // that import C, the last ones
}

// Execute runs a cell. Before the first one it reports how the previous kernel
// ended.
func (n *noted) Execute(ctx context.Context, cell engine.Cell, out engine.Outputs) (engine.Result, error) {
	name := fmt.Sprintf("In[%d]", cell.Number)
	if strings.HasPrefix(strings.TrimSpace(cell.Code), "%%compile") && importC.MatchString(cell.Code) {
		n.noteC(name)
	}
	if last := n.begin(name, cell.Silent); last != "" {
		out.Stderr(last)
	}
	defer n.end(name)
	return n.Engine.Execute(ctx, cell, out)
}

// begin notes that a cell runs, perhaps beside others. It returns what is to be
// reported about the previous kernel.
func (n *noted) begin(name string, silent bool) (last string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !silent {
		last, n.last = n.last, ""
	}
	n.cells = append(n.cells, name)
	n.doing()
	return last
}

var importC = regexp.MustCompile(`import\s*(\(\s*)?"C"`)

// noteC notes a cell with a text in C.
func (n *noted) noteC(name string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.inC = append(slices.DeleteFunc(n.inC, func(c string) bool { return c == name }), name)
	n.inC = n.inC[max(0, len(n.inC)-6):]
}

func (n *noted) end(name string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if i := slices.Index(n.cells, name); i >= 0 {
		n.cells = slices.Delete(n.cells, i, i+1)
	}
	n.doing()
}

// doing writes the note. The caller holds n.mu.
func (n *noted) doing() {
	switch {
	case n.note == nil:
	case len(n.cells) == 0:
		n.note.Doing("")
	default:
		doing := fmt.Sprintf("%s kills=%d", strings.Join(n.cells, ", "), n.kills)
		if len(n.inC) > 0 {
			doing += " C=" + strings.Join(n.inC, ", ")
		}
		n.note.Doing(doing)
	}
}

// Unwrap returns the engine that n behaves like.
func (n *noted) Unwrap() engine.Engine { return n.Engine }
