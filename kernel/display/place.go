package display

import "dace.local/dacelib/run"

// SetPlace has f say in errors of the library where a function of cells has panicked; see
// [run.SetPlace]. The kernel sets it.
func SetPlace(f func(value any) string) (undo func()) { return run.SetPlace(f) }
