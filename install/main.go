// Command install installs DACE notebooks: `go run ./install` builds the
// kernel, registers it with Jupyter and checks that it works. With -jupyter it
// also sets up JupyterLab, with -test it sets up what the tests need and runs
// them, and with -uninstall it removes what was installed.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"go/version"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"dace.local/kernel/buildinfo"
	_ "dace.local/kernel/gocell/rtype" // refuses a Go that the kernel cannot be built with, before it is built
	"dace.local/kernel/procgroup"
	"dace.local/kernel/setup"
)

const usage = `Usage: go run ./install [flags]

Builds the kernel, registers it with Jupyter as "Go (dace)", starts it as
Jupyter would, and runs notebooks/quickstart.ipynb. May be run again at any
time, also while the kernel is in use.

`

// settings holds the values of the flags.
type settings struct {
	setup.Installer
	user, jupyter, test, uninstall bool
	quiet, skipQuickstart          bool
	mutants, living, branches      bool
	all                            bool
	release                        string
	changes                        int
	seed                           uint64
}

// errUsage is the error for wrong flags. The message about them is already
// printed.
var errUsage = errors.New("wrong usage")

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	switch {
	case errors.Is(err, errUsage):
		os.Exit(2)
	case ctx.Err() != nil:
		fmt.Fprintln(os.Stderr, "\ninstall: interrupted")
		os.Exit(130)
	case err != nil:
		fmt.Fprintf(os.Stderr, "\ninstall: %v\n", err)
		os.Exit(1)
	}
}

// run parses the flags and does what they ask for.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	var set settings
	fs := flag.NewFlagSet("install", flag.ContinueOnError)
	fs.SetOutput(stderr)
	fs.Usage = func() {
		fmt.Fprint(fs.Output(), usage)
		fs.PrintDefaults()
	}
	setup.Flags(fs, &set.Installer, &set.user)
	fs.BoolVar(&set.jupyter, "jupyter", false, "also set up what is missing to open JupyterLab")
	fs.BoolVar(&set.test, "test", false, "set up what the tests need and run them all, or those checks only that are named after the flags; installs nothing else")
	fs.BoolVar(&set.all, "all", false, "with -test: also what takes a night (random inputs, long runs, each fuzz target for a minute)")
	fs.StringVar(&set.release, "release", "", "build the archives of a release into `DIR`, for all platforms or those named after the flags, and nothing else")
	fs.BoolVar(&set.mutants, "mutants", false, "try whether tests catch small changes of the code, of the packages or files named after the flags or of those where it matters most; installs nothing")
	fs.BoolVar(&set.branches, "branches", false, "count the branches of errors that tests run, of the packages or files named after the flags or of those where it matters most; installs nothing")
	fs.IntVar(&set.changes, "changes", 16, "the `number` of changes of each package that -mutants tries")
	fs.BoolVar(&set.living, "living", false, "with -mutants, try those changes again that lived the last time")
	fs.Uint64Var(&set.seed, "seed", 0, "the `seed` of -mutants, by default 1, and of the order and the random inputs of -test, by default the time")
	fs.BoolVar(&set.uninstall, "uninstall", false, "remove what was installed in the same place")
	fs.BoolVar(&set.quiet, "quiet", false, "say nothing unless something goes wrong")
	fs.BoolVar(&set.skipQuickstart, "skip-quickstart", false, "do not run the quickstart notebook")
	switch err := fs.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return nil
	case err != nil:
		return errUsage
	}
	misuse := func(format string, args ...any) error {
		fmt.Fprintf(stderr, "install: "+format+"\n", args...)
		return errUsage
	}
	switch {
	case fs.NArg() > 0 && !set.mutants && !set.branches && !set.test && set.release == "":
		return misuse("unexpected argument %q; -h lists the flags", fs.Arg(0))
	case setup.Misuse(&set.Installer, set.user) != "":
		return misuse("%s", setup.Misuse(&set.Installer, set.user))
	case set.uninstall && (set.test || set.jupyter):
		return misuse("-uninstall goes with neither -test nor -jupyter")
	case set.release != "" && (set.test || set.jupyter || set.uninstall):
		return misuse("-release goes with neither -test nor -jupyter nor -uninstall")
	case strings.HasPrefix(set.release, "-"):
		return misuse("-release needs a folder, not %s", set.release)
	case (set.mutants || set.branches) && (set.mutants && set.branches || set.test || set.jupyter || set.uninstall || set.release != ""):
		return misuse("-mutants and -branches go neither together nor with any of -test, -jupyter, -uninstall and -release")
	case set.test && (set.jupyter || set.quiet):
		return misuse("-test goes with neither -jupyter nor -quiet")
	case set.living && !set.mutants:
		return misuse("-living goes with -mutants")
	case set.all && !set.test:
		return misuse("-all goes with -test")
	}
	if set.quiet {
		stdout = io.Discard
	}
	set.Out = stdout
	in := &installer{settings: set, out: stdout, err: stderr}
	if set.uninstall {
		at, err := in.Place(ctx)
		if err != nil {
			return err
		}
		return in.Uninstall(at)
	}
	root, err := moduleRoot(ctx)
	if err != nil {
		return err
	}
	switch {
	case set.test:
		return in.testAll(ctx, root, fs.Args())
	case set.mutants:
		return in.tryMutants(ctx, root, fs.Args())
	case set.branches:
		return in.countBranches(ctx, root, fs.Args())
	case set.release != "":
		return in.makeRelease(ctx, root, fs.Args())
	}
	in.Build = func(ctx context.Context, to string) error { return buildKernel(ctx, root, to) }
	return in.install(ctx, root)
}

// An installer holds the settings and outputs of one run of the command.
type installer struct {
	settings
	out, err io.Writer
	command  string // that -test has built for the tests
}

// say prints a line.
func (in *installer) say(format string, args ...any) {
	fmt.Fprintf(in.out, format+"\n", args...)
}

// install builds the kernel, registers it with Jupyter, and checks that it
// works.
func (in *installer) install(ctx context.Context, root string) error {
	at, err := in.Place(ctx)
	if err != nil {
		return err
	}
	note, err := in.Install(ctx, at)
	if err != nil {
		return err
	}
	if !in.skipQuickstart {
		if err := in.quickstart(ctx, root, at); err != nil {
			return err
		}
	}
	setup.Prebuild(at)
	var lab string
	if in.jupyter {
		if lab, err = in.setUpLab(ctx, root, at, note); err != nil {
			return err
		}
		if err := in.AddExporter(ctx, at, note); err != nil { // a new JupyterLab's Python
			return err
		}
	} else {
		lab = findLab(root, at)
	}
	in.sayHowToOpen(ctx, root, at, lab)
	return nil
}

// quickstart runs the quickstart notebook with the installed command.
func (in *installer) quickstart(ctx context.Context, root string, at setup.Place) error {
	name := filepath.Join(root, "notebooks", "quickstart.ipynb")
	if _, err := os.Stat(name); err != nil {
		return fmt.Errorf("the kernel is installed, but notebooks/quickstart.ipynb is not there: %w", err)
	}
	dir := filepath.Join(root, "dist")
	if err := setup.Writable(dir); err != nil {
		if dir, err = os.MkdirTemp("", "dace-quickstart-"); err != nil {
			return err
		}
	}
	notebook, page := filepath.Join(dir, "quickstart.ipynb"), filepath.Join(dir, "quickstart.html")
	in.say("Running notebooks/quickstart.ipynb, about a minute:")
	cmd := exec.CommandContext(ctx, at.Binary, "run", name, "-o", notebook, "-html", page)
	cmd.Dir, cmd.Stdout, cmd.Stderr = root, in.out, in.err
	gentle(cmd)
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("the kernel is installed, but the quickstart failed (%w); the notebook as far as it went: %s", err, notebook)
	}
	in.say("Executed notebook: %s\nThe same as a page: %s", notebook, page)
	return nil
}

// sayHowToOpen prints the command that opens JupyterLab, and says so if Jupyter
// does not find the kernel.
func (in *installer) sayHowToOpen(ctx context.Context, root string, at setup.Place, lab string) {
	quickstart := filepath.Join(root, "notebooks", "quickstart.ipynb")
	if wd, err := os.Getwd(); err == nil {
		if rel, err := filepath.Rel(wd, quickstart); err == nil && filepath.IsLocal(rel) {
			quickstart = rel
		}
	}
	env, why := setup.PathVariable(ctx, at)
	if why != "" {
		in.say("%s", why)
	}
	switch {
	case lab == "":
		in.say("JupyterLab is not here yet: `go run ./install -jupyter` sets it up.")
	case filepath.Base(lab) == "run.sh":
		in.say("Open it in JupyterLab: %s%s serve", env, setup.Quote(lab))
	default:
		in.say("Open it in JupyterLab: %s%s %s", env, setup.Quote(lab), setup.Quote(quickstart))
	}
	if dir := filepath.Dir(at.Binary); !setup.OnPath(dir) {
		in.say("The command is %s; with %s on your PATH it is just dace.", at.Binary, dir)
	}
}

// buildKernel builds the kernel's command into a file. It uses cgo if there is
// a C compiler and the environment does not forbid it (the go command's
// default), because a kernel without cgo cannot load compiled cells (see
// kernel/internal/toolchain/native).
func buildKernel(ctx context.Context, root, to string) error {
	out, err := buildFor(ctx, root, to)
	if err != nil && strings.Contains(string(out), "runtime/cgo") && os.Getenv("CGO_ENABLED") == "" {
		out, err = buildFor(ctx, root, to, "CGO_ENABLED=0") // the C compiler does not work, such as without headers
	}
	switch {
	case err == nil:
		return tryOut(ctx, to)
	case errors.Is(err, exec.ErrNotFound):
		return errors.New("there is no go command on the PATH: install Go 1.26 or newer")
	case ctx.Err() != nil:
		return ctx.Err()
	}
	hint, text := "", string(out)+err.Error()
	for _, sign := range []string{"dial tcp", "no such host", "proxyconnect", "TLS handshake", "i/o timeout"} {
		if strings.Contains(text, sign) {
			hint = "\nThe modules could not be fetched: is there a network? Behind a proxy, set HTTPS_PROXY or GOPROXY."
			break
		}
	}
	if strings.Contains(text, "no space left") {
		hint = "\nThe disk is full: a build needs about 2 GB for Go's cache (see `go env GOCACHE`)."
	}
	if version.Compare(version.Lang(runtime.Version()), version.Lang(buildinfo.KnownGo)) > 0 {
		hint = "\n" + buildinfo.Refusal(errors.New("it is newer than what the kernel was tried with"))
	}
	return fmt.Errorf("the kernel does not build (%w):\n%s%s", err, tail(out, 30), hint)
}

// tryOut starts the kernel's command once, before it replaces another: it compares
// Go's run time with what it was written for as it starts, and says so where they
// do not agree.
func tryOut(ctx context.Context, command string) error {
	out, err := exec.CommandContext(ctx, command, "version").CombinedOutput()
	if err != nil && len(out) > 0 {
		return errors.New(tail(out, 30))
	}
	return err
}

// buildFor builds the kernel's command into a file, with additional variables
// in the environment, and returns the go command's messages. The command carries
// the revision of the clone, the server of farms and, with cgo, its source, which
// compiled cells are built against.
func buildFor(ctx context.Context, root, to string, env ...string) ([]byte, error) {
	dir, err := os.MkdirTemp("", "dace-build-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	args := []string{"build", "-trimpath", "-buildvcs=false", "-o", to}
	overlay, err := carry(ctx, root, dir, env, !slices.Contains(env, "CGO_ENABLED=0")) // without cgo there are no compiled cells
	if err != nil {
		return nil, err
	}
	args = append(args, "-overlay="+overlay)
	link := "-ldflags=" + linkFlags
	if id, when := revision(ctx, root); id != "" {
		link += fmt.Sprintf(" -X %[1]s.revision=%[2]s -X %[1]s.revisionTime=%[3]s", buildinfo.Path("dacelib/run"), id, when)
	}
	if runtime.GOOS == "linux" && !slices.Contains(env, "CGO_ENABLED=0") {
		link += " -extldflags=-Wl,--version-script=kernel/hidden.map" // a path of this machine would be part of the build's identifier
	}
	cmd := exec.CommandContext(ctx, "go", append(args, link, "./kernel")...)
	// The go command's temporary files go where -uninstall removes them.
	cmd.Dir, cmd.Env = root, append(os.Environ(), append(env, "GOTMPDIR="+filepath.Dir(to))...)
	return runGroup(cmd)
}

// revision returns the revision of a clone, with a + if files have changed
// since, and its time; "" if there is no git or no repository.
func revision(ctx context.Context, root string) (id, when string) {
	git := func(args ...string) (string, error) {
		// The clone may belong to another user.
		cmd := exec.CommandContext(ctx, "git", append([]string{"-c", "safe.directory=*"}, args...)...)
		cmd.Dir = root
		out, err := cmd.Output()
		return strings.TrimSpace(string(out)), err
	}
	out, err := git("log", "-1", "--format=%H %ct", "--no-show-signature")
	if err != nil {
		return "", ""
	}
	id, seconds, _ := strings.Cut(out, " ")
	n, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return "", ""
	}
	if changes, err := git("status", "--porcelain"); err != nil || changes != "" {
		id += "+"
	}
	return id, time.Unix(n, 0).UTC().Format(time.RFC3339)
}

// moduleLine matches the module line in the go.mod of a clone.
var moduleLine = regexp.MustCompile(`(?m)^module ` + regexp.QuoteMeta(buildinfo.Module()) + `\s*$`)

// moduleRoot returns the folder of the clone in which the command is run.
func moduleRoot(ctx context.Context) (string, error) {
	if runtime.GOOS == "windows" {
		return "", errors.New("the kernel runs on Linux and macOS; on Windows, use it within WSL")
	}
	out, err := exec.CommandContext(ctx, "go", "env", "GOMOD", "GOVERSION").Output()
	if err != nil {
		return "", fmt.Errorf("cannot run the go command: %w; install Go 1.26 or newer", err)
	}
	mod, version, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	text, err := os.ReadFile(mod)
	if err != nil || !moduleLine.Match(text) {
		return "", errors.New("run this in the folder of the clone: go run ./install")
	}
	var minor int
	if n, _ := fmt.Sscanf(version, "go1.%d", &minor); n == 1 && minor < 26 {
		return "", fmt.Errorf("the go command is %s, and this needs Go 1.26 or newer", version)
	}
	return filepath.Dir(mod), nil
}

// gentle makes a command end by SIGTERM when its context ends, so that it can
// clean up. It is killed if it does not end.
func gentle(cmd *exec.Cmd) {
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second
}

// runGroup runs a command in its own process group and returns its output. The
// whole group is ended when the command's context ends, and also when this
// process ends or is killed.
func runGroup(cmd *exec.Cmd) ([]byte, error) {
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	if release, err := procgroup.Group(cmd.Process.Pid); err == nil {
		defer release()
	}
	err := cmd.Wait()
	return out.Bytes(), err
}

// tail returns the last n lines of a command's output.
func tail(out []byte, n int) string {
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
