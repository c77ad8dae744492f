package vm

import (
	"reflect"
	"unsafe"

	"dace.local/kernel/gocell/rtype"
)

// The interpreter has a step for each node of an expression, which reads and sets
// slots of the frame by package reflect. Here a statement whose expressions call
// nothing, such as s += x[i] * y, becomes one step: closures that compute with
// values of Go's own types, from the memory of the slots and into it.
//
// A fused step is only ever a shortcut. Where something is out of the ordinary (an
// index out of range, a nil pointer, a division by zero, a slot that holds a value
// of another type than the node's) it changes nothing and goes on with the
// interpreter's own steps for the statement, which then panic with Go's words at
// the right place. So an expression that is fused must have no effects.

// A unit is a statement, or an expression that is an operand of something else,
// whose nodes are fused.
type unit struct {
	entry node // the first of its nodes that the interpreter runs
	exit  node // the last
	// step returns the unit's step: slow is the interpreter's for entry; then and
	// otherwise follow exit.
	step func(slow, then, otherwise step) step
	// patch, if it is set, is called instead when the interpreter's step has been
	// made.
	patch func()
}

// fuse finds the units below n, before guards are put around their nodes.
func (m *Machine) fuse(n node) []unit {
	b := &fuser{types: &m.Asserted, shared: map[frameSlot]bool{}}
	b.noteShared(n, nil, false)
	b.visit(n, node{})
	return b.units
}

// install makes the interpreter generate the unit's step.
func (u unit) install() {
	g := u.entry.gen()
	gen := *g
	*g = func(p unsafe.Pointer) {
		gen(p)
		e := (node{p}).exec()
		if *e == nil {
			return
		}
		if u.patch != nil {
			u.patch()
			return
		}
		then, otherwise := getExec(u.exit.tnext().p), step(nil)
		if f := u.exit.fnext(); f.p != nil {
			otherwise = getExec(f.p)
		}
		*e = u.step(*e, then, otherwise)
	}
}

// A fuser fuses the statements of a program.
type fuser struct {
	// shared holds the variables that a closure, a pointer or a call that is put
	// off may refer to after their declaration has run again.
	shared map[frameSlot]bool
	types  *Types
	units  []unit
	def    node // the function that is visited
	// Of the expression that is being fused: the nodes that the interpreter runs
	// for it, in order; the call, or other node that is not fused, which is run
	// before them; and whether only one operand of && or || is certain to be.
	ops     []node
	after   node
	perhaps bool
	last    integer      // the integer fused last
	wanted  reflect.Type // of an assignment's left operand
}

// refused is the panic value by which a fuser says that it cannot fuse a node.
type refused struct{}

func refuse() { panic(refused{}) }

// A frameSlot is a slot of the frames of a function.
type frameSlot struct {
	def   node
	index int
}

// noteShared notes the shared variables. defs are the functions that n is in, the
// outermost first; kept is whether n is part of something that keeps a variable.
func (b *fuser) noteShared(n node, defs []node, kept bool) {
	switch n.kind() {
	case "identExpr":
		if level := n.level(); n.sym() != nil && (kept || level > 0) && level >= 0 && level < len(defs) {
			b.shared[frameSlot{defs[len(defs)-1-level], n.findex()}] = true
		}
	case "funcDecl", "funcLit":
		defs, kept = append(defs, n), false
	case "addressExpr", "deferStmt", "goStmt":
		kept = true
	case "sliceExpr":
		t := n.children()[0].typ()
		kept = kept || t.p != nil && t.reflected() != nil && t.reflected().Kind() == reflect.Array
	case "selectorExpr":
		kept = kept || n.action() != "." && !selectsField(*n.gen())
	}
	for _, c := range n.children() {
		b.noteShared(c, defs, kept)
	}
}

// visit finds the units below n, which is in the function def.
func (b *fuser) visit(n, def node) {
	b.def = def
	if u, ok := b.unitOf(n); ok {
		b.units = append(b.units, u)
		if u.patch == nil {
			return
		}
	}
	if k := n.kind(); k == "funcDecl" || k == "funcLit" {
		def = n
	}
	for _, c := range n.children() {
		b.visit(c, def)
	}
}

// unitOf returns n as a unit, if it can be one.
func (b *fuser) unitOf(n node) (u unit, ok bool) {
	var build func(node) func(slow, then, otherwise step) step
	first := n.start()
	if code := codeOf(*n.gen()); *n.gen() != nil && (code == codeOf(loopVarKey) || code == codeOf(loopVarVal)) {
		return b.loopVariable(n)
	}
	switch n.kind() {
	case "rangeStmt":
		return b.ranged(n)
	case "binaryExpr", "unaryExpr", "landExpr", "lorExpr", "indexExpr", "selectorExpr", "starExpr", "callExpr":
		build = b.expression
	case "identExpr":
		if n.fnext().p == nil {
			return unit{}, false
		}
		build = b.expression
	case "assignStmt", "defineStmt":
		build = b.assignment
	case "assignXStmt", "defineXStmt":
		build = b.assertion
	case "incDecStmt":
		build = b.change
	case "returnStmt":
		build = b.result
	default:
		return unit{}, false
	}
	defer func() {
		if v := recover(); v != nil {
			if _, is := v.(refused); !is {
				panic(v)
			}
			u, ok = unit{}, false
		}
	}()
	b.ops, b.after, b.perhaps, b.wanted = nil, node{}, false, nil
	u.step, u.exit = build(n), n
	if b.after.p != nil {
		first = b.after.tnext()
	}
	if len(b.ops) == 0 || b.ops[0] != first || b.after.p != nil && b.after.fnext().p != nil {
		return unit{}, false
	}
	u.entry = first
	return u, true
}

// ran notes that the interpreter runs a node, after those noted before.
func (b *fuser) ran(n node) { b.ops = append(b.ops, n) }

// A variable is a slot of a frame.
type variable struct {
	level, index int
	typ          reflect.Type
	word         unsafe.Pointer // the type, as a reflect.Value has it
}

func variableOf(level, index int, typ reflect.Type) variable {
	v := reflect.Zero(typ)
	return variable{level, index, typ, rtype.RawOf(&v).Type}
}

// typeOf returns the type of a node.
func typeOf(n node) reflect.Type {
	t := n.typ()
	if t.p == nil || t.untyped() {
		refuse()
	}
	switch t.cat() {
	case "nilT", "genericT", "builtinT", "binPkgT", "srcPkgT":
		refuse()
	}
	r := t.reflected()
	if r == nil {
		refuse()
	}
	return r
}

// slotOf returns the slot in which the interpreter looks for the value of a node.
func slotOf(n node) variable {
	level, index := n.level(), n.findex()
	if s := n.sym(); s != nil {
		if index = *at[int](s, layout.symbol.index); *at[bool](s, layout.symbol.global) {
			level = globalLevel
		}
	}
	if index < 0 || n.recv() != nil {
		refuse()
	}
	return variableOf(level, index, typeOf(n))
}

// globalLevel is the interpreter's level of global variables.
const globalLevel = -1

// at0 returns the memory of a slot of f, nil if its value is not of type t.
func at0(f *runFrame, i int, t unsafe.Pointer) unsafe.Pointer {
	if uint(i) >= uint(len(f.data)) {
		return nil
	}
	v := (*rtype.Raw)(unsafe.Pointer(&f.data[i]))
	if v.Type != t {
		return nil
	}
	return v.Pointer
}

// frameAt returns the frame of variables of a level.
func frameAt(f *runFrame, level int) *runFrame {
	if level == globalLevel {
		return f.root
	}
	for ; level > 0; level-- {
		f = f.anc
	}
	return f
}

// place returns the memory of the variable. For a type whose values a
// reflect.Value holds itself, unless they are addressable, it returns nil then.
func (v variable) place() place {
	i, t, level := v.index, v.word, v.level
	if k := v.typ.Kind(); !indirectKinds[k] {
		return func(f *runFrame) unsafe.Pointer {
			f = frameAt(f, level)
			if p := at0(f, i, t); p != nil && (*rtype.Raw)(unsafe.Pointer(&f.data[i])).Flag&indirect != 0 {
				return p
			}
			return nil
		}
	}
	if level == 0 {
		return func(f *runFrame) unsafe.Pointer { return at0(f, i, t) }
	}
	return func(f *runFrame) unsafe.Pointer { return at0(frameAt(f, level), i, t) }
}

// target returns the memory of the variable for a value to be stored, as place
// does: nil too where the slot holds a value and not a variable.
func (v variable) target() place {
	i, level, at := v.index, v.level, v.place()
	return func(f *runFrame) unsafe.Pointer {
		p := at(f)
		if p == nil || rtype.RawOf(&frameAt(f, level).data[i]).Flag&addressable == 0 {
			return nil
		}
		return p
	}
}

// target0 is at0 for a value to be stored.
func target0(f *runFrame, i int, t unsafe.Pointer) unsafe.Pointer {
	if uint(i) >= uint(len(f.data)) {
		return nil
	}
	v := (*rtype.Raw)(unsafe.Pointer(&f.data[i]))
	if v.Type != t || v.Flag&addressable == 0 {
		return nil
	}
	return v.Pointer
}

// addressable is the flag of a reflect.Value that is a variable.
var addressable = func() uintptr {
	variable, value := reflect.ValueOf(new(int)).Elem(), reflect.ValueOf(0)
	return rtype.RawOf(&variable).Flag &^ rtype.RawOf(&value).Flag
}()

// indirectKinds are the kinds whose values a reflect.Value always holds a pointer
// to.
var indirectKinds = func() (is [reflect.UnsafePointer + 1]bool) {
	for k := reflect.Bool; k <= reflect.Complex128; k++ {
		is[k] = true
	}
	is[reflect.String], is[reflect.Slice] = true, true
	return is
}()

// A place returns the address of a variable, or of what an operand denotes; nil
// where the step must not be fused.
type place func(*runFrame) unsafe.Pointer

// addressed returns where the value of a node is, and its type.
func (b *fuser) addressed(n node) (place, reflect.Type) {
	if n.kind() == "parenExpr" {
		c := n.children()
		p, t := b.addressed(c[len(c)-1])
		b.ran(n)
		return p, t
	}
	if isConstant(n) {
		refuse()
	}
	c := n.children()
	switch n.kind() {
	case "identExpr":
		v := slotOf(n)
		return v.place(), v.typ
	case "starExpr":
		if p, t, ok := b.asserted(n); ok {
			return p, t
		}
		p, t := b.pointer(c[0])
		b.ran(n)
		return p, t
	case "selectorExpr":
		if selectsField(*n.gen()) {
			p, t := b.field(n)
			b.ran(n)
			return p, t
		}
	case "indexExpr":
		if p, t, ok := b.element(n); ok {
			b.ran(n)
			return p, t
		}
	case "callExpr", "typeAssertExpr":
	default:
		refuse()
	}
	return b.leaf(n)
}

// leaf returns where the interpreter puts the value of a node that is not fused. The
// interpreter evaluates the leaf first, unless the leaf's operands are fused.
func (b *fuser) leaf(n node) (place, reflect.Type) {
	if len(b.ops) > 0 || b.perhaps || n.kind() == "selectorExpr" {
		refuse()
	}
	b.after = n
	v := variableOf(n.level(), n.findex(), typeOf(n))
	if v.index < 0 {
		refuse()
	}
	return v.place(), v.typ
}

// pointer returns what the value of a node points to.
func (b *fuser) pointer(n node) (place, reflect.Type) {
	at, t := b.addressed(n)
	if t.Kind() != reflect.Pointer {
		refuse()
	}
	return func(f *runFrame) unsafe.Pointer {
		p := at(f)
		if p == nil {
			return nil
		}
		return *(*unsafe.Pointer)(p)
	}, t.Elem()
}

// field returns a field of a struct, or of what a pointer to one points to.
func (b *fuser) field(n node) (place, reflect.Type) {
	of, t := b.addressed(n.children()[0])
	if t.Kind() == reflect.Pointer {
		at := of
		of, t = func(f *runFrame) unsafe.Pointer {
			p := at(f)
			if p == nil {
				return nil
			}
			return *(*unsafe.Pointer)(p)
		}, t.Elem()
	}
	path, ok := n.val().([]int)
	if !ok {
		refuse()
	}
	offset := uintptr(0)
	for _, i := range path {
		if t.Kind() != reflect.Struct {
			refuse()
		}
		f := t.Field(i)
		offset, t = offset+f.Offset, f.Type
	}
	return func(f *runFrame) unsafe.Pointer {
		p := of(f)
		if p == nil {
			return nil
		}
		return unsafe.Add(p, offset)
	}, t
}

// element returns an element of a slice or an array; ok is false for other
// operands.
func (b *fuser) element(n node) (_ place, _ reflect.Type, ok bool) {
	c := n.children()
	if len(c) != 2 {
		return nil, nil, false
	}
	of := typeOf(c[0])
	array := of
	if of.Kind() == reflect.Pointer {
		array = of.Elem()
	}
	if array.Kind() != reflect.Array && of.Kind() != reflect.Slice {
		return nil, nil, false
	}
	var x place
	if of.Kind() == reflect.Pointer {
		x, _ = b.pointer(c[0])
	} else {
		x, _ = b.addressed(c[0])
	}
	i := b.integer(c[1])
	if of.Kind() == reflect.Slice {
		return sliceElement(x, i, of.Elem().Size()), of.Elem(), true
	}
	return arrayElement(x, i, array.Elem().Size(), array.Len()), array.Elem(), true
}

// A header is a slice in memory.
type header struct {
	data     unsafe.Pointer
	len, cap int
}

func sliceElement(x place, i integer, size uintptr) place {
	index := i.f
	if l := i.local; l != nil {
		at, t := l.index, l.word
		return func(f *runFrame) unsafe.Pointer {
			p, q := x(f), at0(f, at, t)
			if p == nil || q == nil {
				return nil
			}
			h, k := (*header)(p), *(*int)(q)
			if uint(k) >= uint(h.len) {
				return nil
			}
			return unsafe.Add(h.data, uintptr(k)*size)
		}
	}
	return func(f *runFrame) unsafe.Pointer {
		p := x(f)
		k, ok := index(f)
		if p == nil || !ok {
			return nil
		}
		h := (*header)(p)
		if uint64(k) >= uint64(h.len) {
			return nil
		}
		return unsafe.Add(h.data, uintptr(k)*size)
	}
}

func arrayElement(x place, i integer, size uintptr, length int) place {
	index := i.f
	return func(f *runFrame) unsafe.Pointer {
		p := x(f)
		k, ok := index(f)
		if p == nil || !ok || uint64(k) >= uint64(length) {
			return nil
		}
		return unsafe.Add(p, uintptr(k)*size)
	}
}
