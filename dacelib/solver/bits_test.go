package solver_test

import (
	"fmt"
	"hash/fnv"
	"testing"

	"dace.local/dacelib/problem/classic"
	"dace.local/dacelib/solver"
)

// TestBits holds the runs of eda and linkage to the bits that they had before they were made
// faster: a hash of histories and solutions on functions of one and of two words.
func TestBits(t *testing.T) {
	want := map[string]string{
		"linkage":                                "e399058fac0d27e8",
		"linkage{smallest: false}":               "beaf3e1da959e02",
		"eda":                                    "8b83dd9dd2262d2c",
		"eda{sample: 40, best: 0.3, away: true}": "f5b2d16261d6d01c",
		"eda{memory: false, margin: 5}":          "55ad6884557dbd5f",
	}
	for _, text := range []string{"linkage", "linkage{smallest: false}", "eda", "eda{sample: 40, best: 0.3, away: true}", "eda{memory: false, margin: 5}"} {
		h := fnv.New64a()
		for _, d := range []int{25, 100} {
			p, err := classic.PBO(19, 1, d)
			if err != nil {
				t.Fatal(err)
			}
			r, err := solver.Run(t.Context(), solver.Job{Problem: p, Config: parse(t, text), Evaluations: 3000, Seed: 7})
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprint(h, r.History, r.X, r.Evaluations)
		}
		if got := fmt.Sprintf("%x", h.Sum64()); got != want[text] {
			t.Errorf("%s: %s, want %s", text, got, want[text])
		}
	}
}
