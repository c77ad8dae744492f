package forest

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
)

// A member is a point in a leaf, with its multiplicity.
type member struct {
	point uint32
	w     float32
}

// A span is a range of [leaves].fitted.
type span struct{ a, b uint32 }

// leaves stores the points of a tree's leaves.
type leaves struct {
	fitted []member            // the points of the fit, those of each leaf together
	spans  []span              // per node of the fit: its members
	grown  map[uint32][]member // the points of leaves that have changed since the fit
}

// members returns the points of leaf k.
func (l *leaves) members(k uint32) []member {
	if m, ok := l.grown[k]; ok {
		return m
	}
	s := l.spans[k]
	return l.fitted[s.a:s.b:s.b]
}

// An adder adds points to a forest.
type adder struct {
	s        Settings
	d        int
	perSplit int
	x, y     []float64 // of all points; y minus the forest's mean
	feats    []int
	sorted   []keyed
	ofValue  []weighted // per value of a category
}

// A keyed is a member with its sort key for a feature.
type keyed struct {
	member
	key float64
}

func newAdder(x []float64, t *table, s Settings) *adder {
	a := &adder{s: s, d: t.d, perSplit: perSplit(s, t.d), x: slices.Clone(x), y: slices.Clone(t.y), feats: make([]int, t.d), ofValue: make([]weighted, 64)}
	for j := range a.feats {
		a.feats[j] = j
	}
	return a
}

// Add adds a point to a forest fitted with [Settings].Incremental, which is
// faster than a new fit. In every tree, the point joins the leaf that it falls
// into, and the leaf is split as a fit would split it. The splits above stay as
// they are, so a new fit is better after many points. A point counts as often
// as it would in a bootstrap sample: a random number with the Poisson
// distribution of mean 1 (Oza and Russell, AISTATS 2001), or once with
// Settings.NoBootstrap.
//
// x has d entries, each valid for Fit, and is not retained; y lies within
// +-1e100. The forest must not be used concurrently.
func (f *Forest) Add(x []float64, y float64, rng *rand.Rand) {
	if f.add == nil || len(x) != f.d || !(math.Abs(y) <= 1e100) {
		panic("forest: Add needs a forest of Settings.Incremental, d entries of x, and y within +-1e100")
	}
	a := f.add
	point := uint32(len(a.y))
	a.x, a.y = append(a.x, x...), append(a.y, y-f.mid)
	for i := range f.trees {
		w := 1.0
		if !a.s.NoBootstrap {
			w = poisson(rng)
		}
		if w > 0 {
			a.join(&f.trees[i], member{point, float32(w)}, rng)
			f.masks = f.masks || len(f.trees[i].masks) > 0
		}
	}
}

// poisson draws from the Poisson distribution of mean 1, by Knuth's product of
// uniform numbers.
func poisson(rng *rand.Rand) float64 {
	k := 0.0
	for p := rng.Float64(); p > 1/math.E; p *= rng.Float64() {
		k++
	}
	return k
}

// join adds a member to the leaf of a tree that it falls into.
func (a *adder) join(t *tree, m member, rng *rand.Rand) {
	k, depth := uint32(0), 0
	for row := a.row(m); ; depth++ {
		next := t.child(k, row)
		if next == k {
			break
		}
		k = next
	}
	t.grown[k] = append(t.members(k), m)
	a.split(t, k, depth, rng)
}

func (a *adder) row(m member) []float64 { return a.x[int(m.point)*a.d:][:a.d] }

// split sets the value of leaf k and splits it recursively as far as possible.
func (a *adder) split(t *tree, k uint32, depth int, rng *rand.Rand) {
	all := t.members(k)
	var sum weighted
	pure := true
	for _, m := range all {
		sum.w += float64(m.w)
		sum.wy += float64(m.w) * a.y[m.point]
		pure = pure && a.y[m.point] == a.y[all[0].point]
	}
	t.value[k] = sum.mean()
	if pure || depth >= a.s.MaxDepth || sum.w < float64(max(a.s.MinSplit, 2*a.s.MinLeaf)) {
		return
	}
	best, at := split{gain: -1}, 0
	for i := range a.feats {
		if i >= a.perSplit && best.gain >= 0 {
			break
		}
		j := i + rng.IntN(a.d-i)
		a.feats[i], a.feats[j] = a.feats[j], a.feats[i]
		if n := a.scan(a.feats[i], all, sum, &best); n > 0 {
			at = n
		}
	}
	if best.gain < 0 {
		return
	}
	a.sort(best.feat, all)
	members := make([]member, len(all))
	for i, s := range a.sorted {
		members[i] = s.member
	}
	if a.category(best.feat) {
		best.thr = math.NaN()
		if t.masks == nil {
			t.masks = make(map[uint32]uint64)
		}
		var mask uint64
		for _, m := range members[:at] {
			mask |= 1 << uint(a.row(m)[best.feat])
		}
		t.masks[k] = mask
	}
	t.depth = max(t.depth, depth+1)
	l := uint32(t.leafOf(best.left))
	t.leafOf(weighted{sum.w - best.left.w, sum.wy - best.left.wy})
	t.nodes[k] = node{thr: best.thr, feat: uint32(best.feat), left: l}
	t.gain[best.feat] += best.gain * sum.w
	delete(t.grown, k)
	t.grown[l], t.grown[l+1] = members[:at:at], members[at:]
	a.split(t, l, depth+1, rng)
	a.split(t, l+1, depth+1, rng)
}

// category reports whether feature f is split by subsets of its values.
func (a *adder) category(f int) bool { return a.s.Categories != nil && a.s.Categories[f] > 2 }

// sort sorts members by feature f: by its value or, for a category, by the mean
// of the points with the same value.
func (a *adder) sort(f int, members []member) {
	a.sorted = a.sorted[:0]
	for _, m := range members {
		a.sorted = append(a.sorted, keyed{m, a.row(m)[f]})
	}
	if a.category(f) {
		clear(a.ofValue)
		for _, s := range a.sorted {
			v := &a.ofValue[int(s.key)]
			v.w += float64(s.w)
			v.wy += float64(s.w) * a.y[s.point]
		}
		for i, s := range a.sorted {
			a.sorted[i].key = a.ofValue[int(s.key)].mean()
		}
	}
	slices.SortFunc(a.sorted, func(p, q keyed) int { return cmp.Or(cmp.Compare(p.key, q.key), cmp.Compare(p.point, q.point)) })
}

// scan looks for a split of members at feature f that is better than *best, and
// returns the number of members that it sends left, or 0 if there is none.
func (a *adder) scan(f int, members []member, sum weighted, best *split) (at int) {
	a.sort(f, members)
	var left weighted
	for i, s := range a.sorted[:len(a.sorted)-1] {
		left.w += float64(s.w)
		left.wy += float64(s.w) * a.y[s.point]
		next := a.sorted[i+1].key
		if left.w < float64(a.s.MinLeaf) || s.key == next {
			continue
		}
		if sum.w-left.w < float64(a.s.MinLeaf) {
			break
		}
		if gain := sum.gain(left); best.worseThan(gain) {
			*best, at = split{feat: f, gain: gain, left: left, thr: between(s.key, next)}, i+1
		}
	}
	return at
}
