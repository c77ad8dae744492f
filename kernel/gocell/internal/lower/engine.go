package lower

import (
	"go/ast"
	"go/token"
	"go/types"

	"golang.org/x/tools/go/ast/astutil"

	"dace.local/kernel/gocell/internal/check"
)

// A verdict says how the walk goes on after an action at a node.
type verdict int

const (
	goOn verdict = iota // go on with the next action at the node
	stop                // no other action at the node until the walk leaves it (or has left it)
	skip                // neither visit what is below the node, nor leave it
)

// An action is what a rewrite does at a node of one kind, as the walk enters or
// leaves it. The cursor's node is the one that was entered, even where an
// earlier action has put another in its place: an action that replaces a node
// says stop, or the later actions still see the old one.
type action struct {
	kind nodeKind
	run  func(l *lowerer, c *astutil.Cursor) verdict
}

// at makes an action of a function for nodes of type N.
func at[N ast.Node](f func(l *lowerer, c *astutil.Cursor, x N) verdict) action {
	var zero N
	return action{kindOfNode(zero), func(l *lowerer, c *astutil.Cursor) verdict { return f(l, c, c.Node().(N)) }}
}

// inPlace makes an action of a function that changes a node in place.
func inPlace[N ast.Node](f func(l *lowerer, x N)) action {
	return at(func(l *lowerer, c *astutil.Cursor, x N) verdict {
		f(l, x)
		return goOn
	})
}

// swap makes an action of a function that returns the replacement of a node, or
// nil.
func swap[N ast.Node](f func(l *lowerer, x N) ast.Node) action {
	return at(func(l *lowerer, c *astutil.Cursor, x N) verdict {
		if y := f(l, x); y != nil {
			c.Replace(y)
			return stop
		}
		return goOn
	})
}

// spread makes an action of a function that returns the statements that replace
// one, or nil. alone says that the statement is not in a list: then the result
// must be nil.
func spread[N ast.Stmt](f func(l *lowerer, x N, alone bool) []ast.Stmt) action {
	return at(func(l *lowerer, c *astutil.Cursor, x N) verdict {
		list := f(l, x, c.Index() < 0)
		if list == nil {
			return goOn
		}
		for i := len(list) - 1; i > 0; i-- {
			c.InsertAfter(list[i])
		}
		c.Replace(list[0])
		return stop
	})
}

// everywhere makes an action of a function for nodes of every kind.
func everywhere(f func(l *lowerer, c *astutil.Cursor) verdict) action { return action{kindAny, f} }

// An order is a table of rewrites as the walk uses it.
type order struct {
	older        []func(l *lowerer, n ast.Node, file *check.FetchedFile) ast.Node
	whole        []func(l *lowerer, n ast.Node) ast.Node
	enter, leave [passes][kinds][]func(l *lowerer, c *astutil.Cursor) verdict
	top          []func(l *lowerer, s ast.Stmt, last bool) ([]ast.Stmt, bool)
}

// newOrder sorts the actions of a table by pass, way and kind of node, each
// list in the order of the table; without names a rewrite to leave out, for
// tests.
func newOrder(table []rewrite, without string) *order {
	o := &order{}
	add := func(to *[kinds][]func(*lowerer, *astutil.Cursor) verdict, steps []action) {
		for _, s := range steps {
			for k := range to {
				if s.kind == kindAny || s.kind == nodeKind(k) {
					to[k] = append(to[k], s.run)
				}
			}
		}
	}
	for _, r := range table {
		if r.name == without {
			continue
		}
		if r.older != nil {
			o.older = append(o.older, r.older)
		}
		if r.whole != nil {
			o.whole = append(o.whole, r.whole)
		}
		if r.top != nil {
			o.top = append(o.top, r.top)
		}
		for _, p := range r.passes {
			add(&o.enter[p], r.enter)
			add(&o.leave[p], r.leave)
		}
	}
	return o
}

// An enclosing is a function around the node that the walk is at.
type enclosing struct {
	typ      *ast.FuncType // nil for the statements of a cell
	results  []types.Type
	recovers bool      // it calls recover
	defers   bool      // it has a defer statement
	end      token.Pos // of its last statement, if that returns, or its brace
}

// endOf returns where a function returns, if it has not done so before.
func endOf(f ast.Node) token.Pos {
	var body *ast.BlockStmt
	switch f := f.(type) {
	case *ast.FuncDecl:
		body = f.Body
	case *ast.FuncLit:
		body = f.Body
	}
	if body == nil {
		return token.NoPos
	}
	if n := len(body.List); n > 0 {
		if r, ok := body.List[n-1].(*ast.ReturnStmt); ok {
			return r.Pos()
		}
	}
	return body.Rbrace
}

// older rewrites a declaration or an expression of a fetched package, whose file
// may be for an older version of Go.
func (l *lowerer) older(n ast.Node, file *check.FetchedFile) ast.Node {
	for _, f := range l.order.older {
		n = f(l, n, file)
	}
	return n
}

// lower rewrites a declaration, or the statements of a cell, by the whole table.
func (l *lowerer) lower(n ast.Node) ast.Node {
	for _, f := range l.order.whole {
		n = f(l, n)
	}
	for p := range passes {
		n = l.walk(n, pass(p))
	}
	return n
}

// walk rewrites what is below n by the actions of a pass.
func (l *lowerer) walk(n ast.Node, p pass) ast.Node {
	enter, leave := &l.order.enter[p], &l.order.leave[p]
	around, root, gotos := l.enclosing, l.root, l.gotos
	defer func() { l.enclosing, l.root, l.gotos = around, root, gotos }()
	l.enclosing, l.root, l.gotos = []*enclosing{{}}, n, gotoLabels(n)
	if p == statements {
		shared := l.captured
		defer func() { l.captured = shared }()
		l.captured = capturedVars(n, l.c.Info)
	}
	return astutil.Apply(n, func(c *astutil.Cursor) bool {
		k := kindOfNode(c.Node())
		isFunc := k == kindFuncDecl || k == kindFuncLit
		if isFunc {
			ft := funcType(c.Node())
			l.enclosing = append(l.enclosing, &enclosing{typ: ft, results: l.resultsOf(ft), defers: defers(c.Node()), end: endOf(c.Node())})
		}
		if l.run(enter[k], c) != skip {
			return true
		}
		if isFunc {
			l.enclosing = l.enclosing[:len(l.enclosing)-1]
		}
		return false
	}, func(c *astutil.Cursor) bool {
		k := kindOfNode(c.Node())
		l.run(leave[k], c)
		if k == kindFuncDecl || k == kindFuncLit {
			l.enclosing = l.enclosing[:len(l.enclosing)-1]
		}
		return true
	})
}

func (l *lowerer) run(actions []func(*lowerer, *astutil.Cursor) verdict, c *astutil.Cursor) verdict {
	for _, f := range actions {
		if v := f(l, c); v != goOn {
			return v
		}
	}
	return goOn
}

// function returns the innermost function around the node that the walk is at.
// At a function itself it is that one.
func (l *lowerer) function() *enclosing { return l.enclosing[len(l.enclosing)-1] }

// defers reports whether a function has a defer statement.
func defers(f ast.Node) bool {
	found := false
	ast.Inspect(f, func(n ast.Node) bool {
		_, isDefer := n.(*ast.DeferStmt)
		found = found || isDefer
		_, isLit := n.(*ast.FuncLit)
		return !found && (!isLit || n == f)
	})
	return found
}

// funcType returns the type of a function declaration or literal, nil of other
// nodes.
func funcType(n ast.Node) *ast.FuncType {
	switch n := n.(type) {
	case *ast.FuncDecl:
		return n.Type
	case *ast.FuncLit:
		return n.Type
	}
	return nil
}

// A nodeKind is a type of node that some action is for.
type nodeKind int

const (
	kindAny nodeKind = iota // also nodes that no action is for
	kindAssign
	kindBasicLit
	kindBinary
	kindCall
	kindCase
	kindComm
	kindComposite
	kindDecl
	kindDefer
	kindEmpty
	kindFor
	kindFuncDecl
	kindFuncLit
	kindGenDecl
	kindGo
	kindIdent
	kindIf
	kindIncDec
	kindIndex
	kindIndexList
	kindLabeled
	kindParen
	kindRange
	kindReturn
	kindSelect
	kindSelector
	kindSend
	kindSlice
	kindSwitch
	kindTypeAssert
	kindTypeSwitch
	kindUnary
	kindValueSpec
	kinds = iota
)

func kindOfNode(n ast.Node) nodeKind {
	switch n.(type) {
	case *ast.Ident:
		return kindIdent
	case *ast.BasicLit:
		return kindBasicLit
	case *ast.CallExpr:
		return kindCall
	case *ast.SelectorExpr:
		return kindSelector
	case *ast.BinaryExpr:
		return kindBinary
	case *ast.AssignStmt:
		return kindAssign
	case *ast.UnaryExpr:
		return kindUnary
	case *ast.IndexExpr:
		return kindIndex
	case *ast.IndexListExpr:
		return kindIndexList
	case *ast.SliceExpr:
		return kindSlice
	case *ast.ParenExpr:
		return kindParen
	case *ast.CompositeLit:
		return kindComposite
	case *ast.TypeAssertExpr:
		return kindTypeAssert
	case *ast.FuncLit:
		return kindFuncLit
	case *ast.FuncDecl:
		return kindFuncDecl
	case *ast.GenDecl:
		return kindGenDecl
	case *ast.ValueSpec:
		return kindValueSpec
	case *ast.DeclStmt:
		return kindDecl
	case *ast.ReturnStmt:
		return kindReturn
	case *ast.IfStmt:
		return kindIf
	case *ast.IncDecStmt:
		return kindIncDec
	case *ast.ForStmt:
		return kindFor
	case *ast.RangeStmt:
		return kindRange
	case *ast.SwitchStmt:
		return kindSwitch
	case *ast.TypeSwitchStmt:
		return kindTypeSwitch
	case *ast.CaseClause:
		return kindCase
	case *ast.SelectStmt:
		return kindSelect
	case *ast.CommClause:
		return kindComm
	case *ast.SendStmt:
		return kindSend
	case *ast.GoStmt:
		return kindGo
	case *ast.DeferStmt:
		return kindDefer
	case *ast.LabeledStmt:
		return kindLabeled
	case *ast.EmptyStmt:
		return kindEmpty
	}
	return kindAny
}

// block makes an action of a function that returns a block that replaces a
// statement, or nil. A label of the statement moves to the last one in the block.
func block[N ast.Stmt](f func(l *lowerer, x N) *ast.BlockStmt) action {
	return at(func(l *lowerer, c *astutil.Cursor, x N) verdict {
		b := f(l, x)
		if b == nil {
			return goOn
		}
		c.Replace(b)
		l.enclosed[b] = true
		return stop
	})
}

// builtin makes an action of a function that returns the replacement of a call
// of a builtin, or nil.
func builtin(name string, f func(l *lowerer, x *ast.CallExpr) ast.Expr) action {
	return at(func(l *lowerer, c *astutil.Cursor, x *ast.CallExpr) verdict {
		id, ok := ast.Unparen(x.Fun).(*ast.Ident)
		if !ok || id.Name != name {
			return goOn
		}
		if b, ok := l.c.Info.Uses[id].(*types.Builtin); ok && b.Name() == name {
			if y := f(l, x); y != nil {
				c.Replace(y)
			}
		}
		return goOn
	})
}
