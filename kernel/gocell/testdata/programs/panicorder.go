package main

import "fmt"

type G interface{ get(int) int }
type S struct{ a int }

func (s S) get(n int) int  { return s.a + n }
func (s *S) set(n int) int { s.a += n; return s.a }
func f(n int) int          { fmt.Println("f", n); return n }
func try(name string, f func()) {
	defer func() { fmt.Println(name, recover()) }()
	f()
}
func same[T any](x T) T { return x }

func main() {
	var a any = 1
	var g G
	var p *S
	var xs []int
	var m map[string]int
	var fn func(int) int
	var fs []func(int) int
	try("assert iface method", func() { fmt.Println(a.(G).get(f(1))) })
	try("assert iface method same", func() { fmt.Println(same(a).(G).get(f(1))) })
	try("assert concrete method", func() { fmt.Println(a.(S).get(f(1))) })
	try("assert concrete field plus", func() { fmt.Println(a.(S).a + f(1)) })
	try("assert plus", func() { fmt.Println(a.(string) + fmt.Sprint(f(1))) })
	try("assert iface arg", func() { fmt.Println(a.(G), f(1)) })
	try("assert concrete arg", func() { fmt.Println(a.(string), f(1)) })
	try("nil iface method", func() { fmt.Println(g.get(f(1))) })
	try("nil pointer value method", func() { fmt.Println(p.get(f(1))) })
	try("nil pointer method", func() { fmt.Println(p.set(f(1))) })
	try("index plus", func() { fmt.Println(xs[3] + f(1)) })
	try("index arg", func() { fmt.Println(xs[3], f(1)) })
	try("nil func", func() { fmt.Println(fn(f(1))) })
	try("func of slice", func() { fmt.Println(fs[1](f(1))) })
	try("field plus", func() { fmt.Println(p.a + f(1)) })
	try("deref arg", func() { fmt.Println(*p, f(1)) })
	try("map assign", func() { m["a"] = f(1) })
	try("slice assign", func() { xs[3] = f(1) })
	try("slice assign index call", func() { xs[f(3)] = f(1) })
	try("field assign", func() { p.a = f(1) })
	try("slice expr arg", func() { fmt.Println(xs[2:], f(1)) })
	try("divide", func() { z := 0; fmt.Println(1/z, f(1)) })
	try("divide plus", func() { z := 0; fmt.Println(1/z + f(1)) })
	try("shift plus", func() { z := -1; fmt.Println(1<<z + f(1)) })
	try("shift arg", func() { z := -1; fmt.Println(1<<z, f(1)) })
	try("literal", func() { fmt.Println([]int{xs[1], f(1)}) })
	try("struct literal", func() { fmt.Println(S{xs[1] + f(1)}) })
	try("make", func() { n := -1; fmt.Println(make([]int, n), f(1)) })
	try("assert ok", func() { x, ok := same(a).(G); fmt.Println(x, ok, f(1)) })
	try("assert in method value", func() { h := a.(G).get; fmt.Println(h(f(1))) })
	try("return assert", func() { func() (int, int) { return a.(G).get(f(1)), f(2) }() })
	try("append", func() { xs = append(xs, xs[4], f(1)) })
}
