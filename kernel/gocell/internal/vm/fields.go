package vm

import (
	"reflect"
	"unsafe"

	"dace.local/kernel/gocell/rtype"
)

// The interpreter reads and sets fields by package reflect, which refuses to set
// an unexported field or to pass its value on. Cells may do so with the fields of
// their own types: the steps that select a field and that make a struct are ours.

// fieldSteps returns our generator for a node whose generator gen is one of the
// interpreter's for fields; nil for other nodes.
func (m *Machine) fieldSteps(gen func(unsafe.Pointer)) func(node) step {
	switch codeOf(gen) {
	case codeOf(getIndexSeq), codeOf(getPtrIndexSeq), codeOf(getIndexSeqField):
		return m.selectField
	case codeOf(compositeBinStruct):
		return func(n node) step { return makeStruct(n, n.children()[1:]) }
	case codeOf(compositeBinStructNotype):
		return func(n node) step { return makeStruct(n, n.children()) }
	}
	return nil
}

// selectsField reports whether a generator is one of the interpreter's for
// selectors of fields.
func selectsField(gen func(unsafe.Pointer)) bool {
	code := codeOf(gen)
	return code == codeOf(getIndexSeq) || code == codeOf(getPtrIndexSeq) || code == codeOf(getIndexSeqField)
}

// selectField returns the step of a selector: the field of a struct, or of what
// a pointer to one points to.
func (m *Machine) selectField(n node) step {
	of, path := genValue(n.children()[0].p), n.val().([]int)
	dest, level := n.findex(), n.level()
	then := getExec(n.tnext().p)
	var otherwise step
	if e := n.fnext(); e.p != nil {
		otherwise = getExec(e.p)
	}
	keep := func(f unsafe.Pointer, v reflect.Value) step {
		v = rtype.Open(v)
		getFrame(f, level).data[dest] = v
		if otherwise != nil && !v.Bool() {
			return otherwise
		}
		return then
	}
	guarded := m.guardStep(n, func(f unsafe.Pointer) step {
		v := of(f)
		if v.Kind() == reflect.Pointer {
			v = v.Elem()
		}
		return keep(f, v.FieldByIndex(path))
	})
	if len(path) > 1 {
		return guarded
	}
	i := path[0]
	return func(f unsafe.Pointer) step {
		v := of(f)
		if v.Kind() == reflect.Pointer {
			v = v.Elem()
		}
		if v.Kind() != reflect.Struct {
			return guarded(f)
		}
		return keep(f, v.Field(i))
	}
}

// makeStruct returns the step of a composite literal of a struct.
func makeStruct(n node, elements []node) step {
	typ := n.typ()
	if c := typ.cat(); c == "ptrT" || c == "linkedT" {
		typ = typ.val()
	}
	t := typ.rtype()
	type element struct {
		field []int
		value func(unsafe.Pointer) reflect.Value
	}
	list := make([]element, len(elements))
	for i, x := range elements {
		f := reflect.StructField{}
		if x.kind() == "keyValueExpr" {
			kv := x.children()
			f, _ = t.FieldByName(kv[0].ident())
			x = kv[1]
		} else {
			f = t.Field(i)
		}
		convertLiteralValue(x.p, f.Type)
		value := genValue(x.p)
		if isFuncSrc(x.typ().p) {
			value = genFunctionWrapper(x.p)
		}
		list[i] = element{f.Index, value}
	}
	next, dest, level := getExec(n.tnext().p), n.findex(), n.level()
	return func(f unsafe.Pointer) step {
		v := reflect.New(t).Elem()
		for _, e := range list {
			rtype.Open(v.FieldByIndex(e.field)).Set(e.value(f))
		}
		data := getFrame(f, level).data
		if d := data[dest]; d.Kind() == reflect.Pointer {
			d.Set(v.Addr())
		} else {
			data[dest] = v
		}
		return next
	}
}
