package gocell

import (
	"reflect"
	"unsafe"

	"dace.local/kernel/gocell/rtype"
)

// The interpreter uses fields by package reflect, which lets nobody set or hand
// on one that is not exported. Cells may use those of their types: the steps
// that select a field and that make a struct are ours.

//go:linkname getIndexSeq github.com/traefik/yaegi/interp.getIndexSeq
func getIndexSeq(n unsafe.Pointer)

//go:linkname getPtrIndexSeq github.com/traefik/yaegi/interp.getPtrIndexSeq
func getPtrIndexSeq(n unsafe.Pointer)

//go:linkname getIndexSeqField github.com/traefik/yaegi/interp.getIndexSeqField
func getIndexSeqField(n unsafe.Pointer)

//go:linkname compositeBinStruct github.com/traefik/yaegi/interp.compositeBinStruct
func compositeBinStruct(n unsafe.Pointer)

//go:linkname compositeBinStructNotype github.com/traefik/yaegi/interp.compositeBinStructNotype
func compositeBinStructNotype(n unsafe.Pointer)

// convertLiteralValue makes a literal one of a type.
//
//go:linkname convertLiteralValue github.com/traefik/yaegi/interp.convertLiteralValue
func convertLiteralValue(n unsafe.Pointer, t reflect.Type)

// isFuncSrc reports whether a type of the interpreter is a function's.
//
//go:linkname isFuncSrc github.com/traefik/yaegi/interp.isFuncSrc
func isFuncSrc(t unsafe.Pointer) bool

// genFunctionWrapper returns how a function is made a value of package reflect.
//
//go:linkname genFunctionWrapper github.com/traefik/yaegi/interp.genFunctionWrapper
func genFunctionWrapper(n unsafe.Pointer) func(frame unsafe.Pointer) reflect.Value

// getFrame returns the frame so many levels above.
//
//go:linkname getFrame github.com/traefik/yaegi/interp.getFrame
func getFrame(f unsafe.Pointer, level int) *runFrame

// fieldSteps returns what makes the step of a node that uses fields, in place
// of the interpreter's gen; nil for other nodes.
func (s *Session) fieldSteps(gen func(unsafe.Pointer)) func(node) step {
	switch reflect.ValueOf(gen).Pointer() {
	case reflect.ValueOf(getIndexSeq).Pointer(), reflect.ValueOf(getPtrIndexSeq).Pointer(), reflect.ValueOf(getIndexSeqField).Pointer():
		return s.selectField
	case reflect.ValueOf(compositeBinStruct).Pointer():
		return func(n node) step { return makeStruct(n, n.children()[1:]) }
	case reflect.ValueOf(compositeBinStructNotype).Pointer():
		return func(n node) step { return makeStruct(n, n.children()) }
	}
	return nil
}

// selectField returns the step of a selector: the field of a struct, or of what
// a pointer to one points to.
func (s *Session) selectField(n node) step {
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
	guarded := s.guardStep(n, func(f unsafe.Pointer) step {
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
