package std

import (
	"encoding/gob"
	"encoding/json"
	"fmt"
	htmltemplate "html/template"
	"io"
	"maps"
	"reflect"
	"strings"
	"text/template"

	"dace.local/kernel/gocell/internal/vm"
)

// Encoders, decoders and templates hold the locks of the maps of their values (see
// sharedmaps.go), but not while they write, read or call a template's function:
// who is at the other end may wait for the same maps. None of them does so in the
// middle of a loop over a map.

// A freeWriter writes without the locks.
type freeWriter struct{ w io.Writer }

func (f freeWriter) Write(b []byte) (n int, err error) {
	vm.WithoutMaps(func() { n, err = f.w.Write(b) })
	return n, err
}

// A freeReader reads without the locks.
type freeReader struct{ r io.Reader }

func (f freeReader) Read(b []byte) (n int, err error) {
	vm.WithoutMaps(func() { n, err = f.r.Read(b) })
	return n, err
}

// freeByteReader is a freeReader for package gob, which reads no further than it
// must from what is an io.ByteReader.
type freeByteReader struct{ freeReader }

func (f freeByteReader) ReadByte() (b byte, err error) {
	vm.WithoutMaps(func() { b, err = f.r.(io.ByteReader).ReadByte() })
	return b, err
}

// overrideStreams replaces the functions of a package that make encoders and
// decoders.
func overrideStreams(ipath string, set func(name string, f any)) {
	switch ipath {
	case "encoding/json":
		set("NewEncoder", func(w io.Writer) *json.Encoder { return json.NewEncoder(freeWriter{w}) })
		set("NewDecoder", func(r io.Reader) *json.Decoder { return json.NewDecoder(freeReader{r}) })
	case "encoding/gob":
		set("NewEncoder", func(w io.Writer) *gob.Encoder { return gob.NewEncoder(freeWriter{w}) })
		set("NewDecoder", func(r io.Reader) *gob.Decoder {
			if _, ok := r.(io.ByteReader); ok {
				return gob.NewDecoder(freeByteReader{freeReader{r}})
			}
			return gob.NewDecoder(freeReader{r})
		})
	}
}

// streamMethods returns stand-ins for methods that use maps while they write or
// read.
func streamMethods() map[string]any {
	return map[string]any{
		"(*encoding/json.Encoder).Encode": func(e *json.Encoder, v any) error {
			_, err := encodedJSON(v, func() ([]byte, error) { return nil, e.Encode(v) })
			return err
		},
		"(*encoding/json.Decoder).Decode": func(d *json.Decoder, v any) error {
			return writing(func() error { return d.Decode(v) }, v)
		},
		"(*encoding/gob.Decoder).Decode": func(d *gob.Decoder, v any) error {
			return writing(func() error { return d.Decode(v) }, v)
		},
		"(*text/template.Template).Execute": func(t *template.Template, w io.Writer, data any) error {
			return reading(func() error { return t.Execute(freeWriter{w}, data) }, data)
		},
		"(*text/template.Template).ExecuteTemplate": func(t *template.Template, w io.Writer, name string, data any) error {
			return reading(func() error { return t.ExecuteTemplate(freeWriter{w}, name, data) }, data)
		},
		"(*text/template.Template).Parse": func(t *template.Template, text string) (*template.Template, error) {
			if err := parsable(text); err != nil {
				return nil, err
			}
			return t.Parse(text)
		},
		"(*html/template.Template).Parse": func(t *htmltemplate.Template, text string) (*htmltemplate.Template, error) {
			if err := parsable(text); err != nil {
				return nil, err
			}
			return t.Parse(text)
		},
		"(*text/template.Template).Funcs": func(t *template.Template, funcs template.FuncMap) *template.Template {
			return t.Funcs(freed(funcs))
		},
		"(*html/template.Template).Execute": func(t *htmltemplate.Template, w io.Writer, data any) error {
			return reading(func() error { return t.Execute(freeWriter{w}, data) }, data)
		},
		"(*html/template.Template).ExecuteTemplate": func(t *htmltemplate.Template, w io.Writer, name string, data any) error {
			return reading(func() error { return t.ExecuteTemplate(freeWriter{w}, name, data) }, data)
		},
		"(*html/template.Template).Funcs": func(t *htmltemplate.Template, funcs htmltemplate.FuncMap) *htmltemplate.Template {
			return t.Funcs(freed(funcs))
		},
	}
}

// parsable returns an error for a template with so many actions or parentheses
// that the parser, which recurses into nested ones, could overflow the stack.
func parsable(text string) error {
	const most = 400_000
	if strings.Count(text, "{{") > most || strings.Count(text, "(") > most {
		return fmt.Errorf("template: it has more than %d actions or parentheses", most)
	}
	return nil
}

// freed returns functions of a template that are called without the locks.
func freed(funcs map[string]any) map[string]any {
	all := map[string]any{}
	for name, f := range reading(func() map[string]any { return maps.Clone(funcs) }, funcs) {
		v := reflect.ValueOf(f)
		if v.Kind() == reflect.Func && !v.IsNil() {
			call := v.Call
			if v.Type().IsVariadic() {
				call = v.CallSlice
			}
			f = reflect.MakeFunc(v.Type(), func(in []reflect.Value) (out []reflect.Value) {
				vm.WithoutMaps(func() { out = call(in) })
				return out
			}).Interface()
		}
		all[name] = f
	}
	return all
}
