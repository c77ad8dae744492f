package check

import (
	"cmp"
	"errors"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"dace.local/kernel/gocell/internal/cell"
)

// A session compiles by itself what runs long: a
// function, a method, or a loop of a cell's statements. It becomes a compiled cell of its
// own with copies of the functions, constants and types of cells that it uses; the
// variables are shared. The session's program does not change: its machine calls the
// compiled function in place of the other. A copy of a type has the same layout as the
// session's but is another type. Where plugins can be bound (Loader.Bind of package
// native), references to the copy become some to the session's type; elsewhere, and for
// types that cannot be bound, what is compiled may use their values only where nothing
// asks which type they have.

// A Copy is a type of a compiled cell that is bound to one of the session.
type Copy struct {
	Type *types.Named
	Of   types.Type
	As   reflect.Type // of Of
}

// A CopiedMethod is a method of a copy, by the number of that, which can be called in the
// place of the session's.
type CopiedMethod struct {
	Copy int
	Func *types.Func
}

// LoopName is the function that a loop of a cell's statements becomes.
const LoopName = cell.Mark + "loop"

// Layout returns a function of cells, or a method of a type of theirs, as a compiled cell
// with copies of the types that it uses; binds says that plugins can be bound. The error
// says why it cannot be one.
func (p *Program) Layout(fset *token.FileSet, name, method string, binds bool) (*Native, error) {
	for _, w := range p.Units {
		if w.native != nil || w.Method != method || !slices.Contains(w.Names, name) {
			continue
		}
		ds, err := w.Parse(fset)
		if err != nil || len(ds) != 1 {
			return nil, errors.New("its declaration cannot be read again")
		}
		f, ok := ds[0].(*ast.FuncDecl)
		switch {
		case !ok:
			return nil, errors.New("it is no function")
		case HasParams(f):
			return nil, errors.New("it is generic")
		case f.Body == nil || method == "" && (name == "init" || name == "main"):
			return nil, errors.New("it is no ordinary function")
		}
		u := &Unit{Piece: w.Piece}
		if method == "" {
			u.ofC, u.native = []string{name}, []Piece{w.Piece}
			return p.layout(fset, u, nil, name, method, nil, binds)
		}
		return p.layout(fset, u, p.typeUnit(name), name, method, nil, binds)
	}
	return nil, errors.New("no cell declares it")
}

// LoopPiece returns a loop among a cell's statements as the declaration of a function.
func (src *Source) LoopPiece(fset *token.FileSet, s ast.Stmt) Piece {
	at := fset.Position(s.Pos())
	offset := func(p token.Pos) int { return fset.PositionFor(p, false).Offset - len(bodyPrefix) }
	text := src.text[offset(s.Pos()):min(offset(s.End()), len(src.text))]
	return Piece{Cell: src.Number, Line: at.Line, Column: at.Column, Text: "func " + LoopName + "() {" + cell.LineDirective(at.Line, at.Column) + text + "\n}"}
}

// LiteralPiece returns a function literal among a cell's statements as the declaration of a
// function with a name.
func (c *Checked) LiteralPiece(fset *token.FileSet, name string, lit *ast.FuncLit) Piece {
	src := c.Source
	at := fset.Position(lit.Pos())
	offset := func(p token.Pos) int { return fset.PositionFor(p, false).Offset - len(bodyPrefix) }
	text := strings.TrimPrefix(src.text[offset(lit.Pos()):min(offset(lit.End()), len(src.text))], "func")
	_, im := usesOf(c.Info, lit)
	return Piece{Cell: src.Number, Line: at.Line, Column: at.Column, Text: "func " + name + text, imported: im}
}

// LayoutLoop is Layout for what LoopPiece has returned. In place of variables that hold
// function literals, it has these as functions: literals has them by the variable's name.
func (p *Program) LayoutLoop(fset *token.FileSet, pc Piece, literals map[string]Piece, binds bool) (n *Native, err error) {
	n, err = p.layout(fset, &Unit{Piece: pc, native: []Piece{pc}, ofC: []string{LoopName}}, nil, LoopName, "", literals, binds)
	if err != nil && len(literals) > 0 { // it may assign to the variables
		return p.LayoutLoop(fset, pc, nil, binds)
	}
	return n, err
}

// typeUnit returns the unit that declares a type of interpreted cells, or nil.
func (p *Program) typeUnit(name string) *Unit {
	for _, w := range p.Units {
		if w.native == nil && w.Method == "" && slices.Contains(w.Names, name) {
			return w
		}
	}
	return nil
}

// layout checks a unit with what it uses. of is the unit of a method's type.
func (p *Program) layout(fset *token.FileSet, u, of *Unit, name, method string, literals map[string]Piece, binds bool) (*Native, error) {
	k := &nativeCheck{p: p, q: p.clone(), fset: fset, u: u, n: &Native{Unit: u, Layout: true, binds: binds}, literals: literals, live: p.Units, objects: map[string]types.Object{},
		pieces: u.native, names: map[string]bool{}, parsed: map[Piece]ast.Decl{}, copied: map[*Unit]bool{}}
	for _, n := range u.ofC {
		k.names[n] = true
	}
	if of != nil {
		k.copyType(of)
	}
	for pruned := false; ; pruned = true {
		missing, err := k.attempt()
		for err == errAgain {
			missing, err = k.attempt()
		}
		switch {
		case err != nil && pruned: // by a method that nothing calls but an interface
			return nil, errors.New("a value of a type of a cell goes into an interface")
		case err != nil:
			return nil, err
		case missing != nil:
			return nil, errors.New("internal: it waits for " + missing.String())
		}
		for _, d := range k.n.Decls {
			if f, ok := d.Decl.(*ast.FuncDecl); ok && (method == "" && f.Recv == nil && f.Name.Name == name || method != "" && f.Name.Name == method && ReceiverName(f) == name) {
				k.n.Entry, _ = k.n.Info.Defs[f.Name].(*types.Func)
			}
		}
		if k.n.Entry == nil {
			return nil, errors.New("internal: it has not been declared")
		}
		if !k.prune() {
			if binds {
				k.n.copies(p)
			}
			return k.n, nil
		}
	}
}

// copies notes the types that are bound to the session's, and their methods.
func (n *Native) copies(p *Program) {
	to := map[*types.TypeName]*types.Named{}
	add := func(t *types.Named, of types.Type) {
		n.Copies = append(n.Copies, Copy{Type: t, Of: of})
	}
	scope := n.Package.Scope()
	for _, name := range scope.Names() {
		t, ok := named(scope.Lookup(name))
		e := p.Names[name]
		if !ok || e == nil {
			continue
		}
		if of, ok := named(e.Object); ok {
			if to[t.Obj()] = of; t.TypeParams().Len() == 0 && (!types.IsInterface(t) || t.Underlying().(*types.Interface).IsMethodSet()) {
				add(t, of)
			}
		}
	}
	for _, t := range n.instances() {
		var args []types.Type
		for a := range t.TypeArgs().Types() {
			of, _ := replace(a, to)
			args = append(args, of)
		}
		if of, err := types.Instantiate(nil, to[t.Obj()], args, false); err == nil {
			add(t, of)
		}
	}
	for i, c := range n.Copies {
		for f := range c.Type.Methods() {
			if !types.IsInterface(c.Type) {
				n.Methods = append(n.Methods, CopiedMethod{i, f})
			}
		}
	}
}

// instances returns the instances of the generic types that a compiled cell declares
// whose arguments are types of it, or of libraries.
func (n *Native) instances() (list []*types.Named) {
	found := map[string]*types.Named{}
	seen := map[types.Type]bool{}
	for _, tv := range n.Info.Types {
		WalkType(tv.Type, func(t types.Type) {
			if x, ok := t.(*types.Named); ok && x.Obj().Pkg() == n.Package && x.TypeArgs().Len() > 0 && n.unbound(x) == nil {
				found[types.TypeString(x, nil)] = x
			}
		}, seen)
	}
	for _, text := range slices.Sorted(maps.Keys(found)) {
		list = append(list, found[text])
	}
	return list
}

// unbound returns a type in t, that the compiled cell declares, by which t is not bound to
// a type of the session: one that a function declares, an instance with type parameters
// or of a library's generic type, one in a struct with fields that are not exported or in
// an interface without a name. It returns nil for other types.
func (n *Native) unbound(t types.Type) *types.TypeName {
	tuple := func(list *types.Tuple) (found *types.TypeName) {
		for v := range list.Variables() {
			found = cmp.Or(found, n.unbound(v.Type()))
		}
		return found
	}
	switch t := types.Unalias(t).(type) {
	case *types.Named:
		if t.Obj().Pkg() != n.Package {
			for a := range t.TypeArgs().Types() {
				if o := n.Mentions(a); o != nil {
					return o
				}
			}
			return nil
		}
		if t.Obj().Parent() != n.Package.Scope() {
			return t.Obj()
		}
		for a := range t.TypeArgs().Types() {
			if hasParam(a) {
				return t.Obj()
			}
			if o := n.unbound(a); o != nil {
				return o
			}
		}
	case *types.Map:
		return cmp.Or(n.unbound(t.Key()), n.unbound(t.Elem()))
	case *types.Signature:
		return cmp.Or(tuple(t.Params()), tuple(t.Results()))
	case *types.Struct:
		for f := range t.Fields() {
			if !f.Exported() || f.Embedded() {
				return n.Mentions(t)
			}
		}
		for f := range t.Fields() {
			if o := n.unbound(f.Type()); o != nil {
				return o
			}
		}
	case *types.Interface:
		return n.Mentions(t)
	case interface{ Elem() types.Type }:
		return n.unbound(t.Elem())
	}
	return nil
}

// Bound reports whether values of a type have the descriptor that the session has for it.
// Of types that neither declares there may be two, unless plugins can be bound.
func (n *Native) Bound(t types.Type) bool {
	return n.binds && n.unbound(t) == nil && !hasParam(t) && plain(t)
}

// plain reports whether a type without a name has no part that has fields which are not
// exported, or that is an interface with methods: those have descriptors of their own.
func plain(t types.Type) bool {
	switch t := types.Unalias(t).(type) {
	case *types.Map:
		return plain(t.Key()) && plain(t.Elem())
	case *types.Signature:
		ok := true
		for _, list := range []*types.Tuple{t.Params(), t.Results()} {
			for v := range list.Variables() {
				ok = ok && plain(v.Type())
			}
		}
		return ok
	case *types.Struct:
		ok := true
		for f := range t.Fields() {
			ok = ok && f.Exported() && !f.Embedded() && plain(f.Type())
		}
		return ok
	case *types.Interface:
		return t.NumMethods() == 0
	case *types.Named, *types.Basic:
		return true
	case interface{ Elem() types.Type }:
		return plain(t.Elem())
	}
	return false
}

func hasParam(t types.Type) (found bool) {
	WalkType(t, func(t types.Type) { found = found || isParam(t) }, map[types.Type]bool{})
	return found
}

// Mentions returns a type that a compiled cell has a copy of, or declares, in t, or nil.
func (n *Native) Mentions(t types.Type) (found *types.TypeName) {
	WalkType(t, func(t types.Type) {
		if x, ok := t.(*types.Named); ok && x.Obj().Pkg() == n.Package {
			found = x.Obj()
		}
	}, map[types.Type]bool{})
	return found
}

// interfaceMethods returns the names of the methods of all interfaces of a compiled cell.
func (n *Native) interfaceMethods() map[string]bool {
	names := map[string]bool{}
	seen := map[types.Type]bool{}
	note := func(t types.Type) {
		if i, ok := t.Underlying().(*types.Interface); ok {
			for m := range i.Methods() {
				names[m.Name()] = true
			}
		}
	}
	for _, tv := range n.Info.Types {
		if tv.Type != nil {
			WalkType(tv.Type, note, seen)
		}
	}
	for _, o := range n.Info.Uses {
		if f, ok := o.(*types.Func); ok {
			WalkType(f.Type(), note, seen)
		}
	}
	return names
}

// copyType adds the declaration of a type, with its methods.
func (k *nativeCheck) copyType(w *Unit) {
	k.copy(w)
	for _, m := range k.live {
		if m.native == nil && m.Method != "" && slices.Contains(w.Names, m.Names[0]) && !k.copied[m] {
			k.copy(m)
		}
	}
}

// layoutType has a type of a cell copied, or refuses it.
func (k *nativeCheck) layoutType(id *ast.Ident, o *types.TypeName) {
	w := k.p.typeUnit(o.Name())
	if e := k.p.Names[o.Name()]; w == nil || e == nil || e.Object != o {
		k.refuse(id, "it uses %s, a type that is declared no longer", o.Name())
	} else if !k.copied[w] {
		k.copyType(w)
	}
}

// layoutLiteral declares the function literal that a variable holds, if it is to.
func (k *nativeCheck) layoutLiteral(o *types.Var) bool {
	pc, ok := k.literals[o.Name()]
	if ok && !k.names[o.Name()] {
		k.pieces = append(slices.Clip(k.pieces), pc)
		k.names[o.Name()], k.more = true, true
		k.n.Literals = append(k.n.Literals, o.Name())
	}
	return ok
}

// layoutVar declares a variable of a type of cells with the copy of that.
func (k *nativeCheck) layoutVar(id *ast.Ident, o *types.Var) {
	if k.names[o.Name()] {
		return // by another use
	}
	var imports []Piece
	pc := Piece{Cell: k.u.Cell, Line: 1, Column: 1}
	pc.Text = "var " + o.Name() + " " + types.TypeString(o.Type(), func(p *types.Package) string {
		if p == k.p.Package || IsNative(p) {
			return ""
		}
		imports = append(imports, Piece{Cell: k.u.Cell, Line: 1, Column: 1, Text: "import " + cell.Alias(p.Path()) + " " + strconv.Quote(p.Path())})
		return cell.Alias(p.Path())
	})
	for _, t := range cellTypes(o.Type()) {
		if t.Parent() != k.p.Package.Scope() {
			k.refuse(id, "it uses the variable %s, of a type that a function declares", o.Name())
			return
		}
	}
	for _, i := range imports {
		if !slices.Contains(k.pieces, i) {
			k.pieces = append(slices.Clip(k.pieces), i)
		}
	}
	k.pieces = append(slices.Clip(k.pieces), pc)
	k.names[o.Name()], k.more = true, true
}

// sharedVars notes the variables that layoutVar has declared, for which the session's
// stand.
func (k *nativeCheck) sharedVars() {
	for _, d := range k.n.Decls {
		if g, ok := d.Decl.(*ast.GenDecl); ok && g.Tok == token.VAR {
			for _, id := range g.Specs[0].(*ast.ValueSpec).Names {
				if v, ok := k.n.Info.Defs[id].(*types.Var); ok {
					k.n.Vars[id.Name] = v
				}
			}
		}
	}
}

// prune drops the copies that the entry does not reach, such as methods that nothing
// calls. It reports whether there were any: then the rest is to be checked again.
func (k *nativeCheck) prune() bool {
	declares := map[types.Object]int{}
	byName := map[string][]int{} // methods
	ofType := map[string][]int{} // methods that values of a type have in interfaces
	called := map[string]bool{}
	if k.n.binds {
		called = k.n.interfaceMethods()
	}
	for i, d := range k.n.Decls {
		switch x := d.Decl.(type) {
		case *ast.FuncDecl:
			declares[k.n.Info.Defs[x.Name]] = i
			if x.Recv != nil {
				byName[x.Name.Name] = append(byName[x.Name.Name], i)
				if called[x.Name.Name] {
					ofType[ReceiverName(x)] = append(ofType[ReceiverName(x)], i)
				}
			}
		case *ast.GenDecl:
			ast.Inspect(x, func(n ast.Node) bool {
				if id, ok := n.(*ast.Ident); ok && k.n.Info.Defs[id] != nil {
					declares[k.n.Info.Defs[id]] = i
				}
				return true
			})
		}
	}
	reached := map[int]bool{}
	var visit func(i int)
	visit = func(i int) {
		if reached[i] {
			return
		}
		reached[i] = true
		ast.Inspect(k.n.Decls[i].Decl, func(n ast.Node) bool {
			if spec, ok := n.(*ast.TypeSpec); ok {
				for _, j := range ofType[spec.Name.Name] {
					visit(j)
				}
			}
			id, ok := n.(*ast.Ident)
			if !ok {
				return true
			}
			o := k.n.Info.Uses[id]
			if f, ok := o.(*types.Func); ok {
				o = f.Origin()
				if r := f.Signature().Recv(); r != nil && types.IsInterface(r.Type()) {
					for _, j := range byName[f.Name()] { // by a type parameter
						visit(j)
					}
				}
			}
			if j, ok := declares[o]; ok && o != nil {
				visit(j)
			}
			return true
		})
	}
	visit(declares[k.n.Entry])
	if len(reached) == len(k.n.Decls) {
		return false
	}
	pieces := slices.DeleteFunc(slices.Clone(k.pieces), func(pc Piece) bool {
		g, ok := k.parsed[pc].(*ast.GenDecl)
		return !ok || g.Tok != token.IMPORT
	})
	for i, d := range k.n.Decls {
		if reached[i] {
			pieces = append(pieces, d.Piece)
		}
	}
	k.pieces = pieces
	return true
}

// Uses returns the names of the session that a function of earlier cells uses.
func (p *Program) Uses(name string) []string {
	var names []string
	for _, u := range p.Units {
		if u.Method == "" && slices.Contains(u.Names, name) {
			for n := range u.deps {
				names = append(names, n)
			}
		}
	}
	slices.Sort(names)
	return names
}

// An Interfaced is a conversion of a value to an interface.
type Interfaced struct {
	At       ast.Node
	From, To types.Type
	Call     *ast.CallExpr // of which the value is an argument, or nil
}

// Conversions calls f for the conversions of values to interfaces in a declaration, written
// or implied.
//
// Long: a case for each kind of syntax.
func Conversions(info *types.Info, d ast.Node, f func(Interfaced)) {
	to := func(from types.Type, to types.Type, at ast.Node, call *ast.CallExpr) {
		if from == nil || to == nil || !types.IsInterface(to) || types.IsInterface(from) && !isParam(from) {
			return
		}
		if b, ok := from.(*types.Basic); ok && b.Kind() == types.UntypedNil {
			return
		}
		if !isParam(to) {
			f(Interfaced{at, from, to, call})
		}
	}
	// values does so for expressions, or one of several values, that are given to types.
	values := func(list []ast.Expr, target func(i int) types.Type, call *ast.CallExpr) {
		if len(list) == 1 {
			if t, ok := info.TypeOf(list[0]).(*types.Tuple); ok {
				for i := range t.Len() {
					to(t.At(i).Type(), target(i), list[0], call)
				}
				return
			}
		}
		for i, x := range list {
			to(info.TypeOf(x), target(i), x, call)
		}
	}
	var results []*types.Tuple // of the functions around
	var walk func(n ast.Node)
	visit := func(n ast.Node) bool {
		switch x := n.(type) {
		case *ast.FuncDecl:
			if o, ok := info.Defs[x.Name].(*types.Func); ok && x.Body != nil {
				results = append(results, o.Signature().Results())
				walk(x.Body)
				results = results[:len(results)-1]
			}
			return false
		case *ast.FuncLit:
			results = append(results, info.TypeOf(x).(*types.Signature).Results())
			walk(x.Body)
			results = results[:len(results)-1]
			return false
		case *ast.ReturnStmt:
			r := results[len(results)-1]
			values(x.Results, func(i int) types.Type { return at(r, i) }, nil)
		case *ast.AssignStmt:
			values(x.Rhs, func(i int) types.Type {
				if i < len(x.Lhs) {
					return info.TypeOf(x.Lhs[i])
				}
				return nil
			}, nil)
		case *ast.ValueSpec:
			if x.Type != nil {
				values(x.Values, func(int) types.Type { return info.TypeOf(x.Type) }, nil)
			}
		case *ast.SendStmt:
			if c, ok := info.TypeOf(x.Chan).Underlying().(*types.Chan); ok {
				to(info.TypeOf(x.Value), c.Elem(), x, nil)
			}
		case *ast.RangeStmt:
			rangeTo(info, x, func(from, target types.Type) { to(from, target, x, nil) })
		case *ast.IndexExpr:
			if t := info.TypeOf(x.X); t != nil {
				if m, ok := t.Underlying().(*types.Map); ok {
					to(info.TypeOf(x.Index), m.Key(), x, nil)
				}
			}
		case *ast.BinaryExpr:
			if x.Op == token.EQL || x.Op == token.NEQ {
				to(info.TypeOf(x.X), info.TypeOf(x.Y), x, nil)
				to(info.TypeOf(x.Y), info.TypeOf(x.X), x, nil)
			}
		case *ast.SwitchStmt:
			for _, c := range x.Body.List {
				for _, v := range c.(*ast.CaseClause).List {
					if x.Tag != nil {
						to(info.TypeOf(v), info.TypeOf(x.Tag), v, nil)
						to(info.TypeOf(x.Tag), info.TypeOf(v), v, nil)
					}
				}
			}
		case *ast.CompositeLit:
			elements(info, x, to)
		case *ast.CallExpr:
			arguments(info, x, to, values)
		}
		return true
	}
	walk = func(n ast.Node) { ast.Inspect(n, visit) }
	walk(d)
}

func isParam(t types.Type) bool {
	_, ok := types.Unalias(t).(*types.TypeParam)
	return ok
}

func at(t *types.Tuple, i int) types.Type {
	if i < t.Len() {
		return t.At(i).Type()
	}
	return nil
}

// rangeTo calls to for what a loop assigns to variables that exist.
func rangeTo(info *types.Info, x *ast.RangeStmt, to func(from, target types.Type)) {
	if x.Tok != token.ASSIGN {
		return
	}
	var key, value types.Type
	switch t := info.TypeOf(x.X).Underlying().(type) {
	case *types.Map:
		key, value = t.Key(), t.Elem()
	case *types.Signature:
		if yield, ok := at(t.Params(), 0).(*types.Signature); ok {
			key, value = at(yield.Params(), 0), at(yield.Params(), 1)
		}
	case *types.Basic:
		if key = info.TypeOf(x.X); t.Info()&types.IsString != 0 {
			key, value = types.Typ[types.Int], types.Typ[types.Rune]
		}
	case interface{ Elem() types.Type }:
		key, value = types.Typ[types.Int], t.Elem()
		if _, ok := t.(*types.Chan); ok {
			key = t.Elem()
		} else if a, ok := t.Elem().Underlying().(*types.Array); ok {
			value = a.Elem()
		}
	}
	if x.Key != nil {
		to(key, info.TypeOf(x.Key))
	}
	if x.Value != nil {
		to(value, info.TypeOf(x.Value))
	}
}

// elements calls to for the elements of a composite literal.
func elements(info *types.Info, x *ast.CompositeLit, to func(from, target types.Type, at ast.Node, call *ast.CallExpr)) {
	t := info.TypeOf(x).Underlying()
	if p, ok := t.(*types.Pointer); ok {
		t = p.Elem().Underlying()
	}
	for i, e := range x.Elts {
		kv, keyed := e.(*ast.KeyValueExpr)
		if keyed {
			e = kv.Value
		}
		switch t := t.(type) {
		case *types.Struct:
			field := t.Field(min(i, t.NumFields()-1))
			if keyed {
				id, ok := kv.Key.(*ast.Ident)
				if !ok {
					continue
				}
				for f := range t.Fields() {
					if f.Name() == id.Name {
						field = f
					}
				}
			}
			to(info.TypeOf(e), field.Type(), e, nil)
		case *types.Map:
			to(info.TypeOf(kv.Key), t.Key(), kv.Key, nil)
			to(info.TypeOf(e), t.Elem(), e, nil)
		case interface{ Elem() types.Type }:
			to(info.TypeOf(e), t.Elem(), e, nil)
		}
	}
}

// arguments calls to for the arguments of a call or a conversion.
func arguments(info *types.Info, x *ast.CallExpr, to func(from, target types.Type, at ast.Node, call *ast.CallExpr), values func([]ast.Expr, func(int) types.Type, *ast.CallExpr)) {
	fun := info.Types[x.Fun]
	switch {
	case fun.IsType():
		if len(x.Args) == 1 {
			to(info.TypeOf(x.Args[0]), fun.Type, x, nil)
		}
		return
	case fun.IsBuiltin():
		id, ok := ast.Unparen(x.Fun).(*ast.Ident)
		if !ok || len(x.Args) == 0 {
			return
		}
		t := info.TypeOf(x.Args[0])
		switch id.Name {
		case "panic":
			to(t, types.NewInterfaceType(nil, nil), x, x)
		case "append":
			if s, ok := t.Underlying().(*types.Slice); ok && !x.Ellipsis.IsValid() {
				values(x.Args[1:], func(int) types.Type { return s.Elem() }, x)
			}
		case "delete":
			if m, ok := t.Underlying().(*types.Map); ok && len(x.Args) > 1 {
				to(info.TypeOf(x.Args[1]), m.Key(), x, x)
			}
		}
		return
	}
	if fun.Type == nil {
		return
	}
	sig, ok := fun.Type.Underlying().(*types.Signature)
	if !ok {
		return
	}
	n := sig.Params().Len()
	values(x.Args, func(i int) types.Type {
		if sig.Variadic() && i >= n-1 {
			t := sig.Params().At(n - 1).Type()
			if s, ok := t.Underlying().(*types.Slice); ok && !x.Ellipsis.IsValid() {
				return s.Elem()
			}
			return t
		}
		return at(sig.Params(), i)
	}, x)
}

// usesCopy returns a type that is not bound to one of the session in t, or nil: argument
// for a type parameter.
func (n *Native) usesCopy(t types.Type, argument *types.TypeName) (found *types.TypeName) {
	if t == nil {
		return nil
	}
	if n.binds {
		found = n.unbound(t)
	} else {
		found = n.Mentions(t)
	}
	if argument != nil && hasParam(t) {
		found = argument
	}
	return found
}

// blind are the functions of the library that do not ask of an argument in an interface
// which type it has, but for how to move what it consists of.
var blind = map[string]bool{"sort.Slice": true, "sort.SliceStable": true, "sort.SliceIsSorted": true}

// blindPackages hold generic functions and types that ask no more of type arguments.
var blindPackages = map[string]bool{"slices": true, "maps": true, "cmp": true, "iter": true, "sync/atomic": true}

// AsksIdentity returns where a compiled cell with copies of types would show that they are
// others than the session's: by an interface, a type assertion, a generic of a library. It
// returns "" for one that does not.
func (n *Native) AsksIdentity() (why string) {
	refuse := func(o *types.TypeName, format string, args ...any) {
		if o != nil && why == "" {
			why = fmt.Sprintf(format, append([]any{o.Name()}, args...)...)
		}
	}
	var argument *types.TypeName // a copy for a type parameter
	for _, id := range InOrder(n.Info.Uses) {
		for t := range n.Info.Instances[id].TypeArgs.Types() {
			argument = cmp.Or(argument, n.usesCopy(t, nil))
		}
	}
	for _, d := range n.Decls {
		Conversions(n.Info, d.Decl, func(c Interfaced) {
			if c.Call != nil {
				if f := Called(n.Info, c.Call); f != nil && blind[f.FullName()] {
					return
				}
			}
			refuse(n.usesCopy(c.From, argument), "a value of %s, a type of a cell, goes into an interface")
		})
		ast.Inspect(d.Decl, func(x ast.Node) bool {
			switch x := x.(type) {
			case *ast.TypeAssertExpr:
				if x.Type != nil {
					refuse(n.usesCopy(n.Info.TypeOf(x.Type), argument), "it asserts %s, a type of a cell")
				}
			case *ast.TypeSwitchStmt:
				for _, c := range x.Body.List {
					for _, t := range c.(*ast.CaseClause).List {
						refuse(n.usesCopy(n.Info.TypeOf(t), argument), "it asserts %s, a type of a cell")
					}
				}
			case *ast.SelectorExpr:
				s := n.Info.Selections[x]
				if s == nil || s.Kind() == types.FieldVal {
					return true
				}
				// Where an interface has its methods depends on the package that declares it.
				r := s.Obj().(*types.Func).Signature().Recv().Type()
				if !n.binds && types.IsInterface(r) && !isParam(s.Recv()) && s.Obj().Pkg() == n.Package && why == "" {
					why = "it calls " + s.Obj().Name() + ", a method of an interface of a cell"
				}
			case *ast.Ident:
				f, ok := n.Info.Uses[x].(*types.Func)
				if !ok || f.Pkg() == nil || f.Pkg() == n.Package || blindPackages[f.Pkg().Path()] {
					return true
				}
				for t := range n.Info.Instances[x].TypeArgs.Types() {
					refuse(n.usesCopy(t, argument), "%s, a type of a cell, is a type argument of %s", f.FullName())
				}
			}
			return why == ""
		})
	}
	for _, tv := range n.Info.Types {
		if t, ok := tv.Type.(*types.Named); ok && t.Obj().Pkg() != n.Package && t.Obj().Pkg() != nil && !blindPackages[t.Obj().Pkg().Path()] {
			for a := range t.TypeArgs().Types() {
				refuse(n.Mentions(a), "%s, a type of a cell, is a type argument of %s", t.Obj().Name())
			}
		}
	}
	return why
}

// Called returns the function or method that a call names, or nil.
func Called(info *types.Info, x *ast.CallExpr) *types.Func {
	fun := ast.Unparen(x.Fun)
	switch i := fun.(type) {
	case *ast.IndexExpr:
		fun = ast.Unparen(i.X)
	case *ast.IndexListExpr:
		fun = ast.Unparen(i.X)
	}
	var id *ast.Ident
	switch f := fun.(type) {
	case *ast.Ident:
		id = f
	case *ast.SelectorExpr:
		id = f.Sel
	}
	if id == nil {
		return nil
	}
	f, _ := info.Uses[id].(*types.Func)
	return f
}

// Leaves returns the statements that a loop of a cell's statements cannot contain when it
// is compiled apart: "" if there are none.
func Leaves(loop ast.Stmt) (why string) {
	ast.Inspect(loop, func(n ast.Node) bool {
		switch x := n.(type) {
		case *ast.FuncLit:
			return false
		case *ast.ReturnStmt:
			why = "it returns"
		case *ast.DeferStmt:
			why = "it defers a call"
		case *ast.BranchStmt:
			if x.Tok == token.GOTO {
				why = "it has a goto"
			}
		case *ast.CallExpr:
			if id, ok := ast.Unparen(x.Fun).(*ast.Ident); ok && strings.HasPrefix(id.Name, "recover") {
				why = "it recovers"
			}
		}
		return why == ""
	})
	return why
}
