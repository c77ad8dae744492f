package symbols_test

import (
	"debug/elf"
	"go/constant"
	"go/token"
	"go/types"
	"io/fs"
	"math"
	"net/http"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/unit"

	"dace.local/dacelib/problem"
	"dace.local/kernel/gocell/symbols"
	_ "dace.local/kernel/gocell/symbols/all"
	"dace.local/kernel/gocell/symbols/table"
)

// Every exported constant is a symbol, with the type and value that the checker
// has for it.
func TestLookup(t *testing.T) {
	t.Parallel()
	all, err := symbols.NewTypes()
	if err != nil {
		t.Fatal(err)
	}
	compared := 0
	for _, path := range symbols.Paths() {
		p, err := all.Import(path)
		if err != nil {
			t.Fatal(err)
		}
		found, _ := symbols.Lookup(path, p)
		for _, name := range p.Scope().Names() {
			c, ok := p.Scope().Lookup(name).(*types.Const)
			if !ok || !c.Exported() {
				continue
			}
			compared++
			v := found[name]
			if !v.IsValid() {
				t.Errorf("%s.%s is missing", path, name)
				continue
			}
			if untyped, ok := v.Interface().(constant.Value); ok {
				if !constant.Compare(untyped, token.EQL, c.Val()) {
					t.Errorf("%s.%s is %s, want %s", path, name, untyped, c.Val())
				}
				continue
			}
			if n, ok := types.Unalias(c.Type()).(*types.Named); ok && (v.Type().Name() != n.Obj().Name() || v.Type().PkgPath() != n.Obj().Pkg().Path()) {
				t.Errorf("%s.%s is a %s, want a %s", path, name, v.Type(), n)
			}
			var got constant.Value
			switch {
			case v.CanInt():
				got = constant.MakeInt64(v.Int())
			case v.CanUint():
				got = constant.MakeUint64(v.Uint())
			case v.CanFloat():
				got = constant.MakeFloat64(v.Float())
			case v.Kind() == reflect.String:
				got = constant.MakeString(v.String())
			case v.Kind() == reflect.Bool:
				got = constant.MakeBool(v.Bool())
			default:
				t.Errorf("%s.%s is a %s", path, name, v.Type())
				continue
			}
			equal := constant.Compare(got, token.EQL, c.Val())
			if v.CanFloat() { // rounded
				f, _ := constant.Float64Val(c.Val())
				equal = v.Float() == f || v.Kind() == reflect.Float32 && float32(v.Float()) == float32(f)
			}
			if !equal {
				t.Errorf("%s.%s is %s, want %s", path, name, got, c.Val())
			}
		}
	}
	if compared < 5000 {
		t.Errorf("%d constants only", compared)
	}
}

// Constants have the types and values that they have in Go.
func TestConstants(t *testing.T) {
	t.Parallel()
	all, err := symbols.NewTypes()
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]any{
		"debug/elf.EM_X86_64": elf.EM_X86_64, "io/fs.ModeDir": fs.ModeDir, "os.ModeDir": os.ModeDir, "os.O_CREATE": os.O_CREATE,
		"time.Second": time.Second, "time.March": time.March, "net/http.StateIdle": http.StateIdle, "reflect.Func": reflect.Func,
		"go/token.ADD": token.ADD, "gonum.org/v1/gonum/blas.NoTrans": blas.NoTrans, "gonum.org/v1/gonum/unit.Pico": constant.MakeFloat64(unit.Pico),
		"math.MaxUint64": constant.MakeUint64(math.MaxUint64), "unicode.MaxRune": constant.MakeInt64(unicode.MaxRune),
		"net/http.MethodGet": constant.MakeString("GET"), "dace.local/dacelib/problem.MaxDim": constant.MakeInt64(problem.MaxDim),
	} {
		i := strings.LastIndexByte(name, '.')
		p, err := all.Import(name[:i])
		if err != nil {
			t.Fatal(err)
		}
		found, _ := symbols.Lookup(name[:i], p)
		got := found[name[i+1:]].Interface()
		if w, ok := want.(constant.Value); ok {
			g, ok := got.(constant.Value)
			if !ok || g.String() != w.String() {
				t.Errorf("%s is %v, want %v", name, got, want)
			}
		} else if got != want {
			t.Errorf("%s is %v of type %[2]T, want %v of type %[3]T", name, got, want)
		}
	}
}

// A package whose table this system does not have is refused in words, not
// imported without its names.
func TestOtherPlatforms(t *testing.T) {
	p := table.Packages["syscall"]
	delete(table.Packages, "syscall")
	t.Cleanup(func() {
		if p != nil { // there is one on linux/amd64 alone
			table.Packages["syscall"] = p
		}
	})
	all, err := symbols.NewTypes()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := all.Import("syscall"); err == nil || !strings.Contains(err.Error(), "linux/amd64 only") {
		t.Errorf("syscall: %v", err)
	}
	if _, err := all.Import("os"); err != nil { // which uses types of syscall
		t.Error(err)
	}
}
