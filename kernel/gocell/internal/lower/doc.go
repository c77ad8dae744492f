// Package lower rewrites checked Go into Go that the interpreter runs as the
// compiler would: go/ast in, go/ast out. The rewrites are rows of a
// table (table.go), each with its reason, mostly a fault of the interpreter, and
// with golden files (testdata/rewrites).
//
// Start with [Cell] for a cell and [Fetched] for declarations of fetched
// packages. The session is seen through [Env] only. What rewritten code calls at
// run time is not here: see Machine.Runtime of package vm and Library.Runtime of
// package std.
package lower
