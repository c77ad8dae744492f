package source

import (
	"archive/zip"
	"bytes"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// tree returns the content of the files below a folder, by name.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(name)
		rel, _ := filepath.Rel(dir, name)
		files[filepath.ToSlash(rel)] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func fill(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		name = filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// TestUnpack checks that a folder holds exactly the archive's files afterwards,
// whatever it held before.
func TestUnpack(t *testing.T) {
	want := map[string]string{"go.mod": "module m\n", "a/a.go": "package a\n", "a/b/b.go": "package b\n"}
	from := t.TempDir()
	fill(t, from, want)
	names := slices.Collect(maps.Keys(want))
	var text, again bytes.Buffer
	if err := Write(&text, from, names, []string{"fmt", "m/a"}); err != nil {
		t.Fatal(err)
	}
	slices.Reverse(names)
	if err := Write(&again, from, append(names, names[0]), []string{"fmt", "m/a"}); err != nil || !bytes.Equal(text.Bytes(), again.Bytes()) {
		t.Errorf("the same files give another archive (%v)", err)
	}
	want[Linked] = "fmt\nm/a\n"
	r, err := zip.NewReader(bytes.NewReader(text.Bytes()), int64(text.Len()))
	if err != nil {
		t.Fatal(err)
	}
	for name, there := range map[string]map[string]string{
		"nothing":               {},
		"the same":              want,
		"a change of same size": {"a/a.go": "package x\n"},
		"torn":                  {"a/a.go": "pack"},
		"more":                  {"a/more.go": "package a\n", "other/x.go": "package x\n", "a/b/c/d.go": "x"},
		"a file for a folder":   {"a": "file"},
		"a folder for a file":   {"a/a.go/x": "x"},
	} {
		dir := filepath.Join(t.TempDir(), "module")
		fill(t, dir, there)
		if err := unpack(r, dir); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if got := tree(t, dir); !maps.Equal(got, want) {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

// TestRefused checks that the empty archive of a clone is not unpacked, and
// that no name in an archive can lead out of the folder.
func TestRefused(t *testing.T) {
	if Present() {
		t.Error("a test's program carries source")
	}
	if err := Unpack(t.TempDir()); err == nil {
		t.Error("an empty archive was unpacked")
	}
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	if _, err := z.Create("../out.go"); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := zip.NewReader(bytes.NewReader(b.Bytes()), int64(b.Len()))
	if err == nil {
		err = unpack(r, t.TempDir())
	}
	if err == nil {
		t.Error("a file outside the folder was written")
	}
}
