package docs

import (
	"bytes"
	"go/ast"
	"go/printer"
	"go/token"
)

// Source returns the source of the exported functions, types and methods in
// files, by name: "Name" or "Type.Method". The files must have been parsed with
// comments.
func Source(fset *token.FileSet, files []*ast.File) map[string]string {
	texts := map[string]string{}
	for _, f := range files {
		put := func(name string, decl ast.Decl) {
			var b bytes.Buffer
			node := &printer.CommentedNode{Node: decl, Comments: f.Comments}
			gofmt := printer.Config{Mode: printer.UseSpaces | printer.TabIndent, Tabwidth: 8}
			if gofmt.Fprint(&b, fset, node) == nil {
				texts[name] = b.String()
			}
		}
		for _, d := range f.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				owner := receiver(d)
				if d.Name.IsExported() && d.Body != nil && (d.Recv == nil || ast.IsExported(owner)) {
					if owner != "" {
						owner += "."
					}
					put(owner+d.Name.Name, d)
				}
			case *ast.GenDecl:
				for _, s := range d.Specs {
					if s, ok := s.(*ast.TypeSpec); ok && s.Name.IsExported() {
						put(s.Name.Name, d)
					}
				}
			}
		}
	}
	return texts
}

// receiver returns the name of a method's receiver type, or "" for a function.
func receiver(d *ast.FuncDecl) string {
	if d.Recv == nil || len(d.Recv.List) == 0 {
		return ""
	}
	t := d.Recv.List[0].Type
	for {
		switch x := t.(type) {
		case *ast.StarExpr:
			t = x.X
		case *ast.IndexExpr:
			t = x.X
		case *ast.Ident:
			return x.Name
		default:
			return ""
		}
	}
}
