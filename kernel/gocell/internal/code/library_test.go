package code

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"unsafe"
)

// TestShapes calls a function of each shape that has calls or function values of its
// own, with other values for each parameter and result: a key that names other classes
// than its functions have would pass them in other registers.
func TestShapes(t *testing.T) {
	var numbers [20]int
	value := func(class rune, n int) reflect.Value {
		switch class {
		case 'I':
			return reflect.ValueOf(100 + n)
		case 'F':
			return reflect.ValueOf(0.5 + float64(n))
		case 'S':
			return reflect.ValueOf(strings.Repeat("x", n+1))
		case 'P':
			return reflect.ValueOf(&numbers[n])
		case 'L':
			return reflect.ValueOf(make([]int, n+1, n+3))
		}
		return reflect.ValueOf(&[]error{errors.New(strings.Repeat("e", n+1))}[0]).Elem()
	}
	m := &Machine{Here: func() (used, id uintptr) { return 0, 1 }}
	for key, x := range shapes() {
		params, results, _ := strings.Cut(key, ">")
		var in, out []reflect.Value
		var inTypes, outTypes []reflect.Type
		for i, c := range params {
			in = append(in, value(c, i))
			inTypes = append(inTypes, in[i].Type())
		}
		for i, c := range results {
			out = append(out, value(c, 10+i))
			outTypes = append(outTypes, out[i].Type())
		}
		same := func(what string, got, want []reflect.Value) {
			t.Helper()
			for i := range want {
				if !reflect.DeepEqual(got[i].Interface(), want[i].Interface()) || got[i].Kind() == reflect.Slice && got[i].Cap() != want[i].Cap() {
					t.Errorf("%s: %s %d is %v, want %v", key, what, i, got[i], want[i])
				}
			}
		}
		typ := reflect.FuncOf(inTypes, outTypes, false)
		calls := 0
		library := reflect.MakeFunc(typ, func(args []reflect.Value) []reflect.Value {
			calls++
			same("parameter", args, in)
			return out
		})
		s := SignatureOf(typ)
		if (s.shape != nil) != (x.call != nil) || (s.adapt != nil) != (x.adapt != nil) {
			t.Errorf("%s: a function of it is another shape", key)
		}
		f := s.Value(&Closure{Entry: &Entry{Fn: s.Calling(m, library)}})
		same("result", reflect.NewAt(typ, unsafe.Pointer(&f)).Elem().Call(in), out)
		if calls != 1 {
			t.Errorf("%s: %d calls", key, calls)
		}
		if m.here() != nil {
			t.Errorf("%s: the state of a goroutine of the library stays when its call has returned", key)
		}
	}
}
