//go:build !unix

package atomicfile

import "os"

// syncDir does nothing: this system cannot sync folders.
func syncDir(string) error { return nil }

// lock does nothing and reports no locks, so that nothing is swept here.
func lock(*os.File) (mine, known bool) { return false, false }
