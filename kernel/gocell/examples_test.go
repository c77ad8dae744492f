package gocell

import (
	"context"
	"fmt"
	"go/ast"
	"go/build"
	"go/doc"
	"go/parser"
	"go/token"
	"go/types"
	"go/version"
	"io/fs"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"dace.local/kernel/engine"
	"dace.local/kernel/engine/enginetest"
	"dace.local/kernel/gocell/symbols"
)

// The tests of this file paste the examples of the standard library and of
// gonum that have an output comment into cells. The declarations beside the
// examples in a file are one cell, and the body of each example is another,
// whose variables are the session's. They must print the expected output,
// compared as go test does.

// notAsDocumented lists the examples that print something else, and why.
var notAsDocumented = map[string]string{
	"log.Logger":         "names the line of a file, which is one of a cell here",
	"log.Logger_Output":  "names the line of a file, which is one of a cell here",
	"log/slog._wrapping": "names the line of a file that a record was made from",
	"runtime.Frames":     "names function literals of a function, which is a cell here",
	"runtime.AddCleanup": "waits for the cleanup of a variable, which the session keeps here",
}

// exampleLimit bounds the time of an example; otherLimit that of an example in
// notAsDocumented, which need not end.
const exampleLimit, otherLimit = 5 * time.Minute, 2 * time.Second

func TestExamples(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	if raceDetector {
		t.Skip("sets time.Local, which a timer of nats-server reads at any time")
	}
	pacific, err := time.LoadLocation("America/Los_Angeles")
	if err != nil {
		t.Fatal(err)
	}
	// The tests of package time set the same location.
	defer func(l *time.Location) { time.Local = l }(time.Local)
	time.Local = pacific
	defer resetLog() // one makes it write through slog
	run, right, known := 0, 0, knownNames(t)
	failed := map[string]bool{}
	var wrong []string // reported after the sessions have released the standard streams
	for _, root := range exampleRoots(t) {
		for _, f := range exampleFiles(t, root, known) {
			t.Chdir(f.dir)
			s, err := New(Options{})
			if err != nil {
				t.Fatal(err)
			}
			show := func(number int, code string, limit time.Duration) (string, error) {
				ctx, cancel := context.WithTimeout(t.Context(), limit)
				defer cancel()
				w := answering()
				_, err := s.Execute(ctx, engine.Cell{Number: number, Code: code}, w)
				return w.Text(enginetest.Stdout), err
			}
			_, err = show(1, f.declares, exampleLimit)
			for i, x := range f.examples {
				// A variable of an earlier example may have taken the name of a
				// package.
				_, _ = show(2*i+2, f.imports, exampleLimit)
				name, limit := f.pkg+"."+x.name, exampleLimit
				if notAsDocumented[name] != "" {
					limit = otherLimit
				}
				got, xerr := show(2*i+3, x.body, limit)
				run++
				if sameOutput(got, x) && xerr == nil {
					right++
					continue
				}
				failed[name] = true
				if notAsDocumented[name] == "" {
					wrong = append(wrong, fmt.Sprintf("%s: %v; declarations: %v\n%s", name, xerr, err, difference(strings.TrimSpace(got), strings.TrimSpace(x.want))))
				}
			}
			s.Close()
		}
	}
	for _, w := range wrong {
		t.Error(w)
	}
	for name, why := range notAsDocumented {
		if !failed[name] {
			t.Errorf("%s prints what it says: it is no longer one that %s", name, why)
		}
	}
	t.Logf("%d of %d examples print what they say", right, run)
}

// resetLog gives the process's package log, which cells have, what it has at the start.
func resetLog() {
	log.SetOutput(os.Stderr)
	log.SetFlags(log.LstdFlags)
	log.SetPrefix("")
}

type exampleFile struct {
	pkg, dir          string
	imports, declares string
	examples          []example
}

type example struct {
	name, body, want string
	unordered        bool
}

// sameOutput compares output as go test does.
func sameOutput(got string, x example) bool {
	lines := func(s string) []string {
		l := strings.Split(strings.TrimSpace(s), "\n")
		if x.unordered {
			slices.Sort(l)
		}
		return l
	}
	return slices.Equal(lines(got), lines(x.want))
}

// exampleRoots returns the folders of the standard library and of gonum.
func exampleRoots(t *testing.T) []string {
	list := func(args ...string) string {
		out, err := exec.CommandContext(t.Context(), "go", args...).Output()
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(string(out))
	}
	return []string{filepath.Join(list("env", "GOROOT"), "src"), list("list", "-m", "-f", "{{.Dir}}", "gonum.org/v1/gonum")}
}

var exampleName = regexp.MustCompile(`^(example_.*|.*example)_test\.go$`)

// exampleFiles reads the example files below a folder that can be run in cells.
// It leaves out files that belong to the tested package itself, internal
// packages, examples that use declarations of another file, and what a Go that is
// newer than the symbols has beyond them.
func exampleFiles(t *testing.T, root string, known func(*ast.File) bool) []exampleFile {
	var list []exampleFile
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && slices.Contains([]string{"testdata", "vendor", "internal", "cmd"}, d.Name()):
			return filepath.SkipDir
		case d.IsDir() || !exampleName.MatchString(d.Name()):
			return nil
		}
		dir := filepath.Dir(path)
		if ok, err := build.Default.MatchFile(dir, d.Name()); !ok || err != nil {
			return err
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		text, fset := string(b), token.NewFileSet()
		f, err := parser.ParseFile(fset, path, b, parser.ParseComments)
		if err != nil || !strings.HasSuffix(f.Name.Name, "_test") || strings.Contains(text, "/internal/") || strings.Contains(text, `"internal/`) {
			return err
		}
		if known != nil && !known(f) {
			return nil
		}
		source := func(from, to token.Pos) string { return text[fset.Position(from).Offset:fset.Position(to).Offset] }
		rel, err := filepath.Rel(root, dir)
		if err != nil {
			return err
		}
		x := exampleFile{pkg: filepath.ToSlash(rel), dir: dir}
		bodies := map[string]string{}
		for _, d := range f.Decls {
			if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.IMPORT {
				x.imports += source(d.Pos(), d.End()) + "\n"
				continue
			}
			if fd, ok := d.(*ast.FuncDecl); ok && fd.Recv == nil && strings.HasPrefix(fd.Name.Name, "Example") {
				bodies[fd.Name.Name] = strings.ReplaceAll(source(fd.Body.Lbrace+1, fd.Body.Rbrace), f.Name.Name+".", "main.")
				continue
			}
			x.declares += source(d.Pos(), d.End()) + "\n"
		}
		x.declares = x.imports + x.declares
		others, err := declaredBeside(path)
		if err != nil {
			return err
		}
		for _, e := range doc.Examples(f) {
			alone := !slices.ContainsFunc(f.Unresolved, func(id *ast.Ident) bool {
				return others[id.Name] && e.Code.Pos() <= id.Pos() && id.Pos() < e.Code.End()
			})
			if alone && (e.Output != "" || e.EmptyOutput) {
				x.examples = append(x.examples, example{e.Name, bodies["Example"+e.Name], strings.ReplaceAll(e.Output, f.Name.Name+".", "main."), e.Unordered})
			}
		}
		if len(x.examples) > 0 {
			list = append(list, x)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// knownNames returns what reports whether a file names only what the symbols hold of
// packages, or nil where this Go is the one that they were made with.
func knownNames(t *testing.T) func(f *ast.File) bool {
	out, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.GoVersion}}", "dace.local").Output()
	if err != nil {
		t.Fatal(err)
	}
	if of := version.Lang("go" + strings.TrimSpace(string(out))); version.Compare(of, version.Lang(runtime.Version())) >= 0 {
		return nil
	}
	held, err := symbols.NewTypes()
	if err != nil {
		t.Fatal(err)
	}
	return func(f *ast.File) bool {
		packages := map[string]*types.Package{}
		for _, s := range f.Imports {
			path, _ := strconv.Unquote(s.Path.Value)
			p, err := held.Import(path)
			if err != nil {
				return false
			}
			name := p.Name()
			if s.Name != nil {
				name = s.Name.Name
			}
			packages[name] = p
		}
		known := true
		ast.Inspect(f, func(n ast.Node) bool {
			if sel, ok := n.(*ast.SelectorExpr); ok {
				if id, ok := sel.X.(*ast.Ident); ok && id.Obj == nil && packages[id.Name] != nil {
					known = known && packages[id.Name].Scope().Lookup(sel.Sel.Name) != nil
				}
			}
			return known
		})
		return known
	}
}

// declaredBeside returns the names that the other test files of a file's folder
// declare.
func declaredBeside(path string) (map[string]bool, error) {
	files, err := filepath.Glob(filepath.Join(filepath.Dir(path), "*_test.go"))
	names := map[string]bool{}
	for _, other := range files {
		if other == path {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), other, nil, 0)
		if err != nil {
			return nil, err
		}
		for n := range f.Scope.Objects {
			names[n] = true
		}
	}
	return names, err
}
