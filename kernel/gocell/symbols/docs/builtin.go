package docs

import (
	"bytes"
	"cmp"
	"go/ast"
	"go/format"
	"go/token"
	"strings"
)

// Builtin returns the documentation of Go's predeclared identifiers from the
// files of package builtin, by name. Under "Name signature" is the declaration
// of a function, with the type parameters that package builtin calls Type and
// so on.
func Builtin(fset *token.FileSet, files []*ast.File) map[string]string {
	texts := map[string]string{}
	for _, f := range files {
		for _, d := range f.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				texts[d.Name.Name] = strings.TrimSpace(d.Doc.Text())
				head := *d
				head.Doc = nil
				var b bytes.Buffer
				if format.Node(&b, fset, &head) == nil {
					texts[d.Name.Name+" signature"] = b.String()
				}
			case *ast.GenDecl:
				for _, s := range d.Specs {
					switch s := s.(type) {
					case *ast.TypeSpec:
						texts[s.Name.Name] = strings.TrimSpace(cmp.Or(s.Doc.Text(), d.Doc.Text()))
					case *ast.ValueSpec:
						for _, n := range s.Names {
							texts[n.Name] = strings.TrimSpace(cmp.Or(s.Doc.Text(), d.Doc.Text()))
						}
					}
				}
			}
		}
	}
	return texts
}
