package experiment

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"dace.local/dacelib/stats"
)

// A Contrast names two methods, of which the first is expected to gain something over
// the second.
type Contrast struct {
	// What says in words where the two differ, such as "the solver".
	What string
	// Of and Over are the methods.
	Of, Over string
}

// A Gain is what a method gains over another on the instances of one class and
// dimension, with one number of evaluations a member.
type Gain struct {
	// Class is the class's name, Dim the instances' dimension, Evaluations the budget of
	// a member.
	Class            string
	Dim, Evaluations int
	Contrast
	// Constructions is the number n of pairs of constructions with the same seed, and
	// Ahead how many of them have the larger mean for the method Of.
	Constructions, Ahead int
	// Mean is the mean over the pairs of the difference of their means over the
	// instances; Low and High are its 95 % confidence limits by the t distribution, NaN
	// for one pair.
	Mean, Low, High float64
	// P is that of Wilcoxon's signed-rank test, two-sided, over the instances, of the
	// means over the pairs, with Holm's correction for the contrasts of the same class,
	// dimension and evaluations.
	P float64
}

// Sign returns 1 if the method Of is better, -1 if it is worse, and 0 if the difference
// may be chance: the interval contains 0, or P is not below [Level].
func (g Gain) Sign() int {
	switch {
	case !(g.P < Level): // NaN, too
		return 0
	case g.Low > 0:
		return 1
	case g.High < 0:
		return -1
	}
	return 0
}

// Gains compares pairs of methods over their construction seeds: by contrast, and within
// one by class, in the order of the records, dimension and evaluations. A method's
// construction is compared with that of the same seed of the other method, or with the
// other's construction 0, which is that of a method without a seed. Contrasts of which
// the records have no pair are left out; it is an error if none is left, or if two
// constructions were not tested on the same instances.
func Gains(records []Record, contrasts []Contrast) ([]Gain, error) {
	type group struct {
		class            string
		dim, evaluations int
	}
	means := map[group]map[column]map[string]float64{} // the last by instance
	var classes []string
	for _, r := range records {
		g, c := group{r.Class, r.Dim, r.Evaluations}, column{r.Method, r.Construction}
		if !slices.Contains(classes, r.Class) {
			classes = append(classes, r.Class)
		}
		if means[g] == nil {
			means[g] = map[column]map[string]float64{}
		}
		if means[g][c] == nil {
			means[g][c] = map[string]float64{}
		}
		if _, twice := means[g][c][r.Instance]; twice {
			return nil, fmt.Errorf("experiment: there are two records of %s, construction %d, on %s with %d evaluations", r.Method, r.Construction, r.Instance, r.Evaluations)
		}
		means[g][c][r.Instance] = r.Mean
	}
	byContrast := make([][]Gain, len(contrasts))
	for _, g := range slices.SortedFunc(maps.Keys(means), func(a, b group) int {
		return slices.Compare([]int{slices.Index(classes, a.class), a.dim, a.evaluations}, []int{slices.Index(classes, b.class), b.dim, b.evaluations})
	}) {
		var p []float64
		var at []int
		for i, c := range contrasts {
			gain, err := c.gain(means[g])
			if err != nil {
				return nil, fmt.Errorf("experiment: %s, d = %d, %d evaluations: %w", g.class, g.dim, g.evaluations, err)
			}
			if gain.Constructions > 0 {
				gain.Class, gain.Dim, gain.Evaluations = g.class, g.dim, g.evaluations
				byContrast[i] = append(byContrast[i], gain)
				p, at = append(p, gain.P), append(at, i)
			}
		}
		for k, v := range stats.Holm(p) {
			of := byContrast[at[k]]
			of[len(of)-1].P = v
		}
	}
	gains := slices.Concat(byContrast...)
	if len(gains) == 0 {
		return nil, fmt.Errorf("experiment: the records have no two constructions for any of %d contrasts", len(contrasts))
	}
	return gains, nil
}

// gain compares the constructions of one group, whose means are by instance.
func (c Contrast) gain(means map[column]map[string]float64) (Gain, error) {
	seeds := map[uint64]bool{}
	for k := range means {
		if k.method == c.Of || k.method == c.Over {
			seeds[k.construction] = true
		}
	}
	pick := func(method string, seed uint64) map[string]float64 {
		if m := means[column{method, seed}]; m != nil {
			return m
		}
		return means[column{method, 0}]
	}
	g := Gain{Contrast: c}
	var differences []float64
	sum := map[string][2]float64{} // of either method, by instance
	for _, seed := range slices.Sorted(maps.Keys(seeds)) {
		a, b := pick(c.Of, seed), pick(c.Over, seed)
		if a == nil || b == nil {
			continue
		}
		apart := len(a) != len(b) || len(differences) > 0 && len(a) != len(sum)
		difference := 0.0
		for _, instance := range slices.Sorted(maps.Keys(a)) {
			other, ok := b[instance]
			apart = apart || !ok
			s := sum[instance]
			sum[instance] = [2]float64{s[0] + a[instance], s[1] + other}
			difference += (a[instance] - other) / float64(len(a))
		}
		if apart || len(sum) != len(a) {
			return Gain{}, fmt.Errorf("the constructions of %s and %s were not all tested on the same instances", c.Of, c.Over)
		}
		differences = append(differences, difference)
		if difference > 0 {
			g.Ahead++
		}
	}
	g.Constructions = len(differences)
	var half float64
	g.Mean, half = stats.Interval(differences, 0.95)
	g.Low, g.High = g.Mean-half, g.Mean+half
	var x, y []float64
	for _, instance := range slices.Sorted(maps.Keys(sum)) {
		x, y = append(x, sum[instance][0]), append(y, sum[instance][1])
	}
	g.P = signedRankP(x, y, stats.TwoSided)
	return g, nil
}

// GainsMarkdown returns gains as one Markdown table: a row for each contrast, class and
// dimension, a column for each number of evaluations a member. A cell has the mean and
// half the length of its interval; it is bold if the difference is beyond chance
// ([Gain.Sign]), and says how many constructions it has if others have more. There are
// three decimals, and five where a difference beyond chance would be 0.000.
func GainsMarkdown(gains []Gain) string {
	type line struct {
		Contrast
		class string
		dim   int
	}
	budgets, most := map[int]bool{}, 0
	cells := map[line]map[int]string{}
	var lines []line
	for _, g := range gains {
		budgets[g.Evaluations] = true
		most = max(most, g.Constructions)
	}
	for _, g := range gains {
		l := line{g.Contrast, g.Class, g.Dim}
		if cells[l] == nil {
			cells[l] = map[int]string{}
			lines = append(lines, l)
		}
		decimals := 3
		if g.Sign() != 0 && math.Abs(g.Mean) < 0.0005 { // 0.000 would not be beyond chance
			decimals = 5
		}
		text := signed(g.Mean, decimals)
		if half := g.High - g.Mean; !math.IsNaN(half) {
			text += fmt.Sprintf(" ± %.*f", decimals, half)
		}
		if g.Sign() != 0 {
			text = "**" + text + "**"
		}
		if g.Constructions < most {
			text += fmt.Sprintf(" (n = %d)", g.Constructions)
		}
		cells[l][g.Evaluations] = text
	}
	order := slices.Sorted(maps.Keys(budgets))
	rows := [][]string{{"gained by", "class"}}
	for _, b := range order {
		rows[0] = append(rows[0], grouped(b)+" evaluations")
	}
	for i, l := range lines {
		row := []string{"", fmt.Sprintf("%s, d = %d", ClassTitle(l.class), l.dim)}
		if i == 0 || lines[i-1].Contrast != l.Contrast {
			row[0] = fmt.Sprintf("%s: %s \u2212 %s", l.What, l.Of, l.Over)
		}
		for _, b := range order {
			row = append(row, cells[l][b])
		}
		rows = append(rows, row)
	}
	return markdown(rows)
}

// signed returns a difference with its sign; 0.000 has none.
func signed(v float64, decimals int) string {
	text := fmt.Sprintf("%+.*f", decimals, v)
	if strings.Trim(text, "+-0.") == "" {
		text = text[1:]
	}
	return strings.ReplaceAll(text, "-", "\u2212")
}

// grouped returns a number with commas between groups of three digits.
func grouped(n int) string {
	text := fmt.Sprint(n)
	for at := len(text) - 3; at > 0; at -= 3 {
		text = text[:at] + "," + text[at:]
	}
	return text
}
