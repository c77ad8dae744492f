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
// those that would end the process, and that return the address of a function.
var placedMethods = regexp.MustCompile(`^\(\*sync\.(RW)?Mutex\)\.R?Unlock$|^\((\*testing\.common|testing\.TB)\)\.((Log|Error|Fatal|Skip)f?|Helper)$|^\(\*log\.Logger\)\.((Print|Panic)(f|ln)?|Output)$|^\(\*runtime\.(Func|Frames)\)\.(Name|Entry|FileLine|Next)$|^\(reflect\.Value\)\.(Unsafe)?Pointer$`)

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
	address, fields := g.receiver(s)
	if _, isPointer := f.Signature().Recv().Type().(*types.Pointer); !isPointer {
		address = "" // it may be a call
	}
	g.edits = append(g.edits, edit{x.X.Pos(), x.X.Pos(), func() string { return g.place(f) + "(" + address }})
	g.closes = append(g.closes, edit{x.X.End(), x.X.End(), func() string { return fields + ", " + strconv.Quote(f.Name()) + ")" }})
}

// receiver returns what a text before and one after the expression of a selection make it
// the receiver of the method, or its address.
func (g *generator) receiver(s *types.Selection) (address, fields string) {
	path := s.Index()[:len(s.Index())-1]
	t := s.Recv()
	for _, i := range path {
		u := t.Underlying()
		if p, ok := u.(*types.Pointer); ok {
			u = p.Elem().Underlying()
		}
		f := u.(*types.Struct).Field(i)
		if f.Pkg().Path() == "testing" {
			break // common, which has no exported name
		}
		name, ok := g.hidden(f)
		if !ok {
			name = f.Name()
		}
		t, fields = f.Type(), fields+"."+name
	}
	if _, isPointer := t.Underlying().(*types.Pointer); !isPointer && !types.IsInterface(t) {
		address = "&"
	}
	return address, fields
}

// StandsIn reports whether compiled cells with copies of types call another function for a
// method of the library that a call selects, as other cells do.
func (s *Set) StandsIn(info *types.Info, call *ast.CallExpr) (*types.Func, bool) {
	x, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return nil, false
	}
	sel := info.Selections[x]
	if sel == nil || sel.Kind() != types.MethodVal || types.IsInterface(sel.Recv()) {
		return nil, false
	}
	f := sel.Obj().(*types.Func)
	v, ok := s.StandIn(f)
	if _, isPointer := f.Signature().Recv().Type().(*types.Pointer); !ok || !isPointer || placedMethods.MatchString(f.FullName()) {
		return nil, false
	}
	t := v.Type()
	return f, t.In(0).Kind() == reflect.Pointer && t.NumIn() == f.Signature().Params().Len()+1
}

// standIn has a call of a method call what stands in for it: b.WriteString(s) becomes
// standin0(&b, s).
func (g *generator) standIn(call *ast.CallExpr) {
	f, ok := g.set.StandsIn(g.n.Info, call)
	if !ok || !g.n.Layout && f.FullName() != waitGroupGo {
		return
	}
	i := slices.Index(g.standIns, f)
	if i < 0 {
		i = len(g.standIns)
		g.standIns = append(g.standIns, f)
	}
	x := call.Fun.(*ast.SelectorExpr)
	address, fields := g.receiver(g.n.Info.Selections[x])
	if len(call.Args) > 0 {
		fields += ", "
	}
	g.edits = append(g.edits, edit{x.Pos(), x.Pos(), func() string { return standInName(i) + "(" + address }},
		edit{x.X.End(), call.Lparen + 1, func() string { return fields }})
}

func standInName(i int) string { return cell.Mark + "standin" + strconv.Itoa(i) }

// overrides reports whether cells have another function in place of one of the library
// that is not generic.
func (s *Set) overrides(f *types.Func) bool {
	if f.Pkg() == nil || f.Signature().TypeParams() != nil {
		return false
	}
	symbols := map[string]reflect.Value{}
	s.Library(f.Pkg().Path(), symbols)
	return symbols[f.Name()].IsValid()
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
	if !ok || !isFunc || f.Signature().Recv() != nil || !askingFunctions[f.FullName()] && !(g.n.Layout && g.set.overrides(f)) {
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
	for i, f := range g.standIns {
		sig := f.Signature()
		params := []*types.Var{sig.Recv()}
		for v := range sig.Params().Variables() {
			params = append(params, v)
		}
		t := types.NewSignatureType(nil, nil, nil, types.NewTuple(params...), sig.Results(), sig.Variadic())
		fmt.Fprintf(body, "var %s %s\n", standInName(i), g.typeText(t))
		fmt.Fprintf(table, "\t%q: &%s,\n", standInName(i), standInName(i))
	}
	g.n.StandIns = g.standIns
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

// Fits reports why a compiled cell that has been loaded cannot call what cells call in the
// place of functions of the library, or nil.
func (s *Set) Fits(n *check.Native) error {
	for i, f := range n.StandIns {
		if v, ok := s.StandIn(f); !ok || v.Type() != reflect.TypeOf(n.Table[standInName(i)]).Elem() {
			return fmt.Errorf("it calls %s, which the kernel replaces", f.FullName())
		}
	}
	for key, p := range n.Table {
		path, ok := strings.CutPrefix(key, placesKey)
		if !ok {
			continue
		}
		symbols := map[string]reflect.Value{}
		s.Library(path, symbols)
		for f, v := range reflect.ValueOf(p).Elem().Fields() {
			if x := symbols[f.Name]; !x.IsValid() || x.Type() != v.Type() {
				return fmt.Errorf("it calls %s.%s, which the kernel replaces", path, f.Name)
			}
		}
	}
	return nil
}

// setPlaces passes a compiled cell what its calls are exchanged by.
func (s *Set) setPlaces(n *check.Native) {
	if p, ok := n.Table[cell.Mark+"placed"].(*func(any, string) any); ok {
		*p = s.Placed
	}
	for i, f := range n.StandIns {
		v, _ := s.StandIn(f)
		reflect.ValueOf(n.Table[standInName(i)]).Elem().Set(v)
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
