package compiled

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

	"dace.local/kernel/gocell/internal/cell"
	"dace.local/kernel/gocell/internal/check"
)

// The toolchain compiles the cell's text as it was typed, with a few
// replacements: names of other cells, go statements (a panic in a goroutine
// must not end the kernel), loops (they end when the cell is interrupted) and the
// values of variables, which a function sets whenever the cell runs. Beside the text,
// the package has a table through which the session reaches its declarations.

// generator writes the package of a compiled cell.
type generator struct {
	set      *Set
	n        *check.Native
	number   int // of the text among those that are equal otherwise; see bound
	fset     *token.FileSet
	imports  map[string]string        // name -> import path
	cells    map[*check.Native]string // compiled cell -> the name under which it is imported
	sources  map[string]string
	copies   map[string]string // package on disk -> the import path of its copy
	edits    []edit
	musts    map[int]bool                 // numbers of results that calls of must have
	recovers bool                         // there are calls of recover
	makes    bool                         // there are calls of make with a size to check
	places   bool                         // there are methods that name the place of their call
	guards   bool                         // there are functions that other goroutines may call
	asking   map[string]map[string]string // package -> function that names the place of its call -> type
	held     map[held]bool
	closes   []edit       // that end what other edits begin
	grows    bool         // there are strings and slices that grow
	joins    map[int]bool // numbers of strings that sums have
	summed   map[ast.Expr]bool
	mapTypes []string
	mapTexts map[string]string     // functions for operations on maps, by name
	standIns []*types.Func         // methods of the library that others are called for
	asks     map[*ast.Ident]bool   // names of packages of which such a function is selected
	inits    int                   // init functions
	loops    bool                  // there are loops, or functions that call themselves
	waits    bool                  // there are operations on channels
	switches []func(*bytes.Buffer) // write the functions that type switches call
	temp     int
	err      error
}

// initName returns the name under which the init function with an index is
// built: it runs when the cell does, and not when the plugin is loaded.
func initName(i int) string { return cell.Mark + "init" + strconv.Itoa(i) }

// An edit replaces the text between two positions.
type edit struct {
	from, to token.Pos
	text     func() string
}

// outName returns the name by which other packages refer to a package-level
// name: for one that is not exported, the exported name that export gives it.
func outName(o types.Object) string {
	if o.Exported() {
		return o.Name()
	}
	return cell.ExportMark + o.Name()
}

// generate writes the text of the cell and sets the path under which it is
// built. The path depends on the text, so that another text is another package.
func (g *generator) generate() error {
	n := g.n
	g.sources, g.copies = map[string]string{}, map[string]string{}
	g.exchange()
	preamble := g.preamble()
	var body, table bytes.Buffer
	for _, d := range n.Decls {
		if gd, ok := d.Decl.(*ast.GenDecl); ok && gd.Tok == token.VAR {
			continue
		}
		if name, ok := exportedToC(d.Text); ok { // its comment ends on the line before it
			fmt.Fprintf(&body, "\n/*line c%d.go:%d:1*/\n//export %s\n%s\n", g.file(d.FileName()), max(d.Line-1, 1), name, g.render(d.Decl.Pos(), d.Decl.End()))
			continue
		}
		body.WriteString(g.at(d.Decl.Pos()) + g.render(d.Decl.Pos(), d.Decl.End()) + "\n")
	}
	g.initialise(&body)
	body.WriteString("/*line generated.go:1:1*/")
	g.tabulate(&body, &table)
	if g.err != nil {
		return g.err
	}
	var b bytes.Buffer
	b.WriteString("package cell\n\n" + preamble + "import (\n")
	delete(g.imports, "C")
	for _, name := range slices.Sorted(maps.Keys(g.imports)) {
		fmt.Fprintf(&b, "\t%s %q\n", name, g.onDisk(g.imports[name]))
	}
	for _, path := range n.Blank {
		fmt.Fprintf(&b, "\t_ %q\n", g.onDisk(path))
	}
	if g.err != nil {
		return g.err
	}
	b.WriteString(")\n\n")
	paths := slices.Concat(slices.Collect(maps.Values(g.imports)), n.Blank)
	slices.Sort(paths)
	for _, path := range slices.Compact(paths) {
		// Another version of a fetched package must give another path.
		if sp := g.set.Source(path); sp != nil && sp.Module.Folder == "" {
			n.Fetched = true
			fmt.Fprintf(&b, "// %s: %s\n", path, sp.Module)
		}
	}
	if g.number > 0 {
		fmt.Fprintf(&b, "// %d\n", g.number)
	}
	b.Write(body.Bytes())
	fmt.Fprintf(&b, "\nvar %s = map[string]any{\n%s}\n", check.TableName, table.Bytes())
	sum := sha256.Sum256(b.Bytes())
	n.Path = check.NativePath + "c" + hex.EncodeToString(sum[:10])
	g.sources[n.Path] = b.String()
	n.Sources = g.sources
	return nil
}

// exchange collects the edits of the text of the declarations.
func (g *generator) exchange() {
	n := g.n
	added := map[ast.Expr]bool{} // keys that keyed has added to composite literals
	for _, d := range n.Decls {
		ast.Inspect(d.Decl, func(x ast.Node) bool {
			if kv, ok := x.(*ast.KeyValueExpr); ok && kv.Key.Pos() == kv.Value.Pos() {
				added[kv.Key] = true
			}
			return true
		})
	}
	for _, id := range check.InOrder(n.Info.Uses) {
		if !added[id] {
			g.use(id, n.Info.Uses[id])
		}
	}
	for _, id := range check.InOrder(n.Info.Defs) {
		if o := n.Info.Defs[id]; o != nil && !g.member(id, o) {
			g.hiddenGeneric(id, o)
		}
	}
	guards := g.guardMaps()
	later := map[*ast.CallExpr]bool{} // calls of go and defer statements
	for _, d := range n.Decls {
		if check.IsInit(d.Decl) {
			id, name := d.Decl.(*ast.FuncDecl).Name, initName(g.inits)
			g.edits = append(g.edits, edit{id.Pos(), id.End(), func() string { return name }})
			g.inits++
		}
		ast.Inspect(d.Decl, func(x ast.Node) bool {
			switch x := x.(type) {
			case *ast.GoStmt:
				g.goStmt(x)
				later[x.Call] = true
			case *ast.DeferStmt:
				n.Defers = true
				later[x.Call] = true
			case *ast.FuncDecl:
				if x.Name.Name == check.LoopName { // which has the place of its loop for the checker
					loop := x.Body.List[0].Pos()
					g.edits = append(g.edits, edit{x.Body.Lbrace + 1, loop, func() string { return g.at(loop) }})
				}
			case *ast.CallExpr:
				g.makeCall(x)
				g.standIn(x)
				g.startsOthers(x)
				if id, ok := ast.Unparen(x.Fun).(*ast.Ident); ok && !later[x] && n.Info.Uses[id] == types.Universe.Lookup("recover") {
					g.recovers = true
					g.edits = append(g.edits, edit{x.Pos(), x.End(), func() string { return cell.Mark + "recovered(recover())" }})
				}
			case *ast.SelectorExpr:
				g.placedMethod(x)
				g.placedFunction(x)
			}
			if x != nil {
				g.growing(x)
			}
			return true
		})
	}
	for _, d := range n.Decls {
		g.waiting(d.Decl)
		typeSwitches(d.Decl, g.typeSwitch)
	}
	g.edits = append(g.edits, guards...)
	slices.Reverse(g.closes) // of those at one place the innermost is first
	g.edits = append(g.edits, g.closes...)
	g.watchStack()
	for _, d := range n.Decls {
		g.watchLoops(d.Decl)
	}
	slices.SortStableFunc(g.edits, func(a, b edit) int { return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to)) })
}

// tabulate writes the variables through which the session reaches into the
// cell, and the table of its declarations.
func (g *generator) tabulate(body, table *bytes.Buffer) {
	n := g.n
	fmt.Fprintf(body, "var %[1]srecover, %[1]sstarted, %[1]sstack func()\n", cell.Mark)
	fmt.Fprintf(table, "\t%q: %[1]s,\n\t%q: &%[2]s,\n\t%q: &%[3]s,\n\t%q: &%[4]s,\n", cell.Mark+"init", cell.Mark+"recover", cell.Mark+"stack", cell.Mark+"started")
	if g.recovers {
		fmt.Fprintf(body, "var %srecovered func(any) any\n", cell.Mark)
		fmt.Fprintf(table, "\t%q: &%[1]s,\n", cell.Mark+"recovered")
	}
	g.declareMusts(body, table)
	g.declareGrowing(body, table)
	g.declareMaps(body, table)
	g.declareWaits(body, table)
	g.declareCopies(body, table)
	for _, write := range g.switches {
		write(body)
	}
	if g.makes {
		fmt.Fprintf(body, roomText, cell.Mark)
		fmt.Fprintf(table, "\t%q: &%[1]s,\n", cell.Mark+"need")
	}
	g.declarePlaces(body, table)
	g.declareGuards(body, table)
	if g.loops {
		fmt.Fprintf(body, "var %[1]shalting, %[1]shalt = new(uint32), func() {}\n", cell.Mark)
		fmt.Fprintf(table, "\t%q: &%[1]s,\n\t%q: &%[2]s,\n", cell.Mark+"halting", cell.Mark+"halt")
	}
	if n.UsesContext {
		g.imports[cell.Mark+"context"] = "context"
		fmt.Fprintf(body, "var %sctx func() %[1]scontext.Context\n", cell.Mark)
		fmt.Fprintf(table, "\t%q: &%[1]s,\n", cell.Mark+"ctx")
	}
	for _, name := range slices.Sorted(maps.Keys(n.Vars)) {
		fmt.Fprintf(body, "var %sv_%s *%s\n", cell.Mark, name, g.typeText(n.Vars[name].Type()))
		fmt.Fprintf(table, "\t%q: &%sv_%s,\n", cell.Mark+"v "+name, cell.Mark, name)
	}
	for _, name := range n.Package.Scope().Names() {
		if o := n.Package.Scope().Lookup(name); slices.Contains(n.Unit.Names, name) && !check.IsGeneric(o) {
			g.export(body, table, o)
		}
	}
	if n.Layout {
		fmt.Fprintf(table, "\t%q: %s,\n", EntryKey, g.entry())
		return
	}
	n.Instances = g.instances()
	for i, t := range n.Instances {
		fmt.Fprintf(table, "\t%q: (*%s)(nil),\n", check.InstanceKey(i), g.typeText(t))
	}
}

// EntryKey is the name in the table of what a compiled cell with copies of types is
// built for.
const EntryKey = cell.Mark + "entry"

// entry returns that function, or that method with its receiver as first parameter.
func (g *generator) entry() string {
	f := g.n.Entry
	recv := f.Signature().Recv()
	if recv == nil {
		return f.Name()
	}
	name := f.Name()
	if hidden, ok := g.hidden(f); ok {
		name = hidden
	}
	return "(" + g.typeText(recv.Type()) + ")." + name
}

// declareMusts writes the functions that stand for the predeclared must.
func (g *generator) declareMusts(body, table *bytes.Buffer) {
	if len(g.musts) == 0 {
		return
	}
	fmt.Fprintf(body, "var %sfail func(error)\n", cell.Mark)
	fmt.Fprintf(table, "\t%q: &%[1]s,\n", cell.Mark+"fail")
	for _, results := range slices.Sorted(maps.Keys(g.musts)) {
		var params, values, in []string
		for i := range results {
			params, values = append(params, "T"+strconv.Itoa(i)), append(values, "v"+strconv.Itoa(i))
			in = append(in, values[i]+" "+params[i])
		}
		types := ""
		if results > 0 {
			types = "[" + strings.Join(params, ", ") + " any]"
		}
		fmt.Fprintf(body, "func %smust%d%s(%s) (%s) { if err != nil { %[1]sfail(err) }; return %[6]s }\n", cell.Mark, results, types,
			strings.Join(append(in, "err error"), ", "), strings.Join(params, ", "), strings.Join(values, ", "))
	}
}

// use adds the edit of an identifier that refers to another package or cell.
func (g *generator) use(id *ast.Ident, o types.Object) {
	n := g.n
	if pn, ok := o.(*types.PkgName); ok {
		g.edits = append(g.edits, edit{id.Pos(), id.End(), func() string {
			if g.asks[id] {
				return placesOf(pn.Imported().Path())
			}
			name, path := id.Name, pn.Imported().Path()
			if of := g.imports[name]; of != "" && of != path || n.Package.Scope().Lookup(name) != nil {
				name = cell.Alias(path) // a copy has the imports of its own cell
			}
			g.imports[name] = path
			return name
		}})
		return
	}
	if results, ok := check.MustResults(o); ok {
		g.musts[results] = true
		g.edits = append(g.edits, edit{id.Pos(), id.Pos() + token.Pos(len("must")), func() string { return cell.Mark + "must" + strconv.Itoa(results) }})
		return
	}
	v, isVar := o.(*types.Var)
	shared := isVar && n.Vars[v.Name()] == v
	if g.member(id, o) || g.hiddenGeneric(id, o) || o.Pkg() == nil || o.Pkg() == n.Package && !shared {
		return
	}
	replace := func(text string) {
		g.edits = append(g.edits, edit{id.Pos(), id.End(), func() string { return text }})
	}
	switch {
	case shared:
		replace("(*" + g.pointer(id, v.Name()) + ")")
	case check.OfNative(o):
		if isVar && !o.Exported() {
			replace("(*" + g.cell(o.Pkg()) + "." + outName(o) + ")")
			return
		}
		replace(g.cell(o.Pkg()) + "." + outName(o))
	case isVar && check.PathOf(o.Pkg()) == "main" && !v.IsField():
		replace(cell.Mark + "ctx()")
	case o.Parent() == o.Pkg().Scope() && g.bare(id):
		// The name comes from a dot import.
		name := cell.Alias(o.Pkg().Path())
		g.imports[name] = o.Pkg().Path()
		replace(name + "." + o.Name())
	}
}

// pointer returns the name of the pointer to a variable of the session. A function with a
// loop holds it: the address of a plugin's variable costs a load itself.
func (g *generator) pointer(id *ast.Ident, name string) string {
	global := cell.Mark + "v_" + name
	f, ok := g.declOf(id.Pos()).Decl.(*ast.FuncDecl)
	if !ok || !g.n.Layout || !hasLoop(f.Body) {
		return global
	}
	local := cell.Mark + "l_" + name
	if key := (held{f, name}); !g.held[key] {
		g.held[key] = true
		at := f.Body.Lbrace + 1
		g.edits = append(g.edits, edit{at, at, func() string { return local + " := " + global + "; _ = " + local + "; " }})
	}
	return local
}

// held is a function that holds the pointer to a variable.
type held struct {
	f    *ast.FuncDecl
	name string
}

func hasLoop(body *ast.BlockStmt) (found bool) {
	ast.Inspect(body, func(n ast.Node) bool {
		switch n.(type) {
		case *ast.ForStmt, *ast.RangeStmt:
			found = true
		}
		return !found
	})
	return found
}

// hiddenGeneric adds the edit of the name of an unexported generic of this
// cell. It is renamed because Go has no second name for a generic by which
// other cells could refer to it.
func (g *generator) hiddenGeneric(id *ast.Ident, o types.Object) bool {
	if o.Pkg() != g.n.Package || o.Parent() != g.n.Package.Scope() || o.Exported() || !check.IsGeneric(o) {
		return false
	}
	g.edits = append(g.edits, edit{id.Pos(), id.End(), func() string { return outName(o) }})
	return true
}

// instances returns the instances of generic types of compiled cells that the
// cell mentions.
func (g *generator) instances() []*types.Named {
	found := map[string]*types.Named{}
	seen := map[types.Type]bool{}
	walk := func(t types.Type) {
		check.WalkType(t, func(t types.Type) {
			n, ok := t.(*types.Named)
			if !ok {
				return
			}
			if p := n.Obj().Pkg(); n.TypeArgs().Len() > 0 && (p == g.n.Package || check.IsNative(p)) && n.Obj().Parent() == p.Scope() && !open(n, map[types.Type]bool{}) {
				found[g.typeText(n)] = n
			}
		}, seen)
	}
	for _, tv := range g.n.Info.Types {
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

// open reports whether a type contains type parameters or types that are
// declared inside a function.
func open(t types.Type, seen map[types.Type]bool) bool {
	found := false
	check.WalkType(t, func(t types.Type) {
		switch t := t.(type) {
		case *types.TypeParam:
			found = true
		case *types.Named:
			found = found || t.Obj().Pkg() != nil && t.Obj().Parent() != t.Obj().Pkg().Scope()
		}
	}, seen)
	return found
}

// member adds the edit of the name of a field or method. It reports whether the
// member is renamed.
func (g *generator) member(id *ast.Ident, o types.Object) bool {
	name, ok := g.hidden(o)
	if !ok {
		return false
	}
	if t, embeds := g.n.Info.Uses[id].(*types.TypeName); embeds && t.Pkg() != g.n.Package {
		return true // use handles it: the type is another cell's
	}
	g.edits = append(g.edits, edit{id.Pos(), id.End(), func() string { return name }})
	return true
}

// watchStack inserts a check of the stack into the functions that may call
// themselves, directly or through others: Go's run time ends the process when a
// stack grows too large. They also look whether the cell has been interrupted.
func (g *generator) watchStack() {
	for _, body := range recursive(g.n) {
		g.loops = true
		at := body.Lbrace + 1
		g.edits = append(g.edits, edit{at, at, func() string {
			// The check costs as much as a few calls, so one frame in sixteen
			// does it, by its address: a stack that grows has frames at all
			// addresses.
			g.imports[cell.Mark+"unsafe"] = "unsafe"
			return g.look(cell.Mark+"halting") + "var " + cell.Mark + "at byte; if uintptr(" + cell.Mark + "unsafe.Pointer(&" + cell.Mark + "at))&0xffff < 0x1000 { " + cell.Mark + "stack() }; "
		}})
	}
}

// watchLoops inserts a look at the machine's flag into every loop below a node,
// so that an interrupt ends it: one load and a branch that is not taken. The
// function holds the flag's address, as the address of a plugin's variable costs
// a load itself.
func (g *generator) watchLoops(n ast.Node) {
	flag := cell.Mark + "flag"
	var body *ast.BlockStmt // of the function
	held := false
	ast.Inspect(n, func(x ast.Node) bool {
		var loop *ast.BlockStmt
		switch x := x.(type) {
		case *ast.FuncDecl:
			body = x.Body
		case *ast.FuncLit:
			g.watchLoops(&ast.FuncDecl{Name: ast.NewIdent("_"), Type: x.Type, Body: x.Body})
			return false
		case *ast.ForStmt:
			loop = x.Body
		case *ast.RangeStmt:
			loop = x.Body
		}
		if loop == nil || body == nil {
			return true
		}
		g.loops = true
		if at := body.Lbrace + 1; !held {
			held = true
			g.edits = append(g.edits, edit{at, at, func() string { return flag + " := " + cell.Mark + "halting; " }})
		}
		at := loop.Lbrace + 1
		g.edits = append(g.edits, edit{at, at, func() string { return g.look(flag) }})
		return true
	})
}

// look returns a statement that ends the goroutine if its cell has been
// interrupted.
func (g *generator) look(flag string) string {
	g.imports[cell.Mark+"atomic"] = "sync/atomic"
	return "if " + cell.Mark + "atomic.LoadUint32(" + flag + ") != 0 { " + cell.Mark + "halt() }; "
}

// roomText declares what checks the sizes of make; %[1]s is cell.Mark.
const roomText = `var %[1]sneed = func(what string, n, size float64) {}
func %[1]sroom[T ~int | ~int8 | ~int16 | ~int32 | ~int64 | ~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~uintptr](n T, size uintptr, what string) T {
	if float64(n)*float64(size) >= 1<<24 {
		%[1]sneed(what, float64(n), float64(size))
	}
	return n
}
`

// makeCall adds a check of the sizes in a call of make: what is larger than the
// memory would end the process.
func (g *generator) makeCall(x *ast.CallExpr) {
	id, ok := ast.Unparen(x.Fun).(*ast.Ident)
	if !ok || len(x.Args) < 2 {
		return
	}
	if b, ok := g.n.Info.Uses[id].(*types.Builtin); !ok || b.Name() != "make" {
		return
	}
	t := g.n.Info.TypeOf(x.Args[0])
	var parts []types.Type
	switch u := t.Underlying().(type) {
	case *types.Slice:
		parts = []types.Type{u.Elem()}
	case *types.Chan:
		parts = []types.Type{u.Elem()}
	case *types.Map:
		parts = []types.Type{u.Key(), u.Elem()}
	}
	for _, part := range parts {
		if declaredInside(part) || strings.Contains(types.TypeString(part, nil), "invalid type") {
			return // its name means nothing elsewhere, or it is C's
		}
	}
	if len(parts) == 0 {
		return
	}
	for _, size := range x.Args[1:] {
		before, after := "", ""
		if g.n.Info.Types[size].Value != nil { // 1e6 is an integer here
			before, after = "int(", ")"
		}
		g.makes = true
		g.edits = append(g.edits, edit{size.Pos(), size.Pos(), func() string { return cell.Mark + "room(" + before }},
			edit{size.End(), size.End(), func() string {
				g.imports[cell.Mark+"unsafe"] = "unsafe"
				var sizes []string
				for _, part := range parts {
					sizes = append(sizes, cell.Mark+"unsafe.Sizeof(*new("+g.typeText(part)+"))")
				}
				return after + ", " + strings.Join(sizes, "+") + ", " + strconv.Quote(types.TypeString(t, check.ShortName)) + ")"
			}})
	}
}

// declaredInside reports whether a type mentions one that is declared inside a
// function.
func declaredInside(t types.Type) bool {
	found := false
	check.WalkType(t, func(t types.Type) {
		if n, ok := t.(*types.Named); ok {
			o := n.Obj()
			found = found || o.Pkg() != nil && o.Parent() != o.Pkg().Scope()
		}
	}, map[types.Type]bool{})
	return found
}

// bare reports whether an identifier is not the selector of a selector
// expression.
func (g *generator) bare(id *ast.Ident) bool {
	for _, d := range g.n.Decls {
		if d.Decl.Pos() <= id.Pos() && id.Pos() < d.Decl.End() {
			off := g.offset(d, id.Pos())
			return !strings.HasSuffix(strings.TrimRight(d.Text[:off], " \t\r\n"), ".")
		}
	}
	return false
}

// cell returns the name under which a compiled cell is imported, and imports
// it.
func (g *generator) cell(p *types.Package) string {
	m := g.set.At(check.PathOf(p))
	if m == nil {
		g.err = fmt.Errorf("internal: no compiled cell %s", check.PathOf(p))
		return "_"
	}
	name, ok := g.cells[m]
	if !ok {
		name = cell.Mark + "c" + strconv.Itoa(len(g.cells))
		g.cells[m] = name
		g.imports[name] = m.Path
		maps.Copy(g.sources, m.Sources)
		g.n.Fetched = g.n.Fetched || m.Fetched
	}
	return name
}

// goStmt adds the edit of a go statement: its function runs in a frame that
// recovers panics, and the cell learns that it has been started. That frame says when
// it has ended.
func (g *generator) goStmt(s *ast.GoStmt) {
	recovers, started := "defer "+cell.Mark+"recover(); ", cell.Mark+"started(); "
	if lit, ok := ast.Unparen(s.Call.Fun).(*ast.FuncLit); ok {
		at := lit.Body.Lbrace + 1
		g.edits = append(g.edits, edit{at, at, func() string { return recovers }}, edit{s.Pos(), s.Pos(), func() string { return started }})
		return
	}
	info := g.n.Info
	g.edits = append(g.edits, edit{s.Pos(), s.End(), func() string {
		var names, values []string
		hold := func(x ast.Expr) string {
			g.temp++
			name := cell.Mark + "t" + strconv.Itoa(g.temp)
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
					names = append(names, cell.Mark+"t"+strconv.Itoa(g.temp))
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
		return "{ " + set + started + "go func() { " + recovers + fun + "(" + strings.Join(args, ", ") + dots + ") }() }"
	}})
}

// namesFunc reports whether an expression names a declared function or a
// builtin, so that it may be evaluated later than the arguments.
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

// declOf returns the declaration that contains a position.
func (g *generator) declOf(pos token.Pos) check.NativeDecl {
	for _, d := range g.n.Decls {
		if d.Decl.Pos() <= pos && pos <= d.Decl.End() {
			return d
		}
	}
	return g.n.Decls[0]
}

// offset returns the byte offset of a position in the text of its declaration.
func (g *generator) offset(d check.NativeDecl, pos token.Pos) int {
	prefix := len("package main;" + cell.LineDirective(d.Line, d.Column))
	return g.fset.PositionFor(pos, false).Offset - prefix
}

// render returns the text between two positions of a declaration, with the
// edits applied.
func (g *generator) render(from, to token.Pos) string {
	d := g.declOf(from)
	var b strings.Builder
	at := from
	for i, e := range g.edits {
		if e.from < at || e.to > to {
			continue
		}
		b.WriteString(d.Text[g.offset(d, at):g.offset(d, e.from)])
		kept := g.edits
		g.edits = append(slices.Clone(kept[:i]), kept[i+1:]...)
		b.WriteString(e.text())
		g.edits = kept
		at = e.to
	}
	b.WriteString(d.Text[g.offset(d, at):g.offset(d, to)])
	return b.String()
}

// at returns the line directive that gives the text after it its position in
// the cell.
func (g *generator) at(pos token.Pos) string {
	p := g.fset.Position(pos)
	return fmt.Sprintf("/*line c%d.go:%d:%d*/", g.file(g.declOf(pos).FileName()), p.Line, p.Column)
}

// file returns the number in the text that is built of the file with a name.
func (g *generator) file(name string) int {
	i := slices.Index(g.n.Files, name)
	if i < 0 {
		i = len(g.n.Files)
		g.n.Files = append(g.n.Files, name)
	}
	return i
}

// initialise writes the declarations of the variables, and the function that
// sets them.
func (g *generator) initialise(b *bytes.Buffer) {
	var set bytes.Buffer
	for _, name := range g.n.Package.Scope().Names() {
		if v, ok := g.n.Package.Scope().Lookup(name).(*types.Var); ok && g.n.Vars[name] != v {
			if bad := check.NotExported(v.Type(), map[types.Type]bool{}, func(*types.TypeName) bool { return false }); bad != "" {
				ce := &check.Error{}
				ce.List.Add(g.fset.Position(v.Pos()), fmt.Sprintf("a variable of a compiled cell cannot have type %s: %s is not exported", types.TypeString(v.Type(), check.ShortName), bad))
				g.err = ce
				return
			}
			fmt.Fprintf(b, "%svar %s %s\n", g.at(v.Pos()), name, g.typeText(v.Type()))
			fmt.Fprintf(&set, "\t%s = *new(%s)\n", name, g.typeText(v.Type()))
		}
	}
	for _, in := range g.n.Info.InitOrder {
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
	for i := range g.inits {
		fmt.Fprintf(&set, "/*line generated.go:1:1*/\t%s()\n", initName(i))
	}
	fmt.Fprintf(b, "func %sinit() {\n%s}\n", cell.Mark, set.Bytes())
}

// export writes the table entry of a name. For a name that is not exported it
// also writes a declaration that makes it available to other cells: an alias of
// a type, a pointer to a variable, a variable that holds a function.
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
			return // a constraint interface, which has no values
		}
	}
	fmt.Fprintf(table, "\t%q: %s,\n", name, value)
}

var hiddenRE = regexp.MustCompile("(" + cell.Mark + `c\d*\.)([^\s\[\](){}.,;*]+)`)

// typeText returns the text of a type, and imports the packages that it
// mentions.
func (g *generator) typeText(t types.Type) string {
	text := types.TypeString(t, func(p *types.Package) string {
		switch {
		case p == g.n.Package:
			return cell.Mark + "c"
		case check.IsNative(p):
			return g.cell(p)
		}
		name := cell.Alias(p.Path())
		g.imports[name] = p.Path()
		return name
	})
	// Other packages know an unexported type by its exported alias.
	return hiddenRE.ReplaceAllStringFunc(text, func(s string) string {
		m := hiddenRE.FindStringSubmatch(s)
		switch {
		case m[1] == cell.Mark+"c.":
			if o := g.n.Package.Scope().Lookup(m[2]); o != nil && check.IsGeneric(o) {
				return outName(o)
			}
			return m[2]
		case token.IsExported(m[2]):
			return s
		}
		return m[1] + cell.ExportMark + m[2]
	})
}

// nativeLineRE matches a line of the toolchain's output that begins with a
// position.
var nativeLineRE = regexp.MustCompile(`^(?:\S*/)?(c\d+\.go):(\d+):(\d+): (.*)$`)

// placeIn returns the position in a cell for a position in the text that was
// built.
func placeIn(n *check.Native, file, line, col string) (token.Position, bool) {
	name, ok := strings.CutPrefix(filepath.Base(file), "c")
	i, err := strconv.Atoi(strings.TrimSuffix(name, ".go"))
	if !ok || err != nil || i >= len(n.Files) {
		return token.Position{}, false
	}
	l, _ := strconv.Atoi(line)
	c, _ := strconv.Atoi(col)
	return token.Position{Filename: n.Files[i], Line: l, Column: c}, true
}

// hidden is hiddenMember; no other cell sees the fields of one with copies, and its methods
// have the names of the session's.
func (g *generator) hidden(o types.Object) (name string, ok bool) {
	if _, isMethod := o.(*types.Func); g.n.Layout && o.Pkg() == g.n.Package && !isMethod {
		return "", false
	}
	return hiddenMember(g.n.Package, o)
}

// hiddenMember returns the name that an unexported field or method of a
// compiled cell has in the text that is built. An embedded type that no cell
// declares keeps its name.
func hiddenMember(pkg *types.Package, o types.Object) (name string, ok bool) {
	if o.Exported() || o.Name() == "_" || o.Pkg() == nil || o.Pkg() != pkg && !check.IsNative(o.Pkg()) {
		return "", false
	}
	switch o := o.(type) {
	case *types.Var:
		if !o.IsField() {
			return "", false
		}
		if o.Embedded() {
			t := o.Type()
			if p, ok := t.(*types.Pointer); ok {
				t = p.Elem()
			}
			named, ok := t.(interface{ Obj() *types.TypeName })
			if !ok {
				return "", false
			}
			tn := named.Obj()
			if tn.Pkg() != pkg && !check.IsNative(tn.Pkg()) || tn.Parent() != tn.Pkg().Scope() {
				return "", false
			}
		}
	case *types.Func:
		if o.Signature().Recv() == nil {
			return "", false
		}
	default:
		return "", false
	}
	return cell.ExportMark + o.Name(), true
}
