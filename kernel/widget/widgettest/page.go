// Package widgettest provides a page for tests of widgets. The page handles the
// kernel's comm messages as JupyterLab does, and can act like a person who
// changes values.
package widgettest

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"dace.local/kernel/engine"
	"dace.local/kernel/engine/goroutine"
	"dace.local/kernel/widget/model"
)

// A Page is the state of a client: the models that the kernel has opened, and
// the outputs below the cells. All cells write their outputs to it.
type Page struct {
	T      testing.TB
	Kernel engine.CommHandler
	ID     string // identifies the page as a client

	mu      sync.Mutex                // guards models, wire, text, shown and updated
	models  map[string]map[string]any // states of the models by comm id
	wire    []engine.CommMessage      // all messages, with data decoded from its JSON
	text    strings.Builder           // printed below cells
	shown   []map[string]any          // displayed below cells
	updated []map[string]any          // displays that were updated
}

var _ engine.ClientOutputs = (*Page)(nil)

// NewPage returns a page and its session, in which a test runs cells with
// [Session.Cell].
func NewPage(t testing.TB) (*Page, *Session) {
	s := &Session{}
	p := &Page{T: t, Kernel: s, models: map[string]map[string]any{}}
	s.page = p
	return p, s
}

// A Session runs functions as cells, without an interpreter.
type Session struct {
	widgets model.Session
	page    *Page
}

// A cell is the value that goroutines of a cell carry.
type cell struct {
	s   *Session
	out engine.Outputs
	ctx context.Context
}

func (c *cell) Context() context.Context { return c.ctx }

func (c *cell) Outputs() engine.Outputs { return c.out }
func (c *cell) Widgets() *model.Session { return &c.s.widgets }
func (c *cell) Redirect(out engine.Outputs, f func()) {
	goroutine.With(&cell{c.s, out, c.ctx}, f)
}

// Cell runs f as a cell whose outputs go to the page.
func (s *Session) Cell(f func()) { s.CellAs(&engine.Cell{}, f) }

// CellAs is Cell, as a cell of a notebook.
func (s *Session) CellAs(c *engine.Cell, f func()) {
	goroutine.With(&cell{s, s.page, engine.WithCell(context.Background(), c)}, f)
}

// Refresh does what the kernel does after each cell.
func (s *Session) Refresh() { s.widgets.Refresh() }

// Print prints text in the cell of this goroutine.
func (s *Session) Print(text string) { goroutine.Value().(*cell).out.Stdout(text) }

// Comm handles a message from the page and makes the calls that it leads to.
func (s *Session) Comm(_ context.Context, m engine.CommMessage, out engine.Outputs) error {
	calls, err := s.widgets.Receive(m, out)
	for _, c := range calls {
		c.End(s.call(c))
	}
	return err
}

func (s *Session) call(c model.Call) (err *engine.Error) {
	defer func() {
		if v := recover(); v != nil {
			text := fmt.Sprint(v)
			err = &engine.Error{Name: engine.Panic, Message: text, Traceback: []string{"panic: " + text}}
		}
	}()
	goroutine.With(&cell{s, c.Out, context.Background()}, c.Run)
	return nil
}

func (p *Page) Stdout(s string) { p.mu.Lock(); defer p.mu.Unlock(); p.text.WriteString(s) }
func (p *Page) Stderr(s string) { p.Stdout(s) }
func (p *Page) Display(b engine.Bundle, _ string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.shown = append(p.shown, b.Data)
}
func (p *Page) Client() string { return p.ID }
func (p *Page) Update(b engine.Bundle, _ string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.updated = append(p.updated, b.Data)
}
func (p *Page) Clear(bool) {}
func (p *Page) Input(context.Context, string, bool) (string, error) {
	return "", engine.ErrNoInput
}

// Comm applies a message of the kernel to the page's models as JupyterLab does.
func (p *Page) Comm(m engine.CommMessage) error {
	b, err := json.Marshal(m.Data)
	if err != nil {
		p.T.Errorf("a comm message is no JSON: %v", err)
		return err
	}
	var data map[string]any
	if err := json.Unmarshal(b, &data); err != nil {
		p.T.Errorf("a comm message's data is no object: %s", b)
	}
	m.Data = data
	p.mu.Lock()
	defer p.mu.Unlock()
	p.wire = append(p.wire, m)
	state, _ := data["state"].(map[string]any)
	switch m.Type {
	case "comm_open":
		p.models[m.ID] = map[string]any{}
		if m.Target != "jupyter.widget" || m.Metadata["version"] != "2.1.0" {
			p.T.Errorf("comm_open to %q with metadata %v", m.Target, m.Metadata)
		}
	case "comm_close":
		delete(p.models, m.ID)
		return nil
	}
	model := p.models[m.ID]
	for key, v := range state {
		for _, ref := range references(v) {
			if p.models[ref] == nil {
				p.T.Errorf("the state of %v refers to a model that the page does not know", state["_model_name"])
			}
		}
		if model != nil && data["method"] != "echo_update" {
			model[key] = v
		}
	}
	return nil
}

// references returns the ids of the models that a value refers to.
func references(v any) []string {
	var ids []string
	switch v := v.(type) {
	case string:
		if id, ok := strings.CutPrefix(v, "IPY_MODEL_"); ok {
			ids = append(ids, id)
		}
	case []any:
		for _, x := range v {
			ids = append(ids, references(x)...)
		}
	}
	return ids
}

// Model returns the id and state of the only model with the given name, such as
// "IntSliderModel".
func (p *Page) Model(name string) (id string, state map[string]any) {
	p.T.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, s := range p.models {
		if s["_model_name"] == name {
			if id != "" {
				p.T.Fatalf("there is more than one %s", name)
			}
			id, state = i, s
		}
	}
	if id == "" {
		p.T.Fatalf("the page has no %s", name)
	}
	return id, state
}

// Send sends the kernel a message, as the server does.
func (p *Page) Send(ctx context.Context, id string, data map[string]any, more bool) {
	p.T.Helper()
	b, err := json.Marshal(data)
	if err != nil {
		p.T.Fatal(err)
	}
	var v any
	if err := json.Unmarshal(b, &v); err != nil {
		p.T.Fatal(err)
	}
	if err := p.Kernel.Comm(ctx, engine.CommMessage{Type: "comm_msg", ID: id, Data: v, More: more}, p); err != nil {
		p.T.Error(err)
	}
}

// Set sends the kernel a new value of a model, as if a person had changed it.
func (p *Page) Set(name, key string, v any) {
	p.T.Helper()
	id, _ := p.Model(name)
	p.Send(p.T.Context(), id, Update(key, v), false)
}

// Update returns the data of a message that sets a value.
func Update(key string, v any) map[string]any {
	return map[string]any{"method": "update", "state": map[string]any{key: v}, "buffer_paths": []any{}}
}

// Click sends a click on the page's only button.
func (p *Page) Click() {
	p.T.Helper()
	id, _ := p.Model("ButtonModel")
	p.Send(p.T.Context(), id, map[string]any{"method": "custom", "content": map[string]any{"event": "click"}}, false)
}

// Manage tells the kernel that the page has a widget manager.
func (p *Page) Manage() {
	p.T.Helper()
	if err := p.Kernel.Comm(p.T.Context(), engine.CommMessage{Type: "comm_open", ID: "control", Target: "jupyter.widget.control"}, p); err != nil {
		p.T.Error(err)
	}
}

// Press sends a click on the button whose name begins with a text, and returns whether
// there is one.
func (p *Page) Press(name string) bool {
	p.mu.Lock()
	id := ""
	for i, s := range p.models {
		if text, _ := s["description"].(string); s["_model_name"] == "ButtonModel" && strings.HasPrefix(text, name) {
			id = i
		}
	}
	p.mu.Unlock()
	if id != "" {
		p.Send(p.T.Context(), id, map[string]any{"method": "custom", "content": map[string]any{"event": "click"}}, false)
	}
	return id != ""
}

// All returns a value of all models with a name as text, by their ids.
func (p *Page) All(name, key string) map[string]string {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := map[string]string{}
	for id, s := range p.models {
		if s["_model_name"] == name {
			all[id] = fmt.Sprint(s[key])
		}
	}
	return all
}

// Values returns a value of all models with a name as text.
func (p *Page) Values(name, key string) []string {
	return slices.Collect(maps.Values(p.All(name, key)))
}

// Printed returns what was printed below cells since the last call.
func (p *Page) Printed() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.text.String()
	p.text.Reset()
	return s
}

// Show displays a bundle below the cells, like the value of a cell.
func (p *Page) Show(bundle map[string]any) { p.Display(engine.Bundle{Data: bundle}, "") }

// Shown returns what was displayed below cells since the last call.
func (p *Page) Shown() []map[string]any {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.shown
	p.shown = nil
	return s
}

// Updated returns the displays that were updated since the last call.
func (p *Page) Updated() []map[string]any {
	p.mu.Lock()
	defer p.mu.Unlock()
	u := p.updated
	p.updated = nil
	return u
}

// Sent returns the messages of the kernel since the last call.
func (p *Page) Sent() []engine.CommMessage {
	p.mu.Lock()
	defer p.mu.Unlock()
	w := p.wire
	p.wire = nil
	return w
}

// Area returns the outputs in the page's only output widget, each on a line.
func (p *Page) Area() string {
	p.T.Helper()
	_, state := p.Model("OutputModel")
	p.mu.Lock()
	defer p.mu.Unlock()
	var lines []string
	list, _ := state["outputs"].([]any)
	for _, x := range list {
		switch o := x.(map[string]any); o["output_type"] {
		case "stream":
			lines = append(lines, fmt.Sprintf("%v: %v", o["name"], o["text"]))
		case "display_data":
			data := o["data"].(map[string]any)
			text := fmt.Sprint(data["text/plain"])
			if data["image/png"] != nil {
				text += " (PNG)"
			}
			lines = append(lines, "display: "+text)
		case "error":
			var b strings.Builder
			for _, l := range o["traceback"].([]any) {
				b.WriteString("\n" + ansi.ReplaceAllString(l.(string), ""))
			}
			lines = append(lines, fmt.Sprintf("error: %v: %v%s", o["ename"], o["evalue"], b.String()))
		}
	}
	return strings.Join(lines, "\n")
}

// Eventually waits until ok returns true, and fails the test after 10 seconds.
func Eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it does not come: " + what)
		}
	}
}

var ansi = regexp.MustCompile("\x1b\\[[0-9;]*m")
