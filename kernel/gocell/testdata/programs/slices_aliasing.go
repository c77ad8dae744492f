package main

import "fmt"

type M [2][3]int

func change(s []int)     { s[0] = 100 }
func grow(s []int) []int { return append(s, 9) }
func arr(a [3]int)       { a[0] = 100 }
func parr(a *[3]int)     { a[0] = 100 }
func double(m M) M {
	for i := range m {
		for j := range m[i] {
			m[i][j] *= 2
		}
	}
	return m
}

func main() {
	a := []int{1, 2, 3, 4, 5}
	b := a[1:3]
	b[0] = 20
	b = append(b, 40)
	fmt.Println(a, b, len(b), cap(b))
	c := a[1:3:3]
	c = append(c, 99)
	c[0] = -1
	fmt.Println(a, c)
	change(a)
	fmt.Println(a[0], grow(a[:2]), a)
	x := [3]int{1, 2, 3}
	y := x
	arr(x)
	fmt.Println(x, y, x == y)
	parr(&x)
	fmt.Println(x, y, x == y)
	s := x[:]
	s[1] = 50
	fmt.Println(x, s)
	for i, v := range x {
		x[2] = 77
		if i == 2 {
			fmt.Println(v)
		}
	}
	for i, v := range s {
		s[2] = 78
		if i == 2 {
			fmt.Println(v)
		}
	}
	for i := range &x {
		x[i]++
	}
	fmt.Println(x)
	var nils []int
	fmt.Println(nils == nil, len(nils), cap(nils), nils[:0] == nil, append(nils, nils...) == nil, []int{} == nil)
	m := M{{1, 2, 3}, {4, 5, 6}}
	n := double(m)
	row := m[0]
	row[0] = 9
	pr := &m[1]
	pr[0] = 8
	fmt.Println(m, n, row, m != n)
	d := make([][]int, 3)
	for i := range d {
		d[i] = make([]int, i+1)
		for j := range d[i] {
			d[i][j] = i * j
		}
	}
	fmt.Println(d, len(d[2]))
	e := append([]int(nil), a...)
	e[0] = 0
	fmt.Println(a[0], e[0], copy(e, a[2:]), e)
	fmt.Println(copy(a[1:], a), a)
	a = append(a[:1], a[2:]...)
	fmt.Println(a, len(a), cap(a))
	a = append(a[:1], append([]int{7, 8}, a[1:]...)...)
	fmt.Println(a)
	st := []struct{ n int }{{1}, {2}}
	for _, v := range st {
		v.n = 100
	}
	for i := range st {
		st[i].n++
	}
	p := &st[0]
	st = append(st, struct{ n int }{3})
	p.n = 55
	fmt.Println(st, *p)
	arr2 := [...]string{2: "c", 0: "a"}
	fmt.Println(len(arr2), fmt.Sprintf("%q", arr2))
	sparse := []int{5: 1, 2, 1: 7}
	fmt.Println(sparse, len(sparse))
	ap := [2]*int{new(int), new(int)}
	ap2 := ap
	*ap2[0] = 4
	fmt.Println(*ap[0], ap == ap2)
	sl := a[2:2]
	fmt.Println(len(sl), cap(sl) > 0, sl == nil)
	pa := (*[2]int)(a)
	pa[0] = -5
	fmt.Println(a[0], [2]int(a))
	i := 0
	i, a[i] = 1, 42
	fmt.Println(i, a)
	a[0], a[1], a[2] = a[2], a[0], a[1]
	fmt.Println(a)
	mm := map[string][2]int{"k": {1, 2}}
	t := mm["k"]
	t[0] = 9
	fmt.Println(mm, t)
	var grid [3][3]rune
	for i := range grid {
		for j := range grid[i] {
			grid[i][j] = '.'
		}
	}
	grid[1][1] = 'X'
	g2 := grid
	g2[0][0] = 'O'
	for _, r := range grid {
		fmt.Print(string(r[:]), " ")
	}
	fmt.Println(string(g2[0][:]))
	var iface any = x
	x[0] = 1234
	fmt.Println(iface.([3]int)[0] == 1234, iface == any([3]int{1, 2}))
	fn := func(xs ...int) { xs[0] = 1 }
	vs := []int{5, 6}
	fn(vs...)
	fmt.Println(vs)
}
