package gocell

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"dace.local/kernel/engine"
)

// tape is an engine.Outputs that records the text of a cell.
type tape struct {
	sync.Mutex // guards out and err
	out, err   strings.Builder
}

func (t *tape) Stdout(s string) {
	t.Lock()
	defer t.Unlock()
	t.out.WriteString(s)
}

func (t *tape) Stderr(s string) {
	t.Lock()
	defer t.Unlock()
	t.err.WriteString(s)
}
func (t *tape) Display(engine.Bundle, string) {}
func (t *tape) Update(engine.Bundle, string)  {}
func (t *tape) Clear(bool)                    {}
func (t *tape) Comm(engine.CommMessage) error { return nil }
func (t *tape) Input(context.Context, string, bool) (string, error) {
	return "", errors.New("no input")
}

// cells runs the cells of text, separated by lines "---", in a new session and
// returns what they print, including errors.
func cells(t *testing.T, text string) string {
	t.Helper()
	s, err := New(Options{KeepStdio: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	s.prog.Prelude.Problem = func(err error) {
		if !strings.Contains(err.Error(), "imported and not used") {
			t.Errorf("prelude: %v", err)
		}
	}
	var out strings.Builder
	for i, code := range strings.Split(text, "\n---\n") {
		r := &tape{}
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
		_, err := s.Execute(ctx, engine.Cell{Number: i + 1, Code: code}, r)
		cancel()
		out.WriteString(r.out.String() + r.err.String())
		var e *engine.Error
		if errors.As(err, &e) {
			out.WriteString(e.Name + ": " + e.Message + "\n")
		} else if err != nil {
			out.WriteString(err.Error() + "\n")
		}
	}
	return out.String()
}

type cellCase struct{ name, code, want string }

func runCases(t *testing.T, cases []cellCase) {
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if got := cells(t, c.code); got != c.want {
				t.Errorf("got:\n%s\nwant:\n%s", got, c.want)
			}
		})
	}
}

// TestGenerics runs generic code. The expected outputs are those of the
// compiled code.
func TestGenerics(t *testing.T) {
	runCases(t, []cellCase{
		{"inference", `
func Map[T, U any](xs []T, f func(T) U) []U {
	var out []U
	for _, x := range xs {
		out = append(out, f(x))
	}
	return out
}
fmt.Println(Map([]int{1, 2, 3}, func(i int) string { return strconv.Itoa(i * i) }))
fmt.Println(Map([]string{"a", "bc"}, func(s string) int { return len(s) }))
---
ys := Map([]float64{1, 4}, math.Sqrt)
fmt.Println(ys)`, "[1 4 9]\n[1 2]\n[1 2]\n"},
		{"constraint", `
type Number interface{ ~int | ~float64 }
func Sum[N Number](xs ...N) (s N) {
	for _, x := range xs { s += x }
	return
}
type Celsius float64
fmt.Println(Sum(1, 2, 3), Sum(0.5, 1), Sum(Celsius(1), 2.5), Sum[int]())`, "6 1.5 3.5 0\n"},
		{"type with methods across cells", `
type Stack[T any] struct{ items []T }
func (s *Stack[T]) Push(x T) { s.items = append(s.items, x) }
func (s *Stack[T]) Pop() (T, bool) {
	var zero T
	if len(s.items) == 0 { return zero, false }
	x := s.items[len(s.items)-1]
	s.items = s.items[:len(s.items)-1]
	return x, true
}
func (s Stack[_]) Len() int { return len(s.items) }
func NewStack[T any](xs ...T) *Stack[T] { return &Stack[T]{items: xs} }
---
s := NewStack(1, 2)
s.Push(3)
---
x, ok := s.Pop()
fmt.Println(x, ok, s.Len())
---
var u Stack[int] = *s
u.Push(9)
fmt.Println(u.Len(), s.Len())
func take(s *Stack[int]) int { v, _ := s.Pop(); return v }
fmt.Println(take(&u), take(s))`, "3 true 2\n3 2\n9 2\n"},
		{"list", `
type Node[T any] struct {
	val  T
	next *Node[T]
}
type List[T any] struct { head *Node[T]; n int }
func (l *List[T]) Add(v T) *List[T] { l.head = &Node[T]{v, l.head}; l.n++; return l }
func (l *List[T]) Each(f func(T)) { for n := l.head; n != nil; n = n.next { f(n.val) } }
var l List[string]
l.Add("a").Add("b")
l.Each(func(s string) { fmt.Print(s, " ") })
fmt.Println(l.n)`, "b a 2\n"},
		{"tree with func field", `
type Tree[K, V any] struct {
	root *tnode[K, V]
	cmp  func(a, b K) int
}
type tnode[K, V any] struct { k K; v V; l, r *tnode[K, V] }
func NewTree[K cmp.Ordered, V any]() *Tree[K, V] { return &Tree[K, V]{cmp: cmp.Compare[K]} }
func (t *Tree[K, V]) Put(k K, v V) {
	p := &t.root
	for *p != nil {
		switch c := t.cmp(k, (*p).k); {
		case c < 0: p = &(*p).l
		case c > 0: p = &(*p).r
		default: (*p).v = v; return
		}
	}
	*p = &tnode[K, V]{k: k, v: v}
}
func (t *Tree[K, V]) Walk(f func(K, V)) { walk(t.root, f) }
func walk[K, V any](n *tnode[K, V], f func(K, V)) {
	if n != nil { walk(n.l, f); f(n.k, n.v); walk(n.r, f) }
}
t := NewTree[string, int]()
for i, w := range strings.Fields("the quick brown fox the end") { t.Put(w, i) }
t.Walk(func(k string, v int) { fmt.Print(k, "=", v, " ") })
fmt.Println()`, "brown=2 end=5 fox=3 quick=1 the=4 \n"},
		{"pair, map and embedded", `
type Pair[A, B any] struct { First A; Second B }
func MakePair[A, B any](a A, b B) Pair[A, B] { return Pair[A, B]{a, b} }
func (p Pair[A, B]) Swap() Pair[B, A] { return Pair[B, A]{p.Second, p.First} }
type Named[T any] struct { Pair[string, T]; n int }
type Set[T comparable] map[T]struct{}
func (s Set[T]) Add(v T) { s[v] = struct{}{} }
func (s Set[T]) Has(v T) bool { _, ok := s[v]; return ok }
p := MakePair("x", 1).Swap()
fmt.Println(p.First, p.Second, p)
n := Named[float64]{Pair: Pair[string, float64]{"pi", 3.14}, n: 1}
n.Pair.Second *= 2
fmt.Println(n.First, n.Pair.Second, n.Swap().First)
s := Set[string]{}
s.Add("a")
fmt.Println(s.Has("a"), s.Has("b"), len(s))
ps := []Pair[int, string]{{1, "a"}, {2, "b"}}
m := map[Pair[int, int]]string{{1, 2}: "q"}
fmt.Println(ps[1].Second, m[MakePair(1, 2)])`, "1 x {1 x}\npi 6.28 6.28\ntrue false 1\nb q\n"},
		{"function values and method values", `
func Apply[T any](x T, fs ...func(T) T) T { for _, f := range fs { x = f(x) }; return x }
func double[N int | float64](n N) N { return 2 * n }
type Box[T any] struct{ v T }
func (b *Box[T]) Set(v T) { b.v = v }
func (b Box[T]) Get() T { return b.v }
fmt.Println(Apply(3, double, double[int]))
f := double[float64]
b := Box[int]{1}
set := b.Set
set(7)
get := Box[int].Get
fmt.Println(f(1.5), get(b), (*Box[int]).Get(&b))`, "12\n3 7 7\n"},
		{"interface constraint with methods", `
type Shape interface { Area() float64 }
type Sq struct{ s float64 }
func (q Sq) Area() float64 { return q.s * q.s }
func Total[S Shape](xs []S) (t float64) { for _, x := range xs { t += x.Area() }; return }
type Setter[T any] interface { *T; Set(string) }
type conf struct{ v string }
func (c *conf) Set(s string) { c.v = s }
func Build[T any, P Setter[T]](s string) T { var t T; P(&t).Set(s); return t }
fmt.Println(Total([]Sq{{1}, {2}}), Total([]Shape{Sq{3}}), Build[conf]("x").v)`, "5 9 x\n"},
		{"generic interface and alias", `
type Container[T any] interface { Put(T); Get() T }
type Cell[T any] struct{ v T }
func (c *Cell[T]) Put(v T) { c.v = v }
func (c *Cell[T]) Get() T { return c.v }
type Vec[T any] = []T
var c Container[int] = &Cell[int]{}
c.Put(4)
var v Vec[int] = []int{1, c.Get()}
fmt.Println(c.Get(), v)
func use[T any](c Container[T], v T) T { c.Put(v); return c.Get() }
fmt.Println(use[string](&Cell[string]{}, "s"))`, "4 [1 4]\ns\n"},
		{"type switch and zero", `
func Kind[T any](x T) string {
	switch any(x).(type) {
	case int: return "int"
	case string: return "string"
	case []T: return "slice"
	}
	return "other"
}
func Zero[T any]() (z T) { return }
fmt.Println(Kind(1), Kind("a"), Kind(1.5), Zero[int](), Zero[string]() == "", Zero[*int]() == nil)`, "int string other 0 true true\n"},
		{"redeclared", `
func Twice[T any](x T) []T { return []T{x, x} }
func helper() string { return Twice("a")[1] }
fmt.Println(Twice(1), helper())
---
func Twice[T any](x T) []T { return []T{x, x, x} }
---
fmt.Println(Twice(1), helper(), len(Twice("b")))`, "[1 1] a\n[1 1 1] a 3\n"},
		{"uses a session function that changes", `
func unit() string { return "m" }
func Show[T any](x T) string { return fmt.Sprint(x, unit()) }
fmt.Println(Show(1))
---
func unit() string { return "km" }
fmt.Println(Show(1), Show(2.5))`, "1m\n1km 2.5km\n"},
		{"a failed cell leaves no instance behind", `
func Id[T any](x T) T { return x }
---
var a int = Id("x")
---
fmt.Println(Id("x"), Id(1))`, "CompileError: In[2]:1:13: cannot use Id(\"x\") (value of type string) as int value in variable declaration\nx 1\n"},
		{"infinite instantiation", `
func Deep[T any](n int, x T) { if n > 0 { Deep(n-1, []T{x}) } }
Deep(3, 1)`, "CompileError: In[1]:2:43: Deep cannot be instantiated: it requires an endless chain of instances\n"},
		{"package qualified argument", `
type Opt[T any] struct { v *T }
func Some[T any](v T) Opt[T] { return Opt[T]{&v} }
func (o Opt[T]) Or(d T) T { if o.v == nil { return d }; return *o.v }
var none Opt[time.Duration]
fmt.Println(Some(time.Second).Or(0), none.Or(time.Minute))
---
fmt.Println(none.Or(2 * time.Hour))`, "1s 1m0s\n2h0m0s\n"},
		{"channels and goroutines", `
func Gen[T any](xs ...T) <-chan T {
	c := make(chan T)
	go func() { defer close(c); for _, x := range xs { c <- x } }()
	return c
}
func Merge[T any](cs ...<-chan T) (out []T) { for _, c := range cs { for x := range c { out = append(out, x) } }; return }
fmt.Println(Merge(Gen(1, 2), Gen(3)))`, "[1 2 3]\n"},
		{"local types as arguments", `
func near() string {
	type pt struct{ x, y int }
	type line struct {
		pt
		to *pt
	}
	ps := []pt{{3, 1}, {1, 2}}
	slices.SortFunc(ps, func(a, b pt) int { return a.x - b.x })
	ls := slices.Collect(slices.Values([]line{{pt: ps[0], to: &ps[1]}}))
	return fmt.Sprint(ps, ls[0].pt.y, ls[0].to.y, ls[0].x)
}
func Count[T comparable](xs ...T) map[T]int {
	type entry struct { k T; n int }
	var es []entry
	for _, x := range xs {
		i := slices.IndexFunc(es, func(e entry) bool { return e.k == x })
		if i < 0 { i = len(es); es = append(es, entry{k: x}) }
		es[i].n++
	}
	m := map[T]int{}
	for _, e := range es { m[e.k] = e.n }
	return m
}
fmt.Println(near(), Count("a", "b", "a"), Count(1, 1))`, "[{1 2} {3 1}] 2 1 1 map[a:2 b:1] map[1:2]\n"},
		{"declared again in the same shape", `
type Stack[T any] struct{ items []T; next *Stack[T] }
func (s *Stack[T]) Push(x T) { s.items = append(s.items, x) }
type P struct{ x int }
s, q := &Stack[int]{}, &Stack[P]{}
s.Push(1)
q.Push(P{1})
---
type Stack[T any] struct{ items []T; next *Stack[T] }
func (s *Stack[T]) Push(x T) { s.items = append(s.items, x, x) }
func size[T any](s *Stack[T]) int { return len(s.items) }
---
s.Push(1)
fmt.Println(size(s), s.items)
---
type P struct{ x int }
---
q.Push(P{2})
fmt.Println(q.items)`, "3 [1 1 1]\n[{1} {2} {2}]\n"},
		{"optional parameters, matrices, self reference", `
type Opt[T any] func(*T)
type cfg struct{ n int }
func Make[T any](opts ...Opt[T]) T { var t T; for _, o := range opts { o(&t) }; return t }
type Matrix[T ~float64 | ~int] [][]T
func (m Matrix[T]) Mul(o Matrix[T]) Matrix[T] {
	r := make(Matrix[T], len(m))
	for i := range m {
		r[i] = make([]T, len(o[0]))
		for j := range o[0] { for k := range o { r[i][j] += m[i][k] * o[k][j] } }
	}
	return r
}
type Adder[T any] interface { Add(T) T }
type V2 struct{ x, y int }
func (a V2) Add(b V2) V2 { return V2{a.x + b.x, a.y + b.y} }
func SumAll[T Adder[T]](xs ...T) T { s := xs[0]; for _, x := range xs[1:] { s = s.Add(x) }; return s }
fmt.Println(Make(func(c *cfg) { c.n = 4 }).n, Matrix[int]{{1, 2}, {3, 4}}.Mul(Matrix[int]{{2, 0}, {0, 1}}), SumAll(V2{1, 2}, V2{3, 4}))`, "4 [[2 2] [6 4]] {4 6}\n"},
		{"in compiled hands", `
type Heap[T any] struct { xs []T; less func(a, b T) bool }
func (h *Heap[T]) Len() int { return len(h.xs) }
func (h *Heap[T]) Less(i, j int) bool { return h.less(h.xs[i], h.xs[j]) }
func (h *Heap[T]) Swap(i, j int) { h.xs[i], h.xs[j] = h.xs[j], h.xs[i] }
func (h *Heap[T]) Push(x any) { h.xs = append(h.xs, x.(T)) }
func (h *Heap[T]) Pop() any { x := h.xs[len(h.xs)-1]; h.xs = h.xs[:len(h.xs)-1]; return x }
func (h *Heap[T]) String() string { return fmt.Sprint("heap of ", len(h.xs)) }
h := &Heap[string]{less: func(a, b string) bool { return a < b }}
for _, s := range []string{"c", "a", "b"} { heap.Push(h, s) }
fmt.Println(h)
for h.Len() > 0 { fmt.Print(heap.Pop(h), " ") }`, "heap of 3\na b c "},
		{"embedded instances and events", `
type Event[T any] struct { hs []func(T) }
func (e *Event[T]) On(h func(T)) { e.hs = append(e.hs, h) }
func (e *Event[T]) Emit(v T) { for _, h := range e.hs { h(v) } }
type App struct { Event[string]; clicks *Event[int] }
a := App{clicks: &Event[int]{}}
b := App{Event: Event[string]{}}
a.On(func(s string) { fmt.Print("got ", s, " ") })
a.Emit("hi")
a.Event.Emit("ho")
a.clicks.On(func(i int) { fmt.Println(i+1, len(b.hs)) })
a.clicks.Emit(1)`, "got hi got ho 2 0\n"},
		{"min and max of a type parameter", `
func Clamp[T cmp.Ordered](x, lo, hi T) T { return min(max(x, lo), hi) }
fmt.Println(Clamp(5, 1, 3), Clamp("m", "n", "z"), Clamp(0.5, 0, 1))`, "3 n 0.5\n"},
	})
}

func TestStdGenerics(t *testing.T) {
	runCases(t, []cellCase{
		{"slices of basic types", `
xs := []int{3, 1, 2}
slices.Sort(xs)
i, ok := slices.BinarySearch(xs, 2)
fmt.Println(xs, i, ok, slices.Contains(xs, 3), slices.Index(xs, 9), slices.Max(xs), slices.Min(xs))
slices.Reverse(xs)
fmt.Println(xs, slices.Equal(xs, []int{3, 2, 1}), slices.Insert(xs, 1, 7, 8), slices.Compact([]string{"a", "a", "b"}))
slices.SortFunc(xs, func(a, b int) int { return cmp.Compare(a%2, b%2) })
fmt.Println(xs, slices.Repeat([]string{"x"}, 3), slices.Concat([]float64{1}, []float64{2, 3}))`,
			"[1 2 3] 1 true true -1 3 1\n[3 2 1] true [3 7 8 2 1] [a b]\n[2 3 1] [x x x] [1 2 3]\n"},
		{"slices of a cell's type", `
type P struct { name string; age int }
ps := []P{{"bob", 30}, {"al", 20}, {"cy", 25}}
slices.SortFunc(ps, func(a, b P) int { return cmp.Compare(a.age, b.age) })
fmt.Println(ps, slices.Index(ps, P{"cy", 25}), slices.Contains(ps, P{"x", 1}))
slices.SortStableFunc(ps, func(a, b P) int { return strings.Compare(a.name, b.name) })
fmt.Println(ps[0].name, slices.MaxFunc(ps, func(a, b P) int { return a.age - b.age }).name)
ps = slices.Insert(ps, 1, P{"d", 1}, P{"e", 2})
ps = slices.Delete(ps, 0, 1)
fmt.Println(len(ps), ps[0], slices.IndexFunc(ps, func(p P) bool { return p.age == 30 }))
ps = slices.DeleteFunc(ps, func(p P) bool { return p.age < 10 })
fmt.Println(ps, slices.Clone(ps)[0].name)
type IDs []int
ids := IDs{3, 1}
slices.Sort(ids)
fmt.Println(ids, slices.Max(ids), slices.Replace(ids, 0, 1, 5, 6))
ds := []time.Duration{3, 1}
slices.Sort(ds)
fmt.Println(ds, slices.Min(ds))`,
			"[{al 20} {cy 25} {bob 30}] 1 false\nal bob\n4 {d 1} 2\n[{bob 30} {cy 25}] bob\n[1 3] 3 [5 6 3]\n[1ns 3ns] 1ns\n"},
		{"maps", `
m := map[string]int{"b": 2, "a": 1, "c": 3}
fmt.Println(slices.Sorted(maps.Keys(m)), slices.Sorted(maps.Values(m)))
n := maps.Clone(m)
maps.DeleteFunc(n, func(k string, v int) bool { return v > 1 })
fmt.Println(n, maps.Equal(m, n), len(m))
type P struct{ x int }
q := map[P]string{{1}: "a"}
r := maps.Clone(q)
r[P{2}] = "b"
maps.Copy(q, r)
fmt.Println(len(q), slices.SortedFunc(maps.Keys(q), func(a, b P) int { return b.x - a.x }))
fmt.Println(maps.Collect(slices.All([]string{"x", "y"})))`,
			"[a b c] [1 2 3]\nmap[a:1] false 3\n2 [{2} {1}]\nmap[0:x 1:y]\n"},
		{"cmp", `
fmt.Println(cmp.Compare(1, 2), cmp.Less("b", "a"), cmp.Or("", "x", "y"), cmp.Or(0, 3), cmp.Compare(math.NaN(), 1))
type L int
fmt.Println(cmp.Compare(L(3), L(2)), cmp.Or(L(0), L(4)), cmp.Less(L(1), L(2)))`, "-1 false x 3 -1\n1 4 true\n"},
		{"sync and atomic", `
n := 0
v := sync.OnceValue(func() int { n++; return 42 })
fmt.Println(v(), v(), n)
w := sync.OnceValues(func() (string, error) { n++; return "x", nil })
a, err := w()
w()
fmt.Println(a, err, n)
type conf struct{ v int }
var p atomic.Pointer[conf]
fmt.Println(p.Load() == nil)
c := &conf{1}
p.Store(c)
fmt.Println(p.Load().v, p.CompareAndSwap(c, &conf{2}), p.Load().v, p.Swap(nil).v, p.CompareAndSwap(c, nil))
---
type server struct { cur atomic.Pointer[conf]; n int }
s := &server{}
s.cur.Store(&conf{5})
fmt.Println(s.cur.Load().v)`, "42 42 1\nx <nil> 2\ntrue\n1 true 2 2 false\n5\n"},
		{"iter, reflect, errors, rand, unique", `
next, stop := iter.Pull(slices.Values([]string{"a", "b"}))
x, ok := next()
y, ok2 := next()
_, ok3 := next()
stop()
fmt.Println(x, ok, y, ok2, ok3)
next2, stop2 := iter.Pull2(slices.All([]string{"a", "b"}))
i, s, ok4 := next2()
stop2()
_, _, ok5 := next2()
fmt.Println(i, s, ok4, ok5)
fmt.Println(reflect.TypeFor[int](), reflect.TypeFor[map[string]bool]())
pe, is := errors.AsType[*fs.PathError](fmt.Errorf("w: %w", &fs.PathError{Op: "open", Path: "p", Err: fs.ErrNotExist}))
fmt.Println(pe.Op, is)
n := rand.N(10)
d := rand.N(time.Second)
fmt.Println(n >= 0 && n < 10, d < time.Second)
h := unique.Make("a")
fmt.Println(h == unique.Make("a"), h == unique.Make("b"), h.Value())`, "a true b true false\n0 a true false\nint map[string]bool\nopen true\ntrue true\ntrue false a\n"},
		{"iterators as values", `
var seq iter.Seq[int] = slices.Values([]int{1, 2, 3})
seq(func(v int) bool { fmt.Print(v, " "); return v < 2 })
lines := strings.Lines("a\nb\n")
lines(func(s string) bool { fmt.Printf("%q ", s); return true })
fmt.Println(slices.Collect(strings.SplitSeq("x,y", ",")))
for c := range slices.Chunk([]int{1, 2, 3}, 2) { fmt.Print(c) }
fmt.Println()`, "1 2 \"a\\n\" \"b\\n\" [x y]\n[1 2][3]\n"},
	})
}

func TestInstanceInTraceback(t *testing.T) {
	s, err := New(Options{KeepStdio: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	_, err = s.Execute(context.Background(), engine.Cell{Number: 1, Code: "func First[K comparable, V any](m map[K][]V, k K) V { return m[k][0] }\nFirst(map[string][]int{}, \"x\")"}, &tape{})
	var e *engine.Error
	if !errors.As(err, &e) || !strings.Contains(strings.Join(e.Traceback, "\n"), "First[string,int]") {
		t.Errorf("%+v", err)
	}
}

// BenchmarkInstance runs a cell that makes one new instance of a small
// function; BenchmarkPlain runs the same cell without the instance.
func BenchmarkInstance(b *testing.B) { benchmarkCells(b, "Second([...]int{%d: 1}, 2)") }
func BenchmarkPlain(b *testing.B)    { benchmarkCells(b, "plain([...]int{%d: 1}, 2)") }

func benchmarkCells(b *testing.B, cell string) {
	s, err := New(Options{KeepStdio: true})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	run := func(i int, code string) {
		if _, err := s.Execute(context.Background(), engine.Cell{Number: i, Code: code}, &tape{}); err != nil {
			b.Fatal(err)
		}
	}
	run(1, "func Second[T, U any](x T, y U) U { return y }\nfunc plain(x any, y int) int { return y }")
	i := 1
	for b.Loop() {
		i++
		run(i, fmt.Sprintf(cell, i))
	}
}
