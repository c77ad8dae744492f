package rtype

import (
	"errors"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"unsafe"
)

// TestFalseLayouts has each type of this package once with a field less and once
// with another order of fields.
func TestFalseLayouts(t *testing.T) {
	if err := checkLayouts(layouts(), mapType); err != nil {
		t.Fatal(err)
	}
	for i, l := range layouts() {
		var plain []reflect.StructField
		for i := range l.ours.NumField() {
			f := l.ours.Field(i)
			plain = append(plain, reflect.StructField{Name: "X" + strings.Trim(f.Name, "_"), Type: f.Type})
		}
		for _, c := range []struct {
			name  string
			other []reflect.StructField
			want  string
		}{
			{"a field less", plain[1:], "fields, not"},
			{"another name", plain, "not X"},
		} {
			list := layouts()
			list[i].ours = reflect.StructOf(c.other)
			if err := checkLayouts(list, mapType); err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), l.name) {
				t.Errorf("%s with %s: %v", l.name, c.name, err)
			}
		}
		list := layouts()
		list[i].theirs = nil
		if err := checkLayouts(list, mapType); err == nil || err.Error() != "there is no "+l.name {
			t.Errorf("no %s: %v", l.name, err)
		}
	}
	// Another place, with the same names.
	for _, c := range []struct {
		l    layout
		want string
	}{
		{layout{"Imethod", reflect.TypeFor[struct{ name, typ int64 }](), reflect.TypeFor[imethod]()}, "field 0 of Imethod is name at 0 with 4 bytes, not name at 0 with 8"},
		{layout{"Imethod", reflect.TypeFor[struct{ typ, name int32 }](), reflect.TypeFor[imethod]()}, "field 0 of Imethod is name at 0 with 4 bytes, not typ at 0 with 4"},
		{layout{"Imethod", reflect.TypeFor[struct{ name, typ, extra int32 }](), reflect.TypeFor[imethod]()}, "Imethod has 2 fields, not 3"},
	} {
		if err := c.l.check(); err == nil || err.Error() != c.want {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
	for _, m := range []reflect.Type{nil, reflect.TypeFor[int](), reflect.TypeFor[struct{}](), reflect.TypeFor[arrayType]()} {
		if err := checkLayouts(layouts(), m); err == nil || err.Error() != "there is no descriptor of maps" {
			t.Errorf("maps as %v: %v", m, err)
		}
	}
}

// TestFalseDescriptors changes each field of copies of descriptors that the
// compiler has made.
func TestFalseDescriptors(t *testing.T) {
	word := unsafe.Sizeof(uintptr(0))
	other := unsafe.Pointer(descriptor(reflect.TypeFor[complex64]()))
	point := func(offset uintptr) func(p unsafe.Pointer) {
		return func(p unsafe.Pointer) { *(*unsafe.Pointer)(unsafe.Add(p, offset)) = other }
	}
	mapField := func(name string) func(p unsafe.Pointer) {
		f, _ := mapType.FieldByName(name)
		return point(f.Offset)
	}
	for _, c := range []struct {
		name, want string
		typ        reflect.Type
		change     func(p unsafe.Pointer)
	}{
		{"size", "size", reflect.TypeFor[int](), func(p unsafe.Pointer) { (*header)(p).size++ }},
		{"bytes with pointers", "size", reflect.TypeFor[string](), func(p unsafe.Pointer) { (*header)(p).ptrBytes = 17 }},
		{"alignment", "alignment", reflect.TypeFor[int](), func(p unsafe.Pointer) { (*header)(p).align = 4 }},
		{"alignment of fields", "alignment", reflect.TypeFor[int](), func(p unsafe.Pointer) { (*header)(p).fieldAlign = 4 }},
		{"kind", "kind", reflect.TypeFor[int](), func(p unsafe.Pointer) { (*header)(p).kind++ }},
		{"equality", "equality", reflect.TypeFor[int](), func(p unsafe.Pointer) { (*header)(p).equal = nil }},
		{"name", "name", reflect.TypeFor[aStruct](), func(p unsafe.Pointer) { (*header)(p).tflag &^= flagNamed }},
		{"array, elements", "elements", reflect.TypeFor[anArray](), point(unsafe.Offsetof(arrayType{}.elem))},
		{"array, length", "elements", reflect.TypeFor[anArray](), func(p unsafe.Pointer) { (*arrayType)(p).len++ }},
		{"array, slice", "elements", reflect.TypeFor[anArray](), point(unsafe.Offsetof(arrayType{}.slice))},
		{"channel, elements", "elements", reflect.TypeFor[aChan](), point(unsafe.Offsetof(chanType{}.elem))},
		{"channel, direction", "elements", reflect.TypeFor[aChan](), func(p unsafe.Pointer) { (*chanType)(p).dir ^= 3 }},
		{"pointer", "elements", reflect.TypeFor[aPointer](), point(unsafe.Offsetof(ptrType{}.elem))},
		{"slice", "elements", reflect.TypeFor[aSlice](), point(unsafe.Offsetof(sliceType{}.elem))},
		{"map, keys", "keys or elements", reflect.TypeFor[aMap](), mapField("Key")},
		{"map, elements", "keys or elements", reflect.TypeFor[aMap](), mapField("Elem")},
		{"func, parameters", "parameters", reflect.TypeFor[aFunc](), func(p unsafe.Pointer) { (*funcType)(p).inCount++ }},
		{"func, results", "parameters", reflect.TypeFor[aFunc](), func(p unsafe.Pointer) { (*funcType)(p).outCount++ }},
		{"func, variadic", "parameters", reflect.TypeFor[aFunc](), func(p unsafe.Pointer) { (*funcType)(p).outCount &= 1<<15 - 1 }},
		{"func, a parameter", "parameters", reflect.TypeFor[aFunc](), point(unsafe.Sizeof(funcType{}) + unsafe.Sizeof(uncommon{}) + word)},
		{"interface, methods", "methods", reflect.TypeFor[anInter](), func(p unsafe.Pointer) { i := (*interfaceType)(p); i.methods = i.methods[:1] }},
		{"struct, fields", "fields", reflect.TypeFor[aStruct](), func(p unsafe.Pointer) { s := (*structType)(p); s.fields = s.fields[1:] }},
		{"struct, order of fields", "fields", reflect.TypeFor[aStruct](), func(p unsafe.Pointer) {
			s := (*structType)(p)
			s.fields = append(s.fields[1:len(s.fields):len(s.fields)], s.fields[0])
		}},
		{"methods", "methods", reflect.TypeFor[aStruct](), func(p unsafe.Pointer) { (*uncommon)(uncommonOf(p)).xcount++ }},
	} {
		whole := reflect.New(reflect.StructOf([]reflect.StructField{
			{Name: "H", Type: extra(c.typ.Kind())}, {Name: "U", Type: reflect.TypeFor[uncommon]()},
			{Name: "P", Type: reflect.TypeFor[[32]unsafe.Pointer]()}, // parameters, fields, methods
		}))
		p, from := whole.UnsafePointer(), unsafe.Pointer(descriptor(c.typ))
		size := whole.Type().Elem().Size()
		copy(unsafe.Slice((*byte)(p), size), unsafe.Slice((*byte)(from), size))
		if err := checkDescriptor(c.typ, p); err != nil {
			t.Errorf("%s, unchanged: %v", c.name, err)
		}
		c.change(p)
		if err := checkDescriptor(c.typ, p); err == nil || !strings.HasSuffix(err.Error(), " "+c.want) {
			t.Errorf("%s: %v, want %s", c.name, err, c.want)
		}
		runtime.KeepAlive(whole)
	}
}

// BenchmarkChecks measures what the comparisons add to the start of the process.
func BenchmarkChecks(b *testing.B) {
	for range b.N {
		if err := errors.Join(checkLayouts(layouts(), mapType), checkCompiled(), checkStruct(), checkMap()); err != nil {
			b.Fatal(err)
		}
	}
}
