package lower

import (
	"go/token"
	"go/types"
	"maps"
	"slices"
)

// Env is what the lowering asks of the session: the run-time types that stand
// for the checker's, numbers for the kernel's functions that rewritten code
// calls, and packages. Nothing else of the session is seen here, and nothing
// is run: lowering turns syntax into a file.
type Env interface {
	// TypeSymbol returns the name that a type has in the interpreter's
	// package Path. It makes the run-time type if it is new.
	TypeSymbol(t types.Type) (string, error)
	// TypeNumber returns the number by which As, AsOK, Letters and the
	// functions for package unsafe know a type.
	TypeNumber(t types.Type) (int, error)
	// SwitchNumber returns the number by which Which knows a type switch, the
	// numbers of whose cases' types are given; -1 stands for nil.
	SwitchNumber(cases []int) int
	// MethodName returns the name of the function that stands for a method
	// that a cell declares on t.
	MethodName(t *types.Named, method string) string
	// MethodNumber returns the number under which rewritten code hands that
	// function to the run-time type.
	MethodNumber(t *types.Named, method string) int
	// FinishTypes defines the run-time types that were named so far.
	FinishTypes() error
	// Load makes a compiled package known to the interpreter.
	Load(path string) error
	// Checking runs f, which type-checks, while nothing else does so in the
	// session: completion reads the same package scope.
	Checking(f func())
	// Debugging reports whether a client debugs the session.
	Debugging() bool
	// Stop returns the number of a place where the debugger may stop.
	Stop(s Stop) int
}

// A State is what the lowering keeps from cell to cell.
type State struct {
	order      *order                 // the rewrites
	instances  []*instance            // of generics, that the interpreter has
	imported   map[string]bool        // packages that the interpreter's package main imports
	recovering map[string]bool        // names of methods that call recover
	locals     map[token.Position]int // numbers of local types, by where they are declared
}

func NewState() *State {
	return &State{order: tableOrder, imported: map[string]bool{}, recovering: map[string]bool{}, locals: map[token.Position]int{}}
}

// Snapshot returns a function that removes what was added since, for a cell that
// does not compile.
func (st *State) Snapshot() (undo func()) {
	instances, imported := slices.Clip(st.instances), maps.Clone(st.imported)
	return func() { st.instances, st.imported = instances, imported }
}
