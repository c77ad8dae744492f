// Constraints with methods, pointer receivers, core types and inference.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"sort"
	"strconv"
	"strings"
)

type Number interface {
	~int | ~int8 | ~int16 | ~int32 | ~int64 | ~float32 | ~float64
}

type Named interface {
	~int
	String() string
}

type Day int

func (d Day) String() string { return [...]string{"Mon", "Tue", "Wed"}[d] }

func Next[D Named](d D, n int) (D, string) {
	e := D((int(d) + 1) % n)
	return e, d.String() + "->" + e.String()
}

type Setter[T any] interface {
	*T
	Set(string) error
}

func ParseAll[T any, P Setter[T]](ss ...string) ([]T, error) {
	out := make([]T, len(ss))
	for i, s := range ss {
		if err := P(&out[i]).Set(s); err != nil {
			return out[:i], fmt.Errorf("%d: %w", i, err)
		}
	}
	return out, nil
}

type Celsius float64

func (c *Celsius) Set(s string) error {
	f, err := strconv.ParseFloat(strings.TrimSuffix(s, "C"), 64)
	*c = Celsius(f)
	return err
}

type point struct{ X, Y int }

func (p *point) Set(s string) error {
	_, err := fmt.Sscanf(s, "%d,%d", &p.X, &p.Y)
	return err
}

type Builder[T any, P interface {
	*T
	json.Unmarshaler
}] struct{ made []P }

func (b *Builder[T, P]) Add(s string) *Builder[T, P] {
	p := P(new(T))
	if err := json.Unmarshal([]byte(s), p); err != nil {
		panic(err)
	}
	b.made = append(b.made, p)
	return b
}

type hex int64

func (h *hex) UnmarshalJSON(b []byte) error {
	n, err := strconv.ParseInt(strings.Trim(string(b), `"`), 16, 64)
	*h = hex(n)
	return err
}

func Sum[S ~[]E, E Number](s S) (t E) {
	for _, x := range s {
		t += x
	}
	return
}

func Scale[S ~[]E, E Number](s S, k E) S {
	r := make(S, 0, len(s))
	for i := range s {
		r = append(r, s[i]*k)
	}
	return r
}

type Row []float64

func (r Row) Norm() (n float64) {
	for _, x := range r {
		n += x * x
	}
	return
}

func Convert[To, From Number](xs []From) []To {
	var out []To
	for _, x := range xs {
		out = append(out, To(x))
	}
	return out
}

func Keys[M ~map[K]V, K comparable, V any](m M) []K {
	var ks []K
	for k := range m {
		ks = append(ks, k)
	}
	return ks
}

func Send[C ~chan<- T | ~chan T, T any](c C, xs ...T) {
	for _, x := range xs {
		c <- x
	}
}

func Apply[F ~func(A) B, A, B any](f F, a A) B { return f(a) }

func Bytes[T ~string | ~[]byte](x T) (n int, s string) {
	for i := range len(x) {
		n += int(x[i])
	}
	return n, string(x[1:3])
}

type Text string
type Op func(int) string

func kind[T any](x T) string {
	switch any(x).(type) {
	case int, int64:
		return "int"
	case fmt.Stringer:
		return "stringer"
	case []T:
		return "slice of itself"
	case func() T:
		return "thunk"
	case nil:
		return "nil"
	case error:
		return "error"
	}
	switch any((*T)(nil)).(type) {
	case *string:
		return "string"
	case *any:
		return "any"
	}
	return fmt.Sprintf("%T", x)
}

func index[T comparable](xs []T, x T) int {
	for i, y := range xs {
		if x == y {
			return i
		}
	}
	return -1
}

func clamp[T Number](x T) (lo, hi T) { return min(x, 3, 7), max(x, T(2)+1) }

func wipe[M ~map[K]V, K comparable, V any](ms ...M) {
	for _, m := range ms {
		clear(m)
	}
}

type sortBy[T any] struct {
	xs   []T
	less func(a, b T) bool
}

func (s sortBy[T]) Len() int           { return len(s.xs) }
func (s sortBy[T]) Less(i, j int) bool { return s.less(s.xs[i], s.xs[j]) }
func (s sortBy[T]) Swap(i, j int)      { s.xs[i], s.xs[j] = s.xs[j], s.xs[i] }

func main() {
	fmt.Println(Next(Day(2), 3))
	fmt.Println(ParseAll[Celsius]("20C", "-3.5"))
	fmt.Println(ParseAll[point]("1,2", "3,4"))
	ps, err := ParseAll[point]("1,2", "x")
	fmt.Println(ps, err != nil, errors.Unwrap(err) != nil)
	var b Builder[hex, *hex]
	for _, h := range b.Add(`"ff"`).Add(`"10"`).made {
		fmt.Print(*h, " ")
	}
	fmt.Println()

	r := Row{1, 2, 3}
	fmt.Println(Sum(r), Scale(r, 2).Norm(), Sum([]Day{1, 1}), Convert[int8]([]float64{1.9, -2.7, 100}))
	m := map[string]Day{"b": 1, "a": 2}
	ks := Keys(m)
	sort.Strings(ks)
	fmt.Println(ks, len(Keys(map[point]bool{{1, 2}: true})))
	c := make(chan int, 3)
	Send(c, 1, 2)
	Send((chan<- int)(c), 3)
	fmt.Println(<-c, <-c, <-c)
	fmt.Println(Apply(Op(strconv.Itoa), 7), Apply(strings.ToUpper, "x"), Apply(func(d Day) error { return nil }, 1))
	fmt.Println(Bytes("héy!"))
	fmt.Println(Bytes([]byte("abcd")))
	fmt.Println(Bytes(Text("text")))

	fmt.Println(kind(1), kind(Day(1)), kind("s"), kind[any](nil), kind[error](errors.New("e")), kind([]int{}), kind(point{}), kind(&b), kind[fmt.Stringer](nil), kind[any]([]any{}), kind[any](func() any { return 1 }))
	fmt.Println(index([]any{1, "a", 2.5, point{1, 2}}, any(point{1, 2})), index([]Day{0, 2}, 2), index([][2]string{{"a", "b"}}, [2]string{"a", "b"}))
	fmt.Println(clamp(5))
	fmt.Println(clamp(Day(1)))
	fmt.Println(clamp(2.5))
	wipe(m, nil)
	fmt.Println(len(m))
	xs := []point{{3, 1}, {1, 2}, {2, 0}}
	sort.Sort(sortBy[point]{xs, func(a, b point) bool { return a.X < b.X }})
	fmt.Println(xs)
	sort.Sort(sort.Reverse(sortBy[point]{xs, func(a, b point) bool { return a.Y < b.Y }}))
	fmt.Printf("%+v\n", xs)
}
