package lower

import (
	"go/ast"
	"go/token"
	"go/types"
	"maps"
	"slices"
	"strconv"

	"dace.local/kernel/gocell/internal/cell"
	"dace.local/kernel/gocell/internal/check"
	"dace.local/kernel/gocell/internal/syntax"
)

// A Lowered is a cell as the interpreter compiles it.
type Lowered struct {
	File *ast.File
	// Fresh are the variables of the session that are allocated anew. The one
	// that a variable replaces is called cell.Mark+"old"+name from now on.
	Fresh []*types.Var
}

// Cell lowers a checked cell, which it changes. before is the session
// before the cell; runMain says that the cell is a program, whose main is called
// last; at is the position of nodes that have none in the cell.
func Cell(env Env, state *State, fset *token.FileSet, c *check.Checked, before *check.Program, runMain bool, at token.Pos) (*Lowered, error) {
	return Within(env, state, fset, c, before, nil, runMain, at)
}

// Within lowers a cell that uses the variables of a function as if it stood in it.
// They are variables of before, and locals holds the names of the global variables
// that stand for them, which the cell declares.
func Within(env Env, state *State, fset *token.FileSet, c *check.Checked, before *check.Program, locals map[*types.Var]string, runMain bool, at token.Pos) (*Lowered, error) {
	l := newLowerer(env, state, fset, c)
	l.noteLocals(nil, c.Nodes()...)
	fresh := l.freshVars(before)
	for v, made := range locals {
		l.renamed[v] = made
	}
	mainPos := l.renameMain()
	// The predeclared ctx is the context of the running cell.
	if e := before.Names["ctx"]; e != nil && e.Cell == 0 {
		l.ctx = e.Object
	}
	c.Source.Body.List = slices.Insert(c.Source.Body.List, check.AfterVars(c.Source.Body.List), check.InitFuncs(c.Decls)...)
	l.declarations()
	body := l.lower(c.Source.Body).(*ast.BlockStmt)
	stmts := l.topStatements(body)
	if runMain && slices.ContainsFunc(c.Decls, func(d check.Declared) bool {
		return d.Own && d.Unit.Method == "" && slices.Contains(d.Unit.Names, "main")
	}) {
		stmts = append(stmts, &ast.ExprStmt{X: syntax.Call(&ast.Ident{Name: cell.Mark + "main", NamePos: mainPos}, mainPos)})
	}
	var globals []ast.Decl
	for _, v := range fresh {
		globals = append(globals, l.global(v))
	}
	for v, made := range locals {
		globals = append(globals, l.global(types.NewVar(v.Pos(), v.Pkg(), made, v.Type())))
	}
	file := &ast.File{Name: ast.NewIdent("main"), Package: at}
	if err := l.assemble(file, globals, stmts, body); err != nil {
		return nil, err
	}
	return &Lowered{file, fresh}, nil
}

// freshVars returns the variables of the session that the cell declares anew,
// and notes by which name the cell reads those that they replace: the right side
// of x := strconv.Itoa(x) still means the old one.
func (l *lowerer) freshVars(before *check.Program) (fresh []*types.Var) {
	c := l.c
	for _, v := range c.Vars {
		if old := before.Names[v.Name()]; old != nil {
			o, isVar := old.Object.(*types.Var)
			if isVar && old.Cell != 0 && old.Cell != check.OfFunction && types.Identical(o.Type(), v.Type()) && !c.Redeclared[v.Name()] && !check.OfNative(o) {
				continue // the same variable: it keeps its place
			}
			if !check.OfNative(old.Object) {
				l.renamed[old.Object] = cell.Mark + "old" + v.Name()
			}
		}
		fresh = append(fresh, v)
	}
	for _, n := range slices.Sorted(maps.Keys(c.Moved)) {
		fresh = append(fresh, c.Moved[n])
	}
	return fresh
}

// renameMain renames the cell's function main, and its uses, since main is the
// function of the cell's statements. It returns the function's position.
func (l *lowerer) renameMain() (pos token.Pos) {
	for _, d := range l.c.Decls {
		if f, ok := d.Decl.(*ast.FuncDecl); ok && f.Recv == nil && f.Name.Name == "main" {
			f.Name = &ast.Ident{Name: cell.Mark + "main", NamePos: f.Name.Pos()}
			pos = f.Name.Pos()
		}
	}
	if e := l.c.Next.Names["main"]; e != nil {
		l.renamed[e.Object] = cell.Mark + "main"
	}
	return pos
}

// global returns the declaration of a variable of the session.
func (l *lowerer) global(v *types.Var) ast.Decl {
	t := l.globalType(v.Type(), v.Pos())
	if hasFields(t) {
		// The interpreter takes field names in the type of a variable for
		// variables.
		name := &ast.Ident{Name: cell.Mark + "type" + strconv.Itoa(cell.NextNumber()), NamePos: v.Pos()}
		l.c.Decls = append(l.c.Decls, check.Declared{Unit: &check.Unit{}, Decl: &ast.GenDecl{TokPos: v.Pos(), Tok: token.TYPE, Specs: []ast.Spec{
			&ast.TypeSpec{Name: name, Assign: v.Pos(), Type: t}}}})
		t = &ast.Ident{Name: name.Name, NamePos: v.Pos()}
	}
	return &ast.GenDecl{TokPos: v.Pos(), Tok: token.VAR, Specs: []ast.Spec{
		&ast.ValueSpec{Names: []*ast.Ident{{Name: cell.Mangle(v.Name()), NamePos: v.Pos()}}, Type: t}}}
}

func newLowerer(env Env, state *State, fset *token.FileSet, c *check.Checked) *lowerer {
	return &lowerer{order: state.order, env: env, state: state, fset: fset, c: c, pkgs: map[string]bool{}, renamed: map[types.Object]string{}, errs: &check.Error{},
		receivers: map[ast.Expr]bool{}, operands: map[*ast.TypeAssertExpr]ast.Expr{},
		switched: map[*ast.TypeSwitchStmt]types.Type{}, cases: map[*ast.CaseClause][]types.Type{}, conversions: map[*ast.CallExpr][2]types.Type{},
		enclosed: map[*ast.BlockStmt]bool{}, expanded: map[ast.Expr]*ast.CallExpr{}, hooks: map[*ast.FuncDecl]string{}, onDisk: map[ast.Node]bool{}}
}
