package compile

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"maps"
	"reflect"
	"slices"
	"sync"
	"weak"

	"dace.local/kernel/gocell/internal/check"
	"dace.local/kernel/gocell/internal/code"
	"dace.local/kernel/gocell/rtype"
)

// Host is what a Compiler asks of those who use it.
type Host struct {
	// Type returns the run-time type of a type.
	Type func(t types.Type) (reflect.Type, error)
	// Instances returns the instances of generic types that Type has made since its last
	// call. It may be nil.
	Instances func() []types.Type
	// Symbol returns a function, a variable (as its address) or a constant that a
	// package exports, which is compiled into this process.
	Symbol func(path, name string) (reflect.Value, bool)
	// Bind gives a method that a cell declares its function, for libraries to
	// call.
	Bind func(t *types.Named, method string, fn reflect.Value)
	// Instance returns a generic function of a library, or a method of a generic
	// type, for type arguments: as an ordinary function, a method with its receiver
	// as first parameter. MethodsOf lists the methods of a type that it has. Both may
	// be nil.
	Instance  InstanceFunc
	MethodsOf func(o types.Object) []string
	// Compiled returns an instance of a generic function of a library that is compiled
	// into this process. It may be nil.
	Compiled func(o types.Object, args []types.Type) (reflect.Value, bool)
	// StandIn returns the function that replaces a method of a library, with its
	// receiver as first parameter. It may be nil.
	StandIn func(m *types.Func) (reflect.Value, bool)
	// StandInOf is StandIn for a method of a type that an interface holds.
	StandInOf func(t reflect.Type, method string) (reflect.Value, bool)
	// Shares says of a function of a library, or of the method with a name, and of the
	// types of receiver and arguments, which of them may be objects that goroutines must
	// not use at the same time, and what else of that kind it uses. It may be nil.
	Shares func(fn reflect.Value, method string, args []reflect.Type) (objects []bool, fixed []reflect.Value, write bool)
	// MethodName returns the name that a method has in run-time types.
	MethodName func(f *types.Func) string
}

// An Error says what cannot be compiled, and where.
type Error struct {
	Pos token.Pos
	Msg string
}

func (e *Error) Error() string { return e.Msg }

// A Compiler compiles the packages of a session.
type Compiler struct {
	Machine *code.Machine
	Files   *token.FileSet
	// Stops are the statements before which a debugger may stop.
	Stops map[ast.Stmt]Stop

	mu       sync.Mutex // held while something is compiled, also when code that runs asks for a method
	host     Host
	decls    map[*types.Func]*declaration
	declared map[string][]*types.Func // by names as shown: those of cells that are in force
	replaced map[*types.Func]weak.Pointer[declaration]
	vars     map[weak.Pointer[types.Var]]*code.Var // package-level variables, which cells declare again and again
	library  map[libraryKey][]*instance
	locals   map[token.Pos]int // numbers of types that are declared in functions
	types    map[types.Type]reflect.Type
	byData   map[methodKey]*dataMethod
	named    map[reflect.Type]types.Type // types whose methods cells declare
	queue    []func()
	begun    []func()                   // what undoes the changes since compiling began
	depth    int                        // how many instances lead to the one that is compiled
	at       token.Pos                  // of the instance that is asked for
	made     map[string]*types.Var      // variables of fetched packages by their generated names
	bound    map[any]bool               // types whose methods have functions; of instances the run-time types
	hooked   map[*code.Entry]*code.Func // what functions are that call others in their place
	sample   func(f *code.Frame)        // what statements call while a profile is taken; see code.Sampled
	callees  map[token.Pos]string       // names of called functions, noted for a profile
}

type methodKey struct {
	t    reflect.Type
	name string
}

// An InstanceFunc finds the text of an instance, see Host.
type InstanceFunc func(o types.Object, method string, args []types.Type) (*ast.FuncDecl, *types.Info, bool)

// A dataMethod is a method for calls with an interface's data word. Places of calls keep
// its entry, which is given the Func of another where a cell declares the method again.
type dataMethod struct {
	entry code.Entry
	of    *code.Entry
}

// A declaration is a function or method with its syntax, and what has been compiled of it.
type declaration struct {
	syntax *ast.FuncDecl
	info   *types.Info
	shared bool // turns of a loop share its variables, as before Go 1.22

	uses      map[*types.Var]*use // nil until it is compiled
	entry     *code.Entry         // nil until it is used, and if it is generic
	instances []*instance
	substs    []substituted
	bodies    []func() // that have been compiled, for Again
}

// libraryInstance returns the entry of a generic function of a library, or of a
// method of a generic type, or nil if its text is not known.
func (c *Compiler) libraryInstance(o types.Object, method string, args []types.Type) *code.Entry {
	if c.host.Instance == nil {
		return nil
	}
	key := libraryKey{o, method}
	for _, in := range c.library[key] {
		if identicalLists(in.args, args) {
			return in.entry
		}
	}
	d, info, ok := c.host.Instance(o, method, args)
	if !ok {
		return nil
	}
	in := &instance{args, &code.Entry{}}
	known := c.library[key]
	c.library[key] = append(known, in)
	c.begun = append(c.begun, func() { c.library[key] = known })
	name := o.Pkg().Name() + "." + o.Name()
	if method != "" {
		name += "." + method
	}
	c.queue = append(c.queue, func() {
		in.entry.Fn = c.function(&declaration{syntax: d, info: info}, nil, info.Defs[d.Name].(*types.Func).Signature(), name, false)
	})
	return in.entry
}

// A libraryKey is a generic function of a library, or a method of a generic type.
type libraryKey struct {
	o      types.Object
	method string
}

// An instance is a generic function or method with type arguments.
type instance struct {
	args  []types.Type
	entry *code.Entry
}

// New returns a compiler whose code runs on a machine.
func New(m *code.Machine, files *token.FileSet, host Host) *Compiler {
	return &Compiler{Machine: m, Files: files, host: host, decls: map[*types.Func]*declaration{},
		vars: map[weak.Pointer[types.Var]]*code.Var{}, library: map[libraryKey][]*instance{}, locals: map[token.Pos]int{},
		types: map[types.Type]reflect.Type{}, byData: map[methodKey]*dataMethod{}, declared: map[string][]*types.Func{}, replaced: map[*types.Func]weak.Pointer[declaration]{},
		named: map[reflect.Type]types.Type{}, made: map[string]*types.Var{}, bound: map[any]bool{}, hooked: map[*code.Entry]*code.Func{}}
}

// A Package is the code of a package.
type Package struct {
	init []*code.Entry // in order
	main *code.Entry   // func main, or nil
}

// Init initializes the package's variables and runs its init functions.
func (p *Package) Init(m *code.Machine) {
	for _, e := range p.init {
		m.Call(e)
	}
}

// Main runs func main.
func (p *Package) Main(m *code.Machine) { m.Call(p.main) }

// Package compiles the files of a package that have been checked with info.
func (c *Compiler) Package(files []*ast.File, info *types.Info) (p *Package, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	defer c.refused(&err)
	p = &Package{}
	var inits []*code.Entry
	for _, file := range files {
		for _, d := range file.Decls {
			fd, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			o := info.Defs[fd.Name].(*types.Func)
			c.decls[o] = &declaration{syntax: fd, info: info}
			switch {
			case fd.Recv == nil && fd.Name.Name == "init":
				inits = append(inits, c.entry(o))
			case fd.Recv == nil && fd.Name.Name == "main":
				p.main = c.entry(o)
			}
		}
	}
	for _, file := range files {
		c.noteLocals(file, info)
	}
	for _, in := range info.InitOrder {
		p.init = append(p.init, c.initializer(in, info, false))
	}
	p.init = append(p.init, inits...)
	c.finish()
	return p, nil
}

// noteLocals numbers the types that functions declare, as the run time's names of
// types have them.
func (c *Compiler) noteLocals(file ast.Node, info *types.Info) {
	ast.Inspect(file, func(n ast.Node) bool {
		if s, ok := n.(*ast.TypeSpec); ok && !s.Assign.IsValid() {
			if o := info.Defs[s.Name]; o != nil && o.Pkg() != nil && o.Parent() != o.Pkg().Scope() {
				c.locals[o.Pos()] = len(c.locals) + 1
				check.NoteLocal(o, c.locals[o.Pos()], nil)
			}
		}
		return true
	})
}

// refused recovers the panic of refuse. What has been begun of functions of earlier cells, and
// of libraries, is as if it had not been asked for.
func (c *Compiler) refused(err *error) {
	r := recover()
	if r != nil {
		for _, undo := range slices.Backward(c.begun) {
			undo()
		}
		c.queue = nil
		clear(c.types)
	}
	c.begun = nil
	if e, ok := r.(*Error); ok {
		*err = e
	} else if r != nil {
		panic(r)
	}
}

// refuse ends the compilation with an error at a position.
func (c *Compiler) refuse(pos token.Pos, format string, args ...any) {
	panic(&Error{pos, fmt.Sprintf(format, args...)})
}

// finish compiles the bodies of what has been used, and of methods of instances that only
// other types mention: libraries may call these.
func (c *Compiler) finish() {
	c.depth = 0
	for again := true; again; {
		for len(c.queue) > 0 {
			next := c.queue[0]
			c.queue = c.queue[1:]
			next()
		}
		again = false
		if c.host.Instances != nil {
			for _, t := range c.host.Instances() {
				c.note(t, c.runtime(t, token.NoPos))
				again = true
			}
		}
	}
	c.queue = nil
}

// compile queues a body of a declared function, which Again compiles once more.
func (c *Compiler) compile(d *declaration, body func()) {
	n := len(d.bodies)
	c.queue, d.bodies = append(c.queue, body), append(d.bodies, body)
	c.begun = append(c.begun, func() { d.bodies = d.bodies[:n] })
}

// Again compiles the functions of cells once more, as they are called from now on. stops
// is called before for each declaration; nothing is done if it is false for all.
func (c *Compiler) Again(stops func(d *ast.FuncDecl, info *types.Info) bool) (err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	defer c.refused(&err)
	any := false
	for _, d := range c.decls {
		any = stops(d.syntax, d.info) || any
	}
	if any {
		clear(c.hooked)
		c.again()
	}
	return nil
}

// again compiles once more what has been compiled of functions of cells, also of those that
// have been replaced and may still run.
func (c *Compiler) again() {
	for _, d := range c.decls {
		c.queue = append(c.queue, d.bodies...)
	}
	for _, p := range c.replaced {
		if d := p.Value(); d != nil {
			c.queue = append(c.queue, d.bodies...)
		}
	}
	c.finish()
	c.follow()
}

// follow gives the methods for calls with a data word what they are now.
func (c *Compiler) follow() {
	for _, m := range c.byData {
		if m != nil {
			m.entry.Fn = m.of.Fn
		}
	}
}

// declaration returns the declaration of a function of cells or of a fetched package, nil
// for others.
func (c *Compiler) declaration(o *types.Func) *declaration {
	if d := c.decls[o]; d != nil {
		return d
	}
	return c.replaced[o].Value()
}

// replace gives up the declarations in whose place a cell has declared others. Code that
// has been compiled of one keeps it, by Func.Source, together with those that it uses: it
// may run on, and its methods may be compiled for calls with a data word.
func (c *Compiler) replace(x *Cell) {
	maps.DeleteFunc(c.vars, func(p weak.Pointer[types.Var], _ *code.Var) bool { return p.Value() == nil })
	maps.DeleteFunc(c.replaced, func(_ *types.Func, p weak.Pointer[declaration]) bool { return p.Value() == nil })
	now := map[string][]*types.Func{}
	for _, d := range x.Decls {
		o := x.Info.Defs[d.Name].(*types.Func)
		now[shownName(o, nil)] = append(now[shownName(o, nil)], o)
	}
	for name, list := range now {
		for _, o := range c.declared[name] {
			d := c.decls[o]
			if own := c.hooked[d.entry]; own != nil {
				d.entry.Fn = own
				delete(c.hooked, d.entry)
				c.follow()
			}
			if c.stays(o, d) {
				d.detach()
			}
			c.replaced[o] = weak.Make(d)
			delete(c.decls, o)
		}
		c.declared[name] = list
	}
}

// stays reports whether the declaration is of a method that values of its type need for
// good: the type has not been declared again as the same.
func (c *Compiler) stays(o *types.Func, d *declaration) bool {
	if d.syntax.Recv == nil {
		return false
	}
	n := namedOf(o.Signature().Recv().Type())
	return len(d.instances) > 0 || n.TypeArgs().Len() == 0 && c.named[c.runtime(n, o.Pos())] == n
}

// detach leaves the declaration what the checker has noted of itself: not of all its cell.
func (d *declaration) detach() {
	own := check.NewInfo()
	ast.Inspect(d.syntax, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Ident:
			copyKey(own.Defs, d.info.Defs, n)
			copyKey(own.Uses, d.info.Uses, n)
			copyKey(own.Instances, d.info.Instances, n)
		case *ast.SelectorExpr:
			copyKey(own.Selections, d.info.Selections, n)
		}
		if x, ok := n.(ast.Expr); ok {
			copyKey(own.Types, d.info.Types, x)
		}
		copyKey(own.Implicits, d.info.Implicits, n)
		return true
	})
	*d.info = *own
}

func copyKey[K comparable, V any](to, from map[K]V, k K) {
	if v, ok := from[k]; ok {
		to[k] = v
	}
}

// entry returns the entry of a function or method that is not generic, and
// queues its body if it is new.
func (c *Compiler) entry(o *types.Func) *code.Entry {
	d := c.declaration(o)
	if d == nil || d.syntax.Body == nil {
		c.refuse(o.Pos(), "the function %s has no body", o.FullName())
	}
	if d.entry == nil {
		e := &code.Entry{}
		d.entry = e
		c.begun = append(c.begun, func() { d.entry = nil })
		c.compile(d, func() { e.Fn = c.function(d, nil, o.Signature(), shownName(o, nil), false) })
	}
	return d.entry
}

// instance returns the entry of a generic function or of a method of a generic
// type for a list of type arguments.
func (c *Compiler) instance(o *types.Func, args []types.Type) *code.Entry {
	d := c.declaration(o)
	if d == nil || d.syntax.Body == nil {
		c.refuse(o.Pos(), "the generic function %s cannot be compiled here: its text is not known", o.FullName())
	}
	for _, in := range d.instances {
		if identicalLists(in.args, args) {
			return in.entry
		}
	}
	if c.depth > maxDepth {
		c.refuse(c.at, "%s cannot be instantiated: it requires an endless chain of instances", o.Name())
	}
	in := &instance{args, &code.Entry{}}
	n := len(d.instances)
	d.instances = append(d.instances, in)
	c.begun = append(c.begun, func() { d.instances = d.instances[:n] })
	sig := o.Signature()
	params := sig.TypeParams()
	if sig.Recv() != nil {
		params = sig.RecvTypeParams()
	}
	s := c.substitution(d, params, args)
	for i, id := range typeParams(d.syntax) {
		if o, ok := d.info.Defs[id].(*types.TypeName); ok && i < len(args) {
			if p, ok := o.Type().(*types.TypeParam); ok {
				s.params[p] = args[i] // a body that has been checked apart has its own
			}
		}
	}
	depth := c.depth + 1
	c.compile(d, func() {
		c.depth = depth
		in.entry.Fn = c.function(d, s, sig, shownName(o, args), false)
		c.depth = 0
	})
	return in.entry
}

// maxDepth is how many instances there are at most each of which needs the next.
const maxDepth = 100

// typeParams returns the names of the type parameters of a function or of its
// receiver.
func typeParams(d *ast.FuncDecl) []*ast.Ident {
	var ids []*ast.Ident
	if d.Recv == nil {
		if d.Type.TypeParams != nil {
			for _, f := range d.Type.TypeParams.List {
				ids = append(ids, f.Names...)
			}
		}
		return ids
	}
	t := ast.Unparen(d.Recv.List[0].Type)
	if p, ok := t.(*ast.StarExpr); ok {
		t = ast.Unparen(p.X)
	}
	switch x := t.(type) {
	case *ast.IndexExpr:
		ids = append(ids, x.Index.(*ast.Ident))
	case *ast.IndexListExpr:
		for _, i := range x.Indices {
			ids = append(ids, i.(*ast.Ident))
		}
	}
	return ids
}

// substitution returns that of a generic function's type parameters.
func (c *Compiler) substitution(d *declaration, params *types.TypeParamList, args []types.Type) *substitution {
	for _, in := range d.substs {
		if identicalLists(in.args, args) {
			return in.s // with its local types
		}
	}
	s := substitutionOf(params, args, nil)
	s.declared = func(o, from *types.TypeName, own []types.Type) {
		check.NoteLocalInstance(o, c.locals[from.Pos()], args, own)
	}
	d.substs = append(d.substs, substituted{args, s})
	return s
}

// substituted is a substitution for a list of type arguments.
type substituted struct {
	args []types.Type
	s    *substitution
}

func identicalLists(a, b []types.Type) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !types.Identical(a[i], b[i]) {
			return false
		}
	}
	return true
}

// shownName is the name of a function in tracebacks.
func shownName(o *types.Func, args []types.Type) string {
	name := o.Name()
	if r := o.Signature().Recv(); r != nil {
		t, star := types.Unalias(r.Type()), ""
		if p, ok := t.(*types.Pointer); ok {
			t, star = types.Unalias(p.Elem()), "*"
		}
		if n, ok := t.(*types.Named); ok {
			if name = n.Obj().Name() + "." + name; star != "" {
				name = "(*" + n.Obj().Name() + ")." + o.Name()
			}
		}
	} else if len(args) > 0 {
		name += "[" + check.TypeList(args, nil) + "]"
	}
	switch {
	case o.Pkg() == nil:
		return name // of error
	case check.IsNative(o.Pkg()):
		return "main." + name
	}
	return o.Pkg().Name() + "." + name
}

// Variable returns a package-level variable.
func (c *Compiler) Variable(v *types.Var) *code.Var { return c.variable(v) }

// variable returns a package-level variable.
func (c *Compiler) variable(v *types.Var) *code.Var {
	g := c.known(v)
	if g == nil {
		g = c.Alias(v)
	}
	return g
}

// known returns a package-level variable that something uses, else nil.
func (c *Compiler) known(v *types.Var) *code.Var { return c.vars[weak.Make(v)] }

// initializer compiles the initialization of package-level variables.
func (c *Compiler) initializer(in *types.Initializer, info *types.Info, shared bool) *code.Entry {
	e := &code.Entry{}
	c.queue = append(c.queue, func() {
		f := c.newFunction(info, nil, in.Rhs, uses(info, in.Rhs))
		f.name, f.shared = "main.init", shared
		var lhs []ast.Expr
		var places []target
		for _, v := range in.Lhs {
			lhs = append(lhs, nil)
			if v.Name() == "_" {
				places = append(places, target{t: v.Type(), blank: true})
			} else {
				places = append(places, target{t: v.Type(), place: code.Global(c.variable(v))})
			}
		}
		var s code.Do
		if len(lhs) == 1 {
			s = f.assignOne(places[0], in.Rhs)
		} else {
			s = f.assignCall(places, in.Rhs)
		}
		f.body = code.Block([]code.Line{{Do: s, Pos: int32(in.Rhs.Pos())}})
		e.Fn = f.finish(code.SignatureOf(reflect.TypeFor[func()]()))
	})
	return e
}

// runtime returns the run-time type of a type.
func (c *Compiler) runtime(t types.Type, pos token.Pos) reflect.Type {
	if r, ok := c.types[t]; ok {
		return r
	}
	if b, ok := t.(*types.Basic); ok && b.Info()&types.IsUntyped != 0 {
		t = types.Default(t)
	}
	r, err := c.host.Type(t)
	if err != nil {
		c.refuse(pos, "%v", err)
	}
	c.types[t] = r
	c.note(t, r)
	return r
}

// note remembers the types whose methods cells declare, for calls through
// interfaces, and gives the methods their functions.
func (c *Compiler) note(t types.Type, r reflect.Type) {
	p := types.Unalias(t)
	if ptr, ok := p.(*types.Pointer); ok {
		p = types.Unalias(ptr.Elem())
	}
	if _, ok := p.(*types.Struct); ok && types.NewMethodSet(t).Len() > 0 {
		if c.named[r] == nil {
			c.named[r] = t
			c.begun = append(c.begun, func() { delete(c.named, r) })
		}
		return
	}
	n, ok := p.(*types.Named)
	if !ok || types.IsInterface(n) {
		return
	}
	var key any = n
	if n.TypeArgs().Len() > 0 { // others are identical
		key = c.runtime(n, token.NoPos)
	}
	if !c.ofCells(n) {
		if n.TypeArgs().Len() > 0 && c.host.MethodsOf != nil && !c.bound[key] {
			c.noted(key)
			c.queue = append(c.queue, func() { c.bindLibrary(n, c.host.MethodsOf(n.Obj())) })
		}
		return
	}
	if c.bound[key] {
		return
	}
	c.noted(key)
	for _, t := range []types.Type{n, types.NewPointer(n)} {
		r := c.runtime(t, token.NoPos)
		old := c.named[r]
		if old != nil {
			c.queue = append(c.queue, func() { c.renew(r) })
		}
		c.named[r] = t
		c.begun = append(c.begun, func() { c.named[r] = old })
	}
	c.queue = append(c.queue, func() { c.bind(n) })
}

// renewed notes a type that has taken over the run-time type of an older one, with the
// methods as they are declared now. (Code that has the older one leaves them.)
func (c *Compiler) renewed(t types.Type) {
	r := c.runtime(t, token.NoPos)
	of, bound := c.named[r], c.bound[r]
	if of == nil || types.Identical(of, t) {
		return
	}
	c.begun = append(c.begun, func() { c.named[r], c.bound[r] = of, bound })
	delete(c.bound, r)
	if namedOf(t) == nil { // a struct
		delete(c.named, r)
	}
	c.note(t, r)
}

// noted notes that a type's methods get their functions.
func (c *Compiler) noted(key any) {
	c.bound[key] = true
	c.begun = append(c.begun, func() { delete(c.bound, key) })
}

// renew has interfaces that hold a type call its methods as they are now: they have been
// compiled again with what they use, and the type is the same. So may be unnamed types, and
// those of functions, that embed it.
func (c *Compiler) renew(r reflect.Type) {
	for key, m := range c.byData {
		if of := c.named[key.t]; m != nil && (key.t == r || of != nil && (namedOf(of) == nil || !check.PackageLevel(namedOf(of).Obj()))) {
			was := m.of
			m.of = c.dataMethod(of, key.t, key.name)
			c.begun = append(c.begun, func() { m.of, m.entry.Fn = was, was.Fn })
			c.queue = append(c.queue, func() { m.entry.Fn = m.of.Fn })
		}
	}
}

// ofCells reports whether the methods of a type are compiled here.
func (c *Compiler) ofCells(n *types.Named) bool {
	o := n.Obj()
	if o.Pkg() == nil {
		return false
	}
	for m := range n.Origin().Methods() {
		if c.declaration(m.Origin()) != nil {
			return true
		}
	}
	if s, ok := n.Underlying().(*types.Struct); ok {
		for f := range s.Fields() {
			if f.Embedded() && (o.Pkg().Path() == "main" || check.FetchedOf(o.Pkg()) != nil) {
				return true
			}
		}
	}
	return false
}

// bind gives the methods that are declared on a type their functions, for
// libraries to call.
func (c *Compiler) bind(n *types.Named) {
	for i := range n.NumMethods() {
		m := n.Method(i)
		if c.declaration(m.Origin()) == nil {
			continue
		}
		e := c.methodEntry(m, n)
		recv := m.Signature().Recv().Type()
		sig := code.SignatureOf(c.functionType(recv, m.Signature()))
		c.host.Bind(n, m.Name(), reflect.NewAt(sig.Type, code.AddressOf(sig.Value(&code.Closure{Entry: e}))).Elem())
	}
}

// bindLibrary is bind for a generic type of a library.
func (c *Compiler) bindLibrary(n *types.Named, names []string) {
	for _, name := range names {
		o, _, _ := types.LookupFieldOrMethod(n, true, n.Obj().Pkg(), name)
		m, ok := o.(*types.Func)
		if !ok {
			continue
		}
		if e := c.libraryInstance(n.Obj(), name, check.ListOf(n.TypeArgs())); e != nil {
			sig := code.SignatureOf(c.functionType(m.Signature().Recv().Type(), m.Signature()))
			c.host.Bind(n, name, reflect.NewAt(sig.Type, code.AddressOf(sig.Value(&code.Closure{Entry: e}))).Elem())
		}
	}
}

// functionType is the run-time type of a function with a receiver as its first
// parameter; recv may be nil.
func (c *Compiler) functionType(recv types.Type, s *types.Signature) reflect.Type {
	var in, out []reflect.Type
	if recv != nil {
		in = append(in, c.runtime(recv, token.NoPos))
	}
	for p := range s.Params().Variables() {
		in = append(in, c.runtime(p.Type(), token.NoPos))
	}
	for r := range s.Results().Variables() {
		out = append(out, c.runtime(r.Type(), token.NoPos))
	}
	return reflect.FuncOf(in, out, s.Variadic())
}

// methodEntry returns the entry of a method that a cell declares, as it is
// declared on n or an instance of it.
func (c *Compiler) methodEntry(m *types.Func, n *types.Named) *code.Entry {
	if n.TypeArgs().Len() > 0 {
		return c.instance(m.Origin(), check.ListOf(n.TypeArgs()))
	}
	return c.entry(m.Origin())
}

// method returns the entry of a method for calls through an interface that holds
// a t: its first parameter is the interface's data word. It is nil for types that
// cells do not declare. The machine calls it when code runs.
func (c *Compiler) method(t reflect.Type, name string) *code.Entry {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := methodKey{t, name}
	m, ok := c.byData[key]
	if !ok {
		var of *code.Entry
		if typ := c.named[t]; typ != nil {
			of = c.dataMethod(typ, t, name)
			c.finish()
			c.begun = nil
		} else if c.host.StandInOf != nil {
			if fn, ok := c.host.StandInOf(t, name); ok {
				of = c.replacement(t, name, fn)
			}
		}
		if of != nil {
			m = &dataMethod{code.Entry{Fn: of.Fn}, of}
		}
		c.byData[key] = m
	}
	if m == nil {
		return nil
	}
	return &m.entry
}

// dataMethod compiles a method for calls with a data word.
func (c *Compiler) dataMethod(typ types.Type, t reflect.Type, name string) *code.Entry {
	set := types.NewMethodSet(typ)
	for i := range set.Len() {
		s := set.At(i)
		m := s.Obj().(*types.Func)
		if c.host.MethodName(m) != name {
			continue
		}
		recv := m.Signature().Recv().Type()
		n := namedOf(recv)
		_, byPointer := types.Unalias(recv).(*types.Pointer)
		if n != nil && !types.IsInterface(n) && len(s.Index()) == 1 && c.declaration(m.Origin()) != nil {
			_, pointer := types.Unalias(typ).(*types.Pointer)
			if byPointer {
				return c.methodEntry(m, n)
			}
			if !pointer && !rtype.IsDirect(t) {
				return c.copying(m, n)
			}
		}
		return c.wrapper(typ, t, s)
	}
	return nil
}

// copying compiles a method with a value receiver once more, as one that takes
// the address of the value and copies it.
func (c *Compiler) copying(m *types.Func, n *types.Named) *code.Entry {
	d := c.declaration(m.Origin())
	var s *substitution
	sig := m.Origin().Signature()
	if n.TypeArgs().Len() > 0 {
		s = c.substitution(d, sig.RecvTypeParams(), check.ListOf(n.TypeArgs()))
	}
	e := &code.Entry{}
	c.compile(d, func() { e.Fn = c.function(d, s, sig, shownName(m, nil), true) })
	return e
}

func namedOf(t types.Type) *types.Named {
	t = types.Unalias(t)
	if p, ok := t.(*types.Pointer); ok {
		t = types.Unalias(p.Elem())
	}
	n, _ := t.(*types.Named)
	return n
}
