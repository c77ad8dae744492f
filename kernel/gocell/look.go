package gocell

import (
	"fmt"
	"go/ast"
	"go/scanner"
	"go/token"
	"go/types"
	"strings"

	"dace.local/kernel/gocell/symbols"
)

// A view is a cell as it stands, complete or not, with what go/types could
// make of it: the ground for completion and inspection.
type view struct {
	fset  *token.FileSet
	src   *source
	info  *types.Info
	pkg   *types.Package
	files []ast.Node // what was checked, the statements' function first
}

// look checks a cell as far as it goes and keeps all errors to itself. The
// program is unchanged. The caller holds the session's lock.
func (p *program) look(text string) (v *view) {
	fset := token.NewFileSet()
	src, _ := parseCell(fset, 0, "", text)
	q := p.clone()
	v = &view{fset: fset, src: src, info: newInfo(), pkg: p.pkg}
	used := map[string]bool{}
	var heads, bodies []ast.Decl
	var all []declared
	i := 0
	for _, d := range src.file.Decls {
		if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.IMPORT {
			_ = q.addImports(fset, g, q.imp)
			continue
		}
		if i < len(src.decls) {
			u := unitsOf(src.decls[i], d)
			// A method of a compiled cell's type is not for the checker.
			if e := q.names[u.names[0]]; u.meth == "" || e == nil || !ofNative(e.obj) {
				all = append(all, declared{decl: d, unit: u, own: true})
			}
		}
		i++
	}
	mention := func(n ast.Node) {
		ast.Inspect(n, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok {
				used[id.Name] = true
			}
			return true
		})
	}
	own := map[string]bool{}
	for _, d := range all {
		for _, n := range d.unit.names {
			if d.unit.meth == "" {
				own[n] = true
			}
		}
	}
	for _, d := range all {
		mention(d.decl)
		if f, ok := d.decl.(*ast.FuncDecl); ok {
			// The checker knows the methods of earlier cells' types, and takes
			// no others.
			if d.unit.meth == "" || own[d.unit.names[0]] {
				head := *f
				head.Body = nil
				heads = append(heads, &head)
			}
			if f.Body != nil {
				b := bodyFunc(f)
				bodies = append(bodies, b)
				v.files = append(v.files, b)
			}
			continue
		}
		heads = append(heads, d.decl)
		v.files = append(v.files, d.decl)
	}
	mention(src.body)
	objects := map[string]types.Object{}
	conf := &types.Config{Importer: q.imp, Error: func(error) {}}
	pass := func(decls []ast.Decl) {
		setScope(q.pkg)
		for n := range used {
			if o := objects[n]; o != nil {
				q.pkg.Scope().Insert(o)
			} else if e := q.names[n]; e != nil && !own[n] {
				q.pkg.Scope().Insert(e.obj)
			}
		}
		file := &ast.File{Name: ast.NewIdent("main")}
		file.Decls = q.fileImports(used, all, src.body)
		file.Decls = append(file.Decls, decls...)
		maskForeign(file)
		_ = types.NewChecker(conf, fset, q.pkg, v.info).Files([]*ast.File{file})
	}
	defer func() {
		// A broken text may upset the checker; what it found so far serves.
		_ = recover()
	}()
	if len(heads) > 0 {
		pass(heads)
		for n := range own {
			if o := q.pkg.Scope().Lookup(n); o != nil {
				objects[n] = o
			}
		}
	}
	cellFunc := &ast.FuncDecl{Name: ast.NewIdent("_"), Type: &ast.FuncType{Params: &ast.FieldList{}}, Body: src.body}
	v.files = append([]ast.Node{cellFunc}, v.files...)
	pass([]ast.Decl{cellFunc})
	if top := v.info.Scopes[cellFunc.Type]; top != nil {
		for _, n := range top.Names() {
			if o, ok := top.Lookup(n).(*types.Var); ok {
				objects[n] = types.NewVar(o.Pos(), q.pkg, n, o.Type())
			}
		}
	}
	if len(bodies) > 0 {
		pass(bodies)
	}
	return v
}

// find returns the path of nodes from the innermost identifier at a place
// outwards, or nil.
func (v *view) find(line, col int) []ast.Node {
	var best []ast.Node
	for _, f := range v.files {
		var path []ast.Node
		ast.Inspect(f, func(n ast.Node) bool {
			if n == nil {
				path = path[:len(path)-1]
				return true
			}
			path = append(path, n)
			if id, ok := n.(*ast.Ident); ok && id.Pos().IsValid() {
				p := v.fset.Position(id.Pos())
				if p.Line == line && p.Column <= col && col <= p.Column+len(id.Name) && best == nil {
					for i := len(path) - 1; i >= 0; i-- {
						best = append(best, path[i])
					}
				}
			}
			return true
		})
		if best != nil {
			return best
		}
	}
	return nil
}

// object returns what an identifier stands for.
func (v *view) object(id *ast.Ident) types.Object {
	if o := v.info.Uses[id]; o != nil {
		return o
	}
	return v.info.Defs[id]
}

// tokens scans text; the offsets are those of the text.
type tok struct {
	kind     token.Token
	lit      string
	off, end int
}

func tokens(text string) (list []tok, open []token.Token, err error) {
	fset := token.NewFileSet()
	f := fset.AddFile("", -1, len(text))
	var s scanner.Scanner
	var first error
	s.Init(f, []byte(text), func(p token.Position, msg string) {
		if first == nil {
			first = fmt.Errorf("%s", msg)
		}
	}, 0)
	for {
		pos, k, lit := s.Scan()
		if k == token.EOF {
			return list, open, first
		}
		off := f.Offset(pos)
		end := off + len(lit)
		if lit == "" {
			end = off + len(k.String())
		}
		if k == token.SEMICOLON && lit == "\n" {
			end = off
		}
		list = append(list, tok{k, lit, off, end})
		switch k {
		case token.LPAREN, token.LBRACE, token.LBRACK:
			open = append(open, k)
		case token.RPAREN, token.RBRACE, token.RBRACK:
			if len(open) > 0 {
				open = open[:len(open)-1]
			}
		}
	}
}

// docOf returns the documentation of an object and its signature in Go.
func (p *program) docOf(v *view, o types.Object, recv types.Type) (signature, doc string) {
	q := func(pk *types.Package) string {
		if pk == p.pkg || isNative(pk) {
			return ""
		}
		return pk.Name()
	}
	if pn, ok := o.(*types.PkgName); ok {
		ipath := pn.Imported().Path()
		return "package " + pn.Imported().Name() + ` // import "` + ipath + `"`, packageDoc(pn.Imported(), "")
	}
	signature = types.ObjectString(o, q)
	name := o.Name()
	owner := ""
	switch x := o.(type) {
	case *types.TypeName:
		signature = typeSignature(x, q)
	case *types.Func:
		if r := x.Signature().Recv(); r != nil {
			owner = typeOwner(r.Type())
		}
	case *types.Var:
		if x.IsField() && recv != nil {
			owner = typeOwner(recv)
			signature = "field " + name + " " + types.TypeString(x.Type(), q)
		}
	case *types.Builtin:
		return "func " + name, symbols.Doc("builtin", name)
	case *types.Const:
		signature = "const " + name + " " + types.TypeString(x.Type(), q) + " = " + x.Val().String()
	}
	if owner != "" {
		name = owner + "." + name
	}
	if o.Pkg() != nil && o.Pkg() != p.pkg {
		return signature, packageDoc(o.Pkg(), name)
	}
	if o.Pkg() == nil {
		return signature, symbols.Doc("builtin", name)
	}
	return signature, ""
}

// typeOwner returns the name of the type that a method or field belongs to.
func typeOwner(t types.Type) string {
	t = types.Unalias(t)
	if p, ok := t.(*types.Pointer); ok {
		t = types.Unalias(p.Elem())
	}
	if n, ok := t.(*types.Named); ok {
		return n.Obj().Name()
	}
	return ""
}

// typeSignature shows a type with its exported fields, and its methods.
func typeSignature(o *types.TypeName, q types.Qualifier) string {
	var b strings.Builder
	fmt.Fprintf(&b, "type %s ", types.TypeString(o.Type(), q))
	own := o.Pkg() != nil && o.Pkg().Path() == "main" // its unexported names are the cells' own
	switch u := o.Type().Underlying().(type) {
	case *types.Struct:
		b.WriteString("struct {")
		hidden := false
		for f := range u.Fields() {
			if !f.Exported() && !own {
				hidden = true
				continue
			}
			fmt.Fprintf(&b, "\n\t%s %s", f.Name(), types.TypeString(f.Type(), q))
		}
		if hidden {
			b.WriteString("\n\t// unexported fields")
		}
		b.WriteString("\n}")
	case *types.Interface:
		b.WriteString("interface {")
		for m := range u.Methods() {
			b.WriteString("\n\t" + m.Name() + strings.TrimPrefix(types.TypeString(m.Type(), q), "func"))
		}
		b.WriteString("\n}")
	default:
		b.WriteString(types.TypeString(u, q))
	}
	if n, ok := o.Type().(*types.Named); ok && !types.IsInterface(n) {
		for m := range n.Methods() {
			if m.Exported() || own {
				b.WriteString("\n" + types.ObjectString(m, q))
			}
		}
	}
	return b.String()
}
