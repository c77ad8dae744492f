package vm

import (
	"go/token"
	"reflect"
	"slices"
	"strings"
	"unsafe"

	"dace.local/kernel/engine/goroutine"
	"dace.local/kernel/gocell/internal/cell"
)

// A panic is often due to an error that nobody has looked at. As it passes the
// functions of a cell, the places are kept; which of their variables hold errors
// is found out only when the cell has failed, so that it costs nothing before.

// An unwoundFrame is a node that a panic has passed, and the frame of its function.
type unwoundFrame struct {
	n node
	f *runFrame
}

// maxUnwound bounds the number of functions, from the innermost, whose variables
// are looked at: they keep their frames alive.
const maxUnwound = 100

// An ErrorVar is a variable of type error of a function that a panic has left.
type ErrorVar struct {
	Name string
	At   token.Position // where it was set
	Err  error          // not nil
}

// UnseenErrors returns the variables of type error, not nil, that were in scope
// where the cell's last panic passed functions, those of the innermost first.
func (m *Machine) UnseenErrors(c *Cell) (list []ErrorVar) {
	c.mu.Lock()
	passed := c.unwound
	c.unwound = nil
	c.mu.Unlock()
	seen := map[token.Pos]bool{} // of recursive calls the innermost counts
	for _, p := range passed {
		for _, v := range errorSlots(p.n) {
			if v.slot >= len(p.f.data) || seen[v.set] {
				continue
			}
			x := p.f.data[v.slot]
			if x.Kind() != reflect.Interface || x.IsNil() || !x.CanInterface() {
				continue
			}
			if err, ok := x.Interface().(error); ok {
				seen[v.set] = true
				list = append(list, ErrorVar{cell.Clean(v.name), m.Files().Position(v.set), err})
			}
		}
	}
	return list
}

// An errorSlot is a variable of type error in a frame.
type errorSlot struct {
	name  string
	slot  int
	set   token.Pos // its last assignment before the node that errorSlots was given
	scope node      // the block that declares it; none for results
}

// errorSlots returns the variables of type error that the function around a node
// sets, and that are in scope there.
func errorSlots(at node) []*errorSlot {
	def, around := at, map[node]bool{}
	for ; def.p != nil && def.kind() != "funcDecl" && def.kind() != "funcLit"; def = def.parent() {
		around[def] = true
	}
	if def.p == nil || len(def.children()) != 4 {
		return nil
	}
	var list []*errorSlot
	types := def.types()
	set := func(x, by node) {
		i := x.findex()
		if x.kind() != "identExpr" || x.level() != 0 || i < 0 || i >= len(types) || types[i] != errorType || strings.HasPrefix(x.ident(), cell.Mark) {
			return
		}
		k := slices.IndexFunc(list, func(v *errorSlot) bool { return v.slot == i })
		if k < 0 {
			list, k = append(list, &errorSlot{name: x.ident(), slot: i, set: x.pos()}), len(list)
		}
		v := list[k]
		if x.pos() <= at.pos() {
			v.set = x.pos()
		}
		if declares := by.kind() != "assignStmt" && by.kind() != "assignXStmt" && !x.redeclared(); declares && v.scope.p == nil {
			v.scope = blockAround(by)
		}
	}
	var visit func(n node)
	visit = func(n node) {
		for _, x := range targets(n) {
			set(x, n)
		}
		for _, c := range n.children() {
			if c.kind() != "funcLit" {
				visit(c)
			}
		}
	}
	visit(def.children()[3])
	return slices.DeleteFunc(list, func(v *errorSlot) bool { return v.scope.p != nil && !around[v.scope] })
}

var errorType = reflect.TypeFor[error]()

// targets returns the left side of an assignment, nil for other nodes.
func targets(n node) []node {
	c := n.children()
	switch n.kind() {
	case "defineXStmt", "assignXStmt":
		return c[:len(c)-1]
	case "defineStmt", "assignStmt", "valueSpec":
		return c[:len(c)-n.nright()]
	}
	return nil
}

// blockAround returns the node that is the scope of what a node declares.
func blockAround(n node) node {
	for n = n.parent(); n.p != nil; n = n.parent() {
		switch k := n.kind(); {
		case k == "declStmt", k == "varDecl", k == "exprStmt", k == "labeledStmt":
		default:
			return n
		}
	}
	return n
}

// pass notes a panic at a node of a frame.
func (m *Machine) pass(n node, f unsafe.Pointer, innermost bool, compiled ...Frame) {
	c := m.Cell()
	if c == nil {
		return
	}
	c.passed(n.pos(), innermost, compiled...)
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.unwound) < maxUnwound {
		c.unwound = append(c.unwound, unwoundFrame{n, (*runFrame)(f)})
	}
}

// forgetPanic lets go of the frames that a recovered panic has passed.
func forgetPanic() {
	if c, ok := goroutine.Value().(*Cell); ok {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.unwound = nil
	}
}
