package check

import (
	"go/ast"
	"go/token"
	"go/types"
	"strings"
)

// A compiled cell may import "C", with text in C in the comment before it. The
// checker does not know C: what is C's has no type for it, and the toolchain checks
// that. So declarations whose types are C's are the cell's alone, as functions that
// are exported to C often are; other cells see those with types of Go.

// preambleBefore returns the text in C in the comment that ends right before an
// offset of a cell, and its first line, at least 1.
func preambleBefore(text string, end int) (c string, line int) {
	before := strings.TrimRight(text[:end], " \t\r")
	if !strings.HasSuffix(before, "\n") {
		return "", 1
	}
	before = strings.TrimRight(strings.TrimSuffix(before, "\n"), " \t\r")
	if strings.HasSuffix(before, "*/") {
		from := strings.LastIndex(before, "/*")
		return before[from+2 : len(before)-2], 1 + strings.Count(before[:max(from, 0)], "\n")
	}
	var lines []string
	for {
		i := strings.LastIndexByte(before, '\n')
		rest, ok := strings.CutPrefix(strings.TrimSpace(before[i+1:]), "//")
		if !ok {
			return strings.Join(lines, "\n"), 2 + strings.Count(before[:i+1], "\n")
		}
		lines = append([]string{rest}, lines...)
		if i < 0 {
			return strings.Join(lines, "\n"), 1
		}
		before = before[:i]
	}
}

// exportLine returns the offset of the line //export NAME right before a declaration,
// and that of the declaration if there is none.
func exportLine(text string, start int) int {
	before := strings.TrimSuffix(text[:start], "\n")
	at := strings.LastIndexByte(before, '\n') + 1
	if len(before) < start && strings.HasPrefix(before[at:], "//export ") {
		return at
	}
	return start
}

// mentionsC reports whether the type that a declaration gives a name mentions C: the
// signature of a function, a type, the written type of a variable.
func mentionsC(d ast.Decl) (found bool) {
	look := func(n ast.Node) {
		ast.Inspect(n, func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok {
				id, ok := s.X.(*ast.Ident)
				found = found || ok && id.Name == "C"
			}
			return true
		})
	}
	switch d := d.(type) {
	case *ast.FuncDecl:
		look(d.Type)
	case *ast.GenDecl:
		for _, s := range d.Specs {
			if t, ok := s.(*ast.TypeSpec); ok {
				look(t.Type)
			}
		}
	}
	return found
}

// isC reports whether a declaration imports C alone.
func isC(g *ast.GenDecl) bool {
	return g.Tok == token.IMPORT && len(g.Specs) == 1 && ImportPath(g.Specs[0].(*ast.ImportSpec)) == "C"
}

// cTypes refuses names that other cells would know by types of C.
func (k *nativeCheck) cTypes() {
	if k.n.C == nil {
		return
	}
	for _, name := range k.u.Names {
		o := k.n.Package.Scope().Lookup(name)
		if o == nil {
			continue
		}
		if text := types.TypeString(o.Type(), ShortName) + types.TypeString(o.Type().Underlying(), ShortName); strings.Contains(text, "invalid type") {
			k.refuse(o, "%s is of a type of C, which other cells cannot know: convert it to one of Go, as int(x) or C.GoString(x)", name)
		}
	}
}
