package display

import (
	"strings"
	"sync"

	"dace.local/kernel/engine"
)

// A Capture is what a cell that begins with %%capture has shown.
type Capture struct {
	mu     sync.Mutex // guards events
	events []capturedEvent
}

// A capturedEvent is one output.
type capturedEvent struct {
	stdout, stderr string
	bundle         engine.Bundle
	id             string
}

// Outputs returns outputs that are kept in c. What is no output, such as a
// question to the user, goes to out.
func (c *Capture) Outputs(out engine.Outputs) engine.Outputs { return &recorder{out, c} }

// A recorder is an engine.Outputs that writes to a Capture.
type recorder struct {
	engine.Outputs
	to *Capture
}

func (r *recorder) Stdout(text string) { r.to.add(capturedEvent{stdout: text}) }
func (r *recorder) Stderr(text string) { r.to.add(capturedEvent{stderr: text}) }

func (r *recorder) Display(b engine.Bundle, id string) { r.to.add(capturedEvent{bundle: b, id: id}) }

func (r *recorder) Update(b engine.Bundle, id string) {
	if !r.to.update(b, id) {
		r.Outputs.Update(b, id) // shown by an earlier cell
	}
}

func (r *recorder) Clear(bool) { r.to.clear() }

func (c *Capture) add(e capturedEvent) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.events = append(c.events, e)
}

// update replaces what has been displayed under an id, if anything has.
func (c *Capture) update(b engine.Bundle, id string) (found bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range c.events {
		if e := &c.events[i]; e.id == id && id != "" {
			e.bundle, found = b, true
		}
	}
	return found
}

func (c *Capture) clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.events = nil
}

// Text returns what the cell printed.
func (c *Capture) Text() string { return c.text(func(e capturedEvent) string { return e.stdout }) }

// ErrText returns what the cell wrote to its standard error.
func (c *Capture) ErrText() string { return c.text(func(e capturedEvent) string { return e.stderr }) }

func (c *Capture) text(of func(capturedEvent) string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var b strings.Builder
	for _, e := range c.events {
		b.WriteString(of(e))
	}
	return b.String()
}

// String returns what the cell printed.
func (c *Capture) String() string { return c.Text() }

// Len returns the number of figures, tables and the like that the cell
// displayed.
func (c *Capture) Len() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := 0
	for _, e := range c.events {
		if !e.bundle.Empty() {
			n++
		}
	}
	return n
}

// Show shows everything as the cell did.
func (c *Capture) Show() {
	if out := outputs(); out != nil {
		c.Replay(out)
	}
}

// Replay writes everything to other outputs.
func (c *Capture) Replay(out engine.Outputs) {
	c.mu.Lock()
	events := append([]capturedEvent(nil), c.events...)
	c.mu.Unlock()
	for _, e := range events {
		switch {
		case e.stdout != "":
			out.Stdout(e.stdout)
		case e.stderr != "":
			out.Stderr(e.stderr)
		case !e.bundle.Empty():
			out.Display(e.bundle, e.id)
		}
	}
}
