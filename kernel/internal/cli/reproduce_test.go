package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Tables and figures come from stored tests, or are computed where there are none.
func TestReproduce(t *testing.T) {
	results, err := filepath.Abs("../../../notebooks/results")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	figure := filepath.Join(dir, "figure.svg")
	for _, c := range []struct{ args, out string }{
		{"II -class cimp", "GLOBAL                           27        11440         0.21         0.21         1.92"},
		{"III", "30  DACE (paper)      1.051 ± 0.019 *  1.052 ± 0.027 *    −0.001"},
		{"table IV -reading written", "  30  CEPS (paper)       19-31-0    36-14-0\n      GLOBAL (paper)     50-0-0     50-0-0\n"},
		{"4 -o " + figure, figure},
		{"fig5 -class cimp -o " + figure, "DACE                   d =  80: ["},
		{"C", "[20, 70, 10, 0.70, F]"},
		{"E", "ccp, published     DACE mixed       DACE             DACE (affine)    CEPS             GLOBAL         PARHYDRA       BRKGA-PAP"},
	} {
		args := append([]string{"reproduce"}, strings.Fields(strings.Replace(c.args, "table ", "table", 1))...)
		dace(t, "", append(args, "-results", results, "-keep", dir)...).want(t, 0, c.out, "")
		if strings.Contains(c.args, figure) {
			if b, err := os.ReadFile(figure); err != nil || !strings.Contains(string(b), "<svg") {
				t.Errorf("%s: no figure: %v", c.args, err)
			}
			os.Remove(figure)
		}
	}
	few := []string{"reproduce", "III", "-instances", "1", "-repeats", "1", "-evaluations", "60", "-sample", "500", "-results", "none", "-keep", dir}
	dace(t, "", few...).want(t, 0, "\n\n40  DACE (paper)", "evaluations on 2 instances; by the first 80 they take at most about ")
	if again := dace(t, "", few...); again.code != 0 {
		t.Errorf("the second call does not go on: %s", again.err)
	}
	for _, c := range []struct{ args, out, said string }{ // without stored constructions
		{"C", "GLOBAL (paper)", ""}, {"4 -instances 1 -repeats 1 -evaluations 60 -sample 500 -o " + figure, figure, "evaluations on 2 instances"},
	} {
		dace(t, "", append([]string{"reproduce"}, append(strings.Fields(c.args), "-results", "none", "-keep", dir)...)...).want(t, 0, c.out, c.said)
	}
	for _, c := range []struct{ args, message string }{
		{"VII", `there is no "VII"; the tables are II, III and IV`},
		{"III -class onemax", `the paper has no table of the class "onemax"`},
		{"III -class luck", `the paper has no table of the class "luck"`},
		{"III -reading third", "third"},
		{"III -instances 0", "at least 1"},
		{"D -scorer luck", `no scorer is called "luck": there are leakyrelu and affine`},
	} {
		dace(t, "", append([]string{"reproduce"}, strings.Fields(c.args)...)...).want(t, 2, "", c.message)
	}
	dace(t, "", "reproduce", "E", "-class", "cimp").want(t, 1, "", "mixed dimensions (Appendix E) for ccp alone")
	dace(t, "", "reproduce", "5", "-results", dir, "-scale", "luck").want(t, 1, "", "luck")
}
