// Package ea is the evolution strategy of bits, (mu+lambda): from mu solutions,
// lambda are made by flipping bits, and the mu best of both live on. Of equally
// good solutions the younger lives.
//
// Start with [Solver]. Its parameters:
//
//   - mu and lambda, the sizes; 1 and 1 is the (1+1) of theory;
//   - mutation: "standard" flips each bit with probability rate/d, "one" flips one
//     (randomised local search), "heavy" draws the rate of each mutation from a
//     power law (Doerr, Le, Makhmara, Nguyen: Fast genetic algorithms, GECCO 2017),
//     "adaptive" makes one half of the offspring with half the rate and the other
//     with twice the rate and goes on with that of the best (Doerr, Giessen, Witt,
//     Yang: The (1+lambda) evolutionary algorithm with self-adjusting mutation
//     rate, Algorithmica 81, 2019). Mutations that flip nothing are drawn again
//     (Pinto, Doerr: Towards a more practice-aware runtime analysis of evolutionary
//     algorithms, 2018);
//   - swaps, the share of mutations that exchange a one and a zero instead;
//   - crossover, the share of offspring whose parent is a uniform crossover of two;
//   - memory: values of solutions made before are looked up, not evaluated.
package ea

import (
	"context"
	"math"
	"slices"
	"sort"

	"dace.local/dacelib/problem"
	"dace.local/dacelib/smac"
	"dace.local/dacelib/solver"
	"dace.local/dacelib/solver/internal/moves"
)

func init() { solver.Register(Solver()) }

// Solver returns the evolution strategy.
func Solver() solver.Solver { return family{} }

type family struct{}

func (family) Name() string { return "ea" }

// The mutations, in the order of the category.
const (
	standard = iota
	one
	heavy
	adaptive
)

func (family) Space(d, evaluations int) smac.Space {
	return smac.Space{
		Params: []smac.Param{
			{Name: "mu", Kind: smac.Int, Lo: 1, Hi: 100, Log: true, Default: 1},
			{Name: "lambda", Kind: smac.Int, Lo: 1, Hi: 500, Log: true, Default: 1},
			{Name: "mutation", Kind: smac.Category, Choices: []string{"standard", "one", "heavy", "adaptive"}},
			{Name: "rate", Kind: smac.Float, Lo: 0.1, Hi: 10, Log: true, Default: 1},
			{Name: "beta", Kind: smac.Float, Lo: 1.1, Hi: 3, Default: 1.5},
			{Name: "swaps", Kind: smac.Float, Lo: 0, Hi: 1, Default: 0},
			{Name: "crossover", Kind: smac.Float, Lo: 0, Hi: 1, Default: 0},
			{Name: "memory", Kind: smac.Bool, Default: solver.MemoryDefault(evaluations)},
		},
		Conditions: []smac.Condition{
			{Param: "rate", Parent: "mutation", Values: []float64{standard, adaptive}},
			{Param: "beta", Parent: "mutation", Values: []float64{heavy}},
		},
		Forbidden: []smac.Forbidden{
			// There are no two halves of one offspring.
			{{Param: "mutation", Values: []float64{adaptive}}, {Param: "lambda", Values: []float64{1}}},
		},
	}
}

// Starts returns configurations to begin a choice with.
func (family) Starts(d, evaluations int) []string {
	return []string{
		"ea", "ea{rate: 0.5}", "ea{rate: 2}", "ea{mutation: one, swaps: 0.5}", "ea{swaps: 0.5}", "ea{mutation: heavy}",
		"ea{mu: 5, crossover: 0.5}", "ea{mu: 20, crossover: 0.8, rate: 0.5}",
	}
}

func (f family) Run(ctx context.Context, jobs []solver.Job, workers int) ([]solver.Result, error) {
	return solver.Each(ctx, f, jobs, workers, func(s *solver.Search) error {
		if s.Flag("memory") {
			s.Remember()
		}
		if mu, lambda := s.Int("mu"), s.Int("lambda"); mu == 1 && lambda == 1 {
			single(s)
		} else {
			many(s, mu, lambda)
		}
		return nil
	})
}

// A mutator makes mutants.
type mutator struct {
	s        *solver.Search
	d        int
	kind     string
	swaps    float64
	rate     float64 // expected flips
	standard moves.Rate
	heavy    []float64    // cumulated probabilities of the rates 1, 2, ...
	rates    []moves.Rate // made when they are first drawn
}

func newMutator(s *solver.Search) *mutator {
	m := &mutator{s: s, d: s.Dim(), kind: s.Choice("mutation"), swaps: s.Number("swaps")}
	switch m.kind {
	case "standard", "adaptive":
		m.set(s.Number("rate"))
	case "heavy":
		beta, sum := s.Number("beta"), 0.0
		for r := 1; r <= max(1, m.d/2); r++ {
			sum += math.Pow(float64(r), -beta)
			m.heavy = append(m.heavy, sum)
		}
		m.rates = make([]moves.Rate, len(m.heavy))
	}
	return m
}

// set sets the expected number of flips.
func (m *mutator) set(rate float64) {
	m.rate = rate
	m.standard = moves.NewRate(min(1, rate/float64(m.d)))
}

// mutate changes x by the given rate, which is used unless the kind has another.
func (m *mutator) mutate(x []uint64, rate moves.Rate) {
	rng := m.s.Rand
	if m.swaps > 0 && rng.Float64() < m.swaps {
		i := rng.IntN(m.d)
		if j := moves.Partner(x, m.d, i, rng); j >= 0 {
			moves.Undo(x, i, j)
			return
		}
	}
	switch m.kind {
	case "one":
		moves.Flip(x, rng.IntN(m.d))
	case "heavy":
		u := rng.Float64() * m.heavy[len(m.heavy)-1]
		k := min(sort.SearchFloat64s(m.heavy, u), len(m.heavy)-1)
		if m.rates[k] == (moves.Rate{}) {
			m.rates[k] = moves.NewRate(min(1, float64(k+1)/float64(m.d)))
		}
		m.rates[k].Some(x, m.d, rng)
	default:
		rate.Some(x, m.d, rng)
	}
}

// single is (1+1).
func single(s *solver.Search) {
	m := newMutator(s)
	x := problem.Random(s.Rand, 1, s.Dim())
	y := problem.NewSolutions(1, s.Dim())
	for v := s.Value(x.Words); !s.Over(); {
		if s.Stuck() {
			problem.Randomize(s.Rand, x)
			v = s.Value(x.Words)
			continue
		}
		copy(y.Words, x.Words)
		m.mutate(y.Words, m.standard)
		if w := s.Value(y.Words); w >= v {
			x, y, v = y, x, w
		}
	}
}

// many is (mu+lambda). The population's slots are fixed, and order lists them,
// best first.
func many(s *solver.Search, mu, lambda int) {
	d := s.Dim()
	mu = min(mu, s.Left())
	m := newMutator(s)
	share := s.Number("crossover")
	pop := problem.NewSolutions(mu+lambda, d)
	values := make([]float64, mu+lambda)
	order := make([]int, mu+lambda)
	for i := range order {
		order[i] = i
	}
	batch := problem.NewSolutions(max(mu, lambda), d)
	got := make([]float64, max(mu, lambda))
	begin := func() bool {
		problem.Randomize(s.Rand, batch.Slice(0, mu))
		n := s.Values(got, batch.Slice(0, mu))
		for i := range n {
			copy(pop.Row(order[i]), batch.Row(i))
			values[order[i]] = got[i]
		}
		mu = max(1, n)
		return n > 0
	}
	if !begin() {
		return
	}
	twice := m.kind == "adaptive"
	for !s.Over() {
		if s.Stuck() {
			begin()
			continue
		}
		low, high := m.standard, m.standard
		if twice {
			low, high = moves.NewRate(min(0.5, m.rate/2/float64(d))), moves.NewRate(min(0.5, 2*m.rate/float64(d)))
		}
		for k := range lambda {
			y := batch.Row(k)
			copy(y, pop.Row(order[s.Rand.IntN(mu)]))
			if mu > 1 && share > 0 && s.Rand.Float64() < share {
				cross(y, pop.Row(order[s.Rand.IntN(mu)]), s)
			}
			rate := m.standard
			if twice {
				if rate = low; k >= lambda/2 {
					rate = high
				}
			}
			m.mutate(y, rate)
		}
		n := s.Values(got, batch.Slice(0, lambda))
		if twice && n > 0 {
			best := 0
			for k := range n {
				if got[k] > got[best] {
					best = k
				}
			}
			up := best >= lambda/2
			if s.Rand.IntN(2) == 0 {
				up = s.Rand.IntN(2) == 0
			}
			if up {
				m.set(min(2*m.rate, float64(d)/4))
			} else {
				m.set(m.rate / 2)
			}
			m.set(max(m.rate, 1)) // its lower half flips half a bit on average
		}
		// The younger come first among equals; a solution that is in the
		// population stays out of it, unless it is the only one.
		for k := range n {
			if mu > 1 && slices.ContainsFunc(order[:mu], func(i int) bool { return slices.Equal(pop.Row(i), batch.Row(k)) }) {
				continue
			}
			if got[k] < values[order[mu-1]] {
				continue
			}
			slot := order[mu-1]
			at := sort.Search(mu-1, func(i int) bool { return values[order[i]] <= got[k] })
			copy(order[at+1:mu], order[at:mu-1])
			order[at] = slot
			copy(pop.Row(slot), batch.Row(k))
			values[slot] = got[k]
		}
	}
}

// cross replaces each bit of y by that of z with probability one half.
func cross(y, z []uint64, s *solver.Search) {
	for i := range y {
		mask := s.Rand.Uint64()
		y[i] = y[i]&mask | z[i]&^mask
	}
}
