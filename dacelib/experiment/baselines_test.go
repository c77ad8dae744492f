package experiment_test

import (
	"context"
	"math"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"dace.local/dacelib/experiment"
	"dace.local/dacelib/portfolio"
	"dace.local/dacelib/problem"
	"dace.local/dacelib/run"
	"dace.local/dacelib/solver"
)

// TestBaselines has baselines in a test without asking for them, by name and with the
// right members, and compares the first method with each.
func TestBaselines(t *testing.T) {
	single, err := solver.Parse("ea{mu: 2}")
	if err != nil {
		t.Fatal(err)
	}
	p := portfolio.Portfolio{Name: "mine", Members: slices.Repeat([]solver.Config{single}, 2), Single: &single}
	p.Members[1], _ = solver.Parse("tabu")
	ps := set(t)
	ps.Test = ps.Test[:5]
	s := quick
	s.Baselines = experiment.BaselinesIfCheap
	s.File = filepath.Join(t.TempDir(), "records.jsonl")
	records, err := experiment.Test(t.Context(), ps, []experiment.Entry{{Portfolio: p}}, s)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]string{}
	for _, r := range records {
		if r.Baseline != (r.Method != "mine") {
			t.Errorf("%s is a baseline: %v", r.Method, r.Baseline)
		}
		seen[r.Method] = r.Portfolio
	}
	for name, members := range map[string]string{
		"mine: single x 2": "ea{mu: 2}\n  ea{mu: 2}", "ea x 2": "ea\n  ea", "linkage x 2": "linkage\n  linkage", "brkga x 2": "brkga\n  brkga",
	} {
		if seen[name] != members {
			t.Errorf("%s has %q, want %q", name, seen[name], members)
		}
	}
	if seen["smartest x 2"] != "" || seen["BRKGA-PAP"] != "" {
		t.Error("a slow solver, or a portfolio of another size, is a baseline")
	}
	table, err := experiment.Tabulate(records, "")
	if err != nil || !slices.Equal(table.Methods, []string{"mine"}) || len(table.Rows[0].Cells) != 1 {
		t.Fatalf("%v, %v", table, err)
	}
	dim := table.Rows[0].Dim
	byInstance := map[string]float64{}
	for _, r := range records {
		if r.Dim == dim {
			if _, ok := byInstance[r.Instance]; !ok {
				byInstance[r.Instance] = math.Inf(-1)
			}
			byInstance[r.Instance] = max(byInstance[r.Instance], r.Mean)
		}
	}
	virtual := 0.0
	for _, v := range byInstance {
		virtual += v / float64(len(byInstance))
	}
	found := false
	for i, b := range table.Baselines {
		if b.Dim == dim && b.Method == experiment.Virtual {
			found = true
			if math.Abs(b.Mean-virtual) > 1e-12 || b.Ahead != 0 || b.P != 1 || i > 0 {
				t.Errorf("%+v; its mean should be %v", b, virtual)
			}
		}
	}
	if text := table.String(); !found || !strings.Contains(text, "virtual best") || !strings.Contains(table.Markdown(), "| ea x 2 | ") {
		t.Error(text)
	}
	// They are read from the file as baselines again.
	again, err := experiment.Test(t.Context(), ps, []experiment.Entry{{Portfolio: p}}, s)
	if err != nil || !reflect.DeepEqual(again, records) {
		t.Errorf("%v: other records from the file", err)
	}
}

// TestBaselineRows compares p values with Holm's correction by hand: of a baseline
// below on all six instances (two-sided signed-rank test: 2/64) and of one that is
// equal on all (1).
func TestBaselineRows(t *testing.T) {
	var records []experiment.Record
	for i := range 6 {
		for _, m := range []struct {
			name string
			v    float64
		}{{"first", 1}, {"equal", 1}, {"below", 1 - 0.1*float64(i+1)}} {
			records = append(records, experiment.Record{Instance: string(rune('a' + i)), Dim: 10, Method: m.name, Baseline: m.name != "first", Mean: m.v + float64(i), Values: []float64{m.v + float64(i)}})
		}
	}
	rows := experiment.BaselineRows(records, "")
	want := []experiment.BaselineRow{
		{Dim: 10, Method: "equal", Mean: 3.5, First: 3.5, Instances: 6, P: 1},
		{Dim: 10, Method: experiment.Virtual, Mean: 3.5, First: 3.5, Instances: 6, P: 1},
		{Dim: 10, Method: "below", Mean: 3.15, First: 3.5, Ahead: 6, Instances: 6, P: 2 * 2 / 64.0},
	}
	if len(rows) != 3 {
		t.Fatalf("%+v", rows)
	}
	for i, w := range want {
		r := rows[i]
		if r.Method != w.Method || r.Ahead != w.Ahead || math.Abs(r.P-w.P) > 1e-12 || math.Abs(r.Mean-w.Mean) > 1e-12 {
			t.Errorf("%+v, want %+v", r, w)
		}
	}
}

// TestNoBaselines leaves baselines out of the paper's protocols, on farms and where
// evaluations are costly, unless they are asked for.
func TestNoBaselines(t *testing.T) {
	p := []experiment.Entry{{Portfolio: portfolio.Portfolio{Name: "ea", Members: []solver.Config{mustConfig(t, "ea")}}}}
	cheap := problem.FromFunc("cheap", 8, func(x []bool) float64 { return float64(len(x)) * map[bool]float64{true: 1}[x[0]] })
	costly := problem.Noisy(cheap, problem.Noise{Repeats: 2})
	for i, c := range []struct {
		p    problem.Problem
		s    experiment.Settings
		want bool
	}{
		{cheap, experiment.Settings{}, true},
		{cheap, experiment.Settings{Reading: run.Published}, false},
		{cheap, experiment.Settings{Seeds: portfolio.SharedSeed}, false},
		{costly, experiment.Settings{}, false},
		{costly, experiment.Settings{Baselines: experiment.WithBaselines}, true},
		{cheap, experiment.Settings{Baselines: experiment.NoBaselines}, false},
	} {
		c.s.Sample, c.s.Evaluations, c.s.Repeats = 20, 5, 1
		records, err := experiment.Test(context.Background(), problem.Set{Class: "c", Test: []problem.Problem{c.p}}, p, c.s)
		if err != nil || (len(records) > 1) != c.want {
			t.Errorf("%d: %d records, %v", i, len(records), err)
		}
	}
}

func mustConfig(t *testing.T, text string) solver.Config {
	t.Helper()
	c, err := solver.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return c
}
