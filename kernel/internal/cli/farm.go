package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"dace.local/dacelib/farm"
	"dace.local/dacelib/farm/natsfarm"
	"dace.local/kernel/internal/suggest"
	"dace.local/kernel/setup/farmserver"
)

var farmVerb = verb{
	name:  "farm",
	short: "start and stop the server of a farm of workers",
	usage: `
Usage: dace farm start [-listen ADDR] [-dir DIR]
       dace farm status | drain | stop [-dir DIR]

start starts the server of a farm in a process of its own, writes the join file
DIR/farm.join for workers and callers, and returns when the server serves. If it
serves already, start does nothing else. Without -dir, start takes dace/farm in
the user's cache, the others the user's farm that was started last.

The server is a program that this command carries; it is unpacked into the folder
dace/farm-server in the user's cache.

By default only this machine reaches the server. "-listen :0" listens at every
address on a free port, ":7777" on that port. The connections then have TLS 1.3
with the farm's own certificate, whose SHA-256 the join file holds. The file is
for its owner alone: whoever holds it can run code as you. Copy it to machines
that do not share the folder.

status prints the workers, what all callers wait for, Slurm's jobs and what
failed, drain has the workers finish what they compute and end, stop
ends the server; what was computed stays in DIR.

Examples:
  dace farm start -listen :0 -dir lab
  dace worker -join lab/farm.join
  dace construct -class ccp -farm lab/farm.join -o ccp
`,
	run: runFarm,
}

// becomeServer has the farm's server take the place of this process; it returns
// only if that fails.
func becomeServer(dir, listen string) error {
	program, err := farmserver.Program()
	if err != nil {
		return err
	}
	args := []string{"dace-farm-server", "-dir", dir, "-listen", listen}
	if err := unix.Exec(program, args, os.Environ()); err != nil {
		return fmt.Errorf("cannot run the farm's server, %s: %w", program, err)
	}
	return nil
}

func runFarm(env *Env, v *verb, args []string) int {
	fs := v.flags(env)
	var (
		dir    = fs.String("dir", "", "`folder` of the farm")
		listen = fs.String("listen", "", "`address` at which the server listens; default this machine alone")
	)
	rest, code, ok := v.parse(env, fs, args, true, 1, 1)
	if !ok {
		return code
	}
	var err error
	if *dir == "" {
		if rest[0] == "start" {
			*dir, err = farm.DefaultDir()
		} else {
			*dir, err = farm.LastDir()
		}
	}
	if err != nil {
		return v.fail(env, err)
	}
	ctx, stop := untilSignal()
	defer stop()
	join := filepath.Join(*dir, natsfarm.JoinName)
	self, err := os.Executable()
	if err != nil {
		return v.fail(env, err)
	}
	serve := []string{self, "farm", "serve"}
	if *listen != "" && rest[0] != "start" && rest[0] != "serve" {
		return v.misuse(env, "-listen is for start")
	}
	switch rest[0] {
	case "start":
		if join, err = natsfarm.Start(*dir, *listen, serve); err == nil {
			farm.RememberLast(*dir)
			fmt.Fprintf(env.Stdout, "%s\ndace worker -join %s\n", join, join)
		}
	case "serve": // what start starts; it is not for people
		err = becomeServer(*dir, *listen)
	case "status":
		var t farm.Table
		if t, err = natsfarm.Status(ctx, join); err == nil {
			fmt.Fprintln(env.Stdout, t)
		}
	case "drain":
		err = natsfarm.Drain(ctx, join)
	case "stop":
		err = natsfarm.Stop(ctx, join)
	default:
		meant := suggest.DidYouMean("", rest[0], func(yield func(string) bool) {
			for _, s := range []string{"start", "status", "drain", "stop"} {
				if !yield(s) {
					return
				}
			}
		})
		return v.misuse(env, "%q is none of start, status, drain and stop%s", rest[0], meant)
	}
	var sig signalled
	switch {
	case errors.As(context.Cause(ctx), &sig):
		return sig.code()
	case err != nil:
		return v.fail(env, err)
	}
	return exitOK
}
