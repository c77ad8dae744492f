package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"dace.local/dacelib/farm"
	"dace.local/dacelib/farm/natsfarm"
	"dace.local/kernel/internal/suggest"
	"dace.local/kernel/setup/farmserver"
)

var farmVerb = verb{
	name:  "farm",
	short: "start, watch and stop a farm of workers, and submit its jobs",
	usage: `
Usage: dace farm start [-listen ADDR] [-disk BYTES] [-json] [-dir DIR]
       dace farm status [-watch] [-json] [-dir DIR]
       dace farm logs WORKER [-watch] [-dir DIR]
       dace farm cancel CALLER [-dir DIR]
       dace farm submit -scheduler NAME [-jobs N] [-cores N] [-time T] [-account A]
           [-partition P] [-prologue SHELL] [-option OPTION] [-print] [-json] [-dir DIR]
       dace farm adapt -min N -max N [-core-hours H] [flags of submit]
       dace farm scheduler NAME
       dace farm drain|stop [-dir DIR]

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

status prints the workers and for whom they compute, what all callers wait for,
what it costs, jobs and what failed; -watch goes on until it is ended. With -json
status prints a line of JSON each time, start {"join": FILE} and submit
{"jobs": [ID, ...]}. logs prints what a worker has said of itself, also
if it has ended. cancel ends the calls of a process that status names. DIR may be
a folder that machines share, without a server, too.

submit submits jobs of workers to Slurm, PBS, LSF or SGE, or to another scheduler
by a file that says how; scheduler prints such a file to begin with. -print only
prints the script of a job. -scheduler kubernetes, with -image, prints a Job for
kubectl. adapt has as many jobs as the units that wait need, until it is ended.

drain has the workers finish what they compute and end, stop ends the server and
the jobs; what was computed stays in DIR.

Exit code: 0; 1 when it could not be done; 2 for wrong arguments.

Examples:
  dace farm start -listen :0 -dir lab
  dace worker -join lab/farm.join
  dace farm submit -scheduler slurm -jobs 8 -cores 48 -time 04:00:00 -dir lab
  dace construct -class ccp -farm lab/farm.join -o ccp
`,
	run: runFarm,
}

// becomeServer has the farm's server take the place of this process; it returns
// only if that fails.
func becomeServer(dir, listen string, disk int64) error {
	program, err := farmserver.Program()
	if err != nil {
		return err
	}
	args := []string{"dace-farm-server", "-dir", dir, "-listen", listen, "-disk", strconv.FormatInt(disk, 10)}
	if err := unix.Exec(program, args, os.Environ()); err != nil {
		return fmt.Errorf("cannot run the farm's server, %s: %w", program, err)
	}
	return nil
}

// watchEvery is how often status -watch looks.
const watchEvery = 2 * time.Second

// showFarm prints the state of a farm.
func showFarm(ctx context.Context, env *Env, join string, watch, asJSON bool) error {
	every := time.Duration(0)
	if watch {
		every = watchEvery
	}
	_, tty := descriptor(env.Stdout)
	var failed error
	err := farm.WatchFarm(ctx, join, every, func(t farm.Table) bool {
		switch {
		case asJSON:
			var b []byte
			if b, failed = t.JSON(); failed == nil {
				_, failed = fmt.Fprintf(env.Stdout, "%s\n", b)
			}
		case watch && tty: // from the top of a cleared screen
			_, failed = fmt.Fprintf(env.Stdout, "\x1b[H\x1b[2J%s\n", t)
		default:
			_, failed = fmt.Fprintln(env.Stdout, t)
		}
		return failed == nil
	})
	if watch && ctx.Err() != nil {
		err = nil
	}
	return errors.Join(err, failed)
}

// jobs submits jobs of workers, or adapts their number until ctx ends.
func jobs(ctx context.Context, env *Env, verb string, b farm.Batch, dir, self, image string, show, asJSON bool, low, high int) error {
	join := filepath.Join(dir, natsfarm.JoinName)
	if b.Scheduler == "kubernetes" {
		text, err := b.Kubernetes(image, join)
		fmt.Fprint(env.Stdout, text)
		return err
	}
	if b.Scheduler == "" && verb == "submit" {
		return fmt.Errorf("which scheduler? -scheduler with one of %s, kubernetes, or a file", strings.Join(farm.Schedulers(), ", "))
	}
	if show {
		text, err := b.Script([]string{self}, join, dir)
		fmt.Fprint(env.Stdout, text)
		return err
	}
	if verb == "submit" {
		ids, err := farm.Submit(b, []string{self}, join, dir)
		if asJSON {
			text, _ := json.Marshal(map[string][]string{"jobs": append([]string{}, ids...)})
			fmt.Fprintf(env.Stdout, "%s\n", text)
			return err
		}
		for _, id := range ids {
			fmt.Fprintln(env.Stdout, id)
		}
		return err
	}
	f := farm.Start(farm.Settings{Dir: dir, Command: []string{self}, Batch: b})
	if f.Err() != nil {
		return f.Err()
	}
	f.OnNote(func(note string) { fmt.Fprintln(env.Stderr, "dace farm:", note) })
	if err := f.Adapt(low, high); err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}

func runFarm(env *Env, v *verb, args []string) int {
	fs := v.flags(env)
	var (
		dir    = fs.String("dir", "", "`folder` of the farm")
		listen = fs.String("listen", "", "`address` at which the server listens; default this machine alone")
		disk   = fs.Int64("disk", 0, "`bytes` that each caller may use; default as the last time, -1 for no bound")
		watch  = fs.Bool("watch", false, "go on until ended")
		asJSON = fs.Bool("json", false, "print JSON")
		show   = fs.Bool("print", false, "print the script of a job and submit nothing")
		image  = fs.String("image", "", "`name` of an image with the command dace, for Kubernetes")
		low    = fs.Int("min", 0, "least `number` of jobs")
		high   = fs.Int("max", 0, "greatest `number` of jobs")
		b      farm.Batch
	)
	fs.StringVar(&b.Scheduler, "scheduler", "", "`name` of a scheduler: slurm, pbs, lsf, sge, kubernetes, or a file")
	fs.IntVar(&b.Jobs, "jobs", 1, "`number` of jobs")
	fs.IntVar(&b.Cores, "cores", 1, "`number` of cores of a job")
	fs.StringVar(&b.Time, "time", "", "time `limit` of a job; default an hour")
	fs.StringVar(&b.Account, "account", "", "`account` or project that is charged")
	fs.StringVar(&b.Partition, "partition", "", "`partition` or queue of the jobs")
	fs.StringVar(&b.Prologue, "prologue", "", "`shell` code that runs before the worker, such as \"module load gcc\"")
	fs.DurationVar(&b.Idle, "idle", 0, "`time` after which a worker without work ends; default never, for adapt 2m")
	fs.Float64Var(&b.CoreHours, "core-hours", 0, "most core `hours` that adapt spends; 0 means no bound")
	fs.Func("option", "another `option` of the submitting command; may be repeated", func(o string) error {
		b.Options = append(b.Options, o)
		return nil
	})
	rest, code, ok := v.parse(env, fs, args, true, 1, 2)
	if !ok {
		return code
	}
	name := ""
	if named := map[string]string{"logs": "worker: dace farm logs WORKER", "cancel": "caller: dace farm cancel CALLER", "scheduler": "scheduler: dace farm scheduler slurm"}[rest[0]]; named != "" {
		if len(rest) < 2 {
			return v.misuse(env, "which %s", named)
		}
		name = rest[1]
	} else if len(rest) > 1 {
		return v.misuse(env, "%s takes no %q", rest[0], rest[1])
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
	if *disk != 0 {
		serve = append(serve, "-disk", strconv.FormatInt(*disk, 10))
	}
	at := join // also a shared folder
	if _, err := os.Stat(join); err != nil {
		if _, err := os.Stat(filepath.Join(*dir, "workers")); err == nil {
			at = *dir
		}
	}
	if *listen != "" && rest[0] != "start" && rest[0] != "serve" {
		return v.misuse(env, "-listen is for start")
	}
	if *asJSON && !slices.Contains([]string{"start", "status", "submit"}, rest[0]) {
		return v.misuse(env, "-json is for start, status and submit")
	}
	switch rest[0] {
	case "start":
		if join, err = natsfarm.Start(*dir, *listen, serve); err == nil {
			farm.RememberLast(*dir)
			if *asJSON {
				return v.printJSON(env, map[string]string{"join": join})
			}
			fmt.Fprintf(env.Stdout, "%s\ndace worker -join %s\n", join, join)
		}
	case "serve": // what start starts; it is not for people
		err = becomeServer(*dir, *listen, *disk)
	case "status":
		err = showFarm(ctx, env, at, *watch, *asJSON)
	case "logs":
		err = farm.WorkerLog(ctx, at, name, *watch, func(line string) { fmt.Fprintln(env.Stdout, line) })
	case "cancel":
		err = farm.CancelCaller(ctx, at, name, farm.Who())
	case "scheduler":
		var text string
		if text, err = farm.SchedulerFile(name); err == nil {
			fmt.Fprint(env.Stdout, text)
		}
	case "submit", "adapt":
		if *dir, err = filepath.Abs(*dir); err == nil {
			err = jobs(ctx, env, rest[0], b, *dir, self, *image, *show, *asJSON, *low, *high)
		}
	case "drain":
		err = natsfarm.Drain(ctx, join)
	case "stop":
		farm.CancelJobs(*dir)
		err = natsfarm.Stop(ctx, join)
	default:
		verbs := []string{"start", "status", "logs", "cancel", "submit", "adapt", "scheduler", "drain", "stop"}
		meant := suggest.DidYouMean("", rest[0], slices.Values(verbs))
		return v.misuse(env, "%q is none of %s%s", rest[0], strings.Join(verbs, ", "), meant)
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
