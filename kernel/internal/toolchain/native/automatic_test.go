package native_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"dace.local/kernel/gocell"
)

// TestAutomatic checks that functions which run long are compiled without being
// asked, and that what cells mean does not depend on it.
func TestAutomatic(t *testing.T) {
	s := session(t, ready(t))
	n := 0
	cell := func(code string) string {
		n++
		return run(t.Context(), s, n, code)
	}
	end, ok := t.Deadline()
	if !ok {
		end = time.Now().Add(time.Hour)
	}
	end = end.Add(-10 * time.Second)
	// until repeats a cell until a function is said to be in a state. Machines may
	// be busy: it takes what time there is.
	until := func(code, function, state string) {
		t.Helper()
		for {
			got := cell(code)
			list := cell("%compile list")
			for line := range strings.Lines(list) {
				if name, is, _ := strings.Cut(strings.TrimSpace(line), " "); name == function && strings.HasPrefix(strings.TrimPrefix(strings.TrimSpace(is), "interpreted: "), state) {
					return
				}
			}
			if time.Now().After(end) {
				t.Fatalf("%s: no %q after %s, which shows %s\n%s", function, state, code, got, list)
			}
		}
	}
	for _, c := range []struct{ code, want string }{
		{"%compile", "%compile off"},
		{"%compile auto", ""},
		{"%compile sideways", "takes off, auto or list"},
		{"%compile list", "no function has run long enough"},
		{"func add(a, b int) int { return a + b }\nbase := 1\nfunc fib(n int) int { if n < 2 { return n*base }; return add(fib(n-1), fib(n-2)) }", ""},
	} {
		if got := cell(c.code); !strings.Contains(got, c.want) || c.want == "" && got != "" {
			t.Fatalf("%s shows %s, want %s", c.code, got, c.want)
		}
	}
	want := cell("fib(29)")
	until("fib(29)", "fib", "compiled")
	if got := cell("fib(29)"); got != want {
		t.Errorf("compiled it gives %s, want %s", got, want)
	}
	if got := cell("%timeit -n 1 -r 1 fib(9)"); !strings.HasSuffix(got, "fib is compiled") {
		t.Errorf("%%timeit says %s", got)
	}
	if got := cell("base = 2\nfib(10)"); got != "= 110" {
		t.Errorf("after base changed: %s", got)
	}
	if got := cell("%timeit -n 1 -r 1 add(1, 2)"); !strings.HasSuffix(got, "add is interpreted") {
		t.Errorf("%%timeit says %s", got)
	}
	if got := cell("func add(a, b int) int { return a - b }\nfib(3)"); got != "= 0" {
		t.Errorf("after add changed: %s", got)
	}
	// It is built again where it runs long again.
	cell("func add(a, b int) int { return a + b }")
	until("fib(28)", "fib", "compiled")
	if got := cell("fib(10)"); got != "= 110" {
		t.Errorf("built again: %s", got)
	}

	for _, c := range []struct{ declare, call, name, why string }{
		{"type pair struct{ a, b int }\nfunc swap(p pair) pair { return pair{p.b, p.a} }", "for range 300000 { swap(pair{1, 2}) }", "swap", "compiled"},
		{"seen := map[int]int{}\nfunc note(i int) { seen[i%10]++ }", "for i := range 300000 { note(i) }", "note", "compiled"},
		{"func start(n int) int { c := make(chan int); go func() { c <- n }(); return <-c }", "for i := range 100000 { start(i) }", "start", "compiled"},
		{"func show(n int) string { if n > 1e9 { fmt.Println(n) }; return strconv.Itoa(n) }", "for i := range 300000 { show(i) }", "show", "compiled"},
		{"func tested(t *testing.T, n int) { if n < 0 { t.Error(n) } }", "for i := range 300000 { tested(nil, i) }", "tested", "it calls (*testing.common).Error"},
		{"func any2(x any) int { n, _ := x.(int); return n }", "for i := range 300000 { any2(i) }", "any2", "compiled"},
		{"func lists(x any) int { n, _ := x.([]int); return len(n) }", "for i := range 300000 { lists(i) }", "lists", "compiled"},
		{"import \"unique\"\ntype held struct{ h unique.Handle[*int] }\nfunc deref(x held) int { return *x.h.Value() }\nseven := held{unique.Make(new(7))}", "for range 300000 { deref(seven) }", "deref", "it uses unique.Handle, which the kernel replaces"},
		{"func id[T any](x T) T { return x }", "for i := range 300000 { id(i) }", "id", "it is generic"},
	} {
		if got := cell(c.declare); got != "" {
			t.Fatalf("%s shows %s", c.declare, got)
		}
		until(c.call, c.name, c.why)
	}
	// What calls a function that can be compiled, and cannot itself.
	cell("func outer(p pair) int { n := 0; for i := range 1000 { n += inner(p.a, i) }; return n }\nfunc inner(a, i int) int { return a * i % 7 }")
	want = cell("outer(pair{3, 4})")
	until("for range 500 { outer(pair{3, 4}) }", "outer", "compiled")
	if got := cell("outer(pair{3, 4})"); got != want {
		t.Errorf("outer gives %s, want %s", got, want)
	}
	// A process that ends runs no deferred calls.
	cell("closed := 0\nfunc each(n int, f func(int)) { defer func() { closed++ }(); for i := range n { f(i) } }")
	until("each(100000, func(int) {})", "each", "compiled")
	want = cell("closed")
	if got := cell("each(9, func(i int) { if i == 5 { os.Exit(3) } })"); !strings.Contains(got, "os.Exit(3): the cell has ended") {
		t.Errorf("os.Exit in a function that a compiled one calls shows %s", got)
	}
	if got := cell("closed"); got != want {
		t.Errorf("os.Exit has run deferred calls: %s, want %s", got, want)
	}
	// A debugger stops only in what is interpreted.
	const heads = "func heads(n int) int {\n\ts := 0\n\tfor i := range n { s += i & 1 }\n\treturn s\n}"
	cell(heads)
	until("heads(1000000)", "heads", "compiled")
	is := func(why, want string) {
		t.Helper()
		if got := cell("%timeit -n 1 -r 1 heads(9)"); !strings.HasSuffix(got, want) {
			t.Errorf("%s, %%timeit says %s", why, got)
		}
		if got := cell("heads(9)"); got != "= 4" {
			t.Errorf("%s, heads(9) shows %s", why, got)
		}
	}
	is("compiled", "heads is compiled")
	debug := func(request string, arguments any) map[string]any {
		t.Helper()
		raw, err := json.Marshal(arguments)
		if err != nil {
			t.Fatal(err)
		}
		body, err := s.Debug(t.Context(), request, raw)
		if err != nil {
			t.Fatal(request, err)
		}
		m, _ := body.(map[string]any)
		return m
	}
	type object = map[string]any
	stopped := make(chan string, 1)
	s.DebugEvents(func(event string, _ any) {
		if event == "stopped" {
			stopped <- event
		}
	})
	debug("initialize", object{})
	debug("attach", object{})
	source := object{"path": debug("dumpCell", object{"code": heads})["sourcePath"]}
	debug("setBreakpoints", object{"source": source, "breakpoints": []object{{"line": 4}}})
	ended := make(chan string, 1)
	go func() { ended <- cell("heads(8)") }()
	select {
	case <-stopped:
		debug("setBreakpoints", object{"source": source, "breakpoints": []object{}})
		debug("continue", object{"threadId": 1})
		if got := <-ended; got != "= 4" {
			t.Errorf("after a stop, heads(8) shows %s", got)
		}
	case got := <-ended:
		t.Errorf("the cell shows %s and does not stop", got)
	}
	is("with a debugger", "heads is interpreted")
	if got := cell("%compile list"); !regexp.MustCompile(`(?m)^heads +built, and interpreted while a debugger is attached$`).MatchString(got) {
		t.Errorf("with a debugger, the list says %s", got)
	}
	debug("disconnect", object{})
	is("without the debugger", "heads is compiled")
	if got := cell("%compile off\n%compile"); !strings.HasSuffix(got, "%compile off") {
		t.Errorf("off: %s", got)
	}
	is("switched off", "heads is interpreted")
	cell("%compile auto")
	is("switched on again", "heads is compiled")
}

// BenchmarkAutomatic measures, in milliseconds, cells that call a function: the
// first, the second and the third time with %compile auto, and with the function
// in a %%compile cell. The second waits for the build if it has begun.
func BenchmarkAutomatic(b *testing.B) {
	for _, c := range []struct{ name, declare, call string }{
		{"brkga", objective, `p := problem.FromFunc("p", 30, objective)
r, err := brkga.Run(ctx, p, brkga.Settings{Evaluations: 20000, Seed: 1});`},
		{"fib", "func fib(n int) int { if n < 2 { return n }; return fib(n-1) + fib(n-2) }", "fib(30);"},
	} {
		b.Run(c.name, func(b *testing.B) {
			l := ready(b)
			took := map[string][]float64{}
			for b.Loop() {
				for _, by := range []string{"", "%%compile\n"} {
					s := session(b, l)
					cell := func(code string) float64 {
						start := time.Now()
						if got := run(b.Context(), s, 1, code); got != "" {
							b.Fatal(got)
						}
						return float64(time.Since(start).Microseconds()) / 1000
					}
					if by == "" {
						cell("%compile auto")
					}
					version := fmt.Sprintf("{ const version = %d;", len(took["third-ms"])) // a new text is built anew
					cell(by + strings.Replace(c.declare, "{", version, 1))
					if by != "" {
						cell(c.call)
						took["compiled-ms"] = append(took["compiled-ms"], cell(c.call))
						continue
					}
					for _, time := range []string{"first-ms", "second-ms", "third-ms"} {
						took[time] = append(took[time], cell(c.call))
					}
				}
			}
			for name, list := range took {
				slices.Sort(list)
				b.ReportMetric(list[len(list)/2], name)
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}

// TestNamesOfGo checks that functions which are compiled by themselves keep Go's own max and
// strings, where they were declared before the session declared these names.
func TestNamesOfGo(t *testing.T) {
	s, err := gocell.New(gocell.Options{Compiler: ready(t), CompileAfter: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for i, c := range []struct{ code, want, list string }{
		{"func h() int { return 0 }\nfunc g(n int) int { return max(n, h()) }\nfunc up(s string) string { return strings.ToUpper(s) + strconv.Itoa(h()) }", "", ""},
		{"type T struct{}\nfunc (T) ToUpper(s string) string { return \"mine\" }\nfunc max(a, b int) int { return -1 }\nfunc k() int { return max(1, 2) }\nvar strings T", "", ""},
		{"g(3), up(\"q\"), k()", "= 3, \"Q0\", -1", ""},
		{"func h() int { return 10 }", "", ""},
		{"g(3), up(\"q\"), k()", "= 10, \"Q10\", -1", ""},
		{"g(3), up(\"q\"), k()", "= 10, \"Q10\", -1", "g compiled, h compiled, k compiled, max compiled, up compiled"},
		{"func h() int { return max(1, 2) }", "", ""},
		{"g(3), up(\"q\"), k()", "= 3, \"Q-1\", -1", ""},
		{"g(3), up(\"q\"), k()", "= 3, \"Q-1\", -1", "g interpreted: this uses Go's own max, and what goes with it the max of a later cell: run the cell that declares this again, h compiled, k compiled, max compiled, up compiled"},
	} {
		if got := run(t.Context(), s, i+1, c.code); got != c.want {
			t.Errorf("In[%d] shows %s, want %s", i+1, got, c.want)
		}
		list := ""
		for list = "is being built"; strings.Contains(list, "is being built"); time.Sleep(time.Millisecond) {
			list = run(t.Context(), s, 1000, "%compile list")
		}
		if got := strings.ReplaceAll(regexp.MustCompile(" +").ReplaceAllString(list, " "), "\n", ", "); c.list != "" && got != c.list {
			t.Errorf("after In[%d]: %s\nwant %s", i+1, got, c.list)
		}
	}
}
