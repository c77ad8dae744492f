package farm_test

import (
	"os"
	"path/filepath"
	"testing"

	"dace.local/dacelib/farm"
	"dace.local/dacelib/files"
	"dace.local/dacelib/problem"
)

// A command travels with the files that its arguments name, and leaves none
// behind.
func TestCommandTravels(t *testing.T) {
	dir, temporary := t.TempDir(), t.TempDir()
	t.Setenv("TMPDIR", temporary)
	write := func(name, text string) {
		if err := files.WriteProgram(filepath.Join(dir, name), []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	write("ones.sh", "while read x; do ones=$(printf %s \"$x\" | tr -d 0); echo $(( ${#ones} * $(cat \"$1\") )); done\n")
	write("weight.txt", "7\n")
	p := problem.Program{Args: []string{"sh", "ones.sh", "weight.txt"}, Dir: dir}.Problem("weighted", 5)
	t.Cleanup(func() { problem.Release(p) })
	x := problem.Pack([]bool{true, true, false, true, false}, make([]bool, 5))
	pool := farm.Local(2)
	pk := farm.NewPacker(t.Context(), pool)
	key, err := pk.Problems([]problem.Problem{p, problem.Named(p, "again")})
	if err != nil {
		t.Fatal(err)
	}
	for _, here := range []bool{true, false} {
		if !here {
			if err := os.RemoveAll(dir); err != nil {
				t.Fatal(err)
			}
		}
		env := farm.NewEnv(2, pool.Get, pool.Put)
		for i, name := range []string{"weighted", "again"} {
			q, err := env.Instance(t.Context(), key, i)
			if err != nil {
				t.Fatal(err)
			}
			v := make([]float64, 2)
			if err := q.Evaluate(t.Context(), v, x); err != nil || v[0] != 21 || v[1] != 0 || q.Name() != name {
				t.Errorf("files here: %v: %s has %v, %v", here, q.Name(), v, err)
			}
		}
	}
	if left, _ := filepath.Glob(filepath.Join(temporary, "*")); len(left) > 0 {
		t.Errorf("%v are left", left)
	}
	if !farm.Expensive(p) {
		t.Error("a command does not pay off on a farm")
	}
}
