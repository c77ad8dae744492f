package nir

import (
	"flag"
	"fmt"
	"slices"
	"testing"
	"time"

	"dace.local/dacelib/problem/onemax"
)

var (
	qs  = flag.Int("qs", 300, "")
	qb  = flag.Int("qb", 64, "")
	qn  = flag.Int("qn", 20000, "")
	qlr = flag.Float64("qlr", 1e-3, "")
)

func TestQuick(t *testing.T) {
	ps := oneMaxes(5, 30)
	start := time.Now()
	m, err := Train(bg, ps, Settings{Samples: *qn, Steps: *qs, Batch: *qb, LearningRate: *qlr, NormaliseSample: 100_000, ValidateEvery: *qs / 5})
	fmt.Println(m.Losses(), err, time.Since(start), time.Since(start)/time.Duration(*qs))
	for i, e := range m.Embeddings() {
		s, _ := m.Scorer(e)
		c, err := m.ClosestOneMax(bg, s, OneMaxSettings{Solutions: 20000, Validation: 20000})
		fmt.Println(c, slices.Equal(c.Target, ps[i].(*onemax.Instance).Target()), err)
	}
	fmt.Println(time.Since(start))
}
