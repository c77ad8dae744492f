package lower

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"go/ast"
	"go/format"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"dace.local/kernel/gocell/internal/cell"
	"dace.local/kernel/gocell/internal/check"
	"dace.local/kernel/internal/toolchain/module"
)

// Each file of testdata/rewrites is named after a rewrite of the table, with a
// word behind + where there are several, and holds
//
//	-- before --   cells that the session has run already, divided by lines of ---
//	-- fetched --  a file of a fetched package example.com/m, which cells import
//	-- cell --     the cell
//	-- lowered --  what the interpreter compiles
//	-- reason --   the rewrite's row of the table
//
// of which the first two may be missing. In files for stop-at-statements a
// client debugs. After a change to the lowering look at
// what this writes:
//
//	go test -run TestGolden -update
var updateGolden = flag.Bool("update", false, "write the lowered sections of testdata/rewrites anew")

func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/rewrites/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("no files", err)
	}
	rows := map[string]rewrite{}
	for _, r := range table {
		rows[r.name] = r
	}
	needed := map[string]bool{} // rewrites that a file is for and cannot do without
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".txtar")
		row, _, _ := strings.Cut(name, "+")
		t.Run(name, func(t *testing.T) {
			r, ok := rows[row]
			if !ok {
				t.Fatalf("the table has no rewrite %s", row)
			}
			g := readGolden(t, file)
			g.debugging = row == "stop-at-statements"
			got, err := g.lower(tableOrder)
			if err != nil {
				t.Fatal(err)
			}
			reason := r.reason()
			if *updateGolden {
				g.write(t, file, got, reason)
			} else if g.sections["lowered"] != got {
				t.Errorf("lowered:\n%s\nwant:\n%s", got, g.sections["lowered"])
			} else if g.sections["reason"] != reason {
				t.Errorf("reason:\n%s\nwant:\n%s", g.sections["reason"], reason)
			}
			without, err := g.lower(newOrder(table, row))
			if err != nil || without != got {
				needed[row] = true
			}
		})
	}
	for _, r := range table {
		if !needed[r.name] {
			t.Errorf("no file shows what %s does: testdata/rewrites/%[1]s.txtar must lower to something else without it", r.name)
		}
	}
}

// reason returns a row of the table as a golden file has it.
func (r rewrite) reason() string {
	s := fmt.Sprintf("%s.\n%s.\n\t%s\n\t-> %s\n", sentence(r.does), sentence(r.why), r.before, r.after)
	if r.order != "" {
		s += "Order: " + r.order + ".\n"
	}
	return s
}

func sentence(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

// A golden is a file of testdata/rewrites.
type golden struct {
	sections map[string]string
	dir      string // holds the fetched package

	debugging bool
}

func readGolden(t *testing.T, file string) *golden {
	a, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	g := &golden{sections: map[string]string{}, dir: t.TempDir()}
	for _, f := range a.Files {
		g.sections[f.Name] = string(f.Data)
	}
	if text := g.sections["fetched"]; text != "" {
		if err := os.WriteFile(filepath.Join(g.dir, "m.go"), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return g
}

func (g *golden) write(t *testing.T, file, lowered, reason string) {
	g.sections["lowered"], g.sections["reason"] = lowered, reason
	a := &txtar.Archive{}
	for _, name := range []string{"before", "fetched", "cell", "lowered", "reason"} {
		if text := g.sections[name]; text != "" {
			a.Files = append(a.Files, txtar.File{Name: name, Data: []byte(text)})
		}
	}
	if err := os.WriteFile(file, txtar.Format(a), 0o666); err != nil {
		t.Fatal(err)
	}
}

// lower returns what the file's cell is lowered to by the rewrites of an order,
// after what it needs of the fetched package.
func (g *golden) lower(o *order) (text string, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v", r)
		}
	}()
	p, err := check.NewProgram()
	if err != nil {
		return "", err
	}
	fset := token.NewFileSet()
	env, state := &testEnv{debugging: g.debugging}, NewState()
	state.order = o
	var b strings.Builder
	if g.sections["fetched"] != "" {
		file, err := g.fetched(p, fset, env, state)
		if err != nil {
			return "", err
		}
		b.WriteString(fileText(file))
	}
	cells := []string{g.sections["cell"]}
	if before := g.sections["before"]; before != "" {
		cells = append(strings.Split(before, "---\n"), cells...)
	}
	for i, text := range cells {
		src, err := check.ParseCell(fset, i+1, "", strings.TrimSuffix(text, "\n"))
		if err != nil {
			return "", err
		}
		c, err := p.Check(fset, src)
		if err != nil {
			return "", err
		}
		low, err := Cell(env, state, fset, c, p, false, fset.AddFile("_.go", -1, 1).Pos(0))
		if err != nil {
			return "", err
		}
		if i == len(cells)-1 {
			b.WriteString(fileText(low.File))
		}
		p = c.Next
	}
	return b.String(), nil
}

// fetched lowers all of the fetched package.
func (g *golden) fetched(p *check.Program, fset *token.FileSet, env Env, state *State) (*ast.File, error) {
	m := module.Module{Path: "example.com/m", Version: "v1.0.0", GoVersion: "1.21"}
	pkg := &module.Package{ImportPath: m.Path, Name: "m", Dir: g.dir, Module: m, Files: []string{"m.go"}}
	err := p.Importer.Add(context.Background(), fset, &module.Fetch{Module: m, Path: m.Path, Packages: []*module.Package{pkg}, All: map[string]*module.Package{m.Path: pkg}})
	if err != nil {
		return nil, err
	}
	sp := p.Importer.Source(m.Path)
	if sp == nil || sp.Why != "" {
		return nil, fmt.Errorf("the package cannot be interpreted: %v", sp)
	}
	decls := map[*check.FetchedDecl]bool{}
	for _, d := range sp.ByObject {
		decls[d] = true
	}
	return Fetched(env, state, fset, decls, map[*check.FetchedPackage]bool{sp: true}, p, fset.AddFile("fetched/_.go", -1, 1).Pos(0))
}

// A testEnv names run-time types after those of the cell, and numbers what the
// kernel would.
type testEnv struct {
	types    []types.Type
	names    []string
	numbers  []types.Type
	switches int
	methods  int

	debugging bool
	stops     int
}

func (e *testEnv) TypeSymbol(t types.Type) (string, error) {
	for i, u := range e.types {
		if types.Identical(t, u) {
			return e.names[i], nil
		}
	}
	name := fmt.Sprintf("T%d", len(e.types)+1)
	if n, ok := types.Unalias(t).(*types.Named); ok {
		name += "_" + n.Obj().Name()
	}
	e.types, e.names = append(e.types, t), append(e.names, name)
	return name, nil
}

func (e *testEnv) TypeNumber(t types.Type) (int, error) {
	for i, u := range e.numbers {
		if types.Identical(t, u) {
			return i, nil
		}
	}
	e.numbers = append(e.numbers, t)
	return len(e.numbers) - 1, nil
}

func (e *testEnv) SwitchNumber([]int) int {
	e.switches++
	return e.switches - 1
}

func (e *testEnv) MethodName(t *types.Named, method string) string {
	return cell.Mark + "f_" + t.Obj().Name() + "_" + method
}

func (e *testEnv) MethodNumber(*types.Named, string) int {
	e.methods++
	return e.methods - 1
}

func (e *testEnv) FinishTypes() error { return nil }
func (e *testEnv) Load(string) error  { return nil }
func (e *testEnv) Checking(f func())  { f() }
func (e *testEnv) Debugging() bool    { return e.debugging }

func (e *testEnv) Stop(Stop) int {
	e.stops++
	return e.stops
}

var generatedRE = regexp.MustCompile(cell.Mark + `(g|type|m)\d+`)

// fileText prints a file as gofmt does, whatever positions its nodes have, and
// numbers what the process counts anew.
func fileText(f *ast.File) string {
	var b bytes.Buffer
	if err := format.Node(&b, token.NewFileSet(), unplaced(reflect.ValueOf(f)).Interface()); err != nil {
		return err.Error()
	}
	numbers := map[string]string{}
	return generatedRE.ReplaceAllStringFunc(b.String(), func(name string) string {
		if numbers[name] == "" {
			numbers[name] = strings.TrimRight(name, "0123456789") + fmt.Sprint(len(numbers)+1)
		}
		return numbers[name]
	})
}

// unplaced copies syntax without positions, but for those that say what a node
// is: f(x...), <-chan, type T = U.
func unplaced(v reflect.Value) reflect.Value {
	switch v.Kind() {
	case reflect.Interface:
		if v.IsNil() {
			return v
		}
		w := reflect.New(v.Type()).Elem()
		w.Set(unplaced(v.Elem()))
		return w
	case reflect.Slice:
		if v.IsNil() {
			return v
		}
		w := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		for i := range v.Len() {
			w.Index(i).Set(unplaced(v.Index(i)))
		}
		return w
	case reflect.Pointer:
		switch v.Interface().(type) {
		//lint:ignore SA1019 older fields of the tree point to them
		case *ast.CommentGroup, *ast.Scope, *ast.Object:
			return reflect.Zero(v.Type())
		}
		if v.IsNil() {
			return v
		}
		w := reflect.New(v.Type().Elem())
		for i := range v.Elem().NumField() {
			f := v.Elem().Type().Field(i)
			if f.Type != reflect.TypeFor[token.Pos]() {
				w.Elem().Field(i).Set(unplaced(v.Elem().Field(i)))
				continue
			}
			_, isDecl := v.Interface().(*ast.GenDecl)
			if tells := f.Name == "Ellipsis" || f.Name == "Arrow" || f.Name == "Assign" || isDecl && f.Name == "Lparen"; tells && v.Elem().Field(i).Int() != 0 {
				w.Elem().Field(i).SetInt(1)
			}
		}
		return w
	}
	return v
}
