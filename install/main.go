// Command install is the door to DACE notebooks: `go run ./install` builds the
// kernel, registers it with Jupyter and proves that it works; -jupyter also
// sets up JupyterLab, -test sets up what the tests need and runs them, and
// -uninstall takes away what was installed.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"time"
)

const usage = `Usage: go run ./install [flags]

Builds the kernel, registers it with Jupyter as "Go (dace)", starts it as
Jupyter would, and runs notebooks/quickstart.ipynb. May be run again at any
time, also while the kernel is in use.

`

// settings are the flags.
type settings struct {
	prefix                   string
	user, sysPrefix          bool
	jupyter, test, uninstall bool
	force, quiet             bool
	skipQuickstart           bool
}

// errUsage says that the flags are wrong; what is wrong has been said.
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

// run does what the flags say.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	var set settings
	fs := flag.NewFlagSet("install", flag.ContinueOnError)
	fs.SetOutput(stderr)
	fs.Usage = func() {
		fmt.Fprint(fs.Output(), usage)
		fs.PrintDefaults()
	}
	fs.BoolVar(&set.user, "user", false, "install for this user: the kernelspec in Jupyter's data folder, the command in ~/.local/bin (the default)")
	fs.StringVar(&set.prefix, "prefix", "", "install into `DIR`: DIR/bin/dace and DIR/share/jupyter/kernels/dace")
	fs.BoolVar(&set.sysPrefix, "sys-prefix", false, "install into the active virtual or conda environment, else into python3's own prefix")
	fs.BoolVar(&set.jupyter, "jupyter", false, "also set up what is missing to open JupyterLab")
	fs.BoolVar(&set.test, "test", false, "set up what the tests need and run them all; installs nothing else")
	fs.BoolVar(&set.uninstall, "uninstall", false, "remove what was installed in the same place")
	fs.BoolVar(&set.force, "force", false, "overwrite a kernelspec or command of the same name that is not ours")
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
	case fs.NArg() > 0:
		return misuse("unexpected argument %q; -h lists the flags", fs.Arg(0))
	case set.user && set.prefix != "" || set.user && set.sysPrefix || set.prefix != "" && set.sysPrefix:
		return misuse("-user, -prefix and -sys-prefix exclude each other")
	case set.uninstall && (set.test || set.jupyter):
		return misuse("-uninstall goes with neither -test nor -jupyter")
	case set.test && (set.jupyter || set.quiet):
		return misuse("-test goes with neither -jupyter nor -quiet")
	}
	if set.quiet {
		stdout = io.Discard
	}
	in := &installer{settings: set, out: stdout, err: stderr}
	if set.uninstall {
		at, err := in.place(ctx)
		if err != nil {
			return err
		}
		return in.uninstall(at)
	}
	root, err := moduleRoot(ctx)
	if err != nil {
		return err
	}
	if set.test {
		return in.testAll(ctx, root)
	}
	in.build = func(ctx context.Context, to string) error { return buildKernel(ctx, root, to) }
	return in.install(ctx, root)
}

// An installer does one run of the command.
type installer struct {
	settings
	out, err io.Writer
	// build writes the kernel's command to a file.
	build func(ctx context.Context, to string) error
}

// say prints a line.
func (in *installer) say(format string, args ...any) {
	fmt.Fprintf(in.out, format+"\n", args...)
}

// step says what is being done, does it, and says how long it took, with what
// do returned.
func (in *installer) step(what string, do func() (string, error)) error {
	fmt.Fprintf(in.out, "%s ... ", what)
	start := time.Now()
	note, err := do()
	if err != nil {
		fmt.Fprintln(in.out, "failed")
		return err
	}
	if note != "" {
		note = ": " + note
	}
	fmt.Fprintf(in.out, "%.1f s%s\n", time.Since(start).Seconds(), note)
	return nil
}

// install builds, registers and proves the kernel.
func (in *installer) install(ctx context.Context, root string) error {
	at, err := in.place(ctx)
	if err != nil {
		return err
	}
	note, err := in.prepare(at)
	if err != nil {
		return err
	}
	err = in.step("Building the kernel", func() (string, error) {
		return at.binary, replaceFile(at.binary, 0o755, func(temp string) error { return in.build(ctx, temp) })
	})
	if err != nil {
		removeEmpty(note.Made)
		return err
	}
	err = in.step("Registering it with Jupyter", func() (string, error) { return at.spec, at.register(note) })
	if err != nil {
		return err
	}
	err = in.step("Starting it as Jupyter would", func() (string, error) { return prove(ctx, at.spec) })
	if err != nil {
		return fmt.Errorf("the kernel is installed, but it does not work: %w", err)
	}
	if !in.skipQuickstart {
		if err := in.quickstart(ctx, root, at); err != nil {
			return err
		}
	}
	var lab string
	if in.jupyter {
		if lab, err = in.setUpLab(ctx, root, at, note); err != nil {
			return err
		}
	} else {
		lab = findLab(root, at)
	}
	in.sayHowToOpen(ctx, root, at, lab)
	return nil
}

// quickstart runs the first notebook with the command just installed.
func (in *installer) quickstart(ctx context.Context, root string, at place) error {
	name := filepath.Join(root, "notebooks", "quickstart.ipynb")
	if _, err := os.Stat(name); err != nil {
		return fmt.Errorf("the kernel is installed, but notebooks/quickstart.ipynb is not there: %w", err)
	}
	dir := filepath.Join(root, "dist")
	if err := writable(dir); err != nil {
		if dir, err = os.MkdirTemp("", "dace-quickstart-"); err != nil {
			return err
		}
	}
	notebook, page := filepath.Join(dir, "quickstart.ipynb"), filepath.Join(dir, "quickstart.html")
	in.say("Running notebooks/quickstart.ipynb, about a minute:")
	cmd := exec.CommandContext(ctx, at.binary, "run", name, "-o", notebook, "-html", page)
	cmd.Dir, cmd.Stdout, cmd.Stderr = root, in.out, in.err
	gentle(cmd)
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("the kernel is installed, but the quickstart failed (%w); the notebook as far as it went: %s", err, notebook)
	}
	in.say("Executed notebook: %s\nThe same as a page: %s", notebook, page)
	return nil
}

// sayHowToOpen tells the command that opens JupyterLab, and whether Jupyter
// sees the kernel.
func (in *installer) sayHowToOpen(ctx context.Context, root string, at place, lab string) {
	quickstart := filepath.Join(root, "notebooks", "quickstart.ipynb")
	if wd, err := os.Getwd(); err == nil {
		if rel, err := filepath.Rel(wd, quickstart); err == nil && filepath.IsLocal(rel) {
			quickstart = rel
		}
	}
	env := ""
	if seen, known := seenByJupyter(ctx, at); known && seen != at.spec || !known && at.path != "" {
		path := filepath.Dir(filepath.Dir(at.spec))
		env = "JUPYTER_PATH=" + quote(path) + " "
		if seen != "" {
			in.say("Jupyter finds another kernel named dace first: %s", seen)
		} else {
			in.say("Jupyter does not look into %s by itself.", path)
		}
	}
	switch {
	case lab == "":
		in.say("JupyterLab is not here yet: `go run ./install -jupyter` sets it up.")
	case filepath.Base(lab) == "run.sh":
		in.say("Open it in JupyterLab: %s%s serve", env, quote(lab))
	default:
		in.say("Open it in JupyterLab: %s%s %s", env, quote(lab), quote(quickstart))
	}
	if dir := filepath.Dir(at.binary); !onPath(dir) {
		in.say("The command is %s; with %s on your PATH it is just dace.", at.binary, dir)
	}
}

// buildKernel builds the command into a file: with cgo where there is a C
// compiler, as the go command does unless the environment tells it otherwise,
// for without it the kernel cannot load compiled cells (see kernel/native).
func buildKernel(ctx context.Context, root, to string) error {
	var env, flags []string
	build := func() ([]byte, error) {
		args := append([]string{"build", "-o", to}, flags...)
		cmd := exec.CommandContext(ctx, "go", append(args, "./kernel")...)
		cmd.Dir, cmd.Env = root, append(os.Environ(), env...)
		gentle(cmd)
		return cmd.CombinedOutput()
	}
	out, err := build()
	if err != nil && strings.Contains(string(out), "buildvcs") {
		flags = []string{"-buildvcs=false"} // a checkout that git does not want to look into
		out, err = build()
	}
	if err != nil && strings.Contains(string(out), "runtime/cgo") && os.Getenv("CGO_ENABLED") == "" {
		env = []string{"CGO_ENABLED=0"} // a C compiler without what it needs
		out, err = build()
	}
	switch {
	case err == nil:
		return nil
	case errors.Is(err, exec.ErrNotFound):
		return errors.New("there is no go command on the PATH: install Go 1.26 or newer")
	case ctx.Err() != nil:
		return ctx.Err()
	}
	hint := ""
	for _, sign := range []string{"dial tcp", "no such host", "proxyconnect", "TLS handshake", "i/o timeout"} {
		if strings.Contains(string(out), sign) {
			hint = "\nThe modules could not be fetched: is there a network? Behind a proxy, set HTTPS_PROXY or GOPROXY."
			break
		}
	}
	if strings.Contains(string(out), "no space left") {
		hint = "\nThe disk is full: a build needs about 2 GB for Go's cache (see `go env GOCACHE`)."
	}
	return fmt.Errorf("the kernel does not build (%w):\n%s%s", err, tail(out, 30), hint)
}

// moduleLine is what go.mod says in a clone.
var moduleLine = regexp.MustCompile(`(?m)^module dace\.local\s*$`)

// moduleRoot finds the clone that the command is run from.
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
// clean up, and by force if it does not.
func gentle(cmd *exec.Cmd) {
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second
}

// tail returns the last n lines of a command's output.
func tail(out []byte, n int) string {
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}

// quote makes a word that a shell takes as it is.
func quote(s string) string {
	if s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./+:@,=") == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// onPath reports whether the shell looks for commands in dir.
func onPath(dir string) bool {
	for _, d := range filepath.SplitList(os.Getenv("PATH")) {
		if filepath.Clean(d) == dir {
			return true
		}
	}
	return false
}
