package check

import (
	"strings"
	"testing"
)

// The text in C is the comment right before the import, in either form, and its first line
// is counted from the cell's.
func TestPreambleBefore(t *testing.T) {
	for _, c := range []struct {
		before, want string
		line         int // 0: any
	}{
		{"", "", 0},
		{"x := 1\n", "", 0},
		{"// a\n\n", "", 0},
		{"// a\n", " a", 1},
		{"//a\n//b\r\n", "a\nb", 1},
		{"x\n// a\n", " a", 2},
		{"\n// a\n", " a", 2},
		{"\nx\n\t// a\n\t// b\n", " a\n b", 3},
		{"/* a\nb */\n", " a\nb ", 1},
		{"x\n\n/*a*/\n", "a", 3},
	} {
		got, line := preambleBefore(c.before+`import "C"`, len(c.before))
		if strings.ReplaceAll(got, "\r", "") != c.want || c.line > 0 && line != c.line {
			t.Errorf("%q: %q in line %d, want %q in line %d", c.before, got, line, c.want, c.line)
		}
	}
}

// A variable is around a literal if a function or block in which that stands declares it;
// those of the cell's outermost statements are not.
func TestEnclosed(t *testing.T) {
	for text, want := range map[string]string{
		"x := 1; _ = #func() int { return x }":                              "",
		"x := #func() int { return 1 }":                                     "",
		"{ x := 1; _ = #func() int { return x } }":                          "x",
		"x := 1; { _ = #func() int { return x } }":                          "",
		"if true { x := 1; _ = #func() int { return x } }":                  "x",
		"for x := range 3 { _ = #func() int { return x } }":                 "x",
		"func f(x int) { _ = #func() int { return x } }":                    "x",
		"{ x := 1; _ = x }; _ = #func() int { return x }":                   "",
		"_ = func(x int) { _ = #func() int { return x } }":                  "x",
		"{ y := 1; _ = y; _ = #func() int { x := 2; return x } }":           "",
		"_ = #func() int { x := 1; _ = func() int { return x }; return x }": "",
	} {
		from := strings.IndexByte(text, '#')
		if got := enclosed(strings.Replace(text, "#", "", 1), from, map[string]bool{"x": true}); got != want {
			t.Errorf("around the literal of %s is %q, want %q", text, got, want)
		}
	}
}
