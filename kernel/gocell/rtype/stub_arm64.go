package rtype

// offset returns where a stub begins, counted from the first.
func offset(i int) uintptr { return uintptr(i) * 8 }
