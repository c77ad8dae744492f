package gocell

import (
	"errors"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/traefik/yaegi/interp"
	"golang.org/x/tools/go/types/typeutil"

	"dace.local/kernel/gocell/rtype"
	"dace.local/kernel/gocell/symbols"
)

// The interpreter gives the types of its programs no identity of their own: a
// type A int is an int to an any, to package fmt and to a type switch. So it
// sees no type declaration at all. Every type that a cell declares is made at
// run time as the compiler would make it (package rtype), with its name, its
// fields and its methods, and the interpreter uses it like a type of a
// compiled package. Methods are plain functions to the interpreter, which
// cells call by name and compiled code through the type.

// typesPath is the import path of these types for the interpreter.
const typesPath = "gocell/types"

// A mirror holds the types of package reflect that stand for the checker's.
type mirror struct {
	s       *Session
	types   typeutil.Map // reflect.Type
	named   typeutil.Map // *madeType
	names   typeutil.Map // string: the interpreter's name for a type
	last    map[string]*madeType
	queue   []*madeType // to be defined
	journal []func()    // what undoes the cell's additions
	count   int
	table   map[string]reflect.Value // the interpreter's package of types
	methods []*boundMethod
}

// A madeType is a named type of a cell.
type madeType struct {
	id      int
	shown   string
	typ     *types.Named
	r       *rtype.Named
	laid    bool
	key     string // of its declaration
	deps    map[string]*types.TypeName
	methods map[string]*boundMethod // declared on it
}

// A boundMethod is a method that a cell declares; the function is there once
// its cell runs.
type boundMethod struct {
	name string // in messages
	fn   atomic.Value
}

// notMade is the panic of a type that cannot be made.
type notMade struct{ msg string }

func newMirror(s *Session) (*mirror, error) {
	m := &mirror{s: s, last: map[string]*madeType{}, table: map[string]reflect.Value{}}
	m.table["T0"] = reflect.ValueOf((*int)(nil))
	exports := reflect.ValueOf(s.in).Elem().FieldByName("binPkg")
	if err := s.use(interp.Exports{typesPath + "/types": m.table}); err != nil {
		return nil, err
	}
	all := *(*interp.Exports)(exports.Addr().UnsafePointer())
	m.table = all[typesPath]
	_, err := s.in.Eval("import " + alias(typesPath) + ` "` + typesPath + `"`)
	return m, err
}

// undo takes back what a cell that does not compile has added.
func (m *mirror) undo() {
	for i := len(m.journal) - 1; i >= 0; i-- {
		m.journal[i]()
	}
	m.journal, m.queue = nil, nil
}

func (m *mirror) set(in *typeutil.Map, t types.Type, v any) {
	old := in.Set(t, v)
	m.journal = append(m.journal, func() {
		if old == nil {
			in.Delete(t)
		} else {
			in.Set(t, old)
		}
	})
}

// own reports whether t is a type that a cell declares, or a pointer to one.
func own(t types.Type) bool {
	t = types.Unalias(t)
	if p, ok := t.(*types.Pointer); ok {
		t = types.Unalias(p.Elem())
	}
	n, ok := t.(*types.Named)
	return ok && ofCells(n.Obj())
}

// ofCells reports whether an object stands in a cell or a fetched package, or
// is a generic of the standard library of which there is our text.
func ofCells(o types.Object) bool {
	if o.Pkg() == nil {
		return false
	}
	if interpreted(o.Pkg()) {
		return true
	}
	lib := libraries()[o.Pkg().Path()]
	if lib == nil {
		return false
	}
	_, ok := lib.decls[o.Name()]
	return ok
}

// walkType calls f for t and the types that it is made of.
func walkType(t types.Type, f func(types.Type), seen map[types.Type]bool) {
	t = types.Unalias(t)
	if t == nil || seen[t] {
		return
	}
	seen[t] = true
	f(t)
	tuple := func(tt *types.Tuple) {
		for v := range tt.Variables() {
			walkType(v.Type(), f, seen)
		}
	}
	switch t := t.(type) {
	case *types.Named:
		for a := range t.TypeArgs().Types() {
			walkType(a, f, seen)
		}
		if ofCells(t.Obj()) {
			walkType(t.Underlying(), f, seen)
		}
	case *types.Map:
		walkType(t.Key(), f, seen)
		walkType(t.Elem(), f, seen)
	case *types.Signature:
		tuple(t.Params())
		tuple(t.Results())
	case *types.Struct:
		for v := range t.Fields() {
			walkType(v.Type(), f, seen)
		}
	case *types.Interface:
		for m := range t.Methods() {
			walkType(m.Type(), f, seen)
		}
	case interface{ Elem() types.Type }:
		walkType(t.Elem(), f, seen)
	}
}

// symbol returns the name by which the interpreter knows a type, which is
// made if it is new.
func (m *mirror) symbol(t types.Type) (name string, err error) {
	t = m.canonical(types.Unalias(t))
	if n, ok := m.names.At(t).(string); ok {
		return n, nil
	}
	rt, err := m.typeOf(t)
	if err != nil {
		return "", err
	}
	m.count++
	name = "T" + itoa(m.count)
	m.set(&m.names, t, name)
	m.table[name] = reflect.Zero(reflect.PointerTo(rt))
	return name, nil
}

// typeOf returns the type that stands for t.
func (m *mirror) typeOf(t types.Type) (rt reflect.Type, err error) {
	defer func() {
		if r := recover(); r != nil {
			e, ok := r.(notMade)
			if !ok {
				panic(r)
			}
			err = errors.New(e.msg)
		}
	}()
	rt = m.of(t)
	return rt, m.finish()
}

// canonical returns an instance of a generic of the standard library as
// others see it, where t is one as our text does.
func (m *mirror) canonical(t types.Type) types.Type {
	n, ok := t.(*types.Named)
	if !ok || n.TypeArgs().Len() == 0 {
		return t
	}
	if o, ok := m.s.generic.canonical[n.Obj()]; ok {
		if i, err := types.Instantiate(nil, o.Type(), listOf(n.TypeArgs()), false); err == nil {
			return i
		}
	}
	return t
}

// of returns the type that stands for t. Named types are declared and queued;
// finish defines them.
func (m *mirror) of(t types.Type) reflect.Type {
	t = m.canonical(types.Unalias(t))
	if r, ok := m.types.At(t).(reflect.Type); ok {
		return r
	}
	r := m.build(t)
	m.set(&m.types, t, r)
	return r
}

var basics = map[types.BasicKind]reflect.Type{
	types.Bool: reflect.TypeFor[bool](), types.Int: reflect.TypeFor[int](), types.Int8: reflect.TypeFor[int8](),
	types.Int16: reflect.TypeFor[int16](), types.Int32: reflect.TypeFor[int32](), types.Int64: reflect.TypeFor[int64](),
	types.Uint: reflect.TypeFor[uint](), types.Uint8: reflect.TypeFor[uint8](), types.Uint16: reflect.TypeFor[uint16](),
	types.Uint32: reflect.TypeFor[uint32](), types.Uint64: reflect.TypeFor[uint64](), types.Uintptr: reflect.TypeFor[uintptr](),
	types.Float32: reflect.TypeFor[float32](), types.Float64: reflect.TypeFor[float64](), types.Complex64: reflect.TypeFor[complex64](),
	types.Complex128: reflect.TypeFor[complex128](), types.String: reflect.TypeFor[string](), types.UnsafePointer: reflect.TypeFor[unsafe.Pointer](),
}

func (m *mirror) build(t types.Type) reflect.Type {
	switch t := t.(type) {
	case *types.Basic:
		if r, ok := basics[t.Kind()]; ok {
			return r
		}
	case *types.Pointer:
		return reflect.PointerTo(m.of(t.Elem()))
	case *types.Slice:
		return reflect.SliceOf(m.of(t.Elem()))
	case *types.Chan:
		dir := map[types.ChanDir]reflect.ChanDir{types.SendRecv: reflect.BothDir, types.SendOnly: reflect.SendDir, types.RecvOnly: reflect.RecvDir}[t.Dir()]
		return reflect.ChanOf(dir, m.of(t.Elem()))
	case *types.Signature:
		return m.function(t)
	case *types.Array:
		m.layout(t.Elem())
		return reflect.ArrayOf(int(t.Len()), m.of(t.Elem()))
	case *types.Map:
		m.layout(t.Key())
		m.layout(t.Elem())
		return reflect.MapOf(m.of(t.Key()), m.of(t.Elem()))
	case *types.Struct:
		return m.structure(t, true)
	case *types.Interface:
		return m.interfaceType(t, goType(t))
	case *types.Named:
		return m.namedType(t)
	}
	panic(notMade{fmt.Sprintf("a cell cannot use the type %s", types.TypeString(t, shortName))})
}

func (m *mirror) function(t *types.Signature) reflect.Type {
	list := func(tt *types.Tuple) []reflect.Type {
		var l []reflect.Type
		for v := range tt.Variables() {
			l = append(l, m.of(v.Type()))
		}
		return l
	}
	return reflect.FuncOf(list(t.Params()), list(t.Results()), t.Variadic())
}

// structure makes a struct, with the methods of its embedded fields where no
// named type has them.
func (m *mirror) structure(t *types.Struct, methods bool) reflect.Type {
	fields := make([]rtype.Field, t.NumFields())
	plain, path := true, ""
	for i := range fields {
		f := t.Field(i)
		m.layout(f.Type())
		fields[i] = rtype.Field{Name: f.Name(), Type: m.of(f.Type()), Tag: t.Tag(i), Embedded: f.Embedded()}
		plain = plain && f.Exported() && !f.Embedded()
		path = f.Pkg().Path()
	}
	if !plain {
		r := rtype.Struct(goType(t), path, fields)
		value, pointer := methodSets(t)
		if !methods || len(value)+len(pointer) == 0 {
			return r
		}
		r, err := rtype.Promote(r, m.bound(nil, value), m.bound(nil, pointer))
		if err != nil {
			panic(notMade{err.Error()})
		}
		return r
	}
	std := make([]reflect.StructField, len(fields))
	for i, f := range fields {
		std[i] = reflect.StructField{Name: f.Name, Type: f.Type, Tag: reflect.StructTag(f.Tag)}
	}
	return reflect.StructOf(std)
}

func (m *mirror) interfaceType(t *types.Interface, text string) reflect.Type {
	if t.NumMethods() == 0 {
		return reflect.TypeFor[any]()
	}
	var methods []rtype.Method
	for f := range t.Methods() {
		methods = append(methods, rtype.Method{Name: runName(f), Type: m.function(f.Signature())})
	}
	return rtype.Interface(text, "main", methods)
}

func (m *mirror) namedType(t *types.Named) reflect.Type {
	o := t.Obj()
	switch {
	case isSeq(o):
		return m.of(t.Underlying())
	case ofCells(o):
		return m.declare(t).r.Type()
	case o.Pkg() == nil:
		if o.Name() == "error" {
			return reflect.TypeFor[error]()
		}
	case isNative(o.Pkg()) && t.TypeArgs().Len() > 0:
		m.s.mu.Lock()
		defer m.s.mu.Unlock()
		for _, n := range m.s.natives {
			for i, x := range n.instances {
				if types.Identical(x, t) {
					return reflect.TypeOf(n.table[instanceKey(i)]).Elem()
				}
			}
		}
		shown := types.TypeString(t, shortName)
		panic(notMade{fmt.Sprintf("%s is compiled, and no compiled cell has this instance of it: var _ %s in one adds it", shown, shown)})
	case isNative(o.Pkg()):
		m.s.mu.Lock()
		n := m.s.natives[pathOf(o.Pkg())]
		m.s.mu.Unlock()
		if n != nil && n.table[o.Name()] != nil {
			return reflect.TypeOf(n.table[o.Name()]).Elem()
		}
	case t.TypeArgs().Len() == 0:
		if syms, ok := symbols.Lookup(o.Pkg().Path()); ok {
			if v, ok := syms[o.Name()]; ok && v.Kind() == reflect.Pointer && v.IsNil() {
				return v.Type().Elem()
			}
		}
		if o.Pkg().Path() == "unsafe" {
			return reflect.TypeFor[unsafe.Pointer]()
		}
		if r := compiledType(o); r != nil {
			return r
		}
	}
	panic(notMade{fmt.Sprintf("a cell cannot use the type %s", types.TypeString(t, shortName))})
}

var compiledTypes sync.Map // *types.TypeName: reflect.Type

// compiledType returns a type that a compiled package does not export, if what
// it exports leads to it; else nil.
func compiledType(o *types.TypeName) reflect.Type {
	if r, ok := compiledTypes.Load(o); ok {
		return r.(reflect.Type)
	}
	path := o.Pkg().Path()
	syms, _ := symbols.Lookup(path)
	var queue []reflect.Type
	for _, name := range slices.Sorted(maps.Keys(syms)) {
		queue = append(queue, syms[name].Type())
	}
	for seen := map[reflect.Type]bool{}; len(queue) > 0; queue = queue[1:] {
		t := queue[0]
		if seen[t] || t.Name() != "" && t.PkgPath() != path {
			continue
		}
		seen[t] = true
		if t.Name() == o.Name() {
			compiledTypes.Store(o, t)
			return t
		}
		switch t.Kind() {
		case reflect.Map:
			queue = append(queue, t.Key(), t.Elem())
		case reflect.Array, reflect.Chan, reflect.Pointer, reflect.Slice:
			queue = append(queue, t.Elem())
		case reflect.Func:
			queue = slices.AppendSeq(slices.AppendSeq(queue, t.Ins()), t.Outs())
		case reflect.Struct:
			for f := range t.Fields() {
				queue = append(queue, f.Type)
			}
		}
		for m := range t.Methods() {
			queue = append(queue, m.Type)
		}
	}
	return nil
}

// underlying returns what a named type is made of; that of a generic of the
// standard library stands in our text.
func (m *mirror) underlying(t *types.Named) types.Type {
	if t.TypeArgs().Len() > 0 && !interpreted(t.Obj().Pkg()) {
		return m.textual(t).Underlying()
	}
	return t.Underlying()
}

// textual returns an instance of a generic of the standard library as our
// text declares it.
func (m *mirror) textual(t *types.Named) *types.Named {
	g := &generics{s: m.s}
	m.s.mu.Lock()
	defer m.s.mu.Unlock()
	g.types(t.Obj().Pkg().Path(), m.s.prog)
	for o, c := range m.s.generic.canonical {
		if c == t.Obj() {
			if i, err := types.Instantiate(nil, o.Type(), listOf(t.TypeArgs()), false); err == nil {
				return i.(*types.Named)
			}
		}
	}
	panic(notMade{fmt.Sprintf("%s cannot be used in a cell: this generic of the standard library has no interpreted form", types.TypeString(t, shortName))})
}

func reflectKind(u types.Type) reflect.Kind {
	switch u := u.(type) {
	case *types.Basic:
		return basics[u.Kind()].Kind()
	case *types.Pointer:
		return reflect.Pointer
	case *types.Slice:
		return reflect.Slice
	case *types.Array:
		return reflect.Array
	case *types.Map:
		return reflect.Map
	case *types.Chan:
		return reflect.Chan
	case *types.Signature:
		return reflect.Func
	case *types.Struct:
		return reflect.Struct
	}
	return reflect.Interface
}

// made returns what stands for a named type of a cell, nil if it is not made.
func (m *mirror) made(t *types.Named) *madeType {
	d, _ := m.named.At(m.canonical(t)).(*madeType)
	return d
}

// declare starts a type.
func (m *mirror) declare(t *types.Named) *madeType {
	if d := m.made(t); d != nil {
		return d
	}
	m.count++
	u := m.underlying(t)
	d := &madeType{id: m.count, typ: t, shown: typeName(t), methods: map[string]*boundMethod{}}
	value, pointer := methodSets(m.source(t))
	params := 0
	if s, ok := u.(*types.Signature); ok {
		params = s.Params().Len() + s.Results().Len()
	}
	path, pkg := "main", "main"
	if p := t.Obj().Pkg(); p.Path() != "main" {
		path, pkg = p.Path(), p.Name()
	}
	d.r = rtype.Declare(path, pkg, d.shown, reflectKind(u), len(value), len(value)+len(pointer), params)
	m.set(&m.named, t, d)
	m.queue = append(m.queue, d)
	return d
}

// source returns the type whose methods a type has: our text's, for one of the
// standard library.
func (m *mirror) source(t *types.Named) *types.Named {
	if t.TypeArgs().Len() > 0 && !interpreted(t.Obj().Pkg()) {
		return m.textual(t)
	}
	return t
}

// typeName is the name of a type as package reflect has it.
func typeName(t *types.Named) string {
	s := t.Obj().Name()
	var l []string
	around := localArgs(t.Obj())
	for _, a := range around {
		l = append(l, goTypeIn(a, true))
	}
	for a := range t.TypeArgs().Types() {
		l = append(l, goTypeIn(a, true))
	}
	switch n := len(around); {
	case len(l) == 0:
		return s
	case n == 0 || n == len(l):
		return s + "[" + strings.Join(l, ",") + "]"
	default:
		return s + "[" + strings.Join(l[:n], ",") + ";" + strings.Join(l[n:], ",") + "]"
	}
}

// methodSets returns the methods of a type, and those of a pointer to it only.
func methodSets(t types.Type) (value, pointer []*types.Selection) {
	if types.IsInterface(t) {
		return nil, nil
	}
	// What compiled code keeps to itself stays there.
	skip := func(s *types.Selection) bool {
		return !s.Obj().Exported() && !interpreted(s.Obj().Pkg()) && !isNative(s.Obj().Pkg())
	}
	byValue := types.NewMethodSet(t)
	for s := range byValue.Methods() {
		if !skip(s) {
			value = append(value, s)
		}
	}
	for s := range types.NewMethodSet(types.NewPointer(t)).Methods() {
		if !skip(s) && byValue.Lookup(s.Obj().Pkg(), s.Obj().Name()) == nil {
			pointer = append(pointer, s)
		}
	}
	return value, pointer
}

// layout makes the sizes of the named types known that t has inside.
func (m *mirror) layout(t types.Type) {
	switch t := m.canonical(types.Unalias(t)).(type) {
	case *types.Named:
		if isSeq(t.Obj()) || !ofCells(t.Obj()) {
			return
		}
		d := m.declare(t)
		if d.laid {
			return
		}
		d.laid = true
		u := m.underlying(t)
		s := m.shape(u)
		d.r.Layout(s)
	case *types.Array:
		m.layout(t.Elem())
	case *types.Struct:
		for f := range t.Fields() {
			m.layout(f.Type())
		}
	}
}

// shape returns a type of the kind and layout of t in which no named type of
// a cell appears.
func (m *mirror) shape(t types.Type) reflect.Type {
	switch t := types.Unalias(t).(type) {
	case *types.Pointer:
		return reflect.TypeFor[*int]()
	case *types.Slice:
		return reflect.TypeFor[[]int]()
	case *types.Map:
		return reflect.TypeFor[map[int]int]()
	case *types.Chan:
		return reflect.TypeFor[chan int]()
	case *types.Signature:
		return reflect.TypeFor[func()]()
	case *types.Interface:
		if t.NumMethods() == 0 {
			return reflect.TypeFor[any]()
		}
		return reflect.TypeFor[error]()
	case *types.Array:
		return reflect.ArrayOf(int(t.Len()), m.shape(t.Elem()))
	case *types.Struct:
		fields := make([]reflect.StructField, t.NumFields())
		for i := range fields {
			fields[i] = reflect.StructField{Name: "F" + itoa(i), Type: m.shape(t.Field(i).Type())}
		}
		return reflect.StructOf(fields)
	case *types.Named:
		if ofCells(t.Obj()) {
			return m.shape(m.underlying(m.canonical(t).(*types.Named)))
		}
	}
	return m.of(t)
}

// finish defines the types that are declared.
func (m *mirror) finish() error {
	type methods struct {
		d              *madeType
		value, pointer []rtype.Method
	}
	var all []methods
	for len(m.queue) > 0 {
		d := m.queue[0]
		m.queue = m.queue[1:]
		m.layout(d.typ)
		u := m.underlying(d.typ)
		if it, ok := u.(*types.Interface); ok {
			d.r.Define(m.interfaceType(it, "main."+d.shown))
		} else {
			d.r.Define(m.of(u))
		}
		value, pointer := methodSets(m.source(d.typ))
		all = append(all, methods{d, m.bound(d, value), m.bound(d, pointer)})
	}
	for _, a := range all {
		if err := a.d.r.SetMethods(a.value, a.pointer); err != nil {
			return err
		}
		m.declared(a.d)
	}
	return nil
}

// declared makes the methods that are declared on a type known to calls by an
// interface.
func (m *mirror) declared(d *madeType) {
	t := d.r.Type()
	value, pointer := methodSets(m.source(d.typ))
	for i, s := range append(value, pointer...) {
		f := s.Obj().(*types.Func)
		n, byPointer := declaredOn(f)
		if n == nil {
			continue // of compiled code, or an interface's
		}
		on, path := d, s.Index()[:len(s.Index())-1]
		if len(path) > 0 {
			if on = m.made(n); on == nil {
				continue
			}
		}
		x := &method{on.method(f.Name()), path, byPointer}
		if i < len(value) {
			m.s.declared.Store(methodKey{t, runName(f)}, x)
		}
		m.s.declared.Store(methodKey{reflect.PointerTo(t), runName(f)}, x)
	}
}

// bound returns the methods of a type as compiled code calls them; d is nil for
// a struct without a name.
func (m *mirror) bound(d *madeType, set []*types.Selection) []rtype.Method {
	var out []rtype.Method
	for _, s := range set {
		f := s.Obj().(*types.Func)
		// Package reflect asks once how a function of these is called.
		for _, list := range []*types.Tuple{f.Signature().Params(), f.Signature().Results()} {
			for v := range list.Variables() {
				m.layout(v.Type())
			}
		}
		mt := rtype.Method{Name: runName(f), Hidden: !f.Exported(), Type: m.function(f.Signature())}
		if len(s.Index()) == 1 {
			mt.Call = m.direct(d, f)
		} else {
			mt.Call = m.promoted(s.Index(), f)
		}
		out = append(out, mt)
	}
	return out
}

// runName returns the name of a method as types have it: one that a cell does
// not export is exported for compiled cells, each of which is a package.
func runName(f *types.Func) string {
	if !f.Exported() && (interpreted(f.Pkg()) || isNative(f.Pkg())) {
		return exportMark + f.Name()
	}
	return f.Name()
}

// method returns the place of a method declared on a type.
func (d *madeType) method(name string) *boundMethod {
	b := d.methods[name]
	if b == nil {
		b = &boundMethod{name: d.shown + "." + name}
		d.methods[name] = b
	}
	return b
}

// direct returns the call of a method declared on a type.
func (m *mirror) direct(d *madeType, f *types.Func) func(reflect.Value, []reflect.Value) []reflect.Value {
	b := d.method(f.Name())
	_, byPointer := types.Unalias(f.Signature().Recv().Type()).(*types.Pointer)
	variadic := f.Signature().Variadic()
	return func(recv reflect.Value, args []reflect.Value) []reflect.Value {
		fn, ok := b.fn.Load().(reflect.Value)
		if !ok {
			panic(fmt.Sprintf("the method %s is not there: the cell that declares it did not run", b.name))
		}
		if !byPointer && recv.Kind() == reflect.Pointer && recv.Type() != fn.Type().In(0) {
			recv = recv.Elem()
		}
		in := append([]reflect.Value{recv}, args...)
		if variadic {
			return fn.CallSlice(in)
		}
		return fn.Call(in)
	}
}

// promoted returns the call of a method of an embedded field.
func (m *mirror) promoted(path []int, f *types.Func) func(reflect.Value, []reflect.Value) []reflect.Value {
	name := runName(f)
	n, byPointer := declaredOn(f)
	var call func(reflect.Value, []reflect.Value) []reflect.Value
	if n != nil {
		call = m.direct(m.declare(n), f)
	}
	path = path[:len(path)-1]
	return func(v reflect.Value, args []reflect.Value) []reflect.Value {
		if call != nil {
			v, ok := receiverIn(v, path, byPointer)
			if !ok {
				panic(nilDereference)
			}
			return call(v, args)
		}
		v, ok := fieldIn(v, path)
		if !ok || v.Kind() == reflect.Interface && v.IsNil() {
			panic(nilDereference)
		}
		f := v.MethodByName(name)
		if !f.IsValid() && v.CanAddr() {
			f = v.Addr().MethodByName(name)
		}
		if !f.IsValid() {
			panic(nilDereference)
		}
		if f.Type().IsVariadic() {
			return f.CallSlice(args)
		}
		return f.Call(args)
	}
}

// fieldIn returns the embedded field that a path leads to, and false where
// there is a nil pointer on the way.
func fieldIn(v reflect.Value, path []int) (reflect.Value, bool) {
	for _, i := range path {
		if v.Kind() == reflect.Pointer {
			v = v.Elem()
		}
		if !v.IsValid() {
			return v, false
		}
		v = rtype.Open(v.Field(i))
	}
	return v, true
}

// receiverIn returns the receiver of a method that is declared on what a path
// leads to, or on a pointer to it.
func receiverIn(v reflect.Value, path []int, byPointer bool) (reflect.Value, bool) {
	v, ok := fieldIn(v, path)
	if !ok {
		return v, false
	}
	switch isPointer := v.Kind() == reflect.Pointer; {
	case byPointer && !isPointer:
		return v.Addr(), true
	case !byPointer && isPointer:
		return v.Elem(), !v.IsNil()
	}
	return v, true
}

// methodName returns the function that a method of a cell's type is to the
// interpreter.
func (m *mirror) methodName(t *types.Named, method string) string {
	t, _ = m.canonical(t).(*types.Named)
	d := m.declare(t)
	name := mark + "f" + itoa(d.id) + "_" + method
	instanceNames.Store(name, d.shown+"."+method)
	return name
}

// methodNumber returns the number under which the interpreter hands over the
// function of a method.
func (m *mirror) methodNumber(t *types.Named, method string) int {
	t, _ = m.canonical(t).(*types.Named)
	m.methods = append(m.methods, m.declare(t).method(method))
	return len(m.methods) - 1
}

// bind receives the function of a method.
func (m *mirror) bind(i int, f any) { m.methods[i].fn.Store(reflect.ValueOf(f)) }

// adopt lets the types that a cell declares again as they were keep their
// identity: a cell that is run twice does not strand the values made before.
func (m *mirror) adopt(c *checked) {
	type candidate struct {
		t    *types.Named
		key  string
		deps map[string]*types.TypeName
	}
	var all []candidate
	for _, d := range c.decls {
		g, ok := d.decl.(*ast.GenDecl)
		if !ok || g.Tok != token.TYPE {
			continue
		}
		for _, s := range g.Specs {
			o, ok := c.info.Defs[s.(*ast.TypeSpec).Name].(*types.TypeName)
			if !ok || o.IsAlias() {
				continue
			}
			t, ok := o.Type().(*types.Named)
			if !ok || t.TypeParams().Len() > 0 {
				continue
			}
			all = append(all, candidate{t, declarationKey(c.next, t), dependencies(t)})
		}
	}
	same := map[string]*madeType{}
	for _, a := range all {
		n := a.t.Obj().Name()
		if d := m.last[n]; d != nil && d.key == a.key {
			same[n] = d
		}
	}
	// A type made of another that is new is new too.
	for again := true; again; {
		again = false
		for _, a := range all {
			n := a.t.Obj().Name()
			d := same[n]
			if d == nil {
				continue
			}
			for dep, o := range a.deps {
				if same[dep] == nil && d.deps[dep] != o {
					delete(same, n)
					again = true
					break
				}
			}
		}
	}
	last := maps.Clone(m.last)
	m.journal = append(m.journal, func() { m.last = last })
	m.last = maps.Clone(m.last)
	for _, a := range all {
		n := a.t.Obj().Name()
		d := same[n]
		if d == nil {
			d = m.declare(a.t)
		} else {
			m.set(&m.named, a.t, d)
			m.set(&m.types, a.t, d.r.Type())
		}
		old := *d
		m.journal = append(m.journal, func() { d.key, d.deps, d.typ = old.key, old.deps, old.typ })
		d.key, d.deps, d.typ = a.key, a.deps, a.t
		m.last[n] = d
	}
}

// declarationKey writes a type's declaration with its methods.
func declarationKey(p *program, t *types.Named) string {
	var b strings.Builder
	b.WriteString(types.TypeString(t.Underlying(), nil))
	if st, ok := t.Underlying().(*types.Struct); ok {
		for i := range st.NumFields() {
			b.WriteString("\n" + st.Tag(i))
		}
	}
	var methods []string
	for _, u := range p.units {
		if u.meth != "" && u.names[0] == t.Obj().Name() {
			methods = append(methods, u.text)
		}
	}
	slices.Sort(methods)
	b.WriteString("\n" + strings.Join(methods, "\n"))
	for f := range t.Methods() {
		b.WriteString("\n" + f.Name() + types.TypeString(f.Type(), nil))
	}
	return b.String()
}

// dependencies returns the session's types that t and its methods are made of.
func dependencies(t *types.Named) map[string]*types.TypeName {
	deps := map[string]*types.TypeName{}
	seen := map[types.Type]bool{}
	note := func(x types.Type) {
		if n, ok := x.(*types.Named); ok && n.Obj() != t.Obj() && n.Obj().Pkg() != nil && n.Obj().Pkg().Path() == "main" {
			deps[n.Obj().Name()] = n.Obj()
		}
	}
	walkType(t, note, seen)
	for f := range t.Methods() {
		walkType(f.Type(), note, seen)
	}
	return deps
}
