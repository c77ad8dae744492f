// Package rtype makes Go types at run time that package reflect cannot make:
// named types with methods, structs with fields of any name, and interfaces.
//
// The types that cells declare are made here, so that compiled code treats them
// like its own types: an any that holds a value of one knows the type, package
// fmt finds its String method, errors.As its Error method, and a type assertion
// distinguishes it from another type of the same shape.
//
// Package rtype builds the run time's own type descriptors (package
// internal/abi) and never frees them. Their layout is compared with that of the
// compiler's descriptors as the process starts (layout.go).
package rtype

import (
	"fmt"
	"go/token"
	"hash/fnv"
	"reflect"
	"slices"
	"strings"
	"sync"
	"unsafe"
)

// header is internal/abi.Type.
type header struct {
	size       uintptr
	ptrBytes   uintptr
	hash       uint32
	tflag      uint8
	align      uint8
	fieldAlign uint8
	kind       uint8
	equal      func(unsafe.Pointer, unsafe.Pointer) bool
	gcData     *byte
	str        int32
	ptrToThis  int32
}

const (
	flagUncommon    = 1 << 0
	flagExtraStar   = 1 << 1
	flagNamed       = 1 << 2
	flagRegular     = 1 << 3
	flagMaskNeeded  = 1 << 4
	flagDirectIface = 1 << 5
)

// uncommon is internal/abi.UncommonType.
type uncommon struct {
	pkgPath int32
	mcount  uint16
	xcount  uint16
	moff    uint32
	_       uint32
}

// method is internal/abi.Method.
type method struct{ name, mtyp, ifn, tfn int32 }

// The descriptors of the kinds that have fields after the header.
type (
	arrayType struct {
		header
		elem, slice unsafe.Pointer
		len         uintptr
	}
	chanType struct {
		header
		elem unsafe.Pointer
		dir  int
	}
	funcType struct {
		header
		inCount, outCount uint16
	}
	imethod struct {
		name int32
		typ  int32
	}
	interfaceType struct {
		header
		pkgPath *byte
		methods []imethod
	}
	ptrType struct {
		header
		elem unsafe.Pointer
	}
	sliceType struct {
		header
		elem unsafe.Pointer
	}
	structField struct {
		name   *byte
		typ    unsafe.Pointer
		offset uintptr
	}
	structType struct {
		header
		pkgPath *byte
		fields  []structField
	}
)

// addReflectOff keeps p: unlike package reflect's own declaration, this one
// lets it escape.
//
//go:linkname addReflectOff reflect.addReflectOff
func addReflectOff(p unsafe.Pointer) int32

// pinned keeps memory alive to which descriptors point in ways that the garbage
// collector does not see. It grows with the types that cells declare, which
// live as long as the process.
var pinned struct {
	sync.Mutex // guards p
	p          []any
}

func pin(x any) {
	pinned.Lock()
	pinned.p = append(pinned.p, x)
	pinned.Unlock()
}

// The bits of a name's first byte.
const (
	nameExported = 1 << iota
	nameTag      // a tag follows
	namePkgPath  // the offset of a package's path follows
	nameEmbedded
)

// name encodes a name as internal/abi.Name does. All methods are exported to
// package reflect, because cells call them through it.
func name(s, tag string, exported, embedded bool) *byte {
	return &encoded(s, tag, exported, embedded)[0]
}

func encoded(s, tag string, exported, embedded bool) []byte {
	bits := byte(0)
	if exported {
		bits |= nameExported
	}
	if tag != "" {
		bits |= nameTag
	}
	if embedded {
		bits |= nameEmbedded
	}
	b := []byte{bits}
	varint := func(n int) {
		for ; n >= 0x80; n >>= 7 {
			b = append(b, byte(n|0x80))
		}
		b = append(b, byte(n))
	}
	varint(len(s))
	b = append(b, s...)
	if tag != "" {
		varint(len(tag))
		b = append(b, tag...)
	}
	return b
}

func nameOff(s string) int32 { return addReflectOff(unsafe.Pointer(name(s, "", true, false))) }

// nameOff returns the offset of the method's name.
func (m Method) nameOff() int32 {
	if m.PkgPath == "" {
		return nameOff(m.Name)
	}
	b := encoded(m.Name, "", false, false)
	b[0] |= namePkgPath
	off := nameOff(m.PkgPath)
	b = append(b, unsafe.Slice((*byte)(unsafe.Pointer(&off)), unsafe.Sizeof(off))...)
	return addReflectOff(unsafe.Pointer(&b[0]))
}

func hash(s string) uint32 {
	h := fnv.New32a()
	h.Write([]byte(s))
	return h.Sum32()
}

// descriptor returns the descriptor of a type.
//
//go:noinline
func descriptor(t reflect.Type) *header {
	return (*header)((*[2]unsafe.Pointer)(unsafe.Pointer(&t))[1])
}

// typeOf returns the type of a descriptor; it is the inverse of descriptor.
func typeOf(p unsafe.Pointer) reflect.Type {
	var x any
	*(*unsafe.Pointer)(unsafe.Pointer(&x)) = p
	return reflect.TypeOf(x)
}

// extra returns the Go type of a kind's whole descriptor: the header and the
// fields after it.
func extra(k reflect.Kind) reflect.Type {
	switch k {
	case reflect.Array:
		return reflect.TypeFor[arrayType]()
	case reflect.Chan:
		return reflect.TypeFor[chanType]()
	case reflect.Func:
		return reflect.TypeFor[funcType]()
	case reflect.Interface:
		return reflect.TypeFor[interfaceType]()
	case reflect.Map:
		return mapType
	case reflect.Pointer:
		return reflect.TypeFor[ptrType]()
	case reflect.Slice:
		return reflect.TypeFor[sliceType]()
	case reflect.Struct:
		return reflect.TypeFor[structType]()
	}
	return reflect.TypeFor[header]()
}

// A Method is a method of a named type.
type Method struct {
	Name string
	// Hidden hides the method from package reflect, unless the name of a method
	// that is not hidden comes later in the alphabet.
	Hidden bool
	// PkgPath is set for a method of that package which is not exported, and keeps
	// its name: interfaces of the package have such methods.
	PkgPath string
	// Type is the function type without the receiver.
	Type reflect.Type
	// Promoted says that the method belongs to an embedded field.
	Promoted bool
	// Call runs the method. The last argument of a variadic method is a slice.
	Call func(recv reflect.Value, args []reflect.Value) []reflect.Value
}

// A Named is a named type that is being made. After Declare it can be used for
// everything that does not need its size; see [Named.Layout], [Named.Define]
// and [Named.SetMethods].
type Named struct {
	name      string
	kind      reflect.Kind
	t, ptr    unsafe.Pointer // descriptors of T and *T
	un, ptrUn unsafe.Pointer // their uncommon parts
	params    int
	typ       reflect.Type
	stubs     map[string][]takesPointer // by the method
}

// Declare starts a named type of a kind. The type itself will have the given
// number of methods, and its pointer type ptrMethods. For a func type, params
// is the number of its parameters and results together.
func Declare(pkgPath, pkgName, typeName string, kind reflect.Kind, methods, ptrMethods, params int) *Named {
	n := &Named{name: typeName, kind: kind, params: params}
	text := pkgName + "." + typeName
	n.t, n.un = alloc(kind, params, methods)
	h := (*header)(n.t)
	h.kind = uint8(kind)
	h.tflag = flagNamed | flagUncommon
	h.align, h.fieldAlign = 1, 1
	h.str = nameOff(text)
	h.hash = hash(pkgPath + "." + typeName)
	(*uncommon)(n.un).pkgPath = nameOff(pkgPath)
	if kind != reflect.Interface {
		n.pointer(text, pkgPath, hash("*"+pkgPath+"."+typeName), ptrMethods)
	}
	n.typ = typeOf(n.t)
	return n
}

// pointer makes the type *T, with room for its methods.
func (n *Named) pointer(text, pkgPath string, hash uint32, methods int) {
	n.ptr, n.ptrUn = alloc(reflect.Pointer, 0, methods)
	p := (*ptrType)(n.ptr)
	p.header = *descriptor(reflect.TypeFor[*unsafe.Pointer]())
	p.tflag = p.tflag&(flagRegular|flagDirectIface) | flagUncommon
	p.str = nameOff("*" + text)
	p.hash = hash
	p.ptrToThis = 0
	p.elem = n.t
	(*uncommon)(n.ptrUn).pkgPath = nameOff(pkgPath)
	(*header)(n.t).ptrToThis = addReflectOff(n.ptr)
}

// alloc returns memory for a descriptor with room for methods.
func alloc(kind reflect.Kind, params, methods int) (t, un unsafe.Pointer) {
	mem := reflect.New(reflect.StructOf([]reflect.StructField{
		{Name: "H", Type: extra(kind)},
		{Name: "U", Type: reflect.TypeFor[uncommon]()},
		{Name: "P", Type: reflect.ArrayOf(params, reflect.TypeFor[unsafe.Pointer]())},
		{Name: "M", Type: reflect.ArrayOf(methods, reflect.TypeFor[method]())},
	}))
	pin(mem.Interface())
	s := mem.Elem()
	u := s.Field(1).Addr().UnsafePointer()
	(*uncommon)(u).moff = uint32(s.Type().Field(3).Offset - s.Type().Field(1).Offset)
	return mem.UnsafePointer(), u
}

// Type returns the type.
func (n *Named) Type() reflect.Type { return n.typ }

// Layout gives the type the size of shape, a type of the same kind and layout.
// A type must be laid out before it is used as a field or as the element of an
// array or a map.
func (n *Named) Layout(shape reflect.Type) {
	n.assume(shape)
	if h := (*header)(n.t); h.equal != nil {
		// Until Define sets the real one: map types check whether equal is set.
		h.equal = func(p, q unsafe.Pointer) bool { return (*header)(n.t).equal(p, q) }
	}
}

// Define gives the type its underlying type.
func (n *Named) Define(underlying reflect.Type) { n.assume(underlying) }

// SetMethods completes the type with its methods; their numbers were given to
// Declare. The methods in value belong to T and *T, those in pointer to *T
// alone. All types of their parameters and results must be defined. SetMethods
// returns ErrFull if the process has no room for more methods.
func (n *Named) SetMethods(value, pointer []Method) error {
	if n.kind == reflect.Interface {
		return nil
	}
	if err := n.setMethods(n.un, n.typ, value, nil); err != nil {
		return err
	}
	return n.setMethods(n.ptrUn, reflect.PointerTo(n.typ), pointer, value)
}

// assume copies the descriptor of t, but keeps the type's name, hash and
// pointer type.
func (n *Named) assume(t reflect.Type) {
	if t.Kind() != n.kind {
		panic(fmt.Sprintf("rtype: %s is a %s and cannot be made of %s", n.name, n.kind, t))
	}
	keep := *(*header)(n.t)
	u := unsafe.Pointer(descriptor(t))
	whole := extra(n.kind)
	reflect.NewAt(whole, n.t).Elem().Set(reflect.NewAt(whole, u).Elem())
	h := (*header)(n.t)
	h.tflag = h.tflag&(flagRegular|flagMaskNeeded|flagDirectIface) | flagNamed | flagUncommon
	if n.kind == reflect.Struct {
		(*structType)(n.t).regular(t)
	}
	h.str, h.hash, h.ptrToThis = keep.str, keep.hash, keep.ptrToThis
	if n.kind == reflect.Func && t.NumIn()+t.NumOut() == n.params {
		copy(parameters(n.t, n.params), parameters(u, n.params))
	}
}

// parameters returns the descriptors of the k parameters and results of a func type.
// They follow its descriptor, and its uncommon part if it has one.
func parameters(p unsafe.Pointer, k int) []unsafe.Pointer {
	off := unsafe.Sizeof(funcType{})
	if (*header)(p).tflag&flagUncommon != 0 {
		off += unsafe.Sizeof(uncommon{})
	}
	return unsafe.Slice((*unsafe.Pointer)(unsafe.Add(p, off)), k)
}

// setMethods writes the method table of T or *T: own holds the methods of the
// type itself, deref those of T in the table of *T.
func (n *Named) setMethods(un unsafe.Pointer, recv reflect.Type, own, deref []Method) error {
	type entry struct {
		Method
		deref bool
	}
	var all []entry
	for _, m := range own {
		all = append(all, entry{m, false})
	}
	for _, m := range deref {
		all = append(all, entry{m, true})
	}
	if len(all) == 0 {
		return nil
	}
	slices.SortFunc(all, func(a, b entry) int { return strings.Compare(a.Name, b.Name) })
	table := unsafe.Slice((*method)(unsafe.Add(un, (*uncommon)(un).moff)), len(all))
	direct := descriptor(recv).tflag&flagDirectIface != 0
	for i, m := range all {
		code, number, err := stub(reflect.TypeFor[unsafe.Pointer](), m.Type, receiver(recv, direct, m.Method, m.deref, n))
		tfn := code
		if err == nil && !direct { // called as a function it takes the receiver by value
			tfn, _, err = stub(recv, m.Type, m.Call)
		}
		if err != nil {
			return err
		}
		if !direct || recv.Kind() == reflect.Pointer && recv != n.typ { // it takes a pointer to the receiver
			n.takePointer(m.Name, number)
		}
		table[i] = method{name: m.nameOff(), ifn: addReflectOff(code), tfn: addReflectOff(tfn)}
		methodType(&table[i].mtyp, m.Type)
	}
	// Package reflect sees the first xcount methods: also hidden ones that come
	// before the last that is not hidden.
	shown := len(all)
	for shown > 0 && all[shown-1].Hidden {
		shown--
	}
	u := (*uncommon)(un)
	u.mcount, u.xcount = uint16(len(all)), uint16(shown)
	return nil
}

// receiver returns the function that is called with the data word of an
// interface.
func receiver(t reflect.Type, direct bool, m Method, deref bool, n *Named) func(word reflect.Value, args []reflect.Value) []reflect.Value {
	call := m.Call
	switch {
	case deref: // t is *T and the method belongs to T
		return func(word reflect.Value, args []reflect.Value) []reflect.Value {
			p := word.UnsafePointer()
			if m.Promoted {
				_ = *(*byte)(p) // if it is nil, Go's error of the field
			}
			if p == nil {
				panic(NilReceiver(n.typ.String(), m.Name))
			}
			return call(reflect.NewAt(n.typ, p).Elem(), args)
		}
	case direct:
		return func(word reflect.Value, args []reflect.Value) []reflect.Value {
			p := word.UnsafePointer()
			return call(reflect.NewAt(t, unsafe.Pointer(&p)).Elem(), args)
		}
	}
	return func(word reflect.Value, args []reflect.Value) []reflect.Value {
		return call(reflect.NewAt(t, word.UnsafePointer()).Elem(), args)
	}
}

// plainError is the run time's type of errors that begin without "runtime error: ".
var plainError = func() (t reflect.Type) {
	defer func() {
		if t = reflect.TypeOf(recover()); t.Kind() != reflect.String {
			panic("rtype: runtime.plainError is no string")
		}
	}()
	close((chan int)(nil))
	return nil
}()

// NilReceiver returns the run time's error of a method of a type, as "main.T", that is
// declared on the value and called through a nil pointer.
func NilReceiver(typ, method string) error {
	typ, args, generic := strings.Cut(typ, "[")
	if generic {
		args = "[...]"
	}
	name := typ[strings.LastIndexByte(typ, '.')+1:] + args
	e := reflect.New(plainError).Elem()
	e.SetString("value method " + typ + args + "." + method + " called using nil *" + name + " pointer")
	return e.Interface().(error)
}

// A Field is a field of a struct.
type Field struct {
	Name     string
	Type     reflect.Type
	Tag      string
	Embedded bool
}

// Struct returns a new struct type, which prints as text. Its fields may have
// any names; those that are not exported belong to pkgPath. See [Open].
func Struct(text, pkgPath string, fields []Field) reflect.Type {
	plain := make([]reflect.StructField, len(fields))
	for i, f := range fields {
		plain[i] = reflect.StructField{Name: fmt.Sprintf("F%d", i), Type: f.Type}
		if f.Name == "_" { // blank fields are left out of comparisons
			plain[i].Name, plain[i].PkgPath = "_", "main"
		}
	}
	base := (*structType)(unsafe.Pointer(descriptor(reflect.StructOf(plain))))
	t := new(structType)
	*t = *base
	t.tflag &= flagRegular | flagMaskNeeded | flagDirectIface
	t.str, t.ptrToThis = nameOff(text), 0
	t.hash = hash(text)
	t.fields = slices.Clone(base.fields)
	t.pkgPath = nil
	var compared []structField
	for i, f := range fields {
		exported := token.IsExported(f.Name)
		if !exported {
			t.pkgPath = name(pkgPath, "", true, false)
		}
		t.fields[i].name = name(f.Name, f.Tag, exported, f.Embedded)
		if f.Name != "_" {
			compared = append(compared, t.fields[i])
		}
	}
	if len(compared) < len(fields) && t.equal != nil {
		t.tflag &^= flagRegular // so that hashing leaves blank fields out too
		t.equal = func(p, q unsafe.Pointer) bool {
			for _, f := range compared {
				if !(*header)(f.typ).equal(unsafe.Add(p, f.offset), unsafe.Add(q, f.offset)) {
					return false
				}
			}
			return true
		}
	}
	if len(compared) == len(fields) {
		t.regular(typeOf(unsafe.Pointer(t)))
	}
	pin(t)
	return typeOf(unsafe.Pointer(t))
}

// regular notes that values are hashed as the memory that they are, where the compiler
// would, for a type with the fields of another: compiled code, which has maps with such
// keys, hashes them so.
func (t *structType) regular(of reflect.Type) {
	end := uintptr(0)
	for i, f := range t.fields {
		h := (*header)(f.typ)
		if h.tflag&flagRegular == 0 || f.offset != end || of.Field(i).Name == "_" {
			return
		}
		end = f.offset + h.size
	}
	if end == t.size && end > 0 {
		t.tflag |= flagRegular
	}
}

// Promote returns a struct type like the unnamed type t, with the methods of
// its embedded fields. As with a named type, the methods in value belong to the
// type and to its pointer type, those in pointer to the pointer type alone. It
// returns ErrFull if the process has no room for more methods.
func Promote(t reflect.Type, value, pointer []Method) (reflect.Type, error) {
	text := t.String()
	n := &Named{name: text, kind: reflect.Struct}
	n.t, n.un = alloc(reflect.Struct, 0, len(value))
	s := (*structType)(n.t)
	*s = *(*structType)(unsafe.Pointer(descriptor(t)))
	s.tflag |= flagUncommon
	n.pointer(text, "", hash("*"+text), len(value)+len(pointer))
	n.typ = typeOf(n.t)
	if err := n.setMethods(n.un, n.typ, value, nil); err != nil {
		return nil, err
	}
	return n.typ, n.setMethods(n.ptrUn, reflect.PointerTo(n.typ), pointer, value)
}

// Interface returns a new interface type with the given methods, which prints
// as text.
func Interface(text, pkgPath string, methods []Method) reflect.Type {
	t := new(interfaceType)
	t.header = *descriptor(reflect.TypeFor[error]())
	t.tflag &= flagRegular | flagMaskNeeded | flagDirectIface
	t.str, t.ptrToThis = nameOff(text), 0
	t.hash = hash(text)
	t.pkgPath = name(pkgPath, "", true, false)
	methods = slices.Clone(methods)
	slices.SortFunc(methods, func(a, b Method) int { return strings.Compare(a.Name, b.Name) })
	t.methods = make([]imethod, len(methods))
	for i, m := range methods {
		t.methods[i].name = m.nameOff()
		methodType(&t.methods[i].typ, m.Type)
	}
	pin(t)
	return typeOf(unsafe.Pointer(t))
}
