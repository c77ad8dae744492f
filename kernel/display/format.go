package display

import (
	"fmt"
	"go/token"
	"go/types"
	"reflect"
	"sort"
	"strconv"
	"strings"
	"unicode/utf8"

	"dace.local/kernel/engine/goroutine"
)

// Limits of a formatted value: enough to see what it is, never so much that it
// floods a notebook. fmt.Print shows everything.
const (
	maxElements = 100
	maxDepth    = 6
	maxPointers = 2 // pointers followed one inside the other
	maxText     = 16 << 10
)

// Format returns a value as text, in Go's syntax where that reads well:
// names of types and fields, strings in quotes, long slices and maps cut. A
// value with a method Error or String is shown by it. t is the value's type
// as cells see it: interpreted types have names only there; nil where it is
// not known.
func Format(v any, t types.Type) string {
	f := formatter{seen: map[uintptr]bool{}}
	rv := reflect.ValueOf(v)
	if text, ok := own(rv); ok {
		return text
	}
	f.value(rv, t, 0, true)
	s := f.b.String()
	if len(s) > maxText {
		cut := maxText
		for cut > 0 && !utf8.RuneStart(s[cut]) {
			cut--
		}
		s = s[:cut] + "…"
	}
	return s
}

type formatter struct {
	b    strings.Builder
	seen map[uintptr]bool // pointers on the way
}

// An Unwrapper takes a value out of what an interpreter wraps it in, and tells
// the name of its type; ok is false for a value that is not wrapped.
type Unwrapper func(v reflect.Value) (inner reflect.Value, name string, ok bool)

// textOf returns what a method Error or String of an interpreted type says of
// a value; ok is false where it has none. The cell that runs knows.
func textOf(v reflect.Value, t types.Type) (text string, ok bool) {
	if c, ok := goroutine.Value().(interface {
		Text(reflect.Value, types.Type) (string, bool)
	}); ok {
		return c.Text(v, t)
	}
	return "", false
}

var unwrap Unwrapper = func(v reflect.Value) (reflect.Value, string, bool) { return v, "", false }

// SetUnwrapper registers the interpreter's way to look inside its wrappers.
func SetUnwrapper(u Unwrapper) { unwrap = u }

// own returns what a value's own method says, recovering from its panic (a nil
// receiver, mostly).
func own(v reflect.Value) (text string, ok bool) {
	if !v.IsValid() || !v.CanInterface() {
		return "", false
	}
	defer func() {
		if recover() != nil {
			text, ok = "", false
		}
	}()
	switch x := v.Interface().(type) {
	case error:
		return x.Error(), true
	case fmt.Stringer:
		return x.String(), true
	}
	return "", false
}

// typeName names a type as a person in a cell would.
func typeName(t types.Type, v reflect.Value) string {
	if t != nil {
		return types.TypeString(t, func(p *types.Package) string {
			if p.Path() == "main" {
				return ""
			}
			return p.Name()
		})
	}
	return strings.ReplaceAll(v.Type().String(), "interface {}", "any")
}

// named reports whether a type has a name to show.
func named(t types.Type, v reflect.Value) bool {
	if t != nil {
		_, ok := types.Unalias(t).(*types.Named)
		return ok
	}
	return v.Type().Name() != "" && v.Type().PkgPath() != ""
}

func elem(t types.Type) types.Type {
	if t == nil {
		return nil
	}
	switch u := t.Underlying().(type) {
	case *types.Slice:
		return u.Elem()
	case *types.Array:
		return u.Elem()
	case *types.Pointer:
		return u.Elem()
	case *types.Map:
		return u.Elem()
	}
	return nil
}

func (f *formatter) value(v reflect.Value, t types.Type, depth int, top bool) {
	if f.b.Len() > maxText {
		return
	}
	if !v.IsValid() {
		f.b.WriteString("<nil>")
		return
	}
	if depth > 0 {
		if text, ok := own(v); ok {
			f.b.WriteString(text)
			return
		}
		if t != nil && !types.IsInterface(t) {
			if text, ok := textOf(v, t); ok {
				f.b.WriteString(text)
				return
			}
		}
	}
	if v.Kind() == reflect.Struct {
		if inner, name, ok := unwrap(v); ok {
			if inner.Kind() == reflect.Struct {
				f.b.WriteString(name)
			}
			f.value(inner, nil, depth, top)
			return
		}
	}
	if depth > maxDepth {
		f.b.WriteString("…")
		return
	}
	if t != nil && !fits(v, t) {
		t = nil
	}
	switch v.Kind() {
	case reflect.Bool:
		f.b.WriteString(strconv.FormatBool(v.Bool()))
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		f.b.WriteString(strconv.FormatInt(v.Int(), 10))
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		f.b.WriteString(strconv.FormatUint(v.Uint(), 10))
	case reflect.Uintptr:
		fmt.Fprintf(&f.b, "%#x", v.Uint())
	case reflect.Float32:
		f.b.WriteString(strconv.FormatFloat(v.Float(), 'g', -1, 32))
	case reflect.Float64:
		f.b.WriteString(strconv.FormatFloat(v.Float(), 'g', -1, 64))
	case reflect.Complex64, reflect.Complex128:
		fmt.Fprint(&f.b, v.Complex())
	case reflect.String:
		// A text of several lines reads better as it is.
		if s := v.String(); top && strings.Contains(s, "\n") {
			f.b.WriteString(s)
		} else {
			f.b.WriteString(strconv.Quote(s))
		}
	case reflect.Interface:
		if v.IsNil() {
			f.b.WriteString("<nil>")
			return
		}
		f.value(v.Elem(), nil, depth, top)
	case reflect.Pointer:
		f.pointer(v, t, depth)
	case reflect.Slice, reflect.Array:
		f.list(v, t, depth, top)
	case reflect.Map:
		f.mapping(v, t, depth, top)
	case reflect.Struct:
		f.structure(v, t, depth)
	case reflect.Func, reflect.Chan, reflect.UnsafePointer:
		f.b.WriteString(typeName(t, v))
		if v.IsNil() {
			f.b.WriteString("(nil)")
		}
	default:
		fmt.Fprintf(&f.b, "%v", v)
	}
}

// fits reports whether a type can be that of a value: interpreted interfaces
// and recursive types may stand for others.
func fits(v reflect.Value, t types.Type) bool {
	switch u := t.Underlying().(type) {
	case *types.Basic:
		return v.Kind() != reflect.Struct && v.Kind() != reflect.Pointer
	case *types.Struct:
		return v.Kind() == reflect.Struct && v.NumField() == u.NumFields()
	case *types.Pointer:
		return v.Kind() == reflect.Pointer
	case *types.Slice:
		return v.Kind() == reflect.Slice
	case *types.Array:
		return v.Kind() == reflect.Array
	case *types.Map:
		return v.Kind() == reflect.Map
	case *types.Signature:
		return v.Kind() == reflect.Func
	case *types.Chan:
		return v.Kind() == reflect.Chan
	}
	return false
}

func (f *formatter) pointer(v reflect.Value, t types.Type, depth int) {
	if v.IsNil() {
		f.b.WriteString("<nil>")
		return
	}
	if k := v.Elem().Kind(); depth > 0 && k != reflect.Struct || f.seen[v.Pointer()] || len(f.seen) >= maxPointers {
		f.b.WriteString("(" + typeName(t, v) + ")(…)")
		return
	}
	f.seen[v.Pointer()] = true
	f.b.WriteByte('&')
	f.value(v.Elem(), elem(t), depth+1, false)
	delete(f.seen, v.Pointer())
}

func (f *formatter) list(v reflect.Value, t types.Type, depth int, top bool) {
	if v.Kind() == reflect.Slice && v.IsNil() {
		f.b.WriteString(typeName(t, v) + "(nil)")
		return
	}
	if top || named(t, v) {
		f.b.WriteString(typeName(t, v))
	}
	n := v.Len()
	if v.Kind() == reflect.Slice && v.Type().Elem().Kind() == reflect.Uint8 && n > 0 && utf8.Valid(v.Bytes()) && printable(v.Bytes()) {
		fmt.Fprintf(&f.b, "(%q)", v.Bytes()[:min(n, 10*maxElements)])
		return
	}
	f.b.WriteByte('{')
	for i := range n {
		if i == maxElements {
			fmt.Fprintf(&f.b, ", … %d more", n-i)
			break
		}
		if i > 0 {
			f.b.WriteString(", ")
		}
		f.value(v.Index(i), elem(t), depth+1, false)
	}
	f.b.WriteByte('}')
}

func printable(b []byte) bool {
	for _, c := range b {
		if c < ' ' && c != '\n' && c != '\t' && c != '\r' {
			return false
		}
	}
	return true
}

func (f *formatter) mapping(v reflect.Value, t types.Type, depth int, top bool) {
	if v.IsNil() {
		f.b.WriteString(typeName(t, v) + "(nil)")
		return
	}
	if top || named(t, v) {
		f.b.WriteString(typeName(t, v))
	}
	var kt types.Type
	if t != nil {
		if m, ok := t.Underlying().(*types.Map); ok {
			kt = m.Key()
		}
	}
	keys := v.MapKeys()
	sort.Slice(keys, func(i, j int) bool { return keyLess(keys[i], keys[j]) })
	f.b.WriteByte('{')
	for i, k := range keys {
		if i == maxElements {
			fmt.Fprintf(&f.b, ", … %d more", len(keys)-i)
			break
		}
		if i > 0 {
			f.b.WriteString(", ")
		}
		f.value(k, kt, depth+1, false)
		f.b.WriteString(": ")
		f.value(v.MapIndex(k), elem(t), depth+1, false)
	}
	f.b.WriteByte('}')
}

// keyLess orders the keys of a map.
func keyLess(a, b reflect.Value) bool {
	for a.Kind() == reflect.Interface && !a.IsNil() {
		a = a.Elem()
	}
	for b.Kind() == reflect.Interface && !b.IsNil() {
		b = b.Elem()
	}
	if a.Kind() == b.Kind() {
		switch {
		case a.CanInt():
			return a.Int() < b.Int()
		case a.CanUint():
			return a.Uint() < b.Uint()
		case a.CanFloat():
			return a.Float() < b.Float()
		}
	}
	return fmt.Sprint(a) < fmt.Sprint(b)
}

func (f *formatter) structure(v reflect.Value, t types.Type, depth int) {
	if t != nil || v.Type().Name() != "" {
		if n := typeName(t, v); !strings.HasPrefix(n, "struct{") {
			f.b.WriteString(n)
		}
	}
	var st *types.Struct
	if t != nil {
		st, _ = t.Underlying().(*types.Struct)
	}
	f.b.WriteByte('{')
	for i := range v.NumField() {
		if i > 0 {
			f.b.WriteString(", ")
		}
		name := v.Type().Field(i).Name
		if v.Type().Name() == "" {
			// The interpreter puts an X before names that are not exported.
			if n, ok := strings.CutPrefix(name, "X"); ok && n != "" && !token.IsExported(n) {
				name = n
			}
		}
		var ft types.Type
		if st != nil {
			name, ft = st.Field(i).Name(), st.Field(i).Type()
		}
		f.b.WriteString(name + ": ")
		f.value(v.Field(i), ft, depth+1, false)
	}
	f.b.WriteByte('}')
}
