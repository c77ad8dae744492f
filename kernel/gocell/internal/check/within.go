package check

import (
	"go/types"
	"math"
)

// OfFunction is the number of the cell of a variable that is a function's, see
// [Program.Within].
const OfFunction = math.MinInt

// Within returns the program as code in a function sees it: beside the session's
// names it has the function's variables, the outermost first. made are these as the
// program's own.
func (p *Program) Within(vars []*types.Var) (within *Program, made []*types.Var) {
	within = p.clone()
	for _, v := range vars {
		w := types.NewVar(v.Pos(), p.Package, v.Name(), v.Type())
		within.Names[v.Name()] = &entity{name: v.Name(), Object: w, Cell: OfFunction}
		delete(within.broken, v.Name())
		made = append(made, w)
	}
	return within, made
}

// Outside returns the program that a cell has made of one of [Program.Within],
// with the session's own names in place of the function's.
func (c *Checked) Outside(session *Program, vars []*types.Var) *Program {
	next := c.Next.clone()
	for _, v := range vars {
		if e := next.Names[v.Name()]; e == nil || e.Cell != OfFunction {
			continue // the cell's own
		}
		delete(next.Names, v.Name())
		if e := session.Names[v.Name()]; e != nil {
			next.Names[v.Name()] = e
		}
	}
	return next
}

// Uses reports whether a cell uses a variable.
func (c *Checked) Uses(v *types.Var) bool {
	for _, o := range c.Info.Uses {
		if o == v {
			return true
		}
	}
	return false
}
