package syntax

import (
	"go/ast"
	"go/token"
	"strconv"
)

// A Builder creates nodes of generated code, all at one position.
type Builder struct{ Pos token.Pos }

// At returns a Builder for a position.
func At(pos token.Pos) Builder { return Builder{pos} }

func (m Builder) Ident(name string) *ast.Ident { return &ast.Ident{Name: name, NamePos: m.Pos} }

func (m Builder) Int(n int) ast.Expr {
	return &ast.BasicLit{ValuePos: m.Pos, Kind: token.INT, Value: strconv.Itoa(n)}
}

func (m Builder) Assign(tok token.Token, lhs []ast.Expr, rhs ...ast.Expr) ast.Stmt {
	return &ast.AssignStmt{Lhs: lhs, TokPos: m.Pos, Tok: tok, Rhs: rhs}
}

func (m Builder) Set(name string, x ast.Expr) ast.Stmt {
	return m.Assign(token.ASSIGN, []ast.Expr{m.Ident(name)}, x)
}

func (m Builder) Define(name string, x ast.Expr) ast.Stmt {
	return m.Assign(token.DEFINE, []ast.Expr{m.Ident(name)}, x)
}

func (m Builder) Variable(name string, t ast.Expr, values ...ast.Expr) ast.Stmt {
	return &ast.DeclStmt{Decl: &ast.GenDecl{TokPos: m.Pos, Tok: token.VAR, Specs: []ast.Spec{
		&ast.ValueSpec{Names: []*ast.Ident{m.Ident(name)}, Type: t, Values: values}}}}
}

func (m Builder) Block(list ...ast.Stmt) *ast.BlockStmt {
	return &ast.BlockStmt{Lbrace: m.Pos, List: list, Rbrace: m.Pos}
}

func (m Builder) Return(xs ...ast.Expr) ast.Stmt { return &ast.ReturnStmt{Return: m.Pos, Results: xs} }

func (m Builder) Compare(name string, op token.Token, n int) ast.Expr {
	return &ast.BinaryExpr{X: m.Ident(name), OpPos: m.Pos, Op: op, Y: m.Int(n)}
}

func (m Builder) If(cond ast.Expr, list ...ast.Stmt) ast.Stmt {
	return &ast.IfStmt{If: m.Pos, Cond: cond, Body: m.Block(list...)}
}

func (m Builder) FuncLit(params, results []*ast.Field, list ...ast.Stmt) *ast.FuncLit {
	t := &ast.FuncType{Func: m.Pos, Params: &ast.FieldList{Opening: m.Pos, List: params, Closing: m.Pos}}
	if len(results) > 0 {
		t.Results = &ast.FieldList{Opening: m.Pos, List: results, Closing: m.Pos}
	}
	return &ast.FuncLit{Type: t, Body: m.Block(list...)}
}

func (m Builder) Field(name string, t ast.Expr) *ast.Field {
	f := &ast.Field{Type: t}
	if name != "" {
		f.Names = []*ast.Ident{m.Ident(name)}
	}
	return f
}

func Call(f ast.Expr, pos token.Pos, args ...ast.Expr) *ast.CallExpr {
	return &ast.CallExpr{Fun: f, Lparen: pos, Args: args, Rparen: pos}
}
