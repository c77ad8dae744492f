package rtype

// offset returns where a stub begins, counted from the first. Behind each 32
// stubs of 4 bytes are 11 bytes of code that they share.
func offset(i int) uintptr { return uintptr(i)*4 + uintptr(i/32)*11 }
