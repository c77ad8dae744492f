package notebook

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// Every colour of text on a page has a contrast of at least 4.5 (level AA of the
// W3C's Web Content Accessibility Guidelines) with all that it stands on, in the
// light and in the dark style.
func TestContrast(t *testing.T) {
	on := map[string]string{
		"ink": "page code warn zebra error", "soft": "page", "accent": "page", "link": "page zebra", "errorink": "error",
		"k": "code page", "s": "code page", "c": "code page", "n": "code page", "f": "code page", "t": "code page",
	}
	for i := range 16 {
		on["a"+strconv.Itoa(i)] = "page warn error"
	}
	dim := regexp.MustCompile(`\.dim \{ opacity: ([0-9.]+);`).FindStringSubmatch(style)
	if dim == nil {
		t.Fatal("there is no .dim")
	}
	opacity, _ := strconv.ParseFloat(dim[1], 64)
	blocks := regexp.MustCompile(`(?s):root \{(.*?)\}`).FindAllStringSubmatch(style, -1)
	if len(blocks) != 2 {
		t.Fatalf("%d styles, want the light and the dark one", len(blocks))
	}
	for i, mode := range []string{"light", "dark"} {
		colour := map[string]rgb{}
		for _, m := range regexp.MustCompile(`--(\w+): #([0-9a-f]{6});`).FindAllStringSubmatch(blocks[i][1], -1) {
			v, _ := strconv.ParseUint(m[2], 16, 32)
			colour[m[1]] = rgb{float64(v >> 16), float64(v >> 8 & 255), float64(v & 255)}
		}
		check := func(what string, text, ground rgb) {
			if c := contrast(text, ground); !(c >= 4.5) {
				t.Errorf("%s: %s: %.2f", mode, what, c)
			}
		}
		for text, grounds := range on {
			for ground := range strings.FieldsSeq(grounds) {
				check(text+" on "+ground, colour[text], colour[ground])
			}
		}
		for text, ground := range map[string]string{"ink": "page", "errorink": "error"} {
			check(fmt.Sprintf("dim %s on %s", text, ground), colour[text].over(colour[ground], opacity), colour[ground])
		}
	}
}

// rgb is a colour from 0 to 255.
type rgb [3]float64

// over returns the colour of c, with an opacity, on another.
func (c rgb) over(ground rgb, opacity float64) (mixed rgb) {
	for i := range c {
		mixed[i] = opacity*c[i] + (1-opacity)*ground[i]
	}
	return mixed
}

// contrast returns the ratio of two colours' luminances as WCAG 2 defines it.
func contrast(a, b rgb) float64 {
	luminance := func(c rgb) (l float64) {
		for i, weight := range []float64{0.2126, 0.7152, 0.0722} {
			v := c[i] / 255
			if v <= 0.03928 {
				v /= 12.92
			} else {
				v = math.Pow((v+0.055)/1.055, 2.4)
			}
			l += weight * v
		}
		return l
	}
	x, y := luminance(a), luminance(b)
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}

// The formula's ends, and the grey that WCAG's guides name as the lightest on white.
func TestContrastOfKnown(t *testing.T) {
	white := rgb{255, 255, 255}
	for _, c := range []struct {
		text rgb
		want float64
	}{{rgb{}, 21}, {white, 1}, {rgb{0x76, 0x76, 0x76}, 4.54}} {
		if got := contrast(c.text, white); math.Abs(got-c.want) > 0.005 {
			t.Errorf("%v on white: %.3f, want %v", c.text, got, c.want)
		}
	}
}
