package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
	"golang.org/x/term"
)

// descriptor returns the file behind a stream where that is a terminal.
func descriptor(stream any) (fd int, tty bool) {
	f, ok := stream.(interface{ Fd() uintptr })
	if !ok {
		return 0, false
	}
	fd = int(f.Fd())
	return fd, term.IsTerminal(fd)
}

// piped reports whether a stream is a file of data or somebody's output, and
// no terminal or device.
func piped(stream any) bool {
	f, ok := stream.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && (info.Mode().IsRegular() || info.Mode()&os.ModeNamedPipe != 0)
}

// width is the number of columns of the terminal behind w, 80 where there is
// none.
func width(w io.Writer) int {
	if fd, tty := descriptor(w); tty {
		if n, _, err := term.GetSize(fd); err == nil && n > 20 {
			return n
		}
	}
	return 80
}

// colours reports whether w should be written to in colours.
func colours(w io.Writer) bool {
	_, tty := descriptor(w)
	return tty && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}

// plain removes ANSI sequences.
func plain(s string) string {
	if !strings.Contains(s, "\x1b") {
		return s
	}
	var b strings.Builder
	for {
		at := strings.IndexByte(s, 0x1b)
		if at < 0 {
			b.WriteString(s)
			return b.String()
		}
		b.WriteString(s[:at])
		s = s[at+1:]
		if strings.HasPrefix(s, "[") {
			end := strings.IndexFunc(s[1:], func(r rune) bool { return r >= 0x40 && r <= 0x7e })
			if end < 0 {
				return b.String()
			}
			s = s[1+end+1:]
		}
	}
}

// An asker answers cells that ask for a line.
type asker struct {
	in  io.Reader
	out io.Writer
	mu  sync.Mutex
	buf *bufio.Reader
}

// ask shows the prompt and reads a line. When ctx ends it gives up, and what
// is typed then is left to the next reader.
func (a *asker) ask(ctx context.Context, prompt string, password bool) (string, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.buf == nil {
		a.buf = bufio.NewReader(a.in)
	}
	io.WriteString(a.out, prompt)
	fd, tty := descriptor(a.in)
	if password && tty {
		b, err := term.ReadPassword(fd) // cannot be given up
		fmt.Fprintln(a.out)
		return string(b), err
	}
	if _, file := a.in.(*os.File); file && a.buf.Buffered() == 0 {
		if err := awaitInput(ctx, fd); err != nil {
			return "", err
		}
	}
	line, err := a.buf.ReadString('\n')
	if err == io.EOF && line != "" {
		err = nil
	}
	return strings.TrimRight(line, "\r\n"), err
}

// awaitInput waits until a read would not block, or ctx ends.
func awaitInput(ctx context.Context, fd int) error {
	const tick = 50 // ms
	for {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, tick)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil && !errors.Is(err, unix.EINTR):
			return nil // the read will say what is wrong
		case n > 0:
			return nil
		}
	}
}
