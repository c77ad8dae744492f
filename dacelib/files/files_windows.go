package files

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// Lock locks a file until it is closed. It does not wait. Windows keeps others
// from reading what is locked, so that is a byte far behind the file's end.
func Lock(f *os.File) error { return lock(f, windows.LOCKFILE_EXCLUSIVE_LOCK) }

// LockShared locks a file against [Lock], but not against itself.
func LockShared(f *os.File) error { return lock(f, 0) }

func lock(f *os.File, how uint32) error {
	err := windows.LockFileEx(windows.Handle(f.Fd()), how|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, &windows.Overlapped{OffsetHigh: 1 << 30})
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return ErrLocked
	}
	return err
}

// syncDir does nothing: this system cannot sync folders.
func syncDir(string) error { return nil }

// own does nothing, so that nothing is swept here.
func own(*os.File) (mine, known bool) { return false, false }
