package server

import (
	"bytes"
	"context"
	"maps"
	"slices"
	"sync"
	"unicode/utf8"

	"dace.local/kernel/engine"
	"dace.local/kernel/internal/jupyter/wire"
)

// outputs publishes a cell's outputs on iopub, as children of the request that
// runs the cell, also those that come after the cell has ended.
type outputs struct {
	server     *server
	parent     wire.Header
	identities [][]byte
	allowStdin bool
	silent     bool            // shows nothing
	running    context.Context // ends with the cell

	mu      sync.Mutex        // guards partial and late
	partial map[string]string // by stream: the bytes of an incomplete last character
	late    *late             // nil unless the client drops what comes after the cell's end
}

var (
	_ engine.ClientOutputs  = (*outputs)(nil)
	_ engine.LastingOutputs = (*outputs)(nil)
)

func (s *server) outputs(ctx context.Context, r *request) *outputs {
	return &outputs{server: s, parent: r.Header, identities: r.Identities, running: ctx}
}

func (o *outputs) Client() string { return o.parent.Session }

func (o *outputs) Stdout(text string) { o.stream("stdout", text) }

func (o *outputs) Stderr(text string) { o.stream("stderr", text) }

// stream publishes text. An incomplete character at its end is held back until
// the rest of it comes.
func (o *outputs) stream(name, text string) {
	if o.silent || text == "" {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if begun := o.partial[name]; begun != "" {
		text = begun + text
		delete(o.partial, name)
	}
	if n := incomplete(text); n > 0 {
		if o.partial == nil {
			o.partial = make(map[string]string)
		}
		o.partial[name] = text[len(text)-n:]
		text = text[:len(text)-n]
	}
	if o.isLate() {
		o.late.add(lateItem{text: text})
		return
	}
	o.server.iopub.write(o.now(), name, text)
}

// incomplete returns the number of bytes at the end of s that begin a
// character without completing it.
func incomplete(s string) int {
	for n := 1; n < utf8.UTFMax && n <= len(s); n++ {
		tail := s[len(s)-n:]
		if utf8.RuneStart(tail[0]) {
			if tail[0] >= utf8.RuneSelf && !utf8.FullRuneInString(tail) {
				return n
			}
			return 0
		}
	}
	return 0
}

// end publishes the bytes of characters that were never completed.
func (o *outputs) end() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(o.partial)) {
		o.server.iopub.write(o, name, o.partial[name])
	}
	o.partial = nil
}

func (o *outputs) Display(b engine.Bundle, id string) { o.display("display_data", b, id) }

func (o *outputs) Update(b engine.Bundle, id string) { o.display("update_display_data", b, id) }

func (o *outputs) display(kind string, b engine.Bundle, id string) {
	if o.silent {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.isLate() && o.late.show(kind, b, id) {
		return
	}
	data, metadata := encodable(b)
	o.server.iopub.post(kind, o.now().parent, displayContent{data, metadata, transient{id}})
}

func (o *outputs) Clear(wait bool) {
	if o.silent {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.isLate() {
		o.late.items, o.late.lost = nil, false
		return
	}
	o.server.iopub.post("clear_output", o.now().parent, clearContent{wait})
}

func (o *outputs) Input(ctx context.Context, prompt string, password bool) (string, error) {
	if !o.allowStdin || o.running.Err() != nil {
		return "", engine.ErrNoInput
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(o.running, cancel)()
	o.server.iopub.flush()
	return o.server.stdin.ask(ctx, o.parent, o.identities, inputRequest{prompt, password})
}

func (o *outputs) Comm(m engine.CommMessage) error {
	content := commContent{ID: m.ID, Data: m.Data}
	if m.Type == "comm_open" {
		content.Target = m.Target
	}
	if m.Data == nil {
		content.Data = struct{}{}
	}
	message, err := o.server.iopub.message(m.Type, o.parent, content)
	if err != nil {
		return err
	}
	if m.Metadata != nil {
		if message.Metadata, err = wire.Marshal(m.Metadata); err != nil {
			return err
		}
	}
	for _, b := range m.Buffers {
		message.Buffers = append(message.Buffers, bytes.Clone(b))
	}
	o.server.comms.note(m)
	o.server.iopub.postMessage(message, nil)
	return nil
}

// encodable returns a bundle's maps, never nil, without the values that cannot
// be encoded as JSON; the plain text names those instead.
func encodable(b engine.Bundle) (data, metadata map[string]any) {
	data, metadata = b.Data, b.Metadata
	if metadata == nil {
		metadata = map[string]any{}
	} else if _, err := wire.Marshal(metadata); err != nil {
		metadata = map[string]any{}
	}
	cloned := false
	for _, mime := range slices.Sorted(maps.Keys(b.Data)) {
		v := b.Data[mime]
		if _, plain := v.(string); plain {
			continue
		}
		raw, err := wire.Marshal(v)
		if !cloned {
			data, cloned = maps.Clone(b.Data), true
		}
		if err == nil {
			data[mime] = raw
			continue
		}
		delete(data, mime)
		text, _ := data["text/plain"].(string)
		if text != "" {
			text += "\n"
		}
		data["text/plain"] = text + "(cannot show " + mime + ": " + err.Error() + ")"
	}
	if data == nil {
		data = map[string]any{}
	}
	return data, metadata
}
