// Package vm runs what the kernel has lowered: the interpreter behind one type,
// [Machine], with all that cells need beyond it. Each node of a program that can
// fail gets a guard (guard.go), calls between functions of cells do not go by
// package reflect (invoke.go), goroutines know their cell ([Cell]) and their
// calls ([Machine.Callers]), and a panic of any of them ends the cell, not the
// process.
//
// It is the only importer of yaegi. All that it uses of yaegi, the run time and other
// packages although it is not exported is listed in reach.go, and checked as the process
// starts.
//
// Start with [New], [Machine.Compile] and [Machine.Run]. The package knows no
// type checker and no rewrite: what it compiles is a file that package lower has
// made.
package vm
