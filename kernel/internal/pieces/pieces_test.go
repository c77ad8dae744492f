package pieces

import (
	"slices"
	"testing"
)

func TestSplit(t *testing.T) {
	for text, want := range map[string][]string{
		"":                                      nil,
		"// nothing\n;;\n":                      nil,
		"x := 1; y := 2":                        {"x := 1", "y := 2"},
		"import \"fmt\"\nfunc f() {\n}\nf()":    {"import \"fmt\"", "func f() {\n}", "f()"},
		"func() { f() }()":                      {"func() { f() }()"},
		"func (t *T) M(int) {}\nvar x = 1":      {"func (t *T) M(int) {}", "var x = 1"},
		"for i := 0; i < 3; i++ {\n}\ng()":      {"for i := 0; i < 3; i++ {\n}", "g()"},
		"if x := f(); x {\n} else {\n}":         {"if x := f(); x {\n} else {\n}"},
		"a.\n\tb().\n\tc()\nx := []int{\n1,\n}": {"a.\n\tb().\n\tc()", "x := []int{\n1,\n}"},
		"type T struct {\n\tA int\n}\nT{1}":     {"type T struct {\n\tA int\n}", "T{1}"},
	} {
		list, err := Split(1, text)
		var got []string
		for _, p := range list {
			got = append(got, p.Text)
		}
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: %q, %v; want %q", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		"x := 1\ny := )":  "In[3]/_.go:2:6",
		"  func 1":        "In[3]/_.go:1:8",
		"x := 1 }":        "In[3]/_.go:2:1", // the parser has read on
		"f()\ng(\"a\nh()": "_.go:2:3",
	} {
		if _, err := Split(3, text); err == nil || len(err.Error()) < len(want) || err.Error()[:len(want)] != want {
			t.Errorf("%q: %v, want an error at %s", text, err, want)
		}
	}
}
