package gocell

import (
	"context"
	"errors"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"dace.local/kernel/engine"
)

// screen keeps what cells show.
type screen struct {
	mu       sync.Mutex
	out, err strings.Builder
}

func (s *screen) Stdout(t string) { s.mu.Lock(); s.out.WriteString(t); s.mu.Unlock() }
func (s *screen) Stderr(t string) { s.mu.Lock(); s.err.WriteString(t); s.mu.Unlock() }
func (s *screen) Display(b engine.Bundle, id string) {
	t, _ := b.Data["text/plain"].(string)
	s.Stdout("[" + t + "]\n")
}
func (s *screen) Update(engine.Bundle, string)  {}
func (s *screen) Clear(bool)                    {}
func (s *screen) Comm(engine.CommMessage) error { return nil }
func (s *screen) Input(context.Context, string, bool) (string, error) {
	return "42 apples", nil
}

var colour = regexp.MustCompile("\x1b\\[[0-9;]*m")

// TestCells runs the cells of testdata/cells.txt.
func TestCells(t *testing.T) { runFile(t, "testdata/cells.txt") }

// runFile runs the cells of a file, class by class (see cells.txt for its
// form), a session for each case.
func runFile(t *testing.T, file string) {
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	cells := 0
	for _, c := range strings.Split("\n"+string(b), "\n### ")[1:] {
		name, body, _ := strings.Cut(c, "\n")
		steps := strings.Split(body, "\n---\n")
		cells += len(steps)
		t.Run(name, func(t *testing.T) {
			s, err := New(Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			for i, step := range steps {
				code, want, _ := strings.Cut(step, "\n>>>\n")
				got := runCell(s, i+1, code, time.Minute)
				want = strings.TrimSpace(want)
				if sub, ok := strings.CutPrefix(want, "~"); ok {
					if !strings.Contains(got, strings.TrimSpace(sub)) {
						t.Errorf("In[%d]:\n%s\ngot:\n%s\nwant in it:\n%s", i+1, code, got, sub)
					}
				} else if strings.TrimSpace(got) != want {
					t.Errorf("In[%d]:\n%s\ngot:\n%s\nwant:\n%s", i+1, code, got, want)
				}
			}
		})
	}
	t.Logf("%d cells", cells)
}

// runCell returns all that a cell shows: its output, what it wrote to standard
// error, its value, its error.
func runCell(s *Session, number int, code string, limit time.Duration) string {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	w := &screen{}
	res, err := s.Execute(ctx, engine.Cell{Number: number, Code: code}, w)
	w.mu.Lock()
	defer w.mu.Unlock()
	text := w.out.String()
	line := func(s string) {
		if text != "" && !strings.HasSuffix(text, "\n") {
			text += "\n"
		}
		text += s
	}
	if e := w.err.String(); e != "" {
		line("stderr: " + e)
	}
	if v, ok := res.Value.Data["text/plain"].(string); ok {
		line("= " + v)
	}
	var e *engine.Error
	if errors.As(err, &e) {
		line(e.Name + "\n" + e.Text())
	} else if err != nil {
		line("engine: " + err.Error())
	}
	return colour.ReplaceAllString(text, "")
}
