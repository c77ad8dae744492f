package compile

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"dace.local/kernel/gocell/internal/check"
	"dace.local/kernel/gocell/internal/code"
)

// Whatever allocates asks for its memory before it takes it, so that a cell which wants
// too much ends with an error: about as many bytes as it takes, and nothing for little.
func TestNeed(t *testing.T) {
	for stmt, size := range map[string]int{
		"use(make([]int, n))":                            8,
		"use(make([]byte, 10, n))":                       1,
		"use(make([]string, n))":                         16,
		"use(make(chan int64, n))":                       8,
		"use(append([]int32(nil), make([]int32, n)...))": 4,
		"use(text + text)":                               2,
		"use([]byte(text))":                              1,
		"use([]rune(text))":                              4,
		"use(string(make([]byte, n)))":                   1,
		"s := make([]int, n); s = append(s, 1); use(s)":  8,
	} {
		for _, n := range []int{10, 100_000} {
			p, c, _, err := program("need.go", fmt.Sprintf(`package main

import "strings"

var n = %d
var text = strings.Repeat("x", n)

func use(any) {}

func main() { %s }
`, n, stmt))
			if err != nil {
				t.Fatal(stmt, err)
			}
			p.Init(c.Machine)
			asked := 0.0
			c.Machine.Need = func(what string, bytes float64) {
				if asked = max(asked, bytes); what == "" {
					t.Errorf("%s does not say for what it needs memory", stmt)
				}
			}
			p.Main(c.Machine)
			if want := float64(n * size); n < 1000 && asked > 0 || n >= 1000 && (asked < want || asked > 3*want) {
				t.Errorf("%s asks for %v bytes with n = %d, takes %v", stmt, asked, n, want)
			}
		}
	}
}

// An append asks for memory where the slice is full, whatever its elements are, and for
// none where there is room.
func TestAppendNeeds(t *testing.T) {
	const n = 1000
	for elem, size := range map[string]int{
		"bool": 1, "int8": 1, "uint32": 4, "int": 8, "float32": 4, "float64": 8, "complex128": 16,
		"string": 16, "*int": 8, "any": 16, "[]int": 24, "[5]int": 40, "struct{ a, b int }": 16,
	} {
		for stmt, want := range map[string]int{
			"l = append(l, *new(T))": n * size, "l = append(l, l[0], l[1])": n * size, "l = append(l, l[:1]...)": n * size,
			"l = append(l[:len(l)-1], *new(T))": 0, "l = append(l[:len(l)-2], l[0], l[1])": 0, "l = append(l[:1], l[:2]...)": 0,
		} {
			p, c, _, err := program("append.go", fmt.Sprintf("package main\n\ntype T = %s\n\nvar l = make([]T, %d)\n\nfunc main() { %s }\n", elem, n, stmt))
			if err != nil {
				t.Fatal(elem, stmt, err)
			}
			p.Init(c.Machine)
			asked := 0
			c.Machine.Need = func(_ string, bytes float64) { asked += int(bytes) }
			p.Main(c.Machine)
			if asked < want || asked > 3*want {
				t.Errorf("%s asks for %d bytes, takes %d, elements are %s", stmt, asked, want, elem)
			}
		}
	}
}

// Steps that use a map lock it where other goroutines run cells, each once.
func TestMapLocks(t *testing.T) {
	for _, maps := range []string{"map[int]int", "map[int32]string", "map[string]any", "map[[2]int][3]int", "map[string][]int", "map[float64]bool"} {
		for stmt, want := range map[string]string{
			"_ = m[k]": "r", "_, ok := m[k]; _ = ok": "r", "v = m[k]": "r", "v, ok := m[k]; _, _ = v, ok": "r",
			"m[k] = v": "w", "delete(m, k)": "w", "clear(m)": "w", "for range m { }": "rr", "for k, v = range m { }": "rr",
		} {
			p, c, _, err := program("locks.go", fmt.Sprintf("package main\n\nvar m = %s{}\n\nfunc pair[K comparable, V any](map[K]V) (k K, v V) { return }\n\nvar k, v = pair(m)\n\nfunc init() { m[k] = v }\n\nfunc main() { %s }\n", maps, stmt))
			if err != nil {
				t.Fatal(maps, stmt, err)
			}
			p.Init(c.Machine)
			did, held := "", 0
			c.Machine.Lock = func(_ unsafe.Pointer, write bool) int {
				did, held = did+map[bool]string{false: "r", true: "w"}[write], held+1
				return held
			}
			c.Machine.Unlock = func(int, bool) { held-- }
			p.Main(c.Machine)
			if did != "" {
				t.Errorf("%s of a %s locks it though it is alone", stmt, maps)
			}
			p.Init(c.Machine)
			c.Machine.Others().Store(1)
			if p.Main(c.Machine); did != want || held != 0 {
				t.Errorf("%s of a %s locks %q and leaves %d locked, want %q", stmt, maps, did, held, want)
			}
		}
	}
}

// A variable is on the heap where something has its address, or a function literal uses it
// and it changes.
func TestUses(t *testing.T) {
	for body, want := range map[string]string{
		"x := 1; x++; func() { _ = x }()":                                       "x",
		"x := 1; x += 2; func() { _ = x }()":                                    "x",
		"x := 1; func() { x++ }()":                                              "x",
		"x := 1; func() { func() { x++ }() }()":                                 "x",
		"x := 1; func() { _ = x }()":                                            "",
		"x := 1; x++; func() { x := 2; x++ }()":                                 "",
		"x := 1; func() { y := x; y++ }()":                                      "",
		"x := 1; x, y := 2, 3; func() { _, _ = x, y }()":                        "x",
		"x := 1; _ = &x":                                                        "x",
		"p++; func() { _ = p }()":                                               "p",
		"r = q; func() { _, _ = r, q }()":                                       "r",
		"func(a int) { a++; func() { _ = a }() }(1)":                            "a",
		"var a [3]int; _ = a[:]":                                                "a",
		"var a []int; _ = a[:]":                                                 "",
		"var a [3]int; a[1]++; func() { _ = a }()":                              "a",
		"a := []int{1}; a[0]++; func() { _ = a }()":                             "",
		"var s struct{ l [2]int }; s.l[0]++; func() { _ = s }()":                "s",
		"s := &struct{ n int }{}; s.n++; func() { _ = s }()":                    "",
		"var v any; switch y := v.(type) { case int: y++; func() { _ = y }() }": "y",
		"var v any; switch y := v.(type) { case int: y++; _ = y }":              "",
		"var v any; switch y := v.(type) { case int: func() { _ = y }() }":      "",
		"for i := range 3 { func() { _ = i }() }":                               "",
		"var i, v int; for i, v = range []int{1} { func() { _, _ = i, v }() }":  "i v",
		"for i := 0; i < 3; i++ { func() { _ = i }() }":                         "i",
		"var t T; t.pointer()":                                                  "t",
		"var t T; t.value(); func() { _ = t }()":                                "",
		"var t struct{ T }; f := t.pointer; _ = f":                              "t",
	} {
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, "uses.go", "package main\ntype T struct{}\nfunc (*T) pointer() {}\nfunc (T) value() {}\nfunc f(p, q int) (r int) { "+body+"; return }", 0)
		if err != nil {
			t.Fatal(body, err)
		}
		info := check.NewInfo()
		if _, err := new(types.Config).Check("main", fset, []*ast.File{file}, info); err != nil {
			t.Fatal(body, err)
		}
		var boxed []string
		for v, u := range uses(info, file.Decls[len(file.Decls)-1]) {
			if u.boxed() && !slices.Contains(boxed, v.Name()) {
				boxed = append(boxed, v.Name())
			}
		}
		slices.Sort(boxed)
		if got := strings.Join(boxed, " "); got != want {
			t.Errorf("%s: %q are on the heap, want %q", body, got, want)
		}
	}
}

// Where functions of a package are as before Go 1.22, the turns of a loop share its variables.
func TestSharedTurns(t *testing.T) {
	p, c, _, err := program("shared.go", `package main

import "fmt"

func main() {
	var all []func() int
	for i := range 2 { all = append(all, func() int { return i }) }
	for i, s := range "ab" { all = append(all, func() int { return i * int(s) }) }
	for i := range []int{1, 2, 3} { all = append(all, func() int { return i }) }
	for i := 0; i < 2; i++ { all = append(all, func() int { return i }) }
	var k int
	for k = range 5 { all = append(all, func() int { return k }) }
	for _, f := range all { fmt.Print(f(), " ") }
}
`)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"0 1 0 98 0 1 2 0 1 4 4 4 4 4 ", "1 1 98 98 2 2 2 2 2 4 4 4 4 4 "} {
		if got, _, err := output(func() { p.Main(c.Machine) }); got != want || err != nil {
			t.Errorf("it prints %q, want %q, %v", got, want, err)
		}
		for _, d := range c.decls {
			d.shared = true
		}
		if err := c.Again(func(*ast.FuncDecl, *types.Info) bool { return true }); err != nil {
			t.Fatal(err)
		}
	}
}

// At each place of a function those of its variables are in scope that are declared above,
// the inner of two of one name.
func TestInScope(t *testing.T) {
	p, c, fset, err := program("scope.go", `package main

func here() {}

func f(p int, _ bool) (r int) {
	here()
	x, q := 1, 2
	here()
	if x := "inner"; p > 0 {
		y := x
		here()
		_ = y
	}
	func(a int) {
		here()
		x := q + x
		here()
		_ = x
	}(3)
	here()
	return
}

func main() { f(1, true) }
`)
	if err != nil {
		t.Fatal(err)
	}
	flag, got := uint32(1), map[int]string{}
	c.Stops = map[ast.Stmt]Stop{}
	err = c.Again(func(d *ast.FuncDecl, _ *types.Info) bool {
		ast.Inspect(d, func(n ast.Node) bool {
			if s, ok := n.(*ast.ExprStmt); ok {
				c.Stops[s] = Stop{&flag, func(f *code.Frame) {
					var names []string
					for _, v := range c.InScope(f, s.Pos()) {
						names = append(names, fmt.Sprint(v.Name(), "=", c.Local(f, v)))
					}
					got[fset.Position(s.Pos()).Line] = strings.Join(names, " ")
				}}
			}
			return true
		})
		return true
	})
	if err != nil {
		t.Fatal(err)
	}
	p.Main(c.Machine)
	want := map[int]string{
		6: "p=1 r=0", 8: "p=1 r=0 x=1 q=2", 11: "p=1 r=0 q=2 x=inner y=inner", 14: "p=1 r=0 x=1 q=2", // the call
		15: "x=1 q=2 a=3", 17: "q=2 a=3 x=3", 20: "p=1 r=0 x=1 q=2", 24: "",
	}
	if !maps.Equal(got, want) {
		t.Errorf("in scope are by lines\n%v, want\n%v", got, want)
	}
}

// Instances of generic functions may each need another, a hundred deep and no deeper.
func TestInstances(t *testing.T) {
	for deep, want := range map[int]bool{95: true, 110: false} {
		var text strings.Builder
		text.WriteString("package main\n\nfunc main() { f0[int]() }\n")
		for i := range deep {
			fmt.Fprintf(&text, "func f%d[T any]() { f%d[[]T]() }\n", i, i+1)
		}
		fmt.Fprintf(&text, "func f%d[T any]() { println(\"here\") }\n", deep)
		_, _, _, err := program("deep.go", text.String())
		if (err == nil) != want {
			t.Errorf("%d instances that need one another: %v", deep, err)
		}
	}
}
