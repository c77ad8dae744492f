package model

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"

	"dace.local/kernel/engine"
)

// A Model is the state of one widget, shared by the kernel and all pages that
// show the widget.
type Model struct {
	id     string
	accept Accept

	mu       sync.Mutex     // guards state, session, out, closed, watchers and pending
	state    map[string]any // values that encode to JSON, *Model, []*Model, or []any of these
	session  *Session       // the session that has it open; nil if it is not open
	out      engine.Outputs // outputs of the cell that opened it
	closed   bool
	watchers []watcher
	pending  map[string]bool // keys that pages changed, for watchers not called yet
}

// A watcher is a function to call when a value of a model changes, or when a
// page sends the model a custom message.
type watcher struct {
	key string         // key of the value in the state; "" for custom messages
	run func(any)      // receives the value, or the content of the message
	out engine.Outputs // outputs of the cell that registered it
}

// Accept checks a value v that a page sets for a key. It returns the value to
// store, which may differ from v, or false to refuse it. state belongs to the
// model: Accept may only read it, and only until it returns.
type Accept func(state map[string]any, key string, v any) (any, bool)

// New returns a model that no page knows yet. The values of state are other
// models, lists with other models, or values that encode to JSON. Pages cannot
// set keys that begin with an underscore, nor values that hold other models.
func New(state map[string]any, accept Accept) *Model {
	var id [16]byte
	rand.Read(id[:]) // never returns an error
	return &Model{id: hex.EncodeToString(id[:]), state: state, accept: accept}
}

// ID returns the model's id in the protocol, which is that of its comm.
func (m *Model) ID() string { return m.id }

// Get returns a value of the state.
func (m *Model) Get(key string) any {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.state[key]
}

// Set changes a value of the state, sends it to all pages, and calls its
// watchers.
func (m *Model) Set(key string, v any) {
	m.SetAll(map[string]any{key: v})
}

// SetAll is Set for several values, in one message.
func (m *Model) SetAll(values map[string]any) {
	cell := currentCell()
	for _, c := range m.set(values, toPages(cell)) {
		if cell == nil || c.Out == nil {
			c.Run()
		} else {
			cell.Redirect(c.Out, c.Run)
		}
		c.End(nil)
	}
}

// set changes the state, sends the changes to pages through out (nil means the
// outputs of the cell that opened the model), and returns the calls of the
// watchers of changed values.
func (m *Model) set(values map[string]any, out engine.Outputs) []Call {
	m.mu.Lock()
	defer m.mu.Unlock()
	changed := map[string]any{}
	for key, v := range values {
		if !same(m.state[key], v) {
			m.state[key], changed[key] = v, v
			delete(m.pending, key)
		}
	}
	if len(changed) == 0 {
		return nil
	}
	if m.session != nil {
		if out == nil {
			out = m.out
		}
		m.openAll(changed)
		_ = out.Comm(message(m.id, "update", references(changed))) // fails only for values that do not encode to JSON
	}
	var calls []Call
	for _, w := range m.watchers {
		if v, ok := changed[w.key]; ok {
			calls = append(calls, w.call(v))
		}
	}
	return calls
}

// toPages returns the outputs through which a cell sends comm messages: the
// outputs of the cell itself, even if they are redirected to an output widget.
func toPages(cell Cell) engine.Outputs {
	if cell == nil {
		return nil
	}
	out := cell.Outputs()
	for {
		o, ok := out.(*Outputs)
		if !ok {
			return out
		}
		out = o.base()
	}
}

// Watch registers f, which is called with the new value whenever a page or Set
// changes the value of key. The outputs of f go to out, or if it is nil, to the
// cell that calls Watch.
func (m *Model) Watch(key string, out engine.Outputs, f func(v any)) {
	if cell := currentCell(); out == nil && cell != nil {
		out = cell.Outputs()
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.watchers = append(m.watchers, watcher{key, f, out})
}

// call returns the call of the watcher with value v.
func (w watcher) call(v any) Call {
	return Call{Out: w.out, Run: func() { w.run(v) }}
}

// due returns the watchers' calls for values that pages have changed.
func (m *Model) due() []Call {
	m.mu.Lock()
	defer m.mu.Unlock()
	var calls []Call
	for _, w := range m.watchers {
		if m.pending[w.key] {
			calls = append(calls, w.call(m.state[w.key]))
		}
	}
	m.pending = nil
	return calls
}

// custom returns the watchers' calls for a custom message.
func (m *Model) custom(content map[string]any) []Call {
	m.mu.Lock()
	defer m.mu.Unlock()
	var calls []Call
	for _, w := range m.watchers {
		if w.key == "" {
			calls = append(calls, w.call(content))
		}
	}
	return calls
}

// Open opens the model, and all models that it refers to, on the pages of the
// running cell. It returns false if no cell is running in this goroutine.
func (m *Model) Open() bool {
	cell := currentCell()
	if cell == nil {
		return false
	}
	out := toPages(cell)
	if out == nil {
		return false
	}
	m.open(cell.Widgets(), out)
	return true
}

func (m *Model) open(s *Session, out engine.Outputs) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.session != nil || m.closed {
		return
	}
	m.session, m.out = s, out
	m.openAll(m.state)
	s.add(m)
	_ = out.Comm(engine.CommMessage{
		Type: "comm_open", ID: m.id, Target: widgetTarget,
		Data:     map[string]any{"state": references(m.state), "buffer_paths": []any{}},
		Metadata: map[string]any{"version": protocolVersion},
	})
}

// openAll opens the models that values refer to: a page must know a model
// before it receives a reference to it. m.mu must be held.
func (m *Model) openAll(values map[string]any) {
	for _, key := range slices.Sorted(maps.Keys(values)) {
		switch v := values[key].(type) {
		case *Model:
			v.open(m.session, m.out)
		case []*Model:
			for _, x := range v {
				x.open(m.session, m.out)
			}
		case []any:
			for _, x := range v {
				if x, ok := x.(*Model); ok {
					x.open(m.session, m.out)
				}
			}
		}
	}
}

// Close removes the model from all pages.
func (m *Model) Close() {
	m.mu.Lock()
	s, out := m.session, m.out
	m.closed = true
	m.mu.Unlock()
	if s == nil {
		return
	}
	s.remove(m.id)
	if now := toPages(currentCell()); now != nil {
		out = now
	}
	_ = out.Comm(engine.CommMessage{Type: "comm_close", ID: m.id})
}

// CloseAll closes the model and all models that it refers to.
func (m *Model) CloseAll() {
	m.mu.Lock()
	var parts []*Model
	for _, v := range m.state {
		switch v := v.(type) {
		case *Model:
			parts = append(parts, v)
		case []*Model:
			parts = append(parts, v...)
		}
	}
	m.mu.Unlock()
	m.Close()
	for _, p := range parts {
		p.CloseAll()
	}
}

// take stores the values that a page has set and that the model accepts, and
// reports whether any has changed, so that watchers must be called. It echoes
// the given values to every page, and sends the model's own value for each one
// that was refused or adjusted.
func (m *Model) take(state map[string]any, out engine.Outputs) (changed bool, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	echo, mended := map[string]any{}, map[string]any{}
	for key, given := range state {
		old, known := m.state[key]
		if !known || strings.HasPrefix(key, "_") || isReference(old) {
			continue
		}
		v, ok := m.accept(m.state, key, given)
		echo[key] = given
		if !ok {
			mended[key] = old
			continue
		}
		if !same(v, old) {
			m.state[key] = v
			if m.pending == nil {
				m.pending = map[string]bool{}
			}
			m.pending[key], changed = true, true
		}
		if !sameJSON(v, given) {
			mended[key] = v
		}
	}
	if len(echo) > 0 {
		err = out.Comm(message(m.id, "echo_update", echo))
	}
	if len(mended) > 0 && err == nil {
		err = out.Comm(message(m.id, "update", mended))
	}
	return changed, err
}

// sendState sends the whole state to a page that asked for it.
func (m *Model) sendState(out engine.Outputs) error {
	return out.Comm(message(m.id, "update", m.wire()))
}

// wire returns the state in the form that pages receive.
func (m *Model) wire() map[string]any {
	m.mu.Lock()
	defer m.mu.Unlock()
	return references(m.state)
}

// message returns a comm message with values of a model.
func message(id, method string, state map[string]any) engine.CommMessage {
	return engine.CommMessage{Type: "comm_msg", ID: id, Data: map[string]any{"method": method, "state": state, "buffer_paths": []any{}}}
}

// references returns a copy of values in which each model is replaced by the
// protocol's reference to it.
func references(values map[string]any) map[string]any {
	c := make(map[string]any, len(values))
	for key, v := range values {
		switch x := v.(type) {
		case *Model:
			v = reference(x)
		case []*Model:
			list := make([]string, len(x))
			for i, m := range x {
				list[i] = reference(m)
			}
			v = list
		case []any:
			list := slices.Clone(x)
			for i := range list {
				if m, ok := list[i].(*Model); ok {
					list[i] = reference(m)
				}
			}
			v = list
		}
		c[key] = v
	}
	return c
}

// same reports whether two values of a state are equal.
func same(a, b any) bool {
	if x, ok := a.([]*Model); ok {
		y, ok := b.([]*Model)
		return ok && slices.Equal(x, y)
	}
	if _, ok := a.(*Model); ok {
		return a == b
	}
	return reflect.DeepEqual(a, b)
}

// sameJSON reports whether two values have the same JSON encoding.
func sameJSON(a, b any) bool {
	x, err := json.Marshal(a)
	y, err2 := json.Marshal(b)
	return err == nil && err2 == nil && bytes.Equal(x, y)
}

func reference(m *Model) string { return "IPY_MODEL_" + m.id }

func isReference(v any) bool {
	switch v.(type) {
	case *Model, []*Model, []any:
		return true
	}
	return false
}

// Accepts returns the value that the model would store if a page set key to v,
// and whether it accepts v.
func (m *Model) Accepts(key string, v any) (any, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.accept(m.state, key, v)
}
