package vm

import (
	"reflect"
	"unsafe"
)

type stepMaker = func(slow, then, otherwise step) step

// expression fuses an expression whose value a step that is not fused wants: it
// is put into the slot that the interpreter has for it.
func (b *fuser) expression(n node) stepMaker {
	if isConstant(n) {
		refuse()
	}
	t := typeOf(n)
	if t.Kind() == reflect.Bool {
		return b.condition(n)
	}
	if n.fnext().p != nil || n.findex() < 0 {
		refuse()
	}
	switch n.kind() {
	case "binaryExpr", "unaryExpr", "callExpr":
	case "indexExpr", "selectorExpr", "starExpr":
		// The interpreter puts the variable itself into the slot, for whoever
		// wants its address.
		refuse()
	}
	dest := variableOf(n.level(), n.findex(), t)
	store := b.stored(dest.target(), t.Kind(), n)
	if b.after == n || len(b.ops) == 0 {
		refuse()
	}
	if dest.level == 0 && t.Size() == 8 && isIn(t.Kind(), integerKinds) {
		return b.wordStored(dest)
	}
	return store
}

// condition fuses an expression of a boolean type, which may decide where to go.
func (b *fuser) condition(n node) stepMaker {
	x := b.boolean(n)
	if b.after == n || n.kind() == "indexExpr" || n.kind() == "selectorExpr" || n.kind() == "starExpr" {
		refuse()
	}
	branches := n.fnext().p != nil
	if k := n.parent().kind(); branches && (len(k) > 2 && k[:2] == "if" || len(k) > 3 && k[:3] == "for") {
		return func(slow, then, otherwise step) step {
			return func(p unsafe.Pointer) step {
				switch v, ok := x((*runFrame)(p)); {
				case !ok:
					return slow(p)
				case v:
					return then
				}
				return otherwise
			}
		}
	}
	if n.kind() == "identExpr" || n.findex() < 0 {
		refuse()
	}
	at := variableOf(n.level(), n.findex(), typeOf(n)).target()
	return func(slow, then, otherwise step) step {
		return func(p unsafe.Pointer) step {
			f := (*runFrame)(p)
			v, ok := x(f)
			d := at(f)
			if !ok || d == nil {
				return slow(p)
			}
			*(*bool)(d) = v
			if branches && !v {
				return otherwise
			}
			return then
		}
	}
}

// stored returns the step that puts the value of n, of a kind, at a place.
func (b *fuser) stored(at place, k reflect.Kind, n node) stepMaker {
	b.last = integer{}
	if k == reflect.Interface && b.wanted == nil {
		refuse()
	}
	switch {
	case isIn(k, integerKinds):
		x := b.integerAs(n, k)
		b.last = x
		return storeInteger(at, x.f, k)
	case k == reflect.Float64:
		x := b.float(n)
		return func(slow, then, _ step) step {
			return func(p unsafe.Pointer) step {
				f := (*runFrame)(p)
				v, ok := x(f)
				d := at(f)
				if !ok || d == nil {
					return slow(p)
				}
				*(*float64)(d) = v
				return then
			}
		}
	case k == reflect.Bool:
		x := b.boolean(n)
		return func(slow, then, _ step) step {
			return func(p unsafe.Pointer) step {
				f := (*runFrame)(p)
				v, ok := x(f)
				d := at(f)
				if !ok || d == nil {
					return slow(p)
				}
				*(*bool)(d) = v
				return then
			}
		}
	case k == reflect.String:
		x := b.text(n)
		return func(slow, then, _ step) step {
			return func(p unsafe.Pointer) step {
				f := (*runFrame)(p)
				v, ok := x(f)
				d := at(f)
				if !ok || d == nil {
					return slow(p)
				}
				*(*string)(d) = v
				return then
			}
		}
	case k == reflect.Slice:
		return copied[[]byte](b, at, n, k)
	case k == reflect.Interface:
		if isConstant(n) || typeOf(n) != b.wanted {
			refuse() // the value is not an interface yet
		}
		return copied[[2]unsafe.Pointer](b, at, n, k)
	case k == reflect.Pointer, k == reflect.Chan, k == reflect.Map:
		return copied[unsafe.Pointer](b, at, n, k)
	}
	refuse()
	return nil
}

// copied returns the step that copies the variable n, of a kind whose values have
// the layout of T, to a place.
func copied[T any](b *fuser, at place, n node, k reflect.Kind) stepMaker {
	if isConstant(n) || typeOf(n).Kind() != k {
		refuse()
	}
	from, _ := b.addressed(n)
	return func(slow, then, _ step) step {
		return func(p unsafe.Pointer) step {
			f := (*runFrame)(p)
			s, d := from(f), at(f)
			if s == nil || d == nil {
				return slow(p)
			}
			*(*T)(d) = *(*T)(s)
			return then
		}
	}
}

func storeInteger(at place, x func(*runFrame) (int64, bool), k reflect.Kind) stepMaker {
	store := storers[reflectSize[k]]
	if reflectSize[k] == 8 {
		return func(slow, then, _ step) step {
			return func(p unsafe.Pointer) step {
				f := (*runFrame)(p)
				v, ok := x(f)
				d := at(f)
				if !ok || d == nil {
					return slow(p)
				}
				*(*int64)(d) = v
				return then
			}
		}
	}
	return func(slow, then, _ step) step {
		return func(p unsafe.Pointer) step {
			f := (*runFrame)(p)
			v, ok := x(f)
			d := at(f)
			if !ok || d == nil {
				return slow(p)
			}
			store(d, v)
			return then
		}
	}
}

// reflectSize is the size of the integers of a kind.
var reflectSize = map[reflect.Kind]uintptr{
	reflect.Int: 8, reflect.Int8: 1, reflect.Int16: 2, reflect.Int32: 4, reflect.Int64: 8,
	reflect.Uint: 8, reflect.Uint8: 1, reflect.Uint16: 2, reflect.Uint32: 4, reflect.Uint64: 8, reflect.Uintptr: 8,
}

// wordStored returns the step that puts the integer fused last into a variable of
// eight bytes of the frame itself.
func (b *fuser) wordStored(dest variable) stepMaker {
	x, i, t := b.last.f, dest.index, dest.word
	return func(slow, then, _ step) step {
		return func(p unsafe.Pointer) step {
			f := (*runFrame)(p)
			v, ok := x(f)
			d := target0(f, i, t)
			if !ok || d == nil {
				return slow(p)
			}
			*(*int64)(d) = v
			return then
		}
	}
}

// assignment fuses an assignment, also one with an operator, and the declaration
// of a variable.
func (b *fuser) assignment(n node) stepMaker {
	c := n.children()
	if c[0].ident() == "_" || n.fnext().p != nil {
		refuse()
	}
	switch op := n.action(); {
	case n.kind() == "assignStmt" && len(op) > 1 && op != "==":
		if len(c) != 2 {
			refuse()
		}
		return b.operated(n, c[0], op[:len(op)-1], c[1])
	case n.kind() == "defineStmt" && n.nright() == 0 && len(c) == 2:
		return b.zeroed(n, c[0], c[1])
	case op == "=" && n.nright() > 1 && len(c) == 2*n.nright():
		return b.tuple(n, c[:n.nright()], c[n.nright():])
	case op != "=" || n.nright() != 1 || len(c) != 2 && !(n.kind() == "defineStmt" && len(c) == 3 && c[1].kind() == "identExpr"):
		refuse()
	}
	src := c[len(c)-1]
	if n.kind() == "defineStmt" {
		if c[0].kind() != "identExpr" || b.def.p == nil || b.shared[frameSlot{b.def, n.findex()}] || n.level() != 0 || !declaredHere(n, c[0]) {
			refuse()
		}
		v := variableOf(0, n.findex(), typeOf(c[0]))
		return b.assigned(n, v.target(), v.typ, src, &v)
	}
	if c[0].kind() == "identExpr" {
		v := slotOf(c[0])
		return b.assigned(n, v.target(), v.typ, src, &v)
	}
	if k := c[0].kind(); k != "indexExpr" && k != "selectorExpr" && k != "starExpr" {
		refuse()
	}
	at, t := b.addressed(c[0])
	if b.after.p != nil {
		refuse()
	}
	return b.assigned(n, at, t, src, nil)
}

// zeroed fuses the declaration of a variable without a value.
func (b *fuser) zeroed(n, x, typ node) stepMaker {
	if x.kind() != "identExpr" || b.def.p == nil || b.shared[frameSlot{b.def, n.findex()}] || n.level() != 0 || !declaredHere(n, x) {
		refuse()
	}
	v := variableOf(0, n.findex(), typeOf(x))
	if k := v.typ.Kind(); k == reflect.Struct || k == reflect.Array || k == reflect.Func {
		refuse() // parts of it may be kept
	}
	switch typ.kind() {
	case "arrayType", "chanType", "chanTypeRecv", "chanTypeSend", "mapType":
	default:
		b.typeOperand(typ)
	}
	b.ran(n)
	at, i := v.target(), v.index
	return func(slow, then, _ step) step {
		return func(p unsafe.Pointer) step {
			f := (*runFrame)(p)
			if at(f) == nil {
				return slow(p)
			}
			f.data[i].SetZero()
			return then
		}
	}
}

// declaredHere reports whether x is the variable that n declares.
func declaredHere(n, x node) bool { return n.findex() >= 0 && n.findex() == x.findex() }

// assigned fuses the assignment of src to what is at a place, or in a variable.
func (b *fuser) assigned(n node, at place, t reflect.Type, src node, v *variable) stepMaker {
	if v != nil && t.Kind() == reflect.String && n.kind() == "assignStmt" && src.kind() == "binaryExpr" && !isConstant(src) {
		// s = s + x is s += x.
		if c := src.children(); c[0].kind() == "identExpr" && !isConstant(c[0]) && slotOf(c[0]) == *v {
			right := b.text(c[1])
			b.ran(src)
			b.ran(n)
			return appendText(at, right)
		}
	}
	b.wanted = t
	store := b.stored(at, t.Kind(), src)
	if b.after == src && n.kind() == "assignStmt" {
		refuse() // the interpreter has put the value there already
	}
	b.ran(n)
	if v != nil && v.level == 0 && t.Size() == 8 && isIn(t.Kind(), integerKinds) {
		return b.wordStored(*v)
	}
	return store
}

// operated fuses x op= y.
func (b *fuser) operated(n, x node, op string, y node) stepMaker {
	var at place
	var t reflect.Type
	var local *variable
	if x.kind() == "identExpr" {
		v := slotOf(x)
		at, t = v.target(), v.typ
		if v.level == 0 {
			local = &v
		}
	} else {
		if k := x.kind(); k != "indexExpr" && k != "selectorExpr" && k != "starExpr" {
			refuse()
		}
		if at, t = b.addressed(x); b.after.p != nil {
			refuse()
		}
	}
	k := t.Kind()
	switch {
	case isIn(k, integerKinds):
		var right integer
		if op == "<<" || op == ">>" {
			if right = b.integer(y); isIn(right.kind, wideUnsigned) && !right.fixed {
				right.f, right.local = capped(right.f), nil
			}
		} else {
			right = b.integerAs(y, k)
		}
		b.ran(n)
		if local != nil && t.Size() == 8 {
			if op == "+" {
				return addedTo(local, right)
			}
			left := integer{f: loadInteger(local.place(), k), kind: k, local: local}
			b.last = narrow(binaryInteger(op, left, right, isIn(k, wideUnsigned)), k)
			return b.wordStored(*local)
		}
		return changeInteger(at, op, right, k)
	case k == reflect.Float64:
		right := b.float(y)
		b.ran(n)
		return changeFloat(at, op, right)
	case k == reflect.String && op == "+":
		right := b.text(y)
		b.ran(n)
		return appendText(at, right)
	}
	refuse()
	return nil
}

// addedTo returns the step of x += y for a variable of eight bytes of the frame
// itself.
func addedTo(x *variable, y integer) stepMaker {
	i, t, right := x.index, x.word, y.f
	return func(slow, then, _ step) step {
		return func(p unsafe.Pointer) step {
			f := (*runFrame)(p)
			v, ok := right(f)
			d := target0(f, i, t)
			if d == nil || !ok {
				return slow(p)
			}
			*(*int64)(d) += v
			return then
		}
	}
}

// changeInteger returns the step of x op= y for the integer at a place.
func changeInteger(at place, op string, y integer, k reflect.Kind) stepMaker {
	if reflectSize[k] == 8 && (op == "+" || op == "-") {
		right := y.f
		if op == "-" {
			right = func(f *runFrame) (int64, bool) { v, ok := y.f(f); return -v, ok }
		}
		return func(slow, then, _ step) step {
			return func(p unsafe.Pointer) step {
				f := (*runFrame)(p)
				d := at(f)
				v, ok := right(f)
				if d == nil || !ok {
					return slow(p)
				}
				*(*int64)(d) += v
				return then
			}
		}
	}
	x := narrow(binaryInteger(op, integer{f: loadInteger(at, k), kind: k}, y, isIn(k, wideUnsigned)), k)
	return storeInteger(at, x.f, k)
}

// changeFloat returns the step of x op= y for the float64 at a place.
func changeFloat(at place, op string, y float) stepMaker {
	var do func(x *float64, y float64)
	switch op {
	case "+":
		return func(slow, then, _ step) step {
			return func(p unsafe.Pointer) step {
				f := (*runFrame)(p)
				d := at(f)
				v, ok := y(f)
				if d == nil || !ok {
					return slow(p)
				}
				*(*float64)(d) += v
				return then
			}
		}
	case "-":
		do = func(x *float64, y float64) { *x -= y }
	case "*":
		do = func(x *float64, y float64) { *x *= y }
	case "/":
		do = func(x *float64, y float64) { *x /= y }
	default:
		refuse()
	}
	return func(slow, then, _ step) step {
		return func(p unsafe.Pointer) step {
			f := (*runFrame)(p)
			d := at(f)
			v, ok := y(f)
			if d == nil || !ok {
				return slow(p)
			}
			do((*float64)(d), v)
			return then
		}
	}
}

// change fuses x++ and x--.
func (b *fuser) change(n node) stepMaker {
	x := n.children()[0]
	by := int64(1)
	if n.action() == "--" {
		by = -1
	}
	one := integer{f: func(*runFrame) (int64, bool) { return by, true }, fixed: true, c: by}
	if x.kind() == "identExpr" {
		v := slotOf(x)
		one.kind = v.typ.Kind()
		if !isIn(one.kind, integerKinds) {
			refuse()
		}
		b.ran(n)
		if v.level == 0 && v.typ.Size() == 8 {
			i, t := v.index, v.word
			return func(slow, then, _ step) step {
				return func(p unsafe.Pointer) step {
					d := target0((*runFrame)(p), i, t)
					if d == nil {
						return slow(p)
					}
					*(*int64)(d) += by
					return then
				}
			}
		}
		return changeInteger(v.target(), "+", one, one.kind)
	}
	if k := x.kind(); k != "indexExpr" && k != "selectorExpr" && k != "starExpr" {
		refuse()
	}
	at, t := b.addressed(x)
	if one.kind = t.Kind(); !isIn(one.kind, integerKinds) || b.after.p != nil {
		refuse()
	}
	b.ran(n)
	return changeInteger(at, "+", one, one.kind)
}

// result fuses a return statement with one operand.
func (b *fuser) result(n node) stepMaker {
	c := n.children()
	if len(c) != 1 {
		refuse()
	}
	def := functionOfReturn(n)
	if def.p == nil || len(def.types()) == 0 || len(def.typ().results()) != 1 {
		refuse()
	}
	v := variableOf(0, 0, def.types()[0])
	store := b.stored(v.target(), v.typ.Kind(), c[0])
	if b.after == c[0] || len(b.ops) > 0 && b.ops[len(b.ops)-1] == c[0] && c[0].kind() == "binaryExpr" {
		refuse() // the operand itself is fused, with the result for its slot
	}
	b.ran(n)
	return func(slow, _, _ step) step { return store(slow, nil, nil) }
}

// functionOfReturn returns the function that a return statement is in.
func functionOfReturn(n node) node {
	v := reflect.ValueOf(n.val())
	if v.Kind() != reflect.Pointer || v.Type() != nodePointer {
		return node{}
	}
	return node{v.UnsafePointer()}
}
