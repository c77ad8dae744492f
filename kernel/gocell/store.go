package gocell

import (
	"errors"
	"fmt"
	"go/types"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"dace.local/dacelib/files"
	"dace.local/kernel/buildinfo"
	"dace.local/kernel/gocell/internal/check"
	"dace.local/kernel/gocell/internal/magic"
)

// storeDir returns the folder of what %store keeps: a file of each name.
func storeDir() (string, error) {
	dir, err := buildinfo.StateDir()
	return filepath.Join(dir, "store"), err
}

// store implements the magic %store.
func (s *Session) store(c *magic.Call) error {
	args, err := c.Words()
	if err != nil {
		return err
	}
	dir, err := storeDir()
	if err != nil {
		return fmt.Errorf("there is no folder to keep variables in: %w", err)
	}
	flag := ""
	if len(args) > 0 && strings.HasPrefix(args[0], "-") {
		flag, args = args[0], args[1:]
	}
	kept, err := storedNames(dir)
	if err != nil {
		return err
	}
	if flag == "-r" || flag == "-d" {
		for _, name := range args {
			if !slices.Contains(kept, name) {
				return fmt.Errorf("no %s is kept; %%store lists what is", name)
			}
		}
	}
	switch {
	case flag == "-r":
		if len(args) == 0 {
			args = kept
		}
		for _, name := range args {
			if err := s.restore(c, filepath.Join(dir, name+".json"), name); err != nil {
				return err
			}
		}
		return nil
	case flag == "-d" && len(args) > 0, flag == "-z" && len(args) == 0:
		if flag == "-z" {
			args = kept
		}
		for _, name := range args {
			if err := os.Remove(filepath.Join(dir, name+".json")); err != nil {
				return fmt.Errorf("cannot forget %s: %w", name, err)
			}
		}
		return nil
	case flag != "":
		return fmt.Errorf("usage: %%store [-r|-d|-z] [NAME...]")
	case len(args) == 0:
		if len(kept) == 0 {
			c.Out.Stdout("Nothing is kept.\n")
			return nil
		}
		c.Out.Stdout(strings.Join(kept, "\n") + "\n")
		return nil
	}
	for _, name := range args {
		if err := s.keepName(dir, name); err != nil {
			return err
		}
		c.Out.Stdout("Stored " + name + "\n")
	}
	return nil
}

// storedNames returns the names that are kept, sorted.
func storedNames(dir string) (names []string, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("cannot read what is kept: %w", err)
	}
	for _, e := range entries {
		if name, ok := strings.CutSuffix(e.Name(), ".json"); ok && !strings.HasPrefix(name, ".") {
			names = append(names, name)
		}
	}
	return names, nil
}

// keepName keeps what a name of the session stands for: a cell that declares it, and
// the values of variables.
func (s *Session) keepName(dir, name string) error {
	s.mu.Lock()
	e := s.prog.Names[name]
	if e == nil || e.Cell == 0 {
		s.mu.Unlock()
		return fmt.Errorf("no cell has declared %s", name)
	}
	if v, ok := e.Object.(*types.Var); ok {
		if why := check.NotPlain(v.Type(), map[types.Type]bool{}); why != "" {
			s.mu.Unlock()
			return fmt.Errorf("%s cannot be kept, because it holds %s: only plain data (numbers, texts, and slices, maps and structs of them) can", name, why)
		}
	}
	needs, err := s.prog.Needs(s.machine.Files(), s.compiled.At, name)
	s.mu.Unlock()
	if err != nil {
		return fmt.Errorf("%s cannot be kept: %w", name, err)
	}
	out := &Function{Name: name, Text: needs.Text()}
	for _, x := range needs.Vars {
		value, ok := s.variable(x)
		if !ok {
			return fmt.Errorf("the variable %s has no value", x.Name())
		}
		out.Vars = append(out.Vars, x.Name())
		if out.Values, err = appendPlain(out.Values, value, 0); err != nil {
			return fmt.Errorf("%s cannot be kept: %w", name, err)
		}
	}
	text, err := out.Encode()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("cannot make the folder for what is kept: %w", err)
	}
	return files.WriteBytes(filepath.Join(dir, name+".json"), text)
}

// restore declares what is kept in a file again.
func (s *Session) restore(c *magic.Call, file, name string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("cannot read what is kept of %s: %w", name, err)
	}
	f, err := DecodeFunction(text)
	if err != nil {
		return fmt.Errorf("what is kept of %s cannot be read: %w", name, err)
	}
	if _, err := (host{s}).RunFile(c.Ctx, "stored "+name, f.Text, c.Out); err != nil {
		return err
	}
	if err := s.setVariables(f.Vars, f.Values); err != nil {
		return fmt.Errorf("what is kept of %s: %w", name, err)
	}
	return nil
}
