package gocell

import (
	"context"
	"go/ast"
	"go/token"
	"go/types"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/traefik/yaegi/interp"

	"dace.local/kernel/engine"
)

// What fetched packages declare reaches the interpreter as a linker would have
// it: a declaration that a cell uses, and all that it needs, before the cell
// itself. A type brings its methods, a variable its initializer, and the first
// declaration of a package its init functions and the packages that it imports
// for their side effects. What no cell needs is not compiled and not
// initialized.

// A sourceDecl is a declaration of a fetched package that is linked as one.
type sourceDecl struct {
	owner   *sourcePackage
	nodes   []ast.Node     // *ast.FuncDecl, *ast.GenDecl of consts, *ast.TypeSpec
	objects []types.Object // that it declares
	needs   []types.Object // that it mentions
	// Of variables:
	order int // in which it is initialized
	init  *types.Initializer
	embed string // contents of a file
	file  bool   // whether there is such a file
}

// readDecls sorts a checked package's declarations.
func (sp *sourcePackage) readDecls() error {
	sp.byObject = map[types.Object]*sourceDecl{}
	info := sp.info
	add := func(d *sourceDecl, nodes ...ast.Node) *sourceDecl {
		d.owner = sp
		for _, n := range nodes {
			ast.Inspect(n, func(n ast.Node) bool {
				id, ok := n.(*ast.Ident)
				if !ok {
					return true
				}
				o := info.Uses[id]
				if o != nil && sourceOf(o.Pkg()) != nil && o.Parent() == o.Pkg().Scope() && !slices.Contains(d.needs, o) {
					d.needs = append(d.needs, o)
				}
				return true
			})
		}
		for _, o := range d.objects {
			sp.byObject[o] = d
		}
		return d
	}
	var methods []*ast.FuncDecl
	for _, f := range sp.files {
		for _, d := range f.syntax.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				switch {
				case d.Recv != nil:
					methods = append(methods, d)
				case d.Name.Name == "_":
				case d.Name.Name == "init":
					sp.inits = append(sp.inits, add(&sourceDecl{nodes: []ast.Node{d}}, d))
				default:
					add(&sourceDecl{nodes: []ast.Node{d}, objects: []types.Object{info.Defs[d.Name]}}, d)
				}
			case *ast.GenDecl:
				if d.Tok == token.CONST {
					sd := &sourceDecl{nodes: []ast.Node{d}}
					for _, s := range d.Specs {
						for _, n := range s.(*ast.ValueSpec).Names {
							if n.Name != "_" {
								sd.objects = append(sd.objects, info.Defs[n])
							}
						}
					}
					add(sd, d)
					continue
				}
				for _, s := range d.Specs {
					switch s := s.(type) {
					case *ast.TypeSpec:
						if s.Name.Name != "_" {
							add(&sourceDecl{nodes: []ast.Node{s}, objects: []types.Object{info.Defs[s.Name]}}, s)
						}
					case *ast.ValueSpec:
						content, ok, err := sp.embedded(d.Doc, s.Doc)
						if err != nil {
							return err
						}
						for _, n := range s.Names {
							if n.Name == "_" {
								continue
							}
							sd := &sourceDecl{objects: []types.Object{info.Defs[n]}, order: -1, embed: content, file: ok}
							if s.Type != nil {
								add(sd, s.Type)
							} else {
								add(sd)
							}
						}
					}
				}
			}
		}
	}
	for _, m := range methods {
		o := sp.pkg.Scope().Lookup(receiverName(m))
		if d := sp.byObject[o]; d != nil {
			d.nodes = append(d.nodes, m)
			add(d, m)
		}
	}
	for i, in := range info.InitOrder {
		var all *sourceDecl
		for _, v := range in.Lhs {
			if d := sp.byObject[v]; d != nil {
				if all == nil {
					all = d
					all.init, all.order = in, i
				} else {
					all.objects = append(all.objects, v)
					all.needs = append(all.needs, d.needs...)
				}
				sp.byObject[v] = all
			}
		}
		switch {
		case all != nil:
			add(all, in.Rhs)
		case acts(in.Rhs): // var _ = f()
			sp.inits = append(sp.inits, add(&sourceDecl{init: in, order: i}, in.Rhs))
		}
	}
	return nil
}

// acts reports whether evaluating an expression may do something.
func acts(x ast.Expr) bool {
	found := false
	ast.Inspect(x, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			return false
		case *ast.CallExpr:
			_, paren := n.Fun.(*ast.ParenExpr) // (*T)(nil)
			found = found || !paren
		case *ast.UnaryExpr:
			found = found || n.Op == token.ARROW
		}
		return !found
	})
	return found
}

// A linkage is what must be linked for a cell.
type linkage struct {
	decls    map[*sourceDecl]bool
	packages map[*sourcePackage]bool // to be initialized
}

// linkFor finds what a cell needs of fetched packages and the interpreter does
// not have.
func (s *Session) linkFor(c *checked) *linkage {
	k := &linkage{map[*sourceDecl]bool{}, map[*sourcePackage]bool{}}
	for _, d := range c.src.file.Decls {
		if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.IMPORT {
			for _, spec := range g.Specs {
				k.addPackage(s, s.prog.imp.source(importPath(spec.(*ast.ImportSpec))))
			}
		}
	}
	for _, o := range c.info.Uses {
		k.add(s, o)
	}
	return k
}

func importPath(is *ast.ImportSpec) string { return strings.Trim(is.Path.Value, "\"`") }

func (k *linkage) add(s *Session, o types.Object) {
	if o == nil {
		return
	}
	sp := sourceOf(o.Pkg())
	if sp == nil {
		return
	}
	d := sp.byObject[o]
	if d == nil || s.linked[d] || k.decls[d] {
		return
	}
	k.decls[d] = true
	k.addPackage(s, sp)
	for _, n := range d.needs {
		k.add(s, n)
	}
}

// addPackage adds the initialization of a package.
func (k *linkage) addPackage(s *Session, sp *sourcePackage) {
	if sp == nil || sp.why != "" || s.initialized[sp] || k.packages[sp] {
		return
	}
	k.packages[sp] = true
	for _, f := range sp.files {
		for _, is := range f.syntax.Imports {
			if is.Name != nil && is.Name.Name == "_" {
				k.addPackage(s, sp.imported(importPath(is)))
			}
		}
	}
	for _, d := range sp.inits {
		for _, n := range d.needs {
			k.add(s, n)
		}
	}
}

// link compiles and initializes what a cell needs of fetched packages. Where
// that fails, nothing of it is linked.
func (s *Session) link(ctx context.Context, c *checked, out engine.Outputs) error {
	k := s.linkFor(c)
	if len(k.decls) == 0 && len(k.packages) == 0 {
		return nil
	}
	program, undo, err := s.compileLinkage(k)
	if err != nil {
		undo()
		return s.linkError(err)
	}
	r := s.newRunning(ctx, out, nil)
	defer r.cancel(nil)
	if err := s.runWatched(r, program); err != nil {
		e := s.runtimeError(r, err)
		undo()
		e.Traceback = append([]string{"while the packages that this cell imports are initialized:"}, e.Traceback...)
		return e
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for d := range k.decls {
		s.linked[d] = true
	}
	for sp := range k.packages {
		s.initialized[sp] = true
	}
	return nil
}

// insteadCompile is what is left where a package cannot be interpreted.
const insteadCompile = "a cell that begins with %%compile is built by the Go compiler and can import it"

// linkError says what cannot be interpreted.
func (s *Session) linkError(err error) *engine.Error {
	e := s.compileError(0, err)
	e.Message = "this cannot be interpreted: " + e.Message + "; " + insteadCompile
	e.Traceback = append(append([]string{red + "what this cell uses of a fetched package cannot be interpreted:" + plain}, e.Traceback...), insteadCompile)
	return e
}

// compileLinkage lowers declarations as compile does those of a cell.
func (s *Session) compileLinkage(k *linkage) (prog *interp.Program, undo func(), err error) {
	undo = s.keepNames()
	defer compilerPanic(&err)
	decls := slices.SortedFunc(maps.Keys(k.decls), func(a, b *sourceDecl) int {
		if a.owner != b.owner {
			return a.owner.number - b.owner.number
		}
		return a.order - b.order
	})
	info := newInfo()
	body := &ast.BlockStmt{}
	c := &checked{src: &source{body: body}, info: info, next: s.prog}
	l := s.newLowerer(c)
	file := &ast.File{Name: ast.NewIdent("main"), Package: s.fset.AddFile("fetched/"+cellBase, -1, 1).Pos(0)}
	pos := file.Package
	body.Lbrace, body.Rbrace = pos, pos
	var globals []ast.Decl
	for _, d := range decls {
		cl := cloner{from: d.owner.info, to: info}
		for _, n := range d.nodes {
			at := n.Pos()
			n = cl.node(n)
			if f, ok := n.(*ast.FuncDecl); !ok || !hasParams(f) { // else its instances
				n = l.sharedLoopVars(n, d.owner.fileAt(at))
			}
			switch n := n.(type) {
			case *ast.FuncDecl:
				n.Doc = nil
				c.decls = append(c.decls, declared{decl: n, unit: &unit{}})
			case *ast.GenDecl:
				c.decls = append(c.decls, declared{decl: n, unit: &unit{}})
			case *ast.TypeSpec:
				c.decls = append(c.decls, declared{decl: &ast.GenDecl{TokPos: n.Pos(), Tok: token.TYPE, Specs: []ast.Spec{n}}, unit: &unit{}})
			}
		}
		for _, o := range d.objects {
			v, ok := o.(*types.Var)
			if !ok {
				continue
			}
			made, _ := madeName(v)
			globals = append(globals, &ast.GenDecl{TokPos: v.Pos(), Tok: token.VAR, Specs: []ast.Spec{
				&ast.ValueSpec{Names: []*ast.Ident{{Name: made, NamePos: v.Pos()}}, Type: l.globalType(v.Type(), v.Pos())}}})
		}
	}
	// Package by package: variables, then init functions.
	packages := maps.Clone(k.packages)
	for _, d := range decls {
		packages[d.owner] = true
	}
	for _, sp := range slices.SortedFunc(maps.Keys(packages), func(a, b *sourcePackage) int { return a.number - b.number }) {
		cl := cloner{from: sp.info, to: info}
		inits := []*sourceDecl{}
		if k.packages[sp] {
			inits = sp.inits
		}
		var vars []*sourceDecl
		for _, d := range decls {
			if d.owner == sp && (d.init != nil || d.file) {
				vars = append(vars, d)
			}
		}
		for _, d := range inits {
			if d.init != nil {
				vars = append(vars, d)
			}
		}
		slices.SortStableFunc(vars, func(a, b *sourceDecl) int { return a.order - b.order })
		for _, d := range vars {
			body.List = append(body.List, l.initialize(d, cl))
		}
		for i, d := range inits {
			if d.init != nil {
				continue
			}
			f := l.sharedLoopVars(cl.node(d.nodes[0]), sp.fileAt(d.nodes[0].Pos())).(*ast.FuncDecl)
			f.Doc = nil
			f.Name = &ast.Ident{Name: sp.made("init" + mark + itoa(i)), NamePos: f.Name.Pos()}
			instanceNames.Store(f.Name.Name, sp.Name+".init")
			c.decls = append(c.decls, declared{decl: f, unit: &unit{}})
			body.List = append(body.List, &ast.ExprStmt{X: call(&ast.Ident{Name: f.Name.Name, NamePos: f.Pos()}, f.Pos())})
		}
	}
	l.declarations()
	body = l.expressions(body).(*ast.BlockStmt)
	if err := l.assemble(file, globals, body.List, body); err != nil {
		return nil, undo, err
	}
	prog, err = l.compileFile(file)
	return prog, undo, err
}

// initialize returns the statement that initializes variables.
func (l *lowerer) initialize(d *sourceDecl, cl cloner) ast.Stmt {
	if d.init == nil { // from a file
		v := d.objects[0]
		pos := v.Pos()
		made, _ := madeName(v)
		return &ast.AssignStmt{Lhs: []ast.Expr{&ast.Ident{Name: made, NamePos: pos}}, TokPos: pos, Tok: token.ASSIGN,
			Rhs: []ast.Expr{call(&ast.ParenExpr{Lparen: pos, X: l.typeExpr(v.Type(), pos), Rparen: pos}, pos,
				&ast.BasicLit{ValuePos: pos, Kind: token.STRING, Value: quote(d.embed)})}}
	}
	pos := d.init.Rhs.Pos()
	a := &ast.AssignStmt{TokPos: pos, Tok: token.ASSIGN, Rhs: []ast.Expr{l.sharedLoopVars(cl.node(d.init.Rhs), d.owner.fileAt(pos)).(ast.Expr)}}
	for _, v := range d.init.Lhs {
		id := &ast.Ident{Name: v.Name(), NamePos: pos}
		if made, ok := madeName(v); ok {
			id.Name = made
			l.c.info.Types[id] = variableOf(v.Type())
		}
		a.Lhs = append(a.Lhs, id)
	}
	return a
}

// A cloner copies syntax, of which the lowering changes its copy, with what
// the checker knows of it.
type cloner struct{ from, to *types.Info }

func (c cloner) node(n ast.Node) ast.Node {
	done := map[any]reflect.Value{}
	return c.value(reflect.ValueOf(n), done).Interface().(ast.Node)
}

func (c cloner) value(v reflect.Value, done map[any]reflect.Value) reflect.Value {
	switch v.Kind() {
	case reflect.Interface:
		if v.IsNil() {
			return v
		}
		w := reflect.New(v.Type()).Elem()
		w.Set(c.value(v.Elem(), done))
		return w
	case reflect.Slice:
		if v.IsNil() {
			return v
		}
		w := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		for i := range v.Len() {
			w.Index(i).Set(c.value(v.Index(i), done))
		}
		return w
	case reflect.Pointer:
		if v.IsNil() {
			return v
		}
		switch v.Interface().(type) {
		case *ast.CommentGroup:
			return reflect.Zero(v.Type())
		}
		if w, ok := done[v.Interface()]; ok {
			return w
		}
		w := reflect.New(v.Type().Elem())
		done[v.Interface()] = w
		for i := range v.Elem().NumField() {
			w.Elem().Field(i).Set(c.value(v.Elem().Field(i), done))
		}
		c.known(v.Interface(), w.Interface())
		return w
	}
	return v
}

// known copies what the checker knows of a node.
func (c cloner) known(old, now any) {
	if x, ok := old.(ast.Expr); ok {
		if tv, ok := c.from.Types[x]; ok {
			c.to.Types[now.(ast.Expr)] = tv
		}
	}
	if n, ok := old.(ast.Node); ok {
		if o, ok := c.from.Implicits[n]; ok {
			c.to.Implicits[now.(ast.Node)] = o
		}
	}
	switch old := old.(type) {
	case *ast.Ident:
		now := now.(*ast.Ident)
		if o, ok := c.from.Uses[old]; ok {
			c.to.Uses[now] = o
		}
		if o, ok := c.from.Defs[old]; ok {
			c.to.Defs[now] = o
		}
		if i, ok := c.from.Instances[old]; ok {
			c.to.Instances[now] = i
		}
	case *ast.SelectorExpr:
		if s, ok := c.from.Selections[old]; ok {
			c.to.Selections[now.(*ast.SelectorExpr)] = s
		}
	}
}
