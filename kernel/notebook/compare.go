package notebook

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"image"
	_ "image/jpeg" // decoded by picture
	_ "image/png"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Ignored is the tag of a cell whose outputs [Compare] does not compare. It is
// nbval's.
const Ignored = "nbval-ignore-output"

// Progress is the key in an output's metadata that marks a progress bar, which
// [Compare] leaves out.
const Progress = "dace-progress"

// CompareSettings configures Compare. The zero value accepts only rounding in
// the last printed digit, and the same pictures.
type CompareSettings struct {
	// Tolerance is the greatest relative difference of two numbers. Two numbers
	// are also equal if they differ by at most one in the last digit that is
	// printed.
	Tolerance float64
	// Pixels is the greatest share of a picture's pixels that may differ.
	Pixels float64
}

// A Difference is an output of a cell that is not as it was.
type Difference struct {
	Cell *Cell
	// Number is the cell's index among the code cells, from 1.
	Number int
	// What says what differs, in a line or a few.
	What string
}

// String returns the cell's number, its first line of code, and what differs.
func (d Difference) String() string {
	line, _, _ := strings.Cut(strings.TrimSpace(d.Cell.Source), "\n")
	return fmt.Sprintf("cell %d (%s): %s", d.Number, cut(line, 60), d.What)
}

// Compare compares the outputs of a notebook that has been run again with those
// that are stored in it. It returns the first difference of every cell. Texts,
// and tables by their text, must be the same but for their numbers, which may
// differ by the tolerance. Durations ("3.2 s", "12/s") and progress bars are not
// compared, nor are widgets' ids. A picture is compared pixel by pixel.
func Compare(stored, again *Notebook, set CompareSettings) []Difference {
	var all []Difference
	number := 0
	for _, c := range stored.Cells {
		if c.Type != Code {
			continue
		}
		number++
		if strings.TrimSpace(c.Source) == "" || c.HasTag(Ignored) || c.HasTag("skip-execution") {
			continue
		}
		at := slices.IndexFunc(again.Cells, func(o *Cell) bool { return o.ID == c.ID })
		what := ""
		switch {
		case at < 0:
			what = "it is not in the notebook any more"
		case c.Count == 0:
			what = "it has never been run: nothing is stored to compare with"
		default:
			what = set.outputs(c.Outputs, again.Cells[at].Outputs)
		}
		if what != "" {
			all = append(all, Difference{c, number, what})
		}
	}
	return all
}

// outputs returns the first difference between the outputs of a cell, or "".
func (set CompareSettings) outputs(stored, again []*Output) string {
	a, b := merged(stored), merged(again)
	for i := range max(len(a), len(b)) {
		switch {
		case i >= len(b):
			return "an output is missing: " + describe(a[i])
		case i >= len(a):
			return "there is an output more: " + describe(b[i])
		}
		if what := set.output(a[i], b[i]); what != "" {
			return what
		}
	}
	return ""
}

// merged returns the outputs without progress bars, and with the pieces of a
// stream as one output, at the place of the first.
func merged(outputs []*Output) []*Output {
	var all []*Output
	streams := map[string]*Output{}
	for _, o := range outputs {
		if _, bar := o.Metadata[Progress]; bar {
			continue
		}
		if o.Type == Stream {
			if s := streams[o.Name]; s != nil {
				s.Text += o.Text
				continue
			}
			o = &Output{Type: Stream, Name: o.Name, Text: o.Text}
			streams[o.Name] = o
		}
		all = append(all, o)
	}
	return all
}

// describe names an output in a message.
func describe(o *Output) string {
	switch o.Type {
	case Stream:
		return fmt.Sprintf("%s %q", o.Name, cut(strings.TrimSpace(o.Text), 60))
	case Failure:
		return o.ErrorName + ": " + cut(o.ErrorValue, 80)
	}
	if s, ok := o.Data["text/plain"].(string); ok {
		return fmt.Sprintf("%q", cut(s, 60))
	}
	return "an output of other formats"
}

func (set CompareSettings) output(a, b *Output) string {
	shown := func(o *Output) bool { return o.Type == Display || o.Type == Result }
	switch {
	case a.Type != b.Type && (!shown(a) || !shown(b)), a.Name != b.Name:
		return fmt.Sprintf("was %s, is %s", describe(a), describe(b))
	case a.Type == Stream:
		return set.text(settle(a.Text), settle(b.Text))
	case a.Type == Failure:
		if a.ErrorName != b.ErrorName {
			return fmt.Sprintf("was %s, is %s", describe(a), describe(b))
		}
		return set.text(a.ErrorValue, b.ErrorValue)
	case !shown(a):
		return ""
	}
	same := false // a picture, of which the other formats are a text or another drawing
	for _, mime := range []string{"image/png", "image/jpeg"} {
		x, before := a.Data[mime].(string)
		y, now := b.Data[mime].(string)
		switch {
		case before && now:
			if what := set.picture(x, y); what != "" {
				return what
			}
			same = true
		case before != now:
			return map[bool]string{true: "a figure is missing", false: "there is a figure more"}[before]
		}
	}
	if same {
		return ""
	}
	for _, mime := range []string{"text/plain", "text/markdown", "text/latex", "text/html", "image/svg+xml"} {
		x, before := a.Data[mime].(string)
		y, now := b.Data[mime].(string)
		if mime == "text/html" {
			if _, table := a.Data["text/plain"]; table {
				continue // its text has been compared
			}
		}
		if !before && !now {
			continue
		}
		if what := set.text(x, y); what != "" {
			if mime == "image/svg+xml" {
				return "the figure differs: " + what
			}
			return what
		}
	}
	return ""
}

// durations matches what depends on the clock: durations and rates.
var durations = regexp.MustCompile(`\b([0-9]+h)?([0-9]+m)?(` + oneDuration + `( ` + oneDuration + `)*)`)

const oneDuration = `[0-9][0-9,]*(\.[0-9]+)?(e[+-]?[0-9]+)?( ?(ns|µs|us|ms|s|min|h)\b|/s\b| a minute\b)`

// numbers matches numbers as they are printed, with commas between thousands.
var numbers = regexp.MustCompile(`[0-9]+(,[0-9]{3})*(\.[0-9]+)?(e[+-]?[0-9]+)?`)

// text returns the first line in which two texts differ, or "".
func (set CompareSettings) text(a, b string) string {
	x, y := strings.Split(strings.TrimRight(a, "\n"), "\n"), strings.Split(strings.TrimRight(b, "\n"), "\n")
	for i := range max(len(x), len(y)) {
		switch {
		case i >= len(y):
			return fmt.Sprintf("line %d is missing: %q", i+1, cut(x[i], 100))
		case i >= len(x):
			return fmt.Sprintf("there is a line more: %q", cut(y[i], 100))
		}
		if why := set.line(x[i], y[i]); why != "" {
			return fmt.Sprintf("line %d%s\n    was %s\n    is  %s", i+1, why, cut(strings.TrimSpace(x[i]), 160), cut(strings.TrimSpace(y[i]), 160))
		}
	}
	return ""
}

// line returns "" if two lines are the same within the tolerance, else what the
// greatest difference of their numbers is, or " differs".
func (set CompareSettings) line(a, b string) string {
	a, b = durations.ReplaceAllString(a, "<duration>"), durations.ReplaceAllString(b, "<duration>")
	if a == b {
		return ""
	}
	// Numbers of other widths move what stands in columns.
	rest := func(s string) string { return strings.Join(strings.Fields(numbers.ReplaceAllString(s, " # ")), " ") }
	x, y := numbers.FindAllString(a, -1), numbers.FindAllString(b, -1)
	if rest(a) != rest(b) || len(x) != len(y) {
		return " differs"
	}
	worst, which := 0.0, ""
	for i := range x {
		u, v := number(x[i]), number(y[i])
		if x[i] == y[i] || math.Abs(u-v) <= 1.01*max(unit(x[i]), unit(y[i])) && (unit(x[i]) < 1 || strings.Contains(x[i], "e")) {
			continue
		}
		if d := math.Abs(u-v) / max(math.Abs(u), math.Abs(v)); d > set.Tolerance && d > worst {
			worst, which = d, fmt.Sprintf(": %s is now %s, %.2g %% apart", x[i], y[i], 100*d)
		}
	}
	return which
}

func number(s string) float64 {
	v, _ := strconv.ParseFloat(strings.ReplaceAll(s, ",", ""), 64)
	return v
}

// unit returns the value of one in the last digit of a printed number.
func unit(s string) float64 {
	mantissa, exponent, _ := strings.Cut(s, "e")
	e, _ := strconv.Atoi(exponent)
	if _, decimals, ok := strings.Cut(mantissa, "."); ok {
		e -= len(decimals)
	}
	return math.Pow(10, float64(e))
}

// picture returns how two pictures in base64 differ, or "".
func (set CompareSettings) picture(a, b string) string {
	if a == b {
		return ""
	}
	x, errA := decodePicture(a)
	y, errB := decodePicture(b)
	switch {
	case errA != nil:
		return "the stored figure cannot be read: " + errA.Error()
	case errB != nil:
		return "the figure cannot be read: " + errB.Error()
	case x.Bounds().Size() != y.Bounds().Size():
		return fmt.Sprintf("the figure had %v pixels, now %v", x.Bounds().Size(), y.Bounds().Size())
	}
	const near = 8 << 8 // of 65,535: no eye sees it
	n, bounds := 0, x.Bounds()
	move := y.Bounds().Min.Sub(bounds.Min)
	for py := bounds.Min.Y; py < bounds.Max.Y; py++ {
		for px := bounds.Min.X; px < bounds.Max.X; px++ {
			r, g, b, _ := x.At(px, py).RGBA()
			r2, g2, b2, _ := y.At(px+move.X, py+move.Y).RGBA()
			if apart(r, r2) > near || apart(g, g2) > near || apart(b, b2) > near {
				n++
			}
		}
	}
	if share := float64(n) / float64(bounds.Dx()*bounds.Dy()); share > set.Pixels {
		return fmt.Sprintf("the figure differs in %.2g %% of its pixels", 100*share)
	}
	return ""
}

func apart(a, b uint32) uint32 { return max(a, b) - min(a, b) }

func decodePicture(s string) (image.Image, error) {
	raw, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(s), ""))
	if err != nil {
		return nil, err
	}
	p, _, err := image.Decode(bytes.NewReader(raw))
	return p, err
}

// cut shortens a text to n characters.
func cut(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return s
}
