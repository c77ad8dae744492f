package gocell

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"go/types"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/traefik/yaegi/interp"

	"dace.local/kernel/engine"
	"dace.local/kernel/gocell/rtype"
	"dace.local/kernel/gocell/symbols"
)

// A cell that begins with %%compile is a package of its own, which a Compiler
// builds and loads. Its names are the session's like any others; to the checker
// all cells are one package, so other cells use what is not exported. What it
// uses of earlier cells goes with it: compiled cells are imported, functions and
// constants of interpreted ones are copied, plain variables are shared, types
// are compiled from then on (lift.go). When one of these changes it is built
// again.
//
// Interpreted cells call its functions and methods as they call those of the
// library. Its generic functions they instantiate as text, interpreted; of its
// generic types they use the instances that compiled cells mention.
//
// One thing is not as in one program. A type without a name that neither the
// kernel nor an earlier compiled cell has (a map[string][3]int) may be made by
// interpreted code first, and once more by the plugin. Calls of its functions
// convert the one to the other, and methods are made the same (rtype.Meet), but
// an interface that holds a value of the one does not assert to the other, and a
// field of function type or an argument of a method of such a type panics where
// it is set.

// A Compiler builds Go packages and loads them into this process.
type Compiler interface {
	// Ready returns nil, or why no cell can be compiled, for a person.
	Ready() error
	// Load builds a package and loads it; sources holds the text of the
	// package and of those of its kind that it imports, by import path, and
	// modules is the folder of a module whose requirements it may import too,
	// or "". It returns the package's variable Xˑˑ (no cell has that name). A
	// path stands for one text, and is built once.
	Load(ctx context.Context, path string, sources map[string]string, modules string) (table map[string]any, err error)
}

const (
	// nativePath is what the import paths of compiled cells begin with where
	// they are built, and cellsPath where they are checked.
	nativePath = "dace.local/cells/"
	cellsPath  = "cells/"
	// tableName is the variable of a compiled cell that a Compiler returns.
	tableName = exportMark + mark
)

// nativeCount numbers compiled cells as the checker sees them.
var nativeCount atomic.Int64

// A native is a compiled cell in one of its versions.
type native struct {
	unit *unit
	own  bool // stands in the cell that runs
	// before is the version that this one follows, where it was built again
	// because of what it uses.
	before string
	pkg    *types.Package
	info   *types.Info
	decls  []nativeDecl
	vars   map[string]*types.Var // the session's that it shares
	ctx    bool                  // it uses the predeclared context

	fetched bool              // it imports what %get has fetched
	path    string            // where it is built
	sources map[string]string // with those of what it imports
	files   []int             // the cells that its text comes from
	table   map[string]any
	// instances are those of generic types that table holds.
	instances []*types.Named
}

// A nativeDecl is a declaration of a compiled cell.
type nativeDecl struct {
	piece
	decl ast.Decl
}

// nativePaths holds the paths of compiled cells as checked. To the checker each
// is a package main, like the session: so they see what the others do not
// export.
var nativePaths sync.Map // *types.Package -> string

// isNative reports whether a package is a compiled cell.
func isNative(p *types.Package) bool {
	_, ok := nativePaths.Load(p)
	return ok
}

// pathOf returns the import path of a package, by which the kernel knows it.
func pathOf(p *types.Package) string {
	if path, ok := nativePaths.Load(p); ok {
		return path.(string)
	}
	return p.Path()
}

// ofNative reports whether an object was declared at the top of a compiled cell.
func ofNative(o types.Object) bool {
	return o != nil && isNative(o.Pkg()) && o.Parent() == o.Pkg().Scope()
}

// compileCell is the magic %%compile.
func (s *Session) compileCell(ctx context.Context, args []string, cell engine.Cell, out engine.Outputs) (res engine.Result, err error) {
	src, err := parseNative(s.fset, cell.Number, cell.ID, cell.Code)
	if len(args) > 0 && err == nil {
		err = errors.New("%%compile takes no arguments")
	}
	if err != nil {
		return res, s.compileError(cell.Number, err)
	}
	err = errors.New("this program has no compiler for cells")
	if s.opts.Compiler != nil {
		err = s.opts.Compiler.Ready()
	}
	if err != nil {
		out.Stderr("%%compile: " + err.Error() + ". The cell runs interpreted.\n")
		if src, err = parseCell(s.fset, cell.Number, cell.ID, cell.Code); err != nil {
			return res, s.compileError(cell.Number, err)
		}
	}
	return s.run(ctx, src, false, out)
}

// parseNative parses a compiled cell: declarations only.
func parseNative(fset *token.FileSet, number int, id, text string) (*source, error) {
	src := &source{number: number, id: id, text: text, file: &ast.File{Name: ast.NewIdent("main")}, body: &ast.BlockStmt{}}
	var errs scanner.ErrorList
	for _, p := range split(text) {
		line, col := lineCol(text, p.start)
		if p.kind == partStmt && p.tok != token.VAR {
			errs.Add(token.Position{Filename: fileName(number), Offset: p.start, Line: line, Column: col},
				"a compiled cell holds declarations only, and this is a statement: it belongs into another cell")
			continue
		}
		pc := piece{cell: number, id: id, text: text[p.start:p.end], line: line, col: col}
		ds, err := pc.parse(fset)
		var l scanner.ErrorList
		if errors.As(err, &l) {
			errs = append(errs, l...)
			continue
		}
		for _, d := range ds {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && f.Name.Name == "init" {
				errs.Add(fset.Position(f.Pos()), "a compiled cell has no init: a call in another cell does the same")
			}
		}
		src.native = append(src.native, pc)
	}
	if len(errs) > 0 {
		errs.Sort()
		return src, errs
	}
	return src, nil
}

// nativeUnit makes the unit of a compiled cell.
func nativeUnit(fset *token.FileSet, pieces []piece) (*unit, error) {
	u := &unit{piece: pieces[0], native: pieces}
	for _, pc := range pieces {
		ds, err := pc.parse(fset)
		if err != nil {
			return nil, err
		}
		for _, d := range ds {
			if one := unitsOf(pc, d); one.meth == "" {
				u.names = append(u.names, one.names...)
			}
		}
	}
	return u, nil
}

// without returns a compiled cell's unit without the declarations of the names
// that others have taken over; nil where nothing is left.
func (u *unit) without(fset *token.FileSet, taken func(name string) bool) *unit {
	var pieces []piece
	any := false
	for _, pc := range u.native {
		ds, err := pc.parse(fset)
		if err != nil || len(ds) != 1 {
			continue
		}
		one := unitsOf(pc, ds[0])
		if slices.ContainsFunc(one.names, taken) {
			continue
		}
		any = any || len(one.names) > 0
		pieces = append(pieces, pc)
	}
	if !any {
		return nil
	}
	left, err := nativeUnit(fset, pieces)
	if err != nil {
		return nil
	}
	left.deps = u.deps
	return left
}

// checkNatives checks the compiled cells that a cell declares, or that are to
// be built again because of it, each after those that it uses, and puts what
// they declare into objects. cell holds the interpreted declarations of the
// cell.
func (p *program) checkNatives(fset *token.FileSet, units []*unit, own *unit, cell []declared, live []*unit, objects map[string]types.Object, done func(*native)) ([]*native, *unit, error) {
	pending := map[string]*unit{} // by name
	for _, u := range units {
		for _, n := range u.names {
			pending[n] = u
		}
	}
	var list []*native
	state := map[*unit]int{}
	var visit func(u *unit) (*unit, error)
	visit = func(u *unit) (*unit, error) {
		if state[u] == 2 {
			return nil, nil
		}
		state[u] = 1
		for {
			n, missing, err := p.checkNative(fset, u, cell, live, objects, pending)
			if err != nil {
				return u, err
			}
			if missing == nil {
				if n.own = u == own; !n.own {
					for _, name := range u.names {
						if e := p.names[name]; e != nil && ofNative(e.obj) {
							n.before = pathOf(e.obj.Pkg())
						}
					}
				}
				list = append(list, n)
				state[u] = 2
				for _, name := range u.names {
					if pending[name] == u {
						delete(pending, name)
					}
					objects[name] = n.pkg.Scope().Lookup(name)
				}
				done(n)
				return nil, nil
			}
			if state[missing] == 1 {
				bad, e := u, &checkError{}
				if own != nil && state[own] == 1 {
					bad = own
				}
				e.list.Add(token.Position{Filename: fileName(bad.cell), Line: bad.line, Column: bad.col},
					fmt.Sprintf("%s and %s use each other, in two compiled cells: they belong into one", u, missing))
				return bad, e
			}
			if bad, err := visit(missing); err != nil {
				return bad, err
			}
		}
	}
	for _, u := range units {
		if bad, err := visit(u); err != nil {
			return nil, bad, err
		}
	}
	return list, nil, nil
}

// checkNative checks a compiled cell. missing is a unit of pending that is to
// be checked first.
func (p *program) checkNative(fset *token.FileSet, u *unit, cell []declared, live []*unit, objects map[string]types.Object, pending map[string]*unit) (n *native, missing *unit, err error) {
	q := p.clone()
	n = &native{unit: u}
	copied := map[*unit]bool{}
	parsed := map[piece]ast.Decl{}
	pieces := u.native
	names := map[string]bool{}
	for _, name := range u.names {
		names[name] = true
	}
	copyOf := func(w *unit) {
		copied[w] = true
		pieces = append(pieces, w.piece)
		for _, name := range w.names {
			names[name] = true
		}
	}
again:
	setScope(p.pkg)
	n.pkg = types.NewPackage("main", "cell")
	n.info = newInfo()
	n.decls, n.vars = nil, map[string]*types.Var{}
	q.pkg = n.pkg
	var all []declared
	used := map[string]bool{}
	for _, pc := range pieces {
		if parsed[pc] == nil {
			ds, err := pc.parse(fset)
			if err != nil || len(ds) != 1 {
				return nil, nil, fmt.Errorf("internal: cannot parse %s again: %v", u, err)
			}
			parsed[pc] = ds[0]
		}
		d := parsed[pc]
		if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.IMPORT {
			if err := q.addImports(fset, g, compiledImporter{p.imp}); err != nil {
				return nil, nil, err
			}
			continue
		}
		n.decls = append(n.decls, nativeDecl{pc, d})
		all = append(all, declared{decl: d, unit: unitsOf(pc, d)})
		ast.Inspect(d, func(x ast.Node) bool {
			if id, ok := x.(*ast.Ident); ok {
				used[id.Name] = true
			}
			return true
		})
	}
	more := false
	insert := func(o types.Object) {
		if o.Parent() == nil {
			p.pkg.Scope().Insert(o) // where it belongs
		}
		n.pkg.Scope().Insert(o)
	}
	for name := range used {
		switch {
		case names[name]:
		case objects[name] != nil:
			insert(objects[name])
		case declares(cell, name) != nil:
			w := declares(cell, name)
			if w.typ {
				insert(types.NewTypeName(token.NoPos, p.pkg, name, types.Typ[types.Invalid]))
			} else if !copied[w.unit] {
				copyOf(w.unit)
				more = true
			}
		case p.names[name] != nil:
			insert(p.names[name].obj)
		}
	}
	if more {
		goto again
	}
	ce := &checkError{}
	var list []types.Error
	conf := &types.Config{Importer: compiledImporter{p.imp}, Error: func(err error) {
		var te types.Error
		if errors.As(err, &te) && !strings.HasSuffix(te.Msg, "imported and not used") && !strings.HasPrefix(te.Msg, "could not import") &&
			!(strings.Contains(te.Msg, " imported as ") && strings.HasSuffix(te.Msg, "and not used")) {
			list = append(list, te)
		}
	}}
	file := &ast.File{Name: ast.NewIdent("cell"), Decls: q.fileImports(used, all, &ast.BlockStmt{})}
	for _, d := range n.decls {
		file.Decls = append(file.Decls, d.decl)
	}
	maskForeign(file)
	_ = types.NewChecker(conf, fset, n.pkg, n.info).Files([]*ast.File{file})
	if keyed(n.info, file, list) {
		goto again
	}

	// What it uses of the session.
	u.deps = map[string]bool{}
	var lift []string
	refuse := func(id *ast.Ident, format string, args ...any) {
		ce.list.Add(fset.Position(id.Pos()), fmt.Sprintf(format, args...))
	}
	for id, o := range n.info.Uses {
		if f, ok := o.(*types.Func); ok && ends[f.FullName()] {
			refuse(id, "%s would end the kernel: a compiled cell cannot call it", f.FullName())
		}
		if o.Pkg() == n.pkg || o.Pkg() == nil || o.Parent() == nil || o.Parent() != p.pkg.Scope() && !ofNative(o) {
			continue
		}
		if w := pending[o.Name()]; w != nil && w != u && objects[o.Name()] == nil {
			return nil, w, nil
		}
		e := p.names[o.Name()]
		if e != nil && e.obj == o && e.cell == 0 {
			n.ctx = true
			continue
		}
		u.deps[o.Name()] = true
		if ofNative(o) {
			continue
		}
		where := "this cell"
		if e != nil {
			where = fmt.Sprintf("cell %d", e.cell)
		}
		switch o := o.(type) {
		case *types.TypeName:
			if names := p.liftable(o, live, cell); names != nil {
				lift = append(lift, names...)
				continue
			}
			why := p.cannotLift[o.Name()]
			switch {
			case isGeneric(o):
				why = "a compiled cell uses only generic types that compiled cells declare: put %%compile on its cell too"
			case why == "":
				why = "put %%compile on its cell too"
			default:
				why = "it cannot be compiled: " + why
			}
			refuse(id, "type %s (%s) is interpreted: %s", o.Name(), where, why)
		case *types.Var:
			for _, t := range cellTypes(o.Type()) {
				if w := pending[t.Name()]; w != nil && w != u && objects[t.Name()] == nil {
					return nil, w, nil
				}
				lift = append(lift, p.liftable(t, live, cell)...)
			}
			if len(lift) > 0 {
				continue
			}
			if bad := shareable(o.Type(), map[types.Type]bool{}); bad != "" {
				refuse(id, "variable %s (%s) cannot be shared with compiled code, for it holds %s: pass it as an argument", o.Name(), where, bad)
			}
			n.vars[o.Name()] = o
		default:
			for _, w := range live {
				if w.native == nil && w.meth == "" && slices.Contains(w.names, o.Name()) && !copied[w] {
					copyOf(w)
					more = true
				}
			}
		}
	}
	switch {
	case len(lift) > 0:
		return nil, nil, &unlifted{lift}
	case more:
		goto again
	}
	for _, te := range list {
		ce.list.Add(fset.Position(te.Pos), te.Msg)
	}
	if len(ce.list) > 0 {
		ce.list.Sort()
		return nil, nil, ce
	}
	for w := range copied {
		for _, name := range w.names {
			u.deps[name] = true
		}
	}
	for _, name := range u.names {
		if o := n.pkg.Scope().Lookup(name); o != nil {
			if t := fetchedIn(o.Type(), n.pkg, map[types.Type]bool{}); t != nil {
				ce.list.Add(fset.Position(o.Pos()), fmt.Sprintf("%s is of type %s, and a type of a fetched package is another one in other cells: keep it inside the functions of this cell", name, types.TypeString(t, shortName)))
			}
		}
	}
	if len(ce.list) > 0 {
		ce.list.Sort()
		return nil, nil, ce
	}
	// Only its own names stay in its scope.
	var mine []types.Object
	for _, name := range n.pkg.Scope().Names() {
		if o := n.pkg.Scope().Lookup(name); o.Pkg() == n.pkg {
			mine = append(mine, o)
		}
	}
	setScope(n.pkg)
	for _, o := range mine {
		n.pkg.Scope().Insert(o)
	}
	nativePaths.Store(n.pkg, cellsPath+itoa(int(nativeCount.Add(1))))
	return n, nil, nil
}

// exportMark begins the names that fields and methods which are not exported have
// in the text that is built: other cells are other packages there.
const exportMark = "X" + mark

// hiddenMember returns the name that a field or method of a compiled cell has
// in the text that is built, where it is not exported. An embedded type that
// no cell declares keeps its name.
func hiddenMember(pkg *types.Package, o types.Object) (name string, ok bool) {
	if o.Exported() || o.Name() == "_" || o.Pkg() == nil || o.Pkg() != pkg && !isNative(o.Pkg()) {
		return "", false
	}
	switch o := o.(type) {
	case *types.Var:
		if !o.IsField() {
			return "", false
		}
		if o.Embedded() {
			t := o.Type()
			if p, ok := t.(*types.Pointer); ok {
				t = p.Elem()
			}
			named, ok := t.(interface{ Obj() *types.TypeName })
			if !ok {
				return "", false
			}
			tn := named.Obj()
			if tn.Pkg() != pkg && !isNative(tn.Pkg()) || tn.Parent() != tn.Pkg().Scope() {
				return "", false
			}
		}
	case *types.Func:
		if o.Signature().Recv() == nil {
			return "", false
		}
	default:
		return "", false
	}
	return exportMark + o.Name(), true
}

// keyed gives the elements of struct literals their fields' names where the
// checker wants them, because of fields that another cell does not export. It
// reports whether there were any: then the file is to be checked again.
func keyed(info *types.Info, file *ast.File, list []types.Error) bool {
	at := map[token.Pos]bool{}
	for _, e := range list {
		if strings.HasPrefix(e.Msg, "implicit assignment to unexported field") {
			at[e.Pos] = true
		}
	}
	if len(at) == 0 {
		return false
	}
	found := false
	ast.Inspect(file, func(n ast.Node) bool {
		x, ok := n.(*ast.CompositeLit)
		if !ok || !slices.ContainsFunc(x.Elts, func(e ast.Expr) bool { return at[e.Pos()] }) {
			return true
		}
		t := info.TypeOf(x)
		if p, ok := t.Underlying().(*types.Pointer); ok {
			t = p.Elem()
		}
		st, ok := t.Underlying().(*types.Struct)
		if !ok || st.NumFields() != len(x.Elts) {
			return true
		}
		for i, e := range x.Elts {
			if _, ok := e.(*ast.KeyValueExpr); !ok {
				x.Elts[i] = &ast.KeyValueExpr{Key: &ast.Ident{Name: st.Field(i).Name(), NamePos: e.Pos()}, Colon: e.Pos(), Value: e}
				found = true
			}
		}
		return true
	})
	return found
}

// declares returns the interpreted declaration of a name among those of a
// cell, or nil.
func declares(cell []declared, name string) *declaration {
	for _, d := range cell {
		if d.unit.meth == "" && slices.Contains(d.unit.names, name) {
			g, ok := d.decl.(*ast.GenDecl)
			return &declaration{d.unit, ok && g.Tok == token.TYPE}
		}
	}
	return nil
}

// A declaration is a unit, and whether it declares types.
type declaration struct {
	unit *unit
	typ  bool
}

// ends lists the functions that end the process.
var ends = map[string]bool{"os.Exit": true, "syscall.Exit": true, "log.Fatal": true, "log.Fatalf": true, "log.Fatalln": true,
	"(*log.Logger).Fatal": true, "(*log.Logger).Fatalf": true, "(*log.Logger).Fatalln": true}

// isGeneric reports whether o is a generic function or type.
func isGeneric(o types.Object) bool {
	switch o := o.(type) {
	case *types.Func:
		return o.Signature().TypeParams().Len() > 0
	case *types.TypeName:
		n, ok := o.Type().(*types.Named)
		return ok && n.TypeParams().Len() > 0 && n.TypeArgs().Len() == 0
	}
	return false
}

// shareable returns what in a variable of type t the interpreter keeps in
// another form than compiled code, or "".
func shareable(t types.Type, seen map[types.Type]bool) string {
	if seen[t] {
		return ""
	}
	seen[t] = true
	switch t := types.Unalias(t).(type) {
	case *types.Basic:
		return ""
	case *types.Named:
		if t.Obj().Pkg() != nil && pathOf(t.Obj().Pkg()) == "main" {
			return "the interpreted type " + t.Obj().Name()
		}
		if t.TypeArgs().Len() > 0 {
			return "the instance " + types.TypeString(t, shortName)
		}
		return "" // compiled
	case *types.Pointer:
		return shareable(t.Elem(), seen)
	case *types.Slice:
		return shareable(t.Elem(), seen)
	case *types.Array:
		return shareable(t.Elem(), seen)
	case *types.Chan:
		return shareable(t.Elem(), seen)
	case *types.Map:
		if bad := shareable(t.Key(), seen); bad != "" {
			return bad
		}
		return shareable(t.Elem(), seen)
	}
	return "a " + map[bool]string{true: "function", false: "value of type " + types.TypeString(t, shortName)}[isSignature(t)]
}

func isSignature(t types.Type) bool {
	_, ok := t.Underlying().(*types.Signature)
	return ok
}

// isFetched reports whether a package is none of those compiled into the kernel.
func isFetched(p *types.Package) bool {
	if p == nil || isNative(p) {
		return false
	}
	host, _, _ := strings.Cut(p.Path(), "/")
	_, known := symbols.Name(p.Path())
	return !known && strings.Contains(host, ".")
}

// fetchedIn returns a type of a fetched package that users of a type meet, or
// nil; own is the package that declares it.
func fetchedIn(t types.Type, own *types.Package, seen map[types.Type]bool) types.Type {
	if seen[t] {
		return nil
	}
	seen[t] = true
	tuple := func(ts *types.Tuple) types.Type {
		for v := range ts.Variables() {
			if bad := fetchedIn(v.Type(), own, seen); bad != nil {
				return bad
			}
		}
		return nil
	}
	switch t := types.Unalias(t).(type) {
	case *types.Named:
		if isFetched(t.Obj().Pkg()) {
			return t
		}
		if t.Obj().Pkg() != own {
			return nil
		}
		for m := range t.Methods() {
			if bad := fetchedIn(m.Type(), own, seen); bad != nil && m.Exported() {
				return bad
			}
		}
		return fetchedIn(t.Underlying(), own, seen)
	case *types.Struct:
		for f := range t.Fields() {
			if bad := fetchedIn(f.Type(), own, seen); bad != nil && (f.Exported() || f.Embedded()) {
				return bad
			}
		}
	case *types.Interface:
		for m := range t.Methods() {
			if bad := fetchedIn(m.Type(), own, seen); bad != nil {
				return bad
			}
		}
	case *types.Signature:
		if bad := tuple(t.Params()); bad != nil {
			return bad
		}
		return tuple(t.Results())
	case *types.Map:
		if bad := fetchedIn(t.Key(), own, seen); bad != nil {
			return bad
		}
		return fetchedIn(t.Elem(), own, seen)
	case interface{ Elem() types.Type }:
		return fetchedIn(t.Elem(), own, seen)
	}
	return nil
}

// A compiledImporter finds packages for compiled cells: also those that were
// fetched and cannot be interpreted.
type compiledImporter struct{ *importer }

func (m compiledImporter) Import(path string) (*types.Package, error) {
	p, err := m.importer.Import(path)
	if err == nil {
		return p, nil
	}
	sp := m.source(path)
	if sp == nil || slices.Contains(strings.Split(path, "/"), "internal") {
		return nil, err
	}
	return m.declared(sp)
}

// declared checks the declarations of a fetched package that cannot be
// interpreted.
func (m compiledImporter) declared(sp *sourcePackage) (*types.Package, error) {
	if sp.heads != nil {
		return sp.heads, nil
	}
	fset := token.NewFileSet()
	var files []*ast.File
	for _, name := range sp.Files {
		f, err := parser.ParseFile(fset, filepath.Join(sp.Dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	conf := types.Config{Importer: headImporter{m}, IgnoreFuncBodies: true, FakeImportC: true, Error: func(error) {}}
	p, err := conf.Check(sp.ImportPath, fset, files, nil)
	if p == nil {
		return nil, err
	}
	p.MarkComplete() // what is wrong with it the toolchain will say
	sp.heads = p
	return p, nil
}

// A headImporter finds what fetched packages import, internal ones too.
type headImporter struct{ compiledImporter }

func (m headImporter) Import(path string) (*types.Package, error) {
	p, err := m.importer.Import(path)
	if err == nil {
		return p, nil
	}
	if sp := m.source(path); sp != nil {
		if sp.pkg != nil && sp.why == "" {
			return sp.pkg, nil
		}
		return m.declared(sp)
	}
	return nil, err
}

// compilable reports whether compiled cells can import what a declaration
// names.
func (p *program) compilable(g *ast.GenDecl) bool {
	for _, s := range g.Specs {
		if _, err := (compiledImporter{p.imp}).Import(strings.Trim(s.(*ast.ImportSpec).Path.Value, "\"`")); err != nil {
			return false
		}
	}
	return true
}

// build builds and loads the compiled cells of a checked cell.
func (s *Session) build(ctx context.Context, c *checked, out engine.Outputs) error {
	if len(c.natives) == 0 {
		return nil
	}
	if s.opts.Compiler == nil {
		return errors.New("this program has no compiler for cells")
	}
	// The libraries that a cell imports are compiled once, which takes long.
	slow := time.AfterFunc(4*time.Second, func() {
		out.Stderr("%%compile: the toolchain compiles the packages that the cell imports; it does so once\n")
	})
	defer slow.Stop()
	for _, n := range c.natives {
		g := &generator{s: s, n: n, fset: s.fset, imports: map[string]string{}, cells: map[*native]string{}}
		if err := g.generate(); err != nil {
			return err
		}
		modules := ""
		if n.fetched {
			modules = s.modules.Dir()
		}
		table, err := s.opts.Compiler.Load(ctx, n.path, n.sources, modules)
		if err != nil {
			return s.buildError(n, err)
		}
		n.table = table
		if err := n.show(); err != nil {
			return err
		}
		s.mu.Lock()
		s.natives[pathOf(n.pkg)] = n
		s.mu.Unlock()
	}
	return nil
}

// show makes the types of a cell that was loaded known as the interpreter and
// all that prints shall see them: fields that are not exported get their names
// back, and the types of methods become those of the session's own types.
func (n *native) show() error {
	var err error
	seen := map[reflect.Type]bool{}
	var fields func(t reflect.Type)
	fields = func(t reflect.Type) {
		if seen[t] {
			return
		}
		seen[t] = true
		switch t.Kind() {
		case reflect.Struct:
			err = errors.Join(err, rtype.Rename(t, "main", func(field string) string { return strings.TrimPrefix(field, exportMark) }))
			for f := range t.Fields() {
				if f.Type.Name() == "" {
					fields(f.Type)
				}
			}
		case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
			if t.Elem().Name() == "" {
				fields(t.Elem())
			}
		}
	}
	show := func(t reflect.Type) {
		fields(t)
		if t.Kind() == reflect.Interface {
			for m := range t.Methods() {
				rtype.Meet(m.Type)
			}
			return
		}
		p := reflect.New(t)
		for i := range p.NumMethod() {
			rtype.Meet(p.Method(i).Type())
		}
	}
	for _, name := range n.pkg.Scope().Names() {
		v, ok := n.table[name]
		if _, isType := n.pkg.Scope().Lookup(name).(*types.TypeName); !ok || !isType {
			continue
		}
		show(reflect.TypeOf(v).Elem())
	}
	for i := range n.instances {
		show(reflect.TypeOf(n.table[instanceKey(i)]).Elem())
	}
	return err
}

// buildError says in the cell's terms what the toolchain said.
func (s *Session) buildError(n *native, err error) error {
	ce := &checkError{}
	for line := range strings.Lines(err.Error()) {
		if m := nativeLineRE.FindStringSubmatch(strings.TrimSpace(line)); m != nil {
			if p, ok := n.position(m[1], m[2], m[3]); ok {
				ce.list.Add(p, m[4])
			}
		}
	}
	if len(ce.list) > 0 {
		return ce
	}
	return err
}

// exports returns a compiled cell's names as the interpreter takes them.
func (n *native) exports() map[string]reflect.Value {
	m := map[string]reflect.Value{}
	for _, name := range n.pkg.Scope().Names() {
		o := n.pkg.Scope().Lookup(name)
		v, ok := n.table[name]
		switch o := o.(type) {
		case *types.Const:
			if b, isBasic := o.Type().(*types.Basic); isBasic && b.Info()&types.IsUntyped != 0 {
				m[name] = reflect.ValueOf(o.Val())
			} else if ok {
				m[name] = reflect.ValueOf(v)
			}
		case *types.Var:
			if ok {
				m[name] = reflect.ValueOf(v).Elem()
				m[pointerMark+name] = reflect.ValueOf(v)
			}
		default:
			if ok {
				m[name] = reflect.ValueOf(v)
			}
		}
	}
	return m
}

// pointerMark begins the name of the pointer to a compiled cell's variable.
const pointerMark = mark + "p"

// nativeVar returns the expression of a compiled cell's variable, through a
// pointer: some assignments to a variable of a package the interpreter makes to
// a copy.
func (l *lowerer) nativeVar(v *types.Var, x *ast.Ident) ast.Expr {
	star := &ast.StarExpr{Star: x.Pos(), X: &ast.SelectorExpr{X: &ast.Ident{Name: alias(pathOf(v.Pkg())), NamePos: x.Pos()},
		Sel: &ast.Ident{Name: pointerMark + v.Name(), NamePos: x.Pos()}}}
	whole := &ast.ParenExpr{Lparen: x.Pos(), X: star, Rparen: x.Pos()}
	if tv, ok := l.c.info.Types[x]; ok {
		l.c.info.Types[star], l.c.info.Types[whole] = tv, tv
	}
	return whole
}

// loadNative makes a compiled cell known to the interpreter.
func (s *Session) loadNative(ipath string) error {
	s.mu.Lock()
	n := s.natives[ipath]
	s.mu.Unlock()
	if n == nil {
		return fmt.Errorf("internal: no compiled cell %s", ipath)
	}
	for _, p := range n.pkg.Imports() {
		if isFetched(p) {
			continue // no type of it is seen outside
		}
		if err := s.load(pathOf(p)); err != nil {
			return err
		}
	}
	return s.use(interp.Exports{ipath + "/cell": s.canonical(n)})
}

// canonical returns the names of a compiled cell with their values of the types
// that the session has: a plugin may bring a second descriptor of a type that
// was made before.
func (s *Session) canonical(n *native) map[string]reflect.Value {
	m := n.exports()
	for _, name := range n.pkg.Scope().Names() {
		o, v := n.pkg.Scope().Lookup(name), m[name]
		_, isVar := o.(*types.Var)
		if _, isFunc := o.(*types.Func); !v.IsValid() || !isVar && !isFunc {
			continue
		}
		t, err := s.mirror.typeOf(o.Type())
		if err != nil || t == v.Type() || !rtype.Same(t, v.Type()) {
			continue
		}
		if !isVar {
			p := reflect.New(v.Type())
			p.Elem().Set(v)
			v = p.Elem()
		}
		p := reflect.NewAt(t, v.Addr().UnsafePointer())
		m[name] = p.Elem()
		if isVar {
			m[pointerMark+name] = p
		}
	}
	return m
}

// startNative readies a compiled cell that has been loaded: it is given the
// session's variables, and its own get their values. It runs as part of the
// cell.
func (s *Session) startNative(ipath string) {
	s.mu.Lock()
	n := s.natives[ipath]
	old := s.natives[n.before]
	s.mu.Unlock()
	if p, ok := n.table[mark+"ctx"].(*func() context.Context); ok {
		*p = s.context
	}
	if p, ok := n.table[mark+"recover"].(*func()); ok {
		*p = func() {
			if v := recover(); v != nil {
				s.goroutinePanicked(s.cell(), s.nativeFrames(), v)
			}
		}
	}
	if p, ok := n.table[mark+"stack"].(*func()); ok {
		*p = s.watchStack
	}
	for name := range n.vars {
		if v, ok := globalValue(s.in, plainName(name)); ok && v.CanAddr() {
			dst := reflect.ValueOf(n.table[mark+"v "+name]).Elem()
			if dst.Type().Elem() == v.Type() {
				dst.Set(v.Addr())
			} else {
				dst.Set(reflect.NewAt(dst.Type().Elem(), v.Addr().UnsafePointer()))
			}
		}
	}
	if old != nil && n.follow(old) {
		return
	}
	if f, ok := n.table[mark+"init"].(func()); ok {
		f()
	}
}

// watchStack ends the cell whose goroutine has used up its stack.
func (s *Session) watchStack() {
	if stackUsed() > maxStack {
		s.cell().cancel(errStackOverflow)
		panic(errStackOverflow)
	}
}

// follow takes over the values of the variables of an older version of the
// same cell; it reports whether there is one for each.
func (n *native) follow(old *native) bool {
	if old.path == n.path {
		return true
	}
	type move struct{ to, from reflect.Value }
	var moves []move
	for _, name := range n.pkg.Scope().Names() {
		if _, ok := n.pkg.Scope().Lookup(name).(*types.Var); !ok {
			continue
		}
		to, from := reflect.ValueOf(n.table[name]), reflect.ValueOf(old.table[name])
		if !from.IsValid() || to.Type() != from.Type() {
			return false
		}
		moves = append(moves, move{to.Elem(), from.Elem()})
	}
	for _, m := range moves {
		m.to.Set(m.from)
	}
	return true
}

// nativeDeclaration returns the text by which a compiled cell declares a name.
func (s *Session) nativeDeclaration(o types.Object) string {
	n := s.natives[pathOf(o.Pkg())]
	if n == nil || !ofNative(o) {
		return ""
	}
	var parts []string
	for _, d := range n.decls {
		u := unitsOf(d.piece, d.decl)
		if slices.Contains(u.names, o.Name()) {
			parts = append(parts, d.text)
		}
	}
	return strings.Join(parts, "\n\n")
}

// nativeFrames returns the frames of compiled cells on the stack, innermost
// first, of a goroutine that panics.
func (s *Session) nativeFrames() []frame {
	if nativeCount.Load() == 0 {
		return nil
	}
	var pcs [256]uintptr
	fs := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs[:])])
	var out []frame
	panicking := false
	for {
		f, more := fs.Next()
		panicking = panicking || f.Function == "runtime.gopanic"
		if rest, ok := strings.CutPrefix(f.Function, nativePath); ok && panicking {
			path, name, _ := strings.Cut(rest, ".")
			if p, ok := s.nativePosition(nativePath+path, f.File, f.Line); ok {
				out = append(out, frame{p, strings.ReplaceAll(name, mark+"init", "cell")})
			}
		}
		// Frames further out are passed later.
		if !more || panicking && strings.HasSuffix(f.Function, ".(*Session).try") {
			return out
		}
	}
}

// nativePosition returns the place in a cell of a line of a compiled one, its
// first word.
func (s *Session) nativePosition(path, file string, line int) (p token.Position, ok bool) {
	s.mu.Lock()
	last := int64(-1)
	for ipath, n := range s.natives {
		// The latest of the versions that are the same text.
		number, _ := strconv.ParseInt(strings.TrimPrefix(ipath, cellsPath), 10, 64)
		if n.path == path && number > last {
			if p, ok = n.position(file, itoa(line), "1"); ok {
				last = number
			}
		}
	}
	s.mu.Unlock()
	if text, known := s.sourceLine(p); known {
		p.Column = 1 + len(text) - len(strings.TrimLeft(text, " \t"))
	}
	return p, ok
}
