package check

import (
	"go/ast"
	"go/token"
	"go/types"
	"go/version"
	"slices"
	"strings"
)

// A FetchedDecl is a declaration of a fetched package, the unit of linking.
type FetchedDecl struct {
	Owner   *FetchedPackage
	Nodes   []ast.Node     // *ast.FuncDecl, *ast.GenDecl of consts, *ast.TypeSpec
	Objects []types.Object // that it declares
	Needs   []types.Object // that it mentions
	// Of variables:
	Order int // in which it is initialized
	Init  *types.Initializer
	Embed string // contents of a file
	File  bool   // whether there is such a file
}

// Pos returns where a declaration stands.
func (d *FetchedDecl) Pos() token.Pos {
	if len(d.Nodes) > 0 {
		return d.Nodes[0].Pos()
	}
	return d.Objects[0].Pos()
}

// HasEffects reports whether the initializer of variables may have effects besides them.
func (d *FetchedDecl) HasEffects() bool { return d.Init != nil && hasEffects(d.Init.Rhs) }

// InitOrder returns what initializes a package, of which the given declarations are
// linked: those of its variables in the order in which they are initialized, and if
// whole says so those of its init functions after them.
func InitOrder(sp *FetchedPackage, decls []*FetchedDecl, whole bool) (list []*FetchedDecl) {
	for _, d := range decls {
		if d.Owner == sp && (d.Init != nil || d.File) {
			list = append(list, d)
		}
	}
	if !whole {
		return list
	}
	var funcs []*FetchedDecl
	for _, d := range sp.Inits {
		if d.Init != nil {
			list = append(list, d)
		} else {
			funcs = append(funcs, d)
		}
	}
	slices.SortStableFunc(list, func(a, b *FetchedDecl) int { return a.Order - b.Order })
	return append(list, funcs...)
}

// SharesLoopVars reports whether the turns of a loop have one set of variables, as
// before Go 1.22.
func (f *FetchedFile) SharesLoopVars() bool {
	v := f.Syntax.GoVersion
	return v != "" && version.Compare(v, "go1.22") < 0
}

// readDecls collects the declarations of a checked package.
func (sp *FetchedPackage) readDecls() error {
	sp.ByObject = map[types.Object]*FetchedDecl{}
	var methods []*ast.FuncDecl
	for _, f := range sp.Parsed {
		for _, d := range f.Syntax.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				switch {
				case d.Recv != nil:
					methods = append(methods, d)
				case d.Name.Name == "_":
				case d.Name.Name == "init":
					sp.Inits = append(sp.Inits, sp.addDecl(&FetchedDecl{Nodes: []ast.Node{d}}, d))
				default:
					sp.addDecl(&FetchedDecl{Nodes: []ast.Node{d}, Objects: []types.Object{sp.Info.Defs[d.Name]}}, d)
				}
			case *ast.GenDecl:
				if err := sp.readGen(d); err != nil {
					return err
				}
			}
		}
	}
	for _, m := range methods {
		o := sp.pkg.Scope().Lookup(ReceiverName(m))
		if d := sp.ByObject[o]; d != nil {
			d.Nodes = append(d.Nodes, m)
			sp.addDecl(d, m)
		}
	}
	sp.readInits()
	return nil
}

// addDecl registers a declaration by its objects, and notes the package-level
// objects that its nodes mention.
func (sp *FetchedPackage) addDecl(d *FetchedDecl, nodes ...ast.Node) *FetchedDecl {
	d.Owner = sp
	for _, n := range nodes {
		ast.Inspect(n, func(n ast.Node) bool {
			id, ok := n.(*ast.Ident)
			if !ok {
				return true
			}
			o := sp.Info.Uses[id]
			if o != nil && FetchedOf(o.Pkg()) != nil && o.Parent() == o.Pkg().Scope() && !slices.Contains(d.Needs, o) {
				d.Needs = append(d.Needs, o)
			}
			return true
		})
	}
	for _, o := range d.Objects {
		sp.ByObject[o] = d
	}
	return d
}

// readGen collects a declaration of constants, types or variables.
func (sp *FetchedPackage) readGen(d *ast.GenDecl) error {
	info := sp.Info
	if d.Tok == token.CONST {
		sd := &FetchedDecl{Nodes: []ast.Node{d}}
		for _, s := range d.Specs {
			for _, n := range s.(*ast.ValueSpec).Names {
				if n.Name != "_" {
					sd.Objects = append(sd.Objects, info.Defs[n])
				}
			}
		}
		sp.addDecl(sd, d)
		return nil
	}
	for _, s := range d.Specs {
		switch s := s.(type) {
		case *ast.TypeSpec:
			if s.Name.Name != "_" {
				sp.addDecl(&FetchedDecl{Nodes: []ast.Node{s}, Objects: []types.Object{info.Defs[s.Name]}}, s)
			}
		case *ast.ValueSpec:
			content, ok, err := sp.embedded(d.Doc, s.Doc)
			if err != nil {
				return err
			}
			for _, n := range s.Names {
				if n.Name == "_" {
					continue
				}
				sd := &FetchedDecl{Objects: []types.Object{info.Defs[n]}, Order: -1, Embed: content, File: ok}
				if s.Type != nil {
					sp.addDecl(sd, s.Type)
				} else {
					sp.addDecl(sd)
				}
			}
		}
	}
	return nil
}

// readInits joins variables that are initialized together, and collects
// initializers of blank variables that have side effects.
func (sp *FetchedPackage) readInits() {
	for i, in := range sp.Info.InitOrder {
		var all *FetchedDecl
		for _, v := range in.Lhs {
			if d := sp.ByObject[v]; d != nil {
				if all == nil {
					all = d
					all.Init, all.Order = in, i
				} else {
					all.Objects = append(all.Objects, v)
					all.Needs = append(all.Needs, d.Needs...)
				}
				sp.ByObject[v] = all
			}
		}
		switch {
		case all != nil:
			sp.addDecl(all, in.Rhs)
		case hasEffects(in.Rhs): // var _ = f()
			sp.Inits = append(sp.Inits, sp.addDecl(&FetchedDecl{Init: in, Order: i}, in.Rhs))
		}
	}
}

// hasEffects reports whether evaluating an expression may have side effects.
func hasEffects(x ast.Expr) bool {
	found := false
	ast.Inspect(x, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			return false
		case *ast.CallExpr:
			_, paren := n.Fun.(*ast.ParenExpr) // (*T)(nil)
			found = found || !paren
		case *ast.UnaryExpr:
			found = found || n.Op == token.ARROW
		}
		return !found
	})
	return found
}

func ImportPath(is *ast.ImportSpec) string { return strings.Trim(is.Path.Value, "\"`") }

// InsteadCompile is the advice where a package cannot be interpreted.
const InsteadCompile = "a cell that begins with %%compile is built by the Go compiler and can import it"
