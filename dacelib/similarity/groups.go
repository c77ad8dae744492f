package similarity

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// A Linkage says how far two groups of instances are from each other.
type Linkage int

const (
	// Average is the mean distance of the pairs (UPGMA).
	Average Linkage = iota
	// Complete is the largest distance of a pair, Single the smallest.
	Complete
	Single
	// Ward is the growth of the squared distances from the groups' means (Ward,
	// 1963), as SciPy scales it.
	Ward
)

// String returns the linkage's name.
func (l Linkage) String() string {
	if names := []string{"average", "complete", "single", "Ward"}; l >= 0 && int(l) < len(names) {
		return names[l]
	}
	return fmt.Sprintf("Linkage(%d)", int(l))
}

// A Merge joins two nodes of a [Tree].
type Merge struct {
	// A and B are the nodes, A < B: those below n are instances, n+k is what the
	// k-th merge made.
	A, B int
	// Height is their distance, Size the number of instances in both.
	Height float64
	Size   int
}

// A Tree is a hierarchy of groups: n instances, joined two by two.
type Tree struct {
	// Measure, Names and Caution are those of the matrix.
	Measure Measure
	Names   []string
	Caution string
	// Linkage of the groups.
	Linkage Linkage
	// Merges has n-1 entries, of ascending heights.
	Merges []Merge
}

// Link joins the two nearest groups again and again, from the single instances to
// all of them, by the distances of [Matrix.Distances]. The tree is that of SciPy's
// linkage. Of groups that are equally near those of the lowest nodes are joined
// first.
func (m Matrix) Link(l Linkage) Tree {
	n := len(m.Names)
	t := Tree{Measure: m.Measure, Names: slices.Clone(m.Names), Caution: m.Caution, Linkage: l}
	d := m.Distances()
	node, size := make([]int, n), make([]int, n) // by row of d; size 0: the row is gone
	for i := range n {
		node[i], size[i] = i, 1
	}
	for k := range max(0, n-1) {
		a, b := -1, -1
		for i := range n {
			for j := range i {
				if size[i] == 0 || size[j] == 0 {
					continue
				}
				p, q := min(node[i], node[j]), max(node[i], node[j])
				if a < 0 || cmp.Or(cmp.Compare(d[i][j], d[a][b]), cmp.Compare(p, min(node[a], node[b])), cmp.Compare(q, max(node[a], node[b]))) < 0 {
					a, b = i, j
				}
			}
		}
		t.Merges = append(t.Merges, Merge{min(node[a], node[b]), max(node[a], node[b]), d[a][b], size[a] + size[b]})
		for c := range n {
			if c != a && c != b && size[c] > 0 {
				d[a][c] = l.join(d[a][c], d[b][c], d[a][b], float64(size[a]), float64(size[b]), float64(size[c]))
				d[c][a] = d[a][c]
			}
		}
		node[a], size[a], size[b] = n+k, size[a]+size[b], 0
	}
	return t
}

// join returns the distance of c from the union of a and b (Lance and Williams,
// 1967); na, nb and nc are the sizes.
func (l Linkage) join(ac, bc, ab, na, nb, nc float64) float64 {
	switch l {
	case Complete:
		return max(ac, bc)
	case Single:
		return min(ac, bc)
	case Ward:
		return math.Sqrt(max(0, ((na+nc)*ac*ac+(nb+nc)*bc*bc-nc*ab*ab)/(na+nb+nc)))
	}
	return (na*ac + nb*bc) / (na + nb)
}

// Cut returns the group of every instance in the division into k groups: "group 1"
// to "group k", in the order of their first instances.
func (t Tree) Cut(k int) ([]string, error) {
	n := len(t.Names)
	if k < 1 || k > n {
		return nil, fmt.Errorf("similarity: %d instances can form 1 to %d groups; got %d", n, n, k)
	}
	root := make([]int, n+len(t.Merges)) // the node above
	for i := range root {
		root[i] = i
	}
	for i, m := range t.Merges[:n-k] {
		root[m.A], root[m.B] = n+i, n+i
	}
	number := map[int]int{}
	out := make([]string, n)
	for i := range out {
		r := i
		for root[r] != r {
			r = root[r]
		}
		if number[r] == 0 {
			number[r] = len(number) + 1
		}
		out[i] = fmt.Sprintf("group %d", number[r])
	}
	return out, nil
}

// Silhouette returns how well the instances fit their groups (Rousseeuw, 1987):
// the mean, and the width of each instance, from -1 (nearer to another group) to 1
// (much nearer to its own). The width of an instance alone in its group is 0. groups
// has the group of every instance; at least two are needed, fewer than there are
// instances.
func (m Matrix) Silhouette(groups []string) (mean float64, widths []float64, err error) {
	if err := m.fits(groups); err != nil {
		return 0, nil, err
	}
	members := map[string]int{}
	for _, g := range groups {
		members[g]++
	}
	if len(members) < 2 || len(members) >= len(groups) {
		return 0, nil, fmt.Errorf("similarity: a silhouette of %d instances needs 2 to %d groups; got %d", len(groups), max(2, len(groups)-1), len(members))
	}
	widths = make([]float64, len(groups))
	for i, row := range m.Distances() {
		if members[groups[i]] == 1 {
			continue
		}
		sum := map[string]float64{}
		for j, d := range row {
			sum[groups[j]] += d
		}
		own, other := sum[groups[i]]/float64(members[groups[i]]-1), math.Inf(1)
		for g, n := range members {
			if g != groups[i] {
				other = min(other, sum[g]/float64(n))
			}
		}
		if larger := max(own, other); larger > 0 {
			widths[i] = (other - own) / larger
		}
		mean += widths[i] / float64(len(groups))
	}
	return mean, widths, nil
}
