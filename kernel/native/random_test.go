package native_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"dace.local/kernel/gocell"
	"dace.local/kernel/native"
	"dace.local/kernel/randomtest"
	"dace.local/kernel/self"
)

// Random functions that a session compiles by itself must do what they did when
// they were interpreted, and what Go does:
//
//	go test ./kernel/native -run RandomFunctions -timeout 10h -random.seed 1000 -random.programs 10000
//
// Their plugins are built together, so that a program takes 0.7 s of processor
// time.
var (
	randomSeed     = flag.Uint64("random.seed", 1, "seed of the first random program")
	randomPrograms = flag.Int("random.programs", 3, "number of random programs; 0 skips them")
	randomBatch    = flag.Int("random.batch", 200, "number of random programs in one plugin")
)

// sessionSize is the number of programs in a session, which compiles a limited
// number of functions.
const sessionSize = 20

func TestRandomFunctions(t *testing.T) {
	if *randomPrograms == 0 {
		t.Skip("wants -random.programs")
	}
	loader := ready(t)
	compiled, failed := 0, 0
	reasons := map[string]int{} // why functions stay interpreted
	for first := 0; first < *randomPrograms; first += *randomBatch {
		var cases []randomtest.Case
		for i := first; i < min(first+*randomBatch, *randomPrograms); i++ {
			cases = append(cases, randomtest.Functions(*randomSeed+uint64(i)))
		}
		b := &together{loader: loader, merge: len(cases) > sessionSize, tables: map[string]map[string]any{}, known: map[string]merged{}}
		want := reference(t, cases)
		plain, _ := runCases(t, b, cases, nil)
		n := 0
		for range 5 {
			if !b.build(t) {
				break
			}
			var got [][]string
			last := map[string]int{}
			got, n = runCases(t, b, cases, last)
			reasons = last
			for i, c := range cases {
				for k := range got[i] {
					switch {
					case k < len(want[i]) && got[i][k] != want[i][k]:
						t.Errorf("seed %d, cell %d: compiled by itself\n%s\nin Go\n%s\n%s", *randomSeed+uint64(first+i), k, got[i][k], want[i][k], c.Declare+c.Calls[k])
						failed++
					case told(got[i][k], b.merge) != told(plain[i][k], b.merge):
						t.Errorf("seed %d, cell %d: compiled by itself\n%s\ninterpreted\n%s\n%s\n%s", *randomSeed+uint64(first+i), k, got[i][k], plain[i][k], c.Declare, c.Fails)
						failed++
					}
				}
			}
		}
		compiled += n
		t.Logf("%d programs, %d functions compiled, %d differences; not compiled: %v", first+len(cases), compiled, failed, reasons)
		if failed > 5 {
			t.Fatal("too many differences")
		}
	}
}

// told returns what a cell shows without what compiled code does not know: the
// columns of a panic's positions, and in a merged package the positions.
func told(text string, merged bool) string {
	if i := strings.LastIndex(text, "\npanic: "); i >= 0 && merged {
		return text[i:]
	}
	text = regexp.MustCompile(`(?m)^(In\[\d+\]:\d+):\d+`).ReplaceAllString(text, "$1")
	return regexp.MustCompile(`(?m)^ *\^\n`).ReplaceAllString(text, "")
}

// runCases runs the cells of cases in sessions with a compiler, and returns what
// each cell shows, and the number of functions that were compiled. It counts why
// others were not.
func runCases(t *testing.T, b *together, cases []randomtest.Case, reasons map[string]int) (shown [][]string, compiled int) {
	for first := 0; first < len(cases); first += sessionSize {
		s, err := gocell.New(gocell.Options{Compiler: b, CompileAfter: -1})
		if err != nil {
			t.Fatal(err)
		}
		number := 0
		cell := func(code string) string {
			number++
			return run(t.Context(), s, number, code)
		}
		states := func() string { return run(t.Context(), s, number, "%compile list") }
		declare := func(code string) {
			if got := cell(code); got != "" {
				t.Fatalf("%s\nshows %s", code, got)
			}
		}
		declare(randomtest.Helpers)
		declare(`import "fmt"`)
		for _, c := range cases[first:min(first+sessionSize, len(cases))] {
			declare(c.Declare)
			var list []string
			for i, code := range []string{c.Calls[0], c.Calls[1], c.Fails, c.Change, c.Calls[2], c.Calls[2]} {
				list = append(list, cell(code))
				if i == 1 {
					text := states()
					for _, f := range c.Functions {
						if regexp.MustCompile(`(?m)^` + f + ` +compiled$`).MatchString(text) {
							compiled++
						}
					}
				}
				for strings.Contains(states(), "is being built") {
					time.Sleep(time.Millisecond)
				}
			}
			shown = append(shown, list)
		}
		if reasons != nil {
			for _, m := range regexp.MustCompile(`(?m)interpreted: (.*)$`).FindAllStringSubmatch(states(), -1) {
				if m[1] != "no cell declares it" { // it is a package
					reasons[m[1]]++
				}
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return shown, compiled
}

// reference compiles the first two cells that call the functions of each case,
// and returns what they print.
func reference(t *testing.T, cases []randomtest.Case) [][]string {
	dir := t.TempDir()
	var b, main strings.Builder
	b.WriteString("package main\n" + strings.Replace(randomtest.Helpers, "import (", `import ("fmt"; `, 1))
	b.WriteString("var _, _, _, _, _ = errors.New, math.Abs, slices.Sort[[]int], sort.Ints, strings.ToUpper\n")
	for i, c := range cases {
		b.WriteString(c.Declare)
		for k := range 2 {
			fmt.Fprintf(&b, "func call%d_%d() {\n%s}\n", i, k, c.Calls[k])
			fmt.Fprintf(&main, "call%d_%d()\nfmt.Println(\"\\x00\")\n", i, k)
		}
	}
	text := b.String() + "func main() {\n" + main.String() + "}\n"
	for name, text := range map[string]string{"main.go": text, "go.mod": "module programs\n\ngo 1.26\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("go", "run", "-gcflags=-N -l", ".")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off", "CGO_ENABLED=0")
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go run: %v\n%s", err, &errs)
	}
	parts := strings.Split(string(out), "\x00\n")
	var list [][]string
	for i := range cases {
		list = append(list, []string{strings.TrimSpace(parts[2*i]), strings.TrimSpace(parts[2*i+1])})
	}
	return list
}

// A together is a Compiler that builds many packages as one plugin: it refuses
// those that it does not have yet, and build builds them.
type together struct {
	loader *native.Loader
	merge  bool // the packages become one package, which is compiled faster

	mu     sync.Mutex // guards the following
	wanted map[string]string
	tables map[string]map[string]any
	known  map[string]merged
	texts  map[string]string // of what has been built, by import path
}

// A merged is where a package is that has become a part of another one: its
// names have a suffix there.
type merged struct{ hub, suffix string }

func (b *together) Ready() error { return nil }

func (b *together) Load(_ context.Context, path string, sources map[string]string, _ string) (map[string]any, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if table := b.tables[path]; table != nil {
		return table, nil
	}
	if b.wanted == nil {
		b.wanted = map[string]string{}
	}
	b.wanted[path] = sources[path]
	return nil, errors.New("it is built together with others")
}

// build builds what was asked for. It returns false if that is nothing.
func (b *together) build(t *testing.T) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.wanted) == 0 {
		return false
	}
	if b.texts == nil {
		b.texts = map[string]string{}
	}
	paths := slices.Sorted(maps.Keys(b.wanted))
	hub := self.Path("cells/hub") + strings.TrimPrefix(path.Base(paths[0]), "c")
	var text string
	if b.merge {
		text = b.mergeAll(t, hub, paths)
	} else {
		var imports, table strings.Builder
		for i, p := range paths {
			fmt.Fprintf(&imports, "import c%d %q\n", i, p)
			fmt.Fprintf(&table, "%q: c%d.Xˑˑ,\n", p, i)
			b.texts[p] = b.wanted[p]
		}
		text = "package cell\n" + imports.String() + "var Xˑˑ = map[string]any{\n" + table.String() + "}\n"
	}
	b.texts[hub] = text
	table, err := b.loader.Load(t.Context(), hub, b.texts, "")
	if err != nil {
		t.Fatalf("%v", err)
	}
	for p, x := range table {
		b.tables[p] = x.(map[string]any)
	}
	b.wanted = nil
	return true
}

// mergeAll returns the text of a package that holds all that was asked for.
func (b *together) mergeAll(t *testing.T, hub string, paths []string) string {
	imports := map[string]string{}
	var body, table strings.Builder
	for i, p := range paths {
		b.known[p] = merged{hub, "ˑp" + strconv.Itoa(i)}
	}
	for _, p := range paths {
		body.WriteString(b.mergeOne(t, b.wanted[p], b.known[p], imports))
		fmt.Fprintf(&table, "%q: Xˑˑ%s,\n", p, b.known[p].suffix)
	}
	var head strings.Builder
	for _, name := range slices.Sorted(maps.Keys(imports)) {
		fmt.Fprintf(&head, "import %s %q\n", name, imports[name])
	}
	return "package cell\n" + head.String() + body.String() + "\nvar Xˑˑ = map[string]any{\n" + table.String() + "}\n"
}

// mergeOne returns the text of a package without its head, with a suffix for the
// names that it declares, and notes what it imports.
func (b *together) mergeOne(t *testing.T, text string, to merged, imports map[string]string) string {
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, "", text, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	base := fset.File(f.Pos()).Base()
	names, cells := map[string]bool{}, map[string]merged{}
	start := 0
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			names[d.Name.Name] = true
		case *ast.GenDecl:
			if d.Tok == token.IMPORT {
				start = int(d.End()) - base
			}
			for _, s := range d.Specs {
				switch s := s.(type) {
				case *ast.ImportSpec:
					ipath, _ := strconv.Unquote(s.Path.Value)
					name := s.Name.Name
					if c, ok := b.known[ipath]; !ok {
						imports[name] = ipath
					} else if cells[name] = c; c.hub != to.hub {
						imports[path.Base(c.hub)] = c.hub
					}
				case *ast.ValueSpec:
					for _, n := range s.Names {
						names[n.Name] = true
					}
				case *ast.TypeSpec:
					names[s.Name.Name] = true
				}
			}
		}
	}
	var out strings.Builder
	at := start
	var sc scanner.Scanner
	file := token.NewFileSet().AddFile("", -1, len(text))
	sc.Init(file, []byte(text), nil, 0)
	before, suffix := token.ILLEGAL, ""
	for {
		pos, tok, lit := sc.Scan()
		if tok == token.EOF {
			break
		}
		off := int(pos) - file.Base()
		if tok == token.IDENT && off >= start {
			switch c, ofCell := cells[lit]; {
			case before == token.PERIOD:
				out.WriteString(text[at:off] + lit + suffix)
				at, suffix = off+len(lit), ""
			case ofCell: // ˑc0.Xˑf -> hub.Xˑfˑp3
				out.WriteString(text[at:off])
				at, suffix = off+len(lit)+1, c.suffix
				if c.hub != to.hub {
					out.WriteString(path.Base(c.hub) + ".")
				}
			case names[lit] && lit != "_":
				out.WriteString(text[at:off] + lit + to.suffix)
				at = off + len(lit)
			}
		}
		before = tok
	}
	return out.String() + text[at:]
}
