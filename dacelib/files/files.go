// Package files replaces files atomically, so that neither a killed program nor a
// full disk leaves half a file, locks files against other processes, and reads files no
// larger than memory has room for. Start with [Write] and [Reader].
package files

import (
	"bufio"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"dace.local/dacelib/files/disk"
)

// Settings say how a file is replaced. The zero value keeps the permissions of the
// old file (0644 without one), follows symbolic links, writes directly to what is no
// regular file (a terminal, a pipe), and waits until the bytes are on the disk.
type Settings struct {
	// Mode, if not 0, is the file's permissions. Until they are set, nobody but the
	// user of this process can read the file. What is at the path is replaced, be it a
	// symbolic link.
	Mode fs.FileMode
	// NoSync does not wait for the disk: the file is whole whenever this process is
	// killed, but may be empty after a loss of power.
	NoSync bool
}

// Write replaces the file at path by the bytes that the function write writes.
// The bytes are on the disk before the file gets its name, and the name before
// Write returns. On an error the old file stays unchanged.
//
// Until then the bytes are in .NAME.NUMBER.tmp in the same folder, which is
// locked while it is written. If a killed program leaves such a file, the next
// Write of the same path removes it.
func Write(path string, write func(w io.Writer) error) error {
	return Settings{}.Write(path, write)
}

// WriteBytes is [Write] for a file whose bytes are in memory.
func WriteBytes(path string, b []byte) error { return Settings{}.WriteBytes(path, b) }

// WriteBytes is [Settings.Write] for a file whose bytes are in memory.
func (s Settings) WriteBytes(path string, b []byte) error {
	return s.Write(path, func(w io.Writer) error {
		_, err := w.Write(b)
		return err
	})
}

// WriteProgram replaces a file by one that its user alone can run, and that can be
// started at once: a process that another goroutine starts meanwhile inherits no open
// file of it, with which the system would refuse to run it ("text file busy").
func WriteProgram(path string, b []byte) error {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	return Settings{Mode: 0o700, NoSync: true}.WriteBytes(path, b)
}

// Write replaces a file as [Write] does, by these settings.
func (s Settings) Write(path string, write func(w io.Writer) error) error {
	mode := s.Mode
	if mode == 0 {
		mode = 0o644
		if real, err := filepath.EvalSymlinks(path); err == nil {
			path = real
		}
		if info, err := disk.Stat(path); err == nil {
			if info.IsDir() {
				return &fs.PathError{Op: "write", Path: path, Err: errors.New("it is a folder")}
			}
			if !info.Mode().IsRegular() {
				return writeInto(path, write)
			}
			mode = info.Mode().Perm()
		}
	}
	dir, base := filepath.Dir(path), filepath.Base(path)
	sweep(dir, base)
	f, err := create(dir, base)
	if err != nil {
		return named(err, path)
	}
	w := bufio.NewWriterSize(f, 1<<16)
	if err = write(w); err == nil {
		err = errors.Join(w.Flush(), f.Chmod(mode))
	}
	if err == nil && !s.NoSync {
		err = f.Sync()
	}
	if err == nil {
		err = disk.Rename(f.Name(), path) // before Close, which releases the lock
	}
	if err != nil {
		err = named(err, path)
		return errors.Join(err, f.Close(), os.Remove(f.Name()))
	}
	if s.NoSync {
		return f.Close()
	}
	return errors.Join(f.Close(), syncDir(dir))
}

// named returns an error about a file with the name that its caller knows, instead of
// the temporary file's.
func named(err error, path string) error {
	var p *fs.PathError
	if errors.As(err, &p) && filepath.Dir(p.Path) == filepath.Dir(path) && strings.HasSuffix(p.Path, ".tmp") {
		return &fs.PathError{Op: p.Op, Path: path, Err: p.Err}
	}
	return err
}

// writeInto writes to what is no regular file.
func writeInto(path string, write func(io.Writer) error) error {
	f, err := disk.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(f, 1<<16)
	return errors.Join(write(w), w.Flush(), f.Close())
}

// create makes a temporary file and locks it.
func create(dir, base string) (*disk.File, error) {
	for {
		f, err := disk.CreateTemp(dir, "."+base+".*.tmp")
		if err != nil {
			return nil, err
		}
		if mine, known := own(f.File); mine || !known {
			return f, nil
		}
		f.Close() // another process's sweep removed it before it was locked
	}
}

// sweep removes temporary files that no process is writing.
func sweep(dir, base string) {
	prefix := "." + base + "."
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		number, ok := strings.CutPrefix(e.Name(), prefix)
		number, tmp := strings.CutSuffix(number, ".tmp")
		if !ok || !tmp || number == "" || strings.Trim(number, "0123456789") != "" || !e.Type().IsRegular() {
			continue
		}
		f, err := os.Open(filepath.Join(dir, e.Name()))
		if err != nil {
			continue
		}
		if mine, _ := own(f); mine {
			_ = os.Remove(f.Name())
		}
		f.Close()
	}
}

// ErrLocked is the error of [Lock] for a file that another process has locked.
var ErrLocked = errors.New("the file is locked by another process")
