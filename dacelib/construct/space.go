package construct

import (
	"context"
	"fmt"
	"math"
	"strings"

	"dace.local/dacelib/brkga"
	"dace.local/dacelib/run"
	"dace.local/dacelib/smac"
	"dace.local/dacelib/solver"
)

// Space returns the configuration space of BRKGA (Appendix B) repeated k times:
// Theta^k, with 5k parameters. The default of each is [200, 700, 100, 0.7,
// False].
func Space(k int) smac.Space {
	d := brkga.Default()
	var s smac.Space
	for i := range k {
		name := func(n string) string {
			if k == 1 {
				return n
			}
			return fmt.Sprintf("%s %d", n, i+1)
		}
		s.Params = append(s.Params,
			smac.Param{Name: name("elites"), Kind: smac.Int, Lo: brkga.MinElites, Hi: brkga.MaxElites, Default: float64(d.Elites)},
			smac.Param{Name: name("offspring"), Kind: smac.Int, Lo: brkga.MinOffspring, Hi: brkga.MaxOffspring, Default: float64(d.Offspring)},
			smac.Param{Name: name("mutants"), Kind: smac.Int, Lo: brkga.MinMutants, Hi: brkga.MaxMutants, Default: float64(d.Mutants)},
			smac.Param{Name: name("bias"), Kind: smac.Float, Lo: 0, Hi: 1, Default: d.Bias},
			smac.Param{Name: name("duplicates"), Kind: smac.Bool},
		)
	}
	return s
}

// Configs returns the configurations of a point of [Space]: one for every five
// numbers.
func Configs(point []float64) []solver.Config {
	var out []solver.Config
	for ; len(point) >= 5; point = point[5:] {
		out = append(out, brkga.Config{
			Elites: int(math.Round(point[0])), Offspring: int(math.Round(point[1])), Mutants: int(math.Round(point[2])),
			Bias: point[3], Duplicates: point[4] == 1,
		}.Named())
	}
	return out
}

// A theta is the space in which configurations are searched for: that of the
// paper or, if there are names, of all these solvers together.
type theta struct {
	// Solvers are names of registered solvers; D and Evaluations are the dimension
	// and the budget of which they have the defaults.
	Solvers     []string `json:"solvers,omitempty"`
	D           int      `json:"d,omitempty"`
	Evaluations int      `json:"evaluations,omitempty"`
}

// paper reports whether the solver is BRKGA with the paper's space.
func (s Settings) paper() bool {
	return len(s.Solvers) == 0 || len(s.Solvers) == 1 && s.Solvers[0].Name() == "brkga"
}

// theta returns the settings' space for problems of dimension d.
func (s Settings) theta(d int) theta {
	if s.paper() {
		return theta{}
	}
	t := theta{D: d, Evaluations: s.Evaluations}
	for _, one := range s.Solvers {
		t.Solvers = append(t.Solvers, one.Name())
	}
	return t
}

// space returns the space of k configurations. That of several solvers has the
// category "solver" and, active under each of its values, that solver's
// parameters, as in Auto-WEKA and SMAC3.
func (t theta) space(ctx context.Context, k int) (smac.Space, error) {
	if len(t.Solvers) == 0 {
		return Space(k), nil
	}
	var s smac.Space
	for i := range k {
		end := ""
		if k > 1 {
			end = fmt.Sprintf(" %d", i+1)
		}
		s.Params = append(s.Params, smac.Param{Name: "solver" + end, Kind: smac.Category, Choices: t.Solvers})
		for at, name := range t.Solvers {
			one, err := solver.Find(ctx, name)
			if err != nil {
				return s, err
			}
			its := one.Space(t.D, t.Evaluations)
			rename := func(p string) string { return name + "." + p + end }
			for _, p := range its.Params {
				p.Name = rename(p.Name)
				s.Params = append(s.Params, p)
				s.Conditions = append(s.Conditions, smac.Condition{Param: p.Name, Parent: "solver" + end, Values: []float64{float64(at)}})
			}
			for _, c := range its.Conditions {
				if c.When != nil {
					when := c.When.Renamed(rename)
					s.Conditions = append(s.Conditions, smac.Condition{Param: rename(c.Param), When: &when})
					continue
				}
				s.Conditions = append(s.Conditions, smac.Condition{Param: rename(c.Param), Parent: rename(c.Parent), Values: c.Values})
			}
			for _, f := range its.Forbidden {
				var renamed smac.Forbidden
				for _, c := range f {
					renamed = append(renamed, smac.Clause{Param: rename(c.Param), Values: c.Values})
				}
				s.Forbidden = append(s.Forbidden, renamed)
			}
			for _, e := range its.Excluded {
				s.Excluded = append(s.Excluded, e.Renamed(rename))
			}
		}
	}
	return s, s.Check()
}

// configs returns the configurations of a point of the space of k of them.
func (t theta) configs(ctx context.Context, point []float64) ([]solver.Config, error) {
	if len(t.Solvers) == 0 {
		return Configs(point), nil
	}
	spaces := make([]smac.Space, len(t.Solvers))
	size := 1
	for i, name := range t.Solvers {
		one, err := solver.Find(ctx, name)
		if err != nil {
			return nil, err
		}
		spaces[i] = one.Space(t.D, t.Evaluations)
		size += len(spaces[i].Params)
	}
	var out []solver.Config
	for ; len(point) >= size; point = point[size:] {
		at := int(point[0])
		if at < 0 || at >= len(spaces) {
			return nil, fmt.Errorf("construct: solver %d of %s", at, strings.Join(t.Solvers, ", "))
		}
		from := 1
		for _, s := range spaces[:at] {
			from += len(s.Params)
		}
		c, err := solver.At(t.Solvers[at], spaces[at], spaces[at].Canonical(point[from:from+len(spaces[at].Params)]))
		if err != nil {
			return nil, err
		}
		out = append(out, c)
	}
	return out, nil
}

// random returns n random configurations, the paper's set C where the space is
// the paper's: see portfolio.Random.
func (t theta) random(ctx context.Context, seed uint64, n int) ([]solver.Config, error) {
	s, err := t.space(ctx, 1)
	if err != nil {
		return nil, err
	}
	rng := run.Rand(seed, "construct: random configurations")
	var out []solver.Config
	for range n {
		c, err := t.configs(ctx, s.Random(rng))
		if err != nil {
			return nil, err
		}
		out = append(out, c...)
	}
	return out, nil
}
