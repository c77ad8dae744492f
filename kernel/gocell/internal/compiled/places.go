package compiled

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/types"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"dace.local/kernel/gocell/internal/cell"
	"dace.local/kernel/gocell/internal/check"
	"dace.local/kernel/gocell/internal/std"
)

// Functions and methods that name the place of their call would name the file that is
// built, and those that print would do so into the cell that runs, which need not be that
// of their goroutine. Compiled cells call those that interpreted cells have.

// placeText declares what a method's receiver is exchanged by; %[1]s is cell.Mark.
const placeText = `var %[1]splaced = func(x any, method string) any { return x }
func %[1]splace[T any](x T, method string) T {
	if y, ok := %[1]splaced(x, method).(T); ok {
		return y
	}
	return x
}
`

// placedMethods are the methods of the library that name the place of their call, and
// those that would end the process.
var placedMethods = regexp.MustCompile(`^\(\*sync\.(RW)?Mutex\)\.R?Unlock$|^\((\*testing\.common|testing\.TB)\)\.((Log|Error|Fatal|Skip)f?|Helper)$|^\(\*log\.Logger\)\.((Print|Panic)(f|ln)?|Output)$|^\(\*runtime\.(Func|Frames)\)\.(Name|Entry|FileLine|Next)$`)

// askingFunctions are the functions of the library that do so, or return what others
// need for that, and those that print.
var askingFunctions = map[string]bool{"fmt.Print": true, "fmt.Printf": true, "fmt.Println": true, "log.Print": true, "log.Printf": true, "log.Println": true, "log.Panic": true, "log.Panicf": true, "log.Panicln": true,
	"log.Output": true, "log/slog.NewTextHandler": true, "log/slog.NewJSONHandler": true, "runtime.Caller": true,
	"runtime.Callers": true, "runtime.CallersFrames": true, "runtime.FuncForPC": true}

// placedMethod has a method name the place in the cell: t.Log(x) becomes
// place[interface{ Log(...any) }](t, "Log").Log(x).
func (g *generator) placedMethod(x *ast.SelectorExpr) {
	s := g.n.Info.Selections[x]
	if s == nil || s.Kind() == types.FieldVal {
		return
	}
	f := s.Obj().(*types.Func)
	if !placedMethods.MatchString(f.FullName()) && std.PlacedIn(f) == "" {
		return
	}
	g.places = true
	if s.Kind() == types.MethodExpr {
		g.placedExpression(x, f)
		return
	}
	path := s.Index()[:len(s.Index())-1]
	t, fields := s.Recv(), ""
	for _, i := range path {
		u := t.Underlying()
		if p, ok := u.(*types.Pointer); ok {
			u = p.Elem().Underlying()
		}
		f := u.(*types.Struct).Field(i)
		if f.Pkg().Path() == "testing" {
			break // common, which has no exported name
		}
		name, ok := hiddenMember(g.n.Package, f)
		if !ok {
			name = f.Name()
		}
		t, fields = f.Type(), fields+"."+name
	}
	address := ""
	if _, isPointer := t.Underlying().(*types.Pointer); !isPointer && !types.IsInterface(t) {
		address = "&"
	}
	g.edits = append(g.edits, edit{x.X.Pos(), x.X.Pos(), func() string { return g.place(f) + "(" + address }})
	g.closes = append(g.closes, edit{x.X.End(), x.X.End(), func() string { return fields + ", " + strconv.Quote(f.Name()) + ")" }})
}

// place returns the instance of place that exchanges a value for one with the method f.
func (g *generator) place(f *types.Func) string {
	return cell.Mark + "place[interface{ " + f.Name() + strings.TrimPrefix(g.signature(f), "func") + " }]"
}

// placedExpression does so for a method expression: T.Log becomes
// func(r T, p0 ...any) { place[interface{ Log(...any) }](r, "Log").Log(p0...) }.
func (g *generator) placedExpression(x *ast.SelectorExpr, f *types.Func) {
	g.edits = append(g.edits, edit{x.X.Pos(), x.X.Pos(), func() string { return "(func(" + cell.Mark + "r " }},
		edit{x.X.End(), x.Sel.End(), func() string {
			sig := f.Signature()
			params, args, give := "", "", ""
			for i := range sig.Params().Len() {
				name := cell.Mark + "p" + strconv.Itoa(i)
				text := g.typeText(sig.Params().At(i).Type())
				if args += name + ", "; sig.Variadic() && i == sig.Params().Len()-1 {
					text, args = "..."+strings.TrimPrefix(text, "[]"), args[:len(args)-2]+"..."
				}
				params += ", " + name + " " + text
			}
			if sig.Results().Len() > 0 {
				give = "return "
			}
			return params + ") " + g.results(sig) + "{ " + give + g.place(f) + "(" + cell.Mark + "r, " + strconv.Quote(f.Name()) + ")." + f.Name() + "(" + args + ") })"
		}})
}

// results returns the results of a function without parameters as a text.
func (g *generator) results(sig *types.Signature) string {
	text := g.typeText(types.NewSignatureType(nil, nil, nil, nil, sig.Results(), false))
	return strings.TrimPrefix(text, "func()") + " "
}

// signature returns the type of a function or method as a text.
func (g *generator) signature(f *types.Func) string {
	sig := f.Signature()
	return g.typeText(types.NewSignatureType(nil, nil, nil, sig.Params(), sig.Results(), sig.Variadic()))
}

// placedFunction does so for a function: log.Print(x) becomes places_log.Print(x).
func (g *generator) placedFunction(x *ast.SelectorExpr) {
	id, ok := x.X.(*ast.Ident)
	f, isFunc := g.n.Info.Uses[x.Sel].(*types.Func)
	if !ok || !isFunc || f.Signature().Recv() != nil || !askingFunctions[f.FullName()] {
		return
	}
	path := f.Pkg().Path()
	g.asks[id] = true
	if g.asking[path] == nil {
		g.asking[path] = map[string]string{}
	}
	g.asking[path][f.Name()] = g.signature(f)
}

// placesOf is the variable that holds the functions of a package.
func placesOf(path string) string {
	return cell.Mark + "places_" + strings.ReplaceAll(path, "/", "_")
}

// declarePlaces writes what these call.
func (g *generator) declarePlaces(body, table *bytes.Buffer) {
	if g.places {
		fmt.Fprintf(body, placeText, cell.Mark)
		fmt.Fprintf(table, "\t%q: &%[1]s,\n", cell.Mark+"placed")
	}
	for _, path := range slices.Sorted(maps.Keys(g.asking)) {
		fmt.Fprintf(body, "var %s struct {\n", placesOf(path))
		for _, name := range slices.Sorted(maps.Keys(g.asking[path])) {
			fmt.Fprintf(body, "\t%s %s\n", name, g.asking[path][name])
		}
		fmt.Fprintf(body, "}\n")
		fmt.Fprintf(table, "\t%q: &%s,\n", placesKey+path, placesOf(path))
	}
}

// placesKey is what the names in the table begin with of the functions of packages.
const placesKey = cell.Mark + "places "

// setPlaces passes a compiled cell what its calls are exchanged by.
func (s *Set) setPlaces(n *check.Native) {
	if p, ok := n.Table[cell.Mark+"placed"].(*func(any, string) any); ok {
		*p = s.Placed
	}
	for key, p := range n.Table {
		path, ok := strings.CutPrefix(key, placesKey)
		if !ok {
			continue
		}
		symbols := map[string]reflect.Value{}
		s.Library(path, symbols)
		for f, v := range reflect.ValueOf(p).Elem().Fields() {
			v.Set(symbols[f.Name])
		}
	}
}
