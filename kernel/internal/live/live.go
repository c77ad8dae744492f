// Package live lets a page show more of a value than its outputs hold, while the
// kernel runs: all rows of a table, all parts of a nested value. Package display makes
// the [Table] or the [Tree], and package widget, which knows how to talk to pages,
// shows it. Start with [Show].
package live

import (
	"sync/atomic"

	"dace.local/kernel/engine"
)

// A Value is a value of which a page's output has a part only.
type Value struct {
	Of    any   // the value itself, whose maps may be locked as it is read
	Table Table // nil for a Tree
	Tree  Tree
}

// A Table is read in pages.
type Table interface {
	// Columns returns the columns' names.
	Columns() []string
	// Rows returns the number of rows.
	Rows() int
	// Most returns how many rows a page can have.
	Most() int
	// Page returns rows as HTML, and how many the filter leaves in all.
	Page(q Query) (html string, found int)
}

// A Query says which rows of a table a page shows.
type Query struct {
	Filter  string // words that a row's texts contain, or comparisons with a column: N>3
	Column  int    // by which rows are sorted; -1 leaves them as they are
	Falling bool   // sorted from the greatest to the least
	From, N int    // the first row, from 0, and their number
}

// A Tree is a value whose parts are read when a person opens it.
type Tree interface {
	// Text returns the value on one line.
	Text() string
	// Parts returns parts from the given number on, the number from which to ask for
	// those that follow, 0 if none do, and how many there are in all.
	Parts(from int) (parts []Part, next, total int)
}

// A Part is a Tree, or the HTML of what has no further parts.
type Part struct {
	Tree Tree
	HTML string
}

// A Shower shows a value on the pages of the running cell. It returns the data by
// MIME type that an output needs for that, or nil if it cannot.
type Shower interface {
	Able() bool
	Show(Value) map[string]any
	// Follow shows a widget on pages that have texts in the place of widgets, and keeps
	// these up to date. It returns false for what is no widget, and for other pages.
	Follow(v any, out engine.Outputs, id string) bool
}

var shower atomic.Pointer[Shower]

// Set sets who shows values.
func Set(s Shower) { shower.Store(&s) }

// Able reports whether a page of the running cell could show a value: making one
// may take time.
func Able() bool {
	s := shower.Load()
	return s != nil && (*s).Able()
}

// Show shows a value on the pages of the running cell; see [Shower].
func Show(v Value) map[string]any {
	if s := shower.Load(); s != nil {
		return (*s).Show(v)
	}
	return nil
}

// Follow shows a widget on pages without widgets; see [Shower].
func Follow(v any, out engine.Outputs, id string) bool {
	s := shower.Load()
	return s != nil && (*s).Follow(v, out, id)
}

var paged atomic.Bool

// SetPaged says whether a page of a notebook shows what cells show.
func SetPaged(is bool) { paged.Store(is) }

// Paged reports whether a page of a notebook shows what cells show.
func Paged() bool { return paged.Load() }
