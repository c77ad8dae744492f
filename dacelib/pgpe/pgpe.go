// Package pgpe minimises a function of real numbers by policy gradients with
// parameter-based exploration (Sehnke et al., 2010). The paper's appendix A
// uses it to find hard instances. A normal distribution with mean mu and one
// standard deviation per coordinate is moved along an estimate of the gradient
// of the function's expectation under it.
//
// Start with [Run]. The function is evaluated on a whole generation, 2N+1
// points, in one call. A long run saves its state in a file, from which it
// continues after an interruption: see [Settings].Checkpoint. A [Rule] ends a
// run early.
//
// It is made for noisy functions of many coordinates; for smooth functions
// other methods are better. The table gives the number of evaluations in which
// the value of mu falls to the target, with [Ranks], ten pairs and Sigma 0.5
// (geometric means over 30 seeds). The right column is for another
// implementation, estool's PEPG, with sigma bounded from below
// (testdata/reference.py):
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
	"errors"
	"fmt"
	"math"
	"slices"

	"dace.local/dacelib/internal/defaults"
	"dace.local/dacelib/internal/failure"
	"dace.local/dacelib/run"
)

// An Objective sets dst[i] to the value of candidates[i], which is minimised.
// It must not retain the slices. All values must be finite. The candidates of a
// generation should be evaluated with common random numbers, so that their
// differences are not noise.
type Objective func(ctx context.Context, dst []float64, candidates [][]float64) error

// A Shaping defines how the values of a generation become a step.
type Shaping int

const (
	// Sums is the paper's update, summed over the N pairs:
	//
	//	mu_j    -= alpha_mu    sum_i eps_ij (f_i - f_{N+i})
	//	sigma_j -= alpha_sigma sum_i S_ij ((f_i + f_{N+i})/2 - f_b)
	//	S_ij     = (eps_ij^2 - sigma_j^2) / sigma_j
	//
	// where eps_i is the i-th perturbation and f_b the value of mu. The paper
	// prints + (which ascends f), sigma_i for sigma_j, and M, S for their
	// transposes; these are misprints. The steps grow with the scale of f: the
	// update is made for values of about [0, 1].
	Sums Shaping = iota
	// Averages is the same update divided by N.
	Averages
	// Ranks replaces the values by their centred ranks in the generation, in
	// [-1/2, 1/2]; equal values get their mean rank. mu moves by Adam (0.99,
	// 0.999) with the learning rate. sigma's step is divided by 2N and the
	// ranks' standard deviation, changes sigma by at most 20 %, and sigma then
	// decays by 0.999. The steps do not depend on the scale of f. The authors'
	// optimiser is of this kind.
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

// Settings are the settings of a run. The zero value follows the paper (App.
// A); the numbers of pairs and iterations are those of the authors' code.
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
	// Shaping defines how values become a step; default Sums. The reading
	// Published has its own shaping and requires the default here.
	Shaping Shaping
	// Reading is the reading of the paper; default Written. Published is the
	// update of the authors' public code, for which Shaping must be left at its
	// default:
	//
	//	r     = centred ranks of all 2N+1 values, in [-1/2, 1/2], the lowest highest
	//	mu   += rate (r+ - r-)^T eps
	//	delta = (avg(r+, r-) - r(mu))^T S / (2N * deviation of the 2N ranks)
	//	sigma += alpha_sigma * delta, within [-sigma/2, +sigma]
	//
	// The rate begins at alpha_mu and is multiplied by 0.9999 in each
	// iteration, down to 0.001; a sigma above MinSigma is multiplied by 0.999
	// after the step. Equal values get the mean of their ranks; in the authors'
	// code their order depends on the sort.
	Reading run.Reading
	// Rule ends the run early by comparing it with Known, the values of the
	// present instances. If Known is empty, it never does. Default Authors.
	Rule Rule
	// Known holds the values with which Rule compares.
	Known []float64
	// Margin is the distance below the lowest value of Known that the rule
	// Enough requires, in units of the objective; default 0, for any lower
	// value.
	Margin float64
	// Stop, if not nil, is called after every iteration, in addition to Rule,
	// and ends the run by returning true. A resumed run calls it again for the
	// last iteration before the interruption.
	Stop func(Iteration) bool `json:"-"`
	// KeepPath records mean and sigma of every iteration in the history.
	KeepPath bool
	// Checkpoint, if not empty, is the path of a file in which the run saves
	// its state: after an iteration if the last save is at least 30 s ago, and
	// when the run is interrupted. The file is replaced atomically. A run with
	// the same start and settings (except Rule, Stop, MaxIterations and
	// KeepPath) continues from it, and its outcome is that of an uninterrupted
	// run. The file is removed when the run ends by itself. A file of other
	// settings, or one that is not a checkpoint, is an error. If the file was
	// cut off or damaged, the run starts anew and reports it by an event; if
	// the file cannot be written, the run also reports it by an event.
	Checkpoint string `json:"-"`
	// Resume continues from the result of a run with the same settings, as
	// defined for Checkpoint. The result may have been written as JSON and read
	// back. Resume and Checkpoint exclude each other.
	Resume *Result `json:"-"`
	// Seed is the seed of the perturbations. Equal seeds give equal runs.
	Seed uint64
	// OnEvent, if not nil, receives an event after every iteration: stage
	// "pgpe", Value the lowest value of the generation, Best the lowest so far.
	OnEvent func(run.Event) `json:"-"`
}

// An Iteration is the record of one iteration in the history.
type Iteration struct {
	// Number is the number of the iteration, from 1.
	Number int
	// AtMean is the value of mu before the step; Lowest and Average are the
	// lowest and the mean value of the generation; Best is the lowest so far.
	AtMean, Lowest, Average, Best float64
	// Distance is |mu - start|, Euclidean, after the step; MeanSigma is the
	// mean of the standard deviations after it.
	Distance, MeanSigma float64
	// Mean and Sigma are mu and sigma after the step, if [Settings].KeepPath.
	Mean, Sigma []float64
}

// A Result is the outcome of a run.
type Result struct {
	// Best is the point of the lowest value seen, the last one among equals.
	// Value is its value.
	Best  []float64
	Value float64
	// Mean and Sigma are those of the distribution at the end.
	Mean, Sigma []float64
	// History has one entry per iteration.
	History []Iteration
	// Iterations and Evaluations are the numbers of those made.
	Iterations, Evaluations int
	// Status says why the run ended.
	Status run.Status
	// Settings are the settings of the run, with defaults filled in, without
	// the functions.
	Settings Settings
	// Moments are Adam's first and second moments, with which Ranks resumes.
	Moments [2][]float64
	// Rate is the learning rate of the mean in the next iteration.
	Rate float64
}

func (s Settings) withDefaults() Settings {
	defaults.Set(&s.Pairs, 40)
	defaults.Set(&s.MaxIterations, 200)
	defaults.Set(&s.LearningRateMean, 0.05)
	defaults.Set(&s.LearningRateSigma, 0.1)
	defaults.Set(&s.Sigma, 1)
	defaults.Set(&s.MinSigma, 0.01)
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
	case s.Reading != run.Written && s.Reading != run.Published:
		return fmt.Errorf("pgpe: Settings.Reading is %d; use run.Written or run.Published", int(s.Reading))
	case s.Reading == run.Published && s.Shaping != Sums:
		return fmt.Errorf("pgpe: Settings.Shaping is %v, which the reading Published does not use; leave it 0", s.Shaping)
	case s.Rule < Authors || s.Rule > Never:
		return fmt.Errorf("pgpe: Settings.Rule is %d; use Authors, Enough or Never", int(s.Rule))
	case !(s.Margin >= 0):
		return fmt.Errorf("pgpe: Settings.Margin is %v; it must not be negative", s.Margin)
	case s.Checkpoint != "" && s.Resume != nil:
		return fmt.Errorf("pgpe: both Settings.Checkpoint and Settings.Resume say where to go on; give one of them")
	case len(start) == 0:
		return fmt.Errorf("pgpe: the start has no coordinates")
	case s.Resume != nil && s.Resume.Iterations > 0 && s.Resume.Settings.identity() != s.identity():
		return fmt.Errorf("pgpe: Settings.Resume is a run with other settings:\n  there: %+v\n  now:   %+v", s.Resume.Settings.identity(), s.identity())
	case s.Resume != nil:
		if err := s.Resume.check(len(start)); err != nil {
			return fmt.Errorf("pgpe: Settings.Resume: %w", err)
		}
	}
	if err := defaults.AtMost("pgpe", defaults.Bound{Field: "Settings.Pairs", Value: s.Pairs, Most: min(1<<20, 1<<27/len(start))},
		defaults.Bound{Field: "Settings.MaxIterations", Value: s.MaxIterations, Most: 1 << 30}); err != nil {
		return err
	}
	for i, v := range s.Known {
		if math.IsNaN(v) {
			return fmt.Errorf("pgpe: Settings.Known[%d] is NaN; give the performance on instance %d", i, i)
		}
	}
	for j, v := range start {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return fmt.Errorf("pgpe: coordinate %d of the start is %v; it must be finite", j, v)
		}
	}
	return nil
}

// identity holds the values that determine a run, besides its start and the
// function.
type identity struct {
	Pairs                               int
	LearningRateMean, LearningRateSigma float64
	Sigma, MinSigma                     float64
	Shaping                             Shaping
	Reading                             run.Reading
	Seed                                uint64
}

func (s Settings) identity() identity {
	return identity{s.Pairs, s.LearningRateMean, s.LearningRateSigma, s.Sigma, s.MinSigma, s.Shaping, s.Reading, s.Seed}
}

// Run minimises f from start. If f fails or ctx ends, it returns the result so
// far and the error; an unfinished iteration leaves no trace in it.
func Run(ctx context.Context, start []float64, f Objective, s Settings) (Result, error) {
	defer run.Report(&ctx, "pgpe", &s.OnEvent)()
	s = s.withDefaults()
	if err := s.check(start); err != nil {
		return Result{}, err
	}
	before := s.Resume
	var file *checkpoint
	if s.Checkpoint != "" {
		var err error
		if file, before, err = openCheckpoint(start, s); err != nil {
			return Result{}, err
		}
	}
	r := begin(start, s, before)
	r.Settings = s
	r.Settings.Stop, r.Settings.Checkpoint, r.Settings.Resume, r.Settings.OnEvent = nil, "", nil, nil
	r.Settings.Known = slices.Clone(s.Known)
	err := iterate(ctx, start, f, s, &r, file)
	if err != nil {
		if ctx.Err() != nil {
			r.Status = run.Cancelled
		}
		return r, errors.Join(err, file.save(&r))
	}
	return r, file.remove()
}

// iterate makes the remaining iterations.
func iterate(ctx context.Context, start []float64, f Objective, s Settings, r *Result, file *checkpoint) error {
	g := newGeneration(s.Pairs, len(start))
	for {
		if n := len(r.History); n > 0 && s.Ends(r.History[n-1]) {
			r.Status = run.Converged
			return nil
		}
		if r.Iterations >= s.MaxIterations {
			r.Status = run.BudgetSpent
			return nil
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		g.sample(r.Mean, r.Sigma, s.Seed, r.Iterations)
		if err := g.evaluate(ctx, f); err != nil {
			return err
		}
		it := g.update(r, s)
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
		file.saveLater(r, s.OnEvent)
	}
}

// begin returns the result from which the run continues: before, the result of
// an earlier part of the run, or else a new one.
func begin(start []float64, s Settings, before *Result) Result {
	if p := before; p != nil && p.Iterations > 0 {
		r := *p
		r.Mean, r.Sigma, r.Best = slices.Clone(p.Mean), slices.Clone(p.Sigma), slices.Clone(p.Best)
		r.Moments = [2][]float64{slices.Clone(p.Moments[0]), slices.Clone(p.Moments[1])}
		r.History = slices.Clone(p.History)
		r.Status = run.NotRun
		return r
	}
	r := Result{
		Best: slices.Clone(start), Value: math.Inf(1),
		Mean: slices.Clone(start), Sigma: make([]float64, len(start)),
		Rate: s.LearningRateMean,
	}
	for j := range r.Sigma {
		r.Sigma[j] = s.Sigma
	}
	if s.Shaping == Ranks {
		r.Moments = [2][]float64{make([]float64, len(start)), make([]float64, len(start))}
	}
	return r
}

// A generation holds the points mu + eps_i, mu - eps_i (i = 1 to n) and mu,
// with their values.
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

// sample draws the perturbations of an iteration, from the iteration's own
// random stream.
func (g *generation) sample(mean, sigma []float64, seed uint64, iteration int) {
	rng := run.Rand(seed, "pgpe", iteration)
	for _, eps := range g.eps {
		for j := range eps {
			eps[j] = sigma[j] * rng.NormFloat64()
		}
	}
	g.place(mean)
}

// place computes the candidates from the mean and the perturbations.
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
		return failure.Wrap(err)
	}
	for i, v := range g.values {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return fmt.Errorf("pgpe: the objective's value of candidate %d is %v; every value must be finite", i, v)
		}
	}
	return nil
}

// update makes the step and returns the iteration's record.
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
	if s.Shaping == Ranks || s.Reading == run.Published {
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
	switch {
	case s.Reading == run.Published:
		publishedStep(r, s, dm, ds, 2*float64(n)*deviation(f[:2*n]))
		return it
	case s.Shaping == Ranks:
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
	case s.Shaping == Averages:
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

// publishedStep makes the step of the reading [run.Published]. dm and ds are
// the sums of the ranks' descent directions; ds is still to be divided by
// scale.
func publishedStep(r *Result, s Settings, dm, ds []float64, scale float64) {
	const meanDecay, sigmaDecay, minRate = 0.9999, 0.999, 0.001
	for j := range r.Mean {
		r.Mean[j] -= r.Rate * dm[j]
		v := r.Sigma[j]
		v += min(max(-s.LearningRateSigma*ds[j]/scale, -v/2), v)
		if v > s.MinSigma {
			v *= sigmaDecay
		}
		r.Sigma[j] = v
	}
	if r.Rate > minRate {
		r.Rate = max(r.Rate*meanDecay, minRate)
	}
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
