package check

import (
	"cmp"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"slices"
	"strconv"
	"strings"

	"dace.local/kernel/gocell/internal/cell"
)

// A function of cells can be taken elsewhere: with the declarations that it uses
// it is the text of a cell of its own, which another session executes. What it
// reads of variables travels beside.

// Needs is what a function of cells needs in another session.
type Needs struct {
	// Imports maps names to import paths; Dots maps paths imported with a dot to the names
	// that are used: the others may be those of declarations.
	Imports map[string]string
	Dots    map[string][]string
	// Decls holds the declarations of functions, methods, types and constants,
	// as typed.
	Decls []string
	// Vars lists the variables that it reads, sorted by name.
	Vars []*types.Var

	p        *Program
	fset     *token.FileSet
	compiled func(path string) *Native
	seen     map[string]bool
	texts    map[string]bool
	trees    []ast.Decl           // of Decls
	golang   map[string]token.Pos // Go's own names that they use, and where the first of these is
}

// Needs returns what the declared function of a name needs. compiled returns the
// compiled cell at an import path of the checker.
func (p *Program) Needs(fset *token.FileSet, compiled func(path string) *Native, name string) (*Needs, error) {
	n := p.needs(fset, compiled)
	if err := n.add(name); err != nil {
		return nil, err
	}
	return n, n.finish()
}

// NeedsOfLiteral returns what a function literal needs that stands in the text
// of a cell, from a byte on. It is declared under the given name.
func (p *Program) NeedsOfLiteral(fset *token.FileSet, compiled func(path string) *Native, number int, text string, from int, name string) (*Needs, error) {
	x, _ := parser.ParseExprFrom(token.NewFileSet(), "", text[from:], parser.SkipObjectResolution)
	lit, ok := x.(*ast.FuncLit)
	if !ok {
		return nil, errors.New("its text is not there any more")
	}
	line, col := cell.LineCol(text, from)
	const keyword = "func"
	pc := Piece{Cell: number, Text: keyword + " " + name + text[from+len(keyword):from+int(lit.End()-lit.Pos())], Line: line, Column: col}
	ds, err := pc.Parse(fset)
	if err != nil {
		return nil, err
	}
	src := &Source{Number: number, text: pc.Text, File: &ast.File{Name: ast.NewIdent("main"), Decls: ds}, Body: &ast.BlockStmt{}, decls: []Piece{pc}}
	c, err := p.Check(fset, src)
	if err != nil {
		var ce *Error
		if errors.As(err, &ce) && len(ce.List) > 0 {
			e := ce.List[0]
			return nil, fmt.Errorf("%s, line %d: %s: a function that travels may use package-level names only, and parameters instead of the variables around it", cell.Name(e.Pos.Filename), e.Pos.Line, e.Msg)
		}
		return nil, err
	}
	n := p.needs(fset, compiled)
	u := c.Next.Units[slices.IndexFunc(c.Next.Units, func(u *Unit) bool { return u.Method == "" && slices.Contains(u.Names, name) })]
	if local := enclosed(text, from, u.deps); local != "" {
		return nil, fmt.Errorf("%s, line %d: it uses %s, a variable of the function or block around it", cell.Name(cell.FileName(number)), line, local)
	}
	if err := n.declare(pc.Text, ds[0], u.deps, u.imported); err != nil {
		return nil, err
	}
	return n, n.finish()
}

func (p *Program) needs(fset *token.FileSet, compiled func(path string) *Native) *Needs {
	return &Needs{p: p, fset: fset, compiled: compiled, Imports: map[string]string{}, Dots: map[string][]string{}, seen: map[string]bool{}, texts: map[string]bool{}, golang: map[string]token.Pos{}}
}

// add adds a name of the session, with what it uses.
func (n *Needs) add(name string) error {
	e := n.p.Names[name]
	if n.seen[name] || e == nil || e.Cell == 0 {
		return nil // known, or predeclared
	}
	n.seen[name] = true
	if v, ok := e.Object.(*types.Var); ok {
		n.Vars = append(n.Vars, v)
		return nil
	}
	found := false
	for _, u := range n.p.Units {
		if u.native != nil || !slices.Contains(u.Names, name) {
			continue
		}
		found = true
		ds, err := u.Parse(n.fset)
		if err != nil || len(ds) != 1 {
			return fmt.Errorf("the declaration of %s cannot be read again", u)
		}
		if err := n.declare(u.Text, ds[0], u.deps, u.imported); err != nil {
			return err
		}
	}
	if found {
		return nil
	}
	c := n.compiled(PathOf(e.Object.Pkg()))
	if c == nil {
		return fmt.Errorf("the declaration of %s is not there any more", name)
	}
	for _, d := range c.Decls {
		if !slices.Contains(UnitsOf(d.Piece, d.Decl).Names, name) {
			continue
		}
		deps, im := usesOf(c.Info, d.Decl)
		if err := n.declare(d.Text, d.Decl, deps, im); err != nil {
			return err
		}
	}
	return nil
}

// declare adds a declaration with what it uses.
func (n *Needs) declare(text string, d ast.Decl, deps map[string]bool, im *imported) error {
	if n.texts[text] {
		return nil
	}
	n.texts[text] = true
	n.Decls, n.trees = append(n.Decls, text), append(n.trees, d)
	if im != nil {
		for name := range im.golang {
			n.golang[name] = cmp.Or(n.golang[name], d.Pos())
		}
		for _, name := range slices.Sorted(maps.Keys(im.named)) {
			path := im.named[name]
			if n.Imports[name] = path; n.p.Importer.Source(path) != nil {
				return n.at(n.use(name), "it uses %s, which %%get has fetched and workers do not have", path)
			}
		}
		for _, name := range slices.Sorted(maps.Keys(im.dotted)) {
			if path := im.dotted[name]; !slices.Contains(n.Dots[path], name) {
				n.Dots[path] = append(n.Dots[path], name)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(deps)) {
		if err := n.add(name); err != nil {
			return err
		}
	}
	return nil
}

// at returns an error about a place in the declarations.
func (n *Needs) at(pos token.Pos, format string, args ...any) error {
	p := n.fset.Position(pos)
	return fmt.Errorf("%s, line %d: %s", cell.Name(p.Filename), p.Line, fmt.Sprintf(format, args...))
}

// finish adds the types of the variables, and refuses variables that cannot
// travel, at the places of their use.
func (n *Needs) finish() error {
	for i := 0; i < len(n.Vars); i++ { // methods of types may use more variables
		if err := n.addTypes(n.Vars[i].Type()); err != nil {
			return err
		}
	}
	slices.SortFunc(n.Vars, func(a, b *types.Var) int { return strings.Compare(a.Name(), b.Name()) })
	for _, v := range n.Vars {
		if why := NotPlain(v.Type(), map[types.Type]bool{}); why != "" {
			return n.at(n.use(v.Name()), "it reads the variable %s, which cannot travel because it holds %s; only plain data do", v.Name(), why)
		}
	}
	for _, d := range n.trees {
		if err := n.sets(d); err != nil {
			return err
		}
	}
	for name, at := range n.golang {
		if n.seen[name] {
			return n.at(at, goOwn, name)
		}
	}
	return nil
}

// use returns the first place at which a declaration uses a name.
func (n *Needs) use(name string) (at token.Pos) {
	for _, d := range n.trees {
		ast.Inspect(d, func(x ast.Node) bool {
			if id, ok := x.(*ast.Ident); ok && id.Name == name && at == token.NoPos {
				at = id.Pos()
			}
			return at == token.NoPos
		})
	}
	return at
}

// sets refuses a declaration that sets a variable of the session, or takes its
// address: what it sets on a worker would not be seen here.
func (n *Needs) sets(d ast.Decl) (err error) {
	own := map[string]bool{} // its parameters and results
	if f, ok := d.(*ast.FuncDecl); ok {
		for _, list := range []*ast.FieldList{f.Recv, f.Type.Params, f.Type.Results} {
			for _, name := range FieldNames(list) {
				own[name] = true
			}
		}
	}
	check := func(xs ...ast.Expr) {
		for _, x := range xs {
			id := rootOf(x)
			if id != nil && err == nil && !own[id.Name] && slices.ContainsFunc(n.Vars, func(v *types.Var) bool { return v.Name() == id.Name }) {
				err = n.at(id.Pos(), "it sets the variable %s, or takes its address: what a function that travels sets would be lost", id.Name)
			}
		}
	}
	ast.Inspect(d, func(x ast.Node) bool {
		switch x := x.(type) {
		case *ast.AssignStmt:
			if x.Tok != token.DEFINE {
				check(x.Lhs...)
			}
		case *ast.IncDecStmt:
			check(x.X)
		case *ast.UnaryExpr:
			if x.Op == token.AND {
				check(x.X)
			}
		case *ast.RangeStmt:
			if x.Tok == token.ASSIGN {
				check(x.Key, x.Value)
			}
		}
		return err == nil
	})
	return err
}

// rootOf returns the identifier of the variable that an expression is a part of,
// or nil.
func rootOf(x ast.Expr) *ast.Ident {
	for {
		switch y := x.(type) {
		case *ast.Ident:
			return y
		case *ast.ParenExpr:
			x = y.X
		case *ast.SelectorExpr:
			x = y.X
		case *ast.IndexExpr:
			x = y.X
		case *ast.StarExpr:
			x = y.X
		default:
			return nil
		}
	}
}

// addTypes adds the cells' types that a type mentions, and the imports that the
// names of others need.
func (n *Needs) addTypes(t types.Type) (err error) {
	WalkType(t, func(t types.Type) {
		named, ok := t.(*types.Named)
		if !ok || named.Obj().Pkg() == nil {
			return
		}
		if p := named.Obj().Pkg(); PathOf(p) != "main" && !IsNative(p) {
			n.Imports[p.Name()] = p.Path()
		} else if e := n.add(named.Obj().Name()); e != nil {
			err = e
		}
	}, map[types.Type]bool{})
	return err
}

// Text returns a cell that declares the function, and its variables without
// their values.
func (n *Needs) Text() string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(n.Imports)) {
		fmt.Fprintf(&b, "import %s %s\n", name, strconv.Quote(n.Imports[name]))
	}
	for _, path := range slices.Sorted(maps.Keys(n.Dots)) {
		from := path
		of, err := n.p.Importer.Import(path)
		for name := range n.seen {
			if err == nil && of.Scope().Lookup(name) != nil {
				from = onlyOf(path, n.Dots[path])
			}
		}
		fmt.Fprintf(&b, "import . %s\n", strconv.Quote(from))
	}
	for _, d := range n.Decls {
		b.WriteString("\n" + d + "\n")
	}
	for _, v := range n.Vars {
		fmt.Fprintf(&b, "\nvar %s %s\n", v.Name(), types.TypeString(v.Type(), ShortName))
	}
	return b.String()
}

// NotPlain returns what keeps a value of type t from being plain data, or "".
// Plain data are numbers, booleans, strings, and pointers, slices, arrays, maps
// and structs of them; of another package's structs all fields must be exported.
func NotPlain(t types.Type, seen map[types.Type]bool) string {
	t = types.Unalias(t)
	if seen[t] {
		return ""
	}
	seen[t] = true
	switch u := t.Underlying().(type) {
	case *types.Basic:
		if u.Kind() == types.UnsafePointer {
			return "an unsafe.Pointer"
		}
		return ""
	case *types.Pointer:
		return NotPlain(u.Elem(), seen)
	case *types.Slice:
		return NotPlain(u.Elem(), seen)
	case *types.Array:
		return NotPlain(u.Elem(), seen)
	case *types.Map:
		if why := NotPlain(u.Key(), seen); why != "" {
			return why
		}
		return NotPlain(u.Elem(), seen)
	case *types.Struct:
		for f := range u.Fields() {
			if !f.Exported() && PathOf(f.Pkg()) != "main" && !IsNative(f.Pkg()) {
				return "a " + types.TypeString(t, ShortName)
			}
			if why := NotPlain(f.Type(), seen); why != "" {
				return why
			}
		}
		return ""
	}
	switch {
	case IsSignature(t):
		return "a function"
	case types.IsInterface(t):
		return "an interface, " + types.TypeString(t, ShortName)
	}
	return "a value of type " + types.TypeString(t, ShortName)
}

// enclosed returns one of names that is declared in a function or block around
// the literal that begins at a byte of a cell's text, or "". Variables of the
// cell's outermost statements are the session's.
func enclosed(text string, from int, names map[string]bool) string {
	tokens, _, _ := cell.Tokens(text)
	for _, p := range cell.Split(tokens, len(text)) {
		if from < p.Start || from >= p.End {
			continue
		}
		before := "package main;"
		if p.Kind == cell.PartStmt {
			before += "func _(){"
		}
		f, _ := parser.ParseFile(token.NewFileSet(), "", before+text[p.Start:p.End]+"\n}", parser.SkipObjectResolution)
		if f == nil {
			return ""
		}
		lit := f.FileStart + token.Pos(len(before)+from-p.Start)
		var around ast.Node // the outermost function or block but the statements' own
		ast.Inspect(f, func(x ast.Node) bool {
			if x == nil || around != nil || lit < x.Pos() || lit >= x.End() || x.Pos() == lit {
				return false
			}
			switch x := x.(type) {
			case *ast.FuncDecl:
				if x.Name.Name != "_" {
					around = x
				}
			case *ast.BlockStmt:
				if x.Lbrace != f.FileStart+token.Pos(len(before)-1) {
					around = x
				}
			case *ast.FuncLit, *ast.ForStmt, *ast.RangeStmt, *ast.IfStmt, *ast.SwitchStmt, *ast.TypeSwitchStmt, *ast.SelectStmt:
				around = x
			}
			return true
		})
		if around == nil {
			return ""
		}
		return declaredIn(around, lit, names)
	}
	return ""
}

// declaredIn returns one of names that a node declares outside of the literal at
// lit, or "".
func declaredIn(around ast.Node, lit token.Pos, names map[string]bool) (found string) {
	look := func(xs ...ast.Expr) {
		for _, x := range xs {
			if id, ok := x.(*ast.Ident); ok && names[id.Name] {
				found = id.Name
			}
		}
	}
	ast.Inspect(around, func(x ast.Node) bool {
		if x != nil && x.Pos() == lit {
			if _, ok := x.(*ast.FuncLit); ok {
				return false
			}
		}
		switch x := x.(type) {
		case *ast.AssignStmt:
			if x.Tok == token.DEFINE {
				look(x.Lhs...)
			}
		case *ast.RangeStmt:
			if x.Tok == token.DEFINE {
				look(x.Key, x.Value)
			}
		case *ast.ValueSpec:
			for _, id := range x.Names {
				look(id)
			}
		case *ast.TypeSpec:
			look(x.Name)
		case *ast.FuncType:
			for _, list := range []*ast.FieldList{x.TypeParams, x.Params, x.Results} {
				if list == nil {
					continue
				}
				for _, field := range list.List {
					for _, id := range field.Names {
						look(id)
					}
				}
			}
		}
		return true
	})
	return found
}
