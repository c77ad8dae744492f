package ils_test

import (
	"testing"

	"dace.local/dacelib/solver/ils"
	"dace.local/dacelib/solver/solvertest"
)

func TestContract(t *testing.T) { solvertest.Run(t, ils.Solver()) }
