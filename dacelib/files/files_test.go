package files_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"dace.local/dacelib/files"
)

// TestMain makes the test binary a program that is killed while it writes, if
// the environment asks for it.
func TestMain(m *testing.M) {
	path := os.Getenv("DACE_TEST_WRITE")
	if path == "" {
		os.Exit(m.Run())
	}
	_ = files.Write(path, func(w io.Writer) error {
		fmt.Println("writing")
		_, _ = os.Stdin.Read(make([]byte, 1))
		_, err := io.WriteString(w, "late")
		return err
	})
}

// TestSweep checks that the next write removes temporary files of killed
// programs, but not files that are being written or only have similar names.
func TestSweep(t *testing.T) {
	path := filepath.Join(t.TempDir(), "model.npz")
	start := func() (*exec.Cmd, io.Closer) {
		t.Helper()
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), "DACE_TEST_WRITE="+path)
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if _, err := out.Read(make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
		return cmd, in
	}
	left := func() int {
		names, err := filepath.Glob(filepath.Join(filepath.Dir(path), "*"))
		if err != nil {
			t.Fatal(err)
		}
		return len(names)
	}
	for range 3 {
		cmd, _ := start()
		cmd.Process.Kill()
		cmd.Wait()
	}
	// Each write removes the files that killed programs left before it.
	if n := left(); n != 1 {
		t.Errorf("after three kills there are %d files, want 1", n)
	}
	for _, other := range []string{"model.npz.1", ".model.npz.x.tmp", ".model.npz..tmp", ".other.npz.1.tmp"} {
		if err := os.WriteFile(filepath.Join(filepath.Dir(path), other), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	slow, in := start()
	if err := files.WriteBytes(path, []byte("now")); err != nil {
		t.Fatal(err)
	}
	if n := left(); n != 6 {
		t.Errorf("beside a write in progress there are %d files, want 6", n)
	}
	in.Close()
	if err := slow.Wait(); err != nil {
		t.Error(err)
	}
	if b, err := os.ReadFile(path); err != nil || string(b) != "late" {
		t.Errorf("the slow writer wrote %q, %v", b, err)
	}
	if n := left(); n != 5 {
		t.Errorf("at the end there are %d files, want 5", n)
	}
}

func TestWrite(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "state")
	for _, content := range []string{"one", "a longer second one", ""} {
		if err := files.WriteBytes(path, []byte(content)); err != nil {
			t.Fatal(err)
		}
		if b, err := os.ReadFile(path); err != nil || string(b) != content {
			t.Errorf("read %q back, %v; want %q", b, err, content)
		}
	}
	full := errors.New("no space left on device")
	err := files.Write(path, func(w io.Writer) error {
		if _, err := io.WriteString(w, "half of"); err != nil {
			return err
		}
		return full
	})
	if !errors.Is(err, full) {
		t.Errorf("the writer's error is lost: %v", err)
	}
	if b, err := os.ReadFile(path); err != nil || len(b) > 0 {
		t.Errorf("after a failed write the file holds %q, %v; want it as it was", b, err)
	}
	if names, err := os.ReadDir(dir); err != nil || len(names) != 1 {
		t.Errorf("the folder holds %v, %v; want no file beside the one written", names, err)
	}
	if err := files.WriteBytes(filepath.Join(dir, "missing", "state"), nil); err == nil {
		t.Error("wrote to a folder that does not exist")
	}
}

// Tests of Settings: permissions, links, what is no regular file.
func TestSettings(t *testing.T) {
	dir := t.TempDir()
	path, link := filepath.Join(dir, "kept"), filepath.Join(dir, "link")
	if err := os.WriteFile(path, nil, 0o640); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(path, link); err != nil {
		t.Skip(err)
	}
	if err := files.WriteBytes(link, []byte("through")); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Lstat(path); err != nil || info.Size() != 7 || info.Mode() != 0o640 {
		t.Errorf("behind the link is %v, %v", info, err)
	}
	private := files.Settings{Mode: 0o600, NoSync: true}
	if err := private.WriteBytes(link, []byte("own")); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Lstat(link); err != nil || info.Mode() != 0o600 || info.Size() != 3 {
		t.Errorf("in the link's place is %v, %v", info, err)
	}
	if err := files.WriteBytes(dir, nil); err == nil {
		t.Error("wrote to a folder")
	}
	if _, err := os.Stat("/dev/full"); err == nil {
		if err := files.WriteBytes("/dev/full", []byte("x")); err == nil {
			t.Error("wrote to a full device")
		}
	}
}

func TestLock(t *testing.T) {
	open := func() *os.File {
		f, err := os.OpenFile(filepath.Join(t.TempDir(), "../lock"), os.O_CREATE|os.O_RDWR, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	a, b := open(), open()
	defer b.Close()
	if err := files.LockShared(a); err != nil {
		t.Skipf("no locks here: %v", err)
	}
	if err := files.LockShared(b); err != nil {
		t.Errorf("shared beside shared: %v", err)
	}
	if err := files.Lock(b); !errors.Is(err, files.ErrLocked) {
		t.Errorf("exclusive beside shared: %v", err)
	}
	a.Close()
	if err := files.Lock(b); err != nil {
		t.Errorf("exclusive, alone: %v", err)
	}
}

func ExampleWriteBytes() {
	dir, err := os.MkdirTemp("", "results")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "values.csv")
	err = files.WriteBytes(path, []byte("instance,value\na,1.5\n"))
	fmt.Println(err)
	b, _ := os.ReadFile(path)
	fmt.Print(string(b))
	// Output:
	// <nil>
	// instance,value
	// a,1.5
}
