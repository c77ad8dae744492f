package frame

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"dace.local/dacelib/files"
)

// CSVSettings say how a CSV file is read. The zero value finds out by itself.
type CSVSettings struct {
	// Comma separates the values; 0 means the one of comma, semicolon, tab and
	// bar that is most frequent in the first line.
	Comma rune
	// Comment, if not 0, begins lines that are not read.
	Comment rune
	// Names are the names of the columns of a file whose first line is data.
	Names []string
	// Texts are the names of columns that stay texts, such as codes with
	// leading zeros. Others hold whole numbers, numbers, truth values ("true",
	// "false"), times (RFC 3339, or dates as 2006-01-02) or else texts: the
	// first of these that all their values are.
	Texts []string
	// Missing are values, besides empty ones, that stand for a missing value;
	// default "NA", "N/A", "NaN", "nan", "null" and "NULL". A column of whole
	// numbers of which some are missing holds numbers, with NaN.
	Missing []string
	// DecimalComma reads 1,5 as 1.5.
	DecimalComma bool
}

var missingTexts = []string{"NA", "N/A", "NaN", "nan", "null", "NULL"}

// ReadCSV reads a CSV file, which may be compressed with gzip. The first line
// has the names of the columns.
func ReadCSV(path string) (Frame, error) { return ReadCSVWith(path, CSVSettings{}) }

// ReadCSVWith is [ReadCSV] with settings.
func ReadCSVWith(path string, s CSVSettings) (Frame, error) {
	file, err := os.Open(path)
	if err != nil {
		return Frame{}, fmt.Errorf("frame: %w", err)
	}
	defer file.Close()
	f, err := ParseCSV(file, s)
	if err != nil {
		return f, fmt.Errorf("%s: %w", path, err)
	}
	return f, nil
}

// ParseCSV reads CSV, possibly compressed with gzip, to its end.
func ParseCSV(r io.Reader, s CSVSettings) (Frame, error) {
	in := bufio.NewReaderSize(files.Reader(r, 2), 1<<16)
	if magic, _ := in.Peek(2); bytes.Equal(magic, []byte{0x1f, 0x8b}) {
		z, err := gzip.NewReader(in)
		if err != nil {
			return Frame{}, fmt.Errorf("frame: %w", err)
		}
		in = bufio.NewReaderSize(files.Reader(z, 2), 1<<16)
	}
	if mark, _ := in.Peek(3); bytes.Equal(mark, []byte("\xef\xbb\xbf")) { // a byte order mark, as from Excel
		_, _ = in.Discard(3)
	}
	if s.Comma == 0 {
		first, _ := in.Peek(1 << 16)
		s.Comma = separator(first)
	}
	if s.Missing == nil {
		s.Missing = missingTexts
	}
	reader := csv.NewReader(in)
	reader.Comma, reader.Comment, reader.ReuseRecord = s.Comma, s.Comment, true
	names := slices.Clone(s.Names)
	if names == nil {
		record, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return Frame{}, errors.New("frame: the file is empty")
		} else if err != nil {
			return Frame{}, fmt.Errorf("frame: %w", err)
		}
		names = slices.Clone(record)
		for i, n := range names {
			if names[i] = strings.TrimSpace(n); names[i] == "" {
				names[i] = "column " + strconv.Itoa(i+1)
			}
		}
	}
	if twice := repeated(names); twice != "" {
		return Frame{}, fmt.Errorf("frame: there are two columns %q", twice)
	}
	reader.FieldsPerRecord = len(names)
	c, err := readCells(reader, len(names))
	if err != nil {
		return Frame{}, fmt.Errorf("frame: %w", err)
	}
	f := Frame{rows: c.rows(), columns: make([]column, len(names))}
	var wg sync.WaitGroup
	for j, name := range names {
		wg.Go(func() { f.columns[j] = column{name, c.parse(j, name, s)} })
	}
	wg.Wait()
	return f, nil
}

// separator returns the most frequent separator of the first line of text.
func separator(text []byte) rune {
	line, _, _ := bytes.Cut(text, []byte("\n"))
	best, most := ',', 0
	for _, r := range ",;\t|" {
		if n := bytes.Count(line, []byte(string(r))); n > most {
			best, most = r, n
		}
	}
	return best
}

func repeated(names []string) string {
	seen := map[string]bool{}
	for _, n := range names {
		if seen[n] {
			return n
		}
		seen[n] = true
	}
	return ""
}

// cells holds the texts of a file's values, row by row.
type cells struct {
	text  []byte
	ends  []int // of each value in text
	width int
}

func readCells(r *csv.Reader, width int) (*cells, error) {
	c, next := &cells{width: width}, 0
	for {
		record, err := r.Read()
		if errors.Is(err, io.EOF) {
			return c, nil
		}
		if err != nil {
			return nil, err
		}
		for _, v := range record {
			c.text = append(c.text, v...)
			c.ends = append(c.ends, len(c.text))
		}
		if len(c.ends) > next { // the two are copied as they grow, and then there are the columns
			if err := files.Need(int64(len(c.text))*5/4 + 26*int64(len(c.ends))); err != nil {
				return nil, fmt.Errorf("after %d rows: %w", c.rows(), err)
			}
			next = len(c.ends)*5/4 + 1<<16
		}
	}
}

func (c *cells) rows() int {
	if c.width == 0 {
		return 0
	}
	return len(c.ends) / c.width
}

// at returns the value of a row and column.
func (c *cells) at(i, j int) []byte {
	k := i*c.width + j
	from := 0
	if k > 0 {
		from = c.ends[k-1]
	}
	return c.text[from:c.ends[k]]
}

// parse returns the values of a column in the type that all of them have.
func (c *cells) parse(j int, name string, s CSVSettings) any {
	if !slices.Contains(s.Texts, name) {
		missing := map[string]bool{"": true}
		for _, m := range s.Missing {
			missing[m] = true
		}
		isMissing := func(b []byte) bool { return missing[string(b)] }
		if v, ok := c.ints(j); ok {
			return v
		}
		if v, ok := c.numbers(j, isMissing, s.DecimalComma); ok {
			return v
		}
		if v, ok := c.bools(j); ok {
			return v
		}
		if v, ok := c.times(j, isMissing); ok {
			return v
		}
	}
	return c.texts(j)
}

func (c *cells) ints(j int) ([]int, bool) {
	out := make([]int, c.rows())
	for i := range out {
		b := bytes.TrimSpace(c.at(i, j))
		if len(b) > 1 && (b[0] == '0' || b[0] == '+') {
			return nil, false // a code
		}
		n, err := strconv.Atoi(string(b))
		if err != nil {
			return nil, false
		}
		out[i] = n
	}
	return out, len(out) > 0
}

func (c *cells) numbers(j int, missing func([]byte) bool, comma bool) ([]float64, bool) {
	out := make([]float64, c.rows())
	any := false
	for i := range out {
		b := bytes.TrimSpace(c.at(i, j))
		if missing(b) {
			out[i] = math.NaN()
			continue
		}
		if len(b) > 1 && b[0] == '0' && '0' <= b[1] && b[1] <= '9' {
			return nil, false // a code
		}
		if comma {
			b = bytes.Replace(b, []byte(","), []byte("."), 1)
		}
		x, err := strconv.ParseFloat(string(b), 64)
		if err != nil || len(b) > 1 && b[1] == 'x' || bytes.IndexByte(b, '_') >= 0 {
			return nil, false
		}
		out[i], any = x, true
	}
	return out, any
}

func (c *cells) bools(j int) ([]bool, bool) {
	out := make([]bool, c.rows())
	for i := range out {
		switch strings.ToLower(string(bytes.TrimSpace(c.at(i, j)))) {
		case "true":
			out[i] = true
		case "false":
		default:
			return nil, false
		}
	}
	return out, len(out) > 0
}

// layouts are the forms of times that columns are recognised by.
var layouts = []string{time.DateOnly, time.RFC3339Nano, time.DateTime, "2006-01-02T15:04:05"}

func (c *cells) times(j int, missing func([]byte) bool) ([]time.Time, bool) {
	for _, layout := range layouts {
		out := make([]time.Time, c.rows())
		any, all := false, true
		for i := range out {
			b := bytes.TrimSpace(c.at(i, j))
			if missing(b) {
				continue
			}
			t, err := time.Parse(layout, string(b))
			if err != nil {
				all = false
				break
			}
			out[i], any = t, true
		}
		if any && all {
			return out, true
		}
	}
	return nil, false
}

// texts returns a column's texts; equal texts share memory.
func (c *cells) texts(j int) []string {
	out := make([]string, c.rows())
	seen := map[string]string{}
	for i := range out {
		b := c.at(i, j)
		s, ok := seen[string(b)]
		if !ok {
			s = string(b)
			if len(seen) < 1<<16 {
				seen[s] = s
			}
		}
		out[i] = s
	}
	return out
}

// WriteCSV writes the frame to a file. Numbers have full precision, missing
// ones are empty.
func (f Frame) WriteCSV(path string) error {
	var b bytes.Buffer
	if err := f.FormatCSV(&b); err != nil {
		return err
	}
	if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
		return fmt.Errorf("frame: %w", err)
	}
	return nil
}

// FormatCSV writes the frame as CSV to w.
func (f Frame) FormatCSV(w io.Writer) error {
	out := csv.NewWriter(w)
	if err := out.Write(f.Names()); err != nil {
		return fmt.Errorf("frame: %w", err)
	}
	record := make([]string, len(f.columns))
	for i := range f.rows {
		for j, c := range f.columns {
			record[j] = c.text(i)
		}
		if len(record) == 1 && record[0] == "" {
			// An empty line is not a row.
			out.Flush()
			if _, err := io.WriteString(w, "\"\"\n"); err != nil {
				return fmt.Errorf("frame: %w", err)
			}
			continue
		}
		if err := out.Write(record); err != nil {
			return fmt.Errorf("frame: %w", err)
		}
	}
	out.Flush()
	if err := out.Error(); err != nil {
		return fmt.Errorf("frame: %w", err)
	}
	return nil
}

// mostRows is how many rows String shows: the first and the last half.
const mostRows = 20

// String returns the first and last rows as text, with the number of rows.
func (f Frame) String() string {
	var rows []int
	for i := range f.rows {
		if f.rows <= mostRows || i < mostRows/2 || i >= f.rows-mostRows/2 {
			rows = append(rows, i)
		}
	}
	var b strings.Builder
	texts := make([][]string, len(f.columns))
	widths := make([]int, len(f.columns))
	for j, c := range f.columns {
		widths[j] = utf8.RuneCountInString(c.name)
		for _, i := range rows {
			text := c.text(i)
			if v, ok := c.values.([]float64); ok {
				text = strconv.FormatFloat(v[i], 'g', 6, 64)
			}
			texts[j] = append(texts[j], text)
			widths[j] = max(widths[j], utf8.RuneCountInString(text))
		}
	}
	line := func(text func(j int) string) {
		for j, c := range f.columns {
			pad := strings.Repeat(" ", widths[j]-utf8.RuneCountInString(text(j)))
			switch {
			case c.numeric():
				b.WriteString(pad + text(j))
			case j == len(f.columns)-1:
				b.WriteString(text(j))
			default:
				b.WriteString(text(j) + pad)
			}
			if j < len(f.columns)-1 {
				b.WriteString("  ")
			}
		}
		b.WriteString("\n")
	}
	line(func(j int) string { return f.columns[j].name })
	for k := range rows {
		if k > 0 && rows[k] != rows[k-1]+1 {
			b.WriteString("...\n")
		}
		line(func(j int) string { return texts[j][k] })
	}
	fmt.Fprintf(&b, "%d rows", f.rows)
	return b.String()
}
