// Package atomicfile replaces files atomically, so that neither a killed
// program nor a full disk leaves half a file. Start with [Write].
package atomicfile

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// Write replaces the file at path by the bytes that the function write writes.
// The bytes are on the disk before the file gets its name, and the name before
// Write returns. On an error the old file stays unchanged.
//
// Until then the bytes are in .NAME.NUMBER.tmp in the same folder, which is
// locked while it is written. If a killed program leaves such a file, the next
// Write of the same path removes it.
func Write(path string, write func(w io.Writer) error) error {
	dir, base := filepath.Split(path)
	if dir == "" {
		dir = "."
	}
	sweep(dir, base)
	f, err := create(dir, base)
	if err != nil {
		return err
	}
	err = errors.Join(write(f), f.Chmod(0o644), f.Sync())
	if err == nil {
		err = os.Rename(f.Name(), path) // before Close, which releases the lock
	}
	if err != nil {
		return errors.Join(err, f.Close(), os.Remove(f.Name()))
	}
	return errors.Join(f.Close(), syncDir(dir))
}

// create makes a temporary file and locks it.
func create(dir, base string) (*os.File, error) {
	for {
		f, err := os.CreateTemp(dir, "."+base+".*.tmp")
		if err != nil {
			return nil, err
		}
		if mine, known := lock(f); mine || !known {
			return f, nil
		}
		f.Close() // another process's sweep removed it before it was locked
	}
}

// sweep removes temporary files that no process is writing.
func sweep(dir, base string) {
	prefix := "." + base + "."
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		number, ok := strings.CutPrefix(e.Name(), prefix)
		number, tmp := strings.CutSuffix(number, ".tmp")
		if !ok || !tmp || number == "" || strings.Trim(number, "0123456789") != "" || !e.Type().IsRegular() {
			continue
		}
		f, err := os.Open(filepath.Join(dir, e.Name()))
		if err != nil {
			continue
		}
		if mine, _ := lock(f); mine {
			_ = os.Remove(f.Name())
		}
		f.Close()
	}
}

// WriteBytes is Write for a file whose bytes are in memory.
func WriteBytes(path string, b []byte) error {
	return Write(path, func(w io.Writer) error {
		_, err := w.Write(b)
		return err
	})
}
