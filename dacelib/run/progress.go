package run

import (
	"context"
	"math"
	"sync"
)

// progressKey is the key under which a context carries a [Begin].
type progressKey struct{}

// A Begin is called with the run's name when a run begins. The run sends its
// events to event and calls end once when it is over.
type Begin func(name string) (event func(Event), end func())

// WithProgress returns a context that makes runs report their progress to begin
// if their settings have no OnEvent. Notebooks use it to show a bar for every
// long call.
func WithProgress(ctx context.Context, begin Begin) context.Context {
	return context.WithValue(ctx, progressKey{}, begin)
}

// Report starts the report of a run's progress. A long run calls it first:
//
//	func Run(ctx context.Context, ..., s Settings) (Result, error) {
//		defer run.Report(&ctx, "brkga", &s.OnEvent)()
//
// If s.OnEvent is nil and the context carries a [Begin], Report sets s.OnEvent.
// It also replaces the context by one without a Begin, so that of nested runs
// only the outermost reports. The returned function ends the report.
func Report(ctx *context.Context, name string, onEvent *func(Event)) (end func()) {
	begin, _ := (*ctx).Value(progressKey{}).(Begin)
	if begin == nil {
		return func() {}
	}
	*ctx = WithProgress(*ctx, nil)
	if *onEvent != nil {
		return func() {}
	}
	event, end := begin(name)
	*onEvent = event
	return end
}

// Steps is [Report] for a run whose settings have no OnEvent. The run calls add
// when n more of its total steps are done, from any goroutine; total is 0 if it
// is not known.
//
//	add, end := run.Steps(&ctx, "normalise", len(instances))
//	defer end()
func Steps(ctx *context.Context, name string, total int) (add func(n int), end func()) {
	var onEvent func(Event)
	end = Report(ctx, name, &onEvent)
	if onEvent == nil {
		return func(int) {}, end
	}
	var mu sync.Mutex // guards done, and calls onEvent once at a time
	done := 0
	return func(n int) {
		mu.Lock()
		defer mu.Unlock()
		done += n
		onEvent(Event{Stage: name, Step: done, Total: total, Value: math.NaN(), Best: math.NaN()})
	}, end
}
