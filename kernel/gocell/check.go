package gocell

import (
	"errors"
	"fmt"
	"go/ast"
	"go/scanner"
	"go/token"
	"go/types"
	"maps"
	"path"
	"reflect"
	"slices"
	"sort"
	"strings"
	"sync"
	"unsafe"

	"dace.local/kernel/gocell/symbols"
)

// The session is one Go package that grows. A cell is checked against it in
// two passes by go/types: first its constants, types, function signatures and
// statements, which settles the types of the variables that the statements
// define; then the bodies of its functions, which may use those variables.

// An entity is what a name of the session stands for.
type entity struct {
	name string
	obj  types.Object
	cell int // where it was declared; 0 for what the kernel predeclares
}

// A unit is a declaration of the session in force: a const, type or func
// declaration or a method.
type unit struct {
	piece
	names []string        // what it declares; of a method, the receiver's type
	meth  string          // the method's name, or ""
	deps  map[string]bool // the session's names that it uses
	// native holds all declarations of a compiled cell, which is one unit.
	native []piece
	// parts are the interpreted units that a unit of compiled types is made of.
	parts []*unit
}

func (u *unit) String() string {
	if u.meth != "" {
		return u.names[0] + "." + u.meth
	}
	return strings.Join(u.names, ", ")
}

// program is the session's state as the checker sees it.
type program struct {
	imp     *importer
	pkg     *types.Package
	names   map[string]*entity
	imports map[string]string // by the name that cells use
	dots    []string          // paths imported with a dot
	units   []*unit           // in the order declared
	broken  map[string]string // why a name is gone
	lifted  map[string]bool   // the types of interpreted cells that are compiled
	// cannotLift holds, while a cell is checked, why a type cannot be compiled.
	cannotLift map[string]string
}

// checked is a cell that compiles.
type checked struct {
	src     *source
	decls   []declared
	info    *types.Info
	vars    []*types.Var          // the session variables that the statements define, in order
	moved   map[string]*types.Var // older variables that take a type declared again
	results []types.Type          // of the last expression; nil where there is none to show
	notes   []string              // for the person: what stopped compiling
	next    *program              // the session after this cell
	natives []*native             // the compiled cells to build, in order
	// redeclared holds the names whose declarations are compiled with this
	// cell, the cell's own and their dependents'.
	redeclared map[string]bool
}

// declared is a declaration to compile with a cell.
type declared struct {
	decl ast.Decl
	unit *unit
	own  bool // stands in the cell itself
}

// checkError is a list of messages with positions.
type checkError struct{ list scanner.ErrorList }

func (e *checkError) Error() string { return e.list.Error() }

// clone copies the program; entities and units are shared, they are never
// changed in place.
func (p *program) clone() *program {
	return &program{imp: p.imp, pkg: p.pkg, names: maps.Clone(p.names), imports: maps.Clone(p.imports),
		dots: slices.Clone(p.dots), units: slices.Clone(p.units), broken: maps.Clone(p.broken), lifted: maps.Clone(p.lifted)}
}

// unitsOf makes the units of a parsed declaration's piece.
func unitsOf(pc piece, d ast.Decl) *unit {
	u := &unit{piece: pc}
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Recv != nil {
			u.names, u.meth = []string{receiverName(d)}, d.Name.Name
		} else {
			u.names = []string{d.Name.Name}
		}
	case *ast.GenDecl:
		for _, s := range d.Specs {
			switch s := s.(type) {
			case *ast.TypeSpec:
				u.names = append(u.names, s.Name.Name)
			case *ast.ValueSpec:
				for _, n := range s.Names {
					if n.Name != "_" {
						u.names = append(u.names, n.Name)
					}
				}
			}
		}
	}
	return u
}

// receiverName returns the name of a method's receiver type.
func receiverName(d *ast.FuncDecl) string {
	if len(d.Recv.List) == 0 {
		return ""
	}
	t := d.Recv.List[0].Type
	for {
		switch x := t.(type) {
		case *ast.StarExpr:
			t = x.X
		case *ast.ParenExpr:
			t = x.X
		case *ast.IndexExpr:
			t = x.X
		case *ast.IndexListExpr:
			t = x.X
		case *ast.Ident:
			return x.Name
		default:
			return ""
		}
	}
}

// check type-checks a parsed cell against the program, which it leaves as it
// is; the program after the cell is in the result.
func (p *program) check(fset *token.FileSet, src *source) (*checked, error) {
	next := p.clone()
	var own []declared
	for _, d := range src.file.Decls {
		if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.IMPORT {
			if err := next.addImports(fset, g, p.imp); err != nil {
				return nil, err
			}
		}
	}
	i := 0
	for _, d := range src.file.Decls {
		if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.IMPORT {
			continue
		}
		// One piece is one declaration.
		own = append(own, declared{decl: d, unit: unitsOf(src.decls[i], d), own: true})
		i++
	}

	var ownNative *unit
	if len(src.native) > 0 {
		for _, pc := range src.native {
			ds, err := pc.parse(fset)
			if err != nil {
				return nil, err
			}
			if g, ok := ds[0].(*ast.GenDecl); ok && g.Tok == token.IMPORT {
				if err := next.addImports(fset, g, p.imp); err != nil && !next.compilable(g) {
					return nil, err
				}
			}
		}
		var err error
		if ownNative, err = nativeUnit(fset, src.native); err != nil {
			return nil, err
		}
	}

	// What is declared anew, by this cell or because of it.
	ownName := map[string]bool{}
	if ownNative != nil {
		for _, n := range ownNative.names {
			ownName[n] = true
		}
	}
	ownMethod := map[[2]string]bool{}
	ownType := map[string]bool{}
	for _, d := range own {
		if d.unit.meth != "" {
			ownMethod[[2]string{d.unit.names[0], d.unit.meth}] = true
			continue
		}
		g, isGen := d.decl.(*ast.GenDecl)
		for _, n := range d.unit.names {
			ownName[n] = true
			if isGen && g.Tok == token.TYPE {
				ownType[n] = true
			}
		}
	}
	defined := definedBy(src.body)

	// Units that stay in force: not taken over by the cell.
	var kept []*unit
	changed := map[string]bool{}
	for _, u := range next.units {
		taken := func(n string) bool { return ownName[n] || defined[n] }
		switch {
		case u.native != nil:
			switch {
			case !slices.ContainsFunc(u.names, taken):
				kept = append(kept, u)
			case ownNative != nil && u.id != "" && u.id == src.id:
				// An earlier version of this very cell.
			default:
				// The rest of it may use what was taken over.
				if u = u.without(fset, taken); u != nil {
					kept = append(kept, u)
					for _, n := range u.names {
						changed[n] = true
					}
				}
			}
		case u.meth != "" && ownMethod[[2]string{u.names[0], u.meth}]:
		case u.meth != "" && ownName[u.names[0]] && (!ownType[u.names[0]] || u.id != "" && u.id == src.id):
			// The type is gone, or the method stood in an earlier version of
			// this very cell and is no longer there.
		case u.meth != "" && defined[u.names[0]]:
		case u.meth == "" && slices.ContainsFunc(u.names, func(n string) bool { return ownName[n] || defined[n] }):
		default:
			kept = append(kept, u)
		}
	}
	maps.Copy(changed, ownName)
	for k := range ownMethod {
		changed[k[0]] = true
	}
	for n := range defined {
		// A variable that replaces a function, or one of another type,
		// changes its users too; the type is known only after the check.
		if e := p.names[n]; e != nil {
			if _, isVar := e.obj.(*types.Var); !isVar || ofNative(e.obj) {
				changed[n] = true
			}
		}
	}
	for _, d := range own {
		if d.unit.meth == "" {
			continue
		}
		if e := p.names[d.unit.names[0]]; e != nil && ofNative(e.obj) && !ownName[e.name] && !p.lifted[e.name] {
			ce := &checkError{}
			ce.list.Add(fset.Position(d.decl.Pos()), fmt.Sprintf("%s is declared in a compiled cell (cell %d): its methods belong there", e.name, e.cell))
			return nil, ce
		}
	}
	dropped := map[*unit]string{}
	defs := map[string]types.Object{}
	for {
		c, retry, err := next.attempt(fset, src, own, ownNative, kept, changed, dropped, defs)
		if retry {
			continue
		}
		if err != nil {
			return nil, err
		}
		c.notes = append(c.notes, next.liftNotes(p.lifted)...)
		return c, nil
	}
}

// dependents returns the kept units that use a changed name, directly or
// through one another, or belong to a changed type.
func dependents(kept []*unit, changed map[string]bool) []*unit {
	names := maps.Clone(changed)
	in := map[*unit]bool{}
	for again := true; again; {
		again = false
		for _, u := range kept {
			if in[u] {
				continue
			}
			hit := u.meth != "" && names[u.names[0]]
			for n := range u.deps {
				hit = hit || names[n]
			}
			for _, n := range u.names {
				hit = hit || names[n]
			}
			if hit {
				in[u], again = true, true
				for _, n := range u.names {
					names[n] = true
				}
			}
		}
	}
	var list []*unit
	for _, u := range kept {
		if in[u] {
			list = append(list, u)
		}
	}
	return list
}

// attempt checks the cell with the dependents of what it changes. Where a
// dependent of an earlier cell no longer compiles it is dropped, with a note,
// and the check is to be tried again; so it is when a variable's type turns
// out to have changed. defs holds the variables that the cell defines and
// compiled cells use, once they are known.
func (p *program) attempt(fset *token.FileSet, src *source, own []declared, ownNative *unit, kept []*unit, changed map[string]bool, dropped map[*unit]string, defs map[string]types.Object) (c *checked, retry bool, err error) {
	var live []*unit
	for _, u := range kept {
		if _, gone := dropped[u]; !gone {
			live = append(live, u)
		}
	}
	again := dependents(live, changed)
	all := slices.Clone(own)
	var natives []*unit
	replaced := map[*unit]*unit{}
	if ownNative != nil {
		natives = append(natives, ownNative)
	}
	lifts, err := p.lifts(fset, own, live)
	if err != nil {
		return nil, false, err
	}
	isPart := map[*unit]bool{}
	for _, g := range lifts {
		fresh := false
		for _, u := range g.parts {
			isPart[u] = true
			fresh = fresh || slices.Contains(again, u) || slices.ContainsFunc(own, func(d declared) bool { return d.unit == u })
		}
		if fresh {
			natives = append(natives, g)
		}
	}
	all = slices.DeleteFunc(all, func(d declared) bool { return isPart[d.unit] })
	for _, u := range again {
		if isPart[u] {
			continue
		}
		if u.native != nil {
			v := *u
			replaced[u] = &v
			natives = append(natives, &v)
			continue
		}
		ds, err := u.parse(fset)
		if err != nil || len(ds) != 1 {
			return nil, false, fmt.Errorf("internal: cannot parse %s again: %v", u, err)
		}
		all = append(all, declared{decl: ds[0], unit: u})
	}
	c = &checked{src: src, next: p, decls: all, redeclared: map[string]bool{}, moved: map[string]*types.Var{}, info: newInfo()}
	for _, d := range all {
		if d.unit.meth == "" {
			for _, n := range d.unit.names {
				c.redeclared[n] = true
			}
		}
	}
	objects := map[string]types.Object{} // of this cell
	if len(natives) > 0 {
		var bad *unit
		maps.Copy(objects, defs)
		c.natives, bad, err = p.checkNatives(fset, natives, ownNative, own, live, objects, func(n *native) {
			// What is checked after it sees the variables of its types.
			for _, name := range n.unit.names {
				c.redeclared[name] = true
			}
			p.moveVars(c, objects)
			maps.Copy(objects, varObjects(c.moved))
		})
		var need *unlifted
		switch {
		case errors.As(err, &need):
			if p.lifted == nil {
				p.lifted = map[string]bool{}
			}
			for _, n := range need.names {
				p.lifted[n], changed[n] = true, true
			}
			return nil, true, nil
		case err != nil && bad != nil && bad.parts != nil:
			// Compiled cells must do without these types.
			if p.cannotLift == nil {
				p.cannotLift = map[string]string{}
			}
			for _, n := range bad.names {
				p.cannotLift[n] = reason(err)
				delete(p.lifted, n)
				changed[n] = true
			}
			return nil, true, nil
		}
		if err != nil {
			for u, v := range replaced {
				if v == bad {
					// An earlier cell that no longer compiles is dropped.
					dropped[u] = fmt.Sprintf("%s, compiled in cell %d, no longer compiles: %s", u, u.cell, reason(err))
					return nil, true, nil
				}
			}
			return nil, false, p.explainNative(err, dropped)
		}
		for i, u := range live {
			if v := replaced[u]; v != nil {
				live[i] = v
			}
		}
	}
	used := map[string]bool{} // every identifier mentioned
	mention := func(n ast.Node) {
		ast.Inspect(n, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok {
				used[id.Name] = true
			}
			return true
		})
	}
	for _, d := range all {
		mention(d.decl)
	}
	mention(src.body)
	gone := map[string]bool{} // names of units that are dropped
	for u := range dropped {
		if u.meth == "" {
			for _, n := range u.names {
				gone[n] = true
			}
		}
	}
	// scope starts a new package scope with what the session knows of the
	// names that the cell mentions, but for some.
	scope := func(but ...string) {
		setScope(p.pkg)
		for n := range used {
			if slices.Contains(but, n) {
				continue
			}
			if o := objects[n]; o != nil {
				p.pkg.Scope().Insert(o)
			} else if v := c.moved[n]; v != nil {
				p.pkg.Scope().Insert(v)
			} else if e := p.names[n]; e != nil && !c.redeclared[n] && !gone[n] {
				p.pkg.Scope().Insert(e.obj)
			}
		}
	}
	var list []types.Error
	conf := &types.Config{Importer: p.imp, Error: func(err error) {
		var te types.Error
		if errors.As(err, &te) {
			list = append(list, te)
		}
	}}
	var pass func(decls []ast.Decl)
	pass = func(decls []ast.Decl) {
		file := &ast.File{Name: ast.NewIdent("main")}
		file.Decls = p.fileImports(used, all, src.body)
		file.Decls = append(file.Decls, decls...)
		maskForeign(file)
		before := len(list)
		_ = types.NewChecker(conf, fset, p.pkg, c.info).Files([]*ast.File{file})
		if keyed(c.info, file, list[before:]) {
			list = list[:before]
			scope()
			pass(decls)
		}
	}

	// Pass 1: constants, types and the heads of functions, with the variables
	// whose type is written where the cell is like a file.
	var heads []ast.Decl
	fileVars, likeFile := declarationsOnly(src.body)
	var anew []string // variables among the heads
	for _, v := range fileVars {
		if v.spec.Type != nil {
			for _, n := range v.spec.Names {
				anew = append(anew, n.Name)
			}
			heads = append(heads, &ast.GenDecl{TokPos: v.spec.Pos(), Tok: token.VAR, Specs: []ast.Spec{
				&ast.ValueSpec{Names: v.spec.Names, Type: v.spec.Type}}})
		}
	}
	for _, d := range all {
		if f, ok := d.decl.(*ast.FuncDecl); ok {
			head := *f
			head.Body = nil
			heads = append(heads, &head)
			continue
		}
		heads = append(heads, d.decl)
	}
	cellFunc := &ast.FuncDecl{Name: ast.NewIdent("_"), Type: &ast.FuncType{Params: &ast.FieldList{}}, Body: src.body}
	var top *types.Scope
	keep := func(e types.Error) bool {
		switch {
		case strings.HasSuffix(e.Msg, "imported and not used"), strings.HasPrefix(e.Msg, "could not import"):
			return false
		case strings.Contains(e.Msg, " imported as ") && strings.HasSuffix(e.Msg, "and not used"):
			return false
		case strings.HasPrefix(e.Msg, "declared and not used: "):
			// Variables of the cell itself may be meant for a later cell.
			name := strings.TrimPrefix(e.Msg, "declared and not used: ")
			return top == nil || top.Lookup(name) == nil || top.Lookup(name).Pos() != e.Pos
		case strings.HasSuffix(e.Msg, "is not used"):
			if x, ok := src.last.(*ast.ExprStmt); ok && x.Pos() <= e.Pos && e.Pos < x.End() {
				return false
			}
		case strings.HasSuffix(e.Msg, "missing function body"), e.Msg == "func main must have a body", e.Msg == "func init must have a body":
			return false
		}
		return true
	}
	filter := func() { list = slices.DeleteFunc(list, func(e types.Error) bool { return !keep(e) }) }
	if len(heads) > 0 {
		scope(anew...)
		pass(heads)
		filter()
		for n := range c.redeclared {
			if o := p.pkg.Scope().Lookup(n); o != nil {
				objects[n] = o
			}
		}
	}

	// Variables made of a type that was declared again in the same shape are
	// of the new type from now on.
	if len(list) == 0 && p.moveVars(c, objects) {
		for n, v := range c.moved {
			if objects[n] != nil {
				objects[n] = v
			}
		}
		more := false
		for n := range c.moved {
			if !changed[n] && len(dependents(live, map[string]bool{n: true})) > 0 {
				changed[n], more = true, true
			}
		}
		if more {
			return nil, true, nil
		}
	}

	// Pass 2: the statements.
	if len(list) == 0 {
		if likeFile {
			setScope(p.pkg)
			defined := definedBy(src.body)
			for n := range used {
				if e := p.names[n]; e != nil && !c.redeclared[n] && !gone[n] && !defined[n] {
					p.pkg.Scope().Insert(e.obj)
				}
			}
			inInitOrder(src.body, fileVars, p.initializers(fset, all, src.body, used))
		}
		scope()
		pass([]ast.Decl{cellFunc})
		top = c.info.Scopes[cellFunc.Type]
		filter()
	}
	if top != nil && len(list) == 0 {
		for _, n := range top.Names() {
			if o, ok := top.Lookup(n).(*types.Var); ok {
				c.vars = append(c.vars, types.NewVar(o.Pos(), p.pkg, n, o.Type()))
			}
		}
		sort.Slice(c.vars, func(i, j int) bool { return c.vars[i].Pos() < c.vars[j].Pos() })
		for _, v := range c.vars {
			// A variable whose type changed takes its users along.
			if e := p.names[v.Name()]; e != nil && !changed[v.Name()] {
				if old, ok := e.obj.(*types.Var); ok && !types.Identical(old.Type(), v.Type()) &&
					len(dependents(live, map[string]bool{v.Name(): true})) > 0 {
					changed[v.Name()] = true
					return nil, true, nil
				}
			}
			objects[v.Name()] = v
			if old := defs[v.Name()]; len(c.natives) > 0 && (old == nil || !types.Identical(old.Type(), v.Type())) &&
				slices.ContainsFunc(c.natives, func(n *native) bool { return n.unit.deps[v.Name()] }) {
				defs[v.Name()] = v
				retry = true
			}
		}
		if retry {
			return nil, true, nil
		}
	}

	// Pass 3: the bodies of functions, which know the statements' variables.
	if len(list) == 0 {
		var bodies []ast.Decl
		for _, d := range all {
			if f, ok := d.decl.(*ast.FuncDecl); ok && f.Body != nil {
				bodies = append(bodies, bodyFunc(f))
			}
		}
		if len(bodies) > 0 {
			scope()
			pass(bodies)
			filter()
		}
	}
	if len(list) > 0 {
		// An earlier cell's declaration that no longer compiles is dropped.
		for _, e := range list {
			for _, d := range all {
				if !d.own && d.decl.Pos() <= e.Pos && e.Pos < d.decl.End() {
					dropped[d.unit] = fmt.Sprintf("%s, declared in cell %d, no longer compiles: %s (line %d)", d.unit, d.unit.cell, e.Msg, fset.Position(e.Pos).Line)
					return nil, true, nil
				}
			}
		}
		return nil, false, p.explain(fset, list, dropped)
	}
	p.commit(c, objects, live, dropped)
	return c, false, nil
}

// initializers checks a cell of declarations as a package of its own and
// returns the order in which its variables begin.
func (p *program) initializers(fset *token.FileSet, all []declared, body *ast.BlockStmt, used map[string]bool) []*types.Initializer {
	info := &types.Info{}
	file := &ast.File{Name: ast.NewIdent("main")}
	file.Decls = p.fileImports(used, all, body)
	for _, d := range all {
		file.Decls = append(file.Decls, d.decl)
	}
	for _, s := range body.List {
		file.Decls = append(file.Decls, s.(*ast.DeclStmt).Decl)
	}
	conf := &types.Config{Importer: p.imp, Error: func(error) {}}
	_ = types.NewChecker(conf, fset, p.pkg, info).Files([]*ast.File{file})
	return info.InitOrder
}

// explain makes the messages of a cell that does not compile.
func (p *program) explain(fset *token.FileSet, list []types.Error, dropped map[*unit]string) error {
	ce := &checkError{}
	for _, e := range list {
		msg := e.Msg
		if name, ok := strings.CutPrefix(msg, "undefined: "); ok {
			if why := p.whyGone(name, dropped); why != "" {
				msg += "\n\t" + why
			}
		}
		ce.list.Add(fset.Position(e.Pos), msg)
	}
	ce.list.Sort()
	return ce
}

// reason returns the first message of a compiled cell that does not compile,
// with its line.
func reason(err error) string {
	var ce *checkError
	if errors.As(err, &ce) {
		return fmt.Sprintf("%s (line %d)", ce.list[0].Msg, ce.list[0].Pos.Line)
	}
	return err.Error()
}

// explainNative adds to the messages of a compiled cell what has become of
// names that are gone.
func (p *program) explainNative(err error, dropped map[*unit]string) error {
	var ce *checkError
	if !errors.As(err, &ce) {
		return err
	}
	for _, e := range ce.list {
		if name, ok := strings.CutPrefix(e.Msg, "undefined: "); ok {
			if why := p.whyGone(name, dropped); why != "" {
				e.Msg += "\n\t" + why
			}
		}
	}
	return ce
}

// whyGone says why a name is no longer there, or nothing.
func (p *program) whyGone(name string, dropped map[*unit]string) string {
	for u, w := range dropped {
		if slices.Contains(u.names, name) {
			return w
		}
	}
	return p.broken[name]
}

// commit makes p the program after the cell.
func (p *program) commit(c *checked, objects map[string]types.Object, live []*unit, dropped map[*unit]string) {
	own := map[string]bool{}
	p.units = live[:len(live):len(live)]
	for _, n := range c.natives {
		if n.own {
			p.units = append(p.units, n.unit)
			for _, name := range n.unit.names {
				own[name] = true
			}
		}
	}
	for _, n := range c.natives {
		for _, u := range n.unit.parts {
			if slices.Contains(p.units, u) {
				continue
			}
			u.deps = n.unit.deps
			p.units = append(p.units, u)
			if u.meth == "" {
				for _, name := range u.names {
					own[name] = true
				}
			}
		}
	}
	for i := range c.decls {
		d := &c.decls[i]
		if !d.own {
			continue
		}
		if f, ok := d.decl.(*ast.FuncDecl); ok && isInit(f) {
			continue // it runs with its cell only
		}
		d.unit.deps = map[string]bool{}
		ast.Inspect(d.decl, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok {
				o := c.info.Uses[id]
				if _, isPkg := o.(*types.PkgName); !isPkg && o != nil && (o.Pkg() == p.pkg && packageLevel(o) || ofNative(o)) {
					d.unit.deps[id.Name] = true
				}
			}
			return true
		})
		p.units = append(p.units, d.unit)
		if d.unit.meth == "" {
			for _, n := range d.unit.names {
				own[n] = true
			}
		}
	}
	for n := range c.redeclared {
		if o := objects[n]; o != nil {
			cell := c.src.number
			if e := p.names[n]; e != nil && !own[n] {
				cell = e.cell
			}
			p.names[n] = &entity{name: n, obj: o, cell: cell}
			delete(p.broken, n)
		}
	}
	for u, why := range dropped {
		c.notes = append(c.notes, why)
		if u.meth == "" {
			for _, n := range u.names {
				delete(p.names, n)
				p.broken[n] = why
			}
		}
	}
	sort.Strings(c.notes)
	for n, v := range c.moved {
		p.names[n] = &entity{name: n, obj: v, cell: p.names[n].cell}
	}
	for _, v := range c.vars {
		p.names[v.Name()] = &entity{name: v.Name(), obj: v, cell: c.src.number}
		delete(p.broken, v.Name())
		delete(c.moved, v.Name())
	}
	if x, ok := c.src.last.(*ast.ExprStmt); ok && !c.src.quiet {
		c.results = resultTypes(c.info, x.X)
	}
}

// maskForeign puts types that are declared to be others' names, T in type U T,
// into parentheses where another cell declares T: go/types, which looks for
// cycles among such declarations, expects those of all names of the package.
func maskForeign(file *ast.File) {
	here := map[string]bool{}
	each := func(f func(s *ast.TypeSpec)) {
		for _, d := range file.Decls {
			if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.TYPE {
				for _, s := range g.Specs {
					f(s.(*ast.TypeSpec))
				}
			}
		}
	}
	each(func(s *ast.TypeSpec) { here[s.Name.Name] = true })
	each(func(s *ast.TypeSpec) {
		if id, ok := s.Type.(*ast.Ident); ok && !here[id.Name] {
			s.Type = &ast.ParenExpr{Lparen: id.Pos(), X: id, Rparen: id.End() - 1}
		}
	})
}

func newInfo() *types.Info {
	return &types.Info{
		Types: map[ast.Expr]types.TypeAndValue{}, Defs: map[*ast.Ident]types.Object{},
		Uses: map[*ast.Ident]types.Object{}, Selections: map[*ast.SelectorExpr]*types.Selection{},
		Instances: map[*ast.Ident]types.Instance{}, Scopes: map[ast.Node]*types.Scope{},
		Implicits: map[ast.Node]types.Object{},
	}
}

// packageLevel reports whether o was declared at the level of a package.
func packageLevel(o types.Object) bool {
	return o.Parent() != nil && o.Parent().Parent() == types.Universe
}

// setScope empties the scope of the session's package. Package and scope must
// stay the same ones: unexported fields belong to the package, and that an
// object was declared at its level is seen by its scope.
func setScope(pkg *types.Package) {
	v := reflect.ValueOf(pkg.Scope()).Elem()
	for _, name := range []string{"elems", "children"} {
		f := v.FieldByName(name)
		reflect.NewAt(f.Type(), unsafe.Pointer(f.UnsafeAddr())).Elem().SetZero()
	}
}

// resultTypes returns the types of the values of an expression, none for a
// call without results, and untyped ones as they default.
func resultTypes(info *types.Info, x ast.Expr) []types.Type {
	tv, ok := info.Types[x]
	if !ok || tv.IsVoid() || tv.IsType() || tv.IsBuiltin() {
		return nil
	}
	if t, ok := tv.Type.(*types.Tuple); ok {
		var ts []types.Type
		for v := range t.Variables() {
			ts = append(ts, v.Type())
		}
		return ts
	}
	return []types.Type{types.Default(tv.Type)}
}

// definedBy returns the names that the statements of a cell define at its top
// level.
func definedBy(body *ast.BlockStmt) map[string]bool {
	names := map[string]bool{}
	for _, s := range body.List {
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
				for _, l := range s.Lhs {
					if id, ok := l.(*ast.Ident); ok && id.Name != "_" {
						names[id.Name] = true
					}
				}
			}
		case *ast.DeclStmt:
			if g, ok := s.Decl.(*ast.GenDecl); ok && g.Tok == token.VAR {
				for _, sp := range g.Specs {
					if v, ok := sp.(*ast.ValueSpec); ok {
						for _, n := range v.Names {
							if n.Name != "_" {
								names[n.Name] = true
							}
						}
					}
				}
			}
		}
	}
	return names
}

// bodyFunc returns a function `_` that checks the body of f: a method's
// receiver becomes a parameter, but where it declares type parameters.
func bodyFunc(f *ast.FuncDecl) *ast.FuncDecl {
	g := &ast.FuncDecl{Name: &ast.Ident{Name: "_", NamePos: f.Name.Pos()}, Type: f.Type, Body: f.Body}
	if f.Recv == nil {
		return g
	}
	if len(receiverParams(f)) > 0 {
		g.Recv = f.Recv
		return g
	}
	return methodBody(f)
}

// methodBody returns a function `_` with the receiver of the method f as a
// parameter.
func methodBody(f *ast.FuncDecl) *ast.FuncDecl {
	g := &ast.FuncDecl{Name: &ast.Ident{Name: "_", NamePos: f.Name.Pos()}, Body: f.Body}
	t := *f.Type
	params := &ast.FieldList{Opening: t.Params.Opening, Closing: t.Params.Closing}
	params.List = append(params.List, f.Recv.List...)
	params.List = append(params.List, t.Params.List...)
	t.Params = params
	g.Type = &t
	// A named receiver beside unnamed parameters is not Go: name them.
	named := false
	for _, p := range params.List {
		named = named || len(p.Names) > 0
	}
	if named {
		for i, p := range params.List {
			if len(p.Names) == 0 {
				q := *p
				q.Names = []*ast.Ident{{Name: "_", NamePos: p.Type.Pos()}}
				params.List[i] = &q
			}
		}
	}
	return g
}

// addImports takes over the imports of a cell, as imp knows them.
func (p *program) addImports(fset *token.FileSet, g *ast.GenDecl, imp types.Importer) error {
	for _, s := range g.Specs {
		is := s.(*ast.ImportSpec)
		ipath := strings.Trim(is.Path.Value, "\"`")
		fail := func(msg string) error {
			e := &checkError{}
			e.list.Add(fset.Position(is.Pos()), msg)
			return e
		}
		if ipath == "C" {
			return fail("cgo cannot be used in a cell")
		}
		if ipath == "embed" {
			return fail("there are no files beside a cell to embed: os.ReadFile reads one when the cell runs")
		}
		pk, err := imp.Import(ipath)
		if err != nil {
			return fail(err.Error())
		}
		name := pk.Name()
		if is.Name != nil {
			name = is.Name.Name
		}
		switch name {
		case "_":
		case ".":
			if !slices.Contains(p.dots, ipath) {
				p.dots = append(p.dots, ipath)
			}
		default:
			p.imports[name] = ipath
			// The import takes the name over from a variable of the session.
			delete(p.names, name)
		}
	}
	return nil
}

// fileImports returns the import declaration of a file to check, if it needs
// one. A variable in the package's scope hides the package of its name.
func (p *program) fileImports(used map[string]bool, all []declared, body *ast.BlockStmt) []ast.Decl {
	g := p.importDecl(used, all, body)
	if g == nil {
		return nil
	}
	g.Specs = slices.DeleteFunc(g.Specs, func(s ast.Spec) bool {
		n := s.(*ast.ImportSpec).Name
		return n != nil && p.pkg.Scope().Lookup(n.Name) != nil
	})
	return []ast.Decl{g}
}

// importDecl returns the imports of the packages that the cell mentions: those
// that cells imported, and those known by name that nothing else defines.
func (p *program) importDecl(used map[string]bool, all []declared, body *ast.BlockStmt) *ast.GenDecl {
	g := &ast.GenDecl{Tok: token.IMPORT}
	add := func(name, ipath string) {
		s := &ast.ImportSpec{Path: &ast.BasicLit{Kind: token.STRING, Value: quote(ipath)}}
		if name != "" {
			s.Name = ast.NewIdent(name)
		}
		g.Specs = append(g.Specs, s)
	}
	selected := map[string]map[string]bool{} // X -> the Sels of X.Sel
	visit := func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := s.X.(*ast.Ident); ok {
				if selected[x.Name] == nil {
					selected[x.Name] = map[string]bool{}
				}
				selected[x.Name][s.Sel.Name] = true
			}
		}
		return true
	}
	declares := map[string]bool{}
	for _, d := range all {
		ast.Inspect(d.decl, visit)
		if d.unit.meth == "" {
			for _, n := range d.unit.names {
				declares[n] = true
			}
		}
	}
	ast.Inspect(body, visit)
	names := slices.Sorted(maps.Keys(selected))
	for _, n := range names {
		if declares[n] {
			continue
		}
		if e := p.names[n]; e != nil {
			continue
		}
		if ipath, ok := p.imports[n]; ok {
			add(n, ipath)
			continue
		}
		if ipath := p.guess(n, selected[n]); ipath != "" {
			add(n, ipath)
		}
	}
	for _, d := range p.dots {
		add(".", d)
	}
	if len(g.Specs) == 0 {
		return nil
	}
	return g
}

// guess returns the path of the package that an undeclared name stands for:
// the one of that name that has all the selected symbols, the standard
// library first, then dacelib, then the shortest path, then what was fetched.
func (p *program) guess(name string, selected map[string]bool) string {
	for _, ipath := range p.byName(name) {
		pk, err := p.imp.Import(ipath)
		if err != nil {
			continue
		}
		ok := true
		for s := range selected {
			ok = ok && token.IsExported(s) && pk.Scope().Lookup(s) != nil
		}
		if ok {
			return ipath
		}
	}
	// Let a wrong selector be reported as such.
	if l := p.byName(name); len(l) > 0 {
		return l[0]
	}
	return ""
}

// byName returns the paths of the packages of a name, the preferred first.
func (p *program) byName(name string) []string {
	return append(slices.Clip(byName()[name]), p.imp.named(name)...)
}

// byName maps the names of compiled packages to their paths, the preferred
// first.
var byName = sync.OnceValue(func() map[string][]string {
	t := map[string][]string{}
	for _, ipath := range symbols.Paths() {
		n, _ := symbols.Name(ipath)
		t[n] = append(t[n], ipath)
	}
	rank := func(s string) int {
		switch {
		case s == "math/rand/v2", s == "text/template":
			return 0
		case !strings.Contains(strings.SplitN(s, "/", 2)[0], "."):
			return 1
		case strings.HasPrefix(s, "dace.local/"):
			return 2
		}
		return 3 + strings.Count(path.Clean(s), "/")
	}
	for _, l := range t {
		sort.SliceStable(l, func(i, j int) bool {
			if a, b := rank(l[i]), rank(l[j]); a != b {
				return a < b
			}
			return len(l[i]) < len(l[j])
		})
	}
	return t
})
