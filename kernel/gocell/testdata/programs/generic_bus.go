// An event bus, state machines, worker pools and memoizers with type parameters.
package main

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"sort"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

type Event interface{ Name() string }

type Created struct{ Who string }
type Deleted[T any] struct{ What T }

func (Created) Name() string    { return "created" }
func (Deleted[T]) Name() string { return fmt.Sprintf("deleted %T", *new(T)) }

type Bus struct {
	mu       sync.RWMutex
	handlers map[reflect.Type][]func(Event)
}

func On[E Event](b *Bus, f func(E)) (cancel func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.handlers == nil {
		b.handlers = make(map[reflect.Type][]func(Event))
	}
	t := reflect.TypeFor[E]()
	i := len(b.handlers[t])
	b.handlers[t] = append(b.handlers[t], func(e Event) { f(e.(E)) })
	return func() { b.handlers[t][i] = nil }
}

func (b *Bus) Emit(es ...Event) (n int) {
	for _, e := range es {
		for _, h := range b.handlers[reflect.TypeOf(e)] {
			if h != nil {
				h(e)
				n++
			}
		}
	}
	return
}

type Machine[S comparable, E comparable] struct {
	state S
	table map[S]map[E]S
	trail []S
}

func (m *Machine[S, E]) On(from S, e E, to S) *Machine[S, E] {
	if m.table == nil {
		m.table = map[S]map[E]S{}
	}
	if m.table[from] == nil {
		m.table[from] = map[E]S{}
	}
	m.table[from][e] = to
	return m
}

func (m *Machine[S, E]) Fire(es ...E) error {
	for _, e := range es {
		to, ok := m.table[m.state][e]
		if !ok {
			return fmt.Errorf("no %v in %v", e, m.state)
		}
		m.trail = append(m.trail, m.state)
		m.state = to
	}
	return nil
}

func Pool[J, R any](ctx context.Context, n int, jobs []J, work func(context.Context, J) (R, error)) ([]R, error) {
	type job struct {
		i int
		j J
	}
	type done struct {
		job
		r   R
		err error
	}
	in, out := make(chan job), make(chan done)
	var wg sync.WaitGroup
	for range n {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for j := range in {
				r, err := work(ctx, j.j)
				out <- done{j, r, err}
			}
		}()
	}
	go func() {
		defer close(out)
		for i, j := range jobs {
			in <- job{i, j}
		}
		close(in)
		wg.Wait()
	}()
	rs := make([]R, len(jobs))
	var first error
	for d := range out {
		rs[d.i] = d.r
		if d.err != nil && first == nil {
			first = fmt.Errorf("job %d: %w", d.i, d.err)
		}
	}
	return rs, first
}

func Memo[K comparable, V any](f func(K) V) (get func(K) V, calls func() int64) {
	var n atomic.Int64
	m := map[K]V{}
	return func(k K) V {
			if v, ok := m[k]; ok {
				return v
			}
			n.Add(1)
			v := f(k)
			m[k] = v
			return v
		}, func() int64 {
			return n.Load()
		}
}

type Atomic[T any] struct{ p atomic.Pointer[T] }

func (a *Atomic[T]) Store(x T) { a.p.Store(&x) }
func (a *Atomic[T]) Load() (x T) {
	if p := a.p.Load(); p != nil {
		x = *p
	}
	return
}
func (a *Atomic[T]) Update(f func(T) T) T {
	for {
		p := a.p.Load()
		x := f(a.Load())
		if a.p.CompareAndSwap(p, &x) {
			return x
		}
	}
}

func Merge[T any](chans ...<-chan T) <-chan T {
	out := make(chan T)
	var wg sync.WaitGroup
	for _, c := range chans {
		wg.Add(1)
		go func(c <-chan T) {
			defer wg.Done()
			for x := range c {
				out <- x
			}
		}(c)
	}
	go func() { wg.Wait(); close(out) }()
	return out
}

func Gen[T any](xs ...T) <-chan T {
	c := make(chan T, len(xs))
	defer close(c)
	for _, x := range xs {
		c <- x
	}
	return c
}

func First[T any](timeout time.Duration, chans ...<-chan T) (x T, ok bool) {
	m := Merge(chans...)
	select {
	case x, ok = <-m:
	case <-time.After(timeout):
	}
	return
}

type light int

const (
	red light = iota
	green
)

func (l light) String() string { return [...]string{"red", "green"}[l] }

type Sorted[T any] struct {
	xs  []T
	cmp func(T, T) int
}

func (s *Sorted[T]) Add(xs ...T) {
	for _, x := range xs {
		i, _ := slices.BinarySearchFunc(s.xs, x, s.cmp)
		s.xs = slices.Insert(s.xs, i, x)
	}
}

func main() {
	var b Bus
	var log []string
	On(&b, func(c Created) { log = append(log, c.Name()+" "+c.Who) })
	cancel := On(&b, func(d Deleted[int]) { log = append(log, fmt.Sprint(d.Name(), d.What)) })
	On(&b, func(d Deleted[string]) { log = append(log, fmt.Sprintf("%s %q", d.Name(), d.What)) })
	fmt.Println(b.Emit(Created{"ann"}, Deleted[int]{3}, Deleted[string]{"x"}, Deleted[bool]{}))
	cancel()
	fmt.Println(b.Emit(Deleted[int]{4}), strings.Join(log, "; "))

	m := (&Machine[light, string]{}).On(red, "go", green).On(green, "stop", red)
	fmt.Println(m.Fire("go", "stop", "go", "go"), m.state, m.trail)

	rs, err := Pool(context.Background(), 3, []int{1, 2, 3, 4}, func(_ context.Context, n int) (string, error) {
		if n == 3 {
			return "", fmt.Errorf("unlucky %d", n)
		}
		return strings.Repeat("#", n), nil
	})
	fmt.Printf("%q %v\n", rs, err)

	var fib func(int) int
	fib, calls := Memo(func(n int) int {
		if n < 2 {
			return n
		}
		return fib(n-1) + fib(n-2)
	})
	fmt.Println(fib(50), calls())

	var a Atomic[[]string]
	fmt.Println(a.Load() == nil)
	a.Store([]string{"a"})
	fmt.Println(a.Update(func(s []string) []string { return append(s, "b") }), a.Load())

	var got []int
	for x := range Merge(Gen(1, 2), Gen(3), Gen[int]()) {
		got = append(got, x)
	}
	sort.Ints(got)
	fmt.Println(got)
	x, ok := First(time.Minute, Gen("only"))
	y, ok2 := First[string](time.Millisecond, make(chan string))
	fmt.Println(x, ok, y == "", ok2)

	s := Sorted[Created]{cmp: func(a, b Created) int { return strings.Compare(a.Who, b.Who) }}
	s.Add(Created{"c"}, Created{"a"}, Created{"b"})
	fmt.Println(s.xs)
}
