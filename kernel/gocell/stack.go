package gocell

// stackUsed returns how many bytes of its stack the goroutine uses.
func stackUsed() uintptr

// currentG returns the address by which the run time knows the goroutine.
func currentG() uintptr
