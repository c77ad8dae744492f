package experiment_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"dace.local/dacelib/experiment"
	"dace.local/dacelib/farm"
	"dace.local/dacelib/problem"
)

// Each class can be drawn by its name, and its instances have the same values on a
// farm's workers.
func TestClasses(t *testing.T) {
	t.Parallel()
	for _, name := range experiment.Classes() {
		if name == "cimp" {
			continue // its networks are fetched
		}
		c, err := experiment.Class(strings.ToUpper(name), 16)
		if err != nil {
			t.Error(err)
			continue
		}
		p, err := c.Train(1, 0)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		pool := farm.Local(1)
		pk := farm.NewPacker(t.Context(), pool)
		key, err := pk.Problems([]problem.Problem{p})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		there, err := farm.NewEnv(1, pool.Get, pool.Put).Problems(t.Context(), key)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		x := problem.Random(rand.New(rand.NewPCG(1, 1)), 5, p.Dim())
		here, far := make([]float64, 5), make([]float64, 5)
		if err := p.Evaluate(t.Context(), here, x); err != nil {
			t.Fatal(err)
		}
		if err := there[0].Evaluate(t.Context(), far, x); err != nil || !slices.Equal(here, far) {
			t.Errorf("%s: %v here, %v on a farm, %v", name, here, far, err)
		}
	}
}

func ExampleClassTitle() {
	for _, name := range []string{"ccp", "maxsat", "independentset"} {
		fmt.Println(experiment.ClassTitle(name))
	}
	// Output:
	// CCP
	// MAX-3SAT
	// independent set
}
