package module

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// A Problem is a reason why a package cannot be interpreted.
type Problem struct {
	File string // without folder; "" if the problem is not in one file
	Line int
	Text string
	// Broken says that the Go compiler cannot build the package either.
	Broken bool
}

func (p Problem) String() string {
	switch {
	case p.File == "":
		return p.Text
	case p.Line == 0:
		return p.File + ": " + p.Text
	}
	return fmt.Sprintf("%s:%d: %s", p.File, p.Line, p.Text)
}

// A File is a parsed file of a package.
type File struct {
	Name   string // without folder
	Text   []byte // the source as it was parsed
	Syntax *ast.File
}

// Parse parses the Go files of a package and adds them to fset under
// name(file). It also returns the problems that keep the package from being
// interpreted: an error of the go command, files that are not plain Go, cgo, the
// directive go:linkname, functions without a body, and syntax errors.
//
// Line directives have no effect: positions are those in the files.
func (p *Package) Parse(fset *token.FileSet, name func(file string) string) ([]*File, []Problem) {
	var problems []Problem
	add := func(file string, line int, text string) {
		problems = append(problems, Problem{File: file, Line: line, Text: text})
	}
	broken := func(file string, line int, text string) {
		problems = append(problems, Problem{file, line, text, true})
	}
	if p.Err != "" {
		broken("", 0, p.Err)
	}
	for _, f := range p.Foreign {
		switch {
		case strings.HasSuffix(f, ".go"):
			add(f, 0, "cgo cannot be interpreted")
		case strings.HasSuffix(f, ".s") || strings.HasSuffix(f, ".S"):
			add(f, 0, "assembly cannot be interpreted")
		default:
			add(f, 0, "only Go can be interpreted")
		}
	}
	var files []*File
	for _, n := range p.Files {
		b, err := os.ReadFile(filepath.Join(p.Dir, n))
		if err != nil {
			broken(n, 0, err.Error())
			continue
		}
		b = withoutLineDirectives(b)
		f, err := parser.ParseFile(fset, name(n), b, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			line, text := 0, err.Error()
			if l, ok := err.(scanner.ErrorList); ok && len(l) > 0 {
				line, text = l[0].Pos.Line, l[0].Msg
			}
			broken(n, line, text)
			continue
		}
		files = append(files, &File{n, b, f})
		at := func(pos token.Pos) int { return fset.Position(pos).Line }
		for _, i := range f.Imports {
			if i.Path.Value == `"C"` {
				add(n, at(i.Pos()), "cgo cannot be interpreted")
			}
			if pos := embedFS(f, i); pos.IsValid() {
				add(n, at(pos), "embed.FS cannot be interpreted: Go's linker fills it (a string and a []byte can)")
			}
		}
		for _, g := range f.Comments {
			for _, c := range g.List {
				if strings.HasPrefix(c.Text, "//go:linkname ") {
					add(n, at(c.Pos()), "go:linkname reaches into another package's machine code, which cannot be interpreted")
				}
			}
		}
		for _, d := range f.Decls {
			if fd, ok := d.(*ast.FuncDecl); ok && fd.Body == nil {
				add(n, at(fd.Pos()), "func "+fd.Name.Name+" has no body: it is written in another language")
			}
		}
	}
	if len(files) == 0 && len(problems) == 0 {
		broken("", 0, "it has no Go files for this machine")
	}
	return files, problems
}

// embedFS returns where a file uses embed.FS, if the import is that of embed.
func embedFS(f *ast.File, i *ast.ImportSpec) (found token.Pos) {
	if i.Path.Value != `"embed"` {
		return token.NoPos
	}
	name := "embed"
	if i.Name != nil {
		name = i.Name.Name
	}
	ast.Inspect(f, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok && s.Sel.Name == "FS" {
			if id, ok := s.X.(*ast.Ident); ok && id.Name == name && !found.IsValid() {
				found = s.Pos()
			}
		}
		return true
	})
	return found
}

// withoutLineDirectives returns a copy of Go source, of the same length, in
// which no comment is a line directive.
func withoutLineDirectives(b []byte) []byte {
	if !strings.Contains(string(b), "/line ") && !strings.Contains(string(b), "/*line ") {
		return b
	}
	b = slices.Clone(b)
	fset := token.NewFileSet()
	f := fset.AddFile("", -1, len(b))
	var s scanner.Scanner
	s.Init(f, b, func(token.Position, string) {}, scanner.ScanComments)
	for {
		pos, tok, lit := s.Scan()
		if tok == token.EOF {
			return b
		}
		if tok == token.COMMENT && (strings.HasPrefix(lit, "//line ") || strings.HasPrefix(lit, "/*line ")) {
			b[f.Offset(pos)+2] = 'L'
		}
	}
}

// LanguageVersion returns the Go version that applies to a file of the package,
// such as "go1.17": that of the file's build constraint, else that of the
// module's go.mod.
func (p *Package) LanguageVersion(f *ast.File) string {
	v := p.Module.GoVersion
	if v == "" {
		v = "1.16" // the go command's default for a go.mod without a version
	}
	if f != nil && f.GoVersion != "" {
		return f.GoVersion
	}
	return "go" + v
}
