// Command dace runs cells of Go: as a Jupyter kernel, from a notebook file,
// from a script or at a prompt. `dace -h` lists its verbs; package cli holds
// them.
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
	"dace.local/kernel/native"
	"dace.local/kernel/server"
)

func main() {
	os.Exit(cli.Main(&cli.Env{
		Args:      os.Args[1:],
		Stdin:     os.Stdin,
		Stdout:    own(os.Stdout),
		Stderr:    own(os.Stderr),
		NewEngine: newEngine,
		Serve:     serve,
	}))
}

// own returns a copy of a standard stream that stays the command's when the
// session redirects the stream to catch what cells write to it.
func own(f *os.File) *os.File {
	fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return f
	}
	return os.NewFile(uintptr(fd), f.Name())
}

func newEngine(args []string, streams cli.Streams) (engine.Engine, error) {
	s, err := gocell.New(gocell.Options{Args: args, Version: cli.Version,
		KeepStdio: !streams.Output, KeepStdin: !streams.Input, Compiler: &native.Loader{}})
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
	if dir, err := cli.StateDir(); err == nil {
		opts.History = filepath.Join(dir, "cells.jsonl")
	}
	return server.Serve(ctx, connectionFile, eng, opts)
}
