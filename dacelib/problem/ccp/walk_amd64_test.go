package ccp

import (
	"context"
	"slices"
	"testing"

	"dace.local/dacelib/problem"
	"dace.local/dacelib/run"
)

// TestNarrow has a processor with AVX-512 do as one without it, and one without
// AVX2: the walks are those of walkGo, and the values the same.
func TestNarrow(t *testing.T) {
	if !hasAVX512 {
		t.Skip("the blocks of this processor are narrow: TestWalk covers them")
	}
	evaluate := func() []float64 {
		p, err := Generate(3, Settings{Dim: 70, Simulations: 130})
		if err != nil {
			t.Fatal(err)
		}
		x := problem.Random(run.Rand(9, "narrow"), 200, 70)
		dst := make([]float64, x.Len())
		if err := p.Evaluate(context.Background(), dst, x); err != nil {
			t.Fatal(err)
		}
		return dst
	}
	want := evaluate()
	defer func() { hasAVX512, hasAVX2, lanes = true, true, wide }()
	hasAVX512, lanes = false, narrow
	for _, hasAVX2 = range []bool{true, false} {
		TestWalk(t)
		if got := evaluate(); !slices.Equal(got, want) {
			t.Errorf("with AVX2 %v the values are %v, want %v", hasAVX2, got, want)
		}
	}
}
