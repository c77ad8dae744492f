package external

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"

	"dace.local/dacelib/smac"
)

// ParseIrace reads parameters in irace's form (López-Ibáñez et al.: The irace
// package, User Guide, section 5.1):
//
//	# name      switch           type   values              [| condition]
//	algorithm   "--"             c      (as, mmas, acs)
//	ants        "--ants "        i,log  (5, 100)
//	rasrank     "--rasranks "    i      (1, min(ants, 10))  | algorithm == "as"
//	[forbidden]
//	(algorithm == "acs") & (ants > 50)
//	[global]
//	digits = 4
//
// Types are c, i, r and o, with ",log" behind i and r. Conditions and forbidden
// combinations are expressions of R of parameters, with comparisons, %in% c(...),
// & | ! and arithmetic. irace has no defaults: the default is the middle of a range
// and the first choice; see [Params.Default]. Numbers are rounded to 4 digits behind
// the point unless the file says another number.
func ParseIrace(text string) (Params, error) {
	p := Params{Switches: map[string]string{}, Digits: 4}
	var all []pending
	var forbidden []node
	section := ""
	for k, line := range strings.Split(text, "\n") {
		at := k + 1
		line, _, _ = strings.Cut(line, "#") // irace's comments begin within quotes, too
		line = strings.TrimSpace(line)
		switch {
		case line == "":
		case line == "[forbidden]" || line == "[global]":
			section = line
		case line[0] == '[':
			return p, fmt.Errorf("line %d: there is no section %s; there are [forbidden] and [global]", at, line)
		case section == "[global]":
			m := globalDigits.FindStringSubmatch(line)
			if m == nil {
				return p, fmt.Errorf("line %d: %q is no global option; there is digits = 4", at, line)
			}
			if p.Digits, _ = strconv.Atoi(m[1]); p.Digits < 1 || p.Digits > 15 {
				return p, fmt.Errorf("line %d: digits = %s; it must be from 1 to 15", at, m[1])
			}
		case section == "[forbidden]":
			n, err := parseExpr(line, at)
			if err != nil {
				return p, err
			}
			forbidden = append(forbidden, n)
		default:
			one, err := p.iraceParam(line, at)
			if err != nil {
				return p, err
			}
			all = append(all, one)
		}
	}
	if err := p.finish(all, forbidden); err != nil {
		return p, err
	}
	for i := range p.Space.Params {
		q := &p.Space.Params[i]
		if q.Kind == smac.Category || q.Default != 0 {
			continue
		}
		middle := (q.Lo + q.Hi) / 2
		if q.Log {
			middle = math.Sqrt(q.Lo) * math.Sqrt(q.Hi)
		}
		if q.Kind == smac.Int {
			middle = math.Round(middle)
		}
		q.Default = min(max(middle, q.Lo), q.Hi)
	}
	return p, p.allow()
}

var (
	globalDigits = regexp.MustCompile(`^digits\s*=\s*(\d{1,3})$`)
	iraceHead    = regexp.MustCompile(`^([._\pL\pN]+)\s+"([^"]*)"\s+(i,log|r,log|c|i|r|o)\s*(\(.*)$`)
)

// iraceParam adds the parameter that a line describes.
func (p *Params) iraceParam(line string, at int) (pending, error) {
	one := pending{line: at}
	m := iraceHead.FindStringSubmatch(line)
	if m == nil {
		return one, fmt.Errorf("line %d: %q is no parameter: a line has a name, a switch in double quotes, a type (c, i, r or o; i,log and r,log without spaces) and values in parentheses", at, line)
	}
	name, rest := m[1], m[4]
	if paramOf(p.Space, name) >= 0 {
		return one, fmt.Errorf("line %d: a second parameter %s", at, name)
	}
	one.name = name
	p.Switches[name] = m[2]
	end := closing(rest)
	if end < 0 {
		return one, fmt.Errorf("line %d: %s: the values have no closing parenthesis", at, name)
	}
	values, rest := rest[1:end], strings.TrimSpace(rest[end+1:])
	q := smac.Param{Name: name, Log: strings.HasSuffix(m[3], ",log")}
	switch m[3][0] {
	case 'c', 'o':
		q.Kind, q.Ordered = smac.Category, m[3] == "o"
		var err error
		if q.Choices, err = choices(values); err != nil {
			return one, fmt.Errorf("line %d: %s: %w", at, name, err)
		}
	default:
		if q.Kind = smac.Float; m[3][0] == 'i' {
			q.Kind = smac.Int
		}
		n, err := parseExpr("c("+values+")", at)
		if err != nil {
			return one, fmt.Errorf("%s: %w", name, err)
		}
		if n.kind != 'c' || n.text != "c" || len(n.args) != 2 {
			return one, fmt.Errorf("line %d: %s: a range has two numbers, not (%s)", at, name, values)
		}
		for k, b := range n.args {
			if b.kind == 's' { // an expression may stand in quotes
				if b, err = parseExpr(b.text, at); err != nil {
					return one, fmt.Errorf("%s: %w", name, err)
				}
			}
			v, ok := b.constant()
			switch {
			case ok && k == 0:
				q.Lo = v
			case ok:
				q.Hi = v
			case k == 0:
				one.lo = &b
			default:
				one.hi = &b
			}
		}
		if one.lo == nil && one.hi == nil {
			if err := rangeError(q, p.Digits); err != nil {
				return one, fmt.Errorf("line %d: %s: %w", at, name, err)
			}
		}
	}
	if rest != "" {
		if rest[0] != '|' {
			return one, fmt.Errorf("line %d: %s: %q where | and a condition are expected", at, name, rest)
		}
		n, err := parseExpr(rest[1:], at)
		if err != nil {
			return one, fmt.Errorf("%s: %w", name, err)
		}
		one.when = append(one.when, n)
	}
	p.Space.Params = append(p.Space.Params, q)
	return one, nil
}

// rangeError returns an error if a range of numbers is none.
func rangeError(q smac.Param, digits int) error {
	switch {
	case q.Lo >= q.Hi:
		return fmt.Errorf("the range from %v to %v must have a lower bound below the upper; a fixed value is a c of one value", q.Lo, q.Hi)
	case q.Kind == smac.Int && (q.Lo != math.Trunc(q.Lo) || q.Hi != math.Trunc(q.Hi)):
		return fmt.Errorf("the range from %v to %v of an i must have whole numbers", q.Lo, q.Hi)
	case q.Kind == smac.Float && digits > 0 && q.Hi-q.Lo < math.Pow(10, -float64(digits)):
		return fmt.Errorf("the range from %v to %v has one value only when rounded to %d digits: raise digits below [global]", q.Lo, q.Hi, digits)
	case q.Log && q.Lo <= 0:
		return fmt.Errorf("a logarithmic scale needs a positive lower bound, not %v", q.Lo)
	}
	return nil
}

// constant returns the value of an expression without parameters.
func (n node) constant() (float64, bool) {
	switch {
	case n.kind == 'n':
		return n.num, true
	case n.kind == 'i':
		v, ok := constants[n.text]
		return v, ok && (n.text == "pi")
	case n.kind != 'c':
		return 0, false
	}
	var v []float64
	for _, a := range n.args {
		x, ok := a.constant()
		if !ok {
			return 0, false
		}
		v = append(v, x)
	}
	switch {
	case len(v) == 1 && n.text == "-":
		return -v[0], true
	case len(v) != 2:
		return 0, false
	}
	switch n.text {
	case "+":
		return v[0] + v[1], true
	case "-":
		return v[0] - v[1], true
	case "*":
		return v[0] * v[1], true
	case "/":
		return v[0] / v[1], true
	case "^":
		return math.Pow(v[0], v[1]), true
	}
	return 0, false
}

// closing returns the index of the parenthesis that closes the one at the start, -1
// if none does. Those in quotes do not count.
func closing(s string) int {
	depth, quote := 0, byte(0)
	for i := range len(s) {
		switch c := s[i]; {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"':
			quote = c
		case c == '(':
			depth++
		case c == ')':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}

// choices splits a list of values at commas; values may stand in double quotes.
func choices(list string) ([]string, error) {
	var out []string
	for rest := strings.TrimSpace(list); ; {
		var one string
		if strings.HasPrefix(rest, `"`) {
			end := strings.IndexByte(rest[1:], '"')
			if end < 0 {
				return nil, fmt.Errorf("a quote of the values is not closed")
			}
			one, rest = rest[1:1+end], strings.TrimSpace(rest[end+2:])
			if rest != "" && rest[0] != ',' {
				return nil, fmt.Errorf("%q where a comma is expected", rest)
			}
		} else {
			end := strings.IndexByte(rest, ',')
			if end < 0 {
				end = len(rest)
			}
			if one, rest = strings.TrimSpace(rest[:end]), rest[end:]; one == "" {
				return nil, fmt.Errorf("an empty value; it must be written as \"\"")
			}
		}
		for _, o := range out {
			if o == one {
				return nil, fmt.Errorf("the value %q stands there twice", one)
			}
		}
		out = append(out, one)
		if rest == "" {
			return out, nil
		}
		rest = strings.TrimSpace(rest[1:])
	}
}

// Default sets the defaults to a configuration, by names of parameters; parameters
// without a value keep theirs.
func (p *Params) Default(values map[string]string) error {
	for name, text := range values {
		i := paramOf(p.Space, name)
		if i < 0 {
			return fmt.Errorf("%s is no parameter", name)
		}
		v, err := p.number(i, text)
		if err != nil {
			return err
		}
		q := &p.Space.Params[i]
		if q.Default = v; v == 0 && q.Kind != smac.Category && (q.Lo > 0 || q.Hi < 0) {
			return fmt.Errorf("%s = 0; it must be %s", name, q.Domain())
		}
	}
	return p.Space.Check()
}

// number returns the value that a text means for a parameter.
func (p *Params) number(i int, text string) (float64, error) {
	q := p.Space.Params[i]
	if q.Kind == smac.Category {
		k, err := choiceOf(q, node{kind: 's', text: text})
		return float64(k), trimLine(err)
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || !(v >= q.Lo && v <= q.Hi) || q.Kind == smac.Int && v != math.Trunc(v) {
		return 0, fmt.Errorf("%s = %s; it must be %s", q.Name, text, q.Domain())
	}
	return v, nil
}

// trimLine returns an error without "line 0: ".
func trimLine(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s", strings.TrimPrefix(err.Error(), "line 0: "))
}

// configurations reads irace's file of initial configurations: a line of names, and
// a line of values for each configuration, NA for a parameter that is not active.
func (p *Params) configurations(text string) ([]map[string]string, error) {
	var names []string
	var out []map[string]string
	for k, line := range strings.Split(text, "\n") {
		line, _, _ = strings.Cut(line, "#")
		row, err := words(line)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", k+1, err)
		}
		switch {
		case len(row) == 0:
			continue
		case names == nil:
			names = row
			for _, n := range names {
				if paramOf(p.Space, n) < 0 {
					return nil, fmt.Errorf("line %d: %s is no parameter", k+1, n)
				}
			}
			continue
		case len(row) != len(names):
			return nil, fmt.Errorf("line %d: %d values of %d parameters", k+1, len(row), len(names))
		}
		one := map[string]string{}
		for i, v := range row {
			if v == "NA" || v == "<NA>" {
				continue
			}
			if _, err := p.number(paramOf(p.Space, names[i]), v); err != nil {
				return nil, fmt.Errorf("line %d: %w", k+1, err)
			}
			one[names[i]] = v
		}
		out = append(out, one)
	}
	return out, nil
}
