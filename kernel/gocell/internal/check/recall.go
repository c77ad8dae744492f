package check

import (
	"go/ast"
	"go/token"
	"go/types"
	"strconv"
	"strings"

	"golang.org/x/tools/go/ast/astutil"

	"dace.local/kernel/gocell/internal/cell"
)

// A cell's statements read results of earlier cells by IPython's names: _ is the last,
// __ and ___ the two before, Out[3] or _3 that of cell 3, In[3] the text of cell 3. Go
// allows none of them as a value where nothing of the name is declared; each becomes a
// variable of the session, which is declared with the first cell that reads it.

// Recalled returns the variables that results of earlier cells are, nil where there is
// none. A new one gets a position, where it is read.
type Recalled interface {
	// Last returns the result that n more have followed.
	Last(n int, at token.Pos) *types.Var
	// Out returns the result of a cell, In the texts of all, and Outs all results by
	// their cells.
	Out(number int, at token.Pos) *types.Var
	In(at token.Pos) *types.Var
	Outs(at token.Pos) *types.Var
}

// Recall replaces what the statements of a cell read of earlier results by variables,
// which the cell has then. isName reports whether the session has declared a name.
func (src *Source) Recall(isName func(string) bool, r Recalled) {
	if !mayRecall(src.text) {
		return
	}
	own := namesIn(src)
	free := func(name string) bool { return !own[name] && !isName(name) }
	use := func(id *ast.Ident, v *types.Var) ast.Expr {
		if v == nil {
			return nil
		}
		src.Recalled = append(src.Recalled, v)
		return &ast.Ident{Name: v.Name(), NamePos: id.Pos()}
	}
	replace := func(n ast.Node) ast.Expr {
		if x, ok := n.(*ast.IndexExpr); ok {
			if id, ok := x.X.(*ast.Ident); ok && id.Name == "Out" && free("Out") {
				if lit, ok := x.Index.(*ast.BasicLit); ok && lit.Kind == token.INT {
					if number, err := strconv.Atoi(lit.Value); err == nil {
						return use(id, r.Out(number, id.Pos()))
					}
				}
			}
			return nil
		}
		id, ok := n.(*ast.Ident)
		if !ok || !free(id.Name) {
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
		if x := replace(c.Node()); x != nil {
			c.Replace(x)
			return false
		}
		return true
	}, nil)
}

// mayRecall reports whether a text may read a result of an earlier cell.
func mayRecall(text string) bool {
	tokens, _, _ := cell.Tokens(text)
	for _, t := range tokens {
		if t.Kind == token.IDENT && (t.Text[0] == '_' || t.Text == "Out" || t.Text == "In") {
			return true
		}
	}
	return false
}

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
