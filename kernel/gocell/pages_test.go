package gocell

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/doc"
	"go/format"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"dace.local/kernel/engine"
	"dace.local/kernel/engine/enginetest"
	"dace.local/kernel/gocell/symbols"
	"dace.local/kernel/self"
)

// pages are the guides whose code blocks TestPages runs.
var pages = []string{
	"dacelib/TUTORIAL.md", "dacelib/frame/README.md", "dacelib/figure/README.md",
	"kernel/display/README.md", "notebooks/tasks.md",
}

// block matches a fenced code block: its language, a file's name, its text.
var block = regexp.MustCompile("(?ms)^```(\\w+) *([\\w.]*)\n(.*?)^```$")

// TestPages runs the code blocks of each guide as cells of one session, in a
// folder with the files that the guide shows (a block "csv runs.csv" is the
// file runs.csv). A block text is what the block of Go before it shows.
func TestPages(t *testing.T) {
	for _, name := range pages {
		t.Run(strings.ReplaceAll(name, "/", " "), func(t *testing.T) {
			text, err := os.ReadFile(filepath.Join("../..", name))
			if err != nil {
				t.Fatal(err)
			}
			t.Chdir(t.TempDir())
			s := benchSession(t)
			cells, shown := 0, ""
			for _, m := range block.FindAllStringSubmatch(string(text), -1) {
				switch language, file, code := m[1], m[2], m[3]; language {
				case "go":
					cells++
					out := answering()
					r, err := s.Execute(t.Context(), engine.Cell{Number: cells, Code: code}, out)
					if err != nil {
						t.Fatalf("%v\n%s", err, code)
					}
					shown = out.Text(enginetest.Stdout)
					if value, ok := r.Value.Data["text/plain"].(string); ok {
						shown += value
					}
				case "text":
					if trimmedLines(shown) != trimmedLines(code) {
						t.Errorf("the page says\n%s\nand the cell\n%s", code, shown)
					}
				case "csv":
					if err := os.WriteFile(file, []byte(code), 0o644); err != nil {
						t.Fatal(err)
					}
				case "python", "sh":
				default:
					t.Errorf("a block of %s is not checked", language)
				}
			}
			if cells == 0 {
				t.Error("it has no cell")
			}
		})
	}
}

// trimmedLines returns a text without blanks at the ends of lines.
func trimmedLines(text string) string {
	var b strings.Builder
	for line := range strings.Lines(strings.TrimSpace(text)) {
		b.WriteString(strings.TrimRight(line, " \n") + "\n")
	}
	return b.String()
}

// TestLibraryExamples runs the examples of dacelib's packages as cells, and
// checks what they print. Every package has one.
func TestLibraryExamples(t *testing.T) {
	ran := 0
	err := filepath.WalkDir("../../dacelib", func(dir string, d os.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		switch d.Name() {
		case "internal", "testdata":
			return filepath.SkipDir
		case "dacelib":
			return nil
		}
		sources, _ := filepath.Glob(filepath.Join(dir, "*.go"))
		if len(sources) == 0 {
			return nil
		}
		tests, _ := filepath.Glob(filepath.Join(dir, "*_test.go"))
		before := ran
		fset := token.NewFileSet()
		for _, name := range tests {
			f, err := parser.ParseFile(fset, name, nil, parser.ParseComments)
			if err != nil {
				return err
			}
			for _, x := range doc.Examples(f) {
				if x.Output == "" {
					continue
				}
				ran++
				imports, body := exampleCells(t, fset, f, x, strings.TrimPrefix(filepath.ToSlash(dir), "../../"))
				s := benchSession(t)
				out := answering()
				for number, code := range []string{imports, body} {
					if _, err := s.Execute(t.Context(), engine.Cell{Number: number + 1, Code: code}, out); err != nil {
						t.Errorf("%s, Example%s: %v\n%s", dir, x.Name, err, code)
					}
				}
				if got := out.Text(enginetest.Stdout); !sameOutput(got, example{want: x.Output, unordered: x.Unordered}) {
					t.Errorf("%s, Example%s prints\n%s\nand should print\n%s", dir, x.Name, got, x.Output)
				}
			}
		}
		if ran == before && !strings.Contains(dir, "farm") { // a farm is processes of their own
			t.Errorf("%s has no example", dir)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if ran < 25 {
		t.Errorf("only %d examples were run", ran)
	}
	fmt.Fprintf(t.Output(), "%d examples run\n", ran)
}

// exampleCells returns an example as two cells: its file's imports, and its
// body. An example inside the package gets the package's names.
func exampleCells(t *testing.T, fset *token.FileSet, f *ast.File, x *doc.Example, dir string) (imports, body string) {
	t.Helper()
	var b strings.Builder
	if !strings.HasSuffix(f.Name.Name, "_test") {
		fmt.Fprintf(&b, "import . %q\n", self.Path(dir))
	}
	for _, i := range f.Imports {
		if _, ok := symbols.Name(strings.Trim(i.Path.Value, `"`)); !ok {
			continue // of the tests beside it
		}
		name := ""
		if i.Name != nil {
			name = i.Name.Name
		}
		fmt.Fprintf(&b, "import %s %s\n", name, i.Path.Value)
	}
	var code bytes.Buffer
	if err := format.Node(&code, fset, x.Code); err != nil {
		t.Fatal(err)
	}
	return b.String(), strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(code.String()), "{"), "}")
}

// TestTasks counts the lines of the blocks that notebooks/tasks.md compares.
func TestTasks(t *testing.T) {
	page, err := os.ReadFile("../../notebooks/tasks.md")
	if err != nil {
		t.Fatal(err)
	}
	sections := strings.Split(string(page), "\n## ")
	if len(sections) != 9 {
		t.Errorf("%d tasks", len(sections)-1)
	}
	for _, section := range sections[1:] {
		title, text, _ := strings.Cut(section, "\n")
		lines := map[string]int{}
		for _, m := range block.FindAllStringSubmatch(text, -1) {
			for line := range strings.Lines(m[3]) {
				if strings.TrimSpace(line) != "" {
					lines[m[1]]++
				}
			}
		}
		row := fmt.Sprintf("| %s | %d | %d |", title, lines["go"], lines["python"])
		if lines["python"] == 0 {
			row = fmt.Sprintf("| %s | %d | about 40 |", title, lines["go"])
		}
		if !strings.Contains(sections[0], row) {
			t.Errorf("the table lacks %q", row)
		}
		if lines["python"] > 0 && lines["go"] > 2*lines["python"] {
			t.Errorf("%s takes %d lines, twice as many as the %d of Python", title, lines["go"], lines["python"])
		}
	}
}
