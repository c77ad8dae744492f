package gocell_test

import (
	"os"
	"regexp"
	"testing"

	"dace.local/kernel/gocell"
)

const viewType = "application/vnd.jupyter.widget-view+json"

// TestWidgetReadme runs each cell of kernel/docs/widgets.md with a page that
// checks the messages against the protocol.
func TestWidgetReadme(t *testing.T) {
	text, err := os.ReadFile("../docs/widgets.md")
	if err != nil {
		t.Fatal(err)
	}
	cells := regexp.MustCompile("(?s)```go\n(.*?)```").FindAllSubmatch(text, -1)
	if len(cells) != 6 {
		t.Fatalf("it has %d cells", len(cells))
	}
	for _, cell := range cells {
		p := newWidgetPage(t, gocell.Options{KeepStdio: true})
		p.run(string(cell[1]))
		shown := p.Shown()
		if len(shown) == 0 || shown[0][viewType] == nil {
			t.Errorf("no widget is shown by\n%s", cell[1])
		}
	}
	// Press the button of the second cell.
	p := newWidgetPage(t, gocell.Options{KeepStdio: true})
	p.run(string(cells[1][1]))
	p.Click()
	if _, m := p.Model("HTMLModel"); m["value"] != "pressed <b>1</b> times" {
		t.Errorf("a button shows %v", m["value"])
	}
}
