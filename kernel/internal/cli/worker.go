package cli

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"time"

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
hands back what it has not finished. If it is killed, others do its work again. A
worker whose farm does not answer for ten minutes ends. What it says of itself
is read by "dace farm logs WORKER", too.

Whoever can write to the folder, or holds the join file, can run code as you.

Exit code: 0 when it has ended as it was asked to; 1 when it could not join or go on; 2
for wrong arguments.

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
	say := func(line string) { fmt.Fprintf(env.Stderr, "%s %s\n", time.Now().Format(time.DateTime), line) }
	err := farm.WorkFor(ctx, *join, farm.Work{Cores: *cores, Until: *until, Idle: *idle, Say: say})
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

// farmFlags are the flags of a verb whose work a farm can do.
type farmFlags struct {
	join   string
	policy farm.Policy
}

// newFarmFlags declares the flags.
func newFarmFlags(fs *flag.FlagSet) *farmFlags {
	f := new(farmFlags)
	fs.StringVar(&f.join, "farm", "", "join `file` of a farm, or a shared folder, whose workers compute; see dace worker")
	fs.Float64Var(&f.policy.Verify, "verify", 0, "`share` of the farm's units to compute twice, on different workers, such as 0.01")
	fs.IntVar(&f.policy.Priority, "priority", 0, "`number`: callers with a higher one get the farm's workers first")
	fs.DurationVar(&f.policy.Limit, "limit", 0, "longest `time` of a unit on the farm; default from what its kind takes")
	fs.Int64Var(&f.policy.Disk, "disk", 0, "`bytes` that this process may use in the farm; default that of the farm")
	return f
}

// joinFarm returns the pool that -farm names, nil for an empty name. Its notes
// go to stderr.
func joinFarm(ctx context.Context, env *Env, v *verb, f *farmFlags) (farm.Pool, error) {
	if f.join == "" {
		if f.policy != (farm.Policy{}) {
			return nil, errors.New("-verify, -priority, -limit and -disk are for -farm")
		}
		return nil, nil
	}
	if f.policy.Verify < 0 || f.policy.Verify > 1 || f.policy.Limit < 0 || f.policy.Disk < 0 {
		return nil, errors.New("-verify is a share from 0 to 1; -limit and -disk are not negative")
	}
	p, err := farm.Join(ctx, f.join)
	if err != nil {
		return nil, err
	}
	if d, ok := p.(interface {
		OnNote(func(string))
		Policy() farm.Policy
		Use(farm.Policy)
	}); ok {
		d.OnNote(func(note string) { fmt.Fprintf(env.Stderr, "dace %s: %s\n", v.name, note) })
		if f.policy.Disk == 0 {
			f.policy.Disk = d.Policy().Disk
		}
		d.Use(f.policy)
	}
	return p, nil
}
