package setup

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// SystemPython is the Python interpreter that Debian's packages of Jupyter
// install for.
const SystemPython = "/usr/bin/python3"

// Lab returns the folder for a JupyterLab of the installation.
func (at Place) Lab() string { return filepath.Join(at.Share, "jupyterlab") }

// FindLab returns the command that opens JupyterLab, or "" if there is none.
func FindLab(at Place) string {
	if lab, err := exec.LookPath("jupyter-lab"); err == nil {
		return lab
	}
	if own, err := exec.LookPath(filepath.Join(at.Lab(), "bin", "jupyter-lab")); err == nil {
		return own
	}
	return ""
}

// Kernelspecs asks Jupyter for the kernelspecs that it finds and returns their
// folders by name. known is false if no Jupyter answers. at is an installation
// whose JupyterLab is asked too.
func Kernelspecs(ctx context.Context, at Place) (dirs map[string]string, known bool) {
	var candidates [][]string
	for _, name := range []string{"jupyter-kernelspec", filepath.Join(at.Lab(), "bin", "jupyter-kernelspec")} {
		if p, err := exec.LookPath(name); err == nil {
			candidates = append(candidates, []string{p})
		}
	}
	candidates = append(candidates, []string{SystemPython, "-m", "jupyter_client.kernelspecapp"})
	env, remove := withoutTraces()
	defer remove()
	for _, argv := range candidates {
		ctx, cancel := context.WithTimeout(ctx, time.Minute)
		cmd := exec.CommandContext(ctx, argv[0], append(argv[1:], "list", "--json")...)
		cmd.Env, cmd.WaitDelay = env, time.Second
		out, err := cmd.Output()
		cancel()
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
		dirs = make(map[string]string)
		for name, spec := range list.Specs {
			dirs[name] = spec.Dir
		}
		return dirs, true
	}
	return nil, false
}

// withoutTraces returns an environment in which Jupyter and IPython do not make
// their folders in the user's home where there are none, and a function to call
// afterwards.
func withoutTraces() (env []string, remove func()) {
	env, remove = os.Environ(), func() {}
	home, err := os.UserHomeDir()
	if err != nil {
		return env, remove
	}
	for variable, name := range map[string]string{"JUPYTER_CONFIG_DIR": ".jupyter", "IPYTHONDIR": ".ipython"} {
		if _, err := os.Stat(filepath.Join(home, name)); err == nil || os.Getenv(variable) != "" {
			continue
		}
		temp, err := os.MkdirTemp("", "dace-jupyter-")
		if err != nil {
			continue
		}
		before := remove
		remove = func() { os.RemoveAll(temp); before() }
		env = append(env, variable+"="+temp)
	}
	return env, remove
}

// SeenByJupyter returns the folder in which Jupyter finds the kernel of the
// installation's name, "" if it finds none. known is false if no Jupyter could
// be asked.
func SeenByJupyter(ctx context.Context, at Place) (dir string, known bool) {
	dirs, known := Kernelspecs(ctx, at)
	dir = dirs[strings.ToLower(filepath.Base(at.Spec))] // as Jupyter has names
	if a, err := os.Stat(dir); err == nil {
		if b, err := os.Stat(at.Spec); err == nil && os.SameFile(a, b) {
			dir = at.Spec // the same folder, perhaps under another name
		}
	}
	return dir, known
}

// PathVariable returns the assignment of JUPYTER_PATH, to be put in front of a
// command, that lets Jupyter find the kernel, and a sentence that says why it
// is needed. Both are "" if Jupyter finds the kernel without it.
func PathVariable(ctx context.Context, at Place) (assignment, why string) {
	seen, known := SeenByJupyter(ctx, at)
	if known && seen == at.Spec || !known && at.Path == "" {
		return "", ""
	}
	path := filepath.Dir(filepath.Dir(at.Spec))
	assignment = "JUPYTER_PATH=" + Quote(path) + " "
	if seen != "" {
		return assignment, "Jupyter finds another kernel named " + filepath.Base(at.Spec) + " first: " + seen
	}
	return assignment, "Jupyter does not look into " + path + " by itself."
}

// OnPath reports whether dir is on the PATH.
func OnPath(dir string) bool {
	for _, d := range filepath.SplitList(os.Getenv("PATH")) {
		if filepath.Clean(d) == dir {
			return true
		}
	}
	return false
}

// Quote quotes a string for a shell if it needs quotes.
func Quote(s string) string {
	if s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./+:@,=") == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// tail returns the last n lines of a command's output.
func tail(out []byte, n int) string {
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
