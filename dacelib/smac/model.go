package smac

import (
	"math"
	"math/rand/v2"
	"slices"

	"dace.local/dacelib/forest"
	"dace.local/dacelib/run"
)

// scratch is memory that is used again at each fit.
type scratch struct {
	random, near   []float64 // candidates, row by row
	mean, variance []float64
}

// grown returns s with length n, in new memory where it is too short.
func grown(s []float64, n int) []float64 {
	if cap(s) < n {
		return make([]float64, n, n+n/4)
	}
	return s[:n]
}

// floor is the least variance across trees that the model admits [SMAC].
const floor = 1e-10

// forestSettings returns the model's settings for the next fit.
func (o *Optimizer) forestSettings() forest.Settings {
	fs := o.s.Forest
	fs.Seed = run.Seed(o.s.Seed, "smac: forest", o.state.Batches)
	fs.Categories = make([]int, len(o.s.Space.Params))
	for j := range fs.Categories {
		fs.Categories[j] = o.s.Space.Params[j].choices()
	}
	return fs
}

// fit fits the model to the mean costs of the configurations tried, and
// returns it with their places.
func (o *Optimizer) fit() (*forest.Forest, []float64) {
	var x, y []float64
	for i := range o.state.Tried {
		t := &o.state.Tried[i]
		if len(t.Costs) == 0 {
			continue
		}
		for j, v := range t.Config {
			x = append(x, o.s.Space.Params[j].unit(v))
		}
		y = append(y, t.mean(len(t.Costs)))
	}
	f, err := forest.Fit(x, y, len(o.s.Space.Params), o.forestSettings())
	if err != nil {
		panic("smac: the forest refuses checked data: " + err.Error())
	}
	return f, x
}

// predict returns the model's mean and variance at each place of x, in memory
// that the next call uses again.
func (o *Optimizer) predict(f *forest.Forest, x []float64) (mean, variance []float64) {
	n := len(x) / f.Dim()
	sc := &o.scratch
	sc.mean, sc.variance = grown(sc.mean, n), grown(sc.variance, n)
	f.Predict(sc.mean, sc.variance, x)
	return sc.mean, sc.variance
}

// rank fits the model and returns up to k configurations that were not tried
// yet, those of the greatest expected improvement first: random ones, and the
// ends of local searches from the best evaluated and random ones.
func (o *Optimizer) rank(k int, rng *rand.Rand) [][]float64 {
	params := o.s.Space.Params
	d := len(params)
	f, x := o.fit()
	mean, variance := o.predict(f, x)
	eta := slices.Min(mean)
	tried := newTop(max(0, o.s.LocalStarts))
	for i, m := range mean {
		tried.offer(eta, m, variance[i], x[i*d:][:d], nil)
	}
	sc := &o.scratch
	sc.random = grown(sc.random, o.s.Candidates*d)
	for i := range sc.random {
		sc.random[i] = params[i%d].draw(rng)
	}
	mean, variance = o.predict(f, sc.random)
	random := newTop(max(0, o.s.LocalStarts))
	best := newTop(k)
	for i, m := range mean {
		u := sc.random[i*d:][:d]
		random.offer(eta, m, variance[i], u, nil)
		best.offer(eta, m, variance[i], u, o.fresh)
	}
	for _, end := range o.search(f, eta, append(tried.items, random.items...), rng) {
		best.offer(eta, end.mean, end.variance, end.unit, o.fresh)
	}
	configs := make([][]float64, len(best.items))
	for i, c := range best.items {
		configs[i] = o.config(c.unit)
	}
	return configs
}

// search goes from each start to its best neighbour until none is better, all
// side by side, and returns where they end.
func (o *Optimizer) search(f *forest.Forest, eta float64, starts []scored, rng *rand.Rand) (ends []scored) {
	d := f.Dim()
	active := slices.Clone(starts)
	for i := range active {
		active[i].unit = slices.Clone(active[i].unit)
	}
	near := o.scratch.near
	for len(active) > 0 {
		near = near[:0]
		upTo := make([]int, len(active)) // the neighbours of each
		for w := range active {
			near = o.neighbours(near, active[w].unit, rng)
			upTo[w] = len(near) / d
		}
		mean, variance := o.predict(f, near)
		i := 0
		moved := active[:0]
		for w, a := range active {
			from := a.ei
			for ; i < upTo[w]; i++ {
				if !mayExceed(eta, mean[i], variance[i], a.ei) {
					continue
				}
				if ei := improvement(eta, mean[i], variance[i]); ei > a.ei {
					a.mean, a.variance, a.ei = mean[i], variance[i], ei
					copy(a.unit, near[i*d:][:d])
				}
			}
			if a.ei > from {
				moved = append(moved, a)
			} else {
				ends = append(ends, a)
			}
		}
		active = moved
	}
	o.scratch.near = near
	return ends
}

// config returns the configuration at a place in the unit cube.
func (o *Optimizer) config(unit []float64) []float64 {
	c := make([]float64, len(unit))
	for j, u := range unit {
		c[j] = o.s.Space.Params[j].raw(u)
	}
	return c
}

// fresh reports whether the configuration at a place was not tried yet.
func (o *Optimizer) fresh(unit []float64) bool {
	_, ok := o.seen[key(o.config(unit))]
	return !ok
}

// neighbours appends the one-exchange neighbours of a place: every other value
// of a category, and four values of a number, normally distributed about its
// own with standard deviation 0.2 of the range and within it [SMAC].
func (o *Optimizer) neighbours(dst, unit []float64, rng *rand.Rand) []float64 {
	for j := range unit {
		p := &o.s.Space.Params[j]
		exchange := func(u float64) {
			dst = append(dst, unit...)
			dst[len(dst)-len(unit)+j] = u
		}
		if k := p.choices(); k > 0 {
			for v := range k {
				if float64(v) != unit[j] {
					exchange(float64(v))
				}
			}
			continue
		}
		if p.Lo == p.Hi {
			continue
		}
		for range 4 {
			u := unit[j] + 0.2*rng.NormFloat64()
			for u < 0 || u > 1 {
				u = unit[j] + 0.2*rng.NormFloat64()
			}
			if u = p.snap(u); u != unit[j] {
				exchange(u)
			}
		}
	}
	return dst
}

// improvement returns the expected improvement of a normal variable over eta,
// downwards (Jones et al. 1998, with xi = 0).
func improvement(eta, mean, variance float64) float64 {
	s := math.Sqrt(max(variance, floor))
	z := (eta - mean) / s
	return (eta-mean)*0.5*math.Erfc(-z/math.Sqrt2) + s*math.Exp(-0.5*z*z)/math.Sqrt(2*math.Pi)
}

// mayExceed reports, fast, whether the expected improvement can be greater
// than bound. With t = (mean - eta)/s > 0 it is at most s phi(t)/(1 + t^2), as
// the normal tail is at least t phi(t)/(1 + t^2), and exp(t^2/2) is at least
// its series to the second term; with t <= 0, at most eta - mean + s phi(0).
func mayExceed(eta, mean, variance, bound float64) bool {
	v := max(variance, floor)
	d := mean - eta
	if d <= 0 {
		b := bound + d
		return b < 0 || v > 2*math.Pi*b*b
	}
	t2 := d * d / v
	b := bound * (1 + t2) * (1 + t2/2 + t2*t2/8)
	return v > 2*math.Pi*b*b
}

// scored is a place with the model's opinion of it.
type scored struct {
	unit               []float64
	mean, variance, ei float64
}

// top keeps the n places of the greatest expected improvement of those
// offered, the greatest first, the earlier of equals first.
type top struct {
	n     int
	items []scored
}

func newTop(n int) *top { return &top{n: n, items: make([]scored, 0, n+1)} }

// offer keeps a place if it is among the best so far, is not among them
// already, and passes the filter, where there is one.
func (t *top) offer(eta, mean, variance float64, unit []float64, filter func([]float64) bool) {
	if t.n == 0 {
		return
	}
	var last scored
	full := len(t.items) == t.n
	if full {
		last = t.items[t.n-1]
		// A greater mean and a smaller variance cannot be better.
		if mean >= last.mean && variance <= last.variance || !mayExceed(eta, mean, variance, last.ei) {
			return
		}
	}
	ei := improvement(eta, mean, variance)
	if full && ei <= last.ei {
		return
	}
	for i := range t.items {
		if slices.Equal(t.items[i].unit, unit) {
			return
		}
	}
	if filter != nil && !filter(unit) {
		return
	}
	i := len(t.items)
	for i > 0 && t.items[i-1].ei < ei {
		i--
	}
	t.items = slices.Insert(t.items, i, scored{unit, mean, variance, ei})
	if len(t.items) > t.n {
		t.items = t.items[:t.n]
	}
}
