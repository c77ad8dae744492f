package natsfarm_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"dace.local/dacelib/farm"
	"dace.local/dacelib/farm/farmtest"
)

// Several callers take the one slot for idle: who is wrong gets its message
// back, and it waits in the queue.
func TestHandedByMany(t *testing.T) {
	join := start(t, "", 1)
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	var callers sync.WaitGroup
	for k := range 4 {
		p := pool(t, join)
		callers.Go(func() {
			for i := range 20 {
				if err := farmtest.Doubles(ctx, t, p, 1000*k+10*i, 1); err != nil {
					t.Error(err)
					return
				}
				u := farmtest.Unit(t, "sleep", farmtest.Sleep{Time: 5 * time.Millisecond, Number: 1000*k + i})
				if err := farm.Do1(ctx, p, u, new(int)); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	callers.Wait()
}
