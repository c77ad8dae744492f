package notebook

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"dace.local/dacelib/files"
)

// Replace writes a file as [files.Write] does. The error names the file and the
// reason only.
func Replace(path string, write func(io.Writer) error) error {
	return replace(path, files.Settings{}, write)
}

func replace(path string, s files.Settings, write func(io.Writer) error) error {
	err := s.Write(path, write)
	if err == nil {
		return nil
	}
	var perr *fs.PathError
	if errors.As(err, &perr) {
		err = perr.Err
	}
	return fmt.Errorf("cannot write %s: %w", path, err)
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
	err := replace(f.path, files.Settings{NoSync: !sync}, func(w io.Writer) error { return Write(w, nb) })
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
