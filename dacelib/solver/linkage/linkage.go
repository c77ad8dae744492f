// Package linkage is the parameter-less population pyramid, P3 (Goldman, Punch:
// Parameter-less population pyramid, GECCO 2014), which learns which bits belong
// together. Each new solution climbs by single flips and then rises through the
// levels of a pyramid of populations: at each level it takes over groups of bits
// from the solutions there, if that does not lose. The groups are the linkage tree
// of the level, a hierarchical clustering of the bits by mutual information.
//
// Start with [Solver]. Its parameters:
//
//   - climb: new solutions climb first;
//   - smallest: groups are tried from the smallest to the largest, otherwise in
//     random order;
//   - memory: values of solutions seen before are looked up, not evaluated.
//
// A tree is built anew when its level has grown by an eighth; the published method
// builds it after each solution, which takes longer and changes little.
package linkage

import (
	"context"
	"math"
	"slices"

	"dace.local/dacelib/problem"
	"dace.local/dacelib/smac"
	"dace.local/dacelib/solver"
	"dace.local/dacelib/solver/internal/moves"
)

func init() { solver.Register(Solver()) }

// Solver returns P3.
func Solver() solver.Solver { return family{} }

type family struct{}

func (family) Name() string { return "linkage" }

func (family) Space(d, evaluations int) smac.Space {
	return smac.Space{Params: []smac.Param{
		{Name: "climb", Kind: smac.Bool, Default: 1},
		{Name: "smallest", Kind: smac.Bool, Default: 1},
		{Name: "memory", Kind: smac.Bool, Default: solver.MemoryDefault(evaluations)},
	}}
}

func (f family) Run(ctx context.Context, jobs []solver.Job, workers int) ([]solver.Result, error) {
	return solver.Each(ctx, f, jobs, workers, func(s *solver.Search) error {
		pyramid(s)
		return nil
	})
}

// A level is a population of the pyramid.
type level struct {
	members problem.Solutions
	// ones and both count the members with a one in a bit, and in two bits i > j at
	// place i(i-1)/2 + j.
	ones, both []int
	groups     []group // of the tree, without the whole
	built      int     // members when groups were made
	shuffled   []group // scratch
	distance   []float64
}

// A group is a set of bits.
type group struct {
	mask []uint64
	size int
}

// mostMembers bounds the solutions of all levels; a run that has more begins anew.
const mostMembers = 1 << 16

func pyramid(s *solver.Search) {
	if s.Flag("memory") {
		s.Remember()
	}
	d, w, rng := s.Dim(), problem.Stride(s.Dim()), s.Rand
	climb, smallest := s.Flag("climb"), s.Flag("smallest")
	var levels []*level
	seen := map[string]bool{}
	x, y := make([]uint64, w), make([]uint64, w)
	order := rng.Perm(d)
	key := make([]byte, 0, 8*w)
	add := func(at int) {
		key = key[:0]
		for _, v := range x {
			for range 8 {
				key = append(key, byte(v))
				v >>= 8
			}
		}
		if seen[string(key)] {
			return
		}
		seen[string(key)] = true
		if at == len(levels) {
			levels = append(levels, &level{members: problem.Solutions{D: d}, ones: make([]int, d), both: make([]int, d*(d-1)/2)})
		}
		levels[at].add(x)
	}
	for !s.Over() {
		if s.Stuck() || len(seen) >= mostMembers {
			levels = nil
			clear(seen)
		}
		problem.Randomize(rng, problem.Solutions{D: d, Words: x})
		v := s.Value(x)
		if climb {
			v = ascend(s, x, v, order)
		}
		add(0)
		for at := 0; at < len(levels) && !s.Over(); at++ {
			before := v
			v = levels[at].mix(s, x, y, v, smallest)
			if v > before {
				add(at + 1)
			}
		}
	}
}

// ascend takes the first better flips, in random order, until there is none.
func ascend(s *solver.Search, x []uint64, v float64, order []int) float64 {
	d := len(order)
	s.Rand.Shuffle(d, func(i, j int) { order[i], order[j] = order[j], order[i] })
	for k, failed := 0, 0; failed < d && !s.Over(); k = (k + 1) % d {
		moves.Flip(x, order[k])
		if w := s.Value(x); w > v {
			v, failed = w, 1
		} else {
			moves.Flip(x, order[k])
			failed++
		}
	}
	return v
}

// add adds a member.
func (l *level) add(x []uint64) {
	l.members.Words = append(l.members.Words, x...)
	for i := range l.ones {
		if moves.At(x, i) == 0 {
			continue
		}
		l.ones[i]++
		row := l.both[i*(i-1)/2:][:i]
		for w := 0; 64*w < i; w++ {
			v, part := x[w], row[64*w:min(64*w+64, i)]
			for j := range part {
				part[j] += int(v & 1)
				v >>= 1
			}
		}
	}
}

// mix lets x take over each group of bits from the first member, in random order,
// that differs there, unless that loses. y is scratch.
func (l *level) mix(s *solver.Search, x, y []uint64, v float64, smallest bool) float64 {
	n := l.members.Len()
	if n < 2 {
		return v
	}
	if l.groups == nil || n-l.built > l.built/8 {
		l.build(s)
	}
	groups := l.groups
	if !smallest {
		l.shuffled = append(l.shuffled[:0], groups...)
		groups = l.shuffled
		s.Rand.Shuffle(len(groups), func(i, j int) { groups[i], groups[j] = groups[j], groups[i] })
	}
	for _, g := range groups {
		mask := g.mask
		if s.Over() {
			break
		}
		// A random order of the donors: steps of a random length that has no
		// common divisor with n, from a random start.
		from, step := s.Rand.IntN(n), 1
		for range 10 {
			if k := 1 + s.Rand.IntN(n-1); gcd(k, n) == 1 {
				step = k
				break
			}
		}
		for k := range n {
			donor := l.members.Row((from + k*step) % n)
			differs := false
			for i := range y {
				y[i] = x[i]&^mask[i] | donor[i]&mask[i]
				differs = differs || y[i] != x[i]
			}
			if !differs {
				continue
			}
			if w := s.Value(y); w >= v {
				copy(x, y)
				v = w
			}
			break
		}
	}
	return v
}

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// build makes the groups: the nodes of the tree that average linkage makes of the
// bits, small ones first, in random order among equals. Pairs of bits that are
// always the same in the level are one group: the parts of a node whose distance is
// zero are left out.
func (l *level) build(s *solver.Search) {
	d, n := len(l.ones), float64(l.members.Len())
	l.built = l.members.Len()
	known := make([]float64, l.members.Len()+1)
	log := func(c int) float64 { // -p log p, never negative; 0 stands for unknown
		if c == 0 {
			return 0
		}
		if known[c] == 0 {
			p := float64(c) / n
			known[c] = -p * math.Log(p)
		}
		return known[c]
	}
	single := make([]float64, d)
	for i, c := range l.ones {
		single[i] = log(c) + log(l.members.Len()-c)
	}
	// The distance of two bits is one minus their mutual information as a share of
	// their common entropy.
	if l.distance == nil {
		l.distance = make([]float64, d*d)
	}
	distance := make([][]float64, d)
	for i := range distance {
		distance[i] = l.distance[i*d : (i+1)*d]
	}
	for i := range d {
		for j := range i {
			c := l.both[i*(i-1)/2+j]
			common := log(c) + log(l.ones[i]-c) + log(l.ones[j]-c) + log(l.members.Len()-l.ones[i]-l.ones[j]+c)
			far := 0.0
			if common > 0 {
				far = 2 - (single[i]+single[j])/common
			}
			if far < 1e-12 {
				far = 0
			}
			distance[i][j], distance[j][i] = far, far
		}
	}
	// A tree has 2d-1 nodes; useful lists the groups of a node.
	w := problem.Stride(d)
	room := make([]uint64, (2*d-1)*w)
	take := func() (mask []uint64) {
		mask, room = room[:w:w], room[w:]
		return mask
	}
	clusters, useful := make([]group, d), make([][]group, d)
	for i := range clusters {
		clusters[i] = group{take(), 1}
		moves.Flip(clusters[i].mask, i)
		useful[i] = append(make([]group, 0, 4), clusters[i])
	}
	active := s.Rand.Perm(d) // ties are broken at random
	// Nearest-neighbour chains find the same tree in d^2 steps.
	var chain []int
	for len(active) > 1 {
		if len(chain) == 0 {
			chain = append(chain, active[0])
		}
		for {
			a := chain[len(chain)-1]
			best := -1
			if len(chain) > 1 {
				best = chain[len(chain)-2]
			}
			for _, b := range active {
				if b != a && (best < 0 || distance[a][b] < distance[a][best]) {
					best = b
				}
			}
			if len(chain) > 1 && best == chain[len(chain)-2] {
				break
			}
			chain = append(chain, best)
		}
		a, b := chain[len(chain)-1], chain[len(chain)-2]
		chain = chain[:len(chain)-2]
		na, nb := float64(clusters[a].size), float64(clusters[b].size)
		if distance[a][b] == 0 {
			useful[a] = nil // its parts always go together
		} else {
			useful[a] = append(useful[a], useful[b]...)
		}
		for _, c := range active {
			if c != a && c != b {
				distance[a][c] = (na*distance[a][c] + nb*distance[b][c]) / (na + nb)
				distance[c][a] = distance[a][c]
			}
		}
		whole := group{take(), clusters[a].size + clusters[b].size}
		for i := range w {
			whole.mask[i] = clusters[a].mask[i] | clusters[b].mask[i]
		}
		clusters[a] = whole
		if len(active) > 2 { // not the whole
			useful[a] = append(useful[a], clusters[a])
		}
		active = slices.DeleteFunc(active, func(c int) bool { return c == b })
	}
	l.groups = useful[active[0]]
	s.Rand.Shuffle(len(l.groups), func(i, j int) { l.groups[i], l.groups[j] = l.groups[j], l.groups[i] })
	slices.SortStableFunc(l.groups, func(a, b group) int { return a.size - b.size })
}
