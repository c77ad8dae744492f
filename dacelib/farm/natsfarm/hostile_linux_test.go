package natsfarm_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"dace.local/dacelib/farm"
	"dace.local/dacelib/farm/natsfarm"
)

// hostile writes the join file of a farm whose server does not answer, and names
// the commands that such files have had.
func hostile(t *testing.T, path, dir string, proof string) {
	t.Helper()
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(map[string]any{
		"version": 1, "addresses": []string{"127.0.0.1:1"}, "token": "t", "host": host, "dir": dir,
		"command": []string{"/bin/sh", "-c", "touch " + proof},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

// No word of a join file is run: who joins starts the server by its own command,
// and only in the folder that holds the file.
func TestNothingOfAJoinFileIsRun(t *testing.T) {
	dir := t.TempDir()
	proof, started := filepath.Join(dir, "pwned"), filepath.Join(dir, "started")
	natsfarm.SetOwnCommand([]string{"/bin/sh", "-c", `echo "$@" >>` + started, "sh"})
	defer natsfarm.SetOwnCommand(serveCommand())
	lab, other := filepath.Join(dir, "lab"), filepath.Join(dir, "other")
	for _, d := range []string{lab, other} {
		if err := os.Mkdir(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	hostile(t, filepath.Join(lab, natsfarm.JoinName), lab, proof)
	copied := filepath.Join(other, natsfarm.JoinName)
	hostile(t, copied, lab, proof)
	for join, starts := range map[string]bool{filepath.Join(lab, natsfarm.JoinName): true, copied: false} {
		_ = os.Remove(started)
		for name, call := range map[string]func(ctx context.Context) error{
			"worker":       func(ctx context.Context) error { return farm.WorkFor(ctx, join, farm.Work{}) },
			"construction": func(ctx context.Context) error { _, err := farm.Join(ctx, join); return err },
			"status":       func(ctx context.Context) error { _, err := natsfarm.Status(ctx, join); return err },
			"drain":        func(ctx context.Context) error { return natsfarm.Drain(ctx, join) },
			"stop":         func(ctx context.Context) error { return natsfarm.Stop(ctx, join) },
		} {
			ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
			if err := call(ctx); err == nil {
				t.Errorf("%s joins a farm without a server", name)
			}
			cancel()
		}
		if _, err := os.Stat(proof); err == nil {
			t.Fatal("the command of a join file was run")
		}
		b, _ := os.ReadFile(started)
		if got := strings.Contains(string(b), "-dir "+lab); got != starts {
			t.Errorf("%s: own command started: %q, want %v", join, b, starts)
		}
	}
}

// Files and folders of other users, and those that others can write to, are
// refused with what to do.
func TestFilesOfOthers(t *testing.T) {
	dir := t.TempDir()
	proof := filepath.Join(dir, "pwned")
	file := func(name string, mode os.FileMode, uid int) string {
		path := filepath.Join(dir, name)
		hostile(t, path, dir, proof)
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		if uid > 0 {
			if err := os.Chown(path, uid, -1); err != nil {
				t.Skip("only root can give files away: ", err)
			}
		}
		return path
	}
	folder := func(name, below string, mode os.FileMode, uid int) string {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Join(path, below), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(filepath.Join(path, below), mode); err != nil {
			t.Fatal(err)
		}
		if uid > 0 {
			if err := os.Chown(filepath.Join(path, below), uid, -1); err != nil {
				t.Skip("only root can give files away: ", err)
			}
		}
		return path
	}
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	const nobody = 65534
	for _, c := range []struct{ join, want string }{
		{pipe, "a pipe or a device"}, // nobody writes to it: reading would wait for ever
		{"/dev/zero", "a pipe or a device"},
		{file("read", 0o640, 0), "chmod 600"},
		{file("read by all", 0o604, 0), "chmod 600"},
		{file("written", 0o620, 0), "chmod 600"},
		{folder("open", "", 0o777, 0), "chmod go-w"},
		{folder("group", "", 0o770, 0), "chmod go-w"},
		{folder("tasks open", "tasks", 0o702, 0), "chmod go-w"},
		{file("another's", 0o600, nobody), "chown"},
		{folder("another's folder", "", 0o700, nobody), "chown"},
		{folder("another's tasks", "tasks", 0o700, nobody), "chown"},
	} {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		_, err := farm.Join(ctx, c.join)
		worker := farm.WorkFor(ctx, c.join, farm.Work{})
		for _, err := range []error{err, worker} {
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%s: %v", filepath.Base(c.join), err)
			}
		}
		cancel()
	}
	if _, err := natsfarm.Start(filepath.Join(dir, "open"), "", serveCommand()); err == nil || !strings.Contains(err.Error(), "chmod go-w") {
		t.Errorf("a server in a folder that others can write to: %v", err)
	}
}
