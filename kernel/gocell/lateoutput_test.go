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
	run := func(number int, code string) *enginetest.Recorder {
		t.Helper()
		out := answering()
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
	if got := run(2, "step <- true\n<-done\nfmt.Println(\"own\")").Text(enginetest.Stdout); got != "own\n" {
		t.Errorf("the running cell shows %q", got)
	}
	step, _ := s.machine.Global("step")
	done, _ := s.machine.Global("done")
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
