package native

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"dace.local/kernel/buildinfo"
)

// trusting returns a loader with an empty cache, and the notices that it will
// receive.
func trusting(t *testing.T) (l *Loader, notices *[]string) {
	t.Helper()
	notices = new([]string)
	l = &Loader{Cache: filepath.Join(t.TempDir(), "dace"), Notice: func(line string) { *notices = append(*notices, line) }}
	if err := l.Ready(); err != nil {
		if os.Getenv("DACE_REQUIRE_CLIENTS") == "1" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	return l, notices
}

// load loads a package whose table maps "n" to 42, and returns that value.
func load(t *testing.T, l *Loader, path string) (any, error) {
	t.Helper()
	table, err := l.Load(t.Context(), path, map[string]string{path: "package cell\n\nvar Xˑˑ = map[string]any{\"n\": 42}\n"}, "")
	return table["n"], err
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestTrust replaces or damages a stored plugin in many ways: each time the
// loader must build it again and give one line of notice. The replacement is
// the plugin of another package with a valid sum file, so that the test notices
// if it is loaded.
func TestTrust(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	l, notices := trusting(t)
	evilPath := buildinfo.Module() + "/cells/evil"
	must(t, l.tools.build(t.Context(), evilPath, map[string]string{evilPath: "package cell\n\nvar Xˑˑ = map[string]any{\"n\": 666}\n"}, "", "evil"))
	c := *l.stored
	evil, err := os.ReadFile(c.file("evil"))
	must(t, err)
	edit := func(f func([]byte) []byte) func(string) error {
		return func(file string) error { return os.WriteFile(file, f(append([]byte(nil), evil...)), 0o600) }
	}
	for _, k := range []struct {
		name   string
		damage func(file string) error
		notice string // the end of the notice
	}{
		{"truncated", edit(func(b []byte) []byte { return b[:len(b)/2] }), "it is not what was stored, by its checksum"},
		{"empty", edit(func([]byte) []byte { return nil }), "it is not what was stored, by its checksum"},
		{"flipped", edit(func(b []byte) []byte { b[len(b)/2] ^= 1; return b }), "it is not what was stored, by its checksum"},
		{"swapped", func(file string) error { // together with its sum file
			return errors.Join(exec.Command("cp", c.file("evil"), file).Run(), exec.Command("cp", sumFile(c.file("evil")), sumFile(file)).Run())
		}, "it is not what was stored, by its checksum"},
		{"nosum", func(file string) error { return os.Remove(sumFile(file)) }, "its checksum is not there"},
		{"cutsum", func(file string) error { return os.Truncate(sumFile(file), 70) }, "it is not what was stored, by its checksum"},
		{"link", func(file string) error {
			return errors.Join(os.Rename(file, file+".real"), os.Symlink(file+".real", file))
		}, "it is a symbolic link"},
		{"writable", func(file string) error { return os.Chmod(file, 0o666) }, "others can write to it"},
		{"folder", func(string) error {
			l.stored = nil // opens the cache again, like a new kernel
			return os.Chmod(c.dir, 0o777)
		}, "others could write to " + c.dir + ": what was stored there is built again"},
		{"stranger", func(file string) error { return os.Chown(file, 65534, 65534) }, "it belongs to another user"},
		{"fifo", func(file string) error { return errors.Join(os.Remove(file), syscall.Mkfifo(file, 0o600)) }, "it is no regular file"},
	} {
		t.Run(k.name, func(t *testing.T) {
			if k.name == "stranger" && os.Geteuid() != 0 {
				t.Skip("only root can give a file away")
			}
			*notices = nil
			copied := filepath.Join(c.dir, "build-x")
			must(t, os.WriteFile(copied, evil, 0o600))
			must(t, c.store(copied, k.name))
			must(t, k.damage(c.file(k.name)))
			if n, err := load(t, l, buildinfo.Module()+"/cells/"+k.name); n != 42 {
				t.Errorf("the package gives %v, %v", n, err)
			}
			if len(*notices) != 1 || !strings.HasSuffix((*notices)[0], k.notice+"\n") || strings.Count((*notices)[0], "\n") != 1 {
				t.Errorf("notices are %q, want one line that ends in %q", *notices, k.notice)
			}
			f, err := c.open(k.name)
			if err != nil {
				t.Errorf("afterwards: %v", err)
			}
			f.Close()
		})
	}
	// Check the test itself: stored correctly, the other package is loaded.
	*notices = nil
	copied := filepath.Join(c.dir, "build-x")
	must(t, os.WriteFile(copied, evil, 0o600))
	must(t, c.store(copied, "intact"))
	if n, err := load(t, l, buildinfo.Module()+"/cells/intact"); n != 666 || len(*notices) > 0 {
		t.Errorf("what is intact gives %v, %v and says %q", n, err, *notices)
	}
	// A file that replaces the plugin after its verification is not loaded
	// either.
	must(t, os.WriteFile(copied, evil, 0o600))
	must(t, c.store(copied, "raced"))
	f, err := c.open("raced")
	must(t, err)
	defer f.Close()
	must(t, os.WriteFile(copied, evil[:100], 0o600))
	must(t, os.Rename(copied, c.file("raced")))
	if _, _, err := open(f, ""); err == nil || !strings.Contains(err.Error(), "realpath failed") {
		t.Errorf("after a swap: %v", err)
	}
}

// TestPrivate checks that only their owner can use the cache's folders.
func TestPrivate(t *testing.T) {
	base := filepath.Join(t.TempDir(), "dace")
	c, notice, err := openCache(base, "id")
	if err != nil || notice != "" {
		t.Fatal(err, notice)
	}
	for _, dir := range []string{base, filepath.Dir(c.dir), c.dir} {
		if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("%s: %v %v", dir, info.Mode(), err)
		}
	}
	// A link instead of a folder may lead anywhere, so it is replaced.
	elsewhere := t.TempDir()
	must(t, os.WriteFile(filepath.Join(elsewhere, "mine"), nil, 0o600))
	must(t, os.Remove(c.dir))
	must(t, os.Symlink(elsewhere, c.dir))
	if _, notice, err := openCache(base, "id"); err != nil || notice != "" {
		t.Errorf("a link: %v %q", err, notice)
	}
	if _, err := os.Stat(filepath.Join(c.dir, "mine")); err == nil {
		t.Error("the link is followed")
	}
	if _, err := os.Stat(filepath.Join(elsewhere, "mine")); err != nil {
		t.Errorf("what the link leads to was touched: %v", err)
	}
	if os.Geteuid() == 0 {
		must(t, os.Chown(c.dir, 65534, 65534))
		if _, _, err := openCache(base, "id"); err == nil || !strings.Contains(err.Error(), "belongs to another user") {
			t.Errorf("another user's folder: %v", err)
		}
	}
}

// TestNoRoom checks that Ready returns an error if nothing can be written; the
// cell then runs interpreted.
func TestNoRoom(t *testing.T) {
	l, _ := trusting(t)
	t.Run("no HOME", func(t *testing.T) {
		for _, k := range []string{"HOME", "XDG_CACHE_HOME", "GOCACHE"} {
			t.Setenv(k, "")
		}
		if err := new(Loader).Ready(); err == nil || !strings.Contains(err.Error(), "there is no folder for a cache of compiled cells") {
			t.Errorf("Ready says %v", err)
		}
	})
	t.Run("no folder", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "file")
		must(t, os.WriteFile(file, nil, 0o600))
		if err := (&Loader{Cache: file}).Ready(); err == nil || !strings.Contains(err.Error(), "not a directory") {
			t.Errorf("Ready says %v", err)
		}
	})
	t.Run("go's cache", func(t *testing.T) {
		full := &Loader{Cache: t.TempDir(), Env: append(os.Environ(), "GOCACHE=/dev/full/x")}
		if err := full.Ready(); err == nil || !strings.Contains(err.Error(), "the go command's cache cannot be written to (/dev/full/x): not a directory") {
			t.Errorf("Ready says %v", err)
		}
	})
	mounted := func(t *testing.T, options string) *Loader {
		dir := t.TempDir()
		if out, err := exec.Command("mount", "-t", "tmpfs", "-o", options, "none", dir).CombinedOutput(); err != nil {
			t.Skipf("nothing can be mounted here: %s", out)
		}
		t.Cleanup(func() { must(t, exec.Command("umount", dir).Run()) })
		return &Loader{Cache: dir}
	}
	t.Run("read-only", func(t *testing.T) {
		if err := mounted(t, "ro").Ready(); err == nil || !strings.Contains(err.Error(), "read-only file system") {
			t.Errorf("Ready says %v", err)
		}
	})
	t.Run("full", func(t *testing.T) {
		if err := mounted(t, "size=2m").Ready(); err == nil || !strings.Contains(err.Error(), "a build needs 64 MB, and 1 are left") && !strings.Contains(err.Error(), "a build needs 64 MB, and 2 are left") {
			t.Errorf("Ready says %v", err)
		}
	})
	t.Run("full since", func(t *testing.T) { // the disk is full by the time the build writes
		small := mounted(t, "size=200m")
		must(t, small.Ready())
		must(t, exec.Command("sh", "-c", "head -c 199m /dev/zero > "+small.Cache+"/fill; true").Run())
		err := small.tools.build(t.Context(), buildinfo.Module()+"/cells/full", map[string]string{buildinfo.Module() + "/cells/full": "package cell\n\nvar Xˑˑ = map[string]any{}\n"}, "", "full")
		var u *Unavailable
		if !errors.As(err, &u) {
			t.Errorf("a build gives %T %v", err, err)
		}
	})
	if err := l.Ready(); err != nil {
		t.Errorf("with everything there: %v", err)
	}
}

// TestWithoutGo checks that without the go command a stored plugin is still
// loaded, and that any other package is reported as unavailable.
func TestWithoutGo(t *testing.T) {
	l, _ := trusting(t)
	path := buildinfo.Module() + "/cells/early"
	must(t, l.tools.build(t.Context(), path, map[string]string{path: "package cell\n\nvar Xˑˑ = map[string]any{\"n\": 42}\n"}, "", "early"))
	without := &Loader{Cache: l.Cache, Env: []string{"PATH=" + t.TempDir()}}
	if err := without.Ready(); err == nil {
		t.Fatal("there is a go command")
	}
	if n, err := load(t, without, path); n != 42 {
		t.Errorf("a stored package gives %v, %v", n, err)
	}
	var u *Unavailable
	if _, err := load(t, without, buildinfo.Module()+"/cells/late"); !errors.As(err, &u) || err.Error() != "there is no go command on the PATH" {
		t.Errorf("another package: %v", err)
	}
}
