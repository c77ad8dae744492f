package magic

import (
	"errors"
	"fmt"
	"go/format"
	"go/parser"
	"go/scanner"
	"go/token"
	"regexp"
	"strconv"
	"strings"

	"dace.local/kernel/gocell/internal/cell"
)

// stand begins the identifiers that stand for what is not Go while a cell is
// formatted.
const stand = cell.Mark + "line"

var standing = regexp.MustCompile(stand + `([0-9]+)\(\)`)

// Format returns a cell as gofmt writes Go. Magics and commands stay as they are,
// and so does a semicolon at the end, which hides the value. A cell that is not Go
// is an error with its line.
func (s *Set) Format(code string) (string, error) {
	if strings.TrimSpace(code) == "" {
		return "", nil
	}
	if first := strings.TrimSpace(nextLine(strings.TrimLeft(code, " \t\r\n"))); strings.HasPrefix(first, "?") {
		return code, nil // a question for help
	}
	var lines []string // what is not Go
	text := code
	if !Plain(code) {
		var b strings.Builder
		c := cutter{set: s, code: code, isName: func(string) bool { return false }}
		for c.at < len(code) {
			from := c.at
			kind, err := c.line()
			if err != nil {
				return "", err
			}
			raw := code[from:c.at]
			if kind == goLine {
				b.WriteString(raw)
				continue
			}
			if kind == magicLine {
				u := c.steps[len(c.steps)-1].Use
				if m, _ := s.Lookup(u.Name); m.OfCell() {
					return s.formatBelow(code, *u, m.Args)
				}
			}
			lines = append(lines, strings.TrimSpace(raw))
			// As many lines as there were, so that errors have their line; the
			// formatter drops those between the parentheses.
			newlines := strings.Count(raw, "\n")
			b.WriteString(stand + strconv.Itoa(len(lines)-1) + "(" + strings.Repeat("\n", max(0, newlines-1)) + ")" + strings.Repeat("\n", min(1, newlines)))
		}
		text = b.String()
	}
	out, err := formatGo(text)
	if err != nil {
		return "", err
	}
	out = standing.ReplaceAllStringFunc(out, func(name string) string {
		i, err := strconv.Atoi(standing.FindStringSubmatch(name)[1])
		if err != nil || i >= len(lines) {
			return name
		}
		return lines[i]
	})
	return out, nil
}

// formatBelow formats the lines below the magic of a cell, if they are Go.
func (s *Set) formatBelow(code string, u Use, args Args) (string, error) {
	if args != Go && args != GoBody {
		return code, nil
	}
	head, body := code[:u.End], code[u.End:]
	out, err := s.Format(body)
	if err != nil {
		return "", positioned(err, strings.Count(head, "\n"))
	}
	if out != "" {
		out = "\n" + out
	}
	return strings.TrimSpace(head) + out, nil
}

// A lineError is an error in a line of a cell.
type lineError struct {
	line int
	msg  string
}

func (e *lineError) Error() string { return fmt.Sprintf("line %d: %s", e.line, e.msg) }

// formatGo formats the Go of a cell: runs of imports, of declarations and of
// statements one by one, since Go has no file that mixes them.
func formatGo(text string) (string, error) {
	tokens, _, _ := cell.Tokens(text)
	parts := cell.Split(tokens, len(text))
	if len(parts) == 0 {
		return strings.TrimSpace(text), nil
	}
	var out strings.Builder
	gap := 0 // newlines before the next run
	for from, i := 0, 0; i < len(parts); {
		last := i
		for last+1 < len(parts) && parts[last+1].Kind == parts[i].Kind {
			last++
		}
		end := len(text)
		if last+1 < len(parts) {
			end = endOf(text, parts[last].End, parts[last+1].Start)
		}
		run := text[from:end]
		trimmed := strings.Trim(run, " \t\r\n;")
		semicolon := end == len(text) && parts[i].Kind == cell.PartStmt && hides(tokens)
		if semicolon || strings.HasSuffix(strings.TrimSpace(run), ";") {
			trimmed = strings.Trim(run, " \t\r\n")
		}
		lead := run[:strings.Index(run, trimmed)]
		var pretty string
		var err error
		if parts[i].Kind == cell.PartStmt {
			pretty, err = formatStatements(trimmed, text[parts[last].Start:parts[last].End])
		} else {
			pretty, err = formatDecls(trimmed)
		}
		if err != nil {
			return "", positioned(err, strings.Count(text[:from]+lead, "\n"))
		}
		if semicolon {
			pretty = hidden(pretty)
		}
		if out.Len() > 0 {
			gap = max(1, min(2, gap+strings.Count(lead, "\n")))
			out.WriteString(strings.Repeat("\n", gap))
		}
		out.WriteString(pretty)
		tail := run[len(lead)+len(trimmed):]
		gap = strings.Count(tail, "\n")
		from, i = end, last+1
	}
	return out.String(), nil
}

// endOf returns where a run ends: with the line of its last part, unless the next
// part begins there.
func endOf(text string, end, next int) int {
	if n := strings.IndexByte(text[end:next], '\n'); n >= 0 {
		return end + n
	}
	if end < next && text[end] == ';' {
		end++
	}
	return end
}

// hides reports whether a text ends in a semicolon, which hides the value.
func hides(tokens []cell.Token) bool {
	last := tokens[len(tokens)-1]
	return last.Kind == token.SEMICOLON && !last.Automatic()
}

// hidden adds a semicolon behind the last token.
func hidden(text string) string {
	tokens, _, _ := cell.Tokens(text)
	for i := len(tokens) - 1; i >= 0; i-- {
		if tokens[i].Kind != token.SEMICOLON {
			return text[:tokens[i].End] + ";" + text[tokens[i].End:]
		}
	}
	return text
}

// formatDecls formats declarations, as a file: what go/format makes of a fragment
// that begins with a comment is not what gofmt makes of the file.
func formatDecls(text string) (string, error) {
	const head = "package p\n"
	out, err := format.Source([]byte(head + "\n" + text))
	if err != nil {
		return "", positioned(err, -2)
	}
	return strings.Trim(strings.TrimPrefix(string(out), head), "\n"), nil
}

// formatStatements formats statements, of which last is the last: it may be several
// expressions with commas between them, which are no statement.
func formatStatements(text, last string) (string, error) {
	out, err := format.Source([]byte(text))
	if err == nil {
		return strings.TrimRight(string(out), "\n"), nil
	}
	const list = cell.Mark + "list("
	last = strings.TrimRight(cell.Trim(last), " \t\r\n;")
	at := strings.LastIndex(text, last)
	if _, notList := parser.ParseExpr(list + last + ")"); notList != nil || at < 0 {
		return "", err
	}
	out, err2 := format.Source([]byte(text[:at] + list + last + ")" + text[at+len(last):]))
	if err2 != nil {
		return "", err
	}
	pretty := strings.TrimRight(string(out), "\n")
	begin := strings.LastIndex(pretty, list)
	tokens, _, _ := cell.Tokens(pretty)
	for i := len(tokens) - 1; i >= 0; i-- {
		if t := tokens[i]; t.Kind == token.RPAREN {
			return pretty[:begin] + pretty[begin+len(list):t.Offset] + pretty[t.End:], nil
		}
	}
	return "", err
}

// positioned returns a syntax error with its line in the cell.
func positioned(err error, before int) error {
	var list scanner.ErrorList
	if errors.As(err, &list) && len(list) > 0 {
		return &lineError{list[0].Pos.Line + before, list[0].Msg}
	}
	var at *lineError
	if errors.As(err, &at) {
		return &lineError{at.line + before, at.msg}
	}
	return err
}
