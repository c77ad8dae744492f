//go:build unix

package caop

import (
	"os/exec"
	"syscall"
)

// group lets a command run in its own process group, which is killed when its
// context ends: GCC is a driver, and its children do the work.
func group(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
