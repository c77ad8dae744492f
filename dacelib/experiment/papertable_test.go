package experiment_test

import (
	"math"
	"strings"
	"testing"

	"dace.local/dacelib/experiment"
	"dace.local/dacelib/run"
	"dace.local/dacelib/stats"
)

// The paper's own table agrees with itself, and stands beside itself.
func TestBesidePaper(t *testing.T) {
	table := experiment.PaperTable("ccp", "DACE")
	for _, r := range experiment.BesidePaper(table) {
		if r.Ours != r.Paper || r.OursWDL != r.PaperWDL || r.Apart != 0 {
			t.Errorf("%+v", r)
		}
	}
	if got, want := experiment.Agreement(table), "ccp, published: the means are at most 0.000 from the paper's, and at most 0.0 standard errors of such a difference; the order of the methods is the paper's in 2 of 2 dimensions, the majority of wins, draws and losses in 8 of 8 comparisons."; got != want {
		t.Errorf("%s", got)
	}
	// Another method in the place of CEPS, a mean that changes the order, an
	// outcome that changes the majority.
	table.Methods = []string{"DACE (paper)", "ONE", "GLOBAL #2", "PARHYDRA", "BRKGA-PAP"}
	table.Rows[0].Cells[2].Mean = 1.2
	table.Rows[1].Cells[3].WDL = stats.WDL{Draw: 50}
	rows := experiment.BesidePaper(table)
	if r := rows[1]; r.Paper != "" || !math.IsNaN(r.Apart) || r.OursWDL != "36-14-0" {
		t.Errorf("%+v", r)
	}
	if r := rows[2]; r.Paper != "0.900 ± 0.022" || math.Abs(r.Apart-0.2999) > 1e-9 || r.PaperWDL != "50-0-0" {
		t.Errorf("%+v", r)
	}
	for _, want := range []string{
		"d   portfolio     mean here ", "\n\n40  DACE (paper)", "\n    GLOBAL #2     1.200 ± 0.022    0.900 ± 0.022      +0.300 †    50-0-0",
	} {
		if got := rows.String(); !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	for _, want := range []string{"\n|  | ONE | 1.040 ± 0.026 |  |  | 36\u201114\u20110 |  |\n", "\n| 40 | DACE (paper) | **1.078 ± 0.025** | **1.078 ± 0.025** | 0.000 |"} {
		if got := rows.Markdown(); !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	// The same in a table of columns: three decimals, what is best marked or bold.
	for text, want := range map[string]string{
		table.String():   "d = 40             1.078 ± 0.025 *  1.064 ± 0.023  0.894 ± 0.020  0.923 ± 0.021  1.048 ± 0.023\nwins-draws-losses                   30-20-0",
		table.Markdown(): "| d = 40 | **1.078 ± 0.025** | 1.064 ± 0.023 |",
	} {
		if !strings.Contains(text, want) || !strings.Contains(text, "~ not significantly different from it") {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	// 0.2999 / (0.0219 sqrt(2/50)) = 68.47
	for _, want := range []string{"at most 0.300 from", "at most 68.5 standard errors", "the paper's in 1 of 2 dimensions", "in 5 of 6 comparisons"} {
		if got := experiment.Agreement(table); !strings.Contains(got, want) {
			t.Errorf("%s: no %q", got, want)
		}
	}
	table.Methods = []string{"A", "B", "C", "D", "E"}
	if got := experiment.Agreement(table); got != "The paper has no numbers for these." {
		t.Errorf("%s", got)
	}
}

// One-sided tests both ways find more than a two-sided one, and so do repeats
// that are counted twice.
func TestOutcomes(t *testing.T) {
	record := func(method string, shift float64) experiment.Record {
		r := experiment.Record{Method: method, Dim: 30, Instance: "a", Reading: run.Written}
		for i := range 20 {
			// 0 to 19 in the order of a generator, so that both methods mix.
			r.Values = append(r.Values, float64(7*i%20)+shift)
		}
		for _, v := range r.Values {
			r.Mean += v / 20
		}
		return r
	}
	// z of a rank-sum test of two samples of 20: 1.64 is one-sided 0.05, 1.96
	// two-sided.
	records := []experiment.Record{record("A", 3.4), record("B", 0)}
	for _, c := range []struct {
		rule experiment.Rule
		want stats.WDL
	}{
		{experiment.Rule{}, stats.WDL{Draw: 1}},
		{experiment.Rule{OneSided: true}, stats.WDL{Win: 1}},
		{experiment.Rule{Seeds: 20}, stats.WDL{Draw: 1}},
	} {
		if got, err := experiment.Outcomes(records, "A", "B", 30, c.rule); err != nil || got != c.want {
			t.Errorf("%+v: %v, %v", c.rule, got, err)
		}
		if got, err := experiment.Outcomes(records, "B", "A", 30, c.rule); err != nil || got.Win != c.want.Loss || got.Loss != c.want.Win {
			t.Errorf("%+v, the other way: %v, %v", c.rule, got, err)
		}
	}
	if _, err := experiment.Outcomes(records, "A", "C", 30, experiment.Rule{}); err == nil {
		t.Error("C is not in the records")
	}
	if _, err := experiment.Outcomes(records, "A", "B", 40, experiment.Rule{}); err == nil {
		t.Error("there are no records of dimension 40")
	}
}
