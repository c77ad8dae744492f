package server

import (
	"context"
	"sync"
	"testing"

	"dace.local/kernel/internal/jupyter/transport"
	"dace.local/kernel/internal/jupyter/wire"
)

// memory connects a kernel with one client in memory, in place of sockets.
type memory struct {
	toKernel map[wire.Channel]chan wire.Message
	toClient map[wire.Channel]chan wire.Message
	session  string

	mu     sync.Mutex // guards closed
	closed bool
	// stalled, if not nil, blocks Publish until it is closed.
	stalled chan struct{}
}

func newMemory() *memory {
	m := &memory{
		toKernel: map[wire.Channel]chan wire.Message{},
		toClient: map[wire.Channel]chan wire.Message{},
		session:  wire.NewSession(),
	}
	for _, ch := range wire.Channels {
		m.toKernel[ch] = make(chan wire.Message, 1000)
		m.toClient[ch] = make(chan wire.Message, 100000)
	}
	return m
}

// Methods for the kernel.

type memorySockets struct{ *memory }

func (m memorySockets) Connection() wire.Connection { return wire.Connection{Transport: "tcp"} }

func (m memorySockets) Receive(ctx context.Context, ch wire.Channel) (wire.Message, error) {
	return take(ctx, m.toKernel[ch])
}

func (m memorySockets) Send(ch wire.Channel, msg wire.Message) error {
	if m.isClosed() {
		return transport.ErrClosed
	}
	m.toClient[ch] <- msg
	return nil
}

func (m memorySockets) Publish(msg wire.Message) error {
	if m.isClosed() {
		return transport.ErrClosed
	}
	if m.stalled != nil {
		<-m.stalled
	}
	m.toClient[wire.IOPub] <- msg
	return nil
}

func (m memorySockets) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = true
	return nil
}

func (m *memory) isClosed() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.closed
}

func take(ctx context.Context, from chan wire.Message) (wire.Message, error) {
	select {
	case m := <-from:
		return m, nil
	case <-ctx.Done():
		return wire.Message{}, ctx.Err()
	}
}

// Methods for the client.

func (m *memory) Request(ch wire.Channel, kind string, content any) (wire.Header, error) {
	msg, err := wire.New(wire.NewHeader(m.session, "ada", kind), wire.Header{}, content)
	if err != nil {
		return wire.Header{}, err
	}
	return msg.Header, m.Send(ch, msg)
}

func (m *memory) Send(ch wire.Channel, msg wire.Message) error {
	msg.Identities = [][]byte{[]byte("client")}
	m.toKernel[ch] <- msg
	return nil
}

func (m *memory) Receive(ctx context.Context, ch wire.Channel) (wire.Message, error) {
	return take(ctx, m.toClient[ch])
}

func (m *memory) Close() error { return nil }

// startMemory starts a kernel that is connected in memory, without sockets.
func startMemory(t testing.TB, options ...func(*memory)) *kernel {
	m := newMemory()
	for _, o := range options {
		o(m)
	}
	return start(t, m, memorySockets{m})
}
