package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"dace.local/kernel/setup"
)

// testPackages are the Debian packages that the client tests need, in addition
// to those that install/jupyterlab/run.sh needs.
var testPackages = []string{
	"python3-jupyter-client", "python3-nbclient", "python3-nbconvert",
	"python3-jupyter-kernel-test", "python3-jupyter-console", "chromium",
}

// command runs a program. An error includes the end of the program's output.
func command(ctx context.Context, dir string, env []string, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Stdin = dir, os.Stdin // sudo may ask for a password
	cmd.Env = append(os.Environ(), env...)
	gentle(cmd)
	out, err := cmd.CombinedOutput()
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	}
	return fmt.Errorf("%s: %w\n%s", strings.Join(append([]string{filepath.Base(name)}, args...), " "), err, tail(out, 15))
}

// installDebian installs the given Debian packages unless they are installed.
func (in *installer) installDebian(ctx context.Context, packages ...string) error {
	var missing []string
	for _, p := range packages {
		out, err := exec.CommandContext(ctx, "dpkg-query", "-W", "-f=${db:Status-Status}", p).Output()
		if err != nil || string(out) != "installed" {
			missing = append(missing, p)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	apt, err := aptGet()
	if err != nil {
		return fmt.Errorf("%w\nIt would install: %s", err, strings.Join(missing, " "))
	}
	return in.Step("Installing Debian packages: "+strings.Join(missing, " "), func() (string, error) {
		env := []string{"DEBIAN_FRONTEND=noninteractive"}
		updateErr := command(ctx, "", env, apt[0], append(apt[1:], "update")...)
		err := command(ctx, "", env, apt[0], append(append(apt[1:], "install", "-y", "--no-install-recommends"), missing...)...)
		if err != nil {
			err = fmt.Errorf("the packages cannot be installed; is there a network? %w", errors.Join(err, updateErr))
		}
		return "", err
	})
}

// aptGet returns the command line of apt-get, with sudo unless we are root.
func aptGet() ([]string, error) {
	if _, err := exec.LookPath("apt-get"); err != nil {
		return nil, errors.New("packages can be installed by apt-get only, and this system has none")
	}
	apt := []string{"apt-get", "-o", "DPkg::Lock::Timeout=600"}
	if os.Getuid() == 0 {
		return apt, nil
	}
	if _, err := exec.LookPath("sudo"); err != nil {
		return nil, errors.New("installing packages needs root, and there is no sudo: run this as root, or ask the machine's owner")
	}
	return append([]string{"sudo", "DEBIAN_FRONTEND=noninteractive"}, apt...), nil
}

// setUpFrontEnd sets up install/jupyterlab: a JupyterLab that is built from its
// npm packages and served by Debian's jupyter_server.
func (in *installer) setUpFrontEnd(ctx context.Context, root string) error {
	packages := []string{"python3-jupyter-server", "python3-jupyterlab-server"}
	if _, err := exec.LookPath("node"); err != nil {
		packages = append(packages, "nodejs")
	}
	if _, err := exec.LookPath("npm"); err != nil {
		packages = append(packages, "npm")
	}
	if err := in.installDebian(ctx, packages...); err != nil {
		return err
	}
	return in.Step("Setting up JupyterLab in install/jupyterlab", func() (string, error) {
		err := command(ctx, root, nil, frontEnd(root), "setup")
		if err != nil {
			err = fmt.Errorf("JupyterLab's front end cannot be set up; it comes from npm, is there a network? %w", err)
		}
		return "", err
	})
}

// frontEnd returns the path of the script that serves install/jupyterlab.
func frontEnd(root string) string {
	return filepath.Join(root, "install", "jupyterlab", "run.sh")
}

// frontEndBuilt reports whether the front end in install/jupyterlab is built.
func frontEndBuilt(root string) bool {
	_, err := os.Stat(filepath.Join(root, "install", "jupyterlab", "dist", "version.json"))
	return err == nil
}

// findLab returns the command that opens JupyterLab, or "" if there is none.
func findLab(root string, at setup.Place) string {
	if lab := setup.FindLab(at); lab != "" {
		return lab
	}
	if frontEndBuilt(root) {
		return frontEnd(root)
	}
	return ""
}

func isFile(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.Mode().IsRegular()
}

// setUpLab sets up JupyterLab if there is none, and returns the command that
// opens it.
func (in *installer) setUpLab(ctx context.Context, root string, at setup.Place, note *setup.Record) (string, error) {
	if lab := findLab(root, at); lab != "" {
		in.say("JupyterLab is there: %s", lab)
		if !lacksWidgets(ctx, lab) {
			return lab, nil
		}
		if filepath.Dir(lab) != filepath.Join(at.Lab(), "bin") {
			in.say("It does not show widgets yet; its Python needs: pip install %s", widgetManager)
			return lab, nil
		}
		return lab, in.Step("Installing its widget manager", func() (string, error) {
			return "", pythonInstall(ctx, filepath.Join(at.Lab(), "bin", "python"), widgetManager)
		})
	}
	before := *note
	note.Merge(&setup.Record{Made: setup.Absent(filepath.Dir(at.Lab())), Trees: []string{at.Lab()}})
	if err := in.Register(at, note); err != nil {
		return "", err
	}
	if err := setup.Writable(filepath.Dir(at.Lab())); err != nil {
		return "", setup.Denied(filepath.Dir(at.Lab()), err)
	}
	err := in.Step("Installing JupyterLab for Python in "+at.Lab(), func() (string, error) { return "", pythonLab(ctx, at.Lab()) })
	if err == nil {
		return filepath.Join(at.Lab(), "bin", "jupyter-lab"), nil
	}
	setup.RemoveEmpty(note.Made)
	*note = before
	if err := in.Register(at, note); err != nil {
		return "", err
	}
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	in.say("That is not possible here (%v); taking Debian's packages and the front end from npm.", err)
	if err := in.setUpFrontEnd(ctx, root); err != nil {
		return "", err
	}
	return frontEnd(root), nil
}

// pythonLab installs JupyterLab into a new virtual environment, with uv if it
// is installed, else with pip. If no package index answers, it fails soon.
func pythonLab(ctx context.Context, dir string) (err error) {
	defer func() {
		if err != nil {
			os.RemoveAll(dir)
		}
	}()
	python := filepath.Join(dir, "bin", "python")
	if uv, err := exec.LookPath("uv"); err == nil {
		if err := command(ctx, "", nil, uv, "venv", "--quiet", dir); err != nil {
			return err
		}
		if err := askIndex(ctx, []string{"UV_HTTP_TIMEOUT=5"}, uv, "pip", "install", "--quiet", "--python", python, "--dry-run", "--no-deps", "jupyterlab"); err != nil {
			return err
		}
		return pythonInstall(ctx, python, "jupyterlab", widgetManager)
	}
	python3, err := exec.LookPath("python3")
	if err != nil {
		return errors.New("there is no python3")
	}
	if err := command(ctx, "", nil, python3, "-m", "venv", dir); err != nil {
		return fmt.Errorf("python3 cannot make a virtual environment: %w", err)
	}
	pip := []string{"-m", "pip", "--disable-pip-version-check", "--no-input"}
	if err := askIndex(ctx, nil, python, append(pip, "--timeout=5", "--retries=0", "index", "versions", "jupyterlab")...); err != nil {
		return err
	}
	return pythonInstall(ctx, python, "jupyterlab", widgetManager)
}

// widgetManager is the Python package that lets JupyterLab show widgets.
const widgetManager = "jupyterlab_widgets"

// lacksWidgets reports whether the given JupyterLab has no widget manager. It
// returns false if that cannot be found out.
func lacksWidgets(ctx context.Context, lab string) bool {
	list := exec.CommandContext(ctx, filepath.Join(filepath.Dir(lab), "jupyter-labextension"), "list")
	list.WaitDelay = time.Second
	out, err := list.CombinedOutput()
	return err == nil && !bytes.Contains(out, []byte("@jupyter-widgets/jupyterlab-manager"))
}

// pythonInstall installs packages for a Python interpreter, with uv if it is
// installed, else with pip.
func pythonInstall(ctx context.Context, python string, packages ...string) error {
	if uv, err := exec.LookPath("uv"); err == nil {
		return command(ctx, "", nil, uv, append([]string{"pip", "install", "--quiet", "--python", python}, packages...)...)
	}
	return command(ctx, "", nil, python, append([]string{"-m", "pip", "--disable-pip-version-check", "--no-input", "install", "--quiet"}, packages...)...)
}

// askIndex runs a command that makes a small request to the package index, and
// returns an error if that fails or takes over 30 s.
func askIndex(ctx context.Context, env []string, name string, args ...string) error {
	soon, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	err := command(soon, "", env, name, args...)
	switch {
	case err == nil || ctx.Err() != nil:
		return err
	case errors.Is(err, context.DeadlineExceeded):
		return errors.New("no Python package index answers within 30 s")
	}
	text := err.Error()
	return fmt.Errorf("no Python package index answers: %s", strings.TrimSpace(text[strings.LastIndexByte(text, '\n')+1:]))
}
