package solver

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"dace.local/dacelib/run"
	"dace.local/dacelib/smac"
)

// A Config is a configuration: a solver, by its name, and values of its
// parameters, by theirs. Parameters without a value have the solver's default for
// the dimension and the budget of each run, so that the name alone is a
// configuration.
//
// Two are equal (==) if solver and values are. Its text is "anneal{start: 0.8,
// end: 0.02}", which [Parse] reads, unless the solver has a form of its own; its
// JSON is {"solver": "anneal", "start": 0.8, "end": 0.02}. The JSON forms of
// BRKGA's configurations in older files are read, too: [20, 70, 10, 0.7, false]
// and {"elites": 20, ...}.
type Config struct {
	solver string
	values string // JSON of an object with sorted keys; empty for none
}

// New returns a configuration. A value is a number of any kind, a bool, or a
// string, the name of a choice. It does not ask whether the solver has such
// parameters: see [Config.Check].
func New(solver string, values map[string]any) (Config, error) {
	if !isName(solver) {
		return Config{}, fmt.Errorf("solver: %q cannot be the name of a solver: it must have letters, digits and dashes only", solver)
	}
	c := Config{solver: solver}
	if len(values) == 0 {
		return c, nil
	}
	b := []byte{'{'}
	for i, k := range slices.Sorted(maps.Keys(values)) {
		if i > 0 {
			b = append(b, ',')
		}
		name, err := json.Marshal(k)
		if err != nil {
			return c, err
		}
		b = append(append(b, name...), ':')
		if b, err = appendValue(b, values[k]); err != nil {
			return c, fmt.Errorf("solver: %s: %s: %w", solver, k, err)
		}
	}
	c.values = string(append(b, '}'))
	return c, nil
}

// appendValue appends the JSON of a value.
func appendValue(b []byte, value any) ([]byte, error) {
	var v float64
	switch x := value.(type) {
	case bool:
		return strconv.AppendBool(b, x), nil
	case string:
		s, err := json.Marshal(x)
		return append(b, s...), err
	case float64:
		v = x
	case int:
		v = float64(x)
	case json.Number:
		f, err := x.Float64()
		if err != nil {
			return b, err
		}
		v = f
	default:
		return b, fmt.Errorf("a value of type %T; it must be a float64, an int, a bool or a string", value)
	}
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return b, fmt.Errorf("%v is not a number that can be written", v)
	}
	return strconv.AppendFloat(b, v+0, 'g', -1, 64), nil
}

// At returns the configuration at a point of a solver's space; see [smac.Space].
// Parameters that are not active there have no value.
func At(solver string, space smac.Space, point []float64) (Config, error) {
	if err := space.CheckConfig(point); err != nil {
		return Config{}, err
	}
	values := map[string]any{}
	active := space.Active(point)
	for i, v := range point {
		p := space.Params[i]
		switch {
		case !active[i]:
		case p.Kind == smac.Category:
			values[p.Name] = p.Choices[int(v)]
		case p.Kind == smac.Bool:
			values[p.Name] = v == 1
		default:
			values[p.Name] = v
		}
	}
	return New(solver, values)
}

// Draw returns n random configurations of a space, the same whenever it is asked;
// none for a space without parameters.
func Draw(solver string, space smac.Space, n int) []Config {
	var out []Config
	if len(space.Params) == 0 {
		return nil
	}
	rng := run.Rand(1, "solver: draw")
	for range n {
		if c, err := At(solver, space, space.Random(rng)); err == nil {
			out = append(out, c)
		}
	}
	return out
}

// Point returns the configuration as a point of its solver's space. Parameters
// without a value have the space's default. It returns an error if a value is of
// no parameter, or not one of its values.
func (c Config) Point(space smac.Space) ([]float64, error) {
	values := c.Values()
	point := space.Default()
	for i, p := range space.Params {
		v, ok := values[p.Name]
		if !ok {
			continue
		}
		delete(values, p.Name)
		switch x := v.(type) {
		case float64:
			point[i] = x
			if p.Kind == smac.Category { // a choice may be called by a number
				if k := slices.IndexFunc(p.Choices, func(c string) bool { v, err := strconv.ParseFloat(c, 64); return err == nil && v == x }); k >= 0 {
					point[i] = float64(k)
				}
			}
		case bool:
			if point[i] = 0; x {
				point[i] = 1
			}
			if p.Kind != smac.Bool {
				return nil, fmt.Errorf("solver: %s: %s is %v; it must be %s", c.solver, p.Name, x, p.Domain())
			}
		case string:
			k := slices.Index(p.Choices, x)
			if k < 0 || p.Kind != smac.Category {
				return nil, fmt.Errorf("solver: %s: %s is %q; it must be %s", c.solver, p.Name, x, p.Domain())
			}
			point[i] = float64(k)
		}
	}
	if len(values) > 0 {
		var names []string
		for _, p := range space.Params {
			names = append(names, p.Name)
		}
		unknown := slices.Min(slices.Collect(maps.Keys(values)))
		if len(names) == 0 {
			return nil, fmt.Errorf("solver: %s has no parameter %q; it has none", c.solver, unknown)
		}
		return nil, fmt.Errorf("solver: %s has no parameter %q%s; it has %s", c.solver, unknown, meant(unknown, names), strings.Join(names, ", "))
	}
	point = space.Canonical(point)
	if err := space.CheckConfig(point); err != nil {
		return nil, fmt.Errorf("solver: %s: %w", c.solver, err)
	}
	return point, nil
}

// Solver returns the name of the solver.
func (c Config) Solver() string { return c.solver }

// Values returns the values by the names of their parameters: float64, bool or
// string.
func (c Config) Values() map[string]any {
	out := map[string]any{}
	if c.values != "" {
		// The text was made by this package.
		_ = json.Unmarshal([]byte(c.values), &out)
	}
	return out
}

// With returns the configuration with another value of a parameter.
func (c Config) With(name string, value any) (Config, error) {
	values := c.Values()
	values[name] = value
	return New(c.solver, values)
}

// Check returns an error if the solver is not registered, or the configuration
// is none of its.
func (c Config) Check() error {
	s, err := Lookup(c.solver)
	if err != nil {
		return err
	}
	if k, ok := s.(interface{ CheckConfig(c Config) error }); ok {
		return k.CheckConfig(c)
	}
	_, err = c.Point(s.Space(100, 1000))
	return err
}

// String returns the solver and the values, in the order of the solver's
// parameters: "anneal{start: 0.8, end: 0.02}".
func (c Config) String() string {
	s, err := Lookup(c.solver)
	if err == nil {
		if f, ok := s.(Formatter); ok {
			return f.Format(c)
		}
	}
	return c.text(s)
}

// Text is [Config.String] without the solver's own form: [Parse] reads it, with
// numbers of four digits.
func (c Config) Text() string {
	s, _ := Lookup(c.solver)
	return c.text(s)
}

// text is Text; s may be nil.
func (c Config) text(s Solver) string {
	values := c.Values()
	var names []string
	if s != nil {
		for _, p := range s.Space(100, 1000).Params {
			if _, ok := values[p.Name]; ok {
				names = append(names, p.Name)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	var b strings.Builder
	b.WriteString(c.solver)
	if len(names) == 0 {
		return b.String()
	}
	for i, name := range names {
		b.WriteString([]string{"{", ", "}[min(i, 1)])
		b.WriteString(name + ": ")
		switch v := values[name].(type) {
		case float64:
			b.WriteString(strconv.FormatFloat(v, 'g', 4, 64))
		case string:
			b.WriteString(word(v))
		default:
			fmt.Fprint(&b, v)
		}
	}
	return b.String() + "}"
}

// word returns a name of a choice, in quotes where it could be taken for
// something else.
func word(v string) string {
	if isName(v) && v != "true" && v != "false" {
		if _, err := strconv.ParseFloat(v, 64); err != nil {
			return v
		}
	}
	return strconv.Quote(v)
}

// Parse reads a configuration: a solver's name, and perhaps values in braces,
// "anneal{start: 0.8, kind: linear, swaps: true}". Numbers may have any number of
// digits; String rounds them to four. The solver must be registered, and have these
// parameters with these values.
func Parse(text string) (Config, error) {
	name, rest, braces := strings.Cut(strings.TrimSpace(text), "{")
	name = strings.TrimSpace(name)
	values := map[string]any{}
	if braces {
		inner, ok := strings.CutSuffix(rest, "}")
		if !ok {
			return Config{}, fmt.Errorf("solver: %q does not end with a brace; a configuration is written as anneal{start: 0.8, end: 0.02}", text)
		}
		for inner = strings.TrimSpace(inner); inner != ""; inner = strings.TrimSpace(inner) {
			key, after, ok := strings.Cut(inner, ":")
			if !ok {
				return Config{}, fmt.Errorf("solver: %q: %q has no colon; a configuration is written as anneal{start: 0.8, end: 0.02}", text, inner)
			}
			key, after = strings.TrimSpace(key), strings.TrimSpace(after)
			if _, twice := values[key]; twice || key == "" {
				return Config{}, fmt.Errorf("solver: %q: the parameter %q is named twice, or has no name", text, key)
			}
			var value string
			if strings.HasPrefix(after, `"`) {
				quoted, err := strconv.QuotedPrefix(after)
				if err != nil {
					return Config{}, fmt.Errorf("solver: %q: the value of %s has no closing quote", text, key)
				}
				unquoted, err := strconv.Unquote(quoted)
				if err != nil {
					return Config{}, fmt.Errorf("solver: %q: the value of %s: %w", text, key, err)
				}
				values[key] = unquoted
				if after = strings.TrimSpace(after[len(quoted):]); after != "" && after[0] != ',' {
					return Config{}, fmt.Errorf("solver: %q: a comma must follow the value of %s", text, key)
				}
				inner = strings.TrimPrefix(after, ",")
				continue
			}
			value, inner, _ = strings.Cut(after, ",")
			values[key] = valueOf(strings.TrimSpace(value))
		}
	}
	c, err := New(name, values)
	if err != nil {
		return Config{}, err
	}
	if err := c.Check(); err != nil {
		return Config{}, err
	}
	return c, nil
}

// valueOf returns what a word stands for: a bool, a number, or a choice.
func valueOf(word string) any {
	if word == "true" || word == "false" {
		return word == "true"
	}
	if v, err := strconv.ParseFloat(word, 64); err == nil {
		return v
	}
	return word
}

// MarshalJSON encodes the configuration.
func (c Config) MarshalJSON() ([]byte, error) {
	name, err := json.Marshal(c.solver)
	if err != nil {
		return nil, err
	}
	b := append([]byte(`{"solver":`), name...)
	if c.values != "" {
		return append(append(b, ','), c.values[1:]...), nil
	}
	return append(b, '}'), nil
}

// paper names the parameters of BRKGA in the order of the paper's table, in which
// older files have configurations.
var paper = [5]string{"elites", "offspring", "mutants", "bias", "duplicates"}

// UnmarshalJSON decodes a configuration, in any of its forms.
func (c *Config) UnmarshalJSON(b []byte) error {
	values := map[string]any{}
	name := "brkga"
	if trimmed := bytes.TrimSpace(b); len(trimmed) > 0 && trimmed[0] == '[' {
		var row []any
		if err := json.Unmarshal(b, &row); err != nil {
			return fmt.Errorf("solver: a configuration: %w", err)
		}
		if len(row) != len(paper) {
			return fmt.Errorf("solver: a configuration of %d values without names; it must have elites, offspring, mutants, bias and duplicate elimination, which are BRKGA's", len(row))
		}
		for i, v := range row {
			values[paper[i]] = v
		}
	} else {
		if err := json.Unmarshal(b, &values); err != nil {
			return fmt.Errorf("solver: a configuration: %w", err)
		}
		if s, ok := values["solver"]; ok {
			if name, ok = s.(string); !ok {
				return fmt.Errorf("solver: a configuration whose solver is %v; it must be a name", s)
			}
			delete(values, "solver")
		} else if _, ok := values["elites"]; !ok {
			return fmt.Errorf("solver: a configuration says no solver: %.80s", b)
		}
	}
	n, err := New(name, values)
	if err != nil {
		return err
	}
	*c = n
	return nil
}
