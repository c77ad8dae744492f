// Package procgroup ends a process group when this process ends, even by SIGKILL,
// which cannot be handled. Start with [Group].
package procgroup

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"syscall"
)

// guard is a shell script that waits for a line of input. If the input ends
// without one, the process at the other end of the pipe is gone: the script
// sends SIGTERM to the process group $0, and SIGKILL half a second later. It
// ignores signals, so that a signal to all children does not end it.
const guard = `trap "" INT TERM HUP QUIT; read line || { kill -TERM -"$0" 2>/dev/null && { sleep 0.5; kill -KILL -"$0"; } 2>/dev/null; }`

// Group ends the process group pgid when this process has ended. After release,
// which may be called more than once, the group runs on. The cost is one waiting
// shell in a session of its own.
func Group(pgid int) (release func(), err error) {
	if pgid <= 1 {
		return nil, fmt.Errorf("procgroup: %d is no process group", pgid)
	}
	r, w, err := os.Pipe() // both ends are close-on-exec: cells' processes do not inherit them
	if err != nil {
		return nil, err
	}
	defer r.Close()
	cmd := exec.Command("/bin/sh", "-c", guard, strconv.Itoa(pgid))
	cmd.Stdin = r
	cmd.Dir = "/" // so that no other folder is kept in use
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		w.Close()
		return nil, fmt.Errorf("procgroup: %w", err)
	}
	go cmd.Wait()
	held.Store(w, nil)
	return sync.OnceFunc(func() {
		_, _ = w.WriteString("released\n")
		w.Close()
		held.Delete(w)
	}), nil
}

// held keeps the pipes to the shells reachable, because the garbage collector
// closes an unreachable *os.File.
var held sync.Map // *os.File -> nil
