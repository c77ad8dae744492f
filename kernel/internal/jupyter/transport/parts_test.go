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
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"dace.local/kernel/internal/jupyter/wire"
)

// guardOf returns a guard without a network.
func guardOf(kind socketKind, opts Options) *guard {
	opts = opts.withDefaults()
	return &guard{
		shared: shared{
			opts: opts, signer: wire.NewSigner(key), in: newBudget(opts.Memory), log: newLimiter(opts.Log),
			trusted: new(identities), heavy: new(sync.Mutex),
		},
		kind: kind, limits: wire.Limits{Frames: 3, Size: 2 * piece}, ids: make(map[string]*peer),
		accepted: make(chan *peer), closed: make(chan struct{}), released: make(chan struct{}),
	}
}

// peerOf returns a peer of a guard that has sent text. No writer empties its queue.
func peerOf(t *testing.T, g *guard, text []byte) *peer {
	here, there := net.Pipe()
	t.Cleanup(func() { here.Close(); there.Close() })
	p := &peer{g: g, raw: here, br: bufio.NewReaderSize(bytes.NewReader(text), readBuffer), between: true}
	p.changed.L = &p.mu
	return p
}

// The frames' ends are found wherever the stream is cut, those of long frames, too.
func TestFramer(t *testing.T) {
	var stream []byte
	var frames, messages []int // where they end
	for _, m := range [][]int{{0}, {1}, {255}, {256}, {3, 0, 300}, {0, 255, 256, 257, 1}} {
		for i, n := range m {
			flags := byte(flagMore)
			if i == len(m)-1 {
				flags = 0
			}
			stream = append(appendFrameHeader(stream, flags, n), bytes.Repeat([]byte{0xFF}, n)...)
			frames = append(frames, len(stream))
		}
		messages = append(messages, len(stream))
	}
	for size := 1; size < 600; size++ {
		var f framer
		var gotFrames, gotMessages []int
		at := 0
		for piece := range slices.Chunk(stream, size) {
			for len(piece) > 0 {
				n, frameEnd, messageEnd := f.next(piece)
				at, piece = at+n, piece[n:]
				if frameEnd {
					gotFrames = append(gotFrames, at)
				}
				if messageEnd {
					gotMessages = append(gotMessages, at)
				}
			}
		}
		if !slices.Equal(gotFrames, frames) || !slices.Equal(gotMessages, messages) {
			t.Fatalf("in pieces of %d bytes frames end at %v, messages at %v; want %v and %v", size, gotFrames, gotMessages, frames, messages)
		}
	}
	for r, n := bytes.NewReader(stream), 0; n < len(frames); n++ {
		flags, size, err := readFrameHeader(r)
		at := len(stream) - r.Len() + int(size)
		if err != nil || at != frames[n] || (flags&flagMore == 0) != slices.Contains(messages, at) {
			t.Fatalf("frame %d ends at %d with flags %d, %v; want %d", n, at, flags, err, frames[n])
		}
		_, _ = io.CopyN(io.Discard, r, int64(size))
	}
}

// Half a header has neither flags nor a size.
func TestFrameHeaderErrors(t *testing.T) {
	for _, text := range []string{"", "\x00", "\x80\x00", "\x02\x00\x00"} {
		if flags, size, err := readFrameHeader(strings.NewReader(text)); err == nil || flags != 0 || size != 0 {
			t.Errorf("%q: %d, %d, %v", text, flags, size, err)
		}
	}
}

func TestCommand(t *testing.T) {
	for _, c := range []struct {
		body, name, data string
		ok               bool
	}{
		{"", "", "", false}, {"\x00", "", "", true}, {"\x01", "", "", false}, {"\x01a", "a", "", true},
		{"\x02a", "", "", false}, {"\x01ab", "a", "b", true}, {"\x00ab", "", "ab", true},
	} {
		if name, data, ok := command([]byte(c.body)); name != c.name || string(data) != c.data || ok != c.ok {
			t.Errorf("%q: %q, %q, %v; want %q, %q, %v", c.body, name, data, ok, c.name, c.data, c.ok)
		}
	}
}

// The version of ZMTP may be newer; all else of a greeting is as it should be.
func TestGreeting(t *testing.T) {
	for _, c := range []struct {
		at   int
		b    byte
		want string
	}{
		{0, 0xFF, ""}, {5, 1, ""}, {10, 4, ""}, {11, 9, ""}, {32, 1, ""}, {63, 1, ""},
		{0, 0xFE, "not a ZeroMQ greeting"}, {9, 0x7E, "not a ZeroMQ greeting"}, {10, 2, "ZMTP version 2.0"},
		{12, 'n', "mechanism"}, {16, 'X', "mechanism"},
	} {
		g := greeting
		g[c.at] = c.b
		err := readGreeting(bytes.NewReader(g[:]))
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("byte %d is %#x: %v, want %q", c.at, c.b, err, c.want)
		}
	}
	g := greeting
	g[12] = 0
	copy(g[12:], strings.Repeat("N", 30))
	if err := readGreeting(bytes.NewReader(g[:])); err == nil || !strings.Contains(err.Error(), `"`+strings.Repeat("N", 20)+`"`) {
		t.Errorf("a mechanism of 20 bytes: %v", err)
	}
	for n, want := range map[int]string{0: "no greeting", 9: "no greeting", 10: "half a greeting", 63: "half a greeting"} {
		if err := readGreeting(bytes.NewReader(greeting[:n])); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%d bytes: %v, want %s", n, err, want)
		}
	}
}

// A peer's properties may be of any case, unknown or empty, up to the largest command.
func TestReadyProperties(t *testing.T) {
	property := func(name, value string) string {
		return string(rune(len(name))) + name + string([]byte{0, 0, byte(len(value) >> 8), byte(len(value))}) + value
	}
	for text, want := range map[string][2]string{
		"":                          {},
		property("Socket-Type", ""): {},
		property("SOCKET-TYPE", "SUB") + property("x", "y") + property("identity", "me"): {"SUB", "me"},
		property("Identity", strings.Repeat("i", maxReady-6-13)):                         {"", strings.Repeat("i", maxReady-6-13)},
	} {
		body := "\x05READY" + text
		socketType, id, err := readReady(strings.NewReader(string(appendFrameHeader(nil, flagCommand, len(body))) + body))
		if err != nil || socketType != want[0] || id != want[1] {
			t.Errorf("%d bytes: %q, %q, %v; want %q", len(body), socketType, id, err, want)
		}
	}
}

// The log has ten lines in ten seconds at most, and then how many were left out.
func TestLimiter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b bytes.Buffer
		l := newLimiter(slog.New(slog.NewTextHandler(&b, nil)))
		lines := func(text string) int { defer b.Reset(); return strings.Count(b.String(), text) }
		for range 13 {
			l.warn("refused", "client", "x")
		}
		if n := lines("msg=refused client=x"); n != 10 {
			t.Errorf("%d lines, want 10", n)
		}
		time.Sleep(10 * time.Second)
		l.warn("refused")
		if text := b.String(); text != "" {
			t.Errorf("within ten seconds: %s", text)
		}
		time.Sleep(time.Nanosecond)
		l.warn("refused")
		if n, out := strings.Count(b.String(), "msg=refused"), lines(`"lines left out"=4`); n != 1 || out != 1 {
			t.Errorf("after ten seconds %d lines and %d times how many were left out", n, out)
		}
		time.Sleep(time.Minute)
		l.warn("refused")
		if text := b.String(); strings.Contains(text, "left out") || !strings.Contains(text, "refused") {
			t.Errorf("none was left out: %s", text)
		}
	})
}

// Memory that is left is given at once, to the last byte. For more, the untrusted
// connection that holds the most ends, until there is enough.
func TestBudgetVictims(t *testing.T) {
	type held struct {
		n       int64
		trusted bool
	}
	for name, c := range map[string]struct {
		others  []held
		trusted bool // the one that asks
		n       int64
		closed  []int
		want    error
		used    int64
	}{
		"all that is left":         {[]held{{60, true}}, false, 40, nil, nil, 100},
		"more than is left":        {[]held{{60, true}}, false, 41, nil, errMemory, 60},
		"the largest ends":         {[]held{{30, false}, {40, false}, {20, true}}, false, 20, []int{1}, nil, 70},
		"itself is the largest":    {[]held{{30, false}, {40, true}}, false, 31, nil, errMemory, 70},
		"as large as another":      {[]held{{30, false}, {50, true}}, false, 30, nil, errMemory, 80},
		"two end":                  {[]held{{50, false}, {30, false}, {20, true}}, true, 80, []int{0, 1}, nil, 100},
		"none that may end":        {[]held{{50, true}, {50, true}}, true, 1, nil, errMemory, 100},
		"a trusted one never ends": {[]held{{90, true}, {10, false}}, false, 5, []int{1}, nil, 95},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := guardOf(router, Options{Memory: 100})
				var others []*peer
				for _, h := range c.others {
					p := peerOf(t, g, nil)
					p.trusted.Store(h.trusted)
					if err := g.in.acquire(p, h.n, 0); err != nil {
						t.Fatal(err)
					}
					others = append(others, p)
				}
				asks := peerOf(t, g, nil)
				asks.trusted.Store(c.trusted)
				begun := time.Now()
				err := g.in.acquire(asks, c.n, time.Second)
				if took := time.Since(begun); err != c.want || took > time.Second || g.in.used != c.used {
					t.Errorf("%v after %v, %d bytes used; want %v and %d", err, took, g.in.used, c.want, c.used)
				}
				for i, p := range others {
					if closed := slices.Contains(c.closed, i); p.closed.Load() != closed || closed && g.in.reading[p] != 0 {
						t.Errorf("connection %d is closed: %v, want %v; holds %d", i, p.closed.Load(), closed, g.in.reading[p])
					}
				}
			})
		})
	}
	// Who waits gives up when its connection ends.
	synctest.Test(t, func(t *testing.T) {
		g := guardOf(router, Options{Memory: 100})
		full, asks := peerOf(t, g, nil), peerOf(t, g, nil)
		full.trusted.Store(true)
		asks.trusted.Store(true)
		if err := g.in.acquire(full, 100, 0); err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(time.Second, func() {
			asks.closed.Store(true)
			g.in.drop(peerOf(t, g, nil)) // wakes who waits
		})
		begun := time.Now()
		if err, took := g.in.acquire(asks, 1, time.Minute), time.Since(begun); err != errMemory || took != time.Second {
			t.Errorf("%v after %v, want the end of its connection after a second", err, took)
		}
	})
}

func TestCut(t *testing.T) {
	for n, want := range map[int]string{0: "|abc,d,efgh", 1: "a|bc,d,efgh", 3: "abc|d,efgh", 4: "abc,d|efgh", 5: "abc,d,e|fgh", 7: "abc,d,efg|h", 8: "abc,d,efgh|", 9: "abc,d,efgh|"} {
		head, rest := cut([][]byte{[]byte("abc"), []byte("d"), []byte("efgh")}, n)
		join := func(list [][]byte) string {
			list = slices.DeleteFunc(list, func(b []byte) bool { return len(b) == 0 })
			return string(bytes.Join(list, []byte(",")))
		}
		if got := join(head) + "|" + join(rest); got != want {
			t.Errorf("%d bytes: %s, want %s", n, got, want)
		}
	}
}

// Short pieces are copied together, long ones queued as they are.
func TestPush(t *testing.T) {
	p := peerOf(t, guardOf(router, Options{}), nil)
	var want []int
	total := 0
	push := func(n int, queue ...int) {
		t.Helper()
		p.push(make([]byte, n))
		total += n
		if want = queue; p.queued.Load() != int64(total) {
			t.Errorf("%d bytes are counted, not %d", p.queued.Load(), total)
		}
		var got []int
		for _, b := range p.queue {
			got = append(got, len(b))
		}
		if !slices.Equal(got, want) {
			t.Errorf("after %d bytes: %v, want %v", n, got, want)
		}
	}
	push(0)
	push(10, 10)
	push(copied, 10+copied)
	push(copied+1, 10+copied, copied+1)
	push(5, 10+copied, copied+1, 5)
	for p.queued.Add(copied); len(p.queue[2]) < piece-copied; p.queued.Add(copied) {
		p.queue[2] = append(p.queue[2], make([]byte, copied)...)
		total += copied
	}
	total += copied
	p.queue[2] = p.queue[2][:piece-1]
	push(1, 10+copied, copied+1, piece)
	push(1, 10+copied, copied+1, piece, 1)
	big := make([]byte, copied+1)
	if p.push(big); &p.queue[len(p.queue)-1][0] != &big[0] {
		t.Error("a long piece was copied")
	}
}

// A client with more than twice the limit queued ends; one with more than the limit gets no
// answers to its commands, nor does one whose message is not at its end.
func TestBehind(t *testing.T) {
	g := guardOf(router, Options{Queue: 1 << 20})
	limit := g.queueLimit()
	p := peerOf(t, g, nil)
	p.queued.Store(2 * limit)
	if err := p.write(message([]byte("x"))); err != nil || p.passed != 1 || !p.flushing || p.queued.Load() != 2*limit+3 {
		t.Errorf("at twice the limit: %v, %d messages, %d bytes", err, p.passed, p.queued.Load())
	}
	if err := p.write(message([]byte("x"))); err != errBehind {
		t.Errorf("above twice the limit: %v", err)
	}
	if err := p.write(nil); err != nil {
		t.Errorf("nothing to write: %v", err)
	}
	if n, err := p.Write(message([]byte("x"))); n != 0 || err != net.ErrClosed || !p.closed.Load() {
		t.Errorf("above twice the limit: %d, %v, closed: %v", n, err, p.closed.Load())
	}
	p = peerOf(t, g, nil)
	p.queued.Store(2*limit + 1)
	p.between = false // within a message
	if err := p.write([]byte{flagMore, 0}); err != nil || p.between || p.flushing || p.passed != 0 {
		t.Errorf("within a message: %v", err)
	}
	for name, c := range map[string]struct {
		change func(p *peer)
		want   int64
	}{
		"at the limit":     {func(p *peer) { p.queued.Store(limit) }, limit + 3},
		"above":            {func(p *peer) { p.queued.Store(limit + 1) }, limit + 1},
		"dead":             {func(p *peer) { p.dead = true }, 0},
		"within a message": {func(p *peer) { p.between = false }, 0},
	} {
		p := peerOf(t, g, nil)
		c.change(p)
		before := p.queued.Load()
		if p.enqueue([]byte("abc")); p.queued.Load() != c.want || p.flushing != (c.want > before) {
			t.Errorf("%s: %d bytes queued, want %d", name, p.queued.Load(), c.want)
		}
	}
	g.peers = nil
	for _, n := range []int64{limit - 1, limit, limit + 1, 0} {
		p := peerOf(t, g, nil)
		p.queued.Store(n)
		g.peers = append(g.peers, p)
	}
	if list := g.behind(); len(list) != 1 || list[0] != g.peers[2] {
		t.Errorf("behind are %d, want the third", len(list))
	}
	if g.drained() {
		t.Error("what is queued counts as written")
	}
	g.peers = g.peers[3:]
	if !g.drained() {
		t.Error("nothing is queued, and counts as not written")
	}
	g.peers[0].queued.Store(1)
	if g.drained() {
		t.Error("one byte counts as written")
	}
}

// zmq4's own greeting and READY are not sent: the guard has done that.
func TestSkipHandshake(t *testing.T) {
	own := append(greeting[:], appendReady(nil, "ROUTER", "")...)
	stream := slices.Concat(own, message([]byte("a")), message([]byte("b"), []byte("c")))
	for size := 1; size <= len(stream); size++ {
		p := peerOf(t, guardOf(router, Options{}), nil)
		p.skip, p.skipping, p.between = greetingSize, true, false
		for b := range slices.Chunk(stream, size) {
			if n, err := p.Write(b); n != len(b) || err != nil {
				t.Fatal(n, err)
			}
		}
		if got := bytes.Join(p.queue, nil); !bytes.Equal(got, stream[len(own):]) || p.passed != 2 || !p.between {
			t.Fatalf("in pieces of %d bytes: %q, %d messages", size, got, p.passed)
		}
	}
	p := peerOf(t, guardOf(router, Options{}), nil)
	p.dead = true
	if _, err := p.Write(message(nil)); err != net.ErrClosed {
		t.Errorf("to a connection that has ended: %v", err)
	}
	p = peerOf(t, guardOf(router, Options{}), nil)
	p.skip, p.skipping, p.dead = greetingSize, true, true
	if n, err := p.Write(own); n != len(own) || err != nil {
		t.Errorf("the handshake of a connection that has ended: %d, %v", n, err)
	}
}

func TestGuardLimits(t *testing.T) {
	k := start(t, connections(t)["ipc"], Options{MaxFrames: 77, MaxMessage: 99})
	for _, ch := range wire.Channels {
		want := wire.Limits{Frames: 77, Size: 99}
		if ch == wire.IOPub || ch == wire.HB {
			want = wire.Limits{Frames: 8, Size: maxSmall}
		}
		if got := k.guards[ch].limits; got != want {
			t.Errorf("%s: %+v, want %+v", ch, got, want)
		}
	}
	for _, c := range []struct {
		ch            wire.Channel
		queue, memory int64
		peers         int64
		want          int64
	}{
		{wire.HB, 5 << 20, 10 << 20, 1, maxSmall}, {wire.Shell, 5 << 20, 10 << 20, 0, 5 << 20}, {wire.Shell, 5 << 20, 10 << 20, 2, 5 << 20},
		{wire.Shell, 5 << 20, 12 << 20, 3, 4 << 20}, {wire.IOPub, 5 << 20, 10 << 20, 100, 1 << 20}, {wire.IOPub, 1, 10 << 20, 1, 1 << 20},
	} {
		g := guardOf(router, Options{Queue: c.queue, Memory: c.memory})
		g.channel = c.ch
		if g.count.Store(c.peers); g.queueLimit() != c.want {
			t.Errorf("%+v: %d", c, g.queueLimit())
		}
	}
}

// The oldest connection that has sent nothing makes room for a new one, else the newest
// that is not trusted; if all are, the new one is refused.
func TestAdmit(t *testing.T) {
	for states, victim := range map[string]int{ // new, active or trusted
		"":    -1,
		"nn":  -1,
		"nnn": 0,
		"ann": 1,
		"tan": 2,
		"aaa": 2,
		"taa": 2,
		"aat": 1,
		"tta": 2,
		"att": 0,
		"ttt": 3,
	} {
		g := guardOf(router, Options{MaxConns: 3})
		p := peerOf(t, g, nil)
		for _, s := range states {
			q := peerOf(t, g, nil)
			q.active.Store(s != 'n')
			q.trusted.Store(s == 't')
			if err := g.admit(q); err != nil {
				t.Fatal(err)
			}
		}
		old := slices.Clone(g.peers)
		err := g.admit(p)
		if want := victim == 3; (err != nil) != want || slices.Contains(g.peers, p) == want {
			t.Errorf("%s: %v", states, err)
		}
		for i, q := range old {
			if q.closed.Load() != (i == victim) || slices.Contains(g.peers, q) != (i != victim) {
				t.Errorf("%s: connection %d is closed: %v", states, i, q.closed.Load())
			}
		}
		if g.count.Load() != int64(len(g.peers)) {
			t.Errorf("%s: %d connections, counted %d", states, len(g.peers), g.count.Load())
		}
	}
}

// A connection that joins has its identity's messages, unless it has ended; when an old one
// of that identity ends, they are still the new one's.
func TestJoin(t *testing.T) {
	g := guardOf(router, Options{})
	var peers [3]*peer
	for i := range peers {
		peers[i] = peerOf(t, g, nil)
		peers[i].id = "x"
	}
	peers[2].close(nil)
	g.join(peers[0])
	g.join(peers[1])
	if !peers[0].closed.Load() || g.ids["x"] != peers[1] || !g.connected("x") || g.connected("y") {
		t.Error("the new connection does not replace the old one")
	}
	g.join(peers[2])
	if !peers[1].closed.Load() || g.connected("x") {
		t.Error("a connection that has ended is connected")
	}
	sub := guardOf(publisher, Options{})
	sub.join(peers[0])
	if len(sub.ids) != 0 {
		t.Error("a subscriber can be sent messages")
	}
}

func TestWithout(t *testing.T) {
	for _, x := range []int{1, 2, 3, 4} {
		list := []int{1, 2, 3}
		want := slices.DeleteFunc(slices.Clone(list), func(y int) bool { return x == y })
		if got := without(list, x); !slices.Equal(got, want) {
			t.Errorf("without %d: %v, want %v", x, got, want)
		}
	}
}

func TestIdentities(t *testing.T) {
	s := new(identities)
	for i := range maxIdentities {
		s.add(fmt.Sprint(i))
	}
	if !s.has("0") || !s.has(fmt.Sprint(maxIdentities-1)) || s.has("another") {
		t.Error("as many identities as may be known are not")
	}
	if s.add("another"); s.has("0") || !s.has("another") {
		t.Error("one more does not replace the others")
	}
}

// A connection to iopub sends subscriptions of few and short topics and their ends, one to
// the heartbeat requests.
func TestVerify(t *testing.T) {
	topics := func(n int) map[string]struct{} {
		m := map[string]struct{}{}
		for i := range n {
			m[fmt.Sprint(i)] = struct{}{}
		}
		return m
	}
	long := strings.Repeat("x", 255)
	for name, c := range map[string]struct {
		kind   socketKind
		frames []string
		topics int // before
		want   error
		heard  []string
		left   int
	}{
		"a topic":              {publisher, []string{"\x01a"}, 0, nil, []string{"a"}, 1},
		"the empty topic":      {publisher, []string{"\x01"}, 0, nil, []string{""}, 1},
		"the longest topic":    {publisher, []string{"\x01" + long}, 0, nil, []string{long}, 1},
		"a longer topic":       {publisher, []string{"\x01" + long + "x"}, 0, wire.ErrTooLarge, nil, 0},
		"as many as allowed":   {publisher, []string{"\x01a"}, maxTopics - 1, nil, []string{"a"}, maxTopics},
		"more than allowed":    {publisher, []string{"\x01a"}, maxTopics, wire.ErrTooLarge, nil, maxTopics},
		"the end of a topic":   {publisher, []string{"\x003"}, maxTopics, nil, nil, maxTopics - 1},
		"the end of none":      {publisher, []string{"\x00a"}, 3, nil, nil, 3},
		"neither":              {publisher, []string{"\x02a"}, 0, wire.ErrMalformed, nil, 0},
		"two frames":           {publisher, []string{"\x01a", ""}, 0, wire.ErrMalformed, nil, 0},
		"nothing":              {publisher, []string{""}, 0, wire.ErrMalformed, nil, 0},
		"a request":            {replier, []string{"", "ping"}, 0, nil, nil, 0},
		"an empty request":     {replier, []string{"", ""}, 0, nil, nil, 0},
		"no request":           {replier, []string{"x", "ping"}, 0, wire.ErrMalformed, nil, 0},
		"a request cut short":  {replier, []string{""}, 0, wire.ErrMalformed, nil, 0},
		"an unsigned message":  {router, []string{"<IDS|MSG>", "", "{}"}, 0, wire.ErrMalformed, nil, 0},
		"too many for a guard": {router, []string{"", "", "", ""}, 0, wire.ErrTooLarge, nil, 0},
	} {
		g := guardOf(c.kind, Options{})
		p := peerOf(t, g, nil)
		if c.topics > 0 {
			p.topics = topics(c.topics)
		}
		var frames [][]byte
		for _, f := range c.frames {
			frames = append(frames, []byte(f))
		}
		err := g.check(p, frames)
		if !errors.Is(err, c.want) || !slices.Equal(p.heard, c.heard) || len(p.topics) != c.left {
			t.Errorf("%s: %v, heard %q, %d topics; want %v, %q, %d", name, err, p.heard, len(p.topics), c.want, c.heard, c.left)
		}
		if released := -g.in.used; released != size(frames) {
			t.Errorf("%s: %d bytes released, want %d", name, released, size(frames))
		}
	}
	// What goes on to Receive keeps its memory, and its sender is trusted.
	g := guardOf(router, Options{})
	g.limits = wire.Limits{}
	p := peerOf(t, g, nil)
	p.id = "me"
	frames, err := g.signer.Encode(wire.Message{Header: wire.NewHeader("s", "u", "t"), Buffers: [][]byte{make([]byte, piece+1)}})
	if err := errors.Join(err, g.check(p, frames)); err != nil || g.in.used != 0 || !p.trusted.Load() || !g.trusted.has("me") {
		t.Errorf("a signed message: %v, %d bytes released", err, -g.in.used)
	}
	if !g.heavy.TryLock() {
		t.Fatal("a large message is checked for ever")
	}
	defer g.heavy.Unlock()
	// While one is checked, those of whom is trusted, and small ones, do not wait.
	for name, n := range map[string]int{"me": piece + 1, "another": 10} {
		p := peerOf(t, g, nil)
		p.id = name
		frames, err := g.signer.Encode(wire.Message{Header: wire.NewHeader("s", "u", "t"), Buffers: [][]byte{make([]byte, n)}})
		if err := errors.Join(err, g.check(p, frames)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A connection with the identity of a client that is known is trusted at once.
func TestTrustedAgain(t *testing.T) {
	k := start(t, connections(t)["ipc"], Options{})
	k.guards[wire.Shell].trusted.add("me")
	for id, want := range map[string]bool{"me": true, "other": false} {
		attack(t, k.Connection(), wire.Shell).introduce("DEALER", id)
		wait(t, func() bool { return k.guards[wire.Shell].connected(id) })
		g := k.guards[wire.Shell]
		g.mu.Lock()
		if got := g.ids[id].trusted.Load(); got != want {
			t.Errorf("%s is trusted: %v", id, got)
		}
		g.mu.Unlock()
	}
}

// A guard that is shut waits until zmq4 has closed its connections, for a second at most.
func TestShut(t *testing.T) {
	for ends, want := range map[time.Duration]time.Duration{0: 0, 300 * time.Millisecond: 300 * time.Millisecond, time.Minute: time.Second} {
		synctest.Test(t, func(t *testing.T) {
			g := guardOf(publisher, Options{})
			g.ln = &acceptor{make(chan net.Conn)}
			g.tap = newPeer(g, nil, nil, "SUB", "")
			p := peerOf(t, g, nil)
			if err := g.admit(p); err != nil {
				t.Fatal(err)
			}
			time.AfterFunc(ends, g.wg.Done)
			time.Sleep(time.Nanosecond)
			begun := time.Now()
			if g.shut(); time.Since(begun).Round(time.Millisecond) != want || !p.closed.Load() || !g.tap.closed.Load() {
				t.Errorf("%v, want %v; closed: %v, %v", time.Since(begun), want, p.closed.Load(), g.tap.closed.Load())
			}
			time.Sleep(time.Minute)
		})
	}
}

// A message of a connection is read whole, with its memory, up to the limits.
func TestPeerRead(t *testing.T) {
	cmd := func(text string) []byte {
		return append(appendFrameHeader(nil, flagCommand, len(text)), text...)
	}
	x := bytes.Repeat([]byte("x"), 2*piece)
	for name, c := range map[string]struct {
		sent []byte
		want [][]byte
		err  string
		pong string
	}{
		"nothing":               {nil, nil, "EOF", ""},
		"a frame":               {message([]byte("a")), [][]byte{[]byte("a")}, "", ""},
		"an empty frame":        {message(nil), [][]byte{{}}, "", ""},
		"as many frames":        {message(nil, []byte("a"), nil), [][]byte{{}, []byte("a"), {}}, "", ""},
		"a frame more":          {message(nil, nil, nil, nil), nil, "more than 3 frames", ""},
		"as many bytes":         {message(x[:1], x[1:]), [][]byte{x[:1], x[1:]}, "", ""},
		"a byte more":           {message(x[:1], x[:0], x), nil, "frame of 524288 bytes, at most 524288 are read", ""},
		"half a frame":          {message(x)[:100], nil, "unexpected EOF", ""},
		"half a header":         {[]byte{0}, nil, "unexpected EOF", ""},
		"half a message":        {[]byte{flagMore, 0}, nil, "EOF", ""},
		"a command":             {append(cmd("\x05OTHERx"), message([]byte("a"))...), [][]byte{[]byte("a")}, "", ""},
		"a ping":                {append(cmd("\x04PING\x00\x64"), message(nil)...), [][]byte{{}}, "", "\x04\x05\x04PONG"},
		"a ping without time":   {append(cmd("\x04PING"), message(nil)...), [][]byte{{}}, "", "\x04\x05\x04PONG"},
		"a ping with half":      {append(cmd("\x04PING\x00"), message(nil)...), [][]byte{{}}, "", "\x04\x05\x04PONG"},
		"a ping with context":   {append(cmd("\x04PING\x00\x640123456789abcdef"), message(nil)...), [][]byte{{}}, "", "\x04\x15\x04PONG0123456789abcdef"},
		"a ping with more":      {append(cmd("\x04PING\x00\x640123456789abcdefg"), message(nil)...), [][]byte{{}}, "", "\x04\x15\x04PONG0123456789abcdef"},
		"a subscription":        {cmd("\x09SUBSCRIBEab"), [][]byte{[]byte("\x01ab")}, "", ""},
		"its end":               {cmd("\x06CANCELab"), [][]byte{[]byte("\x00ab")}, "", ""},
		"a malformed command":   {cmd("\x09SUB"), nil, "malformed command", ""},
		"a command within":      {append([]byte{flagMore, 0}, cmd("\x01x")...), nil, "misplaced command", ""},
		"a command to continue": {[]byte{flagCommand | flagMore, 2, 1, 'x'}, nil, "misplaced command", ""},
	} {
		g := guardOf(router, Options{})
		p := peerOf(t, g, c.sent)
		got, err := p.read()
		if (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) || !slices.EqualFunc(got, c.want, bytes.Equal) {
			t.Errorf("%s: %d frames, %v; want %d, %q", name, len(got), err, len(c.want), c.err)
		}
		if g.in.used != size(c.want) || len(g.in.reading) != 0 {
			t.Errorf("%s: %d bytes used, want %d", name, g.in.used, size(c.want))
		}
		if pong := string(bytes.Join(p.queue, nil)); pong != c.pong {
			t.Errorf("%s: answered %q, want %q", name, pong, c.pong)
		}
	}
}

// The memory of a long frame grows with what has arrived, that of a trusted client's at once.
func TestBody(t *testing.T) {
	for _, trusted := range []bool{false, true} {
		for _, n := range []int{0, 1, piece - 1, piece, piece + 1, 4 * piece, 4*piece + 1, 20 * piece} {
			text := bytes.Repeat([]byte("0123456789abcdef!"), n/17+1)[:n]
			p := peerOf(t, guardOf(router, Options{}), text)
			p.trusted.Store(trusted)
			got, err := p.body(n)
			if held := p.g.in.reading[p]; err != nil || !bytes.Equal(got, text) || held != int64(n+frameOverhead) {
				t.Errorf("%d bytes: %d, %v, memory of %d", n, len(got), err, held)
			}
		}
		for have, want := range map[int]int{0: piece, piece - 1: piece, piece: 4 * piece, 4*piece - 1: 4 * piece, 4 * piece: 16 * piece} {
			p := peerOf(t, guardOf(router, Options{}), make([]byte, have))
			if p.trusted.Store(trusted); trusted && have >= piece {
				want = 50 * piece
			}
			if _, err := p.body(50 * piece); err == nil || p.g.in.reading[p] != int64(want+frameOverhead) {
				t.Errorf("%d bytes of a frame of %d, trusted: %v: %v, memory of %d, want %d", have, 50*piece, trusted, err, p.g.in.reading[p], want+frameOverhead)
			}
		}
	}
	p := peerOf(t, guardOf(router, Options{Memory: 2 * piece}), make([]byte, 4*piece))
	if _, err := p.body(4 * piece); err != errMemory {
		t.Errorf("a frame that is larger than the memory: %v", err)
	}
}

func TestOrdinary(t *testing.T) {
	for _, err := range []error{io.EOF, net.ErrClosed, syscall.ECONNRESET, syscall.EPIPE} {
		if !ordinary(fmt.Errorf("read: %w", err)) {
			t.Errorf("%v is no ordinary end", err)
		}
	}
	if ordinary(io.ErrUnexpectedEOF) {
		t.Error("half a message is an ordinary end")
	}
}

// A recorder is a connection that records each write.
type recorder struct {
	net.Conn
	writes []int
}

func (r *recorder) Write(b []byte) (int, error) {
	r.writes = append(r.writes, len(b))
	return len(b), nil
}

// A client's greeting and messages go out whole, each with one system call.
func TestDialedFlushes(t *testing.T) {
	var stream []byte
	var want []int
	for _, b := range [][]byte{greeting[:], message([]byte("a"), nil, []byte("b")), message(make([]byte, 300)), message(nil)} {
		stream = append(stream, b...)
		want = append(want, len(b))
	}
	for size := 1; size <= len(stream); size++ {
		r := &recorder{}
		d := &dialed{Conn: r, w: bufio.NewWriterSize(r, piece), greeting: greetingSize}
		for b := range slices.Chunk(stream, size) {
			if n, err := d.Write(b); n != len(b) || err != nil {
				t.Fatal(n, err)
			}
		}
		if !slices.Equal(r.writes, want) {
			t.Fatalf("in pieces of %d bytes: writes of %v, want %v", size, r.writes, want)
		}
	}
}

// An acceptor is a listener that accepts what a test sends.
type acceptor struct{ conns chan net.Conn }

func (a *acceptor) Accept() (net.Conn, error) {
	c, ok := <-a.conns
	switch {
	case !ok:
		return nil, net.ErrClosed
	case c == nil:
		return nil, syscall.EMFILE
	}
	return c, nil
}

func (a *acceptor) Close() error   { close(a.conns); return nil }
func (a *acceptor) Addr() net.Addr { return &net.UnixAddr{Name: "here"} }

// A connection during its handshake that is one too many replaces the oldest; what cannot
// be accepted, or is no ZeroMQ, is logged; and the guard's end is that of all.
func TestNascent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		g := guardOf(router, Options{Handshake: time.Hour, Log: slog.New(slog.NewTextHandler(&log, nil))})
		ln := &acceptor{make(chan net.Conn)}
		g.ln = ln
		go g.acceptLoop()
		ended := map[int]bool{}
		var mu sync.Mutex
		dial := func(i int, text string) {
			here, there := net.Pipe()
			ln.conns <- here
			go func() {
				_, _ = io.CopyN(io.Discard, there, int64(len(appendReady(greeting[:], "ROUTER", ""))))
				_, _ = io.WriteString(there, text)
				_, _ = io.Copy(io.Discard, there)
				mu.Lock()
				defer mu.Unlock()
				ended[i] = true
			}()
			synctest.Wait()
		}
		list := func() []int {
			mu.Lock()
			defer mu.Unlock()
			var l []int
			for i := range maxNascent + 2 {
				if ended[i] {
					l = append(l, i)
				}
			}
			return l
		}
		for i := range maxNascent {
			dial(i, "")
		}
		if l := list(); l != nil {
			t.Errorf("%v have ended below the limit", l)
		}
		dial(maxNascent, "")
		if l := list(); !slices.Equal(l, []int{0}) {
			t.Errorf("%v have ended, want the oldest", l)
		}
		ln.conns <- nil
		time.Sleep(20 * time.Millisecond)
		dial(maxNascent+1, "GET / HTTP/1.1\r\n")
		if l := list(); !slices.Equal(l, []int{0, 1, maxNascent + 1}) {
			t.Errorf("%v have ended, want the two oldest and the last", l)
		}
		if len(g.nascent) != maxNascent-1 {
			t.Errorf("%d in their handshake", len(g.nascent))
		}
		for _, want := range []string{"cannot accept connections", "connection refused", "not a ZeroMQ greeting"} {
			if !strings.Contains(log.String(), want) {
				t.Errorf("the log does not say %q: %s", want, &log)
			}
		}
		g.shut()
		synctest.Wait()
		if l := list(); len(l) != maxNascent+2 {
			t.Errorf("%d have ended, not all", len(l))
		}
	})
}

// An identity is of at most 255 bytes and does not begin as the generated ones do.
func TestHandshake(t *testing.T) {
	for name, c := range map[string]struct{ socketType, id, want string }{
		"none":      {"DEALER", "", ""},
		"longest":   {"REQ", strings.Repeat("i", 255), ""},
		"longer":    {"DEALER", strings.Repeat("i", 256), "bad identity"},
		"generated": {"DEALER", "\x00abc", "bad identity"},
		"a type":    {"SUB", "me", `a socket of type "SUB" cannot talk to a ROUTER`},
	} {
		g := guardOf(router, Options{})
		here, there := net.Pipe()
		go io.Copy(io.Discard, there)
		text := append(greeting[:], appendReady(nil, c.socketType, c.id)...)
		socketType, id, err := g.handshake(here, bufio.NewReader(bytes.NewReader(text)))
		if c.want == "" && (err != nil || socketType != c.socketType || id != c.id) || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %q, %q, %v; want %q", name, socketType, id, err, c.want)
		}
		here.Close()
		there.Close()
	}
}

func TestLongestPath(t *testing.T) {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	for n, fits := range map[int]bool{maxPath: true, maxPath + 1: false} {
		path := filepath.Join(dir, strings.Repeat("x", n-len(dir)-1))
		ln, err := listen("unix", path)
		if (err == nil) != fits || err != nil && !strings.Contains(err.Error(), "too long") {
			t.Errorf("a path of %d bytes: %v", n, err)
		}
		if err == nil {
			ln.Close()
		}
	}
}

// Subscriptions of either form take effect, are told of when they have, and end.
func TestSubscribed(t *testing.T) {
	told := make(chan string, 10)
	s, err := Listen(connections(t)["tcp"], Options{Subscribed: func(topic string) { told <- topic }})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	a := attack(t, s.Connection(), wire.IOPub).introduce("SUB", "")
	cmd := func(text string) []byte { return append(appendFrameHeader(nil, flagCommand, len(text)), text...) }
	publish := func(topics ...string) {
		for _, topic := range topics {
			if err := s.Publish(wire.Message{Identities: [][]byte{[]byte(topic)}, Header: wire.NewHeader("s", "u", "t")}); err != nil {
				t.Fatal(err)
			}
		}
	}
	receive := func(want string) {
		t.Helper()
		a.SetReadDeadline(time.Now().Add(deadline))
		first := ""
		for more := true; more; {
			flags, n, err := readFrameHeader(a)
			body := make([]byte, n)
			if err == nil {
				_, err = io.ReadFull(a, body)
			}
			if err != nil {
				t.Fatal(err)
			}
			if first == "" {
				first = string(body)
			}
			more = flags&flagMore != 0
		}
		if first != want {
			t.Errorf("received %q, want %q", first, want)
		}
	}
	a.send(message([]byte("\x01a")))
	if topic := <-told; topic != "a" {
		t.Errorf("told of %q", topic)
	}
	publish("other", "a1")
	receive("a1")
	a.send(cmd("\x09SUBSCRIBEb"))
	if topic := <-told; topic != "b" {
		t.Errorf("told of %q", topic)
	}
	publish("c", "b1", "a2")
	receive("b1")
	receive("a2")
	a.send(slices.Concat(cmd("\x06CANCELa"), message([]byte("\x01c"))))
	if topic := <-told; topic != "c" {
		t.Errorf("told of %q", topic)
	}
	publish("a3", "b2", "c1")
	receive("b2")
	receive("c1")
	if len(told) > 0 {
		t.Errorf("told of %q, too", <-told)
	}
}

// A peer that zmq4 reads in small pieces gives it all bytes, with the frames' ends.
func TestPeerPieces(t *testing.T) {
	sent := slices.Concat(message([]byte("\x01"+strings.Repeat("x", 255))), message([]byte("\x00a")))
	handshake := append(greeting[:], appendReady(nil, "SUB", "me")...)
	for _, size := range []int{1, 7, 64, 1000} {
		p := peerOf(t, guardOf(publisher, Options{}), sent)
		p.pending = [][]byte{slices.Clone(greeting[:]), appendReady(nil, "SUB", "me")}
		var got []byte
		b := make([]byte, size)
		for {
			n, err := p.Read(b)
			if got = append(got, b[:n]...); err == io.EOF {
				break
			}
			if err != nil {
				t.Fatal(n, err)
			}
		}
		if !bytes.Equal(got, append(handshake[:len(handshake):len(handshake)], sent...)) {
			t.Errorf("in pieces of %d bytes: %q", size, got)
		}
		if !p.joined || !p.active.Load() || !p.closed.Load() {
			t.Errorf("joined: %v, active: %v, closed: %v", p.joined, p.active.Load(), p.closed.Load())
		}
	}
	frames := [][]byte{nil, []byte("ping"), nil}
	p := peerOf(t, guardOf(replier, Options{}), message(frames...))
	if got, err := io.ReadAll(p); err != nil || !bytes.Equal(got, message(frames...)) {
		t.Errorf("a request: %q, %v", got, err)
	}
}

// What waits for a kernel that does not answer ends with its context, as does what waits
// for clients; and nothing is left of a connection to what is no kernel.
func TestWaits(t *testing.T) {
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
	for name, wait := range map[string]func(context.Context) error{
		"call":           func(ctx context.Context) error { _, _, err := c.Call(ctx, wire.Shell, "x_request", nil); return err },
		"ready":          func(ctx context.Context) error { _, err := c.Ready(ctx); return err },
		"receive":        func(ctx context.Context) error { _, err := c.Receive(ctx, wire.Stdin); return err },
		"kernel":         func(ctx context.Context) error { _, err := s.Receive(ctx, wire.Stdin); return err },
		"ping, too late": func(ctx context.Context) error { <-ctx.Done(); _, err := c.Ping(ctx); return err },
	} {
		within, cancel := context.WithCancel(ctx(t))
		done := make(chan error, 1)
		go func() { done <- wait(within) }()
		if name == "call" || name == "ready" {
			if m, err := s.Receive(ctx(t), wire.Shell); err != nil || name == "call" && m.Header.MsgType != "x_request" {
				t.Fatal(m, err)
			}
		}
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", name, err)
		}
	}
	other, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	go func() {
		for {
			c, err := other.Accept()
			if err != nil {
				return
			}
			_, _ = c.Write(bytes.Repeat([]byte("x"), greetingSize))
		}
	}()
	conn, last := s.Connection(), wire.Channels[len(wire.Channels)-1]
	conn.SetPort(last, other.Addr().(*net.TCPAddr).Port)
	if _, err := Dial(ctx(t), conn); err == nil || errors.Is(err, context.DeadlineExceeded) || !strings.HasPrefix(err.Error(), "transport: ") {
		t.Errorf("with another protocol: %v", err)
	}
	c.Close()
	wait(t, func() bool {
		n := int64(0)
		for _, g := range s.guards {
			n += g.count.Load()
		}
		return n == 0
	})
}
