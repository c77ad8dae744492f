package vm

import (
	"sync/atomic"
	"unsafe"
	"weak"
)

// A program that builds a string by s += x takes time quadratic in its length, as
// each round copies the string. Here a statement that appends to the string which
// it made last gets memory to spare, and the next round appends in place. Nobody
// sees bytes that change: those behind a string belong to no other, and only the
// statement that allocated them hands them out, each once.

// appended is what a statement that appends to strings made last.
type appended struct {
	data uintptr            // where the string was, to compare
	buf  weak.Pointer[byte] // the same, if there is memory to spare behind it
	len  int
	size int // bytes of memory, 0 if there are none to spare
}

// minAppended is the length of the shortest string that memory is spared for.
const minAppended = 256

// appendText returns the step of x += y for the string at a place.
func appendText(at place, y text) stepMaker {
	var last atomic.Pointer[appended]
	return func(slow, then, _ step) step {
		return func(p unsafe.Pointer) step {
			f := (*runFrame)(p)
			d := (*string)(at(f))
			v, ok := y(f)
			if d == nil || !ok || len(*d)+len(v) >= largeSize {
				return slow(p)
			}
			if len(*d) < minAppended || len(v) == 0 {
				*d += v
				return then
			}
			*d = concat(&last, *d, v)
			return then
		}
	}
}

// concat returns s + t.
func concat(last *atomic.Pointer[appended], s, t string) string {
	a := last.Swap(nil) // which is nobody else's until it is put back
	if a == nil {
		a = new(appended)
	}
	defer last.Store(a)
	n, start := len(s)+len(t), unsafe.StringData(s)
	switch {
	case a.data != uintptr(unsafe.Pointer(start)) || a.len != len(s):
		s += t // another string than last time
		a.data, a.buf, a.len, a.size = uintptr(unsafe.Pointer(unsafe.StringData(s))), weak.Pointer[byte]{}, n, 0
		return s
	case n > a.size || a.buf.Value() != start:
		buf := make([]byte, 2*n)
		copy(buf, s)
		start = unsafe.SliceData(buf)
		a.data, a.buf, a.size = uintptr(unsafe.Pointer(start)), weak.Make(start), len(buf)
	}
	copy(unsafe.Slice(start, a.size)[len(s):], t)
	a.len = n
	return unsafe.String(start, n)
}
