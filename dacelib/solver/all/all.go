// Package all registers every solver of this library. Import it for that effect,
// as construct does; then solver.Families lists them.
package all

import (
	// The solvers.
	_ "dace.local/dacelib/brkga"
	_ "dace.local/dacelib/smartest"
	_ "dace.local/dacelib/solver/anneal"
	_ "dace.local/dacelib/solver/ea"
	_ "dace.local/dacelib/solver/eda"
	_ "dace.local/dacelib/solver/ils"
	_ "dace.local/dacelib/solver/linkage"
	_ "dace.local/dacelib/solver/tabu"
)
