package crash

import (
	"encoding/binary"
	"syscall"
	"unsafe"
)

// The runtime prints the line with the error ("fatal error: stack overflow")
// before it begins to write to the file of debug.SetCrashOutput. So everything
// that it prints to standard error is also copied into mapped memory, which
// outlives the process.
//
// The memory holds a count of bytes and a ring with the last of them. After
// "fatal error: " only another kilobyte is copied, so that a long traceback does
// not overwrite the error.
const (
	ringAt  = 16 // after two counts of bytes: of all, and, plus 1, of those before "fatal error: "
	ringMax = 1024
)

// overrideWrite, if set, replaces the runtime's own write to a file descriptor.
// The runtime keeps this variable for linkname
// (golang.zx2c4.com/wireguard uses it).
//
//go:linkname overrideWrite runtime.overrideWrite
var overrideWrite func(fd uintptr, p unsafe.Pointer, n int32) int32

// ring is the memory that the runtime's output is copied to, nil if it is not
// copied. It is a page of a mapped file, not of Go's heap.
var ring []byte

// listen copies the runtime's output to page from now on, or stops if page is
// nil.
func listen(page []byte) {
	if page == nil {
		overrideWrite = nil
		return
	}
	ring = page
	overrideWrite = tee
}

// tee writes p to the descriptor as the runtime does, and copies it to the ring
// if that is standard error. It is called while the process ends, on any stack:
// it must not allocate, grow the stack, or take a lock. It needs none, because
// the runtime prints one piece at a time.
//
//go:nosplit
//go:norace
//go:nocheckptr
func tee(fd uintptr, p unsafe.Pointer, n int32) int32 {
	if fd == 2 {
		hear(p, int(n))
	}
	r, _, e := syscall.RawSyscall(syscall.SYS_WRITE, fd, uintptr(p), uintptr(n))
	if e != 0 {
		return -int32(e)
	}
	return int32(r)
}

// hear copies n bytes to the ring.
//
//go:nosplit
//go:norace
//go:nocheckptr
func hear(p unsafe.Pointer, n int) {
	page := unsafe.Pointer(unsafe.SliceData(ring))
	size := uint64(len(ring) - ringAt)
	count, fatal := (*uint64)(page), (*uint64)(unsafe.Add(page, 8))
	if *fatal == 0 && n == len(sign) {
		same := true
		for i := 0; i < n; i++ {
			same = same && *(*byte)(unsafe.Add(p, i)) == sign[i]
		}
		if same {
			*fatal = *count + 1
		}
	}
	for i := 0; i < n; i++ {
		if *fatal != 0 && *count >= *fatal+ringMax {
			return
		}
		*(*byte)(unsafe.Add(page, ringAt+*count%size)) = *(*byte)(unsafe.Add(p, i))
		*count++
	}
}

const sign = "fatal error: "

// printed returns the text in the ring of a page.
func printed(page []byte) string {
	count := binary.NativeEndian.Uint64(page)
	ring := page[ringAt:]
	size := uint64(len(ring))
	if count <= size {
		return string(ring[:count])
	}
	at := count % size
	return string(ring[at:]) + string(ring[:at])
}
