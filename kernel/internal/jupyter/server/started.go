package server

import (
	"bytes"
	"fmt"
	"strconv"
	"time"

	"dace.local/kernel/internal/jupyter/wire"
)

// processStart returns when this process began. It reads the time from /proc,
// because a client may send requests after it has started the process and
// before the kernel's own code runs. Without /proc it returns one second before
// this package was initialised.
func processStart(read func(name string) ([]byte, error)) time.Time {
	// The 22nd field of stat is the start time in hundredths of a second since
	// boot; the second field, in brackets, may contain blanks. /proc/uptime
	// gives the seconds since boot.
	stat, _ := read("/proc/self/stat")
	uptime, _ := read("/proc/uptime")
	now := time.Now()
	fields, ups := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:]), bytes.Fields(uptime)
	if len(fields) < 20 || len(ups) == 0 {
		return initialised
	}
	begun, err1 := strconv.ParseInt(string(fields[19]), 10, 64)
	up, err2 := strconv.ParseFloat(string(ups[0]), 64)
	if err1 != nil || err2 != nil {
		return initialised
	}
	age := time.Duration(up*float64(time.Second)) - time.Duration(begun)*10*time.Millisecond
	return now.Add(-age - 20*time.Millisecond) // both numbers are truncated to 10 ms
}

var initialised = time.Now().Add(-time.Second)

// refuse returns an error for a message that was made before the kernel began.
// A restarted kernel has the key of the one before it, so an old message may be
// a replay of one that the earlier kernel has already executed. A
// kernel_info_request is never refused: clients send it while the kernel still
// starts, and it changes nothing.
func (s *server) refuse(h wire.Header) error {
	if h.Date.IsZero() || !h.Date.Before(s.started) || h.MsgType == "kernel_info_request" {
		return nil
	}
	return newError("StaleRequest", fmt.Sprintf("this request was made %v before the kernel was started, so it was not obeyed: it may be a copy of an old one. "+
		"Send it again; if that does not help, the clock of the computer with the browser is behind the kernel's",
		s.started.Sub(h.Date).Round(time.Millisecond)))
}
