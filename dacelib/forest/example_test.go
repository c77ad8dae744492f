package forest_test

import (
	"fmt"

	"dace.local/dacelib/forest"
)

// Example fits a forest to y = 10 x0, which does not depend on x1, on a grid of
// steps of 1/200, and predicts two points.
func Example() {
	var x, y []float64
	for i := range 200 {
		x, y = append(x, float64(i)/200, float64(i%7)), append(y, float64(i)/20)
	}
	f, err := forest.Fit(x, y, 2, forest.Settings{Trees: 50, Seed: 1})
	mean, variance := make([]float64, 2), make([]float64, 2)
	f.Predict(mean, variance, []float64{0.2, 3, 0.7, 3}) // two rows
	fmt.Printf("%.1f %.1f, importance of x0 %.2f, error %v\n", mean[0], mean[1], f.Importance()[0], err)
	// Output: 1.8 6.9, importance of x0 0.98, error <nil>
}
