// Iterators, closures and labels in functions with type parameters.
package main

import (
	"errors"
	"fmt"
	"iter"
	"maps"
	"os"
	"slices"
	"sort"
	"strings"
)

type Stack[T any] struct{ s []T }

func (s *Stack[T]) Push(x T) { s.s = append(s.s, x) }
func (s *Stack[T]) Pop() (x T) {
	x = s.s[len(s.s)-1]
	s.s = s.s[:len(s.s)-1]
	return
}
func (s Stack[T]) Backward() iter.Seq2[int, T] { return slices.Backward(s.s) }

var global = &Stack[func() string]{}
var table = map[string]Stack[int]{"a": {s: []int{1}}, "b": {}}
var initial = func() *Stack[string] { s := new(Stack[string]); s.Push("init"); return s }()

type Iface[T any] interface {
	Push(T)
	Pop() T
}

var _ Iface[int] = (*Stack[int])(nil)

func drain[S Iface[T], T any](s S, n int) (out []T) {
	defer func() {
		if r := recover(); r != nil {
			err, ok := r.(error)
			fmt.Println("recovered:", ok, err)
		}
	}()
	for range n {
		out = append(out, s.Pop())
	}
	return out
}

func makers[T any](xs ...T) (fs []func() T) {
	for _, x := range xs {
		fs = append(fs, func() T { return x })
	}
	for i := 0; i < len(xs); i++ {
		fs = append(fs, func() T { defer func() { i++ }(); return xs[i%len(xs)] })
	}
	return
}

func shadow[T any](t T) (out []string) {
	out = append(out, fmt.Sprintf("%T", t))
	{
		T := fmt.Sprint(t)
		out = append(out, T)
	}
	type U = map[string]any
	u := U{"x": t}
	func() {
		type T struct{ T int }
		out = append(out, fmt.Sprintf("%T %v", T{}, T{1}), fmt.Sprint(u))
	}()
	return
}

func labelled[T comparable](grid [][]T, x T) (i, j int, err error) {
outer:
	for i = range grid {
		for j = range grid[i] {
			switch {
			case grid[i][j] == x:
				break outer
			case j > 2:
				continue outer
			}
		}
		if i == len(grid)-1 {
			err = errors.New("not found")
			return
		}
	}
	return
}

func chunk[T any](seq iter.Seq[T], n int) iter.Seq[[]T] {
	return func(yield func([]T) bool) {
		var c []T
		defer func() { fmt.Print("<", len(c), ">") }()
		for x := range seq {
			if c = append(c, x); len(c) == n {
				if !yield(c) {
					return
				}
				c = nil
			}
		}
		if len(c) > 0 {
			yield(c)
		}
	}
}

func walk[K, V any](m iter.Seq2[K, V]) (n int, err error) {
	for k, v := range m {
		defer func() { n++ }()
		if fmt.Sprint(v) == "stop" {
			return 100, fmt.Errorf("stopped at %v", k)
		}
		for range 2 {
			if n > 1000 {
				return
			}
		}
	}
	return n, nil
}

func nestedIter[T any](outer, inner iter.Seq[T], eq func(T, T) bool) (pairs [][2]T) {
next:
	for a := range outer {
		for b := range inner {
			if eq(a, b) {
				continue next
			}
			pairs = append(pairs, [2]T{a, b})
			if len(pairs) > 4 {
				break next
			}
		}
	}
	return
}

func broken(yield func(int) bool) {
	yield(1)
	yield(2)
}

func misuse() (err any) {
	defer func() { err = recover() }()
	for x := range broken {
		if x == 1 {
			break
		}
	}
	return nil
}

func pulls[T any](s iter.Seq[T]) (out []T) {
	next, stop := iter.Pull(s)
	defer stop()
	for {
		x, ok := next()
		if !ok {
			return
		}
		out = append(out, x)
		if len(out) == 3 {
			return
		}
	}
}

func fib[T ~int | ~uint64]() iter.Seq[T] {
	return func(yield func(T) bool) {
		a, b := T(0), T(1)
		for yield(a) {
			a, b = b, a+b
		}
	}
}

type Visitor[R any] func(depth int, kids ...Visitor[R]) R

func (v Visitor[R]) call(d int) R { return v(d, v) }

func main() {
	s := &Stack[int]{}
	s.Push(1)
	s.Push(2)
	fmt.Println(drain(s, 2), drain[*Stack[int], int](s, 1))
	global.Push(func() string { return "g" })
	fmt.Println(global.Pop()(), initial.Pop(), len(table["a"].s), len(table))
	for i, x := range (Stack[string]{[]string{"a", "b"}}).Backward() {
		fmt.Print(i, x, " ")
	}
	fmt.Println()
	for _, f := range makers("x", "y") {
		fmt.Print(f(), f(), " ")
	}
	fmt.Println()
	fmt.Println(strings.Join(shadow(1.5), "|"), strings.Join(shadow([]string{"q"}), "|"))
	fmt.Println(labelled([][]string{{"a", "b", "c", "d", "e"}, {"f", "g"}}, "g"))
	fmt.Println(labelled([][]int{{1}, {2}}, 3))
	for c := range chunk(slices.Values([]int{1, 2, 3, 4, 5}), 2) {
		fmt.Print(c)
		if c[0] == 3 {
			break
		}
	}
	for c := range chunk(maps.Keys(map[string]int{"k": 1}), 2) {
		fmt.Println(c)
	}
	fmt.Println()
	fmt.Println(walk(slices.All([]string{"a", "b", "stop", "c"})))
	fmt.Println(walk(maps.All(map[string]int{"a": 1})))
	fmt.Println(nestedIter(slices.Values([]int{1, 2, 3}), slices.Values([]int{3, 2, 1}), func(a, b int) bool { return a == b }))
	fmt.Println(misuse())
	fmt.Println(pulls(fib[int]()), pulls(slices.Values([]string{"one"})), pulls(fib[uint64]()))
	var v Visitor[string] = func(d int, kids ...Visitor[string]) string {
		if d == 0 {
			return "."
		}
		return fmt.Sprint(d, kids[0](d-1, kids...))
	}
	fmt.Println(v.call(3))
	ks := slices.Collect(maps.Keys(table))
	sort.Strings(ks)
	fmt.Fprintln(os.Stdout, ks, slices.SortedFunc(maps.Values(map[int]string{1: "z", 2: "y"}), strings.Compare))
}
