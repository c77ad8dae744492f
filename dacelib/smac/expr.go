package smac

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// An Expr is an expression of the values of parameters, for conditions and
// forbidden combinations that are more than lists of values: a parameter's value, a
// number, or an operation on other expressions.
//
// Truth is 1 and 0. The value of a parameter that is not active is unknown, and so
// is what is computed from it, as in R: a comparison with it is neither true nor
// false, "or" with something true is true, and "in" is false.
type Expr struct {
	// Op is the operation: "and", "or", "not", "==", "!=", "<", "<=", ">", ">=",
	// "in", which compares the first of Args with each other one, "+", "-" (of one
	// or two), "*", "/", "^", "min", "max", "floor", "ceiling", "round", "abs",
	// "sqrt", "exp" or "log"; empty for a value.
	Op string `json:"op,omitempty"`
	// Args are what Op works on.
	Args []Expr `json:"args,omitempty"`
	// Param is the name of a parameter, of which this is the value: the number, or
	// the index of the choice; empty for the number Value.
	Param string  `json:"param,omitempty"`
	Value float64 `json:"value,omitempty"`
}

// arity holds the least and the largest number of arguments of the operations.
var arity = map[string][2]int{
	"and": {1, 1 << 20}, "or": {1, 1 << 20}, "not": {1, 1},
	"==": {2, 2}, "!=": {2, 2}, "<": {2, 2}, "<=": {2, 2}, ">": {2, 2}, ">=": {2, 2}, "in": {2, 1 << 20},
	"+": {2, 2}, "-": {1, 2}, "*": {2, 2}, "/": {2, 2}, "^": {2, 2}, "min": {1, 1 << 20}, "max": {1, 1 << 20},
	"floor": {1, 1}, "ceiling": {1, 1}, "round": {1, 1}, "abs": {1, 1}, "sqrt": {1, 1}, "exp": {1, 1}, "log": {1, 1},
}

// mostNested bounds the depth of an expression.
const mostNested = 200

// check returns an error if the expression is invalid in a space.
func (e Expr) check(s Space, depth int) error {
	if depth > mostNested {
		return fmt.Errorf("an expression is nested more than %d times", mostNested)
	}
	if e.Op == "" {
		switch {
		case len(e.Args) > 0:
			return fmt.Errorf("an expression has arguments and no operation")
		case e.Param != "" && s.index(e.Param) < 0:
			return fmt.Errorf("an expression has %q, which is no parameter", e.Param)
		case e.Param == "" && (math.IsNaN(e.Value) || math.IsInf(e.Value, 0)):
			return fmt.Errorf("an expression has the number %v", e.Value)
		}
		return nil
	}
	n, ok := arity[e.Op]
	if !ok || len(e.Args) < n[0] || len(e.Args) > n[1] {
		return fmt.Errorf("an expression has the operation %q of %d arguments", e.Op, len(e.Args))
	}
	for _, a := range e.Args {
		if err := a.check(s, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// Names returns the names of the parameters in the expression, each once.
func (e Expr) Names() []string {
	var out []string
	e.walk(func(name string) {
		if !slices.Contains(out, name) {
			out = append(out, name)
		}
	})
	return out
}

func (e Expr) walk(f func(name string)) {
	if e.Op == "" && e.Param != "" {
		f(e.Param)
	}
	for _, a := range e.Args {
		a.walk(f)
	}
}

// Renamed returns the expression with other names of parameters.
func (e Expr) Renamed(f func(name string) string) Expr {
	if e.Op == "" && e.Param != "" {
		e.Param = f(e.Param)
	}
	e.Args = slices.Clone(e.Args)
	for i, a := range e.Args {
		e.Args[i] = a.Renamed(f)
	}
	return e
}

// eval returns the value in a configuration, NaN if it is unknown.
func (e *Expr) eval(s *Space, config []float64, active []bool) float64 {
	arg := func(i int) float64 { return e.Args[i].eval(s, config, active) }
	switch e.Op {
	case "":
		if e.Param == "" {
			return e.Value
		}
		if k := s.index(e.Param); active[k] {
			return config[k]
		}
		return math.NaN()
	case "and", "or":
		decisive := truth(e.Op == "or")
		out := 1 - decisive
		for i := range e.Args {
			switch v := arg(i); {
			case v != v:
				out = v
			case truth(v != 0) == decisive:
				return decisive
			}
		}
		return out
	case "in":
		v := arg(0)
		for i := range e.Args[1:] {
			if v == arg(i+1) {
				return 1
			}
		}
		return 0
	case "min", "max":
		out := arg(0)
		for i := range e.Args[1:] {
			if e.Op == "min" {
				out = math.Min(out, arg(i+1))
			} else {
				out = math.Max(out, arg(i+1))
			}
		}
		return out
	}
	a := arg(0)
	if len(e.Args) == 1 {
		switch e.Op {
		case "not":
			if a != a {
				return a
			}
			return truth(a == 0)
		case "-":
			return -a
		case "floor":
			return math.Floor(a)
		case "ceiling":
			return math.Ceil(a)
		case "round":
			return math.RoundToEven(a)
		case "abs":
			return math.Abs(a)
		case "sqrt":
			return math.Sqrt(a)
		case "exp":
			return math.Exp(a)
		default: // "log"
			return math.Log(a)
		}
	}
	b := arg(1)
	switch e.Op {
	case "+":
		return a + b
	case "-":
		return a - b
	case "*":
		return a * b
	case "/":
		return a / b
	case "^":
		return math.Pow(a, b)
	}
	if a != a || b != b {
		return math.NaN()
	}
	switch e.Op {
	case "==":
		return truth(a == b)
	case "!=":
		return truth(a != b)
	case "<":
		return truth(a < b)
	case "<=":
		return truth(a <= b)
	case ">":
		return truth(a > b)
	default: // ">="
		return truth(a >= b)
	}
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// String returns the expression as text; choices are numbers.
func (e Expr) String() string {
	switch {
	case e.Op == "" && e.Param != "":
		return e.Param
	case e.Op == "":
		return strconv.FormatFloat(e.Value, 'g', -1, 64)
	}
	var args []string
	for _, a := range e.Args {
		text := a.String()
		if a.Op != "" && len(a.Args) > 1 && a.Op != "min" && a.Op != "max" {
			text = "(" + text + ")"
		}
		args = append(args, text)
	}
	switch {
	case e.Op == "in":
		return args[0] + " in {" + strings.Join(args[1:], ", ") + "}"
	case len(args) == 1 && e.Op == "-" || e.Op == "not":
		return strings.TrimSuffix(e.Op, "-") + map[bool]string{true: "-", false: " "}[e.Op == "-"] + strings.Join(args, "")
	case len(args) == 1 || e.Op == "min" || e.Op == "max":
		return e.Op + "(" + strings.Join(args, ", ") + ")"
	}
	return strings.Join(args, " "+e.Op+" ")
}
