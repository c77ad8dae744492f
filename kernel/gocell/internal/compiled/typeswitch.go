package compiled

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/types"
	"strconv"
	"strings"

	"dace.local/kernel/gocell/internal/cell"
)

// The compiler finds the case of a type switch by a hash of the type, which it makes of the
// copy's name. So that it finds types that are bound to others (bind.go), a type switch
// becomes a switch over a number, which a function finds by type assertions:
//
//	switch y := x.(type) { case T: f(y) }
//	switch ˑkind0(&ˑof0, x) { case 0: y := ˑof0.(T); _ = y; f(y) }

// typeSwitch adds the edits of a type switch.
func (g *generator) typeSwitch(s *ast.TypeSwitchStmt, body *ast.BlockStmt) {
	if len(g.n.Copies) == 0 {
		return
	}
	var x ast.Expr
	var y *ast.Ident
	switch a := s.Assign.(type) {
	case *ast.ExprStmt:
		x = a.X.(*ast.TypeAssertExpr).X
	case *ast.AssignStmt:
		x, y = a.Rhs[0].(*ast.TypeAssertExpr).X, a.Lhs[0].(*ast.Ident)
	}
	of := g.n.Info.TypeOf(x)
	var list []types.Type // the types of the cases, nil for nil
	copies := false
	for _, c := range s.Body.List {
		for _, e := range c.(*ast.CaseClause).List {
			if tv := g.n.Info.Types[e]; tv.IsNil() {
				list = append(list, nil)
			} else {
				list = append(list, tv.Type)
				if open(tv.Type, map[types.Type]bool{}) {
					return // found by descriptors
				}
				copies = copies || g.n.Mentions(tv.Type) != nil
			}
		}
	}
	if !copies || open(of, map[types.Type]bool{}) {
		return
	}
	n := strconv.Itoa(len(g.switches))
	kept, kind := cell.Mark+"of"+n, cell.Mark+"kind"+n
	g.switches = append(g.switches, func(b *bytes.Buffer) {
		fmt.Fprintf(b, "func %s(to *%s, x %[2]s) int { *to = x; if x == nil { return %[3]d }\n", kind, g.typeText(of), nilCase(list))
		for i, t := range list {
			if t != nil {
				fmt.Fprintf(b, "\tif _, ok := x.(%s); ok { return %d }\n", g.typeText(t), i)
			}
		}
		b.WriteString("\treturn -1\n}\n")
	})
	at := body.Lbrace + 1
	g.edits = append(g.edits, edit{at, at, func() string { return "var " + kept + " " + g.typeText(of) + "; _ = " + kept + "; " }},
		edit{s.Switch, s.Body.Lbrace, func() string {
			text := "switch "
			if s.Init != nil {
				text += g.render(s.Init.Pos(), s.Init.End()) + "; "
			}
			return text + kind + "(&" + kept + ", " + g.render(x.Pos(), x.End()) + ") "
		}})
	i := 0
	for _, c := range s.Body.List {
		c := c.(*ast.CaseClause)
		value := kept
		if len(c.List) == 1 && list[i] != nil {
			value = kept + ".(" + g.typeText(list[i]) + ")"
		}
		if len(c.List) > 0 {
			var numbers []string
			for range c.List {
				numbers = append(numbers, strconv.Itoa(i))
				i++
			}
			g.edits = append(g.edits, edit{c.Case, c.Colon, func() string { return "case " + strings.Join(numbers, ", ") }})
		}
		if y != nil {
			g.edits = append(g.edits, edit{c.Colon + 1, c.Colon + 1, func() string { return " " + y.Name + " := " + value + "; _ = " + y.Name + "; " }})
		}
	}
}

// nilCase returns the number of the case nil, -1 if there is none.
func nilCase(list []types.Type) int {
	for i, t := range list {
		if t == nil {
			return i
		}
	}
	return -1
}

// typeSwitches calls f for each type switch in a declaration, with the body of the function
// around it.
func typeSwitches(d ast.Node, f func(s *ast.TypeSwitchStmt, body *ast.BlockStmt)) {
	var body *ast.BlockStmt
	var walk func(n ast.Node)
	walk = func(n ast.Node) {
		ast.Inspect(n, func(x ast.Node) bool {
			switch x := x.(type) {
			case *ast.FuncDecl:
				body = x.Body
			case *ast.FuncLit:
				around := body
				body = x.Body
				walk(x.Body)
				body = around
				return false
			case *ast.TypeSwitchStmt:
				f(x, body)
			}
			return true
		})
	}
	walk(d)
}
