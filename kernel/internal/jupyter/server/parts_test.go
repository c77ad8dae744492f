package server

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"math"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"dace.local/kernel/engine"
	"dace.local/kernel/internal/jupyter/wire"
	"dace.local/kernel/internal/system/process"
)

// TestGlob compares glob with the results of SQLite 3.40.1 in
// testdata/glob.json, since ipykernel searches its history with SQLite.
func TestGlob(t *testing.T) {
	raw, err := os.ReadFile("testdata/glob.json")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(raw)), "\n")[1:]
	for _, l := range lines {
		var pattern, s string
		var match int
		if err := json.Unmarshal([]byte(l), &[]any{&pattern, &s, &match}); err != nil {
			t.Fatal(err)
		}
		if got := glob(pattern, s); got != (match == 1) {
			t.Errorf("glob(%q, %q) is %v, SQLite says %d", pattern, s, got, match)
		}
	}
	if len(lines) != 1000+10 { // random ones, and ranges among other members of a set
		t.Errorf("%d cases", len(lines))
	}
}

func FuzzOffsets(f *testing.F) {
	f.Add("𝒳日 grö", 3)
	f.Add("a\xffb", 2)
	f.Fuzz(func(t *testing.T, s string, n int) {
		i := byteOffset(s, n)
		if i < 0 || i > len(s) {
			t.Fatalf("byteOffset(%q, %d) is %d", s, n, i)
		}
		if want := min(max(n, 0), len([]rune(s))); runeOffset(s, i) != want {
			t.Errorf("%q: %d becomes %d and %d", s, n, i, runeOffset(s, i))
		}
	})
}

// A comm message is for an open comm if it is named after one.
func TestForOpen(t *testing.T) {
	var c comms
	c.note(engine.CommMessage{Type: "comm_open", ID: "open", Target: "t"})
	for _, x := range []struct {
		kind, content string
		want          bool
	}{
		{"comm_msg", `{"comm_id":"open"}`, true}, {"comm_msg", `{"comm_id":"other"}`, false},
		{"comm_close", `{"comm_id":"open"}`, false}, {"comm_msg", `{"comm_id":1}`, false},
	} {
		if got := c.forOpen(wire.Message{Header: wire.Header{MsgType: x.kind}, Content: []byte(x.content)}); got != x.want {
			t.Errorf("%s of %s: %v, want %v", x.kind, x.content, got, x.want)
		}
	}
	c.note(engine.CommMessage{Type: "comm_close", ID: "open"})
	if c.forOpen(wire.Message{Header: wire.Header{MsgType: "comm_msg"}, Content: []byte(`{"comm_id":"open"}`)}) {
		t.Error("a comm that was closed is open")
	}
}

// The share of processor time in a reply is that since the reply before.
func TestUsageSince(t *testing.T) {
	s := &server{started: time.Now().Add(-1e5 * time.Hour)}
	share := func() float64 {
		reply, err := s.usageRequest(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		return reply.(usageReply).KernelCPU
	}
	// In 100,000 hours this process has not worked for one.
	if got := share(); got < 0 || got > 0.001 {
		t.Errorf("since the start of the kernel: %v percent", got)
	}
	for begun := process.TotalTime(); process.TotalTime() < begun+20*time.Millisecond; {
	}
	// 0.01 percent of one processor would be 20 ms in 200 s.
	if got := share(); got < 0.01 {
		t.Errorf("since the last reply: %v percent", got)
	}
}

// recordingPublisher returns a publisher and a function that returns the
// messages that it has sent so far.
func recordingPublisher() (*publisher, func() []wire.Message) {
	var mu sync.Mutex // guards sent
	var sent []wire.Message
	p := newPublisher("s", func(m wire.Message) error {
		mu.Lock()
		defer mu.Unlock()
		sent = append(sent, m)
		return nil
	}, slog.New(slog.DiscardHandler))
	return p, func() []wire.Message {
		mu.Lock()
		defer mu.Unlock()
		return sent
	}
}

// What waits for the first subscriber is bounded, in bytes and in time.
func TestHeld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, sent := recordingPublisher()
		p.hold()
		say := func(text string) { p.post("x", wire.Header{}, map[string]string{"text": text}) }
		say("too old")
		time.Sleep(heldFor / 2)
		say(strings.Repeat("y", heldSize)) // and all before it
		say("old")
		time.Sleep(heldFor)
		say("new")
		say("newer")
		if n := len(sent()); n != 0 {
			t.Fatalf("%d messages are sent to nobody", n)
		}
		p.welcome("")
		say("later")
		p.welcome("again")
		var got []string
		for _, m := range sent() {
			got = append(got, m.Header.MsgType+string(m.Content))
		}
		want := []string{`iopub_welcome{"subscription":""}`, `x{"text":"old"}`, `x{"text":"new"}`, `x{"text":"newer"}`, `x{"text":"later"}`, `iopub_welcome{"subscription":"again"}`}
		if !slices.Equal(got, want) {
			t.Errorf("sent\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		p.timer.Stop()
	})
}

// FuzzStream checks that clients see the whole text, however it is cut into
// pieces, and also if parts of it are not UTF-8.
func FuzzStream(f *testing.F) {
	f.Add("日本\xe6\x97", 1, 5)
	f.Add("a𝒳\xf0\x9d", 3, 4)
	f.Fuzz(func(t *testing.T, s string, i, j int) {
		i = min(max(i, 0), len(s))
		j = min(max(j, i), len(s))
		p, sent := recordingPublisher()
		o := &outputs{server: &server{iopub: p}}
		for _, piece := range []string{s[:i], s[i:j], s[j:]} {
			o.Stdout(piece)
			p.flush()
		}
		o.end()
		p.close()
		var got strings.Builder
		for _, m := range sent() {
			got.WriteString(content(m)["text"].(string))
		}
		if want := string([]rune(s)); got.String() != want {
			t.Errorf("%q in pieces is %q, want %q", s, got.String(), want)
		}
	})
}

// TestPublisherOrder checks that text of several cells and streams is published
// in order and for the right cell.
func TestPublisherOrder(t *testing.T) {
	p, sent := recordingPublisher()
	cell := func(id string) *outputs {
		return &outputs{server: &server{iopub: p}, parent: wire.Header{MsgID: id, MsgType: "execute_request"}}
	}
	a, b := cell("a"), cell("b")
	a.Stdout("1")
	a.Stdout("2")
	b.Stdout("3")
	a.Stderr("4")
	a.Stdout("5")
	b.Clear(true)
	p.flush()
	var got []string
	for _, m := range sent() {
		got = append(got, m.Parent.MsgID+" "+describe([]wire.Message{m}))
	}
	want(t, "messages", got, []string{"a stdout 12", "b stdout 3", "a stderr 4", "a stdout 5", `b clear_output {"wait":true}`})
}

// TestPublisherCuts checks that a text larger than a message may be is cut
// between characters.
func TestPublisherCuts(t *testing.T) {
	for _, text := range []string{
		strings.Repeat("日本", pendingSize),
		strings.Repeat("\x80", 2*pendingSize+1),
		"x" + strings.Repeat("𝒳", pendingSize/4) + "y",
	} {
		p, sent := recordingPublisher()
		o := &outputs{server: &server{iopub: p}}
		o.Stdout("a")
		o.Stdout(text)
		o.Stdout("b")
		p.close()
		var got strings.Builder
		for _, m := range sent() {
			part := content(m)["text"].(string)
			if len(part) > 3*pendingSize {
				t.Errorf("a message of %d bytes", len(part))
			}
			got.WriteString(part)
		}
		if got.String() != string([]rune("a"+text+"b")) {
			t.Errorf("%.10q is changed", text)
		}
	}
}

// TestBackpressure checks that a client that cannot keep up blocks the cell, and
// that the amount of pending text is bounded.
func TestBackpressure(t *testing.T) {
	release := make(chan struct{})
	var inside atomic.Int64
	p := newPublisher("s", func(wire.Message) error {
		inside.Add(1)
		<-release
		return nil
	}, slog.New(slog.DiscardHandler))
	o := &outputs{server: &server{iopub: p}}
	var printed atomic.Int64
	done := make(chan struct{})
	go func() {
		defer close(done)
		line := strings.Repeat("x", 999) + "\n"
		for range 10 * pendingSize / len(line) {
			o.Stdout(line)
			printed.Add(int64(len(line)))
		}
	}()
	for inside.Load() == 0 {
		time.Sleep(time.Millisecond)
	}
	time.Sleep(100 * time.Millisecond)
	if n := printed.Load(); n > 2*pendingSize {
		t.Errorf("%d bytes are printed while nobody reads, want at most %d", n, 2*pendingSize)
	}
	close(release)
	<-done
}

func TestEncodable(t *testing.T) {
	b := engine.Bundle{
		Data:     map[string]any{"text/plain": "x", "application/json": math.NaN(), "application/geo+json": []int{1}},
		Metadata: map[string]any{"image/png": func() {}},
	}
	data, metadata := encodable(b)
	want(t, "data", data, object{"text/plain": "x\n(cannot show application/json: json: unsupported value: NaN)", "application/geo+json": []int{1}})
	want(t, "metadata", metadata, object{})
	if len(b.Data) != 3 {
		t.Error("the bundle is changed")
	}
	data, metadata = encodable(engine.Bundle{})
	want(t, "nothing", []any{data, metadata}, []any{object{}, object{}})
}

func TestOrphaned(t *testing.T) {
	var calls atomic.Int64
	parent := func() int {
		if calls.Add(1) > 3 {
			return 1
		}
		return 42
	}
	if !orphaned(context.Background(), parent, time.Millisecond) {
		t.Error("a new parent goes unseen")
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if orphaned(ctx, func() int { return 42 }, time.Hour) {
		t.Error("the end is taken for an orphan's")
	}
}

func TestNewLog(t *testing.T) {
	var b bytes.Buffer
	for level, lines := range map[string]int{"": 1, "debug": 3, "info": 2, "WARN": 1, "error": 0} {
		b.Reset()
		log, err := NewLog(&b, level)
		if err != nil {
			t.Fatal(err)
		}
		log.Debug("1")
		log.Info("2")
		log.Warn("3")
		if got := strings.Count(b.String(), "\n"); got != lines {
			t.Errorf("level %q writes %d lines, want %d", level, got, lines)
		}
	}
}

// A quarter of the processors' time since the last request was not idle: what has passed
// since the test looked changes that, but not to less than nothing or more than all.
func TestHostUsage(t *testing.T) {
	idle, all, ok := hostTime()
	if !ok {
		t.Skip("the system does not tell")
	}
	s := &server{}
	s.usage.idle, s.usage.all = idle-3*all/8, all/2
	reply, err := s.usageRequest(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	share := reply.(usageReply).HostCPU
	if share == nil {
		t.Fatal("nothing is known of the host")
	}
	if *share <= 0 || *share > 100 {
		t.Errorf("%v %% of the host are used", *share)
	}
}
