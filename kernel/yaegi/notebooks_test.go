package yaegi

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"dace.local/kernel/engine"
	"dace.local/kernel/engine/enginetest"
	"dace.local/kernel/notebook"
)

var notebooks = flag.Bool("notebooks", false, "run TestNotebooks: two notebooks, a minute")

// TestNotebooks runs two notebooks, of which yaegi refuses the cells that
// kernel/docs/yaegi.md describes.
func TestNotebooks(t *testing.T) {
	if !*notebooks {
		t.Skip("-notebooks runs it")
	}
	for name, refused := range map[string][]int{"quickstart": {6, 7}, "search": {9, 10, 12, 13, 16, 17, 18}} {
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile(filepath.Join("..", "..", "notebooks", name+".ipynb"))
			if err != nil {
				t.Fatal(err)
			}
			nb, err := notebook.Read(text)
			if err != nil {
				t.Fatal(err)
			}
			e, err := start()
			if err != nil {
				t.Fatal(err)
			}
			var failed []int
			number := 0
			for _, c := range nb.Cells {
				if c.Type != notebook.Code {
					continue
				}
				number++
				began := time.Now()
				_, err := e.Execute(t.Context(), engine.Cell{Number: number, Code: c.Source}, new(enginetest.Recorder))
				t.Logf("cell %d: %v, %v", number, time.Since(began), err)
				if err != nil {
					failed = append(failed, number)
				}
			}
			if !slices.Equal(failed, refused) {
				t.Errorf("cells %v fail, want %v", failed, refused)
			}
		})
	}
}
