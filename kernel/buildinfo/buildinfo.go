// Package buildinfo knows facts about the program itself: its module path, so that
// only import declarations repeat what go.mod says, and the folders in which it
// keeps files for its user.
package buildinfo

import (
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
)

type here struct{}

var module = strings.TrimSuffix(reflect.TypeFor[here]().PkgPath(), "/kernel/buildinfo")

// Module returns the module's path as go.mod has it.
func Module() string { return module }

// Path returns the import path of a package of the module, given relative to
// it: Path("dacelib/nir").
func Path(rel string) string { return module + "/" + rel }

// Clone returns the folder of the clone in which the program was built, "" if it was
// built with -trimpath.
func Clone() string {
	_, file, _, _ := runtime.Caller(0)
	if !filepath.IsAbs(file) {
		return ""
	}
	return strings.TrimSuffix(file, filepath.FromSlash("/kernel/buildinfo/buildinfo.go"))
}

// StateDir returns the folder for what is kept between sessions: the history of
// cells and of the prompt. It is private to the user, and need not exist yet.
func StateDir() (string, error) {
	state := os.Getenv("XDG_STATE_HOME")
	if !filepath.IsAbs(state) {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", err
		}
		state = filepath.Join(home, ".local", "state")
	}
	return filepath.Join(state, "dace"), nil
}

// CacheDir returns the folder for what can be made again: compiled cells,
// downloads, ranges of instances. It need not exist yet.
func CacheDir() (string, error) {
	dir, err := os.UserCacheDir()
	return filepath.Join(dir, "dace"), err
}
