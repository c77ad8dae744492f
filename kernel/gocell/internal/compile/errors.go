package compile

import (
	"go/ast"
	"go/token"
	"go/types"
	"reflect"
	"slices"
	"weak"

	"dace.local/kernel/gocell/internal/code"
)

// An ErrorVar is a variable of type error, not nil, of a function that a panic has
// left.
type ErrorVar struct {
	Name string
	Set  token.Pos // its last assignment before the panic
	Err  error
}

// ErrorVars returns the variables of type error that are not nil, of those that a
// function sets and that are in scope where a panic has left it.
func ErrorVars(s code.Step) (list []ErrorVar) {
	if s.Frame == nil {
		return nil
	}
	f, ok := s.Fn.Source.(*function)
	if !ok || f.node == nil {
		return nil
	}
	f.c.mu.Lock() // of info, see detach
	defer f.c.mu.Unlock()
	at := token.Pos(s.Pos)
	for _, v := range f.errorVars(at) {
		x := f.vars[v.v]
		if x == nil || x.r != errorType {
			continue
		}
		if err := code.Read[error](s.Frame, x.off, x.boxed); err != nil {
			list = append(list, ErrorVar{v.v.Name(), v.set, err})
		}
	}
	return list
}

// Value returns a package-level variable.
func (c *Compiler) Value(v *types.Var) (reflect.Value, bool) {
	x := c.value(v, c.known(v))
	return x, x.IsValid()
}

func (c *Compiler) value(v *types.Var, g *code.Var) reflect.Value {
	if g == nil {
		return reflect.Value{}
	}
	return reflect.NewAt(c.runtime(v.Type(), v.Pos()), g.P).Elem()
}

// Drop gives up a package-level variable. A closure that uses it keeps it.
func (c *Compiler) Drop(v *types.Var) { delete(c.vars, weak.Make(v)) }

// Origin returns the declaration of a function that is no method, with its name, or the
// function literal that it is.
func Origin(fn *code.Func) (name string, at token.Pos, ok bool) {
	f, ok := fn.Source.(*function)
	if !ok {
		return "", at, false
	}
	switch n := f.node.(type) {
	case *ast.FuncDecl:
		return n.Name.Name, n.Pos(), n.Recv == nil && f.forwards == nil
	case *ast.FuncLit:
		return "", n.Pos(), f.forwards == nil
	}
	return "", at, false
}

// Declared returns where a function of cells is declared, or the function literal that it
// is; ok is false for a method as a value.
func Declared(fn *code.Func) (at token.Pos, literal, ok bool) {
	f, ok := fn.Source.(*function)
	if !ok || f.forwards != nil {
		return at, false, false
	}
	_, literal = f.node.(*ast.FuncLit)
	return f.node.Pos(), literal, true
}

// Start returns where the function of a step begins; nowhere for a cell's statements.
func Start(s code.Step) token.Pos {
	if f, ok := s.Fn.Source.(*function); ok {
		switch n := f.node.(type) {
		case *ast.FuncDecl, *ast.FuncLit:
			return n.Pos()
		}
	}
	return token.NoPos
}

var errorType = reflect.TypeFor[error]()

type setVar struct {
	v   *types.Var
	set token.Pos
}

// errorVars returns the local variables of type error that the function sets and that
// are in scope at a position.
func (f *function) errorVars(at token.Pos) (list []setVar) {
	set := func(x ast.Expr) {
		id, ok := x.(*ast.Ident)
		if !ok {
			return
		}
		v, ok := f.info.ObjectOf(id).(*types.Var)
		if !ok || v.Parent() == nil || !v.Parent().Contains(at) || !types.Identical(v.Type(), types.Universe.Lookup("error").Type()) {
			return
		}
		i := slices.IndexFunc(list, func(s setVar) bool { return s.v == v })
		if i < 0 {
			list = append(list, setVar{v, id.Pos()})
		} else if id.Pos() <= at {
			list[i].set = id.Pos()
		}
	}
	ast.Inspect(f.node, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			return n == f.node
		case *ast.AssignStmt:
			for _, l := range n.Lhs {
				set(l)
			}
		case *ast.ValueSpec:
			for _, id := range n.Names {
				set(id)
			}
		}
		return true
	})
	return list
}
