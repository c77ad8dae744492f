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

// A recorder stores the outputs of a notebook's cells in the notebook.
type recorder struct {
	mu     sync.Mutex // guards nb, shown, states, closed and all records
	nb     *Notebook
	set    *Settings
	shown  map[string][]spot  // outputs by display id
	states map[string]*widget // widgets by comm id
	closed bool               // the run has ended, and further outputs are ignored
}

// A spot is an output that can be updated, and the record that contains it.
type spot struct {
	in  *record
	out *Output
}

// A widget is the state of a widget's model, in the form in which Jupyter
// stores it in the notebook's metadata.
type widget struct {
	state   map[string]any
	buffers map[string]any // entries of the model's "buffers", by path
}

// A record implements engine.Outputs for one cell.
type record struct {
	*recorder
	cell   *Cell
	stream *strings.Builder // text of the last output if it is a stream, else nil
	clear  bool             // clear the outputs when the next output arrives
}

var _ engine.Outputs = (*record)(nil)

func newRecorder(nb *Notebook, set *Settings) *recorder {
	return &recorder{nb: nb, set: set, shown: map[string][]spot{}, states: map[string]*widget{}}
}

// add appends an output; before that it clears the outputs if Clear has
// postponed it.
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
	r.cell.Outputs[last].Text = r.stream.String() // without a copy: shares the builder's memory
	r.show(&Output{Type: Stream, Name: name, Text: text})
}

func (r *record) show(o *Output) {
	if r.set.OnOutput != nil {
		r.set.OnOutput(r.cell, o)
	}
}

// Stdout appends text to the cell's standard output.
func (r *record) Stdout(text string) { r.write("stdout", text) }

// Stderr appends text to the cell's standard error.
func (r *record) Stderr(text string) { r.write("stderr", text) }

// Display adds an output. As in Jupyter, it also replaces outputs shown
// earlier under the same id.
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

// Update replaces the outputs shown under id in all cells.
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

// Clear removes the cell's outputs, with wait only when the next output
// arrives.
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

// Input asks the caller of Run for a line, through Settings.Input.
func (r *record) Input(ctx context.Context, prompt string, password bool) (string, error) {
	if r.set.Input == nil {
		return "", errors.New("the cell asks for input, and nobody is there to answer")
	}
	return r.set.Input(ctx, prompt, password)
}

// Comm records the state of widgets. It sends no replies, because there is no
// client.
func (r *record) Comm(m engine.CommMessage) error {
	v, err := plainJSON(m.Data)
	if err != nil {
		return fmt.Errorf("comm message: %w", err)
	}
	data, _ := v.(map[string]any)
	state, ok := data["state"].(map[string]any)
	r.mu.Lock()
	defer r.mu.Unlock()
	if m.Type == "comm_close" {
		delete(r.states, m.ID)
	}
	if !ok || r.closed || m.Type == "comm_close" {
		return nil
	}
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

// fail adds the error of a cell as an output.
func (r *record) fail(e *engine.Error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	o := &Output{Type: Failure, ErrorName: e.Name, ErrorValue: e.Message, Traceback: e.Traceback}
	r.add(o)
	r.show(o)
}

// widgetState is the MIME type under which a notebook's metadata stores the
// state of its widgets.
const widgetState = "application/vnd.jupyter.widget-state+json"

// storeWidgets returns the metadata with the current state of the widgets in
// place of the state from an earlier run.
func (r *recorder) storeWidgets(metadata map[string]any) map[string]any {
	widgets, _ := metadata["widgets"].(map[string]any)
	metadata, widgets = maps.Clone(metadata), maps.Clone(widgets)
	delete(metadata, "widgets")
	delete(widgets, widgetState)
	models := map[string]any{}
	for id, w := range r.states {
		if _, ok := w.state["_model_name"]; !ok {
			continue
		}
		model := map[string]any{
			"model_name":           w.state["_model_name"],
			"model_module":         w.state["_model_module"],
			"model_module_version": w.state["_model_module_version"],
			"state":                maps.Clone(w.state),
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
		if widgets == nil {
			widgets = map[string]any{}
		}
		widgets[widgetState] = map[string]any{"state": models, "version_major": 2, "version_minor": 0}
	}
	if len(widgets) > 0 {
		metadata["widgets"] = widgets
	}
	return metadata
}

// snapshot returns a copy of the notebook in its current state. It copies the
// cells and outputs, and shares the values that they refer to, which are never
// changed in place.
func (r *recorder) snapshot() *Notebook {
	r.mu.Lock()
	defer r.mu.Unlock()
	nb := *r.nb
	nb.Metadata = r.storeWidgets(nb.Metadata)
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

// settle removes text that a carriage return has overwritten, so that only the
// last state of a progress line is kept, as in nbclient.
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

// bundle converts an engine's bundle to the form stored in a notebook.
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
