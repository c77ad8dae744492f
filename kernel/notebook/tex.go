package notebook

import (
	"errors"
	"html"
	"strings"
	"unicode"
	"unicode/utf8"
)

// mathHTML converts a TeX formula to MathML, which every current browser
// renders without scripts. It supports the notation used in papers, not all of
// TeX: a formula that contains anything else stays readable TeX in a serif
// font.
func mathHTML(tex string, display bool) string {
	tex = strings.TrimSpace(tex)
	mode, class := "", "math"
	if display {
		mode, class = ` display="block"`, "math display"
	}
	p := &texParser{s: tex, display: display}
	row, err := p.row("")
	if err != nil {
		return `<span class="` + class + `">` + html.EscapeString(tex) + "</span>"
	}
	return "<math" + mode + "><semantics>" + mrow(row) + `<annotation encoding="application/x-tex">` + html.EscapeString(tex) + "</annotation></semantics></math>"
}

var errTeX = errors.New("not understood")

// texDepth is the greatest depth of nested braces.
const texDepth = 60

// A texParser reads a formula from left to right.
type texParser struct {
	s       string
	i       int
	depth   int
	display bool
	variant string // current font command: "mathbf", ...
}

// An item is one piece of MathML. If limits is set, its subscript and
// superscript are placed below and above it.
type item struct {
	ml       string
	limits   bool
	function bool // the name of a function, separated by spaces from its neighbours
}

func mrow(items []item) string {
	if len(items) == 1 {
		return items[0].ml
	}
	var b strings.Builder
	b.WriteString("<mrow>")
	for _, it := range items {
		b.WriteString(it.ml)
	}
	b.WriteString("</mrow>")
	return b.String()
}

func tag(name, text string) string {
	return "<" + name + ">" + html.EscapeString(text) + "</" + name + ">"
}

// word reads the name of the command at the cursor, which is on the backslash:
// letters, or a single other character.
func (p *texParser) word() string {
	p.i++
	start := p.i
	for p.i < len(p.s) && isASCIILetter(p.s[p.i]) {
		p.i++
	}
	if p.i == start && p.i < len(p.s) {
		_, n := utf8.DecodeRuneInString(p.s[p.i:])
		p.i += n
		return p.s[start:p.i]
	}
	name := p.s[start:p.i]
	if strings.HasPrefix(p.s[p.i:], "*") && (name == "operatorname" || name == "tag") {
		p.i++
	}
	return name
}

func isASCIILetter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }

func (p *texParser) space() {
	for p.i < len(p.s) && strings.IndexByte(" \t\r\n", p.s[p.i]) >= 0 {
		p.i++
	}
}

// row reads items up to a closing delimiter: "}" for a group, "]" for an
// option, `\right` for \left, `\end` or a cell separator for a table, "" for
// the end of the formula. It leaves the delimiter for the caller to read.
func (p *texParser) row(end string) ([]item, error) {
	if p.depth++; p.depth > texDepth {
		return nil, errTeX
	}
	defer func() { p.depth-- }()
	var items []item
	for {
		p.space()
		rest := p.s[p.i:]
		switch {
		case rest == "":
			if end != "" {
				return nil, errTeX
			}
			return items, nil
		case rest[0] == '}' || end == "]" && rest[0] == ']':
			if rest[:1] != end {
				return nil, errTeX
			}
			return items, nil
		case end == `\right` && strings.HasPrefix(rest, `\right`) && !(len(rest) > 6 && isASCIILetter(rest[6])):
			return items, nil
		case end == `\end` && (rest[0] == '&' || strings.HasPrefix(rest, `\\`) || strings.HasPrefix(rest, `\end{`)):
			return items, nil
		case strings.HasPrefix(rest, `\displaystyle`), strings.HasPrefix(rest, `\textstyle`):
			display := rest[1] == 'd'
			p.word()
			saved := p.display
			p.display = display
			inner, err := p.row(end)
			p.display = saved
			if err != nil {
				return nil, err
			}
			value := map[bool]string{true: "true", false: "false"}[display]
			return append(items, item{ml: `<mstyle displaystyle="` + value + `">` + mrow(inner) + "</mstyle>"}), nil
		}
		it, err := p.scripted()
		if err != nil {
			return nil, err
		}
		if it.ml == "" {
			continue
		}
		if it.function {
			const thin = `<mspace width="0.1667em"></mspace>`
			if n := len(items); n > 0 && !strings.HasPrefix(items[n-1].ml, "<mo") {
				it.ml = thin + it.ml
			}
			if p.space(); p.i < len(p.s) && (isASCIILetter(p.s[p.i]) || p.s[p.i] >= '0' && p.s[p.i] <= '9' || p.s[p.i] == '\\' && !strings.HasPrefix(p.s[p.i:], `\left`)) {
				it.ml += thin
			}
		}
		items = append(items, it)
	}
}

// scripted reads an atom with its subscript and superscript.
func (p *texParser) scripted() (it item, err error) {
	base := item{ml: "<mrow></mrow>"}
	defer func() { it.function = base.function }()
	if c := p.s[p.i]; c != '^' && c != '_' && c != '\'' {
		if base, err = p.atom(); err != nil {
			return item{}, err
		}
	}
	var sub, sup string
	for p.i < len(p.s) {
		p.space()
		if p.i == len(p.s) {
			break
		}
		switch {
		case p.s[p.i] == '\'':
			n := len(p.s[p.i:]) - len(strings.TrimLeft(p.s[p.i:], "'"))
			p.i += n
			sup += "<mo>" + strings.Repeat("′", n) + "</mo>"
			continue
		case p.s[p.i] == '^', p.s[p.i] == '_':
			up := p.s[p.i] == '^'
			p.i++
			arg, err := p.argument()
			switch {
			case err != nil:
				return item{}, err
			case up && (sup == "" || strings.HasPrefix(sup, "<mo>′")):
				sup += arg
			case !up && sub == "":
				sub = arg
			default:
				return item{}, errTeX // a second subscript or superscript
			}
			continue
		case strings.HasPrefix(p.s[p.i:], `\limits`), strings.HasPrefix(p.s[p.i:], `\nolimits`):
			base.limits = p.word() == "limits"
			continue
		}
		break
	}
	if strings.Count(sup, "<mo>′") > 0 {
		sup = "<mrow>" + sup + "</mrow>"
	}
	below := base.limits && p.display
	switch {
	case sub == "" && sup == "":
		return base, nil
	case sup == "" && below:
		return item{ml: "<munder>" + base.ml + sub + "</munder>"}, nil
	case sub == "" && below:
		return item{ml: "<mover>" + base.ml + sup + "</mover>"}, nil
	case below:
		return item{ml: "<munderover>" + base.ml + sub + sup + "</munderover>"}, nil
	case sup == "":
		return item{ml: "<msub>" + base.ml + sub + "</msub>"}, nil
	case sub == "":
		return item{ml: "<msup>" + base.ml + sup + "</msup>"}, nil
	}
	return item{ml: "<msubsup>" + base.ml + sub + sup + "</msubsup>"}, nil
}

// argument reads a group in braces or a single atom.
func (p *texParser) argument() (string, error) {
	p.space()
	if p.i == len(p.s) {
		return "", errTeX
	}
	if c := p.s[p.i]; c >= '0' && c <= '9' { // as in TeX, x^23 means x^{2}3
		p.i++
		return tag("mn", string(c)), nil
	}
	if strings.IndexByte("}^_&", p.s[p.i]) >= 0 {
		return "", errTeX
	}
	it, err := p.atom()
	return it.ml, err
}

// raw reads the text of a group in braces without interpreting it.
func (p *texParser) raw() (string, error) {
	p.space()
	if p.i == len(p.s) || p.s[p.i] != '{' {
		return "", errTeX
	}
	depth := 0
	for j := p.i; j < len(p.s); j++ {
		switch p.s[j] {
		case '\\':
			j++
		case '{':
			depth++
		case '}':
			if depth--; depth == 0 {
				text := p.s[p.i+1 : j]
				p.i = j + 1
				return text, nil
			}
		}
	}
	return "", errTeX
}

func (p *texParser) atom() (item, error) {
	if p.depth++; p.depth > texDepth {
		return item{}, errTeX
	}
	defer func() { p.depth-- }()
	c := p.s[p.i]
	switch {
	case c == '\\':
		return p.command()
	case c == '{':
		p.i++
		items, err := p.row("}")
		if err != nil {
			return item{}, err
		}
		p.i++
		return item{ml: mrow(items)}, nil
	case c >= '0' && c <= '9' || c == '.' && p.i+1 < len(p.s) && p.s[p.i+1] >= '0' && p.s[p.i+1] <= '9':
		start := p.i
		for p.i < len(p.s) && (p.s[p.i] >= '0' && p.s[p.i] <= '9' || p.s[p.i] == '.' || p.s[p.i] == ',' && p.thousands()) {
			p.i++
		}
		number := strings.TrimRight(p.s[start:p.i], ".")
		p.i = start + len(number)
		if p.variant == "mathbf" || p.variant == "mathbb" {
			return item{ml: "<mn>" + restyle(number, p.variant) + "</mn>"}, nil
		}
		return item{ml: tag("mn", number)}, nil
	case c == '~':
		p.i++
		return item{ml: `<mspace width="0.33em"></mspace>`}, nil
	case c == '#' || c == '%' || c == '&' || c == '$':
		return item{}, errTeX
	}
	r, n := utf8.DecodeRuneInString(p.s[p.i:])
	p.i += n
	if unicode.IsLetter(r) {
		if p.variant == "mathrm" { // \mathrm sets a whole word
			start := p.i - n
			for p.i < len(p.s) && isASCIILetter(p.s[p.i]) {
				p.i++
			}
			return item{ml: upright(p.s[start:p.i])}, nil
		}
		return item{ml: "<mi>" + html.EscapeString(restyle(string(r), p.variant)) + "</mi>"}, nil
	}
	switch r {
	case '-':
		return item{ml: "<mo>−</mo>"}, nil
	case '*':
		return item{ml: "<mo>∗</mo>"}, nil
	case '|', '(', ')', '[', ']', '/':
		return item{ml: `<mo stretchy="false">` + string(r) + "</mo>"}, nil
	}
	return item{ml: tag("mo", string(r))}, nil
}

// thousands reports whether the comma at the cursor separates groups of
// digits, as in 10,000.
func (p *texParser) thousands() bool {
	rest := p.s[p.i+1:]
	digits := len(rest) - len(strings.TrimLeft(rest, "0123456789"))
	return digits == 3 && p.i > 0 && p.s[p.i-1] >= '0' && p.s[p.i-1] <= '9'
}

// upright sets a word in an upright font.
func upright(s string) string {
	if utf8.RuneCountInString(s) == 1 {
		return `<mi mathvariant="normal">` + html.EscapeString(s) + "</mi>"
	}
	return tag("mi", s)
}

func (p *texParser) command() (item, error) {
	name := p.word()
	if s, ok := letters[name]; ok {
		return item{ml: "<mi>" + restyle(s, p.variant) + "</mi>"}, nil
	}
	if s, ok := operators[name]; ok {
		return item{ml: tag("mo", s)}, nil
	}
	if s, ok := fences[name]; ok {
		return item{ml: `<mo stretchy="false">` + s + "</mo>"}, nil
	}
	if s, ok := large[name]; ok {
		return item{ml: "<mo>" + s + "</mo>", limits: !strings.Contains(name, "int")}, nil
	}
	if s, ok := spaces[name]; ok {
		return item{ml: `<mspace width="` + s + `"></mspace>`}, nil
	}
	if s, ok := accents[name]; ok {
		arg, err := p.argument()
		if err != nil {
			return item{}, err
		}
		switch name {
		case "bar", "overline": // a border, unlike a character, needs no font that can stretch it
			return item{ml: `<mrow style="border-top:.06em solid;padding-top:.12em">` + arg + "</mrow>"}, nil
		case "underline":
			return item{ml: `<mrow style="border-bottom:.06em solid;padding-bottom:.12em">` + arg + "</mrow>"}, nil
		case "underbrace":
			return item{ml: `<munder>` + arg + "<mo>" + s + "</mo></munder>", limits: true}, nil
		}
		stretch := ` stretchy="false"`
		if strings.HasPrefix(name, "over") || strings.HasPrefix(name, "wide") {
			stretch = ""
		}
		return item{ml: `<mover accent="true">` + arg + "<mo" + stretch + ">" + s + "</mo></mover>", limits: name == "overbrace"}, nil
	}
	if strings.Contains(" log ln lg exp sin cos tan cot sinh cosh tanh arcsin arccos arctan deg dim ker hom ", " "+name+" ") {
		return item{ml: function(name), function: true}, nil
	}
	if strings.Contains(" min max arg sup inf lim limsup liminf det gcd Pr argmin argmax ", " "+name+" ") {
		return item{ml: function(name), limits: true, function: true}, nil
	}
	switch name {
	case "frac", "dfrac", "tfrac", "cfrac", "binom":
		a, err := p.argument()
		if err != nil {
			return item{}, err
		}
		b, err := p.argument()
		switch {
		case err != nil:
			return item{}, err
		case name == "binom":
			return item{ml: `<mrow><mo>(</mo><mfrac linethickness="0">` + a + b + "</mfrac><mo>)</mo></mrow>"}, nil
		case name == "dfrac":
			return item{ml: `<mstyle displaystyle="true"><mfrac>` + a + b + "</mfrac></mstyle>"}, nil
		}
		return item{ml: "<mfrac>" + a + b + "</mfrac>"}, nil
	case "sqrt":
		p.space()
		index := ""
		if strings.HasPrefix(p.s[p.i:], "[") {
			p.i++
			items, err := p.row("]")
			if err != nil {
				return item{}, err
			}
			p.i++
			index = mrow(items)
		}
		arg, err := p.argument()
		if err != nil {
			return item{}, err
		}
		if index != "" {
			return item{ml: "<mroot>" + arg + index + "</mroot>"}, nil
		}
		return item{ml: "<msqrt>" + arg + "</msqrt>"}, nil
	case "mathbf", "mathcal", "mathbb", "mathrm", "mathfrak", "mathsf", "mathtt", "mathit", "boldsymbol", "bm", "mathscr":
		saved := p.variant
		p.variant = map[string]string{"bm": "boldsymbol", "mathscr": "mathcal", "mathit": ""}[name]
		if p.variant == "" && name != "mathit" {
			p.variant = name
		}
		arg, err := p.argument()
		p.variant = saved
		return item{ml: arg}, err
	case "text", "textrm", "textbf", "textit", "texttt", "textsf", "mbox":
		s, err := p.raw()
		if err != nil || strings.ContainsAny(s, `\$`) {
			return item{}, errTeX
		}
		style := map[string]string{"textbf": ` style="font-weight:bold"`, "textit": ` style="font-style:italic"`, "texttt": ` style="font-family:monospace"`}[name]
		s = html.EscapeString(s)
		if strings.HasPrefix(s, " ") {
			s = "\u00a0" + s[1:]
		}
		if strings.HasSuffix(s, " ") {
			s = s[:len(s)-1] + "\u00a0"
		}
		return item{ml: "<mtext" + style + ">" + s + "</mtext>"}, nil
	case "operatorname":
		starred := p.s[p.i-1] == '*'
		s, err := p.raw()
		s = strings.ReplaceAll(s, `\,`, "\u2009")
		if err != nil || strings.ContainsAny(s, `\{}$^_`) {
			return item{}, errTeX
		}
		return item{ml: function(s), limits: starred, function: true}, nil
	case "left":
		open, err := p.fence()
		if err != nil {
			return item{}, err
		}
		items, err := p.row(`\right`)
		if err != nil {
			return item{}, err
		}
		p.i += len(`\right`)
		close, err := p.fence()
		if err != nil {
			return item{}, err
		}
		return item{ml: "<mrow>" + stretchy(open, "") + mrow(items) + stretchy(close, "") + "</mrow>"}, nil
	case "middle":
		s, err := p.fence()
		return item{ml: stretchy(s, "")}, err
	case "big", "bigl", "bigr", "bigm", "Big", "Bigl", "Bigr", "Bigm", "bigg", "biggl", "biggr", "biggm", "Bigg", "Biggl", "Biggr", "Biggm":
		size := map[string]string{"big": "1.2em", "Big": "1.6em", "bigg": "2.1em", "Bigg": "2.6em"}[strings.TrimRight(name, "lrm")]
		s, err := p.fence()
		return item{ml: stretchy(s, size)}, err
	case "overset", "stackrel", "underset":
		a, err := p.argument()
		if err != nil {
			return item{}, err
		}
		b, err := p.argument()
		if err != nil {
			return item{}, err
		}
		if name == "underset" {
			return item{ml: "<munder>" + b + a + "</munder>"}, nil
		}
		return item{ml: "<mover>" + b + a + "</mover>"}, nil
	case "label":
		_, err := p.raw()
		return item{}, err
	case "nonumber", "notag":
		return item{}, nil
	case "tag":
		s, err := p.raw()
		return item{ml: `<mspace width="2em"></mspace>` + tag("mtext", "("+s+")")}, err
	case "begin":
		return p.environment()
	}
	return item{}, errTeX
}

func function(name string) string {
	switch name {
	case "argmin", "argmax", "limsup", "liminf":
		name = name[:3] + "\u2009" + name[3:]
	}
	return "<mrow>" + upright(name) + "<mo>\u2061</mo></mrow>"
}

// fence reads the delimiter after \left and similar commands.
func (p *texParser) fence() (string, error) {
	p.space()
	if p.i == len(p.s) {
		return "", errTeX
	}
	if p.s[p.i] == '\\' {
		name := p.word()
		if s, ok := fences[name]; ok {
			return s, nil
		}
		if s, ok := operators[name]; ok && strings.Contains("vert Vert mid parallel uparrow downarrow", name) {
			return s, nil
		}
		return "", errTeX
	}
	c := p.s[p.i]
	p.i++
	switch c {
	case '.':
		return "", nil
	case '<':
		return "⟨", nil
	case '>':
		return "⟩", nil
	case '(', ')', '[', ']', '|', '/':
		return string(c), nil
	}
	return "", errTeX
}

func stretchy(s, size string) string {
	if s == "" {
		return ""
	}
	if size != "" {
		size = ` minsize="` + size + `" maxsize="` + size + `"`
	}
	return `<mo fence="true" stretchy="true"` + size + ">" + s + "</mo>"
}

// environment reads the rest of \begin{...}...\end{...}, which is a table of
// cells.
func (p *texParser) environment() (item, error) {
	name, err := p.raw()
	if err != nil {
		return item{}, err
	}
	kind := strings.TrimSuffix(name, "*")
	open, close, align := "", "", ""
	switch kind {
	case "matrix", "smallmatrix":
	case "pmatrix":
		open, close = "(", ")"
	case "bmatrix":
		open, close = "[", "]"
	case "vmatrix":
		open, close = "|", "|"
	case "Vmatrix":
		open, close = "‖", "‖"
	case "cases":
		open, align = "{", "left"
	case "align", "aligned", "split", "eqnarray":
		align = "sides"
	case "equation", "gather", "gathered", "multline":
	case "array":
		if _, err := p.raw(); err != nil {
			return item{}, err
		}
	default:
		return item{}, errTeX
	}
	saved := p.display
	p.display = saved && align == "sides" || kind == "equation" || strings.HasPrefix(kind, "gather") || kind == "multline"
	defer func() { p.display = saved }()
	var rows []string
	var cells strings.Builder
	for column := 0; ; {
		items, err := p.row(`\end`)
		if err != nil {
			return item{}, err
		}
		style := ""
		switch {
		case align == "left":
			style = ` style="text-align:left"`
		case align == "sides" && column%2 == 0:
			style = ` style="text-align:right;padding-right:0"`
		case align == "sides":
			style = ` style="text-align:left;padding-left:0"`
		}
		cells.WriteString("<mtd" + style + ">" + mrow(items) + "</mtd>")
		switch {
		case p.s[p.i] == '&':
			p.i++
			column++
			continue
		case strings.HasPrefix(p.s[p.i:], `\\`):
			p.i += 2
			if p.space(); strings.HasPrefix(p.s[p.i:], "[") { // extra space between rows
				n := strings.IndexByte(p.s[p.i:], ']')
				if n < 0 {
					return item{}, errTeX
				}
				p.i += n + 1
			}
			rows = append(rows, cells.String())
			cells.Reset()
			column = 0
			continue
		}
		p.i += len(`\end`)
		if end, err := p.raw(); err != nil || end != name {
			return item{}, errTeX
		}
		if cells.String() != "<mtd"+style+"><mrow></mrow></mtd>" || column > 0 { // leave out an empty last row
			rows = append(rows, cells.String())
		}
		display := ""
		if p.display {
			display = ` displaystyle="true"`
		}
		return item{ml: "<mrow>" + stretchy(open, "") + "<mtable" + display + "><mtr>" + strings.Join(rows, "</mtr><mtr>") + "</mtr></mtable>" + stretchy(close, "") + "</mrow>"}, nil
	}
}

// restyle puts letters and digits into one of Unicode's mathematical alphabets.
func restyle(s, variant string) string {
	type alphabet struct{ upper, lower, digit, greekUpper, greekLower rune }
	a, ok := map[string]alphabet{
		"mathbf":     {0x1d400, 0x1d41a, 0x1d7ce, 0x1d6a8, 0x1d6c2},
		"boldsymbol": {0x1d468, 0x1d482, 0x1d7ce, 0x1d71c, 0x1d736},
		"mathcal":    {0x1d49c, 0x1d4b6, 0, 0, 0},
		"mathbb":     {0x1d538, 0x1d552, 0x1d7d8, 0, 0},
		"mathfrak":   {0x1d504, 0x1d51e, 0, 0, 0},
		"mathsf":     {0x1d5a0, 0x1d5ba, 0x1d7e2, 0, 0},
		"mathtt":     {0x1d670, 0x1d68a, 0x1d7f6, 0, 0},
	}[variant]
	if !ok {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		old, exceptions := r, map[string]string{
			"mathcal":  "BℬEℰFℱHℋIℐLℒMℳRℛeℯgℊoℴ",
			"mathbb":   "CℂHℍNℕPℙQℚRℝZℤ",
			"mathfrak": "CℭHℌIℑRℜZℨ",
		}[variant]
		switch {
		case r >= 'A' && r <= 'Z':
			r += a.upper - 'A'
		case r >= 'a' && r <= 'z':
			r += a.lower - 'a'
		case r >= '0' && r <= '9' && a.digit != 0:
			r += a.digit - '0'
		case r >= 'Α' && r <= 'Ω' && a.greekUpper != 0:
			r += a.greekUpper - 'Α'
		case r >= 'α' && r <= 'ω' && a.greekLower != 0:
			r += a.greekLower - 'α'
		}
		if at := strings.IndexRune(exceptions, old); at >= 0 && old < 0x80 {
			r, _ = utf8.DecodeRuneInString(exceptions[at+1:])
		}
		b.WriteRune(r)
	}
	return b.String()
}

// table converts a text of alternating names and values to a map.
func table(s string) map[string]string {
	f := strings.Fields(s)
	m := make(map[string]string, len(f)/2)
	for i := 0; i+1 < len(f); i += 2 {
		m[f[i]] = f[i+1]
	}
	return m
}

var (
	letters = table(`alpha α beta β gamma γ delta δ epsilon ϵ varepsilon ε zeta ζ eta η theta θ vartheta ϑ iota ι kappa κ
		lambda λ mu μ nu ν xi ξ omicron ο pi π varpi ϖ rho ρ varrho ϱ sigma σ varsigma ς tau τ upsilon υ phi ϕ varphi φ chi χ psi ψ omega ω
		Gamma Γ Delta Δ Theta Θ Lambda Λ Xi Ξ Pi Π Sigma Σ Upsilon Υ Phi Φ Psi Ψ Omega Ω
		infty ∞ partial ∂ nabla ∇ ell ℓ hbar ℏ emptyset ∅ varnothing ∅ aleph ℵ Re ℜ Im ℑ top ⊤ bot ⊥ imath ı jmath ȷ
		ldots … dots … dotsc … cdots ⋯ dotsb ⋯ vdots ⋮ ddots ⋱ prime ′`)
	operators = table(`le ≤ leq ≤ leqslant ⩽ ge ≥ geq ≥ geqslant ⩾ ne ≠ neq ≠ ll ≪ gg ≫ lt < gt > approx ≈ sim ∼ simeq ≃ cong ≅ equiv ≡ propto ∝
		prec ≺ succ ≻ preceq ⪯ succeq ⪰ in ∈ notin ∉ ni ∋ subset ⊂ subseteq ⊆ supset ⊃ supseteq ⊇ cup ∪ cap ∩ setminus ∖ times × cdot ⋅ div ÷
		pm ± mp ∓ circ ∘ bullet ∙ ast ∗ star ⋆ oplus ⊕ otimes ⊗ odot ⊙ wedge ∧ land ∧ vee ∨ lor ∨ neg ¬ lnot ¬ forall ∀ exists ∃ mid ∣ parallel ∥
		perp ⊥ vdash ⊢ models ⊨ to → rightarrow → leftarrow ← gets ← leftrightarrow ↔ Rightarrow ⇒ implies ⟹ Leftarrow ⇐ Leftrightarrow ⇔ iff ⟺
		mapsto ↦ longrightarrow ⟶ longmapsto ⟼ hookrightarrow ↪ uparrow ↑ downarrow ↓ triangleq ≜ coloneqq ≔ doteq ≐ dagger † colon : vert | Vert ‖ therefore ∴ because ∵ triangle △ angle ∠ % % _ _ # # $ $ & &`)
	fences  = table(`{ { } } lbrace { rbrace } langle ⟨ rangle ⟩ lfloor ⌊ rfloor ⌋ lceil ⌈ rceil ⌉ lvert | rvert | lVert ‖ rVert ‖ | ‖ lbrack [ rbrack ] backslash \`)
	large   = table(`sum ∑ prod ∏ coprod ∐ int ∫ iint ∬ oint ∮ bigcup ⋃ bigcap ⋂ bigoplus ⨁ bigotimes ⨂ bigvee ⋁ bigwedge ⋀`)
	spaces  = map[string]string{",": "0.1667em", ":": "0.2222em", ";": "0.2778em", "!": "-0.1667em", " ": "0.33em", "quad": "1em", "qquad": "2em", ">": "0.2222em", "thinspace": "0.1667em", "enspace": "0.5em"}
	accents = table(`hat ^ widehat ^ bar ¯ overline ¯ tilde ~ widetilde ~ vec → dot ˙ ddot ¨ check ˇ breve ˘ acute ´ grave ` + "`" + ` underline _ underbrace ⏟ overbrace ⏞ overrightarrow →`)
)
