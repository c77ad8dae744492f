package farm_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"reflect"
	"syscall"
	"testing"

	"dace.local/dacelib/construct"
	"dace.local/dacelib/farm"
	"dace.local/dacelib/farm/farmtest"
	"dace.local/dacelib/nir"
	"dace.local/dacelib/pgpe"
	"dace.local/dacelib/problem"
	"dace.local/dacelib/problem/onemax"
)

// workerVariable tells a process of this test to be a worker of a folder.
const workerVariable = "DACE_FARM_TEST_FOLDER"

func TestMain(m *testing.M) {
	if dir := os.Getenv(callerVariable); dir != "" {
		if err := callerMain(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	if dir := os.Getenv(workerVariable); dir != "" {
		ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
		defer stop()
		go func() { // the test holds the other end of the pipe
			_, _ = io.Copy(io.Discard, os.Stdin)
			os.Exit(1)
		}()
		src, err := farm.FolderSource(dir)
		if err == nil {
			err = farm.Work{Cores: 1}.Run(ctx, src)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// startWorker starts a worker process, which the end of the test kills.
func startWorker(t testing.TB, dir string, wrap ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	if len(wrap) > 0 {
		cmd = exec.Command(wrap[0], append(wrap[1:], os.Args[0])...)
	}
	cmd.Env = append(os.Environ(), workerVariable+"="+dir)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_, _ = cmd.Process.Wait() // not cmd.Wait, which the test may have called
		_ = in.Close()
	})
	return cmd
}

func folderPool(t testing.TB) (*farm.FolderPool, string) {
	t.Helper()
	dir := t.TempDir()
	p, err := farm.Folder(dir)
	if err != nil {
		t.Fatal(err)
	}
	return p, dir
}

func TestLocal(t *testing.T) { farmtest.Run(t, farm.Local(3)) }

func TestFolder(t *testing.T) {
	p, dir := folderPool(t)
	for range 2 {
		startWorker(t, dir)
	}
	farmtest.Run(t, p)
}

// tiny returns settings of a construction that takes about a second.
func tiny() construct.Settings {
	return construct.Settings{
		Members: 2, Rounds: 2, Configurations: 6, Minings: 3, Trials: 12, Evaluations: 60,
		NIR:  nir.Settings{Samples: 400, Batch: 8, Steps: 20, NormaliseSample: 5000},
		PGPE: pgpe.Settings{Pairs: 2, MaxIterations: 2},
		Seed: 3,
	}
}

// Ranges from parts of the sample equal those of one pass, also in the pass in
// bytes.
func TestRanges(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	m, err := nir.Random(20, 3, nir.Settings{NormaliseSample: 450_000})
	if err != nil {
		t.Fatal(err)
	}
	want, err := m.Normalise(context.Background(), m.Embeddings())
	if err != nil {
		t.Fatal(err)
	}
	m.Farm = farm.Local(2)
	got, err := m.Normalise(context.Background(), m.Embeddings())
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v, %v, want %v", got, err, want)
	}
}

// A unit on an instance that its blob does not have is an error in words.
func TestInstance(t *testing.T) {
	ctx, pool := context.Background(), farm.Local(1)
	instances := []problem.Problem{onemax.Random(1, 5), onemax.Random(2, 6)}
	key, err := farm.NewPacker(ctx, pool).Problems(instances)
	if err != nil {
		t.Fatal(err)
	}
	env := farm.NewEnv(1, pool.Get, pool.Put)
	for _, tc := range []struct {
		index, dim int
		err        string
	}{
		{0, 5, ""},
		{1, 6, ""},
		{2, 0, "farm: a unit on instance 2 of 2"},
		{-1, 0, "farm: a unit on instance -1 of 2"},
	} {
		p, err := env.Instance(ctx, key, tc.index)
		if tc.err != "" {
			if err == nil || err.Error() != tc.err {
				t.Errorf("instance %d: %v, want %s", tc.index, err, tc.err)
			}
		} else if err != nil || p.Dim() != tc.dim {
			t.Errorf("instance %d: %v, %v, want %d bits", tc.index, p, err, tc.dim)
		}
	}
}
