package code

import (
	"sync/atomic"
	"testing"
)

// Goroutines that share a place of the table look at each other's states, which may
// begin and end meanwhile. The race detector sees whether that is allowed.
func TestSharedPlace(t *testing.T) {
	var calls atomic.Uintptr
	m := &Machine{Here: func() (used, id uintptr) { return 0, 1 + calls.Add(1)%100 }}
	done := make(chan bool)
	go func() {
		defer close(done)
		for range 1000 {
			g := m.NewG()
			m.begin(g)
			m.end(g)
			g.Free()
		}
	}()
	for looking := true; looking; {
		select {
		case <-done:
			looking = false
		default:
			m.here()
		}
	}
	if g := m.table.near[place(1)].Load(); g != nil && g.id.Load() != 0 {
		t.Errorf("a goroutine that is over left its state, of %d", g.id.Load())
	}
}

// The state of a goroutine that is over is not found, although another has just put it
// back where it looks first.
func TestOverIsGone(t *testing.T) {
	m := &Machine{Here: func() (used, id uintptr) { return 0, 1 }}
	g := m.NewG()
	m.begin(g)
	if m.here() != g {
		t.Error("the state of a goroutine is not found")
	}
	m.end(g)
	m.table.near[place(1)].Store(g)
	if m.here() != nil {
		t.Error("a goroutine that is over has a state")
	}
}
