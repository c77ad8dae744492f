package randomtest

import (
	_ "embed"
	"fmt"
	"go/ast"
	"go/build"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"hash/fnv"
	"math/rand/v2"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// The grid is the systematic counterpart of the random programs: small functions,
// each of them a form (an operator, a condition in a statement, a list, a
// conversion, an assignment ...) for a type, with operands of some kind, in some
// context. Form, type and kind of the first operand are combined fully; the kinds
// of the other operands, the operators and the contexts rotate, so that each pair
// of two of these occurs. A function is called with all pairs of a few values,
// zero among them, so that conditions go both ways.

// GridHelpers declares what the functions of the grid use.
//
//go:embed grid_helpers.txt
var GridHelpers string

// A GridCase is a function of the grid.
type GridCase struct {
	Number                    int
	Form, Type, Kind, Context string
	Declare                   string // its declarations
	Call                      string // a statement that prints the number and what it returns
	// Cells holds the same as statements of cells, for some of the pairs of
	// values; each cell prints "number.i" and the result. It is nil where the
	// context is another one.
	Cells []string
}

func (c GridCase) String() string {
	return fmt.Sprintf("%d: %s of %s, %s, in a %s", c.Number, c.Form, c.Type, c.Kind, c.Context)
}

// A gridType is a type of the grid.
type gridType struct {
	name   string
	values []string // expressions of the type
	consts []string // constants of the type, or untyped ones
	traits string   // words: what its values can do
}

func (t gridType) can(traits ...string) bool {
	words := strings.Fields(t.traits)
	for _, w := range traits {
		if name, not := strings.CutPrefix(w, "!"); slices.Contains(words, name) == not {
			return false
		}
	}
	return true
}

const (
	isInt   = "integer number ordered comparable basic"
	isFloat = "float number ordered comparable basic"
)

var gridTypes = []gridType{
	{"bool", []string{"false", "true"}, []string{"true", "false"}, "bool comparable basic"},
	{"MyBool", []string{"false", "true"}, []string{"true", "MyBool(false)"}, "bool comparable basic"},
	{"int", []string{"0", "3", "-7", "1 << 62"}, []string{"3", "0", "'a'"}, isInt},
	{"int8", []string{"0", "5", "-128", "127"}, []string{"5", "-128", "0"}, isInt},
	{"int16", []string{"0", "-1", "32767"}, []string{"-1", "0x10"}, isInt},
	{"int32", []string{"0", "-5", "1 << 30"}, []string{"-5", "'b'"}, isInt},
	{"int64", []string{"0", "9", "-1 << 63"}, []string{"9", "-1 << 63"}, isInt},
	{"uint", []string{"0", "4", "1<<64 - 1"}, []string{"4", "0"}, isInt + " unsigned"},
	{"uint8", []string{"0", "7", "255"}, []string{"7", "255"}, isInt + " unsigned"},
	{"uint16", []string{"0", "1", "65535"}, []string{"1", "65535"}, isInt + " unsigned"},
	{"uint32", []string{"0", "2", "1<<32 - 1"}, []string{"2", "0"}, isInt + " unsigned"},
	{"uint64", []string{"0", "2", "1<<64 - 1"}, []string{"2", "1<<64 - 1"}, isInt + " unsigned"},
	{"uintptr", []string{"0", "2", "1<<64 - 1"}, []string{"2", "0"}, isInt + " unsigned"},
	{"MyInt", []string{"0", "2", "-3"}, []string{"2", "MyInt(0)"}, isInt},
	{"MyU8", []string{"0", "200", "100"}, []string{"200", "MyU8(0)"}, isInt + " unsigned"},
	{"MyPtr", []string{"0", "2", "5"}, []string{"2", "MyPtr(5)"}, isInt + " unsigned"},
	{"E", []string{"0", "1", "2"}, []string{"1", "E(2)"}, isInt},
	{"time.Duration", []string{"0", "time.Second", "-5"}, []string{"time.Second", "0"}, isInt},
	{"float32", []string{"0", "0.1", "-2.5", "nan[float32]()"}, []string{"0.1", "0"}, isFloat},
	{"float64", []string{"0", "0.1", "-2.5", "nan[float64]()", "inf()"}, []string{"0.1", "1.0 / 3"}, isFloat},
	{"MyF32", []string{"0", "0.1", "nan[MyF32]()"}, []string{"0.1", "MyF32(0)"}, isFloat},
	{"complex64", []string{"0", "1 + 2i", "-0.5i"}, []string{"1 + 2i", "0.1"}, "complex number comparable basic"},
	{"complex128", []string{"0", "1 + 2i", "-0.5i"}, []string{"1 + 2i", "0.1"}, "complex number comparable basic"},
	{"MyC", []string{"0", "2i"}, []string{"2i", "MyC(0)"}, "complex number comparable basic"},
	{"string", []string{`""`, `"a"`, `"hé\xff"`}, []string{`"a"`, `""`}, "string ordered comparable basic length"},
	{"MyS", []string{`""`, `"b"`, `"abc"`}, []string{`"b"`, `MyS("")`}, "string ordered comparable basic length"},
	{"[]int", []string{"nil", "[]int{}", "[]int{1, 2}"}, nil, "slice nil length ints"},
	{"L", []string{"nil", "L{}", "L{3, 1}"}, nil, "slice nil length ints sum"},
	{"[]byte", []string{"nil", `[]byte("xy")`}, nil, "slice nil length bytes"},
	{"[]string", []string{"nil", `[]string{"", "q"}`}, nil, "slice nil length"},
	{"[2]int", []string{"[2]int{}", "[2]int{1, 2}"}, nil, "array comparable length ints"},
	{"A2", []string{"A2{}", `A2{"x", ""}`}, nil, "array comparable length"},
	{"map[string]int", []string{"nil", "map[string]int{}", `map[string]int{"k": 1}`}, nil, "map nil length"},
	{"M", []string{"nil", `M{"k": 0}`}, nil, "map nil length"},
	{"P", []string{"P{}", `P{1, "p"}`, `P{0, "q"}`}, nil, "struct comparable sum"},
	{"Q", []string{"Q{}", `Q{P{1, "p"}, 0.5, [2]int{1, 2}}`}, nil, "struct comparable sum"},
	{"struct{ A, B int }", []string{"struct{ A, B int }{}", "struct{ A, B int }{1, 0}"}, nil, "comparable"},
	{"*P", []string{"nil", "&P{}", `&P{2, "r"}`}, nil, "pointer nil sum comparable"},
	{"*int", []string{"nil", "new(int)"}, nil, "nil comparable"},
	{"any", []string{"nil", "0", `""`, "P{}", "[]int{1}", "MyInt(0)", "nan[float64]()"}, nil, "interface nil comparable"},
	{"I", []string{"nil", "P{}", `&P{1, "i"}`, "L{1}"}, nil, "interface nil comparable sum"},
	{"error", []string{"nil", "errors.New(\"e\")"}, nil, "interface nil comparable"},
	{"fmt.Stringer", []string{"nil", "E(1)", "time.Second"}, nil, "interface nil comparable"},
	{"func(int) int", []string{"nil", "func(n int) int { return n + 1 }"}, nil, "func nil"},
	{"F", []string{"nil", "func(n int) int { return -n }"}, nil, "func nil"},
	{"chan int", []string{"nil", "make(chan int, 2)"}, nil, "chan nil comparable"},
	{"Box[int]", []string{"Box[int]{}", "Box[int]{V: 1}"}, nil, ""},
}

// gridKinds are the kinds of operands, as expressions of a variable v of type T.
// b is a *Box[T] that holds v.
var gridKinds = []struct{ name, text string }{
	{"variable", "{v}"},
	{"constant", ""},
	{"field", "b{v}.V"},
	{"field of a field", "b{v}.N.V"},
	{"element of an array", "b{v}.A[1]"},
	{"element of a slice", "b{v}.S[i]"},
	{"element of a map", `b{v}.M["k"]`},
	{"what a pointer points to", "*p{v}"},
	{"what a field points to", "*b{v}.P"},
	{"call", "id({v})"},
	{"call of a method", "b{v}.Get()"},
	{"call of a pointer's method", "b{v}.PGet()"},
	{"call of a variable", "f{v}()"},
	{"conversion", "({T})({v})"},
	{"type assertion", "a{v}.({T})"},
	{"type assertion of a field", "b{v}.I.({T})"},
	{"receive", "<-sent({v})"},
	{"call of a literal", "func() {T} { return {v} }()"},
	{"element of a literal", "[]{T}{{v}}[0]"},
	{"element of a map's literal", "map[int]{T}{1: {v}}[i]"},
	{"field of a literal", "struct{ V {T} }{{v}}.V"},
	{"address taken", "*&{v}"},
	{"parentheses", "({v})"},
	{"element of an element", "[][]{T}{{{v}}}[0][i-1]"},
}

// gridNeeds are the variables that operands and places use.
var gridNeeds = []struct{ name, define string }{
	{"bx", "bx := box(x, y)"}, {"by", "by := box(y, x)"},
	{"px", "px := &x"}, {"py", "py := &y"},
	{"fx", "fx := func() {T} { return x }"}, {"fy", "fy := func() {T} { return y }"},
	{"ax", "var ax any = x"}, {"ay", "var ay any = y"},
	{"i", "i := 1"}, {"ok", "ok := false"},
}

// gridPlaces are what can be assigned to.
var gridPlaces = []string{"x", "bx.V", "bx.N.V", "bx.A[1]", "bx.A[i]", "bx.S[i]", `bx.M["k"]`, `bx.M["new"]`, "*px", "*bx.P", "bx.N.S[0]", "(*bx).A[i+1]"}

// A gridForm is a form of functions. In its texts, one of which is taken in turn, {x}
// and {y} are operands, {w} is one of y of another kind, {T} the type, {c} and {d} are
// conditions, {op} is an operator, {l} a constant or a simple value, and {p} a place.
// The forms if and operator are taken with each condition and operator.
type gridForm struct {
	name   string
	traits []string // of the types that it is for
	texts  []string
}

// conditions returns conditions for operands of a type.
func (t gridType) conditions() (list []string) {
	if t.can("comparable") {
		list = append(list, "{x} == {y}", "{x} != {y}", "{x} == {l}")
	}
	if t.can("ordered") {
		list = append(list, "{x} < {y}", "{x} <= {y}", "{x} > {y}", "{x} >= {y}", "{x} > {l}", "{l} <= {y}")
	}
	if t.can("bool") {
		list = append(list, "{x}", "{y}", "!{x}", "{x} && {y}", "{x} || {y}", "!({x} || {y})", "({y} || {x}) && {x}")
	}
	if t.can("nil") {
		list = append(list, "{x} == nil", "{y} != nil", "nil == {y}")
	}
	if t.can("length") {
		list = append(list, "len({x}) > 0", "len({x}) == len({y})", "len({y}) == 0")
	}
	if t.can("integer") {
		list = append(list, "{x}&1 == 0", "{x}%3 < {y}%3")
	}
	return list
}

// operators returns the operators that compute a value of a type of two others.
func (t gridType) operators() []string {
	switch {
	case t.can("integer"):
		return []string{"+", "-", "*", "/", "%", "&", "|", "^", "&^"}
	case t.can("number"):
		return []string{"+", "-", "*", "/"}
	case t.can("string"):
		return []string{"+"}
	case t.can("bool"):
		return []string{"&&", "||"}
	}
	return nil
}

var gridForms = []gridForm{
	// Conditions.
	{"if", nil, []string{`if {c} { r += "t" } else { r += "f" }`}},
	{"if else if", nil, []string{`if {c} { r += "1" } else if {d} { r += "2" } else { r += "3" }`, `if n := len(r); {c} && n == 0 { r += "t" } else if !({d}) { r += sh(n) }`}},
	{"for", nil, []string{`for n := 0; {c}; n++ { r += "."; if n == 2 { break } }`, `n := 0; for {c} { if n++; n == 3 { break } }; r += sh(n)`, `for n := 0; n < 3 && ({c}); n++ { if {d} { continue }; r += "." }`}},
	{"logical operators", nil, []string{`r += sh({c} && {d})`, `r += sh({c} || {d})`, `if {c} && {d} || !({c}) { r += "t" }`, `z := {c} || {d} && {c}; r += sh(z, !z)`}},
	{"value of a condition", nil, []string{`z := {c}; r += sh(z, !z)`, `var z MyBool = MyBool({c}); r += sh(z)`, `var z MyBool = {c}; r += sh(z)`, `r += sh(func() bool { return {c} }())`, `r += sh(id({c}))`, `var z any = {c}; w, ok := z.(bool); r += sh(z, w, ok)`,
		`z := []bool{{c}, {d}}; r += sh(z)`, `m := map[bool]int{}; m[{c}]++; m[{d}]++; r += sh(m)`, `q := make(chan bool, 1); q <- {c}; r += sh(<-q)`, `var z bool; z, w := {c}, {d}; r += sh(z, w)`, `z := struct{ B bool; T {T} }{B: {c}}; z.B = !z.B == ({d}); r += sh(z.B)`}},
	{"switch of conditions", nil, []string{`switch { case {c}: r += "1"; case {d}, {c}: r += "2"; default: r += "3" }`, `switch { default: r += "3"; case {c} && {d}: r += "1"; case {d}: r += "2"; case {c}: r += "4" }`,
		`switch {c} { case {d}: r += "1"; case true: r += "2"; default: r += "3" }`, `switch { case {c}: r += "1"; fallthrough; case {d}: r += "2"; case !({d}): r += "3" }`, `switch n := 1; { case {d} || {c} && n > 1, n == 0: r += "1"; default: r += "d" }`}},
	{"labels", nil, []string{`out: for n := 0; n < 3; n++ { for { if {c} { continue out }; if n == 1 { break out }; break }; r += "." }`, `n := 0; again: n++; if ({c}) && n < 3 { goto again }; r += sh(n)`, `out: switch { case {c}: for { if {d} { break out }; break }; r += "1"; default: r += "2" }`}},
	{"condition put off", nil, []string{`func() { defer func(z bool) { r += sh(z) }({c}) }()`, `q := make(chan bool); go func(z bool) { q <- z }({c}); r += sh(<-q)`, `f := func() bool { return {c} }; r += sh(f() && f(), f() || {d})`}},

	// Switches by value.
	{"switch", []string{"comparable"}, []string{`switch {x} { case {y}: r += "y"; default: r += "d" }`, `switch {x} { case {l}: r += "l"; case {y}: r += "y" }`}},
	{"list of a case", []string{"comparable"}, []string{`switch {x} { case {y}, {w}: r += "1"; case {l}: r += "2"; default: r += "d" }`, `switch {x} { default: r += "d"; case {l}, {y}: r += "1"; case {w}, {x}: r += "2" }`, `switch v := {y}; v { case {x}: r += "1"; case {l}, {w}: r += "2" }`}},
	{"fallthrough", []string{"comparable"}, []string{`switch {x} { case {y}: r += "1"; fallthrough; case {l}: r += "2"; default: r += "3"; fallthrough; case {w}: r += "4" }`, `for n := 0; n < 2; n++ { switch {x} { case {y}: continue; case {l}: break; default: r += "d" }; r += "." }`}},
	{"switch of an interface", nil, []string{`switch any({x}) { case any({y}), nil, 3: r += "1"; case "a", 0.1: r += "2"; default: r += "d" }`, `var z any = {x}; switch z { case {y}: r += "1"; case {l}: r += "2" }`}},

	// Types of interface values.
	{"type switch", nil, []string{`switch v := any({x}).(type) { case nil: r += sh(v); case {T}: r += "T" + sh(v); case fmt.Stringer, error: r += "I"; default: r += sh(v) }`, `switch any({x}).(type) { case int, string, []int: r += "1"; case I: r += "2"; case nil: r += "3" }`}},
	{"type assertion", nil, []string{`v, ok := any({x}).({T}); r += sh(v, ok)`, `v, ok := any({x}).(int); r += sh(v, ok)`, `_, ok := any({x}).(fmt.Stringer); r += sh(ok)`, `r += sh(any({x}).(MyInt))`, `if v, ok := any({x}).(I); ok && v != nil { r += sh(v.Sum()) } else { r += "no" }`, `r += sh(any({x}).(I).Sum())`, `var v {T}; v, ok = any({y}).({T}); r += sh(v, ok)`}},
	{"comparison of interfaces", nil, []string{`r += sh(any({x}) == any({y}))`, `r += sh(any({x}) != {y})`, `z := any({x}); r += sh(z == z, z == nil, {y} == z)`, `m := map[any]int{}; m[{x}]++; m[{y}]++; r += sh(len(m), m[{x}])`}},

	// Operators.
	{"operator", []string{"basic"}, []string{`r += sh({x} {op} {y})`}},
	{"value of an operator", []string{"basic"}, []string{`z := {x} {op} {y}; r += sh(z)`, `var z any = {x} {op} {y}; r += sh(z)`, `r += sh(func() {T} { return {x} {op} {y} }())`, `r += sh(func() any { return {x} {op} {y} }())`, `z := []{T}{{x} {op} {y}, {l} {op} {w}}; r += sh(z)`, `z := {x} {op} {y} {op} {w}; z = z {op} ({l} {op} z); r += sh(z)`,
		`r += sh(id({x} {op} {y}), many({w} {op} {l}, {x}))`, `bx.V = {x} {op} {y}; bx.M["k"] = {y} {op} {l}; r += sh(bx.V, bx.M)`}},
	{"operator of constants", []string{"basic"}, []string{`const k = {l}; r += sh(k {op} {y}, {x} {op} k)`, `const k {T} = {l}; z := k; z = {x} {op} z; r += sh(z, k)`}},
	{"operator and assignment", []string{"basic"}, []string{`{p} {op}= {y}; r += sh({p}, x)`, `for n := 0; n < 2; n++ { {p} {op}= {x} }; r += sh({p}, x)`, `{p} {op}= {l}; r += sh({p})`}},
	{"increment", []string{"number"}, []string{`{p}++; r += sh({p}, x)`, `{p}--; {p}--; r += sh({p}, x)`}},
	{"shift", []string{"integer"}, []string{`r += sh({x} << 3, {x} >> 1)`, `r += sh({x} << ({y} & 7))`, `r += sh({x} << {y})`, `r += sh({x} >> uint8({y}))`, `var z {T} = 1 << ({y} & 3); r += sh(z)`, `{p} <<= {y} & 3; r += sh({p}); {p} >>= 1; r += sh({p})`, `z := 1 << ({x} & 5); r += sh(z, uint8(1)<<({y}&7), -8 >> ({y}&7))`}},
	{"sign", []string{"number"}, []string{`r += sh(-{x}, +{y})`, `z := -{x}; z = -z - {y}; r += sh(z)`, `var z any = -{x}; r += sh(z)`}},
	{"complement", []string{"integer"}, []string{`r += sh(^{x})`, `r += sh(-(^{x}) & {y}, ^{y} | {l})`}},
	{"not", []string{"bool"}, []string{`r += sh(!{x})`, `z := !{x}; z = !z != {y}; r += sh(z)`, `var z any = !{x}; r += sh(z, !!{y})`}},
	{"precedence", []string{"number"}, []string{`r += sh(({x} + {y}) * {x} - {y} * ({l} - {w}))`, `r += sh({x} - ({y} - ({x} - {w})))`}},
	{"min and max", []string{"ordered"}, []string{`r += sh(min({x}, {y}))`, `r += sh(max({x}, {l}, {y}))`, `z := min({y}, {x}, {w}) == max({x}, {y}); r += sh(z)`}},
	{"parts of complex numbers", []string{"complex"}, []string{`r += sh(real({x}), imag({y}))`, `r += sh(complex(real({x}), imag({y})))`, `r += sh({x} / {l}, {l} / {y}, {x} / 2i)`, `x /= {l}; y /= 2; r += sh(x, y)`}},

	// Assignments.
	{"assignment", nil, []string{`{p} = {y}; r += sh({p}, x)`}},
	{"parallel assignment", nil, []string{`{p}, y = {y}, {x}; r += sh({p}, x, y)`, `x, {p} = {y}, x; r += sh(x, {p})`, `x, y = {y}, {x}; r += sh(x, y)`, `bx.S[0], bx.S[i] = bx.S[i], {x}; r += sh(bx.S)`, `i, bx.S[i] = 0, {y}; r += sh(i, bx.S)`}},
	{"assignment of results", nil, []string{`{p}, y = two({x}, {y}); r += sh({p}, y)`, `z, w := two({x}, {y}); z, v := two(w, z); r += sh(z, w, v)`, `var z, w any = two({x}, {y}); r += sh(z, w)`, `_, {p} = two({x}, {y}); r += sh({p})`}},
	{"assignment with ok", nil, []string{`{p}, ok = bx.M["none"]; r += sh({p}, ok)`, `{p}, ok = <-sent({x}); r += sh({p}, ok)`, `v, ok := <-sent[{T}](); r += sh(v, ok)`, `v, ok := map[string]{T}{"a": {x}}["a"]; r += sh(v, ok)`, `{p}, bx.M["ok"] = {x}, {y}; r += sh(len(bx.M), {p})`}},
	{"declaration", nil, []string{`z, w := {x}, {y}; z, v := w, z; r += sh(z, w, v)`, `var z, w {T} = {x}, {y}; r += sh(z, w)`, `var z = {x}; { z := {y}; r += sh(z) }; r += sh(z)`, `var z {T}; r += sh(z); z = {x}; p := &z; *p = {y}; r += sh(z)`, `var z any = {x}; r += sh(z)`, `var f func() any = func() any { return {x} }; r += sh(f())`, `z := {x}; f := func() { z = {y} }; f(); r += sh(z)`}},
	{"constant", []string{"basic"}, []string{`const k, l = {l}, 2; z := k; var w {T} = k; r += sh(z, w, l); z = k; _ = {x}`, `const k {T} = {l}; var z any = k; r += sh(z, {x}); func() { const k = 1; r += sh(k) }()`}},

	// Literals, lists, spreads.
	{"literal", nil, []string{`z := []{T}{{x}, 2: {y}}; r += sh(z)`, `z := [...]{T}{1: {x}, {y}}; w := z; w[0] = {y}; r += sh(z, w, len(z))`, `z := map[string]{T}{"a": {x}, "b": {y}}; r += sh(len(z), z["a"], z["b"], z["c"])`, `z := struct{ A, B {T} }{{x}, {y}}; w := z; w.A = {y}; r += sh(z, w.A)`, `z := &Box[{T}]{V: {x}, A: [3]{T}{1: {y}}}; w := *z; w.A[1] = {x}; r += sh(z.V, z.A, w.A, w.Get())`,
		`z := [][]{T}{{{x}}, {{y}, {x}}, nil}; r += sh(len(z), z[1])`, `z := map[string][]{T}{"a": {{x}}}; z["a"] = append(z["a"], {y}); r += sh(z["a"])`, `z := []*Box[{T}]{{V: {x}}, {V: {y}}}; r += sh(z[0].V, z[1].V)`, `z := []struct{ A {T}; B any }{{{x}, {y}}, {B: 1}}; r += sh(z[0].A, z[0].B, z[1].A)`, `z := []any{{x}, {y}, nil}; r += sh(z...)`}},
	{"key", []string{"comparable"}, []string{`z := map[{T}]int{{x}: 1}; z[{y}] += 2; r += sh(len(z), z[{x}], z[{w}])`, `z := map[{T}]{T}{{x}: {y}}; v, ok := z[{y}]; delete(z, {x}); r += sh(v, ok, len(z))`, `z := map[[1]{T}]bool{{{x}}: true}; r += sh(z[[1]{T}{{y}}])`, `z := map[struct{ A {T}; B int }]int{{{x}, 1}: 1}; r += sh(z[struct{ A {T}; B int }{{y}, 1}])`}},
	{"append", nil, []string{`z := append([]{T}{{x}}, {y}, {x}); r += sh(z)`, `z := []{T}{{x}, {y}}; z = append(z, z...); z = append(z[:1], z[2:]...); r += sh(z)`, `var z []{T}; z = append(z, {x}); w := append(z, {y}); r += sh(len(z), w)`, `z := make([]{T}, 2); n := copy(z, []{T}{{x}, {y}, {x}}); r += sh(n, z)`, `bx.S = append(bx.S, {y}); r += sh(bx.S)`, `z := [2]{T}{{x}, {y}}; w := z[:]; w[0] = {y}; r += sh(z, w); clear(w); r += sh(z)`}},
	{"variadic call", nil, []string{`r += sh(many({x}, {y}), many[{T}](), many([]{T}{{y}, {x}}...))`, `f := func(n int, v ...{T}) string { return sh(n, len(v), v) }; r += f(1) + f(2, {x}) + f(3, {x}, {y}) + f(4, []{T}{{y}}...) + f(5, nil...)`, `r += sh([]any{{x}, {y}}...)`, `r += fmt.Sprintf("%T %T", {x}, {y})`, `f := many[{T}]; r += sh(f({x}), f(f({y}, {x})...))`, `func() { defer func(v ...{T}) { r += sh(v) }(many({x}, {y})...) }()`, `f := func(v ...any) string { return sh(len(v)) }; r += f({x}) + f({x}, {y}) + f([]any{{x}}...)`}},
	{"range", nil, []string{`for i, v := range []{T}{{x}, {y}} { r += sh(i, v) }`, `for i, v := range [2]{T}{{x}, {y}} { x = v; r += sh(i, x) }`, `for k, v := range map[string]{T}{"a": {x}} { r += sh(k, v) }`, `for v := range sent({x}, {y}) { r += sh(v) }`, `for v := range seq({x}, {y}) { if r != "" { break }; r += sh(v) }`, `var fs []func() {T}; for _, v := range []{T}{{x}, {y}} { fs = append(fs, func() {T} { return v }) }; r += sh(fs[0](), fs[1]())`, `z := &[2]{T}{{x}, {y}}; for i, v := range z { z[1] = {x}; r += sh(i, v) }`, `for i, bx.V = range []{T}{{x}, {y}} { r += sh(i, bx.V) }`, `for i := range []{T}{{x}, {y}} { r += sh(i) }`}},
	{"range of the value", []string{"!chan"}, []string{`for i, v := range {x} { r += sh(i, v) }`, `for i := range {x} { if r += sh(i); len(r) > 40 { break } }`, `n := 0; for range {x} { if n++; n > 3 { break } }; r += sh(n)`, `for i := range {x} & 3 { r += sh(i) }`, `for i := range {l} & 3 { r += sh(i) }`}},

	// Functions.
	{"results", nil, []string{`f := func() ({T}, any, error) { return {x}, {y}, nil }; a, b, c := f(); r += sh(a, b, c)`, `f := func() (a, b {T}) { a, b = {x}, {y}; return b, a }; r += sh(f())`, `f := func(v {T}) (w {T}) { defer func() { w = v }(); return {y} }; r += sh(f({x}))`, `f := func(v {T}, w any, n ...int) {T} { if n == nil { return v }; return {y} }; r += sh(f({x}, {y}), f({x}, nil, 1))`, `r += sh(many(two({x}, {y})))`, `f := func(a, b {T}) (any, any) { return b, a }; r += sh(f(two({x}, {y})))`}},
	{"closure", nil, []string{`f := func() {T} { x = {y}; return x }; r += sh(f(), x)`, `f := func(x {T}) func() {T} { return func() {T} { y = x; return y } }; r += sh(f({x})(), y)`, `n := 0; var f func(v {T}) {T}; f = func(v {T}) {T} { if n++; n < 3 { return f(v) }; return v }; r += sh(f({x}), n)`}},
	{"method value", nil, []string{`f := bx.Get; bx.V = {y}; r += sh(f(), bx.Get())`, `f := bx.PGet; bx.V = {y}; r += sh(f())`, `f := Box[{T}].Get; g := (*Box[{T}]).PGet; r += sh(f(*bx), g(bx), {x})`, `var g interface{ Get() {T} } = Box[{T}]{V: {x}}; r += sh(g.Get())`}},
	{"deferred call", nil, []string{`func() { defer func(z {T}) { r += sh(z, x) }({x}); x = {y} }()`, `r += sh(func() (z {T}) { defer func() { recover(); z = {y} }(); z = {x}; panic("p") }())`, `func() { defer func() { r += sh(recover()) }(); panic({x}) }()`, `for n := range 2 { func() { defer func() { r += sh(n) }(); if n == 1 { x = {y} } }() }; r += sh(x)`, `func() { defer func() { e := recover(); v, ok := e.({T}); r += sh(v, ok) }(); panic({x}) }()`}},
	{"goroutine", nil, []string{`q := make(chan {T}, 2); go func(z {T}) { q <- z }({x}); r += sh(<-q)`, `q := make(chan {T}, 1); q <- {x}; select { case v, ok := <-q: r += sh(v, ok); default: r += "d" }`, `q := make(chan {T}, 1); for range 2 { select { case q <- {y}: r += "s"; default: r += "full" } }; r += sh(<-q)`, `q := make(chan any, 1); q <- {x}; close(q); v := <-q; w, ok := <-q; r += sh(v, w, ok)`, `q := make(chan struct{}); go func() { defer close(q); defer func() { recover() }(); x = {y} }(); <-q; r += sh(x)`}},

	// What values of a type can do.
	{"index", []string{"integer"}, []string{`q := []int{1, 2, 3, 4}; r += sh(q[{x} & 3]); r += sh(q[{x}])`, `q := "abcdefgh"; r += sh(q[{x} & 3:], q[:{y} & 3]); r += sh(q[{x}:{y}])`, `q := [4]int{1, 2}; q[{x} & 3]++; r += sh(q); r += sh(q[{y}:])`, `r += sh(len(make([]int, {x} & 7, {y} & 7 | 8)))`, `q := &[3]{T}{{x}}; q[{y} & 1] = {x}; r += sh(q[{l} & 1])`}},
	{"conversion of integers", []string{"integer"}, []string{`r += sh(int({x}), uint8({y}))`, `r += sh(int8({x}), uint64({y}))`, `r += sh(uint16({x}), int32({y}), uintptr({x}))`, `r += sh(float64({x}), float32({y}), MyF32({x}))`, `r += sh(MyInt({x}), MyU8({y}), E({x} & 3), MyPtr({y}))`, `r += sh(string(rune({x} & 0xff & 0x7f)), time.Duration({y}))`, `r += sh(complex(float64({x}), 1), int64({y}))`, `var z int64 = int64({x}) + int64(MyU8({y})); r += sh(z, {T}(z))`}},
	{"conversion of floats", []string{"float"}, []string{`r += sh(float64({x}), float32({y}), MyF32({x}))`, `if {x} > -100 && {x} < 100 { r += sh(int({x}), int8({x}), int64({x})) }`, `if {x} >= 0 && {x} < 100 { r += sh(uint8({x}), uint({x}), MyU8({x})) }`, `r += sh({x} == {x}, {x} < {y} || {x} >= {y}, complex({x}, {y}))`}},
	{"conversion of texts", []string{"string"}, []string{`r += sh(string({x}), MyS({y}), []byte({x}))`, `r += sh([]rune({x}), string([]rune({y})), string([]byte({x}[:len({x})/2])))`, `z := append([]byte("q"), {x}...); r += sh(z); n := copy(z, {y}); r += sh(n, z)`, `for i, c := range {x} { r += sh(i, c, string(c)) }`, `z := {x}; r += sh(z[len(z)/2:], len(z+{y})); r += sh(z[1])`, `r += sh(strings.Repeat(string({x}), 2), strings.Contains(string({y}), string({x})))`}},
	{"conversion of bytes", []string{"bytes"}, []string{`r += sh(string({x}), MyS({y}), string({x}) == string({y}))`, `r += sh([2]byte(append({x}, 1, 2)), [1]byte({y}))`}},
	{"conversion to an interface", nil, []string{`z := any({x}); r += sh(z)`, `var z any = {x}; z, w := any({y}), z; r += sh(z, w)`, `z := [2]any{{x}, {y}}; r += sh(z[0], z[1], z[0] == nil)`, `f := func(v any) string { return sh(v) }; r += f({x}) + f({y})`, `z := map[string]any{"a": {x}}; r += sh(z["a"], z["b"])`, `q := make(chan any, 1); q <- {x}; r += sh(<-q)`, `z := struct{ V any }{{x}}; z.V = {y}; r += sh(z.V)`}},
	{"element", []string{"length", "!string", "!map"}, []string{`z := {x}; r += sh(len(z), z[0])`, `z := {x}; r += sh(z[1:]); z[0] = z[1]; r += sh(z)`, `r += sh({x}[len({x})-1])`, `z := {x}; if len(z) > 1 { z[i] = z[0] }; r += sh(z, x)`}},
	{"elements of numbers", []string{"ints"}, []string{`z := {x}; z[0]++; z[i] += z[0]; r += sh(z, x)`, `n := 0; for _, v := range {x} { n += v }; r += sh(n)`}},
	{"slice", []string{"slice"}, []string{`r += sh({x}[:0], {x}[0:], cap({x}[:0:0]))`, `r += sh(append({x}, {y}...))`, `z := {x}; r += sh(z[:1], z[1:2:2])`, `var z any = {x}; r += sh(z == nil, {x} == nil)`}},
	{"element of a map", []string{"map"}, []string{`r += sh({x}["k"], len({x}))`, `v, ok := {x}["k"]; r += sh(v, ok)`, `{x}["n"]++; r += sh({x}["n"], len(x))`, `z := {x}; z["n"] = 2; delete(z, "k"); r += sh(z)`, `if v, ok := {x}["k"]; ok && v == 0 { r += "zero" } else if !ok { r += "none" }`, `switch {x}["k"] { case {y}["k"], 5: r += "1"; default: r += "d" }`, `clear({x}); r += sh(x)`}},
	{"field", []string{"struct"}, []string{`r += sh({x}.X, {y}.S)`, `z := {x}; z.X += {y}.X; z.S += "+"; r += sh(z, x)`, `z := &{T}{}; *z = {x}; z.X++; r += sh(z.X, x.X, z.S == {y}.S)`, `if {x}.X > 0 && {y}.S != "" { r += "t" } else { r += "f" }`, `switch {x}.X { case {y}.X, 1: r += "1"; default: r += "d" }`, `z := {x}; r += sh(z.Inc(), z.X, z.Sum())`}},
	{"what a pointer points to", []string{"pointer"}, []string{`r += sh({x}.X, {x}.S)`, `{x}.X++; r += sh({x}.Inc(), *{x})`, `z := *{x}; z.X = 9; r += sh({x}.X, z)`, `if {x} != nil && {x}.X == 0 { r += "t" } else { r += "f" }`, `*{x} = P{7, "s"}; r += sh(*{x})`, `*{x}, {y} = P{}, {x}; r += sh(y)`}},
	{"call of a method", []string{"sum"}, []string{`r += sh({x}.Sum())`, `f := {x}.Sum; r += sh(f())`, `var z I = {x}; r += sh(z.Sum())`, `if {x}.Sum() > 0 { r += "t" }`, `switch {x}.Sum() { case {y}.Sum(), 2: r += "1"; default: r += "d" }`, `func() { defer func() { r += sh(recover() != nil) }(); r += sh({x}.Sum()) }()`}},
	{"call of a value", []string{"func"}, []string{`r += sh({x}(3))`, `f := {x}; if f != nil && f(1) > 0 { r += sh(f({y}(2))) }`, `func() { defer {x}(1); r += "d" }()`, `z := []func(int) int{{x}, {y}}; r += sh(z[0] == nil, z[1](2))`, `switch {x}(1) { case {y}(1), 2: r += "1"; default: r += "d" }`}},
	{"copy", nil, []string{`z := *box({x}, {y}); w := z; w.V = {y}; w.A[0] = {x}; r += sh(z.V, w.V, z.A, w.A)`, `z := [2][1]{T}{{{x}}, {{y}}}; w := z; w[0] = z[1]; r += sh(z, w)`, `z := map[string]Box[{T}]{"a": {V: {x}}}; w := z["a"]; w.V = {y}; r += sh(z["a"].V, w.V)`, `z := []Box[{T}]{{V: {x}}}; for _, v := range z { v.V = {y} }; z[0].A[i] = {y}; r += sh(z[0].V, z[0].A)`}},
}

// gridContexts are where the forms stand.
var gridContexts = []string{"function", "method", "closure", "goroutine", "generic function", "deferred call", "cell"}

// A gridPoint is a combination that is a function, or is not Go.
type gridPoint struct{ form, typ, kind, choice int }

// gridPoints returns all combinations in a fixed order.
func gridPoints() (list []gridPoint) {
	for fi, f := range gridForms {
		for ti, t := range gridTypes {
			if !t.can(f.traits...) {
				continue
			}
			choices := 1
			switch f.name {
			case "if":
				choices = len(t.conditions())
			case "operator":
				choices = len(t.operators())
			}
			for ki, k := range gridKinds {
				if k.text == "" && t.consts == nil {
					continue
				}
				for c := range choices {
					list = append(list, gridPoint{fi, ti, ki, c})
				}
			}
		}
	}
	return list
}

// Grid returns n functions of the grid that the seed draws, all of them if n is 0.
// They are checked by package go/types: combinations that are not Go are left out.
func Grid(n int, seed uint64) ([]GridCase, error) {
	points := gridPoints()
	order := make([]int, len(points))
	for i := range order {
		order[i] = i
	}
	if n > 0 {
		rand.New(rand.NewPCG(seed, 0)).Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	}
	g, err := newGrid()
	if err != nil {
		return nil, err
	}
	var cases []GridCase
	for _, i := range order {
		if n > 0 && len(cases) == n {
			break
		}
		if c, ok := g.write(i, points[i]); ok {
			cases = append(cases, c)
		}
	}
	slices.SortFunc(cases, func(a, b GridCase) int { return a.Number - b.Number })
	return cases, nil
}

// chosen returns a number below n that depends on a point, evenly spread.
func (p gridPoint) chosen(what string, n int) int {
	h := fnv.New32a()
	fmt.Fprint(h, p, what)
	return int(h.Sum32()>>3) % n
}

// operand returns the operand of a kind of a variable.
func (t gridType) operand(p gridPoint, kind int, v string) string {
	text := gridKinds[kind].text
	if text == "" {
		return t.consts[p.chosen("constant "+v, len(t.consts))]
	}
	if v == "w" {
		v = "y"
	}
	text = strings.ReplaceAll(text, "{v}", v)
	if strings.ContainsAny(strings.ReplaceAll(text, "{T}", ""), "{") || strings.Contains(t.name, "{") {
		text = "(" + text + ")" // for the head of a statement
	}
	return text
}

var wordRE = regexp.MustCompile(`[a-z]+`)

// write returns the function of a point, if there is one.
func (g *grid) write(number int, p gridPoint) (GridCase, bool) {
	f, t := gridForms[p.form], gridTypes[p.typ]
	c := GridCase{Number: number, Form: f.name, Type: t.name, Kind: gridKinds[p.kind].name, Context: gridContexts[(p.kind+3*p.typ+p.form+p.choice)%len(gridContexts)]}
	body := f.texts[(p.kind+p.typ)%len(f.texts)]
	pick := func(place, what string, list []string) bool {
		for i := 0; strings.Contains(body, place); i++ {
			if len(list) == 0 {
				return false
			}
			k := p.choice
			if i > 0 || f.name != what {
				k = p.chosen(place, len(list))
			}
			body = strings.ReplaceAll(body, place, list[k])
		}
		return true
	}
	if !pick("{c}", "if", t.conditions()) || !pick("{d}", "", t.conditions()) || !pick("{op}", "operator", t.operators()) || !pick("{p}", "", gridPlaces) {
		return c, false
	}
	other := func(v string) int {
		for i := 0; ; i++ {
			k := p.chosen(fmt.Sprint(v, i), len(gridKinds))
			if gridKinds[k].text != "" || t.consts != nil {
				return k
			}
		}
	}
	simple := "({T})(" + t.values[1] + ")"
	if t.consts != nil {
		simple = t.consts[p.chosen("l", len(t.consts))]
	}
	body = strings.NewReplacer("{x}", t.operand(p, p.kind, "x"), "{y}", t.operand(p, other("y"), "y"), "{w}", t.operand(p, other("w"), "w"), "{l}", simple).Replace(body)
	used := map[string]bool{}
	for _, w := range wordRE.FindAllString(body, -1) {
		used[w] = true
	}
	before := "r := \"\"\n"
	for _, n := range gridNeeds {
		if used[n.name] {
			before += n.define + "\n"
		}
	}
	body = before + body + "\n"
	context := c.Context
	if context == "generic function" && !t.can("basic") && strings.Contains(body, ".({T})") {
		context = "plain generic function" // Go 1.26's compiler fails at x.(Z) == y of structs and arrays
	}
	if c.Declare, c.Call = t.function(number, context, body); !g.valid(c.Declare) {
		if c.Context != "generic function" {
			return c, false
		}
		if c.Declare, c.Call = t.function(number, "plain generic function", body); !g.valid(c.Declare) {
			return c, false
		}
	}
	if c.Context == "cell" {
		for i, pair := range [][2]int{{0, 1}, {1, 1}, {len(t.values) - 1, 0}} {
			c.Cells = append(c.Cells, fmt.Sprintf("var x, y %s = %s, %s\n%sfmt.Printf(\"%d.%d %%s\\n\", strings.ReplaceAll(r, \"\\n\", \" \"))",
				t.name, t.values[pair[0]], t.values[pair[1]], strings.ReplaceAll(body, "{T}", t.name), number, i))
		}
	}
	return c, true
}

// function returns the declarations of a function with a body, and its call.
func (t gridType) function(number int, context, body string) (declare, call string) {
	name := fmt.Sprintf("g%d", number)
	called, own := name, t.name
	switch context {
	case "function", "cell":
		declare = "func {f}(x, y {T}) string {\n{body}return r\n}\n"
	case "method":
		called = fmt.Sprintf("R%d{}.%s", number, name)
		declare = fmt.Sprintf("type R%d struct{}\nfunc (R%[1]d) {f}(x, y {T}) string {\n{body}return r\n}\n", number)
	case "closure":
		declare = "func {f}(x, y {T}) string {\nf := func() string {\n{body}return r\n}\nreturn f()\n}\n"
	case "goroutine":
		declare = "func {f}(x, y {T}) string {\ndone := make(chan string, 1)\ngo func() {\ndefer func() { if e := recover(); e != nil { done <- raised(e) } }()\n{body}done <- r\n}()\nreturn <-done\n}\n"
	case "generic function":
		called, own = name+"["+t.name+"]", "Z"
		declare = "func {f}[Z interface{ " + t.name + " }](x, y Z) string {\n{body}return r\n}\n"
	case "plain generic function":
		name += "p"
		called = name + "[string]"
		declare = "func {f}[Z any](x, y {T}) string {\n{body}return r\n}\n"
	case "deferred call":
		declare = "func {f}(x, y {T}) (s string) {\ndefer func() {\n{body}s = r\n}()\nreturn \"\"\n}\n"
	}
	declare = strings.NewReplacer("{f}", name, "{body}", strings.ReplaceAll(body, "{T}", own), "{T}", t.name).Replace(declare)
	return declare, fmt.Sprintf("each[%s](%d, %s, %s)", t.name, number, called, strings.Join(t.values, ", "))
}

// A grid checks functions as it writes them.
type grid struct {
	fset    *token.FileSet
	helpers *types.Package
	conf    types.Config
	imports string // the head of a file
	wrong   bool
}

// sources returns an importer of packages from their source.
func sources(files *token.FileSet) types.Importer {
	FindGo()
	return importer.ForCompiler(files, "source", nil)
}

// FindGo asks the go command where Go is, for package build: what is built with -trimpath
// does not know it.
var FindGo = sync.OnceFunc(func() {
	if build.Default.GOROOT == "" {
		out, _ := exec.Command("go", "env", "GOROOT").Output() // without it, the importer says what it misses
		build.Default.GOROOT = strings.TrimSpace(string(out))
	}
})

func newGrid() (*grid, error) {
	g := &grid{fset: token.NewFileSet(), helpers: types.NewPackage("main", "main"), imports: "package main\n"}
	g.conf = types.Config{Importer: importers{sources(g.fset), map[string]*types.Package{}}, Error: func(err error) {
		g.wrong = g.wrong || !strings.Contains(err.Error(), "imported and not used")
	}}
	f, err := parser.ParseFile(g.fset, "helpers.go", "package main\n"+GridHelpers, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	for _, s := range f.Imports {
		g.imports += "import " + s.Path.Value + "\n"
	}
	return g, types.NewChecker(&g.conf, g.fset, g.helpers, nil).Files([]*ast.File{f})
}

// importers keeps what an importer has found.
type importers struct {
	types.Importer
	found map[string]*types.Package
}

func (m importers) Import(path string) (*types.Package, error) {
	if p := m.found[path]; p != nil {
		return p, nil
	}
	p, err := m.Importer.Import(path)
	m.found[path] = p
	return p, err
}

// valid reports whether declarations are Go.
func (g *grid) valid(text string) bool {
	f, err := parser.ParseFile(g.fset, "case.go", g.imports+text, parser.SkipObjectResolution)
	if err != nil {
		return false
	}
	pkg := types.NewPackage("main", "main")
	for _, name := range g.helpers.Scope().Names() {
		pkg.Scope().Insert(g.helpers.Scope().Lookup(name))
	}
	g.wrong = false
	_ = types.NewChecker(&g.conf, g.fset, pkg, nil).Files([]*ast.File{f})
	return !g.wrong
}
