package setup

import (
	"os"
	"os/exec"
	"syscall"
)

// Prebuild starts a command that compiles what the first compiled function needs, in the
// background and at the lowest priority. It goes on when this program has ended. With
// DACE_PREBUILD=off in the environment it does nothing.
func Prebuild(at Place) {
	if os.Getenv("DACE_PREBUILD") == "off" {
		return
	}
	cmd := exec.Command(at.Binary, "prebuild")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if cmd.Start() != nil {
		return // the first function waits
	}
	_ = syscall.Setpriority(syscall.PRIO_PROCESS, cmd.Process.Pid, 19)
	_ = cmd.Process.Release()
}
