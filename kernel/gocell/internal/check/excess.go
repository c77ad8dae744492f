package check

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"

	"dace.local/kernel/internal/system/limits"
)

// The type checker computes constants: ten lines that each repeat the one before
// ten times make a text that no memory holds. It also looks at a struct in a struct
// as often as it is there: forty lines of two fields each take it a lifetime. So
// both are estimated beforehand, by the names alone.

const (
	longestConst = 16 << 20 // bytes of a constant
	mostParts    = 1 << 20  // fields of a type, those of its fields' types included
	deepestType  = 200      // types without names that are written within each other
)

// sizer estimates the lengths of constant texts, and the fields of types.
type sizer struct {
	p      *Program
	values map[string][]ast.Expr // of the constants and types that are declared, at any depth, by name
	known  map[ast.Expr]float64  // also 0 for what is being estimated
	fields map[types.Type]float64
}

// excess returns an error for declarations with a constant that is too long, or a
// type that has too many parts, for the checker; nil if there is none.
func (p *Program) excess(fset *token.FileSet, decls []ast.Decl) (errs []types.Error) {
	s := &sizer{p, map[string][]ast.Expr{}, map[ast.Expr]float64{}, map[types.Type]float64{}}
	var named []*ast.TypeSpec
	var sums []*ast.BinaryExpr
	var within nesting
	for _, d := range decls {
		ast.Inspect(d, func(n ast.Node) bool {
			if within.step(n); n == nil {
				return false
			}
			switch n := n.(type) {
			case *ast.GenDecl:
				if n.Tok == token.CONST {
					s.declare(n)
				}
			case *ast.TypeSpec:
				s.values[n.Name.Name] = append(s.values[n.Name.Name], n.Type)
				named = append(named, n)
			case *ast.BinaryExpr:
				if n.Op == token.ADD {
					sums = append(sums, n)
				}
			}
			return true
		})
	}
	if within.tooMany.IsValid() {
		return []types.Error{{Fset: fset, Pos: within.tooMany, Msg: fmt.Sprintf("more than %d types are written within each other here: give those in between names", deepestType)}}
	}
	for _, t := range named {
		if n := s.parts(t.Type); n > mostParts && len(errs) == 0 {
			errs = append(errs, types.Error{Fset: fset, Pos: t.Pos(), Msg: fmt.Sprintf("%s has %.3g fields, those of its fields' types included: at most %d are possible; a pointer to a type does not count", t.Name.Name, n, mostParts)})
		}
	}
	for _, x := range sums {
		if size := s.of(x); size > longestConst && len(errs) == 0 {
			errs = append(errs, types.Error{Fset: fset, Pos: x.Pos(), Msg: fmt.Sprintf("a constant of %s: at most %s are possible, a variable may be longer", limits.Bytes(size), limits.Bytes(longestConst))})
		}
	}
	return errs
}

// A nesting finds types that are written within too many others: the text of each holds
// those of all in it.
type nesting struct {
	path    []int // what the nodes around weigh
	weight  int
	tooMany token.Pos // the place of the first
}

// step takes a node, as ast.Inspect visits it.
func (t *nesting) step(n ast.Node) {
	const pointers = 10 // that weigh as much as another type
	own := 0
	switch n.(type) {
	case nil:
		last := len(t.path) - 1
		t.weight -= t.path[last]
		t.path = t.path[:last]
		return
	case *ast.StarExpr:
		own = 1
	case *ast.StructType, *ast.InterfaceType, *ast.FuncType, *ast.MapType, *ast.ChanType, *ast.ArrayType:
		own = pointers
	}
	if t.weight += own; t.weight > deepestType*pointers && !t.tooMany.IsValid() {
		t.tooMany = n.Pos()
	}
	t.path = append(t.path, own)
}

// declare notes the values of the constants of a declaration.
func (s *sizer) declare(g *ast.GenDecl) {
	var last []ast.Expr
	for _, spec := range g.Specs {
		v, ok := spec.(*ast.ValueSpec)
		if !ok {
			continue
		}
		if len(v.Values) > 0 {
			last = v.Values
		}
		for i, name := range v.Names {
			if i < len(last) {
				s.values[name.Name] = append(s.values[name.Name], last[i])
			}
		}
	}
}

// of estimates the length of an expression's value, 0 if it is no constant text.
func (s *sizer) of(x ast.Expr) (size float64) {
	switch x := x.(type) {
	case *ast.ParenExpr:
		return s.of(x.X)
	case *ast.BasicLit:
		if x.Kind == token.STRING {
			return float64(len(x.Value))
		}
	case *ast.CallExpr: // perhaps a conversion
		if len(x.Args) == 1 {
			return s.of(x.Args[0])
		}
	case *ast.Ident:
		if values := s.values[x.Name]; values != nil {
			for _, v := range values {
				size = max(size, s.once(v))
			}
			return size
		}
		if e := s.p.Names[x.Name]; e != nil {
			if c, ok := e.Object.(*types.Const); ok && c.Val().Kind() == constant.String {
				return float64(len(constant.StringVal(c.Val())))
			}
		}
	case *ast.BinaryExpr:
		if x.Op == token.ADD {
			return s.once(x)
		}
	}
	return 0
}

// once is of, but estimates each expression once.
func (s *sizer) once(x ast.Expr) float64 {
	size, ok := s.known[x]
	if !ok {
		s.known[x] = 0
		if b, isSum := x.(*ast.BinaryExpr); isSum && b.Op == token.ADD {
			size = s.of(b.X) + s.of(b.Y)
		} else {
			size = s.of(x)
		}
		s.known[x] = size
	}
	return size
}

// parts estimates the parts of a type of which values consist.
func (s *sizer) parts(x ast.Expr) (n float64) {
	switch x := x.(type) {
	case *ast.ParenExpr:
		return s.parts(x.X)
	case *ast.ArrayType:
		if x.Len != nil {
			return s.parts(x.Elt)
		}
	case *ast.BinaryExpr: // of a constraint
		return s.parts(x.X) + s.parts(x.Y)
	case *ast.IndexExpr:
		return s.parts(x.X) + s.parts(x.Index)
	case *ast.StructType:
		for _, f := range x.Fields.List {
			n += float64(max(1, len(f.Names))) * (1 + s.partsOnce(f.Type))
		}
	case *ast.InterfaceType:
		for _, f := range x.Methods.List {
			n += s.partsOnce(f.Type)
		}
	case *ast.Ident:
		for _, v := range s.values[x.Name] {
			n = max(n, s.partsOnce(v))
		}
		if e := s.p.Names[x.Name]; e != nil && n == 0 {
			if t, ok := e.Object.(*types.TypeName); ok {
				return s.partsOf(t.Type())
			}
		}
	}
	return n
}

// partsOnce is parts, but estimates each expression once.
func (s *sizer) partsOnce(x ast.Expr) float64 {
	n, ok := s.known[x]
	if !ok {
		s.known[x] = 0
		n = s.parts(x)
		s.known[x] = n
	}
	return n
}

// partsOf is parts for a type of an earlier cell.
func (s *sizer) partsOf(t types.Type) float64 {
	n, ok := s.fields[t]
	if ok {
		return n
	}
	s.fields[t] = 0
	switch u := t.Underlying().(type) {
	case *types.Array:
		n = s.partsOf(u.Elem())
	case *types.Struct:
		for f := range u.Fields() {
			n += 1 + s.partsOf(f.Type())
		}
	case *types.Interface:
		for e := range u.EmbeddedTypes() {
			n += s.partsOf(e)
		}
	}
	s.fields[t] = n
	return n
}
