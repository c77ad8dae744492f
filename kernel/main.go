// Command dace runs cells of Go code: as a Jupyter kernel, from a notebook
// file, from a script or at a prompt. `dace -h` lists its verbs, which package
// cli implements.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"dace.local/kernel/cli"
	"dace.local/kernel/engine"
	"dace.local/kernel/gocell"
	"dace.local/kernel/limits"
	"dace.local/kernel/native"
	"dace.local/kernel/self"
	"dace.local/kernel/server"
	"dace.local/kernel/setup"
)

func main() {
	limits.Follow()
	os.Exit(cli.Main(&cli.Env{
		Args:      os.Args[1:],
		Stdin:     os.Stdin,
		Stdout:    own(os.Stdout),
		Stderr:    own(os.Stderr),
		NewEngine: newEngine,
		Serve:     serve,
		Compiler:  (&native.Loader{}).Missing,
		Share:     (&native.Loader{Shared: setup.Shared()}).Share,
	}))
}

// own duplicates a standard stream. The command keeps the copy when the
// session redirects the original stream to catch the output of cells.
func own(f *os.File) *os.File {
	fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return f
	}
	return os.NewFile(uintptr(fd), f.Name())
}

func newEngine(args []string, streams cli.Streams) (engine.Engine, error) {
	s, err := gocell.New(gocell.Options{Args: args, Version: cli.Build(),
		KeepStdio: !streams.Output, KeepStdin: !streams.Input, Compiler: &native.Loader{Shared: setup.Shared()}})
	if err != nil {
		return nil, fmt.Errorf("cannot start a Go session: %w", err)
	}
	return s, nil
}

func serve(ctx context.Context, connectionFile string, eng engine.Engine, stderr io.Writer) error {
	log, err := server.NewLog(stderr, os.Getenv("DACE_LOG"))
	if err != nil {
		return err
	}
	opts := server.Options{Log: log}
	if dir, err := self.StateDir(); err == nil {
		opts.History = filepath.Join(dir, "cells.jsonl")
	}
	return server.Serve(ctx, connectionFile, eng, opts)
}
