package main

import (
	"context"
	"fmt"
	"sort"
	"sync"
	"sync/atomic"
	"time"
)

func worker(id int, jobs <-chan int, results chan<- [2]int, wg *sync.WaitGroup) {
	defer wg.Done()
	for j := range jobs {
		results <- [2]int{j, j * j}
	}
	_ = id
}

func gen(n int) <-chan int {
	c := make(chan int)
	go func() {
		defer close(c)
		for i := range n {
			c <- i
		}
	}()
	return c
}

func square(in <-chan int) <-chan int {
	out := make(chan int)
	go func() {
		for v := range in {
			out <- v * v
		}
		close(out)
	}()
	return out
}

type SafeMap struct {
	mu sync.RWMutex
	m  map[string]int
}

func (s *SafeMap) Inc(k string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.m[k]++
}

func main() {
	jobs, results := make(chan int, 10), make(chan [2]int, 10)
	var wg sync.WaitGroup
	for i := range 3 {
		wg.Add(1)
		go worker(i, jobs, results, &wg)
	}
	for i := range 9 {
		jobs <- i
	}
	close(jobs)
	wg.Wait()
	close(results)
	var rs [][2]int
	for r := range results {
		rs = append(rs, r)
	}
	sort.Slice(rs, func(i, j int) bool { return rs[i][0] < rs[j][0] })
	fmt.Println(rs)
	sum := 0
	for v := range square(square(gen(5))) {
		sum += v
	}
	fmt.Println(sum)
	sm := SafeMap{m: map[string]int{}}
	var n atomic.Int32
	for i := range 20 {
		wg.Add(1)
		go func(k string) {
			defer wg.Done()
			sm.Inc(k)
			n.Add(1)
		}(string(rune('a' + i%3)))
	}
	wg.Wait()
	fmt.Println(sm.m, n.Load())
	done := make(chan struct{})
	ticks := make(chan string)
	go func() {
		for _, s := range []string{"x", "y", "z"} {
			ticks <- s
		}
		close(done)
	}()
loop:
	for {
		select {
		case s := <-ticks:
			fmt.Print(s, " ")
		case <-done:
			fmt.Println("done")
			break loop
		case <-time.After(10 * time.Second):
			fmt.Println("timeout")
			return
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	select {
	case <-ctx.Done():
		fmt.Println(ctx.Err())
	}
	var once sync.Once
	for range 3 {
		once.Do(func() { fmt.Println("once") })
	}
	sem := make(chan struct{}, 2)
	var peak, cur atomic.Int32
	for range 6 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			sem <- struct{}{}
			defer func() { <-sem }()
			if c := cur.Add(1); c > peak.Load() {
				peak.Store(c)
			}
			time.Sleep(time.Millisecond)
			cur.Add(-1)
		}()
	}
	wg.Wait()
	fmt.Println(peak.Load() <= 2, len(sem), cap(sem))
	var nilc chan int
	select {
	case v := <-nilc:
		fmt.Println(v)
	default:
		fmt.Println("default")
	}
	errs := make(chan error, 1)
	go func() { errs <- fmt.Errorf("from a goroutine") }()
	if err := <-errs; err != nil {
		fmt.Println(err)
	}
	cond := sync.NewCond(&sync.Mutex{})
	ready := false
	go func() {
		cond.L.Lock()
		ready = true
		cond.L.Unlock()
		cond.Broadcast()
	}()
	cond.L.Lock()
	for !ready {
		cond.Wait()
	}
	cond.L.Unlock()
	fmt.Println("ready")
}
