package notebook

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func percent(t *testing.T, nb *Notebook) string {
	t.Helper()
	var b bytes.Buffer
	if err := WritePercent(&b, nb); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func fromPercent(t *testing.T, text string) *Notebook {
	t.Helper()
	nb, err := ReadPercent([]byte(text))
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	return nb
}

// The text of a notebook is the notebook without its outputs, and with them it is
// the notebook itself.
func TestPercentOfNotebooks(t *testing.T) {
	files, err := filepath.Glob("../../notebooks/*.ipynb")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		nb, err := Read(data)
		if err != nil {
			t.Fatal(err)
		}
		text := percent(t, nb)
		back := fromPercent(t, text)
		if again := percent(t, back); again != text {
			t.Errorf("%s: the text differs after a round trip", file)
		}
		back.Complete(nb)
		if written(t, back) != string(data) {
			t.Errorf("%s: the notebook differs after a round trip", file)
		}
		for _, c := range nb.Cells {
			c.Outputs, c.Count = nil, 0
			delete(c.Metadata, "execution")
		}
		if written(t, fromPercent(t, text)) != written(t, nb) {
			t.Errorf("%s: the notebook without its outputs differs after a round trip", file)
		}
	}
}

// Cells whose texts are easily lost.
func TestPercentSources(t *testing.T) {
	sources := []string{
		"", "\n", "\n\n", "x", "x\n", "\nx\n\n", " x ", "// %%", "// %% a cell?", "//%%", "// // %%", "%%", "%% -x=1", "%%bash\nls", "%time f()", "// %time", "//%time",
		"!ls", "// !ls", "!*go version", "//gonb:%%", "// //gonb:%% x", "s := `\n// %% not a cell\n%d\n!x\n`\n!ls", "s := `never closed", "/* open\n%d", "x := \"`\"\n%time x",
		"a := '`'\n!ls", "// ---\n// jupyter:\n// ---", "%%%x", "// %%% x", "x\r", "é\u2028x", "  %time x", "//   %% x", "  %% x", "//\t%% x", "s := `\n// // %% x\n`",
	}
	for _, kind := range []string{Code, Markdown, Raw} {
		nb := &Notebook{Metadata: map[string]any{"x y": "1.3", "a": map[string]any{"b": []any{"c", nil, true}, "d": map[string]any{}, "yes": "no"}}, Minor: 5}
		for i, s := range sources {
			nb.Cells = append(nb.Cells, &Cell{Type: kind, Source: s, Metadata: map[string]any{}, ID: makeID(i, i%2, s)})
		}
		nb.Cells[3].Metadata = map[string]any{"tags": []any{"a b", "[markdown]"}, "title": "A title"}
		nb.Cells[4].Metadata = map[string]any{"no name": "x=1", "title": "x=1 [raw]"}
		nb.Cells[5].Metadata = map[string]any{"title": "  "}
		text := percent(t, nb)
		back := fromPercent(t, text)
		if len(back.Cells) != len(nb.Cells) {
			t.Fatalf("%s: %d cells of %d come back:\n%s", kind, len(back.Cells), len(nb.Cells), text)
		}
		for i, c := range back.Cells {
			if c.Source != nb.Cells[i].Source || c.Type != kind || c.ID != nb.Cells[i].ID {
				t.Errorf("%s: %q comes back as %q", kind, nb.Cells[i].Source, c.Source)
			}
		}
		if written(t, back) != written(t, nb) {
			t.Errorf("%s: want\n%s\ngot\n%s", kind, written(t, nb), written(t, back))
		}
	}
}

// Texts as Jupytext and people write them.
func TestPercentTexts(t *testing.T) {
	jupytext := `// ---
// jupyter:
//   jupytext:
//     text_representation:
//       extension: .go
//       format_name: percent
//       format_version: '1.3'
//       jupytext_version: 1.16.4
//   kernelspec:
//     display_name: Go (gonb)
//     language: go
//     name: gonb
// ---

// %% [markdown]
// # Title
//
// text

// %% tags=["parameters"]
x := 1
// !ls

//gonb:%%
x
`
	nb := fromPercent(t, jupytext)
	if len(nb.Cells) != 2 || nb.Cells[0].Source != "# Title\n\ntext" || nb.Cells[1].Source != "x := 1\n!ls\n\n%%\nx" || !nb.Cells[1].HasTag("parameters") ||
		textAt(nb.Metadata, "kernelspec", "name") != "gonb" || nb.Metadata["jupytext"] != nil {
		t.Errorf("%v: %s", nb.Metadata, written(t, nb))
	}
	for _, text := range []string{
		"// %%\nx := 1\n// %% [markdown]\n// a\n\n\n// %%\nx\n", "// %% Load data\nx\n\n\n// %%\n", "// %% [markdown] a=1\n// a\n\n// %% {\"b c\": 1}\nx\n",
	} {
		if got := percent(t, fromPercent(t, text)); got != text {
			t.Errorf("%q comes back as %q", text, got)
		}
	}
	for text, want := range map[string]string{
		"// ---\n// jupyter:\n": "line 3: the header that begins in line 1", "// ---\n// a: |\n//   x\n// ---\n": "line 2: in the header, YAML beyond",
		"// ---\n// a: [1\n// ---\n": "line 2: in the header, a value",
	} {
		if _, err := ReadPercent([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}
