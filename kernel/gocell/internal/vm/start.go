package vm

import "runtime"

// start runs a function of a cell in a goroutine of its own, where a panic is
// reported and does not end the process. The goroutine's stack has grown to what a
// call in the interpreter takes: it would grow several times, and be copied each
// time. A loop that starts goroutines may use up the memory between two readings of
// watchMemory, so their memory is counted.
func (m *Machine) start(call func()) {
	m.spend(goroutineSize)
	sample := m.sampleGoroutine()
	m.Go(func() {
		growStack()
		defer sample()()
		m.Guarded(call)()
	})
}

// Go runs f in a goroutine of the cell; see Cell.Lasts.
func (m *Machine) Go(f func()) {
	c := m.Cell()
	c.others.Add(1)
	go func() {
		defer c.others.Add(-1)
		f()
	}()
}

// CompiledGoroutine notes that compiled code of this goroutine's cell has started so many
// goroutines; -1 says that this one ends.
func (m *Machine) CompiledGoroutine(n int32) {
	if c := m.Cell(); c != nil {
		c.others.Add(n)
	}
}

// goroutineSize is what a goroutine counts for in spend, in bytes. It takes two to
// four times as much; a look at the memory after a thousand is often enough.
const goroutineSize = 8 << 10

//go:noinline
func growStack() {
	var frames [8 << 10]byte
	runtime.KeepAlive(&frames)
}
