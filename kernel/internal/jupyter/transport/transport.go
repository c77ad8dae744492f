// Package transport implements a kernel's five ZeroMQ sockets, over tcp or
// ipc.
//
// Start with [Listen]. [Sockets.Receive] returns messages whose signature has
// been verified, [Sockets.Send] sends replies, [Sockets.Publish] sends to all
// subscribers; heartbeats are echoed automatically. Messages that are
// malformed, unsigned, replayed or too large are logged and dropped; Receive
// never returns them.
//
// [Dial] is the client's side, for tests and tools.
//
// The sockets are zmq4's. Input that zmq4 cannot handle safely is kept away
// from it: see guard in guard.go and peer in peer.go.
package transport

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log"
	"log/slog"
	"math"
	"net"
	"os"
	"sync"
	"time"

	"github.com/go-zeromq/zmq4"

	"dace.local/kernel/internal/jupyter/wire"
)

// Errors of this package; test with errors.Is.
var (
	// ErrClosed is returned after Close, and by a Client also when the
	// kernel has gone.
	ErrClosed = errors.New("transport: closed")
	// ErrNoPeer is returned when no connected client has the identity that
	// a message is addressed to.
	ErrNoPeer = errors.New("transport: the client is not connected")
)

// Options sets the limits of the sockets. A zero field means the default given
// in parentheses.
type Options struct {
	// Log receives a line for every refused connection or message, at most
	// a few a second; nil disables logging.
	Log *slog.Logger
	// Session is the session id of the kernel. A received message with
	// this session was made by the kernel itself and replayed; it is
	// dropped.
	Session string
	// MaxMessage is the greatest size in bytes of an incoming message (256
	// MiB). For a connection that has not sent a verified message yet the
	// limit is at most 64 MiB.
	MaxMessage int64
	// MaxFrames is the greatest number of frames in a message (1024).
	MaxFrames int
	// MaxConns is the greatest number of connections to each socket (256).
	// A further connection replaces an untrusted one: one that neither has
	// sent a verified message nor has the identity of a client that did.
	MaxConns int
	// Memory bounds, in bytes, the incoming messages of all sockets
	// together, and the outgoing messages of each socket (1 GiB). When it
	// is used up, untrusted connections are closed first.
	Memory int64
	// Queue is the number of bytes that may wait to be sent to one client
	// before the client counts as behind (64 MiB; less if Memory does not
	// suffice for all clients).
	Queue int64
	// Patience is how long Publish waits for a subscriber that is behind
	// and reads nothing; then the subscriber is disconnected (1 s).
	Patience time.Duration
	// Handshake is the time limit for the handshake of a new connection (5
	// s).
	Handshake time.Duration
	// Stall is how long a client may pause within a message (30 s).
	Stall time.Duration
	// Subscribed, if not nil, is called with the topic when a subscription
	// to iopub takes effect: messages published from then on reach the
	// subscriber. Each call runs in its own goroutine.
	Subscribed func(topic string)
	// Linger is how long Close waits for messages to be sent (1 s).
	Linger time.Duration
}

// withDefaults replaces zero fields by their defaults.
func (o Options) withDefaults() Options {
	def(&o.MaxMessage, 256<<20)
	def(&o.MaxFrames, 1024)
	def(&o.MaxConns, 256)
	def(&o.Memory, 1<<30)
	def(&o.Queue, 64<<20)
	def(&o.Patience, time.Second)
	def(&o.Handshake, 5*time.Second)
	def(&o.Stall, 30*time.Second)
	def(&o.Linger, time.Second)
	return o
}

// def sets *v to d if *v is zero.
func def[T comparable](v *T, d T) {
	var zero T
	if *v == zero {
		*v = d
	}
}

// Sockets holds the five sockets of a kernel. All methods may be called
// concurrently.
type Sockets struct {
	conn   wire.Connection
	opts   Options
	signer *wire.Signer
	in     *budget
	log    *limiter

	guards   map[wire.Channel]*guard
	sockets  map[wire.Channel]zmq4.Socket
	received map[wire.Channel]chan wire.Message

	publishing sync.Mutex // guards published; held while publishing
	published  uint64     // total number of messages given to iopub

	once   sync.Once
	closed chan struct{}
	pumps  sync.WaitGroup
}

// Listen opens the sockets that conn describes. It chooses a free port for
// each port 0.
func Listen(conn wire.Connection, opts Options) (*Sockets, error) {
	if err := conn.Validate(); err != nil {
		return nil, fmt.Errorf("connection: %w", err)
	}
	register()
	opts = opts.withDefaults()
	s := &Sockets{
		conn:     conn,
		opts:     opts,
		signer:   wire.NewSigner(conn.Key),
		in:       newBudget(opts.Memory),
		log:      newLimiter(opts.Log),
		guards:   make(map[wire.Channel]*guard),
		sockets:  make(map[wire.Channel]zmq4.Socket),
		received: make(map[wire.Channel]chan wire.Message),
		closed:   make(chan struct{}),
	}
	sh := shared{
		opts:    opts,
		signer:  s.signer,
		in:      s.in,
		log:     s.log,
		trusted: new(identities),
		heavy:   new(sync.Mutex),
	}
	for _, ch := range wire.Channels {
		if err := s.open(ch, sh); err != nil {
			s.shut()
			return nil, err
		}
	}
	routers := []wire.Channel{wire.Shell, wire.Control, wire.Stdin}
	for _, ch := range routers {
		s.received[ch] = make(chan wire.Message)
	}
	for _, ch := range routers {
		s.pumps.Go(func() { s.pump(ch) })
	}
	s.pumps.Go(s.echo)
	return s, nil
}

// open opens the socket of a channel with its guard.
func (s *Sockets) open(ch wire.Channel, sh shared) error {
	if s.conn.Transport == "ipc" && s.conn.Port(ch) == 0 {
		s.conn.SetPort(ch, s.freePath(ch))
	}
	network, address := s.conn.Address(ch)
	g, err := newGuard(sh, ch, network, address)
	if err != nil {
		return fmt.Errorf("transport: %w", err)
	}
	s.guards[ch] = g
	if tcp, ok := g.ln.Addr().(*net.TCPAddr); ok {
		s.conn.SetPort(ch, tcp.Port)
	}
	quiet := zmq4.WithLogger(log.New(io.Discard, "", 0))
	switch g.kind.name {
	case publisher.name:
		s.sockets[ch] = zmq4.NewPub(context.Background(), quiet)
	case replier.name:
		s.sockets[ch] = zmq4.NewRep(context.Background(), quiet)
	default:
		s.sockets[ch] = zmq4.NewRouter(context.Background(), quiet)
	}
	zmqListen(s.sockets[ch], g)
	if g.tap != nil {
		<-g.tapped
	}
	return nil
}

// freePath returns a port of ipc that no other channel has and for which no
// file exists yet, chosen as jupyter_client does.
func (s *Sockets) freePath(ch wire.Channel) int {
	c := s.conn
next:
	for port := 1; ; port++ {
		for _, other := range wire.Channels {
			if c.Port(other) == port && other != ch {
				continue next
			}
		}
		c.SetPort(ch, port)
		_, path := c.Address(ch)
		if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
			return port
		}
	}
}

// pump passes the messages of a channel from zmq4 to Receive.
func (s *Sockets) pump(ch wire.Channel) {
	for {
		zm, err := s.sockets[ch].Recv()
		if err != nil {
			return // zmq4's socket is closed
		}
		// The guard has verified all frames but the first, which zmq4
		// has added.
		frames := zm.Frames
		n := size(frames[1:])
		m, err := wire.Parse(frames, wire.Limits{Frames: len(frames), Size: math.MaxInt64})
		switch {
		case err != nil:
			s.log.warn("message dropped", "socket", ch, "reason", err)
		case s.opts.Session != "" && m.Header.Session == s.opts.Session:
			s.log.warn("message dropped", "socket", ch, "reason", "it is the kernel's own")
		default:
			select {
			case s.received[ch] <- m:
			case <-s.closed:
			}
		}
		s.in.release(n)
	}
}

// echo sends heartbeats back.
func (s *Sockets) echo() {
	hb := s.sockets[wire.HB]
	for {
		m, err := hb.Recv()
		if err == nil {
			err = hb.Send(m)
		}
		if err != nil && s.guards[wire.HB].isReleased() {
			return
		}
	}
}

// Connection returns the connection with the ports that were chosen.
func (s *Sockets) Connection() wire.Connection { return s.conn }

// Receive returns the next message on shell, control or stdin. The channels
// are independent of each other. It returns ctx's error if ctx ends, and
// ErrClosed after Close. Callers should call it again soon, because clients
// wait while no goroutine receives.
func (s *Sockets) Receive(ctx context.Context, ch wire.Channel) (wire.Message, error) {
	received, ok := s.received[ch]
	if !ok {
		return wire.Message{}, fmt.Errorf("transport: nothing is received on %s", ch)
	}
	if ctx.Err() != nil { // also if a message is there: select would take either
		return wire.Message{}, ctx.Err()
	}
	select {
	case m := <-received:
		return m, nil
	case <-ctx.Done():
		return wire.Message{}, ctx.Err()
	case <-s.closed:
		return wire.Message{}, ErrClosed
	}
}

// Send sends a message on shell, control or stdin to the client that
// m.Identities names. For a reply these are the identities of the request, and
// on stdin those of the shell request that asks for input. Send returns
// ErrNoPeer if that client is not connected. It does not block: a client that
// does not read is disconnected when 2*Queue bytes wait for it. The message
// must not be changed afterwards.
func (s *Sockets) Send(ch wire.Channel, m wire.Message) error {
	if _, ok := s.received[ch]; !ok {
		return fmt.Errorf("transport: nothing is sent on %s", ch)
	}
	if s.isClosed() {
		return ErrClosed
	}
	if len(m.Identities) == 0 || !s.guards[ch].connected(string(m.Identities[0])) {
		return fmt.Errorf("%s on %s: %w", m.Header.MsgType, ch, ErrNoPeer)
	}
	frames, err := s.signer.Encode(m)
	if err != nil {
		return fmt.Errorf("transport: %w", err)
	}
	_ = s.sockets[ch].Send(zmq4.NewMsgFrom(frames...)) // it fails if the client has just disconnected
	return nil
}

// Publish sends a message to all subscribers of iopub. m.Identities is the
// topic; without identities the topic is empty. If a subscriber is behind by
// Queue bytes but still reads, Publish waits for it; a subscriber that reads
// nothing for as long as Patience is disconnected. The message must not be
// changed afterwards.
func (s *Sockets) Publish(m wire.Message) error {
	if len(m.Identities) == 0 {
		m.Identities = [][]byte{{}}
	}
	frames, err := s.signer.Encode(m)
	if err != nil {
		return fmt.Errorf("transport: %w", err)
	}
	s.publishing.Lock()
	defer s.publishing.Unlock()
	if s.isClosed() {
		return ErrClosed
	}
	g := s.guards[wire.IOPub]
	for _, p := range g.behind() {
		if !p.wait(g.queueLimit(), s.opts.Patience) {
			p.close(errBehind)
		}
	}
	// zmq4's own queue is unbounded, so keep at most one message in it.
	g.tap.waitPassed(s.published)
	_ = s.sockets[wire.IOPub].Send(zmq4.NewMsgFrom(frames...)) // it only queues
	s.published++
	return nil
}

// isClosed reports whether Close has been called.
func (s *Sockets) isClosed() bool {
	select {
	case <-s.closed:
		return true
	default:
		return false
	}
}

// Close sends the queued messages, for at most Linger, and closes the sockets.
// It may be called more than once.
func (s *Sockets) Close() error {
	s.once.Do(func() {
		close(s.closed)
		s.linger()
		s.shut()
		s.pumps.Wait()
	})
	return nil
}

// linger waits until all messages have been sent, for at most Linger.
func (s *Sockets) linger() {
	deadline := time.Now().Add(s.opts.Linger)
	// zmq4 passes messages on in the background: all queues may be empty
	// for a moment although a message is on its way.
	for still := 0; still < 5 && time.Now().Before(deadline); still++ {
		for _, g := range s.guards {
			if !g.drained() {
				still = 0
			}
		}
		time.Sleep(2 * time.Millisecond)
	}
}

// shut closes all sockets and guards that have been opened.
func (s *Sockets) shut() {
	var guards sync.WaitGroup
	for _, g := range s.guards {
		guards.Go(g.shut)
	}
	guards.Wait()
	for _, socket := range s.sockets {
		socket.Close()
	}
}
