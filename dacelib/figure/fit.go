package figure

import (
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
)

// leastLetters is the size, in points, below which letters are not made smaller.
const leastLetters = vg.Length(5)

// shrink makes a text's letters smaller where they need more than there is.
func shrink(size *vg.Length, needed, there vg.Length) {
	if needed > there && there > 0 {
		*size = max(min(*size, leastLetters), *size*there/needed)
	}
}

// fit makes the title and the axes' labels smaller where they are longer than
// the tile that a plot is drawn in. The title is in the middle of the tile, the
// labels are in the middle of the data.
func fit(p *plot.Plot, tile, data vg.Rectangle) {
	if p.Title.Text != "" {
		shrink(&p.Title.TextStyle.Font.Size, p.Title.TextStyle.Width(p.Title.Text), tile.Size().X)
	}
	around := func(middle, low, high vg.Length) vg.Length { return 2 * min(middle-low, high-middle) }
	if p.X.Label.Text != "" {
		shrink(&p.X.Label.TextStyle.Font.Size, p.X.Label.TextStyle.Width(p.X.Label.Text), around((data.Min.X+data.Max.X)/2, tile.Min.X, tile.Max.X))
	}
	if p.Y.Label.Text != "" {
		shrink(&p.Y.Label.TextStyle.Font.Size, p.Y.Label.TextStyle.Width(p.Y.Label.Text), around((data.Min.Y+data.Max.Y)/2, tile.Min.Y, tile.Max.Y))
	}
}

// fitTicks makes the ticks' labels smaller where neighbours would touch on axes
// of the given lengths. Labels at a slant are left as they are.
func fitTicks(p *plot.Plot, data vg.Point) {
	if p.X.Tick.Label.Rotation == 0 {
		fitAxis(&p.X, data.X, func(label string) vg.Length { return p.X.Tick.Label.Width(label) + 2 })
	}
	fitAxis(&p.Y, data.Y, func(label string) vg.Length { return p.Y.Tick.Label.Height(label) })
}

// fitAxis makes the letters of an axis's ticks smaller until the widest place
// that two neighbouring labels need is there. extent is a label's size along the
// axis.
func fitAxis(a *plot.Axis, length vg.Length, extent func(string) vg.Length) {
	if !(a.Min < a.Max) || a.Tick.Marker == nil {
		return
	}
	worst := 1.0
	last, lastAt := vg.Length(-1), 0.0
	for _, t := range a.Tick.Marker.Ticks(a.Min, a.Max) {
		if t.IsMinor() || t.Value < a.Min || t.Value > a.Max {
			continue
		}
		at, size := a.Norm(t.Value), extent(t.Label)
		if last >= 0 {
			if gap := float64(length) * (at - lastAt); gap > 0 {
				worst = max(worst, float64(last+size)/2/gap)
			}
		}
		last, lastAt = size, at
	}
	shrink(&a.Tick.Label.Font.Size, vg.Length(worst), 1)
}
