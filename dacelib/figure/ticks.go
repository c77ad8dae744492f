package figure

import (
	"math"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
)

// Ticks marks an axis at multiples of 1, 2 or 5 times a power of ten, and
// labels every mark.
type Ticks struct {
	// Wanted is the approximate number of ticks; 0 means 6.
	Wanted int
	// Whole restricts the ticks to whole numbers.
	Whole bool
}

// Ticks implements plot.Ticker.
func (t Ticks) Ticks(lo, hi float64) []plot.Tick {
	if !(lo < hi) || math.IsInf(lo, 0) || math.IsInf(hi, 0) {
		return nil
	}
	wanted := t.Wanted
	if wanted == 0 {
		wanted = 6
	}
	step := math.Pow(10, math.Floor(math.Log10((hi-lo)/float64(wanted))))
	for _, m := range []float64{1, 2, 5, 10} {
		if (hi-lo)/(m*step) <= float64(wanted) {
			step *= m
			break
		}
	}
	if t.Whole {
		step = max(step, 1)
	}
	f := formatOf(lo, hi, max(0, int(math.Ceil(-math.Log10(step)-1e-9))))
	var out []plot.Tick
	for k := math.Ceil(lo/step - 1e-9); k*step <= hi+1e-9*step; k++ {
		out = append(out, plot.Tick{Value: k * step, Label: f.text(k * step)})
	}
	return out
}

// A format writes the numbers of an axis, or of a heat map, alike.
type format struct {
	decimals int
	// commas separates thousands; powers writes 2e−5.
	commas, powers bool
}

// formatOf returns the format of numbers between lo and hi: with commas if one has more
// than four digits before the point, so that years have none; as powers of ten if all
// are tiny or one is huge.
func formatOf(lo, hi float64, decimals int) format {
	most := max(math.Abs(lo), math.Abs(hi))
	return format{decimals, most >= 1e4, most < 1e-3 || most >= 1e7}
}

// text formats v with a true minus.
func (f format) text(v float64) string {
	if f.powers {
		return power(v)
	}
	s := strconv.FormatFloat(math.Abs(v), 'f', f.decimals, 64)
	if whole, _, _ := strings.Cut(s, "."); f.commas {
		for at := len(whole) - 3; at > 0; at -= 3 {
			s = s[:at] + "," + s[at:]
		}
	}
	if v < 0 && strings.Trim(s, "0.,") != "" {
		s = "\u2212" + s
	}
	return s
}

// power formats v as 2e−5, with up to four digits.
func power(v float64) string {
	if v == 0 {
		return "0"
	}
	m, e, _ := strings.Cut(strconv.FormatFloat(v, 'e', 3, 64), "e")
	m = strings.TrimRight(strings.TrimRight(m, "0"), ".")
	n, _ := strconv.Atoi(e)
	return strings.ReplaceAll(m+"e"+strconv.Itoa(n), "-", "\u2212")
}

// LogTicks marks a logarithmic axis: powers of ten have labels, 2 to 9 between
// them have small marks. If there is at most one power, 2 and 5 have labels
// too.
type LogTicks struct{}

// Ticks implements plot.Ticker.
func (LogTicks) Ticks(lo, hi float64) []plot.Tick {
	if !(0 < lo && lo < hi) || math.IsInf(hi, 0) {
		return nil
	}
	first, last := int(math.Floor(math.Log10(lo))), int(math.Ceil(math.Log10(hi)))
	every := 1 + (last-first)/8
	few := math.Floor(math.Log10(hi))-math.Ceil(math.Log10(lo)) < 1
	f := formatOf(lo, hi, 0)
	f.powers = false
	var out []plot.Tick
	for e := first; e <= last; e++ {
		for m := 1; m <= 9; m++ {
			v, err := strconv.ParseFloat(strconv.Itoa(m)+"e"+strconv.Itoa(e), 64)
			if err != nil || v < lo*(1-1e-9) || v > hi*(1+1e-9) {
				continue
			}
			t := plot.Tick{Value: v}
			if m == 1 && e%every == 0 || few && (m == 2 || m == 5) {
				f.decimals = max(0, -e)
				t.Label = f.text(v)
				f.powers = f.powers || v < 0.999e-3 || v >= 1e7
			}
			if m == 1 || every == 1 {
				out = append(out, t)
			}
		}
	}
	for i, t := range out {
		if f.powers && t.Label != "" { // all in one form
			out[i].Label = power(t.Value)
		}
	}
	return out
}
