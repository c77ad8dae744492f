package natsfarm_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"dace.local/dacelib/brkga"
	"dace.local/dacelib/construct"
	"dace.local/dacelib/experiment"
	"dace.local/dacelib/farm"
	"dace.local/dacelib/landscape"
	"dace.local/dacelib/nir"
	"dace.local/dacelib/pgpe"
	"dace.local/dacelib/portfolio"
	"dace.local/dacelib/problem"
	"dace.local/dacelib/problem/caop"
	"dace.local/dacelib/problem/ccp"
	"dace.local/dacelib/run"
	"dace.local/dacelib/smac"
	"dace.local/dacelib/smartest"
)

// results has every construction and a test made with a pool and returns their
// results as text.
func results(t testing.TB, pool farm.Pool) map[string]string {
	t.Helper()
	ctx := context.Background()
	out := map[string]string{}
	set, err := ccp.Class().NewSet(1, 3, 2)
	if err != nil {
		t.Fatal(err)
	}
	for _, method := range construct.Methods() {
		for _, reading := range []run.Reading{run.Written, run.Published} {
			if reading == run.Published && method != "DACE" && method != "PARHYDRA" {
				continue
			}
			s := construct.Settings{
				Members: 2, Rounds: 2, Configurations: 6, Minings: 3, Trials: 12, Evaluations: 60,
				NIR:  nir.Settings{EmbeddingSize: 8, Samples: 400, Batch: 8, Steps: 20, NormaliseSample: 5000},
				PGPE: pgpe.Settings{Pairs: 2, MaxIterations: 2},
				Seed: 3,
			}
			s.Reading, s.Farm = reading, pool
			if reading == run.Published {
				s.NIR.Steps, s.NIR.KeepFrom = 20, 1
			}
			r, err := construct.Build(ctx, method, ccp.Class(), set.Training, s)
			if err != nil {
				t.Fatalf("%s: %v", method, err)
			}
			r.Cost.Seconds, r.Cost.CPU = 0, 0
			out[fmt.Sprint(method, " ", reading)] = text(t, r)
		}
	}
	weak, err := portfolio.Paper("ccp", "GLOBAL")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "records")
	records, err := experiment.Test(ctx, set, experiment.Entries([]portfolio.Portfolio{portfolio.BRKGAPAP(), weak}),
		experiment.Settings{Sample: 25_000, Evaluations: 300, Repeats: 5, Farm: pool, File: file})
	if err != nil {
		t.Fatal(err)
	}
	out["test"] = text(t, records)
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	out["records"] = string(b)
	found, err := portfolio.BRKGAPAP().Run(ctx, set.Test, portfolio.Settings{Repeats: 3, Farm: pool})
	if err != nil {
		t.Fatal(err)
	}
	out["portfolio"] = text(t, found)
	var p problem.Problem = set.Test[0]
	if pool != nil {
		p = farm.Problem(pool, p)
	}
	y := make([]float64, 300)
	if err := p.Evaluate(ctx, y, problem.Random(run.Rand(1, "x"), 300, p.Dim())); err != nil {
		t.Fatal(err)
	}
	out["evaluate"] = text(t, y)
	features, err := landscape.Extract(ctx, set.Test, landscape.Settings{Solutions: 2000, Pairs: 20_000, Farm: pool})
	if err != nil {
		t.Fatal(err)
	}
	out["landscape"] = text(t, features)
	maps.Copy(out, searches(t, pool, set.Test[0]))
	return out
}

// searches is results for those packages that search for anybody.
func searches(t testing.TB, pool farm.Pool, p problem.Problem) map[string]string {
	t.Helper()
	ctx := context.Background()
	out := map[string]string{}
	best, err := smartest.Run(ctx, p, smartest.Settings{Evaluations: 200, Trees: 10, Farm: pool})
	if err != nil {
		t.Fatal(err)
	}
	out["SMARTEST"] = text(t, best)
	space := smac.Space{Params: []smac.Param{
		{Name: "elites", Kind: smac.Int, Lo: 1, Hi: 10, Default: 5},
		{Name: "bias", Kind: smac.Float, Lo: 0.5, Hi: 0.9, Default: 0.7},
	}}
	tuned, err := smac.Run(ctx, func(ctx context.Context, config []float64) (float64, error) {
		c := brkga.Config{Elites: int(config[0]), Offspring: 20, Mutants: 2, Bias: config[1]}
		found, err := portfolio.BRKGA("one", []brkga.Config{c}).Run(ctx, []problem.Problem{p}, portfolio.Settings{Evaluations: 100, Repeats: 2, Farm: pool})
		if err != nil {
			return 0, err
		}
		return -found[0].Mean, nil
	}, smac.Settings{Space: space, Trials: 20, Farm: pool})
	if err != nil {
		t.Fatal(err)
	}
	out["SMAC"] = text(t, tuned)
	if _, err := exec.LookPath("gcc"); err != nil {
		return out
	}
	gcc, err := caop.NewCompiler(ctx, caop.CompilerSettings{NoMemo: true, Farm: pool})
	if err != nil {
		t.Fatal(err)
	}
	programs := caop.Programs()
	instance, err := caop.Generate(1, caop.Settings{Dim: 20, Programs: programs[:1], Compiler: gcc})
	if err != nil {
		t.Fatal(err)
	}
	y := make([]float64, 6)
	if err := instance.Evaluate(ctx, y, problem.Random(run.Rand(1, "x"), len(y), 20)); err != nil {
		t.Fatal(err)
	}
	out["caop"] = text(t, y)
	return out
}

func text(t testing.TB, v any) string {
	b, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func compare(t testing.TB, name string, got, want map[string]string) {
	t.Helper()
	for k, w := range want {
		if got[k] != w {
			a, b := bytes.Split([]byte(got[k]), []byte("\n")), bytes.Split([]byte(w), []byte("\n"))
			for i := range min(len(a), len(b)) {
				if !bytes.Equal(a[i], b[i]) {
					t.Errorf("%s: %s differs in line %d: %s, want %s", name, k, i+1, a[i], b[i])
					break
				}
			}
			if len(a) != len(b) {
				t.Errorf("%s: %s has %d lines, want %d", name, k, len(a), len(b))
			}
		}
	}
}

// Every method and test gives the same bytes without a farm, on goroutines, with
// 4 worker processes of a server, and with two of a folder.
func TestSameBytes(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	want := results(t, nil)
	compare(t, "local", results(t, farm.Local(4)), want)
	compare(t, "workers", results(t, pool(t, start(t, "", 4))), want)
	dir := t.TempDir()
	p, err := farm.Folder(dir)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		startProcess(t, "worker", dir, "1")
	}
	compare(t, "folder", results(t, p), want)
}
