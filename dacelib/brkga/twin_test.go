package brkga

import (
	"context"
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"dace.local/dacelib/internal/openings"
	"dace.local/dacelib/problem"
	"dace.local/dacelib/run"
)

// A gene is a key as far as it matters: its bit, and which draw it comes from, 0 for all
// boolean keys.
type gene struct {
	bit  bool
	draw int
}

// A twin is an individual as a list of genes.
type twin struct {
	genes []gene
	value float64
}

func (x twin) bits() []bool {
	out := make([]bool, len(x.genes))
	for i, g := range x.genes {
		out[i] = g.bit
	}
	return out
}

// twinRun is a run as the documentation has it, on lists, with the same random draws. It
// returns the result and the batches that it evaluates.
func twinRun(p problem.Problem, s Settings) (r Result, batches []string) {
	c, d := s.Config, p.Dim()
	r = Result{Problem: p.Name(), Value: math.Inf(-1), Status: run.BudgetSpent, History: []Point{}, Settings: s}
	evaluate := func(xs []twin) {
		text := ""
		for i := range xs {
			v, err := problem.Value(context.Background(), p, xs[i].bits())
			if err != nil {
				panic(err)
			}
			xs[i].value = v
			text += fmt.Sprint(problem.Pack(xs[i].bits()))
			if r.Evaluations++; v > r.Value || r.Evaluations == 1 {
				r.Value, r.X, r.History = v, xs[i].bits(), append(r.History, Point{Evaluations: r.Evaluations, Best: v})
			}
		}
		r.Generations++
		batches = append(batches, text)
	}
	rng := run.Rand(s.Seed, "brkga")
	draws := 0
	random := func(uniform bool) twin {
		x := problem.NewSolutions(1, d)
		problem.Randomize(rng, x)
		genes := make([]gene, d)
		if uniform {
			draws++
		}
		for i, b := range x.Bools(0) {
			if genes[i].bit = b; uniform {
				genes[i].draw = draws
			}
		}
		return twin{genes: genes}
	}
	has := func(xs []twin, x twin) bool {
		return slices.ContainsFunc(xs, func(y twin) bool { return slices.Equal(x.genes, y.genes) })
	}
	allowed := func(n int) int {
		if s.FinishGeneration {
			return n
		}
		return min(n, s.Evaluations-r.Evaluations)
	}
	size := c.Elites + c.Offspring + c.Mutants
	limit := allowed(size)
	var pop []twin
	for _, x := range s.Start {
		genes := make([]gene, d)
		for i, b := range x {
			genes[i].bit = b
		}
		if x := (twin{genes: genes}); len(pop) < limit && !has(pop, x) {
			pop = append(pop, x)
		}
	}
	for range size {
		if len(pop) < limit {
			if x := random(s.InitialKeys == UniformKeys); !has(pop, x) {
				pop = append(pop, x)
			}
		}
	}
	rng = run.Rand(s.Seed, "brkga: breeding", c.Elites, c.Offspring, c.Mutants, int(math.Float64bits(c.Bias)))
	evaluate(pop)
	for old := 0; r.Evaluations < s.Evaluations; {
		if s.Target != nil && r.Value >= *s.Target {
			break
		}
		var kept []twin // without duplicates
		for i, x := range pop {
			duplicate := false
			for k, y := range kept {
				if !c.Duplicates || i < old || y.value != x.value {
					continue
				}
				first := !slices.ContainsFunc(kept[:k], func(z twin) bool { return z.value == y.value })
				switch same := slices.Equal(x.bits(), y.bits()); s.DuplicateRule {
				case ByValue:
					duplicate = true
				case ByEverySolution:
					duplicate = duplicate || same
				default:
					duplicate = duplicate || first && same
				}
			}
			if !duplicate {
				kept = append(kept, x)
			}
		}
		// Those that displace no elite keep their places.
		better := kept
		var rest []twin
		if old == c.Elites {
			better = slices.Clone(kept[:old])
			for _, x := range kept[old:] {
				if x.value > kept[old-1].value {
					better = append(better, x)
				} else {
					rest = append(rest, x)
				}
			}
		}
		slices.SortStableFunc(better, func(a, b twin) int {
			switch {
			case a.value > b.value:
				return -1
			case a.value < b.value:
				return 1
			}
			return 0
		})
		order := append(better, rest...)
		elites := order[:min(c.Elites, len(order))]
		others := order[len(elites):]
		if len(others) == 0 {
			others = elites
		}
		old = len(elites)
		limit := allowed(c.Offspring + c.Mutants)
		fresh := twinChildren(s, d, rng, order, elites, others, min(limit, c.Offspring))
		for range c.Mutants {
			if len(fresh) < limit {
				fresh = append(fresh, random(true))
			}
		}
		evaluate(fresh)
		pop = append(slices.Clone(elites), fresh...)
	}
	if s.Target != nil && r.Value >= *s.Target {
		r.Status = run.TargetReached
	}
	return r, batches
}

// twinChildren returns up to limit children with keys that are not among order.
func twinChildren(s Settings, d int, rng *rand.Rand, order, elites, others []twin, limit int) (fresh []twin) {
	c := s.Config
	if c.Bias == 1 || d == 1 {
		return nil
	}
	known := func(x twin) bool {
		return slices.ContainsFunc(slices.Concat(order, fresh), func(y twin) bool { return slices.Equal(x.genes, y.genes) })
	}
	cross := func(e, o twin, mask []bool) twin {
		genes := slices.Clone(o.genes)
		for i, m := range mask {
			if m {
				genes[i] = e.genes[i]
			}
		}
		return twin{genes: genes}
	}
	missing, tried := c.Offspring, false
	for range 100 {
		if missing == 0 {
			break
		}
		n := missing
		if s.Children == TwoChildren {
			n = (n + 1) / 2
		}
		es, os, masks := make([]twin, n), make([]twin, n), make([][]bool, n)
		for k := range n {
			e, rest := bits.Mul64(rng.Uint64(), uint64(len(elites)))
			o, _ := bits.Mul64(rest, uint64(len(others)))
			es[k], os[k] = elites[e], others[o]
		}
		var stream []bool // the masks, one behind the other
		for range (n*d+63)/64 + 1 {
			word := twinWord(rng, c.Bias)
			for b := range 64 {
				stream = append(stream, word>>b&1 == 1)
			}
		}
		for k := range masks {
			masks[k] = slices.Clone(stream[k*d : (k+1)*d])
			if !slices.Contains(masks[k], true) {
				masks[k][rng.IntN(d)] = true
			}
		}
		before := len(fresh)
		for swapped := range 2 {
			for k := range masks {
				e, o := es[k], os[k]
				if swapped == 1 {
					e, o = o, e
				}
				if x := cross(e, o, masks[k]); (swapped == 0 || s.Children == TwoChildren) && len(fresh) < limit && !known(x) {
					fresh = append(fresh, x)
				}
			}
		}
		if len(fresh) == limit {
			break
		}
		missing -= len(fresh) - before
		if len(fresh) == before && !tried {
			tried = true
			if twinExhausted(elites, others, cross, known) {
				break
			}
		}
	}
	return fresh
}

// twinExhausted reports whether all children are known, if there are at most 4096 pairs
// and 4096 children.
func twinExhausted(elites, others []twin, cross func(e, o twin, mask []bool) twin, known func(x twin) bool) bool {
	if len(elites)*len(others) > 4096 {
		return false
	}
	children := 0
	for _, e := range elites {
		for _, o := range others {
			var differ []int
			for i := range e.genes {
				if e.genes[i] != o.genes[i] {
					differ = append(differ, i)
				}
			}
			if children += 1 << min(len(differ), 16); children > 4096 {
				return false
			}
			for set := range 1 << len(differ) {
				mask := make([]bool, len(e.genes))
				for k, i := range differ {
					mask[i] = set>>k&1 == 1
				}
				if !known(cross(e, o, mask)) {
					return false
				}
			}
		}
	}
	return true
}

// twinWord returns 64 bits that are 1 with probability p: of 64 numbers whose binary digits
// come one after the other, all 64 first digits first, those below p.
func twinWord(rng *rand.Rand, p float64) (word uint64) {
	var decided uint64
	digits := uint64(p * (1 << 64))
	for i := 63; i >= 0 && decided != math.MaxUint64 && digits<<(63-i) != 0; i-- {
		r := rng.Uint64()
		for b := range 64 {
			if decided>>b&1 == 0 && r>>b&1 != digits>>i&1 {
				decided |= 1 << b
				if r>>b&1 == 0 {
					word |= 1 << b
				}
			}
		}
	}
	return word
}

// dear is a problem whose values are looked up.
type dear struct{ problem.Problem }

func (dear) Costly() bool { return true }

// TestTwin compares runs with their twins: each solution of each batch, and the result.
// They are small, and of few values, so that duplicates, ties and generations without new
// children happen.
func TestTwin(t *testing.T) {
	evaluated := func(p problem.Problem) (problem.Problem, *[]string) {
		var batches []string
		return problem.FromBatch(p.Name(), p.Dim(), func(dst []float64, x problem.Solutions) {
			text := ""
			for i := range x.Len() {
				text += fmt.Sprint(problem.Solutions{D: x.D, Words: x.Row(i)})
			}
			batches = append(batches, text)
			if err := p.Evaluate(t.Context(), dst, x); err != nil {
				t.Error(err)
			}
		}), &batches
	}
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 1))
		d := []int{1, 2, 3, 4, 6, 20, 21, 22, 31, 32, 33, 63, 64, 65, 130}[rng.IntN(15)]
		s := Settings{
			Config:      Config{1 + rng.IntN(6), 1 + rng.IntN(20), 1 + rng.IntN(4), []float64{0, 0.01, 0.3, 0.7, 0.99, 1}[rng.IntN(6)], rng.IntN(2) == 0},
			Evaluations: 1 + rng.IntN(200), Seed: seed, Children: Children(rng.IntN(2)), DuplicateRule: DuplicateRule(rng.IntN(3)),
			InitialKeys: InitialKeys(rng.IntN(2)), FinishGeneration: rng.IntN(4) == 0,
		}
		if rng.IntN(20) == 0 {
			s.Config.Elites = 70 // which pair in more than 4096 ways
			s.Evaluations = 400
		}
		for range rng.IntN(4) * rng.IntN(2) {
			x := make([]bool, d)
			x[rng.IntN(d)] = true
			s.Start = append(s.Start, x)
		}
		if rng.IntN(4) == 0 {
			target := float64(min(d, 40)) * 0.7
			s.Target = &target
		}
		values := 1 + rng.IntN(60)
		p := problem.FromFunc("few values", d, func(x []bool) float64 {
			v := 0
			for i, b := range x {
				if b {
					v += 1 + i%3
				}
			}
			if v%11 == 10 {
				return math.Inf(-1)
			}
			return float64(v % values)
		})
		want, wantBatches := twinRun(p, s)
		q, batches := evaluated(p)
		got, err := Run(t.Context(), q, s)
		if err != nil || !reflect.DeepEqual(got, want) || !slices.Equal(*batches, wantBatches) {
			t.Fatalf("seed %d, d = %d: %v\n%+v\n%q\nwant\n%+v\n%q", seed, d, err, got, *batches, want, wantBatches)
		}
		// The same where values are looked up, and first generations are shared.
		for _, ctx := range []context.Context{t.Context(), openings.With(t.Context())} {
			once := &expensive{p, map[string]int{}, 0}
			if r, err := Run(ctx, once, s); err != nil || !reflect.DeepEqual(r, want) || once.most > 1 && (r.Generations > 1 || s.InitialKeys == UniformKeys) {
				t.Fatalf("seed %d: %+v, %v, a solution was evaluated %d times; want %+v", seed, r, err, once.most, want)
			}
			jobs := []Job{{dear{p}, s}, {dear{p}, s}, {p, s}}
			for workers := range 4 {
				rs, err := RunAll(ctx, jobs, workers)
				for _, r := range rs {
					if err != nil || !reflect.DeepEqual(r, want) {
						t.Fatalf("seed %d, %d workers: %+v, %v, want %+v", seed, workers, r, err, want)
					}
				}
			}
		}
	}
}
