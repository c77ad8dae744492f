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

	"dace.local/kernel/internal/jupyter/wire"
)

// A peer is a connection whose handshake is complete, in the form that zmq4
// sees: a net.Conn that returns only whole, checked messages and whose writes
// never block.
//
// Reading: zmq4 calls Read in one goroutine for each connection. Read reads a
// message from the network, checks it, and returns it encoded as ZMTP again.
//
// Writing: Write appends to a queue. The peer's writer goroutine empties the
// queue, many frames with one system call.
type peer struct {
	g    *guard
	raw  net.Conn // nil for guard.tap
	br   *bufio.Reader
	id   string // the client's identity, a generated one if the client has none
	name string // names the client in the log

	trusted  atomic.Bool // a connection with this identity has sent a verified message
	active   atomic.Bool // has sent at least one message
	closed   atomic.Bool
	released sync.Once // runs when zmq4 has closed the connection too

	// The fields up to deadline are used by Read only.
	pending  [][]byte            // bytes that zmq4 has not read yet
	joined   bool                // zmq4 has finished its part of the handshake
	strikes  int                 // messages refused in a row
	topics   map[string]struct{} // subscribed to
	heard    []string            // topics of the subscriptions that zmq4 is about to read
	deadline bool                // a read deadline is set

	queued atomic.Int64 // size of queue in bytes, and of what the writer is writing

	mu       sync.Mutex // guards the fields below
	changed  sync.Cond  // signals a change of the fields below or of queued
	skip     int        // bytes of zmq4's greeting still to be skipped
	skipping bool       // zmq4's READY command is still to be skipped
	frames   framer     // tracks the frame boundaries in what zmq4 writes
	between  bool       // frames is at a boundary between messages
	queue    [][]byte   // chunks to write
	own      bool       // the last chunk is a copy and may be appended to
	flushing bool       // the writer may write: the queue holds the end of a message
	passed   uint64     // total number of messages that zmq4 has written
	dead     bool
}

// Sizes of the peer's buffers, in bytes.
const (
	readBuffer = 16 << 10
	// copied is the size up to which a frame to be written is copied into
	// the queue; the queue refers to larger frames.
	copied = 8 << 10
	// piece is the greatest number of bytes written, or read of a frame,
	// at a time.
	piece = 256 << 10
	// firstMessage is the greatest size of a message of a connection that
	// has not sent a verified message yet.
	firstMessage = 64 << 20
	// maxStrikes is the number of consecutive refused messages after which
	// a connection is closed.
	maxStrikes = 16
	// maxTopics is the greatest number of topics that one connection may
	// subscribe to.
	maxTopics = 16
	// maxSmall is the greatest size of subscriptions, commands and
	// heartbeats.
	maxSmall = 64 << 10
)

// newPeer returns the peer of a connection. Br buffers the connection; the
// handshake has been read from it.
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

// Read implements net.Conn for zmq4. It reports every end of the connection as
// io.EOF, because zmq4 recognizes only that.
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

// next returns the next message that passes the guard's checks.
func (p *peer) next() ([][]byte, error) {
	if p.raw == nil { // the tap sends one subscription to everything, and nothing more
		if p.topics == nil {
			p.topics = map[string]struct{}{"": {}}
			return [][]byte{{1}}, nil
		}
		close(p.g.tapped)
		<-p.g.closed
		return nil, io.EOF
	}
	// zmq4 asks for the next message only after it has processed the last
	// one, so the subscriptions read so far are now in force.
	if heard := p.heard; len(heard) > 0 && p.g.opts.Subscribed != nil {
		go func() {
			for _, topic := range heard {
				p.g.opts.Subscribed(topic)
			}
		}()
	}
	p.heard = nil
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

// read reads one message, and handles the commands that precede it.
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
		// A client may be silent between messages, but not within one.
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

// frameOverhead is the memory that a frame costs in addition to its bytes.
const frameOverhead = 64

// body reads the n bytes of a frame. It allocates in step with the bytes that
// have arrived: a header alone costs nothing.
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
		runtime.Gosched() // let goroutines that read small messages run
	}
}

// patience sets the read deadline to d from now; 0 removes it.
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

// command reads and handles a command of n bytes. It answers PING, and returns
// SUBSCRIBE and CANCEL in the form of the messages that ZMTP used for them
// before version 3.1.
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
		context := data[min(2, len(data)):] // follows the time to live
		pong := append([]byte("\x04PONG"), context[:min(16, len(context))]...)
		p.enqueue(append(appendFrameHeader(nil, flagCommand, len(pong)), pong...))
	case "SUBSCRIBE":
		return append([]byte{1}, data...), nil
	case "CANCEL":
		return append([]byte{0}, data...), nil
	}
	return nil, nil
}

// enqueue queues a command of the guard itself. While zmq4 is in the middle of
// a message it drops the command instead, because such an answer is not worth
// waiting for.
func (p *peer) enqueue(b []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.dead && p.between && p.queued.Load() <= p.g.queueLimit() {
		p.push(b)
		p.flush()
	}
}

// Write implements net.Conn for zmq4. It queues b, but skips zmq4's greeting
// and READY command, since the guard has performed the handshake already. A
// client with too many bytes queued is disconnected.
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

// errBehind is why a connection is closed whose client does not read.
var errBehind = errors.New("it does not read what it is sent")

// write does the work of Write; p.mu must be held.
func (p *peer) write(b []byte) error {
	if p.dead && !p.skipping { // no error during the handshake, which zmq4 may finish
		return net.ErrClosed
	}
	n := min(p.skip, len(b))
	p.skip -= n
	b = b[n:]
	for len(b) > 0 {
		// Publish keeps subscribers that do read below this limit.
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

// push appends b to the queue; p.mu must be held.
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

// flush wakes the writer goroutine; p.mu must be held.
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

// cut splits the first n bytes off chunks, or all if there are fewer.
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

// wait waits until at most limit bytes are queued. It gives up when nothing
// has been written for as long as patience.
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

// waitPassed waits until zmq4 has written n messages in total.
func (p *peer) waitPassed(n uint64) {
	p.mu.Lock()
	for p.passed < n && !p.dead {
		p.changed.Wait()
	}
	p.mu.Unlock()
}

// close ends the connection for the reason err. It logs err unless it is nil
// or the client ended the connection.
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

// ordinary reports whether err is a normal end of a connection.
func ordinary(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, net.ErrClosed) ||
		errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}

// Close implements net.Conn for zmq4, which calls it when it is done with the
// connection.
func (p *peer) Close() error {
	p.close(nil)
	p.released.Do(p.g.wg.Done)
	return nil
}

// The remaining methods of net.Conn, which zmq4 does not use.

func (p *peer) LocalAddr() net.Addr              { return p.g.ln.Addr() }
func (p *peer) RemoteAddr() net.Addr             { return p.g.ln.Addr() }
func (p *peer) SetDeadline(time.Time) error      { return nil }
func (p *peer) SetReadDeadline(time.Time) error  { return nil }
func (p *peer) SetWriteDeadline(time.Time) error { return nil }
