package cli

import (
	"context"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"dace.local/kernel/setup"
)

var installVerb = verb{
	name:  "install",
	short: "register this file with Jupyter as a kernel",
	usage: `
Usage: dace install [-user | -prefix DIR | -sys-prefix] [-name NAME] [-display-name NAME]

Copies this file to its place, registers it with Jupyter, starts it as Jupyter
would, and runs a cell. It needs neither a network nor another program, and may
be run again at any time, also to put a new version in the place of one that is
in use: running kernels go on. Jupyter's Python, if there is one, learns to export
notebooks as programs (Executable Script in JupyterLab's menu).

Exit code: 0; 1 when the kernel could not be installed or does not answer; 2
for wrong arguments.

Examples:
  dace install
  dace install -prefix /usr/local
  dace install -name dace-next -display-name "Go, next"
`,
	run: runInstall,
}

var uninstallVerb = verb{
	name:  "uninstall",
	short: "remove what install has written",
	usage: `
Usage: dace uninstall [-user | -prefix DIR | -sys-prefix] [-name NAME] [-keep] [-n]

Removes the command, its registration with Jupyter, and the folders that were
made for them. With the last kernel of the user go the history of cells, the
compiled cells and the unpacked server of farms that this user has; -keep leaves
them. -n, or -dry-run, only says what would be removed.

Exit code: 0, also when there is nothing to remove; 1 when something could not
be removed; 2 for wrong arguments.

Examples:
  dace uninstall -n
  dace uninstall -prefix /usr/local
`,
	run: runUninstall,
}

func runInstall(env *Env, v *verb, args []string) int {
	in, code, ok := parseInstaller(env, v, args)
	if !ok {
		return code
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	at, err := in.Place(ctx)
	if err == nil {
		_, err = in.Install(ctx, at)
	}
	if err != nil {
		return v.fail(env, err)
	}
	if env.Prebuild != nil && env.Compiler() == nil {
		setup.Prebuild(at)
	}
	sayHowToOpen(ctx, in.Out, at)
	return exitOK
}

func runUninstall(env *Env, v *verb, args []string) int {
	in, code, ok := parseInstaller(env, v, args)
	if !ok {
		return code
	}
	at, err := in.Place(context.Background())
	if err == nil {
		err = in.Uninstall(at)
	}
	if err != nil {
		return v.fail(env, err)
	}
	return exitOK
}

// parseInstaller parses the flags of both verbs. If ok is false, the verb must
// return code.
func parseInstaller(env *Env, v *verb, args []string) (in *setup.Installer, code int, ok bool) {
	in = &setup.Installer{Out: env.Stdout, Build: setup.Copy, Building: "Copying the kernel"}
	var user, quiet bool
	fs := v.flags(env)
	setup.Flags(fs, in, &user)
	if v.name == "uninstall" {
		fs.BoolVar(&in.Dry, "n", false, "say what would be removed, and remove nothing")
		fs.BoolVar(&in.Dry, "dry-run", false, "the same as -n")
	}
	fs.BoolVar(&quiet, "quiet", false, "say nothing unless something goes wrong")
	if _, code, ok = v.parse(env, fs, args, true, 0, 0); !ok {
		return nil, code, false
	}
	if wrong := setup.Misuse(in, user); wrong != "" {
		return nil, v.misuse(env, "%s", wrong), false
	}
	if quiet {
		in.Out = io.Discard
	}
	return in, exitOK, true
}

// sayHowToOpen prints the command that opens JupyterLab, and says so if Jupyter
// does not find the kernel.
func sayHowToOpen(ctx context.Context, out io.Writer, at setup.Place) {
	say := func(text string) { _, _ = io.WriteString(out, text+"\n") }
	variable, why := setup.PathVariable(ctx, at)
	if why != "" {
		if setup.FindLab(at) == "" {
			why += " To have it look there: export " + variable
		}
		say(strings.TrimSpace(why))
	}
	if lab := setup.FindLab(at); lab != "" {
		say("Open it in JupyterLab: " + variable + setup.Quote(lab))
	} else {
		say("There is no JupyterLab here; with Python, pip install jupyterlab jupyterlab_widgets brings one.")
	}
	if dir := filepath.Dir(at.Binary); !setup.OnPath(dir) {
		say("The command is " + at.Binary + "; with " + dir + " on your PATH it is just " + filepath.Base(at.Binary) + ".")
	}
}
