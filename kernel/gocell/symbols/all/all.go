// Package all registers the symbols of all packages that cells can import, so that
// package symbols knows them. A program that runs cells imports it, and so does a
// test that checks cells.
package all

import (
	"maps"
	"os"
	"slices"
	"strings"

	"dace.local/kernel/buildinfo"
	"dace.local/kernel/display"
	"dace.local/kernel/gocell/symbols"
	"dace.local/kernel/gocell/symbols/api"
	"dace.local/kernel/gocell/symbols/dace"
	_ "dace.local/kernel/gocell/symbols/golang"
	_ "dace.local/kernel/gocell/symbols/gonum"
	_ "dace.local/kernel/gocell/symbols/gorgonia"
	_ "dace.local/kernel/gocell/symbols/std"
	"dace.local/kernel/gocell/symbols/table"
)

// Package display shows the defaults of settings beside their values.
func init() { display.SetFieldDocs(symbols.Doc) }

// Stale returns a sentence if this program was built in a clone whose packages
// export something else than the tables have, otherwise "". A program that
// `go run ./install` has built does not know its clone.
func Stale() string {
	root := buildinfo.Clone()
	if root == "" {
		return ""
	}
	program, err := os.Executable()
	if err != nil {
		return ""
	}
	info, err := os.Stat(program)
	if err != nil {
		return ""
	}
	return api.Stale(root, own(), dace.Sum, info.ModTime())
}

// own returns the packages of this module that cells can import, sorted.
func own() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(table.Packages)), func(p string) bool { return !strings.HasPrefix(p, buildinfo.Path("")) })
}
