package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// debianPython is the Python that Debian's packages are for.
const debianPython = "/usr/bin/python3"

// testPackages are the Debian packages that the client tests need beside what
// install/jupyterlab/run.sh asks for.
var testPackages = []string{
	"python3-jupyter-client", "python3-nbclient", "python3-nbconvert",
	"python3-jupyter-kernel-test", "chromium",
}

// command runs a program and keeps what it writes for the error.
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

// installDebian installs those of the packages that are missing.
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
	return in.step("Installing Debian packages: "+strings.Join(missing, " "), func() (string, error) {
		env := []string{"DEBIAN_FRONTEND=noninteractive"}
		updateErr := command(ctx, "", env, apt[0], append(apt[1:], "update")...)
		err := command(ctx, "", env, apt[0], append(append(apt[1:], "install", "-y", "--no-install-recommends"), missing...)...)
		if err != nil {
			err = fmt.Errorf("the packages cannot be installed; is there a network? %w", errors.Join(err, updateErr))
		}
		return "", err
	})
}

// aptGet is the command that installs packages, through sudo where needed.
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

// setUpFrontEnd makes install/jupyterlab ready: a JupyterLab out of its npm
// packages, served by Debian's jupyter_server.
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
	return in.step("Setting up JupyterLab in install/jupyterlab", func() (string, error) {
		err := command(ctx, root, nil, frontEnd(root), "setup")
		if err != nil {
			err = fmt.Errorf("JupyterLab's front end cannot be set up; it comes from npm, is there a network? %w", err)
		}
		return "", err
	})
}

// frontEnd is the script that serves install/jupyterlab.
func frontEnd(root string) string {
	return filepath.Join(root, "install", "jupyterlab", "run.sh")
}

// frontEndBuilt reports whether install/jupyterlab is set up.
func frontEndBuilt(root string) bool {
	_, err := os.Stat(filepath.Join(root, "install", "jupyterlab", "dist", "version.json"))
	return err == nil
}

// findLab returns the command that opens JupyterLab, or "".
func findLab(root string, at place) string {
	if lab, err := exec.LookPath("jupyter-lab"); err == nil {
		return lab
	}
	if own := filepath.Join(at.lab, "bin", "jupyter-lab"); isFile(own) {
		return own
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

// setUpLab sets up JupyterLab where there is none, and returns the command
// that opens it.
func (in *installer) setUpLab(ctx context.Context, root string, at place, note *record) (string, error) {
	if lab := findLab(root, at); lab != "" {
		in.say("JupyterLab is there: %s", lab)
		return lab, nil
	}
	made, err := makeDir(filepath.Dir(at.lab))
	if err != nil {
		return "", denied(filepath.Dir(at.lab), err)
	}
	err = in.step("Installing JupyterLab for Python in "+at.lab, func() (string, error) { return "", pythonLab(ctx, at.lab) })
	if err == nil {
		note.Trees, note.Made = []string{at.lab}, append(note.Made, made...)
		return filepath.Join(at.lab, "bin", "jupyter-lab"), at.register(note)
	}
	removeEmpty(made)
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	in.say("That is not possible here (%v); taking Debian's packages and the front end from npm.", err)
	if err := in.setUpFrontEnd(ctx, root); err != nil {
		return "", err
	}
	return frontEnd(root), nil
}

// pythonLab installs JupyterLab into a virtual environment, with uv where it
// is there, else with pip. It gives up soon when no package index answers.
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
		install := []string{"pip", "install", "--quiet", "--python", python, "jupyterlab"}
		if err := askIndex(ctx, []string{"UV_HTTP_TIMEOUT=5"}, uv, append(install, "--dry-run", "--no-deps")...); err != nil {
			return err
		}
		return command(ctx, "", nil, uv, install...)
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
	return command(ctx, "", nil, python, append(pip, "install", "--quiet", "jupyterlab")...)
}

// askIndex runs a command that asks the package index for something small.
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

// seenByJupyter asks Jupyter where it finds the kernel. Known is false where
// there is no Jupyter to ask.
func seenByJupyter(ctx context.Context, at place) (dir string, known bool) {
	var candidates [][]string
	for _, name := range []string{"jupyter-kernelspec", filepath.Join(at.lab, "bin", "jupyter-kernelspec")} {
		if p, err := exec.LookPath(name); err == nil {
			candidates = append(candidates, []string{p})
		}
	}
	candidates = append(candidates, []string{debianPython, "-m", "jupyter_client.kernelspecapp"})
	for _, argv := range candidates {
		cmd := exec.CommandContext(ctx, argv[0], append(argv[1:], "list", "--json")...)
		cmd.WaitDelay = time.Second
		out, err := cmd.Output()
		if err != nil {
			continue
		}
		var list struct {
			Specs map[string]struct {
				Dir string `json:"resource_dir"`
			} `json:"kernelspecs"`
		}
		if err := json.NewDecoder(bytes.NewReader(out)).Decode(&list); err != nil {
			continue
		}
		dir = list.Specs["dace"].Dir
		if a, err := os.Stat(dir); err == nil {
			if b, err := os.Stat(at.spec); err == nil && os.SameFile(a, b) {
				dir = at.spec // by whatever name
			}
		}
		return dir, true
	}
	return "", false
}
