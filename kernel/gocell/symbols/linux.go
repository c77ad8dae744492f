//go:build linux && amd64

package symbols

import _ "embed"

// The types and documentation of the packages of table.LinuxOnly.
var (
	//go:embed linuxtypes.pack
	linuxTypes []byte
	//go:embed linuxdocs.pack
	linuxDocs []byte
)
