package server

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"dace.local/kernel/wire"
)

// A lane answers requests of a channel one after the other.
type lane struct {
	server   *server
	channel  wire.Channel
	queue    chan queued
	received atomic.Int64 // number of the last message in the queue
	aborted  int64        // execute requests up to this number are aborted; serve's own

	mu     sync.Mutex
	cancel context.CancelFunc // of the request being answered, nil between requests
}

// A queued message knows its place.
type queued struct {
	number  int64
	message wire.Message
}

// queueLength bounds what waits in the kernel; more waits in the sockets.
const queueLength = 1024

func newLane(s *server, ch wire.Channel) *lane {
	return &lane{server: s, channel: ch, queue: make(chan queued, queueLength)}
}

// push appends a message to the queue.
func (l *lane) push(ctx context.Context, m wire.Message) {
	select {
	case l.queue <- queued{l.received.Add(1), m}:
	case <-ctx.Done():
	}
}

// serve answers until ctx ends.
func (l *lane) serve(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case q := <-l.queue:
			if ctx.Err() == nil {
				l.answer(ctx, q)
			}
		}
	}
}

// answer answers one request under a context that an interrupt cancels.
func (l *lane) answer(ctx context.Context, q queued) {
	ctx, cancel := context.WithCancel(ctx)
	l.mu.Lock()
	l.cancel = cancel
	l.mu.Unlock()
	defer func() {
		l.mu.Lock()
		l.cancel = nil
		l.mu.Unlock()
		cancel()
	}()
	l.server.handle(ctx, &request{Message: q.message, lane: l, number: q.number})
}

// cancelCurrent cancels the request being answered and reports whether there
// was one.
func (l *lane) cancelCurrent() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.cancel == nil {
		return false
	}
	l.cancel()
	return true
}

// abortQueued has the execute requests that wait, or come within a moment,
// answered with "aborted".
func (l *lane) abortQueued() {
	for range 10 {
		l.aborted = l.received.Load()
		time.Sleep(abortPause)
		if l.received.Load() == l.aborted {
			return
		}
	}
}
