package gocell

import (
	"cmp"
	"go/ast"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"dace.local/kernel/engine"
	"dace.local/kernel/gocell/internal/cell"
	"dace.local/kernel/gocell/internal/check"
)

// An expectation is what the code around the cursor expects there.
type expectation struct {
	typ types.Type // nil if any type will do
	// of is the function or the field that expects the value, and param the
	// name of the function's parameter.
	of    types.Object
	param string
}

// expected returns what is expected of the expression path[0], where path are
// the nodes around it, from the inside out.
func expected(v *check.View, path []ast.Node) expectation {
	if len(path) < 2 {
		return expectation{}
	}
	x := path[0]
	switch n := path[1].(type) {
	case *ast.ParenExpr:
		return expected(v, path[1:])
	case *ast.UnaryExpr:
		e := expected(v, path[1:])
		if n.Op == token.AND && e.typ != nil {
			if p, ok := e.typ.Underlying().(*types.Pointer); ok {
				return expectation{typ: p.Elem()}
			}
			return expectation{}
		}
		return e
	case *ast.KeyValueExpr:
		if lit, ok := parent[*ast.CompositeLit](path); ok && n.Value == x {
			return expectedInLiteral(v, lit, n)
		}
	case *ast.CompositeLit:
		if t := v.Info.Types[n].Type; t != nil && n.Type != x {
			switch u := t.Underlying().(type) {
			case *types.Slice:
				return expectation{typ: u.Elem()}
			case *types.Array:
				return expectation{typ: u.Elem()}
			case *types.Struct: // without field names
				if i := slices.IndexFunc(n.Elts, func(e ast.Expr) bool { return e == x }); i >= 0 && i < u.NumFields() {
					return expectation{typ: u.Field(i).Type(), of: u.Field(i)}
				}
			}
		}
	case *ast.CallExpr:
		return expectedArgument(v, n, x)
	case *ast.AssignStmt:
		if i := slices.IndexFunc(n.Rhs, func(e ast.Expr) bool { return e == x }); i >= 0 && n.Tok != token.DEFINE && len(n.Lhs) == len(n.Rhs) {
			e := expectation{typ: v.Info.Types[n.Lhs[i]].Type}
			if sel, ok := n.Lhs[i].(*ast.SelectorExpr); ok {
				e.of = v.Info.Uses[sel.Sel]
			}
			return e
		}
	case *ast.BinaryExpr:
		switch n.Op {
		case token.LAND, token.LOR:
			return expectation{typ: types.Typ[types.Bool]}
		case token.SHL, token.SHR:
		default:
			if n.Y == x {
				return expectation{typ: v.Info.Types[n.X].Type}
			}
		}
	case *ast.CaseClause:
		for _, outer := range path[2:] {
			if s, ok := outer.(*ast.SwitchStmt); ok && s.Tag != nil {
				return expectation{typ: v.Info.Types[s.Tag].Type}
			}
		}
	}
	return expectation{}
}

// parent returns the third node of a path if it has the type N.
func parent[N ast.Node](path []ast.Node) (N, bool) {
	var none N
	if len(path) < 3 {
		return none, false
	}
	n, ok := path[2].(N)
	return n, ok
}

// expectedInLiteral returns what is expected after a colon of a literal.
func expectedInLiteral(v *check.View, lit *ast.CompositeLit, kv *ast.KeyValueExpr) expectation {
	t := v.Info.Types[lit].Type
	if t == nil {
		return expectation{}
	}
	if st, ok := structOf(t); ok {
		key, _ := kv.Key.(*ast.Ident)
		for f := range st.Fields() {
			if key != nil && f.Name() == key.Name {
				return expectation{typ: f.Type(), of: f}
			}
		}
		return expectation{}
	}
	switch u := t.Underlying().(type) {
	case *types.Map:
		return expectation{typ: u.Elem()}
	case *types.Slice:
		return expectation{typ: u.Elem()}
	case *types.Array:
		return expectation{typ: u.Elem()}
	}
	return expectation{}
}

// expectedArgument returns what a call expects as the argument x.
func expectedArgument(v *check.View, call *ast.CallExpr, x ast.Node) expectation {
	i := slices.IndexFunc(call.Args, func(e ast.Expr) bool { return e == x })
	t := v.Info.Types[call.Fun].Type
	if i < 0 || t == nil {
		return expectation{}
	}
	if v.Info.Types[call.Fun].IsType() {
		return expectation{}
	}
	sig, ok := t.Underlying().(*types.Signature)
	if !ok || sig.Params().Len() == 0 {
		return expectation{}
	}
	last := sig.Params().Len() - 1
	p := sig.Params().At(min(i, last))
	e := expectation{typ: p.Type(), param: p.Name()}
	switch {
	case sig.Variadic() && i >= last:
		if s, ok := p.Type().(*types.Slice); ok {
			e.typ = s.Elem()
		}
	case i > last:
		return expectation{}
	}
	switch f := ast.Unparen(call.Fun).(type) {
	case *ast.Ident:
		e.of = v.Info.Uses[f]
	case *ast.SelectorExpr:
		e.of = v.Info.Uses[f.Sel]
	}
	return e
}

// Ranks of completions that have the expected type. The constants of the type
// come first.
const (
	typedConstant = -1000
	typedVariable = -50
	typedLiteral  = -40
	typedMaker    = -30 // a function of the type's package
	typedFunction = -20
)

// typed returns the rank of a variable or function, given its rank among others
// of its kind: before all others if its type, or the type of the function's
// first result, is the expected one.
func (m *matches) typed(rank int, t types.Type) int {
	if m.want == nil || t == nil || t == types.Typ[types.Invalid] {
		return rank
	}
	if i, ok := m.want.Underlying().(*types.Interface); ok && i.Empty() {
		return rank // every value is assignable
	}
	if _, ok := m.want.(*types.TypeParam); ok {
		return rank
	}
	if types.AssignableTo(t, m.want) {
		return typedVariable + rank
	}
	if sig, ok := t.(*types.Signature); ok && sig.Results().Len() > 0 && sig.TypeParams().Len() == 0 && types.AssignableTo(sig.Results().At(0).Type(), m.want) {
		return typedFunction + rank
	}
	return rank
}

// typedNames adds what a package offers for the expected type: its constants,
// a literal, and functions that return it.
func (e *editor) typedNames(set *matches) {
	t := set.want
	if t == nil {
		return
	}
	pointer := ""
	if p, ok := t.(*types.Pointer); ok {
		t, pointer = p.Elem(), "&"
	}
	n, ok := types.Unalias(t).(*types.Named)
	if !ok || n.Obj().Pkg() == nil || n.TypeArgs().Len() > 0 {
		return
	}
	qualifier := ""
	if pkg := n.Obj().Pkg(); pkg != e.prog.Package && !check.IsNative(pkg) {
		qualifier = pkg.Name() + "."
	}
	add := func(rank int, o types.Object, text, signature string) {
		// A name of another package is found without the package's name, too.
		if hasPrefixFold(text, set.prefix) || hasPrefixFold(o.Name(), set.prefix) {
			set.insert(rank, text, kindOf(o), signature)
		}
	}
	for i, c := range e.prog.ConstantsOf(t) {
		add(typedConstant+i, c, qualifier+c.Name(), typeText(t))
	}
	if _, ok := n.Underlying().(*types.Struct); ok {
		if n.Obj().Exported() || qualifier == "" {
			add(typedLiteral, n.Obj(), pointer+qualifier+n.Obj().Name()+"{", "")
		}
	}
	if qualifier == "" {
		return
	}
	for _, f := range e.prog.MakersOf(n) {
		if set.typed(0, f.Type()) < 0 {
			add(typedMaker, f, qualifier+f.Name(), signature(f))
		}
	}
}

// keysWith returns the keys that begin with a prefix as completions.
func keysWith(prefix string, list []string) (l []engine.Completion) {
	for _, key := range list {
		if hasPrefixFold(key, prefix) {
			l = append(l, engine.Completion{Text: key, Type: "key"})
		}
	}
	return l
}

// stringValues returns the completions of the string literal that begins at
// offset: the values that the function or field takes, by its documentation, or
// else the names of files.
func (e *editor) stringValues(code string, offset, cursor int) []engine.Completion {
	prefix := code[offset+1 : cursor]
	x, isKey := around(code, offset)
	if x != nil {
		as := columnNames
		if isKey {
			as = textKeys
		}
		if list := e.value(x, as); list != nil {
			return keysWith(prefix, list)
		}
	}
	if isKey {
		return nil // no file's name is a key
	}
	if want := e.expectedString(code, offset, cursor); want.of != nil {
		e.mu.Lock()
		_, doc := e.prog.DocOf(want.of)
		e.mu.Unlock()
		name := cmp.Or(want.param, want.of.Name())
		if values := listedValues(doc, name); len(values) > 0 {
			var l []engine.Completion
			for _, x := range values {
				if hasPrefixFold(x, prefix) {
					l = append(l, engine.Completion{Text: x, Type: "constant", Signature: name})
				}
			}
			return l
		}
	}
	return fileNames(prefix)
}

// expectedString returns what is expected at the string literal at offset.
func (e *editor) expectedString(code string, offset, cursor int) expectation {
	e.mu.Lock()
	defer e.mu.Unlock()
	end := cursor
	list, _, _ := cell.Tokens(code)
	for _, t := range list {
		if t.Offset == offset && closed(t.Text) {
			end = t.End
		}
	}
	line, col := cell.LineCol(code, offset)
	for _, text := range []string{code[:offset] + hole + code[end:], closeBrackets(code[:offset] + hole)} {
		v := e.prog.Look(text)
		if path := v.Find(line, col); path != nil {
			return expected(v, path)
		}
	}
	return expectation{}
}

// listedValues returns the values that a doc comment lists for a parameter or
// field: a, b and c for
//
//	mode is "a", "b" or "c"
func listedValues(doc, name string) []string {
	doc = strings.Join(strings.Fields(doc), " ")
	m := regexp.MustCompile(`(?:^|\W)` + regexp.QuoteMeta(name) + ` (?:is|are|may be|can be|must be) (?:one of |either )?((?:"[^"]*"(?:, or |, | or )?)+)`).FindStringSubmatch(doc)
	if m == nil {
		return nil
	}
	var values []string
	for _, q := range quoted.FindAllStringSubmatch(m[1], -1) {
		values = append(values, q[1])
	}
	if len(values) < 2 {
		return nil // an example
	}
	return values
}

var quoted = regexp.MustCompile(`"([^"]*)"`)

// mostFiles is how many names of files are offered.
const mostFiles = 500

// fileNames returns the names of files and folders that begin with prefix, the
// beginning of a path. Hidden ones are offered only after a dot.
func fileNames(prefix string) []engine.Completion {
	if strings.ContainsAny(prefix, "\x00\n\"`\\") || strings.Contains(prefix, "://") {
		return nil
	}
	dir, base := prefix[:strings.LastIndexByte(prefix, '/')+1], prefix[strings.LastIndexByte(prefix, '/')+1:]
	folder := cmp.Or(dir, ".")
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil
	}
	var l []engine.Completion
	for _, e := range entries {
		name := e.Name()
		if !strings.HasPrefix(name, base) || strings.HasPrefix(name, ".") && base == "" || strings.ContainsAny(name, "\"\\\n`") {
			continue
		}
		if len(l) == mostFiles {
			break
		}
		if info, err := os.Stat(filepath.Join(folder, name)); err == nil && info.IsDir() {
			l = append(l, engine.Completion{Text: dir + name + "/", Type: "folder"})
			continue
		}
		l = append(l, engine.Completion{Text: dir + name, Type: "file"})
	}
	return l
}
