package anneal_test

import (
	"testing"

	"dace.local/dacelib/solver/anneal"
	"dace.local/dacelib/solver/solvertest"
)

func TestContract(t *testing.T) { solvertest.Run(t, anneal.Solver()) }
