package main

import "fmt"

type Shape interface {
	Area() float64
	Perimeter() float64
}

type Named interface{ Name() string }

type Square struct{ s float64 }
type Circle struct{ r float64 }
type Poly []float64

func (q Square) Area() float64      { return q.s * q.s }
func (q Square) Perimeter() float64 { return 4 * q.s }
func (q Square) Name() string       { return "square" }
func (c *Circle) Area() float64     { return 3 * c.r * c.r }
func (c *Circle) Perimeter() float64 {
	return 6 * c.r
}
func (p Poly) Area() float64 { return 0 }
func (p Poly) Perimeter() (sum float64) {
	for _, x := range p {
		sum += x
	}
	return
}

func total(shapes ...Shape) (a, p float64) {
	for _, s := range shapes {
		a += s.Area()
		p += s.Perimeter()
	}
	return a, p
}

func describe(s Shape) string {
	switch v := s.(type) {
	case Square:
		return fmt.Sprint("square of ", v.s)
	case *Circle:
		v.r++
		return fmt.Sprint("circle of ", v.r)
	case interface{ Len() int }:
		return "has a length"
	default:
		return fmt.Sprintf("something with perimeter %v", v.Perimeter())
	}
}

type Fn func(int) int

func (f Fn) Apply(n int) int { return f(f(n)) }

func inc(n int) int { return n*n + 1 }

type Applier interface{ Apply(int) int }

func main() {
	c := &Circle{1}
	shapes := []Shape{Square{2}, c, Poly{1, 2, 3}}
	fmt.Println(total(shapes...))
	fmt.Println(total())
	for _, s := range shapes {
		fmt.Println(describe(s))
		n, ok := s.(Named)
		if ok {
			fmt.Println("named", n.Name())
		} else {
			fmt.Println("unnamed", n == nil)
		}
	}
	fmt.Println(c.r)
	var a, b Shape = Square{2}, Square{2}
	fmt.Println(a == b, a != Square{3}, shapes[1] == Shape(c), a == shapes[1])
	a = nil
	fmt.Println(a == nil, b != nil)
	var ap Applier = Fn(inc)
	fmt.Println(ap.Apply(2))
	m := map[string]Shape{"a": Square{1}, "b": &Circle{2}}
	fmt.Println(m["a"].Area(), m["b"].Area(), m["c"] == nil)
	funcs := map[string]func(Shape) float64{"area": Shape.Area, "per": Shape.Perimeter}
	fmt.Println(funcs["area"](Square{5}), funcs["per"](Poly{1, 1}))
	var e any = shapes
	if ss, ok := e.([]Shape); ok {
		fmt.Println(len(ss))
	}
	_, ok := e.([]any)
	fmt.Println(ok)
}
