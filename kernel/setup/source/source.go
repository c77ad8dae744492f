// Package source embeds the source of the module in the program, so that the
// program can compile Go code against its own packages on machines without the
// clone: for another user, elsewhere, or after the clone was moved.
//
// The archive module.zip in the repository is empty. `go run ./install` fills
// it by [Write] when it builds the program; it uses an overlay of the go
// command, so that no file of the clone changes. It builds with -trimpath: the
// compiled packages then do not depend on the folder of their source, and code
// that is compiled against the unpacked source fits the program.
package source

import (
	"archive/zip"
	_ "embed"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"dace.local/dacelib/files"
)

// Linked is the name of the file in the archive that lists the import paths of
// the packages that are linked into the program, one in each line.
const Linked = "linked.txt"

//go:embed module.zip
var archive string

// Present reports whether the program contains its source.
func Present() bool {
	r, err := reader()
	return err == nil && len(r.File) > 0
}

func reader() (*zip.Reader, error) {
	return zip.NewReader(strings.NewReader(archive), int64(len(archive)))
}

// Unpack makes dir hold exactly the module's source: it writes the files that
// are missing or differ and removes all others. If dir is already right, Unpack
// only reads it, which takes a few milliseconds.
func Unpack(dir string) error {
	r, err := reader()
	if err != nil {
		return fmt.Errorf("the source that the kernel carries cannot be read: %w", err)
	}
	if len(r.File) == 0 {
		return errors.New("the kernel was built without its source")
	}
	return unpack(r, dir)
}

func unpack(r *zip.Reader, dir string) error {
	want := map[string]bool{".": true}
	for _, f := range r.File {
		if !filepath.IsLocal(f.Name) {
			return fmt.Errorf("the source that the kernel carries has a file outside its folder: %q", f.Name)
		}
		name := filepath.FromSlash(f.Name)
		for d := name; d != "."; d = filepath.Dir(d) {
			want[d] = true
		}
		if err := folder(dir, filepath.Dir(name)); err != nil {
			return err
		}
		if err := place(f, filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	return filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, name)
		if err != nil || want[rel] {
			return err
		}
		if err := os.RemoveAll(name); err != nil {
			return err
		}
		if d.IsDir() {
			return fs.SkipDir
		}
		return nil
	})
}

// folder makes the folder name below dir, and removes any file or link that has
// its name or that of a folder above it.
func folder(dir, name string) error {
	if name != "." {
		if err := folder(dir, filepath.Dir(name)); err != nil {
			return err
		}
	}
	name = filepath.Join(dir, name)
	if info, err := os.Lstat(name); err == nil && !info.IsDir() {
		if err := os.Remove(name); err != nil {
			return err
		}
	}
	return os.MkdirAll(name, 0o700)
}

// place writes a file of the archive, unless the same file is already there.
func place(f *zip.File, name string) error {
	if same(f, name) {
		return nil
	}
	if err := os.RemoveAll(name); err != nil {
		return err
	}
	from, err := f.Open()
	if err != nil {
		return err
	}
	defer from.Close()
	// Another kernel of this user that reads the file at the same time sees all of it
	// or nothing.
	return files.Settings{Mode: 0o600, NoSync: true}.Write(name, func(w io.Writer) error {
		_, err := io.Copy(w, from)
		return err
	})
}

// same reports whether name is a regular file with the content of f.
func same(f *zip.File, name string) bool {
	info, err := os.Lstat(name)
	if err != nil || !info.Mode().IsRegular() || uint64(info.Size()) != f.UncompressedSize64 {
		return false
	}
	text, err := os.ReadFile(name)
	return err == nil && crc32.ChecksumIEEE(text) == f.CRC32
}

// Write writes an archive for [Unpack]: the files below root with the given
// names, which are slash-separated, and the list linked as [Linked]. The same
// files always give the same bytes.
func Write(w io.Writer, root string, names, linked []string) error {
	z := zip.NewWriter(w)
	add := func(name string, text []byte) error {
		to, err := z.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Deflate, Modified: time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)})
		if err == nil {
			_, err = to.Write(text)
		}
		return err
	}
	names = slices.Clone(names)
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
		if err != nil {
			return err
		}
		if err := add(name, text); err != nil {
			return err
		}
	}
	if err := add(Linked, []byte(strings.Join(linked, "\n")+"\n")); err != nil {
		return err
	}
	return z.Close()
}
