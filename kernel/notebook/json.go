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
	"unicode/utf8"
)

// lines is a text that a notebook stores as a list of its lines.
type lines string

// decodeJSON reads one JSON value. Numbers stay as they were written, so that
// they are written back the same. Errors tell line and column.
func decodeJSON(data []byte) (any, error) {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	if len(bytes.TrimSpace(data)) == 0 {
		return nil, errors.New("the file is empty")
	}
	if !utf8.Valid(data) {
		at := 0
		for at < len(data) {
			r, n := utf8.DecodeRune(data[at:])
			if r == utf8.RuneError && n == 1 {
				break
			}
			at += n
		}
		return nil, fmt.Errorf("%s: not UTF-8 text", place(data, at))
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, describe(data, err)
	}
	end := int(dec.InputOffset())
	if rest := bytes.TrimLeft(data[end:], " \t\r\n"); len(rest) > 0 {
		return nil, fmt.Errorf("%s: more text after the end of the JSON value", place(data, len(data)-len(rest)))
	}
	return v, nil
}

// describe turns an error of encoding/json into one with line and column.
func describe(data []byte, err error) error {
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &syntax):
		at := max(0, int(syntax.Offset)-1)
		start := bytes.LastIndexByte(data[:min(at, len(data))], '\n') + 1
		if l := data[start:]; bytes.HasPrefix(l, []byte("<<<<<<<")) || bytes.HasPrefix(l, []byte("=======")) || bytes.HasPrefix(l, []byte(">>>>>>>")) {
			return fmt.Errorf("%s: a merge conflict is not resolved here", place(data, start))
		}
		return fmt.Errorf("%s: %s", place(data, at), strings.TrimPrefix(syntax.Error(), "json: "))
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return fmt.Errorf("%s: the file ends in the middle of the JSON value", place(data, len(data)))
	}
	return err
}

// place names the position of a byte: lines and columns count from 1, columns
// in characters.
func place(data []byte, at int) string {
	at = min(at, len(data))
	line := 1 + bytes.Count(data[:at], []byte("\n"))
	start := bytes.LastIndexByte(data[:at], '\n') + 1
	return fmt.Sprintf("line %d, column %d", line, 1+utf8.RuneCount(data[start:at]))
}

// A printer writes JSON as Jupyter does: keys sorted, one space a level, only
// what must be escaped is escaped. The first error of the writer sticks.
type printer struct {
	w   *bytes.Buffer
	out io.Writer // where w is emptied to as it fills
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

// lineEnd returns the length of the first line of s with its end. Lines end
// where Python's str.splitlines says, as nbformat uses it.
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

// plainByte holds the bytes that stand for themselves in a JSON string.
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

// plainJSON turns any Go value into what decodeJSON returns.
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
