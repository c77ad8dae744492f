package tabu_test

import (
	"testing"

	"dace.local/dacelib/solver/solvertest"
	"dace.local/dacelib/solver/tabu"
)

func TestContract(t *testing.T) { solvertest.Run(t, tabu.Solver()) }
