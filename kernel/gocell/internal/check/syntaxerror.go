package check

import (
	"go/scanner"
	"go/token"
	"regexp"

	"dace.local/kernel/gocell/internal/cell"
)

// inCell returns the errors of the parser for a cell, whose statements it has
// read as a function's: what is wrong with brackets is said of these, and no
// place is outside the cell.
func inCell(errs scanner.ErrorList, text string, tokens []cell.Token) scanner.ErrorList {
	errs.Sort()
	file := errs[0].Pos.Filename
	at := func(offset int) token.Position {
		line, col := cell.LineCol(text, offset)
		return token.Position{Filename: file, Offset: offset, Line: line, Column: col}
	}
	end := 0
	for _, t := range tokens {
		if !t.Automatic() {
			end = t.End
		}
	}
	stray, open := brackets(tokens)
	if stray != nil {
		end = stray.Offset
	}
	before := func(p, q token.Position) bool { return p.Line < q.Line || p.Line == q.Line && p.Column < q.Column }
	var out scanner.ErrorList
	for _, e := range errs {
		if before(e.Pos, at(end)) {
			out = append(out, e)
		}
	}
	switch {
	case stray != nil:
		out.Add(at(end), stray.Kind.String()+" closes nothing")
	case len(out) > 0:
	case open != nil:
		out.Add(at(open.Offset), open.Kind.String()+" is not closed")
	default:
		out.Add(at(end), endRE.ReplaceAllString(errs[0].Msg, "found the end of the cell"))
	}
	return out
}

// endRE matches what the parser says it has found after the end of a cell.
var endRE = regexp.MustCompile(`found ('}'|'EOF'|newline)$`)

// brackets returns the first closing bracket that closes nothing, and the last
// opening one that is not closed; nil if there is none.
func brackets(tokens []cell.Token) (stray, open *cell.Token) {
	var all []*cell.Token
	for i, t := range tokens {
		switch t.Kind {
		case token.LPAREN, token.LBRACE, token.LBRACK:
			all = append(all, &tokens[i])
		case token.RPAREN, token.RBRACE, token.RBRACK:
			if len(all) == 0 {
				return &tokens[i], nil
			}
			all = all[:len(all)-1]
		}
	}
	if len(all) > 0 {
		open = all[len(all)-1]
	}
	return nil, open
}
