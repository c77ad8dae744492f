package experiment

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/stat/distuv"

	"dace.local/dacelib/run"
	"dace.local/dacelib/stats"
)

// A PairRow compares two methods on the instances of one dimension.
type PairRow struct {
	// Dim is the dimension of the Instances instances.
	Dim, Instances int
	A, B           float64 // means
	// P and WDL compare A with B; see [Cell].
	P   float64
	WDL stats.WDL
}

// Pair compares any two methods of the records; a and b are labels as
// [Tabulate] makes them.
func Pair(records []Record, a, b string) ([]PairRow, error) {
	_, label := labels(records)
	var of []Record
	for _, r := range records {
		if l := label[column{r.Method, r.Construction}]; l == a || l == b {
			of = append(of, r)
		}
	}
	if len(of) == 0 {
		return nil, fmt.Errorf("experiment: there are no records of %s and %s", a, b)
	}
	// With the other constructions filtered out, Tabulate would leave the number
	// out of the label; keep it as part of the method's name.
	for i, r := range of {
		of[i].Method, of[i].Construction = label[column{r.Method, r.Construction}], 0
	}
	t, err := Tabulate(of, a)
	if err != nil {
		return nil, err
	}
	if len(t.Methods) != 2 {
		return nil, fmt.Errorf("experiment: the records have %v, not %s and %s", t.Methods, a, b)
	}
	var rows []PairRow
	for _, r := range t.Rows {
		rows = append(rows, PairRow{r.Dim, r.Instances, r.Cells[0].Mean, r.Cells[1].Mean, r.Cells[1].P, r.Cells[1].WDL})
	}
	return rows, nil
}

// A MethodRow summarises a method over all its constructions, on the instances
// of one dimension.
type MethodRow struct {
	// Dim is the dimension of the instances, Method the name of the portfolio.
	Dim    int
	Method string
	// Constructions is the number n of constructions.
	Constructions int
	// Mean is the mean over constructions of their mean over the instances; Std
	// is the standard deviation of these means, with n-1.
	Mean, Std float64
	// Low and High are the 95 % confidence limits of Mean by the t
	// distribution; NaN for one construction.
	Low, High float64
	// Ahead is the number of construction seeds for which the first method is
	// better than this one, out of the Pairs seeds that both have. If this
	// method has a single construction, it is compared with every seed of the
	// first. P is that of Wilcoxon's signed-rank test, two-sided, over the
	// pairs.
	Ahead, Pairs int
	P            float64
}

// Constructions compares methods over construction seeds, with rows by
// dimension and then by method; the others are compared with the method first.
// Unlike a test over instances, which compares two portfolios, this compares
// two methods.
func Constructions(records []Record, first string) ([]MethodRow, error) {
	type key struct {
		dim int
		column
	}
	sums := map[key]float64{}
	count := map[key]int{}
	dims := map[int]bool{}
	var methods []string
	for _, r := range records {
		if r.Baseline {
			continue
		}
		k := key{r.Dim, column{r.Method, r.Construction}}
		sums[k] += r.Mean
		count[k]++
		dims[r.Dim] = true
		if !slices.Contains(methods, r.Method) {
			methods = append(methods, r.Method)
		}
	}
	if !slices.Contains(methods, first) {
		return nil, fmt.Errorf("experiment: there are no records of %s", first)
	}
	var rows []MethodRow
	for _, d := range slices.Sorted(maps.Keys(dims)) {
		of := map[string]map[uint64]float64{}
		instances := 0
		for k, sum := range sums {
			if k.dim != d {
				continue
			}
			if instances == 0 {
				instances = count[k]
			}
			if count[k] != instances {
				return nil, fmt.Errorf("experiment: the portfolios of %s were not run on the same number of instances of dimension %d", k.method, d)
			}
			if of[k.method] == nil {
				of[k.method] = map[uint64]float64{}
			}
			of[k.method][k.construction] = sum / float64(instances)
		}
		for _, m := range methods {
			row := MethodRow{Dim: d, Method: m, Constructions: len(of[m]), Low: math.NaN(), High: math.NaN(), P: 1}
			if row.Constructions == 0 {
				continue
			}
			var values, x, y []float64
			for _, c := range slices.Sorted(maps.Keys(of[m])) {
				values = append(values, of[m][c])
			}
			row.Mean, row.Std = moments(values, run.Written)
			if n := float64(len(values)); n > 1 {
				half := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: n - 1}.Quantile(0.975) * row.Std / math.Sqrt(n)
				row.Low, row.High = row.Mean-half, row.Mean+half
			}
			for _, c := range slices.Sorted(maps.Keys(of[first])) {
				other, ok := of[m][c]
				if !ok && len(values) == 1 {
					other, ok = values[0], true
				}
				if ok && m != first {
					x, y = append(x, of[first][c]), append(y, other)
					row.Pairs++
					if of[first][c] > other {
						row.Ahead++
					}
				}
			}
			if len(x) > 0 {
				row.P = signedRankP(x, y, stats.TwoSided)
			}
			rows = append(rows, row)
		}
	}
	return rows, nil
}

// A Change compares a row of a table in both readings.
type Change struct {
	// Dim and Method say which row and column of the table the change is in.
	Dim    int
	Method string
	// Written and Published are the cells in the two readings. Paper is the
	// paper's own cell, or nil if its table does not have the method.
	Written, Published Cell
	Paper              *Cell
	// Sentence describes the change in words.
	Sentence string
}

// SideBySide compares the tables of one test in both readings; it returns one
// row per dimension and method.
func SideBySide(written, published Table) ([]Change, error) {
	if written.Class != published.Class || !slices.Equal(written.Methods, published.Methods) || len(written.Rows) != len(published.Rows) {
		return nil, fmt.Errorf("experiment: the tables are not of one test: %s %v and %s %v", written.Class, written.Methods, published.Class, published.Methods)
	}
	var out []Change
	paper := PaperTable(written.Class, "DACE")
	for i, w := range written.Rows {
		p := published.Rows[i]
		for k, m := range written.Methods {
			c := Change{Dim: w.Dim, Method: m, Written: w.Cells[k], Published: p.Cells[k]}
			c.Paper = paper.cell(w.Dim, strings.TrimSuffix(m, " (paper)"))
			c.Sentence = c.sentence(written.Class, written.Methods[0], rank(w.Cells, k), rank(p.Cells, k))
			out = append(out, c)
		}
	}
	return out, nil
}

// cell returns the cell of a dimension and a method, or nil if there is none.
func (t Table) cell(dim int, method string) *Cell {
	for _, r := range t.Rows {
		if k := slices.Index(t.Methods, method); r.Dim == dim && k >= 0 {
			return &r.Cells[k]
		}
	}
	return nil
}

// ChangesMarkdown returns the changes as one Markdown table, next to the
// paper's own numbers. Hyphens in it are as in [Table.Markdown].
func ChangesMarkdown(changes []Change) string {
	var b strings.Builder
	b.WriteString("| d | portfolio | written | wins-draws-losses | published | wins-draws-losses | paper | wins-draws-losses | what changes |\n|---|---|---|---|---|---|---|---|---|\n")
	for i, c := range changes {
		first, dim := i == 0 || changes[i-1].Dim != c.Dim, ""
		if first {
			dim = fmt.Sprint(c.Dim)
		}
		plain := func(cell Cell) string { return fmt.Sprintf("%.3f ± %.3f", cell.Mean, cell.Std) }
		show := func(cell *Cell) string {
			switch {
			case cell == nil:
				return "- | -"
			case first: // has nobody to compare with
				return plain(*cell) + " | "
			}
			return fmt.Sprintf("%s | %v", plain(*cell), cell.WDL)
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s |\n", dim, c.Method, show(&c.Written), show(&c.Published), show(c.Paper), c.Sentence)
	}
	return unbroken(b.String())
}

// rank returns the rank of cell k by mean within its row, from 1.
func rank(cells []Cell, k int) int {
	n := 1
	for _, c := range cells {
		if c.Mean > cells[k].Mean {
			n++
		}
	}
	return n
}

func (c Change) sentence(class, first string, before, after int) string {
	why, tests := "the range is that of fewer solutions", "repeated seeds and one-sided tests turn"
	if class == "cimp" {
		why, tests = "evaluations are samples and the range is that of fewer solutions", "the noise turns"
	}
	s := "The mean stays"
	if moved := signed(c.Published.Mean-c.Written.Mean, 3); moved != signed(0, 3) {
		s = fmt.Sprintf("The mean moves by %s, as %s", moved, why)
	}
	if before != after {
		s += fmt.Sprintf("; its rank from %d to %d", before, after)
	}
	if c.Method != first {
		if c.Written.WDL == c.Published.WDL {
			s += "; no outcome on an instance changes"
		} else {
			s += fmt.Sprintf("; %s %v into %v", tests, c.Written.WDL, c.Published.WDL)
			if a, b := majority(c.Written.WDL), majority(c.Published.WDL); a != b {
				s += fmt.Sprintf(", and the majority from %v into %v", a, b)
			}
		}
		if (c.Written.P < Level) != (c.Published.P < Level) {
			s += fmt.Sprintf("; against %s it becomes %s", first, map[bool]string{true: "significantly different", false: "not significantly different"}[c.Published.P < Level])
		}
	}
	return s + "."
}

// majority returns the most frequent outcome.
func majority(w stats.WDL) stats.Outcome {
	switch {
	case w.Win >= w.Draw && w.Win >= w.Loss:
		return stats.Win
	case w.Draw >= w.Loss:
		return stats.Draw
	}
	return stats.Loss
}
