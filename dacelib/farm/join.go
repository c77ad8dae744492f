package farm

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"dace.local/dacelib/files/disk"
)

// A Driver connects to the server of a farm. Package natsfarm registers one when
// it is imported; a program that does not import it has folders only.
type Driver struct {
	// Pool and Source join the farm of a join file.
	Pool   func(ctx context.Context, join string) (Pool, error)
	Source func(ctx context.Context, join string) (Source, error)
	// Start starts the server of a folder in a process of its own, by a command
	// that gets "-dir DIR" and perhaps "-listen ADDR", and returns the path of
	// its join file when it serves. If it serves already, Start does nothing.
	Start func(dir, listen string, command []string) (join string, err error)
	// Watch calls show with the state of a farm every so often until ctx ends or
	// show reports false, or once if every is 0. Drain asks the workers to finish
	// and to end, Stop ends the server.
	Watch func(ctx context.Context, join string, every time.Duration, show func(Table) bool) error
	Drain func(ctx context.Context, join string) error
	Stop  func(ctx context.Context, join string) error
	// Log calls line with what a worker has said of itself, and with what it says
	// if follow is true, until ctx ends. Cancel ends the calls of a caller.
	Log    func(ctx context.Context, join, worker string, follow bool, line func(string)) error
	Cancel func(ctx context.Context, join, caller, why string) error
}

// driver is the driver that RegisterDriver has received, while packages are
// initialised.
var driver struct {
	sync.RWMutex // guards d
	d            *Driver
}

// RegisterDriver sets the driver of servers. It panics if there is one.
func RegisterDriver(d Driver) {
	driver.Lock()
	defer driver.Unlock()
	if driver.d != nil {
		panic("farm: RegisterDriver called twice")
	}
	driver.d = &d
}

func theDriver() (Driver, error) {
	driver.RLock()
	defer driver.RUnlock()
	if driver.d == nil {
		return Driver{}, errors.New("farm: this program cannot use the server of a farm: it does not import dace.local/dacelib/farm/natsfarm; a folder works without")
	}
	return *driver.d, nil
}

// Join returns the pool of a farm that is running: join is the path of its join
// file, or of a folder that machines share.
func Join(ctx context.Context, join string) (Pool, error) {
	dir, err := isFolder(join)
	if err != nil {
		return nil, err
	}
	if dir {
		return Folder(join)
	}
	d, err := theDriver()
	if err != nil {
		return nil, err
	}
	return d.Pool(ctx, join)
}

// WorkFor computes the units of a farm in this process until ctx or the time of
// w ends: it is what "dace worker" does. join is as for [Join].
func WorkFor(ctx context.Context, join string, w Work) error {
	dir, err := isFolder(join)
	if err != nil {
		return err
	}
	var src Source
	if dir {
		src, err = FolderSource(join)
	} else {
		var d Driver
		if d, err = theDriver(); err == nil {
			src, err = d.Source(ctx, join)
		}
	}
	if err != nil {
		return err
	}
	return w.Run(ctx, src)
}

// WatchFarm calls show with the state of the farm of a join file or a shared
// folder every so often, until ctx ends or show reports false; once if every is
// 0.
func WatchFarm(ctx context.Context, join string, every time.Duration, show func(Table) bool) error {
	dir, err := isFolder(join)
	if err != nil {
		return err
	}
	if !dir {
		d, err := theDriver()
		if err != nil {
			return err
		}
		return d.Watch(ctx, join, every, show)
	}
	p, err := Folder(join)
	if err != nil {
		return err
	}
	defer p.Close()
	for {
		t := Table{Join: join, Workers: p.Workers(), Callers: p.Callers(), Jobs: Jobs(ctx, join)}
		for _, c := range t.Callers {
			t.Failures = append(t.Failures, c.Failures...)
		}
		t.Queued, t.Results = count(p.path("tasks")), count(p.path("results"))
		if !show(t) || every == 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(every):
		}
	}
}

// count returns the number of files in the folders of a folder.
func count(dir string) int {
	n := 0
	outer, _ := disk.ReadDir(dir)
	for _, e := range outer {
		inner, _ := disk.ReadDir(filepath.Join(dir, e.Name()))
		n += len(inner)
	}
	return n
}

// WorkerLog calls line with what a worker of a farm has said of itself; if follow
// is true, with what it says, too, until ctx ends.
func WorkerLog(ctx context.Context, join, worker string, follow bool, line func(string)) error {
	dir, err := isFolder(join)
	if err != nil {
		return err
	}
	if !dir {
		d, err := theDriver()
		if err != nil {
			return err
		}
		return d.Log(ctx, join, worker, follow, line)
	}
	f := &folder{dir: join}
	for seen := 0; ; {
		text, err := f.Log(worker)
		if err != nil && !follow {
			return err
		}
		for l := range strings.Lines(text[min(seen, len(text)):]) {
			line(strings.TrimRight(l, "\n"))
		}
		seen = len(text)
		if !follow {
			return nil
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(time.Second):
		}
	}
}

// CancelCaller ends the calls that a process has in a farm, which is named as in
// the table of the farm; why says who wants it.
func CancelCaller(ctx context.Context, join, caller, why string) error {
	dir, err := isFolder(join)
	if err != nil {
		return err
	}
	if !dir {
		d, err := theDriver()
		if err != nil {
			return err
		}
		return d.Cancel(ctx, join, caller, why)
	}
	p, err := Folder(join)
	if err != nil {
		return err
	}
	defer p.Close()
	return p.CancelCaller(caller, why)
}

// NoCaller is the error of [CancelCaller] for a name that nobody has.
func NoCaller(caller string, there []Caller) error {
	if len(there) == 0 {
		return fmt.Errorf("farm: nobody has work done, and no caller of the name %q", caller)
	}
	var names []string
	for _, c := range there {
		names = append(names, c.Name+": "+c.who())
	}
	return fmt.Errorf("farm: no caller of the name %q; there are %s", caller, strings.Join(names, "; "))
}

// isFolder reports whether join is a folder.
func isFolder(join string) (bool, error) {
	info, err := disk.Stat(join)
	if errors.Is(err, fs.ErrNotExist) {
		return false, fmt.Errorf("farm: there is no %s: it should be the join file that \"dace farm start\" has written, or an existing folder that machines share", join)
	}
	if err != nil {
		return false, fmt.Errorf("farm: %w", err)
	}
	return info.IsDir(), nil
}
