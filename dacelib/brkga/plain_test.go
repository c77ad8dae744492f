package brkga

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"dace.local/dacelib/problem"
	"dace.local/dacelib/problem/onemax"
	"dace.local/dacelib/run"
)

// A member is an individual as in textbooks: keys and a value.
type member struct {
	keys  []float64
	value float64
}

func (m member) bits() []bool {
	x := make([]bool, len(m.keys))
	for j, k := range m.keys {
		x[j] = k > 0.5
	}
	return x
}

// plain is a direct implementation of the paper's solver, with keys stored as
// numbers. It returns the best value of 800 evaluations.
func plain(t *testing.T, p problem.Problem, c Config, children Children, rng *rand.Rand) float64 {
	var pop []member
	evaluations, best := 0, math.Inf(-1)
	evaluate := func(ms []member) []member {
		for i := range ms {
			if evaluations == 800 {
				return ms[:i]
			}
			v, err := problem.Value(context.Background(), p, ms[i].bits())
			if err != nil {
				t.Fatal(err)
			}
			ms[i].value, best = v, max(best, v)
			evaluations++
		}
		return ms
	}
	known := func(keys []float64, lists ...[]member) bool {
		for _, l := range lists {
			for _, m := range l {
				if slices.Equal(m.keys, keys) {
					return true
				}
			}
		}
		return false
	}
	draw := func(f func() float64) member {
		m := member{keys: make([]float64, p.Dim())}
		for j := range m.keys {
			m.keys[j] = f()
		}
		return m
	}
	for len(pop) < c.Elites+c.Offspring+c.Mutants {
		if m := draw(func() float64 { return float64(rng.IntN(2)) }); !known(m.keys, pop) {
			pop = append(pop, m)
		}
	}
	pop = evaluate(pop)
	for evaluations < 800 {
		if c.Duplicates {
			first := map[float64]member{}
			pop = slices.DeleteFunc(pop, func(m member) bool {
				f, ok := first[m.value]
				if !ok {
					first[m.value] = m
				}
				return ok && slices.Equal(f.bits(), m.bits())
			})
		}
		slices.SortStableFunc(pop, func(a, b member) int { return cmp.Compare(b.value, a.value) })
		elites := pop[:min(c.Elites, len(pop))]
		others := pop[len(elites):]
		if len(others) == 0 {
			others = elites
		}
		var off []member
		for round := 0; round < 100 && len(off) < c.Offspring; round++ {
			n := c.Offspring - len(off)
			if children == TwoChildren {
				n = (n + 1) / 2
			}
			var ones, twos []member
			for range n {
				e, o := elites[rng.IntN(len(elites))], others[rng.IntN(len(others))]
				mask, some := make([]bool, p.Dim()), false
				for j := range mask {
					mask[j] = rng.Float64() < c.Bias
					some = some || mask[j]
				}
				if !some {
					mask[rng.IntN(len(mask))] = true
				}
				one, two := slices.Clone(o.keys), slices.Clone(e.keys)
				for j, m := range mask {
					if m {
						one[j], two[j] = two[j], one[j]
					}
				}
				ones, twos = append(ones, member{keys: one}), append(twos, member{keys: two})
			}
			if children == OneChild {
				twos = nil
			}
			for _, m := range append(ones, twos...) {
				if len(off) < c.Offspring && !known(m.keys, pop, off) {
					off = append(off, m)
				}
			}
		}
		for range c.Mutants {
			off = append(off, draw(rng.Float64))
		}
		pop = append(slices.Clone(elites), evaluate(off)...)
	}
	return best
}

// TestPlain checks that packed keys and partial sorting do not change the
// quality of runs: means over seeds agree with those of the plain algorithm
// within 4 standard errors.
func TestPlain(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	p := onemax.Random(1, 30)
	for _, c := range []Config{
		{20, 70, 10, 0.7, false}, {15, 75, 10, 0.7, true}, {29, 29, 2, 0.27, true}, {7, 50, 44, 0.89, false}, {2, 7, 2, 0.69, true},
	} {
		for _, children := range []Children{TwoChildren, OneChild} {
			const packed, plainly = 2000, 100
			jobs := make([]Job, packed)
			for i := range jobs {
				jobs[i] = Job{p, Settings{Config: c, Children: children, Seed: uint64(i)}}
			}
			results, err := RunAll(context.Background(), jobs, 0)
			if err != nil {
				t.Fatal(err)
			}
			values := make([]float64, packed)
			for i, r := range results {
				values[i] = r.Value
			}
			want := make([]float64, plainly)
			if err := run.Each(0, plainly, func(i int) error {
				want[i] = plain(t, p, c, children, run.Rand(9, "plain", i))
				return nil
			}); err != nil {
				t.Fatal(err)
			}
			a, va := meanVariance(values)
			b, vb := meanVariance(want)
			off := (a - b) / math.Sqrt(va/packed+vb/plainly)
			line := fmt.Sprintf("%v, children %d: %.3f, plain %.3f: %+.1f standard errors", c, children, a, b, off)
			if math.Abs(off) > 4 {
				t.Error(line)
			} else {
				t.Log(line)
			}
		}
	}
}

func meanVariance(v []float64) (mean, variance float64) {
	for _, x := range v {
		mean += x / float64(len(v))
	}
	for _, x := range v {
		variance += (x - mean) * (x - mean) / float64(len(v)-1)
	}
	return mean, variance
}
