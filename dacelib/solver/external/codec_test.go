package external

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"dace.local/dacelib/farm"
	"dace.local/dacelib/files"
	"dace.local/dacelib/problem"
	"dace.local/dacelib/problem/onemax"
	"dace.local/dacelib/solver"
)

// TestTravel runs a program on a worker that has neither its file nor that of the
// instance.
func TestTravel(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a shell's program")
	}
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := files.WriteProgram(path, []byte(text)); err != nil {
			t.Fatal(err)
		}
		return path
	}
	write("run.sh", "#!/bin/sh\nread x < $4\necho $((x + $6 + $3 % 2))\n")
	file := write("instance.txt", "40\n")
	p, err := ParseIrace(`a "-a " i (1, 9)`)
	if err != nil {
		t.Fatal(err)
	}
	s, err := Runner{Args: []string{"./run.sh"}, Dir: dir, Params: p}.Solver("travels")
	if err != nil {
		t.Fatal(err)
	}
	solver.Register(s)
	if err := solver.Stays("travels"); err != nil {
		t.Fatal(err)
	}
	c, err := solver.Parse("travels{a: 7}")
	if err != nil {
		t.Fatal(err)
	}
	var here [2]float64
	instances := []problem.Problem{Instance(file), InstanceOf(onemax.Random(1, 20), file)}
	for seed := range here {
		r, err := solver.Run(t.Context(), solver.Job{Problem: instances[0], Config: c, Seed: uint64(seed)})
		if err != nil {
			t.Fatal(err)
		}
		here[seed] = r.Value
	}
	if here[0] > -47 || here[0] < -48 {
		t.Errorf("%v", here)
	}
	pool := farm.Local(1)
	pk := farm.NewPacker(t.Context(), pool)
	problems, err := pk.Problems(instances)
	if err != nil {
		t.Fatal(err)
	}
	solvers, err := solver.Pack(pk, []string{"travels", "ea", "travels"})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	env := farm.NewEnv(1, pool.Get, pool.Put)
	ctx, err := solver.Unpack(t.Context(), env, solvers)
	if err != nil {
		t.Fatal(err)
	}
	there, err := env.Problems(ctx, problems)
	if err != nil {
		t.Fatal(err)
	}
	for seed := range here {
		for _, p := range there {
			r, err := solver.RunAll(ctx, []solver.Job{{Problem: p, Config: c, Seed: uint64(seed)}}, 1)
			if err != nil || r[0].Value != here[seed] {
				t.Errorf("%v, %v; want %v", r, err, here[seed])
			}
		}
	}
	if there[1].Dim() != 20 {
		t.Error(there[1].Dim())
	}
}
