package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"dace.local/dacelib/problem/cimp/snap"
	dacerun "dace.local/dacelib/run"
	"dace.local/kernel/internal/suggest"
)

var dataVerb = verb{
	name:  "data",
	short: "fetch the networks of the paper's experiments",
	usage: `
Usage: dace data fetch NAME... [-json]
       dace data list [-json]

The networks are wiki, facebook and epinions, from the Stanford Network
Analysis Project. "fetch" downloads those named (all: every one), goes on with
a download that ended early, and verifies what it has by a checksum; "list"
says which are there, and where.

They go to dace/data in the user's cache; the environment variable DACE_DATA
names another folder. Nothing but the paper's own instances of influence
maximisation needs them: the default is a generated network.

Exit code: 0; 1 when a network could not be fetched or is not what it should
be; 2 for wrong arguments; 130 when interrupted.

Examples:
  dace data list
  dace data fetch wiki
`,
	run: runData,
}

func runData(env *Env, v *verb, args []string) int {
	fs := v.flags(env)
	asJSON := fs.Bool("json", false, "print JSON")
	rest, code, ok := v.parse(env, fs, args, true, 1, -1)
	if !ok {
		return code
	}
	switch what, names := rest[0], rest[1:]; what {
	case "list":
		if len(names) > 0 {
			return v.misuse(env, "unexpected argument %q", names[0])
		}
		return listData(env, v, *asJSON)
	case "fetch":
		if len(names) == 0 {
			return v.misuse(env, "which network? wiki, facebook, epinions or all")
		}
		return fetchData(env, v, names, *asJSON)
	default:
		return v.misuse(env, "there is no %q; there are fetch and list%s", what, suggest.DidYouMean("", what, slices.Values([]string{"fetch", "list"})))
	}
}

func listData(env *Env, v *verb, asJSON bool) int {
	type row struct {
		Name  string `json:"name"`
		Nodes int    `json:"nodes"`
		Lines int    `json:"lines"`
		Path  string `json:"path,omitempty"` // absent where it is not fetched
	}
	rows := []row{}
	for _, d := range snap.Datasets() {
		path, there, err := d.Path()
		if err != nil {
			return v.fail(env, err)
		}
		r := row{d.Name, d.Nodes, d.Lines, ""}
		if there {
			r.Path = path
		}
		rows = append(rows, r)
	}
	if asJSON {
		return v.printJSON(env, rows)
	}
	for _, r := range rows {
		fmt.Fprintf(env.Stdout, "%-9s %6d nodes %7d lines  %s\n", r.Name, r.Nodes, r.Lines, cmp.Or(r.Path, "not fetched: dace data fetch "+r.Name))
	}
	return exitOK
}

func fetchData(env *Env, v *verb, names []string, asJSON bool) int {
	paths := map[string]string{}
	if len(names) == 1 && names[0] == "all" {
		names = nil
		for _, d := range snap.Datasets() {
			names = append(names, d.Name)
		}
	}
	for _, name := range names {
		if _, err := snap.Find(name); err != nil {
			return v.misuse(env, "%v", err)
		}
	}
	ctx, stop := untilSignal()
	defer stop()
	_, tty := descriptor(env.Stderr)
	for _, name := range names {
		var s snap.FetchSettings
		if tty {
			s.OnEvent = func(e dacerun.Event) {
				fmt.Fprintf(env.Stderr, "\r%s: %d of %d KB ", e.Stage, e.Step/1000, e.Total/1000)
				if e.Step == e.Total {
					fmt.Fprintln(env.Stderr)
				}
			}
		}
		path, err := snap.Fetch(ctx, name, s)
		if err != nil {
			var sig signalled
			if errors.As(context.Cause(ctx), &sig) {
				fmt.Fprintf(env.Stderr, "dace data: %v; what came of %s is kept, and the next fetch goes on from there\n", sig, name)
				return sig.code()
			}
			return v.fail(env, err)
		}
		if paths[name] = path; !asJSON {
			fmt.Fprintf(env.Stdout, "%s: %s\n", name, path)
		}
	}
	if asJSON {
		return v.printJSON(env, paths)
	}
	return exitOK
}
