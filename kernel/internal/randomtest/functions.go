package randomtest

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
)

// Helpers declares what the functions of Functions use. What may panic inside an
// expression is a call there, picked and held: Go leaves open whether an index or
// a pointer is looked at before or after the calls beside it, and whether the
// variables that a call changes are; hence functions call each other in statements
// of their own. It also leaves open what capacity append gives.
const Helpers = `import ("errors"; "math"; "slices"; "sort"; "strconv"; "strings")
var trace []string
func told(v any) string {
	switch v := v.(type) {
	case error:
		return v.Error()
	case string:
		return v
	}
	return "another"
}
func listed(xs []int) string { s := ""; for _, x := range xs { s += strconv.Itoa(x) + "," }; return s }
func exact(x float64) string { if x != x { return "NaN" }; return strconv.FormatUint(math.Float64bits(x), 16) }
func together(list []string, by string) (s string) { for i, x := range list { if i > 0 { s += by }; if s += x; len(s) > 99 { return s[:99] } }; return }
func why(err error) string { if err == nil { return "none" }; return err.Error() }
func at(xs []int, i int) int { if len(xs) == 0 { return -1 }; return xs[uint(i)%uint(len(xs))] }
func either(b bool, x, y int) int { if b { return x }; return y }
func many(xs ...int) (n int) { for i, x := range xs { n += (i + 1) * x }; return }
func minus(a, b int) int { return a - b }
func short(s string) string { if len(s) > 200 { return s[:200] }; return s }
func few(xs []int) []int { if len(xs) > 100 { return slices.Clip(xs[:100]) }; return xs }
func picked(n int) int { return []int{1}[n & 3] }
func held(p *int) int { return *p }
func pointed(p *int) string { if p == nil { return "nil" }; return strconv.Itoa(*p) }
func two(n int) (int, int) { return n * 2, n + 1 }
func both(n int, s string) (int, string) { return len(s) + n, s + "!" }
func same[T any](x T) T { return x }
func length[S ~[]T, T any](s S) int { return len(s) }
func to[T any](x T) *T { return &x }
func failed(n int) error { if n > 2 { return errors.New("bad " + strconv.Itoa(n)) }; return nil }
func cut(s string, n int) string { if len(s) == 0 { return "" }; return s[:uint(n)%uint(len(s)+1)] }
func turned(a [3]int) [3]int { a[0], a[1], a[2] = a[1], a[2], a[0]; return a }
func mapped(xs []int, f func(int) int) (ys []int) { for i, x := range xs { if i == 4 { break }; ys = append(ys, f(x)) }; return }
func with(m map[string]int, k string, v int) map[string]int { c := map[string]int{}; for k, v := range m { c[k] = v }; c[k] = v; return c }
func adder(n int) func(int) int { return func(m int) int { n += m & 3; return n } }
func double(n int) int { return n * 2 }
func composed(f, g func(int) int) func(int) int { return func(n int) int { return f(g(n)) } }
func counted(n int) func(func(int) bool) { return func(yield func(int) bool) { for i := range n { if !yield(i * i) { return } } } }
func joined(n int, s string) int { return n + len(s) }
func bound(n int, s string) func() (int, string) { return func() (int, string) { n++; s += "+"; return n, s } }
func row(g [][]int, i int) []int { if len(g) == 0 { return nil }; return g[uint(i)%uint(len(g))] }
func sorted(xs []int) []int { xs = slices.Clone(xs); sort.Ints(xs); return xs }
`

// The types of parameters and results of the functions, and of the variables
// that they share. A function makes values of others too.
var (
	functionTypes = []string{"int", "int", "string", "bool", "float64", "[]int", "func(int) int", "[3]int", "uint8", "int8", "*int", "[][]int",
		"error", "struct{ A int; B string }", "func() (int, string)", "[]string"}
	sharedTypes = []string{"int", "int", "string", "float64", "[]int", "[3]int", "uint8", "*int", "[][]int", "[]string"}
)

var functionForms = map[string][]string{
	"int": {"{#}", "({int} + {int})", "({int} - {int})", "({int} * {int})", "({int} & {int})", "({int} ^ {int})", "len({[]int})", "len({string})",
		"len({map[string]int})", "at({[]int}, {int})", "{func(int) int}({int})", "{map[string]int}[{string}]", "int(same({uint8}))", "{[3]int}[{#} & 1]",
		"func() int { return {int} }()", "min({int}, {int})", "max({int}, 3, {int})", "either({bool}, {int}, {int})", "many({int}, {int})",
		"many({[]int}...)", "many()", "minus(two({int}))", "held({*int})", "same({int})", "length({[]string})",
		"(same({int}) << (uint(same({int})) & 7))", "(same({int}) >> (uint(same({int})) & 7))", "({int} / ({int}&3 + 1))", "({int} % ({int}&7 + 2))",
		"{struct{ A int; B string }}.A", "joined({func() (int, string)}())", "at(row({[][]int}, {int}), {int})", "int(same({int8}))",
		"len({[][]int})", "int(math.Mod({float64}, 64))", "picked({int})"},
	"string": {`"a"`, `"bc"`, `"é"`, `""`, "`x y`", "({string} + {string})", "strconv.Itoa({int})", "cut({string}, {int})", "strings.ToUpper({string})",
		"strings.TrimSuffix({string}, {string})", "same({string})", "string([]byte(cut({string}, {int})))", "string([]rune({string}))", "{struct{ A int; B string }}.B", "exact({float64})", "why({error})", "together({[]string}, {string})"},
	"bool": {"true", "({int} == {int})", "({int} < {int})", "({string} != {string})", "({string} < {string})", "({[3]int} == {[3]int})", "!{bool}", "({bool} && {bool})",
		"({bool} || {bool})", "({error} == nil)", "({float64} < {float64})", "({struct{ A int; B string }} == {struct{ A int; B string }})",
		"slices.Contains({[]int}, {int})", "strings.Contains({string}, {string})", "({uint8} > {uint8})"},
	"float64": {"0.25", "float64({int})", "({float64} + {float64})", "({float64} * 0.7)", "({float64} * {float64})", "({float64} - {float64} * {float64})", "math.Abs({float64})",
		"({float64} / 3)", "math.Sqrt(math.Abs({float64}))", "float64(float32({float64}))", "math.Floor({float64})"},
	"[]int": {"[]int{3, 1, 2}", "[]int(nil)", "append({[]int}, {int})", "append({[]int}, {int}, {int})", "append({[]int}, {[]int}...)", "[]int{{int}, {int}}",
		"sorted({[]int})", "mapped({[]int}, {func(int) int})", "slices.Clone({[]int})", "make([]int, {#})", "[]int{2: {int}}"},
	"[]string":                  {`[]string{"s"}`, "append({[]string}, {string})", "strings.Fields({string})", "slices.Clone({[]string})", "[]string{{string}, {string}}"},
	"map[string]int":            {`map[string]int{"k1": 1}`, `map[string]int{"k1": {int}, "k2": {int}}`, "with({map[string]int}, {string}, {int})"},
	"*int":                      {"to(4)", "to({int})", "new(int)"},
	"error":                     {"error(nil)", "failed({int})", "errors.New({string})"},
	"uint8":                     {"same(uint8(200))", "uint8(same({int}))", "({uint8} + {uint8})", "({uint8} << 1)", "^{uint8}", "({uint8} &^ {uint8})"},
	"int8":                      {"same(int8(100))", "int8(same({int}))", "({int8} * {int8})", "(-{int8})", "({int8} >> 1)"},
	"[3]int":                    {"[3]int{1, 2, 3}", "[3]int{{int}, 2, {int}}", "[...]int{2: {int}}", "turned({[3]int})"},
	"func(int) int":             {"double", "func(a int) int { return a + {int} }", "adder({int})", "composed({func(int) int}, double)"},
	"[][]int":                   {"[][]int{{1}, nil}", "[][]int{{[]int}, {1, {int}}}", "append({[][]int}, {[]int})"},
	"struct{ A int; B string }": {`struct{ A int; B string }{1, "an"}`, "struct{ A int; B string }{{int}, {string}}", "same(struct{ A int; B string }{B: {string}})"},
	"func() (int, string)": {"func() (int, string) { return {int}, {string} }", "bound({int}, {string})",
		`func() (n int, s string) { defer func() { n++ }(); n, s = {int}, {string}; return n, s + "." }`},
}

var functionChanges = map[string][]string{
	"int":                       {"v++", "v += {int}", "v ^= {int}", "v = {int}"},
	"int8":                      {"v++", "v += {int8}", "v <<= 1"},
	"uint8":                     {"v--", "v |= {uint8}", "v = {uint8}"},
	"float64":                   {"v += {float64}", "v *= {float64}", "v = {float64}"},
	"string":                    {"v = short(v + {string})", "v = short({string})"},
	"[]int":                     {"if len(v) > 1 { v[0], v[1] = v[1], v[0] }", "if len(v) > 1 { v[1]++ }", "if len(v) > 1 { v = v[1:] }", "v = few({[]int})"},
	"[]string":                  {"v = append(v, {string})", "if len(v) > 0 { v[0] = short(v[0] + {string}) }"},
	"[3]int":                    {"v[1] = {int}", "v[0], v[2] = v[2], {int}", "v = {[3]int}", "v[2]++"},
	"map[string]int":            {"v[{string}] = {int}", `v["k1"]++`, "delete(v, {string})", `v["a"], v["b"] = v["b"], {int}`},
	"*int":                      {"*v = {int}", "*v++\ntrace = append(trace, pointed(v))", "v = {*int}"}, // Go joins increments that follow each other
	"[][]int":                   {"if len(v) > 0 { v[0] = {[]int} }", "v = append(v, {[]int})"},
	"error":                     {"v = {error}"},
	"struct{ A int; B string }": {"v.A++", "v.A, v.B = len(v.B), short({string})", "v = {struct{ A int; B string }}"},
	"func(int) int":             {"v = composed(adder({int}), double)"},
}

// told lists how the value of a type becomes a string; %s is the value.
var told = map[string]string{"int": "strconv.Itoa(%s)", "string": "%s", "bool": "strconv.FormatBool(%s)", "float64": "exact(%s)", "[]int": "listed(%s)",
	"uint8": "strconv.Itoa(int(%s))", "int8": "strconv.Itoa(int(%s))", "error": "why(%s)", "[]string": `together(%s, "|")`, "*int": "pointed(%s)",
	"[3]int": "strconv.Itoa(%s[1])", "struct{ A int; B string }": "%s.B", "func(int) int": "strconv.Itoa((%s)(2))", "[][]int": "strconv.Itoa(len(%s))",
	"func() (int, string)": "strconv.Itoa(joined((%s)()))"}

// functionStatement is the statement of the grammar of functions. They print
// nothing, which would leave them interpreted, but add to the variable trace.
func functionStatement(w *writer, scope *[]place, depth int, inLoop bool) string {
	in := *scope
	expr := func(t string) string { return w.expr(t, in, 2) }
	with := func(ps ...place) []place { return append(in[:len(in):len(in)], ps...) }
	note := func() string {
		t := w.of(functionTypes)
		return fmt.Sprintf(told[t], expr(t))
	}
	kinds := 8
	if depth < 2 {
		kinds = 14
	}
	v, i := w.name("v"), w.name("i")
	switch w.r.IntN(kinds) {
	case 0, 1: // a variable
		if len(w.calls) > 0 && w.r.IntN(2) == 0 {
			c := w.calls[w.r.IntN(len(w.calls))]
			unshared := slices.DeleteFunc(slices.Clone(in), func(p place) bool { return p.name[0] == 'g' || p.name == "trace" })
			*scope = append(*scope, place{v, c.typ})
			return fmt.Sprintf("%[1]s := %[2]s\n_ = %[1]s\n", v, w.fill(c.name, unshared, 2))
		}
		t := w.of(slices.Concat(functionTypes, []string{"map[string]int"}))
		x := expr(t)
		*scope = append(*scope, place{v, t})
		return fmt.Sprintf(w.of([]string{"var %[1]s %[2]s = %[3]s\n_ = %[1]s\n", "var %[1]s %[2]s\n%[1]s = %[3]s\n_ = %[1]s\n", "%[1]s := (%[2]s)(%[3]s)\n_ = %[1]s\n"}), v, t, x)
	case 2, 3, 4: // an assignment
		for range 8 {
			if len(in) == 0 {
				break
			}
			p := in[w.r.IntN(len(in))]
			if forms := w.changes[p.typ]; forms != nil && p.name[0] != 'i' {
				return replaceName(w.fill(w.of(forms), in, 2), p.name) + "\n"
			}
		}
		return "trace = append(trace, " + note() + ")\n"
	case 5:
		return "trace = append(trace, " + note() + ")\n"
	case 6: // a closure that changes captured variables
		body := ""
		for _, p := range in {
			if p.typ == "int" && p.name[0] == 'v' {
				body = p.name + " += " + expr("int") + "\n"
			}
		}
		*scope = append(*scope, place{v, "func(int) int"})
		return fmt.Sprintf("%[1]s := func(a int) int {\n%[2]sreturn a - %[3]s\n}\n_ = %[1]s\n", v, body, expr("int"))
	case 7:
		if inLoop {
			return "if " + expr("bool") + " { " + w.of([]string{"break", "continue"}) + " }\n"
		}
		return "defer func() { trace = append(trace, " + note() + ") }()\n"
	case 8:
		return fmt.Sprintf("if %s {\n%s} else {\n%s}\n", expr("bool"), w.block(in, depth, inLoop), w.block(in, depth, inLoop))
	case 9, 10:
		head := strings.ReplaceAll(w.of([]string{"for # := 0; # < 3; #++", "for # := range 3", "for # := range counted(3)", "for # := range (" + expr("[3]int") + ")"}), "#", i)
		return fmt.Sprintf("%s {\n_ = %s\n%s}\n", head, i, w.block(with(place{i, "int"}), depth, true))
	case 11: // a type of the function's own
		return fmt.Sprintf("type T%[1]s struct { n int; s string }\n%[1]s := []T%[1]s{{%[2]s, %[3]s}, {n: %[2]s}}\nfor i, x := range %[1]s { %[1]s[i].n += len(x.s); var b any = x; if y, ok := b.(T%[1]s); ok && b == any(%[1]s[i]) { trace = append(trace, y.s) } }\n",
			v, expr("int"), expr("string"))
	case 12:
		return fmt.Sprintf("switch (%s) {\ncase 1, 2:\n%s%scase 5:\n%sdefault:\n%s}\n", expr("int"), w.block(in, depth, inLoop), w.of([]string{"fallthrough\n", ""}), w.block(in, depth, inLoop), w.block(in, depth, inLoop))
	}
	fails := w.of([]string{"panic(" + expr("string") + ")", "_ = []int{1}[same(" + expr("int") + ")]", "_ = 5 / (same(" + expr("int") + ") & 1)",
		"var m map[string]int; m[\"x\"] = " + expr("int"), "_ = same(any(" + expr("int") + ")).(string)", "_ = slices.Clip(" + expr("[]int") + ")[same(" + expr("int") + "):2]", "var p *int; *p = 1"})
	return fmt.Sprintf("func() {\ndefer func() {\nif r := recover(); r != nil {\ntrace = append(trace, told(r))\n}\n}()\n%s%s\n}()\n", w.block(in, depth, false), fails)
}

// A Case is a few random functions, and cells that call them. Its names are its
// own, so that many cases may be declared side by side.
type Case struct {
	Functions []string // their names
	Declare   string   // declares them, and the variables that they share; wants Helpers
	Calls     []string // statements that call them and print, for several cells
	Change    string   // declares one of the functions anew
	Fails     string   // an expression that may panic
}

// Functions returns random functions.
func Functions(seed uint64) Case {
	w := &writer{r: rand.New(rand.NewPCG(seed, 1)), grammar: grammar{maps.Clone(functionForms), functionChanges, functionStatement}}
	var c Case
	var b strings.Builder
	id := strconv.FormatUint(seed, 10)
	var shared []place
	for i := range 3 {
		p := place{fmt.Sprintf("g%s_%d", id, i), w.of(sharedTypes)}
		fmt.Fprintf(&b, "var %s %s = %s\n", p.name, p.typ, w.expr(p.typ, nil, 4))
		shared = append(shared, p)
	}
	shared = append(shared, place{"trace", "[]string"})
	type function struct {
		name            string
		params, results []string
	}
	var all []function
	for i := range 2 {
		f := function{name: fmt.Sprintf("f%s_%d", id, i), results: []string{w.of(functionTypes)}}
		for range 1 + w.r.IntN(3) {
			f.params = append(f.params, w.of(functionTypes))
		}
		if w.r.IntN(3) == 0 {
			f.results = append(f.results, w.of(functionTypes))
		}
		text := w.function(f.name, f.params, f.results, shared)
		b.WriteString(text)
		if i == 0 {
			c.Change = w.function(f.name, f.params, f.results, shared)
		}
		all = append(all, f)
		if len(f.results) == 1 {
			w.calls = append(w.calls, place{f.name + "(" + placeholders(f.params) + ")", f.results[0]})
		}
		c.Functions = append(c.Functions, f.name)
	}
	c.Declare = b.String()
	for _, call := range w.calls {
		w.forms[call.typ] = append(slices.Clone(w.forms[call.typ]), call.name, call.name, call.name)
	}
	for range 3 {
		var b strings.Builder
		for i := len(all) - 1; i >= 0; i-- {
			f := all[i]
			var names, values []string
			for k, t := range f.results {
				names = append(names, "r"+strconv.Itoa(k))
				values = append(values, fmt.Sprintf(told[t], names[k]))
			}
			fmt.Fprintf(&b, "func() {\ndefer func() { if r := recover(); r != nil { fmt.Println(\"recovered\", told(r)) } }()\n%s := %s(%s)\nfmt.Println(%s)\n}()\n",
				strings.Join(names, ", "), f.name, w.fill(placeholders(f.params), nil, 3), strings.Join(values, ", "))
		}
		for _, p := range shared {
			fmt.Fprintf(&b, "fmt.Println(%q, %s)\n", p.name, fmt.Sprintf(told[p.typ], p.name))
		}
		b.WriteString("trace = nil\n")
		c.Calls = append(c.Calls, b.String())
	}
	last := all[len(all)-1]
	c.Fails = last.name + "(" + w.fill(placeholders(last.params), nil, 3) + ")"
	return c
}

func placeholders(types []string) string {
	var list []string
	for _, t := range types {
		list = append(list, "{"+t+"}")
	}
	return strings.Join(list, ", ")
}

// function returns the declaration of a random function.
func (w *writer) function(name string, params, results []string, shared []place) string {
	scope := slices.Clone(shared)
	var ps, rs, args []string
	for i, t := range params {
		p := place{"p" + strconv.Itoa(i), t}
		scope = append(scope, p)
		ps, args = append(ps, p.name+" "+t), append(args, p.name)
	}
	named := w.r.IntN(2) == 0
	for i, t := range results {
		if named {
			p := place{"r" + strconv.Itoa(i), t}
			if !strings.HasPrefix(t, "func(") { // it could become a function that calls itself without end
				scope = append(scope, p)
			}
			rs = append(rs, p.name+" "+t)
		} else {
			rs = append(rs, t)
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "func %s(%s) (%s) {\n", name, strings.Join(ps, ", "), strings.Join(rs, ", "))
	if named && w.r.IntN(3) == 0 {
		fmt.Fprintf(&b, "defer func() {\nif r := recover(); r != nil {\ntrace = append(trace, told(r))\n}\n%s}()\n", w.statement(w, &[]place{{"r0", results[0]}}, 9, false))
	}
	if params[0] == "int" && len(results) == 1 && w.r.IntN(2) == 0 {
		args[0] = "p0 - 1"
		fmt.Fprintf(&b, "if p0 &= 3; p0 > 0 {\nagain := %s(%s)\ntrace = append(trace, %s)\n}\n", name, strings.Join(args, ", "), fmt.Sprintf(told[results[0]], "again"))
	}
	for range 2 + w.r.IntN(3) {
		b.WriteString(w.statement(w, &scope, 0, false))
	}
	if named && w.r.IntN(3) == 0 {
		b.WriteString("return\n}\n")
		return ordered(b.String())
	}
	var values []string
	for _, t := range results {
		values = append(values, w.expr(t, scope, 2))
	}
	b.WriteString("return " + strings.Join(values, ", ") + "\n}\n")
	return ordered(b.String())
}
