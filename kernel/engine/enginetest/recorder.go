package enginetest

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"dace.local/kernel/engine"
)

// Kinds of Event.
const (
	Stdout  = "stdout"
	Stderr  = "stderr"
	Display = "display"
	Update  = "update"
	Clear   = "clear"
	Input   = "input"
	Comm    = "comm"
)

// An Event is one call of a method of [engine.Outputs].
type Event struct {
	Kind   string
	At     time.Time
	Text   string // of a stream; the prompt of an input
	Bundle engine.Bundle
	ID     string // of a display
	Wait   bool   // of a clear
	Comm   engine.CommMessage
}

// A Recorder is an [engine.Outputs] that records the calls. Its zero value is
// ready for use and refuses input.
type Recorder struct {
	// Answer returns the input that a cell asks for. If it is nil, Input
	// fails with [engine.ErrNoInput].
	Answer func(ctx context.Context, prompt string, password bool) (string, error)

	mu     sync.Mutex // guards events
	events []Event
}

var _ engine.Outputs = (*Recorder)(nil)

func (r *Recorder) add(e Event) {
	e.At = time.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, e)
}

// Events returns the events so far, in order. Each call of Stdout or Stderr is
// an event of its own.
func (r *Recorder) Events() []Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.events)
}

// Text returns the text of all events of a kind, joined: a whole stream.
func (r *Recorder) Text(kind string) string {
	var b strings.Builder
	for _, e := range r.Events() {
		if e.Kind == kind {
			b.WriteString(e.Text)
		}
	}
	return b.String()
}

// Stdout records a piece of the stream.
func (r *Recorder) Stdout(text string) { r.add(Event{Kind: Stdout, Text: text}) }

// Stderr records a piece of the stream.
func (r *Recorder) Stderr(text string) { r.add(Event{Kind: Stderr, Text: text}) }

// Display records a bundle.
func (r *Recorder) Display(b engine.Bundle, id string) {
	r.add(Event{Kind: Display, Bundle: b, ID: id})
}

// Update records a replacement.
func (r *Recorder) Update(b engine.Bundle, id string) {
	r.add(Event{Kind: Update, Bundle: b, ID: id})
}

// Clear records the request to clear the outputs.
func (r *Recorder) Clear(wait bool) { r.add(Event{Kind: Clear, Wait: wait}) }

// Input records the question and returns Answer's reply.
func (r *Recorder) Input(ctx context.Context, prompt string, password bool) (string, error) {
	r.add(Event{Kind: Input, Text: prompt})
	if r.Answer == nil {
		return "", engine.ErrNoInput
	}
	return r.Answer(ctx, prompt, password)
}

// Comm records the message.
func (r *Recorder) Comm(m engine.CommMessage) error {
	r.add(Event{Kind: Comm, Comm: m})
	return nil
}
