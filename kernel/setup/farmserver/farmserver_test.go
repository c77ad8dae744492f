package farmserver

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"dace.local/dacelib/files"
)

// packed returns what the command would carry for a program.
func packed(t *testing.T, program string) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, []byte(program), "amd64"); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestUnpack(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "farm-server")
	if err := private(dir); err != nil {
		t.Fatal(err)
	}
	carried := packed(t, "#!/bin/sh\necho served\n")
	path, err := unpack(carried, dir)
	if err != nil {
		t.Fatal(err)
	}
	check := func() {
		t.Helper()
		again, err := unpack(carried, dir)
		if err != nil || again != path {
			t.Fatalf("%q, %v", again, err)
		}
		text, err := os.ReadFile(path)
		if err != nil || string(text) != "#!/bin/sh\necho served\n" {
			t.Errorf("it holds %q, %v", text, err)
		}
		if info, err := os.Lstat(path); err != nil || info.Mode() != 0o700 {
			t.Errorf("it has mode %v, %v", info.Mode(), err)
		}
		if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
			t.Errorf("the folder holds %v, %v", entries, err)
		}
	}
	check()
	// What is not the program is replaced: a changed file, one that others can
	// write to, and a link.
	if err := files.WriteProgram(path, []byte("#!/bin/sh\necho others\n")); err != nil {
		t.Fatal(err)
	}
	check()
	if err := os.Chmod(path, 0o777); err != nil {
		t.Fatal(err)
	}
	check()
	elsewhere := filepath.Join(t.TempDir(), "elsewhere")
	if err := os.Rename(path, elsewhere); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(elsewhere, path); err != nil {
		t.Fatal(err)
	}
	check()
}

func TestDamaged(t *testing.T) {
	carried := packed(t, strings.Repeat("program", 1000))
	for name, b := range map[string][]byte{
		"no file":   []byte("nothing"),
		"torn":      carried[:len(carried)-12],
		"of others": bytes.Replace(carried, carried[10:14], []byte("0000"), 1), // the checksum in the head
	} {
		dir := t.TempDir()
		if path, err := unpack(b, dir); err == nil {
			t.Errorf("%s: unpacked as %s", name, path)
		}
		if entries, _ := os.ReadDir(dir); len(entries) > 0 {
			t.Errorf("%s: leaves %v", name, entries)
		}
	}
}

// Programs of older versions go, and the folder is closed to others.
func TestPrivate(t *testing.T) {
	dir := t.TempDir()
	for name, days := range map[string]int{"old": 31, "new": 29} {
		if err := files.WriteProgram(filepath.Join(dir, name), nil); err != nil {
			t.Fatal(err)
		}
		used := time.Now().AddDate(0, 0, -days)
		if err := os.Chtimes(filepath.Join(dir, name), used, used); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := private(dir); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 || entries[0].Name() != "new" {
		t.Errorf("the folder holds %v, %v", entries, err)
	}
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the folder has mode %v, %v", info.Mode(), err)
	}
	if err := private(filepath.Join(dir, "new")); err == nil {
		t.Error("a file is taken for the folder")
	}
}

// A command that neither carries the server nor can build it says what to do.
func TestBuildWords(t *testing.T) {
	for _, clone := range []string{"", t.TempDir()} {
		if _, err := build(clone, t.TempDir()); err == nil || !strings.Contains(err.Error(), "go run ./install") {
			t.Errorf("%q: %v", clone, err)
		}
	}
}

// Every filter can be undone, whatever the bytes.
func FuzzFilters(f *testing.F) {
	f.Add([]byte("\xe8\x00\x00\x00\x00\xe9\xff\xff\xff\xff\x90\xe8\x05\x00\x00\x00\x01\x00\x00\x94\xff\xff\xff\x97"))
	f.Fuzz(func(t *testing.T, program []byte) {
		for _, filter := range filters {
			b := bytes.Clone(program)
			filter.run(b, false)
			if filter.run(b, true); !bytes.Equal(b, program) {
				t.Errorf("%c: %x becomes %x", filter.name, program, b)
			}
		}
	})
}

// Two calls of one function become the same bytes.
func TestFilters(t *testing.T) {
	x86 := make([]byte, 64)
	x86[8], x86[9], x86[40], x86[41] = 0xe8, 20, 0xe8, 0xf4 // both to the same place
	copy(x86[42:], "\xff\xff\xff")
	x86Calls(x86, false)
	if !bytes.Equal(x86[8:13], x86[40:45]) {
		t.Errorf("%x and %x", x86[8:13], x86[40:45])
	}
	arm := make([]byte, 64)
	copy(arm[8:], "\x05\x00\x00\x94")
	copy(arm[40:], "\xfd\xff\xff\x97")
	armCalls(arm, false)
	if !bytes.Equal(arm[8:12], arm[40:44]) {
		t.Errorf("%x and %x", arm[8:12], arm[40:44])
	}
}
