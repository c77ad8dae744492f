package ccp

import (
	"context"
	"fmt"
	"math"
	"slices"
	"testing"

	"dace.local/dacelib/internal/vectors"
	"dace.local/dacelib/problem"
)

// draws holds COMBO's draws.
type draws struct {
	D       int
	Seed    uint32
	InitZ   []float64 `json:"init_Z"`
	Lambdas [][]float64
	Gammas  [][]float64
}

func (v draws) instance(t testing.TB, lambda, limit float64) *Instance {
	t.Helper()
	d := Data{
		Name: "combo", Lambda: lambda, Limit: limit, Cost: make([]float64, len(v.Lambdas)),
		Initial: v.InitZ, Contamination: v.Lambdas, Restoration: v.Gammas,
	}
	for i := range d.Cost {
		d.Cost[i] = 1
	}
	p, err := New(d)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestVectors compares values and violations with those of COMBO on COMBO's
// draws: commit 9529eabb of QUVA-Lab/COMBO.
func TestVectors(t *testing.T) {
	var v struct {
		Cases []struct {
			D, Seed   int
			Lamda, U  float64
			Solutions []struct {
				X          string
				Violations []int `json:"violations_per_stage"`
				Paper      float64
				Combo      float64 `json:"combo_f64"`
			}
		}
	}
	vectors.Read(t, "ccp_values.json", &v)
	for _, c := range v.Cases {
		t.Run(fmt.Sprintf("d%d_seed%d", c.D, c.Seed), func(t *testing.T) {
			var w draws
			vectors.Read(t, fmt.Sprintf("ccp_draws_d%d_seed%d.json", c.D, c.Seed), &w)
			p := w.instance(t, c.Lamda, c.U)
			x := problem.NewSolutions(len(c.Solutions), c.D)
			for i, s := range c.Solutions {
				for j, b := range s.X {
					x.Set(i, j, b == '1')
				}
				got, err := p.Violations(x.Bools(i))
				if err != nil {
					t.Fatal(err)
				}
				if !slices.Equal(got, s.Violations) {
					t.Errorf("%s: violations\n%v, COMBO\n%v", s.X, got, s.Violations)
				}
			}
			got := make([]float64, x.Len())
			if err := p.Evaluate(context.Background(), got, x); err != nil {
				t.Fatal(err)
			}
			for i, s := range c.Solutions {
				if math.Abs(got[i]-s.Paper) > 1e-9 {
					t.Errorf("%s: value %v, reference %v", s.X, got[i], s.Paper)
				}
				if combo := -got[i] - 0.05*float64(c.D); math.Abs(combo-s.Combo) > 1e-9 {
					t.Errorf("%s: COMBO's sign %v, reference %v", s.X, combo, s.Combo)
				}
			}
		})
	}
}

// TestCOMBODrawsVectors compares our twister and distributions with NumPy's.
func TestCOMBODrawsVectors(t *testing.T) {
	for _, name := range []string{"ccp_draws_d25_seed0.json", "ccp_draws_d30_seed0.json", "ccp_draws_d30_seed1.json"} {
		t.Run(name, func(t *testing.T) {
			var v draws
			vectors.Read(t, name, &v)
			p, err := COMBO(v.Seed, Settings{Dim: v.D})
			if err != nil {
				t.Fatal(err)
			}
			got := p.Data()
			exact, n := 0, 0
			check := func(what string, got, want []float64) {
				for k := range want {
					n++
					if got[k] == want[k] {
						exact++
					}
					if !(math.Abs(got[k]-want[k]) <= 2e-15*want[k]) {
						t.Errorf("%s %d: %v, NumPy %v", what, k, got[k], want[k])
					}
				}
			}
			check("initial", got.Initial, v.InitZ)
			for i := range v.Lambdas {
				check(fmt.Sprint("contamination ", i), got.Contamination[i], v.Lambdas[i])
				check(fmt.Sprint("restoration ", i), got.Restoration[i], v.Gammas[i])
			}
			t.Logf("%d of %d draws are equal to the last bit", exact, n)
		})
	}
}
