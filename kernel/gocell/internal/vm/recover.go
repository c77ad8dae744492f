package vm

import (
	"reflect"
	"slices"
	"unsafe"

	"dace.local/kernel/gocell/internal/cell"
	"dace.local/kernel/gocell/rtype"
	"dace.local/kernel/gocell/symbols"
)

// recover stops a panic only in the function that a deferred call calls, which
// the interpreter guesses from where the function was written. Here a deferred
// call publishes the frame whose deferred calls are run, as the deferral of its
// goroutine's calls. A function that recovers consumes it as it begins; any other
// call on the way clears it.

// A deferral is a deferred call that has begun.
type deferral struct {
	frame  *runFrame // whose panic it may stop
	passes int       // calls that lead to the function
}

// runDeferred makes a deferred call of a frame. What it panics with takes the
// place of the panic under way, if any, and the next deferred call sees it.
// direct says that what it calls is a cell's. When the process would end, no
// deferred call is made. The library is called from the node at, unless there is a
// panic.
func runDeferred(frame *runFrame, direct bool, at node, call func(), inGo func(any) any) {
	if _, ends := recovered(frame.recovered).(Exit); ends {
		return
	}
	c := callsHere()
	var d *deferral
	if direct {
		d = &deferral{frame: frame}
	}
	outer := c.deferral
	c.deferral = d
	depth := 0
	if !direct && frame.recovered == nil {
		depth = c.enter(at)
	} else {
		depth = c.resume()
	}
	ok := false
	defer func() {
		c.deferral = outer
		c.leave(depth)
		if !ok {
			if v := recover(); v != nil {
				frame.recovered = inGo(v)
			}
		}
	}()
	call()
	ok = true
}

// deferred is called as a function begins that recovers: it returns the deferral
// by which it is called, or nil.
func deferred() *deferral {
	c := callsHere()
	d := c.deferral
	c.deferral = nil
	return d
}

// called clears the deferral as a function of a cell is called, unless it is on
// the way.
func (c *calls) called() {
	if c.deferral.passes > 0 {
		c.deferral.passes--
		return
	}
	c.deferral = nil
}

// forward lets a deferral through the next call: that of a function which a
// rewrite has wrapped.
func forward() {
	if d := callsHere().deferral; d != nil {
		d.passes = 1
	}
}

// recoverIn is recover in a function that took a deferral.
func recoverIn(d *deferral) any {
	if d == nil {
		return nil
	}
	v := recovered(d.frame.recovered)
	d.frame.recovered = nil
	if v != nil {
		forgetPanic()
	}
	callsHere().raised = [2]uintptr{}
	return v
}

// deferredBy runs the deferred calls of the body of a loop over a function, the
// last first, as those of the function around: d is that by which it is called.
func deferredBy(d *deferral, calls []func()) {
	for i := len(calls) - 1; i >= 0; i-- {
		runDeferred(d.frame, true, node{}, calls[i], func(v any) any { return v })
	}
}

// guardDefer guards a defer statement: the call runs by runDeferred. (The
// interpreter forgets the other deferred calls when one panics.)
func guardDefer(n node, run step) step {
	var literal func(unsafe.Pointer) reflect.Value
	if callee := n.children()[0]; callee.kind() == "funcLit" && !callsRecover(callee) {
		literal = genValue(callee.p)
	}
	return func(p unsafe.Pointer) step {
		f := (*runFrame)(p)
		before := len(f.deferred)
		next := run(p)
		if len(f.deferred) == before {
			return next
		}
		d := f.deferred[0]
		if literal != nil {
			// The interpreter's own would see the variables of the last round of a
			// loop, as they are when the function returns.
			d[0] = literal(p)
		}
		f.deferred[0] = []reflect.Value{reflect.ValueOf(func() {
			call := func() { d[0].Call(d[1:]) }
			if n.action() == "callSlice" {
				call = func() { d[0].CallSlice(d[1:]) }
			}
			if plain, ok := d[0].Interface().(func()); ok {
				call = plain // at less cost
			}
			runDeferred(f, ofCell(d[0]), n, call, func(v any) any { return inGo(n, p, v) })
		})}
		return next
	}
}

// callsRecover reports whether the interpreter's own recover is called below n: it
// wants the interpreter's own function.
func callsRecover(n node) bool {
	return isBuiltin(n, "recover") || slices.ContainsFunc(n.children(), callsRecover)
}

// ofCell reports whether a function may be a cell's: what compiled code calls in
// its turn cannot recover.
func ofCell(f reflect.Value) bool {
	h := rtype.RawOf(&f)
	if h.Flag&methodFlag == 0 {
		return f.Pointer() == interpretedCode || slices.Contains(nativeCodes, f.Pointer())
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

// tracksCalls reports whether a call is one of Deferred or Forward.
func tracksCalls(n node) bool {
	c := n.children()
	if len(c) == 0 || c[0].kind() != "selectorExpr" {
		return false
	}
	sel := c[0].children()
	return len(sel) == 2 && sel[0].ident() == cell.Runtime && (sel[1].ident() == "Deferred" || sel[1].ident() == "Forward")
}
