package check

import (
	"embed"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"slices"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/tools/go/ast/astutil"

	"dace.local/kernel/gocell/internal/cell"
	"dace.local/kernel/gocell/symbols"
)

func TypeList(args []types.Type, q types.Qualifier) string {
	s := make([]string, len(args))
	for i, a := range args {
		s[i] = types.TypeString(a, q)
	}
	return strings.Join(s, ",")
}

func ListOf(l *types.TypeList) []types.Type {
	var ts []types.Type
	for t := range l.Types() {
		ts = append(ts, t)
	}
	return ts
}

// IsSeq reports whether o is iter.Seq or iter.Seq2, which are replaced by their
// underlying function types.
func IsSeq(o types.Object) bool {
	return o != nil && o.Pkg() != nil && o.Pkg().Path() == "iter" && (o.Name() == "Seq" || o.Name() == "Seq2")
}

// HasParams reports whether a function, or the type of a method, has type
// parameters.
func HasParams(f *ast.FuncDecl) bool {
	return f.Type.TypeParams != nil || f.Recv != nil && len(ReceiverParams(f)) > 0
}

// ReceiverParams returns the names of the type parameters in a method's
// receiver. It gives names to blank ones in f.
func ReceiverParams(f *ast.FuncDecl) []string {
	if len(f.Recv.List) == 0 {
		return nil
	}
	var index []ast.Expr
	t := f.Recv.List[0].Type
	for t != nil {
		switch x := t.(type) {
		case *ast.StarExpr:
			t = x.X
		case *ast.ParenExpr:
			t = x.X
		case *ast.IndexExpr:
			index, t = []ast.Expr{x.Index}, nil
		case *ast.IndexListExpr:
			index, t = x.Indices, nil
		default:
			t = nil
		}
	}
	var names []string
	for i, x := range index {
		id, ok := x.(*ast.Ident)
		if !ok {
			continue
		}
		if id.Name == "_" {
			id.Name = cell.Mark + "p" + strconv.Itoa(i)
		}
		names = append(names, id.Name)
	}
	return names
}

// nativeSource returns the text of a generic function that a compiled cell
// declares: interpreted cells interpret its instances.
func nativeSource(o types.Object, p *Program) (genericSource, bool) {
	for _, u := range p.Units {
		if !slices.Contains(u.Names, o.Name()) {
			continue
		}
		for _, pc := range u.native {
			ds, err := pc.Parse(token.NewFileSet())
			if err != nil || len(ds) != 1 {
				continue
			}
			if f, ok := ds[0].(*ast.FuncDecl); ok && f.Recv == nil && f.Name.Name == o.Name() {
				return genericSource{Decl: pc}, true
			}
		}
	}
	return genericSource{}, false
}

// A genericSource is the text of a generic function or type.
type genericSource struct {
	Decl    Piece
	Methods []Piece
	Lib     *Library // nil if a cell or a fetched package declares it
}

// GenericSource returns the text of a generic function or type.
func (p *Program) GenericSource(o types.Object) (genericSource, bool) {
	if sp := FetchedOf(o.Pkg()); sp != nil {
		d, ok := sp.decls[o.Name()]
		return genericSource{Decl: d, Methods: sp.meths[o.Name()]}, ok
	}
	if IsNative(o.Pkg()) {
		return nativeSource(o, p)
	}
	if PathOf(o.Pkg()) != "main" {
		lib := libraries()[o.Pkg().Path()]
		if lib == nil {
			return genericSource{}, false
		}
		d, ok := lib.decls[o.Name()]
		return genericSource{Decl: d, Methods: lib.methods[o.Name()], Lib: lib}, ok
	}
	var src genericSource
	ok := false
	for _, u := range p.Units {
		switch {
		case u.Method != "" && u.Names[0] == o.Name():
			src.Methods = append(src.Methods, u.Piece)
		case u.Method == "" && slices.Contains(u.Names, o.Name()):
			src.Decl, ok = u.Piece, true
		}
	}
	return src, ok
}

func FieldNames(l *ast.FieldList) []string {
	var names []string
	if l != nil {
		for _, f := range l.List {
			for _, n := range f.Names {
				names = append(names, n.Name)
			}
		}
	}
	return names
}

// ofConstants reports whether an error of the checker concerns the value of a
// constant.
func ofConstants(err error) bool {
	var e types.Error
	if !errors.As(err, &e) {
		return false
	}
	kind, _ := kindOfError(e.Msg)
	return kind == ofConstant
}

// HideConstants rewrites expressions of an instance that are constant only
// because the type arguments are known, T(1) to []T{T(1)}[0], so that neither
// the checker nor the compiler evaluates them.
func HideConstants(d ast.Decl, params []string) {
	astutil.Apply(d, func(c *astutil.Cursor) bool {
		if g, ok := c.Node().(*ast.GenDecl); ok && g.Tok == token.CONST {
			return false
		}
		_, inArray := c.Parent().(*ast.ArrayType)
		return !inArray || c.Name() != "Len"
	}, func(c *astutil.Cursor) bool {
		x, ok := c.Node().(*ast.CallExpr)
		if !ok || len(x.Args) != 1 {
			return true
		}
		t, pos := "", x.Pos()
		switch f := ast.Unparen(x.Fun).(type) {
		case *ast.Ident:
			switch {
			case slices.Contains(params, f.Name):
				t = f.Name
			case f.Name == "len", f.Name == "cap":
				t = "int"
			}
		case *ast.SelectorExpr:
			if p, ok := f.X.(*ast.Ident); ok && p.Name == "unsafe" && f.Sel.Name != "Pointer" {
				t = "uintptr"
			}
		}
		if t != "" {
			list := &ast.ArrayType{Lbrack: pos, Elt: &ast.Ident{Name: t, NamePos: pos}}
			c.Replace(&ast.IndexExpr{X: &ast.CompositeLit{Type: list, Lbrace: pos, Elts: []ast.Expr{x}, Rbrace: pos},
				Lbrack: pos, Index: &ast.BasicLit{ValuePos: pos, Kind: token.INT, Value: "0"}, Rbrack: pos})
		}
		return true
	})
}

// A Library is the prelude's text of the generics of one package of the
// standard library.
type Library struct {
	ipath   string
	imports map[string]string
	decls   map[string]Piece
	methods map[string][]Piece
}

//go:embed prelude
var preludeFiles embed.FS

// preludePaths lists the packages that the prelude covers.
var preludePaths = []string{"cmp", "crypto/hkdf", "crypto/pbkdf2", "database/sql", "errors", MustPath, "hash/maphash", "iter", "maps", "math/rand/v2",
	"reflect", "runtime", "slices", "sync", "sync/atomic", "unique", "weak"}

// libraries returns the parsed prelude, by import path.
var libraries = sync.OnceValue(func() map[string]*Library {
	all := map[string]*Library{}
	for _, ipath := range preludePaths {
		name := strings.ReplaceAll(ipath, "/", "_") + ".go.txt"
		b, err := preludeFiles.ReadFile("prelude/" + name)
		if err != nil {
			panic(err)
		}
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, name, b, parser.SkipObjectResolution)
		if err != nil {
			panic(err)
		}
		lib := &Library{ipath: ipath, imports: map[string]string{}, decls: map[string]Piece{}, methods: map[string][]Piece{}}
		for _, d := range f.Decls {
			at := func(p token.Pos) int { return fset.Position(p).Offset }
			pc := Piece{Text: string(b[at(d.Pos()):at(d.End())]), Line: fset.Position(d.Pos()).Line, Column: 1}
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Recv != nil {
					lib.methods[ReceiverName(d)] = append(lib.methods[ReceiverName(d)], pc)
				} else {
					lib.decls[d.Name.Name] = pc
				}
			case *ast.GenDecl:
				for _, s := range d.Specs {
					switch s := s.(type) {
					case *ast.ImportSpec:
						path := strings.Trim(s.Path.Value, `"`)
						n, ok := symbols.Name(path)
						switch path {
						case StdPath:
							n, ok = "std", true
						case "unsafe":
							n, ok = path, true
						}
						if s.Name != nil {
							n, ok = s.Name.Name, true
						}
						if !ok {
							panic("gocell: the prelude imports " + path)
						}
						lib.imports[n] = path
					case *ast.TypeSpec:
						lib.decls[s.Name.Name] = pc
					}
				}
			}
		}
		all[ipath] = lib
	}
	return all
})

// importDecl returns an import declaration for the packages whose names are
// used; nil means all packages.
func (lib *Library) importDecl(used map[string]bool) *ast.GenDecl {
	g := &ast.GenDecl{Tok: token.IMPORT}
	for n, p := range lib.imports {
		if used == nil || used[n] {
			g.Specs = append(g.Specs, &ast.ImportSpec{Name: ast.NewIdent(n), Path: &ast.BasicLit{Kind: token.STRING, Value: strconv.Quote(p)}})
		}
	}
	return g
}

// Prelude holds the types that the prelude's text declares, for the packages of
// which a cell has used a type.
type Prelude struct {
	own       map[string][]types.Object     // by import path
	Canonical map[types.Object]types.Object // type of the prelude -> type of the standard library
	Problem   func(error)                   // for tests: if set, is called with each error in the prelude's text
}

func NewPrelude() *Prelude {
	return &Prelude{own: map[string][]types.Object{}, Canonical: map[types.Object]types.Object{}}
}

// CanonicalOf returns the type of the standard library that a type of the
// prelude represents, and whether o is a type of the prelude.
func (st *Prelude) CanonicalOf(o *types.TypeName) (types.Object, bool) {
	c, ok := st.Canonical[o]
	return c, ok
}

// Textual returns the instance of a generic type of the standard library as the
// prelude declares it, or nil if the prelude does not.
func (st *Prelude) Textual(t *types.Named, p *Program) *types.Named {
	st.types(t.Obj().Pkg().Path(), p)
	for o, c := range st.Canonical {
		if c == t.Obj() {
			if i, err := types.Instantiate(nil, o.Type(), ListOf(t.TypeArgs()), false); err == nil {
				return i.(*types.Named)
			}
		}
	}
	return nil
}

// types returns the types that the prelude declares for a package. It checks
// the prelude's text of the package once.
func (st *Prelude) types(ipath string, p *Program) []types.Object {
	if objs, ok := st.own[ipath]; ok {
		return objs
	}
	std, err := p.Importer.Import(ipath)
	if err != nil {
		return nil
	}
	lib := libraries()[ipath]
	fset := token.NewFileSet()
	file := &ast.File{Name: ast.NewIdent("main"), Decls: []ast.Decl{lib.importDecl(nil)}}
	parse := func(pc Piece) {
		ds, err := pc.Parse(fset)
		if err != nil {
			panic(err)
		}
		if f, ok := ds[0].(*ast.FuncDecl); ok {
			f.Body = nil
		}
		file.Decls = append(file.Decls, ds...)
	}
	for _, pc := range lib.decls {
		parse(pc)
	}
	for _, ms := range lib.methods {
		for _, m := range ms {
			parse(m)
		}
	}
	setScope(p.Package)
	conf := &types.Config{Importer: withStd{p.Importer}, Error: func(error) {}} // without the bodies, some imports are unused
	_ = types.NewChecker(conf, fset, p.Package, nil).Files([]*ast.File{file})
	objs := []types.Object{}
	for n := range lib.decls {
		if o, ok := p.Package.Scope().Lookup(n).(*types.TypeName); ok {
			st.Canonical[o] = std.Scope().Lookup(n)
			objs = append(objs, o)
		}
	}
	st.own[ipath] = objs
	return objs
}

// StdPath is the import path of the compiled part of the prelude.
const StdPath = "gocell/std"

// withStd is an importer that can also import StdPath.
type withStd struct{ types.Importer }

func (w withStd) Import(path string) (*types.Package, error) {
	if path == StdPath {
		return stdTypes(), nil
	}
	return w.Importer.Import(path)
}
