package figure

import (
	"strings"
	"testing"

	"gonum.org/v1/plot/vg"
)

// In a small tile titles and labels fit, ticks' labels do not touch, and a
// legend of many keys leaves room; where there is room nothing changes.
func TestFit(t *testing.T) {
	names := strings.Fields("one two three four five six seven eight nine ten")
	values := make([][]float64, len(names))
	for i := range values {
		values[i] = make([]float64, len(names))
	}
	long := strings.Repeat("a long title ", 6)
	small, large := vg.Point{X: 100, Y: 60}, vg.Point{X: 900, Y: 600}

	p := HeatMap(long, long, long, names, names, values)
	title, label, ticks := p.Title.TextStyle.Font.Size, p.Y.Label.TextStyle.Font.Size, p.Y.Tick.Label.Font.Size
	all := func(size vg.Point) vg.Rectangle { return vg.Rectangle{Max: size} }
	fit(p, all(large), all(large))
	fitTicks(p, large)
	if p.Title.TextStyle.Font.Size != title || p.Y.Label.TextStyle.Font.Size != label || p.Y.Tick.Label.Font.Size != ticks {
		t.Error("letters change though there is room")
	}
	fit(p, all(vg.Point{X: 300, Y: 240}), all(vg.Point{X: 300, Y: 240}))
	if w := p.Title.TextStyle.Width(long); w > 300.01 {
		t.Errorf("the title is %v wide, in a tile of 300", w)
	}
	if w := p.Y.Label.TextStyle.Width(long); w > 240.01 {
		t.Errorf("the label of y is %v long, in a tile 240 high", w)
	}
	fitTicks(p, small)
	if got := p.Y.Tick.Label.Font.Size; got >= ticks || got < leastLetters {
		t.Errorf("the letters of ticks are %v high in a small tile", got)
	}
	fit(p, all(vg.Point{X: 300, Y: 240}), vg.Rectangle{Max: vg.Point{X: 300, Y: 200}})
	if w := p.Y.Label.TextStyle.Width(long); w > 200.01 {
		t.Errorf("the label of y is %v long, beside data whose middle is 100 above the tile's end", w)
	}
	fit(p, all(vg.Point{X: 1, Y: 1}), all(vg.Point{X: 1, Y: 1}))
	if got := p.Title.TextStyle.Font.Size; got != leastLetters {
		t.Errorf("the letters of a title are %v high in no space, want %v", got, leastLetters)
	}

	var keys legend
	for range 8 {
		keys = append(keys, key{"onemax-30/100", nil})
	}
	sty := New("", "", "").Legend.TextStyle
	sty.Handler = fitted{sty.Handler, 230}
	before, _ := keys.broken(sty)
	rows, _, in := keys.rows(sty)
	if len(rows) >= len(before) || in.Font.Size >= sty.Font.Size || in.Font.Size < sty.Font.Size*0.66 {
		t.Errorf("%d rows of size %v, of %d of size %v", len(rows), in.Font.Size, len(before), sty.Font.Size)
	}
	if rows, _, in := keys[:2].rows(sty); len(rows) > mostRows || in.Font.Size != sty.Font.Size {
		t.Errorf("two keys: %d rows of size %v", len(rows), in.Font.Size)
	}
}
