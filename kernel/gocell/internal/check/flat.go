package check

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"maps"
	"slices"
	"strconv"
	"strings"

	"dace.local/kernel/gocell/internal/cell"
)

// A function of a fetched package that runs long is compiled by itself, as those of
// cells are. It becomes a compiled cell of its own with copies of the functions and
// constants of such packages that it uses, under names that say which package they are
// of; the packages' variables are shared with the interpreted code. A build of the
// package itself would have variables, types and init functions of its own.

// Flat returns a function of a fetched package as a compiled cell, which Unit.Names[0]
// names. The error says why it cannot be one.
func (p *Program) Flat(fset *token.FileSet, f *types.Func) (*Native, error) {
	k := &flattener{fset: fset, names: map[types.Object]string{}, imports: map[string]string{}, globals: map[string]string{},
		pkg: types.NewPackage("main", "main"), objects: map[string]types.Object{}}
	k.name(f)
	for len(k.queue) > 0 {
		o := k.queue[0]
		k.queue = k.queue[1:]
		if err := k.add(o); err != nil {
			return nil, err
		}
	}
	q := &Program{Importer: p.Importer, Package: k.pkg, Names: map[string]*entity{}, Imports: map[string]string{}, broken: map[string]string{}, Prelude: p.Prelude}
	u := &Unit{Piece: k.pieces[0], Names: []string{k.names[f]}}
	for _, name := range slices.Sorted(maps.Keys(k.imports)) {
		u.native = append(u.native, Piece{File: u.File, Text: "import " + name + " " + strconv.Quote(k.imports[name]), Line: 1, Column: 1})
	}
	u.native = append(u.native, k.pieces...)
	for o, name := range k.names {
		if _, isVar := o.(*types.Var); !isVar && o != f {
			u.ofC = append(u.ofC, name)
		}
	}
	n, missing, err := q.checkNative(fset, u, nil, nil, k.objects, map[string]*Unit{})
	if err == nil && missing != nil {
		err = errors.New("internal: it waits for " + missing.String())
	}
	if err != nil {
		return nil, err
	}
	n.Globals = k.globals
	return n, nil
}

// FuncsOf returns the functions of fetched packages that one uses, by its declaration.
func FuncsOf(f *types.Func) (list []*types.Func) {
	sp := FetchedOf(f.Pkg())
	if sp == nil || sp.ByObject[f] == nil {
		return nil
	}
	for _, o := range sp.ByObject[f].Needs {
		if g, ok := o.(*types.Func); ok && g != f {
			list = append(list, g)
		}
	}
	return list
}

// A flattener collects what a function of a fetched package uses.
type flattener struct {
	fset    *token.FileSet
	pkg     *types.Package
	names   map[types.Object]string // in the compiled cell
	queue   []types.Object
	pieces  []Piece
	done    []*FetchedDecl
	imports map[string]string // name -> import path
	objects map[string]types.Object
	globals map[string]string // variable -> its generated name
}

// name returns the name of a package-level object in the compiled cell. It is the same
// in each session, so that a function is built once.
func (k *flattener) name(o types.Object) string {
	if k.names[o] == "" {
		sum := sha256.Sum256([]byte(o.Pkg().Path()))
		k.names[o] = cell.Mark + "p" + hex.EncodeToString(sum[:6]) + "_" + o.Name()
		cell.Show(k.names[o], o.Pkg().Name()+"."+o.Name())
		k.queue = append(k.queue, o)
	}
	return k.names[o]
}

// add adds what declares an object.
func (k *flattener) add(o types.Object) error {
	sp := FetchedOf(o.Pkg())
	d := sp.ByObject[o]
	if d == nil {
		return fmt.Errorf("internal: %s.%s has no declaration", o.Pkg().Name(), o.Name())
	}
	if v, ok := o.(*types.Var); ok {
		if t := fetchedType(v.Type()); t != nil {
			return usesType(t)
		}
		name := k.name(v)
		k.globals[name], _ = GeneratedName(v)
		k.objects[name] = types.NewVar(token.NoPos, k.pkg, name, v.Type())
		return nil
	}
	if slices.Contains(k.done, d) { // a constant of a group
		return nil
	}
	k.done = append(k.done, d)
	n := d.Nodes[0]
	if f, ok := n.(*ast.FuncDecl); ok && HasParams(f) {
		return errors.New(f.Name.Name + " is generic")
	}
	sf := sp.FileAt(n.Pos())
	if sf.SharesLoopVars() {
		return errors.New("its file is for Go before 1.22, whose loops share their variables")
	}
	text, err := k.rewritten(sp, sf, n)
	if err != nil {
		return err
	}
	line, column := cell.LineCol(sf.text, k.fset.Position(n.Pos()).Offset)
	k.pieces = append(k.pieces, Piece{File: sf, Text: text, Line: line, Column: column})
	return nil
}

func usesType(t *types.Named) error {
	return fmt.Errorf("it uses %s, a type of a package that is not compiled into the kernel", types.TypeString(t, ShortName))
}

// fetchedType returns a type of a fetched package in t, or nil.
func fetchedType(t types.Type) (found *types.Named) {
	WalkType(t, func(t types.Type) {
		if n, ok := t.(*types.Named); ok && FetchedOf(n.Obj().Pkg()) != nil {
			found = n
		}
	}, map[types.Type]bool{})
	return found
}

// rewritten returns the text of a declaration with the names of the compiled cell.
func (k *flattener) rewritten(sp *FetchedPackage, sf *FetchedFile, n ast.Node) (text string, err error) {
	base := k.fset.File(sf.Syntax.FileStart)
	type edit struct {
		from, to int
		text     string
	}
	var edits []edit
	replace := func(x ast.Node, text string) {
		edits = append(edits, edit{base.Offset(x.Pos()), base.Offset(x.End()), text})
	}
	ofPackage := func(o types.Object) bool {
		return o != nil && o.Name() != "_" && o.Pkg() != nil && o.Parent() == o.Pkg().Scope()
	}
	ast.Inspect(n, func(n ast.Node) bool {
		if x, ok := n.(ast.Expr); ok && err == nil {
			if t := sp.Info.TypeOf(x); t != nil {
				if named := fetchedType(t); named != nil {
					err = usesType(named)
				}
			}
		}
		switch x := n.(type) {
		case *ast.SelectorExpr:
			id, ok := x.X.(*ast.Ident)
			if _, isPackage := sp.Info.Uses[id].(*types.PkgName); !ok || !isPackage {
				return true
			}
			if o := sp.Info.Uses[x.Sel]; FetchedOf(o.Pkg()) != nil {
				replace(x, k.name(o))
			} else {
				name := cell.Alias(o.Pkg().Path())
				k.imports[name] = o.Pkg().Path()
				replace(id, name)
			}
			return false
		case *ast.Ident:
			o := sp.Info.Uses[x]
			if o == nil {
				o = sp.Info.Defs[x]
			}
			switch {
			case !ofPackage(o):
			case FetchedOf(o.Pkg()) != nil:
				replace(x, k.name(o))
			default:
				err = errors.New("it uses what a dot import declares")
			}
		}
		return err == nil
	})
	if err != nil {
		return "", err
	}
	slices.SortFunc(edits, func(a, b edit) int { return a.from - b.from })
	var b strings.Builder
	at := base.Offset(n.Pos())
	for _, e := range edits {
		b.WriteString(sf.text[at:e.from] + e.text)
		at = e.to
	}
	b.WriteString(sf.text[at:base.Offset(n.End())])
	return b.String(), nil
}
