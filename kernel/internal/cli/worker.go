package cli

import (
	"context"
	"errors"
	"fmt"

	"dace.local/dacelib/farm"
	_ "dace.local/dacelib/landscape" // registers its kind of work
)

var workerVerb = verb{
	name:  "worker",
	short: "compute units of work for callers on other machines",
	usage: `
Usage: dace worker -join JOIN [flags]

Computes units of work for the callers of a farm, such as "dace construct
-farm JOIN" or a notebook with Settings{Farm: f}, until it is ended. JOIN is a
folder that the machines share, which needs no server and no port, or the join
file that "dace farm start" has written. The caller and the workers must be the
same build of dace; what would not give the same bits is refused, in words.

At the time of -until, and when it is ended by a signal (TERM or INT), a worker
hands back what it has not finished. If it is killed, others do its work again.

Whoever can write to the folder, or holds the join file, can run code as you.

Examples:
  dace worker -join /scratch/me/farm
  srun -N8 dace worker -join lab.join -until 3h50m
`,
	run: runWorker,
}

func runWorker(env *Env, v *verb, args []string) int {
	fs := v.flags(env)
	var (
		join  = fs.String("join", "", "join `file` of a farm, or a shared folder")
		cores = fs.Int("cores", 0, "`number` of units computed at once; 0 means one per core")
		until = fs.Duration("until", 0, "how long to work; 0 means until ended")
		idle  = fs.Duration("idle", 0, "end after this time without work; 0 means never")
	)
	if _, code, ok := v.parse(env, fs, args, true, 0, 0); !ok {
		return code
	}
	switch {
	case *join == "":
		return v.misuse(env, "which farm? -join FILE or -join FOLDER")
	case *cores < 0 || *until < 0 || *idle < 0:
		return v.misuse(env, "-cores, -until and -idle must not be negative")
	}
	ctx, stop := untilSignal()
	defer stop()
	err := farm.WorkFor(ctx, *join, farm.Work{Cores: *cores, Until: *until, Idle: *idle})
	var sig signalled
	switch {
	case errors.As(context.Cause(ctx), &sig):
		fmt.Fprintf(env.Stderr, "dace worker: %v; what was not finished is handed back\n", sig)
		return sig.code()
	case err != nil:
		return v.fail(env, err)
	}
	return exitOK
}

// joinFarm returns the pool that -farm names, nil for an empty name. Its notes
// go to stderr.
func joinFarm(ctx context.Context, env *Env, v *verb, join string) (farm.Pool, error) {
	if join == "" {
		return nil, nil
	}
	p, err := farm.Join(ctx, join)
	if err != nil {
		return nil, err
	}
	if n, ok := p.(interface{ OnNote(func(string)) }); ok {
		n.OnNote(func(note string) { fmt.Fprintf(env.Stderr, "dace %s: %s\n", v.name, note) })
	}
	return p, nil
}
