package program

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"strconv"
	"strings"

	"dace.local/kernel/gocell/internal/magic"
	"dace.local/kernel/notebook"
)

// helpers begins the functions that a program has beside those of the cells.
const helpers = "// What is predeclared in cells."

var (
	tagLine = regexp.MustCompile(`(?m)^// In\[([0-9]+)\]$`)
	inCell  = regexp.MustCompile(`^\s*// In\[([0-9]+)\]$`)
)

// Notebook returns the notebook of a program that Make has written, possibly edited;
// ok is false if the text is none. Its cells do what the program does: what Make has
// put in their place (calls that show values, functions for must) stays, and a first
// cell has the imports and the variables of functions.
func Notebook(set *magic.Set, text []byte) (nb *notebook.Notebook, ok bool) {
	src := strings.ReplaceAll(string(text), "\r\n", "\n")
	first, _, _ := strings.Cut(src, "\n")
	if !strings.HasPrefix(first, "// ") || !strings.HasSuffix(first, title) {
		return nil, false
	}
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, "", src, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, false
	}
	at := func(pos token.Pos) int { return fset.Position(pos).Offset }
	main, head, vars := declarations(f, src, at)
	if main == nil {
		return nil, false
	}
	sections := strings.Split(src[at(main.Body.Lbrace)+1:at(main.Body.Rbrace)], "\n\t// %%")
	rest := src[at(main.End()):]
	rest, own, _ := strings.Cut(rest, helpers)
	if i := strings.Index(own, "\n// must returns"); i >= 0 { // must itself is predeclared
		end := strings.Index(own[i:], "\n}\n")
		own = own[:i] + own[i+max(0, end+2):]
	}
	if own = strings.TrimSpace(own); own != "" {
		head = append(head, own)
	}
	decls := map[int]string{}
	marks := tagLine.FindAllStringSubmatchIndex(rest, -1)
	for i, m := range marks {
		end := len(rest)
		if i+1 < len(marks) {
			end = marks[i+1][0]
		}
		n, _ := strconv.Atoi(rest[m[2]:m[3]])
		decls[n] += strings.TrimSpace(rest[m[1]:end]) + "\n"
	}
	var b strings.Builder
	if len(head) > 0 {
		b.WriteString("// %%\n" + strings.Join(head, "\n\n") + "\n\n")
	}
	for i, s := range sections[1:] {
		mark, body, _ := strings.Cut(s, "\n")
		if strings.Contains(mark, "[markdown]") || strings.Contains(mark, "[raw]") {
			body = strings.TrimRight(strings.ReplaceAll("\n"+body, "\n\t", "\n")[1:], "\n")
		} else if pretty, err := set.Format(body); err == nil {
			body = pretty
		} else {
			return nil, false
		}
		fmt.Fprintf(&b, "// %%%%%s\n", mark)
		if body != "" {
			b.WriteString(body + "\n")
		}
		if i < len(sections)-2 {
			b.WriteString("\n")
		}
	}
	nb, err = notebook.ReadPercent([]byte(b.String()))
	if err != nil {
		return nil, false
	}
	delete(nb.Metadata, "jupytext")
	number := 0
	if len(head) > 0 {
		number = -1
	}
	for i, c := range nb.Cells {
		if c.Type != notebook.Code {
			continue
		}
		number++
		if d := strings.TrimSpace(strings.TrimSpace(decls[number]) + "\n\n" + vars[number]); d != "" && number > 0 {
			nb.SetSource(i, strings.TrimSpace(d+"\n\n"+c.Source))
		}
	}
	return nb, true
}

// declarations returns what a program declares above its function main, and that: the
// imports and variables that go to the head of the notebook, and the variables of each
// cell. at returns a position's offset in src.
func declarations(f *ast.File, src string, at func(token.Pos) int) (main *ast.FuncDecl, head []string, vars map[int]string) {
	vars = map[int]string{}
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil && d.Name.Name == "main" {
				main = d
			}
		case *ast.GenDecl:
			if main != nil || d.Tok != token.IMPORT && d.Tok != token.VAR || strings.HasPrefix(src[at(d.Pos()):], "var ctx = ") {
				continue
			}
			if d.Tok == token.IMPORT {
				head = append(head, src[at(d.Pos()):at(d.End())])
				continue
			}
			for _, spec := range d.Specs { // each in the cell that defines it
				text := "var " + src[at(spec.Pos()):at(spec.End())]
				line, _, _ := strings.Cut(src[at(spec.End()):], "\n")
				if m := inCell.FindStringSubmatch(line); m != nil {
					n, _ := strconv.Atoi(m[1])
					vars[n] += text + "\n"
				} else {
					head = append(head, text)
				}
			}
		}
	}
	return main, head, vars
}
