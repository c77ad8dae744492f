package frame_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"dace.local/dacelib/frame"
	"dace.local/dacelib/internal/process"
)

func parse(t testing.TB, text string, s frame.CSVSettings) frame.Frame {
	t.Helper()
	f, err := frame.ParseCSV(strings.NewReader(text), s)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestTypes checks which types columns get.
func TestTypes(t *testing.T) {
	nan := math.NaN()
	day := func(d int) time.Time { return time.Date(2026, 11, d, 0, 0, 0, 0, time.UTC) }
	for _, c := range []struct {
		values string // one a line
		want   any
	}{
		{"1\n-2\n300", []int{1, -2, 300}},
		{"1\nNA\n3", []float64{1, nan, 3}},
		{"1\n\"\"\n3", []float64{1, nan, 3}},
		{"1.5\n2e3\nnan", []float64{1.5, 2000, nan}},
		{"007\n012", []string{"007", "012"}},
		{"0\n0.5", []float64{0, 0.5}},
		{"0x10\n1", []string{"0x10", "1"}},
		{"1_000\n2", []string{"1_000", "2"}},
		{"true\nFalse", []bool{true, false}},
		{"true\n1", []string{"true", "1"}},
		{"2026-11-22\n2026-11-01", []time.Time{day(22), day(1)}},
		{"2026-11-22 00:00:00\n2026-11-01 00:00:00", []time.Time{day(22), day(1)}},
		{"NA\nNA", []string{"NA", "NA"}},
		{"a\n1", []string{"a", "1"}},
		{"99999999999999999999\n1", []float64{99999999999999999999, 1}},
		{" 1\n2 ", []int{1, 2}},
	} {
		f := parse(t, "x\n"+c.values+"\n", frame.CSVSettings{Comma: ','})
		if got := f.Column("x"); fmt.Sprintf("%T%v", got, got) != fmt.Sprintf("%T%v", c.want, c.want) {
			t.Errorf("%q: %T %v, want %v", c.values, got, got, c.want)
		}
	}
}

func TestCSV(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		s    frame.CSVSettings
	}{
		"comma":         {"a,b\n1,x\n2,y\n", frame.CSVSettings{}},
		"semicolon":     {"a;b\n1;x\n2;y\n", frame.CSVSettings{}},
		"tab, Windows":  {"a\tb\r\n1\tx\r\n2\ty\r\n", frame.CSVSettings{}},
		"mark":          {"\ufeffa,b\n1,x\n2,y", frame.CSVSettings{}},
		"no names":      {"1,x\n2,y\n", frame.CSVSettings{Names: []string{"a", "b"}}},
		"comments":      {"# of 2026\na,b\n1,x\n2,y\n", frame.CSVSettings{Comment: '#', Comma: ','}},
		"quotes":        {"a,\"b\"\n\"1\",x\n2,\"y\"\n", frame.CSVSettings{}},
		"decimal comma": {"a;b\n1,0;x\n2,0;y\n", frame.CSVSettings{DecimalComma: true}},
	} {
		f := parse(t, c.text, c.s)
		if !slices.Equal(f.Names(), []string{"a", "b"}) || !slices.Equal(f.Floats("a"), []float64{1, 2}) || !slices.Equal(f.Strings("b"), []string{"x", "y"}) {
			t.Errorf("%s: %v", name, f)
		}
	}
	if f := parse(t, "a,b\n007,1\n", frame.CSVSettings{Texts: []string{"a", "b"}}); f.Strings("b")[0] != "1" || f.Column("b").([]string)[0] != "1" {
		t.Errorf("texts: %v", f)
	}
	for text, want := range map[string]string{
		"":             "empty",
		"a,a\n1,2\n":   `two columns "a"`,
		"a,b\n1\n":     "line 2",
		"a,b\n1,\"x\n": "line 2",
	} {
		if _, err := frame.ParseCSV(strings.NewReader(text), frame.CSVSettings{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
	if _, err := frame.ReadCSV("nosuch.csv"); err == nil || !strings.Contains(err.Error(), "nosuch.csv") {
		t.Error(err)
	}
}

// TestWriteCSV reads back what was written, also when compressed.
func TestWriteCSV(t *testing.T) {
	f := frame.Frame{}.
		With("n", []int{1, -5}).
		With("x", []float64{0.1, math.NaN()}).
		With("text", []string{"a,\"b\"\nc", ""}).
		With("yes", []bool{true, false}).
		With("when", []time.Time{time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC), time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)})
	path := filepath.Join(t.TempDir(), "f.csv")
	if err := f.WriteCSV(path); err != nil {
		t.Fatal(err)
	}
	g, err := frame.ReadCSV(path)
	if err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(g.Select("n", "x", "text", "yes")) != fmt.Sprint(f.Select("n", "x", "text", "yes")) {
		t.Errorf("%v\n%v", f, g)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var z bytes.Buffer
	w := gzip.NewWriter(&z)
	if _, err := w.Write(b); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	h, err := frame.ParseCSV(&z, frame.CSVSettings{})
	if err != nil || h.String() != g.String() {
		t.Errorf("%v: %v", h, err)
	}
}

const runs = `method,d,value
DACE,30,0.9
DACE,40,0.8
CEPS,30,0.7
CEPS,40,NA
DACE,30,1.0
`

// TestGroups has its numbers from pandas 1.5.3, whose mean of value differs in
// the last digit.
func TestGroups(t *testing.T) {
	f := parse(t, runs, frame.CSVSettings{})
	for _, c := range []struct {
		what      string
		got, want string
	}{
		{"mean", csvOf(t, f.GroupBy("method", "d").Mean("value")), "method,d,value\nCEPS,30,0.7\nCEPS,40,\nDACE,30,0.95\nDACE,40,0.8\n"},
		{"count", csvOf(t, f.GroupBy("d").Count()), "d,count\n30,3\n40,2\n"},
		{"sum, all", csvOf(t, f.GroupBy("method").Sum()), "method,d,value\nCEPS,70,0.7\nDACE,100,2.7\n"},
		{"max", csvOf(t, f.GroupBy("method").Max("value")), "method,value\nCEPS,0.7\nDACE,1\n"},
		{"median", csvOf(t, f.GroupBy("method").Median("value")), "method,value\nCEPS,0.7\nDACE,0.9\n"},
		{"where", csvOf(t, f.Where("value", ">", 0.75).Where("method", "==", "DACE").Select("d")), "d\n30\n40\n30\n"},
		{"where not", csvOf(t, f.Where("value", "!=", 0.7).Select("value")), "value\n0.9\n0.8\n\"\"\n1\n"},
		{"filter", csvOf(t, f.Filter(func(r frame.Row) bool { return r.Int("d") == 40 && r.String("method") == "CEPS" })), "method,d,value\nCEPS,40,\n"},
		{"sort", csvOf(t, f.Sort("method", "-value")), "method,d,value\nCEPS,30,0.7\nCEPS,40,\nDACE,30,1\nDACE,30,0.9\nDACE,40,0.8\n"},
		{"describe", csvOf(t, f.Describe()), "column,count,mean,std,min,25%,50%,75%,max\nd,5,34,5.477225575051661,30,30,30,40,40\nvalue,4,0.85,0.12909944487358058,0.7,0.775,0.8500000000000001,0.925,1\n"},
		{"compute", csvOf(t, f.Compute("per", func(r frame.Row) float64 { return r.Float("value") / r.Float("d") * 30 }).Select("per").Head(2)), "per\n0.9\n0.6\n"},
		{"tail", csvOf(t, f.Tail(1).Drop("d")), "method,value\nDACE,1\n"},
		{"rename", csvOf(t, f.Head(1).Rename("d", "dim")), "method,dim,value\nDACE,30,0.9\n"},
	} {
		if c.got != c.want {
			t.Errorf("%s: %q, want %q", c.what, c.got, c.want)
		}
	}
	if n := (frame.Frame{}).With("a", []int{}).GroupBy("a").Count().Len(); n != 0 {
		t.Errorf("%d groups of no rows", n)
	}
}

func csvOf(t *testing.T, f frame.Frame) string {
	t.Helper()
	var b strings.Builder
	if err := f.FormatCSV(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestJoin(t *testing.T) {
	f := parse(t, runs, frame.CSVSettings{})
	g := parse(t, "method,year,d\nDACE,2024,1\nNEW,2026,2\nDACE,2025,3\n", frame.CSVSettings{})
	if got := csvOf(t, f.Head(3).Join(g, "method")); got != "method,d,value,year,d 2\nDACE,30,0.9,2024,1\nDACE,30,0.9,2025,3\nDACE,40,0.8,2024,1\nDACE,40,0.8,2025,3\n" {
		t.Errorf("inner: %q", got)
	}
	if got := csvOf(t, f.Select("method", "value").LeftJoin(g.Head(2), "method")); got != "method,value,year,d\nDACE,0.9,2024,1\nDACE,0.8,2024,1\nCEPS,0.7,,\nCEPS,,,\nDACE,1,2024,1\n" {
		t.Errorf("left: %q", got)
	}
	both, err := f.Append(f)
	if err != nil || both.Len() != 10 {
		t.Errorf("%v, %v", both, err)
	}
	if _, err := f.Append(g); err == nil || !strings.Contains(err.Error(), `"value"`) {
		t.Error(err)
	}
}

type run struct {
	Method string
	Dim    uint8 `csv:"d"`
	Value  float32
	Note   string `csv:"-"`
}

func TestRows(t *testing.T) {
	f := parse(t, runs, frame.CSVSettings{})
	var rows []run
	if err := f.Head(2).Rows(&rows); err != nil || !reflect.DeepEqual(rows, []run{{"DACE", 30, 0.9, ""}, {"DACE", 40, 0.8, ""}}) {
		t.Errorf("%v, %v", rows, err)
	}
	back, err := frame.Of(rows)
	if err != nil || !slices.Equal(back.Names(), []string{"Method", "d", "Value"}) || back.Ints("d")[1] != 40 {
		t.Errorf("%v, %v", back, err)
	}
	if back, err = frame.Of([]*run{&rows[0], nil}); err != nil || back.Strings("Method")[1] != "" {
		t.Errorf("%v, %v", back, err)
	}
	for _, c := range []struct {
		into any
		want string
	}{
		{&[]struct{ Method int }{}, `column "method" holds texts, and the field Method is a int`},
		{&[]struct {
			Method string `csv:"methd"`
		}{}, `no column "methd"`},
		{&[]struct{ X int }{}, "no field"},
		{&[]struct{ D int8 }{}, ""},
		{[]run{}, "pointer to a slice"},
	} {
		err := f.Rows(c.into)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%T: %v", c.into, err)
		}
	}
	if err := parse(t, "d\n300\n", frame.CSVSettings{}).Rows(&rows); err == nil || !strings.Contains(err.Error(), "300 does not fit") {
		t.Error(err)
	}
	if m := f.Matrix("d", "value"); len(m) != 5 || m[1][0] != 40 || m[1][1] != 0.8 {
		t.Errorf("%v", m)
	}
}

func TestPanics(t *testing.T) {
	f := parse(t, runs, frame.CSVSettings{})
	for want, call := range map[string]func(){
		`no column "vaule"; the columns are method, d, value`: func() { f.Floats("vaule") },
		"holds texts, not numbers":                            func() { f.Floats("method") },
		"which do not compare with a string":                  func() { f.Where("d", "==", "30") },
		`no comparison "="`:                                   func() { f.Where("d", "=", 30) },
		"has 1 values for 5 rows":                             func() { f.With("x", []int{1}) },
	} {
		func() {
			defer func() {
				if r := fmt.Sprint(recover()); !strings.Contains(r, want) {
					t.Errorf("%q, want %q", r, want)
				}
			}()
			call()
		}()
	}
}

// TestString checks the text of a long frame.
func TestString(t *testing.T) {
	n := make([]int, 100)
	for i := range n {
		n[i] = i
	}
	text := frame.Frame{}.With("n", n).String()
	if lines := strings.Split(text, "\n"); len(lines) != 23 || lines[11] != "..." || lines[22] != "100 rows" {
		t.Errorf("%s", text)
	}
}

func FuzzCSV(f *testing.F) {
	f.Add("a,b\n1,x\n")
	f.Add("a;b\n\"1\";\"x\ny\"\n")
	f.Fuzz(func(t *testing.T, text string) {
		f, err := frame.ParseCSV(strings.NewReader(text), frame.CSVSettings{})
		if err != nil {
			return
		}
		_ = f.String()
		_ = f.Describe()
		if len(f.Names()) > 0 {
			_ = f.GroupBy(f.Names()...).Count()
			_ = f.Sort(f.Names()[0]).Join(f, f.Names()[0])
		}
	})
}

// million returns a CSV file of a million rows.
func million(b *testing.B) []byte {
	b.Helper()
	rng := rand.New(rand.NewPCG(1, 2))
	cities := []string{"Oslo", "Bergen", "Paris", "Lyon", "Rome", "Milan", "Berlin", "Bonn"}
	var out bytes.Buffer
	out.WriteString("city,year,kind,value,weight\n")
	for range 1_000_000 {
		fmt.Fprintf(&out, "%s,%d,%c,%.4f,%.3f\n", cities[rng.IntN(8)], 2000+rng.IntN(26), 'a'+rng.IntN(4), 10+3*rng.NormFloat64(), rng.Float64())
	}
	return out.Bytes()
}

func BenchmarkMillionRows(b *testing.B) {
	text := million(b)
	f, err := frame.ParseCSV(bytes.NewReader(text), frame.CSVSettings{})
	if err != nil {
		b.Fatal(err)
	}
	for name, work := range map[string]func(){
		"read": func() {
			if _, err := frame.ParseCSV(bytes.NewReader(text), frame.CSVSettings{}); err != nil {
				b.Fatal(err)
			}
		},
		"group":    func() { f.GroupBy("city", "year").Mean("value") },
		"where":    func() { f.Where("value", ">", 12) },
		"sort":     func() { f.Sort("value") },
		"describe": func() { f.Describe() },
		"join":     func() { f.Join(f.GroupBy("city").Mean("value"), "city") },
	} {
		b.Run(name, func(b *testing.B) {
			before := process.Time()
			for b.Loop() {
				work()
			}
			b.ReportMetric((process.Time()-before).Seconds()*1e3/float64(b.N), "cpu-ms")
		})
	}
}

// The different values come in the order of their first rows.
func TestUnique(t *testing.T) {
	f := frame.Frame{}.
		With("text", []string{"b", "", "a", "b", "", "a"}).
		With("number", []float64{2, math.NaN(), 1.5, 0, math.NaN(), math.Copysign(0, -1)}).
		With("whole", []int{3, 1, 3, 2, 1, 2}).
		With("yes", []bool{true, true, true, true, true, true})
	for name, want := range map[string][]string{
		"text": {"b", "", "a"}, "number": {"2", "", "1.5", "0"}, "whole": {"3", "1", "2"}, "yes": {"true"},
	} {
		if got := f.Unique(name); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if got := f.UniqueFloats("number"); len(got) != 4 || got[0] != 2 || !math.IsNaN(got[1]) || got[2] != 1.5 || got[3] != 0 {
		t.Errorf("numbers: %v", got)
	}
	if got := f.UniqueFloats("whole"); !slices.Equal(got, []float64{3, 1, 2}) {
		t.Errorf("whole numbers: %v", got)
	}
	if got := (frame.Frame{}).With("none", []string{}).Unique("none"); len(got) != 0 {
		t.Errorf("no rows: %q", got)
	}
	defer func() {
		if recover() == nil {
			t.Error("texts as numbers: no panic")
		}
	}()
	f.UniqueFloats("text")
}

// Sorting what a frame returned, or was made of, does not pair its rows anew.
func TestCopies(t *testing.T) {
	in := []float64{3.5, 1.5, 2.5}
	f := frame.Frame{}.With("name", []string{"a", "b", "c"}).With("v", in)
	slices.Sort(in)
	slices.Sort(f.Floats("v"))
	_ = slices.Compact(f.Strings("name"))
	clear(f.Strings("name"))
	slices.Sort(f.Column("v").([]float64))
	if got := f.String(); got != "name    v\na     3.5\nb     1.5\nc     2.5\n3 rows" {
		t.Error(got)
	}
}

// BenchmarkFloats shows what the copy costs.
func BenchmarkFloats(b *testing.B) {
	f := frame.Frame{}.With("v", make([]float64, 1_000_000))
	for b.Loop() {
		_ = f.Floats("v")
	}
}
