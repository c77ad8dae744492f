package problem_test

import (
	"context"
	"errors"
	"os/exec"
	"strings"
	"testing"

	"dace.local/dacelib/problem"
)

// A program that fails within an objective is quoted: the error has the last
// lines of its standard error, and is still the program's.
func TestProgramsStandardError(t *testing.T) {
	objective := func() float64 {
		if _, err := exec.Command("/bin/sh", "-c", "seq 20 >&2; echo 'no licence for solver X' >&2; exit 3").Output(); err != nil {
			panic(err)
		}
		return 1
	}
	for name, p := range map[string]problem.Problem{
		"func":  problem.FromFunc("f", 3, func([]bool) float64 { return objective() }),
		"batch": problem.FromBatch("f", 3, func([]float64, problem.Solutions) { objective() }),
	} {
		_, err := problem.Value(context.Background(), p, make([]bool, 3))
		var exit *exec.ExitError
		if err == nil || !errors.As(err, &exit) || exit.ExitCode() != 3 {
			t.Fatalf("%s: %v", name, err)
		}
		for _, want := range []string{"exit status 3", "no licence for solver X", "\t20\n"} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %q is not in %q", name, want, err)
			}
		}
		if strings.Contains(err.Error(), "\t10\n") {
			t.Errorf("%s: all lines are quoted: %q", name, err)
		}
	}
}
