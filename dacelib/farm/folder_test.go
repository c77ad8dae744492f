package farm_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"dace.local/dacelib/construct"
	"dace.local/dacelib/farm"
	"dace.local/dacelib/farm/farmtest"
	"dace.local/dacelib/problem/ccp"
)

// callerVariable tells a process of this test to construct a portfolio on the
// folder that it names, with a record in the folder record below it.
const callerVariable = "DACE_FARM_TEST_CALLER"

// callerMain is a caller's process: it prints the result of a construction.
func callerMain(dir string) error {
	pool, err := farm.Folder(filepath.Join(dir, "farm"))
	if err != nil {
		return err
	}
	text, err := chaosResult(pool, filepath.Join(dir, "record"))
	if err == nil {
		fmt.Print(text)
	}
	return err
}

// chaosResult constructs a portfolio; a dir makes the construction go on there.
func chaosResult(pool farm.Pool, dir string) (string, error) {
	set, err := ccp.Class().NewSet(1, 3, 0)
	if err != nil {
		return "", err
	}
	s := tiny()
	s.Minings, s.Trials, s.Farm, s.Dir = 6, 60, pool, dir
	r, err := construct.DACE(context.Background(), set.Training, s)
	return fmt.Sprintf("%v\n%v\n%v runs, %v evaluations", r.Portfolio, r.Rounds, r.Cost.Runs, r.Cost.Evaluations), err
}

// A construction on a folder gives the same result while workers and the caller
// are killed, files are torn, and every time stamp is up to an hour wrong.
func TestFolderChaos(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	want, err := chaosResult(nil, "")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	shared := filepath.Join(dir, "farm")
	if _, err := farm.Folder(shared); err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 19))
	workers := []*exec.Cmd{startWorker(t, shared), startWorker(t, shared)}
	stop := make(chan struct{})
	var clocks sync.WaitGroup
	clocks.Go(func() { wrongClocks(shared, stop) })
	defer clocks.Wait()
	defer close(stop)

	caller, out := startCaller(t, dir)
	ended := make(chan error, 1)
	go func() { ended <- caller.Wait() }()
	kills, callers := 0, 0
	for {
		select {
		case err := <-ended:
			if kills < 20 {
				// It was faster than the kills: they go on with another caller.
				if err != nil {
					t.Fatalf("the caller failed: %v", err)
				}
				if out.String() != want {
					t.Fatalf("after %d kills:\n%s\nwant\n%s", kills, out, want)
				}
				_ = os.RemoveAll(filepath.Join(dir, "record"))
				_ = os.RemoveAll(filepath.Join(shared, "results"))
				caller, out = startCaller(t, dir)
				go func() { ended <- caller.Wait() }()
				continue
			}
			if err != nil || out.String() != want {
				t.Fatalf("after %d kills, %d of them of callers: %v\n%s\nwant\n%s", kills, callers, err, out, want)
			}
			t.Logf("%d kills, %d of them of callers", kills, callers)
			return
		case <-time.After(time.Duration(50+rng.IntN(350)) * time.Millisecond):
		}
		if kills >= 20 {
			continue
		}
		kills++
		switch k := rng.IntN(4); {
		case k == 0:
			_ = caller.Process.Kill()
			<-ended
			callers++
			caller, out = startCaller(t, dir)
			go func(c *exec.Cmd) { ended <- c.Wait() }(caller)
		case k == 1:
			tear(shared, rng)
		default:
			i := rng.IntN(len(workers))
			_ = workers[i].Process.Kill()
			workers[i] = startWorker(t, shared)
		}
	}
}

func startCaller(t *testing.T, dir string) (*exec.Cmd, *bytes.Buffer) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), callerVariable+"="+dir)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = in.Close() })
	return cmd, &out
}

// inside returns the files of a folder.
func inside(dir string) (out []string) {
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			out = append(out, path)
		}
		return nil
	})
	return out
}

// tear cuts a random result or message in half, as a crash of a machine may.
func tear(dir string, rng *rand.Rand) {
	all := append(inside(filepath.Join(dir, "results")), inside(filepath.Join(dir, "tasks"))...)
	if len(all) == 0 {
		return
	}
	path := all[rng.IntN(len(all))]
	if info, err := os.Stat(path); err == nil {
		_ = os.Truncate(path, info.Size()/2)
	}
}

// wrongClocks gives files time stamps of clocks that are up to an hour wrong.
func wrongClocks(dir string, stop chan struct{}) {
	for k := 0; ; k++ {
		select {
		case <-stop:
			return
		case <-time.After(200 * time.Millisecond):
		}
		for i, path := range inside(dir) {
			at := time.Now().Add(time.Duration((i+k)%3-1) * time.Hour)
			_ = os.Chtimes(path, at, at)
		}
	}
}

// A unit of which three workers die is set aside, and the error says of which
// input; other units are computed all the same.
func TestFolderDeadly(t *testing.T) {
	p, dir := folderPool(t)
	stop := make(chan struct{})
	var keep sync.WaitGroup
	keep.Go(func() { // as a queueing system that starts workers again
		for {
			w := startWorker(t, dir)
			ended := make(chan struct{})
			go func() { _ = w.Wait(); close(ended) }()
			select {
			case <-stop:
				return
			case <-ended:
			}
		}
	})
	defer keep.Wait()
	defer close(stop)
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	u := farmtest.Unit(t, "die", t.Name())
	n := 0
	err := p.Do(ctx, []farm.Unit{u, farmtest.Unit(t, "double", farm.Floats{1}), farmtest.Unit(t, "double", farm.Floats{2})}, func(int, []byte) error { n++; return nil })
	var f *farm.Failure
	if !errors.As(err, &f) || f.Deaths != 3 || f.Key != u.Key() || f.Worker == "" || n != 2 ||
		!strings.Contains(err.Error(), "3 workers died of a unit") || !strings.Contains(err.Error(), `its input: "TestFolderDeadly"`) {
		t.Fatalf("%d results; %v", n, err)
	}
	if err := farmtest.Doubles(ctx, t, p, 1, 20); err != nil {
		t.Fatal(err)
	}
}

// Two workers that find different results are named.
func TestFolderConflict(t *testing.T) {
	p, dir := folderPool(t)
	u := farmtest.Unit(t, "sleep", farmtest.Sleep{Time: 3 * time.Second, Number: 5})
	startWorker(t, dir)
	go func() {
		// As soon as the worker has the unit, another one has a wrong result.
		for len(inside(filepath.Join(dir, "taken"))) == 0 {
			time.Sleep(5 * time.Millisecond)
		}
		farm.ForgeResult(dir, farm.Result{Key: u.Key(), Data: []byte("6"), Worker: "liar", Host: "elsewhere"})
	}()
	err := p.Do(context.Background(), []farm.Unit{u}, func(int, []byte) error { return nil })
	if err == nil || !strings.Contains(err.Error(), "liar") || !strings.Contains(err.Error(), "different results") {
		t.Errorf("%v", err)
	}
}

// A result that lies where that of another unit belongs is not taken for it.
func TestFolderOtherKey(t *testing.T) {
	inFolder(t, func(t *testing.T, p *farm.FolderPool, dir string, worker func() (stop func())) {
		one, two := farmtest.Unit(t, "double", farm.Floats{1}), farmtest.Unit(t, "double", farm.Floats{2})
		four, err := farm.Floats{4}.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		farm.ForgeResultAt(dir, one.Key(), farm.Result{Key: two.Key(), Data: four, Worker: "a"})
		worker()
		var got farm.Floats
		err = p.Do(context.Background(), []farm.Unit{one}, func(_ int, data []byte) error { return got.UnmarshalJSON(data) })
		if err != nil || !slices.Equal(got, farm.Floats{2}) {
			t.Errorf("twice 1 is %v, %v", got, err)
		}
	})
}
