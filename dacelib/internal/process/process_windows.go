// Package process holds what the library does with files and processes in ways
// that systems differ in.
package process

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
	"time"

	"golang.org/x/sys/windows"
)

// Gone reports whether there is no process of a number on this machine.
func Gone(pid int) bool {
	h, err := windows.OpenProcess(windows.PROCESS_QUERY_LIMITED_INFORMATION, false, uint32(pid))
	if err != nil {
		return errors.Is(err, windows.ERROR_INVALID_PARAMETER)
	}
	_ = windows.CloseHandle(h)
	return false
}

// Owned is true: Windows has lists of rights, which a file in a user's folder
// inherits from it, and no mode.
func Owned(os.FileInfo) bool { return true }

// Private is true, as Owned is.
func Private(os.FileInfo) bool { return true }

// Closed is true, as Owned is.
func Closed(os.FileInfo) bool { return true }

// Detach lets a command run in a process group of its own, which no interrupt
// of this one reaches.
func Detach(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: windows.CREATE_NEW_PROCESS_GROUP}
}

// Time returns the processor time that this process has used.
func Time() time.Duration {
	var created, ended, kernel, user windows.Filetime
	if windows.GetProcessTimes(windows.CurrentProcess(), &created, &ended, &kernel, &user) != nil {
		return 0
	}
	ticks := func(t windows.Filetime) int64 { return int64(t.HighDateTime)<<32 | int64(t.LowDateTime) }
	return time.Duration(100 * (ticks(kernel) + ticks(user)))
}

// Group does nothing: here a command is ended alone.
func Group(*exec.Cmd) {}

// Kill ends a started command.
func Kill(cmd *exec.Cmd) error { return cmd.Process.Kill() }

// KillWithParent does nothing: a command ends when its standard input does.
func KillWithParent(*exec.Cmd) (release func()) { return func() {} }
