package magic

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"go/token"
	"io"
	"regexp"
	"strings"

	"dace.local/dacelib/files"
	"dace.local/kernel/engine"
	"dace.local/kernel/gocell/internal/cell"
)

// profileLines is how many lines of cells a profile lists unless -n says otherwise.
const profileLines = 15

func prunLine(c *Call) (engine.Result, error) { return prun(c, false) }
func prunCell(c *Call) (engine.Result, error) { return prun(c, true) }

// PrunFlags returns how many bytes the flags of %prun take, before the statement.
func PrunFlags(args string) int { return len(prunFlags.FindString(args)) }

// prunFlags matches flags, each with its value.
var prunFlags = regexp.MustCompile(`^(-\S+=\S+\s*|-\S+\s*(\S+\s*|$))*`)

// prun runs code, and shows what its lines took of the processor's time. What stands
// before the code in the arguments are flags.
func prun(c *Call, whole bool) (engine.Result, error) {
	fs := flag.NewFlagSet("", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	file := fs.String("o", "", "")
	lines := fs.Int("n", profileLines, "")
	rest := c.Args[PrunFlags(c.Args):]
	if err := fs.Parse(strings.Fields(strings.TrimSuffix(c.Args, rest))); err != nil {
		return engine.Result{}, fmt.Errorf("%w: %s", err, c.usage())
	}
	code := c.Body()
	switch {
	case *lines < 1:
		return engine.Result{}, errors.New("-n wants a number from 1 on")
	case whole && rest != "":
		return engine.Result{}, errors.New("unexpected argument " + rest + ": " + c.usage())
	case !whole && rest == "":
		return engine.Result{}, errors.New("%prun wants a statement: %prun f(x)")
	case !whole:
		code = c.at(blank(c.Cell.Code[:c.ArgsAt+len(c.Args)-len(rest)]) + rest)
	}
	var res engine.Result
	var watch Watch
	line, col := cell.LineCol(code.Code, len(code.Code)-len(strings.TrimLeft(code.Code, " \t\n\r")))
	at := token.Position{Filename: cell.FileName(code.Number), Line: line, Column: col}
	profile, err := c.Profile(withWatch(c.Ctx, &watch), at, func(ctx context.Context) (err error) {
		res, err = c.Run(ctx, code, c.Out)
		return err
	})
	if profile == nil {
		return res, err
	}
	profile.Wall = watch.wall
	if len(profile.Samples) > 0 || err == nil {
		b := engine.Text(profile.Table(*lines))
		b.Data["text/html"] = profile.HTML(*lines)
		c.Out.Display(b, "")
	}
	if *file != "" {
		if err := (files.Settings{Mode: 0o644}).WriteBytes(*file, profile.Encode()); err != nil {
			return res, fmt.Errorf("cannot write the profile: %w", err)
		}
		c.Out.Stdout("wrote " + *file + ": go tool pprof -http : " + *file + "\n")
	}
	return res, err
}
