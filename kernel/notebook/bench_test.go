package notebook

import (
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"dace.local/kernel/engine"
)

// heavy returns a notebook of 100 cells with about mb megabytes of outputs,
// half of it text.
func heavy(mb int) *Notebook {
	var sources []string
	for i := range 100 {
		sources = append(sources, fmt.Sprint(i))
	}
	nb := cells(sources...)
	line := strings.Repeat("x", 79) + "\n"
	for _, c := range nb.Cells {
		half := mb * 1e6 / 200
		c.Count = 1
		c.Outputs = []*Output{
			{Type: Stream, Name: "stdout", Text: strings.Repeat(line, half/len(line))},
			{Type: Display, Data: map[string]any{"image/png": base64.StdEncoding.EncodeToString(make([]byte, half*3/4))}},
		}
	}
	return nb
}

func BenchmarkWrite100MB(b *testing.B) {
	nb := heavy(100)
	b.SetBytes(100e6)
	b.ReportAllocs()
	for b.Loop() {
		if err := Write(io.Discard, nb); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkRead100MB(b *testing.B) {
	var s strings.Builder
	if err := Write(&s, heavy(100)); err != nil {
		b.Fatal(err)
	}
	data := []byte(s.String())
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Read(data); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkHTML100MB(b *testing.B) {
	nb := heavy(100)
	b.SetBytes(100e6)
	for b.Loop() {
		if err := WriteHTML(io.Discard, nb, HTMLSettings{}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkRunAndSave runs 100 cells that show 100 MB, and saves after every
// cell. The time must not grow with the square of the size.
func BenchmarkRunAndSave(b *testing.B) {
	for _, mb := range []int{10, 100} {
		b.Run(fmt.Sprintf("%dMB", mb), func(b *testing.B) {
			done := heavy(mb)
			eng := &script{cells: map[string]func(context.Context, engine.Outputs) (engine.Result, error){}}
			for _, c := range done.Cells {
				eng.cells[c.Source] = func(_ context.Context, out engine.Outputs) (engine.Result, error) {
					out.Stdout(c.Outputs[0].Text)
					out.Display(engine.Bundle{Data: c.Outputs[1].Data}, "")
					return engine.Result{}, nil
				}
			}
			b.SetBytes(int64(mb) * 1e6)
			path := filepath.Join(b.TempDir(), "out.ipynb")
			for b.Loop() {
				nb := heavy(0)
				f, err := NewFile(path)
				if err != nil {
					b.Fatal(err)
				}
				if err := Run(b.Context(), nb, eng, Settings{Checkpoint: f.Checkpoint}); err != nil {
					b.Fatal(err)
				}
				if err := f.Close(nb); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkPrints measures a million small prints in one cell.
func BenchmarkPrints(b *testing.B) {
	eng := &script{cells: map[string]func(context.Context, engine.Outputs) (engine.Result, error){
		"x": func(_ context.Context, out engine.Outputs) (engine.Result, error) {
			for range 1_000_000 {
				out.Stdout("a line of text\n")
			}
			return engine.Result{}, nil
		},
	}}
	for b.Loop() {
		if err := Run(b.Context(), cells("x"), eng, Settings{}); err != nil {
			b.Fatal(err)
		}
	}
}
