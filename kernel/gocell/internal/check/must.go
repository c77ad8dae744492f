package check

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strconv"
	"strings"

	"dace.local/kernel/gocell/internal/cell"
)

// must is predeclared in cells: must(f()) has the results of f without the
// error that is the last of them, or fails the cell with that error. Go has no
// type for a function with any number of results, so there is one function for
// each number: must itself for one result beside the error, ˑmust0, ˑmust2 and
// so on for others. Cells only know the first; sizeMusts renames it in the
// syntax by the number of results of the argument.

// MustPath is the import path by which the prelude has the text of these
// functions. Cells cannot import it.
const MustPath = "gocell/builtin"

// maxMust is how many results must returns at most.
const maxMust = 8

// mustFuncs are the functions by the number of their results. They are in
// go/types' universe, so that they can be shadowed like any predeclared name.
var mustFuncs = declareMust()

func declareMust() (list [maxMust + 1]*types.Func) {
	pkg := types.NewPackage(MustPath, "builtin")
	pkg.MarkComplete()
	errType := types.Universe.Lookup("error").Type()
	variable := func(name string, t types.Type) *types.Var { return types.NewParam(token.NoPos, pkg, name, t) }
	for n := range list {
		var params []*types.TypeParam
		var in, out []*types.Var
		for i := range n {
			suffix := ""
			if n > 1 {
				suffix = strconv.Itoa(i + 1)
			}
			t := types.NewTypeParam(types.NewTypeName(token.NoPos, pkg, "T"+suffix, nil), types.Universe.Lookup("any").Type())
			params = append(params, t)
			in, out = append(in, variable("v"+suffix, t)), append(out, variable("", t))
		}
		in = append(in, variable("err", errType))
		sig := types.NewSignatureType(nil, nil, params, types.NewTuple(in...), types.NewTuple(out...), false)
		name := MustName(n)
		cell.Show(name, "must")
		list[n] = types.NewFunc(token.NoPos, pkg, name, sig)
		types.Universe.Insert(list[n])
	}
	return list
}

// MustName returns the name of the function for a number of results.
func MustName(results int) string {
	if results == 1 {
		return "must"
	}
	return cell.Mark + "must" + strconv.Itoa(results)
}

// MustResults returns how many results the predeclared must returns that o is.
// ok is false if o is something else.
func MustResults(o types.Object) (n int, ok bool) {
	f, ok := o.(*types.Func)
	if !ok || o.Parent() != types.Universe {
		return 0, false
	}
	for n, g := range mustFuncs {
		if f == g {
			return n, true
		}
	}
	return 0, false
}

// mustDoc documents must.
const mustDoc = `must returns the results of a call without the error that is the last of them.
If the error is not nil, must ends the cell with it:

	data := must(os.ReadFile("data.txt"))
	must(os.Remove("data.txt"))

It is predeclared in cells; in a Go program it has to be written.`

// usesMust reports whether names has one of the functions.
func usesMust(names map[string]bool) bool {
	return slices.ContainsFunc(mustFuncs[:], func(f *types.Func) bool { return names[f.Name()] })
}

// guessMusts renames the callees of calls of must whose values are assigned, or that are
// statements, so that sizeMusts seldom finds one to rename and has all of the cell
// checked again. It leaves all of them where the cell declares a must of its own.
func (k *checking) guessMusts() {
	if !k.used["must"] || k.p.Names["must"] != nil {
		return
	}
	others := 0 // identifiers must that are not called
	results := map[*ast.Ident]int{}
	called := func(x ast.Expr) (*ast.CallExpr, *ast.Ident) {
		if call, ok := ast.Unparen(x).(*ast.CallExpr); ok {
			if id := calledIdent(call.Fun); id != nil && id.Name == "must" {
				return call, id
			}
		}
		return nil, nil
	}
	visit := func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Ident:
			if n.Name == "must" {
				others++
			}
		case *ast.CallExpr:
			if _, id := called(n); id != nil {
				others--
			}
		case *ast.AssignStmt:
			if _, id := called(n.Rhs[0]); id != nil && len(n.Rhs) == 1 {
				results[id] = len(n.Lhs)
			}
		case *ast.ExprStmt:
			if call, id := called(n.X); id != nil {
				results[id] = k.resultsOf(call.Args)
			}
		}
		return true
	}
	for _, d := range k.all {
		ast.Inspect(d.Decl, visit)
	}
	ast.Inspect(k.body, visit)
	for id, n := range results {
		if others == 0 && n <= maxMust {
			id.Name = MustName(n)
		}
	}
}

// resultsOf returns how many results beside the error the call has that must is given,
// if it is of a package's function, else 0.
func (k *checking) resultsOf(args []ast.Expr) int {
	if len(args) != 1 || k.imports == nil {
		return 0
	}
	call, _ := args[0].(*ast.CallExpr)
	if call == nil {
		return 0
	}
	sel, _ := call.Fun.(*ast.SelectorExpr)
	if sel == nil {
		return 0
	}
	for _, s := range k.imports.Specs {
		s := s.(*ast.ImportSpec)
		if x, ok := sel.X.(*ast.Ident); ok && s.Name != nil && s.Name.Name == x.Name {
			if pkg, err := k.p.Importer.Import(ImportPath(s)); err == nil {
				if f, ok := pkg.Scope().Lookup(sel.Sel.Name).(*types.Func); ok {
					return max(0, f.Signature().Results().Len()-1)
				}
			}
		}
	}
	return 0
}

// sizeMusts renames the callees of calls of must to those for the number of
// results that the argument has; list holds the checker's errors. It reports
// whether there are any to rename: then the file must be checked again. Else it
// returns the errors with words of their own for calls of must.
func sizeMusts(info *types.Info, file ast.Node, list []types.Error) (again bool, _ []types.Error) {
	ast.Inspect(file, func(n ast.Node) bool {
		x, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		id := calledIdent(x.Fun)
		if id == nil {
			return true
		}
		have, ok := MustResults(info.Uses[id])
		if !ok {
			return true
		}
		given := givenTo(info, x)
		switch want := len(given) - 1; {
		case given == nil: // the argument itself is wrong
		case want < 0:
			list = mustError(list, x, "must has no argument: it takes a call that returns an error")
		case !types.AssignableTo(given[want], types.Universe.Lookup("error").Type()):
			list = mustError(list, x, fmt.Sprintf("must takes a call that returns an error: %s is of type %s",
				types.ExprString(x.Args[len(x.Args)-1]), types.TypeString(given[want], ShortName)))
		case want > maxMust:
			list = mustError(list, x, fmt.Sprintf("must takes at most %d results beside the error", maxMust))
		case want != have:
			id.Name = MustName(want)
			delete(info.Instances, id)
			again = true
		}
		return true
	})
	for i, e := range list {
		if strings.Contains(e.Msg, cell.Mark+"must") {
			list[i].Msg = cell.Clean(e.Msg)
		}
	}
	return again, list
}

// calledIdent returns the identifier that names what a call calls, with or
// without type arguments; nil if there is none.
func calledIdent(f ast.Expr) *ast.Ident {
	f = ast.Unparen(f)
	switch x := f.(type) {
	case *ast.IndexExpr:
		f = x.X
	case *ast.IndexListExpr:
		f = x.X
	}
	id, _ := f.(*ast.Ident)
	return id
}

// givenTo returns the types of the values that a call is given; nil if the
// checker does not know them.
func givenTo(info *types.Info, x *ast.CallExpr) []types.Type {
	given := []types.Type{}
	for _, a := range x.Args {
		switch t := info.TypeOf(a).(type) {
		case nil:
			return nil
		case *types.Tuple:
			for v := range t.Variables() {
				given = append(given, v.Type())
			}
			if t.Len() == 0 {
				return nil
			}
		default:
			if !info.Types[a].IsValue() || t == types.Typ[types.Invalid] {
				return nil
			}
			given = append(given, t)
		}
	}
	return given
}

// mustError replaces what the checker says of the arguments of must in a call.
func mustError(list []types.Error, x *ast.CallExpr, msg string) []types.Error {
	out := list[:0:0]
	found := false
	for _, e := range list {
		if x.Pos() <= e.Pos && e.Pos < x.End() && (strings.Contains(e.Msg, "call to ") || strings.Contains(e.Msg, "argument to ")) && strings.Contains(e.Msg, "must") {
			if found {
				continue
			}
			e.Pos, e.Msg, found = x.Pos(), msg, true
		}
		out = append(out, e)
	}
	return out
}
