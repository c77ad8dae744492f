package vm

import (
	"fmt"
	"go/token"
	"strings"
	"sync/atomic"
	"unsafe"

	"github.com/traefik/yaegi/interp"

	"dace.local/kernel/buildinfo"
)

// The interpreter reports only the function that a panic passes, has many errors
// in the words of package reflect, and crashes on unbounded recursion. So each
// node of a compiled cell that can panic gets a guard around its step: it notes
// where the panic passed, rewords it as Go does, and stops a recursion before the
// stack is used up. A guard takes some nanoseconds even where nothing fails, so
// arithmetic, comparisons and assignments to plain variables have none.

// guardProgram puts guards into a compiled program that has not run yet.
func (m *Machine) guardProgram(p *interp.Program) {
	root := *at[node](unsafe.Pointer(p), layout.program.root)
	units := m.fuse(root)
	m.guardNode(root)
	for _, u := range units {
		u.install()
	}
	remake(root, false)
}

// remake generates the steps of the bodies of function literals once more, with
// their guards, where the literals stand in declarations of variables: those of
// other literals the interpreter generates as the cell begins.
func remake(n node, declared bool) {
	k := n.kind()
	for _, c := range n.children() {
		remake(c, declared || k == "varDecl")
	}
	if c := n.children(); declared && k == "funcLit" && len(c) == 4 {
		getExec(c[3].start().p)
	}
}

// forgetSteps has the steps of a node and of all below it generated again: those in
// function literals lead to the steps that the interpreter has generated.
func forgetSteps(n node) {
	*n.exec() = nil
	for _, c := range n.children() {
		forgetSteps(c)
	}
}

// guardBelow puts the guards below n. A stop has its own step in place of its call.
func (m *Machine) guardBelow(n node) {
	for _, c := range n.children() {
		if !isStop(c) {
			m.guardNode(c)
			continue
		}
		forgetSteps(c)
		*c.gen() = func(p unsafe.Pointer) { *(node{p}).exec() = m.stopStep(node{p}) }
	}
}

func (m *Machine) guardNode(n node) {
	if k := n.kind(); (k == "funcDecl" || k == "funcLit") && len(n.children()) == 4 {
		fn := newFunction(n) // which looks at the generators of the interpreter
		fn.m = m
		*n.meta() = fn
	}
	m.guardBelow(n)
	switch n.kind() {
	case "selectStmt":
		// The clauses' block does the work.
		b := n.children()[0]
		*b.exec(), *b.gen() = nil, func(p unsafe.Pointer) { *(node{p}).exec() = m.guardStep(node{p}, selectStep(node{p})) }
	case "deferStmt":
		c := n.children()[0]
		gen := *c.gen()
		*c.gen() = func(p unsafe.Pointer) {
			gen(p)
			if e := (node{p}).exec(); *e != nil {
				*e = guardDefer(node{p}, *e)
			}
		}
	}
	g := n.gen()
	if *g == nil {
		return
	}
	if branchesWrongly(n) {
		defer func() { *g = branchAfter(*g) }()
	}
	// The steps of function literals have been generated already, unguarded.
	*n.exec() = nil
	gen := *g
	direct, compiled := isCall(gen)
	if looksUp(n) {
		gen = func(p unsafe.Pointer) { *(node{p}).exec() = lookupStep(node{p}) }
	}
	if make := m.fieldSteps(gen); make != nil {
		*g = func(p unsafe.Pointer) { *(node{p}).exec() = make(node{p}) }
		return
	}
	switch n.kind() {
	case "indexExpr", "rangeStmt", "callExpr", "assignStmt", "incDecStmt", "defineStmt":
		plain := gen
		gen = func(p unsafe.Pointer) {
			plain(p)
			if e := (node{p}).exec(); *e != nil {
				*e = lockMaps(node{p}, *e)
			}
		}
		*g = gen
	}
	gen = m.guardSize(n, gen)
	switch *g = gen; {
	case codeOf(gen) == codeOf(getFunc):
		*g = func(p unsafe.Pointer) { *(node{p}).exec() = makeLiteral(node{p}) }
	case n.kind() == "callExpr":
		*g = func(p unsafe.Pointer) {
			gen(p)
			if e := (node{p}).exec(); *e != nil {
				if direct {
					*e = m.invoke(node{p}, compiled, *e)
				}
				if compiled {
					*e = lockObjects(node{p}, *e)
				}
				*e = m.guardCall(node{p}, *e, tracksCalls(node{p}))
				if callsRuntime(node{p}, "Started") {
					*e = m.sampleBody(node{p}, *e)
				}
			}
		}
	case canFail(n):
		*g = func(p unsafe.Pointer) {
			gen(p)
			if e := (node{p}).exec(); *e != nil {
				*e = m.guardStep(node{p}, checkOperand(node{p}, *e))
			}
		}
	}
}

// checkOperand makes the step of a dereference or a shift check its operand first.
// Other steps are returned as they are.
func checkOperand(n node, run step) step {
	switch {
	case n.kind() == "starExpr" && !indexed(n):
		return checkNil(n, run)
	case shifts(n.action()):
		return checkShift(n, run)
	}
	return run
}

// branchesWrongly reports whether a node is a condition, or the left operand of && or
// ||, whose step in the interpreter does not look at its value, as a conversion's, or
// leaves the slot of the value as it was where that is false: *p and <-ch.
func branchesWrongly(n node) bool {
	if n.fnext().p == nil {
		return false
	}
	switch n.kind() {
	case "starExpr":
		return true
	case "unaryExpr":
		return n.action() == "<-"
	case "callExpr":
		return n.action() == "convert"
	}
	return false
}

// branchAfter makes the generator of a condition one that stores the value, and
// then goes on by it.
func branchAfter(gen func(unsafe.Pointer)) func(unsafe.Pointer) {
	return func(p unsafe.Pointer) {
		n := node{p}
		fnext := at[node](p, layout.node.fnext)
		condition := *fnext
		*fnext = node{}
		gen(p)
		*fnext = condition
		run := *n.exec()
		if run == nil {
			return
		}
		value, otherwise := genValue(p), getExec(condition.p)
		*n.exec() = func(f unsafe.Pointer) step {
			next := run(f)
			if next != nil && !value(f).Bool() {
				return otherwise
			}
			return next
		}
	}
}

// canFail reports whether a node other than a call may panic.
func canFail(n node) bool {
	switch n.kind() {
	case "indexExpr", "sliceExpr", "starExpr", "selectorExpr", "typeAssertExpr", "sendStmt":
		return true
	case "binaryExpr", "assignStmt", "incDecStmt", "defineStmt":
		switch n.action() {
		case "/", "%", "/=", "%=", "==", "!=", "<<", ">>", "<<=", ">>=":
			return !constantOperand(n)
		case "=", "+=", "-=", "*=", "|=", "&=", "^=", "&^=", "++", "--":
			// An element of a map, or what a pointer points to.
			if c := n.children(); len(c) > 0 {
				k := c[0].kind()
				return k == "indexExpr" || k == "starExpr" || k == "selectorExpr"
			}
		}
	}
	return false
}

// constantOperand reports whether the right operand is a literal: the type checker
// has refused a zero.
func constantOperand(n node) bool {
	c := n.children()
	return len(c) == 2 && c[1].kind() == "basicLit"
}

func shifts(action string) bool {
	switch action {
	case "<<", ">>", "<<=", ">>=":
		return true
	}
	return false
}

// checkShift makes a shift by a negative count panic, as Go does.
func checkShift(n node, run step) step {
	count := genValue(n.children()[1].p)
	return func(f unsafe.Pointer) step {
		if c := count(f); c.CanInt() && c.Int() < 0 {
			panic(RuntimeError("negative shift amount"))
		}
		return run(f)
	}
}

// checkNil makes the node *p panic where p is nil: the interpreter's step returns
// an invalid value, at which some later node fails.
func checkNil(n node, run step) step {
	value := genValue(n.p)
	return func(f unsafe.Pointer) step {
		next := run(f)
		if !value(f).IsValid() {
			panic(NilDereference)
		}
		return next
	}
}

// indexed reports whether n is the operand of an index or slice expression: that
// expression panics itself, after it has evaluated its indices.
func indexed(n node) bool {
	p := n.parent()
	if p.p != nil && p.kind() == "parenExpr" {
		n, p = p, p.parent()
	}
	return p.p != nil && (p.kind() == "indexExpr" || p.kind() == "sliceExpr") && p.children()[0] == n
}

// guardStep guards a node that calls nothing: a panic in it is the innermost.
func (m *Machine) guardStep(n node, run step) step {
	return func(f unsafe.Pointer) (next step) {
		ok := false
		defer func() {
			if !ok {
				if v := recover(); v != nil {
					v = inGo(n, f, v)
					c := callsIn((*runFrame)(f), currentG())
					m.panicked(n, f, c, v)
					c.failed(n)
					m.pass(n, f, true)
					m.contain((*runFrame)(f))
					panic(v)
				}
			}
		}()
		next = run(f)
		ok = true
		return next
	}
}

// guardCall guards a call. A panic that leaves the callee is recovered and raised
// again here: the interpreter panics anew in a deferred function at each level of
// calls, and Go's handling of such nested panics takes time quadratic in their
// number.
func (m *Machine) guardCall(n node, run step, tracks bool) step {
	return func(f unsafe.Pointer) step {
		used, g := stack()
		c := callsIn((*runFrame)(f), g)
		if c.deferral != nil && !tracks {
			c.called()
		}
		if used > maxStack {
			m.overflow(n.pos())
			return nil
		}
		next, v, failed, in := m.try(run, f, c, n)
		if failed {
			v = inGo(n, f, v)
			m.panicked(n, f, c, v)
			m.pass(n, f, false, in...)
			m.contain((*runFrame)(f))
			panic(v)
		}
		return next
	}
}

// try runs a call, noted among the calls c, and catches its panic, with the
// frames of compiled cells that it comes out of: those above this one.
func (m *Machine) try(run step, f unsafe.Pointer, c *calls, n node) (next step, v any, failed bool, in []Frame) {
	depth, ok := c.enter(n), false
	if atomic.LoadUint32(&m.tracing) != 0 {
		c.nodes[depth].frame = f
	}
	defer func() {
		if ok {
			c.leave(depth)
			return
		}
		fn := c.nodes[depth].fn
		c.leave(depth)
		if v = recover(); v != nil {
			failed = true
			if fn != nil {
				m.leaveBody(fn, v)
			}
			if m.hooks.CompiledFrames != nil {
				in = m.hooks.CompiledFrames()
			}
		}
	}()
	next = run(f)
	ok = true
	return next, nil, false, nil
}

// maxStack is the stack in bytes that a goroutine of a cell may use. The
// process dies of ten times that.
const maxStack = 100 << 20

// ErrStackOverflow is why a cell was ended that calls itself without end.
var ErrStackOverflow = fmt.Errorf("goroutine stack exceeds %d-byte limit\nfatal error: stack overflow", maxStack)

// overflow ends the cell. As in Go, no recover can stop that.
func (m *Machine) overflow(at token.Pos) {
	r := m.Cell()
	r.passed(at, true)
	r.cancel(ErrStackOverflow)
	m.stopRuns()
}

// tryName is the run time's name of try.
var tryName = functionName((*Machine).try)

// IsBorder reports whether a function, by its name on a stack, is the border
// between a compiled cell and the interpreted call of it: what is further out
// the panic passes later.
func IsBorder(function string) bool { return function == tryName || IsOwn(function) }

// IsOwn reports whether a function is one of package code.
func IsOwn(function string) bool { return strings.HasPrefix(function, codePath) }

// CalledByLibrary is the function that runs what a library calls in package code.
var CalledByLibrary = codePath + "(*G).run"

var codePath = buildinfo.Path("kernel/gocell/internal/code.")

// IsInterpreter reports whether a function, by its name on a stack, is the
// interpreter's.
func IsInterpreter(function string) bool {
	return strings.HasPrefix(function, yaegi+"/") || IsOwn(function)
}

// CheckStack ends the cell whose goroutine has used up its stack: compiled cells
// call it.
func (m *Machine) CheckStack() {
	if used, _ := stack(); used > maxStack {
		m.Cell().cancel(ErrStackOverflow)
		panic(ErrStackOverflow)
	}
}
