package main

import (
	"fmt"
	"sort"
	"strings"
	"sync"
	"time"
)

// Statements and calls in forms that are rare: assignments of several values in their order,
// method values and expressions of embedded types, closures of loop variables, deferred calls
// of every kind, selects, conversions between types of one shape, and constants.

type point struct{ x, y int }

func (p point) sum() int         { return p.x + p.y }
func (p *point) move(dx, dy int) { p.x += dx; p.y += dy }
func (p point) String() string   { return fmt.Sprintf("<%d %d>", p.x, p.y) }

type named struct {
	point
	*strings.Builder
	name string
	next *named
}

type shape interface {
	sum() int
	fmt.Stringer
}

type ints []int

func (l ints) Len() int           { return len(l) }
func (l ints) Less(i, j int) bool { return l[i] < l[j] }
func (l ints) Swap(i, j int)      { l[i], l[j] = l[j], l[i] }
func (l *ints) add(x ...int) *ints {
	*l = append(*l, x...)
	return l
}

type celsius float64
type fn func(int) int

func (f fn) twice(n int) int { return f(f(n)) }

var trace []string

func note[T any](s string, x T) T { trace = append(trace, s); return x }

func orders() {
	l := []int{1, 2, 3}
	i := 0
	i, l[i] = 2, 9
	l[0], l[1], l[2] = l[2], l[0], l[1]
	m := map[string]int{"a": 1}
	m["a"], m["b"] = m["b"]+5, m["a"]
	p := &point{1, 2}
	p.x, p.y = p.y, p.x
	q := p
	p, p.x = &point{7, 8}, 5
	fmt.Println(i, l, m, *p, *q)
	note("a", l)[note("b", 1)] = note("c", 4)
	note("d", m)[note("e", "k")] += note("f", 6)
	*note("g", &i) = note("h", 1) + note("i", 2)*note("j", 3)
	fmt.Println(trace, l, m, i)
	trace = nil
	_ = note("a", true) && note("b", false) && note("c", true)
	_ = note("d", false) || note("e", true) || note("f", true)
	_ = [...]int{note("g", 1), note("h", 2)}
	_ = map[int]int{note("i", 1): note("j", 2), note("k", 3): note("l", 4)}
	_, _ = note("m", 1), note("n", 2)
	fmt.Println(trace, note("o", 1), note("p", 2))
	var a [3]int
	b := a
	b[1] = 7
	c := &a
	c[2] = 8
	for i, v := range a {
		a[2-i] = 10 + v
	}
	s := a[:]
	for i := range s {
		s[i]++
	}
	fmt.Println(a, b, *c, a == b, a != *c, [2]point{{1, 2}} == [2]point{{1, 2}, {}})
	x, y, z := func() (int, string, error) { return 1, "two", nil }()
	x, w := note("q", x+1), 3
	fmt.Println(x, y, z, w)
	v, ok := m["none"]
	u, isInt := any(3).(int)
	_, isText := any(3).(string)
	fmt.Println(v, ok, u, isInt, isText)
	var t struct {
		a, b int
		c    []string
		d    struct{ e map[string][]int }
	}
	t.c = append(t.c, "x")
	t.d.e = map[string][]int{}
	t.d.e["k"] = append(t.d.e["k"], 1, 2)
	t.d.e["k"][1]++
	t.a, t.b = 1, t.a
	copied := t
	copied.c[0], copied.a = "y", 9
	fmt.Println(t, copied)
}

func methods() {
	n := named{point: point{1, 2}, Builder: &strings.Builder{}, name: "n"}
	n.move(1, 1)
	n.WriteString("text")
	move, sum, str := n.move, n.sum, n.point.String
	move(10, 10)
	f, g, h := point.sum, (*point).move, named.sum
	g(&n.point, 1, 0)
	n.next = &n
	fmt.Println(n.sum(), sum(), str(), f(n.point), h(n), n.Len(), n.next.next.name, n.next.x)
	var s shape = n.point
	var t shape = &n.point
	k := s.sum
	n.x = 100
	fmt.Println(s.sum(), t.sum(), k(), shape.sum(t), s, t, s == shape(point{12, 13}), s != t)
	switch v := t.(type) {
	case point:
		fmt.Println("point", v)
	case *point:
		fmt.Println("pointer", v.x)
	}
	var l ints
	l.add(3, 1).add(2).add()
	sort.Sort(l)
	sort.Sort(sort.Reverse(l))
	fmt.Println(l, l.Len(), []int(l), ints([]int{1}).Len(), celsius(3)/2, float64(celsius(1.5)), fn(func(n int) int { return n + 3 }).twice(1))
	var none *named
	var e error
	fmt.Println(none == nil, e == nil, any(none) == nil, func() {} == nil, map[string]int(nil) == nil)
	anon := struct {
		point
		z int
	}{point{1, 1}, 2}
	anon.move(1, 1)
	fmt.Println(anon, anon.sum(), struct{ x, y int }(point2(anon.point)))
}

type point2 struct{ x, y int }

func init() { trace = append(trace, "init") }
func init() { trace = append(trace, "again"); fmt.Println(trace); trace = nil }

var before = after + 1
var after = func() int { return 41 }()

func closures() {
	var fs []func() int
	for i := 0; i < 3; i++ {
		fs = append(fs, func() int { i *= 10; return i })
	}
	for _, s := range []int{7, 8} {
		fs = append(fs, func() int { s++; return s })
	}
	x := 0
	inc := func() func() int { x++; y := x; return func() int { y++; return x*100 + y } }()
	fs = append(fs, inc, inc)
	for _, f := range fs {
		fmt.Print(f(), f(), " ")
	}
	var fact func(int) int
	fact = func(n int) int {
		if n <= 1 {
			return 1
		}
		return n * fact(n-1)
	}
	apply := func(f func(...int) int, x ...int) int { return f(x...) }
	fmt.Println(fact(10), apply(func(x ...int) int { return len(x) }, 1, 2, 3), apply(func(x ...int) int { return len(x) }), before, after)
}

func defers() (out string) {
	add := func(s string) { out += s }
	defer func() { out += fmt.Sprint(" ", recover()) }()
	defer add("1")
	for i := range 3 {
		defer func(n int) { add(fmt.Sprint(n, i)) }(i * 2)
	}
	p := point{1, 1}
	defer p.move(5, 5)
	defer fmt.Fprint(writer{&out}, "w", p)
	defer delete(map[int]int{}, 1)
	var mu sync.Mutex
	mu.Lock()
	defer mu.Unlock()
	defer func() {
		defer func() { add(fmt.Sprint("[", recover(), "]")) }()
		panic("inner")
	}()
	p.x = 9
	var m map[string]int
	m["x"] = 1
	return "not returned"
}

type writer struct{ to *string }

func (w writer) Write(b []byte) (int, error) { *w.to += string(b); return len(b), nil }

func nested() (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("outer: %v", r)
		}
	}()
	func() {
		defer func() { panic(fmt.Sprint("again: ", recover())) }()
		panic("first")
	}()
	return nil
}

func selects() {
	a, b, done := make(chan int), make(chan string, 2), make(chan struct{})
	go func() {
		for i := range 3 {
			a <- i
		}
		close(a)
		b <- "x"
		close(b)
		close(done)
	}()
	total, texts := 0, ""
	for a != nil || b != nil {
		select {
		case v, ok := <-a:
			if !ok {
				a = nil
				continue
			}
			total += v
		case s, ok := <-b:
			if texts += s; !ok {
				b = nil
			}
		}
	}
	<-done
	var l [1]int
	m := map[string]string{}
	c := make(chan int, 1)
	c <- 5
	select {
	case l[0] = <-c:
	case c <- 1:
	}
	d := make(chan string, 1)
	select {
	case d <- "sent":
	default:
	}
	select {
	case m["k"] = <-d:
	case <-time.After(time.Minute):
	}
	select {
	case d <- "again":
		fmt.Print("sent ")
	}
	v, ok := <-d
	var ro <-chan string = d
	var so chan<- string = d
	so <- "one way"
	fmt.Println(total, texts, l, m, v, ok, <-ro, len(d), cap(c), len(so))
	var wg sync.WaitGroup
	results := make([]int, 4)
	for i := range results {
		wg.Add(1)
		go func() { defer wg.Done(); results[i] = i * i }()
	}
	wg.Wait()
	e := make(chan int, 3)
	for i := range 3 {
		e <- i
	}
	close(e)
	for x := range e {
		results = append(results, x)
	}
	fmt.Println(results)
}

const (
	kb = 1 << (10 * (iota + 1))
	mb
	_
	tb
)
const big = 1 << 100
const (
	c0, d0 = iota, -iota
	c1, d1
)

type weekday uint8

const (
	monday weekday = iota + 1
	tuesday
)

func (d weekday) String() string { return [...]string{1: "Mon", 2: "Tue"}[d] }

func constants() {
	var f float32 = big >> 98
	var i8 int8 = -1 << 7
	const typed int64 = 'a' + 1.0
	fmt.Println(kb, mb, tb, f, i8, c1, d1, typed, tuesday, monday+1, weekday(1) == monday, 7/2, 7/2.0, -7/2, -7%3, 1<<3|1, 'x', "a"+"b", len("é"), 0x1p-2, 1e3, 0b101, 0o17, 1_000, 2i*2i, real(3+4i), "raw\n"+`\n`)
	var x interface{} = tuesday
	switch x {
	case 2:
		fmt.Println("int")
	case weekday(2):
		fmt.Println("weekday")
	}
	if d, ok := x.(weekday); ok && d > monday {
		fmt.Println(d, int(d)<<d)
	} else if !ok {
		fmt.Println("no")
	} else {
		fmt.Println("else")
	}
}

type tree[T any] struct {
	left, right *tree[T]
	value       T
}

func (t *tree[T]) insert(v T, less func(a, b T) bool) *tree[T] {
	switch {
	case t == nil:
		return &tree[T]{value: v}
	case less(v, t.value):
		t.left = t.left.insert(v, less)
	default:
		t.right = t.right.insert(v, less)
	}
	return t
}

func (t *tree[T]) all(yield func(T) bool) bool {
	return t == nil || t.left.all(yield) && yield(t.value) && t.right.all(yield)
}

type pair[K comparable, V any] struct {
	key K
	val V
}

func pairs[M ~map[K]V, K comparable, V any](m M, order func(a, b pair[K, V]) bool) []pair[K, V] {
	var l []pair[K, V]
	for k, v := range m {
		l = append(l, pair[K, V]{k, v})
	}
	sort.Slice(l, func(i, j int) bool { return order(l[i], l[j]) })
	return l
}

func generics() {
	var t *tree[string]
	for _, s := range strings.Fields("the quick brown fox jumps") {
		t = t.insert(s, func(a, b string) bool { return a < b })
	}
	t.all(func(s string) bool { fmt.Print(s, " "); return s != "quick" })
	fmt.Println(pairs(map[string]int{"b": 1, "a": 2}, func(a, b pair[string, int]) bool { return a.key < b.key }))
	fmt.Printf("%T %T %v\n", t, pair[int, []string]{}, pair[point, bool]{point{1, 2}, true})
}

func main() {
	orders()
	methods()
	closures()
	fmt.Println(defers())
	fmt.Println(nested())
	selects()
	constants()
	generics()
}
