package display

import (
	"context"
	"fmt"
	"html"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"dace.local/dacelib/run"
	"dace.local/kernel/engine"
)

const (
	redraw  = 100 * time.Millisecond // between two states of a bar
	unasked = 2 * time.Second        // how long a call runs before it has an automatic bar
)

// Progress shows a progress bar and returns the function that updates it, for
// the OnEvent of a dacelib run:
//
//	brkga.Run(ctx, p, brkga.Settings{OnEvent: display.Progress("BRKGA")})
//
// The bar is redrawn at most ten times a second, and once at the end. Long calls
// with a cell's ctx have a bar automatically (see [WithProgress]).
func Progress(label string) func(run.Event) { return newMeter(label, 0).event }

// Range returns an iterator over 0 to n-1 and shows the progress of the loop in
// a bar:
//
//	for i := range display.Range("instances", len(set)) {
func Range(label string, n int) func(yield func(int) bool) {
	return func(yield func(int) bool) {
		m := newMeter(label, 0)
		defer m.end()
		for i := range n {
			m.step(i, n)
			if !yield(i) {
				return
			}
		}
		m.step(n, n)
	}
}

var quiet atomic.Bool

// Quiet turns off the automatic bars of long calls in this session.
func Quiet() { quiet.Store(true) }

// ShowProgress turns the automatic bars on again, after [Quiet].
func ShowProgress() { quiet.Store(false) }

// WithProgress returns a context that makes dacelib calls show a bar once they
// have run for two seconds. The kernel calls it for the ctx of cells.
func WithProgress(ctx context.Context) context.Context {
	return run.WithProgress(ctx, func(name string) (func(run.Event), func()) {
		if quiet.Load() {
			return func(run.Event) {}, func() {}
		}
		m := newMeter(name, unasked)
		return m.event, m.end
	})
}

// A meter is a progress bar with an estimate of the remaining time.
type meter struct {
	label string
	out   engine.Outputs // of the goroutine that created the meter
	id    string
	start time.Time
	timer *time.Timer // draws the bar when the delay is over

	next atomic.Int64 // time of the next drawing, in nanoseconds since start

	mu      sync.Mutex // guards last, begun, at, stage, first, visible and ended
	last    run.Event
	begun   bool          // there was an event
	at      time.Duration // when last came
	stage   time.Duration // when the first event of the present stage came
	first   int           // step of that event: a resumed run does not begin at 0
	visible bool
	ended   bool
}

func newMeter(label string, delay time.Duration) *meter {
	m := &meter{label: label, out: outputs(), id: newID(), start: time.Now()}
	m.last.Best, m.last.Value = math.NaN(), math.NaN()
	m.next.Store(int64(delay))
	if delay > 0 {
		m.timer = time.AfterFunc(delay, func() {
			m.mu.Lock()
			defer m.mu.Unlock()
			m.draw()
		})
	}
	return m
}

// step reports the i-th of n steps of a loop. It must be fast, since it is
// called in every iteration.
func (m *meter) step(i, n int) {
	if int64(time.Since(m.start)) < m.next.Load() {
		if i < n {
			return
		}
	}
	m.event(run.Event{Step: i, Total: n, Value: math.NaN(), Best: math.NaN()})
}

// event updates the bar with an event of the run.
func (m *meter) event(e run.Event) {
	now := time.Since(m.start)
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.ended {
		return
	}
	if !m.begun || e.Stage != m.last.Stage || e.Step < m.last.Step {
		m.stage, m.first, m.begun = now, e.Step, true
	}
	m.last, m.at = e, now
	if int64(now) < m.next.Load() && !(m.visible && e.Total > 0 && e.Step >= e.Total) {
		return
	}
	m.draw()
}

// end draws the final state, if the bar is visible.
func (m *meter) end() {
	if m.timer != nil {
		m.timer.Stop()
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.ended {
		return
	}
	m.ended = true
	if m.visible {
		m.draw()
	}
}

// draw shows the present state of the bar; the caller holds m.mu.
func (m *meter) draw() {
	now := time.Since(m.start)
	m.next.Store(int64(now + redraw))
	if m.out == nil {
		return
	}
	b := m.bundle(now)
	if m.visible {
		m.out.Update(b, m.id)
		return
	}
	m.visible = true
	m.out.Display(b, m.id)
}

// bundle returns the bar as HTML and as text.
func (m *meter) bundle(now time.Duration) engine.Bundle {
	e := m.last
	what := m.label
	if e.Stage != "" && e.Stage != m.label {
		if what != "" {
			what += ": "
		}
		what += e.Stage
	}
	count, share := "", 0.
	if m.begun {
		count = thousands(e.Step)
	}
	if e.Total > 0 {
		count = thousands(e.Step) + "/" + thousands(e.Total)
		share = math.Max(0, math.Min(1, float64(e.Step)/float64(e.Total)))
	}
	done := m.ended || e.Total > 0 && e.Step >= e.Total
	tail := m.tail(now, done)
	text := what
	for _, s := range []string{count, "(" + tail + ")"} {
		if s != "" {
			if text != "" {
				text += " "
			}
			text += s
		}
	}
	bar := fmt.Sprintf(`<span style="flex:0 0 14em;height:.55em;border-radius:.3em;background:rgba(128,128,128,.25);overflow:hidden">`+
		`<span style="display:block;height:100%%;width:%.1f%%;background:#0072b2"></span></span>`, 100*share)
	if done {
		bar = ""
	}
	page := fmt.Sprintf(`<div`+noMath+` style="font-family:var(--jp-ui-font-family,sans-serif);font-size:13px;display:flex;gap:.8em;align-items:center">`+
		`<span style="white-space:nowrap">%s</span>%s<span style="font-variant-numeric:tabular-nums;white-space:nowrap">%s</span><span style="opacity:.65">%s</span></div>`,
		html.EscapeString(what), bar, html.EscapeString(count), html.EscapeString(tail))
	b := mime("text/html", page, text)
	b.Metadata = map[string]any{"dace-progress": true} // notebook.Progress: never the same twice
	return b
}

// tail returns the end of the bar's line: the rate, and the remaining time, or,
// when the run is done, the time that it took.
func (m *meter) tail(now time.Duration, done bool) string {
	e := m.last
	text := ""
	add := func(s string) {
		if text != "" {
			text += ", "
		}
		text += s
	}
	if e.Detail != "" {
		add(e.Detail)
	}
	if !math.IsNaN(e.Best) && (e.Best != 0 || e.Value != 0) {
		add(fmt.Sprintf("best %.4g", e.Best))
	}
	steps, spent := float64(e.Step-m.first), (m.at - m.stage).Seconds()
	if steps > 0 && spent >= 0.1 {
		add(rate(steps / spent))
	}
	switch {
	case done:
		add("in " + run.Duration(now))
	case steps > 0 && spent >= 0.5 && e.Total > e.Step:
		add(run.Duration(time.Duration(float64(e.Total-e.Step)/steps*spent*1e9)) + " left")
	default:
		add(run.Duration(now))
	}
	return text
}

// rate formats a number of steps a second.
func rate(r float64) string {
	switch {
	case r < 0.1:
		return fmt.Sprintf("%.2g a minute", 60*r)
	case r < 10:
		return fmt.Sprintf("%.1f/s", r)
	}
	return thousands(int(math.Min(r, 1e15))) + "/s"
}
