//go:build unix

package construct_test

import (
	"os/signal"
	"syscall"
)

// limitFiles lets writes beyond a number of bytes in a file fail, as on a full
// disk.
func limitFiles(bytes uint64) error {
	signal.Ignore(syscall.SIGXFSZ)
	return syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: bytes, Max: bytes})
}
