package gocell

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"dace.local/kernel/engine"
	"dace.local/kernel/engine/enginetest"
	"dace.local/kernel/gocell/internal/check"
)

// The programs of testdata/programs are compiled and run, and they are run by a
// session in three ways. Their output and the panic that ends them must be the
// same to the byte:
//
//   - pasted: the whole program is one cell;
//   - declared: each declaration is a cell, ordered so that each comes after
//     those it uses, and main is a cell;
//   - stepped: as declared, but each statement of main is a cell of its own, so
//     that the variables of main are the session's. (Programs whose main jumps,
//     defers or returns, or shadows a declaration of the program, are not
//     stepped.)

// A ran is the result of running a program.
type ran struct{ out, panicked string }

// runCompiled builds the programs into one binary and returns the result of
// each. The packages have names of four letters, so that printed names have the
// same width as with package main.
func runCompiled(t *testing.T, programs []string) []ran {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	file := func(name, text string) {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var imports, cases strings.Builder
	pkgName := func(i int) string { return "qx" + string(rune('a'+i/26)) + string(rune('a'+i%26)) }
	for i, p := range programs {
		text, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		name := pkgName(i)
		if alone(string(text)) {
			file("alone/"+name+"/main.go", string(text))
			continue
		}
		s := strings.Replace(string(text), "package main\n", "package "+name+"\n", 1)
		file(name+"/p.go", strings.Replace(s, "\nfunc main() {", "\nfunc Main() {", 1))
		fmt.Fprintf(&imports, "import %q\n", "programs/"+name)
		fmt.Fprintf(&cases, "case %q: %s.Main()\n", name, name)
	}
	file("go.mod", "module programs\n\ngo 1.26\n")
	file("main.go", "package main\n\nimport \"os\"\n"+imports.String()+"\nfunc main() {\n\tswitch os.Args[1] {\n"+cases.String()+"\t}\n}\n")
	bin := filepath.Join(dir, "bin")
	build := exec.Command("go", "build", "-o", bin+"/", "./...")
	build.Dir = dir
	build.Env = append(os.Environ(), "GOFLAGS=-mod=mod -trimpath", "GOWORK=off", "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	results := make([]ran, len(programs))
	for i := range programs {
		cmd := exec.CommandContext(t.Context(), filepath.Join(bin, "programs"), pkgName(i))
		if exe := filepath.Join(bin, pkgName(i)); exists(exe) {
			cmd = exec.CommandContext(t.Context(), exe)
		}
		var out, errs bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &errs
		err := cmd.Run()
		named := func(s string) string {
			return strings.NewReplacer("programs/"+pkgName(i)+".", "main.", pkgName(i)+".", "main.").Replace(s)
		}
		results[i].out = named(out.String())
		var exit *exec.ExitError
		if errors.As(err, &exit) && exit.ExitCode() == 2 {
			results[i].panicked = panicOf(named(errs.String()))
		} else if err != nil {
			t.Fatalf("%s: %v\n%s", programs[i], err, &errs)
		}
	}
	return results
}

// alone reports whether a program cannot be linked with others because it runs
// code before main.
func alone(text string) bool { return strings.Contains(text, "\nfunc init()") }

func exists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}

// panicOf returns the panic's message from the standard error of a process.
func panicOf(stderr string) string {
	msg, _, _ := strings.Cut(stderr, "\n\ngoroutine ")
	msg, _, _ = strings.Cut(msg, "\n[signal ")
	if i := strings.LastIndex(msg, "\n\tpanic: "); i >= 0 {
		msg = msg[i+2:]
	}
	return msg
}

// cellsOf splits a program into cells: an import, then the declarations, each
// after those it uses (those that use each other together), then main.
func cellsOf(t *testing.T, text string, stepped bool) (cells []string, ok bool) {
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, "p.go", text, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	source := func(n ast.Node) string { return text[fset.Position(n.Pos()).Offset:fset.Position(n.End()).Offset] }
	// A group is a set of declarations that must be in one cell: a type and its
	// methods, or one other declaration.
	type group struct {
		names []string
		decls []ast.Decl
		uses  map[string]bool
	}
	var groups []*group
	byName := map[string]*group{}
	var main *ast.FuncDecl
	add := func(d ast.Decl, names ...string) {
		var g *group
		for _, n := range names {
			if x := byName[n]; x != nil && n != "_" && n != "init" {
				g = x
			}
		}
		if g == nil {
			g = &group{uses: map[string]bool{}}
			groups = append(groups, g)
		}
		g.names = append(g.names, names...)
		for _, n := range names {
			byName[n] = g
		}
		g.decls = append(g.decls, d)
		ast.Inspect(d, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok {
				g.uses[id.Name] = true
			}
			return true
		})
	}
	methods := func(only bool) {
		for _, d := range f.Decls {
			if fd, ok := d.(*ast.FuncDecl); ok && (fd.Recv != nil) == only {
				switch {
				case only:
					add(fd, check.ReceiverName(fd))
				case fd.Name.Name == "main":
					main = fd
				default:
					add(fd, fd.Name.Name)
				}
			} else if g, ok := d.(*ast.GenDecl); ok && !only {
				if g.Tok == token.IMPORT {
					cells = append(cells, source(g))
					continue
				}
				var names []string
				for _, s := range g.Specs {
					switch s := s.(type) {
					case *ast.TypeSpec:
						names = append(names, s.Name.Name)
					case *ast.ValueSpec:
						for _, n := range s.Names {
							names = append(names, n.Name)
						}
					}
				}
				add(g, names...)
			}
		}
	}
	methods(false)
	methods(true)
	// Tarjan's algorithm returns the strongly connected components in the order
	// needed: each after those it depends on.
	index, low, on := map[*group]int{}, map[*group]int{}, map[*group]bool{}
	var stack []*group
	var visit func(g *group)
	visit = func(g *group) {
		index[g] = len(index) + 1
		low[g] = index[g]
		stack = append(stack, g)
		on[g] = true
		for _, h := range groups { // in source order
			if !slices.ContainsFunc(h.names, func(n string) bool { return g.uses[n] }) {
				continue
			}
			if index[h] == 0 {
				visit(h)
				low[g] = min(low[g], low[h])
			} else if on[h] {
				low[g] = min(low[g], index[h])
			}
		}
		if low[g] != index[g] {
			return
		}
		var decls []ast.Decl
		for {
			h := stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			on[h] = false
			decls = append(decls, h.decls...)
			if h == g {
				break
			}
		}
		slices.SortFunc(decls, func(a, b ast.Decl) int { return int(a.Pos() - b.Pos()) })
		var parts []string
		for _, d := range decls {
			s := source(d)
			if fd, ok := d.(*ast.FuncDecl); ok && fd.Recv == nil && fd.Name.Name == "init" {
				s = "func() " + source(fd.Body) + "()"
			}
			parts = append(parts, s)
		}
		cells = append(cells, strings.Join(parts, "\n"))
	}
	for _, g := range groups {
		if index[g] == 0 {
			visit(g)
		}
	}
	if !stepped {
		return append(cells, "func() "+source(main.Body)+"()"), true
	}
	// Declarations in main would replace the program's own of the same name.
	declares := check.DefinedBy(main.Body)
	for _, s := range main.Body.List {
		if d, ok := s.(*ast.DeclStmt); ok {
			for _, s := range d.Decl.(*ast.GenDecl).Specs {
				if t, ok := s.(*ast.TypeSpec); ok {
					declares[t.Name.Name] = true
				}
			}
		}
	}
	for n := range declares {
		if byName[n] != nil || types.Universe.Lookup(n) != nil {
			return nil, false
		}
	}
	for _, s := range main.Body.List {
		switch s.(type) {
		case *ast.DeferStmt, *ast.ReturnStmt, *ast.LabeledStmt, *ast.BranchStmt:
			return nil, false
		}
		// The semicolon keeps the session from showing the value.
		cells = append(cells, source(s)+";")
	}
	return cells, true
}

// runCells runs cells in a new session, up to the first that fails.
func runCells(t *testing.T, cells []string) (r ran) {
	s, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	w := &enginetest.Recorder{}
	for i, code := range cells {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
		_, err := s.Execute(ctx, engine.Cell{Number: i + 1, Code: code}, w)
		cancel()
		var e *engine.Error
		if errors.As(err, &e) && e.Name == "panic" {
			text := enginetest.Plain(e.Text())
			r.panicked = text[max(strings.LastIndex(text, "\npanic: "), strings.LastIndex(text, "\nfatal error: "))+1:]
			break
		} else if err != nil {
			if errors.As(err, &e) {
				err = fmt.Errorf("%s: %s", e.Name, enginetest.Plain(e.Text()))
			}
			t.Errorf("In[%d]: %v", i+1, err)
			break
		}
	}
	if s := w.Text(enginetest.Stderr); s != "" {
		t.Errorf("standard error:\n%s", s)
	}
	r.out = w.Text(enginetest.Stdout)
	return r
}

var (
	programs = sync.OnceValues(func() ([]string, error) { return filepath.Glob("testdata/programs/*.go") })
)

func TestPrograms(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	files, err := programs()
	if err != nil || len(files) < 58 {
		t.Fatalf("%d programs, %v", len(files), err)
	}
	want := runCompiled(t, files)
	for i, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		compare := func(t *testing.T, cells []string) {
			got := runCells(t, cells)
			if got.out != want[i].out {
				t.Error(difference(got.out, want[i].out))
			}
			if got.panicked != want[i].panicked {
				t.Errorf("the panic is\n%s\ncompiled it is\n%s", got.panicked, want[i].panicked)
			}
		}
		t.Run(strings.TrimSuffix(filepath.Base(file), ".go"), func(t *testing.T) {
			t.Run("pasted", func(t *testing.T) { compare(t, []string{string(text)}) })
			t.Run("declared", func(t *testing.T) {
				cells, _ := cellsOf(t, string(text), false)
				compare(t, cells)
			})
			if cells, ok := cellsOf(t, string(text), true); ok {
				t.Run("stepped", func(t *testing.T) { compare(t, cells) })
			}
		})
	}
}

// difference lists the lines in which two texts differ.
func difference(got, want string) string {
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	var b strings.Builder
	for i := range max(len(g), len(w)) {
		if b.Len() > 600 {
			b.WriteString("and so on\n")
			break
		}
		x, y := "(no line)", "(no line)"
		if i < len(g) {
			x = g[i]
		}
		if i < len(w) {
			y = w[i]
		}
		if x != y {
			fmt.Fprintf(&b, "line %d\n got      %s\n compiled %s\n", i+1, x, y)
		}
	}
	return b.String()
}
