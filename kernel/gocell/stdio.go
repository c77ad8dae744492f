package gocell

import (
	"errors"
	"os"
	"runtime/debug"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"dace.local/kernel/engine"
)

// What compiled code writes to os.Stdout and os.Stderr, or to the file
// descriptors 1 and 2 themselves (a child process, a C library), belongs to
// the cell that runs. capture redirects both through pipes whose readers feed
// the current outputs.
//
// fmt.Print and its kin in a cell do not come this way: they write to the
// outputs directly, after what is in the pipes.
//
// While it lasts os.Stdout and os.Stderr are files of their own, so that a cell
// that closes one leaves the process's streams alone; the next cell finds it
// open again.
type capture struct {
	mu    sync.Mutex
	users int            // sessions
	out   engine.Outputs // of the current cell; nil before the first
	pipes [2]*pipe
	real  [2]*os.File // the process's
	given [2]*os.File // what cells have for these
}

// standard are the variables that hold the standard streams.
var standard = [2]**os.File{&os.Stdout, &os.Stderr}

// give lets the standard streams be files for cells, and mends what a cell has
// closed.
func (c *capture) give() {
	for i, file := range standard {
		p := c.pipes[i]
		if _, err := unix.FcntlInt(uintptr(p.fd), unix.F_GETFD, 0); err != nil {
			_ = unix.Dup2(int(p.w.Fd()), p.fd)
		}
		if *file != c.given[i] && *file != c.real[i] {
			continue // a cell's own
		}
		if c.given[i] == nil || c.given[i].Fd() == ^uintptr(0) {
			n, err := unix.FcntlInt(uintptr(p.fd), unix.F_DUPFD_CLOEXEC, 10)
			if err != nil {
				continue
			}
			c.given[i] = os.NewFile(uintptr(n), c.real[i].Name())
		}
		*file = c.given[i]
	}
}

// redirected returns the file that a cell has made os.Stdout, or nil.
func (c *capture) redirected() *os.File {
	c.mu.Lock()
	defer c.mu.Unlock()
	if f := os.Stdout; c.users > 0 && f != c.given[0] && f != c.real[0] {
		return f
	}
	return nil
}

type pipe struct {
	r, w  *os.File
	saved *os.File // what the descriptor was
	fd    int
	busy  sync.Mutex // held while read bytes are on their way
}

var stdio capture

// start redirects the process's standard streams, unless they are already.
func (c *capture) start() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.users++; c.users > 1 {
		return nil
	}
	for i, fd := range []int{1, 2} {
		p := c.pipes[i]
		if p == nil {
			r, w, err := os.Pipe()
			if err != nil {
				return err
			}
			// Fewer switches between writer and reader for long output.
			_, _ = unix.FcntlInt(w.Fd(), unix.F_SETPIPE_SZ, 1<<20)
			p = &pipe{r: r, w: w, fd: fd}
			c.pipes[i] = p
			go c.pump(i)
		}
		saved, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 10)
		if err != nil {
			return err
		}
		p.saved = os.NewFile(uintptr(saved), [...]string{"stdout", "stderr"}[i])
		if fd == 2 {
			// A crash of the process itself must still be seen.
			_ = debug.SetCrashOutput(p.saved, debug.CrashOptions{})
		}
		if err := unix.Dup2(int(p.w.Fd()), fd); err != nil {
			return err
		}
	}
	for i, file := range standard {
		c.real[i] = *file
	}
	c.give()
	return nil
}

// stop gives the process its streams back when the last session has ended.
func (c *capture) stop() error {
	c.drain()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.users--; c.users > 0 {
		return nil
	}
	c.out = nil
	var errs []error
	for _, p := range c.pipes {
		errs = append(errs, unix.Dup2(int(p.saved.Fd()), p.fd))
		if p.fd == 2 {
			errs = append(errs, debug.SetCrashOutput(nil, debug.CrashOptions{}))
		}
		errs = append(errs, p.saved.Close())
	}
	for i, file := range standard {
		if *file == c.given[i] {
			*file = c.real[i]
		}
	}
	return errors.Join(errs...)
}

// pump reads one pipe for as long as the process lives.
func (c *capture) pump(i int) {
	p := c.pipes[i]
	buf := make([]byte, 64<<10)
	for {
		// Wait for data without the lock, then take and deliver it under
		// it, so that drain knows when nothing is in flight.
		if err := waitReadable(p.r); err != nil {
			return
		}
		p.busy.Lock()
		if pending(p.r) > 0 {
			n, err := p.r.Read(buf)
			if err != nil {
				p.busy.Unlock()
				return
			}
			c.deliver(i, string(buf[:n]))
		}
		p.busy.Unlock()
	}
}

func (c *capture) deliver(i int, text string) {
	c.mu.Lock()
	out, saved := c.out, c.pipes[i].saved
	c.mu.Unlock()
	switch {
	case out == nil:
		_, _ = saved.WriteString(text)
	case i == 0:
		out.Stdout(text)
	default:
		out.Stderr(text)
	}
}

// use sends what comes from now on to out, after what was written before.
func (c *capture) use(out engine.Outputs) {
	c.drain()
	c.mu.Lock()
	c.out = out
	c.give()
	c.mu.Unlock()
}

// drain waits until what was written so far has been delivered.
func (c *capture) drain() {
	c.mu.Lock()
	users := c.users
	c.mu.Unlock()
	if users == 0 {
		return
	}
	deadline := time.Now().Add(2 * time.Second)
	for _, p := range c.pipes {
		for pending(p.r) > 0 && time.Now().Before(deadline) {
			p.delivered()
			time.Sleep(20 * time.Microsecond)
		}
		p.delivered()
	}
}

// delivered waits for the delivery under way.
func (p *pipe) delivered() {
	p.busy.Lock()
	defer p.busy.Unlock()
}

// flush lets what was written to the pipes go before what is written directly.
func (c *capture) flush() {
	for _, p := range c.pipes {
		switch {
		case p == nil:
		case pending(p.r) > 0:
			c.drain()
			return
		default:
			p.delivered() // what has been taken out, but not handed on
		}
	}
}

// pending returns the number of bytes waiting in a pipe.
func pending(f *os.File) int {
	n := 0
	rc, err := f.SyscallConn()
	if err != nil {
		return 0
	}
	_ = rc.Control(func(fd uintptr) {
		n, _ = unix.IoctlGetInt(int(fd), unix.TIOCINQ)
	})
	return n
}

// waitReadable returns when a pipe has data or its writers are gone.
func waitReadable(f *os.File) error {
	rc, err := f.SyscallConn()
	if err != nil {
		return err
	}
	return rc.Read(func(fd uintptr) bool {
		n, err := unix.IoctlGetInt(int(fd), unix.TIOCINQ)
		return err != nil && err != syscall.EAGAIN || n > 0
	})
}
