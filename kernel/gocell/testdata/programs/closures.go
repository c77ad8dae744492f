package main

import (
	"fmt"
	"strings"
)

func counter() (inc func() int, get func() int) {
	n := 0
	return func() int { n++; return n }, func() int { return n }
}

func compose(fs ...func(int) int) func(int) int {
	return func(x int) int {
		for _, f := range fs {
			x = f(x)
		}
		return x
	}
}

func fib() func() int {
	a, b := 0, 1
	return func() int {
		defer func() { a, b = b, a+b }()
		return a
	}
}

type visitor struct {
	visit func(depth int, s string) *visitor
}

func memo(f func(int) int) func(int) int {
	cache := map[int]int{}
	return func(n int) int {
		if v, ok := cache[n]; ok {
			return v
		}
		v := f(n)
		cache[n] = v
		return v
	}
}

func main() {
	inc, get := counter()
	inc2, get2 := counter()
	inc()
	inc()
	inc2()
	fmt.Println(get(), get2())
	f := compose(func(x int) int { return x + 1 }, func(x int) int { return x * x }, func(x int) int { return -x })
	fmt.Println(f(2), compose()(7))
	g := fib()
	for range 10 {
		fmt.Print(g(), " ")
	}
	fmt.Println()
	var fs []func() string
	for i, w := range strings.Fields("a b c") {
		fs = append(fs, func() string { i += 10; return fmt.Sprint(w, i) })
	}
	for _, f := range fs {
		fmt.Print(f(), f(), " ")
	}
	fmt.Println()
	for i := 0; i < 6; i++ {
		inc := func() { i++ }
		fmt.Print(i, " ")
		inc()
	}
	fmt.Println()
	var rec func(int) int
	calls := 0
	rec = memo(func(n int) int {
		calls++
		if n < 2 {
			return n
		}
		return rec(n-1) + rec(n-2)
	})
	fmt.Println(rec(50), calls)
	v := &visitor{}
	out := []string{}
	v.visit = func(d int, s string) *visitor {
		out = append(out, strings.Repeat("-", d)+s)
		if d > 2 {
			return nil
		}
		return v
	}
	d := 0
	for x := v; x != nil; d++ {
		x = x.visit(d, "n")
	}
	fmt.Println(out)
	x := 1
	func() {
		x = 2
		x := 3
		x++
		func() { x++; fmt.Println(x) }()
	}()
	fmt.Println(x)
	adders := [3]func(int) int{}
	for i := range adders {
		adders[i] = func(n int) int { return n + i }
	}
	fmt.Println(adders[0](1), adders[1](1), adders[2](1))
	pf := &f
	fmt.Println((*pf)(3))
	s := struct{ do func(string) string }{strings.ToUpper}
	fmt.Println(s.do("up"))
}
