package notebook

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// Replace writes a file so that at every moment either the old or the whole
// new one is there: write fills a temporary file in the same folder, which is
// then renamed. When it fails the old file is untouched. A symbolic link is
// followed, and what is not a regular file (a terminal, a pipe) is written to
// as it stands.
func Replace(path string, write func(io.Writer) error) error {
	return replace(path, true, write)
}

// replace is Replace; only with sync does it wait until the disk has the file.
func replace(path string, sync bool, write func(io.Writer) error) error {
	err := tryReplace(path, sync, write)
	if err == nil {
		return nil
	}
	var perr *fs.PathError
	if errors.As(err, &perr) {
		err = perr.Err // the temporary name says nothing
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
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*.tmp")
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
	if err := f.Close(); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// A File saves a notebook while it runs.
type File struct {
	path string
	once bool // not a regular file: written at the end only

	mu    sync.Mutex
	cost  time.Duration // of the last save
	last  time.Time     // its end
	timer *time.Timer   // of a save that was put off
	err   error         // the first that went wrong
}

// NewFile prepares to save under path, and fails where that cannot be. The
// file itself is not touched yet.
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

// Checkpoint saves the notebook now, or soon where it is so large that saving
// after every cell would take the time of the cells. It is made for
// [Settings].Checkpoint; errors come from Close.
func (f *File) Checkpoint(copy func() *Notebook) {
	f.mu.Lock()
	defer f.mu.Unlock()
	wait := time.Until(f.last.Add(saveShare * f.cost))
	switch {
	case f.once, f.timer != nil: // a save is due and will see this state
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

// Err returns the first error of a checkpoint.
func (f *File) Err() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.err
}

// Close saves the notebook as it is at the end, and returns what went wrong
// with this last save; checkpoints that failed before do not matter then.
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
