// Package docs extracts the documentation of names from a package as go/doc
// presents it: comments, defaults of settings, source. It also explains Go's
// keywords.
package docs

import (
	"go/ast"
	"go/doc"
	"regexp"
	"slices"
	"strings"
)

// Of returns the documentation of the exported names of a package, by name: ""
// for the package itself, "Name", "Type.Method" or "Type.Field", and
// "Type.Field.Field" if a field is an unnamed struct. Under "Type.Field
// default" is the meaning of the zero value, if the comment says it.
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
			putFields(put, t.Name, list)
		}
	}
	return texts
}

// putFields calls put with the comments of fields, or of an interface's
// methods. A field without a comment gets the last comment that mentions it: "A
// and B say ...".
func putFields(put func(name, text string), owner string, list *ast.FieldList) {
	if list == nil {
		return
	}
	group := ""
	for _, f := range list.List {
		text := f.Doc.Text() + f.Comment.Text()
		if text != "" {
			group = text
		}
		for i, n := range f.Names {
			if !n.IsExported() {
				continue
			}
			own := text
			if own == "" && slices.Contains(words.FindAllString(group, -1), n.Name) {
				own = group
			}
			put(owner+"."+n.Name, own)
			put(owner+"."+n.Name+" default", Default(text, i, len(f.Names)))
			if inner, ok := f.Type.(*ast.StructType); ok {
				putFields(put, owner+"."+n.Name, inner.Fields)
			}
		}
	}
}

var (
	words = regexp.MustCompile(`\w+`)
	// A default ends where its sentence ends, or before text that explains it.
	defaults = regexp.MustCompile(`(?i)(?:^|[;.,:] |\()defaults? (.+?)(?:[;()]|\.(?:\s|$)|,\s|$)`)
	zero     = regexp.MustCompile(`(?i)\b(?:0|nil|zero value|its zero value|empty) means (.+?)(?:[;()]|\.(?:\s|$)|,\s|$)`)
)

// Default returns the meaning of a field's zero value from the field's comment,
// "800" from "the budget; default 800" or from "the budget; 0 means 800", or ""
// if the comment has none. The field is the i-th of n fields that share the
// comment, which may give one default for each: "defaults 1 and 0.0005".
func Default(comment string, i, n int) string {
	comment = strings.Join(strings.Fields(comment), " ")
	for _, re := range []*regexp.Regexp{defaults, zero} {
		m := re.FindStringSubmatch(comment)
		if m == nil {
			continue
		}
		if strings.HasPrefix(m[1], "is ") || strings.HasPrefix(m[1], "filled") {
			continue // a sentence about a default
		}
		m[1] = strings.NewReplacer("[", "", "]", "").Replace(m[1])
		each := strings.FieldsFunc(strings.ReplaceAll(m[1], " and ", "|"), func(r rune) bool { return r == '|' })
		if n > 1 && len(each) == n {
			return strings.TrimSpace(each[i])
		}
		return strings.TrimSpace(m[1])
	}
	return ""
}
