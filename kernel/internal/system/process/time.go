package process

import (
	"syscall"
	"time"
)

// Time returns the processor time that this process has used, which other processes on
// the machine do not change.
func Time() (user, system time.Duration) {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u) // fails for a wrong argument only
	return time.Duration(u.Utime.Nano()), time.Duration(u.Stime.Nano())
}

// TotalTime returns the sum of Time.
func TotalTime() time.Duration {
	user, system := Time()
	return user + system
}
