// Package pgpe minimises a function of real numbers by policy gradients with
// parameter-based exploration (Sehnke et al., 2010), as appendix A of the
// paper uses it to find hard instances: a normal distribution with mean mu and
// one standard deviation per coordinate is moved along an estimate of the
// gradient of the function's expectation under it.
//
// Start with [Run]. The function is evaluated on a whole generation, 2N+1
// points, in one call.
//
// It is made for noisy functions of many coordinates, and not the first choice
// for smooth ones. By [Ranks] with ten pairs and Sigma 0.5, the value of mu
// falls to the target in so many evaluations (geometric means over 30 seeds),
// in the right column by another implementation, estool's PEPG with sigma
// bounded from below (testdata/reference.py):
//
//	function                d   from      to   evaluations   estool
//	sphere                  2      2    0.01           908      953
//	                       10      2    0.01        16,420   16,397
//	                       30      2    0.01        20,057   20,328
//	ellipsoid, 1 to 100     2      2     0.1         8,008    7,435
//	                       10      2     0.1        19,068   19,179
//	                       30      2       1        16,832   16,754
//	Rosenbrock              2     -1     0.1         1,032    1,056
//	                       10      0     0.1        28,458   28,545
//	                       30      0      20        31,647   32,929
package pgpe

import (
	"context"
	"fmt"
	"math"
	"slices"

	"dace.local/dacelib/run"
)

// An Objective sets dst[i] to the value of candidates[i], to be minimised. It
// must keep neither. All values must be finite. The candidates of a generation
// should be judged under common random numbers, so that their differences are
// not noise.
type Objective func(ctx context.Context, dst []float64, candidates [][]float64) error

// A Shaping says how the values of a generation become a step.
type Shaping int

const (
	// Sums: the paper's update, summed over the N pairs:
	//
	//	mu_j    -= alpha_mu    sum_i eps_ij (f_i - f_{N+i})
	//	sigma_j -= alpha_sigma sum_i S_ij ((f_i + f_{N+i})/2 - f_b)
	//	S_ij     = (eps_ij^2 - sigma_j^2) / sigma_j
	//
	// where eps_i is the i-th perturbation and f_b the value of mu. The paper
	// prints + (which ascends f), sigma_i for sigma_j, and M, S for their
	// transposes: slips. The steps grow with the scale of f: made for values
	// about [0, 1].
	Sums Shaping = iota
	// Averages: the same divided by N.
	Averages
	// Ranks: the values are replaced by their centred ranks in the generation,
	// in [-1/2, 1/2], equal values by their mean rank; mu moves by Adam (0.99,
	// 0.999) with the learning rate; sigma's step is divided by 2N and the
	// ranks' standard deviation, changes sigma by at most 20 %, and sigma then
	// decays by 0.999. It does not depend on the scale of f. This is the
	// family of the authors' optimiser.
	Ranks
)

// String returns the name of the shaping.
func (s Shaping) String() string {
	switch s {
	case Sums:
		return "Sums"
	case Averages:
		return "Averages"
	case Ranks:
		return "Ranks"
	}
	return fmt.Sprintf("Shaping(%d)", int(s))
}

// Settings of a run. The zero value is the paper's (App. A); the number of
// pairs and of iterations is that of the authors' code.
type Settings struct {
	// Pairs is N: a generation has 2N+1 candidates; default 40.
	Pairs int
	// MaxIterations bounds the number of generations; default 200.
	MaxIterations int
	// LearningRateMean and LearningRateSigma are alpha_mu and alpha_sigma;
	// defaults 0.05 and 0.1.
	LearningRateMean, LearningRateSigma float64
	// Sigma is the initial standard deviation of every coordinate; default 1.
	Sigma float64
	// MinSigma is the lower limit of the standard deviations; default 0.01.
	MinSigma float64
	// Shaping of the values; default Sums.
	Shaping Shaping
	// Stop, if set, is asked after every iteration whether to end the run.
	// See [EarlyStop].
	Stop func(Iteration) bool `json:"-"`
	// KeepPath records mean and sigma of every iteration in the history.
	KeepPath bool
	// Resume continues from the result of a run with the same settings (Stop,
	// MaxIterations and KeepPath apart) and seed; the outcome is that of a run
	// without interruption. The result may have been written as JSON and read
	// back.
	Resume *Result `json:"-"`
	// Seed of the perturbations. Equal seeds give equal runs.
	Seed uint64
	// OnEvent receives an event after every iteration: stage "pgpe", Value the
	// lowest value of the generation, Best the lowest so far.
	OnEvent func(run.Event) `json:"-"`
}

// An Iteration is a line of the history.
type Iteration struct {
	// Number of the iteration, from 1.
	Number int
	// AtMean is the value of mu before the step; Lowest and Average are those
	// of the generation; Best is the lowest so far.
	AtMean, Lowest, Average, Best float64
	// Distance is |mu - start|, Euclidean, after the step; MeanSigma is the
	// mean of the standard deviations after it.
	Distance, MeanSigma float64
	// Mean and Sigma after the step, if [Settings].KeepPath.
	Mean, Sigma []float64
}

// A Result is the outcome of a run.
type Result struct {
	// Best is the point of the lowest value seen, Value its value.
	Best  []float64
	Value float64
	// Mean and Sigma are the distribution's, at the end.
	Mean, Sigma []float64
	// History has one entry per iteration.
	History []Iteration
	// Iterations and Evaluations done.
	Iterations, Evaluations int
	// Status says why the run ended.
	Status run.Status
	// Settings are those of the run, defaults filled in, without the functions.
	Settings Settings
	// Moments of Adam, for Ranks: first and second, needed to resume.
	Moments [2][]float64
}

// EarlyStop returns the authors' stopping rule, for [Settings].Stop: after 50
// iterations the run ends when the best value is at most the least of values,
// after 100 when it is at most their mean. values are those of the present
// instances.
func EarlyStop(values []float64) func(Iteration) bool {
	if len(values) == 0 {
		return func(Iteration) bool { return false }
	}
	least, mean := slices.Min(values), 0.0
	for _, v := range values {
		mean += v / float64(len(values))
	}
	return func(it Iteration) bool {
		return it.Number >= 50 && it.Best <= least || it.Number >= 100 && it.Best <= mean
	}
}

func (s Settings) withDefaults() Settings {
	def := func(p *float64, v float64) {
		if *p == 0 {
			*p = v
		}
	}
	if s.Pairs == 0 {
		s.Pairs = 40
	}
	if s.MaxIterations == 0 {
		s.MaxIterations = 200
	}
	def(&s.LearningRateMean, 0.05)
	def(&s.LearningRateSigma, 0.1)
	def(&s.Sigma, 1)
	def(&s.MinSigma, 0.01)
	return s
}

func (s Settings) check(start []float64) error {
	switch {
	case s.Pairs < 1 || s.MaxIterations < 1:
		return fmt.Errorf("pgpe: Settings.Pairs is %d and MaxIterations %d; both must be at least 1", s.Pairs, s.MaxIterations)
	case !(s.Sigma > 0) || !(s.MinSigma > 0) || s.MinSigma > s.Sigma:
		return fmt.Errorf("pgpe: Settings.Sigma is %v and MinSigma %v; they must be positive, MinSigma the smaller", s.Sigma, s.MinSigma)
	case !(s.LearningRateMean >= 0) || !(s.LearningRateSigma >= 0):
		return fmt.Errorf("pgpe: the learning rates are %v and %v; they must not be negative", s.LearningRateMean, s.LearningRateSigma)
	case s.Shaping < Sums || s.Shaping > Ranks:
		return fmt.Errorf("pgpe: Settings.Shaping is %d; use Sums, Averages or Ranks", int(s.Shaping))
	case len(start) == 0:
		return fmt.Errorf("pgpe: the start has no coordinates")
	case s.Resume != nil && len(s.Resume.Mean) != len(start):
		return fmt.Errorf("pgpe: Settings.Resume has %d coordinates, the start %d", len(s.Resume.Mean), len(start))
	case s.Resume != nil && s.Resume.Iterations > 0 && s.Resume.Settings.identity() != s.identity():
		return fmt.Errorf("pgpe: Settings.Resume is a run with other settings:\n  there: %+v\n  now:   %+v", s.Resume.Settings.identity(), s.identity())
	}
	for j, v := range start {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return fmt.Errorf("pgpe: coordinate %d of the start is %v; it must be finite", j, v)
		}
	}
	return nil
}

// identity is what determines a run, besides its start and the function.
type identity struct {
	Pairs                               int
	LearningRateMean, LearningRateSigma float64
	Sigma, MinSigma                     float64
	Shaping                             Shaping
	Seed                                uint64
}

func (s Settings) identity() identity {
	return identity{s.Pairs, s.LearningRateMean, s.LearningRateSigma, s.Sigma, s.MinSigma, s.Shaping, s.Seed}
}

// Run minimises f from start. On an error of f, and on the end of ctx, it
// returns the result so far and the error; of an iteration that was not
// finished nothing remains.
func Run(ctx context.Context, start []float64, f Objective, s Settings) (Result, error) {
	s = s.withDefaults()
	if err := s.check(start); err != nil {
		return Result{}, err
	}
	r := begin(start, s)
	r.Settings = s
	r.Settings.Stop, r.Settings.Resume, r.Settings.OnEvent = nil, nil, nil
	g := newGeneration(s.Pairs, len(start))
	for r.Iterations < s.MaxIterations {
		if err := ctx.Err(); err != nil {
			r.Status = run.Cancelled
			return r, err
		}
		g.sample(r.Mean, r.Sigma, s.Seed, r.Iterations)
		if err := g.evaluate(ctx, f); err != nil {
			if ctx.Err() != nil {
				r.Status = run.Cancelled
			}
			return r, err
		}
		it := g.update(&r, s)
		it.Distance = distance(r.Mean, start)
		for _, v := range r.Sigma {
			it.MeanSigma += v / float64(len(r.Sigma))
		}
		if s.KeepPath {
			it.Mean, it.Sigma = slices.Clone(r.Mean), slices.Clone(r.Sigma)
		}
		r.History = append(r.History, it)
		if s.OnEvent != nil {
			s.OnEvent(run.Event{Stage: "pgpe", Step: it.Number, Total: s.MaxIterations, Value: it.Lowest, Best: it.Best})
		}
		if s.Stop != nil && s.Stop(it) {
			r.Status = run.Converged
			return r, nil
		}
	}
	r.Status = run.BudgetSpent
	return r, nil
}

// begin returns the result to continue from.
func begin(start []float64, s Settings) Result {
	if p := s.Resume; p != nil && p.Iterations > 0 {
		r := *p
		r.Mean, r.Sigma, r.Best = slices.Clone(p.Mean), slices.Clone(p.Sigma), slices.Clone(p.Best)
		r.Moments = [2][]float64{slices.Clone(p.Moments[0]), slices.Clone(p.Moments[1])}
		r.History = slices.Clone(p.History)
		return r
	}
	r := Result{
		Best: slices.Clone(start), Value: math.Inf(1),
		Mean: slices.Clone(start), Sigma: make([]float64, len(start)),
	}
	for j := range r.Sigma {
		r.Sigma[j] = s.Sigma
	}
	if s.Shaping == Ranks {
		r.Moments = [2][]float64{make([]float64, len(start)), make([]float64, len(start))}
	}
	return r
}

// A generation is mu + eps_i, mu - eps_i (i = 1 to n) and mu, with values.
type generation struct {
	n          int
	eps        [][]float64
	candidates [][]float64
	values     []float64
}

func newGeneration(n, dim int) *generation {
	g := &generation{n: n, eps: make([][]float64, n), candidates: make([][]float64, 2*n+1), values: make([]float64, 2*n+1)}
	for i := range g.eps {
		g.eps[i] = make([]float64, dim)
	}
	for i := range g.candidates {
		g.candidates[i] = make([]float64, dim)
	}
	return g
}

// sample draws the perturbations of an iteration, from a stream of its own.
func (g *generation) sample(mean, sigma []float64, seed uint64, iteration int) {
	rng := run.Rand(seed, "pgpe", iteration)
	for _, eps := range g.eps {
		for j := range eps {
			eps[j] = sigma[j] * rng.NormFloat64()
		}
	}
	g.place(mean)
}

// place puts the candidates about the mean.
func (g *generation) place(mean []float64) {
	for i, eps := range g.eps {
		plus, minus := g.candidates[i], g.candidates[g.n+i]
		for j, e := range eps {
			plus[j], minus[j] = mean[j]+e, mean[j]-e
		}
	}
	copy(g.candidates[2*g.n], mean)
}

func (g *generation) evaluate(ctx context.Context, f Objective) error {
	if err := f(ctx, g.values, g.candidates); err != nil {
		return err
	}
	for i, v := range g.values {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return fmt.Errorf("pgpe: the objective's value of candidate %d is %v; every value must be finite", i, v)
		}
	}
	return nil
}

// update takes the step and returns the iteration's record.
func (g *generation) update(r *Result, s Settings) Iteration {
	r.Iterations++
	r.Evaluations += len(g.values)
	it := Iteration{Number: r.Iterations, AtMean: g.values[2*g.n], Lowest: math.Inf(1)}
	for i, v := range g.values {
		it.Average += v / float64(len(g.values))
		it.Lowest = min(it.Lowest, v)
		if v <= r.Value {
			r.Value = v
			copy(r.Best, g.candidates[i])
		}
	}
	it.Best = r.Value

	f := g.values
	if s.Shaping == Ranks {
		f = centredRanks(f)
	}
	n, base := g.n, f[2*g.n]
	dm, ds := make([]float64, len(r.Mean)), make([]float64, len(r.Mean))
	for i, eps := range g.eps {
		difference := f[i] - f[n+i]
		gain := (f[i]+f[n+i])/2 - base
		for j, e := range eps {
			dm[j] += difference * e
			ds[j] += gain * (e*e - r.Sigma[j]*r.Sigma[j]) / r.Sigma[j]
		}
	}
	switch s.Shaping {
	case Ranks:
		adam(r, dm, s.LearningRateMean)
		scale := s.LearningRateSigma / (2 * float64(n) * deviation(f))
		for j, v := range r.Sigma {
			v -= min(max(scale*ds[j], -0.2*v), 0.2*v)
			if v > s.MinSigma {
				v *= 0.999
			}
			r.Sigma[j] = max(v, s.MinSigma)
		}
		return it
	case Averages:
		for j := range dm {
			dm[j] /= float64(n)
			ds[j] /= float64(n)
		}
	}
	for j := range r.Mean {
		r.Mean[j] -= s.LearningRateMean * dm[j]
		r.Sigma[j] = max(r.Sigma[j]-s.LearningRateSigma*ds[j], s.MinSigma)
	}
	return it
}

// adam moves the mean against the gradient.
func adam(r *Result, gradient []float64, rate float64) {
	const b1, b2, epsilon = 0.99, 0.999, 1e-8
	t := float64(r.Iterations)
	a := rate * math.Sqrt(1-math.Pow(b2, t)) / (1 - math.Pow(b1, t))
	m, v := r.Moments[0], r.Moments[1]
	for j, g := range gradient {
		m[j] = b1*m[j] + (1-b1)*g
		v[j] = b2*v[j] + (1-b2)*g*g
		r.Mean[j] -= a * m[j] / (math.Sqrt(v[j]) + epsilon)
	}
}

// centredRanks returns the ranks of f mapped to [-1/2, 1/2]; equal values get
// the mean of their ranks.
func centredRanks(f []float64) []float64 {
	order := make([]int, len(f))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int {
		switch {
		case f[a] < f[b]:
			return -1
		case f[a] > f[b]:
			return 1
		}
		return a - b
	})
	out := make([]float64, len(f))
	for i := 0; i < len(order); {
		j := i
		for j < len(order) && f[order[j]] == f[order[i]] {
			j++
		}
		for _, k := range order[i:j] {
			out[k] = float64(i+j-1)/2/float64(len(f)-1) - 0.5
		}
		i = j
	}
	return out
}

// deviation returns the population standard deviation of f, 1 if it is 0.
func deviation(f []float64) float64 {
	var sum, squares float64
	for _, v := range f {
		sum += v
		squares += v * v
	}
	n := float64(len(f))
	if v := squares/n - sum/n*sum/n; v > 1e-24 {
		return math.Sqrt(v)
	}
	return 1
}

func distance(a, b []float64) float64 {
	var s float64
	for j, v := range a {
		s += (v - b[j]) * (v - b[j])
	}
	return math.Sqrt(s)
}
