package limits

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

const (
	mib = 1 << 20
	gib = 1 << 30
)

// Files of /proc and /sys of machines for the tests.
const (
	meminfo = "MemTotal:       16777216 kB\nMemFree:          100000 kB\nMemAvailable:    8388608 kB\nHugePages_Total:       0\n"
	mountV2 = "31 23 0:28 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n"
	mountV1 = "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755\n" +
		"32 31 0:29 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu\n" +
		"35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n" +
		"41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n"
	unlimitedV1 = "9223372036854771712\n"
)

// tree writes files into a new folder and returns the folder.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		name = filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func TestLimits(t *testing.T) {
	machine := Limit{Name: "the machine", Total: 16 * gib, Available: 8 * gib}
	n := func(i int64) string { return fmt.Sprintln(i) }
	for _, c := range []struct {
		name         string
		files        map[string]string
		addressSpace uint64
		data         uint64
		want         []Limit
	}{
		{name: "nothing is known"},
		{name: "no groups", files: map[string]string{"proc/meminfo": meminfo}, want: []Limit{machine}},
		{name: "an old kernel without MemAvailable", files: map[string]string{"proc/meminfo": "MemTotal: 1 kB\n"}},
		{name: "version 2, limits in the group and above it", files: map[string]string{
			"proc/meminfo":                                meminfo,
			"proc/self/cgroup":                            "0::/user.slice/job\n",
			"proc/self/mountinfo":                         mountV2,
			"sys/fs/cgroup/x":                             "",
			"sys/fs/cgroup/y/none":                        "",
			"sys/fs/cgroup/user.slice/memory.max":         n(4 * gib),
			"sys/fs/cgroup/user.slice/memory.current":     n(3 * gib),
			"sys/fs/cgroup/user.slice/memory.stat":        "anon 5\nfile 6\ninactive_file " + n(gib),
			"sys/fs/cgroup/user.slice/job/memory.max":     "max\n",
			"sys/fs/cgroup/user.slice/job/memory.current": n(gib),
		}, want: []Limit{machine, {Name: "the control group /user.slice", Total: 4 * gib, Available: 2 * gib}}},
		{name: "version 2 in a container with a name space", files: map[string]string{
			"proc/self/cgroup":              "0::/\n",
			"proc/self/mountinfo":           mountV2,
			"sys/fs/cgroup/memory.max":      n(512 * mib),
			"sys/fs/cgroup/memory.current":  n(600 * mib), // usage may exceed the limit for a moment
			"sys/fs/cgroup/memory.stat":     "inactive_file 0\n",
			"sys/fs/cgroup/cgroup.procs":    "1\n",
			"sys/fs/cgroup/cgroup.controls": "memory\n",
		}, want: []Limit{{Name: "the control group /", Total: 512 * mib, Available: 0}}},
		{name: "version 1 beside an empty version 2", files: map[string]string{
			"proc/meminfo":        meminfo,
			"proc/self/cgroup":    "8:pids:/\n4:memory:/jobs/7\n1:cpu,cpuacct:/\n0::/\n",
			"proc/self/mountinfo": mountV1,
			"sys/fs/cgroup/memory/memory.limit_in_bytes":        unlimitedV1,
			"sys/fs/cgroup/memory/memory.usage_in_bytes":        n(9 * gib),
			"sys/fs/cgroup/memory/jobs/memory.limit_in_bytes":   n(6 * gib),
			"sys/fs/cgroup/memory/jobs/memory.usage_in_bytes":   n(2 * gib),
			"sys/fs/cgroup/memory/jobs/7/memory.limit_in_bytes": n(2 * gib),
			"sys/fs/cgroup/memory/jobs/7/memory.usage_in_bytes": n(gib),
			"sys/fs/cgroup/memory/jobs/7/memory.stat":           "cache 3\ntotal_inactive_file " + n(256*mib),
		}, want: []Limit{machine, {Name: "the control group /jobs/7", Total: 2 * gib, Available: gib + 256*mib}, {Name: "the control group /jobs", Total: 6 * gib, Available: 4 * gib}}},
		{name: "version 1 in a container: the host's path, mounted from inside", files: map[string]string{
			"proc/self/cgroup":                            "4:hugetlb,memory:/docker/ab12/task\n",
			"proc/self/mountinfo":                         "35 31 0:32 /docker/ab12 /sys/fs/cgroup/me\\040mory ro - cgroup cgroup rw,hugetlb,memory\n",
			"sys/fs/cgroup/me mory/memory.usage_in_bytes": n(gib),
			"sys/fs/cgroup/me mory/memory.limit_in_bytes": unlimitedV1,
			"sys/fs/cgroup/me mory/memory.stat":           "hierarchical_memory_limit " + n(3*gib) + "total_inactive_file 0\n",
		}, want: []Limit{{Name: "the control group /", Total: 3 * gib, Available: 2 * gib}}},
		{name: "the group of another name space", files: map[string]string{
			"proc/self/cgroup":             "0::/../../elsewhere\n",
			"proc/self/mountinfo":          mountV2,
			"sys/fs/cgroup/memory.max":     n(gib),
			"sys/fs/cgroup/memory.current": n(gib / 4),
		}, want: []Limit{{Name: "the control group /", Total: gib, Available: gib - gib/4}}},
		{name: "ulimit -v", addressSpace: 4 * gib, files: map[string]string{
			"proc/meminfo": meminfo, "proc/self/statm": fmt.Sprintf("%d 900 100 1 0 300 0\n", gib/int64(os.Getpagesize())),
		}, want: []Limit{machine, {Name: "the limit of address space (ulimit -v)", Total: 4 * gib, Available: 3 * gib, AddressSpace: true}}},
		{name: "ulimit -d", data: 4 * gib, files: map[string]string{
			"proc/meminfo": meminfo, "proc/self/statm": fmt.Sprintf("9999999 900 100 1 0 %d 0\n", gib/int64(os.Getpagesize())),
		}, want: []Limit{machine, {Name: "the limit of data (ulimit -d)", Total: 4 * gib, Available: 3 * gib, AddressSpace: true}}},
		{name: "nonsense", files: map[string]string{
			"proc/meminfo": "MemTotal: x kB\n\nMemAvailable:\n", "proc/self/cgroup": "0:\n::\nmemory\n",
			"proc/self/mountinfo": "1 2\n - cgroup2\n1 2 3 4 5 - \n", "proc/self/statm": "x y\n",
		}, addressSpace: 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := system{root: tree(t, c.files), rlimit: func(resource int) (uint64, bool) {
				n := map[int]uint64{unix.RLIMIT_AS: c.addressSpace, unix.RLIMIT_DATA: c.data}[resource]
				return n, n > 0
			}}
			s.groups = s.findGroups("memory")
			got := s.all()
			if !reflect.DeepEqual(got, c.want) && len(got)+len(c.want) > 0 {
				t.Errorf("%+v, want %+v", got, c.want)
			}
			want := Limit{Total: math.MaxInt64, Available: math.MaxInt64}
			for _, l := range c.want {
				if l.Available < want.Available {
					want = l
				}
			}
			if l := least(got); l != want {
				t.Errorf("the least is %+v, want %+v", l, want)
			}
		})
	}
}

// TestThreads checks the limits on threads of Go, of control groups, and of a user.
func TestThreads(t *testing.T) {
	uid := os.Geteuid()
	status := func(uid, threads int) string {
		return fmt.Sprintf("Name:\tx\nUid:\t%d\t%d\nThreads:\t%d\n", uid, uid, threads)
	}
	s := system{root: tree(t, map[string]string{
		"proc/self/cgroup":                    "0::/job\n",
		"proc/self/mountinfo":                 mountV2,
		"sys/fs/cgroup/job/pids.max":          "30\n",
		"sys/fs/cgroup/job/pids.current":      "12\n",
		"sys/fs/cgroup/pids.max":              "max\n",
		"sys/fs/cgroup/pids.current":          "100\n",
		"proc/17/status":                      status(uid, 11),
		"proc/18/status":                      status(uid, 4),
		"proc/19/status":                      status(uid+1, 50),
		"sys/fs/cgroup/job/memory.max":        "max\n",
		"sys/fs/cgroup/other/pids/pids.other": "",
	}), rlimit: func(resource int) (uint64, bool) { return 100, resource == unix.RLIMIT_NPROC }}
	s.pids = s.findGroups("pids")
	want := []Limit{{Name: "Go's run time", Total: 10000, Available: 9990}, {Name: "the control group /job", Total: 30, Available: 18}}
	if uid != 0 { // whom no such limit holds
		want = append(want, Limit{Name: "the limit of processes (ulimit -u)", Total: 100, Available: 85})
	}
	if got := s.threads(10); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	if n := s.threadsOfUser(uid); n != 15 {
		t.Errorf("%d threads, want 15", n)
	}
}

func TestKills(t *testing.T) {
	for _, c := range []struct {
		files map[string]string
		want  int64
	}{
		{map[string]string{"proc/self/cgroup": "0::/a\n", "proc/self/mountinfo": mountV2,
			"sys/fs/cgroup/a/memory.events": "low 0\nhigh 0\nmax 31\noom 3\noom_kill 2\n"}, 2},
		{map[string]string{"proc/self/cgroup": "4:memory:/\n", "proc/self/mountinfo": mountV1,
			"sys/fs/cgroup/memory/memory.oom_control": "oom_kill_disable 0\nunder_oom 0\noom_kill 7\n"}, 7},
		{map[string]string{"proc/self/cgroup": "4:memory:/\n", "proc/self/mountinfo": mountV1,
			"sys/fs/cgroup/memory/memory.oom_control": "oom_kill_disable 0\n"}, -1},
	} {
		s := system{root: tree(t, c.files)}
		s.groups = s.findGroups("memory")
		n, ok := s.kills()
		if n != c.want && (ok || c.want >= 0) {
			t.Errorf("%d, %v, want %d", n, ok, c.want)
		}
	}
}

// TestHere checks that the limits of the machine that runs the test are
// plausible.
func TestHere(t *testing.T) {
	if _, err := os.Stat("/proc/meminfo"); err != nil {
		t.Skip(err)
	}
	all := All()
	if len(all) == 0 || all[0].Name != "the machine" {
		t.Fatalf("%+v", all)
	}
	for _, l := range all {
		if l.Available < 0 || l.Available > l.Total || strings.TrimSpace(l.Name) == "" {
			t.Errorf("%+v", l)
		}
	}
	if l := Memory(); l.Available > all[0].Available+gib {
		t.Errorf("%+v of %+v", l, all)
	}
}

func BenchmarkMemory(b *testing.B) {
	for b.Loop() {
		Memory()
	}
}

func TestBytes(t *testing.T) {
	for n, want := range map[float64]string{
		0: "0 B", 512: "512 B", 1500: "1.5 kB", 99.4e6: "99.4 MB", 99.96e6: "100 MB", 999.6e6: "1.0 GB", 1 << 40: "1.1 TB", 8e10: "80.0 GB", math.Inf(1): "more than an exabyte",
	} {
		if got := Bytes(n); got != want {
			t.Errorf("%g bytes: %q, want %q", n, got, want)
		}
	}
}
