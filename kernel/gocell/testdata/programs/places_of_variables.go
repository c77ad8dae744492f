package main

import "fmt"

type point struct{ x, y int }

func (p point) up() point  { p.y++; return p }
func at(x, y int) point    { return point{x, y} }
func both() (point, int)   { return point{7, 8}, 1 }
func pointed() (p point)   { q := &p; p = point{1, 2}; q.x = 9; return }
func deferred() (p point)  { defer func() { p.x++ }(); return point{5, 2} }
func argument(p point) int { f := func() int { return p.x }; p = point{4, 5}; return f() }
func set(p *point)         { *p = point{20, 21} }
func counters() []func() int {
	var fs []func() int
	for i := range 3 {
		a := []int{i}
		var b = map[int]int{0: i}
		c := [2]int{i}
		var d = []int{i}
		e := point{i, i}
		p := &d
		fs = append(fs, func() int {
			a[0]++
			b[0]++
			c[1] += c[0] + 1
			(*p)[0]++
			e = point{e.x + 1, 0}
			return a[0] + b[0]*10 + c[1]*100 + d[0]*1000 + e.x*10000
		})
	}
	return fs
}

type box struct {
	point
	in  point
	all []point
}

func main() {
	x := point{1, 2}
	p := &x
	see := func() string { return fmt.Sprint(x, *p) }
	x = point{3, 4}
	fmt.Println(see())
	x = at(5, 6)
	fmt.Println(see())
	x = x.up()
	fmt.Println(see())
	x, n := both()
	fmt.Println(see(), n)
	var v any = point{9, 10}
	x = v.(point)
	fmt.Println(see())
	x, _ = v.(point)
	m := map[int]point{1: {11, 12}}
	x = m[1]
	fmt.Println(see())
	s := []point{{13, 14}}
	x = s[0]
	p.y = 15
	fmt.Println(see(), s)
	y := point{16, 17}
	x, y = y, x
	fmt.Println(see(), y)
	for _, x = range []point{{18, 19}} {
		fmt.Println(see())
	}
	set(&x)
	fmt.Println(see())
	*p = point{22, 23}
	fmt.Println(see())
	func() { x = point{24, 25} }()
	fmt.Println(see())
	fmt.Println(pointed(), deferred(), argument(point{}))
	b := box{in: point{1, 2}, all: s}
	q, r := &b.in, &b.all[0]
	in := func() point { return b.in }
	b.in, b.all[0] = point{3, 4}, point{5, 6}
	fmt.Println(*q, *r, in())
	b = box{in: point{7, 8}}
	fmt.Println(*q, *r, in())
	fs := counters()
	fmt.Println(fs[0](), fs[1](), fs[2](), fs[0](), fs[2]())
	var ps []*[]int
	for i := range 3 {
		var list = []int{i}
		ps = append(ps, &list)
	}
	fmt.Println(*ps[0], *ps[1], *ps[2])
}
