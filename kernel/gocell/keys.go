package gocell

import (
	"cmp"
	"context"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"dace.local/kernel/gocell/internal/cell"
	"dace.local/kernel/gocell/internal/vm"
)

// mostKeys is how many keys of a map are offered.
const mostKeys = 500

// around returns the expression whose key a literal that begins at an offset is, m of
// m["a and delete(m, "a; or whose method it is an argument of, f of f.Floats("a, and then
// keys is false. It is nil if it is none of these, or an expression that has to be
// evaluated: then keys says what it would be.
func around(code string, offset int) (x ast.Expr, keys bool) {
	list, _, _ := cell.Tokens(code[:offset])
	end := len(list)
	if end > 0 && list[end-1].Kind == token.LBRACK {
		x, _ = operand(code, list[:end-1])
		return x, true
	}
	if end > 0 && list[end-1].Kind == token.COMMA {
		x, from := operand(code, list[:end-1])
		if x != nil && from > 1 && list[from-1].Kind == token.LPAREN && list[from-2].Text == "delete" {
			return x, true
		}
	}
	for depth := 0; end > 0; end-- { // to the bracket of the call
		switch list[end-1].Kind {
		case token.RPAREN, token.RBRACK, token.RBRACE:
			depth++
		case token.LPAREN, token.LBRACK, token.LBRACE:
			depth--
		case token.SEMICOLON:
			if depth == 0 {
				return nil, false
			}
		}
		if depth < 0 {
			break
		}
	}
	if end < 4 || list[end-1].Kind != token.LPAREN || list[end-2].Kind != token.IDENT || list[end-3].Kind != token.PERIOD ||
		strings.HasPrefix(list[end-2].Text, "Write") || strings.HasPrefix(list[end-2].Text, "Read") {
		return nil, false
	}
	x, _ = operand(code, list[:end-3])
	return x, false
}

// operand returns the expression of names, fields and indices that tokens end with, and
// the index of the first of them.
func operand(code string, list []cell.Token) (x ast.Expr, from int) {
	from = len(list)
	for from > 0 {
		switch t := list[from-1]; {
		case t.Kind == token.IDENT:
			from--
			if from > 0 && list[from-1].Kind == token.PERIOD {
				from--
				continue
			}
		case t.Kind == token.RBRACK && from > 2 && list[from-3].Kind == token.LBRACK:
			from -= 3
			continue
		}
		break
	}
	if from == len(list) {
		return nil, from
	}
	x, err := parser.ParseExpr(code[list[from].Offset:list[len(list)-1].End])
	if err != nil {
		return nil, from
	}
	return x, from
}

// What keysOf returns.
type keysAs int

const (
	columnNames keysAs = iota // of a frame
	textKeys                  // of a map with keys of text, as they stand between quotes
	literalKeys               // of a map with keys of text or integers, as they are written
)

// keysOf returns the keys of a map that an expression is, or the names of the columns
// of a frame; nil while a cell runs, or where it is neither.
func (s *Session) keysOf(x ast.Expr, as keysAs) (list []string) {
	release, idle := s.idle(context.Background())
	defer release()
	if !idle {
		return nil
	}
	defer func() {
		if recover() != nil { // a method of a value
			list = nil
		}
	}()
	v := s.valueOf(x)
	if !v.IsValid() {
		return nil
	}
	if as == columnNames {
		if f, ok := v.Interface().(interface{ Names() []string }); ok {
			return quotable(f.Names())
		}
		return nil
	}
	if v.Kind() != reflect.Map {
		return nil
	}
	kind := v.Type().Key().Kind()
	if kind != reflect.String && (as == textKeys || kind < reflect.Int || kind > reflect.Uintptr) {
		return nil
	}
	var all []reflect.Value
	vm.WithMaps(false, func() {
		for it := v.MapRange(); it.Next() && len(all) < mostKeys; {
			all = append(all, it.Key())
		}
	}, v.Interface())
	slices.SortFunc(all, func(a, b reflect.Value) int {
		switch {
		case kind == reflect.String:
			return strings.Compare(a.String(), b.String())
		case a.CanInt():
			return cmp.Compare(a.Int(), b.Int())
		}
		return cmp.Compare(a.Uint(), b.Uint())
	})
	list = []string{}
	for _, key := range all {
		switch {
		case kind == reflect.String && as == literalKeys:
			list = append(list, strconv.Quote(key.String()))
		case kind == reflect.String:
			list = append(list, key.String())
		default:
			list = append(list, fmt.Sprint(key))
		}
	}
	if as == textKeys {
		return quotable(list)
	}
	return list
}

// quotable drops what cannot stand between quotes as it is.
func quotable(list []string) []string {
	return slices.DeleteFunc(list, func(s string) bool { return strconv.Quote(s) != `"`+s+`"` })
}

// valueOf returns the value of an expression of names, fields and indices; not valid
// where it has none.
func (s *Session) valueOf(x ast.Expr) (v reflect.Value) {
	switch x := x.(type) {
	case *ast.Ident:
		v, _ = s.global(x.Name)
	case *ast.SelectorExpr:
		v = s.valueOf(x.X)
		if v.Kind() == reflect.Pointer {
			v = v.Elem()
		}
		if v.Kind() != reflect.Struct {
			return reflect.Value{}
		}
		f := v.FieldByName(x.Sel.Name)
		if !f.IsValid() {
			f = v.FieldByName(cell.ExportMark + x.Sel.Name)
		}
		if f.CanAddr() { // also a field that is not exported
			f = reflect.NewAt(f.Type(), f.Addr().UnsafePointer()).Elem()
		}
		v = f
	case *ast.IndexExpr:
		lit, ok := x.Index.(*ast.BasicLit)
		v = s.valueOf(x.X)
		if !ok || !v.IsValid() {
			return reflect.Value{}
		}
		switch v.Kind() {
		case reflect.Map:
			key, err := strconv.Unquote(lit.Value)
			if err != nil || v.Type().Key().Kind() != reflect.String {
				return reflect.Value{}
			}
			at := v
			vm.WithMaps(false, func() { v = at.MapIndex(reflect.ValueOf(key).Convert(at.Type().Key())) }, at.Interface())
		case reflect.Slice, reflect.Array:
			i, err := strconv.Atoi(lit.Value)
			if err != nil || i >= v.Len() {
				return reflect.Value{}
			}
			v = v.Index(i)
		default:
			return reflect.Value{}
		}
	}
	if v.Kind() == reflect.Interface {
		v = v.Elem()
	}
	return v
}
