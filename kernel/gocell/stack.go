package gocell

// stackUsed returns how many bytes of its stack the goroutine uses.
func stackUsed() uintptr
