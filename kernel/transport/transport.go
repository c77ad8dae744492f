// Package transport is a kernel's five ZeroMQ sockets, over tcp or ipc.
//
// Start with [Listen]. [Sockets.Receive] hands out messages whose signature
// has been verified, [Sockets.Send] answers, [Sockets.Publish] tells all
// subscribers; the heartbeat is echoed by itself. A message that is malformed,
// unsigned, replayed or too large is dropped with a line in the log and never
// comes out of Receive.
//
// [Dial] is the other side, a client, for tests and tools.
//
// The sockets are zmq4's. What zmq4 does not withstand is kept from it: see
// guard in guard.go and peer in peer.go. Subscribers of iopub are not told when
// their subscription has been heard (protocol 5.5, iopub_welcome); clients find
// out as [Client.Ready] does.
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

	"dace.local/kernel/wire"
)

// Errors of this package; test with errors.Is.
var (
	// ErrClosed is returned after Close.
	ErrClosed = errors.New("transport: closed")
	// ErrNoPeer says that no connected client has the identity that a
	// message is addressed to.
	ErrNoPeer = errors.New("transport: the client is not connected")
)

// Options guard the sockets. A zero field has its default.
type Options struct {
	// Log receives a line for everything that was refused, at most a few a
	// second; nil: nothing is logged.
	Log *slog.Logger
	// Session is the kernel's own session. Messages that claim to be from
	// it are the kernel's own, sent back by somebody, and dropped.
	Session string
	// MaxMessage is the greatest size of a message that is read, in bytes
	// (256 MiB). Until a connection has sent a verified message it is at
	// most 64 MiB.
	MaxMessage int64
	// MaxFrames is the greatest number of a message's frames (1024).
	MaxFrames int
	// MaxConns is the greatest number of connections to each socket (256).
	// One more replaces one that has not proved to know the key: by a
	// verified message, or by the identity of a client that sent one.
	MaxConns int
	// Memory is how many bytes of incoming messages all sockets hold
	// together, and each socket of outgoing ones (1 GiB). Where it is not
	// enough, those go first that have not proved to know the key.
	Memory int64
	// Queue is how many bytes wait for one client before it counts as
	// behind (64 MiB; less where Memory is not enough for all of them).
	Queue int64
	// Patience is how long Publish waits for a subscriber that is behind
	// and does not read at all, before it is disconnected (1 s).
	Patience time.Duration
	// Handshake is the time that a new connection has to introduce itself
	// (5 s).
	Handshake time.Duration
	// Stall is how long a client may pause within a message (30 s).
	Stall time.Duration
	// Linger is how long Close waits for what has been sent to leave (1 s).
	Linger time.Duration
}

// withDefaults fills in the defaults.
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

// def sets *v to d where it is zero.
func def[T comparable](v *T, d T) {
	var zero T
	if *v == zero {
		*v = d
	}
}

// Sockets are the five sockets of a kernel. All methods may be called by
// several goroutines.
type Sockets struct {
	conn   wire.Connection
	opts   Options
	signer *wire.Signer
	in     *budget
	log    *limiter

	guards   map[wire.Channel]*guard
	sockets  map[wire.Channel]zmq4.Socket
	received map[wire.Channel]chan wire.Message

	publishing sync.Mutex
	published  uint64 // messages given to iopub in all

	once   sync.Once
	closed chan struct{}
	pumps  sync.WaitGroup
}

// Listen opens the sockets that conn describes; ports 0 are chosen.
func Listen(conn wire.Connection, opts Options) (*Sockets, error) {
	if err := conn.Validate(); err != nil {
		return nil, fmt.Errorf("connection: %w", err)
	}
	if err := register(); err != nil {
		return nil, err
	}
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

// open opens the socket of a channel.
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
	if err := zmqListen(s.sockets[ch], g); err != nil {
		return err
	}
	if g.tap != nil {
		<-g.tapped
	}
	return nil
}

// freePath returns a port of ipc that no other channel has and where there is
// no file yet, as jupyter_client chooses it.
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

// pump brings the messages of a channel from zmq4 to Receive.
func (s *Sockets) pump(ch wire.Channel) {
	for {
		zm, err := s.sockets[ch].Recv()
		if err != nil {
			return // zmq4's socket is closed
		}
		// The guard has verified the frames after the first, which is zmq4's.
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

// echo answers heartbeats.
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

// Receive returns the next message on shell, control or stdin. Channels are
// independent of each other. It fails with ctx's error, and with ErrClosed
// after Close. It must be called again soon: while nobody receives, clients
// wait.
func (s *Sockets) Receive(ctx context.Context, ch wire.Channel) (wire.Message, error) {
	received, ok := s.received[ch]
	if !ok {
		return wire.Message{}, fmt.Errorf("transport: nothing is received on %s", ch)
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
// m.Identities names: those of the request for a reply, and on stdin those of
// the shell request that asks. It fails with ErrNoPeer where that client is
// not connected. It does not block: a client that does not read is
// disconnected when 2*Queue bytes wait for it. The message must not be changed
// afterwards.
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
	if err := s.sockets[ch].Send(zmq4.NewMsgFrom(frames...)); err != nil && s.isClosed() {
		return ErrClosed
	} // else the client has just gone
	return nil
}

// Publish sends a message to all subscribers of iopub; m.Identities are the
// topic, empty where there are none. While a subscriber is behind by Queue
// bytes and reads on, Publish waits for it; one that reads nothing for as long
// as Patience is disconnected. The message must not be changed afterwards.
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
	// zmq4's own queue is without bound: keep it at one message.
	g.tap.waitPassed(s.published)
	if err := s.sockets[wire.IOPub].Send(zmq4.NewMsgFrom(frames...)); err != nil {
		return ErrClosed
	}
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

// Close sends what is waiting, for at most Linger, and closes the sockets. It
// may be called more than once.
func (s *Sockets) Close() error {
	s.once.Do(func() {
		close(s.closed)
		s.linger()
		s.shut()
		s.pumps.Wait()
	})
	return nil
}

// linger waits until all that was sent has left, for at most Linger.
func (s *Sockets) linger() {
	deadline := time.Now().Add(s.opts.Linger)
	// zmq4 hands messages on in the background: for a moment nothing may be
	// waiting here although something is on its way.
	for still := 0; still < 5 && time.Now().Before(deadline); still++ {
		for _, g := range s.guards {
			if !g.drained() {
				still = 0
			}
		}
		time.Sleep(2 * time.Millisecond)
	}
}

// shut closes what has been opened.
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
