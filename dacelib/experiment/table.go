package experiment

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"

	"dace.local/dacelib/run"
	"dace.local/dacelib/stats"
)

// Level is the level of significance of all tests in the paper.
const Level = 0.05

// A Table is the outcome of a test on one class. It combines two of the paper's
// tables: the means, and the wins, draws and losses.
type Table struct {
	// Class is the class of the instances, Reading the reading of the paper
	// that the test and the table follow.
	Class   string
	Reading run.Reading
	// Methods are the columns; the others are compared with the first. If
	// several portfolios share a name, they are labelled with their
	// construction: "DACE #3".
	Methods []string
	// Rows has one row per dimension, ascending.
	Rows []Row
	// Baselines compares the first method with the baselines of the test, if it had
	// any.
	Baselines []BaselineRow
}

// A Row holds the results on the instances of one dimension.
type Row struct {
	// Dim is the dimension of the Instances instances.
	Dim, Instances int
	// Cells has one cell per method.
	Cells []Cell
}

// A Cell holds the results of one method.
type Cell struct {
	// Mean and Std are over the instances, of the performance on each; Std
	// divides by n-1, in the reading Published by n.
	Mean, Std float64
	// P is that of Wilcoxon's signed-rank test of the first method against this
	// one, over the instances: two-sided, in Published the smaller of the two
	// one-sided ones. It is 1 if they do not differ, and for the first itself.
	P float64
	// WDL counts the instances on which the first method is significantly
	// better than this one, not different, or worse, by rank-sum tests of the
	// repeats: two-sided, in Published one-sided either way.
	WDL stats.WDL
	// Best marks the largest mean of the row, AsGood a mean that does not
	// differ significantly from it.
	Best, AsGood bool
}

// A column identifies the records of one portfolio.
type column struct {
	method       string
	construction uint64
}

// labels returns the columns in the order in which the records first have them,
// and their labels: the method, with its construction if it has several.
func labels(records []Record) (columns []column, label map[column]string) {
	several := map[string]int{}
	label = map[column]string{}
	for _, r := range records {
		c := column{r.Method, r.Construction}
		if _, ok := label[c]; !ok {
			columns = append(columns, c)
			label[c] = r.Method
			several[r.Method]++
		}
	}
	for _, c := range columns {
		if several[c.method] > 1 {
			label[c] = fmt.Sprintf("%s #%d", c.method, c.construction)
		}
	}
	return columns, label
}

// Tabulate makes the table of the records of one class and reading. The other
// methods are compared with first; if first is empty, with the method of the
// first record. All methods must have been run on the same instances.
func Tabulate(records []Record, first string) (Table, error) {
	var t Table
	if len(records) == 0 {
		return t, errors.New("experiment: there are no records to tabulate")
	}
	t.Class, t.Reading = records[0].Class, records[0].Reading
	all := records
	records = slices.DeleteFunc(slices.Clone(records), func(r Record) bool { return r.Baseline })
	if len(records) == 0 {
		return t, errors.New("experiment: there are records of baselines only")
	}
	columns, label := labels(records)
	if first == "" {
		first = label[columns[0]]
	}
	t.Methods = []string{first}
	for _, c := range columns {
		if label[c] != first {
			t.Methods = append(t.Methods, label[c])
		}
	}
	type key struct {
		dim              int
		method, instance string
	}
	byKey := map[key]Record{}
	instances := map[int][]string{}
	for _, r := range records {
		switch {
		case t.Class != r.Class:
			return t, fmt.Errorf("experiment: records of the classes %s and %s; tabulate them apart", t.Class, r.Class)
		case t.Reading != r.Reading:
			return t, fmt.Errorf("experiment: records of the readings %v and %v; tabulate them apart", t.Reading, r.Reading)
		case records[0].OwnSeeds != r.OwnSeeds:
			return t, errors.New("experiment: in some records the members of a portfolio shared a seed, in others each had its own (Settings.Seeds); tabulate them apart")
		}
		k := key{r.Dim, label[column{r.Method, r.Construction}], r.Instance}
		if _, twice := byKey[k]; twice {
			return t, fmt.Errorf("experiment: two records of %s on %s", k.method, r.Instance)
		}
		byKey[k] = r
		if !slices.Contains(instances[r.Dim], r.Instance) {
			instances[r.Dim] = append(instances[r.Dim], r.Instance)
		}
	}
	for _, d := range slices.Sorted(maps.Keys(instances)) {
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
			c := Cell{P: signedRank(means[0], means[k], t.Reading)}
			c.Mean, c.Std = moments(means[k], t.Reading)
			var err error
			if c.WDL, err = winDrawLoss(values[0], values[k], t.Reading); err != nil {
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
			row.Cells[k].AsGood = signedRank(means[best], means[k], t.Reading) >= Level
		}
		t.Rows = append(t.Rows, row)
	}
	t.Baselines = BaselineRows(all, first)
	return t, nil
}

// signedRank returns the p value of Wilcoxon's test, 1 if no pair differs.
func signedRank(x, y []float64, reading run.Reading) float64 {
	if reading == run.Written {
		return signedRankP(x, y, stats.TwoSided)
	}
	return min(signedRankP(x, y, stats.Greater), signedRankP(x, y, stats.Less))
}

func signedRankP(x, y []float64, a stats.Alternative) float64 {
	r, err := stats.SignedRank(x, y, stats.SignedRankSettings{Alternative: a})
	if err != nil {
		return 1
	}
	return r.PValue
}

// winDrawLoss counts the instances on which x is better than y, not different,
// or worse.
func winDrawLoss(x, y [][]float64, reading run.Reading) (stats.WDL, error) {
	if reading == run.Written {
		return stats.WinDrawLoss(x, y, Level)
	}
	var w stats.WDL
	for i := range x {
		greater, err := stats.RankSum(x[i], y[i], stats.Greater)
		if err != nil {
			return w, err
		}
		less, err := stats.RankSum(x[i], y[i], stats.Less)
		if err != nil {
			return w, err
		}
		switch {
		case greater.PValue < Level:
			w.Win++
		case less.PValue < Level:
			w.Loss++
		default:
			w.Draw++
		}
	}
	return w, nil
}

// moments returns the mean and standard deviation; for one value the latter is
// 0.
func moments(v []float64, reading run.Reading) (mean, std float64) {
	for _, x := range v {
		mean += x / float64(len(v))
	}
	if math.IsInf(mean, 0) {
		return mean, math.NaN() // some test has met no solution that may be chosen
	}
	for _, x := range v {
		std += (x - mean) * (x - mean)
	}
	n := len(v)
	if reading == run.Written {
		n = max(1, n-1)
	}
	return mean, math.Sqrt(std / float64(n))
}

// cells returns the table as text: a header, then two rows per dimension, first
// the means and then the wins, draws and losses, if there are several methods. The
// best mean has a star, or is bold in Markdown.
func (t Table) cells(bold bool) [][]string {
	head := []string{t.Class + ", " + t.Reading.String()}
	out := [][]string{append(head, t.Methods...)}
	for _, r := range t.Rows {
		means := []string{fmt.Sprintf("d = %d", r.Dim)}
		wdl := []string{"wins-draws-losses"}
		for k, c := range r.Cells {
			text := c.text()
			switch plain, best := strings.CutSuffix(text, bestMark); {
			case best && bold:
				text = "**" + plain + "**"
			case !best && c.AsGood:
				text += " ~"
			}
			means = append(means, text)
			if k == 0 {
				wdl = append(wdl, "")
			} else {
				wdl = append(wdl, c.WDL.String())
			}
		}
		out = append(out, means)
		if len(r.Cells) > 1 {
			out = append(out, wdl)
		}
	}
	return out
}

// PaperTable returns the paper's own table of a class, "ccp", "cimp" or "caop".
// first is the method that the others are compared with: DACE, or for ccp also
// "DACE mixed". The table has no P.
func PaperTable(class, first string) Table {
	t := Table{Class: class, Reading: run.Published, Methods: []string{first}}
	for _, d := range slices.Sorted(maps.Keys(paperDims(class))) {
		row := Row{Dim: d, Instances: 50}
		add := func(method string, w stats.WDL) {
			for _, m := range PaperMeans() {
				if m.Class == class && m.Dim == d && m.Method == method {
					row.Cells = append(row.Cells, Cell{Mean: m.Mean, Std: m.Std, P: math.NaN(), WDL: w, Best: m.Best, AsGood: m.AsGood || m.Best})
				}
			}
		}
		add(first, stats.WDL{Draw: 50})
		for _, w := range PaperWDLs() {
			if w.Class == class && w.Dim == d && w.First == first {
				add(w.Method, w.WDL)
				if !slices.Contains(t.Methods, w.Method) {
					t.Methods = append(t.Methods, w.Method)
				}
			}
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// paperDims returns the dimensions on which the paper tests a class.
func paperDims(class string) map[int]bool {
	dims := map[int]bool{}
	for _, m := range PaperMeans() {
		if m.Class == class {
			dims[m.Dim] = true
		}
	}
	return dims
}

// String returns the table as text: means and standard deviations over the
// instances, with * for the best of a row and ~ for those that do not differ
// from it significantly; below them the first method's wins, draws and losses.
//
// A second table has the baselines, the best first: the mean, with the first method's
// in parentheses, on how many instances that is ahead, and the p value of the
// signed-rank test over the instances with Holm's correction.
func (t Table) String() string {
	text := aligned(t.cells(false))
	if len(t.Methods) > 1 {
		text += "\n\n* largest mean; " + asGoodNote
	}
	if rows := t.baselineCells(); rows != nil {
		text += "\n\n" + aligned(rows)
	}
	return text
}

const (
	bestMark   = " *"
	asGoodNote = "~ not significantly different from it"
)

// aligned returns rows as text in columns.
func aligned(rows [][]string) string {
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

// Markdown returns the same table in Markdown, with the best mean bold. The hyphens in wins, draws and
// losses are U+2011 there, at which no line breaks, as a narrow column would put
// 37-13-0 in two lines.
func (t Table) Markdown() string {
	text := markdown(t.cells(true))
	if len(t.Methods) > 1 {
		text += "\nBold: largest mean; " + asGoodNote + ".\n"
	}
	if rows := t.baselineCells(); rows != nil {
		text += "\n" + markdown(rows)
	}
	return text
}

func markdown(rows [][]string) string {
	var b strings.Builder
	for n, r := range rows {
		b.WriteString("| " + unbroken(strings.Join(r, " | ")) + " |\n")
		if n == 0 {
			b.WriteString(strings.Repeat("|---", len(r)) + "|\n")
		}
	}
	return b.String()
}

var outcomes = regexp.MustCompile(`\b[0-9]+-[0-9]+-[0-9]+\b`)

// unbroken returns a text with hyphens in wins, draws and losses at which no
// line breaks.
func unbroken(text string) string {
	return outcomes.ReplaceAllStringFunc(text, func(s string) string { return strings.ReplaceAll(s, "-", "\u2011") })
}

// LaTeX returns the same table as a tabular that needs the package booktabs: the
// best mean of a row is bold, those that do not differ from it are underlined.
func (t Table) LaTeX() string {
	escape := strings.NewReplacer("&", `\&`, "%", `\%`, "_", `\_`, "#", `\#`)
	var b strings.Builder
	b.WriteString(`\begin{tabular}{l` + strings.Repeat("r", len(t.Methods)) + "}\n\\toprule\n")
	b.WriteString(escape.Replace(t.Class + ", " + t.Reading.String()))
	for _, m := range t.Methods {
		b.WriteString(" & " + escape.Replace(m))
	}
	b.WriteString(" \\\\\n\\midrule\n")
	for _, r := range t.Rows {
		fmt.Fprintf(&b, "$d = %d$", r.Dim)
		for _, c := range r.Cells {
			s := fmt.Sprintf(`$%.3f \pm %.3f$`, c.Mean, c.Std)
			switch {
			case c.Best:
				s = fmt.Sprintf(`$\mathbf{%.3f} \pm %.3f$`, c.Mean, c.Std)
			case c.AsGood:
				s = `\underline{` + s + "}"
			}
			b.WriteString(" & " + s)
		}
		if len(r.Cells) > 1 {
			b.WriteString(" \\\\\nwins-draws-losses & ")
			for _, c := range r.Cells[1:] {
				b.WriteString(" & " + c.WDL.String())
			}
		}
		b.WriteString(" \\\\\n")
	}
	b.WriteString("\\bottomrule\n\\end{tabular}\n")
	return b.String()
}

// Means returns the performance of a method on every instance of dimension dim
// (0 means all), in the order of the records: the values for a box of a box
// plot. If the method has several constructions, it returns the values of all.
func Means(records []Record, method string, dim int) []float64 {
	var out []float64
	for _, r := range records {
		if r.Method == method && (dim == 0 || r.Dim == dim) {
			out = append(out, r.Mean)
		}
	}
	return out
}
