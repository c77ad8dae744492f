package server

import (
	"bytes"
	"context"
	"os"
	"runtime"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"dace.local/dacelib/files/disk"

	"dace.local/kernel/internal/system/limits"
	"dace.local/kernel/internal/system/process"
)

// A usage holds the processor times at the last usage request: the next reply
// reports the shares of processor time since then.
type usage struct {
	mu        sync.Mutex // guards at, processor, idle and all
	at        time.Time
	processor time.Duration
	idle, all float64
}

// usageReply is the content of a usage_reply, with ipykernel's names of fields;
// JupyterLab's resource panel shows it.
type usageReply struct {
	Status        string         `json:"status"`
	Hostname      string         `json:"hostname"`
	PID           int            `json:"pid"`
	KernelCPU     float64        `json:"kernel_cpu"`    // percent of one processor
	KernelMemory  int64          `json:"kernel_memory"` // resident bytes
	CPUCount      int            `json:"cpu_count"`
	HostCPU       *float64       `json:"host_cpu_percent,omitempty"`
	VirtualMemory *virtualMemory `json:"host_virtual_memory,omitempty"`
}

type virtualMemory struct {
	Total     int64   `json:"total"`
	Available int64   `json:"available"`
	Used      int64   `json:"used"`
	Free      int64   `json:"free"`
	Percent   float64 `json:"percent"`
}

// usageRequest answers usage_request, which JupyterLab's resource panel sends.
// Total and available memory are those of the limit that is reached first.
func (s *server) usageRequest(context.Context, *request) (any, error) {
	u := &s.usage
	u.mu.Lock()
	defer u.mu.Unlock()
	host, _ := os.Hostname()
	reply := usageReply{Status: "ok", Hostname: host, PID: os.Getpid(), CPUCount: runtime.NumCPU(), KernelMemory: resident()}
	now, processor := time.Now(), process.TotalTime()
	since := s.started
	if !u.at.IsZero() {
		since = u.at
	}
	if d := now.Sub(since); d > 0 {
		reply.KernelCPU = 100 * float64(processor-u.processor) / float64(d)
	}
	u.at, u.processor = now, processor
	if idle, all, ok := hostTime(); ok {
		if u.all > 0 && all > u.all {
			share := 100 * (1 - (idle-u.idle)/(all-u.all))
			reply.HostCPU = &share
		}
		u.idle, u.all = idle, all
	}
	if m := limits.Memory(); m.Name != "" && m.Total > 0 {
		used := m.Total - m.Available
		reply.VirtualMemory = &virtualMemory{m.Total, m.Available, used, m.Available, 100 * float64(used) / float64(m.Total)}
	}
	return reply, nil
}

// resident returns the resident memory of this process in bytes, or its maximum
// so far if the system does not report the current value.
func resident() int64 {
	if b, err := os.ReadFile("/proc/self/statm"); err == nil {
		if f := bytes.Fields(b); len(f) > 1 {
			if n, err := strconv.ParseInt(string(f[1]), 10, 64); err == nil {
				return n * int64(os.Getpagesize())
			}
		}
	}
	var r unix.Rusage
	_ = unix.Getrusage(unix.RUSAGE_SELF, &r)
	return int64(r.Maxrss) << 10
}

// hostTime returns the idle and the total time of all processors since boot, in
// ticks.
func hostTime() (idle, all float64, ok bool) {
	b, err := disk.ReadFile("/proc/stat")
	if err != nil {
		return 0, 0, false
	}
	line, _, _ := bytes.Cut(b, []byte("\n"))
	for i, f := range bytes.Fields(line) {
		n, err := strconv.ParseFloat(string(f), 64)
		if err != nil || i > 8 { // the name "cpu", or guest time, which user time includes
			continue
		}
		if all += n; i == 4 || i == 5 { // idle and iowait
			idle += n
		}
	}
	return idle, all, all > 0
}
