package farm

import (
	"crypto/sha256"
	"debug/elf"
	"encoding/hex"
	"fmt"
	"maps"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"

	"dace.local/dacelib/run"
)

// An Identity is what results may depend on besides a unit's data: the program
// and the traits of the machine.
type Identity struct {
	// Version is the release, Build identifies the program's code.
	Version string `json:"version"`
	Build   string `json:"build"`
	// Traits holds the value of each trait that [Trait] names.
	Traits map[string]string `json:"traits"`
}

// traits holds the functions that [Trait] has received. It only grows while
// packages are initialised.
var traits = struct {
	sync.RWMutex // guards of
	of           map[string]func() string
}{of: map[string]func() string{}}

// Trait names a property of the machine on which the results of some units
// depend: "arithmetic", a checksum of scores of a network, and "compilers". f
// is called at most once.
func Trait(name string, f func() string) {
	traits.Lock()
	defer traits.Unlock()
	if traits.of[name] != nil {
		panic("farm: Trait called twice for one name")
	}
	traits.of[name] = sync.OnceValue(f)
}

// trait returns the value of a trait in this process.
func trait(name string) string {
	traits.RLock()
	f := traits.of[name]
	traits.RUnlock()
	if f == nil {
		return "none"
	}
	return f()
}

// TraitNames returns the names of the traits, sorted.
func TraitNames() []string {
	traits.RLock()
	defer traits.RUnlock()
	return slices.Sorted(maps.Keys(traits.of))
}

// Self returns the identity of this process. The first call takes some
// milliseconds.
func Self() Identity {
	id := Identity{Version: run.Version, Build: build(), Traits: map[string]string{}}
	for _, name := range TraitNames() {
		id.Traits[name] = trait(name)
	}
	return id
}

// build identifies the program's code: the revision if it was built from a
// clean one, else the build ID in the program's file.
var build = sync.OnceValue(func() string {
	revision, clean := "", false
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			switch s.Key {
			case "vcs.revision":
				revision = s.Value
			case "vcs.modified":
				clean = s.Value == "false"
			}
		}
	}
	if revision != "" && clean {
		return revision[:min(12, len(revision))] + " " + runtime.Version() + " " + runtime.GOARCH
	}
	if path, err := os.Executable(); err == nil {
		if f, err := elf.Open(path); err == nil {
			defer f.Close()
			if note := f.Section(".note.go.buildid"); note != nil {
				if b, err := note.Data(); err == nil {
					sum := sha256.Sum256(b)
					return "build " + hex.EncodeToString(sum[:6])
				}
			}
		}
		if b, err := os.ReadFile(path); err == nil {
			sum := sha256.Sum256(b)
			return "build " + hex.EncodeToString(sum[:6])
		}
	}
	return "unknown build"
})

// Class returns a name for the workers of this process's identity that may
// compute units with the given needs, 16 hexadecimal digits: a worker of equal
// class gives equal bits.
func Class(needs []string) string {
	text := strings.Join(needs, "|")
	if c, ok := ownClasses.Load(text); ok {
		return c.(string)
	}
	c := classOf(Self(), needs)
	ownClasses.Store(text, c)
	return c
}

// ownClasses holds what Class has returned, by the needs: each of the few sets
// of traits, of which every unit's key has one.
var ownClasses sync.Map

func classOf(id Identity, needs []string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s|%s", id.Version, id.Build)
	for _, n := range slices.Sorted(slices.Values(needs)) {
		fmt.Fprintf(&b, "|%s=%s", n, id.Traits[n])
	}
	sum := sha256.Sum256([]byte(b.String()))
	return hex.EncodeToString(sum[:8])
}

// Classes returns the class of every set of needs that units may have, those
// that this process can compute.
func (id Identity) Classes() []string {
	names := slices.Sorted(maps.Keys(id.Traits))
	var out []string
	for set := range 1 << len(names) {
		var needs []string
		for i, n := range names {
			if set>>i&1 == 1 {
				needs = append(needs, n)
			}
		}
		out = append(out, classOf(id, needs))
	}
	return out
}

// Differences says in words what a worker of identity other may not compute for
// this process, and why; nil if it may compute everything.
func (id Identity) Differences(other Identity) []string {
	if id.Version != other.Version {
		return []string{fmt.Sprintf("no unit: it is version %s, the caller version %s; install the same version", other.Version, id.Version)}
	}
	if id.Build != other.Build {
		return []string{fmt.Sprintf("no unit: it is another build (%s) than the caller (%s); use one binary, or build both from one revision", other.Build, id.Build)}
	}
	var out []string
	for _, n := range slices.Sorted(maps.Keys(id.Traits)) {
		if a, b := id.Traits[n], other.Traits[n]; a != b {
			out = append(out, fmt.Sprintf("no unit that needs equal %s: there %s, here %s", n, said(b), said(a)))
		}
	}
	return out
}

func said(v string) string {
	if v == "" {
		return "none"
	}
	return v
}
