package main

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestSolveProblem solves an instance that a file of Go declares.
func TestSolveProblem(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	dir := t.TempDir()
	write(t, filepath.Join(dir, "mine.go"), `
import "strconv"
fmt.Println("declared", strconv.Itoa(2), "instances")
func ones(x []bool) (n float64) {
	for _, bit := range x {
		if bit {
			n++
		}
	}
	return n
}
instances := []problem.Problem{problem.FromFunc("a", 20, ones), problem.FromFunc("b", 24, func(x []bool) float64 { return -ones(x) })}
solver.Register(solver.FromFunc("down", smac.Space{}, func(s *solver.Search) error {
	x := make([]bool, s.Dim())
	for !s.Over() {
		s.BoolValue(x)
		x[s.Rand.IntN(len(x))] = true
	}
	return nil
}))
`)
	write(t, filepath.Join(dir, "none.go"), "instances := 3\n")
	write(t, filepath.Join(dir, "broken.go"), "instances := []problem.Problem{nope}\n")
	run := func(args ...string) (out, errs string, err error) {
		cmd := command(t, dir, args...)
		var o, e strings.Builder
		cmd.Stdout, cmd.Stderr = &o, &e
		err = cmd.Run()
		return o.String(), e.String(), err
	}
	out, errs, err := run("solve", "-problem", "mine.go", "-number", "1", "-evaluations", "2000", "-solvers", "ea,tabu", "-values", "b.txt")
	var s struct {
		Problem, X string
		Value      float64
	}
	if e := json.Unmarshal([]byte(out), &s); err != nil || e != nil || s.Problem != "b" || s.Value != 0 || s.X != strings.Repeat("0", 24) {
		t.Errorf("%v, %v\n%s\n%s", err, e, out, errs)
	}
	if !strings.Contains(errs, "declared 2 instances") {
		t.Errorf("the file's output is not on stderr: %s", errs)
	}
	// A solver that the file registers is one of those that run and are chosen from.
	for _, args := range [][]string{{"-evaluations", "30"}, {"-evaluations", "30", "-solvers", "ea, down"}} {
		out, errs, err := run(append([]string{"solve", "-problem", "mine.go", "-number", "1"}, args...)...)
		if err != nil || !strings.Contains(out, `"solver": "down",
      "value": 0,`) {
			t.Errorf("%v: %v\n%s\n%s", args, err, out, errs)
		}
	}
	out, errs, err = run("construct", "-problem", "mine.go", "-method", "greedy", "-solvers", "down", "-runs", "12", "-member-evaluations", "20", "-o", "out")
	if err != nil || strings.Count(out, "  down\n") != 4 {
		t.Errorf("%v\n%s\n%s", err, out, errs)
	}
	out, errs, err = run("test", "out", "-problem", "mine.go", "-repeats", "2", "-evaluations", "20")
	if err != nil || !strings.Contains(out, "mine.go, written  GREEDY") || !strings.Contains(out, "ils x 4") {
		t.Errorf("%v\n%s\n%s", err, out, errs)
	}
	for file, want := range map[string]string{
		"none.go":   "dace solve: none.go declares instances as a int; it must be a []problem.Problem",
		"broken.go": "dace solve: broken.go:1:32: ",
	} {
		_, errs, err := run("solve", "-problem", file)
		if _, failed := err.(*exec.ExitError); !failed || !strings.Contains(errs, want) {
			t.Errorf("%s: %v\n%s", file, err, errs)
		}
	}
}
