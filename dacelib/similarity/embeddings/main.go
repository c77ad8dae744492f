// Embeddings trains NIRs with and without [nir.Settings].DistanceWeight, and
// measures what the distances of their embeddings mean. PLAN.md says what is
// compared, RESULTS.md what came out.
//
//	go run ./dacelib/similarity/embeddings -o results.jsonl   # goes on where it stopped
//	go run ./dacelib/similarity/embeddings -o results.jsonl -print
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"math"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"sync"
	"time"

	"gonum.org/v1/gonum/stat"

	"dace.local/dacelib/nir"
	"dace.local/dacelib/problem"
	"dace.local/dacelib/problem/ccp"
	"dace.local/dacelib/problem/cimp"
	"dace.local/dacelib/problem/classic"
	"dace.local/dacelib/problem/onemax"
	"dace.local/dacelib/run"
	"dace.local/dacelib/similarity"
	"dace.local/dacelib/stats"
)

// A record is one training.
type record struct {
	Size, Class string
	Seed        uint64
	Weight      float64

	Spearman                    float64
	Reconstruction, Scorer, Fit float64
	NewFit, NewSpearman         float64 // means over the new instances
	NewSameGroup, NewInstances  int
	Seconds                     float64
}

var classes = []string{"onemax", "ccp", "cimp", "mixed"}

// instances returns n instances of a class and the group of each.
func instances(class string, seed uint64, n, perGroup int) (ps []problem.Problem, groups []string, err error) {
	for i := range n {
		p, group, err := instance(class, seed, i, n/perGroup)
		if err != nil {
			return nil, nil, err
		}
		ps, groups = append(ps, p), append(groups, group)
	}
	return ps, groups, nil
}

// instance returns instance i of a class, of group i modulo the number of groups.
func instance(class string, seed uint64, i, groups int) (p problem.Problem, group string, err error) {
	g := i % groups
	kind := class
	if class == "mixed" {
		kind, g = []string{"onemax", "ccp", "qubo"}[i%3], 0
	}
	switch kind {
	case "onemax":
		p, err = near(seed, g, i)
	case "ccp":
		p, err = ccp.Class().Test(seed, 30, i)
	case "cimp":
		p, err = cimp.Class().Test(seed, 80, i)
	case "qubo":
		p, err = classic.RandomQUBO(run.Seed(seed, "embeddings: qubo", i), 30)
	}
	return p, fmt.Sprint(kind, g), err
}

// near returns a OneMax whose target differs from that of its group in up to four
// bits.
func near(seed uint64, group, i int) (problem.Problem, error) {
	rng := run.Rand(seed, "embeddings: centre", group)
	target := make([]bool, 30)
	for j := range target {
		target[j] = rng.IntN(2) == 1
	}
	rng = run.Rand(seed, "embeddings: target", i)
	for range 4 {
		j := rng.IntN(len(target))
		target[j] = !target[j]
	}
	return onemax.New(fmt.Sprintf("onemax-%d/%d", group, i), target)
}

func measure(ctx context.Context, size, class string, seed uint64, weight float64) (record, error) {
	begun := time.Now()
	r := record{Size: size, Class: class, Seed: seed, Weight: weight, NewInstances: 3}
	s, n, perGroup := nir.Quick(), 12, 4
	if size == "paper" {
		s, n, perGroup = nir.Settings{}, 6, 3
	}
	s.Seed, s.DistanceWeight, s.Workers = seed, weight, 1
	all, groups, err := instances(class, seed, n, perGroup)
	if err != nil {
		return r, err
	}
	m, err := nir.Train(ctx, all, s)
	if err != nil {
		return r, err
	}
	values, err := similarity.Of(ctx, all, similarity.Settings{Samples: 20_000, Seed: seed, Workers: 1})
	if err != nil {
		return r, err
	}
	if r.Spearman, err = similarity.Embeddings(m).Agreement(values); err != nil {
		return r, err
	}
	losses := m.Losses()
	r.Reconstruction, r.Scorer = losses.Reconstruction, stat.Mean(losses.Scorer, nil)
	fits, err := nir.CheckFit(ctx, m, all, 5_000, seed)
	if err != nil {
		return r, err
	}
	for _, f := range fits {
		r.Fit += f.Correlation / float64(len(fits))
	}
	e := m.Embeddings()
	for i := range r.NewInstances {
		p, group, err := instance(class, seed, n+i, n/perGroup)
		if err != nil {
			return r, err
		}
		at, err := m.Embed(ctx, p)
		if err != nil {
			return r, err
		}
		scorer, err := m.Scorer(at)
		if err != nil {
			return r, err
		}
		fit, err := nir.Compare(ctx, p, scorer, 5_000, seed)
		if err != nil {
			return r, err
		}
		r.NewFit += fit.Correlation / float64(r.NewInstances)
		like, err := nir.CompareAll(ctx, p, all, 20_000, seed)
		if err != nil {
			return r, err
		}
		var far, unlike []float64
		for j := range all {
			sum := 0.0
			for k, v := range at {
				sum += (v - e[j][k]) * (v - e[j][k])
			}
			far, unlike = append(far, sum), append(unlike, -like[j].Correlation)
		}
		if groups[slices.Index(far, slices.Min(far))] == group {
			r.NewSameGroup++
		}
		a, err := stats.Ranks(far)
		if err != nil {
			return r, err
		}
		b, err := stats.Ranks(unlike)
		if err != nil {
			return r, err
		}
		r.NewSpearman += stat.Correlation(a, b, nil) / float64(r.NewInstances)
	}
	r.Seconds = math.Round(time.Since(begun).Seconds())
	return r, nil
}

func read(path string) (out []record, err error) {
	f, err := os.Open(path)
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var r record
		if json.Unmarshal(lines.Bytes(), &r) == nil { // the last line may be torn
			out = append(out, r)
		}
	}
	return out, nil
}

func main() {
	log.SetFlags(0)
	path := flag.String("o", "results.jsonl", "file of the results; what it has is not done again")
	show := flag.Bool("print", false, "print the tables, train nothing")
	workers := flag.Int("workers", runtime.GOMAXPROCS(0), "trainings at a time")
	limit := flag.Duration("limit", math.MaxInt64, "begin no training later than this")
	flag.Parse()
	known, err := read(*path)
	if err != nil {
		log.Fatal(err)
	}
	if *show {
		table(known)
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	var todo []record
	for _, size := range []string{"quick", "paper"} {
		for seed := range uint64(5) {
			for _, class := range classes {
				for weight := range 2 {
					r := record{Size: size, Class: class, Seed: seed + 1, Weight: float64(weight)}
					if !slices.ContainsFunc(known, func(k record) bool {
						return k.Size == r.Size && k.Class == r.Class && k.Seed == r.Seed && k.Weight == r.Weight
					}) {
						todo = append(todo, r)
					}
				}
			}
		}
	}
	f, err := os.OpenFile(*path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o666)
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	begun := time.Now()
	var mu sync.Mutex
	err = run.Each(*workers, len(todo), func(i int) error {
		if time.Since(begun) > *limit {
			return nil
		}
		r, err := measure(ctx, todo[i].Size, todo[i].Class, todo[i].Seed, todo[i].Weight)
		if err != nil {
			return err
		}
		line, err := json.Marshal(r)
		if err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		fmt.Printf("%s\n", line)
		_, err = fmt.Fprintf(f, "%s\n", line)
		return err
	})
	if err != nil {
		log.Fatal(err)
	}
}

// table prints means over the seeds.
func table(all []record) {
	for _, size := range []string{"quick", "paper"} {
		fmt.Printf("\n| %s: class | weight | seeds | Spearman, mean (least) | reconstruction | ratio | scorers | fit | new: fit | Spearman | group |\n|---|---|---|---|---|---|---|---|---|---|---|\n", size)
		for _, class := range classes {
			base := 0.0
			for weight := range 2 {
				var m record
				n, least := 0.0, math.Inf(1)
				for _, r := range all {
					if r.Size != size || r.Class != class || r.Weight != float64(weight) {
						continue
					}
					n++
					least = min(least, r.Spearman)
					m.Spearman += r.Spearman
					m.Reconstruction += r.Reconstruction
					m.Scorer += r.Scorer
					m.Fit += r.Fit
					m.NewFit += r.NewFit
					m.NewSpearman += r.NewSpearman
					m.NewSameGroup += r.NewSameGroup
					m.NewInstances += r.NewInstances
				}
				if n == 0 {
					continue
				}
				if weight == 0 {
					base = m.Reconstruction / n
				}
				group := fmt.Sprintf("%d of %d", m.NewSameGroup, m.NewInstances)
				if class == "ccp" || class == "cimp" {
					group = ""
				}
				fmt.Printf("| %s | %d | %.0f | %.3f (%.3f) | %.5f | %.2f | %.5f | %.3f | %.3f | %.2f | %s |\n", class, weight, n,
					m.Spearman/n, least, m.Reconstruction/n, m.Reconstruction/n/base, m.Scorer/n, m.Fit/n, m.NewFit/n, m.NewSpearman/n, group)
			}
		}
	}
}
