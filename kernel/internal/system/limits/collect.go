package limits

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// heapGoal is the size up to which the heap may grow before garbage is
// collected, in bytes, even if little of it is live. With it, an ordinary cell
// takes 2.03 ms of processor time, not 2.32 (medians of three sessions in turn on
// a busy Zen 4; ipykernel 5.7), and a kernel's private memory after 600 cells is
// 49 MiB, not 25 (ipykernel: 53). GOGC=400 takes as long, and 58 MiB. With the
// shared pages of its file the kernel has 100 MiB, not 70 (ipykernel: 69).
// server/testdata/floors.py measures such cells.
const heapGoal = 40 << 20

// usualPercent is Go's own percentage; mostPercent bounds what small heaps get.
const usualPercent, mostPercent = 100, 400

// A pacer sets the percentage of garbage after every collection.
type pacer struct{ percent int }

// Pace lets small heaps grow to heapGoal before they are collected. Heaps above
// half of it are collected as in any Go program. An environment variable GOGC
// and a call of debug.SetGCPercent have precedence.
func Pace() {
	if os.Getenv("GOGC") == "" {
		(&pacer{usualPercent}).afterCollection()
	}
}

// afterCollection sets the percentage, and arranges to be called after the next
// collection: it is the finalizer of an object that nothing refers to.
func (p *pacer) afterCollection() {
	s := []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/gc/gogc:percent"}}
	metrics.Read(s)
	if s[1].Value.Uint64() != uint64(p.percent) {
		return // somebody else has set it
	}
	if percent := percentFor(s[0].Value.Uint64()); percent != p.percent {
		debug.SetGCPercent(percent)
		p.percent = percent
	}
	type sentinel struct{ p *pacer }
	runtime.SetFinalizer(&sentinel{p}, func(s *sentinel) { s.p.afterCollection() })
}

// percentFor returns the percentage for a heap of which so many bytes are live,
// in steps of 50, because setting it stops the world.
func percentFor(live uint64) int {
	if live == 0 { // before the first collection
		return mostPercent
	}
	percent := 100*heapGoal/int(min(live, heapGoal)) - 100
	return min(max(percent/50*50, usualPercent), mostPercent)
}
