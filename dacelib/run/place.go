package run

import "dace.local/dacelib/internal/failure"

// SetPlace has f say where in a user's code a panic came from, by its value: errors of
// functions that have panicked name that place. f is called in the goroutine that has just
// recovered the panic, and returns a place as "In[3]:2:7 in score", or "". A program that
// runs others' code, as a notebook's kernel does, sets it, until undo is called or another
// is set.
func SetPlace(f func(value any) string) (undo func()) { return failure.SetPlace(f) }
