// Package forest implements a random forest for regression. It predicts, for
// every point, the mean and the variance of the trees' predictions. Trees are
// flat arrays, and splits are found on presorted features. It is the model of
// packages smac and smartest.
//
// Start with [Fit] and [Forest.Predict]. The zero value of [Settings] is the
// forest of SMAC's algorithm configuration facade (Lindauer et al., JMLR 23,
// 2022): 10 trees, 5/6 of the features per split, at least 3 points to split
// and 3 in a leaf, depth 20, bootstrap samples.
//
// It is not for classification, nor for more than about 10^5 points.
package forest

import (
	"errors"
	"fmt"
	"math"

	"dace.local/dacelib/internal/defaults"
	"dace.local/dacelib/run"
)

// Settings are the parameters of a forest. The zero value of each field means
// its default.
type Settings struct {
	// Trees is the number of trees; 0 means 10.
	Trees int
	// FeatureRatio is the share of the features that a split looks at, drawn
	// anew for each split: max(1, floor(ratio*d)) of them. 0 means 5/6.
	FeatureRatio float64
	// MinSplit is the least number of points in a node that is split; 0
	// means 3. Points count as often as the bootstrap drew them.
	MinSplit int
	// MinLeaf is the least number of points on either side of a split; 0
	// means 3.
	MinLeaf int
	// MaxDepth is the maximal number of splits above a leaf; 0 means 20.
	MaxDepth int
	// NoBootstrap fits every tree to all points, each counted once, instead of
	// n draws with replacement.
	NoBootstrap bool
	// Categories has one entry per feature: 0 for a number, k > 0 for a
	// category with values 0, 1, ..., k-1, where k is at most 64. A split of a
	// category sends a subset of its values to the left: the subset with the
	// least squared error. Nil means that all features are numbers.
	Categories []int
	// Workers is the number of goroutines that grow trees, and that predict many
	// points; 0 means 1. It does not change the forest or its predictions. There
	// is no Farm: trees take milliseconds, and their data as long to send.
	Workers int
	// Incremental stores the data that [Forest.Add] needs: the points, and the
	// leaves that contain them.
	Incremental bool
	// Seed, together with the data and the settings, determines the forest.
	Seed uint64
}

// MaxTrees is the largest number of trees of a forest.
const MaxTrees = 1 << 16

// withDefaults returns s with its zero fields filled in for d features, or an
// error if s is invalid.
func (s Settings) withDefaults(d int) (Settings, error) {
	defaults.Set(&s.Trees, 10)
	defaults.Set(&s.MinSplit, 3)
	defaults.Set(&s.MinLeaf, 3)
	defaults.Set(&s.MaxDepth, 20)
	defaults.Set(&s.Workers, 1)
	if s.FeatureRatio == 0 {
		s.FeatureRatio = 5.0 / 6
	}
	switch {
	case s.Trees < 0 || s.MinSplit < 0 || s.MinLeaf < 0 || s.MaxDepth < 0 || s.Workers < 0:
		return s, errors.New("forest: Trees, MinSplit, MinLeaf, MaxDepth and Workers must not be negative")
	case !(s.FeatureRatio > 0 && s.FeatureRatio <= 1):
		return s, fmt.Errorf("forest: FeatureRatio is %v; it must lie in (0, 1]", s.FeatureRatio)
	case s.Categories != nil && len(s.Categories) != d:
		return s, fmt.Errorf("forest: Categories has %d entries for %d features", len(s.Categories), d)
	}
	if err := defaults.AtMost("forest", defaults.Bound{Field: "Settings.Trees", Value: s.Trees, Most: MaxTrees}); err != nil {
		return s, err
	}
	for j, k := range s.Categories {
		if k < 0 || k > 64 {
			return s, fmt.Errorf("forest: feature %d has %d categories; 0 (a number) to 64 are possible", j, k)
		}
	}
	return s, nil
}

// A Forest is a fitted random forest. It may be used from several goroutines
// at once.
type Forest struct {
	d       int
	workers int // Settings.Workers
	trees   []tree
	masks   bool    // whether some split is by subsets of a category
	mid     float64 // the mean of y, which is subtracted from the leaves' values
	add     *adder  // for Add, under Settings.Incremental
}

// A node sends x to node left+1 if x[feat] > thr, else to node left. A leaf has
// thr +Inf and itself as left, so that a walk may continue past it. A split by
// subsets of a category has thr NaN; its subset is in the tree's masks.
type node struct {
	thr  float64
	feat uint32
	left uint32
}

type tree struct {
	nodes []node
	value []float64         // per node: mean of its points, minus Forest.mid
	masks map[uint32]uint64 // per node split by a category: the values that go left
	gain  []float64         // per feature: reduction of the squared error
	depth int               // of the deepest leaf
	leaves
}

// Fit grows a forest on n = len(y) points with d features: x is n x d, row by
// row. All values must be finite, and those of y within +-1e100, so that sums
// of squares are finite. Neither slice is retained.
func Fit(x, y []float64, d int, s Settings) (*Forest, error) {
	n := len(y)
	if d <= 0 || n == 0 {
		return nil, fmt.Errorf("forest: %d points with %d features; both must be positive", n, d)
	}
	if len(x) != n*d {
		return nil, fmt.Errorf("forest: x has %d values for %d points with %d features; it must have %d", len(x), n, d, n*d)
	}
	s, err := s.withDefaults(d)
	if err != nil {
		return nil, err
	}
	sum := 0.0
	for i, v := range y {
		if !(math.Abs(v) <= 1e100) {
			return nil, fmt.Errorf("forest: y[%d] is %v; it must lie within +-1e100", i, v)
		}
		sum += v
	}
	f := &Forest{d: d, trees: make([]tree, s.Trees), mid: sum / float64(n), workers: s.Workers}
	data, err := newTable(x, y, d, f.mid, s)
	if err != nil {
		return nil, err
	}
	workers := min(s.Workers, s.Trees)
	err = run.Each(workers, workers, func(w int) error {
		g := newGrower(data, s)
		for t := w; t < s.Trees; t += workers {
			f.trees[t] = g.grow(t)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for _, t := range f.trees {
		f.masks = f.masks || len(t.masks) > 0
	}
	if s.Incremental {
		f.add = newAdder(x, data, s)
	}
	return f, nil
}

// Dim returns d, the number of features.
func (f *Forest) Dim() int { return f.d }

// Predict sets mean[i] and variance[i] to the mean and the population variance
// of the trees' predictions for row i of x, which is len(mean) x d. variance
// may be nil.
func (f *Forest) Predict(mean, variance, x []float64) {
	n, d := len(mean), f.d
	if len(x) != n*d || variance != nil && len(variance) != n {
		panic("forest: Predict needs len(mean)*d values of x, and variance nil or as long as mean")
	}
	sq := variance
	if sq == nil {
		sq = make([]float64, n)
	}
	workers := min(f.workers, n/rowsAtOnce)
	if workers < 2 {
		f.predict(mean, sq, x)
		return
	}
	err := run.Each(workers, workers, func(w int) error {
		a, b := n*w/workers, n*(w+1)/workers
		f.predict(mean[a:b], sq[a:b], x[a*d:b*d])
		return nil
	})
	if err != nil {
		panic(err)
	}
}

// rowsAtOnce is the least number of rows for which another goroutine is worth
// while: some 100 microseconds of work.
const rowsAtOnce = 500

// predict is Predict in one goroutine.
func (f *Forest) predict(mean, variance, x []float64) {
	clear(mean)
	clear(variance)
	for t := range f.trees {
		if f.masks {
			f.trees[t].addMasked(mean, variance, x, f.d)
		} else {
			f.trees[t].add(mean, variance, x, f.d)
		}
	}
	f.moments(mean, variance)
}

// moments turns the sums of the trees' predictions and of their squares into
// means and variances.
func (f *Forest) moments(sum, sq []float64) {
	scale := 1 / float64(len(f.trees))
	for i, m := range sum {
		m *= scale
		sq[i] = max(0, sq[i]*scale-m*m)
		sum[i] = m + f.mid
	}
}

// add adds the tree's prediction for each row of x to sum and its square to sq.
func (t *tree) add(sum, sq, x []float64, d int) {
	n := len(sum)
	i := 0
	for ; i+8 <= n; i += 8 {
		var rows [8][]float64
		for j := range rows {
			rows[j] = x[(i+j)*d:][:d]
		}
		s, q := sum[i:][:8], sq[i:][:8]
		for j, k := range t.walk([8]uint{}, &rows, t.depth) {
			v := t.value[k]
			s[j] += v
			q[j] += v * v
		}
	}
	for ; i < n; i++ {
		v := t.value[t.leaf(x[i*d:][:d])]
		sum[i] += v
		sq[i] += v * v
	}
}

// stepsAtOnce is the number of steps after which walks in a deeper tree may end.
const stepsAtOnce = 20

// walk returns the leaves that eight rows reach from nodes k. The walks are
// interleaved, so that they hide each other's memory latency. They all make as
// many steps as the tree below the highest of k may be deep: those past a leaf
// cost less than a loop whose end the processor cannot predict.
func (t *tree) walk(k [8]uint, rows *[8][]float64, depth int) [8]uint {
	nodes := t.nodes
	r0, r1, r2, r3, r4, r5, r6, r7 := rows[0], rows[1], rows[2], rows[3], rows[4], rows[5], rows[6], rows[7]
	k0, k1, k2, k3, k4, k5, k6, k7 := k[0], k[1], k[2], k[3], k[4], k[5], k[6], k[7]
	for left := depth; left > 0; left -= stepsAtOnce {
		was := k0 + k1 + k2 + k3 + k4 + k5 + k6 + k7
		for range min(left, stepsAtOnce) {
			k0 = nodes[k0].next(r0)
			k1 = nodes[k1].next(r1)
			k2 = nodes[k2].next(r2)
			k3 = nodes[k3].next(r3)
			k4 = nodes[k4].next(r4)
			k5 = nodes[k5].next(r5)
			k6 = nodes[k6].next(r6)
			k7 = nodes[k7].next(r7)
		}
		// Children have higher numbers than their parents, so an unchanged sum of
		// node numbers means that all eight walks are at leaves.
		if was == k0+k1+k2+k3+k4+k5+k6+k7 {
			break
		}
	}
	return [8]uint{k0, k1, k2, k3, k4, k5, k6, k7}
}

// next returns the child that row x goes to.
func (nd *node) next(x []float64) uint {
	var right uint
	if x[nd.feat] > nd.thr {
		right = 1
	}
	return uint(nd.left) + right
}

// addMasked is add for a tree that may split by subsets of a category.
func (t *tree) addMasked(sum, sq, x []float64, d int) {
	for i := range sum {
		v := t.value[t.leaf(x[i*d:][:d])]
		sum[i] += v
		sq[i] += v * v
	}
}

// leaf returns the leaf that row x falls into.
func (t *tree) leaf(x []float64) uint32 { return t.from(0, x) }

// from returns the leaf that row x reaches from node k.
func (t *tree) from(k uint32, x []float64) uint32 {
	for {
		next := t.child(k, x)
		if next == k {
			return k
		}
		k = next
	}
}

// child returns the child of node k that row x goes to, or k itself for a leaf.
func (t *tree) child(k uint32, x []float64) uint32 {
	nd := &t.nodes[k]
	next := uint32(nd.next(x))
	if nd.thr != nd.thr && t.masks[k]>>uint(x[nd.feat])&1 == 0 {
		next++
	}
	return next
}

// Importance returns, for each feature, its share of the reduction in squared
// error by the splits. It is the mean over the trees of their shares, which add
// up to 1 in each tree (Breiman's impurity importance). It is all 0 if no tree
// was split.
func (f *Forest) Importance() []float64 {
	imp := make([]float64, f.d)
	used := 0
	for _, t := range f.trees {
		total := 0.0
		for _, g := range t.gain {
			total += g
		}
		if total <= 0 {
			continue
		}
		used++
		for j, g := range t.gain {
			imp[j] += g / total
		}
	}
	for j := range imp {
		imp[j] /= float64(max(used, 1))
	}
	return imp
}

// Flips sets dst[j] to the mean prediction for x with feature j flipped from 0
// to 1 or back, and returns the prediction for x itself. x and dst have d
// entries. All entries of x, and of the data that the forest was fitted to,
// must be 0 or 1.
//
// It costs about as much as depth/2 predictions, not d: in each tree, only
// flips of features on the path of x change the prediction.
func (f *Forest) Flips(dst, x []float64) float64 {
	if len(x) != f.d || len(dst) != f.d || f.masks {
		panic("forest: Flips needs d entries of dst and x, and features of zeros and ones")
	}
	clear(dst)
	sum := 0.0
	for i := range f.trees {
		t := &f.trees[i]
		end := t.leaf(x)
		v := t.value[end]
		sum += v
		for k := uint32(0); k != end; {
			nd := &t.nodes[k]
			next := uint32(nd.next(x))
			// A feature is split at most once on a path, so below its node the
			// flipped x takes the same turns as x.
			dst[nd.feat] += t.value[t.from(2*nd.left+1-next, x)] - v
			k = next
		}
	}
	scale := 1 / float64(len(f.trees))
	base := sum*scale + f.mid
	for j := range dst {
		dst[j] = base + dst[j]*scale
	}
	return base
}
