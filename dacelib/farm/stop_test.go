//go:build unix

package farm_test

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"dace.local/dacelib/farm"
)

// Stop ends the local workers and the server, and the folder of a farm is known to
// whoever asks for the last.
func TestStop(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Setenv("HOME", t.TempDir())
	stopped := ""
	defer farm.UseDriver(farm.Driver{
		Start: func(string, string, []string) (string, error) { return "join", nil },
		Pool:  func(context.Context, string) (farm.Pool, error) { return farm.Local(1), nil },
		Stop:  func(_ context.Context, join string) error { stopped = join; return nil },
	})()
	dir := t.TempDir()
	alive := filepath.Join(dir, "alive") // open for writing as long as the worker lives
	if err := syscall.Mkfifo(alive, 0o600); err != nil {
		t.Fatal(err)
	}
	f := farm.Start(farm.Settings{Dir: dir, Local: 1, Command: []string{"sh", "-c", "exec sleep 60 > " + alive}})
	if err := f.Err(); err != nil {
		t.Fatal(err)
	}
	if last, err := farm.LastDir(); err != nil || last != dir {
		t.Errorf("the last farm's folder is %q, %v; want %s", last, err, dir)
	}
	worker, err := os.Open(alive) // waits for the worker
	if err != nil {
		t.Fatal(err)
	}
	defer worker.Close()
	if err := f.Stop(); err != nil || stopped != "join" {
		t.Errorf("the server of %q was stopped, %v", stopped, err)
	}
	if err := worker.SetReadDeadline(time.Now().Add(30 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(worker); err != nil {
		t.Errorf("the worker goes on: %v", err)
	}
}
