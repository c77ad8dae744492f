package portfolio

import (
	"fmt"
	"strings"

	"dace.local/dacelib/brkga"
	"dace.local/dacelib/smartest"
)

// BRKGAPAP returns the paper's manual portfolio (Appendix C): two recommended
// configurations, each with and without duplicate elimination.
func BRKGAPAP() Portfolio {
	return BRKGA("BRKGA-PAP", []brkga.Config{
		{Elites: 20, Offspring: 70, Mutants: 10, Bias: 0.7}, {Elites: 20, Offspring: 70, Mutants: 10, Bias: 0.7, Duplicates: true},
		{Elites: 15, Offspring: 75, Mutants: 10, Bias: 0.7}, {Elites: 15, Offspring: 75, Mutants: 10, Bias: 0.7, Duplicates: true},
	})
}

// BRKGA returns a portfolio of configurations of BRKGA.
func BRKGA(name string, configs []brkga.Config) Portfolio {
	p := Portfolio{Name: name}
	for _, c := range configs {
		p.Members = append(p.Members, c.Named())
	}
	return p
}

// SMARTESTPAP returns the paper's portfolio of SMARTEST for compiler arguments
// (Appendix C).
func SMARTESTPAP() Portfolio {
	p := Portfolio{Name: "SMARTEST-PAP"}
	for _, c := range smartest.PAP() {
		p.Members = append(p.Members, c.Named())
	}
	return p
}

// Paper returns a portfolio that the paper's authors constructed (Appendix C;
// line 1078 of the paper's source, dace.tex). class is "cimp", "caop" or "ccp";
// method is "DACE", "CEPS", "GLOBAL" or "PARHYDRA". The biases are as printed,
// with two decimals. For the manual portfolios see [BRKGAPAP] and
// [SMARTESTPAP].
func Paper(class, method string) (Portfolio, error) {
	rows, ok := published[strings.ToLower(class)+" "+strings.ToUpper(method)]
	if !ok {
		return Portfolio{}, fmt.Errorf("portfolio: the paper has none of method %q for class %q; the methods are DACE, CEPS, GLOBAL and PARHYDRA, the classes cimp, caop and ccp", method, class)
	}
	p := Portfolio{Name: strings.ToUpper(method) + " (paper)"}
	for _, r := range rows {
		p.Members = append(p.Members, brkga.Config(r).Named())
	}
	return p, nil
}

// A row is a configuration, with its numbers in the paper's order.
type row struct {
	Elites, Offspring, Mutants int
	Bias                       float64
	Duplicates                 bool
}

// published holds the paper's table of portfolios.
var published = map[string][]row{
	"cimp DACE":     {{1, 156, 22, 0.42, true}, {29, 35, 13, 0.39, true}, {29, 29, 2, 0.27, true}, {21, 27, 4, 0.56, false}},
	"cimp CEPS":     {{2, 7, 2, 0.69, true}, {52, 34, 2, 0.45, true}, {348, 217, 47, 0.55, false}, {1, 139, 38, 0.46, true}},
	"cimp GLOBAL":   {{1, 568, 143, 0.22, true}, {331, 107, 116, 0.45, true}, {294, 550, 13, 0.63, true}, {319, 690, 18, 0.96, true}},
	"cimp PARHYDRA": {{98, 24, 1, 0.01, false}, {260, 23, 22, 0.83, true}, {369, 767, 24, 0.56, true}, {241, 403, 52, 0.94, false}},
	"caop DACE":     {{7, 33, 14, 0.44, true}, {1, 54, 24, 0.57, true}, {2, 31, 40, 0.79, false}, {5, 159, 27, 0.79, false}},
	"caop CEPS":     {{20, 70, 10, 0.70, false}, {63, 813, 50, 0.45, false}, {135, 222, 23, 0.93, true}, {211, 505, 11, 0.35, true}},
	"caop GLOBAL":   {{200, 700, 100, 0.70, false}, {200, 700, 100, 0.70, false}, {200, 700, 100, 0.70, false}, {200, 700, 100, 0.70, false}},
	"caop PARHYDRA": {{146, 16, 41, 0.33, false}, {14, 45, 175, 0.20, false}, {14, 4, 73, 0.60, true}, {200, 700, 100, 0.70, false}},
	"ccp DACE":      {{15, 37, 2, 0.23, false}, {14, 32, 7, 0.42, true}, {42, 51, 4, 0.62, true}, {6, 174, 1, 0.36, false}},
	"ccp CEPS":      {{7, 50, 44, 0.89, false}, {5, 53, 21, 0.06, true}, {2, 69, 53, 0.24, false}, {2, 79, 37, 0.90, false}},
	"ccp GLOBAL":    {{200, 700, 100, 0.70, false}, {200, 700, 100, 0.70, false}, {200, 700, 100, 0.70, false}, {200, 700, 100, 0.70, false}},
	"ccp PARHYDRA":  {{9, 1, 103, 0.70, false}, {23, 3, 91, 0.27, true}, {200, 700, 100, 0.70, false}, {200, 700, 100, 0.70, false}},
}
