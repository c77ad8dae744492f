package gocell

import (
	"fmt"
	"go/token"
	"go/types"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"dace.local/kernel/buildinfo"
	"dace.local/kernel/gocell/symbols"
)

// inspected holds the time that each call of explained took, by clock: processor time
// where a test can read it (clock_linux_test.go), so that other processes do not count.
var (
	inspected []time.Duration
	begin     = time.Now()
	clock     = func() time.Duration { return time.Since(begin) }
)

// explained returns the text of an inspection at the end of code.
func explained(t *testing.T, s *Session, code string, detail int) string {
	t.Helper()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	start := clock()
	b, ok := s.Inspect(code, len(code), detail)
	inspected = append(inspected, clock()-start)
	if !ok {
		return ""
	}
	if md, _ := b.Data["text/markdown"].(string); md == "" {
		t.Errorf("%q has no Markdown", code)
	}
	text, _ := b.Data["text/plain"].(string)
	return text
}

// TestInspectFields asks for every exported field of dacelib, the standard
// library, gonum, plot and gorgonia: by its type, by name, and inside a literal. Each
// answer has the field's comment, if its package has one, and for settings of dacelib
// the default.
func TestInspectFields(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	if raceDetector {
		t.Skip("ten thousand answers of one goroutine")
	}
	s := benchSession(t)
	fields, commented, defaults := 0, 0, 0
	for _, path := range symbols.Paths() {
		if strings.HasPrefix(path, "golang.org/") {
			continue // thousands of fields of the system's structures
		}
		pkg, err := s.prog.Importer.Import(path)
		if err != nil {
			t.Fatal(err)
		}
		ours := strings.HasPrefix(path, buildinfo.Path("dacelib/"))
		for _, name := range pkg.Scope().Names() {
			tn, ok := pkg.Scope().Lookup(name).(*types.TypeName)
			if !ok || !token.IsExported(name) || tn.IsAlias() {
				continue
			}
			st, ok := tn.Type().Underlying().(*types.Struct)
			if n, isNamed := tn.Type().(*types.Named); !ok || isNamed && n.TypeParams().Len() > 0 {
				continue
			}
			head := fmt.Sprintf("import p %q\n", path)
			page := explained(t, s, head+"p."+name, 0)
			for f := range st.Fields() {
				if !f.Exported() {
					continue
				}
				fields++
				doc := symbols.Doc(path, name+"."+f.Name())
				byName := explained(t, s, head+"p."+name+"."+f.Name(), 0)
				inside := explained(t, s, head+"p."+name+"{"+f.Name(), 0)
				if byName != inside || !strings.HasPrefix(byName, "field "+f.Name()+" ") || !strings.Contains(linkless(byName), linkless(doc)) {
					t.Errorf("%s.%s.%s: %q and, in a literal, %q; the comment is %q", path, name, f.Name(), byName, inside, doc)
				}
				if !strings.Contains(plainWords(page), plainWords(doc)) {
					t.Errorf("the page of %s.%s lacks %q", path, name, doc)
				}
				if doc != "" {
					commented++
				} else if ours && !f.Embedded() {
					t.Errorf("%s.%s.%s has no comment", path, name, f.Name())
				}
				if ours && strings.HasSuffix(name, "Settings") {
					defaults++
					if !strings.Contains(byName, "// default ") {
						t.Errorf("%s.%s.%s has no default: %q", path, name, f.Name(), byName)
					}
				}
			}
		}
	}
	slices.Sort(inspected)
	t.Logf("%d fields, %d with a comment of their own; %d settings of dacelib", fields, commented, defaults)
	t.Logf("%d answers: median %v, 99 %% within %v, slowest %v", len(inspected), inspected[len(inspected)/2], inspected[len(inspected)*99/100], inspected[len(inspected)-1])
	if fields < 3000 || defaults < 100 {
		t.Error("fields are missing")
	}
}

// plainWords returns a text's words without the marks of comments.
func plainWords(text string) string {
	return strings.Join(strings.Fields(strings.NewReplacer("//", " ", "*", "-").Replace(text)), " ")
}

// TestInspect asks for names of all kinds.
func TestInspect(t *testing.T) {
	s := benchSession(t)
	execute(t, s, 1, "type Place struct {\n\t// Title is shown.\n\tTitle struct{ Text string }\n}\nfunc (p Place) Name() string { return p.Title.Text }\nplace := Place{}")
	for _, c := range []struct {
		code   string
		detail int
		want   []string
	}{
		{"nir.Settings.Steps", 0, []string{"field Steps int // default 12,000\n\nSteps is the number"}},
		{"nir.Settings{Steps: 3", 0, []string{"field Steps int"}},
		{"nir.Settings{Steps: ", 0, []string{"field Steps int"}},
		{"x := []*nir.Settings{{Batch", 0, []string{"field Batch int // default 256"}},
		{"nir.Settings{Steps: 3, ", 0, []string{"type nir.Settings struct {", "// default 100,000"}},
		{"nir.Settings.Input", 0, []string{"// default MeanAndStd"}},
		{"nir.Settings.Reading", 0, []string{"// default Written"}}, // a constant of another package
		{"nir.Settings.HyperBias", 0, []string{"// default false"}},
		{"run.Reading", 0, []string{"Published run.Reading = 1 // Published follows", "func run.ParseReading("}},
		{"plot.Plot.Title.Text", 0, []string{"field Text string\n\nText is the text of the plot title."}},
		{"plot.New().Title.Text", 0, []string{"Text is the text of the plot title."}},
		{"http.Server{Addr", 0, []string{"Addr optionally specifies"}},
		{"image.Point.Y", 0, []string{"A Point is an X, Y coordinate pair."}}, // the type's comment
		{"sort.Interface", 0, []string{"\t// Len is the number of elements"}},
		{"append", 0, []string{"func append(slice []Type, elems ...Type) []Type\n\nThe append built-in"}},
		{"append(", 0, []string{"func append("}},
		{"error", 0, []string{"The error built-in interface"}},
		{"true", 0, []string{"two untyped boolean values"}},
		{"nil", 0, []string{"the zero value for"}},
		{"for", 0, []string{"keyword for", "Go's only loop"}},
		{"ctx", 0, []string{"var ctx context.Context\n\nThe kernel declares ctx."}},
		{"must", 0, []string{"func must("}},
		{"dacelib", 0, []string{"map of the library", "construct.DACE"}},
		{"%get x", 0, []string{"%get MODULE[@VERSION]", "fetches a Go module", "%get github.com"}},
		{"// a comment\n%figure 1", 0, []string{"%figure ["}},
		{"%%compile", 0, []string{"The Go toolchain builds"}},
		{"brkga.Run", 1, []string{"\n\nRun maximises p and returns", "defer run.Report("}},
		{"(*nir.Model).Save", 1, []string{"func (m *Model) Save(path string) error {"}},
		{"nir.Model.Save", 1, []string{"func (m *Model) Save(path string) error {"}},
		{"display.Range", 1, []string{"func Range(", "yield"}},
		{"place.Name", 1, []string{"func (p Place) Name() string { return p.Title.Text }"}},
		{"place.Title", 0, []string{"Title is shown."}},
		{"strings.Cut", 1, []string{"func strings.Cut(", "The kernel has the source of dacelib"}},
	} {
		got := explained(t, s, c.code, c.detail)
		for _, want := range c.want {
			if !strings.Contains(got, want) {
				t.Errorf("%q lacks %q: %q", c.code, want, got)
			}
		}
	}
	for _, code := range []string{"for range 3 {", "x := 3", "nosuch", "nir.Settings.Nosuch", "%nosuch", "func() { %get"} {
		if got := explained(t, s, code, 0); got != "" && code != "x := 3" {
			t.Errorf("%q: %q", code, got)
		}
	}
}

// TestHelpUnknown checks the suggestions for unknown names.
func TestHelpUnknown(t *testing.T) {
	s := benchSession(t)
	for code, want := range map[string]string{
		"?nir.Setings":       "nir.Settings",
		"nir.Settings.Step?": "nir.Settings.Steps",
		"?fro":               "for",
		"??%figre":           "%figure",
	} {
		if _, err := s.help(code); err == nil || !strings.HasSuffix(err.Error(), "; did you mean "+want+"?") {
			t.Errorf("%s: %v", code, err)
		}
	}
}

// TestMagicsExplained checks that every magic has a page.
func TestMagicsExplained(t *testing.T) {
	s := benchSession(t)
	for _, m := range s.magics().All() {
		for _, code := range []string{"?" + m.Name, m.Name + "?"} {
			pages, err := s.help(code)
			if err != nil || len(pages) != 1 || !strings.Contains(fmt.Sprint(pages[0].Data["text/plain"]), m.Short) {
				t.Errorf("%s: %v, %v", code, pages, err)
			}
		}
	}
}

// BenchmarkInspect asks for types with many fields, and for fields.
func BenchmarkInspect(b *testing.B) {
	s := benchSession(b)
	var codes []string
	for _, t := range []string{"nir.Settings", "construct.Settings", "plot.Plot", "http.Server", "tls.Config"} {
		codes = append(codes, t, t+"{")
	}
	codes = append(codes, "nir.Settings.Steps", "nir.Settings{Steps", "http.Server{Addr", "plot.Plot.Title.Text")
	for _, code := range codes {
		b.Run(code, func(b *testing.B) {
			for b.Loop() {
				s.Inspect(code, len(code), 0)
			}
		})
	}
}

// linkless returns the words of a doc comment, without the brackets of its links and the
// marks of its lists and headings.
func linkless(doc string) string {
	return strings.NewReplacer("[", "", "]", "", "# ", "", "- ", "", "* ", "").Replace(strings.Join(strings.Fields(doc), " "))
}
