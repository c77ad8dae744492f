// Bounds reads, writes and slices at each side of every bound, in each form that an
// operand can have: a variable of the frame or of an enclosing function, a field, or
// what a call returns.
package main

import "fmt"

type box[T any] struct {
	s []T
	a [3]T
	n int
}

type point struct{ x, y int }

func slice[T any](s []T) []T { return s }

func index(i int) int { return i }

// try prints what f returns, or the panic that ends it.
func try(name string, i int, f func() any) {
	defer func() {
		if p := recover(); p != nil {
			fmt.Println(name, i, p)
		}
	}()
	fmt.Println(name, i, f())
}

func reads[T any](s []T, i int, b *box[T]) {
	a, u, small := b.a, uint(i), int8(i)
	try("slot, slot", i, func() any { s, i := s, i; return s[i] })
	try("slot, sum", i, func() any { s, i := s, i-1; return s[i+1] })
	try("slot, call", i, func() any { s := s; return s[index(i)] })
	try("call, slot", i, func() any { i := i; return slice(s)[i] })
	try("call, call", i, func() any { return slice(s)[index(i)] })
	try("captured", i, func() any { return s[i] })
	try("unsigned", i, func() any { s, u := s, u; return s[u] })
	try("small", i, func() any { s, small := s, small; return s[small] })
	try("fields", i, func() any { b.n = i; return b.s[b.n] })
	try("array of a field", i, func() any { return b.a[i] })
	try("array", i, func() any { a, i := a, i; return a[i] })
	try("array by pointer", i, func() any { p := &a; return p[i] })
	try("address", i, func() any { p := &s[i]; return *p })
	try("address in a slot", i, func() any { s, i := s, i; p := &s[i]; return *p })
}

func writes[T any](s []T, i int, b *box[T], v T) {
	a := b.a
	try("slot, slot", i, func() any { s, i := s, i; s[i] = v; return s })
	try("slot, sum", i, func() any { s, i := s, i-1; s[i+1] = v; return s })
	try("slot, call", i, func() any { s := s; s[index(i)] = slice(s)[0]; return s })
	try("call, slot", i, func() any { i := i; slice(s)[i] = v; return s })
	try("call, call", i, func() any { slice(s)[index(i)] = s[2]; return s })
	try("captured", i, func() any { s[i] = v; return s })
	try("fields", i, func() any { b.n = i; b.s[b.n] = v; return b.s })
	try("array of a field", i, func() any { b.a[i] = v; return b.a })
	try("array", i, func() any { a, i := a, i; a[i] = v; return a })
	try("array by pointer", i, func() any { p := &a; p[i] = v; return a })
	try("swap", i, func() any { s, i := s, i; s[0], s[i] = s[i], s[0]; return s })
}

type number interface{ ~int | ~uint8 | ~float64 }

func changes[T number](s []T, i int, b *box[T], v T) {
	try("+=", i, func() any { s, i := s, i; s[i] += v; return s })
	try("-= of a call", i, func() any { slice(s)[index(i)] -= v; return s })
	try("*= of a sum", i, func() any { s, i := s, i-1; s[i+1] *= v; return s })
	try("++", i, func() any { s, i := s, i; s[i]++; return s })
	try("-- of a call", i, func() any { slice(s)[index(i)]--; return s })
	try("/= of an array", i, func() any { b.a[i] /= v; return b.a })
	try("sum of elements", i, func() any { s, i := s, i; return s[i] + s[1]*s[0] })
	try("comparison", i, func() any { s, i := s, i; return s[i] < v && s[i] != s[0] })
}

func cuts[T any](s []T, i int, b *box[T]) {
	shown := func(s []T) any { return fmt.Sprint(s, len(s), cap(s)) }
	try("[i:]", i, func() any { return shown(s[i:]) })
	try("[:i]", i, func() any { return shown(s[:i]) })
	try("[1:i]", i, func() any { return shown(s[1:i]) })
	try("[i:2]", i, func() any { s := s; return shown(s[i:2]) })
	try("[:2:i]", i, func() any { return shown(s[:2:i]) })
	try("[i:i:4]", i, func() any { s, i := s, i; return shown(s[i:i:4]) })
	try("[1:i:4] of a call", i, func() any { return shown(slice(s)[1:index(i):4]) })
	try("array [i:]", i, func() any { return shown(b.a[i:]) })
	try("array [:i]", i, func() any { return shown(b.a[:i]) })
	try("to an array", i, func() any { return [3]T(s[:min(max(i, 0), cap(s))]) })
	try("made", i, func() any { return shown(make([]T, i)) })
	try("made with a capacity", i, func() any { return shown(make([]T, 2, i)) })
}

func texts(t string, i int) {
	try("byte", i, func() any { t, i := t, i; return t[i] })
	try("byte of a sum", i, func() any { return (t + "!")[i+1] })
	try("[i:]", i, func() any { return t[i:] })
	try("[:i]", i, func() any { t, i := t, i; return t[:i] })
	try("[1:i]", i, func() any { return t[1:i] })
	try("[i:2]", i, func() any { return t[i:2] })
	try("constant", i, func() any { return "abc"[i] })
	try("byte compared", i, func() any { t, i := t, i; return t[i] == 'a' || t[i] >= 'c' })
}

func all[T any](name string, v ...T) {
	fmt.Println("##", name)
	for i := -1; i <= 5; i++ {
		fresh := func() ([]T, *box[T]) {
			s := append(make([]T, 0, 4), v[:3]...)
			return s, &box[T]{s: s, a: [3]T(v)}
		}
		s, b := fresh()
		reads(s, i, b)
		s, b = fresh()
		writes(s, i, b, v[1])
		s, b = fresh()
		cuts(s, i, b)
	}
}

func main() {
	all("int", 1, 2, 3)
	all[uint8]("uint8", 1, 2, 3)
	all("float64", 1.5, 2.5, 3.5)
	all("string", "a", "b", "c")
	all("bool", true, false, true)
	all("struct", point{1, 2}, point{3, 4}, point{5, 6})
	all("slice", []int{1}, []int{2}, nil)
	all[any]("interface", 1, "b", nil)
	for i := -1; i <= 4; i++ {
		changes([]int{1, 2, 3}, i, &box[int]{a: [3]int{1, 2, 3}}, 7)
		changes([]uint8{1, 2, 3}, i, &box[uint8]{a: [3]uint8{1, 2, 3}}, 200)
		changes([]float64{1, 2, 3}, i, &box[float64]{a: [3]float64{1, 2, 3}}, 0.5)
		texts("abc", i)
	}
}
