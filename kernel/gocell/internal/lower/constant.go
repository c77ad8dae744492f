package lower

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"go/types"
	"math"
	"strconv"
	"strings"

	"golang.org/x/tools/go/ast/astutil"
)

// writeConstants replaces the values of a constant declaration by their
// results. The interpreter computes some of them otherwise than Go, or forgets
// their type.
func (l *lowerer) writeConstants(g *ast.GenDecl) {
	var specs []ast.Spec
	for _, s := range g.Specs {
		v, ok := s.(*ast.ValueSpec)
		if !ok {
			return
		}
		for _, n := range v.Names {
			o, ok := l.c.Info.Defs[n].(*types.Const)
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

// literal returns a literal of a constant value, of the same kind (integer,
// rune, float) if its type is untyped.
func (l *lowerer) literal(v constant.Value, t types.Type, pos token.Pos) ast.Expr {
	text := literalText(v, t)
	x, err := parser.ParseExpr(text)
	if err != nil {
		l.refuse(pos, "internal: constant %s: %v", text, err)
		return ast.NewIdent("0")
	}
	setPositions(x, pos)
	return x
}

func literalText(v constant.Value, t types.Type) string {
	b, _ := t.Underlying().(*types.Basic)
	if b == nil {
		return v.ExactString()
	}
	switch {
	case b.Info()&types.IsComplex != 0:
		part := types.Typ[types.UntypedFloat]
		if b.Info()&types.IsUntyped == 0 {
			part = types.Typ[types.Float64]
		}
		return "complex(" + literalText(constant.Real(v), part) + ", " + literalText(constant.Imag(v), part) + ")"
	case b.Info()&types.IsFloat != 0:
		if f, _ := constant.Float64Val(v); b.Info()&types.IsUntyped == 0 && !math.IsInf(f, 0) {
			text := strconv.FormatFloat(f, 'g', -1, 64)
			if !strings.ContainsAny(text, ".e") {
				text += ".0"
			}
			return text
		}
		text := constant.ToFloat(v).ExactString()
		if num, den, ok := strings.Cut(text, "/"); ok {
			return "(" + num + ".0/" + den + ".0)"
		}
		if !strings.ContainsAny(text, ".eEpP") {
			text += ".0"
		}
		return text
	case b.Info()&types.IsInteger != 0 && b.Kind() != types.UntypedRune:
		return constant.ToInt(v).ExactString()
	case b.Kind() == types.UntypedRune:
		if i, ok := constant.Int64Val(v); ok && i >= 0 && i <= 0x10ffff && (i < 0xd800 || i > 0xdfff) {
			return fmt.Sprintf("'\\U%08x'", i)
		}
	}
	return v.ExactString()
}

// needsConversion reports whether a constant of type t needs a conversion, as its
// literal alone has another type.
func needsConversion(t types.Type) bool {
	b, ok := t.(*types.Basic)
	if !ok {
		return true
	}
	switch b.Kind() {
	case types.Int, types.Float64, types.Complex128, types.String, types.Bool:
		return false
	}
	return b.Info()&types.IsUntyped == 0
}

// typedLiteral returns an expression of a constant value that has the constant's
// type.
func (l *lowerer) typedLiteral(tv types.TypeAndValue, pos token.Pos) ast.Expr {
	x := l.literal(tv.Value, tv.Type, pos)
	if !needsConversion(tv.Type) {
		return x
	}
	return l.convert(x, tv.Type, pos)
}

// typeFromOther reports whether a constant operand gets its type from the other
// operand, so that its literal needs no conversion.
func (l *lowerer) typeFromOther(x *ast.BinaryExpr, operand ast.Expr) bool {
	other := x.X
	if operand == x.X {
		other = x.Y
	}
	o, c := l.c.Info.Types[other], l.c.Info.Types[operand]
	_, basic := c.Type.(*types.Basic)
	if b, ok := c.Type.Underlying().(*types.Basic); ok && !basic {
		basic = b.Info()&(types.IsInteger|types.IsString) != 0
	}
	return basic && o.Value == nil && types.Identical(o.Type, c.Type) && x.Op != token.SHL && x.Op != token.SHR
}

// divides reports whether a node is a division.
func divides(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.BinaryExpr:
		return n.Op == token.QUO
	case *ast.AssignStmt:
		return n.Tok == token.QUO_ASSIGN
	}
	return false
}

// isZeroFloat reports whether a constant is a zero by which a float or a complex number
// may be divided.
func isZeroFloat(tv types.TypeAndValue) bool {
	if tv.Value == nil {
		return false
	}
	b, ok := tv.Type.Underlying().(*types.Basic)
	return ok && b.Info()&(types.IsFloat|types.IsComplex) != 0 && constant.Sign(tv.Value) == 0
}

// forgotten reports whether the interpreter forgets that a constant is of a type: it
// takes it for a float64 or a complex128.
func forgotten(t types.Type) bool {
	b, ok := t.Underlying().(*types.Basic)
	return ok && b.Info()&(types.IsFloat|types.IsComplex) != 0 && needsConversion(t)
}

func isComplex(t types.Type) bool {
	b, ok := t.Underlying().(*types.Basic)
	return ok && b.Info()&types.IsComplex != 0
}

// foldAt replaces a constant expression by its value. The interpreter computes
// some otherwise than Go.
func foldAt[N ast.Expr](l *lowerer, c *astutil.Cursor, n N) verdict {
	info := l.c.Info
	var x ast.Expr = n
	switch x := x.(type) {
	case *ast.BinaryExpr, *ast.UnaryExpr, *ast.CallExpr, *ast.ParenExpr:
	case *ast.BasicLit: // 1e9 may be of an integer type
		b, ok := info.TypeOf(x).(*types.Basic)
		if divides(c.Parent()) && isZeroFloat(info.Types[x]) {
			break
		}
		if call, isCall := c.Parent().(*ast.CallExpr); isCall && l.isDelete(call) {
			break // the interpreter takes the key for an int
		}
		if !ok || x.Kind != token.FLOAT || b.Info()&types.IsInteger == 0 {
			return goOn
		}
	case *ast.Ident: // of another type than the constant, as that is untyped, or of one that the interpreter forgets
		o, ok := info.Uses[x].(*types.Const)
		if !ok || c.Name() == "Sel" || types.Identical(o.Type(), info.TypeOf(x)) && !forgotten(o.Type()) {
			return goOn
		}
	}
	if _, ok := c.Parent().(*ast.KeyValueExpr); ok && c.Name() == "Key" {
		return goOn
	}
	tv, ok := info.Types[x]
	if !ok || tv.Value == nil || tv.Value.Kind() == constant.Unknown {
		return goOn
	}
	var y ast.Expr
	p, isOperand := c.Parent().(*ast.BinaryExpr)
	switch {
	case divides(c.Parent()) && (isComplex(tv.Type) || isZeroFloat(tv)):
		// The interpreter refuses an untyped zero, and knows no untyped complex(0, 2).
		y = l.convert(l.literal(tv.Value, tv.Type, x.Pos()), tv.Type, x.Pos())
	case isOperand && l.typeFromOther(p, x):
		y = l.literal(tv.Value, tv.Type, x.Pos())
	default:
		y = l.typedLiteral(tv, x.Pos())
	}
	info.Types[y] = tv
	c.Replace(y)
	return skip
}
