package compiled

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"maps"
	"slices"
	"strconv"
	"strings"

	"dace.local/kernel/gocell/internal/cell"
)

// Strings and slices that grow by a factor are compared with the memory before
// they do: s += s of a text of gigabytes takes all memory between two readings of it,
// and ends the process.

// growText declares what does so; %[1]s is cell.Mark.
const growText = `var %[1]sgrow = func(what string, bytes float64) {}
func %[1]smore[S ~string](s, t S) S {
	if len(s)+len(t) >= 1<<20 {
		%[1]sgrow("the string", float64(len(s))+float64(len(t)))
	}
	return t
}
func %[1]stext[S ~string](s S, each float64) S {
	if len(s) >= 1<<20 {
		%[1]sgrow("the conversion", each*float64(len(s)))
	}
	return s
}
func %[1]slist[S ~[]E, E any](s S) S {
	if len(s) >= 1<<18 {
		%[1]sgrow("the conversion", float64(len(s))*float64(%[1]sunsafe.Sizeof(*new(E))))
	}
	return s
}
func %[1]sfits[S ~[]E, E any](s S, more int) S {
	if n := len(s) + more; n > cap(s) && uintptr(n)*%[1]sunsafe.Sizeof(*new(E)) >= 1<<20 {
		%[1]sgrow("append", 1.25*float64(n)*float64(%[1]sunsafe.Sizeof(*new(E))))
	}
	return s
}
func %[1]sadds[S ~[]E, T ~[]E, E any](s S, t T) S { return append(%[1]sfits(s, len(t)), t...) }
func %[1]saddText[S ~[]byte, T ~string](s S, t T) S { return append(%[1]sfits(s, len(t)), t...) }
`

// declareGrowing writes the functions that growing statements call.
func (g *generator) declareGrowing(body, table *bytes.Buffer) {
	if !g.grows {
		return
	}
	g.imports[cell.Mark+"unsafe"] = "unsafe"
	fmt.Fprintf(body, growText, cell.Mark)
	fmt.Fprintf(table, "\t%q: &%[1]s,\n", cell.Mark+"grow")
	for _, n := range slices.Sorted(maps.Keys(g.joins)) {
		var names, lens []string
		for i := range n {
			names = append(names, "s"+strconv.Itoa(i))
			lens = append(lens, "len(s"+strconv.Itoa(i)+")")
		}
		size := strings.Join(lens, "+")
		fmt.Fprintf(body, "func %[1]sjoin%[2]d[S ~string](%[3]s S) S { if n := %[4]s; n >= 1<<20 { %[1]sgrow(\"the string\", float64(n)) }; return %[5]s }\n",
			cell.Mark, n, strings.Join(names, ", "), size, strings.Join(names, " + "))
	}
}

// isText and isList report whether an expression is a string, or a slice, that is
// no constant and whose type is no type parameter.
func (g *generator) isText(x ast.Expr) bool {
	tv := g.n.Info.Types[x]
	if tv.Type == nil || tv.Value != nil {
		return false
	}
	b, ok := tv.Type.Underlying().(*types.Basic)
	return ok && b.Info()&types.IsString != 0
}

func (g *generator) isList(x ast.Expr) bool {
	t := g.n.Info.TypeOf(x)
	if t == nil {
		return false
	}
	_, ok := t.Underlying().(*types.Slice)
	return ok
}

// insert adds the edit of a text before, and one after an expression.
func (g *generator) insert(x ast.Expr, before func() string, after string) {
	g.grows = true
	g.edits = append(g.edits, edit{x.Pos(), x.Pos(), before})
	g.closes = append(g.closes, edit{x.End(), x.End(), func() string { return after }})
}

// growing adds checks to a statement or an expression that makes a string or a
// slice longer.
func (g *generator) growing(n ast.Node) {
	word := func(name string) func() string { return func() string { return cell.Mark + name + "(" } }
	switch n := n.(type) {
	case *ast.AssignStmt:
		if n.Tok == token.ADD_ASSIGN && g.isText(n.Lhs[0]) && repeatable(n.Lhs[0]) {
			to := n.Lhs[0]
			g.insert(n.Rhs[0], func() string { return cell.Mark + "more(" + g.render(to.Pos(), to.End()) + ", " }, ")")
		}
	case *ast.BinaryExpr:
		g.sum(n)
	case *ast.CallExpr:
		switch fun := g.n.Info.Types[n.Fun]; {
		case len(n.Args) == 1 && fun.IsType():
			switch to := fun.Type.Underlying().(type) {
			case *types.Slice:
				if g.isText(n.Args[0]) {
					each := 1
					if b, ok := to.Elem().Underlying().(*types.Basic); ok && b.Kind() == types.Int32 {
						each = 4
					}
					g.insert(n.Args[0], word("text"), ", "+strconv.Itoa(each)+")")
				}
			case *types.Basic:
				if to.Info()&types.IsString != 0 && g.isList(n.Args[0]) {
					g.insert(n.Args[0], word("list"), ")")
				}
			}
		case len(n.Args) > 1 && fun.IsBuiltin() && g.isList(n.Args[0]):
			id, ok := ast.Unparen(n.Fun).(*ast.Ident)
			if !ok || id.Name != "append" {
				return
			}
			last := n.Args[1]
			if !n.Ellipsis.IsValid() {
				g.insert(n.Args[0], word("fits"), ", "+strconv.Itoa(len(n.Args)-1)+")")
				return
			}
			name := "adds"
			switch tv := g.n.Info.Types[last]; {
			case tv.IsNil():
				return
			case g.isText(last) || tv.Value != nil:
				name = "addText"
			case !g.isList(last):
				return
			}
			g.grows = true
			g.edits = append(g.edits, edit{n.Fun.Pos(), n.Fun.End(), func() string { return cell.Mark + name }},
				edit{n.Ellipsis, n.Ellipsis + token.Pos(len("...")), func() string { return "" }})
		}
	}
}

// sum makes a sum of strings the call of a function that adds as many.
func (g *generator) sum(n *ast.BinaryExpr) {
	if n.Op != token.ADD || !g.isText(n) || g.summed[n] {
		return
	}
	parts := 1
	var first ast.Expr = n
	for {
		b, ok := first.(*ast.BinaryExpr)
		if !ok || !g.isText(b) {
			break
		}
		g.summed[b] = true
		g.edits = append(g.edits, edit{b.OpPos, b.OpPos + 1, func() string { return "," }})
		first = b.X
		parts++
	}
	g.joins[parts] = true
	g.insert(n, func() string { return cell.Mark + "join" + strconv.Itoa(parts) + "(" }, ")")
}

// repeatable reports whether an operand may be evaluated twice: it calls nothing,
// and receives nothing.
func repeatable(x ast.Expr) bool {
	switch x := x.(type) {
	case *ast.Ident, *ast.BasicLit:
		return true
	case *ast.ParenExpr:
		return repeatable(x.X)
	case *ast.StarExpr:
		return repeatable(x.X)
	case *ast.SelectorExpr:
		return repeatable(x.X)
	case *ast.IndexExpr:
		return repeatable(x.X) && repeatable(x.Index)
	}
	return false
}
