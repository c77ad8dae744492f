package gocell

import (
	"cmp"
	"fmt"
	"go/types"
	"reflect"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// Package fmt calls no methods of what a struct keeps in unexported fields. Of
// the types that cells declare it would, since their fields are all exported
// to reflection: the interpreter sets them by it. So an argument that may hold
// such a field formats itself, as fmt would.

// An argument is a value that formats itself.
type argument struct{ v reflect.Value }

// formatted makes arguments of the values that package fmt would get wrong.
func formatted(args []any) []any {
	out := args
	for i, a := range args {
		switch a.(type) {
		case nil, string, int, float64, bool, error, argument:
			continue
		}
		if v := reflect.ValueOf(a); mayHide(v.Type()) {
			if &out[0] == &args[0] {
				out = slices.Clone(args)
			}
			out[i] = argument{v}
		}
	}
	return out
}

var hiding sync.Map // reflect.Type: bool

// mayHide reports whether a value of type t may hold an unexported field of a
// cell's type.
func mayHide(t reflect.Type) bool {
	if b, ok := hiding.Load(t); ok {
		return b.(bool)
	}
	b := hides(t, map[reflect.Type]bool{})
	hiding.Store(t, b)
	return b
}

func hides(t reflect.Type, seen map[reflect.Type]bool) bool {
	if seen[t] {
		return false
	}
	seen[t] = true
	switch t.Kind() {
	case reflect.Interface:
		return true
	case reflect.Pointer, reflect.Slice, reflect.Array:
		return hides(t.Elem(), seen)
	case reflect.Map:
		return hides(t.Key(), seen) || hides(t.Elem(), seen)
	case reflect.Struct:
		for i := range t.NumField() {
			if f := t.Field(i); hidden(f) || f.PkgPath == "" && hides(f.Type, seen) {
				return true
			}
		}
	}
	return false
}

// hidden reports whether a field of a cell's type is not exported.
func hidden(f reflect.StructField) bool {
	r, _ := utf8.DecodeRuneInString(f.Name)
	return f.PkgPath == "" && !unicode.IsUpper(r)
}

// The verbs that package fmt answers itself reach an argument under these.
const (
	verbType    = '\ue000'
	verbPointer = '\ue001'
)

// Format implements fmt.Formatter.
func (a argument) Format(st fmt.State, verb rune) {
	p := printer{st: st, verb: verb}
	switch verb {
	case verbType:
		p.verb = 's'
		p.plain(a.v.Type().String())
	case verbPointer:
		p.verb = 'p'
		p.plain(a.v.Interface())
	default:
		p.value(a.v, 0)
	}
}

// printer formats values the way that package fmt does.
type printer struct {
	st     fmt.State
	verb   rune
	hidden bool // inside a field that is not exported
}

func (p printer) plain(v any)    { fmt.Fprintf(p.st, fmt.FormatString(p.st, p.verb), v) }
func (p printer) text(s string)  { _, _ = p.st.Write([]byte(s)) }
func (p printer) goSyntax() bool { return p.verb == 'v' && p.st.Flag('#') }

// maxNested is how deep values may lie in one another: one that contains itself
// would use up the stack, which no recover stops.
const maxNested = 10000

func (p printer) value(v reflect.Value, depth int) {
	if depth > maxNested {
		panic(goError("stack overflow: the value contains itself"))
	}
	if !v.IsValid() {
		p.null()
		return
	}
	if !v.CanInterface() {
		p.plain(v) // fmt takes a Value for what it holds
		return
	}
	if v.Kind() != reflect.Interface && !mayHide(v.Type()) && !p.hidden && !(v.Kind() == reflect.Pointer && depth > 0) {
		p.plain(v.Interface())
		return
	}
	if !p.hidden && v.Kind() != reflect.Interface && p.methods(v) {
		return
	}
	switch v.Kind() {
	case reflect.Interface:
		if v.IsNil() {
			if p.goSyntax() {
				p.text(v.Type().String() + "(nil)")
			} else {
				p.null()
			}
			return
		}
		p.value(v.Elem(), depth+1)
	case reflect.Map:
		p.mapping(v, depth)
	case reflect.Struct:
		if p.goSyntax() {
			p.text(v.Type().String())
		}
		p.text("{")
		for i := range v.NumField() {
			p.separator(i)
			f := v.Type().Field(i)
			if p.goSyntax() || p.verb == 'v' && p.st.Flag('+') {
				p.text(f.Name + ":")
			}
			q := p
			q.hidden = p.hidden || hidden(f)
			x := v.Field(i)
			if x.Kind() == reflect.Interface && !x.IsNil() {
				x = x.Elem() // as fmt's getField
			}
			q.value(x, depth+1)
		}
		p.text("}")
	case reflect.Slice, reflect.Array:
		p.list(v, depth)
	case reflect.Pointer:
		p.pointer(v, depth)
	default:
		p.bare(v)
	}
}

// bare formats a value without its methods.
func (p printer) bare(v reflect.Value) {
	switch k := v.Kind(); {
	case p.goSyntax():
		p.plain(v.Interface())
	case v.CanInt():
		p.plain(v.Int())
	case v.CanUint():
		p.plain(v.Uint())
	case k == reflect.Float32:
		p.plain(float32(v.Float()))
	case k == reflect.Float64:
		p.plain(v.Float())
	case k == reflect.Complex64:
		p.plain(complex64(v.Complex()))
	case k == reflect.Complex128:
		p.plain(v.Complex())
	case k == reflect.String:
		p.plain(v.String())
	case k == reflect.Bool:
		p.plain(v.Bool())
	default:
		p.plain(v.Interface())
	}
}

// null formats a nil interface.
func (p printer) null() {
	if p.verb == 'v' || p.verb == 's' {
		p.plain(nil)
		return
	}
	fmt.Fprintf(p.st, "%%!%c(<nil>)", p.verb)
}

func (p printer) separator(i int) {
	switch {
	case i == 0:
	case p.goSyntax():
		p.text(", ")
	default:
		p.text(" ")
	}
}

func (p printer) list(v reflect.Value, depth int) {
	if v.Type().Elem().Kind() == reflect.Uint8 && strings.ContainsRune("sqxX", p.verb) {
		p.plain(v.Interface())
		return
	}
	open, end := "[", "]"
	if p.goSyntax() {
		if v.Kind() == reflect.Slice && v.IsNil() {
			p.text(v.Type().String() + "(nil)")
			return
		}
		open, end = v.Type().String()+"{", "}"
	}
	p.text(open)
	for i := range v.Len() {
		p.separator(i)
		p.value(v.Index(i), depth+1)
	}
	p.text(end)
}

func (p printer) mapping(v reflect.Value, depth int) {
	open, end := "map[", "]"
	if p.goSyntax() {
		if v.IsNil() {
			p.text(v.Type().String() + "(nil)")
			return
		}
		open, end = v.Type().String()+"{", "}"
	}
	p.text(open)
	keys := v.MapKeys()
	slices.SortStableFunc(keys, compareKeys)
	for i, k := range keys {
		p.separator(i)
		p.value(k, depth+1)
		p.text(":")
		p.value(v.MapIndex(k), depth+1)
	}
	p.text(end)
}

// compareKeys orders keys as fmt does.
func compareKeys(a, b reflect.Value) int {
	for a.Kind() == reflect.Interface && !a.IsNil() {
		a = a.Elem()
	}
	for b.Kind() == reflect.Interface && !b.IsNil() {
		b = b.Elem()
	}
	if a.Kind() != b.Kind() {
		return cmp.Compare(a.Kind(), b.Kind())
	}
	switch {
	case a.CanInt():
		return cmp.Compare(a.Int(), b.Int())
	case a.CanUint():
		return cmp.Compare(a.Uint(), b.Uint())
	case a.CanFloat():
		return cmp.Compare(a.Float(), b.Float())
	case a.Kind() == reflect.String:
		return cmp.Compare(a.String(), b.String())
	case a.Kind() == reflect.Struct:
		for i := range a.NumField() {
			if c := compareKeys(a.Field(i), b.Field(i)); c != 0 {
				return c
			}
		}
	case a.Kind() == reflect.Array:
		for i := range a.Len() {
			if c := compareKeys(a.Index(i), b.Index(i)); c != 0 {
				return c
			}
		}
	case a.Kind() == reflect.Bool && a.Bool() != b.Bool():
		if b.Bool() {
			return -1
		}
		return 1
	case a.Kind() == reflect.Pointer:
		return cmp.Compare(a.Pointer(), b.Pointer())
	}
	return 0
}

func (p printer) pointer(v reflect.Value, depth int) {
	if depth == 0 && !v.IsNil() {
		switch v.Elem().Kind() {
		case reflect.Array, reflect.Slice, reflect.Struct, reflect.Map:
			p.text("&")
			p.value(v.Elem(), depth+1)
			return
		}
	}
	switch {
	case p.goSyntax() && v.IsNil():
		p.text("(" + v.Type().String() + ")(nil)")
	case p.goSyntax():
		fmt.Fprintf(p.st, "(%s)(%#x)", v.Type(), v.Pointer())
	case v.IsNil() && p.verb == 'v':
		p.text("<nil>")
	default:
		p.plain(v.UnsafePointer())
	}
}

// methods formats a value by a method of its type; it reports whether it did.
func (p printer) methods(v reflect.Value) bool {
	x := v.Interface()
	if _, ok := x.(fmt.Formatter); ok {
		p.plain(x)
		return true
	}
	if p.goSyntax() {
		if _, ok := x.(fmt.GoStringer); ok {
			p.plain(x)
			return true
		}
		return false
	}
	if strings.ContainsRune("vsxXq", p.verb) {
		switch x.(type) {
		case error, fmt.Stringer:
			p.plain(x)
			return true
		}
	}
	return false
}

// goType returns the name of a type as package reflect writes it.
func goType(t types.Type) string { return goTypeIn(t, false) }

// goTypeIn returns the name of a type as package reflect writes it, also as an
// argument of a generic type: there with import paths, and local types with
// their numbers.
func goTypeIn(t types.Type, arg bool) string {
	tuple := func(tt *types.Tuple, variadic bool) string {
		var l []string
		for i := range tt.Len() {
			s := goTypeIn(tt.At(i).Type(), arg)
			if variadic && i == tt.Len()-1 {
				s = "..." + strings.TrimPrefix(s, "[]")
			}
			l = append(l, s)
		}
		return strings.Join(l, ", ")
	}
	signature := func(s *types.Signature) string {
		r := tuple(s.Results(), false)
		if s.Results().Len() > 1 {
			r = "(" + r + ")"
		}
		if r != "" {
			r = " " + r
		}
		return "(" + tuple(s.Params(), s.Variadic()) + ")" + r
	}
	qualified := func(o types.Object) string {
		if o.Exported() || o.Pkg() == nil {
			return o.Name()
		}
		return o.Pkg().Name() + "." + o.Name()
	}
	switch t := types.Unalias(t).(type) {
	case *types.Basic:
		switch t.Kind() {
		case types.Byte:
			return "uint8"
		case types.Rune:
			return "int32"
		case types.UnsafePointer:
			return "unsafe.Pointer"
		}
		return types.Default(t).String()
	case *types.Named:
		p := t.Obj().Pkg()
		switch {
		case p == nil:
			return t.Obj().Name()
		case arg:
			return p.Path() + "." + typeName(t) + localNumber(t.Obj())
		}
		return p.Name() + "." + typeName(t)
	case *types.Pointer:
		return "*" + goTypeIn(t.Elem(), arg)
	case *types.Slice:
		return "[]" + goTypeIn(t.Elem(), arg)
	case *types.Array:
		return fmt.Sprintf("[%d]%s", t.Len(), goTypeIn(t.Elem(), arg))
	case *types.Map:
		return "map[" + goTypeIn(t.Key(), arg) + "]" + goTypeIn(t.Elem(), arg)
	case *types.Chan:
		elem := goTypeIn(t.Elem(), arg)
		if e, ok := types.Unalias(t.Elem()).(*types.Chan); ok && e.Dir() == types.RecvOnly && t.Dir() != types.SendOnly {
			elem = "(" + elem + ")"
		}
		return [...]string{"chan ", "chan<- ", "<-chan "}[t.Dir()] + elem
	case *types.Signature:
		return "func" + signature(t)
	case *types.Struct:
		if t.NumFields() == 0 {
			return "struct {}"
		}
		var l []string
		for i := range t.NumFields() {
			f := t.Field(i)
			s := goTypeIn(f.Type(), arg)
			switch {
			case f.Embedded() && arg && isInstance(f.Type()):
				s = f.Name() + " = " + s
			case f.Embedded():
			case arg:
				s = qualified(f) + " " + s
			default:
				s = f.Name() + " " + s
			}
			if tag := t.Tag(i); tag != "" {
				s += " " + quote(tag)
			}
			l = append(l, s)
		}
		return "struct { " + strings.Join(l, "; ") + " }"
	case *types.Interface:
		if t.NumMethods() == 0 {
			return "interface {}"
		}
		var l []string
		for m := range t.Methods() {
			l = append(l, qualified(m)+signature(m.Signature()))
		}
		return "interface { " + strings.Join(l, "; ") + " }"
	}
	return t.String()
}

// ownVerbs rewrites %T and %p where they format an argument: package fmt would
// answer them for the argument itself.
func ownVerbs(format string, args []any) string {
	if !slices.ContainsFunc(args, func(a any) bool { _, ok := a.(argument); return ok }) {
		return format
	}
	var b strings.Builder
	arg := 0
	for i := 0; i < len(format); {
		c := format[i]
		b.WriteByte(c)
		i++
		if c != '%' {
			continue
		}
		for i < len(format) {
			r, n := utf8.DecodeRuneInString(format[i:])
			i += n
			if strings.ContainsRune("+-# 0123456789.", r) {
				b.WriteRune(r)
				continue
			}
			if r == '*' {
				arg++
				b.WriteRune(r)
				continue
			}
			if r == '[' {
				k := 0
				b.WriteRune(r)
				for i < len(format) && format[i] != ']' {
					if d := format[i]; '0' <= d && d <= '9' {
						k = k*10 + int(d-'0')
					}
					b.WriteByte(format[i])
					i++
				}
				arg = k - 1
				if i < len(format) {
					b.WriteByte(']')
					i++
				}
				continue
			}
			if r != '%' {
				if arg >= 0 && arg < len(args) {
					if _, ok := args[arg].(argument); ok {
						switch r {
						case 'T':
							r = verbType
						case 'p':
							r = verbPointer
						}
					}
				}
				arg++
			}
			b.WriteRune(r)
			break
		}
	}
	return b.String()
}
