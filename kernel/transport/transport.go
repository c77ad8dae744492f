// Package transport is a kernel's five ZeroMQ sockets, over tcp or ipc.
//
// Start with [Listen]. [Sockets.Receive] hands out messages whose signature
// has been verified, [Sockets.Send] answers, [Sockets.Publish] tells all
// subscribers; the heartbeat is echoed by itself. A message that is malformed,
// unsigned, replayed or too large is dropped with a line in the log and never
// comes out of Receive.
//
// [Dial] is the other side, a client, for tests and tools.
package transport

import (
	"context"
	"errors"
	"log/slog"
	"time"

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
	// (256 MiB).
	MaxMessage int64
	// MaxFrames is the greatest number of a message's frames (1024).
	MaxFrames int
	// MaxConns is the greatest number of connections to each socket (256).
	// One more replaces one that has not proved to know the key.
	MaxConns int
	// Memory is how many bytes of incoming messages all sockets hold
	// together, and of outgoing ones (1 GiB each way).
	Memory int64
	// Queue is how many bytes wait for one client before it counts as
	// behind (64 MiB).
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

// Sockets are the five sockets of a kernel. All methods may be called by
// several goroutines.
type Sockets struct {
	conn wire.Connection
}

// Listen opens the sockets that conn describes; ports 0 are chosen.
func Listen(conn wire.Connection, opts Options) (*Sockets, error) {
	return nil, errors.New("transport: not there yet")
}

// Connection returns the connection with the ports that were chosen.
func (s *Sockets) Connection() wire.Connection { return s.conn }

// Receive returns the next message on shell, control or stdin. Channels are
// independent of each other. It fails with ctx's error, and with ErrClosed
// after Close. It must be called again soon: while nobody receives, clients
// wait.
func (s *Sockets) Receive(ctx context.Context, ch wire.Channel) (wire.Message, error) {
	return wire.Message{}, ErrClosed
}

// Send sends a message on shell, control or stdin to the client that
// m.Identities names: those of the request for a reply, and on stdin those of
// the shell request that asks. It does not block: a client that does not read
// is disconnected when Queue bytes wait for it. Buffers must not be changed
// afterwards.
func (s *Sockets) Send(ch wire.Channel, m wire.Message) error { return ErrClosed }

// Publish sends a message to all subscribers of iopub; m.Identities are the
// topic, "" where there are none. It blocks only while a subscriber is behind
// by Queue bytes and reads on. Buffers must not be changed afterwards.
func (s *Sockets) Publish(m wire.Message) error { return ErrClosed }

// Close sends what is waiting, for at most Linger, and closes the sockets.
func (s *Sockets) Close() error { return nil }

// A Client is a connection to a kernel, for tests and tools: DEALER sockets to
// shell, control and stdin, a SUB to iopub, a REQ to the heartbeat. All
// methods may be called by several goroutines.
type Client struct {
	// Session is the session of the messages that the client makes.
	Session string
}

// Dial connects to a kernel and waits, until ctx ends, for it to be there.
func Dial(ctx context.Context, conn wire.Connection) (*Client, error) {
	return nil, errors.New("transport: not there yet")
}

// Request makes a message and sends it on shell, control or stdin; it returns
// the header, whose MsgID answers and outputs carry in their parent.
func (c *Client) Request(ch wire.Channel, msgType string, content any) (wire.Header, error) {
	return wire.Header{}, ErrClosed
}

// Send sends a message that the caller made.
func (c *Client) Send(ch wire.Channel, m wire.Message) error { return ErrClosed }

// Receive returns the next message on shell, control, stdin or iopub.
func (c *Client) Receive(ctx context.Context, ch wire.Channel) (wire.Message, error) {
	return wire.Message{}, ErrClosed
}

// Ready asks the kernel for its info until both the reply and something on
// iopub have come: from then on no output is missed. It discards what comes
// meanwhile, and returns the kernel_info_reply.
func (c *Client) Ready(ctx context.Context) (wire.Message, error) {
	return wire.Message{}, ErrClosed
}

// Ping sends a heartbeat and returns how long the echo took.
func (c *Client) Ping(ctx context.Context) (time.Duration, error) { return 0, ErrClosed }

// Close closes the connections.
func (c *Client) Close() error { return nil }
