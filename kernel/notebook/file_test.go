package notebook

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestReplace(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.txt")
	put := func(text string, err error) func(io.Writer) error {
		return func(w io.Writer) error {
			if _, werr := io.WriteString(w, text); werr != nil {
				return werr
			}
			return err
		}
	}
	content := func() string {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	if err := Replace(path, put("one", nil)); err != nil || content() != "one" {
		t.Fatalf("%v", err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		t.Fatal(err)
	}
	err := Replace(path, put("half", errors.New("no space left on device")))
	if err == nil || err.Error() != "cannot write "+path+": no space left on device" {
		t.Errorf("error %v", err)
	}
	if content() != "one" {
		t.Errorf("the old file is gone: %q", content())
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	if err := Replace(link, put("two", nil)); err != nil || content() != "two" {
		t.Errorf("through a link: %v", err)
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Error("the link was replaced")
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v", info.Mode())
	}
	if err := Replace(dir, put("x", nil)); err == nil || !strings.Contains(err.Error(), "it is a folder") {
		t.Errorf("folder: %v", err)
	}
	if err := Replace(filepath.Join(dir, "no", "x"), put("x", nil)); err == nil || !strings.Contains(err.Error(), "no such file or directory") {
		t.Errorf("missing folder: %v", err)
	}
	if _, err := os.Stat("/dev/full"); err == nil {
		if err := Replace("/dev/full", put("x", nil)); err == nil || !strings.Contains(err.Error(), "no space left on device") {
			t.Errorf("full: %v", err)
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 2 {
		t.Errorf("left behind: %v", entries)
	}
}

func TestFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "out.ipynb")
	f, err := NewFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("NewFile wrote already")
	}
	saved := func() int {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return len(mustRead(t, string(b)).Cells)
	}
	f.Checkpoint(func() *Notebook { return cells("1") })
	if saved() != 1 {
		t.Error("the first checkpoint is not there")
	}
	// On a slow disk the next save waits, and then happens by itself.
	set := func(cost time.Duration, last time.Time) {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.cost, f.last = cost, last
	}
	set(2*saveQuick, time.Now().Add(-saveShare*2*saveQuick+time.Second))
	f.Checkpoint(func() *Notebook { return cells("1", "2") })
	if saved() != 1 {
		t.Error("a checkpoint did not wait")
	}
	for deadline := time.Now().Add(time.Minute); saved() != 2; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the checkpoint never came")
		}
	}
	set(time.Hour, time.Now())
	f.Checkpoint(func() *Notebook { t.Error("a checkpoint after the end"); return cells() })
	if err := f.Close(cells("1", "2", "3")); err != nil || saved() != 3 {
		t.Errorf("close: %v", err)
	}
	if _, err := NewFile(dir); err == nil {
		t.Error("a folder is no file")
	}
	if _, err := NewFile(filepath.Join(dir, "no", "x")); err == nil || !strings.Contains(err.Error(), "cannot write to the folder") {
		t.Errorf("missing folder: %v", err)
	}
}
