package gocell

// MachineVariable names the environment variable that chooses how cells run: with
// the value "compile", package compile makes code of them and package code runs
// it; without it they are rewritten for the interpreter. A cell that package
// compile refuses is refused: it is not handed to the interpreter, whose
// variables are others. testdata/compiled.txt lists the cells of
// testdata/cells.txt that show the same either way. Releases, which are built with
// the tag release, leave this experiment out.
const MachineVariable = "DACE_MACHINE"
