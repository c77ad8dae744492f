// Package compile makes code (package code) of the typed syntax of Go: it is the
// middle of check -> compile -> run.
//
// # In one pass
//
// [Compiler.Package] takes files that go/types has checked. A function is
// compiled when something that is compiled uses it, its body once, from the
// leaves up: an expression becomes a code.Val, a closure that computes it,
// whose kind the checker's type decides; an operand with an address becomes a
// code.Place; a statement becomes a code.Do. Nothing is decided when the code
// runs that the types decide: which method is called, which conversion an
// assignment needs, at which offset a field lies.
//
// # Where variables live
//
// Before a function's body is compiled, [uses] walks it once with the function
// literals in it, and notes of every local variable whether something takes its
// address, whether a literal uses it, and whether it changes after its
// declaration. A variable with an address, and one that a literal shares and
// that changes, is a value of its own on Go's heap, and the frame holds its
// address. All others lie in the frame; literals get a copy of those that they
// use. The variables of a three-clause loop that are values of their own are
// made anew for each turn.
//
// # Generics
//
// A generic function has one body of code for each list of type arguments that
// is used. Its syntax has been checked once, with type parameters; a
// [substitution] replaces them in every type that the checker has noted, and
// selections are looked up again in the types that come of it.
//
// # Methods
//
// A cell's types are types of the run time (package mirror) whose methods
// libraries call. Calls in cells go past those: a call of a known method goes to
// its entry, a call through an interface asks once for each type it meets
// (Compiler.method). What such a call has is the interface's data word, so a
// method with a value receiver is compiled a second time for it, as one that gets
// the address of the value; promoted methods get a function that calls them.
//
// # Order
//
// Go's compiler makes calls, receive operations and && and || before it reads the
// variables beside them. order.go finds the expressions where that can be
// seen and moves the calls in front.
//
// # Places
//
// A call stores its place in the frame before it is made, and an operation that fails
// stores its own before it panics; statements store theirs for what else can fail.
// So a traceback, runtime.Caller and a test's log have line and column without a cost
// where nothing fails. A function keeps what the compiler knew of it (Func.Source), by
// which errors.go finds variables of type error in the frames that a panic has left,
// and stops.go those that a debugger shows. Statements look at a debugger's flag only
// in code that is compiled while a client debugs; [Compiler.Again] compiles the
// session's functions for one that attaches.
//
// # What is kept
//
// Cells run again and again, and a session lasts for days. A function that a cell has
// replaced is kept by the code that has been compiled of it, and by code that calls it:
// the Compiler has weak pointers to its declaration and to the objects that once stood
// for a variable. A type stays with its methods, since values may be of it, unless it is
// declared again as the same.
//
// # What is refused
//
// What cannot be compiled is refused with its position, by [Error], before
// anything runs. A wrong result is never the price of going on.
//
// # What is missing
//
//   - loops of cells, methods and function literals as candidates of the second tier:
//     only declared functions are built by themselves;
//   - a cell's value that a function literal or an interface keeps after an interrupt
//     or an abandoned cell has not been tried over days (the soak).
package compile
