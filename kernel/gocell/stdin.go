package gocell

import (
	"context"
	"errors"
	"io"
	"os"
	"reflect"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Whatever reads os.Stdin, be it fmt.Scan, a bufio.Scanner of a cell's or
// compiled code, reads what the person at the client is asked for. While
// sessions live, os.Stdin is a pipe: whoever runs a cell watches whether
// somebody waits at it, asks for a line, and writes it into the other end.
//
// It stays an *os.File, which programs expect of it; who waits at one is read
// from the lock that its readers hold.
type questions struct {
	mu    sync.Mutex
	users int      // sessions
	saved *os.File // os.Stdin as it was
	r, w  *os.File
	lock  *uint64 // of r, see readLock
	ended bool    // w is closed: the input has come to its end
	rest  []byte  // of an answer that the pipe does not hold at once
}

var stdin questions

const (
	// A reader that is seen waiting so often, at these intervals, has not just
	// been served: it holds the lock for a moment after it has emptied the
	// pipe, a longer one on a busy machine.
	waitingLooks    = 4
	waitingInterval = 10 * time.Millisecond
)

// start makes os.Stdin a pipe, unless it is one already.
func (q *questions) start() error {
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

// stop gives the process its stdin back when the last session has ended.
func (q *questions) stop() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.users--; q.users > 0 {
		return nil
	}
	os.Stdin = q.saved
	return q.close()
}

// open makes a new pipe.
func (q *questions) open() error {
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	q.r, q.w, q.lock, q.ended, q.rest = r, w, readLock(r), false, nil
	os.Stdin = r
	return nil
}

// close closes the pipe; readers that wait for it see the end of their input.
func (q *questions) close() error {
	var err error
	if !q.ended {
		err = q.w.Close()
	}
	return errors.Join(err, q.r.Close())
}

// serve answers who reads os.Stdin while a cell runs, until done is closed. It
// comes after renew.
func (q *questions) serve(r *running, done <-chan struct{}) {
	ctx, cancel := context.WithCancel(r.ctx)
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
		case <-r.ctx.Done():
			q.release(r, done)
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
		line, err := r.Outputs().Input(ctx, "", false)
		switch {
		case err == nil:
			q.feed([]byte(line + "\n"))
		case ctx.Err() != nil:
		case errors.Is(err, io.EOF):
			q.end()
		default:
			r.cancel(err)
		}
	}
}

// renew prepares the pipe for a cell: what an earlier one came to the end of,
// or was interrupted at, can be read again.
func (q *questions) renew() error {
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

// waiting reports whether somebody reads os.Stdin and there is nothing.
func (q *questions) waiting() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.lock != nil && !q.ended && atomic.LoadUint64(q.lock)&readLocked != 0 && pending(q.r) == 0
}

// feed writes as much of what is left and of more as the pipe holds. It
// reports whether there was anything.
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
				break // it is full
			}
			q.rest = q.rest[max(n, 0):]
		}
		return true
	})
	return true
}

// end lets the readers see the end of their input, for as long as the cell
// lasts.
func (q *questions) end() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.ended {
		q.ended = true
		_ = q.w.Close()
	}
}

// release lets those go who wait, when the interpreter has been stopped: the
// cell does not get to see it.
func (q *questions) release(r *running, done <-chan struct{}) {
	select {
	case <-r.stop:
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

// blocking reports whether somebody has taken the descriptor of a file that
// was opened as one that does not block, perhaps for a child process, which
// may wait at it too.
func blocking(f *os.File) bool {
	flags := unix.O_NONBLOCK
	if rc, err := f.SyscallConn(); err == nil {
		_ = rc.Control(func(fd uintptr) { flags, _ = unix.FcntlInt(fd, unix.F_GETFL, 0) })
	}
	return flags&unix.O_NONBLOCK == 0
}

// readLocked is the bit of a file's lock that says that somebody reads.
const readLocked = 1 << 1

// readLock returns the lock that is held while a file is read: the state of an
// internal/poll.fdMutex. It is nil where package os has changed: then nobody
// is asked.
func readLock(f *os.File) *uint64 {
	v := reflect.ValueOf(f)
	for _, name := range []string{"file", "pfd", "fdmu", "state"} {
		if v.Kind() == reflect.Pointer {
			v = v.Elem()
		}
		if v.Kind() != reflect.Struct {
			return nil
		}
		v = v.FieldByName(name)
	}
	if v.Kind() != reflect.Uint64 {
		return nil
	}
	return (*uint64)(unsafe.Pointer(v.UnsafeAddr()))
}
