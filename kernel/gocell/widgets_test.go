package gocell_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"dace.local/kernel/engine"
	"dace.local/kernel/gocell"
	"dace.local/kernel/internal/system/process"
	"dace.local/kernel/widget/widgettest"
)

// A widgetPage is a page of widgets with a kernel that runs cells.
type widgetPage struct {
	*widgettest.Page
	session *gocell.Session
	count   int
}

func newWidgetPage(t testing.TB, opts gocell.Options) *widgetPage {
	opts.KeepStdin = true
	s, err := gocell.New(opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	p, _ := widgettest.NewPage(t)
	p.Kernel = s
	return &widgetPage{Page: p, session: s}
}

// run executes a cell; the test fails if the cell does.
func (p *widgetPage) run(code string) {
	p.T.Helper()
	p.count++
	r, err := p.session.Execute(p.T.Context(), engine.Cell{Number: p.count, Code: code}, p)
	if err != nil {
		p.T.Fatalf("%s\n%v", code, err)
	}
	if !r.Value.Empty() {
		p.Show(r.Value.Data)
	}
}

var lineNumber = regexp.MustCompile(`In\[(\d+)\]:(\d+):`)

// TestInteract moves sliders of an interpreted function. The printed text, the
// returned value and a panic, with its position in the cell, must appear in the
// widget's own output.
func TestInteract(t *testing.T) {
	p := newWidgetPage(t, gocell.Options{KeepStdio: true})
	p.run(`scale := 10.0`)
	p.run(`widget.Interact(func(k int, x float64) string {
	fmt.Println("drawing")
	if k == 9 {
		var list []int
		fmt.Println(list[k])
	}
	return fmt.Sprint(k, x*scale)
}, widget.IntSlider("k", 1, 20, 5), widget.FloatSlider("x", 0, 1, 0.25))`)
	want := func(when, want string) {
		t.Helper()
		if got := p.Area(); got != want {
			t.Errorf("%s it shows %q, want %q", when, got, want)
		}
	}
	want("at first", "stdout: drawing\n\ndisplay: \"5 2.5\"")
	p.Set("IntSliderModel", "value", 7)
	want("moved to 7", "stdout: drawing\n\ndisplay: \"7 2.5\"")
	p.Set("IntSliderModel", "value", 9)
	got := p.Area()
	for _, part := range []string{"stdout: drawing\n", "error: panic: ", "index out of range [9]"} {
		if !strings.Contains(got, part) {
			t.Errorf("a panic shows %s\nwant %s", got, part)
		}
	}
	if m := lineNumber.FindStringSubmatch(got); m == nil || m[1] != "2" || m[2] != "5" {
		t.Errorf("a panic shows %s\nwant line 5 of cell 2", got)
	}
	p.run(`scale = 100`)
	p.Set("IntSliderModel", "value", 8)
	want("after a panic, and with another scale,", "stdout: drawing\n\ndisplay: \"8 25\"")
	if got := p.Printed(); got != "" {
		t.Errorf("below the cells stands %q", got)
	}
}

// TestCallback runs functions of cells when a button is pressed or a menu
// changes. Their text must appear below their cell, however they print it; they
// change other widgets and the cells' variables, and start goroutines.
func TestCallback(t *testing.T) {
	p := newWidgetPage(t, gocell.Options{})
	p.run(`type counter struct{ n int }
func (c *counter) press() {
	c.n++
	fmt.Println("pressed", c.n)
	fmt.Fprintln(os.Stdout, "by os.Stdout")
	status.Set(fmt.Sprintf("<b>%d</b>", c.n))
	done := make(chan bool)
	go func() { fmt.Println("from a goroutine"); done <- true }()
	<-done
	if c.n == 2 {
		panic(fmt.Sprint("at ", c.n))
	}
}
c := &counter{}
status := widget.HTML("none")
button := widget.Button("press")
button.OnClick(c.press)
which := widget.Dropdown("which", []string{"a", "b"}, "a")
which.OnChange(func(s string) { fmt.Println("chosen", s) })
widget.VBox(button, which, status)`)
	p.Click()
	if got, want := p.Printed(), "pressed 1\nby os.Stdout\nfrom a goroutine\n"; got != want {
		t.Errorf("a button prints %q, want %q", got, want)
	}
	if _, m := p.Model("HTMLModel"); m["value"] != "<b>1</b>" {
		t.Errorf("the page shows %v", m["value"])
	}
	p.Click()
	if got := p.Printed(); !strings.Contains(got, "pressed 2\n") || !strings.Contains(got, "panic: \x1b[0mat 2") || !strings.Contains(got, "In[1]:11:") {
		t.Errorf("a panic prints %q", got)
	}
	p.Set("DropdownModel", "index", 1)
	if got := p.Printed(); got != "chosen b\n" {
		t.Errorf("a menu prints %q", got)
	}
	p.run(`fmt.Println(c.n, which.Value())`)
	if got := p.Printed(); got != "2 b\n" {
		t.Errorf("the cells have %q", got)
	}
}

// TestInterruptCallback interrupts functions that would not end. The functions
// after them must still run.
func TestInterruptCallback(t *testing.T) {
	p := newWidgetPage(t, gocell.Options{KeepStdio: true})
	p.run(`widget.Interact(func(k int) {
	fmt.Println("at", k)
	switch k {
	case 1:
		for {
		}
	case 2:
		time.Sleep(time.Hour)
	case 3:
		<-make(chan int)
	}
}, widget.IntSlider("k", 0, 9, 0))`)
	id, _ := p.Model("IntSliderModel")
	for k := 1; k <= 3; k++ {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(50*time.Millisecond, cancel)
		p.Send(ctx, id, widgettest.Update("value", k), false)
		if got := p.Area(); !strings.HasPrefix(got, fmt.Sprintf("stdout: at %d\n\nerror: Interrupted: ", k)) {
			t.Errorf("interrupted at %d it shows %q", k, got)
		}
		p.Send(t.Context(), id, widgettest.Update("value", 5), false)
		if got := p.Area(); got != "stdout: at 5\n" {
			t.Errorf("after it: %q", got)
		}
	}
	p.run(`k := 3`)
}

// TestCallbackWhileRunning presses a button while a cell sleeps, and while one
// computes. The cell goes on, and keeps its output.
func TestCallbackWhileRunning(t *testing.T) {
	p := newWidgetPage(t, gocell.Options{})
	p.run(`pressed := make(chan int, 1)
n := 0
b := widget.Button("press")
b.OnClick(func() {
	n++
	fmt.Println("pressed", n)
	pressed <- n
})
b`)
	for i, code := range []string{
		"fmt.Println(\"waits\")\nfmt.Println(\"got\", <-pressed)",
		"fmt.Println(\"waits\")\nfor len(pressed) == 0 {\n\ttime.Sleep(time.Millisecond)\n}\nfmt.Println(\"got\", <-pressed)",
		"fmt.Println(\"waits\")\nfor len(pressed) == 0 {\n}\nfmt.Println(\"got\", <-pressed)",
	} {
		ended := make(chan struct{})
		text := ""
		go func() {
			defer close(ended)
			p.run(code)
		}()
		for !strings.Contains(text, "waits") {
			text += p.Printed()
			time.Sleep(time.Millisecond)
		}
		p.Click()
		<-ended
		text += p.Printed()
		for _, want := range []string{fmt.Sprintf("pressed %d\n", i+1), fmt.Sprintf("got %d\n", i+1)} {
			if !strings.Contains(text, want) {
				t.Errorf("%s: it shows %q, want in it %q", code, text, want)
			}
		}
	}
}

// sliderCell draws a curve with the number of points that the slider has.
const sliderCell = `widget.Interact(func(k int) *plot.Plot {
	p := plot.New()
	p.Title.Text = fmt.Sprint("k = ", k)
	points := make(plotter.XYs, 200)
	for i := range points {
		x := float64(i) / 20
		points[i] = plotter.XY{X: x, Y: math.Sin(float64(k) * x)}
	}
	line, err := plotter.NewLine(points)
	if err != nil {
		panic(err)
	}
	p.Add(line)
	return p
}, widget.IntSlider("k", 0, 100000, 5))`

var drawnRE = regexp.MustCompile(`k = (\d+)`)

// TestFigure redraws a gonum plot as its slider moves.
func TestFigure(t *testing.T) {
	p := newWidgetPage(t, gocell.Options{KeepStdio: true})
	p.run(sliderCell)
	p.Set("IntSliderModel", "value", 17)
	if got := p.Area(); !strings.Contains(got, "k = 17") || !strings.Contains(got, "PNG") {
		t.Errorf("it shows %q", got)
	}
}

// BenchmarkSlider measures the time from a slider's new value until its figure
// is sent to the page.
func BenchmarkSlider(b *testing.B) {
	p := newWidgetPage(b, gocell.Options{KeepStdio: true})
	p.run(sliderCell)
	id, _ := p.Model("IntSliderModel")
	start := process.TotalTime()
	for k := 6; b.Loop(); k++ {
		p.Send(b.Context(), id, widgettest.Update("value", k), false)
	}
	b.ReportMetric(float64((process.TotalTime()-start).Microseconds())/1000/float64(b.N), "cpu-ms/op")
}

// BenchmarkDrag sends 60 values within a second and measures the time from the
// last one until its figure is sent. As the server does, it tells the
// kernel with each value whether more values wait (More).
func BenchmarkDrag(b *testing.B) {
	p := newWidgetPage(b, gocell.Options{KeepStdio: true})
	p.run(sliderCell)
	id, _ := p.Model("IntSliderModel")
	const values = 60
	var last []time.Duration
	figures, k := 0, 1000
	for b.Loop() {
		p.Sent()
		queue := make(chan int, values)
		var lastSent time.Time
		go func() {
			tick := time.NewTicker(time.Second / values)
			defer tick.Stop()
			for i := range values {
				<-tick.C
				lastSent = time.Now()
				queue <- k + i
			}
			close(queue)
		}()
		for v := range queue {
			p.Send(b.Context(), id, widgettest.Update("value", v), len(queue) > 0)
		}
		last = append(last, time.Since(lastSent))
		drawn := 0
		for _, m := range p.Sent() {
			if found := drawnRE.FindStringSubmatch(fmt.Sprint(m.Data)); found != nil {
				n, _ := strconv.Atoi(found[1])
				if n < drawn {
					b.Errorf("a figure of %d is drawn after one of %d", n, drawn)
				}
				drawn = n
				figures++
			}
		}
		if drawn != k+values-1 {
			b.Errorf("the last figure is of %d, want %d", drawn, k+values-1)
		}
		k += values
	}
	slices.Sort(last)
	b.ReportMetric(float64(last[len(last)/2].Microseconds())/1000, "ms-after-last")
	b.ReportMetric(float64(last[len(last)-1].Microseconds())/1000, "ms-worst")
	b.ReportMetric(float64(figures)/float64(b.N), "figures")
}

// TestKeptWidgets starts a kernel anew: a page that is loaded then shows the notebook's
// widgets as they were, or what the notebook has in the place of others.
func TestKeptWidgets(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	file := filepath.Join(t.TempDir(), "nb.ipynb")
	notebook := `{"cells": [{"cell_type": "code", "outputs": [
		{"output_type": "execute_result", "data": {"application/vnd.jupyter.widget-view+json": {"model_id": "aaaa"}, "text/html": ["<b>a", " table</b>"], "text/plain": "x"}},
		{"output_type": "stream", "text": "s"},
		{"output_type": "execute_result", "data": {"application/vnd.jupyter.widget-view+json": {"model_id": "bbbb"}, "text/plain": "a < b"}}]}]}`
	if err := os.WriteFile(file, []byte(notebook), 0o600); err != nil {
		t.Fatal(err)
	}
	opts := gocell.Options{KeepStdio: true, Notebook: file}
	states := func(p *widgettest.Page) map[string]any {
		p.Manage()
		p.Sent()
		p.Send(t.Context(), "control", map[string]any{"method": "request_states"}, false)
		return p.Sent()[0].Data.(map[string]any)["states"].(map[string]any)
	}
	p := newWidgetPage(t, opts)
	if got := states(p.Page); len(got) != 2 {
		t.Errorf("before any cell: %v", got)
	}
	p.run("k := widget.IntSlider(\"k\", 0, 9, 5)\nk")
	p.run("type row struct{ N int }\nrows := make([]row, 100)\nrows[99].N = 7\nrows")
	if shown := p.Shown(); len(shown) != 2 || shown[1][viewType] == nil {
		t.Errorf("shown: %v", shown)
	}
	p.run("k.Set(7)")
	if err := p.session.Close(); err != nil {
		t.Fatal(err)
	}
	opts.Notebook, opts.Kernel, opts.Folder = "", "kernel.json", filepath.Dir(file) // an older server's
	if all := fmt.Sprint(states(newWidgetPage(t, opts).Page)); !strings.Contains(all, "a table") || strings.Contains(all, "value:7") {
		t.Errorf("of the folder's notebooks: %s", all)
	}
	for _, where := range []string{file, filepath.Join(t.TempDir(), "other.ipynb")} {
		opts.Notebook = where
		all := states(newWidgetPage(t, opts).Page)
		text := fmt.Sprint(all)
		if where != file {
			if len(all) > 0 {
				t.Errorf("another notebook has %s", text)
			}
			continue
		}
		for _, want := range []string{"<b>a table</b>", "<pre>a &lt; b</pre>", "description:k disabled:true", "value:7", "dace-grid"} {
			if !strings.Contains(text, want) {
				t.Errorf("no %q in %s", want, text)
			}
		}
		for id, m := range all {
			for _, ref := range regexp.MustCompile(`IPY_MODEL_(\w+)`).FindAllStringSubmatch(fmt.Sprint(m), -1) {
				if all[ref[1]] == nil {
					t.Errorf("%s refers to %s, which is not there", id, ref[1])
				}
			}
		}
	}
}
