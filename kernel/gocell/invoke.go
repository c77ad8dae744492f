package gocell

import (
	"fmt"
	"reflect"
	"slices"
	"sync/atomic"
	"unsafe"

	"dace.local/kernel/gocell/rtype"
)

// The interpreter calls what a variable of a function type holds, and methods by
// an interface, through package reflect: out into compiled code and back into the
// interpreter. Where a function of a cell is called, the steps here go to it
// directly, and allocate its frame with few calls.

// A function is what running a function of a cell takes.
type function struct {
	def     node // its declaration or literal
	results int  // slots of the frame; the parameters follow
	slots   []slot
	words   int // of memory for the slots that have an offset
}

// A slot is a variable of a frame. Those without pointers share memory; the
// others do not, for one that lives on would keep them all.
type slot struct {
	typ    reflect.Type // nil where what a pointer points to passes by
	value  rtype.Raw    // without its place
	offset int          // in the memory shared, or -1
}

// indirect is the flag of a reflect.Value that points to what it holds.
var indirect = func() uintptr {
	p := new(int)
	direct, settable := reflect.ValueOf(p), reflect.New(reflect.TypeFor[*int]()).Elem()
	zero := reflect.ValueOf(struct{ a, b int }{})
	return rtype.RawOf(&settable).Flag & rtype.RawOf(&zero).Flag &^ rtype.RawOf(&direct).Flag &^ uintptr(reflect.Struct|reflect.Pointer)
}()

// maxShared is the size of the largest slot that shares memory.
const maxShared = 64

func newFunction(def node) *function {
	fn := &function{def: def, results: len(def.typ().results())}
	passing := dereferenced(def)
	for i, t := range def.types() {
		s := slot{typ: t, offset: -1}
		if passing[i] && i >= fn.results+len(def.typ().params()) {
			s.typ = nil
		} else if n := t.Size(); n > 0 && n <= maxShared && !hasPointers(t) {
			v := reflect.New(t).Elem()
			s.value, s.offset = *rtype.RawOf(&v), 8*fn.words
			s.value.Pointer = nil
			fn.words += int(n+7) / 8
		}
		fn.slots = append(fn.slots, s)
	}
	return fn
}

// dereferenced tells the slots of a function that only the value of an expression
// *p passes by, which is put in place whole.
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

// functionAt returns the function that a node declares, nil where guardProgram
// did not see it.
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

// frame returns a frame for a call of the function from, or in, another frame.
func (fn *function) frame(anc *runFrame) *runFrame {
	var f *runFrame
	switch n := len(fn.slots); {
	case n <= 4:
		x := new(frame4)
		f = &x.runFrame
		f.data = x.slots[:n:n]
	case n <= 8:
		x := new(frame8)
		f = &x.runFrame
		f.data = x.slots[:n:n]
	case n <= 16:
		x := new(frame16)
		f = &x.runFrame
		f.data = x.slots[:n:n]
	default:
		f = &runFrame{data: make([]reflect.Value, n)}
	}
	f.id, f.anc, f.root, f.done = atomic.LoadUint64(&anc.id), anc, anc.root, anc.done
	var shared unsafe.Pointer
	if fn.words > 0 {
		shared = unsafe.Pointer(unsafe.SliceData(make([]uint64, fn.words)))
	}
	for i := range fn.slots {
		s := &fn.slots[i]
		if s.offset < 0 {
			if s.typ != nil {
				f.data[i] = reflect.New(s.typ).Elem()
			}
			continue
		}
		v := rtype.RawOf(&f.data[i])
		*v = s.value
		v.Pointer = unsafe.Add(shared, s.offset)
	}
	return f
}

//go:linkname runCfg github.com/traefik/yaegi/interp.runCfg
func runCfg(start unsafe.Pointer, f *runFrame, function, call unsafe.Pointer)

// run runs the function in a frame of it, for the node that calls it.
func (fn *function) run(f *runFrame, call node) []reflect.Value {
	runCfg(fn.def.children()[3].start().p, f, fn.def.p, call.p)
	return f.data[:fn.results]
}

//go:linkname callStep github.com/traefik/yaegi/interp.call
func callStep(n unsafe.Pointer)

//go:linkname callBin github.com/traefik/yaegi/interp.callBin
func callBin(n unsafe.Pointer)

//go:linkname getFunc github.com/traefik/yaegi/interp.getFunc
func getFunc(n unsafe.Pointer)

// reflected returns the type of package reflect.
func (t itype) reflected() reflect.Type { return typeOfItype(t.p) }

//go:linkname typeOfItype github.com/traefik/yaegi/interp.(*itype).TypeOf
func typeOfItype(t unsafe.Pointer) reflect.Type

//go:linkname genFuncValue github.com/traefik/yaegi/interp.genFuncValue
func genFuncValue(n unsafe.Pointer) func(frame unsafe.Pointer) reflect.Value

//go:linkname genInterfaceWrapper github.com/traefik/yaegi/interp.genInterfaceWrapper
func genInterfaceWrapper(n unsafe.Pointer, t reflect.Type) func(frame unsafe.Pointer) reflect.Value

func codeOf(f any) uintptr { return reflect.ValueOf(f).Pointer() }

// calls reports whether a generator makes the step of a call, and whether of one
// by package reflect.
func calls(gen func(unsafe.Pointer)) (ok, compiled bool) {
	c := codeOf(gen)
	return c == codeOf(callStep) || c == codeOf(callBin), c == codeOf(callBin)
}

// invoke returns the step of a call that goes to functions of cells directly,
// and to others by plain, the interpreter's.
func (s *Session) invoke(n node, compiled bool, plain step) step {
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
		params := nf.data[fn.results:]
		if recv.IsValid() {
			if len(params) > 0 {
				params[0].Set(recv)
				params = params[1:]
			}
		}
		for i, a := range args {
			if v := a(f); i < len(params) { // one without a name may have no slot
				params[i].Set(v)
			}
		}
		store(f, fn.run(nf, n))
		if otherwise != nil && !nf.data[0].Bool() {
			return otherwise
		}
		return then
	}
	value, typ := genValue(callee.p), callee.typ().reflected()
	if compiled && callee.action() == "getMethod" {
		return s.invokeMethod(callee, typ, plain, run)
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

// notInFrame is where the interpreter puts what is in no slot of a frame.
const notInFrame = -1

var nodePointer = reflect.PointerTo(nodeType)

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

// arguments returns how the arguments of a call are read, as the interpreter
// reads them; it reports whether this is known.
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

// results returns how the results of a call are stored, as the interpreter
// stores them.
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
			data[first+i].Set(v)
		}
	}
}

// A method is a method that a cell has declared, as a type has it: on itself, or
// on an embedded field.
type method struct {
	*boundMethod
	path      []int
	byPointer bool
}

type methodKey struct {
	typ  reflect.Type
	name string
}

// invokeMethod returns the step of a call of a method that callee selects.
func (s *Session) invokeMethod(callee node, typ reflect.Type, plain step, run func(unsafe.Pointer, *function, *runFrame, reflect.Value) step) step {
	c := callee.children()
	if len(c) != 2 || c[0].typ().rtype() == nil || c[0].typ().rtype().Kind() != reflect.Interface {
		return plain
	}
	value, name := genValue(c[0].p), c[1].ident()
	type known struct {
		typ    reflect.Type
		method *method
	}
	var last atomic.Pointer[known]
	var fits fitting
	find := func(t reflect.Type) *method {
		k := last.Load()
		if k == nil || k.typ != t {
			k = &known{typ: t}
			if m, ok := s.declared.Load(methodKey{t, name}); ok {
				k.method = m.(*method)
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
		m := find(recv.Type())
		if m == nil {
			return plain(f)
		}
		made, _ := m.fn.Load().(reflect.Value)
		fn, in := functionIn(made)
		if fn == nil {
			return plain(f)
		}
		recv, ok := receiverIn(recv, m.path, m.byPointer)
		if !ok || !fits.as(fn, typ, recv.Type()) {
			return plain(f)
		}
		return run(f, fn, in, recv)
	}
}

// fitting remembers the function that a call has found to fit last.
type fitting struct{ last atomic.Pointer[function] }

// as reports whether a function takes and returns just what a type says, after a
// receiver of type recv if that is not nil: values made before a type was
// compiled are of another, of the same layout.
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

// functionIn returns the function of a cell that a function value is made of,
// and the frame in which; nil where it is another.
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
	if p == nil || *(*uintptr)(p) != interpretedCode {
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

// A literal is a function literal of a cell: a closure.
type literal struct {
	*function
	frame *runFrame // that it was made in, as it was then
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

// makeLiteral returns the step that makes a function of a literal. (The
// interpreter's own puts the slot back whenever a call of the function ends:
// where that is in a goroutine, another function made meanwhile is lost.)
func makeLiteral(n node) step {
	typ, fn := n.typ().reflected(), functionAt(n)
	next, dest, level := getExec(n.tnext().p), n.findex(), n.level()
	return func(p unsafe.Pointer) step {
		f := (*runFrame)(p)
		f.mutex.RLock()
		now := &runFrame{id: atomic.LoadUint64(&f.id), debug: f.debug, root: f.root, anc: f.anc, data: slices.Clone(f.data),
			deferred: f.deferred, recovered: f.recovered, done: f.done}
		f.mutex.RUnlock()
		v := reflect.MakeFunc(typ, (&literal{fn, now}).call)
		f.mutex.Lock()
		getFrame(p, level).data[dest] = v
		f.mutex.Unlock()
		return next
	}
}

// wrapping tells what the function values of cells look like: where a value
// keeps the closure that runs it, the code of a literal's, that of what the
// interpreter makes of other functions, and where this keeps the node and the
// frame that it was made of. It is found by making one.
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
		t := create(fieldType(nodeType, "typ").Elem())
		*(*reflect.Type)(unsafe.Add(t, typeLayout.rtype)) = rt
		cat := reflect.NewAt(catType, unsafe.Add(t, typeLayout.cat)).Elem()
		for i := uint64(0); cat.Interface().(fmt.Stringer).String() != "valueT"; i++ {
			cat.SetUint(i)
		}
		return t
	}
	set := func(n unsafe.Pointer, field uintptr, p unsafe.Pointer) { *(*unsafe.Pointer)(unsafe.Add(n, field)) = p }
	n, def, body := create(nodeType), create(nodeType), create(nodeType)
	set(body, layout.start, body)
	*(*[]unsafe.Pointer)(unsafe.Add(def, layout.child)) = []unsafe.Pointer{body, body, body, body}
	set(def, typeLayout.typ, typ(nil))
	set(n, typeLayout.typ, typ(reflect.TypeFor[func()]()))
	*(*any)(unsafe.Add(n, layout.val)) = reflect.NewAt(nodeType, def).Interface()
	*(*int)(unsafe.Add(n, layout.findex)) = notInFrame
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
