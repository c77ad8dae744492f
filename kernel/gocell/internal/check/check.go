package check

import (
	"cmp"
	"errors"
	"fmt"
	"go/ast"
	"go/scanner"
	"go/token"
	"go/types"
	"maps"
	"slices"
	"sort"
	"strings"

	"dace.local/kernel/gocell/symbols"
)

// The session is one Go package that grows cell by cell. go/types checks a cell
// against it in passes (passes.go): constants, types, function signatures and
// statements first, which determines the types of the variables that the
// statements define; then function bodies, which may use those variables.

// An entity is what a name of the session denotes.
type entity struct {
	name   string
	Object types.Object
	Cell   int // the number of the cell that declares it; 0 if the kernel predeclares it
}

// A Unit is a declaration that the session has: of constants, types or a
// function, a method, or all of a compiled cell.
type Unit struct {
	Piece
	Names  []string        // what it declares; for a method, the receiver's type
	Method string          // the method's name, or ""
	ofC    []string        // what a compiled cell declares with types of C, which no other cell sees
	deps   map[string]bool // the session's names that it uses
	// native holds the declarations of a compiled cell, which is one unit.
	native []Piece
	// parts are the interpreted units that a unit of lifted types is made of,
	// see lift.go.
	parts []*Unit
	// changed holds what changes returns; nil until that is wanted.
	changed map[string]bool
}

func (u *Unit) String() string {
	if u.Method != "" {
		return u.Names[0] + "." + u.Method
	}
	return strings.Join(u.Names, ", ")
}

// Program is the session's state as the checker sees it.
type Program struct {
	Importer  *Importer
	Package   *types.Package
	Names     map[string]*entity
	Imports   map[string]string // by the name that cells use
	dots      []string          // paths imported with a dot
	ownDots   []string          // by the cell that is checked
	conflicts map[string]bool   // names that it declares beside them
	Units     []*Unit           // in the order declared
	gone      []*Unit           // those that no longer compile: they come back when what they use does
	broken    map[string]string // why a name is no longer declared
	lifted    map[string]bool   // types of interpreted cells that are compiled, see lift.go
	Prelude   *Prelude          // shared by all clones
	ctx       *entity           // the predeclared context of cells
	reloaded  []*FetchedPackage // packages that were replaced since the last cell
	relinked  []string          // packages whose functions are compiled again, by path
	// cannotLift says why a type cannot be compiled, while a cell is checked.
	cannotLift map[string]string
}

// Checked is a cell without errors, ready to be compiled.
type Checked struct {
	Source  *Source
	Decls   []Declared
	Info    *types.Info
	Vars    []*types.Var          // the session variables that the statements define, in order
	Moved   map[string]*types.Var // variables of earlier cells whose type is declared again, with the new type
	Results []types.Type          // of the last expression; nil where there is none
	Fails   bool                  // a last result that is an error and not nil is the cell's error
	Notes   []string              // messages for the user: which declarations no longer compile
	Next    *Program              // the session after this cell
	Natives []*Native             // the compiled cells to build, in order
	// Redeclared holds the names whose declarations are compiled with this
	// cell, the cell's own and their dependents'.
	Redeclared map[string]bool
}

// Declared is a declaration that is compiled with a cell.
type Declared struct {
	Decl ast.Decl
	Unit *Unit
	Own  bool // declared by the cell itself
}

// Error is a list of messages with positions.
type Error struct {
	List  scanner.ErrorList
	hints map[*scanner.Error]string // what follows an error of a compiled cell, if it is shown
}

func (e *Error) Error() string { return e.List.Error() }

// errorAt returns an error of one message.
func errorAt(at token.Position, format string, args ...any) *Error {
	e := &Error{}
	e.List.Add(at, fmt.Sprintf(format, args...))
	return e
}

// Lookup returns what a name of the session denotes, or nil.
func (p *Program) Lookup(name string) types.Object {
	if e := p.Names[name]; e != nil {
		return e.Object
	}
	return nil
}

// Emptied returns the program without what cells have declared and imported.
func (p *Program) Emptied() *Program {
	return &Program{Importer: p.Importer, Package: p.Package, Names: map[string]*entity{"ctx": p.ctx}, Imports: map[string]string{},
		broken: map[string]string{}, Prelude: p.Prelude, ctx: p.ctx}
}

// Without returns the program without some names, and without the methods of
// those that are types. Functions that use a variable of them are gone until a cell declares
// it anew, and lost says so of each; what uses another name no longer compiles when it is
// compiled again.
func (p *Program) Without(names map[string]bool) (next *Program, lost []string) {
	next = p.clone()
	vars := map[string]bool{}
	for n := range names {
		if e := p.Names[n]; e != nil {
			_, vars[n] = e.Object.(*types.Var)
			vars[n] = vars[n] && n != "ctx"
		}
	}
	maps.DeleteFunc(next.Names, func(n string, _ *entity) bool { return names[n] })
	if names["ctx"] {
		next.Names["ctx"] = p.ctx // a cell had declared its own
	}
	taken := func(n string) bool { return names[n] }
	without := func(units []*Unit) (left []*Unit) {
		for _, u := range units {
			if slices.ContainsFunc(u.Names, taken) {
				u = u.rest(token.NewFileSet(), taken)
			}
			if u != nil {
				left = append(left, u)
			}
		}
		return left
	}
	next.Units, next.gone = without(next.Units), without(next.gone)
	why := map[*Unit]string{}
	for again := true; again; {
		again = false
		next.Units = slices.DeleteFunc(next.Units, func(u *Unit) bool {
			for _, n := range slices.Sorted(maps.Keys(u.deps)) {
				if vars[n] {
					why[u] = fmt.Sprintf("%s, declared in cell %d, no longer compiles: undefined: %s", u, u.Cell, n)
					next.gone, again = append(next.gone, u), true
					if u.Method == "" {
						for _, own := range u.Names {
							vars[own] = true
						}
					}
					return true
				}
			}
			return false
		})
	}
	next.lose(new(Checked), why)
	return next, slices.Sorted(maps.Values(why))
}

// clone copies the program. Entities and units are shared, as they never
// change.
func (p *Program) clone() *Program {
	return &Program{Importer: p.Importer, Package: p.Package, Names: maps.Clone(p.Names), Imports: maps.Clone(p.Imports),
		reloaded: p.reloaded, relinked: p.relinked, dots: slices.Clone(p.dots), conflicts: p.conflicts, Units: slices.Clone(p.Units), gone: slices.Clone(p.gone), broken: maps.Clone(p.broken), lifted: maps.Clone(p.lifted), Prelude: p.Prelude, ctx: p.ctx}
}

// UnitsOf returns the unit of a declaration, whose text is pc.
func UnitsOf(pc Piece, d ast.Decl) *Unit {
	u := &Unit{Piece: pc}
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Recv != nil {
			u.Names, u.Method = []string{ReceiverName(d)}, d.Name.Name
		} else {
			u.Names = []string{d.Name.Name}
		}
	case *ast.GenDecl:
		u.Names = namesOf(d)
	}
	return u
}

// namesOf returns the names that a declaration of constants, types or variables declares.
func namesOf(d *ast.GenDecl) (names []string) {
	for _, s := range d.Specs {
		switch s := s.(type) {
		case *ast.TypeSpec:
			names = append(names, s.Name.Name)
		case *ast.ValueSpec:
			for _, n := range s.Names {
				if n.Name != "_" {
					names = append(names, n.Name)
				}
			}
		}
	}
	return names
}

// rest returns the unit of those constants or types of an interpreted declaration that
// are not taken, nil if there are none: they go on to follow what they use.
func (u *Unit) rest(fset *token.FileSet, taken func(name string) bool) *Unit {
	if u.native != nil || !slices.ContainsFunc(u.Names, func(n string) bool { return !taken(n) }) {
		return nil
	}
	ds, err := u.Parse(fset)
	if err != nil || len(ds) != 1 {
		return nil
	}
	g := ds[0].(*ast.GenDecl) // a function has one name
	rest := &Unit{Piece: u.Piece, deps: u.deps}
	rest.Text = textWithout(fset.File(g.Pos()), g, u.Text, taken)
	rest.Names = slices.DeleteFunc(slices.Clone(u.Names), taken)
	return rest
}

// textWithout returns the text of a declaration of constants or types, with which f
// ends, without some of its names. The others keep their places and their iota.
func textWithout(f *token.File, g *ast.GenDecl, text string, taken func(name string) bool) string {
	b := []byte(text)
	replace := func(n ast.Node, with string) (end int) {
		start := len(text) - f.Size()
		from, end := start+f.Offset(n.Pos()), start+f.Offset(n.End())
		for i := from; i < end; i++ {
			if b[i] != '\n' {
				b[i] = ' '
			}
		}
		copy(b[end-len(with):], with)
		return end
	}
	repeated := false // the values are those of a later constant that stays
	for _, s := range slices.Backward(g.Specs) {
		switch s := s.(type) {
		case *ast.TypeSpec:
			if !taken(s.Name.Name) {
				continue
			}
			end := replace(s, "")
			if semicolon := end + len(text[end:]) - len(strings.TrimLeft(text[end:], " \t")); text[semicolon:semicolon+1] == ";" {
				b[semicolon] = ' '
			}
		case *ast.ValueSpec:
			stays := slices.ContainsFunc(s.Names, func(n *ast.Ident) bool { return n.Name != "_" && !taken(n.Name) })
			switch {
			case stays || repeated:
				for _, n := range s.Names {
					if taken(n.Name) {
						replace(n, "_")
					}
				}
			case s.Values != nil:
				replace(s, "_=0")
			default:
				replace(s, "_")
			}
			repeated = s.Values == nil && (repeated || stays)
		}
	}
	return string(b)
}

// ReceiverName returns the name of a method's receiver type.
func ReceiverName(d *ast.FuncDecl) string {
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

// Check type-checks a parsed cell against the program. It does not change the
// program; the result holds the one after the cell.
func (p *Program) Check(fset *token.FileSet, src *Source) (*Checked, error) {
	next := p.clone()
	own, err := next.ownDecls(fset, src)
	if err != nil {
		return nil, err
	}
	ownNative, err := next.ownCompiled(fset, src)
	if err != nil {
		return nil, err
	}
	next.noteConflicts(own, ownNative)
	t := redeclaredBy(own, ownNative, src.Body)
	kept, changed := keep(next.Units, fset, src, t, ownNative)
	lost := next.lost(fset, t, changed)
	gone, _ := keep(next.gone, fset, src, t, ownNative)
	for n := range t.defined {
		// A variable that replaces a function, or one of another type,
		// changes its users too; the type is known only after the check.
		if e := p.Names[n]; e != nil {
			if _, isVar := e.Object.(*types.Var); !isVar || OfNative(e.Object) {
				changed[n] = true
			}
		}
		// So does one with which a function that is gone may compile again.
		if len(dependents(gone, map[string]bool{n: true})) > 0 {
			changed[n] = true
		}
	}
	for _, d := range own {
		if d.Unit.Method == "" {
			continue
		}
		if e := p.Names[d.Unit.Names[0]]; e != nil && OfNative(e.Object) && !t.names[e.name] && !p.lifted[e.name] {
			return nil, errorAt(fset.Position(d.Decl.Pos()), "%s is declared in a compiled cell (cell %d): declare its methods there", e.name, e.Cell)
		}
	}
	u := &update{p: next, fset: fset, src: src, own: own, ownNative: ownNative, kept: kept, gone: gone, changed: changed, dropped: map[*Unit]string{}, defs: map[string]types.Object{}, instead: map[string]types.Object{}}
	c, err := u.run()
	if err != nil {
		return nil, err
	}
	if err := libraryVars(fset, c); err != nil {
		return nil, err
	}
	c.Notes = slices.Concat(lost, c.Notes, next.liftNotes(p.lifted), u.lostMethods(p, t))
	return c, nil
}

// lostMethods returns messages about methods that types had before the cell and have no
// more: one that is declared again keeps those of other cells only where all is interpreted.
func (u *update) lostMethods(before *Program, t redeclared) (notes []string) {
	for _, name := range slices.Sorted(maps.Keys(t.names)) {
		was, now := before.Names[name], u.p.Names[name]
		if was == nil || now == nil || !OfNative(was.Object) && !OfNative(now.Object) ||
			slices.ContainsFunc(before.Units, func(w *Unit) bool { return w.id != "" && w.id == u.src.id && slices.Contains(w.Names, name) }) {
			continue
		}
		had, isType := declaredMethods(was.Object)
		has, still := declaredMethods(now.Object)
		for w := range u.dropped { // which has its own message
			has = append(has, strings.TrimPrefix(w.String(), name+"."))
		}
		had = slices.DeleteFunc(had, func(m string) bool { return slices.Contains(has, m) })
		if isType && still && len(had) > 0 {
			notes = append(notes, fmt.Sprintf("%s no longer has %s: where a type is compiled, its cell declares its methods, too", name, strings.Join(had, ", ")))
		}
	}
	return notes
}

// declaredMethods returns the names of the methods that are declared for a type.
func declaredMethods(o types.Object) (names []string, isType bool) {
	t, ok := o.(*types.TypeName)
	if !ok || t.IsAlias() {
		return nil, false
	}
	if n, ok := t.Type().(*types.Named); ok {
		for m := range n.Methods() {
			names = append(names, m.Name())
		}
	}
	slices.Sort(names)
	return names, true
}

// ownDecls adds the cell's imports to the program, and returns its
// declarations.
func (p *Program) ownDecls(fset *token.FileSet, src *Source) (own []Declared, err error) {
	i := 0 // one piece is one declaration
	for _, d := range src.File.Decls {
		if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.IMPORT {
			if err := p.addImports(fset, g, p.Importer); err != nil {
				return nil, err
			}
			continue
		}
		own = append(own, Declared{Decl: d, Unit: UnitsOf(src.decls[i], d), Own: true})
		i++
	}
	p.unaliasReceivers(own)
	return own, nil
}

// unaliasReceivers notes methods as those of the types for which aliases stand.
func (p *Program) unaliasReceivers(own []Declared) {
	aliases := map[string]string{} // by a type of the cell, "" if it is none
	for _, d := range own {
		g, ok := d.Decl.(*ast.GenDecl)
		if !ok || g.Tok != token.TYPE {
			continue
		}
		for _, s := range g.Specs {
			s := s.(*ast.TypeSpec)
			aliases[s.Name.Name] = ""
			if id, ok := s.Type.(*ast.Ident); ok && s.Assign.IsValid() {
				aliases[s.Name.Name] = id.Name
			}
		}
	}
	for _, d := range own {
		if d.Unit.Method == "" {
			continue
		}
		name := d.Unit.Names[0]
		for range aliases { // a cycle is an error of the checker
			if of := aliases[name]; of != "" {
				name = of
			}
		}
		if e := p.Names[name]; e != nil {
			_, here := aliases[name]
			n, ok := types.Unalias(e.Object.Type()).(*types.Named)
			if t, isType := e.Object.(*types.TypeName); isType && t.IsAlias() && !here && ok && n.Obj().Pkg() == p.Package {
				name = n.Obj().Name()
			}
		}
		d.Unit.Names[0] = name
	}
}

// ownCompiled returns the unit of a compiled cell, nil for an interpreted one,
// and adds its imports to the program.
func (p *Program) ownCompiled(fset *token.FileSet, src *Source) (*Unit, error) {
	if len(src.native) == 0 {
		return nil, nil
	}
	for _, pc := range src.native {
		ds, err := pc.Parse(fset)
		if err != nil {
			return nil, err
		}
		if g, ok := ds[0].(*ast.GenDecl); ok && g.Tok == token.IMPORT && !isC(g) {
			if err := p.addImports(fset, g, p.Importer); err != nil && !p.compilable(g) {
				return nil, err
			}
		}
	}
	return nativeUnit(fset, src.native)
}

// A redeclared holds the names that a cell declares or defines, which earlier cells
// no longer have.
type redeclared struct {
	names   map[string]bool    // that its declarations declare
	types   map[string]bool    // among them
	methods map[[2]string]bool // type and method
	defined map[string]bool    // variables that its statements define
}

func redeclaredBy(own []Declared, ownNative *Unit, body *ast.BlockStmt) redeclared {
	t := redeclared{map[string]bool{}, map[string]bool{}, map[[2]string]bool{}, DefinedBy(body)}
	if ownNative != nil {
		for _, n := range ownNative.Names {
			t.names[n] = true
		}
	}
	for _, d := range own {
		if d.Unit.Method != "" {
			t.methods[[2]string{d.Unit.Names[0], d.Unit.Method}] = true
			continue
		}
		g, isGen := d.Decl.(*ast.GenDecl)
		for _, n := range d.Unit.Names {
			t.names[n] = true
			if isGen && g.Tok == token.TYPE {
				t.types[n] = true
			}
		}
	}
	return t
}

// keep returns those of the units that stay in force, and the names that are
// declared anew, by the cell or because of it.
func keep(units []*Unit, fset *token.FileSet, src *Source, t redeclared, ownNative *Unit) (kept []*Unit, changed map[string]bool) {
	changed = map[string]bool{}
	gone := func(n string) bool { return t.names[n] || t.defined[n] }
	for _, u := range units {
		switch {
		case u.native != nil:
			switch {
			case !slices.ContainsFunc(u.Names, gone):
				kept = append(kept, u)
			case ownNative != nil && u.id != "" && u.id == src.id:
				// An earlier version of this very cell.
			default:
				// The rest of it may use the redeclared names.
				if u = u.without(fset, gone); u != nil {
					kept = append(kept, u)
					for _, n := range u.Names {
						changed[n] = true
					}
				}
			}
		case u.Method != "" && t.methods[[2]string{u.Names[0], u.Method}]:
		case u.Method != "" && t.names[u.Names[0]] && (!t.types[u.Names[0]] || u.id != "" && u.id == src.id):
			// The type is gone, or the method stood in an earlier version of
			// this very cell and is no longer there.
		case u.Method != "" && t.defined[u.Names[0]]:
		case u.Method == "" && slices.ContainsFunc(u.Names, gone):
			if u = u.rest(fset, gone); u != nil {
				kept = append(kept, u)
			}
		default:
			kept = append(kept, u)
		}
	}
	maps.Copy(changed, t.names)
	for m := range t.methods {
		changed[m[0]] = true
	}
	return kept, changed
}

// dependents returns the kept units that use a changed name, directly or
// through other units, or are methods of a changed type.
func dependents(kept []*Unit, changed map[string]bool) []*Unit {
	names := maps.Clone(changed)
	in := map[*Unit]bool{}
	for again := true; again; {
		again = false
		for _, u := range kept {
			if in[u] {
				continue
			}
			hit := u.Method != "" && names[u.Names[0]]
			for n := range u.deps {
				hit = hit || names[n]
			}
			for _, n := range u.Names {
				hit = hit || names[n]
			}
			if hit {
				in[u], again = true, true
				for _, n := range u.Names {
					names[n] = true
				}
			}
		}
	}
	var list []*Unit
	for _, u := range kept {
		if in[u] {
			list = append(list, u)
		}
	}
	return list
}

// explain returns the errors of a checked cell, with what became of names that
// are no longer declared, or a name that may have been meant.
func (p *Program) explain(k *checking, dropped map[*Unit]string) error {
	ce := &Error{}
	for _, e := range k.errs {
		msg := e.Msg
		why := ""
		switch kind, name := kindOfError(msg); kind {
		case undefinedName:
			why = cmp.Or(p.whyGone(name, dropped), p.whyPackage(name))
		case unknownMember, missingMethod:
			why = p.whyMethodGone(typeOfError(msg)+"."+name, dropped)
		}
		if why = cmp.Or(why, k.hint(e)); why != "" {
			msg += "\n\t" + why
		}
		ce.List.Add(k.fset.Position(e.Pos), msg)
	}
	ce.List.Sort()
	return ce
}

// reason returns the first error of a compiled cell, with its line.
func reason(err error) string {
	var ce *Error
	if errors.As(err, &ce) {
		return fmt.Sprintf("%s (line %d)", ce.List[0].Msg, ce.List[0].Pos.Line)
	}
	return err.Error()
}

// explainNative adds to the errors of a compiled cell what became of names that
// are no longer declared, or what else may help.
func (p *Program) explainNative(err error, dropped map[*Unit]string) error {
	var ce *Error
	if !errors.As(err, &ce) {
		return err
	}
	for _, e := range ce.List {
		why := ""
		if kind, name := kindOfError(e.Msg); kind == undefinedName {
			why = p.whyGone(name, dropped)
		}
		if why = cmp.Or(why, ce.hints[e]); why != "" {
			e.Msg += "\n\t" + why
		}
	}
	return ce
}

// whyGone returns why a name is no longer declared, or "".
func (p *Program) whyGone(name string, dropped map[*Unit]string) string {
	for u, w := range dropped {
		if u.Method == "" && slices.Contains(u.Names, name) {
			return w
		}
	}
	return p.broken[name]
}

// whyPackage returns that a name is a package's, which is no value, or "".
func (p *Program) whyPackage(name string) string {
	if ipath := cmp.Or(p.Imports[name], p.guess(name, nil)); ipath != "" {
		return fmt.Sprintf("%s is the package %q, and no value: a name of it is %[1]s.Name", name, ipath)
	}
	return ""
}

// whyMethodGone returns why there is no longer a method, T.m, or "".
func (p *Program) whyMethodGone(method string, dropped map[*Unit]string) string {
	for u, w := range dropped {
		if u.Method != "" && u.String() == method {
			return w
		}
	}
	for _, u := range p.gone {
		if u.Method != "" && u.String() == method {
			return p.broken[method]
		}
	}
	return ""
}

// commit turns p into the program after the cell.
func (p *Program) commit(c *Checked, objects map[string]types.Object, live []*Unit, dropped map[*Unit]string) {
	p.reloaded, p.relinked = nil, nil
	own := map[string]bool{}
	p.Units = live[:len(live):len(live)]
	for _, n := range c.Natives {
		n.noteImports()
		if n.own {
			p.Units = append(p.Units, n.Unit)
			for _, name := range n.Unit.Names {
				own[name] = true
			}
		}
	}
	for _, n := range c.Natives {
		for _, u := range n.Unit.parts {
			if slices.Contains(p.Units, u) {
				continue
			}
			u.deps = n.Unit.deps
			for _, d := range n.Decls {
				if d.Piece == u.Piece {
					_, u.imported = usesOf(n.Info, d.Decl)
				}
			}
			p.Units = append(p.Units, u)
			if u.Method == "" {
				for _, name := range u.Names {
					own[name] = true
				}
			}
		}
	}
	for i := range c.Decls {
		d := &c.Decls[i]
		if !d.Own {
			continue
		}
		if f, ok := d.Decl.(*ast.FuncDecl); ok && isInit(f) {
			continue // it runs with its cell only, and is no part of the session
		}
		d.Unit.deps, d.Unit.imported = usesOf(c.Info, d.Decl)
		p.Units = append(p.Units, d.Unit)
		if d.Unit.Method == "" {
			for _, n := range d.Unit.Names {
				own[n] = true
			}
		}
	}
	for n := range c.Redeclared {
		if o := objects[n]; o != nil {
			cell := c.Source.Number
			if e := p.Names[n]; e != nil && !own[n] {
				cell = e.Cell
			}
			p.Names[n] = &entity{name: n, Object: o, Cell: cell}
			delete(p.broken, n)
		}
	}
	p.lose(c, dropped)
	for n, v := range c.Moved {
		p.Names[n] = &entity{name: n, Object: v, Cell: p.Names[n].Cell}
	}
	for _, v := range c.Vars {
		p.Names[v.Name()] = &entity{name: v.Name(), Object: v, Cell: c.Source.Number}
		delete(p.broken, v.Name())
		delete(c.Moved, v.Name())
	}
	c.last()
	c.Source.Results = c.Results
}

// lose takes what no longer compiles out of the program, and notes why.
func (p *Program) lose(c *Checked, dropped map[*Unit]string) {
	for u, why := range dropped {
		if !slices.Contains(p.gone, u) {
			c.Notes = append(c.Notes, why)
		}
		if u.Method != "" {
			p.broken[u.String()] = why
			continue
		}
		for _, n := range u.Names {
			delete(p.Names, n)
			p.broken[n] = why
		}
	}
	sort.Strings(c.Notes)
}

// hideForeign puts T of type U T into parentheses if another cell declares T.
// go/types looks for cycles among such declarations and expects to find T
// declared in the same file.
func hideForeign(file *ast.File) {
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

// NewInfo returns what the checker fills.
func NewInfo() *types.Info { return infoFor(0) }

// infoFor is NewInfo, with room for code of so many nodes.
func infoFor(nodes int) *types.Info {
	return &types.Info{
		Types: make(map[ast.Expr]types.TypeAndValue, nodes*3/5), Defs: make(map[*ast.Ident]types.Object, nodes/12),
		Uses: make(map[*ast.Ident]types.Object, nodes*2/5), Selections: map[*ast.SelectorExpr]*types.Selection{},
		Instances: map[*ast.Ident]types.Instance{}, Scopes: map[ast.Node]*types.Scope{},
		Implicits: map[ast.Node]types.Object{},
	}
}

// PackageLevel reports whether o is declared at package level.
func PackageLevel(o types.Object) bool {
	return o.Parent() != nil && o.Parent().Parent() == types.Universe
}

// resultTypes returns the types of an expression's values, with defaults for
// untyped ones; none for a call without results.
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

// DefinedBy returns the variables that statements define at the top level of a
// cell.
func DefinedBy(body *ast.BlockStmt) map[string]bool {
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

// bodyFunc returns a function named _ with the body of f, for a check of the
// body alone. The receiver of a method becomes a parameter, unless it has type
// parameters.
func bodyFunc(f *ast.FuncDecl) *ast.FuncDecl {
	g := &ast.FuncDecl{Name: &ast.Ident{Name: "_", NamePos: f.Name.Pos()}, Type: f.Type, Body: f.Body}
	if f.Recv == nil {
		return g
	}
	if len(ReceiverParams(f)) > 0 {
		g.Recv = f.Recv
		return g
	}
	return MethodBody(f)
}

// MethodBody returns a function named _ whose first parameter is the receiver
// of the method f.
func MethodBody(f *ast.FuncDecl) *ast.FuncDecl {
	g := &ast.FuncDecl{Name: &ast.Ident{Name: "_", NamePos: f.Name.Pos()}, Body: f.Body}
	t := *f.Type
	params := &ast.FieldList{Opening: t.Params.Opening, Closing: t.Params.Closing}
	params.List = append(params.List, f.Recv.List...)
	params.List = append(params.List, t.Params.List...)
	t.Params = params
	g.Type = &t
	// Go does not allow named and unnamed parameters together: name them all.
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

// addImports adds the imports of a cell, which imp finds.
func (p *Program) addImports(fset *token.FileSet, g *ast.GenDecl, imp types.Importer) error {
	for _, s := range g.Specs {
		is := s.(*ast.ImportSpec)
		ipath := strings.Trim(is.Path.Value, "\"`")
		fail := func(msg string) error { return errorAt(fset.Position(is.Pos()), "%s", msg) }
		if ipath == "C" {
			if _, compiled := imp.(compiledImporter); compiled {
				p.Imports["C"] = "C"
				continue
			}
			return fail("C can be imported in a cell that begins with %%compile only")
		}
		if ipath == "embed" {
			return fail("a cell has no directory of files to embed: read a file with os.ReadFile")
		}
		if own := StandIn(ipath); own != "" {
			ipath = own
		}
		if p.Importer.Folder != nil && strings.HasPrefix(ipath, ".") {
			ipath = cmp.Or(p.Importer.Folder(ipath), ipath)
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
			if p.ownDots = append(p.ownDots, ipath); !slices.Contains(p.dots, ipath) {
				p.dots = append(p.dots, ipath)
			}
		default:
			p.Imports[name] = ipath
			// The import replaces a variable of that name.
			delete(p.Names, name)
		}
	}
	return nil
}

// mentions are the names that nodes have, and what they select of each: the Sels of X.Sel.
type mentions struct {
	nodes    int // how many were visited
	names    map[string]bool
	selected map[string]map[string]bool
}

func newMentions() *mentions {
	return &mentions{names: map[string]bool{}, selected: map[string]map[string]bool{}}
}

// add adds what is mentioned below n.
func (m *mentions) add(n ast.Node) {
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case nil: // one is left
			m.nodes++
		case *ast.Ident:
			m.names[n.Name] = true
		case *ast.SelectorExpr:
			if x, ok := n.X.(*ast.Ident); ok {
				if m.selected[x.Name] == nil {
					m.selected[x.Name] = map[string]bool{}
				}
				m.selected[x.Name][n.Sel.Name] = true
			}
		}
		return true
	})
}

// importDecl returns imports of the packages that a cell mentions, which declares all:
// those that cells have imported, and packages that it names without an import.
func (p *Program) importDecl(m *mentions, all []Declared) *ast.GenDecl {
	g := &ast.GenDecl{Tok: token.IMPORT}
	add := func(name, ipath string) {
		s := importSpec(name, ipath)
		if ipath == "C" {
			s.Name = nil
		}
		g.Specs = append(g.Specs, s)
	}
	declares := map[string]bool{}
	for _, d := range all {
		if d.Unit.Method == "" {
			for _, n := range d.Unit.Names {
				declares[n] = true
			}
		}
	}
	for _, n := range slices.Sorted(maps.Keys(m.selected)) {
		if declares[n] {
			continue
		}
		if e := p.Names[n]; e != nil {
			continue
		}
		if ipath, ok := p.Imports[n]; ok {
			add(n, ipath)
			continue
		}
		if ipath := p.guess(n, m.selected[n]); ipath != "" {
			add(n, ipath)
		}
	}
	for _, d := range p.dots {
		add(".", d)
	}
	for _, n := range slices.Sorted(maps.Keys(predeclared)) {
		if m.names[n] && p.Names[n] == nil && !declares[n] && !slices.Contains(p.dots, predeclared[n]) {
			add(".", predeclared[n])
		}
	}
	if len(g.Specs) == 0 {
		return nil
	}
	return g
}

// guess returns the path of the package that an undeclared name denotes: of all
// packages with that name one that exports all selected identifiers; the
// standard library is preferred, then dacelib, then the shortest path, then
// fetched packages.
func (p *Program) guess(name string, selected map[string]bool) string {
	for _, ipath := range p.ByName(name) {
		pk, err := p.Importer.Import(ipath)
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
	// No package exports them all: the checker reports which it lacks.
	if l := p.ByName(name); len(l) > 0 {
		return l[0]
	}
	return ""
}

// ByName returns the paths of the packages with a name, the preferred one
// first.
func (p *Program) ByName(name string) []string {
	return append(slices.Clip(symbols.ByName()[name]), p.Importer.Named(name)...)
}

// NewProgram returns what a session knows before its first cell: the context.
func NewProgram() (*Program, error) {
	imp, err := newImporter()
	if err != nil {
		return nil, err
	}
	main := types.NewPackage("main", "main")
	cp, err := imp.Import("context")
	if err != nil {
		return nil, err
	}
	ctx := &entity{name: "ctx", Object: types.NewVar(token.NoPos, main, "ctx", cp.Scope().Lookup("Context").Type())}
	return (&Program{Importer: imp, Package: main, Prelude: NewPrelude(), ctx: ctx}).Emptied(), nil
}
