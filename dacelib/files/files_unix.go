//go:build unix

package atomicfile

import (
	"errors"
	"os"
	"syscall"
)

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

// lock locks a file for this process. mine is true if no other process has
// locked or removed the file; known is false if the file system has no locks.
func lock(f *os.File) (mine, known bool) {
	switch err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); {
	case errors.Is(err, syscall.EWOULDBLOCK):
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
