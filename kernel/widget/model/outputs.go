package model

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"dace.local/kernel/engine"
)

// Changes of an Outputs are sent to pages with a short delay, in one message,
// so that a figure that replaces another one is drawn without a gap.
const (
	firstFlush = 200 * time.Millisecond
	laterFlush = 100 * time.Millisecond
	flushBytes = 10 << 20 // bytes a second: the more text, the longer the delay
	maxText    = 2 << 20  // most bytes of all streams together
)

// Outputs shows what is printed and displayed in an output model of a page,
// and owns the state "outputs" of that model.
type Outputs struct {
	model *Model

	mu      sync.Mutex       // guards list, stream, shown, text, clear, dirty, flushed and timer
	list    []map[string]any // the outputs in the notebook format
	stream  *strings.Builder // text of the last output if it is a stream, else nil
	shown   map[string][]int // indices in list, by display id
	text    int              // bytes of all streams together
	clear   bool             // clear list when the next output comes
	dirty   bool             // list has changes that were not sent
	flushed time.Time        // when changes were sent last
	timer   *time.Timer      // of the next flush; nil if none is planned
}

var _ engine.Outputs = (*Outputs)(nil)

// NewOutputs returns an Outputs that shows its outputs in m.
func NewOutputs(m *Model) *Outputs { return &Outputs{model: m, shown: map[string][]int{}} }

// Stdout and Stderr append text to the stream of their name.
func (o *Outputs) Stdout(text string) { o.write("stdout", text) }
func (o *Outputs) Stderr(text string) { o.write("stderr", text) }

func (o *Outputs) write(name, text string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.beforeNext()
	switch {
	case text == "" || o.text > maxText:
		return
	case o.text+len(text) > maxText:
		text = text[:maxText-o.text] + fmt.Sprintf("\n... an output widget shows %d MiB of text; the rest is left out\n", maxText>>20)
	}
	o.text += len(text)
	if n := len(o.list) - 1; o.stream == nil || o.list[n]["name"] != name {
		o.endStream()
		o.list = append(o.list, map[string]any{"output_type": "stream", "name": name})
		o.stream = new(strings.Builder)
	}
	o.stream.WriteString(text)
	o.touch()
}

// endStream stores the text of the last output in the list if it is a stream.
func (o *Outputs) endStream() {
	if n := len(o.list) - 1; o.stream != nil {
		// The entry is replaced, not changed: it may be being sent to a page.
		o.list[n] = map[string]any{"output_type": "stream", "name": o.list[n]["name"], "text": o.stream.String()}
	}
}

// add appends an output. o.mu must be held.
func (o *Outputs) add(output map[string]any) {
	o.endStream()
	o.stream = nil
	o.list = append(o.list, output)
	o.touch()
}

// Display appends a bundle. If id is not "", Update can replace it later.
func (o *Outputs) Display(b engine.Bundle, id string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.beforeNext()
	if id != "" {
		o.shown[id] = append(o.shown[id], len(o.list))
	}
	o.add(shownAs(b))
}

// Update replaces the outputs that were displayed here under id. If there are
// none, the cell that opened the model updates its own.
func (o *Outputs) Update(b engine.Bundle, id string) {
	o.mu.Lock()
	places := o.shown[id]
	for _, i := range places {
		o.list[i] = shownAs(b)
		o.touch()
	}
	o.mu.Unlock()
	if base := o.base(); len(places) == 0 && base != nil {
		base.Update(b, id)
	}
}

func shownAs(b engine.Bundle) map[string]any {
	return map[string]any{"output_type": "display_data", "data": encodable(b.Data), "metadata": encodable(b.Metadata)}
}

// Clear removes all outputs: at once, or with wait when the next output comes.
func (o *Outputs) Clear(wait bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.clear = true
	if !wait {
		o.beforeNext()
		o.touch()
	}
}

// beforeNext clears the outputs if Clear has postponed that. o.mu must be held.
func (o *Outputs) beforeNext() {
	if o.clear {
		o.clear, o.list, o.stream, o.text = false, nil, nil, 0
		clear(o.shown)
	}
}

// Input asks for a line through the cell that opened the model.
func (o *Outputs) Input(ctx context.Context, prompt string, password bool) (string, error) {
	if base := o.base(); base != nil {
		return base.Input(ctx, prompt, password)
	}
	return "", engine.ErrNoInput
}

// Comm sends a message through the cell that opened the model.
func (o *Outputs) Comm(m engine.CommMessage) error {
	if base := o.base(); base != nil {
		return base.Comm(m)
	}
	return nil
}

func (o *Outputs) base() engine.Outputs {
	o.model.mu.Lock()
	defer o.model.mu.Unlock()
	return o.model.out
}

// end sends all changes after a call has returned, with its error if err is not
// nil.
func (o *Outputs) end(err *engine.Error) {
	o.mu.Lock()
	if err != nil {
		o.beforeNext()
		o.add(map[string]any{"output_type": "error", "ename": err.Name, "evalue": err.Message, "traceback": err.Traceback})
	}
	o.mu.Unlock()
	o.Flush()
}

// touch makes sure that changes are sent soon. o.mu must be held.
func (o *Outputs) touch() {
	o.dirty = true
	if o.timer != nil {
		return
	}
	wait := firstFlush
	if time.Since(o.flushed) < 2*laterFlush {
		wait = laterFlush
	}
	wait += time.Duration(o.text) * time.Second / flushBytes
	o.timer = time.AfterFunc(wait, o.Flush)
}

// Flush sends the outputs so far to pages. A clearing that waits for the next
// output keeps waiting.
func (o *Outputs) Flush() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.timer != nil {
		o.timer.Stop()
		o.timer = nil
	}
	if !o.dirty {
		return
	}
	o.dirty, o.flushed = false, time.Now()
	o.endStream()
	o.model.set(map[string]any{"outputs": append([]map[string]any{}, o.list...)}, nil)
}

// encodable returns a copy of a bundle's data without the values that do not
// encode to JSON; the text names each of them instead.
func encodable(data map[string]any) map[string]any {
	c := make(map[string]any, len(data))
	maps.Copy(c, data)
	for _, mime := range slices.Sorted(maps.Keys(data)) {
		if _, ok := data[mime].(string); ok {
			continue
		}
		raw, err := json.Marshal(data[mime])
		if err != nil {
			delete(c, mime)
			c["text/plain"] = fmt.Sprintf("(cannot show %s: %v)", mime, err)
			continue
		}
		c[mime] = json.RawMessage(raw)
	}
	return c
}

// Run calls f in this goroutine, with its outputs redirected to o.
func (o *Outputs) Run(f func()) {
	if cell := currentCell(); cell != nil {
		cell.Redirect(o, f)
	} else {
		f()
	}
	o.Flush()
}

// Replace calls f, whose outputs replace the ones shown; f must write its
// outputs to o. The old ones stay until the first new one comes.
func (o *Outputs) Replace(f func()) {
	o.Clear(true)
	f()
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.clear { // f had no outputs
		o.beforeNext()
		o.touch()
	}
}

// Text returns the shown outputs as plain text.
func (o *Outputs) Text() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.endStream()
	var lines []string
	for _, e := range o.list {
		text, _ := e["text"].(string)
		if data, ok := e["data"].(map[string]any); ok {
			text, _ = data["text/plain"].(string)
		}
		if name, ok := e["ename"].(string); ok {
			text = fmt.Sprintf("%s: %v", name, e["evalue"])
		}
		if text = strings.TrimRight(text, "\n"); text != "" {
			lines = append(lines, text)
		}
	}
	return strings.Join(lines, "\n")
}

// PNG returns the first shown picture in base64 and the width to show it in, in
// pixels; 0 means its own. If there is none, png is "".
func (o *Outputs) PNG() (png string, width int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, e := range o.list {
		data, _ := e["data"].(map[string]any)
		if png, ok := data["image/png"].(string); ok {
			var size struct{ Width int }
			if all, _ := e["metadata"].(map[string]any); all != nil {
				raw, _ := all["image/png"].(json.RawMessage)
				_ = json.Unmarshal(raw, &size) // it is 0 if it is not there
			}
			return png, size.Width
		}
	}
	return "", 0
}
