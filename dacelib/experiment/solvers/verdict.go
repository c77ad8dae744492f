package main

import (
	"context"
	"encoding/csv"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"

	"dace.local/dacelib/construct"
	"dace.local/dacelib/portfolio"
	"dace.local/dacelib/problem"
	"dace.local/dacelib/problem/classic"
	"dace.local/dacelib/run"
	"dace.local/dacelib/solver"
	"dace.local/dacelib/stats"
)

// A verdict is what BEST says about its portfolio, and what unseen instances say.
type verdict struct {
	Class       string            `json:"class"`
	D           int               `json:"d"`
	Evaluations int               `json:"evaluations"` // of a member
	Runs        int               `json:"runs"`        // of the construction
	Draw        int               `json:"draw"`
	Members     portfolio.Members `json:"members"`
	Single      solver.Config     `json:"single"`
	// Gain is the portfolio's mean gain over the single configuration under as many
	// seeds on the training instances, Error its standard error.
	Gain  float64 `json:"gain"`
	Error float64 `json:"error"`
	// Portfolio and Alone are the normalised means on the unseen instances.
	Portfolio []float64 `json:"portfolio"`
	Alone     []float64 `json:"alone"`
}

// different reports whether the portfolio has members of more than one configuration.
func (v verdict) different() bool {
	return slices.ContainsFunc(v.Members, func(c solver.Config) bool { return c != v.Members[0] })
}

// ahead returns the mean difference on the unseen instances, and the two-sided
// signed-rank test's p, 1 without a difference.
func (v verdict) ahead() (difference, p float64) {
	for i := range v.Portfolio {
		difference += (v.Portfolio[i] - v.Alone[i]) / float64(len(v.Portfolio))
	}
	t, err := stats.SignedRank(v.Portfolio, v.Alone, stats.SignedRankSettings{})
	if err != nil {
		return difference, 1
	}
	return difference, t.PValue
}

// judge prints the verdicts of classes with numbers of runs.
func judge(ctx context.Context, s settings, classes, runs string) error {
	var all []verdict
	for _, s.class = range strings.Split(classes, ",") {
		for text := range strings.SplitSeq(runs, ",") {
			n, err := strconv.Atoi(text)
			if err != nil {
				return fmt.Errorf("-verdicts: %w", err)
			}
			some, err := s.verdicts(ctx, n)
			if err != nil {
				return err
			}
			all = append(all, some...)
		}
	}
	printVerdicts(all)
	return nil
}

// verdicts makes the constructions of a class with a number of runs that the file does
// not hold, and returns all.
func (s settings) verdicts(ctx context.Context, runs int) ([]verdict, error) {
	old, err := readLines[verdict](s.file)
	if err != nil {
		return nil, err
	}
	var all []verdict
	for draw := 1; draw <= s.constructions; draw++ {
		at := slices.IndexFunc(old, func(v verdict) bool {
			return v.Class == s.class && v.D == s.dim() && v.Evaluations == s.evaluations && v.Runs == runs && v.Draw == draw
		})
		if at >= 0 {
			all = append(all, old[at])
			continue
		}
		v, err := s.verdict(ctx, runs, draw)
		if err != nil {
			return nil, err
		}
		all = append(all, v)
		if err := appendLine(s.file, v); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// verdict constructs a portfolio and tests it beside its best single configuration.
func (s settings) verdict(ctx context.Context, runs, draw int) (v verdict, err error) {
	training, err := s.set(ctx, uint64(2000+draw), s.training)
	if err != nil {
		return v, err
	}
	unseen, err := s.set(ctx, uint64(6000+draw), s.instances)
	if err != nil {
		return v, err
	}
	if unseen, err = portfolio.Normalise(ctx, unseen, 10_000, 1); err != nil {
		return v, err
	}
	r, err := construct.Best(ctx, training, construct.Settings{
		Evaluations: s.evaluations, Members: members, Seed: uint64(draw), Budget: construct.Budget{Runs: runs}, Solvers: library(),
	})
	if err != nil {
		return v, err
	}
	v = verdict{Class: s.class, D: s.dim(), Evaluations: s.evaluations, Runs: runs, Draw: draw, Members: r.Portfolio.Members, Single: *r.Portfolio.Single}
	var squares float64
	n := float64(len(r.Rounds[0].After))
	for i, after := range r.Rounds[0].After {
		g := after - r.Rounds[0].Before[i]
		v.Gain += g / n
		squares += g * g / n
	}
	v.Error = math.Sqrt(max(0, squares-v.Gain*v.Gain) / max(1, n-1))
	for _, part := range []struct {
		members []solver.Config
		to      *[]float64
	}{{v.Members, &v.Portfolio}, {slices.Repeat([]solver.Config{v.Single}, members), &v.Alone}} {
		means, err := s.means(ctx, "p", part.members, unseen)
		if err != nil {
			return v, err
		}
		for _, m := range means {
			*part.to = append(*part.to, math.Round(m*1e6)/1e6)
		}
	}
	return v, nil
}

// printVerdicts prints each construction whose members differ, and how often rules of
// one and of two standard errors say the same as the unseen instances.
func printVerdicts(all []verdict) {
	fmt.Printf("| class | d | evaluations | runs | draw | gain in training | standard errors | unseen: difference | ahead on | p |\n|---|---|---|---|---|---|---|---|---|---|\n")
	right, between, paid := map[int]int{}, 0, 0
	for _, v := range all {
		difference, p := v.ahead()
		pays := p < 0.05 && difference > 0
		for _, errors := range []int{1, 2} {
			if says := v.different() && v.Gain > float64(errors)*v.Error; says == pays {
				right[errors]++
			}
		}
		if !v.different() {
			continue
		}
		if v.Gain > v.Error && v.Gain <= 2*v.Error {
			between++
			if pays {
				paid++
			}
		}
		ahead := 0
		for i := range v.Portfolio {
			if v.Portfolio[i] > v.Alone[i] {
				ahead++
			}
		}
		fmt.Printf("| %s | %d | %d | %d | %d | %.3f | %.1f | %+.4f | %d of %d | %.2g |\n", v.Class, v.D, v.Evaluations, v.Runs, v.Draw, v.Gain, v.Gain/v.Error, difference, ahead, len(v.Portfolio), p)
	}
	fmt.Printf("\n%d constructions; right: one standard error %d, two %d. Between one and two: %d, of which %d pay.\n", len(all), right[1], right[2], between, paid)
}

// job draws one of two tasks about functions of Go's standard library, which are in the
// file: with an even i, which of d functions to take along in half of their bytes, so
// that they have the most lines; with an odd i, how to part d functions into two groups
// that are alike in all counts.
func job(file string, seed uint64, d, i int) (problem.Problem, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		return nil, err
	}
	head, rows := rows[0], rows[1:]
	lines, size := slices.Index(head, "lines"), slices.Index(head, "bytes")
	rng := run.Rand(seed, "solvers: job", d, i)
	counts := make([][]float64, d) // of the functions drawn
	for k, at := range rng.Perm(len(rows))[:d] {
		for _, text := range rows[at][1:] {
			v, err := strconv.ParseFloat(text, 64)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", file, err)
			}
			counts[k] = append(counts[k], v)
		}
	}
	name := fmt.Sprintf("job-%d/%d/%d", d, seed, i)
	if i%2 == 0 {
		var values, weights []int
		room := 0
		for _, c := range counts {
			values, weights = append(values, int(c[lines-1])), append(weights, int(c[size-1]))
			room += int(c[size-1])
		}
		return classic.Knapsack(name, values, weights, room/2)
	}
	for k := range counts[0] { // standardised
		m, square := 0.0, 0.0
		for _, c := range counts {
			m += c[k] / float64(d)
		}
		for _, c := range counts {
			square += (c[k] - m) * (c[k] - m) / float64(d)
		}
		for _, c := range counts {
			if c[k] -= m; square > 0 {
				c[k] /= math.Sqrt(square)
			}
		}
	}
	return problem.FromFunc(name, d, func(x []bool) float64 {
		apart := 0.0
		for k := range counts[0] {
			sum := 0.0
			for j, c := range counts {
				if x[j] {
					sum += c[k]
				} else {
					sum -= c[k]
				}
			}
			apart += sum * sum
		}
		return -apart
	}), nil
}
