package module

import (
	"os"
	"path/filepath"
	"syscall"
	"time"

	"dace.local/dacelib/files"
)

// scratchPrefix is the beginning of the folder names of sessions.
const scratchPrefix = "dace-modules-"

// lockName is the file in a session's folder that the session has locked.
const lockName = "lock"

// scratch makes a folder for a session and locks it. It also removes the
// folders of sessions that were killed.
func scratch() (dir string, lock *os.File, err error) {
	sweep(os.TempDir())
	if dir, err = os.MkdirTemp("", scratchPrefix); err != nil {
		return "", nil, err
	}
	name := filepath.Join(dir, lockName)
	lock, err = os.OpenFile(name+".new", os.O_CREATE|os.O_RDWR, 0o600)
	if err == nil {
		// The file gets its final name once it is locked: a sweep never sees it
		// unlocked.
		_ = files.Lock(lock) // without support for locks, sweep cannot lock it either
		err = os.Rename(name+".new", name)
	}
	if err != nil {
		_ = os.RemoveAll(dir)
		return "", nil, err
	}
	return dir, lock, nil
}

// sweep removes this user's folders of sessions that have ended: those with a
// lock file that no process has locked, and those without one that are over a
// day old.
func sweep(temp string) {
	left, _ := filepath.Glob(filepath.Join(temp, scratchPrefix+"*"))
	for _, dir := range left {
		info, err := os.Lstat(dir)
		if err != nil || !info.IsDir() {
			continue
		}
		if st, ok := info.Sys().(*syscall.Stat_t); !ok || int(st.Uid) != os.Geteuid() {
			continue
		}
		f, err := os.Open(filepath.Join(dir, lockName))
		if err != nil {
			if os.IsNotExist(err) && time.Since(info.ModTime()) > 24*time.Hour {
				_ = os.RemoveAll(dir)
			}
			continue
		}
		if files.Lock(f) == nil {
			_ = os.RemoveAll(dir)
		}
		f.Close()
	}
}
