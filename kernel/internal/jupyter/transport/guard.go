package transport

import (
	"bufio"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/go-zeromq/zmq4"
	zmqtransport "github.com/go-zeromq/zmq4/transport"

	"dace.local/kernel/internal/jupyter/transport/prelisten"
	"dace.local/kernel/internal/jupyter/wire"
)

// A guard stands between the network and one zmq4 socket: zmq4 accepts
// connections from it as from a net.Listener. This protects zmq4, which
// performs handshakes in its accept loop without a deadline, allocates as many
// bytes as a frame's header claims, panics on a malformed READY command, and
// stops for all clients when one does not read. The guard accepts connections
// and performs each handshake in its own goroutine. It hands zmq4 only
// connections whose handshake is complete, each as a [peer], which reads only
// whole, checked messages and whose writes never block.
type guard struct {
	shared
	channel wire.Channel
	kind    socketKind
	limits  wire.Limits
	ln      net.Listener
	// tap, on iopub, is a peer without a connection that subscribes to
	// everything and discards it. It counts the messages that have left
	// zmq4's queue. It is not among peers.
	tap    *peer
	tapped chan struct{} // closed when zmq4 has processed the tap's subscription

	accepted chan *peer     // handed to zmq4 by Accept
	closed   chan struct{}  // closed when the guard is closed
	released chan struct{}  // closed when zmq4 has closed the listener
	wg       sync.WaitGroup // counts connections that zmq4 has not closed yet

	count atomic.Int64 // len(peers)

	mu      sync.Mutex       // guards nascent, peers and ids
	nascent []net.Conn       // connections during their handshake, oldest first
	peers   []*peer          // oldest first
	ids     map[string]*peer // on a router: the peers that messages can be sent to, by identity
}

// shared holds the state that the guards of one kernel share.
type shared struct {
	opts    Options
	signer  *wire.Signer
	in      *budget
	log     *limiter
	trusted *identities
	heavy   *sync.Mutex // held while checking a large message of an untrusted client, one at a time
}

// maxNascent is the greatest number of connections during their handshake. A
// further one replaces the oldest.
const maxNascent = 256

// newGuard listens on the network address and returns the guard of its
// connections.
func newGuard(sh shared, ch wire.Channel, network, address string) (*guard, error) {
	g := &guard{
		shared:   sh,
		channel:  ch,
		kind:     router,
		limits:   wire.Limits{Frames: sh.opts.MaxFrames, Size: sh.opts.MaxMessage},
		accepted: make(chan *peer),
		closed:   make(chan struct{}),
		released: make(chan struct{}),
		tapped:   make(chan struct{}),
		ids:      make(map[string]*peer),
	}
	switch ch {
	case wire.IOPub:
		g.kind = publisher
	case wire.HB:
		g.kind = replier
	}
	if g.kind.name != router.name {
		g.limits = wire.Limits{Frames: 8, Size: maxSmall}
	}
	var err error
	if g.ln, err = listen(network, address); err != nil {
		return nil, fmt.Errorf("%s socket: %w", ch, err)
	}
	if ch == wire.IOPub {
		g.tap = newPeer(g, nil, nil, "SUB", "")
		g.wg.Add(1)
		go g.hand(g.tap)
	}
	go g.acceptLoop()
	return g, nil
}

// maxPath is the greatest length of a unix socket's path that all systems
// accept.
const maxPath = 103

// listen opens a listener. On a unix socket it first removes the socket file
// of a kernel that has died.
func listen(network, address string) (net.Listener, error) {
	if ln := prelisten.Listener(network, address); ln != nil {
		return ln, nil
	}
	if network == "unix" && len(address) > maxPath {
		return nil, fmt.Errorf("the path %s is too long for a socket: %d bytes, at most %d", address, len(address), maxPath)
	}
	ln, err := net.Listen(network, address)
	if network == "unix" && errors.Is(err, syscall.EADDRINUSE) && abandoned(address) && os.Remove(address) == nil {
		ln, err = net.Listen(network, address)
	}
	if err == nil && network == "unix" {
		if err := os.Chmod(address, 0o600); err != nil {
			ln.Close()
			return nil, err
		}
	}
	return ln, err
}

// abandoned reports whether path is a unix socket on which no process listens.
func abandoned(path string) bool {
	info, err := os.Lstat(path)
	if err != nil || info.Mode().Type() != os.ModeSocket {
		return false
	}
	c, err := net.DialTimeout("unix", path, time.Second)
	if err == nil {
		c.Close()
	}
	return errors.Is(err, syscall.ECONNREFUSED)
}

// acceptLoop accepts connections until the guard is closed.
func (g *guard) acceptLoop() {
	for {
		raw, err := g.ln.Accept()
		if err != nil {
			if g.isClosed() {
				return
			}
			g.log.warn("cannot accept connections", "socket", g.channel, "reason", err)
			time.Sleep(10 * time.Millisecond) // wait for free file descriptors
			continue
		}
		g.mu.Lock()
		if g.isClosed() {
			g.mu.Unlock()
			raw.Close()
			return
		}
		if len(g.nascent) >= maxNascent {
			g.nascent[0].Close()
			g.nascent = g.nascent[1:]
		}
		g.nascent = append(g.nascent, raw)
		g.mu.Unlock()
		go g.greet(raw)
	}
}

// greet performs the handshake of a connection and hands the connection to
// zmq4.
func (g *guard) greet(raw net.Conn) {
	br := bufio.NewReaderSize(raw, readBuffer)
	socketType, id, err := g.handshake(raw, br)
	g.mu.Lock()
	g.nascent = without(g.nascent, raw)
	g.mu.Unlock()
	if err != nil {
		if !ordinary(err) {
			g.log.warn("connection refused", "socket", g.channel, "client", raw.RemoteAddr(), "reason", err)
		}
		raw.Close()
		return
	}
	named := id != ""
	if !named && g.kind.name == router.name {
		id = "\x00" + rand.Text() // as libzmq does; clients cannot choose it
	}
	p := newPeer(g, raw, br, socketType, id)
	if named && g.trusted.has(id) {
		p.trusted.Store(true)
	}
	if err := g.admit(p); err != nil {
		p.close(err)
		return
	}
	g.hand(p)
}

// hand passes p to zmq4, or closes it if the guard is closed.
func (g *guard) hand(p *peer) {
	select {
	case g.accepted <- p:
	case <-g.closed:
		p.Close()
	}
}

// isClosed reports whether the guard has been shut.
func (g *guard) isClosed() bool {
	select {
	case <-g.closed:
		return true
	default:
		return false
	}
}

// handshake exchanges greetings and READY commands with the client.
func (g *guard) handshake(raw net.Conn, br *bufio.Reader) (socketType, id string, err error) {
	if err := raw.SetDeadline(time.Now().Add(g.opts.Handshake)); err != nil {
		return "", "", err
	}
	if _, err := raw.Write(appendReady(greeting[:], g.kind.name, "")); err != nil {
		return "", "", err
	}
	if err := readGreeting(br); err != nil {
		return "", "", err
	}
	if socketType, id, err = readReady(br); err != nil {
		return "", "", err
	}
	if !g.kind.accepts(socketType) {
		return "", "", fmt.Errorf("a socket of type %q cannot talk to a %s", socketType, g.kind.name)
	}
	if len(id) > 255 || len(id) > 0 && id[0] == 0 {
		return "", "", fmt.Errorf("bad identity %q", id)
	}
	return socketType, id, raw.SetDeadline(time.Time{})
}

// admit adds p to the guard's peers. At the limit of MaxConns it first closes
// an untrusted connection: the oldest that has sent nothing at all, otherwise
// the newest untrusted one. It fails if all connections are trusted.
func (g *guard) admit(p *peer) error {
	g.mu.Lock()
	if g.isClosed() {
		g.mu.Unlock()
		return net.ErrClosed
	}
	var victim *peer
	if len(g.peers) >= g.opts.MaxConns {
		for _, q := range g.peers {
			if g.isTrusted(q) {
				continue
			}
			victim = q
			if !q.active.Load() {
				break
			}
		}
		if victim == nil {
			g.mu.Unlock()
			return fmt.Errorf("%d clients are connected already", g.opts.MaxConns)
		}
	}
	g.peers = append(g.peers, p)
	g.count.Store(int64(len(g.peers)))
	g.wg.Add(1)
	g.mu.Unlock()
	if victim != nil {
		victim.close(errors.New("making room for a new connection"))
	}
	return nil
}

// isTrusted reports whether the client is known to have the key: p, or an
// earlier connection with the same identity, has sent a verified message.
func (g *guard) isTrusted(p *peer) bool {
	if !p.trusted.Load() && p.id != "" && g.trusted.has(p.id) {
		p.trusted.Store(true)
	}
	return p.trusted.Load()
}

// join records that zmq4 can now send to p. If the client has connected again
// under the same identity, p replaces its old connection.
func (g *guard) join(p *peer) {
	if g.kind.name != router.name {
		return
	}
	g.mu.Lock()
	old := g.ids[p.id]
	if !p.closed.Load() {
		g.ids[p.id] = p
	}
	g.mu.Unlock()
	if old != nil {
		old.close(errors.New("its client has connected anew"))
	}
}

// leave removes p from the guard's peers after p has been closed.
func (g *guard) leave(p *peer) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.peers = without(g.peers, p)
	g.count.Store(int64(len(g.peers)))
	if g.ids[p.id] == p {
		delete(g.ids, p.id)
	}
}

// without returns list without x.
func without[T comparable](list []T, x T) []T {
	for i, y := range list {
		if y == x {
			return append(list[:i:i], list[i+1:]...)
		}
	}
	return list
}

// connected reports whether a client with this identity is connected, so that
// messages can be sent to it.
func (g *guard) connected(id string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.ids[id] != nil
}

// queueLimit returns how many bytes may wait to be sent to one client.
func (g *guard) queueLimit() int64 {
	if g.channel == wire.HB {
		return maxSmall
	}
	return max(1<<20, min(g.opts.Queue, g.opts.Memory/max(1, g.count.Load())))
}

// check verifies a message of p; zmq4 sees the message only if the error is
// nil. It releases the message's memory unless the message goes on to Receive.
func (g *guard) check(p *peer, frames [][]byte) error {
	err := g.verify(p, frames)
	if err != nil || g.kind.name != router.name {
		g.in.release(size(frames))
	}
	return err
}

// verify does the checks of check, without releasing memory.
func (g *guard) verify(p *peer, frames [][]byte) error {
	switch g.kind.name {
	case publisher.name:
		f := frames[0]
		if len(frames) != 1 || len(f) == 0 || f[0] > 1 {
			return fmt.Errorf("%w: neither a subscription nor its end", wire.ErrMalformed)
		}
		if p.topics == nil {
			p.topics = make(map[string]struct{})
		}
		if f[0] == 0 {
			delete(p.topics, string(f[1:]))
			return nil
		}
		if len(f) > 256 || len(p.topics) >= maxTopics {
			return fmt.Errorf("%w: more than %d topics, or a long one", wire.ErrTooLarge, maxTopics)
		}
		p.topics[string(f[1:])] = struct{}{}
		p.heard = append(p.heard, string(f[1:]))
		return nil
	case replier.name:
		if len(frames) < 2 || len(frames[0]) != 0 {
			return fmt.Errorf("%w: not a request", wire.ErrMalformed)
		}
		return nil
	}
	if !g.isTrusted(p) && size(frames) > piece {
		g.heavy.Lock()
		defer g.heavy.Unlock()
	}
	if err := g.signer.Verify(frames, g.limits); err != nil {
		return err
	}
	if !p.trusted.Swap(true) && p.id[0] != 0 {
		g.trusted.add(p.id)
	}
	return nil
}

// size returns the total size of the frames in bytes.
func size(frames [][]byte) (n int64) {
	for _, f := range frames {
		n += int64(len(f))
	}
	return n
}

// behind returns the subscribers that have more bytes queued than queueLimit.
func (g *guard) behind() (list []*peer) {
	limit := g.queueLimit()
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, p := range g.peers {
		if p.queued.Load() > limit {
			list = append(list, p)
		}
	}
	return list
}

// drained reports whether all peers have written their queues.
func (g *guard) drained() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, p := range g.peers {
		if p.queued.Load() > 0 {
			return false
		}
	}
	return true
}

// shut closes the listener and all connections, and waits for a limited time
// until zmq4 has closed them too.
func (g *guard) shut() {
	close(g.closed)
	g.ln.Close() // removes a unix socket's file
	g.mu.Lock()
	nascent, peers := g.nascent, g.peers
	g.nascent, g.peers = nil, nil
	g.mu.Unlock()
	for _, c := range nascent {
		c.Close()
	}
	for _, p := range peers {
		p.close(nil)
	}
	if g.tap != nil {
		g.tap.close(nil)
	}
	gone := make(chan struct{})
	go func() {
		g.wg.Wait()
		close(gone)
	}()
	select {
	case <-gone:
	case <-time.After(time.Second):
	}
}

// Accept implements net.Listener for zmq4. After the guard is closed it blocks
// until zmq4 has closed the listener itself, because zmq4 would otherwise call
// Accept in a busy loop.
func (g *guard) Accept() (net.Conn, error) {
	select {
	case p := <-g.accepted:
		return p, nil
	case <-g.released:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener for zmq4.
func (g *guard) Close() error {
	close(g.released)
	return nil
}

// Addr implements net.Listener for zmq4.
func (g *guard) Addr() net.Addr { return g.ln.Addr() }

// identities is a bounded set of the identities of clients that know the key.
type identities struct {
	mu  sync.Mutex // guards ids
	ids map[string]struct{}
}

// maxIdentities bounds the set. A client whose identity is dropped has to send
// a verified message again.
const maxIdentities = 4096

func (s *identities) add(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ids == nil || len(s.ids) >= maxIdentities {
		s.ids = make(map[string]struct{})
	}
	s.ids[id] = struct{}{}
}

func (s *identities) has(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.ids[id]
	return ok
}

// guarded is the name of the zmq4 transport that listens on guards.
const guarded = "guarded"

// doors maps keys to the guards that zmq4 is about to listen on, each for the
// duration of zmqListen. doorsNum numbers the keys.
var (
	doors    sync.Map
	doorsNum atomic.Int64
)

// zmqListen makes a zmq4 socket accept the connections of g.
func zmqListen(s zmq4.Socket, g *guard) {
	key := strconv.FormatInt(doorsNum.Add(1), 10)
	doors.Store(key, g)
	defer doors.Delete(key)
	if err := s.Listen(guarded + "://" + key); err != nil {
		panic("transport: zmq4 does not listen on its guard: " + err.Error())
	}
}

// register registers the transport with zmq4, once per process.
var register = sync.OnceFunc(func() {
	if err := zmq4.RegisterTransport(guarded, doorman{}); err != nil {
		panic("transport: zmq4 has another transport " + guarded)
	}
})

// doorman is the zmq4 transport. Its addresses are, for listening, the keys of
// doors, and for dialing, network:address.
type doorman struct{}

// Listen returns the guard stored in doors under key.
func (doorman) Listen(_ context.Context, key string) (net.Listener, error) {
	g, _ := doors.Load(key)
	return g.(*guard), nil
}

// Dial connects and closes the connection when ctx, which lives as long as the
// socket, ends. Without that zmq4 would wait for a greeting forever.
func (doorman) Dial(ctx context.Context, dialer zmqtransport.Dialer, endpoint string) (net.Conn, error) {
	network, address, _ := strings.Cut(endpoint, ":")
	conn, err := dialer.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	context.AfterFunc(ctx, func() { conn.Close() })
	return &dialed{
		Conn:     conn,
		r:        bufio.NewReaderSize(conn, piece),
		w:        bufio.NewWriterSize(conn, piece),
		greeting: greetingSize,
	}, nil
}

// dialed is a client's connection that buffers, so that one system call reads
// or writes many frames. zmq4 alone makes one or two system calls for each
// frame.
type dialed struct {
	net.Conn
	r        *bufio.Reader
	w        *bufio.Writer
	greeting int // bytes of the greeting still to be written
	frames   framer
}

// Read implements net.Conn.
func (d *dialed) Read(b []byte) (int, error) { return d.r.Read(b) }

// Write implements net.Conn. It buffers b and flushes when a message is
// complete.
func (d *dialed) Write(b []byte) (int, error) {
	total := len(b)
	for len(b) > 0 {
		n, end := min(d.greeting, len(b)), false
		if n > 0 {
			d.greeting -= n
			end = d.greeting == 0
		} else {
			n, _, end = d.frames.next(b)
		}
		if _, err := d.w.Write(b[:n]); err != nil {
			return 0, err
		}
		b = b[n:]
		if end {
			if err := d.w.Flush(); err != nil {
				return 0, err
			}
		}
	}
	return total, nil
}

// Addr returns the endpoint unchanged.
func (doorman) Addr(endpoint string) (string, error) { return endpoint, nil }

// isReleased reports whether zmq4 has closed the listener.
func (g *guard) isReleased() bool {
	select {
	case <-g.released:
		return true
	default:
		return false
	}
}
