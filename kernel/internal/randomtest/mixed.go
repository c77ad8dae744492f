package randomtest

import (
	_ "embed"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// MixedHelpers declares what the programs of Mixed use.
//
//go:embed mixed_helpers.txt
var MixedHelpers string

// mixedStatements are the statements of the programs of Mixed, each after a line
// that begins with "--". That line may say how much more often than others a
// statement occurs (x3), and where it may not stand: "inner" ones are in functions,
// "loop" ones in loops, "impure" ones change what others may see, "call" ones want a
// function to call. In a statement
//
//	$a        is a name of its own for each letter
//	{T}       an expression of type T
//	{#}       a small number
//	%P        a type, the same throughout the statement: see mixedTypes
//	{do}      statements; {do $a int; $b T}: with variables that they may use
//	{change}  a change of a variable, {changes x T} of x
//	{call}    a call of a function that changes what others may see
//	GETTER, GETTER2, SETTER  interfaces of the program
//	@ $a int  at the end: the variables that statements after it may use
//
//go:embed mixed_statements.txt
var mixedStatements string

// A mixedStatement is a statement of mixedStatements.
type mixedStatement struct {
	text, scope               string
	inner, loop, impure, call bool
}

var parsedStatements = sync.OnceValue(func() (list []mixedStatement) {
	for _, block := range strings.Split("\n"+mixedStatements, "\n--")[1:] {
		first, text, _ := strings.Cut(block, "\n")
		text, scope, _ := strings.Cut(text, "\n@ ")
		s, times := mixedStatement{text: text, scope: scope}, 1
		for _, word := range strings.Fields(first) {
			switch word {
			case "inner":
				s.inner = true
			case "loop":
				s.loop = true
			case "impure":
				s.impure = true
			case "call":
				s.call = true
			default:
				n, err := strconv.Atoi(strings.TrimPrefix(word, "x"))
				if err != nil {
					panic("randomtest: " + word + " before a statement")
				}
				times = n
			}
		}
		list = append(list, slices.Repeat([]mixedStatement{s}, times)...)
	}
	return list
})

// traits of a type: what its values can do.
type traits struct {
	printed    bool // printing them shows no address
	comparable bool // never panics, either
	pinned     bool // its zero value is of no use: it embeds a pointer
	shared     bool // a copy leads to the same variables
}

// A mixed writes a program of Mixed. Go leaves open in which order an expression's
// operands are read and calls beside them are made, so expressions change nothing
// that is seen outside of them: what does is a statement of its own. What append
// gives as capacity is left open, too: it appends to slices that have no more.
type mixed struct {
	r       *rand.Rand
	id      string
	names   int
	types   []string // those of variables
	of      map[string]traits
	forms   map[string][]string // of the types' expressions
	changes map[string][]string // v is the variable
	structs []string            // that have methods
	impure  []string            // calls that change what others may see, with placeholders
	pure    bool                // the function may change its own variables only
	depth   int                 // of statements
	few     map[string]few      // of the forms
	decls   strings.Builder
}

// few of the forms of a type.
type few struct {
	of    int // how many there are
	forms []string
}

// A MixedProgram is a random program.
type MixedProgram struct {
	Seed    uint64
	Declare string // its declarations
	Body    string // its statements
}

var mixedNumbers = []string{"int", "int8", "int16", "int32", "int64", "uint", "uint8", "uint16", "uint32", "uint64", "float32", "float64"}

// Mixed returns a random program that mixes types with methods, interfaces, generic
// types and functions, closures, channels, goroutines, deferred calls and panics. Its
// names are its own, so that many may be declared side by side; it wants MixedHelpers.
func Mixed(seed uint64) MixedProgram {
	m := &mixed{r: rand.New(rand.NewPCG(seed, 2)), id: strconv.FormatUint(seed, 10), of: map[string]traits{}, forms: map[string][]string{}, changes: map[string][]string{}, few: map[string]few{}}
	m.basic()
	m.enum()
	m.r.Shuffle(len(m.types), func(i, j int) { m.types[i], m.types[j] = m.types[j], m.types[i] })
	m.types = append(m.types[:6], "int", "string")
	for range 2 {
		m.structType()
	}
	m.namedTypes()
	m.interfaces()
	for _, t := range slices.Clone(m.structs) {
		m.methods(t)
	}
	m.generic()
	for range 1 + m.r.IntN(2) {
		m.function()
	}
	globals := m.globals()
	p := MixedProgram{Seed: seed}
	m.depth = 0
	p.Body = m.block(globals, 3+m.r.IntN(2), seed%2 == 1, false)
	p.Declare = m.decls.String()
	return p
}

func (m *mixed) name(prefix string) string {
	m.names++
	return prefix + strconv.Itoa(m.names) + "_" + m.id
}

func (m *mixed) oneOf(list ...string) string { return list[m.r.IntN(len(list))] }

func (m *mixed) chance(n int) bool { return m.r.IntN(n) == 0 }

// add makes a type one of the program's.
func (m *mixed) add(t string, tr traits, forms ...string) {
	m.of[t] = tr
	m.forms[t] = append(m.forms[t], forms...)
	m.types = append(m.types, t)
}

// basic adds the types that every program has.
func (m *mixed) basic() {
	plain := traits{printed: true, comparable: true}
	m.add("int", plain, "{#}", "({int} + {int})", "({int} - {int})", "({int} * {int})", "({int} & {int})", "({int} ^ {int})", "-same({int})", "len({string})",
		"(same({int}) << (uint(same({int})) & 7))", "(same({int}) >> (uint(same({int})) & 7))", "({int} / ({int}&3 + 1))", "({int} % ({int}&7 + 2))",
		"min({int}, {int})", "max({int}, 3, {int})", "applied({func(int) int}, {int})", "sum({int}, {int})", "clipped({float64})",
		"func() int { return {int} }()", "func() (n int) { defer func() { n += {int}; recover() }(); n = {int}; if ({bool}) { panic(1) }; return {int} }()",
		"len(kept(func(n int) bool { return n > {int} }, {int}, {int}))", "folded({[]int}, {int}, func(a, b int) int { return a - b })", "{GETTER}.get({int})", "cap(make([]bool, {#}))")
	m.add("string", plain, `"a"`, `"bc"`, `"é"`, `""`, "`x y`", "short({string} + {string})", "strconv.Itoa({int})", "string(head([]byte({string}), {int}))",
		"string([]rune({string}))", "fmt.Sprint({int}, {bool})", `short(fmt.Sprintf("%v", {any}))`, "why({error})", "strings.Repeat(short({string})[:0]+\"r\", {#})", "short(kind({any}))", "string('a' + rune({int})&15)")
	m.add("bool", plain, "true", "({int} == {int})", "({int} < {int})", "({string} != {string})", "({string} < {string})", "!{bool}", "({bool} && {bool})", "({bool} || {bool})",
		"({any} == {any})", "is[int]({any})", "is[GETTER]({any})", "({error} == nil)", "({float64} <= {float64})", "({complex128} == {complex128})", "(any({int}) == {any})", "errors.Is({error}, errKnown)", "slices.Contains({[]int}, {int})")
	m.add("float64", plain, "same(0.25)", "float64(same({int}))", "({float64} + {float64})", "({float64} * 0.7)", "({float64} - {float64} * {float64})", "({float64} / 3)", "math.Sqrt(math.Abs({float64}))",
		"real({complex128})", "math.Floor({float64})", "sum({float64}, {float64})", "float64({float32})")
	m.add("float32", plain, "same(float32(1.5))", "({float32} * {float32})", "({float32} + 0.1)", "float32({float64})")
	m.add("complex128", plain, "same(1 + 2i)", "complex({float64}, {float64})", "({complex128} * {complex128})", "({complex128} - {complex128})", "(-{complex128})")
	for _, t := range mixedNumbers[1:10] {
		m.add(t, plain, strings.ReplaceAll("same(T({#}))", "T", t), strings.ReplaceAll("T(same({int}))", "T", t))
		for _, f := range []string{"({T} + {T})", "({T} - {T})", "({T} * {T})", "({T} &^ {T})", "({T} | {T})", "(-{T})", "(^{T})", "({T} << (uint(same({int})) & 15))", "({T} >> 2)", "({T} / ({T} | 1))", "max({T}, {T})", "T({uint8})", "sum({T}, {T})"} {
			m.forms[t] = append(m.forms[t], strings.ReplaceAll(f, "T", t))
		}
	}
	m.add("error", traits{printed: true, comparable: true, pinned: true}, "error(nil)", "failed({int})", "error(Failure{{int}, {string}})", "errors.New({string})", "errKnown")
	m.add("any", plain, "any(1)", "any(nil)", "any({int})", "any({string})", "any({bool})", "any(same([2]int{{int}, 2}))", "any({float64})", "any({uint8})")
	m.add("func(int) int", traits{pinned: true}, "adder({int})", "func(n int) int { return n * {int} }", "composed({func(int) int}, {func(int) int})")
	m.types = slices.DeleteFunc(m.types, func(t string) bool { return t == "error" })
	for _, t := range []string{"int", "string"} {
		m.derive("[]", t)
		m.derive("[2]", t)
	}
	m.derive("map[string]", "int")
	m.derive("*", "int")
	for _, t := range m.types {
		if !strings.HasPrefix(t, "[") && !strings.HasPrefix(t, "map") && t[0] != '*' {
			m.common(t)
		}
	}
	for k, list := range map[string][]string{"int": {"v++", "v += {int}", "v ^= {int}", "v--"}, "string": {"v = short(v + {string})"}, "float64": {"v *= {float64}", "v -= {float64}"}, "complex128": {"v += {complex128}"}, "uint8": {"v <<= 1", "v |= {uint8}", "v--"}, "int16": {"v *= {int16}", "v++"}} {
		m.changes[k] = list
	}
}

// derive adds a type made of another one, and returns it.
func (m *mixed) derive(how, t string) string {
	tr, whole := m.of[t], how+t
	if how == "Box[" {
		whole += "]"
	}
	if _, ok := m.of[whole]; ok {
		return whole
	}
	use := strings.NewReplacer("W", whole, "T", t)
	forms := func(list ...string) (out []string) {
		for _, f := range list {
			out = append(out, use.Replace(f))
		}
		return out
	}
	tr.pinned = tr.pinned && how != "[]" && how != "map[string]"
	pinned := m.of[t].pinned
	switch how {
	case "[]":
		m.add(whole, traits{printed: tr.printed, shared: true}, forms("W{{T}}", "W{{T}, {T}}", "W(nil)", "grown({W}, {T})", "grown({W}, {W}...)", "head({W}, {int})", "slices.Clip(slices.Clone({W}))", "mapped({W}, func(x T) T { return pick({bool}, x, {T}) })",
			"kept(func(x T) bool { return {bool} }, {W}...)", "W{1: {T}, 0: {T}}", "append(W(nil), {T}, {T})")...)
		m.forms[t] = append(m.forms[t], forms("item({W}, {int}, {T})", "folded({W}, {T}, func(a, b T) T { return pick({bool}, a, b) })")...)
		m.forms["int"] = append(m.forms["int"], forms("len({W})")...)
		m.changes[whole] = forms("if len(v) > 1 { v[0], v[1] = v[1], v[0] }", "if len(v) > 0 { v[len(v)-1] = {T} }", "v = v[:len(v)/2]", "v = grown(v, {T})")
	case "[2]":
		m.add(whole, traits{tr.printed, tr.comparable, tr.pinned, tr.shared}, forms("W{{T}, {T}}", "[...]T{{T}, {T}}", "swapped({W})")...)
		m.forms[t] = append(m.forms[t], forms("{W}[{int} & 1]")...)
		m.changes[whole] = forms("v[1] = {T}", "v[0], v[1] = v[1], {T}", "v = swapped(v)")
	case "*":
		m.add(whole, traits{pinned: true, shared: true}, forms("to({T})")...)
		m.forms[t] = append(m.forms[t], forms("held({W}, {T})")...)
		m.changes[whole] = forms("*v = {T}")
	case "map[string]":
		m.add(whole, traits{printed: tr.printed, shared: true}, forms(`W{"k": {T}}`, `W{"k": {T}, "l": {T}}`, "with({W}, {string}, {T})", "W{}")...)
		m.forms[t] = append(m.forms[t], forms("lookup({W}, {string}, {T})")...)
		if !pinned {
			m.forms[t] = append(m.forms[t], forms("{W}[{string}]")...)
		}
		m.changes[whole] = forms(`if v != nil { v["k"] = {T} }`, "v = with(v, {string}, {T})", `delete(v, "l")`, `if v != nil { v["k"], v["l"] = v["l"], {T} }`)
		if pinned {
			m.changes[whole] = m.changes[whole][:3]
		}
	case "Box[":
		m.add(whole, traits{tr.printed, tr.comparable, tr.pinned, tr.shared}, forms("boxOf({T})", "W{{T}, {int}}", "{W}.with({T})", "Box[T]{n: {int}, v: {T}}")...)
		m.forms[t] = append(m.forms[t], forms("{W}.get()", "{W}.v", "unboxed({W})")...)
		m.changes[whole] = forms("v.put({T})", "v.v, v.n = {T}, v.n+1", "v.n++")
	}
	m.common(whole)
	return whole
}

// common adds the forms that values of every type have.
func (m *mixed) common(t string) {
	for _, f := range []string{"same({T})", "pick({bool}, {T}, {T})", "func() T { return {T} }()", "as[T]({any}, {T})"} {
		if m.of[t].comparable || !strings.HasPrefix(f, "as") {
			m.forms[t] = append(m.forms[t], strings.ReplaceAll(f, "T", t))
		}
	}
	if m.of[t].comparable && t != "error" {
		m.forms["bool"] = append(m.forms["bool"], strings.ReplaceAll("({T} == {T})", "T", t), strings.ReplaceAll("is[T]({any})", "T", t))
		if m.of[t].printed {
			m.forms["any"] = append(m.forms["any"], strings.ReplaceAll("any({T})", "T", t))
		}
	}
}

// enum adds a named number with constants and a method.
func (m *mixed) enum() {
	e := m.name("E")
	base := m.oneOf("int", "uint8", "int16", "uint32")
	a, b, c := m.name("C"), m.name("C"), m.name("C")
	fmt.Fprintf(&m.decls, "type %s %s\nconst (\n%s %s = iota + %d\n%s\n_\n%s = %s << iota\n)\n", e, base, a, e, m.r.IntN(3), b, c, b)
	fmt.Fprintf(&m.decls, "func (e %s) String() string {\nswitch e {\ncase %s: return %q\ncase %s, %s: return fmt.Sprint(\"E\", %s(e))\n}\nreturn strconv.Itoa(int(e)&7)\n}\n", e, a, a, b, c, base)
	m.add(e, traits{printed: true, comparable: true}, a, b, c, fmt.Sprintf("%s(same({int}))", e), fmt.Sprintf("({%s} + {%s})", e, e))
	m.forms["int"] = append(m.forms["int"], "int({"+e+"})")
	m.forms["string"] = append(m.forms["string"], "{"+e+"}.String()")
	m.changes[e] = []string{"v++", "v = " + a, "v &^= {" + e + "}"}
	m.common(e)
	m.derive("[2]", e)
}

// structType adds a struct with fields of random types.
func (m *mixed) structType() {
	s := m.name("S")
	tr := traits{printed: true, comparable: true}
	var fields, names, types []string
	fmt.Fprintf(&m.decls, "type %s struct {\n", s)
	field := func(name, t, text string) {
		f := m.of[t]
		fields, names, types = append(fields, text), append(names, name), append(types, t)
		tr.printed = tr.printed && f.printed && t != "error"
		tr.comparable = tr.comparable && f.comparable && t != "error"
		tr.shared = tr.shared || f.shared
	}
	if len(m.structs) > 0 && m.chance(2) {
		e := m.oneOf(m.structs...)
		if m.chance(3) {
			m.derive("*", e)
			field(e, "*"+e, "*"+e)
			tr.pinned = true
		} else {
			field(e, e, e)
			tr.pinned = tr.pinned || m.of[e].pinned
		}
	}
	for range 2 + m.r.IntN(3) {
		t := m.oneOf(m.types...)
		if len(m.structs) > 0 && m.chance(3) {
			t = m.derive(m.oneOf("[]", "[2]", "*", "map[string]", "Box["), m.oneOf(m.structs...))
		}
		name := m.name("f")
		field(name, t, name+" "+t)
		tr.pinned = tr.pinned || m.of[t].pinned && (strings.HasPrefix(t, "[2]") || strings.HasPrefix(t, "Box[") || strings.HasPrefix(t, "S"))
	}
	m.decls.WriteString(strings.Join(fields, "\n") + "\n}\n")
	var keyed, all []string
	for i, t := range types {
		all = append(all, "{"+t+"}")
		keyed = append(keyed, names[i]+": {"+t+"}")
	}
	whole := s + "{" + strings.Join(all, ", ") + "}"
	m.r.Shuffle(len(keyed), func(i, j int) { keyed[i], keyed[j] = keyed[j], keyed[i] })
	m.add(s, tr, whole, s+"{"+strings.Join(keyed, ", ")+"}")
	if !tr.pinned {
		m.forms[s] = append(m.forms[s], s+"{"+keyed[0]+"}", "(*new("+s+"))")
	}
	m.changes[s] = []string{"v = {" + s + "}"}
	for i, t := range types {
		switch {
		case strings.HasPrefix(t, "*") || t == "func(int) int" || t == "error": // may be nil
			m.changes[s] = append(m.changes[s], "v."+names[i]+" = {"+t+"}")
		default:
			m.forms[t] = append(m.forms[t], "{"+s+"}."+names[i])
			m.changes[s] = append(m.changes[s], "v."+names[i]+" = {"+t+"}")
			for _, c := range m.changes[t] {
				if !strings.HasPrefix(t, "[]") && !strings.HasPrefix(t, "map") {
					m.changes[s] = append(m.changes[s], replaceName(c, "v."+names[i]))
				}
			}
		}
	}
	m.structs = append(m.structs, s)
	m.common(s)
	for _, how := range []string{"*", m.oneOf("[]", "map[string]"), m.oneOf("[2]", "Box[")} {
		m.derive(how, s)
	}
}

// namedTypes adds types with methods that are no structs.
func (m *mixed) namedTypes() {
	t := m.oneOf(slices.DeleteFunc(slices.Clone(m.types), func(t string) bool {
		return m.of[t].pinned || !m.of[t].printed || strings.HasPrefix(t, "E")
	})...)
	if m.chance(2) {
		m.listType(t)
	} else {
		m.funcType(t)
	}
}

func (m *mixed) listType(t string) {
	m.derive("[]", t)
	l := m.name("L")
	fmt.Fprintf(&m.decls, "type %s []%s\nfunc (l %s) get(n int) int { return len(l) * n }\nfunc (l %s) at(i int) (x %s) { if len(l) > 0 { x = l[uint(i)%%uint(len(l))] }; return }\nfunc (l *%s) add(x %s) { *l = append((*l)[:len(*l):len(*l)], x) }\n", l, t, l, l, t, l, t)
	m.add(l, traits{printed: true, shared: true}, l+"{{"+t+"}}", l+"({[]"+t+"})", l+"(nil)", "head({"+l+"}, {int})")
	m.forms[t] = append(m.forms[t], "{"+l+"}.at({int})", "item({"+l+"}, {int}, {"+t+"})")
	m.changes[l] = []string{"v.add({" + t + "})", "v = v[:len(v)/2]"}
	m.common(l)
}

func (m *mixed) funcType(t string) {
	f := m.name("F")
	fmt.Fprintf(&m.decls, "type %s func(%s) int\nfunc (f %s) get(n int) int { return f(%s) + n }\nfunc (f %s) twice(x %s) (int, int) { return f(x), f(x) }\n", f, t, f, "*new("+t+")", f, t)
	m.add(f, traits{pinned: true}, f+"(func(x "+t+") int { return {int} })", f+"(func("+t+") int { return {int} })")
	m.forms["int"] = append(m.forms["int"], "{"+f+"}({"+t+"})", "{"+f+"}.get({int})", "sum({"+f+"}.twice({"+t+"}))")
	m.common(f)
}

// interfaces adds the interfaces that structs and named types have.
func (m *mixed) interfaces() {
	g, g2, s := "G1_"+m.id, "G2_"+m.id, "G3_"+m.id
	fmt.Fprintf(&m.decls, "type %s interface { get(int) int }\ntype %s interface { %s; get2() int }\ntype %s interface { %s; set(n int) int }\n", g, g2, g, s, g)
	m.add(g, traits{pinned: true})
	m.add(s, traits{pinned: true, shared: true})
	for _, t := range m.structs {
		if !m.of[t].shared || !m.chance(2) {
			m.forms[g] = append(m.forms[g], g+"({"+t+"})")
		}
		m.forms[g] = append(m.forms[g], g+"(to({"+t+"}))")
		m.forms[s] = append(m.forms[s], s+"(to({"+t+"}))")
	}
	for _, t := range m.types {
		if t[0] == 'L' || t[0] == 'F' {
			m.forms[g] = append(m.forms[g], g+"({"+t+"})")
		}
	}
	m.common(g)
	m.common(s)
}

// methods declares the methods of a struct; that of the value changes nothing that
// others see.
func (m *mixed) methods(s string) {
	body := func(scope []place, pure bool) string {
		m.pure, m.depth = pure, 2
		defer func() { m.pure = false }()
		return "if enter() { return n + 1 }\n" + m.block(scope, 1, true, false) + "return " + m.expr("int", scope, 2) + "\n}\n"
	}
	fmt.Fprintf(&m.decls, "func (me %s) get(n int) int {\n%s", s, body([]place{{"me", s}, {"n", "int"}}, true))
	m.forms["int"] = append(m.forms["int"], "{"+s+"}.get({int})", "{*"+s+"}.get({int})", "("+s+").get({"+s+"}, {int})")
	fmt.Fprintf(&m.decls, "func (me *%s) set(n int) int {\n%s\n%s", s, m.change(place{"(*me)", s}, []place{{"n", "int"}}), body([]place{{"me", "*" + s}, {"n", "int"}}, false))
	fmt.Fprintf(&m.decls, "func (me *%s) chain(n int) *%s {\n%s\nreturn me\n}\n", s, s, m.change(place{"(*me)", s}, []place{{"n", "int"}}))
	m.changes[s] = append(m.changes[s], "(&v).set({int})", "v.set({int})", "v.chain({int})")
	m.changes["*"+s] = append(m.changes["*"+s], "v.set({int})", "v.chain({int})")
}

// generic declares a generic type and function with random bodies.
func (m *mixed) generic() {
	f := m.name("g")
	constraint := m.oneOf("any", "comparable", "Number", "cmp.Ordered")
	bools, few := slices.Clone(m.forms["bool"]), m.few["bool"]
	m.add("T", traits{pinned: true}, "p0", "p1", "pick({bool}, p0, p1)", "same({T})", "func() T { return {T} }()", "item([]T{p0, p1}, {int}, {T})")
	switch constraint {
	case "comparable":
		m.forms["bool"] = append(m.forms["bool"], "({T} == {T})")
	case "Number":
		m.forms["T"] = append(m.forms["T"], "({T} + {T})", "({T} * T(same({int})&7))", "(-{T})")
	case "cmp.Ordered":
		m.forms["T"] = append(m.forms["T"], "({T} + {T})", "max({T}, {T})", "min(p0, p1)")
		m.forms["bool"] = append(m.forms["bool"], "({T} < {T})")
	}
	m.pure, m.depth = true, 2
	defer func() { m.pure = false }()
	scope := []place{{"p0", "T"}, {"p1", "T"}, {"p2", "int"}}
	fmt.Fprintf(&m.decls, "func %s[T %s](p0, p1 T, p2 int) (r T, s string) {\nif enter() { return p0, \"\" }\ndefer func() { if e := recover(); e != nil { s += short(fmt.Sprint(e)) } }()\n%sreturn %s, fmt.Sprintf(\"%%T %%v\", %s, %s)\n}\n",
		f, constraint, m.block(scope, 1, true, false), m.expr("T", scope, 2), m.expr("T", scope, 2), m.expr("string", scope, 2))
	m.forms["bool"], m.few["bool"] = bools, few
	delete(m.forms, "T")
	delete(m.few, "T")
	delete(m.of, "T")
	m.types = slices.DeleteFunc(m.types, func(t string) bool { return t == "T" })
	for _, t := range m.types {
		number := slices.Contains(mixedNumbers, t) || t[0] == 'E'
		if (constraint == "any" || constraint == "comparable" && m.of[t].comparable || number || constraint == "cmp.Ordered" && t == "string") && m.of[t].printed && !m.of[t].shared {
			m.forms[t] = append(m.forms[t], fmt.Sprintf("func() %[1]s { r, s := %[2]s({%[1]s}, {%[1]s}, {int}); out(short(s)); return r }()", t, f))
		}
	}
}

// function declares a function with random parameters and results.
func (m *mixed) function() {
	f, pure := m.name("fn"), !m.chance(3)
	var params, results, args, values []string
	var scope []place
	usable := slices.DeleteFunc(slices.Clone(m.types), func(t string) bool { return pure && m.of[t].shared })
	for i := range 1 + m.r.IntN(3) {
		p := place{"p" + strconv.Itoa(i), m.oneOf(usable...)}
		scope, params, args = append(scope, p), append(params, p.name+" "+p.typ), append(args, "{"+p.typ+"}")
	}
	resultTypes := []string{}
	for i := range 1 + m.r.IntN(2) {
		t := m.oneOf(slices.DeleteFunc(slices.Clone(m.types), func(t string) bool { return m.of[t].pinned || !m.of[t].printed })...)
		results, resultTypes = append(results, "r"+strconv.Itoa(i)+" "+t), append(resultTypes, t)
		scope = append(scope, place{"r" + strconv.Itoa(i), t})
	}
	m.pure, m.depth = pure, 1
	body := m.block(scope, 1+m.r.IntN(2), true, false)
	for _, t := range resultTypes {
		values = append(values, m.expr(t, scope, 1))
	}
	fmt.Fprintf(&m.decls, "func %s(%s) (%s) {\nif enter() { return }\n", f, strings.Join(params, ", "), strings.Join(results, ", "))
	if m.chance(2) {
		fmt.Fprintf(&m.decls, "defer func() {\nif e := recover(); e != nil { out(%q, e) }\n%s\n}()\n", f, m.change(place{"r0", resultTypes[0]}, scope[:1]))
		body += fmt.Sprintf("if (%s) { panic(%s) }\n", m.expr("bool", scope, 2), m.expr("any", scope, 2))
	}
	m.decls.WriteString(body + "return " + strings.Join(values, ", ") + "\n}\n")
	m.pure = false
	call := f + "(" + strings.Join(args, ", ") + ")"
	switch t := resultTypes[0]; {
	case !pure:
		m.impure = append(m.impure, call)
	case len(results) == 1:
		m.forms[t] = append(m.forms[t], call, call)
	default:
		m.forms[t] = append(m.forms[t], fmt.Sprintf("func() (r %s) { r, _ = %s; return }()", t, call), fmt.Sprintf("func(r %s, _ %s) %s { return r }(%s)", t, resultTypes[1], t, call))
	}
}

// globals declares variables of the package, which use each other.
func (m *mixed) globals() (scope []place) {
	a, b, c := m.name("v"), m.name("v"), m.name("v")
	t := m.oneOf(slices.DeleteFunc(slices.Clone(m.types), func(t string) bool { return m.of[t].pinned || !m.of[t].printed })...)
	fmt.Fprintf(&m.decls, "var %s, %s = %s + 1, len(%s)\nvar %s = []%s{1: *new(%s)}\n", a, b, b, c, c, t, t)
	return []place{{a, "int"}, {b, "int"}, {c, m.derive("[]", t)}}
}

// expr returns a random expression of a type.
func (m *mixed) expr(t string, scope []place, depth int) string {
	if m.chance(2) {
		var names []string
		for _, p := range scope {
			if p.typ == t {
				names = append(names, p.name)
			}
		}
		if len(names) > 0 {
			return m.oneOf(names...)
		}
	}
	forms := m.forms[t]
	if len(forms) == 0 {
		panic("randomtest: no expression of type " + t)
	}
	form := forms[0]
	if depth < 2 {
		form = m.oneOf(m.some(t, forms)...)
	}
	return m.fill(form, scope, depth+1)
}

// some returns a few of the forms of a type, the same until there are more. Each
// program is so of a few kinds, which keeps what Go compiles small.
func (m *mixed) some(t string, forms []string) []string {
	s := m.few[t]
	if s.of != len(forms) {
		s.of, s.forms = len(forms), nil
		for _, i := range m.r.Perm(len(forms))[:min(len(forms), 4)] {
			s.forms = append(s.forms, forms[i])
		}
		m.few[t] = s
	}
	return s.forms
}

// fill replaces the placeholders of expressions in a text.
func (m *mixed) fill(text string, scope []place, depth int) string {
	text = strings.NewReplacer("GETTER2", "G2_"+m.id, "GETTER", "G1_"+m.id, "SETTER", "G3_"+m.id).Replace(text)
	var b strings.Builder
	for {
		open := strings.IndexByte(text, '{')
		if open < 0 {
			b.WriteString(text)
			return b.String()
		}
		b.WriteString(text[:open])
		text = text[open:]
		end := strings.IndexByte(text, '}')
		if end < 0 {
			b.WriteString(text)
			return b.String()
		}
		inner := text[1:end]
		if inner == "#" {
			b.WriteString(strconv.Itoa(m.r.IntN(6)))
		} else if _, ok := m.forms[inner]; ok {
			b.WriteString(m.expr(inner, scope, depth))
		} else {
			b.WriteByte('{')
			text = text[1:]
			continue
		}
		text = text[end+1:]
	}
}

// change returns a statement that changes a variable.
func (m *mixed) change(p place, scope []place) string {
	forms := append(slices.Clone(m.changes[p.typ]), "v = {"+p.typ+"}")
	if m.pure && m.of[p.typ].shared {
		forms = forms[len(forms)-1:]
	}
	return m.fill(replaceName(m.oneOf(forms...), p.name), scope, 1)
}

// block returns some statements with a scope of their own.
func (m *mixed) block(scope []place, n int, inner, inLoop bool) string {
	m.depth++
	defer func() { m.depth-- }()
	scope = slices.Clip(scope)
	var b strings.Builder
	for range n {
		b.WriteString(m.statement(&scope, inner || m.depth > 1, inLoop))
	}
	return b.String()
}

// statement returns a random statement, and adds the variables that it declares to
// the scope.
func (m *mixed) statement(scope *[]place, inner, inLoop bool) string {
	list := parsedStatements()
	for {
		s := list[m.r.IntN(len(list))]
		if s.inner && !inner || s.loop && !inLoop || (s.impure || s.call) && m.pure || s.call && len(m.impure) == 0 || m.depth > 3 && strings.Contains(s.text, "{do") {
			continue
		}
		text, ok := m.typed(s.text + "\n@ " + s.scope)
		if !ok {
			continue
		}
		text, declared, _ := strings.Cut(m.named(text), "\n@ ")
		text = m.blocks(text, *scope, inLoop)
		for _, p := range places(declared) {
			*scope = append(*scope, p)
			text += "\n_ = " + p.name
		}
		return text + "\n"
	}
}

var mixedTypes = map[byte]func(m *mixed, t string) bool{
	'A': func(m *mixed, t string) bool { return true },
	'V': func(m *mixed, t string) bool { return t != "T" },
	'P': func(m *mixed, t string) bool { return m.of[t].printed },
	'D': func(m *mixed, t string) bool { return m.of[t].printed && !m.of[t].pinned },
	'C': func(m *mixed, t string) bool { return m.of[t].printed && m.of[t].comparable && !m.of[t].pinned },
	'Q': func(m *mixed, t string) bool {
		return m.of[t].printed && m.of[t].comparable && !m.of[t].pinned && t != "int" && t != "string" && t != "any"
	},
	'S': func(m *mixed, t string) bool { return slices.Contains(m.structs, t) },
	'M': func(m *mixed, t string) bool { return slices.Contains(m.structs, t) && !m.of[t].pinned },
	'N': func(m *mixed, t string) bool { return slices.Contains(mixedNumbers, t) },
	'I': func(m *mixed, t string) bool { return slices.Contains(mixedNumbers[:10], t) },
}

// typed replaces the letters of types in a statement: the same by the same. Slices
// and arrays of these become types of the program.
func (m *mixed) typed(text string) (string, bool) {
	for _, letter := range []byte("AVPDCQSMNI") {
		meta := "%" + string(letter)
		if !strings.Contains(text, meta) {
			continue
		}
		list := slices.DeleteFunc(slices.Clone(m.types), func(t string) bool { return !mixedTypes[letter](m, t) })
		if len(list) == 0 {
			return "", false
		}
		t := m.oneOf(list...)
		for _, how := range []string{"[]", "[2]", "*"} {
			if strings.Contains(text, "{"+how+meta+"}") {
				m.derive(how, t)
			}
		}
		text = strings.ReplaceAll(text, meta, t)
	}
	return text, true
}

// named replaces $a by a name of its own for each letter.
func (m *mixed) named(text string) string {
	names := map[byte]string{}
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] != '$' {
			b.WriteByte(text[i])
			continue
		}
		i++
		if names[text[i]] == "" {
			names[text[i]] = m.name(text[i : i+1])
		}
		b.WriteString(names[text[i]])
	}
	return b.String()
}

// blocks replaces all that stands in braces in a statement.
func (m *mixed) blocks(text string, scope []place, inLoop bool) string {
	var b strings.Builder
	at := 0 // where the line begins
	for line := range strings.Lines(text) {
		before := text[:at]
		at += len(line)
		start := strings.Index(line, "{do")
		change := strings.Index(line, "{change")
		switch {
		case start == 0:
			inner := append(slices.Clip(scope), places(strings.TrimSpace(line[3:strings.LastIndexByte(line, '}')]))...)
			for _, p := range inner[len(scope):] {
				b.WriteString("_ = " + p.name + "\n")
			}
			b.WriteString(m.block(inner, 1+m.r.IntN(2), true, looping(before, inLoop)))
		case change >= 0:
			_, target, ok := strings.Cut(strings.TrimSpace(line[change+len("{change"):strings.LastIndexByte(line, '}')]), " ")
			if ok {
				name, t, _ := strings.Cut(target, " ")
				b.WriteString(m.change(place{name, t}, scope) + "\n")
			} else {
				b.WriteString(m.changeOne(scope) + "\n")
			}
		case strings.Contains(line, "{call}"):
			b.WriteString("out(" + m.fill(m.oneOf(m.impure...), scope, 1) + ")\n")
		default:
			b.WriteString(m.fill(line, scope, 0))
		}
	}
	return b.String()
}

// changeOne returns a change of a variable in scope; those that count loops are
// called i and j.
func (m *mixed) changeOne(scope []place) string {
	for range 8 {
		if len(scope) == 0 {
			break
		}
		if p := scope[m.r.IntN(len(scope))]; p.name[0] != 'i' && p.name[0] != 'j' && p.typ != "T" {
			return m.change(p, scope)
		}
	}
	return "out(" + m.expr("int", scope, 0) + ")"
}

// looping reports whether a loop surrounds the end of a part of a statement, in the
// same function.
func looping(text string, around bool) bool {
	var stack []bool
	now := around
	start := 0
	for i := range len(text) {
		switch text[i] {
		case '\n', ';':
			if text[i] == '\n' {
				start = i + 1
			}
		case '{':
			stack = append(stack, now)
			line := text[start:i]
			if loop, f := strings.LastIndex(line, "for "), strings.LastIndex(line, "func("); loop > f {
				now = true
			} else if f > loop {
				now = false
			}
		case '}':
			now, stack = stack[len(stack)-1], stack[:len(stack)-1]
		}
	}
	return now
}

// places parses "a int; b []string".
func places(text string) (list []place) {
	for _, one := range strings.Split(text, "; ") {
		if name, t, ok := strings.Cut(strings.TrimSpace(one), " "); ok {
			list = append(list, place{name, t})
		}
	}
	return list
}
