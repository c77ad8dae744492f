//go:build unix

// Package process holds what the library does with files and processes in ways
// that systems differ in.
package process

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// ErrLocked is the error of [Lock] for a file that another process has locked.
var ErrLocked = errors.New("the file is locked by another process")

// Lock locks a file until it is closed. It does not wait.
func Lock(f *os.File) error {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return ErrLocked
	}
	return err
}

// Gone reports whether there is no process of a number on this machine.
func Gone(pid int) bool { return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) }

// Detach lets a command run in a session of its own, which no interrupt of this
// one reaches.
func Detach(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }

// Time returns the processor time that this process and its ended children have
// used.
func Time() time.Duration {
	total := int64(0)
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var u syscall.Rusage
		if syscall.Getrusage(who, &u) == nil {
			total += u.Utime.Nano() + u.Stime.Nano()
		}
	}
	return time.Duration(total)
}
