// Options, results and pipelines of iterators with type parameters.
package main

import (
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"
)

type Option[T any] struct {
	v  T
	ok bool
}

func Some[T any](v T) Option[T] { return Option[T]{v, true} }
func None[T any]() Option[T]    { return Option[T]{} }

func (o Option[T]) OrElse(d T) T {
	if o.ok {
		return o.v
	}
	return d
}

func (o Option[T]) String() string {
	if !o.ok {
		return "None"
	}
	return fmt.Sprintf("Some(%v)", o.v)
}

func (o *Option[T]) Take() Option[T] {
	p := *o
	*o = None[T]()
	return p
}

func Then[A, B any](o Option[A], f func(A) Option[B]) Option[B] {
	if !o.ok {
		return None[B]()
	}
	return f(o.v)
}

type Result[T any] struct {
	Value T
	Err   error
}

func Try[T any](f func() (T, error)) (r Result[T]) {
	defer func() {
		if p := recover(); p != nil {
			r = Result[T]{Err: fmt.Errorf("panic: %v", p)}
		}
	}()
	v, err := f()
	return Result[T]{v, err}
}

func Of[T any](v T, err error) Result[T] { return Result[T]{v, err} }

func Must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

type Seq[T any] iter.Seq[T]

func From[T any](xs ...T) Seq[T] { return Seq[T](slices.Values(xs)) }

func (s Seq[T]) Filter(keep func(T) bool) Seq[T] {
	return func(yield func(T) bool) {
		for x := range s {
			if keep(x) && !yield(x) {
				return
			}
		}
	}
}

func (s Seq[T]) Take(n int) Seq[T] {
	return func(yield func(T) bool) {
		if n <= 0 {
			return
		}
		i := 0
		s(func(x T) bool {
			i++
			return yield(x) && i < n
		})
	}
}

func Map[A, B any](s Seq[A], f func(A) B) Seq[B] {
	return func(yield func(B) bool) {
		for a := range s {
			if !yield(f(a)) {
				return
			}
		}
	}
}

func Reduce[T, A any](s Seq[T], a A, f func(A, T) A) A {
	for x := range s {
		a = f(a, x)
	}
	return a
}

func Zip[A, B any](a Seq[A], b Seq[B]) iter.Seq2[A, B] {
	return func(yield func(A, B) bool) {
		next, stop := iter.Pull(iter.Seq[B](b))
		defer stop()
		for x := range a {
			y, ok := next()
			if !ok || !yield(x, y) {
				return
			}
		}
	}
}

func Group[T any, K comparable](s Seq[T], key func(T) K) map[K][]T {
	m := map[K][]T{}
	for x := range s {
		m[key(x)] = append(m[key(x)], x)
	}
	return m
}

func Compose[A, B, C any](f func(A) B, g func(B) C) func(A) C {
	return func(a A) C { return g(f(a)) }
}

func Curry[A, B, C any](f func(A, B) C) func(A) func(B) C {
	return func(a A) func(B) C { return func(b B) C { return f(a, b) } }
}

func Naturals() Seq[int] {
	return func(yield func(int) bool) {
		for i := 0; yield(i); i++ {
		}
	}
}

func half(n int) Option[int] {
	if n%2 != 0 {
		return None[int]()
	}
	return Some(n / 2)
}

func main() {
	fmt.Println(Some(3), None[string](), Then(Some(12), half), Then(Then(Some(6), half), half))
	o := Some([]string{"x"})
	p := o.Take()
	fmt.Println(o, p, o.OrElse([]string{"y"}), p.OrElse(nil))
	fmt.Printf("%v %+v %T\n", Some(Some(1.5)), Option[bool]{}, None[map[string]int]())

	fmt.Println(Of(strconv.Atoi("12")), Of(strconv.Atoi("x")).Err)
	r := Try(func() (int, error) { return Must(strconv.Atoi("boom")), nil })
	fmt.Println(r.Value, r.Err)
	r2 := Try(func() (m map[string]int, err error) { m["a"] = 1; return })
	fmt.Println(r2.Value == nil, r2.Err)
	var ne *strconv.NumError
	fmt.Println(errors.As(Of(strconv.ParseFloat("1e", 64)).Err, &ne), ne.Func)

	evens := Naturals().Filter(func(n int) bool { return n%2 == 0 })
	words := Map(evens.Take(5), func(n int) string { return strings.Repeat("*", n) })
	fmt.Println(Reduce(words, 0, func(n int, w string) int { return n + len(w) }), slices.Collect(iter.Seq[string](words)))
	for a, b := range Zip(From("a", "b", "c"), Naturals()) {
		fmt.Print(a, b, " ")
	}
	fmt.Println()
	g := Group(Naturals().Take(10), func(n int) string { return []string{"fizz", "one", "two"}[n%3] })
	for _, k := range slices.Sorted(maps.Keys(g)) {
		fmt.Print(k, g[k], " ")
	}
	fmt.Println()
	f := Compose(strconv.Itoa, func(s string) []byte { return []byte(s) })
	add := Curry(func(a int, b float64) string { return fmt.Sprint(float64(a) + b) })
	fmt.Println(f(42), add(1)(0.5))
}
