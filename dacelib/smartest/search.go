package smartest

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"

	"dace.local/dacelib/forest"
	"dace.local/dacelib/problem"
	"dace.local/dacelib/run"
)

// search is the state of a run.
type search struct {
	p problem.Problem
	s Settings
	d int

	known problem.Solutions // the solutions evaluated, in order
	value []float64         // their values
	index map[string]int    // from a solution's words to its index in known
	best  int               // index of the best solution in known

	population  []int // indices in known
	evaluations int
	generations int
	history     []Point
}

func newSearch(p problem.Problem, s Settings) *search {
	d := p.Dim()
	return &search{p: p, s: s, d: d, known: problem.Solutions{D: d}, index: make(map[string]int)}
}

// elite returns the number of individuals copied to the next generation.
func (g *search) elite() int {
	return int(g.s.Config.EliteRate * float64(len(g.population)))
}

// rest returns the number of individuals that are replaced.
func (g *search) rest() int { return len(g.population) - g.elite() }

// first draws and evaluates the first generation.
func (g *search) first(ctx context.Context) error {
	n := min(g.s.Config.Population, g.s.Evaluations)
	if g.d < 31 {
		n = min(n, 1<<g.d)
	}
	x, err := problem.Distinct(run.Rand(g.s.Seed, "smartest: first"), n, g.d)
	if err != nil {
		return err
	}
	return g.enter(ctx, x)
}

// generation replaces all individuals except the elite.
func (g *search) generation(ctx context.Context) error {
	rng := run.Rand(g.s.Seed, "smartest: generation", g.generations)
	pop := g.population
	slices.SortStableFunc(pop, func(a, b int) int { return cmp.Compare(g.value[b], g.value[a]) })
	children := g.cross(rng)
	climbed, err := g.climb(ctx, children)
	if err != nil {
		return err
	}
	elite := g.elite()
	taken := make(map[string]bool)
	for _, i := range pop[:elite] {
		taken[key(g.known.Row(i))] = true
	}
	want := min(g.rest(), g.s.Evaluations-g.evaluations)
	next := problem.NewSolutions(want, g.d)
	n := 0
	take := func(row []uint64) {
		if k := key(row); n < want && !taken[k] {
			taken[k] = true
			copy(next.Row(n), row)
			n++
		}
	}
	for _, x := range []problem.Solutions{climbed, children} {
		for i := range x.Len() {
			take(x.Row(i))
		}
	}
	for _, i := range pop[elite:] {
		take(g.known.Row(i))
	}
	g.population = pop[:elite]
	return g.enter(ctx, next.Slice(0, n))
}

// enter adds solutions to the population, in order, and evaluates those that
// are new.
func (g *search) enter(ctx context.Context, x problem.Solutions) error {
	old := len(g.value)
	for i := range x.Len() {
		k := key(x.Row(i))
		at, ok := g.index[k]
		if !ok {
			at = len(g.index)
			g.index[k] = at
			g.known.Words = append(g.known.Words, x.Row(i)...)
		}
		g.population = append(g.population, at)
	}
	g.value = append(g.value, make([]float64, g.known.Len()-old)...)
	fresh := g.value[old:]
	if len(fresh) > 0 {
		err := g.p.Evaluate(ctx, fresh, g.known.Slice(old, g.known.Len()))
		for i, v := range fresh {
			if err == nil && !(v < math.Inf(1)) {
				err = fmt.Errorf("smartest: problem %s: the value of %s is %v", g.p.Name(), g.known.Slice(old+i, old+i+1), v)
			}
		}
		if err != nil {
			g.value = g.value[:old]
			return err
		}
	}
	top := math.Inf(-1)
	for _, at := range g.population[len(g.population)-x.Len():] {
		g.evaluations++
		top = max(top, g.value[at])
		if g.evaluations == 1 || g.value[at] > g.value[g.best] {
			g.best = at
			g.history = append(g.history, Point{Evaluations: g.evaluations, Best: g.value[at]})
		}
	}
	g.generations++
	if g.s.OnEvent != nil {
		g.s.OnEvent(run.Event{
			Stage: "smartest", Step: g.evaluations, Total: g.s.Evaluations, Value: top, Best: g.value[g.best],
			Detail: fmt.Sprintf("generation %d, %d solutions evaluated", g.generations, len(g.value)),
		})
	}
	return nil
}

// finite returns the values of the solutions with the given indices in known,
// or of all known ones if at is nil. It replaces -Inf by the lowest finite
// value.
func (g *search) finite(at []int) []float64 {
	v := slices.Clone(g.value)
	if at != nil {
		v = v[:0]
		for _, i := range at {
			v = append(v, g.value[i])
		}
	}
	low := math.Inf(1)
	for _, x := range g.value {
		if !math.IsInf(x, -1) {
			low = min(low, x)
		}
	}
	if math.IsInf(low, 1) {
		low = 0
	}
	for i := range v {
		v[i] = max(v[i], low)
	}
	return v
}

// cross returns as many children as there are individuals to be replaced.
func (g *search) cross(rng *rand.Rand) problem.Solutions {
	n := g.rest()
	children := problem.NewSolutions(n, g.d)
	weight := g.finite(g.population)
	low, high := slices.Min(weight), slices.Max(weight)
	for i := range weight {
		weight[i] -= low
		if high > low {
			weight[i] += (high - low) / float64(len(weight))
		} else {
			weight[i] = 1
		}
	}
	for i := 0; i < n; i += 2 {
		a := spin(rng, weight, -1)
		b := a
		if len(weight) > 1 {
			b = spin(rng, weight, a)
		}
		p, q := g.known.Row(g.population[a]), g.known.Row(g.population[b])
		cut := rng.IntN(g.d)
		if rng.Float64() >= g.s.Config.Crossover {
			cut = g.d
		}
		splice(children.Row(i), p, q, cut)
		if i+1 < n {
			splice(children.Row(i+1), q, p, cut)
		}
	}
	return children
}

// spin draws an index other than not, with probability proportional to its
// weight; all weights are positive.
func spin(rng *rand.Rand, weight []float64, not int) int {
	total := 0.0
	for i, w := range weight {
		if i != not {
			total += w
		}
	}
	u := rng.Float64() * total
	last := 0
	for i, w := range weight {
		if i == not {
			continue
		}
		last = i
		if u -= w; u < 0 {
			break
		}
	}
	return last
}

// splice sets dst to the bits of a below cut and those of b from there on.
func splice(dst, a, b []uint64, cut int) {
	for w := range dst {
		mask := ^uint64(0) // the bits from a
		if n := cut - 64*w; n <= 0 {
			mask = 0
		} else if n < 64 {
			mask = 1<<n - 1
		}
		dst[w] = a[w]&mask | b[w]&^mask
	}
}

// climb returns the local maxima of the forest's prediction that are reached
// from the given solutions: the flip that raises the prediction most is made
// until no flip raises it.
func (g *search) climb(ctx context.Context, from problem.Solutions) (problem.Solutions, error) {
	x := make([]float64, len(g.value)*g.d)
	for i := range g.value {
		unpack(x[i*g.d:][:g.d], g.known.Row(i))
	}
	y := g.finite(nil)
	f, err := forest.Fit(x, y, g.d, forest.Settings{
		Trees: g.s.Trees, FeatureRatio: 1, MinSplit: 2, MinLeaf: 1, MaxDepth: g.d, Workers: g.s.Workers,
		Seed: run.Seed(g.s.Seed, "smartest: forest", g.generations),
	})
	if err != nil {
		return from, err
	}
	least := 1e-12 * (slices.Max(y) - slices.Min(y)) // smaller differences are rounding errors
	to := problem.NewSolutions(from.Len(), g.d)
	var wg sync.WaitGroup
	work := func(w int) {
		u, flipped := make([]float64, g.d), make([]float64, g.d)
		for i := w; i < from.Len() && ctx.Err() == nil; i += g.s.Workers {
			row := to.Row(i)
			copy(row, from.Row(i))
			unpack(u, row)
			for {
				base := f.Flips(flipped, u)
				best := 0
				for j, v := range flipped {
					if v > flipped[best] {
						best = j
					}
				}
				if flipped[best] <= base+least {
					break
				}
				u[best] = 1 - u[best]
				row[best>>6] ^= 1 << (best & 63)
			}
		}
	}
	for w := 1; w < g.s.Workers; w++ {
		wg.Go(func() { work(w) })
	}
	work(0)
	wg.Wait()
	return to, ctx.Err()
}

// unpack writes the bits of a solution to dst as zeros and ones.
func unpack(dst []float64, row []uint64) {
	for j := range dst {
		dst[j] = float64(row[j>>6] >> (j & 63) & 1)
	}
}

// key returns a solution's words as a map key.
func key(row []uint64) string {
	b := make([]byte, 0, 8*len(row))
	for _, w := range row {
		b = binary.LittleEndian.AppendUint64(b, w)
	}
	return string(b)
}
