package native

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// hold keeps a plugin in the cache while this process runs, and notes that it
// was used.
func hold(file string) {
	now := time.Now()
	_ = os.Chtimes(file, now, now) // at worst it is taken for older than it is
	if f, err := os.Open(file); err == nil && syscall.Flock(int(f.Fd()), syscall.LOCK_SH) == nil {
		held = append(held, f)
	}
}

// held are the files of the loaded plugins, which are locked; guarded by
// loaded.
var held []*os.File

// sweep removes from a folder of caches the plugins that nobody has used for
// maxAge, the longest unused where all are more than maxSize bytes, and what
// builds that were cut short have left. What a running process has loaded
// stays.
func sweep(dir string, maxAge time.Duration, maxSize int64) {
	type plug struct {
		name string
		fs.FileInfo
	}
	var all []plug
	total := int64(0)
	now := time.Now()
	kernels, _ := os.ReadDir(dir)
	for _, k := range kernels {
		entries, _ := os.ReadDir(filepath.Join(dir, k.Name()))
		for _, e := range entries {
			name := filepath.Join(dir, k.Name(), e.Name())
			info, err := e.Info()
			switch {
			case err != nil:
			case strings.HasPrefix(e.Name(), "build-") && now.Sub(info.ModTime()) > 24*time.Hour:
				_ = os.RemoveAll(name)
			case strings.HasSuffix(e.Name(), ".so"):
				all = append(all, plug{name, info})
				total += info.Size()
			}
		}
	}
	slices.SortFunc(all, func(a, b plug) int { return a.ModTime().Compare(b.ModTime()) })
	for _, p := range all {
		if now.Sub(p.ModTime()) <= maxAge && total <= maxSize {
			break
		}
		if unused(p.name) && os.Remove(p.name) == nil {
			total -= p.Size()
			_ = os.Remove(filepath.Dir(p.name)) // where it was the last
		}
	}
}

// unused reports whether no process has loaded a plugin.
func unused(file string) bool {
	f, err := os.Open(file)
	if err != nil {
		return false
	}
	defer f.Close()
	return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil
}
