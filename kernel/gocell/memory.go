package gocell

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"time"
	"unsafe"
)

// A cell that takes the machine's memory is stopped before the system kills
// the kernel: while a cell runs, what is left is looked at many times a
// second, and a single large make is measured before it is done.

const (
	memoryInterval = 50 * time.Millisecond
	memoryReserve  = 512 << 20 // what is to be left, or a sixteenth where that is less
	largeMake      = 64 << 20
)

var errMemory = errors.New("the cell was stopped: the machine's memory is nearly used up; what the cell did up to there is kept, and memory that nothing refers to is free again")

// watchMemory stops the cell when memory runs out, until done is closed.
func (s *Session) watchMemory(r *running, done <-chan struct{}) {
	tick := time.NewTicker(memoryInterval)
	defer tick.Stop()
	for {
		select {
		case <-done:
			return
		case <-tick.C:
		}
		if available, total := s.memory(); available >= min(memoryReserve, total/16) {
			continue
		}
		// Garbage is no reason yet.
		var before runtime.MemStats
		debug.FreeOSMemory()
		runtime.ReadMemStats(&before)
		if available, total := s.memory(); available >= min(memoryReserve, total/16) || before.HeapAlloc < uint64(total/4) {
			continue
		}
		r.cancel(errMemory)
		storeRunID(s.in, loadRunID(s.in)+1)
		return
	}
}

// memory returns the bytes that are available and those that there are, of
// the machine or of the control group where that has less.
func memory() (available, total int64) {
	available, total = math.MaxInt64, math.MaxInt64
	if b, err := os.ReadFile("/proc/meminfo"); err == nil {
		for line := range bytes.Lines(b) {
			f := bytes.Fields(line)
			if len(f) < 2 {
				continue
			}
			n, err := strconv.ParseInt(string(f[1]), 10, 64)
			switch {
			case err != nil:
			case string(f[0]) == "MemTotal:":
				total = n << 10
			case string(f[0]) == "MemAvailable:":
				available = n << 10
			}
		}
	}
	for dir := controlGroup(); strings.HasPrefix(dir, "/sys/fs/cgroup"); dir = filepath.Dir(dir) {
		limit, ok := readInt(dir + "/memory.max")
		used, ok2 := readInt(dir + "/memory.current")
		if ok && ok2 {
			total, available = min(total, limit), min(available, limit-used)
		}
	}
	return available, total
}

func readInt(name string) (int64, bool) {
	b, err := os.ReadFile(name)
	if err != nil {
		return 0, false
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64)
	return n, err == nil
}

// controlGroup returns the folder of the process's control group.
func controlGroup() string {
	b, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(b)) {
		if p, ok := strings.CutPrefix(strings.TrimSpace(line), "0::"); ok {
			return filepath.Join("/sys/fs/cgroup", p)
		}
	}
	return ""
}

// maxAlloc is how much memory Go's run time can ask for.
const maxAlloc = 1 << 48

// guardMake lets no single make take more memory than there is: the process
// would end.
func (s *Session) guardMake(n node, run step) step {
	dest := genValue(n.p)
	return func(f unsafe.Pointer) step {
		v := dest(f)
		t, what, each := v.Type(), "makeslice", int64(0)
		switch v.Kind() {
		case reflect.Slice:
			each = int64(t.Elem().Size())
		case reflect.Chan:
			what, each = "makechan", int64(t.Elem().Size())
		case reflect.Map:
			what, each = "makemap", int64(t.Key().Size()+t.Elem().Size()+1)
		}
		for i, name := range [...]string{2: "len", 3: "cap"} {
			if name == "" || i >= len(n.children()) {
				continue
			}
			b, ok := boundAt(n, i, f)
			size := int64(b.n)
			switch {
			case !ok || size <= 0 || each == 0 || size <= largeMake/each:
			case size > maxAlloc/each:
				switch v.Kind() {
				case reflect.Slice:
					panic(goError("makeslice: " + name + " out of range"))
				case reflect.Chan:
					panic(plainError("makechan: size out of range"))
				} // Of a map it is a hint that is not taken.
			default:
				if available, _ := s.memory(); size > available/each {
					panic(goError(fmt.Sprintf("%s: out of memory: %d elements of %d bytes, %d MB are available", what, size, each, available>>20)))
				}
			}
		}
		return run(f)
	}
}
