package std

import "syscall"

// endingCalls are the numbers of the system calls that end the process.
var endingCalls = []uintptr{syscall.SYS_EXIT}

// stackFault is the fatal signal that Linux lacks.
const stackFault = syscall.SIGEMT

// overrideThreads replaces nothing: a cell cannot send a signal to a thread.
func (l *Library) overrideThreads(func(name string, f any)) {}

func (l *Library) endingThread(_, _, _, _ uintptr) {}
