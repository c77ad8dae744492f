package external

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"dace.local/dacelib/smac"
)

// Conditions, forbidden combinations and scenarios of irace are expressions of R.
// Those of SMAC's forbidden combinations are read by the same rules.

// A token is a word of an expression.
type token struct {
	kind byte // 'n' number, 's' string, 'i' identifier, 'o' operator, 'l' end of line, 'e' end
	text string
	num  float64
	line int
}

// lex cuts a text into tokens. Comments begin with #.
func lex(text string, line int) ([]token, error) {
	var out []token
	for i := 0; i < len(text); {
		c := text[i]
		rest := text[i:]
		n := 1
		switch {
		case c == '\n':
			out = append(out, token{kind: 'l', text: "the end of the line", line: line})
			line++
		case c == ' ' || c == '\t' || c == '\r' || c == '\f':
		case c == '#':
			if n = strings.IndexByte(rest, '\n'); n < 0 {
				n = len(rest)
			}
		case c == '"' || c == '\'':
			var b strings.Builder
			for n = 1; ; n++ {
				if n == len(rest) || rest[n] == '\n' {
					return nil, fmt.Errorf("line %d: the quote %c is not closed", line, c)
				}
				if rest[n] == c {
					n++
					break
				}
				if rest[n] == '\\' && n+1 < len(rest) && rest[n+1] != '\n' {
					n++
					switch rest[n] {
					case 'n':
						b.WriteByte('\n')
						continue
					case 't':
						b.WriteByte('\t')
						continue
					}
				}
				b.WriteByte(rest[n])
			}
			out = append(out, token{kind: 's', text: b.String(), line: line})
		case digit(c) || c == '.' && len(rest) > 1 && digit(rest[1]):
			for n = 1; n < len(rest) && (digit(rest[n]) || rest[n] == '.'); n++ {
			}
			if n < len(rest) && (rest[n] == 'e' || rest[n] == 'E') {
				k := n + 1
				if k < len(rest) && (rest[k] == '+' || rest[k] == '-') {
					k++
				}
				if k < len(rest) && digit(rest[k]) {
					for n = k; n < len(rest) && digit(rest[n]); n++ {
					}
				}
			}
			v, err := strconv.ParseFloat(rest[:n], 64)
			if err != nil {
				return nil, fmt.Errorf("line %d: %q is no number", line, rest[:n])
			}
			out = append(out, token{kind: 'n', text: rest[:n], num: v, line: line})
			if n < len(rest) && rest[n] == 'L' {
				n++
			}
		case letter(c) || c == '.':
			for n = 1; n < len(rest) && (letter(rest[n]) || digit(rest[n]) || rest[n] == '.' || rest[n] == '_'); n++ {
			}
			out = append(out, token{kind: 'i', text: rest[:n], line: line})
		case c == '%':
			end := strings.IndexByte(rest[1:], '%')
			if end < 0 || strings.ContainsRune(rest[1:1+end], '\n') {
				return nil, fmt.Errorf("line %d: a %% without another", line)
			}
			n = end + 2
			out = append(out, token{kind: 'o', text: rest[:n], line: line})
		default:
			for _, op := range []string{"<-", "<=", ">=", "==", "!=", "&&", "||"} {
				if strings.HasPrefix(rest, op) {
					n = len(op)
				}
			}
			if n == 1 && !strings.ContainsRune("=<>&|!+-*/^(),;{}[]", rune(c)) {
				return nil, fmt.Errorf("line %d: %q cannot stand here", line, c)
			}
			out = append(out, token{kind: 'o', text: rest[:n], line: line})
		}
		i += n
	}
	return append(out, token{kind: 'e', text: "the end", line: line}), nil
}

func digit(c byte) bool { return c >= '0' && c <= '9' }
func letter(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80 || c == '_'
}

// A node is an expression as it is written.
type node struct {
	kind byte // 'n', 's', 'i' as of tokens; 'c' a call of a function or an operation
	text string
	num  float64
	args []node
	line int
}

// An exprParser reads expressions from tokens.
type exprParser struct {
	tokens []token
	at     int
	depth  int
	parens int // open parentheses, in which lines do not end
}

func (p *exprParser) peek() token {
	for p.parens > 0 && p.tokens[p.at].kind == 'l' {
		p.at++
	}
	return p.tokens[p.at]
}

func (p *exprParser) next() token {
	t := p.peek()
	if t.kind != 'e' {
		p.at++
	}
	return t
}

// is reports whether the next token is an operator, and takes it.
func (p *exprParser) is(op string) bool {
	if t := p.peek(); t.kind == 'o' && t.text == op {
		p.at++
		return true
	}
	return false
}

// binding holds the precedence of the operations, as R has it.
var binding = map[string]int{
	"|": 1, "||": 1, "&": 2, "&&": 2, "==": 4, "!=": 4, "<": 4, "<=": 4, ">": 4, ">=": 4,
	"+": 5, "-": 5, "*": 6, "/": 6, "%in%": 7, "^": 9,
}

// mostDepth bounds the depth of an expression.
const mostDepth = 100

// expression reads an expression of operations that bind at least as strongly.
func (p *exprParser) expression(least int) (node, error) {
	if p.depth++; p.depth > mostDepth {
		return node{}, fmt.Errorf("line %d: an expression is nested more than %d times", p.peek().line, mostDepth)
	}
	defer func() { p.depth-- }()
	left, err := p.operand()
	if err != nil {
		return left, err
	}
	for {
		t := p.peek()
		b, ok := binding[t.text]
		if t.kind == 'o' && strings.HasPrefix(t.text, "%") && !ok {
			return left, fmt.Errorf("line %d: the operation %s is not one of those that are read here", t.line, t.text)
		}
		if t.kind != 'o' || !ok || b < least {
			return left, nil
		}
		p.next()
		for p.peek().kind == 'l' { // an operation goes on in the next line
			p.at++
		}
		over := b + 1
		if t.text == "^" {
			over = b
		}
		right, err := p.expression(over)
		if err != nil {
			return left, err
		}
		left = node{kind: 'c', text: t.text, args: []node{left, right}, line: t.line}
	}
}

func (p *exprParser) operand() (node, error) {
	t := p.next()
	switch {
	case t.kind == 'n' || t.kind == 's':
		return node{kind: t.kind, text: t.text, num: t.num, line: t.line}, nil
	case t.kind == 'i':
		if !p.is("(") {
			return node{kind: 'i', text: t.text, line: t.line}, nil
		}
		n := node{kind: 'c', text: t.text, line: t.line}
		p.parens++
		defer func() { p.parens-- }()
		for first := true; ; first = false {
			if p.peek().text == ")" && p.peek().kind == 'o' {
				p.at++
				return n, nil
			}
			if !first && !p.is(",") {
				return n, fmt.Errorf("line %d: %q where a comma or ) is expected", p.peek().line, p.peek().text)
			}
			a, err := p.expression(0)
			if err != nil {
				return n, err
			}
			n.args = append(n.args, a)
		}
	case t.kind == 'o' && t.text == "(":
		p.parens++
		n, err := p.expression(0)
		if err == nil && !p.is(")") {
			err = fmt.Errorf("line %d: %q where ) is expected", p.peek().line, p.peek().text)
		}
		p.parens--
		return n, err
	case t.kind == 'o' && (t.text == "!" || t.text == "-" || t.text == "+"):
		over := 3 // "not" binds more loosely than comparisons
		if t.text != "!" {
			over = 8
		}
		a, err := p.expression(over)
		if err != nil {
			return a, err
		}
		if t.text == "+" {
			return a, nil
		}
		if t.text == "-" && a.kind == 'n' {
			a.num, a.text = -a.num, "-"+a.text
			return a, nil
		}
		return node{kind: 'c', text: t.text, args: []node{a}, line: t.line}, nil
	}
	return node{}, fmt.Errorf("line %d: %q where a value is expected", t.line, t.text)
}

// parseExpr reads a text that is one expression.
func parseExpr(text string, line int) (node, error) {
	tokens, err := lex(text, line)
	if err != nil {
		return node{}, err
	}
	p := &exprParser{tokens: tokens, parens: 1}
	n, err := p.expression(0)
	if err != nil {
		return n, err
	}
	if t := p.peek(); t.kind != 'e' {
		return n, fmt.Errorf("line %d: %q after the end of the expression", t.line, t.text)
	}
	return n, nil
}

// functions are those of R that expressions may have, by what they are called in a
// space.
var functions = map[string]string{
	"min": "min", "max": "max", "floor": "floor", "ceiling": "ceiling", "round": "round", "abs": "abs",
	"sqrt": "sqrt", "exp": "exp", "log": "log",
}

// resolve returns the expression of the parameters of a space.
func (n node) resolve(s smac.Space) (smac.Expr, error) {
	bad := func(format string, a ...any) (smac.Expr, error) {
		return smac.Expr{}, fmt.Errorf("line %d: %s", n.line, fmt.Sprintf(format, a...))
	}
	each := func(op string) (smac.Expr, error) {
		e := smac.Expr{Op: op}
		for _, a := range n.args {
			v, err := a.resolve(s)
			if err != nil {
				return e, err
			}
			if v.Op == op && (op == "and" || op == "or") {
				e.Args = append(e.Args, v.Args...)
				continue
			}
			e.Args = append(e.Args, v)
		}
		return e, nil
	}
	switch n.kind {
	case 'n':
		return smac.Expr{Value: n.num}, nil
	case 's':
		return bad("%q is neither a number nor compared with a categorical parameter", n.text)
	case 'i':
		if i := paramOf(s, n.text); i >= 0 {
			if s.Params[i].Kind == smac.Category {
				return bad("%s is categorical: it can be compared with its values only, by == != or %%in%%", n.text)
			}
			return smac.Expr{Param: n.text}, nil
		}
		if v, ok := constants[n.text]; ok {
			return smac.Expr{Value: v}, nil
		}
		return bad("%s is no parameter", n.text)
	}
	switch op := n.text; op {
	case "&", "&&":
		return each("and")
	case "|", "||":
		return each("or")
	case "!":
		return each("not")
	case "+", "*", "/", "^", "-":
		return each(op)
	case "%in%":
		return n.inSet(s)
	case "==", "!=", "<", "<=", ">", ">=":
		a, b := n.args[0], n.args[1]
		if i := categoryOf(s, a); i >= 0 {
			return n.compare(s, i, op, b)
		}
		if i := categoryOf(s, b); i >= 0 {
			swap := map[string]string{"<": ">", "<=": ">=", ">": "<", ">=": "<="}
			if swap[op] != "" {
				op = swap[op]
			}
			return n.compare(s, i, op, a)
		}
		return each(op)
	default:
		name, ok := functions[op]
		if !ok {
			return bad("the function %s is not one of those that are read here: %s", op, "min, max, floor, ceiling, round, abs, sqrt, exp, log, c")
		}
		if name != "min" && name != "max" && len(n.args) != 1 || len(n.args) == 0 {
			return bad("%s of %d values", op, len(n.args))
		}
		return each(name)
	}
}

var constants = map[string]float64{"TRUE": 1, "T": 1, "FALSE": 0, "F": 0, "pi": math.Pi}

func paramOf(s smac.Space, name string) int {
	return slices.IndexFunc(s.Params, func(p smac.Param) bool { return p.Name == name })
}

// categoryOf returns the index of the categorical parameter that a node names, or -1.
func categoryOf(s smac.Space, n node) int {
	if n.kind == 'i' {
		if i := paramOf(s, n.text); i >= 0 && s.Params[i].Kind == smac.Category {
			return i
		}
	}
	return -1
}

// choiceOf returns the index of the choice that a literal means.
func choiceOf(p smac.Param, n node) (int, error) {
	text := n.text
	if n.kind != 'n' && n.kind != 's' && n.kind != 'i' {
		return 0, fmt.Errorf("line %d: %s can be compared with its values only", n.line, p.Name)
	}
	for i, c := range p.Choices {
		if c == text {
			return i, nil
		}
	}
	for i, c := range p.Choices { // 1.0 is 1
		a, errA := strconv.ParseFloat(c, 64)
		b, errB := strconv.ParseFloat(text, 64)
		if errA == nil && errB == nil && a == b {
			return i, nil
		}
	}
	return 0, fmt.Errorf("line %d: %s has no value %q; it must be %s", n.line, p.Name, text, p.Domain())
}

// compare returns the comparison of a categorical parameter with a literal.
func (n node) compare(s smac.Space, i int, op string, literal node) (smac.Expr, error) {
	p := s.Params[i]
	self := smac.Expr{Param: p.Name}
	if op == "==" || op == "!=" || p.Ordered {
		k, err := choiceOf(p, literal)
		return smac.Expr{Op: op, Args: []smac.Expr{self, {Value: float64(k)}}}, err
	}
	// Choices that are numbers can be compared with numbers.
	bound, err := strconv.ParseFloat(literal.text, 64)
	any := smac.Expr{Op: "or"}
	for k, c := range p.Choices {
		v, errC := strconv.ParseFloat(c, 64)
		if err != nil || errC != nil {
			return any, fmt.Errorf("line %d: %s is categorical, without an order: %s cannot compare it", n.line, p.Name, op)
		}
		if op == "<" && v < bound || op == "<=" && v <= bound || op == ">" && v > bound || op == ">=" && v >= bound {
			any.Args = append(any.Args, smac.Expr{Op: "==", Args: []smac.Expr{self, {Value: float64(k)}}})
		}
	}
	if len(any.Args) == 0 {
		return any, fmt.Errorf("line %d: no value of %s is %s %s", n.line, p.Name, op, literal.text)
	}
	return any, nil
}

// inSet returns "a %in% c(...)".
func (n node) inSet(s smac.Space) (smac.Expr, error) {
	list := []node{n.args[1]}
	if list[0].kind == 'c' && list[0].text == "c" {
		list = list[0].args
	}
	e := smac.Expr{Op: "in"}
	i := categoryOf(s, n.args[0])
	if i >= 0 {
		e.Args = append(e.Args, smac.Expr{Param: s.Params[i].Name})
	} else {
		a, err := n.args[0].resolve(s)
		if err != nil {
			return e, err
		}
		e.Args = append(e.Args, a)
	}
	for _, one := range list {
		if i >= 0 {
			k, err := choiceOf(s.Params[i], one)
			if err != nil {
				return e, err
			}
			e.Args = append(e.Args, smac.Expr{Value: float64(k)})
			continue
		}
		v, err := one.resolve(s)
		if err != nil {
			return e, err
		}
		e.Args = append(e.Args, v)
	}
	if len(list) == 0 {
		return e, fmt.Errorf("line %d: %%in%% an empty list", n.line)
	}
	return e, nil
}

// span returns bounds of an expression's value over the ranges of the parameters.
func span(s smac.Space, e smac.Expr) (lo, hi float64, err error) {
	if e.Op == "" {
		if e.Param == "" {
			return e.Value, e.Value, nil
		}
		p := s.Params[paramOf(s, e.Param)]
		return p.Lo, p.Hi, nil
	}
	var los, his []float64
	for _, a := range e.Args {
		l, h, err := span(s, a)
		if err != nil {
			return 0, 0, err
		}
		los, his = append(los, l), append(his, h)
	}
	corners := func(f func(a, b float64) float64) (float64, float64, error) {
		v := []float64{f(los[0], los[1]), f(los[0], his[1]), f(his[0], los[1]), f(his[0], his[1])}
		return slices.Min(v), slices.Max(v), nil
	}
	switch op := e.Op; {
	case op == "min":
		return slices.Min(los), slices.Min(his), nil
	case op == "max":
		return slices.Max(los), slices.Max(his), nil
	case op == "+":
		return los[0] + los[1], his[0] + his[1], nil
	case op == "-" && len(los) == 2:
		return los[0] - his[1], his[0] - los[1], nil
	case op == "-":
		return -his[0], -los[0], nil
	case op == "*":
		return corners(func(a, b float64) float64 { return a * b })
	case op == "/" && (los[1] > 0 || his[1] < 0):
		return corners(func(a, b float64) float64 { return a / b })
	case op == "floor":
		return math.Floor(los[0]), math.Floor(his[0]), nil
	case op == "ceiling":
		return math.Ceil(los[0]), math.Ceil(his[0]), nil
	case op == "round":
		return math.RoundToEven(los[0]), math.RoundToEven(his[0]), nil
	case op == "exp":
		return math.Exp(los[0]), math.Exp(his[0]), nil
	case op == "sqrt" && los[0] >= 0:
		return math.Sqrt(los[0]), math.Sqrt(his[0]), nil
	case op == "log" && los[0] > 0:
		return math.Log(los[0]), math.Log(his[0]), nil
	}
	return 0, 0, fmt.Errorf("a bound that depends on parameters by %s: it may have + - * min max floor ceiling round exp, and /, sqrt and log of what is positive", e.Op)
}
