package smartest

import (
	"encoding/json"
	"math"
	"os"
	"testing"

	"dace.local/dacelib/problem"
)

// TestAgainstScikitLearn checks that the means over 100 seeds of the best value
// and of the number of solutions evaluated are within 4 standard errors of
// those of the same algorithm with scikit-learn's forest: see
// testdata/reference.py.
func TestAgainstScikitLearn(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	b, err := os.ReadFile("testdata/reference.json")
	if err != nil {
		t.Fatal(err)
	}
	type moments struct{ Mean, SD float64 }
	var ref struct {
		D, Evaluations, Trees, Seeds int
		Cases                        []struct {
			Problem        string
			Config         []float64
			Best, Distinct moments
		}
	}
	if err := json.Unmarshal(b, &ref); err != nil {
		t.Fatal(err)
	}
	problems := map[string]problem.Problem{
		"onemax": problem.FromFunc("onemax", ref.D, func(x []bool) float64 {
			n := 0.0
			for _, b := range x {
				if b {
					n++
				}
			}
			return n
		}),
		"sines": problem.FromFunc("sines", ref.D, func(x []bool) float64 {
			s := 0.0
			for i := range x {
				for j := 0; x[i] && j <= i; j++ {
					if x[j] {
						s += math.Sin(float64(1 + i*ref.D + j))
					}
				}
			}
			return s
		}),
	}
	for _, c := range ref.Cases {
		const seeds = 30
		best, distinct := make([]float64, seeds), make([]float64, seeds)
		for seed := range seeds {
			r := mustRun(t, problems[c.Problem], Settings{
				Config:      Config{int(c.Config[0]), c.Config[1], c.Config[2]},
				Evaluations: ref.Evaluations, Trees: ref.Trees, Seed: uint64(seed), Workers: 2,
			})
			best[seed], distinct[seed] = r.Value, float64(r.Distinct)
		}
		for what, v := range map[string]struct {
			got  []float64
			want moments
		}{"best": {best, c.Best}, "distinct": {distinct, c.Distinct}} {
			mean, sd := 0.0, 0.0
			for _, x := range v.got {
				mean += x / seeds
			}
			for _, x := range v.got {
				sd += (x - mean) * (x - mean) / (seeds - 1)
			}
			se := math.Sqrt(sd/seeds + v.want.SD*v.want.SD/float64(ref.Seeds))
			t.Logf("%s %v, %s: %.3f; reference %.3f (%.1f standard errors)", c.Problem, c.Config, what, mean, v.want.Mean, (mean-v.want.Mean)/se)
			if math.Abs(mean-v.want.Mean) > 4*se {
				t.Errorf("%s %v, %s: mean %v over %d seeds; the reference has %v, standard error %v", c.Problem, c.Config, what, mean, seeds, v.want.Mean, se)
			}
		}
	}
}
