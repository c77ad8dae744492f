package check

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"go/types"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"dace.local/kernel/buildinfo"
	"dace.local/kernel/gocell/internal/cell"
	"dace.local/kernel/gocell/symbols"
)

const (
	// TableName is the variable of a compiled cell that a Compiler returns.
	TableName = cell.ExportMark + cell.Mark
)

// NativePath is what the import paths of compiled cells begin with where they
// are built.
var NativePath = buildinfo.Path(cell.CellsPath)

// nativeCount numbers compiled cells as the checker sees them.
var nativeCount atomic.Int64

// A Native is a version of a compiled cell.
type Native struct {
	Unit *Unit
	own  bool // stands in the cell that runs
	// Before is the previous version of a cell that is built again because of
	// what it uses.
	Before      string
	Package     *types.Package
	Info        *types.Info
	Decls       []NativeDecl
	Blank       []string              // import paths that it imports for their side effects
	Vars        map[string]*types.Var // variables of the session that it shares
	Globals     map[string]string     // the generated names of those of fetched packages among them
	UsesContext bool                  // it uses the predeclared ctx
	Defers      bool                  // it has defer statements

	Fetched bool              // it imports what %get has fetched
	Path    string            // its import path in the toolchain's build
	Sources map[string]string // its text, and that of compiled cells that it imports, by import path
	Files   []string          // names of the files, of cells and packages, that its text comes from
	Table   map[string]any
	C       *CImport // nil if it does not import C
	// Instances are the instances of generic types in the table.
	Instances []*types.Named
	// Layout says that its types are copies of the session's, and Entry is the function
	// or method that it is built for; see layout.go.
	Layout   bool
	Entry    *types.Func
	Copies   []Copy
	Literals []string // variables whose function literals it has as functions
	Methods  []CopiedMethod
	binds    bool          // its types are bound to the session's
	Guarded  bool          // it locks the maps that it uses
	StandIns []*types.Func // methods of the library that it calls others for, in the table's order
}

// A CImport is a cell's import of C: the text in C before it, without the marks of
// comments, and its first line.
type CImport struct {
	Preamble   string
	Cell, Line int
}

// A NativeDecl is a declaration of a compiled cell.
type NativeDecl struct {
	Piece
	Decl ast.Decl
}

// nativePaths maps compiled cells to their import paths in the checker. Each is
// a package main like the session, so that cells see each other's unexported
// names.
var nativePaths sync.Map // *types.Package -> string

// IsNative reports whether a package is a compiled cell.
func IsNative(p *types.Package) bool {
	_, ok := nativePaths.Load(p)
	return ok
}

// PathOf returns the import path by which the kernel knows a package.
func PathOf(p *types.Package) string {
	if path, ok := nativePaths.Load(p); ok {
		return path.(string)
	}
	return p.Path()
}

// OfNative reports whether o is a package-level object of a compiled cell.
func OfNative(o types.Object) bool {
	return o != nil && IsNative(o.Pkg()) && o.Parent() == o.Pkg().Scope()
}

// ParseNative parses a compiled cell. Its declarations, with those of variables,
// are compiled; its statements run interpreted after them. The error is a
// scanner.ErrorList.
func ParseNative(fset *token.FileSet, number int, id, text string) (*Source, error) {
	src := &Source{Number: number, id: id, text: text, File: &ast.File{Name: ast.NewIdent("main")}}
	tokens, _, _ := cell.Tokens(text)
	parts := cell.Split(tokens, len(text))
	var head []cell.Part // what is compiled
	var errs scanner.ErrorList
	collect := func(err error) {
		var l scanner.ErrorList
		if errors.As(err, &l) {
			errs = append(errs, l...)
		}
	}
	for _, p := range parts {
		if p.Kind == cell.PartStmt && p.Tokens[0].Kind != token.VAR {
			continue
		}
		head = append(head, p)
		if p.Kind != cell.PartImport {
			p.Start = exportLine(text, p.Start)
		}
		line, col := cell.LineCol(text, p.Start)
		pc := Piece{Cell: number, id: id, Text: text[p.Start:p.End], Line: line, Column: col}
		if p.Kind == cell.PartImport && strings.Contains(pc.Text, `"C"`) {
			pc.preamble, pc.at = preambleBefore(text, p.Start)
		}
		_, err := pc.Parse(fset)
		collect(err)
		src.native = append(src.native, pc)
	}
	collect(src.parseBody(fset, head, parts, tokens))
	if len(errs) > 0 {
		return src, inCell(errs, text, tokens)
	}
	return src, nil
}

// IsInit reports whether d declares an init function.
func IsInit(d ast.Decl) bool {
	f, ok := d.(*ast.FuncDecl)
	return ok && f.Recv == nil && f.Name.Name == "init"
}

// nativeUnit returns the unit of a compiled cell.
func nativeUnit(fset *token.FileSet, pieces []Piece) (*Unit, error) {
	u := &Unit{Piece: pieces[0], native: pieces}
	usesC := slices.ContainsFunc(pieces, func(pc Piece) bool { return pc.at > 0 })
	for _, pc := range pieces {
		ds, err := pc.Parse(fset)
		if err != nil {
			return nil, err
		}
		for _, d := range ds {
			if one := UnitsOf(pc, d); one.Method == "" && !IsInit(d) {
				if usesC && mentionsC(d) {
					u.ofC = append(u.ofC, one.Names...)
					continue
				}
				u.Names = append(u.Names, one.Names...)
			}
		}
	}
	return u, nil
}

// without returns the unit of a compiled cell without the names that other
// cells declare now; nil if nothing remains.
func (u *Unit) without(fset *token.FileSet, taken func(name string) bool) *Unit {
	var pieces []Piece
	any := false
	for _, pc := range u.native {
		ds, err := pc.Parse(fset)
		if err != nil || len(ds) != 1 {
			continue
		}
		one := UnitsOf(pc, ds[0])
		if slices.ContainsFunc(one.Names, taken) {
			continue
		}
		any = any || len(one.Names) > 0
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

// checkNatives checks the compiled cells that a cell declares or causes to be
// built again, in dependency order, and adds their objects to objects. cell
// holds the interpreted declarations of the cell; done is called after each
// check.
func (p *Program) checkNatives(fset *token.FileSet, units []*Unit, own *Unit, input []Declared, live []*Unit, objects map[string]types.Object, done func(*Native)) ([]*Native, *Unit, error) {
	pending := map[string]*Unit{} // by name
	for _, u := range units {
		for _, n := range u.Names {
			pending[n] = u
		}
	}
	var list []*Native
	state := map[*Unit]int{}
	var visit func(u *Unit) (*Unit, error)
	visit = func(u *Unit) (*Unit, error) {
		if state[u] == 2 {
			return nil, nil
		}
		state[u] = 1
		for {
			n, missing, err := p.checkNative(fset, u, input, live, objects, pending)
			if err != nil {
				return u, err
			}
			if missing == nil {
				if n.own = u == own; !n.own {
					for _, name := range u.Names {
						if e := p.Names[name]; e != nil && OfNative(e.Object) {
							n.Before = PathOf(e.Object.Pkg())
						}
					}
				}
				list = append(list, n)
				state[u] = 2
				for _, name := range u.Names {
					if pending[name] == u {
						delete(pending, name)
					}
					objects[name] = n.Package.Scope().Lookup(name)
				}
				done(n)
				return nil, nil
			}
			if state[missing] == 1 {
				bad := u
				if own != nil && state[own] == 1 {
					bad = own
				}
				return bad, errorAt(token.Position{Filename: cell.FileName(bad.Cell), Line: bad.Line, Column: bad.Column},
					"%s and %s use each other: declare them in one compiled cell", u, missing)
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

// declarationOf returns the interpreted declaration of a name among those of a
// cell, or nil.
func declarationOf(cell []Declared, name string) *declaration {
	for _, d := range cell {
		if d.Unit.Method == "" && slices.Contains(d.Unit.Names, name) {
			g, ok := d.Decl.(*ast.GenDecl)
			return &declaration{d.Unit, ok && g.Tok == token.TYPE}
		}
	}
	return nil
}

// A declaration is a unit with the information whether it declares types.
type declaration struct {
	unit *Unit
	typ  bool
}

// endsProcess lists functions that end the process.
var endsProcess = map[string]bool{"os.Exit": true, "syscall.Exit": true, "log.Fatal": true, "log.Fatalf": true, "log.Fatalln": true,
	"(*log.Logger).Fatal": true, "(*log.Logger).Fatalf": true, "(*log.Logger).Fatalln": true}

// IsGeneric reports whether o is a generic function or type.
func IsGeneric(o types.Object) bool {
	switch o := o.(type) {
	case *types.Func:
		return o.Signature().TypeParams().Len() > 0
	case *types.TypeName:
		t, ok := o.Type().(interface {
			TypeParams() *types.TypeParamList
			TypeArgs() *types.TypeList
		})
		return ok && t.TypeParams().Len() > 0 && t.TypeArgs().Len() == 0
	}
	return false
}

// notShareable returns what in a variable of type t package code represents
// otherwise than compiled code, or "".
func notShareable(t types.Type, seen map[types.Type]bool) string {
	if seen[t] {
		return ""
	}
	seen[t] = true
	switch t := types.Unalias(t).(type) {
	case *types.Basic:
		return ""
	case *types.Named:
		if t.Obj().Pkg() != nil && PathOf(t.Obj().Pkg()) == "main" {
			return "the interpreted type " + t.Obj().Name()
		}
		if t.TypeArgs().Len() > 0 {
			return "the instance " + types.TypeString(t, ShortName)
		}
		return "" // compiled
	case *types.Pointer:
		return notShareable(t.Elem(), seen)
	case *types.Slice:
		return notShareable(t.Elem(), seen)
	case *types.Array:
		return notShareable(t.Elem(), seen)
	case *types.Chan:
		return notShareable(t.Elem(), seen)
	case *types.Map:
		if bad := notShareable(t.Key(), seen); bad != "" {
			return bad
		}
		return notShareable(t.Elem(), seen)
	}
	return "a " + map[bool]string{true: "function", false: "value of type " + types.TypeString(t, ShortName)}[IsSignature(t)]
}

func IsSignature(t types.Type) bool {
	_, ok := t.Underlying().(*types.Signature)
	return ok
}

// IsFetched reports whether a package is not compiled into the kernel.
func IsFetched(p *types.Package) bool {
	if p == nil || IsNative(p) {
		return false
	}
	host, _, _ := strings.Cut(p.Path(), "/")
	_, known := symbols.Name(p.Path())
	return !known && (strings.Contains(host, ".") || FetchedOf(p) != nil)
}

// fetchedIn returns a type of a fetched package, or one that cells have in a way of their
// own, that is visible through t (by fields, methods, parameters or elements), or nil; own
// is the package that declares t.
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
		if IsFetched(t.Obj().Pkg()) || OtherLayout(t) {
			return t
		}
		if t.Obj().Pkg() != own {
			return nil
		}
		for m := range t.Methods() {
			if bad := fetchedIn(m.Type(), own, seen); bad != nil && (m.Exported() || OtherLayout(bad)) {
				return bad
			}
		}
		return fetchedIn(t.Underlying(), own, seen)
	case *types.Struct:
		for f := range t.Fields() {
			if bad := fetchedIn(f.Type(), own, seen); bad != nil && (f.Exported() || f.Embedded() || OtherLayout(bad)) {
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

// OtherLayout reports whether t is a type of the library that cells have in a way of
// their own: see prelude.
func OtherLayout(t types.Type) bool {
	n, ok := t.(*types.Named)
	if !ok || n.Obj().Pkg() == nil {
		return false
	}
	name := n.Obj().Pkg().Path() + "." + n.Obj().Name()
	return name == "weak.Pointer" || name == "unique.Handle"
}

// A compiledImporter finds packages for compiled cells, including fetched
// packages that cannot be interpreted.
type compiledImporter struct{ *Importer }

func (m compiledImporter) Import(path string) (*types.Package, error) {
	p, err := m.Importer.Import(path)
	if err == nil {
		return p, nil
	}
	sp := m.Source(path)
	if sp == nil || sp.hidden() || sp.Broken && sp.Module.Folder != "" {
		return nil, err
	}
	return m.declared(sp)
}

// declared checks the declarations, without function bodies, of a fetched
// package that cannot be interpreted.
func (m compiledImporter) declared(sp *FetchedPackage) (*types.Package, error) {
	if sp.heads != nil {
		return sp.heads, nil
	}
	fset := token.NewFileSet()
	var files []*ast.File
	for _, name := range sp.goFiles() {
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
	p.MarkComplete() // the toolchain reports its errors
	sp.heads = p
	return p, nil
}

// A headImporter finds imports of fetched packages, including internal ones.
type headImporter struct{ compiledImporter }

func (m headImporter) Import(path string) (*types.Package, error) {
	p, err := m.Importer.Import(path)
	if err == nil {
		return p, nil
	}
	if sp := m.Source(path); sp != nil {
		if sp.pkg != nil && sp.Why == "" {
			return sp.pkg, nil
		}
		return m.declared(sp)
	}
	return nil, err
}

// compilable reports whether compiled cells can import the packages of an
// import declaration.
func (p *Program) compilable(g *ast.GenDecl) bool {
	for _, s := range g.Specs {
		if _, err := (compiledImporter{p.Importer}).Import(strings.Trim(s.(*ast.ImportSpec).Path.Value, "\"`")); err != nil {
			return false
		}
	}
	return true
}

// InstanceKey is the name in the table of an instance of a generic type.
func InstanceKey(i int) string { return cell.Mark + "i" + strconv.Itoa(i) }

// nameFields writes the field names in struct literals that set unexported fields
// of another cell's type, which the checker refuses without names. It reports
// whether there are any: then the file must be checked again.
func nameFields(info *types.Info, file *ast.File, list []types.Error) bool {
	at := map[token.Pos]bool{}
	for _, e := range list {
		if kind, _ := kindOfError(e.Msg); kind == unexportedField {
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
		named := x.Elts[:0]
		for i, e := range x.Elts {
			if st.Field(i).Name() == "_" && info.Types[e].Value != nil {
				found = true
				continue // a constant that no one reads
			}
			if _, ok := e.(*ast.KeyValueExpr); !ok {
				e = &ast.KeyValueExpr{Key: &ast.Ident{Name: st.Field(i).Name(), NamePos: e.Pos()}, Colon: e.Pos(), Value: e}
				found = true
			}
			named = append(named, e)
		}
		x.Elts = named
		return true
	})
	return found
}
