package gocell

import (
	"fmt"
	"go/token"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"unsafe"

	"github.com/traefik/yaegi/interp"
)

// The interpreter names only the function that a panic passes, reports many
// errors in the words of package reflect, and dies of unbounded recursion. The
// nodes of a compiled cell that can fail get a guard each: it tells where a
// panic came by, says it in Go's own words, and stops a recursion before the
// stack is used up. A guard costs some nanoseconds where nothing happens, so
// arithmetic, comparisons and assignments of plain variables have none.

// step is the interpreter's unit of execution: it runs a node on a frame and
// returns what follows.
type step func(frame unsafe.Pointer) step

// runFrame is a frame of the interpreter.
type runFrame struct {
	id        uint64
	debug     unsafe.Pointer
	root, anc *runFrame
	data      []reflect.Value
	mutex     sync.RWMutex
	deferred  [][]reflect.Value
	recovered any
	done      reflect.SelectCase
}

// A frame must be laid out as the interpreter's.
func init() {
	f, _ := reflect.TypeFor[interp.Interpreter]().FieldByName("frame")
	theirs, ours := f.Type.Elem(), reflect.TypeFor[runFrame]()
	for i := range max(theirs.NumField(), ours.NumField()) {
		if a, b := theirs.Field(i), ours.Field(i); a.Name != b.Name || a.Offset != b.Offset || a.Type.Size() != b.Type.Size() {
			panic("gocell: the interpreter's frames have another layout: " + a.Name)
		}
	}
}

// node is a node of the interpreter's tree.
type node struct{ p unsafe.Pointer }

// layout holds where the fields of a node stand.
var layout = func() (l struct {
	child, anc, gen, exec, pos, kind, action, ident, level, findex, start, tnext, fnext, val, recv, rval, types, meta, redeclared, root uintptr
	deferred, recovered, done, mutex                                                                                                    uintptr // of a frame
}) {
	l.root = offsetOf(reflect.TypeFor[interp.Program](), "root")
	at := func(name string) uintptr { return offsetOf(nodeType, name) }
	l.child, l.gen, l.exec, l.pos, l.kind, l.action = at("child"), at("gen"), at("exec"), at("pos"), at("kind"), at("action")
	l.anc = at("anc")
	l.ident, l.level, l.findex, l.start = at("ident"), at("level"), at("findex"), at("start")
	l.tnext, l.fnext, l.val, l.recv, l.rval = at("tnext"), at("fnext"), at("val"), at("recv"), at("rval")
	l.types, l.meta, l.redeclared = at("types"), at("meta"), at("redeclared")
	f, _ := reflect.TypeFor[interp.Interpreter]().FieldByName("frame")
	frame := f.Type.Elem()
	l.deferred, l.recovered = offsetOf(frame, "deferred"), offsetOf(frame, "recovered")
	l.done, l.mutex = offsetOf(frame, "done"), offsetOf(frame, "mutex")
	return l
}()

// nodeType is the interpreter's type of nodes.
var nodeType = func() reflect.Type {
	f, _ := reflect.TypeFor[interp.Program]().FieldByName("root")
	return f.Type.Elem()
}()

var (
	kindType   = fieldType(nodeType, "kind")
	actionType = fieldType(nodeType, "action")
)

func fieldType(t reflect.Type, name string) reflect.Type {
	f, ok := t.FieldByName(name)
	if !ok {
		panic(fmt.Sprintf("gocell: the interpreter's %s has no field %s", t, name))
	}
	return f.Type
}

func offsetOf(t reflect.Type, name string) uintptr {
	fieldType(t, name)
	f, _ := t.FieldByName(name)
	return f.Offset
}

func (n node) children() []node      { return *(*[]node)(unsafe.Add(n.p, layout.child)) }
func (n node) parent() node          { return *(*node)(unsafe.Add(n.p, layout.anc)) }
func (n node) pos() token.Pos        { return *(*token.Pos)(unsafe.Add(n.p, layout.pos)) }
func (n node) ident() string         { return *(*string)(unsafe.Add(n.p, layout.ident)) }
func (n node) start() node           { return *(*node)(unsafe.Add(n.p, layout.start)) }
func (n node) tnext() node           { return *(*node)(unsafe.Add(n.p, layout.tnext)) }
func (n node) fnext() node           { return *(*node)(unsafe.Add(n.p, layout.fnext)) }
func (n node) val() any              { return *(*any)(unsafe.Add(n.p, layout.val)) }
func (n node) recv() unsafe.Pointer  { return *(*unsafe.Pointer)(unsafe.Add(n.p, layout.recv)) }
func (n node) rval() reflect.Value   { return *(*reflect.Value)(unsafe.Add(n.p, layout.rval)) }
func (n node) types() []reflect.Type { return *(*[]reflect.Type)(unsafe.Add(n.p, layout.types)) }
func (n node) meta() *any            { return (*any)(unsafe.Add(n.p, layout.meta)) }
func (n node) redeclared() bool      { return *(*bool)(unsafe.Add(n.p, layout.redeclared)) }
func (n node) level() int            { return *(*int)(unsafe.Add(n.p, layout.level)) }
func (n node) findex() int           { return *(*int)(unsafe.Add(n.p, layout.findex)) }
func (n node) exec() *step           { return (*step)(unsafe.Add(n.p, layout.exec)) }

func (n node) gen() *func(unsafe.Pointer) {
	return (*func(unsafe.Pointer))(unsafe.Add(n.p, layout.gen))
}
func (n node) kind() string {
	return reflect.NewAt(kindType, unsafe.Add(n.p, layout.kind)).Elem().Interface().(fmt.Stringer).String()
}
func (n node) action() string {
	return reflect.NewAt(actionType, unsafe.Add(n.p, layout.action)).Elem().Interface().(fmt.Stringer).String()
}

// itype is a type of the interpreter's.
type itype struct{ p unsafe.Pointer }

var typeLayout = func() (l struct{ typ, cat, val, rtype, arg, ret, field, method uintptr }) {
	l.typ = offsetOf(nodeType, "typ")
	t := fieldType(nodeType, "typ").Elem()
	l.cat, l.val, l.rtype = offsetOf(t, "cat"), offsetOf(t, "val"), offsetOf(t, "rtype")
	l.arg, l.ret, l.field, l.method = offsetOf(t, "arg"), offsetOf(t, "ret"), offsetOf(t, "field"), offsetOf(t, "method")
	return l
}()

var catType = fieldType(fieldType(nodeType, "typ").Elem(), "cat")

func (n node) typ() itype           { return *(*itype)(unsafe.Add(n.p, typeLayout.typ)) }
func (t itype) val() itype          { return *(*itype)(unsafe.Add(t.p, typeLayout.val)) }
func (t itype) rtype() reflect.Type { return *(*reflect.Type)(unsafe.Add(t.p, typeLayout.rtype)) }
func (t itype) params() []itype     { return *(*[]itype)(unsafe.Add(t.p, typeLayout.arg)) }
func (t itype) results() []itype    { return *(*[]itype)(unsafe.Add(t.p, typeLayout.ret)) }
func (t itype) methods() []node     { return *(*[]node)(unsafe.Add(t.p, typeLayout.method)) }
func (t itype) emptyInterface() bool {
	return t.cat() == "interfaceT" && len(*(*[]struct{})(unsafe.Add(t.p, typeLayout.field))) == 0
}
func (t itype) cat() string {
	return reflect.NewAt(catType, unsafe.Add(t.p, typeLayout.cat)).Elem().Interface().(fmt.Stringer).String()
}

// genValue returns how the interpreter reads a node's value from a frame.
//
//go:linkname genValue github.com/traefik/yaegi/interp.genValue
func genValue(n unsafe.Pointer) func(frame unsafe.Pointer) reflect.Value

// getExec returns the step of a node, which it makes where there is none yet.
//
//go:linkname getExec github.com/traefik/yaegi/interp.getExec
func getExec(n unsafe.Pointer) step

// clauseChanDir returns the operands of a communication: the channel, what is
// sent or where to put what is received, and where to put whether it was.
//
//go:linkname clauseChanDir github.com/traefik/yaegi/interp.clauseChanDir
func clauseChanDir(n unsafe.Pointer) (ch, value, ok unsafe.Pointer, dir reflect.SelectDir)

// guardProgram puts the guards into a compiled cell that has not run yet.
func (s *Session) guardProgram(p *interp.Program) {
	root := *(*node)(unsafe.Add(unsafe.Pointer(p), layout.root))
	s.guardNode(root)
	remake(root, false)
}

// remake makes the bodies of function literals below declarations of variables
// run again, with their guards: the interpreter does so for the others, when
// the cell begins.
func remake(n node, declared bool) {
	k := n.kind()
	for _, c := range n.children() {
		remake(c, declared || k == "varDecl")
	}
	if c := n.children(); declared && k == "funcLit" && len(c) == 4 {
		getExec(*(*unsafe.Pointer)(unsafe.Add(c[3].p, layout.start)))
	}
}

func (s *Session) guardNode(n node) {
	for _, c := range n.children() {
		s.guardNode(c)
	}
	switch n.kind() {
	case "selectStmt":
		// The clauses' block does the work.
		b := n.children()[0]
		*b.exec(), *b.gen() = nil, func(p unsafe.Pointer) { *(node{p}).exec() = s.guardStep(node{p}, selectStep(node{p})) }
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
	if k := n.kind(); (k == "funcDecl" || k == "funcLit") && len(n.children()) == 4 {
		*n.meta() = newFunction(n)
	}
	g := n.gen()
	if *g == nil {
		return
	}
	// Function literals are made to run while they are compiled: once more.
	*n.exec() = nil
	gen := *g
	direct, compiled := calls(gen)
	if looksUp(n) {
		gen = func(p unsafe.Pointer) { *(node{p}).exec() = lookupStep(node{p}) }
	}
	if make := s.fieldSteps(gen); make != nil {
		*g = func(p unsafe.Pointer) { *(node{p}).exec() = make(node{p}) }
		return
	}
	switch n.kind() {
	case "indexExpr", "rangeStmt", "callExpr", "assignStmt", "incDecStmt", "defineStmt":
		plain := gen
		gen = func(p unsafe.Pointer) {
			plain(p)
			if e := (node{p}).exec(); *e != nil {
				*e = takeTurns(node{p}, *e)
			}
		}
		*g = gen
	}
	switch {
	case codeOf(gen) == codeOf(getFunc):
		*g = func(p unsafe.Pointer) { *(node{p}).exec() = makeLiteral(node{p}) }
	case n.kind() == "callExpr":
		*g = func(p unsafe.Pointer) {
			gen(p)
			if e := (node{p}).exec(); *e != nil {
				if direct {
					*e = s.invoke(node{p}, compiled, *e)
				}
				if c := (node{p}).children(); len(c) > 2 && c[0].ident() == "make" {
					*e = s.guardMake(node{p}, *e)
				}
				*e = s.guardCall(node{p}, *e, tracksCalls(node{p}))
			}
		}
	case canFail(n):
		*g = func(p unsafe.Pointer) {
			gen(p)
			if e := (node{p}).exec(); *e != nil {
				run := *e
				switch {
				case (node{p}).kind() == "starExpr" && !indexed(node{p}):
					run = checkNil(node{p}, run)
				case shifts((node{p}).action()):
					run = checkShift(node{p}, run)
				}
				*e = s.guardStep(node{p}, run)
			}
		}
	}
}

// canFail reports whether a node that is no call may panic.
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

// constantOperand reports whether the right operand is a literal: no zero, the
// checker has seen to it.
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

// checkShift makes a shift by a negative count fail.
func checkShift(n node, run step) step {
	count := genValue(n.children()[1].p)
	return func(f unsafe.Pointer) step {
		if c := count(f); c.CanInt() && c.Int() < 0 {
			panic(goError("negative shift amount"))
		}
		return run(f)
	}
}

// checkNil makes a node that follows a pointer fail itself: the interpreter
// leaves that to whatever uses the value.
func checkNil(n node, run step) step {
	value := genValue(n.p)
	return func(f unsafe.Pointer) step {
		next := run(f)
		if !value(f).IsValid() {
			panic(nilDereference)
		}
		return next
	}
}

// indexed reports whether n is the array of an index or slice expression, which
// fails itself, and only after its indices have been evaluated.
func indexed(n node) bool {
	p := n.parent()
	if p.p != nil && p.kind() == "parenExpr" {
		n, p = p, p.parent()
	}
	return p.p != nil && (p.kind() == "indexExpr" || p.kind() == "sliceExpr") && p.children()[0] == n
}

// guardStep guards a node that calls nothing: a panic starts there.
func (s *Session) guardStep(n node, run step) step {
	return func(f unsafe.Pointer) (next step) {
		ok := false
		defer func() {
			if !ok {
				if v := recover(); v != nil {
					v = inGo(n, f, v)
					(*runFrame)(f).debug = n.p
					s.cell().passed(n.pos(), true)
					s.contain(f)
					panic(v)
				}
			}
		}()
		next = run(f)
		ok = true
		return next
	}
}

// guardCall guards a call. A panic from below is caught whole and raised
// again: the interpreter raises it anew inside a deferred function at each
// level, and the stack of these would take time by its square.
func (s *Session) guardCall(n node, run step, tracks bool) step {
	return func(f unsafe.Pointer) step {
		if deferring.Load() != 0 && !tracks {
			called()
		}
		if stackUsed() > maxStack {
			s.overflow(n.pos())
			return nil
		}
		(*runFrame)(f).debug = n.p // for callers
		next, v, failed, in := s.try(run, f)
		if failed {
			v = inGo(n, f, v)
			s.cell().passed(n.pos(), false, in...)
			s.contain(f)
			panic(v)
		}
		return next
	}
}

// try runs a call and catches its panic, with the frames of compiled cells that
// it comes out of: those above this one (see nativeFrames).
func (s *Session) try(run step, f unsafe.Pointer) (next step, v any, failed bool, in []frame) {
	ok := false
	defer func() {
		if !ok {
			if v = recover(); v != nil {
				failed, in = true, s.nativeFrames()
			}
		}
	}()
	next = run(f)
	ok = true
	return next, nil, false, nil
}

// selectStep runs the clauses of a select statement. The interpreter's own
// step keeps the channels with the statement, where goroutines that run it at
// the same time take each other's.
func selectStep(n node) step {
	type clause struct {
		dir     reflect.SelectDir
		channel func(unsafe.Pointer) reflect.Value
		value   func(unsafe.Pointer) reflect.Value // to send, or where to put what is received
		ok      func(unsafe.Pointer) reflect.Value
		next    step
	}
	var clauses []clause
	for _, c := range n.children() {
		list := c.children()
		if c.kind() == "commClauseDefault" {
			clauses = append(clauses, clause{dir: reflect.SelectDefault, next: getExec(list[0].start().p)})
			continue
		}
		ch, value, ok, dir := clauseChanDir(list[0].p)
		cl := clause{dir: dir, channel: genValue(ch), next: getExec(list[1].start().p)}
		if value != nil {
			cl.value = genValue(value)
		}
		if ok != nil {
			cl.ok = genValue(ok)
		}
		clauses = append(clauses, cl)
	}
	return func(f unsafe.Pointer) step {
		cases := make([]reflect.SelectCase, len(clauses)+1)
		for i, c := range clauses {
			cases[i].Dir = c.dir
			if c.channel != nil {
				cases[i].Chan = c.channel(f)
			}
			if c.dir == reflect.SelectSend {
				cases[i].Send = c.value(f)
			}
		}
		mu := (*sync.RWMutex)(unsafe.Add(f, layout.mutex))
		mu.RLock()
		cases[len(clauses)] = *(*reflect.SelectCase)(unsafe.Add(f, layout.done))
		mu.RUnlock()
		i, v, ok := reflect.Select(cases)
		if i == len(clauses) {
			return nil
		}
		if c := clauses[i]; c.dir == reflect.SelectRecv && c.value != nil {
			c.value(f).Set(v)
			if c.ok != nil {
				c.ok(f).SetBool(ok)
			}
		}
		return clauses[i].next
	}
}

// maxStack is the stack in bytes that a goroutine of a cell may use. The
// process dies of ten times that.
const maxStack = 100 << 20

var errStackOverflow = fmt.Errorf("goroutine stack exceeds %d-byte limit\nfatal error: stack overflow", maxStack)

// overflow ends the cell: as in Go no recover can stop it.
func (s *Session) overflow(at token.Pos) {
	r := s.cell()
	r.passed(at, true)
	r.cancel(errStackOverflow)
	// Frames of this run stop at once, not when the context is noticed.
	storeRunID(s.in, loadRunID(s.in)+1)
}

// passed notes that a panic came by a place: the innermost of a panic where
// nothing else has been noted since the last function was left.
func (r *running) passed(p token.Pos, innermost bool, compiled ...frame) {
	if r == nil {
		return
	}
	r.mu.Lock()
	if innermost || !r.left {
		r.frames = nil
	}
	r.frames = append(r.frames, compiled...)
	r.left = false
	r.at = p
	r.mu.Unlock()
}

// A goError is an error of Go's own run time.
type goError string

func (e goError) Error() string { return "runtime error: " + string(e) }

// RuntimeError makes e a runtime.Error.
func (e goError) RuntimeError() {}

var _ runtime.Error = goError("")

const nilDereference = goError("invalid memory address or nil pointer dereference")

// inGo returns a recovered value as compiled code would have raised it.
func inGo(n node, f unsafe.Pointer, v any) any {
	text := ""
	switch v := v.(type) {
	case *reflect.ValueError:
		if v.Kind == reflect.Invalid {
			return nilDereference
		}
		return v
	case reflect.Value: // the argument of panic
		if v.IsValid() && v.CanInterface() {
			return v.Interface()
		}
		return v
	case runtime.Error:
		return unhashable(n, v)
	case string:
		text = v
	case error:
		text = v.Error()
	default:
		return v
	}
	switch {
	case strings.Contains(text, "/"+cellBase+":"):
		if _, msg, ok := strings.Cut(text, ": interface conversion: "); ok {
			return goError("interface conversion: " + cleanMessage(msg)).conversion()
		}
	case !strings.HasPrefix(text, "reflect"):
	case strings.HasPrefix(text, "reflect: cannot convert slice"):
		return goError(strings.NewReplacer("reflect: ", "", " to array ", " to array or pointer to array ",
			" to pointer to array ", " to array or pointer to array ").Replace(text))
	case strings.HasSuffix(text, "index out of range"):
		return goError(indexText(n, f))
	case strings.HasSuffix(text, "slice index out of bounds"), strings.HasSuffix(text, "string slice index out of bounds"):
		return goError(sliceText(n, f))
	case strings.Contains(text, "nil pointer"), strings.Contains(text, "nil interface value"), strings.Contains(text, "on zero Value"), strings.Contains(text, "call of nil function"),
		strings.Contains(text, "using zero Value"):
		return nilDereference
	case strings.Contains(text, "negative len"):
		return goError("makeslice: len out of range")
	case strings.Contains(text, "negative cap"), strings.Contains(text, "len > cap"):
		return goError("makeslice: cap out of range")
	case strings.HasSuffix(text, "negative buffer size"):
		return plainError("makechan: size out of range")
	case strings.HasSuffix(text, "slice overflow"):
		return goError("growslice: len out of range")
	}
	return v
}

// plainError is an error of Go's run time that does not say so: a failed type
// assertion, for one.
type plainError string

func (e plainError) Error() string { return string(e) }

// RuntimeError makes e a runtime.Error.
func (e plainError) RuntimeError() {}

func (e goError) conversion() error { return plainError(e) }

// operand reads a node's operand, a pointer to an array followed; ok is false
// where that fails.
func operand(n node, i int, f unsafe.Pointer) (v reflect.Value, ok bool) {
	defer func() {
		if recover() != nil {
			ok = false
		}
	}()
	v = genValue(n.children()[i].p)(f)
	for v.Kind() == reflect.Pointer && v.Elem().Kind() == reflect.Array {
		v = v.Elem()
	}
	return v, v.IsValid()
}

func hasLen(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Slice, reflect.Array, reflect.String:
		return true
	}
	return false
}
