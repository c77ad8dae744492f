package farm_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"dace.local/dacelib/farm"
	"dace.local/dacelib/farm/farmtest"
)

// A recorder is a transport that writes down where messages go, and a pool.
type recorder struct {
	*farm.Dispatcher
	arrives func(m farm.Message, way string) // in a goroutine of its own

	mu   sync.Mutex // guards ways
	ways []string   // of messages: "queue", or the name of a worker
}

func newRecorder(arrives func(r *recorder, m farm.Message, way string)) *recorder {
	r := new(recorder)
	r.arrives = func(m farm.Message, way string) { arrives(r, m, way) }
	r.Dispatcher = farm.NewDispatcher(r, "caller", nil, time.Hour)
	return r
}

func (r *recorder) note(m farm.Message, way string) {
	r.mu.Lock()
	r.ways = append(r.ways, way)
	r.mu.Unlock()
	go r.arrives(m, way)
}

func (r *recorder) Send(_ context.Context, m farm.Message) error { r.note(m, "queue"); return nil }

func (r *recorder) Hand(m farm.Message, worker string) bool { r.note(m, worker); return true }

func (r *recorder) Queued(context.Context, farm.Message) (bool, error) { return true, nil }

func (r *recorder) Withdraw([]farm.Message) {}

func (r *recorder) Look(context.Context, []string) ([]farm.Result, error) { return nil, nil }

// finish reports a result of every unit of a message.
func (r *recorder) finish(m farm.Message) {
	for _, u := range m.Units {
		r.Done(farm.Result{Key: u.Key(), Data: []byte("1"), Seconds: 1})
	}
}

// do has n units computed and returns the ways of their messages.
func (r *recorder) do(t *testing.T, first, n int) []string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var units []farm.Unit
	for i := range n {
		units = append(units, farmtest.Unit(t, "double", farm.Floats{float64(first + i)}))
	}
	got := 0
	done := func(int, []byte) error { got++; return nil }
	if err := r.Do(ctx, units, done); err != nil || got != n {
		t.Fatalf("%d of %d results: %v", got, n, err)
	}
	if c := r.Counts(); c.Waiting != 0 || c.Running != 0 {
		t.Errorf("%d units wait, %d run", c.Waiting, c.Running)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	ways := r.ways
	r.ways = nil
	return ways
}

// Messages are handed to idle workers, one for each slot, while nothing of the
// caller is queued.
func TestHand(t *testing.T) {
	all := make(chan farm.Message, 100)
	r := newRecorder(func(r *recorder, m farm.Message, way string) { all <- m })
	go func() { // four messages have come before the first is done
		for range 2 {
			four := []farm.Message{<-all, <-all, <-all, <-all}
			for _, m := range four {
				r.finish(m)
			}
		}
		for m := range all {
			r.finish(m)
		}
	}()
	defer close(all)
	foreign := farm.Worker{Name: "foreign", Cores: 8, Identity: farm.Self()}
	foreign.Identity.Build = "another"
	r.Alive(foreign)
	r.Alive(farm.Worker{Name: "a", Cores: 2, Identity: farm.Self()})
	for _, first := range []int{0, 10} {
		if ways := r.do(t, first, 4); !slices.Equal(ways, []string{"a", "a", "queue", "queue"}) {
			t.Errorf("four messages went to %v", ways)
		}
	}
	if ways := r.do(t, 20, 1); !slices.Equal(ways, []string{"a"}) {
		t.Errorf("one message went to %v", ways)
	}
}

// What a worker sends back, or has died of, goes through the queue, and a busy
// worker is let alone for a while.
func TestHandedBack(t *testing.T) {
	for name, c := range map[string]struct {
		returns func(r *recorder, m farm.Message)
		deaths  int
	}{
		"busy":    {func(r *recorder, m farm.Message) { r.Back(m.ID, "a") }, 0},
		"unheard": {func(r *recorder, m farm.Message) { r.Back(m.ID, "") }, 0},
		"died":    {func(r *recorder, m farm.Message) { r.Gone("a", true, ""); r.Took(m.ID, "a", "") }, 1},
		"left":    {func(r *recorder, m farm.Message) { r.Gone("a", false, "") }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			deaths := make(chan int, 10)
			r := newRecorder(func(r *recorder, m farm.Message, way string) {
				if way == "a" {
					c.returns(r, m)
					return
				}
				deaths <- m.Deaths
				r.finish(m)
			})
			r.Alive(farm.Worker{Name: "a", Cores: 1, Identity: farm.Self()})
			if ways := fmt.Sprint(r.do(t, 0, 1)); ways != "[a queue]" {
				t.Errorf("the message went to %v", ways)
			}
			if n := <-deaths; n != c.deaths {
				t.Errorf("%d deaths, want %d", n, c.deaths)
			}
			if ways := r.do(t, 1, 1); !slices.Equal(ways, []string{"queue"}) {
				t.Errorf("the next message went to %v", ways)
			}
		})
	}
}

// A message is handed to one worker alone past the queue: what the first sends back goes
// through the queue also where another is idle.
func TestHandedOnce(t *testing.T) {
	r := newRecorder(func(r *recorder, m farm.Message, way string) {
		if way == "queue" {
			r.finish(m)
		} else {
			r.Back(m.ID, way)
		}
	})
	for _, name := range []string{"a", "b"} {
		r.Alive(farm.Worker{Name: name, Cores: 1, Identity: farm.Self()})
	}
	if ways := r.do(t, 0, 1); len(ways) != 2 || ways[1] != "queue" {
		t.Errorf("the message went to %v", ways)
	}
}

// A message that a worker has begun with and sends back runs no more, also when
// another worker gets it past the queue.
func TestHandedOn(t *testing.T) {
	r := newRecorder(func(r *recorder, m farm.Message, way string) {
		u := m.Units[0]
		switch {
		case !m.Check:
			r.Done(farm.Result{Key: u.Key(), Data: []byte("1"), Seconds: 1, Worker: "a"})
		case way == "b":
			r.Took(m.ID, "b", "")
			r.Alive(farm.Worker{Name: "c", Cores: 1, Identity: farm.Self()})
			r.Back(m.ID, "b")
		default:
			r.Took(m.ID, way, "")
			r.Checked(m.ID, u.Key(), way, "", farm.BlobKey([]byte("1")))
		}
	})
	r.Use(farm.Policy{Verify: 1})
	r.Alive(farm.Worker{Name: "a", Cores: 1, Identity: farm.Self()})
	go func() {
		for r.Counts().Done == 0 {
			time.Sleep(time.Millisecond)
		}
		r.Alive(farm.Worker{Name: "b", Cores: 1, Identity: farm.Self()})
	}()
	if ways := r.do(t, 0, 1); !slices.Equal(ways, []string{"a", "b", "c"}) {
		t.Errorf("the message went to %v", ways)
	}
}

// A note comes at most once a minute, and others beside it.
func TestNotes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var said []string
		d := farm.NewDispatcher(nil, "ada", nil, 0)
		d.OnNote(func(text string) { said = append(said, text) })
		for _, wait := range []time.Duration{0, 59 * time.Second, time.Second, 59 * time.Second} {
			time.Sleep(wait)
			d.Note("no %s", "worker")
			d.Note("%d", len(said))
		}
		if want := []string{"no worker", "1", "2", "no worker", "4", "5"}; !slices.Equal(said, want) {
			t.Errorf("said %q, want %q", said, want)
		}
	})
}
