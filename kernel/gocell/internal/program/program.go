// Package program makes one Go program of a notebook's cells, and a notebook of such
// a program.
//
// [Make] type-checks the cells one after the other, as a session does, and runs
// nothing. Statements become the body of main, in order; declarations stand outside
// it. A variable is local to main unless a declaration uses it. A name that a later
// cell declares as something else gets another one. The value of a cell's last
// expression is shown by a call of package display, calls of must by functions of
// their own, and imports are written.
package program

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"go/ast"
	"go/format"
	"go/scanner"
	"go/token"
	"go/types"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"dace.local/kernel/buildinfo"
	"dace.local/kernel/gocell/internal/cell"
	"dace.local/kernel/gocell/internal/check"
	"dace.local/kernel/gocell/internal/magic"
	"dace.local/kernel/gocell/symbols"
	"dace.local/kernel/notebook"
)

// A symbol is something that the program declares or imports.
type symbol struct {
	name   string // in the program
	object types.Object
	global bool // declared outside main
	reads  int
	cell   int
	with   []*symbol // variables of one declaration, which are all global or none
}

// An edit replaces a part of a cell's text. What takes its place is asked for when all
// cells are known.
type edit struct {
	from, to int
	text     func() (text string, ok bool) // without ok the text stays
}

// A chunk is a part of a cell's text with edits in it.
type chunk struct {
	text     string
	from, to int
	edits    []edit
}

// A part is what a cell becomes.
type part struct {
	cell   *notebook.Cell
	index  int
	number int // of a code cell
	stmts  []chunk
	decls  []chunk
	after  func() string
	apart  bool // the statements are those of a function literal
}

// Modules finds packages that are not compiled into the kernel.
type Modules interface {
	// Begin is called first.
	Begin(fset *token.FileSet, importer *check.Importer)
	// Get does what %get does in a cell.
	Get(spec string) error
	// Find makes known what a cell imports. It reports whether that has changed anything.
	Find(imports []string) bool
	// Has reports whether a file that a cell writes is one of a module on disk.
	Has(file string) bool
}

type maker struct {
	set      *magic.Set
	modules  Modules
	fset     *token.FileSet
	prog     *check.Program
	number   int
	current  map[string]*symbol // the cells' names
	imports  map[string]*symbol // by path
	dots     map[string]bool
	blanks   map[string]bool
	names    map[string]bool           // that the program uses, in any scope
	runs     map[*ast.FuncDecl]*symbol // functions main and init
	labels   map[string]bool           // of cells whose statements stand in main
	texts    map[int]string
	ordered  map[int]string // the cells whose variables are made in another order than they stand in
	symbols  []*symbol      // all but packages, in order
	globals  []*symbol
	musts    map[int]bool
	usesCtx  bool
	parts    []*part
	lacks    []string
	defined  map[types.Object]*symbol // variables of the cell that is being made
	before   *check.Program
	snapshot map[string]*symbol
	results  *results
}

// Marks of the text of a program.
const (
	title   = " as a program, by dace convert."
	cellTag = "// In["
	notHere = "Not here: " // begins what is missing
	noFarm  = "workers are processes of the command dace and compute for its cells only; without Settings.Farm this process computes the same"
)

// Make returns the program of a notebook, with a sentence about each thing that the
// program does not do. Name is that of the notebook; modules may be nil.
func Make(set *magic.Set, nb *notebook.Notebook, name string, modules Modules) (text []byte, lacks []string, err error) {
	m, err := newMaker(set, nb, modules, nil)
	if err == nil && m.results.recalled() {
		m, err = newMaker(set, nb, modules, m)
	}
	if err != nil {
		return nil, nil, err
	}
	text, err = m.write(nb, name)
	return text, m.lacks, err
}

// newMaker makes the parts of a program. If cells read results, it does so once more,
// with what the first has found.
func newMaker(set *magic.Set, nb *notebook.Notebook, modules Modules, first *maker) (*maker, error) {
	prog, err := check.NewProgram()
	if err != nil {
		return nil, err
	}
	m := &maker{set: set, modules: modules, fset: token.NewFileSet(), prog: prog, current: map[string]*symbol{}, imports: map[string]*symbol{}, dots: map[string]bool{},
		blanks: map[string]bool{}, names: map[string]bool{"main": true, "init": true}, labels: map[string]bool{}, runs: map[*ast.FuncDecl]*symbol{}, texts: map[int]string{}, ordered: map[int]string{}, musts: map[int]bool{}}
	edits := map[int][]edit{} // that give names to results which cells read, by the cells' numbers
	if first != nil {
		edits = first.results.edits()
	} else {
		m.results = &results{m: m, made: map[string]*types.Var{}, uses: map[int][]edit{}, names: map[int]string{}}
	}
	if modules != nil {
		modules.Begin(m.fset, prog.Importer)
	}
	for _, c := range nb.Cells {
		for _, t := range scanned(c.Source) {
			m.names[t] = m.names[t] || c.Type == notebook.Code
		}
	}
	for i, c := range nb.Cells {
		p := &part{cell: c, index: i}
		m.parts = append(m.parts, p)
		if c.Type != notebook.Code {
			continue
		}
		m.number++
		p.number = m.number
		code := c.Source
		if first != nil && first.ordered[m.number] != "" {
			code = first.ordered[m.number]
		}
		if err := m.cell(p, code, edits[m.number]); err != nil {
			m.leaveOut(p, err)
		}
	}
	return m, nil
}

// leaveOut makes a comment of a cell that cannot be in the program.
func (m *maker) leaveOut(p *part, err error) {
	why := err.Error()
	var at *check.Error
	var list scanner.ErrorList
	if errors.As(err, &at) {
		list = at.List
	} else {
		_ = errors.As(err, &list)
	}
	if len(list) > 0 {
		why, _, _ = strings.Cut(list[0].Msg, "\n")
		why = fmt.Sprintf("line %d: %s", list[0].Pos.Line, why)
	}
	m.lacks = append(m.lacks, fmt.Sprintf("In[%d]: %s", m.number, why))
	text := "// " + notHere + why + ".\n//\n// " + strings.ReplaceAll(p.cell.Source, "\n", "\n// ")
	*p = part{cell: p.cell, index: p.index, number: p.number, stmts: []chunk{{text: text, to: len(text)}}}
}

func (m *maker) isName(name string) bool { return m.prog.Names[name] != nil }

// cell adds a code cell.
func (m *maker) cell(p *part, code string, edits []edit) error {
	if first := strings.TrimSpace(code); strings.HasPrefix(first, "?") || strings.HasSuffix(first, "?") && !strings.Contains(first, "\n") {
		return fmt.Errorf("%s: help is for cells", first)
	}
	text, err := m.set.Rewrite(code, m.isName, m.asGo)
	if err != nil {
		return err
	}
	text = chunk{text: text, to: len(text), edits: edits}.String()
	src, err := check.ParseCell(m.fset, m.number, "", text)
	text = src.Text() // without a package clause
	m.texts[m.number] = text
	if err != nil {
		return err
	}
	typed := src.Last
	if m.results != nil {
		if src, err = m.results.read(text); err != nil {
			return err
		}
	}
	body := asTyped(src.Body)
	c, err := m.check(src)
	if err != nil {
		return err
	}
	if made, ok := m.inOrder(text, body, src.Body.List); ok {
		m.ordered[m.number] = made
		if m.results != nil {
			delete(m.results.uses, m.number) // they are read once more
		}
		return m.cell(p, made, nil)
	}
	m.before, m.prog, m.snapshot, m.defined = m.prog, c.Next, maps.Clone(m.current), map[types.Object]*symbol{}
	for v := range c.Moved {
		return fmt.Errorf("it declares again the type of the variable %s: in one program a type has one declaration, so give the new one another name", v)
	}
	for _, t := range scanned(text) {
		m.names[t] = true
	}
	for _, is := range src.File.Imports {
		if is.Name != nil && is.Name.Name == "_" {
			m.blanks[check.ImportPath(is)] = true
		}
	}
	if m.results != nil {
		m.results.note(c, typed)
	}
	m.declared(c)
	tops := map[*ast.Ident]*symbol{}
	for _, s := range body {
		m.define(c, s, tops)
	}
	p.apart = m.apart(body, tops)
	m.split(p, c, text, body, tops, src.Program)
	var mine []*symbol
	for _, s := range m.defined {
		mine = append(mine, s)
	}
	slices.SortFunc(mine, func(a, b *symbol) int { return strings.Compare(a.name, b.name) })
	p.after = func() string {
		var b strings.Builder
		for _, s := range mine {
			if !s.global && s.reads == 0 && s.cell == p.number {
				b.WriteString("_ = " + s.name + "\n")
			}
		}
		return b.String()
	}
	return nil
}

// declared makes what a cell declares known in all of it.
func (m *maker) declared(c *check.Checked) {
	for i := range c.Decls {
		d := &c.Decls[i]
		if d.Unit.Method != "" {
			continue
		}
		for _, n := range d.Unit.Names {
			if f, ok := d.Decl.(*ast.FuncDecl); ok && (n == "main" || n == "init" && f.Recv == nil) {
				m.current[n] = &symbol{name: m.free("run" + strings.ToUpper(n[:1]) + n[1:]), cell: m.number, global: true}
				m.runs[f] = m.current[n]
				continue
			}
			m.declare(n, c.Next.Names[n].Object)
		}
	}
}

// apart reports whether the statements of a cell need a function of their own: what they
// defer runs when the cell ends, as they may return, and a label may be one of another
// cell's. Such a cell's variables stand outside main.
func (m *maker) apart(body []ast.Stmt, tops map[*ast.Ident]*symbol) (apart bool) {
	labels := map[string]bool{}
	for _, s := range body {
		ast.Inspect(s, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncLit:
				return false
			case *ast.DeferStmt, *ast.ReturnStmt:
				apart = true
			case *ast.LabeledStmt:
				labels[n.Label.Name] = true
				apart = apart || m.labels[n.Label.Name]
			}
			return true
		})
	}
	if !apart {
		maps.Copy(m.labels, labels)
		return false
	}
	for id, s := range tops {
		s.global = s.global || m.first(s, id)
	}
	return true
}

// check checks a cell against those before it; one that does not check may need modules
// that are not known yet.
func (m *maker) check(src *check.Source) (c *check.Checked, err error) {
	c, err = m.prog.Check(m.fset, src)
	for range 2 { // the folder's module, then one that it requires
		if err == nil || m.modules == nil || !m.modules.Find(src.Imports()) {
			break
		}
		c, err = m.prog.Check(m.fset, src)
	}
	return c, err
}

// asTyped returns the statements of a cell as they stand in its text: the checker cuts
// declarations of several variables.
func asTyped(body *ast.BlockStmt) []ast.Stmt {
	list := slices.Clone(body.List)
	for i, s := range list {
		if d, ok := s.(*ast.DeclStmt); ok {
			if g, ok := d.Decl.(*ast.GenDecl); ok {
				h := *g
				h.Specs = slices.Clone(g.Specs)
				list[i] = &ast.DeclStmt{Decl: &h}
			}
		}
	}
	return list
}

// inOrder returns the text of a cell with its variables in the order in which a session
// makes them, which is that of a Go file for those that the cell begins with; ok says
// that it is another one than they stand in.
func (m *maker) inOrder(text string, typed, made []ast.Stmt) (changed string, ok bool) {
	names := func(list []ast.Stmt) (names []string) {
		for _, s := range list {
			if d, ok := s.(*ast.DeclStmt); ok {
				for _, sp := range d.Decl.(*ast.GenDecl).Specs {
					if v, ok := sp.(*ast.ValueSpec); ok && len(v.Values) > 0 {
						for _, n := range v.Names {
							names = append(names, n.Name)
						}
					}
				}
			}
		}
		return names
	}
	if slices.Equal(names(typed), names(made)) {
		return "", false
	}
	ends := map[int]int{} // of what begins at an offset, as it is written
	if src, err := check.ParseCell(m.fset, m.number, "", text); err == nil {
		ast.Inspect(src.Body, func(n ast.Node) bool {
			if n != nil {
				ends[m.at(n.Pos())] = max(ends[m.at(n.Pos())], m.at(n.End()))
			}
			return true
		})
	}
	var b strings.Builder
	from, n := 0, check.AfterVars(typed) // statements that are ordered
	made = made[:len(made)-(len(typed)-n)]
	for i, s := range typed[:n] {
		b.WriteString(text[from:m.at(s.Pos())])
		from = ends[m.at(s.Pos())]
		for j := 0; i == 0 && j < len(made); j++ {
			v := made[j].(*ast.DeclStmt).Decl.(*ast.GenDecl).Specs[0].(*ast.ValueSpec)
			b.WriteString("var " + text[m.at(v.Names[0].Pos()):m.at(v.Names[len(v.Names)-1].End())])
			if v.Type != nil {
				b.WriteString(" " + text[m.at(v.Type.Pos()):m.at(v.Type.End())])
			}
			for k, value := range v.Values {
				b.WriteString([]string{" = ", ", "}[min(k, 1)] + text[m.at(value.Pos()):ends[m.at(value.Pos())]])
			}
			b.WriteString("\n")
		}
	}
	return b.String() + text[from:], true
}

// scanned returns the identifiers of a text.
func scanned(text string) (list []string) {
	tokens, _, _ := cell.Tokens(text)
	for _, t := range tokens {
		if t.Kind == token.IDENT {
			list = append(list, t.Text)
		}
	}
	return list
}

// free returns a name that the program does not use.
func (m *maker) free(name string) string {
	out := name
	for n := 2; m.names[out]; n++ {
		out = name + strconv.Itoa(n)
	}
	m.names[out] = true
	return out
}

// declare makes a symbol for a name, which has another one if the name was declared
// as something else before.
func (m *maker) declare(name string, o types.Object) *symbol {
	s := &symbol{name: name, object: o, cell: m.number}
	if _, isVar := o.(*types.Var); !isVar {
		s.global = true
	}
	if m.current[name] != nil {
		s.name = m.free(name)
	}
	m.current[name] = s
	m.symbols = append(m.symbols, s)
	return s
}

// define makes symbols for the variables that a statement defines.
func (m *maker) define(c *check.Checked, s ast.Stmt, tops map[*ast.Ident]*symbol) {
	for {
		l, ok := s.(*ast.LabeledStmt)
		if !ok {
			break
		}
		s = l.Stmt
	}
	var ids []*ast.Ident
	switch s := s.(type) {
	case *ast.AssignStmt:
		if s.Tok == token.DEFINE {
			for _, l := range s.Lhs {
				ids = append(ids, l.(*ast.Ident))
			}
		}
	case *ast.DeclStmt:
		if g, ok := s.Decl.(*ast.GenDecl); ok && g.Tok == token.VAR {
			for _, sp := range g.Specs {
				ids = append(ids, sp.(*ast.ValueSpec).Names...)
			}
		}
	}
	var group []*symbol
	for _, id := range ids {
		o, ok := c.Info.Defs[id].(*types.Var)
		if !ok {
			if sym := m.defined[c.Info.Uses[id]]; sym != nil {
				tops[id] = sym // defined above in the same cell
			}
			continue
		}
		if id.Name == "_" {
			continue
		}
		if e := m.before.Names["ctx"]; id.Name == "ctx" && e != nil && e.Cell == 0 && types.Identical(e.Object.Type(), o.Type()) {
			m.ctx()
		}
		sym := m.current[id.Name]
		if sym == nil || !isVar(sym) || !types.Identical(sym.object.Type(), o.Type()) {
			sym = m.declare(id.Name, o)
		}
		tops[id] = sym
		m.defined[o] = sym
		group = append(group, sym)
	}
	if _, isDecl := s.(*ast.DeclStmt); isDecl {
		for _, sym := range group {
			sym.with = append(sym.with, group...)
		}
	}
}

func isVar(s *symbol) bool {
	_, ok := s.object.(*types.Var)
	return ok
}

// ctx returns the symbol of the cells' context.
func (m *maker) ctx() *symbol {
	if s := m.current["ctx"]; s != nil && isVar(s) {
		return s
	}
	m.usesCtx = true
	m.pkg("context")
	s := &symbol{name: "ctx", object: m.before.Names["ctx"].Object, global: true, reads: 1}
	m.current["ctx"] = s
	return s
}

// split cuts a cell into statements and declarations, with their comments.
func (m *maker) split(p *part, c *check.Checked, text string, body []ast.Stmt, tops map[*ast.Ident]*symbol, isProgram bool) {
	tokens, _, _ := cell.Tokens(text)
	parts := cell.Split(tokens, len(text))
	m.again(p, c)
	own := slices.DeleteFunc(slices.Clone(c.Decls), func(d check.Declared) bool { return !d.Own })
	if len(parts) == 0 {
		p.stmts = append(p.stmts, chunk{text: text, to: len(text)})
	}
	start := 0
	var inits []chunk // calls, which stand behind the leading declarations of variables
	leading, varsEnd := 0, 0
	if n := check.AfterVars(body); n > 0 {
		varsEnd = m.at(body[n-1].End())
	}
	runMain := isProgram
	if _, alone := c.Source.Main(); alone {
		runMain = true
	}
	for i := 0; i < len(parts); i++ {
		part := parts[i]
		if part.Kind == cell.PartStmt { // for a; b; c {} is several parts
			for _, s := range body {
				if at := m.at(s.Pos()); part.Start <= at && at < part.End {
					part.End = max(part.End, m.at(s.End()))
				}
			}
			for i+1 < len(parts) && parts[i+1].Start < part.End {
				i++
			}
		}
		end := len(text)
		if i+1 < len(parts) {
			end = lineEnd(text, part.End, parts[i+1].Start)
		}
		ch := chunk{text: text, from: start, to: end}
		start = end
		switch {
		case part.Kind == cell.PartImport:
			continue
		case part.Kind != cell.PartStmt:
			i := slices.IndexFunc(own, func(d check.Declared) bool { return m.at(d.Decl.Pos()) == part.Start })
			if i < 0 {
				continue
			}
			d := own[i]
			m.bind(&ch, c, d.Decl, true, nil)
			m.nameDecl(&ch, c, d)
			p.decls = append(p.decls, ch)
			if f, ok := d.Decl.(*ast.FuncDecl); ok && f.Recv == nil && (f.Name.Name == "init" || f.Name.Name == "main" && runMain) {
				name := m.runs[f].name
				call := chunk{text: name + "()\n", to: len(name) + 3}
				if f.Name.Name == "init" {
					inits = append(inits, call)
				} else {
					p.stmts = append(p.stmts, call)
				}
			}
		default:
			for _, s := range body {
				if at := m.at(s.Pos()); at < part.Start || at >= part.End {
					continue
				}
				if s == c.Source.Last {
					m.last(&ch, c)
				}
				m.assigned(&ch, c, s, tops) // before bind: what it leaves out is not renamed
				m.bind(&ch, c, s, false, tops)
			}
			if p.stmts = append(p.stmts, ch); varsEnd > part.Start {
				leading = len(p.stmts)
			}
		}
	}
	p.stmts = slices.Insert(p.stmts, leading, inits...)
}

// again adds the declarations of earlier cells that use what a cell has changed.
func (m *maker) again(p *part, c *check.Checked) {
	for _, d := range c.Decls {
		if d.Own {
			continue
		}
		from := offset(m.texts[d.Unit.Cell], d.Unit.Line, d.Unit.Column)
		ch := chunk{text: m.texts[d.Unit.Cell], from: from, to: from + len(d.Unit.Text)}
		m.bind(&ch, c, d.Decl, true, nil)
		m.nameDecl(&ch, c, d)
		p.decls = append(p.decls, ch)
	}
}

// at returns the offset of a position in its cell.
func (m *maker) at(pos token.Pos) int {
	p := m.fset.Position(pos)
	n, _ := cell.Number(p.Filename)
	return offset(m.texts[n], p.Line, p.Column)
}

func offset(text string, line, column int) int {
	at := 0
	for range line - 1 {
		n := strings.IndexByte(text[at:], '\n')
		if n < 0 {
			return len(text)
		}
		at += n + 1
	}
	return min(at+column-1, len(text))
}

// lineEnd returns where a part's text ends: with its line, unless the next part
// begins on it.
func lineEnd(text string, end, next int) int {
	if n := strings.IndexByte(text[end:next], '\n'); n >= 0 {
		return end + n
	}
	if end < next && text[end] == ';' {
		end++
	}
	return end
}

func (ch *chunk) replace(from, to int, text func() string) {
	ch.edits = append(ch.edits, edit{from, to, func() (string, bool) { return text(), true }})
}

// replaceIf replaces a part if a condition holds when the program is written.
func (ch *chunk) replaceIf(from, to int, holds func() bool, text func() string) {
	ch.edits = append(ch.edits, edit{from, to, func() (string, bool) {
		if !holds() {
			return "", false
		}
		return text(), true
	}})
}

func fixed(s string) func() string { return func() string { return s } }

// nameDecl renames what a declaration declares.
func (m *maker) nameDecl(ch *chunk, c *check.Checked, d check.Declared) {
	name := func(id *ast.Ident) {
		s := m.current[id.Name]
		if s != nil && id.Name != "_" {
			at := m.at(id.Pos())
			ch.replace(at, at+len(id.Name), func() string { return s.name })
		}
	}
	switch x := d.Decl.(type) {
	case *ast.FuncDecl:
		if s := m.runs[x]; s != nil {
			at := m.at(x.Name.Pos())
			ch.replace(at, at+len(x.Name.Name), func() string { return s.name })
		} else if x.Recv == nil {
			name(x.Name)
		}
	case *ast.GenDecl:
		for _, s := range x.Specs {
			switch s := s.(type) {
			case *ast.TypeSpec:
				name(s.Name)
			case *ast.ValueSpec:
				for _, id := range s.Names {
					name(id)
				}
			}
		}
	}
}

// bind adds to a chunk the edits of the names that a node uses. Declared says that
// the node stands outside main.
func (m *maker) bind(ch *chunk, c *check.Checked, node ast.Node, declared bool, tops map[*ast.Ident]*symbol) {
	written := map[*ast.Ident]bool{}
	selected := map[*ast.Ident]bool{}
	ast.Inspect(node, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			for _, l := range n.Lhs {
				if id, ok := l.(*ast.Ident); ok {
					written[id] = true
				}
			}
		case *ast.IncDecStmt:
			if id, ok := n.X.(*ast.Ident); ok {
				written[id] = true
			}
		case *ast.SelectorExpr:
			selected[n.Sel] = true
		case *ast.Ident:
			m.ident(ch, c, n, declared, selected[n], !written[n], tops)
		}
		return true
	})
}

func (m *maker) ident(ch *chunk, c *check.Checked, id *ast.Ident, declared, selected, read bool, tops map[*ast.Ident]*symbol) {
	if tops[id] != nil {
		return // assigned does it
	}
	o := c.Info.Uses[id]
	if o == nil || selected && o.Parent() == nil {
		return
	}
	at, length := m.at(id.Pos()), len(id.Name)
	name := func(s *symbol) {
		if read {
			s.reads++
		}
		if declared && isVar(s) {
			s.global = true
		}
		ch.replace(at, at+length, func() string { return s.name })
	}
	if n, ok := check.MustResults(o); ok {
		m.musts[n] = true
		ch.replace(at, at+len("must"), fixed(mustName(n)))
		return
	}
	if p, ok := o.(*types.PkgName); ok {
		name(m.pkg(check.PathOf(p.Imported())))
		return
	}
	if s := m.defined[o]; s != nil {
		name(s)
		return
	}
	if o.Parent() == types.Universe || o.Pkg() == nil {
		return
	}
	if o.Pkg() != m.prog.Package {
		if check.PackageLevel(o) && !selected {
			m.dots[check.PathOf(o.Pkg())] = true
		}
		return
	}
	if o.Name() == "ctx" && m.prog.Names["ctx"] != nil && m.prog.Names["ctx"].Cell == 0 {
		name(m.ctx())
		return
	}
	isSession := check.PackageLevel(o) || m.isSession(o)
	if !isSession {
		return
	}
	s := m.current[o.Name()]
	if e := m.before.Names[o.Name()]; e != nil && e.Object == o && m.snapshot[o.Name()] != nil && !declared {
		s = m.snapshot[o.Name()]
	}
	if s != nil {
		name(s)
	}
}

// isSession reports whether an object is one that the session has under its name.
func (m *maker) isSession(o types.Object) bool {
	for _, p := range []*check.Program{m.before, m.prog} {
		if e := p.Names[o.Name()]; e != nil && e.Object == o {
			return true
		}
	}
	return false
}

// pkg returns the symbol of a package.
func (m *maker) pkg(ipath string) *symbol {
	s := m.imports[ipath]
	if s == nil {
		s = &symbol{global: true}
		m.imports[ipath] = s
	}
	return s
}

func mustName(results int) string {
	switch results {
	case 0:
		return "mustDo"
	case 1:
		return "must"
	}
	return "must" + strconv.Itoa(results)
}

// assigned settles how a statement of a cell assigns to the variables that it
// defines: those outside main, or defined before, are not defined again.
func (m *maker) assigned(ch *chunk, c *check.Checked, s ast.Stmt, tops map[*ast.Ident]*symbol) {
	for {
		l, ok := s.(*ast.LabeledStmt)
		if !ok {
			break
		}
		s = l.Stmt
	}
	switch s := s.(type) {
	case *ast.AssignStmt:
		if s.Tok == token.DEFINE {
			m.assignedShort(ch, s, tops)
		}
	case *ast.DeclStmt:
		if g, ok := s.Decl.(*ast.GenDecl); ok && g.Tok == token.VAR {
			m.assignedVar(ch, g, tops)
		}
	}
}

// assignedShort is assigned for a statement x, y := f().
func (m *maker) assignedShort(ch *chunk, s *ast.AssignStmt, tops map[*ast.Ident]*symbol) {
	var syms []*symbol
	defines := map[*symbol]bool{} // in this statement
	for _, l := range s.Lhs {
		id := l.(*ast.Ident)
		sym := tops[id]
		if sym != nil {
			defines[sym] = defines[sym] || m.first(sym, id)
		}
		syms = append(syms, sym)
	}
	define := func() bool {
		for sym, first := range defines {
			if first && !sym.global {
				return true
			}
		}
		return false
	}
	end := m.at(s.End())
	for i, l := range s.Lhs {
		id, sym := l.(*ast.Ident), syms[i]
		if tops[id] == nil || sym == nil {
			continue
		}
		at := m.at(id.Pos())
		ch.replace(at, at+len(id.Name), func() string {
			if define() && sym.global {
				return sym.name + "New"
			}
			return sym.name
		})
		ch.replace(end, end, func() string {
			if define() && sym.global {
				return "\n" + sym.name + " = " + sym.name + "New\n"
			}
			return ""
		})
	}
	at := m.at(s.TokPos)
	ch.replace(at, at+2, func() string {
		if define() {
			return ":="
		}
		return "="
	})
}

// assignedVar is assigned for a statement var x T = f().
func (m *maker) assignedVar(ch *chunk, g *ast.GenDecl, tops map[*ast.Ident]*symbol) {
	var all []*symbol
	again := false
	for _, sp := range g.Specs {
		for _, id := range sp.(*ast.ValueSpec).Names {
			if sym := tops[id]; sym != nil {
				all = append(all, sym)
				again = again || !m.first(sym, id)
			}
		}
	}
	outside := func() bool {
		return len(all) > 0 && (again || slices.ContainsFunc(all, func(s *symbol) bool { return s.global }))
	}
	cut := func(from, to token.Pos, or string) { ch.replaceIf(m.at(from), m.at(to), outside, fixed(or)) }
	if len(g.Specs) == 0 {
		return
	}
	cut(g.Pos(), g.Specs[0].Pos(), "\n")
	if g.Rparen.IsValid() {
		cut(g.Rparen, g.Rparen+1, "\n")
	}
	for _, sp := range g.Specs {
		v := sp.(*ast.ValueSpec)
		for i, id := range v.Names {
			sym := tops[id]
			if sym == nil {
				continue
			}
			at := m.at(id.Pos())
			ch.replace(at, at+len(id.Name), func() string { return sym.name })
			if len(v.Values) == 0 && i == len(v.Names)-1 {
				a, b := m.at(id.End()), m.at(v.Type.End())
				typ := m.at(v.Type.Pos())
				ch.replaceIf(a, b, outside, func() string {
					inside := slices.DeleteFunc(slices.Clone(ch.edits), func(e edit) bool { return e.from < typ || e.to > b })
					zero := "*new(" + strings.TrimSpace(chunk{text: ch.text, from: typ, to: b, edits: inside}.String()) + ")"
					return " = " + strings.Join(slices.Repeat([]string{zero}, len(v.Names)), ", ")
				})
			}
		}
		if len(v.Values) > 0 && v.Type != nil {
			cut(v.Type.Pos(), v.Type.End(), "")
		}
	}
}

// first reports whether an identifier is where its symbol is declared.
func (m *maker) first(s *symbol, id *ast.Ident) bool { return s.object.Pos() == id.Pos() }

// last turns the last expression of a cell into a call that shows its value.
func (m *maker) last(ch *chunk, c *check.Checked) {
	x, ok := c.Source.Last.(*ast.ExprStmt)
	if !ok {
		return
	}
	around := func(from, to token.Pos, open, end string) {
		a, b := m.at(from), m.at(to)
		ch.replace(a, a, func() string { return m.expand(open) })
		ch.replace(b, b, fixed(end))
	}
	if list := c.List(); list != nil {
		open := "display.Values("
		if c.Source.Quiet {
			open = strings.TrimSuffix(strings.Repeat("_, ", len(list)), ", ") + " = "
			around(list[0].Pos(), list[len(list)-1].End(), open, "")
			return
		}
		around(list[0].Pos(), list[len(list)-1].End(), m.display(open), ")")
		return
	}
	n := len(c.Results)
	call, isCall := ast.Unparen(x.X).(*ast.CallExpr)
	if n == 0 {
		return
	}
	hidden := c.Source.Quiet || isCall && hidesResults(c, call)
	switch {
	case c.Fails && hidden && !c.Source.Quiet:
		return // a printing function
	case c.Fails && (hidden || n == 1):
		m.musts[n-1] = true
		around(x.X.Pos(), x.X.End(), mustName(n-1)+"(", ")")
	case c.Fails:
		m.musts[n-1] = true
		open := "display.Show("
		if n > 2 {
			open = "display.Values("
		}
		around(x.X.Pos(), x.X.End(), m.display(open+mustName(n-1)+"("), "))")
	case hidden && (isCall || isReceive(x.X)):
	case hidden:
		around(x.X.Pos(), x.X.End(), "_ = ", "")
	case n == 1 && strings.HasSuffix(types.TypeString(c.Results[0], nil), "kernel/display.Shown"):
	case n == 1:
		around(x.X.Pos(), x.X.End(), m.display("display.Show("), ")")
	default:
		around(x.X.Pos(), x.X.End(), m.display("display.Values("), ")")
	}
}

var displayPath = buildinfo.Path("kernel/display")

// display notes that the program shows values.
func (m *maker) display(open string) string {
	m.pkg(displayPath)
	return open
}

// expand gives package display the name that it has in the program.
func (m *maker) expand(open string) string {
	if rest, ok := strings.CutPrefix(open, "display."); ok {
		return m.imports[displayPath].name + "." + rest
	}
	return open
}

func isReceive(x ast.Expr) bool {
	u, ok := ast.Unparen(x).(*ast.UnaryExpr)
	return ok && u.Op == token.ARROW
}

// hidesResults reports whether the results of a last call are the byte count and the
// error of one that prints or writes, which cells do not show.
func hidesResults(c *check.Checked, call *ast.CallExpr) bool {
	if len(c.Results) != 2 {
		return false
	}
	var id *ast.Ident
	switch f := ast.Unparen(call.Fun).(type) {
	case *ast.SelectorExpr:
		id = f.Sel
	case *ast.Ident:
		id = f
	default:
		return false
	}
	first, ok := c.Results[0].(*types.Basic)
	return ok && first.Info()&types.IsInteger != 0 && slices.ContainsFunc([]string{"Print", "Fprint", "Write", "Copy", "Append"},
		func(p string) bool { return strings.HasPrefix(id.Name, p) })
}

// write returns the program's text.
func (m *maker) write(nb *notebook.Notebook, name string) ([]byte, error) {
	m.settle()
	if farm := buildinfo.Path("dacelib/farm"); m.imports[farm] != nil {
		m.lacks = append(m.lacks, farm+": "+noFarm)
	}
	var main, decls, globals bytes.Buffer
	for _, p := range m.parts {
		main.WriteString("\n" + notebook.CellMark(p.cell, p.index) + "\n")
		if p.cell.Type != notebook.Code {
			for line := range strings.SplitSeq(p.cell.Source, "\n") {
				main.WriteString(strings.TrimRight("// "+line, " ") + "\n")
			}
			continue
		}
		if p.apart {
			main.WriteString("func() {\n")
		}
		for _, ch := range p.stmts {
			main.WriteString(strings.TrimRight(strings.TrimPrefix(ch.String(), "\n"), " \t\n;") + "\n")
		}
		if p.apart {
			main.WriteString("}()\n")
		}
		if p.after != nil {
			main.WriteString(p.after())
		}
		if len(p.decls) > 0 {
			fmt.Fprintf(&decls, "\n%s%d]\n", cellTag, p.number)
		}
		for _, ch := range p.decls {
			decls.WriteString("\n" + strings.Trim(ch.String(), " \t\n;") + "\n")
		}
	}
	for _, s := range m.globals {
		t, err := m.typeOf(s)
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&globals, "\t%s %s // In[%d]\n", s.name, t, s.cell)
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "// %s.ipynb%s\npackage main\n\nimport (\n", name, title)
	m.writeImports(&b)
	b.WriteString(")\n\n")
	if m.usesCtx {
		fmt.Fprintf(&b, "// ctx is the context of cells.\nvar ctx = %s.Background()\n\n", m.imports["context"].name)
	}
	if globals.Len() > 0 {
		fmt.Fprintf(&b, "// Variables of cells that functions use.\nvar (\n%s)\n\n", &globals)
	}
	fmt.Fprintf(&b, "func main() {\n\t%s.ToText(%s.Stdout)\n", m.imports[displayPath].name, m.imports["os"].name)
	b.Write(main.Bytes())
	b.WriteString("}\n")
	b.Write(decls.Bytes())
	if len(m.musts) > 0 {
		b.WriteString("\n" + helpers + "\n")
	}
	for _, n := range slices.Sorted(maps.Keys(m.musts)) {
		b.WriteString("\n" + mustText(n))
	}
	out, err := format.Source(b.Bytes())
	if err != nil {
		return b.Bytes(), fmt.Errorf("internal: the program does not parse: %w", err)
	}
	return out, nil
}

// writeImports writes the lines of the import declaration.
func (m *maker) writeImports(b *bytes.Buffer) {
	for _, own := range []bool{false, true} {
		for _, ipath := range slices.Sorted(maps.Keys(m.imports)) {
			if strings.Contains(strings.SplitN(ipath, "/", 2)[0], ".") != own {
				continue
			}
			alias := ""
			if n := m.imports[ipath].name; n != path.Base(ipath) && !(strings.HasSuffix(ipath, "/v2") && n == path.Base(path.Dir(ipath))) {
				alias = n + " "
			}
			note := ""
			if ipath == buildinfo.Path("dacelib/farm") {
				note = " // " + notHere + noFarm + "."
			}
			fmt.Fprintf(b, "\t%s%q%s\n", alias, ipath, note)
		}
		b.WriteString("\n")
	}
	for _, ipath := range slices.Sorted(maps.Keys(m.dots)) {
		fmt.Fprintf(b, "\t. %q\n", ipath)
	}
	for _, ipath := range slices.Sorted(maps.Keys(m.blanks)) {
		if m.imports[ipath] == nil && !m.dots[ipath] {
			fmt.Fprintf(b, "\t_ %q\n", ipath)
		}
	}
}

// settle gives the packages their names and decides which variables are global.
func (m *maker) settle() {
	m.pkg(displayPath)
	m.pkg("os")
	for again := true; again; {
		again = false
		for _, s := range m.symbols {
			for _, w := range s.with {
				if s.global && !w.global {
					w.global, again = true, true
				}
			}
		}
	}
	for ipath := range m.dots { // a file has no name twice
		of, err := m.prog.Importer.Import(ipath)
		for _, s := range m.symbols {
			if err == nil && (s.global || !isVar(s)) && of.Scope().Lookup(s.name) != nil {
				s.name = m.free(s.name)
			}
		}
	}
	taken := map[string]bool{}
	for _, s := range m.symbols {
		taken[s.name] = true
		if s.global && isVar(s) {
			m.globals = append(m.globals, s)
			types.TypeString(s.object.Type(), func(p *types.Package) string {
				if p != m.prog.Package {
					m.pkg(check.PathOf(p))
				}
				return ""
			})
		}
	}
	for _, ipath := range slices.SortedFunc(maps.Keys(m.imports), func(a, b string) int {
		return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b))
	}) {
		s := m.imports[ipath]
		name, ok := symbols.Name(ipath)
		if !ok {
			name = path.Base(ipath)
			if sp := m.prog.Importer.Source(ipath); sp != nil {
				name = sp.Name
			}
		}
		if s.name = name; taken[name] {
			s.name = m.free(name)
		}
		taken[s.name] = true
	}
}

// typeOf returns the type of a variable outside main.
func (m *maker) typeOf(s *symbol) (string, error) {
	if hidden := check.Inexpressible(s.object.Type(), map[types.Type]bool{}); hidden != "" {
		return "", fmt.Errorf("the functions of cell %d use the variable %s, whose type %s cannot be written outside its package: pass it as a parameter", s.cell, s.name, hidden)
	}
	return types.TypeString(s.object.Type(), func(p *types.Package) string {
		if p == m.prog.Package {
			return ""
		}
		return m.imports[check.PathOf(p)].name
	}), nil
}

// String returns the chunk's text with its edits.
func (ch chunk) String() string {
	slices.SortStableFunc(ch.edits, func(a, b edit) int { // insertions first, then what is longest
		switch {
		case a.from != b.from:
			return a.from - b.from
		case a.to == a.from || b.to == b.from:
			return a.to - b.to
		}
		return b.to - a.to
	})
	var b strings.Builder
	at := ch.from
	for _, e := range ch.edits {
		if e.from < at {
			continue // inside of what has been replaced
		}
		text, ok := e.text()
		if !ok {
			continue
		}
		b.WriteString(ch.text[at:e.from])
		b.WriteString(text)
		at = e.to
	}
	b.WriteString(ch.text[at:ch.to])
	return b.String()
}

// mustText returns the function that must is, for a number of results.
func mustText(n int) string {
	var params, in, out, results []string
	for i := 1; i <= n; i++ {
		params = append(params, fmt.Sprintf("T%d", i))
		in, out, results = append(in, fmt.Sprintf("v%d T%d", i, i)), append(out, fmt.Sprintf("v%d", i)), append(results, fmt.Sprintf("T%d", i))
	}
	if n == 0 {
		return "// mustDo panics with an error.\nfunc mustDo(err error) {\n\tif err != nil {\n\t\tpanic(err)\n\t}\n}\n"
	}
	result := strings.Join(results, ", ")
	if n > 1 {
		result = "(" + result + ")"
	}
	return fmt.Sprintf("// %s returns the results of a call without the error, or panics with it.\nfunc %s[%s any](%s, err error) %s {\n\tif err != nil {\n\t\tpanic(err)\n\t}\n\treturn %s\n}\n",
		mustName(n), mustName(n), strings.Join(params, ", "), strings.Join(in, ", "), result, strings.Join(out, ", "))
}
