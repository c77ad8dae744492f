package cli

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

var prebuildVerb = verb{
	name:  "prebuild",
	short: "compile what the first compiled function needs",
	usage: `
Usage: dace prebuild

Has the go command compile the packages that compiled functions and cells import, for
this user, so that the first of them is built in a second or two instead of a minute.
The installer starts it in the background, at low priority (not with DACE_PREBUILD=off
in the environment). Another user, or one who has cleaned Go's cache, may run it.

Exit code: 0; 1 when nothing can be compiled here: the message says what is missing.

Examples:
  dace prebuild
  DACE_PREBUILD=off dace install && nice dace prebuild    # later, and in front
`,
	run: runPrebuild,
}

func runPrebuild(env *Env, v *verb, args []string) int {
	if _, code, ok := v.parse(env, v.flags(env), args, true, 0, 0); !ok {
		return code
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := env.Prebuild(ctx); err != nil {
		return v.fail(env, err)
	}
	return exitOK
}
