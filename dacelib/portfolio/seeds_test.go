package portfolio_test

import (
	"context"
	"slices"
	"testing"

	"dace.local/dacelib/portfolio"
	"dace.local/dacelib/problem"
	"dace.local/dacelib/problem/ccp"
	"dace.local/dacelib/run"
)

// Equal members make equal runs where they share a seed, as in the authors' code,
// and runs of their own elsewhere; the first member's are the same either way.
func TestMemberSeeds(t *testing.T) {
	set, err := ccp.Class().NewSet(1, 1, 0)
	if err != nil {
		t.Fatal(err)
	}
	pap := portfolio.BRKGAPAP()
	for i := range pap.Members {
		pap.Members[i] = pap.Members[0]
	}
	first := map[run.Reading][]float64{}
	for _, c := range []struct {
		reading run.Reading
		seeds   portfolio.MemberSeeds
		own     bool
	}{
		{run.Written, portfolio.SeedsByReading, true},
		{run.Written, portfolio.SharedSeed, false},
		{run.Published, portfolio.SeedsByReading, false},
		{run.Published, portfolio.OwnSeeds, true},
	} {
		s := portfolio.Settings{Reading: c.reading, Seeds: c.seeds, Evaluations: 300, Repeats: 3, Seed: 5}
		r, err := pap.Run(context.Background(), set.Training, s)
		if err != nil {
			t.Fatal(err)
		}
		var firsts []float64
		equal := true
		for _, members := range r[0].Members {
			firsts = append(firsts, members[0])
			equal = equal && !slices.ContainsFunc(members, func(v float64) bool { return v != members[0] })
		}
		if equal == c.own {
			t.Errorf("%v, %v: the members' values %v", c.reading, c.seeds, r[0].Members)
		}
		if old := first[c.reading]; old != nil && !slices.Equal(old, firsts) {
			t.Errorf("%v, %v: the first member's values %v, and before %v", c.reading, c.seeds, firsts, old)
		}
		first[c.reading] = firsts
	}
	if _, err := pap.Run(context.Background(), []problem.Problem{set.Training[0]}, portfolio.Settings{Seeds: 3}); err == nil {
		t.Error("Seeds: 3 is taken")
	}
}
