// Package randomtest writes random Go programs for tests: what a cell does must
// be what the compiled program does. [Program] writes whole programs, of
// statements and expressions of every kind that ordinary code has; [Functions]
// writes functions that a session may compile by itself. The programs contain no
// endless loops, constants stay small, and Go leaves nothing open of what they do.
package randomtest

import (
	_ "embed"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
)

// declarations are what the programs of Program use.
//
//go:embed declarations.txt
var declarations string

// A writer generates random code.
type writer struct {
	r     *rand.Rand
	names int
	calls []place // of the functions so far: the call and its result
	grammar
}

// A grammar says which code a writer generates.
type grammar struct {
	forms   map[string][]string // see randomForms
	changes map[string][]string // see randomChanges
	// statement returns a random statement, and adds the variables that it
	// declares to the scope.
	statement func(w *writer, scope *[]place, depth int, inLoop bool) string
}

// A place is a variable in scope.
type place struct{ name, typ string }

// The types that expressions may have. Values of the types in printed can be
// printed.
var (
	randomTypes = []string{"int", "string", "bool", "float64", "[]int", "map[string]int", "P", "*P", "any", "I", "func(int) int",
		"[3]int", "E", "uint8", "int8", "[]P", "error", "map[int]P", "chan int", "*int", "[][]int", "Emb", "*Stack[int]",
		"Pair[string, int]", "struct{ a int; b string }", "func() (int, string)"}
	printed = []string{"int", "string", "bool", "float64", "[]int", "map[string]int", "P", "any", "[3]int", "E", "uint8", "int8", "[]P",
		"error", "map[int]P", "[][]int", "Emb", "Pair[string, int]", "struct{ a int; b string }"}
)

// randomForms lists for each type the forms of its expressions; {t} stands for
// an expression of type t and {#} for a small number. The first form is a
// simple one, for expressions that are nested deeply already.
var randomForms = map[string][]string{
	"int": {"{#}", "({int} + {int})", "({int} - {int})", "({int} * {int})", "({int} & {int})", "({int} ^ {int})", "len({[]int})", "len({string})",
		"len({map[string]int})", "len({[]P})", "at({[]int}, {int})", "{P}.x", "{*P}.y", "{P}.sum()", "{*P}.add({int})", "{func(int) int}({int})",
		"{map[string]int}[{string}]", "int(same({uint8}))", "int({E})", "{[3]int}[{#} & 1]", "{I}.sum()", "I({P}).sum()",
		"func() int { return {int} }()", "min({int}, {int})", "max({int}, 3, {int})", "either({bool}, {int}, {int})", "many({int}, {int})",
		"many({[]int}...)", "many()", "total({any}, {int})", "minus(two({int}))", "received({int})", "(*{*int})", "same({int})", "length({[]P})",
		"(same({int}) << (uint(same({int})) & 7))", "(same({int}) >> (uint(same({int})) & 7))", "({int} / ({int}&3 + 1))", "{Emb}.x", "{Emb}.sum()", "{Emb}.k",
		"{struct{ a int; b string }}.a", "joined({func() (int, string)}())", "{*Stack[int]}.pop()", "{*Stack[int]}.len()",
		"{Pair[string, int]}.b", "at(row({[][]int}, {int}), {int})", "int(same({int8}))"},
	"string": {`"a"`, `"bc"`, `"é"`, `""`, "`x y`", "({string} + {string})", "fmt.Sprint({int})", "{P}.name", "cut({string}, {int})",
		"strings.Repeat({string}, 2)", "{E}.String()", `fmt.Sprintf("%v", {any})`, "strconv.Itoa({int})", "same({string})", "string([]byte({string}))"},
	"bool": {"true", "({int} == {int})", "({int} < {int})", "({string} != {string})", "({P} == {P})", "({any} == {any})", "({any} == {P})",
		"({any} != {E})", "({[3]int} == {[3]int})", "({I} == {I})", "({error} == {error})", "!{bool}", "({bool} && {bool})", "({bool} || {bool})",
		"is[string]({any})", "is[P]({any})", "is[I]({any})", "({*P} == nil)", "({Emb} == {Emb})", "(any({int}) == {any})"},
	"float64":                   {"0.25", "float64({int})", "({float64} + {float64})", "({float64} * 0.5)", "math.Abs({float64})"},
	"[]int":                     {"[]int{3, 1, 2}", "[]int(nil)", "append({[]int}, {int})", "append({[]int}, {int}, {int})", "append({[]int}, {[]int}...)", "[]int{{int}, {int}}", "slices.Sorted(slices.Values({[]int}))", "mapped({[]int}, {func(int) int})"},
	"map[string]int":            {`map[string]int{"k1": 1}`, `map[string]int{"k1": {int}, "k2": {int}}`, "with({map[string]int}, {string}, {int})", "maps.Clone({map[string]int})"},
	"map[int]P":                 {"map[int]P{}", "map[int]P{{#}: {P}}", `map[int]P{1: {{int}, 2, "m"}, 2: {P}}`},
	"P":                         {`P{1, 2, "p"}`, "P{{int}, {int}, {string}}", "P{x: {int}}", "(*{*P})", "{P}.moved({int})", "same({P})", "{map[int]P}[{int}]", "last({[]P})", "as[P]({any})"},
	"*P":                        {"(&P{y: 3})", "(&P{{int}, {int}, {string}})", "to({P})", "{*P}.chain({int})"},
	"[]P":                       {`[]P{{1, 2, "l"}}`, "[]P{{P}, {x: {int}}}", "append({[]P}, {P})", "append({[]P}, {P}, {P})"},
	"*int":                      {"to(4)", "to({int})", "new(int)"},
	"any":                       {"any(1)", "any(nil)", "any({int})", "any({string})", "any({P})", "any({E})", "boxed({bool})", "same(any({[3]int}))"},
	"I":                         {`I(P{1, 1, "i"})`, "I({P})", "I(P2{{P}})", "shaped({P}, {bool})"},
	"error":                     {"error(nil)", "failed({int})", "error(Bad({int}))"},
	"E":                         {"Red", "E({int} & 3)", "Green", "({E} + 1)"},
	"uint8":                     {"same(uint8(200))", "uint8(same({int}))", "({uint8} + {uint8})", "({uint8} << 1)"},
	"int8":                      {"same(int8(100))", "int8(same({int}))", "({int8} * {int8})", "(-{int8})", "({int8} >> 1)"},
	"[3]int":                    {"[3]int{1, 2, 3}", "[3]int{{int}, 2, {int}}", "[...]int{2: {int}}", "turned({[3]int})"},
	"func(int) int":             {"double", "func(a int) int { return a + {int} }", "adder({int})", "{P}.plus", "(&P{1, {int}, \"\"}).add", "composed({func(int) int}, double)"},
	"chan int":                  {"filled(1, 2)", "filled({int}, {int})"},
	"[][]int":                   {"[][]int{{1}, nil}", "[][]int{{[]int}, {1, {int}}}", "append({[][]int}, {[]int})"},
	"Emb":                       {"Emb{k: 2}", "Emb{{P}, {int}, {E}}", "same({Emb})", "(*to({Emb}))"},
	"*Stack[int]":               {"stacked(1)", "stacked({int}, {int})", "{*Stack[int]}.push({int})"},
	"Pair[string, int]":         {`Pair[string, int]{"p", 1}`, "Pair[string, int]{{string}, {int}}", "swapped(paired({int}, {string}))"},
	"struct{ a int; b string }": {`struct{ a int; b string }{1, "an"}`, "struct{ a int; b string }{{int}, {string}}", "same(struct{ a int; b string }{b: {string}})"},
	"func() (int, string)": {"func() (int, string) { return {int}, {string} }", "bound({int}, {string})",
		`func() (n int, s string) { defer func() { n++ }(); n, s = {int}, {string}; return n, s + "." }`},
}

// randomChanges lists for each type the statements that change a variable v of
// it.
var randomChanges = map[string][]string{
	"int":                       {"v++", "v += {int}", "v ^= {int}", "v = {int}"},
	"int8":                      {"v++", "v += {int8}", "v <<= 1"},
	"string":                    {"v += {string}", "v = {string}"},
	"P":                         {"v.x = {int}", "v.name += {string}", "v.x, v.y = v.y, {int}", "v = {P}", "v = P{v.y, {int}, v.name}"},
	"*P":                        {"v.x = {int}", "v.x, v.y = v.y, {int}", "*v = {P}", "*v = P{y: {int}}", "v = {*P}"},
	"[]int":                     {"if len(v) > 1 { v[0], v[1] = v[1], v[0] }", "if len(v) > 1 { v[1]++ }", "if len(v) > 1 { v = v[1:] }", "v = {[]int}"},
	"[3]int":                    {"v[1] = {int}", "v[0], v[2] = v[2], {int}", "v = {[3]int}", "v[2]++"},
	"map[string]int":            {"v[{string}] = {int}", `v["k1"]++`, "delete(v, {string})", `v["a"], v["b"] = v["b"], {int}`},
	"map[int]P":                 {"v[{#}] = {P}"},
	"*int":                      {"*v = {int}", "*v++", "v = {*int}"},
	"[]P":                       {"if len(v) > 0 { v[0].x++ }", "if len(v) > 0 { v[0] = {P} }", "v = append(v, {P})"},
	"Emb":                       {"v.x = {int}", "v.P = {P}", "v.k, v.y = v.x, v.k", "v.E++", "v.add({int})", "v = Emb{v.P, {int}, v.E}"},
	"[][]int":                   {"if len(v) > 0 { v[0] = {[]int} }", "v = append(v, {[]int})"},
	"*Stack[int]":               {"v.push({int})", "fmt.Println(v.pop(), v.len())"},
	"any":                       {"v = {any}", "v = {P}", "v = {int}"},
	"error":                     {"v = {error}"},
	"I":                         {"v = {I}", "v = {P}"},
	"struct{ a int; b string }": {"v.a++", "v.a, v.b = len(v.b), {string}", "v = {struct{ a int; b string }}"},
}

func (w *writer) name(prefix string) string {
	w.names++
	return prefix + strconv.Itoa(w.names)
}

func (w *writer) of(list []string) string { return list[w.r.IntN(len(list))] }

// expr returns a random expression of a type.
func (w *writer) expr(typ string, scope []place, depth int) string {
	if w.r.IntN(20) < 9 {
		var of []string
		for _, p := range scope {
			if p.typ == typ {
				of = append(of, p.name)
			}
		}
		if len(of) > 0 {
			return w.of(of)
		}
	}
	forms := w.forms[typ]
	form := forms[0]
	if depth < 4 {
		form = w.of(forms)
	}
	return w.fill(form, scope, depth+1)
}

// fill replaces the placeholders in braces in a form.
func (w *writer) fill(form string, scope []place, depth int) string {
	var b strings.Builder
	for i := 0; i < len(form); i++ {
		if form[i] == '{' {
			if form[i+1:min(i+3, len(form))] == "#}" {
				b.WriteString(strconv.Itoa(w.r.IntN(6)))
				i += 2
				continue
			}
			if t := w.typeIn(form[i+1:]); t != "" {
				b.WriteString(w.expr(t, scope, depth))
				i += len(t) + 1
				continue
			}
		}
		b.WriteByte(form[i])
	}
	return b.String()
}

// typeIn returns the type at the start of text that a closing brace follows.
func (w *writer) typeIn(text string) string {
	for t := range w.forms {
		if strings.HasPrefix(text, t+"}") {
			return t
		}
	}
	return ""
}

// block returns some random statements with a scope of their own.
func (w *writer) block(scope []place, depth int, inLoop bool) string {
	scope = scope[:len(scope):len(scope)]
	var b strings.Builder
	for range 1 + w.r.IntN(3) {
		b.WriteString(w.statement(w, &scope, depth+1, inLoop))
	}
	return b.String()
}

// programStatement is the statement of the grammar of whole programs.
func programStatement(w *writer, scope *[]place, depth int, inLoop bool) string {
	in := *scope
	expr := func(t string) string { return w.expr(t, in, 0) }
	with := func(ps ...place) []place { return append(in[:len(in):len(in)], ps...) }
	kinds := 8
	if depth < 3 {
		kinds = 16
	}
	v, i := w.name("v"), w.name("i")
	switch w.r.IntN(kinds) {
	case 0, 1: // a variable
		t := w.of(randomTypes)
		x := expr(t)
		*scope = append(*scope, place{v, t})
		return fmt.Sprintf(w.of([]string{"var %[1]s %[2]s = %[3]s\n_ = %[1]s\n", "var %[1]s %[2]s\n%[1]s = %[3]s\n_ = %[1]s\n", "%[1]s := (%[2]s)(%[3]s)\n_ = %[1]s\n"}), v, t, x)
	case 2, 3: // an assignment
		for range 8 {
			if len(in) == 0 {
				break
			}
			p := in[w.r.IntN(len(in))]
			if forms := randomChanges[p.typ]; forms != nil && p.name[0] != 'i' {
				return replaceName(w.fill(w.of(forms), in, 0), p.name) + "\n"
			}
		}
		return "fmt.Println(" + expr(w.of(printed)) + ")\n"
	case 4:
		return "fmt.Println(" + expr(w.of(printed)) + ", " + expr(w.of(printed)) + ")\n"
	case 5:
		x, y := expr("int"), expr("string")
		*scope = append(*scope, place{v, "int"}, place{i + "s", "string"})
		return fmt.Sprintf("%[1]s, %[2]ss := both(%[3]s, %[4]s)\n_, _ = %[1]s, %[2]ss\n", v, i, x, y)
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
		return "defer fmt.Println(\"deferred\", " + expr(w.of(printed)) + ")\n"
	case 8:
		return fmt.Sprintf("if %s {\n%s} else {\n%s}\n", expr("bool"), w.block(in, depth, inLoop), w.block(in, depth, inLoop))
	case 9:
		t := w.of([]string{"int", "string", "P", "E"})
		return fmt.Sprintf("if %[1]s, ok := %[2]s.(%[3]s); ok {\n_ = %[1]s\n%[4]s}\n", v, "same("+expr("any")+")", t, w.block(with(place{v, t}), depth, inLoop))
	case 10, 11:
		head := fmt.Sprintf(w.of([]string{"for %[1]s := 0; %[1]s < 3; %[1]s++", "for %[1]s := range 3", "for %[1]s := range counted(3)", "for %[1]s := range (" + expr("chan int") + ")", "for %[1]s := range (" + expr("[3]int") + ")"}), i)
		return fmt.Sprintf("%s {\n_ = %s\n%s}\n", head, i, w.block(with(place{i, "int"}), depth, true))
	case 12:
		return fmt.Sprintf("for %[1]s, %[2]s := range (%[3]s) {\nif %[1]s > 3 { break }\n_ = %[2]s\n%[4]s}\n", i, v, expr("[]P"), w.block(with(place{i, "int"}, place{v, "P"}), depth, true))
	case 13:
		return fmt.Sprintf("switch %[1]s := same(%[2]s).(type) {\ncase int:\n_ = %[1]s\n%[3]scase P, *P:\nfmt.Println(\"P\", %[1]s != nil)\ncase nil:\nfmt.Println(\"nil\", %[1]s)\ndefault:\nfmt.Println(\"other\", %[1]s)\n}\n",
			v, expr("any"), w.block(with(place{v, "int"}), depth, inLoop))
	case 14:
		return fmt.Sprintf("switch (%s) {\ncase 1, 2:\n%s%scase 5:\n%sdefault:\n%s}\n", expr("int"), w.block(in, depth, inLoop), w.of([]string{"fallthrough\n", ""}), w.block(in, depth, inLoop), w.block(in, depth, inLoop))
	}
	fails := w.of([]string{"panic(" + expr("string") + ")", "panic(" + expr("E") + ")", "_ = []int{1}[same(" + expr("int") + ")]", "_ = 5 / (same(" + expr("int") + ") & 1)",
		"var m map[string]int; m[\"x\"] = " + expr("int"), "_ = same(" + expr("any") + ").(string)"})
	return fmt.Sprintf("func() {\ndefer func() {\nif r := recover(); r != nil {\nfmt.Println(\"recovered\", r)\n}\n}()\n%s%s\n}()\n", w.block(in, depth, false), fails)
}

// replaceName replaces the word v in text by the name of a variable.
func replaceName(text, name string) string {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		word := func(c byte) bool {
			return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		}
		if text[i] == 'v' && (i == 0 || !word(text[i-1]) && text[i-1] != '%' && text[i-1] != '.') && (i+1 == len(text) || !word(text[i+1])) {
			b.WriteString(name)
			continue
		}
		b.WriteByte(text[i])
	}
	return b.String()
}

// Program returns a random program.
func Program(seed uint64) string {
	w := &writer{r: rand.New(rand.NewPCG(seed, 0)), grammar: grammar{randomForms, randomChanges, programStatement}}
	var scope []place
	var b strings.Builder
	b.WriteString(declarations + "\nfunc main() {\n")
	for range 12 {
		b.WriteString(w.statement(w, &scope, 0, false))
	}
	for _, p := range scope {
		for _, t := range printed {
			if p.typ == t {
				fmt.Fprintf(&b, "fmt.Println(%q, %s)\n", p.name, p.name)
			}
		}
	}
	b.WriteString("}\n")
	return ordered(b.String())
}
