// Package room reads files into memory, no more of one than there is memory for:
// a packed file of a megabyte may hold a gigabyte, and a device has no end. Start
// with [Reader].
//
// What there is, is what Go's soft memory limit leaves (a kernel sets it, by the
// machine and by its control groups; elsewhere GOMEMLIMIT does), and what Linux
// says is available. On other systems without a limit nothing is known.
package room

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"strconv"
)

// Left returns how many bytes of memory are left.
func Left() int64 {
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

// Need returns an error if there is no memory for a number of bytes.
func Need(n int64) error {
	const small = 1 << 20
	if n <= small {
		return nil
	}
	// An eighth stays for what else the program does.
	if left := Left(); n > left-left/8 {
		return fmt.Errorf("there is no memory for it: it would take %d MB, and %d MB are left", n>>20, left>>20)
	}
	return nil
}

// Reader returns a reader of r whose bytes are kept in memory, each as so many
// bytes. It fails when there is no memory to go on.
func Reader(r io.Reader, each float64) io.Reader { return &reader{r: r, each: each} }

type reader struct {
	r       io.Reader
	each    float64
	n, next int64 // bytes read, and after how many memory is looked at
}

func (r *reader) Read(b []byte) (int, error) {
	n, err := r.r.Read(b)
	if r.n += int64(n); r.n > r.next {
		// What grows is copied: as much again as there is.
		if err := Need(int64(r.each * float64(r.n))); err != nil {
			return n, fmt.Errorf("after %d MB: %w", r.n>>20, err)
		}
		r.next = r.n + r.n/4 + 1<<20
	}
	return n, err
}

// ReadFile is os.ReadFile for a file that memory holds.
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
