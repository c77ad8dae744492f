package compile

import (
	"go/ast"
	"go/token"
	"go/types"
	"maps"
	"reflect"
	"slices"
	"weak"

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
	if take := f.c.sample; take != nil {
		l.Do, l.Pos = code.Sampled(f.c.Machine.Clock, int32(s.Pos()), take, l.Do), 0
	}
	return l
}

// SampleBy has code that is compiled from now on call take in its statements (see code.Sampled), and the functions of cells
// compiled again.
func (c *Compiler) SampleBy(take func(f *code.Frame)) (err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	defer c.refused(&err)
	c.sample, c.callees = take, map[token.Pos]string{}
	c.again()
	return nil
}

// Callee returns the name of the function that is called at a position of a statement
// that has been compiled for a profile.
func (c *Compiler) Callee(pos token.Pos) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.callees[pos]
}

// InScope returns the variables of a function's call that are in scope at a position of
// it, in their order; of those of one name the innermost.
func (c *Compiler) InScope(x *code.Frame, at token.Pos) []*types.Var {
	f, ok := x.Fn.Source.(*function)
	if !ok {
		return nil
	}
	found := map[string]*types.Var{}
	note := func(v *types.Var) {
		if v.Parent() == nil || !v.Parent().Contains(at) || v.Name() == "_" {
			return
		}
		if _, o := v.Parent().LookupParent(v.Name(), at); o != v {
			return // it is declared below
		}
		if other := found[v.Name()]; other == nil || other.Pos() < v.Pos() {
			found[v.Name()] = v
		}
	}
	for v := range f.vars {
		note(v)
	}
	for _, e := range f.env {
		note(e.v)
	}
	return slices.SortedFunc(maps.Values(found), func(a, b *types.Var) int { return int(a.Pos() - b.Pos()) })
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
	if g := f.session[v]; g != nil {
		return c.value(v, g)
	}
	return c.value(v, c.known(v))
}

// Alias makes a variable another name of one that code.Var holds the address of.
func (c *Compiler) Alias(v *types.Var) *code.Var {
	g := code.NewGlobal(c.runtime(v.Type(), v.Pos()))
	c.vars[weak.Make(v)] = g
	return g
}
