package check

import (
	"errors"
	"go/ast"
	"go/token"
	"slices"
)

// A session may compile a function by itself: it then replaces the function's
// unit by that of a compiled cell that holds the function alone. As soon as
// something that the function uses changes, it is interpreted again.

// Automatic returns a compiled cell that declares a function of earlier cells
// again. The error says why it cannot be compiled without being asked.
func (p *Program) Automatic(fset *token.FileSet, name string) (*Source, error) {
	for _, u := range p.Units {
		if u.Method != "" || !slices.Contains(u.Names, name) {
			continue
		}
		if u.native != nil {
			return nil, ErrCompiled
		}
		ds, err := u.Parse(fset)
		if err != nil || len(ds) != 1 {
			return nil, errors.New("its declaration cannot be read again")
		}
		f, ok := ds[0].(*ast.FuncDecl)
		switch {
		case !ok:
			return nil, errors.New("it is no function")
		case f.Type.TypeParams != nil:
			return nil, errors.New("it is generic")
		case f.Body == nil || name == "init" || name == "main":
			return nil, errors.New("it is no ordinary function")
		}
		return &Source{Number: u.Cell, text: u.Text, File: &ast.File{Name: ast.NewIdent("main")}, Body: &ast.BlockStmt{}, native: []Piece{u.Piece}, auto: true}, nil
	}
	return nil, errors.New("no cell declares it")
}

// Text returns the cell's text, as it was typed.
func (src *Source) Text() string { return src.text }

// ErrCompiled says that a function is compiled already.
var ErrCompiled = errors.New("it is compiled")

// Uses returns the names of the session that a function of earlier cells uses.
func (p *Program) Uses(name string) []string {
	var names []string
	for _, u := range p.Units {
		if u.Method == "" && slices.Contains(u.Names, name) {
			for n := range u.deps {
				names = append(names, n)
			}
		}
	}
	slices.Sort(names)
	return names
}

// IsAutomatic reports whether a name denotes a function that the session has
// compiled by itself.
func (p *Program) IsAutomatic(name string) bool {
	return slices.ContainsFunc(p.Units, func(u *Unit) bool { return u.auto && slices.Contains(u.Names, name) })
}

// Interpreted returns a cell that declares anew, to be interpreted, a function
// that the session has compiled by itself.
func (p *Program) Interpreted(fset *token.FileSet, name string) (*Source, error) {
	i := slices.IndexFunc(p.Units, func(u *Unit) bool { return u.auto && slices.Contains(u.Names, name) })
	if i < 0 {
		return nil, errors.New(name + " is interpreted already")
	}
	piece := p.Units[i].native[0]
	ds, err := piece.Parse(fset)
	if err != nil {
		return nil, err
	}
	return &Source{Number: piece.Cell, text: piece.Text, File: &ast.File{Name: ast.NewIdent("main"), Decls: ds}, Body: &ast.BlockStmt{}, decls: []Piece{piece}}, nil
}

// interpret makes a function that the session has compiled by itself an
// interpreted one again, and returns errAgain.
func (u *update) interpret(w *Unit) error {
	ds, err := w.native[0].Parse(u.fset)
	if err != nil || len(ds) != 1 {
		return errors.New("internal: cannot parse " + w.String() + " again")
	}
	v := UnitsOf(w.native[0], ds[0])
	v.deps = w.deps
	u.kept[slices.Index(u.kept, w)] = v
	return errAgain
}
