package gocell

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"dace.local/kernel/engine"
)

type recorder struct {
	sync.Mutex
	out, err strings.Builder
	shown    []engine.Bundle
}

func (r *recorder) Stdout(s string) { r.Lock(); r.out.WriteString(s); r.Unlock() }
func (r *recorder) Stderr(s string) { r.Lock(); r.err.WriteString(s); r.Unlock() }
func (r *recorder) Display(b engine.Bundle, id string) {
	r.Lock()
	r.shown = append(r.shown, b)
	r.Unlock()
}
func (r *recorder) Update(b engine.Bundle, id string) {}
func (r *recorder) Clear(wait bool)                   {}
func (r *recorder) Input(ctx context.Context, prompt string, password bool) (string, error) {
	return "42", nil
}
func (r *recorder) Comm(engine.CommMessage) error { return nil }

func TestTry(t *testing.T) {
	b, _ := os.ReadFile("/tmp/cells.txt")
	w, _ := os.Create("/tmp/out.txt")
	s, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range strings.Split(string(b), "\n---\n") {
		r := &recorder{}
		ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
		start := time.Now()
		res, err := s.Execute(ctx, engine.Cell{Number: i + 1, Code: c}, r)
		el := time.Since(start)
		cancel()
		fmt.Fprintf(w, "In[%d] %s\n  (%v) out=%q err=%q\n", i+1, c, el, r.out.String(), r.err.String())
		if !res.Value.Empty() {
			fmt.Fprintf(w, "  Out: %v\n", res.Value.Data["text/plain"])
		}
		if e, ok := err.(*engine.Error); ok {
			fmt.Fprintf(w, "  ERR %s\n%s\n", e.Error(), e.Text())
		} else if err != nil {
			fmt.Fprintf(w, "  ERR? %v\n", err)
		}
	}
}
