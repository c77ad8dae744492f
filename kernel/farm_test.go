package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"dace.local/kernel/internal/toolchain/native"
)

// travelling is a notebook whose problems are evaluated by a worker: one of a
// declared function, one of a literal that reads a variable, and one that cannot
// travel.
var travelling = cells(`
type weights map[string][]float64
var n = 3
var table = weights{"a": {1, 2.5}, "b": {0.125}}
func weight(i int) float64 { return float64(i%n) + table["a"][i%2] }
func objective(x []bool) (v float64) {
	for i, b := range x {
		if b {
			v += weight(i)
		}
	}
	return v
}`, `
pool := must(farm.Folder("farm"))
scale := 0.1
one := problem.FromFunc("one", 20, objective)
two := problem.FromBatch("two", 20, func(dst []float64, x problem.Solutions) {
	for i := range x.Len() {
		dst[i] = scale * float64(x.Row(i)[0]%7)
	}
})
three := problem.FromContext("three", 20, func(ctx context.Context, x []bool) (float64, error) {
	return scale * objective(x), ctx.Err()
})
far := []problem.Problem{farm.Problem(pool, one), farm.Problem(pool, problem.Named(two, "again")), farm.Problem(pool, three)}
words := make([]uint64, 50)
for i := range words {
	words[i] = uint64(i*i*7919) % (1 << 20)
}
x := problem.Solutions{D: 20, Words: words}
values := func(p problem.Problem) []float64 {
	v := make([]float64, x.Len())
	must(p.Evaluate(ctx, v, x))
	return v
}
near := [][]float64{values(one), values(two), values(three)}
scale = 77 // it travels as it was
for i, p := range far {
	fmt.Println(p.Name(), slices.Equal(values(p), near[i]))
}`, `
for until := time.Now().Add(2 * time.Minute); time.Now().Before(until); time.Sleep(10 * time.Millisecond) {
	if w := pool.Workers(); len(w) == 1 && len(w[0].Made) == 3 {
		break
	}
}
fmt.Println(pool.Workers()[0].Made)`, `
open := make(chan int)
bad := problem.FromFunc("bad", 20, func(x []bool) float64 { return float64(cap(open)) })
_, err := problem.Value(ctx, farm.Problem(pool, bad), make([]bool, 20))
fmt.Println(err)`)

// Problems that cells have made are evaluated by workers: from the plugin that
// the caller has built, as built by the worker, or interpreted.
func TestFunctionsTravel(t *testing.T) {
	without := "PATH=" + t.TempDir()
	why := (&native.Loader{Cache: t.TempDir()}).Ready()
	goCache, _ := exec.Command("go", "env", "GOCACHE").Output() // of packages that are compiled already
	for _, c := range []struct {
		name           string
		caller, worker string // an environment variable
		want           string
		builds         bool
	}{
		{"plugin", "", without, "map[one:plugin three:plugin two:plugin]", true},
		{"built there", without, "", "map[one:source built there three:source built there two:source built there]", true},
		{"interpreted", without, without, "map[one:interpreted (", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.builds && why != nil {
				t.Skip(why)
			}
			dir := t.TempDir()
			if err := os.Mkdir(filepath.Join(dir, "farm"), 0o700); err != nil {
				t.Fatal(err)
			}
			write(t, filepath.Join(dir, "travelling.ipynb"), travelling)
			start := func(name, env string, args ...string) (wait func() (string, error)) {
				cmd := command(t, dir, args...)
				var out strings.Builder
				cmd.Stdout, cmd.Stderr = &out, &out
				cmd.Env = append(cmd.Env, "XDG_CACHE_HOME="+filepath.Join(dir, name))
				if len(goCache) > 0 {
					cmd.Env = append(cmd.Env, "GOCACHE="+strings.TrimSpace(string(goCache)))
				}
				if env != "" {
					cmd.Env = append(cmd.Env, env)
				}
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
				return func() (string, error) { err := cmd.Wait(); return out.String(), err }
			}
			start("worker", c.worker, "worker", "-join", "farm", "-cores", "1")
			out, err := start("caller", c.caller, "run", "travelling.ipynb")()
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			said, err := os.ReadFile(filepath.Join(dir, "travelling.out.ipynb")) // the transcript cuts lines
			if err != nil {
				t.Fatal(err)
			}
			for _, want := range []string{"one true", "again true", "three true", c.want, "farm: the instance bad cannot travel", "In[4], line 3: it reads the variable open"} {
				if !strings.Contains(string(said), want) {
					t.Errorf("the notebook does not say %q:\n%s", want, out)
				}
			}
		})
	}
}
