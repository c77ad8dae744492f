package stats

import (
	"fmt"
	"math"
	"testing"

	"dace.local/dacelib/internal/vectors"
)

// A testCase is a call of SciPy 1.10.1 and its results.
type testCase struct {
	Name string
	X, Y []float64
	Kw   struct {
		ZeroMethod    string `json:"zero_method"`
		Alternative   string
		Mode          string
		Method        string
		Correction    bool
		UseContinuity *bool `json:"use_continuity"`
	}
	Statistic, PValue, U float64
	Z                    *float64
}

var (
	alternatives = map[string]Alternative{"": TwoSided, "two-sided": TwoSided, "greater": Greater, "less": Less}
	zeroMethods  = map[string]ZeroMethod{"": Wilcox, "wilcox": Wilcox, "pratt": Pratt, "zsplit": ZSplit}
	methods      = map[string]Method{"": Auto, "auto": Auto, "exact": Exact, "approx": Approximate, "asymptotic": Approximate}
)

func TestWilcoxonVectors(t *testing.T) {
	var v struct{ Wilcoxon, Ranksums, Mannwhitneyu []testCase }
	vectors.Read(t, "wilcoxon.json", &v)
	check := func(kind string, c testCase, got Result, err error, statistic float64) {
		t.Run(fmt.Sprintf("%s/%s/%+v", kind, c.Name, c.Kw), func(t *testing.T) {
			if err != nil {
				t.Fatal(err)
			}
			if !near(got.Statistic, statistic) {
				t.Errorf("statistic %v, SciPy %v", got.Statistic, statistic)
			}
			if !near(got.PValue, c.PValue) {
				t.Errorf("p %v, SciPy %v", got.PValue, c.PValue)
			}
			if c.Z != nil && !near(got.Z, *c.Z) {
				t.Errorf("z %v, SciPy %v", got.Z, *c.Z)
			}
		})
	}
	for _, c := range v.Wilcoxon {
		got, err := SignedRank(c.X, c.Y, SignedRankSettings{
			Alternative: alternatives[c.Kw.Alternative], Zeros: zeroMethods[c.Kw.ZeroMethod],
			Method: methods[c.Kw.Mode], Continuity: c.Kw.Correction,
		})
		check("wilcoxon", c, got, err, c.Statistic)
	}
	for _, c := range v.Ranksums {
		got, err := RankSum(c.X, c.Y, alternatives[c.Kw.Alternative])
		check("ranksums", c, got, err, c.Statistic)
	}
	for _, c := range v.Mannwhitneyu {
		got, err := MannWhitney(c.X, c.Y, MannWhitneySettings{
			Alternative: alternatives[c.Kw.Alternative], Method: methods[c.Kw.Method],
			NoContinuity: c.Kw.UseContinuity != nil && !*c.Kw.UseContinuity,
		})
		check("mannwhitneyu", c, got, err, c.U)
	}
}

// near allows for the last digits, in which SciPy's sums and error function may
// differ from ours.
func near(a, b float64) bool { return math.Abs(a-b) <= 1e-13*max(1, math.Abs(b)) }
