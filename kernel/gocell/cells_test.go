package gocell

import (
	"context"
	"testing"
	"time"

	"dace.local/kernel/engine"
	"dace.local/kernel/engine/enginetest"
)

// TestCells runs the cells of testdata/cells.txt.
func TestCells(t *testing.T) { runFile(t, "testdata/cells.txt") }

// runFile runs the cells of a file (see cells.txt for its form).
func runFile(t *testing.T, file string) {
	enginetest.Cells(t, file, func(t *testing.T) (engine.Engine, *enginetest.Recorder) {
		s, err := New(Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
		return s, answering()
	})
}

// answering returns outputs that answer a question.
func answering() *enginetest.Recorder {
	return &enginetest.Recorder{Answer: func(context.Context, string, bool) (string, error) { return "42 apples", nil }}
}

// runCell returns all that a cell shows.
func runCell(s *Session, number int, code string, limit time.Duration) string {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	return enginetest.Show(ctx, s, engine.Cell{Number: number, Code: code}, answering())
}
