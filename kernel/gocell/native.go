package gocell

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// The text of a compiled cell as the toolchain sees it is what was typed, with
// a few words exchanged: names of other cells, go statements (a panic there
// must not end the kernel) and the values of variables, which a function sets
// whenever the cell runs. Beside it stands a table by which the session finds
// everything.

// generator writes the package of a compiled cell.
type generator struct {
	s       *Session
	n       *native
	fset    *token.FileSet
	imports map[string]string  // name -> path
	cells   map[*native]string // name under which a cell is imported
	sources map[string]string
	edits   []edit
	temp    int
	err     error
}

// An edit exchanges the text from one position to another.
type edit struct {
	from, to token.Pos
	text     func() string
}

// outName is the name by which other packages reach a name that is not
// exported.
func outName(o types.Object) string {
	if o.Exported() {
		return o.Name()
	}
	return exportMark + o.Name()
}

func (g *generator) generate() error {
	n := g.n
	g.sources = map[string]string{}
	added := map[ast.Expr]bool{} // by keyed
	for _, d := range n.decls {
		ast.Inspect(d.decl, func(x ast.Node) bool {
			if kv, ok := x.(*ast.KeyValueExpr); ok && kv.Key.Pos() == kv.Value.Pos() {
				added[kv.Key] = true
			}
			return true
		})
	}
	for id, o := range n.info.Uses {
		if !added[id] {
			g.use(id, o)
		}
	}
	for id, o := range n.info.Defs {
		if o != nil && !g.member(id, o) {
			g.hiddenGeneric(id, o)
		}
	}
	for _, d := range n.decls {
		ast.Inspect(d.decl, func(x ast.Node) bool {
			if s, ok := x.(*ast.GoStmt); ok {
				g.goStmt(s)
			}
			return true
		})
	}
	g.watchStack()
	slices.SortStableFunc(g.edits, func(a, b edit) int { return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to)) })
	own := map[string]bool{}
	for _, name := range n.unit.names {
		own[name] = true
	}
	var body, table bytes.Buffer
	for _, d := range n.decls {
		if gd, ok := d.decl.(*ast.GenDecl); ok && gd.Tok == token.VAR {
			continue
		}
		body.WriteString(g.at(d.decl.Pos()) + g.render(d.decl.Pos(), d.decl.End()) + "\n")
	}
	g.initialise(&body)
	body.WriteString("/*line generated.go:1:1*/")
	fmt.Fprintf(&body, "var %[1]srecover, %[1]sstack func()\n", mark)
	fmt.Fprintf(&table, "\t%q: %[1]s,\n\t%q: &%[2]s,\n\t%q: &%[3]s,\n", mark+"init", mark+"recover", mark+"stack")
	if n.ctx {
		g.imports[mark+"context"] = "context"
		fmt.Fprintf(&body, "var %sctx func() %[1]scontext.Context\n", mark)
		fmt.Fprintf(&table, "\t%q: &%[1]s,\n", mark+"ctx")
	}
	for _, name := range slices.Sorted(maps.Keys(n.vars)) {
		fmt.Fprintf(&body, "var %sv_%s *%s\n", mark, name, g.typeText(n.vars[name].Type()))
		fmt.Fprintf(&table, "\t%q: &%sv_%s,\n", mark+"v "+name, mark, name)
	}
	for _, name := range n.pkg.Scope().Names() {
		if o := n.pkg.Scope().Lookup(name); own[name] && !isGeneric(o) {
			g.export(&body, &table, o)
		}
	}
	n.instances = nil
	for _, t := range g.instances() {
		n.instances = append(n.instances, t)
		fmt.Fprintf(&table, "\t%q: (*%s)(nil),\n", instanceKey(len(n.instances)-1), g.typeText(t))
	}
	if g.err != nil {
		return g.err
	}
	var b bytes.Buffer
	b.WriteString("package cell\n\nimport (\n")
	for _, name := range slices.Sorted(maps.Keys(g.imports)) {
		fmt.Fprintf(&b, "\t%s %q\n", name, g.imports[name])
	}
	b.WriteString(")\n\n")
	for _, path := range slices.Sorted(maps.Values(g.imports)) {
		// Another version of a fetched package makes another cell.
		if sp := g.s.prog.imp.source(path); sp != nil {
			n.fetched = true
			fmt.Fprintf(&b, "// %s: %s\n", path, sp.Module)
		}
	}
	b.Write(body.Bytes())
	fmt.Fprintf(&b, "\nvar %s = map[string]any{\n%s}\n", tableName, table.Bytes())
	sum := sha256.Sum256(b.Bytes())
	n.path = nativePath + "c" + hex.EncodeToString(sum[:10])
	g.sources[n.path] = b.String()
	n.sources = g.sources
	return nil
}

// use exchanges a name of another package or cell.
func (g *generator) use(id *ast.Ident, o types.Object) {
	n := g.n
	if pn, ok := o.(*types.PkgName); ok {
		g.edits = append(g.edits, edit{id.Pos(), id.End(), func() string {
			g.imports[pn.Name()] = pn.Imported().Path()
			return id.Name
		}})
		return
	}
	if g.member(id, o) || g.hiddenGeneric(id, o) || o.Pkg() == nil || o.Pkg() == n.pkg {
		return
	}
	replace := func(text string) {
		g.edits = append(g.edits, edit{id.Pos(), id.End(), func() string { return text }})
	}
	v, isVar := o.(*types.Var)
	switch {
	case ofNative(o):
		if isVar && !o.Exported() {
			replace("(*" + g.cell(o.Pkg()) + "." + outName(o) + ")")
			return
		}
		replace(g.cell(o.Pkg()) + "." + outName(o))
	case isVar && n.vars[v.Name()] == v:
		replace("(*" + mark + "v_" + v.Name() + ")")
	case isVar && pathOf(o.Pkg()) == "main" && !v.IsField():
		replace(mark + "ctx()")
	case o.Parent() == o.Pkg().Scope() && g.bare(id):
		// By a dot import.
		name := alias(o.Pkg().Path())
		g.imports[name] = o.Pkg().Path()
		replace(name + "." + o.Name())
	}
}

// hiddenGeneric exchanges the name of a generic of this cell that is not
// exported: there is no second name for it by which other cells could reach it.
func (g *generator) hiddenGeneric(id *ast.Ident, o types.Object) bool {
	if o.Pkg() != g.n.pkg || o.Parent() != g.n.pkg.Scope() || o.Exported() || !isGeneric(o) {
		return false
	}
	g.edits = append(g.edits, edit{id.Pos(), id.End(), func() string { return outName(o) }})
	return true
}

// instances returns the instances of compiled generic types that the cell
// mentions.
func (g *generator) instances() []*types.Named {
	found := map[string]*types.Named{}
	seen := map[types.Type]bool{}
	walk := func(t types.Type) {
		walkType(t, func(t types.Type) {
			n, ok := t.(*types.Named)
			if !ok {
				return
			}
			if p := n.Obj().Pkg(); n.TypeArgs().Len() > 0 && (p == g.n.pkg || isNative(p)) && n.Obj().Parent() == p.Scope() && !open(n, map[types.Type]bool{}) {
				found[g.typeText(n)] = n
			}
		}, seen)
	}
	for _, tv := range g.n.info.Types {
		if tv.Type != nil {
			walk(tv.Type)
		}
	}
	var list []*types.Named
	for _, text := range slices.Sorted(maps.Keys(found)) {
		list = append(list, found[text])
	}
	return list
}

// instanceKey is the name in the table of an instance of a generic type.
func instanceKey(i int) string { return mark + "i" + itoa(i) }

// open reports whether a type has parameters, or is made of types that only a
// function knows.
func open(t types.Type, seen map[types.Type]bool) bool {
	found := false
	walkType(t, func(t types.Type) {
		switch t := t.(type) {
		case *types.TypeParam:
			found = true
		case *types.Named:
			found = found || t.Obj().Pkg() != nil && t.Obj().Parent() != t.Obj().Pkg().Scope()
		}
	}, seen)
	return found
}

// member exchanges the name of a field or method, and reports whether it does.
func (g *generator) member(id *ast.Ident, o types.Object) bool {
	name, ok := hiddenMember(g.n.pkg, o)
	if !ok {
		return false
	}
	if t, embeds := g.n.info.Uses[id].(*types.TypeName); embeds && t.Pkg() != g.n.pkg {
		return true // use takes the name of the other cell's type
	}
	g.edits = append(g.edits, edit{id.Pos(), id.End(), func() string { return name }})
	return true
}

// watchStack has the functions that may call themselves, directly or through
// one another, look at the stack: the run time ends the process of one that
// has grown too large.
func (g *generator) watchStack() {
	info := g.n.info
	// A node is the body of a function. dynamic stands for calls of which it is
	// not known whom they reach: that may be any literal, and any function that
	// is used as a value.
	type node struct{ body *ast.BlockStmt }
	dynamic := &node{}
	calls := map[*node]map[*node]bool{dynamic: {}}
	byFunc := map[*types.Func]*node{}
	byName := map[string][]*node{} // methods
	var order []*node
	add := func(b *ast.BlockStmt) *node {
		n := &node{b}
		calls[n] = map[*node]bool{}
		order = append(order, n)
		return n
	}
	for _, d := range g.n.decls {
		if f, ok := d.decl.(*ast.FuncDecl); ok && f.Body != nil {
			o, _ := info.Defs[f.Name].(*types.Func)
			n := add(f.Body)
			byFunc[o] = n
			if f.Recv != nil {
				byName[f.Name.Name] = append(byName[f.Name.Name], n)
			}
		}
	}
	var visit func(n *node, x ast.Node)
	visit = func(n *node, x ast.Node) {
		called := map[*ast.Ident]bool{}
		ast.Inspect(x, func(x ast.Node) bool {
			switch x := x.(type) {
			case *ast.FuncLit:
				inner := add(x.Body)
				calls[n][inner], calls[dynamic][inner] = true, true
				visit(inner, x.Body)
				return false
			case *ast.CallExpr:
				var id *ast.Ident
				switch f := ast.Unparen(x.Fun).(type) {
				case *ast.Ident:
					id = f
				case *ast.SelectorExpr:
					id = f.Sel
				case *ast.IndexExpr:
					id, _ = f.X.(*ast.Ident)
				case *ast.IndexListExpr:
					id, _ = f.X.(*ast.Ident)
				}
				if id != nil {
					if _, ok := info.Uses[id].(*types.Func); ok {
						called[id] = true
						return true
					}
				}
				if tv := info.Types[x.Fun]; !tv.IsType() && !tv.IsBuiltin() {
					calls[n][dynamic] = true
				}
			case *ast.Ident:
				f, ok := info.Uses[x].(*types.Func)
				if !ok {
					return true
				}
				f = f.Origin()
				var to []*node
				if t := byFunc[f]; t != nil {
					to = append(to, t)
				} else if f.Signature().Recv() != nil && types.IsInterface(f.Signature().Recv().Type()) {
					to = byName[f.Name()]
				}
				for _, t := range to {
					calls[n][t] = true
					if !called[x] {
						calls[dynamic][t] = true
					}
				}
			}
			return true
		})
	}
	for _, n := range slices.Clone(order) {
		visit(n, n.body)
	}
	for _, n := range order {
		seen := map[*node]bool{}
		var reach func(m *node) bool
		reach = func(m *node) bool {
			for t := range calls[m] {
				if t == n {
					return true
				}
				if !seen[t] {
					seen[t] = true
					if reach(t) {
						return true
					}
				}
			}
			return false
		}
		if reach(n) {
			at := n.body.Lbrace + 1
			g.edits = append(g.edits, edit{at, at, func() string {
				// Looking costs as much as a few calls. A stack that grows has
				// frames everywhere: one in sixteen looks, by its address.
				g.imports[mark+"unsafe"] = "unsafe"
				return "var " + mark + "at byte; if uintptr(" + mark + "unsafe.Pointer(&" + mark + "at))&0xffff < 0x1000 { " + mark + "stack() }; "
			}})
		}
	}
}

// bare reports whether an identifier does not stand behind a dot.
func (g *generator) bare(id *ast.Ident) bool {
	for _, d := range g.n.decls {
		if d.decl.Pos() <= id.Pos() && id.Pos() < d.decl.End() {
			off := g.offset(d, id.Pos())
			return !strings.HasSuffix(strings.TrimRight(d.text[:off], " \t\r\n"), ".")
		}
	}
	return false
}

// cell returns the name under which a compiled cell is imported.
func (g *generator) cell(p *types.Package) string {
	g.s.mu.Lock()
	m := g.s.natives[pathOf(p)]
	g.s.mu.Unlock()
	if m == nil {
		g.err = fmt.Errorf("internal: no compiled cell %s", pathOf(p))
		return "_"
	}
	name, ok := g.cells[m]
	if !ok {
		name = mark + "c" + itoa(len(g.cells))
		g.cells[m] = name
		g.imports[name] = m.path
		maps.Copy(g.sources, m.sources)
		g.n.fetched = g.n.fetched || m.fetched
	}
	return name
}

// goStmt gives a goroutine a frame that recovers.
func (g *generator) goStmt(s *ast.GoStmt) {
	recovers := "defer " + mark + "recover(); "
	if lit, ok := ast.Unparen(s.Call.Fun).(*ast.FuncLit); ok {
		at := lit.Body.Lbrace + 1
		g.edits = append(g.edits, edit{at, at, func() string { return recovers }})
		return
	}
	info := g.n.info
	g.edits = append(g.edits, edit{s.Pos(), s.End(), func() string {
		var names, values []string
		hold := func(x ast.Expr) string {
			g.temp++
			name := mark + "t" + itoa(g.temp)
			names, values = append(names, name), append(values, g.render(x.Pos(), x.End()))
			return name
		}
		fun := g.render(s.Call.Fun.Pos(), s.Call.Fun.End())
		if !namesFunc(info, s.Call.Fun) {
			fun = hold(s.Call.Fun)
		}
		var args []string
		for _, a := range s.Call.Args {
			tv := info.Types[a]
			if t, ok := tv.Type.(*types.Tuple); ok {
				arg := hold(a)
				args = append(args, arg)
				for i := 1; i < t.Len(); i++ {
					g.temp++
					names = append(names, mark+"t"+itoa(g.temp))
					args = append(args, names[len(names)-1])
				}
				continue
			}
			if tv.Value != nil || tv.IsNil() || tv.IsType() {
				args = append(args, g.render(a.Pos(), a.End()))
				continue
			}
			args = append(args, hold(a))
		}
		dots := ""
		if s.Call.Ellipsis.IsValid() {
			dots = "..."
		}
		set := ""
		if len(names) > 0 {
			set = strings.Join(names, ", ") + " := " + strings.Join(values, ", ") + "; "
		}
		return "{ " + set + "go func() { " + recovers + fun + "(" + strings.Join(args, ", ") + dots + ") }() }"
	}})
}

// namesFunc reports whether an expression names a function that is declared,
// so that it may be evaluated later.
func namesFunc(info *types.Info, x ast.Expr) bool {
	if tv := info.Types[x]; tv.IsBuiltin() {
		return true
	}
	switch x := ast.Unparen(x).(type) {
	case *ast.Ident:
		_, ok := info.Uses[x].(*types.Func)
		return ok
	case *ast.SelectorExpr:
		_, ok := info.Uses[x.Sel].(*types.Func)
		return ok && info.Selections[x] == nil
	case *ast.IndexExpr:
		return namesFunc(info, x.X)
	case *ast.IndexListExpr:
		return namesFunc(info, x.X)
	}
	return false
}

// declOf returns the declaration that holds a position.
func (g *generator) declOf(pos token.Pos) nativeDecl {
	for _, d := range g.n.decls {
		if d.decl.Pos() <= pos && pos <= d.decl.End() {
			return d
		}
	}
	return g.n.decls[0]
}

// offset returns the place of a position in the text of its declaration.
func (g *generator) offset(d nativeDecl, pos token.Pos) int {
	prefix := len("package main;" + lineDirective(d.line, d.col))
	return g.fset.PositionFor(pos, false).Offset - prefix
}

// render returns the text between two positions of a declaration with the
// edits made.
func (g *generator) render(from, to token.Pos) string {
	d := g.declOf(from)
	var b strings.Builder
	at := from
	for i, e := range g.edits {
		if e.from < at || e.to > to {
			continue
		}
		b.WriteString(d.text[g.offset(d, at):g.offset(d, e.from)])
		kept := g.edits
		g.edits = append(slices.Clone(kept[:i]), kept[i+1:]...)
		b.WriteString(e.text())
		g.edits = kept
		at = e.to
	}
	b.WriteString(d.text[g.offset(d, at):g.offset(d, to)])
	return b.String()
}

// at returns the directive that places what follows in its cell.
func (g *generator) at(pos token.Pos) string {
	d := g.declOf(pos)
	i := slices.Index(g.n.files, d.cell)
	if i < 0 {
		i = len(g.n.files)
		g.n.files = append(g.n.files, d.cell)
	}
	p := g.fset.Position(pos)
	return fmt.Sprintf("/*line c%d.go:%d:%d*/", i, p.Line, p.Column)
}

// initialise declares the variables, and the function that sets them.
func (g *generator) initialise(b *bytes.Buffer) {
	var set bytes.Buffer
	for _, name := range g.n.pkg.Scope().Names() {
		if v, ok := g.n.pkg.Scope().Lookup(name).(*types.Var); ok {
			if bad := notExported(v.Type(), map[types.Type]bool{}, func(*types.TypeName) bool { return false }); bad != "" {
				ce := &checkError{}
				ce.list.Add(g.fset.Position(v.Pos()), fmt.Sprintf("a variable of a compiled cell cannot have type %s: %s is not exported", types.TypeString(v.Type(), shortName), bad))
				g.err = ce
				return
			}
			fmt.Fprintf(b, "%svar %s %s\n", g.at(v.Pos()), name, g.typeText(v.Type()))
			fmt.Fprintf(&set, "\t%s = *new(%s)\n", name, g.typeText(v.Type()))
		}
	}
	for _, in := range g.n.info.InitOrder {
		rhs := g.at(in.Rhs.Pos()) + g.render(in.Rhs.Pos(), in.Rhs.End())
		if len(in.Lhs) == 1 && in.Lhs[0].Name() == "_" {
			fmt.Fprintf(&set, "\tvar _ %s = %s\n", g.typeText(in.Lhs[0].Type()), rhs)
			continue
		}
		var names []string
		for _, v := range in.Lhs {
			names = append(names, v.Name())
		}
		fmt.Fprintf(&set, "\t%s = %s\n", strings.Join(names, ", "), rhs)
	}
	fmt.Fprintf(b, "func %sinit() {\n%s}\n", mark, set.Bytes())
}

// export puts a name into the table, and makes one that is not exported known
// to other cells.
func (g *generator) export(b, table *bytes.Buffer, o types.Object) {
	name, out := o.Name(), outName(o)
	value := name
	switch o := o.(type) {
	case *types.Const:
		if out != name {
			fmt.Fprintf(b, "const %s = %s\n", out, name)
		}
		if t, ok := o.Type().(*types.Basic); ok && t.Info()&types.IsUntyped != 0 {
			return
		}
	case *types.Var:
		value = "&" + name
		if out != name {
			fmt.Fprintf(b, "var %s = &%s\n", out, name)
		}
	case *types.Func:
		if out != name {
			fmt.Fprintf(b, "var %s = %s\n", out, name)
		}
	case *types.TypeName:
		value = "(*" + name + ")(nil)"
		if out != name {
			fmt.Fprintf(b, "type %s = %s\n", out, name)
		}
		if it, ok := o.Type().Underlying().(*types.Interface); ok && !it.IsMethodSet() {
			return // a constraint
		}
	}
	fmt.Fprintf(table, "\t%q: %s,\n", name, value)
}

var hiddenRE = regexp.MustCompile("(" + mark + `c\d*\.)([^\s\[\](){}.,;*]+)`)

// typeText returns the text of a type, importing what it names.
func (g *generator) typeText(t types.Type) string {
	text := types.TypeString(t, func(p *types.Package) string {
		switch {
		case p == g.n.pkg:
			return mark + "c"
		case isNative(p):
			return g.cell(p)
		}
		name := alias(p.Path())
		g.imports[name] = p.Path()
		return name
	})
	// A type that is not exported has another name outside.
	return hiddenRE.ReplaceAllStringFunc(text, func(s string) string {
		m := hiddenRE.FindStringSubmatch(s)
		switch {
		case m[1] == mark+"c.":
			if o := g.n.pkg.Scope().Lookup(m[2]); o != nil && isGeneric(o) {
				return outName(o)
			}
			return m[2]
		case token.IsExported(m[2]):
			return s
		}
		return m[1] + exportMark + m[2]
	})
}

// nativeLineRE finds the place in a line that the toolchain prints.
var nativeLineRE = regexp.MustCompile(`^(?:\S*/)?(c\d+\.go):(\d+):(\d+): (.*)$`)

// position returns the place in a cell of a line of the text that was built.
func (n *native) position(file, line, col string) (token.Position, bool) {
	name, ok := strings.CutPrefix(filepath.Base(file), "c")
	i, err := strconv.Atoi(strings.TrimSuffix(name, ".go"))
	if !ok || err != nil || i >= len(n.files) {
		return token.Position{}, false
	}
	l, _ := strconv.Atoi(line)
	c, _ := strconv.Atoi(col)
	return token.Position{Filename: fileName(n.files[i]), Line: l, Column: c}, true
}
