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

// ask shows the prompt and reads a line. A line that is read after ctx has
// ended answers the next question.
func (a *asker) ask(ctx context.Context, prompt string, password bool) (string, error) {
	a.mu.Lock()
	if a.buf == nil {
		a.buf = bufio.NewReader(a.in)
	}
	a.mu.Unlock()
	type answer struct {
		line string
		err  error
	}
	got := make(chan answer, 1)
	go func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		fmt.Fprint(a.out, prompt)
		if fd, tty := descriptor(a.in); password && tty {
			b, err := term.ReadPassword(fd)
			fmt.Fprintln(a.out)
			got <- answer{string(b), err}
			return
		}
		line, err := a.buf.ReadString('\n')
		if err == io.EOF && line != "" {
			err = nil
		}
		got <- answer{strings.TrimRight(line, "\r\n"), err}
	}()
	select {
	case g := <-got:
		if errors.Is(g.err, io.EOF) {
			return "", io.EOF
		}
		return g.line, g.err
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}
