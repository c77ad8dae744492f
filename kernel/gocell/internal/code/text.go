package code

import (
	"sync/atomic"
	"unsafe"
	"weak"
)

// A program that builds a string by s += x takes time quadratic in its length, as each
// round copies the string. Here an operation that appends to the string which it made last
// gets memory to spare, and the next round appends in place. Nobody sees bytes that
// change: those behind a string belong to no other, and only the operation that allocated
// them hands them out, each once.

// A joiner is an operation that concatenates strings.
type joiner struct{ last atomic.Pointer[joinedText] }

// A joinedText is what a joiner made last.
type joinedText struct {
	data uintptr            // where the string was, to compare
	buf  weak.Pointer[byte] // the same, if there is memory to spare behind it
	len  int
	size int // bytes of memory, 0 if there are none to spare
}

const (
	minJoined  = 256      // bytes of the shortest string that memory is spared for
	longJoined = 16 << 20 // bytes of a string for which less is spared
)

// join returns s + t.
func (j *joiner) join(g *G, s, t string) string {
	n := len(s) + len(t)
	if len(s) < minJoined || len(t) == 0 {
		g.spend("the string", float64(n))
		return s + t
	}
	a := j.last.Swap(nil) // which is nobody else's until it is put back
	if a == nil {
		a = new(joinedText)
	}
	defer j.last.Store(a)
	start := unsafe.StringData(s)
	switch {
	case a.data != uintptr(unsafe.Pointer(start)) || a.len != len(s): // another string than last time
		g.spend("the string", float64(n))
		s += t
		a.data, a.buf, a.len, a.size = uintptr(unsafe.Pointer(unsafe.StringData(s))), weak.Pointer[byte]{}, n, 0
		return s
	case n > a.size || a.buf.Value() != start:
		size := 2 * n
		if n >= longJoined {
			size = n + n/4
		}
		g.spend("the string", float64(size))
		buf := make([]byte, size)
		copy(buf, s)
		start = unsafe.SliceData(buf)
		a.data, a.buf, a.size = uintptr(unsafe.Pointer(start)), weak.Make(start), size
	}
	copy(unsafe.Slice(start, a.size)[len(s):], t)
	a.len = n
	return unsafe.String(start, n)
}
