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

// An Event is one thing that a cell showed or asked.
type Event struct {
	Kind   string
	At     time.Time
	Text   string // of a stream; the prompt of an input
	Bundle engine.Bundle
	ID     string // of a display
	Wait   bool   // of a clear
	Comm   engine.CommMessage
}

// A Recorder is an [engine.Outputs] that remembers. Its zero value is ready
// and answers no questions.
type Recorder struct {
	// Answer gives the input that a cell asks for. Where it is nil, Input
	// fails with [engine.ErrNoInput].
	Answer func(ctx context.Context, prompt string, password bool) (string, error)

	mu     sync.Mutex
	events []Event
}

var _ engine.Outputs = (*Recorder)(nil)

func (r *Recorder) add(e Event) {
	e.At = time.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, e)
}

// Events returns what happened so far, in order, each piece of a stream by
// itself.
func (r *Recorder) Events() []Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.events)
}

// Text returns a whole stream: the text of all events of a kind.
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

// Clear records the wish.
func (r *Recorder) Clear(wait bool) { r.add(Event{Kind: Clear, Wait: wait}) }

// Input records the question and gives Answer's reply.
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
