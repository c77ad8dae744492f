package vm

import (
	"reflect"
	"slices"
	"unsafe"
)

// Half of the time of a call was the allocation of its frame. The frame of a
// function that nothing can refer to once the call is over serves the next call.

// A reusedFrame is a frame with its slots as they are when a call begins: steps
// put other values into the slots of a frame.
type reusedFrame struct {
	runFrame
	home   []reflect.Value
	shared []uint64 // the memory of the slots without pointers
}

// reused returns the frame of a call that is over, or one to be used again.
func (fn *function) reused() *runFrame {
	x, ok := fn.frames.Get().(*reusedFrame)
	if !ok {
		x = &reusedFrame{home: make([]reflect.Value, len(fn.slots))}
		x.shared = fn.fill(x.home)
		x.data = slices.Clone(x.home)
	}
	return &x.runFrame
}

// release puts a frame by for the next call of the function.
func (fn *function) release(f *runFrame) {
	if fn.frames == nil {
		return
	}
	x := (*reusedFrame)(unsafe.Pointer(f)) // made by reused
	copy(f.data, x.home)
	clear(x.shared)
	for _, i := range fn.pointers {
		f.data[i].SetZero()
	}
	f.anc = nil
	forgetCalls(f)
	fn.frames.Put(x)
}

// keepsFrame reports whether something may refer to a frame of a function, or to
// the memory of its variables, when the call is over: a closure, a goroutine or a
// deferred call that the function makes, a pointer to a variable. It is conservative:
// true for unknown kinds of nodes.
func keepsFrame(def node) bool {
	for i, t := range def.types() {
		if t == valueInterfaceType || i < len(def.typ().results()) && t.Kind() == reflect.Func {
			return true
		}
	}
	return slices.ContainsFunc(def.children()[3:], keeps)
}

// keeps reports whether a node or one below it may retain the frame.
func keeps(n node) bool {
	c := n.children()
	if t := n.typ(); t.p != nil {
		if cat := t.cat(); len(t.methods()) > 0 || cat == "interfaceT" && !t.emptyInterface() {
			return true // the interpreter wraps such values, with the slot that they are in
		}
	}
	switch n.kind() {
	case "assignStmt", "assignXStmt", "basicLit", "binaryExpr", "blockStmt", "branchStmt", "breakStmt", "caseBody", "caseClause",
		"compositeLitExpr", "constDecl", "continueStmt", "declStmt", "defineStmt", "defineXStmt", "exprStmt", "fallthroughStmt",
		"forStmt0", "forStmt1", "forStmt2", "forStmt3", "forStmt4", "forStmt5", "forStmt6", "forStmt7", "forRangeStmt", "rangeStmt",
		"gotoStmt", "ifStmt0", "ifStmt1", "ifStmt2", "ifStmt3", "incDecStmt", "indexExpr", "keyValueExpr", "labeledStmt", "landExpr",
		"lorExpr", "parenExpr", "returnStmt", "sendStmt", "starExpr", "switchStmt", "switchIfStmt", "typeAssertExpr", "unaryExpr",
		"valueSpec", "varDecl":
	case "arrayType", "chanType", "chanTypeSend", "chanTypeRecv", "funcType", "interfaceType", "mapType", "structType", "typeSpec", "typeDecl":
		return false
	case "identExpr":
		// A function's name other than in a call is wrapped with the frame.
		if t := n.typ(); t.p != nil && isFuncSrc(t.p) && n.findex() == notInFrame && !isCallee(n) {
			return true
		}
	case "callExpr":
		if direct, compiled := isCall(*n.gen()); direct && !compiled && !takesDirectly(c[0].typ(), len(c)-1) || n.action() == "callSlice" {
			return true // the interpreter gives the callee slots of this frame
		}
	case "sliceExpr":
		if t := c[0].typ(); t.p == nil || t.reflected() == nil || t.reflected().Kind() == reflect.Array {
			return true
		}
	case "selectorExpr":
		if n.action() == "." { // of a package
			return false
		}
		if !selectsField(*n.gen()) {
			t := c[0].typ()
			if !isCallee(n) || t.p == nil || t.reflected() == nil {
				return true
			}
			if k := t.reflected().Kind(); k != reflect.Pointer && k != reflect.Interface {
				return true // a method value, or the address of a variable
			}
		}
		return keeps(c[0])
	default:
		return true
	}
	return slices.ContainsFunc(c, keeps)
}

// takesDirectly reports whether the function arguments supports the parameters of a
// function of a cell.
func takesDirectly(callee itype, args int) bool {
	params := callee.params()
	return len(params) == args && !slices.ContainsFunc(params, func(p itype) bool {
		cat := p.cat()
		return cat == "variadicT" || cat == "linkedT" || cat == "interfaceT" && !p.emptyInterface()
	})
}

// isCallee reports whether a node is the function that a call calls.
func isCallee(n node) bool {
	p := n.parent()
	return p.p != nil && p.kind() == "callExpr" && p.children()[0] == n
}

// contains reports whether a node of a kind is below n, in the same function.
func contains(n node, kind string) bool {
	return n.kind() == kind || n.kind() != "funcLit" && slices.ContainsFunc(n.children(), func(c node) bool { return contains(c, kind) })
}
