package gocell

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"dace.local/kernel/engine"
	"dace.local/kernel/engine/enginetest"
)

// endingCells are cells that would end a Go program, and a part of what they show.
var endingCells = []struct{ code, want string }{
	{`os.Exit(3)`, "os.Exit(3): the cell has ended"},
	{`log.Fatal("over")`, "os.Exit(1)"},
	{`log.New(io.Discard, "", 0).Fatalf("%d", 1)`, "os.Exit(1)"},
	{`runtime.Goexit()`, "Goexit has ended the cell"},
	{`syscall.Exit(2)`, "os.Exit(2)"},
	{`unix.Exit(2)`, "os.Exit(2)"},
	{`syscall.Kill(os.Getpid(), syscall.SIGKILL)`, "signal: killed"},
	{`syscall.Kill(0, syscall.SIGTERM)`, "signal: terminated"},
	{`unix.Kill(unix.Getpid(), unix.SIGABRT)`, "signal: aborted"},
	{`syscall.Tgkill(os.Getpid(), syscall.Gettid(), syscall.SIGSEGV)`, "signal: segmentation fault"},
	{`p, _ := os.FindProcess(os.Getpid()); p.Kill()`, "signal: killed"},
	{`p, _ := os.FindProcess(os.Getpid()); p.Signal(syscall.SIGQUIT)`, "signal: quit"},
	{`syscall.Syscall(syscall.SYS_EXIT_GROUP, 4, 0, 0)`, "os.Exit(4)"},
	{`syscall.RawSyscall6(syscall.SYS_KILL, uintptr(os.Getpid()), 9, 0, 0, 0, 0)`, "signal: killed"},
	{`unix.Syscall(unix.SYS_TGKILL, uintptr(unix.Getpid()), uintptr(unix.Gettid()), 11)`, "signal: segmentation fault"},
	{`flag.NewFlagSet("x", flag.ExitOnError).Parse([]string{"-nosuch"})`, "os.Exit(2)"},
	{`func match(pat, s string) (bool, error) { return true, nil }
testing.Main(match, []testing.InternalTest{{"TestEnds", func(t *testing.T) {}}}, nil, nil)`, "os.Exit(0)"},
	{`testing.Main(match, []testing.InternalTest{{"TestEnds", func(t *testing.T) { t.Fatal("no") }}}, nil, nil)`, "os.Exit(1)"},
	{`testing.Main(match, []testing.InternalTest{{"TestEnds", func(t *testing.T) { panic("no") }}}, nil, nil)`, "os.Exit(1)"},
	{`testing.Main(match, []testing.InternalTest{{"TestEnds", func(t *testing.T) { t.Run("sub", func(t *testing.T) { var p *int; *p = 1 }) }}}, nil, nil)`, "os.Exit(1)"},
	{`testing.Benchmark(func(b *testing.B) { panic("no") }).N`, "panic: no"},

	// Maps that goroutines share through library calls.
	{`type doc map[string]int
m := doc{}
race := func(f func(i int)) {
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() { for i := range 500 { f(i) } })
	}
	wg.Wait()
}`, ""},
	{`race(func(i int) { json.Unmarshal([]byte(fmt.Sprintf("{\"a%d\": 1}", i%50)), &m) }); len(m)`, "= 50"},
	{`race(func(i int) { m["b"] = i; json.Unmarshal([]byte("{\"c\": 1}"), &m) }); len(m)`, "= 52"},
	{`race(func(i int) { m["b"] = i; json.Marshal(m); json.MarshalIndent(m, "", " ") })`, ""},
	{`n := map[string]int{}; race(func(i int) { maps.Copy(n, map[string]int{fmt.Sprint(i): i}); maps.Clone(n) }); len(n)`, "= 500"},
	{`o := map[[2]int][]int{}; race(func(i int) { maps.Copy(o, map[[2]int][]int{{i, i}: nil}); maps.DeleteFunc(o, func(k [2]int, v []int) bool { return k[0]%2 == 0 && len(o) > 0 }) }); len(o)`, "= 250"},
	{`race(func(i int) { maps.DeleteFunc(n, func(k string, v int) bool { return n[k] > 249 }); n["z"] = 0 }); len(n)`, "= 251"},
	{`race(func(i int) { reflect.ValueOf(n).SetMapIndex(reflect.ValueOf("x"), reflect.ValueOf(i)); reflect.ValueOf(n).MapIndex(reflect.ValueOf("x")) })`, ""},
	{`race(func(i int) { n[fmt.Sprint(i%9)] = i; reflect.ValueOf(n).MapKeys(); for it := reflect.ValueOf(n).MapRange(); it.Next(); { it.Key() } })`, ""},
	{`race(func(i int) { n["y"] = i; reflect.DeepEqual(n, n) })`, ""},
	{`h := http.Header{}; race(func(i int) { h.Set(fmt.Sprint("k", i%20), "v"); h.Add("a", "b"); h.Get("a"); h.Del("k3"); h.Clone() })`, ""},
	{`q := url.Values{}; race(func(i int) { q.Set(fmt.Sprint(i%20), "v"); q.Encode(); q.Has("1") })`, ""},
	{`race(func(i int) { n["w"] = i; fmt.Fprintln(io.Discard, n); fmt.Sprintf("%v", []any{n}); fmt.Sprint(struct{ M map[string]int }{n}) })`, ""},
	{`tree := map[string]any{"a": map[string]any{}}; race(func(i int) { tree["a"].(map[string]any)[fmt.Sprint(i%30)] = i; json.Marshal(tree); fmt.Sprint(tree) })`, ""},
	{`stop := make(chan bool); go func() { for i := 0; ; i++ { select { case <-stop: return; default: n[fmt.Sprint(i%40)] = i } } }()`, ""},
	{`for range 20 { fmt.Sprint(len(n)) }; n`, "map[string]int"},
	{`close(stop)`, ""},
	{`type counted struct{}
var calls = map[string]int{}
func (counted) MarshalJSON() ([]byte, error) { calls["n"]++; return []byte("1"), nil }
func (c counted) String() string { return fmt.Sprint(calls["n"]) }
json.Marshal([]any{counted{}, calls, n})
race(func(i int) { fmt.Sprint(counted{}, calls); json.Marshal([]any{counted{}}) })`, ""},

	// The same through streams, which may wait.
	{`stream := func(i int) { n[fmt.Sprint(i%50)] = i; json.NewEncoder(io.Discard).Encode(n) }; race(stream)`, ""},
	{`race(func(i int) { n["v"] = i; json.NewDecoder(strings.NewReader("{\"u\": 1}")).Decode(&n) }); n["u"]`, "= 1"},
	{`import "encoding/gob"
race(func(i int) { n[fmt.Sprint(i%50)] = i; gob.NewEncoder(io.Discard).Encode(n) })
race(func(i int) {
	var b bytes.Buffer
	gob.NewEncoder(&b).Encode(map[string]int{"g": 2})
	gob.NewDecoder(&b).Decode(&n)
	n["f"] = i
})
n["g"]`, "= 2"},
	{`import "encoding/xml"
type inMap struct{ M map[string]int }
race(func(i int) { n[fmt.Sprint(i%50)] = i; xml.NewEncoder(io.Discard).Encode(inMap{n}); xml.Marshal(inMap{n}) })`, ""},
	{`import "text/template"
plain := template.Must(template.New("t").Funcs(template.FuncMap{"twice": func(x int) int { return 2 * x }, "sum": func(xs ...int) int { return len(xs) }}).Parse("{{range $k, $v := .}}{{$k}}={{twice $v}}{{sum 1 2}} {{end}}{{.}}{{len .}}"))
few := map[string]int{}
race(func(i int) { few[fmt.Sprint(i%5)] = i; if i%5 == 0 { plain.Execute(io.Discard, few) } })
var text strings.Builder
plain.Execute(&text, map[string]int{"a": 1})
text.String()`, "a=22 map[a:1]1"},
	{`import page "html/template"
html := page.Must(page.New("t").Parse("<p>{{range $k, $v := .}}{{$k}}={{$v}} {{end}}</p><script>x = {{.}}</script>"))
race(func(i int) { few[fmt.Sprint(i%5)] = i; if i%5 == 0 { html.ExecuteTemplate(io.Discard, "t", few) } })`, ""},
	{`in, to := io.Pipe()
go func() { // who reads needs the map that is written
	var got map[string]int
	for dec := json.NewDecoder(in); dec.Decode(&got) == nil; {
		few["read"]++
	}
}()
few["read"] = 0
for enc, i := json.NewEncoder(to), 0; i < 20; i++ {
	enc.Encode(few)
	plain.Funcs(template.FuncMap{"twice": func(x int) int {
		done := make(chan bool)
		go func() { few["within"] = x; close(done) }()
		<-done
		return x
	}}).Execute(io.Discard, few)
}
to.Close()`, ""},

	// Values that contain themselves.
	{`type ring struct { Next *ring; V int }
r := &ring{V: 1}
r.Next = r`, ""},
	{`gob.NewEncoder(io.Discard).Encode(r)`, "the value contains itself"},
	{`gob.NewEncoder(io.Discard).EncodeValue(reflect.ValueOf(r))`, "the value contains itself"},
	{`_, err := xml.Marshal(r); err.Error()`, "the value contains itself"},
	{`xml.NewEncoder(io.Discard).Encode([]any{1, r})`, "the value contains itself"},
	{`_, err = json.Marshal(r); err.Error()`, "cycle"},
	{`s := []any{1}; s[0] = s; gob.NewEncoder(io.Discard).Encode(s)`, "the value contains itself"},
	{`list := &ring{}; for range 20000 { list = &ring{Next: list} }; gob.NewEncoder(io.Discard).Encode(list) == nil`, "= true"},
	{`var b bytes.Buffer; same := &ring{}; gob.NewEncoder(&b).Encode([]*ring{same, same}) == nil`, "= true"},
}

// TestEnds runs cells that would end a Go program, in a process of their own:
// each ends alone, and the session lives on.
func TestEnds(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	inChild(t, func(t *testing.T) {
		s := benchSession(t)
		execute(t, s, 1, "kept := 41")
		for i, c := range endingCells {
			fmt.Println(i, c.code) // the last one is what ended the process
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
			got := enginetest.Show(ctx, s, engine.Cell{Number: i + 2, Code: c.code}, answering())
			cancel()
			if c.want == "" && strings.TrimSpace(got) != "" || !strings.Contains(got, c.want) {
				t.Errorf("%s\ngot  %s\nwant %s", c.code, got, c.want)
			}
		}
		if got := strings.TrimSpace(runCell(s, 1000, "kept + 1", time.Minute)); got != "= 42" {
			t.Errorf("the state after them: %s", got)
		}
		fmt.Println(len(endingCells), "cells ended")
	})
}
