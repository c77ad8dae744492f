package check

import (
	"go/ast"
	"go/token"
	"go/types"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/tools/go/ast/astutil"
)

// A cell's statements read results of earlier cells by IPython's names: _ is the last,
// __ and ___ the two before, Out[3] or _3 that of cell 3, In[3] the text of cell 3. Go
// allows none of them as a value where nothing of the name is declared; each becomes a
// variable of the session, which is declared with the first cell that reads it. Where
// there is no result of cell 3, and for Out[n], a function is called that says so.

// Recalled returns the variables that results of earlier cells are, nil where there is
// none. A new one gets a position, where it is read.
type Recalled interface {
	// Last returns the result that n more have followed.
	Last(n int, at token.Pos) *types.Var
	// Out returns the result of a cell, In the texts of all, Outs all results by their
	// cells, and OutOf the function that returns one of them.
	Out(number int, at token.Pos) *types.Var
	In(at token.Pos) *types.Var
	Outs(at token.Pos) *types.Var
	OutOf(at token.Pos) *types.Var
}

// Recall replaces what the statements of a cell read of earlier results by variables,
// which the cell has then. isName reports whether the session has declared a name.
func (src *Source) Recall(isName func(string) bool, r Recalled) {
	if !src.recalls {
		return
	}
	own := sync.OnceValue(func() map[string]bool { return namesIn(src) })
	free := func(name string) bool { return !own()[name] && !isName(name) }
	use := func(id *ast.Ident, v *types.Var) ast.Expr {
		if v == nil {
			return nil
		}
		src.Recalled = append(src.Recalled, v)
		return &ast.Ident{Name: v.Name(), NamePos: id.Pos()}
	}
	replace := func(c *astutil.Cursor) ast.Expr {
		n := c.Node()
		if x, ok := n.(*ast.IndexExpr); ok {
			id, ok := x.X.(*ast.Ident)
			if !ok || id.Name != "Out" || !free("Out") || isPair(c) {
				return nil
			}
			if lit, ok := x.Index.(*ast.BasicLit); ok && lit.Kind == token.INT {
				if number, err := strconv.Atoi(lit.Value); err == nil {
					if v := use(id, r.Out(number, id.Pos())); v != nil {
						return v
					}
				}
			}
			if f := use(id, r.OutOf(id.Pos())); f != nil {
				return &ast.CallExpr{Fun: f, Lparen: x.Lbrack, Args: []ast.Expr{x.Index}, Rparen: x.Rbrack}
			}
			return nil
		}
		id, ok := n.(*ast.Ident)
		if !ok || !isRecall(id.Name) || !free(id.Name) {
			return nil
		}
		switch id.Name {
		case "_", "__", "___":
			return use(id, r.Last(len(id.Name)-1, id.Pos()))
		case "Out":
			return use(id, r.Outs(id.Pos()))
		case "In":
			return use(id, r.In(id.Pos()))
		}
		if number, err := strconv.Atoi(id.Name[1:]); err == nil && id.Name[0] == '_' {
			return use(id, r.Out(number, id.Pos()))
		}
		return nil
	}
	astutil.Apply(src.Body, func(c *astutil.Cursor) bool {
		if !isRead(c) {
			return true
		}
		if x := replace(c); x != nil {
			c.Replace(x)
			_, more := x.(*ast.CallExpr) // its argument
			return more
		}
		return true
	}, nil)
}

// isPair reports whether a node is the only value of two variables: v, ok := Out[3].
func isPair(c *astutil.Cursor) bool {
	switch p := c.Parent().(type) {
	case *ast.AssignStmt:
		return len(p.Lhs) == 2 && len(p.Rhs) == 1
	case *ast.ValueSpec:
		return len(p.Names) == 2 && len(p.Values) == 1
	}
	return false
}

// isRecall reports whether a name may stand for a result of an earlier cell.
func isRecall(name string) bool { return name[0] == '_' || name == "Out" || name == "In" }

// isRead reports whether a node is an expression that is read, not a name that is
// declared or set.
func isRead(c *astutil.Cursor) bool {
	switch p := c.Parent().(type) {
	case *ast.AssignStmt:
		return c.Name() == "Rhs"
	case *ast.RangeStmt:
		return c.Name() == "X"
	case *ast.KeyValueExpr:
		id, isName := p.Key.(*ast.Ident)
		return c.Name() == "Value" || !isName || strings.Trim(id.Name, "_") == "" // else it may be a field
	case *ast.ValueSpec:
		return c.Name() != "Names"
	case *ast.Field:
		return c.Name() == "Type"
	case *ast.SelectorExpr:
		return c.Name() == "X"
	case *ast.LabeledStmt, *ast.BranchStmt, *ast.TypeSpec, *ast.FuncDecl, *ast.ImportSpec, *ast.File:
		return false
	}
	return true
}

// namesIn returns the names that a cell declares or defines anywhere.
func namesIn(src *Source) map[string]bool {
	names := map[string]bool{}
	note := func(list ...*ast.Ident) {
		for _, id := range list {
			if id.Name != "_" {
				names[id.Name] = true
			}
		}
	}
	visit := func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			if n.Tok == token.DEFINE {
				for _, x := range n.Lhs {
					if id, ok := x.(*ast.Ident); ok {
						note(id)
					}
				}
			}
		case *ast.RangeStmt:
			for _, x := range []ast.Expr{n.Key, n.Value} {
				if id, ok := x.(*ast.Ident); ok && n.Tok == token.DEFINE {
					note(id)
				}
			}
		case *ast.ValueSpec:
			note(n.Names...)
		case *ast.Field:
			note(n.Names...)
		case *ast.TypeSpec:
			note(n.Name)
		case *ast.FuncDecl:
			note(n.Name)
		}
		return true
	}
	ast.Inspect(src.Body, visit)
	for _, d := range src.File.Decls {
		ast.Inspect(d, visit)
	}
	return names
}
