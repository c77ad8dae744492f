// Package limits reports how much memory this process can still allocate, and how
// many threads it can start. The limits of memory are the machine's, its control
// groups (version 1 and 2), and the process's own of address space and data (ulimit -v
// and -d). Start with [Memory].
//
// Each call reads a few small files of /proc and /sys. On systems without them
// no limits are known.
package limits

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime/debug"
	"runtime/metrics"
	"slices"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"dace.local/dacelib/files"
)

// A Limit is one limit on the memory of this process.
type Limit struct {
	// Name says in words where the limit comes from: "the machine", "the
	// control group /jobs/7", "the limit of address space (ulimit -v)".
	Name string
	// Total is the limit, and Available the part of it that is not used, in
	// bytes. Memory that the system can reclaim at any time (cached files)
	// counts as available.
	Total, Available int64
	// AddressSpace is set for a limit on addresses. Those of memory that Go's
	// run time has given back to the system are used still.
	AddressSpace bool
}

// Bytes writes a number of bytes as text: "512 B", "1.5 GB".
func Bytes(n float64) string {
	unit := "B"
	for _, u := range []string{"kB", "MB", "GB", "TB", "PB", "EB"} {
		if n < 999.5 {
			break
		}
		n, unit = n/1000, u
	}
	if n >= 999.5 {
		return "more than an exabyte"
	}
	if n >= 99.5 || unit == "B" {
		return strconv.FormatFloat(n, 'f', 0, 64) + " " + unit
	}
	return strconv.FormatFloat(n, 'f', 1, 64) + " " + unit
}

// Memory returns the limit with the least memory available. If no limit is
// known, its Name is "" and its numbers are math.MaxInt64.
func Memory() Limit { return least(All()) }

// Follow sets Go's soft memory limit to nine tenths of the least limit, so that
// garbage is collected before the system has to kill the process, and has the readers
// of package files observe all limits. An environment variable GOMEMLIMIT has
// precedence for the first.
func Follow() {
	files.LimitMemory(need)
	total := int64(math.MaxInt64)
	for _, l := range All() {
		total = min(total, l.Total)
	}
	if os.Getenv("GOMEMLIMIT") == "" && total < math.MaxInt64 {
		debug.SetMemoryLimit(total / 10 * 9)
	}
}

// need returns an error if less memory than a number of bytes is left, besides what
// is kept free for others: an eighth of all, half a gigabyte at most.
func need(n int64) error {
	s := []metrics.Sample{{Name: "/memory/classes/heap/free:bytes"}}
	metrics.Read(s)
	l := Memory()
	if l.Name == "" {
		return nil
	}
	if have := l.Available + int64(s[0].Value.Uint64()) - min(l.Total/8, 512<<20); n > have {
		return fmt.Errorf("there is no memory for it: it would take %s; of the memory of %s, %s of %s are available",
			Bytes(float64(n)), l.Name, Bytes(float64(l.Available)), Bytes(float64(l.Total)))
	}
	return nil
}

// All returns all known limits.
func All() []Limit { return here().all() }

// here returns the system of this process. It looks for the control groups
// once: a kernel is put into its groups before it starts.
var here = sync.OnceValue(func() system {
	s := system{root: "/", rlimit: rlimit}
	s.groups, s.pids = s.findGroups("memory"), s.findGroups("pids")
	return s
})

// Kills returns how many processes of this process's control group the system
// has killed because the group was out of memory. ok is false if the system
// does not report it.
func Kills() (n int64, ok bool) { return here().kills() }

func least(all []Limit) Limit {
	if len(all) == 0 {
		return Limit{Total: math.MaxInt64, Available: math.MaxInt64}
	}
	return slices.MinFunc(all, func(a, b Limit) int {
		switch {
		case a.Available < b.Available:
			return -1
		case a.Available > b.Available:
			return 1
		}
		return 0
	})
}

// rlimit returns the soft limit of a resource; ok is false if there is none.
func rlimit(resource int) (limit uint64, ok bool) {
	var r unix.Rlimit
	if unix.Getrlimit(resource, &r) != nil || r.Cur > math.MaxInt64 {
		return 0, false
	}
	return r.Cur, true
}

// A system holds the places from which the limits are read; tests use other
// roots.
type system struct {
	root   string
	rlimit func(resource int) (limit uint64, ok bool)
	groups []group // that control memory
	pids   []group // that control the number of threads
}

func (s system) read(path ...string) []byte {
	b, err := os.ReadFile(filepath.Join(append([]string{s.root}, path...)...))
	if err != nil {
		return nil
	}
	return b
}

func (s system) all() []Limit {
	var all []Limit
	mem := fields(s.read("proc/meminfo"))
	total, ok1 := mem["MemTotal:"]
	available, ok2 := mem["MemAvailable:"]
	if ok1 && ok2 {
		all = append(all, Limit{Name: "the machine", Total: total << 10, Available: available << 10})
	}
	for _, r := range []struct {
		resource, field int // of proc/self/statm, in pages
		name            string
	}{{unix.RLIMIT_AS, 0, "the limit of address space (ulimit -v)"}, {unix.RLIMIT_DATA, 5, "the limit of data (ulimit -d)"}} {
		limit, ok := s.rlimit(r.resource)
		if !ok {
			continue
		}
		if pages := bytes.Fields(s.read("proc/self/statm")); len(pages) > r.field {
			if n, err := strconv.ParseInt(string(pages[r.field]), 10, 64); err == nil {
				l := limitOf(r.name, int64(limit), n*int64(os.Getpagesize()))
				l.AddressSpace = true
				all = append(all, l)
			}
		}
	}
	for _, g := range s.groups {
		if l, ok := s.group(g); ok {
			all = append(all, l)
		}
	}
	return all
}

func limitOf(name string, total, used int64) Limit {
	return Limit{Name: name, Total: total, Available: max(0, total-used)}
}

// goThreads is how many threads Go's run time starts at most.
const goThreads = 10_000

// Threads returns the limit of threads of which the fewest are left: Total and
// Available count threads. used is how many this process has.
func Threads(used int64) Limit { return least(here().threads(used)) }

func (s system) threads(used int64) []Limit {
	all := []Limit{limitOf("Go's run time", goThreads, used)}
	for _, g := range s.pids {
		total, ok := number(s.read(g.dir, "pids.max"))
		now, ok2 := number(s.read(g.dir, "pids.current"))
		if ok && ok2 {
			all = append(all, limitOf("the control group "+g.name, total, now))
		}
	}
	if limit, ok := s.rlimit(unix.RLIMIT_NPROC); ok && int64(limit) < goThreads && os.Geteuid() != 0 {
		all = append(all, limitOf("the limit of processes (ulimit -u)", int64(limit), s.threadsOfUser(os.Geteuid())))
	}
	return all
}

// threadsOfUser counts the threads of a user.
func (s system) threadsOfUser(uid int) (n int64) {
	names, _ := filepath.Glob(filepath.Join(s.root, "proc/[0-9]*/status"))
	for _, name := range names {
		b, _ := os.ReadFile(name)
		if f := fields(b); f["Uid:"] == int64(uid) {
			n += f["Threads:"]
		}
	}
	return n
}

// A group is a control group that this process belongs to.
type group struct {
	name string // within the hierarchy
	dir  string
	v2   bool
}

// findGroups returns the control groups of this process whose hierarchies have a
// controller ("memory"), innermost first.
func (s system) findGroups(controller string) []group {
	var list []group
	mounts := s.mounts(controller)
	for line := range strings.Lines(string(s.read("proc/self/cgroup"))) {
		// number:controllers:path, with no controllers for version 2.
		part := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3)
		if len(part) != 3 {
			continue
		}
		v2 := part[0] == "0" && part[1] == ""
		if !v2 && !slices.Contains(strings.Split(part[1], ","), controller) {
			continue
		}
		for _, m := range mounts {
			if m.v2 != v2 {
				continue
			}
			// In a container the mount may show only a part of the hierarchy,
			// while the path may be the host's. Then the root of the mount is
			// the group.
			rel, ok := strings.CutPrefix(part[2], strings.TrimSuffix(m.root, "/"))
			if !ok || rel != "" && rel[0] != '/' {
				rel = "/"
			}
			if info, err := os.Stat(filepath.Join(s.root, m.point, rel)); err != nil || !info.IsDir() {
				rel = "/"
			}
			for rel = filepath.Clean("/" + rel); ; rel = filepath.Dir(rel) {
				list = append(list, group{rel, filepath.Join(m.point, rel), v2})
				if rel == "/" {
					break
				}
			}
			break
		}
	}
	return list
}

// group reads a group's limit; ok is false if it has none.
func (s system) group(g group) (l Limit, ok bool) {
	max, current, cache := "memory.max", "memory.current", "inactive_file"
	if !g.v2 {
		max, current, cache = "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"
	}
	stat := fields(s.read(g.dir, "memory.stat"))
	total, ok := number(s.read(g.dir, max))
	if h, has := stat["hierarchical_memory_limit"]; has && (!ok || h < total) {
		total, ok = h, true // the limit of a parent that is not visible here
	}
	used, ok2 := number(s.read(g.dir, current))
	// If there is no limit, version 1 reports the greatest number of whole
	// pages.
	if !ok || !ok2 || total > math.MaxInt64>>1 {
		return l, false
	}
	return limitOf("the control group "+g.name, total, used-min(used, stat[cache])), true
}

// kills returns the kills of the innermost group, whose count includes the
// groups below it.
func (s system) kills() (n int64, ok bool) {
	for _, g := range s.groups {
		name := "memory.events"
		if !g.v2 {
			name = "memory.oom_control"
		}
		if n, ok = fields(s.read(g.dir, name))["oom_kill"]; ok {
			return n, true
		}
	}
	return 0, false
}

// A mount is a mounted hierarchy of control groups.
type mount struct {
	root, point string
	v2          bool
}

// mounts returns the mounted hierarchies that have a controller.
func (s system) mounts(controller string) []mount {
	var list []mount
	for line := range strings.Lines(string(s.read("proc/self/mountinfo"))) {
		// The fields of mountinfo: ID, parent, device, root, mount point,
		// options, any number of tags, "-", type, source, options of the file
		// system.
		before, after, ok := strings.Cut(line, " - ")
		f, t := strings.Fields(before), strings.Fields(after)
		if !ok || len(f) < 5 || len(t) < 1 {
			continue
		}
		v2 := t[0] == "cgroup2"
		if !v2 && (t[0] != "cgroup" || !slices.Contains(strings.Split(t[len(t)-1], ","), controller)) {
			continue
		}
		list = append(list, mount{unescape(f[3]), unescape(f[4]), v2})
	}
	return list
}

// unescape decodes the octal escapes that Linux writes for blanks and
// backslashes in paths.
var unescape = strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace

// fields parses lines that consist of a name and a number.
func fields(b []byte) map[string]int64 {
	m := map[string]int64{}
	for line := range bytes.Lines(b) {
		f := bytes.Fields(line)
		if len(f) < 2 {
			continue
		}
		if n, err := strconv.ParseInt(string(f[1]), 10, 64); err == nil {
			m[string(f[0])] = n
		}
	}
	return m
}

// number parses the content of a file with one number; ok is false for "max".
func number(b []byte) (n int64, ok bool) {
	u, err := strconv.ParseUint(string(bytes.TrimSpace(b)), 10, 64)
	return int64(min(u, math.MaxInt64)), err == nil
}
