package gocell

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"dace.local/kernel/engine"
	"dace.local/kernel/engine/enginetest"
)

func shownBy(t *testing.T, s *Session, number int, code string) (stdout string, displays []string) {
	t.Helper()
	out := &enginetest.Recorder{}
	if _, err := s.Execute(context.Background(), engine.Cell{Number: number, Code: code}, out); err != nil {
		t.Fatalf("%s: %v", code, err)
	}
	for _, e := range out.Events() {
		switch e.Kind {
		case enginetest.Stdout, enginetest.Stderr:
			stdout += e.Text
		case enginetest.Display, enginetest.Update:
			displays = append(displays, fmt.Sprint(e.Bundle.Data["text/plain"]))
		}
	}
	return stdout, displays
}

// The end of a long output is shown, and all of it is there.
func TestLongOutput(t *testing.T) {
	s, err := New(Options{KeepOutputs: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	t.Chdir(t.TempDir())
	text, notes := shownBy(t, s, 1, `for i := range 30 {
	fmt.Print(strings.Repeat(fmt.Sprintf("line %d\n", i), 10_000))
}
display.Markdown("**done**")`)
	if len(text) > shownHead+shownTail || !strings.HasPrefix(text, "line 0\n") || !strings.HasSuffix(text, "\nline 29\n") {
		t.Errorf("%d bytes: %.20q ... %q", len(text), text, text[len(text)-20:])
	}
	all := strings.Join(notes, "\n")
	if !strings.Contains(all, "lines (") || !strings.Contains(all, "the end is below") || !strings.Contains(all, "%output -f FILE 1") || !strings.Contains(all, "**done**") {
		t.Errorf("notes: %q", notes)
	}
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "line ") || !strings.HasSuffix(line, "\n") || strings.Count(line, "line") != 1 {
			t.Errorf("a line is cut: %q", line)
		}
	}
	if got, _ := shownBy(t, s, 2, "%output 1 10000-10001"); got != "line 0\nline 1\n" {
		t.Errorf("%q", got)
	}
	shownBy(t, s, 3, "%output -f all.txt 1")
	if b, err := os.ReadFile(filepath.Join(".", "all.txt")); err != nil || strings.Count(string(b), "\n") != 300_000 {
		t.Errorf("%d bytes, %v", len(b), err)
	}
	shownBy(t, s, 4, "fmt.Println(\"short\")\ndisplay.Markdown(\"*a*\")")
	if text, shows := shownBy(t, s, 5, "%output"); text != "short\n" || len(shows) != 1 || shows[0] != "*a*" {
		t.Errorf("%q %q", text, shows)
	}
	shownBy(t, s, 7, "fmt.Println(\"before\")\n6 * 7")
	if text, shows := shownBy(t, s, 8, "%output"); text != "before\n" || len(shows) != 1 || shows[0] != "42" {
		t.Errorf("of a value: %q %q", text, shows)
	}
	runCell(s, 9, "fmt.Println(\"before\")\npanic(\"at last\")", time.Minute)
	if text, shows := shownBy(t, s, 10, "%output 9"); !strings.HasPrefix(text, "before\n") || !strings.Contains(text, "at last") || len(shows) != 0 {
		t.Errorf("of a panic: %q %q", text, shows)
	}
	if got := runCell(s, 6, "%output 77", 0); !strings.Contains(got, "nothing is kept of cell 77") {
		t.Errorf("%q", got)
	}
}

// Goroutines that print into two areas at the same time do not mix their lines.
func TestTwoAreas(t *testing.T) {
	s := sessionWith(t, Options{KeepStdio: true})
	_, displays := shownBy(t, s, 1, `areas := []*widget.Area{widget.Output(), widget.Output()}
var group sync.WaitGroup
for i, a := range areas {
	group.Go(func() {
		a.Run(func() {
			for k := range 50 {
				fmt.Println("area", i, "line", k)
				runtime.Gosched()
			}
		})
	})
}
group.Wait()
widget.VBox(areas[0], areas[1])`)
	want := ""
	for i := range 2 {
		for k := range 50 {
			want += fmt.Sprintln("area", i, "line", k)
		}
	}
	if len(displays) != 1 || !strings.HasPrefix(displays[0], want) {
		t.Errorf("%d displays: %q", len(displays), displays)
	}
}

// A cell beside a running one follows it to its end.
func TestOutputOfRunning(t *testing.T) {
	s, err := New(Options{KeepOutputs: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	shownBy(t, s, 1, "next := make(chan bool)\nh := display.NewHandle()")
	over := make(chan struct{})
	started := make(chan struct{})
	go func() {
		defer close(over)
		_, _ = s.Execute(context.Background(), engine.Cell{Number: 2, Code: "fmt.Println(\"one\")\nh.Show(1)\n<-next\nfmt.Println(\"two\")\nh.Show(2)\n<-next\nfmt.Println(\"three\")"},
			onFirst{&enginetest.Recorder{}, func() { close(started) }})
	}()
	<-started
	var got string
	attached := make(chan struct{})
	go func() {
		defer close(attached)
		var shows []string
		got, shows = shownBy(t, s, 3, "%output 2")
		got += strings.Join(shows, ",")
	}()
	shownBy(t, s, 4, "next <- true\nnext <- true")
	<-over
	<-attached
	if got != "one\ntwo\nthree\n1,2" && got != "one\ntwo\nthree\n2" {
		t.Errorf("%q", got)
	}
}

// onFirst calls a function at the first display.
type onFirst struct {
	engine.Outputs
	do func()
}

func (o onFirst) Display(b engine.Bundle, id string) { o.Outputs.Display(b, id); o.do() }
