package check

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"go/types"
	"math"
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

// shownConstant replaces what the checker says of a last expression, that it is not used,
// where this is a constant for which its type has no value, such as 1 << 63, as Go does
// where it is an argument. What it says of several expressions names no function.
func (u *update) shownConstant(k *checking) {
	x, ok := u.src.Last.(*ast.ExprStmt)
	if !ok {
		return
	}
	for i, e := range k.errs {
		if e.Pos < x.Pos() || x.End() <= e.Pos {
			continue
		}
		k.errs[i].Msg = strings.Replace(e.Msg, " in argument to "+listName, "", 1)
		tv := k.info.Types[x.X]
		if kind, _ := kindOfError(e.Msg); kind != unusedValue || tv.Value == nil || fits(tv) {
			continue
		}
		text, value := types.ExprString(x.X), tv.Value.String()
		msg := fmt.Sprintf("cannot use %s (%s constant %s) as %s value (overflows)", text, tv.Type, value, types.Default(tv.Type))
		if text == value {
			msg = strings.Replace(msg, " constant "+value, " constant", 1)
		}
		if _, ok := constant.Uint64Val(constant.ToInt(tv.Value)); ok {
			msg += fmt.Sprintf("\n\tuint64(%s) has that value", text)
		}
		k.errs[i].Msg = msg
	}
}

// fits reports whether a constant, if it is without a type, is a value of its default type.
func fits(tv types.TypeAndValue) bool {
	finite := func(v constant.Value) bool {
		f, _ := constant.Float64Val(v)
		return !math.IsInf(f, 0)
	}
	basic, ok := tv.Type.(*types.Basic)
	if !ok || basic.Info()&types.IsUntyped == 0 {
		return true // its type has been checked
	}
	switch types.Default(basic).(*types.Basic).Kind() {
	case types.Int:
		_, exact := constant.Int64Val(tv.Value)
		return exact
	case types.Rune:
		n, exact := constant.Int64Val(tv.Value)
		return exact && n == int64(int32(n))
	case types.Float64:
		return finite(tv.Value)
	case types.Complex128:
		return finite(constant.Real(tv.Value)) && finite(constant.Imag(tv.Value))
	}
	return true
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
