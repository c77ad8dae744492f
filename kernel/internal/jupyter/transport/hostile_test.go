package transport

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"dace.local/kernel/internal/jupyter/wire"
)

// An attacker is a raw connection to one of the kernel's sockets, over which a
// test sends arbitrary bytes.
type attacker struct {
	t testing.TB
	net.Conn
}

// attack opens a raw connection to a channel without sending anything. The
// connection is closed when the test ends.
func attack(t testing.TB, conn wire.Connection, ch wire.Channel) attacker {
	t.Helper()
	network, address := conn.Address(ch)
	c, err := net.Dial(network, address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return attacker{t, c}
}

// introduce performs the handshake as a socket of the given type.
func (a attacker) introduce(socketType, id string) attacker {
	a.t.Helper()
	a.send(appendReady(greeting[:], socketType, id))
	a.SetReadDeadline(time.Now().Add(deadline))
	if err := readGreeting(a); err != nil {
		a.t.Fatal(err)
	}
	if _, _, err := readReady(a); err != nil {
		a.t.Fatal(err)
	}
	a.SetReadDeadline(time.Time{})
	return a
}

// send writes b. A write that fails because the kernel has closed the
// connection is no error.
func (a attacker) send(b []byte) error {
	a.SetWriteDeadline(time.Now().Add(deadline))
	_, err := a.Write(b)
	return err
}

// What is no READY command, or half of one, is refused.
func TestReadReady(t *testing.T) {
	good := appendReady(nil, "DEALER", "me")
	if socketType, id, err := readReady(bytes.NewReader(good)); err != nil || socketType != "DEALER" || id != "me" {
		t.Errorf("%q, %q, %v", socketType, id, err)
	}
	with := func(at int, b byte) []byte { c := bytes.Clone(good); c[at] = b; return c }
	long := binary.BigEndian.AppendUint64([]byte{flagLong | flagCommand}, maxReady+1)
	for name, c := range map[string]struct {
		bytes []byte
		want  string
	}{
		"nothing":             {nil, "no READY: EOF"},
		"half a header":       {long[:5], "no READY: unexpected EOF"},
		"unknown flags":       {with(0, 0x80), "unknown flags 0x80"},
		"no command":          {with(0, 0), "no READY command"},
		"a part of a message": {with(0, flagCommand|flagMore), "no READY command"},
		"too large":           {append(long, make([]byte, maxReady+1)...), "no READY command"},
		"half a body":         {good[:len(good)-1], "half a READY"},
		"another name":        {with(3, 'r'), "no READY command"},
		"no name":             {with(2, 200), "no READY command"},
		"half a property":     {with(8, 200), "cut short"},
		"half a value":        {with(len(good)-3, 200), "cut short"},
	} {
		if _, _, err := readReady(bytes.NewReader(c.bytes)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
}

// A connection whose other end has gone says so when a message is written, a short or a
// long one.
func TestWriteToNobody(t *testing.T) {
	for _, size := range []int{10, 10_000} {
		here, there := net.Pipe()
		there.Close()
		d := &dialed{Conn: here, w: bufio.NewWriterSize(here, 100)}
		if n, err := d.Write(message(make([]byte, size))); n != 0 || !errors.Is(err, io.ErrClosedPipe) {
			t.Errorf("a message of %d bytes: %d written, %v", size, n, err)
		}
	}
}

// message encodes frames as one ZMTP message.
func message(frames ...[]byte) (b []byte) {
	for i, f := range frames {
		var flags byte
		if i < len(frames)-1 {
			flags = flagMore
		}
		b = append(appendFrameHeader(b, flags, len(f)), f...)
	}
	return b
}

// claim returns the header of a frame that claims a body of n bytes.
func claim(n uint64) []byte {
	return binary.BigEndian.AppendUint64([]byte{flagLong | flagMore}, n)
}

// socketTypes gives the type of socket that a client uses for each channel.
var socketTypes = map[wire.Channel]string{
	wire.Shell: "DEALER", wire.Control: "DEALER", wire.Stdin: "DEALER", wire.IOPub: "SUB", wire.HB: "REQ",
}

// attacks lists the attacks that run against each channel. An attack lasts
// until its function returns; the connections it leaves open last until the
// test ends.
var attacks = []struct {
	name string
	do   func(t testing.TB, conn wire.Connection, ch wire.Channel)
}{
	{"half-open connections", func(t testing.TB, conn wire.Connection, ch wire.Channel) {
		for range 200 {
			attack(t, conn, ch)
		}
	}},
	{"half a greeting", func(t testing.TB, conn wire.Connection, ch wire.Channel) {
		for n := range 63 {
			attack(t, conn, ch).send(greeting[:n])
		}
	}},
	{"a greeting without READY", func(t testing.TB, conn wire.Connection, ch wire.Channel) {
		for range 100 {
			attack(t, conn, ch).send(greeting[:])
		}
	}},
	{"malformed READY", func(t testing.TB, conn wire.Connection, ch wire.Channel) {
		ready := appendReady(nil, socketTypes[ch], "me")
		bodies := [][]byte{ready, appendReady(nil, "NONSENSE", ""), appendReady(nil, "", ""), appendReady(nil, "SUB", ""), appendReady(nil, "ROUTER", "\x00id")}
		for n := range len(ready) - 2 {
			short := slices.Clone(ready[:2+n]) // truncate the properties
			short[1] = byte(n)
			bodies = append(bodies, short)
			long := slices.Clone(ready) // corrupt the lengths
			long[2+n] = 0xff
			bodies = append(bodies, long)
		}
		for _, body := range bodies {
			attack(t, conn, ch).send(append(greeting[:], body...))
		}
		attack(t, conn, ch).send(append(greeting[:], claim(1<<62)...))
		attack(t, conn, ch).send(append(greeting[:], message([]byte("no READY"))...))
	}},
	{"something else than ZeroMQ", func(t testing.TB, conn wire.Connection, ch wire.Channel) {
		for _, text := range []string{"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", "\x16\x03\x01", strings.Repeat("\x00", 1000), strings.Repeat("\xff", 1000)} {
			attack(t, conn, ch).send([]byte(text))
		}
	}},
	{"frames that claim to be huge", func(t testing.TB, conn wire.Connection, ch wire.Channel) {
		for _, n := range []uint64{1 << 31, 1 << 40, 1 << 62, 1 << 63, 1<<64 - 1} {
			attack(t, conn, ch).introduce(socketTypes[ch], "").send(claim(n))
		}
		// Claim a frame within the limits and send no body.
		for range 100 {
			attack(t, conn, ch).introduce(socketTypes[ch], "").send(claim(firstMessage))
		}
	}},
	{"10,000 empty frames", func(t testing.TB, conn wire.Connection, ch wire.Channel) {
		a := attack(t, conn, ch).introduce(socketTypes[ch], "")
		a.send(message(make([][]byte, 10000)...))
	}},
	{"messages that are not Jupyter's", func(t testing.TB, conn wire.Connection, ch wire.Channel) {
		a := attack(t, conn, ch).introduce(socketTypes[ch], "")
		d := []byte(wire.Delimiter)
		for _, frames := range [][][]byte{
			{nil}, {nil, nil}, {nil, nil, nil}, {{}, []byte("x"), {}}, {[]byte("no delimiter")}, {d}, {d, nil, nil, nil, nil},
			{d, nil, []byte("{}"), []byte("{}"), []byte("{}"), []byte("{}")},
			{[]byte("id"), d, []byte("signature"), []byte("{"), nil, nil, nil},
			{{2, 3}}, {{1}, {1}}, {bytes.Repeat([]byte{1}, 5000)},
		} {
			a.send(message(frames...))
		}
	}},
	{"unknown flags and misplaced commands", func(t testing.TB, conn wire.Connection, ch wire.Channel) {
		for _, b := range [][]byte{
			{0xff, 0xff}, {0x08, 0}, {flagCommand, 0}, {flagCommand, 1, 200}, {flagCommand | flagMore, 5, 4, 'P', 'I', 'N', 'G'},
			append([]byte{flagMore, 0}, flagCommand, 5, 4, 'P', 'I', 'N', 'G'),
			{flagCommand, 5, 4, 'P', 'I', 'N', 'G'}, {flagCommand, 6, 5, 'E', 'R', 'R', 'O', 'R'}, append([]byte{flagCommand | flagLong}, claim(1 << 62)[1:]...),
		} {
			attack(t, conn, ch).introduce(socketTypes[ch], "").send(b)
		}
	}},
	{"forged messages without end", func(t testing.TB, conn wire.Connection, ch wire.Channel) {
		forger := wire.NewSigner("another key")
		for range 20 {
			a := attack(t, conn, ch).introduce(socketTypes[ch], "")
			for range 20 {
				frames, err := forger.Encode(wire.Message{Header: wire.NewHeader("s", "u", "shutdown_request")})
				if err != nil {
					t.Fatal(err)
				}
				a.send(message(frames...))
			}
		}
	}},
	{"more connections than allowed", func(t testing.TB, conn wire.Connection, ch wire.Channel) {
		for range 3 * testConns {
			attack(t, conn, ch).introduce(socketTypes[ch], "")
		}
	}},
	{"many topics", func(t testing.TB, conn wire.Connection, ch wire.Channel) {
		a := attack(t, conn, ch).introduce(socketTypes[ch], "")
		for i := range 1000 {
			a.send(message([]byte{1, byte(i), byte(i >> 8)}))
		}
	}},
	{"megabytes of garbage", func(t testing.TB, conn wire.Connection, ch wire.Channel) {
		garbage := 24 // MiB
		if race {
			garbage = 10
		}
		var wg sync.WaitGroup
		for range 8 {
			a := attack(t, conn, ch).introduce(socketTypes[ch], "")
			wg.Go(func() {
				a.send(claim(firstMessage - 1))
				chunk := make([]byte, 1<<20)
				for range garbage {
					if a.send(chunk) != nil {
						return
					}
				}
			})
		}
		wg.Wait()
	}},
}

// testConns is the limit of connections to one socket in these tests.
const testConns = 30

// hostileOptions returns options with limits so small that the attacks reach
// them.
func hostileOptions() Options {
	return Options{
		MaxConns: testConns,
		Memory:   64 << 20,
		Log:      slog.New(slog.DiscardHandler),
	}
}

// heap returns the number of bytes of live heap memory, without garbage.
func heap() uint64 {
	debug.FreeOSMemory()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// While an attack runs, and after it, both a client that was connected before
// and a new one must get answers on every channel. BenchmarkAttacks measures
// how soon.
func TestAttacks(t *testing.T) {
	for name, conn := range connections(t) {
		for _, attack := range attacks {
			t.Run(name+"/"+attack.name, func(t *testing.T) {
				k := start(t, conn, hostileOptions())
				old := k.dial(t)
				newcomer(t, k)
				before := heap()
				done := make(chan struct{})
				go func() {
					defer close(done)
					for _, ch := range wire.Channels {
						attack.do(t, k.Connection(), ch)
					}
				}()
				for over, after := false, 0; after < 10; {
					select {
					case <-done:
						over = true
					default:
					}
					answer(t, old)
					newcomer(t, k)
					if over {
						after++
					}
				}
				if grown := int64(heap()) - int64(before); grown > hostileOptions().Memory+32<<20 {
					t.Errorf("memory has grown by %d MiB", grown>>20)
				}
			})
		}
	}
}

// newcomer connects a new client on all five sockets and waits until it is
// answered. Until the client is answered the guard may take it for one of the
// attackers and close its connections; the client then connects again, as
// libzmq does.
func newcomer(t testing.TB, k *kernel) {
	t.Helper()
	limit := ctx(t)
	for err := meet(limit, k); err != nil; err = meet(limit, k) {
		if limit.Err() != nil {
			t.Fatal("a new client is not answered:", err)
		}
	}
}

// meet connects a client and waits for its first answer.
func meet(ctx context.Context, k *kernel) error {
	c, err := Dial(ctx, k.Connection())
	if err != nil {
		return err
	}
	defer c.Close()
	if _, err := c.Request(wire.Shell, "kernel_info_request", nil); err != nil {
		return err
	}
	_, err = c.Receive(ctx, wire.Shell)
	return err
}

// answer checks that the kernel answers c on shell, control, iopub and the
// heartbeat.
func answer(t testing.TB, c *Client) {
	t.Helper()
	for _, ch := range []wire.Channel{wire.Shell, wire.Control} {
		h, err := c.Request(ch, "kernel_info_request", nil)
		if err != nil {
			t.Fatal(err)
		}
		for {
			m, err := c.Receive(ctx(t), ch)
			if err != nil {
				t.Fatalf("no answer on %s: %v", ch, err)
			}
			if m.Parent.MsgID == h.MsgID {
				break
			}
		}
		for {
			m, err := c.Receive(ctx(t), wire.IOPub)
			if err != nil {
				t.Fatalf("nothing on iopub: %v", err)
			}
			if m.Parent.MsgID == h.MsgID && isIdle(m) {
				break
			}
		}
	}
	if _, err := c.Ping(ctx(t)); err != nil {
		t.Fatal("no heartbeat:", err)
	}
}

// BenchmarkAttacks measures how long a client that was connected before an
// attack, and new clients, wait for answers: during the attack, and afterwards
// while its connections are still open.
func BenchmarkAttacks(b *testing.B) {
	for _, attack := range attacks {
		for who, call := range map[string]func(*kernel, *Client){
			"old": func(_ *kernel, c *Client) { answer(b, c) },
			"new": func(k *kernel, _ *Client) { newcomer(b, k) },
		} {
			b.Run(attack.name+"/"+who, func(b *testing.B) {
				k := start(b, connections(b)["tcp"], hostileOptions())
				old := k.dial(b)
				var attackers sync.WaitGroup
				defer attackers.Wait()
				attackers.Go(func() {
					for _, ch := range wire.Channels {
						attack.do(b, k.Connection(), ch)
					}
				})
				for b.Loop() {
					call(k, old)
				}
			})
		}
	}
}

// Connections that hold all the memory with unfinished messages are closed in
// favour of a client that knows the key.
func TestMemory(t *testing.T) {
	k := start(t, connections(t)["tcp"], hostileOptions()) // 64 MiB
	c := k.dial(t)
	for range 8 {
		a := attack(t, k.Connection(), wire.Shell).introduce("DEALER", "")
		go a.send(append(claim(32<<20), make([]byte, 16<<20)...))
	}
	held := func() int64 {
		k.in.mu.Lock()
		defer k.in.mu.Unlock()
		return k.in.used
	}
	// The next 50 MiB do not fit beside the memory that the attackers
	// hold.
	wait(t, func() bool { return held() > 20<<20 })
	m := wire.Message{Header: wire.NewHeader(c.Session, "", "large_request"), Buffers: [][]byte{make([]byte, 50<<20)}}
	if err := c.Send(wire.Shell, m); err != nil {
		t.Fatal(err)
	}
	reply, err := c.Receive(ctx(t), wire.Shell)
	if err != nil || len(reply.Buffers) != 1 {
		t.Fatalf("no answer to a large message: %v", err)
	}
	// A message above the limit closes the connection of its sender only.
	m.Header = wire.NewHeader(c.Session, "", "larger_request")
	m.Buffers[0] = make([]byte, 70<<20)
	go c.Send(wire.Shell, m)
	other := k.dial(t)
	answer(t, other)
}

// Replayed messages have no effect: neither a client's message, nor, on shell,
// a message that the kernel itself published on iopub.
func TestReplay(t *testing.T) {
	var logged bytes.Buffer
	opts := hostileOptions()
	opts.Log = slog.New(slog.NewTextHandler(&logged, nil))
	k, err := Listen(connections(t)["tcp"], opts)
	if err != nil {
		t.Fatal(err)
	}
	frames, err := wire.NewSigner(key).Encode(wire.Message{Header: wire.NewHeader("client", "u", "execute_request")})
	if err != nil {
		t.Fatal(err)
	}
	a := attack(t, k.Connection(), wire.Shell).introduce("DEALER", "")
	a.send(message(frames...))
	if m, err := k.Receive(ctx(t), wire.Shell); err != nil || m.Header.MsgType != "execute_request" {
		t.Fatal(m, err)
	}
	a.send(message(frames...))
	control := attack(t, k.Connection(), wire.Control).introduce("DEALER", "")
	control.send(message(frames...))
	attackers := map[wire.Channel]attacker{wire.Shell: a, wire.Control: control}
	// The next message received is the next one sent, not a replay.
	for _, ch := range []wire.Channel{wire.Shell, wire.Control} {
		frames, err := wire.NewSigner(key).Encode(wire.Message{Header: wire.NewHeader("client", "u", "next_request")})
		if err != nil {
			t.Fatal(err)
		}
		attackers[ch].send(message(frames...))
		if m, err := k.Receive(ctx(t), ch); err != nil || m.Header.MsgType != "next_request" {
			t.Errorf("replayed on %s: %v, %v", ch, m.Header, err)
		}
	}
	k.Close()
	if n := strings.Count(logged.String(), wire.ErrReplayed.Error()); n != 2 {
		t.Errorf("%d lines in the log, want 2:\n%s", n, &logged)
	}
}

func TestReflected(t *testing.T) {
	k := start(t, connections(t)["tcp"], hostileOptions())
	c := k.dial(t)
	if err := c.Send(wire.Shell, k.message(t, "comm_msg", wire.Header{}, nil)); err != nil {
		t.Fatal(err)
	}
	h, err := c.Request(wire.Shell, "kernel_info_request", nil)
	if err != nil {
		t.Fatal(err)
	}
	if m, err := c.Receive(ctx(t), wire.Shell); err != nil || m.Parent.MsgID != h.MsgID {
		t.Errorf("a message of the kernel's own session was answered: %v, %v", m.Header, err)
	}
}

// A subscriber that stops reading neither blocks the kernel nor fills its
// memory, and the other subscribers miss nothing.
func TestHungSubscriber(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	for name, conn := range connections(t) {
		t.Run(name, func(t *testing.T) {
			opts := hostileOptions()
			opts.Queue = 4 << 20
			opts.Patience = 2 * time.Second // the other subscriber reads more often than this
			k := start(t, conn, opts)
			for range 2 {
				attack(t, k.Connection(), wire.IOPub).introduce("SUB", "").send(message([]byte{1}))
			}
			c := k.dial(t)
			before := heap()
			const size = 1 << 20
			n := 120
			if race {
				n = 60
			}
			text := strings.Repeat("x", size)
			received := make(chan error, 2)
			go func() {
				for i := 0; i < n; {
					m, err := c.Receive(context.Background(), wire.IOPub)
					if err != nil {
						received <- err
						return
					}
					if m.Header.MsgType == "stream" && len(m.Content) > size {
						i++
					}
				}
				received <- nil
			}()
			go func() {
				for range n {
					if err := k.Publish(k.message(t, "stream", wire.Header{}, map[string]string{"text": text})); err != nil {
						received <- err
						return
					}
				}
			}()
			select {
			case err := <-received:
				if err != nil {
					t.Fatal(err)
				}
			case <-time.After(deadline):
				t.Fatal("the other subscriber misses messages")
			}
			if grown := int64(heap()) - int64(before); grown > 64<<20 {
				t.Errorf("memory has grown by %d MiB", grown>>20)
			}
		})
	}
}

// A client that sends requests and never reads the answers is disconnected,
// and no other client is affected.
func TestHungClient(t *testing.T) {
	opts := hostileOptions()
	opts.Queue = 1 << 20
	k := start(t, connections(t)["tcp"], opts)
	c := k.dial(t)
	a := attack(t, k.Connection(), wire.Shell).introduce("DEALER", "hung")
	signer := wire.NewSigner(key)
	content, err := wire.Marshal(map[string]string{"x": strings.Repeat("x", 1<<20)})
	if err != nil {
		t.Fatal(err)
	}
	for range 100 {
		frames, err := signer.Encode(wire.Message{Header: wire.NewHeader("hung", "u", "execute_request"), Content: content})
		if err != nil {
			t.Fatal(err)
		}
		if a.send(message(frames...)) != nil {
			break
		}
	}
	answer(t, c)
	wait(t, func() bool { return !k.guards[wire.Shell].connected("hung") })
}

// When a client connects again under its identity, the new connection replaces
// the old one.
func TestReconnect(t *testing.T) {
	k := start(t, connections(t)["tcp"], hostileOptions())
	old := attack(t, k.Connection(), wire.Stdin).introduce("DEALER", "me")
	wait(t, func() bool { return k.guards[wire.Stdin].connected("me") })
	now := attack(t, k.Connection(), wire.Stdin).introduce("DEALER", "me")
	old.SetReadDeadline(time.Now().Add(deadline))
	if _, err := old.Read(make([]byte, 1)); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("the old connection: %v, want an end", err)
	}
	m := k.message(t, "input_request", wire.Header{}, nil)
	m.Identities = [][]byte{[]byte("me")}
	wait(t, func() bool { return k.guards[wire.Stdin].connected("me") })
	if err := k.Send(wire.Stdin, m); err != nil {
		t.Fatal(err)
	}
	now.SetReadDeadline(time.Now().Add(deadline))
	if _, err := io.ReadFull(now, make([]byte, 100)); err != nil {
		t.Errorf("the new connection: %v", err)
	}
}

// Connections that exceed the handshake's time limit, or pause too long within
// a message, are closed. A connection may stay silent between messages.
func TestDeadlines(t *testing.T) {
	opts := hostileOptions()
	opts.Handshake = 50 * time.Millisecond
	hasty := start(t, connections(t)["tcp"], opts)
	cutOff(t, "silent", attack(t, hasty.Connection(), wire.Shell))
	half := attack(t, hasty.Connection(), wire.Shell)
	half.send(greeting[:])
	cutOff(t, "half introduced", half)

	opts = hostileOptions()
	opts.Stall = 50 * time.Millisecond
	k := start(t, connections(t)["tcp"], opts)
	idle := attack(t, k.Connection(), wire.Shell).introduce("DEALER", "")
	ping(t, idle) // so that there was a limit, which must not last
	for name, bytes := range map[string][]byte{
		"within a message": message([]byte("id"), nil)[:4],
		"within a header":  {flagLong},
		"within a frame":   append(claim(1000), "id"...),
	} {
		a := attack(t, k.Connection(), wire.Shell).introduce("DEALER", "")
		a.send(bytes)
		cutOff(t, name, a)
	}
	ping(t, idle)
}

// A connection is closed for its limits alone, and not below them: messages
// refused in a row, frames of a message, bytes of a command.
func TestLimits(t *testing.T) {
	opts := hostileOptions()
	opts.MaxFrames, opts.Stall = 8, time.Hour // what is unfinished may last
	k := start(t, connections(t)["tcp"], opts)
	subscriber := func() attacker { return attack(t, k.Connection(), wire.IOPub).introduce("SUB", "") }

	refused, taken := message([]byte{2}), message([]byte{0})
	a := subscriber()
	a.send(slices.Concat(bytes.Repeat(refused, maxStrikes-1), taken, bytes.Repeat(refused, maxStrikes-1)))
	ping(t, a)
	a.send(refused)
	cutOff(t, "as many refused messages in a row as end a connection", a)

	more := []byte{flagMore, 0} // an empty frame that others follow
	a = subscriber()
	a.send(append(bytes.Repeat(more, opts.MaxFrames-1), message(nil)...))
	ping(t, a)
	a.send(bytes.Repeat(more, opts.MaxFrames+1))
	cutOff(t, "an unfinished message with a frame too many", a)

	command := func(size uint64) []byte { return binary.BigEndian.AppendUint64([]byte{flagCommand | flagLong}, size) }
	a = subscriber()
	a.send(append(command(maxSmall), append([]byte("\x05OTHER"), make([]byte, maxSmall-6)...)...))
	ping(t, a)
	a.send(command(maxSmall + 1))
	cutOff(t, "the header of a command that is too large", a)
}

// cutOff waits until the kernel closes the connection.
func cutOff(t *testing.T, name string, a attacker) {
	t.Helper()
	a.SetReadDeadline(time.Now().Add(deadline))
	if _, err := io.Copy(io.Discard, a); errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("%s: still connected", name)
	}
}

// The kernel answers PING, which libzmq sends when heartbeats are switched on.
func TestPing(t *testing.T) {
	k := start(t, connections(t)["tcp"], hostileOptions())
	ping(t, attack(t, k.Connection(), wire.IOPub).introduce("SUB", ""))
}

// ping sends a PING and waits for its PONG.
func ping(t *testing.T, a attacker) {
	t.Helper()
	ping := append([]byte{4}, "PING\x00\x64context"...)
	a.send(append(appendFrameHeader(nil, flagCommand, len(ping)), ping...))
	want := append([]byte{flagCommand, 12, 4}, "PONGcontext"...)
	got := make([]byte, len(want))
	a.SetReadDeadline(time.Now().Add(deadline))
	if _, err := io.ReadFull(a, got); err != nil || !bytes.Equal(got, want) {
		t.Errorf("answer %q, %v; want %q", got, err, want)
	}
}

// FuzzGuard sends arbitrary bytes after a handshake and checks that the kernel
// survives.
func FuzzGuard(f *testing.F) {
	frames, err := wire.NewSigner(key).Encode(wire.Message{Header: wire.NewHeader("s", "u", "t")})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(message(frames...), uint8(0))
	f.Add(claim(1<<62), uint8(1))
	f.Add(message([]byte{1}), uint8(3))
	f.Add(message(nil, []byte("ping")), uint8(4))
	f.Add(appendReady(nil, "DEALER", "x"), uint8(2))
	k := start(f, connections(f)["ipc"], hostileOptions())
	c := k.dial(f)
	f.Fuzz(func(t *testing.T, data []byte, n uint8) {
		ch := wire.Channels[int(n)%len(wire.Channels)]
		network, address := k.conn.Address(ch)
		raw, err := net.Dial(network, address)
		if err != nil {
			t.Fatal(err)
		}
		defer raw.Close()
		a := attacker{t, raw}
		if n < 128 {
			a.introduce(socketTypes[ch], "")
		}
		a.send(data)
		answer(t, c)
	})
}

// Until a connection has sent a verified message, its messages are limited to
// firstMessage bytes, however large MaxMessage is: a frame header above the
// limit closes the connection at once. After that the limit is MaxMessage.
func TestFirstMessage(t *testing.T) {
	opts := hostileOptions()
	opts.MaxMessage, opts.Memory, opts.Stall = 2*firstMessage, 8*firstMessage, time.Hour
	k := start(t, connections(t)["tcp"], opts)
	const soon = 15 * time.Second
	conn := k.Connection()
	// gone reports whether the kernel closes a connection.
	gone := func(a attacker, wait time.Duration) bool {
		a.SetReadDeadline(time.Now().Add(wait))
		_, err := io.ReadFull(a, make([]byte, 1<<16))
		var timeout net.Error
		return !errors.As(err, &timeout) || !timeout.Timeout()
	}
	longer := attack(t, conn, wire.Shell).introduce("DEALER", "")
	longer.send(claim(firstMessage + 1))
	if !gone(longer, soon) {
		t.Errorf("an unknown client may claim %d bytes", firstMessage+1)
	}
	as := attack(t, conn, wire.Shell).introduce("DEALER", "")
	as.send(claim(firstMessage))
	if gone(as, 300*time.Millisecond) {
		t.Errorf("an unknown client may not claim %d bytes", firstMessage)
	}
	// The limit applies to the whole message, not to each frame.
	parts := attack(t, conn, wire.Shell).introduce("DEALER", "")
	parts.send(append(message([]byte("identity"), nil)[:10], claim(firstMessage)...))
	if !gone(parts, soon) {
		t.Errorf("an unknown client may claim %d bytes in two frames", firstMessage+8)
	}
	known := attack(t, conn, wire.Shell).introduce("DEALER", "")
	frames, err := wire.NewSigner(conn.Key).Encode(wire.Message{Header: wire.NewHeader("s", "u", "kernel_info_request")})
	if err != nil {
		t.Fatal(err)
	}
	known.send(message(frames...))
	if gone(known, 300*time.Millisecond) {
		t.Fatal("a verified message ends the connection")
	}
	known.send(claim(firstMessage + 1))
	if gone(known, 300*time.Millisecond) {
		t.Errorf("a client that is known may not claim %d bytes", firstMessage+1)
	}
	beyond := attack(t, conn, wire.Shell).introduce("DEALER", "")
	beyond.send(message(frames...))
	beyond.send(claim(2*firstMessage + 1))
	if !gone(beyond, soon) {
		t.Error("MaxMessage is no limit")
	}
}
