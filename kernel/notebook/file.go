package notebook

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Replace writes a file atomically: at every moment either the old or the
// complete new file exists. It calls write with a temporary file in the same
// folder, which it then renames. If that fails the old file is unchanged.
// Replace follows a symbolic link, and writes directly to a file that is not
// regular (a terminal, a pipe).
func Replace(path string, write func(io.Writer) error) error {
	return replace(path, true, write)
}

// replace does the work of Replace; it waits until the file is on the disk
// only if sync is set.
func replace(path string, sync bool, write func(io.Writer) error) error {
	err := tryReplace(path, sync, write)
	if err == nil {
		return nil
	}
	var perr *fs.PathError
	if errors.As(err, &perr) {
		err = perr.Err // drop the path, which is the temporary file's
	}
	return fmt.Errorf("cannot write %s: %w", path, err)
}

func tryReplace(path string, sync bool, write func(io.Writer) error) (err error) {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	mode := fs.FileMode(0o644)
	if info, err := os.Stat(path); err == nil {
		if info.IsDir() {
			return errors.New("it is a folder")
		}
		if !info.Mode().IsRegular() {
			f, err := os.OpenFile(path, os.O_WRONLY, 0)
			if err != nil {
				return err
			}
			return errors.Join(write(f), f.Close())
		}
		mode = info.Mode().Perm()
	}
	sweep(path)
	f, err := createTemp(path)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			f.Close()
			os.Remove(f.Name())
		}
	}()
	w := bufio.NewWriterSize(f, 1<<16)
	if err := write(w); err != nil {
		return err
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if err := f.Chmod(mode); err != nil {
		return err
	}
	if sync {
		if err := f.Sync(); err != nil {
			return err
		}
	}
	if err := os.Rename(f.Name(), path); err != nil { // before Close, which unlocks it
		return err
	}
	_ = f.Close() // the file is complete already, and on the disk if sync is set
	return nil
}

// createTemp creates a temporary file for path, named .NAME.NUMBER.tmp, in the
// same folder. The file is locked as long as it is open.
func createTemp(path string) (*os.File, error) {
	for {
		f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*.tmp")
		if err != nil {
			return nil, err
		}
		if mine, known := lock(f); mine || !known {
			return f, nil
		}
		f.Close() // another process has removed the file in its sweep
	}
}

// sweep removes temporary files for path that no process has locked, because
// the programs that wrote them were killed.
func sweep(path string) {
	dir, prefix := filepath.Dir(path), "."+filepath.Base(path)+"."
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
		if mine, _ := lock(f); mine {
			_ = os.Remove(f.Name())
		}
		f.Close()
	}
}

// lock locks a file for this process without waiting. Mine reports that the
// lock succeeded and that the file has not been removed; known is false if the
// file system does not support locks.
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

// A File saves a notebook during and after its run.
type File struct {
	path string
	once bool // path is not a regular file, so it is written at the end only

	mu    sync.Mutex    // guards the fields below
	cost  time.Duration // duration of the last save
	last  time.Time     // end of the last save
	timer *time.Timer   // runs a postponed save; nil if there is none
	err   error         // first error of a save
}

// NewFile prepares to save under path, and fails if path cannot be written. It
// does not change the file yet.
func NewFile(path string) (*File, error) {
	info, err := os.Stat(path)
	switch {
	case err == nil && info.IsDir():
		return nil, fmt.Errorf("cannot write %s: it is a folder", path)
	case err == nil && !info.Mode().IsRegular():
		return &File{path: path, once: true}, nil
	}
	dir := filepath.Dir(path)
	if real, err := filepath.EvalSymlinks(path); err == nil {
		dir = filepath.Dir(real)
	}
	f, err := os.CreateTemp(dir, ".dace.*.tmp")
	if err != nil {
		var perr *fs.PathError
		if errors.As(err, &perr) {
			err = perr.Err
		}
		return nil, fmt.Errorf("cannot write to the folder %s: %w", dir, err)
	}
	f.Close()
	os.Remove(f.Name())
	return &File{path: path}, nil
}

// saveShare bounds the time spent on saving: a notebook that takes longer
// than saveQuick to write is written again only after saveShare times as long.
const (
	saveShare = 10
	saveQuick = 25 * time.Millisecond
)

// Checkpoint saves the notebook now, or later if it is so large that saving it
// after every cell would take as long as the cells. It is meant for
// [Settings].Checkpoint; Close reports errors.
func (f *File) Checkpoint(copy func() *Notebook) {
	f.mu.Lock()
	defer f.mu.Unlock()
	wait := time.Until(f.last.Add(saveShare * f.cost))
	switch {
	case f.once, f.timer != nil: // a later save will include this state
	case f.cost <= saveQuick || wait <= 0:
		f.save(copy(), false)
	default:
		f.timer = time.AfterFunc(wait, func() {
			f.mu.Lock()
			defer f.mu.Unlock()
			if f.timer != nil {
				f.timer = nil
				f.save(copy(), false)
			}
		})
	}
}

func (f *File) save(nb *Notebook, sync bool) {
	start := time.Now()
	err := replace(f.path, sync, func(w io.Writer) error { return Write(w, nb) })
	f.last = time.Now()
	f.cost = f.last.Sub(start)
	if f.err == nil {
		f.err = err
	}
}

// Err returns the first error of a save.
func (f *File) Err() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.err
}

// Close saves the final state of the notebook. It returns the error of this
// save only, because earlier errors no longer matter if it succeeds.
func (f *File) Close(nb *Notebook) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.timer != nil {
		f.timer.Stop()
		f.timer = nil
	}
	f.err = nil
	f.save(nb, true)
	return f.err
}
