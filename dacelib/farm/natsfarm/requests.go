package natsfarm

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
)

// requests asks the server for work, over one subscription for the life of a worker.
// In each class it asks for as many messages as slots wait. If another class's message
// has taken the last slot, a message that still comes is handed back at once, and the
// server gives it to another worker.
type requests struct {
	classes []string
	back    func(m *nats.Msg) // hands a message back

	mu      sync.Mutex // guards the fields below
	nc      *link
	inbox   string
	asked   map[string][]time.Time // the ends of requests, by class, oldest first
	waiting []chan *nats.Msg       // of slots
	// ending is the number of slots that have sent a result and are about to ask for
	// work. Messages that come before they ask are held for them.
	ending int
	held   []*nats.Msg
}

// pullFor is how long a request for work waits at the server.
const pullFor = 30 * time.Second

// unready is how long a request waits that the server refuses as it is starting
// or ending.
const unready = 100 * time.Millisecond

func newRequests(classes []string, back func(m *nats.Msg)) *requests {
	return &requests{classes: classes, back: back, asked: map[string][]time.Time{}}
}

// open begins to ask over a connection.
func (q *requests) open(nc *link) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.nc, q.inbox = nc, nats.NewInbox()
	_, err := nc.Subscribe(q.inbox+".*", q.answer)
	return err
}

// take waits for a message of any class.
func (q *requests) take(ctx context.Context, drained <-chan struct{}) (*nats.Msg, error) {
	slot := make(chan *nats.Msg, 1)
	q.mu.Lock()
	q.ending = max(0, q.ending-1)
	if len(q.held) > 0 {
		m := q.held[0]
		q.held = q.held[1:]
		q.mu.Unlock()
		return m, nil
	}
	q.waiting = append(q.waiting, slot)
	q.ask()
	q.mu.Unlock()
	select {
	case m := <-slot:
		return m, nil
	case <-ctx.Done():
		return nil, q.leave(slot, ctx.Err())
	case <-drained:
		return nil, q.leave(slot, io.EOF)
	}
}

// leave ends a slot's wait, and hands back what has come for it. It returns err.
func (q *requests) leave(slot chan *nats.Msg, err error) error {
	q.mu.Lock()
	q.waiting = slices.DeleteFunc(q.waiting, func(c chan *nats.Msg) bool { return c == slot })
	q.mu.Unlock()
	select {
	case m := <-slot:
		q.back(m)
	default:
	}
	return err
}

// ask makes the requests that are missing. The caller holds q.mu.
func (q *requests) ask() {
	if q.nc == nil {
		return
	}
	now := time.Now()
	for _, c := range q.classes {
		for len(q.asked[c]) > 0 && q.asked[c][0].Before(now) {
			q.asked[c] = q.asked[c][1:]
		}
		// One request for all slots: ten thousand of their own would cost the server
		// more than the messages.
		if n := len(q.waiting) - len(q.asked[c]); n > 0 {
			request := fmt.Appendf(nil, `{"batch":%d,"expires":%d}`, n, pullFor)
			if q.nc.PublishRequest("$JS.API.CONSUMER.MSG.NEXT.TASKS.w"+c, q.inbox+"."+c, request) != nil {
				return // the connection has ended, or look asks again
			}
			q.asked[c] = append(q.asked[c], slices.Repeat([]time.Time{now.Add(pullFor + time.Second)}, n)...)
		}
	}
}

// answer is called for every answer to a request.
func (q *requests) answer(m *nats.Msg) {
	q.mu.Lock()
	defer q.mu.Unlock()
	status := m.Header.Get("Status")
	class := strings.TrimPrefix(m.Subject, q.inbox+".")
	if status == "" { // a message keeps its subject, t.CLASS.CALLER.N
		class, _, _ = strings.Cut(strings.TrimPrefix(m.Subject, "t."), ".")
	}
	// The answer to a request whose time is over says how many messages it has not
	// given.
	answered := 1
	if n, err := strconv.Atoi(m.Header.Get("Nats-Pending-Messages")); err == nil && status != "" {
		answered = max(1, n)
	}
	q.asked[class] = q.asked[class][min(answered, len(q.asked[class])):]
	switch {
	case status == "408" || status == "404": // its time is over
		q.ask()
	case status != "": // the server is starting or ending
		time.AfterFunc(unready, q.look)
	case len(q.waiting) == 0:
		q.back(m)
	default:
		slot := q.waiting[0]
		q.waiting = q.waiting[1:]
		slot <- m
	}
}

// ends announces that a slot is about to ask for its next message.
func (q *requests) ends() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.ending++
}

// leaveAll hands back what no slot has come for.
func (q *requests) leaveAll() {
	q.mu.Lock()
	held := q.held
	q.held, q.ending = nil, 0
	q.mu.Unlock()
	for _, m := range held {
		q.back(m)
	}
}

// hand gives a message that came past the queue to a slot that waits or soon
// does, and reports whether there is one.
func (q *requests) hand(m *nats.Msg) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting) == 0 && len(q.held) < q.ending {
		q.held = append(q.held, m)
		return true
	}
	if len(q.waiting) == 0 {
		return false
	}
	slot := q.waiting[0]
	q.waiting = q.waiting[1:]
	slot <- m
	return true
}

// look makes requests that were lost or refused.
func (q *requests) look() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.ask()
}

// again makes all requests anew: a server that was started again has forgotten
// them.
func (q *requests) again() {
	q.mu.Lock()
	defer q.mu.Unlock()
	clear(q.asked)
	q.ask()
}
