package caop

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"dace.local/dacelib/farm"
	"dace.local/dacelib/files"
	"dace.local/dacelib/problem"
	"dace.local/dacelib/problem/problemtest"
	"dace.local/dacelib/run"
)

// gcc returns a compiler with its own memory of sizes, or skips the test.
func gcc(t testing.TB, s CompilerSettings) *Compiler {
	t.Helper()
	if _, err := exec.LookPath("gcc"); err != nil {
		t.Skip("no gcc")
	}
	if s.Memo == "" {
		s.NoMemo = true
	}
	c, err := NewCompiler(context.Background(), s)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func evaluateT(t testing.TB, p problem.Problem, x problem.Solutions) []float64 {
	t.Helper()
	v := make([]float64, x.Len())
	if err := p.Evaluate(context.Background(), v, x); err != nil {
		t.Fatal(err)
	}
	return v
}

// tiny is a program that compiles quickly.
func tiny() Program {
	return Program{Name: "tiny", Files: []File{
		{"tiny.c", "#include \"tiny.h\"\nint sum(const int *a, int n) { int s = 0; for (int i = 0; i < n; i++) s += a[i] * SCALE; return s; }\n"},
		{"more.c", "#include \"tiny.h\"\nint sum(const int *, int);\nint twice(int *a, int n) { for (int i = 0; i < n; i++) a[i] = a[i] / SCALE; return 2 * sum(a, n); }\n"},
		{"tiny.h", "#define SCALE 3\n"},
	}}
}

func generateT(t testing.TB, seed uint64, s Settings) *Instance {
	t.Helper()
	p, err := Generate(seed, s)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestConformance(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	c := gcc(t, CompilerSettings{})
	decode := ClassOn(nil, nil, Settings{Compiler: c}).Decode
	for _, s := range []Settings{{Dim: 100}, {Dim: 3, Inverted: true}} {
		s.Programs, s.Compiler = []Program{tiny()}, c
		problemtest.Run(t, generateT(t, 1, s), problemtest.Settings{Solutions: 12, Decode: decode})
	}
}

// macros is a program of which the preprocessor makes different texts.
func macros() Program {
	return Program{Name: "macros", Files: []File{{"macros.c", `#include <math.h>
#ifdef __NO_MATH_ERRNO__
double root(double x) { return sqrt(x) + 1; }
#endif
#ifndef __NO_INLINE__
int twice(int x) { return 2 * x; }
#endif
#if __FINITE_MATH_ONLY__ || defined __FAST_MATH__ || __GCC_IEC_559_COMPLEX == 2
int is(double x) { return isnan(x); }
#endif
double at(int line) { return exp(line - __LINE__); }
`}}}
}

// plainGCC returns the negated size of a program of one file by gcc called directly.
func plainGCC(t *testing.T, p *Instance, x []bool) float64 {
	t.Helper()
	dir := t.TempDir()
	f := p.data.Program.Files[0]
	if err := os.WriteFile(filepath.Join(dir, f.Name), []byte(f.Text), 0o600); err != nil {
		t.Fatal(err)
	}
	var args []string
	var err error
	if x != nil {
		if args, err = p.Arguments(x); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("gcc", slices.Concat([]string{"-Os"}, args, []string{"-c", f.Name, "-o", "x.o"})...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	info, err := os.Stat(filepath.Join(dir, "x.o"))
	if err != nil {
		t.Fatal(err)
	}
	return -float64(info.Size())
}

// TestPlainGCC compares values of all programs with those of gcc called directly.
func TestPlainGCC(t *testing.T) {
	c := gcc(t, CompilerSettings{})
	programs := append([]Program{macros()}, Programs()...)
	if testing.Short() {
		programs = programs[:2]
	}
	for i, program := range programs {
		solutions := 1
		if i == 0 {
			solutions = 12
		}
		p := generateT(t, uint64(i), Settings{Compiler: c, Programs: []Program{program}, Dim: 187 - len(c.Dropped())})
		x := problem.Random(run.Rand(uint64(i), "plain gcc"), solutions, p.Dim())
		values := evaluateT(t, p, x)
		for k, v := range values {
			if want := plainGCC(t, p, x.Bools(k)); v != want {
				t.Errorf("%s, solution %d: %v, but gcc makes %v", program.Name, k, v, want)
			}
		}
		base, err := p.BaseSize(context.Background())
		if err != nil || -float64(base) != plainGCC(t, p, nil) {
			t.Errorf("%s: base %d, %v", program.Name, base, err)
		}
	}
}

// TestMacros checks for each flag, and for lists of all, that the macros that GCC
// defines depend on no other arguments than definesMacros matches.
func TestMacros(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	c := gcc(t, CompilerSettings{})
	dropped := map[int]bool{}
	for _, f := range c.Dropped() {
		dropped[f.ID] = true
	}
	defined := map[string]string{}
	macros := func(args []string) string {
		k := strings.Join(args, " ")
		if defined[k] == "" {
			cmd := exec.Command("gcc", slices.Concat([]string{"-Os", "-w"}, args, []string{"-dM", "-E", "-x", "c", "-"})...)
			out, err := cmd.Output()
			if err != nil {
				t.Fatal(err)
			}
			defined[k] = string(out)
		}
		return defined[k]
	}
	var lists [][]string
	for _, f := range c.Flags() {
		lists = append(lists, arguments(map[int]bool{f.ID: true}, dropped, false))
	}
	rng := run.Rand(1, "macros")
	for range 30 {
		on := map[int]bool{}
		for id := range len(table()) {
			on[id+1] = rng.IntN(2) == 0
		}
		lists = append(lists, arguments(on, dropped, false))
	}
	for _, args := range lists {
		matter := slices.DeleteFunc(slices.Clone(args), func(a string) bool { return !definesMacros.MatchString(a) })
		if macros(args) != macros(matter) {
			t.Errorf("the macros depend on more than %v of %v", matter, args)
		}
	}
}

// TestOtherText checks that values are those of the source where a compiler makes
// another object of what it has preprocessed, or refuses it.
func TestOtherText(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	x := problem.Random(run.Rand(5, "other"), 4, 20)
	s := Settings{Dim: 20, Programs: []Program{tiny()}, Compiler: gcc(t, CompilerSettings{})}
	want := evaluateT(t, generateT(t, 5, s), x)
	for _, do := range []string{`set -- "$@" -g`, "exit 1"} {
		s.Compiler = gcc(t, CompilerSettings{Path: fake(t, `case "$*" in *" -c "*".i -o"*) `+do+`;; esac`)})
		if got := evaluateT(t, generateT(t, 5, s), x); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", do, got, want)
		}
	}
}

// TestArguments checks the paper's meaning of bits, the inverted one, values
// left out, and conflicts.
func TestArguments(t *testing.T) {
	flags := Table()
	if len(flags) != 187 {
		t.Fatalf("%d flags", len(flags))
	}
	plain, values := 0, 0
	for _, f := range flags {
		switch {
		case f.Disable == "":
			values++
		case strings.TrimPrefix(f.Disable, "-fno-") == strings.TrimPrefix(f.Enable, "-f"):
			plain++
		}
		for _, id := range f.Conflicts {
			a, _, _ := strings.Cut(f.Enable, "=")
			if b, _, _ := strings.Cut(flags[id-1].Enable, "="); id >= f.ID || a != b {
				t.Errorf("%s conflicts with %s", f.Enable, flags[id-1].Enable)
			}
		}
	}
	if plain != 165 || values != 22 {
		t.Errorf("%d flags on or off, %d values", plain, values)
	}
	on := map[int]bool{33: true, 185: true, 187: true, 171: true}
	for _, c := range []struct {
		dropped  map[int]bool
		inverted bool
		has, not string
	}{
		{nil, false, "-fgcse -fno-gcse-las -fira-region=all -flifetime-dse=0 -fno-web", "-fno-gcse -fira-region=one -fweb"},
		{nil, true, "-fno-gcse -fgcse-las -fira-region=all -fweb", "-fgcse -fira-region=one -fno-web"},
		{map[int]bool{33: true, 185: true}, false, "-fira-region=one -fno-web", "-fgcse -fno-gcse -fira-region=all"},
	} {
		args := arguments(on, c.dropped, c.inverted)
		for _, f := range strings.Fields(c.has) {
			if !slices.Contains(args, f) {
				t.Errorf("%+v: %s is missing", c, f)
			}
		}
		for _, f := range strings.Fields(c.not) {
			if slices.Contains(args, f) {
				t.Errorf("%+v: %s is there", c, f)
			}
		}
	}
}

// TestPrograms checks that every program of the library compiles without a
// warning and passes its own checks.
func TestPrograms(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	gcc(t, CompilerSettings{})
	all := Programs()
	if len(all) < 12 {
		t.Errorf("only %d programs", len(all))
	}
	dir := t.TempDir()
	for _, p := range all {
		if lines := strings.Count(p.Files[0].Text, "\n"); lines < 100 || lines > 1500 {
			t.Errorf("%s has %d lines", p.Name, lines)
		}
		exe := filepath.Join(dir, p.Name)
		cmd := exec.Command("gcc", "-Wall", "-Wextra", "-Werror", "-O1", "-x", "c", "-", "-o", exe, "-lm")
		cmd.Stdin = strings.NewReader(p.Files[0].Text)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", p.Name, err, out)
			continue
		}
		if out, err := exec.Command(exe).CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", p.Name, err, out)
		}
	}
}

func TestClass(t *testing.T) {
	c := Class()
	gcc(t, CompilerSettings{})
	s, err := c.NewSet(1, 5, 20)
	if err != nil {
		t.Fatal(err)
	}
	train := map[string]bool{}
	for _, p := range s.Training {
		d := p.(*Instance).Data()
		train[d.Program.Name] = true
		if !slices.IsSorted(d.Flags) || p.Dim() != 80 || d.Compiler == "" {
			t.Errorf("%s: %d flags for %s", p.Name(), p.Dim(), d.Compiler)
		}
	}
	test := map[string]bool{}
	for _, p := range s.Test {
		test[p.(*Instance).Data().Program.Name] = true
	}
	for name := range train {
		if test[name] {
			t.Errorf("%s is both for training and for test", name)
		}
	}
	if len(s.TestOf(80)) != 20 || len(s.TestOf(100)) != 20 || len(test) < 5 {
		t.Errorf("%d and %d test instances of %d programs", len(s.TestOf(80)), len(s.TestOf(100)), len(test))
	}
	var b bytes.Buffer
	if err := s.Write(&b); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Read(&b); err != nil {
		t.Error(err)
	}
	if _, err := ClassOn(nil, nil, Settings{}).Train(1, 0); err == nil {
		t.Error("no programs: no error")
	}
}

// fake writes a script that stands in for gcc: it calls gcc, but refuses flags.
func fake(t *testing.T, body string) string {
	t.Helper()
	real, err := exec.LookPath("gcc")
	if err != nil {
		t.Skip("no gcc")
	}
	path := filepath.Join(t.TempDir(), "gcc")
	script := "#!/bin/sh\nreal=" + real + "\n" + body + "\nexec $real \"$@\"\n"
	if err := files.WriteProgram(path, []byte(script)); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestDropped checks that flags that a GCC does not know, or refuses otherwise,
// are dropped with a notice.
func TestDropped(t *testing.T) {
	for name, body := range map[string]string{
		"unknown": `for a in "$@"; do case $a in -fweb|-fira-region=all) echo "error: unrecognized command-line option '$a'; did you mean?" >&2; bad=1;; esac; done; test -n "$bad" && exit 1`,
		"refused": `for a in "$@"; do case $a in -fweb|-fira-region=all) echo "sorry, unimplemented: $a" >&2; exit 1;; esac; done`,
	} {
		t.Run(name, func(t *testing.T) {
			c := gcc(t, CompilerSettings{Path: fake(t, body)})
			var dropped []string
			for _, f := range c.Dropped() {
				dropped = append(dropped, f.Enable)
			}
			for _, f := range gcc(t, CompilerSettings{}).Dropped() { // this GCC's own
				dropped = slices.DeleteFunc(dropped, func(s string) bool { return s == f.Enable })
			}
			if !slices.Equal(dropped, []string{"-fweb", "-fira-region=all"}) || !strings.Contains(c.Notice(), "-fweb") {
				t.Fatalf("dropped %v: %s", dropped, c.Notice())
			}
			p := generateT(t, 1, Settings{Compiler: c, Dim: len(c.Flags()), Programs: []Program{tiny()}})
			x := make([]bool, p.Dim())
			args, err := p.Arguments(x)
			if err != nil || slices.Contains(args, "-fno-web") || slices.Contains(p.Data().Flags, 164) || !slices.Contains(p.Data().Dropped, 164) {
				t.Error("the dropped flag is in use", err)
			}
			// Read the instance on another computer whose GCC has the flag.
			data, _ := json.Marshal(p)
			data = bytes.ReplaceAll(data, []byte(c.ID()), []byte("gcc 4.2"))
			q, err := read(data, c)
			if err != nil || !strings.Contains(q.Notice(), "gcc 4.2") || p.Notice() != "" {
				t.Errorf("%v, notice %q", err, q.Notice())
			}
		})
	}
}

// TestFailure checks that a solution that does not compile, or takes too long,
// is worse than any that compiles, and that a failure unrelated to the solution
// is an error.
func TestFailure(t *testing.T) {
	ctx := context.Background()
	first := func(body string, s CompilerSettings) (*Instance, []float64, error) {
		s.Path = fake(t, body)
		c := gcc(t, s)
		p, err := New(Data{Name: "failure", Program: tiny(), Flags: []int{33, 164}}, c)
		if err != nil {
			t.Fatal(err)
		}
		v := make([]float64, 4)
		err = p.Evaluate(ctx, v, problem.Enumerate(2))
		return p, v, err
	}
	when := `case "$*" in *probe*) ;; *"-fweb"*) `
	p, v, err := first(when+`echo "internal compiler error" >&2; exit 1;; esac`, CompilerSettings{})
	failed, _ := p.FailedValue(ctx)
	if err != nil || v[2] != failed || v[3] != failed || v[0] <= failed || v[1] <= failed {
		t.Errorf("values %v, %v; a failure is %v", v, err, failed)
	}
	if s := p.compiler.Stats(); s.Failed != 2 || s.Compiled != 5 {
		t.Errorf("%+v", s)
	}
	begin := time.Now()
	p, v, err = first(when+`sleep 100;; esac`, CompilerSettings{TimeOut: 2 * time.Second})
	if err != nil || v[2] != failed || v[0] <= failed || p.compiler.Stats().TimedOut != 2 || time.Since(begin) > time.Minute {
		t.Errorf("values %v, %v, %+v after %v", v, err, p.compiler.Stats(), time.Since(begin))
	}
	if _, _, err = first(when+`echo "fatal error: No space left on device" >&2; exit 1;; esac`, CompilerSettings{}); err == nil || !strings.Contains(err.Error(), "No space") {
		t.Error(err)
	}
	if _, _, err = first(when+`kill -9 $$;; esac`, CompilerSettings{}); err == nil {
		t.Error("a killed compiler: no error")
	}
	wrong := Program{Name: "wrong", Files: []File{{"wrong.c", "int f( {\n"}}}
	q, err := New(Data{Name: "wrong", Program: wrong, Flags: []int{1}}, p.compiler)
	if err != nil {
		t.Fatal(err)
	}
	if err := q.Evaluate(ctx, make([]float64, 1), problem.NewSolutions(1, 1)); err == nil || !strings.Contains(err.Error(), "wrong.c:1") {
		t.Error(err)
	}
}

// TestMemo checks that sizes are compiled once across processes, and that a
// truncated or damaged file loses only the lines concerned.
func TestMemo(t *testing.T) {
	memo := t.TempDir()
	x := problem.Random(run.Rand(3, "memo"), 6, 20)
	p := func() *Instance {
		return generateT(t, 3, Settings{Dim: 20, Programs: []Program{tiny()}, Compiler: gcc(t, CompilerSettings{Memo: memo})})
	}
	a := p()
	want := evaluateT(t, a, x)
	if s := a.compiler.Stats(); s.Compiled != 7 {
		t.Errorf("%+v", s)
	}
	b := p()
	if got := evaluateT(t, b, x); !slices.Equal(got, want) || b.compiler.Stats().Compiled != 0 || b.compiler.Stats().Remembered != 7 {
		t.Errorf("%v, want %v: %+v", got, want, b.compiler.Stats())
	}
	files, _ := filepath.Glob(filepath.Join(memo, "*", "*"))
	if len(files) != 1 {
		t.Fatalf("files %v", files)
	}
	data, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	// The last line is cut off, and a digit of the second is changed.
	lines := bytes.Split(bytes.TrimSpace(data), []byte("\n\n"))
	lines[1][40] ^= 1
	data = append([]byte("\n"), bytes.Join(lines, []byte("\n\n"))...)
	if err := os.WriteFile(files[0], data[:len(data)-5], 0o644); err != nil {
		t.Fatal(err)
	}
	for _, compiled := range []int{2, 0} {
		c := p()
		if got := evaluateT(t, c, x); !slices.Equal(got, want) || c.compiler.Stats().Compiled != compiled {
			t.Errorf("%v, want %v: %+v, want %d compiled", got, want, c.compiler.Stats(), compiled)
		}
	}
}

// TestFarm checks that a compiler on a farm gives the same values, remembers
// them, and sends nothing that is remembered; and that one that workers do not
// have is refused.
func TestFarm(t *testing.T) {
	x := problem.Random(run.Rand(3, "farm"), 6, 20)
	p := func(s CompilerSettings) *Instance {
		return generateT(t, 3, Settings{Dim: 20, Programs: []Program{tiny()}, Compiler: gcc(t, s)})
	}
	want := evaluateT(t, p(CompilerSettings{}), x)
	memo := t.TempDir()
	pool := farm.Local(2)
	a := p(CompilerSettings{Memo: memo, Farm: pool})
	if got := evaluateT(t, a, x); !slices.Equal(got, want) || a.compiler.Stats().Compiled != 1 || pool.Rate("evaluate") == 0 {
		t.Errorf("%v, want %v: %+v", got, want, a.compiler.Stats())
	}
	b := p(CompilerSettings{Memo: memo})
	if got := evaluateT(t, b, x); !slices.Equal(got, want) || b.compiler.Stats().Compiled != 0 {
		t.Errorf("%v, want %v: %+v", got, want, b.compiler.Stats())
	}
	c := p(CompilerSettings{Memo: memo, Farm: farm.Local(2)})
	if got := evaluateT(t, c, x); !slices.Equal(got, want) || c.compiler.farm.Rate("evaluate") != 0 {
		t.Errorf("%v, want %v, without the farm", got, want)
	}
	other := &Compiler{path: "other-gcc", id: "gcc 0.1 elsewhere"}
	if err := other.travels(); err == nil || !strings.Contains(err.Error(), "not gcc 0.1 elsewhere, to which other-gcc belongs") {
		t.Error(err)
	}
}

// TestConcurrent evaluates the same solutions from several goroutines and
// checks that each is compiled once.
func TestConcurrent(t *testing.T) {
	p := generateT(t, 4, Settings{Dim: 20, Programs: []Program{tiny()}, Compiler: gcc(t, CompilerSettings{Workers: 2})})
	x := problem.Random(run.Rand(4, "concurrent"), 5, 20)
	values := make([][]float64, 4)
	var wg sync.WaitGroup
	for i := range values {
		values[i] = make([]float64, 5)
		wg.Go(func() {
			if err := p.Evaluate(context.Background(), values[i], x); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for _, v := range values[1:] {
		if !slices.Equal(v, values[0]) {
			t.Errorf("%v and %v", v, values[0])
		}
	}
	if s := p.compiler.Stats(); s.Compiled != 6 {
		t.Errorf("%+v", s)
	}
}

// TestCancel checks that a cancelled evaluation ends its compilers and leaves
// no files.
func TestCancel(t *testing.T) {
	scratch := t.TempDir()
	c := gcc(t, CompilerSettings{Path: fake(t, `case "$*" in *tiny.c*) sleep 100;; esac`), Scratch: scratch})
	p := generateT(t, 4, Settings{Dim: 20, Programs: []Program{tiny()}, Compiler: c})
	ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
	defer cancel()
	begin := time.Now()
	err := p.Evaluate(ctx, make([]float64, 1), problem.NewSolutions(1, 20))
	if !errors.Is(err, context.DeadlineExceeded) || time.Since(begin) > 30*time.Second {
		t.Errorf("%v after %v", err, time.Since(begin))
	}
	if left, _ := os.ReadDir(scratch); len(left) > 0 {
		t.Errorf("%d scratch folders are left", len(left))
	}
}

func TestReadPrograms(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"a.c": "int a;\n", "b.c": "#include \"x.h\"\n", "x.h": "#include <y.h>\n", "notes.txt": "no",
		"suite/one/main.c": "int main;\n", "suite/one/part.c": "int part;\n", "suite/one/part.h": "", ".git/c.c": "no", "include/y.h": "int y;\n",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	all, err := ReadPrograms(dir, []string{filepath.Join(dir, "include")})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, p := range all {
		s := p.Name
		for _, f := range p.Files {
			s += " " + f.Name
		}
		got = append(got, s)
	}
	if want := []string{"a a.c x.h", "b b.c x.h", "suite/one main.c part.c part.h"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	p, err := New(Data{Name: "b", Program: all[1], Flags: []int{33}}, gcc(t, CompilerSettings{}))
	if err != nil {
		t.Fatal(err)
	}
	evaluateT(t, p, problem.NewSolutions(1, 1))
	if _, err := ReadPrograms(t.TempDir(), nil); err == nil || !strings.Contains(err.Error(), "no .c file") {
		t.Error(err)
	}
	if _, err := ReadPrograms(filepath.Join(dir, "none"), nil); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

func TestErrors(t *testing.T) {
	ctx := context.Background()
	if _, err := NewCompiler(ctx, CompilerSettings{Path: "no-such-gcc"}); err == nil || !strings.Contains(err.Error(), "apt install gcc") {
		t.Error(err)
	}
	clang := filepath.Join(t.TempDir(), "clang")
	if err := files.WriteProgram(clang, []byte("#!/bin/sh\necho clang version 15\n")); err != nil {
		t.Fatal(err)
	}
	if _, err := NewCompiler(ctx, CompilerSettings{Path: clang}); err == nil || !strings.Contains(err.Error(), "not GCC") {
		t.Error(err)
	}
	c := gcc(t, CompilerSettings{})
	if _, err := NewCompiler(ctx, CompilerSettings{Scratch: "/no/such/folder"}); err == nil || !strings.Contains(err.Error(), "scratch") {
		t.Error(err)
	}
	good := Data{Name: "x", Program: tiny(), Flags: []int{1, 2}}
	for want, spoil := range map[string]func(*Data){
		"no flags":             func(d *Data) { d.Flags = nil },
		"no flag 188":          func(d *Data) { d.Flags = []int{188} },
		"no flag 0":            func(d *Data) { d.Flags = []int{0} },
		"named twice":          func(d *Data) { d.Flags = []int{1, 1} },
		"has no .c file":       func(d *Data) { d.Program.Files = []File{{"x.h", ""}} },
		"no name of a file":    func(d *Data) { d.Program.Files[0].Name = "../x.c" },
		"two files":            func(d *Data) { d.Program.Files[1].Name = "tiny.c" },
		"not an absolute path": func(d *Data) { d.Program.Include = []string{"include"} },
	} {
		d := good
		d.Program = tiny()
		spoil(&d)
		if _, err := New(d, c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want an error with %q, got %v", want, err)
		}
	}
	for _, s := range []Settings{{Dim: -1}, {Dim: 188}, {Programs: []Program{}}} {
		s.Compiler = c
		if _, err := Generate(1, s); err == nil {
			t.Errorf("%+v: no error", s)
		}
	}
	p, err := New(good, c)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Arguments(make([]bool, 3)); err == nil {
		t.Error("Arguments of a wrong dimension: no error")
	}
}

func FuzzBook(f *testing.F) {
	f.Add(append(key{1}.line(123), key{2}.line(failedSize)...))
	f.Add([]byte("00000000000000000000000000000000 1 00000000\n"))
	f.Add([]byte("\n\n \n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		sizes := map[key]int64{}
		if err := readBook(bytes.NewReader(b), sizes); err != nil {
			t.Fatal(err)
		}
		// An accepted instance is written and read again.
		var out []byte
		for k, s := range sizes {
			out = append(out, k.line(s)...)
		}
		again := map[key]int64{}
		if err := readBook(bytes.NewReader(out), again); err != nil || len(again) != len(sizes) {
			t.Fatal(err)
		}
		for k, s := range sizes {
			if again[k] != s || s < failedSize {
				t.Fatalf("%x: %d and %d", k, s, again[k])
			}
		}
	})
}

func FuzzDecode(f *testing.F) {
	c := gcc(f, CompilerSettings{})
	p := generateT(f, 1, Settings{Dim: 3, Programs: []Program{tiny()}, Compiler: c})
	b, _ := json.Marshal(p)
	f.Add(b)
	f.Add([]byte(`{"program":{"files":[{"name":"a.c"}]},"flags":[1],"compiler":"gcc"}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := read(b, c)
		if err != nil {
			return
		}
		if _, err := p.Arguments(make([]bool, p.Dim())); err != nil {
			t.Error(err)
		}
		if _, err := json.Marshal(p); err != nil {
			t.Error(err)
		}
	})
}

// ExampleInstance_Arguments has an instance of two flags, -fgcse and -fweb.
func ExampleInstance_Arguments() {
	c, err := NewCompiler(context.Background(), CompilerSettings{NoMemo: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	p, err := New(Data{Name: "two", Program: Programs()[0], Flags: []int{33, 164}}, c)
	if err != nil {
		fmt.Println(err)
		return
	}
	args, err := p.Arguments([]bool{true, false})
	fmt.Println(slices.Contains(args, "-fgcse"), slices.Contains(args, "-fno-web"), slices.Contains(args, "-fno-tree-pre"), err)
	// Output: true true true <nil>
}
