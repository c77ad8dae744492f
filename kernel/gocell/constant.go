package gocell

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"go/types"
	"strings"
)

// constants writes out the values of declared constants: the interpreter
// computes some of them otherwise than Go, or forgets their type.
func (l *lowerer) constants(g *ast.GenDecl) {
	var specs []ast.Spec
	for _, s := range g.Specs {
		v, ok := s.(*ast.ValueSpec)
		if !ok {
			return
		}
		for _, n := range v.Names {
			o, ok := l.c.info.Defs[n].(*types.Const)
			if !ok || o.Val().Kind() == constant.Unknown {
				return
			}
			if n.Name == "_" {
				continue
			}
			spec := &ast.ValueSpec{Doc: v.Doc, Names: []*ast.Ident{n}, Values: []ast.Expr{l.literal(o.Val(), o.Type(), n.Pos())}}
			if b, ok := o.Type().(*types.Basic); !ok || b.Info()&types.IsUntyped == 0 {
				spec.Type = l.typeExpr(o.Type(), n.Pos())
			}
			specs = append(specs, spec)
		}
	}
	g.Specs = specs
	if len(specs) > 1 && !g.Lparen.IsValid() {
		g.Lparen, g.Rparen = g.Pos(), g.Pos()
	}
}

// literal returns an expression of a constant value that is untyped where its
// type is: of the same kind.
func (l *lowerer) literal(v constant.Value, t types.Type, pos token.Pos) ast.Expr {
	text := literalText(v, t)
	x, err := parser.ParseExpr(text)
	if err != nil {
		l.refuse(pos, "internal: constant %s: %v", text, err)
		return ast.NewIdent("0")
	}
	clearPos(x, pos)
	return x
}

func literalText(v constant.Value, t types.Type) string {
	b, _ := t.Underlying().(*types.Basic)
	if b == nil {
		return v.ExactString()
	}
	switch {
	case b.Info()&types.IsComplex != 0:
		re, im := literalText(constant.Real(v), types.Typ[types.UntypedFloat]), literalText(constant.Imag(v), types.Typ[types.UntypedFloat])
		return "(" + re + " + " + im + " * 1i)"
	case b.Info()&types.IsFloat != 0:
		text := constant.ToFloat(v).ExactString()
		if num, den, ok := strings.Cut(text, "/"); ok {
			return "(" + num + ".0/" + den + ".0)"
		}
		if !strings.ContainsAny(text, ".eEpP") {
			text += ".0"
		}
		return text
	case b.Kind() == types.UntypedRune:
		if i, ok := constant.Int64Val(v); ok && i >= 0 && i <= 0x10ffff && (i < 0xd800 || i > 0xdfff) {
			return fmt.Sprintf("'\\U%08x'", i)
		}
	}
	return v.ExactString()
}
