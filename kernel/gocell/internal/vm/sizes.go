package vm

import (
	"reflect"
	"unsafe"
)

// The steps that make strings and slices grow in a cell are compared with the
// memory that there is before they allocate: a system that has promised more
// memory than it has would kill the process while it is filled.

// guardSize returns a generator whose step panics where it would allocate more
// memory than there is; for nodes that do not grow a string or a slice it
// returns their own.
func (m *Machine) guardSize(n node, gen func(unsafe.Pointer)) func(unsafe.Pointer) {
	var guard func(n node, run step) step
	switch c := n.children(); {
	case n.kind() == "callExpr" && n.parent().p != nil && n.parent().kind() == "goStmt":
		guard = m.countGoroutine
	case n.kind() == "callExpr" && len(c) > 2 && c[0].ident() == "make":
		guard = m.guardMake
	case n.kind() == "callExpr" && len(c) > 2 && c[0].ident() == "append":
		guard = m.guardAppend
	case len(c) == 2 && (n.kind() == "binaryExpr" && n.action() == "+" || n.kind() == "assignStmt" && n.action() == "+="):
		guard = m.guardConcat
	case len(c) == 2 && n.kind() == "callExpr" && !callsFunction(n):
		guard = m.guardConversion
	default:
		return gen
	}
	return func(p unsafe.Pointer) {
		gen(p)
		if e := (node{p}).exec(); *e != nil {
			*e = guard(node{p}, *e)
		}
	}
}

// kindOf returns the kind of a node's values, Invalid where it has none.
func kindOf(n node) reflect.Kind {
	if t := n.typ(); t.p != nil {
		if r := t.reflected(); r != nil {
			return r.Kind()
		}
	}
	return reflect.Invalid
}

// need panics at a node that would allocate too much.
func (m *Machine) need(n node, f unsafe.Pointer, what string, bytes float64) {
	if err := m.Lacks(what, bytes); err != nil {
		callsIn((*runFrame)(f), currentG()).failed(n)
		m.pass(n, f, true)
		m.contain((*runFrame)(f))
		panic(err)
	}
}

// lenOf returns the length of a string or a slice, 0 for other values.
func lenOf(v reflect.Value) int {
	if k := v.Kind(); k == reflect.String || k == reflect.Slice {
		return v.Len()
	}
	return 0
}

// countGoroutine counts the stack of a goroutine that a cell starts.
func (m *Machine) countGoroutine(_ node, run step) step {
	const stack = 8 << 10 // bytes, at least
	return func(f unsafe.Pointer) step {
		m.spend(stack)
		return run(f)
	}
}

func (m *Machine) guardAppend(n node, run step) step {
	c := n.children()
	to, last := genValue(c[1].p), genValue(c[len(c)-1].p)
	return func(f unsafe.Pointer) step {
		// Most slices are small: their element's size need not be known.
		const small = 1 << 16
		v, more := to(f), lenOf(last(f))
		if len(c) > 3 {
			more = len(c) - 2
		}
		if size := lenOf(v) + max(more, 1); size > small && size > v.Cap() {
			m.need(n, f, "append", 1.25*float64(size)*float64(v.Type().Elem().Size()))
		}
		return run(f)
	}
}

func (m *Machine) guardConcat(n node, run step) step {
	c := n.children()
	if kindOf(c[0]) != reflect.String {
		return run
	}
	a, b := genValue(c[0].p), genValue(c[1].p)
	return func(f unsafe.Pointer) step {
		if size := lenOf(a(f)) + lenOf(b(f)); size >= smallSize {
			m.need(n, f, "the string", float64(size))
		}
		return run(f)
	}
}

func (m *Machine) guardConversion(n node, run step) step {
	operand := n.children()[1]
	each := 1.0
	switch to, of := kindOf(n), kindOf(operand); {
	case to == reflect.String && of == reflect.Slice:
	case to == reflect.Slice && of == reflect.String:
		each = float64(n.typ().reflected().Elem().Size())
	default:
		return run
	}
	from := genValue(operand.p)
	return func(f unsafe.Pointer) step {
		if size := lenOf(from(f)); size >= smallSize {
			m.need(n, f, "the conversion", each*float64(size))
		}
		return run(f)
	}
}
