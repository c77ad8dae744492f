package server

import (
	"context"
	"testing"

	"dace.local/kernel/internal/jupyter/wire"
)

// TestNow checks which cell gets what a goroutine of a first cell writes: the
// first cell; or, for a client that does not allow input and so drops the outputs
// of ended cells, the cell that runs then, between two cells the one that ran
// last.
func TestNow(t *testing.T) {
	ended, end := context.WithCancel(t.Context())
	end()
	for _, c := range []struct {
		name          string
		allowStdin    bool
		first, second context.Context // nil: there was no second cell
		session       string          // the second cell's
		toSecond      bool            // the second cell gets it
	}{
		{name: "the first cell runs", first: t.Context()},
		{name: "the first cell runs, beside another", first: t.Context(), second: t.Context(), session: "a"},
		{name: "nothing runs since", first: ended},
		{name: "a second cell runs", first: ended, second: t.Context(), session: "a", toSecond: true},
		{name: "a second cell has ended", first: ended, second: ended, session: "a", toSecond: true},
		{name: "a second cell runs, with input", allowStdin: true, first: ended, second: t.Context(), session: "a"},
		{name: "another client's cell runs", first: ended, second: t.Context(), session: "b"},
	} {
		s := new(server)
		outputs := func(running context.Context, session string) *outputs {
			return &outputs{server: s, parent: wire.Header{Session: session}, allowStdin: c.allowStdin, running: running}
		}
		first := outputs(c.first, "a")
		want := first
		s.current.Store(first)
		if c.second != nil {
			second := outputs(c.second, c.session)
			s.current.Store(second)
			if c.toSecond {
				want = second
			}
		}
		if first.now() != want {
			t.Errorf("%s: the other cell gets it", c.name)
		}
	}
}
