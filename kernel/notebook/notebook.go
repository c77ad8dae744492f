// Package notebook reads, runs and writes Jupyter notebooks without Jupyter.
//
// [Read] and [Write] convert between a file and a [Notebook]. They read
// nbformat 4 and write nbformat 4.5, byte for byte as Jupyter does, and keep
// unknown fields. [Run] executes a notebook's cells with any [engine.Engine]
// and stores their outputs; [WriteHTML] converts a notebook to an HTML page.
//
// The package does not depend on a language, a terminal or the network.
package notebook

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
)

// A Notebook is a sequence of cells, in nbformat 4.
type Notebook struct {
	// Metadata is the notebook's metadata, such as kernelspec and
	// language_info.
	Metadata map[string]any
	Cells    []*Cell
	// Minor is the minor version of the format, at least 5.
	Minor int
	// Extra holds the fields that nbformat does not define.
	Extra map[string]any
}

// Types of cells.
const (
	Code     = "code"
	Markdown = "markdown"
	Raw      = "raw"
)

// A Cell is a cell of a notebook.
type Cell struct {
	// ID is unique in the notebook, 1 to 64 characters of [a-zA-Z0-9-_].
	ID       string
	Type     string // Code, Markdown, Raw, or one of a later format
	Source   string
	Metadata map[string]any
	// Attachments maps file names to MIME bundles; nil if there are none.
	Attachments map[string]any
	// Outputs and Count, the execution count, belong to code cells; Count is 0
	// for a cell that has not been run.
	Outputs []*Output
	Count   int
	// Extra holds the fields that nbformat does not define.
	Extra map[string]any
}

// Types of outputs.
const (
	Stream  = "stream"
	Display = "display_data"
	Result  = "execute_result"
	Failure = "error"
)

// An Output is one output of a cell.
type Output struct {
	Type string // Stream, Display, Result, Failure, or one of a later format
	// Name ("stdout" or "stderr") and Text are used by a Stream.
	Name, Text string
	// Data maps MIME types to texts or JSON values, and Metadata describes
	// them. They are used by Display and Result.
	Data, Metadata map[string]any
	// Count is the execution count; it is used by a Result.
	Count int
	// ErrorName, ErrorValue and Traceback are used by a Failure.
	ErrorName, ErrorValue string
	Traceback             []string
	// Extra holds the fields that nbformat does not define.
	Extra map[string]any
}

// Tags returns the cell's tags.
func (c *Cell) Tags() []string {
	list, _ := c.Metadata["tags"].([]any)
	var tags []string
	for _, t := range list {
		if s, ok := t.(string); ok {
			tags = append(tags, s)
		}
	}
	return tags
}

// HasTag reports whether the cell has the tag.
func (c *Cell) HasTag(tag string) bool { return slices.Contains(c.Tags(), tag) }

// Language returns the notebook's language in lower case, or "" if its
// metadata does not name one.
func (nb *Notebook) Language() string {
	if s := textAt(nb.Metadata, "language_info", "name"); s != "" {
		return strings.ToLower(s)
	}
	return strings.ToLower(textAt(nb.Metadata, "kernelspec", "language"))
}

// textAt returns the text at the end of a path of keys through nested objects,
// or "".
func textAt(v any, keys ...string) string {
	for _, k := range keys {
		m, _ := v.(map[string]any)
		v = m[k]
	}
	s, _ := v.(string)
	return s
}

// Read parses a notebook. It converts formats 4.0 to 4.4 to 4.5 by giving
// cells ids, which depend only on the cells' sources and order. Older formats,
// malformed JSON and fields of the wrong type are errors that give the
// position.
func Read(data []byte) (*Notebook, error) {
	v, err := decodeJSON(data)
	if err != nil {
		return nil, err
	}
	top, ok := v.(map[string]any)
	if !ok {
		return nil, errors.New("not a notebook: the file holds no JSON object")
	}
	r := reader{}
	major, ok := r.integer(top, "nbformat", "")
	if r.err != nil {
		return nil, r.err
	}
	switch {
	case !ok && top["worksheets"] == nil && top["cells"] == nil:
		return nil, errors.New("not a notebook: it has neither nbformat nor cells")
	case !ok:
		return nil, errors.New("not a notebook of format 4: the field nbformat is missing")
	case major < 4:
		return nil, fmt.Errorf("the notebook is of format %d; only format 4 is read: open and save it in Jupyter, or run jupyter nbconvert --to notebook", major)
	case major > 4:
		return nil, fmt.Errorf("the notebook is of format %d, which is newer than what this program reads (4)", major)
	}
	minor, _ := r.integer(top, "nbformat_minor", "")
	nb := &Notebook{
		Metadata: r.object(top, "metadata", ""),
		Minor:    max(minor, 5),
	}
	delete(nb.Metadata, "orig_nbformat")
	delete(nb.Metadata, "orig_nbformat_minor")
	delete(nb.Metadata, "signature")
	list, isList := top["cells"].([]any)
	if !isList {
		return nil, fmt.Errorf("cells: want a list, got %s", kindOf(top["cells"]))
	}
	for i, c := range list {
		nb.Cells = append(nb.Cells, r.cell(c, fmt.Sprintf("cells[%d]", i)))
	}
	nb.Extra = rest(top, "nbformat", "nbformat_minor", "metadata", "cells")
	if r.err != nil {
		return nil, r.err
	}
	nb.nameCells()
	return nb, nil
}

// A reader converts JSON values to Go values and keeps the first error.
type reader struct{ err error }

func (r *reader) fail(at, want string, got any) {
	if r.err == nil {
		r.err = fmt.Errorf("%s: want %s, got %s", at, want, kindOf(got))
	}
}

// kindOf names the type of a JSON value, for an error message.
func kindOf(v any) string {
	switch v := v.(type) {
	case nil:
		return "nothing"
	case bool:
		return "a truth value"
	case string:
		return "a text"
	case json.Number:
		return "the number " + v.String()
	case []any:
		return "a list"
	}
	return "an object"
}

func at(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

func (r *reader) integer(m map[string]any, key, path string) (n int, ok bool) {
	switch v := m[key].(type) {
	case nil:
		return 0, false
	case json.Number:
		i, err := v.Int64()
		if err != nil || i < 0 || i != int64(int(i)) {
			r.fail(at(path, key), "a whole number", v)
			return 0, false
		}
		return int(i), true
	default:
		r.fail(at(path, key), "a whole number", v)
		return 0, false
	}
}

// object returns the object under key, or an empty one if there is none.
func (r *reader) object(m map[string]any, key, path string) map[string]any {
	switch v := m[key].(type) {
	case nil:
	case map[string]any:
		return v
	default:
		r.fail(at(path, key), "an object", v)
	}
	return map[string]any{}
}

// text returns the text under key. It joins a text that is stored as a list of
// lines.
func (r *reader) text(m map[string]any, key, path string) string {
	switch v := m[key].(type) {
	case nil:
	case string:
		return v
	case []any:
		if s, ok := join(v); ok {
			return s
		}
		r.fail(at(path, key), "a text or a list of texts", v)
	default:
		r.fail(at(path, key), "a text or a list of texts", v)
	}
	return ""
}

func join(list []any) (string, bool) {
	n := 0
	for _, l := range list {
		s, ok := l.(string)
		if !ok {
			return "", false
		}
		n += len(s)
	}
	var b strings.Builder
	b.Grow(n)
	for _, l := range list {
		b.WriteString(l.(string))
	}
	return b.String(), true
}

func (r *reader) cell(v any, path string) *Cell {
	m, ok := v.(map[string]any)
	if !ok {
		r.fail(path, "an object", v)
		return &Cell{}
	}
	c := &Cell{
		ID:       r.text(m, "id", path),
		Type:     r.text(m, "cell_type", path),
		Source:   r.text(m, "source", path),
		Metadata: r.object(m, "metadata", path),
	}
	if c.Type == "" {
		r.fail(at(path, "cell_type"), "code, markdown or raw", m["cell_type"])
	}
	delete(c.Metadata, "trusted")
	if m["attachments"] != nil {
		c.Attachments = r.object(m, "attachments", path)
		for name := range c.Attachments {
			joinBundle(r.object(c.Attachments, name, at(path, "attachments")))
		}
	}
	known := []string{"id", "cell_type", "source", "metadata", "attachments"}
	if c.Type == Code {
		known = append(known, "outputs", "execution_count")
		c.Count, _ = r.integer(m, "execution_count", path)
		switch list := m["outputs"].(type) {
		case nil:
		case []any:
			for i, o := range list {
				c.Outputs = append(c.Outputs, r.output(o, fmt.Sprintf("%s.outputs[%d]", path, i)))
			}
		default:
			r.fail(at(path, "outputs"), "a list", list)
		}
	}
	c.Extra = rest(m, known...)
	return c
}

func (r *reader) output(v any, path string) *Output {
	m, ok := v.(map[string]any)
	if !ok {
		r.fail(path, "an object", v)
		return &Output{}
	}
	o := &Output{Type: r.text(m, "output_type", path)}
	known := []string{"output_type"}
	switch o.Type {
	case Stream:
		o.Name, o.Text = r.text(m, "name", path), r.text(m, "text", path)
		known = append(known, "name", "text")
	case Display, Result:
		o.Data, o.Metadata = r.object(m, "data", path), r.object(m, "metadata", path)
		joinBundle(o.Data)
		known = append(known, "data", "metadata")
		if o.Type == Result {
			o.Count, _ = r.integer(m, "execution_count", path)
			known = append(known, "execution_count")
		}
	case Failure:
		o.ErrorName, o.ErrorValue = r.text(m, "ename", path), r.text(m, "evalue", path)
		known = append(known, "ename", "evalue", "traceback")
		switch list := m["traceback"].(type) {
		case nil:
		case []any:
			for _, l := range list {
				s, ok := l.(string)
				if !ok {
					r.fail(at(path, "traceback"), "a list of texts", l)
				}
				o.Traceback = append(o.Traceback, s)
			}
		default:
			r.fail(at(path, "traceback"), "a list of texts", list)
		}
	case "":
		r.fail(at(path, "output_type"), "a type of output", m["output_type"])
	}
	o.Extra = rest(m, known...)
	return o
}

// isJSON reports whether the data of a MIME type is JSON rather than text.
func isJSON(mime string) bool {
	return mime == "application/json" || strings.HasPrefix(mime, "application/") && strings.HasSuffix(mime, "+json")
}

// joinBundle joins the texts of a bundle that are stored as lists of lines.
func joinBundle(b map[string]any) {
	for mime, v := range b {
		if list, ok := v.([]any); ok && !isJSON(mime) {
			if s, ok := join(list); ok {
				b[mime] = s
			}
		}
	}
}

// splitBundle converts texts of a bundle to lines, for the MIME types that
// Jupyter stores as lists of lines.
func splitBundle(b map[string]any) map[string]any {
	out := make(map[string]any, len(b))
	for mime, v := range b {
		if s, ok := v.(string); ok && (strings.HasPrefix(mime, "text/") || mime == "application/javascript" || mime == "image/svg+xml") {
			v = lines(s)
		}
		out[mime] = v
	}
	return out
}

// rest returns the fields of m that are not in known, or nil if there are
// none.
func rest(m map[string]any, known ...string) map[string]any {
	var extra map[string]any
	for k, v := range m {
		if !slices.Contains(known, k) {
			if extra == nil {
				extra = map[string]any{}
			}
			extra[k] = v
		}
	}
	return extra
}

var validID = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

// nameCells gives a new id to every cell whose id is missing, is not allowed
// by the format, or is used by an earlier cell.
func (nb *Notebook) nameCells() {
	taken := make(map[string]bool, len(nb.Cells))
	for _, c := range nb.Cells {
		if validID.MatchString(c.ID) && !taken[c.ID] {
			taken[c.ID] = true
		} else {
			c.ID = ""
		}
	}
	for i, c := range nb.Cells {
		for try := 0; c.ID == ""; try++ {
			if id := makeID(i, try, c.Source); !taken[id] {
				c.ID, taken[id] = id, true
			}
		}
	}
}

// newID returns an unused id for a cell that will be inserted at index i.
func (nb *Notebook) newID(i int, source string) string {
	for try := 0; ; try++ {
		id := makeID(i, try, source)
		if !slices.ContainsFunc(nb.Cells, func(c *Cell) bool { return c.ID == id }) {
			return id
		}
	}
}

func makeID(i, try int, source string) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d %d %s", i, try, source))
	return hex.EncodeToString(sum[:4])
}

// SetSource changes the text of a cell by its index. An id that was made from the
// text, as that of a cell in a text without ids, is made anew.
func (nb *Notebook) SetSource(i int, source string) {
	c := nb.Cells[i]
	if c.Source != source && c.ID == makeID(i, 0, c.Source) {
		c.ID = nb.newID(i, source)
	}
	c.Source = source
}

// Copy returns a copy of the notebook as it would be read from its file.
func (nb *Notebook) Copy() (*Notebook, error) {
	var b bytes.Buffer
	if err := Write(&b, nb); err != nil {
		return nil, err
	}
	return Read(b.Bytes())
}

// Write writes the notebook in Jupyter's format: sorted keys, one space of
// indentation per level, texts as lists of lines, a newline at the end.
func Write(w io.Writer, nb *Notebook) error {
	p := &printer{w: new(bytes.Buffer), out: w}
	p.value(with(nb.Extra, map[string]any{
		"cells": func(p *printer, level int) {
			p.list(len(nb.Cells), level, func(i int) { p.value(nb.Cells[i].fields(), level+1) })
		},
		"metadata":       nb.Metadata,
		"nbformat":       4,
		"nbformat_minor": max(nb.Minor, 5),
	}), 0)
	p.w.WriteByte('\n')
	p.flush()
	return p.err
}

// with adds to fields the fields of extra that it does not have.
func with(extra, fields map[string]any) map[string]any {
	for k, v := range extra {
		if _, known := fields[k]; !known {
			fields[k] = v
		}
	}
	return fields
}

func (c *Cell) fields() map[string]any {
	m := map[string]any{
		"cell_type": c.Type,
		"id":        c.ID,
		"metadata":  c.Metadata,
		"source":    lines(c.Source),
	}
	if c.Attachments != nil {
		files := make(map[string]any, len(c.Attachments))
		for name, b := range c.Attachments {
			if bundle, ok := b.(map[string]any); ok {
				b = splitBundle(bundle)
			}
			files[name] = b
		}
		m["attachments"] = files
	}
	if c.Type == Code {
		m["execution_count"] = count(c.Count)
		m["outputs"] = func(p *printer, level int) {
			p.list(len(c.Outputs), level, func(i int) { p.value(c.Outputs[i].fields(), level+1) })
		}
	}
	return with(c.Extra, m)
}

func (o *Output) fields() map[string]any {
	m := map[string]any{"output_type": o.Type}
	switch o.Type {
	case Stream:
		m["name"], m["text"] = o.Name, lines(o.Text)
	case Display, Result:
		m["data"], m["metadata"] = splitBundle(o.Data), o.Metadata
		if o.Type == Result {
			m["execution_count"] = count(o.Count)
		}
	case Failure:
		m["ename"], m["evalue"], m["traceback"] = o.ErrorName, o.ErrorValue, o.Traceback
	}
	return with(o.Extra, m)
}

// count returns an execution count as stored in the file: null for 0.
func count(n int) any {
	if n == 0 {
		return nil
	}
	return n
}
