package display

import (
	"encoding/xml"
	"errors"
	"fmt"
	"image/color"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"dace.local/dacelib/brkga"
	"dace.local/dacelib/run"
	"dace.local/kernel/internal/live"
)

// A theme holds JupyterLab's variables of one theme.
type theme map[string]string

// readTheme reads testdata/jupyterlab-NAME.css.
func readTheme(t *testing.T, name string) theme {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", "jupyterlab-"+name+".css"))
	if err != nil {
		t.Fatal(err)
	}
	th := theme{}
	for _, m := range regexp.MustCompile(`(--[\w-]+):\s*([^;]+);`).FindAllStringSubmatch(string(b), -1) {
		th[m[1]] = m[2]
	}
	if th["--jp-layout-color0"] == "" || th["--jp-content-font-color1"] == "" {
		t.Fatalf("%s has %v", name, th)
	}
	return th
}

var variable = regexp.MustCompile(`^var\((--[\w-]+)(?:,\s*(.*))?\)$`)

// color returns a CSS colour; ok is false for one that the test does not know.
func (th theme) color(css string) (c color.NRGBA, ok bool) {
	css = strings.TrimSpace(css)
	if m := variable.FindStringSubmatch(css); m != nil {
		if v, known := th[m[1]]; known {
			return th.color(v)
		}
		return th.color(m[2])
	}
	switch css {
	case "white":
		css = "#fff"
	case "transparent":
		return color.NRGBA{}, true
	}
	var r, g, b int
	a := 1.
	if n, _ := fmt.Sscanf(strings.ReplaceAll(css, " ", ""), "rgba(%d,%d,%d,%g)", &r, &g, &b, &a); n == 4 {
		return color.NRGBA{uint8(r), uint8(g), uint8(b), uint8(255*a + .5)}, true
	}
	hex, isHex := strings.CutPrefix(css, "#")
	if len(hex) == 3 {
		hex = strings.Join([]string{hex[:1], hex[:1], hex[1:2], hex[1:2], hex[2:], hex[2:]}, "")
	}
	v, err := strconv.ParseUint(hex, 16, 32)
	return color.NRGBA{uint8(v >> 16), uint8(v >> 8), uint8(v), 255}, isHex && len(hex) == 6 && err == nil
}

// blend returns a colour that lies, with an opacity, on another.
func blend(c color.NRGBA, opacity float64, ground color.Color) color.Color {
	a := float64(c.A) / 255 * opacity
	r, g, b, _ := ground.RGBA()
	mix := func(x uint8, y uint32) uint8 { return uint8(a*float64(x) + (1-a)*float64(y>>8) + .5) }
	return color.RGBA{mix(c.R, r), mix(c.G, g), mix(c.B, b), 255}
}

// declarations returns the properties of a style.
func declarations(css string) map[string]string {
	all := map[string]string{}
	for d := range strings.SplitSeq(css, ";") {
		if name, value, ok := strings.Cut(d, ":"); ok {
			all[strings.TrimSpace(name)] = value
		}
	}
	return all
}

// TestContrast checks that all text of what cells show has a contrast of 4.5 at least (level
// AA of the W3C's guidelines) in JupyterLab's themes, by the styles in our HTML.
func TestContrast(t *testing.T) {
	rows := make([]point, 40)
	tree := map[string][]point{"first": rows[:12], "second": rows[:12]}
	view := &gridView{g: gridOf(rows)}
	page, _ := view.Page(live.Query{Column: -1, N: 10})
	none, _ := view.Page(live.Query{Column: -1, N: 10, Filter: "zzz"})
	parts, _, _ := branch{v: reflect.ValueOf(rows)}.Parts(0)
	var displayed []string
	s := capture(t, func() {
		step := Progress("work")
		step(run.Event{Step: 1, Total: 3, Detail: "detail"})
		step(run.Event{Step: 2, Total: 3, Detail: "detail"})
	})
	for _, b := range append(s.bundles, s.updates...) {
		displayed = append(displayed, fmt.Sprint(b.Data["text/html"]))
	}
	pages := map[string]string{
		"table": fmt.Sprint(Value(rows).Data["text/html"]), "tree": fmt.Sprint(Value(tree).Data["text/html"]),
		"settings": fmt.Sprint(Value(brkga.Settings{Evaluations: 800}).Data["text/html"]),
		"values":   fmt.Sprint(Result([]any{1, "x", rows}, false).Data["text/html"]),
		"live":     page, "none": none, "unfolded": liveCode("text") + parts[len(parts)-1].HTML, "progress": strings.Join(displayed, ""),
	}
	for _, name := range []string{"light", "dark"} {
		th := readTheme(t, name)
		for what, html := range pages {
			if texts := checkContrast(t, th, name+", "+what, html); texts == 0 {
				t.Errorf("%s: %s has no text: %.200s", name, what, html)
			}
		}
	}
	// The test finds what is too faint.
	light := readTheme(t, "light")
	if c, _ := light.color("var(--jp-no-such, #999)"); contrast(blend(c, 1, color.White), color.White) >= 4.5 {
		t.Error("#999 on white is found to be legible")
	}
}

// checkContrast checks the texts of HTML, and returns how many there are.
func checkContrast(t *testing.T, th theme, where, page string) (texts int) {
	t.Helper()
	type style struct {
		ink     color.NRGBA
		ground  color.Color
		opacity float64
		rows    bool // in a table, some of whose rows have a ground of their own
		css     bool // in a style sheet
		class   string
	}
	read := func(css string) color.NRGBA {
		c, ok := th.color(css)
		if !ok {
			t.Errorf("%s: %q is no colour that this test knows", where, css)
		}
		return c
	}
	stripe := read("var(--jp-rendermime-table-row-background)")
	now := []style{{ink: read("var(--jp-content-font-color1)"), ground: read("var(--jp-layout-color0)"), opacity: 1}}
	rules := map[string]string{}
	for _, m := range regexp.MustCompile(`([^{}>]+)\{([^}]*)\}`).FindAllStringSubmatch(page, -1) {
		for selector := range strings.SplitSeq(m[1], ",") {
			rules[strings.TrimSpace(selector)] += ";" + m[2]
		}
	}
	d := xml.NewDecoder(strings.NewReader(page))
	d.Strict, d.Entity, d.AutoClose = false, xml.HTMLEntity, xml.HTMLAutoClose
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return texts
		} else if err != nil {
			t.Fatalf("%s: %v", where, err)
		}
		switch x := token.(type) {
		case xml.StartElement:
			s := now[len(now)-1]
			s.rows = s.rows || x.Name.Local == "tbody"
			s.css = x.Name.Local == "style"
			css := ""
			for _, a := range x.Attr {
				if a.Name.Local == "class" {
					for class := range strings.FieldsSeq(a.Value) {
						s.class = class
						css += rules["."+class]
						if class == "dace-grid" {
							break
						}
					}
				}
			}
			css += rules["."+s.class+" "+x.Name.Local]
			for _, a := range x.Attr {
				if a.Name.Local == "style" {
					css += ";" + a.Value
				}
			}
			all := declarations(css)
			if v := all["color"]; v != "" {
				s.ink = read(v)
			}
			if v := all["background"]; v != "" {
				s.ground = blend(read(v), 1, s.ground)
			}
			if v := all["opacity"]; v != "" {
				f, err := strconv.ParseFloat(strings.TrimSpace(v), 64)
				if err != nil {
					t.Errorf("%s: opacity %q", where, v)
				}
				s.opacity *= f
			}
			now = append(now, s)
		case xml.EndElement:
			now = now[:len(now)-1]
		case xml.CharData:
			s := now[len(now)-1]
			if text := strings.TrimSpace(string(x)); text != "" && !s.css {
				texts++
				grounds := []color.Color{s.ground}
				if s.rows {
					grounds = append(grounds, blend(stripe, 1, s.ground))
				}
				for _, g := range grounds {
					if c := contrast(blend(s.ink, s.opacity, g), g); c < 4.5 {
						t.Errorf("%s: %q has a contrast of %.2f", where, text, c)
					}
				}
			}
		}
	}
}
