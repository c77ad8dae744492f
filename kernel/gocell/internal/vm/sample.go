package vm

import (
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"dace.local/kernel/engine/goroutine"
)

// A CPU profile of Go's run time shows the functions of package code, and not the lines
// of cells that they belong to. While a Sampler is active, each goroutine of a cell looks
// at a clock of 100 Hz after each statement, and notes where it is when the clock has
// moved: the statement during which it moved is that which the goroutine has just made,
// be it an addition or a library's call of a minute. The time until then since the last
// such note is a span. The goroutine has the span's number as its profiler label, so that
// the run time's samples, which alone know what used the processor, tell how much of
// it each span did. Goroutines that a library starts inherit the label, and with it
// the line that called the library.

// SpanLabel is the key of the profiler label of a span.
const SpanLabel = "dace.span"

// A Sampler finds out which lines of a session's cells run.
type Sampler struct {
	m    *Machine
	tick *atomic.Uint32
	stop chan struct{}

	mu    sync.Mutex // guards spans
	spans map[string]*Span
}

// A Span is a part of a goroutine's time.
type Span struct {
	// At is the stack of the line that ran, the outermost call first.
	At []Place
	// Inner are stacks of functions of cells that ran in other goroutines with the
	// span's label, one for each tick of the clock. Those of a library's goroutines
	// stand below At; those of a cell's are whole.
	Inner, Whole [][]Place
}

// A Place is a line of a cell that runs, or calls.
type Place struct {
	Function string
	File     string // as Frame.Pos has it
	Line     int
	Callee   string // the function that the line calls there; "" if it does not
}

// sampling is the active Sampler of this process, whose profiler is one.
var sampling atomic.Pointer[Sampler]

// Sampled is the state of a goroutine.
type Sampled struct {
	by     *Sampler // nil for a goroutine of a library
	span   *Span    // nil before the first
	Parent []Place  // that started the goroutine
}

// StartSampling makes a Sampler active. Only one can be.
func (m *Machine) StartSampling() (*Sampler, bool) {
	s := &Sampler{m: m, tick: &m.tick, stop: make(chan struct{}), spans: map[string]*Span{}}
	if !sampling.CompareAndSwap(nil, s) {
		return nil, false
	}
	go func() {
		clock := time.NewTicker(10 * time.Millisecond)
		defer clock.Stop()
		for {
			select {
			case <-clock.C:
				s.tick.Add(1)
			case <-s.stop:
				return
			}
		}
	}()
	return s, true
}

// Stop ends the sampling, and returns the spans by their labels.
func (s *Sampler) Stop() map[string]*Span {
	sampling.Store(nil)
	close(s.stop)
	s.mu.Lock()
	defer s.mu.Unlock()
	spans := s.spans
	s.spans = nil
	return spans
}

// open begins a span of this goroutine, which belongs to a line until more is known.
func (s *Sampler) open(x *Sampled, at []Place) {
	x.span = &Span{At: at}
	s.mu.Lock()
	if s.spans == nil { // the profile is over
		s.mu.Unlock()
		return
	}
	id := strconv.Itoa(len(s.spans))
	s.spans[id] = x.span
	s.mu.Unlock()
	goroutine.SetLabel(SpanLabel, id)
}

// Begin returns the state of a goroutine of a cell that begins, which the parent has
// started; first is true for that of the cell itself.
func (s *Sampler) Begin(first bool, parent []Place) *Sampled {
	x := &Sampled{by: s, Parent: parent}
	if first { // others may be too short for a span of their own
		s.open(x, nil)
	}
	return x
}

// Take notes that a line of the last place has run in this goroutine until now.
func (s *Sampler) Take(x *Sampled, at []Place) {
	own := x.by == s
	if own {
		defer s.open(x, at)
	}
	label := goroutine.Label(SpanLabel)
	s.mu.Lock()
	defer s.mu.Unlock()
	switch span := s.spans[label]; {
	case own && x.span != nil:
		x.span.At = at
	case span == nil:
	case own:
		span.Whole = append(span.Whole, at)
	default:
		span.Inner = append(span.Inner, at)
	}
}
