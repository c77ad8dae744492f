package std

import (
	"context"
	"io"
	"net/http"
	"net/rpc"
	"net/rpc/jsonrpc"
	"reflect"
	"runtime/pprof"
	"slices"

	"gonum.org/v1/gonum/diff/fd"
	"gonum.org/v1/gonum/mat"

	"dace.local/kernel/gocell/internal/vm"
)

// A nil function, connection or writer that a library meets in a goroutine of its own ends
// the process, so that these panic where they are handed over.

// present panics as the use of nil does where there is something: a library would use it
// in a goroutine of its own.
func present(ok bool) {
	if !ok {
		panic(vm.NilDereference)
	}
}

// overrideAbsent replaces the functions of a package that start goroutines which use an
// argument.
func overrideAbsent(ipath string, set func(name string, f any)) {
	switch ipath {
	case "net/rpc":
		set("NewClient", func(c io.ReadWriteCloser) *rpc.Client { present(c != nil); return rpc.NewClient(c) })
		set("NewClientWithCodec", func(c rpc.ClientCodec) *rpc.Client { present(c != nil); return rpc.NewClientWithCodec(c) })
	case "net/rpc/jsonrpc":
		set("NewClient", func(c io.ReadWriteCloser) *rpc.Client { present(c != nil); return jsonrpc.NewClient(c) })
	case "runtime/pprof":
		set("StartCPUProfile", func(w io.Writer) error { present(w != nil); return pprof.StartCPUProfile(w) })
	case "net/http":
		set("NewRequest", func(method, url string, body io.Reader) (*http.Request, error) {
			used(body)
			return http.NewRequest(method, url, body)
		})
		set("NewRequestWithContext", func(ctx context.Context, method, url string, body io.Reader) (*http.Request, error) {
			used(body)
			return http.NewRequestWithContext(ctx, method, url, body)
		})
		set("Post", func(url, contentType string, body io.Reader) (*http.Response, error) {
			used(body)
			return http.Post(url, contentType, body)
		})
	case "gonum.org/v1/gonum/diff/fd":
		set("Jacobian", func(dst *mat.Dense, f func(y, x []float64), x []float64, s *fd.JacobianSettings) {
			present(f != nil)
			fd.Jacobian(dst, f, x, s)
		})
		set("Hessian", func(dst *mat.SymDense, f func(x []float64) float64, x []float64, s *fd.Settings) {
			present(f != nil)
			fd.Hessian(dst, f, x, s)
		})
		set("Gradient", func(dst []float64, f func(x []float64) float64, x []float64, s *fd.Settings) []float64 {
			present(f != nil)
			return fd.Gradient(dst, f, x, s)
		})
		set("Laplacian", func(f func(x []float64) float64, x []float64, s *fd.Settings) float64 {
			present(f != nil)
			return fd.Laplacian(f, x, s)
		})
		set("CrossLaplacian", func(f func(x, y []float64) float64, x, y []float64, s *fd.Settings) float64 {
			present(f != nil)
			return fd.CrossLaplacian(f, x, y, s)
		})
	}
}

// absentMethods returns stand-ins for such methods.
func absentMethods() map[string]any {
	return map[string]any{
		"(*net/http.Server).RegisterOnShutdown": func(s *http.Server, f func()) {
			present(f != nil)
			s.RegisterOnShutdown(f)
		},
		"(*net/http.Client).Post": func(c *http.Client, url, contentType string, body io.Reader) (*http.Response, error) {
			used(body)
			return c.Post(url, contentType, body)
		},
		"(*net/http.Client).Do": func(c *http.Client, r *http.Request) (*http.Response, error) {
			if r != nil {
				used(r.Body)
			}
			return c.Do(r)
		},
	}
}

// used panics if a reader or writer is a nil pointer of the standard library's, or reads
// from or writes to nothing.
func used(streams ...any) {
	for _, x := range streams {
		present(!usesNil(reflect.ValueOf(x), 10))
	}
}

// usesNil reports whether v, or a reader or writer in it, is nil, at most depth of them
// deep.
func usesNil(v reflect.Value, depth int) bool {
	if !v.IsValid() || depth == 0 {
		return false
	}
	t := v.Type()
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if !slices.Contains([]string{"bufio", "bytes", "io", "strings"}, t.PkgPath()) {
		return false
	}
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return true
		}
		v = v.Elem()
	}
	if v.Kind() != reflect.Struct {
		return false
	}
	for i := range t.NumField() {
		f := t.Field(i).Type
		list := f.Kind() == reflect.Slice
		if list {
			f = f.Elem()
		}
		if f.Kind() != reflect.Interface || f.PkgPath() != "io" {
			continue
		}
		all := []reflect.Value{v.Field(i)}
		if list {
			all = all[:0]
			for k := range v.Field(i).Len() {
				all = append(all, v.Field(i).Index(k))
			}
		}
		if slices.ContainsFunc(all, func(x reflect.Value) bool { return x.IsNil() || usesNil(x.Elem(), depth-1) }) {
			return true
		}
	}
	return false
}
