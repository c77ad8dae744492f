package server

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"dace.local/kernel/internal/jupyter/wire"
)

// A lane is a queue of requests that are answered one after the other.
type lane struct {
	server   *server
	channel  wire.Channel
	queue    chan queued
	received atomic.Int64  // number of the last message in the queue
	pending  atomic.Int64  // messages that are in the queue or being answered
	cells    atomic.Int64  // execute requests among them
	gone     chan struct{} // closed when the lane's subshell is deleted
	aborted  int64         // execute requests up to this number are aborted; only serve's goroutine uses it
	comms    commRun

	mu      sync.Mutex         // guards cancel and current
	cancel  context.CancelFunc // of the request being answered, nil between requests
	current wire.Header        // of that request
}

// A queued is a message with its number in the lane's queue.
type queued struct {
	number  int64
	message wire.Message
}

// queueLength bounds the messages in a lane's queue; more wait in the sockets.
const queueLength = 1024

func newLane(s *server, ch wire.Channel) *lane {
	return &lane{server: s, channel: ch, queue: make(chan queued, queueLength), gone: make(chan struct{})}
}

func isCell(m wire.Message) bool { return m.Header.MsgType == "execute_request" }

// push appends a message to the queue.
func (l *lane) push(ctx context.Context, m wire.Message) {
	l.pending.Add(1)
	if isCell(m) {
		l.cells.Add(1)
	}
	number := l.received.Add(1)
	if l.server.comms.forOpen(m) {
		l.comms.queued(number)
	}
	select {
	case l.queue <- queued{number, m}:
	case <-ctx.Done():
	}
}

// serve answers requests until ctx ends, or until the lane's subshell is
// deleted and its queue is empty.
func (l *lane) serve(ctx context.Context) {
	for {
		select {
		case <-l.gone:
			if len(l.queue) == 0 {
				return
			}
		default:
		}
		select {
		case <-ctx.Done():
			return
		case <-l.gone:
		case q := <-l.queue:
			if ctx.Err() == nil {
				l.answer(ctx, q)
			}
		}
	}
}

// answer answers one request under a context that an interrupt cancels.
func (l *lane) answer(ctx context.Context, q queued) {
	defer l.pending.Add(-1)
	if isCell(q.message) {
		defer l.cells.Add(-1)
	}
	ctx, cancel := context.WithCancel(ctx)
	l.mu.Lock()
	l.cancel, l.current = cancel, q.message.Header
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
// was one. It spares a request that the same client sent after the interrupt:
// the interrupt was meant for an earlier cell and has come late. A signal has a
// zero header and is never late.
func (l *lane) cancelCurrent(interrupt wire.Header) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.cancel == nil || interrupt.Session == l.current.Session && !interrupt.Date.IsZero() && interrupt.Date.Before(l.current.Date) {
		return false
	}
	l.cancel()
	return true
}

// abortQueued marks the queued execute requests as aborted, and those that come
// before the queue has been quiet for abortPause (at most 10 times that long).
func (l *lane) abortQueued() {
	for range 10 {
		l.aborted = l.received.Load()
		time.Sleep(abortPause)
		if l.received.Load() == l.aborted {
			return
		}
	}
}
