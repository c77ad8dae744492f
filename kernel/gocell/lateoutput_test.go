package gocell

import (
	"strings"
	"testing"
	"time"

	"dace.local/kernel/engine"
	"dace.local/kernel/engine/enginetest"
)

// TestLateOutput checks that what a goroutine writes goes to the cell that has
// started it, whichever runs.
func TestLateOutput(t *testing.T) {
	s := benchSession(t)
	run := func(number int, code string) *lasting {
		t.Helper()
		out := &lasting{Recorder: answering()}
		if _, err := s.Execute(t.Context(), engine.Cell{Number: number, Code: code}, out); err != nil {
			t.Fatal(err)
		}
		return out
	}
	first := run(1, `step, done := make(chan bool), make(chan bool)
go func() {
	for i := range 2 {
		<-step
		fmt.Println("late", i)
		display.HTML("<i>late</i>")
		done <- true
	}
	<-step
	must(os.Open("/nosuch"))
}()`)
	// While another cell runs, and while none runs.
	second := run(2, "step <- true\n<-done\nfmt.Println(\"own\")")
	if got := second.Text(enginetest.Stdout); got != "own\n" {
		t.Errorf("the running cell shows %q", got)
	}
	if first.ended != 1 || second.ended != 0 {
		t.Errorf("goroutines go on: %d %d", first.ended, second.ended)
	}
	step, _ := s.global("step")
	done, _ := s.global("done")
	step.Interface().(chan bool) <- true
	<-done.Interface().(chan bool)
	if got, n := first.Text(enginetest.Stdout), len(first.Events()); got != "late 0\nlate 1\n" || n != 4 {
		t.Errorf("the first cell shows %q, %v", got, first.Events())
	}
	step.Interface().(chan bool) <- true
	for deadline := time.Now().Add(time.Minute); !strings.Contains(first.Text(enginetest.Stderr), "open /nosuch"); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("of the goroutine's end: %q", first.Text(enginetest.Stderr))
		}
	}
	if got := enginetest.Plain(first.Text(enginetest.Stderr)); !strings.Contains(got, "a goroutine has ended in an error\nIn[1]:10:2: in ") {
		t.Errorf("of the goroutine's end: %s", got)
	}
}

// A lasting recorder counts the cells that end while goroutines of them go on.
type lasting struct {
	*enginetest.Recorder
	ended int
}

func (l *lasting) Lasts() { l.ended++ }
