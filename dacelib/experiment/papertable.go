package experiment

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"dace.local/dacelib/run"
	"dace.local/dacelib/stats"
)

// A PaperRow is a method's results on the instances of one dimension, beside the
// paper's.
type PaperRow struct {
	// Dim is the number of bits of the instances.
	Dim int
	// Method is the method that the row compares with the first.
	Method string
	// Ours and Paper are mean ± standard deviation, with * at the largest mean of
	// a row; OursWDL and PaperWDL are the first method's wins, draws and losses
	// against this one. They are empty where there is nothing to compare.
	Ours, Paper, OursWDL, PaperWDL string
	// Apart is our mean minus the paper's, Error the standard error of such a
	// difference over two draws of instances; both are NaN without the paper's.
	Apart, Error float64
}

// PaperRows are the rows of a table beside the paper's, by dimension.
type PaperRows []PaperRow

// BesidePaper returns the rows of a table beside the paper's own numbers
// (Tables III and IV; lines 706 to 713 and 756 to 763 of dace.tex). Methods are
// matched by name, whatever follows it: "DACE (paper)", "DACE #2".
func BesidePaper(t Table) PaperRows {
	paper := PaperTable(t.Class, "DACE")
	var rows PaperRows
	for _, r := range t.Rows {
		for k, c := range r.Cells {
			row := PaperRow{Dim: r.Dim, Method: t.Methods[k], Ours: c.text(), Apart: math.NaN(), Error: math.NaN()}
			if k > 0 {
				row.OursWDL = c.WDL.String()
			}
			if p := paper.cell(r.Dim, baseName(t.Methods[k])); p != nil {
				row.Paper, row.Apart, row.Error = p.text(), c.Mean-p.Mean, differenceError(c, *p, r.Instances)
				if k > 0 && baseName(t.Methods[0]) == "DACE" && baseName(t.Methods[k]) != "DACE" {
					row.PaperWDL = p.WDL.String()
				}
			}
			rows = append(rows, row)
		}
	}
	return rows
}

// differenceError returns the standard error of the difference of our mean over n
// instances and the paper's, whose tables are about 50 of each dimension.
func differenceError(c, paper Cell, n int) float64 {
	return math.Hypot(c.Std/math.Sqrt(float64(n)), paper.Std/math.Sqrt(50))
}

const (
	paperNote = "† beyond two standard errors of the difference between two draws of instances"
	textNote  = "\n\n* largest mean; " + paperNote
)

// Text returns the rows as a table in text, grouped by dimension: * marks the largest
// mean, † a difference from the paper's of more than two standard errors.
func (rows PaperRows) Text() string {
	return aligned(rows.cells(false)) + textNote
}

// String returns Text for a cell's output: the first fifteen of more than forty rows, and
// the first 25 letters of longer texts.
func (rows PaperRows) String() string {
	cells, more := rows.cells(false), ""
	if len(rows) > 40 {
		cells, more = rows[:15].cells(false), fmt.Sprintf("\n... and %d rows more: Text and Markdown have all", len(rows)-15)
	}
	for _, row := range cells {
		for k, text := range row {
			if r := []rune(text); len(r) > 26 {
				row[k] = string(r[:25]) + "…"
			}
		}
	}
	return aligned(cells) + more + textNote
}

// Markdown returns the table of Text in Markdown, with the largest mean bold.
func (rows PaperRows) Markdown() string {
	return markdown(rows.cells(true)) + "\nBold: largest mean. " + paperNote + ".\n"
}

func (rows PaperRows) cells(bold bool) [][]string {
	cells := [][]string{{"d", "portfolio", "mean here", "mean in the paper", "difference", "wins-draws-losses here", "in the paper"}}
	for i, r := range rows {
		line := []string{fmt.Sprint(r.Dim), r.Method, r.Ours, r.Paper, "", r.OursWDL, r.PaperWDL}
		if i > 0 && rows[i-1].Dim == r.Dim {
			line[0] = ""
		} else if i > 0 && !bold {
			cells = append(cells, make([]string, len(line)))
		}
		if !math.IsNaN(r.Apart) {
			line[4] = signed(r.Apart, 3)
			if math.Abs(r.Apart) > 2*r.Error {
				line[4] += " †"
			}
		}
		for k := 2; k < 4 && bold; k++ {
			if text, best := strings.CutSuffix(line[k], bestMark); best {
				line[k] = "**" + text + "**"
			}
		}
		cells = append(cells, line)
	}
	return cells
}

// baseName returns a method's name without what tells portfolios apart.
func baseName(label string) string {
	for _, sep := range []string{" (", " #", ", "} {
		label, _, _ = strings.Cut(label, sep)
	}
	return label
}

func (c Cell) text() string {
	s := fmt.Sprintf("%.3f ± %.3f", c.Mean, c.Std)
	if c.Best {
		s += bestMark
	}
	return s
}

// Agreement says in a sentence what of the paper's two tables holds for a table:
// the distance of the means, also in standard errors, their order, and the
// majority outcome against each method. The standard error is that of the
// difference of two means over two draws of instances, ours and the paper's: a
// distance of two is what chance brings in one cell of twenty.
func Agreement(t Table) string {
	paper := PaperTable(t.Class, "DACE")
	var apart, inErrors []float64
	order, orders, same, outcomes := 0, 0, 0, 0
	for _, r := range t.Rows {
		var known []int
		for k := range r.Cells {
			if paper.cell(r.Dim, baseName(t.Methods[k])) != nil {
				known = append(known, k)
			}
		}
		inOrder := true
		for _, k := range known {
			p := paper.cell(r.Dim, baseName(t.Methods[k]))
			distance := math.Abs(r.Cells[k].Mean - p.Mean)
			apart = append(apart, distance)
			if e := differenceError(r.Cells[k], *p, r.Instances); e > 0 {
				inErrors = append(inErrors, distance/e)
			}
			for _, l := range known {
				q := paper.cell(r.Dim, baseName(t.Methods[l]))
				if (r.Cells[k].Mean-r.Cells[l].Mean)*(p.Mean-q.Mean) < 0 {
					inOrder = false
				}
			}
			if k > 0 && baseName(t.Methods[0]) == "DACE" && baseName(t.Methods[k]) != "DACE" {
				outcomes++
				if majority(r.Cells[k].WDL) == majority(p.WDL) {
					same++
				}
			}
		}
		if len(known) > 1 {
			orders++
			if inOrder {
				order++
			}
		}
	}
	if len(apart) == 0 {
		return "The paper has no numbers for these."
	}
	s := fmt.Sprintf("%s, %v: the means are at most %.3f from the paper's", t.Class, t.Reading, slices.Max(apart))
	if len(inErrors) > 0 {
		s += fmt.Sprintf(", and at most %.1f standard errors of such a difference", slices.Max(inErrors))
	}
	if orders > 0 {
		s += fmt.Sprintf("; the order of the methods is the paper's in %d of %d dimensions", order, orders)
	}
	if outcomes > 0 {
		s += fmt.Sprintf(", the majority of wins, draws and losses in %d of %d comparisons", same, outcomes)
	}
	return s + "."
}

// A Rule is a way to count wins, draws and losses.
type Rule struct {
	// OneSided tests both ways at [Level] each, as the authors' public code
	// does; otherwise one test is two-sided.
	OneSided bool
	// Seeds is the number of different seeds that the repeats take in turn: 12
	// in the authors' public code, whose 20 repeats so hold 8 duplicates. 0
	// means that every repeat has a seed of its own.
	Seeds int
}

// Outcomes counts the wins, draws and losses of method first against method
// other on the instances of dimension dim by a rule, from records of repeats
// with seeds of their own (reading Written).
func Outcomes(records []Record, first, other string, dim int, rule Rule) (stats.WDL, error) {
	byInstance := map[string]Record{}
	for _, r := range records {
		if r.Method == other && r.Dim == dim {
			byInstance[r.Instance] = r
		}
	}
	repeat := func(v []float64) []float64 {
		if rule.Seeds <= 0 || rule.Seeds >= len(v) {
			return v
		}
		out := make([]float64, len(v))
		for i := range out {
			out[i] = v[i%rule.Seeds]
		}
		return out
	}
	reading := run.Written
	if rule.OneSided {
		reading = run.Published
	}
	var x, y [][]float64
	for _, r := range records {
		if r.Method != first || r.Dim != dim {
			continue
		}
		o, ok := byInstance[r.Instance]
		if !ok {
			return stats.WDL{}, fmt.Errorf("experiment: %s was not run on %s", other, r.Instance)
		}
		x, y = append(x, repeat(r.Values)), append(y, repeat(o.Values))
	}
	if len(x) == 0 {
		return stats.WDL{}, fmt.Errorf("experiment: there are no records of %s in dimension %d", first, dim)
	}
	return winDrawLoss(x, y, reading)
}
