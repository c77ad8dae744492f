package widget_test

import (
	"fmt"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"dace.local/dacelib/frame"
	"dace.local/kernel/display"
	"dace.local/kernel/engine"
	"dace.local/kernel/widget"
	"dace.local/kernel/widget/widgettest"
)

const view = "application/vnd.jupyter.widget-view+json"

type row struct {
	Name string
	N    int
	X    float64
}

func rows(n int) []row {
	list := make([]row, n)
	for i := range list {
		list[i] = row{fmt.Sprintf("row %d", i), i * 7919 % n, float64(i) / 4}
	}
	return list
}

var firstCells = regexp.MustCompile(`<tr><td>(.*?)</td>`)

// names returns the first column of the page's table.
func names(p *widgettest.Page) []string {
	_, state := p.Model("HTMLModel")
	var list []string
	for _, m := range firstCells.FindAllStringSubmatch(fmt.Sprint(state["value"]), -1) {
		list = append(list, m[1])
	}
	return list
}

// TestTable scrolls, sorts and filters a long table, and shows all of it.
func TestTable(t *testing.T) {
	p, s := widgettest.NewPage(t)
	s.Cell(func() { display.Show(rows(300)) })
	if b := p.Shown()[0]; b[view] != nil || len(p.Sent()) > 0 {
		t.Error("a page without a widget manager gets a widget")
	}
	p.Manage()
	s.Cell(func() { display.Show(rows(20), rows(300)) })
	shown := p.Shown()
	if shown[0][view] != nil || shown[1][view] == nil {
		t.Fatalf("views: %v of 20 rows, %v of 300", shown[0][view], shown[1][view])
	}
	static := fmt.Sprint(shown[1]["text/html"])
	if !strings.Contains(static, "<table") || !strings.Contains(static, "300 rows") || strings.Contains(static, "<script") || !strings.Contains(fmt.Sprint(shown[1]["text/plain"]), "row 299") {
		t.Errorf("without a manager: %v", shown[1])
	}
	if got := names(p); len(got) != 100 || got[0] != "row 0" {
		t.Errorf("at first: %d rows, %q", len(got), got[0])
	}
	p.Set("IntSliderModel", "value", 251)
	if got := names(p); len(got) != 50 || got[0] != "row 250" {
		t.Errorf("from row 251: %d rows, %q", len(got), got)
	}
	dropdown := func(with string, i int) {
		t.Helper()
		for id, labels := range p.All("DropdownModel", "_options_labels") {
			if strings.Contains(labels, with) {
				p.Send(t.Context(), id, widgettest.Update("index", i), false)
			}
		}
	}
	dropdown("all rows", 2)
	if got := names(p); len(got) != 300 {
		t.Errorf("all are %d rows", len(got))
	}
	dropdown("N ▲", 4) // N, from the greatest
	want := rows(300)
	if got := names(p); want[atoi(got[0])].N != 299 || want[atoi(got[299])].N != 0 {
		t.Errorf("sorted: %q to %q", got[0], got[299])
	}
	for filter, count := range map[string]int{"": 300, "ROW 29": 11 + 2, `"row 29"`: 11, "N < 10": 10, "N<10 n>=5": 5, "x = 2.5": 1, "name=row": 0, "zzz": 0, "X >= 74.75": 1, "N != 3": 299, "row X>70 N<100": -1} {
		p.Set("TextModel", "value", filter)
		got := len(names(p))
		switch {
		case count < 0 && (got == 0 || got > 100), count >= 0 && filter != "ROW 29" && got != count:
			t.Errorf("%q leaves %d rows, want %d", filter, got, count)
		}
	}
	p.Set("TextModel", "value", "zzz")
	if _, state := p.Model("HTMLModel"); !strings.Contains(fmt.Sprint(state["value"]), "none of 300 rows") {
		t.Errorf("nothing is found: %v", state["value"])
	}
}

func atoi(name string) (i int) {
	_, _ = fmt.Sscanf(name, "row %d", &i)
	return i
}

// TestTableKinds makes views of every kind of table, and none inside of an output widget.
func TestTableKinds(t *testing.T) {
	m := map[string]row{}
	for i, r := range rows(40) {
		m[fmt.Sprintf("k%02d", i)] = r
	}
	lists := make([][]float64, 30)
	for i := range lists {
		lists[i] = []float64{float64(i), 1}
	}
	column := make([]float64, 30)
	texts := make([][]string, 30)
	for i := range texts {
		column[i], texts[i] = float64(-i), []string{fmt.Sprint(i), "<b>$x$"}
	}
	for name, v := range map[string]any{"map": m, "lists": lists, "frame": frame.Frame{}.With("x", column), "grid": display.NewTable([]string{"n", "t"}, texts)} {
		p, s := widgettest.NewPage(t)
		p.Manage()
		s.Cell(func() { display.Show(v) })
		if p.Shown()[0][view] == nil || len(p.Values("HTMLModel", "value")) != 1 {
			t.Errorf("%s has no view", name)
			continue
		}
		if page := p.Values("HTMLModel", "value")[0]; strings.Contains(page, "<b>") || strings.Count(page, "<tr>") < 30 {
			t.Errorf("%s: %s", name, page)
		}
	}
}

type linked struct {
	N    int
	Next *linked
	Long []float64
}

// TestUnfold opens a value as deep as it goes.
func TestUnfold(t *testing.T) {
	const depth = 90
	var list *linked
	for i := range depth {
		list = &linked{depth - i, list, make([]float64, 1500)}
	}
	p, s := widgettest.NewPage(t)
	p.Manage()
	s.Cell(func() { display.Show(list) })
	if p.Shown()[0][view] == nil {
		t.Fatal("there is no view")
	}
	opened := 1
	for p.Press("▸ Next") {
		opened++
	}
	if opened < depth-1 {
		t.Errorf("%d levels of %d", opened, depth)
	}
	if texts := strings.Join(p.Values("HTMLModel", "value"), "\n"); !strings.Contains(texts, "N: 90") || strings.Contains(texts, "<script") {
		t.Errorf("the last level is not there: %.300s", texts)
	}
	if !p.Press("▸ Long") || !p.Press("… 1400 more") || !p.Press("… 400 more") || p.Press("… ") {
		t.Error("the numbers do not go on to the end")
	}
	if texts := strings.Join(p.Values("HTMLModel", "value"), "\n"); !strings.Contains(texts, "1100…1499") {
		t.Error("the last numbers are not there")
	}
	// A complete tree needs no kernel.
	s.Cell(func() { display.Show(map[string][]string{"a": {strings.Repeat("x", 90)}}) })
	if b := p.Shown()[0]; b[view] != nil || !strings.Contains(fmt.Sprint(b["text/html"]), "<details") {
		t.Errorf("a tree that is complete: %v", b)
	}
}

// TestViewsEnd closes the views of a cell that runs again, lets the oldest go of their
// values, and makes few in one cell.
func TestViewsEnd(t *testing.T) {
	p, s := widgettest.NewPage(t)
	p.Manage()
	run := func(id string) { s.CellAs(&engine.Cell{ID: id}, func() { display.Show(rows(50)) }) }
	run("a")
	first := reflect.ValueOf(p.Values("HTMLModel", "value")).Len()
	run("a")
	if got := len(p.Values("HTMLModel", "value")); got != first || len(p.Values("LayoutModel", "_model_name")) > 10 {
		t.Errorf("%d tables after the cell ran again, with %d layouts", got, len(p.Values("LayoutModel", "_model_name")))
	}
	for i := range 40 {
		run(fmt.Sprint(i))
	}
	oldest := 0
	for id := range p.All("TextModel", "value") {
		p.Send(t.Context(), id, widgettest.Update("value", "row 1"), false)
	}
	for _, page := range p.Values("HTMLModel", "value") {
		if strings.Contains(page, "run the cell again") {
			oldest++
		}
	}
	if oldest == 0 {
		t.Error("no view has let go of its value")
	}
	p.Shown()
	s.CellAs(&engine.Cell{ID: "loop"}, func() {
		for range 30 {
			display.Show(rows(50))
		}
	})
	views := 0
	for _, b := range p.Shown() {
		if b[view] != nil {
			views++
		}
	}
	if views == 0 || views > 10 {
		t.Errorf("a loop made %d views", views)
	}
}

// TestFollow keeps the texts that stand for widgets up to date, on a page that has no
// widget manager.
func TestFollow(t *testing.T) {
	p, s := widgettest.NewPage(t)
	var k *widget.Int
	var area *widget.Area
	s.Cell(func() {
		k, area = widget.IntSlider("k", 0, 9, 5), widget.Output()
		if b := display.Result([]any{widget.VBox(k, area)}, false); !b.Empty() {
			t.Errorf("the value is shown twice: %v", b)
		}
	})
	first := p.Shown()
	if len(first) != 1 || !strings.Contains(fmt.Sprint(first[0]["text/plain"]), "k: 5") || first[0][view] == nil {
		t.Fatalf("shown: %v", first)
	}
	s.Refresh()
	if len(p.Updated()) > 0 {
		t.Error("what has not changed is shown again")
	}
	s.Cell(func() {
		k.Set(7)
		area.Run(func() { s.Print("done") })
	})
	s.Refresh()
	updates := p.Updated()
	if len(updates) != 1 || !strings.Contains(fmt.Sprint(updates[0]["text/plain"]), "k: 7\ndone") || updates[0][view] == nil {
		t.Errorf("updated: %v", updates)
	}
	p.Manage()
	s.Cell(func() {
		k.Set(8)
		if display.Result([]any{k}, false).Empty() {
			t.Error("a page with a manager shows no value")
		}
	})
	if s.Refresh(); len(p.Updated()) > 0 {
		t.Error("a page with a manager is updated")
	}
}
