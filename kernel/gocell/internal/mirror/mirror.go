package mirror

import (
	"cmp"
	"errors"
	"fmt"
	"go/types"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/tools/go/types/typeutil"

	"dace.local/kernel/gocell/internal/check"
	"dace.local/kernel/gocell/internal/vm"
	"dace.local/kernel/gocell/rtype"
	"dace.local/kernel/gocell/symbols"
)

// Every type that a cell declares is made at run time as the compiler would make it
// (package rtype), with its name, fields and methods: package fmt, type switches and
// libraries see it as one of a compiled package. Cells call a method by its function,
// compiled code through the type.

// Hooks are the functions of the session that Types calls.
type Hooks struct {
	// Compiled returns the reflect type for a type that a compiled cell
	// declares, and Instance for an instance of a generic type; nil if there is
	// none.
	Compiled func(o *types.TypeName) reflect.Type
	Instance func(t *types.Named) reflect.Type
	// Canonical returns the standard library's type for a type that the prelude
	// declares in its place. It reports whether o is such a type.
	Canonical func(o *types.TypeName) (types.Object, bool)
	// Textual returns an instance of a generic type of the standard library as
	// the prelude's text declares it, or nil if the prelude has no text of it.
	Textual func(t *types.Named) *types.Named
	// Placed returns a value with the methods of x as cells have them; x itself where
	// they do not differ.
	Placed func(x any, method string) any
	// PlacedIn returns "" for a method of an interface that has no stand-in in any type.
	PlacedIn func(f *types.Func) string
}

// Types maps the checker's types to reflect types.
type Types struct {
	hooks   Hooks
	placer  *placer
	types   typeutil.Map // reflect.Type
	named   typeutil.Map // *madeType
	last    map[string]*declaration
	local   map[string][]*types.Named // types that functions declare, see check.LocalTypes
	generic []*madeType               // instances of generic types
	noted   int                       // how many of them Instances has returned
	unnamed []unnamedType
	// compiled has the last type name of a compiled cell for a compiled type: a cell that
	// is compiled again may have the types of before.
	compiled map[reflect.Type]*types.TypeName
	// same has the first name of the same type, for types of compiled cells and packages.
	same    map[*types.TypeName]*types.TypeName
	queue   []*madeType // types to define
	journal []func()    // functions that undo what the current cell added
	count   int
}

// A madeType is a named type of a cell.
type madeType struct {
	id      int
	shown   string
	typ     *types.Named
	r       *rtype.Named
	laid    bool
	methods map[string]*boundMethod // the methods declared on it
}

// An unnamedType is a struct or an interface without a name that is made here. Package
// reflect finds types of other kinds again by those that they are made of.
type unnamedType struct {
	typ types.Type
	r   reflect.Type
}

// A declaration is that of a type by a cell; the type may be generic.
type declaration struct {
	typ  *types.Named
	key  string // see declarationKey
	deps map[string]*types.TypeName
}

// notMade is the value of a panic for a type that cannot be made.
type notMade struct{ msg string }

// New returns Types that has made none yet.
func New(hooks Hooks) *Types {
	p := new(placer)
	if hooks.Placed != nil {
		p.find.Store(&hooks.Placed)
	}
	return &Types{hooks: hooks, placer: p, last: map[string]*declaration{}, local: map[string][]*types.Named{}, compiled: map[reflect.Type]*types.TypeName{}, same: map[*types.TypeName]*types.TypeName{}}
}

// Snapshot returns a function that removes everything added since; it is called
// when the cell does not compile.
func (m *Types) Snapshot() (undo func()) {
	m.journal = nil
	return m.undo
}

// undo removes what was added since the snapshot.
func (m *Types) undo() {
	for i := len(m.journal) - 1; i >= 0; i-- {
		m.journal[i]()
	}
	m.journal, m.queue = nil, nil
}

func (m *Types) set(in *typeutil.Map, t types.Type, v any) {
	old := in.Set(t, v)
	m.journal = append(m.journal, func() {
		if old == nil {
			in.Delete(t)
		} else {
			in.Set(t, old)
		}
	})
}

// TypeOf returns the reflect type for t, with an error if it cannot be made.
func (m *Types) TypeOf(t types.Type) (rt reflect.Type, err error) {
	defer func() {
		if r := recover(); r != nil {
			e, ok := r.(notMade)
			if !ok {
				panic(r)
			}
			err = errors.New(e.msg)
		}
	}()
	rt = m.Type(t)
	return rt, m.Finish()
}

// Instances returns the instances of generic types that have been made since its last
// call: also those that only another type mentions.
func (m *Types) Instances() (list []types.Type) {
	for ; m.noted < len(m.generic); m.noted++ {
		list = append(list, m.generic[m.noted].typ)
	}
	return list
}

// canonical replaces an instance of a generic type that the prelude's text
// declares by the instance of the standard library's type. Other types are
// returned as they are.
func (m *Types) canonical(t types.Type) types.Type {
	n, ok := t.(*types.Named)
	if !ok || n.TypeArgs().Len() == 0 {
		return t
	}
	if o, ok := m.hooks.Canonical(n.Obj()); ok {
		if i, err := types.Instantiate(nil, o.Type(), check.ListOf(n.TypeArgs()), false); err == nil {
			return i
		}
	}
	return t
}

// Type returns the reflect type for t. New named types are declared and queued;
// Finish defines them.
func (m *Types) Type(t types.Type) reflect.Type {
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
	types.Complex128: reflect.TypeFor[complex128](), types.String: reflect.TypeFor[string](), types.UnsafePointer: rtype.UnsafePointer,
}

func (m *Types) build(t types.Type) reflect.Type {
	switch t := t.(type) {
	case *types.Basic:
		if r, ok := basics[t.Kind()]; ok {
			return r
		}
	case *types.Pointer:
		return reflect.PointerTo(m.Type(t.Elem()))
	case *types.Slice:
		return reflect.SliceOf(m.Type(t.Elem()))
	case *types.Chan:
		dir := map[types.ChanDir]reflect.ChanDir{types.SendRecv: reflect.BothDir, types.SendOnly: reflect.SendDir, types.RecvOnly: reflect.RecvDir}[t.Dir()]
		return reflect.ChanOf(dir, m.Type(t.Elem()))
	case *types.Signature:
		return m.function(t)
	case *types.Array:
		m.layout(t.Elem())
		return reflect.ArrayOf(int(t.Len()), m.Type(t.Elem()))
	case *types.Map:
		m.layout(t.Key())
		m.layout(t.Elem())
		return reflect.MapOf(m.Type(t.Key()), m.Type(t.Elem()))
	case *types.Struct:
		return m.structure(t)
	case *types.Interface:
		return m.noteUnnamed(t, m.interfaceType(t, check.TypeText(t)))
	case *types.Named:
		return m.namedType(t)
	}
	panic(notMade{fmt.Sprintf("a cell cannot use the type %s", types.TypeString(t, check.ShortName))})
}

func (m *Types) noteUnnamed(t types.Type, r reflect.Type) reflect.Type {
	n := len(m.unnamed)
	m.unnamed = append(m.unnamed, unnamedType{t, r})
	m.journal = append(m.journal, func() { m.unnamed = m.unnamed[:n] })
	return r
}

func (m *Types) function(t *types.Signature) reflect.Type {
	list := func(tt *types.Tuple) []reflect.Type {
		var l []reflect.Type
		for v := range tt.Variables() {
			l = append(l, m.Type(v.Type()))
		}
		return l
	}
	return reflect.FuncOf(list(t.Params()), list(t.Results()), t.Variadic())
}

// structure makes an unnamed struct type, with the methods that its embedded fields
// promote.
func (m *Types) structure(t *types.Struct) reflect.Type {
	fields := make([]rtype.Field, t.NumFields())
	plain, path := true, ""
	for i := range fields {
		f := t.Field(i)
		m.layout(f.Type())
		fields[i] = rtype.Field{Name: f.Name(), Type: m.Type(f.Type()), Tag: t.Tag(i), Embedded: f.Embedded()}
		plain = plain && f.Exported() && !f.Embedded()
		path = f.Pkg().Path()
	}
	if !plain {
		r := rtype.Struct(check.TypeText(t), path, fields)
		if value, pointer := check.MethodSets(t); len(value)+len(pointer) > 0 {
			var err error
			if r, err = rtype.Promote(r, m.bound(nil, value), m.bound(nil, pointer)); err != nil {
				panic(notMade{err.Error()})
			}
		}
		return m.noteUnnamed(t, r)
	}
	std := make([]reflect.StructField, len(fields))
	for i, f := range fields {
		std[i] = reflect.StructField{Name: f.Name, Type: f.Type, Tag: reflect.StructTag(f.Tag)}
	}
	return reflect.StructOf(std)
}

func (m *Types) interfaceType(t *types.Interface, text string) reflect.Type {
	if t.NumMethods() == 0 {
		return reflect.TypeFor[any]()
	}
	var methods []rtype.Method
	for f := range t.Methods() {
		methods = append(methods, m.method(f))
	}
	return rtype.Interface(text, "main", methods)
}

func (m *Types) namedType(t *types.Named) reflect.Type {
	o := t.Obj()
	switch {
	case check.IsSeq(o):
		return m.Type(t.Underlying())
	case check.OfCells(o):
		return m.declare(t).r.Type()
	case o.Pkg() == nil:
		if o.Name() == "error" {
			return reflect.TypeFor[error]()
		}
	case check.IsNative(o.Pkg()) && t.TypeArgs().Len() > 0:
		if r := m.hooks.Instance(t); r != nil {
			return r
		}
		shown := types.TypeString(t, check.ShortName)
		panic(notMade{fmt.Sprintf("%s is compiled, and no compiled cell has this instance of it: var _ %s in one adds it", shown, shown)})
	case check.IsNative(o.Pkg()):
		if r := m.hooks.Compiled(o); r != nil {
			return r
		}
	case t.TypeArgs().Len() == 0:
		if syms, ok := symbols.Lookup(o.Pkg().Path(), nil); ok {
			if v, ok := syms[o.Name()]; ok && v.Kind() == reflect.Pointer && v.IsNil() {
				return v.Type().Elem()
			}
		}
		if o.Pkg().Path() == "unsafe" {
			return rtype.UnsafePointer
		}
		if r := check.CompiledType(o); r != nil {
			return r
		}
	}
	panic(notMade{fmt.Sprintf("a cell cannot use the type %s", types.TypeString(t, check.ShortName))})
}

// underlying returns the underlying type of a named type. For a generic type of
// the standard library it is that of the prelude's text.
func (m *Types) underlying(t *types.Named) types.Type {
	if t.TypeArgs().Len() > 0 && !check.Interpreted(t.Obj().Pkg()) {
		return m.textual(t).Underlying()
	}
	return t.Underlying()
}

// textual returns an instance of a generic type of the standard library as the
// prelude's text declares it.
func (m *Types) textual(t *types.Named) *types.Named {
	if x := m.hooks.Textual(t); x != nil {
		return x
	}
	panic(notMade{fmt.Sprintf("%s cannot be used in a cell: this generic of the standard library cannot be interpreted", types.TypeString(t, check.ShortName))})
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

// made returns the made type for a named type of a cell, or nil.
func (m *Types) made(t *types.Named) *madeType {
	d, _ := m.named.At(m.canonical(t)).(*madeType)
	return d
}

// declare makes a type without defining it, and queues it for Finish.
func (m *Types) declare(t *types.Named) *madeType {
	if d := m.made(t); d != nil {
		return d
	}
	m.count++
	u := m.underlying(t)
	d := &madeType{id: m.count, typ: t, shown: check.RuntimeTypeName(t), methods: map[string]*boundMethod{}}
	value, pointer := check.MethodSets(m.source(t))
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
	if n := len(m.generic); t.TypeArgs().Len() > 0 {
		m.generic = append(m.generic, d)
		m.journal = append(m.journal, func() { m.generic, m.noted = m.generic[:n], min(m.noted, n) })
	}
	m.queue = append(m.queue, d)
	return d
}

// source returns the type whose declaration has the methods of t. For a generic
// type of the standard library it is that of the prelude's text.
func (m *Types) source(t *types.Named) *types.Named {
	if t.TypeArgs().Len() > 0 && !check.Interpreted(t.Obj().Pkg()) {
		return m.textual(t)
	}
	return t
}

// layout gives sizes to the named types of cells that values of t contain.
func (m *Types) layout(t types.Type) {
	switch t := m.canonical(types.Unalias(t)).(type) {
	case *types.Named:
		if check.IsSeq(t.Obj()) || !check.OfCells(t.Obj()) {
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

// shape returns a type with the kind and layout of t that does not contain
// named types of cells.
func (m *Types) shape(t types.Type) reflect.Type {
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
			fields[i] = reflect.StructField{Name: "F" + strconv.Itoa(i), Type: m.shape(t.Field(i).Type())}
		}
		return reflect.StructOf(fields)
	case *types.Named:
		if check.OfCells(t.Obj()) {
			return m.shape(m.underlying(m.canonical(t).(*types.Named)))
		}
	}
	return m.Type(t)
}

// Finish defines the types that have been declared.
func (m *Types) Finish() error {
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
			d.r.Define(m.Type(u))
		}
		value, pointer := check.MethodSets(m.source(d.typ))
		all = append(all, methods{d, m.bound(d, value), m.bound(d, pointer)})
	}
	for _, a := range all {
		if err := a.d.r.SetMethods(a.value, a.pointer); err != nil {
			return err
		}
	}
	return nil
}

// bound returns the methods of a type as functions for compiled code to call. d
// is nil for an unnamed struct.
func (m *Types) bound(d *madeType, set []*types.Selection) []rtype.Method {
	var out []rtype.Method
	for _, s := range set {
		f := s.Obj().(*types.Func)
		// Package reflect determines only once how to call a function of these
		// types, so they need their sizes now.
		for _, list := range []*types.Tuple{f.Signature().Params(), f.Signature().Results()} {
			if check.HiddenMethod(f) {
				break
			}
			for v := range list.Variables() {
				m.layout(v.Type())
			}
		}
		mt := m.method(f)
		mt.Promoted = len(s.Index()) > 1
		switch {
		case len(s.Index()) == 1:
			mt.Call = m.direct(d, f)
		case mt.PkgPath != "":
			mt.Call = m.hidden(s)
		default:
			mt.Call = m.promoted(s.Index(), f)
			// The interface's own type of the method: iterators have no names in cells.
			if it := f.Signature().Recv().Type(); types.IsInterface(it) && !check.IsOwn(it) && f.Pkg() != nil && !check.IsNative(f.Pkg()) {
				if im, ok := m.Type(it).MethodByName(f.Name()); ok {
					mt.Type = im.Type
				}
			}
		}
		out = append(out, mt)
	}
	return out
}

// method returns the function of a method declared on the type, with no value
// until the declaring cell runs.
func (d *madeType) method(name string) *boundMethod {
	b := d.methods[name]
	if b == nil {
		b = &boundMethod{Name: d.shown + "." + name}
		d.methods[name] = b
	}
	return b
}

// direct returns a function that calls a method declared on the type.
func (m *Types) direct(d *madeType, f *types.Func) func(reflect.Value, []reflect.Value) []reflect.Value {
	b := d.method(f.Name())
	_, byPointer := types.Unalias(f.Signature().Recv().Type()).(*types.Pointer)
	variadic := f.Signature().Variadic()
	return func(recv reflect.Value, args []reflect.Value) []reflect.Value {
		fn, ok := b.Value()
		if !ok {
			panic(fmt.Sprintf("the method %s is not there: the cell that declares it did not run, or its session has ended", b.Name))
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

// method describes a method, without what it calls.
func (m *Types) method(f *types.Func) rtype.Method {
	mt := rtype.Method{Name: check.RuntimeName(f), Hidden: !f.Exported()}
	if !check.HiddenMethod(f) {
		mt.Type = m.function(f.Signature())
		return mt
	}
	mt.PkgPath = f.Pkg().Path()
	// The types of its parameters may have no names outside of their package.
	if it := check.HiddenIn(f); it != nil {
		if t := m.Type(it); hiddenIndex(t, mt.Name) >= 0 {
			mt.Type = t.Method(hiddenIndex(t, mt.Name)).Type
			return mt
		}
	}
	mt.Type = m.function(f.Signature())
	return mt
}

// hiddenIndex returns the index of an unexported method of an interface type, or -1.
func hiddenIndex(t reflect.Type, name string) int {
	for i := range t.NumMethod() {
		if x := t.Method(i); x.Name == name && x.PkgPath != "" {
			return i
		}
	}
	return -1
}

// hidden returns a function that calls an unexported method of a compiled package that an
// embedded field has.
func (m *Types) hidden(s *types.Selection) func(reflect.Value, []reflect.Value) []reflect.Value {
	path, name := s.Index()[:len(s.Index())-1], s.Obj().Name()
	by := m.Type(check.HiddenBy(s))
	return func(v reflect.Value, args []reflect.Value) []reflect.Value {
		v, ok := fieldIn(v, path)
		if ok && v.Kind() != reflect.Interface {
			if !v.Type().Implements(by) {
				v = v.Addr()
			}
			v = v.Convert(by)
		}
		if !ok || v.IsNil() {
			panic(vm.NilDereference)
		}
		return rtype.CallHidden(v, hiddenIndex(v.Type(), name), args)
	}
}

// promoted returns a function that calls a method of an embedded field, at
// path.
func (m *Types) promoted(path []int, f *types.Func) func(reflect.Value, []reflect.Value) []reflect.Value {
	name := check.RuntimeName(f)
	n, byPointer := check.DeclaredOn(f)
	var call func(reflect.Value, []reflect.Value) []reflect.Value
	if n != nil {
		call = m.direct(m.declare(n), f)
	}
	path = path[:len(path)-1]
	placer := m.placer // the method outlives the session
	placed := m.hooks.Placed != nil && (f.Pkg() != nil && slices.Contains([]string{"testing", "log", "sync"}, f.Pkg().Path()) || m.hooks.PlacedIn(f) != "")
	return func(v reflect.Value, args []reflect.Value) []reflect.Value {
		if call != nil {
			v, ok := receiverIn(v, path, byPointer)
			if !ok {
				panic(vm.NilDereference)
			}
			return call(v, args)
		}
		outer := v
		v, ok := fieldIn(v, path)
		if !ok || v.Kind() == reflect.Interface && v.IsNil() {
			panic(vm.NilDereference)
		}
		f := v.MethodByName(name)
		if !f.IsValid() && v.CanAddr() {
			f = v.Addr().MethodByName(name)
		}
		if placed {
			f = placer.method(outer, path, name, f)
		}
		if !f.IsValid() {
			panic(vm.NilDereference)
		}
		if f.Type().IsVariadic() {
			return f.CallSlice(args)
		}
		return f.Call(args)
	}
}

// Forget lets go of what the methods of the types call, with all that the session has made:
// the types live as long as the process.
func (m *Types) Forget() {
	m.placer.find.Store(nil)
	m.named.Iterate(func(_ types.Type, d any) {
		for name, b := range d.(*madeType).methods {
			b.fn.Store(reflect.Value{})
			d.(*madeType).setMethod(name, reflect.Value{})
		}
	})
}

// Bind sets the function of a method of a cell's type.
func (m *Types) Bind(t *types.Named, method string, f reflect.Value) {
	t, _ = m.canonical(t).(*types.Named)
	d := m.declare(t)
	d.method(method).fn.Store(f)
	d.setMethod(method, reflect.Value{})
}

// Compiled has interfaces call a compiled function in the place of a method of a cell's
// type, until Bind sets another. It has a pointer to the receiver as its first parameter;
// the zero Value is the method itself.
func (m *Types) Compiled(t types.Type, method string, f reflect.Value) {
	if d := m.made(t.(*types.Named)); d != nil {
		d.setMethod(method, f)
	}
}

func (d *madeType) setMethod(method string, f reflect.Value) {
	for m := range d.typ.Origin().Methods() {
		if m.Name() == method {
			d.r.SetMethod(check.RuntimeName(m), f)
		}
	}
}

// Adopt keeps the identity of types that a cell declares again unchanged, so
// that values made before the cell ran again keep their types. It returns the types
// that the cell declares, without the generic ones, and the instances of generic types
// and unnamed types that are made of one that is declared again.
func (m *Types) Adopt(c *check.Checked) (list []types.Type) {
	to := m.recompiled(c.Natives)
	var all []*declaration
	same := map[string]*declaration{}
	for _, t := range c.Types() {
		d := &declaration{t, declarationKey(c.Next, t), m.dependencies(t)}
		all = append(all, d)
		if was := m.last[t.Obj().Name()]; was != nil && was.key == d.key {
			same[t.Obj().Name()] = was
		}
	}
	// A type that contains a new type is new too.
	for again := true; again; {
		again = false
		for _, d := range all {
			n := d.typ.Obj().Name()
			was := same[n]
			if was == nil {
				continue
			}
			for dep, o := range d.deps {
				if same[dep] == nil && was.deps[dep] != o {
					delete(same, n)
					again = true
					break
				}
			}
		}
	}
	last := m.last
	m.journal = append(m.journal, func() { m.last = last })
	m.last = maps.Clone(m.last)
	for _, d := range all {
		n := d.typ.Obj().Name()
		m.last[n] = d
		was := same[n]
		if was != nil {
			to[was.typ.Obj()] = d.typ
		}
		if d.typ.TypeParams().Len() > 0 {
			continue
		}
		list = append(list, d.typ)
		if was != nil {
			m.takeOver(m.made(was.typ), d.typ)
		} else {
			m.declare(d.typ)
		}
	}
	list = append(list, m.localAgain(c, to)...)
	return append(list, m.madeOf(to)...)
}

// localAgain has types that functions declare follow those that the functions declared
// before in their places, if these are identical. It adds them to the types that are declared
// again, and returns those that are.
func (m *Types) localAgain(c *check.Checked, to map[*types.TypeName]*types.Named) (list []types.Type) {
	was := m.local
	m.local = maps.Clone(was)
	m.journal = append(m.journal, func() { m.local = was })
	again := map[*types.Named]*types.Named{}
	for function, declared := range c.LocalTypes() {
		for i, t := range declared {
			if old := was[function]; i < len(old) && old[i].Obj().Name() == t.Obj().Name() && t.TypeParams().Len() == 0 {
				again[old[i]], to[old[i].Obj()] = t, t
			}
		}
		m.local[function] = declared
	}
	for settled := false; !settled; {
		settled = true
		for old, t := range again {
			if u, _ := check.Replace(old.Underlying(), to); !types.Identical(u, t.Underlying()) {
				delete(again, old)
				delete(to, old.Obj())
				settled = false
			}
		}
	}
	for old, t := range again {
		if d := m.made(old); d != nil {
			m.takeOver(d, t)
			list = append(list, t)
		}
	}
	return list
}

// recompiled maps the types of compiled cells whose compiled types other cells of a list
// have now to the types of these.
func (m *Types) recompiled(natives []*check.Native) map[*types.TypeName]*types.Named {
	to := map[*types.TypeName]*types.Named{}
	for _, n := range natives {
		for _, name := range n.Package.Scope().Names() {
			o, ok := n.Package.Scope().Lookup(name).(*types.TypeName)
			if !ok || o.IsAlias() {
				continue
			}
			r := m.hooks.Compiled(o)
			if i := slices.IndexFunc(n.Instances, func(x *types.Named) bool { return x.Obj() == o }); i >= 0 {
				r = m.hooks.Instance(n.Instances[i])
			}
			was := m.compiled[r]
			if r == nil || was == o {
				continue
			}
			if m.same[o] = o; was != nil {
				m.same[o] = m.same[was]
				to[was] = o.Type().(*types.Named)
			}
			m.compiled[r] = o
			m.journal = append(m.journal, func() { m.compiled[r] = was })
		}
	}
	return to
}

// madeOf has instances of generic types and unnamed types follow the types that they are
// made of, and returns those that are others now.
func (m *Types) madeOf(to map[*types.TypeName]*types.Named) (list []types.Type) {
	if len(to) == 0 {
		return nil
	}
	for _, d := range m.generic {
		if t, changed := check.Replace(d.typ, to); changed {
			m.takeOver(d, t.(*types.Named))
			list = append(list, t)
		}
	}
	for i, u := range m.unnamed {
		if t, changed := check.Replace(u.typ, to); changed {
			m.set(&m.types, t, u.r)
			m.unnamed[i].typ = t
			m.journal = append(m.journal, func() { m.unnamed[i].typ = u.typ })
			list = append(list, t)
		}
	}
	return list
}

// takeOver makes a run-time type that of t.
func (m *Types) takeOver(d *madeType, t *types.Named) {
	m.set(&m.named, t, d)
	m.set(&m.types, t, d.r.Type())
	old := d.typ
	m.journal = append(m.journal, func() { d.typ = old })
	d.typ = t
}

// declarationKey returns a text that differs if two declarations of a type do:
// its type parameters, underlying type, tags and methods, and the aliases in them.
func declarationKey(p *check.Program, t *types.Named) string {
	var b strings.Builder
	for p := range t.TypeParams().TypeParams() {
		b.WriteString(p.String() + " " + types.TypeString(p.Constraint(), nil) + "\n")
	}
	aliases := map[string]bool{}
	walkDeclaration(t, func(t types.Type) {
		if a, ok := t.(*types.Alias); ok {
			aliases[types.TypeString(a, nil)+" = "+types.TypeString(types.Unalias(a), nil)+"\n"] = true
		}
	})
	b.WriteString(strings.Join(slices.Sorted(maps.Keys(aliases)), ""))
	b.WriteString(types.TypeString(t.Underlying(), nil))
	if st, ok := t.Underlying().(*types.Struct); ok {
		for i := range st.NumFields() {
			b.WriteString("\n" + st.Tag(i))
		}
	}
	var methods []string
	for _, u := range p.Units {
		if u.Method != "" && u.Names[0] == t.Obj().Name() {
			methods = append(methods, u.Text)
		}
	}
	for f := range t.Methods() {
		methods = append(methods, f.Name()+types.TypeString(f.Type(), nil))
	}
	slices.Sort(methods)
	b.WriteString("\n" + strings.Join(methods, "\n"))
	return b.String()
}

// walkDeclaration calls f for what check.WalkType finds in a type, its constraints and methods.
func walkDeclaration(t *types.Named, f func(types.Type)) {
	seen := map[types.Type]bool{}
	check.WalkType(t, f, seen)
	for p := range t.TypeParams().TypeParams() {
		check.WalkType(p.Constraint(), f, seen)
	}
	for m := range t.Methods() {
		check.WalkType(m.Type(), f, seen)
	}
}

// Follow gives types of packages that were replaced the identity that those of the
// older package had, so that values made before keep their types. to maps the older
// ones to the newer. It returns instances and unnamed types as Adopt does.
func (m *Types) Follow(to map[*types.TypeName]*types.Named) []types.Type {
	list := m.madeOf(to)
	for old, now := range to {
		m.same[now.Obj()] = cmp.Or(m.same[old], old)
	}
	for _, in := range []*typeutil.Map{&m.named, &m.types} {
		now := map[types.Type]any{}
		in.Iterate(func(key types.Type, v any) {
			if t, changed := check.Replace(key, to); changed {
				now[t] = v
			}
		})
		for t, v := range now {
			in.Set(t, v)
			if d, ok := v.(*madeType); ok && d.typ.TypeArgs().Len() == 0 { // madeOf has set others
				d.typ = t.(*types.Named)
			}
		}
	}
	return list
}

// dependencies returns the session's types, and those of fetched packages, that t
// and its methods refer to.
func (m *Types) dependencies(t *types.Named) map[string]*types.TypeName {
	deps := map[string]*types.TypeName{}
	walkDeclaration(t, func(x types.Type) {
		n, ok := x.(*types.Named)
		switch {
		case !ok || n.Obj() == t.Obj() || n.Obj().Pkg() == nil:
		case n.Obj().Pkg().Path() == "main":
			deps[n.Obj().Name()] = cmp.Or(m.same[n.Obj()], n.Obj())
		case check.FetchedOf(n.Obj().Pkg()) != nil:
			deps[types.TypeString(n.Origin(), nil)] = cmp.Or(m.same[n.Obj()], n.Obj())
		}
	})
	return deps
}
