package gocell

import (
	"context"
	"strings"
	"testing"

	"dace.local/kernel/engine"
	"dace.local/kernel/engine/enginetest"
	"dace.local/kernel/notebook"
)

func TestFormatMagic(t *testing.T) {
	s := benchSession(t)
	for _, c := range []struct{ code, next, value, fails string }{
		{"%fmt\nx:=1\nx+1", "x := 1\nx + 1", "2", ""},
		{"y:=4\n%fmt\ny", "y := 4\ny", "4", ""},
		{"%fmt", "", "", "nothing to format"},
		{"%fmt maybe", "", "", "want on, off"},
		{"x+1", "", "2", ""},
		{"%fmt on\nx+2", "%fmt on\nx + 2", "3", ""},
		{"x+3", "x + 3", "4", ""},
		{"x + 3", "", "4", ""},
		{"%fmt off\nx+3", "", "4", ""},
	} {
		res, err := s.Execute(context.Background(), engine.Cell{Number: 1, Code: c.code}, &enginetest.Recorder{})
		if c.fails != "" {
			if err == nil || !strings.Contains(err.Error(), c.fails) {
				t.Errorf("%q: %v, want %s", c.code, err, c.fails)
			}
			continue
		}
		next := ""
		if res.Next != nil {
			next = res.Next.Text
		}
		if text := res.Value.Data["text/plain"]; err != nil || text != c.value || next != c.next {
			t.Errorf("%q: %v, shows %v, becomes %q, want %q", c.code, err, text, next, c.next)
		}
	}
}

// A program runs in a session, too, and shows what its cells show; a notebook made of
// the program does so again.
func TestProgramInSession(t *testing.T) {
	nb := &notebook.Notebook{}
	for _, text := range []string{"x := 3\nx", "func add() { x++ }\nadd()", "x, must(strconv.Atoi(\"7\"))", "x := \"a\"\nx", "!echo $((6 * 7))", "y := 2.5;", "for i := 0; i < 2; i++ {\n\tfmt.Println(i, y)\n}"} {
		nb.Cells = append(nb.Cells, &notebook.Cell{Type: notebook.Code, Source: text, Metadata: map[string]any{}})
	}
	const want = "3\n4, 7\n\"a\"\n42\n0 2.5\n1 2.5\n"
	p, err := Program(nb, "nb", ".")
	if err != nil || len(p.Lacks) > 0 {
		t.Fatal(p, err)
	}
	defer p.Close()
	text := p.Text
	again, ok := FromProgram(text)
	if !ok {
		t.Fatalf("no notebook:\n%s", text)
	}
	var cells []string
	for _, c := range again.Cells {
		cells = append(cells, c.Source)
	}
	for _, list := range [][]string{{string(text)}, cells} {
		s := benchSession(t)
		var shown strings.Builder
		for i, code := range list {
			out := &enginetest.Recorder{}
			res, err := s.Execute(context.Background(), engine.Cell{Number: i + 1, Code: code}, out)
			if err != nil {
				t.Fatalf("%v\n%s", err, code)
			}
			for _, e := range out.Events() {
				text, _ := e.Bundle.Data["text/plain"].(string)
				if shown.WriteString(e.Text + text); text != "" {
					shown.WriteByte('\n')
				}
			}
			if text, ok := res.Value.Data["text/plain"].(string); ok {
				shown.WriteString(text + "\n")
			}
		}
		if shown.String() != want {
			t.Errorf("shows %q, want %q\n%s", shown.String(), want, strings.Join(list, "\n---\n"))
		}
	}
}
