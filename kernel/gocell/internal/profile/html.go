package profile

import (
	"fmt"
	"html"
	"slices"
	"sort"
	"strings"
	"time"
)

// A box is a rectangle of the flame graph: a frame below the same callers.
type box struct {
	frame  Frame
	inside bool
	nanos  int64
	inner  []*box
}

// add adds a sample below a box.
func (b *box) add(s Sample) {
	b.nanos += s.Nanos
	for i, f := range s.Stack {
		inside := i >= len(s.Stack)-s.Inside
		at := slices.IndexFunc(b.inner, func(x *box) bool { return x.frame == f })
		if at < 0 {
			at = len(b.inner)
			b.inner = append(b.inner, &box{frame: f, inside: inside})
		}
		b = b.inner[at]
		b.nanos += s.Nanos
	}
}

// The flame graph is made of elements with colours of their own, in percent of the
// width: so it is the same in a light and a dark theme, and what nbconvert leaves of
// a page shows it.
const (
	rowHeight = 19 // pixels
	mostRows  = 40
)

func (b *box) depth() int {
	d := 0
	for _, x := range b.inner {
		d = max(d, x.depth())
	}
	return d + 1
}

// draw writes the boxes below b, whose left edge is at a share of the width.
func (p *Profile) draw(w *strings.Builder, b *box, left float64, row int, all int64) {
	sort.SliceStable(b.inner, func(i, j int) bool { return b.inner[i].nanos > b.inner[j].nanos })
	for _, x := range b.inner {
		width := float64(x.nanos) / float64(all)
		if width < 0.002 || row >= mostRows {
			continue
		}
		name, text := x.frame.Function, ""
		colour := "#9ec5e8" // a library's function
		if !x.inside {
			colour = []string{"#f6b26b", "#f9cb9c", "#ffd966", "#f4a582"}[x.frame.Line%4]
			text = strings.TrimSpace(p.Text(x.frame.File, x.frame.Line))
			name = fmt.Sprintf("%s:%d %s", x.frame.File, x.frame.Line, text)
		}
		tip := fmt.Sprintf("%s\n%s:%d\n%s\n%s of %s (%s)", x.frame.Function, x.frame.File, x.frame.Line, text,
			milliseconds(time.Duration(x.nanos)), milliseconds(time.Duration(all)), percent(time.Duration(x.nanos), time.Duration(all)))
		fmt.Fprintf(w, `<div title="%s" style="position:absolute;box-sizing:border-box;left:%.3f%%;width:%.3f%%;top:%dpx;height:%dpx;overflow:hidden;white-space:nowrap;text-overflow:ellipsis;padding:0 3px;border:1px solid #ffffff;border-radius:2px;background:%s;color:#1a1a1a;font:11px/%dpx monospace">%s</div>`,
			html.EscapeString(tip), 100*left, 100*width, row*rowHeight, rowHeight, colour, rowHeight-2, html.EscapeString(name))
		p.draw(w, x, left, row+1, all)
		left += width
	}
}

// HTML returns the lines as a table, at most so many, and a flame graph above it.
func (p *Profile) HTML(most int) string {
	lines, all := p.Lines()
	root := &box{}
	for _, s := range p.Samples {
		root.add(s)
	}
	var b strings.Builder
	fmt.Fprintf(&b, `<div class="dace-profile"><p>%s</p>`, html.EscapeString(strings.TrimSpace(p.summary(all))))
	if len(lines) == 0 {
		return b.String() + "</div>"
	}
	fmt.Fprintf(&b, `<div role="img" aria-label="flame graph" style="position:relative;width:100%%;height:%dpx">`, min(root.depth()-1, mostRows)*rowHeight)
	p.draw(&b, root, 0, 0, max(root.nanos, 1))
	b.WriteString(`</div><table style="margin-top:8px"><thead><tr><th style="text-align:right">own</th><th></th><th style="text-align:right">total</th><th></th><th style="text-align:left">line</th><th style="text-align:left">text</th></tr></thead><tbody>`)
	for _, l := range lines[:min(most, len(lines))] {
		fmt.Fprintf(&b, `<tr><td style="text-align:right">%s</td><td style="text-align:right">%s</td><td style="text-align:right">%s</td><td style="text-align:right">%s</td><td style="text-align:left">%s:%d</td><td style="text-align:left"><code>%s</code></td></tr>`,
			milliseconds(l.Own), percent(l.Own, all), milliseconds(l.Total), percent(l.Total, all), html.EscapeString(l.File), l.Line, html.EscapeString(strings.TrimSpace(p.Text(l.File, l.Line))))
	}
	b.WriteString("</tbody></table>")
	if more := len(lines) - most; more > 0 {
		fmt.Fprintf(&b, "<p>and %d lines that took less</p>", more)
	}
	return b.String() + "</div>"
}
