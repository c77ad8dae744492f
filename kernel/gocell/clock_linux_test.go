package gocell

import (
	"time"

	"golang.org/x/sys/unix"
)

// A goroutine that is locked to its thread has this clock for itself.
func init() {
	clock = func() time.Duration {
		var t unix.Timespec
		if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t); err != nil {
			panic(err)
		}
		return time.Duration(t.Nano())
	}
}
