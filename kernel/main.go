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
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"dace.local/kernel/buildinfo"
	"dace.local/kernel/engine"
	"dace.local/kernel/gocell"
	"dace.local/kernel/gocell/symbols/all"
	"dace.local/kernel/internal/cli"
	"dace.local/kernel/internal/jupyter/server"
	"dace.local/kernel/internal/system/limits"
	"dace.local/kernel/internal/toolchain/native"
	"dace.local/kernel/setup"
	"dace.local/kernel/yaegi"
)

func main() {
	limits.Follow()
	limits.Pace()
	if stale := all.Stale(); stale != "" {
		fmt.Fprintln(os.Stderr, "dace:", stale)
	}
	cli.Functions{Make: remake}.Register()
	os.Exit(cli.Main(&cli.Env{
		Args:      os.Args[1:],
		Stdin:     os.Stdin,
		Stdout:    own(os.Stdout),
		Stderr:    own(os.Stderr),
		NewEngine: newEngine,
		Serve:     serve,
		Compiler:  (&native.Loader{}).Missing,
		Format:    gocell.Format,
		Program:   gocell.Program, FromProgram: gocell.FromProgram,
		Share:    (&native.Loader{Shared: setup.Shared()}).Share,
		Prebuild: (&native.Loader{}).Prebuild,
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

// startFile returns the file that runs before the first cell of a session that somebody
// types in.
func startFile(streams cli.Streams) string {
	dir, err := buildinfo.ConfigDir()
	if err != nil || !streams.Typed {
		return ""
	}
	return filepath.Join(dir, "init.go")
}

// notebookOf returns the file of the notebook that a kernel is of, "" if it is not known,
// and the folder of that.
func notebookOf(streams cli.Streams) (file, folder string) {
	folder, err := os.Getwd()
	if streams.Kernel == "" || err != nil {
		return "", ""
	}
	path := os.Getenv("JPY_SESSION_NAME") // that Jupyter's server sets; an older one's path is below its own folder
	if filepath.Ext(path) != ".ipynb" {
		return "", folder
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(folder, filepath.Base(path))
	}
	return path, folder
}

func newEngine(name string, args []string, streams cli.Streams) (engine.Engine, error) {
	if name == "yaegi" {
		if args == nil {
			args = []string{"dace"}
		}
		return yaegi.New(args, cli.Build())
	}
	notebook, folder := notebookOf(streams)
	s, err := gocell.New(gocell.Options{Args: args, Version: cli.Build(),
		StartFile: startFile(streams), KeepStdio: !streams.Output, KeepStdin: !streams.Input, KeepOutputs: streams.Kept, Stale: streams.Kept,
		Notebook: notebook, Kernel: streams.Kernel, Folder: folder,
		Compiler: &native.Loader{Shared: setup.Shared()}, CompileAfter: gocell.HotAfter})
	if err != nil {
		return nil, fmt.Errorf("cannot start a Go session: %w", err)
	}
	cli.Functions{Pack: func(f any) ([]byte, error) {
		carried, err := s.Carry(f)
		if err != nil {
			return nil, err
		}
		return carried.Encode()
	}, Make: remake}.Register()
	return s, nil
}

// remade holds the compiled functions of other sessions in this process: a plugin
// is never unloaded, and its variables are there once.
var remade = struct {
	sync.Mutex // guards of, and is held while one is made
	of         map[string]remadeFunction
}{of: map[string]remadeFunction{}}

type remadeFunction struct {
	value any
	built []byte
	how   string
}

// mostRemade bounds the functions that are compiled.
const mostRemade = 50

// remake makes a function of another session's cells: from the plugin that the
// other process has built, else built here, else interpreted.
func remake(ctx context.Context, source, built []byte, expression string) (value any, asBuilt []byte, how string, err error) {
	remade.Lock()
	defer remade.Unlock()
	key := string(source) + expression
	if m, ok := remade.of[key]; ok {
		return m.value, m.built, m.how, nil
	}
	f, err := gocell.DecodeFunction(source)
	if err != nil {
		return nil, nil, "", fmt.Errorf("the description of a function: %w", err)
	}
	f.Interpret = f.Interpret || len(remade.of) >= mostRemade
	loader := &native.Loader{Shared: setup.Shared()}
	if built != nil {
		if err := loader.Accept(built); err != nil {
			built = nil // it is built here, or interpreted
		}
	}
	m, err := f.Make(ctx, gocell.Options{Version: cli.Build(), Compiler: loader}, fmt.Sprintf(expression, f.Name))
	if err != nil {
		return nil, nil, "", err
	}
	if m.Path == "" {
		return m.Value, nil, "interpreted (" + strings.TrimSpace(m.Why) + ")", nil
	}
	out := remadeFunction{m.Value, nil, "plugin"}
	if built == nil {
		out.built, out.how = loader.Stored(m.Path), "source built there"
	}
	remade.of[key] = out
	return out.value, out.built, out.how, nil
}

func serve(ctx context.Context, connectionFile string, eng engine.Engine, stderr io.Writer) error {
	log, err := server.NewLog(stderr, os.Getenv("DACE_LOG"))
	if err != nil {
		return err
	}
	opts := server.Options{Log: log}
	if dir, err := buildinfo.StateDir(); err == nil {
		opts.History = filepath.Join(dir, "cells.jsonl")
	}
	return server.Serve(ctx, connectionFile, eng, opts)
}
