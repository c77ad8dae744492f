package brkga

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"sync"
	"sync/atomic"

	"dace.local/dacelib/internal/exits"
	"dace.local/dacelib/internal/openings"
	"dace.local/dacelib/problem"
	"dace.local/dacelib/run"
)

// A Job is one run of [RunAll].
type Job struct {
	// Problem is maximised with Settings, as [Run] does it.
	Problem  problem.Problem
	Settings Settings
}

// together is the largest number of runs that advance in step. More would only
// enlarge scratch memory without improving the batches.
const together = 64

// RunAll makes many runs, for example over configurations, seeds and instances.
// Runs on one problem advance in step: a generation of each is evaluated in one
// common batch. workers is the number of goroutines; 0 means one per core.
// results[i] is the result of jobs[i], and equals Run's: it depends neither on
// the other jobs nor on workers.
//
// The first error ends all runs; the results are then the best so far, as in
// Run. OnEvent of different jobs may be called concurrently.
func RunAll(ctx context.Context, jobs []Job, workers int) ([]Result, error) {
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	results := make([]Result, len(jobs))
	total := 0
	for i, j := range jobs {
		s, err := j.Settings.withDefaults(j.Problem)
		if err != nil {
			return results, fmt.Errorf("job %d: %w", i, err)
		}
		total += s.Evaluations
	}
	add, end := run.Steps(&ctx, "brkga", total)
	defer end()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var (
		teams = teams(jobs, workers)
		next  atomic.Int64
		wg    sync.WaitGroup
		mu    sync.Mutex // guards first
		first error
	)
	for range min(workers, len(teams)) {
		wg.Go(func() {
			for {
				k := int(next.Add(1)) - 1
				if k >= len(teams) {
					return
				}
				fail := func(err error) {
					mu.Lock()
					if first == nil || isCtx(first) && !isCtx(err) {
						first = err
					}
					mu.Unlock()
					cancel()
				}
				exits.Watch(func() {
					if err := runTeam(ctx, jobs, teams[k], results, add); err != nil {
						fail(err)
					}
				}, func(err error) { fail(fmt.Errorf("problem %s: %w", jobs[teams[k][0]].Problem.Name(), err)) })
			}
		})
	}
	wg.Wait()
	return results, first
}

func isCtx(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// teams groups jobs on the same problem into teams, small enough that all
// workers have work.
func teams(jobs []Job, workers int) [][]int {
	groups := map[any][]int{}
	var order []any
	for i, j := range jobs {
		// Problems that cannot be compared form teams of one.
		var id any = i
		if reflect.ValueOf(j.Problem).Comparable() {
			id = j.Problem
		}
		if groups[id] == nil {
			order = append(order, id)
		}
		groups[id] = append(groups[id], i)
	}
	size := max(1, min(together, (len(jobs)+workers-1)/workers))
	var out [][]int
	for _, id := range order {
		g := groups[id]
		for len(g) > size {
			out = append(out, g[:size])
			g = g[size:]
		}
		out = append(out, g)
	}
	return out
}

// runTeam makes the runs of a team, which all have the same problem, and calls
// add with the number of evaluations of each batch.
func runTeam(ctx context.Context, jobs []Job, team []int, results []Result, add func(n int)) error {
	p := jobs[team[0]].Problem
	searches, total := make([]*search, len(team)), 0
	for k, i := range team {
		s, err := jobs[i].Settings.withDefaults(p)
		if err != nil {
			return err
		}
		searches[k] = newSearch(p, s)
		total += s.Evaluations
	}
	b := newBatch(p, total)
	defer b.release()
	evaluate := func(searches []*search) error { return b.evaluate(ctx, searches) }
	begun := openings.Of(ctx)
	for _, s := range searches {
		if len(s.settings.Start) > 0 {
			begun = nil // they do not begin as others of their seed
		}
	}
	err := open(begun, searches, evaluate)
	for err == nil {
		n := 0
		for _, s := range searches {
			if !s.done {
				n += s.wait
			}
		}
		if n == 0 {
			break
		}
		if err = evaluate(searches); err != nil {
			break
		}
		for _, s := range searches {
			if s.done {
				continue
			}
			if e := s.advance(); e != nil && err == nil {
				err = e
			}
		}
		add(n)
	}
	for k, i := range team {
		e := err
		if searches[k].done {
			e = nil
		}
		results[i], _ = searches[k].result(ctx, e)
	}
	if err != nil && ctx.Err() != nil && isCtx(err) {
		err = ctx.Err()
	}
	return err
}
