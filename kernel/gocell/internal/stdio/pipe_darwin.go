package stdio

// countPending is the ioctl request for the number of bytes waiting in a pipe:
// FIONREAD of <sys/filio.h>.
const countPending = 0x4004667f

// enlarge does nothing: the system enlarges a pipe that is filled.
func enlarge(uintptr) {}
