package compiled

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"strconv"

	"dace.local/kernel/gocell/internal/cell"
)

// What a session compiles by itself may wait for a channel, or start goroutines, as long as
// an interrupt ends the waiting: operations on channels become calls that wait for the end
// of the cell, too.

// waitText declares these; %[1]s is cell.Mark. Most operations need not wait.
const waitText = `var %[1]sdone func() <-chan struct{}
func %[1]ssend[T any](c chan<- T, v T) {
	select {
	case c <- v:
		return
	default:
	}
	select {
	case c <- v:
	case <-%[1]sdone():
		%[1]shalt()
	}
}
func %[1]sreceive[T any](c <-chan T) T {
	v, _ := %[1]sreceiveOk(c)
	return v
}
func %[1]sreceiveOk[T any](c <-chan T) (v T, ok bool) {
	select {
	case v, ok = <-c:
		return v, ok
	default:
	}
	select {
	case v, ok = <-c:
	case <-%[1]sdone():
		%[1]shalt()
	}
	return v, ok
}
`

// declareWaits writes what waiting operations call.
func (g *generator) declareWaits(body, table *bytes.Buffer) {
	if !g.waits {
		return
	}
	fmt.Fprintf(body, waitText, cell.Mark)
	fmt.Fprintf(table, "\t%q: &%[1]s,\n", cell.Mark+"done")
}

// waiting adds the edits of the operations on channels in a declaration.
func (g *generator) waiting(d ast.Node) {
	if !g.n.Layout {
		return
	}
	elem := func(x ast.Expr) string {
		return g.typeText(g.n.Info.TypeOf(x).Underlying().(*types.Chan).Elem())
	}
	text := func(s string) func() string { return func() string { return s } }
	own := map[ast.Node]bool{}   // operations of select statements
	pairs := map[ast.Expr]bool{} // receives with two results
	waits := func() { g.waits, g.loops = true, true }
	pair := func(values []ast.Expr, n int) {
		if n == 2 && len(values) == 1 {
			pairs[ast.Unparen(values[0])] = true
		}
	}
	ast.Inspect(d, func(n ast.Node) bool {
		switch x := n.(type) {
		case *ast.AssignStmt:
			pair(x.Rhs, len(x.Lhs))
		case *ast.ValueSpec:
			pair(x.Values, len(x.Names))
		case *ast.SelectStmt:
			blocks := true
			for _, c := range x.Body.List {
				switch comm := c.(*ast.CommClause).Comm.(type) {
				case nil:
					blocks = false
				case *ast.SendStmt:
					own[comm] = true
				case *ast.ExprStmt:
					own[ast.Unparen(comm.X)] = true
				case *ast.AssignStmt:
					own[ast.Unparen(comm.Rhs[0])] = true
				}
			}
			if blocks {
				waits()
				g.edits = append(g.edits, edit{x.Body.Rbrace, x.Body.Rbrace, text(fmt.Sprintf("; case <-%[1]sdone(): %[1]shalt(); panic(0); ", cell.Mark))})
			}
		case *ast.SendStmt:
			if own[x] {
				break
			}
			waits()
			before := cell.Mark + "send[" + elem(x.Chan) + "]("
			g.edits = append(g.edits, edit{x.Pos(), x.Pos(), text(before)}, edit{x.Arrow, x.Arrow + token.Pos(len("<-")), text(", ")})
			g.closes = append(g.closes, edit{x.End(), x.End(), text(")")})
		case *ast.UnaryExpr:
			if x.Op != token.ARROW || own[x] {
				break
			}
			waits()
			name := "receive"
			if pairs[x] {
				name = "receiveOk"
			}
			g.edits = append(g.edits, edit{x.OpPos, x.OpPos + token.Pos(len("<-")), text(cell.Mark + name + "[" + elem(x.X) + "](")})
			g.closes = append(g.closes, edit{x.End(), x.End(), text(")")})
		case *ast.RangeStmt:
			if _, ok := g.n.Info.TypeOf(x.X).Underlying().(*types.Chan); ok {
				waits()
				g.rangeOver(x, elem(x.X))
			}
		}
		return true
	})
}

// rangeOver adds the edit of a loop over a channel:
//
//	for v := range c {  ->  for ˑc0 := c; ; { ˑv0, ˑok0 := ˑreceiveOk[T](ˑc0); if !ˑok0 { break }; v := ˑv0;
func (g *generator) rangeOver(x *ast.RangeStmt, elem string) {
	g.temp++
	n := strconv.Itoa(g.temp)
	c, v, ok := cell.Mark+"c"+n, cell.Mark+"v"+n, cell.Mark+"ok"+n
	g.edits = append(g.edits, edit{x.For, x.Body.Lbrace + 1, func() string {
		set := "_ = " + v
		if id, blank := x.Key.(*ast.Ident); x.Key != nil && !(blank && id.Name == "_") {
			set = g.render(x.Key.Pos(), x.Key.End()) + " " + x.Tok.String() + " " + v
		}
		return fmt.Sprintf("for %s := %s; ; { %s, %s := %sreceiveOk[%s](%[1]s); if !%[4]s { break }; %[7]s; ", c, g.render(x.X.Pos(), x.X.End()), v, ok, cell.Mark, elem, set)
	}})
}
