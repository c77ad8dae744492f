// Package model implements the models of widgets, and the Jupyter widget
// messaging protocol, version 2.1, for them: a model opens its comm when it is
// first shown, sends its changes to pages, accepts changes from pages, and
// sends its state to a page that is loaded again. The package knows no
// particular widgets; those are in package widget, which cells use.
//
// Each session of the kernel has a [Session]. The engine hands it the comm
// messages of pages and makes the calls that it returns.
package model

import (
	"slices"
	"sync"

	"dace.local/kernel/engine"
	"dace.local/kernel/engine/goroutine"
)

// These are the comm targets and the version of the protocol.
const (
	widgetTarget    = "jupyter.widget"
	controlTarget   = "jupyter.widget.control"
	protocolVersion = "2.1.0"
)

// A Cell is the part of a running cell that widgets need. The kernel attaches
// it to the goroutines of the cell (see package goroutine).
type Cell interface {
	Outputs() engine.Outputs
	Widgets() *Session
	// Redirect calls f and sends its outputs to out, including those of the
	// goroutines that f starts.
	Redirect(out engine.Outputs, f func())
}

// currentCell returns the cell of this goroutine, or nil if it belongs to none.
func currentCell() Cell {
	c, _ := goroutine.Value().(Cell)
	return c
}

// A Session holds the open models of one session of the kernel. The zero value
// has no models.
type Session struct {
	// Earlier returns the states of models of earlier kernels, in the form of States.
	// It is called when a page asks for all; nil means that there are none.
	Earlier func() map[string]any

	mu       sync.Mutex        // guards open, order, controls, changed and followed
	open     map[string]*Model // by comm id
	order    []*Model          // the open models in the order of their opening
	controls map[string]bool   // ids of the comms through which pages request all states
	followed []*followed       // displays of widgets on pages without a manager
	changed  []*Model          // models that pages changed, for watchers not called yet
}

// Managed reports whether a page with a widget manager has asked for the models: pages
// without one cannot show them.
func (s *Session) Managed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.controls != nil
}

// A followed is a display of a widget on a page that shows its texts.
type followed struct {
	out    engine.Outputs
	id     string
	bundle func() engine.Bundle
	last   engine.Bundle
}

// mostFollowed bounds the displays that are kept up to date, to the latest.
const mostFollowed = 64

// Follow displays a bundle, and updates it with Refresh.
func (s *Session) Follow(out engine.Outputs, id string, bundle func() engine.Bundle) {
	f := &followed{out, id, bundle, bundle()}
	out.Display(f.last, id)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.followed = append(s.followed, f)
	s.followed = s.followed[max(0, len(s.followed)-mostFollowed):]
}

// Refresh updates the displays of widgets whose texts have changed. If a page has a
// widget manager, it does nothing: widgets do not stand still there.
func (s *Session) Refresh() {
	if s.Managed() {
		return
	}
	s.mu.Lock()
	list := slices.Clone(s.followed)
	s.mu.Unlock()
	for _, f := range list {
		b := f.bundle()
		if b.Data["text/plain"] != f.last.Data["text/plain"] || b.Data["text/html"] != f.last.Data["text/html"] {
			f.last = b
			f.out.Update(b, f.id)
		}
	}
}

// A Call is a call of a function that a cell registered, due to a message of a
// page.
type Call struct {
	// Out receives the function's outputs.
	Out engine.Outputs
	// Run calls the function. It must be called in a goroutine that belongs to
	// a cell.
	Run func()
}

// End shows the function's outputs after it has returned, and its error if err
// is not nil.
func (c Call) End(err *engine.Error) {
	switch o, ok := c.Out.(*Outputs); {
	case ok:
		o.end(err)
	case err != nil && c.Out != nil:
		c.Out.Stderr(err.Text() + "\n")
	}
}

// Receive handles a comm message from a page and answers it through out. The
// caller must make the returned calls now, one after the other. As long as
// m.More says that another message waits, models only store new values: if a
// page sends many positions of a slider, the callbacks receive only the last.
func (s *Session) Receive(m engine.CommMessage, out engine.Outputs) ([]Call, error) {
	data, _ := m.Data.(map[string]any)
	if m.Type == "comm_open" {
		if m.Target != controlTarget {
			return nil, engine.ErrUnknownTarget // only the kernel opens models
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.controls == nil {
			s.controls = map[string]bool{}
		}
		s.controls[m.ID] = true
		return nil, nil
	}
	s.mu.Lock()
	control, model := s.controls[m.ID], s.open[m.ID]
	s.mu.Unlock()
	var err error
	var calls []Call
	switch {
	case m.Type == "comm_close":
		s.remove(m.ID)
	case control && data["method"] == "request_states":
		states := s.States()
		if s.Earlier != nil {
			for id, state := range s.Earlier() {
				if states[id] == nil {
					states[id] = state
				}
			}
		}
		err = out.Comm(engine.CommMessage{Type: "comm_msg", ID: m.ID, Data: map[string]any{"method": "update_states", "states": states, "buffer_paths": []any{}}})
	case control, model == nil:
	case data["method"] == "request_state":
		err = model.sendState(out)
	case data["method"] == "update":
		state, _ := data["state"].(map[string]any)
		var changed bool
		changed, err = model.take(state, out)
		s.mu.Lock()
		if changed && !slices.Contains(s.changed, model) {
			s.changed = append(s.changed, model)
		}
		s.mu.Unlock()
	case data["method"] == "custom":
		content, _ := data["content"].(map[string]any)
		calls = append(s.due(), model.custom(content)...)
	}
	if !m.More {
		calls = append(calls, s.due()...)
	}
	for i, c := range calls {
		if !reaches(c.Out, out) {
			calls[i].Out = out
		}
	}
	return calls, err
}

// reaches reports whether the page that a message came from shows the outputs
// that go to out. A page that was loaded again since the cell ran does not show
// outputs that come late below that cell, but it has a log for outputs of its
// own messages.
func reaches(out, message engine.Outputs) bool {
	if _, ok := out.(*Outputs); ok {
		return true
	}
	from, ok := message.(engine.ClientOutputs)
	to, ok2 := out.(engine.ClientOutputs)
	return out != nil && (!ok || !ok2 || from.Client() == to.Client())
}

// due returns the calls of watchers for the models that pages have changed.
func (s *Session) due() []Call {
	s.mu.Lock()
	changed := s.changed
	s.changed = nil
	s.mu.Unlock()
	var calls []Call
	for _, m := range changed {
		calls = append(calls, m.due()...)
	}
	return calls
}

// add registers a model that is being opened.
func (s *Session) add(m *Model) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open == nil {
		s.open = map[string]*Model{}
	}
	s.open[m.id] = m
	s.order = append(s.order, m)
}

// remove forgets a closed comm.
func (s *Session) remove(id string) {
	s.mu.Lock()
	m := s.open[id]
	delete(s.open, id)
	delete(s.controls, id)
	s.order = slices.DeleteFunc(s.order, func(x *Model) bool { return x == m })
	s.mu.Unlock()
	if m != nil {
		m.mu.Lock()
		m.session = nil // the model opens again when it is shown again
		m.mu.Unlock()
	}
}

// States returns the states of all open models by their ids, as a page receives them.
func (s *Session) States() map[string]any {
	s.mu.Lock()
	open := slices.Clone(s.order)
	s.mu.Unlock()
	states := map[string]any{}
	for _, m := range open {
		states[m.id] = Kept(m.wire())
	}
	return states
}

// Order returns the ids of the open models in the order in which they were opened.
func (s *Session) Order() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	ids := make([]string, len(s.order))
	for i, m := range s.order {
		ids[i] = m.id
	}
	return ids
}

// Kept returns the state of a model with what a page needs to make it.
func Kept(state map[string]any) map[string]any {
	return map[string]any{
		"model_name":           state["_model_name"],
		"model_module":         state["_model_module"],
		"model_module_version": state["_model_module_version"],
		"state":                state,
	}
}
