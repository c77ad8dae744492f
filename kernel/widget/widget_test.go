package widget_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/plot"

	"dace.local/kernel/engine"
	"dace.local/kernel/widget"
	"dace.local/kernel/widget/widgettest"
)

// TestOpen compares the messages that open a slider with those that ipywidgets
// 8 sends for IntSlider(description="k", min=1, max=20, value=5).
func TestOpen(t *testing.T) {
	p, s := widgettest.NewPage(t)
	s.Cell(func() { p.Show(widget.IntSlider("k", 1, 20, 5).MimeBundle()) })
	sent := p.Sent()
	var names []any
	for _, m := range sent {
		state := m.Data.(map[string]any)["state"].(map[string]any)
		names = append(names, state["_model_name"])
		if m.Type != "comm_open" || m.Target != "jupyter.widget" || m.Metadata["version"] != "2.1.0" || m.Data.(map[string]any)["buffer_paths"] == nil {
			t.Errorf("%v", m)
		}
	}
	if want := []any{"LayoutModel", "SliderStyleModel", "IntSliderModel"}; !reflect.DeepEqual(names, want) {
		t.Fatalf("it opens %v, want %v", names, want)
	}
	ref := func(i int) string { return "IPY_MODEL_" + sent[i].ID }
	id, state := p.Model("IntSliderModel")
	want := map[string]any{
		"_model_module": "@jupyter-widgets/controls", "_model_module_version": "2.0.0", "_model_name": "IntSliderModel",
		"_view_module": "@jupyter-widgets/controls", "_view_module_version": "2.0.0", "_view_name": "IntSliderView",
		"description": "k", "value": 5., "min": 1., "max": 20., "step": 1., "disabled": false, "readout": true, "readout_format": "d",
		"continuous_update": true, "orientation": "horizontal", "layout": ref(0), "style": ref(1),
	}
	if !reflect.DeepEqual(state, want) {
		t.Errorf("the state is %v\nwant %v", state, want)
	}
	_, style := p.Model("SliderStyleModel")
	if style["_view_module"] != "@jupyter-widgets/base" || style["_view_name"] != "StyleView" || style["_model_module"] != "@jupyter-widgets/controls" {
		t.Errorf("the style is %v", style)
	}
	_, layout := p.Model("LayoutModel")
	if layout["_model_module"] != "@jupyter-widgets/base" || layout["_model_module_version"] != "2.0.0" {
		t.Errorf("the layout is %v", layout)
	}
	shown := p.Shown()[0]
	view := map[string]any{"version_major": 2, "version_minor": 0, "model_id": id}
	if got := shown["application/vnd.jupyter.widget-view+json"]; !reflect.DeepEqual(got, view) {
		t.Errorf("it is shown as %v, want %v", got, view)
	}
	for _, part := range []string{"IntSlider k: 5", "pip install jupyterlab_widgets", "go run ./install -jupyter"} {
		if text := shown["text/plain"].(string); !strings.Contains(text, part) {
			t.Errorf("without the manager it is shown as %q, want %q in it", text, part)
		}
	}
}

// messages describes messages, one in each line, without ids.
func messages(sent []engine.CommMessage) string {
	var lines []string
	for _, m := range sent {
		data := m.Data.(map[string]any)
		b, _ := json.Marshal(data["state"])
		if data["buffer_paths"] == nil && m.Type == "comm_msg" {
			b = append(b, " without buffer_paths"...)
		}
		lines = append(lines, strings.TrimSpace(fmt.Sprintf("%s %v %s", m.Type, data["method"], b)))
	}
	return strings.Join(lines, "\n")
}

func TestValueFromPage(t *testing.T) {
	options := []string{"a", "b", "c"}
	tests := []struct {
		widget func(print func(v ...any)) widget.Widget
		key    string
		given  any    // sent by the page
		called string // what the function given to OnChange prints
		kept   any    // in the kernel's state, decoded from its JSON
		sent   string // messages of the kernel
	}{
		{func(p func(...any)) widget.Widget {
			w := widget.IntSlider("k", 1, 20, 5)
			w.OnChange(func(v int) { p(v) })
			return w
		}, "value", 7, "7", 7., `comm_msg echo_update {"value":7}`},
		{func(p func(...any)) widget.Widget {
			w := widget.IntSlider("k", 1, 20, 5)
			w.OnChange(func(v int) { p(v) })
			return w
		}, "value", 77, "20", 20., "comm_msg echo_update {\"value\":77}\ncomm_msg update {\"value\":20}"},
		{func(p func(...any)) widget.Widget {
			w := widget.IntSlider("k", 1, 20, 5)
			w.OnChange(func(v int) { p(v) })
			return w
		}, "value", "seven", "", 5., "comm_msg echo_update {\"value\":\"seven\"}\ncomm_msg update {\"value\":5}"},
		{func(p func(...any)) widget.Widget {
			w := widget.IntText("k", 5)
			w.OnChange(func(v int) { p(v) })
			return w
		}, "value", 1e300, "", 5., "comm_msg echo_update {\"value\":1e+300}\ncomm_msg update {\"value\":5}"},
		{func(p func(...any)) widget.Widget {
			w := widget.FloatSlider("x", 0, 1, 0.5)
			w.OnChange(func(v float64) { p(v) })
			return w
		}, "value", 0.25, "0.25", 0.25, `comm_msg echo_update {"value":0.25}`},
		{func(p func(...any)) widget.Widget {
			w := widget.FloatLogSlider("x", 1e-3, 1e3, 1)
			w.OnChange(func(v float64) { p(v) })
			return w
		}, "value", 1e9, "1000", 1000., "comm_msg echo_update {\"value\":1000000000}\ncomm_msg update {\"value\":1000}"},
		{func(p func(...any)) widget.Widget {
			w := widget.IntRangeSlider("k", 0, 9, 2, 5)
			w.OnChange(func(l, u int) { p(l, u) })
			return w
		}, "value", []int{3, 4}, "3 4", []any{3., 4.}, `comm_msg echo_update {"value":[3,4]}`},
		{func(p func(...any)) widget.Widget {
			w := widget.FloatRangeSlider("x", 0, 1, 0.2, 0.4)
			w.OnChange(func(l, u float64) { p(l, u) })
			return w
		}, "value", []float64{0.9, 0.1}, "", []any{0.2, 0.4}, "comm_msg echo_update {\"value\":[0.9,0.1]}\ncomm_msg update {\"value\":[0.2,0.4]}"},
		{func(p func(...any)) widget.Widget {
			w := widget.Text("name", "")
			w.OnChange(func(v string) { p(v) })
			return w
		}, "value", "Grüße", "Grüße", "Grüße", `comm_msg echo_update {"value":"Grüße"}`},
		{func(p func(...any)) widget.Widget {
			w := widget.Textarea("lines", "one")
			w.OnChange(func(v string) { p(fmt.Sprintf("%q", v)) })
			return w
		}, "value", "one\ntwo", `"one\ntwo"`, "one\ntwo", `comm_msg echo_update {"value":"one\ntwo"}`},
		{func(p func(...any)) widget.Widget {
			w := widget.Progress("done", 0, 1, 0.25)
			w.OnChange(func(v float64) { p(v) })
			return w
		}, "value", 2, "1", 1., "comm_msg echo_update {\"value\":2}\ncomm_msg update {\"value\":1}"},
		{func(p func(...any)) widget.Widget {
			w := widget.Checkbox("on", false)
			w.OnChange(func(v bool) { p(v) })
			return w
		}, "value", true, "true", true, `comm_msg echo_update {"value":true}`},
		{func(p func(...any)) widget.Widget {
			w := widget.Dropdown("which", options, "a")
			w.OnChange(func(v string) { p(v, w.Index(), w.Value()) })
			return w
		}, "index", 2, "c 2 c", 2., `comm_msg echo_update {"index":2}`},
		{func(p func(...any)) widget.Widget {
			w := widget.RadioButtons("which", options, "a")
			w.OnChange(func(v string) { p(v) })
			return w
		}, "index", 3, "", 0., "comm_msg echo_update {\"index\":3}\ncomm_msg update {\"index\":0}"},
		{func(p func(...any)) widget.Widget {
			w := widget.ToggleButtons("which", options, "a")
			w.OnChange(func(v string) { p(fmt.Sprintf("%q %d", v, w.Index())) })
			return w
		}, "index", nil, `"" -1`, nil, `comm_msg echo_update {"index":null}`},
		{func(p func(...any)) widget.Widget {
			w := widget.Play("k", 0, 9, 0)
			w.OnChange(func(v int) { p(v) })
			return w
		}, "playing", true, "", true, `comm_msg echo_update {"playing":true}`},
		{func(p func(...any)) widget.Widget {
			w := widget.Tab([]string{"x", "y"}, widget.HTML("x"), widget.HTML("y"))
			w.OnChange(func(i int) { p(i, w.Selected()) })
			return w
		}, "selected_index", 1, "1 1", 1., `comm_msg echo_update {"selected_index":1}`},
		{func(p func(...any)) widget.Widget { // pages cannot change it
			return widget.VBox(widget.HTML("x"))
		}, "children", []any{}, "", nil, ""},
		{func(p func(...any)) widget.Widget {
			return widget.Checkbox("x", true)
		}, "_model_name", "Evil", "", "CheckboxModel", ""},
		{func(p func(...any)) widget.Widget {
			return widget.Checkbox("x", true)
		}, "unheard of", 1, "", nil, ""},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprint(tt.key, tt.given), func(t *testing.T) {
			p, s := widgettest.NewPage(t)
			var called string
			var id string
			s.Cell(func() {
				b := tt.widget(func(v ...any) { called = strings.TrimSpace(fmt.Sprintln(v...)) }).MimeBundle()
				id = b["application/vnd.jupyter.widget-view+json"].(map[string]any)["model_id"].(string)
			})
			p.Sent()
			p.Send(t.Context(), id, widgettest.Update(tt.key, tt.given), false)
			if called != tt.called {
				t.Errorf("the function is given %q, want %q", called, tt.called)
			}
			if got := messages(p.Sent()); got != tt.sent {
				t.Errorf("the kernel sends\n%s\nwant\n%s", got, tt.sent)
			}
			p.Send(t.Context(), id, map[string]any{"method": "request_state"}, false)
			state := p.Sent()[0].Data.(map[string]any)["state"].(map[string]any)
			if got := state[tt.key]; tt.kept != nil && !reflect.DeepEqual(got, tt.kept) {
				t.Errorf("the kernel has %v, want %v", got, tt.kept)
			}
		})
	}
}

// TestValueFromCell sets values in the kernel: pages are told once, and
// functions are called only if the value changes.
func TestValueFromCell(t *testing.T) {
	p, s := widgettest.NewPage(t)
	s.Cell(func() {
		k := widget.IntSlider("k", 1, 20, 5)
		text := widget.HTML("")
		k.OnChange(func(v int) { text.Set(fmt.Sprint("<b>", v, "</b>")) })
		widget.HBox(k, text).Show()
		p.Sent()
		k.Set(9)
		k.Set(9)
		k.Set(99)
		k.SetRange(0, 10)
		k.SetEnabled(false)
		k.SetName("n")
		k.SetAttribute("tooltip", "how many")
		k.SetLayout("width", "50%")
		k.SetStyle("handle_color", "red")
	})
	want := `comm_msg update {"value":9}
comm_msg update {"value":"\u003cb\u003e9\u003c/b\u003e"}
comm_msg update {"value":20}
comm_msg update {"value":"\u003cb\u003e20\u003c/b\u003e"}
comm_msg update {"max":10,"min":0,"value":10}
comm_msg update {"value":"\u003cb\u003e10\u003c/b\u003e"}
comm_msg update {"disabled":true}
comm_msg update {"description":"n"}
comm_msg update {"tooltip":"how many"}
comm_msg update {"width":"50%"}
comm_msg update {"handle_color":"red"}`
	if got := messages(p.Sent()); got != want {
		t.Errorf("the kernel sends\n%s\nwant\n%s", got, want)
	}
}

// TestReload requests all states, as a page does when it is loaded again.
func TestReload(t *testing.T) {
	p, s := widgettest.NewPage(t)
	s.Cell(func() {
		widget.Interact(func(k int) { fmt.Print() }, widget.IntSlider("k", 1, 20, 5))
	})
	p.Set("IntSliderModel", "value", 7)
	p.Sent()
	open := engine.CommMessage{Type: "comm_open", ID: "page", Target: "jupyter.widget.control", Data: map[string]any{}}
	if err := s.Comm(t.Context(), open, p); err != nil {
		t.Fatal(err)
	}
	p.Send(t.Context(), "page", map[string]any{"method": "request_states"}, false)
	sent := p.Sent()
	if len(sent) != 1 || sent[0].ID != "page" {
		t.Fatalf("the kernel sends %v", sent)
	}
	data := sent[0].Data.(map[string]any)
	states := data["states"].(map[string]any)
	var got []string
	for id, x := range states {
		m := x.(map[string]any)
		state := m["state"].(map[string]any)
		line := fmt.Sprint(m["model_name"], " ", m["model_module"], " ", m["model_module_version"])
		if m["model_name"] == "IntSliderModel" {
			line += fmt.Sprint(" ", state["value"])
		}
		for _, v := range state {
			if ref, ok := v.(string); ok && strings.HasPrefix(ref, "IPY_MODEL_") && states[strings.TrimPrefix(ref, "IPY_MODEL_")] == nil {
				t.Errorf("%s refers to %s, which is missing", id, ref)
			}
		}
		got = append(got, line)
	}
	slices.Sort(got)
	want := []string{
		"IntSliderModel @jupyter-widgets/controls 2.0.0 7",
		"LayoutModel @jupyter-widgets/base 2.0.0", "LayoutModel @jupyter-widgets/base 2.0.0", "LayoutModel @jupyter-widgets/base 2.0.0",
		"OutputModel @jupyter-widgets/output 1.0.0",
		"SliderStyleModel @jupyter-widgets/controls 2.0.0",
		"VBoxModel @jupyter-widgets/controls 2.0.0",
	}
	if !slices.Equal(got, want) || data["method"] != "update_states" || data["buffer_paths"] == nil {
		t.Errorf("%v: the states are %q\nwant %q", data["method"], got, want)
	}
	// A closed model is no longer sent, and messages to it are ignored.
	id, _ := p.Model("IntSliderModel")
	if err := s.Comm(t.Context(), engine.CommMessage{Type: "comm_close", ID: id}, p); err != nil {
		t.Error(err)
	}
	p.Send(t.Context(), id, widgettest.Update("value", 3), false)
	p.Send(t.Context(), "page", map[string]any{"method": "request_states"}, false)
	if sent := p.Sent(); len(sent) != 1 || len(sent[0].Data.(map[string]any)["states"].(map[string]any)) != 6 {
		t.Errorf("after a comm_close the kernel sends %s", messages(sent))
	}
	if err := s.Comm(t.Context(), engine.CommMessage{Type: "comm_open", ID: "x", Target: "jupyter.widget"}, p); err == nil {
		t.Error("a page may open a widget of its own")
	}
}

// TestCoalesce sends values of two sliders faster than the function can draw
// them.
func TestCoalesce(t *testing.T) {
	p, s := widgettest.NewPage(t)
	var drawn []string
	s.Cell(func() {
		a, b := widget.IntSlider("a", 0, 99, 0), widget.FloatSlider("b", 0, 99, 0)
		button := widget.Button("go")
		button.OnClick(func() { drawn = append(drawn, fmt.Sprint("click at ", a.Value())) })
		widget.Interact(func(a int, b float64) { drawn = append(drawn, fmt.Sprint(a, b)) }, a, b)
		button.Show()
	})
	a, _ := p.Model("IntSliderModel")
	b, _ := p.Model("FloatSliderModel")
	button, _ := p.Model("ButtonModel")
	drawn, click := nil, map[string]any{"method": "custom", "content": map[string]any{"event": "click"}}
	p.Sent()
	for i := 1; i <= 30; i++ {
		p.Send(t.Context(), a, widgettest.Update("value", i), true)
		p.Send(t.Context(), b, widgettest.Update("value", i), i < 30)
	}
	if want := []string{"30 30"}; !slices.Equal(drawn, want) {
		t.Errorf("60 values at once draw %q, want %q", drawn, want)
	}
	if n := strings.Count(messages(p.Sent()), "echo_update"); n != 60 {
		t.Errorf("%d of 60 values are echoed", n)
	}
	// A button press sees the values sent before it, and none of those sent
	// after it.
	drawn = nil
	p.Send(t.Context(), a, widgettest.Update("value", 40), true)
	p.Send(t.Context(), button, click, true)
	p.Send(t.Context(), a, widgettest.Update("value", 41), true)
	p.Send(t.Context(), button, click, false)
	if want := []string{"40 30", "click at 40", "41 30", "click at 41"}; !slices.Equal(drawn, want) {
		t.Errorf("presses between values draw %q, want %q", drawn, want)
	}
}

func TestOutput(t *testing.T) {
	p, s := widgettest.NewPage(t)
	var out *widget.Area
	s.Cell(func() {
		out = widget.Output()
		out.Show()
		button := widget.Button("fail")
		out.Run(func() { button.OnClick(func() { panic("on purpose") }) })
		button.Show()
	})
	p.Click()
	if got, want := p.Area(), "error: panic: on purpose\npanic: on purpose"; got != want {
		t.Errorf("the area shows %q, want %q", got, want)
	}
	s.Cell(func() { out.Clear(false) })
	widgettest.Eventually(t, "an empty area", func() bool { return p.Area() == "" })
}

// TestReplace checks that an output area shows only what the last call printed.
func TestReplace(t *testing.T) {
	p, s := widgettest.NewPage(t)
	s.Cell(func() {
		widget.Interact(func(k int) {
			switch k {
			case 1:
				s.Print("one")
			case 2:
				s.Print(strings.Repeat("x", 3<<20))
				s.Print("the end")
			}
		}, widget.IntSlider("k", 0, 9, 1))
	})
	if got := p.Area(); got != "stdout: one" {
		t.Errorf("the area shows %q", got)
	}
	p.Set("IntSliderModel", "value", 0) // prints nothing
	widgettest.Eventually(t, "an empty area", func() bool { return p.Area() == "" })
	p.Set("IntSliderModel", "value", 2)
	if got := p.Area(); len(got) > 2<<20+200 || !strings.HasSuffix(got, "shows 2 MiB of text; the rest is left out\n") {
		t.Errorf("of 3 MiB the area shows %d bytes, ending in %q", len(got), got[max(0, len(got)-80):])
	}
	p.Set("IntSliderModel", "value", 1)
	if got := p.Area(); got != "stdout: one" {
		t.Errorf("after much text the area shows %.80q", got)
	}
}

// TestPicture checks that a widget with a figure is a picture where widgets are
// not shown, as in a notebook that is not trusted.
func TestPicture(t *testing.T) {
	p, s := widgettest.NewPage(t)
	s.Cell(func() {
		widget.Interact(func(k int) *plot.Plot { return plot.New() }, widget.IntSlider("k", 1, 20, 5))
	})
	html, _ := p.Shown()[0]["text/html"].(string)
	if !regexp.MustCompile(`^<img src="data:image/png;base64,iVBOR[A-Za-z0-9+/=]+" width="[1-9][0-9]+"><pre>IntSlider k: 5\n&lt;figure&gt;\n\(to see`).MatchString(html) {
		t.Errorf("it is shown as %.80q ... %.200q", html, html[strings.LastIndex(html, "\"")+1:])
	}
}

// TestOtherPage presses a button on a page that has not run the button's cell:
// the printed text goes to that page.
func TestOtherPage(t *testing.T) {
	p, s := widgettest.NewPage(t)
	p.ID = "first"
	s.Cell(func() {
		button := widget.Button("go")
		button.OnClick(func() { p.Kernel.(*widgettest.Session).Print("pressed") })
		button.Show()
	})
	p.Click()
	if got := p.Printed(); got != "pressed" {
		t.Errorf("the page has %q", got)
	}
	other, _ := widgettest.NewPage(t)
	other.ID = "second"
	id, _ := p.Model("ButtonModel")
	click := map[string]any{"method": "custom", "content": map[string]any{"event": "click"}}
	if err := s.Comm(t.Context(), engine.CommMessage{Type: "comm_msg", ID: id, Data: click}, other); err != nil {
		t.Fatal(err)
	}
	if got, there := p.Printed(), other.Printed(); got != "" || there != "pressed" {
		t.Errorf("the page that ran the cell has %q, that which pressed %q", got, there)
	}
}

func TestMisuse(t *testing.T) {
	k := widget.IntSlider("k", 1, 20, 5)
	tests := map[string]func(){
		"want the lower bound first":          func() { widget.IntSlider("k", 20, 1, 5) },
		"is not a finite number":              func() { widget.FloatSlider("x", 0, math.Inf(1), 5) },
		"want one above 0":                    func() { widget.FloatLogSlider("x", 0, 1, 1) },
		`"d" is not among the options`:        func() { widget.Dropdown("x", []string{"a"}, "d") },
		"2 titles for 1 widgets":              func() { widget.Tab([]string{"a", "b"}, k) },
		"0 columns":                           func() { widget.GridBox(0, k) },
		"want a function":                     func() { widget.Interact(3, k) },
		"one parameter for each of the 1":     func() { widget.Interact(func(a, b int) {}, k) },
		"parameter 1 of the function is bool": func() { widget.Interact(func(bool) {}, k) },
		"values of different kinds":           func() { widget.Link(k, widget.Checkbox("x", true)) },
		`"min" cannot be "a"`:                 func() { k.SetAttribute("min", "a") },
		`"children" cannot be set`:            func() { k.SetAttribute("children", nil) },
		"a box cannot hold itself": func() {
			inner := widget.VBox(k)
			inner.SetChildren(k, widget.HBox(widget.VBox(inner)))
		},
		"has no style":                     func() { widget.VBox(k).SetStyle("a", "b") },
		"made by the function of its name": func() { new(widget.Int).Value() },
	}
	for want, f := range tests {
		func() {
			defer func() {
				if got := fmt.Sprint(recover()); !strings.Contains(got, want) {
					t.Errorf("the panic says %q, want %q", got, want)
				}
			}()
			f()
		}()
	}
}

// TestArguments calls functions with arguments of all kinds of controls.
func TestArguments(t *testing.T) {
	type size uint8
	p, s := widgettest.NewPage(t)
	var got []any
	s.Cell(func() {
		widget.Interact(func(a int, b float64, c size, d float32, e [2]int, f [2]float64, g string, h bool, i string, j int, k any) (string, error) {
			got = []any{a, b, c, d, e, f, g, h, i, j, k}
			return "shown", nil
		}, widget.IntText("", 1), widget.IntText("", 2), widget.Play("", 0, 9, 3), widget.FloatText("", 4.5),
			widget.IntRangeSlider("", 0, 9, 5, 6), widget.FloatRangeSlider("", 0, 9, 5, 6.5), widget.Text("", "t"), widget.ToggleButton("", true),
			widget.Dropdown("", []string{"x", "y"}, "y"), widget.RadioButtons("", []string{"x", "y"}, "y"), widget.FloatSlider("", 0, 1, 1))
	})
	want := []any{1, 2., size(3), float32(4.5), [2]int{5, 6}, [2]float64{5, 6.5}, "t", true, "y", 1, 1.}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("the function is given %#v, want %#v", got, want)
	}
	if got := p.Area(); got != `display: "shown"` {
		t.Errorf("its result is shown as %s", got)
	}
}

func TestReadout(t *testing.T) {
	for _, tt := range []struct {
		least, greatest float64
		step            any
		format          string
	}{
		{0, 1, 0.01, ".2f"}, {0, 10, 0.1, ".1f"}, {-500, 500, 10., ".0f"}, {0, 1e-4, 1e-6, ".6f"}, {0, 1e-9, 1e-11, ".3e"}, {0, 3, 0.05, ".2f"}, {5, 5, 1., ".0f"},
	} {
		p, s := widgettest.NewPage(t)
		s.Cell(func() { widget.FloatSlider("x", tt.least, tt.greatest, tt.least).Show() })
		if _, m := p.Model("FloatSliderModel"); m["step"] != tt.step || m["readout_format"] != tt.format {
			t.Errorf("%v to %v: steps of %v shown by %v, want %v by %v", tt.least, tt.greatest, m["step"], m["readout_format"], tt.step, tt.format)
		}
	}
}

// FuzzFromPage sends arbitrary messages from a page and checks that the values
// keep their types and bounds.
func FuzzFromPage(f *testing.F) {
	for _, seed := range []string{
		`{"method":"update","state":{"value":7}}`, `{"method":"update","state":{"value":[1,2],"index":1}}`, `{"method":"update","state":{"value":null,"index":-1,"selected_index":9}}`,
		`{"method":"update","state":{"min":"x","layout":"IPY_MODEL_x","value":1e999}}`, `{"method":"custom","content":3}`, `{"method":"request_state"}`, `[]`, `null`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var data any
		if json.Unmarshal(b, &data) != nil {
			t.Skip()
		}
		p, s := widgettest.NewPage(t)
		i, x, r := widget.IntSlider("", 0, 9, 1), widget.FloatText("", 1), widget.IntRangeSlider("", 0, 9, 1, 2)
		c, b2, tab := widget.Dropdown("", []string{"a", "b"}, "a"), widget.Checkbox("", true), widget.Tab([]string{"x"}, widget.HTML("x"))
		s.Cell(func() { widget.VBox(i, x, r, c, b2, tab, widget.Output()).Show() })
		ids := map[string]bool{}
		for _, m := range p.Sent() {
			ids[m.ID] = true
		}
		for _, id := range slices.Sorted(maps.Keys(ids)) {
			if err := s.Comm(t.Context(), engine.CommMessage{Type: "comm_msg", ID: id, Data: data}, p); err != nil {
				t.Error(err)
			}
		}
		lower, upper := r.Value()
		if v := i.Value(); v < 0 || v > 9 || lower < 0 || upper > 9 || lower > upper || c.Index() > 1 || tab.Selected() > 0 {
			t.Errorf("%d, %d to %d, %d, %d", v, lower, upper, c.Index(), tab.Selected())
		}
		if v := x.Value(); v != v || math.IsInf(v, 0) {
			t.Error(v)
		}
		b2.Value()
	})
}
