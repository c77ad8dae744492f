package run

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"

	"dace.local/dacelib/internal/exits"
	"dace.local/dacelib/internal/failure"
)

// Each calls f(0), ..., f(n-1) on the given number of goroutines (0 means one
// per core) and waits for all of them. After an error no further call starts. A
// panic in f becomes an error. Each returns the error of the lowest index; it
// returns a context's error only if there is no other.
func Each(workers, n int, f func(i int) error) error {
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	var (
		mu     sync.Mutex // guards next, failed and errs
		wg     sync.WaitGroup
		next   int
		failed bool
		errs   = make([]error, n)
	)
	for range min(workers, n) {
		wg.Go(func() {
			for {
				mu.Lock()
				i := next
				next++
				stop := i >= n || failed
				mu.Unlock()
				if stop {
					return
				}
				fail := func(err error) {
					mu.Lock()
					errs[i], failed = err, true
					mu.Unlock()
				}
				exits.Watch(func() {
					if err := recovered(f, i); err != nil {
						fail(err)
					}
				}, fail)
			}
		})
	}
	wg.Wait()
	var ended error
	for _, err := range errs {
		if err != nil && !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) {
			return err
		}
		if ended == nil {
			ended = err
		}
	}
	return ended
}

func recovered(f func(i int) error, i int) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %s", failure.Text(r))
		}
	}()
	return f(i)
}
