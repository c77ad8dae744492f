package problem

import (
	"context"
	"time"
)

// Stepwise evaluates a large batch in parts that take about a twentieth of a
// second each, and calls add with the number of solutions of every part that is
// done, so that a slow objective can report its progress. The values are those of
// p.Evaluate. add may be nil.
func Stepwise(ctx context.Context, p Problem, dst []float64, x Solutions, add func(n int)) error {
	const wanted = 50 * time.Millisecond
	n := 64 // the smallest batch that problems evaluate at full speed
	for i := 0; i < x.Len(); {
		j, begun := min(i+n, x.Len()), time.Now()
		if err := p.Evaluate(ctx, dst[i:j], x.Slice(i, j)); err != nil {
			return err
		}
		if add != nil {
			add(j - i)
		}
		if took := time.Since(begun); took < wanted/2 {
			n *= 2
		} else if took > 2*wanted {
			n = max(1, n/2)
		}
		i = j
	}
	return nil
}
