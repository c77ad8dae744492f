package vm

import (
	"reflect"
	"unsafe"
)

// loopVariable fuses the step that gives a round of a range loop its own copy of
// a variable: where nothing keeps that of the last round, it serves again.
func (b *fuser) loopVariable(n node) (unit, bool) {
	loop := n.parent().parent()
	from := loop.children()[0]
	if codeOf(*n.gen()) == codeOf(loopVarVal) {
		from = loop.children()[1]
	}
	t := n.typ()
	if b.def.p == nil || b.shared[frameSlot{b.def, n.findex()}] || t.p == nil || t.reflected() == nil || t.reflected().Kind() == reflect.Array {
		return unit{}, false
	}
	typ := variableOf(0, 0, t.reflected()).word
	to, at := n.findex(), from.findex()
	return unit{entry: n, exit: n, step: func(slow, then, _ step) step {
		return func(p unsafe.Pointer) step {
			f := (*runFrame)(p)
			if target0(f, to, typ) == nil || at0(f, at, typ) == nil {
				return slow(p)
			}
			set(&f.data[to], f.data[at])
			return then
		}
	}}, true
}

// ranged fuses the step that begins a round of a range loop over a slice.
func (b *fuser) ranged(n node) (unit, bool) {
	c := n.children()
	of := c[len(c)-2].typ()
	if len(c) != 3 && len(c) != 4 || of.p == nil || of.untyped() || of.reflected() == nil || of.reflected().Kind() != reflect.Slice {
		return unit{}, false
	}
	list, number := variableOf(0, 0, of.reflected()), variableOf(0, 0, reflect.TypeFor[int]()).word
	index := c[0].findex()
	element := variableOf(0, -1, of.reflected().Elem())
	if len(c) == 4 && c[1].ident() != "_" {
		element.index = c[1].findex()
	}
	size, assign := element.typ.Size(), copier(element.typ)
	round := func(slow, then, otherwise step) step {
		return func(p unsafe.Pointer) step {
			f := (*runFrame)(p)
			// The interpreter keeps the slice in the slot before the index.
			h, i := (*header)(at0(f, index-1, list.word)), (*int)(target0(f, index, number))
			if h == nil || i == nil {
				return slow(p)
			}
			k := *i + 1
			if uint(k) >= uint(h.len) {
				*i = k
				return otherwise
			}
			if element.index >= 0 {
				d := target0(f, element.index, element.word)
				if d == nil {
					return slow(p)
				}
				assign(d, unsafe.Add(h.data, uintptr(k)*size))
			}
			*i = k
			return then
		}
	}
	return unit{entry: n, patch: func() {
		run, first := n.exec(), c[0].exec()
		if *first == nil || n.fnext().p == nil {
			return
		}
		fast := round(*run, getExec(n.tnext().p), getExec(n.fnext().p))
		// The loop is entered by way of its first child, which goes on to the
		// interpreter's step.
		start := *first
		*run, *first = fast, func(p unsafe.Pointer) step {
			start(p)
			return fast
		}
	}}, true
}

// copier returns what copies a value of type t from one place to another.
func copier(t reflect.Type) func(to, from unsafe.Pointer) {
	switch k := t.Kind(); {
	case isIn(k, words):
		return func(to, from unsafe.Pointer) { *(*uint64)(to) = *(*uint64)(from) }
	case k == reflect.Bool || k == reflect.Uint8 || k == reflect.Int8:
		return func(to, from unsafe.Pointer) { *(*uint8)(to) = *(*uint8)(from) }
	case k == reflect.String:
		return func(to, from unsafe.Pointer) { *(*string)(to) = *(*string)(from) }
	case k == reflect.Slice:
		return func(to, from unsafe.Pointer) { *(*[]byte)(to) = *(*[]byte)(from) }
	case k == reflect.Pointer:
		return func(to, from unsafe.Pointer) { *(*unsafe.Pointer)(to) = *(*unsafe.Pointer)(from) }
	}
	return func(to, from unsafe.Pointer) { reflect.NewAt(t, to).Elem().Set(reflect.NewAt(t, from).Elem()) }
}
