package vm

import (
	"runtime"
	"unsafe"
)

// startLiteral returns the step of go f(), where f is a function literal without
// parameters: rewritten cells have no others. The interpreter calls it by package
// reflect; plain is its step, for values of other types.
func startLiteral(n node, plain step) step {
	value, next := genValue(n.children()[0].p), getExec(n.tnext().p)
	return func(p unsafe.Pointer) step {
		f := (*runFrame)(p)
		f.mutex.Lock()
		v := value(p)
		f.mutex.Unlock()
		if !v.IsValid() || !v.CanInterface() {
			return plain(p)
		}
		call, ok := v.Interface().(func())
		if !ok || call == nil {
			return plain(p)
		}
		go begin(call)
		return next
	}
}

// begin calls a function in a goroutine whose stack has grown to what a call in
// the interpreter takes: it would grow several times, and be copied each time.
func begin(call func()) {
	growStack()
	call()
}

//go:noinline
func growStack() {
	var frames [8 << 10]byte
	runtime.KeepAlive(&frames)
}
