package stdio

import "golang.org/x/sys/unix"

// countPending is the ioctl request for the number of bytes waiting in a pipe.
const countPending = unix.TIOCINQ

// enlarge makes a pipe hold a MiB: long output then takes fewer switches
// between writer and reader. If that fails, output is only slower.
func enlarge(fd uintptr) { _, _ = unix.FcntlInt(fd, unix.F_SETPIPE_SZ, 1<<20) }
