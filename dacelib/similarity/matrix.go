package similarity

import (
	"cmp"
	"encoding/csv"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/mds"

	"dace.local/dacelib/stats"
)

// A Matrix holds how similar instances are to one another.
type Matrix struct {
	// Measure says what Values are.
	Measure Measure
	// Names are those of the n instances.
	Names []string
	// Values is n x n and symmetric: correlations, which are 1 on the diagonal, or
	// distances, which are 0 there, as Measure says.
	Values [][]float64
	// Caution, unless it is empty, says why the values must not be taken for the
	// similarity of the instances. Texts and figures show it.
	Caution string
}

// Distances returns the values as distances, n x n: a correlation r as
// sqrt(2 (1 - r)), which is the Euclidean distance of the two instances' values
// once they have mean 0 and length 1.
func (m Matrix) Distances() [][]float64 {
	out := make([][]float64, len(m.Values))
	for i, row := range m.Values {
		out[i] = slices.Clone(row)
		if m.Measure.correlates() {
			for j, r := range row {
				out[i][j] = math.Sqrt(max(0, 2*(1-r)))
			}
		}
	}
	return out
}

// A Neighbour is an instance that is near another.
type Neighbour struct {
	Index int    // of the instance in the matrix
	Name  string // of the instance
	// Value is the entry of the matrix.
	Value float64
}

// Nearest returns the k instances that are nearest to instance i, nearest first;
// fewer if there are not as many. Equally near ones keep the matrix's order. It
// panics if there is no instance i.
func (m Matrix) Nearest(i, k int) []Neighbour {
	var all []Neighbour
	for j, v := range m.Values[i] {
		if j != i {
			all = append(all, Neighbour{j, m.Names[j], v})
		}
	}
	slices.SortStableFunc(all, func(a, b Neighbour) int {
		if m.Measure.correlates() {
			return cmp.Compare(b.Value, a.Value)
		}
		return cmp.Compare(a.Value, b.Value)
	})
	return all[:min(max(k, 0), len(all))]
}

// SameGroup returns how many instances have a nearest neighbour of their own group,
// and how many would if neighbours were drawn at random. groups has the group of
// every instance.
func (m Matrix) SameGroup(groups []string) (hits int, chance float64, err error) {
	if err := m.fits(groups); err != nil {
		return 0, 0, err
	}
	for i, g := range groups {
		if near := m.Nearest(i, 1); len(near) > 0 && groups[near[0].Index] == g {
			hits++
		}
		for j, other := range groups {
			if j != i && other == g {
				chance += 1 / float64(len(groups)-1)
			}
		}
	}
	return hits, chance, nil
}

// fits returns an error unless there is a group for every instance.
func (m Matrix) fits(groups []string) error {
	if len(groups) != len(m.Names) {
		return fmt.Errorf("similarity: %d instances and %d groups; every instance needs a group", len(m.Names), len(groups))
	}
	return nil
}

// Agreement returns Spearman's correlation of the distances of two matrices over
// all pairs of instances. The matrices must have the same instances in the same
// order, at least 3; it is 0 if one has a single distance.
func (m Matrix) Agreement(other Matrix) (float64, error) {
	if len(m.Names) != len(other.Names) || len(m.Names) < 3 {
		return 0, fmt.Errorf("similarity: matrices of %d and %d instances cannot be compared; both need the same, at least 3", len(m.Names), len(other.Names))
	}
	pairs := func(m Matrix) ([]float64, error) {
		var out []float64
		for i, row := range m.Distances() {
			out = append(out, row[:i]...)
		}
		return stats.Ranks(out)
	}
	a, err := pairs(m)
	if err != nil {
		return 0, fmt.Errorf("similarity: %w", err)
	}
	b, err := pairs(other)
	if err != nil {
		return 0, fmt.Errorf("similarity: %w", err)
	}
	if r := stat.Correlation(a, b, nil); !math.IsNaN(r) {
		return r, nil
	}
	return 0, nil
}

// Scale places the instances in k dimensions, so that their distances are as near
// as possible to those of the matrix: classical (Torgerson's) scaling. points is
// n x k; share is the part of the squared distances from the centre that the k
// coordinates hold: 1 if they hold all.
func (m Matrix) Scale(k int) (points [][]float64, share float64, err error) {
	n := len(m.Names)
	if k < 1 || k >= n {
		return nil, 0, fmt.Errorf("similarity: %d instances can be placed in 1 to %d dimensions; got %d", n, n-1, k)
	}
	distances := mat.NewSymDense(n, nil)
	for i, row := range m.Distances() {
		for j := range i + 1 {
			distances.SetSym(i, j, row[j])
		}
	}
	var place mat.Dense
	found, values := mds.TorgersonScaling(&place, make([]float64, n), distances)
	total := 0.0
	for c, v := range values {
		if v > 0 {
			total += v
			if c < k {
				share += v
			}
		}
	}
	if total > 0 {
		share /= total
	}
	points = make([][]float64, n)
	for i := range points {
		points[i] = make([]float64, k)
	}
	for c := range min(k, found) {
		// The direction of an axis is arbitrary: the farthest point gets the positive side.
		far := 0
		for i := range n {
			if math.Abs(place.At(i, c)) > math.Abs(place.At(far, c))*(1+1e-9) {
				far = i
			}
		}
		sign := math.Copysign(1, place.At(far, c))
		for i := range n {
			points[i][c] = sign * place.At(i, c)
		}
	}
	return points, share, nil
}

// String returns the matrix as text: all of at most 12 instances, otherwise the
// nearest three of each.
func (m Matrix) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s, %d instances\n", m.Measure, len(m.Names))
	if m.Caution != "" {
		fmt.Fprintf(&b, "Caution: %s\n", m.Caution)
	}
	width := 0
	for _, name := range m.Names {
		width = max(width, len([]rune(name)))
	}
	for i, name := range m.Names {
		fmt.Fprintf(&b, "%-*s ", width, name)
		if len(m.Names) > 12 {
			for _, near := range m.Nearest(i, 3) {
				fmt.Fprintf(&b, "  %s %.2f", near.Name, near.Value)
			}
		} else {
			for _, v := range m.Values[i] {
				fmt.Fprintf(&b, " %5.2f", v)
			}
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// CSV returns the matrix as comma-separated values: a row for each instance, after
// one with the names, and the names in the first column. Numbers are exact.
func (m Matrix) CSV() string {
	var b strings.Builder
	w := csv.NewWriter(&b)
	w.Write(append([]string{m.Measure.String()}, m.Names...))
	for i, row := range m.Values {
		line := []string{m.Names[i]}
		for _, v := range row {
			line = append(line, strconv.FormatFloat(v, 'g', -1, 64))
		}
		w.Write(line)
	}
	w.Flush()
	return b.String()
}

// LaTeX returns the matrix as a tabular, with two decimals and the names.
func (m Matrix) LaTeX() string {
	escape := strings.NewReplacer(`\`, `\textbackslash{}`, `_`, `\_`, `%`, `\%`, `&`, `\&`, `#`, `\#`, `$`, `\$`, `{`, `\{`, `}`, `\}`, `~`, `\textasciitilde{}`, `^`, `\textasciicircum{}`)
	var b strings.Builder
	if m.Caution != "" {
		fmt.Fprintf(&b, "%% Caution: %s\n", m.Caution)
	}
	fmt.Fprintf(&b, "\\begin{tabular}{l%s}\n\\hline\n", strings.Repeat("r", len(m.Names)))
	for _, name := range m.Names {
		b.WriteString(" & " + escape.Replace(name))
	}
	b.WriteString(" \\\\\n\\hline\n")
	for i, row := range m.Values {
		b.WriteString(escape.Replace(m.Names[i]))
		for _, v := range row {
			text := fmt.Sprintf("%.2f", v)
			if text == "-0.00" {
				text = "0.00"
			}
			fmt.Fprintf(&b, " & $%s$", text)
		}
		b.WriteString(" \\\\\n")
	}
	b.WriteString("\\hline\n\\end{tabular}\n")
	return b.String()
}
