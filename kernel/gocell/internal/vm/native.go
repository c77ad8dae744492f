package vm

import (
	"reflect"
	"slices"
	"unsafe"

	"dace.local/kernel/gocell/rtype"
)

// A closure of a cell is a value that reflect.MakeFunc makes: a library that calls
// it has the arguments put into a slice of package reflect's values. A closure of
// one of the usual signatures is a method value of its literal instead, which puts
// the arguments into the frame directly.

// natives makes the method value for each of these signatures.
var natives = map[reflect.Type]func(*literal) reflect.Value{
	reflect.TypeFor[func(int, int) bool]():            func(l *literal) reflect.Value { return reflect.ValueOf(l.intsLess) },
	reflect.TypeFor[func(int) bool]():                 func(l *literal) reflect.Value { return reflect.ValueOf(l.intTest) },
	reflect.TypeFor[func(int) int]():                  func(l *literal) reflect.Value { return reflect.ValueOf(l.intToInt) },
	reflect.TypeFor[func(int, int) int]():             func(l *literal) reflect.Value { return reflect.ValueOf(l.intsToInt) },
	reflect.TypeFor[func(int) float64]():              func(l *literal) reflect.Value { return reflect.ValueOf(l.intToFloat) },
	reflect.TypeFor[func(int, int) float64]():         func(l *literal) reflect.Value { return reflect.ValueOf(l.intsToFloat) },
	reflect.TypeFor[func(float64) float64]():          func(l *literal) reflect.Value { return reflect.ValueOf(l.floatToFloat) },
	reflect.TypeFor[func(float64, float64) float64](): func(l *literal) reflect.Value { return reflect.ValueOf(l.floatsToFloat) },
	reflect.TypeFor[func(float64, float64) int]():     func(l *literal) reflect.Value { return reflect.ValueOf(l.floatsToInt) },
	reflect.TypeFor[func(float64, float64) bool]():    func(l *literal) reflect.Value { return reflect.ValueOf(l.floatsLess) },
	reflect.TypeFor[func([]float64) float64]():        func(l *literal) reflect.Value { return reflect.ValueOf(l.pointToFloat) },
	reflect.TypeFor[func([]bool) float64]():           func(l *literal) reflect.Value { return reflect.ValueOf(l.choiceToFloat) },
	reflect.TypeFor[func([]int) float64]():            func(l *literal) reflect.Value { return reflect.ValueOf(l.listToFloat) },
	reflect.TypeFor[func(string) bool]():              func(l *literal) reflect.Value { return reflect.ValueOf(l.textTest) },
	reflect.TypeFor[func(string, string) bool]():      func(l *literal) reflect.Value { return reflect.ValueOf(l.textsLess) },
	reflect.TypeFor[func(string, string) int]():       func(l *literal) reflect.Value { return reflect.ValueOf(l.textsToInt) },
	reflect.TypeFor[func(string) string]():            func(l *literal) reflect.Value { return reflect.ValueOf(l.textToText) },
	reflect.TypeFor[func(rune) bool]():                func(l *literal) reflect.Value { return reflect.ValueOf(l.runeTest) },
	reflect.TypeFor[func(rune) rune]():                func(l *literal) reflect.Value { return reflect.ValueOf(l.runeToRune) },
	reflect.TypeFor[func()]():                         func(l *literal) reflect.Value { return reflect.ValueOf(l.action) },
	reflect.TypeFor[func(int)]():                      func(l *literal) reflect.Value { return reflect.ValueOf(l.intAction) },
	reflect.TypeFor[func() int]():                     func(l *literal) reflect.Value { return reflect.ValueOf(l.toInt) },
	reflect.TypeFor[func() float64]():                 func(l *literal) reflect.Value { return reflect.ValueOf(l.toFloat) },
	reflect.TypeFor[func() error]():                   func(l *literal) reflect.Value { return reflect.ValueOf(l.toError) },
}

// nativeCodes is the code of these method values.
var nativeCodes = func() (codes []uintptr) {
	for _, make := range natives {
		codes = append(codes, make(&literal{}).Pointer())
	}
	return codes
}()

// nativeLiteral returns the literal whose method value a closure is, nil if it is
// another function.
func nativeLiteral(closure unsafe.Pointer) *literal {
	v := (*struct {
		code uintptr
		recv *literal
	})(closure)
	if !slices.Contains(nativeCodes, v.code) {
		return nil
	}
	return v.recv
}

// native returns what makes a closure of type t of the function, nil if t is not
// one of the usual signatures.
func (fn *function) native(t reflect.Type) func(*literal) reflect.Value {
	plain := reflect.FuncOf(slices.Collect(t.Ins()), slices.Collect(t.Outs()), t.IsVariadic())
	make := natives[plain]
	if make == nil || len(fn.slots) < fn.results+t.NumIn() || fn.results != t.NumOut() {
		return nil
	}
	for i := range t.NumOut() {
		if fn.slots[i].typ != t.Out(i) {
			return nil
		}
	}
	for i := range t.NumIn() {
		if fn.slots[fn.results+i].typ != t.In(i) {
			return nil
		}
	}
	if t == plain {
		return make
	}
	return func(l *literal) reflect.Value { return make(l).Convert(t) }
}

// put sets the i-th parameter in a frame of the literal that nothing has run in.
func put[T any](l *literal, f *runFrame, i int, v T) {
	*(*T)(rtype.RawOf(&f.data[l.results+i]).Pointer) = v
}

// returned runs the literal in a frame and returns its only result.
func returned[T any](l *literal, f *runFrame) (v T) {
	l.run(f, l.def)
	if p := at0(f, 0, l.first); p != nil {
		v = *(*T)(p)
	} else {
		reflect.ValueOf(&v).Elem().Set(f.data[0])
	}
	l.release(f)
	return v
}

func (l *literal) intsLess(x, y int) bool {
	f := l.function.frame(l.frame)
	put(l, f, 0, x)
	put(l, f, 1, y)
	return returned[bool](l, f)
}

func (l *literal) intTest(x int) bool {
	f := l.function.frame(l.frame)
	put(l, f, 0, x)
	return returned[bool](l, f)
}

func (l *literal) intToInt(x int) int {
	f := l.function.frame(l.frame)
	put(l, f, 0, x)
	return returned[int](l, f)
}

func (l *literal) intsToInt(x, y int) int {
	f := l.function.frame(l.frame)
	put(l, f, 0, x)
	put(l, f, 1, y)
	return returned[int](l, f)
}

func (l *literal) intToFloat(x int) float64 {
	f := l.function.frame(l.frame)
	put(l, f, 0, x)
	return returned[float64](l, f)
}

func (l *literal) intsToFloat(x, y int) float64 {
	f := l.function.frame(l.frame)
	put(l, f, 0, x)
	put(l, f, 1, y)
	return returned[float64](l, f)
}

func (l *literal) floatToFloat(x float64) float64 {
	f := l.function.frame(l.frame)
	put(l, f, 0, x)
	return returned[float64](l, f)
}

func (l *literal) floatsToFloat(x, y float64) float64 {
	f := l.function.frame(l.frame)
	put(l, f, 0, x)
	put(l, f, 1, y)
	return returned[float64](l, f)
}

func (l *literal) floatsToInt(x, y float64) int {
	f := l.function.frame(l.frame)
	put(l, f, 0, x)
	put(l, f, 1, y)
	return returned[int](l, f)
}

func (l *literal) floatsLess(x, y float64) bool {
	f := l.function.frame(l.frame)
	put(l, f, 0, x)
	put(l, f, 1, y)
	return returned[bool](l, f)
}

func (l *literal) pointToFloat(x []float64) float64 {
	f := l.function.frame(l.frame)
	put(l, f, 0, x)
	return returned[float64](l, f)
}

func (l *literal) choiceToFloat(x []bool) float64 {
	f := l.function.frame(l.frame)
	put(l, f, 0, x)
	return returned[float64](l, f)
}

func (l *literal) listToFloat(x []int) float64 {
	f := l.function.frame(l.frame)
	put(l, f, 0, x)
	return returned[float64](l, f)
}

func (l *literal) textTest(x string) bool {
	f := l.function.frame(l.frame)
	put(l, f, 0, x)
	return returned[bool](l, f)
}

func (l *literal) textsLess(x, y string) bool {
	f := l.function.frame(l.frame)
	put(l, f, 0, x)
	put(l, f, 1, y)
	return returned[bool](l, f)
}

func (l *literal) textsToInt(x, y string) int {
	f := l.function.frame(l.frame)
	put(l, f, 0, x)
	put(l, f, 1, y)
	return returned[int](l, f)
}

func (l *literal) textToText(x string) string {
	f := l.function.frame(l.frame)
	put(l, f, 0, x)
	return returned[string](l, f)
}

func (l *literal) runeTest(x rune) bool {
	f := l.function.frame(l.frame)
	put(l, f, 0, x)
	return returned[bool](l, f)
}

func (l *literal) runeToRune(x rune) rune {
	f := l.function.frame(l.frame)
	put(l, f, 0, x)
	return returned[rune](l, f)
}

func (l *literal) action() {
	f := l.function.frame(l.frame)
	l.run(f, l.def)
	l.release(f)
}

func (l *literal) intAction(x int) {
	f := l.function.frame(l.frame)
	put(l, f, 0, x)
	l.run(f, l.def)
	l.release(f)
}

func (l *literal) toInt() int {
	f := l.function.frame(l.frame)
	return returned[int](l, f)
}

func (l *literal) toFloat() float64 {
	f := l.function.frame(l.frame)
	return returned[float64](l, f)
}

func (l *literal) toError() error {
	f := l.function.frame(l.frame)
	return returned[error](l, f)
}
