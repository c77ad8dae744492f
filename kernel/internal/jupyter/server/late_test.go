package server

import (
	"fmt"
	"strings"
	"testing"

	"dace.local/kernel/engine"
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

// TestLateOrder checks that late texts in a row become one, that a display parts them,
// and that an update changes its display wherever it stands.
func TestLateOrder(t *testing.T) {
	plain := func(text string) engine.Bundle { return engine.Bundle{Data: map[string]any{"text/plain": text}} }
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
