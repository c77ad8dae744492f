package gocell

import (
	"cmp"
	"go/ast"
	"go/doc/comment"
	"go/token"
	"go/types"
	"regexp"
	"slices"
	"strings"

	"dace.local/kernel/buildinfo"
	"dace.local/kernel/engine"
	"dace.local/kernel/gocell/internal/cell"
	"dace.local/kernel/gocell/internal/check"
	"dace.local/kernel/gocell/symbols"
	"dace.local/kernel/gocell/symbols/docs"
	"dace.local/kernel/internal/suggest"
)

// Inspect explains the name, keyword or magic at the cursor: its declaration
// and documentation. Where there is none, it explains the function whose
// arguments are around the cursor, the field that is set there, or the type of
// the composite literal. With detail it shows source instead of declarations.
func (e *editor) Inspect(code string, cursor, detail int) (engine.Bundle, bool) {
	cursor = min(max(cursor, 0), len(code))
	magics := e.magics()
	if m, ok := magics.At(code, cursor, e.isName); ok {
		return page(m.Usage, m.About()), true
	}
	code = magics.Blank(code, e.isName)
	list, _, _ := cell.Tokens(code)
	at, around := nameAt(list, cursor), false
	if at < 0 {
		at, around = nameAround(list, cursor), true
	}
	if at < 0 {
		return engine.Bundle{}, false
	}
	if list[at].Kind.IsKeyword() {
		return page("keyword "+list[at].Kind.String(), docs.Keyword(list[at].Kind.String())), true
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	o := e.objectAt(code, list[at])
	if o == nil {
		if list[at].Text == "dacelib" {
			return page("dacelib", symbols.Doc(buildinfo.Path("dacelib"), "")), true
		}
		return engine.Bundle{}, false
	}
	if _, isType := o.(*types.TypeName); around && at+1 < len(list) && list[at+1].Kind == token.LBRACE && !isType {
		return engine.Bundle{}, false // a block, as in "for range n {", is no literal
	}
	declaration, doc := e.prog.DocOf(o)
	doc = cmp.Or(doc, e.ownDoc(o))
	_, isFunc := o.(*types.Func)
	own := e.declaration(o)
	source := ""
	switch {
	case own != "" && !isFunc && (detail > 0 || doc == "" || o.Pkg() == e.prog.Package):
		declaration = own
	case detail > 0:
		if source = cmp.Or(own, check.SourceOf(o)); source == "" && isFunc {
			doc += "\n\n(The kernel has the source of dacelib, of display and widget, of fetched modules and of cells.)"
		}
	}
	return e.page(o.Pkg(), declaration, doc, source), true
}

// page returns an explanation of a name of a package, whose doc comment has links to
// other names.
func (e *editor) page(pkg *types.Package, declaration, doc, source string) engine.Bundle {
	if source != "" && doc != "" { // which the source repeats
		for strings.HasPrefix(source, "//") {
			_, source, _ = strings.Cut(source, "\n")
		}
	}
	return pageOf(declaration, doc, source, &comment.Parser{
		LookupPackage: func(name string) (path string, ok bool) {
			paths := e.prog.ByName(name)
			return strings.Join(paths[:min(len(paths), 1)], ""), len(paths) > 0
		},
		LookupSym: func(recv, name string) bool {
			if pkg == nil {
				return false
			}
			o := pkg.Scope().Lookup(cmp.Or(recv, name))
			if n := e.prog.Names[cmp.Or(recv, name)]; n != nil && pkg == e.prog.Package {
				o = n.Object
			}
			if o == nil || recv == "" {
				return o != nil
			}
			o, _, _ = types.LookupFieldOrMethod(o.Type(), true, pkg, name)
			return o != nil
		},
	})
}

// page returns an explanation of a name as text and as Markdown.
func page(declaration, doc string) engine.Bundle {
	return pageOf(declaration, doc, "", &comment.Parser{})
}

// longDeclaration is from how many lines a declaration stands below its documentation,
// which would else be below the end of a panel or a tooltip.
const longDeclaration = 8

// pageOf returns an explanation with the source below it. A paragraph of the text is one
// line, which clients wrap.
func pageOf(declaration, doc, source string, parser *comment.Parser) engine.Bundle {
	text, md := declaration, "```go\n"+declaration+"\n```"
	if doc != "" {
		parsed := parser.Parse(doc)
		printer := comment.Printer{HeadingLevel: 4, TextWidth: -1, HeadingID: func(*comment.Heading) string { return "" }, DocLinkURL: linkURL}
		asText, asMarkdown := strings.TrimSpace(string(printer.Text(parsed))), strings.TrimSpace(string(printer.Markdown(parsed)))
		if strings.Count(declaration, "\n") > longDeclaration {
			text, asText, md, asMarkdown = asText, text, asMarkdown, md
		}
		text += "\n\n" + asText
		md += "\n\n" + asMarkdown
	}
	if source != "" && source != declaration {
		text += "\n\n" + source
		md += "\n\n```go\n" + source + "\n```"
	}
	if strings.Contains(md, "$") { // or what stands between two of them would be a formula
		md = `<div class="tex2jax_ignore mathjax_ignore">` + "\n\n" + md + "\n\n</div>"
	}
	return engine.Bundle{Data: map[string]any{"text/plain": text, "text/markdown": md}}
}

// linkURL returns where a link of a doc comment leads; "" for names of the module and of
// cells, which no server has: they are text.
func linkURL(l *comment.DocLink) string {
	if l.ImportPath == "" || strings.HasPrefix(l.ImportPath, buildinfo.Path("")) {
		return ""
	}
	url := "https://pkg.go.dev/" + l.ImportPath
	if l.Name != "" {
		url += "#" + strings.TrimPrefix(l.Recv+"."+l.Name, ".")
	}
	return url
}

// nameAt returns the index of the identifier or keyword that the cursor
// touches, or -1. An identifier is preferred.
func nameAt(list []cell.Token, cursor int) int {
	at := -1
	for i, t := range list {
		if t.Offset > cursor || cursor > t.End {
			continue
		}
		if t.Kind == token.IDENT || t.Kind.IsKeyword() && at < 0 {
			at = i
		}
	}
	return at
}

// nameAround returns the index of the name before the innermost brackets around
// the cursor: of the function that is called there, or of the literal's type;
// or of the field before the colon. It returns -1 if there is none.
func nameAround(list []cell.Token, cursor int) int {
	depth := 0
	field, comma := -1, false
	for i := len(list) - 1; i > 0; i-- {
		if list[i].Offset >= cursor {
			continue
		}
		switch list[i].Kind {
		case token.RPAREN, token.RBRACE, token.RBRACK:
			depth++
		case token.LPAREN, token.LBRACE, token.LBRACK:
			depth--
		case token.COMMA:
			comma = comma || depth == 0
		case token.COLON:
			if depth == 0 && !comma && field < 0 && list[i-1].Kind == token.IDENT {
				field = i - 1
			}
		}
		if depth >= 0 {
			continue
		}
		if list[i].Kind == token.LBRACE && field >= 0 {
			return field
		}
		if list[i].Kind != token.LBRACK && list[i-1].Kind == token.IDENT {
			return i - 1
		}
		return -1
	}
	return -1
}

// objectAt returns what an identifier of a cell denotes, or nil. The caller
// holds known.mu.
func (e *editor) objectAt(code string, name cell.Token) types.Object {
	line, col := cell.LineCol(code, name.Offset)
	v := e.prog.Look(code)
	path := v.Find(line, col)
	if path == nil {
		v = e.prog.Look(closeBrackets(code[:name.End]))
		path = v.Find(line, col)
	}
	if path == nil {
		return nil
	}
	id := path[0].(*ast.Ident)
	if o := v.Object(id); o != nil {
		return o
	}
	if sel, ok := parentSelector(path); ok {
		// The checker refuses a type's field, as in nir.Settings.Steps, which
		// helps as a question.
		return e.member(v, sel)
	}
	if lit, ok := literalKey(path); ok {
		if st, ok := structOf(v.Info.Types[lit].Type); ok {
			for f := range st.Fields() {
				if f.Name() == id.Name {
					return f
				}
			}
		}
	}
	for _, path := range e.prog.ByName(id.Name) {
		if p, err := e.prog.Importer.Import(path); err == nil {
			return types.NewPkgName(token.NoPos, e.prog.Package, id.Name, p)
		}
	}
	return nil
}

// member returns the field or method that a selector selects, of a type or of a
// value, or nil.
func (e *editor) member(v *check.View, sel *ast.SelectorExpr) types.Object {
	t := v.Info.Types[sel.X].Type
	if inner, ok := sel.X.(*ast.SelectorExpr); ok && (t == nil || t == types.Typ[types.Invalid]) {
		if o := e.member(v, inner); o != nil {
			t = o.Type()
		}
	}
	if t == nil {
		return nil
	}
	o, _, _ := types.LookupFieldOrMethod(t, true, e.prog.Package, sel.Sel.Name)
	return o
}

// declaration returns the source with which the session declares a function,
// method, type or constant.
func (e *editor) declaration(o types.Object) string {
	if check.OfNative(o) {
		return e.source(o)
	}
	if o.Pkg() != e.prog.Package {
		return ""
	}
	name, method := owner(o)
	if _, isVar := o.(*types.Var); isVar || method == "" && !check.PackageLevel(o) {
		return ""
	}
	var parts []string
	for _, u := range e.prog.Units {
		if slices.Contains(u.Names, name) && u.Method == method {
			parts = append([]string{u.Text}, parts...)
		} else if _, isType := o.(*types.TypeName); isType && u.Method != "" && u.Names[0] == name {
			parts = append(parts, u.Text)
		}
	}
	return strings.Join(parts, "\n\n")
}

// owner returns the name under which the session declares an object: its own,
// or that of the type whose method it is, and then the method's name.
func owner(o types.Object) (name, method string) {
	if f, ok := o.(*types.Func); ok && f.Signature().Recv() != nil {
		return check.TypeOwner(f.Signature().Recv().Type()), o.Name()
	}
	return o.Name(), ""
}

// ownDoc returns the comment above the declaration of an object in a cell, or
// the comment beside a field.
func (e *editor) ownDoc(o types.Object) string {
	if o.Pkg() != e.prog.Package {
		return ""
	}
	if e := e.prog.Names["ctx"]; e != nil && e.Object == o && e.Cell == 0 {
		return "The kernel declares ctx. It ends when the cell is interrupted: pass it to every call that may take long."
	}
	name, method := owner(o)
	field := false
	if v, ok := o.(*types.Var); ok && v.IsField() {
		name, _, _ = strings.Cut(e.prog.FieldOwner(v), ".")
		field = true
	}
	for _, u := range slices.Backward(e.prog.Units) {
		if u.Method != method || !slices.Contains(u.Names, name) {
			continue
		}
		if !field {
			return commentAbove(e.texts[u.Cell], u.Piece)
		}
		decls, _ := u.Parse(token.NewFileSet())
		for _, d := range decls {
			var doc string
			ast.Inspect(d, func(n ast.Node) bool {
				f, ok := n.(*ast.Field)
				if ok && slices.ContainsFunc(f.Names, func(id *ast.Ident) bool { return id.Name == o.Name() }) {
					doc = cmp.Or(f.Doc.Text(), f.Comment.Text(), doc)
				}
				return true
			})
			return strings.TrimSpace(doc)
		}
	}
	return ""
}

// commentAbove returns the comment directly above a declaration in a cell's
// text.
func commentAbove(text string, pc check.Piece) string {
	lines := strings.Split(text, "\n")
	if pc.Line < 1 || pc.Line > len(lines) || !strings.HasPrefix(pc.Text, strings.TrimSpace(lines[pc.Line-1][min(pc.Column-1, len(lines[pc.Line-1])):])) {
		return "" // another cell has taken the number since
	}
	var doc []string
	for i := pc.Line - 2; i >= 0; i-- {
		comment, ok := strings.CutPrefix(strings.TrimSpace(lines[i]), "//")
		if !ok {
			break
		}
		doc = append(doc, strings.TrimPrefix(comment, " "))
	}
	slices.Reverse(doc)
	return strings.TrimSpace(strings.Join(doc, "\n"))
}

var helpRE = regexp.MustCompile(`^\s*(\?{0,2})\s*(%{0,2}[\pL_][\pL\pN_.]*)\s*(\?{0,2})\s*$`)

// help answers the cells `?name`, `name?` and, with the source, `??name`.
func (e *editor) help(text string) ([]engine.Bundle, error) {
	m := helpRE.FindStringSubmatch(text)
	if m == nil || m[1] == "" && m[3] == "" {
		return nil, nil
	}
	detail := 0
	if len(m[1]) > 1 || len(m[3]) > 1 {
		detail = 1
	}
	name := m[2]
	if b, ok := e.Inspect(name, len(name), detail); ok {
		return []engine.Bundle{b}, nil
	}
	msg := "nothing is known of " + name + e.meant(name)
	return nil, &engine.Error{Name: "NotFound", Message: msg, Traceback: []string{bold + msg + plain}}
}

// meant returns a suggestion for an unknown name, for a message: the known
// name, or member of what is before the last dot, that is most like it.
func (e *editor) meant(name string) string {
	if strings.HasPrefix(name, "%") {
		return e.magics().Meant(name)
	}
	dot := strings.LastIndexByte(name, '.') + 1
	known := e.Complete(name[:dot], dot).Matches
	return suggest.DidYouMean(name[:dot], name[dot:], func(yield func(string) bool) {
		for _, m := range known {
			if !yield(m.Text) {
				return
			}
		}
	})
}
