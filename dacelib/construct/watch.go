package construct

import (
	"context"
	"fmt"
	"html"
	"math"
	"strings"
	"sync"
	"time"

	"dace.local/dacelib/problem"
	"dace.local/dacelib/run"
)

// Watch is [Build] with a live view. It calls show with a [View] at most twice
// a second and once at the end, never concurrently. In a notebook cell,
//
//	result, err := construct.Watch(ctx, display.NewHandle().Show, "DACE", class, training, construct.Quick())
//
// displays one view that is updated. In a program, show may print the view.
//
// If ctx ends, the result is the best so far, as with Build, and the view
// explains how to continue.
func Watch(ctx context.Context, show func(view any), method string, class problem.Class, training []problem.Problem, s Settings) (Result, error) {
	w := newWatch(method, s, show)
	events, rounds := s.OnEvent, s.OnRound
	s.OnEvent = func(e run.Event) {
		w.event(e)
		if events != nil {
			events(e)
		}
	}
	s.OnRound = func(r Result) {
		w.round(r)
		if rounds != nil {
			rounds(r)
		}
	}
	r, err := Build(ctx, method, class, training, s)
	w.end(r, err)
	return r, err
}

// A View is the state of a construction, for display. It renders as HTML and as
// text.
type View struct {
	// Result so far.
	Result Result
	// Event is the last event received.
	Event run.Event
	// Elapsed is the time spent in this session, Left an estimate of the time
	// left, 0 if unknown. Where instances are generated, Left is an upper
	// bound.
	Elapsed, Left time.Duration
	// Ended reports whether the construction has ended; Err is its error.
	Ended bool
	Err   error

	dir string
}

// A watch turns events into views.
type watch struct {
	show  func(any)
	start time.Time

	mu    sync.Mutex // guards view, shown, kinds, last, stage, step
	view  View
	shown time.Time
	kinds map[string]*rate
	last  time.Time
	stage string
	step  int
}

// A rate is the time that units of one kind of work have taken.
type rate struct {
	units   float64
	seconds float64
}

func (r *rate) each() (float64, bool) {
	if r == nil || r.units == 0 || r.seconds < 1 {
		return 0, false
	}
	return r.seconds / r.units, true
}

func newWatch(method string, s Settings, show func(any)) *watch {
	w := &watch{show: show, start: time.Now(), kinds: map[string]*rate{}}
	w.view.Result.Method, w.view.dir = method, s.Dir
	return w
}

// kind returns the kind of work of a stage, without its round and index.
func kind(stage string) string {
	if _, after, ok := strings.Cut(stage, ": "); ok {
		stage = after
	}
	return strings.TrimRight(stage, " 0123456789")
}

func (w *watch) event(e run.Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Now()
	if e.Stage == w.stage && e.Step > w.step && e.Stage != "" {
		k := kind(e.Stage)
		r := w.kinds[k]
		if r == nil {
			r = new(rate)
			w.kinds[k] = r
		}
		units := float64(e.Step - w.step)
		if k == "mining" {
			units *= float64(max(1, len(w.view.Result.Instances)))
		}
		r.units += units
		r.seconds += now.Sub(w.last).Seconds()
	}
	w.stage, w.step, w.last = e.Stage, e.Step, now
	w.view.Event = e
	w.update(false)
}

func (w *watch) round(r Result) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.view.Result = r
	w.update(true)
}

func (w *watch) end(r Result, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.view.Result, w.view.Ended, w.view.Err = r, true, err
	w.update(true)
}

// update shows the view, unless always is false and it was shown just now.
func (w *watch) update(always bool) {
	now := time.Now()
	if !always && now.Sub(w.shown) < 500*time.Millisecond {
		return
	}
	w.shown = now
	w.view.Elapsed, w.view.Left = now.Sub(w.start), w.left()
	if w.show != nil {
		w.show(w.view)
	}
}

// left estimates the time left; 0 if too little is known.
func (w *watch) left() time.Duration {
	v := w.view
	e, k := v.Event, kind(v.Event.Stage)
	each, ok := w.kinds[k].each()
	if v.Ended || !ok || e.Total == 0 {
		return 0
	}
	m := float64(max(1, len(v.Result.Instances)))
	here := float64(e.Total-e.Step) * each
	if k == "mining" {
		here *= m
	}
	rounds := v.Result.Setup.Settings.Rounds
	switch k {
	case "member":
		var member int
		_, _ = fmt.Sscanf(e.Stage, "member %d", &member)
		here += float64(max(0, v.Result.Setup.Settings.Members-member)) * float64(e.Total) * each
	case "mining", "mutation":
		mining, ok := w.kinds["mining"].each()
		done := len(v.Result.Rounds) - 1 // rounds that have a portfolio
		if !ok && done < rounds {
			return 0
		}
		mutation, ok := w.kinds["mutation"].each()
		if !ok && done < rounds-1 {
			return 0
		}
		// A mutation makes 50 iterations or more under the authors' rule.
		iterations := float64(min(50, max(1, v.Result.Setup.Settings.PGPE.MaxIterations)))
		if v.Result.Setup.Settings.PGPE.MaxIterations == 0 {
			iterations = 50
		}
		trials := float64(v.Result.Setup.Settings.Minings * v.Result.Setup.Settings.Trials)
		for r := max(1, done); r < rounds; r++ {
			made := math.Floor(m/2) + 1
			wanted := made
			if r == done && k == "mutation" {
				wanted = max(0, made-float64(len(v.Result.Rounds[r].Mutations))-1)
				here = min(here, max(0, iterations-float64(e.Step))*each)
			}
			here += wanted * iterations * mutation
			m += made
			here += trials * m * mining
		}
	}
	return time.Duration(here * float64(time.Second)).Round(time.Second)
}

// Status describes in one line what the construction is doing.
func (v View) Status() string {
	switch {
	case v.Ended && v.Err == nil:
		return "finished in " + run.Duration(v.Elapsed)
	case v.Ended && v.Result.Status == run.Cancelled:
		return "interrupted after " + run.Duration(v.Elapsed) + ": this is the best so far; " + v.goOn()
	case v.Ended:
		return "failed: " + v.Err.Error()
	}
	e := v.Event
	s := e.Stage
	if e.Total > 0 {
		s += fmt.Sprintf(" %d of %d", e.Step, e.Total)
	}
	if v.Left > 0 {
		s += ", about " + run.Duration(v.Left) + " left"
	}
	return s + " (" + run.Duration(v.Elapsed) + " so far)"
}

// goOn tells the user how to continue an interrupted construction.
func (v View) goOn() string {
	if v.dir != "" {
		return fmt.Sprintf("the same call, with Settings.Dir = %q, goes on from here", v.dir)
	}
	return "set Settings.Dir to a folder beforehand, and the same call goes on from where it stopped"
}

// Hardest returns the name of the instance on which the portfolio performed
// worst when last measured, and its performance there.
func (v View) Hardest() (name string, performance float64) {
	performance = math.Inf(1)
	n := len(v.Result.Rounds)
	if n == 0 {
		return "", performance
	}
	last := v.Result.Rounds[n-1]
	for i, f := range last.After {
		if f < performance {
			name, performance = last.Instances[i], f
		}
	}
	for _, m := range last.Mutations {
		if m.Performance < performance {
			name, performance = m.Instance.Name, m.Performance
		}
	}
	return name, performance
}

// rows returns the table of the rounds.
func (v View) rows() [][]string {
	out := [][]string{{"round", "instances", "f before", "f after", "harder instances made"}}
	for i, r := range v.Result.Rounds {
		before, made := "", 0
		if r.Before != nil {
			before = fmt.Sprintf("%.4f", mean(r.Before))
		}
		for _, m := range r.Mutations {
			if m.Accepted {
				made++
			}
		}
		out = append(out, []string{fmt.Sprint(i), fmt.Sprint(len(r.After)), before, fmt.Sprintf("%.4f", mean(r.After)), fmt.Sprint(made)})
	}
	return out
}

// String returns the view as text.
func (v View) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s", v.Result.Method, v.Status())
	if len(v.Result.Rounds) > 0 {
		for _, row := range v.rows() {
			fmt.Fprintf(&b, "\n%6s %10s %9s %9s %22s", row[0], row[1], row[2], row[3], row[4])
		}
	}
	if name, f := v.Hardest(); name != "" {
		fmt.Fprintf(&b, "\nhardest so far: %s, f = %.4f", name, f)
	}
	if v.Result.Portfolio.Size() > 0 {
		b.WriteString("\n" + v.Result.Portfolio.String())
	}
	return b.String()
}

// HTML returns the view for a notebook.
func (v View) HTML() string {
	var b strings.Builder
	share := 0.0
	if v.Event.Total > 0 {
		share = min(1, float64(v.Event.Step)/float64(v.Event.Total))
	}
	if v.Ended && v.Err == nil {
		share = 1
	}
	fmt.Fprintf(&b, `<div class="tex2jax_ignore mathjax_ignore" style="font-family:var(--jp-ui-font-family,sans-serif);font-size:13px"><div><b>%s</b> %s</div>`+
		`<div style="width:24em;height:.55em;margin:.4em 0;border-radius:.3em;background:rgba(128,128,128,.25);overflow:hidden"><div style="height:100%%;width:%.1f%%;background:#0072b2"></div></div>`,
		html.EscapeString(v.Result.Method), html.EscapeString(v.Status()), 100*share)
	if len(v.Result.Rounds) > 0 {
		b.WriteString("<table>")
		for i, row := range v.rows() {
			tag := "td"
			if i == 0 {
				tag = "th"
			}
			b.WriteString("<tr>")
			for _, c := range row {
				fmt.Fprintf(&b, `<%s style="text-align:right">%s</%s>`, tag, html.EscapeString(c), tag)
			}
			b.WriteString("</tr>")
		}
		b.WriteString("</table>")
	}
	if name, f := v.Hardest(); name != "" {
		fmt.Fprintf(&b, "<div>hardest so far: %s, f = %.4f</div>", html.EscapeString(name), f)
	}
	if v.Result.Portfolio.Size() > 0 {
		fmt.Fprintf(&b, "<pre>%s</pre>", html.EscapeString(v.Result.Portfolio.String()))
	}
	b.WriteString("</div>")
	return b.String()
}
