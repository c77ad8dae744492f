package main

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A second call goes on with what the first has measured, and the table shows
// every method of the file.
func TestCommand(t *testing.T) {
	file := filepath.Join(t.TempDir(), "ccp.jsonl")
	args := []string{"-o", file, "-evaluations", "30000", "-training", "2", "-seeds", "2", "-unseen", "1", "-repeats", "1", "-methods"}
	run := func(methods string) string {
		t.Helper()
		var out bytes.Buffer
		if err := command(t.Context(), append(args, methods), &out); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	if out := run("one"); strings.Count(out, "\n") != 2 {
		t.Errorf("two constructions are wanted:\n%s", out)
	}
	if out := run("one,ceps"); strings.Count(out, "CEPS") != 2 || strings.Contains(out, "ONE") {
		t.Errorf("CEPS alone is missing:\n%s", out)
	}
	var out bytes.Buffer
	if err := command(t.Context(), []string{"-o", file, "-print"}, &out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"CCP, 2 training instances, 30000 evaluations a construction", "| 30 | ONE | 2 |", "| 40 | CEPS | 2 |"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the table has no %q:\n%s", want, out.String())
		}
	}
}

// BEST and DACE at the paper's scale are independent samples: of the 35
// arrangements of four and three values two are as extreme as this one.
func TestTenth(t *testing.T) {
	var rows []row
	add := func(method, axis string, budget int, means ...float64) {
		for i, mean := range means {
			rows = append(rows, row{cell: cell{Class: "ccp", Axis: axis, Budget: budget, Training: 5, Seed: uint64(i + 1), Method: method}, Means: map[int]float64{40: mean}})
		}
	}
	add("DACE", "scale", 0, 1.01, 1.02, 1.03)
	add("BEST", "evaluations", 500_000, 1.035, 1.045, 1.039, 1.041)
	var out bytes.Buffer
	if err := tenth(&out, rows); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "| 40 | 1.0200 | 3 | 1.0400 | 4 | 500000 |") || !strings.Contains(out.String(), "p = 0.0571") || !strings.Contains(out.String(), "| 3 of 3 |") {
		t.Error(out.String())
	}
	// Equal variances of 1 and three values each: 4 degrees of freedom, for which
	// t at 0.975 is 2.7764.
	difference, half := welch([]float64{1, 2, 3}, []float64{4, 5, 6})
	if want := 2.7764 * math.Sqrt(2.0/3); difference != -3 || math.Abs(half-want) > 1e-3 {
		t.Errorf("%v, %v; %v is wanted", difference, half, want)
	}
	// Two degrees of freedom: 4.3027.
	difference, half = welch([]float64{1, 2, 3}, []float64{4})
	if want := 4.3027 * math.Sqrt(4.0/3); difference != -2 || math.Abs(half-want) > 1e-3 {
		t.Errorf("%v, %v; %v is wanted", difference, half, want)
	}
}

func TestBadInput(t *testing.T) {
	file := filepath.Join(t.TempDir(), "torn.jsonl")
	if err := os.WriteFile(file, []byte("{\"class\":\"ccp\"}\n{\"cla"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{nil, "no budget"},
		{[]string{"-runs", "ten"}, "not a list of numbers"},
		{[]string{"-runs", "10", "-methods", "luck"}, `no method "luck"`},
		{[]string{"-paper", "-methods", "dace,ceps"}, "not for CEPS"},
		{[]string{"-tested", "../ccp-ceps-paper"}, "by CEPS on ccp"},
		{[]string{"-tested", "../cimp-dace-paper"}, "by DACE on cimp"},
		{[]string{"-tested", "nowhere"}, "nowhere"},
		{[]string{"-o", file, "-print"}, "outcome 2"},
	} {
		args := c.args
		if len(args) == 0 || args[0] != "-o" {
			args = append([]string{"-o", filepath.Join(t.TempDir(), "none")}, args...)
		}
		if err := command(t.Context(), args, &bytes.Buffer{}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v, want %q", c.args, err, c.want)
		}
	}
}
