package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"dace.local/kernel/buildinfo"
	"dace.local/kernel/setup/farmserver"
	"dace.local/kernel/setup/source"
)

// carry writes into dir what the command carries, and an overlay for `go build`
// that puts it in the place of the empty files of the clone: the server of farms
// and, if source is true, the archive of the module's source. It returns the
// name of the overlay's file. env are additional variables for the go command.
func carry(ctx context.Context, root, dir string, env []string, source bool) (overlay string, err error) {
	replace := map[string]string{}
	put := func(to string, write func(w io.Writer) error) error {
		name := filepath.Join(dir, filepath.Base(to))
		f, err := os.Create(name)
		if err != nil {
			return err
		}
		replace[filepath.Join(root, filepath.FromSlash(to))] = name
		return errors.Join(write(f), f.Close())
	}
	if err := put("kernel/setup/farmserver/server.zst", func(w io.Writer) error { return writeServer(ctx, w, root, dir, env) }); err != nil {
		return "", err
	}
	if source {
		if err := put("kernel/setup/source/module.zip", func(w io.Writer) error { return writeSource(ctx, w, root, env) }); err != nil {
			return "", err
		}
	}
	text, err := json.Marshal(map[string]map[string]string{"Replace": replace})
	if err != nil {
		return "", err
	}
	overlay = filepath.Join(dir, "overlay.json")
	return overlay, os.WriteFile(overlay, text, 0o644)
}

// linkFlags are the linker's flags for all programs: no tables for debuggers, a
// quarter of the size, and functions at multiples of 16 bytes in place of 32, half
// a megabyte.
const linkFlags = "-s -w -funcalign=16"

// serverTags are the build tags for the server of farms, which speaks no HTTP/2.
const serverTags = "nethttpomithttp2"

// serverFlags are its compiler's flags: without inlining in what passes on messages it is
// 0.7 megabytes smaller, compressed. Workers compute for milliseconds between two.
var serverFlags = []string{"-gcflags=github.com/...=-l", "-gcflags=golang.org/x/...=-l", "-gcflags=crypto/tls=-l", "-gcflags=crypto/x509=-l",
	"-gcflags=encoding/...=-l", "-gcflags=mime/...=-l", "-gcflags=net/...=-l", "-gcflags=" + buildinfo.Path("dacelib/farm/...") + "=-l"}

// writeServer builds the server of farms and writes what package farmserver
// carries.
func writeServer(ctx context.Context, w io.Writer, root, dir string, env []string) error {
	program := filepath.Join(dir, "server")
	args := append([]string{"build", "-trimpath", "-buildvcs=false", "-ldflags=" + linkFlags, "-tags=" + serverTags}, serverFlags...)
	cmd := exec.CommandContext(ctx, "go", append(args, "-o", program, "./"+farmserver.Package)...)
	cmd.Dir, cmd.Env = root, append(append(os.Environ(), env...), "CGO_ENABLED=0", "GOTMPDIR="+dir)
	if out, err := runGroup(cmd); err != nil {
		return fmt.Errorf("the farm's server does not build (%w):\n%s", err, tail(out, 30))
	}
	text, err := os.ReadFile(program)
	if err != nil {
		return err
	}
	goarch := runtime.GOARCH
	for _, v := range env {
		if name, value, _ := strings.Cut(v, "="); name == "GOARCH" {
			goarch = value
		}
	}
	return farmserver.Write(w, text, goarch)
}

// writeSource writes the archive of the module's source.
func writeSource(ctx context.Context, w io.Writer, root string, env []string) error {
	names, err := sourceFiles(ctx, root, env)
	if err != nil {
		return err
	}
	linked, err := goList(ctx, root, env, "-deps", "./kernel")
	if err != nil {
		return err
	}
	return source.Write(w, root, names, strings.Fields(string(linked)))
}

// tables is the package that registers the packages of the module that cells, and
// thus compiled cells, can import: it imports them.
const tables = "kernel/gocell/symbols/dace"

// sourceFiles returns the files of the module that are needed to compile the
// packages that cells can import, as paths relative to root.
func sourceFiles(ctx context.Context, root string, env []string) ([]string, error) {
	out, err := goList(ctx, root, env, "-deps", "-json=Dir,ImportPath,GoFiles,CgoFiles,SFiles,HFiles,EmbedFiles", "./"+tables)
	if err != nil {
		return nil, err
	}
	names := []string{"go.mod", "go.sum", "LICENSE"}
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p struct {
			Dir, ImportPath                               string
			GoFiles, CgoFiles, SFiles, HFiles, EmbedFiles []string
		}
		switch err := d.Decode(&p); {
		case errors.Is(err, io.EOF):
			return names, nil
		case err != nil:
			return nil, err
		}
		if !strings.HasPrefix(p.ImportPath, buildinfo.Path("")) || strings.HasPrefix(p.ImportPath, buildinfo.Path("kernel/gocell/symbols/")) {
			continue
		}
		dir, err := filepath.Rel(root, p.Dir)
		if err != nil {
			return nil, err
		}
		for _, list := range [][]string{p.GoFiles, p.CgoFiles, p.SFiles, p.HFiles, p.EmbedFiles} {
			for _, f := range list {
				names = append(names, filepath.ToSlash(filepath.Join(dir, f)))
			}
		}
	}
}

// goList returns the output of `go list` with the given arguments, run in the
// module.
func goList(ctx context.Context, root string, env []string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "go", append([]string{"list"}, args...)...)
	var stderr bytes.Buffer
	cmd.Dir, cmd.Env, cmd.Stderr = root, append(os.Environ(), env...), &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("cannot list the source (%w):\n%s", err, tail(stderr.Bytes(), 10))
	}
	return out, nil
}
