package gocell

import (
	"context"
	"go/ast"
	"go/scanner"
	"go/token"
	"go/types"
	"slices"
	"sort"
	"strings"
	"unicode"
	"unicode/utf8"

	"dace.local/kernel/engine"
	"dace.local/kernel/gocell/internal/cell"
	"dace.local/kernel/gocell/internal/check"
	"dace.local/kernel/gocell/internal/magic"
	"dace.local/kernel/gocell/symbols"
)

// hole is the identifier that is put at the cursor, so that incomplete code
// parses.
const hole = cell.Mark + "hole"

// An editor answers what clients ask of code that is being typed.
type editor struct {
	*known
	magics func() *magic.Set
	source func(types.Object) string // of a compiled cell's declaration
	value  func(x ast.Expr, as keysAs) []string
}

// Complete returns the completions at the cursor: members after a dot, the keys
// of a struct literal, the names in scope, packages, import paths.
func (e *editor) Complete(code string, cursor int) (c engine.Completions) {
	cursor = min(max(cursor, 0), len(code))
	magics := e.magics()
	if c, ok := magics.Complete(code, cursor, e.isName); ok {
		return c
	}
	code = magics.Blank(code, e.isName)
	if trimmed := strings.TrimLeft(code, " \t?"); helpRE.MatchString(code) {
		// ?name is not Go, but name is: replace the question marks by spaces.
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
	c = engine.Completions{Start: start, End: cursor}
	before, _, _ := cell.Tokens(code[:start])
	if n := len(before); n > 1 && before[n-1].Kind == token.SEMICOLON && before[n-1].Text == "\n" && before[n-2].Kind == token.STRING && !closed(before[n-2].Text) {
		before = before[:n-1] // drop the semicolon that the scanner inserted at the end of the text
	}
	if inComment(code, start) {
		return c
	}
	if n := len(before); n > 0 && (before[n-1].Kind == token.STRING || before[n-1].Kind == token.CHAR) && before[n-1].Offset < start && start <= before[n-1].End && !closed(before[n-1].Text) {
		if from, ok := importString(before); ok {
			c.Start = from
			c.Matches = e.importPaths(code[from:cursor])
		} else if before[n-1].Kind == token.STRING {
			c.Start = before[n-1].Offset + 1
			c.Matches = e.stringValues(code, before[n-1].Offset, cursor)
		}
		return c
	}
	var keys []engine.Completion
	if n := len(before); n > 0 && before[n-1].Kind == token.LBRACK {
		if x, _ := around(code, start); x != nil {
			keys = keysWith(prefix, e.value(x, literalKeys))
		}
	}
	if prefix != "" && unicode.IsDigit(rune(prefix[0])) {
		c.Matches = keys
		return c
	}
	if strings.HasSuffix(code[:start], ".") && slices.ContainsFunc(before, func(t cell.Token) bool { return t.Kind == token.FLOAT && t.End == start }) {
		return c
	}

	e.mu.Lock()
	defer e.mu.Unlock()
	// Try with the rest of the cell first. If that does not parse, leave the
	// rest out and close the open brackets.
	line, col := cell.LineCol(code, start)
	var v *check.View
	var path []ast.Node
	for _, text := range []string{code[:start] + hole + code[cursor:], closeBrackets(code[:start] + hole)} {
		v = e.prog.Look(text)
		if path = v.Find(line, col); path != nil {
			break
		}
	}
	set := newMatches(prefix)
	defer func() { c.Matches = append(keys, set.sorted()...) }()
	switch n := len(before); {
	case path != nil:
		e.namesAt(set, v, path)
	case n == 0 || before[n-1].Kind != token.PERIOD:
		e.scopeNames(set, nil, token.NoPos)
	}
	return c
}

// namesAt adds the names that may stand in place of the identifier path[0]. The
// caller holds known.mu.
func (e *editor) namesAt(set *matches, v *check.View, path []ast.Node) {
	if sel, ok := parentSelector(path); ok {
		set.want = expected(v, path[1:]).typ
		e.members(set, v, sel)
		return
	}
	if lit, ok := literalKey(path); ok {
		if set.keys(lit, v.Info.Types[lit].Type); len(set.list) > 0 {
			return
		}
	}
	set.want = expected(v, path).typ
	e.typedNames(set)
	e.scopeNames(set, v, path[0].Pos())
}

// inComment reports whether the byte offset at is inside a comment of text.
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

// importString returns the offset at which the import path under the cursor
// starts, if the last token is the string of an import.
func importString(list []cell.Token) (int, bool) {
	n := len(list)
	for i := n - 2; i >= 0; i-- {
		switch list[i].Kind {
		case token.IMPORT:
			return list[n-1].Offset + 1, true
		case token.LPAREN, token.STRING, token.SEMICOLON, token.IDENT, token.PERIOD:
		default:
			return 0, false
		}
	}
	return 0, false
}

func (e *editor) importPaths(prefix string) []engine.Completion {
	var l []engine.Completion
	e.mu.Lock()
	fetched := e.prog.Importer.Named("")
	e.mu.Unlock()
	for _, p := range append(fetched, symbols.Paths()...) {
		if strings.HasPrefix(p, prefix) {
			l = append(l, engine.Completion{Text: p, Type: "package"})
		}
	}
	return l
}

// closeBrackets appends the closing brackets that a text lacks.
func closeBrackets(text string) string {
	_, open, _ := cell.Tokens(text)
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

// matches collects completions and their ranks.
type matches struct {
	prefix string
	want   types.Type // the type of value that is expected at the cursor, or nil
	rank   map[string]int
	list   []engine.Completion
}

func newMatches(prefix string) *matches { return &matches{prefix: prefix, rank: map[string]int{}} }

// otherCase is added to the rank of a completion that has the prefix in other
// letters, upper or lower case.
const otherCase = 100

// add adds a completion. Completions with a lower rank come first.
func (m *matches) add(rank int, text, kind, signature string) {
	if text == "_" || strings.HasPrefix(text, cell.Mark) || !hasPrefixFold(text, m.prefix) {
		return
	}
	if !strings.HasPrefix(text, m.prefix) {
		rank += otherCase
	}
	m.insert(rank, text, kind, signature)
}

// insert adds a completion without regard to the prefix.
func (m *matches) insert(rank int, text, kind, signature string) {
	if _, ok := m.rank[text]; ok {
		return
	}
	m.rank[text] = rank
	m.list = append(m.list, engine.Completion{Text: text, Type: kind, Signature: signature})
}

func hasPrefixFold(s, prefix string) bool {
	return len(s) >= len(prefix) && strings.EqualFold(s[:len(prefix)], prefix)
}

func (m *matches) sorted() []engine.Completion {
	// Matches that differ in case are offered only if no match is exact.
	exact := slices.ContainsFunc(m.list, func(c engine.Completion) bool { return m.rank[c.Text] < otherCase })
	list := slices.DeleteFunc(m.list, func(c engine.Completion) bool { return exact && m.rank[c.Text] >= otherCase })
	sort.SliceStable(list, func(i, j int) bool {
		a, b := list[i], list[j]
		if m.rank[a.Text] != m.rank[b.Text] {
			return m.rank[a.Text] < m.rank[b.Text]
		}
		return a.Text < b.Text
	})
	return list
}

func typeText(t types.Type) string { return types.TypeString(t, check.ShortName) }

// signature returns the signature of a function: its type without "func".
func signature(o types.Object) string {
	return strings.TrimPrefix(typeText(o.Type()), "func")
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

// object adds the completion for a declared object.
func (set *matches) object(rank int, o types.Object) {
	sig := ""
	switch o.(type) {
	case *types.Func:
		sig = signature(o)
	case *types.Var, *types.Const:
		sig = typeText(o.Type())
	}
	if _, isType := o.(*types.TypeName); !isType {
		rank = set.typed(rank, o.Type())
	}
	set.add(rank, o.Name(), kindOf(o), sig)
}

// members adds the names that may follow the dot of a selector.
func (e *editor) members(set *matches, v *check.View, sel *ast.SelectorExpr) {
	if id, ok := sel.X.(*ast.Ident); ok {
		var pkg *types.Package
		if pn, ok := v.Info.Uses[id].(*types.PkgName); ok {
			pkg = pn.Imported()
		} else if v.Info.Uses[id] == nil && v.Info.Defs[id] == nil {
			for _, ipath := range e.prog.ByName(id.Name) {
				if p, err := e.prog.Importer.Import(ipath); err == nil {
					pkg = p
					break
				}
			}
		}
		if pkg != nil {
			for _, n := range pkg.Scope().Names() {
				if token.IsExported(n) {
					set.object(0, pkg.Scope().Lookup(n))
				}
			}
			return
		}
	}
	tv, ok := v.Info.Types[sel.X]
	if !ok || tv.Type == nil {
		return
	}
	set.members(tv.Type, 0, map[types.Type]bool{})
}

// members adds the fields and methods of a type; promoted ones come after its
// own.
func (set *matches) members(t types.Type, depth int, seen map[types.Type]bool) {
	if seen[t] || depth > 4 {
		return
	}
	seen[t] = true
	visible := func(o types.Object) bool { return o.Exported() || o.Pkg() != nil && o.Pkg().Path() == "main" }
	if st, ok := structOf(t); ok {
		for f := range st.Fields() {
			if visible(f) {
				set.add(set.typed(depth, f.Type()), f.Name(), "field", typeText(f.Type()))
			}
		}
		for f := range st.Fields() {
			if f.Embedded() {
				set.members(f.Type(), depth+1, seen)
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
			set.add(set.typed(depth, m.Obj().Type()), m.Obj().Name(), "method", signature(m.Obj()))
		}
	}
}

// keys adds the fields of a struct that a composite literal does not set yet. A
// literal without field names has none.
func (set *matches) keys(lit *ast.CompositeLit, t types.Type) {
	st, ok := structOf(t)
	if !ok {
		return
	}
	given := map[string]bool{}
	for _, e := range lit.Elts {
		switch e := e.(type) {
		case *ast.KeyValueExpr:
			if k, ok := e.Key.(*ast.Ident); ok {
				given[k.Name] = true
			}
		case *ast.Ident:
			if e.Name != hole {
				return
			}
		default:
			return
		}
	}
	for f := range st.Fields() {
		if (f.Exported() || f.Pkg().Path() == "main") && !given[f.Name()] {
			set.add(0, f.Name(), "field", typeText(f.Type()))
		}
	}
}

var keywords = []string{"break", "case", "chan", "const", "continue", "default", "defer", "else", "fallthrough",
	"for", "func", "go", "goto", "if", "import", "interface", "map", "package", "range", "return", "select",
	"struct", "switch", "type", "var"}

// scopeNames adds the names in scope at a position: local variables, the
// session's declarations, packages, predeclared identifiers, keywords.
func (e *editor) scopeNames(set *matches, v *check.View, pos token.Pos) {
	if v != nil && pos.IsValid() {
		var scopes []*types.Scope
		for n, sc := range v.Info.Scopes {
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
					set.object(0, sc.Lookup(n))
				}
			}
		}
		for _, d := range v.Source.File.Decls {
			u := check.UnitsOf(check.Piece{}, d)
			for _, n := range u.Names {
				if o := v.Package.Scope().Lookup(n); o != nil && u.Method == "" {
					set.object(1, o)
				}
			}
		}
	}
	for _, e := range e.prog.Names {
		set.object(1, e.Object)
	}
	for n := range e.prog.Imports {
		set.add(2, n, "package", "")
	}
	for n, paths := range symbols.ByName() {
		set.add(3, n, "package", paths[0])
	}
	for _, path := range e.prog.Importer.Named("") {
		set.add(3, e.prog.Importer.Source(path).Name, "package", path)
	}
	for _, n := range types.Universe.Names() {
		o, rank := types.Universe.Lookup(n), 4
		if n == "true" || n == "false" || n == "nil" {
			rank = max(set.typed(rank, o.Type()), -1) // after variables
		}
		set.add(rank, n, kindOf(o), "")
	}
	for _, k := range keywords {
		set.add(5, k, "keyword", "")
	}
}

// containsNode reports whether a scope without positions of its own, as
// functions made by the kernel have, contains pos: one of its children must.
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

// IsComplete reports whether a cell can be run as it is, or needs more lines.
func (e *editor) IsComplete(code string) engine.Completeness {
	if strings.TrimSpace(code) == "" {
		return engine.Completeness{Status: "complete"}
	}
	if m := helpRE.FindStringSubmatch(code); m != nil && (m[1] != "" || m[3] != "") {
		return engine.Completeness{Status: "complete"}
	}
	if strings.HasPrefix(strings.TrimSpace(code), "%%") && !strings.HasSuffix(code, "\n") {
		// As in other notebooks, only an empty line ends such a cell.
		return engine.Completeness{Status: "incomplete"}
	}
	code = e.magics().Blank(code, e.isName)
	if strings.TrimSpace(code) == "" {
		return engine.Completeness{Status: "complete"}
	}
	list, open, err := cell.Tokens(code)
	if err != nil {
		if strings.Contains(err.Error(), "not terminated") && (strings.Contains(err.Error(), "raw string") || strings.Contains(err.Error(), "comment")) {
			return engine.Completeness{Status: "incomplete"}
		}
		return engine.Completeness{Status: "invalid"}
	}
	if len(open) > 0 {
		return engine.Completeness{Status: "incomplete", Indent: strings.Repeat("\t", len(open))}
	}
	if _, err := check.ParseCell(token.NewFileSet(), 0, "", code); err == nil {
		return engine.Completeness{Status: "complete"}
	}
	// A line that ends in an operator or a comma is continued.
	if n := len(list); n > 0 && list[n-1].Kind.IsOperator() && list[n-1].Kind != token.SEMICOLON && list[n-1].Kind != token.RPAREN &&
		list[n-1].Kind != token.RBRACE && list[n-1].Kind != token.RBRACK && list[n-1].Kind != token.INC && list[n-1].Kind != token.DEC {
		return engine.Completeness{Status: "incomplete"}
	}
	return engine.Completeness{Status: "invalid"}
}

// Evaluate computes one expression. Its output is not shown.
func (s *Session) Evaluate(ctx context.Context, expr string) (engine.Bundle, error) {
	res, err := s.Execute(ctx, engine.Cell{Code: expr, Silent: true}, discard{})
	return res.Value, err
}

// discard is an engine.Outputs that shows nothing.
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
