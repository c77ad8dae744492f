package smac

import (
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
)

// An operation takes as many arguments as it has places, and no others. Those of any
// number take ten.
func TestArity(t *testing.T) {
	const any = 10
	want := map[string][2]int{"-": {1, 2}, "in": {2, any}}
	for _, op := range strings.Fields("and or min max") {
		want[op] = [2]int{1, any}
	}
	for _, op := range strings.Fields("not floor ceiling round abs sqrt exp log") {
		want[op] = [2]int{1, 1}
	}
	for _, op := range strings.Fields("== != < <= > >= + * / ^") {
		want[op] = [2]int{2, 2}
	}
	if got := slices.Sorted(maps.Keys(arity)); !slices.Equal(got, slices.Sorted(maps.Keys(want))) {
		t.Errorf("the operations are %q", got)
	}
	for op, n := range want {
		for k := range any + 1 {
			err := Expr{Op: op, Args: make([]Expr, k)}.check(families(), 0)
			if taken := n[0] <= k && k <= n[1]; taken != (err == nil) {
				t.Errorf("%q of %d arguments: %v", op, k, err)
			}
		}
	}
}

// An expression is printed as one would write it.
func TestExprString(t *testing.T) {
	x, two, three := Expr{Param: "x"}, Expr{Value: 2}, Expr{Value: 3}
	sum := Expr{Op: "+", Args: []Expr{x, two}}
	for want, e := range map[string]Expr{
		"x in {2, 3}":   {Op: "in", Args: []Expr{x, two, three}},
		"x + 2":         sum,
		"(x + 2) * 3":   {Op: "*", Args: []Expr{sum, three}},
		"-x":            {Op: "-", Args: []Expr{x}},
		"not x":         {Op: "not", Args: []Expr{x}},
		"not (x + 2)":   {Op: "not", Args: []Expr{sum}},
		"sqrt(x)":       {Op: "sqrt", Args: []Expr{x}},
		"min(x, 3)":     {Op: "min", Args: []Expr{x, three}},
		"2 - min(x, 3)": {Op: "-", Args: []Expr{two, {Op: "min", Args: []Expr{x, three}}}},
	} {
		if got := e.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// Renaming changes the names of parameters, and nothing else.
func TestExprRenamed(t *testing.T) {
	e := Expr{Op: "+", Args: []Expr{{Param: "x"}, {Op: "min", Args: []Expr{{Param: "y"}, {Value: 3}}}}}
	if got := e.Renamed(func(name string) string { return "a." + name }); got.String() != "a.x + min(a.y, 3)" || got.Args[1].Param != "" || got.Args[1].Args[1].Param != "" {
		t.Errorf("%v was renamed to %+v", e, got)
	}
	if e.String() != "x + min(y, 3)" || !slices.Equal(e.Names(), []string{"x", "y"}) {
		t.Errorf("the expression itself has become %v of %v", e, e.Names())
	}
}

// Each operation computes what it is named after; what depends on a parameter that is
// not active is unknown, unless the other arguments decide.
func TestEval(t *testing.T) {
	space := Space{Params: []Param{{Name: "x", Kind: Float, Lo: -10, Hi: 10}, {Name: "y", Kind: Float, Lo: -10, Hi: 10}, {Name: "off", Kind: Float, Hi: 1}}}
	config, active := []float64{2.5, -3, 0.5}, []bool{true, true, false}
	x, y, off, one, zero := Expr{Param: "x"}, Expr{Param: "y"}, Expr{Param: "off"}, Expr{Value: 1}, Expr{}
	nan := math.NaN()
	for _, c := range []struct {
		op   string
		args []Expr
		want float64
	}{
		{"+", []Expr{x, y}, -0.5},
		{"-", []Expr{x, y}, 5.5},
		{"-", []Expr{y}, 3},
		{"*", []Expr{x, y}, -7.5},
		{"/", []Expr{y, x}, -1.2},
		{"^", []Expr{y, {Value: 2}}, 9},
		{"min", []Expr{x, y, one}, -3},
		{"max", []Expr{y, one, x}, 2.5},
		{"min", []Expr{x, off}, nan},
		{"floor", []Expr{x}, 2},
		{"ceiling", []Expr{x}, 3},
		{"round", []Expr{x}, 2},
		{"abs", []Expr{y}, 3},
		{"sqrt", []Expr{{Value: 9}}, 3},
		{"exp", []Expr{zero}, 1},
		{"log", []Expr{one}, 0},
		{"not", []Expr{x}, 0},
		{"not", []Expr{zero}, 1},
		{"not", []Expr{off}, nan},
		{"==", []Expr{x, x}, 1},
		{"==", []Expr{x, y}, 0},
		{"!=", []Expr{x, x}, 0},
		{"!=", []Expr{x, y}, 1},
		{"<", []Expr{y, x}, 1},
		{"<", []Expr{x, x}, 0},
		{"<=", []Expr{x, x}, 1},
		{"<=", []Expr{x, y}, 0},
		{">", []Expr{x, y}, 1},
		{">", []Expr{x, x}, 0},
		{">=", []Expr{x, x}, 1},
		{">=", []Expr{y, x}, 0},
		{">=", []Expr{off, x}, nan},
		{"in", []Expr{x, y, {Value: 2.5}}, 1},
		{"in", []Expr{x, y, one}, 0},
		{"in", []Expr{off, off}, 0},
		{"and", []Expr{x, y}, 1},
		{"and", []Expr{x, zero, off}, 0},
		{"and", []Expr{off, zero}, 0},
		{"and", []Expr{off, x}, nan},
		{"or", []Expr{zero, zero}, 0},
		{"or", []Expr{zero, y}, 1},
		{"or", []Expr{off, y}, 1},
		{"or", []Expr{zero, off}, nan},
	} {
		e := Expr{Op: c.op, Args: c.args}
		if got := e.eval(&space, config, active); got != c.want && (got == got || c.want == c.want) {
			t.Errorf("%v is %v, want %v", e, got, c.want)
		}
	}
}

// An expression is nested at most 200 times, has parameters of its space, and finite numbers.
func TestExprCheck(t *testing.T) {
	deep := func(n int) Expr {
		e := Expr{Value: 1}
		for range n {
			e = Expr{Op: "not", Args: []Expr{e}}
		}
		return e
	}
	for i, c := range []struct {
		e    Expr
		want string
	}{
		{deep(200), ""}, {deep(201), "nested more than 200 times"}, {Expr{Param: "solver"}, ""}, {Expr{Param: "solvers"}, `has "solvers", which is no parameter`}, {Expr{Value: math.Inf(-1)}, "has the number -Inf"}, {Expr{Value: math.NaN()}, "has the number NaN"},
		{Expr{Args: []Expr{{}}}, "has arguments and no operation"}, {Expr{Op: "mod", Args: []Expr{{}, {}}}, `has the operation "mod" of 2 arguments`}, {Expr{Op: "or", Args: []Expr{{}, {Param: "x"}}}, `has "x"`},
	} {
		if err := c.e.check(families(), 0); (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%d: %v, want %q", i, err, c.want)
		}
	}
}
