// Instances of generic types in the hands of compiled packages.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"sort"
	"strings"
	"sync"
	"text/template"
	"time"
	"unicode"
)

type Page[T any] struct {
	Items []T          `json:"items"`
	Next  *Page[T]     `json:"next,omitempty"`
	Meta  map[string]T `json:"meta,omitempty"`
	inner Opt[T]
}

type Opt[T any] struct{ p *T }

func (o Opt[T]) MarshalJSON() ([]byte, error) { return json.Marshal(o.p) }
func (o *Opt[T]) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		o.p = nil
		return nil
	}
	o.p = new(T)
	return json.Unmarshal(b, o.p)
}
func (o Opt[T]) Format(s fmt.State, verb rune) {
	if o.p == nil {
		io.WriteString(s, "∅")
		return
	}
	fmt.Fprintf(s, fmt.FormatString(s, verb), *o.p)
}

type User struct {
	Name string
	Age  Opt[int]
	Tags Opt[[]string]
}

type writer[T any] struct {
	w  io.Writer
	fn func(T) string
}

func (w writer[T]) Write(p []byte) (int, error) { return w.w.Write(bytes.ToUpper(p)) }

type ordered[K comparable, V any] struct {
	keys []K
	m    map[K]V
	less func(K, K) bool
}

func (o ordered[K, V]) Len() int           { return len(o.keys) }
func (o ordered[K, V]) Less(i, j int) bool { return o.less(o.keys[i], o.keys[j]) }
func (o *ordered[K, V]) Swap(i, j int)     { o.keys[i], o.keys[j] = o.keys[j], o.keys[i] }

type kindError[T any] struct {
	kind T
	error
}

func (k kindError[T]) Unwrap() error { return k.error }

func lift[T any](k T, err error) error {
	if err == nil {
		return nil
	}
	return kindError[T]{k, err}
}

func find[T any](err error) (k T, ok bool) {
	var ke kindError[T]
	if ok = errors.As(err, &ke); ok {
		k = ke.kind
	}
	return
}

type safe[T any] struct {
	sync.RWMutex
	v T
}

func (s *safe[T]) With(f func(*T)) { s.Lock(); defer s.Unlock(); f(&s.v) }
func (s *safe[T]) Get() T          { s.RLock(); defer s.RUnlock(); return s.v }

func fields[T any]() (out []string) {
	t := reflect.TypeFor[T]()
	for i := range t.NumField() {
		f := t.Field(i)
		out = append(out, f.Name+":"+f.Type.String())
	}
	for i := range t.NumMethod() {
		out = append(out, t.Method(i).Name)
	}
	return
}

type fsm[S ~string] func(rune) (fsm[S], S)

func run[S ~string](start fsm[S], in string) (out []S) {
	for _, r := range in {
		var s S
		if start, s = start(r); s != "" {
			out = append(out, s)
		}
		if start == nil {
			break
		}
	}
	return
}

type tok string

func ident(r rune) (fsm[tok], tok) {
	if unicode.IsSpace(r) {
		return space, "end"
	}
	return ident, ""
}
func space(r rune) (fsm[tok], tok) {
	switch {
	case r == '!':
		return nil, "stop"
	case unicode.IsLetter(r):
		return ident, tok("id" + string(r))
	}
	return space, ""
}

type num interface{ ~int | ~float64 }
type matrix[T num] [2][2]T

func (m matrix[T]) mul(n matrix[T]) (r matrix[T]) {
	for i := range m {
		for j := range n[0] {
			for k, x := range m[i] {
				r[i][j] += x * n[k][j]
			}
		}
	}
	return
}

func pow[M interface{ mul(M) M }](m, one M, n int) M {
	for ; n > 0; n >>= 1 {
		if n&1 == 1 {
			one = one.mul(m)
		}
		m = m.mul(m)
	}
	return one
}

func zip[A, B any, R interface {
	~struct {
		L A
		R B
	}
}](as []A, bs []B) (rs []R) {
	for i := range min(len(as), len(bs)) {
		rs = append(rs, R(struct {
			L A
			R B
		}{as[i], bs[i]}))
	}
	return
}

func retry[T any](n int, f func(int) (T, error)) (T, error) {
	var errs []error
	for i := range n {
		v, err := f(i)
		if err == nil {
			return v, nil
		}
		errs = append(errs, err)
	}
	return *new(T), errors.Join(errs...)
}

func main() {
	one := 1
	p := Page[Opt[int]]{Items: []Opt[int]{{}, {&one}}, Meta: map[string]Opt[int]{"k": {&one}}}
	p.Next = &Page[Opt[int]]{}
	b, err := json.Marshal(p)
	fmt.Println(string(b), err)
	var q Page[Opt[int]]
	fmt.Println(json.Unmarshal(b, &q), len(q.Items), q.Items[0].p == nil, *q.Items[1].p, q.Next != nil, *q.Meta["k"].p)
	var u User
	fmt.Println(json.Unmarshal([]byte(`{"Name":"x","Age":3,"Tags":["a"]}`), &u), u.Name, *u.Age.p, *u.Tags.p)
	fmt.Printf("%v %05d %v %x %T\n", u, u.Age, u.Tags, Opt[string]{}, u.Tags)
	fmt.Fprintf(writer[int]{w: &bytes.Buffer{}}, "x")
	var sb strings.Builder
	fmt.Fprintf(writer[string]{w: &sb}, "hello %d", 5)
	template.Must(template.New("t").Parse(`{{range .Items}}[{{.}}]{{end}}{{.Next.Items | len}}`)).Execute(&sb, p)
	fmt.Println(sb.String())

	o := &ordered[string, int]{keys: []string{"b", "c", "a"}, less: func(a, b string) bool { return a < b }}
	sort.Sort(o)
	fmt.Println(o.keys, o.m["x"])
	err = fmt.Errorf("ctx: %w", lift(404, lift("net", io.EOF)))
	code, ok := find[int](err)
	name, ok2 := find[string](err)
	_, ok3 := find[float64](err)
	fmt.Println(err, code, ok, name, ok2, ok3, errors.Is(err, io.EOF), lift(1, nil) == nil)

	var s safe[map[string]int]
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			s.With(func(m *map[string]int) {
				if *m == nil {
					*m = map[string]int{}
				}
				(*m)[fmt.Sprint(i%3)]++
			})
		})
	}
	wg.Wait()
	fmt.Println(s.Get(), len(s.v))
	fmt.Println(fields[Page[string]](), fields[kindError[int]]())
	fmt.Println(run(fsm[tok](space), " ab c !d"))
	fib := matrix[int]{{1, 1}, {1, 0}}
	fmt.Println(pow(fib, matrix[int]{{1, 0}, {0, 1}}, 30), pow(matrix[float64]{{0.5, 0}, {0, 2}}, matrix[float64]{{1, 0}, {0, 1}}, 3))
	fmt.Printf("%+v\n", zip[int, string, struct {
		L int
		R string
	}]([]int{1, 2}, []string{"a", "b", "c"}))
	v, err := retry(3, func(i int) (time.Duration, error) {
		if i < 2 {
			return 0, fmt.Errorf("try %d", i)
		}
		return time.Second, nil
	})
	fmt.Println(v, err)
	_, err = retry(2, func(i int) ([]int, error) { return nil, fmt.Errorf("try %d", i) })
	fmt.Printf("%q\n", err)
}
