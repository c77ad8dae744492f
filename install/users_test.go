package main

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"dace.local/kernel/setup"
)

// A user is one of those who share an installation.
type user struct {
	home string
	env  []string
	as   *syscall.Credential // nil for the user who runs the test
}

// users makes homes for n users. If the test runs as root, each is another user
// without privileges, whose number needs no account.
func users(t testing.TB, dir string, n int) []user {
	t.Helper()
	var list []user
	if err := os.Mkdir(filepath.Join(dir, "home"), 0o755); err != nil {
		t.Fatal(err)
	}
	for i := range n {
		u := user{home: filepath.Join(dir, "home", strconv.Itoa(i))}
		if err := os.MkdirAll(u.home, 0o700); err != nil {
			t.Fatal(err)
		}
		if os.Getuid() == 0 {
			u.as = &syscall.Credential{Uid: uint32(52001 + i), Gid: uint32(52001 + i)}
			if err := os.Chown(u.home, int(u.as.Uid), int(u.as.Gid)); err != nil {
				t.Fatal(err)
			}
		}
		u.env = []string{"HOME=" + u.home, "PATH=/nonexistent", "TMPDIR=" + u.home}
		list = append(list, u)
	}
	return list
}

// dirForAll returns a temporary folder whose parents every user may enter.
func dirForAll(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "dace-users-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

// startAll starts a kernel for each user, two at a time.
func startAll(t testing.TB, spec string, all []user) []*setup.Kernel {
	t.Helper()
	kernels, errs := make([]*setup.Kernel, len(all)), make([]error, len(all))
	var wg sync.WaitGroup
	turns := make(chan struct{}, 2)
	for i, u := range all {
		wg.Go(func() {
			turns <- struct{}{}
			kernels[i], errs[i] = setup.Start(t.Context(), spec, u.home, u.env, u.as)
			<-turns
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	return kernels
}

// memory returns the proportional set size of a process in bytes: what it has
// alone, and its part of what it shares.
func memory(t testing.TB, pid int) int64 {
	t.Helper()
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/smaps_rollup")
	if err != nil {
		t.Skipf("the system does not tell what processes share: %v", err)
	}
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) > 1 && f[0] == "Pss:" {
			n, err := strconv.ParseInt(f[1], 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			return n << 10
		}
	}
	t.Fatal("there is no Pss")
	return 0
}

// TestManyUsers has twenty users on one installation, as on a JupyterHub: each
// kernel is its user's, all together take at most half a gigabyte when idle,
// running kernels go on when the installation is upgraded, and uninstalling
// leaves nothing.
func TestManyUsers(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	dir := dirForAll(t)
	prefix := filepath.Join(dir, "prefix")
	at := inPrefix(t, prefix)
	all := users(t, dir, 20)
	kernels := startAll(t, at.Spec, all)
	total := int64(0)
	for i, k := range kernels {
		if got, err := k.Execute(t.Context(), "1 + 1"); got != "2" || err != nil {
			t.Errorf("user %d: 1 + 1 is %q, %v", i, got, err)
		}
		total += memory(t, k.PID)
	}
	t.Logf("%d kernels take %d MB", len(kernels), total/1e6)
	if total > 500e6 {
		t.Errorf("%d idle kernels take %d MB", len(kernels), total/1e6)
	}
	if os.Getuid() == 0 {
		if got, err := kernels[3].Execute(t.Context(), "os.Getuid()"); got != "52004" {
			t.Errorf("the kernel runs as %s, %v", got, err)
		}
		if got, err := kernels[3].Execute(t.Context(), "_, err := os.ReadDir(`"+all[4].home+"`); os.IsPermission(err)"); got != "true" {
			t.Errorf("a user reads another's home: %s, %v", got, err)
		}
	}

	// Nothing that is installed is writable by others.
	err := filepath.WalkDir(prefix, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err == nil && info.Mode().Perm()&0o022 != 0 {
			t.Errorf("%s has mode %v", name, info.Mode())
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}

	// Another build takes the place of the first one while its kernels run.
	in, out := newInstaller(below(prefix))
	copyBuilt := in.Build
	in.Build = func(ctx context.Context, to string) error {
		if err := copyBuilt(ctx, to); err != nil {
			return err
		}
		f, err := os.OpenFile(to, os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		_, err = f.WriteString("another build")
		return errors.Join(err, f.Close())
	}
	if err := in.install(t.Context(), repository(t)); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if got, err := kernels[0].Execute(t.Context(), "2 + 2"); got != "4" || err != nil {
		t.Errorf("a running kernel after the upgrade: %q, %v", got, err)
	}
	upgraded := startAll(t, at.Spec, all[:1])[0]
	for k, want := range map[*setup.Kernel]bool{kernels[0]: false, upgraded: true} {
		exe, err := os.ReadFile("/proc/" + strconv.Itoa(k.PID) + "/exe")
		if got := bytes.HasSuffix(exe, []byte("another build")); err != nil || got != want {
			t.Errorf("a kernel runs the new build: %v, want %v (%v)", got, want, err)
		}
	}
	for _, k := range append(kernels, upgraded) {
		if err := k.End(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if err := in.Uninstall(at); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("uninstalling leaves %q, %v", paths(t, prefix), err)
	}
}

// TestSharedCells checks that a compiled cell that one user has shared runs
// compiled for another, who has no Go, and that nothing is loaded from a folder
// that others can write to.
func TestSharedCells(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	if out, err := exec.Command("go", "env", "CGO_ENABLED").Output(); err != nil || strings.TrimSpace(string(out)) != "1" {
		t.Skip("the kernel is built without cgo and cannot load compiled cells")
	}
	dir := dirForAll(t)
	at := inPrefix(t, filepath.Join(dir, "prefix"))
	both := users(t, dir, 2)
	env := func(u user, more ...string) []string { return append(slices.Clone(u.env), more...) }
	run := func(u user, env []string, args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), at.Binary, args...)
		cmd.Dir, cmd.Env = u.home, env
		if u.as != nil {
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: u.as}
		}
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%q: %v\n%s", args, err, out)
		}
		return string(out)
	}
	name := filepath.Join(dir, "cells.ipynb")
	if err := os.WriteFile(name, []byte(compiledCells), 0o644); err != nil {
		t.Fatal(err)
	}
	// The one who installs is the user of the test.
	owner := user{home: filepath.Join(dir, "owner")}
	if err := os.Mkdir(owner.home, 0o755); err != nil {
		t.Fatal(err)
	}
	owner.env = append(os.Environ(), "HOME="+owner.home, "XDG_CACHE_HOME="+filepath.Join(owner.home, "cache"), "GOFLAGS=")
	modules, err := exec.Command("go", "env", "GOMODCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	owner.env = append(owner.env, "GOMODCACHE="+strings.TrimSpace(string(modules)))
	run(owner, owner.env, "run", name, "-o", filepath.Join(owner.home, "out.ipynb"))
	if out := run(owner, owner.env, "share"); !strings.Contains(out, "1 compiled cells are new") {
		t.Errorf("share: %s", out)
	}
	if out := run(owner, owner.env, "share"); !strings.Contains(out, "0 compiled cells are new") {
		t.Errorf("share again: %s", out)
	}
	start := time.Now()
	out := run(both[0], env(both[0]), "run", name, "-o", filepath.Join(both[0].home, "out.ipynb"))
	if !strings.Contains(out, "compiled 14") || strings.Contains(out, "interpreted") {
		t.Errorf("the cell of another user: %s", out)
	}
	t.Logf("another user has the compiled cell after %v", time.Since(start))
	if err := os.Chmod(at.Compiled(), 0o777); err != nil {
		t.Fatal(err)
	}
	out = run(both[1], env(both[1]), "run", name, "-o", filepath.Join(both[1].home, "out.ipynb"))
	if !strings.Contains(out, "compiled 14") || !strings.Contains(out, "%%compile: ") {
		t.Errorf("a folder that others can write to was trusted, or the cell does not run: %s", out)
	}
	if err := os.Chmod(at.Compiled(), 0o755); err != nil {
		t.Fatal(err)
	}
	in, _ := newInstaller(below(filepath.Join(dir, "prefix")))
	if err := in.Uninstall(at); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "prefix")); !os.IsNotExist(err) {
		t.Errorf("uninstalling leaves %q", paths(t, filepath.Join(dir, "prefix")))
	}
}

// BenchmarkTwenty measures how long each of twenty idle kernels of one
// installation takes for 1 + 1, from the request to the reply and the result. They
// are asked one after the other: it is the wait of one user, not the throughput.
func BenchmarkTwenty(b *testing.B) {
	dir := dirForAll(b)
	from, err := buildOnce()
	if err != nil {
		b.Fatal(err)
	}
	prefix := filepath.Join(dir, "prefix")
	if out, err := exec.Command(from, "install", "-prefix", prefix).CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	kernels := startAll(b, filepath.Join(prefix, "share/jupyter/kernels/dace"), users(b, dir, 20))
	var times []time.Duration
	total := int64(0)
	for _, k := range kernels { // the first cell of a session takes longer
		if _, err := k.Execute(b.Context(), "1 + 1"); err != nil {
			b.Fatal(err)
		}
		total += memory(b, k.PID)
	}
	for b.Loop() {
		for _, k := range kernels {
			start := time.Now()
			if _, err := k.Execute(b.Context(), "1 + 1"); err != nil {
				b.Fatal(err)
			}
			times = append(times, time.Since(start))
		}
	}
	slices.Sort(times)
	b.ReportMetric(float64(times[len(times)/2].Microseconds())/1e3, "ms/cell-median")
	b.ReportMetric(float64(times[len(times)-1].Microseconds())/1e3, "ms/cell-max")
	b.ReportMetric(float64(total)/1e6, "MB/20-kernels")
	for _, k := range kernels {
		if err := k.End(b.Context()); err != nil {
			b.Error(err)
		}
	}
}
