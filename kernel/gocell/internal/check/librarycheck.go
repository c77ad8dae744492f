package check

import (
	"go/ast"
	"go/token"
	"go/types"
	"strings"

	"dace.local/kernel/gocell/symbols"
)

// Variables of libraries are the kernel's, too: after io.EOF = nil, or
// *base64.StdEncoding = base64.Encoding{}, later cells and plots would fail. A
// cell may assign to those that are meant to be assigned to.

// assignable are the variables of libraries that cells may assign to, besides
// those whose names begin with Default.
var assignable = map[string]bool{
	"flag.CommandLine": true, "flag.Usage": true, "go/build.ToolDir": true, "os.Args": true, "os.Stderr": true, "os.Stdin": true, "os.Stdout": true,
	"runtime.MemProfileRate": true, "time.Local": true, "gonum.org/v1/plot.UTCUnixTime": true, "gonum.org/v1/plot/plotutil.DarkColors": true,
	"gonum.org/v1/plot/plotutil.SoftColors": true, "gorgonia.org/tensor.TABCOUNT": true,
}

// libraryVars returns an error for the statements of a checked cell that assign to
// variables of libraries, or to a part of one, and nil if there are none.
func libraryVars(fset *token.FileSet, c *Checked) error {
	e := &Error{}
	refuse := func(info *types.Info, x ast.Expr, what string) {
		if v := libraryVar(info, x); v != nil {
			name := v.Pkg().Name() + "." + v.Name()
			e.List.Add(fset.Position(x.Pos()), "cannot "+what+" "+name+": the kernel depends on its value, which is the same for all cells")
		}
	}
	visit := func(info *types.Info, n ast.Node) {
		ast.Inspect(n, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.AssignStmt:
				if n.Tok != token.DEFINE {
					for _, x := range n.Lhs {
						refuse(info, x, "assign to")
					}
				}
			case *ast.IncDecStmt:
				refuse(info, n.X, "assign to")
			case *ast.RangeStmt:
				if n.Tok == token.ASSIGN {
					refuse(info, n.Key, "assign to")
					refuse(info, n.Value, "assign to")
				}
			case *ast.UnaryExpr:
				if n.Op == token.AND {
					refuse(info, n.X, "take the address of")
				}
			case *ast.CallExpr:
				if id, ok := ast.Unparen(n.Fun).(*ast.Ident); ok && len(n.Args) > 0 {
					if b, ok := info.Uses[id].(*types.Builtin); ok && (b.Name() == "delete" || b.Name() == "clear" || b.Name() == "copy") {
						refuse(info, n.Args[0], b.Name()+" what is in")
					}
				}
			}
			return true
		})
	}
	for _, d := range c.Decls {
		visit(c.Info, d.Decl)
	}
	if c.Source.Body != nil {
		visit(c.Info, c.Source.Body)
	}
	for _, n := range c.Natives {
		for _, d := range n.Decls {
			visit(n.Info, d.Decl)
		}
	}
	if len(e.List) == 0 {
		return nil
	}
	return e
}

// libraryVar returns the variable of a library that an operand is, or is a part
// of; nil for other operands, and for variables that cells may assign to.
func libraryVar(info *types.Info, x ast.Expr) *types.Var {
	for {
		var id *ast.Ident
		switch n := x.(type) {
		case *ast.ParenExpr:
			x = n.X
		case *ast.StarExpr:
			x = n.X
		case *ast.IndexExpr:
			x = n.X
		case *ast.SliceExpr:
			x = n.X
		case *ast.Ident:
			id = n
		case *ast.SelectorExpr:
			if info.Selections[n] != nil {
				x = n.X
				continue
			}
			id = n.Sel
		default:
			return nil
		}
		if id == nil {
			continue
		}
		v, ok := info.Uses[id].(*types.Var)
		if !ok || v.IsField() || v.Pkg() == nil || v.Parent() != v.Pkg().Scope() || IsNative(v.Pkg()) {
			return nil
		}
		if _, known := symbols.Name(v.Pkg().Path()); !known || assignable[v.Pkg().Path()+"."+v.Name()] || strings.HasPrefix(v.Name(), "Default") {
			return nil
		}
		return v
	}
}
