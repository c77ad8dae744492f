package gocell

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"dace.local/kernel/gocell/internal/cell"
	"dace.local/kernel/gocell/internal/check"
	"dace.local/kernel/gocell/internal/vm"
)

// errorVars says, for each variable of type error that cells have set at their
// top level, where that was last. A panic is often due to such an error that
// nobody has looked at.
type errorVars map[string]errorVar

// An errorVar is where a variable of type error was set.
type errorVar struct {
	at   token.Position
	cell int
	with []string // variables that the same statement has set
}

// note adds what a checked cell sets. It reads the cell's syntax as it was
// typed.
func (vars errorVars) note(files *token.FileSet, c *check.Checked) {
	isVar := func(x ast.Expr) (name string, isError, ok bool) {
		id, isIdent := x.(*ast.Ident)
		if !isIdent {
			return "", false, false
		}
		o := c.Info.ObjectOf(id)
		if o == nil || c.Next.Names[id.Name] == nil || !slices.ContainsFunc(c.Vars, func(v *types.Var) bool { return v.Pos() == o.Pos() }) && o != c.Next.Names[id.Name].Object {
			return "", false, false
		}
		return id.Name, types.Identical(o.Type(), types.Universe.Lookup("error").Type()), true
	}
	set := func(at token.Pos, targets []ast.Expr) {
		var names, errs []string
		for _, x := range targets {
			if name, isError, ok := isVar(x); ok && isError {
				errs = append(errs, name)
			} else if ok {
				names = append(names, name)
			}
		}
		for _, e := range errs {
			vars[e] = errorVar{files.Position(at), c.Source.Number, names}
		}
	}
	ast.Inspect(c.Source.Body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			return false
		case *ast.AssignStmt:
			set(n.Pos(), n.Lhs)
		case *ast.ValueSpec:
			var names []ast.Expr
			for _, id := range n.Names {
				names = append(names, id)
			}
			set(n.Pos(), names)
		}
		return true
	})
}

// of returns the variables that a cell sets, or that an earlier cell has set
// together with a variable that the cell uses, by name.
func (vars errorVars) of(c *check.Checked) (names []string) {
	if len(vars) == 0 {
		return nil
	}
	used := map[string]bool{}
	for _, n := range c.Nodes() {
		ast.Inspect(n, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok {
				used[id.Name] = true
			}
			return true
		})
	}
	for name, v := range vars {
		if v.cell == c.Source.Number || slices.ContainsFunc(v.with, func(w string) bool { return used[w] }) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// mostUnseen is how many variables are named below a panic.
const mostUnseen = 10

// unseen returns lines for the traceback of a cell's panic about variables
// of type error that are not nil: those of the functions that it has left, and of
// the session's, whose values global returns, those with the given names. What the panic says itself is not
// said again.
func (vars errorVars) unseen(list []vm.ErrorVar, global func(name string) error, names []string, panicked string) (lines []string) {
	for _, name := range names {
		if err := global(name); err != nil {
			list = append(list, vm.ErrorVar{Name: name, At: vars[name].at, Err: err})
		}
	}
	for _, v := range list {
		text := fmt.Sprint(v.Err) // which survives a nil pointer with methods
		if len(lines) == mostUnseen {
			break
		}
		if text != panicked {
			text = strings.ReplaceAll(text, "\n", "\n\t")
			lines = append(lines, fmt.Sprintf("%s%s, set at %s:%d, is not nil:%s %s", bold, v.Name, cell.Name(v.At.Filename), v.At.Line, plain, text))
		}
	}
	return lines
}
