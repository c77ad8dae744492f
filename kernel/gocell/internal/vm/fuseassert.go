package vm

import (
	"go/constant"
	"reflect"
	"unsafe"

	"dace.local/kernel/gocell/rtype"
)

// Rewritten cells ask the kernel for the types of interface values (types.go):
// here these calls are recognized, and the type is compared in the fused step.

// A contents reads an interface value: the type that it holds, nil if there is none
// or it must not be fused, and where the value is.
type contents func(*runFrame) (typ, at unsafe.Pointer)

// heldBy fuses an operand of an interface type whose values may hold a t, which is
// not an interface type.
func (b *fuser) heldBy(n node, t reflect.Type) contents {
	of := typeOf(n)
	if isConstant(n) || of.Kind() != reflect.Interface || t.Kind() == reflect.Interface {
		refuse()
	}
	at, _ := b.addressed(n)
	load := loadInterface(at, of)
	direct := isDirect(t)
	return func(f *runFrame) (typ, p unsafe.Pointer) {
		x := load(f)
		if x == nil {
			return nil, nil
		}
		if direct {
			return x[0], unsafe.Pointer(&x[1])
		}
		return x[0], x[1]
	}
}

// loadInterface returns what reads an interface value of a type from a place, as
// the two words of an any; nil if it must not be fused.
func loadInterface(at place, of reflect.Type) func(*runFrame) *[2]unsafe.Pointer {
	if of.NumMethod() == 0 {
		return func(f *runFrame) *[2]unsafe.Pointer { return (*[2]unsafe.Pointer)(at(f)) }
	}
	return func(f *runFrame) *[2]unsafe.Pointer {
		p := at(f)
		if p == nil {
			return nil
		}
		x := any(*(*interface{ Method() })(p)) // any interface type with methods has this layout
		return (*[2]unsafe.Pointer)(unsafe.Pointer(&x))
	}
}

// isDirect reports whether an interface value holds a t itself, and not a pointer
// to one.
func isDirect(t reflect.Type) bool {
	v := reflect.Zero(t)
	return rtype.RawOf(&v).Flag&indirect == 0
}

// numbered returns the type whose number a node is.
func (b *fuser) numbered(n node) reflect.Type {
	i, ok := constant.Int64Val(constant.ToInt(constantOf(n)))
	if !ok || i < 0 || int(i) >= len(b.types.types) {
		refuse()
	}
	return b.types.types[i]
}

// asserted fuses *ˑrt.As(k, from, x).(*T): what x holds, where it is.
func (b *fuser) asserted(n node) (place, reflect.Type, bool) {
	assert := n.children()[0]
	if assert.kind() != "typeAssertExpr" {
		return nil, nil, false
	}
	call, pointer := assert.children()[0], assert.children()[1]
	c := call.children()
	if call.kind() != "callExpr" || len(c) != 4 || runtimeName(c[0]) != "As" || pointer.kind() != "starExpr" {
		return nil, nil, false
	}
	t := b.numbered(c[1])
	b.ran(c[0])
	hold := b.heldBy(c[3], t)
	b.ran(call)
	b.typeOfPointer(pointer)
	b.ran(assert)
	b.ran(n)
	word := variableOf(0, 0, t).word
	return func(f *runFrame) unsafe.Pointer {
		typ, p := hold(f)
		if typ != word {
			return nil
		}
		return p
	}, t, true
}

// typeOfPointer notes that the interpreter runs the nodes of a type *T.
func (b *fuser) typeOfPointer(n node) {
	b.typeOperand(n.children()[0])
	b.ran(n)
}

// which fuses ˑrt.Which(k, x), the number of a type switch's case.
func (b *fuser) which(n node) integer {
	c := n.children()
	k, ok := constant.Int64Val(constant.ToInt(constantOf(c[1])))
	of := typeOf(c[2])
	if !ok || of.Kind() != reflect.Interface || isConstant(c[2]) {
		refuse()
	}
	b.ran(c[0])
	at, _ := b.addressed(c[2])
	b.ran(n)
	load, types := loadInterface(at, of), b.types
	return integer{kind: reflect.Int, f: func(f *runFrame) (int64, bool) {
		x := load(f)
		if x == nil {
			return 0, false
		}
		return int64(types.which(int(k), *(*any)(unsafe.Pointer(x)))), true
	}}
}

// assertion fuses v, ok := x.(T), which is the call of a function literal: see
// assertByNumber of package lower.
func (b *fuser) assertion(n node) stepMaker {
	c := n.children()
	call := c[len(c)-1]
	if len(c) != 3 || call.kind() != "callExpr" || n.fnext().p != nil {
		refuse()
	}
	cc := call.children()
	if len(cc) != 2 || cc[0].kind() != "funcLit" {
		refuse()
	}
	t := b.assertedBy(cc[0])
	var dest [2]place
	for i, x := range c[:2] {
		if x.ident() == "_" {
			continue
		}
		var typ reflect.Type
		if dest[i], typ = b.variableFor(n, x); i == 0 && typ != t || i == 1 && typ.Kind() != reflect.Bool {
			refuse()
		}
	}
	b.ran(cc[0])
	hold := b.heldBy(cc[1], t)
	b.ran(call)
	b.ran(n)
	word, zero := variableOf(0, 0, t).word, reflect.Zero(t)
	return func(slow, then, _ step) step {
		return func(p unsafe.Pointer) step {
			f := (*runFrame)(p)
			var at [2]unsafe.Pointer
			for i, d := range dest {
				if d != nil {
					if at[i] = d(f); at[i] == nil {
						return slow(p)
					}
				}
			}
			typ, from := hold(f)
			if typ == nil {
				return slow(p)
			}
			ok := typ == word
			if at[0] != nil {
				v := zero
				if ok {
					v = reflect.NewAt(t, from).Elem()
				}
				reflect.NewAt(t, at[0]).Elem().Set(v)
			}
			if at[1] != nil {
				*(*bool)(at[1]) = ok
			}
			return then
		}
	}
}

// assertedBy returns the T of a function literal that assertByNumber has made.
func (b *fuser) assertedBy(literal node) reflect.Type {
	parts := literal.children()
	if len(parts) != 4 {
		refuse()
	}
	body := parts[3].children()
	if len(body) != 2 || body[0].kind() != "defineXStmt" || body[1].kind() != "returnStmt" {
		refuse()
	}
	d := body[0].children()
	ask := d[len(d)-1]
	if ask.kind() != "callExpr" || len(ask.children()) != 3 || runtimeName(ask.children()[0]) != "AsOK" {
		refuse()
	}
	return b.numbered(ask.children()[1])
}

// variableFor returns the variable that x stands for on the left of n, which may
// declare it.
func (b *fuser) variableFor(n, x node) (place, reflect.Type) {
	if x.kind() != "identExpr" {
		refuse()
	}
	if n.kind() == "defineXStmt" && !x.redeclared() {
		if b.def.p == nil || b.shared[frameSlot{b.def, x.findex()}] || x.level() != 0 || x.findex() < 0 {
			refuse()
		}
		v := variableOf(0, x.findex(), typeOf(x))
		return v.target(), v.typ
	}
	v := slotOf(x)
	return v.target(), v.typ
}
