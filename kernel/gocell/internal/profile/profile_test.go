package profile

import (
	"bytes"
	"runtime/pprof"
	"strings"
	"testing"
	"time"
)

// example is a recursion, a library's call with a name that HTML must not take for
// its own, and the kernel's work.
func example() *Profile {
	line := func(f string, n int) Frame { return Frame{Function: f, File: "In[1]", Line: n} }
	return &Profile{
		Samples: []Sample{
			{Stack: []Frame{line("main", 9), line("f", 2), line("f", 2), line("f", 3)}, Nanos: 3 * Period},
			{Stack: []Frame{line("main", 9), line("f", 2)}, Nanos: Period},
			{Stack: []Frame{line("main", 8), {Function: "sort.Slice[go.shape.<b>]", File: "sort.go", Line: 4}}, Nanos: 5 * Period, Inside: 1},
			{Nanos: Period},
		},
		Wall: 110 * time.Millisecond,
		Text: func(file string, n int) string {
			if file != "In[1]" || n > 9 {
				return ""
			}
			return "\tif a < b {"
		},
	}
}

func TestTable(t *testing.T) {
	const want = `100 ms of processor time in 110 ms, by samples each 10 ms; 10 ms are the garbage collector's and the kernel's own
      own            total         line
    50 ms   50 %     50 ms   50 %  In[1]:8  if a < b {
    30 ms   30 %     30 ms   30 %  In[1]:3  if a < b {
    10 ms   10 %     40 ms   40 %  In[1]:2  if a < b {
and 1 lines that took less
`
	if got := example().Table(3); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got := (&Profile{Wall: time.Millisecond}).Table(3); !strings.Contains(got, "too short") {
		t.Errorf("nothing measured: %q", got)
	}
}

// Colours are the page's own nowhere, and texts are no HTML.
func TestHTML(t *testing.T) {
	page := example().HTML(3)
	for _, want := range []string{"In[1]:8 if a &lt; b {", "sort.Slice[go.shape.&lt;b&gt;]", "left:0.000%;width:50.000%", "and 1 lines"} {
		if !strings.Contains(page, want) {
			t.Errorf("no %q in %s", want, page)
		}
	}
	if strings.Contains(page, "<b>") || strings.Count(page, "background:#") != strings.Count(page, ";color:#1a1a1a") {
		t.Errorf("%s", page)
	}
}

// spent keeps a loop from being left out.
var spent int

// What is written is what is read; and so is a profile of the run time.
func TestFile(t *testing.T) {
	samples, err := Decode(example().Encode())
	if err != nil || len(samples) != 4 {
		t.Fatalf("%v, %v", samples, err)
	}
	if s := samples[0]; len(s.Stack) != 4 || s.Stack[0] != (Frame{"f", "In[1]", 3}) || s.Nanos != 3*Period {
		t.Errorf("%+v", s)
	}
	var file bytes.Buffer
	if err := pprof.StartCPUProfile(&file); err != nil {
		t.Fatal(err)
	}
	for i := range 10_000_000 {
		spent += i * i
	}
	pprof.StopCPUProfile()
	if _, err = Decode(file.Bytes()); err != nil {
		t.Error(err)
	}
	for _, wrong := range []string{"", "no profile"} {
		if _, err := Decode([]byte(wrong)); err == nil {
			t.Errorf("%q is a profile", wrong)
		}
	}
}
