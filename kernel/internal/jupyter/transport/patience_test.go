package transport

import (
	"reflect"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// A setting that is zero has the default that its comment tells; others stay.
func TestOptionDefaults(t *testing.T) {
	got := Options{}.withDefaults()
	want := Options{
		MaxMessage: 256 << 20, MaxFrames: 1024, MaxConns: 256, Memory: 1 << 30, Queue: 64 << 20,
		Patience: time.Second, Handshake: 5 * time.Second, Stall: 30 * time.Second, Linger: time.Second,
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	set := Options{MaxMessage: 1, MaxFrames: 2, MaxConns: 3, Memory: 4, Queue: 5, Patience: 6, Handshake: 7, Stall: 8, Linger: 9}
	if got := set.withDefaults(); !reflect.DeepEqual(got, set) {
		t.Errorf("%+v became %+v", set, got)
	}
}

// Whoever publishes waits for a subscriber that is behind as long as that one reads, and no
// longer than the patience for one that does not.
func TestPatience(t *testing.T) {
	for name, c := range map[string]struct {
		read []int64 // what is queued after each half second
		end  bool    // the connection ends after the last
		want bool
		took time.Duration
	}{
		"not behind":           {nil, false, true, 0},
		"reads":                {[]int64{90, 80, 70, 60, 50}, false, true, 2500 * time.Millisecond},
		"reads nothing":        {[]int64{100, 100, 100, 100}, false, false, time.Second},
		"reads, then no more":  {[]int64{90, 90, 90, 90}, false, false, 1500 * time.Millisecond},
		"ends":                 {[]int64{90}, true, false, 500 * time.Millisecond},
		"more and more queued": {[]int64{110, 120, 130}, false, false, time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newPeer(nil, nil, nil, "PUB", "a subscriber")
				p.queued.Store(100)
				if c.read == nil {
					p.queued.Store(50)
				}
				begun := time.Now()
				var reader sync.WaitGroup
				defer reader.Wait()
				reader.Go(func() {
					for i, n := range c.read {
						time.Sleep(500 * time.Millisecond)
						p.mu.Lock()
						p.queued.Store(n)
						p.dead = c.end && i == len(c.read)-1
						p.changed.Broadcast()
						p.mu.Unlock()
					}
				})
				if got, took := p.wait(50, time.Second), time.Since(begun); got != c.want || took != c.took {
					t.Errorf("%v after %v, want %v after %v", got, took, c.want, c.took)
				}
			})
		})
	}
}

// A trusted connection waits for memory until a message takes less than was reserved for
// it, is given up or is released, and no longer than its patience.
func TestBudgetWaits(t *testing.T) {
	for name, c := range map[string]struct {
		free func(b *budget, reader *peer)
		want error
		took time.Duration
	}{
		"nothing is freed":      {func(*budget, *peer) {}, errMemory, time.Minute},
		"a smaller message":     {func(b *budget, reader *peer) { b.finish(reader, 30) }, nil, time.Second},
		"no message":            {func(b *budget, reader *peer) { b.drop(reader) }, nil, time.Second},
		"a message is received": {func(b *budget, reader *peer) { b.finish(reader, 80); time.Sleep(time.Second); b.release(80) }, nil, 2 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBudget(100)
				reader, waiter := newPeer(nil, nil, nil, "DEALER", "reads"), newPeer(nil, nil, nil, "DEALER", "waits")
				reader.trusted.Store(true)
				waiter.trusted.Store(true)
				if err := b.acquire(reader, 80, 0); err != nil {
					t.Fatal(err)
				}
				time.AfterFunc(time.Second, func() { c.free(b, reader) })
				begun := time.Now()
				if err, took := b.acquire(waiter, 50, time.Minute), time.Since(begun); err != c.want || took != c.took {
					t.Errorf("%v after %v, want %v after %v", err, took, c.want, c.took)
				}
			})
		})
	}
}
