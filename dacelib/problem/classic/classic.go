// Package classic has textbook problems, one per file, that are cheap to
// evaluate and whose optima are computed. They are for tests and for first
// steps, and are not in the paper.
//
// Start with [RandomKnapsack], [RandomMaxCut] or [RandomNK].
package classic

import (
	"context"
	"fmt"
	"math/bits"

	"dace.local/dacelib/problem"
)

// An Instance is a problem with a known optimum. It is safe for use by several
// goroutines.
type Instance struct {
	name    string
	d       int
	value   func(row []uint64) float64
	optimum float64
}

// Name returns the instance's name.
func (p *Instance) Name() string { return p.name }

// Dim returns d.
func (p *Instance) Dim() int { return p.d }

// Optimum returns the value of an optimal solution; ok is always true.
func (p *Instance) Optimum() (value float64, ok bool) { return p.optimum, true }

// Evaluate sets dst[i] = f(x_i).
func (p *Instance) Evaluate(ctx context.Context, dst []float64, x problem.Solutions) error {
	if err := problem.CheckBatch(p, dst, x); err != nil {
		return err
	}
	for i := range x.Len() {
		dst[i] = p.value(x.Row(i))
		if i%1024 == 1023 && ctx.Err() != nil {
			break
		}
	}
	return ctx.Err()
}

// bit returns bit j of a row as 0 or 1.
func bit(row []uint64, j int) int { return int(row[j>>6] >> (j & 63) & 1) }

// each calls f with the index of every set bit of a row, in order.
func each(row []uint64, f func(j int)) {
	for i, w := range row {
		for ; w != 0; w &= w - 1 {
			f(i*64 + bits.TrailingZeros64(w))
		}
	}
}

func checkDim(what string, d, least, most int) error {
	if d < least || d > most {
		return fmt.Errorf("classic: %s of dimension %d: want %d to %d", what, d, least, most)
	}
	return nil
}
