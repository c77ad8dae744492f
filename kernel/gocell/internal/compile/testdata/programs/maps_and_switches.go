package main

import (
	"fmt"
	"runtime"
	"sync"
)

// Maps of every kind of key and element, switches over every kind of value, and goroutines
// and deferred calls that end in every way.

type key struct {
	a int
	b string
}

func all[K comparable, V any](name string, k, other K, v, w V, same func(a, b V) bool) {
	m := map[K]V{k: v}
	var none map[K]V
	x, ok := m[other]
	y, there := m[k]
	_, missing := none[k]
	m[other] = w
	fmt.Println(name, ok, there, missing, same(x, none[k]), same(y, v), same(m[other], w), same(m[k], w), len(m), len(none))
	m[k], m[other] = m[other], m[k]
	p := &m
	(*p)[k] = v
	fmt.Println(same(m[k], v), same(m[other], v), same((*p)[other], v))
	n := 0
	for a, b := range m {
		if (a == k || a == other) && (same(b, v) || same(b, w)) {
			n++
		}
	}
	for range none {
		n += 100
	}
	for a := range m {
		if a == k {
			delete(m, a)
		}
	}
	_, there = m[k]
	delete(m, k)
	delete(none, k)
	if _, ok := m[other]; ok && !there {
		n += 10
	}
	clear(m)
	c := make(map[K]V, n)
	c[k] = w
	q := map[K][]V{}
	q[k] = append(q[k], v, w)
	r := map[K]map[K]V{k: c}
	r[k][other] = v
	fmt.Println(n, len(m), len(c), len(q[k]), len(q[other]), len(r[k]), same(r[k][other], v), same(r[other][k], x))
}

func eq[T comparable](a, b T) bool { return a == b }

func values[K comparable](name string, k, other K) {
	i, j := 1, 2
	all(name+" bool", k, other, true, false, eq)
	all(name+" int", k, other, 7, -8, eq)
	all(name+" int8", k, other, int8(7), int8(-8), eq)
	all(name+" uint32", k, other, uint32(7), uint32(1<<31), eq)
	all(name+" float64", k, other, 1.5, -2.5, eq)
	all(name+" float32", k, other, float32(1.5), float32(-2.5), eq)
	all(name+" string", k, other, "v", "w", eq)
	all(name+" pointer", k, other, &i, &j, eq)
	all(name+" slice", k, other, []int{1}, []int{2, 3}, func(a, b []int) bool { return len(a) == len(b) })
	all(name+" any", k, other, any(1), any("x"), eq)
	all(name+" error", k, other, fmt.Errorf("a"), fmt.Errorf("b"), func(a, b error) bool { return a == b })
	all(name+" struct", k, other, key{1, "a"}, key{2, "b"}, eq)
	all(name+" array", k, other, [3]int{1}, [3]int{2}, eq)
	all(name+" complex", k, other, 1i, 2+0i, eq)
	all(name+" map", k, other, map[string]int{"a": 1}, map[string]int{}, func(a, b map[string]int) bool { return len(a) == len(b) })
	all(name+" func", k, other, func() int { return 1 }, func() int { return 2 }, func(a, b func() int) bool { return (a == nil) == (b == nil) && (a == nil || a() == b()) })
	all(name+" chan", k, other, make(chan int), make(chan int, 1), eq)
}

type shade int8

func ints8(n int8) string {
	switch n {
	case -128:
		return "low"
	case -1, 0:
		return "around"
	case 1:
		return "one"
	case 127:
		return "high"
	}
	return "?"
}

func uints8(n uint8) (s string) {
	switch n {
	case 0:
		s = "zero"
	case 200, 255:
		s = "large"
		fallthrough
	case 7:
		s += "seven"
	default:
		s = "?"
	}
	return s
}

func ints16(n int16) int {
	switch n {
	case -300:
		return 1
	case 300:
		return 2
	case 5:
		return 3
	case -5:
		return 4
	default:
		return 0
	}
}

func ints32(n int32) int {
	switch n {
	case -1 << 31:
		return 1
	case 1<<31 - 1:
		return 2
	case 'a', 'b', 'c':
		return 3
	case -2:
		return 4
	}
	return 0
}

func ints64(n int64) int {
	switch n {
	case -1 << 63:
		return 1
	case 1<<63 - 1:
		return 2
	case 0:
		return 3
	case -7:
		return 4
	}
	return 0
}

func near(n int) int {
	switch n {
	case -2:
		return 1
	case -1:
		return 2
	case 0:
		return 3
	case 1:
		return 4
	case 2:
		return 5
	case 509:
		return 6
	}
	return 0
}

func far(n int) int {
	switch n {
	case -3:
		return 1
	case 1:
		return 2
	case 510:
		return 3
	case 2:
		return 4
	}
	return 0
}

func uints(n uint64) int {
	switch n {
	case 0:
		return 1
	case 1<<64 - 1:
		return 2
	case 1 << 63:
		return 3
	case 9:
		return 4
	}
	return 0
}

func uints32(n uint32) int {
	switch n {
	case 1<<32 - 1, 1<<32 - 2:
		return 1
	case 1<<32 - 100:
		return 2
	case 1<<32 - 50:
		return 3
	}
	return 0
}

func uints16(n uint16) int {
	switch n {
	case 1<<16 - 1:
		return 1
	case 1:
		return 2
	case 2:
		return 3
	case 3:
		return 4
	}
	return 0
}

func texts(s string) int {
	switch s {
	case "":
		return 1
	case "a":
		return 2
	case "b", "c":
		return 3
	case "aa":
		return 4
	}
	return 0
}

func mixed(x any) string {
	switch x {
	case nil:
		return "nil"
	case 1:
		return "int"
	case "1":
		return "text"
	case 1.0:
		return "float"
	case shade(1):
		return "shade"
	case key{1, "x"}:
		return "key"
	}
	switch y := x.(type) {
	case int, int8:
		return fmt.Sprintf("%T", y)
	case []int:
		return fmt.Sprint(len(y))
	case func() string:
		return y()
	case error:
		return "error " + y.Error()
	case fmt.Stringer:
		return y.String()
	case nil:
		return "not reached"
	default:
		return fmt.Sprintf("other %T", y)
	}
}

func bools(a, b bool) string {
	switch {
	case a && b:
		return "both"
	case a:
		return "a"
	case !b:
		return "none"
	}
	switch b {
	case true:
		return "b"
	}
	return "?"
}

func variables(n, one, two int) int {
	switch n {
	case one:
		return 1
	case two, one + two:
		return 2
	}
	return 0
}

func switches() {
	for _, n := range []int8{-128, -127, -2, -1, 0, 1, 2, 126, 127} {
		fmt.Print(ints8(n), " ")
	}
	for _, n := range []uint8{0, 1, 6, 7, 8, 199, 200, 254, 255} {
		fmt.Print(uints8(n), " ")
	}
	for _, n := range []int16{-301, -300, -5, -4, 0, 5, 6, 299, 300, 301} {
		fmt.Print(ints16(n), " ")
	}
	for _, n := range []int32{-1 << 31, 1<<31 - 1, 'a' - 1, 'a', 'c', 'd', -2, -1, 0} {
		fmt.Print(ints32(n), " ")
	}
	for _, n := range []int64{-1 << 63, 1<<63 - 1, 0, 1, -7, -8, 7} {
		fmt.Print(ints64(n), " ")
	}
	for _, n := range []int{-4, -3, -2, -1, 0, 1, 2, 3, 508, 509, 510, 511, 1 << 40, -1 << 40} {
		fmt.Print(near(n), far(n), " ")
	}
	for _, n := range []uint64{0, 1<<64 - 1, 1 << 63, 9, 1, 8, 10} {
		fmt.Print(uints(n), " ")
	}
	for _, n := range []uint32{1<<32 - 1, 1<<32 - 2, 1<<32 - 3, 1<<32 - 100, 1<<32 - 101, 1<<32 - 50, 0} {
		fmt.Print(uints32(n), " ")
	}
	for _, n := range []uint16{0, 1, 2, 3, 4, 1<<16 - 2, 1<<16 - 1} {
		fmt.Print(uints16(n), " ")
	}
	for _, s := range []string{"", "a", "b", "c", "aa", "d", "aaa"} {
		fmt.Print(texts(s), " ")
	}
	fmt.Println()
	for _, x := range []any{nil, 1, 2, "1", "2", 1.0, shade(1), shade(2), key{1, "x"}, key{1, "y"}, []int{1, 2}, func() string { return "f" }, fmt.Errorf("e"), int8(1), struct{}{}} {
		fmt.Print(mixed(x), " ")
	}
	fmt.Println(bools(true, true), bools(true, false), bools(false, false), bools(false, true), variables(1, 1, 2), variables(2, 1, 2), variables(3, 1, 2), variables(4, 1, 2))
}

func ends() {
	var wg sync.WaitGroup
	var mu sync.Mutex
	var out []string
	add := func(s string) { mu.Lock(); defer mu.Unlock(); out = append(out, s) }
	run := func(f func()) {
		wg.Add(1)
		go func() {
			defer wg.Done()
			f()
			add("returned")
		}()
		wg.Wait()
	}
	run(func() { add("1") })
	run(func() { defer add("deferred"); runtime.Goexit(); add("no") })
	run(func() {
		defer func() { add(fmt.Sprint(recover())) }()
		defer runtime.Goexit()
		panic("dropped")
	})
	run(func() {
		defer func() { add(fmt.Sprint(recover())) }()
		defer func() { defer func() { add(fmt.Sprint(recover())) }(); panic("b") }()
		panic("a")
	})
	run(func() {
		defer func() { add(fmt.Sprint(recover())) }()
		func() { defer func() { panic("second") }(); panic("first") }()
	})
	run(func() {
		defer func() {
			defer add("inner deferred")
			add(fmt.Sprint(recover()))
			add(fmt.Sprint(recover()))
		}()
		var l []int
		_ = l[len(l)]
	})
	run(func() {
		defer add("last")
		for i := range 3 {
			defer func() {
				if i == 1 {
					runtime.Goexit()
				}
				add(fmt.Sprint("d", i))
			}()
		}
	})
	var once sync.Once
	for range 2 {
		once.Do(func() { add("once") })
	}
	n := 0
	for range 50 {
		wg.Add(1)
		go func() { defer wg.Done(); mu.Lock(); n++; mu.Unlock() }()
	}
	wg.Wait()
	fmt.Println(out, n)
}

func makes() {
	for _, n := range []int{0, 1, 1000} {
		a, b, c := make([]int, n), make([]struct{}, n, n+5), make([]string, n, 2*n+1)
		d := make(chan int, n)
		e := make(map[string]int, n)
		fmt.Print(len(a), cap(a), len(b), cap(b), len(c), cap(c), cap(d), len(e), " ")
	}
	var l []int
	for i := range 20 {
		l = append(l, i, i*i)
		l = append(l[:len(l)-1:len(l)-1], l[len(l)-1])
	}
	var s []string
	s = append(s, "a")
	s = append(s, s...)
	s = append(s, s[:1]...)
	var z []struct{}
	z = append(z, struct{}{}, struct{}{})
	b := append([]byte("x"), "yz"...)
	b = append(b, b...)
	fmt.Println(len(l), l[39], s, len(z), string(b), copy(b[1:], b), string(b[:3]))
}

func main() {
	values("int", 3, -4)
	values("int32", 'x', 'y')
	values("string", "k", "")
	values("uint8", uint8(0), uint8(255))
	values("float64", 0.5, 0.0)
	values("struct", key{1, "x"}, key{1, "y"})
	values("any", any(1), any("1"))
	values("array", [2]bool{true}, [2]bool{})
	switches()
	ends()
	makes()
}
