package problem

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"

	"dace.local/dacelib/internal/exits"
	"dace.local/dacelib/internal/failure"
)

// Parallel returns p with its batches divided among workers; 0 means one per
// core. Use it for problems whose evaluation costs more than a few
// microseconds. Values do not depend on the number of workers. A panic in a
// worker becomes an error.
func Parallel(p Problem, workers int) Problem {
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	return parallel{p, workers}
}

type parallel struct {
	Problem
	workers int
}

func (p parallel) Optimum() (float64, bool) { return Optimum(p.Problem) }
func (p parallel) Costly() bool             { return costly(p.Problem) }

func (p parallel) Evaluate(ctx context.Context, dst []float64, x Solutions) error {
	if err := CheckBatch(p.Problem, dst, x); err != nil {
		return err
	}
	n := x.Len()
	// Four pieces per worker even out evaluations of unequal cost.
	size := max(1, (n+4*p.workers-1)/(4*p.workers))
	pieces := (n + size - 1) / size
	if pieces <= 1 || p.workers == 1 {
		return p.Problem.Evaluate(ctx, dst, x)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var (
		next atomic.Int64
		wg   sync.WaitGroup
		errs = make([]error, pieces)
	)
	for range min(p.workers, pieces) {
		wg.Go(func() {
			for {
				k := int(next.Add(1)) - 1
				if k >= pieces {
					return
				}
				lo, hi := k*size, min((k+1)*size, n)
				exits.Watch(func() { errs[k] = p.piece(ctx, dst[lo:hi], x.Slice(lo, hi)) }, func(err error) {
					errs[k] = fmt.Errorf("problem %s: %w", p.Name(), err)
					cancel()
				})
				if errs[k] != nil {
					cancel()
					return
				}
			}
		})
	}
	wg.Wait()
	// Prefer a worker's own error to the cancellations that it caused in
	// others.
	var ended error
	for _, err := range errs {
		if err != nil && !isCtx(err) {
			return err
		}
		if ended == nil {
			ended = err
		}
	}
	return ended
}

func (p parallel) piece(ctx context.Context, dst []float64, x Solutions) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("problem %s: panic while evaluating %d solutions: %s", p.Name(), x.Len(), failure.Text(r))
		}
	}()
	return p.Problem.Evaluate(ctx, dst, x)
}
