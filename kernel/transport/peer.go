package transport

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"dace.local/kernel/wire"
)

// A peer is a connection that has introduced itself, as zmq4 sees it: a
// net.Conn that reads nothing but whole, checked messages, and whose writes
// never block.
//
// Reading: zmq4 calls Read from a goroutine of its own for each connection.
// Read fetches a message, checks it, and hands it out as ZMTP again.
//
// Writing: Write appends to a queue that the peer's writer goroutine empties,
// many frames with one system call.
type peer struct {
	g    *guard
	raw  net.Conn // nil: the tap, see guard.tap
	br   *bufio.Reader
	id   string // identity, made up where the client has none
	name string // whatever names the client in the log

	trusted  atomic.Bool // has sent a verified message, or somebody with its identity has
	active   atomic.Bool // has sent anything at all
	closed   atomic.Bool
	released sync.Once // zmq4 has closed the connection too

	// Of Read alone.
	pending  [][]byte // what zmq4 has not read yet
	joined   bool     // zmq4 has finished its part of the handshake
	strikes  int      // messages refused in a row
	topics   map[string]struct{}
	deadline bool // a read deadline is set

	queued atomic.Int64 // bytes that wait to be written

	mu       sync.Mutex
	changed  sync.Cond // signals any change of what follows, and of queued
	skip     int       // bytes of zmq4's greeting that are still to come
	skipping bool      // zmq4's READY is still to come
	frames   framer    // where zmq4's stream stands
	between  bool      // it stands between two messages
	queue    [][]byte  // chunks to write
	own      bool      // the last chunk is the peer's own and can grow
	flushing bool      // the queue holds the end of a message
	passed   uint64    // messages that zmq4 has written in all
	dead     bool
}

// Sizes of the peer's buffers, in bytes.
const (
	readBuffer = 16 << 10
	// copied is the size up to which a frame to write is copied; a greater
	// one is referred to.
	copied = 8 << 10
	// piece is how much is written, or read of a frame, at once.
	piece = 256 << 10
	// firstMessage is the greatest message of a connection that has not
	// sent a verified one yet.
	firstMessage = 64 << 20
	// maxStrikes is how many refused messages in a row end a connection.
	maxStrikes = 16
	// maxTopics is how many topics one connection may subscribe to.
	maxTopics = 16
	// maxSmall bounds subscriptions, commands and heartbeats.
	maxSmall = 64 << 10
)

// newPeer returns the peer of a connection whose handshake has been read
// from br.
func newPeer(g *guard, raw net.Conn, br *bufio.Reader, socketType, id string) *peer {
	p := &peer{g: g, raw: raw, br: br, id: id, skip: greetingSize, skipping: true}
	p.changed.L = &p.mu
	p.pending = [][]byte{greeting[:], appendReady(nil, socketType, id)}
	if raw != nil {
		p.name = raw.RemoteAddr().String()
		go p.writeLoop()
	}
	return p
}

// Read implements net.Conn for zmq4. It reports every end of the connection
// as io.EOF, which zmq4 understands.
func (p *peer) Read(b []byte) (int, error) {
	for len(p.pending) == 0 {
		if !p.joined {
			p.joined = true
			p.g.join(p)
		}
		frames, err := p.next()
		if err != nil {
			p.close(err)
			return 0, io.EOF
		}
		for i, f := range frames {
			var flags byte
			if i < len(frames)-1 {
				flags = flagMore
			}
			p.pending = append(p.pending, appendFrameHeader(nil, flags, len(f)))
			if len(f) > 0 {
				p.pending = append(p.pending, f)
			}
		}
	}
	n := copy(b, p.pending[0])
	if n == len(p.pending[0]) {
		p.pending[0] = nil
		p.pending = p.pending[1:]
	} else {
		p.pending[0] = p.pending[0][n:]
	}
	return n, nil
}

// next returns the next message that zmq4 may see.
func (p *peer) next() ([][]byte, error) {
	if p.raw == nil { // the tap subscribes to everything and is silent
		if p.topics == nil {
			p.topics = map[string]struct{}{"": {}}
			return [][]byte{{1}}, nil
		}
		close(p.g.tapped)
		<-p.g.closed
		return nil, io.EOF
	}
	for {
		frames, err := p.read()
		if err != nil {
			return nil, err
		}
		p.active.Store(true)
		if err = p.g.check(p, frames); err == nil {
			p.strikes = 0
			return frames, nil
		}
		p.g.log.warn("message dropped", "socket", p.g.channel, "client", p.name, "reason", err)
		if p.strikes++; p.strikes >= maxStrikes {
			return nil, fmt.Errorf("%d refused messages in a row", p.strikes)
		}
	}
}

// read reads one message, and answers commands that come before it.
func (p *peer) read() (frames [][]byte, err error) {
	defer func() {
		if err != nil {
			p.g.in.drop(p)
		}
	}()
	limit, most := p.g.limits.Size, p.g.limits.Frames
	if !p.trusted.Load() {
		limit = min(limit, firstMessage)
	}
	var size int64
	for {
		// Silence between messages is fine, within a message it is not.
		if len(frames) == 0 {
			p.patience(0)
			if _, err := p.br.Peek(1); err != nil {
				return nil, err
			}
		}
		p.patience(p.g.opts.Stall)
		flags, n, err := readFrameHeader(p.br)
		if err != nil {
			return nil, err
		}
		if flags&flagCommand != 0 {
			if len(frames) > 0 || flags&flagMore != 0 || n > maxSmall {
				return nil, errors.New("misplaced command")
			}
			subscription, err := p.command(int(n))
			if err != nil {
				return nil, err
			}
			if subscription != nil {
				p.g.in.finish(p, int64(len(subscription)))
				return [][]byte{subscription}, nil
			}
			continue
		}
		if n > uint64(limit-size) {
			return nil, fmt.Errorf("%w: frame of %d bytes, at most %d are read", wire.ErrTooLarge, n, limit)
		}
		if len(frames) == most {
			return nil, fmt.Errorf("%w: more than %d frames", wire.ErrTooLarge, most)
		}
		body, err := p.body(int(n))
		if err != nil {
			return nil, err
		}
		size += int64(n)
		frames = append(frames, body)
		if flags&flagMore == 0 {
			p.g.in.finish(p, size)
			return frames, nil
		}
	}
}

// frameOverhead is what a frame costs beside its bytes.
const frameOverhead = 64

// body reads the n bytes of a frame. What is allocated follows what has come:
// a header alone costs nothing.
func (p *peer) body(n int) ([]byte, error) {
	if err := p.g.in.acquire(p, int64(min(n, piece))+frameOverhead, p.g.opts.Stall); err != nil {
		return nil, err
	}
	buf := make([]byte, min(n, piece))
	have := 0
	for {
		if have > 0 {
			p.patience(p.g.opts.Stall)
		}
		m, err := io.ReadFull(p.br, buf[have:min(len(buf), have+piece)])
		if err != nil {
			return nil, err
		}
		if have += m; have == n {
			return buf, nil
		}
		if have == len(buf) {
			grown := min(n, 4*have)
			if p.trusted.Load() {
				grown = n
			}
			if err := p.g.in.acquire(p, int64(grown-have), p.g.opts.Stall); err != nil {
				return nil, err
			}
			buf = append(make([]byte, 0, grown), buf...)[:grown]
		}
		runtime.Gosched() // large messages make way for small ones
	}
}

// patience allows d for what is read next, 0: any time.
func (p *peer) patience(d time.Duration) {
	switch {
	case d > 0:
		p.raw.SetReadDeadline(time.Now().Add(d))
		p.deadline = true
	case p.deadline:
		p.raw.SetReadDeadline(time.Time{})
		p.deadline = false
	}
}

// command reads a command of n bytes. It answers PING, and returns SUBSCRIBE
// and CANCEL as the messages that they were before ZMTP 3.1.
func (p *peer) command(n int) (subscription []byte, err error) {
	body := make([]byte, n)
	if _, err := io.ReadFull(p.br, body); err != nil {
		return nil, err
	}
	name, data, ok := command(body)
	if !ok {
		return nil, errors.New("malformed command")
	}
	switch name {
	case "PING":
		context := data[min(2, len(data)):] // after the time to live
		pong := append([]byte("\x04PONG"), context[:min(16, len(context))]...)
		p.enqueue(append(appendFrameHeader(nil, flagCommand, len(pong)), pong...))
	case "SUBSCRIBE":
		return append([]byte{1}, data...), nil
	case "CANCEL":
		return append([]byte{0}, data...), nil
	}
	return nil, nil
}

// enqueue adds a command of the guard's own, unless a message is on its way:
// then the answer is not worth waiting for.
func (p *peer) enqueue(b []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.dead && p.between && p.queued.Load() <= p.g.queueLimit() {
		p.push(b)
		p.flush()
	}
}

// Write implements net.Conn for zmq4: it queues b, without zmq4's part of the
// handshake, which the guard has done. A client for which too much waits is
// disconnected.
func (p *peer) Write(b []byte) (int, error) {
	p.mu.Lock()
	err := p.write(b)
	p.mu.Unlock()
	if err != nil {
		p.close(err)
		return 0, net.ErrClosed
	}
	return len(b), nil
}

// errBehind ends a connection whose client does not read.
var errBehind = errors.New("it does not read what it is sent")

// write is Write, with p.mu held.
func (p *peer) write(b []byte) error {
	if p.dead && !p.skipping { // zmq4 may finish its handshake in peace
		return net.ErrClosed
	}
	n := min(p.skip, len(b))
	p.skip -= n
	b = b[n:]
	for len(b) > 0 {
		// Publish keeps subscribers below the limit while they read.
		if p.between && p.queued.Load() > 2*p.g.queueLimit() {
			return errBehind
		}
		n, frameEnd, messageEnd := p.frames.next(b)
		if !p.skipping && p.raw != nil {
			p.push(b[:n])
		}
		b = b[n:]
		switch {
		case frameEnd && p.skipping:
			p.skipping = false
		case messageEnd:
			p.passed++
			p.between = true
			p.flush()
		default:
			p.between = p.skipping
		}
	}
	return nil
}

// push appends b to the queue; p.mu is held.
func (p *peer) push(b []byte) {
	if len(b) == 0 {
		return
	}
	p.queued.Add(int64(len(b)))
	last := len(p.queue) - 1
	switch {
	case len(b) > copied:
		p.queue, p.own = append(p.queue, b), false
	case p.own && len(p.queue[last]) < piece:
		p.queue[last] = append(p.queue[last], b...)
	default:
		p.queue, p.own = append(p.queue, append(make([]byte, 0, 1024), b...)), true
	}
}

// flush lets the writer write; p.mu is held.
func (p *peer) flush() {
	p.flushing = true
	p.changed.Broadcast()
}

// writeLoop writes the queue to the connection until it is closed.
func (p *peer) writeLoop() {
	for {
		p.mu.Lock()
		for !p.flushing && !p.dead {
			p.changed.Wait()
		}
		queue := p.queue
		p.queue, p.own, p.flushing = nil, false, false
		dead := p.dead
		p.mu.Unlock()
		if dead {
			return
		}
		for len(queue) > 0 {
			var some net.Buffers
			some, queue = cut(queue, piece)
			n, err := some.WriteTo(p.raw)
			p.queued.Add(-n)
			if err != nil {
				p.close(err)
				return
			}
			p.mu.Lock()
			p.changed.Broadcast()
			p.mu.Unlock()
		}
	}
}

// cut splits the first n bytes, or what there is, off chunks.
func cut(chunks [][]byte, n int) (head net.Buffers, rest [][]byte) {
	for i, c := range chunks {
		if len(c) > n {
			head = append(chunks[:i:i], c[:n])
			chunks[i] = c[n:]
			return head, chunks[i:]
		}
		n -= len(c)
	}
	return chunks, nil
}

// wait waits until at most limit bytes wait to be written. It gives up when
// nothing at all leaves for as long as patience.
func (p *peer) wait(limit int64, patience time.Duration) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	before := p.queued.Load()
	deadline := time.Now().Add(patience)
	for p.queued.Load() > limit && !p.dead {
		if now := p.queued.Load(); now < before {
			before, deadline = now, time.Now().Add(patience)
		}
		left := time.Until(deadline)
		if left <= 0 {
			return false
		}
		timer := time.AfterFunc(left, func() {
			p.mu.Lock()
			p.changed.Broadcast()
			p.mu.Unlock()
		})
		p.changed.Wait()
		timer.Stop()
	}
	return !p.dead
}

// waitPassed waits until zmq4 has written n messages in all.
func (p *peer) waitPassed(n uint64) {
	p.mu.Lock()
	for p.passed < n && !p.dead {
		p.changed.Wait()
	}
	p.mu.Unlock()
}

// close ends the connection; err says why, nil or an end on the client's side
// are not worth a line in the log.
func (p *peer) close(err error) {
	if !p.closed.CompareAndSwap(false, true) {
		return
	}
	if p.raw != nil {
		p.raw.Close()
	}
	p.mu.Lock()
	p.dead = true
	p.queue = nil
	p.queued.Store(0)
	p.changed.Broadcast()
	p.mu.Unlock()
	p.g.leave(p)
	if err != nil && !ordinary(err) {
		p.g.log.warn("connection closed", "socket", p.g.channel, "client", p.name, "reason", err)
	}
}

// ordinary reports whether err is just how connections end.
func ordinary(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, net.ErrClosed) ||
		errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}

// Close implements net.Conn for zmq4, which calls it when it has done with the
// connection.
func (p *peer) Close() error {
	p.close(nil)
	p.released.Do(p.g.wg.Done)
	return nil
}

// The rest of net.Conn, of which zmq4 uses nothing.

func (p *peer) LocalAddr() net.Addr              { return p.g.ln.Addr() }
func (p *peer) RemoteAddr() net.Addr             { return p.g.ln.Addr() }
func (p *peer) SetDeadline(time.Time) error      { return nil }
func (p *peer) SetReadDeadline(time.Time) error  { return nil }
func (p *peer) SetWriteDeadline(time.Time) error { return nil }
