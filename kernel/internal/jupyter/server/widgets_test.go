package server

import "testing"

// TestWidgets moves a slider with jupyter_client and runs its cell with
// nbclient, see testdata/widgets.py.
func TestWidgets(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	needPython(t, "nbclient")
	const interact = `widget.Interact(func(k int) *plot.Plot {
	if k == 1000 {
		fmt.Println("spinning")
		for {
		}
	}
	p := plot.New()
	p.Title.Text = fmt.Sprint("k = ", k)
	p.Add(plotter.NewFunction(func(x float64) float64 { return math.Sin(float64(k) * x) }))
	return p
}, widget.IntSlider("k", 0, 1000, 5))`
	var measured map[string]float64
	lastLine(t, goLanguage.script(t, "widgets.py", object{"interact": interact}), &measured)
	t.Logf("measured: %v", measured)
}

// TestCommRun checks which comm messages are followed directly by another one.
func TestCommRun(t *testing.T) {
	var c commRun
	arrive := func(numbers ...int64) {
		for _, n := range numbers {
			c.queued(n)
		}
	}
	check := func(number int64, want bool) {
		t.Helper()
		if got := c.next(number); got != want {
			t.Errorf("after message %d another one waits: %v, want %v", number, got, want)
		}
	}
	arrive(1)
	check(1, false) // the only one
	arrive(2, 3)
	check(1, true)
	check(2, true)
	check(3, false)
	arrive(5, 6) // 4 is a cell
	check(3, false)
	check(4, false)
	check(5, true)
	check(6, false)
}
