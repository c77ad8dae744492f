package farm

import (
	"fmt"
	"html"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A Table is the state of a farm, as shown.
type Table struct {
	// Join is the path of the join file; Err is set if the farm was not started.
	Join string
	Err  error
	// Workers that were heard of.
	Workers []Worker
	// Counts and Stages are the units of this process and what it waits for, if
	// Own is true. If it is not, Callers are the processes that answer, Queued
	// and Results what the server holds.
	Own             bool
	Counts          Counts
	Stages          []Stage
	Callers         []Caller
	Queued, Results int
	// Failures lists the units that failed, with their errors.
	Failures []Failure
	// Jobs lists the jobs of Slurm that were submitted.
	Jobs []Job
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
	if c.Name != "" {
		line = fmt.Sprintf("caller %d on %s: ", c.Process, c.Host) + line
	}
	return line
}

// String describes a stage in a line: its kind, how far it is, its rate and the
// time that is left.
func (s Stage) String() string {
	line := fmt.Sprintf("%s: %d of %d units", s.Kind, s.Done, s.All)
	if n := s.Done - s.Known; n > 0 && s.Seconds > 0 {
		left := s.Seconds / float64(n) * float64(s.All-s.Done)
		line += fmt.Sprintf(", %.3g a second, about %v left", float64(n)/s.Seconds, time.Duration(left*float64(time.Second)).Round(time.Second))
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
	rows := [][]string{{"worker", "host", "cores", "done", "failures", "last seen", "note"}}
	self := Self()
	for i, w := range t.Workers {
		if i == shownWorkers {
			return append(rows, []string{fmt.Sprintf("and %d more", len(t.Workers)-i), "", "", "", "", "", ""})
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
		rows = append(rows, []string{w.Name, w.Host, strconv.Itoa(w.Cores), strconv.Itoa(w.Done), strconv.Itoa(w.Failures), time.Since(w.Seen).Round(time.Second).String() + " ago", note})
	}
	return rows
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
		say("Slurm's jobs: %s", strings.Join(jobs, ", "))
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
