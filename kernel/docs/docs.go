// Package docs holds the guides of the kernel and the command, which `dace help TOPIC` prints.
package docs

import (
	"embed"
	"io/fs"
)

//go:embed *.md
var guides embed.FS

// Guides returns the guides: files of Markdown.
func Guides() fs.FS { return guides }
