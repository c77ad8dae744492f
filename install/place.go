package main

import (
	"context"
	"debug/buildinfo"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"strings"
)

// A place is where things are installed.
type place struct {
	spec   string // the folder of kernel.json
	binary string // the command
	lab    string // the folder of a JupyterLab of our own
	path   string // what JUPYTER_PATH must name, as far as we know; or empty
}

// place tells by the flags where to install.
func (in *installer) place(ctx context.Context) (place, error) {
	prefix := in.prefix
	if in.sysPrefix {
		var err error
		if prefix, err = sysPrefix(ctx); err != nil {
			return place{}, err
		}
	}
	if prefix != "" {
		prefix, err := filepath.Abs(prefix)
		if err != nil {
			return place{}, err
		}
		at := place{
			spec:   filepath.Join(prefix, "share", "jupyter", "kernels", "dace"),
			binary: filepath.Join(prefix, "bin", "dace"),
			lab:    filepath.Join(prefix, "share", "dace", "jupyterlab"),
		}
		if !in.sysPrefix && prefix != "/usr" && prefix != "/usr/local" {
			at.path = filepath.Join(prefix, "share", "jupyter")
		}
		return at, nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return place{}, fmt.Errorf("cannot tell the user's folder (%w): set HOME, or install with -prefix DIR", err)
	}
	share := filepath.Join(home, ".local", "share")
	if xdg := os.Getenv("XDG_DATA_HOME"); filepath.IsAbs(xdg) {
		share = xdg
	}
	// As jupyter_core.paths.jupyter_data_dir has it.
	data := filepath.Join(share, "jupyter")
	if runtime.GOOS == "darwin" {
		data = filepath.Join(home, "Library", "Jupyter")
	}
	if dir := os.Getenv("JUPYTER_DATA_DIR"); dir != "" {
		if data, err = filepath.Abs(dir); err != nil {
			return place{}, err
		}
	}
	return place{
		spec:   filepath.Join(data, "kernels", "dace"),
		binary: filepath.Join(home, ".local", "bin", "dace"),
		lab:    filepath.Join(share, "dace", "jupyterlab"),
	}, nil
}

// sysPrefix is the environment that Python's tools install into.
func sysPrefix(ctx context.Context) (string, error) {
	for _, name := range []string{"VIRTUAL_ENV", "CONDA_PREFIX"} {
		if dir := os.Getenv(name); dir != "" {
			return dir, nil
		}
	}
	out, err := exec.CommandContext(ctx, "python3", "-c", "import sys; print(sys.prefix)").Output()
	if err != nil {
		return "", fmt.Errorf("-sys-prefix asks python3 for its prefix, and that failed: %w; activate an environment, or name a folder with -prefix DIR", err)
	}
	return strings.TrimSpace(string(out)), nil
}

//go:embed logo/*
var logos embed.FS

// specFile is the file of a kernelspec that says all but the logos.
const specFile = "kernel.json"

// A kernelSpec is the text of kernel.json.
type kernelSpec struct {
	Argv          []string          `json:"argv"`
	DisplayName   string            `json:"display_name"`
	Language      string            `json:"language"`
	InterruptMode string            `json:"interrupt_mode"`
	Env           map[string]string `json:"env,omitempty"`
	Metadata      struct {
		Record *record `json:"dace.local,omitempty"`
	} `json:"metadata"`
}

// A record says, in kernel.json, what was installed beside it. It also marks
// the kernelspec as ours.
type record struct {
	Binary string   `json:"binary"`
	Made   []string `json:"made,omitempty"`  // folders, outermost first
	Trees  []string `json:"trees,omitempty"` // folders to be removed with all that is in them
}

// readSpec reads kernel.json in a folder.
func readSpec(dir string) (kernelSpec, error) {
	var spec kernelSpec
	name := filepath.Join(dir, specFile)
	text, err := os.ReadFile(name)
	if err != nil {
		return spec, err
	}
	if err := json.Unmarshal(text, &spec); err != nil {
		return spec, fmt.Errorf("%s: %w", name, err)
	}
	return spec, nil
}

// prepare checks that nothing of somebody else's is overwritten and that we
// may write, and makes the folders. What an earlier installation recorded
// stays in the record.
func (in *installer) prepare(at place) (*record, error) {
	note := &record{Binary: at.binary}
	spec, err := readSpec(at.spec)
	var unread *fs.PathError
	switch {
	case err == nil && spec.Metadata.Record != nil:
		note.Made, note.Trees = spec.Metadata.Record.Made, spec.Metadata.Record.Trees
	case errors.Is(err, fs.ErrNotExist):
	case errors.As(err, &unread):
		return nil, denied(at.spec, err)
	case !in.force:
		what := "a kernel named dace that this installer did not write"
		if spec.DisplayName != "" {
			what += fmt.Sprintf(" (%q)", spec.DisplayName)
		}
		return nil, fmt.Errorf("%s holds %s. Move it away, or overwrite it with -force", at.spec, what)
	}
	if _, err := os.Lstat(at.binary); err == nil && !isOurs(at.binary) && !in.force {
		return nil, fmt.Errorf("%s is another program. Install elsewhere with -prefix DIR, or overwrite it with -force", at.binary)
	}
	for _, dir := range []string{filepath.Dir(at.binary), at.spec} {
		made, err := makeDir(dir)
		note.Made = append(note.Made, made...)
		if err == nil {
			err = writable(dir)
		}
		if err != nil {
			removeEmpty(note.Made)
			return nil, denied(dir, err)
		}
	}
	return note, nil
}

// denied says what to do where one cannot write.
func denied(dir string, err error) error {
	var perr *fs.PathError
	if errors.As(err, &perr) {
		err = perr.Err
	}
	return fmt.Errorf("cannot write into %s: %w. Install for yourself with -user, or into a folder of yours with -prefix DIR", dir, err)
}

// isOurs reports whether a file is a build of our command.
func isOurs(file string) bool {
	info, err := buildinfo.ReadFile(file)
	return err == nil && info.Path == "dace.local/kernel"
}

// register writes the kernelspec.
func (at place) register(note *record) error {
	spec := kernelSpec{
		Argv:        []string{at.binary, "jupyter", "-f", "{connection_file}"},
		DisplayName: "Go (dace)",
		Language:    "go",
		// A signal would go to the whole process group, and so also to the
		// programs that a cell has started; a message reaches the cell alone.
		InterruptMode: "message",
	}
	spec.Metadata.Record = note
	text, err := json.MarshalIndent(spec, "", "  ")
	if err != nil {
		return err
	}
	files := specFiles()
	files[specFile] = append(text, '\n')
	for name, data := range files {
		err := replaceFile(filepath.Join(at.spec, name), 0o644, func(temp string) error { return os.WriteFile(temp, data, 0o644) })
		if err != nil {
			return denied(at.spec, err)
		}
	}
	return nil
}

// specFiles are the files that stand beside kernel.json.
func specFiles() map[string][]byte {
	files := make(map[string][]byte)
	entries, err := logos.ReadDir("logo")
	if err != nil {
		panic(err) // they are embedded
	}
	for _, e := range entries {
		if files[e.Name()], err = logos.ReadFile(path.Join("logo", e.Name())); err != nil {
			panic(err)
		}
	}
	return files
}

// uninstall removes exactly what install wrote.
func (in *installer) uninstall(at place) error {
	spec, err := readSpec(at.spec)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		in.say("Nothing to remove: there is no kernelspec in %s.", at.spec)
		return nil
	case err != nil:
		return err
	case spec.Metadata.Record == nil:
		return fmt.Errorf("%s was not written by this installer and stays", at.spec)
	}
	note := spec.Metadata.Record
	if _, err := os.Lstat(note.Binary); err == nil {
		if !isOurs(note.Binary) {
			in.say("%s is another program by now and stays.", note.Binary)
		} else if err := os.Remove(note.Binary); err != nil {
			return fmt.Errorf("cannot remove the command: %w", err)
		}
	}
	for _, dir := range note.Trees {
		if err := os.RemoveAll(dir); err != nil {
			return fmt.Errorf("cannot remove JupyterLab: %w", err)
		}
	}
	files := specFiles()
	files[specFile] = nil
	for name := range files {
		if err := os.Remove(filepath.Join(at.spec, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("cannot remove the kernelspec: %w", err)
		}
	}
	removeEmpty(note.Made)
	in.say("Removed %s and %s.", at.spec, note.Binary)
	return nil
}

// makeDir makes a folder and those above it, and returns the ones it made,
// outermost first.
func makeDir(dir string) (made []string, err error) {
	if info, err := os.Stat(dir); err == nil && info.IsDir() {
		return nil, nil
	}
	if up := filepath.Dir(dir); up != dir {
		if made, err = makeDir(up); err != nil {
			return made, err
		}
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		return made, err
	}
	return append(made, dir), nil
}

// removeEmpty removes those of the folders that hold nothing, innermost first.
func removeEmpty(dirs []string) {
	for i := len(dirs) - 1; i >= 0; i-- {
		_ = os.Remove(dirs[i]) // fails where there is something in it
	}
}

// writable makes a folder where there is none and tries to write there.
func writable(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, ".dace-*")
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

// replaceFile puts a new file in the place of an old one in one step: whoever
// has the old one open, or runs it, keeps it.
func replaceFile(name string, mode fs.FileMode, write func(temp string) error) error {
	f, err := os.CreateTemp(filepath.Dir(name), ".dace-*")
	if err != nil {
		return err
	}
	temp := f.Name()
	defer os.Remove(temp) // fails once it has been renamed
	if err := f.Close(); err != nil {
		return err
	}
	if err := write(temp); err != nil {
		return err
	}
	if err := os.Chmod(temp, mode); err != nil {
		return err
	}
	return os.Rename(temp, name)
}
