package main

import "fmt"

type T []T
type F func(...F) int
type M map[string]M

func ln(args ...T) (int, []int) {
	var l []int
	for _, a := range args {
		l = append(l, len(a))
	}
	return len(args), l
}
func fs(args ...F) int  { return len(args) }
func ms(a ...M) int     { return len(a) }
func as(a ...any) int   { return len(a) }
func bs(a ...[]any) int { return len(a) }
func is(a ...[]int) int { return len(a) }

func (t T) Add(args ...T) int { return len(args) }

func main() {
	fmt.Println(ln(nil, nil, nil))
	fmt.Println(ln([]T{}))
	fmt.Println(ln([]T{nil, nil}))
	fmt.Println(ln([]T{nil, nil}...))
	fmt.Println(ln(T{nil, nil}...))
	fmt.Println(ln(T{nil, {}}))
	fmt.Println(ln([]T{nil}, T{nil, nil}, nil))
	fmt.Println(T{}.Add([]T{nil, nil}), T{}.Add(nil), T{}.Add())
	f := ln
	fmt.Println(f([]T{nil, nil}))
	fmt.Println(fs(fs, nil), ms(nil, M{}), as([]any{1, 2}), as([]any{1, 2}...), as(nil), as(nil, nil), bs([]any{1}), bs(nil), is([]int{1, 2}), is(nil))
	defer fmt.Println(ln([]T{nil, nil}))
	func(a ...T) { fmt.Println(len(a)) }([]T{nil, nil})
	var s []T
	s = append(s, []T{nil, nil})
	s = append(s, []T{nil, nil}...)
	fmt.Println(len(s), len(s[0]))
}
