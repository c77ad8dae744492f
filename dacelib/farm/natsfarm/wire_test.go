package natsfarm

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"dace.local/dacelib/farm"
	"dace.local/dacelib/farm/natsfarm/internal/joinfile"
)

// A wire is the end of a connection that a server has, in the protocol of NATS: it writes
// down what is published, and answers what a test says.
type wire struct {
	t    *testing.T
	addr string
	// answers returns the data, or a status and the data after a space, with which a request
	// is answered; ok is false if it is not.
	answers func(subject string, data []byte) (status, text string, ok bool)
	link    *link

	mu   sync.Mutex // guards the fields below
	c    net.Conn
	subs map[string]string // the number of each subscription
	log  []string          // of what was published: subject and data
}

func newWire(t *testing.T, role string) *wire {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &wire{t: t, addr: l.Addr().String(), subs: map[string]string{}, answers: func(string, []byte) (string, string, bool) { return "", "", false }}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go w.serve(c)
		}
	}()
	w.link, err = joinFile{File: joinfile.File{Addresses: []string{w.addr}}}.connect(t.Context(), "", role, "test", func() {}, func() {})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.link.Close(); l.Close() })
	return w
}

func (w *wire) serve(c net.Conn) {
	defer c.Close()
	w.mu.Lock()
	w.c = c
	w.subs = map[string]string{}
	w.mu.Unlock()
	fmt.Fprintf(c, "INFO {\"server_id\":\"x\",\"version\":\"2.10.0\",\"proto\":1,\"headers\":true,\"max_payload\":%d}\r\n", maxPayload)
	r := bufio.NewReader(c)
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			return
		}
		f := strings.Fields(line)
		switch strings.ToUpper(f[0]) {
		case "PING":
			fmt.Fprint(c, "PONG\r\n")
		case "SUB":
			w.mu.Lock()
			w.subs[f[1]] = f[len(f)-1]
			w.mu.Unlock()
		case "PUB":
			n, _ := strconv.Atoi(f[len(f)-1])
			data := make([]byte, n+2)
			if _, err := io.ReadFull(r, data); err != nil {
				return
			}
			data = data[:n]
			reply := ""
			if len(f) == 4 {
				reply = f[2]
			}
			w.mu.Lock()
			answers := w.answers
			text := string(data)
			if n > 200 {
				text = fmt.Sprintf("%d bytes", n)
			}
			w.log = append(w.log, strings.TrimSpace(f[1]+" "+text))
			w.mu.Unlock()
			if status, text, ok := answers(f[1], data); ok && reply != "" {
				w.deliver(reply, reply, status, text)
			}
		}
	}
}

// deliver sends a message to whoever has subscribed to a subject, by the name of another.
func (w *wire) deliver(to, subject, status, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for pattern, sid := range w.subs {
		p, s := strings.Split(pattern, "."), strings.Split(to, ".")
		if len(p) != len(s) {
			continue
		}
		match := true
		for i := range p {
			match = match && (p[i] == "*" || p[i] == s[i])
		}
		if !match {
			continue
		}
		if status == "" {
			fmt.Fprintf(w.c, "MSG %s %s %d\r\n%s\r\n", subject, sid, len(text), text)
			continue
		}
		head := "NATS/1.0 " + status + "\r\n\r\n"
		if strings.Contains(status, ":") { // headers
			head = "NATS/1.0\r\n" + status + "\r\n\r\n"
		}
		fmt.Fprintf(w.c, "HMSG %s %s %d %d\r\n%s%s\r\n", subject, sid, len(head), len(head)+len(text), head, text)
	}
}

// read returns what was published since it was read last. It waits until the server has
// all, but for up to n messages.
func (w *wire) read() []string {
	w.t.Helper()
	if err := w.link.FlushTimeout(10 * time.Second); err != nil {
		w.t.Fatal(err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	log := w.log
	w.log = nil
	return log
}

func (w *wire) says(want ...string) {
	w.t.Helper()
	if got := w.read(); !slices.Equal(got, want) {
		w.t.Errorf("the server is told\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// script answers the requests one after the other; the last answer stays.
func (w *wire) script(all ...string) {
	var n atomic.Int64
	w.mu.Lock()
	defer w.mu.Unlock()
	w.answers = func(string, []byte) (string, string, bool) {
		text := all[min(int(n.Add(1)), len(all))-1]
		status, rest, has := strings.Cut(text, "|")
		if !has {
			return "", text, true
		}
		return status, rest, true
	}
}

const stored = `{"seq":1}`

// A message is stored once the server has said so; it is tried again where another try may
// help, and the words of a server that has no room are told.
func TestStore(t *testing.T) {
	w := newWire(t, "worker")
	for i, c := range []struct {
		script []string
		want   string
		tries  int
	}{
		{[]string{stored}, "", 1}, {[]string{"{", stored}, "", 2}, {[]string{`{"error":{"description":"restarting"}}`, `{"error":{"description":"restarting"}}`, stored}, "", 3},
		{[]string{`{"error":{"description":"maximum messages per subject exceeded"}}`}, errTaken.Error(), 1},
		{[]string{`{"error":{"description":"no space left on device"}}`}, "farm: the server cannot store 4 bytes more (no space left on device): make room", 1},
	} {
		w.script(c.script...)
		err := store(t.Context(), w.link, "a.b", []byte("data"), func() { t.Error("the server is told to be away") })
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.HasPrefix(err.Error(), c.want)) {
			t.Errorf("%d: %v, want %q", i, err, c.want)
		}
		w.says(slices.Repeat([]string{"a.b data"}, c.tries)...)
	}
	var room *farm.NoRoom
	if err := storageError(7, "why"); !errors.As(err, &room) || !strings.Contains(room.Words, "7 bytes more (why)") {
		t.Error(err)
	}
	for text, want := range map[string]bool{"no space left": true, "insufficient storage": true, "insufficient resources": true, "resource limits exceeded for x": true, "disk quota": true, "": false, "maximum messages": false} {
		if full(text) != want {
			t.Errorf("%q: %v", text, !want)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	w.mu.Lock()
	w.answers = func(string, []byte) (string, string, bool) { cancel(); return "", "{", true }
	w.mu.Unlock()
	if err := store(ctx, w.link, "a", nil, nil); err != context.Canceled {
		t.Error(err)
	}
	w.read()
	if err := store(t.Context(), w.link, "a", make([]byte, maxPayload+1), nil); err == nil || !strings.Contains(err.Error(), "a message of 8.0 MB is larger than the 8 MB") {
		t.Error(err)
	}
	w.script(stored)
	if err := store(t.Context(), w.link, "a", make([]byte, maxPayload), nil); err != nil {
		t.Error(err)
	}
	w.says("a 8388608 bytes")
	w.script(`503|`, "404|", "500|x", "found")
	if data, ok, err := get(t.Context(), w.link, "S", "k.1"); data != nil || ok || err != nil {
		t.Errorf("%s, %v, %v", data, ok, err) // after a retry
	}
	w.says("$JS.API.DIRECT.GET.S.k.1", "$JS.API.DIRECT.GET.S.k.1")
	if data, ok, err := get(t.Context(), w.link, "S", "k.1"); string(data) != "found" || !ok || err != nil {
		t.Errorf("%s, %v, %v", data, ok, err)
	}
	w.read()
	w.link.Close()
	if _, _, err := get(t.Context(), w.link, "S", "k"); !errors.Is(err, nats.ErrConnectionClosed) {
		t.Error(err)
	}
	if err := store(t.Context(), w.link, "a", nil, nil); !errors.Is(err, nats.ErrConnectionClosed) {
		t.Error(err)
	}
}

// A blob travels in parts of a megabyte, and its description comes last.
func TestBlobParts(t *testing.T) {
	w := newWire(t, "caller")
	for _, n := range []int{0, 1, blobPart, blobPart + 1, 2*blobPart + 7} {
		blob := bytes.Repeat([]byte{'x'}, n)
		key := fmt.Sprintf("%x", sha256.Sum256(blob))
		var mu sync.Mutex
		kept := map[string]string{}
		w.mu.Lock()
		w.answers = func(subject string, data []byte) (string, string, bool) {
			mu.Lock()
			defer mu.Unlock()
			if k, get := strings.CutPrefix(subject, "$JS.API.DIRECT.GET.BLOBS."); get {
				if v, ok := kept[k]; ok {
					return "", v, true
				}
				return "404", "", true
			}
			if _, ok := kept[subject]; ok {
				return "", `{"error":{"description":"maximum messages per subject"}}`, true
			}
			kept[subject] = string(data)
			return "", stored, true
		}
		w.mu.Unlock()
		var want []string
		for i := 0; i*blobPart < n; i++ {
			k := min(n, (i+1)*blobPart) - i*blobPart
			text := fmt.Sprintf("%d bytes", k)
			if k < 200 {
				text = strings.Repeat("x", k)
			}
			want = append(want, fmt.Sprintf("b.%s.%d %s", key, i, text))
		}
		want = append(want, fmt.Sprintf(`b.%s.head {"size":%d}`, key, n))
		if got, err := putBlob(t.Context(), w.link, blob, nil); err != nil || got != key {
			t.Fatalf("%d bytes: %s, %v", n, got, err)
		}
		w.says(append([]string{"$JS.API.DIRECT.GET.BLOBS.b." + key + ".head"}, want...)...)
		if got, err := putBlob(t.Context(), w.link, blob, nil); err != nil || got != key || len(w.read()) != 1 {
			t.Errorf("%d bytes again: %s, %v", n, got, err)
		}
		if got, err := getBlob(t.Context(), w.link, key); err != nil || !bytes.Equal(got, blob) {
			t.Errorf("%d bytes: %d, %v", n, len(got), err)
		}
		if got := w.read(); len(got) != len(want) {
			t.Errorf("%d bytes: %q", n, got)
		}
		mu.Lock()
		delete(kept, "b."+key+".head")
		mu.Unlock()
		if got, err := putBlob(t.Context(), w.link, blob, nil); err != nil || got != key { // the parts are there
			t.Errorf("%d bytes in part: %s, %v", n, got, err)
		}
		w.read()
		if n == 0 {
			continue
		}
		for damage, c := range map[string]struct {
			subject, text string
		}{
			"is missing": {"b." + key + ".0", ""}, "is missing from": {"b." + key + ".0", strings.Repeat("y", n)}, "claims to have -1 bytes; at most 4294967296": {"b." + key + ".head", `{"size":-1}`}, "claims to have 4294967297": {"b." + key + ".head", `{"size":4294967297}`}, "is missing ": {"b." + key + ".head", "{"},
		} {
			mu.Lock()
			before := kept[c.subject]
			kept[c.subject] = c.text
			mu.Unlock()
			if _, err := getBlob(t.Context(), w.link, key); err == nil || !strings.Contains(err.Error(), strings.TrimSpace(damage)) {
				t.Errorf("%d bytes: %v, want %s", n, err, damage)
			}
			mu.Lock()
			kept[c.subject] = before
			mu.Unlock()
		}
		mu.Lock()
		delete(kept, "b."+key+".0")
		mu.Unlock()
		var missing *farm.Missing
		if _, err := getBlob(t.Context(), w.link, key); !errors.As(err, &missing) || missing.Key != key {
			t.Error(err)
		}
		w.read()
	}
	for _, key := range []string{"", strings.Repeat("0", 63), strings.Repeat("0", 65), strings.Repeat("g", 64), strings.Repeat("A", 64)} {
		if _, err := getBlob(t.Context(), w.link, key); err == nil || !strings.Contains(err.Error(), "is no key of a blob") {
			t.Errorf("%s: %v", key, err)
		}
	}
	w.says()
	w.script("404|", `{"error":{"description":"disk quota"}}`)
	if key, err := putBlob(t.Context(), w.link, []byte("x"), nil); err == nil || key != "" {
		t.Error(key, err)
	}
	w.script("404|", stored, `{"error":{"description":"disk quota"}}`)
	if key, err := putBlob(t.Context(), w.link, []byte("x"), nil); err == nil || key != "" {
		t.Error(key, err)
	}
}

// What results and names are on the wire.
func TestWireForms(t *testing.T) {
	r := farm.Result{Key: "k", Data: []byte("a\nb"), Seconds: 1.5, Worker: "w", Host: "h"}
	b, err := packResult(r, "")
	if want := "{\"key\":\"k\",\"seconds\":1.5,\"worker\":\"w\",\"host\":\"h\"}\na\nb"; err != nil || string(b) != want {
		t.Errorf("%s, %v", b, err)
	}
	if got, blob, err := unpackResult(b); err != nil || blob != "" || fmt.Sprint(got) != fmt.Sprint(r) {
		t.Errorf("%+v, %s, %v", got, blob, err)
	}
	b, _ = packResult(farm.Result{Key: "k"}, "blob")
	if got, blob, err := unpackResult(b); err != nil || blob != "blob" || got.Key != "k" || len(got.Data) != 0 {
		t.Errorf("%+v, %s, %v", got, blob, err)
	}
	for _, text := range []string{"", "{}", "{}\n", "x\n", `{"key":"k"}`, `{"key":""}` + "\ndata"} {
		if _, _, err := unpackResult([]byte(text)); err == nil || !strings.Contains(err.Error(), "a damaged result") {
			t.Errorf("%q: %v", text, err)
		}
	}
	for id, want := range map[string][2]string{"c-1": {"c", "1"}, "a-b-2": {"a-b", "2"}, "x": {"x", "0"}, "-3": {"", "3"}, "y-": {"y", ""}} {
		if a, b := split(id); a != want[0] || b != want[1] {
			t.Errorf("%s: %s, %s", id, a, b)
		}
	}
	u := farm.Unit{Kind: "k"}
	if got := subject(farm.Message{ID: "c-12", Units: []farm.Unit{u}}); got != "t."+farm.Class(nil)+".c.12" {
		t.Error(got)
	}
	for text, ok := range map[string]bool{`{"id":"a-1","units":[{}]}`: true, `{"id":"a-1","units":[]}`: false, `{"id":"a 1","units":[{}]}`: false, `{"id":"a.1","units":[{}]}`: false, `{"id":"a*","units":[{}]}`: false, `{"id":">","units":[{}]}`: false, "{": false} {
		if _, got := unpack(&nats.Msg{Data: []byte(text)}); got != ok {
			t.Errorf("%s: %v", text, got)
		}
	}
	for s, want := range map[string]bool{"d.x": true, "t.x": false, "": false} {
		if direct(&nats.Msg{Subject: s}) != want {
			t.Errorf("%s: %v", s, !want)
		}
	}
}

// A worker asks once for as many messages of each class as slots wait; what comes beyond is
// handed back, and what is refused is asked for again.
func TestRequests(t *testing.T) {
	w := newWire(t, "worker")
	var mu sync.Mutex
	var back []string
	q := newRequests([]string{"A", "B"}, func(m *nats.Msg) { mu.Lock(); back = append(back, string(m.Data)); mu.Unlock() })
	if q.look(); len(q.asked) != 0 {
		t.Error("it asks without a connection")
	}
	if err := q.open(w.link); err != nil {
		t.Fatal(err)
	}
	ask := func(class string, n int) string {
		return fmt.Sprintf(`$JS.API.CONSUMER.MSG.NEXT.TASKS.w%s {"batch":%d,"expires":30000000000}`, class, n)
	}
	drained := make(chan struct{})
	got := make(chan string, 10)
	ctx, cancel := context.WithCancel(t.Context())
	slot := func() {
		before := waits(q)
		go func() {
			m, err := q.take(ctx, drained)
			if err != nil {
				got <- err.Error()
				return
			}
			got <- string(m.Data)
		}()
		for until := time.Now().Add(10 * time.Second); waits(q) == before && len(got) == 0 && time.Now().Before(until); {
			time.Sleep(time.Millisecond)
		}
	}
	slot()
	w.says(ask("A", 1), ask("B", 1))
	slot()
	w.says(ask("A", 1), ask("B", 1))
	q.look()
	w.says()
	message := func(class, text string) { q.answer(&nats.Msg{Subject: "t." + class + ".c.1", Data: []byte(text)}) }
	status := func(class, status, pending string) {
		h := nats.Header{"Status": {status}}
		if pending != "" {
			h.Set("Nats-Pending-Messages", pending)
		}
		q.answer(&nats.Msg{Subject: q.inbox + "." + class, Header: h})
	}
	message("A", "one")
	if text := <-got; text != "one" {
		t.Error(text)
	}
	w.says()
	status("B", "408", "2") // its time is over, of both
	w.says(ask("B", 1))
	status("A", "404", "")
	w.says(ask("A", 1))
	message("B", "two")
	if text := <-got; text != "two" {
		t.Error(text)
	}
	message("A", "three")
	if mu.Lock(); !slices.Equal(back, []string{"three"}) {
		t.Errorf("handed back: %q", back)
	}
	back = nil
	mu.Unlock()
	// A refusal is tried again a moment later, where somebody waits.
	slot()
	w.says(ask("A", 1), ask("B", 1))
	status("A", "409", "")
	var again []string
	for until := time.Now().Add(10 * time.Second); len(again) == 0 && time.Now().Before(until); time.Sleep(5 * time.Millisecond) {
		again = w.read()
	}
	if !slices.Equal(again, []string{ask("A", 1)}) {
		t.Errorf("%q", again)
	}
	q.again()
	w.says(ask("A", 1), ask("B", 1))
	// Requests whose time has passed do not count.
	q.mu.Lock()
	q.asked["A"][0] = time.Now().Add(-time.Second)
	if end := q.asked["B"][0]; time.Until(end) < 30*time.Second || time.Until(end) > 31*time.Second {
		t.Errorf("a request ends in %v", time.Until(end))
	}
	q.mu.Unlock()
	q.look()
	w.says(ask("A", 1))
	// Past the queue: to a slot that waits, or soon does, and no other.
	if !q.hand(&nats.Msg{Data: []byte("four")}) || <-got != "four" {
		t.Error("a slot that waits gets no message")
	}
	if q.hand(&nats.Msg{Data: []byte("x")}) {
		t.Error("a message is taken where nobody waits")
	}
	q.ends()
	if !q.hand(&nats.Msg{Data: []byte("five")}) || q.hand(&nats.Msg{Data: []byte("x")}) {
		t.Error("of two messages for a slot that comes soon, one is held")
	}
	slot()
	if text := <-got; text != "five" {
		t.Error(text)
	}
	if q.hand(&nats.Msg{Data: []byte("x")}) {
		t.Error("a slot that has come is waited for")
	}
	q.ends()
	q.hand(&nats.Msg{Data: []byte("six")})
	q.leaveAll()
	q.leaveAll()
	if mu.Lock(); !slices.Equal(back, []string{"six"}) || q.ending != 0 {
		t.Errorf("handed back: %q, %d end", back, q.ending)
	}
	mu.Unlock()
	slot()
	cancel()
	if text := <-got; text != "context canceled" || waits(q) != 0 {
		t.Error(text)
	}
	ctx = t.Context()
	slot()
	close(drained)
	if text := <-got; text != "EOF" || waits(q) != 0 {
		t.Error(text)
	}
	late := make(chan *nats.Msg, 1)
	late <- &nats.Msg{Data: []byte("late")}
	if err := q.leave(late, io.EOF); err != io.EOF || !slices.Equal(back, []string{"six", "late"}) {
		t.Errorf("%v, %q", err, back)
	}
}

// waits returns how many slots wait.
func waits(q *requests) int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.waiting)
}

// A source tells callers and the server what becomes of messages, word for word.
func TestSourceTells(t *testing.T) {
	w := newWire(t, "worker")
	unit, err := farm.NewUnit("k", 1, 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	other, _ := farm.NewUnit("k", 2, 1, nil)
	m := farm.Message{ID: "ada-7", Units: []farm.Unit{unit, other}}
	s := &source{nc: w.link, name: "w", host: "h", work: t.Context(), running: map[string]task{}, withdrawn: map[string]time.Time{}, joined: make(chan struct{}), drained: make(chan struct{}), state: func() farm.Worker { return farm.Worker{Name: "w", Cores: 2} }}
	s.requests = newRequests(nil, s.handBack)
	close(s.joined)
	begin := func(reply string) context.Context {
		of, ok := s.begin(t.Context(), m, reply)
		if !ok {
			t.Fatal("the message was withdrawn")
		}
		return of
	}
	ended := func(what string, of context.Context, want bool) {
		t.Helper()
		if _, runs := s.running[m.ID]; (of.Err() != nil) != want || runs == want {
			t.Errorf("%s: the message has ended: %v, and runs: %v", what, of.Err(), runs)
		}
	}
	for what, c := range map[string]struct {
		say  func() error
		want string
		ends bool
	}{
		"failed":  {func() error { return s.Failed(t.Context(), m, 1, "why") }, `c.ada {"kind":"failed","id":"ada-7","unit":1,"worker":"w","host":"h","words":"why"}`, true},
		"missing": {func() error { return s.Missing(t.Context(), m, 1, "key") }, `c.ada {"kind":"missing","id":"ada-7","key":"key","unit":1,"worker":"w","host":"h"}`, true},
		"note":    {func() error { s.Note(m, "hear"); return nil }, `c.ada {"kind":"note","worker":"w","host":"h","words":"hear"}`, false},
		"back":    {func() error { return s.Back(t.Context(), m) }, `c.ada {"kind":"back","id":"ada-7","worker":"w","host":"h"}`, true},
		"log":     {func() error { s.Log("a line"); return nil }, `l.w a line`, false},
	} {
		of := begin("")
		if err := c.say(); err != nil {
			t.Error(err)
		}
		w.says(c.want)
		ended(what, of, c.ends)
		s.forget(m.ID)
	}
	// Messages that were withdrawn are not begun, for a minute.
	of := begin("")
	s.withdraw(&nats.Msg{Data: []byte("{")})
	s.withdraw(&nats.Msg{Data: []byte(`["ada-7","bob-1"]`)})
	ended("withdrawn", of, true)
	if _, ok := s.begin(t.Context(), m, ""); ok || len(s.withdrawn) != 2 {
		t.Error("a message that was withdrawn begins")
	}
	s.withdrawn["ada-7"] = time.Now().Add(-withdrawnFor - time.Second)
	s.withdraw(&nats.Msg{Data: []byte(`[]`)})
	if len(s.withdrawn) != 1 {
		t.Errorf("%v", s.withdrawn)
	}
	// Results: stored, compared with one that is there, in a blob if they are large.
	r := farm.Result{Key: unit.Key(), Data: []byte("42"), Seconds: 0.5, Worker: "w", Host: "h"}
	packed := fmt.Sprintf(`{"key":"%s","seconds":0.5,"worker":"w","host":"h"}`, unit.Key()) + "\n42"
	of = begin("")
	w.script(stored)
	if err := s.Result(t.Context(), m, r); err != nil {
		t.Error(err)
	}
	w.says("r." + unit.Key() + " " + packed)
	ended("a first result", of, false)
	r.Key = other.Key()
	for i, old := range []string{strings.Replace(packed, unit.Key(), other.Key(), 1), strings.Replace(packed, "\n42", "\n43", 1), "damaged", strings.Replace(packed, `"host":"h"`, `"host":"h","blob":"b"`, 1)} {
		of = begin("")
		w.script(`{"error":{"description":"maximum messages per subject"}}`, old)
		if err := s.Result(t.Context(), m, r); err != nil {
			t.Error(err)
		}
		want := []string{"r." + other.Key() + " " + strings.Replace(packed, unit.Key(), other.Key(), 1), "$JS.API.DIRECT.GET.RESULTS.r." + other.Key()}
		if i == 1 || i == 3 {
			want = append(want, fmt.Sprintf(`c.ada {"kind":"conflict","key":"%s","worker":"w","host":"h","words":"w"}`, other.Key()))
		}
		w.says(want...)
		ended("the last result", of, true)
	}
	w.script(`{"error":{"description":"disk quota"}}`)
	var room *farm.NoRoom
	if err := s.Result(t.Context(), m, r); !errors.As(err, &room) {
		t.Error(err)
	}
	m.Check = true
	w.read()
	if err := s.Result(t.Context(), m, r); err != nil {
		t.Error(err)
	}
	w.says(fmt.Sprintf(`c.ada {"kind":"checked","id":"ada-7","key":"%s","worker":"w","host":"h","words":"%s"}`, other.Key(), farm.BlobKey([]byte("42"))))
	m.Check = false
	for over := range 2 {
		large := r
		large.Data = make([]byte, maxPayload/2+over)
		w.script("404|", stored)
		if err := s.Result(t.Context(), m, large); err != nil {
			t.Error(err)
		}
		log := w.read()
		if blobs := strings.Contains(strings.Join(log, "\n"), "b."+farm.BlobKey(large.Data)+".head"); blobs != (over == 1) || !strings.HasPrefix(log[len(log)-1], "r.") {
			t.Errorf("%d bytes: %d messages, %s", len(large.Data), len(log), log[len(log)-1])
		}
	}
	// Past the queue: the caller hears the result at once, and the server a moment later.
	s.late.one = func(told) error { t.Error("a result is stored twice"); return nil }
	if err := s.late.open(w.link); err != nil {
		t.Fatal(err)
	}
	w.script(stored)
	begin("")
	if s.Tell(m, r) {
		t.Error("a message of the queue is answered past it")
	}
	of = begin("c.ada.7")
	if large := (farm.Result{Key: unit.Key(), Data: make([]byte, mostHanded+1)}); s.Tell(m, large) {
		t.Error("a large result is told")
	}
	s.late.failed.Store(true)
	if s.Tell(m, r) {
		t.Error("a result is told while none can be stored")
	}
	s.late.failed.Store(false)
	w.says()
	r.Key = unit.Key()
	if !s.Tell(m, r) || s.requests.ending != 0 {
		t.Errorf("%d slots end", s.requests.ending)
	}
	ended("the first result that is told", of, false)
	r.Key = other.Key()
	if !s.Tell(m, r) || s.requests.ending != 1 {
		t.Errorf("%d slots end", s.requests.ending)
	}
	ended("the last result that is told", of, true)
	s.late.finish()
	last := strings.Replace(packed, unit.Key(), other.Key(), 1)
	w.says("c.ada.7 "+packed, "c.ada.7 "+last, "r."+unit.Key()+" "+packed, "r."+other.Key()+" "+last)
	s.late.hurry = make(chan struct{}) // as before the end
	// Which messages are expected soon.
	for seconds, want := range map[float64]bool{0.0005: true, 0.00051: false} {
		s.rates = farm.Rates{}
		if s.expectsSoon(m) {
			t.Error("units that are not known are expected soon")
		}
		s.rates.Observe("k", 1, seconds)
		if s.expectsSoon(m) != want {
			t.Errorf("two units of %v s are expected soon: %v", seconds, !want)
		}
	}
	// What has not begun goes back the way that it came.
	s.requests.leaveAll()
	b, _ := json.Marshal(m)
	s.handed(&nats.Msg{Subject: "d.w", Data: b})
	w.says(`c.ada {"kind":"back","id":"ada-7","worker":"w","host":"h"}`)
	s.handed(&nats.Msg{Subject: "d.w", Data: []byte("{")})
	w.says()
	s.show()
	if log := w.read(); len(log) != 1 || !strings.HasPrefix(log[0], `w.w `) {
		t.Errorf("%q", log)
	}
	if s.Away() != 0 {
		t.Error("the server is away")
	}
	s.Leave(t.Context())
	if !s.nc.IsClosed() || s.Away() > time.Second || s.lost.IsZero() {
		t.Error("the connection stays")
	}
	(&source{}).Leave(t.Context())
	ctx, done := (&source{work: t.Context()}).closing(t.Context())
	if done(); ctx.Err() == nil {
		t.Error("what a worker says last goes on")
	}
}

// Results that the server has not confirmed are stored one by one; while that fails no more
// are told before.
func TestLateAnswers(t *testing.T) {
	w := newWire(t, "worker")
	var mu sync.Mutex
	var one []string
	fails := errors.New("full")
	l := &late{one: func(x told) error { mu.Lock(); defer mu.Unlock(); one = append(one, x.result.Key); return fails }}
	if err := l.open(w.link); err != nil {
		t.Fatal(err)
	}
	w.mu.Lock()
	w.answers = func(subject string, _ []byte) (string, string, bool) {
		switch subject {
		case "r.b":
			return "", `{"error":{"description":"maximum"}}`, true
		case "r.c":
			return "", "{", true
		}
		return "", stored, true
	}
	w.mu.Unlock()
	for _, key := range []string{"a", "b", "c", "d"} {
		l.add(told{result: farm.Result{Key: key}, packed: []byte(key)})
	}
	l.storing.Wait()
	w.says("r.a a", "r.b b", "r.c c", "r.d d")
	if !slices.Equal(one, []string{"b", "c"}) || !l.failed.Load() || l.running || l.held != nil {
		t.Errorf("%q, failed %v, running %v", one, l.failed.Load(), l.running)
	}
	fails, one = nil, nil
	l.failed.Store(false)
	l.add(told{result: farm.Result{Key: "b"}, packed: []byte("b")})
	l.finish()
	if !slices.Equal(one, []string{"b"}) || l.failed.Load() {
		t.Errorf("%q, failed %v", one, l.failed.Load())
	}
	// Answers of other batches, and to no result of this one, are none.
	l.batch, l.stored, l.left, l.done = 5, make([]bool, 2), 2, make(chan struct{})
	for _, s := range []string{"4.0", "5.2", "5.-1", "5.x", "5"} {
		l.answer(&nats.Msg{Subject: l.inbox + "." + s, Data: []byte(stored)})
	}
	if l.left != 2 {
		t.Errorf("%d are left", l.left)
	}
	l.answer(&nats.Msg{Subject: l.inbox + ".5.1", Data: []byte(stored)})
	l.answer(&nats.Msg{Subject: l.inbox + ".5.0", Data: []byte("{")})
	select {
	case <-l.done:
	default:
		t.Error("the batch is not done")
	}
	if !slices.Equal(l.stored, []bool{false, true}) {
		t.Errorf("%v", l.stored)
	}
}

// newWired returns a pool on a wire whose streams are empty.
func newWired(t *testing.T) (*Pool, *wire) {
	w := newWire(t, "caller")
	w.script("404|")
	p := &Pool{nc: w.link, caller: "ada", known: map[string]time.Time{}, early: map[string]farm.Result{}, connected: make(chan struct{})}
	p.ctx, p.close = context.WithCancel(t.Context())
	p.Dispatcher = farm.NewDispatcher(p, p.caller, farm.NewEnv(1, p.Get, p.Put), time.Hour)
	p.OnNote(func(string) {})
	close(p.connected)
	return p, w
}

// What workers tell a caller reaches its calls.
func TestNotices(t *testing.T) {
	unit, err := farm.NewUnit("k", 1, 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	class := farm.Class(nil)
	send := fmt.Sprintf(`t.%s.ada.%%08d {"id":"ada-%%08d","units":[{"kind":"k","data":1,"items":1}]}`, class)
	for name, c := range map[string]struct {
		notices []string
		want    string // of the error; empty: the call goes on
		running int
		log     []string
		noted   string
	}{
		"took":     {[]string{`{"kind":"took","id":"ada-00000001","worker":"w","host":"h"}`}, "", 1, nil, ""},
		"failed":   {[]string{`{"kind":"failed","id":"ada-00000001","unit":0,"worker":"w","host":"h","words":"why"}`}, "failed on worker w of h: why", 0, nil, ""},
		"missing":  {[]string{`{"kind":"missing","id":"ada-00000001","worker":"w","host":"h","key":"0123456789abcdef"}`}, "the blob 0123456789ab is missing", 0, nil, ""},
		"back":     {[]string{`{"kind":"took","id":"ada-00000001","worker":"w"}`, `{"kind":"back","id":"ada-00000001","worker":"w"}`}, "", 0, []string{fmt.Sprintf(send, 1, 1)}, ""},
		"note":     {[]string{`{"kind":"note","worker":"w","host":"h","words":"hear"}`}, "", 0, nil, "worker w on h: hear"},
		"cancel":   {[]string{`{"kind":"cancel","words":"enough"}`}, "ended from elsewhere: enough", 0, nil, ""},
		"conflict": {[]string{`{"kind":"conflict","key":"kkk","worker":"w","words":"v"}`}, "workers w and v have found different results of the unit kkk", 0, nil, ""},
		"no JSON":  {[]string{"{", "7"}, "", 0, nil, ""},
		"unknown":  {[]string{`{"kind":"hm","id":"ada-00000001","worker":"w"}`}, "", 0, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			p, w := newWired(t)
			w.script(stored)
			noted := make(chan string, 10)
			p.OnNote(func(text string) { noted <- text })
			errs := make(chan error, 1)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			go func() { errs <- p.Do(ctx, []farm.Unit{unit}, func(int, []byte) error { return nil }) }()
			await := func(what string, ok func() bool) {
				t.Helper()
				for until := time.Now().Add(10 * time.Second); !ok(); time.Sleep(time.Millisecond) {
					if time.Now().After(until) {
						t.Fatal(what)
					}
				}
			}
			var log []string
			has := func(n int) func() bool {
				return func() bool { log = append(log, w.read()...); return len(log) >= n }
			}
			await("nothing is sent", has(1))
			for _, text := range c.notices {
				p.notice(&nats.Msg{Data: []byte(text)})
			}
			if c.want != "" {
				select {
				case err := <-errs:
					if err == nil || !strings.Contains(err.Error(), c.want) {
						t.Errorf("%v, want %s", err, c.want)
					}
				case <-time.After(10 * time.Second):
					t.Error("the call goes on")
				}
				return
			}
			if c.running > 0 {
				await("nothing runs", func() bool { return p.Counts().Running == c.running })
			}
			await("too little is sent", has(1+len(c.log)))
			if want := append([]string{fmt.Sprintf(send, 1, 1)}, c.log...); !slices.Equal(log, want) {
				t.Errorf("%q, want %q", log, want)
			}
			if c.noted != "" && <-noted != c.noted {
				t.Error("another note")
			}
			if n := p.Counts(); n.Running != c.running || n.Waiting != 1-c.running {
				t.Errorf("%+v", n)
			}
			r := farm.Result{Key: unit.Key(), Data: []byte("5"), Worker: "w"}
			b, _ := packResult(r, "")
			p.result(&nats.Msg{Data: []byte("damaged")})
			p.result(&nats.Msg{Data: b})
			if err := <-errs; err != nil || !knows(p, unit.Key()) {
				t.Error(err)
			}
		})
	}
}

func knows(p *Pool, key string) bool {
	_, ok := p.known[key]
	return ok
}

// A result that callers have heard of is at the server a moment later.
func TestPoolLooksAgain(t *testing.T) {
	p, w := newWired(t)
	b, err := packResult(farm.Result{Key: "a", Data: []byte("1")}, "")
	if err != nil {
		t.Fatal(err)
	}
	p.known["a"], p.known["b"] = time.Now().Add(time.Hour), time.Now().Add(-time.Hour)
	w.script("404|", "404|", string(b), "404|")
	if rs, err := p.Look(t.Context(), []string{"a", "b"}); err != nil || len(rs) != 1 || string(rs[0].Data) != "1" {
		t.Errorf("%+v, %v", rs, err)
	}
	const get = "$JS.API.DIRECT.GET.RESULTS.r."
	w.says(get+"a", get+"a", get+"a", get+"b")
}

// A pool asks for the results that the server has, page by page, and looks at those alone;
// what workers have told before is there at once.
func TestPoolLooks(t *testing.T) {
	p, w := newWired(t)
	w.script(`{"total":3,"state":{"subjects":{"r.a":1,"r.b":1}}}`, `{"total":3,"state":{"subjects":{"r.c":1}}}`, "{")
	if err := p.loadKnown(t.Context()); err != nil || len(p.known) != 3 || !knows(p, "a") || !knows(p, "c") {
		t.Errorf("%v, %v", p.known, err)
	}
	w.says(`$JS.API.STREAM.INFO.RESULTS {"subjects_filter":"r.*","offset":0}`, `$JS.API.STREAM.INFO.RESULTS {"subjects_filter":"r.*","offset":2}`)
	if err := p.loadKnown(t.Context()); err == nil || !strings.Contains(err.Error(), "the server's results") {
		t.Error(err)
	}
	w.script(`{"total":9,"state":{}}`)
	if err := p.loadKnown(t.Context()); err != nil || len(p.known) != 3 {
		t.Error(err)
	}
	w.read()
	packed := func(key, data, blob string) string {
		b, err := packResult(farm.Result{Key: key, Data: []byte(data)}, blob)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	p.early["e"] = farm.Result{Key: "e", Data: []byte("early")}
	w.script(packed("a", "1", ""), "404|", "damaged")
	rs, err := p.Look(t.Context(), []string{"a", "b", "a", "unknown", "e", "c"})
	if err != nil || len(rs) != 2 || rs[0].Key != "a" || string(rs[0].Data) != "1" || rs[1].Key != "e" {
		t.Errorf("%+v, %v", rs, err)
	}
	w.says("$JS.API.DIRECT.GET.RESULTS.r.a", "$JS.API.DIRECT.GET.RESULTS.r.b", "$JS.API.DIRECT.GET.RESULTS.r.c")
	key := farm.BlobKey([]byte("large"))
	w.script(packed("a", "", key), `{"size":5}`, "large", packed("b", "", key), "404|")
	if rs, err := p.Look(t.Context(), []string{"a", "b"}); err != nil || len(rs) != 1 || string(rs[0].Data) != "large" {
		t.Errorf("%+v, %v", rs, err)
	}
	w.read()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := p.Look(ctx, []string{"a"}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	w.read()
	p.Drop([]string{"a", "e"})
	if w.says(`$JS.API.STREAM.PURGE.RESULTS {"filter":"r.a"}`, `$JS.API.STREAM.PURGE.RESULTS {"filter":"r.e"}`); knows(p, "a") || len(p.early) != 0 || !knows(p, "b") {
		t.Errorf("%v, %v", p.known, p.early)
	}
	p.Dismiss("w", "why")
	w.says("e.w why")
	unit, _ := farm.NewUnit("k", 1, 1, nil)
	m := func(n int) farm.Message { return farm.Message{ID: fmt.Sprint("ada-", n), Units: []farm.Unit{unit}} }
	class := farm.Class(nil)
	p.Withdraw(nil)
	w.says()
	p.Withdraw([]farm.Message{m(1), m(2)})
	w.says(`$JS.API.STREAM.PURGE.TASKS {"filter":"t.`+class+`.ada.1"}`, `$JS.API.STREAM.PURGE.TASKS {"filter":"t.`+class+`.ada.2"}`, `x ["ada-1","ada-2"]`)
	w.script("404|", "there")
	for _, want := range []bool{false, true} {
		if ok, err := p.Queued(t.Context(), m(1)); ok != want || err != nil {
			t.Errorf("%v, %v", ok, err)
		}
		w.says("$JS.API.DIRECT.GET.TASKS.t." + class + ".ada.1")
	}
	// A message is handed over if it is small.
	text := func(n int) string { return fmt.Sprintf(`{"id":"ada-%d","units":[{"kind":"k","data":1,"items":1}]}`, n) }
	if !p.Hand(m(3), "w") {
		t.Error("it is not handed over")
	}
	w.says("d.w " + text(3))
	for over := range 2 {
		large := farm.Message{ID: "ada-4", Units: []farm.Unit{{Kind: "k", Data: []byte(strings.Repeat("1", mostHanded-1+over))}, {Kind: "k", Data: []byte("2")}}}
		if p.Hand(large, "w") != (over == 0) {
			t.Errorf("%d bytes over: handed over %v", over, over > 0)
		}
	}
	w.read()
	// Of several messages those that are not confirmed are sent again.
	w.mu.Lock()
	again := map[string]bool{}
	w.answers = func(subject string, _ []byte) (string, string, bool) {
		if strings.HasSuffix(subject, ".2") && !again[subject] {
			again[subject] = true
			return "", `{"error":{"description":"restarting"}}`, true
		}
		return "", stored, true
	}
	w.mu.Unlock()
	if err := p.SendAll(t.Context(), []farm.Message{m(1), m(2), m(3)}); err != nil {
		t.Error(err)
	}
	w.says("t."+class+".ada.1 "+text(1), "t."+class+".ada.2 "+text(2), "t."+class+".ada.3 "+text(3), "t."+class+".ada.2 "+text(2))
	w.script(`{"error":{"description":"disk quota"}}`)
	var room *farm.NoRoom
	if err := p.SendAll(t.Context(), []farm.Message{m(1), m(2)}); !errors.As(err, &room) {
		t.Error(err)
	}
	w.read()
	// Blobs: kept, put, and restored after what is left of them is removed.
	w.script("404|", stored)
	blob := []byte("blob")
	b := "b." + farm.BlobKey(blob)
	if key, err := p.Put(t.Context(), blob); err != nil || key != farm.BlobKey(blob) {
		t.Error(key, err)
	}
	w.says("$JS.API.DIRECT.GET.BLOBS."+b+".head", b+".0 blob", b+`.head {"size":4}`)
	w.script("{}", "404|", stored)
	if err := p.Restore(t.Context(), blob); err != nil {
		t.Error(err)
	}
	w.says(`$JS.API.STREAM.PURGE.BLOBS {"filter":"`+b+`.\u003e"}`, "$JS.API.DIRECT.GET.BLOBS."+b+".head", b+".0 blob", b+`.head {"size":4}`)
	p.Use(farm.Policy{Disk: 5})
	if key, err := p.Put(t.Context(), []byte("more")); err == nil || key != "" {
		t.Error(key, err)
	}
	w.says()
	p.close()
	if p.ready() || p.Hand(m(5), "w") {
		t.Error("a pool that was closed is open")
	}
}

// News of workers and callers, and answers past the queue.
func TestPoolHears(t *testing.T) {
	p, w := newWired(t)
	news := func(name, text string) { p.worker(&nats.Msg{Subject: "w." + name, Data: []byte(text)}) }
	for _, text := range []string{"{", `{"name":"b","cores":1}`, `{"name":"a","cores":0}`, `{"name":"a","cores":65536}`} {
		if news("a", text); len(p.Workers()) != 0 {
			t.Errorf("%s is a worker", text)
		}
	}
	news("a", `{"name":"a","cores":65535}`)
	if len(p.Workers()) != 1 {
		t.Error("a worker of many cores is none")
	}
	w.says()
	news("a", `{"name":"a","cores":1,"holds":["ada-1","bob-1","ada-2"]}`)
	w.says(`x ["ada-1","ada-2"]`)
	if news("a", ""); len(p.Workers()) != 0 {
		t.Error("a worker that has ended stays")
	}
	p.Use(farm.Policy{})
	p.other(&nats.Msg{Subject: "q.bob", Data: []byte(`{"name":"bob","counts":{"running":3}}`)})
	p.other(&nats.Msg{Subject: "q.eve", Data: []byte(`{"name":"bob","counts":{"running":5}}`)})
	p.other(&nats.Msg{Subject: "q.bob", Data: []byte("{")})
	if p.Demand() != 3 {
		t.Errorf("callers ask for %d slots", p.Demand())
	}
	p.show()
	log := w.read()
	var c farm.Caller
	if len(log) != 1 || !strings.HasPrefix(log[0], "q.ada ") {
		t.Errorf("%q, %+v", log, c)
	}
	// A result that was told before counts where somebody waits, until it is stored.
	unit, _ := farm.NewUnit("k", 1, 1, nil)
	b, _ := packResult(farm.Result{Key: unit.Key(), Data: []byte("5"), Worker: "w"}, "")
	p.answered(&nats.Msg{Subject: "c.ada.1", Data: b})
	if len(p.early) != 0 {
		t.Error("a result that nobody waits for is kept")
	}
	w.script(stored)
	wait := func() chan error {
		errs := make(chan error, 1)
		go func() { errs <- p.Do(t.Context(), []farm.Unit{unit}, func(int, []byte) error { return nil }) }()
		for until := time.Now().Add(10 * time.Second); !p.Waits(unit.Key()) && len(errs) == 0 && time.Now().Before(until); {
			time.Sleep(time.Millisecond)
		}
		return errs
	}
	errs := wait()
	p.answered(&nats.Msg{Subject: "c.ada.1", Data: []byte("damaged")})
	blob, _ := packResult(farm.Result{Key: unit.Key()}, "blob")
	p.answered(&nats.Msg{Subject: "c.ada.1", Data: blob})
	p.answered(&nats.Msg{Subject: "c.ada.1", Data: b})
	if err := <-errs; err != nil || string(p.early[unit.Key()].Data) != "5" {
		t.Errorf("%v, %v", p.early, err)
	}
	p.result(&nats.Msg{Data: b})
	if len(p.early) != 0 || !knows(p, unit.Key()) {
		t.Error("a result that is stored is early")
	}
	errs = wait()
	p.answered(&nats.Msg{Subject: "c.ada.1", Data: b})
	if err := <-errs; err != nil || len(p.early) != 0 {
		t.Errorf("%v, %v", p.early, err)
	}
	p.early[unit.Key()] = farm.Result{Key: unit.Key(), Data: []byte("6"), Worker: "v"}
	p.result(&nats.Msg{Data: b})
	if err := <-wait(); err == nil || !strings.Contains(err.Error(), "workers v and w have found different results") {
		t.Error(err)
	}
}
