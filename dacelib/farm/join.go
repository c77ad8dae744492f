package farm

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
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
	// Status describes a farm, Drain asks its workers to finish and to end, Stop
	// ends its server.
	Status func(ctx context.Context, join string) (Table, error)
	Drain  func(ctx context.Context, join string) error
	Stop   func(ctx context.Context, join string) error
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

// isFolder reports whether join is a folder.
func isFolder(join string) (bool, error) {
	info, err := os.Stat(join)
	if errors.Is(err, fs.ErrNotExist) {
		return false, fmt.Errorf("farm: there is no %s: it should be the join file that \"dace farm start\" has written, or an existing folder that machines share", join)
	}
	if err != nil {
		return false, fmt.Errorf("farm: %w", err)
	}
	return info.IsDir(), nil
}
