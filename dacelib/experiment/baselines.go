package experiment

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"dace.local/dacelib/farm"
	"dace.local/dacelib/portfolio"
	"dace.local/dacelib/problem"
	"dace.local/dacelib/run"
	"dace.local/dacelib/solver"
	"dace.local/dacelib/stats"
)

// Baselines says whether a test has baselines beside its entries.
type Baselines int

const (
	// BaselinesIfCheap adds them where the protocol is not that of the paper
	// (reading Published, or one seed for all members), and the evaluations of the
	// instances cost little.
	BaselinesIfCheap Baselines = iota
	// WithBaselines adds them always, NoBaselines never.
	WithBaselines
	NoBaselines
)

// BaselineEntries returns the baselines of a test of portfolios on instances: every
// solver that can run them, with nothing configured, under K seeds, where K is the
// size of the largest portfolio; for each portfolio whose construction says which
// (portfolio.Portfolio.Single) the best single configuration under K seeds; and
// BRKGA-PAP. What is an entry already is left out, and so are solvers whose own
// computing takes long (solver.Timed).
func BaselineEntries(entries []Entry, instances []problem.Problem) []Entry {
	k, there := 0, map[string]bool{}
	for _, e := range entries {
		k = max(k, e.Portfolio.Size())
		there[members(e.Portfolio)] = true
	}
	var out []Entry
	add := func(p portfolio.Portfolio, construction uint64) {
		if text := members(p); !there[text] {
			there[text] = true
			out = append(out, Entry{p, construction})
		}
	}
	for _, e := range entries {
		if e.Portfolio.Single != nil {
			add(portfolio.Portfolio{Name: fmt.Sprintf("%s: single x %d", e.Portfolio.Name, k), Members: slices.Repeat([]solver.Config{*e.Portfolio.Single}, k)}, e.Construction)
		}
	}
	for _, s := range solver.For(instances) {
		if _, slow := s.(solver.Timed); slow {
			continue
		}
		if c, err := solver.New(s.Name(), nil); err == nil {
			add(portfolio.Portfolio{Name: fmt.Sprintf("%s x %d", s.Name(), k), Members: slices.Repeat([]solver.Config{c}, k)}, 0)
		}
	}
	if p := portfolio.BRKGAPAP(); p.Size() == k {
		add(p, 0)
	}
	return out
}

// baselines returns the baselines that the settings ask for.
func (s Settings) baselines(entries []Entry, instances []problem.Problem) []Entry {
	switch {
	case s.Baselines == NoBaselines || len(instances) == 0:
		return nil
	case s.Baselines == WithBaselines:
	case s.Reading == run.Published || s.Seeds.In(s.Reading) != portfolio.OwnSeeds:
		return nil
	case slices.ContainsFunc(instances, costly):
		return nil
	}
	return BaselineEntries(entries, instances)
}

// costly reports whether an evaluation takes so long that baselines are not run
// without being asked for.
func costly(p problem.Problem) bool {
	c, ok := p.(problem.Costly)
	return ok && c.Costly() || farm.Expensive(p)
}

// A BaselineRow compares the first method of a table with a baseline, over the
// instances of a dimension.
type BaselineRow struct {
	// Dim is the dimension, Method the baseline. "virtual best" is, on each
	// instance, the best of all methods and baselines: a bound, not a method.
	Dim    int
	Method string
	// Mean is the baseline's mean, First that of the first method.
	Mean, First float64
	// Ahead is the number of the Instances instances on which the first method's
	// mean is larger; P that of Wilcoxon's signed-rank test over the instances,
	// two-sided, with Holm's correction for the baselines of the dimension; 1 for
	// the virtual best.
	Ahead, Instances int
	P                float64
	// Means are the baseline's means on the instances, in the order of the records.
	Means []float64
}

// Virtual is the name of the virtual best in a [BaselineRow].
const Virtual = "virtual best"

// BaselineRows compares the first method with the baselines among records, in the
// order of their means. first is a method's label; it is that of the first record if
// it is empty. If it has several constructions, they count together.
func BaselineRows(records []Record, first string) []BaselineRow {
	var out []BaselineRow
	dims := map[int]bool{}
	for _, r := range records {
		dims[r.Dim] = true
		if first == "" && !r.Baseline {
			first = r.Method
		}
	}
	if base, _, numbered := strings.Cut(first, " #"); numbered {
		first = base
	}
	for _, d := range slices.Sorted(maps.Keys(dims)) {
		out = append(out, baselineRows(records, first, d)...)
	}
	return out
}

func baselineRows(records []Record, first string, d int) []BaselineRow {
	var instances, names []string
	sums, counts := map[[2]string]float64{}, map[[2]string]int{} // by method and instance
	top := map[string]float64{}
	for _, r := range records {
		if r.Dim != d {
			continue
		}
		if _, ok := top[r.Instance]; !ok {
			instances = append(instances, r.Instance)
			top[r.Instance] = math.Inf(-1)
		}
		top[r.Instance] = max(top[r.Instance], r.Mean)
		if r.Baseline && !slices.Contains(names, r.Method) {
			names = append(names, r.Method)
		}
		k := [2]string{r.Method, r.Instance}
		sums[k] += r.Mean
		counts[k]++
	}
	if len(names) == 0 {
		return nil
	}
	values := func(method string) []float64 {
		var out []float64
		for _, i := range instances {
			k := [2]string{method, i}
			if counts[k] == 0 {
				return nil
			}
			out = append(out, sums[k]/float64(counts[k]))
		}
		return out
	}
	own := values(first)
	if own == nil {
		return nil
	}
	row := func(name string, v []float64) BaselineRow {
		b := BaselineRow{Dim: d, Method: name, Instances: len(instances), P: 1, Means: v}
		b.Mean, _ = moments(v, run.Written)
		b.First, _ = moments(own, run.Written)
		for i := range v {
			if own[i] > v[i] {
				b.Ahead++
			}
		}
		return b
	}
	var out []BaselineRow
	var p []float64
	for _, name := range names {
		if v := values(name); v != nil {
			out = append(out, row(name, v))
			p = append(p, signedRank(own, v, run.Written))
		}
	}
	for i, v := range stats.Holm(p) {
		out[i].P = v
	}
	var best []float64
	for _, i := range instances {
		best = append(best, top[i])
	}
	out = append(out, row(Virtual, best))
	slices.SortStableFunc(out, func(a, b BaselineRow) int { return cmp.Or(cmp.Compare(b.Mean, a.Mean), cmp.Compare(a.P, b.P)) })
	return out
}

// baselineCells returns the table of baselines as text, nil if there are none.
func (t Table) baselineCells() [][]string {
	if len(t.Baselines) == 0 {
		return nil
	}
	out := [][]string{{"baseline", "d", "mean", t.Methods[0] + " ahead on", "p (Holm)"}}
	for _, b := range t.Baselines {
		p, ahead := fmt.Sprintf("%.2g", b.P), fmt.Sprintf("%d of %d", b.Ahead, b.Instances)
		if b.Method == Virtual {
			p, ahead = "", ""
		}
		out = append(out, []string{b.Method, fmt.Sprint(b.Dim), fmt.Sprintf("%.3f (%.3f)", b.Mean, b.First), ahead, p})
	}
	return out
}

// A Sample is what one method did on the instances of a dimension, for a figure.
type Sample struct {
	// Dim is the dimension; Method the method's label in a [Table], a baseline, or
	// [Virtual].
	Dim    int
	Method string
	// Baseline says that it is a baseline or the virtual best.
	Baseline bool
	// Means are the means on the instances, P is the p value of the first method
	// against this one; NaN for the first itself and the virtual best.
	Means []float64
	P     float64
}

// Samples returns the samples of all methods of a test by dimension, ascending: the
// methods in the order of a [Table] whose first is first, then the baselines, if
// there are any, and the virtual best, the best first.
func Samples(records []Record, first string) ([]Sample, error) {
	t, err := Tabulate(records, first)
	if err != nil {
		return nil, err
	}
	_, label := labels(slices.DeleteFunc(slices.Clone(records), func(r Record) bool { return r.Baseline }))
	var out []Sample
	for _, row := range t.Rows {
		for k, method := range t.Methods {
			s := Sample{Dim: row.Dim, Method: method, P: row.Cells[k].P}
			if k == 0 {
				s.P = math.NaN()
			}
			for _, r := range records {
				if !r.Baseline && r.Dim == row.Dim && label[column{r.Method, r.Construction}] == method {
					s.Means = append(s.Means, r.Mean)
				}
			}
			out = append(out, s)
		}
		for _, b := range t.Baselines {
			if b.Dim != row.Dim {
				continue
			}
			s := Sample{Dim: b.Dim, Method: b.Method, Baseline: true, Means: b.Means, P: b.P}
			if b.Method == Virtual {
				s.P = math.NaN()
			}
			out = append(out, s)
		}
	}
	return out, nil
}
