package gocell

import "testing"

// TestAsCompiled runs code whose expected outputs are those of the compiled
// code.
func TestAsCompiled(t *testing.T) {
	runCases(t, []cellCase{
		{"break, continue", `
func upTo(n int) iter.Seq[int] {
	return func(yield func(int) bool) {
		for i := 0; i < n; i++ {
			if !yield(i) {
				fmt.Print("stopped ")
				return
			}
		}
		fmt.Print("ended ")
	}
}
---
for i := range upTo(5) {
	if i == 1 {
		continue
	}
	if i == 3 {
		break
	}
	fmt.Print(i, " ")
}
for range upTo(2) {
	fmt.Print("x ")
}
var k int
for k = range upTo(3) {
}
fmt.Println(k)`, "0 2 stopped x x ended ended 2\n"},
		{"return values", `
func find(seq iter.Seq2[int, string], s string) (int, bool) {
	for i, v := range seq {
		if v == s {
			return i, true
		}
	}
	return -1, false
}
func named(seq iter.Seq[int]) (sum int, err error) {
	for v := range seq {
		if v < 0 {
			err = fmt.Errorf("negative %d", v)
			return
		}
		sum += v
		if sum > 100 {
			return 100, nil
		}
	}
	return
}
---
fmt.Println(find(slices.All([]string{"a", "b"}), "b"))
fmt.Println(find(slices.All([]string{"a", "b"}), "c"))
fmt.Println(named(slices.Values([]int{1, 2})))
fmt.Println(named(slices.Values([]int{1, -2, 5})))
fmt.Println(named(slices.Values([]int{70, 50, 5})))`, "1 true\n-1 false\n3 <nil>\n1 negative -2\n100 <nil>\n"},
		{"labels and nesting", `
outer:
for i := range slices.Values([]int{0, 1, 2, 3}) {
	for j := range slices.Values([]int{0, 1, 2, 3}) {
		switch {
		case j == 2:
			continue outer
		case i == 2:
			break outer
		case j == 1:
			break
		}
		fmt.Print(i, j, " ")
	}
}
fmt.Println()
loop:
for n := 0; n < 3; n++ {
	for v := range slices.Values([]int{1, 2, 3}) {
		for {
			if v == 2 {
				continue loop
			}
			if n == 2 {
				break loop
			}
			break
		}
		fmt.Print(n, v, " ")
	}
}
fmt.Println()`, "0 0 0 1 1 0 1 1 \n0 1 1 1 \n"},
		{"return through three loops", `
func triple() (a, b, c int) {
	for i := range slices.Values([]int{1, 2}) {
		for j := range 3 {
			for _, k := range slices.All([]int{5, 6}) {
				if i == 2 && j == 1 && k == 6 {
					return i, j, k
				}
			}
		}
	}
	return
}
func inLit() func() string {
	return func() string {
		for s := range strings.FieldsSeq("a bb ccc") {
			if len(s) == 2 {
				return s
			}
		}
		return ""
	}
}
---
fmt.Println(triple())
fmt.Println(inLit()())`, "2 1 6\nbb\n"},
		{"defer in the body", `
func defers() (n int) {
	defer func() { fmt.Println("first, n =", n) }()
	for i := range slices.Values([]int{1, 2, 3}) {
		defer fmt.Println("deferred", i)
		x := i * 10
		defer func() { n += x; fmt.Println("closure", x) }()
		for range slices.Values([]string{"q"}) {
			defer fmt.Println("inner", i)
		}
	}
	defer fmt.Println("last")
	fmt.Println("body over")
	return 1
}
---
fmt.Println(defers())`, "body over\nlast\ninner 3\nclosure 30\ndeferred 3\ninner 2\nclosure 20\ndeferred 2\ninner 1\nclosure 10\ndeferred 1\nfirst, n = 61\n61\n"},
		{"closures have their own variables", `
var fs []func() int
for i, v := range slices.All([]int{10, 20, 30}) {
	v := v + 1
	fs = append(fs, func() int { v++; return v*10 + i })
}
for _, f := range fs {
	fmt.Print(f(), f(), " ")
}
fmt.Println()`, "120 130 221 231 322 332 \n"},
		{"a panic passes", `
func boom(s iter.Seq[int]) (msg string) {
	defer func() { msg = fmt.Sprint("recovered ", recover()) }()
	for v := range s {
		if v == 2 {
			panic("at two")
		}
	}
	return "none"
}
---
fmt.Println(boom(slices.Values([]int{1, 2, 3})))
fmt.Println(boom(slices.Values([]int{1})))`, "recovered at two\nrecovered <nil>\n"},
		{"iterators that misbehave", `
func goesOn(yield func(int) bool) {
	yield(1)
	yield(2)
}
var kept func(int) bool
func keeps(yield func(int) bool) { kept = yield; yield(1) }
func swallows(yield func(int) bool) {
	defer func() { recover() }()
	yield(1)
}
func try(f func()) {
	defer func() { fmt.Println(recover()) }()
	f()
}
---
try(func() {
	for range goesOn {
		break
	}
})
try(func() {
	for range keeps {
	}
	kept(2)
})
try(func() {
	for range swallows {
		panic("x")
	}
})`, "runtime error: range function continued iteration after function for loop body returned false\nruntime error: range function continued iteration after whole loop exit\nruntime error: range function recovered a loop body panic and did not resume panicking\n"},
		{"a tree of a cell", `
type bst[T cmp.Ordered] struct {
	val         T
	left, right *bst[T]
}
func (t *bst[T]) add(v T) *bst[T] {
	if t == nil {
		return &bst[T]{val: v}
	}
	if v < t.val {
		t.left = t.left.add(v)
	} else {
		t.right = t.right.add(v)
	}
	return t
}
func (t *bst[T]) All() iter.Seq[T] {
	return func(yield func(T) bool) { t.push(yield) }
}
func (t *bst[T]) push(yield func(T) bool) bool {
	return t == nil || t.left.push(yield) && yield(t.val) && t.right.push(yield)
}
func Filter[T any](seq iter.Seq[T], keep func(T) bool) iter.Seq[T] {
	return func(yield func(T) bool) {
		for v := range seq {
			if keep(v) && !yield(v) {
				return
			}
		}
	}
}
func Zip[A, B any](a iter.Seq[A], b iter.Seq[B]) iter.Seq2[A, B] {
	return func(yield func(A, B) bool) {
		next, stop := iter.Pull(b)
		defer stop()
		for x := range a {
			y, ok := next()
			if !ok || !yield(x, y) {
				return
			}
		}
	}
}
---
var root *bst[string]
for w := range strings.SplitSeq("m,c,x,a,d", ",") {
	root = root.add(w)
}
for w := range root.All() {
	if w == "x" {
		break
	}
	fmt.Print(w, " ")
}
even := Filter(slices.Values([]int{1, 2, 3, 4, 6}), func(i int) bool { return i%2 == 0 })
for w, n := range Zip(root.All(), even) {
	fmt.Print(w, n, " ")
}
fmt.Println(slices.Collect(even))`, "a c d m a2 c4 d6 [2 4 6]\n"},
		{"library iterators", `
m := map[string]int{"a": 1, "b": 2, "c": 3}
sum := 0
for k, v := range maps.All(m) {
	if k != "b" {
		sum += v
	}
}
for k := range maps.Keys(m) {
	sum += len(k)
}
for line := range strings.Lines("one\ntwo\n") {
	fmt.Printf("%q ", line)
}
for i, v := range slices.Backward([]string{"x", "y"}) {
	fmt.Print(i, v, " ")
}
for c := range slices.Chunk([]int{1, 2, 3}, 2) {
	fmt.Print(c, " ")
}
for b := range bytes.SplitSeq([]byte("p q"), []byte(" ")) {
	fmt.Print(string(b), " ")
}
fmt.Println(sum)`, "\"one\\n\" \"two\\n\" 1y 0x [1 2] [3] p q 7\n"},
		{"no values, pointers, assignment to fields", `
type point struct{ x, y int }
func thrice(yield func() bool) {
	_ = yield() && yield() && yield()
}
func corners(yield func(*point, string) bool) {
	_ = yield(&point{1, 2}, "a") && yield(&point{3, 4}, "b")
}
---
n := 0
for range thrice {
	n++
}
var p struct {
	at   *point
	name string
}
for p.at, p.name = range corners {
	fmt.Print(p.at.x+p.at.y, p.name, " ")
}
for q := range corners {
	fmt.Print(q.x, " ")
}
fmt.Println(n, p.name)`, "3a 7b 1 3 3 b\n"},
		{"select, goto and switch inside", `
func mix(c chan int) string {
	for i := range slices.Values([]int{0, 1, 2, 3}) {
		select {
		case v := <-c:
			if v == 1 {
				continue
			}
			if v == 9 {
				goto done
			}
			break
		default:
			return "empty at " + strconv.Itoa(i)
		}
		fmt.Print(i, " ")
	}
	return "full"
done:
	return "done"
}
---
c := make(chan int, 4)
c <- 0
c <- 1
fmt.Println(mix(c))
c <- 0
c <- 9
fmt.Println(mix(c))`, "0 empty at 2\n0 done\n"},
		{"range over channels", `
cs := []chan int{make(chan int, 3), make(chan int, 3)}
for i, c := range cs {
	for j := range 3 {
		c <- 10*i + j
	}
	close(c)
}
chans:
for _, c := range cs {
	for v := range c {
		if v == 1 {
			continue chans
		}
		if v == 12 {
			break
		}
		fmt.Print(v, " ")
	}
}
fmt.Println()`, "0 10 11 \n"},
		{"method expressions and new of a value", `
type box struct{ v int }
func (b box) plus(ns ...int) int {
	for _, n := range ns {
		b.v += n
	}
	return b.v
}
func (b *box) set(v int) { b.v = v }
---
b := box{1}
f, g := box.plus, (*box).set
g(&b, 5)
fmt.Println(f(b, 1, 2), (*box).plus(&b), strings.ToUpper("q"), time.Duration.Seconds(time.Second))
p, q := new(40+2), new("s")
r := new(b)
r.v++
fmt.Println(*p, *q, r.v, b.v, *new(int))`, "8 5 Q 1\n42 s 6 5 0\n"},
		{"returns inside callbacks stay theirs", `
func nest() (out []string) {
	for s := range slices.Values([]string{"b", "a"}) {
		ok := slices.ContainsFunc([]string{"x", s}, func(t string) bool {
			for c := range slices.Values([]string{"a"}) {
				if c == t {
					return true
				}
			}
			return false
		})
		if ok {
			return append(out, s+"!")
		}
		out = append(out, s)
	}
	return nil
}
---
fmt.Println(nest())`, "[b a!]\n"},
		{"recover in a deferred call of the body", `
func caughtAt(depth int) (err error) {
	for x := range slices.Values([]int{1, 2}) {
		for y := range slices.Values([]int{3, 4}) {
			defer func() {
				if r := recover(); r != nil {
					err = fmt.Errorf("got %v", r)
				}
			}()
			defer fmt.Print("end ", x, y, " ")
			if x+y == depth {
				panic(x + y)
			}
		}
	}
	defer func() { fmt.Print("none: ", recover(), " ") }()
	return
}
---
fmt.Println(caughtAt(4))
fmt.Println(caughtAt(5))
fmt.Println(caughtAt(9))`, "end 1 3 got 4\nend 1 4 end 1 3 got 5\nnone: <nil> end 2 4 end 2 3 end 1 4 end 1 3 <nil>\n"},
		{"empty loops", `
func count(n int) iter.Seq[int] {
	return func(yield func(int) bool) {
		for i := 0; i < n && yield(i); i++ {
		}
	}
}
---
n := 0
for n = 0; n < 5; n++ {
}
for range 3 {
}
for range count(2) {
}
var k int
for k = range count(4) {
}
for _, k = range []int{7, 8} {
}
fmt.Println(n, k, slices.Collect(count(3)))`, "5 8 [0 1 2]\n"},
		{"embedded interfaces", `
type putter[T any] interface{ Put(T) }
type slot[T any] struct{ v T }
func (c *slot[T]) Put(v T) { c.v = v }
type wrapped[T any] struct {
	putter[T]
	n int
}
type reversed struct{ sort.Interface }
func (r reversed) Less(i, j int) bool { return r.Interface.Less(j, i) }
type coded struct {
	error
	code int
}
---
c := &slot[int]{}
w := wrapped[int]{c, 1}
w.Put(4)
w.putter.Put(w.n + c.v)
var p putter[int] = w
p.Put(c.v * 2)
xs := []int{1, 3, 2}
sort.Sort(reversed{sort.IntSlice(xs)})
e := error(coded{fmt.Errorf("bad"), 3})
fmt.Println(c.v, xs, e.Error())`, "10 [3 2 1] bad\n"},
		{"sequences with names", `
type ints = iter.Seq[int]
type titled iter.Seq[int]
type holder struct {
	seq iter.Seq2[int, string]
}
type set[T comparable] struct{ m map[T]struct{} }
func setOf[T comparable](xs ...T) set[T] {
	s := set[T]{map[T]struct{}{}}
	for _, x := range xs {
		s.m[x] = struct{}{}
	}
	return s
}
func (s set[T]) All() iter.Seq[T] { return maps.Keys(s.m) }
func union[T comparable](a, b set[T]) set[T] {
	return setOf(slices.AppendSeq(slices.Collect(a.All()), b.All())...)
}
func take[T any](s iter.Seq[T], n int) iter.Seq[T] {
	return func(yield func(T) bool) {
		if n <= 0 {
			return
		}
		i := 0
		for v := range s {
			if !yield(v) {
				return
			}
			if i++; i >= n {
				return
			}
		}
	}
}
func mapped[T, U any](s iter.Seq[T], f func(T) U) iter.Seq[U] {
	return func(yield func(U) bool) { s(func(v T) bool { return yield(f(v)) }) }
}
func naturals(yield func(int) bool) {
	for i := 0; yield(i); i++ {
	}
}
---
var s ints = slices.Values([]int{1, 2})
t := titled(s)
u := iter.Seq[int](t)
for v := range u {
	fmt.Print(v)
}
for v := range t {
	fmt.Print(v)
}
h := holder{seq: slices.All([]string{"q"})}
for i, v := range h.seq {
	fmt.Print(i, v)
}
fmt.Println(slices.Sorted(union(setOf(1, 2), setOf(2, 3)).All()))
fmt.Println(slices.Collect(take(mapped(naturals, func(i int) string { return fmt.Sprint(i * i) }), 4)))
var m sync.Map
m.Store("a", 1)
for k, v := range m.Range {
	fmt.Println(k, v)
}`, "12120q[1 2 3]\n[0 1 4 9]\na 1\n"},
		{"a type parameter given the type of another case", `
func kind[T any](x any) string {
	switch x.(type) {
	case int:
		return "int"
	case T:
		return "T"
	}
	return "?"
}
func shift[T int8 | int](x T) T { return x << 7 }
func wide[T int8 | int]() T { return T(100) + T(100) }
func flip[F ~func(T), T any](f F) F { return func(x T) { f(x); f(x) } }
---
fmt.Println(kind[int](1), kind[string]("s"), kind[string](2), kind[string](2.5), shift(int8(1)), shift(1), wide[int]())
flip(func(s string) { fmt.Print(s) })("hey ")
s := &struct{ atomic.Pointer[int] }{}
s.Store(new(4))
var ps [2]atomic.Pointer[string]
x := "q"
ps[1].Store(&x)
fmt.Println(*s.Load(), *s.Pointer.Load(), ps[0].Load() == nil, *ps[1].Load())`, "int T int ? -128 128 200\nhey hey 4 4 true q\n"},
		{"range over integers and assignment", `
type small uint8
for i := range int64(3) {
	fmt.Printf("%d %T ", i, i)
}
for i := range small(2) {
	i += 5
	fmt.Print(i, " ")
}
var k int64
for k = range 4 {
}
var p struct{ i int; s string }
for p.i, p.s = range []string{"a", "b"} {
}
m := map[string]int{"x": 1}
var key string
for key = range m {
}
const n = 2
var fs []func() int
for i := range n {
	fs = append(fs, func() int { i++; return i })
}
fmt.Println(k, p, key, fs[0](), fs[0](), fs[1]())`, "0 int64 1 int64 2 int64 5 6 3 {1 b} x 1 2 2\n"},
		{"closures called by deferred calls", `
func sums() (n int) {
	add := func(k int) { n += k }
	report := func(s string) string { return s + fmt.Sprint(n) }
	defer add(100)
	defer func() {
		add(3)
		fmt.Print(report("n="), " ")
	}()
	defer func(f func(int)) { f(20) }(func(k int) { n *= k })
	for v := range slices.Values([]int{1, 2}) {
		defer add(v * 1000)
	}
	return 4
}
func recursive(n int) (out []int) {
	var walk func(int)
	walk = func(i int) {
		if i < n {
			defer func() { out = append(out, i) }()
			walk(i + 1)
		}
	}
	defer walk(0)
	return nil
}
---
fmt.Println(sums())
fmt.Println(recursive(3))`, "n=60083 60183\n[2 1 0]\n"},
		{"slices of a cell's types", `
type rec struct {
	n string
	v int
}
type recs []rec
type ident int
---
ps := recs{{"a", 2}, {"b", 1}, {"a", 1}}
byV := func(a, b rec) int { return cmp.Compare(a.v, b.v) }
fmt.Println(slices.IsSortedFunc(ps, byV), slices.MinFunc(ps, byV), slices.EqualFunc(ps, ps, func(a, b rec) bool { return a == b }))
fmt.Println(slices.CompareFunc(ps, ps[1:], byV), slices.CompactFunc(slices.Clone(ps), func(a, b rec) bool { return a.n == b.n }))
i, ok := slices.BinarySearchFunc([]rec{{"a", 1}, {"b", 3}}, 3, func(p rec, v int) int { return p.v - v })
fmt.Println(i, ok, slices.Grow(ps, 10)[:3], cap(slices.Clip(ps[:1])), slices.Repeat(ps[:1], 2), slices.Concat(ps[:1], ps[2:]))
fmt.Println(slices.Equal(ps, ps), slices.Compact([]rec{{"q", 1}, {"q", 1}}), slices.Insert(ps, 3, ps...))
slices.Reverse(ps)
fmt.Println(ps, slices.ContainsFunc(ps, func(p rec) bool { return p.v == 9 }), slices.Replace(ps, 0, 2, rec{"z", 0}))
fmt.Println(slices.Insert(ps[:1:3], 0, rec{"in", 5}), ps, slices.Delete(ps, 0, 1), ps)
for i, p := range slices.Backward(ps) {
	fmt.Print(i, p, " ")
}
fmt.Println(slices.SortedStableFunc(slices.Values(ps), byV), len(slices.AppendSeq(ps, slices.Values(ps))))
ids := []ident{3, 1, 2}
fmt.Println(slices.Sorted(slices.Values(ids)), slices.IsSorted(ids), slices.Compare(ids, []ident{3, 2}))
j, ok := slices.BinarySearch([]ident{1, 2}, 2)
fmt.Println(j, ok, slices.Min(ids), slices.Max(ids), slices.Index(ids, 2))
fs := []float64{2, math.NaN(), 1, math.Inf(-1)}
slices.Sort(fs)
fmt.Println(fs, cmp.Compare(fs[0], fs[1]), slices.Max(fs[1:]), slices.Contains(fs, math.NaN()))
k, _ := pbkdf2.Key(sha256.New, "pw", []byte("salt"), 2, 4)
fmt.Printf("%x\n", k)`, "false {b 1} true\n1 [{a 2} {b 1} {a 1}]\n1 true [{a 2} {b 1} {a 1}] 1 [{a 2} {a 2}] [{a 2} {a 1}]\ntrue [{q 1}] [{a 2} {b 1} {a 1} {a 2} {b 1} {a 1}]\n[{z 0} {a 2} { 0}] false [{z 0} {a 2}]\n[{z 0} { 0}] [{z 0} { 0} { 0}] [{z 0} { 0}] [{z 0} { 0} { 0}]\n2 { 0} 1 { 0} 0 {z 0} [{z 0} { 0} { 0}] 6\n[1 2 3] false -1\n1 true 1 3 2\n[NaN -Inf 1 2] -1 2 false\n061df616\n"},
		{"maps of a cell's types", `
type mkey struct{ a int }
func attempt(f func() int) (r any) {
	defer func() { r = recover() }()
	return f()
}
---
m := map[mkey][]int{{1}: {1}, {2}: {2, 3}}
n := maps.Collect(maps.All(m))
maps.Insert(n, maps.All(map[mkey][]int{{3}: nil}))
maps.DeleteFunc(n, func(k mkey, v []int) bool { return len(v) > 1 })
fmt.Println(len(n), len(m), maps.EqualFunc(m, n, slices.Equal[[]int]))
x, y := map[mkey]int{{1}: 1}, map[mkey]int{{1}: 1}
fmt.Println(maps.Equal(x, y), slices.Sorted(maps.Values(x)), maps.Clone(map[mkey]int(nil)) == nil)
calls := 0
bad := sync.OnceValue(func() int { calls++; panic("no") })
fmt.Println(attempt(bad), attempt(bad), calls)
next, stop := iter.Pull(func(yield func(int) bool) {
	defer fmt.Print("cleaned ")
	for i := 0; yield(i); i++ {
	}
})
a, _ := next()
b, _ := next()
stop()
c, ok := next()
fmt.Println(a, b, c, ok)`, "2 2 false\ntrue [1] true\nno no 1\ncleaned 0 1 0 false\n"},
		{"sorting interfaces, by values of function types", `
type surface interface{ Area() float64 }
type sq float64
func (s sq) Area() float64 { return float64(s * s) }
type ci struct{ r float64 }
func (c ci) Area() float64 { return 3 * c.r * c.r }
func byArea(a, b surface) int { return cmp.Compare(a.Area(), b.Area()) }
type order func(a, b sq) int
type failure struct{ c int }
func (e failure) Error() string { return "failure" }
type missing struct{}
func (e *missing) Error() string { return "missing" }
---
ss := []surface{sq(3), ci{1}, sq(1)}
slices.SortFunc(ss, byArea)
fmt.Print(ss, " ")
slices.SortStableFunc(ss, func(a, b surface) int { return -byArea(a, b) })
fmt.Println(ss)
qs := []sq{3, 1, 2}
slices.SortFunc(qs, order(func(a, b sq) int { return int(a - b) }))
words := [][]string{{"b"}, {"a"}}
slices.SortFunc(words, slices.Compare)
ts := []time.Time{time.Unix(5, 0), time.Unix(1, 0)}
slices.SortFunc(ts, time.Time.Compare)
fmt.Println(qs, words, ts[0].Unix())
f, ok := errors.AsType[failure](fmt.Errorf("w: %w", failure{4}))
_, no := errors.AsType[*missing](fmt.Errorf("w: %w", failure{4}))
g, yes := errors.AsType[*missing](errors.Join(failure{1}, &missing{}))
fmt.Println(f.c, ok, no, g, yes)`, "[1 {1} 3] [3 {1} 1]\n[1 2 3] [[a] [b]] 1\n4 true false missing true\n"},
	})
}
