package check

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"strings"

	"dace.local/kernel/gocell/internal/cell"
)

// The last statement of a cell shows its value where it is an expression, or
// several with commas between them. Go has no statement of several expressions:
// they become the arguments of a function that the lowering replaces.

// listName is the name of that function in the syntax: func(values ...any).
const listName = cell.Mark + "list"

var listFunc = declareList()

func declareList() *types.Func {
	pkg := types.NewPackage(MustPath, "builtin")
	pkg.MarkComplete()
	values := types.NewParam(token.NoPos, pkg, "values", types.NewSlice(types.Universe.Lookup("any").Type()))
	f := types.NewFunc(token.NoPos, pkg, listName, types.NewSignatureType(nil, nil, nil, types.NewTuple(values), nil, true))
	types.Universe.Insert(f)
	return f
}

// encloseList puts a part of the text of a cell, if it is several expressions,
// into a call of that function.
func encloseList(text string, p cell.Part) string {
	end := p.Tokens[len(p.Tokens)-1].End // without a comment
	list := text[p.Start:end]
	x, err := parser.ParseExpr("f(" + list + ")")
	if err != nil {
		return text
	}
	if c, ok := x.(*ast.CallExpr); !ok || len(c.Args) < 2 || c.Ellipsis.IsValid() || int(c.End()) != len("f("+list+")")+1 {
		return text
	}
	line, col := cell.LineCol(text, p.Start)
	return text[:p.Start] + listName + "(" + cell.LineDirective(line, col) + list + ")" + text[end:]
}

// List returns the expressions of a last statement of several; nil if it is
// something else.
func (c *Checked) List() []ast.Expr {
	x, ok := c.Source.Last.(*ast.ExprStmt)
	if !ok {
		return nil
	}
	call, ok := x.X.(*ast.CallExpr)
	if !ok {
		return nil
	}
	if id, ok := call.Fun.(*ast.Ident); !ok || c.Info.Uses[id] != listFunc {
		return nil
	}
	return call.Args
}

// last settles what the cell's last expression is.
func (c *Checked) last() {
	x, ok := c.Source.Last.(*ast.ExprStmt)
	if !ok {
		return
	}
	if list := c.List(); list != nil {
		for _, e := range list {
			c.Results = append(c.Results, resultTypes(c.Info, e)...)
		}
		return
	}
	c.Results = resultTypes(c.Info, x.X)
	c.Fails = fails(c.Info, x.X, c.Results)
}

// fails reports whether an expression with these results may end the cell with
// an error: it calls a function whose last result is an error, or receives an
// error from a channel. An error that is a value on purpose does not count, be
// it in a variable or made by errors.New, fmt.Errorf and the like.
func fails(info *types.Info, x ast.Expr, results []types.Type) bool {
	if n := len(results); n == 0 || !types.Identical(results[n-1], types.Universe.Lookup("error").Type()) {
		return false
	}
	switch x := ast.Unparen(x).(type) {
	case *ast.UnaryExpr:
		return x.Op == token.ARROW
	case *ast.CallExpr:
		return !info.Types[x.Fun].IsType() && !makesError(calledFunc(info, x.Fun))
	}
	return false
}

// calledFunc returns the declared function that is called, or nil.
func calledFunc(info *types.Info, f ast.Expr) *types.Func {
	id := calledIdent(f)
	if s, ok := ast.Unparen(f).(*ast.SelectorExpr); ok {
		id = s.Sel
	}
	if id == nil {
		return nil
	}
	o, _ := info.Uses[id].(*types.Func)
	return o
}

// makesError reports whether a function returns an error as its value, not
// because it has failed.
func makesError(f *types.Func) bool {
	if f == nil || f.Pkg() == nil {
		return false
	}
	return strings.HasSuffix(f.Pkg().Name(), "errors") || strings.HasSuffix(f.Name(), "Errorf") ||
		f.Pkg().Path() == "context" && (f.Name() == "Cause" || f.Name() == "Err")
}
