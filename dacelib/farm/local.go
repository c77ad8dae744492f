package farm

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"time"

	"dace.local/dacelib/run"
)

// Local returns a pool that computes units in this process on the given number
// of goroutines; 0 means one per core. It is for tests and for work that has no
// other way: settings without a Farm need no pool.
func Local(workers int) Pool {
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	l := &local{workers: workers, blobs: map[string][]byte{}}
	l.env = NewEnv(workers, l.Get, l.Put)
	return l
}

type local struct {
	Rates
	workers int
	env     *Env

	mu    sync.Mutex // guards blobs
	blobs map[string][]byte
}

func (l *local) Slots() int { return l.workers }

func (l *local) Put(_ context.Context, blob []byte) (string, error) {
	key := BlobKey(blob)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.blobs[key] == nil {
		l.blobs[key] = slices.Clone(blob)
	}
	return key, nil
}

func (l *local) Get(_ context.Context, key string) ([]byte, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if b, ok := l.blobs[key]; ok {
		return b, nil
	}
	return nil, MissingBlob(key)
}

func (l *local) Do(ctx context.Context, units []Unit, done func(i int, result []byte) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var mu sync.Mutex // held by calls of done
	err := run.Each(l.workers, len(units), func(i int) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		begun := time.Now()
		b, err := Execute(ctx, l.env, units[i])
		if err != nil {
			defer cancel()
			if isEnd(err) && ctx.Err() != nil {
				return ctx.Err()
			}
			return Remember(Failure{Words: err.Error()}, units[i], l.env)
		}
		l.Observe(units[i].Kind, units[i].Weight(), time.Since(begun).Seconds())
		mu.Lock()
		defer mu.Unlock()
		if err := ctx.Err(); err != nil { // done has failed meanwhile
			return err
		}
		if err := done(i, b); err != nil {
			cancel()
			return err
		}
		return nil
	})
	return err
}
