package notebook

import (
	"fmt"
	"go/parser"
	"slices"
	"strings"
	"testing"
)

func TestParameterLiterals(t *testing.T) {
	const declared = "n := 1\nx := 0.5\nname := \"a\"\nvar title string\nwait := 2 * time.Second\nvar limit time.Duration = 0\nvar (\n\ta, b = 1, `q`\n)\nok := true"
	for _, c := range []struct{ param, want string }{
		{"n=5", "n = 5"},
		{"n=-5", "n = -5"},
		{"n=+5", "n = +5"},
		{"n=1_000", "n = 1_000"},
		{"n=0x10", "n = 0x10"},
		{"n=010", "n = 10"},
		{"n=-007", "n = -7"},
		{"n=000", "n = 0"},
		{"n=08.5", "n = 08.5"},
		{"x=1e-3", "x = 1e-3"},
		{"x=.5", "x = .5"},
		{"x= 2 ", "x = 2"},
		{"x=--2", `x = "--2"`},
		{"x=NaN", `x = "NaN"`},
		{"ok=false", "ok = false"},
		{"ok=False", `ok = "False"`},
		{"name=b", `name = "b"`},
		{"name=12", `name = "12"`},
		{"name=true", `name = "true"`},
		{"name=90s", `name = "90s"`},
		{"name=a=b", `name = "a=b"`},
		{"name=", `name = ""`},
		{`name="12"`, `name = "12"`},
		{"name=`a\\b`", "name = `a\\b`"},
		{`name=say "hi"`, `name = "say \"hi\""`},
		{`name="a" + "b"`, `name = "\"a\" + \"b\""`},
		{"name=é\n<&>", `name = "é\n<&>"`},
		{"title=1", `title = "1"`},
		{"b=1", `b = "1"`},
		{"a=1", `a = 1`},
		{"wait=90s", "wait = 90 * time.Second"},
		{"wait=1h30m", "wait = 90 * time.Minute"},
		{"wait=1.5ms", "wait = 1500 * time.Microsecond"},
		{"wait=0", "wait = time.Duration(0)"},
		{"wait=7ns", "wait = time.Duration(7)"},
		{"limit=-2h", "limit = -2 * time.Hour"},
		{"n=2m", "n = 2 * time.Minute"},
		{"n:=[]int{1, 2}", "n = []int{1, 2}"},
	} {
		p, err := ParseParameter(c.param)
		if err != nil {
			t.Errorf("%s: %v", c.param, err)
			continue
		}
		nb := cells("#parameters "+declared, "1")
		if undeclared, _ := nb.Inject([]Parameter{p}); undeclared != nil {
			t.Errorf("%s: undeclared %v", c.param, undeclared)
		}
		got := strings.TrimPrefix(nb.Cells[1].Source, "// Parameters\n")
		if got != c.want {
			t.Errorf("%s: %s, want %s", c.param, got, c.want)
		}
	}
	for _, c := range []struct{ param, want string }{
		{"n", "not of the form name=value"},
		{"=1", "not the name of a Go variable"},
		{"1n=1", "not the name of a Go variable"},
		{"func=1", "not the name of a Go variable"},
		{"_=1", "not the name of a Go variable"},
		{"a b=1", "not the name of a Go variable"},
		{"n:=1 +", "not a Go expression"},
	} {
		if _, err := ParseParameter(c.param); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.param, err, c.want)
		}
	}
}

func TestInject(t *testing.T) {
	params := []Parameter{{Name: "n", Value: "1"}, {Name: "m", Value: "2"}, {Name: "n", Value: "3"}}
	sources := func(nb *Notebook) string {
		var all []string
		for _, c := range nb.Cells {
			all = append(all, c.Source)
		}
		return strings.Join(all, "|")
	}
	for _, c := range []struct {
		name       string
		cells      []string
		want       string
		undeclared []string
	}{
		{"behind the tagged", []string{"0", "#parameters n, m := 0, 0", "1"}, "0|n, m := 0, 0|// Parameters\nm = 2\nn = 3|1", nil},
		{"first", []string{"0"}, "// Parameters\nm := 2\nn := 3|0", nil},
		{"replaced", []string{"0", "#injected-parameters old", "#parameters n := 0; var m int"}, "0|// Parameters\nm = 2\nn = 3|n := 0; var m int", nil},
		{"unknown", []string{"#parameters n := 0"}, "n := 0|// Parameters\nm = 2\nn = 3", []string{"m"}},
		{"with functions", []string{"#parameters var n, m int\n\nfunc f() {}"}, "var n, m int\n\nfunc f() {}|// Parameters\nm = 2\nn = 3", nil},
		{"not Go", []string{"#parameters n :="}, "n :=|// Parameters\nm = 2\nn = 3", nil},
	} {
		nb := cells(c.cells...)
		undeclared, _ := nb.Inject(params)
		if got := sources(nb); got != c.want || !slices.Equal(undeclared, c.undeclared) {
			t.Errorf("%s: %q, undeclared %v", c.name, got, undeclared)
		}
		once := written(t, nb)
		nb.Inject(params)
		if twice := written(t, nb); once != twice {
			t.Errorf("%s: the second injection differs:\n%s", c.name, twice)
		}
		ids := map[string]bool{}
		for _, cell := range nb.Cells {
			if ids[cell.ID] {
				t.Errorf("%s: id twice", c.name)
			}
			ids[cell.ID] = true
		}
	}
	if nb := cells("0"); len(nb.Cells) != 1 {
		t.Error("no parameters must inject nothing")
	}
}

func FuzzParameter(f *testing.F) {
	f.Add("n=1")
	f.Add("s=\"a\"b\xff`")
	f.Fuzz(func(t *testing.T, s string) {
		p, err := ParseParameter(s)
		if err != nil {
			return
		}
		for _, k := range []kind{unknown, text, duration} {
			if _, err := parser.ParseExpr(p.literal(k)); err != nil {
				t.Fatalf("%q as %d: %q is no expression: %v", s, k, p.literal(k), err)
			}
		}
	})
}

func ExampleParseParameter() {
	p, err := ParseParameter("wait=90s")
	fmt.Println(p.Name, p.literal(unknown), err)
	// Output: wait 90 * time.Second <nil>
}
