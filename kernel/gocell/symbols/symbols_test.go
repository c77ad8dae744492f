package symbols

import (
	"go/constant"
	"go/token"
	"go/types"
	"strings"
	"testing"

	"dace.local/kernel/gocell/symbols/table"
)

// TestConstants checks that the tables hold the untyped constants of all
// packages with the values that the checker has for them.
func TestConstants(t *testing.T) {
	all, err := NewTypes()
	if err != nil {
		t.Fatal(err)
	}
	compared := 0
	for _, path := range Paths() {
		p, err := all.Import(path)
		if err != nil {
			t.Fatal(err)
		}
		symbols, _ := Lookup(path)
		for _, name := range p.Scope().Names() {
			c, ok := p.Scope().Lookup(name).(*types.Const)
			if !ok || !c.Exported() || c.Type().Underlying().(*types.Basic).Info()&types.IsUntyped == 0 {
				continue
			}
			v, ok := symbols[name]
			if !ok {
				t.Errorf("%s.%s is missing", path, name)
				continue
			}
			got, ok := v.Interface().(constant.Value)
			if !ok {
				continue // a plain bool or rune
			}
			want := c.Val()
			if want.Kind() == constant.Float {
				got = constant.ToFloat(got)
			}
			equal := constant.Compare(got, token.EQL, want)
			if !equal && want.Kind() == constant.Float { // the table has 512 bits of a fraction
				a, _ := constant.Float64Val(got)
				b, _ := constant.Float64Val(want)
				equal = a == b
			}
			if !equal {
				t.Errorf("%s.%s is %s, want %s", path, name, got, want)
			}
			compared++
		}
	}
	if compared < 5000 {
		t.Errorf("%d constants only", compared)
	}
}

// A package whose table this system does not have is refused in words, not
// imported without its names.
func TestOtherPlatforms(t *testing.T) {
	p := table.Packages["syscall"]
	delete(table.Packages, "syscall")
	t.Cleanup(func() {
		if p.Name != "" { // there is one on linux/amd64 alone
			table.Packages["syscall"] = p
		}
	})
	all, err := NewTypes()
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
