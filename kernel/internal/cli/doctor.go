package cli

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
	"time"

	dacerun "dace.local/dacelib/run"
	"dace.local/kernel/buildinfo"
	"dace.local/kernel/internal/system/limits"
	"dace.local/kernel/setup"
)

var doctorVerb = verb{
	name:  "doctor",
	short: "what is there, what is missing, and what that costs",
	usage: `
Usage: dace doctor [-prefix DIR] [-json]

Says which versions this is, where the kernel is registered, what of Jupyter,
Go and a C compiler is there, how many processors and how much memory the
kernel may use here (the container's limits where there are any), and what it
keeps on disk. A line that begins with "-" names something that is missing and
what does not work without it; one that begins with "!" is a fault. Each has a
line below it that says what to do. It changes nothing.

Exit code: 0; 1 when there is a fault; 2 for wrong arguments.

Examples:
  dace doctor
  dace doctor -prefix /usr/local -json
`,
	run: runDoctor,
}

// A doctor collects findings, and writes them as it finds them unless they are to be
// JSON.
type doctor struct {
	env      *Env
	asJSON   bool
	findings []finding
}

// A finding is a row of what the doctor says.
type finding struct {
	State string `json:"state"` // "there", "missing" or "fault"
	What  string `json:"what"`
	Text  string `json:"text"`
	// Remedy says what to do; it is "" for what is there.
	Remedy string `json:"remedy,omitempty"`
}

// marks are the marks of findings in a text, by their states.
var marks = map[string]string{"there": " ", "missing": "-", "fault": "!"}

// add adds a finding.
func (d *doctor) add(f finding) {
	d.findings = append(d.findings, f)
	if d.asJSON {
		return
	}
	fmt.Fprintf(d.env.Stdout, "%s %-14s %s\n", marks[f.State], f.What, f.Text)
	if f.Remedy != "" {
		fmt.Fprintf(d.env.Stdout, "%17sto do: %s\n", "", f.Remedy)
	}
}

// there adds a finding of what is there.
func (d *doctor) there(what, format string, args ...any) {
	d.add(finding{"there", what, fmt.Sprintf(format, args...), ""})
}

// missing adds a finding of what is missing.
func (d *doctor) missing(what, remedy, format string, args ...any) {
	d.add(finding{"missing", what, fmt.Sprintf(format, args...), remedy})
}

// fault adds a finding of what is wrong.
func (d *doctor) fault(what, remedy, format string, args ...any) {
	d.add(finding{"fault", what, fmt.Sprintf(format, args...), remedy})
}

func runDoctor(env *Env, v *verb, args []string) int {
	in := &setup.Installer{Out: env.Stdout}
	fs := v.flags(env)
	fs.StringVar(&in.Prefix, "prefix", "", "look also at what is installed in `DIR`")
	d := &doctor{env: env}
	fs.BoolVar(&d.asJSON, "json", false, "print JSON: a list of findings, each with its state (there, missing or fault)")
	if _, code, ok := v.parse(env, fs, args, true, 0, 0); !ok {
		return code
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	d.program()
	d.machine()
	d.jupyter(ctx, in)
	d.tools(ctx)
	d.disk()
	if d.asJSON {
		if code := v.printJSON(env, d.findings); code != exitOK {
			return code
		}
	}
	if slices.ContainsFunc(d.findings, func(f finding) bool { return f.State == "fault" }) {
		return exitFailed
	}
	return exitOK
}

func (d *doctor) program() {
	d.there("dace", "%s, %s, %s/%s", dacerun.Build(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
	if exe, err := os.Executable(); err == nil {
		d.there("file", "%s", exe)
	}
}

func (d *doctor) machine() {
	note := ""
	if n := runtime.NumCPU(); runtime.GOMAXPROCS(0) < n {
		note = fmt.Sprintf(" of %d: the limit of the container or of GOMAXPROCS", n)
	}
	d.there("processors", "%d%s; %s", runtime.GOMAXPROCS(0), note, cpuFeatures())
	all := limits.All()
	if len(all) == 0 {
		d.missing("memory", "on Linux, mount /proc; elsewhere, bound the memory yourself: ulimit -v, or GOMEMLIMIT=4GiB before Jupyter starts", "this system tells no limits: a cell that uses up the memory may end the kernel")
	}
	for _, l := range all {
		d.there("memory", "%s has %s, %s of it free", l.Name, size(l.Total), size(l.Available))
	}
	if soft := debug.SetMemoryLimit(-1); soft < math.MaxInt64 {
		d.there("collector", "works hard to keep Go's heap below %s", size(soft))
	}
}

// size returns a number of bytes in words.
func size(n int64) string {
	switch {
	case n >= 10<<30:
		return fmt.Sprintf("%d GiB", n>>30)
	case n >= 1<<30:
		return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
	}
	return fmt.Sprintf("%d MiB", n>>20)
}

func (d *doctor) jupyter(ctx context.Context, in *setup.Installer) {
	at, err := in.Place(ctx)
	if err != nil {
		d.fault("Jupyter", "set HOME, or name a folder with -prefix DIR", "%v", err)
		return
	}
	if lab := setup.FindLab(at); lab != "" {
		d.there("JupyterLab", "%s", lab)
	} else {
		d.missing("JupyterLab", "pip install jupyterlab jupyterlab_widgets", "is not on the PATH; dace run and dace repl work without it")
	}
	dirs, known := setup.Kernelspecs(ctx, at)
	if !known {
		d.missing("jupyter", "put the jupyter that you use on the PATH, or activate its environment, and ask again", "no Jupyter answers here that could say which kernels it finds")
		dirs = map[string]string{}
	}
	if _, found := dirs[filepath.Base(at.Spec)]; !found || in.Prefix != "" {
		if _, err := os.Stat(at.Spec); err == nil {
			dirs[filepath.Base(at.Spec)] = at.Spec
			if assignment, why := setup.PathVariable(ctx, at); assignment != "" {
				d.missing("search path", "export "+strings.TrimSpace(assignment)+", before jupyter lab", "%s", strings.TrimSuffix(why, "."))
			}
		}
	}
	ours := 0
	for _, name := range slices.Sorted(maps.Keys(dirs)) {
		if spec, err := setup.ReadSpec(dirs[name]); err == nil && spec.Metadata.Record != nil {
			ours++
			d.kernel(ctx, dirs[name], spec)
		}
	}
	if ours == 0 {
		d.missing("kernel", "dace install, for this user; dace install -prefix DIR for all of DIR", "is not registered with Jupyter")
	}
}

// again returns the command that writes a kernelspec anew.
func again(dir string) string {
	command := "dace install"
	if prefix, ok := strings.CutSuffix(filepath.Dir(dir), filepath.FromSlash("/share/jupyter/kernels")); ok && filepath.Base(prefix) != ".local" {
		command += " -prefix " + setup.Quote(prefix)
	}
	if name := filepath.Base(dir); name != "dace" {
		command += " -name " + name
	}
	return command + ", with the command as it is now; or dace uninstall with the same flags"
}

// kernel reports on a kernelspec of ours.
func (d *doctor) kernel(ctx context.Context, dir string, spec setup.Spec) {
	command := ""
	if len(spec.Argv) > 0 {
		command = spec.Argv[0]
	}
	info, err := os.Stat(command)
	if err != nil {
		d.fault("kernel", again(dir), "%q in %s starts %q, which is not there", spec.DisplayName, dir, command)
		return
	}
	if me, err := os.Executable(); err == nil {
		if i, err := os.Stat(me); err == nil && os.SameFile(i, info) {
			d.there("kernel", "%q in %s starts this file", spec.DisplayName, dir)
			return
		}
	}
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	version, err := exec.CommandContext(ctx, command, "version").Output()
	first, _, _ := strings.Cut(string(version), "\n")
	if err != nil || first == "" {
		d.fault("kernel", again(dir), "%q in %s starts %s, which does not work here (%v)", spec.DisplayName, dir, command, err)
		return
	}
	d.there("kernel", "%q in %s starts %s: %s", spec.DisplayName, dir, command, first)
}

func (d *doctor) tools(ctx context.Context) {
	if path, err := exec.LookPath("go"); err != nil {
		d.missing("Go", "install it from go.dev/dl, and put its folder bin on the PATH", "is not on the PATH: %%get cannot fetch modules, %%%%compile runs interpreted")
	} else {
		ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
		defer cancel()
		cmd := exec.CommandContext(ctx, path, "env", "GOVERSION")
		if temp, err := os.MkdirTemp("", "dace-doctor-"); err == nil { // the go command would keep counters
			defer os.RemoveAll(temp)
			if dir := filepath.Join(temp, "go", "telemetry"); os.MkdirAll(dir, 0o700) == nil {
				_ = os.WriteFile(filepath.Join(dir, "mode"), []byte("off\n"), 0o600)
			}
			cmd.Env = append(os.Environ(), "XDG_CONFIG_HOME="+temp)
		}
		version, _ := cmd.Output()
		d.there("Go", "%s %s", path, strings.TrimSpace(string(version)))
	}
	if path, err := exec.LookPath("gcc"); err != nil {
		d.missing("gcc", "on Debian: apt-get install gcc libc6-dev", "is not on the PATH: the true instances of problem/caop measure nothing (its NIRs do)")
	} else {
		d.there("gcc", "%s", path)
	}
	switch {
	case d.env.Compiler == nil:
	case d.env.Compiler() != nil:
		d.missing("compiled cells", "Go and a C compiler on the PATH, and a command built with cgo: go run ./install in a clone, or the archive linux-amd64-glibc", "cells that begin with %%%%compile run interpreted, about a hundred times slower: %v", d.env.Compiler())
	default:
		d.there("compiled cells", "can be built here")
	}
}

func (d *doctor) disk() {
	for _, f := range []struct {
		what string
		dir  func() (string, error)
	}{{"history", buildinfo.StateDir}, {"cache", buildinfo.CacheDir}} {
		dir, err := f.dir()
		if err != nil {
			d.missing(f.what, "set HOME to a folder of yours", "is not kept: %v", err)
			continue
		}
		if n, files := weigh(dir); files > 0 {
			d.there(f.what, "%s: %d files, %s", dir, files, size(n))
		} else {
			d.there(f.what, "%s: nothing yet", dir)
		}
	}
}

// weigh returns the bytes and the number of the files below a folder.
func weigh(dir string) (n int64, files int) {
	_ = filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return nil // what cannot be read is not counted
		}
		if info, err := e.Info(); err == nil {
			n, files = n+info.Size(), files+1
		}
		return nil
	})
	return n, files
}
