package vm

import (
	"fmt"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"

	"dace.local/kernel/gocell/internal/cell"
	"dace.local/kernel/gocell/rtype"
)

// The interpreter calls function values, and methods of interfaces, by package
// reflect: out into compiled code and back into the interpreter. Where the callee
// is a function of a cell, the steps here run it directly, in a frame that takes
// few allocations.

// A function holds what a call of a function of a cell needs to know of it.
type function struct {
	def     node // its declaration or literal
	start   node // where its body begins
	results int  // slots of the frame; the parameters follow
	slots   []slot
	words   int // of memory for the slots that have an offset
	defers  bool
	// frames holds frames of calls that are over, of a function whose frames
	// nothing can refer to by then (see keepsFrame); nil for other functions.
	frames   *sync.Pool
	pointers []int          // the slots that have no offset
	first    unsafe.Pointer // the type of the first slot, as a reflect.Value has it

	m            *Machine
	sampledStart atomic.Pointer[sampledStart] // in place of start, while a profile is taken
}

// A slot is a variable of a frame. Slots without pointers are allocated as one
// block. Others are allocated singly: a closure that keeps one alive would keep
// what all of them point to.
type slot struct {
	typ    reflect.Type // nil for a slot that only holds a dereferenced value
	value  rtype.Raw    // the slot's value without its address
	offset int          // in the block, or -1
}

// indirect is the flag of a reflect.Value that holds a pointer to its value.
var indirect = func() uintptr {
	p := new(int)
	direct, settable := reflect.ValueOf(p), reflect.New(reflect.TypeFor[*int]()).Elem()
	zero := reflect.ValueOf(struct{ a, b int }{})
	return rtype.RawOf(&settable).Flag & rtype.RawOf(&zero).Flag &^ rtype.RawOf(&direct).Flag &^ uintptr(reflect.Struct|reflect.Pointer)
}()

// maxShared is the size of the largest slot that is allocated in the block.
const maxShared = 64

// newFunction returns what calls of the function that a node declares need.
func newFunction(def node) *function {
	fn := &function{def: def, start: def.children()[3].start(), results: len(def.typ().results())}
	passing := dereferenced(def)
	for i, t := range def.types() {
		s := slot{typ: t, offset: -1}
		if passing[i] && i >= fn.results+len(def.typ().params()) {
			s.typ = nil
		} else if n := t.Size(); n > 0 && n <= maxShared && !HasPointers(t) {
			v := reflect.New(t).Elem()
			s.value, s.offset = *rtype.RawOf(&v), 8*fn.words
			s.value.Pointer = nil
			fn.words += int(n+7) / 8
		} else {
			fn.pointers = append(fn.pointers, i)
		}
		fn.slots = append(fn.slots, s)
	}
	if len(fn.slots) > 0 && fn.slots[0].typ != nil {
		fn.first = variableOf(0, 0, fn.slots[0].typ).word
	}
	fn.defers = contains(def.children()[3], "deferStmt")
	if !keepsFrame(def) {
		fn.frames = new(sync.Pool)
	}
	return fn
}

// dereferenced returns the slots of a function that only ever hold the value of an
// expression *p: the step of that expression replaces the slot, so that it needs
// no memory of its own.
func dereferenced(def node) map[int]bool {
	only := map[int]bool{}
	var visit func(n node)
	visit = func(n node) {
		k := n.kind()
		if i := n.findex(); n.level() == 0 && k != "parenExpr" {
			before, seen := only[i]
			only[i] = k == "starExpr" && (before || !seen)
		}
		if k != "funcLit" {
			for _, c := range n.children() {
				visit(c)
			}
		}
	}
	visit(def.children()[3])
	return only
}

// functionAt returns the function that a node declares, nil for a node that
// guardProgram has not seen.
func functionAt(def node) *function {
	fn, _ := (*def.meta()).(*function)
	return fn
}

// The slots of a frame are allocated with it.
type (
	frame4 struct {
		runFrame
		slots [4]reflect.Value
	}
	frame8 struct {
		runFrame
		slots [8]reflect.Value
	}
	frame16 struct {
		runFrame
		slots [16]reflect.Value
	}
)

// frame returns a frame for a call of the function. anc is the frame of the
// caller, or for a closure that in which it was made.
func (fn *function) frame(anc *runFrame) *runFrame {
	var f *runFrame
	if fn.frames != nil {
		f = fn.reused()
	} else {
		f = fn.emptyFrame()
		fn.fill(f.data)
	}
	f.id, f.anc, f.root, f.done = atomic.LoadUint64(&anc.id), anc, anc.root, anc.done
	return f
}

// emptyFrame returns a frame without values in its slots.
func (fn *function) emptyFrame() *runFrame {
	switch n := len(fn.slots); {
	case n <= 4:
		x := new(frame4)
		x.data = x.slots[:n:n]
		return &x.runFrame
	case n <= 8:
		x := new(frame8)
		x.data = x.slots[:n:n]
		return &x.runFrame
	case n <= 16:
		x := new(frame16)
		x.data = x.slots[:n:n]
		return &x.runFrame
	default:
		return &runFrame{data: make([]reflect.Value, n)}
	}
}

// fill allocates the variables of a frame, and returns the memory of those
// without pointers.
func (fn *function) fill(data []reflect.Value) (shared []uint64) {
	if fn.words > 0 {
		shared = make([]uint64, fn.words)
	}
	block := unsafe.Pointer(unsafe.SliceData(shared))
	for i := range fn.slots {
		s := &fn.slots[i]
		if s.offset < 0 {
			if s.typ != nil {
				data[i] = reflect.New(s.typ).Elem()
			}
			continue
		}
		v := rtype.RawOf(&data[i])
		*v = s.value
		v.Pointer = unsafe.Add(block, s.offset)
	}
	return shared
}

// run runs the function in a frame that frame has made, for the node that calls
// it, and returns its results.
func (fn *function) run(f *runFrame, call node) []reflect.Value {
	start := fn.start
	if s := sampling.Load(); s != nil && s.m == fn.m {
		start = s.start(fn)
	}
	runCfg(start.p, f, fn.def.p, call.p)
	return f.data[:fn.results]
}

// runBody does what run does, for a function without deferred calls that the top
// one of calls c is for: when a panic leaves it, guardCall notes that.
func (m *Machine) runBody(fn *function, f *runFrame, c *calls) []reflect.Value {
	c.nodes[len(c.nodes)-1].fn = fn
	if s := sampling.Load(); s != nil && s.m == m {
		s.run(*fn.start.exec(), fn, f, c)
		return f.data[:fn.results]
	}
	m.steps(fn, f, *fn.start.exec())
	return f.data[:fn.results]
}

// steps makes the steps of a function, from one on. When the cell is stopped, it notes
// at which one.
func (m *Machine) steps(fn *function, f *runFrame, exec step) {
	id, made := m.runID(), exec
	for exec != nil && atomic.LoadUint64(&f.id) == id.Load() {
		made = exec
		exec = exec(unsafe.Pointer(f))
	}
	if atomic.LoadUint64(&f.id) != id.Load() {
		m.noteStop(fn, made)
	}
}

// noteStop notes the step at which a cell was stopped: the first that its own goroutine
// tells of, which is the innermost.
func (m *Machine) noteStop(fn *function, made step) {
	c := m.Cell()
	if c == nil || c.main == nil || c.main.g != currentG() || made == nil {
		return
	}
	at := nodeOf(stepsOf(fn), fn, made)
	for at.p != nil && (!at.pos().IsValid() || m.Files().Position(at.pos()).Filename == cell.FileName(0)) {
		at = at.parent()
	}
	if at.p != nil {
		c.StoppedHere(m.Files().Position(at.pos()))
	}
}

// words are the kinds of eight bytes without pointers.
const words = 1<<reflect.Int | 1<<reflect.Int64 | 1<<reflect.Uint | 1<<reflect.Uint64 | 1<<reflect.Uintptr | 1<<reflect.Float64

// kindBits are the flags of a reflect.Value that are its kind.
const kindBits = 1<<5 - 1

// set sets a slot to a value, as the slot's method Set would.
func set(slot *reflect.Value, v reflect.Value) {
	d, s := rtype.RawOf(slot), rtype.RawOf(&v)
	if d.Type == s.Type && 1<<(s.Flag&kindBits)&words != 0 && d.Flag&s.Flag&indirect != 0 {
		*(*uint64)(d.Pointer) = *(*uint64)(s.Pointer)
		return
	}
	slot.Set(v)
}

// isCall reports whether a generator makes the steps of calls, and whether of
// calls of compiled functions.
func isCall(gen func(unsafe.Pointer)) (ok, compiled bool) {
	c := codeOf(gen)
	return c == codeOf(callStep) || c == codeOf(callBin), c == codeOf(callBin)
}

// invoke returns the step of a call that runs functions of cells directly, and
// takes plain, the interpreter's step, for others.
func (m *Machine) invoke(n node, compiled bool, plain step) step {
	c := n.children()
	callee, parent := c[0], n.parent()
	if k := parent.kind(); k == "deferStmt" || k == "goStmt" || n.action() == "callSlice" {
		return plain
	}
	args, ok := arguments(callee.typ(), c[1:], compiled)
	if !ok {
		return plain
	}
	store := results(n, compiled)
	then := getExec(n.tnext().p)
	var otherwise step
	if e := n.fnext(); e.p != nil {
		otherwise = getExec(e.p)
	}
	run := func(f unsafe.Pointer, fn *function, anc *runFrame, recv reflect.Value) step {
		nf := fn.frame(anc)
		nf.debug = (*runFrame)(f).debug
		params := nf.data[fn.results:]
		if recv.IsValid() {
			if len(params) > 0 {
				set(&params[0], recv)
				params = params[1:]
			}
		}
		for i, a := range args {
			if v := a(f); i < len(params) { // one without a name may have no slot
				set(&params[i], v)
			}
		}
		if fn.defers {
			store(f, fn.run(nf, n))
		} else {
			store(f, m.runBody(fn, nf, (*calls)(nf.debug)))
		}
		next := then
		if otherwise != nil && !nf.data[0].Bool() {
			next = otherwise
		}
		fn.release(nf)
		return next
	}
	value, typ := genValue(callee.p), callee.typ().reflected()
	if compiled && callee.action() == "getMethod" {
		return m.invokeMethod(callee, typ, plain, run)
	}
	var fits fitting
	constant := callee.findex() == notInFrame
	return func(f unsafe.Pointer) step {
		caller := (*runFrame)(f)
		if !compiled && !constant {
			caller.mutex.Lock()
		}
		v := value(f)
		if !compiled && !constant {
			caller.mutex.Unlock()
		}
		if def, ok := nodeIn(v); ok {
			if fn := functionAt(def); fn != nil && !def.rval().IsValid() {
				return run(f, fn, caller, reflect.Value{})
			}
			return plain(f)
		}
		if fn, made := functionIn(v); fn != nil && fits.as(fn, typ, nil) {
			return run(f, fn, made, reflect.Value{})
		}
		return plain(f)
	}
}

// notInFrame is the interpreter's index of values that are in no slot of a frame.
const notInFrame = -1

// nodeIn returns the node that a value points to: the interpreter's value of a
// declared function.
func nodeIn(v reflect.Value) (node, bool) {
	if v.Kind() != reflect.Pointer || v.Type() != nodePointer {
		return node{}, false
	}
	return node{v.UnsafePointer()}, true
}

// callsFunction reports whether a node calls a function.
func callsFunction(n node) bool {
	c := n.children()
	if n.kind() != "callExpr" || len(c) == 0 {
		return false
	}
	t := c[0].typ()
	return t.p != nil && (t.cat() == "funcT" || t.cat() == "valueT" && t.rtype().Kind() == reflect.Func)
}

// arguments returns functions that read the arguments of a call from a frame, as
// the interpreter does. ok is false for calls that are left to the interpreter.
func arguments(callee itype, list []node, compiled bool) ([]func(unsafe.Pointer) reflect.Value, bool) {
	values := make([]func(unsafe.Pointer) reflect.Value, len(list))
	if compiled {
		t := callee.rtype()
		if t == nil || t.Kind() != reflect.Func || t.IsVariadic() || t.NumIn() != len(list) {
			return nil, false
		}
		for i, x := range list {
			switch cat := x.typ().cat(); {
			case callsFunction(x) || cat == "valueT" || x.typ().emptyInterface():
				values[i] = genValue(x.p)
			case cat == "interfaceT" || cat == "linkedT":
				return nil, false
			case isFuncSrc(x.typ().p):
				values[i] = genFunctionWrapper(x.p)
			default:
				values[i] = genInterfaceWrapper(x.p, t.In(i))
			}
		}
		return values, true
	}
	params := callee.params()
	if len(params) != len(list) {
		return nil, false
	}
	for i, x := range list {
		p := params[i]
		switch cat := p.cat(); {
		case cat == "variadicT" || cat == "linkedT" || cat == "interfaceT" && (!p.emptyInterface() || len(x.typ().methods()) > 0):
			return nil, false
		case callsFunction(x):
			values[i] = genValue(x.p)
		case cat == "errorT" || cat == "valueT" && p.rtype().Kind() == reflect.Interface:
			values[i] = genInterfaceWrapper(x.p, p.rtype())
		case isFuncSrc(p.p):
			values[i] = genFuncValue(x.p)
		default:
			values[i] = genValue(x.p)
		}
	}
	return values, true
}

// results returns a function that stores the results of a call, as the
// interpreter does.
func results(n node, compiled bool) func(f unsafe.Pointer, out []reflect.Value) {
	parent, first, level := n.parent(), n.findex(), n.level()
	if !compiled {
		if parent.kind() == "returnStmt" {
			level = 0
		}
		var blank []bool
		if k := parent.kind(); k == "defineXStmt" || k == "assignXStmt" {
			for _, x := range parent.children() {
				blank = append(blank, x.ident() == "_")
			}
		}
		return func(f unsafe.Pointer, out []reflect.Value) {
			data := getFrame(f, level).data
			for i, v := range out {
				if blank == nil || !blank[i] {
					data[first+i].Set(v)
				}
			}
		}
	}
	switch {
	case n.fnext().p != nil:
	case parent.action() == "X=":
		type dest struct {
			blank, define bool
			level, index  int
			value         func(unsafe.Pointer) reflect.Value
		}
		var list []dest
		for _, x := range parent.children() {
			d := dest{blank: x.ident() == "_", define: parent.kind() == "defineXStmt" && !x.redeclared(), level: x.level(), index: x.findex()}
			if !d.blank {
				d.value = genValue(x.p)
			}
			list = append(list, d)
		}
		return func(f unsafe.Pointer, out []reflect.Value) {
			for i, v := range out {
				switch d := list[i]; {
				case d.blank:
				case d.define:
					data := getFrame(f, d.level).data
					x := reflect.New(data[d.index].Type()).Elem()
					x.Set(v)
					data[d.index] = x
				default:
					d.value(f).Set(v)
				}
			}
		}
	case parent.action() == "return":
		first, level = slices.Index(parent.children(), n), 0
		return func(f unsafe.Pointer, out []reflect.Value) {
			data := (*runFrame)(f).data
			for i, v := range out {
				data[first+i].Set(v)
			}
		}
	}
	return func(f unsafe.Pointer, out []reflect.Value) {
		data := getFrame(f, level).data
		for i, v := range out {
			if v.Kind() == reflect.Func {
				data[first+i] = v
				continue
			}
			set(&data[first+i], v)
		}
	}
}

// invokeMethod returns the step of a call of a method that callee selects.
func (m *Machine) invokeMethod(callee node, typ reflect.Type, plain step, run func(unsafe.Pointer, *function, *runFrame, reflect.Value) step) step {
	c := callee.children()
	if len(c) != 2 || c[0].typ().rtype() == nil || c[0].typ().rtype().Kind() != reflect.Interface {
		return plain
	}
	value, name := genValue(c[0].p), c[1].ident()
	type known struct {
		typ    reflect.Type
		method *Method
	}
	var last atomic.Pointer[known]
	var fits fitting
	find := func(t reflect.Type) *Method {
		k := last.Load()
		if k == nil || k.typ != t {
			k = &known{typ: t}
			if x, ok := m.methods.Load(methodKey{t, name}); ok {
				k.method = x.(*Method)
			}
			last.Store(k)
		}
		return k.method
	}
	return func(f unsafe.Pointer) step {
		recv := value(f)
		if recv.Kind() == reflect.Interface {
			recv = recv.Elem()
		}
		if !recv.IsValid() {
			return plain(f)
		}
		x := find(recv.Type())
		if x == nil {
			return plain(f)
		}
		made, _ := x.Value()
		fn, in := functionIn(made)
		if fn == nil {
			return plain(f)
		}
		recv, ok := ReceiverIn(recv, x.Path, x.ByPointer)
		if !ok || !fits.as(fn, typ, recv.Type()) {
			return plain(f)
		}
		return run(f, fn, in, recv)
	}
}

// A fitting is the signature check of a call, which remembers the function that
// has passed it last.
type fitting struct{ last atomic.Pointer[function] }

// as reports whether a function's slots are of the types in a signature, after a
// receiver of type recv if that is not nil. They may differ: a value that was made
// before its type was compiled is of another type of the same layout.
func (l *fitting) as(fn *function, t, recv reflect.Type) bool {
	if l.last.Load() == fn {
		return true
	}
	slots := fn.slots
	fits := func(t reflect.Type) bool {
		if len(slots) == 0 {
			return true // without a name
		}
		s := slots[0]
		slots = slots[1:]
		return s.typ == t
	}
	if fn.results != t.NumOut() {
		return false
	}
	for r := range t.Outs() {
		if !fits(r) {
			return false
		}
	}
	if recv != nil && !fits(recv) {
		return false
	}
	for p := range t.Ins() {
		if !fits(p) {
			return false
		}
	}
	l.last.Store(fn)
	return true
}

// functionIn returns the function of a cell that a function value stands for, and
// the frame in which it was made; nil for other functions.
func functionIn(v reflect.Value) (*function, *runFrame) {
	if v.Kind() != reflect.Func || wrapping.node == 0 {
		return nil, nil
	}
	h := rtype.RawOf(&v)
	if h.Flag&methodFlag != 0 {
		return nil, nil
	}
	p := h.Pointer
	if h.Flag&indirect != 0 {
		p = *(*unsafe.Pointer)(p)
	}
	if p == nil {
		return nil, nil
	}
	if *(*uintptr)(p) != interpretedCode {
		if l := nativeLiteral(p); l != nil {
			return l.function, l.frame
		}
		return nil, nil
	}
	closure := *(*unsafe.Pointer)(unsafe.Add(p, wrapping.fn))
	switch *(*uintptr)(closure) {
	case wrapping.literal:
		l := (*struct {
			code uintptr
			recv *literal
		})(closure).recv
		return l.function, l.frame
	case wrapping.code:
	default:
		return nil, nil
	}
	n := node{*(*unsafe.Pointer)(unsafe.Add(closure, wrapping.node))}
	if n.recv() != nil {
		return nil, nil
	}
	def, ok := nodeIn(reflect.ValueOf(n.val()))
	if !ok {
		return nil, nil
	}
	return functionAt(def), *(**runFrame)(unsafe.Add(closure, wrapping.frame))
}

// A literal is the value of a function literal of a cell: a closure.
type literal struct {
	*function
	frame *runFrame // a copy of that in which it was made
}

// call runs the function for compiled code.
func (l *literal) call(in []reflect.Value) []reflect.Value {
	f := l.function.frame(l.frame)
	params := f.data[l.results:]
	for i, v := range in[:min(len(in), len(params))] {
		params[i].Set(v)
	}
	return l.run(f, l.def)
}

// makeLiteral returns the step that makes a closure of a function literal. (The
// interpreter's own step restores the slot when a call of the closure ends: in
// another goroutine that overwrites a closure made meanwhile.)
func makeLiteral(n node) step {
	typ, fn := n.typ().reflected(), functionAt(n)
	next, dest, level := getExec(n.tnext().p), n.findex(), n.level()
	native := fn.native(typ)
	return func(p unsafe.Pointer) step {
		f := (*runFrame)(p)
		f.mutex.RLock()
		now := &runFrame{id: atomic.LoadUint64(&f.id), root: f.root, anc: f.anc, data: slices.Clone(f.data),
			deferred: f.deferred, recovered: f.recovered, done: f.done}
		f.mutex.RUnlock()
		var v reflect.Value
		if l := (&literal{fn, now}); native != nil {
			v = native(l)
		} else {
			v = reflect.MakeFunc(typ, l.call)
		}
		f.mutex.Lock()
		getFrame(p, level).data[dest] = v
		f.mutex.Unlock()
		return next
	}
}

// wrapping is the layout of function values of cells: the offset of the closure
// in a value that reflect.MakeFunc has made, the code of the closures of literals
// and of those that the interpreter makes for other functions, and the offsets of
// the node and the frame in the latter. It is measured on one such value.
var wrapping = func() (l struct {
	fn            uintptr
	literal, code uintptr
	node, frame   uintptr
}) {
	word := unsafe.Sizeof(uintptr(0))
	find := func(in, what unsafe.Pointer) uintptr {
		for i := word; i < 8*word; i += word {
			if *(*unsafe.Pointer)(unsafe.Add(in, i)) == what {
				return i
			}
		}
		return 0
	}
	captured := new(int)
	known := func([]reflect.Value) []reflect.Value { *captured++; return nil }
	impl := func(v reflect.Value) unsafe.Pointer { return rtype.RawOf(&v).Pointer }
	l.fn = find(impl(reflect.MakeFunc(reflect.TypeFor[func()](), known)), *(*unsafe.Pointer)(unsafe.Pointer(&known)))

	create := func(t reflect.Type) unsafe.Pointer { return reflect.New(t).UnsafePointer() }
	typ := func(rt reflect.Type) unsafe.Pointer {
		t := create(itypeType)
		*(*reflect.Type)(unsafe.Add(t, layout.itype.rtype)) = rt
		cat := reflect.NewAt(catType, unsafe.Add(t, layout.itype.cat)).Elem()
		for i := uint64(0); cat.Interface().(fmt.Stringer).String() != "valueT"; i++ {
			cat.SetUint(i)
		}
		return t
	}
	set := func(n unsafe.Pointer, field uintptr, p unsafe.Pointer) { *(*unsafe.Pointer)(unsafe.Add(n, field)) = p }
	n, def, body := create(nodeType), create(nodeType), create(nodeType)
	set(body, layout.node.start, body)
	*(*[]unsafe.Pointer)(unsafe.Add(def, layout.node.child)) = []unsafe.Pointer{body, body, body, body}
	set(def, layout.node.typ, typ(nil))
	set(n, layout.node.typ, typ(reflect.TypeFor[func()]()))
	*(*any)(unsafe.Add(n, layout.node.val)) = reflect.NewAt(nodeType, def).Interface()
	*(*int)(unsafe.Add(n, layout.node.findex)) = notInFrame
	frame := unsafe.Pointer(new(runFrame))
	closure := *(*unsafe.Pointer)(unsafe.Add(impl(genFunctionWrapper(n)(frame)), l.fn))
	method := (&literal{}).call
	l.literal = **(**uintptr)(unsafe.Pointer(&method))
	l.code, l.node, l.frame = *(*uintptr)(closure), find(closure, n), find(closure, frame)
	if l.fn == 0 || l.node == 0 || l.frame == 0 {
		panic("gocell: the interpreter's functions have another form")
	}
	return l
}()
