//go:build unix

// Package process holds what the library does with files and processes in ways
// that systems differ in.
package process

import (
	"errors"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"syscall"
	"time"
)

// Gone reports whether there is no process of a number on this machine.
func Gone(pid int) bool { return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) }

// Owned reports whether a file belongs to the user of this process.
func Owned(info os.FileInfo) bool {
	s, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(s.Uid) == os.Geteuid()
}

// Private reports whether nobody but its owner may read or write a file.
func Private(info os.FileInfo) bool { return info.Mode().Perm()&0o077 == 0 }

// Closed reports whether nobody but its owner may write to a file.
func Closed(info os.FileInfo) bool { return info.Mode().Perm()&0o022 == 0 }

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

// Group lets a command run in a process group of its own, which [Kill] ends, and
// which ends when the command's context does.
func Group(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if cmd.Cancel != nil {
		cmd.Cancel = func() error { return Kill(cmd) }
	}
}

// Kill ends a started command of [Group] and all that is left of its group.
func Kill(cmd *exec.Cmd) error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }

// guard is a shell script that waits for a line of input. If the input ends
// without one, the process that held the other end is gone, even by SIGKILL: the
// script ends the process group $0. It ignores signals to all children.
const guard = `trap "" INT TERM HUP QUIT; read line || kill -KILL -"$0" 2>/dev/null`

// KillWithParent ends the group of a started command of [Group] when this process ends,
// however it does, until release is called. It costs a waiting shell; without a
// shell it does nothing.
func KillWithParent(cmd *exec.Cmd) (release func()) {
	r, w, err := os.Pipe() // both are close-on-exec
	if err != nil {
		return func() {}
	}
	defer r.Close()
	sh := exec.Command("/bin/sh", "-c", guard, strconv.Itoa(cmd.Process.Pid))
	sh.Stdin, sh.Dir = r, "/"
	sh.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if sh.Start() != nil {
		w.Close()
		return func() {}
	}
	return sync.OnceFunc(func() {
		_, _ = w.WriteString("released\n")
		w.Close()
		_ = sh.Wait()
	})
}
