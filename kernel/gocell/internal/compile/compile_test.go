package compile

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"

	"dace.local/kernel/gocell/internal/check"
	"dace.local/kernel/gocell/internal/code"
	"dace.local/kernel/gocell/internal/mirror"
	"dace.local/kernel/gocell/internal/std"
	"dace.local/kernel/gocell/internal/vm"
	"dace.local/kernel/gocell/symbols"
)

// The programs of testdata and of kernel/gocell/testdata/programs are compiled
// and run here, and what they print is compared with what they print when the Go
// toolchain has built them: it is kept in testdata/outputs, and
//
//	go test ./kernel/gocell/internal/compile -run TestPrograms -update
//
// builds them anew.
var update = flag.Bool("update", false, "run the programs with the Go toolchain, and keep what they print")

// symbolTables keeps the tables of packages.
var symbolTables sync.Map

func symbol(path, name string) (reflect.Value, bool) {
	t, ok := symbolTables.Load(path)
	if !ok {
		all, err := symbols.NewTypes()
		if err != nil {
			panic(err)
		}
		p, _ := all.Import(path)
		syms, _ := symbols.Lookup(path, p)
		if path == check.StdPath {
			syms = std.New(vm.New(vm.Hooks{}), nil).Symbols()
		}
		t, _ = symbolTables.LoadOrStore(path, syms)
	}
	v, ok := t.(map[string]reflect.Value)[name]
	return v, ok
}

// program checks and compiles a program.
func program(name, text string) (*Package, *Compiler, *token.FileSet, error) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, name, text, parser.SkipObjectResolution)
	if err != nil {
		return nil, nil, nil, err
	}
	session, err := check.NewProgram()
	if err != nil {
		return nil, nil, nil, err
	}
	info := check.NewInfo()
	conf := types.Config{Importer: session.Importer, GoVersion: "go1.26", Sizes: types.SizesFor("gc", "amd64")}
	if _, err := conf.Check("main", fset, []*ast.File{file}, info); err != nil {
		return nil, nil, nil, err
	}
	m := &code.Machine{}
	made := mirror.New(mirror.Hooks{
		Compiled: func(*types.TypeName) reflect.Type { return nil }, Instance: func(*types.Named) reflect.Type { return nil },
		Canonical: session.Prelude.CanonicalOf,
		Textual:   func(t *types.Named) *types.Named { return session.Prelude.Textual(t, session) },
	})
	c := New(m, fset, Host{Type: made.TypeOf, Symbol: symbol, MethodName: check.RuntimeName, MethodsOf: session.MethodsOf,
		Instance: func(o types.Object, method string, args []types.Type) (*ast.FuncDecl, *types.Info, bool) {
			return session.Instance(fset, o, method, args)
		},
		Bind: func(t *types.Named, method string, fn reflect.Value) {
			made.Bind(t, method, fn)
		}})
	p, err := c.Package([]*ast.File{file}, info)
	return p, c, fset, err
}

// run runs a program and returns what it prints and the panic that ends it.
func run(name, text string) (out string, panicked any, err error) {
	p, c, fset, err := program(name, text)
	if err != nil {
		var refusal *Error
		if errors.As(err, &refusal) {
			err = fmt.Errorf("%s: %s", fset.Position(refusal.Pos), refusal.Msg)
		}
		return "", nil, err
	}
	return output(func() {
		p.Init(c.Machine)
		p.Main(c.Machine)
	})
}

// output returns what f prints and the panic that ends it.
func output(f func()) (out string, panicked any, err error) {
	r, w, err := os.Pipe()
	if err != nil {
		return "", nil, err
	}
	read := make(chan string)
	go func() {
		b, _ := io.ReadAll(r)
		read <- string(b)
	}()
	old := os.Stdout
	os.Stdout = w
	func() {
		defer func() { panicked = recover() }()
		f()
	}()
	os.Stdout = old
	w.Close()
	return <-read, panicked, nil
}

// goRun runs a program with the Go toolchain.
func goRun(t *testing.T, file string) string {
	exe := filepath.Join(t.TempDir(), "program")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", exe, file).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	cmd := exec.CommandContext(t.Context(), exe)
	var out bytes.Buffer
	cmd.Stdout = &out
	_ = cmd.Run() // a program may end by a panic
	return out.String()
}

func TestPrograms(t *testing.T) {
	files, _ := filepath.Glob("../../testdata/programs/*.go")
	own, _ := filepath.Glob("testdata/programs/*.go")
	if len(files) < 50 {
		t.Fatalf("%d programs", len(files))
	}
	for _, file := range append(files, own...) {
		name := strings.TrimSuffix(filepath.Base(file), ".go")
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			golden := filepath.Join("testdata", "outputs", name)
			if *update {
				if err := os.WriteFile(golden, []byte(goRun(t, file)), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			got, _, err := run(file, string(text))
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Error(difference(got, string(want)))
			}
		})
	}
}

// TestHook has functions call others in their place, also those that are values.
func TestHook(t *testing.T) {
	p, c, _, err := program("hook.go", `package main

import "fmt"

func twice(n int, more ...string) (int, error) { return 2 * n, nil }

func pair(p [2]float64) (x [2]float64) { return p }

var f = twice

func main() {
	fmt.Println(twice(3))
	fmt.Println(f(4, "a", "b"))
	fmt.Println(pair([2]float64{1, 2}))
}
`)
	if err != nil {
		t.Fatal(err)
	}
	p.Init(c.Machine)
	functions := map[string]*types.Func{}
	for o := range c.decls {
		functions[o.Name()] = o
	}
	var used []string
	for _, f := range c.FuncsOf(functions["main"]) {
		used = append(used, f.Name())
	}
	if got := strings.Join(used, " "); got != "twice pair" || c.FuncsOf(functions["twice"]) != nil {
		t.Errorf("main uses %s", got)
	}
	by := map[string]any{
		"twice": func(n int, more ...string) (int, error) { return n + len(more), io.EOF },
		"pair":  func(p [2]float64) [2]float64 { return [2]float64{p[1], p[0]} },
	}
	for _, step := range []struct {
		hook bool
		want string
	}{{false, "6 <nil>\n8 <nil>\n[1 2]\n"}, {true, "3 EOF\n6 EOF\n[2 1]\n"}, {true, "3 EOF\n6 EOF\n[2 1]\n"}, {false, "6 <nil>\n8 <nil>\n[1 2]\n"}} {
		for name, f := range by {
			v := reflect.Value{}
			if step.hook {
				v = reflect.ValueOf(f)
			}
			if !c.Hook(functions[name], v) {
				t.Errorf("%s cannot be hooked", name)
			}
		}
		if got, _, err := output(func() { p.Main(c.Machine) }); got != step.want || err != nil {
			t.Errorf("hooked %v: %q, %v", step.hook, got, err)
		}
	}
	if c.Hook(types.NewFunc(0, nil, "other", types.NewSignatureType(nil, nil, nil, nil, nil, false)), reflect.Value{}) {
		t.Error("a function that nothing uses is hooked")
	}
}

// difference lists the first lines in which two texts differ.
func difference(got, want string) string {
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range max(len(g), len(w)) {
		x, y := "(no line)", "(no line)"
		if i < len(g) {
			x = g[i]
		}
		if i < len(w) {
			y = w[i]
		}
		if x != y {
			return fmt.Sprintf("line %d\n got      %s\n compiled %s\n", i+1, x, y)
		}
	}
	return ""
}
