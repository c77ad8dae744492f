package display

import (
	"fmt"
	"reflect"
	"sort"
	"strconv"
	"strings"
	"unicode/utf8"
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
// value with a method Error or String is shown by it.
func Format(v any) string {
	f := formatter{seen: map[uintptr]bool{}}
	rv := reflect.ValueOf(v)
	if text, ok := own(rv); ok {
		return text
	}
	f.value(rv, 0, true)
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
func typeName(v reflect.Value) string {
	return strings.NewReplacer("main.", "", "interface {}", "any", "[]uint8", "[]byte").Replace(v.Type().String())
}

// named reports whether a type has a name to show.
func named(v reflect.Value) bool { return v.Type().Name() != "" && v.Type().PkgPath() != "" }

func (f *formatter) value(v reflect.Value, depth int, top bool) {
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
	}
	if depth > maxDepth {
		f.b.WriteString("…")
		return
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
		f.value(v.Elem(), depth, top)
	case reflect.Pointer:
		f.pointer(v, depth)
	case reflect.Slice, reflect.Array:
		f.list(v, depth, top)
	case reflect.Map:
		f.mapping(v, depth, top)
	case reflect.Struct:
		f.structure(v, depth)
	case reflect.Func, reflect.Chan, reflect.UnsafePointer:
		f.b.WriteString(typeName(v))
		if v.IsNil() {
			f.b.WriteString("(nil)")
		}
	default:
		fmt.Fprintf(&f.b, "%v", v)
	}
}

func (f *formatter) pointer(v reflect.Value, depth int) {
	if v.IsNil() {
		f.b.WriteString("<nil>")
		return
	}
	if k := v.Elem().Kind(); depth > 0 && k != reflect.Struct || f.seen[v.Pointer()] || len(f.seen) >= maxPointers {
		f.b.WriteString("(" + typeName(v) + ")(…)")
		return
	}
	f.seen[v.Pointer()] = true
	f.b.WriteByte('&')
	f.value(v.Elem(), depth+1, false)
	delete(f.seen, v.Pointer())
}

func (f *formatter) list(v reflect.Value, depth int, top bool) {
	if v.Kind() == reflect.Slice && v.IsNil() {
		f.b.WriteString(typeName(v) + "(nil)")
		return
	}
	if top || named(v) {
		f.b.WriteString(typeName(v))
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
		f.value(v.Index(i), depth+1, false)
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

func (f *formatter) mapping(v reflect.Value, depth int, top bool) {
	if v.IsNil() {
		f.b.WriteString(typeName(v) + "(nil)")
		return
	}
	if top || named(v) {
		f.b.WriteString(typeName(v))
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
		f.value(k, depth+1, false)
		f.b.WriteString(": ")
		f.value(v.MapIndex(k), depth+1, false)
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

func (f *formatter) structure(v reflect.Value, depth int) {
	if v.Type().Name() != "" {
		f.b.WriteString(typeName(v))
	}
	f.b.WriteByte('{')
	for i := range v.NumField() {
		if i > 0 {
			f.b.WriteString(", ")
		}
		f.b.WriteString(v.Type().Field(i).Name + ": ")
		f.value(v.Field(i), depth+1, false)
	}
	f.b.WriteByte('}')
}
