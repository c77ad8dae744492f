package main

import (
	"fmt"
	"strings"
)

type Option func(*config)
type config struct {
	name string
	n    int
	tags []string
}

func WithName(s string) Option    { return func(c *config) { c.name = s } }
func WithTags(t ...string) Option { return func(c *config) { c.tags = append(c.tags, t...) } }
func Build(n int, opts ...Option) config {
	c := config{n: n, name: "default"}
	for _, o := range opts {
		o(&c)
	}
	return c
}

func sum(first int, rest ...int) int {
	for _, r := range rest {
		first += r
	}
	return first
}
func count(xs ...any) (n int, kinds string) {
	for _, x := range xs {
		n++
		kinds += fmt.Sprintf("%T,", x)
	}
	return n, strings.TrimSuffix(kinds, ",")
}
func isNil(xs ...string) bool                  { return xs == nil }
func pair() (int, int)                         { return 3, 4 }
func spread(f func(...int) int, xs ...int) int { return f(xs...) }

func main() {
	fmt.Println(sum(1), sum(1, 2, 3), sum(1, []int{5, 6}...))
	fmt.Println(sum(pair()))
	fmt.Println(count())
	fmt.Println(count(1, "a", nil, 2.5, []int{1}, pair))
	fmt.Println(count([]any{1, "b"}...))
	fmt.Println(count([]any{1, "b"}, 3))
	fmt.Println(isNil(), isNil(""), isNil([]string{}...), isNil(nil...))
	fmt.Println(Build(1), Build(2, WithName("x"), WithTags("a", "b"), WithTags()))
	fmt.Println(spread(func(xs ...int) int { return len(xs) }, 1, 2, 3))
	fmt.Println(fmt.Sprintf("%d-%d", []any{1, 2}...), append([]int{1}, []int{2, 3}...), append([]byte("x"), "yz"...))
	fmt.Println(strings.NewReplacer([]string{"a", "b"}...).Replace("banana"))
}
