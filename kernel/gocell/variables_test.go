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

// TestVariables checks what the panel of variables shows.
func TestVariables(t *testing.T) {
	s := benchSession(t)
	for i, code := range []string{
		"type T struct{ A int; b string }\nfunc (t T) Double() int { return 2 * t.A }\nconst c = 1",
		"n, name, when := 3, \"x\\ny\", 90 * time.Second\nt := T{1, \"b\"}\np := &t\nvar none error\nvar any1 any = t\nm := map[string][]int{\"a\": {1}}\nf := func(int) T { return t }\nch := make(chan int)",
		"var bad error = (*url.Error)(nil)",
	} {
		if got := runCell(s, i+1, code, time.Minute); got != "" {
			t.Fatal(got)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	out, done := answering(), make(chan struct{})
	go func() {
		defer close(done)
		_, _ = s.Execute(ctx, engine.Cell{Number: 9, Code: "fmt.Println(\"runs\")\nfor {\n}"}, out)
	}()
	for out.Text(enginetest.Stdout) == "" {
		time.Sleep(time.Millisecond)
	}
	if got := runCell(s, 10, "beside := 1", time.Minute); got != "" {
		t.Error(got)
	}
	if list, err := s.Variables(t.Context()); err != nil || len(list) != 12 || list[2].Name != "beside" || list[2].Value != "(a cell runs)" {
		t.Errorf("while a cell runs: %v, %v", list, err)
	}
	cancel()
	<-done
	list, err := s.Variables(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, v := range list {
		fmt.Fprintf(&b, "%s %s = %s\n", v.Name, v.Type, v.Value)
		if v.Shown.Empty() {
			t.Errorf("%s cannot be shown", v.Name)
		}
	}
	want := `any1 any = T{A: 1, b: "b"}
bad error = <nil>
beside int = 1
ch chan int = chan int
f func(int) T = func(int) T
m map[string][]int = map[string][]int{"a": {1}}
n int = 3
name string = "x\ny"
none error = <nil>
p *T = &T{A: 1, b: "b"}
t T = T{A: 1, b: "b"}
when time.Duration = 1m30s
`
	if b.String() != want {
		t.Errorf("got\n%swant\n%s", &b, want)
	}
}
