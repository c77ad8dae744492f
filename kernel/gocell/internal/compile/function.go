package compile

import (
	"go/ast"
	"go/token"
	"go/types"
	"reflect"

	"dace.local/kernel/gocell/internal/check"
	"dace.local/kernel/gocell/internal/code"
	"dace.local/kernel/gocell/rtype"
)

// A function is the state of compiling one function or function literal.
type function struct {
	c        *Compiler
	info     *types.Info
	subst    *substitution
	outer    *function    // of a function literal
	node     ast.Node     // whose variables are this function's
	decl     *declaration // of a declared function: kept as long as its code
	uses     map[*types.Var]*use
	layout   *code.Layout
	session  map[*types.Var]*code.Var // the session's variables by those of its statements
	vars     map[*types.Var]*variable
	env      []captured
	block    *code.EnvLayout
	name     string
	results  []result
	named    bool         // the results have names
	forwards reflect.Type // of a function that calls another with its own parameters
	thunk    bool         // the function is made for a deferred built-in function
	epilog   []code.Do
	labels   map[string]int
	own      string // label of the statement that is compiled next
	shared   bool   // turns of a loop share its variables, as before Go 1.22
	hasGoto  int    // 0: not known, 1: no, 2: yes
	hasDefer int    // the same of defer
	defers   bool
	depth    int
	deepest  int
	body     code.Do
	hoisted  map[ast.Expr]code.Val
	given    map[ast.Expr]types.Type // of expressions that the checker has not seen
}

// A variable is a local variable.
type variable struct {
	t     types.Type
	r     reflect.Type
	off   int32 // of the value, or of its address
	boxed bool
}

// A result is where return stores a value: in the frame, or in a boxed variable
// from which it is copied there in the end.
type result struct {
	variable
	place code.Place
}

// A captured variable is one of a function around a literal.
type captured struct {
	v     *types.Var
	off   int32
	boxed bool
	t     reflect.Type
}

// newFunction starts a function whose variables have been walked.
func (c *Compiler) newFunction(info *types.Info, s *substitution, node ast.Node, u map[*types.Var]*use) *function {
	return &function{c: c, info: info, subst: s, node: node, uses: u, layout: code.NewLayout(), vars: map[*types.Var]*variable{},
		labels: map[string]int{}, hoisted: map[ast.Expr]code.Val{}}
}

// inner starts a function that is made for a part of this one.
func (f *function) inner(name string, node ast.Node) *function {
	in := f.c.newFunction(f.info, f.subst, node, f.uses)
	in.name, in.session = name, f.session
	return in
}

// function compiles a declared function. byData is for a method with a value
// receiver that is called with the address of the value.
func (c *Compiler) function(d *declaration, s *substitution, sig *types.Signature, name string, byData bool) *code.Func {
	if d.uses == nil {
		d.uses = uses(d.info, d.syntax)
	}
	f := c.newFunction(d.info, s, d.syntax, d.uses)
	f.name, f.shared, f.decl = name, d.shared, d
	var recv types.Type
	var start []code.Line
	var fields []*ast.Field
	if d.syntax.Recv != nil {
		recv = f.sub(sig.Recv().Type())
		fields = append(fields, d.syntax.Recv.List...)
	}
	rsig := f.sub(types.NewSignatureType(nil, nil, nil, sig.Params(), sig.Results(), sig.Variadic())).(*types.Signature)
	var t reflect.Type
	if byData {
		t = c.functionType(types.Typ[types.UnsafePointer], rsig)
	} else {
		t = c.functionType(recv, rsig)
	}
	start = f.parameters(append(fields, d.syntax.Type.Params.List...), t, byData, recv)
	start = append(start, f.resultVars(d.syntax.Type.Results, rsig)...)
	f.compileBody(d.syntax.Body, start)
	return f.finish(code.SignatureOf(t))
}

// parameters lays out the parameters and the results, as a signature does, and
// returns the statements that move parameters that are boxed.
func (f *function) parameters(fields []*ast.Field, t reflect.Type, byData bool, recv types.Type) []code.Line {
	offs := make([]int32, t.NumIn())
	for i := range offs {
		offs[i] = f.add(t.In(i))
	}
	f.results = make([]result, t.NumOut())
	for i := range f.results {
		f.results[i].off = f.add(t.Out(i))
	}
	var start []code.Line
	i := 0
	one := func(id *ast.Ident) {
		r, off := t.In(i), offs[i]
		if id != nil && id.Name != "_" {
			v := f.info.Defs[id].(*types.Var)
			typ := f.sub(v.Type())
			switch {
			case byData && i == 0:
				at := f.c.runtime(recv, id.Pos())
				from := code.InMemory(code.Memory(code.Pointer(code.Of(code.Ptr).Load(code.Slot(off)))), at)
				start = append(start, code.Line{Do: f.declareInit(v, typ, code.AnyInto(from, at))})
			case f.uses[v].boxed():
				from := code.AnyInto(f.load(code.Slot(off), typ), r)
				start = append(start, code.Line{Do: f.declareInit(v, typ, from)})
			default:
				f.vars[v] = &variable{t: typ, r: r, off: off}
			}
		}
		i++
	}
	for _, field := range fields {
		if len(field.Names) == 0 {
			one(nil)
		}
		for _, id := range field.Names {
			one(id)
		}
	}
	return start
}

// resultVars declares the results, which have been laid out.
func (f *function) resultVars(list *ast.FieldList, sig *types.Signature) []code.Line {
	var start []code.Line
	var ids []*ast.Ident
	if list != nil {
		for _, field := range list.List {
			if len(field.Names) == 0 {
				ids = append(ids, nil)
			}
			ids = append(ids, field.Names...)
		}
	}
	for i := range sig.Results().Len() {
		t := sig.Results().At(i).Type()
		r := f.c.runtime(t, token.NoPos)
		v := variable{t: t, r: r, off: f.results[i].off}
		res := result{v, code.Slot(v.off)}
		if i < len(ids) && ids[i] != nil {
			f.named = true
			if ids[i].Name != "_" {
				o := f.info.Defs[ids[i]].(*types.Var)
				if f.uses[o].boxed() {
					start = append(start, code.Line{Do: f.declareInit(o, t, nil)})
					res.place = code.Box(f.vars[o].off)
					f.epilog = append(f.epilog, code.Init(code.Slot(v.off), code.AnyInto(f.load(res.place, t), r)))
				} else {
					f.vars[o] = &v
				}
			}
		}
		f.results[i] = res
	}
	return start
}

// finish completes the function.
func (f *function) finish(s *code.Signature) *code.Func {
	fn := &code.Func{Name: f.name, Sig: s, Body: f.body, Defers: f.defers, Layout: f.layout, M: f.c.Machine, Source: f}
	if f.named || f.defers {
		for _, r := range f.results {
			fn.Zero = append(fn.Zero, code.Zeroed{Off: r.off, Words: int32(r.r.Size()+7) / 8})
		}
	}
	if len(f.epilog) > 0 {
		fn.Epilogue = code.Enter(f.epilog)
	}
	fn.Finish(f.deepest)
	return fn
}

func (f *function) sub(t types.Type) types.Type { return f.subst.of(t) }

// typ returns the type of an expression.
func (f *function) typ(e ast.Expr) types.Type {
	if t, ok := f.given[e]; ok {
		return f.sub(t)
	}
	t := f.info.TypeOf(e)
	if t == nil {
		f.refuse(e, "internal: an expression without a type")
	}
	return f.sub(t)
}

func (f *function) rt(t types.Type) reflect.Type { return f.c.runtime(t, token.NoPos) }

func (f *function) kind(t types.Type) code.Kind { return code.KindOf(f.rt(t)) }

func (f *function) refuse(n ast.Node, format string, args ...any) {
	f.c.refuse(n.Pos(), format, args...)
}

// add makes room for a value in the frame.
func (f *function) add(r reflect.Type) int32 {
	return f.layout.Add(r.Size(), func(off uintptr, set func(int)) { rtype.Pointers(r, off, set) })
}

// temp makes room for a value of a type.
func (f *function) temp(t types.Type) int32 { return f.add(f.rt(t)) }

// load returns the value at a place.
func (f *function) load(p code.Place, t types.Type) code.Val {
	if k := f.kind(t); k != code.Agg {
		return code.Of(k).Load(p)
	}
	return code.InMemory(p, f.rt(t))
}

// store stores a value, which may read what it replaces.
func (f *function) store(p code.Place, v code.Val, t types.Type) code.Do {
	if v.K != code.Agg {
		return code.Of(v.K).Store(p, v)
	}
	spare := int32(0)
	if v.Addr == nil {
		spare = f.temp(t)
	}
	return code.SetAgg(p, v, f.rt(t), spare)
}

// declare returns the place of a variable that is declared, which is not boxed.
func (f *function) declare(v *types.Var, t types.Type) *variable {
	x := &variable{t: t, r: f.rt(t), boxed: f.uses[v].boxed()}
	if x.boxed {
		x.off = f.add(rtype.UnsafePointer)
	} else {
		x.off = f.add(x.r)
	}
	f.vars[v] = x
	return x
}

// declareInit declares a variable with a first value; nil is zero.
func (f *function) declareInit(v *types.Var, t types.Type, into code.Into) code.Do {
	if g := f.session[v]; g != nil {
		if into == nil {
			return f.zeroing(code.Global(g), t)
		}
		return f.store(code.Global(g), code.Computed(f.rt(t), into, f.temp(t)), t)
	}
	x := f.declare(v, t)
	switch {
	case x.boxed:
		return code.NewVar(x.off, x.r, into)
	case into == nil:
		return f.zeroing(code.Slot(x.off), t)
	}
	return code.Init(code.Slot(x.off), into)
}

// declareVal declares a variable with a first value.
func (f *function) declareVal(v *types.Var, t types.Type, val code.Val) code.Do {
	if g := f.session[v]; g != nil {
		return f.store(code.Global(g), val, t)
	}
	if val.K == code.Agg || f.uses[v].boxed() {
		return f.declareInit(v, t, code.AnyInto(val, f.rt(t)))
	}
	return code.Of(val.K).Store(code.Slot(f.declare(v, t).off), val)
}

func (f *function) zeroing(p code.Place, t types.Type) code.Do {
	if k := f.kind(t); k != code.Agg {
		return code.Of(k).Store(p, code.Of(k).Zero())
	}
	return code.ZeroAt(p, f.rt(t))
}

// variable returns the place of a variable.
func (f *function) variable(v *types.Var, n ast.Node) code.Place {
	if x := f.vars[v]; x != nil {
		if x.boxed {
			return code.Box(x.off)
		}
		return code.Slot(x.off)
	}
	if g := f.session[v]; g != nil {
		return code.Global(g)
	}
	for _, e := range f.env {
		if e.v == v {
			return e.place()
		}
	}
	x := f.outer.find(v)
	if x == nil {
		if g := f.c.known(v); g == nil && (v.Parent() == nil || v.Pkg() == nil || v.Parent() != v.Pkg().Scope()) {
			f.refuse(n, "internal: the variable %s is not known here", v.Name())
		}
		return f.global(v, n)
	}
	e := captured{v: v, boxed: x.boxed, t: x.r}
	if f.block == nil {
		f.block = &code.EnvLayout{}
	}
	if e.boxed {
		e.off = f.block.Add(rtype.UnsafePointer)
	} else {
		e.off = f.block.Add(x.r)
	}
	f.env = append(f.env, e)
	return e.place()
}

func (e captured) place() code.Place {
	if e.boxed {
		return code.EnvBox(e.off)
	}
	return code.Env(e.off)
}

// find returns the variable of a function around a literal.
func (f *function) find(v *types.Var) *variable {
	for g := f; g != nil; g = g.outer {
		if x := g.vars[v]; x != nil {
			return x
		}
	}
	return nil
}

// global returns a package-level variable of cells, or of a library.
func (f *function) global(v *types.Var, n ast.Node) code.Place {
	if g := f.c.known(v); g != nil {
		return code.Global(g)
	}
	if s, ok := f.c.host.Symbol(check.PathOf(v.Pkg()), v.Name()); ok {
		return code.Global(&code.Var{P: s.Addr().UnsafePointer()})
	}
	return code.Global(f.c.variable(v))
}

// compileBody compiles the statements of the function.
func (f *function) compileBody(body *ast.BlockStmt, start []code.Line) {
	lines := f.lines(body.List)
	if f.defers { // deferred calls are made from the closing brace
		lines = append(lines, code.Line{Do: code.Jump(code.Next), Pos: int32(body.Rbrace)})
	}
	f.body = f.sequence(body.List, start, lines)
}
