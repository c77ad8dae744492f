// Package profile shows what lines of cells took the processor's time: as a table, a
// flame graph and a file for go tool pprof. Start with [Profile]; [Decode] reads the
// samples of Go's run time, of which a session makes one.
package profile

import (
	"cmp"
	"fmt"
	"sort"
	"strings"
	"time"
)

// Period is the time between two samples of the run time, in nanoseconds.
const Period = 10_000_000

// A Frame is a line of a function.
type Frame struct {
	Function string
	File     string // "In[3]" for a cell
	Line     int
}

// A Sample is time that a stack took.
type Sample struct {
	Stack []Frame // the outermost first; none for the kernel's own work
	Nanos int64
	// Inside is how many of the innermost frames are not lines of cells, but functions
	// of libraries.
	Inside int
}

// A Profile is what a cell's run took.
type Profile struct {
	Samples []Sample
	Wall    time.Duration
	// Text returns the text of a line of a cell, "" where there is none.
	Text func(file string, line int) string
}

// A Line is the processor time of a line of a cell.
type Line struct {
	Frame
	// Own is the time of the line itself and of the libraries that it calls, Total also
	// of the functions of cells that it calls and of the goroutines that it starts.
	Own, Total time.Duration
}

// Lines returns the lines, those that took most first, and the time of all samples.
func (p *Profile) Lines() (lines []Line, all time.Duration) {
	at := map[Frame]*Line{}
	for _, s := range p.Samples {
		all += time.Duration(s.Nanos)
		seen := map[Frame]bool{} // of a recursion a line counts once
		own := s.Stack[:len(s.Stack)-s.Inside]
		for i, f := range own {
			f.Function = ""
			l := at[f]
			if l == nil {
				l = &Line{Frame: own[i]}
				at[f] = l
			}
			if !seen[f] {
				seen[f] = true
				l.Total += time.Duration(s.Nanos)
			}
			if i == len(own)-1 {
				l.Own += time.Duration(s.Nanos)
			}
		}
	}
	for _, l := range at {
		lines = append(lines, *l)
	}
	sort.Slice(lines, func(i, j int) bool { // slices.SortFunc would take 12 kB of the command
		a, b := lines[i], lines[j]
		return cmp.Or(cmp.Compare(b.Own, a.Own), cmp.Compare(b.Total, a.Total), cmp.Compare(a.File, b.File), a.Line-b.Line) < 0
	})
	return lines, all
}

func milliseconds(d time.Duration) string { return fmt.Sprintf("%d ms", d.Milliseconds()) }

func percent(d, of time.Duration) string {
	return fmt.Sprintf("%.0f %%", 100*float64(d)/float64(max(of, 1)))
}

// summary says in a sentence what was measured.
func (p *Profile) summary(all time.Duration) string {
	if all == 0 {
		return fmt.Sprintf("%s are too short for samples each 10 ms of the processor's time, or were spent waiting: let a loop repeat the statement\n", milliseconds(p.Wall))
	}
	text := fmt.Sprintf("%s of processor time in %s, by samples each 10 ms", milliseconds(all), milliseconds(p.Wall))
	if kernel := p.kernel(); kernel > 0 {
		text += fmt.Sprintf("; %s are the garbage collector's and the kernel's own", milliseconds(kernel))
	}
	return text + "\n"
}

// kernel is the time that belongs to no line.
func (p *Profile) kernel() (d time.Duration) {
	for _, s := range p.Samples {
		if len(s.Stack) == 0 {
			d += time.Duration(s.Nanos)
		}
	}
	return d
}

// Table returns the lines as a table of text, at most so many.
func (p *Profile) Table(most int) string {
	lines, all := p.Lines()
	var b strings.Builder
	b.WriteString(p.summary(all))
	if len(lines) > 0 {
		fmt.Fprintf(&b, "%9s %6s %9s %6s  line\n", "own", "", "total", "")
	}
	for _, l := range lines[:min(most, len(lines))] {
		fmt.Fprintf(&b, "%9s %6s %9s %6s  %s:%d  %s\n", milliseconds(l.Own), percent(l.Own, all), milliseconds(l.Total), percent(l.Total, all), l.File, l.Line, strings.TrimSpace(p.Text(l.File, l.Line)))
	}
	if more := len(lines) - most; more > 0 {
		fmt.Fprintf(&b, "and %d lines that took less\n", more)
	}
	return b.String()
}
