package native_test

import (
	"context"
	"crypto/sha256"
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
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"dace.local/kernel/buildinfo"
	"dace.local/kernel/gocell"
	"dace.local/kernel/internal/randomtest"
	"dace.local/kernel/internal/toolchain/native"
)

// Random functions that a session compiles by itself must do what they did when
// they were interpreted, and what Go does:
//
//	go test ./kernel/internal/toolchain/native -run RandomFunctions -timeout 10h -random.seed 1000 -random.programs 10000
//
// Each program has a session of its own. The sessions of a batch run beside each
// other, and what they ask for at a time is one plugin.
var (
	randomSeed     = flag.Uint64("random.seed", 1, "seed of the first random program")
	randomPrograms = flag.Int("random.programs", 12, "number of random programs; 0 skips them")
	gridPrograms   = flag.Int("random.grid", 40, "number of functions of the grid; 0 skips them")
	randomBatch    = flag.Int("random.batch", 500, "number of random programs whose functions are built together")
)

// leastCompiled is the least share of the functions that the rule allows to be
// compiled (unfit.go) which must really run compiled: else the comparison says
// nothing of them.
const leastCompiled = 0.9

func TestRandomFunctions(t *testing.T) {
	if *randomPrograms == 0 {
		t.Skip("wants -random.programs")
	}
	loader := ready(t)
	var all tally
	for first := 0; first < *randomPrograms; first += *randomBatch {
		var cases []randomtest.Case
		for i := first; i < min(first+*randomBatch, *randomPrograms); i++ {
			cases = append(cases, randomtest.Functions(*randomSeed+uint64(i)))
		}
		all.batch(t, loader, *randomSeed+uint64(first), cases)
		t.Logf("seeds %d to %d: %s", *randomSeed, *randomSeed+uint64(first+len(cases)-1), &all)
		if all.differ > 5 {
			t.Fatal("too many differences")
		}
	}
	if share := all.share(); share < leastCompiled {
		t.Errorf("%.1f %% of the functions that may be compiled were, want %.0f %%", 100*share, 100*leastCompiled)
	}
}

// A tally counts what random programs showed.
type tally struct {
	programs, differ int
	// Functions are counted at two cells of each program, the second one after
	// one of the functions has been declared anew.
	compiled, inside, refused int
	missed                    map[string]int // why functions that may be compiled were not
}

func (a *tally) share() float64 {
	missed := 0
	for _, n := range a.missed {
		missed += n
	}
	return float64(a.compiled) / float64(max(1, a.compiled+missed))
}

func (a *tally) String() string {
	return fmt.Sprintf("%d programs, %d differences; functions: %d compiled, which is %.1f %% of those that may be, %d more within those, %d that the rule leaves interpreted; missed: %v",
		a.programs, a.differ, a.compiled, 100*a.share(), a.inside, a.refused, a.missed)
}

// batch compares the programs of a batch.
func (a *tally) batch(t *testing.T, loader *native.Loader, seed uint64, cases []randomtest.Case) {
	b := &together{loader: loader, tables: map[string]map[string]any{}, known: map[string]merged{}, texts: map[string]string{}, alone: map[merged]string{}, active: len(cases)}
	b.changed = sync.NewCond(&b.mu)
	want := reference(t, cases)
	shown := make([]program, len(cases))
	var wait sync.WaitGroup
	for i, c := range cases {
		wait.Go(func() {
			defer b.leave(t)
			shown[i] = runCase(t, c, &member{together: b, t: t})
		})
	}
	wait.Wait()
	for i, c := range cases {
		a.programs++
		a.count(c, shown[i])
		plain := runCase(t, c, nil)
		for k, got := range shown[i].cells {
			switch {
			case k < len(want[i]) && got != want[i][k]:
				t.Errorf("seed %d, cell %d: compiled by itself\n%s\nin Go\n%s\n%s", seed+uint64(i), k, got, want[i][k], c.Declare+c.Calls[k])
				a.differ++
			case told(got) != told(plain.cells[k]):
				t.Errorf("seed %d, cell %d: compiled by itself\n%s\ninterpreted\n%s\n%s\n%s\n%s\n%s", seed+uint64(i), k, got, plain.cells[k], c.Declare, c.Fails, c.Change, c.Calls[2])
				a.differ++
			}
		}
	}
}

// ruleRE matches why functions stay interpreted that are not to be compiled.
var ruleRE = regexp.MustCompile(`the map |a map|interfaces go in|a type of a cell|an interface of a cell|not exported|kernel replaces|recovers the panics|is generic`)

// count counts what became of the functions of a program.
func (a *tally) count(c randomtest.Case, p program) {
	if a.missed == nil {
		a.missed = map[string]int{}
	}
	for _, states := range p.states {
		compiled := false
		for _, f := range slices.Backward(c.Functions) { // a later one calls earlier ones
			state := ""
			if m := regexp.MustCompile(`(?m)^` + f + ` +(.*)$`).FindStringSubmatch(states); m != nil {
				state = m[1]
			}
			switch {
			case state == "compiled":
				a.compiled++
				compiled = true
			case state == "" && compiled:
				a.inside++
			case strings.HasPrefix(state, "interpreted: ") && ruleRE.MatchString(state):
				a.refused++
			default:
				a.missed[strings.ReplaceAll(state, f, "F")]++
			}
		}
	}
}

// TestGridFunctions runs functions of the grid (package randomtest) as the kernel compiles
// them by itself, and interpreted: they use own types in interfaces, type switches,
// goroutines and channels, each with operands of all kinds.
//
//	go test ./kernel/internal/toolchain/native -run GridFunctions -timeout 2h -random.grid 3000
func TestGridFunctions(t *testing.T) {
	if *gridPrograms == 0 {
		t.Skip("wants -random.grid")
	}
	loader := ready(t)
	cases, err := randomtest.Grid(*gridPrograms, *randomSeed)
	if err != nil {
		t.Fatal(err)
	}
	compiled, why := 0, map[string]int{}
	for list := range slices.Chunk(cases, *randomBatch) {
		b := &together{loader: loader, separate: true, tables: map[string]map[string]any{}, known: map[string]merged{}, texts: map[string]string{}, alone: map[merged]string{}, active: len(list)}
		b.changed = sync.NewCond(&b.mu)
		shown := make([]program, len(list))
		var wait sync.WaitGroup
		for i, c := range list {
			wait.Go(func() {
				defer b.leave(t)
				shown[i] = runGrid(t, c, &member{together: b, t: t})
			})
		}
		wait.Wait()
		for i, c := range list {
			plain := runGrid(t, c, nil)
			for k, got := range shown[i].cells {
				if want := plain.cells[k]; told(got) != told(want) {
					t.Errorf("%s: compiled by itself\n%s\ninterpreted\n%s\n%s%s", c, got, want, c.Declare, c.Call)
				}
			}
			for line := range strings.Lines(strings.Join(shown[i].states, "")) {
				if name, state, _ := strings.Cut(strings.TrimSpace(line), " "); strings.Contains(name, "g"+strconv.Itoa(c.Number)) {
					if state = strings.TrimSpace(state); state == "compiled" {
						compiled++
					} else {
						why[state]++
					}
				}
			}
		}
	}
	t.Logf("%d of %d functions were compiled; the others: %v", compiled, len(cases), why)
	if compiled < len(cases)/2 {
		t.Errorf("%d of %d functions were compiled", compiled, len(cases))
	}
}

// runGrid runs a function of the grid in cells, in a session that compiles with m, or in one
// that compiles nothing.
func runGrid(t *testing.T, c randomtest.GridCase, m *member) (p program) {
	opts := gocell.Options{KeepStdio: true, KeepStdin: true}
	if m != nil {
		opts.Compiler, opts.CompileAfter = m, -1
	}
	s, err := gocell.New(opts)
	if err != nil {
		t.Error(err)
		return p
	}
	defer s.Close()
	for i, code := range []string{randomtest.GridHelpers, c.Declare, c.Call, c.Call, c.Call} {
		p.cells = append(p.cells, nilReceiverRE.ReplaceAllString(run(t.Context(), s, i+1, code), "runtime error: invalid memory address or nil pointer dereference"))
		for m != nil && i > 1 {
			m.built()
			if p.states = []string{run(t.Context(), s, i+1001, "%compile list")}; !strings.Contains(p.states[0], "is being built") {
				break
			}
			time.Sleep(time.Millisecond)
		}
	}
	return p
}

var nilReceiverRE = regexp.MustCompile(`value method \S+ called using nil \*\S+ pointer`)

// told returns what a cell shows as it is whether functions are compiled or not:
// of a panic's frames the outermost and the innermost, without columns, the
// marks below them and whether they are those of function literals. Between the two is a function that runs its deferred calls:
// compiled it is at its return, interpreted at its head. Only interpreted code
// says which variables hold errors.
func told(text string) string {
	text = literalRE.ReplaceAllString(columnRE.ReplaceAllString(text, "$1"), "\n")
	text = errorRE.ReplaceAllString(text, "")
	frames := frameRE.FindAllStringIndex(text, -1)
	if len(frames) > 2 {
		text = text[:frames[0][1]] + text[frames[len(frames)-1][0]:]
	}
	return text
}

var (
	columnRE = regexp.MustCompile(`(?m)^(In\[\d+\]:\d+):\d+|^ *\^\n`)
	errorRE  = regexp.MustCompile(`(?m)\n\w+, set at In\[.*$`)
	// literalRE matches how the name of a function literal ends: f.func2.1 is f.func
	// where it is interpreted, and f where it has become a part of f.
	literalRE = regexp.MustCompile(`(?m)(\.func\d*|\.\d+|\.deferwrap\d+|-range\d+)+\n`)
	frameRE   = regexp.MustCompile(`(?m)^In\[\d+\]:\d+: in .*\n    .*\n`)
)

// A program is what the cells of a random program showed.
type program struct {
	cells  []string
	states []string // %compile list after the second call and after the last
}

// runCase runs the cells of a random program in a session that compiles with m,
// or in one that compiles nothing.
func runCase(t *testing.T, c randomtest.Case, m *member) (p program) {
	opts := gocell.Options{KeepStdio: true, KeepStdin: true}
	if m != nil {
		opts.Compiler, opts.CompileAfter = m, -1
	}
	s, err := gocell.New(opts)
	if err != nil {
		t.Error(err)
		return p
	}
	defer s.Close()
	number := 0
	cell := func(code string) string {
		number++
		return run(t.Context(), s, number, code)
	}
	list := func() string {
		for {
			m.built()
			if text := run(t.Context(), s, number+1000, "%compile list"); !strings.Contains(text, "is being built") {
				return text
			}
			time.Sleep(time.Millisecond)
		}
	}
	for _, code := range []string{randomtest.Helpers, `import "fmt"`, c.Declare} {
		if got := cell(code); got != "" {
			t.Errorf("%s\nshows %s", code, got)
		}
	}
	// What a changed function makes interpreted is counted, built and then used.
	for i, code := range []string{c.Calls[0], c.Calls[1], c.Fails, c.Change, c.Calls[2], c.Calls[2], c.Calls[2], c.Fails} {
		p.cells = append(p.cells, cell(code))
		if m == nil {
			continue
		}
		if states := list(); i == 1 || i == 6 {
			p.states = append(p.states, states)
		}
	}
	return p
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
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod -trimpath", "GOWORK=off", "CGO_ENABLED=0")
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

// A together builds what many sessions ask for as one plugin: a session waits
// until all those that run ask for something. The packages become one package,
// which is compiled faster.
type together struct {
	loader   *native.Loader
	separate bool // the packages stay such

	mu      sync.Mutex // guards the following
	changed *sync.Cond // something has been built
	active  int        // sessions that run
	waiting int        // those that wait
	failed  bool       // what they asked for cannot be built
	wanted  map[string]string
	tables  map[string]map[string]any
	known   map[string]merged
	alone   map[merged]string // the reverse
	texts   map[string]string // of what has been built, by import path
}

// A merged is where a package is that has become a part of another one: its
// names have a suffix there.
type merged struct{ hub, suffix string }

// A member is the Compiler of one of the sessions.
type member struct {
	*together
	t     *testing.T
	waits bool // guarded by mu
}

func (*member) Ready() error { return nil }

func (m *member) Binds() bool { return m.loader.Binds() }

func (m *member) Bind(path string, to map[reflect.Type]reflect.Type) error {
	m.mu.Lock()
	hub := m.known[path].hub
	m.mu.Unlock()
	return m.loader.Bind(hub, to)
}

func (m *member) Load(_ context.Context, path string, sources map[string]string, _ string) (map[string]any, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.tables[path] == nil {
		if m.wanted == nil {
			m.wanted = map[string]string{}
		}
		m.wanted[path] = sources[path]
		m.waits = true
		m.waiting++
		m.look(m.t)
		for m.waits && m.tables[path] == nil && !m.failed {
			m.changed.Wait()
		}
		m.waits = false
		m.changed.Broadcast()
	}
	if m.tables[path] == nil {
		return nil, errors.New("it cannot be built")
	}
	return m.tables[path], nil
}

// built returns when the session waits for nothing.
func (m *member) built() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for m.waits {
		m.changed.Wait()
	}
}

// leave says that a session has ended.
func (b *together) leave(t *testing.T) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.active--
	b.look(t)
}

// look builds what was asked for if all sessions wait for it. The caller holds
// mu.
func (b *together) look(t *testing.T) {
	if b.waiting < b.active || len(b.wanted) == 0 {
		return
	}
	paths := slices.Sorted(maps.Keys(b.wanted))
	// One loader serves several batches, and loads a package once.
	hub := buildinfo.Path("cells/hub") + fmt.Sprintf("%x", sha256.Sum256([]byte(strings.Join(paths, "\n"))))[:16]
	if b.separate {
		b.importAll(hub, paths)
	} else {
		b.texts[hub] = b.mergeAll(t, hub, paths)
	}
	table, err := b.loader.Load(t.Context(), hub, b.texts, "")
	if err != nil {
		t.Error(err)
		b.failed = true
	}
	for p, x := range table {
		b.tables[p] = x.(map[string]any)
	}
	b.wanted, b.waiting = nil, 0
	b.changed.Broadcast()
}

// Alone returns the name that a function has if its package is not merged with
// others.
func (b *together) Alone(function string) string {
	at := strings.LastIndexByte(function, '/') + 1
	name, rest, _ := strings.Cut(function[at:], ".")
	hub := function[:at] + name
	suffix := suffixRE.FindString(rest)
	b.mu.Lock()
	defer b.mu.Unlock()
	if p := b.alone[merged{hub, suffix}]; p != "" {
		return p + "." + strings.ReplaceAll(rest, suffix, "")
	}
	return function
}

var suffixRE = regexp.MustCompile(`ˑp\d+`)

// importAll adds the text of a package that imports all that was asked for.
func (b *together) importAll(hub string, paths []string) {
	var head, table strings.Builder
	for i, p := range paths {
		b.known[p], b.texts[p] = merged{hub: hub}, b.wanted[p]
		fmt.Fprintf(&head, "import p%d %q\n", i, p)
		fmt.Fprintf(&table, "%q: p%d.Xˑˑ,\n", p, i)
	}
	b.texts[hub] = "package cell\n" + head.String() + "\nvar Xˑˑ = map[string]any{\n" + table.String() + "}\n"
}

// mergeAll returns the text of a package that holds all that was asked for.
func (b *together) mergeAll(t *testing.T, hub string, paths []string) string {
	imports := map[string]string{}
	var body, table strings.Builder
	for i, p := range paths {
		b.known[p] = merged{hub, "ˑp" + strconv.Itoa(i)}
		b.alone[b.known[p]] = p
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
