package yaegi

import (
	"testing"

	"dace.local/kernel/engine"
	"dace.local/kernel/engine/enginetest"
	_ "dace.local/kernel/gocell/symbols/all"
)

func start() (engine.Engine, error) { return New([]string{"dace"}, "") }

func TestConformance(t *testing.T) { enginetest.Test(t, enginetest.Go(start)) }

// TestCells runs testdata/cells.txt: what this engine adds to yaegi, and what yaegi
// lacks.
func TestCells(t *testing.T) {
	t.Parallel()
	enginetest.Cells(t, "testdata/cells.txt", func(t *testing.T) (engine.Engine, *enginetest.Recorder) {
		e, err := start()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = e.Close() })
		return e, new(enginetest.Recorder)
	})
}
