package natsfarm

import (
	"encoding/json"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"

	"dace.local/dacelib/farm"
)

// lateBy is how long a result that its caller has already waits before it is stored.
// Storing took a third of the round trip of a short unit, mostly to wake processes up;
// results that follow within this time share that cost.
const lateBy = 20 * time.Millisecond

// late stores results that their callers have already, many at a time. If the worker
// dies before, a caller that asks for one again has it computed again.
type late struct {
	nc    *link
	inbox string
	// one stores a result that the server has not confirmed.
	one func(t told) error
	// failed is set while the server cannot store: no caller is told a result
	// then before it is stored, so it learns of it.
	failed atomic.Bool

	storing sync.WaitGroup
	hurry   chan struct{} // closed when the worker ends

	mu      sync.Mutex // guards the fields below
	held    []told
	running bool
	batch   int // number of the present batch
	stored  []bool
	left    int // answers that are missing
	done    chan struct{}
}

// A told is a result that its caller has.
type told struct {
	id     string // of its message
	result farm.Result
	packed []byte
}

// open begins to take answers over a connection.
func (l *late) open(nc *link) error {
	l.nc, l.inbox, l.hurry = nc, nats.NewInbox(), make(chan struct{})
	_, err := nc.Subscribe(l.inbox+".*.*", l.answer)
	return err
}

// add has a result stored.
func (l *late) add(t told) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.held = append(l.held, t)
	if !l.running {
		l.running = true
		l.storing.Go(l.run)
	}
}

// finish stores what is held, and waits for it.
func (l *late) finish() {
	close(l.hurry)
	l.storing.Wait()
}

// run stores what is held until nothing is.
func (l *late) run() {
	for {
		select {
		case <-time.After(lateBy):
		case <-l.hurry:
		}
		l.mu.Lock()
		all := l.held
		l.held = nil
		l.running = len(all) > 0
		l.batch++
		l.stored, l.left, l.done = make([]bool, len(all)), len(all), make(chan struct{})
		batch, stored, done := strconv.Itoa(l.batch), l.stored, l.done
		l.mu.Unlock()
		if len(all) == 0 {
			return
		}
		for i, t := range all {
			_ = l.nc.PublishRequest("r."+t.result.Key, l.inbox+"."+batch+"."+strconv.Itoa(i), t.packed)
		}
		select {
		case <-done:
		case <-time.After(requestTime):
		}
		for i, t := range all {
			l.mu.Lock()
			ok := stored[i]
			l.mu.Unlock()
			if !ok && l.one(t) != nil {
				l.failed.Store(true)
			}
		}
	}
}

// answer is called for the server's answer to a result of a batch.
func (l *late) answer(m *nats.Msg) {
	batch, index, _ := strings.Cut(strings.TrimPrefix(m.Subject, l.inbox+"."), ".")
	i, err := strconv.Atoi(index)
	var a ack
	ok := json.Unmarshal(m.Data, &a) == nil && a.Error == nil
	l.mu.Lock()
	defer l.mu.Unlock()
	if err != nil || batch != strconv.Itoa(l.batch) || i < 0 || i >= len(l.stored) {
		return
	}
	l.stored[i] = ok
	if l.left--; l.left == 0 {
		close(l.done)
	}
}
