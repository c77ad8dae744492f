package experiment

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"dace.local/dacelib/stats"
)

// Level is the level of significance of all tests in the paper.
const Level = 0.05

// A Table is the outcome of a test on one class: the paper's tables of the
// means and of wins, draws and losses.
type Table struct {
	// Class of the instances.
	Class string
	// Methods are the columns; the first is the one that the others are
	// compared with.
	Methods []string
	// Rows has one row per dimension, ascending.
	Rows []Row
}

// A Row is about the instances of one dimension.
type Row struct {
	Dim, Instances int
	// Cells has one cell per method.
	Cells []Cell
}

// A Cell is about one method.
type Cell struct {
	// Mean and Std over the instances of the performance on each; Std with
	// n-1.
	Mean, Std float64
	// P is that of Wilcoxon's signed-rank test of the first method against
	// this one, over the instances; 1 where they do not differ, and for the
	// first itself.
	P float64
	// WDL counts the instances on which the first method is significantly
	// better than this one, not different, or worse, by rank-sum tests of the
	// repeats.
	WDL stats.WDL
	// Best marks the largest mean of the row, AsGood what is not
	// significantly different from it.
	Best, AsGood bool
}

// Tabulate makes the table of the records of one class; first names the method
// that the others are compared with. All methods must have been run on the
// same instances.
func Tabulate(records []Record, first string) (Table, error) {
	var t Table
	type key struct {
		dim              int
		method, instance string
	}
	byKey := map[key]Record{}
	instances := map[int][]string{}
	t.Methods = []string{first}
	for _, r := range records {
		switch {
		case t.Class == "":
			t.Class = r.Class
		case t.Class != r.Class:
			return t, fmt.Errorf("experiment: records of the classes %s and %s; tabulate them apart", t.Class, r.Class)
		}
		k := key{r.Dim, r.Method, r.Instance}
		if _, twice := byKey[k]; twice {
			return t, fmt.Errorf("experiment: two records of %s on %s", r.Method, r.Instance)
		}
		byKey[k] = r
		if !slices.Contains(t.Methods, r.Method) {
			t.Methods = append(t.Methods, r.Method)
		}
		if !slices.Contains(instances[r.Dim], r.Instance) {
			instances[r.Dim] = append(instances[r.Dim], r.Instance)
		}
	}
	var dims []int
	for d := range instances {
		dims = append(dims, d)
	}
	slices.Sort(dims)
	for _, d := range dims {
		row := Row{Dim: d, Instances: len(instances[d])}
		means := make([][]float64, len(t.Methods))
		values := make([][][]float64, len(t.Methods))
		for k, m := range t.Methods {
			for _, name := range instances[d] {
				r, ok := byKey[key{d, m, name}]
				if !ok {
					return t, fmt.Errorf("experiment: %s was not run on %s", m, name)
				}
				means[k] = append(means[k], r.Mean)
				values[k] = append(values[k], r.Values)
			}
			c := Cell{P: signedRank(means[0], means[k])}
			c.Mean, c.Std = moments(means[k])
			var err error
			if c.WDL, err = stats.WinDrawLoss(values[0], values[k], Level); err != nil {
				return t, err
			}
			row.Cells = append(row.Cells, c)
		}
		best := 0
		for k, c := range row.Cells {
			if c.Mean > row.Cells[best].Mean {
				best = k
			}
		}
		row.Cells[best].Best = true
		for k := range row.Cells {
			row.Cells[k].AsGood = signedRank(means[best], means[k]) >= Level
		}
		t.Rows = append(t.Rows, row)
	}
	return t, nil
}

// signedRank is the p of Wilcoxon's test, 1 where no pair differs.
func signedRank(x, y []float64) float64 {
	r, err := stats.SignedRank(x, y, stats.SignedRankSettings{})
	if err != nil {
		return 1
	}
	return r.PValue
}

// moments returns mean and standard deviation, the latter 0 of one value.
func moments(v []float64) (mean, std float64) {
	for _, x := range v {
		mean += x / float64(len(v))
	}
	for _, x := range v {
		std += (x - mean) * (x - mean)
	}
	return mean, math.Sqrt(std / float64(max(1, len(v)-1)))
}

// cells returns the table as text: a header, then two rows a dimension, one of
// means and one of wins, draws and losses.
func (t Table) cells() [][]string {
	head := []string{t.Class}
	out := [][]string{append(head, t.Methods...)}
	for _, r := range t.Rows {
		means := []string{fmt.Sprintf("d = %d", r.Dim)}
		wdl := []string{"W-D-L"}
		for k, c := range r.Cells {
			mark := ""
			switch {
			case c.Best:
				mark = " *"
			case c.AsGood:
				mark = " ~"
			}
			means = append(means, fmt.Sprintf("%.4f±%.4f%s", c.Mean, c.Std, mark))
			if k == 0 {
				wdl = append(wdl, "")
			} else {
				wdl = append(wdl, c.WDL.String())
			}
		}
		out = append(out, means, wdl)
	}
	return out
}

// String returns the table as text: means and standard deviations over the
// instances, * the best of a row, ~ what does not differ from it
// significantly; below them the first method's wins, draws and losses.
func (t Table) String() string {
	rows := t.cells()
	width := make([]int, len(rows[0]))
	for _, r := range rows {
		for i, c := range r {
			width[i] = max(width[i], len([]rune(c)))
		}
	}
	var b strings.Builder
	for n, r := range rows {
		if n > 0 {
			b.WriteByte('\n')
		}
		var line strings.Builder
		for i, c := range r {
			line.WriteString(c + strings.Repeat(" ", width[i]-len([]rune(c))+2))
		}
		b.WriteString(strings.TrimRight(line.String(), " "))
	}
	return b.String()
}

// Markdown returns the same table in Markdown.
func (t Table) Markdown() string {
	var b strings.Builder
	for n, r := range t.cells() {
		b.WriteString("| " + strings.Join(r, " | ") + " |\n")
		if n == 0 {
			b.WriteString(strings.Repeat("|---", len(r)) + "|\n")
		}
	}
	return b.String()
}

// Means returns the performance of a method on every instance of dimension
// dim, 0 meaning all, in the order of the records: a box of a figure.
func Means(records []Record, method string, dim int) []float64 {
	var out []float64
	for _, r := range records {
		if r.Method == method && (dim == 0 || r.Dim == dim) {
			out = append(out, r.Mean)
		}
	}
	return out
}
