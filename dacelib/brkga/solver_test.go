package brkga_test

import (
	"testing"

	"dace.local/dacelib/brkga"
	"dace.local/dacelib/solver/solvertest"
)

func TestContract(t *testing.T) { solvertest.Run(t, brkga.Solver()) }
