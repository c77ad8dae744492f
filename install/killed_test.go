package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// killedMain runs an installation whose build does not end: it starts a program
// in the build's process group that ignores requests to end.
func killedMain(prefix string) {
	set := below(prefix)
	set.Out = io.Discard
	set.Build = func(ctx context.Context, to string) error {
		if err := os.WriteFile(to, []byte("half"), 0o644); err != nil {
			return err
		}
		cmd := exec.CommandContext(ctx, "/bin/sh", "-c", `trap '' TERM; sleep 10000 & echo $! > "$0/pid.new"; mv "$0/pid.new" "$0/pid"; wait; sleep 10000`, prefix)
		_, err := runGroup(cmd)
		return err
	}
	in := &installer{settings: set, out: io.Discard, err: io.Discard}
	if err := in.install(context.Background(), "."); err != nil {
		os.Exit(1)
	}
}

// TestKilled checks that an installation that is killed during its build leaves
// no process, no kernel that Jupyter would find, and nothing that -uninstall
// does not remove. An earlier installation stays until then.
func TestKilled(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	for _, before := range []string{"nothing", "installed"} {
		t.Run(before, func(t *testing.T) {
			prefix := filepath.Join(t.TempDir(), "new", "prefix")
			var was []string
			if before == "installed" {
				inPrefix(t, prefix)
				was = paths(t, prefix)
			}
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), "DACE_TEST_KILLED="+prefix)
			var out bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, &out
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			pid := ""
			for end := time.Now().Add(5 * time.Minute); pid == ""; time.Sleep(20 * time.Millisecond) {
				if text, err := os.ReadFile(filepath.Join(prefix, "pid")); err == nil {
					pid = strings.TrimSpace(string(text))
				}
				if time.Now().After(end) {
					t.Fatalf("nothing is built: %s", out.String())
				}
			}
			if err := cmd.Process.Signal(syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			_ = cmd.Wait()
			for end := time.Now().Add(5 * time.Minute); ; time.Sleep(20 * time.Millisecond) {
				stat, err := os.ReadFile("/proc/" + pid + "/stat")
				if _, state, _ := strings.Cut(string(stat), ") "); err != nil || strings.HasPrefix(state, "Z") {
					break
				}
				if time.Now().After(end) {
					t.Fatal("the build goes on")
				}
			}
			if err := os.Remove(filepath.Join(prefix, "pid")); err != nil {
				t.Fatal(err)
			}
			left := paths(t, prefix)
			for _, name := range was {
				if !slices.Contains(left, name) {
					t.Errorf("%s is gone", name)
				}
			}
			if before == "nothing" && slices.Contains(left, "share/jupyter/kernels/dace/kernel.json") {
				t.Error("Jupyter sees a kernel that was never built")
			}
			if !slices.Contains(left, "bin/.dace-building/dace") {
				t.Errorf("the build left nothing to remove: %q", left)
			}
			in, _ := newInstaller(below(prefix))
			at, err := in.Place(t.Context())
			if err == nil {
				err = in.Uninstall(at)
			}
			if err != nil {
				t.Fatal(err)
			}
			if _, err := os.Stat(filepath.Dir(prefix)); !os.IsNotExist(err) {
				t.Errorf("-uninstall leaves %q", paths(t, filepath.Dir(prefix)))
			}
		})
	}
}
