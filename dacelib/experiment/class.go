package experiment

import (
	"fmt"
	"slices"
	"strings"

	"dace.local/dacelib/problem"
	"dace.local/dacelib/problem/caop"
	"dace.local/dacelib/problem/ccp"
	"dace.local/dacelib/problem/cimp"
	"dace.local/dacelib/problem/classic"
	"dace.local/dacelib/problem/onemax"
	"dace.local/dacelib/run"
)

// Classes returns the names that [Class] accepts: those of the paper, and the
// classics.
func Classes() []string {
	return append([]string{"ccp", "cimp", "caop", "onemax"}, classic.Names()...)
}

// titles are the names of classes that are no abbreviations, as texts write them.
var titles = map[string]string{
	"onemax": "OneMax", "maxsat": "MAX-3SAT", "maxcut": "max-cut", "knapsack": "knapsack", "traps": "traps",
	"independentset": "independent set", "ising": "Ising", "wmodel": "W-model", "leadingones": "LeadingOnes", "queens": "N-queens",
}

// ClassTitle returns a class's name as texts and figures write it: "MAX-3SAT" for
// maxsat, "CCP" for ccp.
func ClassTitle(name string) string {
	if title, ok := titles[name]; ok {
		return title
	}
	return strings.ToUpper(name)
}

// Class returns a problem class by its name: name is "ccp", "cimp", "caop",
// "onemax", "nk", "qubo", "maxsat", "maxcut", "knapsack", "traps",
// "independentset", "ising", "wmodel", "leadingones", "labs" or "queens". cimp is on
// the SNAP networks; those behind onemax are of package classic. dim is the
// dimension of the training instances; 0 means the paper's, 30 for onemax, and 40
// for classics (36 for queens). For caop it is at most the number of flags that GCC
// knows.
func Class(name string, dim int) (problem.Class, error) {
	if dim < 0 {
		return problem.Class{}, fmt.Errorf("experiment: a dimension of %d; it must be at least 1", dim)
	}
	var c problem.Class
	var train func(seed uint64, d, i int) (problem.Problem, error)
	switch strings.ToLower(name) {
	case "ccp":
		c = ccp.Class()
		train = func(seed uint64, d, i int) (problem.Problem, error) {
			return ccp.Generate(run.Seed(seed, "ccp train", i), ccp.Settings{Dim: d, Lambda: 1e-4, Name: fmt.Sprintf("ccp-train-%d/%d", d, i)})
		}
	case "cimp":
		c = cimp.SNAPClass()
		train = func(seed uint64, d, i int) (problem.Problem, error) {
			return cimp.Generate(run.Seed(seed, "cimp train", i), cimp.Settings{Network: "wiki", Dim: d, Name: fmt.Sprintf("cimp-train-%d/%d", d, i)})
		}
	case "caop":
		c = caop.Class()
		train = func(seed uint64, d, i int) (problem.Problem, error) {
			programs, _ := caop.Split()
			return caop.Generate(run.Seed(seed, "caop train", i), caop.Settings{Dim: d, Programs: programs, Name: fmt.Sprintf("caop-train-%d/%d", d, i)})
		}
	case "onemax":
		if dim == 0 {
			dim = 30
		}
		return onemax.Class(dim), nil
	default:
		if slices.Contains(classic.Names(), strings.ToLower(name)) {
			if dim == 0 {
				dim = 40
				if strings.EqualFold(name, "queens") {
					dim = 36
				}
			}
			return classic.Class(name, dim)
		}
		return c, fmt.Errorf("experiment: there is no class %q; the classes are %s", name, strings.Join(Classes(), ", "))
	}
	if dim == 0 || dim == c.TrainDim {
		return c, nil
	}
	c.TrainDim = dim
	c.Train = func(seed uint64, i int) (problem.Problem, error) { return train(seed, dim, i) }
	if !slices.Contains(c.TestDims, dim) {
		c.TestDims = []int{dim}
	}
	return c, nil
}
