package display

import (
	"fmt"
	"html"
	"math"
	"sync"
	"time"

	"dace.local/dacelib/run"
	"dace.local/kernel/engine"
)

// Progress shows a bar and returns the function that moves it, for the
// OnEvent of a dacelib run:
//
//	brkga.Run(ctx, p, brkga.Settings{OnEvent: display.Progress("BRKGA")})
//
// The bar is redrawn at most ten times a second, and once at the end.
func Progress(label string) func(run.Event) {
	h := NewHandle()
	start := time.Now()
	var mu sync.Mutex
	var last time.Time
	return func(e run.Event) {
		mu.Lock()
		defer mu.Unlock()
		if now := time.Now(); now.Sub(last) < 100*time.Millisecond && (e.Total == 0 || e.Step < e.Total) {
			return
		}
		last = time.Now()
		h.set(bar(label, e, last.Sub(start)))
	}
}

// bar draws an event as HTML and as text.
func bar(label string, e run.Event, elapsed time.Duration) engine.Bundle {
	what := label
	if e.Stage != "" && e.Stage != label {
		if what != "" {
			what += ": "
		}
		what += e.Stage
	}
	count := fmt.Sprint(e.Step)
	share := 0.
	if e.Total > 0 {
		count = fmt.Sprintf("%d/%d", e.Step, e.Total)
		share = math.Min(1, float64(e.Step)/float64(e.Total))
	}
	tail := elapsed.Round(100 * time.Millisecond).String()
	if !math.IsNaN(e.Best) && (e.Best != 0 || e.Value != 0) {
		tail = fmt.Sprintf("best %.4g, %s", e.Best, tail)
	}
	if e.Detail != "" {
		tail = e.Detail + ", " + tail
	}
	text := fmt.Sprintf("%s %s (%s)", what, count, tail)
	page := fmt.Sprintf(`<div style="font-family:var(--jp-ui-font-family,sans-serif);font-size:13px;display:flex;gap:.8em;align-items:center">`+
		`<span style="min-width:12em">%s</span><span style="flex:0 0 14em;height:.55em;border-radius:.3em;background:rgba(128,128,128,.25);overflow:hidden">`+
		`<span style="display:block;height:100%%;width:%.1f%%;background:#0072b2"></span></span>`+
		`<span style="font-variant-numeric:tabular-nums">%s</span><span style="opacity:.65">%s</span></div>`,
		html.EscapeString(what), 100*share, html.EscapeString(count), html.EscapeString(tail))
	return mime("text/html", page, text)
}
