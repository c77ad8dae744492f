package classic

import (
	"fmt"
	"strings"

	"dace.local/dacelib/problem"
	"dace.local/dacelib/run"
)

// draws are the problems of which instances are drawn, by their names.
var draws = []struct {
	name string
	draw func(seed uint64, d int) (*Instance, error)
}{
	{"nk", func(seed uint64, d int) (*Instance, error) { return RandomNKOf(seed, d, min(4, d-1)) }},
	{"qubo", RandomQUBO},
	{"maxsat", RandomMaxSat},
	{"maxcut", RandomMaxCut},
	{"knapsack", RandomKnapsack},
	{"traps", RandomTraps},
	{"independentset", RandomIndependentSet},
	{"ising", RandomIsing},
	{"wmodel", RandomWModel},
	{"leadingones", func(seed uint64, d int) (*Instance, error) { return randomPBO(seed, 2, d) }},
	{"labs", func(seed uint64, d int) (*Instance, error) { return randomPBO(seed, 18, d) }},
	{"queens", func(seed uint64, d int) (*Instance, error) { return randomPBO(seed, 23, d) }},
}

// randomPBO draws an instance of a function of PBO: its bits are negated at random.
func randomPBO(seed uint64, function, d int) (*Instance, error) {
	p, err := PBO(function, 1, d)
	if err != nil {
		return nil, err
	}
	return Moved(fmt.Sprintf("%s-%d/%d", strings.ToLower(PBOName(function)), d, seed), p, nil,
		problem.Random(run.Rand(seed, "negated", function, d), 1, d).Bools(0))
}

// Names returns the names that [Class] accepts.
func Names() []string {
	var names []string
	for _, d := range draws {
		names = append(names, d.name)
	}
	return names
}

// Class returns the class of problems of d bits of a name that [Names] has: nk (four
// random neighbours), qubo, maxsat, maxcut, knapsack, traps, independentset, ising,
// wmodel, leadingones, labs and queens (d a square). The functions RandomNKOf,
// RandomQUBO and so on say how instances are drawn; those of leadingones, labs and
// queens are the function with bits negated at random.
func Class(name string, d int) (problem.Class, error) {
	for _, c := range draws {
		if c.name != strings.ToLower(name) {
			continue
		}
		if _, err := c.draw(0, d); err != nil {
			return problem.Class{}, err
		}
		kind := func(kind string) func(uint64, int, int) (problem.Problem, error) {
			return func(seed uint64, d, i int) (problem.Problem, error) {
				p, err := c.draw(run.Seed(seed, "classic "+c.name+" "+kind, d, i), d)
				if err != nil {
					return nil, err
				}
				p.name = fmt.Sprintf("%s-%s-%d/%d", c.name, kind, d, i)
				return p, nil
			}
		}
		train, test := kind("train"), kind("test")
		return problem.Class{
			Name: c.name, TrainDim: d, TestDims: []int{d},
			Train:  func(seed uint64, i int) (problem.Problem, error) { return train(seed, d, i) },
			Test:   test,
			Decode: Decode,
		}, nil
	}
	return problem.Class{}, fmt.Errorf("classic: there is no class %q; the classes are %s", name, strings.Join(Names(), ", "))
}
