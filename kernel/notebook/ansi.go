package notebook

import (
	"bufio"
	"fmt"
	"html"
	"strconv"
	"strings"
)

// ink is the style that ANSI sequences have set.
type ink struct {
	bold, dim, italic, underline, strike, reverse bool
	fg, bg                                        string // "", "a0".."a15" (classes), or "#rrggbb"
}

// writeANSI writes text as HTML. ANSI colours and styles become spans; other
// sequences are dropped.
func writeANSI(w *bufio.Writer, s string) {
	var now ink
	for {
		at := strings.IndexByte(s, 0x1b)
		piece := s
		if at >= 0 {
			piece = s[:at]
		}
		if piece != "" {
			open := now.tag()
			w.WriteString(open)
			w.WriteString(html.EscapeString(piece))
			if open != "" {
				w.WriteString("</span>")
			}
		}
		if at < 0 {
			return
		}
		s = s[at+1:]
		switch {
		case strings.HasPrefix(s, "["): // CSI: parameters, then a final byte
			end := strings.IndexFunc(s[1:], func(r rune) bool { return r >= 0x40 && r <= 0x7e })
			if end < 0 {
				return
			}
			if s[1+end] == 'm' {
				now.set(s[1 : 1+end])
			}
			s = s[1+end+1:]
		case strings.HasPrefix(s, "]"): // OSC: to BEL or ESC \
			end := strings.IndexAny(s, "\a\x1b")
			if end < 0 {
				return
			}
			s = strings.TrimPrefix(strings.TrimPrefix(s[end:], "\a"), "\x1b\\")
		case s != "":
			s = s[1:]
		}
	}
}

func (k *ink) set(params string) {
	codes := strings.FieldsFunc(params, func(r rune) bool { return r == ';' || r == ':' })
	if len(codes) == 0 {
		codes = []string{"0"}
	}
	for i := 0; i < len(codes); i++ {
		n, err := strconv.Atoi(codes[i])
		if err != nil {
			continue
		}
		switch {
		case n == 0:
			*k = ink{}
		case n == 1:
			k.bold = true
		case n == 2:
			k.dim = true
		case n == 3:
			k.italic = true
		case n == 4:
			k.underline = true
		case n == 7:
			k.reverse = true
		case n == 9:
			k.strike = true
		case n == 22:
			k.bold, k.dim = false, false
		case n == 23:
			k.italic = false
		case n == 24:
			k.underline = false
		case n == 27:
			k.reverse = false
		case n == 29:
			k.strike = false
		case n >= 30 && n <= 37:
			k.fg = fmt.Sprintf("a%d", n-30)
		case n >= 90 && n <= 97:
			k.fg = fmt.Sprintf("a%d", n-90+8)
		case n >= 40 && n <= 47:
			k.bg = fmt.Sprintf("a%d", n-40)
		case n >= 100 && n <= 107:
			k.bg = fmt.Sprintf("a%d", n-100+8)
		case n == 39:
			k.fg = ""
		case n == 49:
			k.bg = ""
		case n == 38 || n == 48:
			colour, used := extended(codes[i+1:])
			i += used
			if n == 38 {
				k.fg = colour
			} else {
				k.bg = colour
			}
		}
	}
}

// extended reads the parameters after a code 38 or 48: 5;n or 2;r;g;b. Used is
// the number of codes read.
func extended(codes []string) (colour string, used int) {
	at := func(i int) int {
		if i >= len(codes) {
			return 0
		}
		n, _ := strconv.Atoi(codes[i])
		return min(max(n, 0), 255)
	}
	switch at(0) {
	case 5:
		n := at(1)
		switch {
		case n < 16:
			return fmt.Sprintf("a%d", n), 2
		case n < 232:
			n -= 16
			level := func(v int) int {
				if v == 0 {
					return 0
				}
				return 55 + 40*v
			}
			return fmt.Sprintf("#%02x%02x%02x", level(n/36), level(n/6%6), level(n%6)), 2
		}
		g := 8 + 10*(n-232)
		return fmt.Sprintf("#%02x%02x%02x", g, g, g), 2
	case 2:
		return fmt.Sprintf("#%02x%02x%02x", at(1), at(2), at(3)), 4
	}
	return "", 0
}

func (k ink) tag() string {
	if k == (ink{}) {
		return ""
	}
	var classes, styles []string
	for _, c := range []struct {
		on    bool
		class string
	}{{k.bold, "bold"}, {k.dim, "dim"}, {k.italic, "italic"}, {k.underline, "underline"}, {k.strike, "strike"}, {k.reverse, "reverse"}} {
		if c.on {
			classes = append(classes, c.class)
		}
	}
	for _, c := range []struct{ colour, class, style string }{{k.fg, "fg-", "color"}, {k.bg, "bg-", "background-color"}} {
		switch {
		case strings.HasPrefix(c.colour, "a"):
			classes = append(classes, c.class+c.colour[1:])
		case c.colour != "":
			styles = append(styles, c.style+":"+c.colour)
		}
	}
	tag := "<span"
	if len(classes) > 0 {
		tag += ` class="` + strings.Join(classes, " ") + `"`
	}
	if len(styles) > 0 {
		tag += ` style="` + strings.Join(styles, ";") + `"`
	}
	return tag + ">"
}
