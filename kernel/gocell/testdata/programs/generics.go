package main

import (
	"cmp"
	"fmt"
	"slices"
	"sort"
	"strings"
)

type Number interface {
	~int | ~int64 | ~float64
}

func Sum[T Number](xs ...T) (s T) {
	for _, x := range xs {
		s += x
	}
	return
}

func Map[T, U any](xs []T, f func(T) U) []U {
	out := make([]U, 0, len(xs))
	for _, x := range xs {
		out = append(out, f(x))
	}
	return out
}

func Filter[S ~[]T, T any](xs S, keep func(T) bool) S {
	var out S
	for _, x := range xs {
		if keep(x) {
			out = append(out, x)
		}
	}
	return out
}

func Reduce[T, A any](xs []T, init A, f func(A, T) A) A {
	for _, x := range xs {
		init = f(init, x)
	}
	return init
}

func Keys[M ~map[K]V, K cmp.Ordered, V any](m M) []K {
	ks := make([]K, 0, len(m))
	for k := range m {
		ks = append(ks, k)
	}
	sort.Slice(ks, func(i, j int) bool { return ks[i] < ks[j] })
	return ks
}

type Stack[T any] struct{ items []T }

func (s *Stack[T]) Push(x T) { s.items = append(s.items, x) }
func (s *Stack[T]) Pop() (x T, ok bool) {
	if len(s.items) == 0 {
		return x, false
	}
	x = s.items[len(s.items)-1]
	s.items = s.items[:len(s.items)-1]
	return x, true
}

type Pair[K comparable, V any] struct {
	Key K
	Val V
}

func (p Pair[K, V]) String() string { return fmt.Sprintf("<%v=%v>", p.Key, p.Val) }

type List[T any] struct {
	head *node[T]
	n    int
}
type node[T any] struct {
	v    T
	next *node[T]
}

func (l *List[T]) Add(v T) *List[T] {
	l.head = &node[T]{v, l.head}
	l.n++
	return l
}
func (l *List[T]) All() func(yield func(int, T) bool) {
	return func(yield func(int, T) bool) {
		i := 0
		for n := l.head; n != nil; n = n.next {
			if !yield(i, n.v) {
				return
			}
			i++
		}
	}
}

type Tree[T any] struct {
	left, right *Tree[T]
	val         T
	less        func(a, b T) bool
}

func (t *Tree[T]) Insert(v T) *Tree[T] {
	switch {
	case t == nil:
		return &Tree[T]{val: v}
	}
	if t.less(v, t.val) {
		if t.left == nil {
			t.left = &Tree[T]{val: v, less: t.less}
		} else {
			t.left.Insert(v)
		}
	} else {
		if t.right == nil {
			t.right = &Tree[T]{val: v, less: t.less}
		} else {
			t.right.Insert(v)
		}
	}
	return t
}
func (t *Tree[T]) Walk(f func(T)) {
	if t != nil {
		t.left.Walk(f)
		f(t.val)
		t.right.Walk(f)
	}
}

type MyInt int

func (m MyInt) String() string { return fmt.Sprint("my", int(m)) }

func Max[T cmp.Ordered](a T, rest ...T) T {
	for _, b := range rest {
		if b > a {
			a = b
		}
	}
	return a
}

func Ptr[T any](v T) *T { return &v }

func Zero[T any]() T {
	var z T
	return z
}

type Set[T comparable] map[T]struct{}

func (s Set[T]) Add(vs ...T) Set[T] {
	for _, v := range vs {
		s[v] = struct{}{}
	}
	return s
}
func (s Set[T]) Has(v T) bool { _, ok := s[v]; return ok }

type Stringish interface{ ~string }

func Join[S Stringish](xs []S, sep string) string {
	return strings.Join(Map(xs, func(x S) string { return string(x) }), sep)
}

type Name string

func main() {
	fmt.Println(Sum(1, 2, 3), Sum(1.5, 2), Sum[MyInt](1, 2), Sum[int]())
	fmt.Println(Map([]int{1, 2, 3}, func(i int) string { return fmt.Sprint("n", i) }))
	fmt.Println(Filter([]int{1, 2, 3, 4}, func(i int) bool { return i%2 == 0 }))
	fmt.Println(Reduce([]string{"a", "bb", "ccc"}, 0, func(n int, s string) int { return n + len(s) }))
	fmt.Println(Keys(map[string]int{"z": 1, "a": 2}), Keys(map[MyInt]bool{3: true, 1: false}))
	var s Stack[string]
	s.Push("a")
	s.Push("b")
	fmt.Println(s.Pop())
	fmt.Println(s.Pop())
	fmt.Println(s.Pop())
	p := Pair[string, int]{"k", 1}
	fmt.Println(p, []Pair[string, int]{p, {"l", 2}}, Pair[MyInt, []int]{3, []int{1}})
	var l List[float64]
	l.Add(1).Add(2.5).Add(3)
	for i, v := range l.All() {
		if i == 2 {
			break
		}
		fmt.Print(i, ":", v, " ")
	}
	fmt.Println(l.n)
	t := &Tree[string]{val: "m", less: func(a, b string) bool { return a < b }}
	for _, w := range strings.Fields("q c x a d z") {
		t.Insert(w)
	}
	t.Walk(func(s string) { fmt.Print(s, " ") })
	fmt.Println()
	fmt.Println(Max(1, 5, 3), Max("b", "a"), Max(MyInt(2), 9), Max(2.5))
	x := Ptr(4)
	*x++
	fmt.Println(*x, *Ptr("s"), Zero[int](), Zero[*int]() == nil, Zero[Pair[string, int]]())
	set := Set[int]{}
	fmt.Println(set.Add(1, 2).Has(2), set.Has(3), len(set))
	fmt.Println(Join([]Name{"x", "y"}, "-"))
	words := []string{"delta", "alpha", "charlie"}
	slices.SortFunc(words, func(a, b string) int { return cmp.Compare(len(a), len(b)) })
	fmt.Println(words, slices.Max(words), slices.Index(words, "alpha"), slices.Contains(words, "x"))
	f := Sum[float64]
	fmt.Println(f(1, 2, 3.5))
	fmt.Printf("%T %v\n", s, s)
}
