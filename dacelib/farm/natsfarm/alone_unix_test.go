//go:build unix

package natsfarm_test

import (
	"context"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"dace.local/dacelib/farm"
	"dace.local/dacelib/farm/farmtest"
	"dace.local/dacelib/farm/natsfarm"
)

// await waits until ok reports true.
func await(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for until := time.Now().Add(time.Minute); !ok(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(until) {
			t.Fatal("waited for a minute: ", what)
		}
	}
}

var stops = flag.Bool("stop", false, "TestStopped stops a worker, which takes ten seconds")

// Units of a worker that is stopped, one that runs and those that the server has
// given it, are computed by another in less than 20 s.
func TestStopped(t *testing.T) {
	if !*stops {
		t.Skip("without -stop; TestSilent of package farm has false time")
	}
	join := start(t, "", 0)
	w, _ := startProcess(t, "worker", join, "4")
	p := pool(t, join)
	await(t, "a worker", func() bool { return p.Slots() == 4 })
	var units []farm.Unit
	for i := range 2 {
		units = append(units, farmtest.Unit(t, "sleep", farmtest.Sleep{Time: 2 * time.Second, Number: i}))
	}
	ended := make(chan error, 1)
	go func() { ended <- p.Do(context.Background(), units, func(int, []byte) error { return nil }) }()
	await(t, "two units that run", func() bool { return p.Counts().Running == 2 })
	begun := time.Now()
	if err := w.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	startProcess(t, "worker", join, "2")
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	if took := time.Since(begun); took > 22*time.Second { // with their own two seconds
		t.Errorf("it took %v", took)
	} else {
		t.Logf("done %v after the worker was stopped", took.Round(100*time.Millisecond))
	}
}

// A blob that the server has lost, of which parts are lost, or that is damaged is
// stored again within the call.
func TestLostBlob(t *testing.T) {
	join := start(t, "", 1)
	p := pool(t, join)
	addr, token := address(t, join)
	nc, err := nats.Connect(addr, nats.UserInfo("caller", token))
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	for name, lose := range map[string]func(key string) (stream, subject, replace string){
		"all":     func(key string) (string, string, string) { return "BLOBS", "b." + key + ".>", "" },
		"a part":  func(key string) (string, string, string) { return "BLOBS", "b." + key + ".0", "" },
		"damaged": func(key string) (string, string, string) { return "BLOBS", "b." + key + ".0", "other bytes" },
		"head":    func(key string) (string, string, string) { return "BLOBS", "b." + key + ".head", "{" },
	} {
		content := []byte("the blob of " + name)
		key, err := p.Put(context.Background(), content)
		if err != nil {
			t.Fatal(err)
		}
		stream, subject, replace := lose(key)
		request, _ := json.Marshal(map[string]string{"filter": subject})
		if _, err := nc.Request("$JS.API.STREAM.PURGE."+stream, request, 5*time.Second); err != nil {
			t.Fatal(err)
		}
		if replace != "" {
			if _, err := nc.Request(subject, []byte(replace), 5*time.Second); err != nil {
				t.Fatal(err)
			}
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		var other string
		if err := farm.Do1(ctx, p, farmtest.Unit(t, "blob", key), &other); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if b, err := p.Get(ctx, other); err != nil || string(b) != "again "+string(content) {
			t.Errorf("%s: %q, %v", name, b, err)
		}
	}
}

// Units are computed twice, and another process sees who runs what, reads the log
// of a worker, also of one that has ended, and ends a call.
func TestWatched(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	join := start(t, "", 2)
	p := pool(t, join)
	p.Use(farm.Policy{Verify: 1, Priority: 7})
	ctx := context.Background()
	await(t, "two workers", func() bool { return p.Slots() == 2 })
	if err := farmtest.Doubles(ctx, t, p, 1, 20); err != nil {
		t.Fatal(err)
	}
	if n := p.Counts().Verified; n != 20 {
		t.Errorf("%d of 20 units were verified", n)
	}
	_ = farm.Do1(ctx, p, farmtest.Unit(t, "fail", "a word"), new(any))
	ended := make(chan error, 1)
	go func() {
		ended <- farm.Do1(ctx, p, farmtest.Unit(t, "sleep", farmtest.Sleep{Time: time.Hour}), new(int))
	}()
	await(t, "a unit that runs", func() bool { return p.Counts().Running == 1 })
	var table farm.Table
	if err := farm.WatchFarm(ctx, join, 0, func(now farm.Table) bool { table = now; return true }); err != nil {
		t.Fatal(err)
	}
	if len(table.Callers) != 1 || table.Callers[0].Name != p.Caller().Name || table.Callers[0].Priority != 7 || len(table.Callers[0].Stages) != 1 {
		t.Fatalf("the callers are %+v", table.Callers)
	}
	var logs []string
	for _, w := range p.Workers() {
		if err := farm.WorkerLog(ctx, join, w.Name, false, func(l string) { logs = append(logs, l) }); err != nil {
			t.Fatal(err)
		}
	}
	if text := strings.Join(logs, "\n"); strings.Count(text, "begins on ") != 2 || strings.Count(text, "no such luck with") != 1 {
		t.Errorf("the logs are\n%s", text)
	}
	if err := farm.WorkerLog(ctx, join, "nobody", false, func(string) {}); err == nil || !strings.Contains(err.Error(), "no worker of the name nobody") {
		t.Error(err)
	}
	if err := farm.CancelCaller(ctx, join, "nobody", "a test"); err == nil || !strings.Contains(err.Error(), p.Caller().Name) {
		t.Error(err)
	}
	if err := farm.CancelCaller(ctx, join, p.Caller().Name, "a test"); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err == nil || !strings.Contains(err.Error(), "ended from elsewhere: a test") {
		t.Error(err)
	}
	name := p.Workers()[0].Name
	if err := natsfarm.Drain(ctx, join); err != nil {
		t.Fatal(err)
	}
	await(t, "the end of the workers", func() bool { return len(p.Workers()) == 0 })
	logs = nil
	if err := farm.WorkerLog(ctx, join, name, false, func(l string) { logs = append(logs, l) }); err != nil || !strings.HasSuffix(logs[len(logs)-1], " ends") {
		t.Errorf("%v, %v", logs, err)
	}
}

// A farm adapts the number of its local workers, with the policy of its settings.
func TestAdaptLocal(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	dir := t.TempDir()
	t.Cleanup(func() { killServer(dir) })
	f := farm.Start(farm.Settings{Dir: dir, Command: daceCommand(), Verify: 1, Priority: 2, Batch: farm.Batch{CoreHours: 0.1, Time: "2m"}})
	if f.Err() != nil {
		t.Fatal(f.Err())
	}
	if err := f.Adapt(3, 2); err == nil {
		t.Error("from 3 to 2 jobs")
	}
	// Three jobs of two minutes are all that 0.1 core hours pay for.
	if err := f.Adapt(2, 8); err != nil {
		t.Fatal(err)
	}
	await(t, "two workers", func() bool { return f.Slots() == 2 })
	if err := farmtest.Doubles(context.Background(), t, f, 1, 20); err != nil {
		t.Fatal(err)
	}
	table := f.Table()
	if table.Counts.Verified != 20 {
		t.Errorf("%d of 20 units were verified", table.Counts.Verified)
	}
	if log, err := f.Log(table.Workers[0].Name); err != nil || !strings.Contains(log, " begins on ") {
		t.Errorf("%q, %v", log, err)
	}
	if err := f.Stop(); err != nil {
		t.Fatal(err)
	}
}

// A worker knows for how long its server has been away, and that it is back.
func TestAway(t *testing.T) {
	join := start(t, "", 0)
	dir := filepath.Dir(join)
	src, err := natsfarm.NewSource(context.Background(), join)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if err := src.Join(ctx, func() farm.Worker { return farm.Worker{Name: "here", Cores: 1, Identity: farm.Self()} }); err != nil {
		t.Fatal(err)
	}
	linked := src.(farm.Linked)
	if d := linked.Away(); d != 0 {
		t.Errorf("away for %v", d)
	}
	if err := natsfarm.Stop(ctx, join); err != nil {
		t.Fatal(err)
	}
	await(t, "the server's end", func() bool { return linked.Away() > 50*time.Millisecond })
	if _, err := natsfarm.Start(dir, "", serveCommand()); err != nil {
		t.Fatal(err)
	}
	await(t, "the server again", func() bool { return linked.Away() == 0 })
}

// A bound of disk that the farm was started with holds for its callers.
func TestDiskOfEach(t *testing.T) {
	dir := t.TempDir()
	join, err := natsfarm.Start(dir, "", append(serveCommand(), "-disk", "3000"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { killServer(dir); _ = os.WriteFile(filepath.Join(dir, "stopped"), nil, 0o600) })
	p := pool(t, join)
	if _, err := p.Put(context.Background(), make([]byte, 4000)); err == nil || !strings.Contains(err.Error(), "no room in the 3000 bytes") {
		t.Error(err)
	}
	startProcess(t, "worker", join, "1")
	if err := farmtest.Doubles(context.Background(), t, p, 1, 200); err != nil {
		t.Fatal(err)
	}
	await(t, "results that are removed", func() bool {
		s, err := natsfarm.Status(context.Background(), join)
		return err == nil && s.Results > 10 && s.Results < 150
	})
	if c := p.Caller(); c.Disk > 3000 {
		t.Errorf("%d bytes are used", c.Disk)
	}
}
