package gocell

import (
	"context"
	"testing"

	"dace.local/kernel/engine"
	"dace.local/kernel/engine/enginetest"
)

// TestCallers asks the run time for the call stack in a cell: all frames of a
// deep recursion, the frames of the asking goroutine only, and in a deferred
// function the position where the surrounding function panicked.
func TestCallers(t *testing.T) {
	s := benchSession(t)
	for i, c := range []struct{ name, code, want string }{
		{"deep", `import "runtime"
func deep(n int) int {
	if n == 0 {
		return runtime.Callers(0, make([]uintptr, 1000))
	}
	return deep(n - 1)
}
fmt.Print(deep(300))`, "303"}, // Callers itself, 301 calls of deep, the cell
		{"after a recovered panic", `func lost(n int) {
	if n == 0 {
		panic("lost")
	}
	lost(n - 1)
}
func() {
	defer func() { recover() }()
	lost(100)
}()
fmt.Print(deep(2))`, "5"},
		{"a goroutine", `count := make(chan int)
go func() { count <- deep(3) }()
fmt.Print(<-count)`, "6"}, // Callers, 4 calls of deep, the goroutine's function
		{"through compiled code", `at := 0
slices.SortFunc([]int{2, 1}, func(a, b int) int { at = deep(0); return a - b })
fmt.Print(at)`, "4"}, // Callers, deep, the literal, the cell
		{"deferred, after a panic", `func fails() (line int) {
	defer func() {
		recover()
		_, _, line, _ = runtime.Caller(1)
	}()
	var p *int
	return *p
}
fmt.Print(fails())`, "7"},
	} {
		var out enginetest.Recorder
		if _, err := s.Execute(context.Background(), engine.Cell{Number: i + 1, Code: c.code}, &out); err != nil {
			t.Errorf("%s: %v", c.name, err)
		} else if got := out.Text(enginetest.Stdout); got != c.want {
			t.Errorf("%s: got %s, want %s", c.name, got, c.want)
		}
	}
}
