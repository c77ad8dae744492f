package native_test

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"dace.local/kernel/engine"
	"dace.local/kernel/engine/enginetest"
	"dace.local/kernel/gocell"
)

type layoutCell struct{ code, list string }

// layoutCells are run one after the other, with everything that runs compiled before the
// next cell and without: what they show is the same. list has names, with their state in
// %compile list after the cell.
var layoutCells = []layoutCell{
	{"type node struct { key int; left, right *node }\nfunc insert(n *node, k int) *node {\n\tif n == nil { return &node{key: k} }\n\tif k < n.key { n.left = insert(n.left, k) } else if k > n.key { n.right = insert(n.right, k) }\n\treturn n\n}\nfunc (n *node) sum() int {\n\tif n == nil { return 0 }\n\treturn n.key + n.left.sum() + n.right.sum()\n}\nvar root *node", ""},
	{"for i := range 100 {\n\troot = insert(root, i*37%101)\n}\nroot.sum()", ""},
	{"for i := range 100 {\n\troot = insert(root, i*37%101)\n}\nroot.sum()", "insert compiled, node.sum compiled, loop[2:1] compiled"},
	// A method, a callee, a type and a variable are declared again.
	{"func (n *node) sum() int {\n\tif n == nil { return 0 }\n\treturn 1 + n.left.sum() + n.right.sum()\n}\nroot.sum()", ""},
	{"root.sum()", "node.sum compiled"},
	{"type node struct { name string; key int; left, right *node }\nroot = insert(nil, 3)\nroot.name = `a`\nroot.key, root.sum(), root.name", ""},
	{"root.key, root.sum(), root.name", "insert compiled, node.sum compiled"},
	{"func scale() int { return 2 }\nfunc scaled(n int) int { return n * scale() * base }\nbase := 1\nscaled(3)", ""},
	{"scaled(3)", "scaled compiled"},
	{"func scale() int { return 5 }\nscaled(3)", ""},
	{"base = 7\nscaled(3)", "scaled compiled"},
	{"base := 8\nscaled(3)", "scaled compiled"},
	{"base := 1.5\n0", ""},
	{"scaled(3)", ""},
	// Places.
	{"type list struct { items []int }\nfunc (l list) at(i int) int {\n\treturn l.items[i]\n}\nlist{[]int{1}}.at(0)", ""},
	{"list{[]int{1}}.at(0)", "list.at compiled"},
	{"list{[]int{1}}.at(1)", "list.at compiled"},
	{"few := list{[]int{1, 2, 3}}\nmost := 3\ngot := 0", ""},
	{"for i := range most {\n\tgot += few.items[i]\n}\ngot", ""},
	{"for i := range most {\n\tgot += few.items[i]\n}\ngot", "loop[19:1] compiled"},
	{"most = 4", ""},
	{"for i := range most {\n\tgot += few.items[i]\n}\ngot", "loop[19:1] compiled"},
	{"got", ""},
	{"type counted uint8\nvar count counted = 250\nfor range 10 { count++ }\ncount", ""},
	{"for range 10 { count++ }\ncount", ""},
	// Own types in interfaces are the cell's.
	{"func named(p pair) string { return fmt.Sprintf(`%T %v`, p, p) }\ntype pair struct{ a, b int }\nnamed(pair{1, 2})", ""},
	{"named(pair{1, 2})", "named compiled"},
	{"type shape interface{ area() int }\nfunc (p pair) area() int { return p.a * p.b }\nfunc total(all []shape) (n int) { for _, s := range all { n += s.area() }; return }\ntotal([]shape{pair{1, 2}, pair{3, 4}})", ""},
	{"total([]shape{pair{1, 2}, pair{3, 4}})", "total compiled"},
	{"func isPair(x any) bool { _, ok := x.(pair); return ok }\nisPair(pair{}), isPair(1)", ""},
	{"isPair(pair{}), isPair(1)", "isPair compiled"},
	{"func sorted(ps []pair) []pair { sort.Slice(ps, func(i, j int) bool { return ps[i].b < ps[j].b }); return ps }\nsorted([]pair{{1, 9}, {2, 8}})", ""},
	{"sorted([]pair{{1, 9}, {2, 8}})", "sorted compiled"},
	{"func typed[T any](x T) string { return fmt.Sprintf(`%T`, x) }\nfunc typeOfPair(p pair) string { return typed(p) }\ntypeOfPair(pair{1, 2})", ""},
	{"typeOfPair(pair{1, 2})", "typeOfPair compiled"},
	{"func shaped(n int) (all []shape) { for i := range n { all = append(all, pair{i, 2}) }; return }\nlen(shaped(3))", ""},
	{"len(shaped(3))", "shaped compiled"},
	// Generic types, constants of a type, embedded fields, local types, functions of the
	// library that the kernel replaces.
	{"type stack[T any] struct{ items []T }\nfunc (s *stack[T]) push(x T) { s.items = append(s.items, x) }\nfunc (s *stack[T]) pop() T { x := s.items[len(s.items)-1]; s.items = s.items[:len(s.items)-1]; return x }\nfunc reversed(text string) string {\n\tvar s stack[rune]\n\tfor _, r := range text { s.push(r) }\n\tvar b strings.Builder\n\tfor len(s.items) > 0 { b.WriteRune(s.pop()) }\n\treturn b.String()\n}\nreversed(`abc`)", ""},
	{"reversed(`abc`)", "reversed compiled"},
	{"type level int\nconst (\n\tlow level = iota\n\thigh\n)\ntype base2 struct{ level }\ntype deep struct { base2; more []level }\nfunc climb(d *deep, to level) (n int) {\n\tfor d.level < to { d.level++; d.more = append(d.more, d.level); n++ }\n\treturn n\n}\nd := &deep{more: []level{low}}\nclimb(d, high+4), d", ""},
	{"climb(d, high+7), d", "climb compiled"},
	{"func text(n int) string {\n\ttype word struct { s string; n int }\n\tvar ws []word\n\tfor i := range n { ws = append(ws, word{strings.Repeat(`a`, i), i}) }\n\tfmt.Print(len(ws), ` `)\n\tvar b strings.Builder\n\tfor _, w := range ws { b.WriteString(w.s); fmt.Fprint(&b, w.n, `,`) }\n\treturn fmt.Sprintf(`%s %d`, b.String(), n)\n}\ntext(3)", ""},
	{"text(3)", "text compiled"},
	// Maps, which goroutines of cells share.
	{"type place struct{ x, y int }\ntype board map[place][]string\nseen := map[string]int{}\nb := board{}\nfunc fill(b board, words ...string) (n int) {\n\tfor i, w := range words {\n\t\tat := place{i % 2, len(w)}\n\t\tb[at] = append(b[at], w+`.`)\n\t\tseen[w]++\n\t\tseen[w] |= 4\n\t\tif old, ok := b[place{5, 5}]; ok || len(old) > 0 { delete(b, at) }\n\t}\n\tfor k, v := range b { n += k.x + k.y + len(v) }\n\tfor range seen { n++ }\n\treturn n + len(seen)*100\n}\nfill(b, `a`, `bc`), b, seen", ""},
	{"fill(b, `a`, `bc`, `d`), b, seen", "fill compiled"},
	{"fill(nil, `e`), b", "fill compiled"},
	{"done := make(chan bool)\nfor range 4 {\n\tgo func() { for range 200 { fill(board{}, `x`, `y`) }; done <- true }()\n}\nfor range 4 { <-done }\nlen(seen)", "fill compiled"},
	{"func memoized(memo map[int]int, n int) int {\n\tif v, ok := memo[n]; ok { return v }\n\tm := n\n\tif n > 1 { m = memoized(memo, n-1) + memoized(memo, n-2) }\n\tmemo[n] = m\n\treturn memo[n]\n}\nmemoized(map[int]int{}, 50)", ""},
	{"memoized(map[int]int{}, 50)", "memoized compiled"},
	{"func parse(s string) (int, error) {\n\tn, err := strconv.Atoi(s)\n\tif err != nil { return 0, fmt.Errorf(`not a number: %w`, err) }\n\treturn n, nil\n}\nparse(`x`)", ""},
	{"parse(`12`)", "parse compiled"},
	{"_, err := parse(`x`)\nerrors.Is(err, strconv.ErrSyntax), err", "parse compiled"},
}

// boundCells are like layoutCells: own types in interfaces are found by type switches,
// assertions and package errors, call their methods from libraries too, and are keys of maps.
var boundCells = []layoutCell{
	{"type pair struct{ a, b int }\nfunc (p pair) area() int { return p.a * p.b }\ntype shape interface{ area() int }\nfunc total(all []shape) (n int) { for _, s := range all { n += s.area() }; return }\nfunc shaped(n int) (all []shape) { for i := range n { all = append(all, pair{i, 2}) }; return }\ntype stack[T any] struct{ items []T }\nfunc (s *stack[T]) push(x T) { s.items = append(s.items, x) }", ""},
	{"type circle struct{ r int }\nfunc (c *circle) area() int { return 3 * c.r * c.r }\nfunc kind(x any) string {\n\tswitch y := x.(type) {\n\tcase pair:\n\t\treturn fmt.Sprint(`pair `, y.a)\n\tcase *circle, int:\n\t\treturn fmt.Sprintf(`%T`, y)\n\tcase shape:\n\t\treturn fmt.Sprint(`shape `, y.area())\n\tcase []pair:\n\t\treturn fmt.Sprint(len(y))\n\tcase nil:\n\t\treturn `nil`\n\tdefault:\n\t\treturn fmt.Sprintf(`other %T`, y)\n\t}\n}\nkind(pair{1, 2}), kind(&circle{1}), kind(3), kind(&pair{5, 6}), kind([]pair{{}}), kind(nil), kind([]string{`x`})", ""},
	{"kind(pair{1, 2}), kind(&circle{1}), kind(3), kind(&pair{5, 6}), kind([]pair{{}}), kind(nil), kind([]string{`x`})", "kind compiled"},
	{"func first(x any) int { return x.(pair).a }\nfunc areaOf(x any) int {\n\tswitch n := 2; v := x.(shape).(type) {\n\tcase pair:\n\t\treturn n * v.a\n\t}\n\treturn x.(shape).area()\n}\nfirst(pair{4, 5}), areaOf(&circle{1}), areaOf(pair{4, 5})", ""},
	{"first(pair{4, 5}), areaOf(&circle{1}), areaOf(pair{4, 5})", "first compiled, areaOf compiled"},
	{"first(3)", ""},
	{"areaOf(3)", ""},
	{"var none *pair\ntotal([]shape{none})", ""},
	{"shaped(1)[0] == shape(pair{0, 2}), reflect.TypeOf(shaped(1)[0]), fmt.Sprintf(`%T`, shaped(1)[0])", ""},
	{"type notFound struct{ key string }\nfunc (e *notFound) Error() string { return e.key + ` not found` }\nfunc find(k string) (int, error) {\n\tif k == `` { return 1, nil }\n\treturn 0, fmt.Errorf(`find: %w`, &notFound{k})\n}\nfunc key(k string) string {\n\t_, err := find(k)\n\tvar nf *notFound\n\tif errors.As(err, &nf) { return nf.key + `: ` + err.Error() }\n\treturn `ok`\n}\nkey(``), key(`b`)", ""},
	{"key(``), key(`b`)", "find compiled, key compiled"},
	{"_, err := find(`z`)\nvar nf *notFound\nerrors.As(err, &nf), nf, fmt.Sprintf(`%T`, errors.Unwrap(err))", ""},
	{"type byB []pair\nfunc (s byB) Len() int { return len(s) }\nfunc (s byB) Less(i, j int) bool { return s[i].b < s[j].b }\nfunc (s byB) Swap(i, j int) { s[i], s[j] = s[j], s[i] }\nfunc inOrder(ps []pair) []pair { sort.Sort(byB(ps)); return ps }\ninOrder([]pair{{1, 9}, {2, 8}, {3, 1}})", ""},
	{"inOrder([]pair{{1, 9}, {2, 8}, {3, 1}})", "inOrder compiled"},
	{"type word struct { text string; n int }\nseenWords := map[word]int{}\nfunc meet(w word, any2 map[any]int) int { seenWords[w]++; any2[w]++; return seenWords[w] + any2[w] }\nanys := map[any]int{}\nmeet(word{`a`, 1}, anys)", ""},
	{"meet(word{`a`, 1}, anys), seenWords[word{`a`, 1}], anys[word{`a`, 1}]", "meet compiled"},
	// What a method uses is declared again: interfaces call what holds now.
	{"func helper() int { return 1 }\ntype helped struct{}\nfunc (helped) area() int { return helper() }\nfunc useHelped() (n int) { for _, s := range []shape{helped{}, helped{}} { n += s.area() }; return }\nvar kept shape = helped{}\nuseHelped()", ""},
	{"useHelped(), total([]shape{helped{}}), kept.area()", "useHelped compiled"},
	{"func helper() int { return 5 }\nuseHelped(), total([]shape{helped{}}), kept.area()", ""},
	{"useHelped(), total([]shape{helped{}}), kept.area()", "useHelped compiled"},
	{"func (helped) area() int { return 7 }\nuseHelped(), kept.area()", ""},
	{"useHelped(), kept.area()", "useHelped compiled"},
	{"type inner struct{ shape }\ntype named2 interface{ shape; String() string }\nfunc (i inner) String() string { return fmt.Sprint(`inner `, i.area()) }\nfunc texts(n int) (s string) { for i := range n { var x named2 = inner{pair{i, i}}; s += x.String() + fmt.Sprint(x, x.area()) }; return }\ntexts(2)", ""},
	{"texts(2)", "texts compiled"},
	{"func genericShow() string {\n\tvar s stack[pair]\n\ts.push(pair{1, 2})\n\tvar t stack[string]\n\tt.push(`a`)\n\treturn fmt.Sprintf(`%T %T %v`, s, &t, any(s.items[0]))\n}\ngenericShow()", ""},
	{"genericShow()", "genericShow compiled"},
	// Goroutines and channels.
	{"func squares(jobs int) (total int) {\n\tin, out := make(chan int), make(chan int, 2)\n\tvar wg sync.WaitGroup\n\tfor range 3 {\n\t\twg.Add(1)\n\t\tgo func() { defer wg.Done(); for n := range in { out <- n * n } }()\n\t}\n\tgo func() { for i := range jobs { in <- i }; close(in); wg.Wait(); close(out) }()\n\tfor { v, ok := <-out; if !ok { break }; total += v }\n\treturn\n}\nsquares(10)", ""},
	{"squares(10)", "squares compiled"},
	{"func selects(n int) string {\n\ta, b, quit := make(chan int), make(chan string), make(chan bool)\n\tgo func() { for i := range n { a <- i }; close(quit) }()\n\tgo func() { for { select { case b <- `x`: case <-quit: return } } }()\n\tk := 0\n\tfor {\n\t\tselect {\n\t\tcase v := <-a: k += v\n\t\tcase t, ok := <-b: if !ok || t != `x` { return `?` }\n\t\tcase <-quit: return fmt.Sprint(k)\n\t\t}\n\t}\n}\nselects(10)", ""},
	{"selects(10)", "selects compiled"},
	{"type message struct { s shape; back chan<- any }\nfunc asks(n int) (list []any) {\n\tc, back := make(chan message, 1), make(chan any)\n\tgo func(c <-chan message) { for m := range c { m.back <- m.s.area(); m.back <- m.s } }(c)\n\tfor i := range n { c <- message{pair{i, 2}, back}; list = append(list, <-back, <-back) }\n\tclose(c)\n\tfor range c {}\n\tselect { case x := <-back: list = append(list, x); default: list = append(list, `none`) }\n\treturn\n}\nasks(2)", ""},
	{"asks(2)", "asks compiled"},
	{"func fails(n int) int {\n\tc := make(chan int)\n\tgo func() {\n\t\tdefer close(c)\n\t\tfmt.Println(`in a goroutine`)\n\t\tvar p *pair\n\t\tp.a = n\n\t}()\n\t<-c\n\ttime.Sleep(time.Second) // the note about the panic comes after the deferred calls\n\treturn n\n}\nfails(2)", ""},
	{"fails(2)", "fails compiled"},
	// Function literals in variables, which loops call, and statements with them.
	{"twice := func(n int) int { return 2 * n }\nsumTwice, items := 0, []int{}\nfor i := range 10 { sumTwice += twice(i); items = append(items, i*7%10) }\nsort.Slice(items, func(i, j int) bool { return items[i] < items[j] })\nsumTwice, items", ""},
	{"for i := range 10 { sumTwice += twice(i) }\nsumTwice", ""},
	{"for i := range 10 { sumTwice += twice(i) }\nsumTwice", ""},
	{"twice = func(n int) int { return 3 * n }\nfor i := range 10 { sumTwice += twice(i) }\nsumTwice", ""},
	{"for i := range 10 { sumTwice += twice(i) }\nsumTwice", ""},
	{"for i := range 10 {\n\tsumTwice += twice(i)\n\tif i == 5 { twice = func(n int) int { return -n } }\n}\nsumTwice", ""},
	{"for i := range 10 {\n\tsumTwice += twice(i)\n\tif i == 5 { twice = func(n int) int { return -n } }\n}\nsumTwice", ""},
	{"func times(k int) func(int) int { return func(n int) int { return k * n } }\ntwice = times(5)\nfor i := range 10 { sumTwice += twice(i) }\nsumTwice", ""},
	{"for i := range 10 { sumTwice += twice(i) }\nsumTwice", ""},
	{"var down func(n int) int\ndown = func(n int) int { if n == 0 { return 0 }; return down(n-1) + n }\nfor i := range 3 { sumTwice += down(i) }\nsumTwice", ""},
	{"for i := range 3 { sumTwice += down(i) }\nsumTwice", ""},
	{"ch, ended := make(chan int), make(chan bool)\nfor range 2 { go func() { for n := range ch { fmt.Fprint(io.Discard, n) }; ended <- true }() }\nfor i := range 5 { ch <- i }\nclose(ch)\nfor range 2 { <-ended }", ""},
	{"ch, ended := make(chan int), make(chan bool)\nfor range 2 { go func() { for n := range ch { fmt.Fprint(io.Discard, n) }; ended <- true }() }\nfor i := range 5 { ch <- i }\nclose(ch)\nfor range 2 { <-ended }", ""},
	{"func shares(n int) map[int]int {\n\tm := map[int]int{}\n\tvar wg sync.WaitGroup\n\tfor i := range 4 {\n\t\twg.Add(1)\n\t\tgo func() { defer wg.Done(); for k := range n { m[k*4+i] = k } }()\n\t\twg.Go(func() { for k := range n { m[-1-k*4-i] = k } })\n\t}\n\twg.Wait()\n\treturn m\n}\nlen(shares(1000))", ""},
	{"len(shares(1000))", "shares compiled"},
}

// placesRE matches the column of a place, and what marks it: compiled code knows lines.
var placesRE = regexp.MustCompile(`(?m)^(In\[\d+\]:\d+):\d+|^\s+\^$`)

// TestLayout runs layoutCells and boundCells, each in a session: there is a most for what
// one builds.
func TestLayout(t *testing.T) {
	l := ready(t)
	for _, cells := range [][]layoutCell{layoutCells, boundCells} {
		testLayout(t, l, cells)
	}
}

func testLayout(t *testing.T, l gocell.Compiler, cells []layoutCell) {
	hot, err := gocell.New(gocell.Options{Compiler: l, CompileAfter: -1}) // at once, and cells wait
	if err != nil {
		t.Fatal(err)
	}
	plain, err := gocell.New(gocell.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer hot.Close()
	defer plain.Close()
	shown := func(s *gocell.Session, number int, code string) string {
		return literalRE.ReplaceAllString(placesRE.ReplaceAllString(run(t.Context(), s, number, code), "$1"), "\n")
	}
	for i, c := range cells {
		if got, want := shown(hot, i+1, c.code), shown(plain, i+1, c.code); got != want {
			t.Errorf("%s\nshows\n%s\ncompiled, and\n%s\nwithout", c.code, got, want)
		}
		if c.list == "" {
			continue
		}
		list := regexp.MustCompile(` +`).ReplaceAllString(run(t.Context(), hot, i+1001, "%compile list"), " ")
		for _, line := range strings.Split(c.list, ", ") {
			if !strings.Contains("\n"+list+"\n", "\n"+line+"\n") && !strings.Contains(list, c.list) {
				t.Errorf("after %s\nthe list lacks %q:\n%s", c.code, line, list)
			}
		}
	}
}

// TestLayoutInterrupt checks that a loop of a cell that is compiled ends when the cell is
// interrupted, with what it has done.
func TestLayoutInterrupt(t *testing.T) {
	s, err := gocell.New(gocell.Options{Compiler: ready(t), CompileAfter: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	const loop = "for i := 0; i < most; i++ {\n\tn += i & 1\n\tif i == 100 {\n\t\tfmt.Println(`begun`)\n\t}\n}"
	run(t.Context(), s, 1, "n, most := 0, 10")
	run(t.Context(), s, 2, loop)
	run(t.Context(), s, 3, loop)
	if list := run(t.Context(), s, 4, "%compile list"); !regexp.MustCompile(`loop\[2:1\] +compiled`).MatchString(list) {
		t.Fatal(list)
	}
	run(t.Context(), s, 5, "most = 1 << 62")
	out := enginetest.Show(t.Context(), interrupting{s}, engine.Cell{Number: 6, Code: loop}, &enginetest.Recorder{})
	if !strings.Contains(out, "Interrupted: ") {
		t.Errorf("interrupted, it shows %s", out)
	}
	if got := run(t.Context(), s, 7, "n > 10"); got != "= true" {
		t.Errorf("after an interrupt, n > 10 shows %s", got)
	}
}

// TestWaitInterrupt checks that functions which are compiled, and wait for a channel, end when
// the cell is interrupted, with the goroutines that they have started.
func TestWaitInterrupt(t *testing.T) {
	s, err := gocell.New(gocell.Options{Compiler: ready(t), CompileAfter: -1, KeepStdio: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	run(t.Context(), s, 1, `ended := atomic.Int32{}
never, quiet := make(chan int), make(chan int)
func waits(how string) int {
	for i := range 3 { go func() { defer ended.Add(1); if i == 2 && how != "" { fmt.Println("begun") }; <-quiet }() }
	switch how {
	case "receive": return <-never
	case "send": never <- 1
	case "range": for range never {}
	case "select": select { case <-never: case never <- 1: }
	case "goroutines": var wg sync.WaitGroup; wg.Go(func() { never <- 1 }); never <- 2
	}
	return 0
}`)
	for range 2 {
		run(t.Context(), s, 3, "waits(``)")
	}
	if list := run(t.Context(), s, 4, "%compile list"); !regexp.MustCompile(`waits +compiled`).MatchString(list) {
		t.Fatal(list)
	}
	for _, how := range []string{"receive", "send", "range", "select", "goroutines"} {
		out := enginetest.Show(t.Context(), interrupting{s}, engine.Cell{Number: 5, Code: "waits(`" + how + "`)"}, &enginetest.Recorder{})
		if !strings.Contains(out, "Interrupted: ") || strings.Contains(out, "compiled call") {
			t.Errorf("%s, interrupted, shows %s", how, out)
		}
	}
	for end := time.Now().Add(time.Minute); run(t.Context(), s, 6, "ended.Load() == 3*5") != "= true"; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s goroutines have ended", run(t.Context(), s, 7, "ended.Load()"))
		}
	}
}
