package smac

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
)

// A Condition makes a parameter active only when another one, its parent, has
// some values, as in ConfigSpace. A parameter with several conditions is active if
// all hold; a condition holds only if its parent is active itself.
type Condition struct {
	// Param is the name of the parameter that is not always active.
	Param string
	// Parent is the name of the parameter that it depends on; it must come before
	// Param in the space.
	Parent string
	// Values are the parent's values with which Param is active: numbers, indices
	// of choices, or 0 and 1.
	Values []float64
	// When, unless it is nil, is the condition in place of Parent and Values: Param
	// is active if it is true. Its parameters must come before Param.
	When *Expr `json:",omitempty"`
}

// A Forbidden is a combination of values that no configuration has: each of the
// parameters is active and has one of the given values.
type Forbidden []Clause

// A Clause is a parameter, by its name, with some of its values.
type Clause struct {
	// Param is the name of the parameter.
	Param string
	// Values are some of its values: numbers, indices of choices, or 0 and 1.
	Values []float64
}

// plain reports whether every parameter is always active and every combination
// allowed.
func (s Space) plain() bool { return len(s.Conditions)+len(s.Forbidden)+len(s.Excluded) == 0 }

// index returns the index of a parameter, or -1.
func (s Space) index(name string) int {
	return slices.IndexFunc(s.Params, func(p Param) bool { return p.Name == name })
}

// checkRelations returns an error if a condition or a forbidden combination is
// invalid, or the default configuration is forbidden.
func (s Space) checkRelations() error {
	for _, c := range s.Conditions {
		i, k := s.index(c.Param), s.index(c.Parent)
		if c.When != nil {
			if err := s.checkWhen(i, c); err != nil {
				return err
			}
			continue
		}
		switch {
		case i < 0 || k < 0:
			return fmt.Errorf("smac: a condition of %q on %q; both must be parameters", c.Param, c.Parent)
		case k >= i:
			return fmt.Errorf("smac: %q depends on %q, which must come before it in the space", c.Param, c.Parent)
		case len(c.Values) == 0:
			return fmt.Errorf("smac: the condition of %q on %q has no values: it would never be active", c.Param, c.Parent)
		}
		if err := s.Params[k].checkValues(c.Values); err != nil {
			return fmt.Errorf("smac: the condition of %q: %w", c.Param, err)
		}
	}
	for _, f := range s.Forbidden {
		if len(f) == 0 {
			return errors.New("smac: a forbidden combination without parameters forbids everything")
		}
		for _, c := range f {
			k := s.index(c.Param)
			if k < 0 {
				return fmt.Errorf("smac: a forbidden combination has %q, which is no parameter", c.Param)
			}
			if err := s.Params[k].checkValues(c.Values); err != nil {
				return fmt.Errorf("smac: a forbidden combination: %w", err)
			}
		}
	}
	for _, e := range s.Excluded {
		if err := e.check(s, 0); err != nil {
			return fmt.Errorf("smac: a forbidden combination: %w", err)
		}
	}
	if d := s.Default(); s.forbids(d) {
		return fmt.Errorf("smac: the default configuration, %s, is forbidden", s.Format(d))
	}
	return nil
}

// checkWhen returns an error if the condition of parameter i by an expression is
// invalid.
func (s Space) checkWhen(i int, c Condition) error {
	switch {
	case i < 0:
		return fmt.Errorf("smac: a condition of %q, which is no parameter", c.Param)
	case c.Parent != "" || len(c.Values) > 0:
		return fmt.Errorf("smac: the condition of %q has When and a Parent or Values; it must have one or the other", c.Param)
	}
	if err := c.When.check(s, 0); err != nil {
		return fmt.Errorf("smac: the condition of %q: %w", c.Param, err)
	}
	for _, name := range c.When.Names() {
		if s.index(name) >= i {
			return fmt.Errorf("smac: %q depends on %q, which must come before it in the space", c.Param, name)
		}
	}
	return nil
}

func (p *Param) checkValues(values []float64) error {
	for _, v := range values {
		if !p.contains(v) {
			return fmt.Errorf("%s has no value %v; it must be %s", p.Name, v, p.Domain())
		}
	}
	return nil
}

// Domain says in words which values the parameter has: "a whole number in [1, 5]".
func (p Param) Domain() string {
	switch p.Kind {
	case Category:
		return "one of " + strings.Join(p.Choices, ", ")
	case Bool:
		return "true or false"
	case Int:
		return fmt.Sprintf("a whole number in [%s, %s]", strconv.FormatFloat(p.Lo, 'f', -1, 64), strconv.FormatFloat(p.Hi, 'f', -1, 64))
	}
	return fmt.Sprintf("a number in [%v, %v]", p.Lo, p.Hi)
}

// Active reports which parameters are active in a configuration.
func (s Space) Active(config []float64) []bool {
	active := make([]bool, len(s.Params))
	for i := range active {
		active[i] = true
	}
	if len(s.Conditions) == 0 {
		return active
	}
	for i := range s.Params { // parents come first
		for _, c := range s.Conditions {
			switch {
			case c.Param != s.Params[i].Name || !active[i]:
			case c.When != nil:
				active[i] = c.When.eval(&s, config, active) == 1
			default:
				k := s.index(c.Parent)
				active[i] = active[k] && slices.Contains(c.Values, config[k])
			}
		}
	}
	return active
}

// Canonical returns the configuration with the defaults for the values of
// parameters that are not active: two configurations that mean the same have then
// the same values.
func (s Space) Canonical(config []float64) []float64 {
	out := slices.Clone(config)
	if len(s.Conditions) == 0 || len(config) != len(s.Params) {
		return out
	}
	for i, on := range s.Active(config) {
		if !on {
			out[i] = s.Params[i].first()
		}
	}
	return out
}

// forbids reports whether a configuration is a forbidden combination.
func (s Space) forbids(config []float64) bool {
	if len(s.Forbidden)+len(s.Excluded) == 0 {
		return false
	}
	active := s.Active(config)
	for i := range s.Excluded {
		if s.Excluded[i].eval(&s, config, active) == 1 {
			return true
		}
	}
	return slices.ContainsFunc(s.Forbidden, func(f Forbidden) bool {
		return !slices.ContainsFunc(f, func(c Clause) bool {
			k := s.index(c.Param)
			return !active[k] || !slices.Contains(c.Values, config[k])
		})
	})
}

// mostDraws is the number of draws after which a space counts as forbidden
// altogether.
const mostDraws = 10_000

// allowed returns a configuration that draw has made, in its canonical form,
// drawing again where one is forbidden. After many draws it returns the default,
// which is allowed.
func (s Space) allowed(draw func() []float64) []float64 {
	for range mostDraws {
		if c := s.Canonical(draw()); !s.forbids(c) {
			return c
		}
	}
	return s.Default()
}

// conditional reports for each parameter whether it has a condition.
func (s Space) conditional() []bool {
	out := make([]bool, len(s.Params))
	for _, c := range s.Conditions {
		out[s.index(c.Param)] = true
	}
	return out
}

// imputed is what the model sees in place of the value of a parameter that is not
// active, outside its range [SMAC3]: -1 for a number, and a category of its own.
func (p *Param) imputed() float64 {
	if k := p.choices(); k > 0 {
		return float64(k)
	}
	return -1
}

// impute sets the coordinates of parameters that are not active in a
// configuration.
func (s Space) impute(place []float64, config []float64) {
	for i, on := range s.Active(config) {
		if !on {
			place[i] = s.Params[i].imputed()
		}
	}
}

// Place returns the place of a configuration in the model's cube: for a number its
// share of the range, on the parameter's scale; for a category its index; for a
// parameter that is not active a value that no active one has.
func (s Space) Place(config []float64) []float64 {
	place := make([]float64, len(config))
	for j, v := range config {
		place[j] = s.Params[j].unit(v)
	}
	s.impute(place, config)
	return place
}

// at returns the place of a configuration for the model.
func (o *Optimizer) at(config []float64) []float64 { return o.s.Space.Place(config) }

// randomPlaces sets x to the places of random allowed configurations.
func (o *Optimizer) randomPlaces(x []float64, rng *rand.Rand) {
	d := len(o.s.Space.Params)
	for ; len(x) > 0; x = x[d:] {
		copy(x, o.at(o.s.Space.Random(rng)))
	}
}

// searchRelated is [Optimizer.search] in a space with conditions or forbidden
// combinations. A neighbour differs in one active parameter; parameters that
// become active by it have their defaults, as in ConfigSpace.
func (o *Optimizer) searchRelated(eta float64, starts []scored, rng *rand.Rand) (ends []scored) {
	space := o.s.Space
	d := len(space.Params)
	active := slices.Clone(starts)
	var rows []float64
	for len(active) > 0 {
		moved := active[:0]
		for _, a := range active {
			rows = rows[:0]
			config := o.config(a.unit)
			o.scratch.near = o.neighbours(o.scratch.near[:0], a.unit, rng)
			for _, e := range o.scratch.near {
				c := slices.Clone(config)
				c[e.Feature] = space.Params[e.Feature].raw(e.Value)
				if c = space.Canonical(c); !space.forbids(c) {
					rows = append(rows, o.at(c)...)
				}
			}
			best := -1
			if len(rows) > 0 {
				mean, variance := o.predict(rows)
				for i, m := range mean {
					if mayExceed(eta, m, variance[i], a.ei) {
						if ei := improvement(eta, m, variance[i]); ei > a.ei {
							a.mean, a.variance, a.ei, best = m, variance[i], ei, i
						}
					}
				}
			}
			if best < 0 {
				ends = append(ends, a)
				continue
			}
			a.unit = slices.Clone(rows[best*d:][:d])
			moved = append(moved, a)
		}
		active = moved
	}
	return ends
}

// Neighbour returns a random configuration near another: one active parameter
// differs, a number by a normal variable with a standard deviation of 0.2 of its
// range, on its scale. It returns the configuration itself, if it finds no other.
func (s Space) Neighbour(config []float64, rng *rand.Rand) []float64 {
	for range 100 {
		active := s.Active(config)
		j := rng.IntN(len(config))
		p := &s.Params[j]
		if !active[j] {
			continue
		}
		out := slices.Clone(config)
		if k := p.choices(); k > 0 {
			out[j] = float64(rng.IntN(k))
		} else {
			out[j] = p.raw(min(1, max(0, p.unit(config[j])+0.2*rng.NormFloat64())))
		}
		if out = s.Canonical(out); !slices.Equal(out, config) && !s.forbids(out) {
			return out
		}
	}
	return config
}

// Allowed returns a random configuration that is not forbidden, with the default
// or not; ok is false if it finds none.
func (s Space) Allowed(seed uint64) (config []float64, ok bool) {
	rng := rand.New(rand.NewPCG(seed, 0))
	for range mostDraws {
		if c := s.Canonical(s.draw(rng)); !s.forbids(c) {
			return c, true
		}
	}
	return nil, false
}
