package check

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
)

// Instance returns the declaration of a generic function of the standard
// library for a list of type arguments, or of a method of a generic type, as an
// ordinary function that has been checked: a method has its receiver as first
// parameter. It reports whether the prelude has the text.
func (p *Program) Instance(fset *token.FileSet, o types.Object, method string, args []types.Type) (*ast.FuncDecl, *types.Info, bool) {
	if PathOf(o.Pkg()) == "main" || FetchedOf(o.Pkg()) != nil {
		return nil, nil, false
	}
	src, ok := p.GenericSource(o)
	if !ok {
		return nil, nil, false
	}
	pc := src.Decl
	if method != "" {
		i := slices.IndexFunc(src.Methods, func(m Piece) bool {
			ds, err := m.Parse(token.NewFileSet())
			return err == nil && ds[0].(*ast.FuncDecl).Name.Name == method
		})
		if i < 0 {
			return nil, nil, false
		}
		pc = src.Methods[i]
	}
	for hide := false; ; hide = true {
		ds, err := pc.Parse(fset)
		if err != nil || len(ds) != 1 {
			return nil, nil, false
		}
		f := ds[0].(*ast.FuncDecl)
		params := FieldNames(f.Type.TypeParams)
		f.Doc, f.Type.TypeParams = nil, nil
		if f.Recv != nil {
			params = ReceiverParams(f)
			f.Type.Params.List = append(f.Recv.List[:1:1], f.Type.Params.List...)
			f.Recv = nil
		}
		f.Name = &ast.Ident{Name: fmt.Sprintf("instance_%s", f.Name.Name), NamePos: f.Name.Pos()}
		if hide {
			HideConstants(f, params)
		}
		info := NewInfo()
		if p.Recheck(fset, info, f, params, args, src.Lib, nil) || hide {
			_, ok := info.Defs[f.Name].(*types.Func)
			return f, info, ok
		}
	}
}

// MethodsOf returns the names of the methods of a generic type of the standard
// library that the prelude has the text of.
func (p *Program) MethodsOf(o types.Object) []string {
	if PathOf(o.Pkg()) == "main" || IsNative(o.Pkg()) || FetchedOf(o.Pkg()) != nil {
		return nil
	}
	src, _ := p.GenericSource(o)
	var names []string
	for _, m := range src.Methods {
		if ds, err := m.Parse(token.NewFileSet()); err == nil {
			names = append(names, ds[0].(*ast.FuncDecl).Name.Name)
		}
	}
	return names
}
