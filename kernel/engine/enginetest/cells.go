package enginetest

import (
	"context"
	"errors"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"dace.local/kernel/engine"
)

var colour = regexp.MustCompile("\x1b\\[[0-9;]*m")

// Plain returns text without ANSI colours.
func Plain(s string) string { return colour.ReplaceAllString(s, "") }

// Show runs a cell and returns everything that it shows, as plain text: its
// output with displays in brackets, its standard error, its value, and its
// error.
func Show(ctx context.Context, e engine.Engine, cell engine.Cell, out *Recorder) string {
	seen := len(out.Events())
	res, err := e.Execute(ctx, cell, out)
	var text, stderr strings.Builder
	for _, ev := range out.Events()[seen:] {
		switch ev.Kind {
		case Stdout:
			text.WriteString(ev.Text)
		case Stderr:
			stderr.WriteString(ev.Text)
		case Display:
			plain, _ := ev.Bundle.Data["text/plain"].(string)
			text.WriteString("[" + plain + "]\n")
		}
	}
	line := func(s string) {
		if t := text.String(); t != "" && !strings.HasSuffix(t, "\n") {
			text.WriteString("\n")
		}
		text.WriteString(s)
	}
	if stderr.Len() > 0 {
		line("stderr: " + stderr.String())
	}
	if v, ok := res.Value.Data["text/plain"].(string); ok {
		line("= " + v)
	}
	var ee *engine.Error
	if errors.As(err, &ee) {
		line(ee.Name + "\n" + ee.Text())
	} else if err != nil {
		line("engine: " + err.Error())
	}
	return Plain(text.String())
}

// Cells runs the cells of a file and compares what they show, with a session
// for each case. A case starts with "### " and its name; "---" separates its
// cells. The text after ">>>" is everything that the cell shows (see [Show]);
// the text after "~" is a part of it.
func Cells(t *testing.T, file string, start func(t *testing.T) (engine.Engine, *Recorder)) {
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range strings.Split("\n"+string(b), "\n### ")[1:] {
		name, body, _ := strings.Cut(c, "\n")
		t.Run(name, func(t *testing.T) {
			e, out := start(t)
			for i, step := range strings.Split(body, "\n---\n") {
				code, want, _ := strings.Cut(step, "\n>>>\n")
				ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
				got := Show(ctx, e, engine.Cell{Number: i + 1, Code: code}, out)
				cancel()
				want = strings.TrimSpace(want)
				if part, ok := strings.CutPrefix(want, "~"); ok {
					if !strings.Contains(got, strings.TrimSpace(part)) {
						t.Errorf("In[%d]:\n%s\ngot:\n%s\nwant in it:\n%s", i+1, code, got, part)
					}
				} else if strings.TrimSpace(got) != want {
					t.Errorf("In[%d]:\n%s\ngot:\n%s\nwant:\n%s", i+1, code, got, want)
				}
			}
		})
	}
}
