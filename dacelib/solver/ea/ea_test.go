package ea_test

import (
	"math"
	"testing"

	"dace.local/dacelib/problem"
	"dace.local/dacelib/run"
	"dace.local/dacelib/solver"
	"dace.local/dacelib/solver/ea"
	"dace.local/dacelib/solver/solvertest"
)

func TestContract(t *testing.T) { solvertest.Run(t, ea.Solver()) }

// times returns the mean number of evaluations that a configuration needs to reach
// a target, and its standard error.
func times(t *testing.T, text string, p problem.Problem, target float64, runs int) (mean, se float64) {
	t.Helper()
	c, err := solver.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	var jobs []solver.Job
	for seed := range runs {
		jobs = append(jobs, solver.Job{Problem: p, Config: c, Evaluations: 1 << 20, Target: &target, Seed: uint64(seed)})
	}
	found, err := solver.RunAll(t.Context(), jobs, 0)
	if err != nil {
		t.Fatal(err)
	}
	var sum, squares float64
	for _, r := range found {
		if r.Status != run.TargetReached {
			t.Fatalf("%s ended with %v", text, r.Status)
		}
		sum += float64(r.Evaluations)
		squares += float64(r.Evaluations) * float64(r.Evaluations)
	}
	n := float64(runs)
	mean = sum / n
	return mean, math.Sqrt((squares/n - mean*mean) / (n - 1))
}

func oneMax(d int) problem.Problem {
	return problem.FromBatch("onemax", d, func(dst []float64, x problem.Solutions) {
		for i := range dst {
			dst[i] = float64(x.Ones(i))
		}
	})
}

func leadingOnes(d int) problem.Problem {
	return problem.FromBatch("leadingones", d, func(dst []float64, x problem.Solutions) {
		for i := range dst {
			k := 0
			for k < d && x.At(i, k) {
				k++
			}
			dst[i] = float64(k)
		}
	})
}

// TestTheory compares mean run times with expected ones that are known exactly, to
// four standard errors.
//
// Randomised local search on OneMax is a coupon collector: with k zeros left, a
// step succeeds with probability k/n, so that the expectation from Bin(n, 1/2)
// zeros is n times the mean of the harmonic numbers; one evaluation is the start's.
//
// The (1+1)-EA with rate p needs ((1-p)^(1-n) - (1-p)) / (2 p^2) steps on
// LeadingOnes (Böttcher, Doerr, Neumann: Optimal fixed and adaptive mutation rates
// for the LeadingOnes problem, PPSN 2010, theorem 3). Steps that flip nothing, a
// share of (1-p)^n, are drawn again here and not counted. RLS needs n^2/2: each
// bit behind the first zero is one with probability 1/2 when it is reached, and
// those zeros wait n steps each.
func TestTheory(t *testing.T) {
	const n = 24
	collector := 0.0
	for k := range n + 1 {
		h := 0.0
		for i := 1; i <= k; i++ {
			h += 1 / float64(i)
		}
		choose, _ := math.Lgamma(n + 1)
		a, _ := math.Lgamma(float64(k + 1))
		b, _ := math.Lgamma(float64(n - k + 1))
		collector += math.Exp(choose-a-b-n*math.Ln2) * n * h
	}
	leading := func(rate float64) float64 {
		p := rate / n
		return (math.Pow(1-p, 1-n) - (1 - p)) / (2 * p * p) * (1 - math.Pow(1-p, n))
	}
	for _, c := range []struct {
		config string
		p      problem.Problem
		want   float64
	}{
		{"ea{mutation: one, memory: false}", oneMax(n), collector + 1},
		{"ea{mutation: one, memory: false}", leadingOnes(n), n*n/2 + 1},
		{"ea{memory: false}", leadingOnes(n), leading(1) + 1},
		{"ea{rate: 1.59, memory: false}", leadingOnes(n), leading(1.59) + 1},
		{"ea{rate: 3, memory: false}", leadingOnes(n), leading(3) + 1},
	} {
		mean, se := times(t, c.config, c.p, n, 600)
		if math.Abs(mean-c.want) > 4*se {
			t.Errorf("%s on %s: %.1f evaluations, standard error %.1f; theory says %.1f", c.config, c.p.Name(), mean, se, c.want)
		}
	}
}

// TestJump checks that the power law pays where theory says: on Jump with a gap of
// 4, d = 16, it beats the standard rate by far (Doerr et al. 2017, theorem 5.1:
// the speed-up grows as k^(k-1/2-beta)).
func TestJump(t *testing.T) {
	const n, gap = 16, 4
	jump := problem.FromBatch("jump", n, func(dst []float64, x problem.Solutions) {
		for i := range dst {
			k := x.Ones(i)
			if dst[i] = float64(gap + k); k > n-gap && k < n {
				dst[i] = float64(n - k)
			}
		}
	})
	slow, _ := times(t, "ea{memory: false}", jump, n+gap, 60)
	fast, _ := times(t, "ea{mutation: heavy, memory: false}", jump, n+gap, 60)
	if fast > slow/2 {
		t.Errorf("heavy-tailed mutation needs %.0f evaluations, standard mutation %.0f", fast, slow)
	}
}

// TestAdaptive checks the (1+lambda) with two rates against its published run
// time: with many offspring it needs fewer generations on OneMax than the standard
// rate (Doerr et al. 2019, figure 1).
func TestAdaptive(t *testing.T) {
	static, _ := times(t, "ea{lambda: 300, memory: false}", oneMax(100), 100, 60)
	adaptive, _ := times(t, "ea{lambda: 300, mutation: adaptive, memory: false}", oneMax(100), 100, 60)
	if adaptive > static {
		t.Errorf("the adaptive rate needs %.0f evaluations, the standard one %.0f", adaptive, static)
	}
}
