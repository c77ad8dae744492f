//go:build unix

package files_test

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"dace.local/dacelib/files"
)

// TestWriteProgram starts programs as soon as they are written, while other goroutines
// start others.
func TestWriteProgram(t *testing.T) {
	dir := t.TempDir()
	var all sync.WaitGroup
	for k := range 4 {
		all.Go(func() {
			for i := range 25 {
				path := filepath.Join(dir, fmt.Sprint(k, "-", i))
				if err := files.WriteProgram(path, []byte("#!/bin/sh\necho $1")); err != nil {
					t.Error(err)
				}
				if out, err := exec.Command(path, "yes").Output(); err != nil || string(out) != "yes\n" {
					t.Errorf("%s printed %q: %v", path, out, err)
				}
			}
		})
	}
	all.Wait()
}
