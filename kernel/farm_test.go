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
	if testing.Short() {
		t.Skip("takes seconds")
	}
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

// ownSolver declares a solver of cells: a function that uses a type of a cell and
// reads a variable.
const ownSolver = `
type climber struct {
	s     *solver.Search
	x     []bool
	value float64
}
var floor = -1e9
func (c *climber) try(flips int) {
	var changed []int
	for range flips {
		i := c.s.Rand.IntN(len(c.x))
		c.x[i] = !c.x[i]
		changed = append(changed, i)
	}
	if v := c.s.BoolValue(c.x); v >= c.value {
		c.value = v
		return
	}
	for _, i := range changed {
		c.x[i] = !c.x[i]
	}
}
space := smac.Space{Params: []smac.Param{{Name: "flips", Kind: smac.Int, Lo: 1, Hi: 5, Default: 1}}}
own := solver.FromFunc("climb", space, func(s *solver.Search) error {
	for !s.Over() {
		c := &climber{s: s, x: make([]bool, s.Dim()), value: floor}
		for range 30 * s.Dim() {
			c.try(s.Int("flips"))
		}
	}
	return nil
})
training := []problem.Problem{}
for i := range 2 {
	training = append(training, problem.FromFunc(fmt.Sprint("ones but ", i), 16, func(x []bool) (v float64) {
		for k, b := range x {
			if b != (k == 3) {
				v++
			}
		}
		return v
	}))
}
settings := construct.Settings{Members: 2, Evaluations: 60, Solvers: []solver.Solver{own}, Budget: construct.Budget{Runs: 120}}
`

// TestSolverTravels builds portfolios of a solver of cells, in the kernel and on a
// farm, with the same result; one that was ended goes on in another kernel.
func TestSolverTravels(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "farm"), 0o700); err != nil {
		t.Fatal(err)
	}
	start := func(args ...string) (wait func() (string, error)) {
		cmd := command(t, dir, args...)
		var out strings.Builder
		cmd.Stdout, cmd.Stderr = &out, &out
		cmd.Env = append(cmd.Env, "PATH="+t.TempDir(), "XDG_CACHE_HOME="+t.TempDir())
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
		return func() (string, error) { err := cmd.Wait(); return out.String(), err }
	}
	run := func(name string, text ...string) string {
		t.Helper()
		write(t, filepath.Join(dir, name+".ipynb"), cells(text...))
		out, err := start("run", name+".ipynb")()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return out
	}
	start("worker", "-join", "farm", "-cores", "1")
	out := run("ended", ownSolver, `
short, end := context.WithCancel(ctx)
settings.Dir = "record"
settings.OnRound = func(construct.Result) { end() }
r, err := construct.Best(short, training, settings)
fmt.Println("ended:", err, r.Cost.Runs < 60, len(r.Portfolio.Members))`)
	if !strings.Contains(out, "ended: context canceled true 2") {
		t.Error(out)
	}
	out = run("again", ownSolver, `
near := must(construct.Best(ctx, training, settings))
settings.Dir, settings.Farm = "record", must(farm.Folder("farm"))
far := must(construct.Best(ctx, training, settings))
fmt.Println("the same:", near.Portfolio.String() == far.Portfolio.String(), near.Cost.Runs == far.Cost.Runs)
tested := must(far.Portfolio.Run(ctx, training, portfolio.Settings{Evaluations: 60, Repeats: 4, Farm: settings.Farm}))
again := must(far.Portfolio.Run(ctx, training, portfolio.Settings{Evaluations: 60, Repeats: 4}))
fmt.Println("tested:", fmt.Sprint(tested) == fmt.Sprint(again))
floor = 3
_, err := construct.Best(ctx, training, settings)
fmt.Println("changed:", err)`)
	for _, want := range []string{"the same: true true", "tested: true", "own[0]: climb "} {
		if !strings.Contains(out, want) {
			t.Errorf("the notebook does not say %q:\n%s", want, out)
		}
	}
	run("stays", ownSolver, `
secret := make(chan int)
bad := solver.FromFunc("bad", space, func(s *solver.Search) error { s.BoolValue(make([]bool, s.Dim()+cap(secret))); return nil })
settings.Solvers, settings.Farm = []solver.Solver{bad}, must(farm.Folder("farm"))
_, err := construct.Best(ctx, training, settings)
fmt.Println(err)`)
	said, err := os.ReadFile(filepath.Join(dir, "stays.out.ipynb")) // the transcript cuts lines
	if err != nil || !strings.Contains(string(said), "bad cannot travel to a farm") || !strings.Contains(string(said), "it reads the variable secret") {
		t.Errorf("%v, %s", err, said)
	}
}
