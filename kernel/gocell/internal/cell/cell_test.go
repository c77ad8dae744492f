package cell

import (
	"strings"
	"testing"
)

func TestSplit(t *testing.T) {
	const text = "import \"fmt\"\nfunc f(x int) (int, error) { return x, nil }\nfunc (r T) m() {}\ntype T int; x := 1; for i := 0; ; i++ { }\nfunc() {}()\nfunc (x int) int { return x }(2)\nvar é = \"a;b\" /* ; */\n"
	list, open, err := Tokens(text)
	if err != nil || len(open) > 0 {
		t.Fatal(open, err)
	}
	var got []string
	parts := Split(list, len(text))
	for _, p := range parts {
		got = append(got, string("IDS"[p.Kind])+" "+strings.TrimSpace(text[p.Start:p.End]))
	}
	want := []string{`I import "fmt"`, "D func f(x int) (int, error) { return x, nil }", "D func (r T) m() {}", "D type T int", "S x := 1", "S for i := 0", "S i++ { }", // statements are parsed together
		"S func() {}()", "S func (x int) int { return x }(2)", `S var é = "a;b" /* ; */`}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("%s", strings.Join(got, "\n"))
	}
	// What is left out keeps its place.
	blank, without := Blank(text, parts[2:4]), Without(text, parts[:4])
	if len(blank) != len(text) || len(without) != len(text) || strings.Count(blank, "\n") != strings.Count(text, "\n") {
		t.Errorf("%q\n%q", blank, without)
	}
	if i := strings.Index(text, "type T"); strings.TrimSpace(blank[:i]) != "func (r T) m() {}" || strings.TrimSpace(blank[i:]) != "type T int;" {
		t.Errorf("%q", blank)
	}
	if !strings.HasPrefix(strings.TrimSpace(without), "x := 1; for i := 0; ; i++") {
		t.Errorf("%q", without)
	}
	if line, col := LineCol(text, strings.Index(text, "x := 1")); line != 4 || col != 13 {
		t.Errorf("%d:%d", line, col)
	}
}

func FuzzSplit(f *testing.F) {
	for _, text := range []string{"x := 1; y", "func (", "})]", "\"", "import (", "/*", "a\n\nb;;"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		list, _, _ := Tokens(text)
		end := 0
		for _, p := range Split(list, len(text)) {
			if p.Start < end || p.End < p.Start || p.End > len(text) || len(p.Tokens) == 0 {
				t.Fatalf("%q: part %d to %d after %d", text, p.Start, p.End, end)
			}
			end = p.End
		}
		if trimmed := Trim(text); !strings.Contains(text, trimmed) {
			t.Fatalf("%q is not in %q", trimmed, text)
		}
	})
}

func TestTrim(t *testing.T) {
	for text, want := range map[string]string{"": "", " // only\n": "", "\n/* a */ x + 1 // b\n\n": "x + 1", "f(\n)\n": "f(\n)"} {
		if got := Trim(text); got != want {
			t.Errorf("%q: %q", text, got)
		}
	}
	_, open, err := Tokens("f([]int{1")
	if len(open) != 2 || err != nil {
		t.Error(open, err)
	}
	if _, _, err := Tokens("x := \"a\n"); err == nil {
		t.Error("a string without its end is no error")
	}
}

// A file's name leads to its cell, and to what the user calls it.
func TestNames(t *testing.T) {
	if n, ok := Number(FileName(3)); n != 3 || !ok || Name(FileName(3)) != "In[3]" {
		t.Error(n, ok, Name(FileName(3)))
	}
	for _, name := range []string{"", "In[", "In[x]/_.go", "a.go"} {
		if n, ok := Number(name); ok {
			t.Errorf("%q is of cell %d", name, n)
		}
	}
	if got := Places("declared at In[12]/_.go:2:8 and In[3]/_.go:1:1"); got != "declared at In[12]:2:8 and In[3]:1:1" {
		t.Error(got)
	}
	n := NewFile("setup.go")
	if n >= 0 || Name(FileName(n)) != "setup.go" || Places(FileName(n)+":1") != "setup.go:1" || NewFile("setup.go") == n {
		t.Errorf("%d %q", n, Name(FileName(n)))
	}
}

func TestClean(t *testing.T) {
	Show(Mark+"m7_Max", "stats.Max")
	for text, want := range map[string]string{
		"undefined: " + Mark + "m7_Max":      "undefined: stats.Max",
		Mark + "old_x is not used":           "x is not used",
		"missing method " + ExportMark + "f": "missing method f",
		"no mark":                            "no mark",
	} {
		if got := Clean(text); got != want {
			t.Errorf("%q: %q", text, got)
		}
	}
	if got := Alias("gonum.org/v1/my-plot"); got != Mark+"gonum_org_v1_my_plot" {
		t.Error(got)
	}
}
