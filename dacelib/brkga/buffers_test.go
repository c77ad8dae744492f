package brkga

import (
	"cmp"
	"context"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"dace.local/dacelib/internal/openings"
	"dace.local/dacelib/problem"
	"dace.local/dacelib/problem/onemax"
)

// corners are settings that differ in all sizes of a search's buffers.
func corners() (all []Settings) {
	for _, c := range []Config{
		{20, 70, 10, 0.7, false}, {20, 70, 10, 0.7, true}, {1, 156, 22, 0.42, true}, {2, 7, 2, 0.69, true}, {348, 217, 47, 0.55, false},
		{1, 1, 1, 0, false}, {5, 7, 1, 1, true}, {200, 700, 100, 0.7, false}, {40, 1, 1, 0.5, true},
	} {
		for _, keys := range []InitialKeys{BooleanKeys, UniformKeys} {
			all = append(all,
				Settings{Config: c, InitialKeys: keys, Seed: 1},
				Settings{Config: c, InitialKeys: keys, Seed: 2, Children: OneChild, DuplicateRule: ByEverySolution, FinishGeneration: true},
				Settings{Config: c, InitialKeys: keys, Seed: 3, DuplicateRule: ByValue, Evaluations: 300})
		}
	}
	return all
}

// TestBuffers checks that a search in the buffers of others gives the results
// of one in memory of its own, whatever was in the buffers.
func TestBuffers(t *testing.T) {
	settings := corners()
	dims := []int{2, 30, 64, 65, 130}
	type outcome struct {
		best        float64
		row         []uint64
		history     []Point
		evaluations int
	}
	one := func(d int, s Settings, b *buffers) outcome {
		p := onemax.Random(1, d)
		s, err := s.withDefaults(p)
		if err != nil {
			t.Fatal(err)
		}
		sr := newSearchIn(p, s, b)
		for !sr.done {
			if err := p.Evaluate(context.Background(), sr.values(), sr.pending()); err != nil {
				t.Fatal(err)
			}
			if err := sr.advance(); err != nil {
				t.Fatal(err)
			}
		}
		return outcome{sr.best, slices.Clone(sr.bestRow), slices.Clone(sr.history), sr.evaluations}
	}
	rng, used := rand.New(rand.NewPCG(1, 1)), new(buffers)
	for range 200 {
		d, s := dims[rng.IntN(len(dims))], settings[rng.IntN(len(settings))]
		if got, want := one(d, s, used), one(d, s, new(buffers)); !reflect.DeepEqual(got, want) {
			t.Fatalf("d = %d, %+v: got %+v in used buffers, want %+v", d, s, got, want)
		}
		used.dirty(rng)
	}
}

// dirty overwrites what the buffers hold, except for the multipliers of the
// hash.
func (b *buffers) dirty(rng *rand.Rand) {
	for _, words := range [][]uint64{b.cur.bits, b.cur.ids, b.cur.hash, b.next.bits, b.next.ids, b.next.hash, b.stream, b.masks, b.mask, b.bestRow} {
		words = words[:cap(words)]
		for i := range words {
			words[i] = rng.Uint64()
		}
	}
	for _, p := range []*population{&b.cur, &b.next} {
		p.n = rng.IntN(1000)
		for i := range p.value {
			p.value[i] = rng.Float64()
		}
	}
	for i := range b.order {
		b.order[i] = rng.Int32()
	}
}

// TestHash checks that children's hashes, computed while they are made, are
// those of hashOf.
func TestHash(t *testing.T) {
	for _, d := range []int{2, 30, 64, 65, 130} {
		for _, s := range corners() {
			p := onemax.Random(1, d)
			s, err := s.withDefaults(p)
			if err != nil {
				t.Fatal(err)
			}
			sr := newSearch(p, s)
			for !sr.done {
				for i := range sr.next.n {
					if got, want := sr.next.hash[i], sr.hashOf(&sr.next, i); got != want {
						t.Fatalf("d = %d, %+v: the hash of individual %d is %x, want %x", d, s, i, got, want)
					}
				}
				if err := p.Evaluate(context.Background(), sr.values(), sr.pending()); err != nil {
					t.Fatal(err)
				}
				if err := sr.advance(); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}

// TestSortRanks compares with the standard library's stable sort.
func TestSortRanks(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for n := range 300 {
		for _, different := range []int{1, 5, 1 << 40} {
			ranks := make([]rank, n)
			for i := range ranks {
				ranks[i] = rank{uint64(rng.IntN(different)), int32(i)}
			}
			want := slices.Clone(ranks)
			slices.SortStableFunc(want, func(a, b rank) int { return cmp.Compare(a.key, b.key) })
			if sortRanks(ranks, make([]rank, n)); !slices.Equal(ranks, want) {
				t.Fatalf("%d ranks of %d keys: got %v, want %v", n, different, ranks, want)
			}
		}
	}
}

// TestOpenings checks that runs that share the values of first generations have
// the results of runs that do not, and that first generations are evaluated
// once.
func TestOpenings(t *testing.T) {
	for _, d := range []int{2, 30, 130} {
		inner := onemax.Random(1, d)
		p := problem.Count(inner, 0)
		var jobs, plain []Job
		for _, s := range corners() {
			plain = append(plain, Job{inner, s})
			jobs = append(jobs, Job{p, s})
		}
		ctx := context.Background()
		want, err := RunAll(ctx, plain, 2)
		if err != nil {
			t.Fatal(err)
		}
		// In parts, so that openings come from earlier calls, longer and shorter.
		ctx = openings.With(ctx)
		var got []Result
		for len(got) < len(jobs) {
			some, err := RunAll(ctx, jobs[len(got):min(len(got)+7, len(jobs))], 2)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, some...)
		}
		for i := range jobs {
			if !reflect.DeepEqual(got[i], want[i]) {
				t.Fatalf("d = %d, %+v: with openings %+v, without %+v", d, jobs[i].Settings, got[i], want[i])
			}
		}
		// Runs that are one first generation are known by now.
		before := p.Evaluations()
		s := Settings{Config: Default(), Seed: 1}
		if _, err := RunAll(ctx, []Job{{p, s}, {p, s}}, 1); err != nil {
			t.Fatal(err)
		}
		if n := p.Evaluations() - before; d > 2 && n != 0 {
			t.Errorf("d = %d: a first generation was evaluated before, and again %d solutions of it", d, n)
		}
	}
}
