package gocell

import (
	"context"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strconv"

	"dace.local/kernel/engine"

	"github.com/traefik/yaegi/interp"
)

// startSources compiles and initializes the fetched packages that a cell uses
// and that no earlier one did.
func (s *Session) startSources(ctx context.Context, c *checked, out engine.Outputs) error {
	var use []*sourcePackage
	add := func(sp *sourcePackage) {
		if sp != nil && !sp.ready && !slices.Contains(use, sp) {
			use = append(use, sp)
		}
	}
	for _, o := range c.info.Uses {
		if pn, ok := o.(*types.PkgName); ok {
			add(sourceOf(pn.Imported()))
		}
		add(sourceOf(o.Pkg()))
	}
	for _, is := range c.src.file.Decls {
		if g, ok := is.(*ast.GenDecl); ok && g.Tok == token.IMPORT {
			for _, sp := range g.Specs {
				if path, err := strconv.Unquote(sp.(*ast.ImportSpec).Path.Value); err == nil {
					add(s.prog.imp.source(path))
				}
			}
		}
	}
	slices.SortFunc(use, func(a, b *sourcePackage) int { return a.number - b.number })
	for _, sp := range use {
		if err := s.startSource(ctx, sp, out); err != nil {
			return err
		}
	}
	return nil
}

// startSource compiles and initializes a package after what it needs. One
// whose initialization fails is as if it had not been tried.
func (s *Session) startSource(ctx context.Context, sp *sourcePackage, out engine.Outputs) error {
	if sp.ready {
		return nil
	}
	for _, need := range sp.needs {
		if err := s.startSource(ctx, need, out); err != nil {
			return err
		}
	}
	if err := s.compileOnce(sp); err != nil {
		return err
	}
	r := s.newRunning(ctx, out, nil)
	defer r.cancel(nil)
	if err := s.runWatched(r, sp.program); err != nil {
		e := s.runtimeError(r, err)
		e.Traceback = append([]string{"in package " + sp.ImportPath + ", which is initialized for this cell:"}, e.Traceback...)
		return e
	}
	sp.ready = true
	return nil
}

// compileOnce compiles a package whose needs are compiled. What the interpreter
// does not take is not tried again.
func (s *Session) compileOnce(sp *sourcePackage) error {
	if sp.program != nil {
		return nil
	}
	program, undo, err := s.compileSource(sp)
	if err != nil {
		undo()
		e := s.compileError(0, err)
		sp.why = e.Message
		e.Message = "package " + sp.ImportPath + " cannot be interpreted: " + e.Message
		e.Traceback = append(append([]string{red + "package " + sp.ImportPath + " cannot be interpreted:" + plain}, e.Traceback...), insteadCompile)
		return e
	}
	sp.program = program
	return nil
}

// insteadCompile is what is left where a package cannot be interpreted.
const insteadCompile = "a cell that begins with %%compile is built by the Go compiler and can import it"

// compileSource lowers a package, as compile does a cell.
func (s *Session) compileSource(sp *sourcePackage) (prog *interp.Program, undo func(), err error) {
	undo = s.keepNames()
	body := &ast.BlockStmt{}
	c := &checked{src: &source{body: body}, info: sp.info, next: s.prog}
	l := s.newLowerer(c)
	file := &ast.File{Name: ast.NewIdent("main"), Package: s.fset.AddFile(sp.ImportPath+"/"+cellBase, -1, 1).Pos(0)}
	pos := file.Package
	body.Lbrace, body.Rbrace = pos, pos
	var globals []ast.Decl
	var inits []ast.Stmt
	for _, f := range sp.files {
		for _, d := range f.syntax.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Recv == nil && d.Name.Name == "_" {
					continue
				}
				if d.Recv == nil && d.Name.Name == "init" {
					name := sp.made("init" + itoa(len(inits)))
					d.Name = &ast.Ident{Name: name, NamePos: d.Name.Pos()}
					inits = append(inits, &ast.ExprStmt{X: call(&ast.Ident{Name: name, NamePos: d.Pos()}, d.Pos())})
				}
				if d.Recv != nil && receiverName(d) == "_" {
					continue
				}
				d.Doc = nil
				c.decls = append(c.decls, declared{decl: d, unit: &unit{}})
			case *ast.GenDecl:
				switch d.Tok {
				case token.CONST, token.TYPE:
					c.decls = append(c.decls, declared{decl: d, unit: &unit{}})
				case token.VAR:
					for _, spec := range d.Specs {
						v := spec.(*ast.ValueSpec)
						for _, n := range v.Names {
							o, ok := sp.info.Defs[n].(*types.Var)
							if !ok || n.Name == "_" {
								continue
							}
							made, _ := madeName(o)
							globals = append(globals, &ast.GenDecl{TokPos: n.Pos(), Tok: token.VAR, Specs: []ast.Spec{
								&ast.ValueSpec{Names: []*ast.Ident{{Name: made, NamePos: n.Pos()}}, Type: l.globalType(o.Type(), n.Pos())}}})
							content, ok, err := sp.embedded(d.Doc, v.Doc)
							if err != nil {
								return nil, undo, err
							}
							if ok {
								body.List = append(body.List, &ast.AssignStmt{Lhs: []ast.Expr{&ast.Ident{Name: made, NamePos: n.Pos()}}, TokPos: n.Pos(), Tok: token.ASSIGN,
									Rhs: []ast.Expr{call(&ast.ParenExpr{Lparen: n.Pos(), X: l.typeExpr(o.Type(), n.Pos()), Rparen: n.Pos()}, n.Pos(),
										&ast.BasicLit{ValuePos: n.Pos(), Kind: token.STRING, Value: quote(content)})}})
							}
						}
					}
				}
			}
		}
	}
	for _, in := range sp.info.InitOrder {
		a := &ast.AssignStmt{TokPos: in.Rhs.Pos(), Tok: token.ASSIGN, Rhs: []ast.Expr{in.Rhs}}
		blank := true
		for _, v := range in.Lhs {
			id := &ast.Ident{Name: v.Name(), NamePos: in.Rhs.Pos()}
			if made, ok := madeName(v); ok {
				id.Name, blank = made, false
			}
			a.Lhs = append(a.Lhs, id)
		}
		// var _ I = T{} is for the compiler.
		if !blank || acts(in.Rhs) {
			body.List = append(body.List, a)
		}
	}
	body.List = append(body.List, inits...)
	c.decls = plainOnly(c.decls, c.info)
	for i := range c.decls {
		c.decls[i].decl = l.expressions(c.decls[i].decl).(ast.Decl)
	}
	body = l.expressions(body).(*ast.BlockStmt)
	if err := l.assemble(file, globals, body.List, body); err != nil {
		return nil, undo, err
	}
	prog, err = s.compileFile(file)
	if err != nil {
		return nil, undo, err
	}
	s.mu.Lock()
	for _, n := range sp.pkg.Scope().Names() {
		if o, ok := sp.pkg.Scope().Lookup(n).(*types.TypeName); ok {
			s.sourceTypes[sp.made(n)] = o
		}
	}
	s.mu.Unlock()
	return prog, undo, nil
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

// recheckSource is recheck for a declaration of a fetched package.
func (l *lowerer) recheckSource(d ast.Decl, params []string, args []types.Type, file *sourceFile) {
	s, sp := l.gen.s, file.owner
	s.mu.Lock()
	defer s.mu.Unlock()
	var extra []types.Object
	for i, n := range params {
		if n != "_" && i < len(args) {
			o := types.NewTypeName(token.NoPos, sp.pkg, n, args[i])
			l.gen.args[o] = args[i]
			extra = append(extra, o)
		}
	}
	used := map[string]bool{}
	ast.Inspect(d, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok {
			used[id.Name] = true
		}
		return true
	})
	f := &ast.File{Name: ast.NewIdent(sp.Name)}
	if imports := file.importDecl(used); imports != nil {
		f.Decls = append(f.Decls, imports)
	}
	f.Decls = append(f.Decls, d)
	conf := &types.Config{Importer: fixedImporter{sp}, Error: func(error) {}}
	sp.inScope(extra, func() {
		_ = types.NewChecker(conf, l.fset, sp.pkg, l.c.info).Files([]*ast.File{f})
	})
}

// sameAs returns a name that stands for a selector in what the checker knows.
func (l *lowerer) sameAs(x *ast.SelectorExpr, sel *ast.Ident, name string) *ast.Ident {
	id := &ast.Ident{Name: name, NamePos: x.Pos()}
	info := l.c.info
	if tv, ok := info.Types[x]; ok {
		info.Types[id] = tv
	}
	if o := info.Uses[sel]; o != nil {
		info.Uses[id] = o
	}
	return id
}
