package check

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"go/types"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"dace.local/kernel/internal/toolchain/module"
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
		p.Importer.Folder = func(path string) string {
			rest, _ := strings.CutPrefix(path, "./")
			return "example.org/" + rest
		}
		p.Importer.Missing = func(path string) string {
			if path == "missing" {
				return "it is missing"
			}
			return ""
		}
		s := &transcript{fset: token.NewFileSet(), p: p, literals: map[string]Piece{}, dir: t.TempDir(), packages: map[string]*module.Package{}}
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

	dir      string // of the packages
	packages map[string]*module.Package
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
// forgets names, %uses NAME lists what a function uses. %package PATH, or PATH cached, is
// a package on disk or of the module cache with the files that follow, edited where it is
// known; %gone PATH is one no longer. %flat PATH.NAME is a function of one as a compiled
// cell, %inits PATH what runs as it is initialized, %reaches CODE which packages code reaches.
// %explain CODE describes the last name in code, %look CODE the names in it, %recall CODE is
// code with the results that it reads, %needs NAME and %needs TEXT# what a function, or the
// literal at # in a text, needs elsewhere. %instance CODE is the generic function or type
// that code uses last, with its type arguments.
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
		s.p, _ = s.p.Without(set)
	case "%uses":
		s.line("%s", strings.Join(s.p.Uses(rest), " "))
	case "%package":
		head, files, _ := strings.Cut(rest, "\n")
		path, cached, _ := strings.Cut(head, " ")
		s.write(path, cached != "", files)
	case "%gone":
		s.gone(rest)
	case "%flat":
		at := strings.LastIndex(rest, ".")
		f, _ := s.p.Importer.Source(rest[:at]).Lookup(rest[at+1:]).(*types.Func)
		for _, g := range FuncsOf(f) {
			s.line("uses %s", g.FullName())
		}
		n, err := s.p.Flat(s.fset, f)
		if err == nil {
			s.line("compiled %s, globals %q", n.Unit, slices.Sorted(maps.Keys(n.Globals)))
			s.native(n)
		} else {
			s.line("error %v", err)
		}
	case "%inits":
		sp := s.p.Importer.Source(rest)
		var decls []*FetchedDecl
		for _, d := range sp.ByObject {
			if !slices.Contains(decls, d) {
				decls = append(decls, d)
			}
		}
		for _, d := range InitOrder(sp, decls, true) {
			text := fmt.Sprint(d.Order, d.File, d.HasEffects(), d.Embed)
			for _, o := range d.Objects {
				text += " " + o.Name()
			}
			for _, o := range d.Needs {
				text += " needs " + o.Name()
			}
			s.line("%s", text)
		}
	case "%reaches":
		src, err := ParseCell(s.fset, number, "", rest)
		for _, path := range slices.Sorted(maps.Keys(s.packages)) {
			s.line("%s %v %v", path, s.p.Reaches(src, []string{path}), err)
		}
	case "%explain":
		s.explain(rest)
	case "%look":
		v := s.p.Look(rest)
		for i, l := range strings.Split(rest, "\n") {
			for col := 1; col <= len(l); col++ {
				path := v.Find(i+1, col)
				if len(path) == 0 {
					continue
				}
				id := path[0].(*ast.Ident)
				if at := s.column(v, id); at != col {
					continue
				}
				text := "nothing"
				if o := v.Object(id); o != nil {
					text = types.ObjectString(o, ShortName)
				}
				s.line("%d:%d %s is %s, in %d nodes", i+1, col, id.Name, text, len(path))
			}
		}
	case "%recall":
		src, err := ParseCell(s.fset, number, "", rest)
		if err != nil {
			s.line("error %v", err)
			break
		}
		src.Recall(func(name string) bool { return s.p.Lookup(name) != nil }, results{})
		var b strings.Builder
		_ = printer.Fprint(&b, token.NewFileSet(), src.Body)
		var list []string
		for _, v := range src.Recalled {
			list = append(list, v.Name())
		}
		s.line("%s\nreads %s", strings.Join(strings.Fields(b.String()), " "), strings.Join(list, " "))
	case "%needs":
		s.needs(number, rest)
	case "%instance":
		s.instance(rest)
	default:
		s.check(number, code)
	}
	return strings.ReplaceAll(strings.TrimRight(s.b.String(), "\n"), s.dir, "DIR")
}

// write writes the files of a package, and has the importer see it.
func (s *transcript) write(path string, cached bool, files string) {
	known := s.packages[path]
	p := &module.Package{ImportPath: path, Dir: filepath.Join(s.dir, path), Module: module.Module{Path: path, Version: "v1.2.3", GoVersion: "1.26"}}
	if !cached {
		p.Module.Folder, p.Module.Own = p.Dir, true
	}
	_ = os.RemoveAll(p.Dir)
	if err := os.MkdirAll(p.Dir, 0o755); err != nil {
		s.line("%v", err)
	}
	for file := range strings.SplitSeq("\n"+files, "\n-- ") {
		name, text, ok := strings.Cut(file, " --\n")
		if !ok {
			continue
		}
		if err := os.WriteFile(filepath.Join(p.Dir, name), []byte(text), 0o644); err != nil {
			s.line("%v", err)
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, text, parser.ImportsOnly)
		switch {
		case !strings.HasSuffix(name, ".go"):
			p.Embeds = append(p.Embeds, name)
			continue
		case err == nil:
			p.Name = f.Name.Name
			for _, i := range f.Imports {
				p.Imports = append(p.Imports, ImportPath(i))
			}
		}
		p.Files = append(p.Files, name)
	}
	s.packages[path] = p
	if known == nil || cached {
		s.p.Importer.AddUnread(s.fset, &module.Fetch{All: s.packages})
		return
	}
	s.rebuild()
}

// gone removes a package.
func (s *transcript) gone(path string) {
	_ = os.RemoveAll(s.packages[path].Dir)
	delete(s.packages, path)
	s.rebuild()
}

func (s *transcript) rebuild() {
	paths, list := s.p.Importer.Edited()
	s.line("edited %q, list %v", paths, list)
	var f *module.Fetch
	if list {
		f = &module.Fetch{All: s.packages}
	}
	old, broken, err := s.p.Importer.Rebuild(s.fset, f, paths)
	var replaced []string
	for _, sp := range old {
		replaced = append(replaced, sp.ImportPath)
	}
	slices.Sort(broken)
	s.line("replaced %q, broken %q, %v", replaced, broken, err)
	s.p = s.p.Reloaded(old)
	s.names("packages", s.set())
	for _, methods := range []bool{false, true} {
		same := map[string]bool{}
		for name, t := range s.p.Importer.SameTypes(old, methods) {
			same[name.Name()+"="+t.Obj().Name()] = true
		}
		s.names(fmt.Sprintf("same types, methods %v:", methods), same)
	}
}

// set returns the known packages, with what is wrong with them.
func (s *transcript) set() map[string]bool {
	set := map[string]bool{}
	for _, path := range s.p.Importer.Packages() {
		sp := s.p.Importer.Source(path)
		set[fmt.Sprintf("%s(%v %q)", path, sp.Broken, sp.Why)] = true
	}
	return set
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

// column returns the column of an identifier of a view.
func (s *transcript) column(v *View, id *ast.Ident) int { return v.fset.Position(id.Pos()).Column }

func (s *transcript) explain(code string) {
	v := s.p.Look(code)
	var o types.Object
	at := token.NoPos
	for _, set := range []map[*ast.Ident]types.Object{v.Info.Uses, v.Info.Defs} {
		for id, x := range set {
			if x != nil && id.Pos() > at {
				o, at = x, id.Pos()
			}
		}
	}
	if o == nil {
		s.line("nothing")
		return
	}
	declaration, doc := s.p.DocOf(o)
	doc, _, _ = strings.Cut(doc, "\n")
	s.line("%s\ndoc %.60q, source %v", declaration, doc, SourceOf(o) != "")
	if x, ok := o.(*types.Var); ok && x.IsField() {
		s.line("of %s", s.p.FieldOwner(x))
	}
	if x, ok := o.(*types.TypeName); ok {
		var list []string
		for _, c := range s.p.ConstantsOf(x.Type()) {
			list = append(list, c.Name())
		}
		if n, ok := types.Unalias(x.Type()).(*types.Named); ok {
			for _, f := range s.p.MakersOf(n) {
				list = append(list, f.Name())
			}
		}
		s.line("constants and makers %q", list)
	}
}

func (s *transcript) needs(number int, text string) {
	compiled := func(path string) *Native {
		if s.last != nil {
			for _, n := range s.last.Natives {
				if PathOf(n.Package) == path {
					return n
				}
			}
		}
		return nil
	}
	var n *Needs
	var err error
	if from := strings.IndexByte(text, '#'); from >= 0 {
		n, err = s.p.NeedsOfLiteral(s.fset, compiled, number, strings.Replace(text, "#", "", 1), from, "literal")
	} else {
		n, err = s.p.Needs(s.fset, compiled, text)
	}
	if err != nil {
		s.line("error %v", err)
		return
	}
	s.line("%s", strings.TrimSpace(strings.ReplaceAll(n.Text(), "\n\n", "\n")))
}

// results are variables with the names of what they recall.
type results struct{}

func (results) variable(name string, t types.Type) *types.Var {
	return types.NewVar(token.NoPos, nil, name, t)
}
func (r results) Last(n int, _ token.Pos) *types.Var {
	if n > 1 {
		return nil
	}
	return r.variable(fmt.Sprint("last", n), types.Typ[types.Int])
}
func (r results) Out(number int, _ token.Pos) *types.Var {
	if number > 5 {
		return nil
	}
	return r.variable(fmt.Sprint("out", number), types.Typ[types.Int])
}
func (r results) In(token.Pos) *types.Var    { return r.variable("in", types.Typ[types.Int]) }
func (r results) Outs(token.Pos) *types.Var  { return r.variable("outs", types.Typ[types.Int]) }
func (r results) OutOf(token.Pos) *types.Var { return r.variable("outOf", types.Typ[types.Int]) }

func (s *transcript) instance(code string) {
	v := s.p.Look(code)
	var o types.Object
	var args []types.Type
	at := token.NoPos
	for id, x := range v.Info.Instances {
		if id.Pos() > at {
			o, args, at = v.Info.Uses[id], ListOf(x.TypeArgs), id.Pos()
		}
	}
	if f, ok := o.(*types.Func); ok {
		o = f.Origin()
	}
	if o == nil {
		s.line("nothing")
		return
	}
	text := func(n any) string {
		var b strings.Builder
		_ = printer.Fprint(&b, token.NewFileSet(), n)
		return strings.Join(strings.Fields(b.String()), " ")
	}
	s.line("%s of %s, methods %q", o.Name(), TypeList(args, ShortName), s.p.MethodsOf(o))
	methods := s.p.MethodsOf(o)
	if _, ok := o.(*types.Func); ok {
		methods = []string{""}
	}
	for _, method := range methods {
		if f, info, ok := s.p.Instance(s.fset, o, method, args); ok {
			s.line("  %s, type %s", text(f.Type), types.ObjectString(info.Defs[f.Name], ShortName))
		}
	}
	src, ok := s.p.GenericSource(o)
	if !ok || src.Lib != nil {
		s.line("source %v", ok)
		return
	}
	for _, pc := range append([]Piece{src.Decl}, src.Methods...) {
		ds, err := pc.Parse(s.fset)
		if err != nil {
			s.line("error %v", err)
			continue
		}
		f, ok := ds[0].(*ast.FuncDecl)
		if !ok {
			s.line("  %s", text(ds[0]))
			continue
		}
		params := FieldNames(f.Type.TypeParams)
		if f.Type.TypeParams = nil; f.Recv != nil {
			params = ReceiverParams(f)
			f.Type.Params.List = append(f.Recv.List[:1:1], f.Type.Params.List...)
			f.Recv = nil
		}
		info := NewInfo()
		constants := s.p.Recheck(s.fset, info, f, params, args, nil, pc.File)
		s.line("  %s with %q: %v, type %v", text(f.Type), params, constants, info.Defs[f.Name])
		HideConstants(f, params)
		s.line("  %s", text(f.Body))
	}
}
