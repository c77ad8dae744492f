package check

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/constant"
	"go/format"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"slices"
	"strings"

	"dace.local/kernel/buildinfo"
	"dace.local/kernel/gocell/symbols"
	"dace.local/kernel/gocell/symbols/docs"
)

// DocOf returns the declaration of an object and its documentation. A type's
// declaration has its exported fields with their comments, its constants and
// its methods; a field's declaration, if a setting's, has its default.
func (p *Program) DocOf(o types.Object) (declaration, doc string) {
	q := func(pk *types.Package) string {
		if pk == p.Package || IsNative(pk) {
			return ""
		}
		return pk.Name()
	}
	if _, ok := MustResults(o); ok {
		return "func must(results..., err error) (results...)", mustDoc
	}
	name := o.Name()
	declaration = types.ObjectString(o, q)
	switch x := o.(type) {
	case *types.PkgName:
		path := x.Imported().Path()
		return "package " + x.Imported().Name() + ` // import "` + path + `"`, packageDoc(x.Imported(), "")
	case *types.TypeName:
		if x.Pkg() != nil {
			declaration = p.typeDeclaration(x, q)
		}
	case *types.Func:
		if r := x.Signature().Recv(); r != nil {
			name = TypeOwner(r.Type()) + "." + name
		}
	case *types.Var:
		if x.IsField() {
			owner := p.FieldOwner(x)
			name = owner + "." + name
			declaration = "field " + x.Name() + " " + types.TypeString(x.Type(), q)
			if text := p.defaultOf(x, owner, q); text != "" {
				declaration += " // default " + text
			}
			if doc := docOf(o.Pkg(), p.Package, name); doc != "" || owner == "" || o.Pkg() == p.Package {
				return declaration, doc
			}
			// Without a comment of its own, the type's may explain the field.
			owner, _, _ = strings.Cut(owner, ".")
			return declaration, docOf(o.Pkg(), p.Package, owner)
		}
	case *types.Builtin:
		return cmp.Or(symbols.Doc("builtin", name+" signature"), "func "+name), symbols.Doc("builtin", name)
	case *types.Const:
		declaration = "const " + name + " " + types.TypeString(x.Type(), q) + " = " + x.Val().String()
	}
	return declaration, docOf(o.Pkg(), p.Package, name)
}

// docOf returns the documentation of a name of a package. The session's own
// package has none.
func docOf(of, session *types.Package, name string) string {
	switch of {
	case nil:
		return symbols.Doc("builtin", name)
	case session:
		return ""
	}
	return packageDoc(of, name)
}

// SourceOf returns the source of a function, method or type of a package, or ""
// if the kernel has none. It has the source of this module's packages and of
// fetched ones.
func SourceOf(o types.Object) string {
	name := o.Name()
	switch x := o.(type) {
	case *types.TypeName:
	case *types.Func:
		if r := x.Signature().Recv(); r != nil {
			name = TypeOwner(r.Type()) + "." + name
		}
	default:
		return ""
	}
	if o.Pkg() == nil {
		return ""
	}
	if sp := FetchedOf(o.Pkg()); sp != nil {
		return docs.Source(sp.commented())[name]
	}
	return symbols.Source(o.Pkg().Path(), name)
}

// commented parses a fetched package's files with their comments.
func (sp *FetchedPackage) commented() (*token.FileSet, []*ast.File) {
	fset := token.NewFileSet()
	var files []*ast.File
	for _, sf := range sp.Parsed {
		if f, err := parser.ParseFile(fset, sf.name, sf.text, parser.ParseComments); err == nil {
			files = append(files, f)
		}
	}
	return fset, files
}

// TypeOwner returns the name of the type that a method belongs to.
func TypeOwner(t types.Type) string {
	t = types.Unalias(t)
	if p, ok := t.(*types.Pointer); ok {
		t = types.Unalias(p.Elem())
	}
	if n, ok := t.(*types.Named); ok {
		return n.Obj().Name()
	}
	return ""
}

// FieldOwner returns the name of the package's type that declares a field,
// followed by the fields around it if it is a field of an unnamed struct:
// "Plot.Title" of package plot for Text in Plot{Title struct{Text string}}. It
// returns "" for fields of other types.
func (p *Program) FieldOwner(f *types.Var) string {
	f = f.Origin()
	return p.indexOf(f.Pkg()).owners[f]
}

// A packageIndex finds the names that a package has for its types.
type packageIndex struct {
	owners    map[*types.Var]string              // by field, see FieldOwner
	constants map[*types.TypeName][]*types.Const // exported, by value
	makers    map[*types.TypeName][]*types.Func  // exported functions whose first result is the type, or a pointer to it
}

// indexOf returns the index of a package. Those of imported packages are kept.
func (p *Program) indexOf(pkg *types.Package) *packageIndex {
	if pkg == nil {
		return &packageIndex{}
	}
	if pkg == p.Package {
		var objects []types.Object
		for _, name := range slices.Sorted(maps.Keys(p.Names)) {
			objects = append(objects, p.Names[name].Object)
		}
		return newIndex(objects, func(string) bool { return true })
	}
	m := p.Importer
	m.mu.Lock()
	index := m.indexes[pkg]
	m.mu.Unlock()
	if index != nil {
		return index
	}
	// A package that only another one has imported may know some objects yet.
	_, _ = m.Import(pkg.Path())
	var objects []types.Object
	for _, name := range pkg.Scope().Names() {
		objects = append(objects, pkg.Scope().Lookup(name))
	}
	index = newIndex(objects, func(field string) bool { return packageDoc(pkg, field) != "" })
	m.mu.Lock()
	defer m.mu.Unlock()
	m.indexes[pkg] = index
	return index
}

func newIndex(objects []types.Object, documented func(field string) bool) *packageIndex {
	index := &packageIndex{owners: map[*types.Var]string{}, constants: map[*types.TypeName][]*types.Const{}, makers: map[*types.TypeName][]*types.Func{}}
	for _, o := range objects {
		switch o := o.(type) {
		case *types.TypeName:
			if st, ok := o.Type().Underlying().(*types.Struct); ok && !o.IsAlias() {
				index.fields(st, o.Name(), documented)
			}
		case *types.Const:
			if n, ok := types.Unalias(o.Type()).(*types.Named); ok {
				index.constants[n.Obj()] = append(index.constants[n.Obj()], o)
			}
		case *types.Func:
			if o.Exported() && o.Signature().Results().Len() > 0 {
				t := types.Unalias(o.Signature().Results().At(0).Type())
				if ptr, ok := t.(*types.Pointer); ok {
					t = types.Unalias(ptr.Elem())
				}
				if n, ok := t.(*types.Named); ok {
					index.makers[n.Obj()] = append(index.makers[n.Obj()], o)
				}
			}
		}
	}
	for _, list := range index.constants {
		slices.SortStableFunc(list, func(a, b *types.Const) int {
			switch x, y := a.Val(), b.Val(); {
			case x.Kind() == constant.Bool:
				return 0
			case constant.Compare(x, token.LSS, y):
				return -1
			case constant.Compare(x, token.GTR, y):
				return 1
			}
			return 0
		})
	}
	return index
}

// fields notes the owner of a struct's fields. In "type A B" both types have
// the fields of B, whose comments are B's.
func (index *packageIndex) fields(st *types.Struct, owner string, documented func(field string) bool) {
	for f := range st.Fields() {
		if have, ok := index.owners[f]; !ok || !documented(have+"."+f.Name()) {
			index.owners[f] = owner
		}
		if inner, ok := f.Type().(*types.Struct); ok {
			index.fields(inner, owner+"."+f.Name(), documented)
		}
	}
}

// defaultOf returns the meaning of the zero value of a setting, "64", or "" if
// the field is no setting. If its comment does not say the meaning, the zero
// value stands for itself.
func (p *Program) defaultOf(f *types.Var, owner string, q types.Qualifier) string {
	if f.Pkg() == nil {
		return ""
	}
	if text := packageDoc(f.Pkg(), owner+"."+f.Name()+" default"); text != "" {
		return text
	}
	if !strings.HasSuffix(owner, "Settings") || !strings.HasPrefix(f.Pkg().Path(), buildinfo.Path("")) {
		return ""
	}
	return p.zeroText(f.Type(), q)
}

// zeroText returns the zero value of a type as Go: a constant's name if there
// is one of value 0.
func (p *Program) zeroText(t types.Type, q types.Qualifier) string {
	switch u := t.Underlying().(type) {
	case *types.Basic:
		for _, c := range p.ConstantsOf(t) {
			if v := constant.ToInt(c.Val()); v.Kind() == constant.Int && constant.Sign(v) == 0 {
				return c.Name()
			}
		}
		switch {
		case u.Info()&types.IsString != 0:
			return `""`
		case u.Info()&types.IsBoolean != 0:
			return "false"
		}
		return "0"
	case *types.Struct, *types.Array:
		return types.TypeString(t, q) + "{}"
	}
	return "nil"
}

// ConstantsOf returns the constants of a defined type that its package exports,
// by value.
func (p *Program) ConstantsOf(t types.Type) []*types.Const {
	n, ok := types.Unalias(t).(*types.Named)
	if !ok {
		return nil
	}
	list := slices.Clone(p.indexOf(n.Obj().Pkg()).constants[n.Obj()])
	return slices.DeleteFunc(list, func(c *types.Const) bool { return !c.Exported() && c.Pkg() != p.Package })
}

// MakersOf returns the functions of a type's package whose first result is the
// type or a pointer to it.
func (p *Program) MakersOf(n *types.Named) []*types.Func {
	return p.indexOf(n.Obj().Pkg()).makers[n.Obj()]
}

// typeDeclaration returns the declaration of a type with its exported fields
// and their comments, its constants, the functions that return it, and its
// methods.
func (p *Program) typeDeclaration(o *types.TypeName, q types.Qualifier) string {
	head := "type " + types.TypeString(o.Type(), q) + " "
	if o.IsAlias() {
		return strings.TrimSuffix(head, " ") + " = " + types.TypeString(types.Unalias(o.Type()), q)
	}
	own := o.Pkg() != nil && o.Pkg().Path() == "main" // cells may use its unexported names
	doc := func(name string) string {
		if own {
			return ""
		}
		return packageDoc(o.Pkg(), name)
	}
	var b strings.Builder
	switch u := o.Type().Underlying().(type) {
	case *types.Struct:
		b.WriteString("type T struct {\n")
		p.writeFields(&b, u, o.Name(), own, doc, q)
		b.WriteString("}")
	case *types.Interface:
		b.WriteString("type T interface {\n")
		for m := range u.Methods() {
			comment(&b, doc(o.Name()+"."+m.Name()))
			b.WriteString(m.Name() + strings.TrimPrefix(types.TypeString(m.Type(), q), "func") + "\n")
		}
		b.WriteString("}")
	default:
		b.WriteString("type T " + types.TypeString(u, q))
	}
	text := b.String()
	if formatted, err := format.Source([]byte(text)); err == nil {
		text = string(formatted)
	}
	text = head + strings.TrimPrefix(text, "type T ")
	b.Reset()
	b.WriteString(text)
	p.writeConstants(&b, o.Type(), doc, q)
	if n, ok := o.Type().(*types.Named); ok && !types.IsInterface(n) {
		for _, f := range p.MakersOf(n) {
			if f.Pkg() != p.Package {
				b.WriteString("\n" + types.ObjectString(f, q))
			}
		}
		for m := range n.Methods() {
			if m.Exported() || own {
				b.WriteString("\n" + types.ObjectString(m, q))
			}
		}
	}
	return b.String()
}

// writeFields writes the exported fields of a struct, each below its comment
// and followed by its default.
func (p *Program) writeFields(b *strings.Builder, st *types.Struct, owner string, own bool, doc func(string) string, q types.Qualifier) {
	hidden := false
	last := ""
	for f := range st.Fields() {
		if !f.Exported() && !own {
			hidden = true
			continue
		}
		// Fields that share a comment follow it.
		if text := doc(owner + "." + f.Name()); text != last {
			comment(b, text)
			last = text
		}
		if inner, ok := f.Type().(*types.Struct); ok && inner.NumFields() > 0 {
			b.WriteString(f.Name() + " struct {\n")
			p.writeFields(b, inner, owner+"."+f.Name(), own, doc, q)
			b.WriteString("}")
		} else if f.Embedded() {
			b.WriteString(types.TypeString(f.Type(), q))
		} else {
			b.WriteString(f.Name() + " " + types.TypeString(f.Type(), q))
		}
		if text := p.defaultOf(f, owner, q); text != "" {
			b.WriteString(" // default " + text)
		}
		b.WriteString("\n")
	}
	if hidden {
		b.WriteString("// unexported fields\n")
	}
}

// comment writes a text as a comment.
func comment(b *strings.Builder, text string) {
	for line := range strings.Lines(text) {
		b.WriteString("// " + strings.TrimSuffix(line, "\n") + "\n")
	}
}

// shownConstants is how many constants a type's page lists.
const shownConstants = 40

// writeConstants writes the constants of a type with the first sentences of
// their comments.
func (p *Program) writeConstants(to *strings.Builder, t types.Type, doc func(string) string, q types.Qualifier) {
	list := p.ConstantsOf(t)
	if len(list) == 0 {
		return
	}
	var b strings.Builder
	b.WriteString("const (")
	for i, c := range list {
		if i == shownConstants {
			fmt.Fprintf(&b, "\n\t// and %d more", len(list)-i)
			break
		}
		fmt.Fprintf(&b, "\n\t%s %s = %s", c.Name(), types.TypeString(t, q), c.Val())
		if text := firstSentence(doc(c.Name())); text != "" {
			b.WriteString(" // " + text)
		}
	}
	b.WriteString("\n)\n")
	text := b.String()
	if formatted, err := format.Source([]byte(text)); err == nil {
		text = string(formatted)
	}
	to.WriteString("\n\n" + text)
}

// firstSentence returns a text up to its first full stop, in one line.
func firstSentence(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if first, _, more := strings.Cut(text, ". "); more {
		return first + "."
	}
	return text
}
