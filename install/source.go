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
	"strings"

	"dace.local/kernel/self"
	"dace.local/kernel/source"
)

// carrySource writes two files into dir: the archive of the module's source,
// and an overlay for `go build` that replaces the empty archive of the clone
// with it. It returns the name of the overlay's file. env are additional variables
// for the go command.
func carrySource(ctx context.Context, root, dir string, env []string) (overlay string, err error) {
	names, err := sourceFiles(ctx, root, env)
	if err != nil {
		return "", err
	}
	linked, err := goList(ctx, root, env, "-deps", "./kernel")
	if err != nil {
		return "", err
	}
	archive := filepath.Join(dir, "module.zip")
	f, err := os.Create(archive)
	if err != nil {
		return "", err
	}
	err = source.Write(f, root, names, strings.Fields(string(linked)))
	if err = errors.Join(err, f.Close()); err != nil {
		return "", err
	}
	text, err := json.Marshal(map[string]map[string]string{
		"Replace": {filepath.Join(root, "kernel", "source", "module.zip"): archive},
	})
	if err != nil {
		return "", err
	}
	overlay = filepath.Join(dir, "overlay.json")
	return overlay, os.WriteFile(overlay, text, 0o644)
}

// sourceFiles returns the files that are needed to compile the module's
// packages, as paths relative to root. It leaves out the generated symbol
// tables: no compiled cell imports them, and they are three quarters of the
// text.
func sourceFiles(ctx context.Context, root string, env []string) ([]string, error) {
	out, err := goList(ctx, root, env, "-json=Dir,ImportPath,GoFiles,CgoFiles,SFiles,HFiles,EmbedFiles", "./dacelib/...", "./kernel/...")
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
		dir, err := filepath.Rel(root, p.Dir)
		if err != nil {
			return nil, err
		}
		if strings.HasPrefix(p.ImportPath, self.Path("kernel/gocell/symbols")) {
			continue
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
