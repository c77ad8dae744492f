package nir

import (
	"context"
	"fmt"
	"math"
	"math/bits"
	"slices"

	"dace.local/dacelib/problem"
	"dace.local/dacelib/run"
)

// A Similarity compares two objective functions on a sample of solutions.
type Similarity struct {
	// MSE is the mean squared difference of the values, those of each function
	// mapped to [0, 1] by their own minimum and maximum on the sample.
	MSE float64
	// Correlation of the values (Pearson); 0 where one function is constant.
	Correlation float64
}

// Compare returns how similar two problems of one dimension are, NIRs or
// instances, on n uniform solutions.
func Compare(ctx context.Context, a, b problem.Problem, n int, seed uint64) (Similarity, error) {
	s, err := CompareAll(ctx, a, []problem.Problem{b}, n, seed)
	if err != nil {
		return Similarity{}, err
	}
	return s[0], nil
}

// CompareAll returns how similar p is to each of the others, on n uniform
// solutions that are the same for all.
func CompareAll(ctx context.Context, p problem.Problem, others []problem.Problem, n int, seed uint64) ([]Similarity, error) {
	if n < 2 {
		return nil, fmt.Errorf("nir: comparing needs at least 2 solutions; got %d", n)
	}
	x := problem.Random(run.Rand(seed, "nir: compare"), n, p.Dim())
	y := make([]float64, n)
	if err := p.Evaluate(ctx, y, x); err != nil {
		return nil, err
	}
	out := make([]Similarity, len(others))
	z := make([]float64, n)
	for i, o := range others {
		if o.Dim() != p.Dim() {
			return nil, fmt.Errorf("nir: %s has dimension %d, %s has %d; only problems of one dimension can be compared", p.Name(), p.Dim(), o.Name(), o.Dim())
		}
		if err := o.Evaluate(ctx, z, x); err != nil {
			return nil, err
		}
		out[i] = similarity(y, z)
	}
	return out, nil
}

// Closest returns the index of the instance that is most like p, by the mean
// squared difference on n uniform solutions, and its similarity.
func Closest(ctx context.Context, p problem.Problem, instances []problem.Problem, n int, seed uint64) (int, Similarity, error) {
	all, err := CompareAll(ctx, p, instances, n, seed)
	if err != nil {
		return -1, Similarity{}, err
	}
	if len(all) == 0 {
		return -1, Similarity{}, fmt.Errorf("nir: there is no instance to compare %s with", p.Name())
	}
	best := 0
	for i, s := range all {
		if s.MSE < all[best].MSE {
			best = i
		}
	}
	return best, all[best], nil
}

func similarity(y, z []float64) Similarity {
	type moments struct{ lo, hi, mean float64 }
	of := func(v []float64) moments {
		m := moments{v[0], v[0], 0}
		for _, u := range v {
			m.lo, m.hi = min(m.lo, u), max(m.hi, u)
			m.mean += u / float64(len(v))
		}
		return m
	}
	a, b := of(y), of(z)
	unit := func(v float64, m moments) float64 {
		if m.hi == m.lo {
			return 0
		}
		return (v - m.lo) / (m.hi - m.lo)
	}
	var s Similarity
	var yy, zz, yz float64
	for i := range y {
		e := unit(y[i], a) - unit(z[i], b)
		s.MSE += e * e / float64(len(y))
		u, v := y[i]-a.mean, z[i]-b.mean
		yy, zz, yz = yy+u*u, zz+v*v, yz+u*v
	}
	if yy > 0 && zz > 0 {
		s.Correlation = yz / math.Sqrt(yy*zz)
	}
	return s
}

// OneMaxSettings say how [ClosestOneMax] searches. The zero value is the
// paper's (App. F).
type OneMaxSettings struct {
	// Solutions is the number of solutions that the loss L1 is over; default
	// 100,000.
	Solutions int
	// Validation is that of the loss L2, of other solutions; default 500,000.
	Validation int
	// Seed of the solutions.
	Seed uint64
}

// A OneMaxMatch is the instance of OneMax that is closest to an NIR.
type OneMaxMatch struct {
	// Target string of the instance.
	Target []bool
	// L1 and L2 are the mean squared differences between NIR and instance on
	// the two sets of solutions, each of the two normalised to [0, 1] by its
	// own minimum and maximum over that set.
	L1, L2 float64
}

// String returns the target and the losses.
func (o OneMaxMatch) String() string {
	return fmt.Sprintf("%s  L1 %.2g  L2 %.2g", problem.Pack(o.Target), o.L1, o.L2)
}

// ClosestOneMax returns the instance of OneMax that is closest to p, an NIR
// (App. F): its target string, L1 and L2.
//
// NIR and instance are each normalised by their own extremes over the solutions
// that are compared. The paper says "by Eq. 11" and leaves open over which
// solutions; its tables tell: L1 and L2 of one target differ by up to a factor
// of two there, where under one range for both the means over 100,000 and
// 500,000 solutions would agree within some per cent. So L1 also says how well
// an NIR does at its two extreme solutions, the ones of which training has seen
// least: an NIR whose mean squared error is 3e-5 may have an L1 of 1e-3, where
// the paper's trained NIRs have 2.5e-5 to 4.9e-5. The affine scorers of
// [Authors] scatter less.
//
// The paper's search is BRKGA with 10,000 evaluations of L1, each on 100,000
// solutions. Given the range of the instance, L1 is a quadratic function of the
// target's signs, whose coefficients are moments of the solutions and the NIR's
// values; here they are summed once, and L1 of a string is then exact in d^2
// operations. The search goes from the signs of the correlations along the
// steepest changes of one or two bits. The extremes of OneMax over the
// solutions differ between targets by a bit or so, by chance, which can be worth
// as much as a wrong bit; so that chance does not decide, the search compares
// all targets under the range of the first. L1 and L2 are under the found
// target's.
func ClosestOneMax(ctx context.Context, p problem.Problem, o OneMaxSettings) (OneMaxMatch, error) {
	if o.Solutions == 0 {
		o.Solutions = 100_000
	}
	if o.Validation == 0 {
		o.Validation = 500_000
	}
	if o.Solutions < 2 || o.Validation < 2 {
		return OneMaxMatch{}, fmt.Errorf("nir: OneMaxSettings.Solutions is %d and Validation %d; both must be at least 2", o.Solutions, o.Validation)
	}
	x := problem.Random(run.Rand(o.Seed, "nir: onemax"), o.Solutions, p.Dim())
	y, err := normalisedValues(ctx, p, x)
	if err != nil {
		return OneMaxMatch{}, err
	}
	q := newQuadratic(x, y)
	t := q.signs()
	q.descend(t, oneMaxRange(x, t))
	match := OneMaxMatch{Target: t.Bools(0), L1: q.loss(t, oneMaxRange(x, t))}

	x = problem.Random(run.Rand(o.Seed, "nir: onemax validation"), o.Validation, p.Dim())
	if y, err = normalisedValues(ctx, p, x); err != nil {
		return OneMaxMatch{}, err
	}
	r := oneMaxRange(x, t)
	for i := range y {
		e := y[i] - (float64(agreeing(x, i, t))-r.Min)/width(r)
		match.L2 += e * e / float64(len(y))
	}
	return match, nil
}

// normalisedValues returns the values of p mapped to [0, 1] by their minimum
// and maximum.
func normalisedValues(ctx context.Context, p problem.Problem, x problem.Solutions) ([]float64, error) {
	y := make([]float64, x.Len())
	if err := p.Evaluate(ctx, y, x); err != nil {
		return nil, err
	}
	r := Range{slices.Min(y), slices.Max(y)}
	for i, v := range y {
		y[i] = (v - r.Min) / width(r)
	}
	return y, nil
}

// agreeing returns the number of bits in which solution i agrees with t: its
// value under OneMax.
func agreeing(x problem.Solutions, i int, t problem.Solutions) int {
	differ := 0
	for w, v := range x.Row(i) {
		differ += bits.OnesCount64(v ^ t.Words[w])
	}
	return x.D - differ
}

// oneMaxRange returns the minimum and maximum of OneMax with target t over x.
func oneMaxRange(x, t problem.Solutions) Range {
	least, most := x.D, 0
	for i := range x.Len() {
		v := agreeing(x, i, t)
		least, most = min(least, v), max(most, v)
	}
	return Range{float64(least), float64(most)}
}

// A quadratic holds the moments of solutions, as signs x, and an NIR's values
// y: means over the solutions.
type quadratic struct {
	d    int
	y, q float64     // of y, y^2
	m, c []float64   // of x_j, y x_j
	g    [][]float64 // of x_j x_k
}

func newQuadratic(x problem.Solutions, y []float64) *quadratic {
	n, d := x.Len(), x.D
	q := &quadratic{d: d, m: make([]float64, d), c: make([]float64, d), g: make([][]float64, d)}
	// Bit j of all solutions side by side: x_j x_k is -1 where they differ.
	columns := make([][]uint64, d)
	for j := range columns {
		columns[j] = make([]uint64, (n+63)/64)
		ones, sum := 0, 0.0
		for i := range n {
			if x.At(i, j) {
				columns[j][i>>6] |= 1 << (i & 63)
				ones++
				sum += y[i]
			} else {
				sum -= y[i]
			}
		}
		q.m[j] = float64(2*ones-n) / float64(n)
		q.c[j] = sum / float64(n)
	}
	for j := range q.g {
		q.g[j] = make([]float64, d)
		for k := range j + 1 {
			differ := 0
			for w, v := range columns[j] {
				differ += bits.OnesCount64(v ^ columns[k][w])
			}
			q.g[j][k] = float64(n-2*differ) / float64(n)
			q.g[k][j] = q.g[j][k]
		}
	}
	for _, v := range y {
		q.y += v / float64(n)
		q.q += v * v / float64(n)
	}
	return q
}

// signs returns the target whose bits agree with the correlations.
func (q *quadratic) signs() problem.Solutions {
	t := problem.NewSolutions(1, q.d)
	for j := range q.d {
		t.Set(0, j, q.c[j]-q.y*q.m[j] > 0)
	}
	return t
}

func sign(t problem.Solutions, j int) float64 {
	if t.At(0, j) {
		return 1
	}
	return -1
}

// loss returns the mean of (y - (f_t - lo)/(hi - lo))^2, where f_t = d/2 +
// t.x/2 is OneMax.
func (q *quadratic) loss(t problem.Solutions, r Range) float64 {
	w, half := width(r), float64(q.d)/2
	var tm, tc, tgt float64
	for j := range q.d {
		s := sign(t, j)
		tm += s * q.m[j]
		tc += s * q.c[j]
		for k, g := range q.g[j] {
			tgt += s * sign(t, k) * g
		}
	}
	f, yf, ff := half+tm/2, half*q.y+tc/2, half*half+half*tm+tgt/4
	return q.q - 2*(yf-r.Min*q.y)/w + (ff-2*r.Min*f+r.Min*r.Min)/(w*w)
}

// descend changes one or two bits of t, those that lower the loss most, as
// long as that helps.
func (q *quadratic) descend(t problem.Solutions, r Range) {
	w, half := width(r), float64(q.d)/2
	for {
		// A flip of j changes t.v by -2 t_j v_j for v = m, c, and t.G.t by
		// -4 t_j (G t)_j + 4 G_jj; a flip of two adds 8 t_j t_k G_jk.
		change := make([]float64, q.d)
		for j := range q.d {
			s, gt := sign(t, j), 0.0
			for k, g := range q.g[j] {
				gt += g * sign(t, k)
			}
			dm, dc, dg := -2*s*q.m[j], -2*s*q.c[j], -4*s*gt+4*q.g[j][j]
			change[j] = -2*(dc/2)/w + (half*dm+dg/4-r.Min*dm)/(w*w)
		}
		const least = -1e-13 // beyond rounding
		best, a, b := least, -1, -1
		for j := range q.d {
			if change[j] < best {
				best, a, b = change[j], j, -1
			}
			for k := range j {
				both := change[j] + change[k] + 2*sign(t, j)*sign(t, k)*q.g[j][k]/(w*w)
				if both < best {
					best, a, b = both, j, k
				}
			}
		}
		if a < 0 {
			return
		}
		t.Set(0, a, !t.At(0, a))
		if b >= 0 {
			t.Set(0, b, !t.At(0, b))
		}
	}
}
