package stdio

import (
	"context"
	"errors"
	"io"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"dace.local/kernel/gocell/internal/vm"
)

// questions is the standard input of cells: a read of os.Stdin (by fmt.Scan, a
// cell's bufio.Scanner or compiled code) makes the client ask the user for a
// line. While sessions live, os.Stdin is a pipe. While a cell runs, Serve
// watches whether a reader waits at the pipe, asks for a line, and writes it
// into the other end.
//
// os.Stdin stays an *os.File because programs expect that. Whether a reader
// waits is seen from the lock that readers of the file hold.
type questions struct {
	mu    sync.Mutex // guards users, saved, r, w, ended and rest
	users int        // number of sessions
	saved *os.File   // os.Stdin before Start
	r, w  *os.File
	ended bool   // w is closed: readers see the end of the input
	rest  []byte // part of an answer that the pipe has no room for yet
}

// Input is the process's standard input. All sessions share it.
var Input = &questions{}

const (
	// A reader that is seen waiting this many times in a row, at this interval,
	// waits for new input. Seen once, it may have just been served: it holds
	// the lock for a moment after it has emptied the pipe, and for longer on a
	// busy machine.
	waitingLooks    = 8
	waitingInterval = 10 * time.Millisecond
)

// Start makes os.Stdin a pipe, unless it is one already.
func (q *questions) Start() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.users == 0 {
		q.saved = os.Stdin
		if err := q.open(); err != nil {
			return err
		}
	}
	q.users++
	return nil
}

// Stop restores os.Stdin when the last session has ended.
func (q *questions) Stop() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.users--; q.users > 0 {
		return nil
	}
	os.Stdin = q.saved
	return q.close()
}

// open makes a new pipe and sets os.Stdin to its read end.
func (q *questions) open() error {
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	q.r, q.w, q.ended, q.rest = r, w, false, nil
	os.Stdin = r
	return nil
}

// close closes the pipe. Readers that wait at it see the end of the input.
func (q *questions) close() error {
	var err error
	if !q.ended {
		err = q.w.Close()
	}
	return errors.Join(err, q.r.Close())
}

// Serve asks for input when code reads os.Stdin while a cell runs. It returns
// when done is closed. Call Renew first.
func (q *questions) Serve(c *vm.Cell, done <-chan struct{}) {
	ctx, cancel := context.WithCancel(c.Context())
	go func() {
		<-done
		cancel()
	}()
	tick := time.NewTicker(waitingInterval)
	defer tick.Stop()
	for looks := 0; ; {
		select {
		case <-done:
			return
		case <-c.Context().Done():
			q.release(c, done)
			return
		case <-tick.C:
		}
		if !q.waiting() {
			looks = 0
			continue
		}
		if looks++; looks < waitingLooks || q.feed(nil) {
			continue
		}
		looks = 0
		line, err := c.Outputs().Input(ctx, "", false)
		switch {
		case err == nil:
			q.feed([]byte(line + "\n"))
		case ctx.Err() != nil:
		case errors.Is(err, io.EOF):
			q.end()
		default:
			c.Cancel(err)
		}
	}
}

// Renew prepares the pipe for a cell: reads work again after an earlier cell
// has come to the end of the input or was interrupted in a read.
func (q *questions) Renew() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.ended {
		_ = q.r.SetReadDeadline(time.Time{})
		return nil
	}
	old := q.r
	if err := q.open(); err != nil {
		return err
	}
	return old.Close()
}

// waiting reports whether a reader waits at os.Stdin and the pipe is empty.
func (q *questions) waiting() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return !q.ended && vm.BeingRead(q.r) && pending(q.r) == 0
}

// feed writes the rest of the last answer and more to the pipe, as much as it
// has room for. It reports whether there was anything to write.
func (q *questions) feed(more []byte) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.rest = append(q.rest, more...)
	if len(q.rest) == 0 {
		return false
	}
	rc, err := q.w.SyscallConn()
	if err != nil {
		return false
	}
	_ = rc.Write(func(fd uintptr) bool {
		for len(q.rest) > 0 {
			n, err := unix.Write(int(fd), q.rest)
			if err != nil && err != unix.EINTR {
				break // the pipe is full
			}
			q.rest = q.rest[max(n, 0):]
		}
		return true
	})
	return true
}

// end closes the write end, so that readers see the end of the input for the
// rest of the cell.
func (q *questions) end() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.ended {
		q.ended = true
		_ = q.w.Close()
	}
}

// release makes waiting reads return when the cell has been stopped. The
// cell does not see their error, because it no longer runs.
func (q *questions) release(c *vm.Cell, done <-chan struct{}) {
	select {
	case <-c.Stopped():
	case <-done:
	}
	q.mu.Lock()
	shared := blocking(q.r)
	_ = q.r.SetReadDeadline(time.Now())
	q.mu.Unlock()
	if shared {
		q.end()
	}
}

// blocking reports whether a file that was opened non-blocking has become
// blocking: its descriptor was taken with Fd, perhaps for a child process,
// which may wait at the pipe too.
func blocking(f *os.File) bool {
	flags := unix.O_NONBLOCK
	if rc, err := f.SyscallConn(); err == nil {
		_ = rc.Control(func(fd uintptr) { flags, _ = unix.FcntlInt(fd, unix.F_GETFL, 0) })
	}
	return flags&unix.O_NONBLOCK == 0
}
