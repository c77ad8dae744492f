package display

import (
	"cmp"
	"encoding/binary"
	"image"
	"image/color"
	"image/png"
	"io"
	"math"
	"slices"
)

// encodePNG writes a drawing as PNG. If 256 colours are enough, as for lines and
// letters with antialiased edges, it writes a palette image, which takes half
// the bytes and a fifth of the time.
func encodePNG(w io.Writer, m *image.RGBA) error {
	fast := png.Encoder{CompressionLevel: png.BestSpeed}
	if p := paletted(m); p != nil {
		return fast.Encode(w, p)
	}
	return fast.Encode(w, m)
}

const (
	maxColors = 1 << 12 // an image with more is taken for a photograph
	exact     = 192     // of more than 256 colours, this many, the most frequent, are kept exactly
	closeBy   = 24      // greatest distance of a rare colour from its replacement
)

// paletted returns m with at most 256 of its colours: rare ones are replaced by
// similar ones. It returns nil if 256 are not enough.
func paletted(m *image.RGBA) *image.Paletted {
	type entry struct {
		color uint32
		count int
	}
	var (
		entries []entry
		number  = map[uint32]uint16{}
		width   = m.Rect.Dx()
		pixels  = make([]uint16, 0, width*m.Rect.Dy()) // indices of the colours
	)
	// Neighbours mostly have the same colour: the map is read only if not.
	last, at := uint32(0), uint16(0)
	for y := range m.Rect.Dy() {
		row := m.Pix[y*m.Stride:][:4*width]
		for x := 0; x < len(row); x += 4 {
			c := binary.LittleEndian.Uint32(row[x:])
			if c != last || len(entries) == 0 {
				n, ok := number[c]
				if !ok {
					if len(entries) == maxColors {
						return nil
					}
					n = uint16(len(entries))
					number[c] = n
					entries = append(entries, entry{color: c})
				}
				last, at = c, n
			}
			entries[at].count++
			pixels = append(pixels, at)
		}
	}
	order := slices.Clone(entries)
	slices.SortFunc(order, func(a, b entry) int {
		return cmp.Or(cmp.Compare(b.count, a.count), cmp.Compare(a.color, b.color))
	})
	var chosen []uint32
	index := make([]uint8, len(entries))
	for _, e := range order {
		best, distance := 0, math.MaxInt
		if len(entries) > 256 && len(chosen) >= exact {
			for i, c := range chosen {
				if d := squares(e.color, c); d < distance {
					best, distance = i, d
				}
			}
		}
		if distance > closeBy*closeBy {
			if best = len(chosen); best == 256 {
				return nil
			}
			chosen = append(chosen, e.color)
		}
		index[number[e.color]] = uint8(best)
	}
	var palette color.Palette
	for _, c := range chosen {
		palette = append(palette, color.RGBA{uint8(c), uint8(c >> 8), uint8(c >> 16), uint8(c >> 24)})
	}
	out := image.NewPaletted(image.Rect(0, 0, width, m.Rect.Dy()), palette)
	for i, n := range pixels {
		out.Pix[i] = index[n]
	}
	return out
}

// squares returns the squared distance between two colours.
func squares(a, b uint32) (sum int) {
	for shift := 0; shift < 32; shift += 8 {
		d := int(a>>shift&0xff) - int(b>>shift&0xff)
		sum += d * d
	}
	return sum
}
