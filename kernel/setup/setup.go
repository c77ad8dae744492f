// Package setup registers the command as a Jupyter kernel, for one user or for
// all users of a prefix, checks that it works, and removes it again. Both
// `dace install` and `go run ./install` use it. Start with [Installer].
//
// An installation consists of a kernelspec (kernel.json and logos) and of the
// command's file. kernel.json records both, so that [Installer.Uninstall]
// removes exactly what was installed.
package setup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"time"
)

// An Installer installs and removes one kernel. Without Prefix and SysPrefix,
// that is the kernel of this user.
type Installer struct {
	// Prefix is the folder to install below, for instance /usr/local.
	Prefix string
	// SysPrefix installs into the active virtual or conda environment, else
	// into python3's own prefix.
	SysPrefix bool
	// Name is the kernel's name for Jupyter and the name of the command's file;
	// the default is "dace", with another Engine's name behind it. Kernels of different names are independent.
	Name string
	// Engine is one of Engines, "" for the first.
	Engine string
	// DisplayName is the name that Jupyter shows; the default is "Go (dace)",
	// with the kernel's name.
	DisplayName string
	// Force overwrites a kernelspec or command of the same name that is not
	// ours.
	Force bool
	// Keep lets Uninstall leave the user's history and compiled cells.
	Keep bool
	// Dry has Uninstall say what it would remove, and remove nothing.
	Dry bool
	// Out receives lines for the user.
	Out io.Writer
	// Build writes the kernel's command to a file; [Copy] copies the running
	// program.
	Build func(ctx context.Context, to string) error
	// Building is the name of the step that calls Build.
	Building string
}

func (in *Installer) name() string {
	if in.other() {
		return cmp.Or(in.Name, "dace-"+in.Engine)
	}
	return cmp.Or(in.Name, "dace")
}

// other reports whether the kernel is to run cells by another engine than the usual.
func (in *Installer) other() bool { return in.Engine != "" && in.Engine != Engines[0] }

func (in *Installer) displayName() string { return cmp.Or(in.DisplayName, "Go ("+in.name()+")") }

// say prints a line.
func (in *Installer) say(format string, args ...any) {
	fmt.Fprintf(in.Out, format+"\n", args...)
}

// Step prints what it is about to do, calls do, and prints the time that it
// took and the note that do returned.
func (in *Installer) Step(what string, do func() (string, error)) error {
	fmt.Fprintf(in.Out, "%s ... ", what)
	start := time.Now()
	note, err := do()
	if err != nil {
		fmt.Fprintln(in.Out, "failed")
		return err
	}
	if note != "" {
		note = ": " + note
	}
	fmt.Fprintf(in.Out, "%.1f s%s\n", time.Since(start).Seconds(), note)
	return nil
}

// Install writes the command and the kernelspec, starts the kernel as Jupyter
// would, and checks that it answers. It returns the record of the installation.
func (in *Installer) Install(ctx context.Context, at Place) (*Record, error) {
	note, err := in.prepare(at)
	if err != nil {
		return nil, err
	}
	err = in.Step(cmp.Or(in.Building, "Building the kernel"), func() (string, error) { return at.Binary, in.buildInto(ctx, at) })
	if err != nil {
		in.abandon(at, note)
		return nil, err
	}
	err = in.Step("Registering it with Jupyter", func() (string, error) { return at.Spec, in.Register(at, note) })
	if err == nil && !in.other() {
		err = in.AddExporter(ctx, at, note)
	}
	if err != nil {
		return nil, err
	}
	err = in.Step("Starting it as Jupyter would", func() (string, error) { return Prove(ctx, at.Spec) })
	if err != nil {
		return nil, fmt.Errorf("the kernel is installed, but it does not work: %w", err)
	}
	return note, nil
}

// buildInto builds the command and replaces an old one by a rename, so that
// running processes of the old one keep their file.
func (in *Installer) buildInto(ctx context.Context, at Place) error {
	dir := at.building()
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	built := filepath.Join(dir, "dace")
	if err := in.Build(ctx, built); err != nil {
		return err
	}
	if err := os.Chmod(built, 0o755); err != nil {
		return err
	}
	return os.Rename(built, at.Binary)
}

// Copy writes a copy of the running program to a file.
func Copy(_ context.Context, to string) error {
	from := "/proc/self/exe" // this program even if its file was replaced since
	if runtime.GOOS != "linux" {
		var err error
		if from, err = os.Executable(); err != nil {
			return err
		}
	}
	r, err := os.Open(from)
	if err != nil {
		return fmt.Errorf("the program cannot read its own file: %w", err)
	}
	defer r.Close()
	w, err := os.Create(to)
	if err != nil {
		return err
	}
	_, err = io.Copy(w, r)
	return errors.Join(err, w.Close())
}
