package farm

import (
	"encoding/json"
	"fmt"
	"html"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"dace.local/dacelib/run"
)

// A Table is the state of a farm, as shown, or as JSON.
type Table struct {
	// Join is the path of the join file; Err is set if the farm was not started.
	Join string `json:"join"`
	Err  error  `json:"-"`
	// Workers that were heard of.
	Workers []Worker `json:"workers"`
	// Counts and Stages are the units of this process and what it waits for, if
	// Own is true. If it is not, Callers are the processes that answer, Queued
	// and Results what the server holds.
	Own     bool     `json:"-"`
	Counts  Counts   `json:"-"`
	Stages  []Stage  `json:"-"`
	Callers []Caller `json:"callers"`
	Queued  int      `json:"queued"`
	Results int      `json:"results"`
	// Failures lists the units that failed, with their errors.
	Failures []Failure `json:"failures"`
	// Jobs lists the jobs that were submitted.
	Jobs []Job `json:"jobs"`
	// Hours are the core hours of Adapt's jobs that have ended.
	Hours float64 `json:"-"`
}

// A Summary is the sum of a table: units, workers, cost and time left.
type Summary struct {
	// Units are numbers of units of all callers, Present that of the workers, Slots
	// that of the units that they compute at once.
	Units   Counts `json:"units"`
	Present int    `json:"workers"`
	Slots   int    `json:"slots"`
	// CoreHours is what the present workers have cost so far, UnitHours what the
	// units that are done have taken, Busy the share of the workers' time that went
	// into units.
	CoreHours float64 `json:"core_hours"`
	UnitHours float64 `json:"unit_hours"`
	Busy      float64 `json:"busy"`
	// Left is how many seconds the slowest stage still takes; 0 if not known.
	Left float64 `json:"left"`
}

// Summary returns the sum of the table.
func (t Table) Summary() Summary {
	s := Summary{Present: len(t.Workers)}
	for _, c := range t.callers() {
		s.Units.Done += c.Counts.Done
		s.Units.Running += c.Counts.Running
		s.Units.Waiting += c.Counts.Waiting
		s.Units.Verified += c.Counts.Verified
		s.Units.Seconds += c.Counts.Seconds
		if !c.Counts.Since.IsZero() && (s.Units.Since.IsZero() || c.Counts.Since.Before(s.Units.Since)) {
			s.Units.Since = c.Counts.Since
		}
		for _, stage := range c.Stages {
			s.Left = max(s.Left, stage.left())
		}
	}
	busy := 0.0
	for _, w := range t.Workers {
		s.Slots += w.Cores
		s.CoreHours += w.Age * float64(w.Cores) / 3600
		busy += w.Busy / 3600
	}
	s.UnitHours = s.Units.Seconds / 3600
	if s.CoreHours > 0 {
		s.Busy = min(1, busy/s.CoreHours)
	}
	return s
}

// JSON returns the table with its summary as JSON, in a line.
func (t Table) JSON() ([]byte, error) {
	t.Callers = t.callers()
	return json.Marshal(struct {
		Table
		Summary Summary `json:"summary"`
	}{t, t.Summary()})
}

// callers returns the processes that have work done.
func (t Table) callers() []Caller {
	if t.Own {
		return []Caller{{Counts: t.Counts, Stages: t.Stages}}
	}
	return t.Callers
}

// work describes the units of a process in a line.
func (c Caller) work() string {
	line := fmt.Sprintf("%d units done, %d running, %d waiting", c.Counts.Done, c.Counts.Running, c.Counts.Waiting)
	if c.Counts.Verified > 0 {
		line += fmt.Sprintf(", %d computed twice", c.Counts.Verified)
	}
	if c.Name != "" {
		line = fmt.Sprintf("caller %s of %s: ", c.Name, c.who()) + line
	}
	if c.Priority != 0 {
		line += fmt.Sprintf(", priority %d", c.Priority)
	}
	if c.Disk >= 1e6 {
		line += fmt.Sprintf(", %.1f MB in the farm", float64(c.Disk)/1e6)
	}
	return line
}

// String describes a stage in a line: its kind, how far it is, its rate and the
// time that is left.
func (s Stage) String() string {
	line := fmt.Sprintf("%s: %d of %d units", s.Kind, s.Done, s.All)
	if n, left := s.Done-s.Known, s.left(); n > 0 && s.Seconds > 0 {
		line += fmt.Sprintf(", %.3g a second, about %s left", float64(n)/s.Seconds, run.Seconds(left))
	}
	return line
}

// bar draws how far a stage is.
func (s Stage) bar() string {
	const width = 20
	n := width * s.Done / max(1, s.All)
	return "[" + strings.Repeat("#", n) + strings.Repeat("-", width-n) + "]"
}

// How many of each a table shows: of the functions that a worker says something
// of, and of the stages of a process, too.
const (
	shownWorkers   = 100
	shownFunctions = 3
	shownFailures  = 20
	shownCallers   = 10
	shownStages    = 10
	shownJobs      = 20
)

// rows returns the table of workers.
func (t Table) rows() [][]string {
	rows := [][]string{{"worker", "host", "cores", "done", "failures", "last seen", "computes for", "note"}}
	self := Self()
	for i, w := range t.Workers {
		if i == shownWorkers {
			return append(rows, []string{fmt.Sprintf("and %d more", len(t.Workers)-i), "", "", "", "", "", "", ""})
		}
		note := ""
		if why := self.Differences(w.Identity); len(why) > 0 {
			note = "gets " + strings.Join(why, "; ")
		}
		for i, name := range slices.Sorted(maps.Keys(w.Made)) {
			if i == shownFunctions {
				note += fmt.Sprintf("; and %d more", len(w.Made)-i)
				break
			}
			note = strings.TrimPrefix(note+"; ", "; ") + name + ": " + w.Made[name]
		}
		rows = append(rows, []string{w.Name, w.Host, strconv.Itoa(w.Cores), strconv.Itoa(w.Done), strconv.Itoa(w.Failures), run.Seconds(time.Since(w.Seen).Seconds()) + " ago", t.computes(w), note})
	}
	return rows
}

// computes says for whom a worker computes how many messages.
func (t Table) computes(w Worker) string {
	of := map[string]int{}
	for _, id := range w.Holds {
		of[callerOf(id)]++
	}
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(of)) {
		who := name
		for _, c := range t.Callers {
			if c.Name == name && c.User != "" {
				who = c.User + " " + strconv.Itoa(c.Process)
			}
		}
		if n := of[name]; n > 1 {
			who += fmt.Sprintf(" (%d)", n)
		}
		parts = append(parts, who)
	}
	return strings.Join(parts, ", ")
}

// A line is shown beside the table of workers.
type line struct {
	text  string
	stage *Stage // of which it tells
}

// lines returns what is shown beside the table of workers.
func (t Table) lines() []line {
	if t.Err != nil {
		return []line{{text: t.Err.Error()}}
	}
	out := []line{{text: "dace worker -join " + t.Join}}
	say := func(format string, args ...any) { out = append(out, line{text: fmt.Sprintf(format, args...)}) }
	if !t.Own {
		say("%d messages queued, %d results kept", t.Queued, t.Results)
	}
	for i, c := range t.callers() {
		if i == shownCallers {
			say("and %d more callers", len(t.callers())-i)
			break
		}
		say("%s", c.work())
		for i, s := range c.Stages {
			if i == shownStages {
				say("and %d more stages", len(c.Stages)-i)
				break
			}
			out = append(out, line{s.String(), &s})
		}
	}
	if len(t.Jobs) > 0 {
		var jobs []string
		for i, j := range t.Jobs {
			if i == shownJobs {
				jobs = append(jobs, fmt.Sprintf("and %d more", len(t.Jobs)-i))
				break
			}
			jobs = append(jobs, j.String())
		}
		say("jobs: %s", strings.Join(jobs, ", "))
	}
	if s := t.Summary(); s.Present > 0 {
		cost := fmt.Sprintf("%d workers with %d slots, %.3g core hours so far, %.0f %% of them in units", s.Present, s.Slots, s.CoreHours, 100*s.Busy)
		if t.Hours > 0 {
			cost += fmt.Sprintf("; %.3g core hours of jobs that have ended", t.Hours)
		}
		say("%s", cost)
	}
	if len(t.Workers) == 0 {
		say("no worker yet")
	}
	failures := t.Failures[max(0, len(t.Failures)-shownFailures):]
	if n := len(t.Failures) - len(failures); n > 0 {
		say("%d earlier failures", n)
	}
	for _, f := range failures {
		say("failed: %s", f.Error())
	}
	return out
}

// String returns the state as text.
func (t Table) String() string {
	var b strings.Builder
	for _, l := range t.lines() {
		if l.stage != nil {
			b.WriteString("  " + l.stage.bar() + " ")
		}
		b.WriteString(l.text + "\n")
	}
	if len(t.Workers) > 0 {
		rows := t.rows()
		width := make([]int, len(rows[0]))
		for _, r := range rows {
			for i, c := range r {
				width[i] = max(width[i], len(c))
			}
		}
		for _, r := range rows {
			line := ""
			for i, c := range r {
				line += fmt.Sprintf("%-*s  ", width[i], c)
			}
			b.WriteString(strings.TrimRight(line, " ") + "\n")
		}
	}
	return strings.TrimRight(b.String(), "\n")
}

// HTML returns the state as a table for a notebook.
func (t Table) HTML() string {
	var b strings.Builder
	b.WriteString(`<div class="tex2jax_ignore mathjax_ignore">`) // dollar signs are no formulas
	for i, l := range t.lines() {
		switch text := strings.ReplaceAll(html.EscapeString(l.text), "\n", "<br>"); {
		case l.stage != nil:
			fmt.Fprintf(&b, `<div><progress max="%d" value="%d" style="width:20em"></progress> %s</div>`, l.stage.All, l.stage.Done, text)
		case i == 0 && t.Err == nil:
			fmt.Fprintf(&b, "<div><code>%s</code></div>", text)
		default:
			fmt.Fprintf(&b, "<div>%s</div>", text)
		}
	}
	if len(t.Workers) > 0 {
		b.WriteString("<table>")
		for i, r := range t.rows() {
			cell := "td"
			if i == 0 {
				cell = "th"
			}
			b.WriteString("<tr>")
			for _, v := range r {
				fmt.Fprintf(&b, `<%s style="text-align:left">%s</%s>`, cell, html.EscapeString(v), cell)
			}
			b.WriteString("</tr>")
		}
		b.WriteString("</table>")
	}
	b.WriteString("</div>")
	return b.String()
}
