package main

import (
	"fmt"
	"strings"
	"unsafe"
)

// Constants that become values of type parameters and slices, calls whose arguments are the
// results of another, assignments with blanks, and operands whose order shows.

type text string

func of[T ~int | ~uint8 | ~float32 | ~float64]() []T { return []T{T(7), 3, T('a'), 1e1, T(2.0)} }
func texts[T ~string]() []T                          { return []T{T("x"), "y", T("z" + "w")} }
func complexes[T complex64 | complex128]() []T       { return []T{T(1), 2i, T(1 + 2i), 3.5} }
func bytesOf[T ~[]byte | ~string](x T) []byte        { return []byte(x) }
func back[T ~[]byte | ~[]rune | ~string](x T) string { return string(x) }
func sizes[T any]() uintptr                          { var x T; return unsafe.Sizeof(x) }
func zero[T any]() (x T)                             { return }
func truth[T ~bool]() T                              { return 1 < 2 }
func anys[T any](x T) (any, bool)                    { y, ok := any(x).(fmt.Stringer); return y, ok }
func eq[T comparable](a, b T) bool                   { return a == b }
func ptr[T any](x T) *T                              { return &x }
func lens[T ~string | ~[]byte](x T) (int, byte, T)   { return len(x), x[0], x[1:] }
func keys[M ~map[K]V, K comparable, V any](m M) int {
	n := 0
	for range m {
		n++
	}
	return n
}
func sum[T ~int | ~float64](l ...T) (s T) {
	for _, x := range l {
		s += x
	}
	return s
}

var log []string

func call(s string, n int) int           { log = append(log, s); return n }
func two() (int, string)                 { log = append(log, "two"); return 2, "two" }
func many() (a, b, c int)                { return 1, 2, 3 }
func show(n int, s string)               { log = append(log, fmt.Sprint("show ", n, s)) }
func variadic(s string, l ...int) string { return fmt.Sprint(s, len(l), l) }
func spread(l ...any) int                { return len(l) }

type object struct {
	n    int
	l    []int
	next *object
	f    func(...int) int
}

func (o object) value(n int, s string) string     { return fmt.Sprint(o.n, n, s) }
func (o *object) pointer(n int, s string) *object { o.n += n; log = append(log, s); return o }
func (o *object) self() *object                   { log = append(log, "self"); return o }

func calls() {
	show(two())
	defer show(two())
	done := make(chan bool)
	go func(n int, s string) { show(n, s); done <- true }(two())
	<-done
	o := &object{n: 1, l: []int{1, 2, 3}, f: func(l ...int) int { return len(l) }}
	fmt.Println(o.value(two()), o.pointer(two()).n, spread(two()), spread(many()), o.f(many()), variadic("v"), variadic("v", o.l...), variadic("v", 1, 2))
	defer o.pointer(two())
	f, g := o.value, (*object).pointer
	fmt.Println(f(two()), g(o, 3, "g").n, (*object).value(o, 1, "e"), object.value(*o, 2, "e"))
	o.self().self().l[call("index", 1)] += call("value", 10)
	o.self().l[call("i", 0)], o.self().n = call("j", 5), call("k", 6)
	_, o.l[0] = two2(), 8
	o.n, _ = many2()
	_, _ = two()
	var s string
	_, s = two()
	_ = o.l[call("checked", 2)]
	x, y := call("x", 1), call("y", 2)
	x, y, z := y, x, call("z", 3)
	fmt.Println(o.n, o.l, s, x, y, z, log)
	log = nil
	p := object{n: call("a", 1), l: []int{call("b", 2), 5: call("c", 3)}, next: &object{n: call("d", 4)}}
	m := map[string]*object{fmt.Sprint(call("e", 5)): {n: call("f", 6)}, "k": p.next}
	a := [...]object{2: {n: call("g", 7)}, {n: call("h", 8)}}
	fmt.Println(p.n, p.l, p.next.n, len(m), m["5"].n, len(a), a[3].n, log)
	log = nil
	fmt.Println(call("1", 1)+call("2", 2)*call("3", 3) > call("4", 4) || call("5", 5) > 0, -call("6", 6), ^call("7", 7), !(call("8", 8) > 1), *ptr(call("9", 9)), log)
	b := []string{"a", "b", "c"}[call("k", 1):call("l", 3)]
	c := strings.Repeat("ab", call("m", 3))[call("n", 1):]
	fmt.Println(b, c, log)
	for i, n := 0, call("once", 3); i < n; i++ {
		log = append(log, fmt.Sprint(i))
	}
	switch n := call("tag", 2); n {
	case call("case 1", 1), call("case 2", 2):
		log = append(log, "hit")
	case call("case 3", 3):
	}
	for i := range call("range", 2) {
		log = append(log, fmt.Sprint("r", i))
	}
	fmt.Println(log)
	log = nil
}

func two2() int         { return 0 }
func many2() (int, int) { return 4, 5 }

func named(fail bool) (n int, s string, err error) {
	defer func() {
		if fail {
			recover()
			n, s = n+1, s+"!"
		}
	}()
	n, s = 1, "one"
	if fail {
		panic("fail")
	}
	return s2(n)
}

func s2(n int) (int, string, error) { return n * 2, "two", nil }

func bare(n int) (x int) {
	x = n
	if n > 1 {
		return
	}
	defer func() { x++ }()
	x *= 10
	return x + 1
}

func shadow(x int) int {
	if x := x * 2; x > 3 {
		x := x + 1
		return x
	} else if y := x; y > 0 {
		return -y
	}
	{
		x := 7
		_ = x
	}
	return x
}

func labels() (s string) {
loop:
	for i := range 3 {
		switch {
		case i == 1:
			continue loop
		}
		for j := 0; ; j++ {
			if j == 2 {
				break
			}
			if i == 2 {
				break loop
			}
			s += fmt.Sprint(i, j, " ")
		}
	}
	return
}

func main() {
	fmt.Println(of[int](), of[uint8](), of[float32](), of[float64](), texts[string](), texts[text](), complexes[complex64](), complexes[complex128]())
	fmt.Println(bytesOf("ab"), bytesOf([]byte("c")), back([]byte("d")), back([]rune("é")), back(text("f")), sizes[int32](), sizes[object]() > 40, zero[string]() == "", zero[*int]() == nil, truth[bool]())
	fmt.Println(anys(1))
	fmt.Println(eq(1, 1), eq("a", "b"), eq(any(1), any(1)), eq([2]int{1, 2}, [2]int{1, 2}), *ptr(5), *ptr("p"), sum(1, 2, 3), sum(1.5, 2), sum[int]())
	fmt.Println(lens("xyz"))
	fmt.Println(lens([]byte("xyz")))
	fmt.Println(keys(map[string]int{"a": 1, "b": 2}), []byte("const"), []rune("é"), string(rune(65)), []text{"t"})
	calls()
	fmt.Println(log)
	fmt.Println(named(false))
	fmt.Println(named(true))
	fmt.Println(bare(0), bare(2), shadow(1), shadow(2), shadow(0), labels())
}
