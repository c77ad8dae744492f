package main

import (
	"errors"
	"fmt"
	"path"
	"slices"
)

func v(xs ...int) bool                  { return xs == nil }
func w(s string, xs ...any) (bool, int) { return xs == nil, cap(xs) }

type T struct{}

func (T) m(xs ...string) bool { return xs == nil }
func g[E any](xs ...E) bool   { return xs == nil }
func two() (string, error)    { return "", nil }
func main() {
	f := v
	h := T{}.m
	var i interface{ m(...string) bool } = T{}
	fmt.Println(v(), v([]int{}...), v(nil...), f(), h(), i.m(), T.m(T{}), g[int](), g[any](), g[int]([]int{}...))
	fmt.Println(w("a"))
	fmt.Println(w("a", []any{}...))
	fmt.Println(w(two()))
	defer func(xs ...int) { fmt.Println(xs == nil) }()
	done := make(chan bool)
	go func(xs ...int) { done <- xs == nil }()
	fmt.Println(<-done)
	fmt.Println(errors.Join() == nil, slices.Concat[[]int]() == nil, path.Join() == "", append([]int(nil)) == nil, max(1), len(fmt.Sprint()))
	fn := map[string]func(...int) bool{"v": v}
	fmt.Println(fn["v"](), func(xs ...any) bool { return xs == nil }())
}
