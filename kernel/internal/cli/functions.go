package cli

import (
	"context"

	"dace.local/dacelib/farm"
)

// Functions sends functions that cells have made to the workers of a farm.
type Functions struct {
	// Pack describes a function of the session's cells; nil in a process without
	// a session.
	Pack func(f any) (source []byte, err error)
	// Make makes the function that source describes in this process. It returns the
	// value of a Go expression, in which %s stands for the function, the plugin if the
	// function is compiled, and a text that says how it is computed. built is a plugin
	// of it from another process of the same program, or nil.
	Make func(ctx context.Context, source, built []byte, expression string) (value any, asBuilt []byte, how string, err error)
}

// Register makes the functions known to package farm.
func (f Functions) Register() {
	farm.SetCarrier(farm.Carrier{Pack: f.Pack, Make: func(ctx context.Context, source, built []byte, expression string) (farm.Carried, error) {
		v, b, how, err := f.Make(ctx, source, built, expression)
		return farm.Carried{Value: v, Built: b, How: how}, err
	}})
}
