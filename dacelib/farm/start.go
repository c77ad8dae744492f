package farm

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"dace.local/dacelib/files/disk"
	"dace.local/dacelib/internal/process"
)

// Settings of a farm. The zero value is a server on this machine that other
// machines cannot reach, without workers.
type Settings struct {
	// Dir is the farm's folder; the default is dace/farm in the user's cache.
	Dir string
	// Listen is the address at which the server listens, "HOST:PORT"; the
	// default is a free port of this machine alone. Any other address turns on
	// TLS: ":0" listens on all addresses.
	Listen string
	// Local is the number of worker processes to start on this machine, of one
	// core each.
	Local int
	// Verify, Limit, Priority and Disk are those of [Policy].
	Verify   float64
	Limit    time.Duration
	Priority int
	Disk     int64
	// Batch describes the jobs of [Farm.Adapt].
	Batch Batch
	// Command is the command dace; by default it is this program if it is
	// dace, else the one in the PATH.
	Command []string
}

// A Farm is a farm that this process has started or found. It is a [Pool]. Shown
// in a notebook, it is a table of its workers and its work; [Farm.Watch] keeps
// that up to date.
type Farm struct {
	Pool
	join string
	s    Settings
	err  error

	mu    sync.Mutex // guards the fields below
	local []*localWorker
	jobs  []Job
	// adapting is what Adapt does, adaptStop ends it.
	adapting  *adapter
	adaptStop func()
	asked     time.Time // when the scheduler was asked about the jobs
}

// Start starts the server of a farm in a process of its own, and local workers
// if the settings ask for any. The server outlives this process: Start finds it
// again after a restart of the kernel. An error of Start is shown in place of
// the farm, and returned by every call that uses it; see [Farm.Err].
func Start(s Settings) *Farm {
	f := &Farm{s: s}
	f.err = f.start()
	if f.err != nil {
		f.Pool = broken{f.err}
	}
	return f
}

func (f *Farm) start() error {
	d, err := theDriver()
	if err != nil {
		return err
	}
	if f.s.Dir == "" {
		if f.s.Dir, err = DefaultDir(); err != nil {
			return err
		}
	}
	if f.s.Dir, err = filepath.Abs(f.s.Dir); err != nil {
		return err
	}
	if f.s.Command, err = command(f.s.Command); err != nil {
		return err
	}
	if f.join, err = d.Start(f.s.Dir, f.s.Listen, append(f.s.Command[:len(f.s.Command):len(f.s.Command)], "farm", "serve")); err != nil {
		return err
	}
	if f.Pool, err = d.Pool(context.Background(), f.join); err != nil {
		return err
	}
	f.OnNote(func(note string) { fmt.Fprintln(os.Stderr, "farm:", note) })
	if p, ok := f.Pool.(interface {
		Use(Policy)
		Policy() Policy
	}); ok {
		own := Policy{Verify: f.s.Verify, Limit: f.s.Limit, Priority: f.s.Priority, Disk: f.s.Disk}
		if own.Disk == 0 {
			own.Disk = p.Policy().Disk
		}
		p.Use(own)
	}
	RememberLast(f.s.Dir)
	return f.Local(f.s.Local)
}

// command returns the command dace.
func command(given []string) ([]string, error) {
	if len(given) > 0 {
		return given, nil
	}
	if self, err := os.Executable(); err == nil && strings.HasPrefix(filepath.Base(self), "dace") {
		return []string{self}, nil
	}
	path, err := exec.LookPath("dace")
	if err != nil {
		return nil, errors.New("farm: the command dace is not in the PATH: name it in Settings.Command")
	}
	return []string{path}, nil
}

// broken is the pool of a farm that could not be started.
type broken struct{ err error }

func (b broken) Slots() int                                                { return 1 }
func (b broken) Rate(string) float64                                       { return 0 }
func (b broken) Put(context.Context, []byte) (string, error)               { return "", b.err }
func (b broken) Get(context.Context, string) ([]byte, error)               { return nil, b.err }
func (b broken) Do(context.Context, []Unit, func(int, []byte) error) error { return b.err }

// Err returns the error of [Start], nil if the farm was started.
func (f *Farm) Err() error { return f.err }

// JoinFile returns the path of the join file, for dace worker -join.
func (f *Farm) JoinFile() string { return f.join }

// Local starts n worker processes on this machine, of one core each. They end
// with [Farm.Stop], with the server's drain, or ten minutes after their last
// work.
func (f *Farm) Local(n int) error {
	if f.err != nil || n <= 0 {
		return f.err
	}
	for range n {
		if _, err := f.process(1, 10*time.Minute, 0); err != nil {
			return err
		}
	}
	// Work is cut for the workers that are known. On a busy machine one takes seconds to
	// come; one that has ended does not come.
	for until := time.Now().Add(30 * time.Second); f.Slots() < n && !f.localEnded() && time.Now().Before(until); {
		time.Sleep(10 * time.Millisecond)
	}
	return nil
}

// localEnded reports whether one of the local workers has ended.
func (f *Farm) localEnded() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.ContainsFunc(f.local, func(w *localWorker) bool { return w.ended })
}

// process starts a worker process on this machine. idle and until are those of
// [Work].
func (f *Farm) process(cores int, idle, until time.Duration) (*exec.Cmd, error) {
	args := append(f.s.Command[1:len(f.s.Command):len(f.s.Command)], "worker", "-join", f.join, "-cores", strconv.Itoa(cores))
	for name, d := range map[string]time.Duration{"-idle": idle, "-until": until} {
		if d > 0 {
			args = append(args, name, d.String())
		}
	}
	cmd := exec.Command(f.s.Command[0], args...)
	cmd.Env = append(os.Environ(), "GOMAXPROCS="+strconv.Itoa(cores))
	process.Detach(cmd) // an interrupt of the notebook is not for them
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("farm: starting a worker: %w", err)
	}
	w := &localWorker{cmd: cmd}
	f.mu.Lock()
	f.local = append(slices.DeleteFunc(f.local, func(w *localWorker) bool { return w.ended }), w)
	f.mu.Unlock()
	go func() {
		_ = cmd.Wait()
		f.mu.Lock()
		w.ended = true
		f.mu.Unlock()
	}()
	return cmd, nil
}

// Stop ends the local workers, the jobs and the server. What was
// computed is kept in the farm's folder.
func (f *Farm) Stop() error {
	if f.err != nil {
		return f.err
	}
	f.stopAdapting()
	f.mu.Lock()
	for _, c := range f.local {
		if !c.ended {
			_ = c.cmd.Process.Signal(syscall.SIGTERM)
		}
	}
	f.local, f.jobs, f.adapting = nil, nil, nil
	f.mu.Unlock()
	CancelJobs(f.s.Dir)
	f.OnNote(nil)       // that the server does not answer is no news from here on
	d, _ := theDriver() // which has started it
	err := d.Stop(context.Background(), f.join)
	if c, ok := f.Pool.(io.Closer); ok {
		err = errors.Join(err, c.Close())
	}
	return err
}

// Failures returns the units that failed in this process, the latest last.
func (f *Farm) Failures() []Failure { return Failures() }

// Table returns the state of the farm.
func (f *Farm) Table() Table {
	t := Table{Join: f.join, Err: f.err, Failures: Failures(), Own: true}
	if d, ok := f.Pool.(interface {
		Workers() []Worker
		Caller() Caller
	}); ok {
		c := d.Caller()
		t.Workers, t.Counts, t.Stages = d.Workers(), c.Counts, c.Stages
	}
	t.Jobs = f.batchJobs()
	f.mu.Lock()
	if f.adapting != nil && f.adaptStop != nil {
		t.Hours = f.adapting.hoursSpent()
	}
	f.mu.Unlock()
	return t
}

// Watch calls show with the [Table] twice a second until ctx ends. In a cell,
//
//	go f.Watch(ctx, display.NewHandle().Show)
//
// shows one table that is kept up to date.
func (f *Farm) Watch(ctx context.Context, show func(view any)) {
	for {
		show(f.Table())
		select {
		case <-ctx.Done():
			show(f.Table())
			return
		case <-time.After(500 * time.Millisecond):
		}
	}
}

// Log returns what a worker has said of itself; [Farm.Table] has the names of those
// that are there.
func (f *Farm) Log(worker string) (string, error) {
	if f.err != nil {
		return "", f.err
	}
	var text strings.Builder
	err := WorkerLog(context.Background(), f.join, worker, false, func(line string) { text.WriteString(line + "\n") })
	return text.String(), err
}

// Cancel ends the calls that another process has in the farm, by its name in the
// table of dace farm status.
func (f *Farm) Cancel(caller string) error {
	if f.err != nil {
		return f.err
	}
	return CancelCaller(context.Background(), f.join, caller, Who())
}

// String returns the state of the farm as text.
func (f *Farm) String() string { return f.Table().String() }

// HTML returns the state of the farm as a table for a notebook.
func (f *Farm) HTML() string { return f.Table().HTML() }

// OnNote sets the function that receives what a person should know, such as
// that no worker is there, in place of standard error; each note comes at most once a
// minute.
func (f *Farm) OnNote(note func(string)) {
	if d, ok := f.Pool.(interface{ OnNote(func(string)) }); ok {
		d.OnNote(note)
	}
}

// DefaultDir returns the folder of a farm whose settings name none.
func DefaultDir() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("farm: no folder for the farm: %w; name one in Settings.Dir", err)
	}
	return filepath.Join(cache, "dace", "farm"), nil
}

// RememberLast records the folder of the farm that was started last.
func RememberLast(dir string) {
	if cache, err := os.UserCacheDir(); err == nil && disk.MkdirAll(filepath.Join(cache, "dace"), 0o755) == nil {
		if abs, err := filepath.Abs(dir); err == nil {
			_ = disk.WriteFile(filepath.Join(cache, "dace", "farm-last"), []byte(abs), 0o600)
		}
	}
}

// LastDir returns the folder of the user's farm that was started last.
func LastDir() (string, error) {
	cache, err := os.UserCacheDir()
	if err == nil {
		if b, err := disk.ReadFile(filepath.Join(cache, "dace", "farm-last")); err == nil && len(b) > 0 {
			return string(b), nil
		}
	}
	return DefaultDir()
}

// Control gives the functions of a driver to the command dace.
func Control() (Driver, error) { return theDriver() }
