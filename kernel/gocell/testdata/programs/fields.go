package main

import (
	"bytes"
	"encoding/gob"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"sync"
	"text/template"
	"time"
)

// Fields that are not exported: cells use their own, package reflect and all
// that is built on it do not.

type inner struct {
	D      time.Duration
	hidden int
}

func (i *inner) bump() int { i.hidden++; return i.hidden }

type record struct {
	Name string        `json:"name"`
	d    time.Duration `x:"y"`
	err  error
	inner
	*sync.Mutex
	int
	_    byte
	list []inner
	f    func(int) int
	any
}

type pair struct {
	a int
	b *pair
}

type level int

func (l level) String() string { return fmt.Sprintf("L%d", int(l)) }

type holder struct {
	l    level
	L    level
	m    map[level]level
	M    map[level]level
	x    any
	X    any
	p    *level
	text []byte
}

type node[K comparable, V any] struct {
	key         K
	value       V
	left, right *node[K, V]
}

func (n *node[K, V]) put(k K, v V, less func(K, K) bool) *node[K, V] {
	switch {
	case n == nil:
		return &node[K, V]{key: k, value: v}
	case less(k, n.key):
		n.left = n.left.put(k, v, less)
	case less(n.key, k):
		n.right = n.right.put(k, v, less)
	default:
		n.value = v
	}
	return n
}

func try(what string, f func()) {
	defer func() {
		if r := recover(); r != nil {
			fmt.Println(what, "panics:", r)
		}
	}()
	f()
	fmt.Println(what, "done")
}

func main() {
	t := record{Name: "a", d: 3 * time.Second, err: io.EOF, inner: inner{time.Second, 2}, int: 7, list: []inner{{1, 2}}, any: level(3)}
	rt := reflect.TypeOf(t)
	for i := range rt.NumField() {
		f := rt.Field(i)
		fmt.Println(f.Name, f.IsExported(), f.PkgPath != "", f.Anonymous, f.Tag, f.Type)
	}
	fmt.Println(len(reflect.VisibleFields(rt)), rt.Size(), rt.Comparable())
	u := t
	u.err = nil
	fmt.Printf("%v\n%+v\n", t.inner, u)

	v := reflect.ValueOf(&t).Elem()
	for i := range v.NumField() {
		fmt.Print(v.Field(i).CanSet(), v.Field(i).CanInterface(), v.Field(i).CanAddr(), " ")
	}
	fmt.Println(v.Field(1).Int(), v.Field(3).Field(0).CanSet(), v.Field(3).Field(1).CanSet())
	try("set", func() { v.Field(1).SetInt(4) })
	try("interface", func() { v.FieldByName("err").Interface() })
	try("call", func() { v.FieldByName("f").Call(nil) })
	try("embedded", func() { v.FieldByName("D").SetInt(5) })

	b, err := json.Marshal(t)
	fmt.Println(string(b), err)
	err = json.Unmarshal([]byte(`{"name": "b", "d": 5, "hidden": 9, "D": 8}`), &t)
	fmt.Println(err, t.Name, t.d, t.hidden, t.D)
	type point struct {
		X, Y int
		note string
	}
	b, err = xml.Marshal(point{1, 2, "n"})
	fmt.Println(string(b), err)
	var buf bytes.Buffer
	err = gob.NewEncoder(&buf).Encode(point{1, 2, "n"})
	var back point
	fmt.Println(err, gob.NewDecoder(&buf).Decode(&back), back)
	fmt.Println(gob.NewEncoder(io.Discard).Encode(struct{ a int }{1}))
	var out strings.Builder
	err = template.Must(template.New("t").Parse("{{.Name}} {{.D}} {{.d}}\n")).Execute(&out, t)
	fmt.Println(out.String(), err)

	t.d++
	t.inner.hidden, t.int = t.int, t.hidden
	p := &t
	p.d += 2
	p.err = nil
	p.f = func(i int) int { return i + p.int }
	p.list = append(p.list, inner{hidden: p.f(1)})
	p.list[0].hidden--
	q := &p.d
	*q *= 2
	fmt.Println(t.d, t.inner, t.int, t.err, t.list, t.bump(), t.hidden, p.list[1].bump(), t.any)

	ps := []pair{{1, nil}, {b: &pair{a: 2}}}
	pp := []*pair{{a: 5}, {6, &ps[0]}}
	for i := range ps {
		ps[i].a *= 10
	}
	ps[1].b.a++
	fmt.Println(ps[0].a, ps[1].a, ps[1].b.a, pp[1].b.a, [...]pair{1: {a: 3}}[1].a, map[pair]int{{a: 1}: 4}[pair{1, nil}])
	fmt.Println(ps[0] == *pp[1].b, reflect.DeepEqual(ps, []pair{{10, nil}, {0, &pair{a: 3}}}))
	var none *pair
	try("nil", func() { fmt.Println(none.a) })
	try("nil in nil", func() { fmt.Println(ps[1].b.b.b) })

	h := holder{1, 2, map[level]level{3: 4}, map[level]level{5: 6}, level(7), level(8), nil, []byte("hi")}
	fmt.Printf("%v\n%+v\n%#v\n%d %s\n", h, h, h, h, h)
	fmt.Printf("%v %+v %v\n", &h, []holder{{}}, map[string]holder{"k": {l: 1, L: 1}})
	fmt.Printf("%v %x %q\n", struct{ s, t any }{"x", 1}, struct{ b []byte }{[]byte("ab")}, struct{ s []string }{[]string{"a"}})
	var x any = struct {
		a int
		B string
	}{1, "b"}
	fmt.Printf("%v %+v %#v %T\n", x, x, x, x)
	_, ok := x.(struct {
		a int
		B string
	})
	_, other := x.(struct {
		A int
		B string
	})
	fmt.Println(ok, other)

	var tree *node[string, int]
	for i, w := range strings.Fields("the quick brown fox jumps over the lazy dog") {
		tree = tree.put(w, i, func(a, b string) bool { return a < b })
	}
	fmt.Println(tree.key, tree.value, tree.left.key, tree.left.left.key)
	fmt.Println(reflect.TypeOf(*tree).Field(0).PkgPath != "", errors.Is(h2(), io.EOF))
	type flags struct{ a, b, c bool }
	fl := flags{b: true}
	if fl.a || fl.b && !fl.c {
		fmt.Println("flags", fl)
	}
	for fl.b {
		fl.b = false
	}
	fmt.Println(reflect.TypeOf(struct{ a int }{}).ConvertibleTo(reflect.TypeOf(struct {
		a int `tag:"x"`
	}{})), struct{ a int }(struct {
		a int `tag:"x"`
	}{5}).a)
}

type failure struct {
	err  error
	code int
}

func (f *failure) Error() string { return f.err.Error() }
func (f *failure) Unwrap() error { return f.err }
func h2() error                  { return fmt.Errorf("h2: %w", &failure{io.EOF, 2}) }
