package cli

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"dace.local/kernel/engine"
)

// A console implements engine.Outputs for code that runs in a terminal:
// streams pass through, displayed values become text, and figures become
// files.
type console struct {
	out, err io.Writer
	// dir and base determine the names of the figures' files:
	// dir/base-1.png and so on.
	dir, base string
	input     func(ctx context.Context, prompt string, password bool) (string, error)
	// ended, unless nil, takes the report of a goroutine that a panic has ended.
	ended func(report string)

	mu     sync.Mutex // guards the fields below, and writes to out and err
	figure int
	ids    map[string]*shownItem
	order  []string // ids of items whose current text has not been shown
	last   string   // id of the item whose line is the last one shown
	failed error    // first error of writing a figure
}

// A shownItem is the output that was displayed under a display id.
type shownItem struct {
	path string // of the figure's file, or ""
	text string
	late bool // text has not been shown yet
}

var _ engine.Outputs = (*console)(nil)

func (c *console) Stdout(text string) { c.write(c.out, text) }
func (c *console) Stderr(text string) {
	if c.ended != nil && strings.HasPrefix(text, engine.GoroutineEnded) {
		c.ended(text)
		return
	}
	c.write(c.err, text)
}

func (c *console) write(w io.Writer, text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last = ""
	io.WriteString(w, text)
}

func (c *console) Display(b engine.Bundle, id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	item := &shownItem{}
	c.show(b, item)
	if id != "" {
		if c.ids == nil {
			c.ids = map[string]*shownItem{}
		}
		c.ids[id] = item
		c.last = id
	}
}

// Update rewrites a figure's file, or replaces a text. In a terminal it
// redraws a text that is the last line; otherwise finish shows the text at the
// end.
func (c *console) Update(b engine.Bundle, id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	item := c.ids[id]
	if item == nil {
		return
	}
	if data, _ := picture(b.Data); data != nil && item.path != "" {
		c.save(item.path, data)
		return
	}
	text := strings.TrimRight(asText(b.Data), "\n")
	if text == item.text {
		return
	}
	_, tty := descriptor(c.out)
	old := item.text
	item.text = text
	if tty && c.last == id && !strings.Contains(old, "\n") && !strings.Contains(text, "\n") {
		fmt.Fprintf(c.out, "\x1b[1A\r\x1b[K%s\n", clip(text, width(c.out)-1))
		return
	}
	if !item.late {
		item.late = true
		c.order = append(c.order, id)
	}
}

// Clear does nothing: text already shown in a terminal stays.
func (c *console) Clear(bool) {}

func (c *console) Input(ctx context.Context, prompt string, password bool) (string, error) {
	return c.input(ctx, prompt, password)
}

// Comm returns an error, because a terminal cannot show widgets.
func (c *console) Comm(engine.CommMessage) error {
	return errors.New("widgets need a notebook; a terminal cannot show them")
}

// finish shows the current text of updated items that have not been shown.
func (c *console) finish() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, id := range c.order {
		item := c.ids[id]
		fmt.Fprintln(c.out, item.text)
		item.late = false
	}
	c.order, c.last = nil, ""
}

// result shows the value of a cell and the content of its pager.
func (c *console) result(r engine.Result) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, b := range append(r.Pages, r.Value) {
		if !b.Empty() {
			c.show(b, &shownItem{})
		}
	}
}

func (c *console) show(b engine.Bundle, item *shownItem) {
	c.last = ""
	if data, ext := picture(b.Data); data != nil {
		c.figure++
		item.path = filepath.Join(c.dir, fmt.Sprintf("%s-%d%s", c.base, c.figure, ext))
		if c.save(item.path, data) {
			fmt.Fprintf(c.out, "figure: %s\n", item.path)
		}
		return
	}
	item.text = strings.TrimRight(asText(b.Data), "\n")
	fmt.Fprintln(c.out, item.text)
}

func (c *console) save(path string, data []byte) bool {
	err := os.MkdirAll(filepath.Dir(path), 0o755)
	if err == nil {
		err = os.WriteFile(path, data, 0o644)
	}
	if err != nil {
		err = fmt.Errorf("cannot write the figure %s: %w", path, reason(err))
		fmt.Fprintln(c.err, err)
		if c.failed == nil {
			c.failed = err
		}
	}
	return err == nil
}

// pictures lists the MIME types that are written to files, in order of
// preference. HTML is written only if there is no text to show instead.
var pictures = []struct{ mime, ext string }{
	{"image/png", ".png"}, {"image/svg+xml", ".svg"}, {"image/jpeg", ".jpg"}, {"image/gif", ".gif"}, {"image/webp", ".webp"},
	{"application/pdf", ".pdf"}, {"text/html", ".html"},
}

// picture returns the content and the extension of a figure's file; file is
// nil if the bundle can be shown as text.
func picture(data map[string]any) (file []byte, ext string) {
	for _, p := range pictures {
		s, ok := data[p.mime].(string)
		if !ok {
			continue
		}
		if p.mime == "text/html" && (data["text/plain"] != nil || data["text/markdown"] != nil) {
			continue
		}
		if p.mime == "text/html" || p.mime == "image/svg+xml" {
			return []byte(s), p.ext
		}
		b, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(s), ""))
		if err == nil {
			return b, p.ext
		}
	}
	return nil, ""
}
