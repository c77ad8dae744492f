package external

import (
	"fmt"
	"math"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"dace.local/dacelib/smac"
)

// Params are the parameters of a program: a space, and how values are written on
// its command line.
type Params struct {
	// Space holds the parameters, parents before those that depend on them.
	Space smac.Space `json:"space"`
	// Order holds the names in the order of the file, in which they stand on the
	// command line.
	Order []string `json:"order,omitempty"`
	// Switches holds what stands before a value, by the parameter's name, "--alpha "
	// for instance; without a space at its end it is one word with the value. A
	// parameter that has none has its name with a dash before it, as a word of its
	// own.
	Switches map[string]string `json:"switches,omitempty"`
	// Digits is the number of digits behind the point to which real numbers are
	// rounded; 0 means all.
	Digits int `json:"digits,omitempty"`
}

// LoadParams reads a file of parameters, irace's parameters.txt or SMAC's PCS, in
// its old or new form; the content tells which it is.
func LoadParams(path string) (Params, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return Params{}, err
	}
	parse := ParsePCS
	if iraceLine.Match(b) {
		parse = ParseIrace
	}
	p, err := parse(string(b))
	if err != nil {
		return p, fmt.Errorf("%s: %w", path, err)
	}
	return p, nil
}

// iraceLine matches a parameter of irace.
var iraceLine = regexp.MustCompile(`(?m)^[ \t]*[._\pL\pN]+[ \t]+"[^"\n]*"[ \t]+[cior][ ,\t(]`)

// value returns a parameter's value as the program reads it.
func (p Params) value(q smac.Param, v float64) string {
	switch q.Kind {
	case smac.Category:
		return q.Choices[int(v)]
	case smac.Float:
		if p.Digits > 0 {
			scale := math.Pow(10, float64(p.Digits))
			if r := math.Round(v*scale) / scale; !math.IsInf(r, 0) && !math.IsNaN(r) {
				v = min(max(r, q.Lo), q.Hi)
			}
		}
	}
	return strconv.FormatFloat(v+0, 'f', -1, 64)
}

// Arguments returns the arguments that give a program the values of a point of the
// space. Parameters that are not active have none. Switches and values are cut into
// words as a shell does it: at spaces that are not within quotes.
func (p Params) Arguments(point []float64) ([]string, error) {
	active := p.Space.Active(point)
	var line strings.Builder
	var out []string
	for _, name := range p.Order {
		i := paramOf(p.Space, name)
		if i < 0 || !active[i] {
			continue
		}
		v := p.value(p.Space.Params[i], point[i])
		if s, ok := p.Switches[name]; ok {
			line.WriteString(s + v + " ")
		} else {
			out = append(out, "-"+name, v)
		}
	}
	w, err := words(line.String())
	return append(out, w...), err
}

// words splits a line at spaces that are not within single or double quotes.
func words(line string) (out []string, err error) {
	var word strings.Builder
	quote, in := rune(0), false
	for _, r := range line {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote == 0 && (r == '"' || r == '\''):
			quote, in = r, true
		case quote == 0 && (r == ' ' || r == '\t' || r == '\n' || r == '\r'):
			if in {
				out = append(out, word.String())
				word.Reset()
				in = false
			}
		default:
			word.WriteRune(r)
			in = true
		}
	}
	if quote != 0 {
		return nil, fmt.Errorf("the quote %c in %q is not closed", quote, line)
	}
	if in {
		out = append(out, word.String())
	}
	return out, nil
}

// A pending is a parameter whose condition or bounds are not resolved yet.
type pending struct {
	name string
	when []node
	line int
	// lo and hi are bounds that depend on other parameters, nil for numbers.
	lo, hi *node
}

// finish resolves conditions, bounds and forbidden combinations, and puts the
// parameters in an order in which parents come first.
func (p *Params) finish(all []pending, forbidden []node) error {
	if len(p.Space.Params) == 0 {
		return fmt.Errorf("it has no parameters")
	}
	for _, q := range p.Space.Params {
		p.Order = append(p.Order, q.Name)
	}
	needs := map[string][]string{}
	for _, one := range all {
		for _, n := range one.when {
			needs[one.name] = append(needs[one.name], n.params(p.Space)...)
		}
		for _, b := range []*node{one.lo, one.hi} {
			if b != nil {
				needs[one.name] = append(needs[one.name], b.params(p.Space)...)
			}
		}
	}
	var sorted []smac.Param
	placed := map[string]bool{}
	for len(sorted) < len(p.Space.Params) {
		before := len(sorted)
		for _, q := range p.Space.Params {
			if !placed[q.Name] && !slices.ContainsFunc(needs[q.Name], func(n string) bool { return !placed[n] }) {
				sorted = append(sorted, q)
				placed[q.Name] = true
			}
		}
		if len(sorted) == before {
			for _, q := range p.Space.Params {
				if !placed[q.Name] {
					return fmt.Errorf("the parameter %s depends on itself, by way of %s", q.Name, strings.Join(needs[q.Name], ", "))
				}
			}
		}
	}
	p.Space.Params = sorted
	for _, one := range all {
		if err := p.bounds(one); err != nil {
			return err
		}
	}
	for _, one := range all {
		for _, n := range one.when {
			if err := p.condition(one, n); err != nil {
				return err
			}
		}
	}
	for _, n := range forbidden {
		e, err := n.resolve(p.Space)
		if err != nil {
			return err
		}
		p.Space.Excluded = append(p.Space.Excluded, e)
	}
	return p.allow()
}

// condition adds a condition of a parameter.
func (p *Params) condition(one pending, n node) error {
	if n.kind == 'i' && n.text == "TRUE" {
		return nil
	}
	e, err := n.resolve(p.Space)
	if err != nil {
		return err
	}
	p.Space.Conditions = append(p.Space.Conditions, smac.Condition{Param: one.name, When: &e})
	return nil
}

// bounds sets bounds that depend on other parameters: the widest there can be, and
// what is outside of the present ones is forbidden.
func (p *Params) bounds(one pending) error {
	q := &p.Space.Params[paramOf(p.Space, one.name)]
	for side, b := range []*node{one.lo, one.hi} {
		if b == nil {
			continue
		}
		e, err := b.resolve(p.Space)
		if err != nil {
			return err
		}
		lo, hi, err := span(p.Space, e)
		if err == nil && (math.IsNaN(lo+hi) || math.IsInf(lo, 0) || math.IsInf(hi, 0)) {
			err = fmt.Errorf("a bound from %v to %v", lo, hi)
		}
		if err != nil {
			return fmt.Errorf("line %d: %s: %w", one.line, one.name, err)
		}
		op := "<"
		if side == 0 {
			if q.Lo = lo; q.Kind == smac.Int {
				q.Lo = math.Ceil(lo)
			}
		} else {
			op = ">"
			if q.Hi = hi; q.Kind == smac.Int {
				q.Hi = math.Floor(hi)
			}
		}
		p.Space.Excluded = append(p.Space.Excluded, smac.Expr{Op: op, Args: []smac.Expr{{Param: one.name}, e}})
	}
	return nil
}

// params returns the names of the parameters in an expression.
func (n node) params(s smac.Space) []string {
	var out []string
	if n.kind == 'i' && paramOf(s, n.text) >= 0 {
		out = append(out, n.text)
	}
	for _, a := range n.args {
		out = append(out, a.params(s)...)
	}
	return out
}

// allow checks the space. Where the defaults are a forbidden combination it takes
// others, the first allowed ones that it finds.
func (p *Params) allow() error {
	err := p.Space.Check()
	if err == nil {
		return nil
	}
	free := p.Space
	free.Excluded, free.Forbidden = nil, nil
	if err := free.Check(); err != nil {
		return err
	}
	point, ok := p.Space.Allowed(1)
	if !ok {
		return err
	}
	for i := range point {
		q := &p.Space.Params[i]
		if q.Default = point[i]; q.Default == 0 && q.Kind != smac.Category && !(q.Lo <= 0 && q.Hi >= 0) {
			return err
		}
	}
	return p.Space.Check()
}
