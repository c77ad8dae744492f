// Package gophernotes has the function that gophernotes predeclares, so that its
// notebooks run in this kernel. Cells that call Display without declaring it
// call this one. For new notebooks use [dace.local/kernel/display.Show].
package gophernotes

import "dace.local/kernel/display"

// Display shows values one after the other. What functions of package display
// have shown already is not shown again. The error is always nil.
func Display(values ...any) error {
	for _, v := range values {
		display.Show(v)
	}
	return nil
}
