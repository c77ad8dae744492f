package gocell

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"dace.local/kernel/gocell/symbols"
)

// docCell declares the names that TestCompletePlaces and TestInspectOwn look
// up.
const docCell = `// A Point is a place.
type Point struct {
	// X is the abscissa.
	X, Y float64
	name string // on the map
}

// Norm is the length.
// It is never negative.
func (p *Point) Norm() float64 { return math.Hypot(p.X, p.Y) }

// greet says hello.
func greet(who string, times int) (n int, err error) {
	return fmt.Println(who, times)
}

func bare() {}
p := &Point{X: 3, Y: 4}
größe := 5`

func TestCompletePlaces(t *testing.T) {
	s := benchSession(t)
	execute(t, s, 1, docCell)
	all := []string{"Norm", "X", "Y", "name"}
	for _, c := range []struct {
		code string // "|" marks the cursor
		want []string
	}{
		{"p.|", all},
		{"func (p *Point) Foo() { p.|", all}, // a method of an earlier cell's type
		{"func (p *Point) Foo() { p.| }\nfunc (p *Point) Bar() {}", all},
		{"func (p Point) Foo() {\n\tfor range 3 {\n\t\tq := p\n\t\tq.N|\n", []string{"Norm"}},
		{"type Own struct{ A int }\nfunc (o Own) F() { o.|", []string{"A", "F"}},
		{"func (o Own) F() { o.| }\ntype Own struct{ A int }", []string{"A", "F"}},
		{"x := \"🎉\"; grö|", []string{"größe"}},
		{"p.N| // 🎉", []string{"Norm"}},
		{"// p.|", nil},
		{"/* p.| */ p.X", nil},
		{"/* p */p.N|", []string{"Norm"}},
		{"x := 1.|", nil},
		{"?fmt.Printl|", []string{"Println"}},
		{"fmt.Printl|?", []string{"Println"}},
		{"mus|", []string{"must"}},
		{"must(os.ReadF|", []string{"ReadFile"}},
	} {
		at := strings.Index(c.code, "|")
		code := c.code[:at] + c.code[at+1:]
		var got []string
		for _, m := range s.Complete(code, at).Matches {
			got = append(got, m.Text)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%q: %.10q, want %q", c.code, got, c.want)
		}
	}
}

// mustDoc is what a person reads of must.
const mustDoc = `must returns the results of a call without the error that is the last of them. If the error is not nil, must ends the cell with it:

	data := must(os.ReadFile("data.txt"))
	must(os.Remove("data.txt"))

It is predeclared in cells; in a Go program it has to be written.`

// TestInspectOwn checks that comments in cells are shown as documentation.
func TestInspectOwn(t *testing.T) {
	s := benchSession(t)
	execute(t, s, 1, docCell)
	execute(t, s, 2, "type Other struct{ Point }\no := Other{}")
	for _, c := range []struct {
		code   string
		detail int
		want   string
	}{
		{"greet", 0, "func greet(who string, times int) (n int, err error)\n\ngreet says hello."},
		{"greet(", 0, "func greet(who string, times int) (n int, err error)\n\ngreet says hello."},
		{"greet", 1, "func greet(who string, times int) (n int, err error)\n\ngreet says hello.\n\nfunc greet(who string, times int) (n int, err error) {\n\treturn fmt.Println(who, times)\n}"},
		{"bare", 0, "func bare()"},
		{"p.Norm", 0, "func (*Point).Norm() float64\n\nNorm is the length. It is never negative."},
		{"o.Norm", 0, "func (*Point).Norm() float64\n\nNorm is the length. It is never negative."},
		{"p.X", 0, "field X float64\n\nX is the abscissa."},
		{"p.name", 0, "field name string\n\non the map"},
		{"größe", 0, "var größe int"},
		{"must", 0, "func must(results..., err error) (results...)\n\n" + mustDoc},
		{"must(strconv.ParseBool(", 0, "func strconv.ParseBool(str string) (bool, error)\n\n" + strings.ReplaceAll(symbols.Doc("strconv", "ParseBool"), "\n", " ")},
		{"x := must(os.Remove(\"a\"), ", 0, "func must(results..., err error) (results...)\n\n" + mustDoc},
	} {
		b, ok := s.Inspect(c.code, len(c.code), c.detail)
		if got := b.Data["text/plain"]; !ok || got != c.want {
			t.Errorf("%s: %q, want %q", c.code, got, c.want)
		}
	}
	b, _ := s.Inspect("Point", 5, 0)
	if got, _ := b.Data["text/plain"].(string); !strings.HasPrefix(got, "type Point struct {\n\t// X is") || !strings.HasSuffix(got, "\n\nA Point is a place.") {
		t.Errorf("Point: %q", got)
	}
}

// completions returns the texts of the completions at "|" in code.
func completions(s *Session, code string) []string {
	at := strings.Index(code, "|")
	var got []string
	for _, m := range s.Complete(code[:at]+code[at+1:], at).Matches {
		got = append(got, m.Text)
	}
	return got
}

// TestCompleteKeys checks that a literal with field names offers nothing else.
func TestCompleteKeys(t *testing.T) {
	s := benchSession(t)
	execute(t, s, 1, docCell)
	config := []string{"Bias", "Duplicates", "Elites", "Mutants", "Offspring"}
	for _, c := range []struct {
		code string
		want []string
	}{
		{"brkga.Config{|", config},
		{"brkga.Config{|}", config},
		{"c := []brkga.Config{{|", config},
		{"c := []*brkga.Config{{Elites: 3, |", slices.DeleteFunc(slices.Clone(config), func(n string) bool { return n == "Elites" })},
		{"brkga.Run(ctx, nil, brkga.Settings{Config: brkga.Config{|", config},
		{"brkga.Config{E|", []string{"Elites"}},
		{"Point{|", []string{"X", "Y", "name"}},
		{"Point{grö|", []string{"größe"}}, // without field names
	} {
		if got := completions(s, c.code); !slices.Equal(got, c.want) {
			t.Errorf("%q: %.10q, want %q", c.code, got, c.want)
		}
	}
	if got := completions(s, "Point{3, |"); len(got) < 100 {
		t.Errorf("the second value of a literal without field names: %q", got)
	}
}

// TestCompleteTyped checks which completions come first where a type is
// expected.
func TestCompleteTyped(t *testing.T) {
	s := benchSession(t)
	execute(t, s, 1, `type Level int
const (
	Low Level = iota
	High
)
func set(l Level, name string) {}
func level() Level { return Low }
now := High
budget := 800
conf := brkga.Config{}
set(now, "")`)
	for _, c := range []struct {
		code string
		want []string // the first completions
	}{
		{"nir.Settings{Start: |", []string{"nir.Duals", "nir.He", "nir.Torch"}},
		{"nir.Settings{Reading: |", []string{"run.Written", "run.Published", "run.ParseReading"}},
		{"nir.Settings{Start: Du|", []string{"nir.Duals"}},
		{"s := nir.Settings{}\ns.Start = |", []string{"nir.Duals", "nir.He", "nir.Torch"}},
		{"s := nir.Settings{}\nif s.Start == |", []string{"nir.Duals", "nir.He", "nir.Torch"}},
		{"s := nir.Settings{}\nswitch s.Start {\ncase |", []string{"nir.Duals", "nir.He", "nir.Torch"}},
		{"set(|", []string{"Low", "High", "now", "level"}},
		{"set(now, |", nil},
		{"brkga.Settings{Config: |", []string{"conf", "brkga.Config{", "brkga.Default", "brkga.ForBudget"}},
		{"brkga.Settings{Evaluations: |", []string{"budget"}},
		{"brkga.Settings{FinishGeneration: |", []string{"false", "true"}},
		{"brkga.RunAll(ctx, []brkga.Job{{Settings: |", []string{"brkga.Settings{", "brkga.Pymoo062"}},
		{"var m *nir.Model = &nir.Model{}\nm = |", []string{"m", "&nir.Model{", "nir.Load"}},
		{"http.Server{TLSConfig: &|", []string{"tls.Config{"}},
		{"brkga.Run(|", []string{"ctx"}},
		{"time.Sleep(time.|", []string{"Hour", "Microsecond", "Millisecond", "Minute", "Nanosecond", "Second"}},
		{"fmt.Println(|", nil},
	} {
		got := completions(s, c.code)
		if len(got) < len(c.want) || !slices.Equal(got[:len(c.want)], c.want) {
			t.Errorf("%q: %.12q, want %q", c.code, got, c.want)
		}
	}
}

// TestCompleteStrings checks completion inside string literals: of values that
// the documentation lists, and of files.
func TestCompleteStrings(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"data.csv", "dates.txt", ".hidden", "sub/inner.csv", `od"d`} {
		if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	s := benchSession(t)
	for _, c := range []struct {
		code string
		want []string
	}{
		{`portfolio.Paper("|`, []string{"cimp", "caop", "ccp"}},
		{`portfolio.Paper("|")`, []string{"cimp", "caop", "ccp"}},
		{`portfolio.Paper("c|", "DACE")`, []string{"cimp", "caop", "ccp"}},
		{`p, err := portfolio.Paper("ccp", "|`, []string{"DACE", "CEPS", "GLOBAL", "PARHYDRA"}},
		{`must(portfolio.Paper("ccp", "P|"))`, []string{"PARHYDRA"}},
		{`display.FigureSettings{Format: "|"`, []string{"png", "svg"}},
		{`f := display.FigureSettings{}` + "\n" + `f.Format = "s|`, []string{"svg"}},
		{`os.ReadFile("|`, []string{"data.csv", "dates.txt", "sub/"}},
		{`os.ReadFile("da|")`, []string{"data.csv", "dates.txt"}},
		{"x := `sub/|`", []string{"sub/inner.csv"}},
		{`os.ReadFile(".|")`, []string{".hidden"}},
		{`os.ReadFile("./su|")`, []string{"./sub/"}},
		{`os.ReadFile("` + dir + `/s|")`, []string{dir + "/sub/"}},
		{`os.ReadFile("nosuch/|")`, nil},
		{`// "da|"`, nil},
	} {
		if got := completions(s, c.code); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.code, got, c.want)
		}
	}
	// What is completed is the whole literal.
	if c := s.Complete(`os.ReadFile("sub/in")`, 19); c.Start != 13 || c.End != 19 {
		t.Errorf("from %d to %d", c.Start, c.End)
	}
}

// TestListedValues checks that the values which doc comments list, and
// completion offers, are those that the functions accept.
func TestListedValues(t *testing.T) {
	s := benchSession(t)
	for code, all := range map[string]string{
		`experiment.Class("|`:            "experiment.Classes()",
		`experiment.Portfolio("ccp", "|`: "experiment.Portfolios()",
		`construct.Build(ctx, "|`:        "construct.Methods()",
		`construct.Scale("|`:             "construct.Scales()",
		`snap.Find("|`:                   `[]string{snap.Datasets()[0].Name, snap.Datasets()[1].Name, snap.Datasets()[2].Name}`,
		`snap.Load("|`:                   `[]string{snap.Datasets()[0].Name, snap.Datasets()[1].Name, snap.Datasets()[2].Name}`,
		`snap.Fetch(ctx, "|`:             `[]string{snap.Datasets()[0].Name, snap.Datasets()[1].Name, snap.Datasets()[2].Name}`,
		`cimp.Network("|`:                `[]string{snap.Datasets()[0].Name, snap.Datasets()[1].Name, snap.Datasets()[2].Name}`,
		`run.ParseReading("|`:            `[]string{run.Written.String(), run.Published.String()}`,
	} {
		got := completions(s, code)
		want, err := s.Evaluate(t.Context(), `fmt.Println(strings.Join(`+all+`, " ")); strings.Join(`+all+`, " ")`)
		if err != nil {
			t.Fatal(err)
		}
		if text, _ := want.Data["text/plain"].(string); strings.Trim(text, `"`) != strings.Join(got, " ") {
			t.Errorf("%s offers %q, and there are %s", code, got, text)
		}
	}
}
