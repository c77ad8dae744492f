package main

import "fmt"

type A [3]int
type S struct {
	p *A
	q *[2]struct{ x int }
	g [2]*[2]*int
}

func f(s string, p *A) *A       { fmt.Print(s, " "); return p }
func ix(i int) int              { fmt.Print("i", i, " "); return i }
func gen[T any](p *[3]T, v T) T { p[1] = v; q := &p[2]; *q = v; return p[0] }

func main() {
	a := A{1, 2, 3}
	s := S{p: &a, q: &[2]struct{ x int }{}}
	p := &a
	p[0] = 5
	p[1]++
	p[2] += p[0]
	p[0], p[1] = p[1], p[0]
	fmt.Println(a, len(p), cap(s.p))
	s.p[0], s.q[1].x = 9, 8
	s.q[0].x++
	fmt.Println(a, *s.q)
	n := 4
	s.g[0] = new([2]*int)
	s.g[0][1] = &n
	*s.g[0][1] = 6
	fmt.Println(n)
	f("1", p)[ix(2)] = ix(7)
	f("1", p)[ix(2)] += ix(7)
	f("1", p)[ix(2)]++
	fmt.Println(a, f("x", p)[ix(1)])
	for i := range p {
		p[i] *= 2
	}
	for i, v := range p {
		p[2] = 100
		fmt.Print(i, v, " ")
	}
	pp := &p
	(*pp)[1] = 77
	(**pp)[0] = 78
	fmt.Println(a, p[1:], (*p)[:2])
	x := &p[1]
	*x = 3
	fmt.Println(a, gen(&[3]string{"a"}, "b"), gen((*[3]int)(p), 4), a)
	func() {
		defer func() { fmt.Println(recover()) }()
		var np *A
		fmt.Println(np[ix(1)])
	}()
	func() {
		defer func() { fmt.Println(recover()) }()
		fmt.Println(p[ix(3)])
	}()
	func() {
		defer func() { fmt.Println(recover()) }()
		p[ix(3)] = 1
	}()
	c := *p
	c[0] = 1000
	fmt.Println(a == *p, c != a)
	b := [2]A{}
	pb := &b
	pb[1][2] = 3
	pb[0] = pb[1]
	pb[1][1]++
	fmt.Println(b)
	var e any = p
	e.(*A)[1] = 55
	fmt.Println(a)
	m := map[string]*A{"x": p}
	m["x"][0] = 56
	fmt.Println(a)
	sl := []*A{p}
	sl[0][0], sl[0][1] = sl[0][1], sl[0][0]
	fmt.Println(a)
	fs := func() (int, bool) { return 1, true }
	var ok bool
	p[0], ok = fs()
	fmt.Println(a, ok)
}
