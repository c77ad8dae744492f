package main

import (
	"errors"
	"fmt"
	"strings"
	"sync"
)

// Functions of which something outlives the call, each called several times
// before the results are used: no call may use the variables of another. The
// functions after them leave nothing behind.

type point struct{ x, y int }

func (p *point) move(d int) *point { p.x += d; return p }
func (p point) sum() int           { return p.x + p.y }

type row struct {
	name  string
	cells [4]int
}

func counter(from int) func() int {
	n := from
	return func() int { n++; return n }
}

func address(v int) *int {
	w := v * 2
	return &w
}

func parameter(v int) *int { return &v }

func array(v int) []int {
	var a [3]int
	a[1] = v
	return a[:]
}

func field(v int) *int {
	var p point
	p.y = v
	return &p.y
}

func element(v int) *int {
	a := [2]int{v, v + 1}
	return &a[1]
}

func receiver(v int) *point {
	p := point{v, 1}
	return p.move(v)
}

func bound(v int) func() int {
	p := point{v, 10}
	return p.sum
}

func boundPointer(v int) func(int) *point {
	p := point{v, 10}
	return p.move
}

func later(v int, out chan<- int, wg *sync.WaitGroup) {
	w := v * 10
	wg.Add(1)
	go func() { defer wg.Done(); out <- w }()
}

func passed(v int, f func(*int)) {
	w := v
	f(&w)
}

func named(v int) (r int, err error) {
	defer func() {
		if recover() != nil {
			err = errors.New("recovered " + fmt.Sprint(v))
		}
	}()
	if v%2 == 1 {
		panic(v)
	}
	return v, nil
}

func builder(s string) string {
	var b strings.Builder
	for range 3 {
		b.WriteString(s)
	}
	return b.String()
}

func whole(v int) any {
	r := row{name: fmt.Sprint("r", v)}
	r.cells[v&3] = v
	return r
}

func values(v int) (point, [2]int, map[string]int, []int) {
	p := point{v, v}
	a := [2]int{v, 1}
	m := map[string]int{"v": v}
	s := append([]int(nil), v, a[0])
	return p, a, m, s
}

func fib(n int) int {
	if n < 2 {
		return n
	}
	a := fib(n - 1)
	return a + fib(n-2)
}

func zero(set bool) (n int, s string, p *point) {
	var local int
	var list []int
	if set {
		n, s, p, local = 7, "seven", &point{1, 2}, 5
		list = append(list, 1)
	}
	return n + local + len(list), s, p
}

func even(n int) bool {
	if n == 0 {
		return true
	}
	return odd(n - 1)
}

func odd(n int) bool {
	if n == 0 {
		return false
	}
	return even(n - 1)
}

func fails(depth int, at []int) int {
	if depth == 0 {
		return at[5]
	}
	v := fails(depth-1, at)
	return v + depth
}

func sum(list ...int) (total int) {
	for _, v := range list {
		total += v
	}
	return total
}

func kept(keep *[]func() int, v int) (r int) {
	*keep = append(*keep, func() int { r++; return r })
	return v
}

func keeper(keep *[]func() int, v int) int {
	return kept(keep, v) + kept(keep, v+1)
}

func apply(f func(int) int, v int) int { return f(v) }

func main() {
	a, b := counter(1), counter(10)
	fmt.Println(a(), b(), a(), b(), apply(func(v int) int { return v + a() }, 100))
	for _, f := range []func(int) *int{address, parameter, field, element} {
		p, q := f(1), f(2)
		*p += 100
		fmt.Println(*p, *q)
	}
	s, t := array(5), array(6)
	s[0] = 9
	fmt.Println(s, t)
	p, q := receiver(1), receiver(2)
	p.move(5)
	fmt.Println(*p, *q)
	f, g := bound(1), bound(2)
	fmt.Println(f(), g(), f())
	h, i := boundPointer(1), boundPointer(2)
	h(1)
	fmt.Println(*h(1), *i(1))
	out, wg := make(chan int, 8), new(sync.WaitGroup)
	for v := range 8 {
		later(v, out, wg)
	}
	wg.Wait()
	total := 0
	for range 8 {
		total += <-out
	}
	fmt.Println(total)
	var pointers []*int
	for v := range 3 {
		passed(v, func(p *int) { pointers = append(pointers, p) })
	}
	fmt.Println(*pointers[0], *pointers[1], *pointers[2])
	for v := range 4 {
		fmt.Println(named(v))
	}
	fmt.Println(builder("ab"), builder("c"))
	x, y := whole(1), whole(2)
	fmt.Println(x, y)
	p1, a1, m1, s1 := values(1)
	p2, a2, m2, s2 := values(2)
	fmt.Println(p1, a1, m1, s1, p2, a2, m2, s2)
	fmt.Println(fib(15), even(10), odd(7), even(3))
	fmt.Println(zero(true))
	fmt.Println(zero(false))
	var keep []func() int
	fmt.Println(keeper(&keep, 3), sum(1, 2, 3), sum())
	n := keeper(&keep, 30)
	for _, f := range keep {
		fmt.Print(f(), " ")
	}
	fmt.Println(n)
	for d := range 3 {
		func() {
			defer func() { fmt.Println(recover(), d) }()
			fmt.Println(fails(d, []int{1}))
		}()
		fmt.Println(fails(d, make([]int, 6)))
	}
	results := make([]int, 8)
	for v := range results {
		wg.Go(func() { results[v] = fib(10 + v) })
	}
	wg.Wait()
	fmt.Println(results)
	fails(3, nil)
}
