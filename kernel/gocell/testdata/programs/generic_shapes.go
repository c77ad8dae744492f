// Generic types embedded, recursive, aliased and instantiated with local types.
package main

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
)

type Base[T any] struct {
	ID   T
	tags []string
}

func (b *Base[T]) Tag(s ...string) *Base[T] { b.tags = append(b.tags, s...); return b }
func (b Base[T]) Describe() string          { return fmt.Sprint(b.ID, b.tags) }

type Mid[T any, U fmt.Stringer] struct {
	*Base[T]
	Extra U
}

func (m Mid[T, U]) Describe() string { return m.Base.Describe() + "/" + m.Extra.String() }

type Level int

func (l Level) String() string { return strings.Repeat("!", int(l)) }

type Top struct {
	Mid[string, Level]
	sync.Mutex
}

type describer interface{ Describe() string }

type Tree[T any] struct {
	Kids  []Tree[T]
	Value T
	Up    *Tree[T]
	Index map[string]*Tree[T]
}

func (t *Tree[T]) Walk(f func(int, T)) { t.walk(0, f) }
func (t *Tree[T]) walk(d int, f func(int, T)) {
	f(d, t.Value)
	for i := range t.Kids {
		t.Kids[i].walk(d+1, f)
	}
}

type A[T any] struct {
	b *B[T]
	v T
}
type B[T any] struct {
	as []A[T]
	f  func(A[T]) B[T]
}

func (a A[T]) Count() int {
	if a.b == nil {
		return 1
	}
	n := 1
	for _, x := range a.b.as {
		n += x.Count()
	}
	return n
}

type Set[T comparable] = map[T]struct{}
type Pairs[V any] = []struct {
	Key string
	Val V
}
type Vec[T any] = struct{ X, Y T }

func union[T comparable](sets ...Set[T]) Set[T] {
	out := Set[T]{}
	for _, s := range sets {
		for x := range s {
			out[x] = struct{}{}
		}
	}
	return out
}

type Fn[A, R any] func(A) R

func (f Fn[A, R]) Map(xs []A) (out []R) {
	for _, x := range xs {
		out = append(out, f(x))
	}
	return
}

type Chan[T any] chan T

func (c Chan[T]) All() (xs []T) {
	for x := range c {
		xs = append(xs, x)
	}
	return xs
}

const size = 3

type Ring[T any] struct {
	buf  [size + 1]T
	head int
}

func (r *Ring[T]) Push(x T) (old T) {
	i := r.head % len(r.buf)
	old, r.buf[i] = r.buf[i], x
	r.head++
	return
}

type Matrix[T ~int | ~float64, R interface{ ~[]T }] []R

func (m Matrix[T, R]) Sum() (s T) {
	for _, r := range m {
		for _, x := range r {
			s += x
		}
	}
	return
}

type visitor[R any] interface {
	visitNum(int) R
	visitAdd(a, b expr) R
}
type expr interface{ String() string }
type num int
type add struct{ a, b expr }

func (n num) String() string { return fmt.Sprint(int(n)) }
func (a add) String() string { return "(" + a.a.String() + "+" + a.b.String() + ")" }

func accept[R any](e expr, v visitor[R]) R {
	switch e := e.(type) {
	case num:
		return v.visitNum(int(e))
	case add:
		return v.visitAdd(e.a, e.b)
	}
	panic("no such expression")
}

type eval struct{}

func (eval) visitNum(n int) int       { return n }
func (v eval) visitAdd(a, b expr) int { return accept[int](a, v) + accept[int](b, v) }

type depth[T any] struct{ one T }

func (depth[T]) visitNum(int) []T { return nil }
func (d depth[T]) visitAdd(a, b expr) []T {
	x, y := accept[[]T](a, d), accept[[]T](b, d)
	if len(y) > len(x) {
		x = y
	}
	return append(x, d.one)
}

type Err[T any] struct{ At T }

func (e *Err[T]) Error() string        { return fmt.Sprintf("bad %v", e.At) }
func (e *Err[T]) Is(target error) bool { _, ok := target.(*Err[T]); return ok }

type once[T any] struct {
	sync.Once
	v T
}

func (o *once[T]) get(f func() T) T {
	o.Do(func() { o.v = f() })
	return o.v
}

func main() {
	t := Top{Mid: Mid[string, Level]{&Base[string]{ID: "top"}, 2}}
	t.Tag("a", "b").Tag("c")
	t.Lock()
	fmt.Println(t.Describe(), t.ID, len(t.tags))
	t.Unlock()
	var d describer = &t
	fmt.Println(d.Describe())
	d = t.Mid
	fmt.Printf("%s %T\n", d.Describe(), d)
	d = Base[[2]int]{ID: [2]int{1, 2}}
	fmt.Printf("%s %T %+v\n", d.Describe(), d, d)
	tag := t.Tag
	tag("d")
	describe := Mid[string, Level].Describe
	fmt.Println(describe(t.Mid), (*Base[string]).Tag(t.Base, "e").tags)

	tree := Tree[string]{Value: "root", Kids: []Tree[string]{{Value: "l"}, {Value: "r", Kids: []Tree[string]{{Value: "rr"}}}}}
	tree.Kids[0].Up = &tree
	tree.Index = map[string]*Tree[string]{"r": &tree.Kids[1]}
	tree.Walk(func(d int, s string) { fmt.Print(strings.Repeat(".", d), s, " ") })
	fmt.Println(tree.Index["r"].Kids[0].Value, tree.Kids[0].Up.Value)
	a := A[int]{b: &B[int]{as: []A[int]{{v: 1}, {b: &B[int]{as: make([]A[int], 3)}}}}}
	fmt.Println(a.Count(), a.b.f == nil)

	u := union(Set[int]{1: {}, 2: {}}, map[int]struct{}{2: {}, 3: {}})
	fmt.Println(len(u), u)
	pairs := Pairs[bool]{{"x", true}, {Key: "y"}}
	for _, p := range pairs {
		fmt.Print(p.Key, p.Val, " ")
	}
	v := Vec[float64]{1, 2}
	var anon struct{ X, Y float64 } = v
	fmt.Println(anon, reflect.TypeOf(v))

	fmt.Println(Fn[string, int](func(s string) int { return len(s) }).Map([]string{"a", "bbb"}))
	c := make(Chan[Level], 2)
	c <- 1
	c <- 2
	close(c)
	fmt.Printf("%v %T\n", c.All(), c)
	var r Ring[rune]
	for _, x := range "abcdef" {
		fmt.Print(r.Push(x), " ")
	}
	fmt.Println(string(r.buf[:]), len(Ring[int]{}.buf))
	fmt.Println(Matrix[int, []int]{{1, 2}, {3}}.Sum())

	e := add{num(1), add{num(2), num(3)}}
	fmt.Println(e, accept[int](e, eval{}), accept[[]string](e, depth[string]{"x"}))

	err := fmt.Errorf("wrapped: %w", &Err[int]{3})
	var ei *Err[int]
	var es *Err[string]
	fmt.Println(errors.As(err, &ei), errors.As(err, &es), errors.Is(err, &Err[int]{}), errors.Is(err, &Err[string]{}), ei.At)

	type local struct{ n int }
	type pair[T any] struct{ a, b T }
	p := pair[local]{local{1}, local{2}}
	b := Base[pair[local]]{ID: p}
	fmt.Println(b.Describe(), b.ID.b.n)
	m := map[pair[string]]Base[local]{{"x", "y"}: {ID: local{7}}}
	fmt.Println(m[pair[string]{"x", "y"}].ID.n, len(m))
	var o once[map[string]pair[int]]
	for i := range 3 {
		fmt.Print(o.get(func() map[string]pair[int] { return map[string]pair[int]{"a": {i, i + 1}} }), " ")
	}
	fmt.Println()
	for _, f := range []func(any) any{identity[any], wrap[local, any], func(x any) any { return pair[any]{x, nil} }} {
		fmt.Printf("%v ", f(local{5}))
	}
	fmt.Println()
}

func identity[T any](x T) T { return x }
func wrap[T, U any](x U) any {
	type box[V any] struct {
		v V
		u U
	}
	t, ok := any(x).(T)
	return fmt.Sprintf("%v %v", box[T]{t, x}, ok)
}
