package compile

import (
	"go/ast"
	"go/token"
	"go/types"
	"reflect"
	"slices"

	"dace.local/kernel/gocell/internal/check"
	"dace.local/kernel/gocell/internal/code"
	"dace.local/kernel/gocell/rtype"
)

// A callee is what a call calls: a function of cells, a method through an
// interface, a function of a library, or a function value.
type callee struct {
	sig   *types.Signature // without the receiver
	entry *code.Entry      // of cells
	iface *code.Method     // of an interface
	lib   code.Val         // a function of a library
	libFn reflect.Value    // the same, where it is called by name
	named string           // of a method
	value code.Val         // a function value
	rsig  *code.Signature  // with the receiver
	recv  *code.Val        // what is stored as first parameter
	recvR reflect.Type
	pos   int32
}

// calleeOf finds out what a call calls.
func (f *function) calleeOf(fun ast.Expr) *callee {
	k := f.callee(ast.Unparen(fun))
	k.pos = int32(fun.Pos())
	if f.c.sample != nil {
		if id, _ := f.nameOf(fun); id != nil {
			f.c.callees[fun.Pos()] = id.Name
		}
	}
	return k
}

func (f *function) callee(fun ast.Expr) *callee {
	id, targs := f.nameOf(fun)
	if id != nil {
		if o, ok := f.info.Uses[id].(*types.Func); ok {
			if sel, ok := stripIndex(fun).(*ast.SelectorExpr); ok {
				if s := f.info.Selections[sel]; s != nil && s.Kind() == types.MethodVal {
					return f.methodCallee(sel)
				} else if s != nil {
					return f.valueCallee(fun)
				}
			}
			if o.Signature().Recv() == nil {
				return f.functionCallee(o, id, targs)
			}
		}
	}
	return f.valueCallee(fun)
}

func stripIndex(e ast.Expr) ast.Expr {
	switch x := e.(type) {
	case *ast.IndexExpr:
		return ast.Unparen(x.X)
	case *ast.IndexListExpr:
		return ast.Unparen(x.X)
	}
	return e
}

// nameOf returns the identifier of a function that an expression names, with the
// type arguments that the checker has found for it.
func (f *function) nameOf(e ast.Expr) (*ast.Ident, []types.Type) {
	switch x := stripIndex(ast.Unparen(e)).(type) {
	case *ast.Ident:
		return x, f.typeArgs(x)
	case *ast.SelectorExpr:
		return x.Sel, f.typeArgs(x.Sel)
	}
	return nil, nil
}

func (f *function) typeArgs(id *ast.Ident) []types.Type {
	in, ok := f.info.Instances[id]
	if !ok {
		return nil
	}
	var args []types.Type
	for t := range in.TypeArgs.Types() {
		args = append(args, f.sub(t))
	}
	return args
}

// functionCallee is a function that is called by its name.
func (f *function) functionCallee(o *types.Func, id *ast.Ident, targs []types.Type) *callee {
	t := f.info.TypeOf(id)
	if in, ok := f.info.Instances[id]; ok {
		t = in.Type
	}
	sig := f.sub(t).(*types.Signature)
	k := &callee{sig: sig}
	f.c.at = id.Pos()
	if h := f.c.host.Compiled; h != nil && len(targs) > 0 && f.c.declaration(o.Origin()) == nil {
		if v, ok := h(o, targs); ok {
			k.lib, k.rsig = code.Fixed(code.FuncPointer(v)), code.SignatureOf(v.Type())
			return k
		}
	}
	switch {
	case f.c.declaration(o.Origin()) != nil && len(targs) > 0:
		k.entry = f.c.instance(o.Origin(), targs)
	case f.c.declaration(o) != nil:
		k.entry = f.c.entry(o)
	case len(targs) > 0:
		if k.entry = f.c.libraryInstance(o.Origin(), "", targs); k.entry == nil {
			f.refuse(id, "the generic function %s.%s of a library cannot be compiled: its text is not known", o.Pkg().Path(), o.Name())
		}
	default:
		v, ok := f.c.host.Symbol(check.PathOf(o.Pkg()), o.Name())
		if !ok {
			if k.entry = f.c.libraryInstance(o, "", nil); k.entry != nil {
				break
			}
			v = f.libraryFunc(o, id)
		}
		k.libFn = v
		k.lib, k.rsig = code.Fixed(code.FuncPointer(v)), code.SignatureOf(v.Type())
		return k
	}
	k.rsig = code.SignatureOf(f.c.functionType(nil, sig))
	return k
}

// libraryFunc returns a function of a compiled package.
func (f *function) libraryFunc(o *types.Func, n ast.Node) reflect.Value {
	v, ok := f.c.host.Symbol(check.PathOf(o.Pkg()), o.Name())
	if !ok {
		f.refuse(n, "the function %s.%s is not known here", o.Pkg().Path(), o.Name())
	}
	return v
}

func (f *function) valueCallee(fun ast.Expr) *callee {
	sig, ok := coreType(f.typ(fun)).(*types.Signature)
	if !ok {
		f.refuse(fun, "a call of a value of type %s cannot be compiled yet", f.typ(fun))
	}
	return &callee{sig: sig, value: f.expr(fun), rsig: code.SignatureOf(f.c.functionType(nil, sig))}
}

// methodCallee is a method of the value of a selector.
func (f *function) methodCallee(e *ast.SelectorExpr) *callee {
	s := f.selection(e)
	m := s.obj.(*types.Func)
	t := f.typ(e.X)
	if types.IsInterface(t) && len(s.path) == 1 {
		return f.interfaceCallee(m, f.expr(e.X), t)
	}
	if len(s.path) == 1 {
		if _, ok := types.Unalias(m.Signature().Recv().Type()).(*types.Pointer); !ok {
			if _, ok := coreType(t).(*types.Pointer); !ok {
				return f.concreteCallee(m, f.expr(e.X), nil, t, e)
			}
			if _, ok := types.Unalias(f.info.TypeOf(e.X)).(*types.TypeParam); ok {
				elem := coreType(t).(*types.Pointer).Elem()
				return f.placedCallee(m, valueReceiver(f.expr(e.X), m, e.Pos()), elem, e)
			}
		}
	}
	p, at := f.walk(e.X, embedding(m, s.path))
	return f.placedCallee(m, p, at, e)
}

// placedCallee is a method of a value at a place.
func (f *function) placedCallee(m *types.Func, p code.Place, t types.Type, n ast.Node) *callee {
	if types.IsInterface(t) {
		return f.interfaceCallee(m, f.load(p, t), t)
	}
	return f.concreteCallee(m, f.load(p, t), &p, t, n)
}

// concreteCallee is a method of a type that is no interface. The receiver is
// v, of type t or a pointer to it, and lies at p where that is known.
func (f *function) concreteCallee(m *types.Func, v code.Val, p *code.Place, t types.Type, n ast.Node) *callee {
	k := &callee{sig: f.sub(withoutRecv(m.Signature())).(*types.Signature)}
	recv := f.sub(m.Signature().Recv().Type())
	if hidden(m) { // its stand-in takes what embeds the receiver
		if recv = t; !isPointer(t) {
			recv = types.NewPointer(t)
		}
	}
	_, byPointer := types.Unalias(recv).(*types.Pointer)
	_, isPointer := coreType(t).(*types.Pointer)
	if _, named := types.Unalias(t).(*types.Named); named {
		isPointer = false
	}
	switch {
	case byPointer && !isPointer:
		if p == nil {
			at := f.placed(v, t)
			p = &at
		}
		if p.InFrame() {
			f.refuse(n, "internal: a method has the address of a variable that is not boxed")
		}
		v = code.NewVal(code.Ptr, p.Receiver())
	case !byPointer && isPointer:
		v = f.load(code.Deref(v, int32(n.Pos())), recv)
	}
	k.recv, k.recvR = &v, f.rt(recv)
	k.rsig = code.SignatureOf(f.c.functionType(recv, k.sig))
	if f.c.declaration(m.Origin()) != nil {
		k.entry = f.c.methodEntry(m, namedOf(recv))
		return k
	}
	if named := namedOf(recv); named != nil && named.TypeArgs().Len() > 0 {
		if k.entry = f.c.libraryInstance(named.Obj(), m.Name(), check.ListOf(named.TypeArgs())); k.entry != nil {
			return k
		}
	}
	r := f.rt(recv)
	if fn, ok := f.c.host.standIn(m); ok {
		return k.replaced(fn, r)
	}
	x, ok := r.MethodByName(f.c.host.MethodName(m))
	if !ok {
		f.refuse(n, "the method %s of %s is not known here", m.Name(), recv)
	}
	k.lib, k.named = code.Fixed(code.FuncPointer(x.Func)), m.Name()
	k.rsig = code.SignatureOf(x.Func.Type())
	return k
}

// replaced makes a callee of the function that replaces a method, for a receiver of
// a type.
func (k *callee) replaced(fn reflect.Value, r reflect.Type) *callee {
	k.lib, k.rsig, k.recvR = code.Fixed(code.FuncPointer(fn)), code.SignatureOf(fn.Type()), fn.Type().In(0)
	switch {
	case k.recvR.Kind() != reflect.Interface || k.recvR == r:
	case r.Kind() == reflect.Interface:
		*k.recv = code.Widen(*k.recv, r, k.recvR)
	default:
		*k.recv = code.ToInterface(*k.recv, r, k.recvR)
	}
	return k
}

func (h Host) standIn(m *types.Func) (reflect.Value, bool) {
	if h.StandIn == nil {
		return reflect.Value{}, false
	}
	return h.StandIn(m)
}

func isPointer(t types.Type) bool {
	_, ok := types.Unalias(t).(*types.Pointer)
	return ok
}

// hidden reports whether a method belongs to a type of package testing that others
// embed: the functions that replace such methods take the others.
func hidden(m *types.Func) bool {
	n := namedOf(m.Signature().Recv().Type())
	return n != nil && !n.Obj().Exported() && m.Pkg() != nil && m.Pkg().Path() == "testing"
}

// embedding returns the fields that the selection of a method goes through to its
// receiver.
func embedding(m *types.Func, path []int) []int {
	path = path[:len(path)-1]
	if hidden(m) && len(path) > 0 {
		path = path[:len(path)-1]
	}
	return path
}

func withoutRecv(s *types.Signature) *types.Signature {
	return types.NewSignatureType(nil, nil, nil, s.Params(), s.Results(), s.Variadic())
}

func (f *function) interfaceCallee(m *types.Func, v code.Val, t types.Type) *callee {
	sig := f.sub(withoutRecv(m.Signature())).(*types.Signature)
	if fn, ok := f.c.host.standIn(m); ok {
		return (&callee{sig: sig, recv: &v}).replaced(fn, f.rt(t))
	}
	x := f.c.Machine.MethodNamed(f.rt(t), f.c.host.MethodName(m), f.c.method)
	return &callee{sig: sig, iface: x, recv: &v, rsig: x.Sig, named: m.Name()}
}

// prepare returns what prepares the frame of a call, for functions of libraries
// nil.
func (f *function) prepare(k *callee, args []code.Val) code.Prepare {
	if k.iface != nil {
		return k.iface.Prepare(*k.recv, f.args(k, args, 1), k.pos)
	}
	list := f.args(k, args, 0)
	switch {
	case k.entry != nil:
		return code.Static(k.entry, list, k.pos)
	case k.value.E != nil:
		return code.PrepareValue(f.c.Machine, k.rsig, k.value, list, k.pos)
	}
	return code.PrepareValue(f.c.Machine, k.rsig, k.lib, list, k.pos)
}

// args returns what stores the arguments of a call in its frame, with the
// receiver, from the parameter numbered first on.
func (f *function) args(k *callee, vals []code.Val, first int) []code.Arg {
	var list []code.Arg
	if k.recv != nil && first == 0 {
		vals = append([]code.Val{*k.recv}, vals...)
	}
	for i, v := range vals {
		off := k.rsig.ParamAt[first+i]
		if v.K == code.Agg {
			list = append(list, code.AggArg(off, code.AnyInto(v, k.rsig.Type.In(first+i))))
		} else {
			list = append(list, code.Of(v.K).Arg(off, v))
		}
	}
	return list
}

// call returns the call of a callee.
func (f *function) call(k *callee, args []code.Val) code.Call {
	if k.entry != nil {
		return code.CallStatic(k.entry, f.args(k, args, 0), k.pos)
	}
	return code.Run(f.prepare(k, args))
}

// arguments compiles the arguments of a call, converted to the parameters'
// types. before is run first where they are the results of a call.
func (f *function) arguments(e *ast.CallExpr, sig *types.Signature) (vals []code.Val, before code.Do) {
	n := sig.Params().Len()
	if len(e.Args) == 1 {
		if tuple, ok := f.typ(e.Args[0]).(*types.Tuple); ok {
			return f.spread(e.Args[0], tuple, sig)
		}
	}
	for i, a := range e.Args {
		if sig.Variadic() && i >= n-1 && !e.Ellipsis.IsValid() {
			break
		}
		vals = append(vals, f.exprTo(a, sig.Params().At(i).Type()))
	}
	if sig.Variadic() && !e.Ellipsis.IsValid() {
		elem := sig.Params().At(n - 1).Type().(*types.Slice).Elem()
		var more []code.Into
		for _, a := range e.Args[n-1:] {
			more = append(more, code.AnyInto(f.exprTo(a, elem), f.rt(elem)))
		}
		vals = append(vals, f.rest(more, elem))
	}
	return vals, nil
}

// rest is the slice of the last arguments of a call of a variadic function.
func (f *function) rest(more []code.Into, elem types.Type) code.Val {
	if len(more) == 0 {
		return code.Of(code.Slc).Zero()
	}
	r := f.rt(elem)
	var pieces []code.Piece
	for i, into := range more {
		pieces = append(pieces, code.Piece{Off: uintptr(i) * r.Size(), Into: into})
	}
	return code.SliceLiteral(r, len(more), pieces)
}

// spread is the arguments of f(g()), where g has several results.
func (f *function) spread(e ast.Expr, tuple *types.Tuple, sig *types.Signature) (vals []code.Val, before code.Do) {
	offs, s := f.tuple(e, tuple)
	n := sig.Params().Len()
	var more []code.Into
	for i := range tuple.Len() {
		t := tuple.At(i).Type()
		v := f.load(code.Slot(offs[i]), t)
		if sig.Variadic() && i >= n-1 {
			elem := sig.Params().At(n - 1).Type().(*types.Slice).Elem()
			more = append(more, code.AnyInto(f.assignable(v, t, elem), f.rt(elem)))
			continue
		}
		vals = append(vals, f.assignable(v, t, sig.Params().At(i).Type()))
	}
	if sig.Variadic() {
		vals = append(vals, f.rest(more, sig.Params().At(n-1).Type().(*types.Slice).Elem()))
	}
	return vals, s
}

// tuple runs a call of several results, which it leaves in the frame.
func (f *function) tuple(e ast.Expr, tuple *types.Tuple) (offs []int32, s code.Do) {
	for v := range tuple.Variables() {
		offs = append(offs, f.temp(v.Type()))
	}
	x := ast.Unparen(e).(*ast.CallExpr)
	first := f.orderly(f.spreads(x), f.operands(x)...)
	k := f.calleeOf(x.Fun)
	args, before := f.arguments(x, k.sig)
	return offs, f.ordered(first, before, f.resultsAt(k, args, offs))
}

// resultsAt calls a callee and stores its results in the frame.
func (f *function) resultsAt(k *callee, args []code.Val, offs []int32) code.Do {
	if g := f.guard(k); g != nil {
		return f.guarded(g, k, args, offs)
	}
	return f.calledAt(k, args, offs)
}

// A guard is what a call has to lock.
type guard struct {
	objects []bool // of receiver and arguments
	fixed   []reflect.Value
	write   bool
}

// guard returns what a call has to lock, nil for most calls.
func (f *function) guard(k *callee) *guard {
	if f.c.host.Shares == nil || k.sig == nil || k.lib.E == nil && k.iface == nil {
		return nil
	}
	var list []reflect.Type
	if k.recv != nil {
		list = append(list, f.receiverType(k))
	}
	for v := range k.sig.Params().Variables() {
		list = append(list, f.rt(v.Type()))
	}
	objects, fixed, write := f.c.host.Shares(k.libFn, k.named, list)
	if objects == nil && fixed == nil {
		return nil
	}
	return &guard{objects, fixed, write}
}

// receiverType is the run-time type of a method call's receiver.
func (f *function) receiverType(k *callee) reflect.Type {
	if k.iface != nil {
		return k.iface.Of
	}
	return k.recvR
}

// guarded is resultsAt with locks: receiver and arguments are computed before.
func (f *function) guarded(g *guard, k *callee, args []code.Val, offs []int32) code.Do {
	var before []code.Do
	var objects []code.Object
	n := 0
	keep := func(v code.Val, t reflect.Type) code.Val {
		off := f.add(t)
		before = append(before, code.Init(code.Slot(off), code.AnyInto(v, t)))
		if n < len(g.objects) && g.objects[n] {
			objects = append(objects, code.Object{Off: off, Type: t})
		}
		n++
		return code.InMemory(code.Slot(off), t)
	}
	inner := *k
	if k.recv != nil {
		recv := keep(*k.recv, f.receiverType(k))
		inner.recv = &recv
	}
	kept := make([]code.Val, len(args))
	for i, v := range args {
		kept[i] = keep(v, f.rt(k.sig.Params().At(i).Type()))
	}
	return after(before, code.Locked(objects, g.fixed, g.write, f.calledAt(&inner, kept, offs)))
}

func (f *function) calledAt(k *callee, args []code.Val, offs []int32) code.Do {
	if k.lib.E != nil {
		if k.recv != nil {
			args = append([]code.Val{*k.recv}, args...)
		}
		return code.CallLibrary(k.rsig, k.lib, args, offs, k.pos)
	}
	var moves []code.Move
	for i, to := range offs {
		moves = append(moves, code.Move{From: k.rsig.ResultAt[i], To: to, Type: rtype.Descriptor(k.rsig.Type.Out(i))})
	}
	return code.Results(f.call(k, args), moves)
}

// callExpr compiles a call of one result, or a conversion.
func (f *function) callExpr(e *ast.CallExpr) code.Val {
	fun := ast.Unparen(e.Fun)
	if tv := f.info.Types[fun]; tv.IsType() {
		return f.convert(e.Args[0], f.sub(tv.Type))
	} else if tv.IsBuiltin() {
		e, first := f.spreadBuiltin(e)
		first = append(first, f.orderly(false, f.valueArgs(e)...)...)
		v := f.builtin(e, builtinName(fun))
		if first != nil {
			return f.then(code.Block(linesOf(first)), f.placed(v, f.typ(e)), f.typ(e))
		}
		return v
	}
	first := f.orderly(f.spreads(e), f.operands(e)...)
	k := f.calleeOf(fun)
	if k.sig.Results().Len() != 1 {
		f.refuse(e, "internal: a call without one result as a value")
	}
	t := k.sig.Results().At(0).Type()
	args, before := f.arguments(e, k.sig)
	if before != nil || first != nil || f.guard(k) != nil {
		to := f.temp(t)
		return f.then(f.ordered(first, before, f.resultsAt(k, args, []int32{to})), code.Slot(to), t)
	}
	if k.lib.E != nil {
		if k.recv != nil {
			args = append([]code.Val{*k.recv}, args...)
		}
		if v, ok := code.LibraryResult(k.rsig, k.lib, args, k.pos); ok {
			return v
		}
		to := f.temp(t)
		return f.then(code.CallLibrary(k.rsig, k.lib, args, []int32{to}, k.pos), code.Slot(to), t)
	}
	call, off := f.call(k, args), k.rsig.ResultAt[0]
	if kind := f.kind(t); kind != code.Agg {
		return code.Of(kind).Result(call, off)
	}
	return code.NewVal(code.Agg, code.ResultInto(call, off, rtype.Descriptor(f.rt(t))))
}

// spreadBuiltin returns the call of a built-in function whose arguments are the
// results of another call as one of these results, and the statement that stores
// them.
func (f *function) spreadBuiltin(e *ast.CallExpr) (*ast.CallExpr, []code.Do) {
	if len(e.Args) != 1 {
		return e, nil
	}
	tuple, ok := f.info.TypeOf(e.Args[0]).(*types.Tuple)
	if !ok {
		return e, nil
	}
	tuple = f.sub(tuple).(*types.Tuple)
	offs, call := f.tuple(e.Args[0], tuple)
	x := &ast.CallExpr{Fun: e.Fun, Lparen: e.Lparen, Ellipsis: e.Ellipsis, Rparen: e.Rparen}
	if f.given == nil {
		f.given = map[ast.Expr]types.Type{}
	}
	f.given[x] = f.info.TypeOf(e)
	for i, off := range offs {
		a, t := &ast.Ident{NamePos: e.Args[0].Pos(), Name: "_"}, tuple.At(i).Type()
		f.given[a], f.hoisted[a] = t, f.load(code.Slot(off), t)
		x.Args = append(x.Args, a)
	}
	return x, []code.Do{call}
}

// valueArgs returns the arguments of a built-in function that are values.
func (f *function) valueArgs(e *ast.CallExpr) []ast.Expr {
	var list []ast.Expr
	for _, a := range e.Args {
		if !f.info.Types[a].IsType() {
			list = append(list, a)
		}
	}
	return list
}

func builtinName(fun ast.Expr) string {
	switch x := fun.(type) {
	case *ast.Ident:
		return x.Name
	case *ast.SelectorExpr:
		return x.Sel.Name
	}
	return ""
}

// ordered runs what has to be run before a call.
func (f *function) ordered(first []code.Do, before, s code.Do) code.Do {
	if before != nil {
		s = code.Sequence(before, s)
	}
	return after(first, s)
}

// after runs a statement after others.
func after(first []code.Do, s code.Do) code.Do {
	if len(first) == 0 {
		return s
	}
	return code.Block(linesOf(append(first, s)))
}

// callStmt compiles a call whose results are not used.
func (f *function) callStmt(e *ast.CallExpr) code.Do {
	fun := ast.Unparen(e.Fun)
	if tv := f.info.Types[fun]; tv.IsBuiltin() {
		e, first := f.spreadBuiltin(e)
		first = append(first, f.orderly(false, f.valueArgs(e)...)...)
		return after(first, f.builtinStmt(e, builtinName(fun)))
	} else if tv.IsType() {
		return code.Discard(f.expr(e), f.rt(f.typ(e)), f.temp(f.typ(e)))
	}
	first := f.orderly(f.spreads(e), f.operands(e)...)
	k := f.calleeOf(fun)
	args, before := f.arguments(e, k.sig)
	if k.lib.E != nil || f.guard(k) != nil {
		var offs []int32
		for v := range k.sig.Results().Variables() {
			offs = append(offs, f.temp(v.Type()))
		}
		return f.ordered(first, before, f.resultsAt(k, args, offs))
	}
	return f.ordered(first, before, code.Statement(f.call(k, args)))
}

// spreads reports whether the arguments of a call are the results of another, which is
// made first.
func (f *function) spreads(e *ast.CallExpr) bool {
	if len(e.Args) != 1 {
		return false
	}
	_, ok := f.typ(e.Args[0]).(*types.Tuple)
	return ok
}

// prepared returns what prepares the call of a go or defer statement.
func (f *function) prepared(e *ast.CallExpr) code.Prepare {
	fun := ast.Unparen(e.Fun)
	if tv := f.info.Types[fun]; tv.IsBuiltin() || tv.IsType() {
		return f.preparedBuiltin(e)
	}
	first := f.orderly(f.spreads(e), f.operands(e)...)
	k := f.calleeOf(fun)
	args, before := f.arguments(e, k.sig)
	if k.lib.E != nil && k.recv != nil {
		args = append([]code.Val{*k.recv}, args...)
		k.recv = nil
	}
	p := f.prepare(k, args)
	if before != nil || first != nil {
		return code.Before(f.ordered(first, before, code.Jump(code.Next)), p)
	}
	return p
}

// preparedBuiltin prepares a call of a built-in function: of a function without
// a body of its own, whose parameters are the arguments.
func (f *function) preparedBuiltin(e *ast.CallExpr) code.Prepare {
	in := f.inner(f.name, f.node)
	var list []reflect.Type
	var vals []code.Val
	e, first := f.spreadBuiltin(e)
	in.given = f.given
	for _, a := range e.Args {
		if tv := f.info.Types[a]; tv.IsType() || tv.Value != nil || tv.IsNil() {
			continue
		}
		t := f.typ(a)
		r := f.rt(t)
		list = append(list, r)
		vals = append(vals, f.expr(a))
		in.hoisted[a] = in.load(code.Slot(in.add(r)), t)
	}
	s := code.SignatureOf(reflect.FuncOf(list, nil, false))
	in.thunk = true
	in.body = in.callStmt(e)
	entry := &code.Entry{Fn: in.finish(s)}
	p := code.Static(entry, f.args(&callee{rsig: s}, vals, 0), int32(e.Pos()))
	if first != nil {
		return code.Before(code.Block(linesOf(first)), p)
	}
	return p
}

// funcValue is a function, or an instance of a generic one, as a value.
func (f *function) funcValue(e ast.Expr, n ast.Node) code.Val {
	id, targs := f.nameOf(e)
	o, ok := f.info.Uses[id].(*types.Func)
	if !ok {
		f.refuse(n, "this function value cannot be compiled yet")
	}
	if sel, ok := ast.Unparen(e).(*ast.SelectorExpr); ok && f.info.Selections[sel] != nil {
		return f.selector(sel)
	}
	k := f.functionCallee(o, id, targs)
	if k.lib.E != nil {
		return k.lib
	}
	return code.NewClosure(k.rsig, k.entry, nil, nil, nil)
}

// methodValue is x.M as a value: a function that has a copy of the receiver.
func (f *function) methodValue(e *ast.SelectorExpr) code.Val {
	k := f.methodCallee(e)
	var r reflect.Type
	if k.iface != nil {
		r = k.iface.Of
	} else {
		r = k.recvR
	}
	env := &code.EnvLayout{}
	off := env.Add(r)
	recv := *k.recv
	in := f.forwarding(shownName(f.selection(e).obj.(*types.Func), nil)+"-fm", f.c.functionType(nil, k.sig))
	kept := code.InMemory(code.Env(off), r)
	k.recv = &kept
	entry, s := in.forward(k, 0)
	if k.iface != nil {
		recv = code.NonNilInterface(recv, int32(e.Pos()))
	}
	return code.NewClosure(s, entry, env.Block(), []code.Into{code.AnyInto(recv, r)}, []int32{off})
}

// forwarding starts a function of a type that calls another.
func (f *function) forwarding(name string, t reflect.Type) *function {
	in := f.inner(name, f.node)
	in.forwards = t
	for p := range t.Ins() {
		in.add(p)
	}
	for r := range t.Outs() {
		in.add(r)
	}
	return in
}

// forward completes a function that calls a callee with its own
// parameters from first on. What it has been deferred for the callee may recover.
func (f *function) forward(k *callee, first int) (*code.Entry, *code.Signature) {
	t, s := f.forwards, code.SignatureOf(f.forwards)
	var args []code.Val
	for i := first; i < t.NumIn(); i++ {
		args = append(args, code.InMemory(code.Slot(s.ParamAt[i]), t.In(i)))
	}
	offs := s.ResultAt
	if k.lib.E != nil {
		f.body = f.resultsAt(k, args, offs)
	} else {
		var moves []code.Move
		for i, to := range offs {
			moves = append(moves, code.Move{From: k.rsig.ResultAt[i], To: to, Type: rtype.Descriptor(t.Out(i))})
		}
		f.body = code.Results(code.Through(f.prepare(k, args)), moves)
	}
	return &code.Entry{Fn: f.finish(s)}, s
}

// methodExpr is T.M as a value.
func (f *function) methodExpr(e *ast.SelectorExpr) code.Val {
	t := f.sub(f.info.TypeOf(e.X))
	sel := f.selection(e)
	m := sel.obj.(*types.Func)
	sig := f.typ(e).(*types.Signature)
	r := f.c.functionType(nil, sig)
	in := f.forwarding(shownName(m, nil), r)
	k := in.selectedCallee(code.Slot(code.SignatureOf(r).ParamAt[0]), t, m, sel.path, e)
	entry, s := in.forward(k, 1)
	return code.NewClosure(s, entry, nil, nil, nil)
}

// selectedCallee is a method of what lies at a place, at the end of a path of
// embedded fields.
func (f *function) selectedCallee(p code.Place, t types.Type, m *types.Func, path []int, n ast.Node) *callee {
	if ptr, ok := coreType(t).(*types.Pointer); ok && !types.IsInterface(t) {
		v := code.Of(code.Ptr).Load(p)
		if t = ptr.Elem(); len(path) == 1 && !isPointer(m.Signature().Recv().Type()) {
			p = valueReceiver(v, m, n.Pos())
		} else {
			p = code.Deref(v, int32(n.Pos()))
		}
	}
	p, t = f.follow(p, t, embedding(m, path), n.Pos())
	if ptr, ok := types.Unalias(t).(*types.Pointer); ok {
		p, t = code.Deref(code.Of(code.Ptr).Load(p), int32(n.Pos())), ptr.Elem()
	}
	return f.placedCallee(m, p, t, n)
}

// valueReceiver is the receiver of a method that is declared on the value, behind a pointer.
// As in Go, the error of a nil pointer names the method where the method that is called is
// the pointer's: in an interface, T.M and for a type parameter.
func valueReceiver(v code.Val, m *types.Func, pos token.Pos) code.Place {
	n := namedOf(m.Signature().Recv().Type())
	typ := check.PathOf(m.Pkg()) + "." + n.Obj().Name()
	if n.TypeParams().Len() > 0 {
		typ += "[...]"
	}
	return code.Memory(code.ValueMethod(code.Pointer(v), typ, m.Name(), int32(pos)))
}

// current returns a method as it is now, where its type has been declared again as the same.
func (c *Compiler) current(m *types.Func) *types.Func {
	if n := namedOf(m.Signature().Recv().Type()); n != nil {
		if now, ok := c.named[c.runtime(n, m.Pos())].(*types.Named); ok {
			if o, _, _ := types.LookupFieldOrMethod(types.NewPointer(now), false, m.Pkg(), m.Name()); o != nil {
				return o.(*types.Func)
			}
		}
	}
	return m
}

// wrapper compiles the method of a selection for calls with an interface's data
// word: a promoted one, or one that is declared on the value a pointer points to.
func (c *Compiler) wrapper(typ types.Type, t reflect.Type, s *types.Selection) *code.Entry {
	m := c.current(s.Obj().(*types.Func))
	r := c.functionType(types.Typ[types.UnsafePointer], withoutRecv(m.Signature()))
	f := c.newFunction(&types.Info{}, nil, &ast.BadExpr{}, nil).forwarding(m.Name(), r)
	word := code.Slot(code.SignatureOf(r).ParamAt[0])
	p := word // a type that an interface holds directly
	if !rtype.IsDirect(t) {
		p = code.Deref(code.Of(code.Ptr).Load(word), 0)
	}
	k := f.selectedCallee(p, typ, m, s.Index(), &ast.BadExpr{From: token.NoPos})
	entry, _ := f.forward(k, 1)
	return entry
}

// replacement compiles a call of the function that replaces a method of a library, for
// calls with an interface's data word.
func (c *Compiler) replacement(t reflect.Type, name string, fn reflect.Value) *code.Entry {
	in := []reflect.Type{rtype.UnsafePointer}
	for i := 1; i < fn.Type().NumIn(); i++ {
		in = append(in, fn.Type().In(i))
	}
	r := reflect.FuncOf(in, slices.Collect(fn.Type().Outs()), fn.Type().IsVariadic())
	f := c.newFunction(&types.Info{}, nil, &ast.BadExpr{}, nil).forwarding(name, r)
	p := code.Slot(code.SignatureOf(r).ParamAt[0])
	if !rtype.IsDirect(t) {
		p = code.Deref(code.Of(code.Ptr).Load(p), 0)
	}
	v := code.InMemory(p, t)
	entry, _ := f.forward((&callee{recv: &v}).replaced(fn, t), 1)
	return entry
}
