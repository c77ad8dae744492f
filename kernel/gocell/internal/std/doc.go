// Package std is the standard library for cells. It replaces functions that
// would end the process, stop it, or show the kernel
// ([Library.Override], and [StandIn] for methods), and it contains the compiled
// part of the prelude, which the prelude's text of generics calls
// ([Library.Symbols]).
//
// Start with [New]. The rest of the standard library is not here but in package
// symbols; the text of the generics is in the folder prelude of package check.
package std
