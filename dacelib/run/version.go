package run

import (
	"bufio"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
)

// Version is the library's release.
const Version = "0.1.0"

// revision and revisionTime are set by the linker in builds of the command dace
// (-ldflags=-X): the go command itself stamps no build in a worktree of git.
var revision, revisionTime string

// Build returns the release and, if it is known, the revision that the program
// was built from: "0.1.0 (1a2b3c4d5e6f)", with a + if files had been changed
// since that revision. A result that records it can be reproduced.
func Build() string { return build() }

var build = sync.OnceValue(func() string {
	id, _ := Revision()
	if id == "" {
		return Version
	}
	id, changed := strings.CutSuffix(id, "+")
	id = id[:min(12, len(id))]
	if changed {
		id += "+"
	}
	return Version + " (" + id + ")"
})

// Revision returns the revision of the repository that the program was built
// from, with a + if files had been changed since, and the revision's time as
// RFC 3339 has it. Both are "" if they are not known.
func Revision() (id, time string) {
	if revision != "" {
		return revision, revisionTime
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "", ""
	}
	changed := ""
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			id = s.Value
		case "vcs.time":
			time = s.Value
		case "vcs.modified":
			if s.Value == "true" {
				changed = "+"
			}
		}
	}
	if id == "" {
		return "", ""
	}
	return id + changed, time
}

// CPU returns the processor's name and the number of cores in use:
// "2 x Intel(R) Xeon(R) Gold 6336Y CPU @ 2.40GHz".
func CPU() string { return cpu() }

var cpu = sync.OnceValue(func() string {
	name := runtime.GOARCH
	if f, err := os.Open("/proc/cpuinfo"); err == nil {
		defer f.Close()
		for lines := bufio.NewScanner(f); lines.Scan(); {
			if key, value, ok := strings.Cut(lines.Text(), ":"); ok && strings.TrimSpace(key) == "model name" {
				name = strings.TrimSpace(value)
				break
			}
		}
	}
	return strconv.Itoa(runtime.GOMAXPROCS(0)) + " x " + name
})
