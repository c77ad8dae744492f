package main

import (
	"errors"
	"fmt"
	"math"
	"os"
	"strings"
	"unsafe"
)

// Operators and conversions of each width, on variables that functions return, so that
// nothing is a constant, and as statements on fields, elements and what pointers point to.

type number interface {
	~int | ~int8 | ~int16 | ~int32 | ~int64 | ~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~uintptr
}

func try(what string, f func()) {
	defer func() {
		if r := recover(); r != nil {
			_, isRuntime := r.(interface{ RuntimeError() })
			fmt.Println(what, "panics:", r, isRuntime)
		}
	}()
	f()
}

func ints[T number](name string, a, b T, n uint) {
	fmt.Println(name, a+b, a-b, a*b, a/b, a%b, a&b, a|b, a^b, a&^b, a<<n, a>>n, -a, ^a, +a)
	fmt.Println(name, a == b, a != b, a < b, a <= b, a > b, a >= b, a == a, a <= a, a >= a, a < a, a > a)
	x := struct{ v T }{a}
	l, m, p := []T{a}, map[string]T{"k": a}, &x.v
	x.v += b
	l[0] += b
	m["k"] += b
	fmt.Println(name, x, l, m)
	x.v, l[0], m["k"] = x.v-1, l[0]*2, m["k"]+b
	x.v -= b
	*p *= b
	l[0] -= 1
	l[0] *= b
	m["k"] -= 2
	fmt.Println(name, x, l, m)
	x.v |= b
	l[0] ^= b
	*p &^= 3
	l[0] &= 0x55
	m["k"] |= 1
	m["k"] ^= a
	m["k"] &^= 2
	m["k"] &= 0x7f
	fmt.Println(name, x, l, m)
	x.v <<= n
	*p >>= n
	l[0] <<= 1
	l[0] >>= 1
	m["k"] <<= n
	m["k"] >>= 1
	fmt.Println(name, x, l, m)
	x.v, l[0] = a, a
	*p /= b
	l[0] %= b
	m["k"] = a
	m["k"] /= b
	m["q"] %= b
	x.v++
	l[0]--
	m["k"]++
	(*p)++
	fmt.Println(name, x, l, m, min(a, b), max(a, b, 3), min(b, a, 1))
	var zero T
	try(name+" /", func() { fmt.Println(a / zero) })
	try(name+" %", func() { fmt.Println(a % zero) })
	try(name+" /=", func() { l[0] /= zero })
	try(name+" %=", func() { *p %= zero })
	try(name+" map /=", func() { m["k"] /= zero })
	fmt.Println(name, int8(a), int16(a), int32(a), int64(a), int(a), uint8(b), uint16(b), uint32(b), uint64(b), uint(b), uintptr(b), float32(a), float64(b))
	switch a {
	case b:
		fmt.Println("b")
	case 7, 9:
		fmt.Println("7 or 9")
	case 100:
		fmt.Println("100")
	default:
		fmt.Println("none")
	}
	for i := a; i > a-3; i-- {
		fmt.Print(i, " ")
	}
	fmt.Println()
}

func i8() int8         { return -7 }
func i16() int16       { return -700 }
func i32() int32       { return -70000 }
func i64() int64       { return -7e12 }
func u8() uint8        { return 200 }
func u16() uint16      { return 60000 }
func u32() uint32      { return 4e9 }
func u64() uint64      { return 1<<63 + 12345 }
func f32() float32     { return -2.75 }
func f64() float64     { return 123456.789 }
func c64() complex64   { return complex(1.5, -2) }
func c128() complex128 { return complex(-3, 0.5) }

func conversions() {
	fmt.Println(int8(i16()), int8(i32()), int8(i64()), int8(u8()), int8(u16()), int8(u32()), int8(u64()), int8(f32()))
	fmt.Println(int16(i8()), int16(i32()), int16(i64()), int16(u8()), int16(u16()), int16(u32()), int16(u64()), int16(f32()))
	fmt.Println(int32(i8()), int32(i16()), int32(i64()), int32(u8()), int32(u16()), int32(u32()), int32(u64()), int32(f32()), int32(f64()))
	fmt.Println(int64(i8()), int64(i16()), int64(i32()), int64(u8()), int64(u16()), int64(u32()), int64(u64()), int64(f32()), int64(f64()))
	fmt.Println(uint8(i8()), uint8(i16()), uint8(i32()), uint8(i64()), uint8(u16()), uint8(u32()), uint8(u64()), uint8(f64()/1e4))
	fmt.Println(uint16(i8()), uint16(i16()), uint16(i32()), uint16(i64()), uint16(u8()), uint16(u32()), uint16(u64()), uint16(f64()/10))
	fmt.Println(uint32(i8()), uint32(i16()), uint32(i32()), uint32(i64()), uint32(u8()), uint32(u16()), uint32(u64()), uint32(f64()))
	fmt.Println(uint64(i8()), uint64(i16()), uint64(i32()), uint64(i64()), uint64(u8()), uint64(u16()), uint64(u32()), uint64(f64()))
	fmt.Println(float32(i8()), float32(i16()), float32(i32()), float32(i64()), float32(u8()), float32(u16()), float32(u32()), float32(u64()), float32(f64()))
	fmt.Println(float64(i8()), float64(i16()), float64(i32()), float64(i64()), float64(u8()), float64(u16()), float64(u32()), float64(u64()), float64(f32()))
	fmt.Println(complex64(c128()), complex128(c64()), real(c64()), imag(c64()), real(c128()), imag(c128()))
	fmt.Println(string(rune(i32()+70065)), string(rune(-1)), string(rune(u16())), []byte("é"), []rune("é𝒳"), string([]byte{65, 195, 169}), string([]rune{233, 0x1d4b3, -1}))
	fmt.Println(uint64(float64(1<<63)), uint64(float32(1<<63)), uintptr(i64()) != 0)
}

func floats() {
	a, b := f32(), float32(1.5)
	x := struct{ v float32 }{a}
	fmt.Println(a+b, a-b, a*b, a/b, -a, a == b, a != b, a < b, a <= b, a > b, a >= b, min(a, b), max(a, b), min(a, b, float32(math.NaN())))
	x.v += b
	x.v *= b
	x.v -= 1
	x.v /= b
	l, m := []float32{a}, map[float32]float32{a: b}
	l[0] /= 2
	l[0]++
	m[a] *= 2
	m[b]--
	fmt.Println(x, l, m, m[7], len(m))
	c, d := f64(), 2.5
	y := struct{ v float64 }{c}
	fmt.Println(c+d, c-d, c*d, c/d, -c, c == d, c != d, c < d, c <= d, c > d, c >= d, min(c, d), max(c, d))
	y.v += d
	y.v *= d
	y.v -= 1
	y.v /= d
	k := map[float64]float64{c: d}
	k[c]++
	k[d] += 3
	_, ok := k[4]
	fmt.Println(y, k, ok, c/0.0*0 != 0, math.Inf(1) > c)
	e, f := c64(), complex64(complex(0, 1))
	fmt.Println(e+f, e-f, e*f, e/f, -e, e == f, e != f, complex(a, b))
	g, h := c128(), complex(0, 2)
	fmt.Println(g+h, g-h, g*h, g/h, -g, g == h, g != h, complex(c, d))
	e *= f
	g /= h
	z := []complex128{g}
	z[0] += 1
	z[0] -= 2i
	fmt.Println(e, g, z)
	switch c {
	case 1:
		fmt.Println("one")
	case f64():
		fmt.Println("itself")
	}
	switch a {
	case -2.75:
		fmt.Println("itself")
	}
}

func text(n int) string { return strings.Repeat("ab", n) }

func texts() {
	a, b := text(2), text(3)
	s := struct{ v string }{a}
	s.v += b
	m := map[string]string{a: b}
	m[a] += "x"
	m["n"] += "y"
	_, ok := m["none"]
	fmt.Println(a+b, a == b, a != b, a < b, a <= b, a > b, a >= b, s, m, ok, len(a), a[1], a[1:], a[:2], a[1:3], min(a, b), max(a, b))
	for i, r := range "aé\xff𝒳" {
		fmt.Print(i, ":", r, " ")
	}
	for i := range b {
		fmt.Print(i)
	}
	fmt.Println()
	switch a {
	case "x", "y":
		fmt.Println("x or y")
	case "abab":
		fmt.Println("abab")
	case "z":
		fmt.Println("z")
	}
	n := 9
	try("index", func() { fmt.Println(a[n]) })
	try("slice", func() { fmt.Println(a[n:]) })
	try("slice 2", func() { fmt.Println(a[3:n]) })
	try("slice 3", func() { n = 1; fmt.Println(a[3:n]) })
}

func bounds() {
	l, n, k := []int{1, 2, 3, 4}, 9, -1
	a := [3]int{5, 6, 7}
	p := &a
	for what, f := range []func(){
		func() { fmt.Println(l[n]) }, func() { fmt.Println(l[k]) }, func() { l[n] = 1 }, func() { fmt.Println(a[n]) }, func() { p[n]++ },
		func() { fmt.Println(l[n:]) }, func() { fmt.Println(l[k:]) }, func() { fmt.Println(l[:n]) }, func() { fmt.Println(l[2 : 1+k+1]) },
		func() { fmt.Println(l[1:2:n]) }, func() { fmt.Println(l[1:n:3]) }, func() { fmt.Println(l[3 : k+3 : 3+k+1]) }, func() { fmt.Println(l[n:3:3]) }, func() { fmt.Println(l[1 : 4 : 3+k+1]) },
		func() { fmt.Println(a[n:]) }, func() { fmt.Println(p[:n]) }, func() { fmt.Println(a[2 : 1+k+1]) }, func() { fmt.Println(p[1:2:n]) },
		func() { fmt.Println([2]int(l[:1])) }, func() { fmt.Println(*(*[9]int)(l)) }, func() { fmt.Println(len([0]int(l))) },
		func() { fmt.Println(make([]int, k)) }, func() { fmt.Println(make([]int, 2, k+2)) }, func() { fmt.Println(make(chan int, k)) },
		func() { fmt.Println(1 << k) }, func() { n <<= k }, func() { fmt.Println(uint8(1)>>k, 1) },
		func() {
			var q *[3]int
			fmt.Println(len(q), cap(q))
			for i := range q {
				fmt.Print(i)
			}
			fmt.Println(q[1])
		},
		func() { var m map[string]int; fmt.Println(m["x"], len(m)); delete(m, "x"); m["x"] = 1 },
		func() { m := map[any]int{}; m[[]int{}] = 1 }, func() { var x, y any = []int{}, []int{}; fmt.Println(x == y) },
		func() { var f func(); f() }, func() { var e error; fmt.Println(e.Error()) }, func() { var q *struct{ v, w int }; q.w = 1 },
		func() { var x any = "text"; fmt.Println(x.(int)) }, func() { var x any; fmt.Println(x.(fmt.Stringer)) }, func() { var x any = 1; fmt.Println(x.(error)) },
		func() { var c chan int; close(c) }, func() { c := make(chan int); close(c); close(c) }, func() { c := make(chan int, 1); close(c); c <- 1 },
		func() { panic(errors.New("own")) }, func() { panic(fmt.Sprint("text", 1)) }, func() { var q *int; fmt.Println(*q) },
		func() { var q *int; fmt.Println(unsafe.Slice(q, 0) == nil); fmt.Println(unsafe.Slice(q, n)) },
		func() {
			x := 1
			fmt.Println(len(unsafe.Slice(&x, 1)), unsafe.String(unsafe.StringData("abc"), 2))
			fmt.Println(unsafe.Slice(&x, k))
		},
		func() { b := byte(65); fmt.Println(unsafe.String(&b, 1)); fmt.Println(unsafe.String(&b, k)) },
	} {
		try(fmt.Sprint("bound ", what), f)
	}
	fmt.Println(l[1:3], l[:2:3], cap(l[:2:3]), l[4:], a[1:], p[:2], cap(p[1:2:2]), len(l[:0]), l[1:3:4][:3])
}

type packed struct {
	a int8
	b int64
	_ int32
	c [3]int16
	d string
}

func layouts() {
	var p packed
	q := packed{a: 1, d: "x"}
	fmt.Println(unsafe.Sizeof(p), unsafe.Alignof(p.c), unsafe.Alignof(p), unsafe.Offsetof(p.b), unsafe.Offsetof(q.c), unsafe.Offsetof(p.d), p == q, q == packed{a: 1, d: "x"})
	u := packed{1, 2, 3, [3]int16{4, 5, 6}, "y"}
	fmt.Println(u.a, u.b, u.c, u.d, len(u.c))
	x := []int{1}
	x = append(x, nil...)
	x = append([]int(nil), x...)
	y := append([]byte("a"), "bc"...)
	fmt.Println(x, string(y))
	fmt.Println(copy(x, []int{7, 8}), copy(y, "z"))
	fmt.Println(x, string(y))
	clear(x)
	m := map[int]int{1: 2}
	clear(m)
	fmt.Println(x, m)
	arr := [...]string{2: "c", 0: "a"}
	fmt.Println(len(arr), arr, [2][2]int{{1}, {0, 2}}, []*packed{{a: 3}}[0].a, map[string][]int{"k": {1}}, map[[2]int]string{{1, 2}: "p"})
}

func jumps(n int) (out string) {
	i := 0
top:
	for {
		switch {
		case i > n:
			break top
		case i%2 == 0:
			i++
			continue top
		case i == 5:
			goto end
		}
	inner:
		for j := range 5 {
			switch j {
			case 1:
				continue inner
			case 3:
				break inner
			case 2:
				out += "two"
				fallthrough
			case 7:
				out += "seven"
			default:
				out += fmt.Sprint(j)
			}
		}
		i++
	}
	out += " out"
end:
	block := true
named:
	if block {
		block = false
		goto named
	}
	switch x := any(i).(type) {
	case int, int8:
		out += fmt.Sprintf(" %T", x)
	case nil:
		out += " nil"
	}
	select {
	default:
		out += " default"
	}
sel:
	switch {
	default:
		if n > 0 {
			break sel
		}
		out += " zero"
	}
	return out
}

func results(n int) (a int, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("recovered %v, a is %d", r, a)
		}
		a *= 10
	}()
	for i := range n {
		defer func() { a += i }()
	}
	if a = n; n > 3 {
		panic("large")
	}
	return a + 1, nil
}

func seq(n int) func(yield func(int, string) bool) {
	return func(yield func(int, string) bool) {
		defer fmt.Print("done ")
		for i := range n {
			if !yield(i, fmt.Sprint("v", i)) {
				return
			}
		}
	}
}

func ranges() {
	for i := range i8() + 9 {
		fmt.Print(i)
	}
	for i := range u16() - 59998 {
		fmt.Print(i)
	}
	for i := range u64() - 1<<63 - 12343 {
		fmt.Print(i)
	}
	for i := range i32() {
		fmt.Print(i)
	}
	for range i64() + 7e12 + 2 {
		fmt.Print(".")
	}
	fmt.Println()
}

func sequences() (out string) {
	defer func() { fmt.Println(out) }()
	for i, s := range seq(5) {
		if i == 1 {
			continue
		}
		if i == 3 {
			break
		}
		out += s
	}
	var i int
	for i = range seq(3) {
	}
	for range seq(2) {
		out += "."
	}
outer:
	for a := range seq(3) {
		for b := range seq(3) {
			if b == 1 {
				continue outer
			}
			if a == 2 {
				break outer
			}
			out += fmt.Sprint(a, b)
		}
	}
	try("yield", func() {
		for i := range seq(3) {
			if i == 1 {
				panic("in the body")
			}
		}
	})
	for j := range seq(9) {
		if j == i {
			return out + " returned"
		}
	}
	return "not reached"
}

func main() {
	ints[int]("int", 100, 7, 3)
	ints[int8]("int8", 100, 7, 3)
	ints[int16]("int16", -100, 7, 3)
	ints[int32]("int32", 7, -3, 2)
	ints[int64]("int64", 1<<40, 12345, 5)
	ints[uint]("uint", 100, 100, 1)
	ints[uint8]("uint8", 200, 99, 2)
	ints[uint16]("uint16", 60000, 7, 4)
	ints[uint32]("uint32", 4e9, 1e9, 9)
	ints[uint64]("uint64", 1<<63, 3, 64)
	ints[uintptr]("uintptr", 9, 4, 0)
	conversions()
	floats()
	texts()
	bounds()
	layouts()
	fmt.Println(jumps(4), jumps(9), jumps(0))
	fmt.Println(results(0))
	fmt.Println(results(3))
	fmt.Println(results(4))
	ranges()
	sequences()
	println := func(x ...any) { fmt.Fprintln(os.Stdout, x...) }
	println(1, "a", nil, 2.5, errors.New("e"))
}
