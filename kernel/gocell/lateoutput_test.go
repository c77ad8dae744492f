package gocell

import (
	"strings"
	"testing"
	"time"

	"dace.local/kernel/engine"
	"dace.local/kernel/engine/enginetest"
)

// TestLateOutput checks that what a goroutine writes goes to the cell that runs,
// or to the one that has started it where none runs.
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
	for i := range 3 {
		<-step
		fmt.Println("late", i)
		display.HTML("<i>late</i>")
		done <- true
	}
	<-step
	must(os.Open("/nosuch"))
}()`)
	second := run(2, "step <- true\n<-done")
	if got := second.Text(enginetest.Stdout); got != "late 0\n" {
		t.Errorf("the running cell shows %q", got)
	}
	if got := len(second.Events()); got != 2 {
		t.Errorf("the running cell shows %v", second.Events())
	}
	third := run(3, "step <- true\nfmt.Println(\"own\")\n<-done\nfmt.Println(\"after\")")
	if got := third.Text(enginetest.Stdout); !strings.Contains(got, "late 1\n") || !strings.HasSuffix(got, "after\n") {
		t.Errorf("the running cell shows %q", got)
	}
	if len(first.Events()) != 0 {
		t.Errorf("the first cell shows %v", first.Events())
	}
	// No cell runs.
	step, _ := s.machine.Global("step")
	done, _ := s.machine.Global("done")
	step.Interface().(chan bool) <- true
	<-done.Interface().(chan bool)
	if got := first.Text(enginetest.Stdout); got != "late 2\n" {
		t.Errorf("the first cell shows %q", got)
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
