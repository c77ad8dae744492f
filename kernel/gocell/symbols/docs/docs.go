// Package docs takes the documentation of names out of go/doc's account of a
// package.
package docs

import (
	"go/ast"
	"go/doc"
	"strings"
)

// Of returns the documentation of what a package exports, by name: "" for the
// package itself, "Name", "Type.Method" or "Type.Field".
func Of(d *doc.Package) map[string]string {
	texts := map[string]string{}
	put := func(name, text string) {
		if text = strings.TrimSpace(text); text != "" {
			texts[name] = text
		}
	}
	put("", d.Doc)
	values := func(vs []*doc.Value) {
		for _, v := range vs {
			for _, spec := range v.Decl.Specs {
				s, ok := spec.(*ast.ValueSpec)
				if !ok {
					continue
				}
				text := s.Doc.Text() + s.Comment.Text()
				if text == "" {
					text = v.Doc
				}
				for _, n := range s.Names {
					if n.IsExported() {
						put(n.Name, text)
					}
				}
			}
		}
	}
	values(d.Consts)
	values(d.Vars)
	for _, f := range d.Funcs {
		put(f.Name, f.Doc)
	}
	for _, t := range d.Types {
		put(t.Name, t.Doc)
		values(t.Consts)
		values(t.Vars)
		for _, f := range t.Funcs {
			put(f.Name, f.Doc)
		}
		for _, m := range t.Methods {
			put(t.Name+"."+m.Name, m.Doc)
		}
		for _, spec := range t.Decl.Specs {
			ts, ok := spec.(*ast.TypeSpec)
			if !ok || ts.Name.Name != t.Name {
				continue
			}
			var list *ast.FieldList
			switch u := ts.Type.(type) {
			case *ast.StructType:
				list = u.Fields
			case *ast.InterfaceType:
				list = u.Methods
			}
			if list == nil {
				continue
			}
			for _, f := range list.List {
				for _, n := range f.Names {
					if n.IsExported() {
						put(t.Name+"."+n.Name, f.Doc.Text()+f.Comment.Text())
					}
				}
			}
		}
	}
	return texts
}
