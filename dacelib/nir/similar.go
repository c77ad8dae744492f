package nir

import (
	"context"
	"fmt"
	"math"
	"math/bits"
	"slices"

	vec "gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"dace.local/dacelib/problem"
	"dace.local/dacelib/run"
)

// A Similarity compares two objective functions on a sample of solutions.
type Similarity struct {
	// MSE is the mean squared difference of the values, after those of each
	// function are mapped to [0, 1] by their own minimum and maximum on the
	// sample.
	MSE float64
	// Correlation is Pearson's correlation of the values; 0 if one function is
	// constant.
	Correlation float64
}

// Compare returns how similar two problems of equal dimension, NIRs or
// instances, are on n uniform solutions.
func Compare(ctx context.Context, a, b problem.Problem, n int, seed uint64) (Similarity, error) {
	s, err := CompareAll(ctx, a, []problem.Problem{b}, n, seed)
	if err != nil {
		return Similarity{}, err
	}
	return s[0], nil
}

// CompareAll returns how similar p is to each of the others, on the same n
// uniform solutions. To compare many problems with the same others, evaluate
// these once with [NewNeighbours].
func CompareAll(ctx context.Context, p problem.Problem, others []problem.Problem, n int, seed uint64) ([]Similarity, error) {
	// p first: of unequal dimensions the others are the ones to be named.
	k, err := NewNeighbours(ctx, append([]problem.Problem{p}, others...), n, seed)
	if err != nil {
		return nil, err
	}
	out := make([]Similarity, len(others))
	for i := range others {
		out[i] = similarity(k.values[0], k.values[1+i])
	}
	return out, nil
}

// Neighbours are problems with their values on a sample of solutions, with which
// others are compared.
type Neighbours struct {
	name   string // of the first problem
	x      problem.Solutions
	values [][]float64 // by problem and solution
}

// NewNeighbours evaluates problems of one dimension on n uniform solutions.
func NewNeighbours(ctx context.Context, problems []problem.Problem, n int, seed uint64) (*Neighbours, error) {
	if n < 2 {
		return nil, fmt.Errorf("nir: comparing needs at least 2 solutions; got %d", n)
	}
	if len(problems) == 0 {
		return nil, fmt.Errorf("nir: there is no problem to compare with")
	}
	first := problems[0]
	k := &Neighbours{first.Name(), problem.Random(run.Rand(seed, "nir: compare"), n, first.Dim()), make([][]float64, len(problems))}
	add, end := run.Steps(&ctx, "comparing", n*len(problems))
	defer end()
	for i, p := range problems {
		var err error
		if k.values[i], err = k.evaluate(ctx, p, add); err != nil {
			return nil, err
		}
	}
	return k, nil
}

func (k *Neighbours) evaluate(ctx context.Context, p problem.Problem, add func(n int)) ([]float64, error) {
	if p.Dim() != k.x.D {
		return nil, fmt.Errorf("nir: %s has dimension %d, %s has %d; only problems of one dimension can be compared", k.name, k.x.D, p.Name(), p.Dim())
	}
	y := make([]float64, k.x.Len())
	if err := problem.Stepwise(ctx, p, y, k.x, add); err != nil {
		return nil, err
	}
	raise(y)
	return y, nil
}

// Compare returns how similar p is to each of the problems: what [CompareAll]
// returns with their number of solutions and seed.
func (k *Neighbours) Compare(ctx context.Context, p problem.Problem) ([]Similarity, error) {
	y, err := k.evaluate(ctx, p, nil)
	if err != nil {
		return nil, err
	}
	out := make([]Similarity, len(k.values))
	for i, z := range k.values {
		out[i] = similarity(y, z)
	}
	return out, nil
}

// Closest returns the index of the instance with the smallest mean squared
// difference from p on n uniform solutions, and its similarity.
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

// Outside returns the share of the variance of p's values, over n uniform
// solutions, that no linear combination of the instances' values and a constant
// explains. It is 0 for a blend of the instances and 1 for a problem that has
// nothing in common with them, and so tells whether an NIR is more than an
// interpolation between the instances that it was trained with. n should be a
// multiple of the number of instances; a problem with constant values is an
// error.
func Outside(ctx context.Context, p problem.Problem, instances []problem.Problem, n int, seed uint64) (float64, error) {
	k := len(instances)
	if n < 2*(k+1) {
		return 0, fmt.Errorf("nir: %d instances can blend to any %d values; use %d solutions or more", k, n, 2*(k+1))
	}
	x := problem.Random(run.Rand(seed, "nir: outside"), n, p.Dim())
	values := mat.NewDense(k+1, n, nil) // the instances' values, then p's; rows of mean 0
	for i, q := range append(slices.Clone(instances), p) {
		if q.Dim() != p.Dim() {
			return 0, fmt.Errorf("nir: %s has dimension %d, %s has %d; only problems of one dimension can be compared", p.Name(), p.Dim(), q.Name(), q.Dim())
		}
		row := values.RawRowView(i)
		if err := q.Evaluate(ctx, row, x); err != nil {
			return 0, err
		}
		raise(row)
		vec.AddConst(-vec.Sum(row)/float64(n), row)
		if norm := vec.Norm(row, 2); norm > 0 {
			vec.Scale(1/norm, row) // so that the rank does not depend on the scale
		} else if i == k {
			return 0, fmt.Errorf("nir: %s has the same value at all of %d solutions", p.Name(), n)
		}
	}
	if k == 0 {
		return 1, nil
	}
	var gram mat.Dense
	gram.Mul(values, values.T())
	var svd mat.SVD
	if !svd.Factorize(gram.Slice(0, k, 0, k), mat.SVDThin) {
		return 0, fmt.Errorf("nir: the values of the instances cannot be decomposed; are they finite?")
	}
	own := gram.Slice(0, k, k, k+1)
	var c mat.Dense
	svd.SolveTo(&c, own, svd.Rank(1e-10))
	var explained mat.Dense
	explained.Mul(own.T(), &c)
	return min(max(1-explained.At(0, 0), 0), 1), nil
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

// OneMaxSettings are the options of [ClosestOneMax]. The zero value is the
// paper's (App. F).
type OneMaxSettings struct {
	// Solutions is the number of solutions over which the loss L1 is taken;
	// default 100,000.
	Solutions int
	// Validation is the number of other solutions, over which L2 is taken;
	// default 500,000.
	Validation int
	// Seed of the solutions.
	Seed uint64
}

// A OneMaxMatch is the instance of OneMax that is closest to an NIR.
type OneMaxMatch struct {
	// Target string of the instance.
	Target []bool
	// L1 and L2 are the mean squared differences between NIR and instance on
	// the two sets of solutions. NIR and instance are each normalised to [0, 1]
	// by their own minimum and maximum over the set.
	L1, L2 float64
}

// String returns the target and the losses.
func (o OneMaxMatch) String() string {
	return fmt.Sprintf("%s  L1 %.2g  L2 %.2g", problem.Pack(o.Target), o.L1, o.L2)
}

// ClosestOneMax returns the instance of OneMax that is closest to p, an NIR
// (App. F): its target string, L1 and L2.
//
// NIR and instance are each normalised by their own extremes over the compared
// solutions. The paper says "by Eq. 11" and does not say over which solutions,
// but its tables show it: L1 and L2 of one target differ there by up to a
// factor of two, whereas with one range for both the means over 100,000 and
// 500,000 solutions would agree within some per cent. L1 therefore also depends
// on how well an NIR fits at its two extreme solutions, where training has seen
// the fewest: an NIR with mean squared error 3e-5 may have an L1 of 1e-3, while
// the paper's trained NIRs have 2.5e-5 to 4.9e-5. The affine scorers of
// [Authors] scatter less.
//
// The paper searches by BRKGA with 10,000 evaluations of L1, each on 100,000
// solutions. For a given range of the instance, however, L1 is a quadratic
// function of the target's signs, whose coefficients are moments of the
// solutions and of the NIR's values. ClosestOneMax sums these moments once; L1
// of a string then takes d^2 operations, exactly. The search starts from the
// signs of the correlations and makes the best changes of one or two bits. By
// chance, the extremes of OneMax over the solutions differ between targets by a
// bit or so, which can outweigh a wrong bit; the search therefore compares all
// targets under the range of the first. L1 and L2 in the result use the found
// target's own range.
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
	_, end := run.Steps(&ctx, "closest OneMax", 0)
	defer end()
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
	raise(y)
	r := Range{slices.Min(y), slices.Max(y)}
	for i, v := range y {
		y[i] = (v - r.Min) / width(r)
	}
	return y, nil
}

// agreeing returns the number of bits in which solution i agrees with t, its
// value under OneMax with target t.
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

// A quadratic holds moments of solutions, as signs x, and of an NIR's values y.
// All are means over the solutions.
type quadratic struct {
	d    int
	y, q float64     // of y, y^2
	m, c []float64   // of x_j, y x_j
	g    [][]float64 // of x_j x_k
}

func newQuadratic(x problem.Solutions, y []float64) *quadratic {
	n, d := x.Len(), x.D
	q := &quadratic{d: d, m: make([]float64, d), c: make([]float64, d), g: make([][]float64, d)}
	// columns[j] packs bit j of all solutions: x_j x_k is -1 where two columns
	// differ.
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

// signs returns the target whose bits are the signs of the correlations.
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

// descend changes those one or two bits of t that lower the loss most, as long
// as some change lowers it.
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
		const least = -1e-13 // larger than rounding errors
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
