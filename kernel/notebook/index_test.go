package notebook

import (
	"strings"
	"testing"
)

func TestIndex(t *testing.T) {
	at := func(busy, idle string) map[string]any {
		return map[string]any{"execution": map[string]any{"iopub.status.busy": busy, "iopub.status.idle": idle}}
	}
	nb := &Notebook{Cells: []*Cell{
		{Type: Markdown, Source: "# A & b\n\n| a |\n|---|\n"},
		{Type: Markdown, Source: "## More\n\nWhat it *shows*, <meta http-equiv=\"refresh\"> in\ntwo lines.\n\nAnother."},
		{Type: Code, Source: "1", Count: 1, Metadata: at("2026-01-01T00:00:00.000000Z", "2026-01-01T00:00:03.500000Z")},
		{Type: Code, Source: "2", Count: 2, Metadata: at("2026-01-01T00:00:04Z", "2026-01-01T00:00:05Z"), Outputs: []*Output{{Type: Failure}}},
		{Type: Code, Source: "3"},
		{Type: Code, Source: " "},
	}}
	e := nb.IndexEntry("a b.html")
	if e.Title != "A & b" || !strings.HasPrefix(e.About, "What it shows, ") || !strings.HasSuffix(e.About, "in two lines.") {
		t.Errorf("%+v", e)
	}
	if got, want := e.State(), "2 of 3 cells run, 1 failed, 4 s"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	empty := (&Notebook{}).IndexEntry("x.html")
	if empty.Title != "x" || empty.State() != "0 cells, not run" {
		t.Errorf("%+v %q", empty, empty.State())
	}
	var b strings.Builder
	if err := WriteIndex(&b, []IndexEntry{e, empty}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`<a href="./a%20b.html">A &amp; b</a>`, `<a href="./x.html">x</a>`, "Content-Security-Policy"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in the index", want)
		}
	}
	if strings.Contains(b.String(), "refresh\">") {
		t.Error("HTML of the notebook is in the index")
	}
}
