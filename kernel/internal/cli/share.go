package cli

import "fmt"

var shareVerb = verb{
	name:  "share",
	short: "give your compiled cells to all users of the installation",
	usage: `
Usage: dace share

Copies the compiled cells that this user has (those of notebooks that were run
with this build) to the installation's folder share, where all its users load
them first: without Go, and without waiting. Who may write to the installation
may do so. Files of other builds are removed there unless a kernel uses them.

Exit code: 0; 1 when nothing could be copied.

Examples:
  dace run notebooks/*.ipynb
  dace share
`,
	run: runShare,
}

func runShare(env *Env, v *verb, args []string) int {
	if _, code, ok := v.parse(env, v.flags(env), args, true, 0, 0); !ok {
		return code
	}
	n, err := env.Share()
	if err != nil {
		return v.fail(env, err)
	}
	fmt.Fprintf(env.Stdout, "%d compiled cells are new for all users.\n", n)
	return exitOK
}
