package construct

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"
)

// This file estimates how good the contenders of a race are. Each has few runs, and
// of many contenders the luckiest looks best. What is known of configurations
// nearby, and of the solver's others, corrects that: scores are the means of a
// Gaussian process after the runs (kriging with noise, as in Picheny, Ginsbourger,
// Richet, Caplin: Quantile-based optimization of noisy computer experiments,
// Technometrics 55, 2013), whose variances are the most likely ones.

// estimate sets the scores of the field, and how far each is from what the
// contender's own runs say. It changes nothing if the runs show no differences.
func (r *rungs) estimate() {
	e := r.evidence()
	if e == nil {
		return
	}
	post := e.posterior()
	for i, c := range r.tried {
		if post != nil && slices.Contains(r.field, c) {
			c.score, c.shift = post[i], post[i]-e.y[i]
		}
	}
}

// evidence is what the runs say about the contenders tried: y[i] is the mean over
// instances of tried[i], relative to the field on the same instances, with what the
// best of K runs adds, in units of the instances' spread; noise[i] is the variance of
// its error, runs that of a run's value on an instance.
type evidence struct {
	tried    []*contender
	y, noise []float64
	runs     float64
}

// evidence returns nil if the runs are too few or all the same.
func (r *rungs) evidence() *evidence {
	n := len(r.tried)
	e := &evidence{tried: r.tried, y: make([]float64, n), noise: make([]float64, n)}
	type place struct{ contender, instance int }
	means := map[place]float64{}
	squares, counts, met := make([]float64, n), make([]int, n), make([]int, n)
	free := 0
	inField := make([]bool, n)
	for i, c := range r.tried {
		inField[i] = slices.Contains(r.field, c)
	}
	base := make([]float64, len(r.training))
	mid, spread := r.scales(r.field, len(r.columns))
	for m := range r.training {
		if len(r.field[0].values[m]) == 0 {
			continue
		}
		for i, c := range r.tried {
			k := len(c.values[m])
			if k == 0 {
				continue
			}
			mean := 0.0
			for _, v := range c.values[m] {
				mean += clipped(v, mid[m], spread[m]) / float64(k)
			}
			for _, v := range c.values[m] {
				d := clipped(v, mid[m], spread[m]) - mean
				squares[i] += d * d
			}
			means[place{i, m}] = mean
			counts[i] += k
			met[i]++
			free += k - 1
			if inField[i] {
				base[m] += mean / float64(len(r.field))
			}
		}
	}
	for _, s := range squares {
		e.runs += s / float64(max(1, free))
	}
	// What is left of the field's means after contenders and instances: runs, and how
	// differently contenders do on instances.
	instances, left, k := 0, 0.0, 0.0
	for m := range r.training {
		if c := len(r.field[0].values[m]); c > 0 {
			instances++
			k += 1 / float64(c)
		}
	}
	for i := range r.tried {
		if !inField[i] {
			continue
		}
		own := 0.0
		for m := range r.training {
			if v, ok := means[place{i, m}]; ok {
				own += (v - base[m]) / float64(instances)
			}
		}
		for m := range r.training {
			if v, ok := means[place{i, m}]; ok {
				left += (v - base[m] - own) * (v - base[m] - own)
			}
		}
	}
	interaction := 0.0
	if len(r.field) > 1 && instances > 1 {
		left /= float64((len(r.field) - 1) * (instances - 1))
		if free == 0 {
			e.runs = left
		}
		interaction = max(0, left-e.runs*k/float64(instances))
	}
	if e.runs <= 0 {
		return nil
	}
	more := expectedMax(r.c.s.Members)
	for i, c := range r.tried {
		for m := range r.training {
			if v, ok := means[place{i, m}]; ok {
				e.y[i] += (v - base[m]) * float64(len(c.values[m])) / float64(counts[i])
			}
		}
		e.y[i] += more * math.Sqrt((squares[i]+prior*e.runs)/float64(counts[i]-met[i]+prior))
		e.noise[i] = e.runs*(1+more*more/2)/float64(counts[i]) + interaction/float64(met[i])
	}
	// How far the worst are behind says nothing about the best.
	floor := slices.Max(e.y) - 4*math.Sqrt(e.runs)
	for i := range e.y {
		e.y[i] = max(e.y[i], floor)
	}
	return e
}

// likely are the variances tried, of a solver's configurations in common and of one
// of them, in units of that of a run.
var likely = []float64{0, 0.01, 0.03, 0.1, 0.3, 1}

// posterior returns the mean of the process for each contender under the most likely
// variances, nil if no matrix can be inverted.
func (e *evidence) posterior() []float64 {
	n := len(e.y)
	ones := mat.NewVecDense(n, nil)
	for i := range n {
		ones.SetVec(i, 1)
	}
	near := make([][]float64, n)
	for i, c := range e.tried {
		near[i] = make([]float64, n)
		for j := range i {
			near[i][j] = c.near(e.tried[j])
		}
		near[i][i] = 1
	}
	var post []float64
	top := math.Inf(-1)
	for _, family := range likely {
		for _, own := range likely {
			belief, all := mat.NewSymDense(n, nil), mat.NewSymDense(n, nil)
			for i, c := range e.tried {
				for j := range i + 1 {
					v := own * e.runs * near[i][j]
					if c.config.Solver() == e.tried[j].config.Solver() {
						v += family * e.runs
					}
					belief.SetSym(i, j, v)
					if i == j {
						v += e.noise[i]
					}
					all.SetSym(i, j, v)
				}
			}
			var inverse mat.Cholesky
			if !inverse.Factorize(all) {
				continue
			}
			var scaledOnes, scaled mat.VecDense
			if inverse.SolveVecTo(&scaledOnes, ones) != nil || inverse.SolveVecTo(&scaled, mat.NewVecDense(n, e.y)) != nil {
				continue
			}
			mean := mat.Dot(ones, &scaled) / mat.Dot(ones, &scaledOnes)
			rest := mat.NewVecDense(n, nil)
			for i, y := range e.y {
				rest.SetVec(i, y-mean)
			}
			scaled.AddScaledVec(&scaled, -mean, &scaledOnes)
			if l := -mat.Dot(rest, &scaled)/2 - inverse.LogDet()/2; l > top {
				top = l
				var out mat.VecDense
				out.MulVec(belief, &scaled)
				post = make([]float64, n)
				for i := range post {
					post[i] = mean + out.AtVec(i)
				}
			}
		}
	}
	return post
}

// near returns the correlation of two configurations of one solver: Gaussian, with
// three tenths of a parameter's range as its length; 0 for those of different
// solvers.
func (c *contender) near(d *contender) float64 {
	if c.config.Solver() != d.config.Solver() {
		return 0
	}
	q := 0.0
	for i, u := range c.place {
		q += (u - d.place[i]) * (u - d.place[i])
	}
	return math.Exp(-q / (2 * 0.3 * 0.3))
}
