package setup

import (
	"bufio"
	"context"
	_ "embed"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"dace.local/dacelib/files"
)

// exporterText is a module of Python that has nbconvert make a program of a notebook,
// but for the command and the kernel that it names.
//
//go:embed exporter.py
var exporterText string

// askSites prints where a Python with nbconvert looks for packages of its user and of
// all users.
const askSites = `import importlib.util, site, sysconfig
if importlib.util.find_spec("nbconvert"):
    if site.ENABLE_USER_SITE: print(site.getusersitepackages())
    print(sysconfig.get_path("purelib"))`

var notInNames = regexp.MustCompile(`[^a-z0-9]+`)

// AddExporter lets the Pythons that Jupyter runs in make programs of notebooks
// (Executable Script in JupyterLab's menu): it writes a package to where each finds
// its user's packages or, with a prefix, those below the prefix. nbconvert asks by the
// notebook's language, so that a notebook can be exported as text where the package is
// not. Where it cannot be written, nothing else is the worse for it.
func (in *Installer) AddExporter(ctx context.Context, at Place, note *Record) error {
	name := notInNames.ReplaceAllString(strings.ToLower(in.name()), "_") + "_nbconvert"
	text := strings.NewReplacer(`"the kernel's command"`, strconv.Quote(at.Binary), `"the kernel's name"`, strconv.Quote(in.name())).Replace(exporterText)
	for _, dir := range in.sites(ctx, at) {
		absent := Absent(dir)
		if err := Writable(dir); err != nil {
			RemoveEmpty(absent)
			in.say("Executable Script of JupyterLab's menu gives the cells' text, dace convert a program: %v", Denied(dir, err))
			continue
		}
		pack, info := filepath.Join(dir, name), filepath.Join(dir, name+"-1.dist-info")
		note.Merge(&Record{Made: absent, Trees: []string{pack, info}})
		if err := in.Register(at, note); err != nil {
			return err
		}
		list := map[string]string{
			filepath.Join(pack, "__init__.py"):      text,
			filepath.Join(info, "entry_points.txt"): "[nbconvert.exporters.script]\ngo = " + name + ":ProgramExporter\n",
			filepath.Join(info, "METADATA"):         "Metadata-Version: 2.1\nName: " + name + "\nVersion: 1\nSummary: Programs of the notebooks of a kernel for Go\n",
			filepath.Join(info, "INSTALLER"):        "dace\n",
			filepath.Join(info, "RECORD"): fmt.Sprintf("%s/__init__.py,,\n%[2]s/entry_points.txt,,\n%[2]s/METADATA,,\n%[2]s/INSTALLER,,\n%[2]s/RECORD,,\n",
				name, filepath.Base(info)),
		}
		for file, text := range list {
			if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
				return Denied(dir, err)
			}
			if err := (files.Settings{Mode: 0o644, NoSync: true}).WriteBytes(file, []byte(text)); err != nil {
				return Denied(dir, err)
			}
		}
	}
	return nil
}

// sites returns the folders of packages that an installation may write to.
func (in *Installer) sites(ctx context.Context, at Place) []string {
	prefix := ""
	if in.SysPrefix || in.Prefix != "" {
		prefix = filepath.Dir(filepath.Dir(at.Binary))
	}
	var dirs []string
	for _, python := range pythons(at, prefix) {
		ctx, cancel := context.WithTimeout(ctx, time.Minute)
		cmd := exec.CommandContext(ctx, python, "-c", askSites)
		cmd.WaitDelay = time.Second
		out, err := cmd.Output()
		cancel()
		if err != nil {
			continue
		}
		for dir := range strings.Lines(string(out)) {
			dir = strings.TrimSpace(dir)
			if rel, err := filepath.Rel(prefix, dir); prefix != "" && (err != nil || !filepath.IsLocal(rel)) {
				continue
			}
			if !slices.Contains(dirs, dir) {
				dirs = append(dirs, dir)
			}
			break
		}
	}
	return dirs
}

// pythons returns the Pythons that may run Jupyter: that of a prefix, those that start
// Jupyter's commands, and the system's.
func pythons(at Place, prefix string) []string {
	list := []string{SystemPython}
	for _, name := range []string{"jupyter-lab", "jupyter-nbconvert", "jupyter-kernelspec"} {
		for _, path := range []string{name, filepath.Join(at.Lab(), "bin", name)} {
			if path, err := exec.LookPath(path); err == nil {
				list = append(list, interpreter(path))
			}
		}
	}
	if prefix != "" {
		list = append(list, filepath.Join(prefix, "bin", "python3"))
	}
	list = slices.DeleteFunc(list, func(p string) bool { _, err := exec.LookPath(p); return err != nil })
	slices.Sort(list)
	return slices.Compact(list)
}

// interpreter returns the program that a script's first line names, "" if it is none.
func interpreter(script string) string {
	f, err := os.Open(script)
	if err != nil {
		return ""
	}
	defer f.Close()
	line, _ := bufio.NewReader(io.LimitReader(f, 4096)).ReadString('\n')
	line, ok := strings.CutPrefix(line, "#!")
	if !ok {
		return ""
	}
	line = strings.TrimSpace(line)
	if name, ok := strings.CutPrefix(line, "/usr/bin/env "); ok {
		line, _ = exec.LookPath(name)
	}
	return line
}
