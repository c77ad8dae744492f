package cell

import (
	"go/scanner"
	"go/token"
	"strings"
)

// BlankPackageClause blanks a leading package clause, so that a file can be
// pasted into a cell. It reports whether that is a program's, whose main runs.
func BlankPackageClause(text string) (_ string, isProgram bool) {
	fset := token.NewFileSet()
	f := fset.AddFile("", -1, len(text))
	var sc scanner.Scanner
	sc.Init(f, []byte(text), func(token.Position, string) {}, 0)
	pos, tok, _ := sc.Scan()
	if tok != token.PACKAGE {
		return text, false
	}
	p2, tok2, lit := sc.Scan()
	if tok2 != token.IDENT {
		return text, false
	}
	from, to := f.Offset(pos), f.Offset(p2)+len(lit)
	return text[:from] + strings.Repeat(" ", to-from) + text[to:], lit == "main"
}

// BlankShebang blanks a first line that begins with #!, so that a script can be
// run as a cell.
func BlankShebang(text string) string {
	if !strings.HasPrefix(text, "#!") {
		return text
	}
	line, _, _ := strings.Cut(text, "\n")
	return strings.Repeat(" ", len(line)) + text[len(line):]
}
