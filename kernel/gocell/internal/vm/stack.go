package vm

// stack returns how many bytes of its stack the goroutine uses, and what currentG
// returns: a call of a cell asks for both.
func stack() (used, id uintptr)

// currentG returns the address by which the run time knows the goroutine.
func currentG() uintptr
