package transport

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log"
	"math"
	"sync"
	"time"

	"github.com/go-zeromq/zmq4"

	"dace.local/kernel/internal/jupyter/wire"
)

// A Client is a connection to a kernel, for tests and tools: DEALER sockets
// for shell, control, stdin and the heartbeat, and a SUB socket for iopub. All
// methods may be called concurrently, but a goroutine that waits for an answer
// should be the only one receiving on that channel.
type Client struct {
	// Session is the session id of the messages that the client makes. It
	// is also the client's identity on all sockets.
	Session string

	signer   *wire.Signer
	cancel   context.CancelFunc
	sockets  map[wire.Channel]zmq4.Socket
	received map[wire.Channel]chan wire.Message
	echoes   chan string

	once   sync.Once
	closed chan struct{}
	pumps  sync.WaitGroup
}

// errGone is returned when a connection ended without a call of Close.
var errGone = fmt.Errorf("%w by the kernel", ErrClosed)

// Dial connects to a kernel. It waits until the kernel is there or ctx ends.
func Dial(ctx context.Context, conn wire.Connection) (*Client, error) {
	if err := conn.Validate(); err != nil {
		return nil, fmt.Errorf("connection: %w", err)
	}
	register()
	life, cancel := context.WithCancel(context.Background())
	stop := context.AfterFunc(ctx, cancel)
	c := &Client{
		Session:  wire.NewSession(),
		signer:   wire.NewSigner(conn.Key),
		cancel:   cancel,
		sockets:  make(map[wire.Channel]zmq4.Socket),
		received: make(map[wire.Channel]chan wire.Message),
		echoes:   make(chan string, 1),
		closed:   make(chan struct{}),
	}
	opts := []zmq4.Option{
		zmq4.WithID(zmq4.SocketIdentity(c.Session)),
		zmq4.WithLogger(log.New(io.Discard, "", 0)),
		zmq4.WithDialerRetry(10 * time.Millisecond),
		zmq4.WithDialerMaxRetries(-1),
	}
	for _, ch := range wire.Channels {
		var s zmq4.Socket
		if ch == wire.IOPub {
			s = zmq4.NewSub(life, opts...)
			_ = s.SetOption(zmq4.OptionSubscribe, "") // without a connection it only notes the topic
		} else {
			s = zmq4.NewDealer(life, opts...)
		}
		c.sockets[ch] = s
		network, address := conn.Address(ch)
		if err := s.Dial(guarded + "://" + network + ":" + address); err != nil {
			c.shut()
			if ctx.Err() != nil {
				return nil, fmt.Errorf("transport: no kernel at %s: %w", address, ctx.Err())
			}
			return nil, fmt.Errorf("transport: %w", err)
		}
	}
	if !stop() { // ctx has ended, which closes the sockets
		c.shut()
		return nil, ctx.Err()
	}
	for ch := range c.sockets {
		c.received[ch] = make(chan wire.Message, 64)
	}
	for ch, s := range c.sockets {
		c.pumps.Go(func() { c.pump(ch, s) })
	}
	return c, nil
}

// pump passes a channel's messages from zmq4 to Receive.
func (c *Client) pump(ch wire.Channel, s zmq4.Socket) {
	defer close(c.received[ch])
	for {
		zm, err := s.Recv()
		if err != nil {
			return // the connection has ended
		}
		if ch == wire.HB {
			select {
			case c.echoes <- string(zm.Bytes()):
			default: // no Ping waits for this echo any more
			}
			continue
		}
		limits := wire.Limits{Frames: math.MaxInt, Size: math.MaxInt64}
		m, err := c.signer.Decode(zm.Frames, limits)
		if err != nil {
			continue // not a valid message of this kernel
		}
		select {
		case c.received[ch] <- m:
		case <-c.closed: // discard: zmq4 blocks while its queue is full
		}
	}
}

// Request makes a message and sends it on shell, control or stdin. It returns
// the header of the message; replies and outputs carry its MsgID in their
// parent header.
func (c *Client) Request(ch wire.Channel, msgType string, content any) (wire.Header, error) {
	h := wire.NewHeader(c.Session, "dace", msgType)
	m, err := wire.New(h, wire.Header{}, content)
	if err != nil {
		return h, err
	}
	return h, c.Send(ch, m)
}

// Send sends m on the channel as it is.
func (c *Client) Send(ch wire.Channel, m wire.Message) error {
	if ch == wire.IOPub || ch == wire.HB {
		return fmt.Errorf("transport: a client sends no messages on %s", ch)
	}
	if c.isClosed() {
		return ErrClosed
	}
	frames, err := c.signer.Encode(m)
	if err != nil {
		return fmt.Errorf("transport: %w", err)
	}
	if err := c.sockets[ch].Send(zmq4.NewMsgFrom(frames...)); err != nil {
		return fmt.Errorf("%w (%w)", c.gone(), err)
	}
	return nil
}

// Receive returns the next message on shell, control, stdin or iopub. It
// returns ctx's error if ctx ends, and ErrClosed after Close or when the
// kernel has gone.
func (c *Client) Receive(ctx context.Context, ch wire.Channel) (wire.Message, error) {
	if ch == wire.HB {
		return wire.Message{}, errors.New("transport: nothing is received on hb, use Ping")
	}
	if ctx.Err() != nil { // also if a message is there: select would take either
		return wire.Message{}, ctx.Err()
	}
	select {
	case m, ok := <-c.received[ch]:
		if !ok {
			return wire.Message{}, c.gone()
		}
		return m, nil
	case <-ctx.Done():
		return wire.Message{}, ctx.Err()
	}
}

// isClosed reports whether Close has been called.
func (c *Client) isClosed() bool {
	select {
	case <-c.closed:
		return true
	default:
		return false
	}
}

// gone returns the reason why a connection has ended.
func (c *Client) gone() error {
	if c.isClosed() {
		return ErrClosed
	}
	return errGone
}

// Call sends a request on shell or control. It returns the reply and the
// messages that the kernel published for the request on iopub, from busy to
// idle. It discards everything else that arrives meanwhile on these two
// channels.
func (c *Client) Call(ctx context.Context, ch wire.Channel, msgType string, content any) (reply wire.Message, outputs []wire.Message, err error) {
	h, err := c.Request(ch, msgType, content)
	if err != nil {
		return wire.Message{}, nil, err
	}
	// Receive from both channels at once: a kernel waits for clients that
	// do not read.
	for idle := false; !idle || reply.Header.MsgID == ""; {
		if ctx.Err() != nil {
			return reply, outputs, fmt.Errorf("waiting for the answer to %s: %w", msgType, ctx.Err())
		}
		var m wire.Message
		ok, output := true, false
		select {
		case m, ok = <-c.received[ch]:
		case m, ok = <-c.received[wire.IOPub]:
			output = true
		case <-ctx.Done():
			continue
		}
		switch {
		case !ok:
			return reply, outputs, fmt.Errorf("waiting for the answer to %s: %w", msgType, c.gone())
		case m.Parent.MsgID != h.MsgID:
		case output:
			outputs = append(outputs, m)
			idle = idle || isIdle(m)
		default:
			reply = m
		}
	}
	return reply, outputs, nil
}

// isIdle reports whether m is the status message that ends a request.
func isIdle(m wire.Message) bool {
	var status struct {
		State string `json:"execution_state"`
	}
	return m.Header.MsgType == "status" && m.Unmarshal(&status) == nil && status.State == "idle"
}

// Ready sends kernel_info requests until the kernel answers one with both a
// reply and the status idle on iopub: from then on no output is missed. It
// discards everything else that arrives meanwhile, and returns the
// kernel_info_reply.
func (c *Client) Ready(ctx context.Context) (wire.Message, error) {
	for patience := 100 * time.Millisecond; ; patience *= 2 {
		h, err := c.Request(wire.Shell, "kernel_info_request", nil)
		if err != nil {
			return wire.Message{}, err
		}
		var reply wire.Message
		for reply.Parent.MsgID != h.MsgID {
			if reply, err = c.Receive(ctx, wire.Shell); err != nil {
				return wire.Message{}, fmt.Errorf("no reply to kernel_info_request: %w", err)
			}
		}
		soon, cancel := context.WithTimeout(ctx, patience)
		for err == nil {
			var m wire.Message
			m, err = c.Receive(soon, wire.IOPub)
			if err == nil && m.Parent.MsgID == h.MsgID && isIdle(m) {
				cancel()
				return reply, nil
			}
		}
		cancel()
		if ctx.Err() != nil || !errors.Is(err, context.DeadlineExceeded) {
			return wire.Message{}, fmt.Errorf("nothing on iopub: %w", err)
		}
	}
}

// Ping sends a heartbeat and returns the time until its echo came back.
func (c *Client) Ping(ctx context.Context) (time.Duration, error) {
	if c.isClosed() {
		return 0, ErrClosed
	}
	if ctx.Err() != nil {
		return 0, ctx.Err()
	}
	payload := rand.Text()
	start := time.Now()
	// Prepend the empty frame by which a REQ socket marks a request.
	if err := c.sockets[wire.HB].Send(zmq4.NewMsgFrom(nil, []byte(payload))); err != nil {
		return 0, fmt.Errorf("%w (%w)", c.gone(), err)
	}
	for {
		select {
		case echo := <-c.echoes:
			if echo == payload {
				return time.Since(start), nil
			}
		case <-ctx.Done():
			return 0, ctx.Err()
		case <-c.received[wire.HB]: // never receives a value; closed with the connection
			return 0, c.gone()
		}
	}
}

// Close closes the connections. It may be called more than once.
func (c *Client) Close() error {
	c.once.Do(func() {
		close(c.closed)
		c.shut()
		c.pumps.Wait()
	})
	return nil
}

// shut closes the sockets.
func (c *Client) shut() {
	c.cancel()
	for _, s := range c.sockets {
		s.Close()
	}
}
