package vm

import (
	"errors"
	"fmt"
	"math"
	"runtime/debug"
	"runtime/metrics"
	"time"

	"dace.local/kernel/internal/system/limits"
)

// A cell that uses up the memory is stopped before the system kills the kernel:
// while a cell runs, the available memory is read many times a second, and a
// single large allocation is compared with it beforehand.

const (
	memoryInterval = 50 * time.Millisecond
	memoryReserve  = 512 << 20 // bytes to be left, or a sixteenth of all where that is less
	smallSize      = 1 << 10   // bytes; a smaller allocation is not counted
	fastest        = 32 << 30  // bytes a second that a cell may use up
	largeSize      = 16 << 20  // bytes; a smaller allocation is counted, and not compared
)

// ErrMemory and ErrThreads are why a cell was ended that has used up the memory, or
// the threads.
var ErrMemory, ErrThreads = errors.New("the cell was stopped"), errors.New("the cell was stopped")

// outOfMemory returns an error that wraps ErrMemory and names the limit.
func outOfMemory(l limits.Limit) error {
	return fmt.Errorf("%w: the memory of %s (%s) is nearly used up; what the cell did up to there is kept, and memory that nothing refers to is free again",
		ErrMemory, l.Name, limits.Bytes(float64(l.Total)))
}

// outOfThreads returns an error that wraps ErrThreads and names the limit.
func outOfThreads(l limits.Limit) error {
	return fmt.Errorf("%w: %d of the %d threads that %s allows are in use; each system call that blocks takes one, and keeps it",
		ErrThreads, l.Total-l.Available, l.Total, l.Name)
}

// moreThreads is how many threads a cell may start before their limits are looked at,
// and threadReserve how many are to be left, or a quarter of all.
const moreThreads, threadReserve = 8, 1000

// threads returns how many threads the process has.
func threads() int64 { return heap("/sched/threads/total:threads") }

// memory returns the limits on the memory of this process. Memory that Go's run
// time holds and does not use counts as available.
func memory() []limits.Limit {
	free, released := heap("/memory/classes/heap/free:bytes"), heap("/memory/classes/heap/released:bytes")
	all := limits.All()
	for i := range all {
		l := &all[i]
		if l.Available += free; l.AddressSpace {
			l.Available += released
		}
		l.Available = min(l.Available, l.Total)
	}
	return all
}

// heap returns one of the numbers of package metrics.
func heap(name string) int64 {
	sample := []metrics.Sample{{Name: name}}
	metrics.Read(sample)
	return int64(sample[0].Value.Uint64())
}

// inUse returns the bytes of the heap's objects and of the goroutines' stacks.
func inUse() int64 {
	return heap("/memory/classes/heap/objects:bytes") + heap("/memory/classes/heap/stacks:bytes")
}

// watchMemory stops the cell when memory or threads run out, until done is closed.
func (m *Machine) watchMemory(c *Cell, done <-chan struct{}) {
	before, started := inUse(), threads()
	tick := time.NewTicker(memoryInterval / 16)
	defer tick.Stop()
	paced := time.Now().Add(memoryInterval - time.Second)
	for {
		select {
		case <-done:
			return
		case now := <-tick.C:
			if now.Sub(paced) > time.Second {
				m.paceCollector()
				paced = now
			}
		}
		l, short := scarce(m.Memory())
		switch n := threads(); {
		case n-started >= moreThreads && m.threadsScarce(c, n):
			return
		case short:
			if m.blame(c, l, before) {
				return
			}
			tick.Reset(memoryInterval)
		case l.Available < 4*reserve(l) || n-started >= moreThreads:
			tick.Reset(memoryInterval / 16)
		default:
			left := time.Duration(float64(l.Available-reserve(l)) / fastest * float64(time.Second))
			tick.Reset(min(memoryInterval, max(memoryInterval/16, left)))
		}
	}
}

// threadsScarce ends the cell, which has started threads, if few are left. n is how
// many there are.
func (m *Machine) threadsScarce(c *Cell, n int64) bool {
	l := limits.Threads(n)
	if !fewThreads(l) {
		return false
	}
	c.cancel(outOfThreads(l))
	m.stopRuns()
	return true
}

// fewThreads reports whether less than the reserve of threads is left.
func fewThreads(l limits.Limit) bool { return l.Available < min(threadReserve, l.Total/4) }

// paceCollector has the garbage collector run often enough that garbage is not
// what uses up the memory: where memory is scarce then, there is no garbage.
func (m *Machine) paceCollector() {
	l := least(m.Memory())
	if l.Available == maxAlloc {
		return
	}
	held := heap("/memory/classes/total:bytes") - heap("/memory/classes/heap/released:bytes") - heap("/memory/classes/heap/free:bytes")
	m.pacing.Do(func() { m.ownLimit = debug.SetMemoryLimit(-1) })
	debug.SetMemoryLimit(min(m.ownLimit, max(held+l.Available-2*reserve(l), held/2)))
}

// blame ends the cell if it is what uses up the memory of a limit. before is
// what was in use as it began.
func (m *Machine) blame(c *Cell, l limits.Limit, before int64) bool {
	// Where the cell has taken much there is no time for a collection.
	if live := heap("/gc/heap/live:bytes") + heap("/memory/classes/heap/stacks:bytes"); live < l.Total/4 && live-before < 2*reserve(l) {
		debug.FreeOSMemory() // there may be garbage
		var short bool
		l, short = scarce(m.Memory())
		if used := inUse(); !short || used < l.Total/4 && used-before < l.Available {
			return false // other processes use the memory
		}
	}
	c.cancel(outOfMemory(l))
	m.stopRuns()
	return true
}

// reserve returns how many bytes of a limit are to be left.
func reserve(l limits.Limit) int64 { return min(memoryReserve, l.Total/16) }

// scarce returns the limit that is nearest, and whether less memory of it is
// available than is to be left.
func scarce(all []limits.Limit) (l limits.Limit, short bool) {
	for i, x := range all {
		if i == 0 || x.Available-reserve(x) < l.Available-reserve(l) {
			l = x
		}
	}
	return l, l.Available < reserve(l)
}

// spend notes that the cell allocates a number of bytes, and looks at the memory
// from time to time: a loop may allocate more between two ticks than there is.
func (m *Machine) spend(bytes int64) {
	const each = 8 << 20
	if m.spent.Add(bytes) < each {
		return
	}
	m.spent.Store(0)
	if l, short := scarce(m.Memory()); short {
		if c := m.Cell(); c != nil {
			m.blame(c, l, 0)
		}
	}
}

// A SizeError is the panic of an allocation that is larger than the memory that
// is available.
type SizeError struct {
	What  string  // is too large: "strings.Repeat", "the variable x"
	Bytes float64 // that it would take; greater than any number of bytes where they cannot be told
	Limit limits.Limit
}

func (e *SizeError) Error() string {
	return fmt.Sprintf("out of memory: %s would take %s; of the memory of %s, %s of %s are available", e.What, limits.Bytes(e.Bytes), e.Limit.Name,
		limits.Bytes(float64(e.Limit.Available)), limits.Bytes(float64(e.Limit.Total)))
}

// RuntimeError makes e a runtime.Error.
func (e *SizeError) RuntimeError() {}

// Need panics with a SizeError if there is no memory for an allocation of a
// number of bytes, which what makes.
func (m *Machine) Need(what string, bytes float64) {
	if bytes >= smallSize {
		if err := m.Lacks(what, bytes); err != nil {
			panic(err)
		}
	}
}

// NeedMake is Need for a call of make in a compiled cell: of a slice, map or
// channel type with n elements of a size in bytes. What Go's run time refuses
// itself is left to it.
func (m *Machine) NeedMake(typ string, n, size float64) {
	if n*size <= maxAlloc {
		m.Need(fmt.Sprintf("make(%s, %.0f)", typ, n), n*size)
	}
}

// Left returns how many bytes of memory are available, besides those that are to be
// left.
func (m *Machine) Left() int64 {
	l, _ := scarce(m.Memory())
	return max(0, l.Available-reserve(l))
}

// Lacks returns a *SizeError if there is no memory for an allocation of a number
// of bytes, which what makes, and nil if there is.
func (m *Machine) Lacks(what string, bytes float64) error {
	if math.IsNaN(bytes) || bytes < smallSize {
		return nil
	}
	if bytes < largeSize {
		m.spend(int64(bytes))
		return nil
	}
	var l limits.Limit
	fits := func() bool {
		l = least(m.Memory())
		if l.AddressSpace {
			// The addresses that the heap has are in pieces.
			l.Available -= heap("/memory/classes/heap/free:bytes") + heap("/memory/classes/heap/released:bytes")
		}
		return bytes <= float64(l.Available-reserve(l))
	}
	if fits() {
		return nil
	}
	if bytes <= float64(l.Total) { // there may be garbage
		debug.FreeOSMemory()
		if fits() {
			return nil
		}
	}
	return &SizeError{what, bytes, l}
}

// least returns the limit of which the least memory is available.
func least(all []limits.Limit) limits.Limit {
	l := limits.Limit{Name: "the machine", Total: maxAlloc, Available: maxAlloc}
	for _, x := range all {
		if x.Available < l.Available {
			l = x
		}
	}
	return l
}

// maxAlloc is how many bytes Go's run time can allocate at once.
const maxAlloc = 1 << 48
