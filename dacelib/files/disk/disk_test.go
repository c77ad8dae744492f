package disk_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"dace.local/dacelib/files/disk"
)

// use makes every call once and returns the names of those that failed.
func use(t *testing.T, dir string) (failed []string) {
	t.Helper()
	at := filepath.Join(dir, "a", "b")
	check := func(op string, err error) {
		if err == nil {
			return
		}
		if !errors.Is(err, syscall.EIO) {
			t.Errorf("%s: %v", op, err)
		}
		failed = append(failed, op)
	}
	check("MkdirAll", disk.MkdirAll(at, 0o700))
	check("Mkdir", disk.Mkdir(filepath.Join(dir, "c"), 0o700))
	_, err := disk.MkdirTemp(dir, "x")
	check("MkdirTemp", err)
	file := filepath.Join(dir, "file")
	check("WriteFile", disk.WriteFile(file, []byte("1234"), 0o600))
	_, err = disk.ReadFile(file)
	check("ReadFile", err)
	_, err = disk.ReadDir(dir)
	check("ReadDir", err)
	_, err = disk.Stat(file)
	check("Stat", err)
	check("Link", disk.Link(file, file+"2"))
	check("Rename", disk.Rename(file+"2", file+"3"))
	f, err := disk.OpenFile(file, os.O_RDWR, 0)
	check("OpenFile", err)
	if err == nil {
		_, err = f.WriteString("5678")
		check("Write", err)
		_, err = f.Stat()
		check("Stat", err)
		_, err = f.Seek(0, io.SeekStart)
		check("Seek", err)
		_, err = f.Read(make([]byte, 2))
		check("Read", err)
		_, err = f.ReadAt(make([]byte, 2), 0)
		check("ReadAt", err)
		_, err = f.WriteAt([]byte("9"), 0)
		check("WriteAt", err)
		check("Sync", f.Sync())
		check("Truncate", f.Truncate(3))
		check("Close", f.Close())
		if f.Close() == nil {
			t.Error("the file was not closed")
		}
	}
	temp, err := disk.CreateTemp(dir, "x")
	check("CreateTemp", err)
	if err == nil {
		check("Close", temp.Close())
	}
	check("Remove", disk.Remove(file+"3"))
	return failed
}

// Calls do what those of package os do, and fail as they are told; a write that fails
// has written half.
func TestDisk(t *testing.T) {
	if failed := use(t, t.TempDir()); len(failed) > 0 {
		t.Fatalf("without faults %v fail", failed)
	}
	mend := disk.Fail(func(op, path string) error { return syscall.EIO })
	if failed := use(t, t.TempDir()); len(failed) != 12 { // all but those of an open file
		t.Errorf("the calls that fail are %v", failed)
	}
	mend()
	mend = disk.Fail(func(op, path string) error {
		if op == "OpenFile" || op == "CreateTemp" || op == "MkdirAll" {
			return nil
		}
		return syscall.EIO
	})
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if failed := use(t, dir); len(failed) != 19 {
		t.Errorf("the calls that fail are %v", failed)
	}
	mend()
	if b, err := os.ReadFile(filepath.Join(dir, "file")); err != nil || string(b) != "56" {
		t.Errorf("half a write has left %q, %v", b, err)
	}
}
