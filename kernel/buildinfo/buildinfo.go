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

// Clone returns the folder of the clone in which the program was built. -trimpath leaves
// that out, so that compiled code is shared by all clones: then it is what the variable
// DACE_SOURCE names, or "".
func Clone() string {
	_, file, _, _ := runtime.Caller(0)
	if !filepath.IsAbs(file) {
		return os.Getenv("DACE_SOURCE")
	}
	return strings.TrimSuffix(file, filepath.FromSlash("/kernel/buildinfo/buildinfo.go"))
}

// StateDir returns the folder for what is kept between sessions: the history of
// cells and of the prompt. It is private to the user, and need not exist yet.
func StateDir() (string, error) {
	return below(os.Getenv("XDG_STATE_HOME"), ".local", "state")
}

// ConfigDir returns the folder of what the user writes for the kernel: the start-up
// file. It need not exist.
func ConfigDir() (string, error) {
	return below(os.Getenv("XDG_CONFIG_HOME"), ".config")
}

// below returns the folder dace of a folder, or of one in the user's home where it is no
// absolute path.
func below(dir string, without ...string) (string, error) {
	if !filepath.IsAbs(dir) {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", err
		}
		dir = filepath.Join(append([]string{home}, without...)...)
	}
	return filepath.Join(dir, "dace"), nil
}

// CacheDir returns the folder for what can be made again: compiled cells,
// downloads, ranges of instances. It need not exist yet.
func CacheDir() (string, error) {
	dir, err := os.UserCacheDir()
	return filepath.Join(dir, "dace"), err
}
