package stdio

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

// capture gives the running cell all that compiled code writes to os.Stdout and
// os.Stderr, or to the file descriptors 1 and 2 themselves (a child process, a
// C library). It redirects both through pipes whose readers write to the
// current outputs.
//
// fmt.Print and its kin in a cell do not take this path: they write to the
// outputs directly, after what is in the pipes.
//
// While output is captured, os.Stdout and os.Stderr are duplicates of the
// pipes, so that a cell which closes one leaves the process's streams alone.
// For the next cell it is opened again.
type capture struct {
	mu    sync.Mutex     // guards users, out, pipes, real and given, but not the data in the pipes
	users int            // number of sessions
	out   engine.Outputs // of the current cell; nil before the first
	pipes [2]*pipe
	real  [2]*os.File // os.Stdout and os.Stderr of the process
	given [2]*os.File // the files that cells have in their place
}

// standard holds the addresses of the variables os.Stdout and os.Stderr.
var standard = [2]**os.File{&os.Stdout, &os.Stderr}

// give sets os.Stdout and os.Stderr to duplicates of our pipes, so that a cell
// which closes one does not close ours. It opens those again that a cell has
// closed.
func (c *capture) give() {
	for i, file := range standard {
		p := c.pipes[i]
		if _, err := unix.FcntlInt(uintptr(p.fd), unix.F_GETFD, 0); err != nil {
			_ = unix.Dup2(int(p.w.Fd()), p.fd)
		}
		if *file != c.given[i] && *file != c.real[i] {
			continue // the cell has set its own file
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

// Redirected returns the file to which a cell has set os.Stdout, or nil.
func (c *capture) Redirected() *os.File {
	c.mu.Lock()
	defer c.mu.Unlock()
	if f := os.Stdout; c.users > 0 && f != c.given[0] && f != c.real[0] {
		return f
	}
	return nil
}

type pipe struct {
	r, w  *os.File
	saved *os.File // the file that the descriptor stood for before
	fd    int
	busy  sync.Mutex // held while bytes that have been read are delivered; guards no field
}

// Output is the process's standard output and error: there is one of each, for
// all sessions.
var Output = &capture{}

// Start redirects the process's standard streams, unless they are redirected
// already.
func (c *capture) Start() error {
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
			enlarge(w.Fd())
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
			// If the process itself crashes, the message must still reach the
			// user.
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

// Stop restores the process's streams when the last session has ended.
func (c *capture) Stop() error {
	c.Drain()
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

// pump reads one pipe and delivers its data, for as long as the process lives.
func (c *capture) pump(i int) {
	p := c.pipes[i]
	buf := make([]byte, 64<<10)
	for {
		// Wait for data without holding the lock, then read and deliver the
		// data while holding it, so that Drain knows when nothing is in flight.
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

// Use sends new output to out, after delivering earlier output to the outputs
// before.
func (c *capture) Use(out engine.Outputs) {
	c.Drain()
	c.mu.Lock()
	c.out = out
	c.give()
	c.mu.Unlock()
}

// Drain waits until everything written so far has been delivered, about 2
// seconds at most.
func (c *capture) Drain() {
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

// delivered waits until the data that has been read from the pipe is delivered.
func (p *pipe) delivered() {
	p.busy.Lock()
	defer p.busy.Unlock()
}

// Flush delivers the data in the pipes before a direct write to the outputs.
func (c *capture) Flush() {
	for _, p := range c.pipes {
		switch {
		case p == nil:
		case pending(p.r) > 0:
			c.Drain()
			return
		default:
			p.delivered() // data may have been read but not delivered
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
		n, _ = unix.IoctlGetInt(int(fd), countPending)
	})
	return n
}

// waitReadable returns when a pipe has data or all its writers have closed it.
func waitReadable(f *os.File) error {
	rc, err := f.SyscallConn()
	if err != nil {
		return err
	}
	return rc.Read(func(fd uintptr) bool {
		n, err := unix.IoctlGetInt(int(fd), countPending)
		return err != nil && err != syscall.EAGAIN || n > 0
	})
}
