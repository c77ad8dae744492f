package transport

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-zeromq/zmq4"

	"dace.local/kernel/internal/jupyter/wire"
)

// key is the signing key of the kernels in these tests.
const key = "00112233-4455-6677-8899-aabbccddeeff"

// connections returns a connection to listen on for each transport.
func connections(t testing.TB) map[string]wire.Connection {
	tcp := wire.Connection{Transport: "tcp", IP: "127.0.0.1", Key: key, SignatureScheme: "hmac-sha256"}
	ipc := tcp
	ipc.Transport, ipc.IP = "ipc", filepath.Join(t.TempDir(), "k")
	return map[string]wire.Connection{"tcp": tcp, "ipc": ipc}
}

// A kernel echoes every request on shell and control: it sends busy, a stream
// with the request's type, the reply with the request's content and buffers,
// and idle. It answers the request "ask" with the client's reply on stdin.
type kernel struct {
	*Sockets
	session string
	served  sync.WaitGroup
}

// start starts a kernel that is closed when the test ends.
func start(t testing.TB, conn wire.Connection, opts Options) *kernel {
	t.Helper()
	k := &kernel{session: wire.NewSession()}
	opts.Session = k.session
	if opts.Log == nil {
		opts.Log = slog.New(slog.NewTextHandler(t.Output(), nil))
	}
	var err error
	if k.Sockets, err = Listen(conn, opts); err != nil {
		t.Fatal(err)
	}
	for _, ch := range []wire.Channel{wire.Shell, wire.Control} {
		k.served.Go(func() { k.serve(t, ch) })
	}
	t.Cleanup(func() {
		k.Close()
		k.served.Wait()
	})
	return k
}

// message makes a message of the kernel.
func (k *kernel) message(t testing.TB, msgType string, parent wire.Header, content any) wire.Message {
	m, err := wire.New(wire.NewHeader(k.session, "kernel", msgType), parent, content)
	if err != nil {
		t.Error(err)
	}
	return m
}

// serve answers the requests on a channel.
func (k *kernel) serve(t testing.TB, ch wire.Channel) {
	type state map[string]any
	for {
		m, err := k.Receive(context.Background(), ch)
		if errors.Is(err, ErrClosed) {
			return
		}
		if err != nil {
			t.Error(err)
			return
		}
		publish := func(msgType string, content any) {
			out := k.message(t, msgType, m.Header, content)
			out.Identities = [][]byte{[]byte("kernel." + msgType)}
			if err := k.Publish(out); err != nil && !errors.Is(err, ErrClosed) {
				t.Error(err)
			}
		}
		publish("status", state{"execution_state": "busy"})
		publish("stream", state{"name": "stdout", "text": m.Header.MsgType})
		reply := k.message(t, strings.TrimSuffix(m.Header.MsgType, "request")+"reply", m.Header, nil)
		reply.Identities, reply.Content, reply.Buffers = m.Identities, m.Content, m.Buffers
		switch m.Header.MsgType {
		case "ask":
			reply.Content = k.ask(t, m).Content
		case "kernel_info_request":
			reply.Content = []byte(`{"protocol_version": "5.4"}`)
		}
		if err := k.Send(ch, reply); err != nil && !errors.Is(err, ErrClosed) && !errors.Is(err, ErrNoPeer) {
			t.Error(err)
		}
		publish("status", state{"execution_state": "idle"})
	}
}

// dial connects a client that is closed when the test ends.
func (k *kernel) dial(t testing.TB) *Client {
	t.Helper()
	c, err := Dial(ctx(t), k.Connection())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if _, err := c.Ready(ctx(t)); err != nil {
		t.Fatal(err)
	}
	return c
}

// deadline is how long a test waits for an event before it fails. It is long
// enough even for a busy machine.
const deadline = 5 * time.Minute

// ctx returns a context that ends well before the test binary's own timeout.
func ctx(t testing.TB) context.Context {
	c, cancel := context.WithTimeout(context.Background(), deadline)
	t.Cleanup(cancel)
	return c
}

// wait waits until condition returns true, and fails the test at the deadline.
func wait(t testing.TB, condition func() bool) {
	t.Helper()
	for end := time.Now().Add(deadline); !condition(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it does not happen")
		}
	}
}

// awaitStdin waits until zmq4 knows the client's connection on stdin, which
// may take longer than on its other channels.
func (k *kernel) awaitStdin(t testing.TB, id string) {
	t.Helper()
	wait(t, func() bool { return k.guards[wire.Stdin].connected(id) })
}

func TestRoundTrip(t *testing.T) {
	conns := connections(t)
	conns["unsigned"] = wire.Connection{Transport: "tcp", IP: "localhost"}
	for name, conn := range conns {
		t.Run(name, func(t *testing.T) {
			k := start(t, conn, Options{})
			a, b := k.dial(t), k.dial(t)
			for i, c := range []*Client{a, b} {
				for _, ch := range []wire.Channel{wire.Shell, wire.Control} {
					text := fmt.Sprintf("client %d on %s", i, ch)
					reply, outputs, err := c.Call(ctx(t), ch, "execute_request", map[string]string{"code": text})
					if err != nil {
						t.Fatal(err)
					}
					var content struct{ Code string }
					if err := reply.Unmarshal(&content); err != nil || content.Code != text {
						t.Errorf("reply %s, %v; want the code %q", reply.Content, err, text)
					}
					var types []string
					for _, m := range outputs {
						types = append(types, m.Header.MsgType)
					}
					if want := []string{"status", "stream", "status"}; !slices.Equal(types, want) {
						t.Errorf("outputs %v, want %v", types, want)
					}
					if topic := outputs[1].Identities; len(topic) != 1 || string(topic[0]) != "kernel.stream" {
						t.Errorf("topic %q", topic)
					}
				}
				if _, err := c.Ping(ctx(t)); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// All clients see all outputs, a reply goes to one client only, and the kernel
// can send input requests on stdin to the client of a shell request.
func TestRouting(t *testing.T) {
	k := start(t, connections(t)["tcp"], Options{})
	a, b := k.dial(t), k.dial(t)
	h, err := a.Request(wire.Shell, "execute_request", nil)
	if err != nil {
		t.Fatal(err)
	}
	reply, err := a.Receive(ctx(t), wire.Shell)
	if err != nil || reply.Parent.MsgID != h.MsgID {
		t.Fatalf("reply to %q, %v; want %q", reply.Parent.MsgID, err, h.MsgID)
	}
	for {
		m, err := b.Receive(ctx(t), wire.IOPub)
		if err != nil {
			t.Fatalf("b sees nothing of a's request: %v", err)
		}
		if m.Parent.MsgID == h.MsgID && isIdle(m) {
			break
		}
	}
	ask := k.message(t, "input_request", h, map[string]any{"prompt": "? ", "password": false})
	ask.Identities = [][]byte{[]byte(a.Session)}
	k.awaitStdin(t, a.Session)
	if err := k.Send(wire.Stdin, ask); err != nil {
		t.Fatal(err)
	}
	asked, err := a.Receive(ctx(t), wire.Stdin)
	if err != nil || asked.Header.MsgType != "input_request" {
		t.Fatalf("a is asked %v, %v", asked, err)
	}
	answer, err := wire.New(wire.NewHeader(a.Session, "", "input_reply"), asked.Header, map[string]string{"value": "yes"})
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Send(wire.Stdin, answer); err != nil {
		t.Fatal(err)
	}
	got, err := k.Receive(ctx(t), wire.Stdin)
	if err != nil || string(got.Content) != `{"value":"yes"}` || string(got.Identities[0]) != a.Session {
		t.Errorf("answer %s from %q, %v", got.Content, got.Identities, err)
	}

	ask.Identities = [][]byte{[]byte("nobody")}
	if err := k.Send(wire.Stdin, ask); !errors.Is(err, ErrNoPeer) {
		t.Errorf("sending to nobody: %v, want ErrNoPeer", err)
	}
	k.awaitStdin(t, b.Session)
	b.Close()
	ask.Identities = [][]byte{[]byte(b.Session)}
	wait(t, func() bool { return errors.Is(k.Send(wire.Stdin, ask), ErrNoPeer) })
}

func TestLargeMessages(t *testing.T) {
	for name, conn := range connections(t) {
		t.Run(name, func(t *testing.T) {
			k := start(t, conn, Options{})
			c := k.dial(t)
			buffer := bytes.Repeat([]byte("0123456789abcdef"), 20<<20/16)
			h := wire.NewHeader(c.Session, "", "comm_msg_request")
			if err := c.Send(wire.Shell, wire.Message{Header: h, Buffers: [][]byte{buffer, {}, buffer[:7]}}); err != nil {
				t.Fatal(err)
			}
			reply, err := c.Receive(ctx(t), wire.Shell)
			if err != nil {
				t.Fatal(err)
			}
			if len(reply.Buffers) != 3 || !bytes.Equal(reply.Buffers[0], buffer) || len(reply.Buffers[1]) != 0 || len(reply.Buffers[2]) != 7 {
				t.Errorf("%d buffers came back, not as they were", len(reply.Buffers))
			}
		})
	}
}

// Messages sent before Close arrive, and Close returns although calls of
// Receive and Publish and a client are waiting.
func TestClose(t *testing.T) {
	for name, conn := range connections(t) {
		t.Run(name, func(t *testing.T) {
			before := runtime.NumGoroutine()
			k := start(t, conn, Options{Linger: deadline})
			c := k.dial(t)
			const n = 500
			var last wire.Message
			for range n {
				last = k.message(t, "stream", wire.Header{}, map[string]string{"text": strings.Repeat("x", 2000)})
				if err := k.Publish(last); err != nil {
					t.Fatal(err)
				}
			}
			done := make(chan struct{})
			go func() {
				defer close(done)
				k.Close()
			}()
			for {
				m, err := c.Receive(ctx(t), wire.IOPub)
				if err != nil {
					t.Fatalf("the last message did not come: %v", err)
				}
				if m.Header.MsgID == last.Header.MsgID {
					break
				}
			}
			select {
			case <-done:
			case <-time.After(deadline):
				t.Fatal("Close hangs")
			}
			if _, err := k.Receive(ctx(t), wire.Shell); !errors.Is(err, ErrClosed) {
				t.Errorf("Receive after Close: %v", err)
			}
			if err := k.Send(wire.Shell, last); !errors.Is(err, ErrClosed) {
				t.Errorf("Send after Close: %v", err)
			}
			if err := k.Publish(last); !errors.Is(err, ErrClosed) {
				t.Errorf("Publish after Close: %v", err)
			}
			if _, err := c.Receive(ctx(t), wire.Shell); !errors.Is(err, ErrClosed) {
				t.Errorf("the client's Receive after Close: %v", err)
			}
			c.Close()
			// zmq4 does not end one goroutine of its PUB socket.
			for end := time.Now().Add(deadline); runtime.NumGoroutine() > before+1; time.Sleep(time.Millisecond) {
				if time.Now().After(end) {
					stacks := make([]byte, 1<<20)
					t.Fatalf("%d goroutines, %d before\n%s", runtime.NumGoroutine(), before, stacks[:runtime.Stack(stacks, true)])
				}
			}
			// The addresses can be used again.
			again, err := Listen(k.Connection(), Options{})
			if err != nil {
				t.Fatal(err)
			}
			again.Close()
		})
	}
}

// When Listen has returned, the tap sees whatever is published: the first message, too,
// is counted as passed, for which the next waits.
func TestTapped(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // zmq4 gets on while Listen waits for it, hardly otherwise
	k := start(t, connections(t)["ipc"], Options{})
	select {
	case <-k.guards[wire.IOPub].tapped:
	default:
		t.Error("zmq4 has not processed the tap's subscription")
	}
}

// A kernel takes over the socket files of a kernel that has died, but not
// those of a running one, and no other files.
func TestListenAgain(t *testing.T) {
	conn := connections(t)["ipc"]
	for i, ch := range wire.Channels {
		conn.SetPort(ch, i+1)
		_, path := conn.Address(ch)
		ln, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
		if err != nil {
			t.Fatal(err)
		}
		ln.SetUnlinkOnClose(false)
		ln.Close()
	}
	k := start(t, conn, Options{})
	k.dial(t)
	_, shell := conn.Address(wire.Shell)
	if info, err := os.Stat(shell); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the shell socket has mode %v, %v", info.Mode(), err)
	}
	if _, err := Listen(conn, Options{}); err == nil || !strings.Contains(err.Error(), "shell socket") {
		t.Errorf("a second kernel on the same sockets: %v", err)
	}
	k.dial(t)
	k.Close()
	if err := os.WriteFile(shell, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Listen(conn, Options{}); err == nil {
		t.Error("a file that is no socket was replaced")
	}
	if err := os.Remove(shell); err != nil {
		t.Fatal(err)
	}
	// What was open when a later socket failed is closed.
	_, last := conn.Address(wire.Channels[len(wire.Channels)-1])
	if err := os.WriteFile(last, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Listen(conn, Options{}); err == nil {
		t.Error("a file that is no socket was replaced")
	}
	if c, err := net.Dial("unix", shell); err == nil {
		c.Close()
		t.Error("the shell socket is open although another could not be")
	}
	conn.IP = filepath.Join(conn.IP, strings.Repeat("x", 200))
	if _, err := Listen(conn, Options{}); err == nil || !strings.Contains(err.Error(), "too long") {
		t.Errorf("a long path: %v", err)
	}
	conn.Transport = "udp"
	if _, err := Listen(conn, Options{}); err == nil || !strings.Contains(err.Error(), "udp") {
		t.Errorf("an invalid connection: %v", err)
	}
}

// Dial waits for a kernel that starts later, and gives up when its context
// ends.
func TestDial(t *testing.T) {
	k := start(t, connections(t)["ipc"], Options{}) // no other process uses its addresses
	conn := k.Connection()
	k.Close()
	soon, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	if _, err := Dial(soon, conn); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("without a kernel: %v", err)
	}
	// A process that accepts connections and sends nothing is no kernel
	// either.
	network, address := conn.Address(wire.Shell)
	ln, err := net.Listen(network, address)
	if err != nil {
		t.Fatal(err)
	}
	soon, cancel = context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	if _, err := Dial(soon, conn); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("with a silent kernel: %v", err)
	}
	ln.Close()
	late := make(chan *Sockets, 1)
	time.AfterFunc(50*time.Millisecond, func() {
		k, err := Listen(conn, Options{})
		if err != nil {
			t.Error(err)
		}
		late <- k
	})
	c, err := Dial(ctx(t), conn)
	if err != nil {
		t.Fatal(err)
	}
	(<-late).Close()
	c.Close()
	if _, err := c.Receive(ctx(t), wire.Shell); !errors.Is(err, ErrClosed) {
		t.Errorf("Receive after Close: %v", err)
	}
	if _, err := c.Request(wire.Shell, "x", nil); !errors.Is(err, ErrClosed) {
		t.Errorf("Request after Close: %v", err)
	}
	if _, err := c.Ping(ctx(t)); !errors.Is(err, ErrClosed) {
		t.Errorf("Ping after Close: %v", err)
	}
}

// Dial leaves no connection if it fails at the last one.
func TestDialHalf(t *testing.T) {
	k := start(t, connections(t)["tcp"], Options{})
	conn, last := k.Connection(), wire.Channels[len(wire.Channels)-1]
	silent, err := net.Listen("tcp", conn.IP+":0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	conn.SetPort(last, silent.Addr().(*net.TCPAddr).Port)
	within, cancel := context.WithCancel(ctx(t))
	go func() {
		if c, err := silent.Accept(); err == nil {
			defer c.Close()
		}
		cancel()
	}()
	if _, err := Dial(within, conn); !errors.Is(err, context.Canceled) {
		t.Errorf("with a silent last channel: %v", err)
	}
	wait(t, func() bool {
		n := int64(0)
		for _, g := range k.guards {
			n += g.count.Load()
		}
		return n == 0
	})
}

// Ready waits twice as long for iopub with each request, so that a slow kernel is asked a
// few times only.
func TestReadyPatience(t *testing.T) {
	s, err := Listen(connections(t)["tcp"], Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	c, err := Dial(ctx(t), s.Connection())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	ready := make(chan error, 1)
	within := ctx(t)
	go func() {
		_, err := c.Ready(within)
		ready <- err
	}()
	var last time.Time
	for _, least := range []time.Duration{0, 100 * time.Millisecond, 200 * time.Millisecond} {
		m, err := s.Receive(within, wire.Shell)
		if err != nil {
			t.Fatal(err)
		}
		if took := time.Since(last); took < least {
			t.Errorf("asked again after %v, want at least %v", took, least)
		}
		last = time.Now()
		others, err := wire.New(wire.NewHeader("kernel", "kernel", "status"), wire.Header{MsgID: "another"}, map[string]string{"execution_state": "idle"})
		if err := errors.Join(err, s.Publish(others)); err != nil {
			t.Fatal(err)
		}
		reply, err := wire.New(wire.NewHeader("kernel", "kernel", "kernel_info_reply"), m.Header, nil)
		if err != nil {
			t.Fatal(err)
		}
		reply.Identities = m.Identities
		if err := s.Send(wire.Shell, reply); err != nil {
			t.Fatal(err)
		}
	}
	c.Close()
	if err := <-ready; err == nil {
		t.Error("a kernel that publishes nothing is ready")
	}
}

// A client that has proven to know the key is known when it connects again, by the identity
// that it has chosen. One that was generated is of one connection, and not kept.
func TestTrustedIdentities(t *testing.T) {
	sh := shared{signer: wire.NewSigner(key), trusted: new(identities), heavy: new(sync.Mutex)}
	g := &guard{shared: sh, kind: router, limits: wire.Limits{Frames: 10, Size: 1000}}
	for id, kept := range map[string]bool{"a": true, "another": true, "\x00\x01\x02\x03\x04": false} {
		m, err := wire.New(wire.NewHeader(id, "client", "x"), wire.Header{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		frames, err := wire.NewSigner(key).Encode(m)
		if err != nil {
			t.Fatal(err)
		}
		p := newPeer(g, nil, nil, "DEALER", id)
		if g.isTrusted(p) {
			t.Errorf("%q is trusted before its first message", id)
		}
		if err := g.verify(p, frames); err != nil {
			t.Fatal(err)
		}
		if !g.isTrusted(p) || g.isTrusted(newPeer(g, nil, nil, "DEALER", id)) != kept {
			t.Errorf("%q has proven to know the key; trusted: %v, when it connects again: %v", id, g.isTrusted(p), !kept)
		}
	}
}

// What cannot be sent, answered or received is an error that says what it was.
func TestErrors(t *testing.T) {
	k := start(t, connections(t)["ipc"], Options{})
	c := k.dial(t)
	list, noJSON := wire.Message{Header: wire.NewHeader("s", "u", "stream"), Content: []byte("[]")}, make(chan int)
	list.Identities = [][]byte{[]byte(c.Session)}
	nowhere, lost := k.Connection(), context.Canceled
	nowhere.Transport = "udp"
	over, cancel := context.WithCancel(ctx(t))
	cancel()
	want := func(what string, err error, text string, is error) {
		t.Helper()
		if err == nil || !strings.Contains(err.Error(), text) || is != nil && !errors.Is(err, is) {
			t.Errorf("%s: %v, want %q", what, err, text)
		}
	}
	_, err := Dial(ctx(t), nowhere)
	want("an invalid connection", err, "connection: ", nil)
	_, err = Dial(over, k.Connection())
	want("a context that has ended", err, "", lost)
	want("a list as a content", c.Send(wire.Shell, list), "stream is not a JSON object", nil)
	want("a message on iopub", c.Send(wire.IOPub, list), "no messages on iopub", nil)
	_, err = c.Receive(over, wire.HB)
	want("receiving heartbeats", err, "use Ping", nil)
	_, err = c.Receive(over, wire.Stdin)
	want("a context that has ended", err, "", lost)
	_, _, err = c.Call(over, wire.Shell, "x_request", noJSON)
	want("a content that is no JSON", err, "content of x_request", nil)
	_, _, err = c.Call(over, wire.Stdin, "x_request", nil)
	want("an answer that does not come", err, "waiting for the answer to x_request", lost)
	_, err = c.Ready(over)
	want("a context that has ended", err, "no reply to kernel_info_request", lost)
	filled := &Client{received: map[wire.Channel]chan wire.Message{wire.Shell: make(chan wire.Message, 20)}}
	for range 20 {
		filled.received[wire.Shell] <- wire.Message{}
		_, err = filled.Receive(over, wire.Shell)
		want("a context that has ended, and a message", err, "", lost)
	}
	want("the kernel's list", k.Send(wire.Shell, list), "stream is not a JSON object", nil)
	want("the kernel's list on iopub", k.Publish(list), "stream is not a JSON object", nil)
	want("the kernel's message on iopub", k.Send(wire.IOPub, list), "nothing is sent on iopub", nil)
	_, err = k.Receive(over, wire.IOPub)
	want("receiving on iopub", err, "nothing is received on iopub", nil)

	// Another's message is passed over.
	forged, err := wire.NewSigner("another key").Encode(k.message(t, "stream", wire.Header{}, nil))
	k.publishing.Lock()
	if err == nil {
		err = k.sockets[wire.IOPub].Send(zmq4.NewMsgFrom(append([][]byte{{}}, forged...)...))
	}
	k.published++
	k.publishing.Unlock()
	if err != nil {
		t.Fatal(err)
	}
	good := k.message(t, "stream", wire.Header{}, nil)
	if err := k.Publish(good); err != nil {
		t.Fatal(err)
	}
	for id := ""; id != good.Header.MsgID; {
		m, err := c.Receive(ctx(t), wire.IOPub)
		if err != nil {
			t.Fatal(err)
		}
		id = m.Header.MsgID
	}

	k.Close()
	_, _, err = c.Call(ctx(t), wire.Shell, "x_request", nil)
	want("a kernel that has gone", err, "by the kernel", ErrClosed)
	_, err = c.Ready(ctx(t))
	want("a kernel that has gone", err, "by the kernel", ErrClosed)
	_, err = c.Ping(ctx(t))
	want("a kernel that has gone", err, "", ErrClosed)
	c.Close()
	_, err = c.Ready(ctx(t))
	want("a client that is closed", err, "", ErrClosed)
	_, err = c.Ping(ctx(t))
	if sent := c.Send(wire.Shell, good); err != ErrClosed || sent != ErrClosed {
		t.Errorf("a client that is closed: %v, %v", err, sent)
	}
}

// What a step of the protocol cannot do, because of what the other side sends or of
// what there is of memory, places and connections, is its error.
func TestStepFails(t *testing.T) {
	opts := hostileOptions()
	opts.MaxConns = 5
	k := start(t, connections(t)["tcp"], opts)
	g := k.guards[wire.Shell]
	gone, there := net.Pipe()
	there.Close()
	small := &guard{shared: shared{opts: k.opts, in: newBudget(10)}}
	known := &peer{g: small}
	known.trusted.Store(true)
	of := func(text string) *peer { return &peer{g: g, br: bufio.NewReader(strings.NewReader(text))} }
	greets := func(at int, b byte) error {
		other := greeting
		other[at] = b
		return readGreeting(bytes.NewReader(other[:]))
	}
	_, _, handshake := g.handshake(gone, bufio.NewReader(gone))
	_, command := of("half").command(5)
	_, body := (&peer{g: small}).body(5)
	for range opts.MaxConns {
		p := newPeer(g, gone, nil, "DEALER", "x")
		p.trusted.Store(true)
		if err := g.admit(p); err != nil {
			t.Fatal(err)
		}
	}
	full := g.admit(newPeer(g, gone, nil, "DEALER", "y"))
	refused := attack(t, k.Connection(), wire.Shell).introduce("DEALER", "z")
	cutOff(t, "one more than all that are trusted", refused)
	k.Close()
	for name, c := range map[string]struct {
		err  error
		want string
	}{
		"an old version":             {greets(10, 2), "ZMTP version 2.0, want 3.0"},
		"a mechanism":                {greets(12, 'P'), `security mechanism "PULL", want NULL`},
		"nobody to greet":            {handshake, "closed pipe"},
		"half a command":             {command, "unexpected EOF"},
		"no memory":                  {body, errMemory.Error()},
		"no memory in time":          {small.in.acquire(known, 20, time.Nanosecond), errMemory.Error()},
		"connections that are known": {full, "5 clients are connected already"},
		"a guard that is closed":     {g.admit(newPeer(g, gone, nil, "DEALER", "y")), net.ErrClosed.Error()},
	} {
		if c.err == nil || !strings.Contains(c.err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, c.err, c.want)
		}
	}
	if runtime.GOOS == "linux" { // where a socket can have a name that is no file, which has no permissions
		conn := connections(t)["ipc"]
		conn.IP = "@" + filepath.Base(t.TempDir()) + wire.NewSession()
		if _, err := Listen(conn, Options{}); err == nil || !strings.Contains(err.Error(), "chmod") {
			t.Errorf("a socket without permissions: %v", err)
		}
	}
}

// What a client with the key has signed may be no message, and is dropped; the log tells
// why a connection was closed. A client that waits is told when the kernel goes, with its
// request or without outputs.
func TestGone(t *testing.T) {
	var log bytes.Buffer
	k, err := Listen(connections(t)["tcp"], Options{Log: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	c, err := Dial(ctx(t), k.Connection())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	bad := wire.Message{Header: wire.Header{Raw: []byte("{}")}}
	if err := c.Send(wire.Stdin, bad); err != nil {
		t.Fatal(err)
	}
	a := attack(t, k.Connection(), wire.Shell).introduce("DEALER", "a")
	a.send(claim(1 << 62))
	a.SetReadDeadline(time.Now().Add(deadline))
	if _, err := io.ReadAll(a); err != nil && !ordinary(err) {
		t.Errorf("the connection of a message that is too large: %v", err)
	}
	calls := make(chan error, 2)
	go func() {
		_, _, err := c.Call(ctx(t), wire.Stdin, "x_request", nil)
		calls <- err
	}()
	go func() {
		_, err := c.Ready(ctx(t))
		calls <- err
	}()
	if m, err := k.Receive(ctx(t), wire.Stdin); err != nil || m.Header.MsgType != "x_request" {
		t.Error(m, err)
	}
	m, err := k.Receive(ctx(t), wire.Shell)
	if err != nil {
		t.Fatal(err)
	}
	reply, err := wire.New(wire.NewHeader("k", "kernel", "kernel_info_reply"), m.Header, nil)
	reply.Identities = m.Identities
	if err := errors.Join(err, k.Send(wire.Shell, reply)); err != nil {
		t.Fatal(err)
	}
	if k.guards[wire.IOPub].tap.closed.Load() {
		t.Error("nothing bounds what waits to be published: the tap is closed")
	}
	k.Close()
	for range 2 {
		if err := <-calls; !errors.Is(err, errGone) || !strings.Contains(err.Error(), "the answer to x_request") && !strings.Contains(err.Error(), "nothing on iopub") {
			t.Errorf("a call of a kernel that has gone: %v", err)
		}
	}
	for _, want := range []string{"header without msg_id", "connection closed", "too large", "client=127.0.0.1:"} {
		if text := log.String(); !strings.Contains(text, want) {
			t.Errorf("the log does not say %q: %s", want, text)
		}
	}
}

func BenchmarkRoundTrip(b *testing.B) {
	for name, conn := range connections(b) {
		b.Run(name, func(b *testing.B) {
			k := start(b, conn, Options{})
			c := k.dial(b)
			for b.Loop() {
				if _, _, err := c.Call(context.Background(), wire.Shell, "execute_request", map[string]string{"code": "1"}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkLarge measures sending 20 MiB there and back.
func BenchmarkLarge(b *testing.B) {
	for name, conn := range connections(b) {
		b.Run(name, func(b *testing.B) {
			k := start(b, conn, Options{})
			c := k.dial(b)
			buffer := make([]byte, 20<<20)
			b.SetBytes(2 * int64(len(buffer)))
			for b.Loop() {
				h := wire.NewHeader(c.Session, "", "comm_msg_request")
				if err := c.Send(wire.Shell, wire.Message{Header: h, Buffers: [][]byte{buffer}}); err != nil {
					b.Fatal(err)
				}
				if _, err := c.Receive(context.Background(), wire.Shell); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkPublish(b *testing.B) {
	for _, size := range []int{100, 20 << 20} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			k := start(b, connections(b)["tcp"], Options{})
			c := k.dial(b)
			m := k.message(b, "stream", wire.Header{}, map[string]string{"text": strings.Repeat("x", size)})
			b.SetBytes(int64(size))
			received := make(chan error, 1)
			go func() {
				for {
					got, err := c.Receive(context.Background(), wire.IOPub)
					if err != nil || got.Header.MsgType == "last" {
						received <- err
						return
					}
				}
			}()
			for b.Loop() {
				m.Header = wire.NewHeader(k.session, "", "stream")
				if err := k.Publish(m); err != nil {
					b.Fatal(err)
				}
			}
			if err := k.Publish(k.message(b, "last", wire.Header{}, nil)); err != nil {
				b.Fatal(err)
			}
			if err := <-received; err != nil {
				b.Fatal(err)
			}
		})
	}
}
