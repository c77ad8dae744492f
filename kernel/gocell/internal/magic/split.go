package magic

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"dace.local/kernel/gocell/internal/cell"
)

// A Use is a line of a cell that holds a magic.
type Use struct {
	Name       string // "%time"
	Args       string // the rest of the line
	Start, End int    // byte offsets of the line's text in the cell
	ArgsAt     int    // byte offset of Args
}

// A Step is a part of a cell: a magic, or Go.
type Step struct {
	Use *Use
	// Go is the text of the cell up to the next magic. Lines that belong to
	// other steps are empty, so that positions in it are positions in the cell.
	Go string
}

// An Error is an error at a place in a cell.
type Error struct {
	Offset  int
	Message string
}

func (e *Error) Error() string { return e.Message }

// Plain reports whether a cell has no line that may be a magic or a command, so
// that it is Go as it stands.
func Plain(code string) bool {
	for line := range strings.Lines(code) {
		if isSpecial(line) {
			return false
		}
	}
	return true
}

// isSpecial reports whether a line may be a magic or a command.
func isSpecial(line string) bool {
	return (strings.IndexByte(line, '%') >= 0 || strings.IndexByte(line, '!') >= 0) && special.MatchString(line)
}

// special matches the beginning of such a line.
var special = regexp.MustCompile(`(?m)^[ \t]*(%|!|[\pL_][^\n"` + "`" + `]*=[ \t]*!)`)

// Split cuts a cell into its steps. Commands to the shell become calls of
// package shell. isName reports whether a name is known in the session, for a
// line that may be either a command or Go's negation (!done).
func (s *Set) Split(code string, isName func(string) bool) ([]Step, error) {
	code = blankShebang(code)
	if Plain(code) {
		return []Step{{Go: code}}, nil
	}
	c := cutter{set: s, code: code, isName: isName}
	for c.at < len(code) {
		if _, err := c.line(); err != nil {
			return nil, err
		}
	}
	c.flush()
	return c.steps, nil
}

// blankShebang blanks a first line that begins with #!, so that a script can be run
// as a cell.
func blankShebang(text string) string {
	if !strings.HasPrefix(text, "#!") {
		return text
	}
	line, _, _ := strings.Cut(text, "\n")
	return strings.Repeat(" ", len(line)) + text[len(line):]
}

// A cutter splits a cell.
type cutter struct {
	set    *Set
	code   string
	isName func(string) bool
	at     int // byte offset of the next line
	lines  int // lines before it
	text   strings.Builder
	steps  []Step
}

// flush ends a step of Go.
func (c *cutter) flush() {
	if text := c.text.String(); !cell.IsBlank(text) {
		c.steps = append(c.steps, Step{Go: text})
	}
	c.text.Reset()
	c.text.WriteString(strings.Repeat("\n", c.lines))
}

// A lineKind is what a line of a cell is.
type lineKind int

const (
	goLine lineKind = iota
	command
	magicLine
	mark // says nothing
)

// line takes the next line, or several if a backslash ends it. After an error
// the line is taken too.
func (c *cutter) line() (lineKind, error) {
	start, text := c.at, nextLine(c.code[c.at:])
	trimmed := strings.TrimSpace(text)
	from := start + strings.Index(text, trimmed)
	isMagic := strings.HasPrefix(trimmed, "%") && !c.inside()
	assign, shell, isCommand := "", "", false
	if !isMagic && isSpecial(text) && !c.inside() {
		text = joined(c.code[start:])
		trimmed = strings.TrimSpace(text)
		assign, shell, isCommand = c.command(trimmed)
		if !isCommand {
			text = nextLine(c.code[start:])
		}
	}
	newlines := strings.Count(text, "\n")
	c.at += len(text)
	defer func() { c.lines += newlines }()
	switch {
	case isCommand && strings.HasPrefix(shell, "*") && assign == "":
		return magicLine, c.magic(ofModule(shell[1:], from, from+len(trimmed)), newlines)
	case isCommand:
		indent := text[:strings.Index(text, trimmed)]
		c.text.WriteString(indent + c.goCommand(assign, shell) + strings.Repeat("\n", newlines))
		return command, nil
	case isMagic:
		u := use(trimmed, from)
		if u.Name == "%%" || u.Name == "%main" { // gonb's mark of where statements begin
			start := strings.Join(c.set.Inits(c.text.String()), "(); ")
			if start != "" {
				start += "(); "
			}
			if u.Args != "" {
				u.Name = "%args"
				if err := c.magic(u, 0); err != nil {
					return mark, err
				}
				start += "flag.Parse()"
			}
			c.text.WriteString(start)
			c.text.WriteString(strings.Repeat("\n", newlines))
			return mark, nil
		}
		return magicLine, c.magic(u, newlines)
	default:
		c.text.WriteString(text)
		return goLine, nil
	}
}

// magic ends the Go before a magic and takes the magic.
func (c *cutter) magic(u Use, newlines int) error {
	m, ok := c.set.Lookup(u.Name)
	if !ok {
		return &Error{u.Start, c.set.unknown(u.Name).Error()}
	}
	goBefore := c.text.String()
	if _, open, _ := cell.Tokens(goBefore); len(open) > 0 {
		return &Error{u.Start, u.Name + " cannot stand inside brackets: magics are lines between statements (or a bracket above is not closed)"}
	}
	c.flush()
	if m.OfCell() {
		if len(c.steps) > 0 || strings.TrimSpace(c.code[:u.Start]) != "" {
			return &Error{u.Start, u.Name + " must be the first line of its cell"}
		}
		c.at = len(c.code)
	}
	c.steps = append(c.steps, Step{Use: &u})
	c.text.WriteString(strings.Repeat("\n", newlines))
	return nil
}

// ofModule returns the magic that gonb's command !*COMMAND stands for.
func ofModule(shell string, start, end int) Use {
	u := Use{Name: "%gomod", Args: strings.TrimSpace(shell), Start: start, End: end, ArgsAt: end}
	if f := strings.Fields(shell); len(f) > 2 && f[0] == "go" && f[1] == "get" {
		u.Name, u.Args = "%get", strings.TrimSpace(strings.TrimPrefix(strings.Join(f[2:], " "), "-u "))
	}
	return u
}

var gonbMark = regexp.MustCompile(`(?m)^(%%|%main)([ \t].*)?$`)

// Inits returns the functions init_NAME of the session and of a text, which gonb
// calls before the statements of every cell.
func (s *Set) Inits(text string) []string {
	names := map[string]bool{}
	for _, n := range s.functions() {
		names[n] = strings.HasPrefix(n, "init_")
	}
	list, _, _ := cell.Tokens(text)
	for i, t := range list {
		if i > 0 && list[i-1].Kind == token.FUNC && t.Kind == token.IDENT && strings.HasPrefix(t.Text, "init_") {
			names[t.Text] = true
		}
	}
	maps.DeleteFunc(names, func(_ string, is bool) bool { return !is })
	return slices.Sorted(maps.Keys(names))
}

// OfGonb reports whether a cell has the line by which gonb tells declarations
// from statements.
func OfGonb(code string) bool {
	return (strings.HasPrefix(code, "%") || strings.Contains(code, "\n%")) && gonbMark.MatchString(code)
}

// inside reports whether the next line begins inside a comment or a raw string.
func (c *cutter) inside() bool {
	_, _, err := cell.Tokens(c.text.String())
	return unterminated(err)
}

func unterminated(err error) bool {
	return err != nil && strings.Contains(err.Error(), "not terminated") &&
		(strings.Contains(err.Error(), "raw string") || strings.Contains(err.Error(), "comment"))
}

var assigned = regexp.MustCompile(`^(?:var\s+)?[\pL_][^"` + "`" + `=!]*(?::=|=)\s*!`)

// command splits a line `!command` or `names := !command` at
// the exclamation mark.
func (c *cutter) command(line string) (assign, shell string, ok bool) {
	if rest, ok := strings.CutPrefix(line, "!"); ok {
		if rest == "" || !c.statement() || c.isGo(rest, false) {
			return "", "", false
		}
		return "", strings.TrimSpace(rest), true
	}
	assign = assigned.FindString(line)
	word, _, _ := strings.Cut(assign, " ")
	if assign == "" || !c.statement() || token.IsKeyword(word) && word != "var" { // if x := !y; x {
		return "", "", false
	}
	rest := line[len(assign):]
	if strings.TrimSpace(rest) == "" || c.isGo(rest, true) {
		return "", "", false
	}
	return strings.TrimSuffix(assign, "!"), strings.TrimSpace(rest), true
}

// statement reports whether a statement may begin after the Go so far.
func (c *cutter) statement() bool {
	list, open, _ := cell.Tokens(c.text.String())
	if len(open) > 0 && open[len(open)-1] != token.LBRACE {
		return false
	}
	if len(list) == 0 {
		return true
	}
	switch list[len(list)-1].Kind {
	case token.SEMICOLON, token.LBRACE, token.COLON:
		return true
	}
	return false
}

// isGo reports whether what follows an exclamation mark is an operand of Go's
// negation: an expression that begins with a known name, or an element of a
// composite literal. Value says that it is assigned, so that it may begin with a
// predeclared name too.
func (c *cutter) isGo(text string, value bool) bool {
	text = cell.Trim(text)
	if strings.HasSuffix(text, ",") {
		return true
	}
	if _, err := parser.ParseExpr(text); err != nil {
		text, _, _ = strings.Cut(text, ";") // other statements follow
	}
	if value && compares(text) {
		return true
	}
	root, selected := rootName(text)
	if root == "" {
		return false
	}
	if value && types.Universe.Lookup(root) != nil || c.knows(root) {
		return true
	}
	return selected && selectedCall.MatchString(text)
}

// selectedCall matches strings.HasPrefix(a, "b"), which is no command: a shell
// does not take a parenthesis there.
var selectedCall = regexp.MustCompile(`^[\pL_][\pL\pN_]*\.[\pL_][\pL\pN_.]*\(`)

// compares reports whether a text is a comparison in parentheses: (0.5 < 0.25).
func compares(text string) bool {
	x, err := parser.ParseExpr(text)
	p, ok := x.(*ast.ParenExpr)
	if err != nil || !ok {
		return false
	}
	b, ok := ast.Unparen(p).(*ast.BinaryExpr)
	return ok && b.Op.Precedence() <= token.EQL.Precedence()
}

// knows reports whether the session or the cell has a name.
func (c *cutter) knows(name string) bool {
	if c.isName(name) {
		return true
	}
	list, _, _ := cell.Tokens(c.text.String())
	if slices.ContainsFunc(list, func(t cell.Token) bool { return t.Kind == token.IDENT && t.Text == name }) {
		return true
	}
	// A cell may declare at its end what it uses above.
	declared := regexp.MustCompile(`(?m)^\s*(?:var|func|const)\s+` + regexp.QuoteMeta(name) + `\b`)
	return declared.MatchString(c.code)
}

// rootName returns the first name in an expression, "" if the text is none, and
// whether it is selected from.
func rootName(text string) (name string, selected bool) {
	x, err := parser.ParseExpr(text)
	if err != nil {
		list, err := parser.ParseExpr("_(" + text + ")") // of values: a, b = !a, f()
		call, ok := list.(*ast.CallExpr)
		if err != nil || !ok || len(call.Args) == 0 {
			return "", false
		}
		x = call.Args[0]
	}
	var root *ast.Ident
	ast.Inspect(x, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok && root == nil {
			if id, ok := s.X.(*ast.Ident); ok {
				root, selected = id, true
			}
		}
		if id, ok := n.(*ast.Ident); ok && root == nil {
			root = id
		}
		return root == nil
	})
	if root == nil {
		return "", false
	}
	return root.Name, selected
}

// goCommand returns the Go statement that runs a command.
func (c *cutter) goCommand(assign, line string) string {
	call := "(" + c.interpolated(line) + ")"
	names, _, _ := strings.Cut(assign, "=")
	switch {
	case assign == "":
		return "shell.Run" + call
	case strings.Contains(names, ","):
		return assign + "shell.Output" + call
	default:
		return assign + "shell.Lines" + call
	}
}

// interpolated returns a command as a Go expression: the value of each
// expression in braces that begins with a known name takes its place.
func (c *cutter) interpolated(line string) string {
	var parts []string
	from := 0
	for at := 0; at < len(line); at++ {
		end := strings.IndexByte(line[at:], '}')
		if line[at] != '{' || end < 0 || at > 0 && line[at-1] == '$' {
			continue
		}
		x := line[at+1 : at+end]
		if root, _ := rootName(x); root == "" || !c.knows(root) {
			continue
		}
		parts = append(parts, strconv.Quote(line[from:at]), "fmt.Sprint("+x+")")
		at += end
		from = at + 1
	}
	return strings.Join(append(parts, strconv.Quote(line[from:])), " + ")
}

// nextLine returns the first line of a text with its newline.
func nextLine(text string) string {
	if i := strings.IndexByte(text, '\n'); i >= 0 {
		return text[:i+1]
	}
	return text
}

// joined returns the first line of a text and those that continue it after a
// backslash.
func joined(text string) string {
	n := 0
	for n < len(text) {
		line := nextLine(text[n:])
		n += len(line)
		if !strings.HasSuffix(strings.TrimRight(line, "\r\n"), `\`) {
			break
		}
	}
	return text[:n]
}

// use returns the use of a magic on a line that begins at an offset.
func use(line string, at int) Use {
	name := line
	if i := strings.IndexAny(line, " \t"); i >= 0 {
		name = line[:i]
	}
	args := strings.TrimLeft(line[len(name):], " \t")
	return Use{Name: name, Args: args, Start: at, End: at + len(line), ArgsAt: at + len(line) - len(args)}
}

// Blank returns a cell for questions about its Go: magics and commands are
// blanked, byte for byte, and all of a cell whose magic takes no Go.
func (s *Set) Blank(code string, isName func(string) bool) string {
	if Plain(code) {
		return code
	}
	b := []byte(code)
	c := cutter{set: s, code: code, isName: isName}
	for c.at < len(code) {
		from := c.at
		kind, err := c.line()
		switch {
		case err != nil, kind == command, kind == mark:
			cell.Wipe(b[from:c.at])
		case kind == magicLine:
			u := c.steps[len(c.steps)-1].Use
			m, _ := s.Lookup(u.Name)
			switch {
			case m.Args == Go:
				flags := 0
				if u.Name == "%timeit" {
					_, flags, _ = timeitFlags(u.Args) // wrong flags are as long as right ones
				} else if u.Name == "%prun" {
					flags = PrunFlags(u.Args)
				}
				cell.Wipe(b[from : u.ArgsAt+flags])
			case m.OfCell() && m.Args != GoBody:
				cell.Wipe(b[from:])
			default:
				cell.Wipe(b[from:u.End])
			}
		}
	}
	return string(b)
}
