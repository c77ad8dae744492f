//go:build unix

package files

import (
	"errors"
	"os"
	"syscall"
)

// Lock locks a file until it is closed. It does not wait.
func Lock(f *os.File) error { return lock(f, syscall.LOCK_EX) }

// LockShared locks a file against [Lock], but not against itself.
func LockShared(f *os.File) error { return lock(f, syscall.LOCK_SH) }

func lock(f *os.File, how int) error {
	for {
		switch err := syscall.Flock(int(f.Fd()), how|syscall.LOCK_NB); {
		case errors.Is(err, syscall.EWOULDBLOCK):
			return ErrLocked
		case !errors.Is(err, syscall.EINTR):
			return err
		}
	}
}

// syncDir writes a folder's names to the disk. Some file systems cannot do this
// and return EINVAL or ENOTSUP, which is ignored: the system then chooses when
// to write them.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	err = d.Sync()
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOTSUP) {
		err = nil
	}
	return errors.Join(err, d.Close())
}

// own locks a file. mine is true if no other process has locked or removed it; known
// is false if the file system has no locks.
func own(f *os.File) (mine, known bool) {
	switch err := Lock(f); {
	case errors.Is(err, ErrLocked):
		return false, true
	case err != nil:
		return false, false
	}
	named, err := os.Lstat(f.Name())
	if err != nil {
		return false, true
	}
	open, err := f.Stat()
	return err == nil && os.SameFile(named, open), true
}
