package gocell

import (
	"cmp"
	"context"
	"go/ast"
	"go/scanner"
	"go/token"
	"go/types"
	"regexp"
	"slices"
	"sort"
	"strings"
	"unicode"
	"unicode/utf8"

	"dace.local/kernel/engine"
	"dace.local/kernel/gocell/symbols"
)

// hole stands for the identifier that is being typed.
const hole = mark + "hole"

// Complete returns what may stand at the cursor: members after a dot, the keys
// of a struct literal, the names in scope, packages, import paths.
func (s *Session) Complete(code string, cursor int) engine.Completions {
	cursor = min(max(cursor, 0), len(code))
	if word, from, ok := magicAt(code, cursor); ok {
		c := engine.Completions{Start: from, End: cursor}
		for _, m := range magics() {
			if strings.HasPrefix(m.name, word) {
				c.Matches = append(c.Matches, engine.Completion{Text: m.name, Type: "keyword", Signature: strings.TrimPrefix(m.usage, m.name)})
			}
		}
		return c
	}
	code = blankMagics(code)
	if trimmed := strings.TrimLeft(code, " \t?"); helpRE.MatchString(code) {
		// ?name is no Go, its name is.
		code = strings.Repeat(" ", len(code)-len(trimmed)) + trimmed
	}
	start := cursor
	for start > 0 {
		r, n := utf8.DecodeLastRuneInString(code[:start])
		if r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			break
		}
		start -= n
	}
	prefix := code[start:cursor]
	c := engine.Completions{Start: start, End: cursor}
	before, _, _ := tokens(code[:start])
	if n := len(before); n > 1 && before[n-1].kind == token.SEMICOLON && before[n-1].lit == "\n" && before[n-2].kind == token.STRING && !closed(before[n-2].lit) {
		before = before[:n-1] // put in at the end of the text
	}
	if inComment(code, start) {
		return c
	}
	if n := len(before); n > 0 && (before[n-1].kind == token.STRING || before[n-1].kind == token.CHAR) && before[n-1].off < start && start <= before[n-1].end && !closed(before[n-1].lit) {
		if from, ok := importString(before); ok {
			c.Start = from
			c.Matches = s.importPaths(code[from:cursor])
		}
		return c
	}
	if prefix != "" && unicode.IsDigit(rune(prefix[0])) {
		return c
	}
	if strings.HasSuffix(code[:start], ".") && slices.ContainsFunc(before, func(t tok) bool { return t.kind == token.FLOAT && t.end == start }) {
		return c
	}

	s.mu.Lock()
	defer s.mu.Unlock()
	// With the rest of the cell first; where that cannot be read, without it
	// and with open brackets closed.
	line, col := lineCol(code, start)
	var v *view
	var path []ast.Node
	for _, text := range []string{code[:start] + hole + code[cursor:], closeBrackets(code[:start] + hole)} {
		v = s.prog.look(text)
		if path = v.find(line, col); path != nil {
			break
		}
	}
	set := newMatches(prefix)
	if path == nil {
		if n := len(before); n > 0 && before[n-1].kind == token.PERIOD {
			return c
		}
		s.scopeNames(set, nil, token.NoPos)
		c.Matches = set.sorted()
		return c
	}
	id := path[0].(*ast.Ident)
	if sel, ok := parentSelector(path); ok {
		s.members(set, v, sel)
		c.Matches = set.sorted()
		return c
	}
	if lit, ok := literalKey(path); ok {
		if st, ok := structOf(v.info.Types[lit].Type); ok {
			given := map[string]bool{}
			for _, e := range lit.Elts {
				if kv, ok := e.(*ast.KeyValueExpr); ok {
					if k, ok := kv.Key.(*ast.Ident); ok {
						given[k.Name] = true
					}
				}
			}
			for f := range st.Fields() {
				if (f.Exported() || f.Pkg().Path() == "main") && !given[f.Name()] {
					set.add(0, f.Name(), "field", s.typeText(f.Type()))
				}
			}
		}
	}
	s.scopeNames(set, v, id.Pos())
	c.Matches = set.sorted()
	return c
}

// inComment reports whether a place in a text is inside a comment.
func inComment(text string, at int) bool {
	fset := token.NewFileSet()
	f := fset.AddFile("", -1, len(text))
	var s scanner.Scanner
	s.Init(f, []byte(text), func(token.Position, string) {}, scanner.ScanComments)
	for {
		pos, k, lit := s.Scan()
		if k == token.EOF || f.Offset(pos) >= at {
			return false
		}
		if end := f.Offset(pos) + len(lit); k == token.COMMENT && (at < end || at == end && (lit[1] == '/' || !strings.HasSuffix(lit, "*/"))) {
			return true
		}
	}
}

// closed reports whether a string or rune literal has its closing quote.
func closed(lit string) bool {
	return len(lit) >= 2 && lit[len(lit)-1] == lit[0] && !(lit[0] != '`' && strings.HasSuffix(lit, `\`+lit[:1]) && !strings.HasSuffix(lit, `\\`+lit[:1]))
}

// importString returns where the path under the cursor starts, when the last
// token is the string of an import.
func importString(list []tok) (int, bool) {
	n := len(list)
	for i := n - 2; i >= 0; i-- {
		switch list[i].kind {
		case token.IMPORT:
			return list[n-1].off + 1, true
		case token.LPAREN, token.STRING, token.SEMICOLON, token.IDENT, token.PERIOD:
		default:
			return 0, false
		}
	}
	return 0, false
}

func (s *Session) importPaths(prefix string) []engine.Completion {
	var l []engine.Completion
	s.mu.Lock()
	fetched := s.prog.imp.named("")
	s.mu.Unlock()
	for _, p := range append(fetched, symbols.Paths()...) {
		if strings.HasPrefix(p, prefix) {
			l = append(l, engine.Completion{Text: p, Type: "package"})
		}
	}
	return l
}

// closeBrackets appends what closes the open brackets of a text.
func closeBrackets(text string) string {
	_, open, _ := tokens(text)
	b := []byte(text)
	for i := len(open) - 1; i >= 0; i-- {
		switch open[i] {
		case token.LPAREN:
			b = append(b, ')')
		case token.LBRACK:
			b = append(b, ']')
		case token.LBRACE:
			b = append(b, '}')
		}
	}
	return string(b)
}

// parentSelector returns the selector whose selected name is path's first node.
func parentSelector(path []ast.Node) (*ast.SelectorExpr, bool) {
	if len(path) < 2 {
		return nil, false
	}
	sel, ok := path[1].(*ast.SelectorExpr)
	if !ok || sel.Sel != path[0] {
		return nil, false
	}
	return sel, true
}

// literalKey returns the composite literal in which path's first node may be a
// key.
func literalKey(path []ast.Node) (*ast.CompositeLit, bool) {
	if len(path) < 2 {
		return nil, false
	}
	switch n := path[1].(type) {
	case *ast.CompositeLit:
		return n, n.Type != path[0]
	case *ast.KeyValueExpr:
		if n.Key == path[0] && len(path) > 2 {
			lit, ok := path[2].(*ast.CompositeLit)
			return lit, ok
		}
	}
	return nil, false
}

func structOf(t types.Type) (*types.Struct, bool) {
	if t == nil {
		return nil, false
	}
	if p, ok := t.Underlying().(*types.Pointer); ok {
		t = p.Elem()
	}
	st, ok := t.Underlying().(*types.Struct)
	return st, ok
}

// matches collects completions.
type matches struct {
	prefix string
	rank   map[string]int
	list   []engine.Completion
}

func newMatches(prefix string) *matches { return &matches{prefix: prefix, rank: map[string]int{}} }

// add adds a completion; lower ranks come first.
func (m *matches) add(rank int, text, kind, signature string) {
	if text == "_" || strings.HasPrefix(text, mark) || !hasPrefixFold(text, m.prefix) {
		return
	}
	if _, ok := m.rank[text]; ok {
		return
	}
	if !strings.HasPrefix(text, m.prefix) {
		rank += 10
	}
	m.rank[text] = rank
	m.list = append(m.list, engine.Completion{Text: text, Type: kind, Signature: signature})
}

func hasPrefixFold(s, prefix string) bool {
	return len(s) >= len(prefix) && strings.EqualFold(s[:len(prefix)], prefix)
}

func (m *matches) sorted() []engine.Completion {
	// Matches in another case are offered only where none fits exactly.
	exact := slices.ContainsFunc(m.list, func(c engine.Completion) bool { return m.rank[c.Text] < 10 })
	list := slices.DeleteFunc(m.list, func(c engine.Completion) bool { return exact && m.rank[c.Text] >= 10 })
	sort.SliceStable(list, func(i, j int) bool {
		a, b := list[i], list[j]
		if m.rank[a.Text] != m.rank[b.Text] {
			return m.rank[a.Text] < m.rank[b.Text]
		}
		return a.Text < b.Text
	})
	return list
}

func (s *Session) typeText(t types.Type) string { return types.TypeString(t, shortName) }

// signature returns how a function is called: its type without "func".
func (s *Session) signature(o types.Object) string {
	return strings.TrimPrefix(s.typeText(o.Type()), "func")
}

func kindOf(o types.Object) string {
	switch x := o.(type) {
	case *types.Func:
		if x.Signature().Recv() != nil {
			return "method"
		}
		return "function"
	case *types.TypeName:
		return "type"
	case *types.Const:
		return "constant"
	case *types.PkgName:
		return "package"
	case *types.Builtin:
		return "function"
	case *types.Var:
		if x.IsField() {
			return "field"
		}
	}
	return "variable"
}

func (s *Session) addObject(set *matches, rank int, o types.Object) {
	sig := ""
	switch o.(type) {
	case *types.Func:
		sig = s.signature(o)
	case *types.Var, *types.Const:
		sig = s.typeText(o.Type())
	}
	set.add(rank, o.Name(), kindOf(o), sig)
}

// members adds what may follow the dot.
func (s *Session) members(set *matches, v *view, sel *ast.SelectorExpr) {
	if id, ok := sel.X.(*ast.Ident); ok {
		var pkg *types.Package
		if pn, ok := v.info.Uses[id].(*types.PkgName); ok {
			pkg = pn.Imported()
		} else if v.info.Uses[id] == nil && v.info.Defs[id] == nil {
			for _, ipath := range s.prog.byName(id.Name) {
				if p, err := s.prog.imp.Import(ipath); err == nil {
					pkg = p
					break
				}
			}
		}
		if pkg != nil {
			for _, n := range pkg.Scope().Names() {
				if token.IsExported(n) {
					s.addObject(set, 0, pkg.Scope().Lookup(n))
				}
			}
			return
		}
	}
	tv, ok := v.info.Types[sel.X]
	if !ok || tv.Type == nil {
		return
	}
	s.addMembers(set, tv.Type, 0, map[types.Type]bool{})
}

// addMembers adds the fields and methods of a type, promoted ones after its
// own.
func (s *Session) addMembers(set *matches, t types.Type, depth int, seen map[types.Type]bool) {
	if seen[t] || depth > 4 {
		return
	}
	seen[t] = true
	visible := func(o types.Object) bool { return o.Exported() || o.Pkg() != nil && o.Pkg().Path() == "main" }
	if st, ok := structOf(t); ok {
		for f := range st.Fields() {
			if visible(f) {
				set.add(depth, f.Name(), "field", s.typeText(f.Type()))
			}
		}
		for f := range st.Fields() {
			if f.Embedded() {
				s.addMembers(set, f.Type(), depth+1, seen)
			}
		}
	}
	mt := t
	if _, ok := t.Underlying().(*types.Pointer); !ok && !types.IsInterface(t) {
		mt = types.NewPointer(t)
	}
	ms := types.NewMethodSet(mt)
	for m := range ms.Methods() {
		if visible(m.Obj()) {
			set.add(depth, m.Obj().Name(), "method", s.signature(m.Obj()))
		}
	}
}

var keywords = []string{"break", "case", "chan", "const", "continue", "default", "defer", "else", "fallthrough",
	"for", "func", "go", "goto", "if", "import", "interface", "map", "package", "range", "return", "select",
	"struct", "switch", "type", "var"}

// scopeNames adds the names in scope at a position: locals, the session's,
// packages, builtins, keywords.
func (s *Session) scopeNames(set *matches, v *view, pos token.Pos) {
	if v != nil && pos.IsValid() {
		var scopes []*types.Scope
		for n, sc := range v.info.Scopes {
			if _, file := n.(*ast.File); file {
				continue
			}
			if sc.Contains(pos) || containsNode(n, sc, pos) {
				scopes = append(scopes, sc)
			}
		}
		for _, sc := range scopes {
			for _, n := range sc.Names() {
				if n != hole {
					s.addObject(set, 0, sc.Lookup(n))
				}
			}
		}
		for _, d := range v.src.file.Decls {
			u := unitsOf(piece{}, d)
			for _, n := range u.names {
				if o := v.pkg.Scope().Lookup(n); o != nil && u.meth == "" {
					s.addObject(set, 1, o)
				}
			}
		}
	}
	for _, e := range s.prog.names {
		s.addObject(set, 1, e.obj)
	}
	for n := range s.prog.imports {
		set.add(2, n, "package", "")
	}
	for n, paths := range byName() {
		set.add(3, n, "package", paths[0])
	}
	for _, path := range s.prog.imp.named("") {
		set.add(3, s.prog.imp.source(path).Name, "package", path)
	}
	for _, n := range types.Universe.Names() {
		set.add(4, n, kindOf(types.Universe.Lookup(n)), "")
	}
	for _, k := range keywords {
		set.add(5, k, "keyword", "")
	}
}

// containsNode reports whether a made-up function's scope, which has no
// positions of its own, holds the position.
func containsNode(n ast.Node, sc *types.Scope, pos token.Pos) bool {
	if sc.Pos().IsValid() {
		return false
	}
	for c := range sc.Children() {
		if c.Contains(pos) || containsNode(nil, c, pos) {
			return true
		}
	}
	return false
}

// Inspect documents the name at the cursor, or the function whose arguments
// the cursor stands among.
func (s *Session) Inspect(code string, cursor, detail int) (engine.Bundle, bool) {
	cursor = min(max(cursor, 0), len(code))
	code = blankMagics(code)
	list, _, _ := tokens(code)
	at := -1
	for i, t := range list {
		if t.kind == token.IDENT && t.off <= cursor && cursor <= t.end {
			at = i
		}
	}
	if at < 0 {
		// The call around the cursor.
		depth := 0
		for i := len(list) - 1; i > 0; i-- {
			if list[i].off >= cursor {
				continue
			}
			switch list[i].kind {
			case token.RPAREN, token.RBRACE, token.RBRACK:
				depth++
			case token.LPAREN, token.LBRACE, token.LBRACK:
				depth--
			}
			if depth < 0 {
				if list[i].kind == token.LPAREN && list[i-1].kind == token.IDENT {
					at = i - 1
				}
				break
			}
		}
	}
	if at < 0 {
		return engine.Bundle{}, false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	line, col := lineCol(code, list[at].off)
	v := s.prog.look(code)
	path := v.find(line, col)
	if path == nil {
		v = s.prog.look(closeBrackets(code[:list[at].end]))
		path = v.find(line, col)
	}
	if path == nil {
		return engine.Bundle{}, false
	}
	id := path[0].(*ast.Ident)
	o := v.object(id)
	var recv types.Type
	if sel, ok := parentSelector(path); ok {
		recv = v.info.Types[sel.X].Type
	}
	if o == nil {
		if paths := s.prog.byName(id.Name); len(paths) > 0 {
			if p, err := s.prog.imp.Import(paths[0]); err == nil {
				o = types.NewPkgName(token.NoPos, s.prog.pkg, id.Name, p)
			}
		}
	}
	if o == nil {
		return engine.Bundle{}, false
	}
	signature, doc := s.prog.docOf(v, o, recv)
	if doc == "" {
		doc = s.ownDoc(o, recv)
	}
	_, isFunc := o.(*types.Func)
	if source := s.declaration(o); source != "" && (detail > 0 || !isFunc && (doc == "" || o.Pkg() == s.prog.pkg)) {
		signature = source
	}
	text := signature
	md := "```go\n" + signature + "\n```"
	if doc != "" {
		text += "\n\n" + doc
		md += "\n\n" + doc
	}
	return engine.Bundle{Data: map[string]any{"text/plain": text, "text/markdown": md}}, true
}

// declaration returns the source by which the session knows a function, type
// or constant.
func (s *Session) declaration(o types.Object) string {
	if ofNative(o) {
		return s.nativeDeclaration(o)
	}
	if o.Pkg() != s.prog.pkg {
		return ""
	}
	var parts []string
	for _, u := range s.prog.units {
		if slices.Contains(u.names, o.Name()) && u.meth == "" {
			parts = append([]string{u.text}, parts...)
		} else if _, isType := o.(*types.TypeName); isType && u.meth != "" && u.names[0] == o.Name() {
			parts = append(parts, u.text)
		}
	}
	if _, isVar := o.(*types.Var); isVar || !packageLevel(o) {
		return ""
	}
	return strings.Join(parts, "\n\n")
}

// ownDoc returns the comment above what a cell declares, or beside a field.
func (s *Session) ownDoc(o types.Object, recv types.Type) string {
	if o.Pkg() != s.prog.pkg {
		return ""
	}
	owner, method := o.Name(), ""
	if f, ok := o.(*types.Func); ok && f.Signature().Recv() != nil {
		owner, method = typeOwner(f.Signature().Recv().Type()), o.Name()
	}
	field := false
	if v, ok := o.(*types.Var); ok && v.IsField() {
		owner, field = typeOwner(recv), true
	}
	for _, u := range slices.Backward(s.prog.units) {
		if u.meth != method || !slices.Contains(u.names, owner) {
			continue
		}
		if !field {
			return commentAbove(s.cellSrc[u.cell], u.piece)
		}
		decls, _ := u.parse(token.NewFileSet())
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

// commentAbove returns the comment in a cell's text right above a declaration.
func commentAbove(text string, pc piece) string {
	lines := strings.Split(text, "\n")
	if pc.line < 1 || pc.line > len(lines) || !strings.HasPrefix(pc.text, strings.TrimSpace(lines[pc.line-1][min(pc.col-1, len(lines[pc.line-1])):])) {
		return "" // another cell bears the number now
	}
	var doc []string
	for i := pc.line - 2; i >= 0; i-- {
		comment, ok := strings.CutPrefix(strings.TrimSpace(lines[i]), "//")
		if !ok {
			break
		}
		doc = append(doc, strings.TrimPrefix(comment, " "))
	}
	slices.Reverse(doc)
	return strings.TrimSpace(strings.Join(doc, "\n"))
}

var helpRE = regexp.MustCompile(`^\s*(\?{0,2})\s*([\pL_][\pL\pN_.]*)\s*(\?{0,2})\s*$`)

// help answers `?name`, `name?` and, with the source, `??name`.
func (s *Session) help(text string) ([]engine.Bundle, error) {
	m := helpRE.FindStringSubmatch(text)
	if m == nil || m[1] == "" && m[3] == "" {
		return nil, nil
	}
	detail := 0
	if len(m[1]) > 1 || len(m[3]) > 1 {
		detail = 1
	}
	b, ok := s.Inspect(m[2], len(m[2]), detail)
	if !ok {
		msg := "nothing is known of " + m[2]
		return nil, &engine.Error{Name: "NotFound", Message: msg, Traceback: []string{red + msg + plain}}
	}
	return []engine.Bundle{b}, nil
}

// IsComplete says whether a cell can be run as it stands.
func (s *Session) IsComplete(code string) engine.Completeness {
	if strings.TrimSpace(code) == "" {
		return engine.Completeness{Status: "complete"}
	}
	if m := helpRE.FindStringSubmatch(code); m != nil && (m[1] != "" || m[3] != "") {
		return engine.Completeness{Status: "complete"}
	}
	if strings.HasPrefix(strings.TrimSpace(code), "%%") && !strings.HasSuffix(code, "\n") {
		// As in other notebooks, an empty line ends what begins so.
		return engine.Completeness{Status: "incomplete"}
	}
	code = blankMagics(code)
	if strings.TrimSpace(code) == "" {
		return engine.Completeness{Status: "complete"}
	}
	_, open, err := tokens(code)
	if err != nil {
		if strings.Contains(err.Error(), "not terminated") && (strings.Contains(err.Error(), "raw string") || strings.Contains(err.Error(), "comment")) {
			return engine.Completeness{Status: "incomplete"}
		}
		return engine.Completeness{Status: "invalid"}
	}
	if len(open) > 0 {
		return engine.Completeness{Status: "incomplete", Indent: strings.Repeat("\t", len(open))}
	}
	fset := token.NewFileSet()
	text, _ := blankPackageClause(code)
	_, perr := parseCell(fset, 0, "", text)
	if perr == nil {
		return engine.Completeness{Status: "complete"}
	}
	// A line that ends in an operator or a comma goes on.
	list, _, _ := tokens(code)
	if n := len(list); n > 0 && list[n-1].kind.IsOperator() && list[n-1].kind != token.SEMICOLON && list[n-1].kind != token.RPAREN &&
		list[n-1].kind != token.RBRACE && list[n-1].kind != token.RBRACK && list[n-1].kind != token.INC && list[n-1].kind != token.DEC {
		return engine.Completeness{Status: "incomplete"}
	}
	return engine.Completeness{Status: "invalid"}
}

// Evaluate computes one expression, showing nothing.
func (s *Session) Evaluate(ctx context.Context, expr string) (engine.Bundle, error) {
	res, err := s.Execute(ctx, engine.Cell{Code: expr, Silent: true}, discard{})
	return res.Value, err
}

// discard shows nothing.
type discard struct{}

func (discard) Stdout(string)                 {}
func (discard) Stderr(string)                 {}
func (discard) Display(engine.Bundle, string) {}
func (discard) Update(engine.Bundle, string)  {}
func (discard) Clear(bool)                    {}
func (discard) Comm(engine.CommMessage) error { return nil }
func (discard) Input(context.Context, string, bool) (string, error) {
	return "", engine.ErrNoInput
}
