package main

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"
)

// Types of functions and channels are types of their own.

type (
	Objective   func([]float64) float64
	Handler     func(name string, args ...any) error
	Option      func(*config)
	Event       chan string
	Done        <-chan struct{}
	Visit       func(*tree, Visit) int // of itself
	Chain       func() Chain
	Pipe[T any] func(T) T
	Many        []Objective
	Table       map[string]Handler
)

type config struct {
	name  string
	size  int
	hooks []Option
	log   Handler
	done  Done
}

type tree struct{ left, right *tree }

func WithName(s string) Option { return func(c *config) { c.name = s } }
func WithSize(n int) Option    { return func(c *config) { c.size = n } }

func newConfig(opts ...Option) *config {
	c := &config{hooks: opts}
	for _, o := range opts {
		o(c)
	}
	return c
}

func kind(x any) string {
	switch f := x.(type) {
	case Objective:
		return fmt.Sprint("objective ", f([]float64{1, 2}))
	case func([]float64) float64:
		return fmt.Sprint("function ", f([]float64{3}))
	case Option:
		c := &config{}
		f(c)
		return "option " + c.name
	case func(*config):
		return "plain option"
	case Event:
		return fmt.Sprint("event ", cap(f))
	case chan string:
		return fmt.Sprint("channel ", len(f))
	case Handler:
		return fmt.Sprint("handler ", f("n", 1, 2))
	case Many:
		return fmt.Sprint("many ", f[1](nil))
	case []Objective:
		return "objectives"
	case Pipe[int]:
		return fmt.Sprint("pipe ", f(20))
	case Pipe[string]:
		return "pipe " + f("s")
	case Chain:
		return "chain"
	case nil:
		return "nil"
	}
	return fmt.Sprintf("%T", x)
}

func sum(x []float64) float64 {
	s := 0.0
	for _, v := range x {
		s += v
	}
	return s
}

func minimize(f Objective, at ...[]float64) (best float64) {
	best = f(at[0])
	for _, x := range at[1:] {
		best = min(best, f(x))
	}
	return best
}

func compose[T any](fs ...Pipe[T]) Pipe[T] {
	return func(x T) T {
		for _, f := range fs {
			x = f(x)
		}
		return x
	}
}

func main() {
	var o Objective = sum
	e := make(Event, 3)
	fail := Handler(func(name string, args ...any) error { return errors.New(fmt.Sprint(name, len(args))) })
	for _, x := range []any{o, sum, func(x []float64) float64 { return -1 }, WithName("w"), func(*config) {}, e, (chan string)(e), fail,
		Many{nil, func([]float64) float64 { return 7 }}, []Objective{o}, compose(func(i int) int { return i + 1 }, func(i int) int { return i * 2 }),
		Pipe[string](strings.ToUpper), Objective(nil), nil, Chain(nil), Table{}, Done(nil), new(Objective), time.After} {
		if f, ok := x.(Objective); ok && f == nil {
			fmt.Println("a nil objective")
			continue
		}
		fmt.Printf("%T: %s\n", x, kind(x))
	}
	c := newConfig(WithName("n"), WithSize(3), func(c *config) { c.size++ }, nil2)
	fmt.Println(c.name, c.size, len(c.hooks), c.log == nil, c.done == nil)
	c.log = func(name string, args ...any) error { return fmt.Errorf("%s: %d", name, len(args)) }
	var h func(string, ...any) error = c.log
	fmt.Println(c.log("a", 1), h("b"), Table{"x": h}["x"]("c", []any{1, 2}...))
	fmt.Println(minimize(sum, []float64{3}, []float64{1, 1}), minimize(func(x []float64) float64 { return -x[0] }, []float64{4}))

	var visit Visit = func(t *tree, v Visit) int {
		if t == nil {
			return 0
		}
		return 1 + v(t.left, v) + v(t.right, v)
	}
	fmt.Println(visit(&tree{&tree{nil, &tree{}}, &tree{}}, visit))
	n := 0
	var next Chain
	next = func() Chain {
		if n++; n > 3 {
			return nil
		}
		return next
	}
	for f := next; f != nil; f = f() {
	}
	fmt.Println(n)

	go func() {
		for _, s := range []string{"a", "b", "c", "d"} {
			e <- s
		}
		close(e)
	}()
	var all []string
	for s := range e {
		all = append(all, s)
	}
	v, ok := <-e
	fmt.Println(all, v == "", ok)
	var in chan<- string = make(Event, 1)
	in <- "x"
	done := make(chan struct{})
	c.done = done
	close(done)
	select {
	case _, ok := <-c.done:
		fmt.Println("done", ok)
	case <-time.After(time.Second):
		fmt.Println("late")
	}
	m := map[any]int{e: 1, (chan string)(e): 2}
	fmt.Println(len(m), m[e], m[(chan string)(e)])
	var i1, i2 any = e, (chan string)(e)
	fmt.Println(i1 == i2, i1 == any(e))

	t := reflect.TypeOf(o)
	fmt.Println(t, t.Name(), t.Kind(), reflect.TypeOf(config{}).Field(2).Type, reflect.TypeOf(config{}).Field(4).Type)
	fmt.Println(reflect.ValueOf(o).Call([]reflect.Value{reflect.ValueOf([]float64{1, 5})})[0])
	fs := []Objective{sum, func(x []float64) float64 { return x[0] }}
	fmt.Println(slices.IndexFunc(fs, func(f Objective) bool { return f([]float64{2, 3}) == 2 }))
	double := Pipe[float64](func(x float64) float64 { return 2 * x })
	fmt.Println(apply(double, 4), apply(func(s string) string { return s + s }, "z"))
	defer func() { fmt.Println(recover()) }()
	fmt.Println(any(sum).(Objective))
}

var nil2 Option = func(*config) {}

func apply[F ~func(T) T, T any](f F, x T) T { return f(f(x)) }
