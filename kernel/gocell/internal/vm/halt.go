package vm

import (
	"runtime"
	"sync/atomic"
	"time"
)

// Package code looks at each turn of a loop whether its cell is to stop. Compiled
// cells look at a flag at every turn of a loop, which is up while some cell of
// the machine is to stop.

const (
	// courtesy is how long compiled code may take to see by itself that its
	// context has ended.
	courtesy = 100 * time.Millisecond
	// linger is how long the flag stays up after the cell has ended, for the
	// goroutines that the cell has started.
	linger = time.Second
)

// halt puts the flag up for a cell that has been stopped, until it has ended.
func (m *Machine) halt(ended <-chan struct{}) {
	select {
	case <-ended:
	case <-time.After(courtesy):
	}
	atomic.AddUint32(&m.halting, 1)
	<-ended
	time.AfterFunc(linger, func() { atomic.AddUint32(&m.halting, ^uint32(0)) })
}

// Halting returns the flag: if it is not 0, a compiled loop calls CheckHalt.
func (m *Machine) Halting() *uint32 { return &m.halting }

// CheckHalt ends this goroutine if its cell has been stopped. Deferred functions
// run, and none can recover: in a goroutine of a library a panic would end the
// process.
func (m *Machine) CheckHalt() {
	c := m.Cell()
	if c == nil {
		return
	}
	select {
	case <-c.stop:
		if frames := m.hooks.CompiledUnderWay; frames != nil && c.main != nil && c.main.g == currentG() {
			for _, f := range frames() {
				c.StoppedHere(f.Pos)
			}
		}
		runtime.Goexit()
	default:
	}
}
