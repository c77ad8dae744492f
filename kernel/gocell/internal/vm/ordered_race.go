//go:build race

package vm

import "sync/atomic"

// An ordered tells the race detector that what a goroutine did before release
// came before what another does after acquire. The run time sees to that order
// itself where one goroutine gets the address of another that has ended.
type ordered struct{ n atomic.Uint32 }

func (o *ordered) release() { o.n.Add(1) }
func (o *ordered) acquire() { o.n.Load() }

// forgetCalls takes its calls from a frame that is put by. The next goroutine may
// have the same address: it has to get them by callsHere, which acquires them.
func forgetCalls(f *runFrame) { f.debug = nil }
