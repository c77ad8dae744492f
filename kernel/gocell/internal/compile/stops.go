package compile

import (
	"go/ast"
	"go/types"
	"reflect"

	"dace.local/kernel/gocell/internal/code"
)

// A Stop is a place before a statement where a debugger may stop.
type Stop struct {
	Flag *uint32             // while it is not 0, Stop is called
	Stop func(f *code.Frame) // with the frame of the function
}

// stopBefore puts the stop of a statement before it, if it has one.
func (f *function) stopBefore(s ast.Stmt, l code.Line) code.Line {
	if at, ok := f.c.Stops[s]; ok {
		l.Do, l.Pos = code.StopAt(at.Flag, int32(s.Pos()), at.Stop, l.Do), int32(s.Pos())
	}
	return l
}

// Local returns a variable of a function's call; it is not valid where the function has
// none. It can be set.
func (c *Compiler) Local(x *code.Frame, v *types.Var) reflect.Value {
	f, ok := x.Fn.Source.(*function)
	if !ok {
		return reflect.Value{}
	}
	if l := f.vars[v]; l != nil {
		return x.Place(l.r, l.off, l.boxed, false)
	}
	for _, e := range f.env {
		if e.v == v {
			return x.Place(e.t, e.off, e.boxed, true)
		}
	}
	value, _ := c.Value(v)
	return value
}

// Alias makes a variable another name of one that code.Var holds the address of.
func (c *Compiler) Alias(v *types.Var) *code.Var {
	g := code.NewGlobal(c.runtime(v.Type(), v.Pos()))
	c.vars[v] = g
	return g
}
