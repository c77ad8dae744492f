package compiled

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"maps"
	"slices"
	"strings"

	"dace.local/kernel/gocell/internal/cell"
	"dace.local/kernel/gocell/internal/check"
)

// What a session compiles by itself takes the locks by which goroutines of cells share
// maps (vm.LockMap) as other code does, while there is more than one: an operation on a
// map becomes the call of a function for the map's type.

// A mapUse is an operation on a map: its kind is the name of the function that it becomes.
type mapUse struct {
	kind string
	node ast.Node
	t    types.Type // of the map
	tok  token.Token
}

// mapUses returns the operations on maps of a compiled cell, and why one of them cannot
// become a call, or "". replaced reports whether cells have another function, which takes
// the locks, in the place of one of the library.
//
// Long: a case for each kind of syntax.
func mapUses(n *check.Native, holdsMap func(types.Type) bool, replaced func(*types.Func) bool) (uses []mapUse, bad string) {
	isMap := func(x ast.Expr) (t types.Type, ok bool) {
		if t = n.Info.TypeOf(x); t == nil || n.Info.Types[x].IsType() {
			return nil, false
		}
		_, ok = t.Underlying().(*types.Map)
		return t, ok
	}
	element := func(x ast.Expr) (*ast.IndexExpr, types.Type) {
		if i, ok := ast.Unparen(x).(*ast.IndexExpr); ok {
			if t, ok := isMap(i.X); ok {
				return i, t
			}
		}
		return nil, nil
	}
	done := map[ast.Node]bool{}
	use := func(kind string, node ast.Node, t types.Type, tok token.Token) {
		if open(t, map[types.Type]bool{}) {
			bad = "it uses a map of a type that is not known outside of a function"
		}
		uses = append(uses, mapUse{kind, node, t, tok})
		done[node] = true
	}
	pair := func(values []ast.Expr) {
		if i, t := element(values[0]); i != nil && !done[i] {
			use("look", i, t, 0)
		}
	}
	for _, d := range n.Decls {
		check.Conversions(n.Info, d.Decl, func(c check.Interfaced) {
			if _, param := types.Unalias(c.From).(*types.TypeParam); c.Call == nil && (param || holdsMap(c.From)) {
				bad = "a map goes into an interface"
			}
		})
		ast.Inspect(d.Decl, func(x ast.Node) bool {
			switch x := x.(type) {
			case *ast.AssignStmt:
				for _, l := range x.Lhs {
					i, t := element(l)
					switch {
					case i == nil:
					case i != l || len(x.Lhs) > 1 || x.Tok == token.SHL_ASSIGN || x.Tok == token.SHR_ASSIGN || isString(n.Info.TypeOf(i)) && x.Tok != token.ASSIGN:
						bad = "it assigns to an element of a map and more"
					case x.Tok == token.ASSIGN:
						use("set", x, t, 0)
						done[i] = true
					default:
						use("change", x, t, x.Tok)
						done[i] = true
					}
				}
				if len(x.Lhs) == 2 && len(x.Rhs) == 1 {
					pair(x.Rhs)
				}
			case *ast.ValueSpec:
				if len(x.Names) == 2 && len(x.Values) == 1 {
					pair(x.Values)
				}
			case *ast.IncDecStmt:
				if i, t := element(x.X); i != nil {
					use("change", x, t, map[token.Token]token.Token{token.INC: token.ADD_ASSIGN, token.DEC: token.SUB_ASSIGN}[x.Tok])
					if done[i] = true; i != x.X {
						bad = "it assigns to an element of a map and more"
					}
				}
			case *ast.RangeStmt:
				for _, v := range []ast.Expr{x.Key, x.Value} {
					if v != nil {
						if i, _ := element(v); i != nil {
							bad = "it assigns to an element of a map and more"
						}
					}
				}
				if t, ok := isMap(x.X); ok {
					use("each", x, t, 0)
				}
			case *ast.IndexExpr:
				if t, ok := isMap(x.X); ok && !done[x] {
					use("get", x, t, 0)
				}
			case *ast.CallExpr:
				fun := n.Info.Types[x.Fun]
				switch {
				case fun.IsType() || len(x.Args) == 0:
				case fun.IsBuiltin():
					id, _ := ast.Unparen(x.Fun).(*ast.Ident)
					if t, ok := isMap(x.Args[0]); ok && id != nil && slices.Contains([]string{"delete", "len", "clear"}, id.Name) {
						use(id.Name, x, t, 0)
					}
				default:
					f := check.Called(n.Info, x)
					if f != nil && (f.Pkg() == n.Package || replaced(f)) {
						break
					}
					if slices.ContainsFunc(x.Args, func(a ast.Expr) bool { t := n.Info.TypeOf(a); return t != nil && holdsMap(t) }) {
						bad = "it calls another function with a map"
					}
				}
			}
			return true
		})
	}
	return uses, bad
}

func isString(t types.Type) bool {
	b, ok := t.Underlying().(*types.Basic)
	return ok && b.Info()&types.IsString != 0
}

// Unguarded returns why the maps that a compiled cell uses cannot be locked, or "".
func (s *Set) Unguarded(n *check.Native, holdsMap func(types.Type) bool, replaced func(*types.Func) bool) string {
	_, bad := mapUses(n, holdsMap, replaced)
	return bad
}

// guardMaps adds the ends of the calls that operations on maps become, and returns the
// edits that are to follow all others at their places.
func (g *generator) guardMaps() (edits []edit) {
	if !g.n.Guarded {
		return nil
	}
	g.mapTexts = map[string]string{}
	uses, _ := mapUses(g.n, func(types.Type) bool { return false }, func(*types.Func) bool { return true })
	for _, u := range uses {
		name := g.mapFunction(u)
		at := func(from, to token.Pos, text string) {
			edits = append(edits, edit{from, to, func() string { return text }})
		}
		index := func(i *ast.IndexExpr, to token.Pos, end string) {
			at(i.X.Pos(), i.X.Pos(), name+"(")
			at(i.Lbrack, i.Lbrack+1, ", ")
			at(i.Rbrack, to, end)
		}
		switch x := u.node.(type) {
		case *ast.AssignStmt:
			index(x.Lhs[0].(*ast.IndexExpr), x.Rhs[0].Pos(), ", ")
			g.closes = append(g.closes, edit{x.Rhs[0].End(), x.Rhs[0].End(), func() string { return ")" }})
		case *ast.IncDecStmt:
			index(x.X.(*ast.IndexExpr), x.End(), ", 1)")
		case *ast.IndexExpr:
			index(x, x.Rbrack+1, ")")
		case *ast.RangeStmt:
			at(x.X.Pos(), x.X.Pos(), name+"(")
			g.closes = append(g.closes, edit{x.X.End(), x.X.End(), func() string { return ")" }})
		case *ast.CallExpr:
			at(x.Fun.Pos(), x.Fun.End(), name)
		}
	}
	return edits
}

// mapFunction returns the name of the function for an operation on a map.
func (g *generator) mapFunction(u mapUse) string {
	t := u.t.Underlying().(*types.Map)
	of := g.typeText(u.t)
	if !slices.Contains(g.mapTypes, of) {
		g.mapTypes = append(g.mapTypes, of)
	}
	name := fmt.Sprintf("%smap%s%d", cell.Mark, u.kind, slices.Index(g.mapTypes, of))
	if u.tok != 0 {
		name += fmt.Sprint("_", int(u.tok))
	}
	params, results, do, names := "k "+g.typeText(t.Key()), "", "", []string{"m", "k"}
	v := ", v " + g.typeText(t.Elem())
	write := true
	switch u.kind {
	case "get":
		results, do, write = g.typeText(t.Elem()), "return m[k]", false
	case "look":
		results, do, write = "(v "+g.typeText(t.Elem())+", ok bool)", "v, ok = m[k]; return", false
	case "set":
		params, do, names = params+v, "m[k] = v", append(names, "v")
	case "change":
		params, do, names = params+v, "m[k] "+u.tok.String()+" v", append(names, "v")
	case "delete":
		do = "delete(m, k)"
	case "len":
		params, results, do, write, names = "", "int", "return len(m)", false, names[:1]
	case "clear":
		params, do, names = "", "clear(m)", names[:1]
	case "each":
		look := g.mapFunction(mapUse{kind: "look", t: u.t})
		g.mapTexts[name] = fmt.Sprintf("func %s(m %s) func(func(%s, %s) bool) { return func(yield func(%[3]s, %[4]s) bool) {\n"+
			"\tfor _, k := range %[5]smapKeys(m) { if v, ok := %[6]s(m, k); ok && !yield(k, v) { return } }\n} }\n",
			name, of, g.typeText(t.Key()), g.typeText(t.Elem()), cell.Mark, look)
		return name
	}
	g.mapTexts[name] = fmt.Sprintf("func %s(m %s, %s) %s { if %[5]sothers.Load() == 0 { %[6]s }; %[7]s }\n"+
		"func %[1]sL(m %[2]s, %[3]s) %[4]s { l := %[5]slockMap(*(*%[5]sunsafe.Pointer)(%[5]sunsafe.Pointer(&m)), %[8]v); defer %[5]sunlockMap(l, %[8]v); %[9]s }\n",
		name, of, params, results, cell.Mark, alone(do), locked(name, results, names), write, do)
	return name
}

// alone returns a statement after which the function returns.
func alone(do string) string {
	if strings.Contains(do, "return") {
		return do
	}
	return do + "; return"
}

// locked returns the call of the function that does so with a lock.
func locked(name, results string, params []string) string {
	call := name + "L(" + strings.Join(params, ", ") + ")"
	if results == "" {
		return call
	}
	return "return " + call
}

// declareMaps writes those functions.
func (g *generator) declareMaps(body, table *bytes.Buffer) {
	if !g.n.Guarded {
		return
	}
	g.imports[cell.Mark+"unsafe"], g.imports[cell.Mark+"atomic"] = "unsafe", "sync/atomic"
	fmt.Fprintf(body, `var %[1]sothers = new(%[1]satomic.Int32)
var %[1]slockMap func(%[1]sunsafe.Pointer, bool) int
var %[1]sunlockMap func(int, bool)
func %[1]smapKeys[M ~map[K]V, K comparable, V any](m M) (keys []K) {
	if %[1]sothers.Load() != 0 {
		l := %[1]slockMap(*(*%[1]sunsafe.Pointer)(%[1]sunsafe.Pointer(&m)), false)
		defer %[1]sunlockMap(l, false)
	}
	keys = make([]K, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	return keys
}
`, cell.Mark)
	for _, key := range []string{"others", "lockMap", "unlockMap"} {
		fmt.Fprintf(table, "\t%q: &%[1]s,\n", cell.Mark+key)
	}
	for _, name := range slices.Sorted(maps.Keys(g.mapTexts)) {
		body.WriteString(g.mapTexts[name])
	}
}
