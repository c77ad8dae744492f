package std

import "syscall"

// endingCalls are the numbers of the system calls that end the process.
var endingCalls = []uintptr{syscall.SYS_EXIT, syscall.SYS_EXIT_GROUP}

// stackFault is the one fatal signal that only Linux has.
const stackFault = syscall.SIGSTKFLT

// overrideThreads replaces the functions that send a signal to a thread.
func (l *Library) overrideThreads(set func(name string, f any)) {
	set("Tgkill", func(_, tid int, sig syscall.Signal) error { return l.killThread(tid, sig) })
}

// endingThread sends the signal of a system call to the cell.
func (l *Library) endingThread(trap, a1, a2, a3 uintptr) {
	switch trap {
	case syscall.SYS_TKILL:
		_ = l.killThread(int(a1), syscall.Signal(a2))
	case syscall.SYS_TGKILL:
		_ = l.killThread(int(a2), syscall.Signal(a3))
	}
}
