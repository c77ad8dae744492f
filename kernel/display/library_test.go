package display_test

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"dace.local/dacelib/brkga"
	"dace.local/dacelib/nir"
	"dace.local/dacelib/portfolio"
	"dace.local/dacelib/problem"
	"dace.local/dacelib/problem/onemax"
	"dace.local/dacelib/run"
	"dace.local/dacelib/smac"
	"dace.local/kernel/buildinfo"
	"dace.local/kernel/display"
	"dace.local/kernel/gocell/symbols"
	_ "dace.local/kernel/gocell/symbols/dace"
)

// filler fills values with as much data as a long run produces.
type filler struct{ n int }

func (f *filler) fill(v reflect.Value, depth int) {
	if !v.CanSet() || depth > 4 { // as deep as a type that holds itself is filled
		return
	}
	f.n++
	length := []int{200, 40, 6, 2}[min(depth, 3)]
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(f.n%3 == 0)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(int64(f.n % 3))
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(uint64(f.n % 100))
	case reflect.Float32, reflect.Float64:
		v.SetFloat(float64(f.n) / 7)
	case reflect.String:
		v.SetString(fmt.Sprintf("a name of some length, number %d", f.n))
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), length, length))
		for i := range length {
			f.fill(v.Index(i), depth+1)
		}
	case reflect.Array:
		for i := range v.Len() {
			f.fill(v.Index(i), depth+1)
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for range length {
			k, e := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			f.fill(k, depth+1)
			f.fill(e, depth+1)
			v.SetMapIndex(k, e)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			f.fill(v.Field(i), depth)
		}
	case reflect.Pointer:
		if depth < 2 {
			v.Set(reflect.New(v.Type().Elem()))
			f.fill(v.Elem(), depth+1)
		}
	case reflect.Interface:
		if p := reflect.ValueOf(onemax.Random(uint64(f.n), 30)); p.Type().Implements(v.Type()) { // an interface of problems
			v.Set(p)
		}
	}
}

// lines checks the bundle that shows a value, and returns its text.
func lines(t *testing.T, name string, v any) string {
	t.Helper()
	b := display.Value(v)
	text, _ := b.Data["text/plain"].(string)
	if n := strings.Count(text, "\n") + 1; n > 20 || text == "" {
		t.Errorf("%s: %d lines\n%s", name, n, text)
	}
	for l := range strings.Lines(text) {
		if n := utf8.RuneCountInString(l); n > 161 {
			t.Errorf("%s: a line of %d characters: %s", name, n, l)
		}
	}
	if page, _ := b.Data["text/html"].(string); len(page) > 100_000 {
		t.Errorf("%s: %d bytes of HTML", name, len(page))
	}
	return text
}

// TestLibraryTypes checks that a value of every exported type of the library is
// shown in at most 20 lines, both empty and full.
func TestLibraryTypes(t *testing.T) {
	found := 0
	for _, path := range symbols.Paths() {
		if !strings.HasPrefix(path, buildinfo.Path("dacelib/")) {
			continue
		}
		table, _ := symbols.Lookup(path, nil)
		for name, s := range table {
			if s.Kind() != reflect.Pointer || !s.IsNil() || strings.HasPrefix(name, "_") || s.Type().Elem().Kind() == reflect.Interface {
				continue
			}
			found++
			typ := s.Type().Elem()
			name = typ.String()
			zero, full := reflect.New(typ), reflect.New(typ)
			(&filler{}).fill(full.Elem(), 0)
			lines(t, name+", empty", zero.Elem().Interface())
			lines(t, "*"+name+", empty", zero.Interface())
			if text := lines(t, name, full.Elem().Interface()); testing.Verbose() {
				fmt.Println(text)
			}
			lines(t, "*"+name, full.Interface())
			several := reflect.Append(reflect.MakeSlice(reflect.SliceOf(typ), 0, 1), full.Elem()).Interface()
			if _, err := display.Rows(several); err == nil {
				lines(t, "[]"+name, several)
			}
		}
	}
	if found < 90 {
		t.Errorf("%d types: the library has more", found)
	}
}

// TestLibraryValues checks that results, settings and models show their most
// important facts.
func TestLibraryValues(t *testing.T) {
	ctx := context.Background()
	p := onemax.Random(1, 40)
	r, err := brkga.Run(ctx, p, brkga.Settings{Config: brkga.Config{Elites: 5, Offspring: 30, Mutants: 2, Bias: 0.7}, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	m, err := nir.Train(ctx, []problem.Problem{p}, nir.Settings{Samples: 200, Batch: 8, Steps: 10, ValidateEvery: 2})
	if err != nil {
		t.Fatal(err)
	}
	display.SetFieldDocs(symbols.Doc)
	defer display.SetFieldDocs(nil)
	for name, c := range map[string]struct {
		v    any
		want []string
	}{
		"result":    {r, []string{fmt.Sprintf("Value        %g\n", r.Value), "X            ", "40 bits", "Evaluations  800\n", "Status       budget spent\n", " → "}},
		"settings":  {nir.Settings{Steps: 500, OnEvent: func(run.Event) {}}, []string{"Steps    500\n", "default:"}},
		"nothing":   {nir.Settings{}, []string{"nir.Settings: all default\n"}},
		"model":     {m, []string{"Dim", "40", "Names", "Status", "budget spent", "Losses"}},
		"portfolio": {portfolio.BRKGAPAP(), []string{"[20, 70, 10, 0.70, F]"}},
		"instance":  {p, []string{`Name`, "Dim", "40", "Optimum", "40"}},
		"set":       {problem.Set{Class: "OneMax", Training: []problem.Problem{p, p}}, []string{"Training", "2: onemax-40/1, onemax-40/1"}},
		"space":     {smac.Settings{Trials: 100}, []string{"Trials  100"}},
		"reading":   {run.Published, []string{"published"}},
	} {
		text := lines(t, name, c.v)
		for _, w := range c.want {
			if !strings.Contains(text+"\n", w) {
				t.Errorf("%s: no %q in\n%s", name, w, text)
			}
		}
	}
	if page := fmt.Sprint(display.Value(portfolio.BRKGA("x", []brkga.Config{{Elites: 20}})).Data["text/html"]); !strings.Contains(page, "brkga{elites: 20, ") {
		t.Errorf("a portfolio does not show its members: %s", page)
	}
}
