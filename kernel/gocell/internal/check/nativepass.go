package check

import (
	"cmp"
	"errors"
	"fmt"
	"go/ast"
	"go/scanner"
	"go/token"
	"go/types"
	"maps"
	"slices"
	"strconv"
	"strings"

	"dace.local/kernel/gocell/internal/cell"
)

// A nativeCheck is the type-checking of one compiled cell as a package of its
// own. What it uses of interpreted functions and constants is copied into it, so
// that one check may find that there is more to check.
type nativeCheck struct {
	p       *Program // the session after the cell
	q       *Program // with the compiled cell's package and imports
	fset    *token.FileSet
	u       *Unit
	n       *Native
	cell    []Declared // interpreted declarations of the cell under way
	live    []*Unit    // units of the session
	objects map[string]types.Object
	pending map[string]*Unit // compiled cells that are yet to be checked, by name

	pieces   []Piece          // its declarations, with the copies
	literals map[string]Piece // see LayoutLoop
	names    map[string]bool
	parsed   map[Piece]ast.Decl
	copied   map[*Unit]bool

	all  []Declared
	used *mentions
	errs []types.Error
	ce   *Error   // in its own words
	lift []string // interpreted types that must be compiled too
	more bool     // there are copies that have not been checked
}

// checkNative checks a compiled cell. missing is a unit of pending that must be
// checked first, or nil.
func (p *Program) checkNative(fset *token.FileSet, u *Unit, cell []Declared, live []*Unit, objects map[string]types.Object, pending map[string]*Unit) (n *Native, missing *Unit, err error) {
	k := &nativeCheck{p: p, q: p.clone(), fset: fset, u: u, n: &Native{Unit: u}, cell: cell, live: live, objects: objects, pending: pending,
		pieces: u.native, names: map[string]bool{}, parsed: map[Piece]ast.Decl{}, copied: map[*Unit]bool{}}
	for _, name := range append(slices.Clip(u.Names), u.ofC...) {
		k.names[name] = true
	}
	for {
		missing, err := k.attempt()
		switch {
		case err == errAgain:
		case missing != nil || err != nil:
			return nil, missing, err
		default:
			return k.n, nil, nil
		}
	}
}

// attempt checks the pieces. It returns errAgain where it has added some.
func (k *nativeCheck) attempt() (missing *Unit, err error) {
	setScope(k.p.Package)
	k.n.Package = types.NewPackage("main", "cell")
	k.n.Info = NewInfo()
	k.n.C, k.n.Decls, k.n.Blank, k.n.Vars = nil, nil, nil, map[string]*types.Var{}
	k.q.Package = k.n.Package
	k.all, k.used, k.errs, k.ce, k.lift, k.more = nil, newMentions(), nil, &Error{}, nil, false
	if err := k.parse(); err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(k.used.names)) {
		k.declare(name)
	}
	if k.more || k.types() {
		return nil, errAgain
	}
	k.u.deps = map[string]bool{}
	k.mixed()
	for _, id := range InOrder(k.n.Info.Uses) {
		if missing := k.use(id, k.n.Info.Uses[id]); missing != nil {
			return missing, nil
		}
	}
	switch {
	case len(k.lift) > 0:
		return nil, &unlifted{k.lift}
	case k.more:
		return nil, errAgain
	}
	k.report()
	if err := k.failed(); err != nil {
		return nil, err
	}
	for w := range k.copied {
		for _, name := range w.Names {
			k.u.deps[name] = true
		}
	}
	k.fetchedTypes()
	k.cTypes()
	if k.n.Layout {
		k.sharedVars()
	}
	if err := k.failed(); err != nil {
		return nil, err
	}
	k.ownScope()
	nativePaths.Store(k.n.Package, cell.CellsPath+strconv.Itoa(int(nativeCount.Add(1))))
	return nil, nil
}

// InOrder returns the identifiers of a map in the order of the text, so that the
// same cell always becomes the same package: it is built once.
func InOrder(m map[*ast.Ident]types.Object) []*ast.Ident {
	return slices.SortedFunc(maps.Keys(m), func(x, y *ast.Ident) int {
		return cmp.Or(cmp.Compare(x.Pos(), y.Pos()), strings.Compare(x.Name, y.Name))
	})
}

// report adds what the type checker found, with hints.
func (k *nativeCheck) report() {
	known := &checking{p: k.p, fset: k.fset, info: k.n.Info, all: k.all, body: &ast.BlockStmt{}, objects: map[string]types.Object{}}
	for name := range k.names {
		known.objects[name] = k.n.Package.Scope().Lookup(name)
	}
	k.ce.hints = map[*scanner.Error]string{}
	for _, te := range k.errs {
		k.ce.List.Add(k.fset.Position(te.Pos), te.Msg)
		k.ce.hints[k.ce.List[len(k.ce.List)-1]] = known.hint(te)
	}
}

// failed returns the errors so far.
func (k *nativeCheck) failed() error {
	if len(k.ce.List) == 0 {
		return nil
	}
	k.ce.List.Sort()
	return k.ce
}

// refuse adds an error at an identifier or object.
func (k *nativeCheck) refuse(at interface{ Pos() token.Pos }, format string, args ...any) {
	k.ce.List.Add(k.fset.Position(at.Pos()), fmt.Sprintf(format, args...))
}

// parse parses the pieces, each once.
func (k *nativeCheck) parse() error {
	for _, pc := range k.pieces {
		if k.parsed[pc] == nil {
			ds, err := pc.Parse(k.fset)
			if err != nil || len(ds) != 1 {
				return fmt.Errorf("internal: cannot parse %s again: %v", k.u, err)
			}
			k.parsed[pc] = ds[0]
		}
		d := k.parsed[pc]
		if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.IMPORT {
			if err := k.q.addImports(k.fset, g, compiledImporter{k.p.Importer}); err != nil {
				return err
			}
			for _, spec := range g.Specs {
				if ImportPath(spec.(*ast.ImportSpec)) == "C" {
					k.n.C = &CImport{pc.preamble, pc.Cell, pc.at}
				}
				if is := spec.(*ast.ImportSpec); is.Name != nil && is.Name.Name == "_" {
					k.n.Blank = append(k.n.Blank, ImportPath(is))
				}
			}
			continue
		}
		k.n.Decls = append(k.n.Decls, NativeDecl{pc, d})
		k.all = append(k.all, Declared{Decl: d, Unit: UnitsOf(pc, d)})
		k.used.add(d)
	}
	return nil
}

// copy adds the declaration of an interpreted function or constant.
func (k *nativeCheck) copy(w *Unit) {
	k.copied[w] = true
	k.pieces = append(slices.Clip(k.pieces), w.Piece)
	for _, name := range w.Names {
		k.names[name] = true
	}
	k.more = true
}

// declare puts what the session knows by a name into the scope.
func (k *nativeCheck) declare(name string) {
	if types.Universe.Lookup(name) != nil && k.asGo(name) {
		return
	}
	insert := func(o types.Object) {
		if o.Parent() == nil {
			k.p.Package.Scope().Insert(o) // where it belongs
		}
		k.n.Package.Scope().Insert(o)
	}
	switch {
	case k.names[name]:
	case k.objects[name] != nil:
		insert(k.objects[name])
	case declarationOf(k.cell, name) != nil:
		w := declarationOf(k.cell, name)
		if w.typ {
			insert(types.NewTypeName(token.NoPos, k.p.Package, name, types.Typ[types.Invalid]))
		} else if !k.copied[w.unit] {
			k.copy(w.unit)
		}
	case k.p.cannotLift[name] != "": // a type that was compiled before this cell
		insert(types.NewTypeName(token.NoPos, k.p.Package, name, types.Typ[types.Invalid]))
	case k.p.Names[name] != nil:
		insert(k.p.Names[name].Object)
	}
}

// asGo reports whether a name is Go's own in the cell: what mentions it was checked before the
// session declared the name.
func (k *nativeCheck) asGo(name string) (is bool) {
	for _, d := range k.n.Decls {
		if im := d.imported; im == nil && mentionsName(d.Decl, name) || im != nil && im.session[name] {
			return false
		} else if im != nil {
			is = is || im.golang[name]
		}
	}
	return is
}

const goOwn = "this uses Go's own %[1]s, and what goes with it the %[1]s of a later cell: run the cell that declares this again"

// mixed refuses declarations that had a name from Go, where others have the session's: a
// package can have one of them only.
func (k *nativeCheck) mixed() {
	for _, d := range k.n.Decls {
		if d.imported == nil {
			continue
		}
		ast.Inspect(d.Decl, func(n ast.Node) bool {
			id, ok := n.(*ast.Ident)
			if !ok || !d.imported.golang[id.Name] {
				return true
			}
			if o := k.n.Info.Uses[id]; o != nil && o.Pkg() != nil && PackageLevel(o) {
				k.refuse(id, goOwn, id.Name)
			}
			return true
		})
	}
}

// noteImports notes what the declarations of a compiled cell have of imports and of the
// session, for when it is compiled again.
func (n *Native) noteImports() {
	pieces := slices.Clone(n.Unit.native)
	for _, d := range n.Decls {
		if i := slices.Index(pieces, d.Piece); i >= 0 {
			_, pieces[i].imported = usesOf(n.Info, d.Decl)
		}
	}
	n.Unit.native = pieces
}

// types runs the type checker. It reports whether that is to be done again, since
// a literal has been given the names of its fields, or must its number of results.
func (k *nativeCheck) types() (again bool) {
	filter := conflictFilter{own: k.p.conflicts}
	conf := &types.Config{Importer: compiledImporter{k.p.Importer}, FakeImportC: k.n.C != nil, Error: func(err error) {
		var te types.Error
		if !errors.As(err, &te) || filter.drops(te.Msg) {
			return
		}
		if kind, _ := kindOfError(te.Msg); kind != unusedImport && kind != failedImport {
			te.Msg = k.p.shownInNative(te.Msg)
			k.errs = addError(k.errs, te)
		}
	}}
	var decls []ast.Decl
	kept := map[ast.Decl]*imported{}
	for _, d := range k.n.Decls {
		decls = append(decls, d.Decl)
		kept[d.Decl] = d.imported
	}
	k.errs = append(k.p.excess(k.fset, decls), k.strayMethods()...)
	if k.errs != nil {
		return false
	}
	files := k.q.files(k.q.importDecl(k.used, k.all), decls, func(d ast.Decl) *imported { return kept[d] })
	file := allDecls(files)
	hideForeign(file)
	_ = types.NewChecker(conf, k.fset, k.n.Package, k.n.Info).Files(files)
	again, k.errs = sizeMusts(k.n.Info, file, k.errs)
	return nameFields(k.n.Info, file, k.errs) || again
}

// strayMethods returns errors about methods of types that other cells declare, also by an
// alias, for which the type checker would panic.
func (k *nativeCheck) strayMethods() (errs []types.Error) {
	written := map[*Unit]string{}
	for _, d := range k.all {
		if d.Unit.Method != "" {
			written[d.Unit] = d.Unit.Names[0]
		}
	}
	k.p.unaliasReceivers(k.all)
	for _, d := range k.all {
		if written[d.Unit] == "" {
			continue
		}
		for _, name := range []string{written[d.Unit], d.Unit.Names[0]} {
			_, isType := k.n.Package.Scope().Lookup(name).(*types.TypeName)
			if e := k.p.Names[name]; isType && e != nil && !k.names[name] {
				pos := d.Decl.(*ast.FuncDecl).Recv.Pos()
				errs = append(errs, types.Error{Fset: k.fset, Pos: pos, Msg: fmt.Sprintf("%s is declared in cell %d: declare its methods there, or the type here, too", name, e.Cell)})
				break
			}
		}
	}
	return errs
}

// use notes what the cell uses of the session by an identifier. It returns a unit
// that is to be checked first, or nil.
func (k *nativeCheck) use(id *ast.Ident, o types.Object) (missing *Unit) {
	if f, ok := o.(*types.Func); ok && endsProcess[f.FullName()] {
		k.refuse(id, "%s would end the kernel: a compiled cell cannot call it", f.FullName())
	}
	if FetchedOf(o.Pkg()) != nil {
		k.u.deps[PackageKey(o.Pkg().Path())] = true
	}
	if _, ok := MustResults(o); ok {
		k.u.deps["must"] = true // which a cell may declare
	}
	if pn, ok := o.(*types.PkgName); ok && k.p.Importer.Source(pn.Imported().Path()) != nil {
		k.u.deps[PackageKey(pn.Imported().Path())] = true // also one that only compiled cells import
	}
	if o.Pkg() == k.n.Package || o.Pkg() == nil || o.Parent() == nil || o.Parent() != k.p.Package.Scope() && !OfNative(o) {
		return nil
	}
	if w := k.pendingUnit(o.Name()); w != nil {
		return w
	}
	e := k.p.Names[o.Name()]
	if e != nil && e.Object == o && e.Cell == 0 {
		k.n.UsesContext = true
		return nil
	}
	k.u.deps[o.Name()] = true
	if OfNative(o) {
		return nil
	}
	where := "this cell"
	if e != nil {
		where = fmt.Sprintf("cell %d", e.Cell)
	}
	switch o := o.(type) {
	case *types.TypeName:
		k.useType(id, o, where)
	case *types.Var:
		return k.useVar(id, o, where)
	default:
		for _, w := range k.live {
			if w.native == nil && w.Method == "" && slices.Contains(w.Names, o.Name()) && !k.copied[w] {
				k.copy(w)
			}
		}
	}
	return nil
}

// pendingUnit returns the compiled cell of a name that is to be checked before
// this one, or nil.
func (k *nativeCheck) pendingUnit(name string) *Unit {
	if w := k.pending[name]; w != nil && w != k.u && k.objects[name] == nil {
		return w
	}
	return nil
}

// useType has an interpreted type compiled, or refuses it.
func (k *nativeCheck) useType(id *ast.Ident, o *types.TypeName, where string) {
	if k.n.Layout {
		k.layoutType(id, o)
		return
	}
	if names := k.p.liftable(o, k.live, k.cell); names != nil {
		k.lift = append(k.lift, names...)
		return
	}
	why := k.p.cannotLift[o.Name()]
	switch {
	case IsGeneric(o):
		why = "a compiled cell can use generic types of compiled cells only: begin its cell with %%compile too"
	case why == "":
		why = "begin its cell with %%compile too"
	default:
		why = "it cannot be compiled: " + why
	}
	k.refuse(id, "type %s (%s) is interpreted: %s", o.Name(), where, why)
}

// useVar shares a variable of the session, or refuses to.
func (k *nativeCheck) useVar(id *ast.Ident, o *types.Var, where string) (missing *Unit) {
	switch {
	case k.n.Layout && k.layoutLiteral(o):
		return nil
	case k.n.Layout && len(cellTypes(o.Type())) > 0:
		k.layoutVar(id, o)
		return nil
	case k.n.Layout: // its machine has interfaces and functions as compiled code has them
		k.n.Vars[o.Name()] = o
		return nil
	}
	for _, t := range cellTypes(o.Type()) {
		if w := k.pendingUnit(t.Name()); w != nil {
			return w
		}
		if !k.p.lifted[t.Name()] { // else it is in a type that stays interpreted
			k.lift = append(k.lift, k.p.liftable(t, k.live, k.cell)...)
		}
	}
	if len(k.lift) > 0 {
		return nil
	}
	if bad := notShareable(o.Type(), map[types.Type]bool{}); bad != "" {
		k.refuse(id, "variable %s (%s) cannot be shared with compiled code, because it holds %s: pass it as an argument", o.Name(), where, bad)
	}
	k.n.Vars[o.Name()] = o
	return nil
}

// fetchedTypes refuses names whose types other cells would know as others.
func (k *nativeCheck) fetchedTypes() {
	for _, name := range k.u.Names {
		if o := k.n.Package.Scope().Lookup(name); o != nil {
			if t := fetchedIn(o.Type(), k.n.Package, map[types.Type]bool{}); t != nil {
				of := "a type of a fetched package"
				if OtherLayout(t) {
					of = "this"
				}
				k.refuse(o, "%s is of type %s, but %s is a different type in other cells: use it inside the functions of this cell only", name, types.TypeString(t, ShortName), of)
			}
		}
	}
}

// ownScope removes other cells' names from the cell's scope.
func (k *nativeCheck) ownScope() {
	var mine []types.Object
	for _, name := range k.n.Package.Scope().Names() {
		if o := k.n.Package.Scope().Lookup(name); o.Pkg() == k.n.Package {
			mine = append(mine, o)
		}
	}
	setScope(k.n.Package)
	for _, o := range mine {
		k.n.Package.Scope().Insert(o)
	}
}
