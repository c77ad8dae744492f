package landscape_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"dace.local/dacelib/landscape"
	"dace.local/dacelib/problem"
	"dace.local/dacelib/problem/ccp"
	"dace.local/dacelib/problem/onemax"
)

// vectors reads a file of reference values from the folder DACE_VECTORS if that
// is set, otherwise from testdata.
func vectors(t *testing.T, name string, v any) {
	t.Helper()
	dir := "testdata"
	if e := os.Getenv("DACE_VECTORS"); e != "" {
		dir = e
	}
	b, err := os.ReadFile(filepath.Join(dir, name))
	if os.IsNotExist(err) {
		t.Skipf("%s is not in %s", name, dir)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, v); err != nil {
		t.Fatal(err)
	}
}

// Mean and deviation at every distance agree with the exact ones of OneMax. The
// sample's range is a little less than 30, which scales the differences.
func TestVectorsOneMax(t *testing.T) {
	var oracle struct {
		Rows []struct {
			H    int     `json:"h"`
			Mean float64 `json:"mean_abs"`
			Std  float64 `json:"std_abs"`
		}
	}
	vectors(t, "onemax_fd_oracle.json", &oracle)
	ctx := context.Background()
	s := landscape.Settings{Solutions: 200_000, Pairs: 4_000_000, Seed: 3}
	p := onemax.Random(1, 30)
	c, err := landscape.Measure(ctx, p, s)
	if err != nil {
		t.Fatal(err)
	}
	// Estimate the range of the sample from the mean at the commonest distance.
	var scale float64
	for i, h := range c.Distance {
		if h == 15 {
			scale = c.Mean[i] / oracle.Rows[14].Mean
		}
	}
	r := 30 / scale
	if math.Abs(r-math.Round(r)) > 0.2 || r < 21 || r > 30.1 {
		t.Errorf("the sample's range is %v; want a whole number from 22 to 30", r)
	}
	scale = 30 / math.Round(r)
	for i, h := range c.Distance {
		o := oracle.Rows[int(h)-1]
		if o.H != int(h) {
			t.Fatal("the oracle's rows are not in order")
		}
		n := float64(c.Pairs[i])
		// Four standard errors, doubled because pairs share solutions.
		tol := 8*o.Std/math.Sqrt(n) + 1e-3*o.Mean
		if math.Abs(c.Mean[i]/scale-o.Mean) > tol {
			t.Errorf("h = %v: mean %v, want %v within %v (%d pairs)", h, c.Mean[i]/scale, o.Mean, tol, c.Pairs[i])
		}
		if n > 100 && math.Abs(c.Deviation[i]/scale-o.Std) > 8*o.Std/math.Sqrt(n)+2e-3*o.Std+1e-9 {
			t.Errorf("h = %v: deviation %v, want %v (%d pairs)", h, c.Deviation[i]/scale, o.Std, c.Pairs[i])
		}
	}
}

func TestVectorsPCA(t *testing.T) {
	var file struct {
		Cases []struct {
			X, Y       [][]float64
			Mean       []float64
			Components [][]float64
			Variance   []float64   `json:"explained_variance"`
			Ratio      []float64   `json:"explained_variance_ratio"`
			TX         [][]float64 `json:"transform_X"`
			TY         [][]float64 `json:"transform_Y"`
		}
	}
	vectors(t, "pca.json", &file)
	near := func(what string, a, b []float64) {
		t.Helper()
		if len(a) != len(b) {
			t.Fatalf("%s: %d values, want %d", what, len(a), len(b))
		}
		for i := range a {
			if math.Abs(a[i]-b[i]) > 1e-9*(1+math.Abs(b[i])) {
				t.Fatalf("%s[%d] = %v, want %v", what, i, a[i], b[i])
			}
		}
	}
	for i, c := range file.Cases {
		p, err := landscape.FitPCA(c.X, len(c.Components))
		if err != nil {
			t.Fatal(err)
		}
		near(fmt.Sprintf("case %d: mean", i), p.Mean, c.Mean)
		near("variance", p.Variance, c.Variance)
		near("ratio", p.Ratio, c.Ratio)
		for k := range c.Components {
			near("component", p.Components[k], c.Components[k])
		}
		for k, row := range p.Transform(c.X) {
			near("transform of X", row, c.TX[k])
		}
		for k, row := range p.Transform(c.Y) {
			near("transform of Y", row, c.TY[k])
		}
	}
	if len(file.Cases) == 0 {
		t.Error("no cases")
	}
}

func TestWorkersAndCancel(t *testing.T) {
	p, err := ccp.Generate(1, ccp.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	s := landscape.Settings{Solutions: 20_000, Pairs: 300_000, Workers: 1}
	one, err := landscape.Measure(context.Background(), p, s)
	if err != nil {
		t.Fatal(err)
	}
	s.Workers = 5
	five, _ := landscape.Measure(context.Background(), p, s)
	if !reflect.DeepEqual(one, five) {
		t.Error("the number of workers changes the result")
	}
	if f := one.Features(); len(f) != 32 || f[0] != one.Mean[len(one.Mean)-1] || f[15] != one.Mean[0] {
		t.Errorf("features %v of %v", f, one.Mean)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := landscape.Measure(ctx, p, s); err != context.Canceled {
		t.Errorf("cancelled: %v", err)
	}
}

func TestBadInput(t *testing.T) {
	flat := problem.FromFunc("flat", 5, func([]bool) float64 { return 3 })
	c, err := landscape.Measure(context.Background(), flat, landscape.Settings{Solutions: 100, Pairs: 1000})
	if err != nil || c.Mean[0] != 0 {
		t.Errorf("a flat instance: %v, %v", c, err)
	}
	if _, err := landscape.Measure(context.Background(), flat, landscape.Settings{Solutions: 1}); err == nil {
		t.Error("one solution: no error")
	}
	for _, x := range [][][]float64{nil, {{1}}, {{1, 2}, {1}}, {{1, 2}, {1, math.NaN()}}} {
		if _, err := landscape.FitPCA(x, 1); err == nil {
			t.Errorf("PCA of %v: no error", x)
		}
	}
}

// Leading ones is unlike OneMax; two instances of OneMax are alike.
func Example() {
	ctx := context.Background()
	leading := problem.FromFunc("leading ones", 30, func(x []bool) float64 {
		n := 0.0
		for _, b := range x {
			if !b {
				break
			}
			n++
		}
		return n
	})
	instances := []problem.Problem{onemax.Random(1, 30), onemax.Random(2, 30), leading}
	features, err := landscape.Extract(ctx, instances, landscape.Settings{Solutions: 20_000, Pairs: 200_000})
	if err != nil {
		fmt.Println(err)
		return
	}
	d := landscape.Distances(features, features)
	fmt.Println("OneMax is nearer to OneMax:", d[0][1] < d[0][2])
	// Output:
	// OneMax is nearer to OneMax: true
}
