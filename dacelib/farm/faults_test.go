package farm_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"dace.local/dacelib/farm"
	"dace.local/dacelib/farm/farmtest"
	"dace.local/dacelib/files/disk"
)

// place returns the first folder of a path in a farm's folder, else the path.
func place(dir, path string) string {
	rel, err := filepath.Rel(dir, path)
	if err != nil || strings.HasPrefix(rel, "..") {
		return path
	}
	return strings.Split(rel, string(filepath.Separator))[0]
}

// useFolder does on a farm in a folder what callers and workers do, with a worker of
// this process, and returns what failed.
func useFolder(t *testing.T, p *farm.FolderPool, dir string) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	src, err := farm.FolderSource(dir)
	if err != nil {
		return err
	}
	worked := make(chan error, 1)
	go func() { worked <- farm.Work{Cores: 1, Name: "worker"}.Run(ctx, src) }()
	work := func() error {
		key, err := p.Put(ctx, []byte("a blob"))
		if err != nil {
			return err
		}
		again := ""
		if err := farm.Do1(ctx, p, farmtest.Unit(t, "blob", key), &again); err != nil {
			return err
		}
		if b, err := p.Get(ctx, again); err != nil || string(b) != "again a blob" {
			return errors.Join(err, fmt.Errorf("the blob has become %q", b))
		}
		if err := farmtest.Doubles(ctx, t, p, 1, 3); err != nil {
			return err
		}
		_, _ = p.Log("worker") // one that cannot be written is no reason to end
		ended := make(chan error, 1)
		go func() {
			ended <- farm.Do1(ctx, p, farmtest.Unit(t, "sleep", farmtest.Sleep{Time: time.Hour}), new(int))
		}()
		time.Sleep(6 * time.Second)
		if err := p.CancelCaller(p.Caller().Name, "a test"); err != nil {
			cancel()
			return errors.Join(err, <-ended)
		}
		if err := <-ended; err == nil || !strings.Contains(err.Error(), "a test") {
			return err
		}
		p.Dismiss("worker", "a test")
		return nil
	}
	err = work()
	time.Sleep(10 * time.Second)
	cancel()
	return errors.Join(err, <-worked)
}

// Whatever call of the disk fails, once or for good: a farm in a folder gives the
// results, or says what has failed.
func TestFolderFaults(t *testing.T) {
	type call struct{ op, place string }
	var calls []call
	inFolder(t, func(t *testing.T, p *farm.FolderPool, dir string, _ func() func()) {
		var mu sync.Mutex
		mend := disk.Fail(func(op, path string) error {
			mu.Lock()
			defer mu.Unlock()
			if c := (call{op, place(dir, path)}); !slices.Contains(calls, c) {
				calls = append(calls, c)
			}
			return nil
		})
		defer mend()
		if err := useFolder(t, p, dir); err != nil {
			t.Fatal(err)
		}
	})
	if len(calls) < 20 {
		t.Fatalf("the calls are %v", calls)
	}
	for _, c := range calls {
		errs := []error{syscall.EIO}
		switch c.op {
		case "WriteFile":
			errs = append(errs, syscall.ENOSPC, syscall.ENOENT)
		case "Link":
			errs = append(errs, syscall.EPERM, syscall.ENOENT)
		case "Rename", "Stat", "ReadFile":
			errs = append(errs, syscall.ENOENT)
		}
		for _, fault := range errs {
			for _, once := range []bool{true, false} {
				if !once && (testing.Short() || fault != syscall.EIO) {
					continue
				}
				inFolder(t, func(t *testing.T, p *farm.FolderPool, dir string, _ func() func()) {
					var mu sync.Mutex
					n := 0
					mend := disk.Fail(func(op, path string) error {
						mu.Lock()
						defer mu.Unlock()
						if (call{op, place(dir, path)}) != c || once && n > 0 {
							return nil
						}
						n++
						return fault
					})
					defer mend()
					err := useFolder(t, p, dir)
					told := err == nil || errors.As(err, new(*farm.NoRoom))
					for _, words := range []string{fault.Error(), "is missing from the farm", "no caller of the name"} {
						told = told || strings.Contains(err.Error(), words)
					}
					if !told && (once || !errors.Is(err, context.DeadlineExceeded)) {
						t.Errorf("%s in %s fails with %q, once: %v: %v", c.op, c.place, fault, once, err)
					}
				})
			}
		}
	}
}

// Files that make no sense in a farm's folder are passed over.
func TestFolderGarbage(t *testing.T) {
	inFolder(t, func(t *testing.T, p *farm.FolderPool, dir string, _ func() func()) {
		for _, at := range []string{
			"callers/x", "inbox/" + p.Caller().Name + "/x", "workers/x", "workers/.x", "inbox/" + p.Caller().Name + "/.x",
			"tasks/" + farm.Self().Classes()[0] + "/none-00000001", "taken/x/y", "tmp/x", "results/00/x",
		} {
			at = filepath.Join(dir, at)
			if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o700), os.WriteFile(at, []byte("x\ny"), 0o600)); err != nil {
				t.Fatal(err)
			}
		}
		if err := useFolder(t, p, dir); err != nil {
			t.Fatal(err)
		}
	})
}

// A folder that cannot be used says so before anything is computed.
func TestFolderRefuses(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct{ op, place, want string }{
		{"MkdirAll", "blobs", "cannot be used"}, {"MkdirAll", "inbox", ""},
	} {
		n := 0
		mend := disk.Fail(func(op, path string) error {
			if op == c.op && place(dir, path) == c.place {
				if n++; n > 1 || c.want != "" {
					return syscall.EACCES
				}
			}
			return nil
		})
		_, err := farm.Folder(dir)
		says(t, c.place, err, c.want)
		if !errors.Is(err, syscall.EACCES) {
			t.Errorf("%s in %s: %v", c.op, c.place, err)
		}
		mend()
	}
	p, err := farm.Folder(dir)
	if err != nil {
		t.Fatal(err)
	}
	_, err = p.Get(t.Context(), "../x")
	says(t, "a path as a key", err, "is no key of a blob")
	err = p.Do(t.Context(), []farm.Unit{{Kind: "farmtest: double", Data: []byte("{")}}, nil)
	says(t, "a unit that is no JSON", err, "the data of a unit are no JSON")
}

// A wire is a transport each of whose calls can fail. What is sent once calls of do not
// fail any more arrives.
type wire struct {
	*farm.Dispatcher
	send, look, queued func() error
	restore            error
	known              []farm.Result
	arrives            func(m farm.Message)
}

func (w *wire) Send(_ context.Context, m farm.Message) error {
	if err := w.send(); err != nil {
		return err
	}
	go w.arrives(m)
	return nil
}

func (w *wire) Look(context.Context, []string) ([]farm.Result, error) {
	err := w.look()
	return w.known, err
}

func (w *wire) Queued(context.Context, farm.Message) (bool, error) { return false, w.queued() }

func (w *wire) Restore(context.Context, []byte) error { return w.restore }

func (w *wire) Withdraw([]farm.Message) {}

// A call ends with what fails of its transport, and goes on when a full disk has room.
func TestWireFails(t *testing.T) {
	cut := errors.New("the cable is cut")
	u := farmtest.Unit(t, "double", farm.Floats{1})
	two := []byte("2")
	// at returns a function whose n-th call fails.
	at := func(n int, err error) func() error {
		return func() error {
			if n--; n == 0 {
				return err
			}
			return nil
		}
	}
	for name, c := range map[string]struct {
		set  func(w *wire)
		done error // of the caller's function
		want error
	}{
		"looking":                 {set: func(w *wire) { w.look = at(1, cut) }, want: cut},
		"looking again":           {set: func(w *wire) { w.look = at(2, cut) }, want: cut},
		"a result that was known": {func(w *wire) { w.known = []farm.Result{{Key: u.Key(), Data: two}} }, cut, cut},
		"a result that is found": {func(w *wire) {
			looks := 0
			w.look = func() error {
				if looks++; looks == 2 {
					w.known = []farm.Result{{Key: u.Key(), Data: two}}
				}
				return nil
			}
		}, cut, cut},
		"sending":          {set: func(w *wire) { w.send = at(1, cut) }, want: cut},
		"sending again":    {set: func(w *wire) { w.send = at(2, cut) }, want: cut},
		"asking the queue": {set: func(w *wire) { w.queued = at(1, cut) }, want: cut},
		"a full disk": {set: func(w *wire) {
			w.send = at(1, &farm.NoRoom{Words: "full"})
			w.arrives = func(farm.Message) { w.Done(farm.Result{Key: u.Key(), Data: two}) }
		}},
		"after a death": {set: func(w *wire) {
			w.send = at(2, cut)
			w.arrives = func(m farm.Message) { w.Took(m.ID, "a", "h"); w.Gone("a", true, "") }
		}, want: cut},
		"storing a blob again": {set: func(w *wire) {
			blob := []byte("blob")
			w.restore = cut
			w.arrives = func(m farm.Message) { w.Missing(m.ID, 0, "a", "h", farm.BlobKey(blob)) }
			if err := w.Keep(farm.BlobKey(blob), blob); err != nil {
				t.Fatal(err)
			}
		}, want: cut},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := &wire{send: at(0, nil), look: at(0, nil), queued: at(0, nil), arrives: func(farm.Message) {}}
				w.Dispatcher = farm.NewDispatcher(w, "caller", nil, time.Second)
				w.Alive(farm.Worker{Name: "a", Cores: 1, Identity: farm.Self()})
				c.set(w)
				ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
				defer cancel()
				err := w.Do(ctx, []farm.Unit{u}, func(int, []byte) error { return c.done })
				if !errors.Is(err, c.want) {
					t.Errorf("%v, want %v", err, c.want)
				}
			})
		})
	}
}

// What cannot be started is the error of who starts it.
func TestStartFails(t *testing.T) {
	no := errors.New("not today")
	pool := func(context.Context, string) (farm.Pool, error) { return farm.Local(1), nil }
	start := func(string, string, []string) (string, error) { return "join", nil }
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	ctx := t.Context()
	for want, c := range map[string]struct {
		d    farm.Driver
		s    farm.Settings
		here func(t *testing.T)
	}{
		"no folder for the farm": {here: func(t *testing.T) { t.Setenv("XDG_CACHE_HOME", ""); t.Setenv("HOME", "") }},
		"getwd": {s: farm.Settings{Dir: "here"}, here: func(t *testing.T) {
			dir := t.TempDir()
			t.Chdir(dir)
			if err := os.Remove(dir); err != nil {
				t.Skip("this system keeps the folder of a process")
			}
		}},
		"the command dace is not in the PATH": {here: func(t *testing.T) { t.Setenv("PATH", "") }},
		"not today":                           {d: farm.Driver{Start: func(string, string, []string) (string, error) { return "", no }}},
		"not today, pool":                     {d: farm.Driver{Start: start, Pool: func(context.Context, string) (farm.Pool, error) { return nil, fmt.Errorf("%w, pool", no) }}},
		"starting a worker":                   {d: farm.Driver{Start: start, Pool: pool}, s: farm.Settings{Local: 1, Command: []string{"/dev/null/dace"}}},
	} {
		t.Run(want, func(t *testing.T) {
			defer farm.UseDriver(c.d)()
			if c.here != nil {
				c.here(t)
			} else if c.s.Command == nil {
				c.s.Command = []string{"dace"}
			}
			says(t, want, farm.Start(c.s).Err(), want)
		})
	}
	defer farm.UseDriver(farm.Driver{Start: start, Pool: pool})()
	of := func(b farm.Batch) *farm.Farm {
		f := farm.Start(farm.Settings{Dir: t.TempDir(), Command: []string{"/dev/null/dace"}, Batch: b})
		if err := f.Err(); err != nil {
			t.Fatal(err)
		}
		return f
	}
	says(t, "less than no jobs", of(farm.Batch{}).Adapt(-1, 1), "from -1 to 1 jobs")
	says(t, "fewer cores than none", of(farm.Batch{Cores: -1}).Adapt(0, 1), "of -1 cores")
	says(t, "a pool that cannot tell", of(farm.Batch{}).Adapt(0, 1), "does not tell how many units wait")

	dir := t.TempDir()
	mend := disk.Fail(func(op, _ string) error {
		if op == "MkdirAll" {
			return syscall.EACCES
		}
		return nil
	})
	defer mend()
	says(t, "a folder to watch", farm.WatchFarm(ctx, dir, 0, nil), "cannot be used")
	says(t, "a folder of callers", farm.CancelCaller(ctx, dir, "x", "y"), "cannot be used")
}

// When a call of a folder has returned, nothing writes into the folder any more.
func TestFolderRests(t *testing.T) {
	dir := t.TempDir()
	p, err := farm.Folder(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(disk.Fail(func(op, path string) error {
		if op == "ReadDir" && strings.HasPrefix(place(dir, path), "inbox") {
			time.Sleep(10 * time.Millisecond) // a slow disk
		}
		return nil
	}))
	err = p.Do(t.Context(), []farm.Unit{{Kind: "farmtest: double", Data: []byte("{")}}, nil)
	says(t, "a unit that is no JSON", err, "the data of a unit are no JSON")
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	time.Sleep(50 * time.Millisecond)
	if _, err := os.Stat(dir); err == nil {
		t.Fatal("the folder is there again")
	}
}
