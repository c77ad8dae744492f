package notebook

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"dace.local/kernel/engine"
)

// A recorder keeps what the cells of a notebook show.
type recorder struct {
	mu     sync.Mutex
	nb     *Notebook
	set    *Settings
	shown  map[string][]spot  // by display id
	states map[string]*widget // by comm id
	closed bool               // nothing is taken any more
}

// spot is an output that can be updated, and the record it stands in.
type spot struct {
	in  *record
	out *Output
}

// A widget is the state of a widget's model, kept for the notebook's metadata
// as Jupyter keeps it.
type widget struct {
	state   map[string]any
	buffers map[string]any // by path
}

// A record is one cell's Outputs.
type record struct {
	*recorder
	cell   *Cell
	stream *strings.Builder // the text of the last output where that is a stream
	clear  bool             // clear when the next output comes
}

var _ engine.Outputs = (*record)(nil)

func newRecorder(nb *Notebook, set *Settings) *recorder {
	return &recorder{nb: nb, set: set, shown: map[string][]spot{}, states: map[string]*widget{}}
}

// add appends an output, after the clearing that was put off.
func (r *record) add(o *Output) {
	if r.clear {
		r.wipe()
	}
	r.cell.Outputs = append(r.cell.Outputs, o)
	r.stream = nil
}

func (r *record) wipe() {
	r.clear, r.stream, r.cell.Outputs = false, nil, nil
	for id, places := range r.shown {
		var others []spot
		for _, p := range places {
			if p.in != r {
				others = append(others, p)
			}
		}
		if others == nil {
			delete(r.shown, id)
		} else {
			r.shown[id] = others
		}
	}
}

func (r *record) write(name, text string) {
	if text == "" {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return
	}
	last := len(r.cell.Outputs) - 1
	if r.clear || r.stream == nil || r.cell.Outputs[last].Name != name {
		r.add(&Output{Type: Stream, Name: name})
		r.stream = new(strings.Builder)
		last = len(r.cell.Outputs) - 1
	}
	r.stream.WriteString(text)
	r.cell.Outputs[last].Text = r.stream.String() // shares the builder's memory
	r.show(&Output{Type: Stream, Name: name, Text: text})
}

func (r *record) show(o *Output) {
	if r.set.OnOutput != nil {
		r.set.OnOutput(r.cell, o)
	}
}

// Stdout appends to the cell's standard output.
func (r *record) Stdout(text string) { r.write("stdout", text) }

// Stderr appends to the cell's standard error.
func (r *record) Stderr(text string) { r.write("stderr", text) }

// Display adds an output; one shown earlier under the same id changes too, as
// in Jupyter.
func (r *record) Display(b engine.Bundle, id string) {
	r.put(&Output{Type: Display}, b, id)
}

func (r *record) put(o *Output, b engine.Bundle, id string) {
	o.Data, o.Metadata = bundle(b)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return
	}
	r.add(o)
	if id != "" {
		r.change(id, o.Data, o.Metadata)
		r.shown[id] = append(r.shown[id], spot{r, o})
	}
	r.show(o)
}

func (r *recorder) change(id string, data, meta map[string]any) {
	for _, p := range r.shown[id] {
		p.out.Data, p.out.Metadata = data, meta
	}
}

// Update replaces what is shown under id in any cell.
func (r *record) Update(b engine.Bundle, id string) {
	data, meta := bundle(b)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return
	}
	r.change(id, data, meta)
	if r.set.OnUpdate != nil && len(r.shown[id]) > 0 {
		r.set.OnUpdate(r.cell, &Output{Type: Display, Data: data, Metadata: meta})
	}
}

// Clear removes the cell's outputs.
func (r *record) Clear(wait bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return
	}
	if wait {
		r.clear = true
		return
	}
	r.wipe()
}

// Input asks whoever runs the notebook.
func (r *record) Input(ctx context.Context, prompt string, password bool) (string, error) {
	if r.set.Input == nil {
		return "", errors.New("the cell asks for input, and nobody is there to answer")
	}
	return r.set.Input(ctx, prompt, password)
}

// Comm keeps the state of widgets; there is no client that could answer.
func (r *record) Comm(m engine.CommMessage) error {
	v, err := plainJSON(m.Data)
	if err != nil {
		return fmt.Errorf("comm message: %w", err)
	}
	data, _ := v.(map[string]any)
	state, ok := data["state"].(map[string]any)
	if !ok || m.Type == "comm_close" {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	w := r.states[m.ID]
	if w == nil {
		w = &widget{state: map[string]any{}, buffers: map[string]any{}}
		r.states[m.ID] = w
	}
	maps.Copy(w.state, state)
	paths, _ := data["buffer_paths"].([]any)
	for i, b := range m.Buffers[:min(len(paths), len(m.Buffers))] {
		w.buffers[fmt.Sprint(paths[i])] = map[string]any{
			"data":     base64.StdEncoding.EncodeToString(b),
			"encoding": "base64",
			"path":     paths[i],
		}
	}
	return nil
}

// fail adds a cell's error.
func (r *record) fail(e *engine.Error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	o := &Output{Type: Failure, ErrorName: e.Name, ErrorValue: e.Message, Traceback: e.Traceback}
	r.add(o)
	r.show(o)
}

// storeWidgets puts the widgets' state into the notebook's metadata.
func (r *recorder) storeWidgets() {
	models := map[string]any{}
	for id, w := range r.states {
		if _, ok := w.state["_model_name"]; !ok {
			continue
		}
		model := map[string]any{
			"model_name":           w.state["_model_name"],
			"model_module":         w.state["_model_module"],
			"model_module_version": w.state["_model_module_version"],
			"state":                w.state,
		}
		if len(w.buffers) > 0 {
			var list []any
			for _, path := range slices.Sorted(maps.Keys(w.buffers)) {
				list = append(list, w.buffers[path])
			}
			model["buffers"] = list
		}
		models[id] = model
	}
	if len(models) > 0 {
		r.nb.Metadata["widgets"] = map[string]any{
			"application/vnd.jupyter.widget-state+json": map[string]any{
				"state": models, "version_major": 2, "version_minor": 0,
			},
		}
	}
}

// snapshot copies the notebook as it is now: cells and outputs are copies,
// what they refer to is never changed in place.
func (r *recorder) snapshot() *Notebook {
	r.mu.Lock()
	defer r.mu.Unlock()
	nb := *r.nb
	nb.Cells = make([]*Cell, len(r.nb.Cells))
	for i, c := range r.nb.Cells {
		cell := *c
		cell.Outputs = make([]*Output, len(c.Outputs))
		for k, o := range c.Outputs {
			out := *o
			out.Text = settle(out.Text)
			cell.Outputs[k] = &out
		}
		nb.Cells[i] = &cell
	}
	return &nb
}

// settle drops what a carriage return has overwritten, so that a progress
// line is kept in its last state only, as nbclient does.
func settle(s string) string {
	if !strings.Contains(s, "\r") {
		return s
	}
	var b strings.Builder
	for line := range strings.Lines(s) {
		body, end := line, ""
		for strings.HasSuffix(body, "\n") || strings.HasSuffix(body, "\r") {
			body, end = body[:len(body)-1], body[len(body)-1:]+end
		}
		b.WriteString(body[strings.LastIndexByte(body, '\r')+1:])
		b.WriteString(end)
	}
	return b.String()
}

// bundle makes what a notebook stores of what an engine shows.
func bundle(b engine.Bundle) (data, meta map[string]any) {
	data, meta = map[string]any{}, map[string]any{}
	for mime, v := range b.Data {
		p, err := plainJSON(v)
		if err != nil {
			data["text/plain"] = fmt.Sprintf("%s cannot be stored: %v", mime, err)
			continue
		}
		if _, text := p.(string); !text && !isJSON(mime) {
			p = fmt.Sprint(p)
		}
		data[mime] = p
	}
	for key, v := range b.Metadata {
		if p, err := plainJSON(v); err == nil {
			meta[key] = p
		}
	}
	return data, meta
}
