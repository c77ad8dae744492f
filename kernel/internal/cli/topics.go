package cli

import (
	"io/fs"
	"slices"
	"strings"

	library "dace.local/dacelib/docs"
	kernel "dace.local/kernel/docs"
)

// guides are the folders of guides that the command carries.
var guides = []fs.FS{kernel.Guides(), library.Guides()}

// topics returns the names of the guides, sorted.
func topics() (names []string) {
	for _, folder := range guides {
		files, _ := fs.Glob(folder, "*.md")
		for _, f := range files {
			names = append(names, strings.TrimSuffix(f, ".md"))
		}
	}
	slices.Sort(names)
	return names
}

// topic returns the guide of a name.
func topic(name string) (text string, ok bool) {
	for _, folder := range guides {
		if b, err := fs.ReadFile(folder, name+".md"); err == nil {
			return string(b), true
		}
	}
	return "", false
}
