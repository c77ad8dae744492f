package external

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"dace.local/dacelib/smac"
)

// ParsePCS reads parameters in SMAC's form, the old and the new one (AClib's format
// description; SMAC 2.10 manual, section 4.1):
//
//	algorithm {as, mmas, acs} [as]           # old
//	ants [5, 100] [10]il
//	algorithm categorical {as, mmas, acs} [as]  # new
//	size ordinal {small, medium, large} [small]
//	ants integer [5, 100] [10] log
//	q0 real [0, 1] [0.5]
//	q0 | algorithm in {acs}                  # conditions
//	ants | algorithm == as && q0 > 0.5 || size != small
//	{algorithm=acs, ants=5}                  # forbidden
//	{ants + q0 > 50 && size == small}
//
// Several conditions of one parameter must all hold; && binds more strongly than ||.
// The values of a forbidden combination may be any expression of the parameters.
func ParsePCS(text string) (Params, error) {
	var p Params
	var all []pending
	type later struct {
		text string
		line int
	}
	var conditions, forbidden []later
	for k, line := range strings.Split(text, "\n") {
		at := k + 1
		line, _, _ = strings.Cut(line, "#")
		line = strings.TrimSpace(line)
		lower := strings.ToLower(line)
		switch {
		case line == "" || lower == "conditionals:" || lower == "forbidden:" || lower == "conditions:":
		case line[0] == '{':
			forbidden = append(forbidden, later{line, at})
		case pcsCondition.MatchString(line):
			conditions = append(conditions, later{line, at})
		default:
			if err := p.pcsParam(line, at); err != nil {
				return p, err
			}
		}
	}
	for _, c := range conditions {
		m := pcsCondition.FindStringSubmatch(c.text)
		if paramOf(p.Space, m[1]) < 0 {
			return p, fmt.Errorf("line %d: a condition of %s, which is no parameter", c.line, m[1])
		}
		n, err := pcsExpr(m[2], c.line, p.Space)
		if err != nil {
			return p, err
		}
		all = append(all, pending{name: m[1], when: []node{n}, line: c.line})
	}
	var exprs []node
	for _, f := range forbidden {
		n, err := p.pcsForbidden(f.text, f.line)
		if err != nil {
			return p, err
		}
		exprs = append(exprs, n)
	}
	return p, p.finish(all, exprs)
}

var (
	pcsCondition = regexp.MustCompile(`^([^\s|{}\[\]=]+)\s*\|\s*([^|].*)$`)
	pcsValues    = regexp.MustCompile(`^([^\s{}\[\]|]+)\s*(?:\s(categorical|ordinal|c|o)\s*)?\{([^{}]*)\}\s*\[([^\[\]]*)\]$`)
	pcsRange     = regexp.MustCompile(`^([^\s{}\[\]|]+)\s*(?:\s(integer|real|i|r)\s*)?\[([^\[\],]*),([^\[\],]*)\]\s*\[([^\[\]]*)\]\s*([a-z]*)$`)
	pcsClause    = regexp.MustCompile(`^(\S+?)\s*(==|!=|<=|>=|<|>|=)\s*(\S+)$|^(\S+)\s+in\s*\{([^{}]*)\}$`)
)

// pcsParam adds the parameter that a line describes.
func (p *Params) pcsParam(line string, at int) error {
	add := func(q smac.Param) error {
		if paramOf(p.Space, q.Name) >= 0 {
			return fmt.Errorf("line %d: a second parameter %s", at, q.Name)
		}
		p.Space.Params = append(p.Space.Params, q)
		return nil
	}
	if m := pcsValues.FindStringSubmatch(line); m != nil {
		q := smac.Param{Name: m[1], Kind: smac.Category, Ordered: strings.HasPrefix(m[2], "o")}
		var err error
		if q.Choices, err = choices(m[3]); err != nil {
			return fmt.Errorf("line %d: %s: %w", at, q.Name, err)
		}
		k, err := choiceOf(q, node{kind: 's', text: strings.TrimSpace(m[4])})
		if err != nil {
			return fmt.Errorf("line %d: the default of %w", at, trimLine(err))
		}
		q.Default = float64(k)
		return add(q)
	}
	m := pcsRange.FindStringSubmatch(line)
	if m == nil {
		return fmt.Errorf("line %d: %q is neither a parameter, a condition nor a forbidden combination: a parameter is written as name {a, b} [a], name [0, 1] [0.5], with i, l or il behind it, or as name categorical {a, b} [a], ordinal, integer or real", at, line)
	}
	q := smac.Param{Name: m[1], Kind: smac.Float}
	switch flags := m[6]; {
	case m[2] != "" && flags != "" && flags != "log":
		return fmt.Errorf("line %d: %s: %q where log is expected", at, q.Name, flags)
	case m[2] == "" && !slices.Contains([]string{"", "i", "l", "il", "li", "log"}, flags):
		return fmt.Errorf("line %d: %s: %q where i, l or il is expected", at, q.Name, flags)
	default:
		q.Log = strings.Contains(flags, "l")
		if strings.HasPrefix(m[2], "i") || m[2] == "" && strings.Contains(flags, "i") {
			q.Kind = smac.Int
		}
	}
	for i, v := range []*float64{&q.Lo, &q.Hi, &q.Default} {
		var err error
		if *v, err = strconv.ParseFloat(strings.TrimSpace(m[3+i]), 64); err != nil {
			return fmt.Errorf("line %d: %s: %q is no number", at, q.Name, m[3+i])
		}
	}
	if err := rangeError(q, 0); err != nil {
		return fmt.Errorf("line %d: %s: %w", at, q.Name, err)
	}
	if q.Default < q.Lo || q.Default > q.Hi {
		return fmt.Errorf("line %d: the default %v of %s lies outside of its range", at, q.Default, q.Name)
	}
	return add(q)
}

// pcsExpr reads clauses that are joined by && and ||.
func pcsExpr(text string, at int, s smac.Space) (node, error) {
	or := node{kind: 'c', text: "|", line: at}
	for _, part := range strings.Split(text, "||") {
		and := node{kind: 'c', text: "&", line: at}
		for _, clause := range strings.Split(part, "&&") {
			n, err := pcsClauseNode(strings.TrimSpace(clause), at, s)
			if err != nil {
				return n, err
			}
			and.args = append(and.args, n)
		}
		or.args = append(or.args, and)
	}
	return or, nil
}

// pcsClauseNode reads one clause of a condition. Names may have characters that
// expressions cannot.
func pcsClauseNode(clause string, at int, s smac.Space) (node, error) {
	m := pcsClause.FindStringSubmatch(clause)
	if m == nil {
		return node{}, fmt.Errorf("line %d: %q is no condition: it is written as parent in {a, b}, or with == != < > and &&, ||", at, clause)
	}
	name, op, values := m[1], m[2], []string{m[3]}
	if m[4] != "" {
		name, op = m[4], "%in%"
		var err error
		if values, err = choices(m[5]); err != nil {
			return node{}, fmt.Errorf("line %d: %w", at, err)
		}
	}
	if op == "=" {
		op = "=="
	}
	i := paramOf(s, name)
	if i < 0 {
		return node{}, fmt.Errorf("line %d: a condition on %s, which is no parameter", at, name)
	}
	list := node{kind: 'c', text: "c", line: at}
	for _, v := range values {
		n, err := literal(s.Params[i], v, at)
		if err != nil {
			return n, err
		}
		list.args = append(list.args, n)
	}
	right := list
	if op != "%in%" {
		right = list.args[0]
	}
	return node{kind: 'c', text: op, line: at, args: []node{{kind: 'i', text: name, line: at}, right}}, nil
}

// literal returns the node of a value of a parameter.
func literal(q smac.Param, text string, at int) (node, error) {
	text = strings.Trim(strings.TrimSpace(text), `"'`)
	if q.Kind == smac.Category {
		n := node{kind: 's', text: text, line: at}
		_, err := choiceOf(q, n)
		if _, number := strconv.ParseFloat(text, 64); err != nil && number == nil {
			err = nil // a bound of choices that are numbers
		}
		return n, err
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return node{}, fmt.Errorf("line %d: %q is no value of %s, which is %s", at, text, q.Name, q.Domain())
	}
	return node{kind: 'n', text: text, num: v, line: at}, nil
}

// pcsForbidden reads a forbidden combination: values of parameters, or an
// expression.
func (p *Params) pcsForbidden(text string, at int) (node, error) {
	inner, ok := strings.CutSuffix(text[1:], "}")
	if !ok {
		return node{}, fmt.Errorf("line %d: a forbidden combination ends with a brace: {a=1, b=2}", at)
	}
	// A list of name=value.
	and := node{kind: 'c', text: "&", line: at}
	simple := true
	for _, clause := range strings.Split(inner, ",") {
		m := pcsClause.FindStringSubmatch(strings.TrimSpace(clause))
		if m == nil || m[2] != "=" && m[2] != "==" || paramOf(p.Space, m[1]) < 0 {
			simple = false
			break
		}
		n, err := pcsClauseNode(m[1]+" == "+m[3], at, p.Space)
		if err != nil {
			simple = false
			break
		}
		and.args = append(and.args, n)
	}
	if simple {
		return and, nil
	}
	if n, err := pcsExpr(inner, at, p.Space); err == nil {
		return n, nil
	}
	return parseExpr(inner, at)
}
