package stats

import (
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strings"
	"testing"

	"dace.local/dacelib/run"
)

func TestErrors(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		name, want string
		call       func() (Result, error)
	}{
		{"pairs", "x has 2 values and y 1", func() (Result, error) { return SignedRank([]float64{1, 2}, []float64{1}, SignedRankSettings{}) }},
		{"empty", "no values", func() (Result, error) { return SignedRank(nil, nil, SignedRankSettings{}) }},
		{"nan", "difference 1", func() (Result, error) { return SignedRank([]float64{1, nan}, []float64{1, 2}, SignedRankSettings{}) }},
		{"zeros", "all 2 differences are zero", func() (Result, error) { return SignedRank([]float64{1, 2}, []float64{1, 2}, SignedRankSettings{}) }},
		{"equal infinities", "all 1 differences are zero", func() (Result, error) {
			return SignedRank([]float64{math.Inf(1)}, []float64{math.Inf(1)}, SignedRankSettings{})
		}},
		{"ranksum empty", "no values of y", func() (Result, error) { return RankSum([]float64{1}, nil, TwoSided) }},
		{"ranksum nan", "value 0 of x", func() (Result, error) { return RankSum([]float64{nan}, []float64{1}, TwoSided) }},
		{"u nan", "value 1 of y", func() (Result, error) {
			return MannWhitney([]float64{1}, []float64{1, nan}, MannWhitneySettings{})
		}},
	} {
		if _, err := c.call(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one with %q", c.name, err, c.want)
		}
	}
	if _, err := WinDrawLoss([][]float64{{1}}, nil, 0.05); err == nil {
		t.Error("unequal numbers of instances: no error")
	}
	if _, err := Ranks([]float64{nan}); err == nil {
		t.Error("a NaN has a rank")
	}
}

// TestSignedRankEnumerated compares with an enumeration of all 2^n signs.
func TestSignedRankEnumerated(t *testing.T) {
	for n := 1; n <= 12; n++ {
		p := signedRankPMF(n)
		got := make([]float64, len(p))
		for signs := range 1 << n {
			w := 0
			for s := uint(signs); s != 0; s &= s - 1 {
				w += bits.TrailingZeros(s) + 1
			}
			got[w] += 1 / float64(int(1)<<n)
		}
		for w := range p {
			if math.Abs(p[w]-got[w]) > 1e-15 {
				t.Fatalf("n = %d: P(%d) = %v, counted %v", n, w, p[w], got[w])
			}
		}
	}
}

// TestRankSumEnumerated compares with an enumeration of all choices of the
// first sample's ranks.
func TestRankSumEnumerated(t *testing.T) {
	for _, c := range [][2]int{{1, 1}, {1, 7}, {3, 4}, {5, 5}, {6, 3}} {
		n, m := c[0], c[1]
		p := rankSumPMF(n, m)
		got := make([]float64, n*m+1)
		total := 0.0
		for set := range 1 << (n + m) {
			if bits.OnesCount(uint(set)) != n {
				continue
			}
			u := 0
			for s := uint(set); s != 0; s &= s - 1 {
				i := bits.TrailingZeros(s)
				u += i - bits.OnesCount(uint(set)&(1<<i-1))
			}
			got[u]++
			total++
		}
		for u := range p {
			if math.Abs(p[u]-got[u]/total) > 1e-15 {
				t.Fatalf("%d, %d: P(%d) = %v, counted %v", n, m, u, p[u], got[u]/total)
			}
		}
	}
}

// Swapping the samples swaps the alternatives.
func TestSymmetry(t *testing.T) {
	rng := run.Rand(1, "symmetry")
	for range 50 {
		x, y := make([]float64, 3+rng.IntN(20)), make([]float64, 3+rng.IntN(20))
		for i := range x {
			x[i] = math.Round(10 * rng.NormFloat64())
		}
		for i := range y {
			y[i] = math.Round(10 * rng.NormFloat64())
		}
		a, _ := RankSum(x, y, Greater)
		b, _ := RankSum(y, x, Less)
		if math.Abs(a.PValue-b.PValue) > 1e-12 || math.Abs(a.Z+b.Z) > 1e-12 {
			t.Errorf("rank-sum of %v, %v: %+v and %+v", x, y, a, b)
		}
		a, _ = MannWhitney(x, y, MannWhitneySettings{Alternative: Greater})
		b, _ = MannWhitney(y, x, MannWhitneySettings{Alternative: Less})
		if math.Abs(a.PValue-b.PValue) > 1e-12 || math.Abs(a.Statistic+b.Statistic-float64(len(x)*len(y))) > 1e-12 {
			t.Errorf("Mann-Whitney of %v, %v: %+v and %+v", x, y, a, b)
		}
	}
}

// Under the null hypothesis a p value is uniform.
func TestUniformP(t *testing.T) {
	rng := run.Rand(2, "uniform")
	const n = 4000
	var signed, summed []float64
	for range n {
		x, y := make([]float64, 20), make([]float64, 20)
		for i := range x {
			x[i], y[i] = rng.NormFloat64(), rng.NormFloat64()
		}
		a, err := SignedRank(x, y, SignedRankSettings{})
		if err != nil {
			t.Fatal(err)
		}
		b, err := RankSum(x, y, TwoSided)
		if err != nil {
			t.Fatal(err)
		}
		signed, summed = append(signed, a.PValue), append(summed, b.PValue)
	}
	for _, p := range [][]float64{signed, summed} {
		slices.Sort(p)
		for _, q := range []float64{0.05, 0.25, 0.5, 0.75} {
			// Four standard errors, plus the steps of a discrete statistic.
			if share := p[int(q*n)]; math.Abs(share-q) > 4*math.Sqrt(q*(1-q)/n)+0.01 {
				t.Errorf("the quantile %v of p is %v", q, share)
			}
		}
	}
}

func TestCompare(t *testing.T) {
	low, high := []float64{1, 2, 3, 4, 5, 6}, []float64{7, 8, 9, 10, 11, 12}
	for _, c := range []struct {
		x, y []float64
		want Outcome
	}{{low, high, Loss}, {high, low, Win}, {low, low, Draw}, {low[:2], high[:2], Draw}} {
		if got, err := Compare(c.x, c.y, 0.05); err != nil || got != c.want {
			t.Errorf("%v against %v: %v, %v, want %v", c.x, c.y, got, err, c.want)
		}
	}
}

// Two methods' qualities on ten instances.
func ExampleSignedRank() {
	dace := []float64{1.03, 1.05, 1.02, 1.07, 1.04, 1.06, 1.01, 1.08, 1.05, 1.03}
	ceps := []float64{1.01, 1.04, 1.03, 1.02, 1.01, 1.02, 1.00, 1.02, 1.01, 1.01}
	r, err := SignedRank(dace, ceps, SignedRankSettings{})
	fmt.Printf("W = %g, p = %.4f, exact %v, error %v\n", r.Statistic, r.PValue, r.Exact, err)
	// Output: W = 2, p = 0.0059, exact true, error <nil>
}

// Two methods' repeats on three instances.
func ExampleWinDrawLoss() {
	a := [][]float64{{5, 6, 7, 8, 9}, {1, 2, 3, 4, 5}, {1, 2, 3, 4, 5}}
	b := [][]float64{{0, 1, 2, 3, 4}, {1, 2, 3, 4, 5}, {6, 7, 8, 9, 10}}
	w, err := WinDrawLoss(a, b, 0.05)
	fmt.Println(w, err)
	// Output: 1-1-1 <nil>
}

// TestHolm compares with the step-down method worked out by hand: in order, .005 x 4,
// .01 x 3, .03 x 2 and .04 x 1, which is below the one before.
func TestHolm(t *testing.T) {
	p := []float64{0.01, 0.04, 0.03, 0.005}
	for i, want := range []float64{0.03, 0.06, 0.06, 0.02} {
		if got := Holm(p)[i]; math.Abs(got-want) > 1e-15 {
			t.Errorf("%v becomes %v, want %v", p[i], got, want)
		}
	}
	if got := Holm([]float64{0.6, 0.6, 0.9}); !slices.Equal(got, []float64{1, 1, 1}) {
		t.Errorf("above 1: %v", got)
	}
	if got := Holm(nil); len(got) != 0 {
		t.Errorf("of none: %v", got)
	}
}
