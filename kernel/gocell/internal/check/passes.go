package check

import (
	"errors"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
)

// A checking is the type-checking of one cell, in passes: the heads of its
// declarations, its statements, which settle the types of the variables that they
// define, and the bodies of its functions, which may use these variables. Cells
// that are to run and cells that are only looked at go by the same passes; the
// first stop at an error, the second take what they get.
type checking struct {
	p       *Program // whose package is the scope
	fset    *token.FileSet
	info    *types.Info
	all     []Declared              // the declarations to check
	body    *ast.BlockStmt          // the statements
	used    map[string]bool         // the names that they mention
	imports *ast.GenDecl            // of the packages that they mention
	objects map[string]types.Object // what the cell declares and defines, as far as it is known
	moved   map[string]*types.Var   // older variables that have taken a new type
	hidden  map[string]bool         // names of the session that are the cell's own, or gone
	errs    []types.Error
	keys    bool // write the names of fields that a cell may set by place, see nameFields
	conf    *types.Config
	cell    *ast.FuncDecl           // a function of the statements
	but     []string                // names that the scope of the pass is without
	kept    map[token.Pos]*imported // imports of earlier cells' declarations, by their places
}

// newChecking starts the check of declarations and statements.
func newChecking(p *Program, fset *token.FileSet, all []Declared, body *ast.BlockStmt) *checking {
	k := &checking{p: p, fset: fset, all: all, body: body, objects: map[string]types.Object{}, hidden: map[string]bool{}, kept: map[token.Pos]*imported{},
		cell: &ast.FuncDecl{Name: ast.NewIdent("_"), Type: &ast.FuncType{Params: &ast.FieldList{}}, Body: body}}
	filter := conflictFilter{own: p.conflicts}
	k.conf = &types.Config{Importer: p.Importer, Error: func(err error) {
		var e types.Error
		if errors.As(err, &e) && !filter.drops(e.Msg) {
			e.Msg = p.shownMessage(e.Msg)
			k.errs = addError(k.errs, e)
		}
	}}
	m := newMentions()
	for _, d := range all {
		m.add(d.Decl)
		if !d.Own {
			k.kept[d.Decl.Pos()] = d.Unit.imported
		}
	}
	m.add(body)
	k.used, k.imports, k.info = m.names, p.importDecl(m, all), infoFor(m.nodes)
	return k
}

// mention adds the identifiers below n to names.
func mention(names map[string]bool, n ast.Node) {
	ast.Inspect(n, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok {
			names[id.Name] = true
		}
		return true
	})
}

// mentionsName reports whether n is an identifier of a name, or has one below it.
func mentionsName(n ast.Node, name string) (found bool) {
	ast.Inspect(n, func(n ast.Node) bool {
		id, ok := n.(*ast.Ident)
		found = found || ok && id.Name == name
		return !found
	})
	return found
}

// scope starts a new package scope with what the session knows of the names that
// the cell mentions, but for some.
func (k *checking) scope(but ...string) {
	k.but = but
	scope := k.p.Package.Scope()
	setScope(k.p.Package)
	for n := range k.used {
		if slices.Contains(but, n) {
			continue
		}
		if o := k.objects[n]; o != nil {
			scope.Insert(o)
		} else if v := k.moved[n]; v != nil {
			scope.Insert(v)
		} else if e := k.p.Names[n]; e != nil && !k.hidden[n] {
			scope.Insert(e.Object)
		}
	}
}

// pass checks declarations in the package scope as it is.
func (k *checking) pass(decls []ast.Decl) {
	if errs := k.p.excess(k.fset, decls); errs != nil {
		k.errs = append(k.errs, errs...)
		return
	}
	files := k.p.files(k.imports, decls, k.keeps)
	file := allDecls(files)
	hideForeign(file)
	before := len(k.errs)
	_ = types.NewChecker(k.conf, k.fset, k.p.Package, k.info).Files(files)
	again, errs := false, k.errs[before:]
	if usesMust(k.used) {
		again, errs = sizeMusts(k.info, file, errs)
	}
	if k.keys && nameFields(k.info, file, errs) {
		again = true
	}
	if again {
		k.errs = k.errs[:before]
		k.scope(k.but...)
		k.pass(decls)
		return
	}
	k.errs = append(k.errs[:before:before], errs...)
}

// keeps returns the imports that a declaration of an earlier cell keeps.
func (k *checking) keeps(d ast.Decl) *imported { return k.kept[d.Pos()] }

// heads checks more, and of a list of declarations the constants, types and
// signatures. It notes the objects of names.
func (k *checking) heads(more []ast.Decl, list []Declared, names map[string]bool, but ...string) {
	heads := slices.Clip(more)
	for _, d := range list {
		if f, ok := d.Decl.(*ast.FuncDecl); ok {
			head := *f
			head.Body = nil
			heads = append(heads, &head)
			continue
		}
		heads = append(heads, d.Decl)
	}
	if len(heads) == 0 {
		return
	}
	k.scope(but...)
	k.pass(heads)
	for n := range names {
		if o := k.p.Package.Scope().Lookup(n); o != nil {
			k.objects[n] = o
		}
	}
}

// statements checks the statements.
func (k *checking) statements() {
	k.scope()
	k.pass([]ast.Decl{k.cell})
}

// top returns the scope of the statements once they are checked.
func (k *checking) top() *types.Scope { return k.info.Scopes[k.cell.Type] }

// variables returns the variables that the checked statements define at their
// top level, as the session's.
func (k *checking) variables() (vars []*types.Var) {
	top := k.top()
	if top == nil {
		return nil
	}
	for _, n := range top.Names() {
		if o, ok := top.Lookup(n).(*types.Var); ok {
			vars = append(vars, types.NewVar(o.Pos(), k.p.Package, n, o.Type()))
		}
	}
	slices.SortFunc(vars, func(a, b *types.Var) int { return int(a.Pos() - b.Pos()) })
	return vars
}

// bodies checks functions as bodyFunc makes them, with some of Go's own names for which the
// session has others.
func (k *checking) bodies(list []ast.Decl, predeclared ...string) {
	if len(list) > 0 {
		k.scope(predeclared...)
		k.pass(list)
	}
}

// predeclaredIn returns Go's own names that the session now declares and a declaration of an
// earlier cell still uses in Go's sense: max in a function of before max := 3.
func (k *checking) predeclaredIn(d Declared) (names []string) {
	if d.Own {
		return nil
	}
	return slices.DeleteFunc(k.shadowed(), func(n string) bool { return d.Unit.deps[n] })
}

// predeclaredInHeads returns Go's own names that the session now declares and no head of a
// declaration uses as the session's: string after string := "a", if only a func f(s string)
// of an earlier cell has it in its head.
func (k *checking) predeclaredInHeads() []string {
	return slices.DeleteFunc(k.shadowed(), func(n string) bool {
		return slices.ContainsFunc(k.all, func(d Declared) bool {
			var head ast.Node = d.Decl
			if f, ok := head.(*ast.FuncDecl); ok {
				head = &ast.FuncDecl{Recv: f.Recv, Name: f.Name, Type: f.Type}
			}
			return (d.Own || d.Unit.deps[n]) && mentionsName(head, n)
		})
	})
}

// shadowed returns the names of Go that the session declares, of those that the cell mentions.
func (k *checking) shadowed() (names []string) {
	for _, n := range types.Universe.Names() {
		if k.used[n] && (k.objects[n] != nil || k.p.Names[n] != nil) {
			names = append(names, n)
		}
	}
	return names
}
