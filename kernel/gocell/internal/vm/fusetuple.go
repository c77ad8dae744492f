package vm

import (
	"math"
	"reflect"
	"unsafe"
)

// maxTuple is the number of values that a fused tuple assignment may have.
const maxTuple = 3

// A target is where a tuple assignment puts a value.
type target struct {
	at    place
	value func(*runFrame) (uint64, bool)
	store func(unsafe.Pointer, int64)
}

// tuple fuses a tuple assignment of numbers and booleans: x, y = y, x.
func (b *fuser) tuple(n node, left, right []node) stepMaker {
	if len(left) > maxTuple {
		refuse()
	}
	list := make([]target, len(left))
	kinds := make([]reflect.Kind, len(left))
	for i, x := range left {
		var t reflect.Type
		list[i].at, t = b.targetOf(n, x)
		kinds[i] = t.Kind()
		list[i].store = storers[t.Size()]
	}
	for i, x := range right {
		list[i].value = b.bits(x, kinds[i])
	}
	if b.after.p != nil {
		refuse()
	}
	b.ran(n)
	if len(list) == 2 {
		return pair(list[0], list[1])
	}
	return func(slow, then, _ step) step {
		return func(p unsafe.Pointer) step {
			f := (*runFrame)(p)
			var values [maxTuple]uint64
			var at [maxTuple]unsafe.Pointer
			for i := range list {
				var ok bool
				if values[i], ok = list[i].value(f); !ok {
					return slow(p)
				}
				if at[i] = list[i].at(f); at[i] == nil {
					return slow(p)
				}
			}
			for i := range list {
				list[i].store(at[i], int64(values[i]))
			}
			return then
		}
	}
}

// pair is the step of a tuple assignment of two values.
func pair(x, y target) stepMaker {
	return func(slow, then, _ step) step {
		return func(p unsafe.Pointer) step {
			f := (*runFrame)(p)
			v, ok := x.value(f)
			w, ok2 := y.value(f)
			d, e := x.at(f), y.at(f)
			if !ok || !ok2 || d == nil || e == nil {
				return slow(p)
			}
			x.store(d, int64(v))
			y.store(e, int64(w))
			return then
		}
	}
}

// targetOf returns where an operand on the left of a tuple assignment is, or the
// variable that it declares.
func (b *fuser) targetOf(n, x node) (place, reflect.Type) {
	switch {
	case x.ident() == "_":
		refuse()
	case n.kind() == "defineStmt":
		if x.kind() != "identExpr" || b.def.p == nil || b.shared[frameSlot{b.def, x.findex()}] || x.level() != 0 || x.findex() < 0 || x.redeclared() {
			refuse()
		}
		v := variableOf(0, x.findex(), typeOf(x))
		return v.target(), v.typ
	case x.kind() == "identExpr":
		v := slotOf(x)
		return v.target(), v.typ
	case x.kind() == "indexExpr" || x.kind() == "selectorExpr" || x.kind() == "starExpr":
		at, t := b.addressed(x)
		return at, t
	}
	refuse()
	return nil, nil
}

// bits fuses an expression of a kind of numbers, or of a boolean type, whose value
// is wanted as the bits that it has in memory.
func (b *fuser) bits(n node, k reflect.Kind) func(*runFrame) (uint64, bool) {
	switch {
	case isIn(k, integerKinds):
		x := b.integerAs(n, k).f
		return func(f *runFrame) (uint64, bool) { v, ok := x(f); return uint64(v), ok }
	case k == reflect.Float64:
		x := b.float(n)
		return func(f *runFrame) (uint64, bool) { v, ok := x(f); return math.Float64bits(v), ok }
	case k == reflect.Bool:
		x := b.boolean(n)
		return func(f *runFrame) (uint64, bool) {
			v, ok := x(f)
			if v {
				return 1, ok
			}
			return 0, ok
		}
	}
	refuse()
	return nil
}
