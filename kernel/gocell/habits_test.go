package gocell

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"dace.local/kernel/engine"
)

// A shownCell is a cell and what it must show a part of; "" means nothing.
type shownCell struct{ code, want string }

func showCells(t *testing.T, s *Session, first int, cells []shownCell) {
	t.Helper()
	for i, c := range cells {
		got := runCell(s, first+i, c.code, time.Minute)
		if !strings.Contains(got, c.want) || c.want == "" && strings.TrimSpace(got) != "" {
			t.Errorf("In[%d]: %s\nshows %q, want in it %q", first+i, c.code, got, c.want)
		}
	}
}

func sessionWith(t testing.TB, opts Options) *Session {
	t.Helper()
	s, err := New(opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// TestStartFile runs a file before the first cell, whose functions are magics and are
// called around cells.
func TestStartFile(t *testing.T) {
	start := filepath.Join(t.TempDir(), "init.go")
	const text = "// magic_twice says a line two times.\nfunc magic_twice(line string) string { return line + line }\n\n" +
		"func magic_words(line, text string) (int, error) {\n\tif text == \"\" {\n\t\treturn 0, errors.New(\"no text\")\n\t}\n\treturn len(strings.Fields(text)), nil\n}\n\n" +
		"var log []string\n\nfunc before_cell(text string) { log = append(log, \"> \"+text) }\n\n" +
		"func after_cell(text string, took time.Duration, err error) {\n\tlog = append(log, fmt.Sprint(took > 0, err != nil))\n}\n\n%precision 3\n"
	if err := os.WriteFile(start, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	s := sessionWith(t, Options{KeepStdio: true, StartFile: start})
	showCells(t, s, 1, []shownCell{
		{"%twice ab", `= "abab"`},
		{"%%words x\none two\n three", "= 3"},
		{"%%words", "no text"},
		{"%precision", ""},
		{"%help %twice", "magic_twice says a line two times."},
		{"%lsmagic", "%twice"},
		{"%twise x", "did you mean %twice?"},
		{"func magic_bad(n int) {}", ""},
		{"%bad", "magic_bad has another form than a magic: magic_NAME(line string) is %NAME"},
		{"log[2]", "= > %%words x\none two\n three"},
		{"len(log) > 6, log[1], log[5]", `true, "true false", "true true"`},
		{"func magic_twice(line string) string { return \"new\" }\n%twice x", `"new"`},
		{"func before_cell(n int) {}", ""},
		{"1", "before_cell has failed:\nit takes a int; such a function"},
		{"%rm before_cell after_cell magic_twice", "before_cell has failed"},
		{"%twice x", "unknown magic %twice"},
	})
	if c := s.Complete("%wo", 3); len(c.Matches) != 0 {
		t.Errorf("%%wo: got %v", c.Matches)
	}
	if c := s.Complete("%%wo", 4); len(c.Matches) != 1 || c.Matches[0].Text != "%%words" {
		t.Errorf("%%%%wo: got %v, want %%%%words", c.Matches)
	}
}

// TestStartFileFails shows an error of the start-up file beside the first cell.
func TestStartFileFails(t *testing.T) {
	start := filepath.Join(t.TempDir(), "init.go")
	if err := os.WriteFile(start, []byte("x := 1\ny := nosuch\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	s := sessionWith(t, Options{KeepStdio: true, StartFile: start})
	showCells(t, s, 1, []shownCell{{"2", "init.go:2:6: undefined: nosuch"}, {"3", "= 3"}})
	showCells(t, sessionWith(t, Options{KeepStdio: true, StartFile: start + "x"}), 1, []shownCell{{"2", "= 2"}})
}

// TestRerun runs cells again.
func TestRerun(t *testing.T) {
	s := sessionWith(t, Options{KeepStdio: true})
	showCells(t, s, 1, []shownCell{
		{"n := 1", ""},
		{"n *= 2\nn", "= 2"},
		{"%rerun", "= 4"},
		{"%rerun 2 2", "= 8"},
		{"%rerun 1-2", "In[1]: n := 1\nIn[2]: n *= 2 ...\n= 2"},
		{"%rerun 6", "cell 6 runs itself"},
		{"%rerun 8", "there are no such cells"},
		{"%rerun 8", "cell 8 runs itself"},
		{"%rerun x", "neither a number nor a range"},
		{"func f() { panic(n) }", ""},
		{"f()\n", "panic: 2"},
		{"%rerun 11", "In[11]:1:1: in cell"},
	})
}

// TestStore keeps variables for a later session.
func TestStore(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	s := sessionWith(t, Options{KeepStdio: true})
	showCells(t, s, 1, []shownCell{
		{"%store", "Nothing is kept."},
		{"type point struct{ x, y float64 }\npoints := map[string][]point{\"a\": {{1, math.Inf(1)}}}\nscale := 3.0\nfunc scaled(p point) float64 { return scale * p.x }\nc := make(chan int)", ""},
		{"%store points scaled", "Stored points\nStored scaled\n"},
		{"%store c", "c cannot be kept, because it holds a value of type chan int: only plain data"},
		{"%store nosuch", "no cell has declared nosuch"},
		{"%store -x", "usage: %store"},
	})
	s = sessionWith(t, Options{KeepStdio: true})
	showCells(t, s, 1, []shownCell{
		{"%store", "points\nscaled\n"},
		{"%store -r", ""},
		{"points[\"a\"][0].y", "= +Inf"},
		{"scaled(points[\"a\"][0])", "= 3"},
		{"%store -d points", ""},
		{"%store -r points", "no points is kept"},
		{"%store -z", ""},
		{"%store", "Nothing is kept."},
	})
}

// TestScript runs cells by other programs.
func TestScript(t *testing.T) {
	showCells(t, sessionWith(t, Options{KeepStdio: true}), 1, []shownCell{
		{"%%script sh -e\necho $((6 * 7))", "42"},
		{"%%script sh\nexit 3", "exit status 3"},
		{"%%script nosuchprogram\nx", "this machine has no nosuchprogram"},
		{"%%script\nx", "want a program"},
		{"%%script sort -r\na\nc\nb", "c\nb\na"},
		{"%%script sh -c 'tr a-c A-C'\nabcd", "ABCd"},
		{"%%sort\na", "unknown magic %%sort (%%script sort gives that program the cell)"},
	})
}

// TestKeys completes keys of maps and columns of frames.
func TestKeys(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("afile", nil, 0o666); err != nil {
		t.Fatal(err)
	}
	s := sessionWith(t, Options{KeepStdio: true})
	execute(t, s, 1, `import "dace.local/dacelib/frame"
type settings struct{ limits map[string]int }
m := map[string]map[string]int{"alpha": {"one": 1}, "beta": nil, "q\"": nil}
st := &settings{map[string]int{"low": 1}}
f := must(frame.ParseCSV(strings.NewReader("name,val\na,1\n"), frame.CSVSettings{}))
var none any
type code uint8
im := map[int]string{42: "", 7: "", -1: ""}
codes := map[code]int{200: 1}
texts := map[code]bool{}
func made() map[string]map[string]int { return m }`)
	for _, c := range []struct{ code, want string }{
		{`m["`, "alpha beta"},
		{`m["be`, "beta"},
		{`m["alpha"]["`, "one"},
		{`fmt.Println(m["`, "alpha beta"},
		{`st.limits["`, "low"},
		{`f.Floats("`, "name val"},
		{`f.Select("name", "v`, "val"},
		{`f.WriteCSV("a`, "afile"},
		{`os.Open("a`, "afile"},
		{`none["a`, ""},
		{`nosuch["a`, ""},
		{`made()["a`, ""},
		{`delete(m, "`, "alpha beta"},
		{`delete(st.limits, "`, "low"},
		{`im[4`, "42"},
		{`codes[2`, "200"},
		{`texts[2`, ""},
		{`x := []string{"a`, "afile"},
	} {
		var got []string
		for _, m := range s.Complete(c.code, len(c.code)).Matches {
			got = append(got, m.Text)
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: got %q, want %q", c.code, got, c.want)
		}
	}
	for code, want := range map[string]string{"m[": `["alpha" "beta" "q\""]`, "st.limits[": `["low"]`, "im[": "[-1 7 42]"} {
		var got []string
		for _, m := range s.Complete(code, len(code)).Matches {
			if m.Type == "key" {
				got = append(got, m.Text)
			}
		}
		if fmt.Sprint(got) != want {
			t.Errorf("%s: got %s, want %s", code, got, want)
		}
	}
	if c := s.Complete(`m["`, 3); c.Start != 3 || c.Matches[0] != (engine.Completion{Text: "alpha", Type: "key"}) {
		t.Errorf("m[\": got %+v", c)
	}
}

// TestDocLinks resolves links of doc comments, and has the documentation before the
// body.
func TestDocLinks(t *testing.T) {
	s := sessionWith(t, Options{KeepStdio: true})
	execute(t, s, 1, "// norm is like [math.Hypot], see [Point] and [nosuch].\n// It has a second line.\nfunc norm(p Point) float64 { return math.Hypot(p.x, p.y) }\n\ntype Point struct{ x, y float64 }")
	for detail, wants := range map[int][]string{
		0: {"func norm(p Point) float64", "norm is like math.Hypot, see Point and [nosuch]. It has a second line."},
		1: {"func norm(p Point) float64\n\nnorm is like math.Hypot, see Point and [nosuch]. It has a second line.", "{ return math.Hypot(p.x, p.y) }"},
	} {
		doc, ok := s.Inspect("norm", 4, detail)
		text, _ := doc.Data["text/plain"].(string)
		for _, want := range wants {
			if !ok || !strings.Contains(text, want) {
				t.Errorf("detail %d: got %q, want in it %q", detail, text, want)
			}
		}
		md, _ := doc.Data["text/markdown"].(string)
		if want := "[math.Hypot](https://pkg.go.dev/math#Hypot)"; !strings.Contains(md, want) {
			t.Errorf("detail %d: got %q, want in it %q", detail, md, want)
		}
	}
	doc, _ := s.Inspect("nir.Train", 9, 1)
	text, _ := doc.Data["text/plain"].(string)
	if head, _, _ := strings.Cut(text, "defer run.Report"); !strings.Contains(head, "Train trains") && !strings.Contains(head, "Train ") || head == text {
		t.Errorf("nir.Train: got %q, want its documentation before its body", text)
	}
}

// TestHooksFollow redeclares what a function around cells calls, uses and is.
func TestHooksFollow(t *testing.T) {
	showCells(t, sessionWith(t, Options{KeepStdio: true}), 1, []shownCell{
		{"func word() string { return \"one\" }\nfunc part() string { return word() }\nvar more = \"\"\nvar log []string\nfunc before_cell() { log = append(log, part()+more) }", ""},
		{"log", `"one"`},
		{"func word() string { return \"two\" }", ""},
		{"log[len(log)-1]", `= "two"`},
		{"more = \"!\"", ""},
		{"log[len(log)-1]", `= "two!"`},
		{"func before_cell() { log = append(log, \"three\") }", ""},
		{"log[len(log)-1]", `= "three"`},
		{"var log []int\nfunc before_cell() { log = append(log, 7) }", ""},
		{"log", "7"},
		{"%reset -f", ""},
		{"log := 1\nlog", "= 1"},
	})
}

// BenchmarkHooks measures what a function before and one after each cell take of its time.
func BenchmarkHooks(b *testing.B) {
	for _, code := range []string{"", "count := 0\nfunc before_cell(text string) { count += len(text) }\nfunc after_cell(took time.Duration, err error) { count++ }"} {
		b.Run(fmt.Sprintf("hooks=%v", code != ""), func(b *testing.B) {
			s := sessionWith(b, Options{KeepStdio: true})
			execute(b, s, 1, "x := 0")
			execute(b, s, 2, code)
			for i := 0; b.Loop(); i++ {
				runCell(s, 3+i, "x++", time.Minute)
			}
		})
	}
}
