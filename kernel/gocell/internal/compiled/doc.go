// Package compiled runs cells that begin with %%compile: for each it writes a
// package (generate.go), lets a [Compiler] build and load it, and makes its
// names available to interpreted cells.
//
// Start with [Set]. Package check decides which declarations and uses such a
// cell may have (native.go). Package native, outside of gocell, calls the
// toolchain.
package compiled
