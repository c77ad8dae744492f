package smac

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
)

// A Kind is the kind of a parameter.
type Kind int

const (
	// Float is a real number in [Lo, Hi].
	Float Kind = iota
	// Int is a whole number in [Lo, Hi].
	Int
	// Category is one of Choices, without order.
	Category
	// Bool is false or true.
	Bool
)

// A Param is one parameter of a configuration.
type Param struct {
	// Name appears in messages, tables and files.
	Name string
	// Kind determines which of the other fields are used.
	Kind Kind
	// Lo and Hi are the bounds of a Float or an Int, both included.
	Lo, Hi float64
	// Log makes the search of a Float or an Int use a logarithmic scale; Lo
	// must then be positive.
	Log bool
	// Choices holds the names of the values of a Category: 1 to 64, or any number if
	// they are Ordered.
	Choices []string
	// Ordered says that the Choices of a Category stand in an order, as small,
	// medium, large do: the search treats them as the numbers 0, 1, 2.
	Ordered bool `json:",omitempty"`
	// Default is the value in the configuration that is tried first: a number,
	// the index of a choice, or 0 and 1 for false and true. If Default is 0 and
	// 0 lies outside [Lo, Hi], the middle of the range is used, on the
	// parameter's scale.
	Default float64
}

// A Space is the set of configurations: the product of its parameters, less what
// its conditions and forbidden combinations leave out.
//
// A configuration has one raw value per parameter: the number itself for a
// Float, a whole number for an Int, the index of the choice for a Category, and
// 0 or 1 for a Bool.
type Space struct {
	// Params are the parameters, in the order of a configuration's values.
	Params []Param
	// Conditions say which parameters are active only with some values of others.
	// A parameter that is not active has its default in a configuration.
	Conditions []Condition `json:",omitempty"`
	// Forbidden are combinations of values that no configuration has.
	Forbidden []Forbidden `json:",omitempty"`
	// Excluded are expressions that are true of no configuration.
	Excluded []Expr `json:",omitempty"`
}

// choices returns the number of values of a Category or Bool, and 0 for
// numbers and Ordered choices.
func (p *Param) choices() int {
	switch p.Kind {
	case Category:
		if p.Ordered {
			return 0
		}
		return len(p.Choices)
	case Bool:
		return 2
	}
	return 0
}

// ends returns the bounds of a number, and the first and last index of Ordered
// choices.
func (p *Param) ends() (lo, hi float64) {
	if p.Kind == Category {
		return 0, float64(len(p.Choices) - 1)
	}
	return p.Lo, p.Hi
}

// whole reports whether only whole numbers are values.
func (p *Param) whole() bool { return p.Kind == Int || p.Kind == Category }

// Check returns an error if the space is invalid, else nil.
func (s Space) Check() error {
	if len(s.Params) == 0 {
		return errors.New("smac: the space has no parameters; give Settings.Space at least one")
	}
	seen := make(map[string]bool)
	for i := range s.Params {
		p := &s.Params[i]
		if seen[p.Name] {
			return fmt.Errorf("smac: two parameters are called %q", p.Name)
		}
		seen[p.Name] = true
		if err := p.check(); err != nil {
			return fmt.Errorf("smac: parameter %d (%q): %w", i, p.Name, err)
		}
	}
	return s.checkRelations()
}

func (p *Param) check() error {
	switch p.Kind {
	case Float, Int:
		if !(p.Lo <= p.Hi) || math.IsInf(p.Hi-p.Lo, 0) {
			return fmt.Errorf("the range [%v, %v] must be finite with Lo <= Hi", p.Lo, p.Hi)
		}
		if p.Log && p.Lo <= 0 {
			return fmt.Errorf("a logarithmic scale needs Lo > 0, not %v", p.Lo)
		}
		if p.Kind == Int && (p.Lo != math.Trunc(p.Lo) || p.Hi != math.Trunc(p.Hi) || max(-p.Lo, p.Hi) > 1<<52) {
			return fmt.Errorf("the range [%v, %v] of an Int must be of whole numbers of at most 52 bits", p.Lo, p.Hi)
		}
	case Category:
		if n := len(p.Choices); n < 1 || n > 64 && !p.Ordered {
			return fmt.Errorf("%d choices; 1 to 64 are possible", n)
		}
	case Bool:
	default:
		return fmt.Errorf("unknown kind %d", p.Kind)
	}
	if !p.contains(p.first()) {
		return fmt.Errorf("the default %v is not one of its values", p.Default)
	}
	return nil
}

// first returns the value that is tried first; see Default.
func (p *Param) first() float64 {
	if lo, hi := p.ends(); p.choices() == 0 && p.Default == 0 && (lo > 0 || hi < 0) {
		return p.raw(0.5)
	}
	return p.Default
}

// contains reports whether v is a value of p.
func (p *Param) contains(v float64) bool {
	if k := p.choices(); k > 0 {
		return v >= 0 && v < float64(k) && v == math.Trunc(v)
	}
	lo, hi := p.ends()
	return v >= lo && v <= hi && (p.Kind == Float || v == math.Trunc(v))
}

// size returns the number of values of p, +Inf for a Float with Lo < Hi.
func (p *Param) size() float64 {
	switch {
	case p.choices() > 0:
		return float64(p.choices())
	case p.whole():
		lo, hi := p.ends()
		return hi - lo + 1
	case p.Lo == p.Hi:
		return 1
	}
	return math.Inf(1)
}

// bounds returns the values on the searched scale that correspond to 0 and 1.
// Each whole number of an Int is in the middle of a cell from -1/2 to +1/2.
func (p *Param) bounds() (lo, hi float64) {
	lo, hi = p.ends()
	if p.whole() {
		lo, hi = lo-0.5, hi+0.5
	}
	if p.Log && p.Kind != Category {
		lo, hi = math.Log(lo), math.Log(hi)
	}
	return lo, hi
}

// raw returns the value at u in [0,1]; for a category, u is the index.
func (p *Param) raw(u float64) float64 {
	if p.choices() > 0 {
		return u
	}
	lo, hi := p.bounds()
	v := lo + u*(hi-lo)
	if p.Log && p.Kind != Category {
		v = math.Exp(v)
	}
	if p.whole() {
		v = math.Round(v)
	}
	lo, hi = p.ends()
	return min(max(v, lo), hi)
}

// unit returns the place in [0,1] of value v; for a category, its index.
func (p *Param) unit(v float64) float64 {
	if p.choices() > 0 {
		return v
	}
	lo, hi := p.bounds()
	if lo == hi {
		return 0.5
	}
	if p.Log && p.Kind != Category {
		v = math.Log(v)
	}
	return (v - lo) / (hi - lo)
}

// draw returns the place of a value that is uniform on the searched scale.
func (p *Param) draw(rng *rand.Rand) float64 {
	if k := p.choices(); k > 0 {
		return float64(rng.IntN(k))
	}
	if p.Kind == Int && !p.Log { // the same result as snap's, in less time
		n := p.Hi - p.Lo + 1
		return (math.Floor(rng.Float64()*n) + 0.5) / n
	}
	return p.snap(rng.Float64())
}

// snap moves u to the place of the nearest value of p.
func (p *Param) snap(u float64) float64 {
	switch {
	case p.whole():
		return p.unit(p.raw(u))
	case p.Lo == p.Hi:
		return 0.5
	}
	return u
}

// Default returns the configuration of the parameters' defaults.
func (s Space) Default() []float64 {
	c := make([]float64, len(s.Params))
	for i := range c {
		c[i] = s.Params[i].first()
	}
	return c
}

// Random returns a uniformly drawn configuration; parameters with Log are
// uniform on the logarithmic scale.
func (s Space) Random(rng *rand.Rand) []float64 {
	if s.plain() {
		return s.draw(rng)
	}
	return s.allowed(func() []float64 { return s.draw(rng) })
}

// draw draws the value of each parameter.
func (s Space) draw(rng *rand.Rand) []float64 {
	c := make([]float64, len(s.Params))
	for i := range c {
		p := &s.Params[i]
		c[i] = p.raw(p.draw(rng))
	}
	return c
}

// CheckConfig returns an error if the configuration is invalid, else nil.
func (s Space) CheckConfig(config []float64) error {
	if len(config) != len(s.Params) {
		return fmt.Errorf("smac: a configuration of %d values for %d parameters", len(config), len(s.Params))
	}
	for i, v := range config {
		p := &s.Params[i]
		switch {
		case p.contains(v):
		case p.choices() > 0 || p.Kind == Category:
			return fmt.Errorf("smac: %s = %v; it must be the index of one of %d choices", p.Name, v, max(p.choices(), len(p.Choices)))
		case p.Kind == Int:
			return fmt.Errorf("smac: %s = %v; it must be a whole number in [%v, %v]", p.Name, v, p.Lo, p.Hi)
		default:
			return fmt.Errorf("smac: %s = %v; it must lie in [%v, %v]", p.Name, v, p.Lo, p.Hi)
		}
	}
	if s.plain() {
		return nil
	}
	if !slices.Equal(config, s.Canonical(config)) {
		return fmt.Errorf("smac: %s: a parameter that is not active must have its default: see Space.Canonical", s.Format(config))
	}
	if s.forbids(config) {
		return fmt.Errorf("smac: %s is a forbidden combination", s.Format(config))
	}
	return nil
}

// Format returns a configuration as text for people: "elites=200 bias=0.7".
// Parameters that are not active are left out.
func (s Space) Format(config []float64) string {
	var b strings.Builder
	var active []bool
	if len(s.Conditions) > 0 && len(config) == len(s.Params) {
		active = s.Active(config)
	}
	for i, v := range config {
		if active != nil && !active[i] {
			continue
		}
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		if i >= len(s.Params) {
			fmt.Fprintf(&b, "?=%v", v)
			continue
		}
		p := &s.Params[i]
		b.WriteString(p.Name)
		b.WriteByte('=')
		switch {
		case p.Kind == Category && p.contains(v):
			b.WriteString(p.Choices[int(v)])
		case p.Kind == Bool && p.contains(v):
			b.WriteString(strconv.FormatBool(v == 1))
		default:
			b.WriteString(strconv.FormatFloat(v, 'g', 6, 64))
		}
	}
	return b.String()
}

// size returns the number of configurations, or +Inf if the space has a
// parameter with infinitely many values.
func (s Space) size() float64 {
	n := 1.0
	for i := range s.Params {
		n *= s.Params[i].size()
	}
	return n
}

// at returns configuration number k of a finite space.
func (s Space) at(k int) []float64 {
	c := make([]float64, len(s.Params))
	for i := range c {
		p := &s.Params[i]
		n := int(p.size())
		c[i] = float64(k % n)
		if p.choices() == 0 {
			lo, _ := p.ends()
			c[i] += lo
		}
		k /= n
	}
	return c
}
