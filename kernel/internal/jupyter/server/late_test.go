package server

import (
	"fmt"
	"strings"
	"testing"

	"dace.local/kernel/engine"
	"dace.local/kernel/internal/jupyter/wire"
)

// TestLateBound checks that of many late outputs the last are kept, and that the
// display says so.
func TestLateBound(t *testing.T) {
	html := func(text string) engine.Bundle { return engine.Bundle{Data: map[string]any{"text/html": text}} }
	many, large, short := &late{}, &late{}, &late{}
	for i := range 10 * mostLateItems {
		many.show("display_data", html(fmt.Sprintf("<%d>", i)), "")
		many.add(lateItem{text: fmt.Sprintln(i)})
	}
	for range 40 {
		large.show("display_data", html(strings.Repeat("x", 1<<20)), "")
	}
	short.show("display_data", html("<1>"), "a")
	short.show("update_display_data", html(strings.Repeat("y", 2*mostLateBytes)), "a")
	if n := len(many.items); n != mostLateItems {
		t.Errorf("%d items are kept, want %d", n, mostLateItems)
	}
	data := many.bundle()
	if text := data["text/plain"].(string); !strings.HasPrefix(text, "… what came before is not kept\n") || !strings.HasSuffix(text, "998\n999\n") {
		t.Errorf("of many: %q", text)
	}
	if page := data["text/html"].(string); strings.Contains(page, "<949>") || !strings.HasSuffix(page, "<999><pre>999\n</pre>") {
		t.Errorf("of many: %q", page)
	}
	if n := len(large.bundle()["text/html"].(string)); n < mostLateBytes-1<<20 || n > mostLateBytes+100 {
		t.Errorf("of large ones %d bytes are kept", n)
	}
	if got := short.bundle()["text/html"].(string); len(got) != 2*mostLateBytes || len(short.items) != 1 {
		t.Errorf("of one that is too large %d bytes are kept", len(got))
	}
}

// TestSendLate checks that a later cell of the same client updates the display of what
// came late, once for what is new.
func TestSendLate(t *testing.T) {
	p, sent := recordingPublisher()
	s := &server{iopub: p}
	o := &outputs{server: s, parent: wire.Header{MsgID: "first", Session: "a"}, late: &late{id: "d"}}
	s.lasting.cells = []*outputs{o}
	send := func(id, session string) { s.sendLate(wire.Header{MsgID: id, Session: session}) }
	send("before", "a")
	o.late.add(lateItem{text: "1\n"})
	send("another client's", "b")
	send("second", "a")
	send("third", "a")
	o.late.add(lateItem{text: "2\n"})
	send("fourth", "a")
	p.close()
	var got []string
	for _, m := range sent() {
		got = append(got, m.Parent.MsgID+" "+describe([]wire.Message{m}))
	}
	want(t, "messages", got, []string{
		`second update_display_data {"data":{"text/plain":"1\n"},"metadata":{},"transient":{"display_id":"d"}}`,
		`fourth update_display_data {"data":{"text/plain":"1\n2\n"},"metadata":{},"transient":{"display_id":"d"}}`,
	})
}

// TestLateOrder checks that late texts in a row become one, that a display parts them,
// and that an update changes its display wherever it stands.
func TestLateOrder(t *testing.T) {
	plain := func(text string) engine.Bundle { return engine.Bundle{Data: map[string]any{"text/plain": text}} }
	texts := &late{}
	texts.add(lateItem{text: "a"})
	if texts.add(lateItem{text: "b"}); len(texts.items) != 1 {
		t.Errorf("two texts are %d items", len(texts.items))
	}
	l := &late{}
	l.show("display_data", plain("first"), "f")
	for _, text := range []string{"a", "b\n"} {
		l.add(lateItem{text: text})
	}
	l.show("display_data", plain("second"), "s")
	for _, text := range []string{"c", "d\n"} {
		l.add(lateItem{text: text})
	}
	for id, known := range map[string]bool{"f": true, "s": true, "": false, "another cell's": false} {
		if got := l.show("update_display_data", plain("new "+id), id); got != known {
			t.Errorf("an update of %q is of the late displays: %v, want %v", id, got, known)
		}
	}
	if got, want := l.bundle()["text/plain"], "new f\nab\nnew s\ncd\n"; got != want {
		t.Errorf("the late outputs are %q, want %q", got, want)
	}
}
