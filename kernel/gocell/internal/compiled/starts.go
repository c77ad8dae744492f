package compiled

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/types"
	"strings"

	"dace.local/kernel/buildinfo"
	"dace.local/kernel/gocell/internal/cell"
	"dace.local/kernel/gocell/internal/check"
)

// MayStart reports whether a function or method of a library may call a function that it is
// given in another goroutine, where nothing recovers a panic. Those of dacelib recover them,
// and [waitGroupGo] has a stand-in.
func MayStart(f *types.Func) bool {
	switch path := f.Pkg().Path(); {
	case path == "time" || path == "context":
		return f.Name() == "AfterFunc"
	case path == "net/http" || strings.HasPrefix(path, "net/http/") || path == "runtime" || path == "testing":
		return true
	default:
		host, _, _ := strings.Cut(path, "/")
		return strings.Contains(host, ".") && !strings.HasPrefix(path, buildinfo.Module()+"/")
	}
}

// waitGroupGo has a stand-in, for a Done too many; what it calls is wrapped for its frames.
const waitGroupGo = "(*sync.WaitGroup).Go"

// guardText declares what functions given to such a function are wrapped in: where another
// goroutine calls them, a panic is the cell's. nil stays nil where the library may allow it;
// %[1]s is cell.Mark.
const guardText = `var %[1]shere func() uintptr
func %[1]sguarded(f func(), optional bool) func() {
	if f == nil && optional {
		return nil
	}
	here := %[1]shere()
	return func() {
		if %[1]shere() != here {
			%[1]sstarted()
			defer %[1]srecover()
		}
		f()
	}
}
func %[1]sguardedError(f func() error, optional bool) func() error {
	if f == nil && optional {
		return nil
	}
	here := %[1]shere()
	return func() error {
		if %[1]shere() != here {
			%[1]sstarted()
			defer %[1]srecover()
		}
		return f()
	}
}
`

// startsOthers wraps the functions of the two usual types that a call gives to a function of
// a library that may call them in another goroutine: time.AfterFunc(d, f) becomes
// time.AfterFunc(d, guarded(f, false)).
func (g *generator) startsOthers(call *ast.CallExpr) {
	f := check.Called(g.n.Info, call)
	if g.n.Layout || f == nil || f.Pkg() == nil || !MayStart(f) && f.FullName() != waitGroupGo {
		return
	}
	sig := g.n.Info.TypeOf(call.Fun).(*types.Signature)
	optional := strings.Contains(f.Pkg().Path(), ".") // the standard library calls a nil function, too
	for i, a := range call.Args {
		t := g.n.Info.TypeOf(a)
		if last := sig.Params().Len() - 1; i < last || !sig.Variadic() {
			t = sig.Params().At(min(i, last)).Type()
		} else if !call.Ellipsis.IsValid() {
			t = sig.Params().At(last).Type().(*types.Slice).Elem()
		}
		name := ""
		switch types.TypeString(t.Underlying(), nil) {
		case "func()":
			name = "guarded("
		case "func() error":
			name = "guardedError("
		}
		if name == "" || g.n.Info.Types[a].IsNil() {
			continue
		}
		g.guards = true
		g.edits = append(g.edits, edit{a.Pos(), a.Pos(), func() string { return cell.Mark + name }})
		g.closes = append(g.closes, edit{a.End(), a.End(), func() string { return fmt.Sprintf(", %t)", optional) }})
	}
}

// declareGuards writes what these call.
func (g *generator) declareGuards(body, table *bytes.Buffer) {
	if g.guards {
		fmt.Fprintf(body, guardText, cell.Mark)
		fmt.Fprintf(table, "\t%q: &%[1]s,\n", cell.Mark+"here")
	}
}
