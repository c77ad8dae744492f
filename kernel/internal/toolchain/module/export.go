package module

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// copied is the first line of the go.mod of a module that Export has copied.
const copied = "// Copied by dace convert."

// Export makes what the session has of modules part of another module, in a folder
// with a go.mod and a go.sum, under a module path: it requires and replaces the same.
// Of a module on disk it has a copy in modules/PATH, with the files of the given
// packages.
func (s *Store) Export(ctx context.Context, dir, path string, packages []*Package) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	goCmd, err := s.open(ctx)
	if err != nil {
		return err
	}
	mod, err := s.read(ctx, goCmd, filepath.Join(s.dir, "go.mod"))
	if err != nil {
		return err
	}
	args := []string{"mod", "edit", "-module=" + path}
	for _, m := range mod.Require {
		args = append(args, "-require="+m.Path+"@"+m.Version)
	}
	for _, r := range mod.Replace {
		old, by := r.Old.Path, r.New.Path+"@"+r.New.Version
		if r.Old.Version != "" {
			old += "@" + r.Old.Version
		}
		if r.New.Version == "" {
			by = "./modules/" + r.Old.Path
			from := r.New.Path
			if !filepath.IsAbs(from) {
				from = filepath.Join(s.dir, from)
			}
			if err := s.copyModule(from, r.Old.Path, filepath.Join(dir, "modules", filepath.FromSlash(r.Old.Path)), packages); err != nil {
				return err
			}
		}
		args = append(args, "-replace="+old+"="+by)
	}
	file := filepath.Join(dir, "go.mod")
	other, err := s.read(ctx, goCmd, file)
	if err != nil {
		return err
	}
	if newer(mod.Go, other.Go) {
		args = append(args, "-go="+mod.Go)
	}
	if _, err := s.runIn(ctx, goCmd, dir, nil, append(args, file)...); err != nil {
		return err
	}
	sums, err := os.ReadFile(filepath.Join(s.dir, "go.sum"))
	if err == nil {
		err = addLines(filepath.Join(dir, "go.sum"), string(sums))
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	// The go command adds what follows from both, and what it lacks is an error here.
	if _, err = s.runIn(ctx, goCmd, dir, []string{"CGO_ENABLED=" + cgo()}, "list", "-mod=mod", "-deps", "."); err != nil {
		return fmt.Errorf("the module %s is written, and does not build: %w", dir, explain(path, path, err))
	}
	return nil
}

// copyModule copies the go.mod of a module on disk, and the files of packages of it.
func (s *Store) copyModule(from, path, to string, packages []*Package) error {
	mod := filepath.Join(to, "go.mod")
	if text, err := os.ReadFile(mod); err == nil && bytes.HasPrefix(text, []byte(copied)) {
		if err := os.RemoveAll(to); err != nil {
			return err
		}
	} else if _, err := os.Stat(to); err == nil {
		return fmt.Errorf("there is a folder %s that dace convert has not written: name another folder by -o", to)
	}
	text, err := os.ReadFile(filepath.Join(from, "go.mod"))
	if errors.Is(err, os.ErrNotExist) { // vendored
		err, text = nil, []byte("module "+path+"\n\ngo 1.16\n")
		for _, r := range s.roots {
			if t := r.overlay[filepath.Join(from, "go.mod")]; t != "" {
				text = []byte(t)
			}
		}
	}
	if err != nil {
		return err
	}
	write := func(name string, text []byte) error {
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			return err
		}
		return os.WriteFile(name, text, 0o666)
	}
	if err := write(mod, slices.Concat([]byte(copied+"\n\n"), text)); err != nil {
		return err
	}
	for _, p := range packages {
		if p.Module.Path != path {
			continue
		}
		below := filepath.FromSlash(strings.TrimPrefix(p.ImportPath, path))
		for _, name := range slices.Concat(p.Files, p.Foreign, p.Headers, p.Embeds) {
			text, err := os.ReadFile(filepath.Join(p.Dir, filepath.FromSlash(name)))
			if err == nil {
				err = write(filepath.Join(to, below, filepath.FromSlash(name)), text)
			}
			if err != nil {
				return fmt.Errorf("%s cannot be copied: %w", name, err)
			}
		}
	}
	return nil
}
