package lower

import (
	"go/ast"
	"go/token"
	"go/types"
	"reflect"
	"strconv"

	"dace.local/kernel/gocell/internal/check"
	"dace.local/kernel/gocell/internal/syntax"
)

// initialize returns the statement that initializes variables.
func (l *lowerer) initialize(d *check.FetchedDecl, cl cloner) ast.Stmt {
	if d.Init == nil { // from a file
		v := d.Objects[0]
		pos := v.Pos()
		made, _ := check.GeneratedName(v)
		return &ast.AssignStmt{Lhs: []ast.Expr{&ast.Ident{Name: made, NamePos: pos}}, TokPos: pos, Tok: token.ASSIGN,
			Rhs: []ast.Expr{syntax.Call(&ast.ParenExpr{Lparen: pos, X: l.typeExpr(v.Type(), pos), Rparen: pos}, pos,
				&ast.BasicLit{ValuePos: pos, Kind: token.STRING, Value: strconv.Quote(d.Embed)})}}
	}
	pos := d.Init.Rhs.Pos()
	a := &ast.AssignStmt{TokPos: pos, Tok: token.ASSIGN, Rhs: []ast.Expr{l.older(cl.node(d.Init.Rhs), d.Owner.FileAt(pos)).(ast.Expr)}}
	for _, v := range d.Init.Lhs {
		id := &ast.Ident{Name: v.Name(), NamePos: pos}
		if made, ok := check.GeneratedName(v); ok {
			id.Name = made
			l.c.Info.Types[id] = variableOf(v.Type())
		}
		a.Lhs = append(a.Lhs, id)
	}
	return a
}

// A cloner copies syntax with what the checker knows of it. The lowering
// changes the copy.
type cloner struct{ from, to *types.Info }

func (c cloner) node(n ast.Node) ast.Node {
	done := map[any]reflect.Value{}
	return c.value(reflect.ValueOf(n), done).Interface().(ast.Node)
}

func (c cloner) value(v reflect.Value, done map[any]reflect.Value) reflect.Value {
	switch v.Kind() {
	case reflect.Interface:
		if v.IsNil() {
			return v
		}
		w := reflect.New(v.Type()).Elem()
		w.Set(c.value(v.Elem(), done))
		return w
	case reflect.Slice:
		if v.IsNil() {
			return v
		}
		w := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		for i := range v.Len() {
			w.Index(i).Set(c.value(v.Index(i), done))
		}
		return w
	case reflect.Pointer:
		if v.IsNil() {
			return v
		}
		switch v.Interface().(type) {
		case *ast.CommentGroup:
			return reflect.Zero(v.Type())
		}
		if w, ok := done[v.Interface()]; ok {
			return w
		}
		w := reflect.New(v.Type().Elem())
		done[v.Interface()] = w
		for i := range v.Elem().NumField() {
			w.Elem().Field(i).Set(c.value(v.Elem().Field(i), done))
		}
		c.known(v.Interface(), w.Interface())
		return w
	}
	return v
}

// known copies what the checker knows of a node.
func (c cloner) known(old, now any) {
	if x, ok := old.(ast.Expr); ok {
		if tv, ok := c.from.Types[x]; ok {
			c.to.Types[now.(ast.Expr)] = tv
		}
	}
	if n, ok := old.(ast.Node); ok {
		if o, ok := c.from.Implicits[n]; ok {
			c.to.Implicits[now.(ast.Node)] = o
		}
	}
	switch old := old.(type) {
	case *ast.Ident:
		now := now.(*ast.Ident)
		if o, ok := c.from.Uses[old]; ok {
			c.to.Uses[now] = o
		}
		if o, ok := c.from.Defs[old]; ok {
			c.to.Defs[now] = o
		}
		if i, ok := c.from.Instances[old]; ok {
			c.to.Instances[now] = i
		}
	case *ast.SelectorExpr:
		if s, ok := c.from.Selections[old]; ok {
			c.to.Selections[now.(*ast.SelectorExpr)] = s
		}
	}
}
