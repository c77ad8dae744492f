package procgroup

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// A process is a descendant of this process.
type process struct {
	pid     int
	start   uint64 // in ticks since boot; together with pid it identifies the process
	session int
}

// ticks is the number of ticks a second in /proc, the same on every Linux.
const ticks = 100

// descendants returns the descendants of this process that were started at tick
// since or later and are in its session. A process that has left the session
// (setsid) is meant to run on by itself. Without /proc there are none.
func descendants(since uint64) []process {
	session, _ := unix.Getsid(0)
	children := map[int][]process{}
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, name := range stats {
		b, err := os.ReadFile(name)
		if err != nil {
			continue
		}
		if parent, p, ok := parseStat(b); ok {
			children[parent] = append(children[parent], p)
		}
	}
	var list []process
	for todo := []int{os.Getpid()}; len(todo) > 0; todo = todo[1:] {
		for _, c := range children[todo[0]] {
			if todo = append(todo, c.pid); c.start >= since && c.session == session {
				list = append(list, c)
			}
		}
	}
	return list
}

// parseStat parses /proc/PID/stat and returns the process and its parent's pid.
// The second field, the name in brackets, may contain any characters.
func parseStat(b []byte) (parent int, p process, ok bool) {
	pid, _, _ := bytes.Cut(b, []byte(" "))
	f := bytes.Fields(b[bytes.LastIndexByte(b, ')')+1:])
	if len(f) < 20 {
		return 0, p, false
	}
	var errs [4]error
	parent, errs[0] = strconv.Atoi(string(f[1]))
	p.pid, errs[1] = strconv.Atoi(string(pid))
	p.start, errs[2] = strconv.ParseUint(string(f[19]), 10, 64)
	p.session, errs[3] = strconv.Atoi(string(f[3]))
	return parent, p, errs == [4]error{}
}

// A Mark is a point in time; [Now] returns one.
type Mark uint64

// Now returns the present time as a Mark, or 0 without /proc. It is cheap enough
// to be called for every cell.
func Now() Mark {
	b, err := os.ReadFile("/proc/uptime")
	if err != nil {
		return 0
	}
	word, _, _ := bytes.Cut(b, []byte(" "))
	up, err := strconv.ParseFloat(string(word), 64)
	if err != nil {
		return 0
	}
	return Mark(up * ticks)
}

// End ends the descendants of this process that were started since m. It sends
// SIGINT, after a third of a second SIGTERM, and after another third SIGKILL. It
// returns when they have ended or been killed.
func (m Mark) End() {
	if m == 0 {
		return
	}
	list := descendants(uint64(m)) // processes started from now on are not this call's to end
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGKILL} {
		list = slices.DeleteFunc(list, process.gone)
		for _, p := range list {
			_ = syscall.Kill(p.pid, sig)
		}
		for end := time.Now().Add(time.Second / 3); sig != syscall.SIGKILL && time.Now().Before(end); {
			if list = slices.DeleteFunc(list, process.gone); len(list) == 0 {
				return
			}
			time.Sleep(20 * time.Millisecond)
		}
	}
}

// gone reports whether a process has ended; a zombie has.
func (p process) gone() bool {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(p.pid) + "/stat")
	if err != nil {
		return true
	}
	_, q, ok := parseStat(b)
	_, state, _ := bytes.Cut(b[bytes.LastIndexByte(b, ')'):], []byte(" "))
	return !ok || q != p || bytes.HasPrefix(state, []byte("Z"))
}
