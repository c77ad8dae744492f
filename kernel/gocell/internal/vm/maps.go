package vm

import (
	"reflect"
	"sync"
	"unsafe"
)

// Two goroutines that use one map at the same time, one of them to write, end a
// Go process with a fatal error that nothing can recover, and a session would be
// lost. So each step of a cell that reads or writes a map holds a lock for it, and
// so do the calls of libraries that are known to use the maps of their arguments
// (WithMaps).

// stripes are the locks of all maps: a map's is chosen by its address.
var stripes [256]sync.RWMutex

// stripeOf returns the index of a map's lock, -1 for what is no map.
func stripeOf(m reflect.Value) int {
	if m.Kind() != reflect.Map {
		return -1
	}
	return stripeAt(m.Pointer())
}

func stripeAt(p uintptr) int { return int((p>>5 ^ p>>13) % uintptr(len(stripes))) }

// LockMap locks the map at an address for reading or writing, unless this goroutine
// does so already, and returns what UnlockMap wants.
func LockMap(m unsafe.Pointer, write bool) int {
	i := stripeAt(uintptr(m))
	if write && lock(i) || !write && rlock(i) {
		return i
	}
	return -1
}

// UnlockMap undoes LockMap.
func UnlockMap(i int, write bool) {
	switch {
	case i < 0:
	case write:
		stripes[i].Unlock()
	default:
		stripes[i].RUnlock()
	}
}
