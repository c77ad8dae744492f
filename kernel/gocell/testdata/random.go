package main

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

var (
	_ = cmp.Compare[int]
	_ = errors.New
	_ = maps.Keys[map[int]int]
	_ = math.Abs
	_ = slices.Sort[[]int]
	_ = strconv.Itoa
	_ = strings.Repeat
)

type P struct {
	x, y int
	name string
}

func (p P) sum() int        { return p.x + p.y }
func (p P) plus(n int) int  { return p.x + n }
func (p P) moved(n int) P   { p.x += n; return p }
func (p *P) add(n int) int  { p.y += n; return p.y }
func (p *P) chain(n int) *P { p.x ^= n; return p }

type P2 struct{ P }

func (p P2) sum() int { return p.P.sum() * 2 }

type I interface{ sum() int }

type E int

const (
	Red E = iota
	Green
	Blue
)

func (e E) String() string {
	switch e {
	case Red:
		return "Red"
	case Green:
		return "Green"
	}
	return "E" + strconv.Itoa(int(e))
}

type Bad int

func (b Bad) Error() string { return "bad " + strconv.Itoa(int(b)) }

func at(xs []int, i int) int {
	if len(xs) == 0 {
		return -1
	}
	return xs[uint(i)%uint(len(xs))]
}
func either(b bool, x, y int) int {
	if b {
		return x
	}
	return y
}
func many(xs ...int) (n int) {
	for i, x := range xs {
		n += (i + 1) * x
	}
	return
}
func total(xs ...any) (n int) {
	for _, x := range xs {
		switch x := x.(type) {
		case int:
			n += x
		case P:
			n += x.sum()
		case I:
			n -= x.sum()
		case fmt.Stringer:
			n += len(x.String())
		case nil:
			n++
		default:
			n += 2
		}
	}
	return
}
func minus(a, b int) int                 { return a - b }
func two(n int) (int, int)               { return n * 2, n + 1 }
func both(n int, s string) (int, string) { return len(s) + n, s + "!" }
func received(n int) int                 { c := make(chan int, 1); c <- n; v := <-c; v++; return v }
func same[T any](x T) T                  { return x }
func length[S ~[]T, T any](s S) int      { return len(s) }
func is[T any](x any) bool               { _, ok := x.(T); return ok }
func as[T any](x any) T                  { t, _ := x.(T); return t }
func to[T any](x T) *T                   { return &x }
func boxed(x any) any                    { return x }
func shaped(p P, b bool) I {
	if b {
		return p
	}
	return P2{p}
}
func failed(n int) error {
	if n > 2 {
		return fmt.Errorf("wrapped: %w", Bad(n))
	}
	return nil
}
func cut(s string, n int) string {
	if len(s) == 0 {
		return ""
	}
	return s[:uint(n)%uint(len(s)+1)]
}
func clone(a [3]int) []int   { return slices.Clone(a[:]) }
func turned(a [3]int) [3]int { a[0], a[1], a[2] = a[1], a[2], a[0]; return a }
func mapped(xs []int, f func(int) int) (ys []int) {
	for i, x := range xs {
		if i == 4 {
			break
		}
		ys = append(ys, f(x))
	}
	return
}
func with(m map[string]int, k string, v int) map[string]int {
	m = maps.Clone(m)
	if m == nil {
		m = map[string]int{}
	}
	m[k] = v
	return m
}
func last(ps []P) P {
	if len(ps) == 0 {
		return P{}
	}
	return ps[len(ps)-1]
}
func sortedBy(ps []P, key func(P) int) []P {
	ps = slices.Clone(ps)
	slices.SortStableFunc(ps, func(a, b P) int { return cmp.Compare(key(a), key(b)) })
	return ps
}
func adder(n int) func(int) int { return func(m int) int { n += m & 3; return n } }
func double(n int) int          { return n * 2 }
func composed(f, g func(int) int) func(int) int {
	return func(n int) int { return f(g(n)) }
}
func filled(ns ...int) chan int {
	c := make(chan int, len(ns))
	for _, n := range ns {
		c <- n
	}
	close(c)
	return c
}
func counted(n int) iter.Seq[int] {
	return func(yield func(int) bool) {
		for i := range n {
			if !yield(i * i) {
				return
			}
		}
	}
}

type Emb struct {
	P
	k int
	E
}

type Stack[T any] struct{ items []T }

func stacked[T any](xs ...T) *Stack[T] { return &Stack[T]{xs} }
func (s *Stack[T]) push(x T) *Stack[T] { s.items = append(s.items, x); return s }
func (s *Stack[T]) len() int           { return len(s.items) }
func (s *Stack[T]) pop() (x T) {
	if n := len(s.items); n > 0 {
		x, s.items = s.items[n-1], s.items[:n-1]
	}
	return
}

type Pair[A, B any] struct {
	a A
	b B
}

func paired[A, B any](a A, b B) Pair[A, B]      { return Pair[A, B]{a, b} }
func swapped[A, B any](p Pair[A, B]) Pair[B, A] { return Pair[B, A]{p.b, p.a} }
func (p Pair[A, B]) String() string             { return fmt.Sprintf("<%v|%v>", p.a, p.b) }

type Node struct {
	val  int
	kids []*Node
	tags map[string][]int
}

func (n *Node) total() (t int) {
	if n == nil {
		return 0
	}
	t = n.val + len(n.tags)
	for _, k := range n.kids {
		t += k.total()
	}
	return
}

func joined(n int, s string) int { return n + len(s) }
func bound(n int, s string) func() (int, string) {
	return func() (int, string) { n++; s += "+"; return n, s }
}
func grid(n int) (g [][]int) {
	for i := range uint(n) % 3 {
		g = append(g, make([]int, i+1))
		g[i][i] = n
	}
	return
}
func group(xs []int) map[string][]int {
	m := map[string][]int{}
	for _, x := range xs {
		k := "k" + strconv.Itoa(x&1)
		m[k] = append(m[k], x)
	}
	return m
}
func row(g [][]int, i int) []int {
	if len(g) == 0 {
		return nil
	}
	return g[uint(i)%uint(len(g))]
}
