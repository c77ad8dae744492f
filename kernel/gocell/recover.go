package gocell

import (
	"go/ast"
	"go/token"
	"go/types"
	"reflect"
	"sync"
	"sync/atomic"
	"unsafe"

	"golang.org/x/tools/go/ast/astutil"

	"dace.local/kernel/gocell/rtype"
	"dace.local/kernel/gocell/symbols"
)

// recover stops a panic only in the function that a deferred call calls, which
// the interpreter guesses from where the function was written. Here such a
// call leaves word of the frame whose deferred calls are run; a function that
// recovers takes it as it begins, and any other call on the way withdraws it.

// A deferral is a deferred call that has begun.
type deferral struct {
	frame  unsafe.Pointer // whose panic it may stop
	passes int            // calls that lead to the function
}

// deferrals holds those of which no function has taken word yet, by goroutine;
// deferring is their number.
var (
	deferrals sync.Map // uintptr -> *deferral
	deferring atomic.Int32
)

// runDeferred makes a deferred call of a frame. What it panics with takes the
// place of the panic under way, if any, and the next deferred call sees it.
// direct says that what it calls is a cell's.
func runDeferred(frame unsafe.Pointer, direct bool, call func(), inGo func(any) any) {
	g := currentG()
	var d *deferral
	if direct {
		d = &deferral{frame: frame}
	}
	old, nested := deferrals.Swap(g, d)
	deferring.Add(1)
	ok := false
	defer func() {
		if nested {
			deferrals.Store(g, old)
		} else {
			deferrals.Delete(g)
		}
		deferring.Add(-1)
		if !ok {
			if v := recover(); v != nil {
				*(*any)(unsafe.Add(frame, layout.recovered)) = inGo(v)
			}
		}
	}()
	call()
	ok = true
}

// deferred is called as a function begins that recovers: it returns the deferral
// by which it is called, or nil.
func deferred() *deferral {
	if deferring.Load() == 0 {
		return nil
	}
	d, _ := deferrals.Load(currentG())
	if d == nil || d == (*deferral)(nil) {
		return nil
	}
	deferrals.Store(currentG(), (*deferral)(nil))
	return d.(*deferral)
}

// called notes that a function of a cell is called.
func called() {
	g := currentG()
	if d, _ := deferrals.Load(g); d != nil && d != (*deferral)(nil) {
		if d := d.(*deferral); d.passes > 0 {
			d.passes--
			return
		}
		deferrals.Store(g, (*deferral)(nil))
	}
}

// forward lets a deferral through the next call: that of a function which a
// rewrite has wrapped.
func forward() {
	if d, _ := deferrals.Load(currentG()); d != nil && d != (*deferral)(nil) {
		d.(*deferral).passes = 1
	}
}

// recoverIn is recover in a function that took a deferral.
func recoverIn(d *deferral) any {
	if d == nil {
		return nil
	}
	p := (*any)(unsafe.Add(d.frame, layout.recovered))
	v := recovered(*p)
	*p = nil
	return v
}

// deferredBy runs the deferred calls of the body of a loop over a function, the
// last first, as those of the function around: d is that by which it is called.
func deferredBy(d *deferral, calls []func()) {
	for i := len(calls) - 1; i >= 0; i-- {
		runDeferred(d.frame, true, calls[i], func(v any) any { return v })
	}
}

// guardDefer guards a defer statement: the call runs by runDeferred. (The
// interpreter forgets the other deferred calls when one panics.)
func guardDefer(n node, run step) step {
	return func(f unsafe.Pointer) step {
		list := (*[][]reflect.Value)(unsafe.Add(f, layout.deferred))
		before := len(*list)
		next := run(f)
		if len(*list) == before {
			return next
		}
		d := (*list)[0]
		(*list)[0] = []reflect.Value{reflect.ValueOf(func() {
			runDeferred(f, ofCell(d[0]), func() { d[0].Call(d[1:]) }, func(v any) any { return inGo(n, f, v) })
		})}
		return next
	}
}

// ofCell reports whether a function may be a cell's: what compiled code calls in
// its turn cannot recover.
func ofCell(f reflect.Value) bool {
	h := rtype.RawOf(&f)
	if h.Flag&methodFlag == 0 {
		return f.Pointer() == interpretedCode
	}
	// A method of the type of which this is the descriptor.
	recv := reflect.TypeOf(*(*any)(unsafe.Pointer(&[2]unsafe.Pointer{h.Type, nil})))
	if recv.Kind() == reflect.Pointer {
		recv = recv.Elem()
	}
	_, compiled := symbols.Name(recv.PkgPath())
	return recv.Kind() == reflect.Interface || !compiled
}

// interpretedCode is the code of all functions of the interpreter.
var interpretedCode = reflect.MakeFunc(reflect.TypeFor[func()](), func([]reflect.Value) []reflect.Value { return nil }).Pointer()

// methodFlag is the flag of a reflect.Value that is a method.
const methodFlag = 1 << 9

// tracksCalls reports whether a call is one of those above.
func tracksCalls(n node) bool {
	c := n.children()
	if len(c) == 0 || c[0].kind() != "selectorExpr" {
		return false
	}
	sel := c[0].children()
	return len(sel) == 2 && sel[0].ident() == rtAlias && (sel[1].ident() == "Deferred" || sel[1].ident() == "Forward")
}

// deferralName is what a function that recovers calls its deferral.
const deferralName = mark + "deferral"

// takesDeferral returns the statement with which such a function begins.
func (l *lowerer) takesDeferral(pos token.Pos) ast.Stmt {
	return maker{pos}.define(deferralName, call(l.rt("Deferred", pos), pos))
}

// recovers rewrites a call of recover, and notes the function around.
func (l *lowerer) recovers(c *astutil.Cursor, x *ast.CallExpr, ft *ast.FuncType, functions map[*ast.FuncType]bool) {
	m := maker{x.Pos()}
	from := "nil"
	if _, isGo := c.Parent().(*ast.GoStmt); ft != nil && !isGo {
		from = deferralName
		functions[ft] = true
	}
	y := call(l.rt("Recover", m.pos), m.pos, m.id(from))
	l.c.info.Types[y] = variableOf(types.Universe.Lookup("any").Type())
	c.Replace(y)
}

// begin makes a function that recovers take its deferral first.
func (l *lowerer) begin(body *ast.BlockStmt, recovers bool) {
	if recovers {
		body.List = append([]ast.Stmt{l.takesDeferral(body.Lbrace)}, body.List...)
	}
}

// noteRecovering notes the methods that recover: calls that a rewrite wraps let a
// deferral through to them.
func (l *lowerer) noteRecovering(d ast.Decl) {
	f, ok := d.(*ast.FuncDecl)
	if !ok || f.Recv == nil || f.Body == nil {
		return
	}
	ast.Inspect(f.Body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			return false
		case *ast.CallExpr:
			if id, ok := ast.Unparen(n.Fun).(*ast.Ident); ok && id.Name == "recover" {
				l.gen.s.recovering[f.Name.Name] = true
			}
		}
		return true
	})
}
