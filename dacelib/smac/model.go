package smac

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"

	"dace.local/dacelib/forest"
	"dace.local/dacelib/run"
)

// scratch is memory that fits and predictions reuse.
type scratch struct {
	x, y           []float64 // the data for the fit
	random         []float64 // candidates, row by row
	near           []forest.Exchange
	mean, variance []float64
}

// grown returns s with length n, reallocated if its capacity is too small.
func grown(s []float64, n int) []float64 {
	if cap(s) < n {
		return make([]float64, n, n+n/4)
	}
	return s[:n]
}

// floor is the lower bound of the variance across trees [SMAC].
const floor = 1e-10

// forestSettings returns the model's settings for the next fit.
func (o *Optimizer) forestSettings() forest.Settings {
	fs := o.s.Forest
	fs.Incremental = true
	if fs.Workers == 0 {
		fs.Workers = o.s.Workers
	}
	fs.Seed = run.Seed(o.s.Seed, "smac: forest", o.state.FitBatch)
	fs.Categories = make([]int, len(o.s.Space.Params))
	for j := range fs.Categories {
		fs.Categories[j] = o.s.Space.Params[j].choices()
	}
	for j, c := range o.s.Space.conditional() {
		if c && fs.Categories[j] > 0 {
			fs.Categories[j]++ // "not active"
		}
	}
	return fs
}

// A model predicts the cost of configurations.
type model struct {
	forest *forest.Forest
	// taken is the number of tried configurations that the forest contains.
	taken int
	// starts holds the places, row by row, of the evaluated configurations that
	// are predicted between two fits: the most promising of those before the
	// last fit, and all since.
	starts []float64
}

// promising is the number of configurations evaluated before the last fit that
// are predicted until the next fit: as many with the lowest mean, and as many
// with the greatest expected improvement.
const promising = 32

// stale reports whether the model must be fitted anew by the schedule of
// [Settings].RefitFrom.
func (o *Optimizer) stale() bool {
	fitted := o.state.Fitted
	if fitted == 0 || o.s.RefitFrom < 0 {
		return true
	}
	share := float64(fitted) / float64(o.s.RefitFrom)
	return float64(len(o.state.Tried)-fitted) >= float64(o.s.RefitEvery)*share*share
}

// refresh brings the model up to date with the configurations tried, by a new
// fit or by adding them to the trees.
func (o *Optimizer) refresh() {
	st, m := &o.state, &o.model
	if o.stale() {
		st.Fitted, st.FitBatch = len(st.Tried), st.Batches
		for i := range st.Tried {
			st.Tried[i].Seen = len(st.Tried[i].Costs)
		}
		o.fit()
	} else if m.forest == nil { // after a run was restored
		o.fit()
	}
	for ; m.taken < len(st.Tried); m.taken++ {
		t := &st.Tried[m.taken]
		if t.Seen == 0 {
			t.Seen = len(t.Costs)
		}
		from := len(m.starts)
		m.starts = o.place(m.starts, t)
		m.forest.Add(m.starts[from:], t.mean(t.Seen), run.Rand(o.s.Seed, "smac: add", m.taken))
	}
}

// fit fits the model to the first state.Fitted configurations and their costs.
func (o *Optimizer) fit() {
	sc := &o.scratch
	x, y := sc.x[:0], sc.y[:0]
	for i := range o.state.Tried[:o.state.Fitted] {
		t := &o.state.Tried[i]
		x = o.place(x, t)
		y = append(y, t.mean(t.Seen))
	}
	sc.x, sc.y = x, y
	d := len(o.s.Space.Params)
	f, err := forest.Fit(x, y, d, o.forestSettings())
	if err != nil {
		panic("smac: the forest refuses checked data: " + err.Error())
	}
	o.model = model{forest: f, taken: o.state.Fitted, starts: o.model.starts[:0]}

	mean, variance := o.predict(x)
	eta := slices.Min(mean)
	best := newTop(promising)
	order := make([]int, len(mean))
	for i, m := range mean {
		best.offer(eta, m, variance[i], x[i*d:][:d], nil)
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int { return cmp.Or(cmp.Compare(mean[i], mean[j]), i-j) })
	for _, c := range best.items {
		o.model.starts = append(o.model.starts, c.unit...)
	}
	for _, i := range order[:min(promising, len(order))] {
		if u := x[i*d:][:d]; !best.has(u) {
			o.model.starts = append(o.model.starts, u...)
		}
	}
}

// place appends a configuration's place, its coordinates in the unit cube.
func (o *Optimizer) place(dst []float64, t *tried) []float64 {
	if !o.s.Space.plain() {
		return append(dst, o.at(t.Config)...)
	}
	for j, v := range t.Config {
		dst = append(dst, o.s.Space.Params[j].unit(v))
	}
	return dst
}

// predict returns the model's mean and variance at each place of x, in memory
// that the next call overwrites.
func (o *Optimizer) predict(x []float64) (mean, variance []float64) {
	n := len(x) / len(o.s.Space.Params)
	sc := &o.scratch
	sc.mean, sc.variance = grown(sc.mean, n), grown(sc.variance, n)
	o.model.forest.Predict(sc.mean, sc.variance, x)
	return sc.mean, sc.variance
}

// rank refreshes the model and returns up to k untried configurations, those of
// the greatest expected improvement first. The candidates are random
// configurations, and the ends of local searches from the best evaluated and
// the best random ones.
func (o *Optimizer) rank(k int, rng *rand.Rand) [][]float64 {
	params := o.s.Space.Params
	d := len(params)
	o.refresh()
	x := o.model.starts
	mean, variance := o.predict(x)
	eta := slices.Min(mean)
	tried := newTop(max(0, o.s.LocalStarts))
	for i, m := range mean {
		tried.offer(eta, m, variance[i], x[i*d:][:d], nil)
	}
	sc := &o.scratch
	sc.random = grown(sc.random, o.s.Candidates*d)
	if o.s.Space.plain() {
		for i := range sc.random {
			sc.random[i] = params[i%d].draw(rng)
		}
	} else {
		o.randomPlaces(sc.random, rng)
	}
	mean, variance = o.predict(sc.random)
	random := newTop(max(0, o.s.LocalStarts))
	best := newTop(k)
	for i, m := range mean {
		u := sc.random[i*d:][:d]
		random.offer(eta, m, variance[i], u, nil)
		best.offer(eta, m, variance[i], u, o.fresh)
	}
	for _, end := range o.search(eta, append(tried.items, random.items...), rng) {
		best.offer(eta, end.mean, end.variance, end.unit, o.fresh)
	}
	configs := make([][]float64, len(best.items))
	for i, c := range best.items {
		configs[i] = o.config(c.unit)
	}
	return configs
}

// search moves from each start to its best neighbour until none is better, all
// starts in turn, and returns the ends.
func (o *Optimizer) search(eta float64, starts []scored, rng *rand.Rand) (ends []scored) {
	if !o.s.Space.plain() {
		return o.searchRelated(eta, starts, rng)
	}
	active := slices.Clone(starts)
	for i := range active {
		active[i].unit = slices.Clone(active[i].unit)
	}
	sc := &o.scratch
	for len(active) > 0 {
		moved := active[:0]
		for _, a := range active {
			sc.near = o.neighbours(sc.near[:0], a.unit, rng)
			n := len(sc.near)
			sc.mean, sc.variance = grown(sc.mean, n), grown(sc.variance, n)
			o.model.forest.PredictExchanges(sc.mean, sc.variance, a.unit, sc.near)
			best := -1
			for i, mean := range sc.mean {
				if mayExceed(eta, mean, sc.variance[i], a.ei) {
					if ei := improvement(eta, mean, sc.variance[i]); ei > a.ei {
						a.mean, a.variance, a.ei, best = mean, sc.variance[i], ei, i
					}
				}
			}
			if best < 0 {
				ends = append(ends, a)
				continue
			}
			to := sc.near[best]
			a.unit[to.Feature] = to.Value
			moved = append(moved, a)
		}
		active = moved
	}
	return ends
}

// config returns the configuration at a place in the unit cube.
func (o *Optimizer) config(unit []float64) []float64 {
	c := make([]float64, len(unit))
	for j, u := range unit {
		p := &o.s.Space.Params[j]
		if u == p.imputed() {
			c[j] = p.first()
		} else {
			c[j] = p.raw(u)
		}
	}
	return c
}

// fresh reports whether the configuration at a place is untried.
func (o *Optimizer) fresh(unit []float64) bool {
	_, ok := o.seen[key(o.config(unit))]
	return !ok
}

// neighbours appends the one-exchange neighbours of a place: for a category,
// every other value; for a number, four values drawn from a normal distribution
// around its value with a standard deviation of 0.2 of the range, truncated to
// the range [SMAC].
func (o *Optimizer) neighbours(dst []forest.Exchange, unit []float64, rng *rand.Rand) []forest.Exchange {
	for j := range unit {
		p := &o.s.Space.Params[j]
		if unit[j] == p.imputed() {
			continue
		}
		exchange := func(u float64) { dst = append(dst, forest.Exchange{Feature: j, Value: u}) }
		if k := p.choices(); k > 0 {
			for v := range k {
				if float64(v) != unit[j] {
					exchange(float64(v))
				}
			}
			continue
		}
		if lo, hi := p.ends(); lo == hi {
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

// improvement returns the expected improvement of a normal variable, that is,
// the expected amount by which it is below eta (Jones et al. 1998, with xi =
// 0).
func improvement(eta, mean, variance float64) float64 {
	s := math.Sqrt(max(variance, floor))
	z := (eta - mean) / s
	return (eta-mean)*0.5*math.Erfc(-z/math.Sqrt2) + s*math.Exp(-0.5*z*z)/math.Sqrt(2*math.Pi)
}

// mayExceed is a fast test whether the expected improvement can be greater than
// bound. With t = (mean - eta)/s > 0 it is at most s phi(t)/(1 + t^2), as the
// normal tail is at least t phi(t)/(1 + t^2), and exp(t^2/2) is at least its
// series to the second term; with t <= 0, it is at most eta - mean + s phi(0).
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

// A scored is a place with the model's prediction and expected improvement.
type scored struct {
	unit               []float64
	mean, variance, ei float64
}

// A top keeps, of the places offered, the n with the greatest expected
// improvement, in descending order; equal ones are in the order in which they
// were offered.
type top struct {
	n     int
	items []scored
}

func newTop(n int) *top { return &top{n: n, items: make([]scored, 0, n+1)} }

// has reports whether a place is among those kept.
func (t *top) has(unit []float64) bool {
	return slices.ContainsFunc(t.items, func(s scored) bool { return slices.Equal(s.unit, unit) })
}

// offer keeps a place if it is among the best so far, is not kept already, and
// passes the filter, if there is one.
func (t *top) offer(eta, mean, variance float64, unit []float64, filter func([]float64) bool) {
	if t.n == 0 {
		return
	}
	var last scored
	full := len(t.items) == t.n
	if full {
		last = t.items[t.n-1]
		// A mean and variance no better than the last one's cannot give more
		// improvement.
		if mean >= last.mean && variance <= last.variance || !mayExceed(eta, mean, variance, last.ei) {
			return
		}
	}
	ei := improvement(eta, mean, variance)
	if full && ei <= last.ei {
		return
	}
	if t.has(unit) {
		return
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
