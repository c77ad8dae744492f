// Command server is the server of a farm in a process of its own: server -dir
// DIR [-listen ADDR] [-disk BYTES] serves the folder DIR until it is stopped or gets a signal.
//
// The command dace carries it and starts it; see package natsfarm.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"dace.local/dacelib/farm/natsfarm/internal/serve"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run parses the arguments and serves until ctx ends.
func run(ctx context.Context, args []string, stderr io.Writer) error {
	fs := flag.NewFlagSet("server", flag.ContinueOnError)
	fs.SetOutput(stderr)
	dir := fs.String("dir", "", "`folder` of the farm")
	listen := fs.String("listen", "", "`address` HOST:PORT; default that of the last time, or this machine alone")
	disk := fs.Int64("disk", 0, "`bytes` that each caller may use; default as the last time, -1 for no bound")
	switch err := fs.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return nil
	case err != nil:
		return err
	case *dir == "":
		return errors.New("server: which folder? -dir DIR")
	}
	return serve.Serve(ctx, *dir, *listen, *disk, nil)
}
