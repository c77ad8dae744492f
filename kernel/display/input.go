package display

import (
	"context"

	"dace.local/kernel/engine"
	"dace.local/kernel/engine/goroutine"
)

// Input asks the user for a line of text and returns it without its newline.
// The error is io.EOF if the user ends the input, and another if the client
// cannot be asked, as when a notebook runs without a reader.
func Input(prompt string) (string, error) { return input(prompt, false) }

// Password is like [Input], but the answer is not shown as it is typed.
func Password(prompt string) (string, error) { return input(prompt, true) }

func input(prompt string, password bool) (string, error) {
	out := outputs()
	if out == nil {
		return "", engine.ErrNoInput
	}
	ctx := context.Background()
	if c, ok := goroutine.Value().(interface{ Context() context.Context }); ok {
		ctx = c.Context()
	}
	return out.Input(ctx, prompt, password)
}
