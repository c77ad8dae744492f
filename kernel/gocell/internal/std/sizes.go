package std

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"image"
	"io"
	"maps"
	"os"
	"path"
	"reflect"
	"regexp"
	"strings"
	"sync"
)

// A library that allocates more memory than there is ends the process: Go's run
// time cannot recover from it. Functions that allocate by a number that a cell
// passes are replaced by ones that compare the size beforehand and panic. The
// tables of these functions are in sizestable.go for the standard library and in
// sizesscience.go for gonum and gorgonia.

// sized is a function of a library that allocates by its arguments. Given need,
// which panics for too many bytes, it returns the function's replacement.
type sized func(need func(bytes float64)) any

// sizedFuncs returns the replacements of functions by package and name.
var sizedFuncs = sync.OnceValue(func() map[string]map[string]sized {
	m := map[string]map[string]sized{}
	for key, f := range allSized() {
		if strings.HasPrefix(key, "(") {
			continue
		}
		dir, base := path.Split(key)
		pkg, name, _ := strings.Cut(base, ".")
		if m[dir+pkg] == nil {
			m[dir+pkg] = map[string]sized{}
		}
		m[dir+pkg][name] = f
	}
	return m
})

// sizedMethods returns the replacements of methods by their full names.
var sizedMethods = sync.OnceValue(func() map[string]sized {
	m := allSized()
	maps.DeleteFunc(m, func(key string, _ sized) bool { return !strings.HasPrefix(key, "(") })
	return m
})

// allSized returns the tables as one.
func allSized() map[string]sized {
	m := map[string]sized{}
	for _, table := range []map[string]sized{sizedStd(), sizedGonum(), sizedGorgonia()} {
		maps.Copy(m, table)
	}
	return m
}

// folders matches the folder of an import path.
var folders = regexp.MustCompile(`[\w.-]+/`)

// shortName returns the full name of a function as cells write it:
// (*gonum.org/v1/gonum/mat.Dense).Outer is (*mat.Dense).Outer.
func shortName(full string) string { return folders.ReplaceAllString(full, "") }

// need returns the function that panics if what a library's function allocates
// is too large.
func (l *Library) need(full string) func(bytes float64) {
	name := shortName(full)
	return func(bytes float64) { l.machine.Need(name, bytes) }
}

// overrideSized replaces the functions of a package that allocate by a number.
func (l *Library) overrideSized(ipath string, set func(name string, f any)) {
	for name, f := range sizedFuncs()[ipath] {
		set(name, f(l.need(ipath+"."+name)))
	}
	switch ipath {
	case "io":
		set("ReadAll", l.readAll)
		set("Copy", l.copyAll)
	case "encoding/csv":
		set("NewReader", func(r io.Reader) *csv.Reader {
			if b, ok := r.(*bufio.Reader); ok {
				return csv.NewReader(b) // which has what the csv.Reader does not read
			}
			return csv.NewReader(&lineReader{r: r, l: l})
		})
	case "io/ioutil":
		set("ReadAll", l.readAll)
		set("ReadFile", l.readFile)
	case "os":
		set("ReadFile", l.readFile)
	}
}

// sizedStandIns returns the replacements of methods that allocate by a number.
func (l *Library) sizedStandIns() map[string]any {
	all := map[string]any{"(*bytes.Buffer).ReadFrom": func(b *bytes.Buffer, r io.Reader) (int64, error) {
		return b.ReadFrom(l.growing("(*bytes.Buffer).ReadFrom", b, r))
	}}
	maps.Copy(all, l.readingMethods())
	for name, f := range sizedMethods() {
		all[name] = f(l.need(name))
	}
	return all
}

// readingMethods returns stand-ins for methods that keep what they read until they
// come to an end of it.
func (l *Library) readingMethods() map[string]any {
	bytesTo := func(what string, r *bufio.Reader, delim byte) (line []byte, err error) {
		for {
			part, err := r.ReadSlice(delim)
			line = append(line, part...)
			if err != bufio.ErrBufferFull {
				return line, err
			}
			l.kept(what, len(line))
		}
	}
	return map[string]any{
		"(*bufio.Reader).ReadBytes": func(r *bufio.Reader, delim byte) ([]byte, error) {
			return bytesTo("(*bufio.Reader).ReadBytes", r, delim)
		},
		"(*bufio.Reader).ReadString": func(r *bufio.Reader, delim byte) (string, error) {
			b, err := bytesTo("(*bufio.Reader).ReadString", r, delim)
			return string(b), err
		},
		"(*bufio.Scanner).Buffer": func(s *bufio.Scanner, buf []byte, most int) {
			if most > smallBuffer { // the buffer grows to twice its size
				most = min(most, max(smallBuffer, int(l.machine.Left()/4)))
			}
			s.Buffer(buf, most)
		},
		"(*encoding/csv.Reader).ReadAll": func(r *csv.Reader) (all [][]string, err error) {
			size, next := 0, 0
			for {
				record, err := r.Read()
				if err == io.EOF {
					return all, nil
				}
				if err != nil {
					return nil, err
				}
				all = append(all, record)
				for _, v := range record {
					size += 16 + len(v)
				}
				if size > next {
					l.kept("(*csv.Reader).ReadAll", size)
					next = size + size/4
				}
			}
		},
	}
}

// smallBuffer is the size of a buffer that is not compared with the memory.
const smallBuffer = 64 << 20

// kept panics if there is no memory for twice as much as a function has read, or
// the cell was interrupted.
func (l *Library) kept(what string, n int) {
	if c := l.machine.Cell(); c != nil && c.Context().Err() != nil {
		panic(c.Context().Err())
	}
	l.machine.Need(what, 2*float64(n))
}

// A lineReader compares the length of a line with the memory.
type lineReader struct {
	r io.Reader
	l *Library
	n int // bytes since the line's end before
}

func (r *lineReader) Read(b []byte) (int, error) {
	n, err := r.r.Read(b)
	if i := bytes.LastIndexByte(b[:n], '\n'); i >= 0 {
		r.n = n - i
	} else {
		r.n += n
	}
	if r.n > 1<<20 {
		r.l.kept("a line of csv.Reader", 2*r.n)
	}
	return n, err
}

// readFile is os.ReadFile for a file that fits the memory.
func (l *Library) readFile(name string) ([]byte, error) {
	if info, err := os.Stat(name); err == nil && info.Mode().IsRegular() {
		l.machine.Need("os.ReadFile of "+name, float64(info.Size()))
		return os.ReadFile(name)
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return l.readAll(f)
}

// readAll is io.ReadAll, but ends the cell when what is read outgrows the
// memory, and when the cell is interrupted.
func (l *Library) readAll(r io.Reader) ([]byte, error) {
	return io.ReadAll(l.growing("io.ReadAll", nil, r))
}

// copyAll is io.Copy with the same checks where the destination is memory.
func (l *Library) copyAll(to io.Writer, from io.Reader) (int64, error) {
	switch b := to.(type) {
	case *bytes.Buffer:
		from = l.growing("io.Copy", b, from)
	case *strings.Builder:
		from = l.growing("io.Copy", b, from)
	}
	if g, ok := from.(*growingReader); ok {
		if w, ok := g.r.(io.WriterTo); ok {
			return w.WriteTo(growingWriter{to, g})
		}
	}
	return io.Copy(to, from)
}

// growing returns a reader of r whose bytes are kept in memory, besides those
// that there are.
func (l *Library) growing(what string, kept interface{ Len() int }, r io.Reader) io.Reader {
	switch r.(type) {
	case *bytes.Reader, *bytes.Buffer, *strings.Reader:
		return r // it is not larger than what is there
	}
	g := &growingReader{r: r, check: func(int64) {}}
	var n int64
	if kept != nil && !reflect.ValueOf(kept).IsNil() {
		n = int64(kept.Len())
	}
	c := l.machine.Cell()
	g.n, g.check = n, func(n int64) {
		if c != nil && c.Context().Err() != nil {
			panic(c.Context().Err())
		}
		l.machine.Need(what, 2*float64(n))
	}
	return g
}

// A growingReader calls check each time that the bytes read have grown by half.
type growingReader struct {
	r       io.Reader
	n, next int64
	check   func(n int64)
}

func (g *growingReader) Read(b []byte) (int, error) {
	n, err := g.r.Read(b)
	g.count(n)
	return n, err
}

func (g *growingReader) count(n int) {
	if g.n += int64(n); g.n > g.next {
		g.check(g.n)
		g.next = g.n + g.n/2 + 1<<20
	}
}

// A growingWriter is what a reader writes itself to, with the checks of a growingReader.
type growingWriter struct {
	io.Writer
	g *growingReader
}

func (w growingWriter) Write(b []byte) (int, error) {
	w.g.count(len(b))
	return w.Writer.Write(b)
}

// bytesOf returns the size of an array of numbers dims with elements of each
// bytes, 0 if a number is not positive: the function reports that itself.
func bytesOf(each float64, dims ...int) float64 {
	for _, n := range dims {
		if n <= 0 {
			return 0
		}
		each *= float64(n)
	}
	return each
}

// pixels returns the size of an image with pixels of each bytes.
func pixels(each float64, r image.Rectangle) float64 { return bytesOf(each, r.Dx(), r.Dy()) }

// joined returns the length of elements joined by a separator of sep bytes.
func joined[E ~string | ~[]byte](elems []E, sep int) float64 {
	n := bytesOf(float64(sep), len(elems)-1)
	for _, e := range elems {
		n += float64(len(e))
	}
	return n
}

// replaced returns the most bytes that a text of size bytes has after n
// replacements of old by new bytes; count counts the replacements, which takes
// a while.
func replaced(size, old, new, n int, count func() int) float64 {
	most := size/max(old, 1) + 1
	if n >= 0 {
		most = min(n, most)
	}
	if float64(most)*float64(new) > 1<<26 {
		if c := count() + 1; n < 0 || c < n {
			most = min(most, c)
		}
	}
	return float64(size) + max(0, bytesOf(float64(new-old), most))
}

// The functions below make replacements of functions by their shape: the number
// of parameters, and of results where there are more or fewer than one.

func func1[A, R any](f func(A) R, size func(A) float64) sized {
	return func(need func(float64)) any { return func(a A) R { need(size(a)); return f(a) } }
}

func func2[A, B, R any](f func(A, B) R, size func(A, B) float64) sized {
	return func(need func(float64)) any { return func(a A, b B) R { need(size(a, b)); return f(a, b) } }
}

func func3[A, B, C, R any](f func(A, B, C) R, size func(A, B, C) float64) sized {
	return func(need func(float64)) any {
		return func(a A, b B, c C) R { need(size(a, b, c)); return f(a, b, c) }
	}
}

func func4[A, B, C, D, R any](f func(A, B, C, D) R, size func(A, B, C, D) float64) sized {
	return func(need func(float64)) any {
		return func(a A, b B, c C, d D) R { need(size(a, b, c, d)); return f(a, b, c, d) }
	}
}

func func5[A, B, C, D, E, R any](f func(A, B, C, D, E) R, size func(A, B, C, D, E) float64) sized {
	return func(need func(float64)) any {
		return func(a A, b B, c C, d D, e E) R { need(size(a, b, c, d, e)); return f(a, b, c, d, e) }
	}
}

func func6[A, B, C, D, E, F, R any](f func(A, B, C, D, E, F) R, size func(A, B, C, D, E, F) float64) sized {
	return func(need func(float64)) any {
		return func(a A, b B, c C, d D, e E, g F) R {
			need(size(a, b, c, d, e, g))
			return f(a, b, c, d, e, g)
		}
	}
}

func func7[A, B, C, D, E, F, G, R any](f func(A, B, C, D, E, F, G) R, size func(A, B, C, D, E, F, G) float64) sized {
	return func(need func(float64)) any {
		return func(a A, b B, c C, d D, e E, g F, h G) R {
			need(size(a, b, c, d, e, g, h))
			return f(a, b, c, d, e, g, h)
		}
	}
}

func pair1[A, R, S any](f func(A) (R, S), size func(A) float64) sized {
	return func(need func(float64)) any { return func(a A) (R, S) { need(size(a)); return f(a) } }
}

func pair2[A, B, R, S any](f func(A, B) (R, S), size func(A, B) float64) sized {
	return func(need func(float64)) any {
		return func(a A, b B) (R, S) { need(size(a, b)); return f(a, b) }
	}
}

func pair3[A, B, C, R, S any](f func(A, B, C) (R, S), size func(A, B, C) float64) sized {
	return func(need func(float64)) any {
		return func(a A, b B, c C) (R, S) { need(size(a, b, c)); return f(a, b, c) }
	}
}

func pair4[A, B, C, D, R, S any](f func(A, B, C, D) (R, S), size func(A, B, C, D) float64) sized {
	return func(need func(float64)) any {
		return func(a A, b B, c C, d D) (R, S) { need(size(a, b, c, d)); return f(a, b, c, d) }
	}
}

func triple4[A, B, C, D, R, S, T any](f func(A, B, C, D) (R, S, T), size func(A, B, C, D) float64) sized {
	return func(need func(float64)) any {
		return func(a A, b B, c C, d D) (R, S, T) { need(size(a, b, c, d)); return f(a, b, c, d) }
	}
}

func do2[A, B any](f func(A, B), size func(A, B) float64) sized {
	return func(need func(float64)) any { return func(a A, b B) { need(size(a, b)); f(a, b) } }
}

func do3[A, B, C any](f func(A, B, C), size func(A, B, C) float64) sized {
	return func(need func(float64)) any {
		return func(a A, b B, c C) { need(size(a, b, c)); f(a, b, c) }
	}
}

func do4[A, B, C, D any](f func(A, B, C, D), size func(A, B, C, D) float64) sized {
	return func(need func(float64)) any {
		return func(a A, b B, c C, d D) { need(size(a, b, c, d)); f(a, b, c, d) }
	}
}

// Functions that are variadic in their last parameter.

func variadic1[A, R any](f func(...A) R, size func([]A) float64) sized {
	return func(need func(float64)) any { return func(a ...A) R { need(size(a)); return f(a...) } }
}

func variadic2[A, B, R any](f func(A, ...B) R, size func(A, []B) float64) sized {
	return func(need func(float64)) any {
		return func(a A, b ...B) R { need(size(a, b)); return f(a, b...) }
	}
}

func variadic3[A, B, C, R any](f func(A, B, ...C) R, size func(A, B, []C) float64) sized {
	return func(need func(float64)) any {
		return func(a A, b B, c ...C) R { need(size(a, b, c)); return f(a, b, c...) }
	}
}

func variadic4[A, B, C, D, R any](f func(A, B, C, ...D) R, size func(A, B, C, []D) float64) sized {
	return func(need func(float64)) any {
		return func(a A, b B, c C, d ...D) R { need(size(a, b, c, d)); return f(a, b, c, d...) }
	}
}

func variadic5[A, B, C, D, E, R any](f func(A, B, C, D, ...E) R, size func(A, B, C, D, []E) float64) sized {
	return func(need func(float64)) any {
		return func(a A, b B, c C, d D, e ...E) R { need(size(a, b, c, d, e)); return f(a, b, c, d, e...) }
	}
}

func variadicPair3[A, B, C, R, S any](f func(A, B, ...C) (R, S), size func(A, B, []C) float64) sized {
	return func(need func(float64)) any {
		return func(a A, b B, c ...C) (R, S) { need(size(a, b, c)); return f(a, b, c...) }
	}
}
