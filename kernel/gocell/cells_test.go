package gocell

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"dace.local/kernel/engine"
	"dace.local/kernel/engine/enginetest"
)

// TestCells runs the cells of testdata/cells.txt.
func TestCells(t *testing.T) { runFile(t, "testdata/cells.txt") }

// runFile runs the cells of a file; cells.txt explains the format.
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

// answering returns outputs that answer each question for input.
func answering() *enginetest.Recorder {
	return &enginetest.Recorder{Answer: func(context.Context, string, bool) (string, error) { return "42 apples", nil }}
}

// runCell runs a cell and returns all that it shows.
func runCell(s *Session, number int, code string, limit time.Duration) string {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	return enginetest.Show(ctx, s, engine.Cell{Number: number, Code: code}, answering())
}

// TestMagics runs the cells of testdata/magics.txt in an empty folder.
func TestMagics(t *testing.T) {
	file, err := filepath.Abs("testdata/magics.txt")
	if err != nil {
		t.Fatal(err)
	}
	enginetest.Cells(t, file, func(t *testing.T) (engine.Engine, *enginetest.Recorder) {
		t.Chdir(t.TempDir())
		s, err := New(Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
		return s, answering()
	})
}
