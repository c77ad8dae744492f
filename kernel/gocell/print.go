package gocell

import (
	"go/ast"
	"go/token"
	"go/types"
	"os"
	"reflect"
	"strconv"
	"unsafe"
)

// print and println write to standard error what Go's run time does: numbers
// and strings as they are, of all else where it is. Types do not matter, nor
// the methods that they have.

// printed rewrites a call of print or println: Print(ln, "vi", x, y), where i
// stands for an interface, v for another value.
func (l *lowerer) printed(x *ast.CallExpr) {
	info := l.c.info
	id, ok := ast.Unparen(x.Fun).(*ast.Ident)
	if !ok {
		return
	}
	b, ok := info.Uses[id].(*types.Builtin)
	if !ok || b.Name() != "print" && b.Name() != "println" {
		return
	}
	m := maker{x.Pos()}
	kinds := ""
	note := func(t types.Type) {
		kind := "v"
		switch t.Underlying().(type) {
		case *types.Struct, *types.Array:
			l.refuse(x.Pos(), "illegal types for operand: %s\n\t%s", b.Name(), types.TypeString(t, shortName))
		case *types.Interface:
			kind = "i"
		}
		kinds += kind
	}
	x.Fun = l.rt("Print", m.pos)
	ln := m.id(strconv.FormatBool(b.Name() == "println"))
	text := func() ast.Expr { return &ast.BasicLit{ValuePos: m.pos, Kind: token.STRING, Value: quote(kinds)} }
	if len(x.Args) == 1 {
		if many, ok := info.TypeOf(x.Args[0]).(*types.Tuple); ok {
			var params []*ast.Field
			var args []ast.Expr
			for v := range many.Variables() {
				p := mark + "p" + itoa(len(params))
				note(v.Type())
				params = append(params, m.field(p, l.typeExpr(v.Type(), m.pos)))
				args = append(args, l.asAny(m.id(p), v.Type()))
			}
			x.Fun = m.funcLit(params, nil, &ast.ExprStmt{X: call(x.Fun, m.pos, append([]ast.Expr{ln, text()}, args...)...)})
			return
		}
	}
	args := make([]ast.Expr, len(x.Args))
	for i, a := range x.Args {
		tv := info.Types[a]
		tv.Type = types.Default(tv.Type)
		note(tv.Type)
		if tv.Value != nil {
			args[i] = l.constant(tv, a.Pos())
		} else {
			args[i] = l.asAny(a, tv.Type)
		}
	}
	x.Args = append([]ast.Expr{ln, text()}, args...)
}

// asAny converts a slice to any; the interpreter would take it for all of a
// function's variadic arguments.
func (l *lowerer) asAny(x ast.Expr, t types.Type) ast.Expr {
	if _, ok := t.Underlying().(*types.Slice); !ok {
		return x
	}
	pos := x.Pos()
	y := l.convert(x, anyType, pos)
	if tv, ok := l.c.info.Types[x]; ok {
		tv.Type = anyType
		l.c.info.Types[y] = tv
	}
	return y
}

var anyType = types.Universe.Lookup("any").Type()

// print is the run time's side.
func (s *Session) print(ln bool, kinds string, args ...any) {
	var b []byte
	for i, x := range args {
		if ln && i > 0 {
			b = append(b, ' ')
		}
		b = appendPrinted(b, x, kinds[i] == 'i')
	}
	if ln {
		b = append(b, '\n')
	}
	r := s.cell()
	if r == nil {
		os.Stderr.Write(b)
		return
	}
	if !s.opts.KeepStdio {
		stdio.flush()
	}
	r.out.Stderr(string(b))
}

// appendPrinted appends x as print does; iface says that it stands in an
// interface.
func appendPrinted(b []byte, x any, iface bool) []byte {
	hex := func(p unsafe.Pointer) { b = strconv.AppendUint(append(b, "0x"...), uint64(uintptr(p)), 16) }
	words := *(*[2]unsafe.Pointer)(unsafe.Pointer(&x)) // its type, and where it is
	if iface {
		b = append(b, '(')
		hex(words[0])
		b = append(b, ',')
		hex(words[1])
		return append(b, ')')
	}
	switch v := reflect.ValueOf(x); v.Kind() {
	case reflect.Bool:
		b = strconv.AppendBool(b, v.Bool())
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		b = strconv.AppendInt(b, v.Int(), 10)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		b = strconv.AppendUint(b, v.Uint(), 10)
	case reflect.Float32, reflect.Float64:
		b = strconv.AppendFloat(b, v.Float(), 'g', -1, v.Type().Bits())
	case reflect.Complex64, reflect.Complex128:
		b = append(b, strconv.FormatComplex(v.Complex(), 'g', -1, v.Type().Bits())...)
	case reflect.String:
		b = append(b, v.String()...)
	case reflect.Slice:
		b = append(b, '[')
		b = append(strconv.AppendInt(b, int64(v.Len()), 10), '/')
		b = append(strconv.AppendInt(b, int64(v.Cap()), 10), ']')
		hex(v.UnsafePointer())
	default: // pointers of all kinds
		hex(words[1])
	}
	return b
}
