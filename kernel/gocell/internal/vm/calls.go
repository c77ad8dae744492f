package vm

import (
	"go/token"
	"slices"
	"strings"
	"sync"
	"unsafe"

	"dace.local/kernel/gocell/internal/cell"
)

// calls are the calls under way in a goroutine that runs cells, the outermost
// first. A call notes itself there (guardCall) and takes itself off again.
//
// A frame keeps a pointer to those of its goroutine, so that a call need not
// look for them; the frame that it makes takes the pointer over (invoke.go).
type calls struct {
	g     uintptr // the goroutine, as the run time knows it
	nodes []activeCall
	// deferral is the deferred call that has begun and that recover has not consumed
	// yet (recover.go); nil if there is none.
	deferral *deferral
	// raised is the panic under way that the debugger has been told of.
	raised  [2]uintptr
	sampled Sampled // of a profile; see sample.go
	// idle makes what a goroutine does here happen before what a later goroutine with
	// the same address does.
	idle ordered
}

// An activeCall is the node of a call, and the function that runBody runs for it:
// nil before that begins, and where runCfg runs it.
type activeCall struct {
	node
	fn    *function
	frame unsafe.Pointer // of the caller, where the machine traces; else nil
}

// goroutines holds the calls of each goroutine, by its address. The run time
// uses addresses again: there are as many as goroutines have lived at one time.
var goroutines sync.Map // uintptr -> *calls

// callsHere returns the calls of this goroutine.
func callsHere() *calls {
	g := currentG()
	c, ok := goroutines.Load(g)
	if !ok {
		c, _ = goroutines.LoadOrStore(g, &calls{g: g})
	}
	c.(*calls).idle.acquire()
	return c.(*calls)
}

// callsIn returns the calls of this goroutine, g, which runs frame f.
func callsIn(f *runFrame, g uintptr) *calls {
	if c := (*calls)(f.debug); c != nil && c.g == g {
		return c
	}
	c := callsHere()
	f.debug = unsafe.Pointer(c)
	return c
}

// enter notes a call, and returns what leave wants.
func (c *calls) enter(n node) (depth int) {
	depth = len(c.nodes)
	if depth == 0 {
		c.raised = [2]uintptr{}
	}
	c.nodes = append(c.nodes, activeCall{node: n})
	return depth
}

// leave takes a call off, with those in it that a panic has left.
func (c *calls) leave(depth int) {
	c.nodes = c.nodes[:depth]
	if depth == 0 {
		c.idle.release()
	}
}

// failed notes that the function which runs panics at a node.
func (c *calls) failed(n node) { c.leave(c.enter(n)) }

// resume notes the last call of the function which runs, or the node where it
// panicked, as under way: its deferred calls are made from there.
func (c *calls) resume() (depth int) {
	depth = len(c.nodes)
	if depth < cap(c.nodes) && c.nodes[:depth+1][depth].p != nil {
		c.nodes = c.nodes[:depth+1]
	}
	return depth
}

// A Caller is a call under way in a cell.
type Caller struct {
	Function string
	File     string
	Line     int
	Start    token.Pos // of the function; none for a cell's statements
}

// Callers returns the calls under way in this goroutine, the innermost first:
// that of the compiled function which asks.
func (m *Machine) Callers() []Caller {
	if m.Own != nil {
		return m.Own.Callers()
	}
	nodes := callsHere().nodes
	list := make([]Caller, 0, len(nodes))
	for i := len(nodes) - 1; i >= 0; i-- {
		p := m.Files().Position(nodes[i].pos())
		if !p.IsValid() || p.Filename == cell.FileName(0) {
			continue // made up, or the prelude's
		}
		list = append(list, Caller{functionOf(nodes[i].node), cell.Name(p.Filename), p.Line, startOf(nodes[i].node)})
	}
	return list
}

// AllCallers is Callers with the functions of compiled cells. Those that interpreted
// functions have called, and that call interpreted ones, come last.
func (m *Machine) AllCallers() []Caller {
	if m.hooks.CompiledCallers == nil {
		return m.Callers()
	}
	inner, outer := m.hooks.CompiledCallers()
	return slices.Concat(inner, m.Callers(), outer)
}

// startOf returns where the function that a node is in begins.
func startOf(n node) token.Pos {
	for ; n.p != nil; n = n.parent() {
		if k := n.kind(); k == "funcLit" || k == "funcDecl" {
			return n.pos()
		}
	}
	return token.NoPos
}

// functionOf returns the name of the function that a node is in.
func functionOf(n node) string {
	literal := ""
	for ; n.p != nil; n = n.parent() {
		switch n.kind() {
		case "funcLit":
			literal = ".func1" + literal
		case "funcDecl":
			name := n.children()[1].ident()
			shown := cell.Clean(name)
			if !strings.HasPrefix(name, cell.Mark+"m") || name == cell.Mark+"main" {
				shown = "main." + shown
			}
			return shown + literal
		}
	}
	return "main.init" + literal
}
