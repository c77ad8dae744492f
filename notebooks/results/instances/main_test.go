package main

import (
	"bytes"
	"math"
	"path/filepath"
	"strings"
	"testing"
)

// The second call measures nothing again, and the table has a row for each set.
func TestCommand(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	dir := t.TempDir()
	run := func(more ...string) string {
		t.Helper()
		var out bytes.Buffer
		if err := command(t.Context(), append([]string{"-dir", dir, "-classes", "ccp", "-seeds", "1"}, more...), &out); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	few := []string{"-from", "test,training,CEPS", "-scale", "quick", "-solutions", "500", "-unseen", "3", "-keep", filepath.Join(dir, "keep")}
	if out := run(few...); !strings.Contains(out, "15 instances, CEPS") || !strings.Contains(out, "6 instances, test") {
		t.Errorf("15 instances of CEPS and 6 for the test are wanted:\n%s", out)
	}
	if out := run(few...); out != "" {
		t.Errorf("the second call measures again:\n%s", out)
	}
	table := run("-print")
	for _, want := range []string{"\n| CCP | test | 3 |", "\n|  | training | 5 |", "|  | CEPS | 15 |"} {
		if !strings.Contains(table, want) {
			t.Errorf("the table has no %q:\n%s", want, table)
		}
	}
}

// NoReg's ten instances are far away, and DACE's near to the test instances.
func TestTables(t *testing.T) {
	at := func(from string, shift float64) row {
		r := row{cell: cell{"ccp", from, 1}}
		for i := range 10 {
			r.Instances = append(r.Instances, instance{Dim: 30, Features: []float64{float64(i) + shift}})
		}
		return r
	}
	var out bytes.Buffer
	if err := tables(&out, []row{at("test", 0), at("DACE", 0.01), at("NoReg", 100)}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"| CCP | test | 10 | 1.000 | 1.000 |  |  |", "|  | DACE | 10 | 0.010 | 0.010 | **< 0.001** | nearer |",
		"|  | NoReg | 10 | 95.500 | 95.500 | **< 0.001** | further |", "|  | NoReg against DACE | 10 |"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
	if err := tables(&out, []row{at("DACE", 0)}); err == nil {
		t.Error("distances without test instances")
	}
}

// A test instance's distance is to another one; those of other dimensions do not count.
func TestGroups(t *testing.T) {
	at := func(dim int, x ...float64) (all []instance) {
		for _, v := range x {
			all = append(all, instance{Dim: dim, Features: []float64{v}})
		}
		return all
	}
	g := groups([]row{
		{cell{"ccp", "test", 1}, append(at(30, 0, 1, 5), at(40, 7, 9)...)},
		{cell{"ccp", "DACE", 1}, at(30, 0.25, 7)},
		{cell{"ccp", "DACE", 2}, at(30, 5)},
	}, 30)
	for _, c := range []struct {
		from string
		want []float64
	}{{"test", []float64{1, 1, 4}}, {"DACE", []float64{0.25, 2, 0}}} {
		for i, d := range g[c.from].distances {
			if math.Abs(d-c.want[i]) > 1e-12 {
				t.Errorf("%s: %v, want %v", c.from, g[c.from].distances, c.want)
			}
		}
	}
	if m := g["DACE"].medians; len(m) != 2 || m[1] != 0 {
		t.Errorf("the medians of two constructions are %v", m)
	}
}
