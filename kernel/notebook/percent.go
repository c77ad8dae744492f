package notebook

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// A notebook as a text: Jupytext's percent format for languages whose comments
// begin with two slashes. A line `// %%` begins a cell of code, `// %% [markdown]`
// one of text, whose lines are comments; the notebook's metadata is a header of
// YAML in comments. What would not be Go (magics, commands) is a comment, too.
// Outputs, execution counts, times of execution and attachments are not in the
// text: Complete takes them from a notebook.

var (
	// percentMark matches the line that begins a cell.
	percentMark = regexp.MustCompile(`^//\s*%%(?:\s+(.*))?$`)
	// escaped matches the lines of code that stand in the text behind "// ": those
	// that Jupytext takes for magics of Go, and what would be taken for a mark.
	escaped = regexp.MustCompile(`^(?:// ?)*(?:!\*?[a-zA-Z]|%{1,3}[a-zA-Z]|(?://gonb:)?%%(?:\s|$))`)
	// markLike matches the lines of code that would be read as a mark, and marks that are
	// escaped by "// " already. They are escaped in raw strings, too.
	markLike = regexp.MustCompile(`^(?:// ?)*//\s*%%(?:\s|$)`)
	// proseMark matches such lines in a text cell, without the "//" of the comment.
	proseMark = regexp.MustCompile(`^(?:// ?)*\s*%%(?:\s|$)`)
	// gonbCell matches gonb's line between declarations and statements, which
	// Jupytext writes behind "//gonb:".
	gonbCell = regexp.MustCompile(`^%%(?:\s|$)`)
	optionRE = regexp.MustCompile(`^([a-zA-Z_][\w.-]*)=`)
)

const (
	commentMark = "// "
	gonbMark    = "//gonb:"
	// blankLines is the key, in a cell's metadata, of the number of blank lines
	// before the next cell where it is not one.
	blankLines = "lines_to_next_cell"
)

// leftOut lists the metadata of cells that the text does not have.
var leftOut = []string{"execution", "ExecuteTime", "collapsed", "scrolled"}

// IsPercent reports whether a text is a notebook in the percent format: whether a
// line begins a cell, or a header says so.
func IsPercent(data []byte) bool {
	for line := range bytes.Lines(data) {
		line = bytes.TrimRight(line, "\r\n")
		if percentMark.Match(line) || bytes.Equal(line, []byte("//   jupytext:")) {
			return true
		}
	}
	return false
}

// ReadPercent parses a notebook in the percent format. A text without a line that
// begins a cell is one cell.
func ReadPercent(data []byte) (*Notebook, error) {
	text := string(bytes.TrimPrefix(data, []byte("\ufeff")))
	if first, _, _ := strings.Cut(text, "\n"); strings.HasSuffix(first, "\r") {
		text = strings.ReplaceAll(text, "\r\n", "\n")
	}
	text = strings.TrimSuffix(text, "\n")
	list := strings.Split(text, "\n")
	if text == "" {
		list = nil
	}
	nb := &Notebook{Metadata: map[string]any{}, Minor: 5}
	if i, err := nb.percentHeader(list); err != nil {
		return nil, err
	} else if list = list[i:]; i == 0 {
		// As Jupytext notes that the text is to stay without a header.
		nb.Metadata["jupytext"] = map[string]any{"notebook_metadata_filter": "-all"}
		nb.Metadata["kernelspec"] = map[string]any{"display_name": "Go (dace)", "language": "go", "name": "dace"}
	}
	var c *Cell
	var body []string
	flush := func(last bool) {
		switch {
		case c != nil:
			c.percentBody(body, last)
			nb.Cells = append(nb.Cells, c)
		case strings.TrimSpace(strings.Join(body, "")) != "":
			c = &Cell{Type: Code, Metadata: map[string]any{}}
			c.percentBody(body, last)
			nb.Cells = append(nb.Cells, c)
		}
		body = nil
	}
	for _, line := range list {
		m := percentMark.FindStringSubmatch(line)
		if m == nil {
			body = append(body, line)
			continue
		}
		flush(false)
		c = percentCell(m[1])
	}
	flush(true)
	nb.nameCells()
	return nb, nil
}

// percentHeader reads the header into the notebook's metadata, and returns the
// number of its lines.
func (nb *Notebook) percentHeader(list []string) (n int, err error) {
	if len(list) == 0 || strings.TrimSpace(strings.TrimPrefix(list[0], "//")) != "---" {
		return 0, nil
	}
	var yaml []string
	for n = 1; ; n++ {
		if n == len(list) || !strings.HasPrefix(list[n], "//") {
			return 0, fmt.Errorf("line %d: the header that begins in line 1 is not closed by // ---", n+1)
		}
		line := strings.TrimPrefix(strings.TrimPrefix(list[n], "//"), " ")
		if strings.TrimSpace(line) == "---" {
			break
		}
		yaml = append(yaml, line)
	}
	n++
	if n < len(list) && list[n] == "" {
		n++
	}
	v, err := readYAML(yaml, 2)
	if err != nil {
		return 0, err
	}
	if m, ok := v["jupyter"].(map[string]any); ok {
		nb.Metadata = m
	}
	if j, ok := nb.Metadata["jupytext"].(map[string]any); ok {
		if delete(j, "text_representation"); len(j) == 0 {
			delete(nb.Metadata, "jupytext")
		}
	}
	return n, nil
}

// percentCell returns the cell that a mark with these options begins.
func percentCell(options string) *Cell {
	c := &Cell{Type: Code, Metadata: map[string]any{}}
	var title []string
	for options = strings.TrimSpace(options); options != ""; options = strings.TrimLeft(options, " \t") {
		if m := optionRE.FindStringSubmatch(options); m != nil {
			if v, n, ok := leadingJSON(options[len(m[0]):]); ok {
				c.Metadata[m[1]] = v
				options = options[len(m[0])+n:]
				continue
			}
		}
		if options[0] == '{' {
			if v, n, ok := leadingJSON(options); ok {
				if object, ok := v.(map[string]any); ok {
					maps.Copy(c.Metadata, object)
					options = options[n:]
					continue
				}
			}
		}
		word, rest, _ := strings.Cut(options, " ")
		options = rest
		switch word {
		case "[markdown]", "[md]":
			c.Type = Markdown
		case "[raw]":
			c.Type = Raw
		default:
			title = append(title, word)
		}
	}
	if len(title) > 0 {
		c.Metadata["title"] = strings.Join(title, " ")
	}
	if id, ok := c.Metadata["id"].(string); ok && validID.MatchString(id) {
		c.ID = id
		delete(c.Metadata, "id")
	}
	return c
}

// leadingJSON returns the JSON value with which a text begins, and its length.
func leadingJSON(s string) (v any, n int, ok bool) {
	p := &jsonParser{s: s}
	v, err := p.value()
	return v, p.i, err == nil && (p.i == len(s) || s[p.i] == ' ')
}

// percentBody sets the source of a cell to the lines below its mark.
func (c *Cell) percentBody(body []string, last bool) {
	if !last {
		if n := len(body); n > 0 && body[n-1] == "" {
			body = body[:n-1]
		} else {
			c.Metadata[blankLines] = json.Number("0")
		}
	}
	if c.Type != Code {
		n := len(body)
		for n > 0 && body[n-1] == "" {
			n--
		}
		if !last && n < len(body) {
			c.Metadata[blankLines] = json.Number(fmt.Sprint(len(body) - n + 1))
		}
		body = body[:n]
		for i, line := range body {
			if body[i] = uncommented(line); strings.HasPrefix(body[i], "//") && proseMark.MatchString(body[i]) {
				body[i] = uncommented(body[i])
			}
		}
		c.Source = strings.Join(body, "\n")
		return
	}
	var in quotes
	for i, line := range body {
		switch {
		case in.open() && !markLike.MatchString(line):
		case strings.HasPrefix(line, gonbMark+"%%"):
			body[i] = strings.TrimPrefix(line, gonbMark)
			continue
		case escaped.MatchString(line), markLike.MatchString(line):
			body[i] = uncommented(line)
			continue
		}
		in.read(line)
	}
	c.Source = strings.Join(body, "\n")
}

func uncommented(line string) string {
	if s, ok := strings.CutPrefix(line, commentMark); ok {
		return s
	}
	return strings.TrimPrefix(line, "//")
}

// WritePercent writes a notebook in the percent format.
func WritePercent(w io.Writer, nb *Notebook) error {
	var b strings.Builder
	nb.writeHeader(&b)
	for i, c := range nb.Cells {
		b.WriteString(CellMark(c, i) + "\n")
		b.WriteString(c.percentText())
		if i == len(nb.Cells)-1 {
			break
		}
		n := 1
		if v, ok := c.Metadata[blankLines].(json.Number); ok {
			if lines, err := v.Int64(); err == nil {
				n = int(max(0, min(lines, 100)))
			}
		}
		b.WriteString(strings.Repeat("\n", n))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// CellMark returns the line that begins a cell in the percent format. Index is the
// cell's in its notebook.
func CellMark(c *Cell, index int) string { return "// %%" + c.percentOptions(index) }

func (nb *Notebook) writeHeader(b *strings.Builder) {
	if textAt(nb.Metadata, "jupytext", "notebook_metadata_filter") == "-all" {
		return
	}
	m := maps.Clone(nb.Metadata)
	if m == nil {
		m = map[string]any{}
	}
	about := map[string]any{}
	if j, ok := m["jupytext"].(map[string]any); ok {
		about = maps.Clone(j)
	}
	about["text_representation"] = map[string]any{"extension": ".go", "format_name": "percent", "format_version": "1.3"}
	m["jupytext"] = about
	b.WriteString("// ---\n// jupyter:\n")
	for _, line := range yamlLines(m) {
		b.WriteString("//   " + line + "\n")
	}
	b.WriteString("// ---\n\n")
}

// percentOptions returns what follows the %% of a cell's mark.
func (c *Cell) percentOptions(index int) string {
	var b strings.Builder
	m := map[string]any{}
	for k, v := range c.Metadata {
		if !slices.Contains(leftOut, k) && k != blankLines {
			m[k] = v
		}
	}
	if title, ok := m["title"].(string); ok && title != "" && isTitle(title) {
		b.WriteString(" " + title)
		delete(m, "title")
	}
	if c.Type != Code {
		b.WriteString(" [" + c.Type + "]")
	}
	if _, taken := m["id"]; !taken && c.ID != "" && c.ID != makeID(index, 0, c.Source) {
		m["id"] = c.ID
	}
	if len(m) == 0 {
		return b.String()
	}
	for k := range m {
		if !optionRE.MatchString(k + "=") {
			return b.String() + " " + inlineJSON(m)
		}
	}
	for _, k := range slices.Sorted(maps.Keys(m)) {
		b.WriteString(" " + k + "=" + inlineJSON(m[k]))
	}
	return b.String()
}

// isTitle reports whether a title is read again as it stands.
func isTitle(title string) bool {
	c := percentCell(title)
	return c.Type == Code && len(c.Metadata) == 1 && c.Metadata["title"] == title
}

// percentText returns the lines below a cell's mark.
func (c *Cell) percentText() string {
	if c.Source == "" {
		return ""
	}
	list := strings.Split(c.Source, "\n")
	if c.Type != Code {
		for i, line := range list {
			if list[i] = "//"; proseMark.MatchString(line) {
				list[i] = commentMark + commentMark + line
			} else if line != "" {
				list[i] = commentMark + line
			}
		}
		return strings.Join(list, "\n") + "\n"
	}
	var in quotes
	for i, line := range list {
		switch {
		case in.open() && !markLike.MatchString(line):
		case gonbCell.MatchString(line):
			list[i] = gonbMark + line
			continue
		case escaped.MatchString(line), markLike.MatchString(line):
			list[i] = commentMark + line
			continue
		}
		in.read(line)
	}
	return strings.Join(list, "\n") + "\n"
}

// quotes knows whether a line begins inside a raw string or a comment of several
// lines, where no magic is.
type quotes struct{ end string }

func (q *quotes) open() bool { return q.end != "" }

func (q *quotes) read(line string) {
	for line != "" {
		if q.end != "" {
			_, rest, found := strings.Cut(line, q.end)
			if !found {
				return
			}
			q.end, line = "", rest
			continue
		}
		i := strings.IndexAny(line, "\"'`/")
		if i < 0 {
			return
		}
		switch rest := line[i:]; {
		case strings.HasPrefix(rest, "//"):
			return
		case strings.HasPrefix(rest, "/*"):
			q.end, line = "*/", rest[2:]
		case rest[0] == '`':
			q.end, line = "`", rest[1:]
		case rest[0] == '/':
			line = rest[1:]
		default:
			n := 1
			for n < len(rest) && rest[n] != rest[0] {
				if rest[n] == '\\' {
					n++
				}
				n++
			}
			line = rest[min(n+1, len(rest)):]
		}
	}
}

// inlineJSON returns JSON on one line, with spaces as Python writes it.
func inlineJSON(v any) string {
	var b strings.Builder
	write := func(v any) {
		p := &printer{w: new(bytes.Buffer)}
		p.value(v, 0)
		b.Write(p.w.Bytes())
	}
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case []any:
			b.WriteByte('[')
			for i, x := range v {
				if i > 0 {
					b.WriteString(", ")
				}
				walk(x)
			}
			b.WriteByte(']')
		case map[string]any:
			b.WriteByte('{')
			for i, k := range slices.Sorted(maps.Keys(v)) {
				if i > 0 {
					b.WriteString(", ")
				}
				write(k)
				b.WriteString(": ")
				walk(v[k])
			}
			b.WriteByte('}')
		default:
			write(v)
		}
	}
	walk(v)
	return b.String()
}

// Complete adds to a notebook that was read from a text what the text does not
// have and an older notebook has: the outputs, the execution count, the id and the
// attachments of a cell whose text is the same, and the notebook's own fields.
func (nb *Notebook) Complete(old *Notebook) {
	used := map[*Cell]bool{}
	find := func(c *Cell, id bool) *Cell {
		for _, o := range old.Cells {
			if !used[o] && o.Type == c.Type && o.Source == c.Source && (!id || o.ID == c.ID) {
				return o
			}
		}
		return nil
	}
	of := map[*Cell]*Cell{}
	for _, id := range []bool{true, false} {
		for _, c := range nb.Cells {
			if of[c] == nil {
				if o := find(c, id); o != nil {
					of[c], used[o] = o, true
				}
			}
		}
	}
	for c, o := range of {
		c.ID, c.Outputs, c.Count, c.Attachments, c.Extra = o.ID, o.Outputs, o.Count, o.Attachments, o.Extra
		for _, k := range leftOut {
			if v, ok := o.Metadata[k]; ok {
				c.Metadata[k] = v
			}
		}
	}
	nb.nameCells()
	nb.Minor, nb.Extra = old.Minor, old.Extra
	for k, v := range old.Metadata {
		if _, ok := nb.Metadata[k]; !ok {
			nb.Metadata[k] = v
		}
	}
}
