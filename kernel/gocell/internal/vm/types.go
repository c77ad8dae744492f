package vm

import (
	"reflect"
	"runtime"
	"slices"
	"strings"
	"unsafe"

	"dace.local/kernel/gocell/internal/cell"
	"dace.local/kernel/gocell/rtype"
)

// The interpreter compares types in assertions and type switches by their
// names, and takes a type for another that it can be assigned to. Both are
// decided here, by the types themselves.

// Types holds the types that a session's cells ask for, by number.
type Types struct {
	types []reflect.Type
	lists [][]int // of type switches
}

// NilCase stands for the case nil in the list of a type switch.
const NilCase = -1

// Number returns the number of a type to ask for.
func (a *Types) Number(t reflect.Type) int {
	if i := slices.Index(a.types, t); i >= 0 {
		return i
	}
	a.types = append(a.types, t)
	return len(a.types) - 1
}

// Switch returns the number of a type switch, whose cases are types by number or
// NilCase.
func (a *Types) Switch(cases []int) int {
	a.lists = append(a.lists, cases)
	return len(a.lists) - 1
}

// runtime adds the functions that rewritten code calls.
func (a *Types) runtime(values map[string]reflect.Value) {
	for name, f := range map[string]any{"As": a.as, "AsOK": a.asOK, "Which": a.which, "Letters": a.letters} {
		values[name] = reflect.ValueOf(f)
	}
	a.unsafeFuncs(values)
}

// holds reports whether an interface value holds a t.
func holds(x any, t reflect.Type) bool {
	if x == nil {
		return false
	}
	xt := reflect.TypeOf(x)
	if t.Kind() == reflect.Interface {
		return xt.Implements(t)
	}
	return xt == t
}

// which returns the first case of a type switch that takes a value, -1 where
// none does.
func (a *Types) which(n int, x any) int {
	for i, k := range a.lists[n] {
		if k < 0 && x == nil || k >= 0 && holds(x, a.types[k]) {
			return i
		}
	}
	return -1
}

// asOK returns a pointer to what x holds as the type of a number.
func (a *Types) asOK(n int, x any) (p any, ok bool) {
	v := reflect.New(a.types[n])
	if ok = holds(x, a.types[n]); ok {
		v.Elem().Set(reflect.ValueOf(x))
	}
	return v.Interface(), ok
}

// as is asOK, but panics where it fails, in the words of Go; from is the type of
// the interface.
func (a *Types) as(n, from int, x any) any {
	p, ok := a.asOK(n, x)
	if ok {
		return p
	}
	t, f := a.types[n], a.types[from].String()
	text, missing := "", ""
	switch {
	case x == nil && t.Kind() == reflect.Interface:
		text = "interface is nil, not " + t.String()
	case x == nil:
		text = f + " is nil, not " + t.String()
	case t.Kind() == reflect.Interface:
		missing = missingMethod(reflect.TypeOf(x), t)
		text = reflect.TypeOf(x).String() + " is not " + t.String() + ": missing method " + missing
	default:
		have := reflect.TypeOf(x).String()
		text = f + " is " + have + ", not " + t.String()
		if have == t.String() {
			text += " (types from different scopes)"
		}
	}
	panic(assertionError(a.types[from], t, x, missing, PlainError("interface conversion: "+text)))
}

// An assertionFields is a runtime.TypeAssertionError in memory.
type assertionFields struct {
	from, concrete, asserted unsafe.Pointer
	missing                  string
}

// knownAssertion reports whether a runtime.TypeAssertionError is laid out so.
var knownAssertion = func() bool {
	t, ours := reflect.TypeFor[runtime.TypeAssertionError](), reflect.TypeFor[assertionFields]()
	same := t.NumField() == ours.NumField()
	for i := 0; same && i < ours.NumField(); i++ {
		k := t.Field(i).Type.Kind()
		same = t.Field(i).Offset == ours.Field(i).Offset && (k == reflect.Pointer || k == reflect.String) && (k == reflect.String) == (i == 3)
	}
	return same
}()

// assertionError returns the run time's error for the failed assertion of x, in an
// interface of type from, to type t: errors.As finds it. It is plain where the run
// time would say something else.
func assertionError(from, t reflect.Type, x any, missing string, plain PlainError) error {
	if !knownAssertion {
		return plain
	}
	fields := &assertionFields{asserted: typeWord(t), missing: missing}
	if x != nil {
		fields.concrete = typeWord(reflect.TypeOf(x))
	}
	if missing == "" && (x != nil || t.Kind() != reflect.Interface) {
		fields.from = typeWord(from)
	}
	if err := (*runtime.TypeAssertionError)(unsafe.Pointer(fields)); err.Error() == plain.Error() {
		return err
	}
	return plain
}

// typeWord returns a type as an interface value has it.
func typeWord(t reflect.Type) unsafe.Pointer {
	v := reflect.Zero(t)
	return rtype.RawOf(&v).Type
}

func missingMethod(t, i reflect.Type) string {
	for k := range i.NumMethod() {
		m := i.Method(k)
		if x, ok := t.MethodByName(m.Name); !ok || !sameSignature(x.Type, m.Type) {
			return strings.TrimPrefix(m.Name, cell.ExportMark)
		}
	}
	return ""
}

// sameSignature compares a method's type, which has its receiver, with that of
// an interface's method.
func sameSignature(f, i reflect.Type) bool {
	if f.NumIn() != i.NumIn()+1 || f.NumOut() != i.NumOut() {
		return false
	}
	for k := range i.NumIn() {
		if f.In(k+1) != i.In(k) {
			return false
		}
	}
	for k := range i.NumOut() {
		if f.Out(k) != i.Out(k) {
			return false
		}
	}
	return true
}
