package main

import (
	"fmt"
	"math"
	"slices"
	"sort"
	"strings"
	"sync"
)

// Expressions without calls, of every basic type, beyond the limits of the type
// and at the errors that they may meet.

type celsius float64

type count uint8

type cell struct {
	a, b int
	name string
	data [3]int32
	next *cell
}

var global = 7
var table = []int{1, 2, 3}

func integers(a int8, b uint8, c int16, d uint16, e int32, f uint32, g int64, h uint64, n uint) {
	for i := range 4 {
		a, b, c, d = a*3, b*3, c*3, d*3
		e *= 3
		f *= 3
		g *= 3
		h *= 3
		a += 100
		b -= 100
		c <<= 3
		d >>= 1
		e ^= 0x55
		f &^= 6
		g |= 1
		h %= 1 << 63
		fmt.Println(i, a, b, c, d, e, f, g, h)
		fmt.Println(a/7, b/7, c%7, d%7, -e/5, f/5, g/-9, h/9)
		fmt.Println(a>>1, b>>1, c>>n, d<<n, e>>n, f<<n, g>>n, h>>n, ^a, ^b, -c, -h)
		fmt.Println(a < 5, b < 5, c > 0, d >= 100, e != 0, f == 0, g <= 1, h > 1<<62, b > 200)
		x, y := int(a), uint8(e)
		z := int8(g) + a
		w := uint32(h) * f
		fmt.Println(x, y, z, w, int64(h), float64(g), float64(b), uint16(a), int(f))
	}
}

func floats(x, y float64, t celsius) {
	z := x*y - x/y + 0.5
	z += math.Sqrt(y) * math.Pi
	z -= math.Pow(x, 2)
	t = t*2 + celsius(z)
	zero := x - x
	n := zero / zero
	fmt.Println(z, t, x/zero, -x/zero, n, n == n, n < 1, n != n, !(n >= 1), -zero)
	fmt.Println(int(x*1.5), int64(-y), math.Abs(-x), math.Floor(y), float64(int(y))*0.1)
	list := []float64{x, y}
	list[0] += list[1] * 2
	list[1] *= list[0]
	list[0] /= 4
	list[1]--
	fmt.Println(list, list[0] < list[1] && list[0] > 0 || x == y)
}

func texts(s, t string) {
	u := s + "-" + t
	u += s
	last := u[len(u)-1]
	fmt.Println(u, last, len(u), u[0] == 'a', s < t, s >= t, s == t, u[1:3]+"!")
	for i := 0; i < len(u); i++ {
		if u[i] >= 'a' && u[i] <= 'z' || u[i] == '-' {
			s += t + u[i:i+1]
		}
	}
	fmt.Println(s)
}

func pointers(c *cell) {
	c.a++
	c.b += c.a * 2
	c.next.a -= c.b
	c.data[1] += 5
	c.data[c.a&1] <<= 2
	c.name += "x"
	p := &c.b
	*p *= 2
	*p -= c.data2()
	local := cell{a: 1}
	local.data[2] = int32(c.a)
	local.b = local.a + int(local.data[2])
	d := c.next
	d.b = d.a | 1
	fmt.Println(*p, c.a, c.b, c.name, c.data, *d, local)
}

func (c *cell) data2() int { return int(c.data[1]) }

func matrix(n int) int {
	m := make([][]int, n)
	for i := range m {
		m[i] = make([]int, n)
		row := m[i]
		for j := range row {
			row[j] = i*n + j
		}
	}
	total := 0
	var fixed [4][2]int
	for i := 0; i < n; i++ {
		for j := 0; j < n; j++ {
			total += m[i][j] * m[j][i]
			fixed[i&3][j&1] += m[i][j]
		}
		m[i][0]++
		m[0][i], m[i][0] = m[i][0], m[0][i]
	}
	pf := &fixed
	pf[1][1]--
	return total + fixed[1][1] + pf[3][0] + m[1][0]
}

func closures() {
	var fs []func() int
	for i := 0; i < 3; i++ {
		x := i * 10
		y := x + 1
		fs = append(fs, func() int { x++; return x + i })
		x += y
	}
	for _, f := range fs {
		fmt.Print(f(), f(), " ")
	}
	for i := range 3 {
		v := i * i
		w := v + 1
		defer fmt.Println("deferred", v, w)
		p := &w
		*p += 100
		defer func() { fmt.Println("closure", v, *p) }()
	}
	outer := 0
	func() {
		for i := range 5 {
			inner := outer + i
			outer += inner
			global += inner
			table[i%3] += global
		}
	}()
	fmt.Println(outer, global, table)
}

func calls() {
	n := 5
	f := func(x int) int { n += x; return n }
	k := 3
	a := f(1) + k*2
	b := k*2 + f(1)
	c := a + f(b) - f(1)*2
	d := f(2) > 3 && a < b || f(1) == 0
	x := []int{1, 2, 3}
	x[f(0)%3] += f(1)
	y := k*k + x[1]*f(1) - x[2]
	fmt.Println(a, b, c, d, x, -f(3), len(x)+f(1), y, n)
}

func fails(what int, x []int, p *cell, zero int) (r int) {
	defer func() { fmt.Println(what, r, recover()) }()
	r = 1
	switch what {
	case 0:
		r += x[5]
	case 1:
		x[zero-1] = 3
	case 2:
		r = 10 / zero
	case 3:
		r %= zero
	case 4:
		r = p.a
	case 5:
		p.next.b++
	case 6:
		r <<= zero - 1
	case 7:
		r = 1 >> (zero - 2)
	case 8:
		s := "abc"
		r += int(s[zero+3])
	case 9:
		x[1] += x[zero-7]
	case 10:
		var list []float64
		list[0] = 1.5
	case 11:
		if x[9] > 2 && r > 0 {
			r = 5
		}
	case 12:
		return x[4] + 1
	}
	return r + 100
}

func small() (s count, t int32) {
	for range 300 {
		s++
		t -= 1 << 24
	}
	return s, t
}

func either(a, b bool, n int) (r int) {
	if a && n > 1 || !b && n < 0 {
		r++
	}
	if !(a || b) {
		r += 2
	}
	c := a && b
	d := n == 3 || c
	if d {
		r += 4
	}
	for ok := true; ok && n > 0; n-- {
		ok = n != 2
		r += 8
	}
	switch {
	case n > 0 && a:
		r += 100
	case b:
		r += 200
	}
	return r
}

func tuples() {
	x, y := 1, 2.5
	x, y = x+1, y*float64(x)
	a, b, ok := x*2, uint8(x+254), x > 1
	a, b, ok = int(b), uint8(a), !ok
	list := []int{1, 2, 3}
	p, q := &list[0], &list[2]
	for i, j := 0, len(list)-1; i < j; i, j = i+1, j-1 {
		list[i], list[j] = list[j], list[i]
		*p, *q = *q+10, *p
	}
	i := 0
	i, list[i] = 2, 9
	fmt.Println(x, y, a, b, ok, list, i)
	var fs []func() int
	for n := range 3 {
		u, v := n, n*n
		fs = append(fs, func() int { u++; return u*10 + v })
	}
	for _, f := range fs {
		fmt.Print(f(), f(), " ")
	}
	defer func() { fmt.Println(list, i, recover()) }()
	i, list[i+5] = 7, 1
}

func growing() {
	s, other := "", ""
	for i := range 2000 {
		s += "ab"
		if i == 1500 {
			other = s
		}
		if i%500 == 499 {
			t := s
			for j := range 3 {
				u := t
				u += string(rune('0' + j))
				u = u + "!"
				fmt.Print(u[len(u)-3:], " ")
			}
		}
	}
	other += "x"
	s = s + "y"
	fmt.Println(len(s), len(other), s[3000:3004], other[2998:], s[3998:], s[:4])
	parts := []string{"", ""}
	for i := range 1000 {
		parts[i&1] += "cd"
		parts[0] = parts[0] + "."
	}
	fmt.Println(len(parts[0]), len(parts[1]), parts[0][1490:], parts[1][990:])
}

type level int8

func extremes(a, b int, x, y float64, s string, u uint64, l level) {
	f := func(v int) int { a += v; return a }
	nan := math.NaN()
	zero := x - x
	fmt.Println(min(a, b), max(a, b, 7), min(a, f(1), 2), max(f(2), a), min(x, y, 0.5), max(x, nan), min(nan, y), 1/min(zero, -zero), 1/max(-zero, zero))
	fmt.Println(min(s, "b"), max(s, "b", "a"), min(u, 1<<63), max(u, 3), min(l, 5), max(l, level(b)), min(uint8(u), 200), max(int32(a), -7), min(a))
	total := 0
	for i := range 10 {
		total += max(min(i, 7), 3) * min(len(s), i)
	}
	fmt.Println(total, min(x*2, float64(a))+1, max(celsius(x), 40))
}

type shape interface{ area() int }

type square struct{ a int }

func (s square) area() int  { return s.a * s.a }
func (p *point) area() int  { return p.x }
func (c celsius) area() int { return int(c) }

type point struct{ x, y int }

func assertions(list []any, shapes []shape) {
	for i, v := range list {
		n, ok := v.(int)
		s, ok2 := v.(string)
		p, ok3 := v.(*point)
		q, _ := v.(point)
		_, ok4 := v.(celsius)
		var x []int
		if x, ok = v.([]int); ok {
			x[0]++
			v.([]int)[1] += x[0]
		}
		if ok3 {
			v.(*point).y = i
			p.x += 5
		}
		q.x++
		sh, ok5 := v.(shape)
		fmt.Println(n, ok, s, ok2, p != nil, ok3, q, ok4, x, sh != nil, ok5)
		switch v := v.(type) {
		case int, uint8:
			fmt.Println("number", v)
		case string:
			v += "!"
			fmt.Println(v, len(v))
		case *point:
			v.x *= 2
			fmt.Println(*v)
		case point:
			v.x *= 2
			fmt.Println(v)
		case nil:
			fmt.Println("nil", v == nil)
		case shape:
			fmt.Println("shape", v.area())
		case error:
			fmt.Println("error", v)
		default:
			fmt.Printf("%T\n", v)
		}
	}
	total := 0
	for i, sh := range shapes {
		if sq, ok := sh.(square); ok {
			total += sq.a + sh.(square).a
		}
		if pt, ok := sh.(*point); ok {
			pt.x++
			total += sh.area()
		}
		func() {
			defer func() { fmt.Println(i, total, recover()) }()
			total += int(sh.(celsius)) + sh.(celsius).area()
		}()
	}
	fmt.Println(list...)
}

func declared() {
	var fs []func() int
	var pointers []*int
	for i := range 3 {
		var n int
		var s string
		var kept int
		var list []int
		var m map[string]int
		var e error
		var arr [2]int
		var p point
		n += i
		s += "x"
		list = append(list, i)
		arr[i&1]++
		p.x += i
		pointers = append(pointers, &kept)
		kept += i * 10
		var c int
		fs = append(fs, func() int { c++; return c*100 + kept })
		fmt.Println(n, s, list, m == nil, e == nil, arr, p)
		m = map[string]int{}
		e = fmt.Errorf("e%d", i)
	}
	for i, f := range fs {
		fmt.Print(f(), " ", f(), " ", *pointers[i], " ")
	}
	fmt.Println()
	a, b := make(chan int, 2), make(chan string, 1)
	got := 0
	for i := range 6 {
		var timeout chan bool
		select {
		case a <- i:
			got += 100
		case v := <-a:
			got += v
		case s, ok := <-b:
			fmt.Println(s, ok)
		case <-timeout:
			fmt.Println("never")
		default:
			got += 1000
		}
	}
	close(b)
	var none chan int
	select {
	case s, ok := <-b:
		fmt.Printf("%q %v\n", s, ok)
	case none <- 1:
	}
	for len(a) > 0 {
		<-a
	}
	go func() { a <- 5 }()
	select {
	case v, ok := <-a:
		fmt.Println(v, ok, got >= 100)
	case v := <-none:
		fmt.Println(v)
	}
	defer func() { fmt.Println(recover()) }()
	close(a)
	select {
	case a <- 1:
	case <-none:
	}
}

type boxed struct {
	data [2]int
	next *boxed
}

func ranges() {
	list := []int{1, 2, 3}
	var fs []func() int
	var ps []*boxed
	for i, v := range list {
		fs = append(fs, func() int { v++; return v*10 + i })
		list = append(list, v)
		list[2] = 7
		v *= 2
	}
	for _, f := range fs {
		fmt.Print(f(), f(), " ")
	}
	boxes := []boxed{{[2]int{1, 2}, nil}, {[2]int{3, 4}, nil}}
	var parts [][]int
	for i, b := range boxes {
		parts = append(parts, b.data[:])
		b.data[0] += 100
		boxes[i].next = &boxes[i]
	}
	for _, b := range boxes {
		b.data[1]++
		ps = append(ps, b.next)
		c := b
		c.data[0]++
		fmt.Print(b.data, c.data, b.next.data, " ")
	}
	fmt.Println(list, parts, ps[0].data, ps[1].data)
	words := [][]string{{"a", "b"}, nil, {"c"}}
	total := 0
	for i := range words {
		for j, w := range words[i] {
			for _, r := range []rune(w) {
				total += int(r) * (i + 1) * (j + 1)
			}
			words[i][j] += w
		}
	}
	for _, row := range words {
		for range row {
			total++
		}
		row = append(row, "x")
		total += len(row)
	}
	for _, s := range []shape{square{2}, nil, celsius(3)} {
		if s != nil {
			total += s.area()
		}
	}
	for i, u := range []uint8{250, 9} {
		u += 10
		total += int(u) + i
	}
	for i, v := range []float64(nil) {
		fmt.Println("never", i, v)
	}
	var nothing []*point
	for _, p := range append(nothing, &point{1, 2}, nil) {
		if p == nil {
			break
		}
		p.x += 5
		total += p.x
	}
	fmt.Println(total, words)
	defer func() { fmt.Println(recover(), total) }()
	for i, p := range []*point{{1, 2}, nil} {
		total += i + p.x
	}
}

type less func(a, b int) bool

func callbacks() {
	x := []int{5, 2, 9, 1, 7}
	calls := 0
	sort.Slice(x, func(i, j int) bool { calls++; return x[i] < x[j] })
	fmt.Println(x, calls > 3, sort.Search(5, func(i int) bool { return x[i] >= 7 }))
	fmt.Println(strings.Map(func(r rune) rune { return r + 1 }, "abc"), strings.IndexFunc("abC", func(r rune) bool { return r < 'a' }))
	slices.SortFunc(x, func(a, b int) int { return b - a })
	var f less = func(a, b int) bool { return a > b }
	var g any = f
	_, is := g.(less)
	_, isPlain := g.(func(int, int) bool)
	fmt.Println(x, f(1, 2), g.(less)(2, 1), is, isPlain, fmt.Sprintf("%T", f))
	nested := func(n int) (r int) {
		defer func() {
			if recover() != nil {
				r = -n
			}
		}()
		sort.Slice(x, func(i, j int) bool { return x[i+n] < x[j] })
		return n
	}
	fmt.Println(nested(0), nested(100))
	var fact func(int) int
	fact = func(n int) int {
		if n < 2 {
			return 1
		}
		return n * fact(n-1)
	}
	fmt.Println(fact(10), strings.Repeat("z", fact(3)))
	var once sync.Once
	for range 2 {
		once.Do(func() { fmt.Println("once") })
	}
	func() {
		defer func() { fmt.Println(recover()) }()
		sort.Slice(x, func(i, j int) bool { panic(fmt.Sprint("less ", len(x))) })
	}()
}

func main() {
	tuples()
	growing()
	callbacks()
	ranges()
	declared()
	assertions([]any{1, "s", &point{1, 2}, point{3, 4}, celsius(2), nil, []int{1, 2}, uint8(9), square{3}, fmt.Errorf("bad"), 2.5, "t"},
		[]shape{square{2}, &point{3, 4}, nil, celsius(4)})
	extremes(3, 8, 1.5, 2.5, "ab", 1<<63+5, -3)
	integers(100, 200, 30000, 60000, 1<<30, 1<<31, 1<<62, 1<<63, 3)
	floats(2.5, 7.25, 36.6)
	texts("ab", "c")
	pointers(&cell{a: 3, name: "n", next: &cell{b: 1}})
	fmt.Println(matrix(9))
	closures()
	calls()
	for i := range 14 {
		fails(i, []int{1, 2, 3}, nil, 0)
	}
	fmt.Println(small())
	for n := range 5 {
		fmt.Println(either(true, false, n), either(false, true, n), either(false, false, -n), either(true, true, n))
	}
	var x []int
	n := 3
	fmt.Println(x[n*2])
}
