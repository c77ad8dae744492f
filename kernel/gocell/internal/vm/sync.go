package vm

import (
	"os"
	"sync"
	"sync/atomic"
	"unsafe"
)

// The functions below read the state of locks and of memory that the run time and the
// standard library do not export.

// Locked reports whether a lock is held.
func Locked(m *sync.Mutex) bool {
	return atomic.LoadInt32(at[int32](unsafe.Pointer(m), layout.mutex.mu+layout.mutex.state))&1 != 0
}

// Readers returns the number of those who hold a lock for reading, negative
// where somebody writes or waits to write.
func Readers(m *sync.RWMutex) int32 {
	return at[atomic.Int32](unsafe.Pointer(m), layout.rwMutex.readerCount).Load()
}

// BlockOf returns the address of the allocated block that an address is in, 0
// where it is in none.
func BlockOf(p uintptr) uintptr {
	base, _, _ := findObject(p, 0, 0)
	return base
}

// BeingRead reports whether somebody reads a file: whether the lock is held that
// readers hold.
func BeingRead(f *os.File) bool {
	const locked = 1 << 1 // of the state of an internal/poll.fdMutex
	inner := *at[unsafe.Pointer](unsafe.Pointer(f), layout.file.file)
	return atomic.LoadUint64(at[uint64](inner, layout.file.pfd+layout.file.fdmu+layout.file.state))&locked != 0
}
