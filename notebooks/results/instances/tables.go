package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"dace.local/dacelib/experiment"
	"dace.local/dacelib/landscape"
	"dace.local/dacelib/stats"
)

const intro = `# Figure 6 at the paper's size: the distances

Printed by ` + "`go run ./notebooks/results/instances -print`" + ` from the files beside this one;
[PLAN.md](PLAN.md) says what is measured, [paper-instances](../../paper-instances.ipynb)
shows it in the plane. A distance is that from an instance to the nearest test instance of
its dimension, in the 32 features of 1,000,000 solutions and 10,000,000 pairs; a test
instance's is to the nearest other one. p is that of a two-sided rank-sum test against
the test instances, and in the last row of a class of NoReg's against DACE's, with Holm's
correction over the class; it is bold below 0.05. Instances of one construction descend
from one another: the medians of the constructions say more of others than p does.
`

// A group is the distances of a method's instances, or of the test instances.
type group struct {
	distances []float64
	medians   []float64 // of each construction
}

func median(v []float64) float64 {
	v = slices.Sorted(slices.Values(v))
	return (v[(len(v)-1)/2] + v[len(v)/2]) / 2
}

// groups returns the distances of a class's instances, by where they are from.
func groups(rows []row, dim int) map[string]*group {
	of := func(r row) (features [][]float64) {
		for _, i := range r.Instances {
			if i.Dim == dim {
				features = append(features, i.Features)
			}
		}
		return features
	}
	var authentic [][]float64
	for _, r := range rows {
		if r.From == "test" {
			authentic = of(r)
		}
	}
	all := map[string]*group{}
	for _, r := range rows {
		d := landscape.Nearest(of(r), authentic)
		if r.From == "test" {
			for i := range d {
				others := slices.Delete(slices.Clone(authentic), i, i+1)
				d[i] = landscape.Nearest(authentic[i:i+1], others)[0]
			}
		}
		g := all[r.From]
		if g == nil {
			g = new(group)
			all[r.From] = g
		}
		g.distances, g.medians = append(g.distances, d...), append(g.medians, median(d))
	}
	return all
}

// tables prints the distances of the outcomes, class by class.
func tables(out io.Writer, rows []row) error {
	fmt.Fprint(out, intro, "\n| class | instances | number | median distance | of each construction | p | which is |\n|---|---|---|---|---|---|---|\n")
	classes := map[string][]row{}
	for _, r := range rows {
		classes[r.Class] = append(classes[r.Class], r)
	}
	for _, name := range slices.Sorted(maps.Keys(classes)) {
		class, err := experiment.Class(name, 0)
		if err != nil {
			return err
		}
		if err := table(out, strings.ToUpper(name), groups(classes[name], class.TrainDim)); err != nil {
			return err
		}
	}
	return nil
}

// A test compares the distances of two groups.
type test struct {
	name string
	a, b *group
	p    float64
}

func table(out io.Writer, class string, all map[string]*group) error {
	authentic := all["test"]
	if authentic == nil {
		return fmt.Errorf("%s has no test instances", class)
	}
	var tests []test
	for _, m := range methods {
		if all[m] != nil {
			tests = append(tests, test{name: m, a: all[m], b: authentic})
		}
	}
	if all["NoReg"] != nil && all["DACE"] != nil {
		tests = append(tests, test{name: "NoReg against DACE", a: all["NoReg"], b: all["DACE"]})
	}
	p := make([]float64, len(tests))
	for i, t := range tests {
		r, err := stats.RankSum(t.a.distances, t.b.distances, stats.TwoSided)
		if err != nil {
			return err
		}
		p[i] = r.PValue
	}
	for i, v := range stats.Holm(p) {
		tests[i].p = v
	}
	line := func(name string, g *group, p, verdict string) {
		each := make([]string, len(g.medians))
		for i, m := range g.medians {
			each[i] = fmt.Sprintf("%.3f", m)
		}
		fmt.Fprintf(out, "| %s | %s | %d | %.3f | %s | %s | %s |\n", class, name, len(g.distances), median(g.distances), strings.Join(each, ", "), p, verdict)
		class = ""
	}
	line("test", authentic, "", "")
	if g := all["training"]; g != nil {
		line("training", g, "", "")
	}
	for _, t := range tests {
		p, verdict := fmt.Sprintf("%.3f", t.p), "not told apart"
		if t.p < 0.001 {
			p = "< 0.001"
		}
		if t.p < 0.05 {
			p = "**" + p + "**"
			verdict = map[bool]string{true: "further", false: "nearer"}[median(t.a.distances) > median(t.b.distances)]
		}
		line(t.name, t.a, p, verdict)
	}
	return nil
}
