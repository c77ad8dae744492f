package gocell

import (
	"embed"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/traefik/yaegi/interp"
	"golang.org/x/tools/go/ast/astutil"

	"dace.local/kernel/gocell/symbols"
)

// The interpreter knows no generics worth the name. A generic function or type
// never reaches it: for every list of type arguments that the type checker
// finds, its text is parsed once more, checked in a scope where the type
// parameters name their arguments, and compiled as a plain declaration under a
// made-up name. What the standard library has of generics is treated alike:
// its meaning is written down as Go text in the folder prelude, and the commonest
// instances are compiled into the kernel (std.go).

// An instance is a generic function or type with its type arguments.
type instance struct {
	obj   types.Object // the generic
	args  []types.Type
	name  string // in the interpreter
	depth int    // of instances that led to it
}

// genericState is what a session knows of generics.
type genericState struct {
	instances []*instance                   // that the interpreter has
	own       map[string][]types.Object     // the types that the prelude declares, by package
	canonical map[types.Object]types.Object // the types of the standard library for which they stand
	locals    map[token.Position]int        // the numbers of local types, by where they stand
}

// generics makes the instances that a cell needs.
type generics struct {
	s     *Session
	queue []*instance                 // yet to be made
	args  map[types.Object]types.Type // what a type parameter's name stands for
	cur   *instance                   // being made

}

// maxDepth bounds chains of instances that each need another one.
const maxDepth = 60

var (
	instanceCount atomic.Int64
	instanceNames sync.Map // of instances: what a person calls them
)

// instanceOf returns the name of an instance, which is made if it is new.
func (l *lowerer) instanceOf(obj types.Object, args []types.Type, pos token.Pos) string {
	g := l.gen
	if o, ok := g.s.generic.canonical[obj]; ok {
		obj = o
	}
	for _, in := range g.s.generic.instances {
		if in.obj == obj && slices.EqualFunc(in.args, args, types.Identical) {
			return in.name
		}
	}
	shown := obj.Name() + "[" + typeList(args, shortName) + "]"
	if obj.Pkg().Path() != "main" {
		shown = obj.Pkg().Name() + "." + shown
	}
	in := &instance{obj: obj, args: args, name: mark + "g" + itoa(int(instanceCount.Add(1))) + "_" + obj.Name()}
	if g.cur != nil {
		in.depth = g.cur.depth + 1
	}
	instanceNames.Store(in.name, shown)
	g.s.generic.instances = append(g.s.generic.instances, in)
	for _, a := range args {
		if bad := inexpressible(a, map[types.Type]bool{}); bad != "" {
			l.refuse(pos, "%s cannot be instantiated with %s, which is not exported", obj.Name(), bad)
			return in.name
		}
	}
	switch _, ok := g.source(obj, l.c.next); {
	case !ok:
		l.refuse(pos, "%s cannot be used in a cell: this generic of the standard library has no interpreted form", shown)
	case in.depth > maxDepth:
		l.refuse(pos, "%s cannot be instantiated: it needs instances without end", obj.Name())
	default:
		g.queue = append(g.queue, in)
	}
	return in.name
}

func typeList(args []types.Type, q types.Qualifier) string {
	s := make([]string, len(args))
	for i, a := range args {
		s[i] = types.TypeString(a, q)
	}
	return strings.Join(s, ",")
}

func listOf(l *types.TypeList) []types.Type {
	var ts []types.Type
	for t := range l.Types() {
		ts = append(ts, t)
	}
	return ts
}

// generic rewrites a node that names an instance or a type parameter of the
// declaration being made plain. It reports whether it did.
func (l *lowerer) generic(c *astutil.Cursor) bool {
	switch x := c.Node().(type) {
	case *ast.IndexExpr:
		return l.instantiated(c, x.X, x.Pos())
	case *ast.IndexListExpr:
		return l.instantiated(c, x.X, x.Pos())
	case *ast.SelectorExpr:
		if l.instantiated(c, x, x.Pos()) {
			return true
		}
	case *ast.Ident:
		if c.Name() == "Sel" {
			return false
		}
		return l.instantiated(c, x, x.Pos())
	}
	return false
}

// instantiated replaces the node at c, which instantiates the generic f.
func (l *lowerer) instantiated(c *astutil.Cursor, f ast.Expr, pos token.Pos) bool {
	id, ok := ast.Unparen(f).(*ast.Ident)
	if s, isSel := ast.Unparen(f).(*ast.SelectorExpr); isSel {
		id, ok = s.Sel, true
	}
	if !ok {
		return false
	}
	inst, ok := l.c.info.Instances[id]
	if !ok {
		return false
	}
	o := l.c.info.Uses[id]
	if _, ok := o.(*types.TypeName); ok {
		c.Replace(l.typeExpr(inst.Type, pos))
		return true
	}
	args := listOf(inst.TypeArgs)
	if name, ok := compiled(o, args); ok {
		l.pkgs[stdPath] = true
		made := &ast.SelectorExpr{X: &ast.Ident{Name: alias(stdPath), NamePos: pos}, Sel: &ast.Ident{Name: name, NamePos: pos}}
		l.c.info.Types[made] = variableOf(inst.Type)
		c.Replace(made)
		return true
	}
	made := &ast.Ident{Name: l.instanceOf(o, args, pos), NamePos: pos}
	l.c.info.Types[made] = variableOf(inst.Type)
	if l.called(c) {
		c.Replace(made)
	} else {
		c.Replace(l.asValue(made, inst.Type))
	}
	return true
}

// isSeq reports whether o is iter.Seq or iter.Seq2, which are written out as
// the function types that they are.
func isSeq(o types.Object) bool {
	return o != nil && o.Pkg() != nil && o.Pkg().Path() == "iter" && (o.Name() == "Seq" || o.Name() == "Seq2")
}

// plainOnly returns the declarations that the interpreter may see: neither
// types nor generics.
func plainOnly(decls []declared) []declared {
	return slices.DeleteFunc(slices.Clone(decls), func(d declared) bool {
		switch x := d.decl.(type) {
		case *ast.FuncDecl:
			return hasParams(x)
		case *ast.GenDecl:
			return x.Tok == token.TYPE
		}
		return false
	})
}

// hasParams reports whether a function, or the type of a method, has type
// parameters.
func hasParams(f *ast.FuncDecl) bool {
	return f.Type.TypeParams != nil || f.Recv != nil && len(receiverParams(f)) > 0
}

// receiverParams returns the names of the type parameters of a method's
// receiver, which it gives a name where they have none.
func receiverParams(f *ast.FuncDecl) []string {
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
			id.Name = mark + "p" + itoa(i)
		}
		names = append(names, id.Name)
	}
	return names
}

// nativeSource finds the text of a generic function of a compiled cell: its
// instances for interpreted cells are interpreted.
func nativeSource(o types.Object, p *program) (genericSource, bool) {
	for _, u := range p.units {
		if !slices.Contains(u.names, o.Name()) {
			continue
		}
		for _, pc := range u.native {
			ds, err := pc.parse(token.NewFileSet())
			if err != nil || len(ds) != 1 {
				continue
			}
			if f, ok := ds[0].(*ast.FuncDecl); ok && f.Recv == nil && f.Name.Name == o.Name() {
				return genericSource{decl: pc}, true
			}
		}
	}
	return genericSource{}, false
}

// A genericSource is the text of a generic.
type genericSource struct {
	decl    piece
	methods []piece
	lib     *library // nil for one of a cell or of a fetched package
}

// source finds the text of a generic.
func (g *generics) source(o types.Object, p *program) (genericSource, bool) {
	if sp := sourceOf(o.Pkg()); sp != nil {
		d, ok := sp.decls[o.Name()]
		return genericSource{decl: d, methods: sp.meths[o.Name()]}, ok
	}
	if isNative(o.Pkg()) {
		return nativeSource(o, p)
	}
	if pathOf(o.Pkg()) != "main" {
		lib := libraries()[o.Pkg().Path()]
		if lib == nil {
			return genericSource{}, false
		}
		d, ok := lib.decls[o.Name()]
		return genericSource{decl: d, methods: lib.methods[o.Name()], lib: lib}, ok
	}
	var src genericSource
	ok := false
	for _, u := range p.units {
		switch {
		case u.meth != "" && u.names[0] == o.Name():
			src.methods = append(src.methods, u.piece)
		case u.meth == "" && slices.Contains(u.names, o.Name()):
			src.decl, ok = u.piece, true
		}
	}
	return src, ok
}

// instantiate returns the declarations that the cell needs beside its own: the
// instances that the session does not have yet, and what goes with them.
func (l *lowerer) instantiate() []declared {
	return l.drain()
}

// drain makes the instances that are wanted, and those that they want.
func (l *lowerer) drain() []declared {
	var out []declared
	for len(l.gen.queue) > 0 && len(l.errs.list) == 0 {
		in := l.gen.queue[0]
		l.gen.queue = l.gen.queue[1:]
		l.gen.cur = in
		for _, d := range l.plain(in) {
			out = append(out, declared{decl: d, unit: &unit{}})
		}
	}
	l.gen.cur = nil
	return out
}

// plain returns the declarations of an instance.
func (l *lowerer) plain(in *instance) []ast.Decl {
	src, _ := l.gen.source(in.obj, l.c.next)
	var out []ast.Decl
	add := func(pc piece, make func(d ast.Decl) (ast.Decl, ast.Decl, []string)) {
		ds, err := pc.parse(l.fset)
		if err != nil || len(ds) != 1 {
			l.errs.list.Add(token.Position{}, fmt.Sprintf("internal: cannot parse %s again: %v", in.obj.Name(), err))
			return
		}
		d, check, params := make(ds[0])
		if !l.recheck(check, params, in.args, src.lib, pc.file) {
			unfold(check, params)
			l.recheck(check, params, in.args, src.lib, pc.file)
		}
		l.noteLocals(in.args, d)
		if pc.file != nil {
			d = l.sharedLoopVars(d, pc.file).(ast.Decl)
		}
		out = append(out, l.expressions(d).(ast.Decl))
	}
	t, isType := in.obj.(*types.TypeName)
	if !isType {
		add(src.decl, func(d ast.Decl) (ast.Decl, ast.Decl, []string) {
			f := d.(*ast.FuncDecl)
			params := fieldNames(f.Type.TypeParams)
			f.Name = &ast.Ident{Name: in.name, NamePos: f.Name.Pos()}
			f.Type.TypeParams = nil
			f.Doc = nil
			return f, f, params
		})
		return out
	}
	typ, err := types.Instantiate(nil, t.Type(), in.args, false)
	if err != nil {
		l.errs.list.Add(token.Position{}, fmt.Sprintf("internal: cannot instantiate %s: %v", in.obj.Name(), err))
		return nil
	}
	n := typ.(*types.Named)
	for _, m := range src.methods {
		add(m, func(d ast.Decl) (ast.Decl, ast.Decl, []string) {
			f := d.(*ast.FuncDecl)
			params := receiverParams(f)
			l.bound = append(l.bound, methodOf{n, f.Name.Name})
			g := l.methodDecl(f, n)
			return g, g, params
		})
	}
	return out
}

// sameKeys hides from the interpreter, which would refuse them, that keys of the
// literal of a map are the same: those of an instance may be, and constants of
// several types as keys of an interface type only seem so.
func (l *lowerer) sameKeys(x *ast.CompositeLit, t types.Type) {
	seen := map[string]bool{}
	for _, e := range x.Elts {
		kv := e.(*ast.KeyValueExpr)
		tv := l.c.info.Types[kv.Key]
		if tv.Value == nil {
			continue
		}
		if s := tv.Value.ExactString(); !seen[s] {
			seen[s] = true
			continue
		}
		m := maker{kv.Key.Pos()}
		kv.Key = call(m.funcLit(nil, []*ast.Field{m.field("", l.typeExpr(t, m.pos))}, m.ret(kv.Key)), m.pos)
	}
}

func fieldNames(l *ast.FieldList) []string {
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

// recheck type-checks a declaration made plain, in a scope where the type
// parameters name their arguments. What a generic may do and its instance may
// not (a case given twice, a constant that overflows) is no error here.
//
// It reports whether the constants of the instance, which are none in the
// generic, can be computed.
func (l *lowerer) recheck(d ast.Decl, params []string, args []types.Type, lib *library, from *sourceFile) (ok bool) {
	if from != nil {
		return l.recheckSource(d, params, args, from)
	}
	ok = true
	s, p := l.gen.s, l.c.next
	s.mu.Lock()
	defer s.mu.Unlock()
	var own []types.Object
	if lib != nil {
		own = l.gen.types(lib.ipath, p)
	}
	setScope(p.pkg)
	for i, n := range params {
		if n != "_" && i < len(args) {
			o := types.NewTypeName(token.NoPos, p.pkg, n, args[i])
			l.gen.args[o] = args[i]
			p.pkg.Scope().Insert(o)
		}
	}
	used := map[string]bool{}
	ast.Inspect(d, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok {
			used[id.Name] = true
		}
		return true
	})
	var imports *ast.GenDecl
	if lib != nil {
		for _, o := range own {
			p.pkg.Scope().Insert(o)
		}
		imports = lib.importDecl(used)
	} else {
		for n := range used {
			if e := p.names[n]; e != nil {
				p.pkg.Scope().Insert(e.obj)
			}
		}
		imports = p.importDecl(used, []declared{{decl: d, unit: &unit{}}}, &ast.BlockStmt{})
	}
	file := &ast.File{Name: ast.NewIdent("main")}
	if imports != nil {
		file.Decls = append(file.Decls, imports)
	}
	file.Decls = append(file.Decls, d)
	conf := &types.Config{Importer: withStd{p.imp}, Error: func(err error) {
		ok = ok && !ofConstants(err)
		if lib != nil && preludeError != nil {
			preludeError(err)
		}
	}}
	_ = types.NewChecker(conf, l.fset, p.pkg, l.c.info).Files([]*ast.File{file})
	return ok
}

// ofConstants reports whether an error of the checker is one of computing
// constants.
func ofConstants(err error) bool {
	for _, s := range []string{"overflows", "division by zero", "truncated", "cannot represent", "constant", "shift"} {
		if strings.Contains(err.Error(), s) {
			return true
		}
	}
	return false
}

// unfold makes expressions of an instance that are no constants in the generic
// none for the checker and the interpreter either: T(1) becomes []T{T(1)}[0].
func unfold(d ast.Decl, params []string) {
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
		m := maker{x.Pos()}
		var t ast.Expr
		switch f := ast.Unparen(x.Fun).(type) {
		case *ast.Ident:
			switch {
			case slices.Contains(params, f.Name):
				t = m.id(f.Name)
			case f.Name == "len", f.Name == "cap":
				t = m.id("int")
			}
		case *ast.SelectorExpr:
			if p, ok := f.X.(*ast.Ident); ok && p.Name == "unsafe" && f.Sel.Name != "Pointer" {
				t = m.id("uintptr")
			}
		}
		if t != nil {
			c.Replace(&ast.IndexExpr{X: &ast.CompositeLit{Type: &ast.ArrayType{Lbrack: m.pos, Elt: t}, Lbrace: m.pos, Elts: []ast.Expr{x}, Rbrace: m.pos},
				Lbrack: m.pos, Index: m.num(0), Rbrack: m.pos})
		}
		return true
	})
}

// preludeError is told what is wrong with the prelude's text; for tests.
var preludeError func(error)

// A library holds our text of the generics of a package of the standard
// library.
type library struct {
	ipath   string
	imports map[string]string
	decls   map[string]piece
	methods map[string][]piece
}

//go:embed prelude
var preludeFiles embed.FS

// preludePaths lists the packages that the prelude covers.
var preludePaths = []string{"cmp", "crypto/hkdf", "crypto/pbkdf2", "database/sql", "errors", "hash/maphash", "iter", "maps", "math/rand/v2",
	"reflect", "runtime", "slices", "sync", "sync/atomic", "unique", "weak"}

// libraries returns the prelude, by import path.
var libraries = sync.OnceValue(func() map[string]*library {
	all := map[string]*library{}
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
		lib := &library{ipath: ipath, imports: map[string]string{}, decls: map[string]piece{}, methods: map[string][]piece{}}
		for _, d := range f.Decls {
			at := func(p token.Pos) int { return fset.Position(p).Offset }
			pc := piece{text: string(b[at(d.Pos()):at(d.End())]), line: fset.Position(d.Pos()).Line, col: 1}
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Recv != nil {
					lib.methods[receiverName(d)] = append(lib.methods[receiverName(d)], pc)
				} else {
					lib.decls[d.Name.Name] = pc
				}
			case *ast.GenDecl:
				for _, s := range d.Specs {
					switch s := s.(type) {
					case *ast.ImportSpec:
						path := strings.Trim(s.Path.Value, `"`)
						n, ok := symbols.Name(path)
						if path == stdPath {
							n, ok = "std", true
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

// importDecl returns the imports of a declaration of the library that uses
// names; nil means any.
func (lib *library) importDecl(used map[string]bool) *ast.GenDecl {
	g := &ast.GenDecl{Tok: token.IMPORT}
	for n, p := range lib.imports {
		if used == nil || used[n] {
			g.Specs = append(g.Specs, &ast.ImportSpec{Name: ast.NewIdent(n), Path: &ast.BasicLit{Kind: token.STRING, Value: quote(p)}})
		}
	}
	return g
}

// types returns the types that the library declares, as its own text sees
// them.
func (g *generics) types(ipath string, p *program) []types.Object {
	st := &g.s.generic
	if objs, ok := st.own[ipath]; ok {
		return objs
	}
	std, err := p.imp.Import(ipath)
	if err != nil {
		return nil
	}
	lib := libraries()[ipath]
	fset := token.NewFileSet()
	file := &ast.File{Name: ast.NewIdent("main"), Decls: []ast.Decl{lib.importDecl(nil)}}
	parse := func(pc piece) {
		ds, err := pc.parse(fset)
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
	setScope(p.pkg)
	conf := &types.Config{Importer: withStd{p.imp}, Error: func(error) {}} // no bodies, imports for them
	_ = types.NewChecker(conf, fset, p.pkg, nil).Files([]*ast.File{file})
	objs := []types.Object{}
	for n := range lib.decls {
		if o, ok := p.pkg.Scope().Lookup(n).(*types.TypeName); ok {
			st.canonical[o] = std.Scope().Lookup(n)
			objs = append(objs, o)
		}
	}
	st.own[ipath] = objs
	return objs
}

// stdPath is the import path of the compiled part of the prelude.
const stdPath = "gocell/std"

// withStd is an importer that knows stdPath too.
type withStd struct{ types.Importer }

func (w withStd) Import(path string) (*types.Package, error) {
	if path == stdPath {
		return stdTypes(), nil
	}
	return w.Importer.Import(path)
}

// newGenerics starts the instances of a cell.
func (s *Session) newGenerics() *generics {
	return &generics{s: s, args: map[types.Object]types.Type{}}
}

// useStd gives the interpreter the compiled part of the prelude.
func (s *Session) useStd() error {
	s.generic = genericState{own: map[string][]types.Object{}, canonical: map[types.Object]types.Object{}, locals: map[token.Position]int{}}
	m := map[string]reflect.Value{}
	for k, v := range stdFuncs {
		m[k] = reflect.ValueOf(v)
	}
	for k, v := range compiledInstances() {
		m[k] = v
	}
	m["AddCleanup"] = reflect.ValueOf(s.addCleanup)
	return s.use(interp.Exports{stdPath + "/std": m})
}

// typeName writes the name of a type for the interpreter.
func (l *lowerer) typeName(t types.Type) (string, error) {
	var b strings.Builder
	err := l.writeType(&b, t)
	return b.String(), err
}

// madeType writes the name of a type that a cell declares or spells out.
func (l *lowerer) madeType(b *strings.Builder, t types.Type) error {
	name, err := l.gen.s.mirror.symbol(t)
	b.WriteString(alias(typesPath) + "." + name)
	return err
}

func (l *lowerer) writeType(b *strings.Builder, t types.Type) error {
	switch t := t.(type) {
	case *types.Basic:
		if t.Kind() == types.UnsafePointer {
			return l.madeType(b, t)
		}
		b.WriteString(t.Name())
	case *types.Named:
		switch o := t.Obj(); {
		case isSeq(o):
			return l.writeType(b, t.Underlying())
		case ofCells(o):
			l.wanted(t)
			return l.madeType(b, t)
		case isNative(o.Pkg()), o.Pkg() != nil && !o.Exported():
			return l.madeType(b, t)
		case t.TypeArgs().Len() > 0:
			return fmt.Errorf("%s cannot be used in a cell: this generic has no interpreted form", types.TypeString(t, shortName))
		default:
			if o.Pkg() != nil {
				l.pkgs[pathOf(o.Pkg())] = true
				b.WriteString(alias(pathOf(o.Pkg())) + ".")
			}
			b.WriteString(o.Name())
		}
	case *types.Alias:
		return l.writeType(b, types.Unalias(t))
	case *types.Pointer:
		b.WriteString("*")
		return l.writeType(b, t.Elem())
	case *types.Slice:
		b.WriteString("[]")
		return l.writeType(b, t.Elem())
	case *types.Array:
		fmt.Fprintf(b, "[%d]", t.Len())
		return l.writeType(b, t.Elem())
	case *types.Map:
		b.WriteString("map[")
		if err := l.writeType(b, t.Key()); err != nil {
			return err
		}
		b.WriteString("]")
		return l.writeType(b, t.Elem())
	case *types.Chan:
		b.WriteString(map[types.ChanDir]string{types.SendRecv: "chan ", types.SendOnly: "chan<- ", types.RecvOnly: "<-chan "}[t.Dir()])
		if e, ok := t.Elem().(*types.Chan); ok && e.Dir() == types.RecvOnly {
			b.WriteString("(")
			defer b.WriteString(")")
		}
		return l.writeType(b, t.Elem())
	case *types.Signature:
		b.WriteString("func")
		return l.writeSignature(b, t)
	case *types.Struct:
		if t.NumFields() == 0 {
			b.WriteString("struct{}")
			return nil
		}
		l.wanted(t)
		return l.madeType(b, t)
	case *types.Interface:
		if t.NumMethods() == 0 {
			b.WriteString("interface{}")
			return nil
		}
		l.wanted(t)
		return l.madeType(b, t)
	default:
		return fmt.Errorf("a cell cannot use the type %s", types.TypeString(t, shortName))
	}
	return nil
}

// wanted makes sure that the methods of the instances which t is made of are
// compiled.
func (l *lowerer) wanted(t types.Type) {
	walkType(t, func(t types.Type) {
		if n, ok := t.(*types.Named); ok && n.TypeArgs().Len() > 0 && ofCells(n.Obj()) && packageLevel(n.Obj()) && !isSeq(n.Obj()) {
			l.instanceOf(n.Obj(), listOf(n.TypeArgs()), l.c.src.body.Pos())
		}
	}, map[types.Type]bool{})
}

func (l *lowerer) writeSignature(b *strings.Builder, s *types.Signature) error {
	b.WriteString("(")
	for i := range s.Params().Len() {
		p := s.Params().At(i)
		if i > 0 {
			b.WriteString(",")
		}
		t := p.Type()
		if s.Variadic() && i == s.Params().Len()-1 {
			b.WriteString("...")
			t = t.(*types.Slice).Elem()
		}
		if err := l.writeType(b, t); err != nil {
			return err
		}
	}
	b.WriteString(")")
	if s.Results().Len() == 0 {
		return nil
	}
	b.WriteString("(")
	for i := range s.Results().Len() {
		if i > 0 {
			b.WriteString(",")
		}
		if err := l.writeType(b, s.Results().At(i).Type()); err != nil {
			return err
		}
	}
	b.WriteString(")")
	return nil
}
