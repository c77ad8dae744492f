// Package compiled runs cells that begin with %%compile: for each it writes a
// package (generate.go), lets a [Compiler] build and load it, and makes its
// names available to interpreted cells.
//
// Start with [Set]. Package check decides which declarations and uses such a
// cell may have (native.go). Package native, outside of gocell, calls the
// toolchain.
//
// What a session compiles by itself has copies of the types of cells that it uses
// (check/layout.go), with the same layout as the session's. Where the compiler can, on
// Linux, they are bound to these (bind.go): all references of the plugin to a copy, to what
// consists of copies and to tables of their methods are set to the session's, so that values
// in interfaces are of its types, and interfaces call compiled methods. Type switches look
// for types by a hash of the copy's name, and become others (typeswitch.go). Where a type
// cannot be bound, nothing may ask which type a value has (Native.AsksIdentity). A compiled
// cell calls what cells call in the place of functions of the library (places.go), takes the
// locks of maps that goroutines share (maps.go), and waits for channels as long as an
// interrupt does not end it (waits.go). A loop has the function literals that variables of
// the session hold as functions of its own, and runs interpreted when they hold others.
//
// Still interpreted, in the order of what usual programs lose by it (BenchmarkTiers of
// package native says which shapes):
//
//   - a cell's other statements, and function literals that are not called by its loops;
//   - on macOS, values of own types in interfaces: references can be set in ELF files alone;
//   - in interfaces, types that a function declares, instances of generic types that only
//     generic functions mention, and structs without a name with fields that are not exported;
//   - generic functions and methods of generic types by themselves: only what calls them;
//   - methods that an embedding struct promotes, called through an interface: by reflection;
//   - function literals given to what calls them in goroutines of its own, where a panic would
//     end the process.
package compiled
