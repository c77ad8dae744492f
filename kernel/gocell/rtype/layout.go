package rtype

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"unsafe"

	"dace.local/kernel/buildinfo"
)

// Another Go may lay out its descriptors differently. As the process starts, the
// layout that is written down here is compared with this Go's own: with the types
// that package reflect itself uses, with descriptors that the compiler made, and
// with what package reflect then says of types that are made here. A Go that
// differs is refused.

func init() {
	if err := errors.Join(checkLayouts(layouts(), mapType), checkCompiled()); err != nil {
		buildinfo.Refuse(err)
	}
	// The run time takes offset -1, the first that it returns, for unreachable
	// code.
	addReflectOff(unsafe.Pointer(new(int)))
	if err := checkMade(); err != nil {
		buildinfo.Refuse(err)
	}
}

// abiType is the run time's type of a descriptor's header, nil if it is not found.
var abiType = func() reflect.Type {
	t := reflect.TypeOf(reflect.TypeFor[int]()).Elem()
	if t.Kind() != reflect.Struct || t.NumField() == 0 {
		return nil
	}
	return t.Field(0).Type
}()

// mapType is the run time's type of a map's descriptor. It is used as it is: each
// Go has other fields there, and none of them is changed here.
var mapType = resultOf(abiType, "MapType")

// resultOf returns the type that the result of a method of *t points to, or the
// type of its elements; nil if there is no such method.
func resultOf(t reflect.Type, method string) reflect.Type {
	if t == nil {
		return nil
	}
	m, ok := reflect.PointerTo(t).MethodByName(method)
	if !ok || m.Type.NumOut() != 1 || m.Type.Out(0).Kind() != reflect.Pointer && m.Type.Out(0).Kind() != reflect.Slice {
		return nil
	}
	return m.Type.Out(0).Elem()
}

// fieldOf returns the type of the elements of a field of a struct type; nil if
// there is no such field.
func fieldOf(t reflect.Type, field string) reflect.Type {
	if t == nil || t.Kind() != reflect.Struct {
		return nil
	}
	f, ok := t.FieldByName(field)
	if !ok || f.Type.Kind() != reflect.Slice {
		return nil
	}
	return f.Type.Elem()
}

// A layout is a type of this package, and the one of the run time that it repeats.
type layout struct {
	name         string
	ours, theirs reflect.Type
}

// layouts lists the types of this package whose originals package reflect refers
// to in every Go. Channels, pointers and slices have none: checkCompiled is for
// these too.
func layouts() []layout {
	inter, struc, un := resultOf(abiType, "InterfaceType"), resultOf(abiType, "StructType"), resultOf(abiType, "Uncommon")
	return []layout{
		{"Type", reflect.TypeFor[header](), abiType},
		{"UncommonType", reflect.TypeFor[uncommon](), un},
		{"Method", reflect.TypeFor[method](), resultOf(un, "Methods")},
		{"ArrayType", reflect.TypeFor[arrayType](), resultOf(abiType, "ArrayType")},
		{"FuncType", reflect.TypeFor[funcType](), resultOf(abiType, "FuncType")},
		{"InterfaceType", reflect.TypeFor[interfaceType](), inter},
		{"Imethod", reflect.TypeFor[imethod](), fieldOf(inter, "Methods")},
		{"StructType", reflect.TypeFor[structType](), struc},
		{"StructField", reflect.TypeFor[structField](), fieldOf(struc, "Fields")},
		{"Value", reflect.TypeFor[struct { // as Raw
			typ, ptr unsafe.Pointer
			flag     uintptr
		}](), reflect.TypeFor[reflect.Value]()},
	}
}

// checkLayouts compares the types of a list field by field. mapType must begin
// with a header.
func checkLayouts(list []layout, mapType reflect.Type) error {
	var errs []error
	for _, l := range list {
		errs = append(errs, l.check())
	}
	if mapType == nil || mapType.Kind() != reflect.Struct || mapType.NumField() == 0 || mapType.Field(0).Type != abiType {
		errs = append(errs, errors.New("there is no descriptor of maps"))
	}
	return errors.Join(errs...)
}

// check returns an error where the fields differ in name, place or size.
func (l layout) check() error {
	if l.theirs == nil || l.theirs.Kind() != reflect.Struct {
		return fmt.Errorf("there is no %s", l.name)
	}
	if a, b := l.theirs.NumField(), l.ours.NumField(); a != b {
		return fmt.Errorf("%s has %d fields, not %d", l.name, a, b)
	}
	for i := range l.ours.NumField() {
		a, b := l.theirs.Field(i), l.ours.Field(i)
		same := a.Anonymous && b.Anonymous || strings.EqualFold(strings.Trim(a.Name, "_"), strings.Trim(b.Name, "_"))
		if !same || a.Offset != b.Offset || a.Type.Size() != b.Type.Size() {
			return fmt.Errorf("field %d of %s is %s at %d with %d bytes, not %s at %d with %d", i, l.name,
				a.Name, a.Offset, a.Type.Size(), b.Name, b.Offset, b.Type.Size())
		}
	}
	return nil
}

// Types of each kind, as the compiler makes their descriptors.
type (
	aBool   bool
	anArray [3]string
	aChan   <-chan int
	aFunc   func(int, ...string) error
	anInter interface {
		Error() string
		hidden(int)
	}
	aMap     map[string]int32
	aPointer *aStruct
	aSlice   []*int
	aStruct  struct {
		A int `key:"value"`
		b string
		aBool
		_ func()
	}
	aWord  struct{ p *int }
	aLarge struct {
		p [1 << 16]*int
		_ []int
	}
)

// String is a method in the descriptors of aStruct and its pointer type.
func (aStruct) String() string { return "aStruct" }

var (
	_    fmt.Stringer = (*aStruct)(nil)
	_, _              = aStruct{}.b, aStruct{}.aBool
	_                 = aWord{}.p
	_                 = aLarge{}.p
)

// compiled lists types with the flags that say how values are hashed, found by the
// garbage collector and kept in interfaces, of which package reflect does not tell.
var compiled = []struct {
	typ   reflect.Type
	flags uint8
}{
	{reflect.TypeFor[aBool](), flagRegular}, {reflect.TypeFor[string](), 0}, {reflect.TypeFor[unsafe.Pointer](), flagRegular | flagDirectIface},
	{reflect.TypeFor[anArray](), 0}, {reflect.TypeFor[[3]string](), 0},
	{reflect.TypeFor[aChan](), flagRegular | flagDirectIface}, {reflect.TypeFor[chan string](), flagRegular | flagDirectIface},
	{reflect.TypeFor[aFunc](), flagDirectIface}, {reflect.TypeFor[func(...int) (string, bool)](), flagDirectIface},
	{reflect.TypeFor[anInter](), 0}, {reflect.TypeFor[any](), 0},
	{reflect.TypeFor[aMap](), flagDirectIface}, {reflect.TypeFor[map[any]string](), flagDirectIface},
	{reflect.TypeFor[aPointer](), flagRegular | flagDirectIface}, {reflect.TypeFor[*aStruct](), flagRegular | flagDirectIface},
	{reflect.TypeFor[aSlice](), 0}, {reflect.TypeFor[[]string](), 0},
	{reflect.TypeFor[aStruct](), 0}, {reflect.TypeFor[aWord](), flagRegular | flagDirectIface}, {reflect.TypeFor[aLarge](), flagMaskNeeded},
}

// checkCompiled compares the descriptors of compiled types.
func checkCompiled() error {
	for _, c := range compiled {
		p := unsafe.Pointer(descriptor(c.typ))
		if err := checkDescriptor(c.typ, p); err != nil {
			return err
		}
		if f := (*header)(p).tflag & (flagRegular | flagDirectIface | flagMaskNeeded); f != c.flags {
			return fmt.Errorf("the flags of %s are %#x, not %#x", c.typ, f, c.flags)
		}
	}
	return nil
}

// checkDescriptor compares what a descriptor holds by the layout here with what
// package reflect says of its type.
func checkDescriptor(t reflect.Type, p unsafe.Pointer) error {
	h := (*header)(p)
	un := uncommonOf(p)
	for _, c := range []struct {
		what string
		ok   bool
	}{
		{"size", h.size == t.Size() && h.ptrBytes <= h.size},
		{"alignment", int(h.align) == t.Align() && int(h.fieldAlign) == t.FieldAlign()},
		{"kind", reflect.Kind(h.kind) == t.Kind()},
		{"equality", (h.equal != nil) == t.Comparable()},
		{"name", (h.tflag&flagNamed != 0) == (t.Name() != "")},
		{"uncommon part", (h.tflag&flagUncommon != 0) == (un != nil) && (un == nil || uintptr(un)-uintptr(p) == extra(t.Kind()).Size())},
	} {
		if !c.ok {
			return fmt.Errorf("the descriptor of %s has another %s", t, c.what)
		}
	}
	if what := differs(t, p, un); what != "" {
		return fmt.Errorf("the descriptor of %s has other %s", t, what)
	}
	return nil
}

// uncommonOf returns the part of a descriptor that named types have, where the run
// time itself finds it; nil if it has none.
func uncommonOf(p unsafe.Pointer) unsafe.Pointer {
	return reflect.NewAt(abiType, p).MethodByName("Uncommon").Call(nil)[0].UnsafePointer()
}

// differs names the fields after the header that do not hold what package reflect
// says of a type, "" if all do. un is its uncommon part.
func differs(t reflect.Type, p, un unsafe.Pointer) string {
	is := func(p unsafe.Pointer, t reflect.Type) bool { return p == unsafe.Pointer(descriptor(t)) }
	if un != nil && t.Kind() != reflect.Interface {
		u := (*uncommon)(un)
		table := reflect.NewAt(resultOf(abiType, "Uncommon"), un).MethodByName("Methods").Call(nil)[0]
		if int(u.xcount) != t.NumMethod() || u.mcount < u.xcount || table.Len() != int(u.mcount) ||
			u.mcount > 0 && table.UnsafePointer() != unsafe.Add(un, u.moff) {
			return "methods"
		}
	}
	switch t.Kind() {
	case reflect.Array:
		if a := (*arrayType)(p); !is(a.elem, t.Elem()) || int(a.len) != t.Len() || !is(a.slice, reflect.SliceOf(t.Elem())) {
			return "elements"
		}
	case reflect.Chan:
		if c := (*chanType)(p); !is(c.elem, t.Elem()) || reflect.ChanDir(c.dir) != t.ChanDir() {
			return "elements"
		}
	case reflect.Map:
		m := reflect.NewAt(mapType, p).Elem()
		if key, elem := m.FieldByName("Key"), m.FieldByName("Elem"); !key.IsValid() || !elem.IsValid() || key.Kind() != reflect.Pointer ||
			elem.Kind() != reflect.Pointer || !is(key.UnsafePointer(), t.Key()) || !is(elem.UnsafePointer(), t.Elem()) {
			return "keys or elements"
		}
	case reflect.Pointer:
		if !is((*ptrType)(p).elem, t.Elem()) {
			return "elements"
		}
	case reflect.Slice:
		if !is((*sliceType)(p).elem, t.Elem()) {
			return "elements"
		}
	case reflect.Func:
		f, params := (*funcType)(p), slices.Concat(slices.Collect(t.Ins()), slices.Collect(t.Outs()))
		const variadic = 1 << 15
		if int(f.inCount) != t.NumIn() || int(f.outCount&^variadic) != t.NumOut() || (f.outCount&variadic != 0) != t.IsVariadic() ||
			!slices.EqualFunc(parameters(p, len(params)), params, is) {
			return "parameters"
		}
	case reflect.Interface:
		if i := (*interfaceType)(p); len(i.methods) != t.NumMethod() {
			return "methods"
		}
	case reflect.Struct:
		s := (*structType)(p)
		if len(s.fields) != t.NumField() {
			return "fields"
		}
		for i, f := range s.fields {
			g := t.Field(i)
			n := encoded(g.Name, string(g.Tag), g.IsExported(), g.Anonymous)
			if !bytes.Equal(n, unsafe.Slice(f.name, len(n))) || !is(f.typ, g.Type) || f.offset != g.Offset {
				return "fields"
			}
		}
	}
	return ""
}

// checkMade makes a named type of each kind as cells do, and uses it.
func checkMade() error {
	result := func(v any) []reflect.Value { return []reflect.Value{reflect.ValueOf(v)} }
	text := Method{Name: "String", Type: reflect.TypeFor[func() string](), Call: func(v reflect.Value, _ []reflect.Value) []reflect.Value { return result(v.Kind().String()) }}
	for _, c := range compiled {
		under := c.typ
		if under.Name() != "" || under.Kind() == reflect.Interface || under.Kind() == reflect.Pointer {
			continue
		}
		n := Declare("check", "check", "T", under.Kind(), 1, 1, params(under))
		n.Layout(under)
		n.Define(under)
		if err := n.SetMethods([]Method{text}, nil); err != nil {
			return err
		}
		t := n.Type()
		if t.String() != "check.T" || t.PkgPath() != "check" || !under.ConvertibleTo(t) {
			return fmt.Errorf("a named type of %s prints as %s", under, t)
		}
		for _, t := range []reflect.Type{t, reflect.PointerTo(t)} {
			if err := checkDescriptor(t, unsafe.Pointer(descriptor(t))); err != nil {
				return err
			}
		}
		s, ok := reflect.Zero(t).Interface().(fmt.Stringer)
		if !ok || s.String() != under.Kind().String() {
			return fmt.Errorf("a named type of %s has not the method that it was given", under)
		}
	}
	return errors.Join(checkMap(), checkStruct(), checkHidden())
}

// params returns what Declare wants to know of a func type.
func params(t reflect.Type) int {
	if t.Kind() != reflect.Func {
		return 0
	}
	return t.NumIn() + t.NumOut()
}

// checkMap grows a map of a type that is made here.
func checkMap() error {
	n := Declare("check", "check", "Map", reflect.Map, 0, 0, 0)
	n.Layout(reflect.TypeFor[map[string]int]())
	n.Define(reflect.TypeFor[map[string]int]())
	m := reflect.MakeMap(n.Type())
	const size = 20 // more than one group
	for i := range size {
		m.SetMapIndex(reflect.ValueOf(fmt.Sprint(i)), reflect.ValueOf(i))
	}
	for i := range size {
		if v := m.MapIndex(reflect.ValueOf(fmt.Sprint(i))); !v.IsValid() || v.Int() != int64(i) {
			return fmt.Errorf("element %d of a map is lost", i)
		}
	}
	return nil
}

// checkStruct makes a struct type and an interface type that have no names.
func checkStruct() error {
	t := Struct("struct { a int; B string }", "check", []Field{{Name: "a", Type: reflect.TypeFor[int]()}, {Name: "B", Type: reflect.TypeFor[string](), Tag: `k:"v"`}})
	if f, g := t.Field(0), t.Field(1); f.Name != "a" || f.PkgPath != "check" || g.Name != "B" || g.Tag.Get("k") != "v" || g.Offset != unsafe.Sizeof(0) {
		return errors.New("a struct has not the fields that it was given")
	}
	i := Interface("interface { String() string }", "check", []Method{{Name: "String", Type: reflect.TypeFor[func() string]()}})
	if i.NumMethod() != 1 || i.Method(0).Name != "String" || i.Method(0).Type != reflect.TypeFor[func() string]() || !reflect.TypeFor[aStruct]().Implements(i) {
		return errors.New("an interface has not the method that it was given")
	}
	for _, t := range []reflect.Type{t, i} {
		if err := checkDescriptor(t, unsafe.Pointer(descriptor(t))); err != nil {
			return err
		}
	}
	return nil
}
