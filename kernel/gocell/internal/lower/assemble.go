package lower

import (
	"go/ast"
	"go/token"
	"maps"
	"slices"
	"strconv"

	"dace.local/kernel/gocell/internal/cell"
	"dace.local/kernel/gocell/internal/check"
	"dace.local/kernel/gocell/internal/syntax"
)

// assemble completes the file that the interpreter compiles: imports, lowered
// declarations with the instances that they use, and the function main of the
// statements.
func (l *lowerer) assemble(file *ast.File, globals []ast.Decl, stmts []ast.Stmt, body *ast.BlockStmt) error {
	c, pos := l.c, file.Package
	c.Decls = append(c.Decls, l.instantiate()...)
	for i := len(c.Natives) - 1; i >= 0; i-- {
		ipath := check.PathOf(c.Natives[i].Package)
		l.pkgs[ipath] = true
		stmts = append([]ast.Stmt{&ast.ExprStmt{X: syntax.Call(l.kernel("StartNative", pos), pos, &ast.BasicLit{ValuePos: pos, Kind: token.STRING, Value: strconv.Quote(ipath)})}}, stmts...)
	}
	stmts = append([]ast.Stmt{&ast.ExprStmt{X: syntax.Call(l.kernel("Started", pos), pos)}}, stmts...)
	for _, n := range slices.Sorted(maps.Keys(c.Moved)) { // before compiled code sees it
		stmts = append([]ast.Stmt{&ast.ExprStmt{X: syntax.Call(l.kernel("Move", pos), pos, &ast.BasicLit{ValuePos: pos, Kind: token.STRING, Value: strconv.Quote(n)})}}, stmts...)
	}
	stmts = append(l.bindMethods(pos), stmts...)
	if err := l.env.FinishTypes(); err != nil {
		return err
	}
	if len(l.errs.List) > 0 {
		return l.errs
	}
	imports := &ast.GenDecl{TokPos: file.Package, Tok: token.IMPORT}
	for _, p := range slices.Sorted(maps.Keys(l.pkgs)) {
		if err := l.env.Load(p); err != nil {
			return err
		}
		if l.state.imported[p] {
			continue
		}
		l.state.imported[p] = true
		imports.Specs = append(imports.Specs, &ast.ImportSpec{
			Name: &ast.Ident{Name: cell.Alias(p), NamePos: file.Package},
			Path: &ast.BasicLit{ValuePos: file.Package, Kind: token.STRING, Value: strconv.Quote(p)}})
	}
	if len(imports.Specs) > 0 {
		file.Decls = append(file.Decls, imports)
	}
	for _, d := range c.Decls {
		if _, ok := d.Decl.(*ast.GenDecl); ok {
			file.Decls = append(file.Decls, d.Decl)
		}
	}
	file.Decls = append(file.Decls, globals...)
	for _, d := range c.Decls {
		if _, ok := d.Decl.(*ast.FuncDecl); ok {
			file.Decls = append(file.Decls, d.Decl)
		}
	}
	file.Decls = append(file.Decls, &ast.FuncDecl{
		Name: &ast.Ident{Name: "main", NamePos: file.Package},
		Type: &ast.FuncType{Func: file.Package, Params: &ast.FieldList{Opening: file.Package, Closing: file.Package}},
		Body: &ast.BlockStmt{Lbrace: body.Lbrace, List: stmts, Rbrace: body.Rbrace}})
	return nil
}

// hasFields reports whether a type expression contains a struct type with
// fields.
func hasFields(t ast.Expr) bool {
	found := false
	ast.Inspect(t, func(n ast.Node) bool {
		if s, ok := n.(*ast.StructType); ok {
			found = found || s.Fields.NumFields() > 0
		}
		return !found
	})
	return found
}
