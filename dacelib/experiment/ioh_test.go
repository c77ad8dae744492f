package experiment

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dace.local/dacelib/problem"
	"dace.local/dacelib/problem/classic"
	"dace.local/dacelib/run"
	"dace.local/dacelib/solver"
	_ "dace.local/dacelib/solver/all"
)

// TestWriteIOH compares files with those that IOHexperimenter's own test of its
// logger expects (tests/cpp/logger/test_analyzer.cpp of version 0.3, logger_v1), of
// one evaluation in each of two runs; numbers and names are put in here.
func TestWriteIOH(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "ioh")
	shift := func(by float64) func(float64) float64 { return func(v float64) float64 { return v - by } }
	sphere := func(d int, v float64) IOHRun {
		return IOHRun{Function: 1, Name: "Sphere", Instance: 1, Dim: d, Evaluations: 1, History: []solver.Point{{Evaluations: 1, Best: v}}, Raw: shift(79.48)}
	}
	runs := []IOHRun{sphere(4, 85.11728704), sphere(4, 85.11728704), sphere(2, 80.88209408), sphere(2, 80.88209408)}
	if err := WriteIOH(dir, "algorithm_name", "algorithm_info", runs); err != nil {
		t.Fatal(err)
	}
	header := `"function evaluation" "current f(x)" "best-so-far f(x)" "current af(x)+b" "best af(x)+b"` + "\n"
	for name, want := range map[string]string{
		"IOHprofiler_f1_Sphere.info": `suite = "PBO", funcId = 1, funcName = "Sphere", DIM = 4, maximization = "T", algId = "algorithm_name", algInfo = "algorithm_info"` +
			"\n%\ndata_f1_Sphere/IOHprofiler_f1_DIM4.dat, 1:1|5.63729, 1:1|5.63729\n" +
			`suite = "PBO", funcId = 1, funcName = "Sphere", DIM = 2, maximization = "T", algId = "algorithm_name", algInfo = "algorithm_info"` +
			"\n%\ndata_f1_Sphere/IOHprofiler_f1_DIM2.dat, 1:1|1.40209, 1:1|1.40209",
		"data_f1_Sphere/IOHprofiler_f1_DIM4.dat": strings.Repeat(header+"1 5.6372870400 5.6372870400 85.1172870400 85.1172870400\n", 2),
		"data_f1_Sphere/IOHprofiler_f1_DIM2.dat": strings.Repeat(header+"1 1.4020940800 1.4020940800 80.8820940800 80.8820940800\n", 2),
	} {
		if b, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(b) != want {
			t.Errorf("%s: %v\n%s\nwant\n%s", name, err, b, want)
		}
	}
	if err := WriteIOH(dir, "a", "b", runs); err == nil || !strings.Contains(err.Error(), "is there already") {
		t.Errorf("a second time: %v", err)
	}
	for want, r := range map[string]IOHRun{
		"has no history":       {Function: 1, Name: "a", Dim: 3},
		"cannot be the name":   {Function: 1, Name: "a/b", History: runs[0].History},
		"is Sphere and Ellips": {Function: 1, Name: "Ellips", History: runs[0].History},
	} {
		if err := WriteIOH(t.TempDir(), "a", "b", []IOHRun{runs[0], r}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

func TestIOHRuns(t *testing.T) {
	var problems []problem.Problem
	for _, instance := range []int{1, 7} {
		p, err := classic.PBO(2, instance, 12)
		if err != nil {
			t.Fatal(err)
		}
		problems = append(problems, p, p)
	}
	for i := range uint64(2) {
		p, err := classic.RandomQUBO(i, 9)
		if err != nil {
			t.Fatal(err)
		}
		problems = append(problems, p, problem.FromFunc("mine", 4, func([]bool) float64 { return 2 }))
	}
	var results []solver.Result
	c, err := solver.Parse("ea")
	if err != nil {
		t.Fatal(err)
	}
	for i, p := range problems {
		r, err := solver.Run(t.Context(), solver.Job{Problem: p, Config: c, Evaluations: 200, Seed: run.Seed(1, "ioh", i)})
		if err != nil {
			t.Fatal(err)
		}
		results = append(results, r)
	}
	runs, err := IOHRuns(problems, results)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []IOHRun{
		{Function: 2, Name: "LeadingOnes", Instance: 1, Dim: 12}, {Function: 2, Name: "LeadingOnes", Instance: 1, Dim: 12},
		{Function: 2, Name: "LeadingOnes", Instance: 7, Dim: 12}, {Function: 2, Name: "LeadingOnes", Instance: 7, Dim: 12},
		{Function: 101, Name: "qubo", Instance: 1, Dim: 9}, {Function: 102, Name: "mine", Instance: 1, Dim: 4},
		{Function: 101, Name: "qubo", Instance: 2, Dim: 9}, {Function: 102, Name: "mine", Instance: 1, Dim: 4},
	} {
		got := runs[i]
		if got.Function != want.Function || got.Name != want.Name || got.Instance != want.Instance || got.Dim != want.Dim {
			t.Errorf("run %d is %+v, want %+v", i, got, want)
		}
	}
	// Values before the transformation of instance 7 are those of LeadingOnes.
	if v := runs[2].raw(runs[2].History[0].Best); v < -1e-9 || v > 12 || v-float64(int(v+0.5)) > 1e-9 {
		t.Errorf("the raw value %v", v)
	}
	if err := WriteIOH(t.TempDir(), "EA", "", runs); err != nil {
		t.Error(err)
	}
}
