// Package process runs commands for cells: their output is streamed, an
// interrupt ends them with all that they started, and so does the end of the
// kernel. Start with [Command.Run].
package process

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"dace.local/kernel/procgroup"
)

// A Command is a command to run.
type Command struct {
	// Args are the program and its arguments.
	Args []string
	// Script is a text that the program can read from /dev/fd/3, unless it is "".
	Script string
	// Stdin is the command's standard input; nil is an empty one.
	Stdin io.Reader
	// Stdout and Stderr are called with pieces of the output, one at a time
	// each. A character may be split between two calls.
	Stdout, Stderr func(text string)
}

// Shell returns the command that runs a line of shell: with bash, or with sh if
// there is no bash.
func Shell(line string) Command {
	shell := "/bin/sh"
	if path, err := exec.LookPath("bash"); err == nil {
		shell = path
	}
	return Command{Args: []string{shell, "-c", line}}
}

const (
	// patience is how long an interrupted command has between SIGINT and
	// SIGKILL. A cell must end within 0.7 s of its interrupt.
	patience = 300 * time.Millisecond
	// quiet is how long the output of a command is awaited after its end.
	// Processes that it left in the background may hold it open for ever.
	quiet = 200 * time.Millisecond
)

// Run runs the command and returns when it has ended and its output has been
// delivered. The error is an *exec.ExitError if it failed, ctx's if it was
// interrupted. Processes that the command leaves in the background run on until
// the kernel ends, and what they write is still delivered.
func (c Command) Run(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	cmd := exec.Command(c.Args[0], c.Args[1:]...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Stdin = c.Stdin
	cmd.WaitDelay = quiet // for copying Stdin, which may never end
	var open []io.Closer  // this process's copies of the command's ends of pipes
	defer func() {
		for _, f := range open {
			f.Close()
		}
	}()
	var copying sync.WaitGroup
	stream := func(to func(string)) (*os.File, error) {
		r, w, err := os.Pipe()
		if err != nil {
			return nil, err
		}
		open = append(open, w)
		copying.Go(func() { deliver(r, to) })
		return w, nil
	}
	var err error
	if cmd.Stdout, err = stream(c.Stdout); err != nil {
		return err
	}
	if cmd.Stderr, err = stream(c.Stderr); err != nil {
		return err
	}
	if c.Script != "" {
		r, w, err := os.Pipe()
		if err != nil {
			return err
		}
		open = append(open, r)
		cmd.ExtraFiles = []*os.File{r}
		go func() {
			io.WriteString(w, c.Script) // an error: the program has not read it all
			w.Close()
		}()
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("cannot run %s: %w", c.Args[0], reason(err))
	}
	release, groupErr := procgroup.Group(cmd.Process.Pid)
	if groupErr != nil {
		release = func() {}
	}
	for _, f := range open {
		f.Close()
	}
	open = nil
	err = wait(ctx, cmd)
	delivered := make(chan struct{})
	go func() {
		copying.Wait()
		release()
		close(delivered)
	}()
	if alone(cmd.Process.Pid) {
		<-delivered
	} else {
		select {
		case <-delivered:
		case <-time.After(quiet):
		}
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if errors.Is(err, exec.ErrWaitDelay) {
		return nil
	}
	return err
}

// wait waits for the command to end. When ctx ends, it ends the command's
// process group.
func wait(ctx context.Context, cmd *exec.Cmd) error {
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	group := -cmd.Process.Pid
	_ = syscall.Kill(group, syscall.SIGINT)
	select {
	case <-ended:
	case <-time.After(patience):
	}
	_ = syscall.Kill(group, syscall.SIGKILL) // also what the command left behind
	return ctx.Err()
}

// alone reports whether no process of a command's group is left.
func alone(group int) bool { return errors.Is(syscall.Kill(-group, 0), syscall.ESRCH) }

// deliver passes on what it reads, until the end.
func deliver(r *os.File, to func(string)) {
	defer r.Close()
	buf := make([]byte, 32<<10)
	for {
		n, err := r.Read(buf)
		if n > 0 {
			to(string(buf[:n]))
		}
		if err != nil {
			return
		}
	}
}

// reason returns the last part of an error of package os or exec, which begins
// with the operation and the name.
func reason(err error) error {
	var p *os.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	var e *exec.Error
	if errors.As(err, &e) {
		return e.Err
	}
	return err
}
