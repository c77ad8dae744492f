package widget_test

import (
	"fmt"

	"dace.local/kernel/widget"
)

// A control has a value, which the slider in the notebook and the program change.
func ExampleIntSlider() {
	n := widget.IntSlider("neighbours", 1, 10, 3)
	n.Set(7)
	fmt.Println(n.Value())
	// Output: 7
}
