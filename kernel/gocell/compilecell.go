package gocell

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"dace.local/kernel/engine"
	"dace.local/kernel/gocell/internal/check"
)

// compileCell implements the magic %%compile: it runs the cell compiled.
func (s *Session) compileCell(ctx context.Context, args string, cell engine.Cell, out engine.Outputs) (res engine.Result, err error) {
	src, err := check.ParseNative(s.machine.Files(), cell.Number, cell.ID, cell.Code)
	if args != "" && err == nil {
		err = errors.New("%%compile takes no arguments")
	}
	if err != nil {
		return res, s.compileError(cell.Number, err)
	}
	res, err = s.run(ctx, src, false, out) // what is stored is loaded even without a toolchain
	away := new(notHere)
	if !errors.As(err, &away) {
		return res, err
	}
	if slices.Contains(src.Imports(), "C") {
		return res, fmt.Errorf("import \"C\" cannot be used here: %s", away.err.Message)
	}
	out.Stderr("%%compile: " + away.err.Message + ". The cell runs interpreted.\n")
	if src, err = check.ParseCell(s.machine.Files(), cell.Number, cell.ID, cell.Code); err != nil {
		return res, s.compileError(cell.Number, err)
	}
	return s.run(ctx, src, false, out)
}

// notHere is the error of a compiled cell that is not stored and cannot be
// built here. Nothing of the cell has taken effect.
type notHere struct{ err *engine.Error }

func (e *notHere) Error() string { return e.err.Error() }
func (e *notHere) Unwrap() error { return e.err }
