package cli

import (
	"context"

	"dace.local/kernel/setup"
)

var jupyterVerb = verb{
	name:  "jupyter",
	short: "the Jupyter kernel; Jupyter starts it with a connection file",
	usage: `
Usage: dace jupyter [-engine yaegi] -f CONNECTION.json

Serves a Go session to Jupyter's clients on the sockets that the connection
file describes, until a client shuts it down. Jupyter calls it by itself once
the kernel is registered (dace install).

Cells are remembered, for the client's history, in dace/cells.jsonl under
$XDG_STATE_HOME (~/.local/state), the newest 1 to 2 MB of them.

The environment variable DACE_LOG sets how much is logged to stderr: debug,
info, warn (the default) or error.

A registration by hand, kernels/dace/kernel.json, which dace install writes:

  {"argv": ["/path/to/dace", "jupyter", "-f", "{connection_file}"],
   "display_name": "Go (dace)", "language": "go", "interrupt_mode": "message"}

Exit code: 0 when a client has shut it down; 1 when it could not serve; 2 for wrong
arguments.

Examples:
  jupyter lab
  DACE_LOG=debug jupyter console --kernel dace
`,
	run: runJupyter,
}

func runJupyter(env *Env, v *verb, args []string) int {
	fs := v.flags(env)
	file := fs.String("f", "", "the `connection file` that Jupyter wrote")
	var engine string
	setup.EngineFlag(fs, &engine)
	rest, code, ok := v.parse(env, fs, args, true, 0, 1)
	switch {
	case !ok:
		return code
	case *file == "" && len(rest) == 1:
		*file = rest[0]
	case *file == "":
		return v.misuse(env, "no connection file; a notebook is run by dace run, a prompt is dace repl")
	case len(rest) > 0:
		return v.misuse(env, "unexpected argument %q", rest[0])
	}
	go groupChildren()
	eng, err := env.NewEngine(engine, nil, Streams{Output: true, Kept: true, Kernel: *file, Input: true, Typed: true})
	if err != nil {
		return v.fail(env, err)
	}
	eng, over := keepCrash(*file, mindChildren(eng))
	defer over()
	if err := env.Serve(context.Background(), *file, eng, env.Stderr); err != nil {
		return v.fail(env, err)
	}
	return exitOK
}
