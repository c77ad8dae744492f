package stats_test

import (
	"math"
	"testing"

	"dace.local/dacelib/stats"
)

// The quantile of t with 4 degrees of freedom is 2.776445 in printed tables; the
// values 1, 2, 3, 4 and 10 have the variance 12.5.
func TestInterval(t *testing.T) {
	mean, half := stats.Interval([]float64{1, 2, 3, 4, 10}, 0.95)
	if want := 2.776445 * math.Sqrt(12.5/5); math.Abs(mean-4) > 1e-12 || math.Abs(half-want) > 1e-5 {
		t.Errorf("%g ± %g, want 4 ± %g", mean, half, want)
	}
	if mean, half := stats.Interval([]float64{7}, 0.95); mean != 7 || !math.IsNaN(half) {
		t.Errorf("%g ± %g", mean, half)
	}
	if mean, _ := stats.Interval(nil, 0.95); !math.IsNaN(mean) {
		t.Error(mean)
	}
}
