package farm_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"dace.local/dacelib/farm"
	"dace.local/dacelib/farm/farmtest"
)

// Two results of one unit that differ are an error, whichever comes first and
// whether the unit was waited for alone.
func TestDiffering(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	one, two := farmtest.Unit(t, "double", farm.Floats{1}), farmtest.Unit(t, "double", farm.Floats{2})
	r := newRecorder(func(r *recorder, m farm.Message, _ string) {
		for _, u := range m.Units {
			if u.Key() == one.Key() {
				r.Done(farm.Result{Key: u.Key(), Data: []byte("2"), Worker: "ada"})
				r.Done(farm.Result{Key: u.Key(), Data: []byte("2"), Worker: "bob"}) // equal
				r.Done(farm.Result{Key: u.Key(), Data: []byte("3"), Worker: "eve"})
			}
		}
	})
	r.Alive(farm.Worker{Name: "ada", Cores: 1, Identity: farm.Self()})
	err := r.Do(ctx, []farm.Unit{one, two}, func(int, []byte) error { return nil })
	var d *farm.Differing
	if !errors.As(err, &d) || d.Key != one.Key() || !slices.Equal(d.Workers, []string{"ada", "eve"}) || d.Wrong != "" {
		t.Fatalf("%v", err)
	}
	// Nothing of this farm is to be trusted from then on.
	if again := r.Do(ctx, []farm.Unit{two}, func(int, []byte) error { return nil }); !errors.As(again, &d) {
		t.Errorf("the next call: %v", again)
	}
}

// A worker of another build is no slot of a caller's, and shares no class with
// it.
func TestAnotherBuild(t *testing.T) {
	r := newRecorder(func(*recorder, farm.Message, string) {})
	for _, change := range []func(*farm.Identity){
		func(id *farm.Identity) { id.Build = "another" },
		func(id *farm.Identity) { id.Version = "another" },
	} {
		w := farm.Worker{Name: "foreign", Cores: 8, Identity: farm.Self()}
		change(&w.Identity)
		r.Alive(w)
		if n := r.Slots(); n != 1 {
			t.Errorf("%d slots with a foreign worker", n)
		}
		for _, class := range w.Identity.Classes() {
			if slices.Contains(farm.Self().Classes(), class) {
				t.Errorf("%+v computes units of the class %s", w.Identity, class)
			}
		}
		if why := farm.Self().Differences(w.Identity); len(why) != 1 || !strings.HasPrefix(why[0], "no unit") {
			t.Errorf("differences: %v", why)
		}
		r.Gone("foreign", false, "")
	}
	r.Alive(farm.Worker{Name: "a", Cores: 3, Identity: farm.Self()})
	r.Alive(farm.Worker{Name: "a", Cores: 3, Identity: farm.Self()})
	if n := r.Slots(); n != 3 {
		t.Errorf("%d slots, want 3", n)
	}
}

// inFolder runs a test with a pool in a folder and workers of one core in this
// process, on false time.
func inFolder(t *testing.T, f func(t *testing.T, p *farm.FolderPool, dir string, worker func() (stop func()))) {
	t.Helper()
	farm.Self()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		p, err := farm.Folder(dir)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		f(t, p, dir, func() func() {
			src, err := farm.FolderSource(dir)
			if err != nil {
				t.Fatal(err)
			}
			of, stop := context.WithCancel(ctx)
			silent, mute := context.WithCancel(ctx)
			go func() { _ = farm.Work{Cores: 1, Name: farm.WorkerName()}.Run(of, &stoppable{src, silent, ctx.Done()}) }()
			time.Sleep(time.Second)
			return func() { mute(); _ = stop }
		})
		cancel()
		time.Sleep(time.Hour)
	})
}

// stoppable is a source that says nothing more when its context ends, as when its
// process is stopped.
type stoppable struct {
	farm.Source
	silent context.Context
	end    <-chan struct{}
}

func (s *stoppable) Join(ctx context.Context, state func() farm.Worker) error {
	return s.Source.Join(s.silent, state) // which beats until then
}

func (s *stoppable) Result(ctx context.Context, m farm.Message, r farm.Result) error {
	if s.silent.Err() != nil {
		<-s.end
	}
	return s.Source.Result(ctx, m, r)
}

// A worker has a slot for each of its cores: as many as it is told, or as Go uses.
func TestWorkerCores(t *testing.T) {
	inFolder(t, func(t *testing.T, p *farm.FolderPool, dir string, _ func() func()) {
		for cores, want := range map[int]int{5: 5, 0: runtime.GOMAXPROCS(0)} {
			src, err := farm.FolderSource(dir)
			if err != nil {
				t.Fatal(err)
			}
			ctx, stop := context.WithCancel(t.Context())
			go func() { _ = farm.Work{Cores: cores, Name: farm.WorkerName()}.Run(ctx, src) }()
			blob, err := p.Put(ctx, []byte("a blob"))
			if err != nil {
				t.Fatal(err)
			}
			u, err := farm.NewUnit("night: work", work{Blob: blob, Number: cores, Seconds: 10}, 1, nil)
			if err != nil {
				t.Fatal(err)
			}
			time.AfterFunc(5*time.Second, func() {
				if n := p.Slots(); n != want {
					t.Errorf("%d slots of a worker with %d cores, want %d", n, cores, want)
				}
			})
			if err := p.Do(ctx, []farm.Unit{u}, func(int, []byte) error { return nil }); err != nil {
				t.Error(err)
			}
			stop()
			time.Sleep(time.Minute)
		}
	})
}

// The units of a worker that is stopped move on in less than 20 s in a folder,
// too.
func TestFolderStopped(t *testing.T) {
	inFolder(t, func(t *testing.T, p *farm.FolderPool, dir string, worker func() func()) {
		stop := worker()
		u := farmtest.Unit(t, "sleep", farmtest.Sleep{Time: 10 * time.Minute, Number: 4})
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan error, 1)
		go func() { ended <- p.Do(ctx, []farm.Unit{u}, func(int, []byte) error { return nil }) }()
		time.Sleep(2 * time.Second)
		if n := p.Counts().Running; n != 1 {
			t.Fatalf("%d units run", n)
		}
		stop()
		begun := time.Now()
		worker()
		for p.Counts().Running != 0 && time.Since(begun) < time.Hour {
			time.Sleep(50 * time.Millisecond)
		}
		for p.Counts().Running != 1 && time.Since(begun) < time.Hour {
			time.Sleep(50 * time.Millisecond)
		}
		if took := time.Since(begun); took > 20*time.Second {
			t.Errorf("the unit has moved on after %v", took)
		}
		cancel()
		<-ended
	})
}

// What a folder loses is made good within the call: an emptied or deleted blob, a
// message that waits or is computed, a result, the folders themselves.
func TestFolderLosses(t *testing.T) {
	for name, lose := range map[string]func(dir string) int{
		"emptied blobs": func(dir string) int {
			return each(filepath.Join(dir, "blobs"), func(path string) error { return os.Truncate(path, 0) })
		},
		"deleted blobs": func(dir string) int { return each(filepath.Join(dir, "blobs"), os.Remove) },
		"tasks":         func(dir string) int { return each(filepath.Join(dir, "tasks"), os.Remove) },
		"taken":         func(dir string) int { return each(filepath.Join(dir, "taken"), os.Remove) },
		"results":       func(dir string) int { return each(filepath.Join(dir, "results"), os.Remove) },
		"all": func(dir string) (n int) {
			for _, sub := range []string{"tasks", "taken", "results", "tmp", "blobs", "inbox"} {
				n += each(filepath.Join(dir, sub), os.Remove)
				_ = os.RemoveAll(filepath.Join(dir, sub))
			}
			return n
		},
	} {
		t.Run(name, func(t *testing.T) {
			inFolder(t, func(t *testing.T, p *farm.FolderPool, dir string, worker func() func()) {
				worker()
				worker()
				blob := []byte("a blob")
				key, err := p.Put(context.Background(), blob)
				if err != nil {
					t.Fatal(err)
				}
				var us []farm.Unit
				var want []string
				for i := range 12 {
					d := work{Blob: key, Number: i, Seconds: 3}
					u, err := farm.NewUnit("night: work", d, 1, nil)
					if err != nil {
						t.Fatal(err)
					}
					us, want = append(us, u), append(want, string(d.result(blob)))
				}
				var lost atomic.Int64
				for k := range 6 {
					time.AfterFunc(time.Duration(k)*3*time.Second+1500*time.Millisecond, func() { lost.Add(int64(lose(dir))) })
				}
				n, begun := 0, time.Now()
				err = p.Do(context.Background(), us, func(i int, b []byte) error {
					if n++; string(b) != want[i] {
						t.Errorf("unit %d: %s, want %s", i, b, want[i])
					}
					return nil
				})
				if err != nil || n != len(us) || lost.Load() == 0 {
					t.Errorf("%d results with %d losses: %v", n, lost.Load(), err)
				}
				if took := time.Since(begun); took > 5*time.Minute {
					t.Errorf("it took %v", took)
				}
			})
		})
	}
}

// each calls f with the files of a folder and returns their number.
func each(dir string, f func(path string) error) int {
	n := 0
	for _, path := range inside(dir) {
		if f(path) == nil {
			n++
		}
	}
	return n
}

// A result that stands under the key of another is none of it.
func TestFolderResultKey(t *testing.T) {
	p, dir := folderPool(t)
	one, two := farmtest.Unit(t, "double", farm.Floats{1}), farmtest.Unit(t, "double", farm.Floats{2})
	farm.ForgeResult(dir, farm.Result{Key: one.Key(), Data: []byte("[2]")})
	from := filepath.Join(dir, "results", one.Key()[:2], one.Key())
	to := filepath.Join(dir, "results", two.Key()[:2], two.Key())
	b, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, b, 0o600); err != nil {
		t.Fatal(err)
	}
	found, err := p.Look(context.Background(), []string{one.Key(), two.Key()})
	if err != nil || len(found) != 1 || found[0].Key != one.Key() {
		t.Errorf("%v, %v", found, err)
	}
}

// A folder tells who runs what, keeps the log of a worker that has ended, ends a
// call from elsewhere, and has units computed twice.
func TestFolderWatched(t *testing.T) {
	inFolder(t, func(t *testing.T, p *farm.FolderPool, dir string, worker func() func()) {
		worker()
		worker()
		p.Use(farm.Policy{Verify: 1, Priority: 3})
		ctx := context.Background()
		if err := farmtest.Doubles(ctx, t, p, 1, 20); err != nil {
			t.Fatal(err)
		}
		if n := p.Counts().Verified; n != 20 {
			t.Errorf("%d of 20 units were verified", n)
		}
		ended := make(chan error, 1)
		go func() {
			ended <- farm.Do1(ctx, p, farmtest.Unit(t, "sleep", farmtest.Sleep{Time: time.Hour}), new(int))
		}()
		time.Sleep(5 * time.Second)
		var table farm.Table
		if err := farm.WatchFarm(ctx, dir, 0, func(now farm.Table) bool { table = now; return true }); err != nil {
			t.Fatal(err)
		}
		if len(table.Callers) != 1 {
			t.Fatalf("the table is %+v", table)
		}
		if table.Callers[0].Priority != 3 || len(table.Workers) != 2 || table.Summary().Units.Running != 1 {
			t.Errorf("the table is %+v", table)
		}
		b, err := table.JSON()
		for _, want := range []string{`"summary":{`, `"units":{"done":20,`, `"core_hours":`, `"left":0`, `"workers":[{`, `"priority":3`} {
			if err != nil || !strings.Contains(string(b), want) {
				t.Errorf("the JSON has no %s: %v\n%s", want, err, b)
			}
		}
		var log []string
		err = farm.WorkerLog(ctx, dir, table.Workers[0].Name, false, func(l string) { log = append(log, l) })
		if err != nil || len(log) == 0 || !strings.Contains(log[0], " begins on ") {
			t.Errorf("%v, %v", log, err)
		}
		for _, name := range []string{"nobody", "../x", ""} {
			if err := farm.WorkerLog(ctx, dir, name, false, func(string) {}); err == nil {
				t.Errorf("a log of %q", name)
			}
			if err := farm.CancelCaller(ctx, dir, name, "a test"); err == nil || !strings.Contains(err.Error(), "no caller of the name") {
				t.Errorf("%q is cancelled: %v", name, err)
			}
		}
		if err := farm.CancelCaller(ctx, dir, table.Callers[0].Name, "a test"); err != nil {
			t.Fatal(err)
		}
		if err := <-ended; err == nil || !strings.Contains(err.Error(), "ended from elsewhere: a test") {
			t.Error(err)
		}
	})
}

func (s *stoppable) Log(line string) { s.Source.(farm.Logger).Log(line) }
