package forest

import (
	"math"
	"slices"
)

// An Exchange sets a feature of a point to another value.
type Exchange struct {
	// Feature is the index of the feature, from 0 to d-1.
	Feature int
	// Value is its new value, one that Fit accepts for the feature.
	Value float64
}

// PredictExchanges is Predict for neighbours of the point x, which has d
// entries: mean[i] and variance[i] are those of x after exchanges[i] alone.
//
// It returns what Predict returns for the neighbours, and costs a fraction of
// it: in a tree, most exchanges leave x in its leaf, and the path of the others
// is that of x down to the first split by their feature.
func (f *Forest) PredictExchanges(mean, variance, x []float64, exchanges []Exchange) {
	n, d := len(exchanges), f.d
	if len(x) != d || len(mean) != n || len(variance) != n {
		panic("forest: PredictExchanges needs d entries of x, and mean and variance as long as exchanges")
	}
	clear(mean)
	clear(variance)
	e := exchanger{x: x, boxes: make([]box, d)}
	for i := range e.rows {
		e.rows[i] = slices.Clone(x)
	}
	for t := range f.trees {
		e.add(&f.trees[t], mean, variance, exchanges)
	}
	f.moments(mean, variance)
}

// An exchanger predicts neighbours of x, tree by tree.
type exchanger struct {
	x     []float64
	boxes []box        // per feature
	rows  [8][]float64 // copies of x
}

// A box says of one feature for which values x stays in its leaf of a tree.
type box struct {
	above, upTo float64 // for those in (above, upTo]
	from, depth int     // the first node on the path of x that is split by the feature, and its depth
}

// add adds the prediction of tree t for each neighbour to sum and its square to
// sq.
func (e *exchanger) add(t *tree, sum, sq []float64, exchanges []Exchange) {
	own := t.value[e.descend(t)]
	var walks [8]int // exchanges that leave the leaf
	n := 0
	for i, c := range exchanges {
		if b := &e.boxes[c.Feature]; b.above < c.Value && c.Value <= b.upTo {
			sum[i] += own
			sq[i] += own * own
			continue
		}
		walks[n] = i
		if n++; n == len(walks) {
			e.walk(t, sum, sq, exchanges, walks[:])
			n = 0
		}
	}
	e.walk(t, sum, sq, exchanges, walks[:n])
}

// descend returns the leaf of x, and sets the boxes.
func (e *exchanger) descend(t *tree) uint32 {
	for j := range e.boxes {
		e.boxes[j] = box{above: math.Inf(-1), upTo: math.Inf(1), from: -1}
	}
	k := uint32(0)
	for depth := 0; ; depth++ {
		next := t.child(k, e.x)
		if next == k {
			return k
		}
		nd := &t.nodes[k]
		b := &e.boxes[nd.feat]
		if b.from < 0 {
			b.from, b.depth = int(k), depth
		}
		switch {
		case nd.thr != nd.thr: // a subset of a category: every other value may leave
			b.above = math.Inf(1)
		case next == nd.left:
			b.upTo = min(b.upTo, nd.thr)
		default:
			b.above = max(b.above, nd.thr)
		}
		k = next
	}
}

// walk is add for up to eight exchanges that may leave the leaf.
func (e *exchanger) walk(t *tree, sum, sq []float64, exchanges []Exchange, walks []int) {
	var k [8]uint
	top := t.depth
	for w, i := range walks {
		c := &exchanges[i]
		e.rows[w][c.Feature] = c.Value
		b := &e.boxes[c.Feature]
		k[w] = uint(b.from)
		top = min(top, b.depth)
	}
	if len(t.masks) == 0 && len(walks) > 1 {
		k = t.walk(k, &e.rows, t.depth-top)
	} else {
		for w := range walks {
			k[w] = uint(t.from(uint32(k[w]), e.rows[w]))
		}
	}
	for w, i := range walks {
		v := t.value[k[w]]
		sum[i] += v
		sq[i] += v * v
		j := exchanges[i].Feature
		e.rows[w][j] = e.x[j]
	}
}
