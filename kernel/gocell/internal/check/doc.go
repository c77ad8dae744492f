// Package check reads cells and type-checks them against the session: a
// [Program] is what a session has declared, [ParseCell] reads a cell,
// Program.Check checks it and returns the program after it, and Program.Look
// checks a cell that is still being typed as far as possible.
//
// Fetched packages ([FetchedPackage]), the text of the standard library's
// generics ([Prelude]) and the declarations of compiled cells ([Native]) are
// checked here too. The package does not rewrite what it checks, runs nothing,
// and knows of what runs it only the names that package cell generates.
package check
