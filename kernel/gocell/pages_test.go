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
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"dace.local/kernel/buildinfo"
	"dace.local/kernel/docs/docstest"
	"dace.local/kernel/engine"
	"dace.local/kernel/engine/enginetest"
	"dace.local/kernel/gocell/symbols"
)

// pages returns the guides whose code blocks TestPages runs: all with cells, but for
// widgets.md, of which TestWidgetReadme runs them, and databases.md, which wants modules
// (TestFiles of kernel/internal/toolchain/native).
func pages(t *testing.T) (guides map[string]string) {
	guides = docstest.Guides(t, "README.md", "SECURITY.md", "dacelib/*.md", "*/docs/*.md", "notebooks/*.md")
	for name, text := range guides {
		for _, line := range regexp.MustCompile("(?m)^ *```.*$").FindAllString(text, -1) {
			if line != "```" && !block.MatchString(line+"\n```\n") {
				t.Errorf("%s: the block that begins %s is not checked", name, line)
			}
		}
		if !block.MatchString(text) || path.Base(name) == "widgets.md" || path.Base(name) == "databases.md" {
			delete(guides, name)
		}
	}
	if len(guides) < 18 {
		t.Errorf("there are only %d pages with cells", len(guides))
	}
	return guides
}

// block matches a fenced code block: its language, a file's name, its text.
var block = regexp.MustCompile("(?ms)^```(\\w+) *([\\w.]*)\n(.*?)^```$")

// TestPages runs the code blocks of each guide as cells of one session, in a
// folder with the files that the guide shows (a block "csv runs.csv" or
// "python eval.py" is the file of that name). A block text is what the block of Go before
// it shows, or is in the error of the block fails before it.
func TestPages(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	if raceDetector {
		t.Skip("pages that train networks take minutes with the detector, and use the library alone")
	}
	for name, text := range pages(t) {
		t.Run(strings.ReplaceAll(name, "/", " "), func(t *testing.T) {
			t.Chdir(t.TempDir())
			s := benchSession(t)
			cells, shown, failed := 0, "", ""
			for _, m := range block.FindAllStringSubmatch(text, -1) {
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
				case "fails": // with what the block text after it says
					cells++
					out := answering()
					_, err := s.Execute(t.Context(), engine.Cell{Number: cells, Code: code}, out)
					if err == nil {
						t.Fatalf("this cell does not fail:\n%s", code)
					}
					failed = err.Error()
				case "text":
					if failed != "" {
						if !strings.Contains(failed, strings.TrimSpace(code)) {
							t.Errorf("the page says\n%s\nand the error is\n%s", code, failed)
						}
						failed = ""
						break
					}
					if trimmedLines(shown) != trimmedLines(code) {
						t.Errorf("the page says\n%s\nand the cell\n%s", code, shown)
					}
				case "csv":
					if err := os.WriteFile(file, []byte(code), 0o644); err != nil {
						t.Fatal(err)
					}
				case "python", "sh", "fetched": // TestFiles of kernel/internal/toolchain/native runs the last
					if file == "" {
						break
					}
					if _, err := exec.LookPath("python3"); err != nil && language == "python" {
						t.Skip(err)
					}
					if err := os.WriteFile(file, []byte(code), 0o644); err != nil {
						t.Fatal(err)
					}
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

// TestMagicsPage holds magics.md against the magics and against the variables of
// the environment that the code reads.
func TestMagicsPage(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	text, err := os.ReadFile("../docs/magics.md")
	if err != nil {
		t.Fatal(err)
	}
	words := func(text string) string { return strings.Join(strings.Fields(text), " ") }
	page := words(regexp.MustCompile("(?m)^```.*$").ReplaceAllString(string(text), ""))
	known := map[string]bool{}
	for _, m := range benchSession(t).magics().All() {
		known["**`"+m.Usage+"`**"] = true
		if want := words("**`" + m.Usage + "`** " + m.Short + ". " + m.Doc); !strings.Contains(page, want) {
			t.Errorf("magics.md lacks %q: add it, with a block of Go that uses the magic", want)
		}
	}
	for _, usage := range regexp.MustCompile("\\*\\*`%[^`]*`\\*\\*").FindAllString(page, -1) {
		if !known[usage] {
			t.Errorf("there is no %s", usage)
		}
	}
	_, environment, _ := strings.Cut(string(text), "## Environment")
	explained := map[string]bool{}
	for _, row := range regexp.MustCompile("(?m)^\\| (`.*) \\|").FindAllStringSubmatch(environment, -1) {
		for _, name := range regexp.MustCompile("`[A-Z_]+`").FindAllString(row[1], -1) {
			explained[strings.Trim(name, "`")] = true
		}
	}
	read := environmentRead(t)
	for name := range read {
		if !explained[name] {
			t.Errorf("%s is read in %s, and the page does not explain it", name, read[name])
		}
	}
	for name := range explained {
		if read[name] == "" {
			t.Errorf("the page explains %s, which nothing reads", name)
		}
	}
}

// environmentRead returns the variables of the environment that the code of the
// command and of the library reads by os.Getenv and os.LookupEnv, each with a
// place.
func environmentRead(t *testing.T) map[string]string {
	t.Helper()
	read := map[string]string{}
	for _, root := range []string{"../../kernel", "../../dacelib"} {
		err := filepath.WalkDir(root, func(name string, d os.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case d.IsDir() && (d.Name() == "testdata" || d.Name() == "symbols" || d.Name() == "vectors"): // of tests, generated
				return filepath.SkipDir
			case d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go"):
				return nil
			}
			fset := token.NewFileSet()
			f, err := parser.ParseFile(fset, name, nil, 0)
			if err != nil {
				return err
			}
			var strange []ast.Expr
			ast.Inspect(f, func(n ast.Node) bool {
				call, ok := n.(*ast.CallExpr)
				if !ok || len(call.Args) != 1 {
					return true
				}
				sel, ok := call.Fun.(*ast.SelectorExpr)
				if !ok || sel.Sel.Name != "Getenv" && sel.Sel.Name != "LookupEnv" {
					return true
				}
				if lit, ok := call.Args[0].(*ast.BasicLit); ok {
					read[strings.Trim(lit.Value, `"`)] = fset.Position(call.Pos()).String()
				} else {
					strange = append(strange, call.Args[0])
				}
				return true
			})
			if len(strange) == 0 || strings.HasSuffix(filepath.ToSlash(name), "gocell/magic/files.go") { // %env reads any
				return nil
			}
			// The names are in a literal of the same file.
			ast.Inspect(f, func(n ast.Node) bool {
				if lit, ok := n.(*ast.BasicLit); ok && environmentName.MatchString(lit.Value) {
					read[strings.Trim(lit.Value, `"`)] = fset.Position(lit.Pos()).String()
				}
				return true
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return read
}

var environmentName = regexp.MustCompile(`^"[A-Z]+_?([A-Z]+_)*(DIR|ENV|PREFIX)"$`)

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
	if testing.Short() {
		t.Skip("takes seconds")
	}
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
		// Those that users do not call need none: a driver, what the kernel sets, and
		// what cells cannot import.
		_, importable := symbols.Name(buildinfo.Path(strings.TrimPrefix(filepath.ToSlash(dir), "../../")))
		if ran == before && importable && !strings.Contains(dir, "natsfarm") && filepath.Base(dir) != "host" {
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
		fmt.Fprintf(&b, "import . %q\n", buildinfo.Path(dir))
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
	if len(sections) != 10 {
		t.Errorf("%d tasks", len(sections)-1)
	}
	for _, section := range sections[1:] {
		title, text, _ := strings.Cut(section, "\n")
		lines := map[string]int{}
		for _, m := range block.FindAllStringSubmatch(text, -1) {
			for line := range strings.Lines(m[3]) {
				if strings.TrimSpace(line) != "" {
					lines[strings.Replace(m[1], "fetched", "go", 1)]++
				}
			}
		}
		row := fmt.Sprintf("| %s | %d | %d |", title, lines["go"], lines["python"])
		if lines["python"] == 0 {
			row = fmt.Sprintf("| %s | %d | none |", title, lines["go"])
		}
		if !strings.Contains(sections[0], row) {
			t.Errorf("the table lacks %q", row)
		}
		if lines["python"] > 0 && lines["go"] > 2*lines["python"] {
			t.Errorf("%s takes %d lines, twice as many as the %d of Python", title, lines["go"], lines["python"])
		}
	}
}
