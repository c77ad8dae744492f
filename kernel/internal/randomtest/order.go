package randomtest

import (
	"cmp"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strings"
)

// ordered fixes what Go leaves open: whether an operand is read before or after the
// calls beside it that change it. Such operands become calls of same, which have an
// order:
//
//	P{v1, v7(1)}  ->  P{same(v1), v7(1)}
//	v1 += v7(1)   ->  v1 = same(v1) + (v7(1))
//
// Calls change the integers that closures assign, and what methods of *P assign. All
// other operands stay as they are.
func ordered(text string) string {
	const head = "package p\n"
	whole := text
	if !strings.HasPrefix(text, "package ") {
		whole = head + text
	}
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, "", whole, parser.SkipObjectResolution)
	if err != nil {
		panic("randomtest: " + err.Error() + "\n" + whole)
	}
	o := &order{captured: map[string]bool{}, pointers: map[string]bool{}}
	ast.Inspect(file, o.collect)
	ast.Inspect(file, o.statement)
	slices.SortStableFunc(o.edits, func(a, b edit) int { return cmp.Compare(a.at, b.at) })
	var b strings.Builder
	last := 0
	for _, e := range o.edits {
		at := files.Position(e.at).Offset
		b.WriteString(whole[last:at] + e.insert)
		last = at + e.skip
	}
	b.WriteString(whole[last:])
	if whole != text {
		return strings.TrimPrefix(b.String(), head)
	}
	return b.String()
}

// An edit inserts text at a position, and leaves out skip bytes there.
type edit struct {
	at     token.Pos
	insert string
	skip   int
}

type order struct {
	captured map[string]bool // variables that a closure changes
	pointers map[string]bool // variables that are pointers
	edits    []edit
}

// collect finds the variables that calls may change.
func (o *order) collect(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.ExprStmt:
		if call, ok := n.X.(*ast.CallExpr); ok {
			if f, ok := call.Fun.(*ast.FuncLit); ok { // it is a statement, and nothing calls it again
				ast.Inspect(f.Body, o.collect)
				return false
			}
		}
	case *ast.FuncLit:
		ast.Inspect(n.Body, func(m ast.Node) bool {
			switch m := m.(type) {
			case *ast.AssignStmt:
				for _, x := range m.Lhs {
					if id, ok := x.(*ast.Ident); ok && m.Tok != token.DEFINE {
						o.captured[id.Name] = true
					}
				}
			case *ast.IncDecStmt:
				if id, ok := m.X.(*ast.Ident); ok {
					o.captured[id.Name] = true
				}
			}
			return true
		})
	case *ast.ValueSpec:
		if _, ok := n.Type.(*ast.StarExpr); ok {
			o.pointers[n.Names[0].Name] = true
		}
	case *ast.AssignStmt:
		if call, ok := n.Rhs[0].(*ast.CallExpr); ok && n.Tok == token.DEFINE {
			if _, ok := ast.Unparen(call.Fun).(*ast.StarExpr); ok {
				o.pointers[n.Lhs[0].(*ast.Ident).Name] = true
			}
		}
	}
	return true
}

// statement orders the operands of a statement.
func (o *order) statement(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.AssignStmt:
		closures, methods := o.changes(n.Rhs...)
		for _, x := range n.Lhs {
			c, m := o.changes(x)
			closures, methods = closures || c, methods || m
		}
		if id, ok := n.Lhs[0].(*ast.Ident); ok && closures && o.captured[id.Name] && n.Tok != token.ASSIGN && n.Tok != token.DEFINE {
			o.edits = append(o.edits, edit{n.TokPos, "= same(" + id.Name + ") " + strings.TrimSuffix(n.Tok.String(), "=") + " (", len(n.Tok.String())},
				edit{n.Rhs[0].End(), ")", 0})
		}
		for _, x := range n.Rhs {
			o.reads(x, closures, methods)
		}
		for _, x := range n.Lhs {
			if i, ok := x.(*ast.IndexExpr); ok {
				o.reads(i.Index, closures, methods)
			}
		}
	case *ast.ExprStmt:
		o.list(n.X)
	case *ast.DeferStmt:
		o.list(n.Call)
	case *ast.ReturnStmt:
		o.list(n.Results...)
	case *ast.IfStmt:
		o.list(n.Cond)
	case *ast.SwitchStmt:
		o.list(n.Tag)
	case *ast.RangeStmt:
		o.list(n.X)
	case *ast.ValueSpec:
		o.list(n.Values...)
	}
	return true
}

func (o *order) list(xs ...ast.Expr) {
	closures, methods := o.changes(xs...)
	for _, x := range xs {
		o.reads(x, closures, methods)
	}
}

// changes reports whether the expressions call what may be a closure that assigns
// variables, and methods that change what a *P points to.
func (o *order) changes(xs ...ast.Expr) (closures, methods bool) {
	for _, x := range xs {
		if x == nil {
			continue
		}
		ast.Inspect(x, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			switch f := ast.Unparen(call.Fun).(type) {
			case *ast.Ident:
				// Variables hold closures; mapped calls one.
				if f.Name == "mapped" || strings.ContainsRune("vp", rune(f.Name[0])) && len(f.Name) > 1 && f.Name[1] <= '9' {
					closures, methods = true, true
				}
			case *ast.SelectorExpr:
				methods = methods || f.Sel.Name == "add" || f.Sel.Name == "chain"
			case *ast.CallExpr:
				closures, methods = true, true
			}
			return true
		})
	}
	return
}

// reads wraps the operands of an expression that the calls beside them may change.
func (o *order) reads(x ast.Expr, closures, methods bool) {
	if x == nil || !closures && !methods {
		return
	}
	wrap := func(n ast.Node) {
		o.edits = append(o.edits, edit{n.Pos(), "same(", 0}, edit{n.End(), ")", 0})
	}
	ast.Inspect(x, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			return false // reads when it is called
		case *ast.CompositeLit:
			for _, e := range n.Elts {
				o.reads(e, closures, methods)
			}
			return false
		case *ast.TypeAssertExpr:
			o.reads(n.X, closures, methods)
			return false
		case *ast.CallExpr:
			if _, ok := ast.Unparen(n.Fun).(*ast.StarExpr); !ok { // no conversion
				o.reads(n.Fun, closures, methods)
			}
			for _, a := range n.Args {
				o.reads(a, closures, methods)
			}
			return false
		case *ast.Ident:
			if closures && o.captured[n.Name] && n.Name[0] == 'v' {
				wrap(n)
			}
		case *ast.StarExpr:
			if methods && o.pointer(n.X) {
				wrap(n)
			}
		case *ast.SelectorExpr:
			if name := n.Sel.Name; methods && (name == "x" || name == "y" || name == "name") && o.pointer(n.X) {
				wrap(n)
			}
			o.reads(n.X, closures, methods)
			return false
		}
		return true
	})
}

// pointer reports whether an expression is a pointer that others may hold.
func (o *order) pointer(x ast.Expr) bool {
	switch x := ast.Unparen(x).(type) {
	case *ast.Ident:
		return o.pointers[x.Name]
	case *ast.CallExpr:
		f, ok := x.Fun.(*ast.SelectorExpr)
		return ok && f.Sel.Name == "chain"
	}
	return false
}
