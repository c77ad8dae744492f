package server

import (
	"log/slog"
	"sync"
	"time"
	"unicode/utf8"

	"dace.local/kernel/internal/jupyter/wire"
)

// Stream text is held back so that later text can join its message: shortly at
// first, so that a short cell's output is one message, then longer. Text of
// more than the maximal size is sent at once.
const (
	firstDelay  = 5 * time.Millisecond
	laterDelay  = 50 * time.Millisecond
	pendingSize = 1 << 20
)

// A publisher sends the messages of iopub in the order of the calls, and joins
// pieces of stream text into few messages. Callers block while subscribers
// cannot keep up, which bounds the pending text.
type publisher struct {
	session string
	send    func(wire.Message) error
	log     *slog.Logger

	mu      sync.Mutex // guards the fields below
	pending []piece
	size    int       // bytes of text in pending
	sent    time.Time // when pending was last sent
	timer   *time.Timer
	closed  bool
	// holding says that nobody has subscribed yet: a client's connections come one after
	// the other, and the first cell may have ended before that of iopub is there. Without
	// its status "idle" a client waits for ever.
	holding bool
	held    []heldMessage
	heldLen int // their sizes
}

// A heldMessage waits for the first subscriber.
type heldMessage struct {
	wire.Message
	since time.Time
}

func (h heldMessage) size() int {
	n := len(h.Content)
	for _, b := range h.Buffers {
		n += len(b)
	}
	return n
}

// What waits for the first subscriber: what is older than a client takes to connect, or
// beyond these bytes, is dropped.
const (
	heldFor  = 10 * time.Second
	heldSize = 4 << 20
)

// A piece is text that one cell wrote to one of its streams.
type piece struct {
	cell *outputs
	name string // "stdout" or "stderr"
	text []byte
}

func newPublisher(session string, send func(wire.Message) error, log *slog.Logger) *publisher {
	p := &publisher{session: session, send: send, log: log}
	p.timer = time.AfterFunc(time.Hour, p.flush)
	p.timer.Stop()
	return p
}

// write appends text to a stream. The text must not end inside of a character.
func (p *publisher) write(cell *outputs, name, text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for text != "" && !p.closed {
		n := cut(text, pendingSize-p.size)
		if n > 0 {
			p.appendLocked(cell, name, text[:n])
		}
		if n < len(text) || p.size >= pendingSize {
			p.flushLocked()
		}
		text = text[n:]
	}
}

// cut returns the greatest length <= n at which text can be cut without
// splitting a UTF-8 sequence.
func cut(text string, n int) int {
	if n >= len(text) {
		return len(text)
	}
	for i := n; i > n-utf8.UTFMax && i >= 0; i-- {
		if utf8.RuneStart(text[i]) {
			return i
		}
	}
	return n // text is not UTF-8
}

func (p *publisher) appendLocked(cell *outputs, name, text string) {
	if len(p.pending) == 0 {
		p.timer.Reset(max(firstDelay, laterDelay-time.Since(p.sent)))
	}
	n := len(p.pending)
	if n == 0 || p.pending[n-1].cell != cell || p.pending[n-1].name != name {
		p.pending = append(p.pending, piece{cell: cell, name: name})
		n++
	}
	last := &p.pending[n-1]
	last.text = append(last.text, text...)
	p.size += len(text)
}

// flush sends the pending text.
func (p *publisher) flush() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.flushLocked()
}

func (p *publisher) flushLocked() {
	if len(p.pending) == 0 {
		return
	}
	p.timer.Stop()
	for _, s := range p.pending {
		p.sendLocked(p.message("stream", s.cell.parent, streamContent{Name: s.name, Text: string(s.text)}))
	}
	clear(p.pending)
	p.pending, p.size, p.sent = p.pending[:0], 0, time.Now()
}

// post sends a message, after the pending text.
func (p *publisher) post(kind string, parent wire.Header, content any) {
	p.postMessage(p.message(kind, parent, content))
}

// postMessage sends a message, or logs the error if it could not be made.
func (p *publisher) postMessage(m wire.Message, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return
	}
	p.flushLocked()
	p.sendLocked(m, err)
}

// status publishes the kernel's execution state: "starting", "busy" or "idle".
func (p *publisher) status(parent wire.Header, state string) {
	p.post("status", parent, statusContent{state})
}

// hold keeps messages until somebody has subscribed.
func (p *publisher) hold() { p.holding = true }

// welcome publishes iopub_welcome: a subscription to topic is in force. After the first
// it publishes what was held for it.
func (p *publisher) welcome(topic string) {
	m, err := p.message("iopub_welcome", wire.Header{}, welcomeContent{topic})
	m.Identities = [][]byte{[]byte(topic)} // only subscribers of the topic receive it
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return
	}
	p.flushLocked()
	p.holding = false
	p.sendLocked(m, err)
	for _, h := range p.held {
		if time.Since(h.since) <= heldFor {
			p.sendLocked(h.Message, nil)
		}
	}
	p.held = nil
}

// message makes a message with its topic.
func (p *publisher) message(kind string, parent wire.Header, content any) (wire.Message, error) {
	m, err := wire.New(wire.NewHeader(p.session, user, kind), parent, content)
	m.Identities = [][]byte{[]byte("kernel." + p.session + "." + kind)}
	return m, err
}

func (p *publisher) sendLocked(m wire.Message, err error) {
	switch {
	case err != nil:
	case p.holding:
		p.held = append(p.held, heldMessage{m, time.Now()})
		p.heldLen += p.held[len(p.held)-1].size()
		for len(p.held) > 0 && (p.heldLen > heldSize || time.Since(p.held[0].since) > heldFor) {
			p.heldLen -= p.held[0].size()
			p.held = p.held[1:]
		}
	default:
		err = p.send(m)
	}
	if err != nil {
		p.log.Warn("an output was not published", "error", err)
	}
}

// close sends the pending text; later messages are dropped.
func (p *publisher) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.flushLocked()
	p.timer.Stop()
	p.closed = true
}
