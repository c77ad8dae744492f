package main

import (
	"context"
	"errors"
	"fmt"
	"sort"
	"sync"
	"time"
)

type result struct {
	id  int
	val string
	err error
}

func stage[T, U any](ctx context.Context, in <-chan T, f func(T) U) <-chan U {
	out := make(chan U)
	go func() {
		defer close(out)
		for v := range in {
			select {
			case out <- f(v):
			case <-ctx.Done():
				return
			}
		}
	}()
	return out
}

func merge(cs ...<-chan int) <-chan int {
	var wg sync.WaitGroup
	out := make(chan int)
	for _, c := range cs {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for v := range c {
				out <- v
			}
		}()
	}
	go func() {
		wg.Wait()
		close(out)
	}()
	return out
}

func source(n int) <-chan int {
	c := make(chan int)
	go func() {
		for i := range n {
			c <- i
		}
		close(c)
	}()
	return c
}

func fetchAll(ids []int) []result {
	results := make(chan result)
	for _, id := range ids {
		go func(id int) {
			r := result{id: id}
			if id%3 == 0 {
				r.err = errors.New("multiple of three")
			} else {
				r.val = fmt.Sprint("item", id)
			}
			results <- r
		}(id)
	}
	var out []result
	for range ids {
		out = append(out, <-results)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].id < out[j].id })
	return out
}

type limiter struct{ tokens chan struct{} }

func (l limiter) do(f func()) {
	l.tokens <- struct{}{}
	defer func() { <-l.tokens }()
	f()
}

func main() {
	ctx, cancel := context.WithCancel(context.Background())
	squares := stage(ctx, source(5), func(i int) int { return i * i })
	for s := range stage(ctx, squares, func(i int) string { return fmt.Sprint("<", i, ">") }) {
		fmt.Print(s)
	}
	fmt.Println()
	cancel()
	fmt.Println(ctx.Err(), context.Cause(ctx))
	sum := 0
	for v := range merge(source(10), source(20), source(5)) {
		sum += v
	}
	fmt.Println(sum)
	for _, r := range fetchAll([]int{1, 2, 3, 4}) {
		fmt.Println(r.id, r.val, r.err)
	}
	l := limiter{make(chan struct{}, 2)}
	var mu sync.Mutex
	var wg sync.WaitGroup
	n := 0
	for i := range 10 {
		wg.Add(1)
		go l.do(func() {
			defer wg.Done()
			mu.Lock()
			n += i
			mu.Unlock()
		})
	}
	wg.Wait()
	fmt.Println(n)
	ctx, cancel = context.WithDeadline(context.WithValue(context.Background(), "k", 7), time.Now().Add(5*time.Millisecond))
	defer cancel()
	fmt.Println(ctx.Value("k"), ctx.Value("none"))
	select {
	case <-ctx.Done():
		fmt.Println(errors.Is(ctx.Err(), context.DeadlineExceeded))
	case <-time.After(10 * time.Second):
		fmt.Println("late")
	}
	tick := time.NewTicker(time.Millisecond)
	k := 0
	for range tick.C {
		if k++; k == 3 {
			tick.Stop()
			break
		}
	}
	fmt.Println(k)
	var once sync.Once
	v := sync.OnceValue(func() int { fmt.Println("computed"); return 42 })
	for range 3 {
		once.Do(func() { fmt.Println("only once") })
		fmt.Print(v(), " ")
	}
	fmt.Println()
}
