package check

import (
	"flag"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
)

var rewrite = flag.Bool("update", false, "write what the checker says of testdata/transcripts.txt into it")

// TestTranscripts checks the cells of testdata/transcripts.txt, which says what is known of
// each: what it defines, does and notes, what is compiled with it, and its errors.
func TestTranscripts(t *testing.T) {
	const file = "testdata/transcripts.txt"
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	head, cases, _ := strings.Cut(string(b), "\n### ")
	out := head
	for text := range strings.SplitSeq(cases, "\n### ") {
		name, body, _ := strings.Cut(strings.TrimRight(text, "\n"), "\n")
		out += "\n### " + name
		p, err := NewProgram()
		if err != nil {
			t.Fatal(err)
		}
		s := &transcript{fset: token.NewFileSet(), p: p, literals: map[string]Piece{}}
		for i, cell := range strings.Split(body, "\n---\n") {
			code, want, _ := strings.Cut(cell, "\n>>>")
			got := s.cell(i+1, code)
			if want = strings.TrimPrefix(want, "\n"); got != want && !*rewrite {
				t.Errorf("%s, cell %d:\n%s\n is\n%s\nwant\n%s", name, i+1, code, got, want)
			}
			if i > 0 {
				out += "\n---"
			}
			out += "\n" + code + "\n>>>\n" + got
		}
		out = strings.TrimRight(out, "\n") + "\n"
	}
	if *rewrite && !t.Failed() {
		if err := os.WriteFile(file, []byte(out), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// A transcript is a session that is written down.
type transcript struct {
	fset     *token.FileSet
	p        *Program
	last     *Checked
	literals map[string]Piece
	b        strings.Builder
}

func (s *transcript) line(format string, args ...any) { fmt.Fprintf(&s.b, format+"\n", args...) }

// names writes the names of a set, if there are any.
func (s *transcript) names(what string, set map[string]bool) {
	if list := slices.Sorted(maps.Keys(set)); len(list) > 0 {
		s.line("%s %s", what, strings.Join(list, " "))
	}
}

// cell checks a cell, or obeys a command: %layout and %bind NAME or TYPE.METHOD lay a
// function out, with types that are bound or not, %loops the loops of the last cell, %without NAMES
// forgets names, %uses NAME lists what a function uses.
func (s *transcript) cell(number int, code string) string {
	s.b.Reset()
	command, rest, _ := strings.Cut(code, " ")
	name, method, _ := strings.Cut(rest, ".")
	switch command {
	case "%layout", "%bind":
		n, err := s.p.Layout(s.fset, name, method, command == "%bind")
		s.layout(n, err)
	case "%loops":
		for _, st := range s.last.Source.Body.List {
			switch st.(type) {
			case *ast.ForStmt, *ast.RangeStmt:
				s.line("leaves %q", Leaves(st))
				pc := s.last.Source.LoopPiece(s.fset, st)
				n, err := s.p.LayoutLoop(s.fset, pc, s.literals, rest == "bind")
				s.layout(n, err)
			}
		}
	case "%without":
		set := map[string]bool{}
		for n := range strings.FieldsSeq(rest) {
			set[n] = true
		}
		s.p = s.p.Without(set)
	case "%uses":
		s.line("%s", strings.Join(s.p.Uses(rest), " "))
	default:
		s.check(number, code)
	}
	return strings.TrimRight(s.b.String(), "\n")
}

func (s *transcript) check(number int, code string) {
	parse := ParseCell
	if rest, ok := strings.CutPrefix(code, "%%compile"); ok {
		parse, code = ParseNative, rest
	}
	src, err := parse(s.fset, number, "", code)
	var c *Checked
	if err == nil {
		c, err = s.p.Check(s.fset, src)
	}
	if err != nil {
		s.line("error %s", strings.ReplaceAll(err.Error(), "\n", "\n  "))
		return
	}
	before := s.p
	s.p, s.last = c.Next, c
	for _, st := range src.Body.List {
		if a, ok := st.(*ast.AssignStmt); ok && len(a.Lhs) == 1 && len(a.Rhs) == 1 {
			if lit, ok := a.Rhs[0].(*ast.FuncLit); ok {
				name := a.Lhs[0].(*ast.Ident).Name
				s.literals[name] = c.LiteralPiece(s.fset, name, lit)
			}
		}
	}
	var vars, results, decls []string
	for _, v := range c.Vars {
		vars = append(vars, v.Name()+" "+types.TypeString(v.Type(), ShortName))
	}
	for name, v := range c.Moved {
		vars = append(vars, "moved "+name+" "+types.TypeString(v.Type(), ShortName))
	}
	slices.Sort(vars[len(c.Vars):])
	for _, r := range c.Results {
		results = append(results, types.TypeString(r, ShortName))
	}
	for _, d := range c.Decls {
		text := d.Unit.String()
		if !d.Own {
			text += " again"
		}
		decls = append(decls, text)
	}
	for _, x := range []struct {
		what string
		list []string
	}{{"vars", vars}, {"results", results}, {"decls", decls}} {
		if len(x.list) > 0 {
			s.line("%s %s", x.what, strings.Join(x.list, ", "))
		}
	}
	if c.Fails {
		s.line("fails")
	}
	s.names("redeclared", c.Redeclared)
	for _, n := range c.Natives {
		s.line("compiled %s", n.Unit)
		s.native(n)
	}
	e := c.Effects(before)
	s.names("reads", e.Reads)
	s.names("makes", e.Declares)
	s.names("same", e.Same)
	s.names("sets", e.Sets)
	s.names("updates", e.Updates)
	for _, note := range c.Notes {
		s.line("note %s", strings.ReplaceAll(note, "\n", "\n  "))
	}
	for _, u := range s.p.gone {
		s.line("gone %s", u)
	}
}

// layout writes a function that is laid out.
func (s *transcript) layout(n *Native, err error) {
	if err != nil {
		s.line("error %s", strings.ReplaceAll(err.Error(), "\n", "\n  "))
		return
	}
	s.line("entry %s", types.ObjectString(n.Entry, ShortName))
	s.native(n)
	for _, c := range n.Copies {
		s.line("  copy %s of %s", types.TypeString(c.Type, ShortName), types.TypeString(c.Of, ShortName))
	}
	for _, m := range n.Methods {
		s.line("  method %d %s", m.Copy, types.ObjectString(m.Func, ShortName))
	}
	if len(n.Literals) > 0 {
		s.line("  literals %s", strings.Join(n.Literals, " "))
	}
	if why := n.AsksIdentity(); why != "" {
		s.line("  asks %s", why)
	}
	for _, d := range n.Decls {
		Conversions(n.Info, d.Decl, func(i Interfaced) {
			where := "-"
			if i.Call != nil {
				if f := Called(n.Info, i.Call); f != nil {
					where = f.Name()
				} else {
					where = "call"
				}
			}
			s.line("  %d: %s becomes %s, %s", s.fset.Position(i.At.Pos()).Line, types.TypeString(i.From, ShortName), types.TypeString(i.To, ShortName), where)
		})
	}
	var shown []string
	for id, o := range n.Info.Defs {
		if v, ok := o.(*types.Var); ok && !v.IsField() {
			mentions := n.Mentions(v.Type())
			if mentions != nil {
				shown = append(shown, fmt.Sprintf("%s bound %v plain %v", id.Name, n.Bound(v.Type()), plain(v.Type())))
			}
		}
	}
	slices.Sort(shown)
	if shown = slices.Compact(shown); len(shown) > 0 {
		s.line("  %s", strings.Join(shown, "; "))
	}
}

// native writes a compiled cell.
func (s *transcript) native(n *Native) {
	for _, d := range n.Decls {
		s.line("  %d:%d: %s", d.Cell, d.Line, strings.Join(strings.Fields(d.Text), " "))
	}
	var vars []string
	for name, v := range n.Vars {
		vars = append(vars, name+" "+types.TypeString(v.Type(), ShortName))
	}
	slices.Sort(vars)
	if len(vars) > 0 {
		s.line("  shares %s", strings.Join(vars, ", "))
	}
	if len(n.Blank) > 0 {
		s.line("  imports %s", strings.Join(n.Blank, " "))
	}
	if n.C != nil {
		s.line("  C in line %d of cell %d: %q", n.C.Line, n.C.Cell, n.C.Preamble)
	}
	if n.UsesContext {
		s.line("  uses ctx")
	}
	if n.Before != "" {
		s.line("  again")
	}
	s.names("  needs", n.Unit.deps)
}
