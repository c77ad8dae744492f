package frame

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Groups are the rows of a frame by the values of some columns.
type Groups struct {
	of   Frame
	by   []string
	rows [][]int // the rows of each group
}

// GroupBy groups the rows by the values of the named columns. Groups are in the
// order of these values.
func (f Frame) GroupBy(names ...string) Groups {
	sorted := f.codes(names)
	group := make([]int, f.rows) // the number of a row's group
	total := 1
	for _, c := range sorted {
		// Number the pairs of the group so far and this column's value anew, so
		// that numbers stay below the number of rows.
		pairs := map[[2]int]int{}
		for i := range group {
			pairs[[2]int{group[i], c[i]}] = 0
		}
		keys := slices.SortedFunc(maps.Keys(pairs), func(a, b [2]int) int {
			if a[0] != b[0] {
				return a[0] - b[0]
			}
			return a[1] - b[1]
		})
		for k, key := range keys {
			pairs[key] = k
		}
		for i := range group {
			group[i] = pairs[[2]int{group[i], c[i]}]
		}
		total = len(keys)
	}
	sizes := make([]int, total)
	for _, g := range group {
		sizes[g]++
	}
	all := make([]int, 0, f.rows)
	g := Groups{of: f, by: slices.Clone(names), rows: make([][]int, total)}
	for k, n := range sizes {
		g.rows[k] = all[len(all) : len(all) : len(all)+n]
		all = all[:len(all)+n]
	}
	for i, k := range group {
		g.rows[k] = append(g.rows[k], i)
	}
	if f.rows == 0 {
		g.rows = nil
	}
	return g
}

// codes returns, for each of the columns, the rank of each row's value among
// the column's distinct values.
func (f Frame) codes(names []string) [][]int {
	out := make([][]int, len(names))
	for k, name := range names {
		switch v := f.column(name).values.(type) {
		case []string:
			out[k] = ranks(v, strings.Compare)
		case []int:
			out[k] = ranks(v, func(a, b int) int { return compareFloats(float64(a), float64(b)) })
		case []float64:
			bits := make([]uint64, len(v)) // NaN equals no NaN, its bits do
			for i, x := range v {
				if x == 0 {
					x = 0 // -0 is 0
				}
				bits[i] = math.Float64bits(x)
			}
			out[k] = ranks(bits, func(a, b uint64) int {
				x, y := math.Float64frombits(a), math.Float64frombits(b)
				switch nx, ny := math.IsNaN(x), math.IsNaN(y); {
				case nx && ny:
					return 0
				case nx:
					return 1
				case ny:
					return -1
				}
				return compareFloats(x, y)
			})
		case []bool:
			out[k] = ranks(v, func(a, b bool) int {
				switch {
				case a == b:
					return 0
				case b:
					return -1
				}
				return 1
			})
		case []time.Time:
			out[k] = ranks(v, time.Time.Compare)
		}
	}
	return out
}

// ranks returns the rank of each value among the distinct values.
func ranks[T comparable](v []T, compare func(a, b T) int) []int {
	rank := map[T]int{}
	out := make([]int, len(v))
	for i, x := range v {
		k, ok := rank[x]
		if !ok {
			k = len(rank)
			rank[x] = k
		}
		out[i] = k
	}
	values := slices.SortedFunc(maps.Keys(rank), compare)
	order := make([]int, len(values)) // by the number at first sight
	for k, x := range values {
		order[rank[x]] = k
	}
	for i := range out {
		out[i] = order[out[i]]
	}
	return out
}

// Len returns the number of groups.
func (g Groups) Len() int { return len(g.rows) }

// Frames returns the rows of each group as a frame of its own.
func (g Groups) Frames() []Frame {
	out := make([]Frame, len(g.rows))
	for k, rows := range g.rows {
		out[k] = g.of.take(rows)
	}
	return out
}

// keys returns a frame with the columns that the groups are made by: a row for
// each group.
func (g Groups) keys() Frame {
	first := make([]int, len(g.rows))
	for k, rows := range g.rows {
		first[k] = rows[0]
	}
	return g.of.Select(g.by...).take(first)
}

// Aggregate returns a row for each group: the columns that the groups are made
// by, and for each named column of numbers the result of an aggregate, which
// gets the numbers that are not missing. Without names it does so for all other
// columns of numbers.
func (g Groups) Aggregate(of func(values []float64) float64, names ...string) Frame {
	if len(names) == 0 {
		for _, c := range g.of.columns {
			if c.numeric() && !slices.Contains(g.by, c.name) {
				names = append(names, c.name)
			}
		}
	}
	out := g.keys()
	var values []float64
	for _, name := range names {
		v := g.of.floats(name)
		result := make([]float64, len(g.rows))
		for k, rows := range g.rows {
			values = values[:0]
			for _, i := range rows {
				if !math.IsNaN(v[i]) {
					values = append(values, v[i])
				}
			}
			result[k] = of(values)
		}
		out = out.with(name, result)
	}
	return out
}

// Count returns the number of rows of each group, in the column "count".
func (g Groups) Count() Frame {
	n := make([]int, len(g.rows))
	for k, rows := range g.rows {
		n[k] = len(rows)
	}
	return g.keys().with("count", n)
}

// Mean returns the mean of the named columns in each group; see [Groups.Aggregate].
func (g Groups) Mean(names ...string) Frame { return g.Aggregate(mean, names...) }

// Sum returns the sum of the named columns in each group.
func (g Groups) Sum(names ...string) Frame { return g.Aggregate(sum, names...) }

// Std returns the standard deviation, with n-1, of the named columns in each
// group.
func (g Groups) Std(names ...string) Frame { return g.Aggregate(std, names...) }

// Min returns the smallest value of the named columns in each group.
func (g Groups) Min(names ...string) Frame {
	return g.Aggregate(func(v []float64) float64 { return quantile(v, 0) }, names...)
}

// Max returns the largest value of the named columns in each group.
func (g Groups) Max(names ...string) Frame {
	return g.Aggregate(func(v []float64) float64 { return quantile(v, 1) }, names...)
}

// Median returns the median of the named columns in each group.
func (g Groups) Median(names ...string) Frame {
	return g.Aggregate(func(v []float64) float64 { return quantile(v, 0.5) }, names...)
}

// Describe returns, for every column of numbers, a row with the number of values
// that are not missing, mean, standard deviation (with n-1), minimum, quartiles
// and maximum. The quartiles are linear interpolations, as numpy's and pandas'.
func (f Frame) Describe() Frame {
	var names []string
	var counts []int
	stats := make([][]float64, 7)
	for _, c := range f.columns {
		v, ok := c.floats()
		if !ok {
			continue
		}
		v = slices.DeleteFunc(slices.Clone(v), math.IsNaN)
		names, counts = append(names, c.name), append(counts, len(v))
		slices.Sort(v)
		for k, x := range []float64{mean(v), std(v), quantile(v, 0), quantile(v, 0.25), quantile(v, 0.5), quantile(v, 0.75), quantile(v, 1)} {
			stats[k] = append(stats[k], x)
		}
	}
	out := Frame{}.With("column", names).With("count", counts)
	for k, name := range []string{"mean", "std", "min", "25%", "50%", "75%", "max"} {
		out = out.With(name, stats[k])
	}
	return out
}

func sum(v []float64) float64 {
	s := 0.0
	for _, x := range v {
		s += x
	}
	return s
}

func mean(v []float64) float64 { return sum(v) / float64(len(v)) }

func std(v []float64) float64 {
	if len(v) < 2 {
		return math.NaN()
	}
	m, s := mean(v), 0.0
	for _, x := range v {
		s += (x - m) * (x - m)
	}
	return math.Sqrt(s / float64(len(v)-1))
}

// quantile returns a quantile of values by linear interpolation; it may sort
// them.
func quantile(v []float64, p float64) float64 {
	switch {
	case len(v) == 0:
		return math.NaN()
	case p == 0:
		return slices.Min(v)
	case p == 1:
		return slices.Max(v)
	}
	slices.Sort(v)
	at := p * float64(len(v)-1)
	i := int(at)
	if i+1 >= len(v) {
		return v[len(v)-1]
	}
	return v[i] + (at-float64(i))*(v[i+1]-v[i])
}

// Join returns the rows of f, each with the columns of every row of g that has
// the same values in the columns on. Rows without a partner are left out.
// Columns of g, other than on, whose names f has too get " 2" added.
func (f Frame) Join(g Frame, on ...string) Frame { return f.join(g, false, on) }

// LeftJoin is [Frame.Join], but keeps the rows of f without a partner, with
// missing values.
func (f Frame) LeftJoin(g Frame, on ...string) Frame { return f.join(g, true, on) }

func (f Frame) join(g Frame, keep bool, on []string) Frame {
	if len(on) == 0 {
		panic("frame: Join needs the names of columns that both frames have")
	}
	partners := map[string][]int{}
	key := func(f Frame) func(i int) string {
		columns := make([]column, len(on))
		for k, name := range on {
			columns[k] = f.column(name)
		}
		return func(i int) string {
			var b strings.Builder
			for _, c := range columns {
				text := c.text(i)
				b.WriteString(strconv.Itoa(len(text)))
				b.WriteByte(':')
				b.WriteString(text)
			}
			return b.String()
		}
	}
	for _, name := range on {
		if a, b := f.column(name), g.column(name); a.numeric() != b.numeric() || !a.numeric() && a.kind() != b.kind() {
			panic(fmt.Sprintf("frame: column %q holds %s in one frame and %s in the other", name, a.kind(), b.kind()))
		}
	}
	of := key(g)
	for i := range g.rows {
		k := of(i)
		partners[k] = append(partners[k], i)
	}
	var left, right []int
	of = key(f)
	for i := range f.rows {
		found := partners[of(i)]
		for _, j := range found {
			left, right = append(left, i), append(right, j)
		}
		if len(found) == 0 && keep {
			left, right = append(left, i), append(right, -1)
		}
	}
	out := f.take(left)
	for _, c := range g.columns {
		if slices.Contains(on, c.name) {
			continue
		}
		c = c.take(right)
		if out.Has(c.name) {
			c.name += " 2"
		}
		out.columns = append(out.columns, c)
	}
	return out
}
