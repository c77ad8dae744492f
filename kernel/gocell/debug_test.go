package gocell

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"dace.local/kernel/engine"
	"dace.local/kernel/engine/enginetest"
	"dace.local/kernel/internal/system/process"
)

// A debugClient debugs a session as a front end does.
type debugClient struct {
	t      testing.TB
	s      *Session
	events chan string // "stopped breakpoint 1"
	number int
	done   chan error // of the cell that runs
	out    *enginetest.Recorder
}

// debugPatience is how long a test waits before it fails.
const debugPatience = 2 * time.Minute

// newDebugClient attaches to a session in which some cells have run.
func newDebugClient(t testing.TB, earlier ...string) *debugClient {
	c := &debugClient{t: t, s: benchSession(t), events: make(chan string, 1000)}
	c.s.DebugEvents(func(event string, body any) {
		m := body.(map[string]any)
		switch event {
		case "stopped":
			c.events <- fmt.Sprint("stopped ", m["reason"])
		}
	})
	for _, code := range earlier {
		c.start(t.Context(), code)
		if err := c.ended(); err != nil {
			t.Fatal(err)
		}
	}
	c.ask("initialize", nil)
	c.ask("attach", nil)
	return c
}

type object = map[string]any

// ask makes a request and returns the body of the reply as JSON.
func (c *debugClient) ask(command string, arguments object) object {
	c.t.Helper()
	body, err := c.try(command, arguments)
	if err != nil {
		c.t.Fatalf("%s: %v", command, err)
	}
	return body
}

func (c *debugClient) try(command string, arguments object) (object, error) {
	raw, err := json.Marshal(arguments)
	if err != nil {
		c.t.Fatal(err)
	}
	body, err := c.s.Debug(context.Background(), command, raw)
	if err != nil {
		return nil, err
	}
	raw, err = json.Marshal(body)
	if err != nil {
		c.t.Fatal(err)
	}
	var o object
	if err := json.Unmarshal(raw, &o); err != nil {
		c.t.Fatal(err)
	}
	return o, nil
}

// breakAt sets the breakpoints of a cell.
func (c *debugClient) breakAt(code string, points ...object) []any {
	c.t.Helper()
	path := c.ask("dumpCell", object{"code": code})["sourcePath"]
	return c.ask("setBreakpoints", object{"source": object{"path": path}, "breakpoints": points})["breakpoints"].([]any)
}

func line(n int) object { return object{"line": n} }

// start runs a cell in a goroutine.
func (c *debugClient) start(ctx context.Context, code string) {
	c.number++
	c.done, c.out = make(chan error, 1), &enginetest.Recorder{}
	number, done, out := c.number, c.done, c.out
	go func() {
		_, err := c.s.Execute(ctx, engine.Cell{Number: number, Code: code}, out)
		done <- err
	}()
}

// wait waits until the cell has stopped for a reason.
func (c *debugClient) wait(reason string) {
	c.t.Helper()
	select {
	case got := <-c.events:
		if got != "stopped "+reason {
			c.t.Fatalf("%s, want stopped %s", got, reason)
		}
	case err := <-c.done:
		c.t.Fatalf("the cell has ended (%v), want it to stop: %s", err, reason)
	case <-time.After(debugPatience):
		c.t.Fatalf("the cell does not stop: %s", reason)
	}
}

// ended waits until the cell has ended.
func (c *debugClient) ended() error {
	c.t.Helper()
	select {
	case err := <-c.done:
		return err
	case got := <-c.events:
		c.t.Fatalf("%s, want the cell to end", got)
	case <-time.After(debugPatience):
		c.t.Fatal("the cell does not end")
	}
	return nil
}

// settled waits until no goroutine has stopped: one whose cell is interrupted goes
// on by itself.
func (c *debugClient) settled() {
	c.t.Helper()
	for end := time.Now().Add(debugPatience); len(c.ask("debugInfo", nil)["stoppedThreads"].([]any)) > 0; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			c.t.Fatal("a goroutine is still stopped")
		}
	}
}

func (c *debugClient) frames() []any {
	c.t.Helper()
	return c.ask("stackTrace", object{"threadId": 1})["stackFrames"].([]any)
}

// stack returns the stack as text: "f:3 cell:7", the innermost first.
func (c *debugClient) stack() string {
	c.t.Helper()
	var list []string
	for _, f := range c.frames() {
		list = append(list, fmt.Sprint(f.(object)["name"], ":", f.(object)["line"]))
	}
	return strings.Join(list, " ")
}

func (c *debugClient) frame(i int) any {
	c.t.Helper()
	return c.frames()[i].(object)["id"]
}

// scope returns a scope of a frame.
func (c *debugClient) scope(frame, scope int) any {
	c.t.Helper()
	return c.ask("scopes", object{"frameId": c.frame(frame)})["scopes"].([]any)[scope].(object)["variablesReference"]
}

func (c *debugClient) children(ref any) []any {
	c.t.Helper()
	return c.ask("variables", object{"variablesReference": ref})["variables"].([]any)
}

// describe returns variables as text: "x int = 3; y ...".
func describe(vars []any) string {
	var list []string
	for _, v := range vars {
		v := v.(object)
		list = append(list, fmt.Sprint(v["name"], " ", v["type"], " = ", v["value"]))
	}
	return strings.Join(list, "; ")
}

func (c *debugClient) locals(frame int) string {
	c.t.Helper()
	return describe(c.children(c.scope(frame, 0)))
}

func (c *debugClient) want(what, got, want string) {
	c.t.Helper()
	if got != want {
		c.t.Errorf("%s: %s\nwant %s", what, got, want)
	}
}

// go_ makes the goroutine that has stopped go on.
func (c *debugClient) go_(command string) {
	c.t.Helper()
	c.ask(command, object{"threadId": 1})
}

const debugCell = `type P struct{ X, y int }
func half(n int) int {
	h := n / 2
	return h
}
func sum(list []int, p *P) (total int) {
	for i, x := range list {
		total += half(x) + i
	}
	return
}
m := map[string]int{"b": 2, "a": 1}
p := &P{1, 2}
s := sum([]int{10, 20, 30}, p)
fmt.Println(s, m["a"])
`

func TestDebugSteps(t *testing.T) {
	c := newDebugClient(t)
	points := c.breakAt(debugCell, line(8), line(9))
	if len(points) != 2 || points[0].(object)["verified"] != true || points[1].(object)["line"] != 10.0 {
		t.Errorf("breakpoints %v", points)
	}
	c.start(t.Context(), debugCell)
	c.wait("breakpoint")
	c.want("stack", c.stack(), "sum:8 main:14")
	c.want("locals", c.locals(0), "list []int = []int{10, 20, 30}; p *P = &P{X: 1, y: 2}; total int = 0; i int = 0; x int = 10")
	c.want("the caller's", c.locals(1), `m map[string]int = map[string]int{"a": 1, "b": 2}; p *P = &P{X: 1, y: 2}`)

	c.go_("stepIn")
	c.wait("step")
	c.want("stack after stepIn", c.stack(), "half:3 sum:8 main:14")
	c.go_("next")
	c.wait("step")
	c.want("stack after next", c.stack(), "half:4 sum:8 main:14")
	c.want("locals", c.locals(0), "n int = 10; h int = 5")
	c.want("the caller's locals", c.locals(1), "list []int = []int{10, 20, 30}; p *P = &P{X: 1, y: 2}; total int = 0; i int = 0; x int = 10")
	c.go_("stepOut")
	c.wait("breakpoint") // in the next round
	c.want("stack after stepOut", c.stack(), "sum:8 main:14")
	c.go_("next")
	c.wait("breakpoint")
	c.breakAt(debugCell)
	c.go_("stepOut")
	c.wait("step")
	c.want("stack in the cell", c.stack(), "main:15")
	c.go_("continue")
	if err := c.ended(); err != nil {
		t.Error(err)
	}
	c.want("output", c.out.Text(enginetest.Stdout), "33 1\n")
}

func TestDebugChanges(t *testing.T) {
	c := newDebugClient(t)
	c.breakAt(debugCell, line(8))
	c.start(t.Context(), debugCell)
	c.wait("breakpoint")
	f := c.frame(0)
	for _, e := range []struct{ code, result, typ string }{
		{"x + total", "10", "int"},
		{"len(list)", "3", "int"},
		{"p", "&P{X: 1, y: 2}", "*P"},
		{"half(x)", "5", "int"},
		{"s", "0", "int"}, // the session's
		{"x = 100", "", ""},
		{"p.X += 4; p.X", "5", "int"},
		{"fmt.Sprint(x)", `"100"`, "string"},
	} {
		got := c.ask("evaluate", object{"expression": e.code, "frameId": f, "context": "repl"})
		if got["result"] != e.result || got["type"] != e.typ && (got["type"] != nil || e.typ != "") {
			t.Errorf("%s: %v, want %s of type %s", e.code, got, e.result, e.typ)
		}
	}
	for code, want := range map[string]string{"nothing": "undefined: nothing", "x +": "expected operand", "list[7]": "index out of range"} {
		if _, err := c.try("evaluate", object{"expression": code, "frameId": f}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", code, err, want)
		}
	}
	locals := c.children(c.scope(0, 0))
	ref := func(name string) any {
		i := slices.IndexFunc(locals, func(v any) bool { return v.(object)["name"] == name })
		return locals[i].(object)["variablesReference"]
	}
	c.want("elements", describe(c.children(ref("list"))), "[0] int = 10; [1] int = 20; [2] int = 30")
	c.want("fields", describe(c.children(ref("p"))), "X int = 5; y int = 2")
	c.ask("setVariable", object{"variablesReference": ref("list"), "name": "[1]", "value": "1000"})
	c.ask("setVariable", object{"variablesReference": ref("p"), "name": "y", "value": "p.X * 2"})
	c.ask("setVariable", object{"variablesReference": c.scope(0, 0), "name": "total", "value": "7"})
	c.want("locals", c.locals(0), "list []int = []int{10, 1000, 30}; p *P = &P{X: 5, y: 10}; total int = 7; i int = 0; x int = 100")
	c.want("rich", fmt.Sprint(c.ask("richInspectVariables", object{"variableName": "p", "frameId": f})["data"]), "map[text/plain:&P{X: 5, y: 10}]")
	c.ask("copyToGlobals", object{"srcVariableName": "x", "dstVariableName": "copied", "srcFrameId": f})
	c.ask("copyToGlobals", object{"srcVariableName": "total", "dstVariableName": "total", "srcFrameId": f})
	if globals := describe(c.children(c.scope(0, 1))); !strings.Contains(globals, "copied int = 100") || !strings.Contains(globals, "total int = 7") {
		t.Errorf("globals: %s", globals)
	}
	c.breakAt(debugCell)
	c.go_("continue")
	if err := c.ended(); err != nil {
		t.Error(err)
	}
	c.want("output", c.out.Text(enginetest.Stdout), "575 1\n")
	execute(t, c.s, 50, `if copied != 100 || total != 7 || p.y != 10 { panic(fmt.Sprint(copied, total, p)) }`)
}

// TestDebugJupyterLab shows values as JupyterLab's panel wants them: it shows a type
// instead of the value, unless that is int, bool or missing.
func TestDebugJupyterLab(t *testing.T) {
	c := newDebugClient(t)
	c.ask("initialize", object{"clientID": "jupyterlab"})
	const code = "func f(n int, x float64, s string, list []int, on bool, d time.Duration, p *int) {\n\t_ = n\n}\nf(1, 2.5, \"text\", []int{3}, true, time.Second, nil)"
	c.breakAt(code, line(2))
	c.start(t.Context(), code)
	c.wait("breakpoint")
	c.want("locals", c.locals(0), `n int = 1; x <nil> = 2.5; s <nil> = "text"; list []int = []int{3}; on bool = true; d <nil> = 1s; p <nil> = <nil>`)
	// JupyterLab does not show why a request has failed.
	if got := fmt.Sprint(c.ask("evaluate", object{"expression": "nothing", "frameId": c.frame(0)})["result"]); !strings.Contains(got, "undefined: nothing") {
		t.Errorf("an error: %s", got)
	}
	scope := c.scope(0, 0)
	c.go_("continue")
	if err := c.ended(); err != nil {
		t.Error(err)
	}
	// It asks about what has gone on, and takes the body of a failure for lists.
	if left := c.children(scope); len(left) != 0 {
		t.Errorf("variables of a call that has gone on: %s", describe(left))
	}
}

func TestDebugConditions(t *testing.T) {
	c := newDebugClient(t)
	const code = `s := 0
for i := range 100 {
	s += i
}
s`
	c.breakAt(code, object{"line": 3, "condition": "i == 42 && s > 0"})
	c.start(t.Context(), code)
	c.wait("breakpoint")
	c.want("locals", c.locals(0), "s int = 861; i int = 42")
	c.breakAt(code, object{"line": 3, "condition": "nothing > 3"})
	c.go_("continue")
	c.wait("breakpoint")
	c.want("locals", c.locals(0), "s int = 903; i int = 43")
	c.breakAt(code)
	c.go_("continue")
	if err := c.ended(); err != nil {
		t.Error(err)
	}
}

func TestDebugPanics(t *testing.T) {
	c := newDebugClient(t)
	c.ask("setExceptionBreakpoints", object{"filters": []string{"panic"}})
	const code = `func at(list []int, i int) int {
	return list[i]
}
func quiet(i int) (err any) {
	defer func() { err = recover() }()
	panic(fmt.Sprint("no ", i))
}
quiet(1)
quiet(2)
at([]int{1}, 7)`
	c.start(t.Context(), code)
	for i, want := range []string{"quiet:6 main:8", "quiet:6 main:9", "at:2 main:10"} {
		c.wait("exception")
		c.want("stack", c.stack(), want)
		if i < 2 {
			c.want("locals", c.locals(0), fmt.Sprintf("i int = %d; err any = <nil>", i+1))
			c.go_("continue")
		}
	}
	c.want("locals", c.locals(0), "list []int = []int{1}; i int = 7")
	c.go_("continue")
	if err := c.ended(); err == nil || !strings.Contains(err.Error(), "index out of range [7] with length 1") {
		t.Error(err)
	}
	c.ask("setExceptionBreakpoints", object{"filters": []string{}})
	c.start(t.Context(), "at(nil, 1)")
	if err := c.ended(); err == nil {
		t.Error("no panic")
	}
}

func TestDebugPauseAndInterrupt(t *testing.T) {
	c := newDebugClient(t)
	const code = `n := 0
for {
	n++
}`
	ctx, cancel := context.WithCancel(t.Context())
	c.start(ctx, code)
	for got := ""; got == ""; { // the cell may not run yet
		c.ask("pause", object{"threadId": 1})
		select {
		case got = <-c.events:
			c.want("event", got, "stopped pause")
		case <-time.After(10 * time.Millisecond):
		}
	}
	for c.stack() != "main:3" { // it may have stopped before the loop
		c.go_("next")
		c.wait("step")
	}
	for range 2 {
		c.go_("next")
		c.wait("step")
		c.want("stack", c.stack(), "main:3")
	}
	cancel()
	if err := c.ended(); err == nil || !strings.Contains(err.Error(), engine.Interrupted) {
		t.Error(err)
	}
	c.settled()
	if _, err := c.try("scopes", object{"frameId": 1}); err == nil {
		t.Error("a frame is there after the end")
	}
	execute(t, c.s, 30, `if n < 1 { panic(n) }`)
}

func TestDebugGoroutines(t *testing.T) {
	c := newDebugClient(t)
	const code = `var wg sync.WaitGroup
var mu sync.Mutex
sum := 0
for k := range 3 {
	wg.Go(func() {
		square := k * k
		mu.Lock()
		sum += square
		mu.Unlock()
	})
}
wg.Wait()
fmt.Println(sum)`
	c.breakAt(code, line(7))
	c.start(t.Context(), code)
	seen := map[string]bool{}
	for range 3 {
		c.wait("breakpoint")
		stack := c.stack()
		if !strings.HasSuffix(strings.Fields(stack)[0], ":7") {
			t.Errorf("stack %s", stack)
		}
		// Only what is the goroutine's own: those that have gone on write to sum.
		f := c.frame(0)
		own := func(name string) any { return c.ask("evaluate", object{"expression": name, "frameId": f})["result"] }
		seen[fmt.Sprint(own("k"), " ", own("square"))] = true
		c.go_("continue")
	}
	if err := c.ended(); err != nil {
		t.Error(err)
	}
	for k := range 3 {
		if want := fmt.Sprint(k, " ", k*k); !seen[want] {
			t.Errorf("no goroutine has %s: %v", want, seen)
		}
	}
	c.want("output", c.out.Text(enginetest.Stdout), "5\n")
}

// TestDebugConstructs runs cells with breakpoints on all their lines, and compares
// what they print with what they print without a debugger.
func TestDebugConstructs(t *testing.T) {
	for _, code := range []string{
		"type T[P any] struct{ p P }\nfunc (t *T[P]) Get(len int) P {\n\tstring := len\n\t_ = string\n\treturn t.p\n}\nfmt.Println((&T[int]{3}).Get(1), (&T[string]{\"x\"}).Get(2))",
		"func f(x any) string {\n\tswitch v := x.(type) {\n\tcase int:\n\t\treturn fmt.Sprint(v + 1)\n\tcase string:\n\t\treturn v\n\t}\n\treturn \"?\"\n}\nfmt.Println(f(1), f(\"a\"), f(nil))",
		"ch := make(chan int, 3)\nfor i := 0; i < 3; i++ {\n\tch <- i\n}\nclose(ch)\nfor v := range ch {\n\tfmt.Println(v)\n}\nselect {\ncase v, ok := <-ch:\n\tfmt.Println(v, ok)\ndefault:\n\tfmt.Println(\"none\")\n}",
		"fs := []func() int{}\nfor i := range 3 {\n\tj := i * i\n\tfs = append(fs, func() int {\n\t\tj++\n\t\treturn i + j\n\t})\n}\nfor _, f := range fs {\n\tfmt.Println(f())\n}",
		"func seq(n int) iter.Seq[int] {\n\treturn func(yield func(int) bool) {\n\t\tfor i := range n {\n\t\t\tif !yield(i) {\n\t\t\t\treturn\n\t\t\t}\n\t\t}\n\t}\n}\nfor v := range seq(3) {\n\tif v == 1 {\n\t\tcontinue\n\t}\n\tfmt.Println(v)\n}",
		"func g() (n int, err error) {\n\tdefer func() {\n\t\tif r := recover(); r != nil {\n\t\t\terr = fmt.Errorf(\"%v\", r)\n\t\t}\n\t}()\n\tn = 3\n\tpanic(\"p\")\n}\nfmt.Println(g())",
		"outer:\nfor i := range 3 {\n\tfor j := range 3 {\n\t\tif j == 2 {\n\t\t\tcontinue outer\n\t\t}\n\t\tif i == 2 {\n\t\t\tbreak outer\n\t\t}\n\t\tfmt.Println(i, j)\n\t}\n}\ni := 0\nagain:\ni++\nif i < 3 {\n\tgoto again\n}\nfmt.Println(i)",
		"list := []int{3, 1, 2}\nsort.Slice(list, func(a, b int) bool {\n\treturn list[a] < list[b]\n})\nfmt.Println(list)",
		"type S struct{ n int }\nfunc (s S) String() string {\n\treturn fmt.Sprint(\"S\", s.n)\n}\nvar x fmt.Stringer = S{4}\nfmt.Println(x)\nif y, ok := x.(S); ok {\n\tfmt.Println(y.n)\n}",
	} {
		plain := &enginetest.Recorder{}
		if _, err := benchSession(t).Execute(t.Context(), engine.Cell{Number: 1, Code: code}, plain); err != nil {
			t.Fatalf("%s\n%v", code, err)
		}
		c := newDebugClient(t)
		var points []object
		for i := range strings.Count(code, "\n") + 1 {
			points = append(points, line(i+1))
		}
		c.breakAt(code, points...)
		c.start(t.Context(), code)
		stops := 0
	run:
		for {
			select {
			case <-c.events:
				stops++
				for i := range c.frames() {
					c.locals(i)
				}
				c.go_("next")
			case err := <-c.done:
				if err != nil {
					t.Errorf("%s\n%v", code, err)
				}
				break run
			case <-time.After(debugPatience):
				t.Fatalf("%s\nhangs", code)
			}
		}
		if got, want := c.out.Text(enginetest.Stdout), plain.Text(enginetest.Stdout); got != want || stops < 3 {
			t.Errorf("%s\nprints %q after %d stops, want %q", code, got, stops, want)
		}
	}
}

// TestDebugEnds checks that a client which goes leaves nothing behind.
func TestDebugEnds(t *testing.T) {
	c := newDebugClient(t)
	const code = "for i := range 3 {\n\tfmt.Println(i)\n}"
	c.breakAt(code, line(2))
	c.start(t.Context(), code)
	c.wait("breakpoint")
	c.ask("disconnect", nil)
	if err := c.ended(); err != nil {
		t.Error(err)
	}
	c.want("output", c.out.Text(enginetest.Stdout), "0\n1\n2\n")
	if _, err := c.try("continue", object{"threadId": 1}); err == nil || !strings.Contains(err.Error(), "has not begun") {
		t.Errorf("continue: %v", err)
	}
	c.start(t.Context(), code)
	if err := c.ended(); err != nil {
		t.Error(err)
	}
}

// BenchmarkDebug compares cells that run while a client debugs, without a
// breakpoint, with the same undebugged: constructs in loops, a statement a line, and
// the programs of testdata/python. It reports the medians of their processor time.
//
//	go test ./kernel/gocell -run xxx -bench Debug -benchtime 5x
func BenchmarkDebug(b *testing.B) {
	lines := strings.NewReplacer("{ ", "{\n", " }", "\n}", "; ", "\n", "for i := 0\n", "for i := 0; ", "i < n\n", "i < n; ")
	ratios := []float64{}
	compare := func(name, decl, call string) {
		b.Run(name, func(b *testing.B) {
			sessions, times := [2]*Session{benchSession(b), newDebugClient(b).s}, [2][]float64{}
			for _, s := range sessions {
				execute(b, s, 1, decl)
			}
			for b.Loop() {
				for i, s := range sessions {
					before := process.TotalTime()
					execute(b, s, 2, call)
					times[i] = append(times[i], (process.TotalTime() - before).Seconds())
				}
			}
			plain, debugged := median(times[0]), median(times[1])
			ratios = append(ratios, debugged/plain)
			b.ReportMetric(1000*plain, "plain-ms")
			b.ReportMetric(1000*debugged, "debugged-ms")
			b.ReportMetric(debugged/plain, "debugged/plain")
			b.ReportMetric(0, "ns/op")
		})
	}
	for _, l := range loops {
		compare(l.name, lines.Replace(l.decl), l.call)
	}
	programs, err := filepath.Glob("testdata/python/*.cell")
	if err != nil || len(programs) == 0 {
		b.Fatal("no programs: ", err)
	}
	for _, p := range programs {
		code, err := os.ReadFile(p)
		if err != nil {
			b.Fatal(err)
		}
		compare(strings.TrimSuffix(filepath.Base(p), ".cell"), "", string(code))
	}
	mean := 0.0
	for _, r := range ratios {
		mean += math.Log(r) / float64(len(ratios))
	}
	b.Logf("of %d: geometric mean %.2f, largest %.2f", len(ratios), math.Exp(mean), slices.Max(ratios))
}

func median(x []float64) float64 {
	x = slices.Sorted(slices.Values(x))
	return (x[(len(x)-1)/2] + x[len(x)/2]) / 2
}

// TestDebugOnDisk stops in the files of a module on disk: in a package that no cell has
// used yet, in one that was used before a client debugged, and after an edit.
func TestDebugOnDisk(t *testing.T) {
	const stats = `package stats

import "example.com/m/inner"

type Acc struct{ n int }

func (a *Acc) Add(x int) int {
	a.n += x
	return a.n
}

func Sum(list []int) (total int) {
	var acc Acc
	for _, x := range list {
		total = acc.Add(inner.Twice(x))
	}
	return total
}
`
	root := writeOnDisk(t, "-- go.mod --\nmodule example.com/m\n\ngo 1.24\n-- stats/stats.go --\n"+stats+
		"-- inner/inner.go --\npackage inner\n\nvar Calls int\n\nfunc Twice(x int) int {\n\tCalls++\n\treturn 2 * x\n}\n", "")
	root, err := filepath.EvalSymlinks(root)
	if err != nil {
		t.Fatal(err)
	}
	file, inner := filepath.Join(root, "stats/stats.go"), filepath.Join(root, "inner/inner.go")
	set := func(c *debugClient, file string, lines ...object) []any {
		t.Helper()
		return c.ask("setBreakpoints", object{"source": object{"path": file}, "breakpoints": lines})["breakpoints"].([]any)
	}
	const call = "import \"example.com/m/stats\"\nn := stats.Sum([]int{1, 2})"
	for _, c := range []*debugClient{newDebugClient(t), newDebugClient(t, "import \"example.com/m/stats\"\nfunc wrap() int { return stats.Sum(nil) }\nkeep := stats.Acc{}", call)} {
		writeFile(t, file, stats)
		points := set(c, file, line(8), line(14))
		if points[0].(object)["verified"] != true || points[1].(object)["line"] != 14.0 {
			t.Fatalf("breakpoints %v", points)
		}
		set(c, inner, object{"line": 7, "condition": "x == 2"})
		c.start(t.Context(), call)
		c.wait("breakpoint")
		c.want("stack", c.stack(), "stats.Sum:14 main:2")
		c.want("source", fmt.Sprint(c.frames()[0].(object)["source"].(object)["path"]), file)
		c.want("locals", c.locals(0), "list []int = []int{1, 2}; total int = 0; acc stats.Acc = stats.Acc{n: 0}")
		if text := c.ask("source", object{"source": object{"path": file}})["content"]; text != stats {
			t.Errorf("source %v", text)
		}
		set(c, file, line(8))
		c.go_("continue")
		c.wait("breakpoint")
		c.want("stack in a method", strings.Replace(c.stack(), "stats.(*Acc).", "Acc.", 1), "Acc.Add:8 stats.Sum:15 main:2")
		c.want("locals", c.locals(0), "a *stats.Acc = &stats.Acc{n: 0}; x int = 2")
		set(c, file)
		c.go_("continue")
		c.wait("breakpoint")
		c.want("stack in another package", c.stack(), "inner.Twice:7 stats.Sum:15 main:2")
		set(c, inner)
		c.go_("next")
		c.wait("step")
		c.go_("continue")
		if err := c.ended(); err != nil {
			t.Error(err)
		}
		execute(t, c.s, 50, "import \"example.com/m/inner\"\nif n != 6 || inner.Calls%2 != 0 { panic(fmt.Sprint(n, inner.Calls)) }")

		writeFile(t, file, strings.Replace(stats, "	var acc Acc\n", "	// An edit.\n	var acc Acc\n	acc.n = 10\n", 1))
		set(c, file, line(15))
		c.start(t.Context(), "m := stats.Sum([]int{4})")
		c.wait("breakpoint")
		c.want("stack after an edit", c.stack(), "stats.Sum:15 main:1")
		set(c, file)
		c.go_("continue")
		if err := c.ended(); err != nil {
			t.Error(err)
		}
		execute(t, c.s, 51, "if m != 18 { panic(m) }")
	}
	// A function of a cell calls what was linked again.
	c := newDebugClient(t, "import \"example.com/m/stats\"\nfunc wrap() int { return stats.Sum([]int{1}) }\nwrap()")
	set(c, file, line(19))
	c.start(t.Context(), "wrap()")
	c.wait("breakpoint")
	c.want("stack", c.stack(), "stats.Sum:19 wrap:2 main:1")
	c.go_("continue")
	if err := c.ended(); err != nil {
		t.Error(err)
	}
}
