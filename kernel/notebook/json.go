package notebook

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// lines is a text that is stored in the notebook file as a list of its lines.
type lines string

// decodeJSON decodes one JSON value. Numbers keep their spelling, so that they
// are written back the same. Errors give line and column. All strings share
// one copy of data.
func decodeJSON(data []byte) (any, error) {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	p := &jsonParser{s: string(data)}
	if p.space(); p.i == len(p.s) {
		return nil, errors.New("the file is empty")
	}
	if !utf8.ValidString(p.s) {
		at := 0
		for at < len(p.s) {
			r, n := utf8.DecodeRuneInString(p.s[at:])
			if r == utf8.RuneError && n == 1 {
				break
			}
			at += n
		}
		return nil, fmt.Errorf("%s: not UTF-8 text", place(p.s, at))
	}
	v, err := p.value()
	if err != nil {
		return nil, err
	}
	if p.space(); p.i < len(p.s) {
		return nil, fmt.Errorf("%s: more text after the end of the JSON value", place(p.s, p.i))
	}
	return v, nil
}

// jsonDepth bounds how deep values may nest.
const jsonDepth = 10_000

// A jsonParser reads JSON from left to right.
type jsonParser struct {
	s        string
	i, depth int
}

func (p *jsonParser) space() {
	for p.i < len(p.s) && (p.s[p.i] == ' ' || p.s[p.i] == '\n' || p.s[p.i] == '\t' || p.s[p.i] == '\r') {
		p.i++
	}
}

// fail returns an error that says what the parser expected at the cursor.
func (p *jsonParser) fail(want string) error {
	if p.i >= len(p.s) {
		return fmt.Errorf("%s: the file ends in the middle of the JSON value", place(p.s, len(p.s)))
	}
	start := strings.LastIndexByte(p.s[:p.i], '\n') + 1
	for _, mark := range []string{"<<<<<<<", "=======", ">>>>>>>"} {
		if strings.HasPrefix(p.s[start:], mark) {
			return fmt.Errorf("%s: a merge conflict is not resolved here", place(p.s, start))
		}
	}
	r, _ := utf8.DecodeRuneInString(p.s[p.i:])
	return fmt.Errorf("%s: want %s, got %q", place(p.s, p.i), want, r)
}

// next reports whether the next byte is c, and consumes it if so.
func (p *jsonParser) next(c byte) bool {
	p.space()
	if p.i < len(p.s) && p.s[p.i] == c {
		p.i++
		return true
	}
	return false
}

func (p *jsonParser) value() (any, error) {
	if p.depth++; p.depth > jsonDepth {
		return nil, fmt.Errorf("%s: nested too deep", place(p.s, p.i))
	}
	defer func() { p.depth-- }()
	p.space()
	switch rest := p.s[p.i:]; {
	case strings.HasPrefix(rest, "null"):
		p.i += 4
		return nil, nil
	case strings.HasPrefix(rest, "true"):
		p.i += 4
		return true, nil
	case strings.HasPrefix(rest, "false"):
		p.i += 5
		return false, nil
	case p.next('"'):
		return p.text()
	case p.next('['):
		list := []any{}
		for !p.next(']') {
			if len(list) > 0 && !p.next(',') {
				return nil, p.fail("a comma or ]")
			}
			v, err := p.value()
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		return list, nil
	case p.next('{'):
		object := map[string]any{}
		for first := true; !p.next('}'); first = false {
			if !first && !p.next(',') {
				return nil, p.fail("a comma or }")
			}
			if !p.next('"') {
				return nil, p.fail("a name in quotes")
			}
			key, err := p.text()
			if err != nil {
				return nil, err
			}
			if !p.next(':') {
				return nil, p.fail("a colon")
			}
			if object[key], err = p.value(); err != nil {
				return nil, err
			}
		}
		return object, nil
	}
	return p.number()
}

// text reads a string whose opening quote has been read.
func (p *jsonParser) text() (string, error) {
	start := p.i
	for p.i < len(p.s) && p.s[p.i] >= ' ' && p.s[p.i] != '"' && p.s[p.i] != '\\' {
		p.i++
	}
	if p.i < len(p.s) && p.s[p.i] == '"' {
		p.i++
		return p.s[start : p.i-1], nil
	}
	var b strings.Builder
	b.WriteString(p.s[start:p.i])
	for p.i < len(p.s) {
		c := p.s[p.i]
		switch {
		case c == '"':
			p.i++
			return b.String(), nil
		case c < ' ':
			return "", p.fail("a text without control characters")
		case c != '\\':
			start := p.i
			for p.i < len(p.s) && p.s[p.i] >= ' ' && p.s[p.i] != '"' && p.s[p.i] != '\\' {
				p.i++
			}
			b.WriteString(p.s[start:p.i])
			continue
		}
		p.i++
		if p.i == len(p.s) {
			break
		}
		if at := strings.IndexByte(`"\/bfnrt`, p.s[p.i]); at >= 0 {
			b.WriteByte("\"\\/\b\f\n\r\t"[at])
			p.i++
			continue
		}
		r, ok := p.codeUnit()
		if !ok {
			return "", p.fail(`one of "\/bfnrt or uXXXX behind a backslash`)
		}
		if utf16.IsSurrogate(r) {
			after := p.i
			low := rune(-1)
			if strings.HasPrefix(p.s[p.i:], `\u`) {
				p.i++
				low, _ = p.codeUnit()
			}
			if r = utf16.DecodeRune(r, low); r == utf8.RuneError {
				p.i = after // the first half of a surrogate pair alone
			}
		}
		b.WriteRune(r)
	}
	return "", p.fail("")
}

// codeUnit reads uXXXX, the rest of a \u escape.
func (p *jsonParser) codeUnit() (rune, bool) {
	if p.i+5 > len(p.s) || p.s[p.i] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(p.s[p.i+1:p.i+5], 16, 16)
	if err != nil {
		return 0, false
	}
	p.i += 5
	return rune(n), true
}

// digits skips digits, and reports whether there were any.
func (p *jsonParser) digits() bool {
	start := p.i
	for p.i < len(p.s) && p.s[p.i] >= '0' && p.s[p.i] <= '9' {
		p.i++
	}
	return p.i > start
}

func (p *jsonParser) number() (any, error) {
	start := p.i
	sign := p.i < len(p.s) && p.s[p.i] == '-'
	if sign {
		p.i++
	}
	switch {
	case p.i < len(p.s) && p.s[p.i] == '0':
		p.i++
	case !p.digits():
		if sign {
			return nil, p.fail("a digit")
		}
		return nil, p.fail("a value")
	}
	if p.i < len(p.s) && p.s[p.i] == '.' {
		p.i++
		if !p.digits() {
			return nil, p.fail("a digit")
		}
	}
	if p.i < len(p.s) && p.s[p.i]|' ' == 'e' {
		p.i++
		if p.i < len(p.s) && (p.s[p.i] == '+' || p.s[p.i] == '-') {
			p.i++
		}
		if !p.digits() {
			return nil, p.fail("a digit")
		}
	}
	return json.Number(p.s[start:p.i]), nil
}

// place describes the position of a byte for an error message. Lines and
// columns count from 1, columns in characters.
func place(s string, at int) string {
	line := 1 + strings.Count(s[:at], "\n")
	start := strings.LastIndexByte(s[:at], '\n') + 1
	return fmt.Sprintf("line %d, column %d", line, 1+utf8.RuneCountInString(s[start:at]))
}

// A printer writes JSON in Jupyter's format: keys sorted, one space of
// indentation per level, only the necessary escapes. It keeps the first error
// of the writer.
type printer struct {
	w   *bytes.Buffer
	out io.Writer // receives the content of w when w is full
	err error
}

const printerChunk = 1 << 16

func (p *printer) flush() {
	if p.err == nil {
		_, p.err = p.out.Write(p.w.Bytes())
	}
	p.w.Reset()
}

func (p *printer) newline(level int) {
	p.w.WriteByte('\n')
	for range level {
		p.w.WriteByte(' ')
	}
}

func (p *printer) value(v any, level int) {
	if p.w.Len() >= printerChunk {
		p.flush()
	}
	switch v := v.(type) {
	case nil:
		p.w.WriteString("null")
	case bool:
		p.w.WriteString(strconv.FormatBool(v))
	case json.Number:
		p.w.WriteString(v.String())
	case int:
		p.w.WriteString(strconv.Itoa(v))
	case string:
		p.text(v)
	case lines:
		p.lines(string(v), level)
	case []string:
		p.list(len(v), level, func(i int) { p.text(v[i]) })
	case []any:
		p.list(len(v), level, func(i int) { p.value(v[i], level+1) })
	case map[string]any:
		if len(v) == 0 {
			p.w.WriteString("{}")
			return
		}
		p.w.WriteByte('{')
		for i, key := range slices.Sorted(maps.Keys(v)) {
			if i > 0 {
				p.w.WriteByte(',')
			}
			p.newline(level + 1)
			p.text(key)
			p.w.WriteString(": ")
			p.value(v[key], level+1)
		}
		p.newline(level)
		p.w.WriteByte('}')
	case func(p *printer, level int):
		v(p, level)
	default:
		panic(fmt.Sprintf("notebook: no JSON for a %T", v))
	}
}

func (p *printer) list(n, level int, item func(i int)) {
	if n == 0 {
		p.w.WriteString("[]")
		return
	}
	p.w.WriteByte('[')
	for i := range n {
		if i > 0 {
			p.w.WriteByte(',')
		}
		p.newline(level + 1)
		item(i)
	}
	p.newline(level)
	p.w.WriteByte(']')
}

func (p *printer) lines(s string, level int) {
	if s == "" {
		p.w.WriteString("[]")
		return
	}
	p.w.WriteByte('[')
	for first := true; s != ""; first = false {
		if !first {
			p.w.WriteByte(',')
		}
		p.newline(level + 1)
		n := lineEnd(s)
		p.text(s[:n])
		s = s[n:]
		if p.w.Len() >= printerChunk {
			p.flush()
		}
	}
	p.newline(level)
	p.w.WriteByte(']')
}

// lineEnd returns the length of the first line of s, including its line end.
// Lines end as in Python's str.splitlines, which nbformat uses.
func lineEnd(s string) int {
	for i := 0; i < len(s); {
		if plainByte[s[i]] {
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		i += n
		switch r {
		case '\r':
			if strings.HasPrefix(s[i:], "\n") {
				i++
			}
			return i
		case '\n', '\v', '\f', 0x1c, 0x1d, 0x1e, 0x85, 0x2028, 0x2029:
			return i
		}
	}
	return len(s)
}

// plainByte tells which bytes need no escape in a JSON string.
var plainByte = func() (t [256]bool) {
	for c := 0x20; c < utf8.RuneSelf; c++ {
		t[c] = c != '"' && c != '\\'
	}
	return t
}()

const hexDigits = "0123456789abcdef"

func (p *printer) text(s string) {
	p.w.WriteByte('"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if plainByte[c] {
			i++
			continue
		}
		if c >= utf8.RuneSelf {
			r, n := utf8.DecodeRuneInString(s[i:])
			if r == utf8.RuneError && n == 1 {
				p.w.WriteString(s[start:i])
				p.w.WriteString("\ufffd")
				start = i + 1
			}
			i += n
			continue
		}
		p.w.WriteString(s[start:i])
		switch c {
		case '"', '\\':
			p.w.WriteByte('\\')
			p.w.WriteByte(c)
		case '\n':
			p.w.WriteString(`\n`)
		case '\r':
			p.w.WriteString(`\r`)
		case '\t':
			p.w.WriteString(`\t`)
		case '\b':
			p.w.WriteString(`\b`)
		case '\f':
			p.w.WriteString(`\f`)
		default:
			p.w.WriteString(`\u00`)
			p.w.WriteByte(hexDigits[c>>4])
			p.w.WriteByte(hexDigits[c&15])
		}
		i++
		start = i
	}
	p.w.WriteString(s[start:])
	p.w.WriteByte('"')
}

// plainJSON converts any Go value to the types that decodeJSON returns.
func plainJSON(v any) (any, error) {
	switch v.(type) {
	case nil, bool, string, json.Number:
		return v, nil
	}
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return decodeJSON(buf.Bytes())
}
