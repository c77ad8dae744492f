// Package code is the run time of compiled cells: what package compile makes of
// typed syntax is a tree of closures, and this package has their constructors
// and all that they do. It knows no syntax and no go/types.
//
// # Values
//
// A value of a basic kind is computed by a closure that returns it, an
// [Ex]: Ex[int8], Ex[float64], Ex[string]. One Go type stands for all types of
// the same machine representation, which a [Kind] names: int and int64 are
// I64, all pointers, maps, channels and functions are Ptr, all slices are Slc,
// all interfaces Ifc. Arithmetic is Go's own: overflow, shifts, division and
// comparison mean what the compiler makes of them. Structs and arrays, the kind Agg,
// are computed into memory, by an [Into].
//
// Code for each kind and form of operands would take megabytes. So a [Val] holds its
// closure as the word that a function is: what is the same in memory and in registers
// for several kinds, as int8, uint8 and bool are, has one closure for all, and an
// integer becomes a shorter one, or one of other sign, by another kind alone, since the
// bits of a register above a value mean nothing. Numbers shorter than those that loops
// use are computed with 64 bits.
//
// # Memory
//
// Everything lies in memory of its true type, also variables in frames: a frame
// is one object on Go's heap whose descriptor says which of its words are
// pointers. So reading a variable is one load at an offset, the collector knows
// every pointer precisely, and library code can be handed the address of
// anything. Frames of functions that have returned are kept, by function, in the
// goroutine's state [G], and used again. A variable that a pointer or a closure
// may outlive the frame with is a value of its own, and the frame holds its
// address. A [Place] describes each of these ways to reach memory.
//
// # Control
//
// A statement is a closure, too, a [Do]. It returns what comes next, a [Ctl]:
// the next statement, a return, a break, continue or goto. Panics are Go's
// panics. Deferred calls are run by Go's own defer in the runner of a function
// that has any (defer.go). Each function is reached through an [Entry], so that
// declaring it again is one store.
//
// # Functions that leave
//
// The value of a func type is Go's own function value, so that libraries can call
// it: adapters for usual signatures are instances of generic functions, the rest
// is made by reflect.MakeFunc (adapt.go). Code that calls a function value sees by
// its code pointer that it is one of these, and then calls its body directly.
// Functions of libraries are called in the same way (library.go).
package code
