package gocell

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"dace.local/kernel/engine"
	"dace.local/kernel/engine/enginetest"
)

// TestStopConcurrent checks that an interrupt of one of two concurrent cells stops both
// and says so, and that the session goes on: its closures work, a declaration made while
// a cell ran is known.
func TestStopConcurrent(t *testing.T) {
	s, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if got := runCell(s, 1, "twice := func(x int) int { return 2 * x }\nstop := make(chan bool)", time.Minute); got != "" {
		t.Fatal(got)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ends := make(chan error, 2)
	for i, code := range []string{"fmt.Println(\"runs\")\nfor {\n}", "fmt.Println(\"runs\")\n<-stop"} {
		asked := t.Context()
		if i == 0 {
			asked = ctx
		}
		out := answering()
		go func() {
			_, err := s.Execute(asked, engine.Cell{Number: 2 + i, Code: code}, out)
			ends <- err
		}()
		for !strings.Contains(out.Text(enginetest.Stdout), "runs") {
			time.Sleep(time.Millisecond)
		}
	}
	if got := runCell(s, 4, "type T struct{ A int }\nfunc (t T) Double() T { return T{twice(t.A)} }\nv := T{4}.Double()\nv", time.Minute); got != "= T{A: 8}" {
		t.Errorf("beside two cells: %s", got)
	}
	cancel()
	for range 2 {
		var e *engine.Error
		if err := <-ends; !errors.As(err, &e) || e.Name != engine.Interrupted {
			t.Errorf("a cell ends with %v", err)
		}
	}
	if got := runCell(s, 5, "twice(v.A)", time.Minute); got != "= 16" {
		t.Errorf("after an interrupt: %s", got)
	}
	if got := runCell(s, 6, "go func() { stop <- true }()\n<-stop", time.Minute); got != "= true" {
		t.Errorf("channels after an interrupt: %s", got)
	}
}
