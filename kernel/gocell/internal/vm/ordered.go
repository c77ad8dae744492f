//go:build !race

package vm

// An ordered says nothing to the race detector, which is not there.
type ordered struct{}

func (*ordered) release() {}
func (*ordered) acquire() {}

// forgetCalls leaves a frame its calls: where the next goroutine has the same
// address, callsIn need not look them up.
func forgetCalls(*runFrame) {}
