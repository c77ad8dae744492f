package cli

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
	"golang.org/x/term"
)

// descriptor returns the file descriptor of a stream, and whether it is a
// terminal.
func descriptor(stream any) (fd int, tty bool) {
	f, ok := stream.(interface{ Fd() uintptr })
	if !ok {
		return 0, false
	}
	fd = int(f.Fd())
	return fd, term.IsTerminal(fd)
}

// piped reports whether a stream is a regular file or a pipe, rather than a
// terminal or another device.
func piped(stream any) bool {
	f, ok := stream.(interface{ Stat() (os.FileInfo, error) })
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && (info.Mode().IsRegular() || info.Mode()&os.ModeNamedPipe != 0)
}

// A result is a file, not a terminal, that results go to; it keeps the first error, as
// a redirection to a full disk must not pass for a success.
type result struct {
	file *os.File
	mu   sync.Mutex
	err  error // guarded by mu
}

func (r *result) Fd() uintptr                { return r.file.Fd() }
func (r *result) Stat() (os.FileInfo, error) { return r.file.Stat() }

func (r *result) Write(b []byte) (int, error) {
	n, err := r.file.Write(b)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.err = cmp.Or(r.err, err)
	return n, err
}

// written runs the verb, which fails if its results could not be written. A reader that
// wants no more, as head, is no failure.
func (v *verb) written(env *Env, args []string) int {
	f, ok := env.Stdout.(*os.File)
	if _, tty := descriptor(env.Stdout); !ok || tty {
		return v.run(env, v, args)
	}
	r := &result{file: f}
	own := *env
	own.Stdout = r
	code := v.run(&own, v, args)
	if code == exitOK && r.err != nil && !errors.Is(r.err, unix.EPIPE) {
		return v.fail(env, fmt.Errorf("the results: %w", r.err))
	}
	return code
}

// width returns the number of columns of the terminal behind w, or 80 if w is
// not a terminal.
func width(w io.Writer) int {
	if fd, tty := descriptor(w); tty {
		if n, _, err := term.GetSize(fd); err == nil && n > 20 {
			return n
		}
	}
	return 80
}

// colours reports whether text written to w should be coloured. NO_COLOR has precedence
// over FORCE_COLOR, as elsewhere.
func colours(w io.Writer) bool {
	_, tty := descriptor(w)
	return os.Getenv("NO_COLOR") == "" && (os.Getenv("FORCE_COLOR") != "" || tty && os.Getenv("TERM") != "dumb")
}

// page writes a text to stdout, through $PAGER or less where that is a terminal with
// fewer lines. PAGER=cat, or an empty one, pages nothing.
func (env *Env) page(text string) {
	if fd, tty := descriptor(env.Stdout); tty {
		pager, set := os.LookupEnv("PAGER")
		if _, err := exec.LookPath("less"); !set && err == nil {
			pager = "less"
		}
		_, lines, err := term.GetSize(fd)
		if err == nil && pager != "" && pager != "cat" && strings.Count(text, "\n") >= lines {
			signal.Ignore(os.Interrupt) // Ctrl-C is the pager's
			defer signal.Reset(os.Interrupt)
			cmd := exec.Command("sh", "-c", pager)
			cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(text), env.Stdout, env.Stderr
			cmd.Env = append(os.Environ(), "LESS="+cmp.Or(os.Getenv("LESS"), "FRX"))
			if cmd.Run() == nil {
				return
			}
		}
	}
	fmt.Fprint(env.Stdout, text)
}

// plain removes ANSI sequences from s.
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

// An asker answers the input requests of cells with lines that the user types.
type asker struct {
	in  io.Reader
	out io.Writer
	mu  sync.Mutex // guards buf, and is held while asking
	buf *bufio.Reader
}

// ask shows the prompt and reads a line. If ctx ends it returns, and leaves
// the user's next input to the next reader.
func (a *asker) ask(ctx context.Context, prompt string, password bool) (string, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.buf == nil {
		a.buf = bufio.NewReader(a.in)
	}
	io.WriteString(a.out, prompt)
	fd, tty := descriptor(a.in)
	if password && tty {
		b, err := term.ReadPassword(fd) // cannot be interrupted by ctx
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
			return nil // the following read reports the error
		case n > 0:
			return nil
		}
	}
}
