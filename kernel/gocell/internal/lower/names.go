package lower

import (
	"go/ast"
	"go/types"

	"golang.org/x/tools/go/ast/astutil"

	"dace.local/kernel/gocell/internal/cell"
	"dace.local/kernel/gocell/internal/check"
	"dace.local/kernel/gocell/internal/syntax"
)

// packageSelector rewrites pkg in pkg.Name.
func (l *lowerer) packageSelector(c *astutil.Cursor, x *ast.SelectorExpr) verdict {
	info := l.c.Info
	id, ok := x.X.(*ast.Ident)
	if !ok {
		return goOn
	}
	p, ok := info.Uses[id].(*types.PkgName)
	if !ok {
		return goOn
	}
	if made, ok := check.GeneratedName(info.Uses[x.Sel]); ok {
		if o, ok := info.Uses[x.Sel].(*types.Const); ok && forgotten(o.Type()) {
			y := l.typedLiteral(info.Types[x], x.Pos())
			info.Types[y] = info.Types[x]
			c.Replace(y)
			return skip
		}
		id := l.identFor(x, x.Sel, made)
		if f := l.convertFunctionValue(id, l.called(c)); f != id { // the walk does not visit id
			c.Replace(f)
			return skip
		}
		l.convertConstant(c, id)
		return skip
	}
	l.pkgs[p.Imported().Path()] = true
	x.X = &ast.Ident{Name: cell.Alias(p.Imported().Path()), NamePos: id.Pos()}
	l.convertConstant(c, x)
	return skip
}

// keepMember ends the rewriting of an identifier that does not denote a variable,
// function, constant or package by itself.
func (l *lowerer) keepMember(c *astutil.Cursor, x *ast.Ident) verdict {
	if c.Name() == "Sel" {
		return skip
	}
	if _, ok := c.Parent().(*ast.KeyValueExpr); ok && c.Name() == "Key" {
		if v, ok := l.c.Info.Uses[x].(*types.Var); ok && v.IsField() {
			return skip
		}
	}
	if l.object = l.objectOf(x); l.object == nil {
		return skip
	}
	return goOn
}

// objectOf returns what an identifier uses, or declares.
func (l *lowerer) objectOf(x *ast.Ident) types.Object {
	if o := l.c.Info.Uses[x]; o != nil {
		return o
	}
	return l.c.Info.Defs[x]
}

func (l *lowerer) contextIdent(c *astutil.Cursor, x *ast.Ident) verdict {
	if l.ctx == nil || l.object != l.ctx {
		return goOn
	}
	c.Replace(syntax.Call(l.kernel("Ctx", x.Pos()), x.Pos()))
	return skip
}

func (l *lowerer) replacedIdent(c *astutil.Cursor, x *ast.Ident) verdict {
	to, ok := l.renamed[l.object]
	if !ok {
		return goOn
	}
	c.Replace(&ast.Ident{Name: to, NamePos: x.Pos()})
	return skip
}

func (l *lowerer) fetchedIdent(_ *astutil.Cursor, x *ast.Ident) verdict {
	made, ok := check.GeneratedName(l.object)
	if !ok {
		return goOn
	}
	x.Name = made // the same node: info knows the object by it
	return stop
}

// mustIdent is for must without results. The type parameters of the others make
// them instances.
func (l *lowerer) mustIdent(c *astutil.Cursor, x *ast.Ident) verdict {
	if results, ok := check.MustResults(l.object); !ok || results > 0 {
		return goOn
	}
	c.Replace(l.kernel("Must", x.Pos()))
	return skip
}

// dotIdent qualifies an identifier that a dot import provides.
func (l *lowerer) dotIdent(c *astutil.Cursor, x *ast.Ident) verdict {
	info := l.c.Info
	o := l.object
	p := o.Pkg()
	if p == nil || check.Interpreted(p) || o.Parent() != p.Scope() || info.Uses[x] == nil {
		return goOn
	}
	l.pkgs[check.PathOf(p)] = true
	if v, ok := o.(*types.Var); ok && check.IsNative(p) {
		c.Replace(l.nativeVar(v, x))
		return skip
	}
	sel := &ast.SelectorExpr{X: &ast.Ident{Name: cell.Alias(check.PathOf(p)), NamePos: x.Pos()}, Sel: x}
	if tv, ok := info.Types[x]; ok {
		info.Types[sel] = tv
	}
	c.Replace(sel)
	return skip
}

// guardWaitGroup guards the argument of sync.WaitGroup.Go.
func (l *lowerer) guardWaitGroup(x *ast.CallExpr) {
	if sel, ok := ast.Unparen(x.Fun).(*ast.SelectorExpr); ok && len(x.Args) == 1 {
		if f, ok := l.c.Info.Uses[sel.Sel].(*types.Func); ok && f.FullName() == "(*sync.WaitGroup).Go" {
			x.Args[0] = syntax.Call(l.kernel("Guarded", x.Pos()), x.Pos(), x.Args[0])
		}
	}
}

// noteConversion notes the types of a conversion, which name-types replaces on
// the way in.
func (l *lowerer) noteConversion(x *ast.CallExpr) {
	if info := l.c.Info; len(x.Args) == 1 && info.Types[x.Fun].IsType() {
		l.conversions[x] = [2]types.Type{info.TypeOf(x.Args[0]), info.TypeOf(x.Fun)}
	}
}
