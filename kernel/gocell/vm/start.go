package vm

import "runtime"

// start runs a function of a cell in a goroutine of its own, where a panic is
// reported and does not end the process. The goroutine's stack has grown to what a
// call in the interpreter takes: it would grow several times, and be copied each
// time.
func (m *Machine) start(call func()) {
	go func() {
		growStack()
		m.Guarded(call)()
	}()
}

//go:noinline
func growStack() {
	var frames [8 << 10]byte
	runtime.KeepAlive(&frames)
}
