package vm

import (
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"unsafe"

	"dace.local/kernel/gocell/internal/cell"
)

// A RuntimeError is the text of an error of Go's run time, such as an index out of
// range, without the words "runtime error: " before it.
type RuntimeError string

func (e RuntimeError) Error() string { return "runtime error: " + string(e) }

// RuntimeError makes e a runtime.Error.
func (e RuntimeError) RuntimeError() {}

var _ runtime.Error = RuntimeError("")

const NilDereference = RuntimeError("invalid memory address or nil pointer dereference")

// A Failure is the panic value with which must ends a cell: not a fault of the
// program, but an error that it has met.
type Failure struct{ Err error }

// Error returns the error's own text. An Error method that panics on a nil
// pointer does no harm.
func (f Failure) Error() string { return fmt.Sprint(f.Err) }

func (f Failure) Unwrap() error { return f.Err }

// Must fails with an error that is not nil.
func Must(err error) {
	if err != nil {
		panic(Failure{err})
	}
}

// inGo returns the value that compiled code would have panicked with, for one
// recovered at node n of the interpreter.
func inGo(n node, f unsafe.Pointer, v any) any {
	text := ""
	switch v := v.(type) {
	case *reflect.ValueError:
		if v.Kind == reflect.Invalid {
			return NilDereference
		}
		return v
	case reflect.Value: // the argument of panic
		if v.IsValid() && v.CanInterface() {
			return v.Interface()
		}
		return v
	case Failure:
		return v
	case runtime.Error:
		return unhashable(n, v)
	case string:
		text = v
	case error:
		text = v.Error()
	default:
		return v
	}
	switch {
	case strings.Contains(text, "/"+cell.FileBase+":"):
		if _, msg, ok := strings.Cut(text, ": interface conversion: "); ok {
			return RuntimeError("interface conversion: " + cell.Clean(msg)).conversion()
		}
	case !strings.HasPrefix(text, "reflect"):
	case strings.HasPrefix(text, "reflect: cannot convert slice"):
		return RuntimeError(strings.NewReplacer("reflect: ", "", " to array ", " to array or pointer to array ",
			" to pointer to array ", " to array or pointer to array ").Replace(text))
	case strings.HasSuffix(text, "index out of range"):
		return RuntimeError(indexText(n, f))
	case strings.HasSuffix(text, "slice index out of bounds"), strings.HasSuffix(text, "string slice index out of bounds"):
		return RuntimeError(sliceText(n, f))
	case strings.Contains(text, "nil pointer"), strings.Contains(text, "nil interface value"), strings.Contains(text, "on zero Value"), strings.Contains(text, "call of nil function"),
		strings.Contains(text, "using zero Value"):
		return NilDereference
	case strings.Contains(text, "negative len"):
		return RuntimeError("makeslice: len out of range")
	case strings.Contains(text, "negative cap"), strings.Contains(text, "len > cap"):
		return RuntimeError("makeslice: cap out of range")
	case strings.HasSuffix(text, "negative buffer size"):
		return PlainError("makechan: size out of range")
	case strings.HasSuffix(text, "slice overflow"):
		return RuntimeError("growslice: len out of range")
	}
	return v
}

// PlainError is an error of Go's run time that does not say so: a failed type
// assertion, for one.
type PlainError string

func (e PlainError) Error() string { return string(e) }

// RuntimeError makes e a runtime.Error.
func (e PlainError) RuntimeError() {}

func (e RuntimeError) conversion() error { return PlainError(e) }

// operand returns the value of a node's i-th operand, that of the array where it
// is a pointer to one; ok is false where it cannot be read.
func operand(n node, i int, f unsafe.Pointer) (v reflect.Value, ok bool) {
	defer func() {
		if recover() != nil {
			ok = false
		}
	}()
	v = genValue(n.children()[i].p)(f)
	for v.Kind() == reflect.Pointer && v.Elem().Kind() == reflect.Array {
		v = v.Elem()
	}
	return v, v.IsValid()
}

func hasLen(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Slice, reflect.Array, reflect.String:
		return true
	}
	return false
}
