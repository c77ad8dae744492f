package main

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
)

func Count(from, to int) iter.Seq[int] {
	return func(yield func(int) bool) {
		defer fmt.Print("[end]")
		for i := from; i < to; i++ {
			if !yield(i) {
				return
			}
		}
	}
}

func Enumerate[T any](s iter.Seq[T]) iter.Seq2[int, T] {
	return func(yield func(int, T) bool) {
		i := 0
		for v := range s {
			if !yield(i, v) {
				return
			}
			i++
		}
	}
}

func Filter[T any](s iter.Seq[T], keep func(T) bool) iter.Seq[T] {
	return func(yield func(T) bool) {
		for v := range s {
			if keep(v) && !yield(v) {
				return
			}
		}
	}
}

type Tree struct {
	l, r *Tree
	v    int
}

func (t *Tree) All(yield func(int) bool) bool {
	return t == nil || t.l.All(yield) && yield(t.v) && t.r.All(yield)
}
func (t *Tree) Seq() iter.Seq[int] { return func(yield func(int) bool) { t.All(yield) } }

func find(s iter.Seq[int], want int) (pos int, found bool) {
	for i, v := range Enumerate(s) {
		if v == want {
			return i, true
		}
	}
	return -1, false
}

func deferred() {
	for i := range Count(0, 3) {
		defer fmt.Println("deferred", i)
	}
	fmt.Println("after loop")
}

func labelled() string {
	var sb strings.Builder
outer:
	for i := range Count(0, 4) {
		for j := range Count(0, 4) {
			switch {
			case j == 2:
				continue outer
			case i == 3:
				break outer
			}
			fmt.Fprintf(&sb, "%d%d ", i, j)
		}
	}
	return sb.String()
}

func main() {
	for v := range Count(1, 4) {
		fmt.Print(v, " ")
	}
	fmt.Println()
	for i, v := range Enumerate(Filter(Count(0, 10), func(n int) bool { return n%3 == 0 })) {
		if i == 2 {
			break
		}
		fmt.Print(i, "=", v, " ")
	}
	fmt.Println()
	t := &Tree{&Tree{nil, nil, 1}, &Tree{&Tree{nil, nil, 3}, nil, 4}, 2}
	fmt.Println(slices.Collect(t.Seq()))
	fmt.Println(find(t.Seq(), 3))
	fmt.Println(find(t.Seq(), 9))
	deferred()
	fmt.Println(labelled())
	next, stop := iter.Pull(Count(5, 8))
	a, ok := next()
	fmt.Println(a, ok)
	b, _ := next()
	fmt.Println(b)
	stop()
	_, ok = next()
	fmt.Println(ok)
	m := map[string]int{"x": 1, "y": 2, "z": 3}
	fmt.Println(slices.Sorted(maps.Keys(m)), slices.Sorted(maps.Values(m)))
	for i, s := range slices.Backward([]string{"a", "b"}) {
		fmt.Print(i, s, " ")
	}
	for s := range strings.SplitSeq("p,q,r", ",") {
		fmt.Print(s, ";")
	}
	for c := range slices.Chunk([]int{1, 2, 3, 4, 5}, 2) {
		fmt.Print(c)
	}
	fmt.Println()
	for range Count(0, 2) {
		fmt.Print(".")
	}
	fmt.Println()
	var x int
	for x = range Count(0, 5) {
		if x == 3 {
			break
		}
	}
	fmt.Println(x)
}
