package files

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"strconv"
	"sync/atomic"
)

// ownNeed is the function that LimitMemory has set.
var ownNeed atomic.Pointer[func(n int64) error]

// LimitMemory makes [Need] ask need, which returns an error if memory has no room for
// n bytes. A program that knows its limits better than this package does, such as
// those of its control groups, calls it as it starts.
func LimitMemory(need func(n int64) error) { ownNeed.Store(&need) }

// Need returns an error if memory has no room for n bytes: if this is more than
// seven eighths of what Go's soft memory limit (GOMEMLIMIT) and the memory that Linux
// calls available leave. On other systems without such a limit, nothing is known and
// the error is nil.
func Need(n int64) error {
	const small = 1 << 20
	if n <= small {
		return nil
	}
	if need := ownNeed.Load(); need != nil {
		return (*need)(n)
	}
	if left := memoryLeft(); n > left-left/8 {
		return fmt.Errorf("there is no memory for it: it would take %d MB, and %d MB are left", n>>20, left>>20)
	}
	return nil
}

// memoryLeft returns how many bytes of memory are left.
func memoryLeft() int64 {
	s := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}, {Name: "/memory/classes/heap/free:bytes"}}
	metrics.Read(s)
	free := int64(s[2].Value.Uint64())
	held := int64(s[0].Value.Uint64()-s[1].Value.Uint64()) - free
	left := int64(math.MaxInt64)
	if limit := debug.SetMemoryLimit(-1); limit < math.MaxInt64 {
		left = max(0, limit-held)
	}
	text, _ := os.ReadFile("/proc/meminfo")
	for line := range bytes.Lines(text) {
		if f := bytes.Fields(line); len(f) > 1 && string(f[0]) == "MemAvailable:" {
			if kB, err := strconv.ParseInt(string(f[1]), 10, 64); err == nil {
				left = min(left, kB<<10+free)
			}
		}
	}
	return left
}

// Reader returns a reader of r for bytes that are kept in memory, where each of them
// takes as many bytes as each says. It fails when memory has no room for more: a
// packed file of a megabyte may hold a gigabyte, and a device has no end.
func Reader(r io.Reader, each float64) io.Reader { return &reader{r: r, each: each} }

type reader struct {
	r       io.Reader
	each    float64
	n, next int64 // bytes read, and after how many memory is looked at
}

func (r *reader) Read(b []byte) (int, error) {
	n, err := r.r.Read(b)
	if r.n += int64(n); r.n > r.next {
		// While a slice grows, its old and its new array are in memory.
		if err := Need(int64(r.each * float64(r.n))); err != nil {
			return n, fmt.Errorf("after %d MB: %w", r.n>>20, err)
		}
		r.next = r.n + r.n/4 + 1<<20
	}
	return n, err
}

// ReadFile is [os.ReadFile] for a file that may be larger than memory, which is an
// error then.
func ReadFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
		if err := Need(info.Size()); err != nil {
			return nil, fmt.Errorf("read %s: %w", path, err)
		}
	}
	b, err := io.ReadAll(Reader(f, 1.5))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	return b, nil
}
