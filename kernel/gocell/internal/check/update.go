package check

import (
	"errors"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"maps"
	"slices"
	"strings"
)

// An update holds the changes that a cell makes to the session, as far as they are
// known: an attempt that finds more is retried.
type update struct {
	p         *Program // the session after the cell
	fset      *token.FileSet
	src       *Source
	own       []Declared // the cell's declarations
	ownNative *Unit      // the cell itself, if it is compiled
	kept      []*Unit    // units of earlier cells that the cell does not redeclare
	gone      []*Unit    // units that no longer compiled before the cell
	changed   map[string]bool
	dropped   map[*Unit]string        // why a kept unit no longer compiles
	defs      map[string]types.Object // variables that the cell defines and compiled cells use
	instead   map[string]types.Object // variables that it defines in place of constants, types and functions with dependents
}

// errAgain says that an attempt has learned more: retry with that.
var errAgain = errors.New("check again")

// run attempts until nothing more is learned: of each unit and variable some things at most.
func (u *update) run() (*Checked, error) {
	for range 100 + 10*len(u.kept) {
		c, err := u.attempt()
		if err != errAgain {
			return c, err
		}
	}
	return nil, errors.New("what the cell declares and what uses it come to no agreement: take other names, and please report the cells")
}

// attempt checks the cell with the dependents of what it changes. It returns
// errAgain where a dependent no longer compiles and is dropped, or the type of a
// variable turns out to have changed.
func (u *update) attempt() (*Checked, error) {
	p := u.p
	var live []*Unit
	for _, k := range u.kept {
		if _, gone := u.dropped[k]; !gone {
			live = append(live, k)
		}
	}
	back := u.back(live)
	live = append(live, back...)
	all, natives, replaced, err := u.collect(live)
	if err != nil {
		return nil, err
	}
	c := &Checked{Source: u.src, Next: p, Decls: all, Redeclared: map[string]bool{}, Moved: map[string]*types.Var{}}
	for _, d := range all {
		if d.Unit.Method == "" {
			for _, n := range d.Unit.Names {
				c.Redeclared[n] = true
			}
		}
	}
	k := newChecking(p, u.fset, all, u.src.Body)
	k.guessMusts()
	c.Info, k.keys, k.moved, k.hidden = k.info, true, c.Moved, c.Redeclared
	for _, v := range u.src.Recalled {
		k.objects[v.Name()] = v
	}
	if len(natives) > 0 {
		if err := u.compiled(c, k, natives, replaced, live); err != nil {
			return nil, err
		}
	}
	if len(u.dropped) > 0 {
		k.hidden = u.hidden(c)
	}
	if err := u.passes(c, k, live); err != nil {
		return nil, err
	}
	if len(k.errs) > 0 {
		return nil, u.failed(k)
	}
	p.commit(c, k.objects, live, u.dropped)
	u.settle(c, back)
	return c, nil
}

// back returns the units that no longer compiled and are tried again, since the
// cell changes what they use.
func (u *update) back(live []*Unit) []*Unit {
	isGone := func(k *Unit) bool {
		_, again := u.dropped[k]
		return !again && slices.Contains(u.gone, k)
	}
	return slices.DeleteFunc(dependents(u.andGone(live), u.changed), func(k *Unit) bool { return !isGone(k) })
}

// andGone returns the units in force and those that no longer compile.
func (u *update) andGone(live []*Unit) []*Unit {
	all := slices.Clone(live)
	for _, k := range u.gone {
		if !slices.Contains(all, k) {
			all = append(all, k)
		}
	}
	return all
}

// settle notes which units the session lacks after the cell, and tells of those
// that are back.
func (u *update) settle(c *Checked, back []*Unit) {
	u.p.gone = nil
	for _, k := range slices.Concat(u.gone, u.kept) {
		_, dropped := u.dropped[k]
		if dropped || slices.Contains(u.gone, k) && !slices.Contains(back, k) {
			u.p.gone = append(u.p.gone, k)
		}
	}
	for _, k := range back {
		c.Notes = append(c.Notes, fmt.Sprintf("%s, declared in cell %d, compiles again", k, k.Cell))
	}
}

// hidden returns the session's names that the cell does not see: those declared
// with it, and those of units that are dropped.
func (u *update) hidden(c *Checked) map[string]bool {
	names := map[string]bool{}
	for n := range c.Redeclared {
		names[n] = true
	}
	for d := range u.dropped {
		if d.Method == "" {
			for _, n := range d.Names {
				names[n] = true
			}
		}
	}
	return names
}

// collect returns the declarations to check, the cell's own and their
// dependents', and the units to compile. replaced maps kept units to copies of
// theirs that are compiled again.
func (u *update) collect(live []*Unit) (all []Declared, natives []*Unit, replaced map[*Unit]*Unit, err error) {
	again := dependents(live, u.changed)
	all = slices.Clone(u.own)
	replaced = map[*Unit]*Unit{}
	if u.ownNative != nil {
		natives = append(natives, u.ownNative)
	}
	lifts, err := u.p.lifts(u.fset, u.own, live)
	if err != nil {
		return nil, nil, nil, err
	}
	isPart := map[*Unit]bool{}
	for _, g := range lifts {
		fresh := false
		for _, part := range g.parts {
			isPart[part] = true
			fresh = fresh || slices.Contains(again, part) || slices.ContainsFunc(u.own, func(d Declared) bool { return d.Unit == part })
		}
		if fresh {
			natives = append(natives, g)
		}
	}
	all = slices.DeleteFunc(all, func(d Declared) bool { return isPart[d.Unit] })
	for _, w := range again {
		if isPart[w] {
			continue
		}
		if w.native != nil {
			v := *w
			replaced[w] = &v
			natives = append(natives, &v)
			continue
		}
		ds, err := w.Parse(u.fset)
		if err != nil || len(ds) != 1 {
			return nil, nil, nil, fmt.Errorf("internal: cannot parse %s again: %v", w, err)
		}
		all = append(all, Declared{Decl: ds[0], Unit: w})
	}
	return all, natives, replaced, nil
}

// compiled checks the compiled cells among what is declared. live takes the units
// that are compiled again in place of the old ones.
func (u *update) compiled(c *Checked, k *checking, natives []*Unit, replaced map[*Unit]*Unit, live []*Unit) (err error) {
	p := u.p
	for n, o := range u.defs {
		k.objects[n] = o
	}
	var bad *Unit
	c.Natives, bad, err = p.checkNatives(u.fset, natives, u.ownNative, u.own, live, k.objects, func(n *Native) {
		// What is checked after it sees the variables of its types.
		for _, name := range n.Unit.Names {
			c.Redeclared[name] = true
		}
		p.moveVars(c, k.objects)
		for n, v := range c.Moved {
			k.objects[n] = v
		}
	})
	var need *unlifted
	switch {
	case errors.As(err, &need):
		if p.lifted == nil {
			p.lifted = map[string]bool{}
		}
		for _, n := range need.names {
			p.lifted[n], u.changed[n] = true, true
		}
		return errAgain
	case err != nil && bad != nil && bad.parts != nil:
		// These types stay interpreted: compiled cells cannot use them.
		if p.cannotLift == nil {
			p.cannotLift = map[string]string{}
		}
		for _, n := range bad.Names {
			p.cannotLift[n] = reason(err)
			delete(p.lifted, n)
			u.changed[n] = true
		}
		return errAgain
	case err != nil:
		for old, v := range replaced {
			if v == bad {
				u.drop(old, fmt.Sprintf("%s, compiled in cell %d, no longer compiles: %s", old, old.Cell, reason(err)))
				return errAgain
			}
		}
		return p.explainNative(err, u.dropped)
	}
	for i, old := range live {
		if v := replaced[old]; v != nil {
			live[i] = v
		}
	}
	return nil
}

// passes checks the interpreted part of the cell, up to the first pass with
// errors.
func (u *update) passes(c *Checked, k *checking, live []*Unit) error {
	fileVars, leading := leadingVars(u.src.Body)
	u.heads(c, k, leading > 0 && leading == len(u.src.Body.List))
	if len(k.errs) > 0 {
		return nil
	}
	if err := u.move(c, k, live); err != nil {
		return err
	}
	if leading > 0 {
		if u.initOrder(k, fileVars, leading); len(k.errs) > 0 {
			return nil
		}
	}
	k.statements()
	u.shownConstant(k)
	k.errs = slices.DeleteFunc(k.errs, func(e types.Error) bool { return u.harmless(e, k.top()) })
	if len(k.errs) > 0 {
		return nil
	}
	c.Vars = k.variables()
	for _, v := range u.src.Recalled {
		if e := u.p.Names[v.Name()]; e == nil || e.Object != v {
			c.Vars = append(c.Vars, v)
		}
	}
	if err := u.define(c, k, live); err != nil {
		return err
	}
	bodies := map[string][]ast.Decl{} // by the names that they use in Go's sense; those of the same are one pass
	for _, d := range k.all {
		if f, ok := d.Decl.(*ast.FuncDecl); ok && f.Body != nil {
			names := strings.Join(k.predeclaredIn(d), " ")
			bodies[names] = append(bodies[names], bodyFunc(f))
		}
	}
	for _, names := range slices.Sorted(maps.Keys(bodies)) {
		k.bodies(bodies[names], strings.Fields(names)...)
	}
	k.errs = slices.DeleteFunc(k.errs, func(e types.Error) bool { return u.harmless(e, k.top()) })
	return nil
}

// heads checks the heads of the declarations, with the variables of the cell whose
// type is written: all of them where the cell is like a file, else those that
// constants and types mention, as in const n = len(table).
func (u *update) heads(c *Checked, k *checking, likeFile bool) {
	mentioned := map[string]bool{}
	for _, d := range k.all {
		if g, ok := d.Decl.(*ast.GenDecl); ok {
			mention(mentioned, g)
		}
	}
	var more []ast.Decl
	var anew []string
	for _, v := range writtenVars(u.src.Body) {
		// time in var time time.Time is the package.
		if likeFile && !mentionsName(v.typ, v.name.Name) || mentioned[v.name.Name] {
			anew = append(anew, v.name.Name)
			more = append(more, &ast.GenDecl{TokPos: v.name.Pos(), Tok: token.VAR, Specs: []ast.Spec{
				&ast.ValueSpec{Names: []*ast.Ident{v.name}, Type: v.typ}}})
		}
	}
	for n, v := range u.instead {
		if k.objects[n] == nil {
			k.objects[n] = v
			defer delete(k.objects, n) // the statements can have the old one on the right side
		}
	}
	k.heads(more, k.all, c.Redeclared, append(anew, k.predeclaredInHeads()...)...)
	k.errs = slices.DeleteFunc(k.errs, func(e types.Error) bool { return u.harmless(e, nil) })
}

// harmless reports whether cells ignore an error of the checker; top is the scope of
// the cell's statements once they are checked.
func (u *update) harmless(e types.Error, top *types.Scope) bool {
	switch kind, name := kindOfError(e.Msg); kind {
	case unusedImport, failedImport, missingBody:
		return true
	case unusedVariable:
		// Variables of the cell itself may be meant for a later cell.
		return top != nil && top.Lookup(name) != nil && top.Lookup(name).Pos() == e.Pos
	case unusedValue:
		x, ok := u.src.Last.(*ast.ExprStmt)
		return ok && x.Pos() <= e.Pos && e.Pos < x.End()
	}
	return false
}

// move gives variables that are made of a type which is declared again in the
// same shape the new type from now on.
func (u *update) move(c *Checked, k *checking, live []*Unit) error {
	if !u.p.moveVars(c, k.objects) {
		return nil
	}
	for n, v := range c.Moved {
		if k.objects[n] != nil {
			k.objects[n] = v
		}
	}
	more := false
	for n := range c.Moved {
		if !u.changed[n] && len(dependents(u.andGone(live), map[string]bool{n: true})) > 0 {
			u.changed[n], more = true, true
		}
	}
	if more {
		return errAgain
	}
	return nil
}

// define gives the session the cell's variables. If the type of one has changed, the
// declarations that use it are checked again.
func (u *update) define(c *Checked, k *checking, live []*Unit) error {
	again := false
	for _, v := range c.Vars {
		n := v.Name()
		if e := u.p.Names[n]; e != nil {
			old, ok := e.Object.(*types.Var)
			if !ok && u.instead[n] == nil && len(dependents(u.andGone(live), map[string]bool{n: true})) > 0 {
				u.instead[n] = v
				return errAgain
			}
			if ok && !u.changed[n] && !types.Identical(old.Type(), v.Type()) &&
				len(dependents(u.andGone(live), map[string]bool{n: true})) > 0 {
				u.changed[n] = true
				return errAgain
			}
		}
		k.objects[n] = v
		if old := u.defs[n]; len(c.Natives) > 0 && (old == nil || !types.Identical(old.Type(), v.Type())) &&
			slices.ContainsFunc(c.Natives, func(m *Native) bool { return m.Unit.deps[n] }) {
			if old != nil && types.TypeString(old.Type(), nil) == types.TypeString(v.Type(), nil) {
				return errorAt(u.fset.Position(v.Pos()), "%s has a type of the compiled cell that uses it: declare it there, or take another name", n)
			}
			u.defs[n] = v
			again = true
		}
	}
	if again {
		return errAgain
	}
	return nil
}

// drop drops a unit that no longer compiles; those that use it are checked again.
func (u *update) drop(k *Unit, why string) {
	u.dropped[k] = why
	for _, n := range k.Names {
		u.changed[n] = true
	}
}

// failed returns the error of a check: errAgain where an earlier cell's
// declaration no longer compiles, which is dropped.
func (u *update) failed(k *checking) error {
	for _, e := range k.errs {
		for _, d := range k.all {
			if !d.Own && d.Decl.Pos() <= e.Pos && e.Pos < d.Decl.End() {
				u.drop(d.Unit, fmt.Sprintf("%s, declared in cell %d, no longer compiles: %s (line %d)", d.Unit, d.Unit.Cell, e.Msg, u.fset.Position(e.Pos).Line))
				return errAgain
			}
		}
	}
	return u.p.explain(k, u.dropped)
}
