package forest

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"dace.local/dacelib/run"
)

// maxBins is the maximal number of distinct values for which a feature is split
// by its histogram; features with more are split by sorted lists.
const maxBins = 64

// A table holds the data in the form that the growers read, shared by all
// trees.
type table struct {
	n, d   int
	y      []float64 // minus the mean
	long   []int     // the features split by sorted lists
	column []column  // one per feature
}

// A column is one feature of all points.
type column struct {
	value []float64 // distinct values, ascending
	rank  []int32   // per point: index of its value
	order []uint64  // long features only: rank<<32 | point, ascending
	cats  bool      // whether it is split by subsets of the values
}

func newTable(x, y []float64, d int, mid float64, s Settings) (*table, error) {
	n := len(y)
	t := &table{n: n, d: d, y: make([]float64, n), column: make([]column, d)}
	for i, v := range y {
		t.y[i] = v - mid
	}
	type entry struct {
		v float64
		i int
	}
	sorted := make([]entry, n)
	for j := range d {
		c := &t.column[j]
		k := 0
		if s.Categories != nil {
			k = s.Categories[j]
		}
		for i := range n {
			v := x[i*d+j]
			if math.IsNaN(v) || math.IsInf(v, 0) {
				return nil, fmt.Errorf("forest: feature %d of point %d is %v; it must be finite", j, i, v)
			}
			if k > 0 && !(v >= 0 && v < float64(k) && v == math.Trunc(v)) {
				return nil, fmt.Errorf("forest: feature %d of point %d is %v; it is one of %d categories and must be 0 to %d", j, i, v, k, k-1)
			}
			sorted[i] = entry{v, i}
		}
		slices.SortFunc(sorted, func(a, b entry) int {
			if a.v < b.v { // all values are finite: cmp.Compare would test for NaN
				return -1
			} else if a.v > b.v {
				return 1
			}
			return a.i - b.i
		})
		c.rank = make([]int32, n)
		for _, e := range sorted {
			if len(c.value) == 0 || e.v != c.value[len(c.value)-1] {
				c.value = append(c.value, e.v)
			}
			c.rank[e.i] = int32(len(c.value) - 1)
		}
		c.cats = k > 2
		if !c.cats && len(c.value) > maxBins {
			t.long = append(t.long, j)
			c.order = make([]uint64, n)
			for p, e := range sorted {
				c.order[p] = uint64(c.rank[e.i])<<32 | uint64(e.i)
			}
		}
	}
	return t, nil
}

// A grower grows trees one after the other, reusing its memory.
type grower struct {
	*table
	s        Settings
	perSplit int // number of features that a split considers
	rng      *rand.Rand
	point    []weighted // one per point
	list     [][]uint64 // the points of the tree, in the order of each long feature; at least one list
	listOf   []int      // per feature: the index of its list, or -1
	spare    []uint64
	left     []uint8 // per point: 1 if the current split sends it left
	feats    []int
	bin      [maxBins]weighted
	byMean   [maxBins]uint8
	stack    []task
	spans    []span // per node: its points in list[0]
	tree     tree
}

// A weighted is a sum over points: of their counts, and of their y.
type weighted struct{ w, wy float64 }

func (s weighted) mean() float64 { return s.wy / s.w }

// gain returns the reduction of the squared error, per point, when points with
// sum left are split off from points with sum s. With W points of mean m, of
// which w go to the left with sum l, it is (l - w m)^2 / (w (W - w)).
func (s weighted) gain(left weighted) float64 {
	l := left.wy - left.w*s.mean()
	return l * l / (left.w * (s.w - left.w))
}

// A task is a node to be split; its points are list[.][a:b].
type task struct {
	node, a, b, depth int
	sum               weighted
}

// A split is the best split found so far for a node.
type split struct {
	feat int
	gain float64 // reduction of the squared error, per point of the node
	left weighted
	rank int32  // for a feature with a list: the greatest rank that goes left
	mask uint64 // for a feature with a histogram: the ranks that go left
	thr  float64
}

// worseThan reports whether a gain exceeds that of s by more than rounding.
// Splits of equal gain are frequent in small nodes; keeping the first one found
// lets the random order of features decide, not rounding errors.
func (s *split) worseThan(gain float64) bool { return gain > s.gain+1e-10*math.Abs(s.gain) }

// perSplit returns the number of features that a split considers.
func perSplit(s Settings, d int) int { return max(1, int(s.FeatureRatio*float64(d)+1e-9)) }

func newGrower(t *table, s Settings) *grower {
	g := &grower{
		table: t, s: s, perSplit: perSplit(s, t.d),
		point:  make([]weighted, t.n),
		list:   make([][]uint64, max(1, len(t.long))),
		listOf: make([]int, t.d),
		spare:  make([]uint64, t.n),
		left:   make([]uint8, t.n),
		feats:  make([]int, t.d),
	}
	for i := range g.list {
		g.list[i] = make([]uint64, 0, t.n)
	}
	for j := range t.d {
		g.feats[j] = j
		g.listOf[j] = -1
	}
	for i, j := range t.long {
		g.listOf[j] = i
	}
	return g
}

// grow grows tree number k.
func (g *grower) grow(k int) tree {
	g.rng = run.Rand(g.s.Seed, "forest: tree", k)
	g.tree = tree{nodes: g.tree.nodes[:0], value: g.tree.value[:0], gain: make([]float64, g.d)}
	g.spans = g.spans[:0]
	for j := range g.feats {
		g.feats[j] = j
	}
	sum := g.sample()
	g.push(task{node: g.leaf(sum, 0, len(g.list[0])), b: len(g.list[0]), sum: sum})
	for len(g.stack) > 0 {
		t := g.stack[len(g.stack)-1]
		g.stack = g.stack[:len(g.stack)-1]
		g.grow1(t)
	}
	t := g.tree
	t.nodes, t.value = slices.Clone(t.nodes), slices.Clone(t.value)
	if g.s.Incremental {
		t.leaves = g.leaves()
	}
	return t
}

// leaves returns the leaves of the tree with their points.
func (g *grower) leaves() leaves {
	l := leaves{fitted: make([]member, len(g.list[0])), spans: slices.Clone(g.spans), grown: map[uint32][]member{}}
	for k, e := range g.list[0] {
		i := uint32(e)
		l.fitted[k] = member{i, float32(g.point[i].w)}
	}
	return l
}

// sample draws the tree's points and fills the lists.
func (g *grower) sample() (sum weighted) {
	clear(g.point)
	for i := range g.n {
		if !g.s.NoBootstrap {
			i = g.rng.IntN(g.n)
		}
		g.point[i].w++
	}
	for i := range g.point {
		p := &g.point[i]
		p.wy = p.w * g.y[i]
		sum.w += p.w
		sum.wy += p.wy
	}
	if len(g.long) == 0 {
		l := g.list[0][:0]
		for i, p := range g.point {
			if p.w > 0 {
				l = append(l, uint64(i))
			}
		}
		g.list[0] = l
	}
	for i, j := range g.long {
		l := g.list[i][:g.n]
		m := 0
		for _, e := range g.column[j].order {
			l[m] = e
			if g.point[uint32(e)].w > 0 {
				m++
			}
		}
		g.list[i] = l[:m]
	}
	return sum
}

// leaf appends a leaf with the points list[.][a:b] and returns its number.
func (g *grower) leaf(sum weighted, a, b int) int {
	g.spans = append(g.spans, span{uint32(a), uint32(b)})
	return g.tree.leafOf(sum)
}

// leafOf appends a leaf and returns its number.
func (t *tree) leafOf(sum weighted) int {
	k := len(t.nodes)
	t.nodes = append(t.nodes, node{thr: math.Inf(1), left: uint32(k)})
	t.value = append(t.value, sum.mean())
	return k
}

// push puts a node on the stack if it may be split.
func (g *grower) push(t task) {
	if g.splittable(t) {
		g.stack = append(g.stack, t)
	}
}

func (g *grower) splittable(t task) bool {
	return t.sum.w >= float64(max(g.s.MinSplit, 2*g.s.MinLeaf)) && t.depth < g.s.MaxDepth
}

// grow1 looks for the best split of a node and carries it out.
func (g *grower) grow1(t task) {
	if g.pure(t) {
		return
	}
	best := split{gain: -1}
	for i := range g.feats {
		if i >= g.perSplit && best.gain >= 0 {
			break
		}
		k := i + g.rng.IntN(g.d-i)
		g.feats[i], g.feats[k] = g.feats[k], g.feats[i]
		f := g.feats[i]
		if g.listOf[f] >= 0 {
			g.scanList(f, t, &best)
		} else {
			g.scanBins(f, t, &best)
		}
	}
	if best.gain < 0 {
		return
	}
	c := &g.column[best.feat]
	m, left := g.mark(t, &best), best.left
	right := weighted{t.sum.w - left.w, t.sum.wy - left.wy}
	g.tree.depth = max(g.tree.depth, t.depth+1)
	l := g.leaf(left, t.a, t.a+m)
	g.leaf(right, t.a+m, t.b)
	nd := &g.tree.nodes[t.node]
	nd.feat, nd.left, nd.thr = uint32(best.feat), uint32(l), best.thr
	if c.cats {
		nd.thr = math.NaN()
		if g.tree.masks == nil {
			g.tree.masks = make(map[uint32]uint64)
		}
		var mask uint64
		for v := range c.value {
			if best.mask>>v&1 == 1 {
				mask |= 1 << uint(c.value[v])
			}
		}
		g.tree.masks[uint32(t.node)] = mask
	}
	g.tree.gain[best.feat] += best.gain * t.sum.w
	lt := task{node: l, a: t.a, b: t.a + m, depth: t.depth + 1, sum: left}
	rt := task{node: l + 1, a: t.a + m, b: t.b, depth: t.depth + 1, sum: right}
	if g.splittable(lt) || g.splittable(rt) {
		g.partition(g.list, t)
	} else if g.s.Incremental {
		g.partition(g.list[:1], t)
	}
	g.push(rt)
	g.push(lt)
}

// pure reports whether all points of a node have the same y.
func (g *grower) pure(t task) bool {
	l := g.list[0][t.a:t.b]
	y := g.y[uint32(l[0])]
	for _, e := range l[1:] {
		if g.y[uint32(e)] != y {
			return false
		}
	}
	return true
}

// scanList looks for a better split of a node at feature f, whose points are in
// a sorted list.
func (g *grower) scanList(f int, t task, best *split) {
	l := g.list[g.listOf[f]][t.a:t.b]
	at := scan(l, g.point, t.sum, float64(g.s.MinLeaf))
	if at < 0 {
		return
	}
	var left weighted
	for _, e := range l[:at+1] {
		left.w += g.point[uint32(e)].w
		left.wy += g.point[uint32(e)].wy
	}
	if gain := t.sum.gain(left); best.worseThan(gain) {
		a, b := l[at]>>32, l[at+1]>>32
		v := g.column[f].value
		*best = split{feat: f, gain: gain, left: left, rank: int32(a), thr: between(v[a], v[b])}
	}
}

// scan returns the index of the last point left of the best split of the points
// in l, whose sum is sum, or -1 if there is no split. It is a separate function
// so that its loop stays in registers, and compares the fractions of
// [weighted.gain] without dividing.
func scan(l []uint64, point []weighted, sum weighted, minLeaf float64) int {
	at, num, den := -1, -1.0, 1.0
	mean, most := sum.mean(), sum.w-minLeaf
	w, wy := 0.0, 0.0
	this := l[0]
	for i, next := range l[1:] {
		p := &point[uint32(this)]
		w += p.w
		wy += p.wy
		if w > most {
			break
		}
		if w >= minLeaf && this>>32 != next>>32 {
			s := wy - w*mean
			if n, d := s*s, w*(sum.w-w); n*den > num*d {
				at, num, den = i, n, d
			}
		}
		this = next
	}
	return at
}

// between returns the threshold that separates the values a < b.
func between(a, b float64) float64 {
	m := a/2 + b/2
	if m >= b || m < a {
		return a
	}
	return m
}

// scanBins looks for a better split of a node at feature f, which has few
// distinct values. Numbers are scanned in their order, categories in the order
// of their means, where one of the cuts is the best of all subsets (Fisher
// 1958; Breiman et al. 1984).
func (g *grower) scanBins(f int, t task, best *split) {
	c := &g.column[f]
	bin := g.bin[:len(c.value)]
	clear(bin)
	if len(bin) == 2 { // the most frequent case; the sums of one side stay in registers
		var one weighted
		for _, e := range g.list[0][t.a:t.b] {
			p, r := &g.point[uint32(e)], float64(c.rank[uint32(e)])
			one.w += r * p.w
			one.wy += r * p.wy
		}
		bin[0], bin[1] = weighted{t.sum.w - one.w, t.sum.wy - one.wy}, one
	} else {
		for _, e := range g.list[0][t.a:t.b] {
			p, b := &g.point[uint32(e)], &bin[c.rank[uint32(e)]]
			b.w += p.w
			b.wy += p.wy
		}
	}
	order := g.byMean[:0]
	for r := range bin {
		if bin[r].w > 0 {
			order = append(order, uint8(r))
		}
	}
	if c.cats {
		slices.SortStableFunc(order, func(a, b uint8) int { return cmp.Compare(bin[a].mean(), bin[b].mean()) })
	}
	lo, hi := float64(g.s.MinLeaf), t.sum.w-float64(g.s.MinLeaf)
	var left weighted
	var mask uint64
	for i, r := range order {
		left.w += bin[r].w
		left.wy += bin[r].wy
		mask |= 1 << r
		if left.w < lo {
			continue
		}
		if left.w > hi || i == len(order)-1 {
			break
		}
		if gain := t.sum.gain(left); best.worseThan(gain) {
			*best = split{feat: f, gain: gain, left: left, mask: mask}
			if !c.cats {
				best.thr = between(c.value[r], c.value[order[i+1]])
			}
		}
	}
}

// mark records for each point of a node whether the split sends it left, and
// returns the number of list entries that go left.
func (g *grower) mark(t task, s *split) int {
	n := 0
	if k := g.listOf[s.feat]; k >= 0 {
		l := g.list[k][t.a:t.b]
		for n < len(l) && int32(l[n]>>32) <= s.rank {
			g.left[uint32(l[n])] = 1
			n++
		}
		for _, e := range l[n:] {
			g.left[uint32(e)] = 0
		}
		return n
	}
	c := &g.column[s.feat]
	for _, e := range g.list[0][t.a:t.b] {
		i := uint32(e)
		g.left[i] = uint8(s.mask >> uint(c.rank[i]) & 1)
		n += int(g.left[i])
	}
	return n
}

// partition moves, in each of the lists, the points that go left before the
// others, keeping the order within each side.
func (g *grower) partition(lists [][]uint64, t task) {
	left := g.left
	for _, list := range lists {
		l := list[t.a:t.b]
		spare := g.spare[:len(l)]
		k, r := 0, 0
		for _, e := range l {
			b := int(left[uint32(e)])
			l[k] = e
			spare[r] = e
			k += b
			r += 1 - b
		}
		copy(l[k:], spare[:r])
	}
}
