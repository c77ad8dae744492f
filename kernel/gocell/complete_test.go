package gocell

import (
	"slices"
	"strings"
	"testing"
)

// docCell declares what TestCompletePlaces and TestInspectOwn look at.
const docCell = `// A Point is a place.
type Point struct {
	// X is the abscissa.
	X, Y float64
	name string // on the map
}

// Norm is the length.
// It is never negative.
func (p *Point) Norm() float64 { return math.Hypot(p.X, p.Y) }

// greet says hello.
func greet(who string, times int) (n int, err error) {
	return fmt.Println(who, times)
}

func bare() {}
p := &Point{X: 3, Y: 4}
größe := 5`

func TestCompletePlaces(t *testing.T) {
	s := benchSession(t)
	execute(t, s, 1, docCell)
	all := []string{"Norm", "X", "Y", "name"}
	for _, c := range []struct {
		code string // the cursor is at the |
		want []string
	}{
		{"p.|", all},
		{"func (p *Point) Foo() { p.|", all}, // a method of an earlier cell's type
		{"func (p *Point) Foo() { p.| }\nfunc (p *Point) Bar() {}", all},
		{"func (p Point) Foo() {\n\tfor range 3 {\n\t\tq := p\n\t\tq.N|\n", []string{"Norm"}},
		{"type Own struct{ A int }\nfunc (o Own) F() { o.|", []string{"A", "F"}},
		{"func (o Own) F() { o.| }\ntype Own struct{ A int }", []string{"A", "F"}},
		{"x := \"🎉\"; grö|", []string{"größe"}},
		{"p.N| // 🎉", []string{"Norm"}},
		{"// p.|", nil},
		{"/* p.| */ p.X", nil},
		{"/* p */p.N|", []string{"Norm"}},
		{"x := 1.|", nil},
		{"?fmt.Printl|", []string{"Println"}},
		{"fmt.Printl|?", []string{"Println"}},
	} {
		at := strings.Index(c.code, "|")
		code := c.code[:at] + c.code[at+1:]
		var got []string
		for _, m := range s.Complete(code, at).Matches {
			got = append(got, m.Text)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%q: %.10q, want %q", c.code, got, c.want)
		}
	}
}

// Comments that cells write are documentation.
func TestInspectOwn(t *testing.T) {
	s := benchSession(t)
	execute(t, s, 1, docCell)
	execute(t, s, 2, "type Other struct{ Point }\no := Other{}")
	for _, c := range []struct {
		code   string
		detail int
		want   string
	}{
		{"greet", 0, "func greet(who string, times int) (n int, err error)\n\ngreet says hello."},
		{"greet(", 0, "func greet(who string, times int) (n int, err error)\n\ngreet says hello."},
		{"greet", 1, "func greet(who string, times int) (n int, err error) {\n\treturn fmt.Println(who, times)\n}\n\ngreet says hello."},
		{"bare", 0, "func bare()"},
		{"p.Norm", 0, "func (*Point).Norm() float64\n\nNorm is the length.\nIt is never negative."},
		{"o.Norm", 0, "func (*Point).Norm() float64\n\nNorm is the length.\nIt is never negative."},
		{"p.X", 0, "field X float64\n\nX is the abscissa."},
		{"p.name", 0, "field name string\n\non the map"},
		{"größe", 0, "var größe int"},
	} {
		b, ok := s.Inspect(c.code, len(c.code), c.detail)
		if got := b.Data["text/plain"]; !ok || got != c.want {
			t.Errorf("%s: %q, want %q", c.code, got, c.want)
		}
	}
	b, _ := s.Inspect("Point", 5, 0)
	if got, _ := b.Data["text/plain"].(string); !strings.HasPrefix(got, "type Point struct {\n\t// X is") || !strings.HasSuffix(got, "\n\nA Point is a place.") {
		t.Errorf("Point: %q", got)
	}
}
