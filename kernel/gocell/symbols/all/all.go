// Package all registers the symbols of all packages that cells can import, so that
// package symbols knows them. A program that runs cells imports it, and so does a
// test that checks cells.
package all

import (
	"dace.local/kernel/display"
	"dace.local/kernel/gocell/symbols"
	_ "dace.local/kernel/gocell/symbols/dace"
	_ "dace.local/kernel/gocell/symbols/golang"
	_ "dace.local/kernel/gocell/symbols/gonum"
	_ "dace.local/kernel/gocell/symbols/gorgonia"
	_ "dace.local/kernel/gocell/symbols/std"
)

// Package display shows the defaults of settings beside their values.
func init() { display.SetFieldDocs(symbols.Doc) }
